/* SPDX-License-Identifier: MIT
 *
 * The kernels of all code objects that were loaded, as rocprofiler-sdk announces them.
 */
#ifndef HB_HIP_ROCPROFILER_KERNELS_H
#define HB_HIP_ROCPROFILER_KERNELS_H

#include "hip/rocprofiler_library.h"

/** Any field of one that was never announced is unknown. */
typedef struct hb_rocp_kernel {
    uint32_t name;                /* string id, demangled; HB_STRING_UNNAMED: unknown */
    uint16_t vgprs, sgprs, agprs; /* HB_REGISTERS_UNKNOWN: unknown */
    bool blit;                    /* the runtime's own, to copy or fill */
} hb_rocp_kernel;

/** By any thread. */
void hb_rocp_kernel_add(const hb_rocp *rocp, const hb_rocp_kernel_symbol *symbol);

/** By any thread, without a lock. */
hb_rocp_kernel hb_rocp_kernel_of(uint64_t kernel_id);

#endif
