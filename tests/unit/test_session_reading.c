/* SPDX-License-Identifier: MIT
 *
 * What is read of a session: wherever its parts lie by then, of the right thread and session, and
 * no more than was there when it was looked at.
 */
#include <errno.h>
#include <fcntl.h>

#include "forks_with_threads.h"
#include "program.h"
#include "record/strings.h"
#include "settled_session.h"
#include "still_session.h"

static hb_spool_view view;

static int begin(void **state)
{
    (void)state;
    if (begin_session(64 << 20, 0)) return -1;
    view = hb_spool_view_own(spool);
    return 0;
}

static int end(void **state)
{
    (void)state;
    return end_session();
}

enum { EACH = sizeof(hb_record_scalar), GUARD = 0x5a };

static const hb_thread_records *thread_of(const hb_session *of)
{
    const hb_records *records = view.records(&view, of);
    assert_int_equal(records->threads.count, 1);
    return hb_records_nth(records, 0);
}

/* So many numbers from 0 on, by a view's `load`, and nothing behind them. */
static bool loads(const hb_spool_view *by, const hb_part *part, int count)
{
    union {
        unsigned char bytes[20 * EACH];
        hb_record_scalar numbers[20];
    } raw;
    memset(&raw, GUARD, sizeof raw);
    assert_in_range(count, 0, 19);
    assert_int_equal(part->raw_bytes, count * EACH);
    const hb_thread_records *t = hb_records_nth(view.records(&view, session), 0);
    if (!by->load(by, session->number, t, part, (char *)raw.bytes)) return false;
    for (int i = 0; i < count; i++)
        assert_true(raw.numbers[i].head.type == HB_RECORD_SCALAR && raw.numbers[i].value == i);
    for (size_t i = (size_t)count * EACH; i < sizeof raw; i++)
        assert_int_equal(raw.bytes[i], GUARD);
    return true;
}

static int numbers_to_record;

static void record_numbers(worker *w)
{
    (void)w;
    record_scalars(numbers_to_record);
}

static void record_by_a_thread(int count)
{
    worker w;
    numbers_to_record = count;
    start_worker(&w);
    do_on(&w, record_numbers);
    end_worker(&w);
}

/* ---- chunks of several ---- */

static void a_view_is_of_this_process(void **state)
{
    (void)state;
    assert_ptr_equal(view.head, &spool->head);
    assert_true(view.same_process);
    hb_str name = view.string(&view, hb_strings_intern("a name of mine", 14));
    assert_int_equal(name.len, 14);
    assert_memory_equal(name.s, "a name of mine", 14);
}

/* One after the other in one chunk, each with parts of the same number. */
static void threads_that_share_a_chunk_are_told_apart(void **state)
{
    (void)state;
    record_by_a_thread(3);
    record_by_a_thread(5);
    record_by_a_thread(1);
    hb_session_end(session);
    assert_int_equal(view.records(&view, session)->threads.count, 3);
    assert_int_equal(count_scalars(&view, session, 0), 3);
    assert_int_equal(count_scalars(&view, session, 1), 5);
    assert_int_equal(count_scalars(&view, session, 2), 1);
    const hb_records *records = view.records(&view, session);
    uint32_t chunk = hb_records_nth(records, 0)->parts.items[0].chunk;
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(hb_records_nth(records, i)->parts.items[0].chunk, chunk);
}

static void sessions_that_share_a_chunk_are_told_apart(void **state)
{
    (void)state;
    record_scalars(2);
    hb_session_stop(session);
    hb_session *next = begin_in(spool, 0);
    record_scalars(4);
    hb_session_stop(next);
    hb_session_settle(spool, session);
    hb_session_settle(spool, next);
    assert_int_equal(only_part(spool, session)->chunk, only_part(spool, next)->chunk);
    assert_int_equal(count_scalars(&view, session, 0), 2);
    assert_int_equal(count_scalars(&view, next, 0), 4);
    hb_session_release(spool, next);
}

static void parts_of_one_thread_are_told_apart(void **state)
{
    (void)state;
    record_scalars(2);
    hb_record_finish_chunk(hb_thread_tls);
    for (int i = 2; i < 5; i++)
        hb_record_scalar_value("a number", i);
    hb_session_end(session);
    assert_int_equal(thread_of(session)->parts.count, 2);
    assert_int_equal(count_scalars(&view, session, 0), 5);
}

/* ---- parts that have moved ---- */

/* What was seen in a chunk is elsewhere, and the chunk is somebody else's. */
static void a_part_is_read_where_it_is_by_now(void **state)
{
    (void)state;
    record_scalars(7);
    hb_session_end(session);
    hb_part *part = only_part(spool, session), seen = *part;
    assert_true(loads(&view, &seen, 7));
    put_into_memory(spool, part);
    assert_true(loads(&view, &seen, 7)); /* it is still there as well */
    hb_pool_give(&spool->pool, seen.chunk);
    assert_true(loads(&view, &seen, 7));
    assert_true(loads(&view, part, 7));
    part->coded_bytes--;
    assert_false(loads(&view, part, 7));
    part->coded_bytes++;
}

static void a_part_that_is_gone_is_not_read(void **state)
{
    (void)state;
    record_scalars(7);
    hb_session_end(session);
    hb_part seen = *only_part(spool, session);
    hb_pool_give(&spool->pool, seen.chunk);
    assert_false(loads(&view, &seen, 7));
    seen.sequence = 1;
    assert_false(loads(&view, &seen, 7));
    assert_int_equal(atomic_load(&spool->unread), 0); /* nor was it sought in the file */
}

/* Nobody may have dropped it while it is read. */
static void a_part_that_is_gone_from_where_it_was_written_is_counted(void **state)
{
    (void)state;
    record_scalars(7);
    hb_session_end(session);
    hb_part seen = *only_part(spool, session);
    seen.sequence = 1;
    static const uint8_t places[] = {HB_PART_FILE, HB_PART_MEMORY};
    for (uint64_t i = 0; i < HB_ARRAY_LEN(places); i++) {
        seen.place = places[i];
        atomic_store(&spool->read_error, ENOSPC); /* of earlier */
        assert_false(loads(&view, &seen, 7));
        assert_int_equal(hb_spool_was_read(spool, i), HB_ERROR_IO);
        assert_non_null(strstr(hb_last_error(), "they are damaged, or cut off"));
        assert_int_equal(hb_spool_was_read(spool, i + 1), HB_OK);
    }
}

/* It was filled on, and then written. */
static void no_more_is_read_than_was_seen(void **state)
{
    (void)state;
    record_scalars(3);
    hb_snapshot *snapshot;
    assert_int_equal(hb_session_snapshot(spool, session, &snapshot), HB_OK);
    hb_part seen = snapshot->records->threads.items[0].parts.items[0];
    for (int i = 3; i < 8; i++)
        hb_record_scalar_value("a number", i);
    hb_session_end(session);
    assert_true(loads(&view, &seen, 3));
    put_into_memory(spool, only_part(spool, session));
    hb_pool_give(&spool->pool, seen.chunk);
    assert_true(loads(&view, &seen, 3));
    assert_true(loads(&snapshot->view, &seen, 3));
    seen.raw_bytes = 9 * EACH; /* more than there was */
    assert_false(loads(&view, &seen, 9));
    hb_snapshot_close(snapshot);
}

/* Into the file, as the writer does. */
static void put_into_file(hb_part *part)
{
    struct {
        hb_segment segment;
        unsigned char coded[4096];
    } s = {.segment = {.kind = HB_SEGMENT_EVENTS, .codec = HB_CODEC_DELTA}};
    put_into_memory(spool, part);
    memcpy(s.coded, part->coded, part->coded_bytes);
    free(part->coded);
    s.segment.bytes = part->coded_bytes;
    part->place = HB_PART_FILE;
    assert_true(hb_spool_append(spool, &s.segment, &part->offset));
    hb_pool_give(&spool->pool, hb_pool_index(&spool->pool, hb_thread_tls->chunk));
}

static void what_does_not_come_back_is_counted_and_said(void **state)
{
    (void)state;
    char expected[600];
    record_scalars(7);
    hb_session_end(session);
    hb_part *part = only_part(spool, session);
    put_into_file(part);
    assert_true(loads(&view, part, 7));
    assert_int_equal(hb_spool_was_read(spool, 0), HB_OK);
    atomic_store(&spool->read_error, ENOSPC); /* of earlier */
    part->coded_bytes--;
    assert_false(loads(&view, part, 7));
    part->coded_bytes++;
    assert_int_equal(atomic_load(&spool->unread), 1);
    assert_int_equal(hb_spool_was_read(spool, 1), HB_OK);
    assert_int_equal(hb_spool_was_read(spool, 0), HB_ERROR_IO);
    snprintf(expected, sizeof expected,
             "records can't be read back from %s: they are damaged, or cut off", spool->path);
    assert_string_equal(hb_last_error(), expected);
    part->offset += 1 << 30;
    assert_false(loads(&view, part, 7));
    part->offset -= 1 << 30;
    assert_int_equal(atomic_load(&spool->unread), 2);
    assert_int_equal(hb_spool_was_read(spool, 1), HB_ERROR_IO);
    assert_string_equal(hb_last_error(), expected);
    assert_true(loads(&view, part, 7));
    assert_int_equal(hb_spool_was_read(spool, 2), HB_OK);
    view.has_no_room(&view);
    assert_int_equal(hb_spool_was_read(spool, 2), HB_ERROR_IO);
    assert_non_null(strstr(hb_last_error(), ": Cannot allocate memory"));
}

/* The number that the program's next file has. */
static int next_number(void)
{
    int fd = open("/dev/null", O_RDONLY);
    close(fd);
    return fd;
}

/* It is opened again by its name, unless that is another file's; also where the program has no
 * standard input, whose number it is given then. */
static void the_spools_file_is_found_again_where_the_program_closed_it(void **state)
{
    (void)state;
    char expected[600];
    record_scalars(7);
    hb_session_end(session);
    hb_part *part = only_part(spool, session);
    put_into_file(part);
    int nothing = open("/dev/null", O_RDONLY), input = fcntl(nothing, F_DUPFD, 50);
    close(nothing);
    assert_true(input >= 50 && dup2(input, STDIN_FILENO) == STDIN_FILENO);
    for (int i = 0; i < 3; i++) {
        close(spool->file.fd);
        if (i == 1) close(STDIN_FILENO);
        assert_true(loads(&view, part, 7));
        assert_true(hb_kept_file_is_there(&spool->file) && spool->file.fd > 2);
        assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
    }
    close(spool->file.fd);
    assert_int_equal(unlink(spool->path), 0);
    for (int i = 0; i < 3; i++) {
        if (i == 2) close(STDIN_FILENO);
        int next = next_number();
        assert_false(loads(&view, part, 7));
        assert_int_equal(next_number(), next); /* nothing stays open */
        snprintf(expected, sizeof expected, "records can't be read back from %s: %s", spool->path,
                 strerror(EBADF));
        assert_int_equal(hb_spool_was_read(spool, (uint64_t)i), HB_ERROR_IO);
        assert_string_equal(hb_last_error(), expected);
        assert_int_equal(dup2(input, STDIN_FILENO), STDIN_FILENO);
        close(open(spool->path, O_WRONLY | O_CREAT, 0600)); /* the next time */
    }
    close(input);
}

/* ---- snapshots ---- */

static void a_snapshot_has_what_was_recorded_until_then(void **state)
{
    (void)state;
    hb_snapshot *snapshot;
    hb_session other = {.number = session->number + 1};
    record_scalars(3);
    (void)hb_threads_take_lost(HB_LOST_TOO_BIG);
    hb_lost_add(HB_LOST_TOO_BIG);
    hb_clock_pair last = *hb_session_last(session);
    assert_int_equal(hb_session_snapshot(spool, session, &snapshot), HB_OK);
    hb_record_scalar_value("a number", 3);
    const hb_session *copy = &snapshot->session;
    hb_records *records = hb_spool_records(spool, session->number);
    assert_int_equal(copy->number, session->number);
    assert_int_equal(copy->state, HB_SESSION_STOPPED);
    assert_int_equal(copy->lost[HB_LOST_TOO_BIG], 1);
    assert_int_equal(session->lost[HB_LOST_TOO_BIG], 1);
    assert_in_range(hb_session_last(copy)->ticks, last.ticks + 1, UINT64_MAX);
    assert_memory_equal(hb_session_last(session), &last, sizeof last);
    assert_int_equal(hb_session_state(session), HB_SESSION_RECORDING);
    assert_int_equal(records->threads.count, 0); /* nothing of it is the session's own yet */
    assert_int_equal(count_scalars(&snapshot->view, copy, 0), 3);
    assert_int_equal(count_scalars(&snapshot->view, &other, 0), -1);
    assert_int_equal(records->snapshots, 1);
    hb_snapshot_close(snapshot);
    assert_int_equal(records->snapshots, 0);
    hb_snapshot_close(NULL);
    assert_int_equal(hb_session_snapshot(spool, session, &snapshot), HB_OK);
    assert_int_equal(count_scalars(&snapshot->view, &snapshot->session, 0), 4);
    hb_session_end(session);
    hb_snapshot_close(snapshot);
    assert_int_equal(count_scalars(&view, session, 0), 4);
}

/* Of each part the cursor has but the first bytes; of one that nobody has filled, none. */
static void a_snapshot_of_nothing_is_empty(void **state)
{
    (void)state;
    hb_snapshot *snapshot;
    assert_int_equal(hb_session_snapshot(spool, session, &snapshot), HB_OK);
    assert_int_equal(count_scalars(&snapshot->view, &snapshot->session, 0), -1);
    hb_snapshot_close(snapshot);
    hb_session gone = {.number = session->number + 100};
    assert_int_equal(hb_session_snapshot(spool, &gone, &snapshot), HB_ERROR_NO_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SESSION(a_view_is_of_this_process),
        IN_SESSION(threads_that_share_a_chunk_are_told_apart),
        IN_SESSION(sessions_that_share_a_chunk_are_told_apart),
        IN_SESSION(parts_of_one_thread_are_told_apart),
        IN_SESSION(a_part_is_read_where_it_is_by_now),
        IN_SESSION(a_part_that_is_gone_is_not_read),
        IN_SESSION(a_part_that_is_gone_from_where_it_was_written_is_counted),
        IN_SESSION(no_more_is_read_than_was_seen),
        IN_SESSION(what_does_not_come_back_is_counted_and_said),
        IN_SESSION(the_spools_file_is_found_again_where_the_program_closed_it),
        IN_SESSION(a_snapshot_has_what_was_recorded_until_then),
        IN_SESSION(a_snapshot_of_nothing_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
