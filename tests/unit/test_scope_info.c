/* SPDX-License-Identifier: MIT
 *
 * Scopes with categories and values, counters with units, arrows: from the call to the file.
 */
#include <hipboard/analysis.h>

#include <math.h>
#include <pthread.h>

#include "program.h"
#include "record/format.h"
#include "trace/arg_words.h"
#include "written_trace.h"

/* ---- one of each ---- */

static const char long_text[] = "a text of more than eight bytes with \"quotes\" and \xc3\xa4";

static void read_batch(const char *path, size_t bytes)
{
    HB_SCOPE_WITH("read", .category = "io",
                  HB_ARGS(HB_ARG("bytes", bytes), HB_ARG("path", path), HB_ARG("ratio", 0.25),
                          HB_ARG("cached", (bool)true), HB_ARG("offset", -7)));
    hb_flow("batch", 7, HB_FLOW_BEGIN);
}

static void compute(void)
{
    const hb_op_info op = {.flops = 48};
    HB_SCOPE_WITH("aten::mm", HB_ARGS(HB_ARG("tile", 16), HB_ARG("External id", 1.5)), .op = &op);
    hb_flow("batch", 7, HB_FLOW_STEP);
}

static void *hand_over(void *unused)
{
    (void)unused;
    HB_SCOPE("write");
    hb_flow("batch", 7, HB_FLOW_END);
    hb_flow("batch", UINT64_MAX, HB_FLOW_BEGIN);
    return NULL;
}

static void one_of_each(void)
{
    read_batch(long_text, SIZE_MAX);
    compute();
    hb_counter("queue", "rows", 3);
    hb_counter("load", NULL, 0.5);
    pthread_t thread;
    pthread_create(&thread, NULL, hand_over, NULL);
    pthread_join(thread, NULL);
    HB_SCOPE_WITH("not a kernel", .category = "kernel");
}

static hb_profiler_options all_options(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.with_flops = true;
    return o;
}

static hb_profiler *record_one_of_each(void)
{
    hb_profiler_options o = all_options();
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    one_of_each();
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    return prof;
}

/* ---- what is in the file ---- */

/* The n-th event of that name and phase. */
static const cJSON *find(const cJSON *trace, const char *phase, const char *name, int n)
{
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        if (strcmp(text_of(event, "ph"), phase) == 0 && strcmp(text_of(event, "name"), name) == 0 &&
            n-- == 0)
            return event;
    }
    fail_msg("no event %s '%s'", phase, name);
    return NULL;
}

static double number(const cJSON *event, const char *key)
{
    const cJSON *value = cJSON_GetObjectItem(event, key);
    assert_true(cJSON_IsNumber(value));
    return cJSON_GetNumberValue(value);
}

static void assert_inside(const cJSON *flow, const cJSON *scope)
{
    double at = number(flow, "ts"), start = number(scope, "ts");
    assert_true(start <= at && at <= start + number(scope, "dur"));
    assert_true(number(flow, "tid") == number(scope, "tid"));
}

static void assert_all_told(const cJSON *trace, bool kineto)
{
    const cJSON *read = find(trace, "X", "read", 0), *args = cJSON_GetObjectItem(read, "args");
    assert_string_equal(text_of(read, "cat"), "io");
    assert_true(number(args, "bytes") == (double)SIZE_MAX);
    assert_string_equal(text_of(args, "path"), long_text);
    assert_true(number(args, "ratio") == 0.25 && number(args, "offset") == -7);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(args, "cached")));
    const cJSON *mm = find(trace, "X", "aten::mm", 0);
    args = cJSON_GetObjectItem(mm, "args");
    assert_string_equal(text_of(mm, "cat"), "cpu_op");
    assert_true(number(args, "tile") == 16 && number(args, "External id_") == 1.5);
    assert_true(kineto || number(args, "flops") == 48);
    assert_true(number(args, "External id") > 1.5);
    assert_string_equal(text_of(find(trace, "X", "not a kernel", 0), "cat"),
                        kineto ? "user_annotation" : "cpu_op");
    const cJSON *queue = find(trace, "C", "queue", 0), *load = find(trace, "C", "load", 0);
    assert_true(number(cJSON_GetObjectItem(queue, "args"), "rows") == 3);
    assert_true(number(cJSON_GetObjectItem(load, "args"), "value") == 0.5);
    const char *phases[] = {"s", "t", "f"};
    const char *scopes[] = {"read", "aten::mm", "write"};
    for (int i = 0; i < 3; i++) {
        const cJSON *flow = find(trace, phases[i], "batch", 0);
        assert_true(number(flow, "id") == 7);
        assert_string_equal(text_of(flow, "cat"), "flow");
        assert_string_equal(text_of(flow, "bp"), i ? "e" : "");
        assert_inside(flow, find(trace, "X", scopes[i], 0));
    }
    assert_string_equal(text_of(find(trace, "s", "batch", 1), "id"), "0xffffffffffffffff");
}

static void all_of_it_is_in_the_file(void **state)
{
    (void)state;
    char path[400];
    hb_profiler *prof = record_one_of_each();
    for (int kineto = 0; kineto < 2; kineto++) {
        snprintf(path, sizeof path, "%s/trace.json", dir);
        unsigned flags = kineto ? HB_DIALECT_KINETO : 0;
        assert_int_equal(hb_export_chrome_trace(prof, path, flags), HB_OK);
        cJSON *trace = load_trace(path);
        assert_all_told(trace, kineto);
        cJSON_Delete(trace);
    }
    hb_profiler_destroy(prof);
}

/* ---- the program's own look at it ---- */

static bool look(const hb_event *event, void *arg)
{
    int *seen = arg;
    if (strcmp(event->name, "read") == 0) {
        assert_string_equal(event->category, "io");
        assert_int_equal(event->num_args, 5);
        assert_int_equal(event->args[0].type, HB_ARG_UINT);
        assert_string_equal(event->args[1].s, long_text);
        assert_true(event->args[4].i == -7);
        *seen |= 1;
    }
    if (event->kind == HB_EVENT_COUNTER && strcmp(event->name, "queue") == 0) {
        assert_string_equal(event->unit, "rows");
        assert_true(event->value == 3);
        *seen |= 2;
    }
    if (event->kind == HB_EVENT_FLOW && event->flow_phase == HB_FLOW_END) {
        assert_int_equal(event->flow_id, 7);
        *seen |= 4;
    }
    return true;
}

static void programs_are_given_it(void **state)
{
    (void)state;
    int seen = 0;
    hb_profiler *prof = record_one_of_each();
    assert_int_equal(hb_profiler_events(prof, look, &seen), HB_OK);
    assert_int_equal(seen, 7);
    hb_profiler_destroy(prof);
}

/* A category takes a scope out of the tables, and nothing else does. */
static void tables_are_the_same_but_for_categories(void **state)
{
    (void)state;
    hb_profiler *prof = record_one_of_each();
    hb_trace_file *file;
    const hb_operator_stat *ops;
    size_t n;
    assert_int_equal(hb_profiler_trace(prof, 0, &file), HB_OK);
    assert_int_equal(hb_trace_file_operators(file, false, &ops, &n), HB_OK);
    assert_int_equal(n, 3);
    assert_string_equal(ops[0].name, "aten::mm");
    assert_string_equal(ops[1].name, "not a kernel");
    assert_string_equal(ops[2].name, "write");
    hb_trace_file_close(file);
    hb_profiler_destroy(prof);
}

/* ---- limits ---- */

static void what_does_not_fit_is_left_out_and_counted(void **state)
{
    (void)state;
    static char big[40000];
    memset(big, 'x', sizeof big - 1);
    hb_profiler_options o = all_options();
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    {
        HB_SCOPE_WITH("big", .category = "io", HB_ARGS(HB_ARG("text", big)));
    }
    {
        HB_SCOPE_WITH("no key", HB_ARGS({NULL, HB_ARG_INT, 0, 1, 0, NULL}));
    }
    {
        HB_SCOPE_WITH("no type", HB_ARGS({"key", (hb_arg_type)9, 0, 1, 0, NULL}));
    }
    {
        HB_SCOPE_WITH("nulls", HB_ARGS(hb_arg_string("text", NULL)));
    }
    hb_scope none = hb_scope_begin("no info", NULL), odd;
    hb_scope_end(&none);
    hb_scope_info empty = {0}; /* without its size */
    odd = hb_scope_begin_site(NULL, &empty);
    hb_scope_end(&odd);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_lost lost = {.struct_size = sizeof lost};
    assert_int_equal(hb_profiler_lost(prof, &lost), HB_OK);
    assert_int_equal(lost.too_big, 3);
    hb_profiler_destroy(prof);
}

/* An older caller's struct ends before `op`, a newer one's goes on. */
static void infos_of_older_and_newer_programs_are_taken(void **state)
{
    (void)state;
    char path[400];
    hb_profiler_options o = all_options();
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    hb_scope_info older = {offsetof(hb_scope_info, args), "io", (const hb_arg *)1, 99,
                           (const hb_op_info *)1};
    hb_scope scope = hb_scope_begin("older", &older);
    hb_scope_end(&scope);
    struct {
        hb_scope_info known;
        uint64_t unknown;
    } newer = {{sizeof newer, "io", NULL, 0, NULL}, 1};
    scope = hb_scope_begin("newer", &newer.known);
    hb_scope_end(&scope);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    snprintf(path, sizeof path, "%s/trace.json", dir);
    assert_int_equal(hb_export_chrome_trace(prof, path, 0), HB_OK);
    cJSON *trace = load_trace(path);
    assert_string_equal(text_of(find(trace, "X", "older", 0), "cat"), "io");
    assert_string_equal(text_of(find(trace, "X", "newer", 0), "cat"), "io");
    cJSON_Delete(trace);
    hb_profiler_destroy(prof);
}

/* Of words that something went wrong with, nothing is read beyond them. */
static void damaged_values_are_no_values(void **state)
{
    (void)state;
    const hb_arg args[] = {hb_arg_string("key", long_text), hb_arg_double("x", NAN),
                           hb_arg_string("", "")};
    uint64_t words[64], broken[64];
    size_t n = hb_args_words(args, 3, 64);
    uint32_t count;
    hb_buf scratch;
    hb_buf_init(&scratch, 1 << 16);
    assert_true(n > 6 && n < 64 && hb_args_words(args, 3, n - 1) == 0);
    hb_args_encode(words, args, 3, n);
    const hb_arg *back = hb_args_decode(words, n, &scratch, &count);
    assert_true(back && count == 3 && isnan(back[1].f));
    assert_string_equal(back[0].s, long_text);
    for (size_t i = 0; i < n * 8; i++)
        for (int bit = 0; bit < 8; bit++) {
            uint64_t *exact = malloc(n * 8); /* so that a step too far is seen */
            memcpy(broken, words, n * 8);
            ((unsigned char *)broken)[i] ^= (unsigned char)(1 << bit);
            memcpy(exact, broken, n * 8);
            back = hb_args_decode(exact, n, &scratch, &count);
            for (uint32_t k = 0; back && k < count; k++)
                assert_true(strlen(back[k].key) < n * 8);
            free(exact);
        }
    uint64_t *behind = (uint64_t *)malloc(8) + 1; /* the record's end: none are there */
    assert_null(hb_args_decode(behind, 0, &scratch, &count));
    assert_int_equal(count, 0);
    free(behind - 1);
    hb_buf_free(&scratch);
}

/* ---- a killed program ---- */

static int be_killed(void)
{
    hb_profiler_options o = all_options();
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = hb_profiler_create(&o);
    CHECK(prof && hb_profiler_start(prof) == HB_OK);
    one_of_each();
    kill(getpid(), SIGKILL);
    return 1;
}

static void note_path(const hb_recovered *spool, void *arg)
{
    if (spool->trace) snprintf(arg, 400, "%s", spool->trace);
}

/* Spools of version 3 are of the same layout. */
static void set_version(uint32_t version)
{
    DIR *d = opendir(dir);
    char path[700];
    for (struct dirent *e; (e = readdir(d));) {
        if (!strstr(e->d_name, ".hbspool")) continue;
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        FILE *f = fopen(path, "r+");
        fseek(f, 8, SEEK_SET);
        assert_int_equal(fwrite(&version, sizeof version, 1, f), 1);
        fclose(f);
    }
    closedir(d);
}

static void recover_it(uint32_t version)
{
    char path[400] = "";
    int status;
    pid_t pid = start_program("be_killed");
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status));
    set_version(version);
    assert_int_equal(hb_recover(dir, 0, note_path, path), HB_OK);
    cJSON *trace = load_trace(path);
    assert_all_told(trace, false);
    cJSON_Delete(trace);
}

static void it_is_recovered_after_a_kill(void **state)
{
    (void)state;
    recover_it(HB_SPOOL_VERSION);
}

static void spools_of_version_3_are_recovered(void **state)
{
    (void)state;
    recover_it(3);
}

int main(int argc, char **argv)
{
    (void)argc;
    static const program programs[] = {PROGRAM(be_killed)};
    int status;
    if (is_program(argv, programs, 1, &status)) return status;
    const struct CMUnitTest tests[] = {
        IN_DIR(all_of_it_is_in_the_file),
        IN_DIR(it_is_recovered_after_a_kill),
        IN_DIR(spools_of_version_3_are_recovered),
        IN_DIR(infos_of_older_and_newer_programs_are_taken),
        cmocka_unit_test(programs_are_given_it),
        cmocka_unit_test(tables_are_the_same_but_for_categories),
        cmocka_unit_test(what_does_not_fit_is_left_out_and_counted),
        cmocka_unit_test(damaged_values_are_no_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
