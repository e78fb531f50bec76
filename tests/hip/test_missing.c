/* SPDX-License-Identifier: MIT
 *
 * What is missing in a trace is explained: by one line on stderr, by the same in the trace's
 * metadata and in the event file. Each case is a process of its own, as the HIP runtime starts
 * once.
 *
 *     test_missing [CASE DIRECTORY]
 */
#include "captured.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simhsa.h"

/* ---- the cases, in their own process ---- */

static const char *directory;
static hipFunction_t nop;

static hb_profiler *start_in_directory(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_HIP;
    o.spool_dir = "";
    o.on_trace_ready = hb_tensorboard_trace_handler(directory, "case", 0);
    hb_profiler *prof = hb_profiler_create(&o);
    if (!prof || hb_profiler_start(prof) != HB_OK) exit(2);
    return prof;
}

static void launch_nop(hipStream_t stream)
{
    HIP_OK(hipModuleLaunchKernel(nop, 1, 1, 1, 64, 1, 1, 0, stream, NULL, NULL));
}

static void one_kernel(void)
{
    hb_profiler *prof = start_in_directory();
    nop = get_kernel(load_module(), "nop");
    launch_nop(NULL);
    hb_profiler_destroy(prof);
}

static void runtime_was_there_first(void)
{
    nop = get_kernel(load_module(), "nop");
    hb_profiler *prof = start_in_directory();
    launch_nop(NULL);
    hb_profiler_destroy(prof);
}

static void no_call(void)
{
    hb_profiler_destroy(start_in_directory());
}

static void failing_call(void)
{
    int devices;
    hb_profiler *prof = start_in_directory();
    if (hipGetDeviceCount(&devices) == hipSuccess) exit(3);
    hb_profiler_destroy(prof);
}

static _Atomic bool all_are_launched;

/* The simulated GPU runs this in place of a kernel. */
static void wait_for_the_last(const simhsa_dispatch *dispatch)
{
    (void)dispatch;
    while (!atomic_load(&all_are_launched))
        usleep(100);
}

static void run_instead(const char *kernel, simhsa_kernel_fn function)
{
    void (*set)(const char *, simhsa_kernel_fn, uint64_t);
    void *address = dlsym(RTLD_DEFAULT, "simhsa_set_kernel");
    if (!address) exit(5);
    memcpy(&set, &address, sizeof set);
    set(kernel, function, 0);
}

/* More than can be marked while none is over; so many queues, as each holds some thousand packets.
 */
static void too_many_at_a_time(void)
{
    enum { STREAMS = 12, LAUNCHES = 700 };
    hipStream_t streams[STREAMS];
    run_instead("nop", wait_for_the_last);
    hb_profiler *prof = start_in_directory();
    nop = get_kernel(load_module(), "nop");
    for (int i = 0; i < STREAMS; i++)
        HIP_OK(hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking));
    for (int i = 0; i < STREAMS * LAUNCHES; i++)
        launch_nop(streams[i % STREAMS]);
    atomic_store(&all_are_launched, true);
    hb_profiler_destroy(prof);
}

typedef void registration(void *first, void *second, void *third);

static registration *hooks_of_the_runtime(void)
{
    registration *registers;
    void *hook = dlsym(RTLD_DEFAULT, "hipRegisterTracerCallback");
    memcpy(&registers, &hook, sizeof registers);
    return registers;
}

static int tool_calls;

static int listen_elsewhere(uint32_t domain, uint32_t op, void *data)
{
    (void)domain, (void)op, (void)data;
    tool_calls++;
    return 1;
}

/* What it hears is its own, and stays so after the profiler. */
static void tool_comes_later(void)
{
    hb_profiler *prof = start_in_directory();
    nop = get_kernel(load_module(), "nop");
    launch_nop(NULL);
    HIP_OK(hipDeviceSynchronize());
    hooks_of_the_runtime()((void *)(uintptr_t)listen_elsewhere, NULL, NULL);
    hb_profiler_destroy(prof);
    int before = tool_calls;
    HIP_OK(hipDeviceSynchronize());
    if (tool_calls == before) exit(4);
}

/* The third kernel faults; the runtime may end the program then, but 7.2 does not. */
static void kernels_until_a_fault(void)
{
    hb_profiler *prof = start_in_directory();
    nop = get_kernel(load_module(), "nop");
    for (int i = 0; i < 3; i++) {
        launch_nop(NULL);
        if (hipDeviceSynchronize() != hipSuccess) break;
    }
    hb_profiler_destroy(prof);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
    {"one_kernel", one_kernel},
    {"runtime_was_there_first", runtime_was_there_first},
    {"no_call", no_call},
    {"failing_call", failing_call},
    {"too_many_at_a_time", too_many_at_a_time},
    {"tool_comes_later", tool_comes_later},
    {"kernels_until_a_fault", kernels_until_a_fault},
};

static int run_case(const char *name)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (strcmp(cases[i].name, name) == 0) {
            cases[i].run();
            return 0;
        }
    return 1;
}

/* ---- running them ---- */

typedef struct outcome {
    char dir[64], errors[8192], *event_file;
    size_t event_file_size;
    cJSON *trace;
} outcome;

static void read_errors(outcome *o, int fd)
{
    size_t size = 0;
    ssize_t n;
    while ((n = read(fd, o->errors + size, sizeof o->errors - 1 - size)) > 0)
        size += (size_t)n;
    o->errors[size] = '\0';
    close(fd);
}

static void read_event_file(outcome *o, const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    o->event_file = malloc(1 << 20);
    assert_non_null(o->event_file);
    o->event_file_size = fread(o->event_file, 1, 1 << 20, file);
    fclose(file);
}

static void read_files(outcome *o)
{
    char path[512];
    DIR *dir = opendir(o->dir);
    assert_non_null(dir);
    for (struct dirent *d; (d = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", o->dir, d->d_name);
        if (strstr(d->d_name, ".pt.trace.json")) o->trace = read_json(path);
        if (strstr(d->d_name, "tfevents")) read_event_file(o, path);
        if (d->d_name[0] != '.') unlink(path);
    }
    closedir(dir);
    rmdir(o->dir);
    assert_non_null(o->trace);
    assert_non_null(o->event_file);
}

/* A library is preloaded by a link, since LD_PRELOAD has no quotes for a path with blanks. */
static void set(const char *dir, const char *variable)
{
    static const char preload[] = "LD_PRELOAD=";
    char link[80];
    if (strncmp(variable, preload, sizeof preload - 1) != 0) {
        putenv(strdup(variable));
        return;
    }
    snprintf(link, sizeof link, "%s/preloaded.so", dir);
    if (symlink(variable + sizeof preload - 1, link) != 0) _exit(126);
    setenv("LD_PRELOAD", link, 1);
}

/* `environment`: NAME=VALUE..., NULL. */
static outcome run(const char *name, const char *const *environment)
{
    int ends[2], status;
    outcome o = {.dir = "/tmp/hipboard-test-XXXXXX"};
    assert_non_null(mkdtemp(o.dir));
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        for (; *environment; environment++)
            set(o.dir, *environment);
        execl("/proc/self/exe", "test_missing", name, o.dir, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    read_errors(&o, ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0) fail_msg("%s ended with %d: %s", name, status, o.errors);
    read_files(&o);
    return o;
}

static void release(outcome *o)
{
    cJSON_Delete(o->trace);
    free(o->event_file);
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}

/* `part` is a piece of the sentence without what JSON or Markdown would write otherwise. */
static void assert_explained(const outcome *o, const char *part)
{
    if (count(o->errors, part) != 1) fail_msg("'%s' is not said once: %s", part, o->errors);
    assert_true(metadata_says(o->trace, "hipboard_hip_notes", part));
    assert_non_null(memmem(o->event_file, o->event_file_size, part, strlen(part)));
}

static const char *backend_of(const outcome *o)
{
    return text_of(o->trace, "hipboard_hip_backend");
}

/* ---- tests ---- */

static void no_device(void **state)
{
    (void)state;
    outcome o = run("failing_call", (const char *[]){"SIMHSA_GPUS=0", NULL});
    assert_explained(&o, "HIP has no device");
    assert_true(metadata_says(o.trace, "hipboard_hip_notes", "/dev/kfd"));
    release(&o);
}

static void no_call_in_the_window(void **state)
{
    (void)state;
    outcome o = run("no_call", (const char *[]){NULL});
    assert_explained(&o, "no HIP call was made while this was recorded");
    release(&o);
}

static void a_runtime_that_is_too_new(void **state)
{
    (void)state;
    outcome o = run("one_kernel", (const char *[]){"LD_PRELOAD=" TEST_NEW_RUNTIME, NULL});
    assert_string_equal(backend_of(&o), "interposition");
    assert_explained(&o, "HIP 9.1 is not one of the releases whose hooks hipboard knows");
    assert_int_equal(count_events(o.trace, "kernel", "nop"), 1);
    assert_true(number_of(o.trace, "hipboard_device_clock_uncertainty_ns") > 0);
    assert_true(strlen(text_of(o.trace, "hipboard_hip_times")) > 0);
    release(&o);
}

/* CuPy and ONNX Runtime always load it. */
static void a_tool_that_is_merely_loaded_is_no_hindrance(void **state)
{
    (void)state;
    outcome o = run("one_kernel", (const char *[]){"LD_PRELOAD=" TEST_OTHER_TOOL, NULL});
    assert_string_not_equal(backend_of(&o), "interposition");
    assert_int_equal(count_events(o.trace, "kernel", "nop"), 1);
    assert_string_equal(o.errors, "");
    release(&o);
}

static void hooks_that_another_tool_holds(void **state)
{
    (void)state;
    outcome o =
        run("one_kernel", (const char *[]){"LD_PRELOAD=" TEST_OTHER_TOOL, "HOLDS_HOOKS=1", NULL});
    assert_string_equal(backend_of(&o), "interposition");
    assert_explained(&o, "preloaded.so holds the HIP runtime's hooks");
    assert_int_equal(count_events(o.trace, "kernel", "nop"), 1);
    release(&o);
}

static void hooks_that_are_taken_meanwhile(void **state)
{
    (void)state;
    if (!hooks_of_the_runtime()) skip();
    outcome o = run("tool_comes_later", (const char *[]){NULL});
    assert_int_equal(count_events(o.trace, "Runtime", "hipModuleLaunchKernel"), 1);
    assert_explained(&o, "which have one holder: what HIP did since then is missing");
    release(&o);
}

static void what_was_before_a_fault_is_there(void **state)
{
    (void)state;
    if (!dlsym(RTLD_DEFAULT, "hipLibraryLoadData")) skip();
    outcome o = run("kernels_until_a_fault", (const char *[]){"SIMHSA_FAULTS=queue:3", NULL});
    assert_explained(&o, "HIP answers nothing but hipErrorLaunchFailure since then");
    assert_true(count_events(o.trace, "kernel", "nop") >= 2);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(o.trace, "deviceProperties")), 1);
    release(&o);
}

static void a_back_end_that_there_is_not(void **state)
{
    (void)state;
    outcome o = run("one_kernel", (const char *[]){"HIPBOARD_HIP_BACKEND=magic", NULL});
    assert_string_equal(backend_of(&o), "");
    assert_explained(&o, "which is no back-end; there are rocprofiler-sdk, ");
    assert_int_equal(count_events(o.trace, "kernel", NULL), 0);
    release(&o);
}

/* HIP 5.2 takes times only when it is told so before it starts. */
static void a_profiler_that_came_late(void **state)
{
    (void)state;
    outcome o = run("runtime_was_there_first", (const char *[]){NULL});
    assert_int_equal(count_events(o.trace, "kernel", "nop"), 1);
    if (strcmp(backend_of(&o), "interposition") == 0)
        assert_explained(&o, "the HIP runtime was already running");
    else
        assert_string_equal(backend_of(&o), "tracer-hook");
    release(&o);
}

static void records_that_are_lost(void **state)
{
    (void)state;
    outcome o = run("too_many_at_a_time", (const char *[]){"HIPBOARD_HIP_BACKEND=interposition",
                                                           "GPU_MAX_HW_QUEUES=12", NULL});
    char lost[64];
    int kernels = count_events(o.trace, "kernel", "nop");
    snprintf(lost, sizeof lost, "%d records of device work were lost", 8400 - kernels);
    assert_int_equal(kernels, 8192);
    assert_explained(&o, lost);
    assert_int_equal(count_events(o.trace, "Runtime", "hipModuleLaunchKernel"), 8400);
    release(&o);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_device),
        cmocka_unit_test(no_call_in_the_window),
        cmocka_unit_test(a_runtime_that_is_too_new),
        cmocka_unit_test(a_tool_that_is_merely_loaded_is_no_hindrance),
        cmocka_unit_test(hooks_that_another_tool_holds),
        cmocka_unit_test(hooks_that_are_taken_meanwhile),
        cmocka_unit_test(what_was_before_a_fault_is_there),
        cmocka_unit_test(a_back_end_that_there_is_not),
        cmocka_unit_test(a_profiler_that_came_late),
        cmocka_unit_test(records_that_are_lost),
    };
    if (argc == 3) {
        directory = argv[2];
        return run_case(argv[1]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
