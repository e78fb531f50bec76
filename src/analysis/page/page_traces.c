/* SPDX-License-Identifier: MIT */
#include "page/page_traces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "api/api_trace_file.h"
#include "base/utf8.h"
#include "logdir/open_options.h"

/* ---- finding them ---- */

static bool id_is_taken(const hb_page *page, const char *id)
{
    for (size_t i = 0; i + 1 < page->num_traces; i++)
        if (strcmp(page->traces[i].id, id) == 0) return true;
    return false;
}

/* Names of files may be any bytes; addresses and JSON are UTF-8. */
static char *as_utf8(char *text)
{
    char *valid = text ? malloc(3 * strlen(text) + 1) : NULL;
    if (valid) hb_utf8_replace(valid, text, strlen(text));
    free(text);
    return valid;
}

/* The parts that there are, and a number where that is not enough. */
static char *make_id(const hb_page *page, const hb_page_trace *t)
{
    char *id = NULL, *numbered;
    const char *slash = *t->run && *t->worker ? "/" : "", *dot = *t->span ? "/" : "";
    if (asprintf(&id, "%s%s%s%s%s", t->run, slash, t->worker, dot, t->span) < 0) return NULL;
    id = as_utf8(id);
    for (unsigned n = 2; id && id_is_taken(page, id); n++) {
        if (asprintf(&numbered, "%s%s%s%s%s#%u", t->run, slash, t->worker, dot, t->span, n) < 0)
            numbered = NULL;
        free(id);
        id = as_utf8(numbered);
    }
    return id;
}

static hb_result add(hb_page *page, const hb_logdir_file *file)
{
    hb_page_trace *traces = realloc(page->traces, (page->num_traces + 1) * sizeof *traces);
    if (!traces) return hb_no_memory();
    page->traces = traces;
    hb_page_trace *t = &traces[page->num_traces++];
    *t = (hb_page_trace){.run = strdup(file->run),
                         .worker = strdup(file->worker),
                         .span = strdup(file->span),
                         .path = strdup(file->path)};
    if (t->run && t->worker && t->span && t->path) t->id = make_id(page, t);
    return t->id ? HB_OK : hb_no_memory();
}

typedef struct adding {
    hb_page *page;
    hb_result result;
} adding;

static bool add_member(void *context, const hb_logdir_file *file)
{
    adding *a = context;
    a->result = add(a->page, file);
    return a->result == HB_OK;
}

static hb_result add_logdir(hb_page *page, const char *path)
{
    hb_logdir *logdir;
    size_t before = page->num_traces;
    adding a = {page, HB_OK};
    HB_TRY(hb_logdir_open(path, NULL, &logdir));
    hb_logdir_files(logdir, add_member, &a);
    hb_logdir_close(logdir);
    if (a.result == HB_OK && page->num_traces == before)
        return hb_fail(HB_ERROR_NOT_FOUND,
                       "%s: no file in it or below is named *.pt.trace.json[.gz]", path);
    return a.result;
}

/* A file's name without what all traces' names end with. */
static hb_result add_file(hb_page *page, const char *path)
{
    static const char *const ends[] = {".gz", ".json", ".trace", ".pt"};
    const char *slash = strrchr(path, '/');
    char *name = strdup(slash ? slash + 1 : path);
    if (!name) return hb_no_memory();
    for (size_t i = 0; i < HB_ARRAY_LEN(ends); i++) {
        size_t n = strlen(name), cut = strlen(ends[i]);
        if (n > cut && strcmp(name + n - cut, ends[i]) == 0) name[n - cut] = 0;
    }
    hb_result result = add(page, &(hb_logdir_file){"", name, "", path});
    free(name);
    return result;
}

hb_result hb_page_find(hb_page *page)
{
    struct stat st;
    for (size_t i = 0; i < page->num_paths; i++) {
        const char *path = page->paths[i];
        bool piped = strcmp(path, "-") == 0, logdir = !piped && hb_is_logdir(path);
        /* A path that goes on behind a file is one in a pack. */
        if (!piped && !logdir && stat(path, &st) != 0 && errno != ENOTDIR)
            return hb_fail_errno(HB_ERROR_NOT_FOUND, errno, "%s", path);
        HB_TRY(logdir ? add_logdir(page, path) : add_file(page, path));
    }
    return HB_OK;
}

void hb_page_forget(hb_page *page)
{
    for (size_t i = 0; i < page->num_traces; i++) {
        hb_page_trace *t = &page->traces[i];
        hb_page_unread(t);
        free(t->id);
        free(t->run);
        free(t->worker);
        free(t->span);
        free(t->path);
        free(t->error);
    }
    free(page->traces);
    page->traces = NULL;
    page->num_traces = 0;
}

hb_page_trace *hb_page_trace_of(hb_page *page, const char *id)
{
    for (size_t i = 0; id && i < page->num_traces; i++)
        if (strcmp(page->traces[i].id, id) == 0) return &page->traces[i];
    hb_fail(id ? HB_ERROR_NOT_FOUND : HB_ERROR_INVALID_ARGUMENT,
            id ? "there is no trace '%s' (any more)" : "parameter %s is missing",
            id ? id : "trace");
    return NULL;
}

/* ---- reading them ---- */

hb_result hb_page_read(hb_page *page, hb_page_trace *trace)
{
    if (trace->file) return HB_OK;
    if (trace->error) return hb_fail(HB_ERROR_FORMAT, "%s", trace->error);
    hb_result result = hb_trace_file_open(trace->path, &page->open, &trace->file);
    if (result == HB_OK && hb_trace_file_num_events(trace->file) == 0) {
        hb_trace_file_close(trace->file);
        trace->file = NULL;
        result = hb_fail(HB_ERROR_FORMAT, "%s: the trace has no events", trace->path);
    }
    if (result != HB_OK) trace->error = strdup(hb_last_error());
    return result;
}

void hb_page_unread(hb_page_trace *trace)
{
    if (trace->timeline) hb_timeline_free(trace->timeline);
    free(trace->timeline);
    hb_insights_destroy(trace->insights);
    hb_trace_file_close(trace->file);
    trace->timeline = NULL;
    trace->insights = NULL;
    trace->file = NULL;
}

hb_result hb_page_insights(hb_page_trace *trace, hb_insights **insights)
{
    hb_result result =
        trace->insights ? HB_OK : hb_insights_create(trace->file, NULL, &trace->insights);
    *insights = trace->insights;
    return result;
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
