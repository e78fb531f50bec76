/* SPDX-License-Identifier: MIT
 *
 * RCCL's calls, as rocprofiler-sdk reports them since 0.5, where RCCL was built to tell it.
 */
#ifndef HB_HIP_ROCPROFILER_RCCL_H
#define HB_HIP_ROCPROFILER_RCCL_H

#include "hip/rocprofiler_library.h"

/** Amid its configuration: calls are reported from then on, sessions or not, since what they say of
 * communicators is needed later. Where it cannot report them, nothing happens. */
void hb_rocp_rccl_want(const hb_rocp *rocp);

/** It reports nothing any more. */
void hb_rocp_rccl_over(void);

/** In a forked child, where it was wanted. */
void hb_rocp_rccl_stop(const hb_rocp *rocp);

#endif
