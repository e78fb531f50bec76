/* SPDX-License-Identifier: MIT
 *
 * How HIP 7 is told of a launch by a structure, which no header of Debian has yet.
 */
#ifndef LAUNCH_CONFIG_H
#define LAUNCH_CONFIG_H

#include <hip/hip_runtime_api.h>
#include <stdint.h>

/* HIP_LAUNCH_CONFIG and hipLaunchConfig_t. */
typedef struct launch_config {
    uint32_t grid[3], block[3], lds;
    hipStream_t stream;
    void *attributes;
    uint32_t num_attributes;
} launch_config;

#endif
