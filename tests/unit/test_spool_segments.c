/* SPDX-License-Identifier: MIT
 *
 * One spool that a killed process left, and what recovery makes of it when some of it is damaged,
 * stands twice, or is of another version or container: all that is whole, once, or a reason.
 */
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <hipboard/analysis.h>
#include <hipboard/hipboard.h>

#include "base/crc32c.h"
#include "record/codec.h"
#include "record/process_id.h"
#include "record/session.h"
#include "record/strings.h"
#include "test_dir.h"
#include "written_trace.h"

enum { SCOPES = 20000, FULL_CHUNKS = SCOPES * sizeof(hb_record) / HB_CHUNK_BYTES, SECOND = 1 };

#define OLD_NAME "older than the spool"
#define NEW_NAME "newer than the spool"

static hb_buf whole; /* the spool */

/* ---- making it ---- */

static void wait_for_parts(hb_spool *spool, uint32_t session, uint32_t count)
{
    for (uint32_t have = 0; have < count; usleep(1000)) {
        hb_lock_take(&spool->lock);
        const hb_records *records = hb_spool_records(spool, session);
        have = records->threads.count ? records->threads.items[0].parts.count : 0;
        hb_lock_give(&spool->lock);
    }
}

/* All chunks that are full are in segments, which have survivors only. */
static void record_some(void)
{
    hb_spool spool;
    hb_session *session;
    hb_spool_options options = {dir, "victim", 64 << 20};
    if (hb_spool_open(&spool, &options) != HB_OK) _exit(1);
    if (hb_session_begin(&spool, 0, 0, &session) != HB_OK) _exit(1);
    for (int i = 0; i < SCOPES; i++)
        HB_RECORD_FUNCTION("survivor") {
        }
    HB_RECORD_FUNCTION(OLD_NAME) {
    }
    HB_RECORD_FUNCTION(NEW_NAME) {
    }
    wait_for_parts(&spool, session->number, FULL_CHUNKS);
    kill(getpid(), SIGKILL);
}

static int make_spool(void **state)
{
    int status;
    char path[PATH_MAX];
    if (make_dir(state) != 0 || hb_record_init() != HB_OK) return -1;
    (void)hb_strings_intern(OLD_NAME, strlen(OLD_NAME));
    pid_t pid = fork();
    if (pid == 0) record_some();
    waitpid(pid, &status, 0);
    struct dirent **list;
    int n = scandir(dir, &list, NULL, alphasort);
    hb_buf_init(&whole, (size_t)1 << 30);
    for (int i = 0; i < n; i++) {
        char block[65536];
        snprintf(path, sizeof path, "%s/%s", dir, list[i]->d_name);
        FILE *f = strstr(path, HB_SPOOL_SUFFIX) ? fopen(path, "rb") : NULL;
        for (size_t got; f && (got = fread(block, 1, sizeof block, f)) > 0;)
            hb_buf_append(&whole, block, got);
        if (f) fclose(f);
        free(list[i]);
    }
    free(list);
    remove_dir(state);
    return WIFSIGNALED(status) && whole.size ? 0 : -1;
}

static int free_spool(void **state)
{
    (void)state;
    hb_buf_free(&whole);
    return 0;
}

/* ---- changing it ---- */

static hb_buf copy_whole(void)
{
    hb_buf bytes;
    hb_buf_init(&bytes, (size_t)1 << 30);
    hb_buf_append(&bytes, whole.data, whole.size);
    return bytes;
}

static char *payload_of(hb_segment *s)
{
    return (char *)(s + 1) + s->padding;
}

static void seal(hb_segment *s)
{
    const size_t skipped = offsetof(hb_segment, payload_crc);
    s->crc = hb_crc32c((const char *)s + skipped, sizeof *s - skipped);
}

/* The first of that kind behind `s`, or of all. */
static hb_segment *next_segment(hb_buf *spool, uint16_t kind, const hb_segment *s)
{
    size_t at = s ? (size_t)((const char *)(s + 1) - spool->data) : HB_SPOOL_HEADER_BYTES;
    for (; at + sizeof *s <= spool->size; at += HB_SEGMENT_ALIGN) {
        hb_segment *next = (hb_segment *)(spool->data + at);
        if (next->magic == HB_SEGMENT_MAGIC && next->kind == kind) return next;
    }
    return NULL;
}

static hb_segment *events_of(hb_buf *spool, uint32_t sequence)
{
    hb_segment *s = NULL;
    do {
        s = next_segment(spool, HB_SEGMENT_EVENTS, s);
        assert_non_null(s);
    } while (s->events.sequence != sequence);
    return s;
}

static hb_chunk *chunk_of(hb_buf *spool, uint32_t kind)
{
    for (hb_segment *hot = NULL; (hot = next_segment(spool, HB_SEGMENT_HOT, hot));)
        for (uint64_t at = 0; at < hot->bytes; at += HB_CHUNK_BYTES) {
            hb_chunk *chunk = (hb_chunk *)(payload_of(hot) + at);
            if (chunk->kind == kind) return chunk;
        }
    fail_msg("no chunk of kind %u", kind);
    return NULL;
}

/* Behind all others; `head` says what it is. */
static void append_segment(hb_buf *spool, hb_segment head, const char *payload, size_t bytes,
                           bool damaged)
{
    static const char zeros[HB_SEGMENT_ALIGN];
    head.magic = HB_SEGMENT_MAGIC;
    head.padding = 0;
    head.bytes = bytes;
    head.payload_crc = hb_crc32c(payload, bytes) ^ damaged;
    seal(&head);
    hb_buf_append(spool, zeros, HB_ROUND_UP(spool->size, HB_SEGMENT_ALIGN) - spool->size);
    hb_buf_append(spool, (const char *)&head, sizeof head);
    hb_buf_append(spool, payload, bytes);
}

/* ---- recovering it ---- */

static void path_of_spool(char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%s/.changed" HB_SPOOL_SUFFIX, dir);
}

/* With holes where it is empty. */
static void write_spool(const hb_buf *bytes)
{
    enum { BLOCK = 4096 };
    static const char zeros[BLOCK];
    char path[PATH_MAX];
    path_of_spool(path);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_int_equal(ftruncate(fd, (off_t)bytes->size), 0);
    for (size_t at = 0, n; at < bytes->size; at += n) {
        n = HB_MIN(bytes->size - at, (size_t)BLOCK);
        if (memcmp(bytes->data + at, zeros, n) != 0)
            assert_int_equal(pwrite(fd, bytes->data + at, n, (off_t)at), n);
    }
    close(fd);
}

static bool spool_is_there(void)
{
    char path[PATH_MAX];
    path_of_spool(path);
    return access(path, F_OK) == 0;
}

/* The trace that it becomes, which goes with the spool; to be deleted. */
static cJSON *trace_that_is_there(void)
{
    char path[PATH_MAX];
    assert_false(spool_is_there());
    assert_int_equal(list_dir(dir, NULL, path, sizeof path), 1);
    cJSON *trace = load_trace(path);
    unlink(path);
    return trace;
}

/* Frees `spool`. */
static cJSON *recovered(hb_buf *spool)
{
    write_spool(spool);
    hb_buf_free(spool);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    return trace_that_is_there();
}

static void assert_survivors(hb_buf *spool, int count)
{
    cJSON *trace = recovered(spool);
    assert_int_equal(count_named(trace, "survivor"), count);
    assert_int_equal(count_named(trace, OLD_NAME), 1);
    assert_int_equal(count_named(trace, NEW_NAME), 1);
    cJSON_Delete(trace);
}

/* ---- segments ---- */

static int scopes_in(const hb_segment *s)
{
    return (int)(s->raw_bytes / sizeof(hb_record));
}

static void a_damaged_segment_takes_no_other_with_it(void **state)
{
    (void)state;
    hb_buf bytes = copy_whole();
    assert_survivors(&bytes, SCOPES);

    bytes = copy_whole(); /* no head */
    hb_segment *s = events_of(&bytes, SECOND);
    int left = SCOPES - scopes_in(s);
    s->events.thread_name[0] ^= 1;
    assert_survivors(&bytes, left);

    bytes = copy_whole(); /* other records */
    s = events_of(&bytes, SECOND);
    payload_of(s)[s->bytes / 2] ^= 1;
    assert_survivors(&bytes, left);

    const uint64_t sizes[] = {UINT64_MAX - 16, bytes.max, HB_CODEC_MOST(HB_CHUNK_BYTES) + 1};
    for (size_t i = 0; i < HB_ARRAY_LEN(sizes); i++) { /* a head that cannot be true */
        bytes = copy_whole();
        s = events_of(&bytes, FULL_CHUNKS - 1);
        left = SCOPES - scopes_in(s);
        s->bytes = sizes[i];
        seal(s);
        assert_survivors(&bytes, left);
    }
}

static void what_is_behind_a_head_of_a_wrong_size_is_found(void **state)
{
    (void)state;
    hb_buf bytes = copy_whole();
    hb_segment *s = events_of(&bytes, SECOND);
    int left = SCOPES - scopes_in(s);
    s->bytes = UINT64_MAX - 16;
    seal(s);
    assert_survivors(&bytes, left);

    bytes = copy_whole();
    s = events_of(&bytes, SECOND);
    s->bytes = bytes.size;
    seal(s);
    assert_survivors(&bytes, left);

    bytes = copy_whole(); /* it would end where the file begins */
    s = events_of(&bytes, SECOND);
    s->bytes = 0 - (uint64_t)(payload_of(s) - bytes.data);
    seal(s);
    assert_survivors(&bytes, left);
}

/* The one that ends last. */
static hb_segment *last_events(hb_buf *spool)
{
    hb_segment *last = NULL;
    for (hb_segment *s = NULL; (s = next_segment(spool, HB_SEGMENT_EVENTS, s));)
        last = s;
    assert_non_null(last);
    return last;
}

static void a_file_that_is_cut_off_has_what_is_before(void **state)
{
    (void)state;
    for (int missing = 0; missing < 2; missing++) { /* bytes */
        hb_buf bytes = copy_whole();
        hb_segment *last = last_events(&bytes);
        bytes.size = (size_t)(payload_of(last) + last->bytes - bytes.data) - (size_t)missing;
        assert_survivors(&bytes, SCOPES - (missing ? scopes_in(last) : 0));
    }
}

/* Half of the records of a segment, in a chunk; how many. */
static int put_half_into_a_chunk(hb_buf *spool, hb_segment *s)
{
    int half = scopes_in(s) / 2;
    hb_chunk *chunk = chunk_of(spool, HB_CHUNK_FREE);
    *chunk = (hb_chunk){.kind = HB_CHUNK_EVENTS, .events = s->events};
    chunk->used = (uint32_t)(sizeof *chunk + (size_t)half * sizeof(hb_record));
    assert_true(hb_codec_decode((unsigned char *)payload_of(s), s->bytes, (char *)(chunk + 1),
                                s->raw_bytes));
    return half;
}

/* A process that is killed before it could give a chunk back, or while it uses it again, leaves the
 * records twice. One that is killed before leaves a head without all of its payload. */
static void a_chunk_is_read_where_its_segment_is_not_whole(void **state)
{
    (void)state;
    for (int damage = 0; damage < 3; damage++) {
        hb_buf bytes = copy_whole();
        hb_segment *s = events_of(&bytes, SECOND);
        int in_segment = scopes_in(s), in_chunk = put_half_into_a_chunk(&bytes, s);
        if (damage == 1) s->magic = 0;
        if (damage == 2) payload_of(s)[s->bytes - 1] ^= 1;
        assert_survivors(&bytes, SCOPES - (damage ? in_segment - in_chunk : 0));
    }
}

/* Also far behind the others, with a hole between. */
static void records_that_are_not_coded_are_read(void **state)
{
    (void)state;
    static char raw[HB_CHUNK_BYTES], hole[1 << 20];
    hb_buf bytes = copy_whole();
    hb_segment *s = events_of(&bytes, SECOND), head = *s;
    assert_true(hb_codec_decode((unsigned char *)payload_of(s), s->bytes, raw, s->raw_bytes));
    s->magic = 0;
    head.codec = HB_CODEC_RAW;
    hb_buf_append(&bytes, hole, sizeof hole - bytes.size % HB_CHUNK_BYTES);
    append_segment(&bytes, head, raw, head.raw_bytes, false);
    assert_survivors(&bytes, SCOPES);
}

/* ---- names ---- */

/* What stands twice is read where it is whole. */
static void damaged_names_do_not_hide_whole_ones(void **state)
{
    (void)state;
    for (int is_new = 0; is_new < 2; is_new++) {
        const char *name = is_new ? NEW_NAME : OLD_NAME;
        hb_buf bytes = copy_whole();
        const char *text = memmem(bytes.data, bytes.size, name, strlen(name) + 1);
        assert_non_null(text);
        hb_segment *s = next_segment(&bytes, HB_SEGMENT_NAMES, NULL);
        const hb_chunk *chunk = chunk_of(&bytes, HB_CHUNK_NAMES);
        const char *from = is_new ? (const char *)(chunk + 1) : payload_of(s);
        uint64_t offset = is_new ? chunk->string_offset : s->string_offset;
        /* Its size stands before it. */
        const char *entry = text;
        while (hb_strings_read(entry, (uint64_t)(bytes.data + bytes.size - entry)).s != text)
            entry--;
        size_t size = (size_t)(text - entry) + strlen(name) + 1;
        char other[100];
        memcpy(other, entry, size);
        other[text - entry] ^= 1;
        append_segment(&bytes,
                       (hb_segment){.kind = HB_SEGMENT_NAMES,
                                    .string_offset = offset + (uint64_t)(entry - from)},
                       other, size, true);
        assert_survivors(&bytes, SCOPES);
    }
}

static void damaged_names_are_better_than_none(void **state)
{
    (void)state;
    hb_buf bytes = copy_whole();
    hb_segment *s = next_segment(&bytes, HB_SEGMENT_NAMES, NULL);
    payload_of(s)[s->bytes - 1] ^= 1;
    char *text = memmem(payload_of(s), s->bytes, OLD_NAME, sizeof OLD_NAME);
    assert_non_null(text);
    assert_survivors(&bytes, SCOPES);
}

/* ---- sessions ---- */

static void sessions_that_are_traces_already_are_passed_over(void **state)
{
    (void)state;
    const uint32_t states[] = {HB_SESSION_NONE, HB_SESSION_RECORDING, HB_SESSION_STOPPED,
                               HB_SESSION_SAVED, HB_SESSION_SAVED + 1};
    for (size_t i = 0; i < HB_ARRAY_LEN(states); i++) {
        hb_buf bytes = copy_whole();
        hb_session *session = (hb_session *)(chunk_of(&bytes, HB_CHUNK_SESSIONS) + 1);
        session->state = states[i];
        if (states[i] == HB_SESSION_RECORDING || states[i] == HB_SESSION_STOPPED) {
            assert_survivors(&bytes, SCOPES);
            continue;
        }
        write_spool(&bytes);
        hb_buf_free(&bytes);
        assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_ERROR_NOT_FOUND);
        assert_int_equal(list_dir(dir, NULL, NULL, 0), 0);
        assert_false(spool_is_there());
    }
}

/* ---- whose, and of which version ---- */

static hb_spool_header *header_of(hb_buf *spool)
{
    return (hb_spool_header *)spool->data;
}

static char reason[1024];

static void note_reason(const hb_recovered *r, void *arg)
{
    *(hb_result *)arg = r->result;
    snprintf(reason, sizeof reason, "%s", r->error);
}

/* It stays, for who can read it. */
static void assert_refused(hb_buf *spool, hb_result result, const char *why)
{
    hb_result told = HB_OK;
    write_spool(spool);
    hb_buf_free(spool);
    assert_int_equal(hb_recover(dir, 0, note_reason, &told), result);
    assert_int_equal(told, result);
    if (!strstr(reason, why)) fail_msg("%s, not %s", reason, why);
    assert_true(spool_is_there());
}

static void spools_of_other_versions_are_read_or_stay(void **state)
{
    (void)state;
    for (uint32_t version = 0; version <= HB_SPOOL_VERSION + 1; version++) {
        hb_buf bytes = copy_whole();
        header_of(&bytes)->version = version;
        if (version >= 3 && version <= HB_SPOOL_VERSION)
            assert_survivors(&bytes, SCOPES);
        else if (version == 2) /* made up of other things */
            assert_refused(&bytes, HB_ERROR_UNSUPPORTED, "of other sizes");
        else
            assert_refused(&bytes, HB_ERROR_UNSUPPORTED, "this hipboard reads versions 2 to");
    }
    hb_buf bytes = copy_whole();
    header_of(&bytes)->endian = 0x04030201;
    assert_refused(&bytes, HB_ERROR_UNSUPPORTED, "of other byte order");
    bytes = copy_whole();
    header_of(&bytes)->layout.session_bytes += 8;
    assert_refused(&bytes, HB_ERROR_UNSUPPORTED, "of other sizes");
    bytes = copy_whole();
    header_of(&bytes)->magic[7] = 'S';
    assert_refused(&bytes, HB_ERROR_FORMAT, "not a spool of hipboard");
}

/* Of whose process nobody knows here whether it lives; who holds the file does. */
static void a_spool_of_another_container_is_its_owners_while_it_holds_it(void **state)
{
    (void)state;
    char path[PATH_MAX];
    hb_buf bytes = copy_whole();
    header_of(&bytes)->process.namespace ^= 1;
    write_spool(&bytes);
    hb_buf_free(&bytes);
    path_of_spool(path);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_ERROR_NOT_FOUND);
    assert_true(spool_is_there());
    close(fd);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    cJSON *trace = trace_that_is_there();
    assert_int_equal(count_named(trace, "survivor"), SCOPES);
    cJSON_Delete(trace);

    bytes = copy_whole(); /* whereas of this one's it is known that it is dead */
    write_spool(&bytes);
    hb_buf_free(&bytes);
    fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    close(fd);
    cJSON_Delete(trace_that_is_there());
}

static void a_living_process_gives_its_spool_away_by_closing_it(void **state)
{
    (void)state;
    hb_buf bytes = copy_whole();
    header_of(&bytes)->process = hb_process_id_here();
    write_spool(&bytes);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_ERROR_NOT_FOUND);
    assert_true(spool_is_there());
    header_of(&bytes)->closed = 1;
    assert_survivors(&bytes, SCOPES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(a_damaged_segment_takes_no_other_with_it),
        IN_DIR(what_is_behind_a_head_of_a_wrong_size_is_found),
        IN_DIR(a_file_that_is_cut_off_has_what_is_before),
        IN_DIR(a_chunk_is_read_where_its_segment_is_not_whole),
        IN_DIR(records_that_are_not_coded_are_read),
        IN_DIR(damaged_names_do_not_hide_whole_ones),
        IN_DIR(damaged_names_are_better_than_none),
        IN_DIR(sessions_that_are_traces_already_are_passed_over),
        IN_DIR(spools_of_other_versions_are_read_or_stay),
        IN_DIR(a_spool_of_another_container_is_its_owners_while_it_holds_it),
        IN_DIR(a_living_process_gives_its_spool_away_by_closing_it),
    };
    return cmocka_run_group_tests(tests, make_spool, free_spool);
}
