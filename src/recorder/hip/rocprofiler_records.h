/* SPDX-License-Identifier: MIT
 *
 * Device work as rocprofiler-sdk's buffers hand it over.
 */
#ifndef HB_HIP_ROCPROFILER_RECORDS_H
#define HB_HIP_ROCPROFILER_RECORDS_H

#include "hip/rocprofiler_library.h"

/** Reports one, on the thread that hands over. `ahead_ns`: how far CLOCK_BOOTTIME is ahead of its
 * clock. */
void hb_rocp_record(const hb_rocp_header *header, int64_t ahead_ns);

#endif
