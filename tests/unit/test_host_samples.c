/* SPDX-License-Identifier: MIT
 *
 * Samples of call stacks, with a kernel of the test's own: what is asked of it, what its rings may
 * hold, and what of that stands in the trace.
 */
#include "sampling/host_samples.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <hipboard/hipboard.h>

#include "base/thread_start.h"
#include "record/clock.h"
#include "test_dir.h"
#include "written_trace.h"

enum { CPUS = 4, ABSENT = 1, HZ = 100, PAGES = 128 };
#define MS INT64_C(1000000)

/* ---- the kernel ---- */

static struct {
    int refuse[CPUS]; /* an error number */
    int fds[CPUS];
    bool on[CPUS];
    char *rings[CPUS];
    struct perf_event_attr asked;
    uint64_t begin; /* where rings stand when they are opened */
} kernel;

static size_t page_bytes(void)
{
    return (size_t)getpagesize();
}

static struct perf_event_mmap_page *page_of(int cpu)
{
    return (struct perf_event_mmap_page *)(void *)kernel.rings[cpu];
}

static int open_ring(const struct perf_event_attr *asked, long pid, int cpu, long group)
{
    assert_true(pid == 0 && cpu >= 0 && cpu < CPUS && group == -1);
    kernel.asked = *asked;
    if (kernel.refuse[cpu]) {
        errno = kernel.refuse[cpu];
        return -1;
    }
    size_t bytes = page_bytes() * (1 + PAGES);
    int fd = (int)syscall(SYS_memfd_create, "ring", 0);
    assert_true(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
    kernel.rings[cpu] = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(kernel.rings[cpu] != MAP_FAILED);
    page_of(cpu)->data_head = page_of(cpu)->data_tail = kernel.begin;
    return kernel.fds[cpu] = fd;
}

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
/* Also of a helper that becomes another program by it (helper_process.c). */
__attribute__((no_sanitize("address"))) long __wrap_syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_perf_event_open)
        return open_ring((const void *)a[0], (int)a[1], (int)a[2], (int)a[3]);
    return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int __real_ioctl(int fd, unsigned long request, void *arg);
int __wrap_ioctl(int fd, unsigned long request, void *arg);
int __wrap_ioctl(int fd, unsigned long request, void *arg)
{
    for (int cpu = 0; cpu < CPUS; cpu++)
        if (kernel.rings[cpu] && fd == kernel.fds[cpu]) {
            kernel.on[cpu] = request == PERF_EVENT_IOC_ENABLE;
            return 0;
        }
    return __real_ioctl(fd, request, arg);
}

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
    return name == _SC_NPROCESSORS_CONF ? CPUS : __real_sysconf(name);
}

static void put(int cpu, const void *from, size_t bytes)
{
    struct perf_event_mmap_page *page = page_of(cpu);
    uint64_t size = page_bytes() * PAGES, head = page->data_head;
    for (size_t i = 0; i < bytes; i++)
        kernel.rings[cpu][page_bytes() + (head + i) % size] = ((const char *)from)[i];
    __atomic_store_n(&page->data_head, head + bytes, __ATOMIC_RELEASE);
}

typedef struct made {
    struct perf_event_header head;
    uint64_t ip;
    uint32_t pid, tid;
    uint64_t time, count, ips[160];
} made;

/* ---- the program ---- */

static void *at_frame; /* so that the functions differ */

#define FUNCTION(name)                                   \
    static __attribute__((noinline)) void name(void)     \
    {                                                    \
        at_frame = __builtin_frame_address(0);           \
        __asm__ volatile("" ::"r"(#name[0]) : "memory"); \
    }
FUNCTION(walk)
FUNCTION(outer)
FUNCTION(inner)
FUNCTION(xlate)

static const struct {
    char letter;
    void (*function)(void);
} functions[] = {{'w', walk}, {'o', outer}, {'i', inner}, {'x', xlate}};

/* A return address in the function; of the innermost frame the instruction itself. */
static uint64_t address(char letter, bool innermost)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(functions); i++)
        if (functions[i].letter == letter)
            return (uint64_t)(uintptr_t)functions[i].function + (innermost ? 0 : 1);
    return PERF_CONTEXT_USER;
}

static int64_t began; /* CLOCK_BOOTTIME, within the session */

static uint32_t own_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

/* "oiw": the outermost first; '-' a mark of the kernel's. */
static made sample_of(uint32_t tid, int64_t ms, const char *stack)
{
    size_t n = strlen(stack);
    made m = {.head.type = PERF_RECORD_SAMPLE,
              .pid = (uint32_t)getpid(),
              .tid = tid,
              .time = (uint64_t)(began + ms * MS),
              .count = n};
    m.head.size = (uint16_t)(offsetof(made, ips) + n * sizeof *m.ips);
    bool innermost = true;
    for (size_t i = 0; i < n; i++) {
        m.ips[i] = address(stack[n - 1 - i], innermost);
        innermost = innermost && stack[n - 1 - i] == '-';
    }
    return m;
}

static void sample(int cpu, uint32_t tid, int64_t ms, const char *stack)
{
    made m = sample_of(tid, ms, stack);
    put(cpu, &m, m.head.size);
}

/* ---- a session ---- */

static hb_profiler *prof;
static cJSON *trace;

static void begin_session(void)
{
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    began = hb_clock_ns(CLOCK_BOOTTIME);
}

static void end_session(void)
{
    char path[300];
    poll(NULL, 0, 20); /* at least: samples lie on a line through the session's ends */
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    snprintf(path, sizeof path, "%s/t.json", dir);
    assert_int_equal(hb_export_chrome_trace(prof, path, 0), HB_OK);
    cJSON_Delete(trace);
    trace = load_trace(path);
    remove(path);
}

static double told(const char *key)
{
    const cJSON *all = cJSON_GetObjectItem(trace, HB_METADATA_SAMPLES);
    return cJSON_GetNumberValue(cJSON_GetObjectItem(all, key));
}

static int begin_test(void **state)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    memset(kernel.rings, 0, sizeof kernel.rings);
    memset(kernel.on, 0, sizeof kernel.on);
    o.sample_hz = HZ;
    o.spool_dir = "";
    return make_dir(state) || !(prof = hb_profiler_create(&o));
}

static int begin_sampling(void **state)
{
    memset(kernel.refuse, 0, sizeof kernel.refuse);
    kernel.refuse[ABSENT] = ENODEV;
    kernel.begin = 0;
    return begin_test(state);
}

static int begin_at_the_rings_end(void **state)
{
    kernel.begin = page_bytes() * PAGES - 40;
    memset(kernel.refuse, 0, sizeof kernel.refuse);
    kernel.refuse[ABSENT] = ENODEV;
    return begin_test(state);
}

/* How many mappings of rings there are beside the test's own. */
static int mapped_rings(void)
{
    char line[400];
    int n = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        n += strstr(line, "/memfd:ring") != NULL;
    fclose(maps);
    for (int cpu = 0; cpu < CPUS; cpu++)
        n -= kernel.rings[cpu] != NULL;
    return n;
}

static int end_test(void **state)
{
    hb_profiler_destroy(prof);
    hb_samples_after_fork(); /* as if nothing had been opened */
    assert_int_equal(mapped_rings(), 0);
    for (int cpu = 0; cpu < CPUS; cpu++)
        if (kernel.rings[cpu]) munmap(kernel.rings[cpu], page_bytes() * (1 + PAGES));
    cJSON_Delete(trace);
    trace = NULL;
    return remove_dir(state);
}

/* "w 0-10, o 5-10": of that thread, in the order of the file; milliseconds since the first sample
 * that the test has taken. */
static void check_slices(uint32_t tid, const char *expected)
{
    char text[4096] = "";
    size_t n = 0;
    double first = -1, row = -1;
    char name[64];
    const cJSON *e;
    snprintf(name, sizeof name, "(samples of thread %u)", tid);
    cJSON_ArrayForEach(e, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        if (strcmp(text_of(e, "name"), "thread_name") == 0 &&
            strstr(text_of(cJSON_GetObjectItem(e, "args"), "name"), name))
            row = cJSON_GetNumberValue(cJSON_GetObjectItem(e, "tid"));
        if (strcmp(text_of(e, "cat"), "cpu_sample") == 0) {
            double ts = cJSON_GetNumberValue(cJSON_GetObjectItem(e, "ts"));
            first = first < 0 || ts < first ? ts : first;
        }
    }
    cJSON_ArrayForEach(e, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        if (strcmp(text_of(e, "cat"), "cpu_sample") ||
            cJSON_GetNumberValue(cJSON_GetObjectItem(e, "tid")) != row)
            continue;
        double ts = cJSON_GetNumberValue(cJSON_GetObjectItem(e, "ts"));
        double us = cJSON_GetNumberValue(cJSON_GetObjectItem(e, "dur"));
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%c %.0f-%.0f", n ? ", " : "",
                              text_of(e, "name")[0], (ts - first) / 1000, (ts - first + us) / 1000);
    }
    assert_string_equal(text, expected);
}

static void check_numbers(double taken, double lost)
{
    assert_true(told("hz") == HZ && told("taken") == taken && told("lost") == lost);
}

/* ---- what is asked ---- */

static void the_programs_own_code_is_asked_for_at_its_rate(void **state)
{
    const struct perf_event_attr *a = &kernel.asked;
    (void)state;
    assert_true(a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_CPU_CLOCK);
    assert_true(a->sample_freq == HZ && a->freq && a->disabled);
    assert_true(a->inherit && a->inherit_thread); /* threads, and no child processes */
    assert_true(a->exclude_kernel && a->exclude_hv && a->exclude_callchain_kernel);
    assert_true(a->use_clockid && a->clockid == CLOCK_BOOTTIME);
    assert_int_equal(a->sample_type,
                     PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN);
    for (int cpu = 0; cpu < CPUS; cpu++)
        assert_true((kernel.rings[cpu] != NULL) == (cpu != ABSENT) && !kernel.on[cpu]);
    begin_session();
    for (int cpu = 0; cpu < CPUS; cpu++)
        assert_true(kernel.on[cpu] == (cpu != ABSENT));
    end_session();
    for (int cpu = 0; cpu < CPUS; cpu++)
        assert_false(kernel.on[cpu]);
    check_numbers(0, 0);
}

/* ---- what is made of it ---- */

/* Of several processors, in no order. A thread that was not seen for more than 2.5 times as long as
 * is usual did not run. */
static void stacks_are_slices_of_their_thread(void **state)
{
    uint32_t a = own_tid(), b = a + 1;
    (void)state;
    begin_session();
    sample(2, a, 20, "wox");
    sample(0, a, 0, "woi");
    sample(0, a, 10, "woi");
    sample(3, b, 5, "x");
    sample(2, a, 44, "wx");
    sample(0, a, 71, "wo");
    sample(3, b, 10, "xo");
    end_session();
    check_slices(a, "w 0-54, o 0-44, i 0-20, x 20-44, x 44-54, w 71-81, o 71-81");
    check_slices(b, "x 5-20, o 10-20");
    check_numbers(7, 0);
}

/* From one end of a ring to its other, whatever is cut there. */
static void records_go_on_at_the_rings_beginning(void **state)
{
    uint32_t a = own_tid();
    const cJSON *e;
    int frames = 0;
    (void)state;
    begin_session();
    for (int64_t i = 0; i < 1500; i++) {
        for (int cpu = 0; cpu < CPUS; cpu++)
            if (cpu != ABSENT) sample(cpu, a + (uint32_t)cpu, 10 * i, "wowowowowowowowowowowowowo");
        if (i % 500 == 499) hb_samples_drain();
    }
    end_session();
    check_numbers(3 * 1500, 0);
    cJSON_ArrayForEach(e, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        if (strcmp(text_of(e, "cat"), "cpu_sample")) continue;
        frames++;
        assert_true(fabs(cJSON_GetNumberValue(cJSON_GetObjectItem(e, "dur")) - 15e6) < 15e4);
    }
    assert_int_equal(frames, 3 * 26);
}

/* What was taken before a session is none of its, what was taken in one is in no other. */
static void each_session_has_its_own(void **state)
{
    uint32_t a = own_tid();
    (void)state;
    began = hb_clock_ns(CLOCK_BOOTTIME);
    sample(0, a, 0, "i");
    hb_samples_drain();
    begin_session();
    sample(0, a, 0, "w");
    hb_samples_drain();
    sample(0, a, 10, "wo");
    end_session();
    check_numbers(2, 0);
    check_slices(a, "w 0-20, o 10-20");
    sample(0, a, 20, "i");
    begin_session();
    sample(2, a, 0, "x");
    end_session();
    check_numbers(1, 0);
    check_slices(a, "x 0-10");
}

/* Marks say whose frames follow. Without any frame there is the place itself. */
static void marks_are_no_frames(void **state)
{
    uint32_t a = own_tid();
    (void)state;
    begin_session();
    sample(0, a, 0, "wo-");
    sample(0, a, 10, "w-x");
    made m = sample_of(a, 20, "--");
    m.ip = address('i', true);
    put(0, &m, m.head.size);
    end_session();
    check_slices(a, "w 0-20, o 0-10, x 10-20, i 20-30");
}

static void the_deepest_stacks_are_cut(void **state)
{
    uint32_t a = own_tid();
    char stack[141];
    const cJSON *e;
    int frames = 0;
    (void)state;
    memset(stack, 'w', 140);
    stack[140] = 0;
    begin_session();
    sample(0, a, 0, stack);
    sample(0, a, 10, "o");
    end_session();
    cJSON_ArrayForEach(e, cJSON_GetObjectItem(trace, "traceEvents")) frames +=
        strcmp(text_of(e, "cat"), "cpu_sample") == 0;
    assert_int_equal(frames, 127 + 1);
    check_numbers(2, 0);
}

static void what_the_kernel_lost_is_told(void **state)
{
    uint32_t a = own_tid();
    struct {
        struct perf_event_header head;
        uint64_t id, lost;
    } lost = {{PERF_RECORD_LOST, 0, sizeof lost}, 7, 3}, other = lost;
    (void)state;
    other.head.type = PERF_RECORD_THROTTLE;
    begin_session();
    put(0, &lost, sizeof lost);
    sample(0, a, 0, "w");
    put(0, &other, sizeof other);
    sample(0, a, 10, "w");
    lost.lost = INT64_C(1) << 33;
    put(2, &lost, sizeof lost);
    end_session();
    check_numbers(2, 3 + 8589934592.0);
    check_slices(a, "w 0-20");
    begin_session();
    end_session();
    check_numbers(0, 0);
}

/* A ring that makes no sense is left where it stops to, for good. */
static void a_record_without_length_ends_a_ring(void **state)
{
    uint32_t a = own_tid();
    struct perf_event_header none = {PERF_RECORD_SAMPLE, 0, sizeof none - 1};
    (void)state;
    begin_session();
    sample(0, a, 0, "w");
    put(0, &none, sizeof none);
    sample(0, a, 10, "wx");
    sample(2, a, 10, "wo");
    hb_samples_drain();
    sample(0, a, 20, "w");
    end_session();
    check_slices(a, "w 0-30, o 10-20");
    check_numbers(3, 0);
}

/* ---- whose they are ---- */

static sem_t ready, leave;

static void *library_thread(void *tid)
{
    pthread_setname_np(pthread_self(), HB_THREAD_PREFIX "x");
    *(uint32_t *)tid = own_tid();
    sem_post(&ready);
    while (sem_wait(&leave))
        continue;
    return NULL;
}

/* Threads of the library's own and other processes' are left out, whatever number was seen
 * between. */
static void only_the_programs_threads_are_sampled(void **state)
{
    pthread_t thread;
    uint32_t own, a = own_tid();
    (void)state;
    assert_true(sem_init(&ready, 0, 0) == 0 && sem_init(&leave, 0, 0) == 0);
    assert_int_equal(pthread_create(&thread, NULL, library_thread, &own), 0);
    while (sem_wait(&ready))
        continue;
    begin_session();
    for (int i = 0; i < 2; i++) {
        sample(0, a, 10 * i, "w");
        sample(0, own, 10 * i, "o");
        sample(0, own + 4096, 10 * i, "x"); /* kept in the same place */
        sample(0, own, 10 * i, "o");
    }
    made m = sample_of(a, 20, "i");
    m.pid++;
    put(0, &m, m.head.size);
    end_session();
    check_slices(a, "w 0-20");
    check_slices(own + 4096, "x 0-20");
    check_slices(own, "");
    check_numbers(4, 0);
    sem_post(&leave);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* ---- where it is not to be had ---- */

static int refuse_all(void **state, int error)
{
    kernel.begin = 0;
    for (int cpu = 0; cpu < CPUS; cpu++)
        kernel.refuse[cpu] = cpu < 2 ? 0 : error;
    return begin_test(state);
}

static int refuse_access(void **state)
{
    return refuse_all(state, EACCES);
}

static int refuse_permission(void **state)
{
    return refuse_all(state, EPERM);
}

static int refuse_memory(void **state)
{
    return refuse_all(state, EMFILE);
}

static int have_no_processor(void **state)
{
    kernel.begin = 0;
    for (int cpu = 0; cpu < CPUS; cpu++)
        kernel.refuse[cpu] = ENODEV;
    return begin_test(state);
}

static void check_refused(const char *why)
{
    for (int session = 0; session < 2; session++) {
        begin_session();
        end_session();
        const cJSON *all = cJSON_GetObjectItem(trace, HB_METADATA_SAMPLES);
        assert_true(told("hz") == HZ && !cJSON_GetObjectItem(all, "taken"));
        assert_non_null(strstr(text_of(all, "refused"), why));
    }
    for (int cpu = 0; cpu < CPUS; cpu++) /* nothing is left open */
        assert_false(kernel.rings[cpu] && fcntl(kernel.fds[cpu], F_GETFD) >= 0);
    assert_int_equal(mapped_rings(), 0);
}

static void a_kernel_that_forbids_it_is_named(void **state)
{
    (void)state;
    check_refused("the kernel does not let this process (perf_event_open; perf_event_paranoid is ");
}

static void other_errors_are_named(void **state)
{
    (void)state;
    check_refused("perf_event_open: Too many open files");
}

static void no_processor_is_said(void **state)
{
    (void)state;
    check_refused("perf_event_open: No such device");
}

#define TEST(name, begin) cmocka_unit_test_setup_teardown(name, begin, end_test)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_programs_own_code_is_asked_for_at_its_rate, begin_sampling),
        TEST(stacks_are_slices_of_their_thread, begin_sampling),
        TEST(stacks_are_slices_of_their_thread, begin_at_the_rings_end),
        TEST(records_go_on_at_the_rings_beginning, begin_sampling),
        TEST(each_session_has_its_own, begin_sampling),
        TEST(marks_are_no_frames, begin_sampling),
        TEST(the_deepest_stacks_are_cut, begin_sampling),
        TEST(what_the_kernel_lost_is_told, begin_at_the_rings_end),
        TEST(a_record_without_length_ends_a_ring, begin_sampling),
        TEST(only_the_programs_threads_are_sampled, begin_sampling),
        TEST(a_kernel_that_forbids_it_is_named, refuse_access),
        TEST(a_kernel_that_forbids_it_is_named, refuse_permission),
        TEST(other_errors_are_named, refuse_memory),
        TEST(no_processor_is_said, have_no_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
