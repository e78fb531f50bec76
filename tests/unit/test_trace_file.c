/* SPDX-License-Identifier: MIT
 *
 * What <hipboard/analysis.h> tells of a trace file: each kind of event, each member of each result,
 * and what is asked for that is not there.
 */
#include <math.h>

#include <hipboard/analysis.h>

#include "test_dir.h"

#define SPAN(cat, name, pid, tid, ts, dur, args)                                           \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid \
    ",\"ts\":" ts ",\"dur\":" dur ",\"args\":{" args "}},\n"
#define STEP(number, ts) SPAN("user_annotation", "ProfilerStep#" number, "1", "1", ts, "1000", "")
#define OPERATOR(ts, id)                            \
    SPAN("cpu_op", "aten::mm", "1", "1", ts, "300", \
         "\"External id\":" id                      \
         ",\"Input Dims\":[[8, 8], [8, 4]],\"Call stack\":\"a.py(1): f;b.py(2): g\"")
#define LAUNCH(ts, id)                                           \
    SPAN("cuda_runtime", "cudaLaunchKernel", "1", "1", ts, "20", \
         "\"External id\":" id ",\"correlation\":" id)
#define KERNEL(ts, id)                                                          \
    SPAN("kernel", "volta_sgemm", "0", "7", ts, "400",                          \
         "\"device\":0,\"stream\":7,\"External id\":" id ",\"correlation\":" id \
         ",\"blocks per SM\":0.5,\"est. achieved occupancy %\":40")

static const char text[] =
    "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":5},\"note\":[1, 2],\n"
    "\"deviceProperties\":[{\"id\":0,\"name\":\"G\",\"computeMajor\":7,\"totalGlobalMem\":1024}],\n"
    "\"hipboard_gpu_steps\":[{\"gpu\":1,\"step\":3,\"joules\":2.5,\"watts\":100,\"degrees\":60,"
    "\"mhz\":1500,"
    "\"least_mhz\":1200,\"throttled\":3},{\"gpu\":0,\"step\":4,\"throttled\":0.5},{\"gpu\":-1,"
    "\"step\":1},{\"gpu\":1e99,\"step\":1},{\"gpu\":0},{\"step\":1},\"x\"],\n"
    "\"traceEvents\":[" STEP("3", "1000") STEP("4", "2000") OPERATOR("1100", "11") LAUNCH("1150",
                                                                                          "11")
        KERNEL("1300", "11") OPERATOR("2100", "12") LAUNCH("2150", "12") KERNEL("2300", "12") SPAN(
            "gpu_memcpy", "Memcpy", "0", "7", "2800", "50",
            "\"device\":0,\"stream\":7,\"bytes\":64") SPAN("python_function", "nn.Module: Net_0",
                                                           "1", "1", "1050", "900",
                                                           "\"Python id\":1,\"Python module id\":0")
            SPAN(
                "other", "x", "\"a name of a process that is longer than there is room\"", "1.5",
                "1.25", "2.5",
                "\"External id\":\"text\"") "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":"
                                            "1,\"ts\":1200,\"args\":{\"Addr\":16,\"Bytes\":512,"
                                            "\"Device Type\":1,\"Device Id\":0,\"Total "
                                            "Allocated\":512}},\n"
                                            "{\"ph\":\"s\",\"id\":7,\"cat\":\"ac2g\",\"name\":"
                                            "\"ac2g\",\"pid\":1,\"tid\":1,\"ts\":1150},\n"
                                            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":1,"
                                            "\"args\":{\"name\":\"p\"}}]}\n";

static hb_trace_file *open_text(const char *json, bool unify)
{
    char path[300];
    hb_trace_file *file;
    hb_open_options options = HB_OPEN_OPTIONS_INIT;
    snprintf(path, sizeof path, "%s/t.pt.trace.json", dir);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(json, f);
    assert_int_equal(fclose(f), 0);
    options.unify = unify;
    assert_int_equal(hb_trace_file_open(path, &options, &file), HB_OK);
    return file;
}

/* ---- events ---- */

static void assert_text(const char *text_of, const char *expected)
{
    if (expected)
        assert_string_equal(text_of, expected);
    else
        assert_null(text_of);
}

static void test_each_kind_of_event(void **state)
{
    static const char dims[] = "[[8, 8], [8, 4]]", stack[] = "\"a.py(1): f;b.py(2): g\"";
    static const struct {
        const char *name, *category;
        char phase;
        double ts, dur; /* dur: -1: none */
        const char *pid, *tid;
        int64_t id, correlation; /* -1: none */
        const char *dims, *stack;
    } expected[] = {
        {"ProfilerStep#3", "user_annotation", 'X', 1000, 1000, "1", "1", -1, -1, "[]", NULL},
        {"ProfilerStep#4", "user_annotation", 'X', 2000, 1000, "1", "1", -1, -1, "[]", NULL},
        {"aten::mm", "cpu_op", 'X', 1100, 300, "1", "1", 11, -1, dims, stack},
        {"cudaLaunchKernel", "cuda_runtime", 'X', 1150, 20, "1", "1", 11, 11, NULL, NULL},
        {"volta_sgemm", "kernel", 'X', 1300, 400, "0", "7", 11, 11, NULL, NULL},
        {"aten::mm", "cpu_op", 'X', 2100, 300, "1", "1", 12, -1, dims, stack},
        {"cudaLaunchKernel", "cuda_runtime", 'X', 2150, 20, "1", "1", 12, 12, NULL, NULL},
        {"volta_sgemm", "kernel", 'X', 2300, 400, "0", "7", 12, 12, NULL, NULL},
        {"Memcpy", "gpu_memcpy", 'X', 2800, 50, "0", "7", -1, -1, NULL, NULL},
        {"nn.Module: Net_0", "python_function", 'X', 1050, 900, "1", "1", -1, -1, NULL, NULL},
        {"x", "other", 'X', 1.25, 2.5, "a name of a process that is lon", "1.5", -1, -1, NULL,
         NULL},
        {"[memory]", NULL, 'i', 1200, -1, "1", "1", -1, -1, NULL, NULL},
        {"ac2g", "ac2g", 's', 1150, -1, "1", "1", -1, -1, NULL, NULL},
        {"process_name", NULL, 'M', 0, -1, "1", "", -1, -1, NULL, NULL}};
    enum { COUNT = sizeof expected / sizeof *expected };
    hb_trace_file *file = open_text(text, false);
    hb_file_event e;
    (void)state;
    assert_int_equal(hb_trace_file_num_events(file), COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(hb_trace_file_event(file, i, &e), HB_OK);
        assert_text(e.name, expected[i].name);
        assert_text(e.category, expected[i].category);
        assert_int_equal(e.phase, expected[i].phase);
        assert_int_equal(e.has_ts, expected[i].phase != 'M');
        assert_true(!e.has_ts || e.ts_us == expected[i].ts);
        assert_int_equal(e.has_dur, expected[i].dur >= 0);
        assert_true(e.dur_us == (e.has_dur ? expected[i].dur : 0));
        assert_string_equal(e.pid, expected[i].pid);
        assert_string_equal(e.tid, expected[i].tid);
        assert_int_equal(e.has_external_id, expected[i].id >= 0);
        assert_int_equal(e.external_id, e.has_external_id ? expected[i].id : 0);
        assert_int_equal(e.has_correlation, expected[i].correlation >= 0);
        assert_int_equal(e.correlation, e.has_correlation ? expected[i].correlation : 0);
        assert_text(e.input_dims, expected[i].dims);
        assert_text(e.call_stack, expected[i].stack);
    }
    assert_int_equal(hb_trace_file_event(file, COUNT, &e), HB_ERROR_NOT_FOUND);
    assert_string_equal(hb_last_error(), "no event 14");
    hb_trace_file_close(file);
}

/* ---- the file ---- */

static void test_what_a_file_says_of_itself(void **state)
{
    hb_trace_file *file = open_text(text, true);
    int64_t rank = -1;
    (void)state;
    assert_true(hb_trace_file_rank(file, &rank) && rank == 5);
    assert_string_equal(hb_trace_file_metadata(file, "note"), "[1, 2]");
    assert_null(hb_trace_file_metadata(file, "nothing"));
    assert_null(hb_trace_file_metadata(file, "traceEvents"));
    assert_int_equal(hb_trace_file_text_bytes(file), strlen(text));
    assert_true(hb_trace_file_memory_bytes(file) > 40 * 14);
    assert_int_equal(hb_trace_file_num_notes(file), 0);
    assert_string_equal(hb_trace_file_note(file, 0).what, "");
    assert_false(hb_trace_file_is_digest(file));
    hb_trace_file_close(file);
    file = open_text("{\"distributedInfo\":{\"rank\":\"x\"},\"traceEvents\":[]}", true);
    assert_false(hb_trace_file_rank(file, &rank));
    hb_trace_file_close(file);
}

static void test_notes(void **state)
{
    static const char odd[] =
        "{\"traceEvents\":[{\"name\":\"a\tb\",\"ph\":\"X\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,"
        "\"ts\":1,\"dur\":N/A},{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"f\",\"pid\":1,\"tid\":1,"
        "\"ts\":1e19,\"dur\":1},{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"f\",\"pid\":1,\"tid\":"
        "1,"
        "\"ts\":2e19,\"dur\":1},{\"ph\":\"X\"";
    hb_trace_file *file = open_text(odd, true);
    (void)state;
    size_t count = hb_trace_file_num_notes(file);
    assert_int_equal(count, 4);
    assert_int_equal(hb_trace_file_note(file, 0).offset, 26); /* the tab */
    for (size_t i = 0; i < count; i++)
        assert_true(*hb_trace_file_note(file, i).what);
    assert_string_equal(
        hb_trace_file_note(file, 3).what,
        "2 events before 1876 or after 2064, which only the plugin's own numbers have");
    assert_true(hb_trace_file_note(file, 3).offset == HB_NO_OFFSET);
    assert_string_equal(hb_trace_file_note(file, 4).what, "");
    hb_trace_file_close(file);
}

/* ---- results ---- */

static void check_steps(hb_trace_file *file)
{
    const hb_step_stat *steps;
    size_t count;
    assert_int_equal(hb_trace_file_steps(file, &steps, &count), HB_OK);
    assert_int_equal(count, 2);
    for (size_t i = 0; i < 2; i++) {
        const hb_step_stat *s = &steps[i];
        assert_string_equal(s->name, i ? "4" : "3");
        assert_true(s->start_us == 1000 * (double)(i + 1) && s->duration_us == 1000);
        assert_true(s->kernel_us == 400 && s->memcpy_us == (i ? 50 : 0) && s->memset_us == 0);
        assert_true(s->communication_us == 0 && s->runtime_us == 20 && s->loader_us == 0);
        assert_true(s->cpu_us == 180 && s->other_us == (i ? 350 : 400));
    }
}

static void check_tables(hb_trace_file *file)
{
    const hb_operator_stat *operators;
    const hb_kernel_stats *kernels;
    const hb_gpu_stat *gpus;
    const hb_memory_stats_row *memory;
    const hb_module_stats *modules;
    size_t count;
    for (int by_shape = 0; by_shape < 2; by_shape++) {
        assert_int_equal(hb_trace_file_operators(file, by_shape, &operators, &count), HB_OK);
        assert_int_equal(count, 1);
        assert_string_equal(operators->name, "aten::mm");
        assert_string_equal(operators->input_shapes, "[[8, 8], [8, 4]]");
        assert_true(operators->calls == 2 && operators->host_us == 600 &&
                    operators->self_host_us == 560);
        assert_true(operators->device_us == 800 && operators->self_device_us == 800 &&
                    operators->tc_eligible);
    }
    assert_int_equal(hb_trace_file_kernels(file, &kernels, &count), HB_OK);
    assert_int_equal(count, 1);
    assert_string_equal(kernels->name, "volta_sgemm");
    assert_true(kernels->calls == 2 && kernels->total_us == 800 && kernels->mean_us == 400);
    assert_true(kernels->max_us == 400 && kernels->min_us == 400 && kernels->blocks_per_sm == 0.5);
    assert_true(kernels->occupancy_percent == 40 && !kernels->tc_used);
    assert_int_equal(hb_trace_file_gpus(file, &gpus, &count), HB_OK);
    assert_int_equal(count, 1);
    assert_true(gpus->id == 0 && fabs(gpus->utilization - 0.4) < 1e-9 &&
                fabs(gpus->sm_efficiency - 0.2) < 1e-9);
    assert_true(gpus->occupancy_percent == 40 && gpus->tensor_core_ratio == 0);
    assert_int_equal(hb_trace_file_memory(file, &memory, &count), HB_OK);
    assert_int_equal(count, 1);
    assert_string_equal(memory->device, "GPU0");
    assert_string_equal(memory->name, "aten::mm");
    assert_true(memory->calls == 1 && memory->increase_bytes == 512 &&
                memory->self_increase_bytes == 512);
    assert_true(memory->allocated_bytes == 512 && memory->self_allocated_bytes == 512);
    assert_true(memory->allocations == 1 && memory->self_allocations == 1);
    assert_int_equal(hb_trace_file_modules(file, &modules, &count), HB_OK);
    assert_int_equal(count, 1);
    assert_string_equal(modules->name, "Net_0");
    assert_true(modules->depth == 0 && modules->occurrences == 1 && modules->operators == 1);
    assert_true(modules->host_us == 900 && modules->self_host_us == 600);
    assert_true(modules->device_us == 400 && modules->self_device_us == 400);
}

static void test_results(void **state)
{
    hb_trace_file *file = open_text(text, true);
    (void)state;
    for (int again = 0; again < 2; again++) { /* made once */
        check_steps(file);
        check_tables(file);
    }
    assert_int_equal(hb_trace_file_keep_steps(file, 3, 3), HB_ERROR_STATE);
    hb_trace_file_close(file);
}

static void test_some_steps(void **state)
{
    static const struct {
        int64_t first, last;
        size_t steps;
    } cases[] = {{3, 4, 2}, {3, 3, 1}, {4, 9, 1}, {0, 3, 1}, {5, 9, 0}, {0, 2, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hb_trace_file *file = open_text(text, true);
        const hb_step_stat *steps;
        const hb_kernel_stats *kernels;
        size_t count = 0, num_kernels = 0;
        hb_result result = hb_trace_file_keep_steps(file, cases[i].first, cases[i].last);
        assert_int_equal(result, cases[i].steps ? HB_OK : HB_ERROR_NOT_FOUND);
        if (result == HB_OK) {
            assert_int_equal(hb_trace_file_steps(file, &steps, &count), HB_OK);
            assert_int_equal(hb_trace_file_kernels(file, &kernels, &num_kernels), HB_OK);
            assert_int_equal(count, cases[i].steps);
            assert_int_equal(kernels->calls, cases[i].steps);
        }
        hb_trace_file_close(file);
    }
}

/* ---- each GPU's steps ---- */

typedef struct told {
    hb_gpu_step steps[4];
    size_t count, most;
} told;

static bool keep(void *context, const hb_gpu_step *step)
{
    told *t = context;
    t->steps[t->count++] = *step;
    return t->count < t->most;
}

static void test_steps_of_gpus(void **state)
{
    hb_trace_file *file = open_text(text, true);
    told all = {.most = 9}, one = {.most = 1};
    (void)state;
    assert_int_equal(hb_trace_file_gpu_steps(file, keep, &all), HB_OK);
    assert_int_equal(all.count, 2);
    const hb_gpu_step *s = all.steps;
    assert_true(s->gpu == 1 && s->step == 3 && s->joules == 2.5 && s->watts == 100 &&
                s->degrees == 60);
    assert_true(s->mhz == 1500 && s->least_mhz == 1200 && s->throttled == 3);
    s = &all.steps[1];
    assert_true(s->gpu == 0 && s->step == 4 && isnan(s->joules) && isnan(s->watts) &&
                isnan(s->degrees));
    assert_true(isnan(s->mhz) && isnan(s->least_mhz) && s->throttled == -1);
    assert_int_equal(hb_trace_file_gpu_steps(file, keep, &one), HB_OK);
    assert_int_equal(one.count, 1);
    hb_trace_file_close(file);
}

/* ---- memory ---- */

#define CHANGE(ts, addr, bytes, type, id, total)                                \
    "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":1,\"tid\":1,\"ts\":" #ts       \
    ",\"args\":{\"Addr\":" #addr ",\"Bytes\":" #bytes ",\"Device Type\":" #type \
    ",\"Device Id\":" #id ",\"Total Allocated\":" #total "}}"

/* A piece of the CPU's comes and goes in `a`, one of a GPU's stays, of which 100 bytes were there
 * before and 30 of them are freed; one is of no operator. */
static const char pieces[] = "{\"traceEvents\":[" SPAN("cpu_op", "a", "1", "1", "10", "100", "")
    CHANGE(20, 16, 100, 0, -1, 100) "," SPAN("cpu_op", "b", "1", "1", "30", "10",
                                             "\"Call stack\":\"x.py(1): f;y.py(2): g\"")
        CHANGE(35, 32, 50, 1, 0, 150) "," CHANGE(50, 16, -100, 0, -1, 0) "," CHANGE(
            200, 64, 7, 0, -1, 7) "," CHANGE(210, 99, -30, 1, 0, 120) "]}";

static void check_holder(hb_memory_profile *m, size_t device, hb_memory_moment moment,
                         hb_memory_grouping grouping, const hb_memory_holder *expected)
{
    const hb_memory_holder *h;
    size_t count;
    assert_int_equal(hb_memory_profile_holders(m, device, moment, grouping, &h, &count), HB_OK);
    assert_int_equal(count, 1);
    assert_string_equal(h->name, expected->name);
    assert_string_equal(h->scopes, expected->scopes);
    assert_int_equal(h->stack_size, expected->stack_size);
    if (h->stack_size) {
        assert_string_equal(h->stack[0], "x.py(1): f");
        assert_string_equal(h->stack[1], "y.py(2): g");
    }
    assert_int_equal(h->allocations, 1);
    assert_true(h->bytes == expected->bytes && h->largest_bytes == expected->bytes);
    assert_true(h->first_us == expected->first_us && !h->before);
}

static void check_allocations(hb_memory_profile *m, size_t device,
                              const hb_memory_allocation *expected, size_t n)
{
    const hb_memory_allocation *list;
    size_t count;
    assert_int_equal(hb_memory_profile_allocations(m, device, &list, &count), HB_OK);
    assert_int_equal(count, n);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(list[i].name, expected[i].name);
        assert_true(list[i].bytes == expected[i].bytes && !list[i].before);
        assert_int_equal(list[i].begin_event, expected[i].begin_event);
        assert_int_equal(list[i].end_event, expected[i].end_event);
    }
}

static void test_memory_of_each_device(void **state)
{
    static const hb_memory_device devices[] = {
        {"cpu", 0, 7, 100, 10, 100, 2, 1, 0, 107, 100, 7, 1},
        {"cuda:0", 100, 120, 150, 25, 50, 1, 1, 1, 50, 30, 50, 1}};
    static const hb_memory_allocation on_cpu[] = {{"a", 100, 1, 4, false},
                                                  {"", 7, 5, SIZE_MAX, false}},
                                      on_gpu[] = {{"b", 50, 3, SIZE_MAX, false}};
    hb_trace_file *file = open_text(pieces, true);
    hb_memory_profile *m;
    hb_memory_device d;
    (void)state;
    assert_int_equal(hb_memory_profile_create(file, &m), HB_OK);
    assert_int_equal(hb_memory_profile_num_devices(m), 2);
    for (size_t i = 0; i < 2; i++) {
        const hb_memory_device *x = &devices[i];
        assert_int_equal(hb_memory_profile_device(m, i, &d), HB_OK);
        assert_string_equal(d.name, x->name);
        assert_true(d.start_bytes == x->start_bytes && d.end_bytes == x->end_bytes);
        assert_true(d.peak_bytes == x->peak_bytes && d.peak_us == x->peak_us);
        assert_true(d.peak_held_bytes == x->peak_held_bytes && d.left_bytes == x->left_bytes);
        assert_true(d.allocations == x->allocations && d.frees == x->frees && d.left == x->left);
        assert_true(d.unknown_frees == x->unknown_frees);
        assert_true(d.allocated_bytes == x->allocated_bytes && d.freed_bytes == x->freed_bytes);
    }
    check_allocations(m, 0, on_cpu, 2);
    check_allocations(m, 1, on_gpu, 1);
    check_holder(m, 0, HB_MEMORY_AT_PEAK, HB_BY_OPERATOR,
                 &(hb_memory_holder){.name = "a", .scopes = "", .bytes = 100, .first_us = 10});
    check_holder(m, 0, HB_MEMORY_AT_END, HB_BY_STACK,
                 &(hb_memory_holder){.name = "", .scopes = "", .bytes = 7, .first_us = 190});
    check_holder(m, 1, HB_MEMORY_AT_PEAK, HB_BY_STACK,
                 &(hb_memory_holder){
                     .name = "b", .scopes = "a;b", .stack_size = 2, .bytes = 50, .first_us = 25});
    const hb_memory_holder *h;
    const hb_memory_allocation *list;
    size_t count;
    assert_int_equal(hb_memory_profile_device(m, 2, &d), HB_ERROR_NOT_FOUND);
    assert_int_equal(hb_memory_profile_holders(m, 2, HB_MEMORY_AT_END, HB_BY_STACK, &h, &count),
                     HB_ERROR_NOT_FOUND);
    assert_int_equal(hb_memory_profile_allocations(m, 2, &list, &count), HB_ERROR_NOT_FOUND);
    hb_memory_profile_destroy(m);
    hb_trace_file_close(file);
}

/* ---- loops of a program ---- */

typedef struct loops {
    char told[600];
    int most;
} loops;

static bool keep_loop(void *context, const hb_loop_stats *l)
{
    loops *found = context;
    size_t n = strlen(found->told);
    snprintf(found->told + n, sizeof found->told - n,
             "%u %d: %llu of %llu, %.0f %% of 100, %.0f ns%s, %s, %s\n", l->number, l->level,
             (unsigned long long)l->rounds, (unsigned long long)l->launches, l->coverage * 100,
             l->round_us * 1000, l->is_step ? " (step)" : "", l->from, l->launch);
    return --found->most > 0;
}

static void check_loops(hb_trace_file *file, int most, const char *expected)
{
    loops found = {.most = most};
    assert_int_equal(hb_trace_file_loops(file, keep_loop, &found), HB_OK);
    assert_string_equal(found.told, expected);
}

/* Members that are missing or odd are 0 and "". */
static void test_loops_of_a_program(void **state)
{
#define FIRST \
    "3 1: 40 of 120, 75 % of 100, 1500 ns (step), a \"b\"\\c\t\xc3\xa9.cc(7): f, k<\"x\">\n"
#define SECOND "1 0: 0 of 0, 0 % of 100, 12500000 ns, , \n"
#define THIRD  "0 0: 0 of 0, 0 % of 100, 0 ns, , \n"
    (void)state;
    hb_trace_file *file = open_text(
        "{\"hipboard_loops\":[{\"loop\":3,\"level\":1,\"rounds\":40,\"launches\":120,"
        "\"coverage\":0.75,\"round_us\":1.5,\"steps\":true,"
        "\"from\":\"a \\\"b\\\"\\\\c\\t\\u00e9.cc(7): f\",\"launch\":\"k<\\\"x\\\">\"},\n"
        "{\"loop\":1,\"level\":-1,\"rounds\":\"4\",\"launches\":2.5,\"coverage\":\"1\","
        "\"round_us\":1.25e4,\"steps\":1,\"from\":7,\"launch\":null},7],\"traceEvents\":[]}",
        true);
    check_loops(file, 9, FIRST SECOND THIRD);
    check_loops(file, 2, FIRST SECOND);
    check_loops(file, 1, FIRST);
    hb_trace_file_close(file);
    file = open_text("{\"hipboard_loops\":{},\"traceEvents\":[]}", true);
    check_loops(file, 9, "");
    hb_trace_file_close(file);
    file = open_text(text, true);
    check_loops(file, 9, "");
    hb_trace_file_close(file);
}

/* ---- counters of kernels ---- */

/* Of the import, then of what was joined; a member that is missing or odd is 0 or "". */
static void test_counters_of_kernels(void **state)
{
    static const char counted[] =
        "{\"hipboard_import\":{\"counters\":[{\"kernel\":\"a \\\"b\\\"\",\"counter\":\"WAVES\","
        "\"kernels\":3,\"mean\":2.5,\"max\":4},7,{}]},\n"
        "\"hipboard_counters\":[{\"kernel\":7,\"counter\":\"BUSY\",\"kernels\":-1,\"mean\":1.25e3,"
        "\"max\":\"9\"}],\"traceEvents\":[]}";
    static const hb_kernel_counter expected[] = {
        {"a \"b\"", "WAVES", 3, 2.5, 4}, {"", "", 0, 0, 0}, {"", "BUSY", 0, 1250, 0}};
    static const char *const none[] = {
        "{\"traceEvents\":[]}", "{\"hipboard_counters\":[],\"traceEvents\":[]}",
        "{\"hipboard_import\":{\"counters\":{}},\"hipboard_counters\":7,\"traceEvents\":[]}"};
    hb_trace_file *file = open_text(counted, true);
    hb_kernel_counter *list;
    size_t count;
    (void)state;
    assert_int_equal(hb_trace_file_counters(file, &list, &count), HB_OK);
    assert_int_equal(count, 3);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(list[i].kernel, expected[i].kernel);
        assert_string_equal(list[i].counter, expected[i].counter);
        assert_int_equal(list[i].kernels, expected[i].kernels);
        assert_true(list[i].mean == expected[i].mean && list[i].max == expected[i].max);
    }
    hb_free(list);
    hb_trace_file_close(file);
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        file = open_text(none[i], true);
        assert_int_equal(hb_trace_file_counters(file, &list, &count), HB_OK);
        assert_true(!list && count == 0);
        hb_trace_file_close(file);
    }
}

static void test_a_trace_that_the_plugin_loses(void **state)
{
    static const char lost[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":\"x\","
        "\"ts\":1,\"dur\":1}]}";
    hb_trace_file *file = open_text(lost, false);
    const hb_step_stat *steps;
    const hb_kernel_stats *kernels;
    size_t count;
    char first[400];
    (void)state;
    assert_int_equal(hb_trace_file_steps(file, &steps, &count), HB_ERROR_FORMAT);
    snprintf(first, sizeof first, "%s", hb_last_error());
    assert_int_equal(hb_trace_file_kernels(file, &kernels, &count), HB_ERROR_FORMAT);
    assert_string_equal(hb_last_error(), first);
    assert_non_null(strstr(first, "event 0"));
    assert_null(hb_trace_file_advice(file, 0));
    hb_trace_file_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(test_each_kind_of_event),
        IN_DIR(test_what_a_file_says_of_itself),
        IN_DIR(test_notes),
        IN_DIR(test_results),
        IN_DIR(test_some_steps),
        IN_DIR(test_steps_of_gpus),
        IN_DIR(test_memory_of_each_device),
        IN_DIR(test_loops_of_a_program),
        IN_DIR(test_counters_of_kernels),
        IN_DIR(test_a_trace_that_the_plugin_loses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
