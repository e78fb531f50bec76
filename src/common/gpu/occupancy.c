/* SPDX-License-Identifier: MIT
 *
 * The limits are those of LLVM's AMDGPUBaseInfo.
 */
#include "gpu/occupancy.h"

#include <stdlib.h>

#include "gpu/peaks.h"

typedef struct architecture {
    const char *prefix; /* the longest that fits counts */
    uint32_t simds;     /* per CU */
    uint32_t max_waves; /* per SIMD */
    uint32_t vgprs;     /* per lane of a SIMD, in waves of 64; twice that in waves of 32 on RDNA */
    uint32_t vgpr_granule; /* in waves of 64; twice that in waves of 32 on RDNA */
    uint32_t lds_bytes;    /* of a CU */
    uint32_t lds_granule;
    bool rdna;
    bool unified; /* AGPRs come out of the VGPRs' file, behind them */
    bool limits_sgprs;
} architecture;

/* On RDNA a workgroup has the LDS of two CUs, a WGP, and waves of 32 see files twice as deep. */
static const architecture architectures[] = {
    {"gfx8", 4, 10, 256, 4, 65536, 512, false, false, true},
    {"gfx9", 4, 10, 256, 4, 65536, 512, false, false, true},
    {"gfx908", 4, 10, 256, 4, 65536, 512, false, false, true},
    {"gfx90a", 4, 8, 512, 8, 65536, 512, false, true, false},
    {"gfx94", 4, 8, 512, 8, 65536, 512, false, true, false},
    {"gfx95", 4, 8, 512, 8, 163840, 1280, false, true, false},
    {"gfx101", 2, 20, 512, 4, 65536, 512, true, false, false},
    {"gfx103", 2, 16, 512, 8, 65536, 1024, true, false, false},
    {"gfx11", 2, 16, 512, 8, 65536, 1024, true, false, false},
    {"gfx1100", 2, 16, 768, 12, 65536, 1024, true, false, false},
    {"gfx1101", 2, 16, 768, 12, 65536, 1024, true, false, false},
    {"gfx1151", 2, 16, 768, 12, 65536, 1024, true, false, false},
    {"gfx12", 2, 16, 768, 12, 65536, 1024, true, false, false},
};

enum { MAX_BLOCKS_PER_CU = 16 };

static const architecture *find(const char *arch)
{
    const architecture *found = NULL;
    for (size_t i = 0; arch && i < HB_ARRAY_LEN(architectures); i++) {
        const architecture *a = &architectures[i];
        size_t len = strlen(a->prefix);
        if (strncmp(arch, a->prefix, len) != 0) continue;
        if (!found || len > strlen(found->prefix)) found = a;
    }
    return found;
}

static uint32_t waves_by_vgprs(const architecture *a, const hb_occupancy_query *q)
{
    if (q->vgprs == HB_REGISTERS_UNKNOWN) return a->max_waves;
    uint32_t narrow = a->rdna && q->wave_size == 32 ? 2 : 1;
    /* As long as a file's numbers may be, which are no GPU's. */
    uint64_t vgprs = q->vgprs, agprs = q->agprs == HB_REGISTERS_UNKNOWN ? 0 : q->agprs;
    uint64_t used = a->unified && agprs ? HB_ROUND_UP(vgprs, 4) + agprs : HB_MAX(vgprs, agprs);
    uint64_t taken = HB_ROUND_UP(HB_MAX(used, 1u), a->vgpr_granule * narrow);
    return (uint32_t)HB_MIN(a->vgprs * narrow / taken, a->max_waves);
}

static uint32_t waves_by_sgprs(const architecture *a, const hb_occupancy_query *q)
{
    if (!a->limits_sgprs || q->sgprs == HB_REGISTERS_UNKNOWN || q->sgprs <= 80) return a->max_waves;
    uint32_t waves = q->sgprs <= 88 ? 9 : q->sgprs <= 100 ? 8 : 7;
    return HB_MIN(waves, a->max_waves);
}

typedef struct bound {
    uint32_t blocks;
    const char *limit;
} bound;

static void tighten(bound *b, uint64_t blocks, const char *limit)
{
    if (blocks < b->blocks) *b = (bound){(uint32_t)blocks, limit};
}

/* A block's waves spread over the CU's SIMDs, so what counts is how many the CU holds. */
static bound blocks_per_cu(const architecture *a, const hb_occupancy_query *q, uint32_t waves)
{
    uint32_t by_vgprs = waves_by_vgprs(a, q), by_sgprs = waves_by_sgprs(a, q);
    bound b = {a->simds * a->max_waves / waves, "waves"};
    /* Blocks of one wave need no barrier, and are limited by the waves alone. */
    if (waves > 1) tighten(&b, MAX_BLOCKS_PER_CU, "blocks");
    tighten(&b, a->simds * by_vgprs / waves, "VGPRs");
    tighten(&b, a->simds * by_sgprs / waves, "SGPRs");
    if (q->lds_bytes > a->lds_bytes)
        tighten(&b, 0, "LDS");
    else if (q->lds_bytes)
        tighten(&b, a->lds_bytes / HB_ROUND_UP(q->lds_bytes, a->lds_granule), "LDS");
    return b;
}

bool hb_occupancy_of(const hb_occupancy_query *q, hb_occupancy *o)
{
    const architecture *a = find(q->arch);
    uint32_t wave_size = q->wave_size > 0 ? (uint32_t)q->wave_size : 64;
    uint32_t waves =
        HB_MAX((uint32_t)(((uint64_t)q->block_threads + wave_size - 1) / wave_size), 1u);
    *o = (hb_occupancy){.waves_per_block = waves, .percent = -1};
    if (q->num_cus > 0) {
        o->blocks_per_sm = (double)q->grid_blocks / q->num_cus;
        o->warps_per_sm = o->blocks_per_sm * waves;
    }
    if (!a) return false;
    bound b = blocks_per_cu(a, q, waves);
    double held = b.blocks;
    double given = o->blocks_per_sm / hb_cus_of_one((hb_str){q->arch, (uint32_t)strlen(q->arch)});
    if (q->grid_blocks && q->num_cus > 0 && given < held) {
        held = given;
        b.limit = "grid";
    }
    o->blocks_per_cu = b.blocks;
    o->limit = b.limit;
    o->percent = 100.0 * held * waves / (a->simds * a->max_waves);
    return true;
}
