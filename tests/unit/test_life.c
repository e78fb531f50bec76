/* SPDX-License-Identifier: MIT
 *
 * A profiler's calls at moments when one does not expect them, and in surroundings that are not as
 * they were.
 */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "base/base.h"
#include "forks_with_threads.h"
#include "recorded.h"
#include "test_dir.h"

static const char *in_dir(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/* ---- outside of any profiler's life ---- */

static void a_thread_is_named_after_its_profilers_end(void **state)
{
    (void)state;
    hb_profiler *prof = record_all();
    HB_RECORD_FUNCTION("work") {
    }
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_thread_name("stopped");
    hb_profiler_destroy(prof);
    hb_thread_name("destroyed");
    prof = record_all();
    hb_thread_name("again");
    HB_RECORD_FUNCTION("work") {
    }
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
}

static bool holds(const char *path, const char *text)
{
    static char bytes[1 << 20];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return memmem(bytes, n, text, strlen(text)) != NULL;
}

static void a_childs_thread_does_not_rename_its_parents(void **state)
{
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.on_trace_ready = hb_tensorboard_trace_handler(in_dir("renamed"), "w", HB_NO_EVENT_FILE);
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    hb_thread_name("the parent's");
    HB_RECORD_FUNCTION("work") {
    }
    pid_t pid = fork();
    if (pid == 0) {
        hb_thread_name("the child's");
        _exit(0);
    }
    wait_for_success(pid);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
    char trace[PATH_MAX];
    assert_int_equal(list_dir(in_dir("renamed"), NULL, trace, sizeof trace), 1);
    assert_true(holds(trace, "the parent's"));
    assert_false(holds(trace, "the child's"));
}

static void steps_can_have_any_number(void **state)
{
    (void)state;
    const int64_t numbers[] = {INT64_MIN, -1, INT64_MAX};
    for (int i = 0; i < 6; i++) {
        hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
        o.on_demand = i >= 3;
        if (!o.on_demand) o.schedule = hb_schedule_make(.active = 1);
        hb_profiler *prof = hb_profiler_create(&o);
        assert_int_equal(hb_profiler_start(prof), HB_OK);
        assert_int_equal(hb_profiler_step(prof), HB_OK);
        assert_int_equal(hb_profiler_number_next_step(prof, numbers[i % 3]), HB_OK);
        assert_int_equal(hb_profiler_step(prof), HB_OK);
        assert_int_equal(hb_profiler_step(prof), HB_OK);
        assert_int_equal(hb_profiler_stop(prof), HB_OK);
        hb_profiler_destroy(prof);
    }
}

static void count_destroyed(void *context)
{
    ++*(int *)context;
}

static void handlers_of_ours_are_taken_over_with_any_options(void **state)
{
    (void)state;
    int destroyed = 0;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.struct_size = 0;
    o.on_trace_ready =
        hb_trace_handler_chain((hb_trace_handler){NULL, &destroyed, count_destroyed},
                               hb_tensorboard_trace_handler(in_dir("never"), NULL, 0));
    assert_null(hb_profiler_create(&o));
    assert_int_equal(destroyed, 1);
}

/* ---- in the handler ---- */

typedef struct inside {
    hb_result step, stop, start, other;
    int calls;
    bool forks;
} inside;

static hb_result call_all(hb_profiler *prof, void *context)
{
    inside *in = context;
    in->calls++;
    in->step = hb_profiler_step(prof);
    in->stop = hb_profiler_stop(prof);
    in->start = hb_profiler_start(prof);
    assert_int_equal(hb_profiler_flush(prof), HB_OK);
    hb_profiler *other = hb_profiler_create(&(hb_profiler_options)HB_PROFILER_OPTIONS_INIT);
    in->other = hb_profiler_start(other);
    hb_profiler_destroy(other);
    hb_profiler_destroy(prof);
    hb_profiler_destroy(prof);
    assert_int_equal(hb_profiler_cycle(prof), in->calls - 1); /* it is still there */
    return hb_fail(HB_ERROR_LIMIT, "the handler's own");
}

static hb_result look_behind(hb_profiler *prof, void *context)
{
    (void)context;
    return hb_export_tensorboard(prof, dir, "w", 0);
}

static void assert_refused(const inside *in)
{
    assert_int_equal(in->calls, 1);
    assert_int_equal(in->step, HB_ERROR_STATE);
    assert_int_equal(in->stop, HB_ERROR_STATE);
    assert_int_equal(in->start, HB_ERROR_STATE);
    assert_int_equal(in->other, HB_ERROR_BUSY);
}

static hb_profiler *calling_all(inside *in, int *destroyed)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    hb_trace_handler behind = {look_behind, destroyed, count_destroyed};
    o.schedule = hb_schedule_make(.active = 1);
    o.on_trace_ready = hb_trace_handler_chain(
        hb_trace_handler_chain((hb_trace_handler){call_all, in, NULL}, behind),
        hb_tensorboard_trace_handler(dir, "w", 0));
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    HB_RECORD_FUNCTION("work") {
    }
    return prof;
}

static int traces_in_dir(void)
{
    int count = 0;
    DIR *list = opendir(dir);
    for (struct dirent *entry; (entry = readdir(list));)
        count += entry->d_name[0] != '.' && strstr(entry->d_name, ".pt.trace.json") != NULL;
    closedir(list);
    return count;
}

static void what_a_handler_destroys_goes_when_it_has_returned(void **state)
{
    (void)state;
    for (int by_stop = 0; by_stop < 2; by_stop++) {
        inside in = {0};
        int destroyed = 0;
        hb_profiler *prof = calling_all(&in, &destroyed);
        hb_result result = by_stop ? hb_profiler_stop(prof) : hb_profiler_step(prof);
        assert_int_equal(result, HB_ERROR_LIMIT);
        assert_string_equal(hb_last_error(), "the handler's own");
        /* Of the step the second, empty cycle is stopped, and its handler called, by the end. */
        assert_int_equal(destroyed, 1);
        if (by_stop) assert_refused(&in);
        assert_true(traces_in_dir() >= 2);
    }
    hb_profiler *next = record_all(); /* nothing is running any more */
    assert_int_equal(hb_profiler_stop(next), HB_OK);
    hb_profiler_destroy(next);
}

static void a_handler_called_by_destroy_may_destroy_again(void **state)
{
    (void)state;
    inside in = {0};
    int destroyed = 0;
    hb_profiler *prof = calling_all(&in, &destroyed);
    hb_profiler_destroy(prof);
    assert_refused(&in);
    assert_int_equal(destroyed, 1);
    assert_int_equal(traces_in_dir(), 2);
}

static hb_result fork_and_destroy(hb_profiler *prof, void *context)
{
    pid_t *child = context;
    if (*child == 0) *child = fork();
    if (*child == 0) hb_profiler_destroy(prof);
    return HB_OK;
}

static void a_child_forked_in_a_handler_may_destroy_its_copy(void **state)
{
    (void)state;
    pid_t child = 0, self = getpid();
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.on_trace_ready = (hb_trace_handler){fork_and_destroy, &child, NULL};
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    hb_result result = hb_profiler_stop(prof);
    if (getpid() != self) _exit(0);
    assert_int_equal(result, HB_OK);
    wait_for_success(child);
    hb_profiler_destroy(prof);
}

static hb_result destroy_it(hb_profiler *prof, void *context)
{
    (void)context;
    hb_profiler_destroy(prof);
    return HB_OK;
}

/* Called since another one starts. */
static void one_that_yields_may_be_destroyed_when_it_pauses(void **state)
{
    (void)state;
    int destroyed = 0;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.yields = true;
    o.on_trace_ready = (hb_trace_handler){destroy_it, &destroyed, count_destroyed};
    hb_profiler *yields = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(yields), HB_OK);
    hb_profiler *other = record_all();
    assert_int_equal(destroyed, 1);
    HB_RECORD_FUNCTION("work") {
    }
    assert_int_equal(hb_profiler_stop(other), HB_OK);
    recorded r = recorded_of(other);
    assert_int_equal(recorded_count(&r, "work"), 1);
    recorded_free(&r);
    hb_profiler_destroy(other);
}

/* ---- a stop that does not wait ---- */

static void a_stop_that_hands_over_is_waited_for_by_flush_and_exit(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) { /* flush, destroy, exit() */
        pid_t pid = fork();
        if (pid == 0) {
            hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
            o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", HB_NO_EVENT_FILE);
            o.stop_hands_over = true;
            hb_profiler *prof = hb_profiler_create(&o);
            if (hb_profiler_start(prof) != HB_OK) _exit(1);
            for (int i = 0; i < 200000; i++)
                HB_RECORD_FUNCTION("work") {
                }
            if (hb_profiler_stop(prof) != HB_OK) _exit(2);
            if (way == 0 && (hb_profiler_flush(prof) != HB_OK || traces_in_dir() != 1)) _exit(3);
            if (way == 0) _exit(0);
            if (way == 1) hb_profiler_destroy(prof);
            if (way == 1) _exit(traces_in_dir() == 2 ? 0 : 4);
            exit(0);
        }
        wait_for_success(pid);
        assert_int_equal(traces_in_dir(), way + 1);
    }
}

/* In whatever order: each of them alone, and exit() waits for the others. */
static void any_of_several_that_handed_over_may_be_destroyed(void **state)
{
    enum { PROFILERS = 3 };
    (void)state;
    for (int gone = 0; gone < PROFILERS; gone++) {
        pid_t pid = fork();
        if (pid == 0) {
            hb_profiler *profs[PROFILERS];
            for (int i = 0; i < PROFILERS; i++) {
                hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
                o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", HB_NO_EVENT_FILE);
                o.stop_hands_over = true;
                profs[i] = hb_profiler_create(&o);
                if (hb_profiler_start(profs[i]) != HB_OK) _exit(1);
                HB_RECORD_FUNCTION("work") {
                }
                if (hb_profiler_stop(profs[i]) != HB_OK) _exit(2);
            }
            hb_profiler_destroy(profs[gone]);
            exit(0);
        }
        wait_for_success(pid);
        assert_int_equal(traces_in_dir(), PROFILERS * (gone + 1));
    }
}

static void its_error_comes_by_flush(void **state)
{
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.on_trace_ready = hb_tensorboard_trace_handler(in_dir("run"), "w", HB_NO_EVENT_FILE);
    o.stop_hands_over = true;
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    assert_int_equal(rmdir(in_dir("run")), 0);
    close(open(in_dir("run"), O_WRONLY | O_CREAT, 0600));
    HB_RECORD_FUNCTION("work") {
    }
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    assert_int_equal(hb_profiler_flush(prof), HB_ERROR_IO);
    hb_profiler_destroy(prof);
}

/* ---- others in the same directory ---- */

static void put_spool(const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("not a spool", file);
    fclose(file);
}

/* The walk has seen all files when the first one is looked into. */
static void swap_the_others(const hb_recovered *spool, void *arg)
{
    int *seen = arg;
    assert_int_equal(spool->result, HB_ERROR_FORMAT);
    if ((*seen)++) return;
    const char *kinds[] = {".fifo.hbspool", ".link.hbspool", ".other.hbspool"};
    for (int i = 0; i < 3; i++) {
        if (strstr(spool->spool, kinds[i])) continue;
        assert_int_equal(unlink(in_dir(kinds[i])), 0);
        if (i == 0) assert_int_equal(mkfifo(in_dir(kinds[i]), 0666), 0);
        if (i == 1) assert_int_equal(symlink("/dev/zero", in_dir(kinds[i])), 0);
        if (i == 2) put_spool(kinds[i]);
    }
}

static void recovery_takes_no_file_that_was_swapped_in(void **state)
{
    (void)state;
    int seen = 0;
    put_spool(".fifo.hbspool");
    put_spool(".link.hbspool");
    put_spool(".other.hbspool");
    alarm(300);
    assert_int_equal(hb_recover(dir, 0, swap_the_others, &seen), HB_ERROR_FORMAT);
    alarm(0);
    assert_int_equal(seen, 1);
}

/* ---- one place ---- */

static hb_profiler *to_dir(const char *path, unsigned flags)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.on_trace_ready = hb_tensorboard_trace_handler(path, "w", flags);
    return hb_profiler_create(&o);
}

static int count_ending(const char *path, const char *suffix)
{
    int n = 0;
    DIR *open_dir = opendir(path);
    for (struct dirent *e; open_dir && (e = readdir(open_dir));) {
        size_t len = strlen(e->d_name), m = strlen(suffix);
        n += len >= m && strcmp(e->d_name + len - m, suffix) == 0;
    }
    if (open_dir) closedir(open_dir);
    return n;
}

static void record_a_cycle(hb_profiler *prof)
{
    if (hb_profiler_start(prof) != HB_OK) abort();
    HB_RECORD_FUNCTION("work") {
    }
}

/* What is in `path`: a trace, an event file, no spool any more. */
static bool has_all(const char *path)
{
    return count_ending(path, ".pt.trace.json") == 1 && count_ending(path, ".hbspool") == 0 &&
           count_ending(path, ".tmp") == 0 && list_dir(path, NULL, NULL, 0) == 2;
}

static void a_relative_directory_is_where_it_was_at_create(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        if (chdir(dir) != 0 || mkdir("sub", 0777) != 0) _exit(1);
        hb_profiler *prof = to_dir("run", 0);
        if (chdir("sub") != 0) _exit(2);
        record_a_cycle(prof);
        if (chdir("/") != 0 || hb_profiler_stop(prof) != HB_OK) _exit(3);
        hb_profiler_destroy(prof);
        _exit(has_all(in_dir("run")) && list_dir(in_dir("sub"), NULL, NULL, 0) == 0 ? 0 : 4);
    }
    wait_for_success(pid);
}

static void a_renamed_directory_takes_the_rest_too(void **state)
{
    (void)state;
    hb_profiler *prof = to_dir(in_dir("run"), 0);
    record_a_cycle(prof);
    char renamed[512];
    snprintf(renamed, sizeof renamed, "%s/renamed", dir);
    assert_int_equal(rename(in_dir("run"), renamed), 0);
    hb_scalar("loss", 1);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
    assert_int_equal(access(in_dir("run"), F_OK), -1);
    assert_true(has_all(renamed));
}

static void a_removed_directory_is_made_again(void **state)
{
    (void)state;
    hb_profiler *prof = to_dir(in_dir("run"), HB_NO_EVENT_FILE);
    record_a_cycle(prof);
    assert_int_equal(remove_tree(in_dir("run")), 0);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
    assert_int_equal(count_ending(in_dir("run"), ".pt.trace.json"), 1);
}

/* As one does between experiments: what comes from then on is in the new one. */
static void a_directory_that_others_made_again_has_all(void **state)
{
    (void)state;
    hb_profiler *prof = to_dir(in_dir("run"), 0);
    record_a_cycle(prof);
    hb_scalar("loss", 1);
    assert_int_equal(remove_tree(in_dir("run")), 0);
    assert_int_equal(mkdir(in_dir("run"), 0777), 0);
    hb_scalar("loss", 2);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
    assert_true(has_all(in_dir("run")));
}

/* The directory is meant, not the name. */
static void one_that_takes_a_renamed_ones_name_gets_nothing(void **state)
{
    (void)state;
    hb_profiler *prof = to_dir(in_dir("run"), 0);
    record_a_cycle(prof);
    hb_scalar("loss", 1);
    char renamed[512];
    snprintf(renamed, sizeof renamed, "%s/renamed", dir);
    assert_int_equal(rename(in_dir("run"), renamed), 0);
    assert_int_equal(mkdir(in_dir("run"), 0777), 0);
    hb_scalar("loss", 2);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    assert_int_equal(hb_profiler_start(prof), HB_OK); /* the second cycle, too */
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
    assert_int_equal(list_dir(in_dir("run"), NULL, NULL, 0), 0);
    assert_int_equal(count_ending(renamed, ".hbspool"), 0);
    assert_int_equal(count_ending(renamed, ".pt.trace.json"), 2);
    assert_int_equal(list_dir(renamed, NULL, NULL, 0), 3);
}

static void after_chroot_traces_come_into_the_same_directory(void **state)
{
    (void)state;
    if (geteuid() != 0) skip();
    pid_t pid = fork();
    if (pid == 0) {
        hb_profiler *prof = to_dir(in_dir("run"), 0);
        record_a_cycle(prof);
        int root = open("/", O_RDONLY | O_DIRECTORY);
        if (mkdir(in_dir("jail"), 0777) != 0 || chroot(in_dir("jail")) != 0) _exit(1);
        hb_scalar("loss", 1); /* which makes the event file */
        if (chdir("/") != 0 || hb_profiler_stop(prof) != HB_OK) _exit(2);
        hb_profiler_destroy(prof);
        if (fchdir(root) != 0 || chroot(".") != 0) _exit(3);
        _exit(has_all(in_dir("run")) && list_dir(in_dir("jail"), NULL, NULL, 0) == 0 ? 0 : 4);
    }
    wait_for_success(pid);
}

/* Hours before the first trace is to be written. */
static void a_directory_that_takes_no_files_is_told_at_the_start(void **state)
{
    (void)state;
    close(open(in_dir("file"), O_WRONLY | O_CREAT, 0600));
    hb_profiler *prof = to_dir(in_dir("file/run"), HB_NO_EVENT_FILE);
    assert_int_equal(hb_profiler_start(prof), HB_ERROR_IO);
    assert_non_null(strstr(hb_last_error(), "/file"));
    assert_int_equal(unlink(in_dir("file")), 0); /* it is mended in time */
    HB_RECORD_FUNCTION("work") {
    }
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
    assert_int_equal(count_ending(in_dir("file/run"), ".pt.trace.json"), 1);
}

static void a_directory_of_another_user_is_told_at_the_start(void **state)
{
    (void)state;
    if (geteuid() != 0) skip();
    assert_int_equal(mkdir(in_dir("theirs"), 0755), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (setuid(65534) != 0) _exit(1);
        hb_profiler *prof = to_dir(in_dir("theirs"), HB_NO_EVENT_FILE);
        bool told = hb_profiler_start(prof) == HB_ERROR_IO &&
                    strstr(hb_last_error(), "Permission denied") &&
                    strstr(hb_last_error(), in_dir("theirs"));
        hb_profiler_destroy(prof);
        _exit(told ? 0 : 2);
    }
    wait_for_success(pid);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(a_thread_is_named_after_its_profilers_end),
        IN_DIR(a_childs_thread_does_not_rename_its_parents),
        IN_DIR(steps_can_have_any_number),
        IN_DIR(handlers_of_ours_are_taken_over_with_any_options),
        IN_DIR(what_a_handler_destroys_goes_when_it_has_returned),
        IN_DIR(a_handler_called_by_destroy_may_destroy_again),
        IN_DIR(a_child_forked_in_a_handler_may_destroy_its_copy),
        IN_DIR(a_stop_that_hands_over_is_waited_for_by_flush_and_exit),
        IN_DIR(any_of_several_that_handed_over_may_be_destroyed),
        IN_DIR(its_error_comes_by_flush),
        IN_DIR(one_that_yields_may_be_destroyed_when_it_pauses),
        IN_DIR(recovery_takes_no_file_that_was_swapped_in),
        IN_DIR(a_relative_directory_is_where_it_was_at_create),
        IN_DIR(a_renamed_directory_takes_the_rest_too),
        IN_DIR(a_removed_directory_is_made_again),
        IN_DIR(a_directory_that_others_made_again_has_all),
        IN_DIR(one_that_takes_a_renamed_ones_name_gets_nothing),
        IN_DIR(after_chroot_traces_come_into_the_same_directory),
        IN_DIR(a_directory_that_takes_no_files_is_told_at_the_start),
        IN_DIR(a_directory_of_another_user_is_told_at_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
