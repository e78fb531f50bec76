/* SPDX-License-Identifier: MIT
 *
 * What names, categories and facts mean: each family whole, and beside each what is nearly one of
 * it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "rules/advice.h"
#include "rules/call_class.h"
#include "rules/categories.h"
#include "rules/collective_names.h"
#include "rules/name_class.h"
#include "rules/step_roles.h"
#include "rules/worker_host.h"

static hb_str str(const char *text)
{
    return (hb_str){text, (uint32_t)strlen(text)};
}

/* ---- calls of a runtime ---- */

static void calls_are_told_apart_by_name(void **state)
{
    (void)state;
    enum { NONE, ALLOCATES = 1, COPIES = 2, WAITS = 4 };
    const struct {
        const char *name;
        unsigned does; /* while the host stands in it */
    } calls[] = {
        {"hipMalloc", ALLOCATES},
        {"cudaMalloc", ALLOCATES},
        {"hipMallocManaged", ALLOCATES},
        {"hipMallocPitch", ALLOCATES},
        {"hipFree", ALLOCATES},
        {"hipFreeArray", ALLOCATES},
        {"hipHostMalloc", ALLOCATES},
        {"cudaHostAlloc", ALLOCATES},
        {"hipHostFree", ALLOCATES},
        {"hipExtMallocWithFlags", ALLOCATES},
        {"hipMallocAsync", NONE},
        {"hipFreeAsync", NONE},
        {"hipMallocFromPoolAsync", NONE},
        {"hipMemcpy", COPIES | WAITS},
        {"hipMemcpyDtoH", COPIES | WAITS},
        {"hipMemcpy2D", COPIES | WAITS},
        {"cudaMemcpyToSymbol", COPIES | WAITS},
        {"hipMemcpyAsync", NONE},
        {"hipMemcpyDtoHAsync", NONE},
        {"hipMemcpy2DAsync", NONE},
        {"hipDeviceSynchronize", WAITS},
        {"hipStreamSynchronize", WAITS},
        {"hipEventSynchronize", WAITS},
        {"cudaDeviceSynchronize", WAITS},
        {"hipLaunchKernel", NONE},
        {"hipMemset", NONE},
        {"hipMemGetInfo", NONE},
        {"hipHostGetDevicePointer", NONE},
        {"hipStreamSynchronizeWithFlags", NONE},
        {"myMalloc", NONE},
        {"Malloc", NONE},
        {"hip", NONE},
        {"cuda", NONE},
        {"", NONE},
        {"aten::hipMalloc", NONE},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(calls); i++) {
        hb_str name = str(calls[i].name);
        unsigned bits = hb_call_class_of(name);
        unsigned does = (hb_call_allocates(bits) ? ALLOCATES : 0) |
                        (hb_call_copies_and_waits(bits) ? COPIES : 0) |
                        (hb_call_waits(bits) ? WAITS : 0);
        if (does != calls[i].does) fail_msg("%s: %u", calls[i].name, does);
        assert_int_equal(hb_is_hip_call(name), strncmp(calls[i].name, "hip", 3) == 0);
    }
}

/* ---- kernels ---- */

/* A name is part of a longer text: what stands behind it is none of it. */
static void patterns_end_where_the_name_does(void **state)
{
    (void)state;
    const struct {
        const char *pattern, *text;
        uint32_t length;
        bool matches;
    } cases[] = {
        {"gemm", "gemmx", 4, true},      {"gemmx", "gemmx", 4, false}, {"gemm$", "gemmx", 4, true},
        {"gemm$", "gemmx", 5, false},    {"m#", "mm16", 4, true},      {"m#", "mm16", 2, false},
        {"m#$", "mm16", 3, true},        {"mm|", "mm16", 2, true},     {"mm|", "mm16", 4, false},
        {"|mm", "a mm", 4, true},        {"|mm", "amm", 3, false},     {"|mm", "a_mm", 4, true},
        {"^mm", "mm", 2, true},          {"^mm", "amm", 3, false},     {"~amm", "amm", 3, false},
        {"~amm", "bmm", 3, true},        {"~amm", "mm", 2, true},      {"~amm", "AMM", 3, false},
        {"a*c", "abc", 3, true},         {"a*c", "abc", 2, false},     {"a*c$", "acbc", 4, true},
        {"^a*b*c$", "axbxbxc", 7, true}, {"GEMM", "xgemm", 5, true},   {"gemm", "XGEMM", 5, true},
        {"_mm", "x_mm", 4, true},        {"mm", "", 0, false},         {"m", "xm", 1, false},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_str name = {cases[i].text, cases[i].length};
        if (hb_kernel_name_matches(str(cases[i].pattern), name) != cases[i].matches)
            fail_msg("%s in %.*s", cases[i].pattern, (int)name.len, name.s);
    }
}

/* What has a pattern's first part very often is not looked at as often: that took minutes. */
static void a_very_long_name_is_read_once(void **state)
{
    (void)state;
    enum { TIMES = 250000, LETTERS = 4 };
    char *text = malloc(TIMES * LETTERS + 1);
    assert_non_null(text);
    for (int i = 0; i < TIMES; i++)
        memcpy(text + i * LETTERS, "gem_", LETTERS);
    hb_str name = {text, TIMES * LETTERS};
    assert_false(hb_kernel_name_matches(str("gem*mm"), name));
    assert_false(hb_kernel_name_matches(str("gem*mege"), name));
    assert_false(hb_kernel_name_matches(str("|gem*m*mm"), name));
    assert_true(hb_kernel_name_matches(str("gem*m_$"), name));
    assert_true(hb_kernel_name_matches(str("~_gem*gem*_$"), name));
    assert_false(hb_kernel_name_matches(str("~_gem*gem*gem$"), name));
    free(text);
}

static void classes_of_matrix_products(void **state)
{
    (void)state;
    const struct {
        const char *name;
        bool math;
    } classes[] = {
        {"gemm", true},       {"convolution", true}, {"attention", true},  {"communication", false},
        {"norm", false},      {"softmax", false},    {"reduction", false}, {"loss", false},
        {"optimizer", false}, {"copy", false},       {"other", false},     {"mine", false},
        {"gemms", false},     {"", false},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(classes); i++)
        if (hb_kernel_class_is_math(str(classes[i].name)) != classes[i].math)
            fail_msg("%s", classes[i].name);
    assert_true(hb_kernel_class_is(HB_KERNELS_NORM, HB_STR("norm")));
    assert_false(hb_kernel_class_is(HB_KERNELS_NORM, HB_STR("normal")));
}

/* ---- categories ---- */

static void categories_are_told_apart_by_their_text(void **state)
{
    (void)state;
    const struct {
        const char *text;
        hb_kind kind, plugin;
    } categories[] = {
        {"cpu_op", HB_KIND_OPERATOR, HB_KIND_OPERATOR},
        {"CPU_OP", HB_KIND_OPERATOR, HB_KIND_OPERATOR},
        {"Operator", HB_KIND_OPERATOR, HB_KIND_OPERATOR},
        {"operator", HB_KIND_OPERATOR, HB_KIND_OPERATOR},
        {"user_annotation", HB_KIND_ANNOTATION, HB_KIND_ANNOTATION},
        {"gpu_user_annotation", HB_KIND_ANNOTATION, HB_KIND_ANNOTATION},
        {"python", HB_KIND_PYTHON, HB_KIND_PYTHON},
        {"python_function", HB_KIND_FUNCTION, HB_KIND_FUNCTION},
        {"Runtime", HB_KIND_RUNTIME, HB_KIND_RUNTIME},
        {"cuda_runtime", HB_KIND_CALL, HB_KIND_OTHER},
        {"hip_runtime", HB_KIND_CALL, HB_KIND_OTHER},
        {"cuda_driver", HB_KIND_CALL, HB_KIND_OTHER},
        {"hip_driver", HB_KIND_CALL, HB_KIND_OTHER},
        {"kernel", HB_KIND_KERNEL, HB_KIND_KERNEL},
        {"Kernel", HB_KIND_KERNEL, HB_KIND_KERNEL},
        {"gpu_memcpy", HB_KIND_MEMCPY, HB_KIND_MEMCPY},
        {"Memcpy", HB_KIND_MEMCPY, HB_KIND_MEMCPY},
        {"gpu_memset", HB_KIND_MEMSET, HB_KIND_MEMSET},
        {"memset", HB_KIND_MEMSET, HB_KIND_MEMSET},
        {"Trace", HB_KIND_SPAN, HB_KIND_SPAN},
        {"memory", HB_KIND_MEMORY, HB_KIND_MEMORY},
        {"forward_backward", HB_KIND_FLOW, HB_KIND_FLOW},
        {"Forward_backward", HB_KIND_OTHER, HB_KIND_OTHER},
        {"fwdbwd", HB_KIND_OTHER, HB_KIND_OTHER},
        {"ac2g", HB_KIND_OTHER, HB_KIND_OTHER},
        {"overhead", HB_KIND_OTHER, HB_KIND_OTHER},
        {"cuda_sync", HB_KIND_OTHER, HB_KIND_OTHER},
        {"cpu_instant_event", HB_KIND_OTHER, HB_KIND_OTHER},
        {"scalar", HB_KIND_OTHER, HB_KIND_OTHER},
        {"", HB_KIND_OTHER, HB_KIND_OTHER},
        {"kernels", HB_KIND_OTHER, HB_KIND_OTHER},
        {"gpu_kernel", HB_KIND_OTHER, HB_KIND_OTHER},
        {"runtime_", HB_KIND_OTHER, HB_KIND_OTHER},
        {"cuda_runtime2", HB_KIND_OTHER, HB_KIND_OTHER},
        {"driver", HB_KIND_OTHER, HB_KIND_OTHER},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(categories); i++) {
        hb_category category = hb_category_of(str(categories[i].text));
        if (hb_kind_by_category(str(categories[i].text)) != categories[i].kind ||
            hb_category_plugin_kind(category) != categories[i].plugin)
            fail_msg("%s", categories[i].text);
    }
    assert_true(hb_str_is(hb_category_text(hb_call_category(true)), "cuda_runtime"));
    assert_true(hb_str_is(hb_category_text(hb_call_category(false)), "Runtime"));
}

static void each_category_is_its_own_text(void **state)
{
    (void)state;
    for (int i = HB_CATEGORY_UNKNOWN + 1; i < HB_CATEGORIES; i++) {
        hb_category first = hb_category_of(hb_category_text((hb_category)i));
        assert_true(hb_category_is((hb_category)i, hb_category_text((hb_category)i)));
        assert_true(first <= (hb_category)i);
        assert_int_equal(hb_category_kind(first), hb_category_kind((hb_category)i));
    }
}

/* ---- names ---- */

static void names_are_told_apart(void **state)
{
    (void)state;
    const unsigned seen = HB_NAME_SEEN, nccl = HB_NAME_NCCL | HB_NAME_COMMUNICATES,
                   gloo = HB_NAME_GLOO | HB_NAME_COMMUNICATES,
                   wrapper = HB_NAME_NO_OPERATOR | HB_NAME_LIBRARY;
    const struct {
        const char *name;
        unsigned bits;
    } names[] = {
        {"ProfilerStep#12", HB_NAME_STEP},
        {"profilerstep#12", 0},
        {"enumerate(DataLoader)#_Iter.__next__",
         HB_NAME_LOADER | HB_NAME_LIBRARY | HB_NAME_WAITS_FOR_DATA},
        {"enumerate(DataLoader)#_Iter", HB_NAME_LIBRARY | HB_NAME_WAITS_FOR_DATA},
        {"enumerate(DataLoader)", HB_NAME_WAITS_FOR_DATA},
        {"enumerate(DataPipe)#Batcher", HB_NAME_LOADER | HB_NAME_LIBRARY | HB_NAME_WAITS_FOR_DATA},
        {"enumerate(Other)", 0},
        {"Optimizer.step#SGD.step", HB_NAME_OPTIMIZER | wrapper},
        {"Optimizer.zero_grad#SGD.zero_grad", wrapper},
        {"Optimizer", 0},
        {"DataParallel.forward", wrapper},
        {"DataParallel.forwards", 0},
        {"DistributedDataParallel.forward", wrapper},
        {"nccl:broadcast", nccl},
        {"nccl:reduce", nccl},
        {"nccl:all_reduce", nccl},
        {"nccl:all_gather", nccl},
        {"nccl:reduce_scatter", nccl},
        {"nccl:all_to_all", HB_NAME_COMMUNICATES},
        {"nccl:all_reduced", HB_NAME_COMMUNICATES},
        {"gloo:broadcast", gloo},
        {"gloo:reduce", gloo},
        {"gloo:all_reduce", gloo},
        {"gloo:all_gather", gloo},
        {"gloo:reduce_scatter", gloo},
        {"gloo:send", HB_NAME_COMMUNICATES},
        {"rccl:all_reduce", HB_NAME_COMMUNICATES},
        {"c10d::allreduce_", HB_NAME_COMMUNICATES},
        {"xnccl:reduce", 0},
        {"all_reduce", 0},
        {"xxxxxreduce", 0},
        {"autograd::engine::evaluate_function: MmBackward0", HB_NAME_BACKWARD},
        {"autograd::engine", 0},
        {"profiler::_record_function_enter", HB_NAME_UNLISTED},
        {"profiler::_record_function_enter_new", HB_NAME_UNLISTED},
        {"profiler::_record_function_exit", HB_NAME_UNLISTED},
        {"profiler::_record_function_exits", 0},
        {"aten::is_leaf", HB_NAME_UNLISTED},
        {"aten::output_nr", HB_NAME_UNLISTED},
        {"aten::_version", HB_NAME_UNLISTED},
        {"aten::version", 0},
        {"aten::relu", 0},
        {"", 0},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(names); i++) {
        hb_str name = str(names[i].name);
        unsigned bits = hb_scope_class_of(name);
        if (bits != (names[i].bits | seen)) fail_msg("%s: %#x", names[i].name, bits);
        assert_int_equal(hb_is_library_scope(name), (names[i].bits & HB_NAME_LIBRARY) != 0);
        assert_int_equal(hb_is_collective(name), (names[i].bits & HB_NAME_COLLECTIVE) != 0);
    }
}

static void tensor_cores_are_told_by_name(void **state)
{
    (void)state;
    const struct {
        const char *name;
        unsigned bits;
    } names[] = {
        {"volta_h884gemm_128x64_nn", HB_NAME_TC_KERNEL},
        {"turing_fp16_s1688gemm", HB_NAME_TC_KERNEL},
        {"xmma_gemm_f16", HB_NAME_TC_KERNEL},
        {"c1688", HB_NAME_TC_KERNEL},
        {"sgemm_128x64", 0},
        {"h88", 0},
        {"aten::mm", HB_NAME_TC_OP},
        {"aten::_convolution", HB_NAME_TC_OP},
        {"aten::linear", HB_NAME_TC_OP},
        {"AddbmmBackward", HB_NAME_TC_OP},
        {"aten::mm_", 0},
        {"aten::m", 0},
        {"aten::add", 0},
        {"my aten::mm", 0},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(names); i++) {
        unsigned bits = hb_name_class_of(str(names[i].name)) & (HB_NAME_TC_KERNEL | HB_NAME_TC_OP);
        if (bits != names[i].bits) fail_msg("%s: %#x", names[i].name, bits);
    }
}

/* Of torch's workers, of hipboard's ranks, and of processes that a rank started. */
static void workers_tell_their_hosts(void **state)
{
    static const struct {
        const char *worker, *host;
    } cases[] = {
        {"node7_4711", "node7"},
        {"node7_03", "node7"},
        {"node7_03-4711", "node7"},
        {"node-12_4711", "node-12"},
        {"node_1_4711", "node_1"},
        {"gpu7_4711", "gpu7"},
        {"ranking_4711", "ranking"},
        {"node7", ""},
        {"node7-4711", ""},
        {"node7_4711a", ""},
        {"node_a-4711", ""},
        {"_4711", ""},
        {"4711", ""},
        {"", ""},
        {"rank_3", ""},
        {"Worker_3", ""},
        {"GPU_0", ""},
        {"rank_003_4711", ""},
        {"trainer_3-4711", ""},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_str host = hb_worker_host((hb_str){cases[i].worker, (uint32_t)strlen(cases[i].worker)});
        assert_int_equal(host.len, strlen(cases[i].host));
        assert_memory_equal(host.s, cases[i].host, host.len);
    }
}

static void steps_have_numbers(void **state)
{
    (void)state;
    const struct {
        const char *name;
        uint32_t digits;
        int64_t number;
    } steps[] = {
        {"ProfilerStep#0", 1, 0},
        {"ProfilerStep#7", 1, 7},
        {"ProfilerStep#1234567", 7, 1234567},
        {"ProfilerStep#90#copy", 2, 90},
        {"ProfilerStep#", 0, 0},
        {"ProfilerStep#12a", 0, 12},
        {"ProfilerStep#a", 0, 0},
        {"ProfilerStep#/", 0, 0},
        {"ProfilerStep#:", 0, 0},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(steps); i++) {
        assert_int_equal(hb_step_digits(str(steps[i].name)), steps[i].digits);
        assert_true(hb_step_number_of(str(steps[i].name)) == steps[i].number);
    }
    char text[HB_STEP_NAME_SIZE];
    assert_int_equal(hb_step_name(text, INT64_MAX), 13 + 19);
    assert_string_equal(text, "ProfilerStep#9223372036854775807");
}

/* ---- roles of a step's time ---- */

static void roles_have_the_plugins_titles(void **state)
{
    (void)state;
    const char *const titles[] = {"Kernel",  "Memcpy",     "Memset",   "Communication",
                                  "Runtime", "DataLoader", "CPU Exec", "Other"};
    const char *const metrics[] = {"kernel",  "memcpy",      "memset", "communication",
                                   "runtime", "data_loader", "cpu",    "other"};
    assert_int_equal(HB_ROLE_PARTS, HB_ARRAY_LEN(titles));
    for (int i = 0; i < HB_ROLE_PARTS; i++) {
        assert_string_equal(hb_role_title((hb_role)i), titles[i]);
        assert_string_equal(hb_role_metric((hb_role)i), metrics[i]);
    }
}

/* ---- advice ---- */

static void a_sentence_takes_its_facts_in_order(void **state)
{
    (void)state;
    char text[400];
    hb_advice_sentence(text, sizeof text, HB_ADVICE_UTILIZATION, "3", "41 %");
    assert_string_equal(text, "GPU 3 was busy for 41 % of the steps' time: larger batches, fewer "
                              "synchronizations or work launched ahead would keep it busier.");
    hb_advice_sentence(text, sizeof text, HB_ADVICE_LOW_OCCUPANCY, "LDS");
    assert_string_equal(text, "Kernels leave most of the GPU's wave slots empty. The longest of "
                              "them needs LDS.");
    hb_advice_sentence(text, 12, HB_ADVICE_UTILIZATION, "3", "41 %");
    assert_string_equal(text, "GPU 3 was b");
    hb_advice_sentence(text, 6, HB_ADVICE_UTILIZATION, "34", "41 %");
    assert_string_equal(text, "GPU 3");
}

static void one_process_that_feeds_several_gpus_is_told(void **state)
{
    (void)state;
    const struct {
        uint64_t calls;
        unsigned gpus;
        const char *evidence;
    } cases[] = {
        {5, 2, "calls of DataParallel.forward: 5; GPUs that compute: 2"},
        {1, 8, "calls of DataParallel.forward: 1; GPUs that compute: 8"},
        {5, 1, NULL},
        {5, 0, NULL},
        {0, 2, NULL},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_distributed_facts f = {.gpus = cases[i].gpus, .distributed_data_parallel = 9};
        hb_rule_finding found = {.rule = ""};
        if (cases[i].calls) {
            hb_distributed_facts_add(&f, str("DataParallel.forward"), cases[i].calls - 1);
            hb_distributed_facts_add(&f, str("DataParallel.forward"), 1);
        }
        assert_int_equal(hb_rule_one_process(&f, &found), cases[i].evidence != NULL);
        if (!cases[i].evidence) continue;
        assert_string_equal(found.rule, "one-process");
        assert_string_equal(found.evidence, cases[i].evidence);
        assert_non_null(strstr(found.text, "One process feeds all GPUs"));
    }
}

/* Of those that the plugin knows, and of those that it does not. */
static void collectives_have_the_plugins_names(void **state)
{
    (void)state;
    static const struct {
        const char *call, *gloo, *rccl, *mpi;
    } cases[] = {
        {"ncclAllReduce", "gloo:all_reduce", "nccl:all_reduce", "mpi:all_reduce"},
        {"MPI_Ireduce_scatter", "gloo:reduce_scatter", "nccl:reduce_scatter", "mpi:reduce_scatter"},
        {"MPI_Barrier", "gloo:all_reduce", "nccl:all_reduce", "mpi:barrier"},
        {"my:bcast", "gloo:broadcast", "nccl:broadcast", "mpi:broadcast"},
        {"MPI_Alltoallv", "", "", ""},
        {"ncclGather", "", "", ""},
        {"scatter", "", "", ""},
        {"coalesced", "", "", ""},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        const hb_collective_name *c = hb_collective_of(str(cases[i].call));
        assert_non_null(c);
        assert_string_equal(c->plugin, cases[i].gloo);
        assert_string_equal(c->rccl, cases[i].rccl);
        assert_string_equal(c->mpi, cases[i].mpi);
    }
    assert_null(hb_collective_of(str("MPI_Send")));
}

static void collectives_through_the_host_are_told(void **state)
{
    (void)state;
    const struct {
        uint64_t forward, gloo, nccl;
        bool kernels;
        unsigned gpus;
        const char *evidence;
    } cases[] = {
        {3, 0, 0, false, 1,
         "collectives of gloo: 0, of RCCL or NCCL: 0; calls of DistributedDataParallel.forward: 3"},
        {0, 4, 0, false, 2,
         "collectives of gloo: 4, of RCCL or NCCL: 0; calls of DistributedDataParallel.forward: 0"},
        {3, 4, 0, false, 0, NULL},
        {3, 4, 1, false, 1, NULL},
        {3, 4, 0, true, 1, NULL},
        {0, 0, 0, false, 1, NULL},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_distributed_facts f = {.gpus = cases[i].gpus, .communication_kernels = cases[i].kernels};
        hb_rule_finding found = {.rule = ""};
        hb_distributed_facts_add(&f, str("DistributedDataParallel.forward"), cases[i].forward);
        hb_distributed_facts_add(&f, str("gloo:all_reduce"), cases[i].gloo);
        hb_distributed_facts_add(&f, str("nccl:all_reduce"), cases[i].nccl);
        hb_distributed_facts_add(&f, str("nccl:other"), 7);
        assert_int_equal(hb_rule_host_collectives(&f, &found), cases[i].evidence != NULL);
        if (!cases[i].evidence) continue;
        assert_string_equal(found.rule, "host-collectives");
        assert_string_equal(found.evidence, cases[i].evidence);
    }
}

#define SINGLE "Cijk_Ailk_Bljk_SB_MT128x64x8"

static void matrix_products_without_matrix_cores_are_told(void **state)
{
    (void)state;
    const struct {
        double gemm_used, gemm_unused, gemm_unknown, rest;
        const char *evidence; /* NULL: nothing is said */
        const char *begins;
        double weight;
    } cases[] = {
        {0, 20, 0, 80,
         "GEMM, convolution and attention take 20.0 % of the kernels' time; of that 0.0 % use "
         "matrix cores, 100.0 % do not, 0.0 % is unknown; the longest: slow",
         "Matrix products do not", 0.2},
        {0, 10, 30, 60,
         "GEMM, convolution and attention take 40.0 % of the kernels' time; of that 0.0 % use "
         "matrix cores, 25.0 % do not, 75.0 % is unknown; the longest: unknown",
         "Most of the time goes", 0.4},
        {4, 38, 38, 20,
         "GEMM, convolution and attention take 80.0 % of the kernels' time; of that 5.0 % use "
         "matrix cores, 47.5 % do not, 47.5 % is unknown; the longest: slow",
         "Most of the time goes", 0.76},
        {0, 20, 20, 60,
         "GEMM, convolution and attention take 40.0 % of the kernels' time; of that 0.0 % use "
         "matrix cores, 50.0 % do not, 50.0 % is unknown; the longest: slow",
         "Matrix products do not", 0.4},
        {0, 19, 0, 81, NULL, NULL, 0},
        {10, 90, 0, 0, NULL, NULL, 0},
        {50, 0, 0, 50, NULL, NULL, 0},
        {0, 0, 0, 100, NULL, NULL, 0},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_math_facts f = {0};
        hb_rule_finding found = {.rule = ""};
        if (cases[i].gemm_unused > 0) {
            hb_math_facts_add(&f, str("slow"), str("gemm"), HB_MATRIX_IS_UNUSED,
                              cases[i].gemm_unused);
        }
        if (cases[i].gemm_unknown > 0)
            hb_math_facts_add(&f, str("unknown"), str("attention"), HB_MATRIX_IS_UNKNOWN,
                              cases[i].gemm_unknown);
        if (cases[i].gemm_used > 0)
            hb_math_facts_add(&f, str("fast"), str("convolution"), HB_MATRIX_IS_USED,
                              cases[i].gemm_used);
        hb_math_facts_add(&f, str("add"), str("elementwise"), HB_MATRIX_IS_UNUSED, cases[i].rest);
        assert_int_equal(hb_rule_no_matrix_cores(&f, &found), cases[i].evidence != NULL);
        assert_false(hb_rule_single_precision(&f, &(hb_rule_finding){0}));
        if (!cases[i].evidence) continue;
        assert_string_equal(found.rule, "no-matrix-cores");
        assert_string_equal(found.evidence, cases[i].evidence);
        assert_ptr_equal(strstr(found.text, cases[i].begins), found.text);
        assert_true(found.weight > cases[i].weight - 1e-9 && found.weight < cases[i].weight + 1e-9);
    }
}

static void single_precision_is_told(void **state)
{
    (void)state;
    const struct {
        const char *name;
        double time;
        bool told;
    } cases[] = {
        {SINGLE, 20, true},
        {"Cijk_Ailk_Bljk_S_B_Bias_MT128", 20, true},
        {SINGLE, 19.9, false},
        {"Cijk_Ailk_Bljk_HB_MT128x64x8", 60, false},
        {"my_Cijk_Ailk_Bljk_SB_MT128", 60, false},
        {"Cijk_Ailk_Bljk_HSB_MT128", 60, false},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_math_facts f = {0};
        hb_rule_finding found = {.rule = ""};
        hb_math_facts_add(&f, str(cases[i].name), str("gemm"), HB_MATRIX_IS_USED, cases[i].time);
        hb_math_facts_add(&f, str("add"), str("elementwise"), HB_MATRIX_IS_UNUSED,
                          100 - cases[i].time);
        if (hb_rule_single_precision(&f, &found) != cases[i].told)
            fail_msg("%s %g", cases[i].name, cases[i].time);
        if (!cases[i].told) continue;
        char evidence[200];
        snprintf(evidence, sizeof evidence, "20.0 %% of the kernels' time; the longest: %s",
                 cases[i].name);
        assert_string_equal(found.rule, "single-precision");
        assert_string_equal(found.evidence, evidence);
        assert_true(found.weight == 0.2);
    }
}

/* The longest is named, the first of equals; a name of more than 60 bytes is cut. */
static void the_longest_kernel_is_named(void **state)
{
    (void)state;
    static const char sixty[] = "Cijk_Ailk_Bljk_SB_MT128x64x8_SE_1LDSB0_APM1_ABV0_ACED0_AF0EM";
    hb_math_facts f = {0};
    hb_rule_finding found = {.rule = ""};
    char longer[70];
    assert_int_equal(strlen(sixty), 60);
    snprintf(longer, sizeof longer, "%sx", sixty);
    hb_math_facts_add(&f, str(SINGLE), str("gemm"), HB_MATRIX_IS_UNUSED, 5);
    hb_math_facts_add(&f, str(sixty), str("gemm"), HB_MATRIX_IS_UNUSED, 6);
    hb_math_facts_add(&f, str(longer), str("gemm"), HB_MATRIX_IS_UNUSED, 6);
    assert_true(hb_rule_single_precision(&f, &found));
    assert_string_equal(strstr(found.evidence, "Cijk"), sixty);
    hb_math_facts_add(&f, str(longer), str("gemm"), HB_MATRIX_IS_UNUSED, 7);
    assert_true(hb_rule_no_matrix_cores(&f, &found));
    assert_ptr_equal(strstr(strstr(found.evidence, sixty), "..."),
                     strstr(found.evidence, sixty) + 60);
}

static void nearly_full_memory_is_told(void **state)
{
    (void)state;
    const double gib = 1073741824;
    const struct {
        double peak, capacity;
        const char *evidence;
    } cases[] = {
        {61 * gib, 64 * gib, "allocated at the peak: 95.3 % of the 64.0 GiB of GPU 3"},
        {1.5 * gib, 1.5 * gib, "allocated at the peak: 100.0 % of the 1.5 GiB of GPU 3"},
        {0.9 * 64 * gib, 64 * gib, NULL},
        {0, 64 * gib, NULL},
        {61 * gib, 0, NULL},
        {61 * gib, -1, NULL},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_rule_finding found = {.rule = ""};
        assert_int_equal(hb_rule_full_memory(3, cases[i].peak, cases[i].capacity, &found),
                         cases[i].evidence != NULL);
        if (!cases[i].evidence) continue;
        assert_string_equal(found.rule, "full-memory");
        assert_string_equal(found.evidence, cases[i].evidence);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_are_told_apart_by_name),
        cmocka_unit_test(patterns_end_where_the_name_does),
        cmocka_unit_test(a_very_long_name_is_read_once),
        cmocka_unit_test(classes_of_matrix_products),
        cmocka_unit_test(categories_are_told_apart_by_their_text),
        cmocka_unit_test(each_category_is_its_own_text),
        cmocka_unit_test(names_are_told_apart),
        cmocka_unit_test(tensor_cores_are_told_by_name),
        cmocka_unit_test(workers_tell_their_hosts),
        cmocka_unit_test(steps_have_numbers),
        cmocka_unit_test(roles_have_the_plugins_titles),
        cmocka_unit_test(a_sentence_takes_its_facts_in_order),
        cmocka_unit_test(one_process_that_feeds_several_gpus_is_told),
        cmocka_unit_test(collectives_have_the_plugins_names),
        cmocka_unit_test(collectives_through_the_host_are_told),
        cmocka_unit_test(matrix_products_without_matrix_cores_are_told),
        cmocka_unit_test(single_precision_is_told),
        cmocka_unit_test(the_longest_kernel_is_named),
        cmocka_unit_test(nearly_full_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
