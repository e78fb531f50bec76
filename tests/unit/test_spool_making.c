/* SPDX-License-Identifier: MIT
 *
 * How a spool's file is made and goes again: where it lies, what is in it from the beginning, and
 * what is done where the system refuses a part of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/crc32c.h"
#include "forks_with_threads.h"
#include "program.h"
#include "record/process_id.h"
#include "still_spool.h"

/* ---- in place of the C library ---- */

/* Of the thread that makes the spool. */
static struct {
    pthread_t thread;
    bool on;
    int refusals, error, calls; /* so many allocations fail */
    int failing_write, writes;  /* the n-th one; 0: none */
    bool short_writes, empty_writes, no_unnamed, no_links, no_proc, locked;
    uint64_t free_blocks; /* of 4096 bytes; 0: as it is */
} system_;

static bool is_asked(void)
{
    return system_.on && pthread_equal(system_.thread, pthread_self());
}

int __real_fallocate64(int fd, int mode, off_t offset, off_t size);
int __wrap_fallocate64(int fd, int mode, off_t offset, off_t size);
int __wrap_fallocate64(int fd, int mode, off_t offset, off_t size)
{
    if (system_.on && !is_asked()) { /* the spool's own thread, which would make up for it */
        errno = ENOSPC;
        return -1;
    }
    if (is_asked() && ++system_.calls <= system_.refusals) {
        errno = system_.error;
        return -1;
    }
    return __real_fallocate64(fd, mode, offset, size);
}

ssize_t __real_pwrite64(int fd, const void *data, size_t size, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t size, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t size, off_t at)
{
    if (!is_asked()) return __real_pwrite64(fd, data, size, at);
    if (++system_.writes == system_.failing_write) {
        errno = ENOSPC;
        return -1;
    }
    if (system_.empty_writes || (system_.short_writes && system_.writes % 2)) {
        errno = EINTR;
        return system_.empty_writes ? 0 : -1;
    }
    size_t most = system_.writes % 4 ? 100 : 1;
    return __real_pwrite64(fd, data, system_.short_writes ? HB_MIN(size, most) : size, at);
}

int __real_openat64(int in, const char *path, int flags, ...);
int __wrap_openat64(int in, const char *path, int flags, ...);
int __wrap_openat64(int in, const char *path, int flags, ...)
{
    va_list list;
    bool unnamed = (flags & O_TMPFILE) == O_TMPFILE;
    va_start(list, flags);
    mode_t mode = unnamed || (flags & O_CREAT) ? va_arg(list, mode_t) : 0;
    va_end(list);
    if (is_asked() && system_.no_unnamed && unnamed) {
        errno = EOPNOTSUPP;
        return -1;
    }
    return __real_openat64(in, path, flags, mode);
}

int __real_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags);
int __wrap_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags);
int __wrap_linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    if (is_asked() && system_.no_links) {
        errno = EPERM;
        return -1;
    }
    return __real_linkat(from_dir, from, to_dir, to, flags);
}

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);
int __wrap_access(const char *path, int mode)
{
    if (is_asked() && system_.no_proc && strncmp(path, "/proc", 5) == 0) {
        errno = ENOENT;
        return -1;
    }
    return __real_access(path, mode);
}

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __wrap_flock(int fd, int operation)
{
    if (is_asked() && system_.locked) {
        errno = EWOULDBLOCK;
        return -1;
    }
    return __real_flock(fd, operation);
}

int __real_fstatvfs64(int fd, struct statvfs *fs);
int __wrap_fstatvfs64(int fd, struct statvfs *fs);
int __wrap_fstatvfs64(int fd, struct statvfs *fs)
{
    int result = __real_fstatvfs64(fd, fs);
    if (is_asked() && system_.free_blocks) {
        fs->f_frsize = 4096;
        fs->f_bavail = system_.free_blocks;
    }
    return result;
}

static void be_asked(void)
{
    memset(&system_, 0, sizeof system_);
    system_.thread = pthread_self();
    system_.on = true;
}

/* ---- helpers ---- */

enum { BYTES = 16 << 20, CHUNKS_OF_IT = 51, FIRST = 16 }; /* a fifth of it, at first so many */

static hb_spool *spool;

static int files_in(const char *path)
{
    int n = 0;
    DIR *list = opendir(path);
    for (struct dirent *e; list && (e = readdir(list));)
        n += strstr(e->d_name, HB_SPOOL_SUFFIX) != NULL;
    if (list) closedir(list);
    return n;
}

static uint32_t chunks_in_file(void)
{
    return atomic_load(&spool->pool.in_file);
}

static hb_spool_header header_on_disk(const char *path)
{
    hb_spool_header head = {.closed = 77};
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, &head, sizeof head), sizeof head);
    close(fd);
    return head;
}

/* It records all the same, into memory. */
static void assert_in_memory(bool lacks_file)
{
    assert_int_equal(spool->lacks_file, lacks_file);
    assert_null(spool->path);
    assert_int_equal(files_in(dir), 0);
    hb_session *session = begin_in(spool, 0);
    record_one();
    end_in_spool(spool, session);
    assert_int_equal(session->lost[HB_LOST_BUFFER_FULL], 0);
    close_test_spool(spool);
}

static void assert_in_file(void)
{
    assert_false(spool->lacks_file);
    assert_non_null(spool->path);
    assert_int_equal(files_in(dir), 1);
    assert_int_equal(chunks_in_file(), CHUNKS_OF_IT);
    hb_spool_header head = header_on_disk(spool->path);
    assert_memory_equal(&head, &spool->head, sizeof head);
    close_test_spool(spool);
    assert_int_equal(files_in(dir), 0);
}

/* ---- what is in it ---- */

static void the_file_says_whose_it_is(void **state)
{
    (void)state;
    char host[256] = "", name[256] = "";
    struct stat st;
    int64_t before = hb_clock_ns(CLOCK_REALTIME);
    hb_process_id process = hb_process_id_here();
    spool = still_spool(dir, BYTES);
    hb_spool_header head = header_on_disk(spool->path);
    assert_string_equal(head.magic, HB_SPOOL_MAGIC);
    assert_int_equal(head.version, HB_SPOOL_VERSION);
    assert_int_equal(head.endian, HB_SPOOL_ENDIAN);
    assert_memory_equal(&head.layout, &hb_spool_layout_here, sizeof head.layout);
    assert_int_equal(head.closed, 0);
    assert_in_range(head.created_unix_ns, before, hb_clock_ns(CLOCK_REALTIME));
    assert_memory_equal(&head.process, &process, sizeof process);
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    hb_process_name(name, sizeof name);
    assert_string_equal(head.host_name, host);
    assert_string_equal(head.process_name, name);
    assert_string_equal(head.worker_name, "still");
    assert_int_equal(stat(spool->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_true(spool->file.fd > 2 && hb_kept_file_is_there(&spool->file));
    assert_true(hb_kept_file_is_there(&spool->dir));
    size_t n = strlen(dir);
    assert_memory_equal(spool->path, dir, n);
    assert_memory_equal(spool->path + n, "/.still.", 8);
    close_test_spool(spool);
}

static hb_segment segment_at(uint64_t offset)
{
    hb_segment s;
    const size_t skipped = offsetof(hb_segment, payload_crc);
    assert_true(hb_spool_read(spool, offset, &s, sizeof s));
    assert_int_equal(s.magic, HB_SEGMENT_MAGIC);
    assert_int_equal(s.crc, hb_crc32c((const char *)&s + skipped, sizeof s - skipped));
    return s;
}

/* Where a kill leaves them: what is written to a chunk stands in the file. */
static void chunks_lie_in_two_areas_of_the_file(void **state)
{
    (void)state;
    spool = still_spool(dir, BYTES);
    assert_int_equal(chunks_in_file(), CHUNKS_OF_IT);
    assert_int_equal(spool->pool.first_in_memory, CHUNKS_OF_IT + 1);
    uint64_t at = HB_SPOOL_HEADER_BYTES;
    uint32_t index = 1;
    for (int area = 0; area < 2; area++) {
        uint64_t count = area ? CHUNKS_OF_IT - FIRST : FIRST;
        hb_segment s = segment_at(at);
        assert_int_equal(s.kind, HB_SEGMENT_HOT);
        assert_int_equal(s.bytes, count * HB_CHUNK_BYTES);
        uint64_t from = at + sizeof s + s.padding;
        assert_int_equal(from % HB_CHUNK_BYTES, 0);
        assert_in_range(s.padding, 0, HB_CHUNK_BYTES - 1);
        for (uint64_t i = 0; i < count; i += count - 1, index += (uint32_t)count - 1) {
            char mark[16], *in_chunk = (char *)hb_spool_chunk(spool, index) + 40000;
            snprintf(in_chunk, sizeof mark, "chunk %u", index);
            assert_true(hb_spool_read(spool, from + i * HB_CHUNK_BYTES + 40000, mark, 16));
            assert_string_equal(mark, in_chunk);
        }
        index = FIRST + 1;
        at = from + s.bytes;
    }
    assert_int_equal(segment_at(at).kind, HB_SEGMENT_NAMES); /* those that there are already */
    assert_true(spool->tail > at && spool->floor == spool->tail);
    close_test_spool(spool);
}

/* ---- of what size, and where ---- */

static void a_fifth_of_the_room_is_in_the_file(void **state)
{
    (void)state;
    const struct {
        uint64_t bytes;
        uint32_t chunks;
    } sizes[] = {{1 << 20, 4}, {5 << 20, 16}, {(uint64_t)8 << 30, 8192}};
    for (size_t i = 0; i < HB_ARRAY_LEN(sizes); i++) {
        spool = still_spool(dir, sizes[i].bytes);
        assert_int_equal(spool->pool.first_in_memory, sizes[i].chunks + 1);
        assert_int_equal(chunks_in_file(), HB_MIN(sizes[i].chunks, HB_SPOOL_HOT));
        close_test_spool(spool);
    }
}

static void without_a_directory_it_is_in_memory(void **state)
{
    (void)state;
    const char *const none[] = {NULL, "", "/proc/self/nothing", "/nothing"};
    for (size_t i = 0; i < HB_ARRAY_LEN(none); i++) {
        spool = still_spool(none[i], BYTES);
        if (i < 2) assert_int_equal(spool->pool.first_in_memory, 1);
        assert_in_memory(false);
    }
    spool = still_spool("/proc/self", BYTES); /* where no file can be made */
    assert_in_memory(true);
}

static void a_relative_directory_is_the_present_ones(void **state)
{
    (void)state;
    char before[4096];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(dir), 0);
    const hb_spool_options options = {.dir = ".", .max_bytes = BYTES};
    spool = malloc(sizeof *spool);
    assert_int_equal(hb_spool_open(spool, &options), HB_OK);
    assert_int_equal(chdir(before), 0);
    size_t n = strlen(dir);
    assert_memory_equal(spool->path, dir, n);
    assert_memory_equal(spool->path + n, "/./.hipboard.", 13); /* who has no name */
    assert_string_equal(spool->head.worker_name, "hipboard");
    assert_int_equal(access(spool->path, F_OK), 0);
    close_test_spool(spool);
}

static void no_two_spools_have_one_serial(void **state)
{
    (void)state;
    spool = still_spool(dir, BYTES);
    uint32_t serial = spool->serial;
    close_test_spool(spool);
    spool = still_spool(dir, BYTES);
    assert_int_equal(spool->serial, serial + 1);
    close_test_spool(spool);
}

/* ---- where something is refused ---- */

/* Some file systems begin anew with each signal. */
static void an_allocation_that_signals_interrupt_is_tried_again(void **state)
{
    (void)state;
    be_asked();
    system_.refusals = 19;
    system_.error = EINTR;
    spool = still_spool(dir, BYTES);
    system_.on = false;
    assert_int_equal(system_.calls, 19 + 2);
    assert_in_file();
    be_asked();
    system_.refusals = 1000;
    system_.error = EINTR;
    spool = still_spool(dir, BYTES);
    system_.on = false;
    assert_int_equal(system_.calls, 2 * 20); /* without a name, and with one */
    assert_in_memory(true);
}

static void a_full_disk_is_asked_once(void **state)
{
    (void)state;
    be_asked();
    system_.refusals = 1000;
    system_.error = ENOSPC;
    spool = still_spool(dir, BYTES);
    system_.on = false;
    assert_int_equal(system_.calls, 2);
    assert_in_memory(true);
}

static void what_is_written_bit_by_bit_is_whole(void **state)
{
    (void)state;
    be_asked();
    system_.short_writes = true;
    spool = still_spool(dir, BYTES);
    system_.on = false;
    assert_in_file();
}

static void what_is_never_written_makes_no_file(void **state)
{
    (void)state;
    be_asked();
    system_.empty_writes = true;
    spool = still_spool(dir, BYTES);
    system_.on = false;
    assert_int_equal(system_.writes, 2); /* of the file without a name, and of the other */
    assert_in_memory(true);
}

/* Whichever: the last one is the header. Of the second area alone nothing depends. */
static void without_a_write_there_is_no_file(void **state)
{
    (void)state;
    be_asked();
    spool = still_spool(dir, BYTES);
    system_.on = false;
    int writes = system_.writes;
    assert_in_range(writes, 4, 100);
    close_test_spool(spool);
    for (int n = 1; n <= 4; n++) {
        be_asked();
        system_.failing_write = n;
        spool = still_spool(dir, BYTES);
        system_.on = false;
        if (n == 1 || n == 2) { /* then one with a name is made */
            assert_in_file();
        } else if (n == 3) {
            assert_int_equal(chunks_in_file(), FIRST);
            assert_false(spool->lacks_file);
            close_test_spool(spool);
        } else {
            assert_in_memory(true);
        }
    }
}

static void assert_made_by_its_name(void)
{
    struct stat st;
    spool = still_spool(dir, BYTES);
    system_.on = false;
    assert_int_equal(stat(spool->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_in_file();
}

static void where_files_have_a_name_at_once_it_is_made_by_that(void **state)
{
    (void)state;
    be_asked();
    system_.no_unnamed = true;
    assert_made_by_its_name();
}

/* Nor could one get a name later where there is no /proc, which is not tried. */
static void without_proc_it_is_made_by_its_name(void **state)
{
    (void)state;
    be_asked();
    system_.no_proc = system_.no_links = true;
    assert_made_by_its_name();
}

static void a_file_that_gets_no_name_is_none(void **state)
{
    (void)state;
    be_asked();
    system_.no_links = true;
    spool = still_spool(dir, BYTES);
    system_.on = false;
    assert_true(spool->tail == 0 && spool->floor == 0);
    assert_in_memory(true);
}

/* By somebody who means ill: recovery could not tell that this process lives. */
static void a_file_that_another_has_locked_is_none(void **state)
{
    (void)state;
    be_asked();
    system_.locked = true;
    spool = still_spool(dir, BYTES);
    system_.on = false;
    assert_in_memory(true);
}

/* A sixteenth of what is free, but for the first chunks. */
static void little_of_a_disk_is_taken(void **state)
{
    (void)state;
    const uint64_t enough = (CHUNKS_OF_IT - FIRST) * HB_CHUNK_BYTES / 4096 * 16;
    for (uint64_t less = 0; less < 2; less++) {
        be_asked();
        system_.free_blocks = enough - less;
        spool = still_spool(dir, BYTES);
        assert_int_equal(chunks_in_file(), less ? FIRST : CHUNKS_OF_IT);
        system_.on = false;
        close_test_spool(spool);
    }
}

static void chunks_are_added_as_long_as_there_is_room(void **state)
{
    (void)state;
    be_asked();
    system_.free_blocks = 1;
    spool = still_spool(dir, BYTES);
    system_.on = false;
    uint64_t tail = spool->tail;
    assert_int_equal(chunks_in_file(), FIRST);
    spool->file_full = true;
    assert_false(hb_spool_add_hot(spool, 1));
    spool->file_full = false;
    assert_false(hb_spool_add_hot(spool, 0));
    assert_true(hb_spool_add_hot(spool, 1));
    assert_int_equal(chunks_in_file(), FIRST + 1);
    assert_true(spool->tail == spool->floor && spool->tail > tail + HB_CHUNK_BYTES);
    assert_true(hb_spool_add_hot(spool, 1000));
    assert_int_equal(chunks_in_file(), CHUNKS_OF_IT);
    assert_int_equal(atomic_load(&spool->pool.ready_in_file), CHUNKS_OF_IT);
    assert_false(hb_spool_add_hot(spool, 1));
    close_test_spool(spool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(the_file_says_whose_it_is),
        IN_DIR(chunks_lie_in_two_areas_of_the_file),
        IN_DIR(a_fifth_of_the_room_is_in_the_file),
        IN_DIR(without_a_directory_it_is_in_memory),
        IN_DIR(a_relative_directory_is_the_present_ones),
        IN_DIR(no_two_spools_have_one_serial),
        IN_DIR(an_allocation_that_signals_interrupt_is_tried_again),
        IN_DIR(a_full_disk_is_asked_once),
        IN_DIR(what_is_written_bit_by_bit_is_whole),
        IN_DIR(what_is_never_written_makes_no_file),
        IN_DIR(without_a_write_there_is_no_file),
        IN_DIR(where_files_have_a_name_at_once_it_is_made_by_that),
        IN_DIR(without_proc_it_is_made_by_its_name),
        IN_DIR(a_file_that_gets_no_name_is_none),
        IN_DIR(a_file_that_another_has_locked_is_none),
        IN_DIR(little_of_a_disk_is_taken),
        IN_DIR(chunks_are_added_as_long_as_there_is_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
