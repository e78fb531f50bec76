/* SPDX-License-Identifier: MIT */
#include "page/page_traces.h"

#include <stdlib.h>

#include "api/api_trace_file.h"

/* ---- reading ---- */

/* `done` counts inflated bytes, `size` those of the file. */
static bool report_progress(void *context, const char *path, uint64_t done, uint64_t size)
{
    hb_page_trace *t = context;
    const hb_open_options *open = &t->page->open;
    atomic_store_explicit(&t->done, done, memory_order_relaxed);
    atomic_store_explicit(&t->size, size, memory_order_relaxed);
    return !open->progress || open->progress(open->context, path, done, size);
}

static hb_result read_file(hb_page_trace *t)
{
    hb_open_options options = t->page->open;
    options.progress = report_progress;
    options.context = t;
    HB_TRY(hb_trace_file_open(t->path, &options, &t->file));
    if (hb_trace_file_num_events(t->file) > 0) return HB_OK;
    hb_page_unread(t);
    return hb_fail(HB_ERROR_FORMAT, "%s: the trace has no events", t->path);
}

/* What lacks memory or was interrupted may do another time; all else stays as it is. */
static void remember(hb_page_trace *t, hb_result result)
{
    if (result == HB_ERROR_NO_MEMORY || result == HB_ERROR_STATE) return;
    pthread_mutex_lock(&t->page->lock);
    if (!t->error) t->error = strdup(hb_last_error());
    pthread_mutex_unlock(&t->page->lock);
}

static hb_result read_once(hb_page_trace *t)
{
    if (t->file) return HB_OK;
    if (t->error) return hb_fail(HB_ERROR_FORMAT, "%s", t->error);
    hb_result result = read_file(t);
    if (result != HB_OK) remember(t, result);
    return result;
}

void hb_page_unread(hb_page_trace *trace)
{
    if (trace->counters) hb_curves_free(trace->counters);
    free(trace->counters);
    if (trace->timeline) hb_timeline_free(trace->timeline);
    free(trace->timeline);
    trace->counters = NULL;
    hb_insights_destroy(trace->insights);
    hb_trace_file_close(trace->file);
    trace->timeline = NULL;
    trace->insights = NULL;
    trace->file = NULL;
    trace->when.known = false;
}

static uint64_t memory_of(hb_page_trace *t)
{
    uint64_t bytes = t->file ? hb_trace_file_all_bytes(t->file) : 0;
    bytes += t->timeline ? t->timeline->arena.bytes : 0;
    return bytes + (t->counters ? t->counters->arena.bytes : 0);
}

/* ---- using ---- */

void hb_page_lock_init(pthread_mutex_t *lock)
{
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
}

/* Under the page's lock. */
static hb_page_trace *find_listed(hb_page *page, const char *id)
{
    for (size_t i = 0; i < page->num_traces; i++)
        if (strcmp(page->traces[i]->id, id) == 0) return page->traces[i];
    return NULL;
}

static hb_result no_trace(const char *id)
{
    if (!id) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "parameter trace is missing");
    return hb_fail(HB_ERROR_NOT_FOUND, "there is no trace '%s' (any more)", id);
}

static hb_result enter(hb_page_trace *t)
{
    pthread_mutex_lock(&t->lock);
    return read_once(t);
}

hb_result hb_page_use(hb_page *page, const char *id, hb_page_trace **trace)
{
    pthread_mutex_lock(&page->lock);
    *trace = id ? find_listed(page, id) : NULL;
    if (*trace) (*trace)->users++;
    pthread_mutex_unlock(&page->lock);
    if (!*trace) return no_trace(id);
    hb_result result = enter(*trace);
    if (result != HB_OK) {
        hb_page_leave(*trace);
        *trace = NULL;
    }
    return result;
}

static void let_go(hb_page_trace *t)
{
    pthread_mutex_lock(&t->page->lock);
    bool last = --t->users == 0 && !t->listed;
    pthread_mutex_unlock(&t->page->lock);
    if (last) hb_page_free_trace(t);
}

/* Under the page's lock: the one of those that nobody uses that was used longest ago, when they are
 * more than the page keeps. The last one used stays, however large. */
static hb_page_trace *find_old(hb_page *page)
{
    hb_page_trace *oldest = NULL;
    uint64_t bytes = 0;
    for (size_t i = 0; i < page->num_traces; i++) {
        hb_page_trace *t = page->traces[i];
        bytes += t->bytes;
        if (t->users || !t->bytes || t->use == page->uses) continue;
        if (!oldest || t->use < oldest->use) oldest = t;
    }
    return page->max_memory && bytes > page->max_memory ? oldest : NULL;
}

/* As one more user. Who comes meanwhile waits, and reads it again. */
static void evict(hb_page *page)
{
    for (;;) {
        pthread_mutex_lock(&page->lock);
        hb_page_trace *t = find_old(page);
        if (t) {
            t->users++;
            t->bytes = 0;
        }
        pthread_mutex_unlock(&page->lock);
        if (!t) return;
        pthread_mutex_lock(&t->lock);
        hb_page_unread(t);
        pthread_mutex_unlock(&t->lock);
        let_go(t);
    }
}

static void leave(hb_page_trace *t, bool entered)
{
    hb_page *page = t->page;
    uint64_t bytes = entered ? memory_of(t) : 0;
    if (entered) {
        pthread_mutex_unlock(&t->lock);
        pthread_mutex_lock(&page->lock);
        t->bytes = bytes;
        t->use = ++page->uses;
        pthread_mutex_unlock(&page->lock);
    }
    let_go(t);
    evict(page);
}

void hb_page_leave(hb_page_trace *trace)
{
    leave(trace, true);
}

/* ---- all ranks of a run ---- */

static hb_result collect(hb_page *page, const hb_page_trace *of, hb_page_group *group)
{
    group->items = calloc(page->num_traces, sizeof(hb_page_trace *));
    if (!group->items) return hb_no_memory();
    for (size_t i = 0; i < page->num_traces; i++) {
        hb_page_trace *t = page->traces[i];
        if (strcmp(t->run, of->run) != 0 || strcmp(t->span, of->span) != 0) continue;
        t->users++;
        group->items[group->count++] = t;
    }
    return HB_OK;
}

hb_result hb_page_begin_group(hb_page *page, const char *id, hb_page_group *group)
{
    hb_result result;
    *group = (hb_page_group){.page = page};
    pthread_mutex_lock(&page->several);
    pthread_mutex_lock(&page->lock);
    const hb_page_trace *of = id ? find_listed(page, id) : NULL;
    result = of ? collect(page, of, group) : no_trace(id);
    pthread_mutex_unlock(&page->lock);
    if (result != HB_OK) hb_page_end_group(group);
    return result;
}

hb_result hb_page_enter(hb_page_group *group, hb_page_trace **trace)
{
    *trace = group->items[group->entered++];
    return enter(*trace);
}

void hb_page_end_group(hb_page_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        leave(group->items[i], i < group->entered);
    free(group->items);
    pthread_mutex_unlock(&group->page->several);
}

/* ---- what is made of them ---- */

hb_result hb_page_insights(hb_page_trace *trace, hb_insights **insights)
{
    hb_result result =
        trace->insights ? HB_OK : hb_insights_create(trace->file, NULL, &trace->insights);
    *insights = trace->insights;
    return result;
}

hb_page_span hb_page_span_of(hb_page_trace *trace)
{
    hb_page_span *when = &trace->when;
    if (!when->known) hb_timeline_span(hb_trace_file_trace(trace->file), &when->start, &when->end);
    when->known = true;
    return *when;
}

hb_result hb_page_timeline(hb_page_trace *trace, hb_timeline **timeline)
{
    hb_result result = HB_OK;
    if (!trace->timeline) {
        trace->timeline = calloc(1, sizeof *trace->timeline);
        if (!trace->timeline) return hb_no_memory();
        result = hb_timeline_make(trace->timeline, hb_trace_file_trace(trace->file));
        if (result != HB_OK) {
            hb_timeline_free(trace->timeline);
            free(trace->timeline);
            trace->timeline = NULL;
        }
    }
    *timeline = trace->timeline;
    return result;
}

hb_result hb_page_curves(hb_page_trace *trace, hb_curves **counters)
{
    hb_timeline *timeline = NULL;
    hb_result result = hb_page_timeline(trace, &timeline);
    if (result == HB_OK && !trace->counters) {
        trace->counters = calloc(1, sizeof *trace->counters);
        if (!trace->counters) return hb_no_memory();
        result = hb_curves_make(trace->counters, timeline);
        if (result != HB_OK) {
            hb_curves_free(trace->counters);
            free(trace->counters);
            trace->counters = NULL;
        }
    }
    *counters = trace->counters;
    return result;
}
