/* SPDX-License-Identifier: MIT
 *
 * What was allocated by whom, until when: the [memory] events of a trace joined into allocations,
 * each with the operator around it.
 */
#ifndef HB_TORCH_ALLOCATIONS_H
#define HB_TORCH_ALLOCATIONS_H

#include "torch/function_events.h"

/** Not a record: still there at the end, or before the first. */
#define HB_NO_RECORD UINT32_MAX

/** A [memory] event. */
typedef struct hb_memory_change {
    int64_t ns; /* Unix time */
    double bytes;
    double total;    /* allocated on the device after it, by all events before */
    uint32_t device; /* index in hb_allocations.devices */
    uint32_t row;
    uint32_t joined; /* allocation that it begins or ends, index + 1; 0: ends an unknown one */
    bool again;      /* begins where another one was, whose end nobody reported */
    bool held;       /* begins one from before the trace, which is in all totals */
} hb_memory_change;

typedef struct hb_allocation {
    double bytes;
    uint32_t device;
    uint32_t begin, end;  /* indices of changes; end HB_NO_RECORD: still there */
    uint32_t owner;       /* event of the list, the innermost around it; HB_NO_FN: none */
    bool held;            /* from before the trace, by: */
    hb_string_id held_by; /* the name of an event then; 0: not known */
    uint32_t below;       /* another one with the same key, index + 1 */
    uint32_t next;        /* the next one on its device, index + 1 */
} hb_allocation;

typedef struct hb_memory_place {
    hb_key id;          /* Device Id */
    bool gpu;           /* else the CPU */
    char name[32];      /* as torch names it: "cpu", "cuda:0" */
    double start_bytes; /* allocated before the trace */
    double total;       /* after the last change */
    double peak_bytes;
    uint32_t peak;        /* change after which so much was allocated; HB_NO_RECORD: the start */
    uint32_t first, last; /* of its allocations, index + 1; 0: none */
    uint64_t num_allocations, num_frees, unknown_frees;
    double allocated_bytes, freed_bytes;
} hb_memory_place;

typedef struct hb_allocations {
    hb_arena *arena;
    const hb_fn_list *list;
    hb_memory_change *changes; /* in the order of time */
    uint32_t num_changes;
    HB_VEC(hb_allocation) items;     /* in the order of their begins */
    HB_VEC(hb_memory_place) devices; /* in the order of their first change */
} hb_allocations;

/** To be called inside hb_arena_try(). */
void hb_allocations_make(hb_allocations *a, const hb_fn_list *list);

/** A device's allocations in the order of their begins; NULL: there are none, or no more. */
static inline const hb_allocation *hb_allocation_at(const hb_allocations *a, uint32_t index_plus_1)
{
    return index_plus_1 ? &a->items.items[index_plus_1 - 1] : NULL;
}
static inline const hb_allocation *hb_first_allocation(const hb_allocations *a, uint32_t device)
{
    return hb_allocation_at(a, a->devices.items[device].first);
}
static inline const hb_allocation *hb_next_allocation(const hb_allocations *a,
                                                      const hb_allocation *of)
{
    return hb_allocation_at(a, of->next);
}

/** Whether it is there after change `at`. */
static inline bool hb_allocation_lives(const hb_allocation *a, uint32_t at)
{
    return a->begin <= at && (a->end == HB_NO_RECORD || a->end > at);
}

#endif
