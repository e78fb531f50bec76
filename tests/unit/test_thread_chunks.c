/* SPDX-License-Identifier: MIT
 *
 * The chunks that a thread records into: which it takes, which it goes on in, how much of one it
 * fills, and what the writer may have of them.
 */
#include "forks_with_threads.h"
#include "program.h"
#include "still_session.h"

/* A spool of 50 chunks in its file, and room for some in memory. */
static int begin(void **state)
{
    (void)state;
    return begin_session(16 << 20, 0);
}

static int end(void **state)
{
    (void)state;
    return end_session();
}

static uint32_t index_of(const void *inside)
{
    return hb_pool_index(&spool->pool, inside);
}

/* In a recording call. */
static bool put(hb_thread *t, uint32_t bytes)
{
    hb_record *r = hb_record_reserve(t, bytes);
    if (!r) return false;
    memset(r, 0, bytes);
    hb_record_head(r, HB_RECORD_SCALAR, 0, HB_STRING_UNNAMED, bytes);
    hb_record_commit(t, r);
    return true;
}

/* One record, of this thread. */
static void record(uint32_t bytes)
{
    hb_thread *t = hb_record_enter();
    assert_true(put(t, bytes));
    hb_thread_leave(t);
}

static uint32_t used_of_chunk(void)
{
    const hb_thread *t = hb_thread_tls;
    return (uint32_t)(t->pos - (char *)hb_pool_chunk(&spool->pool, index_of(t->chunk)));
}

/* Up to so many bytes of the chunk, 8 at least. */
static void fill_up_to(uint32_t used)
{
    hb_thread *t = hb_record_enter();
    assert_true(put(t, 24));
    const hb_chunk *chunk = t->chunk;
    for (uint32_t left; (left = used - used_of_chunk()) > 0;)
        assert_true(put(t, left > 20000 ? 10000 : left > 10000 ? left / 2 / 8 * 8 : left));
    assert_ptr_equal(t->chunk, chunk);
    hb_thread_leave(t);
}

static hb_session *next_session(uint32_t flags)
{
    hb_session_stop(session);
    return begin_in(spool, flags);
}

/* So that those in memory are next. */
static void use_up_the_file(void)
{
    while (hb_pool_take_in_file(&spool->pool))
        continue;
}

/* ---- joining a session ---- */

static void a_thread_joins_the_session_that_runs(void **state)
{
    (void)state;
    record(24);
    hb_session *next = next_session(HB_SESSION_SHAPES);
    hb_thread *t = hb_thread_begin();
    assert_int_equal(t->epoch, session->number);
    t->depth = t->sequence = 5;
    t->pos = t->end = dir;
    t->former = (hb_chunk *)(void *)dir;
    assert_false(hb_record_attach(t, session->number));
    assert_true(t->epoch == 0 && t->depth == 0 && t->sequence == 0);
    assert_true(!t->pos && !t->end && !t->chunk && !t->former);
    assert_true(hb_record_join(t));
    assert_int_equal(t->epoch, next->number);
    hb_thread_set_epoch(t, 0);
    assert_true(hb_record_attach(t, next->number));
    assert_int_equal(t->epoch, next->number);
    assert_ptr_equal(t->session, next);
    assert_ptr_equal(t->spool, spool);
    assert_int_equal(t->flags, HB_SESSION_SHAPES);
    assert_int_equal(t->spool_serial, spool->serial);
    t->depth = 3;
    assert_true(hb_record_join(t)); /* it is there already */
    assert_int_equal(t->depth, 3);
    t->depth = 0;
    hb_session_stop(next);
    assert_false(hb_record_join(t));
    hb_thread_leave(t);
    end_in_spool(spool, next);
}

static void a_new_chunk_says_whose_it_is(void **state)
{
    (void)state;
    record(24);
    const hb_thread *t = hb_thread_tls;
    const hb_chunk *chunk = t->chunk;
    assert_ptr_equal(hb_spool_events(spool, index_of(chunk)), chunk);
    assert_int_equal(chunk->used, sizeof *chunk + 24);
    assert_int_equal(chunk->next, 0);
    assert_int_equal(chunk->events.session, session->number);
    assert_int_equal(chunk->events.thread, t->number);
    assert_int_equal(chunk->events.tid, gettid());
    assert_int_equal(chunk->events.sequence, 0);
    assert_int_equal(t->sequence, 1);
    assert_true(t->next_id == chunk->events.first_id);
    assert_int_equal(t->use >> 16, atomic_load(&spool->pool.uses[index_of(chunk)]));
    assert_int_equal(t->use & HB_SCOPE_DEPTH, 0);
    assert_int_equal(t->taken, state_of_chunk(spool, chunk));
    assert_ptr_equal(t->end, (const char *)chunk + HB_CHUNK_BYTES);
    assert_int_equal(session->in_memory, 0);
}

static int record_first(void)
{
    spool = still_spool(NULL, 1 << 20);
    session = begin_in(spool, 0);
    record_one();
    CHECK(hb_thread_tls->chunk->events.first_id == 1);
    return 0;
}

/* Which is who has none. */
static void no_scope_has_the_number_0(void **state)
{
    (void)state;
    assert_int_equal(run_program(record_first), 0);
}

/* The system's name is asked for once in a session. */
static void a_full_chunk_is_the_writers_and_the_next_is_taken(void **state)
{
    (void)state;
    hb_thread_name("");
    assert_int_equal(pthread_setname_np(pthread_self(), "early"), 0);
    fill_up_to(HB_CHUNK_BYTES - 24);
    const hb_chunk *first = hb_thread_tls->chunk;
    hb_thread_tls->known[7] = 7;
    assert_int_equal(pthread_setname_np(pthread_self(), "late"), 0);
    record(24);
    assert_ptr_equal(hb_thread_tls->chunk, first);
    assert_int_equal(first->used, HB_CHUNK_BYTES);
    record(24);
    const hb_chunk *second = hb_thread_tls->chunk;
    assert_int_not_equal(index_of(second), index_of(first));
    assert_int_equal(state_of_chunk(spool, first), HB_CHUNK_FULL);
    assert_in_range(state_of_chunk(spool, second), HB_CHUNK_TAKEN, UINT32_MAX);
    assert_int_equal(second->events.sequence, 1);
    assert_in_range(second->events.first_id - first->events.first_id,
                    (HB_CHUNK_BYTES - sizeof *first) / sizeof(hb_record), HB_CHUNK_BYTES);
    assert_int_equal(hb_thread_tls->known[7], 0);
    assert_string_equal(first->events.thread_name, "early");
    assert_string_equal(second->events.thread_name, "early");
    hb_session *next = next_session(0);
    record(24);
    assert_string_equal(hb_thread_tls->chunk->events.thread_name, "late");
    end_in_spool(spool, next);
}

/* ---- going on in the chunk of the session before ---- */

static void the_next_session_goes_on_in_the_chunk(void **state)
{
    (void)state;
    record(48);
    hb_chunk *former = hb_thread_tls->chunk;
    uint32_t taken = hb_thread_tls->taken;
    hb_session *next = next_session(0);
    record(24);
    const hb_thread *t = hb_thread_tls;
    assert_ptr_equal(t->chunk, (char *)former + sizeof *former + 48);
    assert_int_equal(former->next, sizeof *former + 48);
    assert_int_equal(former->used, sizeof *former + 48);
    assert_ptr_equal(hb_spool_next_events(spool, former), t->chunk);
    assert_int_equal(t->chunk->events.session, next->number);
    assert_int_equal(t->chunk->events.sequence, 0);
    assert_ptr_equal(t->end, (char *)former + HB_CHUNK_BYTES);
    assert_null(t->former);
    assert_int_not_equal(t->taken, taken);
    assert_int_equal(t->taken, state_of_chunk(spool, former));
    hb_session_settle(spool, session); /* which leaves it to the next one */
    assert_int_equal(t->taken, state_of_chunk(spool, former));
    end_in_spool(spool, next);
    assert_int_equal(state_of_chunk(spool, former), HB_CHUNK_BEYOND);
}

static void a_chunk_of_a_session_that_has_settled_is_left(void **state)
{
    (void)state;
    record(24);
    hb_chunk *former = hb_thread_tls->chunk;
    hb_session_end(session);
    assert_int_equal(state_of_chunk(spool, former), HB_CHUNK_BEYOND);
    hb_session *next = begin_in(spool, 0);
    former->next = 4000; /* as if somebody else had it by now */
    record(24);
    assert_int_not_equal(index_of(hb_thread_tls->chunk), index_of(former));
    assert_int_equal(state_of_chunk(spool, former), HB_CHUNK_BEYOND);
    assert_int_equal(former->next, 4000);
    former->next = 0;
    end_in_spool(spool, next);
}

/* Of `left` bytes behind another session's, for a record of so many bytes. */
static bool goes_on_with(uint32_t left, uint32_t bytes)
{
    hb_session *before = begin_in(spool, 0);
    fill_up_to(HB_CHUNK_BYTES - left);
    const hb_chunk *former = hb_thread_tls->chunk;
    hb_session_stop(before);
    hb_session *after = begin_in(spool, 0);
    record(bytes);
    bool same = index_of(hb_thread_tls->chunk) == index_of(former);
    if (!same) assert_int_equal(state_of_chunk(spool, former), HB_CHUNK_FULL);
    end_in_spool(spool, before);
    end_in_spool(spool, after);
    return same;
}

static void a_chunk_is_left_when_little_of_it_is_left(void **state)
{
    (void)state;
    const uint32_t head = sizeof(hb_chunk);
    hb_session_end(session);
    assert_true(goes_on_with(head + 4096, 24));
    assert_false(goes_on_with(head + 4096 - 8, 24));
    assert_true(goes_on_with(head + 8000, 8000));
    assert_false(goes_on_with(head + 8000 - 8, 8000));
}

static void a_chunk_of_another_spool_is_left(void **state)
{
    (void)state;
    hb_spool *other = still_spool(NULL, 1 << 20);
    record(24);
    const hb_chunk *former = hb_thread_tls->chunk;
    hb_session_stop(session);
    hb_session *next = begin_in(other, 0);
    record(24);
    const hb_thread *t = hb_thread_tls;
    assert_ptr_equal(t->spool, other);
    assert_int_equal(t->spool_serial, other->serial);
    assert_in_range(hb_pool_index(&other->pool, t->chunk), 1, 16);
    assert_in_range(state_of_chunk(spool, former), HB_CHUNK_TAKEN, UINT32_MAX);
    hb_session_stop(next);
    hb_session *third = begin_in(spool, 0);
    record(24); /* the other one's is not gone on in either */
    assert_ptr_equal(t->spool, spool);
    assert_int_not_equal(index_of(t->chunk), index_of(former));
    end_in_spool(spool, third);
    end_in_spool(other, next);
    close_test_spool(other);
}

/* ---- chunks in memory ---- */

static uint32_t length_of_chunk(void)
{
    const hb_thread *t = hb_thread_tls;
    return (uint32_t)(t->end - (char *)hb_pool_chunk(&spool->pool, index_of(t->chunk)));
}

/* Until the file has some again, and unless there are so many that the writer does not keep up. */
static void little_is_put_into_chunks_that_a_kill_takes(void **state)
{
    (void)state;
    const uint32_t head = sizeof(hb_chunk), most = head + 30000;
    use_up_the_file();
    record(24);
    assert_int_equal(length_of_chunk(), 4096);
    assert_int_equal(session->in_memory, 1);
    record(30000);
    assert_int_equal(length_of_chunk(), most);
    assert_int_equal(session->in_memory, 2);
    while (atomic_load(&spool->pool.in_memory) < 62)
        assert_true(hb_pool_take(&spool->pool) != 0);
    record(24);
    assert_int_equal(length_of_chunk(), 4096);
    fill_up_to(4096);
    record(24); /* in the 64th */
    assert_int_equal(length_of_chunk(), HB_CHUNK_BYTES);
    assert_int_equal(session->in_memory, 4);
}

static void where_there_is_no_file_chunks_in_memory_are_filled(void **state)
{
    (void)state;
    hb_spool *in_file = spool;
    hb_session *first = session;
    hb_session_stop(first);
    spool = still_spool(NULL, 4 << 20);
    session = begin_in(spool, 0);
    record(24);
    assert_int_equal(length_of_chunk(), HB_CHUNK_BYTES);
    end_in_spool(spool, session);
    close_test_spool(spool);
    spool = in_file;
    session = first;
}

static void a_chunk_in_memory_is_gone_on_in_while_the_file_has_none(void **state)
{
    (void)state;
    const uint32_t head = sizeof(hb_chunk);
    uint32_t kept = hb_pool_take_in_file(&spool->pool);
    use_up_the_file();
    record(5000);
    uint32_t index = index_of(hb_thread_tls->chunk);
    hb_session *second = next_session(0);
    record(48);
    assert_int_equal(index_of(hb_thread_tls->chunk), index);
    assert_int_equal(length_of_chunk(), head + 5000 + head + 48);
    assert_int_equal(second->in_memory, 1);
    hb_session_stop(second);
    hb_pool_give(&spool->pool, kept);
    hb_session *third = begin_in(spool, 0);
    record(24);
    assert_int_equal(index_of(hb_thread_tls->chunk), kept);
    assert_int_equal(third->in_memory, 0);
    end_in_spool(spool, second);
    end_in_spool(spool, third);
}

/* ---- no chunk ---- */

static void what_finds_no_chunk_is_lost_to_its_session(void **state)
{
    (void)state;
    fill_up_to(HB_CHUNK_BYTES - 24);
    while (hb_pool_take(&spool->pool))
        continue;
    hb_thread *t = hb_record_enter();
    assert_false(put(t, 32));
    assert_false(put(t, 32));
    assert_true(put(t, 24)); /* in what it has */
    assert_false(put(t, 24));
    hb_thread_leave(t);
    assert_int_equal(lost(HB_LOST_BUFFER_FULL), 3);
    assert_int_equal(lost(HB_LOST_INTERRUPTED), 0);
}

/* Also before there is a record in it, as it may be looked at by then. */
static void a_chunk_that_is_used_again_begins_empty(void **state)
{
    (void)state;
    uint32_t index = hb_pool_take_in_file(&spool->pool);
    hb_chunk *chunk = hb_spool_chunk(spool, index);
    chunk->used = 4000;
    chunk->next = 2000;
    hb_pool_give(&spool->pool, index);
    hb_thread *t = hb_record_enter();
    assert_non_null(hb_record_reserve(t, 24));
    assert_ptr_equal(t->chunk, chunk);
    assert_int_equal(chunk->used, sizeof *chunk);
    assert_int_equal(chunk->next, 0);
    assert_ptr_equal(hb_spool_events(spool, index), chunk);
    hb_thread_leave(t);
}

/* A call that began before. */
static void behind_its_sessions_end_a_call_takes_no_chunk(void **state)
{
    (void)state;
    hb_thread *t = hb_record_enter();
    hb_session_stop(session);
    assert_false(put(t, 24)); /* recorded by nobody, and no loss of anybody's */
    hb_session *next = begin_in(spool, 0);
    assert_int_equal(hb_threads_take_lost(HB_LOST_INTERRUPTED), 0);
    assert_false(put(t, 24));
    assert_int_equal(hb_threads_take_lost(HB_LOST_INTERRUPTED), 1);
    assert_int_equal(lost(HB_LOST_BUFFER_FULL), 0);
    hb_thread_leave(t);
    record(24);
    assert_int_equal(hb_thread_tls->epoch, next->number);
    end_in_spool(spool, next);
}

/* ---- giving a chunk up ---- */

static void only_a_chunk_of_the_present_session_is_given_up(void **state)
{
    (void)state;
    record(24);
    hb_thread *t = hb_thread_tls;
    hb_chunk *chunk = t->chunk;
    hb_session_stop(session);
    hb_record_finish_chunk(t);
    assert_ptr_equal(t->chunk, chunk);
    assert_int_equal(state_of_chunk(spool, chunk), t->taken);
    hb_session *next = begin_in(spool, 0);
    hb_record_finish_chunk(t);
    assert_ptr_equal(t->chunk, chunk);
    record(24);
    hb_record_finish_chunk(t);
    assert_int_equal(state_of_chunk(spool, chunk), HB_CHUNK_FULL);
    assert_true(!t->chunk && !t->pos && !t->end);
    hb_record_finish_chunk(t);
    record(24);
    atomic_store(&spool->pool.state[index_of(t->chunk)], HB_CHUNK_BEYOND);
    chunk = t->chunk;
    hb_record_finish_chunk(t); /* somebody has taken it */
    assert_int_equal(state_of_chunk(spool, chunk), HB_CHUNK_BEYOND);
    end_in_spool(spool, next);
}

static uint32_t filled_up_to;

static void fill_as_asked(worker *w)
{
    (void)w;
    fill_up_to(filled_up_to);
}

/* The index of the chunk that it ended in. */
static uint32_t thread_fills(uint32_t used)
{
    worker w;
    filled_up_to = used;
    start_worker(&w);
    do_on(&w, fill_as_asked);
    uint32_t index = index_of(w.state->chunk);
    end_worker(&w);
    return index;
}

/* What is left of it, where that is at least a quarter. */
static void the_next_thread_goes_on_in_a_dead_ones_chunk(void **state)
{
    (void)state;
    const uint32_t head = sizeof(hb_chunk);
    uint32_t first = thread_fills(head + 48);
    assert_in_range(atomic_load(&spool->pool.state[first]), HB_CHUNK_TAKEN, UINT32_MAX);
    assert_int_equal(thread_fills(HB_CHUNK_BYTES / 4 * 3), first);
    assert_in_range(atomic_load(&spool->pool.state[first]), HB_CHUNK_TAKEN, UINT32_MAX);
    const hb_chunk *one = hb_spool_events(spool, first), *two = hb_spool_next_events(spool, one);
    assert_int_equal(two->events.thread, one->events.thread + 1);
    assert_int_equal(two->events.session, one->events.session);
    assert_true(two->events.sequence == 0 && one->events.sequence == 0);
    assert_int_equal(thread_fills(HB_CHUNK_BYTES / 4 * 3 + head + 8 * 24), first);
    assert_int_equal(atomic_load(&spool->pool.state[first]), HB_CHUNK_FULL);
    uint32_t second = thread_fills(head + 48);
    assert_int_not_equal(second, first);
    hb_session_end(session);
    assert_int_equal(atomic_load(&spool->pool.state[second]), HB_CHUNK_BEYOND);
}

static void a_dead_threads_chunk_in_memory_is_the_writers(void **state)
{
    (void)state;
    use_up_the_file();
    uint32_t index = thread_fills(sizeof(hb_chunk) + 48);
    assert_int_equal(atomic_load(&spool->pool.state[index]), HB_CHUNK_FULL);
}

int main(int argc, char **argv)
{
    static const program programs[] = {PROGRAM(record_first)};
    int status;
    if (argc > 1 && is_program(argv, programs, 1, &status)) return status;
    const struct CMUnitTest tests[] = {
        IN_SESSION(a_thread_joins_the_session_that_runs),
        IN_SESSION(a_new_chunk_says_whose_it_is),
        IN_DIR(no_scope_has_the_number_0),
        IN_SESSION(a_full_chunk_is_the_writers_and_the_next_is_taken),
        IN_SESSION(the_next_session_goes_on_in_the_chunk),
        IN_SESSION(a_chunk_of_a_session_that_has_settled_is_left),
        IN_SESSION(a_chunk_is_left_when_little_of_it_is_left),
        IN_SESSION(a_chunk_of_another_spool_is_left),
        IN_SESSION(little_is_put_into_chunks_that_a_kill_takes),
        IN_SESSION(where_there_is_no_file_chunks_in_memory_are_filled),
        IN_SESSION(a_chunk_in_memory_is_gone_on_in_while_the_file_has_none),
        IN_SESSION(what_finds_no_chunk_is_lost_to_its_session),
        IN_SESSION(a_chunk_that_is_used_again_begins_empty),
        IN_SESSION(behind_its_sessions_end_a_call_takes_no_chunk),
        IN_SESSION(only_a_chunk_of_the_present_session_is_given_up),
        IN_SESSION(the_next_thread_goes_on_in_a_dead_ones_chunk),
        IN_SESSION(a_dead_threads_chunk_in_memory_is_the_writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
