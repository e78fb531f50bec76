/* SPDX-License-Identifier: MIT
 *
 * Calls of functions that a table names, through their trampolines: what is recorded of them, and
 * what is not. The functions are the test's own, and do nothing, or what they are told to.
 */
#include "operators/operator_calls.h"

#include <fcntl.h>
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
#include "said.h"
#include "test_dir.h"
#include "written_trace.h"

/* ---- recording ---- */

static hb_profiler *prof;

/* Of the tables in a list, and of `lines`, which become one more; without both no operators are
 * recorded. */
static void begin(const char *list, const char *lines)
{
    static int tables;
    char table[300] = "", all[400];
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    if (*lines) {
        snprintf(table, sizeof table, "%s/%d.ops", dir, ++tables);
        FILE *file = fopen(table, "w");
        assert_non_null(file);
        fputs(lines, file);
        fclose(file);
    }
    snprintf(all, sizeof all, "%s%s%s", list, *list && *lines ? ":" : "", table);
    o.activities = HB_ACTIVITY_CPU;
    o.spool_dir = "";
    o.profile_memory = o.record_shapes = o.with_flops = true;
    o.operators = *all ? all : NULL;
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
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        n += strcmp(text_of(event, "name"), name) == 0;
    }
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
    nccl.send(NULL, 3, INT, 0, one, NULL);
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
    assert_true(number(args_of(trace, "ncclSend", 1), "Dst Rank") == 0);
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
    nccl.receive(NULL, 6, FLOAT, 2, one, NULL);
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
    expect(trace, name, 1, 7 + 10 + 3, 7 + 10 * RANKS + 6, 3);
    assert_string_equal(group_of(trace, name, 1), of_one);
    assert_true(number(args_of(trace, name, 1), "bytes") == 4 * (7 + 10 * RANKS + 3 + 6));
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
    assert_int_equal(count_of(trace, "ncclRecv"), 1);
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
    begin("", ""); /* one that wants no operators */
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

/* As a profiling library tells of one, in place of a trampoline. */
static void report_reduction(hb_operator *o, size_t n, uint64_t comm)
{
    uint64_t stack[2] = {(uint64_t)(uintptr_t)&report_reduction, 0};
    hb_call call = {.words = {0, 0, n, FLOAT, 0, comm}, .stack = &stack[1]};
    hb_scope scope = hb_operator_reported_begin(o, &call);
    hb_operator_reported_end(o, &call, &scope);
}

static void reported_calls_are_recorded_where_operators_are_wanted(void **state)
{
    (void)state;
    begin_communicating();
    hb_operator *o = communicating("ncclAllReduce", (void (*)(void))reduce);
    uint64_t one = communicator((unique_id){"one"});
    report_reduction(o, 5, one);
    cJSON *trace = end();
    expect(trace, "ncclAllReduce", 0, 5, 5, 1);
    assert_int_equal(count_of(trace, "ncclAllReduce"), 1);
    cJSON_Delete(trace);
    report_reduction(o, 6, one);
    begin("", "");
    report_reduction(o, 7, one);
    trace = end();
    assert_int_equal(count_of(trace, "ncclAllReduce"), 0);
    cJSON_Delete(trace);
    begin_communicating();
    report_reduction(o, 8, one);
    trace = end();
    expect(trace, "ncclAllReduce", 0, 8, 8, 4);
    cJSON_Delete(trace);
}

/* ---- allocators ---- */

static const char allocators[] =
    "allocate_on | device:i bytes | | bytes | kind=memory device=device\n"
    "allocate_to | to bytes       | | bytes | kind=memory make=to device=3\n"
    "move_to     | at bytes       | | bytes | kind=memory make=ret forget=at\n"
    "give_back   | at             | |       | kind=memory forget=at\n";

static char *at_hand; /* what allocators return */

static void *allocate_on(int device, size_t bytes)
{
    (void)device, (void)bytes;
    return at_hand;
}

/* As hipError_t is returned: of the register the lower half counts. */
static uint64_t allocate_to(void **to, size_t bytes)
{
    (void)bytes;
    if (to) *to = at_hand;
    return UINT64_C(0x700000000) | (uint32_t)result;
}

static void *move_to(void *at, size_t bytes)
{
    (void)at, (void)bytes;
    return at_hand;
}

static void give_back(void *at)
{
    (void)at;
}

static void has_memory(const cJSON *trace, const char *name, int n, double bytes, int type,
                       int device)
{
    const cJSON *args = args_of(trace, name, n);
    assert_true(number(args, "Bytes") == bytes);
    assert_true(number(args, "Device Type") == type);
    assert_int_equal(cJSON_GetObjectItem(args, "Device Id")->valueint, device);
}

/* A negative device is none; what failed is told as such, and frees nothing. */
static void memory_is_of_the_device_that_its_allocator_names(void **state)
{
    enum { CPU = 0, GPU = 1 };
    static char memory[8];
    void *to;
    (void)state;
    begin("", allocators);
    __typeof__(&allocate_on) on = THROUGH(OPERATOR("allocate_on", allocate_on), allocate_on);
    __typeof__(&allocate_to) out = THROUGH(OPERATOR("allocate_to", allocate_to), allocate_to);
    __typeof__(&move_to) move = THROUGH(OPERATOR("move_to", move_to), move_to);
    __typeof__(&give_back) release = THROUGH(OPERATOR("give_back", give_back), give_back);
    for (int device = -1; device < 3; device++) {
        at_hand = &memory[device + 1];
        assert_ptr_equal(on(device, (size_t)(100 + device)), at_hand);
    }
    at_hand = &memory[4];
    result = 0;
    assert_int_equal(out(&to, 50), UINT64_C(0x700000000));
    assert_ptr_equal(to, at_hand);
    (void)out(NULL, 51);
    result = 2;
    (void)out(&to, 52);
    result = 0;
    on(1, 0);               /* nothing */
    on(1, (size_t)1 << 62); /* what nobody has: no number at all */
    release(NULL);
    release(&memory[5]); /* nobody told of it */
    at_hand = &memory[6];
    assert_ptr_equal(move(&memory[0], 20), at_hand);
    at_hand = NULL;
    assert_null(move(&memory[6], 30)); /* it stays where it is */
    release(&memory[2]);
    release(&memory[6]);
    release(&memory[6]);
    cJSON *trace = end();
    const char *seen = "[memory]", *failed = "[OutOfMemory]";
    has_memory(trace, seen, 0, 99, CPU, -1);
    has_memory(trace, seen, 1, 100, GPU, 0);
    has_memory(trace, seen, 2, 101, GPU, 1);
    has_memory(trace, seen, 3, 102, GPU, 2);
    has_memory(trace, seen, 4, 50, GPU, 3);
    has_memory(trace, seen, 5, -99, CPU, -1);
    has_memory(trace, seen, 6, 20, CPU, -1);
    has_memory(trace, seen, 7, -101, GPU, 1);
    has_memory(trace, seen, 8, -20, CPU, -1);
    assert_int_equal(count_of(trace, seen), 9);
    has_memory(trace, failed, 0, 51, GPU, 3);
    has_memory(trace, failed, 1, 52, GPU, 3);
    has_memory(trace, failed, 2, 30, CPU, -1);
    assert_int_equal(count_of(trace, failed), 3);
    cJSON_Delete(trace);
}

/* ---- operators ---- */

static int (*deeper)(int), (*deeper_still)(int);

static int first(int n)
{
    return n ? deeper_still(n - 1) : 0;
}

static int second(int n)
{
    return n ? deeper(n - 1) : 0;
}

/* And all of them are over when they have returned. */
static void of_calls_within_each_other_32_are_shown(void **state)
{
    enum { MOST = 32 };
    (void)state;
    begin("", "first | n:i\nsecond | n:i\n");
    deeper = THROUGH(OPERATOR("first", first), first);
    deeper_still = THROUGH(OPERATOR("second", second), second);
    (void)deeper(MOST + 8);
    (void)deeper(MOST - 2);
    cJSON *trace = end();
    assert_int_equal(count_of(trace, "first"), MOST / 2 + MOST / 2);
    assert_int_equal(count_of(trace, "second"), MOST / 2 + MOST / 2 - 1);
    const cJSON *inner = event_of(trace, "second", MOST / 2 - 1);
    const cJSON *outer = event_of(trace, "first", MOST / 2);
    assert_true(number(inner, "ts") + number(inner, "dur") <= number(outer, "ts"));
    cJSON_Delete(trace);
}

static int around(int n)
{
    return deeper(n);
}

static void nothing_within_a_call_that_stands_alone_is_shown(void **state)
{
    (void)state;
    begin("", "first | n:i\naround | n:i | | | alone\nhidden | n:i | | | kind=silent\n");
    deeper = THROUGH(OPERATOR("first", first), first);
    (void)THROUGH(OPERATOR("around", around), around)(0);
    (void)THROUGH(OPERATOR("hidden", around), around)(0);
    cJSON *trace = end();
    assert_int_equal(count_of(trace, "around"), 1);
    assert_int_equal(count_of(trace, "first"), 1);
    assert_int_equal(count_of(trace, "hidden"), 0);
    cJSON_Delete(trace);
}

/* A step within another one is a function like any, and the next one is a step again. */
static void steps_within_steps_are_none(void **state)
{
    (void)state;
    begin("", "around | n:i | | | kind=step\nfirst | n:i | | | kind=step\n");
    deeper = THROUGH(OPERATOR("first", first), first);
    __typeof__(&around) step = THROUGH(OPERATOR("around", around), around);
    for (int i = 0; i < 2; i++)
        (void)step(0);
    (void)deeper(0);
    cJSON *trace = end();
    for (int i = 0; i < 4; i++) {
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%d", i);
        assert_true(!event_of(trace, name, 0) == (i == 3));
    }
    assert_int_equal(count_of(trace, "first"), 2);
    assert_int_equal(count_of(trace, "around"), 0);
    cJSON_Delete(trace);
}

static int make_plan(int n, uint64_t *plan)
{
    (void)n;
    if (plan) *plan = 0x4000;
    return 0;
}

/* Of both ways to tell of what one is of. */
static int use_plan(uint64_t plan)
{
    (void)plan;
    return 0;
}

static int set_plan(uint64_t plan, int n)
{
    (void)plan, (void)n;
    return 0;
}

static double flops_of(const cJSON *trace, const char *name, int n)
{
    return number(args_of(trace, name, n), "flops");
}

static void plans_are_remembered_until_they_are_forgotten(void **state)
{
    uint64_t plan;
    (void)state;
    begin("", "make_plan | n:i to | f32[n] | 10*n | make=to\nset_plan | plan n:i | f32[n] | 20*n | "
              "made=plan\n"
              "use_plan | plan | | | use=plan\ndrop_plan | plan | | | forget=plan\n");
    __typeof__(&make_plan) make = THROUGH(OPERATOR("make_plan", make_plan), make_plan);
    __typeof__(&set_plan) set = THROUGH(OPERATOR("set_plan", set_plan), set_plan);
    __typeof__(&use_plan) use = THROUGH(OPERATOR("use_plan", use_plan), use_plan);
    __typeof__(&use_plan) forget = THROUGH(OPERATOR("drop_plan", use_plan), use_plan);
    use(0x4000);
    make(3, &plan);
    make(9, NULL); /* nobody can know which one that is */
    use(plan);
    set(plan, 5);
    use(plan);
    set(0x5000, 7);
    use(plan);
    use(0x5000);
    forget(plan);
    use(plan);
    use(0x5000);
    cJSON *trace = end();
    static const double flops[] = {-1, 30, 100, 100, 140, -1, 140};
    for (int i = 0; i < (int)HB_ARRAY_LEN(flops); i++)
        assert_true(flops_of(trace, "use_plan", i) == flops[i]);
    assert_true(flops_of(trace, "make_plan", 0) == -1 && flops_of(trace, "set_plan", 0) == -1);
    cJSON_Delete(trace);
}

/* ---- oneDNN ---- */

static int dnnl_kind, dnnl_fails;

static int primitive_desc(uint64_t primitive, const void **desc)
{
    (void)primitive;
    *desc = &dnnl_kind;
    return dnnl_fails;
}

static int query(const void *desc, int what, int index, void *to)
{
    (void)desc, (void)what, (void)index;
    memcpy(to, &dnnl_kind, sizeof dnnl_kind);
    return 0;
}

static int execute(uint64_t primitive, uint64_t stream, int n, const void *args)
{
    (void)primitive, (void)stream, (void)n, (void)args;
    return 0;
}

static void primitives_have_their_kinds_names_or_the_functions(void **state)
{
    (void)state;
    begin("libraries", "");
    hb_operator *o = OPERATOR("dnnl_primitive_execute", execute);
    o->describers = (hb_describers){.primitive_desc = primitive_desc, .query = query};
    __typeof__(&execute) run = THROUGH(o, execute);
    for (dnnl_fails = 0; dnnl_fails < 2; dnnl_fails++)
        for (int i = 0; i < 2; i++)
            for (dnnl_kind = 4; dnnl_kind < 7; dnnl_kind++)
                run(7, 0, 0, NULL);
    cJSON *trace = end();
    assert_int_equal(count_of(trace, "dnnl_sum"), 2);
    assert_int_equal(count_of(trace, "dnnl_convolution"), 2);
    assert_int_equal(count_of(trace, "dnnl_deconvolution"), 2);
    assert_int_equal(count_of(trace, "dnnl_primitive_execute"), 6);
    cJSON_Delete(trace);
}

/* ---- ranges that libraries tell of their calls in ---- */

/* Which calls: their work counts once, and deep ones are not shown, but end. */
static void of_told_calls_the_outer_ones_count(void **state)
{
    enum { DEEP = 20, SHOWN = 16 };
    double flops;
    (void)state;
    begin("libraries", "");
    static const struct {
        double flops, counted;
    } rows[] = {{0, 0}, {5, 5}, {6, 0}, {0, 0}, {7, 0}};
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
            flops = rows[i].flops;
            assert_non_null(hb_operator_told_begin(HB_STR("f"), &flops));
            assert_true(flops == rows[i].counted);
        }
        for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++)
            hb_operator_told_end();
        hb_operator_told_end(); /* of none */
    }
    for (int i = 0; i < DEEP; i++)
        assert_true(hb_call_range_push("rocblas_set_stream,0x7f"));
    for (int i = 0; i < DEEP; i++)
        hb_call_range_pop();
    assert_true(hb_call_range_push("rocblas_get_stream,0x7f"));
    hb_call_range_pop();
    assert_false(hb_call_range_push("epoch"));
    assert_false(hb_call_range_push(NULL));
    cJSON *trace = end();
    assert_int_equal(count_of(trace, "rocblas_set_stream"), SHOWN);
    const cJSON *last = event_of(trace, "rocblas_get_stream", 0);
    const cJSON *before = event_of(trace, "rocblas_set_stream", 0);
    assert_true(number(before, "ts") + number(before, "dur") <= number(last, "ts"));
    assert_null(event_of(trace, "epoch", 0));
    cJSON_Delete(trace);
}

static int told_within(int n)
{
    double flops = 3;
    assert_null(hb_operator_told_begin(HB_STR("told_within"), &flops)); /* it is shown already */
    assert_true(flops == 0);
    hb_operator_told_end();
    flops = 3;
    bool shown = hb_operator_told_begin(HB_STR("another"), &flops) != NULL;
    assert_true(shown == (n < 10));
    assert_true(flops == (n == 0 ? 3 : 0)); /* else they are within what the call has */
    hb_operator_told_end();
    return n;
}

static void a_call_that_is_shown_is_not_told_again(void **state)
{
    (void)state;
    begin("", "told_within | n:i | f32[n] | n\n");
    __typeof__(&told_within) call = THROUGH(OPERATOR("told_within", told_within), told_within);
    assert_int_equal(call(0), 0);
    assert_int_equal(call(4), 4);
    cJSON *trace = end();
    assert_int_equal(count_of(trace, "told_within"), 2);
    cJSON_Delete(trace);
}

/* ---- several tables, one after another ---- */

/* By what the library that reads JSON imports, which is how functions are met. */
static void what_was_met_by_one_table_is_met_when_another_comes(void **state)
{
    (void)state;
    begin("", "strtod | at to |\n");
    cJSON_Delete(cJSON_Parse("1.5"));
    cJSON *trace = end();
    assert_int_equal(count_of(trace, "strtod"), 1);
    cJSON_Delete(trace);
    begin("", "strncmp | a b n |\nno_such_function |\n");
    cJSON_Delete(cJSON_Parse("true"));
    trace = end();
    assert_true(count_of(trace, "strncmp") > 0);
    const cJSON *note, *notes = cJSON_GetObjectItem(trace, "hipboard_operator_notes");
    int unmet = 0;
    cJSON_ArrayForEach(note, notes)
    {
        assert_int_not_equal(strncmp(note->valuestring, "strtod ", 7), 0);
        assert_int_not_equal(strncmp(note->valuestring, "strncmp ", 8), 0);
        unmet += strncmp(note->valuestring, "no_such_function ", 17) == 0;
    }
    assert_int_equal(unmet, 1);
    cJSON_Delete(trace);
}

/* Whatever else is asked for between: each wrong line is told of when its table comes, and then
 * when others come with which it is read again. */
static void a_list_that_is_there_is_not_read_again(void **state)
{
    char first_table[300], second_table[300];
    (void)state;
    snprintf(first_table, sizeof first_table, "%s/wrong.ops", dir);
    snprintf(second_table, sizeof second_table, "%s/wrong.ops.2", dir);
    const char *tables[] = {second_table, first_table, second_table, first_table};
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(tables[i], "w");
        assert_non_null(file);
        fputs("f | n:q\n", file);
        fclose(file);
    }
    static const int told[] = {1, 2, 0, 0};
    for (int i = 0; i < 4; i++) {
        said_text s;
        said_begin(&s);
        hb_result attached = hb_operators_attach(tables[i]);
        const char *text = said_end(&s);
        assert_int_equal(attached, HB_OK);
        int lines = 0;
        for (const char *at = text; (at = strstr(at, "wrong.ops")); at++)
            lines++;
        assert_int_equal(lines, told[i]);
    }
}

/* What they said holds on, and what is asked for anew is all that has to be there. */
static void tables_of_before_may_be_gone(void **state)
{
    char paths[2][300], list[400];
    (void)state;
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/passing.ops.%d", dir, i);
        FILE *file = fopen(paths[i], "w");
        assert_non_null(file);
        fprintf(file, "passing_%d | n:i\n", i);
        fclose(file);
        assert_int_equal(hb_operators_attach(paths[i]), HB_OK);
        assert_int_equal(unlink(paths[i]), 0);
    }
    assert_non_null(hb_op_table_find(hb_operators_table(), "passing_0"));
    assert_non_null(hb_op_table_find(hb_operators_table(), "passing_1"));
    snprintf(list, sizeof list, "%s:libraries", paths[1]);
    assert_int_equal(hb_operators_attach(list), HB_ERROR_IO);
    assert_int_equal(hb_operators_attach(paths[1]), HB_OK); /* as it is */
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
        cmocka_unit_test(reported_calls_are_recorded_where_operators_are_wanted),
        cmocka_unit_test(memory_is_of_the_device_that_its_allocator_names),
        cmocka_unit_test(of_calls_within_each_other_32_are_shown),
        cmocka_unit_test(nothing_within_a_call_that_stands_alone_is_shown),
        cmocka_unit_test(steps_within_steps_are_none),
        cmocka_unit_test(plans_are_remembered_until_they_are_forgotten),
        cmocka_unit_test(primitives_have_their_kinds_names_or_the_functions),
        cmocka_unit_test(of_told_calls_the_outer_ones_count),
        cmocka_unit_test(a_call_that_is_shown_is_not_told_again),
        cmocka_unit_test(what_was_met_by_one_table_is_met_when_another_comes),
        cmocka_unit_test(a_list_that_is_there_is_not_read_again),
        cmocka_unit_test(tables_of_before_may_be_gone),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
