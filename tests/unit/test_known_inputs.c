/* SPDX-License-Identifier: MIT
 *
 * Operators whose site repeats its inputs, or does not: each has its own in the trace, wherever the
 * records went meanwhile.
 */
#include <pthread.h>

#include "program.h"
#include "written_trace.h"

enum { TIMES = 3000 }; /* several chunks of records */

/* Operators of a number that the scope around them is named after: one by one call, one that has
 * more than inputs, and one with a category and values behind them. */
static void tell(int64_t k, uint64_t sequence)
{
    char name[32];
    const int64_t dims[] = {k, 3}, strides[] = {1, k};
    const hb_input list[] = {HB_TENSOR(HB_INT8, k), HB_TENSOR(HB_INT8, 4)};
    const hb_input inputs[] = {
        {.kind = HB_INPUT_TENSOR,
         .dtype = HB_FLOAT16,
         .count = 2,
         .dims = dims,
         .strides = strides},
        {.kind = HB_INPUT_TENSOR_LIST, .count = 2, .list = list},
        HB_INT_LIST(k, -k),
    };
    const hb_op_info op = {.inputs = inputs, .num_inputs = 3};
    snprintf(name, sizeof name, "%lld", (long long)k);
    HB_SCOPE_NAMED(name);
    HB_OP("simple", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 2, k), HB_INT(k))) {
    }
    HB_OP("sequence", .inputs = inputs, .num_inputs = 3, .sequence_number = sequence) {
    }
    HB_SCOPE_WITH("values", .category = "own", HB_ARGS(HB_ARG("k", k)), .op = &op);
}

/* Mostly what it was the last time. */
static int64_t number_of(uint64_t i)
{
    return i % 10 == 9 ? 100 + (int64_t)(i % 3) : 1 + (int64_t)(i / 70 % 5);
}

static void tell_all(void)
{
    for (uint64_t i = 0; i < TIMES; i++)
        tell(number_of(i), i + 1);
}

static void *in_thread(void *unused)
{
    (void)unused;
    tell_all();
    return NULL;
}

static hb_profiler *start(const hb_profiler_options *with)
{
    hb_profiler_options o = *with;
    o.activities = HB_ACTIVITY_CPU;
    o.record_shapes = true;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = hb_profiler_create(&o);
    CHECK(prof && hb_profiler_start(prof) == HB_OK);
    return prof;
}

/* ---- in a trace ---- */

/* The members that say an operator's inputs. */
static char *inputs_of(const cJSON *event)
{
    static const char *const keys[] = {"Input Dims", "Input Strides", "Concrete Inputs"};
    const cJSON *args = cJSON_GetObjectItem(event, "args");
    char *text = calloc(1, 1000);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        char *part = cJSON_PrintUnformatted(cJSON_GetObjectItem(args, keys[i]));
        if (part) snprintf(text + strlen(text), 1000 - strlen(text), "%s", part);
        cJSON_free(part);
    }
    return text;
}

static void check_inputs(const cJSON *event, int k)
{
    char want[400], *text = inputs_of(event);
    if (strcmp(text_of(event, "name"), "simple") == 0)
        snprintf(want, sizeof want, "[[2,%d],[]][[%d,1],[]][\"\",\"%d\"]", k, k, k);
    else
        snprintf(want, sizeof want,
                 "[[%d,3],[[%d],[4]],[]][[1,%d],[[1],[1]],[]][\"\",\"\",\"[%d, %d]\"]", k, k, k, k,
                 -k);
    assert_string_equal(text, want);
    free(text);
}

/* How many of each kind there are, whose inputs are all right. */
static int check_trace(const char *path)
{
    cJSON *trace = load_trace(path);
    const cJSON *event;
    int k = 0, simple = 0, others = 0;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        const char *name = text_of(event, "name");
        bool is_simple = strcmp(name, "simple") == 0;
        if (atoi(name)) k = atoi(name);
        if (!is_simple && strcmp(name, "sequence") != 0 && strcmp(name, "values") != 0) continue;
        check_inputs(event, k);
        *(is_simple ? &simple : &others) += 1;
    }
    cJSON_Delete(trace);
    assert_int_equal(others, 2 * simple);
    return simple;
}

/* Of all traces; *traces: how many there are. */
static int check_traces(int *traces)
{
    char path[600];
    int sum = 0;
    DIR *list = opendir(dir);
    *traces = 0;
    for (struct dirent *entry; (entry = readdir(list));) {
        if (!strstr(entry->d_name, ".pt.trace.json")) continue;
        snprintf(path, sizeof path, "%s/%s", dir, entry->d_name);
        sum += check_trace(path);
        ++*traces;
    }
    closedir(list);
    return sum;
}

static int check_only_trace(void)
{
    int traces, sum = check_traces(&traces);
    assert_int_equal(traces, 1);
    return sum;
}

/* ---- tests ---- */

static void threads_and_cycles_keep_their_own(void **state)
{
    (void)state;
    pthread_t thread;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    hb_profiler *prof = start(&o);
    assert_int_equal(pthread_create(&thread, NULL, in_thread, NULL), 0);
    tell_all();
    pthread_join(thread, NULL);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
    assert_int_equal(check_only_trace(), 2 * TIMES);
}

/* The chunk of the cycle before is gone on with, in which the same inputs stand. */
static void a_cycle_does_not_lean_on_the_one_before(void **state)
{
    (void)state;
    enum { CYCLES = 4 };
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.active = 1, .repeat = CYCLES);
    hb_profiler *prof = start(&o);
    for (int cycle = 0; cycle < CYCLES; cycle++) {
        for (uint64_t i = 0; i < 20; i++)
            tell(5, i + 1);
        assert_int_equal(hb_profiler_step(prof), HB_OK);
    }
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
    int traces;
    assert_int_equal(check_traces(&traces), 20 * CYCLES);
    assert_int_equal(traces, CYCLES);
}

/* Most of what was told in full is thrown away. */
static void a_flight_recorder_knows_those_of_what_it_kept(void **state)
{
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.ring_steps = 2;
    hb_profiler *prof = start(&o);
    for (uint64_t i = 0; i < 2 * TIMES; i++) {
        tell(number_of(i), i + 1);
        if (i % 500 == 499) assert_int_equal(hb_profiler_step(prof), HB_OK);
    }
    assert_int_equal(hb_profiler_dump(prof, "a look"), HB_OK);
    assert_int_equal(hb_profiler_flush(prof), HB_OK);
    hb_profiler_destroy(prof);
    assert_in_range(check_only_trace(), 500, 1500);
}

static void one_without_shapes_has_none(void **state)
{
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    hb_profiler *shapes = start(&o);
    tell(7, 1);
    assert_int_equal(hb_profiler_stop(shapes), HB_OK);
    hb_profiler_destroy(shapes);
    o.activities = HB_ACTIVITY_CPU;
    hb_profiler *none = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(none), HB_OK);
    tell(7, 1);
    assert_int_equal(hb_profiler_stop(none), HB_OK);
    char path[700];
    snprintf(path, sizeof path, "%s/none.pt.trace.json", dir);
    assert_int_equal(hb_export_chrome_trace(none, path, 0), HB_OK);
    hb_profiler_destroy(none);
    cJSON *trace = load_trace(path);
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        assert_null(cJSON_GetObjectItem(cJSON_GetObjectItem(event, "args"), "Input Dims"));
    }
    cJSON_Delete(trace);
}

/* ---- recovery ---- */

static int be_killed(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    start(&o);
    tell_all();
    kill(getpid(), SIGKILL);
    return 1;
}

static void they_are_recovered_after_a_kill(void **state)
{
    (void)state;
    assert_int_equal(run_program(be_killed), 1000 + SIGKILL);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    assert_int_equal(check_only_trace(), TIMES);
}

int main(int argc, char **argv)
{
    (void)argc;
    int status;
    static const program programs[] = {PROGRAM(be_killed)};
    if (is_program(argv, programs, 1, &status)) return status;
    const struct CMUnitTest tests[] = {
        IN_DIR(threads_and_cycles_keep_their_own),
        IN_DIR(a_cycle_does_not_lean_on_the_one_before),
        IN_DIR(a_flight_recorder_knows_those_of_what_it_kept),
        IN_DIR(one_without_shapes_has_none),
        IN_DIR(they_are_recovered_after_a_kill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
