/* SPDX-License-Identifier: MIT
 *
 * libhipboard-capture.so: loaded into a program by `hipboard record`, it profiles it. Each process
 * has a profiler of its own, and a thread that minds its times: when to begin, when to end, and
 * where a step ends in a program that marks none.
 */
#include "capture.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <hipboard/hipboard.h>

/* For hb_part_path(). */
__attribute__((used)) static const char part_of[] = HB_PART;

#define NS_PER_S INT64_C(1000000000)
#define NEVER    INT64_MAX

/* More than writing takes unless the disk is slow, and no more than a user will wait for a program
 * that hangs in a signal handler; and for a lock that is held long only while files are written. */
enum { PATIENCE_S = 20, LOCK_PATIENCE_S = 2 };

static struct plan {
    int64_t delay_ns, duration_ns, slice_ns, telemetry_ns;
    bool on_demand, find_steps;
    unsigned step_loop;
    long long ring_ns, ring_steps, ring_bytes; /* all 0: none */
    bool scheduled;
    hb_schedule schedule;
    /* the schedule's: where it began to count, and for the program's own steps anew */
    int64_t base;
    atomic_bool has_own_steps;  /* some came */
    atomic_bool has_ranges;     /* of the program's own names: those that are found do not count */
    atomic_bool lost_own_steps; /* and then came no more */
    bool names_own_steps;       /* a table does */
    bool counts_own_steps;
    bool begins_own_step;     /* who counts a step is its own thread */
    atomic_bool keeps_slices; /* those count a cycle's steps, and do to its end */
    hb_profiler_action last;
} plan;

enum phase { BEFORE, RECORDING, PAUSED, OVER };

/* Of the thread: to end, and to leave all to the library's exit handlers but a slice; or to do what
 * they would. */
enum request { NONE, LEAVE, FINISH };

static struct capture {
    pthread_mutex_t lock; /* the profiler is one thread's at a time */
    hb_profiler *prof;
    enum phase phase;
    int64_t start_at, stop_at, slice_at; /* CLOCK_MONOTONIC, ns */
    int64_t due;                         /* when something is, as the thread begins */
    /* for those who can't take the lock */
    pid_t pid;
    bool minded;       /* the thread runs */
    struct stat root;  /* the program's first */
    _Atomic int asked; /* enum request */
    sem_t wake, finished;
} capture = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Of a program's thread: a signal handler that interrupts it, and exits, waits for it in vain. */
static _Thread_local volatile bool holds_lock;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * NS_PER_S + t.tv_nsec;
}

static struct timespec to_timespec(int64_t ns)
{
    return (struct timespec){ns / NS_PER_S, ns % NS_PER_S};
}

static int64_t number(const char *name)
{
    const char *text = secure_getenv(name);
    return text ? strtoll(text, NULL, 10) : 0;
}

static void complain(void)
{
    fprintf(stderr, "hipboard: this process is not recorded: %s\n", hb_last_error());
}

/* ---- steps ---- */

static hb_profiler_action note_action(struct plan *p, hb_profiler_action action)
{
    p->last = action;
    atomic_store(&p->keeps_slices, action != HB_ACTION_NONE && !p->counts_own_steps);
    return action;
}

/* Step 0 is what comes before the first step, whose kind is not known yet. When the program's own
 * steps begin after some slices, the schedule begins anew with the next of them, but not amid a
 * cycle: of a trace the steps are all slices, or none. */
static hb_profiler_action action_of(int64_t step, void *context)
{
    struct plan *p = context;
    bool between = p->last == HB_ACTION_NONE || p->last == HB_ACTION_RECORD_AND_SAVE;
    if (step == 0) return HB_ACTION_NONE;
    if (atomic_load(&p->has_own_steps) && !p->counts_own_steps && between) {
        if (!p->begins_own_step) return note_action(p, HB_ACTION_NONE);
        p->counts_own_steps = true;
        p->base = step;
    }
    return note_action(p, hb_schedule_action(&p->schedule, step - p->base));
}

/* A file that can't be written has been complained of; the program goes on. */
static void step_to(int64_t step_number)
{
    (void)hb_profiler_number_next_step(capture.prof, step_number);
    (void)hb_profiler_step(capture.prof);
}

static void end_slice(int64_t now)
{
    step_to(hb_profiler_step_num(capture.prof)); /* the first one is number 0 */
    capture.slice_at = now + plan.slice_ns;
}

static bool step_number(const char *range, int64_t *n)
{
    static const char prefix[] = "ProfilerStep#";
    char *end;
    if (!range || strncmp(range, prefix, sizeof prefix - 1) != 0) return false;
    *n = strtoll(range + sizeof prefix - 1, &end, 10);
    return end > range + sizeof prefix - 1 && *end == '\0';
}

static bool has_ring(void)
{
    return plan.ring_ns || plan.ring_steps || plan.ring_bytes;
}

static bool can_be_triggered(void)
{
    return plan.on_demand || has_ring();
}

static bool counts_steps(void)
{
    return plan.scheduled || can_be_triggered();
}

/* Of those that were found none comes any more: time is cut into slices again. */
static void lose_own_steps(void)
{
    atomic_store(&plan.has_own_steps, false);
    atomic_store(&plan.lost_own_steps, true);
    if (capture.minded) sem_post(&capture.wake);
}

/* Whether it became one of the profiler's. */
static bool begin_own_step(int64_t n)
{
    atomic_store(&plan.has_own_steps, true);
    /* Who holds the lock is stopping it or writing: nothing to wait for here. */
    if (pthread_mutex_trylock(&capture.lock) != 0) return false;
    holds_lock = plan.begins_own_step = true;
    bool counts = capture.phase == RECORDING && !atomic_load(&plan.keeps_slices);
    if (counts) step_to(n);
    holds_lock = plan.begins_own_step = false;
    pthread_mutex_unlock(&capture.lock);
    return counts;
}

bool capture_begins_step(const char *range)
{
    int64_t n;
    if (!counts_steps() || !step_number(range, &n)) return false;
    atomic_store(&plan.has_ranges, true);
    (void)begin_own_step(n);
    return true;
}

/* One of a table's, whose calls keep their names, or that was found. */
static bool begin_told_step(int64_t n)
{
    bool passed_over = atomic_load(&plan.has_ranges), counts = false;
    if (!passed_over && n < 0)
        lose_own_steps();
    else if (!passed_over)
        counts = begin_own_step(n);
    return counts || plan.names_own_steps;
}

/* ---- beginning and end, under the lock ---- */

static void begin_slices(int64_t now)
{
    plan.counts_own_steps = false;
    (void)note_action(&plan, plan.last);
    capture.slice_at = plan.scheduled ? now + plan.slice_ns : NEVER;
}

static void begin_recording(int64_t now)
{
    capture.phase = RECORDING;
    capture.stop_at = plan.duration_ns ? now + plan.duration_ns : NEVER;
    plan.last = HB_ACTION_NONE;
    begin_slices(now);
    if (hb_profiler_start(capture.prof) == HB_OK) return;
    complain();
    (void)hb_profiler_stop(capture.prof); /* it may have started all the same */
    capture.phase = OVER;
}

/* What became of MPI, if its calls are to be recorded. */
static void tell_of_mpi(void)
{
    const char *(*note)(void);
    void *address = dlsym(RTLD_DEFAULT, "hb_mpi_note");
    memcpy(&note, &address, sizeof note);
    const char *text = address ? note() : NULL;
    if (text) (void)hb_profiler_add_metadata_json(capture.prof, "hipboard_mpi", text);
}

static void end_recording(void)
{
    if (capture.phase == RECORDING) {
        tell_of_mpi();
        (void)hb_profiler_stop(capture.prof);
    }
    capture.phase = OVER;
}

/* Each stretch between two pauses is a cycle of its own. */
static void pause_recording(void)
{
    tell_of_mpi();
    (void)hb_profiler_stop(capture.prof);
    capture.phase = PAUSED;
}

/* --duration counts from the first beginning. */
static void go_on(void)
{
    int64_t stop_at = capture.stop_at;
    begin_recording(now_ns());
    capture.stop_at = stop_at;
}

/* Who was forked after a chroot() has to find the log directory by its path, which means another
 * one by then. */
static void tell_of_another_root(const char *dir)
{
    struct stat root;
    if (stat("/", &root) != 0) return;
    if (!capture.root.st_ino) capture.root = root;
    if (root.st_ino != capture.root.st_ino || root.st_dev != capture.root.st_dev)
        fprintf(stderr,
                "hipboard: process %d was forked after a chroot(): it is recorded into %s below "
                "the new root\n",
                (int)getpid(), dir);
}

static void finish(void)
{
    end_recording();
    hb_profiler_destroy(capture.prof);
    capture.prof = NULL;
}

/* The program's own steps end them, but not amid a cycle. */
static bool counts_slices(void)
{
    return plan.scheduled && !plan.names_own_steps &&
           (!atomic_load(&plan.has_own_steps) || atomic_load(&plan.keeps_slices));
}

/* A slice that another thread than its own ends is no step to the plugin. */
static bool thread_has_slices(void)
{
    return capture.minded && counts_slices();
}

/* Its cycle is written by the time that the library's exit handlers are done. */
static void end_last_slice(void)
{
    if (thread_has_slices()) end_recording();
}

/* ---- the thread that minds the times ---- */

/* Does what is due and returns when something will be. */
static int64_t mind(int64_t now)
{
    if (capture.phase == BEFORE && now >= capture.start_at) begin_recording(now);
    if (capture.phase == BEFORE) return capture.start_at;
    if (capture.phase == RECORDING && now >= capture.stop_at) end_recording();
    if (capture.phase != RECORDING) return NEVER;
    if (atomic_exchange(&plan.lost_own_steps, false)) begin_slices(now);
    if (!counts_slices()) capture.slice_at = NEVER;
    if (now >= capture.slice_at) end_slice(now);
    return capture.slice_at < capture.stop_at ? capture.slice_at : capture.stop_at;
}

/* main() has left by pthread_exit(), and no thread of the program is there that may still call HIP:
 * the kernel counts the first thread, this one, and two links that each directory has. Later the
 * library's threads look. */
static bool is_alone(void)
{
    struct stat tasks;
    char text[256] = "";
    if (capture.phase != BEFORE || stat("/proc/self/task", &tasks) != 0 || tasks.st_nlink != 4)
        return false;
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    bool known = fd >= 0 && read(fd, text, sizeof text - 1) > 0;
    if (fd >= 0) close(fd);
    const char *after_name = known ? strrchr(text, ')') : NULL;
    return after_name && strncmp(after_name, ") Z", 3) == 0;
}

/* Whether somebody woke it before. */
static bool sleep_until(int64_t ns)
{
    int64_t look_at = now_ns() + NS_PER_S / 4;
    if (capture.phase == BEFORE && ns > look_at) ns = look_at;
    struct timespec t = to_timespec(ns);
    if (ns == NEVER) return sem_wait(&capture.wake) == 0;
    return sem_clockwait(&capture.wake, CLOCK_MONOTONIC, &t) == 0;
}

/* Without the lock: a step that finds it held is passed over. When the next reading is due. */
static int64_t look_at_gpus(bool recording, int64_t due)
{
    int64_t now = now_ns();
    if (!plan.telemetry_ns || !recording) return NEVER;
    if (now < due && due != NEVER) return due;
    hb_gpu_telemetry();
    return now + plan.telemetry_ns;
}

/* Only where something is due: a step that finds the lock held is passed over. */
static void mind_now(int64_t *next, bool *recording)
{
    pthread_mutex_lock(&capture.lock);
    *next = capture.prof ? mind(now_ns()) : NEVER;
    *recording = capture.prof && capture.phase == RECORDING;
    pthread_mutex_unlock(&capture.lock);
}

static void *mind_all(void *unused)
{
    int64_t next = capture.due, reading = plan.telemetry_ns ? now_ns() : NEVER;
    bool recording = capture.phase == RECORDING;
    /* As the library's threads are called: it does not keep a program that has no other. */
    pthread_setname_np(pthread_self(), "hipboard/times");
    while (atomic_load(&capture.asked) == NONE) {
        bool woken = sleep_until(next < reading ? next : reading);
        if (is_alone()) {
            capture.minded = false; /* exit() waits for no thread of ours */
            exit(0);
        }
        if (woken || now_ns() >= next) mind_now(&next, &recording);
        reading = look_at_gpus(recording, reading);
    }
    pthread_mutex_lock(&capture.lock);
    if (atomic_load(&capture.asked) == LEAVE)
        end_last_slice();
    else if (capture.prof)
        finish();
    pthread_mutex_unlock(&capture.lock);
    sem_post(&capture.finished);
    return unused;
}

/* Signals are the program's. */
static void start_thread(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    sem_init(&capture.wake, 0, 0);
    sem_init(&capture.finished, 0, 0);
    atomic_store(&capture.asked, NONE);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    capture.minded = pthread_create(&thread, NULL, mind_all, NULL) == 0;
    if (capture.minded) pthread_detach(thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- the process's life ---- */

static void read_schedule(const char *text)
{
    long long n[5] = {0};
    plan.scheduled =
        text && sscanf(text, "%lld,%lld,%lld,%lld,%lld", &n[0], &n[1], &n[2], &n[3], &n[4]) == 5;
    plan.schedule = hb_schedule_make(.wait = n[0], .warmup = n[1], .active = n[2], .repeat = n[3],
                                     .skip_first = n[4]);
}

static void read_ring(const char *text)
{
    plan.ring_ns = plan.ring_steps = plan.ring_bytes = 0;
    if (!text ||
        sscanf(text, "%lld,%lld,%lld", &plan.ring_ns, &plan.ring_steps, &plan.ring_bytes) != 3)
        plan.ring_ns = plan.ring_steps = plan.ring_bytes = 0;
}

static void read_plan(void)
{
    int64_t slice_ns = number(CAPTURE_SLICE);
    read_schedule(secure_getenv(CAPTURE_SCHEDULE));
    plan.delay_ns = number(CAPTURE_DELAY);
    plan.duration_ns = number(CAPTURE_DURATION);
    int64_t steps = number(CAPTURE_STEPS);
    plan.find_steps = steps > 0 && !slice_ns;
    plan.step_loop = steps > 1 ? (unsigned)steps - 1 : 0;
    plan.slice_ns = slice_ns          ? slice_ns
                    : plan.scheduled  ? NS_PER_S
                    : plan.find_steps ? 0
                                      : HB_TIME_SLICES_AUTO;
    plan.on_demand = number(CAPTURE_ON_DEMAND) != 0;
    plan.telemetry_ns = number(CAPTURE_TELEMETRY);
    read_ring(secure_getenv(CAPTURE_RING));
    if (can_be_triggered()) plan.scheduled = false;
    plan.base = 1;
    atomic_store(&plan.has_own_steps, false);
    atomic_store(&plan.has_ranges, false);
    plan.counts_own_steps = plan.begins_own_step = false;
    (void)note_action(&plan, HB_ACTION_NONE);
}

/* TensorBoard mixes what several event files of a directory say, so one process of a run writes
 * one; of a job's ranks the profiler knows which. */
static bool keeps_event_file(void)
{
    hb_launch_info launch = HB_LAUNCH_INFO_INIT;
    bool is_rank = hb_launch_info_get(&launch) == HB_OK && launch.world_size > 1;
    return is_rank ? launch.first_process : number(CAPTURE_MAIN) == getpid();
}

/* `operators` as in hb_profiler_options. */
static hb_profiler *make_profiler(const char *dir, const char *operators)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    unsigned flags = (unsigned)number(CAPTURE_FLAGS) | HB_SKIP_EMPTY;
    if (!keeps_event_file()) flags |= HB_NO_EVENT_FILE;
    o.activities = (unsigned)number(CAPTURE_ACTIVITIES);
    o.profile_memory = true;
    o.record_shapes = true;
    o.with_stack = number(CAPTURE_STACK) != 0;
    o.with_flops = true;
    o.with_modules = true;
    o.operators = operators;
    o.yields = true;
    o.kernel_sampling = (uint64_t)number(CAPTURE_SAMPLING);
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, NULL, flags);
    o.on_demand = plan.on_demand;
    o.ring_ns = plan.ring_ns;
    o.ring_steps = plan.ring_steps;
    o.ring_bytes = (uint64_t)plan.ring_bytes;
    if (can_be_triggered()) {
        o.trigger_signal = (int)number(CAPTURE_SIGNAL);
        o.trigger_slow_step = (unsigned)number(CAPTURE_SLOW_STEP);
        o.trigger_hip_errors = number(CAPTURE_HIP_ERRORS) != 0;
        o.trigger_metric = secure_getenv(CAPTURE_METRIC);
    }
    o.max_cycles = number(CAPTURE_MAX_CYCLES);
    o.stop_hands_over = plan.scheduled; /* the last slice is ended while exit() waits for that */
    if (plan.scheduled)
        o.schedule = hb_schedule_from_function(action_of, &plan);
    else
        o.time_slice_ns = plan.slice_ns;
    o.find_steps = plan.find_steps;
    o.step_loop = plan.step_loop;
    o.sample_hz = (unsigned)number(CAPTURE_SAMPLE_HZ);
    o.on_operator_step = counts_steps() ? begin_told_step : NULL;
    return hb_profiler_create(&o);
}

/* Which frames are modules' is told to who writes the trace. */
static void set_modules(void)
{
    const char *json = secure_getenv(CAPTURE_MODULES);
    if (json && *json)
        (void)hb_profiler_preset_metadata_json(capture.prof, "hipboard_module_frames", json);
}

/* Without a profiler the program runs all the same. A forked child leaves its parent's alone. */
void capture_start(void)
{
    const char *dir = secure_getenv(CAPTURE_DIR);
    pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
    if (!dir || !*dir) return;
    capture.lock = unlocked;
    holds_lock = false;
    capture.pid = getpid();
    capture.minded = false; /* the thread is the parent's */
    tell_of_another_root(dir);
    read_plan();
    const char *operators = secure_getenv(CAPTURE_OPERATORS);
    capture.prof = make_profiler(dir, operators);
    if (!capture.prof && operators) { /* rather without them than not at all */
        fprintf(stderr, "hipboard: library calls are not recorded as operators: %s\n",
                hb_last_error());
        capture.prof = make_profiler(dir, NULL);
    }
    if (!capture.prof) {
        complain();
        return;
    }
    set_modules();
    plan.names_own_steps = hb_tables_name_steps();
    capture.phase = BEFORE;
    capture.start_at = now_ns() + plan.delay_ns;
    /* Not by the thread, which would hold the lock when the program begins a step, or ends. */
    capture.due = mind(now_ns());
    start_thread();
}

/* False when the thread was asked before, or does not come to it. */
static bool ask(enum request request, bool waits)
{
    int none = NONE;
    struct timespec until = to_timespec(now_ns() + PATIENCE_S * NS_PER_S);
    if (!atomic_compare_exchange_strong(&capture.asked, &none, request)) return false;
    sem_post(&capture.wake);
    while (waits && sem_clockwait(&capture.finished, CLOCK_MONOTONIC, &until) != 0)
        if (errno != EINTR) return false;
    return waits;
}

/* Of a shell's helpers nobody expects steps. */
static void tell_of_no_steps(void)
{
    if (!plan.scheduled || !plan.names_own_steps || atomic_load(&plan.has_own_steps)) return;
    if (number(CAPTURE_MAIN) == getpid())
        fprintf(stderr, "hipboard: no function that a table calls a step (kind=step) was called: "
                        "--schedule had nothing to count\n");
}

/* The thread may be looking at its times: nothing is left out for that. */
static bool take_lock_to_finish(void)
{
    struct timespec until = to_timespec(now_ns() + LOCK_PATIENCE_S * NS_PER_S);
    return capture.pid == getpid() && !holds_lock &&
           pthread_mutex_clocklock(&capture.lock, CLOCK_MONOTONIC, &until) == 0;
}

/* All else is done by the library's own exit handlers, which come next, and which know how long to
 * wait: for as long as something is being done. */
void capture_finish(void)
{
    bool own = take_lock_to_finish();
    bool recording = own && capture.phase == RECORDING;
    if (recording) tell_of_mpi();
    if (recording) tell_of_no_steps();
    /* A run shorter than the time between two readings has one, and any the energy of its end. */
    if (recording && plan.telemetry_ns) hb_gpu_telemetry();
    if (own) pthread_mutex_unlock(&capture.lock);
    if (capture.pid == getpid() && capture.minded) (void)ask(LEAVE, thread_has_slices());
}

/* For libhipboard-mpi, which knows of ends that run no exit handlers. */
__attribute__((visibility("default"))) void hb_capture_finish(void);
void hb_capture_finish(void)
{
    (void)capture_finish_from_outside();
}

/* For libhipboard-mpi: MPI_Pcontrol(). What other levels mean is for other tools. */
__attribute__((visibility("default"))) void hb_capture_control(int level);
void hb_capture_control(int level)
{
    if (capture.pid != getpid() || level < 0 || level > 2) return;
    pthread_mutex_lock(&capture.lock);
    holds_lock = true;
    if (capture.prof && capture.phase == RECORDING && level != 1) pause_recording();
    if (capture.prof && capture.phase == PAUSED && level != 0) go_on();
    holds_lock = false;
    pthread_mutex_unlock(&capture.lock);
    if (capture.minded) sem_post(&capture.wake);
}

bool capture_finish_from_outside(void)
{
    return capture.pid == getpid() && capture.minded && capture.prof && ask(FINISH, true);
}
