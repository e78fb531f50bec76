/* SPDX-License-Identifier: MIT
 *
 * Communication that a program marks itself: from the call to the file.
 */
#include <hipboard/comm.h>
#include <math.h>
#include <time.h>

#include "program.h"
#include "record/communication.h"
#include "written_trace.h"

enum { RANKS = 4, GRADIENTS = 100 };

static hb_comm_group pair;

static void communicate(void)
{
    static const int64_t members[] = {1, 3};
    const hb_process_group group = {
        .name = "pair", .description = "two\tof them", .ranks = members, .num_ranks = 2};
    pair = hb_comm_group_make(&group);
    HB_OP_GUARD("train", .flops = 1);
    HB_COLLECTIVE("my:all_reduce", HB_COMM_WORLD, HB_FLOAT64, GRADIENTS, GRADIENTS) {}
    HB_COLLECTIVE("my:all_reduce", pair, HB_FLOAT32, 7, 7) {}
    HB_COLLECTIVE("my:barrier", HB_COMM_WORLD, HB_NONE, 0, 0) {}
    HB_COLLECTIVE("my:all_to_all", HB_COMM_WORLD, HB_INT32, 8, 8) {}
    HB_COLLECTIVE("gloo:broadcast", HB_COMM_WORLD, HB_FLOAT32, 5, 5) {}
    HB_SEND(2, 11, 640) {}
    HB_RECV(0, 12, 320) {}
    HB_COLLECTIVE("my:all_reduce", HB_COMM_UNKNOWN, HB_FLOAT32, 7, 7) {}
}

/* What is known only when it is over. */
static void receive_from_any(void)
{
    hb_comm_info info = {.struct_size = sizeof info,
                         .in = -1,
                         .out = 64,
                         .bytes = 64,
                         .source = -1,
                         .dest = -1,
                         .tag = HB_COMM_NO_TAG,
                         .sequence = HB_COMM_UNCOUNTED};
    hb_scope scope = hb_comm_begin("recv any", &info);
    info.source = 2;
    info.tag = 9;
    info.out = info.bytes = 16;
    hb_comm_end(&scope, &info);
    scope = hb_comm_begin("recv any", &info);
    HB_RECORD_FUNCTION("within") {
        info.tag = 77;
        hb_comm_end(&scope, &info); /* not the innermost: as it was, and both end */
    }
}

static hb_profiler *record_it(bool stacks)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.spool_dir = "";
    o.record_shapes = true;
    o.with_stack = stacks;
    o.distributed = (hb_distributed_info){.backend = "mpi", .rank = 1, .world_size = RANKS};
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    communicate();
    receive_from_any();
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    return prof;
}

static cJSON *written(hb_profiler *prof, unsigned flags)
{
    char path[300];
    snprintf(path, sizeof path, "%s/comm.json", dir);
    assert_int_equal(hb_export_chrome_trace(prof, path, flags), HB_OK);
    return load_trace(path);
}

static const cJSON *find(const cJSON *trace, const char *category, const char *name, int n)
{
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        if (strcmp(text_of(event, "cat"), category) == 0 &&
            strcmp(text_of(event, "name"), name) == 0 && n-- == 0)
            return event;
    }
    return NULL;
}

static const cJSON *args_of(const cJSON *trace, const char *category, const char *name, int n)
{
    const cJSON *event = find(trace, category, name, n);
    if (!event) fail_msg("no %s '%s' %d", category, name, n);
    return cJSON_GetObjectItem(event, "args");
}

static double number(const cJSON *object, const char *key)
{
    const cJSON *value = cJSON_GetObjectItem(object, key);
    return cJSON_IsNumber(value) ? value->valuedouble : -1;
}

static void expect_sums(const cJSON *trace, const char *of_all, const char *of_two)
{
    const cJSON *all = args_of(trace, of_all, "my:all_reduce", 0);
    assert_string_equal(text_of(all, "Collective name"), "allreduce");
    assert_string_equal(text_of(all, "dtype"), "Double");
    assert_int_equal(number(all, "In msg nelems"), GRADIENTS);
    assert_int_equal(number(all, "bytes"), GRADIENTS * 8);
    assert_int_equal(number(all, "Group size"), RANKS);
    assert_string_equal(text_of(all, "Process Group Ranks"), "[0, 1, 2, 3]");
    assert_int_equal(number(all, "Rank"), 1);
    assert_true(number(all, "Seq") > 0);
    const cJSON *two = args_of(trace, of_two, "my:all_reduce", strcmp(of_all, of_two) ? 0 : 1);
    assert_string_equal(text_of(two, "Process Group Name"), "pair");
    assert_string_equal(text_of(two, "Process Group Description"), "two of them");
    assert_string_equal(text_of(two, "Process Group Ranks"), "[1, 3]");
    assert_true(number(two, "Seq") > 0);
}

static void expect_messages(const cJSON *trace)
{
    const cJSON *sent = args_of(trace, "cpu_op", "send", 0);
    assert_int_equal(number(sent, "Dst Rank"), 2);
    assert_int_equal(number(sent, "tag"), 11);
    assert_int_equal(number(sent, "bytes"), 640);
    assert_null(cJSON_GetObjectItem(sent, "Seq"));
    assert_int_equal(number(args_of(trace, "cpu_op", "recv", 0), "Src Rank"), 0);
    const cJSON *any = args_of(trace, "cpu_op", "recv any", 0);
    assert_int_equal(number(any, "Src Rank"), 2);
    assert_int_equal(number(any, "tag"), 9);
    assert_int_equal(number(any, "bytes"), 16);
    assert_int_equal(number(args_of(trace, "cpu_op", "recv any", 1), "tag"), 9);
}

/* Collectives of all ranks have an annotation that the plugin knows, of the same times; the others
 * are operators. */
static void the_plugin_s_dialect_has_what_it_can_place(void **state)
{
    (void)state;
    hb_profiler *prof = record_it(false);
    cJSON *trace = written(prof, 0);
    expect_sums(trace, "comm", "cpu_op");
    expect_messages(trace);
    const cJSON *around = find(trace, "cpu_op", "gloo:all_reduce", 0);
    const cJSON *within = find(trace, "comm", "my:all_reduce", 0);
    assert_non_null(around);
    assert_true(number(around, "ts") == number(within, "ts"));
    const cJSON *shape = cJSON_GetObjectItem(cJSON_GetObjectItem(around, "args"), "Input Dims");
    /* the plugin knows no size of a double */
    assert_int_equal(cJSON_GetArrayItem(cJSON_GetArrayItem(shape, 0), 0)->valueint, GRADIENTS * 8);
    assert_int_equal(number(cJSON_GetObjectItem(within, "args"), "External id"),
                     number(cJSON_GetObjectItem(around, "args"), "External id") + 1);
    assert_non_null(find(trace, "cpu_op", "gloo:all_reduce", 1)); /* the barrier */
    assert_null(find(trace, "cpu_op", "gloo:all_reduce", 2));
    assert_non_null(find(trace, "cpu_op", "my:all_to_all", 0));
    assert_non_null(find(trace, "cpu_op", "gloo:broadcast", 0));
    assert_null(find(trace, "comm", "gloo:broadcast", 0)); /* it is one itself */
    cJSON_Delete(trace);
    hb_profiler_destroy(prof);
}

static void kineto_s_dialect_has_operators(void **state)
{
    (void)state;
    hb_profiler *prof = record_it(true);
    cJSON *trace = written(prof, HB_DIALECT_KINETO);
    expect_sums(trace, "cpu_op", "cpu_op");
    expect_messages(trace);
    assert_non_null(find(trace, "user_annotation", "gloo:all_reduce", 0));
    assert_non_null(
        strstr(text_of(args_of(trace, "cpu_op", "my:all_reduce", 0), "Call stack"), "communicate"));
    cJSON_Delete(trace);
    hb_profiler_destroy(prof);
}

static void external_ids_are_all_different(void **state)
{
    (void)state;
    hb_profiler *prof = record_it(false);
    cJSON *trace = written(prof, 0);
    double seen[100];
    int count = 0;
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        double id = number(cJSON_GetObjectItem(event, "args"), "External id");
        if (id < 0 || strcmp(text_of(event, "ph"), "X") != 0) continue;
        for (int i = 0; i < count; i++)
            assert_true(seen[i] != id);
        assert_true(count < 100);
        seen[count++] = id;
    }
    assert_int_equal(count, 14);
    cJSON_Delete(trace);
    hb_profiler_destroy(prof);
}

/* One of each type of elements, and what has none or is of one side only. */
static void each_type_has_torch_s_name_and_its_size(void **state)
{
    static const struct {
        hb_dtype type;
        const char *name;
        int64_t in, out, bytes;
        const char *plugin; /* of the types whose sizes it knows, and how many of these go in */
        int of_it;
    } rows[] = {
        {HB_NONE, "Byte", 3, 5, 5, "unsigned char", 3},
        {HB_FLOAT32, "Float", 3, 5, 20, "float", 3},
        {HB_FLOAT64, "Double", 5, 3, 40, "unsigned char", 40},
        {HB_FLOAT16, "Half", 3, 5, 10, "c10::Half", 3},
        {HB_BFLOAT16, "BFloat16", 3, 5, 10, "c10::BFloat16", 3},
        {HB_INT8, "Char", 3, 5, 5, "unsigned char", 3},
        {HB_UINT8, "Byte", 3, 5, 5, "unsigned char", 3},
        {HB_INT16, "Short", 3, 5, 10, "unsigned char", 6},
        {HB_INT32, "Int", 3, 5, 20, "int", 3},
        {HB_INT64, "Long", 3, 5, 40, "long int", 3},
        {HB_BOOL, "Bool", 3, 5, 5, "unsigned char", 3},
        {HB_COMPLEX64, "ComplexFloat", 3, 5, 40, "unsigned char", 24},
        {HB_COMPLEX128, "ComplexDouble", 3, 5, 80, "unsigned char", 48},
        {HB_FLOAT8_E4M3FN, "Float8_e4m3fn", 3, 5, 5, "unsigned char", 3},
        {HB_FLOAT8_E5M2, "Float8_e5m2", 3, 5, 5, "unsigned char", 3},
        {HB_FLOAT8_E4M3FNUZ, "Float8_e4m3fnuz", 3, 5, 5, "unsigned char", 3},
        {HB_FLOAT8_E5M2FNUZ, "Float8_e5m2fnuz", 3, 5, 5, "unsigned char", 3},
        {HB_FLOAT32, "Float", 6, -1, 24, "float", 6},
        {HB_FLOAT32, "Float", -1, 6, 24, "float", 0},
        {HB_FLOAT32, "", 0, 0, 0, "float", 0},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.spool_dir = "";
    o.distributed = (hb_distributed_info){.backend = "mpi", .rank = 1, .world_size = RANKS};
    hb_profiler *prof = hb_profiler_create(&o);
    assert_true(prof && hb_profiler_start(prof) == HB_OK);
    for (int i = 0; i < ROWS; i++) {
        hb_comm_info info = {.struct_size = sizeof info,
                             .group = HB_COMM_WORLD,
                             .type = rows[i].type,
                             .in = rows[i].in,
                             .out = rows[i].out,
                             .bytes = -1,
                             .source = -1,
                             .dest = -1,
                             .tag = HB_COMM_NO_TAG};
        hb_scope scope = hb_comm_begin("my:all_reduce", &info);
        hb_comm_end(&scope, i % 2 ? &info : NULL); /* which says the same, or nothing new */
    }
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    cJSON *trace = written(prof, HB_DIALECT_KINETO);
    double first = number(args_of(trace, "cpu_op", "my:all_reduce", 0), "Seq");
    for (int i = 0; i < ROWS; i++) {
        const cJSON *args = args_of(trace, "cpu_op", "my:all_reduce", i);
        assert_string_equal(text_of(args, "dtype"), rows[i].name);
        assert_true(number(args, "In msg nelems") == (double)rows[i].in);
        assert_true(number(args, "Out msg nelems") == (double)rows[i].out);
        assert_true(number(args, "bytes") == (double)rows[i].bytes);
        assert_true(number(args, "Seq") > 0); /* of the process */
        assert_true(number(args, "Seq") == first + i);
    }
    cJSON_Delete(trace);
    trace = written(prof, 0);
    for (int i = 0; i < ROWS; i++) {
        const cJSON *args = args_of(trace, "cpu_op", "gloo:all_reduce", i);
        const cJSON *dims = cJSON_GetObjectItem(args, "Input Dims")->child;
        const cJSON *type = cJSON_GetObjectItem(args, "Input type")->child;
        assert_string_equal(type->valuestring, rows[i].plugin);
        assert_int_equal(dims->child->valueint, rows[i].of_it);
        assert_true(!type->next && !dims->next && !dims->child->next);
    }
    cJSON_Delete(trace);
    hb_profiler_destroy(prof);
}

static void groups_run_out_without_being_mistaken(void **state)
{
    (void)state;
    static const int64_t one = 1;
    const hb_process_group group = {.name = "again", .ranks = &one, .num_ranks = 1};
    hb_comm_group last = HB_COMM_WORLD;
    for (int i = 0; i < 70000; i++) {
        last = hb_comm_group_make(&group);
        assert_true(last != HB_COMM_WORLD);
    }
    assert_true(last == HB_COMM_UNKNOWN);
    assert_true(hb_comm_group_make(NULL) == HB_COMM_UNKNOWN);
}

static bool reads_group(const char *text, int64_t size, const char *ranks)
{
    hb_comm_group_words words;
    if (!hb_comm_group_read((hb_str){text, text ? (uint32_t)strlen(text) : 0}, &words))
        return false;
    assert_int_equal(words.size, size);
    assert_int_equal(words.ranks.len, strlen(ranks));
    assert_memory_equal(words.ranks.s, ranks, words.ranks.len);
    return true;
}

/* Name, description, size and ranks; a text without a size is no group's. */
static void texts_of_groups_are_read_or_are_none(void **state)
{
    (void)state;
    assert_true(reads_group("a\tb\t2\t[1, 3]", 2, "[1, 3]"));
    assert_true(reads_group("\t\t1", 1, ""));
    assert_true(reads_group("a\tb\t00000000000000000000007\t[]", 7, "[]"));
    assert_false(reads_group("a\tb\t000000000000000000000007\t[]", 7, "[]"));
    assert_false(reads_group("a\tb\t\t[1]", 0, ""));
    assert_false(reads_group("a\tb\t0\t[1]", 0, ""));
    assert_false(reads_group("a\tb\tx\t[1]", 0, ""));
    assert_false(reads_group("a\tb", 0, ""));
    assert_false(reads_group("", 0, ""));
    assert_false(reads_group(NULL, 0, ""));
}

/* "name id b|e" of each end of an arrow, in the order of the cycle. */
static bool note_flow(const hb_event *e, void *text)
{
    char one[100];
    if (e->kind != HB_EVENT_FLOW) return true;
    snprintf(one, sizeof one, "%s %llu %c, ", e->name, (unsigned long long)e->flow_id,
             e->flow_phase == HB_FLOW_BEGIN ? 'b'
             : e->flow_phase == HB_FLOW_END ? 'e'
                                            : '?');
    strcat(text, one);
    return true;
}

/* Of several that go on behind their calls each has its arrow, by its own site's name, whether that
 * was used before or not. */
static void what_goes_on_behind_its_call_has_arrows(void **state)
{
    static hb_site used = {.name = "used"}, new = {.name = "new"};
    const hb_comm_pending pending[] = {
        {&used, 11}, {&new, 0}, {&new, 12}, {&used, 13}, {&used, 99}};
    char text[1000] = "";
    (void)state;
    hb_comm_start(pending, 4); /* no session */
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    hb_scope s = hb_comm_begin_site(&used, NULL);
    hb_comm_start(pending, 4);
    hb_comm_start(NULL, 4);
    hb_comm_start(pending, 0);
    hb_comm_end(&s, NULL);
    s = hb_record_function("wait");
    hb_comm_complete(pending + 2, 2);
    hb_comm_complete(pending, 1);
    hb_scope_end(&s);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    assert_int_equal(hb_profiler_events(prof, note_flow, text), HB_OK);
    assert_string_equal(text, "used 11 b, new 12 b, used 13 b, new 12 e, used 13 e, used 11 e, ");
    hb_profiler_destroy(prof);
}

static void without_a_profiler_nothing_happens(void **state)
{
    (void)state;
    communicate();
    receive_from_any();
    const hb_comm_info info = {.struct_size = sizeof info};
    hb_comm_end(NULL, NULL);
    hb_comm_end(NULL, &info);
    hb_scope none = {0};
    hb_comm_end(&none, NULL);
    hb_comm_end(&none, &info);
}

/* The plugin gives up where it finds collectives of two libraries. */
static void beside_rccl_others_have_no_annotation(void **state)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.spool_dir = "";
    o.distributed = (hb_distributed_info){.rank = 1, .world_size = RANKS};
    hb_profiler *prof = hb_profiler_create(&o);
    (void)state;
    assert_non_null(prof);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    assert_int_equal(hb_profiler_add_metadata_json(prof, "hipboard_rccl", "{}"), HB_OK);
    HB_COLLECTIVE("my:all_reduce", HB_COMM_WORLD, HB_FLOAT32, 7, 7) {}
    HB_COLLECTIVE("ncclAllReduce", HB_COMM_WORLD, HB_FLOAT32, 7, 7) {}
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    for (int kineto = 0; kineto < 2; kineto++) {
        cJSON *trace = written(prof, kineto ? HB_DIALECT_KINETO : 0);
        assert_null(find(trace, "cpu_op", "gloo:all_reduce", 0));
        assert_null(find(trace, "user_annotation", "gloo:all_reduce", 0));
        assert_non_null(find(trace, kineto ? "user_annotation" : "cpu_op", "nccl:all_reduce", 0));
        assert_non_null(find(trace, "cpu_op", "my:all_reduce", 0));
        assert_non_null(find(trace, kineto ? "cpu_op" : "comm",
                             kineto ? "record_param_comms" : "ncclAllReduce", 0));
        assert_string_equal(text_of(cJSON_GetObjectItem(trace, "distributedInfo"), "backend"),
                            "nccl");
        cJSON_Delete(trace);
    }
    hb_profiler_destroy(prof);
}

/* ---- clocks ---- */

static int64_t now_on(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void odd_clocks_are_refused(void **state)
{
    const hb_clock_point same[] = {{5, 0, 0}, {5, 0, 0}}, negative[] = {{5, 0, -1}};
    hb_clock_told told = {.struct_size = sizeof told};
    (void)state;
    assert_int_equal(hb_clock_tell(NULL), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_clock_tell(&told), HB_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(hb_last_error(), "0 points"));
    told.points = same;
    told.num_points = 2;
    assert_int_equal(hb_clock_tell(&told), HB_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(hb_last_error(), "point 1 is not later"));
    told.points = negative;
    told.num_points = 1;
    assert_int_equal(hb_clock_tell(&told), HB_ERROR_INVALID_ARGUMENT);
    assert_non_null(strstr(hb_last_error(), "bound_ns is -1"));
}

/* Tells that the reference's wall clock is `ahead_ns` ahead. */
static void tell_clock(int64_t ahead_ns, int64_t bound_ns)
{
    int64_t before = now_on(CLOCK_MONOTONIC), wall = now_on(CLOCK_REALTIME),
            after = now_on(CLOCK_MONOTONIC);
    const hb_clock_point points[] = {{before, -1000, bound_ns}, {after + 1, -1000, bound_ns}};
    const hb_clock_told told = {.struct_size = sizeof told,
                                .reference_rank = 3,
                                .wall_ns = wall - before + ahead_ns + 1000,
                                .wall_bound_ns = after - before,
                                .points = points,
                                .num_points = 2};
    assert_int_equal(hb_clock_tell(&told), HB_OK);
}

static void assert_clock(hb_profiler *prof, bool applied, int64_t ahead_ns)
{
    cJSON *trace = written(prof, 0);
    const cJSON *clock = cJSON_GetObjectItem(trace, "hipboard_clock");
    assert_string_equal(text_of(clock, "method"), "measured");
    assert_int_equal(number(clock, "reference_rank"), 3);
    assert_int_equal(cJSON_IsTrue(cJSON_GetObjectItem(clock, "applied")), applied);
    double found = number(clock, applied ? "offset_ns" : "found_ns");
    assert_true(fabs(found - (double)ahead_ns) <= number(clock, "bound_ns"));
    if (!applied) assert_true(number(clock, "offset_ns") == 0);
    cJSON_Delete(trace);
}

/* Of what is recorded and of what comes later; the last word counts. */
static void times_are_by_the_reference_s_clock(void **state)
{
    (void)state;
    hb_profiler *prof = record_it(false);
    cJSON *trace = written(prof, 0);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_clock"));
    cJSON_Delete(trace);
    hb_profiler_destroy(prof);
    tell_clock(-5000000000, 10);
    prof = record_it(false);
    assert_clock(prof, true, -5000000000);
    hb_profiler_destroy(prof);
    tell_clock(1000000, 10000000000); /* less than it may be wrong by */
    prof = record_it(false);
    assert_clock(prof, false, 1000000);
    hb_profiler_destroy(prof);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_goes_on_behind_its_call_has_arrows),
        IN_DIR(without_a_profiler_nothing_happens),
        IN_DIR(the_plugin_s_dialect_has_what_it_can_place),
        IN_DIR(kineto_s_dialect_has_operators),
        IN_DIR(external_ids_are_all_different),
        IN_DIR(each_type_has_torch_s_name_and_its_size),
        cmocka_unit_test(texts_of_groups_are_read_or_are_none),
        IN_DIR(groups_run_out_without_being_mistaken),
        cmocka_unit_test(beside_rccl_others_have_no_annotation),
        cmocka_unit_test(odd_clocks_are_refused),
        IN_DIR(times_are_by_the_reference_s_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
