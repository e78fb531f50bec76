/* SPDX-License-Identifier: MIT */
#include "hip/rocprofiler_rccl.h"

#include <stdatomic.h>
#include <string.h>

#include "interpose/reported_calls.h"

static const hb_rocp *rocprofiler;
static hb_rocp_id context;
static atomic_bool over;

/* Its size, the arguments, and, at the end, what it returned. */
static void on_call(int32_t operation, uint32_t phase, const hb_rocp_hip_call *call,
                    const void *caller)
{
    uint64_t result;
    if (atomic_load_explicit(&over, memory_order_relaxed) || operation < 0) return;
    if (call->size < sizeof *call + sizeof result) return;
    memcpy(&result, (const char *)call + call->size - sizeof result, sizeof result);
    const hb_reported_call reported = {.number = (uint32_t)operation,
                                       .args = call + 1,
                                       .size = call->size - sizeof *call - sizeof result,
                                       .result = result,
                                       .caller = caller};
    if (phase == HB_ROCP_ENTER || phase == HB_ROCP_EXIT)
        hb_report(&reported, phase == HB_ROCP_ENTER);
}

static void on_call_0(hb_rocp_callback_0 r, uint64_t *data, void *arg)
{
    (void)data;
    (void)arg;
    on_call(r.operation, r.phase, r.payload, __builtin_return_address(0));
}

static void on_call_1(hb_rocp_callback_1 r, uint64_t *data, void *arg)
{
    (void)data;
    (void)arg;
    on_call(r.operation, r.phase, r.payload, __builtin_return_address(0));
}

static int announce(uint32_t kind, int32_t operation, void *arg)
{
    const char *name = NULL;
    (void)arg;
    int status = rocprofiler->operation_name(kind, operation, &name, NULL);
    if (status == HB_ROCP_SUCCESS && name && operation >= 0)
        hb_reports_announce((uint32_t)operation, name);
    return 0;
}

void hb_rocp_rccl_want(const hb_rocp *rocp)
{
    void (*callback)(void) =
        hb_rocp_is_1(rocp) ? (void (*)(void))on_call_1 : (void (*)(void))on_call_0;
    rocprofiler = rocp;
    if (rocp->create_context(&context) != 0 ||
        rocp->configure_callback(context, HB_ROCP_CALLBACK_RCCL, NULL, 0, callback, NULL) != 0 ||
        rocp->iterate_operations(HB_ROCP_CALLBACK_RCCL, announce, NULL) != 0)
        return;
    rocp->start_context(context);
}

void hb_rocp_rccl_over(void)
{
    atomic_store(&over, true);
    hb_reports_end();
}

void hb_rocp_rccl_stop(const hb_rocp *rocp)
{
    if (context.handle) rocp->stop_context(context);
}
