/* SPDX-License-Identifier: MIT
 *
 * Sessions that have ended and await reports of their devices' work: each report goes to the one
 * that made the work, by its number.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "hip/late_reports.h"

enum { SESSIONS = 3 };

/* Never looked into. */
static char places[SESSIONS + 1];

static const hb_session *session(int i)
{
    return (const hb_session *)(const void *)&places[i];
}

/* Works 10 to 19, 20 to 29, 30 to 39; of each some are missing, and some are expected. */
static int open_all(void **state)
{
    (void)state;
    for (int i = 0; i < SESSIONS; i++) {
        hb_late_wants wants = {.missing = 5,
                               .expected = 2,
                               .first_work = 10 + 10 * (uint64_t)i,
                               .last_work = 19 + 10 * (uint64_t)i};
        if (!hb_late_open(session(i), &wants)) return -1;
    }
    return 0;
}

static int forget_all(void **state)
{
    (void)state;
    for (int i = 0; i < SESSIONS; i++)
        hb_late_forget(session(i));
    return hb_late_reports_pending();
}

static bool take(uint64_t work, uint32_t kind)
{
    hb_record_work r = {.work = work, .kind = kind};
    return hb_late_take(&r, HB_RECORD_WORK, sizeof r);
}

static void assert_records(int i, const uint64_t *works, size_t count)
{
    size_t bytes;
    uint64_t missing;
    const char *records = hb_late_records(session(i), &bytes, &missing);
    assert_int_equal(bytes, count * sizeof(hb_record_work));
    for (size_t k = 0; k < count; k++) {
        hb_record_work r;
        memcpy(&r, records + k * sizeof r, sizeof r);
        assert_int_equal(r.work, works[k]);
        assert_int_equal(r.head.type, HB_RECORD_WORK);
        assert_int_equal(r.head.units * 8, sizeof r);
        assert_true(r.head.start > 0);
        assert_int_equal(r.head.end, 0);
    }
}

static void assert_wants(int i, uint64_t missing, uint64_t expected, uint64_t progress)
{
    hb_late_wants wants;
    uint64_t now;
    assert_true(hb_late_awaits(session(i), &wants, &now));
    assert_int_equal(wants.missing, missing);
    assert_int_equal(wants.expected, expected);
    assert_int_equal(now, progress);
}

static void a_report_goes_to_the_session_of_its_work(void **state)
{
    (void)state;
    assert_false(take(9, HB_WORK_KERNEL));
    assert_true(take(10, HB_WORK_KERNEL));
    assert_true(take(19, HB_WORK_KERNEL));
    assert_true(take(20, HB_WORK_KERNEL));
    assert_true(take(39, HB_WORK_KERNEL));
    assert_false(take(40, HB_WORK_KERNEL));
    assert_records(0, (const uint64_t[]){10, 19}, 2);
    assert_records(1, (const uint64_t[]){20}, 1);
    assert_records(2, (const uint64_t[]){39}, 1);
}

/* Of what is no work there is a report, and no record. */
static void what_has_no_kind_is_taken_and_not_kept(void **state)
{
    (void)state;
    assert_true(take(25, 0));
    assert_records(1, NULL, 0);
}

static void what_arrives_is_awaited_no_more(void **state)
{
    (void)state;
    hb_late_arrived(12, true);
    hb_late_arrived(13, true);
    hb_late_arrived(14, false);
    hb_late_arrived(31, false);
    hb_late_arrived(40, true); /* nobody's */
    assert_wants(0, 3, 1, 3);
    assert_wants(1, 5, 2, 0);
    assert_wants(2, 5, 1, 1);
    for (int i = 0; i < 4; i++)
        hb_late_arrived(30, false); /* more than were expected */
    assert_wants(2, 5, 0, 5);
    uint64_t missing;
    size_t bytes;
    (void)hb_late_records(session(0), &bytes, &missing);
    assert_int_equal(missing, 3);
}

static void one_that_is_closed_takes_nothing_and_keeps_what_it_has(void **state)
{
    (void)state;
    hb_late_wants wants;
    uint64_t progress;
    assert_true(take(21, HB_WORK_KERNEL));
    hb_late_close(session(1));
    hb_late_close(session(1)); /* once is enough */
    assert_false(take(22, HB_WORK_KERNEL));
    hb_late_arrived(22, true);
    assert_records(1, (const uint64_t[]){21}, 1);
    assert_false(hb_late_awaits(session(1), &wants, &progress));
    assert_true(hb_late_reports_pending());
    assert_true(take(12, HB_WORK_KERNEL) && take(32, HB_WORK_KERNEL));
}

static void the_oldest_that_waits_is_the_first(void **state)
{
    (void)state;
    assert_ptr_equal(hb_late_first(), session(0));
    hb_late_close(session(0));
    assert_ptr_equal(hb_late_first(), session(1));
    hb_late_forget(session(1));
    assert_ptr_equal(hb_late_first(), session(2));
    assert_false(take(25, HB_WORK_KERNEL));
    assert_records(1, NULL, 0);
    hb_late_close(session(2));
    assert_null(hb_late_first());
    assert_false(hb_late_reports_pending());
    hb_late_forget(session(SESSIONS)); /* that never was */
    assert_records(0, NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_report_goes_to_the_session_of_its_work, open_all,
                                        forget_all),
        cmocka_unit_test_setup_teardown(what_has_no_kind_is_taken_and_not_kept, open_all,
                                        forget_all),
        cmocka_unit_test_setup_teardown(what_arrives_is_awaited_no_more, open_all, forget_all),
        cmocka_unit_test_setup_teardown(one_that_is_closed_takes_nothing_and_keeps_what_it_has,
                                        open_all, forget_all),
        cmocka_unit_test_setup_teardown(the_oldest_that_waits_is_the_first, open_all, forget_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
