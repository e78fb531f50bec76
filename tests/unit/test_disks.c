/* SPDX-License-Identifier: MIT
 *
 * Disks that are small, slow, or others' as well: no program waits for what it need not wait for,
 * it is told what it does wait for, and its traces are there.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "program.h"

enum { NOT_HERE = 77, LONG_NAME = 1000 };

static hb_profiler *into(const char *logs, int active)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    if (active > 0) o.schedule = hb_schedule_make(.active = active);
    o.activities = HB_ACTIVITY_CPU;
    o.on_trace_ready = hb_tensorboard_trace_handler(logs, "w", HB_NO_EVENT_FILE);
    hb_profiler *prof = hb_profiler_create(&o);
    CHECK(prof && hb_profiler_start(prof) == HB_OK);
    return prof;
}

static void record(const char *name, int n)
{
    for (int i = 0; i < n; i++) {
        hb_scope scope = hb_record_function(name);
        hb_scope_end(&scope);
    }
}

static void end_without_loss(hb_profiler *prof)
{
    hb_lost lost = {.struct_size = sizeof lost};
    CHECK(hb_profiler_stop(prof) == HB_OK);
    CHECK(hb_profiler_lost(prof, &lost) == HB_OK);
    CHECK(!lost.buffer_full && !lost.memory && !lost.interrupted);
    hb_profiler_destroy(prof);
}

static int count_files(const char *in, const char *part)
{
    int n = 0;
    DIR *d = opendir(in);
    for (struct dirent *e; d && (e = readdir(d));)
        n += strstr(e->d_name, part) != NULL;
    if (d) closedir(d);
    return n;
}

/* Standard error is what TEST_STDERR names. */
static void take_stderr(void)
{
    int out = open(getenv("TEST_STDERR"), O_WRONLY | O_NOCTTY);
    CHECK(out >= 0 && dup2(out, STDERR_FILENO) == STDERR_FILENO);
}

static int count_in(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at++)
        n++;
    return n;
}

/* ---- the file of records is locked by another user ---- */

static int others_lock = -1;
static atomic_int files_locked;

static bool is_spool(const char *path)
{
    size_t n = strlen(path), end = strlen(".hbspool");
    return n > end && strcmp(path + n - end, ".hbspool") == 0;
}

/* In place of the C library's, also for hipboard: files without a name can't be made, and whoever
 * waits for a file to appear has locked it before hipboard can. */
int openat(int at, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    unsigned mode = flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, unsigned) : 0;
    va_end(more);
    if (others_lock >= 0 && (flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    int fd = (int)syscall(SYS_openat, at, path, flags, mode);
    if (others_lock >= 0 && fd >= 0 && (flags & O_CREAT) && is_spool(path)) {
        int theirs = (int)syscall(SYS_openat, at, path, O_RDONLY | O_CLOEXEC, 0);
        if (theirs >= 0 && flock(theirs, LOCK_EX | LOCK_NB) == 0)
            atomic_fetch_add(&files_locked, 1);
    }
    return fd;
}

static int start_after_another_has_locked_it(void)
{
    take_stderr();
    others_lock = 0;
    alarm(300); /* one that waits for the lock waits for ever */
    hb_profiler *prof = into(dir, -1);
    CHECK(atomic_load(&files_locked) > 0);
    record("in memory", 1000);
    end_without_loss(prof);
    CHECK(count_files(dir, ".hbspool") == 0);
    CHECK(count_files(dir, ".pt.trace.json") == 1);
    return 0;
}

static void a_spool_that_another_user_has_locked_keeps_nobody_waiting(void **state)
{
    (void)state;
    char path[300], text[1000] = "";
    snprintf(path, sizeof path, "%s/stderr", dir);
    close(open(path, O_WRONLY | O_CREAT, 0600));
    setenv("TEST_STDERR", path, 1);
    assert_int_equal(run_program(start_after_another_has_locked_it), 0);
    /* and who relies on the file reads that there is none */
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, text, sizeof text - 1) > 0);
    close(fd);
    assert_int_equal(count_in(text, "no file for what is recorded can be made"), 1);
}

/* ---- a disk of 8 MB ---- */

/* What the traces take is nearly all of it. */
static int record_onto_a_small_disk(void)
{
    enum { CYCLES = 3, SCOPES = 1500 };
    char name[LONG_NAME + 1], small[300];
    snprintf(small, sizeof small, "%s/small", dir);
    memset(name, 'x', LONG_NAME);
    name[LONG_NAME] = '\0';
    CHECK(mkdir(small, 0700) == 0);
    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", small, "tmpfs", 0, "size=8m") != 0)
        return NOT_HERE;
    hb_profiler *prof = into(small, 1);
    for (int i = 0; i < CYCLES; i++) {
        record(name, SCOPES);
        if (i < CYCLES - 1) CHECK(hb_profiler_step(prof) == HB_OK);
        CHECK(hb_profiler_flush(prof) == HB_OK);
    }
    end_without_loss(prof);
    CHECK(count_files(small, ".pt.trace.json") == CYCLES);
    struct statvfs disk;
    CHECK(statvfs(small, &disk) == 0);
    CHECK((disk.f_blocks - disk.f_bfree) * disk.f_frsize > 4u << 20); /* they are not small */
    return 0;
}

static void a_disk_of_8_mb_has_room_for_the_traces(void **state)
{
    (void)state;
    int status = run_program(record_onto_a_small_disk);
    if (status == NOT_HERE) skip();
    assert_int_equal(status, 0);
}

/* ---- file systems on which a written page can't always be written again ---- */

static uint32_t type_of_logs, type_of_temporary;

/* In place of the C library's, also for hipboard: the log directory is on such a file system. */
int statfs(const char *path, struct statfs *fs)
{
    long failed = syscall(SYS_statfs, path, fs);
    if (!failed && type_of_logs && strstr(path, "/logs")) fs->f_type = type_of_logs;
    if (!failed && type_of_temporary && !strstr(path, "/logs")) fs->f_type = type_of_temporary;
    return (int)failed;
}

/* Whether a file of that directory is mapped. */
static bool maps_a_file_of(const char *directory)
{
    char line[1000];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    CHECK(maps);
    while (fgets(line, sizeof line, maps))
        found |= strstr(line, directory) != NULL;
    fclose(maps);
    return found;
}

static void record_there(uint32_t logs_are, uint32_t others_are, bool in_logs, bool in_temporary)
{
    char logs[300], temporary[300];
    snprintf(logs, sizeof logs, "%s/logs", dir);
    snprintf(temporary, sizeof temporary, "%s/tmp", dir);
    CHECK(mkdir(logs, 0700) == 0 && mkdir(temporary, 0700) == 0);
    setenv("TMPDIR", temporary, 1);
    type_of_logs = logs_are;
    type_of_temporary = others_are;
    hb_profiler *prof = into(logs, -1);
    record("somewhere", 1000);
    CHECK(maps_a_file_of(logs) == in_logs);
    CHECK(count_files(logs, ".hbspool") == in_logs);
    CHECK(maps_a_file_of(temporary) == in_temporary);
    CHECK(count_files(temporary, "hipboard-") == in_temporary);
    end_without_loss(prof);
    CHECK(count_files(logs, ".pt.trace.json") == 1);
    CHECK(remove_tree(logs) == 0 && remove_tree(temporary) == 0);
}

static int record_onto_file_systems_that_copy(void)
{
    const uint32_t fit[] = {0xef53, 0x58465342, 0x01021994}; /* ext4, XFS, tmpfs */
    const uint32_t copying[] = {0x9123683e, 0xca451a4e, 0x2fc12fc1, 0x3434};
    const uint32_t network[] = {0x6969, 0x0bd00bd0, 0x65735546};
    unsetenv("HIPBOARD_SPOOL");
    for (size_t i = 0; i < sizeof fit / sizeof *fit; i++)
        record_there(fit[i], copying[0], true, false);
    for (size_t i = 0; i < sizeof copying / sizeof *copying; i++) {
        record_there(copying[i], fit[0], false, true);
        record_there(fit[0], copying[i], true, false);
        record_there(copying[i], copying[i], false, false); /* in memory */
    }
    for (size_t i = 0; i < sizeof network / sizeof *network; i++) {
        record_there(network[i], fit[1], false, true);
        record_there(network[i], copying[0], false, false);
    }
    return 0;
}

static void no_thread_writes_into_a_file_that_may_be_copied(void **state)
{
    (void)state;
    assert_int_equal(run_program(record_onto_file_systems_that_copy), 0);
}

/* ---- who waits is told for what ---- */

static char seen_path[300];
static atomic_bool publishing_waits;

static bool is_there(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

static void sleep_ms(int ms)
{
    poll(NULL, 0, ms);
}

/* In place of the C library's: a disk that is slow until somebody has seen that it is. */
int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    if (atomic_load(&publishing_waits) && strstr(to, ".pt.trace.json")) {
        while (!is_there(seen_path))
            sleep_ms(20);
        sleep_ms(1200); /* what is said once is not said again */
    }
    return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

static int stop_on_a_slow_disk(void)
{
    take_stderr();
    snprintf(seen_path, sizeof seen_path, "%s/seen", dir);
    hb_profiler *prof = into(dir, -1);
    record("work", 10);
    atomic_store(&publishing_waits, true);
    end_without_loss(prof);
    return 0;
}

static void say_seen(void)
{
    snprintf(seen_path, sizeof seen_path, "%s/seen", dir);
    close(open(seen_path, O_WRONLY | O_CREAT, 0600));
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid;
}

/* What the program writes to `fd`; it goes on when that contains `wanted`. Its exit status. */
static int read_until_end(pid_t pid, int fd, const char *wanted, char *text, size_t size)
{
    size_t n = 0;
    bool ended = false;
    for (int i = 0; i < ENOUGH_S * 20 && !ended; i++) {
        ended = has_ended(pid); /* what it had written is read once more */
        sleep_ms(50);
        ssize_t got = read(fd, text + n, size - 1 - n);
        n += got > 0 ? (size_t)got : 0;
        text[n] = '\0';
        if (strstr(text, wanted)) say_seen();
    }
    return end_of_program(pid);
}

static void who_waits_long_reads_so_in_one_line(void **state)
{
    (void)state;
    static const char line[] = ".pt.trace.json is written (said once)\n";
    char path[300], text[8192] = "";
    snprintf(path, sizeof path, "%s/stderr", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    int in = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(in >= 0);
    setenv("TEST_STDERR", path, 1);
    pid_t pid = start_program("stop_on_a_slow_disk");
    assert_int_equal(read_until_end(pid, in, line, text, sizeof text), 0);
    assert_int_equal(strncmp(text, "hipboard: the program waits until ", 34), 0);
    assert_int_equal(count_in(text, line), 1);
    assert_int_equal(count_in(text, "\n"), 1);
    close(in);
}

static void on_a_terminal_that_line_is_written_anew_and_goes(void **state)
{
    (void)state;
    static const char clear[] = "\r\033[K";
    char text[8192] = "";
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0) skip();
    setenv("TEST_STDERR", ptsname(terminal), 1);
    pid_t pid = start_program("stop_on_a_slow_disk");
    assert_int_equal(read_until_end(pid, terminal, ".pt.trace.json: 2 s", text, sizeof text), 0);
    assert_int_equal(strncmp(text, "\r\033[Khipboard: writing /", 23), 0);
    assert_true(count_in(text, ".pt.trace.json: 3 s") > 0);
    assert_int_equal(count_in(text, "\n"), 0);
    assert_string_equal(text + strlen(text) - strlen(clear), clear);
    close(terminal);
}

static const program programs[] = {
    PROGRAM(start_after_another_has_locked_it),
    PROGRAM(record_onto_a_small_disk),
    PROGRAM(record_onto_file_systems_that_copy),
    PROGRAM(stop_on_a_slow_disk),
};

int main(int argc, char **argv)
{
    int status;
    if (argc > 1 && is_program(argv, programs, sizeof programs / sizeof *programs, &status))
        return status;
    const struct CMUnitTest tests[] = {
        IN_DIR(a_spool_that_another_user_has_locked_keeps_nobody_waiting),
        IN_DIR(a_disk_of_8_mb_has_room_for_the_traces),
        IN_DIR(no_thread_writes_into_a_file_that_may_be_copied),
        IN_DIR(who_waits_long_reads_so_in_one_line),
        IN_DIR(on_a_terminal_that_line_is_written_anew_and_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
