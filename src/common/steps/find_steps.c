/* SPDX-License-Identifier: MIT
 *
 * The rules, the first that applies: what was wished for; steps of the program's own; ranges whose
 * names count ("step 3"); a range that comes again and again and has most of the device's time;
 * what is launched again and again (inferred_steps.h); one step for all.
 */
#include "steps/find_steps.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/hash_map.h"
#include "base/string_table.h"
#include "base/times.h"
#include "rules/name_class.h"
#include "steps/inferred_steps.h"

enum { REPEATS = 3, SHARE_PERCENT = 60 };

typedef struct range {
    int64_t start, end, tid;
    hb_string_id name;
    bool top; /* in no other range of its thread */
} range;

typedef struct launch {
    uint64_t correlation;
    uint32_t group;
} launch;

/* Top-level ranges of one name on one thread. */
typedef struct group {
    int64_t tid;
    hb_string_id name;
    uint32_t count;
    int64_t device_ns;
} group;

typedef struct finder {
    hb_arena arena;
    hb_source *source;
    hb_found_steps *found;
    hb_texts names;
    HB_VEC(range) ranges;
    HB_VEC(group) groups;
    HB_VEC(launch) launches;
    bool has_steps; /* of the program's own */
    bool operators_are_calls;
} finder;

/* ---- ranges ---- */

static void begin(finder *f, hb_pass pass)
{
    hb_result result = f->source->begin(f->source, pass);
    if (result != HB_OK) hb_arena_leave(&f->arena, result, "%s", hb_last_error());
}

static void collect_ranges(finder *f)
{
    hb_trace_event e;
    int64_t tid = 0, top_end = INT64_MIN;
    begin(f, HB_PASS_HOST);
    while (f->source->next(f->source, &e)) {
        if (e.kind != HB_EVENT_OP && e.kind != HB_EVENT_USER_ANNOTATION) continue;
        f->has_steps |= hb_event_is_step(&e);
        if (f->has_steps) return;
        if (e.kind == HB_EVENT_OP && f->operators_are_calls) continue;
        if (e.tid != tid) top_end = INT64_MIN;
        tid = e.tid;
        bool top = e.start_ns >= top_end;
        if (top) top_end = e.end_ns;
        hb_string_id name = hb_texts_add(&f->names, e.name.s, e.name.len);
        if (!name) hb_arena_leave(&f->arena, HB_ERROR_NO_MEMORY, "out of memory");
        *HB_PUSH(&f->arena, &f->ranges) = (range){e.start_ns, e.end_ns, tid, name, top};
    }
}

/* Behind a word that counts steps; NULL when the name does not count. "model_run" does so without a
 * number. */
static const char *digits_of(const char *name)
{
    static const char *const words[] = {"step", "iteration", "iter"};
    if (strcmp(name, "model_run") == 0) return "";
    for (size_t i = 0; i < HB_ARRAY_LEN(words); i++) {
        size_t n = strlen(words[i]);
        if (strncasecmp(name, words[i], n) != 0) continue;
        const char *p = name + n + strspn(name + n, " _#:=-");
        size_t digits = strspn(p, "0123456789");
        if (digits && digits < 18 && !p[digits]) return p;
    }
    return NULL;
}

static bool counts(const finder *f, const range *r, const char *name)
{
    hb_str text = hb_texts_get(&f->names, r->name);
    return name ? hb_str_is(text, name) : digits_of(text.s) != NULL;
}

/* Those of one thread that are in none of themselves. `name`: NULL for those that count. */
static void take_ranges(finder *f, int64_t tid, const char *name)
{
    hb_found_steps *found = f->found;
    int64_t last = INT64_MIN, before = -1;
    bool numbered = true;
    found->items = calloc(f->ranges.count, sizeof *found->items);
    if (!found->items) hb_arena_leave(&f->arena, HB_ERROR_NO_MEMORY, "out of memory");
    for (uint32_t i = 0; i < f->ranges.count; i++) {
        const range *r = &f->ranges.items[i];
        if (r->tid != tid || r->start < last || !counts(f, r, name)) continue;
        const char *digits = name ? "" : digits_of(hb_texts_get(&f->names, r->name).s);
        int64_t number = *digits ? strtoll(digits, NULL, 10) : -1;
        numbered &= number > before;
        before = number;
        last = r->end;
        found->items[found->count++] = (hb_found_step){r->start, r->end, number};
    }
    for (size_t i = 0; i < found->count && !numbered; i++)
        found->items[i].number = (int64_t)i;
    found->tid = tid;
}

/* The thread with most such ranges. */
static bool find_thread(const finder *f, const char *name, int64_t *tid)
{
    uint32_t most = 0, here = 0;
    int64_t at = 0;
    for (uint32_t i = 0; i < f->ranges.count; i++) {
        const range *r = &f->ranges.items[i];
        if (r->tid != at) here = 0;
        at = r->tid;
        if (!counts(f, r, name) || ++here <= most) continue;
        most = here;
        *tid = at;
    }
    return most > 0;
}

static HB_COLD bool by_names(finder *f)
{
    int64_t tid;
    if (!find_thread(f, NULL, &tid)) return false;
    take_ranges(f, tid, NULL);
    snprintf(f->found->rule, HB_STEP_RULE_SIZE, "ranges whose names count steps");
    return true;
}

static HB_COLD void by_range(finder *f, const char *name)
{
    int64_t tid;
    if (!find_thread(f, name, &tid))
        hb_arena_leave(&f->arena, HB_ERROR_NOT_FOUND, "no range is called '%.100s'", name);
    take_ranges(f, tid, name);
    snprintf(f->found->rule, HB_STEP_RULE_SIZE, "ranges called '%.100s', as asked for", name);
}

/* ---- a range that comes again ---- */

static uint32_t group_of(finder *f, const range *r)
{
    for (uint32_t i = 0; i < f->groups.count; i++)
        if (f->groups.items[i].tid == r->tid && f->groups.items[i].name == r->name) return i;
    *HB_PUSH(&f->arena, &f->groups) = (group){.tid = r->tid, .name = r->name};
    return f->groups.count - 1;
}

/* Names beyond some hundreds are no steps' names. */
static bool group_ranges(finder *f)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < f->ranges.count; i++) {
        if (!f->ranges.items[i].top) continue;
        uint32_t g = group_of(f, &f->ranges.items[i]);
        uint32_t times = ++f->groups.items[g].count;
        most = HB_MAX(most, times);
        if (f->groups.count > 500) return false;
    }
    return most >= REPEATS;
}

static bool earlier(const void *context, const void *a, const void *b)
{
    const range *x = a, *y = b;
    (void)context;
    return x->tid != y->tid ? x->tid < y->tid : x->start < y->start;
}

/* The top-level range around a time; they lie in order of thread and start. */
static const range *range_at(const range *tops, uint32_t count, int64_t tid, int64_t ns)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const range *r = &tops[middle];
        bool before = r->tid != tid ? r->tid < tid : r->start <= ns;
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    const range *r = low ? &tops[low - 1] : NULL;
    return r && r->tid == tid && ns < r->end ? r : NULL;
}

static bool lower_correlation(const void *context, const void *a, const void *b)
{
    (void)context;
    return ((const launch *)a)->correlation < ((const launch *)b)->correlation;
}

static void collect_launches(finder *f)
{
    hb_trace_event e;
    uint32_t count = 0;
    range *tops = HB_NEW_ARRAY(&f->arena, range, f->ranges.count + 1);
    for (uint32_t i = 0; i < f->ranges.count; i++)
        if (f->ranges.items[i].top) tops[count++] = f->ranges.items[i];
    hb_sort(&f->arena, tops, count, sizeof *tops, earlier, NULL);
    begin(f, HB_PASS_DEVICE);
    while (f->source->next(f->source, &e)) {
        if (e.kind != HB_EVENT_RUNTIME || !e.runtime.launches) continue;
        const range *r = range_at(tops, count, e.tid, e.start_ns);
        if (r) *HB_PUSH(&f->arena, &f->launches) = (launch){e.correlation, group_of(f, r)};
    }
    hb_sort(&f->arena, f->launches.items, f->launches.count, sizeof(launch), lower_correlation,
            NULL);
}

static bool is_work(const hb_trace_event *e)
{
    return e->kind == HB_EVENT_KERNEL || e->kind == HB_EVENT_MEMCPY || e->kind == HB_EVENT_MEMSET;
}

/* Gives each group the time of what was launched in it; returns that of all work. */
static int64_t add_device_time(finder *f)
{
    hb_trace_event e;
    int64_t all = 0;
    begin(f, HB_PASS_DEVICE);
    while (f->source->next(f->source, &e)) {
        if (!is_work(&e)) continue;
        int64_t ns = e.end_ns - e.start_ns;
        hb_add_ns(&all, ns);
        size_t i = HB_LOWER_BOUND(f->launches.items, f->launches.count, correlation, e.correlation);
        if (i < f->launches.count && f->launches.items[i].correlation == e.correlation)
            hb_add_ns(&f->groups.items[f->launches.items[i].group].device_ns, ns);
    }
    return all;
}

static bool by_repetition(finder *f)
{
    const group *best = NULL;
    if (!group_ranges(f)) return false;
    collect_launches(f);
    int64_t all = add_device_time(f);
    for (uint32_t i = 0; i < f->groups.count; i++) {
        const group *g = &f->groups.items[i];
        if (g->count >= REPEATS && (!best || g->device_ns > best->device_ns)) best = g;
    }
    if (!best || all <= 0 || best->device_ns <= all / 100 * SHARE_PERCENT) return false;
    hb_str name = hb_texts_get(&f->names, best->name);
    take_ranges(f, best->tid, name.s);
    snprintf(f->found->rule, HB_STEP_RULE_SIZE,
             "ranges called '%.100s', which have %d %% of the device's time", name.s,
             (int)((double)best->device_ns * 100 / (double)all));
    return true;
}

/* ---- other boundaries ---- */

typedef HB_VEC(int64_t) times;

static bool is_less(const void *context, const void *a, const void *b)
{
    (void)context;
    return *(const int64_t *)a < *(const int64_t *)b;
}

/* From each time to the next, and from the last to the end. */
static void take_times(finder *f, times *starts)
{
    hb_found_steps *found = f->found;
    int64_t stop = f->source->info->stop_ns;
    hb_sort(&f->arena, starts->items, starts->count, sizeof(int64_t), is_less, NULL);
    found->items = calloc(starts->count, sizeof *found->items);
    if (!found->items) hb_arena_leave(&f->arena, HB_ERROR_NO_MEMORY, "out of memory");
    for (uint32_t i = 0; i < starts->count; i++) {
        int64_t end = i + 1 < starts->count ? starts->items[i + 1] : stop;
        if (end <= starts->items[i]) continue;
        found->items[found->count] = (hb_found_step){starts->items[i], end, (int64_t)found->count};
        found->count++;
    }
}

static void by_call(finder *f, const char *name)
{
    hb_trace_event e;
    times starts = {0};
    begin(f, HB_PASS_DEVICE);
    while (f->source->next(f->source, &e))
        if (e.kind == HB_EVENT_RUNTIME && hb_str_is(e.name, name))
            *HB_PUSH(&f->arena, &starts) = e.start_ns;
    if (!starts.count)
        hb_arena_leave(&f->arena, HB_ERROR_NOT_FOUND, "no call is named '%.100s'", name);
    take_times(f, &starts);
    snprintf(f->found->rule, HB_STEP_RULE_SIZE,
             "from each call of %.100s to the next, as asked for", name);
}

typedef struct stream {
    int32_t device;
    int64_t tid, busy;
} stream;

static stream busiest_stream(finder *f)
{
    HB_VEC(stream) streams = {0};
    hb_trace_event e;
    uint32_t at = 0, best = 0;
    begin(f, HB_PASS_DEVICE);
    while (f->source->next(f->source, &e)) {
        if (!is_work(&e)) continue;
        bool same = at < streams.count && streams.items[at].device == e.device &&
                    streams.items[at].tid == e.tid;
        for (uint32_t i = 0; !same && i < streams.count; i++) {
            at = i;
            same = streams.items[i].device == e.device && streams.items[i].tid == e.tid;
        }
        if (!same) *HB_PUSH(&f->arena, &streams) = (stream){e.device, e.tid, 0};
        if (!same) at = streams.count - 1;
        hb_add_ns(&streams.items[at].busy, e.end_ns - e.start_ns);
    }
    for (uint32_t i = 0; i < streams.count; i++)
        if (streams.items[i].busy > streams.items[best].busy) best = i;
    return streams.count ? streams.items[best] : (stream){-1, 0, 0};
}

static void by_gaps(finder *f, int64_t gap_ns)
{
    HB_VEC(range) work = {0};
    hb_trace_event e;
    times starts = {0};
    int64_t end = INT64_MIN;
    stream s = busiest_stream(f);
    if (s.device < 0)
        hb_arena_leave(&f->arena, HB_ERROR_NOT_FOUND, "there is no device work to have gaps");
    begin(f, HB_PASS_DEVICE);
    while (f->source->next(f->source, &e))
        if (is_work(&e) && e.device == s.device && e.tid == s.tid)
            *HB_PUSH(&f->arena, &work) = (range){.start = e.start_ns, .end = e.end_ns};
    hb_sort(&f->arena, work.items, work.count, sizeof(range), earlier, NULL);
    for (uint32_t i = 0; i < work.count; i++) {
        if (end == INT64_MIN || work.items[i].start - end >= gap_ns)
            *HB_PUSH(&f->arena, &starts) = work.items[i].start;
        end = HB_MAX(end, work.items[i].end);
    }
    take_times(f, &starts);
    snprintf(f->found->rule, HB_STEP_RULE_SIZE,
             "where stream %lld of GPU %d had nothing to do for %g us, as asked for",
             (long long)s.tid, (int)s.device, (double)gap_ns / 1000);
}

static void as_one(finder *f)
{
    const hb_trace_info *info = f->source->info;
    f->found->items = calloc(1, sizeof *f->found->items);
    if (!f->found->items) hb_arena_leave(&f->arena, HB_ERROR_NO_MEMORY, "out of memory");
    f->found->items[0] =
        (hb_found_step){info->start_ns, HB_MAX(info->stop_ns, info->start_ns + 1), 0};
    f->found->count = 1;
    f->found->tid = 0;
    f->found->method = HB_STEPS_ONE;
    snprintf(f->found->rule, HB_STEP_RULE_SIZE, "one for all: nothing tells of steps");
}

/* ---- the whole ---- */

static void drop(hb_found_steps *found)
{
    free(found->items);
    found->items = NULL;
    found->count = 0;
}

void hb_found_steps_free(hb_found_steps *found)
{
    drop(found);
    free(found->loops);
    found->loops = NULL;
}

static void by_the_program(finder *f, const hb_step_wish *wish)
{
    hb_found_steps *found = f->found;
    collect_ranges(f);
    if (f->has_steps) {
        snprintf(found->rule, HB_STEP_RULE_SIZE, "the program's own");
        found->method = HB_STEPS_OWN;
    } else if (wish->range) {
        by_range(f, wish->range);
        found->method = HB_STEPS_ASKED;
    } else if (by_names(f) || by_repetition(f)) {
        found->method = HB_STEPS_RANGES;
    } else if (wish->no_guess || !hb_infer_steps(&f->arena, &f->names, f->source, 0, found)) {
        as_one(f);
    }
}

static void find(finder *f, const hb_step_wish *wish)
{
    if (!hb_texts_init(&f->names)) hb_arena_leave(&f->arena, HB_ERROR_NO_MEMORY, "out of memory");
    f->operators_are_calls = wish->operators_are_calls;
    f->found->method = HB_STEPS_ASKED;
    if (wish->call)
        by_call(f, wish->call);
    else if (wish->gap_ns > 0)
        by_gaps(f, wish->gap_ns);
    else if (wish->loop)
        hb_infer_steps(&f->arena, &f->names, f->source, wish->loop, f->found);
    else
        by_the_program(f, wish);
    if (f->found->count <= HB_FOUND_STEPS_MAX) return;
    if (wish->call || wish->gap_ns > 0 || wish->range || wish->loop)
        hb_arena_leave(&f->arena, HB_ERROR_LIMIT, "%zu steps: at most %d are shown",
                       f->found->count, HB_FOUND_STEPS_MAX);
    drop(f->found);
    as_one(f);
}

static hb_result try_to_find(finder *f, const hb_step_wish *wish)
{
    if (hb_arena_try(&f->arena)) find(f, wish);
    return hb_arena_outcome(&f->arena);
}

hb_result hb_find_steps(hb_source *source, const hb_step_wish *wish, hb_found_steps *found)
{
    finder f = {.source = source, .found = found};
    *found = (hb_found_steps){0};
    hb_result result = try_to_find(&f, wish);
    hb_texts_free(&f.names);
    hb_arena_free(&f.arena);
    if (result != HB_OK) hb_found_steps_free(found);
    return result;
}
