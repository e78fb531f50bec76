/* SPDX-License-Identifier: MIT */
#include "normalize/keep_steps.h"

#include <math.h>
#include <stdlib.h>

#include "base/arena.h"
#include "trace/edges.h"

typedef struct window {
    int64_t start, end;
} window;

typedef struct keeper {
    hb_arena arena;
    hb_trace *trace;
    int64_t first, last;
    HB_VEC(window) windows; /* of the steps that stay, on the host */
} keeper;

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
        if (!hb_row_is_host_step(k->trace, row) || !step_number(k, row, &number) ||
            !is_wanted(k, number))
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

/* Work goes where its call went. Without one in the trace it is of the step in which it began. */
static bool stays_on_device(const keeper *k, const hb_row *row)
{
    uint32_t call = hb_work_call(k->trace, row);
    return in_window(k, call == HB_NO_EVENT ? row->start : hb_trace_row(k->trace, call)->start);
}

static bool stays(const keeper *k, const hb_row *row)
{
    int64_t number;
    if (step_number(k, row, &number)) return is_wanted(k, number);
    if (row->kind == HB_KIND_MEMORY) return in_window(k, row->start);
    if (row->kind == HB_KIND_SPAN || !hb_row_is_timed(k->trace, row))
        return true; /* about the whole */
    return hb_row_is_work(row) ? stays_on_device(k, row) : in_window(k, row->start);
}

static void keep(keeper *k)
{
    uint32_t kept = 0;
    find_windows(k);
    if (!k->windows.count)
        hb_arena_leave(&k->arena, HB_ERROR_NOT_FOUND, "the trace has no step %lld",
                       (long long)k->first);
    /* Rows move only when nobody looks at them any more. */
    bool *kept_rows = HB_NEW_ARRAY(&k->arena, bool, k->trace->rows.count + 1);
    for (uint32_t i = 0; i < k->trace->rows.count; i++)
        kept_rows[i] = stays(k, hb_trace_row(k->trace, i));
    for (uint32_t i = 0; i < k->trace->rows.count; i++)
        if (kept_rows[i])
            *(hb_row *)hb_column_at(&k->trace->rows, kept++) = *hb_trace_row(k->trace, i);
    k->trace->rows.count = kept;
    hb_trace_unlink(k->trace);
}

hb_result hb_keep_steps(hb_trace *trace, int64_t first, int64_t last)
{
    keeper k = {.trace = trace, .first = first, .last = last};
    HB_TRY(hb_trace_link(trace));
    if (hb_arena_try(&k.arena)) keep(&k);
    hb_result result = hb_arena_outcome(&k.arena);
    hb_arena_free(&k.arena);
    return result;
}
