/* SPDX-License-Identifier: MIT
 *
 * HIP since 5.4: one callback for everything. For each call the runtime asks it with a structure of
 * its own, whose end, behind arguments of a size that only the release tells, takes the functions
 * to be called at enter and exit. Device work carries the correlation of its call.
 */
#include <stdatomic.h>

#include "device/backend.h"
#include "device/hook_records.h"
#include "device/hook_versions.h"
#include "device/kernels.h"

enum { DOMAIN_OPS = 2, DOMAIN_API = 3 };
enum { REPORT = 0, PASS_OVER = 1 };

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

/* ---- calls ---- */

static hb_frame *frame_of(uint32_t cid, const hb_hip_api_head *head)
{
    hb_frame *frame = hb_calls_top(cid);
    return frame && frame->correlation == head->correlation_id ? frame : NULL;
}

static void on_enter(uint32_t cid, void *data)
{
    hb_hip_api_head *head = data;
    hb_frame *frame = frame_of(cid, head);
    if (frame) hb_call_begin(frame, (const char *)(head + 1));
}

static bool is_launch(const hb_hip_call *call)
{
    return call->kind >= HB_CALL_LAUNCH_HOST && call->kind <= HB_CALL_LAUNCH_ITEMS;
}

/* The last error is the present call's result, success as well. Asking for it takes a tenth of a
 * launch's time: one whose work was made, which the runtime asked about, has passed all checks. */
static int result_of(const hb_frame *frame)
{
    if (frame->work_asked && is_launch(frame->call)) return 0;
    bool before = hb_calls_enter_own();
    int error = last_error();
    hb_calls_leave_own(before);
    return error;
}

static void on_exit_call(uint32_t cid, void *data)
{
    hb_hip_api_head *head = data;
    hb_frame *frame = frame_of(cid, head);
    if (frame) hb_call_end(frame, (const char *)(head + 1), result_of(frame));
}

static int on_call(uint32_t cid, char *data)
{
    if (cid >= hb_calls_num_functions() || hb_calls_row(cid)->kind == HB_CALL_HIDDEN)
        return PASS_OVER;
    hb_frame *frame = hb_calls_push(cid);
    if (!frame) return PASS_OVER;
    hb_call_may_make_work(frame);
    ((hb_hip_api_head *)data)->correlation_id = frame->correlation;
    call_tail *tail = (call_tail *)(data + api_data_size);
    tail->enter = on_enter;
    tail->exit = on_exit_call;
    return REPORT;
}

/* ---- device work ---- */

/* On the thread that makes it, while it does. */
static int on_question(void)
{
    if (!atomic_load_explicit(&wanted, memory_order_relaxed)) return PASS_OVER;
    hb_frame *frame = hb_calls_innermost();
    if (frame) frame->work_asked = true;
    return REPORT;
}

static void on_work(const hb_hook_activity *a)
{
    hb_record_work work = hb_hook_work(a, a->id);
    work.head.flags = HB_RECORD_NODE;
    bool kernel = work.kind == HB_WORK_KERNEL && a->op == HB_HOOK_DISPATCH;
    if (kernel && a->kernel_name) work.head.name = hb_kernel_name(runtime, a->kernel_name);
    hb_work_report(&work);
    if (work.kind) hb_work_arrived(kernel);
}

static int on_trace(uint32_t domain, uint32_t op, void *data)
{
    if (domain == DOMAIN_API) return data ? on_call(op, data) : PASS_OVER;
    if (domain != DOMAIN_OPS) return PASS_OVER;
    if (!data) return on_question();
    on_work(data);
    return REPORT;
}

/* ---- the back-end ---- */

static bool probe(const hb_hip *hip, hb_buf *why)
{
    const hb_hook_version *version = hb_hook_version_of(hip, why);
    if (!version) return false;
    void *hook;
    hb_hip_symbol(hip, "hipRegisterTracerCallback", &hook);
    if (!version->by_record && hook && hip->api_name && hip->peek_at_last_error) return true;
    hb_buf_printf(why, "HIP %d.%d has no such hook", hb_hip_release(hip) / 100,
                  hb_hip_release(hip) % 100);
    return false;
}

static bool attach(const hb_hip *hip, hb_buf *why)
{
    const hb_hook_version *version = hb_hook_version_of(hip, why);
    if (!version) return false;
    runtime = hip;
    api_data_size = version->api_data_size;
    hb_hip_symbol(hip, "hipRegisterTracerCallback", &register_tracer);
    /* Of the releases in the table those without it have no errors that stay. */
    hb_hip_symbol(hip, "hipExtGetLastError", &last_error);
    if (!last_error) last_error = hip->peek_at_last_error;
    hb_calls_source calls = {.num_functions = version->num_functions, .name_of = hip->api_name};
    if (hb_calls_init(hip, &calls)) return true;
    hb_buf_str(why, "no memory");
    return false;
}

static void enable(bool on)
{
    atomic_store(&wanted, on);
    register_tracer(on ? on_trace : NULL);
}

const hb_device_backend hb_hooks_by_tracer = {
    .name = "tracer-hook",
    .summary = "the HIP runtime's hook since 5.4, one for all functions",
    .probe = probe,
    .attach = attach,
    .enable = enable,
};
