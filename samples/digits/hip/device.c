/* SPDX-License-Identifier: MIT */
#include "device.h"

#include "../die.h"
#include "../hip.h"
#include "../report.h"
#include "runtime.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

static const char *const kernel_names[NUM_KERNELS] = {
#define KERNEL_NAME(name) #name,
    KERNELS(KERNEL_NAME)
#undef KERNEL_NAME
};

/* For --report: launches of a cycle that are timed, each between two events. */
enum { MAX_TIMED = 512 };

struct timed {
    enum kernel kernel;
    hipEvent_t begin, end;
};

static struct {
    char name[256];
    hipModule_t module;
    hipFunction_t functions[NUM_KERNELS];
    hipStream_t compute, uploads;
    struct {
        hipEvent_t copied;   /* in uploads: the batch is there */
        hipEvent_t released; /* in compute: it is no longer needed */
    } slots[TRANSFER_SLOTS];
    float *scratch, *host_scratch; /* one number, there and here */
    struct timed timed[MAX_TIMED]; /* events only with --report */
    int num_timed;
} gpu;

/* ---- beginning and end ---- */

const char *hip_device_name(void)
{
    return gpu.name;
}

/* A file of code objects, which may be compressed. */
static void *read_code(const char *path)
{
    size_t size = 0, capacity = 0;
    char *code = NULL;
    gzFile file = gzopen(path, "rb");
    if (!file) die("cannot read the kernels in %s: %s", path, strerror(errno));
    for (int got = 1; got > 0; size += (size_t)got) {
        if (size == capacity) code = realloc(code, capacity = 2 * capacity + (1 << 16));
        if (!code) die("out of memory for the kernels in %s", path);
        got = gzread(file, code + size, (unsigned)(capacity - size));
        if (got < 0) die("cannot read the kernels in %s: %s", path, gzerror(file, &got));
    }
    gzclose(file);
    return code;
}

static void load_kernels(const char *path)
{
    void *code = read_code(path);
    hipError_t error = hip.ModuleLoadData(&gpu.module, code);
    if (error != hipSuccess)
        die("%s cannot be used on %s (%s): it may lack code for this GPU; build anew with a hipcc "
            "that knows it",
            path, gpu.name, hip.GetErrorName(error));
    free(code);
    for (int i = 0; i < NUM_KERNELS; i++)
        OK(hip.ModuleGetFunction(&gpu.functions[i], gpu.module, kernel_names[i]));
}

static void open_slots(void)
{
    for (int i = 0; i < TRANSFER_SLOTS; i++) {
        OK(hip.EventCreate(&gpu.slots[i].copied));
        OK(hip.EventCreate(&gpu.slots[i].released));
        /* So that even the first to wait for them waits for something. */
        OK(hip.EventRecord(gpu.slots[i].copied, gpu.uploads));
        OK(hip.EventRecord(gpu.slots[i].released, gpu.compute));
    }
}

/* Made beforehand, so that traces do not show it. */
static void open_timed(void)
{
    for (int i = 0; i < MAX_TIMED; i++) {
        OK(hip.EventCreate(&gpu.timed[i].begin));
        OK(hip.EventCreate(&gpu.timed[i].end));
    }
}

static void find_device(void)
{
    int count = 0;
    const char *why = hip_load();
    if (why) die("no AMD GPU: %s", why);
    hipError_t error = hip.GetDeviceCount(&count);
    if (error != hipSuccess || count == 0) die("no AMD GPU: %s", hip.GetErrorName(error));
    OK(hip.DeviceGetName(gpu.name, sizeof gpu.name, 0));
}

void hip_device_open(const char *code)
{
    find_device();
    OK(hip.StreamCreateWithFlags(&gpu.compute, hipStreamNonBlocking));
    OK(hip.StreamCreateWithFlags(&gpu.uploads, hipStreamNonBlocking));
    load_kernels(code);
    open_slots();
    if (report_enabled()) open_timed();
    OK(hip.Malloc((void **)&gpu.scratch, sizeof *gpu.scratch));
    OK(hip.HostMalloc((void **)&gpu.host_scratch, sizeof *gpu.host_scratch, hipHostMallocDefault));
}

static void close_events(void)
{
    for (int i = 0; i < TRANSFER_SLOTS; i++) {
        OK(hip.EventDestroy(gpu.slots[i].copied));
        OK(hip.EventDestroy(gpu.slots[i].released));
    }
    for (int i = 0; i < MAX_TIMED && gpu.timed[i].begin; i++) {
        OK(hip.EventDestroy(gpu.timed[i].begin));
        OK(hip.EventDestroy(gpu.timed[i].end));
    }
}

void hip_close(void)
{
    OK(hip.StreamSynchronize(gpu.uploads));
    OK(hip.StreamSynchronize(gpu.compute));
    close_events();
    OK(hip.HostFree(gpu.host_scratch));
    OK(hip.Free(gpu.scratch));
    OK(hip.ModuleUnload(gpu.module));
    OK(hip.StreamDestroy(gpu.uploads));
    OK(hip.StreamDestroy(gpu.compute));
}

/* ---- memory ---- */

void *hip_obtain(size_t bytes)
{
    void *block;
    return hip.Malloc(&block, bytes) == hipSuccess ? block : NULL;
}

void hip_release(void *block)
{
    OK(hip.Free(block));
}

static void *obtain_pinned(size_t bytes)
{
    void *block;
    return hip.HostMalloc(&block, bytes, hipHostMallocDefault) == hipSuccess ? block : NULL;
}

static void release_pinned(void *block)
{
    OK(hip.HostFree(block));
}

void hip_zero(void *device, size_t bytes)
{
    OK(hip.MemsetAsync(device, 0, bytes, gpu.compute));
}

float *hip_scratch(void)
{
    return gpu.scratch;
}

float hip_read(const float *device)
{
    OK(hip.MemcpyAsync(gpu.host_scratch, device, sizeof *device, hipMemcpyDeviceToHost,
                       gpu.compute));
    OK(hip.StreamSynchronize(gpu.compute));
    return *gpu.host_scratch;
}

/* ---- copies ---- */

static void to_device(void *device, const void *host, size_t bytes)
{
    OK(hip.MemcpyAsync(device, host, bytes, hipMemcpyHostToDevice, gpu.compute));
    OK(hip.StreamSynchronize(gpu.compute));
}

static void to_host(void *host, const void *device, size_t bytes)
{
    OK(hip.MemcpyAsync(host, device, bytes, hipMemcpyDeviceToHost, gpu.compute));
    OK(hip.StreamSynchronize(gpu.compute));
}

static void slot_begin(int slot)
{
    OK(hip.EventSynchronize(gpu.slots[slot].copied));
    OK(hip.StreamWaitEvent(gpu.uploads, gpu.slots[slot].released, 0));
}

static void slot_copy(void *device, const void *host, size_t bytes)
{
    OK(hip.MemcpyAsync(device, host, bytes, hipMemcpyHostToDevice, gpu.uploads));
}

static void slot_end(int slot)
{
    OK(hip.EventRecord(gpu.slots[slot].copied, gpu.uploads));
    OK(hip.StreamWaitEvent(gpu.compute, gpu.slots[slot].copied, 0));
}

static void slot_release(int slot)
{
    OK(hip.EventRecord(gpu.slots[slot].released, gpu.compute));
}

const struct transfers hip_transfers = {
    .host_memory = {.device_type = HB_DEVICE_CPU,
                    .obtain = obtain_pinned,
                    .release = release_pinned},
    .to_device = to_device,
    .to_host = to_host,
    .slot_begin = slot_begin,
    .slot_copy = slot_copy,
    .slot_end = slot_end,
    .slot_release = slot_release,
};

/* ---- launches ---- */

static void launch(enum kernel kernel, struct grid grid, void *args)
{
    OK(hip.ModuleLaunchKernel(gpu.functions[kernel], grid.x, grid.y, grid.z, KERNEL_BLOCK, 1, 1, 0,
                              gpu.compute, (void *[]){args}, NULL));
}

void hip_launch(enum kernel kernel, struct grid grid, void *args)
{
    if (!report_counts()) {
        launch(kernel, grid, args);
        return;
    }
    if (gpu.num_timed == MAX_TIMED) die("--report times at most %d launches a cycle", MAX_TIMED);
    struct timed *timed = &gpu.timed[gpu.num_timed++];
    timed->kernel = kernel;
    OK(hip.EventRecord(timed->begin, gpu.compute));
    launch(kernel, grid, args);
    OK(hip.EventRecord(timed->end, gpu.compute));
}

void hip_report_times(void)
{
    float milliseconds;
    OK(hip.StreamSynchronize(gpu.compute));
    for (int i = 0; i < gpu.num_timed; i++) {
        const struct timed *timed = &gpu.timed[i];
        OK(hip.EventElapsedTime(&milliseconds, timed->begin, timed->end));
        report_kernel_timed(kernel_names[timed->kernel], 1e3 * (double)milliseconds);
    }
    gpu.num_timed = 0;
}
