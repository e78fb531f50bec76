/* SPDX-License-Identifier: MIT
 *
 * HIP calls that fail, that hipboard knows little of, or that it can't see.
 */
#include "vadds.h"

#include <pthread.h>

#include "../unit/crafted_module.h"

/* By functions whose arguments hipboard does not read. */
static void work_of_any_call_is_that_calls(void **state)
{
    (void)state;
    enum { WIDTH = 64, HEIGHT = 8 };
    void *data;
    static char host[WIDTH * HEIGHT];
    HIP_OK(hipMalloc(&data, sizeof host));
    hipPitchedPtr pitched = {data, WIDTH, WIDTH, HEIGHT};
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipMemset3D(pitched, 1, (hipExtent){WIDTH, HEIGHT, 1}));
    hipMemcpy3DParms parms = {.srcPtr = pitched,
                              .dstPtr = {host, WIDTH, WIDTH, HEIGHT},
                              .extent = {WIDTH, HEIGHT, 1},
                              .kind = hipMemcpyDeviceToHost};
    HIP_OK(hipMemcpy3D(&parms));
    assert_int_equal(host[0], 1);
    cJSON *trace = capture_stop(prof);
    if (metadata_says(trace, "hipboard_hip_backend", "interposition")) {
        assert_true(metadata_says(trace, "hipboard_hip_notes", "of 2 calls (such as hipMem"));
    } else {
        const cJSON *fill = nth_event(trace, "gpu_memset", "Memset (Device)", 0);
        const cJSON *copy = nth_event(trace, "gpu_memcpy", "Memcpy DtoH (Device -> Host)", 0);
        assert_string_equal(text_of(call_of(trace, fill), "name"), "hipMemset3D");
        assert_string_equal(text_of(call_of(trace, copy), "name"), "hipMemcpy3D");
    }
    cJSON_Delete(trace);
    HIP_OK(hipFree(data));
}

/* A function of the runtime that the headers of 5.2 do not know; NULL where it does not either. */
static void newer(const char *name, void *function)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    memcpy(function, &address, sizeof address);
}

/* HIP_MEMCPY3D, whose numbers were of 32 bits before HIP 6. */
typedef struct short_copy_3d {
    uint32_t src_x, src_y, src_z, src_lod, src_type;
    const void *src_host, *src, *src_array;
    uint32_t src_pitch, src_height, dst_x, dst_y, dst_z, dst_lod, dst_type;
    void *dst_host, *dst, *dst_array;
    uint32_t dst_pitch, dst_height, width, height, depth;
} short_copy_3d;

typedef struct copy_3d {
    size_t src_x, src_y, src_z, src_lod;
    uint32_t src_type;
    const void *src_host, *src, *src_array;
    size_t src_pitch, src_height, dst_x, dst_y, dst_z, dst_lod;
    uint32_t dst_type;
    void *dst_host, *dst, *dst_array;
    size_t dst_pitch, dst_height, width, height, depth;
} copy_3d;

static void driver_copy(void *to, const void *from, uint32_t width, uint32_t height,
                        hipStream_t stream)
{
    int version, (*copy)(const void *, hipStream_t);
    uint32_t device = hipMemoryTypeDevice;
    newer("hipDrvMemcpy3DAsync", &copy);
    HIP_OK(hipRuntimeGetVersion(&version));
    if (version >= 60000000) device = 2; /* renumbered */
    short_copy_3d before = {.src_type = device, .dst_type = device};
    copy_3d since = {.src_type = device, .dst_type = device};
#define FILL_IN(c)                                     \
    (c).src = from, (c).dst = to, (c).depth = 1;       \
    (c).src_pitch = (c).dst_pitch = (c).width = width; \
    (c).src_height = (c).dst_height = (c).height = height
    FILL_IN(before);
    FILL_IN(since);
    HIP_OK(copy(version < 60000000 ? (void *)&before : (void *)&since, stream));
}

static void such_work_stands_on_its_stream(void **state)
{
    (void)state;
    enum { WIDTH = 64, HEIGHT = 8, BYTES = WIDTH * HEIGHT };
    char *data;
    hipStream_t stream;
    int (*fill)(void *, size_t, unsigned, size_t, size_t, hipStream_t);
    newer("hipMemsetD2D32Async", &fill);
    HIP_OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    HIP_OK(hipMalloc((void **)&data, 2 * BYTES));
    hipPitchedPtr from = {data, WIDTH, WIDTH, HEIGHT}, to = {data + BYTES, WIDTH, WIDTH, HEIGHT};
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipMemset3DAsync(from, 1, (hipExtent){WIDTH, HEIGHT, 1}, stream));
    hipMemcpy3DParms parms = {.srcPtr = from,
                              .dstPtr = to,
                              .extent = {WIDTH, HEIGHT, 1},
                              .kind = hipMemcpyDeviceToDevice};
    HIP_OK(hipMemcpy3DAsync(&parms, stream));
    driver_copy(data + BYTES, data, WIDTH, HEIGHT, stream);
    if (fill) assert_int_equal(fill(data, WIDTH, 7, WIDTH / 4, HEIGHT, stream), 0);
    HIP_OK(hipStreamSynchronize(stream));
    cJSON *trace = capture_stop(prof);
    const cJSON *event;
    int seen = 0;
    cJSON_ArrayForEach(event, events_of(trace))
    {
        if (!is_event(event, "gpu_memset", NULL) && !is_event(event, "gpu_memcpy", NULL)) continue;
        assert_true(arg(event, "stream") > 0);
        seen++;
    }
    bool timed = metadata_says(trace, "hipboard_hip_backend", "interposition");
    assert_int_equal(seen, (timed ? 0 : 3) + (fill != NULL));
    cJSON_Delete(trace);
    HIP_OK(hipFree(data));
}

/* Programs that are built with -fgpu-default-stream=per-thread. */
static void work_on_a_threads_own_stream_is_timed(void **state)
{
    (void)state;
    enum { BYTES = 4096 };
    static char host[BYTES];
    char *data;
    int (*copy)(void *, const void *, size_t, int, hipStream_t);
    int (*fill)(void *, int, size_t);
    newer("hipMemcpyAsync_spt", &copy);
    newer("hipMemset_spt", &fill);
    HIP_OK(hipMalloc((void **)&data, BYTES));
    hb_profiler *prof = capture_start(0);
    assert_int_equal(fill(data, 1, BYTES), 0);
    assert_int_equal(copy(host, data, BYTES, hipMemcpyDeviceToHost, NULL), 0);
    HIP_OK(hipDeviceSynchronize());
    assert_int_equal(host[BYTES - 1], 1);
    cJSON *trace = capture_stop(prof);
    const cJSON *filled = nth_event(trace, "gpu_memset", "Memset (Device)", 0);
    const cJSON *copied = nth_event(trace, "gpu_memcpy", "Memcpy DtoH (Device -> Host)", 0);
    assert_string_equal(text_of(call_of(trace, filled), "name"), "hipMemset");
    assert_string_equal(text_of(call_of(trace, copied), "name"), "hipMemcpyAsync");
    assert_int_equal(arg(filled, "stream"), arg(copied, "stream"));
    assert_false(metadata_says(trace, "hipboard_hip_notes", "missing"));
    cJSON_Delete(trace);
    HIP_OK(hipFree(data));
}

/* ---- ways to launch that HIP 6 and 7 have added ---- */

/* hipLaunchConfig_t and HIP_LAUNCH_CONFIG. */
typedef struct host_config {
    dim3 grid, block;
    size_t lds;
    hipStream_t stream;
    void *attributes;
    unsigned num_attributes;
} host_config;

typedef struct module_config {
    uint32_t grid[3], block[3], lds;
    hipStream_t stream;
    void *attributes;
    uint32_t num_attributes;
} module_config;

static hipStream_t launch_stream;
static unsigned launched; /* each has as many blocks as were launched before it, and one */

static void by_config(hipFunction_t kernel)
{
    int (*run)(const module_config *, hipFunction_t, void **, void **);
    newer("hipDrvLaunchKernelEx", &run);
    if (!run) return;
    module_config config = {{++launched, 1, 1}, {64, 1, 1}, 0, launch_stream, NULL, 0};
    HIP_OK(run(&config, kernel, NULL, NULL));
}

static void by_host_config(const void *kernel)
{
    int (*run)(const host_config *, const void *, void **);
    newer("hipLaunchKernelExC", &run);
    if (!run) return;
    host_config config = {{++launched, 1, 1}, {64, 1, 1}, 0, launch_stream, NULL, 0};
    HIP_OK(run(&config, kernel, NULL));
}

static void by_address(void *address, hipFunction_t kernel)
{
    __typeof__(hipModuleLaunchKernel) *run;
    memcpy(&run, &address, sizeof address);
    HIP_OK(run(kernel, ++launched, 1, 1, 64, 1, 1, 0, launch_stream, NULL, NULL));
}

static void by_addresses_that_hip_gives(hipFunction_t kernel)
{
    void *address;
    int result, (*by_version)(const char *, void **, int, uint64_t, int *),
        (*by_name)(const char *, void **, unsigned long long, int *);
    newer("hipGetProcAddress", &by_version);
    newer("hipGetDriverEntryPoint", &by_name);
    if (by_version) {
        HIP_OK(by_version("hipModuleLaunchKernel", &address, 60200000, 0, &result));
        by_address(address, kernel);
    }
    if (by_name) {
        HIP_OK(by_name("hipModuleLaunchKernel", &address, 0, &result));
        by_address(address, kernel);
    }
}

/* A kernel of a library that is loaded for it, or NULL. */
static void *library_kernel(const void *code, const char *name, void **library)
{
    void *kernel;
    int (*load)(void **, const void *, void *, void *, unsigned, void *, void *, unsigned),
        (*get)(void **, void *, const char *);
    newer("hipLibraryLoadData", &load);
    newer("hipLibraryGetKernel", &get);
    if (!load) return NULL;
    HIP_OK(load(library, code, NULL, NULL, 0, NULL, NULL, 0));
    HIP_OK(get(&kernel, *library, name));
    return kernel;
}

static void unload_library(void *library)
{
    int (*unload)(void *);
    newer("hipLibraryUnload", &unload);
    HIP_OK(unload(library));
}

/* As it is with modules. */
static void a_kernel_in_the_place_of_an_unloaded_librarys_has_its_own_name(void **state)
{
    (void)state;
    enum { TRIES = 200 };
    void *libraries[TRIES], *code = read_code_object(), *out, *sum = NULL;
    int tries = 0;
    HIP_OK(hipMalloc(&out, 4096));
    void *arguments[] = {&out};
    hb_profiler *prof = capture_start(0);
    void *nop = library_kernel(code, "nop", &libraries[0]);
    if (nop) {
        HIP_OK(launch(nop, 1, NULL, NULL));
        HIP_OK(hipDeviceSynchronize());
        unload_library(libraries[0]);
    }
    while (nop && tries < TRIES && sum != nop)
        sum = library_kernel(code, "sum_table", &libraries[tries++]);
    bool same_place = nop && sum == nop;
    if (same_place) HIP_OK(launch(sum, 1, NULL, arguments));
    HIP_OK(hipDeviceSynchronize());
    while (tries)
        unload_library(libraries[--tries]);
    cJSON *trace = capture_stop(prof);
    assert_int_equal(count_events(trace, "kernel", "nop"), nop != NULL);
    assert_int_equal(count_events(trace, "kernel", "sum_table"), same_place);
    cJSON_Delete(trace);
    HIP_OK(hipFree(out));
    free(code);
}

/* The n-th of a list. */
static double arg_in(const cJSON *event, const char *list, int n)
{
    return cJSON_GetNumberValue(cJSON_GetArrayItem(cJSON_GetObjectItem(args_of(event), list), n));
}

static void new_ways_to_launch_are_seen(void **state)
{
    (void)state;
    void *code = read_code_object();
    hipFunction_t nop = get_kernel(modules[0], "nop");
    HIP_OK(hipStreamCreateWithFlags(&launch_stream, hipStreamNonBlocking));
    launched = 0;
    hb_profiler *prof = capture_start(0);
    by_address((void *)(uintptr_t)hipModuleLaunchKernel, nop);
    by_config(nop);
    by_addresses_that_hip_gives(nop);
    void *library, *kernel = library_kernel(code, "nop", &library);
    if (kernel) {
        by_config(kernel);
        by_host_config(kernel);
        ++launched;
        HIP_OK(hipLaunchKernel(kernel, (dim3){launched, 1, 1}, (dim3){64, 1, 1}, NULL, 0,
                               launch_stream));
    }
    HIP_OK(hipStreamSynchronize(launch_stream));
    cJSON *trace = capture_stop(prof);
    assert_int_equal(count_events(trace, "kernel", NULL), launched);
    for (unsigned i = 0; i < launched; i++) {
        const cJSON *event = nth_event(trace, "kernel", "nop", (int)i);
        assert_int_equal(arg_in(event, "grid", 0), i + 1);
        assert_true(arg(event, "stream") > 0);
    }
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    cJSON_Delete(trace);
    free(code);
    HIP_OK(hipStreamDestroy(launch_stream));
}

/* Of hipExtModuleLaunchKernel(), in C++ only, and its older name: their first sizes count threads.
 */
static void launches_by_threads_show_blocks(void **state)
{
#define LAUNCH_BY_THREADS(name) \
    "_Z24" name "P18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_"
    static const char *const names[][2] = {
        {"hipExtModuleLaunchKernel", LAUNCH_BY_THREADS("hipExtModuleLaunchKernel") "j"},
        {"hipHccModuleLaunchKernel", LAUNCH_BY_THREADS("hipHccModuleLaunchKernel")},
    };
    static const double grid[3] = {5, 3, 4}, block[3] = {32, 2, 1};
    enum { STATIC = 4096, DYNAMIC = 512 }; /* LDS */
    int *data;
    void *arguments[] = {&data};
    (void)state;
    HIP_OK(hipMalloc((void **)&data, 4096));
    for (int i = 0; i < 4; i++) {
        /* Of the second nothing is known but its name. */
        const char *name = names[i % 2][0], *kernel_name = i < 2 ? "reverse" : "nop";
        int (*run)(hipFunction_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
                   size_t, hipStream_t, void **, void **, hipEvent_t, hipEvent_t, uint32_t);
        newer(names[i % 2][1], &run);
        assert_non_null(run);
        hb_profiler *prof = capture_start(0);
        HIP_OK(run(get_kernel(modules[0], kernel_name), 5 * 32, 3 * 2, 4, 32, 2, 1, DYNAMIC, NULL,
                   arguments, NULL, NULL, NULL, 0));
        HIP_OK(hipDeviceSynchronize());
        cJSON *trace = capture_stop(prof);
        const cJSON *kernel = nth_event(trace, "kernel", kernel_name, 0);
        assert_non_null(kernel);
        for (int k = 0; k < 3; k++) {
            assert_true(arg_in(kernel, "grid", k) == grid[k]);
            assert_true(arg_in(kernel, "block", k) == block[k]);
        }
        assert_true(arg(kernel, "shared memory") == (i < 2 ? STATIC + DYNAMIC : 0));
        const cJSON *call = nth_event(trace, "Runtime", name, 0);
        assert_non_null(call);
        assert_true(arg_in(call, "grid", 1) == grid[1]);
        assert_true(arg(call, "shared memory") == DYNAMIC);
        cJSON_Delete(trace);
    }
    HIP_OK(hipFree(data));
}

static __typeof__(hipModuleLaunchKernel) *early_launch;

/* An address of before the first profiler, which nothing can stand in for. */
static void launches_by_an_early_address_are_seen_or_said_to_be_missing(void **state)
{
    (void)state;
    float *data;
    HIP_OK(hipMalloc((void **)&data, 1024));
    int n = 256;
    void *arguments[] = {&data, &data, &data, &n};
    hb_profiler *prof = capture_start(0);
    HIP_OK(early_launch(vadds[0], 1, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL));
    HIP_OK(hipDeviceSynchronize());
    cJSON *trace = capture_stop(prof);
    if (metadata_says(trace, "hipboard_hip_backend", "tracer-hook"))
        assert_int_equal(count_events(trace, "kernel", "vadd"), 1);
    if (metadata_says(trace, "hipboard_hip_backend", "activity-hooks")) {
        assert_int_equal(count_events(trace, "kernel", "(kernel of an unseen call)"), 1);
        assert_true(metadata_says(trace, "hipboard_hip_notes", "1 kernel was launched by calls"));
    }
    cJSON_Delete(trace);
    HIP_OK(hipFree(data));
}

/* Another thread's: the loader shows and counts it before it comes to its imports. */
static void a_library_that_is_just_being_loaded_is_looked_at_again(void **state)
{
    (void)state;
    crafted_begin();
    void **word = crafted_import(0, "hipModuleLaunchKernel", true, STB_GLOBAL);
    hb_profiler *prof = capture_start(0);
    assert_ptr_equal(*word, CRAFTED_UNRELOCATED);
    memcpy(word, &early_launch, sizeof *word);
    assert_int_equal(hb_profiler_step(prof), HB_OK);
    launch_stream = NULL;
    launched = 0;
    by_address(*word, get_kernel(modules[0], "nop"));
    HIP_OK(hipDeviceSynchronize());
    cJSON *trace = capture_stop(prof);
    crafted_end();
    assert_int_equal(count_events(trace, "Runtime", "hipModuleLaunchKernel"), 1);
    assert_int_equal(count_events(trace, "kernel", "nop"), 1);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    cJSON_Delete(trace);
}

static void failing_calls_show_their_error(void **state)
{
    (void)state;
    int device;
    hb_profiler *prof = capture_start(0);
    HIP_IS(hipErrorInvalidValue, hipFree((void *)8));
    HIP_OK(hipDeviceSynchronize());
    HIP_OK(hipGetDevice(&device)); /* too chatty to show */
    (void)hipGetLastError();
    cJSON *trace = capture_stop(prof);
    const cJSON *failed = nth_event(trace, "Runtime", "hipFree", 0);
    assert_non_null(failed);
    assert_string_equal(text_of(args_of(failed), "error"), "hipErrorInvalidValue");
    assert_false(cJSON_HasObjectItem(
        args_of(nth_event(trace, "Runtime", "hipDeviceSynchronize", 0)), "error"));
    assert_int_equal(count_events(trace, "Runtime", NULL), 2); /* nor does hipboard show itself */
    cJSON_Delete(trace);
}

/* Whatever a program passes. */
static void copies_show_their_kind(void **state)
{
    static const struct {
        int kind;
        const char *shown;
    } rows[] = {{0, "0"}, {1, "1"}, {2, "2"},     {3, "3"},   {4, "4"},
                {5, "4"}, {7, "4"}, {30000, "4"}, {1024, "3"}};
    char from[16] = {0}, to[16];
    (void)state;
    hb_profiler *prof = capture_start(0);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        (void)hipMemcpy(to, from, sizeof to, (hipMemcpyKind)rows[i].kind);
    (void)hipGetLastError();
    cJSON *trace = capture_stop(prof);
    for (int i = 0; i < (int)(sizeof rows / sizeof *rows); i++) {
        const cJSON *call = nth_event(trace, "Runtime", "hipMemcpy", i);
        assert_non_null(call);
        assert_string_equal(text_of(args_of(call), "kind"), rows[i].shown);
    }
    cJSON_Delete(trace);
}

/* From host or device to either, by each kind that says so; what the runtime refuses copies
 * nothing. */
static void copies_are_work_of_their_direction(void **state)
{
    enum { BYTES = 4096, BY_ENGINE = 1024 };
    static const struct {
        int to, from, kind; /* 1: on the device */
        const char *work;
    } rows[] = {
        {1, 0, hipMemcpyHostToDevice, "Memcpy HtoD (Host -> Device)"},
        {0, 1, hipMemcpyDeviceToHost, "Memcpy DtoH (Device -> Host)"},
        {1, 1, hipMemcpyDeviceToDevice, "Memcpy DtoD (Device -> Device)"},
        {1, 1, BY_ENGINE, "Memcpy DtoD (Device -> Device)"},
        {1, 0, hipMemcpyDefault, "Memcpy HtoD (Host -> Device)"},
        {0, 1, hipMemcpyDefault, "Memcpy DtoH (Device -> Host)"},
        {1, 1, hipMemcpyDefault, "Memcpy DtoD (Device -> Device)"},
        {0, 0, hipMemcpyHostToHost, NULL},
        {0, 0, hipMemcpyDefault, NULL},
    };
    static char in_host[2][BYTES];
    char *on_device[2];
    (void)state;
    for (int i = 0; i < 2; i++)
        HIP_OK(hipMalloc((void **)&on_device[i], BYTES));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *to = rows[i].to ? on_device[0] : in_host[0];
        const char *from = rows[i].from ? on_device[1] : in_host[1];
        hb_profiler *prof = capture_start(0);
        bool copies = hipMemcpy(to, from, BYTES, (hipMemcpyKind)rows[i].kind) == hipSuccess;
        assert_true(copies || rows[i].kind == BY_ENGINE); /* which HIP knows since 6.0 */
        (void)hipGetLastError();
        HIP_OK(hipDeviceSynchronize());
        cJSON *trace = capture_stop(prof);
        assert_int_equal(count_events(trace, "gpu_memcpy", NULL), copies && rows[i].work);
        assert_int_equal(count_events(trace, "gpu_memcpy", rows[i].work), copies && rows[i].work);
        cJSON_Delete(trace);
    }
    for (int i = 0; i < 2; i++)
        HIP_OK(hipFree(on_device[i]));
}

/* Not what lies between the rows. */
static void rectangles_have_the_bytes_of_their_rows(void **state)
{
    enum { PITCH = 512, WIDTH = 100, ROWS = 7 };
    static char in_host[PITCH * ROWS];
    static const struct {
        const char *call, *work;
    } rows[] = {{"hipMemset2D", "gpu_memset"}, {"hipMemcpy2D", "gpu_memcpy"}};
    char *on_device;
    (void)state;
    HIP_OK(hipMalloc((void **)&on_device, sizeof in_host));
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipMemset2D(on_device, PITCH, 1, WIDTH, ROWS));
    HIP_OK(hipMemcpy2D(in_host, PITCH, on_device, PITCH, WIDTH, ROWS, hipMemcpyDeviceToHost));
    HIP_OK(hipDeviceSynchronize());
    cJSON *trace = capture_stop(prof);
    for (int i = 0; i < 2; i++) {
        const cJSON *call = nth_event(trace, "Runtime", rows[i].call, 0);
        const cJSON *work = nth_event(trace, rows[i].work, NULL, 0);
        assert_non_null(call);
        assert_non_null(work);
        const cJSON *bytes = cJSON_GetObjectItem(args_of(call), "bytes"); /* a copy's are a text */
        assert_int_equal(cJSON_IsString(bytes) ? atoi(bytes->valuestring) : bytes->valueint,
                         WIDTH * ROWS);
        assert_int_equal(number_of(args_of(work), "bytes"), WIDTH * ROWS);
    }
    cJSON_Delete(trace);
    HIP_OK(hipFree(on_device));
}

/* Also the second in a row, one in the middle of good ones, and launches. */
static void each_failure_shows_its_error(void **state)
{
    (void)state;
    float *data;
    int n = 64;
    void *arguments[] = {&data, &data, &data, &n};
    HIP_OK(hipMalloc((void **)&data, 1024));
    hb_profiler *prof = capture_start(0);
    HIP_IS(hipErrorInvalidValue, hipFree((void *)8));
    HIP_IS(hipErrorInvalidValue, hipFree((void *)8));
    HIP_OK(launch_vadd(0, 1, data, NULL));
    hipError_t refused =
        hipModuleLaunchKernel(vadds[0], 1, 1, 1, 1 << 20, 1, 1, 0, NULL, NULL, NULL);
    assert_int_not_equal(refused, hipSuccess);
    HIP_OK(launch_vadd(0, 1, data, NULL));
    /* HIP 5.2 finds out that this is too much when it has made the work. */
    hipError_t too_much =
        hipModuleLaunchKernel(vadds[0], 1, 1, 1, 64, 1, 1, 1 << 20, NULL, arguments, NULL);
    assert_int_not_equal(too_much, hipSuccess);
    cJSON *trace = capture_stop(prof);
    for (int i = 0; i < 2; i++)
        assert_string_equal(text_of(args_of(nth_event(trace, "Runtime", "hipFree", i)), "error"),
                            "hipErrorInvalidValue");
    const hipError_t results[] = {hipSuccess, refused, hipSuccess, too_much};
    for (int i = 0; i < 4; i++)
        assert_string_equal(
            text_of(args_of(nth_event(trace, "Runtime", "hipModuleLaunchKernel", i)), "error"),
            results[i] ? hipGetErrorName(results[i]) : "");
    assert_int_equal(count_events(trace, "kernel", "vadd"), 2);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_hip_notes"));
    cJSON_Delete(trace);
    (void)hipGetLastError();
    HIP_OK(hipFree(data));
}

/* ---- when ---- */

static double end_of(const cJSON *event)
{
    return number_of(event, "ts") + number_of(event, "dur");
}

/* One of each way in which calls are recorded; times are written as whole nanoseconds. */
static void calls_lie_in_their_scopes_one_behind_the_other(void **state)
{
    enum { ROUNDS = 3, CALLS = 8 };
    const double rounded = 0.0015;
    static const char *const names[CALLS] = {
        "hipMalloc", "hipMemset",     "hipMemcpy",       "hipModuleLaunchKernel",
        "hipMemcpy", "hipHostMalloc", "hipStreamCreate", "hipFree",
    };
    static float in_host[64];
    (void)state;
    hb_profiler *prof = capture_start(0);
    for (int i = 0; i < ROUNDS; i++) {
        float *data, *pinned;
        hipStream_t stream;
        HB_OP("scope") {
            HIP_OK(hipMalloc((void **)&data, 1024));
            HIP_OK(hipMemset(data, 0, 1024));
            HIP_OK(hipMemcpy(data, in_host, sizeof in_host, hipMemcpyHostToDevice));
            HIP_OK(launch_vadd(0, 1, data, NULL));
            HIP_OK(hipMemcpy(in_host, data, sizeof in_host, hipMemcpyDeviceToHost));
            HIP_OK(hipHostMalloc((void **)&pinned, 64, 0));
            HIP_OK(hipStreamCreate(&stream));
            HIP_OK(hipFree(data));
        }
        HIP_OK(hipStreamDestroy(stream));
        HIP_OK(hipHostFree(pinned));
    }
    cJSON *trace = capture_stop(prof);
    int copies = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const cJSON *scope = nth_event(trace, "cpu_op", "scope", i);
        assert_non_null(scope);
        double at = number_of(scope, "ts");
        for (int k = 0; k < CALLS; k++) {
            bool copy = strcmp(names[k], "hipMemcpy") == 0;
            const cJSON *call = nth_event(trace, "Runtime", names[k], copy ? copies++ : i);
            assert_non_null(call);
            assert_true(number_of(call, "ts") >= at - rounded);
            at = end_of(call);
        }
        assert_true(at <= end_of(scope) + rounded);
    }
    cJSON_Delete(trace);
}

/* ---- where they are made ---- */

__attribute__((noinline)) static void made_here(void)
{
    HIP_OK(hipSetDevice(0));
    __asm__ volatile("");
}

__attribute__((noinline)) static void made_there(void)
{
    HIP_OK(hipSetDevice(0));
    __asm__ volatile("");
}

__attribute__((noinline)) static void made_once(void)
{
    HIP_OK(hipSetDevice(0));
    __asm__ volatile("");
}

enum { OF_EACH = 3 };

static void *make_of_each(void *unused)
{
    for (int i = 0; i < OF_EACH; i++) {
        made_here();
        made_there();
    }
    return unused;
}

/* A place is written once for a thread and a recording. */
static void every_call_shows_where_it_was_made(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* frames of theirs stand in between */
#endif
    for (int cycle = 0; cycle < 2; cycle++) {
        hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
        o.spool_dir = "";
        o.with_stack = true;
        hb_profiler *prof = hb_profiler_create(&o);
        assert_int_equal(hb_profiler_start(prof), HB_OK);
        pthread_t thread;
        for (volatile int part = 0; part < 2; part++)
            if (part == cycle)
                make_of_each(NULL);
            else
                made_once(); /* last, and then first */
        assert_int_equal(pthread_create(&thread, NULL, make_of_each, NULL), 0);
        pthread_join(thread, NULL);
        cJSON *trace = capture_stop(prof);
        int here = 0, there = 0, once = 0;
        const cJSON *call;
        for (int i = 0; (call = nth_event(trace, "cpu_op", "hipSetDevice", i)); i++) {
            here += was_made_in(call, "made_here");
            there += was_made_in(call, "made_there");
            once += was_made_in(call, "made_once");
        }
        assert_int_equal(here, 2 * OF_EACH);
        assert_int_equal(there, 2 * OF_EACH);
        assert_int_equal(once, 1);
        cJSON_Delete(trace);
    }
}

/* ---- which calls are recorded ---- */

static int count_calls(const cJSON *trace, const char *name)
{
    return count_events(trace, "Runtime", name);
}

static void calls_that_cost_or_order_work_are_recorded(void **state)
{
    (void)state;
    hipStream_t stream;
    hipEvent_t event;
    hipModule_t module;
    hipFunction_t kernel;
    hipDeviceProp_t properties;
    int device, (*record_with_flags)(hipEvent_t, hipStream_t, unsigned);
    newer("hipEventRecordWithFlags", &record_with_flags);
    HIP_OK(hipModuleLoad(&module, TEST_KERNELS));
    HIP_OK(hipStreamCreate(&stream));
    hb_profiler *prof = capture_start(0);
    HIP_OK(hipSetDevice(0));
    HIP_OK(hipGetDeviceProperties(&properties, 0));
    HIP_OK(hipModuleGetFunction(&kernel, module, "vadd"));
    HIP_OK(hipEventCreateWithFlags(&event, hipEventDisableTiming));
    HIP_OK(hipEventRecord(event, stream));
    HIP_OK(hipEventSynchronize(event));
    HIP_OK(hipEventQuery(event));
    if (record_with_flags) assert_int_equal(record_with_flags(event, stream, 0), 0);
    HIP_OK(hipGetDevice(&device));
    HIP_OK(hipGetLastError());
    HIP_OK(hipPeekAtLastError());
    HIP_OK(hipStreamSynchronize(stream));
    cJSON *trace = capture_stop(prof);
    static const char *const once[] = {
        "hipSetDevice",   "hipModuleGetFunction", "hipEventCreateWithFlags",
        "hipEventRecord", "hipEventSynchronize",  "hipEventQuery"};
    for (size_t i = 0; i < sizeof once / sizeof *once; i++)
        assert_int_equal(count_calls(trace, once[i]), 1);
    static const char *const by_release[] = {"", "R0000", "R0600"};
    int asked = 0;
    for (size_t i = 0; i < sizeof by_release / sizeof *by_release; i++) {
        char name[64];
        snprintf(name, sizeof name, "hipGetDeviceProperties%s", by_release[i]);
        asked += count_calls(trace, name);
    }
    assert_int_equal(asked, 1);
    assert_int_equal(count_calls(trace, "hipEventRecordWithFlags"), record_with_flags != NULL);
    static const char *const never[] = {"hipGetDevice", "hipGetLastError", "hipPeekAtLastError"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        assert_int_equal(count_calls(trace, never[i]), 0);
    assert_null(cJSON_GetObjectItem(trace, "hipboard_work_without_call"));
    cJSON_Delete(trace);
    HIP_OK(hipEventDestroy(event));
    HIP_OK(hipStreamDestroy(stream));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_of_any_call_is_that_calls),
        cmocka_unit_test(such_work_stands_on_its_stream),
        cmocka_unit_test(work_on_a_threads_own_stream_is_timed),
        cmocka_unit_test(new_ways_to_launch_are_seen),
        cmocka_unit_test(a_kernel_in_the_place_of_an_unloaded_librarys_has_its_own_name),
        cmocka_unit_test(launches_by_threads_show_blocks),
        cmocka_unit_test(launches_by_an_early_address_are_seen_or_said_to_be_missing),
        cmocka_unit_test(a_library_that_is_just_being_loaded_is_looked_at_again),
        cmocka_unit_test(failing_calls_show_their_error),
        cmocka_unit_test(copies_show_their_kind),
        cmocka_unit_test(copies_are_work_of_their_direction),
        cmocka_unit_test(rectangles_have_the_bytes_of_their_rows),
        cmocka_unit_test(each_failure_shows_its_error),
        cmocka_unit_test(calls_lie_in_their_scopes_one_behind_the_other),
        cmocka_unit_test(every_call_shows_where_it_was_made),
        cmocka_unit_test(calls_that_cost_or_order_work_are_recorded),
    };
    void *address = dlsym(RTLD_DEFAULT, "hipModuleLaunchKernel");
    memcpy(&early_launch, &address, sizeof address);
    setenv("SIMHSA_GPUS", "2", 1);
    capture_prepare();
    return cmocka_run_group_tests(tests, set_up, NULL);
}
