/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/leftovers.h"
#include "io/publish.h"
#include "refused_calls.h"
#include "sample_trace.h"
#include "write/write.h"

/* Each test runs in an empty directory of its own. */
static int enter(void **state)
{
    char *dir = strdup("/tmp/hipboard-publish-XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0);
    *state = dir;
    return 0;
}

static int leave(void **state)
{
    char command[128];
    assert_int_equal(chdir("/"), 0);
    snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
    free(*state);
    return system(command);
}

static size_t at_once = SIZE_MAX; /* that many bytes the system takes, and each other time none */

/* Instead of the C library's. */
ssize_t write(int fd, const void *data, size_t size)
{
    static unsigned calls;
    if (at_once < SIZE_MAX && calls++ % 2) {
        errno = EINTR;
        return -1;
    }
    return syscall(SYS_write, fd, data, HB_MIN(size, at_once));
}

static int entries(const char *path)
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(dir);
    return count;
}

static hb_result publish(const char *path, const char *text, bool replace)
{
    hb_publish file;
    hb_result result = hb_publish_open(&file, path, replace);
    if (result == HB_OK) result = file.sink.write(&file.sink, text, strlen(text));
    if (result == HB_OK) result = hb_publish_commit(&file);
    hb_publish_free(&file);
    return result;
}

static void assert_file(const char *path, const char *text)
{
    char buf[64] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(fgets(buf, sizeof buf, file));
    fclose(file);
    assert_string_equal(buf, text);
}

static void the_file_appears_when_whole(void **state)
{
    (void)state;
    hb_publish file;
    assert_int_equal(hb_publish_open(&file, "w.1.pt.trace.json", false), HB_OK);
    assert_int_equal(file.sink.write(&file.sink, "ab", 2), HB_OK);
    assert_int_equal(access("w.1.pt.trace.json", F_OK), -1);
    assert_int_equal(entries("."), 1);
    DIR *dir = opendir(".");
    for (struct dirent *entry; (entry = readdir(dir));)
        assert_null(strstr(entry->d_name, ".pt.trace.json")); /* nothing the plugin would take */
    closedir(dir);
    assert_int_equal(hb_publish_commit(&file), HB_OK);
    assert_int_equal(file.bytes, 2);
    hb_publish_free(&file);
    assert_file("w.1.pt.trace.json", "ab");
    assert_int_equal(entries("."), 1);
}

static void permissions_follow_the_umask(void **state)
{
    (void)state;
    struct stat info;
    mode_t old = umask(027);
    assert_int_equal(publish("x.json", "x", false), HB_OK);
    umask(old);
    assert_int_equal(stat("x.json", &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
}

static void missing_directories_are_made(void **state)
{
    (void)state;
    assert_int_equal(publish("a/b//c/x.json", "x", false), HB_OK);
    assert_file("a/b/c/x.json", "x");
    assert_int_equal(publish("a/b/y.json", "y", false), HB_OK);
}

static void an_existing_file_is_kept_or_replaced(void **state)
{
    (void)state;
    assert_int_equal(publish("x.json", "1", false), HB_OK);
    assert_int_equal(publish("x.json", "2", false), HB_ERROR_STATE);
    assert_string_equal(hb_last_error(), "'x.json' exists and is not overwritten");
    assert_file("x.json", "1");
    assert_int_equal(publish("x.json", "3", true), HB_OK);
    assert_file("x.json", "3");
    assert_int_equal(entries("."), 1);
}

static void a_file_that_appears_meanwhile_is_kept(void **state)
{
    (void)state;
    hb_publish file;
    assert_int_equal(hb_publish_open(&file, "x.json", false), HB_OK);
    assert_int_equal(publish("x.json", "first", false), HB_OK);
    assert_int_equal(hb_publish_commit(&file), HB_ERROR_STATE);
    hb_publish_free(&file);
    assert_file("x.json", "first");
    assert_int_equal(entries("."), 1);
}

static void abandoning_leaves_nothing(void **state)
{
    (void)state;
    hb_publish file;
    assert_int_equal(hb_publish_open(&file, "x.json", false), HB_OK);
    hb_publish_free(&file);
    hb_publish_free(&file);
    assert_int_equal(entries("."), 0);
}

static void errors_name_path_reason_and_mend(void **state)
{
    (void)state;
    assert_int_equal(publish("file", "x", false), HB_OK);
    assert_int_equal(publish("file/x.json", "x", false), HB_ERROR_IO);
    assert_string_equal(hb_last_error(), "cannot create directory 'file' (a file is in the way; "
                                         "move it or choose another directory): File exists");
    assert_int_equal(mkdir("dir", 0777), 0);
    assert_int_equal(publish("dir", "x", true), HB_ERROR_IO);
    assert_string_equal(hb_last_error(), "cannot write 'dir' (name a file in it): Is a directory");
    assert_int_equal(publish("new/", "x", true), HB_ERROR_IO);
    assert_int_equal(publish("", "x", true), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(publish("/proc/no/x.json", "x", true), HB_ERROR_IO);
    assert_non_null(strstr(hb_last_error(), "'/proc/no'"));
    assert_int_equal(entries("."), 2);
}

static void the_longest_name_can_be_written(void **state)
{
    (void)state;
    char name[257];
    memset(name, 'n', 256);
    name[255] = '\0';
    assert_int_equal(publish(name, "x", false), HB_OK);
    name[255] = 'n';
    name[256] = '\0';
    assert_int_equal(publish(name, "x", false), HB_ERROR_IO);
    assert_non_null(strstr(hb_last_error(), "choose a shorter name"));
    assert_int_equal(entries("."), 1);
}

/* A full disk, played by a limit on the size of files. */
static void a_full_disk_leaves_nothing(void **state)
{
    (void)state;
    static sample_trace sample;
    struct rlimit old, small;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    for (int gzip = 0; gzip < 2; gzip++) {
        hb_write_options options = {.gzip = gzip};
        small.rlim_cur = gzip ? 4000 : 20000;
        setrlimit(RLIMIT_FSIZE, &small);
        sample_trace_init(&sample);
        hb_result result = hb_write_trace_file(&sample.source.source, "x.json", &options, NULL);
        setrlimit(RLIMIT_FSIZE, &old);
        assert_int_equal(result, HB_ERROR_IO);
        assert_string_equal(hb_last_error(), "cannot write 'x.json' (it is over the limit on the "
                                             "size of files, ulimit -f): File too large");
        assert_int_equal(entries("."), 0);
        assert_int_equal(hb_write_trace_file(&sample.source.source, "x.json", &options, NULL),
                         HB_OK); /* the same source, another try */
        unlink("x.json");
    }
    signal(SIGXFSZ, handler);
}

static void *race(void *arg)
{
    *(hb_result *)arg = publish("a/b/c/same.json", "x", false);
    return NULL;
}

static void one_of_many_wins(void **state)
{
    (void)state;
    pthread_t threads[8];
    hb_result results[8];
    int winners = 0;
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, race, &results[i]);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        winners += results[i] == HB_OK;
    }
    assert_int_equal(winners, 1);
    assert_int_equal(entries("a/b/c"), 1);
}

static void a_trace_file_is_named_in_itself(void **state)
{
    (void)state;
    static sample_trace sample;
    static char text[200000];
    hb_write_options options = {.dialect = HB_WRITE_KINETO};
    hb_write_stats stats;
    sample_trace_init(&sample);
    assert_int_equal(hb_write_trace_file(&sample.source.source, "runs/x.json", &options, &stats),
                     HB_OK);
    FILE *file = fopen("runs/x.json", "r");
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_int_equal(size, stats.bytes);
    assert_non_null(strstr(text, "],\"traceName\": \"runs/x.json\" }"));
}

/* As gzip does it, so that gunzip -N gives the file its name back. */
static void a_compressed_file_says_its_name_without_the_ending(void **state)
{
    static const char *const paths[] = {"runs/x.json.gz", "x.json.gzip", ".gz"};
    static const char *const names[] = {"x.json", "x.json.gzip", ".gz"};
    static sample_trace sample;
    (void)state;
    for (int i = 0; i < 3; i++) {
        hb_write_options options = {.gzip = true};
        char head[32] = "";
        sample_trace_init(&sample);
        assert_int_equal(hb_write_trace_file(&sample.source.source, paths[i], &options, NULL),
                         HB_OK);
        FILE *file = fopen(paths[i], "r");
        assert_non_null(file);
        assert_int_equal(fread(head, 1, sizeof head - 1, file), sizeof head - 1);
        fclose(file);
        assert_int_equal(head[3], 8); /* there is a name */
        assert_string_equal(head + 10, names[i]);
    }
}

/* As file systems and pipes may. */
static void what_is_taken_in_parts_is_whole(void **state)
{
    (void)state;
    for (at_once = 1; at_once < 12; at_once++)
        assert_int_equal(publish("x.json", "0123456789", true), HB_OK);
    at_once = 3;
    int before = dup(STDOUT_FILENO), to = open("out", O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(to, STDOUT_FILENO);
    hb_result through = publish("/dev/stdout", "0123456789", true);
    dup2(before, STDOUT_FILENO);
    at_once = SIZE_MAX;
    close(before);
    close(to);
    assert_int_equal(through, HB_OK);
    assert_file("x.json", "0123456789");
    assert_file("out", "0123456789");
}

/* ---- what is replaced ---- */

static mode_t mode_of(const char *path)
{
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode;
}

static void what_is_replaced_keeps_its_mode(void **state)
{
    (void)state;
    assert_int_equal(publish("x.json", "1", true), HB_OK);
    assert_int_equal(chmod("x.json", 0600), 0);
    assert_int_equal(publish("x.json", "2", true), HB_OK);
    assert_int_equal(mode_of("x.json") & 07777, 0600);
    assert_int_equal(chmod("x.json", 0664), 0);
    assert_int_equal(publish("x.json", "3", true), HB_OK);
    assert_int_equal(mode_of("x.json") & 07777, 0664);
    assert_file("x.json", "3");
}

static void a_link_stays_one_and_its_file_is_replaced(void **state)
{
    (void)state;
    assert_int_equal(mkdir("far", 0777), 0);
    assert_int_equal(publish("far/x.json", "1", true), HB_OK);
    assert_int_equal(symlink("far/x.json", "link"), 0);
    assert_int_equal(publish("link", "2", true), HB_OK);
    assert_true(S_ISLNK(mode_of("link")));
    assert_file("far/x.json", "2");
    assert_int_equal(symlink("far/new.json", "dangling"), 0);
    assert_int_equal(publish("dangling", "3", true), HB_OK);
    assert_true(S_ISLNK(mode_of("dangling")));
    assert_file("far/new.json", "3");
    assert_int_equal(entries("far"), 2);
}

/* Somebody else may have put it there to have another file written. */
static void a_new_file_is_never_written_through_a_link(void **state)
{
    (void)state;
    assert_int_equal(symlink("nowhere", "x.json"), 0);
    assert_int_equal(publish("x.json", "1", false), HB_ERROR_STATE);
    assert_int_equal(entries("."), 1);
}

static void *read_one_line(void *to)
{
    int fd = open("fifo", O_RDONLY);
    ssize_t n = read(fd, to, 63);
    close(fd);
    return n > 0 ? to : NULL;
}

static void what_is_no_file_is_written_to_as_it_is(void **state)
{
    (void)state;
    pthread_t reader;
    char text[64] = "";
    void *read;
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(pthread_create(&reader, NULL, read_one_line, text), 0);
    assert_int_equal(publish("fifo", "through", true), HB_OK);
    pthread_join(reader, &read);
    assert_string_equal(text, "through");
    assert_true(S_ISFIFO(mode_of("fifo")));
    assert_int_equal(entries("."), 1);
    assert_int_equal(publish("/dev/full", "no room", true), HB_ERROR_IO);
    assert_true(S_ISCHR(mode_of("/dev/full")));
}

/* As a database's library does. */
static void who_opens_files_by_name_gets_one_or_nothing(void **state)
{
    static const mode_t modes[] = {0640, 0400};
    hb_publish file;
    FILE *other;
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(modes); i++) {
        assert_int_equal(publish("x.db", "before", true), HB_OK);
        assert_int_equal(chmod("x.db", modes[i]), 0);
        assert_int_equal(hb_publish_open_by_name(&file, "x.db", true, "a base"), HB_OK);
        assert_int_equal(mode_of(file.temporary) & 0600, 0600);
        other = fopen(file.temporary, "r+");
        assert_true(other && fputs("whole", other) >= 0 && fclose(other) == 0);
        assert_int_equal(hb_publish_commit(&file), HB_OK);
        hb_publish_free(&file);
        assert_int_equal(mode_of("x.db"), S_IFREG | modes[i]);
        assert_file("x.db", "whole");
    }
    assert_int_equal(mkfifo("fifo", 0600), 0);
    static const char *const streams[] = {"fifo", "/dev/stdout"};
    for (size_t i = 0; i < HB_ARRAY_LEN(streams); i++) {
        assert_int_equal(hb_publish_open_by_name(&file, streams[i], true, "a base"),
                         HB_ERROR_INVALID_ARGUMENT);
        hb_publish_free(&file);
        assert_non_null(strstr(hb_last_error(), "': a base can be written into a file only"));
    }
    assert_int_equal(entries("."), 2);
}

static void *open_and_leave(void *unused)
{
    close(open("fifo", O_RDONLY));
    return unused;
}

static void a_reader_who_leaves_is_an_error_and_not_the_end(void **state)
{
    (void)state;
    pthread_t reader;
    hb_publish file;
    hb_result result = HB_OK;
    assert_int_equal(mkfifo("fifo", 0600), 0);
    assert_int_equal(pthread_create(&reader, NULL, open_and_leave, NULL), 0);
    assert_int_equal(hb_publish_open(&file, "fifo", true), HB_OK);
    pthread_join(reader, NULL);
    for (int i = 0; i < 2 && result == HB_OK; i++)
        result = file.sink.write(&file.sink, "x", 1);
    assert_int_equal(result, HB_ERROR_IO);
    hb_publish_free(&file);
    assert_true(S_ISFIFO(mode_of("fifo")));
}

/* As `program > file`, where what follows is to come behind. */
static void standard_output_is_the_descriptor(void **state)
{
    (void)state;
    const char *const names[] = {"/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"};
    for (int i = 0; i < 3; i++) {
        fflush(stdout);
        int before = dup(STDOUT_FILENO), to = open("out", O_RDWR | O_CREAT | O_TRUNC, 0600);
        dup2(to, STDOUT_FILENO);
        bool written = write(STDOUT_FILENO, "a", 1) == 1 && publish(names[i], "b", true) == HB_OK &&
                       write(STDOUT_FILENO, "c", 1) == 1;
        dup2(before, STDOUT_FILENO);
        close(before);
        close(to);
        assert_true(written);
        assert_file("out", "abc");
    }
}

/* ---- others' temporary files ---- */

static void put_old(const char *name, int seconds)
{
    close(open(name, O_WRONLY | O_CREAT, 0600));
    struct timespec times[2] = {{time(NULL) - seconds, 0}, {time(NULL) - seconds, 0}};
    assert_int_equal(utimensat(AT_FDCWD, name, times, 0), 0);
}

static void what_killed_writers_left_is_removed(void **state)
{
    (void)state;
    const char *const kept[] = {
        ".hipboard-host-1-0123456789abcdef.tmp", /* being made */
        ".hipboard-host-2-0123456789abcdef.tmp", /* held by its writer */
        ".hipboard-host-3-7.tmp",                /* an older hipboard's */
        ".hipboard-host-4-x.tmp",
        ".hipboard-host-5-0123456789abcdef.tmp.gz",
        "hipboard-host-6-0123456789abcdef.tmp",
    };
    put_old(kept[0], 30);
    for (int i = 1; i < 6; i++)
        put_old(kept[i], 3600);
    int held = open(kept[1], O_RDONLY);
    assert_int_equal(flock(held, LOCK_EX | LOCK_NB), 0);
    assert_int_equal(symlink(kept[5], ".hipboard-host-9-0123456789abcdef.tmp"), 0);
    put_old(".hipboard-a-host-7-0123456789abcdef.tmp", 3600);
    put_old(".hipboard-host-8-99.tmp", 2 * 86400);
    assert_int_equal(publish("x.json", "x", false), HB_OK);
    for (int i = 0; i < 6; i++)
        assert_int_equal(access(kept[i], F_OK), 0);
    assert_int_equal(entries("."), 6 + 1 + 1); /* these, the link, x.json */
    close(held);
}

static unsigned listings;

/* Instead of the C library's: who reads a directory comes by here. */
DIR *fdopendir(int fd)
{
    char path[40];
    listings++;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    DIR *list = opendir(path);
    if (list) close(fd);
    return list;
}

static int publish_twice(void)
{
    bool ok = publish("a", "text", false) == HB_OK && publish("b", "text", false) == HB_OK;
    return ok ? (int)listings : 100;
}

/* Of a process that has listed nothing yet. */
static int listings_of(const char *variable, const char *rank)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (variable) setenv(variable, rank, 1);
        execl("/proc/self/exe", "test_publish", "twice", NULL);
        _exit(101);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(system("rm -f a b"), 0);
    return WEXITSTATUS(status);
}

static void of_a_job_only_the_first_process_lists_the_directory(void **state)
{
    (void)state;
    assert_int_equal(listings_of(NULL, NULL), 1);
    assert_int_equal(listings_of("RANK", "0"), 1);
    assert_int_equal(listings_of("RANK", "7"), 0);
    assert_int_equal(listings_of("OMPI_COMM_WORLD_RANK", "999"), 0);
    assert_int_equal(listings_of("SLURM_PROCID", "1"), 0);
}

static void a_file_that_is_being_written_is_no_leftover(void **state)
{
    (void)state;
    hb_publish file;
    assert_int_equal(hb_publish_open(&file, "x.json", false), HB_OK);
    assert_int_equal(file.sink.write(&file.sink, "slow", 4), HB_OK);
    struct timespec times[2] = {{1000, 0}, {1000, 0}};
    assert_int_equal(utimensat(AT_FDCWD, file.temporary, times, 0), 0);
    hb_leftovers_sweep(AT_FDCWD, ".");
    assert_int_equal(hb_publish_commit(&file), HB_OK);
    hb_publish_free(&file);
    assert_file("x.json", "slow");
}

/* ---- file systems that can do less ---- */

/* Object stores have no second names, and some of them no renaming. */
static void publish_where_calls_are_refused(const int *calls, int n)
{
    pid_t child = fork();
    if (child == 0) {
        refuse_calls(calls, n, ENOSYS);
        bool fine = publish("x.json", "first", false) == HB_OK &&
                    publish("x.json", "second", false) == HB_ERROR_STATE;
        hb_publish file;
        fine = fine && hb_publish_open(&file, "y.json", false) == HB_OK &&
               file.sink.write(&file.sink, "mine", 4) == HB_OK;
        FILE *theirs = fopen("y.json", "w");
        fputs("theirs", theirs);
        fclose(theirs);
        fine = fine && hb_publish_commit(&file) == HB_ERROR_STATE;
        hb_publish_free(&file);
        _exit(fine ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_file("x.json", "first");
    assert_file("y.json", "theirs");
    assert_int_equal(entries("."), 2);
    assert_int_equal(unlink("x.json") | unlink("y.json"), 0);
}

static void file_systems_that_can_do_less_have_their_files_too(void **state)
{
    (void)state;
    const int calls[] = {SYS_renameat2, SYS_linkat, SYS_link, SYS_rename, SYS_renameat};
    for (int n = 1; n <= 5; n += 2)
        publish_where_calls_are_refused(calls, n);
}

static void what_is_synced_is_there(void **state)
{
    (void)state;
    hb_publish file;
    assert_int_equal(hb_publish_open(&file, "sub/x.json", false), HB_OK);
    file.sync = true;
    assert_int_equal(file.sink.write(&file.sink, "x", 1), HB_OK);
    assert_int_equal(hb_publish_commit(&file), HB_OK);
    hb_publish_free(&file);
    assert_file("sub/x.json", "x");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, leave)

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "twice") == 0) return publish_twice();
    const struct CMUnitTest tests[] = {
        TEST(what_killed_writers_left_is_removed), /* first: a directory is swept once */
        TEST(the_file_appears_when_whole),
        TEST(permissions_follow_the_umask),
        TEST(missing_directories_are_made),
        TEST(an_existing_file_is_kept_or_replaced),
        TEST(a_file_that_appears_meanwhile_is_kept),
        TEST(abandoning_leaves_nothing),
        TEST(errors_name_path_reason_and_mend),
        TEST(the_longest_name_can_be_written),
        TEST(a_full_disk_leaves_nothing),
        TEST(one_of_many_wins),
        TEST(a_trace_file_is_named_in_itself),
        TEST(what_is_taken_in_parts_is_whole),
        TEST(a_compressed_file_says_its_name_without_the_ending),
        TEST(what_is_replaced_keeps_its_mode),
        TEST(a_link_stays_one_and_its_file_is_replaced),
        TEST(a_new_file_is_never_written_through_a_link),
        TEST(what_is_no_file_is_written_to_as_it_is),
        TEST(who_opens_files_by_name_gets_one_or_nothing),
        TEST(a_reader_who_leaves_is_an_error_and_not_the_end),
        TEST(standard_output_is_the_descriptor),
        TEST(a_file_that_is_being_written_is_no_leftover),
        TEST(of_a_job_only_the_first_process_lists_the_directory),
        TEST(file_systems_that_can_do_less_have_their_files_too),
        TEST(what_is_synced_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
