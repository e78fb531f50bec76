/* SPDX-License-Identifier: MIT
 *
 * From when on, and until when, it is known what is allocated: who keeps it, and forked children.
 */
#include "held_memory.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "forks_with_threads.h"

/* ---- life ---- */

static void without_a_keeper_nothing_is_known(void **state)
{
    hb_live_total totals[HB_LIVE_DEVICES];
    (void)state;
    assert_int_equal(keep(NULL), 0);
    assert_true(note_told(0, 0x1000, 100, 800, 900));
    assert_true(note(0, 0x1000, 50)); /* one is beyond the table */
    hb_live_memory_drop();
    assert_false(hb_live_memory_is_kept());
    assert_int_equal(hb_live_memory_totals(totals), 0);
    assert_int_equal(found_on(0x1000, 0), NOBODY);
    hb_live_memory_keep();
    assert_int_equal(hb_live_memory_totals(totals), 0);
    assert_false(note(0, 0x1000, -100));
    assert_true(note(0, 0x2000, 3));
    tell();
    expect_count(1);
    expect_held(0, 0, 0x2000, 3, 3);
    assert_true(raw_nth(HB_RECORD_MEMORY, 0)->memory.total_reserved == -1);
    expect_said(NULL);
    assert_true(note(0, 0x2000, 8)); /* again: what is said has nothing of before */
    tell();
    expect_said("{\"addresses\": 1, \"listed\": 1, \"beyond_table\": 1, "
                "\"beyond_table_bytes\": 3}");
    hb_live_memory_drop();
}

static void it_is_kept_until_the_last_keeper_goes(void **state)
{
    (void)state;
    assert_int_equal(keep(NULL), 0);
    hb_live_memory_keep();
    assert_true(note(0, 0x1000, 100));
    hb_live_memory_drop();
    assert_true(hb_live_memory_is_kept());
    assert_int_equal(found_on(0x1000, 100), 0);
    hb_live_memory_drop();
    assert_false(hb_live_memory_is_kept());
    hb_live_memory_drop(); /* nobody's */
    hb_live_memory_keep();
    assert_true(hb_live_memory_is_kept());
    hb_live_memory_drop();
    assert_false(hb_live_memory_is_kept());
}

/* Also within one session: sums of it begin at nothing. */
static void another_keeper_begins_anew_in_the_same_session(void **state)
{
    (void)state;
    assert_int_equal(keep(NULL), 0);
    assert_true(note(0, 0x1000, 100));
    hb_session *session = raw_begin(HB_SESSION_MEMORY | HB_SESSION_HELD);
    assert_true(note(0, 0x2000, 50));
    hb_live_memory_drop();
    hb_live_memory_keep();
    assert_true(note(0, 0x3000, 5));
    hb_live_memory_tell(session);
    raw_end(session);
    expect_count(0);
    tell();
    expect_count(1);
    expect_held(0, 0, 0x3000, 5, 5);
    hb_live_memory_drop();
}

static size_t pages_of_the_process(void)
{
    size_t pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%zu", &pages), 1);
    fclose(f);
    return pages;
}

static void keepers_after_each_other_share_one_table(void **state)
{
    enum { KEEPERS = 100, MOST_PAGES = 25000 };
    (void)state;
    assert_int_equal(keep(NULL), 0);
    hb_live_memory_drop();
    size_t before = pages_of_the_process();
    for (int i = 0; i < KEEPERS; i++) {
        hb_live_memory_keep();
        hb_live_memory_drop();
    }
    assert_true(pages_of_the_process() < before + MOST_PAGES); /* a table has more than 1500 */
}

/* ---- forked children ---- */

static atomic_bool over;

static void *keep_and_drop(void *unused)
{
    (void)unused;
    while (!atomic_load(&over)) {
        hb_live_memory_keep();
        hb_live_memory_drop();
    }
    return NULL;
}

/* Nobody there gives back what another thread of the parent held. */
static void a_child_keeps_memory_whatever_threads_were_at(void **state)
{
    enum { CHILDREN = 20, ENOUGH_S = 100 };
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, keep_and_drop, NULL), 0);
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        pid_t child = fork();
        if (child == 0) {
            alarm(ENOUGH_S);
            bool before = hb_live_memory_is_kept();
            hb_live_memory_keep();
            _exit(!before && hb_live_memory_is_kept() ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    atomic_store(&over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(hb_live_memory_is_kept());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_keeper_nothing_is_known),
        cmocka_unit_test(it_is_kept_until_the_last_keeper_goes),
        cmocka_unit_test(another_keeper_begins_anew_in_the_same_session),
        cmocka_unit_test(keepers_after_each_other_share_one_table),
        cmocka_unit_test(a_child_keeps_memory_whatever_threads_were_at),
    };
    return cmocka_run_group_tests(tests, NULL, raw_close);
}
