/* SPDX-License-Identifier: MIT
 *
 * Steps as the plugin makes them of ProfilerStep#N: it moves their borders by the device work
 * begun in them.
 */
#include <math.h>
#include <stdlib.h>

#include "convert/convert.h"

/* Of a call in the part of a step that is in no later one. */
typedef struct step_work {
    uint32_t step;
    double call_end, end;
} step_work;

typedef struct step {
    hb_item *item;
    double start, end, work_end;
    bool works;
    uint32_t first, num_works; /* in `works` */
} step;

typedef struct steps {
    hb_plan *plan;
    step *list;
    uint32_t count;
    HB_VEC(step_work) works;
} steps;

static int compare_steps(const void *a, const void *b)
{
    double x = ((const step *)a)->start, y = ((const step *)b)->start;
    return x < y ? -1 : x > y;
}

static void collect(steps *s)
{
    for (uint32_t i = 0; i < s->plan->items.count; i++) {
        hb_item *item = hb_plan_item(s->plan, i);
        if (item->role != HB_PLAN_STEP || item->flags & HB_ITEM_HIDE) continue;
        s->list[s->count++] = (step){.item = item, .start = item->ts, .end = item->ts + item->dur};
    }
    if (s->count) qsort(s->list, s->count, sizeof *s->list, compare_steps);
}

/* Behind the last step that starts no later. */
static uint32_t behind(const steps *s, double ts)
{
    uint32_t low = 0, high = s->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (s->list[middle].start <= ts)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_before(const void *context, const void *a, const void *b)
{
    (void)context;
    return ((const step_work *)a)->step < ((const step_work *)b)->step;
}

static void find_work(steps *s)
{
    hb_plan *plan = s->plan;
    for (uint32_t i = 0; i < plan->items.count; i++) {
        const hb_item *work = hb_plan_item(plan, i);
        if (work->role != HB_PLAN_WORK || work->corr == HB_ABSENT) continue;
        uint32_t index = hb_dict_value(&plan->calls, (uint64_t)work->corr);
        if (index == UINT32_MAX) continue;
        const hb_item *call = hb_plan_item(plan, index);
        uint32_t number = behind(s, call->ts);
        if (number)
            *HB_PUSH(&plan->arena, &s->works) =
                (step_work){number - 1, call->ts + call->dur, work->ts + work->dur};
    }
    hb_sort(&plan->arena, s->works.items, s->works.count, sizeof *s->works.items, is_before, NULL);
    for (uint32_t i = s->works.count; i-- > 0;) {
        step *owner = &s->list[s->works.items[i].step];
        owner->first = i;
        owner->num_works++;
    }
}

/* Those of `of` whose calls end in `to`. */
static void add_works(const steps *s, step *to, const step *of)
{
    for (uint32_t i = of->first; i < of->first + of->num_works; i++) {
        const step_work *work = &s->works.items[i];
        if (work->call_end > to->end) continue;
        to->work_end = to->works ? fmax(to->work_end, work->end) : work->end;
        to->works = true;
    }
}

static double end_of(const step *x, double start)
{
    double end = fmax(x->end, start);
    return x->works ? fmax(end, x->work_end) : end;
}

/* A step that is empty after the border has moved is hidden, and moves nothing; its calls are in
 * the one before it then, as if it were not there. */
static bool hide_swallowed(steps *s)
{
    bool any = false, hidden = false;
    for (uint32_t i = 0; i < s->count; i++) {
        add_works(s, &s->list[i], &s->list[i]);
        any = any || s->list[i].works;
    }
    if (!any) return false;           /* the plugin leaves the borders alone then */
    double border = s->list[0].start; /* work in front of the first step's own leaves it one */
    step *before = NULL;
    for (uint32_t i = 0; i < s->count; i++) {
        step *x = &s->list[i];
        double start = fmax(border, x->start);
        if (end_of(x, start) > start) {
            border = end_of(x, start);
            before = x;
            continue;
        }
        x->item->flags |= HB_ITEM_HIDE;
        s->plan->counts[HB_CHANGE_STEP_HIDDEN]++;
        hidden = true;
        if (!before) continue;
        add_works(s, before, x);
        border = end_of(before, border);
    }
    return hidden;
}

bool hb_plan_hide_steps(hb_plan *plan)
{
    steps s = {.plan = plan};
    size_t count = 0;
    for (uint32_t i = 0; i < plan->items.count; i++)
        count += hb_plan_item(plan, i)->role == HB_PLAN_STEP;
    s.list = HB_NEW_ARRAY(&plan->arena, step, count);
    collect(&s);
    if (!s.count) return false;
    find_work(&s);
    return hide_swallowed(&s);
}
