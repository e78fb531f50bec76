/* SPDX-License-Identifier: MIT
 *
 * Scopes that are recorded when they are over: exactly what is recorded of them, and when nothing
 * is.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <hipboard/hipboard.h>

#include "record/session.h"

static hb_spool spool;
static uint32_t name;

/* In memory. */
static hb_session *begin(uint64_t max_bytes)
{
    hb_session *session;
    hb_spool_options options = {NULL, "passed", max_bytes};
    assert_int_equal(hb_record_init(), HB_OK);
    assert_int_equal(hb_spool_open(&spool, &options), HB_OK);
    name = hb_strings_intern("passed", 6);
    assert_int_equal(hb_session_begin(&spool, 0, 0, &session), HB_OK);
    return session;
}

static void end(hb_session *session)
{
    hb_session_release(&spool, session);
    assert_true(hb_spool_close(&spool, false));
}

/* It has no chunk, and is no thread on which nothing is recorded. */
static void *place_of_a_new_thread(void *place)
{
    *(uintptr_t *)place = hb_record_place();
    return NULL;
}

static void the_place_of_a_thread_that_has_recorded_nothing_is_one(void **state)
{
    (void)state;
    pthread_t thread;
    uintptr_t place = 0;
    assert_true(hb_record_place() == 0);
    hb_session *session = begin(64 << 20);
    assert_int_equal(pthread_create(&thread, NULL, place_of_a_new_thread, &place), 0);
    pthread_join(thread, NULL);
    assert_true(place > 1);
    hb_session_end(session);
    assert_true(hb_record_place() == 0);
    assert_true(hb_record_annotation_since(name, hb_ticks(), 0)); /* nothing else is to be done */
    end(session);
}

static void a_scope_that_is_over_is_a_whole_annotation(void **state)
{
    (void)state;
    uint64_t id, first = 0;
    hb_session *session = begin(64 << 20);
    const uint64_t begun = session->start.ticks;
    uintptr_t place = hb_record_place();
    assert_true(hb_record_annotation_since(name, begun, place)); /* as the session does */
    place = hb_record_place();
    assert_true(hb_record_annotation_since(name, begun - 1, place));
    assert_true(hb_record_place() == place); /* nothing was recorded of what began before */
    assert_true(hb_record_annotation_since(name, begun + 1, place));
    assert_false(hb_record_annotation_since(name, begun + 2, place));
    hb_session_end(session);
    hb_lost lost = hb_session_lost(session);
    for (int i = 0; i < HB_LOST_CAUSES; i++) /* each call was left */
        assert_int_equal(session->lost[i], 0);
    assert_int_equal(lost.buffer_full, 0);
    hb_spool_view view = hb_spool_view_own(&spool);
    const hb_records *records = view.records(&view, session);
    assert_int_equal(records->threads.count, 1);
    hb_cursor c = hb_cursor_open(&view, records, hb_records_nth(records, 0), HB_TYPES_ALL);
    for (uint64_t i = 0; i < 2; i++) {
        const hb_record *r = hb_cursor_next(&c, &id);
        assert_non_null(r);
        assert_int_equal(r->type, HB_RECORD_ANNOTATION);
        assert_int_equal(r->flags, 0);
        assert_int_equal(r->units, 3);
        assert_int_equal(r->name, name);
        assert_true(r->start == begun + i);
        assert_true(r->end >= r->start && r->end <= session->later[session->newest & 1].ticks);
        if (i == 0) first = id;
        assert_int_equal(id, first + i);
    }
    assert_null(hb_cursor_next(&c, &id));
    hb_cursor_close(&c);
    end(session);
}

static uint64_t next_id(void)
{
    hb_thread *t = hb_record_enter();
    assert_non_null(t);
    uint64_t id = t->next_id;
    hb_thread_leave(t);
    return id;
}

/* Which what is recorded next is told by, and so counts on. */
static void each_scope_that_is_over_has_an_id(void **state)
{
    (void)state;
    hb_session *session = begin(64 << 20);
    HB_RECORD_FUNCTION("first") {
    }
    uint64_t id = next_id();
    assert_true(hb_record_annotation_since(name, hb_ticks(), hb_record_place()));
    assert_int_equal(next_id(), id + 1);
    assert_true(hb_record_annotation_since(name, session->start.ticks - 1, hb_record_place()));
    assert_int_equal(next_id(), id + 1);
    hb_session_end(session);
    end(session);
}

/* It is over, and was lost: nobody need record it in another way. */
static void what_there_is_no_room_for_is_counted(void **state)
{
    (void)state;
    hb_session *session = begin(1 << 20);
    for (uint64_t i = 0; hb_session_lost_of(session, HB_LOST_BUFFER_FULL) == 0; i++)
        assert_true(hb_record_annotation_since(name, hb_ticks() - i % 2, hb_record_place()));
    hb_session_end(session);
    assert_in_range(hb_session_lost(session).buffer_full, 1, 10);
    end(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_place_of_a_thread_that_has_recorded_nothing_is_one),
        cmocka_unit_test(a_scope_that_is_over_is_a_whole_annotation),
        cmocka_unit_test(each_scope_that_is_over_has_an_id),
        cmocka_unit_test(what_there_is_no_room_for_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
