/* SPDX-License-Identifier: MIT
 *
 * What SIMHSA_* and *_VISIBLE_DEVICES set up, limits and faults included. The runtime reads them
 * once, so every case runs in a child of its own.
 */
#include "hip_test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* In children: says what failed and ends. */
#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            _exit(1);                                                               \
        }                                                                           \
    } while (0)

/* Runs `body` with the variables set, NULL-terminated pairs; its wait status. */
static int in_child(void (*body)(void), const char *const *variables)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        for (; *variables; variables += 2)
            setenv(variables[0], variables[1], 1);
        alarm(600);
        body();
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* In children cmocka's assertions would go on with the next test; hence not get_kernel(). */
static hipFunction_t load_nop(void)
{
    hipModule_t module;
    hipFunction_t nop = NULL;
    void *code = read_code_object();
    CHECK(hipModuleLoadData(&module, code) == hipSuccess);
    CHECK(hipModuleGetFunction(&nop, module, "nop") == hipSuccess);
    free(code);
    return nop;
}

#define WITH(...) ((const char *const[]){__VA_ARGS__, NULL})

static void *must_allocate(size_t size)
{
    void *p = NULL;
    CHECK(hipMalloc(&p, size) == hipSuccess);
    return p;
}

/* ---- what it says ---- */

enum { LONG_NAME = 3000 };

/* One line, with all that it is about. */
static void be_warned_of_a_long_name(void)
{
    int count;
    static char said[2 * LONG_NAME];
    FILE *file = tmpfile();
    const char *name = getenv("SIMHSA_ARCH");
    CHECK(file && dup2(fileno(file), STDERR_FILENO) >= 0);
    (void)hipGetDeviceCount(&count);
    rewind(file);
    CHECK(fgets(said, sizeof said, file) != NULL);
    CHECK(strncmp(said, "simhsa: SIMHSA_ARCH=", 20) == 0);
    CHECK(strncmp(said + 20, name, LONG_NAME) == 0);
    CHECK(strchr(said + 20 + LONG_NAME, '\n') != NULL && strstr(said, "gfx942") != NULL);
}

static void long_names_are_said_in_full(void **state)
{
    char name[LONG_NAME + 1];
    (void)state;
    memset(name, 'x', LONG_NAME);
    name[LONG_NAME] = '\0';
    assert_int_equal(in_child(be_warned_of_a_long_name, WITH("SIMHSA_ARCH", name)), 0);
}

/* ---- memory ---- */

static void fill_the_device(void)
{
    enum { MB = 1 << 20 };
    size_t free_bytes, total;
    void *first = must_allocate((size_t)150 * MB), *second = NULL;
    CHECK(hipMemGetInfo(&free_bytes, &total) == hipSuccess);
    CHECK(total == (size_t)256 * MB);
    CHECK(free_bytes <= (size_t)106 * MB);
    CHECK(hipMalloc(&second, (size_t)150 * MB) == hipErrorOutOfMemory);
    CHECK(hipGetLastError() == hipErrorOutOfMemory);
    CHECK(hipFree(first) == hipSuccess);
    second = must_allocate((size_t)150 * MB);
    CHECK(hipFree(second) == hipSuccess);
}

static void memory_runs_out(void **state)
{
    (void)state;
    assert_int_equal(in_child(fill_the_device, WITH("SIMHSA_MEMORY", "256M")), 0);
}

static void allocate_repeatedly(void)
{
    int failed = 0;
    for (int i = 0; i < 20; i++) {
        void *p = NULL;
        hipError_t error = hipMalloc(&p, 5000);
        CHECK(error == hipSuccess || error == hipErrorOutOfMemory);
        failed += error != hipSuccess;
    }
    CHECK(failed == 1);
}

static void one_allocation_fails(void **state)
{
    (void)state;
    assert_int_equal(in_child(allocate_repeatedly, WITH("SIMHSA_FAULTS", "alloc:8")), 0);
}

/* ---- code, kernels, queues ---- */

static void refuse_module(void)
{
    hipModule_t module;
    hipFunction_t function;
    void *code = read_code_object();
    /* HIP loads a module at the latest when a kernel of it is asked for. */
    CHECK(hipModuleLoadData(&module, code) != hipSuccess ||
          hipModuleGetFunction(&function, module, "nop") != hipSuccess);
    free(code);
}

static void a_code_object_is_refused(void **state)
{
    (void)state;
    assert_int_equal(in_child(refuse_module, WITH("SIMHSA_FAULTS", "load:1+")), 0);
}

static void launch_some(void)
{
    hipFunction_t nop = load_nop();
    for (int i = 0; i < 5; i++)
        CHECK(launch(nop, 256, NULL, NULL) == hipSuccess);
    CHECK(hipDeviceSynchronize() == hipSuccess);
}

enum { NOT_LAUNCHED = 9 };

/* Where the runtime does not end the program, every call fails from then on. */
static void launch_until_it_fails(void)
{
    enum { LAUNCH_FAILURE = 719 };
    hipFunction_t nop = load_nop();
    hipError_t error = hipSuccess;
    for (int i = 0; i < 5 && !error; i++) {
        error = launch(nop, 256, NULL, NULL);
        if (!error) error = hipDeviceSynchronize();
    }
    CHECK((int)error == LAUNCH_FAILURE);
    CHECK(launch(nop, 256, NULL, NULL) != hipSuccess);
    _exit(NOT_LAUNCHED);
}

/* In a child, as asking starts the runtime. */
static void tell_whether_7_2(void)
{
    int version = 0;
    CHECK(hipRuntimeGetVersion(&version) == hipSuccess);
    _exit(version >= 70200000);
}

/* As after a memory fault on a real GPU, the runtime ends the program; since 7.2 it is told. */
static void a_queue_error_is_fatal(void **state)
{
    (void)state;
    int status = in_child(launch_until_it_fails, WITH("SIMHSA_FAULTS", "queue:4"));
    if (in_child(tell_whether_7_2, WITH("SIMHSA_GPUS", "1")) != 0) {
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), NOT_LAUNCHED);
    } else {
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
    }
    assert_int_equal(in_child(launch_some, WITH("SIMHSA_FAULTS", "queue:6")), 0);
}

static float timed(hipError_t (*work)(void *argument), void *argument)
{
    hipEvent_t begin, end;
    float ms = -1;
    CHECK(!hipEventCreate(&begin) && !hipEventCreate(&end));
    CHECK(!hipEventRecord(begin, NULL) && !work(argument) && !hipEventRecord(end, NULL));
    CHECK(!hipDeviceSynchronize() && !hipEventElapsedTime(&ms, begin, end));
    return ms;
}

static hipError_t launch_nop(void *nop)
{
    return launch(*(hipFunction_t *)nop, 256, NULL, NULL);
}

/* The `nth` of six takes 300 ms longer; on a machine that is busy others may, but not all of them.
 */
static void check_slow(int nth, hipError_t (*work)(void *argument), void *argument)
{
    float fastest = 1e9f;
    for (int i = 1; i <= 6; i++) {
        float ms = timed(work, argument);
        if (i == nth) CHECK(ms >= 300);
        if (i != nth && ms < fastest) fastest = ms;
    }
    CHECK(fastest < 300);
}

static void time_kernels(void)
{
    hipFunction_t nop = load_nop();
    CHECK(launch_nop(&nop) == hipSuccess);
    check_slow(2, launch_nop, &nop);
}

static void a_kernel_is_slow(void **state)
{
    (void)state;
    assert_int_equal(in_child(time_kernels, WITH("SIMHSA_FAULTS", "kernel_slow:3:300000000")), 0);
}

static void fork_and_exit(void)
{
    launch_some();
    must_allocate(1 << 20);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        alarm(600);
        exit(7); /* with all the destructors of the runtime */
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    launch_some();
}

static void forked_children_end(void **state)
{
    (void)state;
    assert_int_equal(in_child(fork_and_exit, WITH("SIMHSA_GPUS", "2")), 0);
}

/* ---- copies ---- */

typedef struct buffers {
    void *host, *device;
} buffers;

static hipError_t copy_once(void *argument)
{
    const buffers *b = argument;
    return hipMemcpyAsync(b->device, b->host, 1 << 20, hipMemcpyHostToDevice, NULL);
}

static buffers make_buffers(void)
{
    buffers b = {.device = must_allocate(1 << 20)};
    CHECK(hipHostMalloc(&b.host, 1 << 20, 0) == hipSuccess);
    return b;
}

static void time_copies(void)
{
    buffers b = make_buffers();
    check_slow(4, copy_once, &b);
}

static void a_copy_is_slow(void **state)
{
    (void)state;
    assert_int_equal(in_child(time_copies, WITH("SIMHSA_FAULTS", "copy_slow:4:300000000")), 0);
}

static void copy_all_the_same(void)
{
    unsigned char back[4096], from[4096];
    void *device = must_allocate(sizeof from);
    memset(from, 7, sizeof from);
    CHECK(hipMemcpy(device, from, sizeof from, hipMemcpyHostToDevice) == hipSuccess);
    CHECK(hipMemcpy(back, device, sizeof back, hipMemcpyDeviceToHost) == hipSuccess);
}

/* The runtime may find another way or report an error, but must not hang or crash. */
static void a_refused_copy_is_survived(void **state)
{
    (void)state;
    int status = in_child(copy_all_the_same, WITH("SIMHSA_FAULTS", "copy:1"));
    assert_true(WIFEXITED(status));
}

static void slow_link(void)
{
    buffers b = make_buffers();
    CHECK(timed(copy_once, &b) >= 10); /* 1 MiB at 0.1 GB/s */
}

static void bandwidth_is_settable(void **state)
{
    (void)state;
    assert_int_equal(in_child(slow_link, WITH("SIMHSA_COPY_GBPS", "0.1")), 0);
}

/* ---- devices ---- */

static int device_count(void)
{
    int count = -1;
    hipError_t error = hipGetDeviceCount(&count);
    CHECK(error == (count ? hipSuccess : hipErrorNoDevice));
    return count;
}

static int bus_of(int device)
{
    hipDeviceProp_t p;
    CHECK(hipGetDeviceProperties(&p, device) == hipSuccess);
    return p.pciBusID;
}

static void see_none(void)
{
    CHECK(device_count() == 0);
}

static void see_eight(void)
{
    CHECK(device_count() == 8);
    for (int i = 1; i < 8; i++)
        CHECK(bus_of(i) == bus_of(0) + i);
}

static void see_third_and_first(void)
{
    CHECK(device_count() == 2);
    CHECK(bus_of(0) == bus_of(1) + 2);
}

static void see_second(void)
{
    CHECK(device_count() == 1);
    CHECK(bus_of(0) == 0x2a);
}

static void devices_are_as_many_as_asked_for(void **state)
{
    (void)state;
    assert_int_equal(in_child(see_none, WITH("SIMHSA_GPUS", "0")), 0);
    assert_int_equal(in_child(see_eight, WITH("SIMHSA_GPUS", "8")), 0);
}

static void devices_can_be_hidden(void **state)
{
    (void)state;
    assert_int_equal(
        in_child(see_third_and_first, WITH("SIMHSA_GPUS", "4", "ROCR_VISIBLE_DEVICES", "2,0")), 0);
    assert_int_equal(
        in_child(see_third_and_first, WITH("SIMHSA_GPUS", "4", "HIP_VISIBLE_DEVICES", "2,0")), 0);
    assert_int_equal(in_child(see_second, WITH("SIMHSA_GPUS", "2", "ROCR_VISIBLE_DEVICES",
                                               "GPU-51d0000000000001,7,0")),
                     0);
}

static void see_gfx1030(void)
{
    hipDeviceProp_t p;
    CHECK(hipGetDeviceProperties(&p, 0) == hipSuccess);
    CHECK(strcmp(p.gcnArchName, "gfx1030") == 0);
    CHECK(strcmp(p.name, "simhsa gfx1030 (simulated)") == 0);
    CHECK(p.warpSize == 32);
}

static void architectures_are_selectable(void **state)
{
    (void)state;
    assert_int_equal(in_child(see_gfx1030, WITH("SIMHSA_ARCH", "gfx1030")), 0);
}

static void fail_to_start(void)
{
    int count;
    CHECK(hipGetDeviceCount(&count) != hipSuccess);
}

static void mistyped_settings_are_refused(void **state)
{
    (void)state;
    assert_int_equal(in_child(fail_to_start, WITH("SIMHSA_GPUS", "9")), 0);
    assert_int_equal(in_child(fail_to_start, WITH("SIMHSA_ARCH", "gfx9000")), 0);
    assert_int_equal(in_child(fail_to_start, WITH("SIMHSA_MEMORY", "16X")), 0);
    assert_int_equal(in_child(fail_to_start, WITH("SIMHSA_KERNEL_NS", "fast")), 0);
    assert_int_equal(in_child(fail_to_start, WITH("SIMHSA_FAULTS", "alloc:0")), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_names_are_said_in_full),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(one_allocation_fails),
        cmocka_unit_test(a_code_object_is_refused),
        cmocka_unit_test(a_queue_error_is_fatal),
        cmocka_unit_test(a_kernel_is_slow),
        cmocka_unit_test(forked_children_end),
        cmocka_unit_test(a_copy_is_slow),
        cmocka_unit_test(a_refused_copy_is_survived),
        cmocka_unit_test(bandwidth_is_settable),
        cmocka_unit_test(devices_are_as_many_as_asked_for),
        cmocka_unit_test(devices_can_be_hidden),
        cmocka_unit_test(architectures_are_selectable),
        cmocka_unit_test(mistyped_settings_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
