/* SPDX-License-Identifier: MIT
 *
 * What the spool's thread makes of each chunk, of chunks that are filled by hand: which it writes,
 * which it leaves as they are, and what is told of what it wrote.
 */
#include <sys/statvfs.h>

#include <hipboard/hipboard.h>

#include "record/codec.h"
#include "still_spool.h"
#include "test_dir.h"

enum { PATIENCE_MS = 60000, MARKERS = 20, GONE = 0x7fffff00, THREAD = 3, SMALL = 24 };

static hb_spool *spool; /* each test's own, since one that fails may leave its thread */
static hb_session *session;
static uint32_t markers[MARKERS], num_markers;

/* In place of the C library's: there is room for all the chunks that a file may have. */
int fstatvfs(int fd, struct statvfs *fs)
{
    (void)fd;
    *fs = (struct statvfs){.f_frsize = 4096, .f_bavail = 1u << 30};
    return 0;
}

/* ---- chunks ---- */

static _Atomic uint32_t *state_of(uint32_t index)
{
    return &spool->pool.state[index];
}

static uint32_t take(bool in_file)
{
    uint32_t index = in_file ? hb_pool_take_in_file(&spool->pool) : hb_pool_take(&spool->pool);
    assert_int_not_equal(index, 0);
    return index;
}

/* Records of a thread behind `at` bytes of a chunk, which is nobody's so far. */
static hb_chunk *put_behind(uint32_t index, uint32_t at, uint32_t number, uint32_t sequence,
                            const void *records, size_t bytes)
{
    hb_chunk *chunk = (hb_chunk *)((char *)hb_spool_chunk(spool, index) + at);
    const hb_events_info info = {.session = number,
                                 .thread = THREAD,
                                 .sequence = sequence,
                                 .tid = 77,
                                 .first_id = 1000 + sequence,
                                 .thread_name = "by hand"};
    *chunk = (hb_chunk){.used = (uint32_t)(sizeof *chunk + bytes), .events = info};
    if (bytes) memcpy(chunk + 1, records, bytes);
    __atomic_store_n(&chunk->kind, HB_CHUNK_EVENTS, __ATOMIC_RELEASE);
    return chunk;
}

static hb_chunk *put(uint32_t index, uint32_t sequence, const void *records, size_t bytes)
{
    return put_behind(index, 0, session->number, sequence, records, bytes);
}

static void leave(uint32_t index)
{
    atomic_store_explicit(state_of(index), HB_CHUNK_FULL, memory_order_release);
}

static void wait_until_ready(uint32_t index)
{
    for (int ms = 0; ms < PATIENCE_MS && atomic_load(state_of(index)) != HB_CHUNK_READY; ms++)
        usleep(1000);
    assert_int_equal(atomic_load(state_of(index)), HB_CHUNK_READY);
}

/* Until the thread has looked at all that is there by now: a chunk of a session that is gone is
 * given back at once; then another that lies before it, for which it has to come again. */
static void wait_until_looked_at(void)
{
    assert_true(num_markers >= 2);
    for (int i = 0; i < 2; i++) {
        uint32_t index = markers[--num_markers];
        leave(index);
        wait_until_ready(index);
    }
}

static void assert_left_as_it_is(uint32_t index)
{
    wait_until_looked_at();
    assert_int_not_equal(atomic_load(state_of(index)), HB_CHUNK_READY);
}

/* ---- a spool ---- */

static void take_markers(void)
{
    num_markers = MARKERS;
    for (uint32_t i = 0; i < MARKERS; i++) {
        /* In memory: those that a file has may be beyond its limit. */
        markers[i] = take(false);
        assert_false(hb_pool_is_in_file(&spool->pool, markers[i]));
        if (i) assert_true(markers[i] > markers[i - 1]);
        put_behind(markers[i], 0, GONE, 0, NULL, 0);
    }
}

/* In memory, unless there is a directory. A file's chunks are all taken from the pool then. */
static void open_spool(const char *in, uint32_t flags)
{
    spool = live_spool(in, 16 << 20);
    assert_int_equal(spool->path != NULL, in != NULL);
    session = begin_in(spool, flags);
}

static void close_spool(void)
{
    if (hb_session_state(session) == HB_SESSION_RECORDING) hb_session_end(session);
    hb_session_release(spool, session);
    close_test_spool(spool);
}

/* A copy of what is known of a part; there must be one. */
static hb_part part_of(uint32_t sequence)
{
    hb_lock_take(&spool->lock);
    hb_records *records = hb_spool_records(spool, session->number);
    const hb_thread_records *t = hb_records_find_thread(records, THREAD);
    const hb_part *found = t ? hb_records_find(t, sequence) : NULL;
    hb_part part = found ? *found : (hb_part){.raw_bytes = UINT32_MAX};
    hb_lock_give(&spool->lock);
    if (!found) fail_msg("no part %u", sequence);
    return part;
}

static uint32_t num_parts(void)
{
    hb_lock_take(&spool->lock);
    const hb_records *records = hb_spool_records(spool, session->number);
    const hb_thread_records *t = hb_records_find_thread(records, THREAD);
    uint32_t count = t ? t->parts.count : 0;
    hb_lock_give(&spool->lock);
    return count;
}

static void assert_bytes(uint64_t bytes)
{
    hb_lock_take(&spool->lock);
    assert_int_equal(hb_spool_records(spool, session->number)->bytes, bytes);
    assert_int_equal(spool->kept_bytes, bytes);
    hb_lock_give(&spool->lock);
    assert_int_equal(atomic_load(&spool->pool.elsewhere),
                     (bytes + HB_CHUNK_BYTES - 1) / HB_CHUNK_BYTES);
}

static hb_record record_of(uint8_t type, uint64_t start, uint64_t end)
{
    return (hb_record){.type = type, .units = 3, .start = start, .end = end, .name = 9};
}

/* ---- what is open ---- */

/* Of the types that have an end, as long as there is none, or only another thread knows of it. */
static void a_chunk_waits_for_the_ends_of_its_scopes(void **state)
{
    enum { MOST_TYPE = 20 };
    (void)state;
    uint32_t chunks[MOST_TYPE + 1][4];
    const uint64_t ends[4] = {0, 9 | HB_END_ELSEWHERE, 9 | HB_END_ELSEWHERE | HB_END_SEEN, 9};
    open_spool(NULL, 0);
    for (uint8_t type = 1; type <= MOST_TYPE; type++)
        for (uint32_t i = 0; i < 4; i++) {
            hb_record r = record_of(type, 5, ends[i]);
            put(chunks[type][i] = take(false), type * 4u + i, &r, sizeof r);
        }
    take_markers();
    for (uint8_t type = 1; type <= MOST_TYPE; type++)
        for (uint32_t i = 0; i < 4; i++)
            leave(chunks[type][i]);
    wait_until_looked_at();
    for (uint8_t type = 1; type <= MOST_TYPE; type++)
        for (uint32_t i = 0; i < 4; i++) {
            bool has_end = (type >= 1 && type <= 3) || (type >= 7 && type <= 10);
            assert_int_equal(atomic_load(state_of(chunks[type][i])) != HB_CHUNK_READY,
                             has_end && i < 2);
        }
    hb_session_end(session); /* nothing ends any more */
    for (uint8_t type = 1; type <= MOST_TYPE; type++)
        for (uint32_t i = 0; i < 2; i++)
            wait_until_ready(chunks[type][i]);
    close_spool();
}

/* Wherever it is: what has ended before it is not looked at again, and all behind it is. */
static void it_waits_for_each_of_them(void **state)
{
    enum { RECORDS = 100 };
    (void)state;
    hb_record records[RECORDS];
    static const int open[] = {0, 37, 38, RECORDS - 1};
    open_spool(NULL, 0);
    uint32_t index = take(false);
    for (int i = 0; i < RECORDS; i++)
        records[i] = record_of(HB_RECORD_OP, 10 + (uint64_t)i, 11 + (uint64_t)i);
    for (size_t i = 0; i < HB_ARRAY_LEN(open); i++)
        records[open[i]].end = 0;
    hb_record *hot = (hb_record *)(put(index, 0, records, sizeof records) + 1);
    take_markers();
    leave(index);
    for (size_t i = 0; i < HB_ARRAY_LEN(open); i++) {
        assert_left_as_it_is(index);
        __atomic_store_n(&hot[open[i]].end, 200, __ATOMIC_RELEASE);
    }
    wait_until_ready(index);
    assert_int_equal(part_of(0).raw_bytes, sizeof records);
    assert_int_equal(part_of(0).last_tick, 200);
    /* What was seen of a chunk is of that use of it. */
    uint32_t again = take(false);
    assert_int_equal(again, index);
    hot = (hb_record *)(put(index, 1, records, sizeof records) + 1);
    leave(index);
    assert_left_as_it_is(index);
    for (size_t i = 0; i < HB_ARRAY_LEN(open); i++)
        __atomic_store_n(&hot[open[i]].end, 300, __ATOMIC_RELEASE);
    wait_until_ready(index);
    assert_int_equal(part_of(1).last_tick, 300);
    close_spool();
}

/* Which a chunk may hold of several sessions. */
static void it_waits_for_those_of_later_sessions(void **state)
{
    (void)state;
    hb_record ended = record_of(HB_RECORD_OP, 5, 6), open = record_of(HB_RECORD_OP, 7, 0);
    open_spool(NULL, 0);
    uint32_t index = take(false);
    hb_chunk *first = put_behind(index, 0, GONE, 0, &open, sizeof open);
    hb_record two[] = {ended, open};
    hb_chunk *second = put_behind(index, first->used, session->number, 4, two, sizeof two);
    first->next = first->used;
    take_markers();
    leave(index);
    assert_left_as_it_is(index);
    assert_int_equal(num_parts(), 0);
    __atomic_store_n(&((hb_record *)(second + 1))[1].end, 9, __ATOMIC_RELEASE);
    wait_until_ready(index);
    assert_int_equal(num_parts(), 1);
    assert_int_equal(part_of(4).raw_bytes, sizeof two);
    assert_int_equal(part_of(4).first_tick, 5);
    assert_int_equal(part_of(4).last_tick, 9);
    close_spool();
}

/* Nor those that some thread fills, or is about to. */
static void only_chunks_that_nobody_fills_are_written(void **state)
{
    (void)state;
    static const uint32_t states[] = {HB_CHUNK_RESUMED, HB_CHUNK_TAKEN, HB_CHUNK_TAKEN + 1};
    hb_record r = record_of(HB_RECORD_OP, 5, 6);
    open_spool(NULL, 0);
    uint32_t index = take(false), other = take(false);
    put(index, 0, &r, sizeof r);
    put(other, 1, &r, sizeof r)->kind = HB_CHUNK_SESSIONS; /* which is no records */
    take_markers();
    leave(other);
    for (size_t i = 0; i < HB_ARRAY_LEN(states); i++) {
        atomic_store(state_of(index), states[i]);
        assert_left_as_it_is(index);
    }
    atomic_store(state_of(index), HB_CHUNK_BEYOND);
    wait_until_ready(index);
    assert_left_as_it_is(other);
    assert_int_equal(num_parts(), 1);
    hb_lock_take(&spool->lock);
    assert_int_equal(spool->being_written, 0);
    hb_lock_give(&spool->lock);
    close_spool();
}

/* ---- what is written ---- */

/* Records of which `large` words get no smaller by being coded, and the others do. */
static size_t make_words(uint64_t words[64], uint32_t name, uint32_t large, uint32_t all)
{
    memset(words, 0, 64 * sizeof *words);
    *(hb_record *)words = (hb_record){
        .type = HB_RECORD_METADATA, .units = (uint16_t)(3 + all), .start = 50, .name = name};
    for (uint32_t i = 0; i < large; i++)
        words[3 + i] = UINT64_C(1) << 62;
    return (3 + all) * sizeof *words;
}

/* A record that takes as many bytes coded as it is; nothing is gained by coding that. */
static size_t make_no_smaller(uint64_t words[64])
{
    unsigned char coded[HB_CODEC_MOST(64 * 8)];
    for (uint32_t all = 8; all < 40; all++)
        for (uint32_t large = 1; large < all; large++)
            for (uint32_t bits = 0; bits < 30; bits += 7) {
                size_t size = make_words(words, 1u << bits, large, all);
                if (hb_codec_encode((const char *)words, size, coded) == size) return size;
            }
    fail_msg("there is none");
    return 0;
}

static void assert_content(uint32_t sequence, const void *records, size_t bytes)
{
    char raw[600];
    unsigned char coded[HB_CODEC_MOST(sizeof raw)];
    hb_part part = part_of(sequence);
    assert_in_range(bytes, 0, sizeof raw);
    assert_int_equal(part.raw_bytes, bytes);
    if (part.place == HB_PART_FILE)
        assert_true(hb_spool_read(spool, part.offset, coded, part.coded_bytes));
    else
        memcpy(coded, part.coded, part.coded_bytes);
    assert_true(hb_part_decode(&part, coded, raw));
    assert_memory_equal(raw, records, bytes);
}

/* In memory, and in a file. */
static void what_is_written_is_told_in_full(void **state)
{
    (void)state;
    for (int in_file = 0; in_file < 2; in_file++) {
        uint64_t words[64];
        const hb_record small[] = {record_of(HB_RECORD_OP, 40, 90),
                                   record_of(HB_RECORD_ANNOTATION, 45, 60)};
        unsigned char coded[HB_CODEC_MOST(sizeof words)];
        uint32_t sizes[3];
        open_spool(in_file ? dir : NULL, 0);
        size_t equal = make_no_smaller(words);
        uint32_t first = take(false), second = take(false), third = take(false);
        put(first, 7, small, sizeof small);
        put(second, 8, words, equal);
        put(third, 9, NULL, 0)->used -= 8; /* not even a head: nothing */
        leave(first);
        leave(second);
        leave(third);
        wait_until_ready(first);
        wait_until_ready(second);
        wait_until_ready(third);
        sizes[0] = (uint32_t)hb_codec_encode((const char *)small, sizeof small, coded);
        sizes[1] = (uint32_t)equal;
        sizes[2] = 0;
        for (uint32_t i = 0; i < 3; i++) {
            hb_part part = part_of(7 + i);
            assert_int_equal(part.place, in_file ? HB_PART_FILE : HB_PART_MEMORY);
            assert_int_equal(part.codec, i ? HB_CODEC_RAW : HB_CODEC_DELTA);
            assert_int_equal(part.coded_bytes, sizes[i]);
            assert_int_equal(part.first_id, 1007 + i);
        }
        hb_part part = part_of(7);
        assert_int_equal(part.types, 1u << HB_RECORD_OP | 1u << HB_RECORD_ANNOTATION);
        assert_int_equal(part.first_tick, 40);
        assert_int_equal(part.last_tick, 90);
        assert_content(7, small, sizeof small);
        assert_content(8, words, equal);
        assert_bytes(sizes[0] + sizes[1]);
        close_spool();
    }
}

/* What stands there already is not written again, and what nobody has any more is not written. */
static void nothing_is_written_twice_or_for_nobody(void **state)
{
    (void)state;
    const hb_record r = record_of(HB_RECORD_OP, 5, 6), later = record_of(HB_RECORD_OP, 7, 9);
    open_spool(NULL, 0);
    uint32_t first = take(false), second = take(false), third = take(false);
    put(first, 0, &r, sizeof r);
    put(second, 0, &later, sizeof later);
    put_behind(third, 0, GONE, 1, &later, sizeof later);
    leave(first);
    wait_until_ready(first);
    uint32_t bytes = part_of(0).coded_bytes;
    leave(second);
    leave(third);
    wait_until_ready(second);
    wait_until_ready(third);
    assert_int_equal(num_parts(), 1);
    assert_int_equal(part_of(0).last_tick, 6);
    assert_bytes(bytes);
    close_spool();
}

/* The chunk's part was listed as its session ended, by its place; now it is where it was written.
 */
static void a_part_takes_the_place_of_its_chunk(void **state)
{
    (void)state;
    for (int in_file = 0; in_file < 2; in_file++) {
        const hb_record r[] = {record_of(HB_RECORD_OP, 5, 0), record_of(HB_RECORD_MODULE, 6, 8)};
        open_spool(in_file ? dir : NULL, 0);
        uint32_t index = take(false), unknown = take(false);
        put(index, 2, r, sizeof r);
        put(unknown, 5, r, sizeof r);
        unsigned char coded[HB_CODEC_MOST(sizeof r)];
        uint32_t size = (uint32_t)hb_codec_encode((const char *)r, sizeof r, coded);
        leave(index);
        hb_chunk *chunk = hb_spool_chunk(spool, unknown);
        __atomic_store_n(&chunk->kind, HB_CHUNK_FREE, __ATOMIC_RELEASE); /* is not listed */
        hb_session_end(session);
        wait_until_ready(index);
        hb_part part = part_of(2);
        assert_int_equal(part.place, in_file ? HB_PART_FILE : HB_PART_MEMORY);
        assert_int_equal(part.codec, HB_CODEC_DELTA);
        assert_int_equal(part.types, 1u << HB_RECORD_OP | 1u << HB_RECORD_MODULE);
        assert_int_equal(part.coded_bytes, size);
        assert_int_equal(part.raw_bytes, sizeof r);
        assert_int_equal(part.first_id, 1002);
        assert_int_equal(part.first_tick, 5);
        assert_int_equal(part.last_tick, 8);
        assert_content(2, r, sizeof r);
        assert_bytes(size);
        /* What comes after all was listed is nobody's. */
        __atomic_store_n(&chunk->kind, HB_CHUNK_EVENTS, __ATOMIC_RELEASE);
        leave(unknown);
        wait_until_ready(unknown);
        assert_int_equal(num_parts(), 1);
        assert_bytes(size);
        close_spool();
    }
}

/* ---- chunks that are in no file ---- */

static uint32_t in_memory(void)
{
    return __atomic_load_n(&session->in_memory, __ATOMIC_RELAXED);
}

/* Which a kill would take: as many fewer as were written into the file, or are not wanted. */
static void what_lay_in_memory_is_counted_until_it_is_in_the_file(void **state)
{
    (void)state;
    const hb_record r = record_of(HB_RECORD_OP, 5, 6);
    for (int in_file = 0; in_file < 2; in_file++) {
        open_spool(in_file ? dir : NULL, 0);
        uint32_t hot = in_file ? take(true) : 0;
        while (in_file && hb_pool_take_in_file(&spool->pool)) {
        }
        uint32_t cold = take(false);
        assert_false(hb_pool_is_in_file(&spool->pool, cold));
        __atomic_store_n(&session->in_memory, 5, __ATOMIC_RELAXED);
        put(cold, 0, &r, sizeof r);
        leave(cold);
        wait_until_ready(cold);
        assert_int_equal(in_memory(), in_file ? 4 : 5);
        if (hot) {
            put(hot, 1, &r, sizeof r);
            leave(hot);
            wait_until_ready(hot);
            assert_int_equal(in_memory(), 4);
        }
        close_spool();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(a_chunk_waits_for_the_ends_of_its_scopes),
        IN_DIR(it_waits_for_each_of_them),
        IN_DIR(it_waits_for_those_of_later_sessions),
        IN_DIR(only_chunks_that_nobody_fills_are_written),
        IN_DIR(what_is_written_is_told_in_full),
        IN_DIR(nothing_is_written_twice_or_for_nobody),
        IN_DIR(a_part_takes_the_place_of_its_chunk),
        IN_DIR(what_lay_in_memory_is_counted_until_it_is_in_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
