/* SPDX-License-Identifier: MIT
 *
 * What GPUs can do against AMD's published figures, and what operators achieved in traces whose
 * times are chosen so that it can be told by head.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <hipboard/analysis.h>

#include "gpu/peaks.h"
#include "trace_text.h"

#define assert_near(a, b) assert_true(fabs((a) - (b)) <= 1e-3 * fabs(b))

/* ---- peaks ---- */

static hb_peaks of(const char *arch, int cus, double mhz, double memory_mhz, int bits)
{
    hb_peak_query query = {{arch, (uint32_t)strlen(arch)}, cus, mhz * 1e3, memory_mhz * 1e3, bits};
    return hb_peaks_of(&query);
}

static void peaks_are_the_published_ones(void **state)
{
    (void)state;
    hb_peaks mi100 = of("gfx908:sramecc+", 120, 1502, 1200, 4096);
    assert_near(mi100.matrix[HB_PEAK_F16], 184.6e12);
    assert_near(mi100.matrix[HB_PEAK_BF16], 92.3e12);
    assert_near(mi100.vector[HB_PEAK_F64], 11.54e12);
    assert_near(mi100.bytes, 1228.8e9);
    hb_peaks mi250x = of("gfx90a:sramecc+:xnack-", 110, 1700, 1600, 4096); /* half of it */
    assert_near(mi250x.matrix[HB_PEAK_F64] * 2, 95.7e12);
    assert_near(mi250x.vector[HB_PEAK_F32] * 2, 95.7e12);
    assert_near(mi250x.matrix[HB_PEAK_F16] * 2, 383e12);
    assert_near(mi250x.bytes * 2, 3276.8e9);
    hb_peaks mi300x = of("gfx942", 304, 2100, 1300, 8192);
    assert_near(mi300x.matrix[HB_PEAK_F16], 1307.4e12);
    assert_near(mi300x.matrix[HB_PEAK_F8], 2614.9e12);
    assert_near(mi300x.vector[HB_PEAK_F64], 81.7e12);
    assert_near(mi300x.bytes, 5325e9);
    hb_peaks rx7900 = of("gfx1100", 48, 2500, 1250, 384); /* HIP counts pairs */
    assert_near(hb_peak_of(&rx7900, HB_PEAK_F16), 122.9e12);
    assert_near(hb_peak_of(&rx7900, HB_PEAK_F32), 61.4e12);
    assert_near(rx7900.bytes, 960e9);
}

/* Whether or not their peaks are known. */
static void hip_counts_pairs_of_cus_since_gfx10(void **state)
{
    static const char *const pairs[] = {"gfx1010", "gfx1030",       "gfx1100", "gfx1103",
                                        "gfx1151", "gfx12-generic", "gfx1201"};
    static const char *const single[] = {"gfx803", "gfx90a:xnack-", "gfx942", "sm_90a", ""};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(pairs); i++)
        assert_int_equal(hb_cus_of_one((hb_str){pairs[i], (uint32_t)strlen(pairs[i])}), 2);
    for (size_t i = 0; i < HB_ARRAY_LEN(single); i++)
        assert_int_equal(hb_cus_of_one((hb_str){single[i], (uint32_t)strlen(single[i])}), 1);
}

static void of_what_is_not_known_there_is_no_peak(void **state)
{
    (void)state;
    hb_peaks none = of("gfx1250", 300, 2000, 2000, 8192), odd = of("", 300, 2000, 2000, 8192),
             dark = of("gfx90a", 110, 0, 1600, 4096), absurd = of("gfx90a", -1, 1700, 1600, -8);
    for (int i = 0; i <= HB_PEAK_TYPES; i++) {
        assert_true(hb_peak_of(&none, (hb_peak_type)i) == 0);
        assert_true(hb_peak_of(&odd, (hb_peak_type)i) == 0);
        assert_true(hb_peak_of(&dark, (hb_peak_type)i) == 0);
        assert_true(hb_peak_of(&absurd, (hb_peak_type)i) == 0);
    }
    assert_true(none.bytes == 0 && dark.bytes > 0 && absurd.bytes == 0);
}

/* ---- traces ---- */

/* 10 TFLOP/s in f32 and f64: 100 CUs of 256 operations a cycle at 390.625 MHz; 1 TB/s. */
#define GPU                                                                                      \
    "\"id\":0,\"name\":\"made\",\"gcnArchName\":\"gfx90a\",\"numSms\":100,\"clockRate\":390625," \
    "\"memoryClockRate\":1000000,\"memoryBusWidth\":4000"
#define DEVICE "\"deviceProperties\":[{" GPU "}],"

#define OP(name, id, ts, dur, dims, type, more)                                                \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":100,\"tid\":7,\"ts\":" #ts \
    ",\"dur\":" #dur ",\"args\":{\"External id\":" #id ",\"Input Dims\":" dims                 \
    ",\"Input type\":[\"" type "\",\"" type "\"]" more "}}"
#define FLOPS(n) ",\"flops\":" #n
#define LAUNCH(id, ts)                                                                          \
    "{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"hipLaunchKernel\",\"pid\":100,"               \
    "\"tid\":7,\"ts\":" #ts ",\"dur\":1,\"args\":{\"External id\":" #id ",\"correlation\":" #ts \
    "}}"
#define KERNEL(name, id, launch, ts, dur)                                                        \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":0,"                \
    "\"ts\":" #ts ",\"dur\":" #dur ",\"args\":{\"External id\":" #id ",\"correlation\":" #launch \
    ",\"device\":0,\"stream\":0}}"

#define MM "[[100,50],[50,200]]" /* 2 MFLOP; 20,000 + 40,000 + 80,000 bytes in f32 */

static hb_trace_file *file;
static hb_insights *insights;
static const hb_roof *roof;

static void analyse(const char *text)
{
    char path[] = "/tmp/hipboard-test-roofline-XXXXXX";
    FILE *f = fdopen(mkstemp(path), "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(hb_trace_file_open(path, NULL, &file), HB_OK);
    assert_int_equal(hb_insights_create(file, NULL, &insights), HB_OK);
    assert_int_equal(hb_insights_roof(insights, &roof), HB_OK);
    remove(path);
}

static int forget(void **state)
{
    (void)state;
    hb_insights_destroy(insights);
    hb_trace_file_close(file);
    insights = NULL;
    file = NULL;
    return 0;
}

static const hb_rate *of_name(const hb_rate *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0) return &list[i];
    fail_msg("there is no %s", name);
    return NULL;
}

static const hb_rate *operator_of(const char *name)
{
    return of_name(roof->operators, roof->num_operators, name);
}

static void the_outermost_with_flops_has_the_kernels(void **state)
{
    (void)state;
    analyse(TRACE_WITH(DEVICE, OP("outer", 1, 0, 40, MM, "float", FLOPS(2000000)),
                       OP("inner", 2, 1, 30, MM, "float", FLOPS(2000000)), LAUNCH(2, 5),
                       LAUNCH(2, 8), KERNEL("a", 2, 5, 20, 1), KERNEL("b", 2, 8, 21, 3)));
    assert_int_equal(roof->num_operators, 1);
    const hb_rate *r = operator_of("outer");
    assert_int_equal(r->calls, 1);
    assert_near(r->total_us, 4.0);
    assert_near(r->flops, 2e6);
    assert_near(r->bytes, 140e3);
    assert_near(r->flops_per_s, 0.5e12);
    assert_near(r->gb_per_s, 35.0);
    assert_near(r->peak_percent, 5.0);
    assert_near(r->roof_percent, 5.0); /* 0.2 us of arithmetic, 0.14 of memory */
    assert_near(r->far_us, 4.0);
    assert_string_equal(r->bound, "compute");
    assert_string_equal(r->type, "f32");
    assert_string_equal(r->gpu, "0");
    assert_int_equal(roof->num_kernels, 2);
    r = of_name(roof->kernels, roof->num_kernels, "b");
    assert_true(r->shared);
    assert_near(r->flops, 1.5e6);
    assert_near(r->flops_per_s, 0.5e12);
    assert_near(roof->rated_us, 4.0);
}

static void memory_bounds_what_has_little_to_compute(void **state)
{
    (void)state;
    analyse(TRACE_WITH(DEVICE, OP("scale", 1, 0, 40, "[[1000000],[]]", "float", FLOPS(1000000)),
                       LAUNCH(1, 5), KERNEL("k", 1, 5, 20, 5),
                       OP("copy", 2, 50, 5, "[[500000],[]]", "double", ""), LAUNCH(2, 52),
                       KERNEL("c", 2, 52, 60, 40)));
    const hb_rate *r = operator_of("scale");
    assert_string_equal(r->bound, "memory");
    assert_near(r->gb_per_s, 800.0);
    assert_near(r->intensity, 0.25);
    assert_near(r->roof_percent, 80.0);
    assert_near(r->peak_percent, 2.0);
    assert_true(r->far_us == 0);
    r = operator_of("copy"); /* no FLOPs */
    assert_true(r->flops < 0 && r->flops_per_s < 0 && r->peak_percent < 0);
    assert_near(r->roof_percent, 10.0);
    assert_near(r->far_us, 40.0);
    assert_string_equal(roof->operators[0].name, "copy"); /* by time */
}

static void inputs_differ_and_names_are_summed(void **state)
{
    (void)state;
    analyse(TRACE_WITH(DEVICE, OP("mm", 1, 0, 10, MM, "float", FLOPS(2000000)), LAUNCH(1, 5),
                       KERNEL("k", 1, 5, 20, 1), OP("mm", 2, 30, 10, MM, "float", FLOPS(2000000)),
                       LAUNCH(2, 35), KERNEL("k", 2, 35, 40, 1),
                       OP("mm", 3, 60, 10, "[[10,10],[10,10]]", "float", FLOPS(2000)),
                       LAUNCH(3, 65), KERNEL("k", 3, 65, 70, 2)));
    assert_int_equal(roof->num_operators, 1);
    assert_int_equal(roof->num_inputs, 2);
    assert_int_equal(roof->num_kernels, 1);
    const hb_rate *r = operator_of("mm");
    assert_int_equal(r->calls, 3);
    assert_near(r->flops, 4.002e6);
    assert_near(r->total_us, 4.0);
    assert_near(r->far_us, 4.0);
    r = of_name(roof->inputs, roof->num_inputs, "mm");
    assert_string_equal(r->shapes, MM);
    assert_int_equal(r->calls, 2);
    assert_false(roof->kernels[0].shared);
}

static void operators_of_the_cpu_have_their_own_time(void **state)
{
    (void)state;
    analyse(TRACE_WITH(DEVICE, OP("cblas_dgemm", 1, 0, 20, MM, "double", FLOPS(2000000)),
                       OP("captured", 2, 50, 20, MM, "float", FLOPS(2000000)), LAUNCH(2, 55),
                       OP("aten::mm", 3, 80, 4, MM, "float", "")));
    assert_int_equal(roof->num_operators, 2); /* what asked the runtime for work is none of them */
    const hb_rate *r = operator_of("cblas_dgemm");
    assert_string_equal(r->gpu, "CPU");
    assert_near(r->flops_per_s, 100e9);
    assert_true(r->peak_percent < 0 && r->roof_percent < 0 && r->far_us < 0);
    assert_string_equal(r->bound, "");
    r = operator_of("aten::mm"); /* by torch's own formula */
    assert_near(r->flops_per_s, 500e9);
    assert_int_equal(roof->num_kernels, 0);
}

static void a_measured_clock_is_taken_for_the_highest(void **state)
{
    (void)state;
    analyse(TRACE_WITH(DEVICE "\"hipboard_gpu_steps\":[{\"gpu\":0,\"step\":0,\"mhz\":1.005e2},"
                              "{\"gpu\":1,\"step\":0,\"mhz\":900},{\"gpu\":0,\"step\":1,"
                              "\"mhz\":299.5},{\"gpu\":0,\"step\":2},{\"mhz\":900},"
                              "{\"gpu\":\"0\",\"mhz\":900},{\"gpu\":0,\"mhz\":\"900\"},"
                              "{\"gpu\":0,\"mhz\":-900}],",
                       OP("mm", 1, 0, 10, MM, "float", FLOPS(2000000)), LAUNCH(1, 5),
                       KERNEL("k", 1, 5, 20, 1)));
    assert_int_equal(roof->num_peaks, 5);
    assert_true(roof->peaks[0].measured);
    assert_near(roof->peaks[0].mhz, 200.0);
    assert_near(operator_of("mm")->peak_percent, 20.0 * 390.625 / 200);
}

#define ON_GPU(gpu, ts)                                                                       \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k" #gpu "\",\"pid\":" #gpu ",\"tid\":0,"     \
    "\"ts\":" #ts ",\"dur\":1,\"args\":{\"External id\":1,\"correlation\":5,\"device\":" #gpu \
    ",\"stream\":0}}"
#define OF_CUS(id, cus) \
    "{" id "\"gcnArchName\":\"gfx90a\",\"numSms\":" cus ",\"clockRate\":1000000}"

/* The one whose id it is, in whatever order; without ids by their order; none of a third. */
static void each_gpu_has_its_own_peaks(void **state)
{
    static const struct {
        const char *devices;
        double of_0, of_1; /* TFLOP/s in f32 */
    } rows[] = {
        {OF_CUS("\"id\":0,", "10") "," OF_CUS("\"id\":1,", "20"), 2.56, 5.12},
        {OF_CUS("\"id\":1,", "20") "," OF_CUS("\"id\":0,", "10"), 2.56, 5.12},
        {OF_CUS("", "10") "," OF_CUS("", "20"), 2.56, 5.12},
        {OF_CUS("\"id\":\"x\",", "10") ",7," OF_CUS("\"id\":1,", "20"), 2.56, 5.12},
        {OF_CUS("\"id\":2,", "10") "," OF_CUS("\"id\":1,", "20"), 0, 5.12},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[4000];
        snprintf(text, sizeof text,
                 "{\"schemaVersion\":1,\"deviceProperties\":[%s],"
                 "\"traceEvents\":[%s,%s,%s,%s]}",
                 rows[i].devices, OP("mm", 1, 0, 40, MM, "float", FLOPS(2000000)), LAUNCH(1, 5),
                 ON_GPU(0, 20), ON_GPU(1, 30));
        analyse(text);
        double found[2] = {0, 0};
        for (size_t k = 0; k < roof->num_peaks; k++)
            if (strcmp(roof->peaks[k].type, "f32") == 0)
                found[atoi(roof->peaks[k].gpu)] = roof->peaks[k].vector_flops / 1e12;
        assert_true(found[0] > rows[i].of_0 - 0.001 && found[0] < rows[i].of_0 + 0.001);
        assert_true(found[1] > rows[i].of_1 - 0.001 && found[1] < rows[i].of_1 + 0.001);
        forget(state);
    }
}

static void without_clocks_there_are_rates_alone(void **state)
{
    (void)state;
    static const char *const members[] = {
        "",
        "\"deviceProperties\":7,",
        "\"deviceProperties\":[7,{}],",
        "\"deviceProperties\":[{\"id\":0,\"gcnArchName\":7,\"clockRate\":\"x\",\"numSms\":1e300}],",
        "\"deviceProperties\":[{},{" GPU "}],\"hipboard_gpu_steps\":{},",
        "\"deviceProperties\":[{\"id\":0,\"gcnArchName\":\"sm_90\",\"numSms\":132,\"clockRate\":1}]"
        ","};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        analyse(TRACE_WITH(members[i], OP("mm", 1, 0, 10, MM, "float", FLOPS(2000000)),
                           LAUNCH(1, 5), KERNEL("k", 1, 5, 20, 1)));
        assert_int_equal(roof->num_peaks, 0);
        const hb_rate *r = operator_of("mm");
        assert_near(r->flops_per_s, 2e12);
        assert_true(r->peak_percent < 0 && r->roof_percent < 0);
        forget(state);
    }
}

static void odd_inputs_have_no_bytes(void **state)
{
    (void)state;
    analyse(TRACE_WITH(DEVICE, OP("a", 1, 0, 10, "[[-5,2],[[2],[3]]]", "float", FLOPS(100)),
                       LAUNCH(1, 5), KERNEL("k", 1, 5, 20, 1),
                       OP("b", 2, 30, 10, "[[4]]", "Scalar", FLOPS(100)), LAUNCH(2, 35),
                       KERNEL("k", 2, 35, 40, 1), OP("c", 3, 60, 10, "[1,2,3]", "float", ""),
                       LAUNCH(3, 65), KERNEL("k", 3, 65, 70, 2),
                       OP("d", 4, 80, 10, "[[1,1,1,1,1,1,1,1,1],[2]]", "float", FLOPS(100)),
                       LAUNCH(4, 85), KERNEL("k", 4, 85, 90, 1), KERNEL("alone", 9, 9, 95, 5)));
    assert_true(operator_of("a")->bytes < 0);
    assert_true(operator_of("b")->bytes < 0);
    assert_string_equal(operator_of("b")->type, "");
    assert_near(operator_of("d")->bytes, 8.0);
    assert_int_equal(roof->num_operators, 3);
    assert_near(roof->kernels_us, 10.0);
    assert_near(roof->rated_us, 3.0);
}

static void asked_again_it_is_the_same(void **state)
{
    (void)state;
    const hb_roof *again;
    analyse(TRACE(KERNEL("k", 1, 5, 20, 1)));
    assert_int_equal(hb_insights_roof(insights, &again), HB_OK);
    assert_ptr_equal(roof, again);
    assert_int_equal(roof->num_operators + roof->num_kernels + roof->num_peaks, 0);
    assert_int_equal(hb_insights_roof(NULL, &again), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_insights_roof(insights, NULL), HB_ERROR_INVALID_ARGUMENT);
}

#define TEST(name) cmocka_unit_test_teardown(name, forget)

static void every_type_has_its_peak(void **state)
{
    static const struct {
        hb_dtype type;
        hb_peak_type peak;
    } cases[] = {
        {HB_FLOAT64, HB_PEAK_F64},
        {HB_COMPLEX128, HB_PEAK_F64},
        {HB_FLOAT32, HB_PEAK_F32},
        {HB_COMPLEX64, HB_PEAK_F32},
        {HB_FLOAT16, HB_PEAK_F16},
        {HB_BFLOAT16, HB_PEAK_BF16},
        {HB_FLOAT8_E4M3FN, HB_PEAK_F8},
        {HB_FLOAT8_E5M2, HB_PEAK_F8},
        {HB_FLOAT8_E4M3FNUZ, HB_PEAK_F8},
        {HB_FLOAT8_E5M2FNUZ, HB_PEAK_F8},
        {HB_INT8, HB_PEAK_I8},
        {HB_UINT8, HB_PEAK_I8},
        {HB_INT32, HB_PEAK_NONE},
        {HB_INT64, HB_PEAK_NONE},
        {HB_BOOL, HB_PEAK_NONE},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(hb_peak_type_of_dtype(cases[i].type), cases[i].peak);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peaks_are_the_published_ones),
        cmocka_unit_test(hip_counts_pairs_of_cus_since_gfx10),
        cmocka_unit_test(of_what_is_not_known_there_is_no_peak),
        cmocka_unit_test(every_type_has_its_peak),
        TEST(the_outermost_with_flops_has_the_kernels),
        TEST(memory_bounds_what_has_little_to_compute),
        TEST(inputs_differ_and_names_are_summed),
        TEST(operators_of_the_cpu_have_their_own_time),
        TEST(a_measured_clock_is_taken_for_the_highest),
        TEST(each_gpu_has_its_own_peaks),
        TEST(without_clocks_there_are_rates_alone),
        TEST(odd_inputs_have_no_bytes),
        TEST(asked_again_it_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
