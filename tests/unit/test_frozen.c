/* SPDX-License-Identifier: MIT
 *
 * exit() while one of hipboard's own threads stands still: the program ends all the same. The
 * thread is stopped as a debugger does it, alone, or does not get beyond its first steps, or beyond
 * the taking of a lock.
 */
#include <sys/ptrace.h>

#include <pthread.h>
#include <stdatomic.h>

#include <hipboard/event_log.h>

#include "base/lock.h"
#include "program.h"

static const char *in_dir(const char *name)
{
    static char path[400];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static bool there_is(const char *name)
{
    return access(in_dir(name), F_OK) == 0;
}

static void make(const char *name)
{
    fclose(fopen(in_dir(name), "w"));
}

static void await(const char *name)
{
    while (!there_is(name))
        poll(NULL, 0, 5);
}

static void record_steps(hb_profiler *prof)
{
    CHECK(hb_profiler_dump(prof, "asked") == HB_OK);
    for (int i = 0; i < 5; i++) {
        HB_RECORD_FUNCTION("scope") {
            hb_scalar("loss", i);
        }
        hb_profiler_step(prof);
    }
}

/* The thread of that name of a process; 0: there is none. */
static pid_t thread_called(pid_t pid, const char *name)
{
    char path[320], comm[32];
    pid_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/comm", (int)pid, e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (f && fgets(comm, sizeof comm, f) && strncmp(comm, name, strlen(name)) == 0)
            found = atoi(e->d_name);
        if (f) fclose(f);
    }
    if (d) closedir(d);
    return found;
}

/* ---- a thread that keeps a lock ---- */

static const char *keeper; /* the thread's name */
static enum hb_lock_level kept;
static atomic_bool may_keep, is_kept;

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex);

static void keep(const pthread_mutex_t *mutex)
{
    char name[16];
    const hb_lock *lock = (const hb_lock *)mutex;
    if (!atomic_load(&may_keep) || lock->level != kept) return;
    pthread_getname_np(pthread_self(), name, sizeof name);
    if (strcmp(name, keeper) != 0) return;
    atomic_store(&is_kept, true);
    for (;;)
        pause();
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    int error = __real_pthread_mutex_lock(mutex);
    if (!error) keep(mutex);
    return error;
}

int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    int error = __real_pthread_mutex_trylock(mutex);
    if (!error) keep(mutex);
    return error;
}

static void await_keeper(void)
{
    if (!keeper) return;
    while (!thread_called(getpid(), keeper))
        poll(NULL, 0, 5);
    atomic_store(&may_keep, true);
    while (!atomic_load(&is_kept))
        poll(NULL, 0, 5);
}

/* by the program's own exit handler */
static hb_profiler *stopped_late;
static hb_event_log *own_log;

/* The thread stands still before there are steps, or behind them, perhaps amid its work. */
static int record_and_exit(bool stopped_before)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.on_demand = true;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = hb_profiler_create(&o);
    CHECK(prof && hb_profiler_start(prof) == HB_OK);
    stopped_late = prof;
    record_steps(prof);
    if (stopped_before) CHECK(hb_profiler_flush(prof) == HB_OK);
    make("ready");
    await("go");
    if (stopped_before) record_steps(prof);
    await_keeper();
    exit(0);
}

static int stopped_before(void)
{
    return record_and_exit(true);
}

static int stopped_after(void)
{
    return record_and_exit(false);
}

static void call_the_profiler_late(hb_profiler *prof)
{
    hb_lost lost = {.struct_size = sizeof lost};
    (void)hb_profiler_start(prof);
    (void)hb_profiler_step(prof);
    (void)hb_profiler_stop(prof);
    (void)hb_profiler_flush(prof);
    (void)hb_profiler_dump(prof, "late");
    (void)hb_profiler_number_next_step(prof, 3);
    (void)hb_profiler_add_metadata(prof, "late", "1");
    (void)hb_profiler_preset_metadata_json(prof, "late", "1");
    (void)hb_profiler_lost(prof, &lost);
    (void)hb_export_chrome_trace(prof, in_dir("late.json"), 0);
    (void)hb_export_tensorboard(prof, dir, "late", 0);
    hb_profiler_destroy(prof);
}

static void record_late(void)
{
    HB_RECORD_FUNCTION("late scope") {
        hb_scalar("loss", 1);
        hb_scalar("late loss", 1);
        hb_counter("late", "s", 1);
    }
    hb_range_push("late range");
    hb_range_pop();
    hb_thread_name("late");
    hb_memory_alloc(HB_DEVICE_CPU, 0, dir, 64);
    hb_memory_free(HB_DEVICE_CPU, 0, dir, 64);
    (void)hb_module_create("Late");
}

static void log_late(void)
{
    double values[] = {1, 2};
    hb_hparam rate = {.name = "rate", .type = HB_HPARAM_TYPE_NUMBER, .number = 1};
    (void)hb_text("late", "text");
    (void)hb_histogram("late", values, 2);
    (void)hb_hparams(&rate, 1, NULL, 0);
    hb_event_log *log = hb_event_log_open(in_dir("late"), NULL);
    CHECK(log || strstr(hb_last_error(), "exit handlers"));
    (void)hb_event_log_scalar(log, "late", 0, 1);
    (void)hb_event_log_close(log);
    (void)hb_event_log_flush(own_log);
    (void)hb_event_log_close(own_log);
}

static void profile_late(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "late", 0);
    hb_profiler *prof = hb_profiler_create(&o);
    if (!prof) return;
    (void)hb_profiler_start(prof);
    (void)hb_profiler_step(prof);
    (void)hb_profiler_stop(prof);
    hb_profiler_destroy(prof);
}

/* What the program's own handlers call behind hipboard's: whatever it is, it returns. */
static void go_on_at_exit(void)
{
    record_late();
    log_late();
    call_the_profiler_late(stopped_late);
    profile_late();
}

static int exit_while_kept(const char *thread, enum hb_lock_level level)
{
    keeper = thread;
    kept = level;
    own_log = hb_event_log_open(in_dir("own"), NULL);
    CHECK(own_log && hb_event_log_scalar(own_log, "loss", 0, 1) == HB_OK);
    atexit(go_on_at_exit);
    make("go");
    return record_and_exit(false);
}

static const char *never_begins; /* the thread's name */

int __real_pthread_setname_np(pthread_t thread, const char *name);
int __wrap_pthread_setname_np(pthread_t thread, const char *name);

int __wrap_pthread_setname_np(pthread_t thread, const char *name)
{
    while (never_begins && strcmp(name, never_begins) == 0)
        pause();
    return __real_pthread_setname_np(thread, name);
}

static int control_keeps_its_lock(void)
{
    return exit_while_kept("hipboard/contro", HB_LOCK_CONTROL);
}

static int writer_keeps_the_profilers_lock(void)
{
    return exit_while_kept("hipboard/writer", HB_LOCK_PROFILER);
}

static int event_log_keeps_its_lock(void)
{
    return exit_while_kept("hipboard/events", HB_LOCK_EVENT_LOG);
}

static int event_log_keeps_its_file(void)
{
    return exit_while_kept("hipboard/events", HB_LOCK_EVENT_FILE);
}

static int spools_writer_keeps_the_spool(void)
{
    return exit_while_kept("hipboard/spool", HB_LOCK_SPOOL);
}

static int control_never_begins(void)
{
    never_begins = "hipboard/contro";
    make("go");
    return record_and_exit(false);
}

/* Whether it waits for work: it has no lock of the sanitizer's, which a thread has while it gives
 * itself a name. */
static bool is_asleep(pid_t pid, pid_t tid)
{
    char path[320], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    FILE *f = fopen(path, "r");
    if (f && !fgets(text, sizeof text, f)) text[0] = '\0';
    if (f) fclose(f);
    const char *behind_name = strrchr(text, ')');
    return behind_name && behind_name[1] == ' ' && behind_name[2] == 'S';
}

static void await_sleep(pid_t pid, pid_t tid)
{
    for (int asleep = 0; asleep < 5;) {
        asleep = is_asleep(pid, tid) ? asleep + 1 : 0;
        poll(NULL, 0, 10);
    }
}

/* What the tracer has to take note of for the process to be gone. */
static int end_of_traced(pid_t pid)
{
    int status = 0, ended = -1;
    for (int i = 0; ended < 0; i++) {
        if (i == rounds(ENOUGH_S * 100)) kill(pid, SIGKILL);
        pid_t which = waitpid(-1, &status, __WALL | WNOHANG);
        if (which == pid && (WIFEXITED(status) || WIFSIGNALED(status)))
            ended = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
        if (which <= 0) poll(NULL, 0, 10);
    }
    return ended;
}

static void ends_while_stopped(const char *how, const char *thread)
{
    pid_t pid = start_program(how);
    await("ready");
    pid_t tid;
    while (!(tid = thread_called(pid, thread))) /* it gives itself its name */
        poll(NULL, 0, 5);
    await_sleep(pid, tid);
    bool stopped = ptrace(PTRACE_SEIZE, tid, NULL, NULL) == 0 &&
                   ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0 &&
                   waitpid(tid, NULL, __WALL) == tid;
    make("go");
    int end = end_of_traced(pid);
    if (!stopped) skip(); /* a container may forbid it */
    assert_int_equal(end, 0);
}

static void while_the_control_thread_stands_still(void **state)
{
    (void)state;
    ends_while_stopped("stopped_after", "hipboard/contro");
}

static void while_the_writer_stands_still(void **state)
{
    (void)state;
    ends_while_stopped("stopped_after", "hipboard/writer");
}

static void while_the_spools_writer_stands_still(void **state)
{
    (void)state;
    ends_while_stopped("stopped_after", "hipboard/spool");
}

static void while_the_event_log_stands_still(void **state)
{
    (void)state;
    ends_while_stopped("stopped_after", "hipboard/events");
}

/* The writer's wait for it is no work of the writer's. */
static void while_the_writer_waits_for_the_event_log(void **state)
{
    (void)state;
    ends_while_stopped("stopped_before", "hipboard/events");
}

/* Who waits for it can't take its own time for that of a thread which is not yet known. */
static void while_the_control_thread_has_not_begun(void **state)
{
    (void)state;
    assert_int_equal(run_program(control_never_begins), 0);
}

static void while_a_lock_is_kept(void **state)
{
    (void)state;
    assert_int_equal(run_program(control_keeps_its_lock), 0);
    assert_int_equal(run_program(writer_keeps_the_profilers_lock), 0);
    assert_int_equal(run_program(event_log_keeps_its_lock), 0);
    assert_int_equal(run_program(event_log_keeps_its_file), 0);
    assert_int_equal(run_program(spools_writer_keeps_the_spool), 0);
}

int main(int argc, char **argv)
{
    static const program programs[] = {PROGRAM(stopped_before),
                                       PROGRAM(stopped_after),
                                       PROGRAM(control_never_begins),
                                       PROGRAM(control_keeps_its_lock),
                                       PROGRAM(writer_keeps_the_profilers_lock),
                                       PROGRAM(event_log_keeps_its_lock),
                                       PROGRAM(event_log_keeps_its_file),
                                       PROGRAM(spools_writer_keeps_the_spool)};
    const struct CMUnitTest tests[] = {
        IN_DIR(while_the_control_thread_stands_still),
        IN_DIR(while_the_writer_stands_still),
        IN_DIR(while_the_spools_writer_stands_still),
        IN_DIR(while_the_event_log_stands_still),
        IN_DIR(while_the_writer_waits_for_the_event_log),
        IN_DIR(while_the_control_thread_has_not_begun),
        IN_DIR(while_a_lock_is_kept),
    };
    int status;
    if (argc > 1 && is_program(argv, programs, sizeof programs / sizeof *programs, &status))
        return status;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
