/* SPDX-License-Identifier: MIT
 *
 * The stream that a call makes work on: whose device it is, and that the session's end has to ask
 * about it. Each thread keeps what it has learnt.
 */
#ifndef HB_HIP_CALL_STREAMS_H
#define HB_HIP_CALL_STREAMS_H

#include "hip/calls_runtime.h"

/** Those without a handle of their own: only the runtime knows whose they are now. */
static inline bool hb_stream_is_nameless(uint64_t stream)
{
    enum { STREAM_PER_THREAD = 2 };
    return stream <= STREAM_PER_THREAD;
}

static inline hb_known_stream *hb_known_stream_place(uint64_t stream)
{
    hb_calls *c = hb_thread_tls->calls;
    uint64_t mixed = stream * 0x9e3779b97f4a7c15u;
    return &c->streams[mixed >> 60]; /* HB_CALLS_KNOWN_STREAMS */
}

/** The device, asked of the runtime; -1: it does not say. A stream that is being captured into a
 * graph makes its call one that is captured. */
HB_COLD int16_t hb_call_learn_stream(hb_frame *f, uint64_t stream);

/** The same, for the calling thread's call. */
static inline int16_t hb_call_device_of(hb_frame *f, uint64_t stream)
{
    const hb_known_stream *s = hb_known_stream_place(stream);
    uint32_t now = atomic_load_explicit(&hb_calls_stream_generation, memory_order_relaxed);
    bool known = s->stream == stream && s->generation == now && !hb_stream_is_nameless(stream);
    return HB_LIKELY(known) ? s->device : hb_call_learn_stream(f, stream);
}

#endif
