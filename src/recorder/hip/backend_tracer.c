/* SPDX-License-Identifier: MIT
 *
 * HIP since 5.4: one callback for everything. For each call the runtime asks it with a structure of
 * its own, whose end, behind arguments of a size that only the release tells, takes the functions
 * to be called at enter and exit. Device work carries the correlation of its call.
 */
#include <stdatomic.h>
#include <time.h>

#include "hip/backend.h"
#include "hip/diagnostics.h"
#include "hip/hook_holder.h"
#include "hip/hook_records.h"
#include "hip/hook_versions.h"
#include "hip/kernels.h"
#include "hip/late_reports.h"
#include "hip/launches.h"

#define REGISTERS "hipRegisterTracerCallback"

enum { DOMAIN_OPS = 2, DOMAIN_API = 3 };
enum { REPORT = 0, PASS_OVER = 1 };
#define PROMISE ((void *)1) /* instead of a record: there is going to be one */

/* What follows the arguments. */
typedef struct call_tail {
    uint64_t enter_timestamp, phase_data;
    void (*enter)(uint32_t cid, void *data);
    void (*exit)(uint32_t cid, void *data);
} call_tail;

static const hb_hip *runtime;
static uint32_t api_data_size;
static void (*register_tracer)(int (*tracer)(uint32_t domain, uint32_t op, void *data));
static int (*last_error)(void);
static _Atomic bool wanted;
static bool registered;
/* Since 7.2 the runtime tells of each piece of work, when it is made, that a record is going to
 * come. */
static _Atomic bool promises;

/* ---- calls ---- */

static hb_frame *frame_of(uint32_t cid, const hb_hip_api_head *head)
{
    hb_frame *frame = hb_calls_top(cid);
    if (!frame || frame->correlation != head->correlation_id) return NULL;
    hb_launch_leave_short_way(frame);
    return frame;
}

/* A session begins to ask for reports a moment after its calls are heard, if an earlier one awaits
 * its own: work of that moment is not reported, nor waited for. */
static void leave_if_unwanted(hb_frame *frame)
{
    if (atomic_load_explicit(&wanted, memory_order_relaxed)) return;
    if (frame->counted) hb_uncount(frame->counted);
    frame->counted = NULL;
    frame->is.untimed = frame->is.unsure = true;
}

/* 7.2 reports the work of a stream on a thread of its own, and looks at the stream then, even if it
 * was destroyed meanwhile: programs that somebody listens to crash. So what was promised is waited
 * for, while it comes. */
static __attribute__((noinline)) void await_reports(void)
{
    enum { STEP_US = 100, STEPS_WITHOUT_PROGRESS = 100, MAX_STEPS = 1000 };
    static _Atomic uint64_t given_up; /* what did not come the last time is not waited for again */
    uint64_t last = 0, missing = 0;
    for (int step = 0, idle = 0; step < MAX_STEPS && idle < STEPS_WITHOUT_PROGRESS; step++) {
        hb_call_counts now = hb_calls_count();
        missing = now.made > now.arrived ? now.made - now.arrived : 0;
        if (missing <= atomic_load_explicit(&given_up, memory_order_relaxed)) return;
        idle = now.arrived == last ? idle + 1 : 0;
        last = now.arrived;
        nanosleep(&(struct timespec){.tv_nsec = STEP_US * 1000}, NULL);
    }
    atomic_store_explicit(&given_up, missing, memory_order_relaxed);
}

static __attribute__((noinline)) void on_enter(uint32_t cid, void *data)
{
    hb_hip_api_head *head = data;
    hb_frame *frame = frame_of(cid, head);
    if (!frame) return;
    leave_if_unwanted(frame); /* it began the short way */
    bool destroys = frame->call->kind == HB_CALL_DESTROY_STREAMS;
    if (destroys && atomic_load_explicit(&promises, memory_order_relaxed)) await_reports();
    hb_call_begin(frame, (const char *)(head + 1));
}

/* The last error is the present call's result, success as well. Asking for it takes a tenth of a
 * launch's time: one whose work was made, which the runtime asked about, has passed all checks. */
static __attribute__((noinline)) int ask_for_error(void)
{
    bool before = hb_calls_enter_own();
    int error = last_error();
    hb_calls_leave_own(before);
    return error;
}

static inline int result_of(const hb_frame *frame)
{
    return HB_LIKELY(frame->is.work_asked && hb_call_is_launch(frame->call)) ? 0 : ask_for_error();
}

static __attribute__((noinline)) void on_exit_call(uint32_t cid, void *data)
{
    hb_hip_api_head *head = data;
    hb_frame *frame = frame_of(cid, head);
    if (!frame) return;
    bool launch = hb_call_is_launch(frame->call);
    if (!launch && atomic_load_explicit(&promises, memory_order_relaxed))
        hb_call_made_no_more(frame);
    hb_call_end(frame, (const char *)(head + 1), result_of(frame));
}

static void on_enter_unrecorded(uint32_t cid, void *data)
{
    hb_call_destroys_streams(hb_calls_row(cid), (const char *)((hb_hip_api_head *)data + 1));
}

static void on_exit_unrecorded(uint32_t cid, void *data)
{
    (void)cid;
    (void)data;
}

/* ---- launches ---- */

/* The correlation alone tells a call. */
static inline hb_frame *launch_of(const hb_thread *t, const hb_hip_api_head *head)
{
    hb_frame *f = t ? t->call : NULL;
    return HB_LIKELY(f && f->correlation == head->correlation_id) ? f : NULL;
}

/* Arguments that begin alike: function, grid and block. */
static inline __attribute__((always_inline)) void on_enter_launch(uint32_t cid, void *data,
                                                                  uint8_t lds, uint8_t stream,
                                                                  const void *frame)
{
    hb_hip_api_head *head = data;
    const char *args = (const char *)(head + 1);
    const uint32_t *extent = (const uint32_t *)(const void *)(args + 8);
    hb_launch_args a = {.function = hb_arg_pointer(hb_arg_word(args, 0)),
                        .stream = hb_arg_word(args, stream),
                        .grid = extent,
                        .block = extent + 3,
                        .stride = 1,
                        .lds = (uint32_t)hb_arg_number(args, lds, 0)};
    hb_thread *t = hb_thread_tls;
    hb_frame *f = launch_of(t, head);
    if (HB_UNLIKELY(!f || !hb_launch_begin(t, f, &a, frame))) on_enter(cid, data);
}

static void on_enter_host_launch(uint32_t cid, void *data)
{
    on_enter_launch(cid, data, HB_QUICK_HOST_LDS, HB_QUICK_HOST_STREAM, HB_FRAME);
}

static void on_enter_device_launch(uint32_t cid, void *data)
{
    on_enter_launch(cid, data, HB_QUICK_DEVICE_LDS, HB_QUICK_DEVICE_STREAM, HB_FRAME);
}

static void on_exit_launch(uint32_t cid, void *data)
{
    hb_thread *t = hb_thread_tls;
    hb_frame *f = launch_of(t, data);
    if (HB_LIKELY(f && hb_launch_is_usual(f) && hb_launch_end(t, f, false, HB_FRAME))) return;
    on_exit_call(cid, data);
}

static int call_back(char *data, uint64_t correlation, void (*enter)(uint32_t, void *),
                     void (*exit)(uint32_t, void *))
{
    call_tail *tail = (call_tail *)(data + api_data_size);
    ((hb_hip_api_head *)data)->correlation_id = correlation;
    tail->enter = enter;
    tail->exit = exit;
    return REPORT;
}

/* Between two sessions, when one still awaits its work. */
static __attribute__((noinline)) int on_unrecorded_call(uint32_t cid, char *data)
{
    if (!hb_late_reports_pending() || cid >= hb_calls_num_functions() ||
        hb_calls_row(cid)->kind != HB_CALL_DESTROY_STREAMS)
        return PASS_OVER;
    return call_back(data, 0, on_enter_unrecorded, on_exit_unrecorded);
}

static __attribute__((noinline)) int on_other_call(uint32_t cid, char *data, const void *stack)
{
    hb_frame *frame = hb_calls_push_work(cid, stack);
    if (!frame) return on_unrecorded_call(cid, data);
    leave_if_unwanted(frame);
    return call_back(data, frame->correlation, on_enter, on_exit_call);
}

static inline int on_call(uint32_t cid, char *data, const void *stack)
{
    hb_frame *f = hb_launch_push(cid, stack);
    if (HB_UNLIKELY(!f)) return on_other_call(cid, data, stack);
    bool of_host = hb_calls_runtime.quick[cid] == HB_QUICK_HOST;
    return call_back(data, f->correlation, of_host ? on_enter_host_launch : on_enter_device_launch,
                     on_exit_launch);
}

/* ---- device work ---- */

/* Up to HIP 5.7 the runtime asks about work when it makes it; later ones ask once more before they
 * report it, and do not say which of the two it is. */
static bool asks_once(void)
{
    return hb_hip_release(runtime) < 600;
}

/* Outside of all calls that are seen; a thread of the runtime's own asks before it reports. */
static bool may_be_made_unseen(void)
{
    return asks_once() || hb_calls_of_program();
}

/* On the thread that makes it, while it does. What goes the short way began before a session left
 * off. */
static __attribute__((noinline)) int on_other_question(hb_frame *frame)
{
    if (!atomic_load_explicit(&wanted, memory_order_relaxed)) return PASS_OVER;
    if (frame) frame->is.work_asked = true;
    if (frame && frame->is.untimed) return PASS_OVER;
    if (frame ? frame->is.unsure : may_be_made_unseen()) hb_work_announced(frame);
    return REPORT;
}

static inline int on_question(void)
{
    hb_frame *frame = hb_calls_innermost();
    if (HB_UNLIKELY(!frame || !frame->is.quick)) return on_other_question(frame);
    frame->is.work_asked = true;
    return REPORT;
}

static __attribute__((noinline)) int on_other_promise(uint32_t op)
{
    hb_frame *frame = hb_calls_innermost();
    /* Other threads read it, and would lose it from their cache by each store. */
    if (!atomic_load_explicit(&promises, memory_order_relaxed))
        atomic_store_explicit(&promises, true, memory_order_relaxed);
    if (frame && frame->call->kind == HB_CALL_GRAPH_LAUNCH)
        hb_graph_made(op == HB_HOOK_COPY); /* its kernels are counted when it has returned */
    else if (frame && !hb_call_is_launch(frame->call) && op != HB_HOOK_BARRIER)
        hb_call_made_certainly(frame);
    return REPORT;
}

/* What goes the short way has gone the long one before, and so has its promise. */
static inline int on_promise(uint32_t op)
{
    hb_frame *frame = hb_calls_innermost();
    return HB_LIKELY(frame && frame->is.quick) ? REPORT : on_other_promise(op);
}

/* Launches are counted when they are called, graphs' kernels when they are run, as far as they are
 * known, and so is other work that was promised. */
static bool was_counted(const hb_hook_activity *a)
{
    if (a->op == HB_HOOK_DISPATCH)
        return a->kind == HB_HOOK_KERNEL || a->kind == HB_HOOK_GRAPH_KERNELS;
    return a->op == HB_HOOK_COPY && atomic_load_explicit(&promises, memory_order_relaxed);
}

/* Not in the callback itself, so that calls need not make room for it. */
static __attribute__((noinline)) int on_work(uint32_t op, const hb_hook_activity *a)
{
    if (!hb_hook_activity_is_sound(a, op)) return REPORT;
    hb_record_work work = hb_hook_work(a, a->id);
    work.head.flags = HB_RECORD_NODE;
    bool kernel = work.kind == HB_WORK_KERNEL && a->op == HB_HOOK_DISPATCH;
    if (kernel && a->kernel_name) work.head.name = hb_kernel_name(runtime, a->kernel_name);
    hb_work_report(&work);
    if (work.kind) hb_work_arrived(was_counted(a));
    return REPORT;
}

static int on_trace(uint32_t domain, uint32_t op, void *data)
{
    if (domain == DOMAIN_API) return data ? on_call(op, data, HB_FRAME) : PASS_OVER;
    if (domain != DOMAIN_OPS) return PASS_OVER;
    if (!data) return on_question();
    if (data == PROMISE) return on_promise(op);
    return on_work(op, data);
}

/* ---- the back-end ---- */

static const void *ours(void)
{
    return (const void *)(uintptr_t)on_trace;
}

static bool probe(const hb_hip *hip, hb_buf *why)
{
    void *hook;
    hb_hook_version version;
    if (!hb_hook_version_of(hip, &version, why)) return false;
    hb_hip_symbol(hip, REGISTERS, &hook);
    if (!version.by_record && hook && hip->api_name && hip->peek_at_last_error)
        return !hb_hook_is_taken(hip, REGISTERS, ours(), why);
    hb_buf_printf(why, "HIP %d.%d has no such hook", hb_hip_release(hip) / 100,
                  hb_hip_release(hip) % 100);
    return false;
}

static bool attach(const hb_hip *hip, hb_buf *why)
{
    hb_hook_version version;
    if (!hb_hook_version_of(hip, &version, why)) return false;
    runtime = hip;
    api_data_size = version.api_data_size;
    hb_hip_symbol(hip, REGISTERS, &register_tracer);
    /* Of the releases in the table those without it have no errors that stay. */
    hb_hip_symbol(hip, "hipExtGetLastError", &last_error);
    if (!last_error) last_error = hip->peek_at_last_error;
    hb_calls_source calls = {
        .num_functions = version.num_functions, .name_of = hip->api_name, .by_correlation = true};
    if (hb_calls_init(hip, &calls)) return true;
    hb_buf_str(why, "no memory");
    return false;
}

/* Another tool that came later has taken it: what it hears is its own, and stays so. */
static bool is_taken(const char *consequence)
{
    hb_buf why;
    hb_buf_init(&why, 1024);
    bool taken = hb_hook_is_taken(runtime, REGISTERS, ours(), &why);
    if (taken) hb_diagnostics_add(true, "%s: %s", hb_buf_text(&why), consequence);
    hb_buf_free(&why);
    return taken;
}

static void start(void)
{
    hb_hook_activities_start();
    if (is_taken("nothing of HIP is recorded meanwhile")) return;
    atomic_store(&wanted, true);
    register_tracer(on_trace);
    registered = true;
}

static void stop(void)
{
    if (registered && !is_taken("what HIP did since then is missing")) register_tracer(NULL);
    atomic_store(&wanted, false);
    registered = false;
    hb_hook_activities_note(runtime);
}

static bool can_leave_off(void)
{
    return asks_once();
}

static void leave_off(void)
{
    atomic_store(&wanted, false);
}

static void enable(bool on)
{
    if (on)
        start();
    else
        stop();
}

const hb_device_backend hb_hooks_by_tracer = {
    .name = "tracer-hook",
    .summary =
        "the HIP runtime's hook since 5.4 (run with 5.7.1, 6.4.3, 7.2.4; 5.6, 6.0 to 6.2, 7.1 "
        "and others by their layout); kernel_sampling works",
    .samples = true,
    .probe = probe,
    .attach = attach,
    .enable = enable,
    .leave_off = leave_off,
    .can_leave_off = can_leave_off,
};
