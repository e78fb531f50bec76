/* SPDX-License-Identifier: MIT
 *
 * What is known of the kernels that a process launches, asked of the runtime once for each.
 */
#ifndef HB_HIP_KERNELS_H
#define HB_HIP_KERNELS_H

#include <stdatomic.h>

#include "hip/hip_runtime.h"

typedef struct hb_kernel {
    const void *function;         /* hipFunction_t, or a host function */
    uint32_t name;                /* string id, demangled */
    uint16_t vgprs, sgprs, agprs; /* HB_REGISTERS_UNKNOWN: the runtime does not say */
    uint32_t lds_bytes, scratch_bytes;
    struct hb_kernel *next;
    _Atomic uint32_t generation;
} hb_kernel;

enum { HB_KERNEL_BUCKETS = 4096 };

/* A hash table of lists that only grow. An entry is never changed, but for the generation in which
 * it was found to be true: so readers need no lock. */
extern _Atomic(hb_kernel *) hb_kernel_buckets[HB_KERNEL_BUCKETS];
extern _Atomic uint32_t hb_kernels_generation;

static inline _Atomic(hb_kernel *) *hb_kernel_bucket(const void *function)
{
    uint64_t hash = (uint64_t)(uintptr_t)function * 0x9e3779b97f4a7c15;
    return &hb_kernel_buckets[hash >> 52];
}

/** The kernel of a function, if it is known; calls nothing. */
static inline const hb_kernel *hb_kernel_known(const void *function)
{
    uint32_t now = atomic_load_explicit(&hb_kernels_generation, memory_order_relaxed);
    const hb_kernel *k = atomic_load_explicit(hb_kernel_bucket(function), memory_order_acquire);
    while (k && (k->function != function ||
                 atomic_load_explicit(&k->generation, memory_order_relaxed) != now))
        k = k->next;
    return k;
}

/** The kernel of a function, valid until the thread's next one. No lock for those that are known.
 * Calls the runtime, so not inside hb_record_enter(). */
const hb_kernel *hb_kernel_of(const hb_hip *hip, const void *function, bool is_host, void *stream);

/** The string id of a kernel's name, demangled; `demangle` may be NULL. */
uint32_t hb_kernel_intern(hb_demangler *demangle, const char *name);

/** The same, once for each. `name` is known by its address. */
uint32_t hb_kernel_name(const hb_hip *hip, const char *name);

/** Addresses of functions may mean others from now on: code was unloaded, or may have been. */
void hb_kernels_outdate(void);

/** In a forked child. */
void hb_kernels_after_fork(void);

#endif
