/* SPDX-License-Identifier: MIT */
#include "hip/call_copies.h"

#include <stdatomic.h>

#include "hip/calls_runtime.h"

static inline const hb_hip *hip(void)
{
    return hb_calls_runtime.hip;
}

static inline void *pointer(uint64_t value)
{
    return (void *)(uintptr_t)value;
}

int hb_copy_device_of(const void *ptr)
{
    hb_hip_memory memory;
    (void)hb_hip_memory_of(hip(), ptr, &memory);
    return memory.device;
}

static bool has_peers(void)
{
    static atomic_int devices; /* 0: not asked yet */
    int n = atomic_load_explicit(&devices, memory_order_relaxed);
    if (n == 0) {
        if (!hip()->get_device_count || hip()->get_device_count(&n) != 0) n = 1;
        atomic_store_explicit(&devices, n, memory_order_relaxed);
    }
    return n > 1;
}

/* Programs also copy between devices by plain hipMemcpy(), and hipMemcpyPeer() itself does so in
 * some runtimes. */
void hb_copy_find_devices(hb_record_copy *r)
{
    if (r->kind != HB_COPY_KIND_WITHIN || r->from_device >= 0 || !has_peers()) return;
    r->from_device = (int16_t)hb_copy_device_of(pointer(r->src));
    r->to_device = (int16_t)hb_copy_device_of(pointer(r->dst));
}

/* Of those without an argument for it. */
int32_t hb_copy_kind_of(const hb_hip_call *call)
{
    if (call->src == HB_NO_ARG) return -1;
    if (strstr(call->name, "HtoD")) return HB_COPY_KIND_TO_DEVICE;
    if (strstr(call->name, "DtoH")) return HB_COPY_KIND_TO_HOST;
    return strstr(call->name, "DtoD") ? HB_COPY_KIND_WITHIN : HB_COPY_KIND_DEFAULT;
}

/* The runtime reports a small copy from or to pinned memory as one within the device, as a kernel
 * of it does the work: so the call is believed. */
uint8_t hb_copy_direction(const hb_record_copy *r)
{
    bool unsure = false;
    switch (r->kind) {
    case HB_COPY_KIND_TO_DEVICE: return HB_WORK_HTOD;
    case HB_COPY_KIND_TO_HOST: return HB_WORK_DTOH;
    case HB_COPY_KIND_WITHIN: return HB_WORK_DTOD;
    case HB_COPY_KIND_DEFAULT: break;
    default: return HB_COPY_WITHIN_HOST;
    }
    bool from_device = hb_hip_is_device_memory(hip(), pointer(r->src), &unsure);
    bool to_device = hb_hip_is_device_memory(hip(), pointer(r->dst), &unsure);
    if (unsure) return 0;
    if (from_device) return to_device ? HB_WORK_DTOD : HB_WORK_DTOH;
    return to_device ? HB_WORK_HTOD : HB_COPY_WITHIN_HOST;
}
