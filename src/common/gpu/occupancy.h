/* SPDX-License-Identifier: MIT
 *
 * How many waves of a kernel an AMD compute unit can hold at once, and what keeps it from more.
 */
#ifndef HB_GPU_OCCUPANCY_H
#define HB_GPU_OCCUPANCY_H

#include "base/base.h"

#define HB_REGISTERS_UNKNOWN 0xffffu

/** A kernel and its launch. */
typedef struct hb_occupancy_query {
    const char *arch;   /* "gfx90a"; what follows a ':' is passed over */
    int32_t num_cus;    /* of the device, as HIP counts them (hb_cus_of_one()); 0: unknown */
    int32_t wave_size;  /* 32 or 64 */
    uint32_t vgprs;     /* per thread; with AGPRs known apart without them */
    uint32_t agprs;     /* per thread; HB_REGISTERS_UNKNOWN: none, or in vgprs */
    uint32_t sgprs;     /* per wave */
    uint32_t lds_bytes; /* per block, static and dynamic */
    uint32_t block_threads;
    uint64_t grid_blocks; /* 0: as many as fit */
} hb_occupancy_query;

typedef struct hb_occupancy {
    uint32_t waves_per_block;
    uint32_t blocks_per_cu; /* that a CU can hold; 0: the kernel can't run */
    double blocks_per_sm;   /* blocks of the grid / num_cus; 0: unknown */
    double warps_per_sm;    /* waves of the grid / num_cus; 0: unknown */
    double percent;         /* of the CU's wave slots */
    const char *limit;      /* "VGPRs", "SGPRs", "LDS", "waves", "blocks" or "grid"; a literal */
} hb_occupancy;

/** False for an architecture that is not known; then only the two of the grid are set, and percent
 * is -1. Registers that are HB_REGISTERS_UNKNOWN limit nothing. */
bool hb_occupancy_of(const hb_occupancy_query *query, hb_occupancy *occupancy);

#endif
