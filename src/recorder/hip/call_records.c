/* SPDX-License-Identifier: MIT
 *
 * What a call's arguments and result mean: its record, and what it did to memory.
 */
#include "gpu/occupancy.h"
#include "hip/busy_streams.h"
#include "hip/call_copies.h"
#include "hip/call_stacks.h"
#include "hip/call_streams.h"
#include "hip/calls_runtime.h"
#include "hip/graphs.h"
#include "hip/kernels.h"
#include "hip/launches.h"
#include "hip/mempools.h"
#include "record/alarm.h"
#include "record/strings.h"

static inline const hb_hip *hip(void)
{
    return hb_calls_runtime.hip;
}

/* ---- begin ---- */

void hb_call_name_scopes(const hb_thread *t, hb_record_call *r)
{
    if (!t->depth) return;
    r->external_id = t->open[t->depth - 1].id;
    for (uint32_t i = t->depth; i-- > 0;) {
        if (t->open[i].record->type != HB_RECORD_ANNOTATION) continue;
        r->annotation_id = t->open[i].id;
        r->annotation = t->open[i].record->name;
        return;
    }
}

HB_COLD void hb_call_name_scopes_and_leave(hb_thread *t, hb_record_call *r)
{
    hb_call_name_scopes(t, r);
    hb_thread_leave(t);
}

/* One by one, as compilers clear so much at once by a slow loop. */
void hb_call_fill(const hb_frame *f, const hb_thread *t, hb_record_call *r,
                  enum hb_record_type type, size_t bytes, unsigned flags)
{
    hb_record_head(&r->head, type, flags, hb_calls_runtime.names[f->cid], bytes);
    r->head.start = f->start;
    r->correlation = f->correlation;
    r->work = f->work;
    r->error_name = 0;
    r->error = 0;
    r->cid = (uint16_t)f->cid;
    r->external_id = r->annotation_id = 0;
    r->annotation = 0;
    hb_call_name_scopes(t, r);
}

/* Takes a record made on the stack into the calling thread's chunk. */
static void put(hb_frame *f, const hb_record_call *from, enum hb_record_type type, size_t bytes,
                unsigned flags)
{
    hb_thread *t = hb_record_enter();
    if (!t) return;
    hb_record_call *r = (hb_record_call *)hb_record_reserve(t, (uint32_t)bytes);
    if (r) {
        memcpy(r, from, bytes);
        hb_call_fill(f, t, r, type, bytes, flags);
        hb_call_take_in(f, t, r, bytes);
    }
    hb_thread_leave(t);
}

static unsigned flags_of(const hb_frame *f)
{
    hb_calls *c = hb_thread_tls->calls;
    unsigned usual = hb_call_flags(f);
    switch (f->call->kind) {
    case HB_CALL_GRAPH_LAUNCH:
        hb_count(&c->replays);
        return (usual & HB_RECORD_CAPTURED) | HB_RECORD_REPLAYS;
    case HB_CALL_WAIT: return (usual & HB_RECORD_UNSURE) | HB_RECORD_WAITS;
    default: return usual;
    }
}

static void begin_copy(hb_frame *f, const char *args)
{
    const hb_hip_call *call = f->call;
    bool peer = call->kind == HB_CALL_COPY_PEER;
    uint64_t stream = hb_arg_word(args, call->stream);
    hb_record_copy r = {
        .call = {.stream = stream, .device = hb_call_device_of(f, stream)},
        .dst = hb_arg_word(args, call->ptr),
        .src = hb_arg_word(args, call->src),
        .bytes = hb_arg_word(args, call->bytes),
        .kind = (int16_t)hb_arg_number(args, call->copy, hb_copy_kind_of(call)),
        .from_device = peer ? (int16_t)hb_arg_number(args, call->copy, -1) : -1,
        .to_device = peer ? (int16_t)hb_arg_number(args, call->unit, -1) : -1,
    };
    if (call->kind == HB_CALL_COPY_2D || call->kind == HB_CALL_FILL_2D)
        r.bytes *= hb_arg_word(args, (uint8_t)(call->bytes + 8));
    if (call->src == HB_NO_ARG) r.bytes *= call->unit;
    if (peer || r.kind == HB_COPY_KIND_BY_ENGINE) r.kind = HB_COPY_KIND_WITHIN;
    r.direction = hb_copy_direction(&r);
    hb_copy_find_devices(&r);
    put(f, &r.call, HB_RECORD_COPY, sizeof r, flags_of(f));
}

static bool wants_memory(void)
{
    return __atomic_load_n(&hb_recording_now.flags, __ATOMIC_RELAXED) & HB_SESSION_MEMORY;
}

static bool is_host(const hb_hip_call *call)
{
    return call->kind == HB_CALL_ALLOCATE_HOST || call->kind == HB_CALL_FREE_HOST;
}

/* Only now the runtime still knows how much it is, and whose: hipFree() takes pinned memory, too.
 */
static void look_at_freed(hb_frame *f, uint64_t ptr)
{
    void *base = NULL;
    if (!ptr || !wants_memory() || !hip()->mem_get_address_range) return;
    if (hip()->mem_get_address_range(&base, &f->bytes, hb_arg_pointer(ptr)) != 0) return;
    hb_hip_memory memory;
    bool known = hb_hip_memory_of(hip(), hb_arg_pointer(ptr), &memory);
    f->device = memory.device;
    f->is.on_host = known ? memory.on_host : is_host(f->call);
    f->ptr = hb_arg_pointer(ptr);
}

static void begin_free(hb_frame *f, const char *args)
{
    hb_record_allocation r = {.call.stream = hb_arg_word(args, f->call->stream),
                              .call.device = -1,
                              .ptr = hb_arg_word(args, f->call->ptr)};
    look_at_freed(f, r.ptr);
    put(f, &r.call, HB_RECORD_ALLOCATION, sizeof r, flags_of(f));
}

static int present_device(void)
{
    int device = 0;
    return hip()->get_device && hip()->get_device(&device) == 0 ? device : 0;
}

/* Calls that are known to make work have said on which stream. The others are in the middle of it:
 * then nothing may be asked that looks at streams. */
void hb_work_announced(const hb_frame *f)
{
    if (f && !f->is.unsure) return;
    bool was = hb_calls_enter_own();
    int device = was ? -1 : present_device();
    if (device >= 0 && device < HB_HIP_MAX_DEVICES) hb_busy_streams_add_unknown(device);
    hb_calls_leave_own(was);
}

/* The device is asked for now: afterwards it would wipe out the call's error, which the program may
 * ask for. */
static void begin_allocation(hb_frame *f, const char *args)
{
    f->device = present_device();
    hb_record_allocation r = {.call.stream = hb_arg_word(args, f->call->stream),
                              .call.device = -1,
                              .bytes = hb_arg_word(args, f->call->bytes)};
    put(f, &r.call, HB_RECORD_ALLOCATION, sizeof r, flags_of(f));
}

static void begin_plain(hb_frame *f, const char *args)
{
    uint64_t stream = hb_arg_word(args, f->call->stream);
    bool work = f->call->kind == HB_CALL_GRAPH_LAUNCH || f->call->kind == HB_CALL_WORK;
    hb_record_call r = {.stream = stream, .device = work ? hb_call_device_of(f, stream) : -1};
    put(f, &r, HB_RECORD_CALL, sizeof r, flags_of(f));
}

/* Before they are gone: afterwards another thread may already have made one of that address. */
static void begin_destroy(hb_frame *f, const char *args)
{
    hb_call_destroys_streams(f->call, args);
    begin_plain(f, args);
}

static void begin_destroy_pool(hb_frame *f, const char *args)
{
    hb_pools_drop(hb_arg_word(args, f->call->ptr));
    begin_plain(f, args);
}

/* Before the runtime captures: from then on others must not ask it for what breaks that. */
static void begin_capture(hb_frame *f, const char *args)
{
    hb_calls *c = hb_thread_tls->calls;
    begin_plain(f, args);
    if (atomic_fetch_add(&c->capturing, 1) == 0) c->captured = 0;
    hb_calls_choose_way(c);
}

static void begin_other(hb_frame *f, const char *args)
{
    switch (f->call->kind) {
    case HB_CALL_COPY:
    case HB_CALL_COPY_2D:
    case HB_CALL_COPY_PEER:
    case HB_CALL_FILL:
    case HB_CALL_FILL_2D: begin_copy(f, args); break;
    case HB_CALL_ALLOCATE:
    case HB_CALL_ALLOCATE_MANAGED:
    case HB_CALL_ALLOCATE_HOST:
    case HB_CALL_ALLOCATE_PITCH: begin_allocation(f, args); break;
    case HB_CALL_FREE:
    case HB_CALL_FREE_HOST: begin_free(f, args); break;
    case HB_CALL_DESTROY_STREAMS: begin_destroy(f, args); break;
    case HB_CALL_DESTROY_POOL: begin_destroy_pool(f, args); break;
    case HB_CALL_BEGIN_CAPTURE: begin_capture(f, args); break;
    default: begin_plain(f, args);
    }
}

static __attribute__((noinline)) void begin_other_than_launch(hb_frame *f, const char *args)
{
    hb_calls_set_ours(true); /* what is asked of the runtime here is not the program's */
    begin_other(f, args);
    hb_calls_set_ours(false);
}

void hb_call_begin(hb_frame *f, const char *args)
{
    if (HB_LIKELY(hb_call_is_launch(f->call)))
        hb_launch_put(f, args);
    else
        begin_other_than_launch(f, args);
    if (HB_UNLIKELY(hb_calls_want_stacks())) hb_call_put_stack(f);
}

/* ---- end ---- */

static size_t allocated_bytes(const hb_hip_call *call, const char *args, bool succeeded)
{
    size_t bytes = hb_arg_word(args, call->bytes);
    if (call->kind != HB_CALL_ALLOCATE_PITCH) return bytes;
    size_t *pitch = hb_arg_pointer(hb_arg_word(args, call->src));
    if (succeeded && pitch) bytes = *pitch;
    return bytes * hb_arg_word(args, (uint8_t)(call->bytes + 8));
}

static bool is_of_pool(const hb_hip_call *call)
{
    return call->kind == HB_CALL_ALLOCATE && call->stream != HB_NO_ARG;
}

/* A stream's or a pool's device need not be the thread's present one. A pool of the program's own
 * must not be asked about when it may be destroyed unseen. */
static void note_pool(const hb_frame *f, const char *args, hb_memory_info *info)
{
    if (!wants_memory()) return;
    uint64_t pool = hb_arg_word(args, f->call->src);
    info->device_id = hb_copy_device_of(info->addr);
    if (!pool || !hb_calls_runtime.source.interposed) hb_pools_use(hip(), info->device_id, pool);
}

/* A failed call's error is still to be asked for by the program: then nothing may be asked here. */
static int64_t kept_beside(const hb_memory_info *info)
{
    bool ask = !info->out_of_memory && info->device_type != HB_DEVICE_CPU && wants_memory();
    return ask ? hb_pools_kept(hip(), info->device_id) : HB_KEPT_UNKNOWN;
}

static void report_allocation(hb_frame *f, const char *args, int error)
{
    void **where = hb_arg_pointer(hb_arg_word(args, f->call->ptr));
    hb_memory_info info = {
        .device_type = is_host(f->call) ? HB_DEVICE_CPU : HB_DEVICE_HIP,
        .device_id = f->device,
        .bytes = (int64_t)allocated_bytes(f->call, args, error == 0),
        .total_allocated = -1,
        .total_reserved = -1,
        .out_of_memory = error != 0,
    };
    if (error != 0 && error != HB_HIP_ERROR_OUT_OF_MEMORY) return;
    if (error == 0) {
        if (!where || !*where) return;
        info.addr = f->ptr = *where;
        f->bytes = (size_t)info.bytes;
        if (is_of_pool(f->call)) note_pool(f, args, &info);
    }
    hb_record_memory_event(&info, kept_beside(&info));
}

static void report_free(const hb_frame *f)
{
    hb_memory_info info = {
        .device_type = f->is.on_host ? HB_DEVICE_CPU : HB_DEVICE_HIP,
        .device_id = f->device,
        .addr = f->ptr,
        .bytes = -(int64_t)f->bytes,
        .total_allocated = -1,
        .total_reserved = -1,
    };
    hb_record_memory_event(&info, kept_beside(&info));
}

/* What the call's result means beyond its own record. */
static void put_graph(const hb_frame *f, enum hb_graph_deed deed, uint64_t graph, uint64_t exec)
{
    hb_thread *t = f->record ? hb_record_enter() : NULL;
    if (!t) return;
    hb_record_graph *r = (hb_record_graph *)hb_record_reserve(t, sizeof *r);
    if (r) {
        hb_record_head(&r->head, HB_RECORD_GRAPH, deed, HB_STRING_UNNAMED, sizeof *r);
        r->head.start = f->start;
        r->correlation = f->correlation;
        r->graph = graph;
        r->exec = exec;
        hb_record_commit(t, &r->head);
    }
    hb_thread_leave(t);
}

/* Or it has not begun. */
static void end_capture(hb_calls *c)
{
    if (atomic_load(&c->capturing)) atomic_fetch_sub(&c->capturing, 1);
    hb_calls_choose_way(c);
}

/* Of a capture whose begin was not heard a part is known: then nothing is said of its graph. */
static void note_capture_end(hb_calls *c, const hb_frame *f, const char *args, bool whole)
{
    const uint64_t *graph = hb_arg_pointer(hb_arg_word(args, f->call->ptr));
    if (graph) hb_graphs_captured(*graph, whole ? c->captured : 0);
    if (graph) put_graph(f, HB_GRAPH_CAPTURED, whole ? *graph : 0, 0);
    c->captured = 0;
}

static void note_graph_made(const hb_frame *f, const char *args)
{
    uint64_t graph = hb_arg_word(args, f->call->src), exec = hb_arg_word(args, f->call->ptr);
    const uint64_t *made = hb_arg_pointer(exec);
    if (f->call->kind != HB_CALL_UPDATE_GRAPH) exec = made ? *made : 0;
    if (exec) hb_graphs_made(graph, exec);
    if (exec) put_graph(f, HB_GRAPH_MADE, graph, exec);
}

/* Where some launches are not timed, nobody says whether a graph's are. */
static void note_graph_run(hb_calls *c, const hb_frame *f, const char *args)
{
    uint64_t exec = hb_arg_word(args, f->call->ptr);
    bool all = atomic_load_explicit(&hb_calls_sampling, memory_order_relaxed) <= 1;
    if (all && !f->is.untimed && !hb_calls_capture(c))
        hb_graph_made(hb_graphs_kernels(exec));
    put_graph(f, HB_GRAPH_RUN, 0, exec);
}

static void note_result(hb_frame *f, const char *args, int error)
{
    hb_calls *c = hb_thread_tls->calls;
    bool heard_begin = atomic_load_explicit(&c->capturing, memory_order_relaxed);
    switch (f->call->kind) {
    case HB_CALL_ALLOCATE:
    case HB_CALL_ALLOCATE_MANAGED:
    case HB_CALL_ALLOCATE_HOST:
    case HB_CALL_ALLOCATE_PITCH: report_allocation(f, args, error); break;
    case HB_CALL_FREE:
    case HB_CALL_FREE_HOST:
        if (error == 0 && f->ptr) report_free(f);
        break;
    case HB_CALL_BEGIN_CAPTURE:
        if (error)
            end_capture(c);
        else
            hb_calls_outdate_streams(); /* other threads may launch into it */
        break;
    case HB_CALL_END_CAPTURE:
        end_capture(c);
        atomic_fetch_add(&hb_captures_ended, 1);
        if (error == 0) note_capture_end(c, f, args, heard_begin);
        break;
    case HB_CALL_UNLOAD: hb_kernels_outdate(); break;
    case HB_CALL_MAKE_GRAPH:
    case HB_CALL_UPDATE_GRAPH:
        if (error == 0) note_graph_made(f, args);
        break;
    case HB_CALL_GRAPH_LAUNCH:
        if (error == 0) note_graph_run(c, f, args);
        break;
    default: break;
    }
}

bool hb_call_record(const hb_frame *f, hb_record_copy *copy)
{
    hb_thread *t = f->record ? hb_record_enter() : NULL;
    if (!t) return false;
    bool there = hb_call_is_there(t, f);
    if (there) {
        size_t bytes = (size_t)f->record->head.units * 8;
        memset(copy, 0, sizeof *copy);
        memcpy(copy, f->record, HB_MIN(bytes, sizeof *copy));
    }
    hb_thread_leave(t);
    return there;
}

/* Atomic: who looks at the chunk meanwhile may read them; hb_codec_copy_hot(). */
static void set_result(const hb_frame *f, int error, uint32_t error_name)
{
    hb_record_call *r = f->record;
    __atomic_store_n(&r->error, error, __ATOMIC_RELAXED);
    __atomic_store_n(&r->error_name, error_name, __ATOMIC_RELAXED);
    if (r->head.type != HB_RECORD_ALLOCATION) return;
    hb_record_allocation *a = (hb_record_allocation *)r;
    __atomic_store_n(&a->ptr, (uint64_t)(uintptr_t)f->ptr, __ATOMIC_RELAXED);
    __atomic_store_n(&a->bytes, f->bytes, __ATOMIC_RELAXED);
}

static inline __attribute__((always_inline)) void close_record(const hb_frame *f, uint64_t now,
                                                               bool has_result, int error)
{
    const char *text = error ? hb_hip_error_name(hip(), error) : "";
    uint32_t name = *text ? hb_strings_intern(text, strlen(text)) : 0;
    hb_thread *t = hb_record_enter_at(HB_FRAME);
    if (HB_UNLIKELY(!t)) return;
    if (hb_call_is_there(t, f)) {
        if (has_result) set_result(f, error, name);
        __atomic_store_n(&f->record->work, f->work, __ATOMIC_RELAXED);
        /* Last: with it the record is whole, and its chunk may be the spool's writer's. */
        __atomic_store_n(&f->record->head.end, now, __ATOMIC_RELEASE);
    }
    hb_thread_leave(t);
}

static bool reports_memory(const hb_hip_call *call)
{
    return call->kind >= HB_CALL_ALLOCATE && call->kind <= HB_CALL_FREE_HOST;
}

/* The innermost call is over, and so is what hipboard asked during it. */
static inline void pop(void)
{
    hb_thread *t = hb_thread_tls;
    hb_calls *c = t->calls;
    c->ours = false;
    c->depth--;
    hb_calls_settle(t, c);
}

/* More than a nanosecond: two readings of the counter may agree, and a file's times do sooner. */
#define TICKS_APART 4

static __attribute__((noinline)) void end_other(hb_frame *f, const char *args, int error,
                                                uint64_t now)
{
    hb_calls_set_ours(true);
    note_result(f, args, error);
    if (error && f->counted) hb_uncount(f->counted);
    if (HB_UNLIKELY(error) && atomic_load_explicit(&hb_alarm_of_hip, memory_order_relaxed))
        hb_alarm_hip_failed(f->call->name, error);
    /* A memory event lies within its call: so readers of traces find whose it is. */
    if (reports_memory(f->call)) now = hb_ticks() + TICKS_APART;
    if (f->record) close_record(f, now, true, error);
    pop();
}

void hb_call_end(hb_frame *f, const char *args, int error)
{
    uint64_t now = hb_ticks();
    if (HB_UNLIKELY(error != 0 || !hb_call_is_launch(f->call))) {
        end_other(f, args, error, now);
        return;
    }
    /* Of a launch that succeeded there is nothing else to note, and nothing to ask. */
    if (f->record) close_record(f, now, false, 0);
    pop();
}
