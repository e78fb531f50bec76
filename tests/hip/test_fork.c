/* SPDX-License-Identifier: MIT
 *
 * fork() with HIP: a child calls nothing of its parent's runtime before it calls HIP itself, and is
 * a process of its own to a profiler.
 */
#include "../unit/forks_with_threads.h"
#include "simhsa.h"
#include "vadds.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { THREADS = 8, FORKS = 30 };

/* ---- a runtime that must not be called ---- */

/* Setting a pointer or a flag in the runtime waits for nothing. */
static bool may_be_called(uintptr_t page)
{
    static const char *const names[] = {"hipRegisterTracerCallback", "hipInitActivityCallback",
                                        "hipEnableActivityCallback"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uintptr_t at = (uintptr_t)dlsym(RTLD_DEFAULT, names[i]);
        if (at && page <= at + 4096 && at < page + 4096) return true;
    }
    return false;
}

/* Whoever calls it dies of SIGSEGV. */
static int forbid(struct dl_phdr_info *info, size_t size, void *found)
{
    (void)size;
    bool hip = strstr(info->dlpi_name, "libamdhip64"), hsa = strstr(info->dlpi_name, "libhsa-");
    if (!hip && !hsa) return 0;
    *(int *)found |= hip ? 1 : 2;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = (info->dlpi_addr + p->p_vaddr) & ~(uintptr_t)4095;
        uintptr_t to = info->dlpi_addr + p->p_vaddr + p->p_memsz;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
        for (; from < to; from += 4096)
            if (!may_be_called(from)) mprotect((void *)from, 4096, PROT_NONE);
    }
    return 0;
}

/* ---- children ---- */

static bool asks_for_hip;

/* Exit status 0: all that was to be recorded is there. */
static int record_without_hip(void)
{
    int found = 0;
    dl_iterate_phdr(forbid, &found);
    if (found != 3) return 3;
    for (int session = 0; session < 2; session++) {
        hb_profiler *prof = capture_start(asks_for_hip ? HB_ACTIVITY_CPU | HB_ACTIVITY_HIP : 0);
        HB_RECORD_FUNCTION("in the child") {
        }
        cJSON *trace = capture_stop(prof);
        int scopes = count_events(trace, "cpu_op", "in the child");
        int calls = count_events(trace, "Runtime", NULL);
        cJSON_Delete(trace);
        if (scopes != 1 || calls != 0) return 4;
    }
    return 0;
}

/* gcc 12's address checks take no lock of their allocator at a fork: a child of a process whose
 * other threads allocate may wait for one for ever. Its thread checks end a forked child with the
 * first thread that it starts. */
static void skip_where_checks_stop_children(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip();
#endif
}

static int run_child(int (*main)(void))
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(300);
        _exit(main());
    }
    while (waitpid(child, &status, 0) < 0)
        continue;
    return status;
}

static void ends_well(int (*main)(void))
{
    int status = run_child(main);
    if (WIFSIGNALED(status)) fail_msg("the child died of signal %d", WTERMSIG(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- a server that forks before HIP is used ---- */

static int record_kernels(void)
{
    set_up(NULL);
    hb_profiler *prof = capture_start(HB_ACTIVITY_CPU | HB_ACTIVITY_HIP);
    for (int i = 0; i < 3; i++)
        HIP_OK(launch_vadd(0, 1, NULL, NULL));
    HIP_OK(hipDeviceSynchronize());
    cJSON *trace = capture_stop(prof);
    int kernels = count_events(trace, "kernel", "vadd");
    cJSON_Delete(trace);
    return kernels == 3 ? 0 : 5;
}

static void children_of_a_recorded_server_record_their_kernels(void **state)
{
    (void)state;
    skip_where_checks_stop_children();
    hb_profiler *prof = capture_start(0);
    ends_well(record_kernels);
    ends_well(record_kernels);
    cJSON_Delete(capture_stop(prof));
    ends_well(record_kernels);
}

/* ---- children of a process that uses HIP ---- */

static int ask_for_devices(void)
{
    int count;
    hb_profiler *prof = capture_start(HB_ACTIVITY_CPU | HB_ACTIVITY_HIP);
    HIP_OK(hipGetDeviceCount(&count));
    cJSON *trace = capture_stop(prof);
    int calls = count_events(trace, "Runtime", "hipGetDeviceCount");
    cJSON_Delete(trace);
    return calls == 1 ? 0 : 6;
}

static void the_runtime_is_left_alone_until_the_child_calls_it(void **state)
{
    (void)state;
    skip_where_checks_stop_children();
    set_up(NULL);
    ends_well(record_without_hip); /* there was no profiler since HIP started */
    hb_profiler *prof = capture_start(0);
    HIP_OK(launch_vadd(0, 1, NULL, NULL));
    asks_for_hip = true;
    ends_well(record_without_hip);
    asks_for_hip = false;
    ends_well(ask_for_devices);
    cJSON *trace = capture_stop(prof);
    assert_int_equal(count_events(trace, "kernel", "vadd"), 1);
    cJSON_Delete(trace);
    ends_well(record_without_hip);
}

static atomic_bool storm_is_over;

static void *launch_until_over(void *arg)
{
    int device = (int)(intptr_t)arg % DEVICES;
    hipStream_t stream;
    HIP_OK(hipSetDevice(device));
    HIP_OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    for (int i = 0; !atomic_load(&storm_is_over); i++) {
        void *memory;
        HIP_OK(launch_vadd(device, 1, NULL, stream));
        if (i % 64) continue;
        usleep(5000); /* no more records than are soon read */
        HIP_OK(hipStreamSynchronize(stream));
        HIP_OK(hipMalloc(&memory, 4096));
        HIP_OK(hipFree(memory));
    }
    HIP_OK(hipStreamSynchronize(stream));
    HIP_OK(hipStreamDestroy(stream));
    return NULL;
}

/* Whatever lock is held at the moment of the fork. */
static void forks_amid_launches_leave_both_alive(void **state)
{
    (void)state;
    skip_where_checks_stop_children();
    pthread_t threads[THREADS];
    unsigned seed = 1;
    atomic_store(&storm_is_over, false);
    hb_profiler *prof = capture_start(HB_ACTIVITY_CPU | HB_ACTIVITY_HIP);
    for (intptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, launch_until_over, (void *)i), 0);
    for (int i = 0; i < FORKS; i++) {
        usleep((useconds_t)rand_r(&seed) % 2000);
        ends_well(record_without_hip);
    }
    atomic_store(&storm_is_over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
}

int main(void)
{
    /* The first one forks before HIP starts in this process. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_of_a_recorded_server_record_their_kernels),
        cmocka_unit_test(the_runtime_is_left_alone_until_the_child_calls_it),
        cmocka_unit_test(forks_amid_launches_leave_both_alive),
    };
    setenv("SIMHSA_GPUS", "2", 1);
    setenv("SIMHSA_KERNEL_NS", "0", 1);
    capture_prepare();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
