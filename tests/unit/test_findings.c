/* SPDX-License-Identifier: MIT
 *
 * Each piece of advice in a timeline that deserves it, and in one that nearly does; with several of
 * everything, so that the right one must be named.
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

#include "trace_text.h"

enum { MAX_EVENTS = 200 };

static char *events[MAX_EVENTS + 1];
static int num_events;
static const char *members = ""; /* of the trace, before its events */
static hb_trace_file *file;
static hb_insights *insights;

/* ---- a timeline ---- */

static void add(const char *cat, const char *name, int pid, int tid, double ts, double dur,
                const char *args)
{
    assert_true(num_events < MAX_EVENTS);
    assert_true(asprintf(&events[num_events++],
                         "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,"
                         "\"ts\":%g,\"dur\":%g,\"args\":{%s}}",
                         cat, name, pid, tid, ts, dur, args) > 0);
}

static void op(const char *name, double ts, double dur)
{
    add("cpu_op", name, 100, 7, ts, dur, "");
}

static void call(const char *name, double ts, double dur, int correlation)
{
    char args[100];
    snprintf(args, sizeof args, "\"correlation\":%d", correlation);
    add("cuda_runtime", name, 100, 7, ts, dur, args);
}

static void work(const char *cat, const char *name, int gpu, double ts, double dur, int correlation,
                 const char *more)
{
    char args[300];
    snprintf(args, sizeof args, "\"device\":%d,\"correlation\":%d%s%s", gpu, correlation,
             *more ? "," : "", more);
    add(cat, name, gpu, 0, ts, dur, args);
}

static void kernel(const char *name, int gpu, double ts, double dur, int correlation)
{
    work("kernel", name, gpu, ts, dur, correlation, "");
}

/* A kernel at `ts` for whose launch the GPU waited. */
static void late_kernel(double ts, double dur, int correlation)
{
    call("hipLaunchKernel", ts - 3, 2, correlation);
    kernel("k", 0, ts, dur, correlation);
}

static void analyse(void)
{
    char path[] = "/tmp/hipboard-test-findings-XXXXXX";
    FILE *f = fdopen(mkstemp(path), "w");
    assert_non_null(f);
    fputs(trace_text(members, (const char *const *)events), f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(hb_trace_file_open(path, NULL, &file), HB_OK);
    assert_int_equal(hb_insights_create(file, NULL, &insights), HB_OK);
    remove(path);
}

static int forget(void **state)
{
    (void)state;
    hb_insights_destroy(insights);
    hb_trace_file_close(file);
    insights = NULL;
    file = NULL;
    while (num_events)
        free(events[--num_events]);
    memset(events, 0, sizeof events);
    members = "";
    return 0;
}

static const hb_finding *finding(const char *rule)
{
    const hb_finding *f;
    size_t count;
    assert_int_equal(hb_insights_findings(insights, &f, &count), HB_OK);
    for (size_t i = 0; i < count; i++)
        if (strcmp(f[i].rule, rule) == 0) return &f[i];
    return NULL;
}

static void assert_found(const char *rule, double weight, const char *evidence)
{
    const hb_finding *f = finding(rule);
    assert_non_null(f);
    assert_string_equal(f->evidence, evidence);
    assert_true(fabs(f->weight - weight) < 1e-9);
}

/* ---- idle GPUs ---- */

static void short_kernels_that_are_launched_late(void **state)
{
    const struct {
        int kernels;
        double dur, pause;
        const char *evidence;
    } cases[] = {
        {12, 5, 15,
         "kernels: 12, half of them of at most 5.00 us; 73.3 % of the GPUs' time idle because the "
         "next launch came late"},
        {10, 10, 10,
         "kernels: 10, half of them of at most 10.00 us; 47.4 % of the GPUs' time idle because the "
         "next launch came late"},
        {9, 5, 15, NULL},
        {12, 10.5, 15, NULL},
        {12, 9, 2, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double each = cases[i].dur + cases[i].pause;
        for (int k = 0; k < cases[i].kernels; k++) {
            if (cases[i].pause > 3)
                late_kernel(10 + k * each, cases[i].dur, k + 1);
            else
                kernel("k", 0, 10 + k * each, cases[i].dur, k + 1);
        }
        analyse();
        double pauses = (cases[i].kernels - 1) * cases[i].pause;
        if (cases[i].evidence)
            assert_found("launch-bound", pauses / (pauses + cases[i].kernels * cases[i].dur),
                         cases[i].evidence);
        else
            assert_null(finding("launch-bound"));
        forget(state);
    }
}

/* Most are short, though not the one in the middle; copies do not count. */
static void the_median_is_of_all_kernels(void **state)
{
    const double durations[] = {20, 3, 20, 3, 3, 20, 4, 3, 20, 3, 20};
    double at = 10;
    (void)state;
    for (int k = 0; k < 11; at += durations[k++] + 10)
        late_kernel(at, durations[k], k + 1);
    for (int k = 0; k < 5; k++)
        work("gpu_memcpy", "Memcpy HtoD (Host -> Device)", 0, at + 20 * k, 20, 20 + k, "");
    analyse();
    assert_found("launch-bound", 100.0 / 329,
                 "kernels: 11, half of them of at most 4.00 us; 30.4 % of the GPUs' time idle "
                 "because the next launch came late");
}

static void waits_for_data(void **state)
{
    (void)state;
    late_kernel(10, 10, 1);
    op("enumerate(DataLoader)#_Iter.__next__", 20, 76);
    late_kernel(100, 10, 2);
    op("aten::other", 110, 96);
    late_kernel(210, 10, 3);
    op("enumerate(DataLoader)#_Iter.__next__", 220, 36);
    late_kernel(260, 10, 4);
    analyse();
    assert_found("data-loading", 120.0 / 260,
                 "gaps inside the data loader: 2, 0.120 ms, 46.2 % of the GPUs' time");
    assert_found("idle", 220.0 / 260,
                 "gaps: 3, 0.220 ms; because the host launched late: 0.220 ms; behind most of it: "
                 "enumerate(DataLoader)#_Iter.__next__, 0.120 ms in gaps: 2");
    assert_string_equal(finding("idle")->text, "GPUs are idle for 84.6 % of their time. See --view "
                                               "gpu for what the host did then.");
}

/* The longest is neither the first nor the last. */
static void waits_for_the_gpu(void **state)
{
    (void)state;
    late_kernel(10, 10, 1);
    call("hipStreamSynchronize", 12, 8, 90); /* till the gap begins */
    late_kernel(40, 10, 2);
    call("hipDeviceSynchronize", 42, 50, 91);
    late_kernel(100, 10, 3);
    call("hipEventSynchronize", 102, 25, 92);
    late_kernel(140, 10, 4);
    analyse();
    assert_found("synchronisation", 100.0 / 140,
                 "gaps after a wait: 3, 0.100 ms, 71.4 % of the GPUs' time, the longest 0.050 ms "
                 "after hipDeviceSynchronize; waiting calls: 3, 0.083 ms on the host");
}

/* ---- kernels ---- */

static void the_remedy_depends_on_the_limit(void **state)
{
    const struct {
        const char *limit, *text, *end;
    } cases[] = {
        {"VGPRs", "The longest of them needs fewer registers (smaller tiles, __launch_bounds__).",
         "limited by VGPRs"},
        {"SGPRs", "The longest of them needs fewer registers (smaller tiles, __launch_bounds__).",
         "limited by SGPRs"},
        {"LDS", "The longest of them needs less LDS in each block.", "limited by LDS"},
        {"grid", "The longest of them needs more blocks in the grid.", "limited by grid"},
        {"blocks", "The longest of them needs larger blocks.", "limited by blocks"},
        {"moon", "The longest of them needs a look at registers, LDS and grid.", "limited by moon"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char more[200];
        snprintf(more, sizeof more,
                 "\"est. achieved occupancy %%\":10,\"occupancy limited by\":\"%s\"",
                 cases[i].limit);
        work("kernel", "longest", 0, 10, 30, 1, more);
        work("kernel", "short", 0, 40, 10, 2,
             "\"est. achieved occupancy %\":24,\"occupancy limited by\":\"other\"");
        work("kernel", "full", 0, 50, 40, 3, "\"est. achieved occupancy %\":25");
        kernel("unknown", 0, 90, 20, 4);
        work("kernel", "ncclDevKernel_Generic_1", 0, 110, 100, 5,
             "\"est. achieved occupancy %\":1");
        analyse();
        char evidence[400];
        snprintf(evidence, sizeof evidence,
                 "kernels below 25 %%: 2, 20.0 %% of the kernels' time (known for 90.0 %%); the "
                 "longest: longest, 15.0 %% of the time at 10.0 %%, %s",
                 cases[i].end);
        assert_found("low-occupancy", 0.2, evidence);
        assert_non_null(strstr(finding("low-occupancy")->text, cases[i].text));
        forget(state);
    }
}

/* ---- memory ---- */

static void memory_that_is_allocated_while_the_program_works(void **state)
{
    const struct {
        int steps;
        const char *evidence;
    } cases[] = {
        {0, "calls in the trace: 3, 0.060 ms; the longest: hipFree, 0.030 ms"},
        {2, "calls within the steps: 2, 0.050 ms; the longest: hipFree, 0.030 ms"},
        {3, NULL}, /* not in each step */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int k = 0; k < cases[i].steps; k++) {
            char name[40];
            snprintf(name, sizeof name, "ProfilerStep#%d", k);
            add("user_annotation", name, 100, 7, 100 + 50 * k, 50, "");
        }
        call("hipMalloc", 20, 10, 90);
        call("hipMalloc", 100, 20, 91);
        call("hipFree", 130, 30, 92);
        call("hipMallocAsync", 165, 30, 93);
        kernel("k", 0, 10, 490, 1);
        analyse();
        if (cases[i].evidence)
            assert_found("allocation", cases[i].steps ? 50.0 / 490 : 60.0 / 490, cases[i].evidence);
        else
            assert_null(finding("allocation"));
        forget(state);
    }
}

static void memory_event(int gpu, double ts, const char *bytes)
{
    char args[200];
    snprintf(args, sizeof args,
             "\"Device Type\":1,\"Device Id\":%d,\"Bytes\":8,\"Addr\":1,\"Total Allocated\":%s",
             gpu, bytes);
    add("cpu_instant_event", "[memory]", 100, 7, ts, 0, args);
    char *x = strstr(events[num_events - 1], "\"ph\":\"X\"");
    memcpy(x, "\"ph\":\"i\"", 8);
}

/* All findings of the rule, in their order. */
static void check_evidence(const char *rule, const char *const *expected, size_t n)
{
    const hb_finding *f;
    size_t count, found = 0;
    assert_int_equal(hb_insights_findings(insights, &f, &count), HB_OK);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(f[i].rule, rule) != 0) continue;
        assert_true(found < n);
        assert_string_equal(f[i].evidence, expected[found++]);
    }
    assert_int_equal(found, n);
}

/* Of the devices' sizes some are odd: none, and no number. */
static void the_gpu_whose_memory_is_full_is_named(void **state)
{
    (void)state;
    members =
        "\"deviceProperties\":[{\"totalGlobalMem\":1073741824},{\"totalGlobalMem\":2147483648},"
        "{\"name\":\"none\"},{\"totalGlobalMem\":\"5\"},{\"totalGlobalMem\":1.073741824e9}],";
    kernel("k", 0, 10, 100, 1);
    memory_event(0, 20, "900000000");
    memory_event(1, 30, "1000");
    memory_event(1, 40, "2000000000");
    memory_event(1, 50, "1000");
    memory_event(2, 60, "9000000000");
    memory_event(3, 70, "9000000000");
    memory_event(4, 80, "966400000"); /* 90.003 % */
    memory_event(9, 90, "9000000000");
    analyse();
    static const char *const expected[] = {"allocated at the peak: 93.1 % of the 2.0 GiB of GPU 1",
                                           "allocated at the peak: 90.0 % of the 1.0 GiB of GPU 4"};
    check_evidence("full-memory", expected, 2);
}

/* GPU 2 only copies, GPU 3 only communicates. */
static void gpus_that_one_process_feeds_are_counted(void **state)
{
    (void)state;
    op("DataParallel.forward", 0, 100);
    op("DataParallel.forward", 110, 20);
    op("not_DataParallel.forward_either", 140, 20);
    for (int gpu = 0; gpu < 2; gpu++)
        kernel("k", gpu, 10, 100, 1 + gpu);
    work("gpu_memcpy", "Memcpy HtoD (Host -> Device)", 2, 10, 20, 5, "\"bytes\":100");
    kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 3, 20, 30, 6);
    analyse();
    static const char *const expected[] = {
        "calls of DataParallel.forward: 2; GPUs that compute: 2"};
    check_evidence("one-process", expected, 1);
}

static void copies_of_each_kind_and_gpu(void **state)
{
    (void)state;
    const struct {
        const char *gpu, *name;
        int calls;
        double bytes, total, longest, rate;
    } expected[] = {
        {"1", "Memcpy HtoD (Host -> Device)", 2, 3e6, 60, 40, 50},
        {"0", "Memcpy DtoH (Device -> Pageable)", 1, 1e6, 50, 50, 20},
        {"0", "Memcpy HtoD (Host -> Device)", 2, 1e6, 30, 20, 50},
        {"0", "Memset (Device)", 1, 0, 5, 5, -1},
    };
    work("gpu_memcpy", expected[0].name, 1, 10, 20, 1, "\"bytes\":1000000");
    work("gpu_memcpy", expected[0].name, 1, 40, 40, 2, "\"bytes\":2000000");
    work("gpu_memcpy", expected[1].name, 0, 10, 50, 3, "\"bytes\":1000000");
    work("gpu_memcpy", expected[2].name, 0, 70, 20, 4, "\"bytes\":1000000");
    work("gpu_memcpy", expected[2].name, 0, 90, 10, 5, "");
    work("gpu_memset", expected[3].name, 0, 100, 5, 6, "");
    analyse();
    const hb_copy_stat *c;
    size_t count;
    assert_int_equal(hb_insights_copies(insights, &c, &count), HB_OK);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(c[i].gpu, expected[i].gpu);
        assert_string_equal(c[i].name, expected[i].name);
        assert_int_equal(c[i].calls, expected[i].calls);
        assert_true(c[i].bytes == expected[i].bytes);
        assert_true(c[i].total_us == expected[i].total && c[i].longest_us == expected[i].longest);
        assert_true(expected[i].rate < 0 ? c[i].gb_per_s < 0
                                         : fabs(c[i].gb_per_s - expected[i].rate) < 1e-9);
    }
}

static void two_gpus_are_added_up(void **state)
{
    (void)state;
    kernel("a", 0, 0, 60, 1);
    kernel("ncclDevKernel_AllReduce", 0, 50, 50, 2);
    kernel("b", 1, 20, 30, 3);
    kernel("ncclDevKernel_AllReduce", 1, 80, 40, 4);
    analyse();
    const hb_gpu_time *g;
    size_t count;
    assert_int_equal(hb_insights_gpus(insights, &g, &count), HB_OK);
    assert_int_equal(count, 2);
    assert_true(g[0].span_us == 100 && g[0].busy_us == 100 && g[0].gaps == 0);
    assert_true(g[0].exposed_communication_us == 40 && g[0].communication_us == 50);
    assert_true(g[1].span_us == 100 && g[1].busy_us == 70 && g[1].largest_gap_us == 30);
    assert_true(g[1].exposed_communication_us == 40 && g[1].unknown_us == 30);
    assert_found("exposed-communication", 80.0 / 200,
                 "0.080 ms of 0.090 ms of communication overlap no computation, 40.0 % of the "
                 "GPUs' time");
    assert_null(finding("idle")); /* 15 % */
}

/* A bit of everything: 4.0 % of the time waits for data, 4.0 % for the GPU, 3.0 % copies, 0.9 %
 * allocates, 8.6 % communicates, and kernels of 16.5 % of their time have little occupancy. */
static void little_of_everything_is_no_advice(void **state)
{
    (void)state;
    late_kernel(10, 500, 1);
    op("enumerate(DataLoader)#_Iter.__next__", 510, 39);
    late_kernel(550, 150, 2);
    call("hipDeviceSynchronize", 700, 36, 90);
    call("hipLaunchKernel", 737, 2, 3);
    work("kernel", "slow", 0, 740, 150, 3, "\"est. achieved occupancy %\":10");
    kernel("ncclDevKernel_Generic_1", 0, 890, 85, 4);
    call("hipMemcpy", 800, 30, 91);
    call("hipMalloc", 850, 9, 92);
    kernel("k", 0, 975, 25, 5);
    analyse();
    const hb_finding *f;
    size_t count;
    assert_int_equal(hb_insights_findings(insights, &f, &count), HB_OK);
    if (count) fail_msg("%s: %s", f->rule, f->evidence);
}

/* From the moment on at which the GPU has nothing to do. */
static void a_launch_is_late_behind_the_last_works_end(void **state)
{
    for (int at = 19; at <= 21; at++) {
        late_kernel(10, 10, 1);
        call("hipLaunchKernel", at, 2, 2);
        kernel("k", 0, 40, 10, 2);
        analyse();
        const hb_gpu_time *g;
        const hb_stream_time *s;
        const hb_idle_gap *gap;
        size_t count;
        double late = at > 20 ? 20 : 0;
        assert_int_equal(hb_insights_gaps(insights, &gap, &count), HB_OK);
        assert_int_equal(count, 1);
        assert_string_equal(gap->why, late > 0 ? "late" : "queued");
        assert_int_equal(hb_insights_gpus(insights, &g, &count), HB_OK);
        assert_true(g->late_us == late && g->queued_us == 20 - late && g->gaps == 1);
        assert_int_equal(hb_insights_streams(insights, &s, &count), HB_OK);
        assert_true(s->late_us == late && s->queued_us == 20 - late && s->gaps == 1);
        forget(state);
    }
}

/* Of every category: what the host did is told by calls and by scopes, of a GPU's or nobody's
 * events by none, though their lane has the number of the thread that launched. */
static void only_what_the_host_does_is_behind_a_gap(void **state)
{
    static const char *const calls[] = {"Runtime", "cuda_runtime", "hip_runtime", "cuda_driver"};
    static const char *const scopes[] = {"cpu_op", "Operator", "user_annotation", "python",
                                         "python_function"};
    static const char *const others[] = {"overhead",       "outside_tree",
                                         "kernel",         "gpu_memcpy",
                                         "Memcpy",         "gpu_memset",
                                         "Memset",         "gpu_user_annotation",
                                         "cuda_sync",      "cuda_event",
                                         "Trace",          "scalar",
                                         "ac2g",           "",
                                         "a program's own"};
    const struct {
        const char *const *categories;
        size_t count;
        bool call, scope;
    } kinds[] = {
        {calls, sizeof calls / sizeof *calls, true, false},
        {scopes, sizeof scopes / sizeof *scopes, false, true},
        {others, sizeof others / sizeof *others, false, false},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t i = 0; i < kinds[k].count; i++) {
            late_kernel(10, 10, 1);
            add(kinds[k].categories[i], "it", 9, 7, 5, 90, "");
            late_kernel(100, 10, 2);
            analyse();
            const hb_idle_gap *g;
            size_t count;
            assert_int_equal(hb_insights_gaps(insights, &g, &count), HB_OK);
            assert_int_equal(count, 1);
            if (!g->call != !kinds[k].call || !g->operator_name != !kinds[k].scope)
                fail_msg("%s", kinds[k].categories[i]);
            forget(state);
        }
}

/* Calls too short to be behind a gap by themselves, with a longer one that began before it; and as
 * many that cover less than half of it. */
static void many_short_calls_are_behind_a_gap(void **state)
{
    for (int calls = 3; calls <= 4; calls++) {
        late_kernel(10, 10, 1);
        add("user_annotation", "ProfilerStep#1", 100, 7, 0, 200, "");
        add("cpu_op", "another thread's", 100, 8, 0, 200, "");
        call("hipEventQuery", 15, 15, 89); /* 10 of it in the gap */
        for (int i = 0; i < calls; i++)
            call("hipStreamQuery", 40 + 11 * i, 10, 90 + i);
        late_kernel(122, 10, 2); /* after 102, of which the launch covers 2 */
        analyse();
        const hb_idle_gap *g;
        size_t count;
        assert_int_equal(hb_insights_gaps(insights, &g, &count), HB_OK);
        assert_int_equal(count, 1);
        assert_true(g->duration_us == 102 && !g->call && !g->operator_name);
        assert_int_equal(g->many_calls, calls == 4);
        forget(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(short_kernels_that_are_launched_late, forget),
        cmocka_unit_test_teardown(the_median_is_of_all_kernels, forget),
        cmocka_unit_test_teardown(waits_for_data, forget),
        cmocka_unit_test_teardown(waits_for_the_gpu, forget),
        cmocka_unit_test_teardown(the_remedy_depends_on_the_limit, forget),
        cmocka_unit_test_teardown(memory_that_is_allocated_while_the_program_works, forget),
        cmocka_unit_test_teardown(the_gpu_whose_memory_is_full_is_named, forget),
        cmocka_unit_test_teardown(gpus_that_one_process_feeds_are_counted, forget),
        cmocka_unit_test_teardown(copies_of_each_kind_and_gpu, forget),
        cmocka_unit_test_teardown(two_gpus_are_added_up, forget),
        cmocka_unit_test_teardown(little_of_everything_is_no_advice, forget),
        cmocka_unit_test_teardown(a_launch_is_late_behind_the_last_works_end, forget),
        cmocka_unit_test_teardown(only_what_the_host_does_is_behind_a_gap, forget),
        cmocka_unit_test_teardown(many_short_calls_are_behind_a_gap, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
