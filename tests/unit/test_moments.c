/* SPDX-License-Identifier: MIT
 *
 * Records that have no duration, field by field: memory, numbers, arrows, metadata.
 */
#include "raw_records.h"

#include <hipboard/comm.h>

static const hb_memory_info plain = {.device_type = HB_DEVICE_HIP,
                                     .device_id = 2,
                                     .addr = (const void *)0x5000,
                                     .bytes = 64,
                                     .total_allocated = -1,
                                     .total_reserved = -1};

/* A moment of a session that has just recorded it. */
static void expect_moment(const raw_record *r, const char *name, size_t bytes)
{
    raw_expect_text(r->head.name, name);
    assert_int_equal(r->head.flags, 0);
    assert_int_equal(r->head.units * 8, bytes);
    assert_true(r->head.start != 0 && r->head.end == 0);
}

/* ---- memory ---- */

static void memory_is_recorded_where_it_is_asked_for(void **state)
{
    (void)state;
    for (int asked = 0; asked < 2; asked++) {
        hb_session *session = raw_begin(asked ? HB_SESSION_MEMORY : HB_SESSION_SHAPES);
        uint64_t before = hb_ticks();
        hb_memory_report_slow(&plain);
        hb_record_memory_event(&plain, HB_KEPT_UNKNOWN);
        hb_memory_report_slow(NULL);
        uint64_t after = hb_ticks();
        raw_end(session);
        assert_int_equal(raw_count, asked ? 2 : 0);
        for (size_t i = 0; i < raw_count; i++) {
            const hb_record_memory *r = &raw_nth(HB_RECORD_MEMORY, i)->memory;
            expect_moment(&raw_records[i], "(unnamed)", sizeof *r);
            assert_true(r->head.start >= before && r->head.start <= after);
            assert_true(r->addr == 0x5000 && r->bytes == 64);
            assert_true(r->total_allocated == -1 && r->total_reserved == -1);
            assert_true(r->device_type == HB_DEVICE_HIP && r->device_id == 2);
        }
    }
}

static void the_host_has_no_number_and_failures_say_so(void **state)
{
    (void)state;
    hb_memory_info info = plain;
    info.device_type = HB_DEVICE_CPU;
    info.out_of_memory = true;
    info.total_allocated = 12;
    hb_session *session = raw_begin(HB_SESSION_MEMORY);
    hb_memory_report_slow(&info);
    raw_end(session);
    const hb_record_memory *r = &raw_nth(HB_RECORD_MEMORY, 0)->memory;
    assert_int_equal(r->head.flags, HB_RECORD_OOM);
    assert_true(r->device_type == HB_DEVICE_CPU && r->device_id == -1);
    assert_true(r->total_allocated == 12);
}

/* The allocator's own total; else what it is known to keep, beyond what is allocated. */
static void what_is_reserved_is_told_or_kept_or_unknown(void **state)
{
    static const struct {
        int64_t told, kept, expected;
    } cases[] = {{100, 7, 100},
                 {0, 7, 0},
                 {-1, 7, HB_RESERVED_BEYOND(7)},
                 {-1, 0, HB_RESERVED_BEYOND(0)},
                 {-1, HB_KEPT_UNKNOWN, -1}};
    (void)state;
    hb_session *session = raw_begin(HB_SESSION_MEMORY);
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_memory_info info = plain;
        info.total_reserved = cases[i].told;
        hb_record_memory_event(&info, cases[i].kept);
    }
    raw_end(session);
    assert_int_equal(raw_count, HB_ARRAY_LEN(cases));
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++)
        assert_true(raw_nth(HB_RECORD_MEMORY, i)->memory.total_reserved == cases[i].expected);
}

static void report(uint64_t addr, int64_t bytes)
{
    hb_memory_info info = plain;
    info.addr = (const void *)(uintptr_t)addr;
    info.bytes = bytes;
    hb_memory_report_slow(&info);
}

static unsigned flags_of(size_t n)
{
    return raw_nth(HB_RECORD_MEMORY, n)->head.flags;
}

/* Which nobody can know of where nothing is kept. */
static void frees_of_what_was_never_told_of_are_foreign(void **state)
{
    (void)state;
    for (int kept = 0; kept < 2; kept++) {
        if (kept) hb_live_memory_keep();
        hb_session *session = raw_begin(HB_SESSION_MEMORY);
        report(0x1000, 10);
        report(0x1000, -10);
        report(0x1000, -10);
        hb_memory_info failed = plain;
        failed.out_of_memory = true;
        hb_memory_report_slow(&failed);
        raw_end(session);
        if (kept) hb_live_memory_drop();
        assert_int_equal(raw_count, 4);
        assert_int_equal(flags_of(0), 0);
        assert_int_equal(flags_of(1), 0);
        assert_int_equal(flags_of(2), kept ? HB_RECORD_FOREIGN : 0);
        assert_int_equal(flags_of(3), HB_RECORD_OOM);
    }
}

static const char *owner_of(uint64_t addr)
{
    for (size_t i = 0; i < raw_count; i++)
        if (raw_records[i].head.type == HB_RECORD_MEMORY && raw_records[i].memory.addr == addr)
            return hb_strings_get(raw_records[i].head.name).s;
    return "";
}

/* The innermost scope has it. In no session there is none, whatever was open in one before. */
static void memory_belongs_to_the_scope_that_is_open(void **state)
{
    (void)state;
    hb_live_memory_keep();
    report(0x1000, 10);
    hb_session *session = raw_begin(HB_SESSION_SHAPES);
    report(0x2000, 10);
    hb_scope outer = hb_record_function("outer"), inner = hb_record_function("inner");
    report(0x3000, 10);
    hb_scope_end(&inner);
    report(0x4000, 10);
    raw_end(session);
    report(0x5000, 10);
    session = raw_begin(HB_SESSION_MEMORY | HB_SESSION_HELD);
    report(0x6000, 10);
    hb_live_memory_tell(session);
    raw_end(session);
    hb_scope_end(&outer);
    hb_live_memory_drop();
    assert_int_equal(raw_count, 6);
    assert_string_equal(owner_of(0x1000), "(unnamed)");
    assert_string_equal(owner_of(0x2000), "(unnamed)");
    assert_string_equal(owner_of(0x3000), "inner");
    assert_string_equal(owner_of(0x4000), "outer");
    assert_string_equal(owner_of(0x5000), "(unnamed)");
    assert_string_equal(owner_of(0x6000), "(unnamed)");
}

/* A thread's first call of a session may be one that tells of memory: what it tells then is the
 * session's, and not before it. */
static void the_first_event_of_a_session_is_its_own(void **state)
{
    (void)state;
    hb_live_memory_keep();
    report(0x1000, 10);
    hb_session *session = raw_begin(HB_SESSION_MEMORY | HB_SESSION_HELD);
    report(0x2000, 5);
    hb_live_memory_tell(session);
    raw_end(session);
    hb_live_memory_drop();
    assert_int_equal(raw_count, 2);
    assert_true(raw_nth(HB_RECORD_MEMORY, 0)->memory.addr == 0x2000);
    assert_true(raw_nth(HB_RECORD_MEMORY, 1)->memory.addr == 0x1000);
    assert_true(raw_nth(HB_RECORD_MEMORY, 1)->memory.total_allocated == 10);
}

/* ---- numbers, arrows, metadata ---- */

static void tell_each(void)
{
    hb_record_scalar_value("loss", 0.25);
    hb_counter("speed", "m/s", -3.5);
    hb_counter("count", NULL, 4);
    hb_flow("arrow", UINT64_C(1) << 40, HB_FLOW_STEP);
    hb_flow(NULL, 9, HB_FLOW_END);
}

static void numbers_arrows_and_metadata_are_as_given(void **state)
{
    (void)state;
    uint32_t key = raw_id("a key"), json = raw_id("[1]");
    tell_each(); /* no session */
    hb_record_metadata_entry(key, json);
    hb_session *session = raw_begin(0);
    tell_each();
    hb_record_metadata_entry(key, json);
    raw_end(session);
    assert_int_equal(raw_count, 6);
    expect_moment(&raw_records[0], "loss", sizeof(hb_record_scalar));
    assert_true(raw_nth(HB_RECORD_SCALAR, 0)->scalar.value == 0.25);
    expect_moment(&raw_records[1], "speed", sizeof(hb_record_counter));
    const hb_record_counter *counter = &raw_nth(HB_RECORD_COUNTER, 0)->counter;
    assert_true(counter->value == -3.5);
    raw_expect_text(counter->unit, "m/s");
    expect_moment(&raw_records[2], "count", sizeof(hb_record_counter));
    counter = &raw_nth(HB_RECORD_COUNTER, 1)->counter;
    assert_true(counter->value == 4 && counter->unit == HB_STRING_UNNAMED);
    expect_moment(&raw_records[3], "arrow", sizeof(hb_record_flow));
    const hb_record_flow *flow = &raw_nth(HB_RECORD_FLOW, 0)->flow;
    assert_true(flow->id == UINT64_C(1) << 40 && flow->phase == HB_FLOW_STEP);
    expect_moment(&raw_records[4], "(unnamed)", sizeof(hb_record_flow));
    flow = &raw_nth(HB_RECORD_FLOW, 1)->flow;
    assert_true(flow->id == 9 && flow->phase == HB_FLOW_END);
    expect_moment(&raw_records[5], "a key", sizeof(hb_record_metadata));
    assert_int_equal(raw_nth(HB_RECORD_METADATA, 0)->metadata.json, json);
    for (size_t i = 1; i < raw_count; i++)
        assert_true(raw_records[i].head.start >= raw_records[i - 1].head.start);
}

/* Who is told of them outside of a session takes in no names. */
static void names_are_not_taken_in_for_nothing(void **state)
{
    (void)state;
    uint64_t before, after;
    assert_int_equal(hb_record_init(), HB_OK);
    hb_strings_table(&before);
    hb_counter("a counter of nobody", "its unit", 1);
    hb_flow("an arrow of nobody", 1, HB_FLOW_BEGIN);
    hb_record_scalar_value("a scalar of nobody", 1);
    static hb_site site = {.name = "a site of nobody"};
    const hb_comm_pending pending = {&site, 5};
    hb_comm_start(&pending, 1);
    hb_strings_table(&after);
    assert_int_equal(after, before);
    assert_int_equal(site.id, 0);
}

/* Those without a number have none, and their sites no name so far; all begin at one moment. */
static void several_arrows_begin_and_end_at_once(void **state)
{
    static hb_site one = {.name = "one"}, two = {.name = "two"}, idle = {.name = "idle"},
                   last = {.name = "last"};
    const hb_comm_pending pending[] = {{&one, 11}, {&idle, 0}, {&two, 12}, {&last, 13}};
    (void)state;
    hb_session *session = raw_begin(0);
    hb_comm_start(pending, 3);
    assert_int_equal(last.id, 0); /* which is not among them */
    hb_comm_complete(pending + 1, 3);
    hb_comm_complete(pending + 1, 1);
    hb_comm_start(NULL, 1);
    hb_comm_start(pending, 0);
    raw_end(session);
    assert_int_equal(idle.id, 0);
    assert_int_equal(raw_count, 4);
    static const struct {
        const char *name;
        uint64_t id;
        uint32_t phase;
    } expected[] = {{"one", 11, HB_FLOW_BEGIN},
                    {"two", 12, HB_FLOW_BEGIN},
                    {"two", 12, HB_FLOW_END},
                    {"last", 13, HB_FLOW_END}};
    for (size_t i = 0; i < 4; i++) {
        const hb_record_flow *r = &raw_nth(HB_RECORD_FLOW, i)->flow;
        expect_moment(&raw_records[i], expected[i].name, sizeof *r);
        assert_true(r->id == expected[i].id && r->phase == expected[i].phase);
        assert_true(r->head.start == raw_records[i & ~(size_t)1].head.start);
    }
}

/* ---- where nothing can be recorded ---- */

static hb_site known = {.name = "known"};
static const hb_comm_pending known_pending = {&known, 5};

/* Six of them. */
static void tell_what_is_known(void)
{
    hb_record_scalar_value("known", 1);
    hb_counter("known", "known", 1);
    hb_flow("known", 1, HB_FLOW_BEGIN);
    hb_record_metadata_entry(HB_STRING_UNNAMED, HB_STRING_UNNAMED);
    hb_record_memory_event(&plain, HB_KEPT_UNKNOWN);
    hb_comm_start(&known_pending, 1);
}

/* As from a signal handler, while the thread is within another recording call. */
static void who_interrupts_a_recording_call_records_nothing(void **state)
{
    (void)state;
    hb_session *session = raw_begin(HB_SESSION_MEMORY);
    tell_what_is_known();
    hb_thread *t = hb_thread_begin_at(HB_FRAME);
    assert_non_null(t);
    tell_what_is_known();
    hb_memory_report_slow(&plain);
    hb_thread_leave(t);
    raw_end(session);
    assert_int_equal(raw_count, 6);
    assert_int_equal(raw_lost.reentrant, 7);
}

static void what_finds_no_room_is_counted(void **state)
{
    enum { ROOM = 1 << 20, MORE_THAN_FIT = 2 * ROOM / sizeof(hb_record_scalar) };
    (void)state;
    raw_reopen(ROOM);
    hb_session *session = raw_begin(HB_SESSION_MEMORY);
    hb_record_name("known", HB_FRAME);
    hb_lock_take(&raw_spool->lock); /* its thread makes no room meanwhile */
    for (int i = 0; i < MORE_THAN_FIT; i++)
        hb_record_scalar_value("known", i);
    uint64_t before = hb_session_lost(session).buffer_full;
    tell_what_is_known();
    hb_memory_report_slow(&plain);
    hb_lock_give(&raw_spool->lock);
    raw_end(session);
    assert_true(before > 0);
    assert_true(raw_lost.buffer_full == before + 7);
    assert_int_equal(raw_count + before, MORE_THAN_FIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_recorded_where_it_is_asked_for),
        cmocka_unit_test(the_host_has_no_number_and_failures_say_so),
        cmocka_unit_test(what_is_reserved_is_told_or_kept_or_unknown),
        cmocka_unit_test(frees_of_what_was_never_told_of_are_foreign),
        cmocka_unit_test(memory_belongs_to_the_scope_that_is_open),
        cmocka_unit_test(the_first_event_of_a_session_is_its_own),
        cmocka_unit_test(numbers_arrows_and_metadata_are_as_given),
        cmocka_unit_test(names_are_not_taken_in_for_nothing),
        cmocka_unit_test(several_arrows_begin_and_end_at_once),
        cmocka_unit_test(who_interrupts_a_recording_call_records_nothing),
        cmocka_unit_test(what_finds_no_room_is_counted), /* last, since it leaves no room */
    };
    return cmocka_run_group_tests(tests, NULL, raw_close);
}
