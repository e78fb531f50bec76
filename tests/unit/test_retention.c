/* SPDX-License-Identifier: MIT
 *
 * Which trace files are removed so that the newest fit, and which are never touched.
 */
#include "profiler/retention.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "test_dir.h"

static const char *in_dir(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static void write_file(const char *name, size_t bytes)
{
    FILE *file = fopen(in_dir(name), "w");
    assert_non_null(file);
    for (size_t i = 0; i < bytes; i++)
        fputc('x', file);
    assert_int_equal(fclose(file), 0);
}

static void add(hb_retention *r, const char *name, size_t bytes)
{
    write_file(name, bytes);
    hb_retention_add(r, NULL, in_dir(name));
}

static bool exists(const char *name)
{
    struct stat st;
    return lstat(in_dir(name), &st) == 0;
}

static void the_oldest_cycles_go_when_there_are_too_many(void **state)
{
    (void)state;
    hb_retention r;
    assert_int_equal(hb_retention_init(&r, 2, 0), HB_OK);
    add(&r, "1", 10);
    add(&r, "2", 10);
    assert_true(exists("1"));
    add(&r, "3", 10);
    assert_false(exists("1"));
    assert_true(exists("2") && exists("3"));
    add(&r, "4", 10);
    assert_false(exists("2"));
    assert_true(exists("3") && exists("4"));
    assert_int_equal(r.removed, 2);
    hb_retention_free(&r);
}

/* With its trace in another format, whose bytes count. */
static void what_stands_beside_a_trace_goes_with_it(void **state)
{
    (void)state;
    hb_retention r;
    assert_int_equal(hb_retention_init(&r, 0, 100), HB_OK);
    write_file("w.1.pftrace", 40);
    add(&r, "w.1.pt.trace.json", 40);
    assert_int_equal(r.bytes, 80);
    assert_true(exists("w.1.pftrace"));
    add(&r, "w.2.pt.trace.json", 30);
    assert_false(exists("w.1.pftrace"));
    assert_false(exists("w.1.pt.trace.json"));
    assert_true(exists("w.2.pt.trace.json"));
    assert_int_equal(r.bytes, 30);
    hb_retention_free(&r);
}

static void they_go_when_they_take_too_much_but_the_newest_stays(void **state)
{
    (void)state;
    hb_retention r;
    assert_int_equal(hb_retention_init(&r, 0, 100), HB_OK);
    add(&r, "1", 40);
    add(&r, "2", 40);
    add(&r, "3", 20);
    assert_true(exists("1") && exists("2") && exists("3")); /* 100 are allowed */
    add(&r, "4", 1);
    assert_false(exists("1"));
    assert_true(exists("2"));
    add(&r, "5", 1000);
    assert_false(exists("2") || exists("3") || exists("4"));
    assert_true(exists("5"));
    hb_retention_free(&r);
}

static void what_was_put_in_a_traces_place_is_not_removed(void **state)
{
    (void)state;
    hb_retention r;
    assert_int_equal(hb_retention_init(&r, 1, 0), HB_OK);
    add(&r, "1", 10);
    assert_int_equal(unlink(in_dir("1")), 0);
    write_file("1", 10); /* the user's own, of the same length */
    add(&r, "2", 10);
    assert_true(exists("1"));
    write_file("target", 10);
    assert_int_equal(unlink(in_dir("2")), 0);
    assert_int_equal(symlink("target", in_dir("2")), 0);
    add(&r, "3", 10);
    assert_true(exists("2") && exists("target"));
    write_file("3", 12); /* written over: it is not what we wrote */
    add(&r, "4", 10);
    assert_true(exists("3"));
    assert_int_equal(r.removed, 0);
    hb_retention_free(&r);
}

static void the_environment_says_how_much_unless_the_option_does(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"1000", 1000},
                {"64k", 65536},
                {"500M", 500ull << 20},
                {"20G", 20ull << 30},
                {"1T", 1ull << 40}};
    static const char *const bad[] = {
        "G", "-1", "1.5G", "10 G", "0", "99999999999999999999", "99999999999T", "5GB"};
    hb_retention r;
    for (size_t i = 0; i < HB_ARRAY_LEN(good); i++) {
        setenv("HIPBOARD_MAX_DISK", good[i].text, 1);
        assert_int_equal(hb_retention_init(&r, 0, 0), HB_OK);
        assert_int_equal(r.max_bytes, good[i].bytes);
    }
    for (size_t i = 0; i < HB_ARRAY_LEN(bad); i++) {
        setenv("HIPBOARD_MAX_DISK", bad[i], 1);
        assert_int_equal(hb_retention_init(&r, 0, 0), HB_ERROR_INVALID_ARGUMENT);
        assert_non_null(strstr(hb_last_error(), bad[i]));
    }
    assert_int_equal(hb_retention_init(&r, 0, 7), HB_OK);
    assert_int_equal(r.max_bytes, 7);
    unsetenv("HIPBOARD_MAX_DISK");
    assert_int_equal(hb_retention_init(&r, -1, 0), HB_ERROR_INVALID_ARGUMENT);
}

static hb_profiler *keep_two(const char *in, unsigned flags)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.schedule = hb_schedule_make(.active = 1);
    o.on_trace_ready = hb_tensorboard_trace_handler(in, "w", flags);
    o.max_cycles = 2;
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    return prof;
}

static void make_cycles(hb_profiler *prof, int cycles)
{
    for (int step = 0; step < cycles; step++)
        assert_int_equal(hb_profiler_step(prof), HB_OK);
    assert_int_equal(hb_profiler_flush(prof), HB_OK);
}

static int count_named(const char *in, const char *word)
{
    int count = 0;
    DIR *open_dir = opendir(in);
    assert_non_null(open_dir);
    for (struct dirent *entry; (entry = readdir(open_dir));)
        count += strstr(entry->d_name, word) != NULL;
    closedir(open_dir);
    return count;
}

/* They are written into the directory that it was, and counted there, too. */
static void a_directory_that_is_renamed_keeps_no_more_traces_for_that(void **state)
{
    (void)state;
    char logs[300], renamed[300];
    snprintf(logs, sizeof logs, "%s/logs", dir);
    snprintf(renamed, sizeof renamed, "%s/renamed", dir);
    hb_profiler *prof = keep_two(logs, HB_PFTRACE);
    make_cycles(prof, 4);
    assert_int_equal(count_named(logs, ".json"), 2);
    assert_int_equal(rename(logs, renamed), 0);
    for (int i = 0; i < 2; i++) {
        make_cycles(prof, 1); /* older ones, of the first name, go */
        assert_int_equal(count_named(renamed, ".json"), 2);
        assert_int_equal(count_named(renamed, ".pftrace"), 2);
    }
    assert_int_equal(mkdir(logs, 0700), 0); /* somebody else's, under the name that it had */
    make_cycles(prof, 4);
    assert_int_equal(count_named(renamed, ".json"), 2);
    assert_int_equal(count_named(renamed, ".pftrace"), 2);
    assert_int_equal(list_dir(logs, NULL, NULL, 0), 0);
    hb_profiler_destroy(prof);
}

/* All of it: a profiler whose cycles are more than are to be kept. */
static void a_profiler_keeps_its_last_cycles_and_the_event_file(void **state)
{
    (void)state;
    char others[512];
    snprintf(others, sizeof others, "%s/other.1.pt.trace.json", dir);
    fclose(fopen(others, "w")); /* older than all, and somebody else's */
    hb_profiler *prof = keep_two(dir, 0);
    make_cycles(prof, 6);
    hb_profiler_destroy(prof);
    assert_int_equal(count_named(dir, "w."), 2);
    assert_int_equal(count_named(dir, "tfevents"), 1);
    assert_int_equal(access(others, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(the_oldest_cycles_go_when_there_are_too_many),
        IN_DIR(what_stands_beside_a_trace_goes_with_it),
        IN_DIR(they_go_when_they_take_too_much_but_the_newest_stays),
        IN_DIR(what_was_put_in_a_traces_place_is_not_removed),
        cmocka_unit_test(the_environment_says_how_much_unless_the_option_does),
        IN_DIR(a_directory_that_is_renamed_keeps_no_more_traces_for_that),
        IN_DIR(a_profiler_keeps_its_last_cycles_and_the_event_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
