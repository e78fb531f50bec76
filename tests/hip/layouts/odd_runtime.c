/* SPDX-License-Identifier: MIT
 *
 * A HIP runtime that hands its tracer structures of any size (API_DATA_SIZE), as a release to come
 * may, and does what no runtime should. It has no device; its kernels are over at once.
 *
 * ODD_RUNTIME: "at_synchronize": reports as real runtimes do, not within the launch; "on_threads":
 * reports on threads of its own, one kernel after the other, and asks there once more before it
 * does, and hipDeviceSynchronize() is for the program alone; "late": reports when the tracer is
 * gone, "twice": everything two times, "other_records": in a layout of
 * its own, "backwards": the second kernel ends before it begins, "lost": the device is lost after
 * the third kernel.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { LAUNCH_FAILURE = 719, NUM_FUNCTIONS = 40, ID_LAUNCH = 21, ID_SYNCHRONIZE = 22 };

typedef struct api_data {
    uint64_t correlation;
    uint32_t phase;
    char args[API_DATA_SIZE - 12];
} api_data;

typedef struct trace_data {
    api_data api;
    uint64_t timestamp, phase_data;
    void (*enter)(uint32_t id, struct trace_data *data);
    void (*exit)(uint32_t id, struct trace_data *data);
} trace_data;

typedef struct activity {
    uint32_t domain, kind, op;
    uint64_t correlation, begin, end;
    int32_t device;
    uint64_t queue;
    const char *kernel;
} activity;

typedef int tracer_function(uint32_t domain, uint32_t op, void *data);

static tracer_function *tracer;
static __thread uint64_t correlation;
static __thread int last_error;

static int odd(const char *how)
{
    const char *wanted = getenv("ODD_RUNTIME");
    return wanted && strcmp(wanted, how) == 0;
}

/* As the C++ of real runtimes has it in each function. */
#define CALL(id, work)                                                   \
    do {                                                                 \
        struct {                                                         \
            volatile char told;                                          \
            trace_data data;                                             \
        } s;                                                             \
        tracer_function *f = __atomic_load_n(&tracer, __ATOMIC_RELAXED); \
        s.told = f && f(3, id, &s.data) == 0;                            \
        if (s.told) correlation = s.data.api.correlation;                \
        if (s.told && s.data.enter) s.data.enter(id, &s.data);           \
        last_error = work;                                               \
        if (s.told) {                                                    \
            if (s.data.exit) s.data.exit(id, &s.data);                   \
            correlation = 0;                                             \
        }                                                                \
        return last_error;                                               \
    } while (0)

static int nothing(void)
{
    return 0;
}

#define SOME(n)              \
    EXPORT int odd##n(void); \
    EXPORT int odd##n(void)  \
    {                        \
        CALL(n, nothing());  \
    }                        \
    _Static_assert(1, "")
SOME(1);
SOME(2);
SOME(3);
SOME(4);
SOME(5);
SOME(6);
SOME(7);
SOME(8);
SOME(9);
SOME(10);
SOME(11);
SOME(12);
SOME(13);
SOME(14);
SOME(15);
SOME(16);
SOME(17);
SOME(18);
SOME(19);
SOME(20);

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void report(const activity *a)
{
    tracer_function *f = tracer;
    uint64_t shifted[sizeof *a / 8 + 2] = {0};
    if (!f) return;
    memcpy(shifted + 1, a, sizeof *a);
    f(2, 0, odd("other_records") ? (void *)shifted : (void *)(uintptr_t)a);
    if (odd("twice")) f(2, 0, (void *)(uintptr_t)a);
}

/* The tracer that there was when the kernel ran. */
static void *report_late(void *arg)
{
    tracer_function *f = tracer;
    while (__atomic_load_n(&tracer, __ATOMIC_ACQUIRE))
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    for (int i = 0; f && i < 3; i++)
        f(2, 0, i == 0 ? arg : i == 1 ? NULL : (void *)1);
    free(arg);
    return NULL;
}

static int num_on_threads, num_reported;

/* As HIP 6. */
static void *report_in_turn(void *arg)
{
    enum { APART_MS = 30 };
    int turn = __atomic_add_fetch(&num_on_threads, 1, __ATOMIC_RELAXED);
    nanosleep(&(struct timespec){.tv_nsec = turn * APART_MS * 1000000L}, NULL);
    if (tracer && tracer(2, 0, NULL) == 0) report(arg);
    __atomic_add_fetch(&num_reported, 1, __ATOMIC_RELEASE);
    free(arg);
    return NULL;
}

static void report_on_a_thread(const activity *a, void *(*how)(void *))
{
    pthread_t thread;
    activity *kept = malloc(sizeof *kept);
    *kept = *a;
    if (pthread_create(&thread, NULL, how, kept) == 0) pthread_detach(thread);
}

/* ---- work ---- */

enum { WAITING = 4096 };
static activity waiting[WAITING];
static int num_waiting, kernels;

static int is_asked_for(void)
{
    if (!tracer || tracer(2, 0, NULL) != 0) return 0;
    tracer(2, 0, (void *)1); /* a record is going to come */
    return 1;
}

static int launch_for_later(void)
{
    if (is_asked_for() && num_waiting < WAITING) waiting[num_waiting++].correlation = correlation;
    return 0;
}

static int launch(void)
{
    activity a = {2, 0x11f0, 0, correlation, now(), now() + 1, 1, 0, "odd_kernel"};
    kernels++;
    if (odd("lost") && kernels > 3) return LAUNCH_FAILURE;
    if (odd("backwards") && kernels == 2) a.end = a.begin - 700;
    if (!is_asked_for()) return 0;
    if (odd("late"))
        report_on_a_thread(&a, report_late);
    else if (odd("on_threads"))
        report_on_a_thread(&a, report_in_turn);
    else
        report(&a);
    return 0;
}

static int synchronize(void)
{
    for (int i = 0; i < num_waiting; i++) {
        uint64_t begin = now();
        waiting[i] =
            (activity){2, 0x11f0, 0, waiting[i].correlation, begin, begin + 1, 1, 0, "odd_kernel"};
        report(&waiting[i]);
    }
    num_waiting = 0;
    return odd("lost") && kernels > 3 ? LAUNCH_FAILURE : 0;
}

typedef struct sizes {
    unsigned x, y, z;
} sizes;

EXPORT int hipLaunchKernel(const void *f, sizes grid, sizes block, void **args, size_t lds,
                           void *stream);
EXPORT int hipLaunchKernel(const void *f, sizes grid, sizes block, void **args, size_t lds,
                           void *stream)
{
    (void)f, (void)grid, (void)block, (void)args, (void)lds, (void)stream;
    static int later = -1; /* getenv() takes longer than all else here */
    if (later < 0) later = odd("at_synchronize");
    CALL(ID_LAUNCH, later ? launch_for_later() : launch());
}

EXPORT int hipDeviceSynchronize(void);
EXPORT int hipDeviceSynchronize(void)
{
    if (odd("on_threads") && gettid() != getpid()) abort();
    CALL(ID_SYNCHRONIZE, synchronize());
}

/* Done with the first kernel: nobody knows of the others how far they are. */
EXPORT int hipStreamQuery(void *stream);
EXPORT int hipStreamQuery(void *stream)
{
    enum { NOT_READY = 600 };
    (void)stream;
    bool busy = num_on_threads && __atomic_load_n(&num_reported, __ATOMIC_ACQUIRE) == 0;
    return busy ? NOT_READY : 0;
}

EXPORT void hipRegisterTracerCallback(tracer_function *f);
EXPORT void hipRegisterTracerCallback(tracer_function *f)
{
    __atomic_store_n(&tracer, f, __ATOMIC_RELEASE);
}

#ifndef WITHOUT_API_NAME
EXPORT const char *hipApiName(uint32_t id);
EXPORT const char *hipApiName(uint32_t id)
{
    static __thread char name[16];
    if (id == 0 || id >= NUM_FUNCTIONS) return "unknown";
    if (id == ID_LAUNCH) return "hipLaunchKernel";
    if (id == ID_SYNCHRONIZE) return "hipDeviceSynchronize";
    snprintf(name, sizeof name, "odd%u", id);
    return name;
}
#endif

EXPORT int hipPeekAtLastError(void);
EXPORT int hipPeekAtLastError(void)
{
    return last_error;
}

EXPORT const char *hipGetErrorName(int error);
EXPORT const char *hipGetErrorName(int error)
{
    return error ? "hipErrorLaunchFailure" : "hipSuccess";
}

EXPORT int hipGetDeviceCount(int *count);
EXPORT int hipGetDeviceCount(int *count)
{
    *count = synchronize() ? 0 : 1;
    return synchronize();
}

EXPORT int hipSetDevice(int device);
EXPORT int hipSetDevice(int device)
{
    return device;
}

EXPORT int hipGetStreamDeviceId(void *stream);
EXPORT int hipGetStreamDeviceId(void *stream)
{
    (void)stream;
    return 0;
}
