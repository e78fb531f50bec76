/* SPDX-License-Identifier: MIT
 *
 * What is known of the kernels that a process launches, asked of the runtime once for each.
 */
#ifndef HB_HIP_KERNELS_H
#define HB_HIP_KERNELS_H

#include "hip/hip_runtime.h"

typedef struct hb_kernel {
    const void *function;         /* hipFunction_t, or a host function */
    uint32_t name;                /* string id, demangled */
    uint16_t vgprs, sgprs, agprs; /* HB_REGISTERS_UNKNOWN: the runtime does not say */
    uint32_t lds_bytes, scratch_bytes;
    struct hb_kernel *next;
    _Atomic uint32_t generation;
} hb_kernel;

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
