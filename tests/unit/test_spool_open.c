/* SPDX-License-Identifier: MIT
 *
 * Whether a spool that was found is another's, none, or can't be read, and what is told of it; of
 * spools made by hand.
 */
#include <errno.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <hipboard/hipboard.h>

#include "spool_bytes.h"

/* ---- the disk and the clock, as a test has them ---- */

static struct {
    int errors[4];       /* of the next reads; 0: none */
    unsigned fails_from; /* the n-th read and all behind it fail; 0: none */
    unsigned reads;
    off_t end;           /* of all files; 0: as it is */
    size_t most;         /* bytes that a read gives; 0: all */
    time_t now;          /* 0: as it is */
    const char *removed; /* when a file's state is asked for the second time */
    unsigned states;
} played;

ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(played.errors); i++) {
        if (!played.errors[i]) continue;
        errno = played.errors[i];
        played.errors[i] = 0;
        return -1;
    }
    if (++played.reads >= played.fails_from && played.fails_from) {
        errno = EIO;
        return -1;
    }
    if (played.end && at >= played.end) return 0;
    if (played.most) size = HB_MIN(size, played.most);
    return syscall(SYS_pread64, fd, to, size, at);
}

int fstat(int fd, struct stat *st)
{
    if (played.removed && ++played.states == 2) unlink(played.removed);
    return fstatat(fd, "", st, AT_EMPTY_PATH);
}

time_t time(time_t *to)
{
    struct timespec t = {.tv_sec = played.now};
    if (!played.now) clock_gettime(CLOCK_REALTIME, &t);
    if (to) *to = t.tv_sec;
    return t.tv_sec;
}

static int next_descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(fd);
    return fd;
}

static void assert_opened_as(const char *path, const struct stat *seen, hb_result result,
                             const char *why)
{
    hb_spool_file file;
    int before = next_descriptor();
    hb_result got = hb_spool_file_open(&file, path, seen);
    if (got != HB_OK && (!why || !strstr(hb_last_error(), why)))
        fail_msg("%s, not %s", hb_last_error(), why ? why : "well");
    assert_int_equal(got, result);
    hb_spool_file_close(&file);
    assert_int_equal(next_descriptor(), before);
}

/* Leaves the bytes. */
static void assert_read_as(const hb_buf *bytes, hb_result result, const char *why)
{
    char path[PATH_MAX];
    struct stat st;
    path_of_bytes(path);
    write_bytes(bytes, &st);
    assert_opened_as(path, &st, result, why);
}

/* ---- which file ---- */

/* Whoever may write to the directory may have put another file there since it was seen. */
static void another_file_than_was_seen_is_not_read(void **state)
{
    (void)state;
    static const char taken[] = "another file has just taken its place";
    char path[PATH_MAX], other[PATH_MAX + 8];
    struct stat st, changed;
    hb_buf bytes = begin_spool();
    path_of_bytes(path);
    snprintf(other, sizeof other, "%s.other", path);
    write_bytes(&bytes, &st);
    assert_opened_as(path, &st, HB_OK, NULL);
    changed = st;
    changed.st_ino++;
    assert_opened_as(path, &changed, HB_ERROR_BUSY, taken);
    changed = st;
    changed.st_dev++;
    assert_opened_as(path, &changed, HB_ERROR_BUSY, taken);
    assert_int_equal(rename(path, other), 0);
    assert_opened_as(path, &st, HB_ERROR_BUSY, "its process has just removed it");
    assert_int_equal(symlink(other, path), 0);
    assert_opened_as(path, &st, HB_ERROR_BUSY, taken);
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_opened_as(path, &st, HB_ERROR_BUSY, taken);
    unlink(path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_opened_as(path, &st, HB_ERROR_IO, strerror(EISDIR));
    hb_buf_free(&bytes);
}

static void what_is_removed_while_it_is_opened_is_its_owners(void **state)
{
    (void)state;
    char path[PATH_MAX];
    hb_buf bytes = begin_spool();
    path_of_bytes(path);
    played.states = 0;
    played.removed = path;
    assert_read_as(&bytes, HB_ERROR_BUSY, "its process has just removed it");
    played.removed = NULL;
    hb_buf_free(&bytes);
}

/* As another user, where this one may do anything. */
static void read_what_is_others(void)
{
    char path[PATH_MAX];
    struct stat st;
    hb_spool_file file;
    path_of_bytes(path);
    if (stat(path, &st) != 0 || chmod(dir, 0711) != 0 || chmod(path, 0444) != 0) _exit(1);
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    if (hb_spool_file_open(&file, path, &st) != HB_OK || num_sessions(&file) != 1) _exit(3);
    hb_spool_file_mark_saved(&file, found_session(&file, 0)); /* as far as that goes */
    hb_spool_file_close(&file);
    if (hb_spool_file_open(&file, path, &st) != HB_OK) _exit(4);
    if (found_session(&file, 0)->session.state != HB_SESSION_STOPPED) _exit(5);
    hb_spool_file_close(&file);
    _exit(0);
}

static void a_file_that_may_only_be_read_is_read(void **state)
{
    (void)state;
    static const uint32_t one = 1;
    char path[PATH_MAX];
    struct stat st;
    hb_buf bytes = begin_spool();
    put_sessions(&bytes, append_hot(&bytes, 1), &one, 1);
    write_bytes(&bytes, &st);
    pid_t child = fork();
    if (child == 0) read_what_is_others();
    wait_for_success(child);
    path_of_bytes(path);
    unlink(path);
    hb_buf_free(&bytes);
}

/* Its number is 0 then; and whatever failed before is no reason to refuse it. */
static void without_a_standard_input_a_file_is_read(void **state)
{
    (void)state;
    static const int errors[] = {EACCES, EROFS, ENOENT, ELOOP, EIO};
    char path[PATH_MAX];
    struct stat st;
    hb_spool_file file;
    hb_buf bytes = begin_spool();
    path_of_bytes(path);
    write_bytes(&bytes, &st);
    int input = fcntl(0, F_DUPFD_CLOEXEC, 3);
    for (size_t i = 0; i < HB_ARRAY_LEN(errors); i++) {
        close(0);
        errno = errors[i];
        hb_result result = hb_spool_file_open(&file, path, &st);
        int number = file.fd;
        hb_spool_file_close(&file);
        bool is_closed = fcntl(0, F_GETFD) < 0;
        if (input >= 0) dup2(input, 0);
        assert_int_equal(result, HB_OK);
        assert_int_equal(number, 0);
        assert_true(is_closed);
    }
    if (input >= 0) close(input);
    hb_buf_free(&bytes);
}

/* ---- whose it is ---- */

static void a_file_is_its_process_as_long_as_that_lives(void **state)
{
    (void)state;
    hb_buf bytes = begin_spool();
    spool_header(&bytes)->closed = 0;
    spool_header(&bytes)->process = hb_process_id_here();
    assert_read_as(&bytes, HB_ERROR_BUSY, "is still running");
    char number[32];
    snprintf(number, sizeof number, "its process %lld ", (long long)getpid());
    assert_non_null(strstr(hb_last_error(), number));
    /* Which is told before what is in it, since that may be gone a moment later. */
    spool_header(&bytes)->layout.chunk_bytes++;
    assert_read_as(&bytes, HB_ERROR_BUSY, "is still running");
    spool_header(&bytes)->layout.chunk_bytes--;
    spool_header(&bytes)->process.start_time++; /* another of its number */
    assert_read_as(&bytes, HB_OK, NULL);
    spool_header(&bytes)->process = hb_process_id_here();
    spool_header(&bytes)->closed = 1;
    assert_read_as(&bytes, HB_OK, NULL);
    hb_buf_free(&bytes);
}

/* Whether a process of another container lives is known by its lock alone. */
static void who_holds_a_file_is_asked_where_nothing_else_is_known(void **state)
{
    (void)state;
    char path[PATH_MAX];
    struct stat st;
    hb_buf bytes = begin_spool();
    path_of_bytes(path);
    for (int closed = 0; closed < 2; closed++) {
        spool_header(&bytes)->closed = (uint32_t)closed;
        write_bytes(&bytes, &st);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        assert_int_equal(flock(fd, LOCK_EX), 0);
        assert_opened_as(path, &st, closed ? HB_OK : HB_ERROR_BUSY, "a process holds it");
        close(fd);
        assert_opened_as(path, &st, HB_OK, NULL);
    }
    hb_buf_free(&bytes);
}

/* ---- what it is ---- */

static void other_formats_are_told_by_what_they_are(void **state)
{
    (void)state;
    for (int lives = 0; lives < 2; lives++) { /* of what is none it matters to nobody */
        hb_buf bytes = begin_spool();
        hb_spool_header *h = spool_header(&bytes);
        h->closed = !lives;
        h->process = hb_process_id_here();
        for (uint32_t version = 0; version <= HB_SPOOL_VERSION + 2; version++) {
            h->version = version;
            bool is_read = version >= 3 && version <= HB_SPOOL_VERSION;
            assert_read_as(&bytes,
                           !is_read ? HB_ERROR_UNSUPPORTED
                           : lives  ? HB_ERROR_BUSY
                                    : HB_OK,
                           is_read        ? "is still running"
                           : version == 2 ? "of other sizes"
                                          : "this hipboard reads versions 2 to 5");
        }
        h->version = HB_SPOOL_VERSION;
        h->endian = 0x04030201;
        assert_read_as(&bytes, HB_ERROR_UNSUPPORTED, "of other byte order");
        h->endian = HB_SPOOL_ENDIAN;
        h->magic[7] = 'x';
        assert_read_as(&bytes, HB_ERROR_FORMAT, "not a spool of hipboard");
        hb_buf_free(&bytes);
    }
}

static void spools_of_other_sizes_are_not_read(void **state)
{
    (void)state;
    hb_buf bytes = begin_spool();
    uint32_t *sizes = (uint32_t *)&spool_header(&bytes)->layout;
    for (size_t i = 0; i < sizeof(hb_spool_layout) / sizeof *sizes; i++) {
        sizes[i]++;
        assert_read_as(&bytes, HB_ERROR_UNSUPPORTED, "of other sizes; recover it with the build");
        sizes[i]--;
    }
    assert_read_as(&bytes, HB_OK, NULL);
    bytes.size = offsetof(hb_spool_header, layout); /* what is missing is zeros */
    assert_read_as(&bytes, HB_ERROR_UNSUPPORTED, "of other sizes");
    bytes.size = 4;
    played.errors[0] = EINTR; /* of before, when the end is met */
    assert_read_as(&bytes, HB_ERROR_FORMAT, "not a spool of hipboard");
    hb_buf_free(&bytes);
}

/* Its process is making it, or died while it did. */
static void a_file_without_a_header_is_being_made_for_10_seconds(void **state)
{
    (void)state;
    char path[PATH_MAX];
    struct stat st;
    for (size_t size = 0; size <= HB_SPOOL_HEADER_BYTES; size += HB_SPOOL_HEADER_BYTES) {
        hb_buf bytes = begin_spool();
        memset(bytes.data, 0, bytes.size);
        bytes.size = size;
        path_of_bytes(path);
        write_bytes(&bytes, &st);
        for (int seconds = -1; seconds <= 11; seconds++) {
            played.now = st.st_mtime + seconds;
            if (seconds < 10)
                assert_opened_as(path, &st, HB_ERROR_BUSY, "it is just being made");
            else
                assert_opened_as(path, &st, HB_ERROR_NOT_FOUND, "nothing was recorded yet");
        }
        played.now = 0;
        hb_buf_free(&bytes);
    }
}

static void names_in_the_header_end(void **state)
{
    (void)state;
    hb_spool_file file;
    hb_buf bytes = begin_spool();
    hb_spool_header *h = spool_header(&bytes);
    memset(h->host_name, 'h', sizeof h->host_name);
    memset(h->process_name, 'p', sizeof h->process_name);
    memset(h->worker_name, 'w', sizeof h->worker_name);
    read_bytes(&file, &bytes);
    assert_int_equal(strspn(file.head.host_name, "h"), sizeof h->host_name - 1);
    assert_int_equal(strspn(file.head.process_name, "p"), sizeof h->process_name - 1);
    assert_int_equal(strspn(file.head.worker_name, "w"), sizeof h->worker_name - 1);
    assert_int_equal(file.head.host_name[sizeof h->host_name - 1], 0);
    assert_int_equal(file.head.process_name[sizeof h->process_name - 1], 0);
    assert_int_equal(file.head.worker_name[sizeof h->worker_name - 1], 0);
    assert_ptr_equal(file.view.head, &file.head);
    assert_false(file.view.same_process);
    hb_spool_file_close(&file);
    hb_buf_free(&bytes);
}

/* ---- a disk that does not answer ---- */

static void reads_that_are_interrupted_or_short_go_on(void **state)
{
    (void)state;
    static const uint32_t one = 1;
    hb_spool_file file;
    hb_buf bytes = begin_spool();
    put_sessions(&bytes, append_hot(&bytes, 1), &one, 1);
    played.errors[0] = played.errors[1] = EINTR;
    played.most = 1000;
    read_bytes(&file, &bytes);
    assert_int_equal(num_sessions(&file), 1);
    assert_int_equal(found_session(&file, 0)->session.cycle, 101);
    static char read[5000];
    played.errors[0] = EINTR;
    assert_true(hb_spool_file_read(&file, 1, read, sizeof read));
    assert_memory_equal(read, bytes.data + 1, sizeof read);
    played.most = 0;
    assert_int_equal(hb_spool_file_was_read(&file), HB_OK);
    /* Nothing beyond the end is asked for. */
    assert_true(hb_spool_file_read(&file, bytes.size - 5, read, 5));
    assert_false(hb_spool_file_read(&file, bytes.size - 5, read, 6));
    assert_false(hb_spool_file_read(&file, bytes.size, read, 0));
    assert_false(hb_spool_file_read(&file, UINT64_MAX - 2, read, 5));
    assert_int_equal(hb_spool_file_was_read(&file), HB_OK);
    hb_spool_file_close(&file);
    hb_buf_free(&bytes);
}

/* The first reason is told, whatever else comes of it. */
static void what_cannot_be_read_is_told(void **state)
{
    (void)state;
    static const int orders[][2] = {{EIO, ESTALE}, {ESTALE, EIO}};
    for (size_t i = 0; i < 2; i++) {
        hb_buf bytes = begin_spool();
        played.errors[0] = orders[i][0];
        played.errors[1] = orders[i][1];
        assert_read_as(&bytes, HB_ERROR_IO, "can't be read: ");
        assert_non_null(strstr(hb_last_error(), strerror(orders[i][0])));
        memset(played.errors, 0, sizeof played.errors);
        hb_buf_free(&bytes);
    }
}

/* Whenever that is; and as a file that becomes shorter, it is not waited for. */
static void a_disk_that_answers_no_more_is_told(void **state)
{
    (void)state;
    static const uint32_t one = 1;
    static const char few[8];
    hb_spool_file file;
    hb_buf bytes = begin_spool();
    append_segment(&bytes, (hb_segment){.kind = HB_SEGMENT_NAMES}, few, sizeof few);
    append_segment(&bytes, (hb_segment){.kind = HB_SEGMENT_EVENTS, .raw_bytes = 8}, few, 8);
    append_segment(&bytes, (hb_segment){.kind = HB_SEGMENT_CODE}, few, sizeof few);
    put_sessions(&bytes, append_hot(&bytes, 1), &one, 1);
    played.reads = 0;
    assert_read_as(&bytes, HB_OK, NULL);
    unsigned all = played.reads;
    assert_in_range(all, 10, 1000);
    for (played.fails_from = 1; played.fails_from <= all; played.fails_from++) {
        played.reads = 0;
        assert_read_as(&bytes, HB_ERROR_IO, strerror(EIO));
    }
    played.fails_from = 0;
    append_segment(&bytes, (hb_segment){.kind = HB_SEGMENT_EVENTS, .raw_bytes = 8}, few, 8);
    played.end = (off_t)bytes.size - (off_t)sizeof(hb_segment) - 8;
    read_bytes(&file, &bytes);
    assert_int_equal(num_sessions(&file), 1);
    hb_spool_file_close(&file);
    played.end = 0;
    hb_buf_free(&bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(another_file_than_was_seen_is_not_read),
        IN_DIR(what_is_removed_while_it_is_opened_is_its_owners),
        IN_DIR(a_file_that_may_only_be_read_is_read),
        IN_DIR(without_a_standard_input_a_file_is_read),
        IN_DIR(a_file_is_its_process_as_long_as_that_lives),
        IN_DIR(who_holds_a_file_is_asked_where_nothing_else_is_known),
        IN_DIR(other_formats_are_told_by_what_they_are),
        IN_DIR(spools_of_other_sizes_are_not_read),
        IN_DIR(a_file_without_a_header_is_being_made_for_10_seconds),
        IN_DIR(names_in_the_header_end),
        IN_DIR(reads_that_are_interrupted_or_short_go_on),
        IN_DIR(what_cannot_be_read_is_told),
        IN_DIR(a_disk_that_answers_no_more_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
