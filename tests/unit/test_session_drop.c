/* SPDX-License-Identifier: MIT
 *
 * What a session that goes on drops, by age and to make room: of a spool without a thread, whose
 * lists are made by hand, so that every byte of it is known. The clock is the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <time.h>

#include <cmocka.h>

#include "record/session.h"

enum { NUMBER = 5, CHUNKS = 16, ROOM = CHUNKS * HB_CHUNK_BYTES, TOLD_MOST = 1 << 20 };

static uint64_t now; /* ticks, once clocks are the test's */

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    (void)clock;
    *t = (struct timespec){(time_t)(now / 1000000000), (long)(now % 1000000000)};
    return 0;
}

static hb_spool spool;
static hb_session session;
static hb_records *records;
static uint64_t file_end;

static int make(void **state)
{
    (void)state;
    hb_clock_uses_counter = false;
    spool = (hb_spool){.file = HB_NO_KEPT_FILE};
    session = (hb_session){.number = NUMBER, .start = {.ticks = 77}};
    now = file_end = 0;
    if (hb_pool_open(&spool.pool, CHUNKS, 0) != HB_OK) return -1;
    hb_lock_init(&spool.lock, HB_LOCK_SPOOL);
    hb_buf_init(&spool.unneeded, 1 << 20);
    records = hb_records_new(NUMBER);
    records->ring = &session;
    *hb_spool_list(&spool, NUMBER) = records;
    return 0;
}

static int unmake(void **state)
{
    (void)state;
    hb_records_free(records);
    hb_buf_free(&spool.unneeded);
    hb_pool_close(&spool.pool);
    return 0;
}

/* Behind the others of its thread and in the file, each a hole behind the one before. */
static void add_of(uint32_t thread, uint64_t first, uint64_t last, uint32_t bytes, uint32_t types)
{
    bool had;
    const hb_thread_records *t = hb_records_find_thread(records, thread);
    hb_events_info info = {.session = NUMBER, .thread = thread};
    hb_part part = {.sequence = t ? t->parts.count : 0,
                    .types = types,
                    .coded_bytes = bytes,
                    .first_tick = first,
                    .last_tick = last,
                    .place = HB_PART_FILE,
                    .offset = file_end + 1000};
    file_end = part.offset + bytes;
    spool.kept_bytes += bytes;
    assert_true(hb_records_add(records, &info, &part, &had));
}

static void add(uint32_t thread, uint64_t first, uint64_t last, uint32_t bytes)
{
    add_of(thread, first, last, bytes, 1u << HB_RECORD_OP);
}

static void drop(uint64_t horizon, uint64_t most_bytes)
{
    const hb_clock_pair kept = {.ticks = horizon + 1, .unix_ns = 123};
    hb_session_drop(&spool, &session, horizon, most_bytes, &kept);
}

/* The sequences that a thread has still. */
static void assert_left(uint32_t thread, const uint32_t *sequences, uint32_t count)
{
    const hb_thread_records *t = hb_records_find_thread(records, thread);
    if (count == 0) {
        assert_null(t);
        return;
    }
    assert_non_null(t);
    assert_int_equal(t->parts.count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(t->parts.items[i].sequence, sequences[i]);
}

#define LEFT(thread, ...)                                \
    assert_left(thread, (const uint32_t[]){__VA_ARGS__}, \
                sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void assert_bytes(uint64_t bytes)
{
    assert_int_equal(records->bytes, bytes);
    assert_int_equal(spool.kept_bytes, bytes);
    assert_int_equal(atomic_load(&spool.pool.elsewhere),
                     (bytes + HB_CHUNK_BYTES - 1) / HB_CHUNK_BYTES);
}

/* ---- by age ---- */

static void what_ended_before_the_horizon_goes(void **state)
{
    (void)state;
    now = 1000;
    add(1, 90, 99, 10);
    add(1, 90, 100, 20);
    add(1, 98, 99, 40);
    add(1, 99, 101, 80);
    add(1, 100, 500, 160);
    uint64_t second = 1000 + 10 + 1000, third = second + 20 + 1000;
    drop(100, UINT64_MAX);
    LEFT(1, 1, 3, 4);
    assert_int_equal(hb_records_find(hb_records_find_thread(records, 1), 3)->coded_bytes, 80);
    assert_bytes(20 + 80 + 160);
    /* What they took of the file, with their heads, newest first. */
    const hb_extent *gone = (const hb_extent *)spool.unneeded.data;
    assert_int_equal(spool.unneeded.size, 2 * sizeof *gone);
    assert_int_equal(gone[0].offset, third - sizeof(hb_segment));
    assert_int_equal(gone[0].bytes, sizeof(hb_segment) + 40);
    assert_int_equal(gone[1].offset, 1000 - sizeof(hb_segment));
    assert_int_equal(gone[1].bytes, sizeof(hb_segment) + 10);
    assert_int_equal(atomic_load(&spool.changed.count), 1); /* the writer takes it back */
}

/* Of a session that has no records there is nothing to drop. */
static void without_records_nothing_is_dropped(void **state)
{
    (void)state;
    add(1, 90, 99, 10);
    session.number++;
    drop(100, UINT64_MAX);
    LEFT(1, 0);
    assert_int_equal(session.kept_from, 0);
    assert_bytes(10);
}

/* The horizon never goes back, and each time near to it is put beside the one before. */
static void readers_are_told_from_where_on_all_is_kept(void **state)
{
    (void)state;
    static const uint64_t horizons[] = {100, 200, 150, 300}, kept_from[] = {100, 200, 200, 300};
    assert_ptr_equal(hb_session_kept(&session), &session.start);
    for (uint32_t i = 0; i < 4; i++) {
        drop(horizons[i], UINT64_MAX);
        assert_int_equal(session.kept_from, kept_from[i]);
        assert_int_equal(records->kept_from, kept_from[i]);
        assert_int_equal(session.newest_kept, (i + 1) % 2);
        assert_int_equal(hb_session_kept(&session)->ticks, horizons[i] + 1);
        assert_int_equal(hb_session_kept(&session)->unix_ns, 123);
        if (i) assert_int_equal(session.kept[i % 2].ticks, horizons[i - 1] + 1);
    }
}

static void threads_without_records_are_forgotten(void **state)
{
    (void)state;
    now = 1000;
    for (uint32_t thread = 1; thread <= 5; thread++) {
        add(thread, 10, thread % 2 ? 20 : 200, 10);
        add(thread, 30, thread % 2 ? 40 : 400, 10 + thread);
    }
    drop(100, UINT64_MAX);
    assert_int_equal(records->threads.count, 2);
    LEFT(2, 0, 1);
    LEFT(4, 0, 1);
    assert_int_equal(records->threads.items[1].parts.items[1].coded_bytes, 14);
    assert_bytes(10 + 12 + 10 + 14);
}

/* What tells metadata and devices is told once: the newest of it stays, a mebibyte of all threads
 * together. */
static void what_is_told_once_stays_as_far_as_it_is_small(void **state)
{
    (void)state;
    enum { LARGE = TOLD_MOST - 1000 };
    now = 1000;
    add_of(1, 1, 9, 500, 1u << HB_RECORD_METADATA); /* 0: there is room for that */
    add_of(1, 1, 9, 501, 1u << HB_RECORD_METADATA); /* 1: but not for that */
    add_of(1, 1, 9, 500, 1u << HB_RECORD_OP | 1u << HB_RECORD_DEVICE);
    add_of(1, 1, 9, LARGE, 1u << HB_RECORD_DEVICE);
    add_of(1, 1, 9, 1, 1u << HB_RECORD_OP);
    add_of(1, 1, 100, 7000, 1u << HB_RECORD_METADATA); /* stays anyway */
    add_of(2, 1, 9, 1, 1u << HB_RECORD_METADATA);      /* nothing is left for another thread's */
    drop(100, UINT64_MAX);
    LEFT(1, 0, 2, 3, 5);
    assert_null(hb_records_find_thread(records, 2));
    assert_bytes(TOLD_MOST + 7000);
}

static void what_is_told_once_goes_where_it_is_large(void **state)
{
    (void)state;
    now = 1000;
    add_of(1, 1, 9, TOLD_MOST, 1u << HB_RECORD_METADATA);
    add_of(1, 1, 9, TOLD_MOST + 1, 1u << HB_RECORD_METADATA);
    drop(100, UINT64_MAX);
    LEFT(1, 0);
}

/* ---- by bytes ---- */

/* Found within a millionth of the time that is kept, of whichever thread and part it begins with.
 */
static void the_oldest_goes_where_more_is_kept_than_may_be(void **state)
{
    (void)state;
    enum { FIRST = 5000, SPAN = 1 << 30, STEP = SPAN >> 20 };
    now = FIRST + SPAN;
    for (uint32_t i = 0; i < 4; i++) {
        add(1, FIRST + 10, FIRST + (1 + 2 * i) * 100 * STEP + 100, 100);
        add(2, i == 0 ? FIRST : FIRST + 20, FIRST + (2 + 2 * i) * 100 * STEP + 100, 100);
    }
    drop(0, 800);
    assert_bytes(800);
    assert_int_equal(session.kept_from, 0);
    drop(0, 799);
    LEFT(1, 1, 2, 3);
    LEFT(2, 0, 1, 2, 3);
    assert_bytes(700);
    assert_int_equal(session.kept_from, FIRST + 101 * STEP);
    drop(0, 350);
    LEFT(1, 3);
    LEFT(2, 2, 3);
    assert_bytes(300);
    assert_int_equal(session.kept_from, FIRST + 501 * STEP);
    drop(0, 0);
    assert_int_equal(records->threads.count, 0);
    assert_bytes(0);
}

/* Between the horizon and now; what lasts until now is not cut off. */
static void what_is_beyond_the_horizon_goes_where_more_is_kept_than_may_be(void **state)
{
    (void)state;
    enum { HORIZON = 7000, SPAN = 1 << 30, STEP = SPAN >> 20 };
    now = HORIZON + SPAN;
    add(1, 10, HORIZON - 1, 100);
    add(1, 20, HORIZON, 100);
    add(1, 30, HORIZON + 3 * STEP, 100);
    add(1, 40, HORIZON + SPAN, 100);
    drop(HORIZON, 300);
    LEFT(1, 1, 2, 3);
    assert_int_equal(session.kept_from, HORIZON);
    drop(HORIZON, 200);
    LEFT(1, 2, 3);
    assert_int_equal(session.kept_from, HORIZON + STEP);
    drop(HORIZON, 50);
    LEFT(1, 3);
    assert_int_equal(session.kept_from, HORIZON + SPAN);
    now = HORIZON; /* of what is said to last longer than until now there is no cut */
    drop(HORIZON + SPAN, 0);
    LEFT(1, 3);
    assert_int_equal(session.kept_from, HORIZON + SPAN);
}

/* ---- to make room ---- */

enum { PIECE = 8192, HALF = ROOM / 2 / PIECE };

/* Half of the room; the oldest is `more` larger. */
static void fill_half(uint32_t more)
{
    now = 1 << 20;
    for (uint32_t i = 0; i < HALF; i++)
        add(1, 1000 * i, 1000 * i + 999, PIECE + (i ? 0 : more));
}

static void a_sixteenth_goes_when_half_of_the_room_is_taken(void **state)
{
    (void)state;
    fill_half(0);
    hb_spool_make_room(&spool, records);
    assert_int_equal(spool.kept_bytes, HALF * PIECE);
    spool.kept_bytes++;
    records->bytes++;
    records->threads.items[0].parts.items[0].coded_bytes++;
    hb_spool_make_room(&spool, records);
    assert_int_equal(records->threads.items[0].parts.count, HALF / 8 * 7);
    assert_int_equal(records->threads.items[0].parts.items[0].sequence, HALF / 8);
    assert_int_equal(records->bytes, ROOM / 16 * 7);
    assert_int_equal(spool.kept_bytes, ROOM / 16 * 7);
    assert_in_range(session.kept_from, HALF / 8 * 1000, HALF / 8 * 1000 + 999);
    /* The time that readers are given is what it was: of the session's start. */
    assert_int_equal(session.kept[session.newest_kept & 1].ticks, session.start.ticks);
}

/* Where others have what is too much, no more goes than there is of this one's. */
static void no_more_goes_than_a_session_has(void **state)
{
    (void)state;
    now = 1 << 20;
    add(1, 10, 20, 100);
    add(1, 30, 40, 100);
    spool.kept_bytes = ROOM / 2 + 1000;
    session.kept_from = 15;
    session.kept[0].ticks = 16;
    hb_spool_make_room(&spool, records);
    assert_int_equal(records->threads.count, 0);
    assert_int_equal(records->bytes, 0);
    assert_int_equal(spool.kept_bytes, ROOM / 2 + 800);
    assert_int_equal(session.newest_kept, 1);
    assert_int_equal(session.kept[1].ticks, 16);
}

static void what_is_read_or_ends_makes_no_room(void **state)
{
    (void)state;
    fill_half(1);
    records->ring = NULL;
    hb_spool_make_room(&spool, records);
    records->ring = &session;
    records->snapshots = 1;
    hb_spool_make_room(&spool, records);
    records->snapshots = 0;
    records->order = malloc(sizeof *records->order);
    hb_spool_make_room(&spool, records);
    assert_int_equal(records->threads.items[0].parts.count, HALF);
    free(records->order);
    records->order = NULL;
    hb_spool_make_room(&spool, records);
    assert_int_equal(records->threads.items[0].parts.count, HALF / 8 * 7);
}

/* Nor by its age or its bytes: what a snapshot lists is looked for where it was. */
static void while_it_is_read_nothing_is_dropped(void **state)
{
    (void)state;
    now = 1 << 20;
    add(1, 90, 99, 10);
    add(1, 100, 500, 20);
    add(2, 90, 99, 40);
    records->snapshots = 2;
    for (; records->snapshots; records->snapshots--) {
        drop(100, UINT64_MAX);
        drop(400, 0);
        LEFT(1, 0, 1);
        LEFT(2, 0);
        assert_bytes(10 + 20 + 40);
        assert_int_equal(spool.unneeded.size, 0);
        assert_int_equal(session.kept_from, 0);
        assert_int_equal(records->kept_from, 0);
        assert_ptr_equal(hb_session_kept(&session), &session.start);
    }
    drop(100, UINT64_MAX);
    LEFT(1, 1);
    assert_bytes(20);
    assert_int_equal(session.kept_from, 100);
}

#define OF_SPOOL(name) cmocka_unit_test_setup_teardown(name, make, unmake)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OF_SPOOL(what_ended_before_the_horizon_goes),
        OF_SPOOL(without_records_nothing_is_dropped),
        OF_SPOOL(readers_are_told_from_where_on_all_is_kept),
        OF_SPOOL(threads_without_records_are_forgotten),
        OF_SPOOL(what_is_told_once_stays_as_far_as_it_is_small),
        OF_SPOOL(what_is_told_once_goes_where_it_is_large),
        OF_SPOOL(the_oldest_goes_where_more_is_kept_than_may_be),
        OF_SPOOL(what_is_beyond_the_horizon_goes_where_more_is_kept_than_may_be),
        OF_SPOOL(a_sixteenth_goes_when_half_of_the_room_is_taken),
        OF_SPOOL(no_more_goes_than_a_session_has),
        OF_SPOOL(what_is_read_or_ends_makes_no_room),
        OF_SPOOL(while_it_is_read_nothing_is_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
