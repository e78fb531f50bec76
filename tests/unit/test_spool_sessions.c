/* SPDX-License-Identifier: MIT
 *
 * Sessions of one spool, as its thread writes them behind: what is written, when, and where the
 * file's space is used again, is what was recorded.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <hipboard/analysis.h>
#include <hipboard/hipboard.h>

#include "record/codec.h"
#include "record/session.h"
#include "test_dir.h"
#include "written_trace.h"

enum { IN_A_CHUNK = (HB_CHUNK_BYTES - sizeof(hb_chunk)) / sizeof(hb_record), PATIENCE_MS = 60000 };

static hb_spool *spool; /* each test's own, since one that fails may leave threads that use it */

static void open_spool(uint64_t max_bytes)
{
    hb_spool_options options = {dir, "sessions", max_bytes};
    assert_int_equal(hb_record_init(), HB_OK);
    spool = calloc(1, sizeof *spool);
    assert_non_null(spool);
    assert_int_equal(hb_spool_open(spool, &options), HB_OK);
    assert_non_null(spool->path);
}

static void close_spool(bool keep)
{
    assert_true(hb_spool_close(spool, keep));
    free(spool);
}

static hb_session *begin(uint32_t flags)
{
    hb_session *session;
    assert_int_equal(hb_session_begin(spool, flags, 0, &session), HB_OK);
    return session;
}

static void record_scopes(int count)
{
    for (int i = 0; i < count; i++)
        HB_RECORD_FUNCTION("scope") {
        }
}

static uint32_t parts_in_chunks(const hb_session *session)
{
    uint32_t count = 0;
    hb_lock_take(&spool->lock);
    const hb_records *records = hb_spool_records(spool, session->number);
    for (uint32_t i = 0; i < records->threads.count; i++)
        for (uint32_t k = 0; k < records->threads.items[i].parts.count; k++)
            count += records->threads.items[i].parts.items[k].place == HB_PART_CHUNK;
    hb_lock_give(&spool->lock);
    return count;
}

static void wait_until_written(const hb_session *session)
{
    for (int ms = 0; ms < PATIENCE_MS && parts_in_chunks(session); ms++)
        usleep(1000);
    assert_int_equal(parts_in_chunks(session), 0);
}

/* This thread's, of an ended session. */
static hb_cursor cursor_of(const hb_spool_view *view, const hb_session *session, uint32_t types)
{
    const hb_records *records = view->records(view, session);
    assert_int_equal(records->threads.count, 1);
    return hb_cursor_open(view, records, hb_records_nth(records, 0), types);
}

/* In the order of their start; how many have no end goes to *open. */
static int count_scopes(const hb_session *session, int *open)
{
    uint64_t id, start = 0;
    int count = 0;
    hb_spool_view view = hb_spool_view_own(spool);
    hb_cursor c = cursor_of(&view, session, HB_TYPES_ALL);
    *open = 0;
    for (const hb_record *r; (r = hb_cursor_next(&c, &id)); count++) {
        assert_int_equal(r->type, HB_RECORD_ANNOTATION);
        assert_true(r->start >= start && (r->end == 0 || r->end >= r->start));
        start = r->start;
        *open += r->end == 0;
    }
    hb_cursor_close(&c);
    assert_int_equal(hb_spool_was_read(spool, 0), HB_OK);
    return count;
}

static void assert_scopes(const hb_session *session, int count)
{
    int open;
    assert_int_equal(count_scopes(session, &open), count);
    assert_int_equal(open, 0);
}

/* ---- scopes that are open ---- */

/* A chunk is not written before they have ended, wherever in it they are, and whatever was in it
 * before. */
static void scopes_that_end_late_have_their_ends(void **state)
{
    (void)state;
    enum { ROUNDS = 20, LOOKS_US = 10000 };
    int count = 0;
    open_spool(64 << 20);
    hb_session *session = begin(0);
    for (int i = 0; i < ROUNDS; i++) {
        int before = IN_A_CHUNK - IN_A_CHUNK / ROUNDS * (i + 1);
        record_scopes(before);
        hb_scope late = hb_record_function("late");
        record_scopes(IN_A_CHUNK);
        usleep(LOOKS_US); /* the writer has looked at the chunk */
        hb_scope_end(&late);
        usleep(LOOKS_US); /* and given it back */
        count += before + 1 + IN_A_CHUNK;
    }
    hb_session_end(session);
    assert_scopes(session, count);
    wait_until_written(session);
    assert_scopes(session, count);
    hb_session_release(spool, session);
    close_spool(false);
}

/* Two in each chunk, which is not written before the session's end for that. */
static int record_what_stays_open(int chunks)
{
    for (int i = 0; i < 2 * chunks; i++) {
        (void)hb_record_function("open");
        record_scopes(IN_A_CHUNK / 2);
    }
    return 2 * chunks * (1 + IN_A_CHUNK / 2);
}

static uint32_t ready_chunks(void)
{
    return atomic_load(&spool->pool.ready_in_file);
}

static void assert_parts_tell_what_they_have(const hb_session *session)
{
    uint64_t id;
    hb_spool_view view = hb_spool_view_own(spool);
    const hb_records *records = view.records(&view, session);
    const hb_thread_records *t = hb_records_nth(records, 0);
    uint64_t bytes = 0;
    hb_cursor c = cursor_of(&view, session, HB_TYPES_ALL);
    for (uint32_t i = 0; i < t->parts.count; i++) {
        const hb_part *part = &t->parts.items[i];
        assert_int_equal(part->place, HB_PART_FILE);
        assert_int_equal(part->types, 1u << HB_RECORD_ANNOTATION);
        const hb_record *r = hb_cursor_next(&c, &id);
        assert_true(r->start == part->first_tick && id == part->first_id);
        for (uint32_t k = 1; k < part->raw_bytes / sizeof *r; k++)
            r = hb_cursor_next(&c, &id);
        assert_in_range(part->last_tick, r->start, UINT64_MAX);
        bytes += part->coded_bytes;
    }
    assert_null(hb_cursor_next(&c, &id));
    hb_cursor_close(&c);
    assert_int_equal(records->bytes, bytes);
    c = cursor_of(&view, session, 1u << HB_RECORD_MEMORY);
    assert_null(hb_cursor_next(&c, &id));
    hb_cursor_close(&c);
}

/* They go into the file after the session's end, and leave their chunks to the next one. */
static void what_was_held_back_is_written_when_the_session_has_ended(void **state)
{
    (void)state;
    enum { CHUNKS = 20, OPEN = 2 * CHUNKS };
    int open;
    open_spool(64 << 20);
    hb_session *session = begin(0);
    uint32_t ready = ready_chunks();
    int count = record_what_stays_open(CHUNKS);
    assert_in_range(ready - ready_chunks(), CHUNKS, CHUNKS + 2);
    hb_session_end(session);
    assert_int_equal(count_scopes(session, &open), count);
    assert_int_equal(open, OPEN);
    wait_until_written(session);
    assert_int_equal(count_scopes(session, &open), count);
    assert_int_equal(open, OPEN);
    assert_parts_tell_what_they_have(session);
    for (int ms = 0; ms < PATIENCE_MS && ready_chunks() < ready - 1; ms++)
        usleep(1000);
    assert_in_range(ready_chunks(), ready - 1, ready); /* one has names */
    hb_session_release(spool, session);
    close_spool(false);
}

/* ---- a file that stays ---- */

static cJSON *recovered(void)
{
    char path[PATH_MAX];
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    assert_int_equal(list_dir(dir, NULL, path, sizeof path), 1);
    return load_trace(path);
}

static int count_beginning(const cJSON *trace, const char *name)
{
    int n = 0;
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        n += strncmp(text_of(event, "name"), name, strlen(name)) == 0;
    }
    return n;
}

/* Also what lay in memory, because the file had too few chunks. */
static void a_file_that_stays_has_all_that_was_recorded(void **state)
{
    (void)state;
    enum { CHUNKS = 12, OPEN = 2 * CHUNKS };
    open_spool(4 << 20); /* so many of its chunks are in the file, and two have other things */
    hb_session *session = begin(0);
    int count = record_what_stays_open(CHUNKS);
    hb_session_end(session);
    assert_int_equal(hb_session_lost(session).buffer_full, 0);
    close_spool(true);
    cJSON *trace = recovered();
    assert_int_equal(count_beginning(trace, "scope"), count - OPEN);
    assert_int_equal(count_beginning(trace, "open"), OPEN);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_lost_by_kill"));
    cJSON_Delete(trace);
}

static uint64_t file_size(void)
{
    struct stat st;
    assert_int_equal(stat(spool->path, &st), 0);
    return (uint64_t)st.st_size;
}

/* The last one with records. */
static void release_and_cut_off(hb_session *session)
{
    uint64_t before = file_size();
    hb_session_release(spool, session);
    for (int ms = 0; ms < PATIENCE_MS && file_size() == before; ms++)
        usleep(1000);
    assert_true(file_size() < before);
}

enum { NAMES = 3000 };

static void record_names(void)
{
    for (int i = 0; i < NAMES; i++) {
        char name[64];
        snprintf(name, sizeof name, "a name of its own, as long as they are: %d", i);
        hb_scope s = hb_record_function(name);
        hb_scope_end(&s);
    }
}

/* The records before them go, and so the end of the file is cut off; not what later sessions need.
 */
static void names_stay_in_a_file_that_is_cut_off(void **state)
{
    (void)state;
    open_spool(64 << 20);
    hb_session *session = begin(0);
    record_names();
    record_scopes(4 * IN_A_CHUNK);
    hb_session_end(session);
    wait_until_written(session);
    release_and_cut_off(session);
    session = begin(0);
    record_names();
    hb_session_end(session);
    close_spool(true);
    cJSON *trace = recovered();
    assert_int_equal(count_beginning(trace, "a name of its own"), NAMES);
    cJSON_Delete(trace);
}

/* ---- space ---- */

static hb_session *written_session(int scopes)
{
    hb_session *session = begin(0);
    record_scopes(scopes);
    hb_session_end(session);
    wait_until_written(session);
    return session;
}

static void wait_until_given_back(void)
{
    bool all = false;
    for (int ms = 0; ms < PATIENCE_MS && !all; ms++) {
        usleep(1000);
        hb_lock_take(&spool->lock);
        all = spool->unneeded.size == 0;
        hb_lock_give(&spool->lock);
    }
    assert_true(all);
    usleep(20000); /* and is free */
}

/* By others, of other sizes, while some stay as they are; and the file does not grow for ever. */
static void space_of_sessions_that_are_gone_is_used_again(void **state)
{
    (void)state;
    enum { ROUNDS = 12, SESSIONS = 4 };
    hb_session *sessions[SESSIONS];
    int counts[SESSIONS];
    uint64_t size = 0;
    open_spool(64 << 20);
    for (int i = 0; i < SESSIONS; i++) {
        counts[i] = (i + 1) * IN_A_CHUNK + 100 * i;
        sessions[i] = written_session(counts[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        int gone = round % SESSIONS, next = (round + 2) % SESSIONS;
        hb_session_release(spool, sessions[gone]);
        hb_session_release(spool, sessions[next]);
        wait_until_given_back();
        counts[gone] = (1 + (round * 3 + 1) % SESSIONS) * IN_A_CHUNK + 50 * round;
        counts[next] = (1 + round % 2) * IN_A_CHUNK;
        sessions[gone] = written_session(counts[gone]);
        sessions[next] = written_session(counts[next]);
        for (int i = 0; i < SESSIONS; i++)
            assert_scopes(sessions[i], counts[i]);
        if (round == 1) size = file_size();
    }
    assert_in_range(file_size(), 0, size + 4 * HB_CHUNK_BYTES);
    for (int i = 0; i < SESSIONS; i++)
        hb_session_release(spool, sessions[i]);
    close_spool(false);
}

/* What was free behind the file's new end is no more. */
static void space_that_was_cut_off_is_not_used(void **state)
{
    (void)state;
    enum { FEW = 2 * IN_A_CHUNK, MANY = 6 * IN_A_CHUNK };
    open_spool(64 << 20);
    hb_session *first = written_session(MANY), *last = written_session(FEW);
    hb_session_release(spool, first);
    wait_until_given_back();
    release_and_cut_off(last);
    first = written_session(FEW);
    last = written_session(2 * MANY);
    assert_scopes(first, FEW);
    assert_scopes(last, 2 * MANY);
    hb_session_release(spool, first);
    hb_session_release(spool, last);
    close_spool(false);
}

/* ---- what gets no smaller ---- */

static uint64_t seed = 1;

static int64_t random_size(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(seed ^ seed >> 29);
}

/* Inputs whose sizes have nothing in common. */
static void records_that_cannot_be_coded_smaller_come_back(void **state)
{
    (void)state;
    enum { OPS = 2000, DIMS = 40 };
    static uint64_t expected[OPS];
    uint64_t id;
    int count = 0, uncoded = 0;
    open_spool(64 << 20);
    hb_session *session = begin(HB_SESSION_SHAPES);
    for (int i = 0; i < OPS; i++) {
        int64_t dims[DIMS];
        for (int k = 0; k < DIMS; k++)
            dims[k] = random_size();
        expected[i] = (uint64_t)dims[DIMS - 1];
        hb_input input = {.kind = HB_INPUT_INT_LIST, .count = DIMS, .dims = dims};
        hb_scope s = hb_op("aten::odd", &(hb_op_info){.inputs = &input, .num_inputs = 1});
        hb_scope_end(&s);
    }
    hb_session_end(session);
    wait_until_written(session);
    hb_spool_view view = hb_spool_view_own(spool);
    const hb_thread_records *t = hb_records_nth(view.records(&view, session), 0);
    for (uint32_t i = 0; i < t->parts.count; i++) {
        uncoded += t->parts.items[i].codec == HB_CODEC_RAW;
        assert_in_range(t->parts.items[i].coded_bytes, 1, t->parts.items[i].raw_bytes);
    }
    assert_in_range(uncoded, 1, t->parts.count);
    hb_cursor c = cursor_of(&view, session, HB_TYPES_ALL);
    for (const hb_record *r; (r = hb_cursor_next(&c, &id)); count++) {
        const char *end = (const char *)r + (size_t)r->units * 8;
        assert_non_null(memmem(r + 1, (size_t)(end - (const char *)(r + 1)), &expected[count],
                               sizeof expected[count]));
    }
    hb_cursor_close(&c);
    assert_int_equal(count, OPS);
    hb_session_release(spool, session);
    close_spool(false);
}

/* What was lost before its end, for whatever reason; what was lost earlier is no session's. */
static void each_reason_of_a_loss_is_the_sessions(void **state)
{
    (void)state;
    open_spool(64 << 20);
    hb_session *session = begin(0);
    record_scopes(1);
    for (int cause = 0; cause < HB_LOST_CAUSES; cause++)
        for (int n = 0; n <= cause; n++)
            hb_lost_add((enum hb_lost_cause)cause);
    hb_session_end(session);
    for (int cause = 0; cause < HB_LOST_CAUSES; cause++)
        assert_int_equal(session->lost[cause], cause + 1);
    hb_session_release(spool, session);
    close_spool(false);
}

/* TensorBoard and others take traces of one id for one. */
static void each_snapshot_has_an_id_of_its_own(void **state)
{
    (void)state;
    hb_snapshot *first, *second;
    open_spool(64 << 20);
    hb_session *session = begin(0);
    record_scopes(1);
    assert_int_equal(hb_session_snapshot(spool, session, &first), HB_OK);
    assert_int_equal(hb_session_snapshot(spool, session, &second), HB_OK);
    assert_int_equal(strlen(first->session.trace_id), strlen(session->trace_id));
    assert_string_not_equal(first->session.trace_id, session->trace_id);
    assert_string_not_equal(first->session.trace_id, second->session.trace_id);
    hb_snapshot_close(first);
    hb_snapshot_close(second);
    hb_session_end(session);
    hb_session_release(spool, session);
    close_spool(false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(scopes_that_end_late_have_their_ends),
        IN_DIR(what_was_held_back_is_written_when_the_session_has_ended),
        IN_DIR(a_file_that_stays_has_all_that_was_recorded),
        IN_DIR(names_stay_in_a_file_that_is_cut_off),
        IN_DIR(space_of_sessions_that_are_gone_is_used_again),
        IN_DIR(space_that_was_cut_off_is_not_used),
        IN_DIR(records_that_cannot_be_coded_smaller_come_back),
        IN_DIR(each_reason_of_a_loss_is_the_sessions),
        IN_DIR(each_snapshot_has_an_id_of_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
