/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample_trace.h"
#include "write/publish.h"
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

#define TEST(f) cmocka_unit_test_setup_teardown(f, enter, leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
