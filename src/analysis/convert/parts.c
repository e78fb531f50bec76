/* SPDX-License-Identifier: MIT
 *
 * Which events come into which file: device work goes with its call, what has no time into all.
 */
#include <math.h>
#include <stdlib.h>

#include "convert/convert.h"

typedef struct times {
    double *list;
    uint64_t *sizes; /* of the events from list[i] on, up to list[i + 1] */
    uint32_t count;
} times;

static bool is_everywhere(const hb_item *item)
{
    return item->role == HB_PLAN_SPAN || isnan(item->ts);
}

static double time_of(const hb_plan *plan, const hb_item *item)
{
    if (item->role != HB_PLAN_WORK && item->role != HB_PLAN_ARROW) return item->ts;
    if (item->corr == HB_ABSENT) return item->ts;
    uint32_t call = hb_index_get(&plan->calls, item->corr);
    return call == UINT32_MAX ? item->ts : hb_plan_item(plan, call)->ts;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The last time that is not after `when`. */
static uint32_t find(const double *list, uint32_t count, double when)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list[middle] <= when)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? low - 1 : 0;
}

/* ---- the window ---- */

static bool is_whole(const hb_convert_options *o)
{
    return !(o->start_us > 0) && !(o->end_us > 0);
}

/* Counted from the first event that is there, the profiler's own spans and names aside. */
static void find_times_asked(const hb_plan *plan, double *start, double *end)
{
    const hb_convert_options *o = plan->options;
    double first = INFINITY;
    *start = -INFINITY;
    *end = INFINITY;
    if (is_whole(o)) return;
    for (uint32_t i = 0; i < plan->items.count; i++) {
        const hb_item *item = hb_plan_item(plan, i);
        if (!is_everywhere(item)) first = fmin(first, item->ts);
    }
    if (o->start_us > 0) *start = first + o->start_us;
    if (o->end_us > 0) *end = first + o->end_us;
}

static hb_result find_window(const hb_plan *plan, double *start, double *end)
{
    const hb_convert_options *o = plan->options;
    find_times_asked(plan, start, end);
    if (o->first_step == INT64_MIN && o->last_step == INT64_MAX) return HB_OK;
    double from = INFINITY, to = -INFINITY;
    for (uint32_t i = 0; i < plan->items.count; i++) {
        const hb_item *item = hb_plan_item(plan, i);
        if (item->role != HB_PLAN_STEP) continue;
        if (item->corr < o->first_step || item->corr > o->last_step) continue;
        from = fmin(from, item->ts);
        to = fmax(to, item->ts + item->dur);
    }
    if (from > to) return hb_fail(HB_ERROR_NOT_FOUND, "%s: has none of these steps", plan->input);
    *start = fmax(*start, from);
    *end = fmin(*end, to);
    return HB_OK;
}

/* ---- where a file may be cut ---- */

static void add_steps(const hb_plan *plan, times *t)
{
    for (uint32_t i = 0; i < plan->items.count; i++) {
        const hb_item *item = hb_plan_item(plan, i);
        if (item->role == HB_PLAN_STEP) t->list[t->count++] = item->ts;
    }
}

static int compare_starts(const void *a, const void *b)
{
    const hb_item *x = *(hb_item *const *)a, *y = *(hb_item *const *)b;
    return x->ts < y->ts ? -1 : x->ts > y->ts;
}

/* Without steps: where something begins while nothing is open on any thread. */
static bool add_pauses(const hb_plan *plan, times *t)
{
    hb_item **nodes = calloc((size_t)plan->items.count + 1, sizeof *nodes);
    uint32_t count = 0;
    if (!nodes) return false;
    for (uint32_t i = 0; i < plan->items.count; i++) {
        hb_item *item = hb_plan_item(plan, i);
        if (item->role >= HB_PLAN_NODE && item->role <= HB_PLAN_MODULE) nodes[count++] = item;
    }
    qsort(nodes, count, sizeof *nodes, compare_starts);
    double end = -INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        if (nodes[i]->ts >= end) t->list[t->count++] = nodes[i]->ts;
        end = fmax(end, nodes[i]->ts + nodes[i]->dur);
    }
    free(nodes);
    return true;
}

/* An event with its separator and what an edit may add. */
static uint64_t written_size(const hb_item *item)
{
    return item->size + (item->role == HB_PLAN_WORK ? 80u : item->role == HB_PLAN_CALL ? 40u : 10u);
}

static uint64_t common_size(const hb_plan *plan)
{
    uint64_t size = 200;
    for (uint32_t i = 0; i < plan->trace.num_members; i++)
        size += hb_trace_text(&plan->trace, plan->trace.members[i].json).len + 60;
    for (uint32_t i = 0; i < plan->items.count; i++)
        if (is_everywhere(hb_plan_item(plan, i))) size += written_size(hb_plan_item(plan, i));
    return size;
}

static void add_sizes(const hb_plan *plan, times *t, double start, double end)
{
    for (uint32_t i = 0; i < plan->items.count; i++) {
        const hb_item *item = hb_plan_item(plan, i);
        double when = time_of(plan, item);
        if (!is_everywhere(item) && when >= start && when < end)
            t->sizes[find(t->list, t->count, when)] += written_size(item);
    }
}

/* As many neighbours into a part as it holds, at least one. */
static void choose_cuts(hb_plan *plan, const times *t, double start, double end)
{
    uint64_t common = common_size(plan), size = common;
    plan->cuts[plan->num_parts++] = start;
    for (uint32_t i = 0; i < t->count; i++) {
        bool full = size > common && size + t->sizes[i] > plan->options->max_size;
        if (full && t->list[i] > start && t->list[i] < end && plan->num_parts < HB_PART_NONE) {
            plan->cuts[plan->num_parts++] = t->list[i];
            size = common;
        }
        size += t->sizes[i];
    }
    plan->cuts[plan->num_parts] = end;
}

static bool find_times(const hb_plan *plan, times *t)
{
    size_t room = (size_t)plan->items.count + 1;
    t->list = calloc(room, sizeof *t->list);
    t->sizes = calloc(room, sizeof *t->sizes);
    if (!t->list || !t->sizes) return false;
    if (plan->options->max_size == 0) return true;
    add_steps(plan, t);
    if (t->count == 0 && !add_pauses(plan, t)) return false;
    qsort(t->list, t->count, sizeof *t->list, compare_doubles);
    return true;
}

static void assign(hb_plan *plan)
{
    double start = plan->cuts[0], end = plan->cuts[plan->num_parts];
    for (uint32_t i = 0; i < plan->items.count; i++) {
        hb_item *item = hb_plan_item(plan, i);
        double when = time_of(plan, item);
        if (is_everywhere(item))
            item->part = HB_PART_ALL;
        else if (when < start || when >= end)
            item->part = HB_PART_NONE;
        else
            item->part = (uint16_t)find(plan->cuts, plan->num_parts, when);
        plan->counts[HB_CHANGE_OUTSIDE] += item->part == HB_PART_NONE;
    }
}

bool hb_plan_is_cut(const hb_plan *plan)
{
    return plan->num_parts > 1 || plan->cuts[0] > -INFINITY || plan->cuts[1] < INFINITY;
}

hb_result hb_plan_parts(hb_plan *plan)
{
    double start, end;
    times t = {0};
    HB_TRY(find_window(plan, &start, &end));
    bool ok = find_times(plan, &t);
    plan->cuts = ok ? calloc((size_t)t.count + 2, sizeof *plan->cuts) : NULL;
    if (plan->cuts) {
        if (t.count) add_sizes(plan, &t, start, end);
        choose_cuts(plan, &t, start, end);
        assign(plan);
    }
    free(t.list);
    free(t.sizes);
    return plan->cuts ? HB_OK : hb_fail(HB_ERROR_NO_MEMORY, "out of memory for the parts");
}
