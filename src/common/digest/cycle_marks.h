/* SPDX-License-Identifier: MIT
 *
 * What must be known of all host events before a cycle's numbers are summed up: which steps and
 * collectives there are. It may be gathered while something else reads the events, so that they are
 * read once less.
 */
#ifndef HB_DIGEST_CYCLE_MARKS_H
#define HB_DIGEST_CYCLE_MARKS_H

#include "base/hash_map.h"
#include "base/vector.h"
#include "trace/source.h"

/** Which scopes of the program's own are operators: as in the trace that stands beside. */
typedef enum hb_own_scopes {
    HB_SCOPES_ARE_OPERATORS,   /* the TensorBoard dialect */
    HB_SCOPES_ARE_ANNOTATIONS, /* Kineto's; but for those of PyTorch's library */
} hb_own_scopes;

/** hb_name_class_of() of a source's names. All zero is empty. */
typedef struct hb_name_classes {
    struct {
        uint32_t key, bits; /* 0: none yet */
    } recent[64];
    hb_dict all; /* by name_key; malloc()ed */
} hb_name_classes;

unsigned hb_name_classes_find(hb_name_classes *names, const hb_trace_event *event);

static inline unsigned hb_name_classes_of(hb_name_classes *names, const hb_trace_event *event)
{
    uint32_t key = event->name_key, at = key % HB_ARRAY_LEN(names->recent);
    bool known = key && names->recent[at].bits && names->recent[at].key == key;
    return HB_LIKELY(known) ? names->recent[at].bits : hb_name_classes_find(names, event);
}

/** From the earliest to the latest; nothing when the end is before the start. */
typedef struct hb_time_range {
    int64_t start, end;
} hb_time_range;

static inline void hb_widen_range(hb_time_range *all, int64_t start, int64_t end)
{
    all->start = HB_MIN(all->start, start);
    all->end = HB_MAX(all->end, end);
}

typedef struct hb_step_mark {
    int64_t start_ns, end_ns, number;
    size_t index; /* as given */
} hb_step_mark;

typedef struct hb_cycle_marks {
    hb_own_scopes own_scopes;
    hb_name_classes names;
    HB_VEC(hb_step_mark) steps;
    HB_VEC(uint64_t) collectives; /* their external ids */
    hb_time_range scopes;         /* of those that are no steps */
    int num_devices;              /* highest HIP ordinal with memory, + 1 */
    bool whole;                   /* of all events */
    bool failed;                  /* without memory */
} hb_cycle_marks;

void hb_cycle_marks_init(hb_cycle_marks *marks, hb_own_scopes own_scopes);
void hb_cycle_marks_free(hb_cycle_marks *marks);

/** Of a host event; thread after thread, or by start over all threads. */
void hb_cycle_marks_add(hb_cycle_marks *marks, const hb_trace_event *event);

/** The steps in the order of time. */
void hb_cycle_marks_sort(hb_cycle_marks *marks);

/** A source that gives what another one does, and marks what a first whole pass of it over the
 * host's events shows. Closing it leaves the other one open. */
typedef struct hb_marking_source {
    hb_source source;
    hb_source *from;
    hb_cycle_marks *marks;
    bool marks_pass; /* the present one */
} hb_marking_source;

hb_marking_source hb_marking_source_of(hb_source *from, hb_cycle_marks *marks);

/** Kineto's annotations take no part in the views, but those of PyTorch's library and the names of
 * collectives; nor does the call that such an annotation stands for. */
bool hb_is_only_drawn(hb_own_scopes own_scopes, const hb_trace_event *event, unsigned bits);

/** The device of a memory event; false: none that numbers are kept of. */
bool hb_cycle_memory_device(const hb_trace_event *event, int32_t *device);

#endif
