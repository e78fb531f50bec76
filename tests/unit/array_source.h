/* SPDX-License-Identifier: MIT
 *
 * A source over an array of events, for tests. Each pass gives the events of its kinds in the
 * array's order; for the timeline that must be the order of time.
 */
#ifndef ARRAY_SOURCE_H
#define ARRAY_SOURCE_H

#include <string.h>

#include "trace/source.h"

typedef struct array_source {
    hb_source source;
    hb_trace_info info;
    const hb_trace_event *events;
    size_t count, at;
    hb_pass pass;
    int closed; /* so many times */
} array_source;

static inline hb_pass array_source_pass_of(hb_event_kind kind)
{
    switch (kind) {
    case HB_EVENT_OP:
    case HB_EVENT_USER_ANNOTATION:
    case HB_EVENT_MEMORY: return HB_PASS_HOST;
    case HB_EVENT_MODULE: return HB_PASS_MODULES;
    case HB_EVENT_SCALAR:
    case HB_EVENT_COUNTER:
    case HB_EVENT_FLOW: return HB_PASS_SCALARS;
    case HB_EVENT_GPU_USER_ANNOTATION: return HB_PASS_DEVICE_ANNOTATIONS;
    default: return HB_PASS_DEVICE;
    }
}

static inline bool array_source_shows(hb_event_kind kind, hb_pass pass)
{
    hb_pass own = array_source_pass_of(kind);
    return pass == HB_PASS_TIMELINE ? own == HB_PASS_HOST : own == pass;
}

static inline hb_result array_source_begin(hb_source *source, hb_pass pass)
{
    array_source *array = (array_source *)source;
    array->pass = pass;
    array->at = 0;
    return HB_OK;
}

static inline bool array_source_next(hb_source *source, hb_trace_event *event)
{
    array_source *array = (array_source *)source;
    for (; array->at < array->count; array->at++)
        if (array_source_shows(array->events[array->at].kind, array->pass)) {
            *event = array->events[array->at++];
            return true;
        }
    return false;
}

static inline void array_source_close(hb_source *source)
{
    ((array_source *)source)->closed++;
}

/** In place, since the source points into itself. The info is filled in with a plain process that
 * began at 2026-11-21. */
static inline void array_source_init(array_source *array, const hb_trace_event *events,
                                     size_t count)
{
    static const hb_thread_info thread = {100, "main"};
    *array = (array_source){
        .source = {.begin = array_source_begin,
                   .next = array_source_next,
                   .close = array_source_close},
        .events = events,
        .count = count,
        .at = count, /* before a pass has begun there is nothing */
        .info = {.start_ns = 1795256296153421318,
                 .stop_ns = 1795256296253421318,
                 .pid = 100,
                 .process_name = "test",
                 .host_name = "vm",
                 .threads = &thread,
                 .num_threads = 1,
                 .trace_id = "7AE6568D4B4C40B5AC7E05D006F1E67E"},
    };
    array->source.info = &array->info;
}

static inline hb_trace_event array_source_scope(const char *name, int64_t start, int64_t end)
{
    return (hb_trace_event){.kind = HB_EVENT_USER_ANNOTATION,
                            .name = {name, (uint32_t)strlen(name)},
                            .start_ns = start,
                            .end_ns = end,
                            .tid = 7,
                            .device = -1};
}

#endif
