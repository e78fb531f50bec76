/* SPDX-License-Identifier: MIT
 *
 * Steps as the plugin makes them of ProfilerStep#N: it moves their borders by the device work
 * begun in them, and divides by their lengths.
 */
#include <math.h>
#include <stdlib.h>

#include "convert/convert.h"

typedef struct step {
    hb_item *item;
    double start, end, work_end;
    bool works;
} step;

typedef struct steps {
    hb_plan *plan;
    step *list;
    size_t count;
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

static step *step_of(steps *s, const hb_item *call)
{
    size_t low = 0, high = s->count;
    while (low < high) { /* the last that starts no later */
        size_t middle = (low + high) / 2;
        if (s->list[middle].start <= call->ts)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || call->ts + call->dur > s->list[low - 1].end) return NULL;
    return &s->list[low - 1];
}

static step *step_of_work(steps *s, const hb_item *work)
{
    uint32_t call =
        work->corr == HB_ABSENT ? UINT32_MAX : hb_dict_value(&s->plan->calls, (uint64_t)work->corr);
    return call == UINT32_MAX ? NULL : step_of(s, hb_plan_item(s->plan, call));
}

static void add_work(step *to, const hb_item *work)
{
    double end = work->ts + work->dur;
    to->work_end = to->works ? fmax(to->work_end, end) : end;
    to->works = true;
}

static void find_work(steps *s)
{
    for (uint32_t i = 0; i < s->plan->items.count; i++) {
        const hb_item *item = hb_plan_item(s->plan, i);
        step *owner = item->role == HB_PLAN_WORK ? step_of_work(s, item) : NULL;
        if (owner) add_work(owner, item);
    }
}

/* Whether the step is empty after the border has moved; moves it on. */
static bool is_swallowed(const step *x, double *border)
{
    double start = fmax(*border, x->start), end = fmax(x->end, start);
    if (x->works) end = fmax(fmax(x->end, x->work_end), start);
    if (end <= start) return true; /* hidden, it moves nothing */
    *border = end;
    return false;
}

static bool hide_swallowed(steps *s)
{
    bool any = false, hidden = false;
    for (size_t i = 0; i < s->count; i++)
        any = any || s->list[i].works;
    if (!any) return false;           /* the plugin leaves the borders alone then */
    double border = s->list[0].start; /* work in front of the first step's own leaves it one */
    for (size_t i = 0; i < s->count; i++) {
        if (!is_swallowed(&s->list[i], &border)) continue;
        s->list[i].item->flags |= HB_ITEM_HIDE;
        s->plan->counts[HB_CHANGE_STEP_HIDDEN]++;
        hidden = true;
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
    bool hidden = false;
    if (s.count) {
        find_work(&s);
        hidden = hide_swallowed(&s);
    }
    hb_arena_give_back(&plan->arena, s.list, count * sizeof *s.list);
    return hidden;
}
