/* SPDX-License-Identifier: MIT
 *
 * A session from its beginning to its release: what is published of it, which chunks are its own,
 * what it takes with it, and what is read of it meanwhile and afterwards.
 */
#include <ctype.h>
#include <hipboard/comm.h>

#include "forks_with_threads.h"
#include "program.h"
#include "settled_session.h"
#include "thread_states.h"

static hb_spool *spool;

static int open_spool(void **state)
{
    if (make_dir(state)) return -1;
    spool = still_spool(dir, 64 << 20);
    forget_losses();
    return 0;
}

static int close_spool(void **state)
{
    close_test_spool(spool);
    return remove_dir(state);
}

#define IN_SPOOL(name) cmocka_unit_test_setup_teardown(name, open_spool, close_spool)

static uint32_t own_chunk(void)
{
    return hb_pool_index(&spool->pool, hb_thread_tls->chunk);
}

static uint32_t state_at(uint32_t index)
{
    return atomic_load(&spool->pool.state[index]);
}

/* ---- before any ---- */

static int begin_without_keys(void)
{
    pthread_key_t key;
    while (pthread_key_create(&key, NULL) == 0)
        continue;
    for (int i = 0; i < 2; i++) {
        CHECK(hb_record_init() == HB_ERROR_LIMIT);
        CHECK(strstr(hb_last_error(), "the process has used up its keys for thread-specific data"));
        (void)hb_fail(HB_ERROR_IO, "another error");
    }
    CHECK(hb_thread_number() == 0);
    return 0;
}

static void without_a_key_each_call_says_why_nothing_is_recorded(void **state)
{
    (void)state;
    assert_int_equal(run_program(begin_without_keys), 0);
}

/* Which hb_clock_init() chooses, again and again. */
static void the_clock_has_been_chosen(void **state)
{
    (void)state;
    bool chosen = hb_clock_uses_counter;
    hb_clock_init();
    assert_int_equal(hb_clock_uses_counter, chosen);
}

static void in_a_child_nothing_is_recorded(void **state)
{
    (void)state;
    hb_session *session = begin_in(spool, HB_SESSION_COMM);
    pid_t pid = fork();
    if (pid == 0) {
        bool any = hb_enabled_epoch || *hb_live_epoch || hb_communication_epoch ||
                   (hb_memory_enabled & HB_MEMORY_RECORDED);
        _exit(any);
    }
    wait_for_success(pid);
    assert_int_equal(hb_enabled_epoch, session->number);
    end_in_spool(spool, session);
}

/* ---- begin and stop ---- */

static void what_is_recorded_is_published(void **state)
{
    (void)state;
    hb_memory_enabled = HB_MEMORY_KEPT;
    for (int comm = 0; comm < 2; comm++) {
        hb_session *session = begin_in(spool, comm ? HB_SESSION_COMM : HB_SESSION_SHAPES);
        assert_int_equal(hb_enabled_epoch, session->number);
        assert_int_equal(*hb_live_epoch, session->number);
        assert_int_equal(hb_communication_epoch, comm ? session->number : 0);
        assert_int_equal(hb_memory_enabled, HB_MEMORY_KEPT | HB_MEMORY_RECORDED);
        assert_ptr_equal(hb_recording_now.spool, spool);
        assert_ptr_equal(hb_recording_now.session, session);
        assert_int_equal(hb_recording_now.flags, session->flags);
        hb_session_stop(session);
        assert_true(hb_enabled_epoch == 0 && *hb_live_epoch == 0 && hb_communication_epoch == 0);
        assert_int_equal(hb_memory_enabled, HB_MEMORY_KEPT);
        end_in_spool(spool, session);
    }
    hb_memory_enabled = 0;
}

static void a_session_begins_with_nothing_of_the_one_before(void **state)
{
    (void)state;
    char id[40] = "";
    uint32_t number = 0;
    for (int i = 0; i < 2; i++) {
        hb_session *session;
        hb_clock_pair before = hb_clock_sample();
        assert_int_equal(hb_session_begin(spool, HB_SESSION_RING, 7 + i, &session), HB_OK);
        const hb_records *records = hb_spool_records(spool, session->number);
        assert_int_equal(session->flags, HB_SESSION_RING);
        assert_int_equal(session->cycle, 7 + i);
        assert_int_equal(hb_session_state(session), HB_SESSION_RECORDING);
        assert_in_range(session->start.ticks, before.ticks, UINT64_MAX);
        assert_memory_equal(&session->later[0], &session->start, sizeof session->start);
        const hb_clock_pair first = hb_clock_first();
        assert_memory_equal(&session->later[1], &first, sizeof first);
        assert_int_equal(session->newest, 0);
        assert_int_equal(session->lost[HB_LOST_TOO_BIG], 0);
        assert_int_equal(strlen(session->trace_id), 32);
        for (const char *c = session->trace_id; *c; c++)
            assert_true(isdigit((unsigned char)*c) || (*c >= 'A' && *c <= 'F'));
        assert_string_not_equal(session->trace_id, id);
        assert_true(!i || session->number == number + 1);
        assert_ptr_equal(records->ring, session);
        assert_int_equal(spool->recording, 1);
        strcpy(id, session->trace_id);
        number = session->number;
        hb_session_count_lost(session, HB_LOST_TOO_BIG, 5);
        end_in_spool(spool, session);
        assert_int_equal(spool->recording, 0);
        assert_int_equal(hb_session_state(session), HB_SESSION_NONE);
    }
    hb_session *plain = begin_in(spool, 0);
    assert_null(hb_spool_records(spool, plain->number)->ring);
    end_in_spool(spool, plain);
}

/* Their numbers lead to the same list. */
static void sessions_are_found_among_hundreds(void **state)
{
    (void)state;
    hb_session *first = begin_in(spool, 0), *other = NULL;
    hb_session_end(first);
    const hb_records *records = hb_spool_records(spool, first->number);
    for (int i = 0; i < HB_SPOOL_LISTS; i++) {
        if (other) end_in_spool(spool, other);
        other = begin_in(spool, 0);
    }
    assert_int_equal(other->number, first->number + HB_SPOOL_LISTS);
    assert_ptr_equal(hb_spool_records(spool, first->number), records);
    assert_ptr_not_equal(hb_spool_records(spool, other->number), records);
    hb_session_release(spool, first);
    assert_null(hb_spool_records(spool, first->number));
    assert_non_null(hb_spool_records(spool, other->number));
    end_in_spool(spool, other);
}

static void without_room_for_its_entry_there_is_no_session(void **state)
{
    (void)state;
    hb_session *session = NULL;
    while (hb_pool_take(&spool->pool))
        continue;
    assert_int_equal(hb_session_begin(spool, 0, 0, &session), HB_ERROR_LIMIT);
    assert_non_null(strstr(hb_last_error(), "no room for another cycle"));
    assert_null(session);
    assert_int_equal(spool->recording, 0);
    assert_int_equal(hb_enabled_epoch, 0);
}

static void the_newest_time_is_written_beside_the_one_before(void **state)
{
    (void)state;
    hb_session *session = begin_in(spool, 0);
    for (uint32_t i = 1; i < 5; i++) {
        hb_clock_pair before = *hb_session_last(session);
        if (i < 4)
            hb_session_tick(session);
        else
            hb_session_stop(session);
        assert_int_equal(session->newest, i % 2);
        assert_in_range(hb_session_last(session)->ticks, before.ticks + 1, UINT64_MAX);
        assert_memory_equal(&session->later[1 - i % 2], &before, sizeof before);
    }
    end_in_spool(spool, session);
}

static void a_session_that_stops_late_leaves_the_next_one(void **state)
{
    (void)state;
    hb_session *first = begin_in(spool, 0), *second = begin_in(spool, 0);
    hb_session_stop(first);
    assert_int_equal(hb_enabled_epoch, second->number);
    record_scalars(1);
    hb_session_settle(spool, first);
    assert_int_equal(hb_enabled_epoch, second->number);
    hb_session_stop(second);
    assert_int_equal(hb_enabled_epoch, 0);
    hb_session_settle(spool, second);
    assert_int_equal(only_part(spool, second)->raw_bytes, sizeof(hb_record_scalar));
    hb_session_release(spool, first);
    hb_session_release(spool, second);
}

/* ---- settling ---- */

static void a_settled_session_has_what_lies_in_chunks(void **state)
{
    (void)state;
    hb_spool_view view = hb_spool_view_own(spool);
    hb_session *session = begin_in(spool, 0);
    record_scalars(3);
    const hb_chunk *chunk = hb_thread_tls->chunk;
    assert_ptr_not_equal(view.records(&view, session), hb_spool_records(spool, session->number));
    assert_int_equal(view.records(&view, session)->threads.count, 0);
    hb_session_stop(session);
    hb_lost_add(HB_LOST_TOO_BIG);
    hb_session_settle(spool, session);
    hb_lost_add(HB_LOST_TOO_BIG);
    hb_session_settle(spool, session); /* has nothing to do */
    assert_int_equal(hb_session_lost(session).too_big, 1);
    assert_int_equal(hb_threads_take_lost(HB_LOST_TOO_BIG), 1);
    assert_int_equal(hb_session_lost(session).memory, 0);
    assert_int_equal(hb_session_state(session), HB_SESSION_STOPPED);
    assert_ptr_equal(view.records(&view, session), hb_spool_records(spool, session->number));
    const hb_part *part = only_part(spool, session);
    assert_int_equal(part->place, HB_PART_CHUNK);
    assert_int_equal(part->chunk, own_chunk());
    assert_int_equal(part->sequence, 0);
    assert_int_equal(part->raw_bytes, 3 * sizeof(hb_record_scalar));
    assert_int_equal(part->first_id, chunk->events.first_id);
    assert_int_equal(count_scalars(&view, session, 0), 3);
    hb_session_release(spool, session);
    assert_int_equal(view.records(&view, session)->threads.count, 0);
}

/* Between the file's and those in memory are some that there are not yet. */
static void the_first_and_the_last_chunk_of_the_file_and_the_first_in_memory_are_found(void **state)
{
    (void)state;
    hb_spool_view view = hb_spool_view_own(spool);
    hb_session *session = begin_in(spool, 0);
    uint32_t last = atomic_load(&spool->pool.in_file);
    assert_in_range(last, HB_SPOOL_HOT, spool->pool.first_in_memory - 2);
    while (hb_pool_take_in_file(&spool->pool) != last - 1)
        continue;
    record_scalars(2);
    assert_int_equal(own_chunk(), last);
    hb_record_finish_chunk(hb_thread_tls);
    hb_record_scalar_value("a number", 2);
    assert_int_equal(own_chunk(), 1); /* which was behind the others */
    while (hb_pool_take_in_file(&spool->pool))
        continue;
    hb_record_finish_chunk(hb_thread_tls);
    hb_record_scalar_value("a number", 3);
    assert_int_equal(own_chunk(), spool->pool.first_in_memory);
    hb_session_stop(session);
    hb_session_settle(spool, session);
    assert_int_equal(count_scalars(&view, session, 0), 4);
    assert_int_equal(state_at(last), HB_CHUNK_FULL); /* as it was: the writer may have it */
    assert_int_equal(state_at(spool->pool.first_in_memory), HB_CHUNK_BEYOND);
    hb_session_release(spool, session);
    assert_int_equal(state_at(1), HB_CHUNK_READY);
    assert_int_equal(state_at(last), HB_CHUNK_READY);
    assert_int_equal(state_at(spool->pool.first_in_memory), HB_CHUNK_READY);
}

static void who_is_silent_holds_the_sessions_until_then(void **state)
{
    (void)state;
    worker w;
    hb_session *session = begin_in(spool, 0);
    start_worker(&w);
    do_on(&w, enter);
    uint32_t index = hb_pool_index(&spool->pool, w.state->chunk), number = session->number;
    hb_session_stop(session);
    hb_session_settle(spool, session);
    assert_int_equal(hb_session_lost(session).interrupted, 1);
    assert_int_equal(atomic_load(&spool->held), number);
    assert_true(hb_spool_holds(spool, number) && hb_spool_holds(spool, number - 1));
    assert_false(hb_spool_holds(spool, number + 1));
    assert_int_equal(state_at(index), HB_CHUNK_BEYOND);
    hb_session_release(spool, session);
    assert_int_equal(state_at(index), HB_CHUNK_BEYOND);
    assert_false(hb_spool_is_unneeded(spool, index));
    do_on(&w, leave);
    assert_false(hb_spool_holds(spool, number));
    assert_int_equal(atomic_load(&spool->held), 0);
    assert_true(hb_spool_is_unneeded(spool, index));
    end_worker(&w);
}

static void who_left_in_time_holds_nothing(void **state)
{
    (void)state;
    hb_session *session = begin_in(spool, 0);
    record_scalars(1);
    hb_session_end(session);
    assert_int_equal(hb_enabled_epoch, 0);
    assert_int_equal(atomic_load(&spool->held), 0);
    assert_int_equal(hb_session_lost(session).interrupted, 0);
    hb_session_release(spool, session);
}

/* ---- release ---- */

static void chunks_are_given_back_with_their_last_session(void **state)
{
    (void)state;
    hb_session *sessions[2];
    uint32_t index = 0, ready = 0;
    for (int i = 0; i < 2; i++) {
        sessions[i] = begin_in(spool, 0);
        record_scalars(1);
        hb_session_stop(sessions[i]);
        if (i) assert_int_equal(own_chunk(), index);
        index = own_chunk();
    }
    for (int i = 0; i < 2; i++)
        hb_session_settle(spool, sessions[i]);
    ready = atomic_load(&spool->pool.ready_in_file);
    hb_session_release(spool, sessions[0]);
    assert_int_equal(state_at(index), HB_CHUNK_BEYOND);
    hb_session_release(spool, sessions[1]);
    assert_int_equal(state_at(index), HB_CHUNK_READY);
    assert_int_equal(atomic_load(&spool->pool.ready_in_file), ready + 1);
}

/* It gives it back itself. */
static void the_chunk_that_the_writer_is_at_is_left_to_it(void **state)
{
    (void)state;
    hb_session *session = begin_in(spool, 0);
    record_scalars(1);
    hb_record_finish_chunk(hb_thread_tls);
    record_scalars(1);
    uint32_t index = own_chunk(), full = index - 1;
    hb_session_stop(session);
    hb_session_settle(spool, session);
    assert_int_equal(state_at(full), HB_CHUNK_FULL);
    spool->being_written = index;
    hb_session_release(spool, session);
    assert_int_equal(state_at(index), HB_CHUNK_BEYOND);
    assert_int_equal(state_at(full), HB_CHUNK_READY);
    spool->being_written = 0;
}

/* A chunk that is still filled, for the next session, is not given back. */
static void a_chunk_that_goes_on_is_kept(void **state)
{
    (void)state;
    hb_session *first = begin_in(spool, 0);
    record_scalars(1);
    hb_session_stop(first);
    hb_session *second = begin_in(spool, 0);
    record_scalars(2);
    hb_session_settle(spool, first);
    hb_session_release(spool, first);
    assert_in_range(state_at(own_chunk()), HB_CHUNK_TAKEN, UINT32_MAX);
    hb_session_stop(second);
    hb_session_settle(spool, second);
    hb_spool_view view = hb_spool_view_own(spool);
    assert_int_equal(count_scalars(&view, second, 0), 2);
    hb_session_release(spool, second);
}

static void a_released_session_takes_no_room(void **state)
{
    (void)state;
    hb_session *session = begin_in(spool, 0);
    record_scalars(100);
    hb_session_end(session);
    put_into_memory(spool, only_part(spool, session));
    spool->kept_bytes += HB_CHUNK_BYTES; /* of others */
    hb_spool_account(spool);
    assert_int_equal(atomic_load(&spool->pool.elsewhere), 2);
    hb_session_release(spool, session);
    assert_int_equal(spool->kept_bytes, HB_CHUNK_BYTES);
    assert_int_equal(atomic_load(&spool->pool.elsewhere), 1);
    assert_null(hb_spool_records(spool, session->number));
    spool->kept_bytes = 0;
}

int main(int argc, char **argv)
{
    static const program programs[] = {PROGRAM(begin_without_keys)};
    int status;
    if (argc > 1 && is_program(argv, programs, 1, &status)) return status;
    const struct CMUnitTest tests[] = {
        IN_DIR(without_a_key_each_call_says_why_nothing_is_recorded),
        IN_SPOOL(the_clock_has_been_chosen),
        IN_SPOOL(in_a_child_nothing_is_recorded),
        IN_SPOOL(what_is_recorded_is_published),
        IN_SPOOL(a_session_begins_with_nothing_of_the_one_before),
        IN_SPOOL(sessions_are_found_among_hundreds),
        IN_SPOOL(without_room_for_its_entry_there_is_no_session),
        IN_SPOOL(the_newest_time_is_written_beside_the_one_before),
        IN_SPOOL(a_session_that_stops_late_leaves_the_next_one),
        IN_SPOOL(a_settled_session_has_what_lies_in_chunks),
        IN_SPOOL(the_first_and_the_last_chunk_of_the_file_and_the_first_in_memory_are_found),
        IN_SPOOL(who_is_silent_holds_the_sessions_until_then),
        IN_SPOOL(who_left_in_time_holds_nothing),
        IN_SPOOL(chunks_are_given_back_with_their_last_session),
        IN_SPOOL(the_chunk_that_the_writer_is_at_is_left_to_it),
        IN_SPOOL(a_chunk_that_goes_on_is_kept),
        IN_SPOOL(a_released_session_takes_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
