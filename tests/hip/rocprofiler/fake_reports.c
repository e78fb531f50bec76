/* SPDX-License-Identifier: MIT
 *
 * What librocprofiler-sdk.so.1 tells its clients. Structures are written byte by byte at the
 * offsets that ROCm's public headers have, by the version asked for, and not by any declaration
 * that hipboard shares: so each checks the other.
 */
#include "fake_sdk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static __thread uint64_t correlations[64]; /* of the calls that the thread is in */
static __thread void *running_calls[64];   /* the same: one that never ends is no leak */
static __thread int depth;

/* ---- records ---- */

void fake_put32(void *record, size_t offset, uint64_t value)
{
    uint32_t v = (uint32_t)value;
    memcpy((char *)record + offset, &v, sizeof v);
}

void fake_put64(void *record, size_t offset, uint64_t value)
{
    memcpy((char *)record + offset, &value, sizeof value);
}

void fake_put_pointer(void *record, size_t offset, const void *value)
{
    memcpy((char *)record + offset, &value, sizeof value);
}

uint64_t fake_thread_id(void)
{
    static __thread uint64_t tid;
    if (!tid) tid = (uint64_t)syscall(SYS_gettid);
    return tid;
}

static uint64_t internal_id(void)
{
    return depth ? correlations[depth - 1] : 0;
}

bool fake_is_active(uint64_t number)
{
    return __atomic_load_n(&sdk.contexts[number].active, __ATOMIC_ACQUIRE);
}

void fake_set_active(uint64_t number, bool active)
{
    __atomic_store_n(&sdk.contexts[number].active, active, __ATOMIC_RELEASE);
}

/* ---- buffers ---- */

static void *hand_over(void *arg)
{
    buffer *b = arg;
    b->callback((id){b->context}, (id){(uint64_t)(b - sdk.buffers)}, b->records, b->count, b->arg,
                b->dropped);
    for (size_t i = 0; i < b->count; i++) {
        free(b->records[i]->payload);
        free(b->records[i]);
    }
    b->count = b->used = 0;
    return NULL;
}

/* Under lock: whoever has a record meanwhile waits. */
static void flush_locked(buffer *b)
{
    pthread_t thread;
    if (b->count == 0) return;
    if (pthread_create(&thread, NULL, hand_over, b) == 0) pthread_join(thread, NULL);
}

/* Under lock. */
static bool drop(buffer *b)
{
    static uint64_t each;
    const char *text = each ? NULL : getenv("FAKE_ROCPROFILER_DROPS");
    if (!each) each = text ? strtoull(text, NULL, 10) : UINT64_MAX;
    if (++sdk.emplaced % each != 0) return false;
    b->dropped++;
    return true;
}

static void emplace(uint64_t handle, uint32_t kind, const void *record, size_t bytes)
{
    buffer *b = &sdk.buffers[handle];
    pthread_mutex_lock(&sdk.lock);
    if (!drop(b)) {
        if (b->used + bytes > b->bytes) flush_locked(b);
        if (b->count == b->capacity) {
            b->capacity = b->capacity ? b->capacity * 2 : 256;
            b->records = realloc(b->records, b->capacity * sizeof *b->records);
        }
        record_header *header = malloc(sizeof *header);
        *header = (record_header){1, kind, malloc(bytes)};
        memcpy(header->payload, record, bytes);
        b->records[b->count++] = header;
        b->used += bytes;
        if (b->used >= b->watermark) flush_locked(b);
    }
    pthread_mutex_unlock(&sdk.lock);
}

static uint64_t external_id(uint64_t number, uint32_t kind)
{
    context *c = &sdk.contexts[number];
    uint64_t external = 0;
    if (c->external)
        c->external(fake_thread_id(), (id){number}, kind, 0, internal_id(), &external,
                    c->external_arg);
    return external;
}

uint64_t fake_time(uint64_t boottime_ns)
{
    const char *text = getenv("FAKE_ROCPROFILER_AHEAD");
    return boottime_ns + (text ? strtoull(text, NULL, 10) * 1000000000u : 0);
}

static void put_async_head(void *record, size_t bytes, uint32_t kind, uint32_t operation,
                           uint64_t external)
{
    fake_put64(record, 0, bytes);
    fake_put32(record, 8, kind);
    fake_put32(record, 12, operation);
    fake_put64(record, 16, internal_id());
    fake_put64(record, 24, external);
    fake_put64(record, 32, fake_thread_id());
}

static void report_dispatch(const fake_dispatch *d)
{
    uint64_t number = __atomic_add_fetch(&sdk.next_dispatch, 1, __ATOMIC_RELAXED);
    for (uint64_t c = 1; c <= sdk.num_contexts; c++) {
        char r[184] = "";
        if (!fake_is_active(c) || !sdk.contexts[c].buffers[KERNEL_DISPATCH]) continue;
        put_async_head(r, sizeof r, KERNEL_DISPATCH, COMPLETE, external_id(c, KERNEL_DISPATCH));
        fake_put64(r, 40, fake_time(d->begin_ns));
        fake_put64(r, 48, fake_time(d->end_ns));
        fake_put64(r, 56, 72);
        fake_put64(r, 64, d->agent);
        fake_put64(r, 72, d->queue);
        fake_put64(r, 80, d->kernel_id);
        fake_put64(r, 88, number);
        fake_put32(r, 96, d->private_bytes);
        fake_put32(r, 100, d->group_bytes);
        for (int i = 0; i < 3; i++) {
            fake_put32(r, 104 + (size_t)i * 4, d->workgroup[i]);
            fake_put32(r, 116 + (size_t)i * 4, d->grid[i]);
        }
        emplace(sdk.contexts[c].buffers[KERNEL_DISPATCH], KERNEL_DISPATCH, r, sizeof r);
    }
}

static void report_copy(const fake_copy *copy)
{
    for (uint64_t c = 1; c <= sdk.num_contexts; c++) {
        char r[96] = "";
        size_t bytes = (fake_version() >= 10000) ? 96 : 80;
        if (!fake_is_active(c) || !sdk.contexts[c].buffers[MEMORY_COPY]) continue;
        put_async_head(r, bytes, MEMORY_COPY, copy->operation, external_id(c, MEMORY_COPY));
        fake_put64(r, 40, fake_time(copy->begin_ns));
        fake_put64(r, 48, fake_time(copy->end_ns));
        fake_put64(r, 56, copy->to);
        fake_put64(r, 64, copy->from);
        fake_put64(r, 72, copy->bytes);
        emplace(sdk.contexts[c].buffers[MEMORY_COPY], MEMORY_COPY, r, bytes);
    }
}

void fake_flush(buffer *b)
{
    pthread_mutex_lock(&sdk.lock);
    flush_locked(b);
    pthread_mutex_unlock(&sdk.lock);
}

/* ---- callbacks ---- */

typedef struct record_0 {
    uint64_t words[7];
} record_0;

typedef struct record_1 {
    uint64_t words[8];
} record_1;

static bool wants(const context *c, uint32_t kind, int32_t operation)
{
    const int32_t *o = c->callbacks[kind].operations;
    if (!__atomic_load_n(&c->active, __ATOMIC_ACQUIRE) || !c->callbacks[kind].function)
        return false;
    while (o && *o != -1 && *o != operation)
        o++;
    return !o || *o == operation;
}

static void call_back(uint64_t number, uint32_t kind, int32_t operation, uint32_t phase,
                      uint64_t correlation, void *payload, uint64_t *data)
{
    const context *c = &sdk.contexts[number];
    uint64_t what = (uint64_t)(uint32_t)operation << 32 | kind;
    uint64_t address = (uint64_t)(uintptr_t)payload;
    if ((fake_version() >= 10000)) {
        record_1 r = {{number, fake_thread_id(), correlation, 0, 0, what, phase, address}};
        ((void (*)(record_1, uint64_t *, void *))c->callbacks[kind].function)(
            r, data, c->callbacks[kind].arg);
    } else {
        record_0 r = {{number, fake_thread_id(), correlation, 0, what, phase, address}};
        ((void (*)(record_0, uint64_t *, void *))c->callbacks[kind].function)(
            r, data, c->callbacks[kind].arg);
    }
}

/* The code that a kernel is in, to who asks for all that is told of code: its number lies where a
 * kernel's does. */
static void report_object(const fake_symbol *s)
{
    for (uint64_t c = 1; c <= sdk.num_contexts; c++) {
        _Alignas(8) char r[128] = "";
        uint64_t data = 0;
        if (!wants(&sdk.contexts[c], CODE_OBJECT, OBJECT_LOAD)) continue;
        fake_put64(r, 0, sizeof r);
        fake_put64(r, 8, s->kernel_id);
        fake_put_pointer(r, 24, "file:///kernels.co");
        call_back(c, CODE_OBJECT, OBJECT_LOAD, ENTER, 0, r, &data);
    }
}

static void report_symbol(const fake_symbol *s)
{
    report_object(s);
    for (uint64_t c = 1; c <= sdk.num_contexts; c++) {
        _Alignas(8) char r[88] = "";
        uint64_t data = 0;
        if (!wants(&sdk.contexts[c], CODE_OBJECT, SYMBOL_REGISTER)) continue;
        fake_put64(r, 0, fake_version() >= 600 ? 88 : 72);
        fake_put64(r, 8, s->kernel_id);
        fake_put64(r, 16, 1);
        fake_put_pointer(r, 24, s->name);
        fake_put32(r, 48, s->group_bytes);
        fake_put32(r, 52, s->private_bytes);
        fake_put32(r, 56, s->sgprs);
        fake_put32(r, 60, s->arch_vgprs);
        fake_put32(r, 64, s->accum_vgprs);
        call_back(c, CODE_OBJECT, SYMBOL_REGISTER, ENTER, 0, r, &data);
    }
}

/* ---- calls ---- */

/* The functions that the stand-in for HIP has, and some that are hidden, by their real numbers; but
 * from 500 on, of HIP 7.2. */
typedef struct function {
    int32_t number;
    const char *name;
} function;
static const function hip_functions[] = {
    {40, "hipDeviceGet"},
    {66, "hipDeviceSynchronize"},
    {90, "hipFree"},
    {103, "hipGetDeviceCount"},
    {109, "hipGetLastError"},
    {166, "hipGraphLaunch"},
    {214, "hipLaunchKernel"},
    {215, "hipMalloc"},
    {224, "hipMallocPitch"},
    {268, "hipMemcpyAsync"},
    {293, "hipMemsetAsync"},
    {308, "hipModuleLaunchKernel"},
    {326, "hipRuntimeGetVersion"},
    {346, "hipStreamSynchronize"},
    {388, "hipExtModuleLaunchKernel"},
    {427, "hipGetStreamDeviceId"},
    {474, "hipLaunchKernelExC"},
    {475, "hipDrvLaunchKernelEx"},
    {210, "hipLaunchByPtr"},
    {500, "hipGetDriverEntryPoint"},
    {501, "hipGetProcAddress"},
    {502, "hipLibraryGetKernel"},
    {503, "hipLibraryLoadData"},
    {504, "hipLibraryUnload"},
};
/* RCCL's, by their real numbers: those that the stand-in for it has. */
static const function rccl_functions[] = {
    {0, "ncclAllGather"},
    {1, "ncclAllReduce"},
    {4, "ncclBroadcast"},
    {7, "ncclReduceScatter"},
    {9, "ncclSend"},
    {10, "ncclRecv"},
    {13, "ncclGroupStart"},
    {14, "ncclGroupEnd"},
    {15, "ncclGetVersion"},
    {16, "ncclGetUniqueId"},
    {17, "ncclCommInitRank"},
    {18, "ncclCommInitAll"},
    {21, "ncclCommDestroy"},
    {22, "ncclCommAbort"},
    {23, "ncclCommSplit"},
    {24, "ncclGetErrorString"},
    {26, "ncclCommGetAsyncError"},
    {27, "ncclCommCount"},
    {29, "ncclCommUserRank"},
};

/* The largest arguments and results of a kind's functions. */
static const struct library {
    uint32_t kind;
    const function *functions;
    size_t count, args, result;
} libraries[] = {
    {HIP_RUNTIME_API, hip_functions, sizeof hip_functions / sizeof *hip_functions, 88, 24},
    {RCCL_API, rccl_functions, sizeof rccl_functions / sizeof *rccl_functions, 152, 8},
};
enum { PAYLOAD = 8 + 152 + 24 };

static const struct library *library_of(uint32_t kind)
{
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        if (libraries[i].kind == kind) return &libraries[i];
    return NULL;
}

const char *fake_operation_name(uint32_t kind, int32_t number)
{
    const struct library *l = library_of(kind);
    for (size_t i = 0; l && i < l->count; i++)
        if (l->functions[i].number == number) return l->functions[i].name;
    return NULL;
}

void fake_each_operation(uint32_t kind, int (*each)(uint32_t kind, int32_t operation, void *arg),
                         void *arg)
{
    const struct library *l = library_of(kind);
    for (size_t i = 0; l && i < l->count; i++)
        each(kind, l->functions[i].number, arg);
}

typedef struct running_call {
    const struct library *library;
    uint64_t correlation, data[MAX_CONTEXTS];
    bool told[MAX_CONTEXTS];
    int32_t operation;
    _Alignas(8) char payload[PAYLOAD];
} running_call;

static void tell(running_call *call, uint32_t phase)
{
    for (uint64_t c = 1; c <= sdk.num_contexts; c++)
        if (call->told[c])
            call_back(c, call->library->kind, call->operation, phase, call->correlation,
                      call->payload, &call->data[c]);
}

static void *enter(uint32_t kind, const char *name, const void *args, size_t size)
{
    size_t i = 0;
    bool wanted = false;
    const struct library *l = library_of(kind);
    while (i < l->count && strcmp(l->functions[i].name, name) != 0)
        i++;
    if (i == l->count || size > l->args) return NULL;
    running_call *call = calloc(1, sizeof *call);
    call->library = l;
    call->operation = l->functions[i].number;
    for (uint64_t c = 1; c <= sdk.num_contexts; c++)
        wanted |= call->told[c] = wants(&sdk.contexts[c], kind, call->operation);
    if (!wanted) {
        free(call);
        return NULL;
    }
    call->correlation = __atomic_add_fetch(&sdk.next_correlation, 1, __ATOMIC_RELAXED);
    running_calls[depth] = call;
    correlations[depth++] = call->correlation;
    fake_put64(call->payload, 0, 8 + l->args + l->result);
    memcpy(call->payload + 8, args, size);
    tell(call, ENTER);
    return call;
}

static void *enter_hip(const char *name, const void *args, size_t size)
{
    return enter(HIP_RUNTIME_API, name, args, size);
}

static void *enter_rccl(const char *name, const void *args, size_t size)
{
    return enter(RCCL_API, name, args, size);
}

static void leave(void *running, int result)
{
    running_call *call = running;
    fake_put32(call->payload, 8 + call->library->args, (uint32_t)result);
    tell(call, EXIT);
    depth--;
    free(call);
}

const fake_table fake_reports = {enter_hip, leave, report_dispatch, report_copy, report_symbol};
const fake_table fake_rccl_reports = {enter_rccl, leave, report_dispatch, report_copy,
                                      report_symbol};
