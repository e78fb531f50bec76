/* SPDX-License-Identifier: MIT
 *
 * Which events come into which file: device work goes with its call, what has no time into all.
 */
#include <math.h>

#include "convert/convert.h"
#include "trace/cuts.h"

typedef struct places {
    hb_cut_place *list;
    size_t count;
} places;

static bool is_everywhere(const hb_item *item)
{
    return item->role == HB_PLAN_SPAN || isnan(item->ts);
}

static double time_of(const hb_plan *plan, const hb_item *item)
{
    if (item->role != HB_PLAN_WORK && item->role != HB_PLAN_ARROW) return item->ts;
    if (item->corr == HB_ABSENT) return item->ts;
    uint32_t call = hb_dict_value(&plan->calls, (uint64_t)item->corr);
    return call == UINT32_MAX ? item->ts : hb_plan_item(plan, call)->ts;
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

static void add_place(places *p, double at, hb_cut_kind kind)
{
    p->list[p->count++] = (hb_cut_place){.at = at, .kind = kind};
}

static void add_steps(const hb_plan *plan, places *p, double start, double end)
{
    for (uint32_t i = 0; i < plan->items.count; i++) {
        const hb_item *item = hb_plan_item(plan, i);
        if (item->role == HB_PLAN_STEP && item->ts >= start && item->ts < end)
            add_place(p, item->ts, HB_CUT_STEP);
    }
}

/* Of items' numbers. */
static bool starts_before(const void *plan, const void *a, const void *b)
{
    return hb_plan_item(plan, *(const uint32_t *)a)->ts <
           hb_plan_item(plan, *(const uint32_t *)b)->ts;
}

/* Without steps: where something begins while nothing is open on any thread. */
static void add_pauses(hb_plan *plan, places *p)
{
    uint32_t *nodes = HB_NEW_ARRAY(&plan->arena, uint32_t, plan->items.count), count = 0;
    for (uint32_t i = 0; i < plan->items.count; i++)
        if (hb_item_is_scope(hb_plan_item(plan, i))) nodes[count++] = i;
    hb_sort(&plan->arena, nodes, count, sizeof *nodes, starts_before, plan);
    double end = -INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        const hb_item *item = hb_plan_item(plan, nodes[i]);
        if (item->ts >= end) add_place(p, item->ts, HB_CUT_PAUSE);
        end = fmax(end, item->ts + item->dur);
    }
    hb_arena_give_back(&plan->arena, nodes, plan->items.count * sizeof *nodes);
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

static void add_sizes(const hb_plan *plan, places *p, double start, double end)
{
    for (uint32_t i = 0; i < plan->items.count; i++) {
        const hb_item *item = hb_plan_item(plan, i);
        double when = time_of(plan, item);
        if (!is_everywhere(item) && when >= start && when < end)
            p->list[hb_cut_place_of(p->list, p->count, when)].size += written_size(item);
    }
}

/* A stretch without events makes no file. */
static void choose_cuts(hb_plan *plan, const places *p, double start, double end)
{
    hb_cut_rule rule = {plan->options->max_size, common_size(plan), plan->options->split_steps};
    uint64_t size = 0;
    plan->cuts[plan->num_parts++] = start;
    for (size_t i = 0, begin = 0; i < p->count; begin = i) {
        i = hb_next_cut(p->list, p->count, begin, &rule);
        for (size_t k = begin; k < i; k++)
            size += p->list[k].size;
        if (!size || i == p->count || plan->num_parts >= HB_PART_NONE) continue;
        if (p->list[i].at <= start || p->list[i].at >= end) continue;
        plan->cuts[plan->num_parts++] = p->list[i].at;
        size = 0;
    }
    /* Nor does one at the end. */
    if (!size && plan->num_parts > 1) plan->num_parts--;
    plan->cuts[plan->num_parts] = end;
}

static bool is_split(const hb_convert_options *o)
{
    return o->max_size > 0 || o->split_steps > 0 || o->split_us > 0;
}

/* The first and the last time of an event. */
static void find_ends(const hb_plan *plan, double start, double end, double *first, double *last)
{
    *first = INFINITY;
    *last = -INFINITY;
    for (uint32_t i = 0; i < plan->items.count; i++) {
        const hb_item *item = hb_plan_item(plan, i);
        double when = time_of(plan, item);
        if (is_everywhere(item) || when < start || when >= end) continue;
        *first = fmin(*first, when);
        *last = fmax(*last, when);
    }
}

static hb_result count_spans(const hb_plan *plan, double first, double last, size_t *count)
{
    double spans = last > first ? (last - first) / plan->options->split_us : 0;
    *count = 0;
    if (!(plan->options->split_us > 0)) return HB_OK;
    if (spans >= HB_PART_NONE)
        return hb_fail(HB_ERROR_LIMIT, "%s: would become %.0f files: split it by longer times",
                       plan->input, spans);
    *count = (size_t)spans + 1;
    return HB_OK;
}

static hb_result find_places(hb_plan *plan, places *p, double start, double end)
{
    const hb_convert_options *o = plan->options;
    double first, last;
    size_t spans;
    if (!is_split(o)) return HB_OK;
    find_ends(plan, start, end, &first, &last);
    HB_TRY(count_spans(plan, first, last, &spans));
    p->list = HB_NEW_ARRAY(&plan->arena, hb_cut_place, (size_t)plan->items.count + spans);
    add_steps(plan, p, start, end);
    if (p->count == 0 && o->split_steps)
        return hb_fail(HB_ERROR_NOT_FOUND,
                       "%s: has no steps to be split by: --find-steps finds them, or split it by "
                       "size or time",
                       plan->input);
    if (p->count == 0 && o->max_size) add_pauses(plan, p);
    for (size_t i = 0; i < spans; i++)
        add_place(p, first + (double)i * o->split_us, HB_CUT_TIME);
    hb_sort_cut_places(p->list, p->count);
    return HB_OK;
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
    places p = {0};
    HB_TRY(find_window(plan, &start, &end));
    HB_TRY(find_places(plan, &p, start, end));
    plan->cuts = HB_NEW_ARRAY(&plan->arena, double, p.count + 2);
    if (p.count) add_sizes(plan, &p, start, end);
    choose_cuts(plan, &p, start, end);
    assign(plan);
    return HB_OK;
}
