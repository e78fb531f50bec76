/* SPDX-License-Identifier: MIT */
#include "hip/busy_streams.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/lock.h"

enum { MOST_STREAMS = 1024, NOT_READY = 600 }; /* hipErrorNotReady */

typedef struct busy_stream {
    uint64_t stream;
    int device;
    bool watched; /* not yet found done */
} busy_stream;

static hb_bare_lock lock =
    HB_BARE_LOCK_INIT(BUSY_STREAMS); /* of all below; no other is taken in it */
static busy_stream streams[MOST_STREAMS];
static int count;
static bool is_asking; /* about this one: */
static uint64_t asked;
/* Held while the runtime is asked, and by those who wait for its answer; taken before the other. */
static hb_bare_lock asking = HB_BARE_LOCK_INIT(ASKING);

static _Atomic uint64_t unknown; /* devices, as bits; for itself */

static busy_stream *find(uint64_t stream, int device)
{
    for (int i = 0; i < count; i++)
        if (streams[i].stream == stream && streams[i].device == device) return &streams[i];
    return NULL;
}

void hb_busy_streams_add(uint64_t stream, int device)
{
    hb_bare_lock_take(&lock);
    bool is_new = !find(stream, device), full = count == MOST_STREAMS;
    if (is_new && !full) streams[count++] = (busy_stream){.stream = stream, .device = device};
    hb_bare_lock_give(&lock);
    if (is_new && full) hb_busy_streams_add_unknown(device);
}

void hb_busy_streams_add_unknown(int device)
{
    uint64_t bit = (uint64_t)1 << device;
    if (!(atomic_load_explicit(&unknown, memory_order_relaxed) & bit))
        atomic_fetch_or(&unknown, bit);
}

static void await_answer(void)
{
    hb_bare_lock_take(&asking);
    hb_bare_lock_give(&asking);
}

void hb_busy_streams_gone(uint64_t stream)
{
    hb_bare_lock_take(&lock);
    for (int i = count; i-- > 0;)
        if (streams[i].stream == stream) streams[i] = streams[--count];
    bool being_asked = is_asking && asked == stream;
    hb_bare_lock_give(&lock);
    if (being_asked) await_answer();
}

void hb_busy_streams_all_gone(void)
{
    hb_busy_streams_forget();
    await_answer();
}

void hb_busy_streams_forget(void)
{
    hb_bare_lock_take(&lock);
    count = 0;
    hb_bare_lock_give(&lock);
    atomic_store(&unknown, 0);
}

bool hb_busy_streams_watch(void)
{
    hb_bare_lock_take(&lock);
    for (int i = 0; i < count; i++)
        streams[i].watched = true;
    bool any = count;
    hb_bare_lock_give(&lock);
    return any || atomic_load(&unknown);
}

/* The next one that is watched, at *i or behind it. */
static bool begin_asking(int *i, busy_stream *s)
{
    hb_bare_lock_take(&lock);
    while (*i < count && !streams[*i].watched)
        ++*i;
    is_asking = *i < count;
    if (is_asking) {
        *s = streams[(*i)++];
        asked = s->stream;
    }
    bool any = is_asking;
    hb_bare_lock_give(&lock);
    return any;
}

static void end_asking(const busy_stream *s, bool done)
{
    hb_bare_lock_take(&lock);
    is_asking = false;
    busy_stream *there = done ? find(s->stream, s->device) : NULL;
    if (there) there->watched = false;
    hb_bare_lock_give(&lock);
}

typedef bool answer(const hb_hip *hip, void *stream);

/* What fails has nothing left to do, either; but one that is captured into a graph is not asked,
 * which would break that, and up to HIP 6.0 no other is answered for meanwhile. */
static bool is_done(const hb_hip *hip, void *stream)
{
    if (hb_hip_is_captured(hip, stream)) return false;
    int error = hip->stream_query(stream);
    return error != NOT_READY && !hb_hip_refused_for_capture(error);
}

/* There is nothing to wait for, unless another thread of the program launches something in this
 * very moment. */
static bool collect(const hb_hip *hip, void *stream)
{
    if (hb_hip_is_captured(hip, stream)) return false;
    return hip->stream_query(stream) != 0 || hip->stream_synchronize(stream) == 0;
}

static bool ask_all(const hb_hip *hip, answer *of)
{
    busy_stream s;
    bool busy = false, any = true;
    for (int i = 0; any;) {
        hb_bare_lock_take(&asking);
        any = begin_asking(&i, &s);
        if (any) {
            bool done = hip->set_device(s.device) != 0 || of(hip, (void *)(uintptr_t)s.stream);
            end_asking(&s, done);
            busy = busy || !done;
        }
        hb_bare_lock_give(&asking);
    }
    return busy;
}

bool hb_busy_streams_ask(const hb_hip *hip)
{
    return ask_all(hip, is_done);
}

void hb_busy_streams_collect(const hb_hip *hip)
{
    enum { FIRST_THAT_NEEDS_IT = 700 };
    if (hb_hip_release(hip) < FIRST_THAT_NEEDS_IT || !hip->stream_synchronize) return;
    hb_busy_streams_watch();
    ask_all(hip, collect);
}

uint64_t hb_busy_streams_take_unknown(void)
{
    return atomic_exchange(&unknown, 0);
}

void hb_busy_streams_after_fork(void)
{
    hb_bare_lock_after_fork(&lock);
    hb_bare_lock_after_fork(&asking);
    is_asking = false;
    hb_busy_streams_forget();
}
