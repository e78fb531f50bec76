/* SPDX-License-Identifier: MIT
 *
 * A cycle begins while the one before awaits what the device has still to do: until it asks for
 * reports itself, threads go on calling HIP. The runtime reports when it is synchronised with.
 */
#include "../captured.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>

typedef struct sizes {
    unsigned x, y, z;
} sizes;

enum { BEFORE = 3, MEANWHILE = 2, AFTER = 5 }; /* kernels */

static int (*launch_kernel)(const void *, sizes, sizes, void **, size_t, void *);
static int (*synchronize)(void);

static void launch_some(int n)
{
    while (n-- > 0)
        launch_kernel(&launch_kernel, (sizes){1, 1, 1}, (sizes){64, 1, 1}, NULL, 0, NULL);
}

/* ---- another thread ---- */

static sem_t wanted, done;

static void *launch_twice(void *unused)
{
    sem_wait(&wanted);
    launch_some(MEANWHILE);
    sem_post(&done);
    sem_wait(&wanted);
    launch_some(AFTER);
    sem_post(&done);
    return unused;
}

static void let_it_launch(void)
{
    sem_post(&wanted);
    while (sem_wait(&done) != 0)
        continue;
}

/* ---- the moment ---- */

static uint32_t cycle; /* that is over; 0: nothing is waited for */

/* Asked by each cycle, before it asks for reports: whether any library was loaded. Also by
 * sanitizers, before they are ready. */
__attribute__((no_sanitize("address", "thread", "undefined"))) int dl_iterate_phdr(
    int (*fn)(struct dl_phdr_info *info, size_t size, void *arg), void *arg)
{
    static int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    uint32_t now = __atomic_load_n(&hb_enabled_epoch, __ATOMIC_ACQUIRE);
    if (cycle && now && now != cycle) {
        cycle = 0;
        let_it_launch();
    }
    if (!real) {
        void *found = dlsym(RTLD_NEXT, "dl_iterate_phdr");
        memcpy(&real, &found, sizeof real);
    }
    return real(fn, arg);
}

/* ---- the case ---- */

static void open_runtime(void)
{
    void *runtime = dlopen(RUNTIME, RTLD_NOW | RTLD_GLOBAL), *address;
    assert_non_null(runtime);
    address = dlsym(runtime, "hipLaunchKernel");
    memcpy(&launch_kernel, &address, sizeof address);
    address = dlsym(runtime, "hipDeviceSynchronize");
    memcpy(&synchronize, &address, sizeof address);
}

static void assert_cycle(const char *dir, int n, int calls, int kernels)
{
    cJSON *trace = nth_trace(dir, n);
    assert_non_null(trace);
    assert_string_equal(text_of(trace, "hipboard_hip_backend"), "tracer-hook");
    assert_int_equal(count_events(trace, "Runtime", "hipLaunchKernel"), calls);
    assert_int_equal(count_events(trace, "kernel", NULL), kernels);
    for (int i = 0; i < kernels; i++)
        assert_non_null(call_of(trace, nth_event(trace, "kernel", NULL, i)));
    assert_false(metadata_says(trace, "hipboard_hip_notes", "not reported"));
    assert_null(cJSON_GetObjectItem(trace, "hipboard_work_not_reported"));
    cJSON_Delete(trace);
}

/* What was launched in between was asked about by nobody; all that the thread launches later is in
 * its cycle. */
static void a_thread_that_launches_while_a_cycle_begins_is_heard(void **state)
{
    (void)state;
    pthread_t thread;
    char dir[] = "/tmp/hipboard-cycle-XXXXXX";
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    assert_non_null(mkdtemp(dir));
    o.activities = HB_ACTIVITY_HIP;
    o.schedule = hb_schedule_make(.active = 1);
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, NULL, HB_NO_EVENT_FILE);
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    assert_int_equal(pthread_create(&thread, NULL, launch_twice, NULL), 0);
    launch_some(BEFORE);
    cycle = __atomic_load_n(&hb_enabled_epoch, __ATOMIC_ACQUIRE);
    assert_int_equal(hb_profiler_step(prof), HB_OK);
    assert_int_equal(cycle, 0);
    let_it_launch();
    pthread_join(thread, NULL);
    synchronize();
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
    assert_cycle(dir, 0, BEFORE, BEFORE);
    assert_cycle(dir, 1, MEANWHILE + AFTER, AFTER);
    remove_all(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thread_that_launches_while_a_cycle_begins_is_heard),
    };
    setenv("ODD_RUNTIME", "at_synchronize", 1);
    setenv("HIPBOARD_HIP_BACKEND", "tracer-hook", 1);
    setenv("HIPBOARD_GPU_PATIENCE", "1", 1);
    sem_init(&wanted, 0, 0);
    sem_init(&done, 0, 0);
    open_runtime();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
