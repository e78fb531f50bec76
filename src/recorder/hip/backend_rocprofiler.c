/* SPDX-License-Identifier: MIT
 *
 * rocprofiler-sdk: HIP calls by callbacks, on their threads; kernels and copies by a buffer that
 * the library hands over on a thread of its own, a kernel's name and registers by what was
 * announced when its code was loaded. A piece of work has the correlation id of its call.
 *
 * Its clients can be configured only once in a process, before the HIP runtime has started; what
 * they will ever want is named then. Sessions start and stop it.
 *
 * Streams are those of the calls' arguments: its own service for them (1.x) throws at a stream that
 * was made before a session asked for it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/process.h"
#include "hip/backend.h"
#include "hip/calls.h"
#include "hip/capture.h"
#include "hip/diagnostics.h"
#include "hip/rocprofiler_agents.h"
#include "hip/rocprofiler_kernels.h"
#include "hip/rocprofiler_rccl.h"
#include "hip/rocprofiler_records.h"
#include "record/record.h"
#include "record/stack.h"

enum { BUFFER_BYTES = 4 << 20, HANDED_OVER_AT_BYTES = 1 << 20, MAX_OPERATIONS = 4096 };

#define OVER "does not go on in a forked process"

static struct {
    const hb_rocp *rocp;
    const hb_hip *hip;
    bool ready;        /* configured with us */
    char refusal[512]; /* why not */
    hb_rocp_id symbols, work, buffer;
    int32_t operations[MAX_OPERATIONS]; /* that are of interest */
    size_t num_operations;
    uint32_t num_functions;
    int64_t ahead_ns;
    _Atomic bool asked; /* by it, to be its client */
    _Atomic bool heard, attached, over;
    _Atomic bool forked; /* over, but still to be stopped */
    _Atomic uint64_t lost;
} sdk;

/* ---- forked children ---- */

/* A forked child has not its thread: nothing would be handed over, and who fills the buffer would
 * wait for that forever. It is stopped at the child's first call, which comes before any work:
 * whether its locks are free now, nobody knows. */
static void in_child(void)
{
    if (!atomic_exchange(&sdk.over, true)) atomic_store(&sdk.forked, true);
    hb_rocp_rccl_over();
}

static HB_COLD void stop_in_child(void)
{
    if (!atomic_exchange(&sdk.forked, false)) return;
    sdk.rocp->stop_context(sdk.work);
    sdk.rocp->stop_context(sdk.symbols);
    hb_rocp_rccl_stop(sdk.rocp);
}

/* ---- what it reports ---- */

/* A program may load HIP while it is recorded: this, its first call, tells. */
static void meet_runtime(void)
{
    if (atomic_load_explicit(&sdk.attached, memory_order_relaxed)) return;
    bool own = hb_calls_enter_own();
    if (!own) hb_device_look_again();
    hb_calls_leave_own(own);
}

static void on_call(uint64_t correlation, int32_t operation, uint32_t phase, void *payload)
{
    const hb_rocp_hip_call *call = payload;
    const char *args = (const char *)(call + 1);
    uint32_t cid = (uint32_t)operation;
    if (HB_UNLIKELY(atomic_load_explicit(&sdk.forked, memory_order_relaxed))) stop_in_child();
    if (HB_UNLIKELY(atomic_load_explicit(&sdk.over, memory_order_relaxed))) return;
    atomic_store_explicit(&sdk.heard, true, memory_order_relaxed);
    if (phase == HB_ROCP_ENTER) {
        meet_runtime();
        hb_frame *frame = hb_calls_push(cid, HB_FRAME);
        if (!frame) return;
        frame->correlation = correlation;
        hb_call_may_make_work(frame);
        hb_call_begin(frame, args);
    } else {
        int error;
        hb_frame *frame = hb_calls_top(cid);
        if (!frame || frame->correlation != correlation) return;
        memcpy(&error, (const char *)payload + call->size - HB_ROCP_RESULT_BYTES, sizeof error);
        hb_call_end(frame, args, error);
    }
}

static void on_call_0(hb_rocp_callback_0 r, uint64_t *data, void *arg)
{
    (void)data;
    (void)arg;
    on_call(r.correlation, r.operation, r.phase, r.payload);
}

static void on_call_1(hb_rocp_callback_1 r, uint64_t *data, void *arg)
{
    (void)data;
    (void)arg;
    on_call(r.correlation, r.operation, r.phase, r.payload);
}

static void on_symbol_0(hb_rocp_callback_0 r, uint64_t *data, void *arg)
{
    (void)data;
    (void)arg;
    if (r.phase == HB_ROCP_ENTER) hb_rocp_kernel_add(sdk.rocp, r.payload);
}

static void on_symbol_1(hb_rocp_callback_1 r, uint64_t *data, void *arg)
{
    (void)data;
    (void)arg;
    if (r.phase == HB_ROCP_ENTER) hb_rocp_kernel_add(sdk.rocp, r.payload);
}

static void on_records(hb_rocp_id context, hb_rocp_id buffer, hb_rocp_header **records,
                       size_t count, void *arg, uint64_t dropped)
{
    (void)context;
    (void)buffer;
    (void)arg;
    for (size_t i = 0; i < count; i++)
        hb_rocp_record(records[i], sdk.ahead_ns);
    atomic_store(&sdk.lost, dropped);
}

/* ---- its end ---- */

/* At the process's end: what it still holds belongs to a session that may still be recorded. */
static void finalize(void *arg)
{
    (void)arg;
    sdk.rocp->flush_buffer(sdk.buffer);
    atomic_store(&sdk.over, true);
    hb_rocp_rccl_over();
}

/* ---- becoming a client ---- */

static bool refuse(const char *what, int status)
{
    const char *text = sdk.rocp->get_status_string(status);
    snprintf(sdk.refusal, sizeof sdk.refusal, "version %s refuses %s: %s", sdk.rocp->version, what,
             text ? text : "status unknown to itself");
    return false;
}

/* What it returns is no error code. */
static bool returns_something_else(const char *name)
{
    static const char *const names[] = {
        "hipApiName",        "hipCreateChannelDesc", "hipGetCmdName",    "hipGetErrorName",
        "hipGetErrorString", "hipGetStreamDeviceId", "hipKernelNameRef", "hipKernelNameRefByPtr",
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(names); i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static const char *name_of(uint32_t cid)
{
    const char *name = NULL;
    int status = sdk.rocp->operation_name(HB_ROCP_CALLBACK_HIP_RUNTIME, (int32_t)cid, &name, NULL);
    return status == HB_ROCP_SUCCESS ? name : NULL;
}

static int add_operation(uint32_t kind, int32_t operation, void *arg)
{
    (void)kind;
    (void)arg;
    const char *name = operation >= 0 ? name_of((uint32_t)operation) : NULL;
    if (!name || operation >= MAX_OPERATIONS || returns_something_else(name)) return 0;
    sdk.num_functions = HB_MAX(sdk.num_functions, (uint32_t)operation + 1);
    if (hb_hip_call_named(name)->kind != HB_CALL_HIDDEN && sdk.num_operations < MAX_OPERATIONS)
        sdk.operations[sdk.num_operations++] = operation;
    return 0;
}

static bool configure_symbols(void)
{
    static const int32_t operation = HB_ROCP_KERNEL_SYMBOL;
    void (*callback)(void) =
        hb_rocp_is_1(sdk.rocp) ? (void (*)(void))on_symbol_1 : (void (*)(void))on_symbol_0;
    int status = sdk.rocp->create_context(&sdk.symbols);
    if (!status)
        status = sdk.rocp->configure_callback(sdk.symbols, HB_ROCP_CALLBACK_CODE_OBJECT, &operation,
                                              1, callback, NULL);
    return !status || refuse("to announce kernels", status);
}

static bool configure_calls(void)
{
    void (*callback)(void) =
        hb_rocp_is_1(sdk.rocp) ? (void (*)(void))on_call_1 : (void (*)(void))on_call_0;
    int status = sdk.rocp->create_context(&sdk.work);
    if (!status)
        status = sdk.rocp->iterate_operations(HB_ROCP_CALLBACK_HIP_RUNTIME, add_operation, NULL);
    if (!status)
        status = sdk.rocp->configure_callback(sdk.work, HB_ROCP_CALLBACK_HIP_RUNTIME,
                                              sdk.operations, sdk.num_operations, callback, NULL);
    return !status || refuse("to report HIP calls", status);
}

/* A buffer that may drop records has room for half of them only: there is nothing to write into
 * while it is handed over. The other kind lets wait who writes, which is the thread that the
 * runtime hears of finished work on, not the program's. */
static bool configure_work(void)
{
    int status = sdk.rocp->create_buffer(sdk.work, BUFFER_BYTES, HANDED_OVER_AT_BYTES,
                                         HB_ROCP_LOSSLESS, on_records, NULL, &sdk.buffer);
    if (!status)
        status = sdk.rocp->configure_buffer(sdk.work, HB_ROCP_RECORD_DISPATCH, NULL, 0, sdk.buffer);
    if (!status)
        status =
            sdk.rocp->configure_buffer(sdk.work, HB_ROCP_RECORD_MEMORY_COPY, NULL, 0, sdk.buffer);
    return !status || refuse("to report device work", status);
}

static int initialize(void (*finish)(void *client), void *arg)
{
    (void)finish;
    (void)arg;
    if (!configure_symbols() || !configure_calls() || !configure_work()) return -1;
    hb_rocp_rccl_want(sdk.rocp);
    int status = sdk.rocp->start_context(sdk.symbols);
    sdk.ready = !status || refuse("to start", status);
    if (!sdk.ready) return -1;
    hb_process_at_fork(HB_FORK_ROCPROFILER, (hb_fork_room){.in_child = in_child});
    if (__atomic_load_n(&hb_enabled_epoch, __ATOMIC_ACQUIRE)) sdk.rocp->start_context(sdk.work);
    return 0;
}

static hb_rocp_tool *configure(uint32_t version, const char *version_text, uint32_t priority,
                               void *client)
{
    static hb_rocp_tool tool = {sizeof tool, initialize, finalize, NULL};
    (void)version;
    (void)version_text;
    (void)priority;
    if (atomic_exchange(&sdk.asked, true)) return NULL;
    if (hb_rocp_is_1(sdk.rocp))
        ((hb_rocp_client_1 *)client)->name = "hipboard";
    else
        ((hb_rocp_client_0 *)client)->name = "hipboard";
    return &tool;
}

/* It calls all that want to be called so, when the runtime registers with it. */
void *hb_rocprofiler_configure(uint32_t version, const char *version_text, uint32_t priority,
                               void *client)
{
    hb_buf why;
    hb_record_init();
    hb_buf_init(&why, sizeof sdk.refusal - 1);
    if (!sdk.rocp) sdk.rocp = hb_rocp_library(NULL, &why);
    snprintf(sdk.refusal, sizeof sdk.refusal, "%s", hb_buf_text(&why));
    hb_buf_free(&why);
    return sdk.rocp ? configure(version, version_text, priority, client) : NULL;
}

/* ---- when it can be had ---- */

typedef struct registration {
    size_t size;
    const char *name;
} registration;

static int is_hip(const registration *info, void *found)
{
    bool hip = strcmp(info->name, "hip") == 0;
    if (hip) *(bool *)found = true;
    return hip;
}

/* The runtime registers with this library at its first call. rocprofiler-sdk, if it comes later,
 * hears neither of its calls nor of the queues that it has. */
static bool runtime_waits(hb_buf *why)
{
    bool started = false;
    int (*iterate)(int (*each)(const registration *info, void *arg), void *arg);
    void *library = dlopen("librocprofiler-register.so.0", RTLD_LAZY | RTLD_NOLOAD);
    if (!library) {
        hb_buf_str(why, "this HIP runtime does not report to it; ROCm's does since 6.2");
        return false;
    }
    void *address = dlsym(library, "rocprofiler_register_iterate_registration_info");
    memcpy(&iterate, &address, sizeof address);
    if (iterate) iterate(is_hip, &started);
    dlclose(library);
    if (started)
        hb_buf_str(why, "the HIP runtime had been used before: a profiler has to be made before "
                        "the first HIP call, or the program run by `hipboard record`");
    return !started;
}

static bool can_configure(const hb_hip *hip, hb_buf *why)
{
    int status = 0;
    if (!(sdk.rocp = hb_rocp_library(hip, why))) return false;
    const void *library;
    memcpy(&library, &sdk.rocp->flush_buffer, sizeof library);
    hb_stack_pass_over(library);
    if (sdk.rocp->is_initialized(&status) == HB_ROCP_SUCCESS && status != 0) {
        hb_buf_printf(why, "another tool has configured it (version %s)", sdk.rocp->version);
        return false;
    }
    return runtime_waits(why);
}

static void prepare(const hb_hip *hip)
{
    hb_buf why;
    if (sdk.ready || sdk.refusal[0]) return;
    hb_record_init();
    hb_buf_init(&why, sizeof sdk.refusal - 1);
    if (!can_configure(hip, &why)) {
        snprintf(sdk.refusal, sizeof sdk.refusal, "%s", hb_buf_text(&why));
    } else {
        int status = sdk.rocp->force_configure(configure);
        if (status) refuse("another client", status);
    }
    hb_buf_free(&why);
}

/* ---- the back-end ---- */

static bool probe(const hb_hip *hip, hb_buf *why)
{
    bool over = atomic_load(&sdk.over);
    (void)hip;
    if (!sdk.ready) hb_buf_str(why, sdk.refusal);
    if (over) hb_buf_str(why, "it " OVER);
    return sdk.ready && !over;
}

/* Calls the runtime and listens. */
static bool hears(const hb_hip *hip)
{
    int version;
    if (!hip->runtime_get_version || sdk.rocp->start_context(sdk.work) != 0) return false;
    bool before = hb_calls_enter_own();
    hip->runtime_get_version(&version);
    hb_calls_leave_own(before);
    sdk.rocp->stop_context(sdk.work);
    return atomic_load(&sdk.heard);
}

static bool attach(const hb_hip *hip, hb_buf *why)
{
    hb_calls_source calls = {
        .num_functions = sdk.num_functions,
        .name_of = name_of,
        .unexpanded = true,
        .short_launches = true,
    };
    if (!hears(hip)) {
        hb_buf_printf(why, "version %s does not hear of this HIP runtime's calls",
                      sdk.rocp->version);
        return false;
    }
    sdk.hip = hip;
    hb_rocp_agents_find(sdk.rocp);
    bool attached = hb_calls_init(hip, &calls);
    if (!attached) hb_buf_str(why, "no memory");
    atomic_store(&sdk.attached, attached);
    return attached;
}

/* Its times are CLOCK_BOOTTIME's in all versions so far, which this finds to be so. */
static int64_t boottime_ahead(void)
{
    uint64_t theirs = 0;
    if (sdk.rocp->get_timestamp(&theirs) != 0) return 0;
    int64_t ahead = hb_clock_ns(CLOCK_BOOTTIME) - (int64_t)theirs;
    return llabs(ahead) < 1000000 ? 0 : ahead;
}

static void enable(bool on)
{
    if (atomic_load(&sdk.over)) {
        if (on) hb_diagnostics_add(true, "rocprofiler-sdk " OVER ": HIP is not captured");
    } else if (on) {
        sdk.ahead_ns = boottime_ahead();
        sdk.rocp->start_context(sdk.work);
    } else {
        sdk.rocp->stop_context(sdk.work);
    }
}

static void flush(void)
{
    if (!atomic_load(&sdk.over)) sdk.rocp->flush_buffer(sdk.buffer);
}

static uint64_t lost(void)
{
    return atomic_load(&sdk.lost);
}

static int32_t node_of(int device)
{
    return hb_rocp_node_of_device(sdk.hip, device);
}

static const char *version(void)
{
    return sdk.rocp->version;
}

const hb_device_backend hb_rocprofiler_sdk = {
    .name = "rocprofiler-sdk",
    .summary = "AMD's profiling library, which HIP since ROCm 6.2 reports to",
    .ends_at_fork = true,
    .prepare = prepare,
    .probe = probe,
    .attach = attach,
    .enable = enable,
    .flush = flush,
    .lost = lost,
    .node_of = node_of,
    .version = version,
};
