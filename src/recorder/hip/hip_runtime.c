/* SPDX-License-Identifier: MIT */
#include "hip/hip_runtime.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>

/* Newest first. The last is the name in PyTorch's wheels. */
static const char *const sonames[] = {
    "libamdhip64.so.7",
    "libamdhip64.so.6",
    "libamdhip64.so.5",
    "libamdhip64.so",
};

/* hipDeviceAttribute_t and hipDeviceProp_t, the same in all versions with the names below. */
enum {
    ATTRIBUTE_CLOCK = 5,
    ATTRIBUTE_INTEGRATED = 16,
    ATTRIBUTE_MAJOR = 23,
    ATTRIBUTE_THREADS_PER_BLOCK = 56,
    ATTRIBUTE_THREADS_PER_CU = 57,
    ATTRIBUTE_MEMORY_BUS = 59,
    ATTRIBUTE_MEMORY_CLOCK = 60,
    ATTRIBUTE_MINOR = 61,
    ATTRIBUTE_CUS = 63,
    ATTRIBUTE_REGISTERS_PER_BLOCK = 71,
    ATTRIBUTE_SHARED_PER_BLOCK = 74,
    ATTRIBUTE_WARP_SIZE = 87,
    ATTRIBUTE_SHARED_PER_CU = 10002,
    PROPERTIES_MAX_BYTES = 4096,
    ARCH_OFFSET = 396,        /* of gcnArchName */
    ARCH_OFFSET_R0600 = 1160, /* since HIP 6 */
};

void hb_hip_symbol(const hb_hip *hip, const char *name, void *function_pointer)
{
    void *address = dlsym(hip->library, name);
    memcpy(function_pointer, &address, sizeof address);
}

static const struct {
    const char *name;
    size_t offset;
} symbols[] = {
    {"hipRuntimeGetVersion", offsetof(hb_hip, runtime_get_version)},
    {"hipDriverGetVersion", offsetof(hb_hip, driver_get_version)},
    {"hipGetDeviceCount", offsetof(hb_hip, get_device_count)},
    {"hipGetDevice", offsetof(hb_hip, get_device)},
    {"hipSetDevice", offsetof(hb_hip, set_device)},
    {"hipDeviceGetAttribute", offsetof(hb_hip, device_get_attribute)},
    {"hipDeviceGetName", offsetof(hb_hip, device_get_name)},
    {"hipDeviceTotalMem", offsetof(hb_hip, device_total_mem)},
    {"hipDeviceGetPCIBusId", offsetof(hb_hip, device_get_pci_bus_id)},
    {"hipDeviceSynchronize", offsetof(hb_hip, device_synchronize)},
    {"hipStreamQuery", offsetof(hb_hip, stream_query)},
    {"hipStreamSynchronize", offsetof(hb_hip, stream_synchronize)},
    {"hipStreamIsCapturing", offsetof(hb_hip, stream_is_capturing)},
    {"hipThreadExchangeStreamCaptureMode", offsetof(hb_hip, exchange_capture_mode)},
    {"hipPeekAtLastError", offsetof(hb_hip, peek_at_last_error)},
    {"hipGetLastError", offsetof(hb_hip, get_last_error)},
    {"hipGetErrorName", offsetof(hb_hip, get_error_name)},
    {"hipGetStreamDeviceId", offsetof(hb_hip, stream_device)},
    {"hipPointerGetAttributes", offsetof(hb_hip, pointer_get_attributes)},
    {"hipMemGetAddressRange", offsetof(hb_hip, mem_get_address_range)},
    {"hipDeviceGetMemPool", offsetof(hb_hip, device_get_mem_pool)},
    {"hipMemPoolGetAttribute", offsetof(hb_hip, mem_pool_get_attribute)},
    {"hipFuncGetAttribute", offsetof(hb_hip, func_get_attribute)},
    {"hipFuncGetAttributes", offsetof(hb_hip, func_get_attributes)},
    {"hipKernelNameRef", offsetof(hb_hip, kernel_name)},
    {"hipKernelNameRefByPtr", offsetof(hb_hip, kernel_name_by_host)},
    {"hipApiName", offsetof(hb_hip, api_name)},
    {"__cxa_demangle", offsetof(hb_hip, demangle)}, /* in the C++ library that the runtime needs */
};

static bool open_runtime(hb_hip *hip, const char *name, int flags)
{
    hip->library = dlopen(name, RTLD_LAZY | flags);
    hip->soname = name;
    return hip->library != NULL;
}

static bool open_any(hb_hip *hip, int flags)
{
    *hip = (hb_hip){0};
    for (size_t i = 0; i < HB_ARRAY_LEN(sonames); i++)
        if (open_runtime(hip, sonames[i], flags)) return true;
    return false;
}

/* libamdhip64.so.5.2.21153; wheels of PyTorch have no numbers in theirs. */
static int release_by_name(const hb_hip *hip)
{
    char path[PATH_MAX];
    int major, minor, patch;
    hb_hip_path(hip, path, sizeof path);
    const char *numbers = strstr(path, ".so.");
    if (!numbers || sscanf(numbers, ".so.%d.%d.%d", &major, &minor, &patch) != 3) return 0;
    return major * 100 + minor;
}

static void look_into(hb_hip *hip)
{
    for (size_t i = 0; i < HB_ARRAY_LEN(symbols); i++)
        hb_hip_symbol(hip, symbols[i].name, (char *)hip + symbols[i].offset);
    hb_hip_symbol(hip, "hipGetDevicePropertiesR0600", &hip->get_device_properties);
    if (!hip->get_device_properties)
        hb_hip_symbol(hip, "hipGetDeviceProperties", &hip->get_device_properties);
    hip->release = release_by_name(hip);
}

bool hb_hip_find(hb_hip *hip)
{
    if (!open_any(hip, RTLD_NOLOAD)) return false;
    look_into(hip);
    return true;
}

bool hb_hip_load(hb_hip *hip)
{
    if (hb_hip_find(hip)) return true;
    /* Where AMD's own packages put it, which the system's loader need not know. */
    if (!open_any(hip, 0) && !open_runtime(hip, "/opt/rocm/lib/libamdhip64.so", 0)) return false;
    look_into(hip);
    return true;
}

void hb_hip_ask_versions(hb_hip *hip)
{
    if (hip->runtime_get_version) hip->runtime_get_version(&hip->version);
    if (hip->driver_get_version) hip->driver_get_version(&hip->driver_version);
}

bool hb_hip_is_captured(const hb_hip *hip, void *stream)
{
    enum { CAPTURE_STATUS_NONE = 0 }; /* hipStreamCaptureStatusNone */
    int status = CAPTURE_STATUS_NONE;
    if (!hip->stream_is_capturing) return false;
    int error = hip->stream_is_capturing(stream, &status);
    return error ? hb_hip_refused_for_capture(error) : status != CAPTURE_STATUS_NONE;
}

void hb_hip_spare_captures(const hb_hip *hip)
{
    int mode = 2; /* hipStreamCaptureModeRelaxed */
    if (hip->exchange_capture_mode) hip->exchange_capture_mode(&mode);
}

void hb_hip_path(const hb_hip *hip, char *path, size_t size)
{
    struct link_map *map;
    char real[PATH_MAX];
    if (dlinfo(hip->library, RTLD_DI_LINKMAP, &map) != 0) {
        snprintf(path, size, "%s", hip->soname);
        return;
    }
    snprintf(path, size, "%s", realpath(map->l_name, real) ? real : map->l_name);
}

const char *hb_hip_error_name(const hb_hip *hip, int error)
{
    const char *name = hip->get_error_name ? hip->get_error_name(error) : NULL;
    return name ? name : "";
}

static int32_t attribute(const hb_hip *hip, int which, int id)
{
    int value = 0;
    return hip->device_get_attribute(&value, which, id) == 0 ? value : 0;
}

static void copy_arch(const hb_hip *hip, int id, hb_hip_device *device)
{
    static const char r0600[] = "hipGetDevicePropertiesR0600";
    _Alignas(16) char properties[PROPERTIES_MAX_BYTES] = "";
    int (*newer)(void *, int);
    hb_hip_symbol(hip, r0600, &newer);
    if (!hip->get_device_properties || hip->get_device_properties(properties, id) != 0) return;
    const char *arch = properties + (newer ? ARCH_OFFSET_R0600 : ARCH_OFFSET);
    snprintf(device->arch, sizeof device->arch, "%.*s", (int)sizeof device->arch - 1, arch);
}

bool hb_hip_device_get(const hb_hip *hip, int id, hb_hip_device *device)
{
    size_t memory = 0;
    *device = (hb_hip_device){0};
    if (!hip->device_get_attribute || !hip->device_get_name || !hip->device_total_mem) return false;
    if (hip->device_get_name(device->name, sizeof device->name, id) != 0) return false;
    if (hip->device_total_mem(&memory, id) != 0) return false;
    copy_arch(hip, id, device);
    device->total_global_mem = memory;
    if (hip->device_get_pci_bus_id &&
        hip->device_get_pci_bus_id(device->pci, sizeof device->pci - 1, id) != 0)
        device->pci[0] = '\0';
    device->compute_major = attribute(hip, ATTRIBUTE_MAJOR, id);
    device->compute_minor = attribute(hip, ATTRIBUTE_MINOR, id);
    device->max_threads_per_block = attribute(hip, ATTRIBUTE_THREADS_PER_BLOCK, id);
    device->max_threads_per_cu = attribute(hip, ATTRIBUTE_THREADS_PER_CU, id);
    device->regs_per_block = attribute(hip, ATTRIBUTE_REGISTERS_PER_BLOCK, id);
    device->warp_size = attribute(hip, ATTRIBUTE_WARP_SIZE, id);
    device->num_cus = attribute(hip, ATTRIBUTE_CUS, id);
    device->shared_mem_per_block = attribute(hip, ATTRIBUTE_SHARED_PER_BLOCK, id);
    device->shared_mem_per_cu = attribute(hip, ATTRIBUTE_SHARED_PER_CU, id);
    device->clock_khz = attribute(hip, ATTRIBUTE_CLOCK, id);
    device->memory_khz = attribute(hip, ATTRIBUTE_MEMORY_CLOCK, id);
    device->memory_bus_bits = attribute(hip, ATTRIBUTE_MEMORY_BUS, id);
    device->integrated = attribute(hip, ATTRIBUTE_INTEGRATED, id) != 0;
    return true;
}

/* hipPointerAttribute_t begins so in all versions; the numbers of kinds are others since HIP 6. */
bool hb_hip_memory_of(const hb_hip *hip, const void *address, hb_hip_memory *memory)
{
    struct {
        int32_t kind, device;
        void *on_device, *on_host;
        int32_t is_managed, rest[64];
    } attributes = {.device = -1};
    *memory = (hb_hip_memory){0};
    if (!hip->pointer_get_attributes || hip->pointer_get_attributes(&attributes, address) != 0)
        return false;
    int host = hb_hip_release(hip) >= 600 ? 1 : 0, device = host + 1;
    memory->device = HB_MAX(attributes.device, 0);
    memory->on_device = attributes.kind == device || attributes.is_managed;
    memory->on_host = attributes.kind == host && !attributes.is_managed;
    return true;
}

bool hb_hip_is_device_memory(const hb_hip *hip, const void *address, bool *unsure)
{
    hb_hip_memory memory;
    bool keeps_errors = hb_hip_release(hip) >= 700; /* until they are asked for */
    bool can_ask = hip->pointer_get_attributes && hip->peek_at_last_error && hip->get_last_error;
    if (!can_ask || (keeps_errors && hip->peek_at_last_error() != 0)) {
        *unsure = true;
        return false;
    }
    bool known = hb_hip_memory_of(hip, address, &memory);
    if (!known && keeps_errors) hip->get_last_error();
    return known && memory.on_device;
}
