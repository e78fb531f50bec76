/* SPDX-License-Identifier: MIT
 *
 * What calls.c (frames, counts, device work) and call_records.c (what a call's arguments and result
 * mean) share.
 */
#ifndef HB_HIP_CALLS_RUNTIME_H
#define HB_HIP_CALLS_RUNTIME_H

#include "hip/calls.h"

/** What it means that a call names no stream, or 0. */
enum hb_no_stream {
    HB_NULL_STREAM = 0,
    HB_OWN_STREAM, /* the thread's own, which no other thread can ask about */
    HB_ANY_STREAM, /* one that is not among the arguments that are read */
};

/** The runtime whose calls are reported; not changed any more when the first one is. */
typedef struct hb_calls_of_runtime {
    const hb_hip *hip;
    hb_calls_source source;
    const hb_hip_call *rows;  /* by function number, as the names */
    const uint32_t *names;    /* string ids */
    const uint8_t *no_stream; /* enum hb_no_stream */
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
