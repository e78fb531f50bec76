/* SPDX-License-Identifier: MIT
 *
 * The last resort, for runtimes whose hooks hipboard does not know or can't have: calls are
 * interposed, and device work is timed by events around it. That costs more than hooks do and
 * perturbs more; a graph is one piece of work.
 */
#include <stdatomic.h>

#include "hip/backend.h"
#include "hip/calls_runtime.h"
#include "hip/capture.h"
#include "hip/diagnostics.h"
#include "hip/interposed_calls.h"
#include "hip/timing_events.h"
#include "record/strings.h"

enum { STREAM_PER_THREAD = 2 };

static const hb_hip *runtime;
static _Atomic uint32_t num_untimed, an_untimed_name; /* calls in this session; a string id */
static uint32_t reset_cid;
static uint32_t graph_name;

/* ---- what the work is ---- */

static uint32_t kind_of_copy(const hb_record_copy *r)
{
    if (r->kind < 0) return HB_WORK_FILL;
    if (r->direction == HB_COPY_WITHIN_HOST) return 0;
    return r->direction ? r->direction : HB_WORK_DTOD;
}

static uint32_t kind_of(const hb_frame *f, const hb_record_copy *r)
{
    switch (r->call.head.type) {
    case HB_RECORD_LAUNCH: return HB_WORK_KERNEL;
    case HB_RECORD_COPY: return kind_of_copy(r);
    default: return f->call->kind == HB_CALL_GRAPH_LAUNCH ? HB_WORK_KERNEL : 0;
    }
}

/* ---- work that is not timed ---- */

static void note_untimed(void)
{
    uint32_t calls = atomic_exchange(&num_untimed, 0);
    if (calls)
        hb_diagnostics_add(
            true, "the device work of %u call%s (such as %s) is not timed this way: missing", calls,
            hb_plural(calls), hb_strings_get(atomic_load(&an_untimed_name)).s);
}

/* ---- around calls ---- */

static bool makes_work(const hb_frame *f)
{
    switch (f->call->kind) {
    case HB_CALL_LAUNCH_HOST:
    case HB_CALL_LAUNCH:
    case HB_CALL_LAUNCH_ITEMS: return f->record && !hb_calls_pass_over_times();
    case HB_CALL_COPY:
    case HB_CALL_COPY_2D:
    case HB_CALL_COPY_PEER:
    case HB_CALL_FILL:
    case HB_CALL_FILL_2D:
    case HB_CALL_GRAPH_LAUNCH: return f->record != NULL;
    default: return false;
    }
}

static hb_timing_event *time_work(hb_frame *f)
{
    hb_record_copy r; /* of launches and others: what all calls have */
    if (!hb_call_record(f, &r)) return NULL;
    uint64_t stream = r.call.stream == 0 && f->is.per_thread ? STREAM_PER_THREAD : r.call.stream;
    uint32_t kind = kind_of(f, &r);
    hb_timing_event *timing =
        kind ? hb_timing_event_begin(stream, r.call.device, &f->is.no_timing) : NULL;
    if (!timing) return NULL;
    timing->work.work = f->correlation;
    timing->work.kind = kind;
    timing->work.head.name = HB_STRING_UNNAMED;
    if (r.call.head.type == HB_RECORD_COPY) timing->work.bytes = r.bytes;
    if (f->call->kind == HB_CALL_GRAPH_LAUNCH) timing->work.head.name = graph_name;
    return timing;
}

static void before(hb_frame *f)
{
    bool was = hb_calls_enter_own();
    f->timing = makes_work(f) ? time_work(f) : NULL;
    if (f->call->kind == HB_CALL_WORK && f->record) {
        atomic_store(&an_untimed_name, hb_calls_runtime.names[f->cid]);
        atomic_fetch_add(&num_untimed, 1);
    }
    if (f->call->kind == HB_CALL_BEGIN_CAPTURE) hb_timing_events_pause(true);
    if (f->cid == reset_cid) hb_timing_events_forget();
    hb_calls_leave_own(was);
}

/* One that fails ends the thread's own capture, or none. */
static bool ends_capture(const hb_frame *f, int error)
{
    const hb_calls *c = hb_thread_tls->calls;
    return f->call->kind == HB_CALL_END_CAPTURE &&
           (error == 0 || atomic_load_explicit(&c->capturing, memory_order_relaxed));
}

static void after(hb_frame *f, int error)
{
    bool was = hb_calls_enter_own();
    if (f->timing && error)
        hb_timing_event_cancel(f->timing);
    else if (f->timing)
        hb_timing_event_end(f->timing);
    else if (f->is.no_timing && !error)
        hb_timing_event_missed();
    if ((f->timing || f->is.no_timing) && !error) hb_call_made_work(f->correlation);
    if (f->call->kind == HB_CALL_BEGIN_CAPTURE && error) hb_timing_events_pause(false);
    if (ends_capture(f, error)) hb_timing_events_pause(false);
    hb_calls_leave_own(was);
}

/* ---- the back-end ---- */

static bool probe(const hb_hip *hip, hb_buf *why)
{
    return hb_interpose_possible(hip, why) && hb_timing_events_possible(hip, why);
}

static bool attach(const hb_hip *hip, hb_buf *why)
{
    static const char graph[] = "(graph)";
    static const hb_around_call around = {before, after};
    runtime = hip;
    hb_timing_events_init(hip);
    graph_name = hb_strings_intern(graph, sizeof graph - 1);
    if (!hb_interpose_attach(hip, &around, why)) return false;
    for (uint32_t cid = 1; cid < hb_calls_num_functions(); cid++)
        if (strcmp(hip->api_name(cid), "hipDeviceReset") == 0) reset_cid = cid;
    return true;
}

static void start(void)
{
    if (!hb_timing_events_enable(true))
        hb_diagnostics_add(true,
                           "there is no thread to read the times of device work: it is missing");
    else
        hb_interpose_enable(true);
}

static void stop(void)
{
    hb_interpose_enable(false);
    hb_timing_events_enable(false);
    note_untimed();
    hb_put_text("hipboard_hip_times",
                "taken by HIP events before and after the work, which includes what the runtime "
                "does between them");
    hb_put_number(HB_METADATA_TIMES_UNCERTAINTY, hb_timing_events_uncertainty());
}

static void enable(bool on)
{
    if (on)
        start();
    else
        stop();
}

const hb_device_backend hb_interposition = {
    .name = "interposition",
    .summary = "HIP calls by interposition, device work by HIP events around it; kernel_sampling "
               "works",
    .last_resort = true,
    .samples = true,
    .probe = probe,
    .attach = attach,
    .enable = enable,
    .lost = hb_timing_events_lost,
    .look = hb_interpose_look,
};
