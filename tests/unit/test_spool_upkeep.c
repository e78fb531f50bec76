/* SPDX-License-Identifier: MIT
 *
 * What the spool's thread does besides writing records: what it leaves for later or drops, names
 * and mapped code in the file, and chunks that are added to it. The disk, the mapped code and the
 * clock are the test's.
 */
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include <hipboard/hipboard.h>

#include "base/crc32c.h"
#include "record/codec.h"
#include "still_spool.h"
#include "symbols/loaded_code.h"
#include "test_dir.h"

enum { PATIENCE_MS = 60000, GONE = 0x7fffff00, THREAD = 3 };

static hb_spool *spool; /* each test's own, since one that fails may leave its thread */
static hb_session *session;

/* ---- what the test plays ---- */

#define SECOND INT64_C(1000000000)

static _Atomic int64_t now; /* 0: clocks are as they are */
static _Atomic unsigned looks, code_asked, room_asked, refusals;
static _Atomic unsigned
    asked_at[8]; /* looks when the disk's room was asked for, from a refusal on */
static const char *_Atomic code;

/* The spool's thread looks at a clock once in each of its rounds. */
int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    int64_t ns = atomic_load(&now);
    if (!ns || clock != CLOCK_MONOTONIC) return __real_clock_gettime(clock, t);
    if (gettid() != getpid()) atomic_fetch_add(&looks, 1);
    *t = (struct timespec){ns / SECOND, ns % SECOND};
    return 0;
}

void __wrap_hb_put_loaded_code(hb_buf *to);

void __wrap_hb_put_loaded_code(hb_buf *to)
{
    hb_buf_str(to, atomic_load(&code));
    atomic_fetch_add(&code_asked, 1);
}

/* In place of the C library's. */
int fstatvfs(int fd, struct statvfs *fs)
{
    (void)fd;
    unsigned left = atomic_load(&refusals);
    if (left) {
        atomic_store(&asked_at[atomic_fetch_add(&room_asked, 1) % 8], atomic_load(&looks));
        atomic_store(&refusals, left - 1);
    }
    *fs = (struct statvfs){.f_frsize = 4096, .f_bavail = left ? 0 : 1u << 30};
    return 0;
}

/* Two rounds have begun, so that one was whole. */
static void wait_until_looked_at(void)
{
    unsigned before = atomic_load(&looks);
    for (int ms = 0; ms < PATIENCE_MS && atomic_load(&looks) - before < 2; ms++)
        usleep(1000);
    assert_true(atomic_load(&looks) - before >= 2);
}

/* ---- a spool ---- */

static void open_spool(const char *in, uint64_t max_bytes, uint32_t flags)
{
    atomic_store(&now, 1000 * SECOND);
    atomic_store(&code, "");
    spool = live_spool(in, max_bytes);
    assert_int_equal(spool->path != NULL, in != NULL);
    session = begin_in(spool, flags);
}

static void close_spool(void)
{
    if (hb_session_state(session) == HB_SESSION_RECORDING) hb_session_end(session);
    hb_session_release(spool, session);
    close_test_spool(spool);
    atomic_store(&now, 0);
}

static _Atomic uint32_t *state_of(uint32_t index)
{
    return &spool->pool.state[index];
}

/* One operator from `first` to `last`, and another record of some type between. */
static uint32_t leave_chunk(uint32_t number, uint32_t sequence, uint64_t first, uint64_t last,
                            uint8_t type)
{
    uint32_t index = hb_pool_take(&spool->pool);
    assert_int_not_equal(index, 0);
    hb_chunk *chunk = hb_spool_chunk(spool, index);
    hb_record *r = (hb_record *)(chunk + 1);
    *chunk = (hb_chunk){.used = sizeof *chunk + 2 * sizeof *r,
                        .events = {.session = number, .thread = THREAD, .sequence = sequence}};
    r[0] = (hb_record){.type = HB_RECORD_OP, .units = 3, .start = first, .end = last, .name = 9};
    r[1] = (hb_record){.type = type, .units = 3, .start = first, .end = last, .name = 9};
    __atomic_store_n(&chunk->kind, HB_CHUNK_EVENTS, __ATOMIC_RELEASE);
    atomic_store_explicit(state_of(index), HB_CHUNK_FULL, memory_order_release);
    return index;
}

static bool is_ready(uint32_t index)
{
    return atomic_load(state_of(index)) == HB_CHUNK_READY;
}

static void wait_until_ready(uint32_t index)
{
    for (int ms = 0; ms < PATIENCE_MS && !is_ready(index); ms++)
        usleep(1000);
    assert_true(is_ready(index));
}

/* ---- what is left for later ---- */

static void take_of_the_limit(uint32_t chunks)
{
    hb_lock_take(&spool->lock);
    spool->kept_bytes = (uint64_t)chunks * HB_CHUNK_BYTES;
    hb_spool_account(spool);
    hb_lock_give(&spool->lock);
}

/* What is written of a file's chunk is more than before, since the chunk stays: there must be room
 * within the limit. Of memory it is less. What is nobody's goes. */
static void a_files_chunks_wait_for_room_within_the_limit(void **state)
{
    (void)state;
    open_spool(dir, 4 << 20, 0);
    uint32_t others = spool->pool.max_chunks - atomic_load(&spool->pool.in_file);
    take_of_the_limit(others);
    uint32_t mine = leave_chunk(session->number, 0, 5, 6, HB_RECORD_OP);
    uint32_t nobodys = leave_chunk(GONE, 0, 5, 6, HB_RECORD_OP);
    assert_true(hb_pool_is_in_file(&spool->pool, mine));
    assert_true(hb_pool_is_in_file(&spool->pool, nobodys));
    wait_until_ready(nobodys);
    wait_until_looked_at();
    assert_false(is_ready(mine));
    take_of_the_limit(others - 1);
    wait_until_ready(mine);
    while (hb_pool_take_in_file(&spool->pool)) {
    }
    take_of_the_limit(others - 1);
    uint32_t in_memory = hb_pool_take(&spool->pool);
    assert_int_equal(in_memory, 0); /* none any more */
    take_of_the_limit(others - 2);
    in_memory = leave_chunk(session->number, 1, 5, 6, HB_RECORD_OP);
    assert_false(hb_pool_is_in_file(&spool->pool, in_memory));
    wait_until_ready(in_memory);
    take_of_the_limit(0);
    close_spool();
}

/* Of a ring that records faster than it is written: but for what is told once. */
static void what_a_ring_has_dropped_by_now_is_not_written(void **state)
{
    (void)state;
    open_spool(NULL, 16 << 20, HB_SESSION_RING);
    hb_lock_take(&spool->lock);
    hb_spool_records(spool, session->number)->kept_from = 100;
    hb_lock_give(&spool->lock);
    __atomic_store_n(&session->in_memory, 9, __ATOMIC_RELAXED);
    uint32_t chunks[] = {
        leave_chunk(session->number, 0, 5, 99, HB_RECORD_OP),
        leave_chunk(session->number, 1, 5, 100, HB_RECORD_OP),
        leave_chunk(session->number, 2, 5, 99, HB_RECORD_METADATA),
        leave_chunk(session->number, 3, 5, 99, HB_RECORD_MEMORY),
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(chunks); i++)
        wait_until_ready(chunks[i]);
    assert_int_equal(__atomic_load_n(&session->in_memory, __ATOMIC_RELAXED), 7);
    hb_lock_take(&spool->lock);
    const hb_thread_records *t =
        hb_records_find_thread(hb_spool_records(spool, session->number), THREAD);
    uint32_t count = t->parts.count, first = t->parts.items[0].sequence,
             second = t->parts.items[1].sequence;
    hb_lock_give(&spool->lock);
    assert_int_equal(count, 2);
    assert_int_equal(first, 1);
    assert_int_equal(second, 2);
    close_spool();
}

/* It is listed, and readers ask for it. */
static void what_a_ring_had_at_its_end_is_written(void **state)
{
    (void)state;
    open_spool(NULL, 16 << 20, HB_SESSION_RING);
    uint32_t index = leave_chunk(session->number, 0, 5, 0, HB_RECORD_OP); /* it is open */
    hb_lock_take(&spool->lock);
    hb_records *records = hb_spool_records(spool, session->number);
    records->kept_from = 100;
    hb_lock_give(&spool->lock);
    hb_session_end(session);
    wait_until_ready(index);
    hb_lock_take(&spool->lock);
    const hb_thread_records *t = hb_records_find_thread(records, THREAD);
    enum hb_part_place place = t ? t->parts.items[0].place : HB_PART_CHUNK;
    hb_lock_give(&spool->lock);
    assert_int_equal(place, HB_PART_MEMORY);
    close_spool();
}

/* When half of the room is taken the oldest goes, as the next part comes. */
static void a_part_that_comes_makes_room(void **state)
{
    (void)state;
    enum { CHUNKS = 64 };
    open_spool(NULL, CHUNKS * HB_CHUNK_BYTES, HB_SESSION_RING);
    wait_until_ready(leave_chunk(session->number, 0, 5, 6, HB_RECORD_OP));
    hb_lock_take(&spool->lock);
    hb_records *records = hb_spool_records(spool, session->number);
    uint64_t others = (uint64_t)CHUNKS / 2 * HB_CHUNK_BYTES - records->bytes;
    spool->kept_bytes += others;
    hb_lock_give(&spool->lock);
    uint64_t late = UINT64_MAX / 4; /* it lasts longer than until now */
    wait_until_ready(leave_chunk(session->number, 1, 5, late, HB_RECORD_OP));
    hb_lock_take(&spool->lock);
    const hb_thread_records *t = hb_records_find_thread(records, THREAD);
    uint32_t count = t->parts.count, sequence = t->parts.items[0].sequence;
    spool->kept_bytes -= others;
    hb_lock_give(&spool->lock);
    assert_int_equal(count, 1);
    assert_int_equal(sequence, 1);
    close_spool();
}

/* Of a burst they are not all needed again. */
static void of_many_chunks_in_memory_the_pages_are_given_back(void **state)
{
    (void)state;
    enum { SPARE = 32 };
    for (uint32_t used = SPARE; used <= SPARE + 1; used++) {
        open_spool(NULL, 16 << 20, 0); /* one of its chunks has sessions */
        for (uint32_t i = 2; i < used; i++)
            assert_int_not_equal(hb_pool_take(&spool->pool), 0);
        uint32_t index = leave_chunk(session->number, 0, 5, 6, HB_RECORD_OP);
        assert_int_equal(hb_pool_end(&spool->pool) - spool->pool.first_in_memory, used);
        wait_until_ready(index);
        const hb_record *r = (const hb_record *)(hb_spool_chunk(spool, index) + 1);
        assert_int_equal(r->start, used > SPARE ? 0 : 5);
        close_spool();
    }
}

/* ---- in the file ---- */

static hb_buf file_bytes(void)
{
    char block[65536];
    hb_buf bytes;
    hb_buf_init(&bytes, (size_t)1 << 30);
    FILE *f = fopen(spool->path, "rb");
    assert_non_null(f);
    for (size_t n; (n = fread(block, 1, sizeof block, f)) > 0;)
        hb_buf_append(&bytes, block, n);
    fclose(f);
    return bytes;
}

/* The first whole one of that kind from `at` on, where the search goes on then; NULL at the end. */
static const hb_segment *next_segment(const hb_buf *bytes, uint16_t kind, size_t *at)
{
    const size_t skipped = offsetof(hb_segment, payload_crc);
    while (*at + sizeof(hb_segment) <= bytes->size) {
        const hb_segment *s = (const hb_segment *)(bytes->data + *at);
        *at += HB_SEGMENT_ALIGN;
        if (s->magic == HB_SEGMENT_MAGIC && s->kind == kind &&
            s->crc == hb_crc32c((const char *)s + skipped, sizeof *s - skipped))
            return s;
    }
    return NULL;
}

static void add_name(void)
{
    static int count;
    char name[64];
    int n = snprintf(name, sizeof name, "a name as long as they are, with a number: %d", count++);
    (void)hb_strings_intern(name, (size_t)n);
}

/* What the file has of the table. */
typedef struct names_there {
    uint64_t end;    /* without a gap, from its beginning */
    uint64_t behind; /* the last of them in the file */
    uint64_t least;  /* where the first one begins of those behind `seen` segments */
    uint32_t count;
    bool once; /* in order, and none twice */
} names_there;

static names_there find_names(uint32_t seen)
{
    uint64_t size;
    const char *table = hb_strings_table(&size);
    names_there found = {.end = hb_strings_offset(1), .least = UINT64_MAX, .once = true};
    size_t at = HB_SPOOL_HEADER_BYTES;
    hb_buf bytes = file_bytes();
    for (const hb_segment *s; (s = next_segment(&bytes, HB_SEGMENT_NAMES, &at));) {
        const char *payload = (const char *)(s + 1);
        uint64_t behind = (uint64_t)(payload - bytes.data) + HB_ROUND_UP(s->bytes, 8);
        if (behind > bytes.size || s->payload_crc != hb_crc32c(payload, s->bytes))
            break; /* it is just being written */
        assert_int_equal(s->raw_bytes, s->bytes);
        assert_memory_equal(payload, table + s->string_offset, s->bytes);
        found.once = found.once && s->string_offset == found.end;
        if (s->string_offset <= found.end)
            found.end = HB_MAX(found.end, s->string_offset + s->bytes);
        if (found.count++ >= seen) found.least = HB_MIN(found.least, s->string_offset);
        found.behind = HB_MAX(found.behind, behind);
    }
    hb_buf_free(&bytes);
    return found;
}

/* As each chunk is full. */
static names_there write_chunks_of_names(void)
{
    enum { CHUNKS = 3 };
    for (int i = 0; i < CHUNKS; i++) {
        add_name();
        uint32_t chunk = spool->names_chunk;
        while (spool->names_chunk == chunk)
            add_name();
        wait_until_ready(chunk);
    }
    names_there found = find_names(0);
    uint64_t begin = hb_spool_chunk(spool, spool->names_chunk)->string_offset;
    assert_int_equal(found.count, 1 + CHUNKS); /* the first are those from before the spool */
    assert_true(found.once);
    assert_int_equal(found.end, begin);
    return found;
}

/* Each chunk of names once, and what is longer than a chunk from the table: nothing that is there
 * already. The file is never cut off before them. */
static void names_are_written_and_stay(void **state)
{
    (void)state;
    enum { LONG = 70000 };
    static char long_name[LONG];
    add_name();
    open_spool(dir, 16 << 20, 0);
    names_there of_chunks = write_chunks_of_names(), all = of_chunks;
    memset(long_name, 'x', sizeof long_name);
    (void)hb_strings_intern(long_name, sizeof long_name);
    add_name(); /* in a chunk that is not full for long */
    (void)hb_strings_intern(long_name, sizeof long_name - 1);
    uint64_t end;
    (void)hb_strings_table(&end);
    for (int ms = 0; ms < PATIENCE_MS && all.end < end; ms++) {
        usleep(1000);
        all = find_names(of_chunks.count);
    }
    assert_int_equal(all.end, end);
    assert_int_equal(all.least, of_chunks.end);
    wait_until_looked_at();
    all = find_names(of_chunks.count);
    wait_until_ready(leave_chunk(session->number, 0, 5, 6, HB_RECORD_OP));
    hb_session_end(session);
    hb_session_release(spool, session);
    struct stat st = {.st_size = 0};
    for (int ms = 0; ms < PATIENCE_MS && st.st_size != (off_t)all.behind; ms++) {
        usleep(1000);
        assert_int_equal(stat(spool->path, &st), 0);
    }
    assert_int_equal(st.st_size, all.behind);
    assert_true(hb_spool_close(spool, false));
    free(spool);
    atomic_store(&now, 0);
}

/* ---- mapped code ---- */

/* How often it was asked for when a second, or so many, were over to the last nanosecond. */
static void assert_asked_after(int64_t seconds)
{
    unsigned before = atomic_load(&code_asked);
    atomic_fetch_add(&now, seconds * SECOND - 1);
    wait_until_looked_at();
    assert_int_equal(atomic_load(&code_asked), before);
    atomic_fetch_add(&now, 1);
    wait_until_looked_at();
    assert_int_equal(atomic_load(&code_asked), before + 1);
}

static void assert_code(uint64_t number, const char *text)
{
    size_t at = HB_SPOOL_HEADER_BYTES;
    hb_buf bytes = file_bytes();
    const hb_segment *s = next_segment(&bytes, HB_SEGMENT_CODE, &at);
    if (text) {
        assert_non_null(s);
        assert_int_equal(s->code_number, number);
        assert_int_equal(s->bytes, strlen(text));
        assert_memory_equal(s + 1, text, s->bytes);
        assert_null(next_segment(&bytes, HB_SEGMENT_CODE, &at)); /* those before are gone */
    } else {
        assert_null(s);
    }
    hb_buf_free(&bytes);
}

static void mapped_code_is_asked_for_less_and_less_while_it_stays(void **state)
{
    (void)state;
    open_spool(dir, 16 << 20, HB_SESSION_STACK);
    wait_until_looked_at();
    assert_code(0, NULL); /* an empty text is none */
    atomic_store(&code, "first\n");
    assert_asked_after(1);
    assert_code(0, "first\n");
    assert_asked_after(1);
    for (int64_t seconds = 2; seconds <= 64; seconds *= 2)
        assert_asked_after(HB_MIN(seconds, 32));
    assert_code(0, "first\n");
    atomic_store(&code, "second, and longer\n");
    assert_asked_after(32);
    assert_code(1, "second, and longer\n");
    atomic_store(&code, "third\n");
    assert_asked_after(1);
    assert_code(2, "third\n");
    assert_asked_after(1);
    assert_asked_after(2);
    close_spool();
}

static void mapped_code_is_asked_for_where_a_file_has_call_stacks(void **state)
{
    (void)state;
    for (int has_file = 0; has_file < 2; has_file++) {
        open_spool(has_file ? dir : NULL, 16 << 20,
                   has_file ? HB_SESSION_SHAPES : HB_SESSION_STACK);
        wait_until_looked_at(); /* the session before may have had some */
        atomic_store(&code_asked, 0);
        atomic_fetch_add(&now, 100 * SECOND);
        wait_until_looked_at();
        assert_int_equal(atomic_load(&code_asked), 0);
        close_spool();
    }
}

/* ---- more chunks ---- */

static uint32_t in_file(void)
{
    return atomic_load(&spool->pool.in_file);
}

static void wait_for_chunks(uint32_t count)
{
    for (int ms = 0; ms < PATIENCE_MS && in_file() != count; ms++)
        usleep(1000);
    assert_int_equal(in_file(), count);
}

/* As many again while less than a third is left, 256 at once, and as many as the limit allows. */
static void a_file_has_more_chunks_when_most_are_taken(void **state)
{
    (void)state;
    enum { MOST = 800, AT_ONCE = 256 };
    static const uint32_t counts[] = {HB_SPOOL_HOT, 2 * HB_SPOOL_HOT, 4 * HB_SPOOL_HOT,
                                      4 * HB_SPOOL_HOT + AT_ONCE, MOST};
    open_spool(dir, (uint64_t)MOST * 5 * HB_CHUNK_BYTES, 0);
    assert_int_equal(spool->pool.first_in_memory, MOST + 1);
    for (size_t i = 0; i < HB_ARRAY_LEN(counts); i++) {
        wait_for_chunks(counts[i]);
        while (atomic_load(&spool->pool.ready_in_file) > counts[i] / 3)
            assert_int_not_equal(hb_pool_take_in_file(&spool->pool), 0);
        wait_until_looked_at();
        assert_int_equal(in_file(), counts[i]);
        assert_int_not_equal(hb_pool_take_in_file(&spool->pool), 0);
    }
    wait_until_looked_at();
    assert_int_equal(in_file(), MOST);
    close_spool();
}

/* A disk that had no room is not asked again in each round. */
static void a_full_disk_is_asked_again_after_a_while(void **state)
{
    (void)state;
    enum { ROUNDS = 257, FIRST_HOT = 16 };
    atomic_store(&room_asked, 0);
    atomic_store(&refusals, 4); /* the first as the file is made */
    open_spool(dir, 64 << 20, 0);
    assert_int_equal(in_file(), FIRST_HOT);
    wait_for_chunks(HB_SPOOL_HOT);
    assert_int_equal(atomic_load(&room_asked), 4);
    for (int i = 2; i < 4; i++)
        assert_int_equal(atomic_load(&asked_at[i]) - atomic_load(&asked_at[i - 1]), ROUNDS);
    close_spool();
}

/* ---- its end ---- */

static void a_thread_that_has_ended_is_not_ended_again(void **state)
{
    (void)state;
    open_spool(dir, 16 << 20, 0);
    hb_session_end(session);
    assert_true(spool->writer_runs);
    for (int i = 0; i < 2; i++) {
        assert_true(hb_spool_writer_end(spool));
        assert_false(spool->writer_runs);
    }
    assert_true(spool->writer_ended);
    close_spool();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(a_files_chunks_wait_for_room_within_the_limit),
        IN_DIR(what_a_ring_has_dropped_by_now_is_not_written),
        IN_DIR(what_a_ring_had_at_its_end_is_written),
        IN_DIR(a_part_that_comes_makes_room),
        IN_DIR(of_many_chunks_in_memory_the_pages_are_given_back),
        IN_DIR(names_are_written_and_stay),
        IN_DIR(mapped_code_is_asked_for_less_and_less_while_it_stays),
        IN_DIR(mapped_code_is_asked_for_where_a_file_has_call_stacks),
        IN_DIR(a_file_has_more_chunks_when_most_are_taken),
        IN_DIR(a_full_disk_is_asked_again_after_a_while),
        IN_DIR(a_thread_that_has_ended_is_not_ended_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
