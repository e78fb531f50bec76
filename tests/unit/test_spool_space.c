/* SPDX-License-Identifier: MIT
 *
 * A spool while it is open, and its end: segments and space in its file, names, the table of
 * sessions, what is no longer needed, and what becomes of the file.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/crc32c.h"
#include "forks_with_threads.h"
#include "program.h"
#include "record/strings.h"
#include "thread_states.h"

/* ---- in place of the C library ---- */

static bool no_holes;   /* the file system can't punch any */
static int short_reads; /* each other one is interrupted */
static bool no_writes;

int __real_fallocate64(int fd, int mode, off_t offset, off_t size);
int __wrap_fallocate64(int fd, int mode, off_t offset, off_t size);
int __wrap_fallocate64(int fd, int mode, off_t offset, off_t size)
{
    if (no_holes && mode) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return __real_fallocate64(fd, mode, offset, size);
}

ssize_t __real_pread64(int fd, void *to, size_t size, off_t at);
ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t at);
ssize_t __wrap_pread64(int fd, void *to, size_t size, off_t at)
{
    if (short_reads && short_reads++ % 2) {
        errno = EINTR;
        return -1;
    }
    return __real_pread64(fd, to, short_reads ? HB_MIN(size, 10u) : size, at);
}

ssize_t __real_pwrite64(int fd, const void *data, size_t size, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t size, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t size, off_t at)
{
    if (no_writes) {
        errno = ENOSPC;
        return -1;
    }
    return __real_pwrite64(fd, data, size, at);
}

/* ---- helpers ---- */

enum { BYTES = 16 << 20 };

static hb_spool *spool;

static int open_spool(void **state)
{
    if (make_dir(state)) return -1;
    spool = still_spool(dir, BYTES);
    return 0;
}

static int close_spool(void **state)
{
    close_test_spool(spool);
    return remove_dir(state);
}

#define IN_SPOOL(name) cmocka_unit_test_setup_teardown(name, open_spool, close_spool)

/* Of so many bytes, each `fill`; where its payload lies. */
static bool append(size_t bytes, int fill, uint64_t *at)
{
    struct {
        hb_segment head;
        char payload[1024];
    } s = {.head = {.kind = HB_SEGMENT_EVENTS, .bytes = bytes, .padding = 77}};
    memset(s.payload, 0x11, sizeof s.payload);
    memset(s.payload, fill, bytes);
    return hb_spool_append(spool, &s.head, at);
}

static void assert_segment(uint64_t at, size_t bytes, int fill)
{
    struct {
        hb_segment head;
        unsigned char payload[1024];
    } s;
    const size_t skipped = offsetof(hb_segment, payload_crc);
    size_t whole = HB_ROUND_UP(bytes, HB_SEGMENT_ALIGN);
    assert_true(hb_spool_read(spool, at - sizeof s.head, &s, sizeof s.head + whole));
    assert_int_equal(s.head.magic, HB_SEGMENT_MAGIC);
    assert_int_equal(s.head.crc,
                     hb_crc32c((const char *)&s.head + skipped, sizeof s.head - skipped));
    assert_int_equal(s.head.payload_crc, hb_crc32c((const char *)s.payload, bytes));
    assert_int_equal(s.head.bytes, bytes);
    assert_int_equal(s.head.padding, 0);
    for (size_t i = 0; i < whole; i++)
        assert_int_equal(s.payload[i], i < bytes ? fill : 0);
}

static void assert_zeros(hb_extent e)
{
    static char bytes[1 << 18];
    assert_in_range(e.bytes, 1, sizeof bytes);
    assert_true(hb_spool_read(spool, e.offset, bytes, e.bytes));
    for (uint64_t i = 0; i < e.bytes; i++)
        assert_int_equal(bytes[i], 0);
}

static uint64_t file_size(void)
{
    struct stat st;
    assert_int_equal(stat(spool->path, &st), 0);
    return (uint64_t)st.st_size;
}

/* ---- segments ---- */

static void segments_lie_one_behind_the_other(void **state)
{
    (void)state;
    uint64_t at[3], tail = spool->tail;
    for (int i = 0; i < 3; i++) {
        size_t bytes = 100 + 4 * (size_t)i; /* of which one needs no zeros behind it */
        assert_true(append(bytes, 'a' + i, &at[i]));
        assert_int_equal(at[i], tail + sizeof(hb_segment));
        tail = at[i] + HB_ROUND_UP(bytes, HB_SEGMENT_ALIGN);
        assert_int_equal(spool->tail, tail);
    }
    for (int i = 0; i < 3; i++)
        assert_segment(at[i], 100 + 4 * (size_t)i, 'a' + i);
    assert_int_equal(file_size(), tail);
    spool->file_full = true;
    assert_false(append(8, 'x', &at[0]));
    spool->file_full = false;
    no_writes = true;
    assert_false(append(8, 'x', &at[0]));
    no_writes = false;
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = tail + sizeof(hb_segment); /* beyond which a signal ends the program */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_false(append(8, 'x', &at[0]));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(spool->tail, tail);
}

/* Punched as a hole, or written over: what stood there must not be read again. */
static void space_that_is_given_back_is_zeros_and_is_taken_again(void **state)
{
    (void)state;
    for (int way = 0; way < 2; way++) {
        uint64_t first, at;
        no_holes = way;
        assert_true(append(1000, 'a', &first) && append(1000, 'b', &at));
        uint64_t tail = spool->tail;
        hb_extent gone = {first - sizeof(hb_segment), sizeof(hb_segment) + 997};
        hb_spool_punch(spool, gone);
        gone.bytes += 3; /* up to the next one */
        assert_zeros(gone);
        assert_segment(at, 1000, 'b');
        no_holes = false;
        no_writes = true;
        assert_false(append(100, 'c', &at)); /* and it is free again */
        no_writes = false;
        assert_true(append(100, 'c', &at));
        assert_int_equal(at, first);
        assert_segment(at, 100, 'c');
        assert_true(append(1000, 'd', &at)); /* for which there is too little */
        assert_int_equal(at, tail + sizeof(hb_segment));
        assert_true(append(1000 - 104 - sizeof(hb_segment), 'e', &at));
        assert_int_equal(at, first + 104 + sizeof(hb_segment));
        assert_int_equal(spool->tail, tail + sizeof(hb_segment) + 1000);
    }
}

/* More than is written at once. */
static void large_space_is_zeros_as_well(void **state)
{
    (void)state;
    static char payload[sizeof(hb_segment) + 3 * HB_CHUNK_BYTES];
    hb_segment *segment = (hb_segment *)(void *)payload;
    uint64_t at, next;
    *segment = (hb_segment){.kind = HB_SEGMENT_NAMES, .bytes = 2 * HB_CHUNK_BYTES + 5000};
    memset(segment + 1, 'n', segment->bytes);
    assert_true(hb_spool_append(spool, segment, &at) && append(64, 'b', &next));
    no_holes = true;
    hb_extent gone = {at - sizeof *segment, sizeof *segment + segment->bytes};
    hb_spool_punch(spool, gone);
    no_holes = false;
    assert_zeros(gone);
    assert_segment(next, 64, 'b');
}

static void a_file_that_is_cut_off_ends_there(void **state)
{
    (void)state;
    uint64_t first, second, at;
    assert_true(append(1000, 'a', &first) && append(1000, 'b', &second));
    hb_spool_punch(spool, (hb_extent){second - sizeof(hb_segment), sizeof(hb_segment) + 1000});
    hb_spool_cut(spool, second - sizeof(hb_segment));
    assert_int_equal(file_size(), second - sizeof(hb_segment));
    assert_int_equal(spool->tail, second - sizeof(hb_segment));
    assert_int_equal(spool->space.size, 0);
    assert_true(append(10, 'c', &at));
    assert_int_equal(at, second);
    assert_segment(first, 1000, 'a');
}

static void what_is_read_in_pieces_is_whole(void **state)
{
    (void)state;
    uint64_t at;
    char more[200];
    assert_true(append(100, 'a', &at));
    short_reads = 1;
    assert_segment(at, 100, 'a');
    short_reads = 0;
    atomic_store(&spool->read_error, ENOSPC);
    assert_true(hb_spool_read(spool, at, more, 104));
    assert_int_equal(atomic_load(&spool->read_error), ENOSPC);
    assert_false(hb_spool_read(spool, at, more, 105)); /* beyond the end */
    assert_int_equal(atomic_load(&spool->read_error), 0);
}

/* ---- what is no longer needed ---- */

/* What lay side by side is one extent, whatever it was rounded up to. */
static void parts_that_are_dropped_leave_their_space(void **state)
{
    (void)state;
    enum { HEAD = sizeof(hb_segment) };
    hb_part part = {.place = HB_PART_FILE, .offset = 10000 + HEAD, .coded_bytes = 93};
    spool->kept_bytes = 1000;
    hb_spool_drop_part(spool, &part);
    assert_int_equal(spool->kept_bytes, 1000 - 93);
    part.offset = 10000 + HEAD + HB_ROUND_UP(93, HB_SEGMENT_ALIGN) + HEAD;
    hb_spool_drop_part(spool, &part);
    const hb_extent *gone = (const hb_extent *)spool->unneeded.data;
    assert_int_equal(spool->unneeded.size, sizeof *gone);
    assert_int_equal(gone->offset, 10000);
    assert_int_equal(gone->bytes, 2 * HEAD + HB_ROUND_UP(93, HB_SEGMENT_ALIGN) + 93);
    part.offset += 1000;
    hb_spool_forget_part(spool, &part); /* which was never kept */
    gone = (const hb_extent *)spool->unneeded.data;
    assert_int_equal(spool->unneeded.size, 2 * sizeof *gone);
    assert_int_equal(gone[1].offset, part.offset - HEAD);
    assert_int_equal(gone[1].bytes, HEAD + 93);
    assert_int_equal(spool->kept_bytes, 1000 - 2 * 93);
    part.place = HB_PART_CHUNK;
    hb_spool_drop_part(spool, &part);
    hb_spool_forget_part(spool, &part);
    part.place = HB_PART_MEMORY;
    part.coded = malloc(93);
    hb_spool_drop_part(spool, &part);
    assert_int_equal(spool->kept_bytes, 1000 - 3 * 93);
    assert_int_equal(spool->unneeded.size, 2 * sizeof *gone);
}

static void what_is_kept_is_counted_in_chunks(void **state)
{
    (void)state;
    const struct {
        uint64_t bytes;
        uint32_t chunks;
    } kept[] = {{0, 0}, {1, 1}, {HB_CHUNK_BYTES, 1}, {HB_CHUNK_BYTES + 1, 2}};
    for (size_t i = 0; i < HB_ARRAY_LEN(kept); i++) {
        spool->kept_bytes = kept[i].bytes;
        hb_spool_account(spool);
        assert_int_equal(atomic_load(&spool->pool.elsewhere), kept[i].chunks);
    }
}

static void numbers_of_held_sessions_wrap_around(void **state)
{
    (void)state;
    worker w;
    (void)begin_in(spool, 0);
    start_worker(&w);
    do_on(&w, enter);
    atomic_store(&w.state->silent, atomic_load(&w.state->busy));
    assert_false(hb_spool_holds(spool, 1));
    atomic_store(&spool->held, 5);
    assert_true(hb_spool_holds(spool, 5) && hb_spool_holds(spool, UINT32_MAX - 5));
    assert_false(hb_spool_holds(spool, 6));
    atomic_store(&spool->held, UINT32_MAX - 5);
    assert_false(hb_spool_holds(spool, 5));
    assert_false(hb_spool_close(spool, false)); /* somebody may write there: the memory stays */
    assert_non_null(spool->base);
    do_on(&w, leave);
    assert_false(hb_spool_holds(spool, 1));
    end_worker(&w);
    spool = still_spool(dir, BYTES);
}

/* ---- sessions ---- */

static void sessions_have_places_in_a_table(void **state)
{
    (void)state;
    hb_session *first = hb_spool_new_session(spool), *last = NULL;
    const hb_chunk *chunk = hb_spool_chunk(spool, hb_pool_index(&spool->pool, first));
    assert_int_equal(chunk->kind, HB_CHUNK_SESSIONS);
    assert_int_equal(chunk->used, HB_CHUNK_BYTES);
    assert_ptr_equal(first, chunk + 1);
    assert_null(hb_spool_events(spool, hb_pool_index(&spool->pool, first)));
    for (uint32_t i = 0; i < HB_SESSIONS_PER_CHUNK; i++) {
        last = hb_spool_new_session(spool);
        assert_ptr_equal(last, first + i);
        last->number = 1000 + i;
        last->in_memory = 7;
        hb_session_set_state(last, HB_SESSION_SAVED);
        assert_false(hb_spool_has_unsaved(spool));
    }
    hb_session *other = hb_spool_new_session(spool);
    assert_int_not_equal(hb_pool_index(&spool->pool, other), hb_pool_index(&spool->pool, first));
    hb_spool_no_more_in_memory(spool, 1000 + 5);
    hb_spool_no_more_in_memory(spool, 99999);
    assert_int_equal(first[5].in_memory, 6);
    assert_int_equal(first[4].in_memory, 7);
    hb_session_set_state(&first[5], HB_SESSION_NONE);
    hb_spool_no_more_in_memory(spool, 1000 + 5);
    assert_int_equal(first[5].in_memory, 6);
    assert_ptr_equal(hb_spool_new_session(spool), &first[5]);
    assert_true(first[5].in_memory == 0 && first[5].cycle == 0 && first[5].flags == 0);
    const uint32_t unsaved[] = {HB_SESSION_RECORDING, HB_SESSION_STOPPED};
    for (size_t i = 0; i < HB_ARRAY_LEN(unsaved); i++) {
        hb_session_set_state(last, unsaved[i]);
        assert_true(hb_spool_has_unsaved(spool));
    }
    hb_session_set_state(last, HB_SESSION_SAVED);
    assert_false(hb_spool_has_unsaved(spool));
}

/* ---- names ---- */

static void take_name(const char *name, size_t size)
{
    assert_int_not_equal(hb_strings_intern(name, size), HB_STRING_DROPPED);
}

/* Until it is full; then the writer may have it. What is too long for any it takes elsewhere. */
static void new_names_lie_in_a_chunk(void **state)
{
    (void)state;
    static char name[HB_CHUNK_BYTES + 100];
    uint64_t from, to;
    hb_strings_table(&from);
    take_name("spool space: first", 18);
    uint32_t index = spool->names_chunk;
    const hb_chunk *chunk = hb_spool_chunk(spool, index);
    const char *table = hb_strings_table(&to);
    assert_int_equal(chunk->kind, HB_CHUNK_NAMES);
    assert_int_equal(chunk->string_offset, from);
    assert_int_equal(chunk->used, sizeof *chunk + (to - from));
    take_name("spool space: second", 19);
    table = hb_strings_table(&to);
    assert_int_equal(chunk->used, sizeof *chunk + (to - from));
    assert_memory_equal(chunk + 1, table + from, to - from);
    assert_false(atomic_load(&spool->names_missed));
    memset(name, 'x', sizeof name);
    for (char c = 'a'; spool->names_chunk == index; c++) {
        hb_strings_table(&from);
        name[0] = c;
        take_name(name, 15000);
    }
    assert_int_equal(atomic_load(&spool->pool.state[index]), HB_CHUNK_FULL);
    assert_in_range(chunk->used, HB_CHUNK_BYTES - 16000, HB_CHUNK_BYTES);
    chunk = hb_spool_chunk(spool, spool->names_chunk);
    assert_int_equal(chunk->string_offset, from);
    assert_false(atomic_load(&spool->names_missed));
    take_name(name, sizeof name);
    assert_true(atomic_load(&spool->names_missed));
    assert_int_equal(spool->names_chunk, 0);
    atomic_store(&spool->names_missed, false);
    while (hb_pool_take_in_file(&spool->pool))
        continue;
    take_name("spool space: third", 18); /* and there is no chunk in the file */
    assert_true(atomic_load(&spool->names_missed));
}

/* ---- the end ---- */

static int files(void)
{
    int n = 0;
    DIR *list = opendir(dir);
    for (struct dirent *e; list && (e = readdir(list));)
        n += strstr(e->d_name, HB_SPOOL_SUFFIX) != NULL;
    if (list) closedir(list);
    return n;
}

static void a_file_that_is_kept_is_given_away(void **state)
{
    (void)state;
    hb_spool_header head;
    char path[400];
    snprintf(path, sizeof path, "%s", spool->path);
    assert_true(hb_spool_close(spool, true));
    assert_true(hb_spool_close(spool, true)); /* it is not open any more */
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, &head, sizeof head), sizeof head);
    close(fd);
    assert_int_equal(head.closed, 1);
    assert_string_equal(head.magic, HB_SPOOL_MAGIC);
    assert_int_equal(spool->file.fd, -1);
    free(spool);
    assert_int_equal(unlink(path), 0);
    spool = still_spool(dir, BYTES);
}

/* Its directory may have another name, or the program may have closed what stands for it. */
static void a_file_goes_wherever_its_directory_is(void **state)
{
    (void)state;
    char moved[400];
    close_test_spool(spool);
    assert_int_equal(files(), 0);
    spool = still_spool(dir, BYTES);
    snprintf(moved, sizeof moved, "%s-moved", dir);
    assert_int_equal(rename(dir, moved), 0);
    close_test_spool(spool);
    assert_int_equal(rename(moved, dir), 0);
    assert_int_equal(files(), 0);
    spool = still_spool(dir, BYTES);
    close(spool->dir.fd);
    close_test_spool(spool);
    assert_int_equal(files(), 0);
    spool = still_spool(dir, BYTES);
}

static int let_go_in_child(void)
{
    int fd = spool->file.fd, in = spool->dir.fd;
    hb_spool_abandon(spool);
    if (spool->base || spool->path || spool->file.fd != -1) return 1;
    if (fcntl(fd, F_GETFD) != -1 || fcntl(in, F_GETFD) != -1) return 2;
    hb_spool_abandon(spool); /* which it is not open any more for */
    return 0;
}

static void a_child_lets_go_of_its_parents_spool(void **state)
{
    (void)state;
    uint64_t at;
    pid_t pid = fork();
    if (pid == 0) _exit(let_go_in_child());
    wait_for_success(pid);
    assert_int_equal(files(), 1);
    assert_true(append(100, 'a', &at));
    assert_segment(at, 100, 'a');
}

/* Whatever else is open, and whichever was closed. */
static void at_exit_files_go_whose_sessions_are_saved(void **state)
{
    (void)state;
    hb_spool *others[2] = {still_spool(dir, BYTES), still_spool(dir, BYTES)};
    hb_session *session = begin_in(spool, 0);
    pid_t pid = fork();
    if (pid == 0) {
        hb_spools_at_exit(); /* none of them is a child's */
        _exit(0);
    }
    wait_for_success(pid);
    assert_int_equal(files(), 3);
    close_test_spool(others[0]);
    assert_int_equal(files(), 2);
    hb_spools_at_exit();
    assert_int_equal(files(), 1);
    assert_int_equal(access(spool->path, F_OK), 0);
    end_in_spool(spool, session);
    hb_spools_at_exit();
    assert_int_equal(files(), 0);
    close_test_spool(others[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_SPOOL(segments_lie_one_behind_the_other),
        IN_SPOOL(space_that_is_given_back_is_zeros_and_is_taken_again),
        IN_SPOOL(large_space_is_zeros_as_well),
        IN_SPOOL(a_file_that_is_cut_off_ends_there),
        IN_SPOOL(what_is_read_in_pieces_is_whole),
        IN_SPOOL(parts_that_are_dropped_leave_their_space),
        IN_SPOOL(what_is_kept_is_counted_in_chunks),
        IN_SPOOL(numbers_of_held_sessions_wrap_around),
        IN_SPOOL(sessions_have_places_in_a_table),
        IN_SPOOL(new_names_lie_in_a_chunk),
        IN_SPOOL(a_file_that_is_kept_is_given_away),
        IN_SPOOL(a_file_goes_wherever_its_directory_is),
        IN_SPOOL(a_child_lets_go_of_its_parents_spool),
        IN_SPOOL(at_exit_files_go_whose_sessions_are_saved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
