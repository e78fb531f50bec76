/* SPDX-License-Identifier: MIT
 *
 * libamdhip64.so.7, of ROCm 7, on eight MI350X: its calls go by a table, which it registers at the
 * first of them. Memory is the host's and kernels do nothing.
 */
#include "fake.h"

#include <dlfcn.h>
#include <hip/hip_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { VERSION = 70051831, COPY_HTOD = 2, COPY_DTOH = 3, COPY_DTOD = 4 };

extern int rocprofiler_register_library_api_table(const char *name, void *import, uint32_t version,
                                                  void **tables, uint64_t count, uint64_t *id);

static fake_table table;
static __thread int device;
static __thread hipError_t last_error;
static __thread fake_dispatch next_launch;
static __thread int has_next_launch;

/* As rocprofv3 saw them on a machine with eight: PCI bus, device, function. */
static const uint32_t locations[FAKE_GPUS] = {29952, 1280, 25856, 5376, 62720, 34048, 58624, 38144};

/* ---- the table ---- */

static void register_table(void)
{
    static void *tables[1] = {&table};
    uint64_t id;
    if (getenv("FAKE_HIP_UNREGISTERED")) return;
    rocprofiler_register_library_api_table("hip", NULL, VERSION, tables, 1, &id);
}

static void register_once(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_table);
}

static void *enter(const char *function, const void *args, size_t size)
{
    register_once();
    return table.enter ? table.enter(function, args, size) : NULL;
}

static hipError_t leave(void *call, hipError_t result)
{
    if (call) table.exit(call, result);
    if (result != hipSuccess) last_error = result;
    return result;
}

#define CALL(function, ...)             \
    struct {                            \
        __VA_ARGS__;                    \
    } args __attribute__((aligned(8))); \
    memset(&args, 0, sizeof args)
#define ENTER(function) void *call = enter(#function, &args, sizeof args)

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_BOOTTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- devices ---- */

/* Which of the eight a HIP device is; -1: none. */
static int gpu_of(int ordinal)
{
    const char *order = getenv("FAKE_HIP_ORDER");
    if (!order) return ordinal < FAKE_GPUS ? ordinal : -1;
    for (; ordinal > 0 && *order; ordinal--)
        order += strcspn(order, ",") + (strchr(order, ',') != NULL);
    return *order ? atoi(order) : -1;
}

static uint64_t agent_of(int ordinal)
{
    return (uint64_t)(FAKE_FIRST_AGENT + FAKE_CPUS + gpu_of(ordinal));
}

hipError_t hipRuntimeGetVersion(int *version)
{
    CALL(hipRuntimeGetVersion, int *version);
    args.version = version;
    ENTER(hipRuntimeGetVersion);
    *version = VERSION;
    return leave(call, hipSuccess);
}

hipError_t hipInit(unsigned flags)
{
    (void)flags;
    return hipSuccess;
}

hipError_t hipDriverGetVersion(int *version)
{
    *version = VERSION;
    return hipSuccess;
}

hipError_t hipGetDeviceCount(int *count)
{
    CALL(hipGetDeviceCount, int *count);
    args.count = count;
    ENTER(hipGetDeviceCount);
    for (*count = 0; gpu_of(*count) >= 0;)
        ++*count;
    return leave(call, hipSuccess);
}

hipError_t hipGetDevice(int *id)
{
    *id = device;
    return hipSuccess;
}

hipError_t hipSetDevice(int id)
{
    device = id;
    return hipSuccess;
}

hipError_t hipDeviceGetAttribute(int *value, hipDeviceAttribute_t attribute, int id)
{
    (void)id;
    switch ((int)attribute) {
    case hipDeviceAttributeMultiprocessorCount: *value = 256; break;
    case hipDeviceAttributeWarpSize: *value = 64; break;
    case hipDeviceAttributeMaxThreadsPerBlock: *value = 1024; break;
    case hipDeviceAttributeMaxSharedMemoryPerBlock: *value = 65536; break;
    default: *value = 0;
    }
    return hipSuccess;
}

hipError_t hipDeviceGetName(char *name, int size, int id)
{
    (void)id;
    snprintf(name, (size_t)size, "AMD Instinct MI350X (stand-in)");
    return hipSuccess;
}

hipError_t hipDeviceTotalMem(size_t *bytes, int id)
{
    (void)id;
    *bytes = (size_t)288 << 30;
    return hipSuccess;
}

hipError_t hipDeviceGetPCIBusId(char *text, int size, int id)
{
    uint32_t location = locations[gpu_of(id)];
    snprintf(text, (size_t)size, "0000:%02x:%02x.%x", location >> 8, location >> 3 & 31,
             location & 7);
    return hipSuccess;
}

FAKE_API hipError_t hipGetDevicePropertiesR0600(void *properties, int id)
{
    enum { ARCH = 1160, SIZE = 1472 };
    (void)id;
    memset(properties, 0, SIZE);
    strcpy((char *)properties + ARCH, "gfx950:sramecc+:xnack-");
    return hipSuccess;
}

int hipGetStreamDeviceId(hipStream_t stream)
{
    CALL(hipGetStreamDeviceId, hipStream_t stream);
    args.stream = stream;
    ENTER(hipGetStreamDeviceId);
    leave(call, (hipError_t)device);
    last_error = hipSuccess;
    return device;
}

static __thread void (*in_next_wait)(void);

void fake_in_next_wait(void (*what)(void))
{
    in_next_wait = what;
}

hipError_t hipDeviceSynchronize(void)
{
    CALL(hipDeviceSynchronize, char empty);
    ENTER(hipDeviceSynchronize);
    void (*what)(void) = in_next_wait;
    in_next_wait = NULL;
    if (what) what();
    return leave(call, hipSuccess);
}

/* ---- errors ---- */

hipError_t hipPeekAtLastError(void)
{
    return last_error;
}

const char *hipGetErrorName(hipError_t error)
{
    return error == hipErrorOutOfMemory ? "hipErrorOutOfMemory" : "hipErrorUnknown";
}

/* ---- memory ---- */

hipError_t hipMalloc(void **ptr, size_t size)
{
    CALL(hipMalloc, void **ptr; size_t size);
    args.ptr = ptr;
    args.size = size;
    ENTER(hipMalloc);
    size_t *block = size < (size_t)1 << 32 ? malloc(size + 2 * sizeof *block) : NULL;
    if (block) *block = size;
    *ptr = block ? block + 2 : NULL;
    return leave(call, *ptr ? hipSuccess : hipErrorOutOfMemory);
}

/* Rows of whole 256 bytes. */
hipError_t hipMallocPitch(void **ptr, size_t *pitch, size_t width, size_t height)
{
    CALL(hipMallocPitch, void **ptr; size_t * pitch; size_t width, height);
    args.ptr = ptr;
    args.pitch = pitch;
    args.width = width;
    args.height = height;
    ENTER(hipMallocPitch);
    size_t row = (width + 255) / 256 * 256, size = row * height;
    size_t *block = width < (size_t)1 << 32 ? malloc(size + 2 * sizeof *block) : NULL;
    if (block) {
        *block = size;
        *pitch = row;
    }
    *ptr = block ? block + 2 : NULL;
    return leave(call, *ptr ? hipSuccess : hipErrorOutOfMemory);
}

hipError_t hipFree(void *ptr)
{
    CALL(hipFree, void *ptr);
    args.ptr = ptr;
    ENTER(hipFree);
    if (ptr) free((size_t *)ptr - 2);
    return leave(call, hipSuccess);
}

/* The size stands in front of what hipMalloc() returned. */
hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *bytes, hipDeviceptr_t ptr)
{
    *base = ptr;
    *bytes = ((size_t *)ptr)[-2];
    return hipSuccess;
}

static void report_copy(uint32_t operation, uint64_t to, uint64_t from, size_t bytes)
{
    uint64_t begin = now() + 5000;
    fake_copy copy = {to, from, begin, begin + 20000, bytes, operation};
    if (table.copy) table.copy(&copy);
}

hipError_t hipMemcpyAsync(void *dst, const void *src, size_t bytes, hipMemcpyKind kind,
                          hipStream_t stream)
{
    CALL(hipMemcpyAsync, void *dst; const void *src; size_t bytes; hipMemcpyKind kind;
         hipStream_t stream);
    args.dst = dst;
    args.src = src;
    args.bytes = bytes;
    args.kind = kind;
    args.stream = stream;
    ENTER(hipMemcpyAsync);
    memcpy(dst, src, bytes);
    if (kind == hipMemcpyHostToDevice)
        report_copy(COPY_HTOD, agent_of(device), FAKE_FIRST_AGENT, bytes);
    if (kind == hipMemcpyDeviceToHost)
        report_copy(COPY_DTOH, FAKE_FIRST_AGENT, agent_of(device), bytes);
    if (kind == hipMemcpyDeviceToDevice)
        report_copy(COPY_DTOD, agent_of(device), agent_of(device), bytes);
    return leave(call, hipSuccess);
}

/* ---- kernels ---- */

typedef struct kernel {
    fake_symbol symbol;
    struct kernel *next;
} kernel;

static kernel *kernels; /* all that were loaded */

void *fake_load(const fake_symbol *symbol)
{
    kernel *k = malloc(sizeof *k);
    register_once();
    k->symbol = *symbol;
    k->next = kernels;
    kernels = k;
    if (table.load) table.load(symbol);
    return k;
}

void fake_next_launch(const fake_dispatch *dispatch)
{
    next_launch = *dispatch;
    has_next_launch = 1;
}

void fake_run(const fake_dispatch *dispatch)
{
    if (table.dispatch) table.dispatch(dispatch);
}

static void run(const kernel *k, const uint32_t items[3], const uint32_t block[3], uint32_t lds)
{
    fake_dispatch d = {
        .agent = agent_of(device),
        .queue = 1,
        .begin_ns = now() + 10000,
        .group_bytes = k->symbol.group_bytes + lds,
        .private_bytes = k->symbol.private_bytes,
    };
    d.end_ns = d.begin_ns + 50000;
    if (has_next_launch) d = next_launch;
    has_next_launch = 0;
    d.kernel_id = k->symbol.kernel_id;
    for (int i = 0; i < 3; i++) {
        d.grid[i] = items[i];
        d.workgroup[i] = block[i];
    }
    if (table.dispatch) table.dispatch(&d);
}

hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz,
                                 unsigned bx, unsigned by, unsigned bz, unsigned lds,
                                 hipStream_t stream, void **params, void **extra)
{
    CALL(hipModuleLaunchKernel, hipFunction_t f; unsigned grid[3], block[3], lds;
         hipStream_t stream; void **params, **extra);
    args.f = f;
    memcpy(args.grid, (unsigned[]){gx, gy, gz}, sizeof args.grid);
    memcpy(args.block, (unsigned[]){bx, by, bz}, sizeof args.block);
    args.lds = lds;
    args.stream = stream;
    args.params = params;
    args.extra = extra;
    ENTER(hipModuleLaunchKernel);
    run((const kernel *)f, (uint32_t[]){gx * bx, gy * by, gz * bz}, args.block, lds);
    return leave(call, hipSuccess);
}

FAKE_API hipError_t hipExtModuleLaunchKernel(hipFunction_t f, uint32_t gx, uint32_t gy, uint32_t gz,
                                             uint32_t bx, uint32_t by, uint32_t bz, size_t lds,
                                             hipStream_t stream, void **params, void **extra,
                                             hipEvent_t begin, hipEvent_t end, uint32_t flags);

/* Its grid is in work-items. */
hipError_t hipExtModuleLaunchKernel(hipFunction_t f, uint32_t gx, uint32_t gy, uint32_t gz,
                                    uint32_t bx, uint32_t by, uint32_t bz, size_t lds,
                                    hipStream_t stream, void **params, void **extra,
                                    hipEvent_t begin, hipEvent_t end, uint32_t flags)
{
    CALL(hipExtModuleLaunchKernel, hipFunction_t f; uint32_t grid[3], block[3]; size_t lds;
         hipStream_t stream; void **params, **extra; hipEvent_t begin, end; uint32_t flags);
    args.f = f;
    memcpy(args.grid, (uint32_t[]){gx, gy, gz}, sizeof args.grid);
    memcpy(args.block, (uint32_t[]){bx, by, bz}, sizeof args.block);
    args.lds = lds;
    args.stream = stream;
    args.params = params;
    args.extra = extra;
    args.begin = begin;
    args.end = end;
    args.flags = flags;
    ENTER(hipExtModuleLaunchKernel);
    run((const kernel *)f, args.grid, args.block, (uint32_t)lds);
    return leave(call, hipSuccess);
}

hipError_t hipLaunchKernel(const void *f, dim3 grid, dim3 block, void **params, size_t lds,
                           hipStream_t stream)
{
    CALL(hipLaunchKernel, const void *f; dim3 grid, block; void **params; size_t lds;
         hipStream_t stream);
    args.f = f;
    args.grid = grid;
    args.block = block;
    args.params = params;
    args.lds = lds;
    args.stream = stream;
    ENTER(hipLaunchKernel);
    run(f, (uint32_t[]){grid.x * block.x, grid.y * block.y, grid.z * block.z},
        (uint32_t[]){block.x, block.y, block.z}, (uint32_t)lds);
    return leave(call, hipSuccess);
}

/* hipLaunchConfig_t, since HIP 6.4. */
typedef struct launch_config {
    dim3 grid, block;
    size_t lds;
    hipStream_t stream;
} launch_config;

FAKE_API hipError_t hipLaunchKernelExC(const launch_config *config, const void *f, void **params);

hipError_t hipLaunchKernelExC(const launch_config *config, const void *f, void **params)
{
    CALL(hipLaunchKernelExC, const launch_config *config; const void *f; void **params);
    args.config = config;
    args.f = f;
    args.params = params;
    ENTER(hipLaunchKernelExC);
    dim3 grid = config->grid, block = config->block;
    run(f, (uint32_t[]){grid.x * block.x, grid.y * block.y, grid.z * block.z},
        (uint32_t[]){block.x, block.y, block.z}, (uint32_t)config->lds);
    return leave(call, hipSuccess);
}

/* HIP_LAUNCH_CONFIG. */
typedef struct module_config {
    uint32_t grid[3], block[3], lds;
    hipStream_t stream;
} module_config;

FAKE_API hipError_t hipDrvLaunchKernelEx(const module_config *config, hipFunction_t f,
                                         void **params, void **extra);
FAKE_API hipError_t hipGetProcAddress(const char *name, void **function, int version,
                                      uint64_t flags, void *found);
FAKE_API hipError_t hipGetDriverEntryPoint(const char *name, void **function,
                                           unsigned long long flags, int *found);
FAKE_API hipError_t hipLibraryLoadData(void **library, const void *code, void *options,
                                       void *values, unsigned count, void *library_options,
                                       void *library_values, unsigned library_count);
FAKE_API hipError_t hipLibraryGetKernel(void **function, void *library, const char *name);
FAKE_API hipError_t hipLibraryUnload(void *library);

hipError_t hipDrvLaunchKernelEx(const module_config *config, hipFunction_t f, void **params,
                                void **extra)
{
    CALL(hipDrvLaunchKernelEx, const module_config *config; hipFunction_t f;
         void **params, **extra);
    args.config = config;
    args.f = f;
    args.params = params;
    args.extra = extra;
    ENTER(hipDrvLaunchKernelEx);
    const uint32_t *grid = config->grid, *block = config->block;
    run((const kernel *)f, (uint32_t[]){grid[0] * block[0], grid[1] * block[1], grid[2] * block[2]},
        block, config->lds);
    return leave(call, hipSuccess);
}

/* What it gives goes by the table as well. */
static hipError_t give_address(const char *name, void **function)
{
    void *self = dlopen("libamdhip64.so.7", RTLD_LAZY | RTLD_NOLOAD);
    *function = self ? dlsym(self, name) : NULL;
    if (self) dlclose(self);
    return *function ? hipSuccess : hipErrorNotFound;
}

hipError_t hipGetProcAddress(const char *name, void **function, int version, uint64_t flags,
                             void *found)
{
    CALL(hipGetProcAddress, const char *name; void **function; int version; uint64_t flags;
         void *found);
    args.name = name;
    args.function = function;
    args.version = version;
    args.flags = flags;
    args.found = found;
    ENTER(hipGetProcAddress);
    return leave(call, give_address(name, function));
}

hipError_t hipGetDriverEntryPoint(const char *name, void **function, unsigned long long flags,
                                  int *found)
{
    CALL(hipGetDriverEntryPoint, const char *name; void **function; unsigned long long flags;
         int *found);
    args.name = name;
    args.function = function;
    args.flags = flags;
    args.found = found;
    ENTER(hipGetDriverEntryPoint);
    return leave(call, give_address(name, function));
}

/* The code of a library is a kernel's symbol. */
hipError_t hipLibraryLoadData(void **library, const void *code, void *options, void *values,
                              unsigned count, void *library_options, void *library_values,
                              unsigned library_count)
{
    CALL(hipLibraryLoadData, void **library; const void *code; void *options, *values;
         unsigned count; void *library_options, *library_values; unsigned library_count);
    args.library = library;
    args.code = code;
    args.options = options;
    args.values = values;
    args.count = count;
    args.library_options = library_options;
    args.library_values = library_values;
    args.library_count = library_count;
    ENTER(hipLibraryLoadData);
    *library = fake_load(code);
    return leave(call, hipSuccess);
}

hipError_t hipLibraryGetKernel(void **function, void *library, const char *name)
{
    CALL(hipLibraryGetKernel, void **function; void *library; const char *name);
    args.function = function;
    args.library = library;
    args.name = name;
    ENTER(hipLibraryGetKernel);
    *function = library;
    return leave(call, hipSuccess);
}

hipError_t hipLibraryUnload(void *library)
{
    CALL(hipLibraryUnload, void *library);
    args.library = library;
    ENTER(hipLibraryUnload);
    return leave(call, hipSuccess);
}

/* Old, and not in hipboard's table of functions. */
hipError_t hipLaunchByPtr(const void *f)
{
    CALL(hipLaunchByPtr, const void *f);
    args.f = f;
    ENTER(hipLaunchByPtr);
    run(f, (uint32_t[]){64, 1, 1}, (uint32_t[]){64, 1, 1}, 0);
    return leave(call, hipSuccess);
}

/* By a kernel of the runtime's own, as ROCm does it. */
hipError_t hipMemsetAsync(void *dst, int value, size_t bytes, hipStream_t stream)
{
    static kernel fill = {{9000, "__amd_rocclr_fillBufferAligned.kd", 0, 0, 16, 8, 0}, NULL};
    static int loaded;
    CALL(hipMemsetAsync, void *dst; int value; size_t bytes; hipStream_t stream);
    args.dst = dst;
    args.value = value;
    args.bytes = bytes;
    args.stream = stream;
    ENTER(hipMemsetAsync);
    if (!loaded++ && table.load) table.load(&fill.symbol);
    memset(dst, value, bytes);
    run(&fill, (uint32_t[]){512, 1, 1}, (uint32_t[]){512, 1, 1}, 0);
    return leave(call, hipSuccess);
}

/* A graph of two kernels: `exec` is an array of what fake_load() returned. */
hipError_t hipGraphLaunch(hipGraphExec_t exec, hipStream_t stream)
{
    CALL(hipGraphLaunch, hipGraphExec_t exec; hipStream_t stream);
    args.exec = exec;
    args.stream = stream;
    ENTER(hipGraphLaunch);
    for (int i = 0; i < 2; i++)
        run(((const kernel *const *)exec)[i], (uint32_t[]){1000, 2, 1}, (uint32_t[]){256, 1, 1}, 0);
    return leave(call, hipSuccess);
}

hipError_t hipStreamSynchronize(hipStream_t stream)
{
    CALL(hipStreamSynchronize, hipStream_t stream);
    args.stream = stream;
    ENTER(hipStreamSynchronize);
    return leave(call, hipSuccess);
}
