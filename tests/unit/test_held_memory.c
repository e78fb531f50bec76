/* SPDX-License-Identifier: MIT
 *
 * What is known to be allocated, address by address, and what a session's first records say of it.
 */
#include "held_memory.h"

/* ---- what is known ---- */

static void one_address_may_be_of_two_devices(void **state)
{
    (void)state;
    assert_true(note(0, 0x1000, 100));
    assert_true(note(1, 0x1000, 200));
    assert_int_equal(found_on(0x1000, 100), 0);
    assert_true(note(0, 0x1000, -100));
    assert_int_equal(found_on(0x1000, 200), 1);
    assert_false(note(0, 0x1000, -100)); /* the other device's stays */
    assert_int_equal(found_on(0x1000, 200), 1);
    assert_true(note(1, 0x1000, -200));
    assert_int_equal(found_on(0x1000, 0), NOBODY);
}

static void the_host_is_one_device_whatever_its_number(void **state)
{
    (void)state;
    hb_memory_info info = event(CPU, 0x1000, 10);
    info.device_id = 5;
    assert_true(note_info(&info, HB_STRING_UNNAMED));
    assert_int_equal(found_on(0x1000, 10), CPU);
    assert_true(note(CPU, 0x1000, -10));
    hb_live_total totals[HB_LIVE_DEVICES];
    assert_int_equal(hb_live_memory_totals(totals), 1);
}

/* A free that was not told of, or will be by another thread: both count, the later one is found. */
static void an_address_that_is_taken_again_counts_twice(void **state)
{
    (void)state;
    assert_true(note(0, 0x1000, 100));
    assert_true(note(0, 0x1000, 30));
    assert_int_equal(found_on(0x1000, 30), 0);
    tell();
    expect_count(2);
    expect_held(0, 0, 0x1000, 30, 130);
    expect_held(1, 0, 0, 100, 130);
    expect_said("{\"addresses\": 1, \"listed\": 1, \"beyond_table\": 1, "
                "\"beyond_table_bytes\": 100}");
    assert_true(note(0, 0x1000, -30));
    assert_int_equal(found_on(0x1000, 0), NOBODY);
    assert_true(note(0, 0x1000, -100));
    assert_false(note(0, 0x1000, -100)); /* there is no third one */
    tell();
    expect_count(0);
    expect_said(NULL);
}

/* Which mean something else in the table: they count, and are not looked for. */
static void addresses_0_and_1_are_counted_alone(void **state)
{
    (void)state;
    for (uint64_t addr = 0; addr < 2; addr++) {
        assert_true(note(0, addr, 50 + (int64_t)addr));
        assert_int_equal(found_on(addr, 0), NOBODY);
    }
    assert_true(note(0, 2, 70)); /* as any other */
    assert_int_equal(found_on(2, 70), 0);
    tell();
    expect_count(2);
    expect_held(0, 0, 2, 70, 171);
    expect_held(1, 0, 0, 101, 171);
    expect_said("{\"addresses\": 1, \"listed\": 1, \"beyond_table\": 2, "
                "\"beyond_table_bytes\": 101}");
    assert_true(note(0, 1, -51));
    tell();
    expect_said("{\"addresses\": 1, \"listed\": 1, \"beyond_table\": 1, "
                "\"beyond_table_bytes\": 50}");
    assert_true(note(0, 0, -50));
    assert_false(note(0, 0, -50));
}

/* The i-th of the addresses that the table's hash puts into its last bucket: what finds no room
 * there is in the next ones, which are its first. */
static uint64_t colliding(uint64_t i)
{
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15), bucket = HB_LIVE_SLOTS / 8 - 1;
    uint64_t inverse = factor; /* by Newton's method; right in 3 bits */
    for (int n = 0; n < 5; n++)
        inverse *= 2 - factor * inverse;
    return inverse * (i << 47 | bucket << 32 | 12345);
}

static void sixty_four_addresses_that_collide_are_known(void **state)
{
    enum { ROOM = 64 };
    (void)state;
    for (uint64_t i = 0; i <= ROOM; i++)
        assert_true(note(0, colliding(i), 1000 + (int64_t)i));
    for (uint64_t i = 0; i < ROOM; i++)
        assert_int_equal(found_on(colliding(i), 1000 + (int64_t)i), 0);
    assert_int_equal(found_on(colliding(ROOM), 0), NOBODY);
    tell();
    expect_count(ROOM + 1); /* and the rest */
    expect_said("{\"addresses\": 64, \"listed\": 64, \"beyond_table\": 1, "
                "\"beyond_table_bytes\": 1064}");
    for (uint64_t i = 0; i < ROOM; i++) {
        assert_true(note(0, colliding(i), -1000 - (int64_t)i));
        assert_int_equal(found_on(colliding(i), 0), NOBODY);
        for (uint64_t k = i + 1; k < ROOM; k++)
            assert_int_equal(found_on(colliding(k), 1000 + (int64_t)k), 0);
    }
    tell();
    expect_count(1);
    expect_held(0, 0, 0, 1064, 1064);
    assert_true(note(0, colliding(ROOM), -1064));
    tell();
    expect_count(0);
    assert_true(note(0, colliding(ROOM), 5)); /* there is room again */
    assert_int_equal(found_on(colliding(ROOM), 5), 0);
}

static void what_fails_or_is_empty_changes_nothing(void **state)
{
    (void)state;
    hb_memory_info failed = event(0, 0x1000, 1 << 20);
    failed.out_of_memory = true;
    failed.total_allocated = failed.total_reserved = 99;
    assert_true(note_info(&failed, HB_STRING_UNNAMED));
    assert_true(note_told(0, 0x1000, 0, 99, 99));
    hb_live_total totals[HB_LIVE_DEVICES];
    assert_int_equal(hb_live_memory_totals(totals), 0);
    assert_int_equal(found_on(0x1000, 0), NOBODY);
    assert_true(note(0, 0x1000, 10));
    tell();
    expect_count(1);
    expect_held(0, 0, 0x1000, 10, 10);
    assert_true(raw_nth(HB_RECORD_MEMORY, 0)->memory.total_reserved == -1);
}

static void each_device_has_its_total(void **state)
{
    hb_live_total totals[HB_LIVE_DEVICES];
    (void)state;
    assert_true(note(3, 0x1000, 100));
    assert_true(note(CPU, 0x2000, 20));
    assert_true(note(3, 0x3000, 4));
    assert_true(note_told(0, 0x4000, 4, 700, 900));
    assert_int_equal(hb_live_memory_totals(totals), 3);
    assert_true(totals[0].device_type == HB_DEVICE_HIP && totals[0].device_id == 3);
    assert_true(totals[1].device_type == HB_DEVICE_CPU && totals[1].device_id == -1);
    assert_true(totals[2].device_type == HB_DEVICE_HIP && totals[2].device_id == 0);
    assert_true(totals[0].allocated == 104);
    assert_true(totals[1].allocated == 20);
    assert_true(totals[2].allocated == 700);
}

/* Of whom there is no room for nothing is kept; nor are others' numbers changed. */
static void devices_beyond_those_that_are_known_are_left_out(void **state)
{
    hb_live_total totals[HB_LIVE_DEVICES];
    (void)state;
    for (int i = 0; i <= (int)HB_LIVE_DEVICES; i++)
        assert_true(note(i, 0x1000 + (uint64_t)i, 1 + i));
    assert_true(note((int)HB_LIVE_DEVICES, 0x9000, -5));
    assert_int_equal(hb_live_memory_totals(totals), HB_LIVE_DEVICES);
    for (int i = 0; i < (int)HB_LIVE_DEVICES; i++)
        assert_true(totals[i].device_id == i && totals[i].allocated == 1 + i);
    assert_int_equal(found_on(0x1000 + HB_LIVE_DEVICES, 0), NOBODY);
    tell();
    expect_count(HB_LIVE_DEVICES);
}

/* ---- what a session begins with ---- */

/* As nothing tells more of it. */
static void a_total_without_addresses_is_told_by_itself(void **state)
{
    (void)state;
    assert_true(note_told(0, 0x1000, 64, 164, 4096));
    assert_true(note_told(0, 0x1000, -64, 100, -1));
    assert_true(note_told(1, 0x2000, 64, 64, -1));
    assert_true(note_told(1, 0x2000, -64, 0, -1)); /* of which nothing is left */
    assert_true(note_told(2, 0x3000, 64, 500, 0)); /* more than is known */
    tell();
    expect_count(2);
    expect_held(0, 2, 0x3000, 64, 500);
    expect_held(1, 0, 0, 0, 100);
    assert_true(raw_nth(HB_RECORD_MEMORY, 0)->memory.total_reserved == 0);
    assert_true(raw_nth(HB_RECORD_MEMORY, 1)->memory.total_reserved == 4096);
    expect_said(NULL);
}

/* Freed with more bytes than were allocated: there is less than nothing, of no bytes. */
static void no_rest_has_a_negative_size(void **state)
{
    (void)state;
    assert_true(note(0, 0x1000, 100));
    assert_true(note(0, 0x1000, -130));
    tell();
    expect_count(1);
    expect_held(0, 0, 0, 0, -30);
}

static void events_of_the_session_itself_are_not_before_it(void **state)
{
    (void)state;
    assert_true(note(0, 0x1000, 100));
    assert_true(note(0, 0x2000, 20));
    hb_session *session = raw_begin(HB_SESSION_MEMORY | HB_SESSION_HELD);
    told_ticks = session->start.ticks;
    assert_true(note(0, 0x3000, 3));
    assert_true(note(0, 0x2000, -20)); /* was there, and is found no more */
    hb_live_memory_tell(session);
    raw_end(session);
    expect_count(2);
    expect_held(0, 0, 0x1000, 100, 120);
    expect_held(1, 0, 0, 20, 120);
    tell(); /* but before the next one */
    expect_count(2);
    assert_true(raw_nth(HB_RECORD_MEMORY, 0)->memory.bytes +
                    raw_nth(HB_RECORD_MEMORY, 1)->memory.bytes ==
                103);
    assert_true(raw_nth(HB_RECORD_MEMORY, 0)->memory.total_allocated == 103);
}

static void what_allocated_it_has_its_name_there(void **state)
{
    (void)state;
    hb_memory_info info = event(0, 0x1000, 100);
    assert_true(note_info(&info, raw_id("maker")));
    assert_true(note(0, 0, 7));
    tell();
    raw_expect_text(raw_nth(HB_RECORD_MEMORY, 0)->head.name, "maker");
    assert_int_equal(raw_nth(HB_RECORD_MEMORY, 1)->head.name, HB_STRING_UNNAMED);
}

static void sessions_that_are_over_are_told_nothing(void **state)
{
    (void)state;
    assert_true(note(0, 0x1000, 100));
    hb_session *session = raw_begin(HB_SESSION_MEMORY | HB_SESSION_HELD);
    hb_session_stop(session);
    hb_live_memory_tell(session);
    raw_end(session);
    assert_int_equal(raw_count, 0);
}

/* The larger ones, and of the others how much it is. */
static void one_more_than_are_listed_is_said(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < HB_LIVE_LISTED; i++)
        assert_true(note(0, 0x1000 + i, 10));
    tell();
    expect_count(HB_LIVE_LISTED);
    expect_said(NULL);
    assert_true(note(0, 0x999999, 9));
    tell();
    expect_count(HB_LIVE_LISTED + 1);
    expect_held(HB_LIVE_LISTED, 0, 0, 9, 10 * HB_LIVE_LISTED + 9);
    expect_said("{\"addresses\": 4097, \"listed\": 4096, \"beyond_table\": 0, "
                "\"beyond_table_bytes\": 0}");
}

#define KEPT(name) cmocka_unit_test_setup_teardown(name, keep, drop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        KEPT(one_address_may_be_of_two_devices),
        KEPT(the_host_is_one_device_whatever_its_number),
        KEPT(an_address_that_is_taken_again_counts_twice),
        KEPT(addresses_0_and_1_are_counted_alone),
        KEPT(sixty_four_addresses_that_collide_are_known),
        KEPT(what_fails_or_is_empty_changes_nothing),
        KEPT(each_device_has_its_total),
        KEPT(devices_beyond_those_that_are_known_are_left_out),
        KEPT(a_total_without_addresses_is_told_by_itself),
        KEPT(no_rest_has_a_negative_size),
        KEPT(events_of_the_session_itself_are_not_before_it),
        KEPT(what_allocated_it_has_its_name_there),
        KEPT(sessions_that_are_over_are_told_nothing),
        KEPT(one_more_than_are_listed_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, raw_close);
}
