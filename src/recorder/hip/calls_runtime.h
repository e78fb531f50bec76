/* SPDX-License-Identifier: MIT
 *
 * What calls.c (frames, counts, device work) and call_records.c (what a call's arguments and result
 * mean) share.
 */
#ifndef HB_HIP_CALLS_RUNTIME_H
#define HB_HIP_CALLS_RUNTIME_H

#include "hip/calls.h"

/** The runtime whose calls are reported; not changed any more when the first one is. */
typedef struct hb_calls_of_runtime {
    const hb_hip *hip;
    hb_calls_source source;
    const hb_hip_call *rows; /* by function number, as the names */
    const uint32_t *names;   /* string ids */
} hb_calls_of_runtime;

extern hb_calls_of_runtime hb_calls_runtime;

/** Moves when streams go: what was learnt of a handle before need not be true any more. */
extern _Atomic uint32_t hb_calls_stream_generation;

/* By the owner; read by others. */
static inline void hb_count(_Atomic uint64_t *counter)
{
    uint64_t n = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, n + 1, memory_order_release);
}

static inline void hb_uncount(_Atomic uint64_t *counter)
{
    uint64_t n = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, n - 1, memory_order_release);
}

#endif
