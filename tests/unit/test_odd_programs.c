/* SPDX-License-Identifier: MIT
 *
 * Programs that are not as most are: real-time threads, clocks that stand still or
 * show times before 1970, small stacks for signals, allocators that report what they do.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "program.h"

enum { NOT_HERE = 77 };

static hb_profiler *into_dir(int active, bool with_stack)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.active = active);
    o.activities = HB_ACTIVITY_CPU;
    o.profile_memory = true;
    o.with_stack = with_stack;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = hb_profiler_create(&o);
    CHECK(prof && hb_profiler_start(prof) == HB_OK);
    return prof;
}

static void end(hb_profiler *prof)
{
    CHECK(hb_profiler_stop(prof) == HB_OK);
    hb_profiler_destroy(prof);
}

static void record_a_little(void)
{
    HB_OP("aten::mm", .sequence_number = 1) {
    }
    hb_scalar("value", 1);
    hb_memory_alloc(HB_DEVICE_CPU, 0, dir, 64);
    hb_memory_free(HB_DEVICE_CPU, 0, dir, 64);
}

static int count_traces(void)
{
    int n = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.' && strstr(e->d_name, ".pt.trace.json") != NULL;
    if (d) closedir(d);
    return n;
}

/* Which take time and stack of their own. */
static void skip_under_checks(void)
{
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip();
#endif
}

static void runs(int status)
{
    if (status == NOT_HERE) skip();
    assert_int_equal(status, 0);
}

/* ---- a real-time thread ---- */

static atomic_bool over;

static void *record_until_over(void *arg)
{
    while (!atomic_load(&over))
        record_a_little();
    return arg;
}

static void stay_on_one_processor(void)
{
    cpu_set_t allowed, one;
    CHECK(sched_getaffinity(0, sizeof allowed, &allowed) == 0);
    int cpu = 0;
    while (!CPU_ISSET(cpu, &allowed))
        cpu++;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
}

static double own_seconds(void)
{
    struct rusage used;
    CHECK(getrusage(RUSAGE_THREAD, &used) == 0);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

static atomic_long yields;
static pid_t real_time;

/* In place of the C library's, also for hipboard. */
int sched_yield(void)
{
    if (gettid() == real_time) atomic_fetch_add(&yields, 1);
    return (int)syscall(SYS_sched_yield);
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void lost_nothing_for_want_of_room(hb_profiler *prof)
{
    hb_lost lost = {.struct_size = sizeof lost};
    CHECK(hb_profiler_lost(prof, &lost) == HB_OK && lost.buffer_full == 0);
}

/* While it does not sleep, no other thread runs on its processor. */
static int step_as_a_real_time_thread(void)
{
    enum { STEPS = 100 };
    struct sched_param priority = {.sched_priority = 10}, none = {0};
    double sum_ms = 0, worst_ms = 0;
    pthread_t other;
    stay_on_one_processor();
    hb_profiler *prof = into_dir(1, false);
    CHECK(pthread_create(&other, NULL, record_until_over, NULL) == 0);
    if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) != 0) return NOT_HERE;
    real_time = gettid();
    for (int i = 0; i < STEPS; i++) {
        struct timespec moment = {0, 1000000};
        nanosleep(&moment, NULL); /* the other one is stopped anywhere */
        double since_ms = now_ms();
        CHECK(hb_profiler_step(prof) == HB_OK);
        double took_ms = now_ms() - since_ms;
        sum_ms += took_ms;
        if (took_ms > worst_ms) worst_ms = took_ms;
        lost_nothing_for_want_of_room(prof);
    }
    double seconds = own_seconds();
    real_time = 0;
    fprintf(stderr, "steps of a real-time thread: %.3f ms on average, %.3f ms at worst\n",
            sum_ms / STEPS, worst_ms);
    CHECK(atomic_load(&yields) == 0);
    CHECK(pthread_setschedparam(pthread_self(), SCHED_OTHER, &none) == 0);
    atomic_store(&over, true);
    pthread_join(other, NULL);
    end(prof);
    CHECK(seconds < STEPS * 0.05); /* of its processor; one that spins takes 0.36 a step */
    return 0;
}

static void a_real_time_thread_does_not_spin(void **state)
{
    (void)state;
    skip_under_checks();
    runs(run_program(step_as_a_real_time_thread));
}

/* ---- odd clocks ---- */

static atomic_bool stands_still;
static int64_t shown_s;

/* In place of the C library's, also for hipboard. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (!atomic_load(&stands_still)) return (int)syscall(SYS_clock_gettime, clock, t);
    *t = (struct timespec){shown_s, 0};
    return 0;
}

static int record_without_time(int64_t at_s)
{
    enum { CYCLES = 5 };
    shown_s = at_s;
    atomic_store(&stands_still, true);
    hb_profiler *prof = into_dir(1, false);
    for (int i = 0; i < CYCLES; i++) {
        record_a_little();
        CHECK(hb_profiler_step(prof) == HB_OK);
    }
    end(prof);
    CHECK(count_traces() == CYCLES + 1);
    return 0;
}

static int record_at_one_moment(void)
{
    return record_without_time(1700000000);
}

static int record_before_1970(void)
{
    return record_without_time(-86400);
}

static void clocks_that_stand_still_or_are_negative_lose_no_cycle(void **state)
{
    (void)state;
    runs(run_program(record_at_one_moment));
}

static void a_negative_clock_loses_no_cycle_either(void **state)
{
    (void)state;
    runs(run_program(record_before_1970));
}

/* ---- small stacks ---- */

static void record_in_handler(int signal)
{
    (void)signal;
    record_a_little();
}

static int record_on_a_small_stack(void)
{
    enum { CLASSIC = 8192 };
    struct sigaction action = {.sa_handler = record_in_handler, .sa_flags = SA_ONSTACK};
    char *p =
        mmap(NULL, (size_t)2 * CLASSIC, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(p != MAP_FAILED && mprotect(p, CLASSIC, PROT_NONE) == 0);
    stack_t stack = {.ss_sp = p + CLASSIC, .ss_size = CLASSIC};
    if (sigaltstack(&stack, NULL) != 0) return NOT_HERE; /* a processor with large registers */
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    hb_profiler *prof = into_dir(1, true);
    for (int i = 0; i < 100; i++)
        raise(SIGUSR1);
    record_a_little(); /* with its stack */
    hb_lost lost = {.struct_size = sizeof lost};
    CHECK(hb_profiler_stop(prof) == HB_OK && hb_profiler_lost(prof, &lost) == HB_OK);
    CHECK(lost.too_big == 100);
    hb_profiler_destroy(prof);
    stack = (stack_t){.ss_flags = SS_DISABLE};
    CHECK(sigaltstack(&stack, NULL) == 0);
    return 0;
}

static void a_handler_on_the_classic_alternate_stack_records(void **state)
{
    (void)state;
    skip_under_checks();
#ifndef __OPTIMIZE__ /* frames are larger than anybody's who uses the library */
    skip();
#endif
    runs(run_program(record_on_a_small_stack));
    assert_int_equal(count_traces(), 1);
}

/* ---- locked memory ---- */

/* What is resident, and what of it is locked. Not VmLck: the C library sets addresses aside for
 * malloc() in each thread, which count there and take no memory. */
typedef struct memory_kb {
    long resident, locked;
} memory_kb;

static memory_kb own_memory(void)
{
    char line[600];
    long kb;
    memory_kb own = {0, 0};
    FILE *f = fopen("/proc/self/smaps", "r");
    CHECK(f);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "Rss: %ld", &kb) == 1) own.resident += kb;
        if (sscanf(line, "Locked: %ld", &kb) == 1) own.locked += kb;
    }
    fclose(f);
    return own;
}

static int lock_all_memory(void)
{
    if (mlockall(MCL_FUTURE) != 0) return NOT_HERE;
    memory_kb before = own_memory();
    hb_profiler *prof = into_dir(1, true);
    record_a_little();
    CHECK(hb_profiler_step(prof) == HB_OK);
    record_a_little();
    memory_kb then = own_memory();
    end(prof);
    long taken = then.resident - before.resident, locked = then.locked - before.locked;
    fprintf(stderr, "where all memory is locked, %ld MB were taken, %ld MB locked\n", taken >> 10,
            locked >> 10);
    CHECK(taken >= 0 && taken < 64 << 10); /* stacks of 8 MB are among them */
    CHECK(locked > 0 && locked < 64 << 10);
    return 0;
}

static void locked_memory_is_little(void **state)
{
    (void)state;
    skip_under_checks();
    runs(run_program(lock_all_memory));
}

static const program programs[] = {
    PROGRAM(lock_all_memory),    PROGRAM(step_as_a_real_time_thread), PROGRAM(record_at_one_moment),
    PROGRAM(record_before_1970), PROGRAM(record_on_a_small_stack),
};

int main(int argc, char **argv)
{
    int status;
    if (argc > 1 && is_program(argv, programs, sizeof programs / sizeof *programs, &status))
        return status;
    const struct CMUnitTest tests[] = {
        IN_DIR(a_real_time_thread_does_not_spin),
        IN_DIR(locked_memory_is_little),
        IN_DIR(clocks_that_stand_still_or_are_negative_lose_no_cycle),
        IN_DIR(a_negative_clock_loses_no_cycle_either),
        IN_DIR(a_handler_on_the_classic_alternate_stack_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
