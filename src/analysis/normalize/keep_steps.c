/* SPDX-License-Identifier: MIT */
#include "normalize/keep_steps.h"

#include <math.h>
#include <stdlib.h>

#include "base/hash_map.h"

typedef struct window {
    int64_t start, end;
} window;

typedef struct keeper {
    hb_arena arena;
    hb_trace *trace;
    int64_t first, last;
    HB_VEC(window) windows; /* of the steps that stay, on the host */
    hb_dict calls;          /* correlation -> whether the call stays */
} keeper;

static bool is_device_work(const hb_row *row)
{
    return row->kind == HB_KIND_KERNEL || row->kind == HB_KIND_MEMCPY ||
           row->kind == HB_KIND_MEMSET;
}

/* False: the row is no step. */
static bool step_number(const keeper *k, const hb_row *row, int64_t *number)
{
    if (!hb_row_is_step(k->trace, row)) return false;
    *number = hb_step_number_of(hb_trace_text(k->trace, row->name));
    return true;
}

static bool is_wanted(const keeper *k, int64_t number)
{
    return number >= k->first && number <= k->last;
}

static void find_windows(keeper *k)
{
    int64_t number;
    for (uint32_t i = 0; i < k->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(k->trace, i);
        if (!hb_row_is_timed(k->trace, row) || !step_number(k, row, &number) ||
            !is_wanted(k, number) || hb_row_is_of(k->trace, row, HB_CATEGORY_GPU_USER_ANNOTATION))
            continue;
        *HB_PUSH(&k->arena, &k->windows) = (window){row->start, hb_row_end(row)};
    }
}

static bool in_window(const keeper *k, int64_t time)
{
    for (uint32_t i = 0; i < k->windows.count; i++)
        if (time >= k->windows.items[i].start && time < k->windows.items[i].end) return true;
    return false;
}

static void find_calls(keeper *k)
{
    for (uint32_t i = 0; i < k->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(k->trace, i);
        if (!hb_row_is_call(row) || !hb_row_is_timed(k->trace, row)) continue;
        hb_id key = hb_row_correlation(k->trace, row);
        if (key != HB_ID_NONE) hb_dict_set(&k->arena, &k->calls, key, in_window(k, row->start));
    }
}

/* Work whose launch is not in the trace belongs to the step in which it began. */
static bool stays_on_device(const keeper *k, const hb_row *row)
{
    hb_id key = hb_row_correlation(k->trace, row);
    const hb_dict_entry *e = key == HB_ID_NONE ? NULL : hb_dict_get(&k->calls, key);
    return e ? e->value : in_window(k, row->start);
}

static bool stays(const keeper *k, const hb_row *row)
{
    int64_t number;
    if (step_number(k, row, &number)) return is_wanted(k, number);
    if (row->kind == HB_KIND_MEMORY) return in_window(k, row->start);
    if (row->kind == HB_KIND_SPAN || !hb_row_is_timed(k->trace, row))
        return true; /* about the whole */
    return is_device_work(row) ? stays_on_device(k, row) : in_window(k, row->start);
}

static void keep(keeper *k)
{
    uint32_t kept = 0;
    find_windows(k);
    if (!k->windows.count)
        hb_arena_leave(&k->arena, HB_ERROR_NOT_FOUND, "the trace has no step %lld",
                       (long long)k->first);
    find_calls(k);
    for (uint32_t i = 0; i < k->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(k->trace, i);
        if (stays(k, row)) *(hb_row *)hb_column_at(&k->trace->rows, kept++) = *row;
    }
    k->trace->rows.count = kept;
}

hb_result hb_keep_steps(hb_trace *trace, int64_t first, int64_t last)
{
    keeper k = {.trace = trace, .first = first, .last = last};
    if (hb_arena_try(&k.arena)) keep(&k);
    hb_result result = hb_arena_outcome(&k.arena);
    hb_arena_free(&k.arena);
    return result;
}
