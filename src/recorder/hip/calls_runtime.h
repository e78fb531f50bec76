/* SPDX-License-Identifier: MIT
 *
 * What calls.c (frames, counts, device work) and call_records.c (what a call's arguments and result
 * mean) share.
 */
#ifndef HB_HIP_CALLS_RUNTIME_H
#define HB_HIP_CALLS_RUNTIME_H

#include "hip/calls.h"

/** What it means that a call names no stream, or 0. */
enum hb_no_stream {
    HB_NULL_STREAM = 0,
    HB_OWN_STREAM, /* the thread's own, which no other thread can ask about */
    HB_ANY_STREAM, /* one that is not among the arguments that are read */
};

/** How the arguments of launches lie that go the short way: by the host's function, and by the
 * device's. */
enum hb_quick_launch { HB_NO_QUICK_LAUNCH, HB_QUICK_HOST, HB_QUICK_DEVICE };

enum { HB_CALLS_QUICK_FUNCTIONS = 1024 };

/** The runtime whose calls are reported; not changed any more when the first one is. */
typedef struct hb_calls_of_runtime {
    const hb_hip *hip;
    hb_calls_source source;
    const hb_hip_call *rows;                 /* by function number, as the names */
    const uint32_t *names;                   /* string ids */
    const uint8_t *no_stream;                /* enum hb_no_stream */
    uint8_t quick[HB_CALLS_QUICK_FUNCTIONS]; /* enum hb_quick_launch */
} hb_calls_of_runtime;

extern HB_OWN hb_calls_of_runtime hb_calls_runtime;

/** Moves with hb_calls_outdate_streams(). */
extern _Atomic uint32_t hb_calls_stream_generation;
/** Streams go, or one is captured from now on: what any thread has learnt of a handle before need
 * not be true any more. */
void hb_calls_outdate_streams(void);

/** Moves with each end of a capture that is heard. */
extern _Atomic uint32_t hb_captures_ended;

/** Whether what the thread does is put into a graph, as far as it was heard. */
static inline bool hb_calls_capture(const hb_calls *c)
{
    return atomic_load_explicit(&c->capturing, memory_order_relaxed) ||
           atomic_load_explicit(&c->joined, memory_order_relaxed);
}

/** The running call makes work on a stream that is being captured, and no begin of that was heard
 * of this thread: of a capture that began before the session, or that another thread began.
 * `ended`: hb_captures_ended, from before that was found out. */
HB_COLD void hb_calls_join_capture(hb_frame *f, uint32_t ended);

/** After a change of `depth` or `ours`: what callbacks look at. */
static inline void hb_calls_settle(hb_thread *t, hb_calls *c)
{
    bool inside = c->depth && !c->ours;
    t->call = inside ? &c->frames[c->depth - 1] : NULL;
    c->quick = c->depth || c->ours ? HB_NOT_QUICK : c->usual;
}

/** hb_calls_enter_own() on a thread that is known to have calls. */
static inline void hb_calls_set_ours(bool ours)
{
    hb_thread *t = hb_thread_tls;
    hb_calls *c = t->calls;
    c->ours = ours;
    hb_calls_settle(t, c);
}

/** After a change of `capturing` or `joined`. */
void hb_calls_choose_way(hb_calls *c);

/* ---- arguments, as the runtime lays them out ---- */

static inline uint64_t hb_arg_word(const char *args, uint8_t offset)
{
    uint64_t value = 0;
    if (offset != HB_NO_ARG) memcpy(&value, args + offset, sizeof value);
    return value;
}

static inline int32_t hb_arg_number(const char *args, uint8_t offset, int32_t none)
{
    int32_t value = none;
    if (offset != HB_NO_ARG) memcpy(&value, args + offset, sizeof value);
    return value;
}

static inline void *hb_arg_pointer(uint64_t value)
{
    return (void *)(uintptr_t)value;
}

/* ---- records ---- */

/** All but stream and device. */
void hb_call_fill(const hb_frame *f, const hb_thread *t, hb_record_call *r,
                  enum hb_record_type type, size_t bytes, unsigned flags);

/** Takes a record of so many bytes in as the frame's. */
static inline void hb_call_take_in(hb_frame *f, hb_thread *t, hb_record_call *r, size_t bytes)
{
    hb_record_take_in(t, &r->head, bytes);
    f->record = r;
    f->epoch = t->epoch;
}

/** enum hb_record_flags of a call, as far as its kind does not matter. */
static inline unsigned hb_call_flags(const hb_frame *f)
{
    bool captured = hb_calls_capture(hb_thread_tls->calls);
    return (captured ? HB_RECORD_CAPTURED : 0) | (f->is.unsure ? HB_RECORD_UNSURE : 0);
}

/** In a recording call: whether the call's record is still in its place. Its session may have
 * ended, and its memory be another's, or nobody's; while it goes on, a chunk with a record that has
 * no end stays. */
static inline bool hb_call_is_there(const hb_thread *t, const hb_frame *f)
{
    return t->epoch == f->epoch && __atomic_load_n(&f->record->head.end, __ATOMIC_RELAXED) == 0;
}

/* By the owner; read by others. */
static inline void hb_count(_Atomic uint64_t *counter)
{
    uint64_t n = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, n + 1, memory_order_release);
}

static inline void hb_count_more(_Atomic uint64_t *counter, uint64_t more)
{
    uint64_t n = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, n + more, memory_order_release);
}

static inline void hb_uncount(_Atomic uint64_t *counter)
{
    uint64_t n = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, n - 1, memory_order_release);
}

#endif
