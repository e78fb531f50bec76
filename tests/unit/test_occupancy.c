/* SPDX-License-Identifier: MIT
 *
 * Occupancy against figures that follow from the architectures' documented limits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/occupancy.h"

static hb_occupancy of(hb_occupancy_query query)
{
    hb_occupancy o;
    assert_true(hb_occupancy_of(&query, &o));
    return o;
}

/* 4 SIMDs of 8 waves; 512 registers a lane, taken in eights. */
static hb_occupancy_query mi200(uint32_t vgprs, uint32_t block)
{
    return (hb_occupancy_query){.arch = "gfx90a:sramecc+:xnack-",
                                .num_cus = 110,
                                .wave_size = 64,
                                .vgprs = vgprs,
                                .agprs = HB_REGISTERS_UNKNOWN,
                                .sgprs = HB_REGISTERS_UNKNOWN,
                                .block_threads = block};
}

static void few_registers_fill_the_cu(void **state)
{
    (void)state;
    hb_occupancy o = of(mi200(32, 256));
    assert_int_equal(o.waves_per_block, 4);
    assert_int_equal(o.blocks_per_cu, 8);
    assert_float_equal(o.percent, 100, 1e-9);
    assert_string_equal(o.limit, "waves");
}

/* A table may say anything. */
static void numbers_of_no_gpu_fit_nowhere(void **state)
{
    (void)state;
    hb_occupancy_query q = mi200(UINT32_MAX - 1, UINT32_MAX);
    q.agprs = UINT32_MAX - 1;
    assert_int_equal(of(q).waves_per_block, 1 << 26);
    q.block_threads = 64;
    assert_int_equal(of(q).blocks_per_cu, 0);
    assert_string_equal(of(q).limit, "VGPRs");
    q.arch = "gfx1100";
    q.wave_size = 32;
    q.agprs = HB_REGISTERS_UNKNOWN;
    assert_int_equal(of(q).blocks_per_cu, 0);
}

static void accumulation_registers_stand_behind_the_others(void **state)
{
    (void)state;
    hb_occupancy_query q = mi200(5, 64);
    q.agprs = 128; /* 8 + 128 = 136 of 512: three waves a SIMD */
    hb_occupancy o = of(q);
    assert_float_equal(o.percent, 37.5, 1e-9);
    assert_string_equal(o.limit, "VGPRs");
    q.vgprs = 136; /* the runtime tells the sum only */
    q.agprs = HB_REGISTERS_UNKNOWN;
    assert_float_equal(of(q).percent, 37.5, 1e-9);
    q.arch = "gfx908"; /* has a second file for them */
    q.vgprs = 5;
    q.agprs = 128;
    assert_float_equal(of(q).percent, 20, 1e-9); /* 256 / 128 = 2 of 10 waves */
}

static void lds_limits_blocks(void **state)
{
    (void)state;
    hb_occupancy_query q = mi200(16, 256);
    q.lds_bytes = 20000; /* 3 of 20480 bytes fit in 65536 */
    hb_occupancy o = of(q);
    assert_int_equal(o.blocks_per_cu, 3);
    assert_float_equal(o.percent, 100.0 * 3 * 4 / 32, 1e-9);
    assert_string_equal(o.limit, "LDS");
    q.lds_bytes = UINT32_MAX;
    assert_int_equal(of(q).blocks_per_cu, 0);
    assert_float_equal(of(q).percent, 0, 1e-9);
}

static void small_grids_leave_cus_empty(void **state)
{
    (void)state;
    hb_occupancy_query q = mi200(16, 256);
    q.grid_blocks = 220; /* 2 blocks of 4 waves on each CU */
    hb_occupancy o = of(q);
    assert_float_equal(o.blocks_per_sm, 2, 1e-9);
    assert_float_equal(o.warps_per_sm, 8, 1e-9);
    assert_float_equal(o.percent, 25, 1e-9);
    assert_string_equal(o.limit, "grid");
}

/* Two CUs of RDNA are one of HIP's, whose blocks they share. */
static void small_grids_leave_cus_of_pairs_empty(void **state)
{
    static const struct {
        const char *arch;
        uint64_t grid; /* of blocks of 8 waves, on 48 pairs */
        double blocks, percent;
        const char *limit;
    } rows[] = {
        {"gfx1100", 48, 1, 12.5, "grid"}, /* half a block of 8 waves in 32 slots */
        {"gfx1100", 192, 4, 50, "grid"},
        {"gfx1100", 383, 383 / 48., 100 * 383 / 384., "grid"},
        {"gfx1100", 384, 8, 100, "waves"},
        {"gfx1100", 4800, 100, 100, "waves"},
        {"gfx1010", 48, 1, 10, "grid"}, /* of 40 */
        {"gfx1030", 192, 4, 50, "grid"},
        {"gfx1103", 192, 4, 50, "grid"},
        {"gfx1151", 192, 4, 50, "grid"},
        {"gfx1200", 192, 4, 50, "grid"},
        {"gfx12-generic", 48, 1, 12.5, "grid"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hb_occupancy_query q = mi200(32, 256);
        q.arch = rows[i].arch;
        q.num_cus = 48;
        q.wave_size = 32;
        q.grid_blocks = rows[i].grid;
        hb_occupancy o = of(q);
        assert_float_equal(o.blocks_per_sm, rows[i].blocks, 1e-9); /* as HIP counts */
        assert_float_equal(o.warps_per_sm, rows[i].blocks * 8, 1e-9);
        assert_float_equal(o.percent, rows[i].percent, 1e-9);
        assert_string_equal(o.limit, rows[i].limit);
    }
}

static void older_architectures_count_scalar_registers(void **state)
{
    (void)state;
    hb_occupancy_query q = mi200(24, 64);
    q.arch = "gfx906";
    q.sgprs = 80;
    assert_float_equal(of(q).percent, 100, 1e-9);
    q.sgprs = 96;
    assert_float_equal(of(q).percent, 80, 1e-9);
    assert_string_equal(of(q).limit, "SGPRs");
    q.arch = "gfx942"; /* has enough for all */
    assert_float_equal(of(q).percent, 100, 1e-9);
}

static void rdna_waves_are_narrow(void **state)
{
    (void)state;
    hb_occupancy_query q = mi200(96, 256);
    q.arch = "gfx1030";
    q.wave_size = 32; /* 8 waves a block; 1024 / 96 = 10 of 16 waves a SIMD: 20 in the CU */
    hb_occupancy o = of(q);
    assert_int_equal(o.waves_per_block, 8);
    assert_int_equal(o.blocks_per_cu, 2);
    assert_float_equal(o.percent, 50, 1e-9);
    q.arch = "gfx1100"; /* half as many registers again: 1536 / 96 = 16 */
    assert_int_equal(of(q).blocks_per_cu, 4);
}

/* By LLVM's numbers, worked out by hand: of each architecture the registers of a SIMD, rounded up
 * to what is given out at a time, which waves of 32 have twice of. */
static void each_architecture_gives_registers_out_in_its_own_way(void **state)
{
    static const struct {
        const char *arch;
        uint32_t wave, vgprs;
        double percent;
    } rows[] = {
        {"gfx803", 64, 25, 90},      /* 256 / 28 = 9 of 10 */
        {"gfx906", 64, 25, 90},      /* the same */
        {"gfx908", 64, 24, 100},     /* 256 / 24 = 10 */
        {"gfx908", 64, 25, 90},      /* 9 of 10 */
        {"gfx90a", 64, 64, 100},     /* 512 / 64 = 8 of 8 */
        {"gfx90a", 64, 65, 87.5},    /* 512 / 72 = 7 */
        {"gfx942", 64, 65, 87.5},    /* the same */
        {"gfx950", 64, 512, 12.5},   /* one */
        {"gfx1010", 64, 25, 90},     /* 512 / 28 = 18 of 20 */
        {"gfx1010", 32, 25, 100},    /* 1024 / 32 */
        {"gfx1010", 32, 57, 80},     /* 1024 / 64 = 16 of 20 */
        {"gfx1030", 64, 97, 25},     /* 512 / 104 = 4 of 16 */
        {"gfx1030", 32, 97, 56.25},  /* 1024 / 112 = 9 of 16 */
        {"gfx1102", 32, 97, 56.25},  /* the same */
        {"gfx1100", 64, 97, 43.75},  /* 768 / 108 = 7 of 16 */
        {"gfx1100", 32, 97, 75},     /* 1536 / 120 = 12 of 16 */
        {"gfx1101", 32, 97, 75},     /* the same */
        {"gfx1151", 32, 97, 75},     /* the same */
        {"gfx1201", 32, 97, 75},     /* the same */
        {"gfx1030", 32, 1, 100},     /* none takes less than its share */
        {"gfx1030", 32, 1024, 6.25}, /* one of 16 */
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hb_occupancy_query q = mi200(rows[i].vgprs, rows[i].wave);
        q.arch = rows[i].arch;
        q.wave_size = rows[i].wave;
        assert_float_equal(of(q).percent, rows[i].percent, 1e-9);
        assert_string_equal(of(q).limit, rows[i].percent < 100 ? "VGPRs" : "waves");
    }
}

/* The same of the memory that a block's threads share. */
static void each_architecture_gives_lds_out_in_its_own_way(void **state)
{
    static const struct {
        const char *arch;
        uint32_t bytes, blocks;
    } rows[] = {
        {"gfx803", 2049, 25}, /* 65536 / 2560 */
        {"gfx906", 2049, 25},  {"gfx908", 2049, 25},  {"gfx90a", 2049, 25},
        {"gfx942", 2049, 25},  {"gfx950", 6401, 21},  /* 163840 / 7680 */
        {"gfx1010", 2049, 25}, {"gfx1030", 2049, 21}, /* 65536 / 3072 */
        {"gfx1102", 2049, 21}, {"gfx1100", 2049, 21}, {"gfx1101", 2049, 21},
        {"gfx1151", 2049, 21}, {"gfx1201", 2049, 21}, {"gfx90a", 65536, 1},
        {"gfx90a", 65537, 0},  {"gfx950", 163840, 1}, {"gfx1030", 65536, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hb_occupancy_query q = mi200(8, 32);
        q.arch = rows[i].arch;
        q.wave_size = strncmp(q.arch, "gfx1", 4) == 0 ? 32 : 64;
        q.lds_bytes = rows[i].bytes;
        assert_int_equal(of(q).blocks_per_cu, rows[i].blocks);
        assert_string_equal(of(q).limit, "LDS");
        bool has_40 = rows[i].blocks == 25 && strncmp(q.arch, "gfx9", 4) != 0;
        has_40 |= strcmp(q.arch, "gfx906") == 0 || strcmp(q.arch, "gfx908") == 0;
        assert_float_equal(of(q).percent, 100.0 * rows[i].blocks / (has_40 ? 40 : 32), 1e-9);
    }
}

static void scalar_registers_limit_waves_in_steps(void **state)
{
    static const struct {
        uint32_t sgprs;
        double percent;
    } rows[] = {{80, 100}, {81, 90}, {88, 90}, {89, 80}, {100, 80}, {101, 70}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hb_occupancy_query q = mi200(16, 64);
        q.arch = "gfx900";
        q.sgprs = rows[i].sgprs;
        assert_float_equal(of(q).percent, rows[i].percent, 1e-9);
    }
}

static void unknown_architectures_get_no_percentage(void **state)
{
    (void)state;
    hb_occupancy o;
    hb_occupancy_query q = mi200(16, 256);
    q.grid_blocks = 110;
    q.arch = "sm_90";
    assert_false(hb_occupancy_of(&q, &o));
    assert_true(o.percent < 0);
    assert_float_equal(o.warps_per_sm, 4, 1e-9);
    q.arch = NULL;
    assert_false(hb_occupancy_of(&q, &o));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_registers_fill_the_cu),
        cmocka_unit_test(numbers_of_no_gpu_fit_nowhere),
        cmocka_unit_test(accumulation_registers_stand_behind_the_others),
        cmocka_unit_test(lds_limits_blocks),
        cmocka_unit_test(small_grids_leave_cus_empty),
        cmocka_unit_test(small_grids_leave_cus_of_pairs_empty),
        cmocka_unit_test(older_architectures_count_scalar_registers),
        cmocka_unit_test(rdna_waves_are_narrow),
        cmocka_unit_test(each_architecture_gives_registers_out_in_its_own_way),
        cmocka_unit_test(each_architecture_gives_lds_out_in_its_own_way),
        cmocka_unit_test(scalar_registers_limit_waves_in_steps),
        cmocka_unit_test(unknown_architectures_get_no_percentage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
