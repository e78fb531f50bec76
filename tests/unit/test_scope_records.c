/* SPDX-License-Identifier: MIT
 *
 * What each way to begin a scope puts into its record, by what the session asks for and what the
 * program tells.
 */
#include <hipboard/comm.h>
#include <math.h>

#include "forks_with_threads.h"
#include "program.h"
#include "record/strings.h"
#include "still_spool.h"

static hb_spool *spool;
static hb_session *session;

static int open_spool(void **state)
{
    (void)state;
    spool = still_spool(NULL, 16 << 20);
    return 0;
}

static int close_spool(void **state)
{
    (void)state;
    if (session) end_in_spool(spool, session);
    session = NULL;
    close_test_spool(spool);
    return 0;
}

#define IN_SPOOL(name) cmocka_unit_test_setup_teardown(name, open_spool, close_spool)

static void begin(uint32_t flags)
{
    if (session) end_in_spool(spool, session);
    session = begin_in(spool, flags);
}

/* Of a scope that ends with it; NULL when nothing was recorded. */
static const hb_record *record_of(hb_scope scope)
{
    const hb_record *r = scope.record;
    hb_scope_end(&scope);
    return r;
}

static uint64_t word(const hb_record *r, int i)
{
    return ((const uint64_t *)(const void *)(r + 1))[i];
}

static void assert_record(const hb_record *r, enum hb_record_type type, unsigned flags, size_t more)
{
    assert_non_null(r);
    assert_int_equal(r->type, type);
    assert_int_equal(r->flags, flags);
    assert_int_equal(r->units, 3 + more);
    assert_true(r->start > 0);
}

/* ---- each way ---- */

static hb_site site = {"at a site", 0, 0}, op_site = {"op at a site", 0, 0},
               scope_site = {"scope at a site", 0, 0}, comm_site = {"comm at a site", 0, 0};

enum { WAYS = 9, COMMS = 2 };

static hb_scope begin_in_way(int way)
{
    static const hb_scope_info info = {.struct_size = sizeof info};
    switch (way) {
    case 0: return hb_record_function("function");
    case 1: return hb_record_function_site(&site);
    case 2: return hb_scope_begin("scope", &info);
    case 3: return hb_scope_begin("scope", NULL);
    case 4: return hb_scope_begin_site(&scope_site, &info);
    case 5: return hb_op("op", NULL);
    case 6: return hb_op_site(&op_site, NULL);
    case 7: return hb_comm_begin("comm", NULL);
    case 8: return hb_comm_begin_site(&comm_site, NULL);
    default: return (hb_scope){0};
    }
}

static const char *const names[WAYS] = {"function",        "at a site", "scope",        "scope",
                                        "scope at a site", "op",        "op at a site", "comm",
                                        "comm at a site"};

/* From the frame of who called it on. */
static void assert_has_stack(const hb_record *r)
{
    assert_true(r->flags & HB_RECORD_STACK);
    assert_in_range(word(r, 0), 1, 64);
    assert_in_range(r->units, 3 + 1 + word(r, 0), UINT16_MAX);
}

static void each_way_has_its_name_kind_and_stack(void **state)
{
    (void)state;
    for (int stacks = 0; stacks < 2; stacks++) {
        begin(stacks ? HB_SESSION_STACK : 0);
        for (int i = 0; i < 2 * WAYS; i++) { /* each twice: then it is known */
            int way = i / 2;
            const hb_record *r = record_of(begin_in_way(way));
            hb_str name = hb_strings_get(r->name);
            assert_int_equal(name.len, strlen(names[way]));
            assert_memory_equal(name.s, names[way], name.len);
            assert_int_equal(r->type, way < 5 ? HB_RECORD_ANNOTATION : HB_RECORD_OP);
            assert_int_equal(!(r->flags & HB_RECORD_COMM), way < WAYS - COMMS);
            if (stacks)
                assert_has_stack(r);
            else
                assert_record(r, (enum hb_record_type)r->type,
                              way < WAYS - COMMS ? 0 : HB_RECORD_COMM,
                              way < WAYS - COMMS ? 0 : sizeof(hb_record_comm) / 8);
        }
        hb_range_push("range");
        const hb_record *range = hb_thread_tls->open[0].record;
        hb_range_pop();
        assert_int_equal(!!(range->flags & HB_RECORD_STACK), stacks);
        const hb_record *own = record_of(hb_record_annotation(hb_strings_intern("own", 3)));
        assert_record(own, HB_RECORD_ANNOTATION, 0, 0); /* the library's, which nobody called */
    }
    assert_true(site.id && op_site.id && scope_site.id && comm_site.id);
    assert_int_equal(site.id, hb_strings_intern("at a site", 9));
}

static void without_a_session_no_way_records(void **state)
{
    (void)state;
    begin(0);
    assert_null(hb_record_function_site(NULL).record);
    assert_null(hb_op_site(NULL, NULL).record);
    assert_null(hb_scope_begin_site(NULL, NULL).record);
    assert_null(hb_comm_begin_site(NULL, NULL).record);
    assert_int_equal(hb_thread_self()->depth, 0);
    hb_session_stop(session);
    for (int way = 0; way < WAYS; way++)
        assert_null(begin_in_way(way).record);
    hb_range_push("range");
    hb_range_pop();
    assert_int_equal(hb_thread_self()->depth, 0);
}

/* As of a signal handler, which has interrupted one. */
static void within_a_call_no_way_records(void **state)
{
    (void)state;
    hb_module module = hb_module_create("Within");
    begin(HB_SESSION_MODULES);
    for (int way = 0; way < WAYS; way++)
        (void)record_of(begin_in_way(way)); /* new names take calls of their own */
    hb_thread *t = hb_record_enter_at(HB_FRAME);
    for (int way = 0; way < WAYS; way++)
        assert_null(begin_in_way(way).record);
    assert_null(hb_module_call(module).record);
    assert_null(hb_record_annotation(1).record);
    hb_range_push("function");
    hb_thread_leave(t);
    assert_int_equal(t->depth, 0);
    assert_int_equal(hb_session_lost_of(session, HB_LOST_REENTRANT), WAYS + 3);
}

static void a_pop_ends_none_but_ranges(void **state)
{
    (void)state;
    hb_module module = hb_module_create("Popped");
    begin(HB_SESSION_MODULES);
    for (int way = 0; way <= WAYS; way++) {
        hb_scope scope = way < WAYS ? begin_in_way(way) : hb_module_call(module);
        hb_range_pop();
        assert_int_equal(((const hb_record *)scope.record)->end, 0);
        assert_int_equal(hb_thread_tls->depth, 1);
        hb_scope_end(&scope);
    }
}

/* ---- operators ---- */

static void numbers_and_flops_are_recorded_where_there_are_some(void **state)
{
    (void)state;
    hb_op_info info = {.sequence_number = 7, .forward_thread = 9};
    begin(0);
    assert_record(record_of(hb_op("op", &(hb_op_info){0})), HB_RECORD_OP, 0, 0);
    const hb_record *r = record_of(hb_op("op", &info));
    assert_record(r, HB_RECORD_OP, HB_RECORD_SEQUENCE, 2);
    assert_true(word(r, 0) == 7 && word(r, 1) == 9);
    info.flops = 48;
    assert_record(record_of(hb_op("op", &info)), HB_RECORD_OP, HB_RECORD_SEQUENCE, 2);
    info.sequence_number = 0;
    assert_record(record_of(hb_op("op", &info)), HB_RECORD_OP, 0, 0);
    begin(HB_SESSION_FLOPS);
    const double none[] = {0, -1, NAN, -INFINITY}, some[] = {48, 5e-324, INFINITY};
    for (size_t i = 0; i < HB_ARRAY_LEN(none); i++) {
        info.flops = none[i];
        assert_record(record_of(hb_op("op", &info)), HB_RECORD_OP, 0, 0);
    }
    for (size_t i = 0; i < HB_ARRAY_LEN(some); i++) {
        info.flops = some[i];
        r = record_of(hb_op("op", &info));
        assert_record(r, HB_RECORD_OP, HB_RECORD_FLOPS, 1);
        assert_memory_equal(r + 1, &some[i], sizeof some[i]);
    }
}

static const int64_t dims[] = {2, 3, 4, 5};

/* Of tensors alone there is a quicker way. */
static hb_input_kind kind;

static hb_scope op_of(uint32_t count)
{
    const hb_input input = {.kind = kind, .dtype = HB_FLOAT32, .count = count, .dims = dims};
    return hb_op("op with inputs", &(hb_op_info){.inputs = &input, .num_inputs = 1});
}

/* In full, and then where they stand. */
static void tell_inputs_again_and_again(void)
{
    uint64_t place = 0;
    begin(0);
    for (int i = 0; i < 3; i++)
        assert_record(record_of(op_of(4)), HB_RECORD_OP, 0, 0);
    begin(HB_SESSION_SHAPES);
    hb_op_info none = {.num_inputs = 1};
    assert_record(record_of(hb_op("op", &none)), HB_RECORD_OP, 0, 0);
    for (int i = 0; i < 6; i++) {
        const hb_record *r = record_of(op_of(i < 4 ? 4 : 3));
        assert_int_equal(r->type, HB_RECORD_OP);
        assert_int_equal(r->flags, HB_RECORD_INPUTS);
        bool first = i == 0 || i == 4;
        assert_int_equal(r->units > 4, first);
        const uint64_t *from = (const uint64_t *)(const void *)(hb_thread_tls->chunk + 1);
        if (first)
            place = (uint64_t)((const uint64_t *)(const void *)(r + 1) - from);
        else
            assert_true(r->units == 4 && word(r, 0) == place);
    }
}

/* And where each call has a barrier of its own, which goes another way. */
static void each_way(void (*test)(void))
{
    const hb_input_kind kinds[] = {HB_INPUT_TENSOR, HB_INPUT_INT_LIST};
    bool heavy = hb_heavy_fence;
    for (size_t i = 0; i < HB_ARRAY_LEN(kinds); i++) {
        kind = kinds[i];
        hb_heavy_fence = heavy;
        test();
        hb_heavy_fence = true;
        test();
    }
    hb_heavy_fence = heavy;
}

static void inputs_are_told_once_in_a_chunk(void **state)
{
    (void)state;
    each_way(tell_inputs_again_and_again);
}

/* So many bytes are left. */
static void fill_but(uint32_t left)
{
    hb_thread *t = hb_record_enter();
    hb_record_reserve(t, 24);
    for (;;) {
        uint32_t room = (uint32_t)(t->end - t->pos) - left;
        if (room == 0) break;
        uint32_t bytes = room > 20000 ? 10000 : room > 10000 ? room / 16 * 8 : room;
        hb_record *r = hb_record_reserve(t, bytes);
        hb_record_head(r, HB_RECORD_SCALAR, 0, HB_STRING_UNNAMED, bytes);
        hb_record_commit(t, r);
    }
    hb_thread_leave(t);
}

/* There is room for where inputs stand, but these are new; or just for these. */
static void tell_inputs_at_a_chunks_end(void)
{
    begin(HB_SESSION_SHAPES);
    uint32_t bytes = record_of(op_of(4))->units * 8u;
    for (uint32_t left = 16; left <= bytes; left += 8) {
        begin(HB_SESSION_SHAPES);
        fill_but(left);
        const hb_chunk *before = hb_thread_tls->chunk;
        const hb_record *r = record_of(op_of(4));
        assert_record(r, HB_RECORD_OP, HB_RECORD_INPUTS, bytes / 8 - 3);
        assert_int_equal(hb_thread_tls->chunk == before, left == bytes);
    }
}

static void inputs_at_a_chunks_end_are_whole(void **state)
{
    (void)state;
    each_way(tell_inputs_at_a_chunks_end);
}

static void inputs_that_are_too_many_are_left_out(void **state)
{
    (void)state;
    static int64_t many[HB_RECORD_MAX / 8];
    hb_input input = {.kind = HB_INPUT_INT_LIST, .dims = many};
    hb_op_info info = {.inputs = &input, .num_inputs = 1};
    uint16_t most = 0;
    begin(HB_SESSION_SHAPES);
    for (uint32_t count = HB_RECORD_MAX / 8 - 20; count <= HB_RECORD_MAX / 8; count++) {
        input.count = count;
        const hb_record *r = record_of(hb_op("op with many", &info));
        if (r->flags)
            most = HB_MAX(most, r->units);
        else
            assert_int_equal(r->units, 3);
    }
    assert_int_equal(most, HB_RECORD_MAX / 8);
    assert_in_range(hb_session_lost_of(session, HB_LOST_TOO_BIG), 1, 20);
}

/* ---- scopes that are described ---- */

/* An older caller's description ends somewhere, a newer one's goes on. */
static void a_description_is_read_as_far_as_it_goes(void **state)
{
    (void)state;
    struct {
        hb_scope_info info;
        char more[64];
    } newer = {.info = {.category = "io", .args = NULL}};
    const hb_op_info op = {.sequence_number = 7};
    newer.info.op = &op;
    begin(0);
    newer.info.struct_size = sizeof newer;
    assert_record(record_of(hb_scope_begin("scope", &newer.info)), HB_RECORD_OP,
                  HB_RECORD_SEQUENCE | HB_RECORD_CATEGORY, 3);
    newer.info.struct_size = sizeof newer.info;
    assert_record(record_of(hb_scope_begin("scope", &newer.info)), HB_RECORD_OP,
                  HB_RECORD_SEQUENCE | HB_RECORD_CATEGORY, 3);
    newer.info.struct_size = sizeof newer.info.struct_size;
    assert_record(record_of(hb_scope_begin("scope", &newer.info)), HB_RECORD_ANNOTATION, 0, 0);
    newer.info.struct_size = 0;
    assert_record(record_of(hb_scope_begin("scope", &newer.info)), HB_RECORD_ANNOTATION, 0, 0);
    newer.info = (hb_scope_info){.struct_size = sizeof newer.info, .category = "io"};
    const hb_record *r = record_of(hb_scope_begin("scope", &newer.info));
    assert_record(r, HB_RECORD_ANNOTATION, HB_RECORD_CATEGORY, 1);
    assert_true(word(r, 0) == hb_strings_intern("io", 2));
}

/* ---- modules ---- */

static void modules_are_recorded_where_they_are_asked_for(void **state)
{
    (void)state;
    hb_module module = hb_module_create("Recorded"), second = hb_module_create("Recorded");
    begin(0);
    assert_null(hb_module_call(module).record);
    begin(HB_SESSION_MODULES);
    assert_null(hb_module_call(0).record);
    const hb_record *r = record_of(hb_module_call(module));
    assert_record(r, HB_RECORD_MODULE, 0, (sizeof(hb_record_module) - sizeof *r) / 8);
    assert_int_equal(((const hb_record_module *)r)->module_id, 0);
    assert_int_equal(((const hb_record_module *)record_of(hb_module_call(second)))->module_id, 1);
    hb_session_stop(session);
    assert_null(hb_module_call(module).record);
}

/* ---- communication ---- */

static hb_comm_info to_rank(int64_t rank, uint64_t sequence)
{
    return (hb_comm_info){.struct_size = sizeof(hb_comm_info),
                          .type = HB_INT8,
                          .in = 5,
                          .out = 5,
                          .bytes = 5,
                          .source = -1,
                          .dest = rank,
                          .tag = HB_COMM_NO_TAG,
                          .sequence = sequence};
}

static const hb_record_comm *comm_of(const hb_record *r)
{
    const char *end = (const char *)r + (size_t)r->units * 8;
    return (const hb_record_comm *)(const void *)(end - sizeof(hb_record_comm));
}

/* With a stack before it, or without. */
static void an_arrow_begins_with_its_communication(void **state)
{
    (void)state;
    for (int stacks = 0; stacks < 2; stacks++) {
        begin(stacks ? HB_SESSION_STACK : 0);
        for (uint64_t flow = 0; flow < 2; flow++) {
            hb_comm_info info = to_rank(3, 11);
            info.flow = 70 * flow;
            const hb_record *r = record_of(hb_comm_begin("comm", &info));
            assert_true(comm_of(r)->dest == 3 && comm_of(r)->sequence == 11);
            const char *end = (const char *)r + (size_t)r->units * 8;
            const hb_record_flow *arrow = (const hb_record_flow *)(const void *)end;
            if (!flow) {
                assert_ptr_equal(end, hb_thread_tls->pos);
                continue;
            }
            assert_record(&arrow->head, HB_RECORD_FLOW, 0, (sizeof *arrow - sizeof *r) / 8);
            assert_true(arrow->id == 70 && arrow->phase == HB_FLOW_BEGIN);
            assert_true(arrow->head.start == r->start && arrow->head.name == r->name);
            assert_ptr_equal((const char *)(arrow + 1), hb_thread_tls->pos);
        }
    }
}

/* Its number stays, unless there is another. */
static void more_is_told_of_the_innermost_communication(void **state)
{
    (void)state;
    hb_comm_info known = to_rank(1, 11), more = to_rank(2, 0);
    begin(0);
    for (int i = 0; i < 2; i++) {
        more.sequence = i ? 99 : 0;
        hb_scope scope = hb_comm_begin("comm", &known);
        const hb_record *r = scope.record;
        hb_comm_end(&scope, &more);
        assert_true(comm_of(r)->dest == 2 && r->end >= r->start);
        assert_int_equal(comm_of(r)->sequence, i ? 99 : 11);
    }
    hb_scope outer = hb_comm_begin("comm", &known), inner = hb_record_function("inner");
    const hb_record *r = outer.record;
    (void)inner;
    hb_comm_end(&outer, &more);
    assert_true(comm_of(r)->dest == 1 && r->end >= r->start);
    hb_scope late = hb_comm_begin("comm", &known);
    r = late.record;
    hb_session_stop(session);
    hb_comm_end(&late, &more);
    assert_true(comm_of(r)->dest == 1 && r->end == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SPOOL(each_way_has_its_name_kind_and_stack),
        IN_SPOOL(without_a_session_no_way_records),
        IN_SPOOL(within_a_call_no_way_records),
        IN_SPOOL(a_pop_ends_none_but_ranges),
        IN_SPOOL(numbers_and_flops_are_recorded_where_there_are_some),
        IN_SPOOL(inputs_are_told_once_in_a_chunk),
        IN_SPOOL(inputs_at_a_chunks_end_are_whole),
        IN_SPOOL(inputs_that_are_too_many_are_left_out),
        IN_SPOOL(a_description_is_read_as_far_as_it_goes),
        IN_SPOOL(modules_are_recorded_where_they_are_asked_for),
        IN_SPOOL(an_arrow_begins_with_its_communication),
        IN_SPOOL(more_is_told_of_the_innermost_communication),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
