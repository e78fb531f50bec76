/* SPDX-License-Identifier: MIT */
#include "write/shown_steps.h"

#include <stdlib.h>

#include "base/base.h"

hb_result hb_steps_add(hb_steps *steps, int64_t start, int64_t end, uint64_t external_id)
{
    if (steps->list.count == HB_MAX_STEPS) return HB_OK;
    hb_noted_step *step = HB_APPEND(&steps->list);
    if (!step) return hb_fail(HB_ERROR_NO_MEMORY, "no memory to check %u steps", steps->list.count);
    *step = (hb_noted_step){
        .start = start,
        .end = end,
        .external_id = external_id,
        .device_end = INT64_MIN,
        .order = steps->list.count - 1,
    };
    return HB_OK;
}

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_start(const void *a, const void *b)
{
    const hb_noted_step *x = a, *y = b;
    int order = COMPARE(x->start, y->start);
    return order ? order : COMPARE(x->order, y->order);
}

static int by_order(const void *a, const void *b)
{
    const hb_noted_step *x = a, *y = b;
    return COMPARE(x->order, y->order);
}

/* The last step that starts at or before `ns`. */
static hb_noted_step *step_at(hb_steps *steps, int64_t ns)
{
    size_t low = 0, high = steps->list.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (steps->list.items[middle].start <= ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &steps->list.items[low - 1] : NULL;
}

/* Each thread takes its correlations a block at a time, or all threads theirs from one count; in a
 * block they are in the order of the calls. So the launches of a step are a few runs of them,
 * however many there are. The last run of a block is remembered for some blocks; a run more does no
 * harm. */
enum { BLOCK = 1024 };

static hb_launch_run *last_run(hb_steps *steps, uint64_t block)
{
    uint32_t index = steps->recent[block % HB_ARRAY_LEN(steps->recent)];
    hb_launch_run *run = index ? &steps->runs.items[index - 1] : NULL;
    return run && run->last / BLOCK == block ? run : NULL;
}

static hb_result note_launch(hb_steps *steps, const hb_trace_event *call)
{
    const hb_noted_step *step = step_at(steps, call->start_ns);
    if (!step || call->end_ns > step->end || call->correlation == 0) return HB_OK;
    uint32_t index = (uint32_t)(step - steps->list.items);
    uint64_t id = call->correlation, block = id / BLOCK;
    hb_launch_run *run = last_run(steps, block);
    if (run && run->step == index && run->last < id) {
        run->last = id;
        return HB_OK;
    }
    run = HB_APPEND(&steps->runs);
    if (!run) return hb_fail(HB_ERROR_NO_MEMORY, "no memory to check the steps' launches");
    *run = (hb_launch_run){.first = id, .last = id, .step = index};
    steps->recent[block % HB_ARRAY_LEN(steps->recent)] = (uint32_t)steps->runs.count;
    return HB_OK;
}

static int by_first(const void *a, const void *b)
{
    const hb_launch_run *x = a, *y = b;
    return COMPARE(x->first, y->first);
}

static void sort_runs(hb_steps *steps)
{
    hb_launch_run *runs = steps->runs.items;
    if (steps->runs.count) qsort(runs, steps->runs.count, sizeof *runs, by_first);
    for (uint32_t i = 0; i < steps->runs.count; i++)
        runs[i].reach = i ? HB_MAX(runs[i - 1].reach, runs[i].last) : runs[i].last;
}

/* Runs of several threads that give out one count overlap, and are of the same step there. */
static const hb_launch_run *run_of(const hb_steps *steps, uint64_t id)
{
    const hb_launch_run *runs = steps->runs.items;
    size_t behind = id < UINT64_MAX ? HB_LOWER_BOUND(runs, steps->runs.count, first, id + 1) : 0;
    for (; behind && runs[behind - 1].reach >= id; behind--)
        if (runs[behind - 1].last >= id) return &runs[behind - 1];
    return NULL;
}

static void note_device_work(hb_steps *steps, const hb_trace_event *work)
{
    const hb_launch_run *run = run_of(steps, work->correlation);
    if (!run) return;
    hb_noted_step *step = &steps->list.items[run->step];
    step->device_end = HB_MAX(step->device_end, work->end_ns);
}

static bool is_device_work(const hb_trace_event *event)
{
    return event->kind == HB_EVENT_KERNEL || event->kind == HB_EVENT_MEMCPY ||
           event->kind == HB_EVENT_MEMSET;
}

static hb_result each_device_event(hb_steps *steps, hb_source *source, bool launches)
{
    hb_trace_event event;
    HB_TRY(source->begin(source, HB_PASS_DEVICE));
    while (source->next(source, &event)) {
        if (launches && event.kind == HB_EVENT_RUNTIME)
            HB_TRY(note_launch(steps, &event));
        else if (!launches && is_device_work(&event))
            note_device_work(steps, &event);
    }
    return HB_OK;
}

static bool any_device_work(const hb_steps *steps)
{
    for (size_t i = 0; i < steps->list.count; i++)
        if (steps->list.items[i].device_end != INT64_MIN) return true;
    return false;
}

/* The plugin's own walk over the steps. A hidden step leaves the walk where it was. */
static void hide_swallowed(hb_steps *steps)
{
    int64_t previous_end = steps->list.items[0].start;
    for (size_t i = 0; i < steps->list.count; i++) {
        hb_noted_step *step = &steps->list.items[i];
        int64_t start = HB_MAX(previous_end, step->start);
        int64_t end = HB_MAX(step->end, step->device_end);
        step->hidden = end <= start;
        if (!step->hidden) previous_end = end;
        steps->hidden += step->hidden;
    }
}

hb_result hb_steps_check(hb_steps *steps, hb_source *source)
{
    if (steps->list.count < 2) return HB_OK;
    qsort(steps->list.items, steps->list.count, sizeof *steps->list.items, by_start);
    HB_TRY(each_device_event(steps, source, true));
    sort_runs(steps);
    HB_TRY(each_device_event(steps, source, false));
    if (any_device_work(steps)) hide_swallowed(steps);
    qsort(steps->list.items, steps->list.count, sizeof *steps->list.items, by_order);
    return HB_OK;
}

bool hb_steps_next_hidden(hb_steps *steps)
{
    return steps->at < steps->list.count && steps->list.items[steps->at++].hidden;
}

void hb_steps_free(hb_steps *steps)
{
    free(steps->list.items);
    free(steps->runs.items);
    *steps = (hb_steps){0};
}
