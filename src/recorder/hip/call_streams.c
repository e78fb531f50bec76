/* SPDX-License-Identifier: MIT */
#include "hip/call_streams.h"

#include "hip/busy_streams.h"
#include "hip/known_devices.h"
#include "hip/launches.h"
#include "hip/mempools.h"

static int16_t ask_device(uint64_t stream)
{
    const hb_hip *hip = hb_calls_runtime.hip;
    int device = hip->stream_device ? hip->stream_device((void *)(uintptr_t)stream) : -1;
    return device >= 0 && device < HB_HIP_MAX_DEVICES ? (int16_t)device : -1;
}

/* Which of the thread's own, or any, is meant, another thread can't ask about. */
static bool can_be_asked_about(const hb_frame *f, uint64_t stream)
{
    enum { STREAM_PER_THREAD = 2 };
    if (stream) return stream != STREAM_PER_THREAD;
    return !f->is.per_thread && hb_calls_runtime.no_stream[f->cid] == HB_NULL_STREAM;
}

/* It may have begun before the session did, or on another thread. */
static void find_capture(hb_frame *f, uint64_t stream)
{
    uint32_t ended = atomic_load(&hb_captures_ended);
    if (hb_stream_is_nameless(stream) || hb_calls_capture(hb_thread_tls->calls)) return;
    if (hb_hip_is_captured(hb_calls_runtime.hip, hb_arg_pointer(stream)))
        hb_calls_join_capture(f, ended);
}

static int16_t learn(hb_frame *f, uint64_t stream)
{
    hb_known_stream *s = hb_known_stream_place(stream);
    uint32_t now = atomic_load_explicit(&hb_calls_stream_generation, memory_order_relaxed);
    int16_t device = ask_device(stream);
    if (device < 0) return -1;
    hb_known_devices_look(hb_calls_runtime.hip);
    if (!can_be_asked_about(f, stream)) {
        hb_busy_streams_add_unknown(device);
        return device;
    }
    if (s->stream == stream && s->generation == now && s->device == device) return device;
    find_capture(f, stream);
    hb_busy_streams_add(stream, device);
    *s = (hb_known_stream){.stream = stream, .generation = now, .device = device};
    return device;
}

int16_t hb_call_learn_stream(hb_frame *f, uint64_t stream)
{
    bool was = hb_calls_enter_own();
    int16_t device = learn(f, stream);
    hb_calls_leave_own(was);
    return device;
}

void hb_call_destroys_streams(const hb_hip_call *call, const char *args)
{
    uint64_t stream = 0;
    hb_calls_outdate_streams();
    if (call->stream == HB_NO_ARG) { /* hipDeviceReset() */
        hb_busy_streams_all_gone();
        hb_pools_forget();
        return;
    }
    memcpy(&stream, args + call->stream, sizeof stream);
    if (!hb_stream_is_nameless(stream)) hb_busy_streams_gone(stream);
}
