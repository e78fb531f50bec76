/* SPDX-License-Identifier: MIT
 *
 * Where a trace's events come from. A source is read forwards, once per pass, in constant memory;
 * a writer makes as many passes as its format has sections.
 */
#ifndef HB_TRACE_SOURCE_H
#define HB_TRACE_SOURCE_H

#include "trace/event.h"

typedef enum hb_pass {
    HB_PASS_HOST,    /* OP, USER_ANNOTATION by start, then MEMORY by time; thread after thread */
    HB_PASS_MODULES, /* MODULE, by start over all threads */
    HB_PASS_SCALARS, /* SCALAR, COUNTER, FLOW, by time within a thread */
    HB_PASS_DEVICE,  /* RUNTIME, SYNC, KERNEL, MEMCPY, MEMSET, in the order they were reported */
    HB_PASS_DEVICE_ANNOTATIONS, /* GPU_USER_ANNOTATION, by device and stream */
    HB_PASS_COUNT,    /* these are all events, once; the last pass shows some of them again: */
    HB_PASS_TIMELINE, /* OP, USER_ANNOTATION, MEMORY by start over all threads, operators with their
                         FLOPs but without inputs and stacks */
} hb_pass;

typedef struct hb_source hb_source;

struct hb_source {
    const hb_trace_info *info;
    /** Begins a pass; may be called again at any time. */
    hb_result (*begin)(hb_source *source, hb_pass pass);
    /** Fills in the pass's next event; false at its end. Host passes give a thread's scopes in the
     * order of their start, parents before children. */
    bool (*next)(hb_source *source, hb_trace_event *event);
    void (*close)(hb_source *source);
};

#endif
