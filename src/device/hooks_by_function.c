/* SPDX-License-Identifier: MIT
 *
 * HIP up to 5.2: the runtime calls back for each function that has two callbacks registered. The
 * first, "activity", gives the runtime a place for the call's arguments and hears of the exit; the
 * second sees the arguments at both ends. Device work has a record id, told on the launching thread
 * when the work is made, and again with its times when it is done.
 */
#include "device/backend.h"
#include "device/hook_records.h"
#include "device/hook_versions.h"

static struct {
    int (*register_api)(uint32_t cid, void *function, void *arg);
    int (*register_activity)(uint32_t cid, void *function, void *arg);
    int (*remove_api)(uint32_t cid);
    int (*remove_activity)(uint32_t cid);
    void (*init)(void *id_callback, void *op_callback, void *arg);
    bool (*enable)(uint32_t op, bool on);
} hooks;

static const hb_hip *runtime;

/* `arg` is NULL at enter. NULL returned there means: nothing more about this call. */
static void *on_activity(uint32_t cid, void *record, const void *data, void *arg)
{
    (void)record;
    (void)data;
    hb_frame *frame = arg ? NULL : hb_calls_push(cid);
    if (!frame) return NULL;
    hb_hip_api_head *head = (hb_hip_api_head *)frame->data;
    *head = (hb_hip_api_head){.correlation_id = frame->correlation, .phase = 0};
    return head;
}

/* The runtime has kept the call's result as its last error before it reports the exit. */
static void on_call(uint32_t domain, uint32_t cid, const void *data, void *arg)
{
    const hb_hip_api_head *head = data;
    const char *args = (const char *)(head + 1);
    hb_frame *frame = hb_calls_top(cid);
    (void)domain;
    (void)arg;
    if (!frame || (const void *)frame->data != data) return;
    if (head->phase == 0)
        hb_call_begin(frame, args);
    else
        hb_call_end(frame, args, runtime->peek_at_last_error());
}

static void on_work_made(uint64_t record_id)
{
    hb_call_makes(record_id + 1);
}

static void on_work_done(uint32_t op, void *record, void *arg)
{
    const hb_hook_activity *a = record;
    hb_record_work work = hb_hook_work(a, a->id + 1);
    (void)op;
    (void)arg;
    hb_work_report(&work);
    hb_work_arrived(true);
}

static bool find_hooks(const hb_hip *hip)
{
    hb_hip_symbol(hip, "hipRegisterApiCallback", &hooks.register_api);
    hb_hip_symbol(hip, "hipRegisterActivityCallback", &hooks.register_activity);
    hb_hip_symbol(hip, "hipRemoveApiCallback", &hooks.remove_api);
    hb_hip_symbol(hip, "hipRemoveActivityCallback", &hooks.remove_activity);
    hb_hip_symbol(hip, "hipInitActivityCallback", &hooks.init);
    hb_hip_symbol(hip, "hipEnableActivityCallback", &hooks.enable);
    return hooks.register_api && hooks.register_activity && hooks.remove_api &&
           hooks.remove_activity && hooks.init && hooks.enable;
}

static bool probe(const hb_hip *hip, hb_buf *why)
{
    const hb_hook_version *version = hb_hook_version_of(hip, why);
    if (!version) return false;
    void *hook;
    hb_hip_symbol(hip, "hipRegisterApiCallback", &hook);
    if (version->by_function && hook && hip->api_name && hip->peek_at_last_error) return true;
    hb_buf_printf(why, "%s has no hooks for single functions", hip->soname);
    return false;
}

static bool attach(const hb_hip *hip, hb_buf *why)
{
    const hb_hook_version *version = hb_hook_version_of(hip, why);
    if (!version) return false;
    if (!find_hooks(hip)) {
        hb_buf_printf(why, "%s lacks one of them", hip->soname);
        return false;
    }
    _Static_assert(HB_HIP_API_DATA_BYTES >= 832, "the arguments of HIP 5.2 fit");
    runtime = hip;
    hb_calls_source calls = {.num_functions = version->num_functions, .name_of = hip->api_name};
    if (!hb_calls_init(hip, &calls)) {
        hb_buf_str(why, "no memory");
        return false;
    }
    hooks.init((void *)on_work_made, (void *)on_work_done, NULL);
    return true;
}

/* As long as any function's activity callback is registered, the runtime takes a slower way through
 * its launches; so between sessions there is none. Removing waits for nothing. */
static void enable(bool on)
{
    static int not_null;
    for (uint32_t op = HB_HOOK_DISPATCH; op <= HB_HOOK_BARRIER; op++)
        hooks.enable(op, on);
    for (uint32_t cid = 1; cid < hb_calls_num_functions(); cid++) {
        if (hb_calls_row(cid)->kind == HB_CALL_HIDDEN) continue;
        if (!on) {
            hooks.remove_api(cid);
            hooks.remove_activity(cid);
        } else if (hooks.register_api(cid, (void *)on_call, &not_null) == 0) {
            hooks.register_activity(cid, (void *)on_activity, &not_null);
        }
    }
}

const hb_device_backend hb_hooks_by_function = {
    .name = "function-hooks",
    .summary = "the HIP runtime's hooks up to 5.2, one for each function",
    .loses_replays = true,
    .probe = probe,
    .attach = attach,
    .enable = enable,
};
