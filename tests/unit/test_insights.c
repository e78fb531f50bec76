/* SPDX-License-Identifier: MIT
 *
 * What the library tells beyond the plugin, of a small timeline whose figures are worked out below.
 *
 *   time (us)  20      50  60      90          200  230 240 245 250 265    300 310
 *   stream 0   [ gemm ......]                  [ relu ] [ sum ...]         [ sum ]
 *   stream 1           [ nccl .....]                        [ copy ...]
 *   host       launches; then from 65 on a blocking copy until 195, the launch of relu at 190;
 *              sum and copy are launched at 212 and 215, the last sum by nobody
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include <hipboard/analysis.h>

#include "rules/kernel_class.h"
#include "trace_text.h"

#define EVENT(cat, name, tid, ts, dur, args)                                          \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":0,\"tid\":" #tid \
    ",\"ts\":" #ts ",\"dur\":" #dur ",\"args\":{" args "}}"
#define OP(name, ts, dur) EVENT("cpu_op", name, 7, ts, dur, "")
#define CALL(name, ts, dur, correlation) \
    EVENT("cuda_runtime", name, 7, ts, dur, "\"correlation\":" #correlation)
#define WORK(cat, name, stream, ts, dur, correlation, more) \
    EVENT(cat, name, stream, ts, dur, "\"device\":0,\"correlation\":" #correlation more)

#define GEMM "Cijk_Ailk_Bljk_HHS_BH_MT64x64x32_MI16x16x1_SN"
#define RELU "void at::native::vectorized_elementwise_kernel<4, relu>"
#define SUM  "void at::native::reduce_kernel<512, 1, sum>"

static const char *const timeline[] = {
    OP("aten::mm", 0, 40),
    CALL("hipModuleLaunchKernel", 10, 5, 1),
    CALL("hipLaunchKernel", 16, 2, 2),
    OP("aten::item", 64, 132),
    CALL("hipMemcpyWithStream", 65, 130, 90),
    OP("aten::relu", 197, 13),
    CALL("hipLaunchKernel", 198, 3, 3),
    CALL("hipLaunchKernel", 212, 2, 4),
    EVENT("Runtime", "hipMemcpyAsync", 7, 215, 2, "\"correlation\":5"),
    WORK("kernel", GEMM, 0, 20, 40, 1,
         ",\"est. achieved occupancy %\":12.5,\"occupancy limited by\":\"VGPRs\""),
    WORK("kernel", "ncclDevKernel_Generic_1", 1, 50, 40, 2, ""),
    WORK("kernel", RELU, 0, 200, 30, 3, ",\"est. achieved occupancy %\":100"),
    WORK("kernel", SUM, 0, 240, 10, 4, ""),
    WORK("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 1, 245, 20, 5, ""),
    WORK("kernel", SUM, 0, 300, 10, 6, ""),
    NULL};

static char path[] = "/tmp/hipboard-test-insights-XXXXXX";
static hb_trace_file *file;
static hb_insights *insights;

static void write_file(const char *to, const char *text)
{
    FILE *f = fopen(to, "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static int open_timeline(void **state)
{
    (void)state;
    close(mkstemp(path));
    write_file(path, trace_text("", timeline));
    if (hb_trace_file_open(path, NULL, &file) != HB_OK) return -1;
    return hb_insights_create(file, NULL, &insights) == HB_OK ? 0 : -1;
}

static int close_timeline(void **state)
{
    (void)state;
    hb_insights_destroy(insights);
    hb_trace_file_close(file);
    return remove(path);
}

static void test_a_gpus_time(void **state)
{
    const hb_gpu_time *g;
    size_t count;
    (void)state;
    assert_int_equal(hb_insights_gpus(insights, &g, &count), HB_OK);
    assert_int_equal(count, 1);
    assert_string_equal(g->gpu, "0");
    assert_true(g->span_us == 290 && g->busy_us == 135);
    assert_true(g->computation_us == 90 && g->communication_us == 40 && g->copy_us == 20);
    assert_true(g->exposed_communication_us == 30); /* 60..90 */
    assert_true(g->exposed_copy_us == 15);          /* 250..265 */
    assert_true(g->late_us == 110 && g->queued_us == 10 && g->unknown_us == 35);
    assert_int_equal(g->gaps, 3);
    assert_true(g->largest_gap_us == 110);
}

static void test_streams(void **state)
{
    const hb_stream_time *s;
    size_t count;
    (void)state;
    assert_int_equal(hb_insights_streams(insights, &s, &count), HB_OK);
    assert_int_equal(count, 2);
    assert_string_equal(s[0].stream, "0");
    assert_int_equal(s[0].works, 4);
    assert_true(s[0].busy_us == 90 && s[0].late_us == 140 && s[0].queued_us == 10);
    assert_true(s[0].unknown_us == 50);
    assert_true(s[1].busy_us == 60 && s[1].late_us == 155);
    assert_true(s[0].gaps == 3 && s[0].largest_gap_us == 140);
    assert_true(s[1].gaps == 1 && s[1].largest_gap_us == 155);
}

static void test_the_host_during_gaps(void **state)
{
    const hb_idle_gap *g;
    const hb_idle_cause *c;
    size_t count;
    (void)state;
    assert_int_equal(hb_insights_gaps(insights, &g, &count), HB_OK);
    assert_int_equal(count, 3);
    assert_true(g[0].start_us == 90 && g[0].duration_us == 110);
    assert_string_equal(g[0].why, "late");
    assert_string_equal(g[0].call, "hipMemcpyWithStream");
    assert_string_equal(g[0].operator_name, "aten::item");
    assert_string_equal(g[0].next, RELU);
    assert_string_equal(g[1].why, "unknown");
    assert_null(g[1].call);
    assert_string_equal(g[2].why, "queued");
    assert_true(!g[2].call && !g[2].operator_name && !g[2].many_calls);
    assert_int_equal(hb_insights_idle_causes(insights, &c, &count), HB_OK);
    assert_int_equal(count, 3);
    assert_true(c[0].total_us == 110 && c[1].total_us == 35 && c[2].total_us == 10);
    assert_int_equal(c[0].gaps, 1);
    assert_string_equal(c[0].call, "hipMemcpyWithStream");
}

static void test_kernels_and_classes(void **state)
{
    const hb_kernel_insight *k;
    const hb_kernel_class *c;
    size_t count;
    (void)state;
    assert_int_equal(hb_insights_kernels(insights, &k, &count), HB_OK);
    assert_int_equal(count, 4);
    assert_string_equal(k[0].name, GEMM);
    assert_string_equal(k[0].kernel_class, "gemm");
    assert_int_equal(k[0].matrix, HB_MATRIX_USED);
    assert_true(k[0].occupancy_percent == 12.5);
    assert_string_equal(k[0].limited_by, "VGPRs");
    assert_string_equal(k[1].kernel_class, "communication");
    assert_true(k[1].occupancy_percent < 0 && !k[1].limited_by);
    assert_int_equal(k[3].calls, 2);
    assert_int_equal(k[3].matrix, HB_MATRIX_UNKNOWN);
    assert_int_equal(hb_insights_classes(insights, &c, &count), HB_OK);
    assert_int_equal(count, 4);
    /* Two took as long: they stay in the order in which they came; of kernels as well. */
    assert_true(c[0].total_us == 40 && c[1].total_us == 40);
    assert_string_equal(c[0].name, "gemm");
    assert_string_equal(c[1].name, "communication");
    assert_true(c[0].matrix_us == 40 && c[1].matrix_us == 0 && c[0].no_matrix_us == 0);
}

static const hb_finding *finding(const char *rule)
{
    const hb_finding *f;
    size_t count;
    assert_int_equal(hb_insights_findings(insights, &f, &count), HB_OK);
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || f[i - 1].weight >= f[i].weight);
        if (strcmp(f[i].rule, rule) == 0) return &f[i];
    }
    return NULL;
}

static void test_findings_have_evidence(void **state)
{
    (void)state;
    assert_true(fabs(finding("idle")->weight - 155.0 / 290) < 1e-12);
    assert_non_null(strstr(finding("idle")->evidence, "hipMemcpyWithStream"));
    assert_true(fabs(finding("synchronisation")->weight - 110.0 / 290) < 1e-12);
    assert_non_null(strstr(finding("synchronisation")->evidence, "0.110 ms"));
    assert_non_null(strstr(finding("low-occupancy")->evidence, "12.5 %, limited by VGPRs"));
    assert_non_null(strstr(finding("exposed-communication")->evidence, "0.030 ms of 0.040 ms"));
    assert_string_equal(finding("blocking-copies")->evidence,
                        "blocking copy calls: 1; the host stood in them for 0.130 ms, 44.8 % of "
                        "the time in which GPUs worked; copies of pageable memory: 1, 0.020 ms");
    assert_null(finding("no-matrix-cores"));
    assert_null(finding("allocation"));
    assert_null(finding("data-loading"));
}

/* The first call starts the runtime, another thread copies at the same time as the second, and
 * AMD's names do not say what memory is copied. */
static void test_copies_are_no_more_than_the_time_there_is(void **state)
{
    static const char *const events[] = {
        CALL("hipMemcpy", 0, 5000, 1),
        CALL("hipMemcpy", 5010, 40, 2),
        EVENT("Runtime", "hipMemcpy", 7, 5020, 40, "\"correlation\":3"),
        WORK("gpu_memcpy", "Memcpy HtoD (Host -> Device)", 0, 4980, 10, 1, ""),
        WORK("gpu_memcpy", "Memcpy HtoD (Host -> Device)", 0, 5020, 20, 2, ""),
        WORK("kernel", RELU, 0, 5070, 10, 4, ""),
        NULL};
    char to[64];
    hb_trace_file *copies;
    hb_insights *made;
    const hb_finding *f;
    size_t count, i = 0;
    (void)state;
    snprintf(to, sizeof to, "%s.copies", path);
    write_file(to, trace_text("", events));
    assert_int_equal(hb_trace_file_open(to, NULL, &copies), HB_OK);
    assert_int_equal(hb_insights_create(copies, NULL, &made), HB_OK);
    assert_int_equal(hb_insights_findings(made, &f, &count), HB_OK);
    while (i < count && strcmp(f[i].rule, "blocking-copies") != 0)
        i++;
    assert_true(i < count);
    assert_string_equal(f[i].evidence,
                        "blocking copy calls: 3; the host stood in them for 0.070 ms, 70.0 % of "
                        "the time in which GPUs worked; copies of pageable memory: not known (the "
                        "trace does not tell)");
    assert_true(fabs(f[i].weight - 0.7) < 1e-12);
    hb_insights_destroy(made);
    hb_trace_file_close(copies);
    remove(to);
}

/* ---- rules ---- */

static hb_result classify(const char *rules, hb_insights **made)
{
    char to[64];
    hb_insights_options o = HB_INSIGHTS_OPTIONS_INIT;
    snprintf(to, sizeof to, "%s.rules", path);
    write_file(to, rules);
    o.classes_path = to;
    hb_result result = hb_insights_create(file, &o, made);
    remove(to);
    return result;
}

static void test_a_users_rules_come_first(void **state)
{
    const hb_kernel_insight *k;
    size_t count;
    hb_insights *made;
    (void)state;
    assert_int_equal(classify("# mine\n\n  mine\t^void*REDUCE_kernel\r\n+matrix relu>$\n"
                              "-matrix MT#x#x32\n",
                              &made),
                     HB_OK);
    assert_int_equal(hb_insights_kernels(made, &k, &count), HB_OK);
    assert_string_equal(k[0].kernel_class, "gemm");
    assert_int_equal(k[0].matrix, HB_MATRIX_NOT_USED);
    assert_int_equal(k[2].matrix, HB_MATRIX_USED);
    assert_string_equal(k[3].kernel_class, "mine");
    hb_insights_destroy(made);
}

static void test_wrong_rules_are_told_with_their_line(void **state)
{
    static const struct {
        const char *rules, *error;
    } cases[] = {
        {"gemm a\ngemm\n", ".rules:2: a pattern is missing"},
        {"\n\nge/mm a", ".rules:3: 'ge/mm' is no class"},
        {"gemm a b", ".rules:1: 'b' stands behind the pattern"},
        {"gemm *", ".rules:1: the pattern matches every kernel"},
        {"+metrix a", ".rules:1: '+metrix' is no class"},
    };
    hb_insights *made;
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        assert_int_equal(classify(cases[i].rules, &made), HB_ERROR_FORMAT);
        assert_null(made);
        assert_non_null(strstr(hb_last_error(), cases[i].error));
    }
    hb_insights_options o = HB_INSIGHTS_OPTIONS_INIT;
    o.classes_path = "/nonexistent/rules";
    assert_int_equal(hb_insights_create(file, &o, &made), HB_ERROR_IO);
}

/* Files of 1 MiB are read, with their last line. */
static void test_rules_have_a_limit(void **state)
{
    static const struct {
        size_t size;
        hb_result result;
    } cases[] = {{(1 << 20) - 1, HB_OK},
                 {1 << 20, HB_OK},
                 {(1 << 20) + 1, HB_ERROR_LIMIT},
                 {(1 << 20) + 9000, HB_ERROR_LIMIT}};
    static const char last[] = "\nlast relu>$\n";
    static char rules[(1 << 20) + 9001];
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_insights *made;
        const hb_kernel_insight *k;
        size_t count;
        memset(rules, '#', cases[i].size);
        strcpy(rules + cases[i].size - strlen(last), last);
        assert_int_equal(classify(rules, &made), cases[i].result);
        if (cases[i].result == HB_OK) {
            assert_int_equal(hb_insights_kernels(made, &k, &count), HB_OK);
            assert_string_equal(k[2].kernel_class, "last");
        } else {
            assert_non_null(strstr(hb_last_error(), "is over 1 MiB"));
        }
        hb_insights_destroy(made);
    }
}

static bool matches(const char *pattern, const char *name)
{
    return hb_kernel_name_matches((hb_str){pattern, (uint32_t)strlen(pattern)},
                                  (hb_str){name, (uint32_t)strlen(name)});
}

static void test_patterns(void **state)
{
    (void)state;
    assert_true(matches("B", "abc") && !matches("d", "abc") && !matches("x", ""));
    assert_true(matches("^a", "abc") && !matches("^b", "abc"));
    assert_true(matches("c$", "abc") && !matches("b$", "abc") && matches("a$b", "a$b"));
    assert_true(matches("a*c$", "abcbc") && matches("a*b*c", "aXbYc") && !matches("a*d", "abc"));
    assert_true(matches("MI#x#x", "_MI16x4x") && !matches("MI#x#x", "_MIx4x"));
    assert_true(matches("|sum|", "a_sum_b") && matches("|sum|", "sum") &&
                matches("|sum", "a sum2"));
    assert_false(matches("|sum|", "consume") || matches("|sum|", "sums") ||
                 matches("sum|", "sum2"));
    assert_true(matches("a*#b$", "a12bb3b"));
    assert_true(matches("~bc", "c") && matches("~bc", "abcac") && matches("x~bc", "xc"));
    assert_false(matches("~bc", "bc") || matches("~bc", "aBc"));
}

/* Names as libraries write them. */
static void test_names_of_libraries(void **state)
{
    static const struct {
        const char *name, *class;
        hb_matrix_verdict matrix;
    } names[] = {
        {"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x224x64_MI16x16x1_SN", "gemm",
         HB_MATRIX_IS_USED},
        {"Cijk_Alik_Bljk_SB_MT64x32x32_SE_APM1_ISA908_TT2_2_WG32_16_1", "gemm",
         HB_MATRIX_IS_UNKNOWN},
        {"Cijk_SB_BiasB_HAS_ScaleAlphaVec_PostGSU8_VW4", "gemm", HB_MATRIX_IS_UNKNOWN},
        {"void ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemm_xdl_cshuffle_v3<...>>", "gemm",
         HB_MATRIX_IS_USED},
        {"ck_tile::kentry<256, 1, ck_tile::FmhaFwdKernel<...>>", "attention", HB_MATRIX_IS_USED},
        {"ck_tile::Rmsnorm2dFwd<ck_tile::Rmsnorm2dFwdPipelineOnePass<...>>", "norm",
         HB_MATRIX_IS_UNKNOWN},
        {"igemm_fwd_gtcx3_nhwc_fp16_bx0_ex0_bt128x128x32_wt32x32x8", "convolution",
         HB_MATRIX_IS_USED},
        {"miopenSp3AsmConv_v30_3_1_gfx9_fp32_f2x3_stride1", "convolution", HB_MATRIX_IS_UNKNOWN},
        {"MIOpenBatchNormFwdTrainSpatial", "norm", HB_MATRIX_IS_UNKNOWN},
        {"SubTensorOpWithScalar1d", "elementwise", HB_MATRIX_IS_UNKNOWN},
        {"void rocwmma_gemm<rocwmma::fragment<...>>", "gemm", HB_MATRIX_IS_USED},
        {"aiter::fmha_fwd_hd128_bf16_causal_group", "attention", HB_MATRIX_IS_USED},
        {"attn_fwd", "attention", HB_MATRIX_IS_UNKNOWN},
        {"triton_poi_fused_convolution_relu_0", "elementwise", HB_MATRIX_IS_UNKNOWN},
        {"triton_red_fused_native_layer_norm_3", "norm", HB_MATRIX_IS_UNKNOWN},
        {"triton_per_fused__softmax_1", "softmax", HB_MATRIX_IS_UNKNOWN},
        {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         "communication", HB_MATRIX_IS_UNKNOWN},
        {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<...>", "copy",
         HB_MATRIX_IS_UNKNOWN},
        {"__amd_rocclr_fillBufferAligned", "copy", HB_MATRIX_IS_UNKNOWN},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>",
         "copy", HB_MATRIX_IS_UNKNOWN},
        {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<...>", "optimizer",
         HB_MATRIX_IS_UNKNOWN},
        {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, false, false>",
         "softmax", HB_MATRIX_IS_UNKNOWN},
        {"void rocprim::detail::onesweep_iteration_kernel<...>", "sort", HB_MATRIX_IS_UNKNOWN},
        {"ampere_fp16_s16816gemm_fp16_64x64_ldg8_f2f_stages_64x5_tn", "gemm", HB_MATRIX_IS_USED},
        {"sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw", "convolution",
         HB_MATRIX_IS_USED},
        {"my_kernel", "other", HB_MATRIX_IS_UNKNOWN},
        /* A library's name is no word of its kernels', and neither is what they take. */
        {"void fbgemm_gpu::split_embedding_codegen_forward_unweighted_kernel<float, float, 64>("
         "fbgemm_gpu::PTA<float, 1>)",
         "index", HB_MATRIX_IS_UNKNOWN},
        {"void fbgemm_gpu::bounds_check_v2<long>(long)", "other", HB_MATRIX_IS_UNKNOWN},
        {"void deep_gemm::fp8_gemm_kernel<4096u>(float*)", "gemm", HB_MATRIX_IS_UNKNOWN},
        {"void deep_ep::internode::dispatch<true, 4>(int4*, float*)", "communication",
         HB_MATRIX_IS_UNKNOWN},
        {"void deep_ep::intranode::combine<__nv_bfloat16, 8, 768>(void*)", "communication",
         HB_MATRIX_IS_UNKNOWN},
        {"void deep_ep::internode_ll::combine<false>(void*)", "communication",
         HB_MATRIX_IS_UNKNOWN},
        {"void deep_ep::layout::get_dispatch_layout<256>(long const*, gemm_params)", "other",
         HB_MATRIX_IS_UNKNOWN},
        {"void (anonymous namespace)::mine(at::native::reduce_op, gemm)", "other",
         HB_MATRIX_IS_UNKNOWN},
        {"ampere_sgemm_128x64_tn", "gemm", HB_MATRIX_IS_UNUSED},
        {"ampere_scudnn_128x64_relu_medium_nn_v1", "convolution", HB_MATRIX_IS_UNUSED},
        {"cutlass_80_simt_sgemm_128x64_8x5_nn_align1", "gemm", HB_MATRIX_IS_UNUSED},
    };
    hb_kernel_rules none = {0};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(names); i++) {
        hb_str name = {names[i].name, (uint32_t)strlen(names[i].name)};
        hb_str class = hb_kernel_class_of(&none, name);
        assert_memory_equal(class.s, names[i].class, class.len + 1);
        if (hb_kernel_matrix_of(&none, name) != names[i].matrix) fail_msg("%s", names[i].name);
    }
}

/* ---- traces that give nothing ---- */

static void test_nothing_to_tell(void **state)
{
    static const char *const texts[] = {
        "{\"traceEvents\":[]}",
        "{\"traceEvents\":[" OP("aten::mm", 1, 2) "]}",
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"ts\":1,\"dur\":-5},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"ts\":\"x\",\"dur\":1},7]}",
        "{\"traceEvents\":[" WORK("kernel", "k", 0, 5, 0, 1, "") "]}",
    };
    char to[64];
    (void)state;
    snprintf(to, sizeof to, "%s.json", path);
    for (size_t i = 0; i < HB_ARRAY_LEN(texts); i++) {
        hb_trace_file *f;
        hb_insights *made;
        const hb_finding *findings;
        size_t count;
        write_file(to, texts[i]);
        assert_int_equal(hb_trace_file_open(to, NULL, &f), HB_OK);
        assert_int_equal(hb_insights_create(f, NULL, &made), HB_OK);
        assert_int_equal(hb_insights_findings(made, &findings, &count), HB_OK);
        assert_int_equal(count, 0);
        hb_insights_destroy(made);
        hb_trace_file_close(f);
    }
    remove(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_gpus_time),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_the_host_during_gaps),
        cmocka_unit_test(test_kernels_and_classes),
        cmocka_unit_test(test_findings_have_evidence),
        cmocka_unit_test(test_copies_are_no_more_than_the_time_there_is),
        cmocka_unit_test(test_a_users_rules_come_first),
        cmocka_unit_test(test_wrong_rules_are_told_with_their_line),
        cmocka_unit_test(test_rules_have_a_limit),
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_names_of_libraries),
        cmocka_unit_test(test_nothing_to_tell),
    };
    return cmocka_run_group_tests(tests, open_timeline, close_timeline);
}
