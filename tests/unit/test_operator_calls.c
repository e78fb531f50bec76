/* SPDX-License-Identifier: MIT
 *
 * Calls of functions that a table names, through their trampolines: what is recorded of them, and
 * what is not. The functions are the test's own, and do nothing, or what they are told to.
 */
#include "operators/operator_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <hipboard/hipboard.h>

#include "operators/library_calls.h"
#include "ops/op_table.h"
#include "test_dir.h"
#include "written_trace.h"

/* ---- recording ---- */

static hb_profiler *prof;

/* Of the tables in a list, to which `lines` are added as one more; without a list no operators are
 * recorded. */
static void begin(const char *list, const char *lines)
{
    char table[300], all[400];
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    snprintf(table, sizeof table, "%s/own.ops", dir);
    FILE *file = fopen(table, "w");
    assert_non_null(file);
    fputs(lines, file);
    fclose(file);
    snprintf(all, sizeof all, "%s%s%s", list ? list : "", list && *list ? ":" : "", table);
    o.activities = HB_ACTIVITY_CPU;
    o.spool_dir = "";
    o.profile_memory = o.record_shapes = o.with_flops = true;
    o.operators = list ? all : NULL;
    prof = hb_profiler_create(&o);
    assert_non_null(prof);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
}

/* What was recorded, to be deleted. */
static cJSON *end(void)
{
    char path[300];
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    snprintf(path, sizeof path, "%s/operators.json", dir);
    assert_int_equal(hb_export_chrome_trace(prof, path, 0), HB_OK);
    hb_profiler_destroy(prof);
    return load_trace(path);
}

/* Instead of the function that the tables know by this name. */
static hb_operator *operator_of(const char *symbol, void (*real)(void))
{
    const hb_op_entry *row = hb_op_table_find(hb_operators_table(), symbol);
    assert_non_null(row);
    hb_operator *o = hb_operator_new(row, (void *)(uintptr_t)real);
    assert_non_null(o);
    return o;
}

#define OPERATOR(symbol, real)  operator_of(symbol, (void (*)(void))(real))
#define THROUGH(operator, real) ((__typeof__(&(real)))hb_trampoline_address((operator)->trampoline))

/* ---- reading ---- */

/* The n-th of them, or NULL. */
static const cJSON *event_of(const cJSON *trace, const char *name, int n)
{
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        if (strcmp(text_of(event, "name"), name) == 0 && n-- == 0) return event;
    }
    return NULL;
}

static int count_of(const cJSON *trace, const char *name)
{
    int n = 0;
    while (event_of(trace, name, n))
        n++;
    return n;
}

static const cJSON *args_of(const cJSON *trace, const char *name, int n)
{
    const cJSON *event = event_of(trace, name, n);
    if (!event) fail_msg("there is no %s %d", name, n);
    return cJSON_GetObjectItem(event, "args");
}

/* -1: it has none. */
static double number(const cJSON *args, const char *key)
{
    const cJSON *value = cJSON_GetObjectItem(args, key);
    return cJSON_IsNumber(value) ? value->valuedouble : -1;
}

/* ---- a library that communicates ---- */

enum { FLOAT = 7, DOUBLE = 8, INT = 2, RANKS = 4, RANK = 1 };

/* More are taken for a number that makes no sense. */
#define MOST_ELEMENTS ((size_t)1 << 48)

typedef struct unique_id {
    char bytes[128];
} unique_id;

static int result; /* what all calls return */
static uint64_t next_handle = 0x7000;

static int reduce(const void *send, void *to, size_t n, int type, int op, uint64_t comm,
                  void *stream)
{
    (void)send, (void)to, (void)n, (void)type, (void)op, (void)comm, (void)stream;
    return result;
}

static int gather(const void *send, void *to, size_t n, int type, uint64_t comm, void *stream)
{
    (void)send, (void)to, (void)n, (void)type, (void)comm, (void)stream;
    return result;
}

/* Of ncclSend and ncclRecv. */
static int pass(void *buffer, size_t n, int type, int peer, uint64_t comm, void *stream)
{
    (void)buffer, (void)n, (void)type, (void)peer, (void)comm, (void)stream;
    return result;
}

/* Of ncclGroupStart and ncclGroupEnd. */
static int group(void)
{
    return result;
}

static int init(uint64_t *made, int ranks, unique_id id, int rank)
{
    (void)ranks, (void)id, (void)rank;
    *made = next_handle += 64;
    return result;
}

static int init_all(uint64_t *made, int devices, const int *list)
{
    (void)list;
    for (int i = 0; i < devices; i++)
        made[i] = next_handle += 64;
    return result;
}

static int split(uint64_t comm, int color, int key, uint64_t *made, void *config)
{
    (void)comm, (void)color, (void)key, (void)config;
    *made = next_handle += 64;
    return result;
}

static int asynchronous_error;

static int ask_for_error(uint64_t comm, int *error)
{
    (void)comm;
    *error = asynchronous_error;
    return result;
}

static int destroy(uint64_t comm)
{
    (void)comm;
    return result;
}

static int comm_size(uint64_t comm, int *size)
{
    (void)comm;
    *size = RANKS;
    return 0;
}

static int comm_rank(uint64_t comm, int *rank)
{
    (void)comm;
    *rank = RANK;
    return 0;
}

static const char *error_text(int error)
{
    return error == 3 ? "internal error" : "another error";
}

static struct {
    __typeof__(&reduce) reduce;
    __typeof__(&gather) gather;
    __typeof__(&pass) send, receive;
    __typeof__(&group) begin, end;
    __typeof__(&init) init;
    __typeof__(&init_all) init_all;
    __typeof__(&split) split;
    __typeof__(&ask_for_error) ask_for_error;
    __typeof__(&destroy) destroy;
} nccl;

static hb_operator *communicating(const char *symbol, void (*real)(void))
{
    hb_operator *o = operator_of(symbol, real);
    assert_true(o->communicates);
    o->describers.comm_size = comm_size;
    o->describers.comm_rank = comm_rank;
    o->describers.comm_error = error_text;
    return o;
}

#define NCCL(symbol, real) THROUGH(communicating(symbol, (void (*)(void))(real)), real)

static void begin_communicating(void)
{
    begin("communication", "");
    result = asynchronous_error = 0;
    if (nccl.reduce) return;
    nccl.reduce = NCCL("ncclAllReduce", reduce);
    nccl.gather = NCCL("ncclAllGather", gather);
    nccl.send = NCCL("ncclSend", pass);
    nccl.receive = NCCL("ncclRecv", pass);
    nccl.begin = NCCL("ncclGroupStart", group);
    nccl.end = NCCL("ncclGroupEnd", group);
    nccl.init = NCCL("ncclCommInitRank", init);
    nccl.init_all = NCCL("ncclCommInitAll", init_all);
    nccl.split = NCCL("ncclCommSplit", split);
    nccl.ask_for_error = NCCL("ncclCommGetAsyncError", ask_for_error);
    nccl.destroy = NCCL("ncclCommDestroy", destroy);
}

static uint64_t communicator(unique_id id)
{
    uint64_t made = 0;
    assert_int_equal(nccl.init(&made, RANKS, id, RANK), result);
    return made;
}

static void reduce_some(size_t n, uint64_t comm)
{
    assert_int_equal(nccl.reduce(NULL, NULL, n, FLOAT, 0, comm, NULL), result);
}

static const char *group_of(const cJSON *trace, const char *name, int n)
{
    return text_of(args_of(trace, name, n), "Process Group Name");
}

/* Whoever was given the same id, all of it, is of the group. */
static void each_byte_of_an_id_tells_communicators_apart(void **state)
{
    enum { PLACES = sizeof(unique_id) };
    (void)state;
    begin_communicating();
    unique_id id = {{0}};
    memset(&id, 5, sizeof id);
    reduce_some(1, communicator(id));
    reduce_some(1, communicator(id));
    for (int i = 0; i < PLACES; i++) {
        unique_id other = id;
        other.bytes[i]++;
        reduce_some(1, communicator(other));
    }
    cJSON *trace = end();
    const char *first = group_of(trace, "ncclAllReduce", 0);
    assert_int_equal(strlen(first), 16);
    assert_string_equal(group_of(trace, "ncclAllReduce", 1), first);
    for (int i = 0; i < PLACES; i++)
        assert_string_not_equal(group_of(trace, "ncclAllReduce", 2 + i), first);
    assert_null(event_of(trace, "ncclAllReduce", 2 + PLACES));
    cJSON_Delete(trace);
}

static void expect(const cJSON *trace, const char *name, int n, double in, double out, double seq)
{
    const cJSON *args = args_of(trace, name, n);
    assert_true(number(args, "In msg nelems") == in);
    assert_true(number(args, "Out msg nelems") == out);
    assert_true(number(args, "Seq") == seq);
}

static void calls_are_counted_and_have_their_elements(void **state)
{
    (void)state;
    begin_communicating();
    uint64_t one = communicator((unique_id){"one"}), other = communicator((unique_id){"other"});
    reduce_some(7, one);
    nccl.gather(NULL, NULL, 10, INT, one, NULL);
    reduce_some(8, other);
    nccl.send(NULL, 3, INT, 2, one, NULL);
    nccl.receive(NULL, 5, INT, 3, one, NULL);
    reduce_some(9, one);
    nccl.receive(NULL, 5, INT, RANKS, one, NULL); /* there is no such rank */
    cJSON *trace = end();
    expect(trace, "ncclAllReduce", 0, 7, 7, 1);
    expect(trace, "ncclAllGather", 0, 10, 10 * RANKS, 2);
    expect(trace, "ncclAllReduce", 1, 8, 8, 1);
    expect(trace, "ncclAllReduce", 2, 9, 9, 3);
    assert_string_equal(text_of(args_of(trace, "ncclAllReduce", 0), "dtype"), "Float");
    assert_string_equal(text_of(args_of(trace, "ncclAllGather", 0), "dtype"), "Int");
    assert_true(number(args_of(trace, "ncclAllReduce", 0), "Group size") == RANKS);
    const cJSON *sent = args_of(trace, "ncclSend", 0), *got = args_of(trace, "ncclRecv", 0);
    assert_true(number(sent, "Dst Rank") == 2 && number(sent, "Src Rank") == -1);
    assert_true(number(got, "Src Rank") == 3 && number(got, "Dst Rank") == -1);
    assert_true(number(sent, "bytes") == 12 && number(got, "bytes") == 20);
    assert_true(number(sent, "Seq") == -1 && number(got, "Seq") == -1);
    assert_true(number(args_of(trace, "ncclRecv", 1), "Src Rank") == -1);
    assert_true(
        cJSON_IsTrue(cJSON_GetObjectItem(cJSON_GetObjectItem(trace, "hipboard_rccl"), "recorded")));
    cJSON_Delete(trace);
}

/* What is not the same of all its calls is not told. */
static void a_group_is_the_sum_of_its_calls(void **state)
{
    (void)state;
    begin_communicating();
    uint64_t one = communicator((unique_id){"one"}), other = communicator((unique_id){"other"});
    nccl.end(); /* of one that began before */
    nccl.begin();
    nccl.end();
    nccl.begin();
    reduce_some(7, one);
    nccl.end();
    nccl.begin();
    reduce_some(7, one);
    nccl.begin();
    nccl.gather(NULL, NULL, 10, FLOAT, one, NULL);
    nccl.end();
    nccl.send(NULL, 3, FLOAT, 2, one, NULL);
    nccl.end();
    nccl.begin(); /* of two types */
    reduce_some(2, one);
    nccl.gather(NULL, NULL, 2, INT, one, NULL);
    nccl.end();
    nccl.begin(); /* of two communicators */
    reduce_some(4, one);
    reduce_some(5, other);
    nccl.end();
    reduce_some(11, one);
    cJSON *trace = end();
    const char *name = "ncclGroupEnd", *of_one = group_of(trace, "ncclAllReduce", 0);
    expect(trace, "ncclAllReduce", 0, 7, 7, 1);
    int n = 0;
    while (number(args_of(trace, name, n), "bytes") < 0) /* nothing was in it */
        n++;
    assert_int_equal(n, 1);
    expect(trace, name, 1, 7 + 10 + 3, 7 + 10 * RANKS, 3);
    assert_string_equal(group_of(trace, name, 1), of_one);
    assert_true(number(args_of(trace, name, 1), "bytes") == 4 * (7 + 10 * RANKS + 3));
    assert_true(number(args_of(trace, name, 1), "Dst Rank") == -1);
    expect(trace, name, 2, -1, -1, 5);
    assert_true(number(args_of(trace, name, 2), "bytes") == 4 * (2 + 2 * RANKS));
    expect(trace, name, 3, 4 + 5, 4 + 5, -1);
    assert_string_equal(group_of(trace, name, 3), "");
    expect(trace, "ncclAllReduce", 1, 7, 7, 2);
    expect(trace, "ncclAllGather", 0, 10, 10 * RANKS, 3);
    expect(trace, "ncclAllReduce", 5, 11, 11, 7);
    assert_int_equal(count_of(trace, name), 4);
    assert_int_equal(count_of(trace, "ncclAllReduce"), 6);
    assert_int_equal(count_of(trace, "ncclSend"), 1);
    cJSON_Delete(trace);
}

static void of_a_huge_group_the_first_4096_calls_are_recorded(void **state)
{
    enum { MOST = 4096, OVER = 3 };
    (void)state;
    begin_communicating();
    uint64_t one = communicator((unique_id){"one"});
    for (int over = 0; over <= OVER; over += OVER) {
        nccl.begin();
        for (int i = 0; i < MOST + over; i++)
            reduce_some(1, one);
        nccl.end();
    }
    nccl.begin(); /* so many bytes that there is no number for them */
    for (int i = 0; i < MOST; i++)
        nccl.reduce(NULL, NULL, MOST_ELEMENTS, DOUBLE, 0, one, NULL);
    nccl.end();
    cJSON *trace = end();
    expect(trace, "ncclGroupEnd", 0, MOST, MOST, MOST);
    expect(trace, "ncclGroupEnd", 1, MOST, MOST, 2 * MOST);
    double elements = (double)MOST * (double)MOST_ELEMENTS;
    expect(trace, "ncclGroupEnd", 2, elements, elements, 3 * MOST + OVER);
    assert_true(number(args_of(trace, "ncclGroupEnd", 2), "bytes") == (double)INT64_MAX);
    assert_int_equal(count_of(trace, "ncclAllReduce"), 3 * MOST);
    const cJSON *lost = cJSON_GetObjectItem(trace, "hipboard_lost");
    assert_non_null(lost);
    assert_true(number(lost, "too_big") == OVER);
    cJSON_Delete(trace);
}

static void expect_error(const cJSON *trace, int n, const char *call, int error, const char *text,
                         const char *of_group, int collectives)
{
    const cJSON *args = args_of(trace, "rccl error", n);
    assert_string_equal(text_of(args, "call"), call);
    assert_true(number(args, "error") == error);
    assert_string_equal(text_of(args, "text"), text);
    assert_string_equal(text_of(args, "communicator"), of_group);
    assert_true(number(args, "collectives so far") == collectives);
}

/* Each communicator's once, until it has another one. */
static void errors_are_told(void **state)
{
    int error;
    (void)state;
    begin_communicating();
    uint64_t one = communicator((unique_id){"one"});
    reduce_some(7, one);
    for (int i = 0; i < 2; i++)
        nccl.ask_for_error(one, &error); /* there is none */
    for (asynchronous_error = 7; asynchronous_error > 1; asynchronous_error -= 2)
        for (int i = 0; i < 2; i++) /* in progress: none; 5; 3 */
            nccl.ask_for_error(one, &error);
    asynchronous_error = 4;
    result = 1; /* what is written then is nobody's word */
    nccl.ask_for_error(one, &error);
    reduce_some(1, one); /* told already */
    result = 2;
    nccl.destroy(one); /* no more is known of it */
    nccl.end();
    result = 7;
    reduce_some(1, one);
    cJSON *trace = end();
    const char *name = group_of(trace, "ncclAllReduce", 0);
    expect_error(trace, 0, "ncclCommGetAsyncError", 5, "another error", name, 1);
    expect_error(trace, 1, "ncclCommGetAsyncError", 3, "internal error", name, 1);
    expect_error(trace, 2, "ncclCommGetAsyncError", 1, "another error", name, 1);
    expect_error(trace, 3, "ncclCommDestroy", 2, "another error", "", 0);
    expect_error(trace, 4, "ncclGroupEnd", 2, "another error", "", 0);
    assert_int_equal(count_of(trace, "rccl error"), 5);
    assert_string_equal(text_of(event_of(trace, "rccl error", 0), "cat"), "rccl");
    cJSON_Delete(trace);
}

/* All that one call makes in this process are one group; parts of a communicator are of their
 * parent, its number and the color. */
static void communicators_are_made_in_three_ways(void **state)
{
    enum { DEVICES = 3 };
    uint64_t all[DEVICES], again[DEVICES], parts[4], failed = 0;
    (void)state;
    begin_communicating();
    uint64_t one = communicator((unique_id){"one"});
    assert_int_equal(nccl.init_all(all, DEVICES, NULL), 0);
    assert_int_equal(nccl.init_all(again, DEVICES, NULL), 0);
    nccl.split(one, 6, 0, &parts[0], NULL);
    nccl.split(one, 6, 0, &parts[1], NULL);
    nccl.split(all[0], 6, 0, &parts[2], NULL);
    nccl.split(all[1], 6, 0, &parts[3], NULL); /* another member of the same group */
    result = 3;
    nccl.init(&failed, RANKS, (unique_id){"failed"}, RANK);
    result = 0;
    for (int i = 0; i < DEVICES; i++)
        reduce_some(1, all[i]);
    reduce_some(1, again[0]);
    for (int i = 0; i < 4; i++)
        reduce_some(1, parts[i]);
    reduce_some(1, failed);
    cJSON *trace = end();
    const char *names[9], *reduce_name = "ncclAllReduce";
    for (int i = 0; i < 9; i++)
        names[i] = group_of(trace, reduce_name, i);
    assert_string_equal(names[1], names[0]);
    assert_string_equal(names[2], names[0]);
    assert_string_not_equal(names[3], names[0]);
    assert_string_not_equal(names[4], names[5]);
    assert_string_not_equal(names[4], names[6]);
    assert_string_equal(names[6], names[7]);
    assert_string_equal(names[8], ""); /* which nobody else can know */
    const char *key = "Process Group Description";
    const char *first = text_of(args_of(trace, reduce_name, 4), key);
    assert_non_null(strstr(first, "/split#1"));
    assert_non_null(strstr(text_of(args_of(trace, reduce_name, 5), key), "/split#2"));
    assert_int_equal(strncmp(first, "rccl#", 5), 0);
    cJSON_Delete(trace);
}

/* A call that comes while nothing is recorded is a number of its communicator all the same. */
static void calls_outside_of_sessions_are_counted_and_not_recorded(void **state)
{
    (void)state;
    begin_communicating();
    uint64_t one = communicator((unique_id){"one"});
    reduce_some(1, one);
    cJSON *trace = end();
    expect(trace, "ncclAllReduce", 0, 1, 1, 1);
    cJSON_Delete(trace);
    reduce_some(2, one);
    begin(NULL, ""); /* one that wants no operators */
    reduce_some(3, one);
    trace = end();
    assert_null(event_of(trace, "ncclAllReduce", 0));
    assert_null(cJSON_GetObjectItem(trace, "hipboard_rccl"));
    cJSON_Delete(trace);
    begin_communicating();
    reduce_some(4, one);
    trace = end();
    expect(trace, "ncclAllReduce", 0, 4, 4, 4);
    assert_non_null(cJSON_GetObjectItem(trace, "hipboard_rccl")); /* in each cycle */
    cJSON_Delete(trace);
}

/* A later profiler's tables are read with those before, so all stay to the end. */
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_byte_of_an_id_tells_communicators_apart),
        cmocka_unit_test(calls_are_counted_and_have_their_elements),
        cmocka_unit_test(a_group_is_the_sum_of_its_calls),
        cmocka_unit_test(of_a_huge_group_the_first_4096_calls_are_recorded),
        cmocka_unit_test(errors_are_told),
        cmocka_unit_test(communicators_are_made_in_three_ways),
        cmocka_unit_test(calls_outside_of_sessions_are_counted_and_not_recorded),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
