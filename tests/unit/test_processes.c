/* SPDX-License-Identifier: MIT
 *
 * Several processes in one file: whose numbers become others, and which ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "trace/processes.h"

#define NONE HB_ID_ABSENT

static hb_ids events[128];
static uint32_t count;
static uint64_t changed;

static void get(void *context, uint32_t event, hb_ids *ids)
{
    (void)context;
    *ids = events[event];
}

static void set(void *context, uint32_t event, const hb_ids *ids)
{
    (void)context;
    events[event] = *ids;
}

static uint32_t add(hb_id_role role, uint64_t pid, int64_t tid, int64_t ext, int64_t corr,
                    double ts)
{
    events[count] = (hb_ids){ext, corr, tid, pid, ts, (uint8_t)role};
    return count++;
}

static uint32_t scope(uint64_t pid, int64_t tid, int64_t ext)
{
    return add(HB_ID_SCOPE, pid, tid, ext, NONE, 0);
}

static uint32_t call(uint64_t pid, int64_t corr, int64_t ext, double ts)
{
    return add(HB_ID_CALL, pid, NONE, ext, corr, ts);
}

static uint32_t work(uint64_t device, int64_t corr, int64_t ext, double ts)
{
    return add(HB_ID_WORK, device, 7, ext, corr, ts);
}

static void separate(void)
{
    hb_id_events all = {.count = count, .get = get, .set = set};
    assert_int_equal(hb_separate_processes(&all, &changed), HB_OK);
}

static int begin(void **state)
{
    (void)state;
    count = 0;
    return 0;
}

/* What an event has, "-" where it has none. */
static void check(uint32_t event, const char *expected)
{
    const int64_t ids[] = {events[event].ext, events[event].corr, events[event].tid};
    char text[100] = "";
    for (int i = 0; i < 3; i++) {
        size_t n = strlen(text);
        if (ids[i] == NONE)
            snprintf(text + n, sizeof text - n, "%s-", i ? " " : "");
        else
            snprintf(text + n, sizeof text - n, "%s%lld", i ? " " : "", (long long)ids[i]);
    }
    if (strcmp(text, expected) != 0) fail_msg("event %u: %s, not %s", event, text, expected);
}

/* 0 is no id that two could share. */
static void numbers_that_no_two_have_stay(void **state)
{
    (void)state;
    scope(10, 1, 5);
    scope(10, 1, 0);
    scope(20, 2, 0);
    scope(20, 2, 6);
    call(20, 3, 6, 1);
    call(10, 4, 5, 1);
    work(0, 3, 6, 2);
    separate();
    assert_int_equal(changed, 0);
    check(3, "6 - 2");
    count = 0;
    scope(10, 1, 5);
    scope(10, 1, 5); /* one process may use one twice */
    call(10, 5, 5, 1);
    call(10, 5, 5, 1);
    separate();
    assert_int_equal(changed, 0);
}

/* From the first event's process on; the ids go up to 9 from -1, so that the next process's begin
 * 11 later. */
static void ids_that_two_have_are_moved(void **state)
{
    (void)state;
    scope(20, 1, 5);
    uint32_t other = scope(10, 2, 5), none = scope(10, 2, 0), no_id = scope(10, 2, NONE),
             third = scope(30, 3, 7), damaged = call(30, -1, 9, 1),
             flow = add(HB_ID_OTHER, 10, 2, 5, 6, 0), stranger = add(HB_ID_OTHER, 99, 2, 5, 6, 0);
    separate();
    check(0, "5 - 1");
    check(other, "16 - 2");
    check(none, "0 - 2");
    check(no_id, "- - 2");
    check(third, "29 - 3");
    check(damaged, "31 21 -");
    check(flow, "16 17 2");
    check(stranger, "5 6 2"); /* of no process that is known */
    assert_int_equal(changed, 4);
}

static void correlations_that_two_have_are_moved(void **state)
{
    (void)state;
    call(1, 8, 3, 1);
    uint32_t other = call(2, 8, 4, 1), scope_of_it = scope(2, NONE, 4);
    separate();
    check(0, "3 8 -");
    check(other, "13 17 -"); /* ids from 0 to 8 */
    check(scope_of_it, "13 - -");
}

/* Of a process that has calls only, in a file with operators: the operator's that they name, told
 * by the call or by its work alone. */
static void operators_of_calls_that_are_nobodys_stay(void **state)
{
    (void)state;
    for (int told = 0; told < 2; told++) {
        count = 0;
        scope(1, 1, 10);
        uint32_t same = call(2, 3, told ? 10 : NONE, 1), piece = work(0, 3, 10, 2);
        separate();
        assert_int_equal(changed, 0);
        call(1, 3, 10, 1); /* a correlation is everybody's own */
        separate();
        check(same, told ? "10 14 -" : "- 14 -"); /* ids from 0 to 10 */
        assert_int_equal(events[piece].ext, 10);
    }
}

/* No more than one that its call told. */
static void work_that_names_anothers_operator_is_not_its(void **state)
{
    (void)state;
    uint32_t first = scope(1, 1, 10), other = scope(2, 2, 20), launch = call(2, 3, NONE, 1),
             piece = work(0, 3, 10, 2);
    separate(); /* ids from 0 to 20 */
    check(first, "10 - 1");
    check(other, "41 - 2");
    check(launch, "- 24 -");
    check(piece, "31 24 7");
    count = 0;
    scope(1, 1, 10);
    scope(2, 2, 20);
    call(2, 3, NONE, 1);
    work(0, 3, 11, 2); /* nobody's */
    work(0, 3, 20, 2); /* its own */
    work(0, 3, 0, 2);
    work(0, 77, 10, 2); /* no process's */
    separate();
    assert_int_equal(changed, 0);
}

/* Threads alone: only those that another process had before. */
static void threads_that_two_have_are_moved(void **state)
{
    (void)state;
    scope(1, 100, 1);
    scope(1, 400, 2);
    uint32_t same = scope(2, 100, 3), own = scope(2, 200, 4), third = scope(3, 200, 5),
             last = scope(3, 400, 6);
    separate();
    check(1, "2 - 400");
    check(same, "3 - 501"); /* 0 to 400 */
    check(own, "4 - 200");
    check(third, "5 - 1002");
    check(last, "6 - 1202");
    assert_int_equal(changed, 3);
    count = 0;
    scope(1, -100, 1);
    same = scope(2, -100, 2);
    separate();
    check(same, "2 - 1"); /* -100 to 0 */
}

/* The launch that has the operator's id, too, and then the one that was before it. */
static void work_is_of_whom_launched_it(void **state)
{
    (void)state;
    call(1, 5, 1, 10);
    call(2, 5, 2, 20);
    call(3, 5, 2, 30);
    uint32_t of_2 = work(0, 5, 2, 25), alone = work(1, 5, 1, 5), without = work(2, NONE, 2, 25),
             unknown = work(3, 77, 2, 25);
    separate();
    check(1, "80 83 -"); /* ids from 0 to 77 */
    check(of_2, "80 83 7");
    check(alone, "1 5 7");
    check(without, "2 - 7");
    check(unknown, "2 77 7");
}

/* One process's device, though another's launches would fit some of its work as well. */
static void a_device_is_of_one_process(void **state)
{
    uint32_t pieces[20];
    (void)state;
    for (int i = 0; i < 10; i++) {
        call(1, i, 100 + i, 10 * i);
        call(2, i, 200 + i, 10 * i);
    }
    for (int i = 0; i < 10; i++) {
        pieces[i] = work(0, i, 200 + i, 10 * i + 5);
        pieces[10 + i] = work(1, i, i == 3 ? 203 : 100 + i, 10 * i + 5); /* nine of ten */
    }
    separate();
    for (int i = 0; i < 10; i++) {
        char text[40];
        snprintf(text, sizeof text, "%d %d 7", 410 + i, 210 + i); /* ids from 0 to 209 */
        check(pieces[i], text);
        snprintf(text, sizeof text, "%d %d 7", i == 3 ? 203 : 100 + i, i);
        check(pieces[10 + i], text);
    }
    assert_int_equal(changed, 20);
}

/* Eight of ten are too few: then each piece is of whom it fits best. */
static void a_device_may_be_of_several(void **state)
{
    uint32_t pieces[10];
    (void)state;
    for (int i = 0; i < 10; i++) {
        call(1, i, 100 + i, 10 * i);
        call(2, i, 200 + i, 10 * i);
    }
    for (int i = 0; i < 10; i++)
        pieces[i] = work(0, i, (i == 3 || i == 5 ? 200 : 100) + i, 10 * i + 5);
    separate();
    check(pieces[2], "102 2 7");
    check(pieces[3], "413 213 7");
    check(pieces[5], "415 215 7");
    assert_int_equal(changed, 12);
}

/* Processes that count alike fit each other's work: devices go to them in order. */
static void devices_of_equal_processes_go_round(void **state)
{
    uint32_t pieces[4];
    (void)state;
    for (int process = 1; process <= 2; process++)
        call((uint64_t)process, 3, 4, 10);
    for (uint64_t device = 4; device-- > 0;) /* in no order */
        pieces[device] = work(device, 3, 4, 20);
    separate();
    for (int device = 0; device < 4; device++)
        check(pieces[device], device % 2 ? "9 8 7" : "4 3 7");
}

/* Of launches that fit alike the last one before the work. */
static void the_last_launch_before_it(void **state)
{
    (void)state;
    call(1, 5, 0, 10);
    call(2, 5, 0, 20);
    call(3, 5, 0, 30);
    for (int i = 0; i < 30; i++) { /* of the same device, which is of none of them so */
        call(1 + (uint64_t)i / 10, 100 + i, 0, 1);
        work(0, 100 + i, 0, 2);
    }
    uint32_t early = work(0, 5, 0, 25), late = work(0, 5, 0, 35), first = work(0, 5, 0, 15),
             at_once = work(0, 5, 0, 20), before_all = work(0, 5, 0, 5);
    separate(); /* ids from 0 to 129 */
    check(early, "0 135 7");
    check(late, "0 265 7");
    check(first, "0 5 7");
    check(at_once, "0 135 7");
    check(before_all, "0 5 7");
}

/* Of a number that many calls have none is the launch, unless all are one process's: this bounds
 * what damaged files take. */
static void what_all_have_tells_nothing(void **state)
{
    (void)state;
    for (int more = 0; more < 2; more++) {
        count = 0;
        call(1, 5, 1, 1);
        for (int i = 0; i < 16 + 4 * 2 - 1 + more; i++)
            call(2, 5, 2, 2);
        uint32_t piece = work(0, 5, 2, 9);
        separate();
        check(piece, more ? "2 5 7" : "8 11 7");
    }
    count = 0;
    scope(1, NONE, 2);
    scope(2, NONE, 4);
    for (int i = 0; i < 40; i++)
        call(2, 5, 3, 2);
    uint32_t piece = work(0, 5, 2, 9); /* of 2, which has no scope of that id */
    separate();
    check(piece, "8 11 7");
}

/* Those that are too far away for others beside them get theirs one by one, beyond all. */
static void ids_of_any_size(void **state)
{
    static const int64_t far = INT64_C(1) << 58; /* of two processes */
    static const struct {
        int64_t other, becomes, moved; /* 3 becomes that */
    } cases[] = {
        {far - 1, far - 1, 3 + far},   {far, 3 + 2 * 4, 3 + 4},
        {INT64_MAX, 3 + 2 * 4, 3 + 4}, {-far + 1, -far + 1, 3 + far + 3},
        {-far, 3 + 2 * 4, 3 + 4},      {INT64_MIN + 1, 3 + 2 * 4, 3 + 4},
    };
    (void)state;
    for (int of_call = 0; of_call < 2; of_call++)
        for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
            count = 0;
            scope(1, NONE, 3);
            uint32_t same = scope(2, NONE, 3);
            uint32_t other =
                of_call ? call(1, cases[i].other, 3, 1) : scope(1, NONE, cases[i].other);
            separate();
            assert_int_equal(events[same].ext, cases[i].moved);
            assert_int_equal(of_call ? events[other].corr : events[other].ext, cases[i].becomes);
            separate(); /* again: nothing is left to do */
            assert_int_equal(changed, 0);
        }
    count = 0;
    call(1, INT64_MAX, 1, 1);
    call(2, INT64_MAX, 2, 2);
    uint32_t piece = work(0, INT64_MAX, 2, 9);
    separate();
    assert_int_equal(changed, 3);
    check(piece, "5 9 7");
    count = 0;
    uint32_t first = scope(1, NONE, far), same = scope(2, NONE, far), own = scope(2, NONE, 5);
    separate();
    assert_int_equal(changed, 3);
    assert_true(events[first].ext == 17 && events[same].ext == 18 && events[own].ext == 5 + 6);
    separate();
    assert_int_equal(changed, 0);
}

/* The same of threads, of which no sum may come round. */
static void threads_of_any_number(void **state)
{
    static const int64_t fars[] = {INT64_C(1) << 58, INT64_C(1) << 62, INT64_MAX - 1, INT64_MAX,
                                   INT64_MIN + 1};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(fars); i++) {
        count = 0;
        uint32_t first = scope(1, NONE, 3), away = scope(1, NONE, 4), same = scope(2, NONE, 5);
        events[first].tid = events[same].tid = 7;
        events[away].tid = fars[i];
        separate();
        assert_int_equal(changed, 2);
        assert_true(events[first].tid == 7 && events[away].tid == 7 + 2 * 8);
        assert_int_equal(events[same].tid, 7 + 8);
        separate();
        assert_int_equal(changed, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(numbers_that_no_two_have_stay, begin),
        cmocka_unit_test_setup(ids_that_two_have_are_moved, begin),
        cmocka_unit_test_setup(correlations_that_two_have_are_moved, begin),
        cmocka_unit_test_setup(operators_of_calls_that_are_nobodys_stay, begin),
        cmocka_unit_test_setup(work_that_names_anothers_operator_is_not_its, begin),
        cmocka_unit_test_setup(threads_that_two_have_are_moved, begin),
        cmocka_unit_test_setup(work_is_of_whom_launched_it, begin),
        cmocka_unit_test_setup(a_device_is_of_one_process, begin),
        cmocka_unit_test_setup(a_device_may_be_of_several, begin),
        cmocka_unit_test_setup(devices_of_equal_processes_go_round, begin),
        cmocka_unit_test_setup(the_last_launch_before_it, begin),
        cmocka_unit_test_setup(what_all_have_tells_nothing, begin),
        cmocka_unit_test_setup(ids_of_any_size, begin),
        cmocka_unit_test_setup(threads_of_any_number, begin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
