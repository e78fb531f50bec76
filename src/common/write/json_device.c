/* SPDX-License-Identifier: MIT
 *
 * HIP calls and device work. Kineto prints their args from templates of several lines whose line
 * breaks are then deleted while the indentation stays, hence the runs of blanks below. The
 * tensorboard dialect adds members behind those.
 */
#include "write/json_parts.h"

#define AC2G HB_CATEGORY_AC2G

/* Kineto leaves the id out when there is none. The plugin would then hand all such calls to the
 * first module frame; with 0 it puts them under the thread's root. */
static char *put_external_id(const hb_writer *w, char *p, uint64_t id)
{
    if (id == 0 && w->kineto) return p;
    p = HB_PUT(p, "\"External id\": ");
    p = hb_put_u64(p, hb_id_remap_find(&w->remap, id));
    *p++ = ',';
    return p;
}

/* External ids of calls that are operators: above those that a session gives out, below those of
 * time slices, and exact in JSON readers that know doubles only. */
#define FIRST_CALL_ID ((uint64_t)1 << 51)

/* In no operator and no annotation. */
static bool is_bare(const hb_writer *w, uint64_t id)
{
    return hb_id_remap_find(&w->bare, hb_id_remap_find(&w->remap, id)) == 0;
}

bool hb_call_is_operator(const hb_writer *w, const hb_trace_event *event)
{
    const unsigned without = HB_TEV_MINOR | HB_TEV_NO_CALL;
    if (w->kineto || !event->correlation || (event->flags & without)) return false;
    if (event->flags & HB_TEV_REPLAY) return true;
    if (w->calls_are_operators || hb_memory_homes_has(&w->homes, event->correlation)) return true;
    return w->info->finds_operators && is_bare(w, event->external_id);
}

uint64_t hb_written_external_id(const hb_writer *w, const hb_trace_event *event)
{
    return hb_call_is_operator(w, event) ? FIRST_CALL_ID + event->correlation : event->external_id;
}

static char *put_triple(char *p, const uint32_t v[3])
{
    *p++ = '[';
    p = hb_put_u64(p, v[0]);
    p = HB_PUT(p, ", ");
    p = hb_put_u64(p, v[1]);
    p = HB_PUT(p, ", ");
    p = hb_put_u64(p, v[2]);
    *p++ = ']';
    return p;
}

static char *begin(hb_writer *w, const hb_trace_event *event, hb_category category, int64_t pid)
{
    hb_place place = {.category = category, .end_ns = event->end_ns};
    return hb_put_duration_event(w, event, &place, pid);
}

/* ---- HIP calls ---- */

static char *put_call(char *p, const hb_trace_event *event)
{
    p = HB_PUT(p, "\"cid\": ");
    p = hb_put_u64(p, event->runtime.cid);
    p = HB_PUT(p, ", \"correlation\": ");
    return hb_put_u64(p, event->correlation);
}

static char *put_launch(const hb_writer *w, char *p, const hb_trace_event *event)
{
    p = put_call(p, event);
    if (w->kineto) {
        p = HB_PUT(p, ",      \"stream\": \"");
        p = HB_PUT(hb_put_hex(p, event->runtime.stream), "\"");
    }
    p = HB_PUT(p, ",      \"grid\": ");
    p = put_triple(p, event->runtime.grid);
    p = HB_PUT(p, ",      \"block\": ");
    p = put_triple(p, event->runtime.block);
    p = HB_PUT(p, ",      \"shared memory\": ");
    return hb_put_u64(p, event->runtime.shared_bytes);
}

static char *put_copy(char *p, const hb_trace_event *event)
{
    const hb_runtime_args *call = &event->runtime;
    p = put_call(p, event);
    p = HB_PUT(p, ", \"src\": \"");
    p = hb_put_hex(p, call->src);
    p = HB_PUT(p, "\", \"dst\": \"");
    p = hb_put_hex(p, call->ptr);
    p = HB_PUT(p, "\", \"bytes\": \""); /* quoted indeed, up to PyTorch 2.13 */
    p = hb_put_u64(p, call->bytes);
    p = HB_PUT(p, "\", \"kind\": \"");
    uint32_t len = HB_MIN(call->kind.len, 8u);
    memcpy(p, call->kind.s, len);
    return HB_PUT(p + len, "\"");
}

static char *put_allocation(char *p, const hb_trace_event *event)
{
    if (event->runtime.bytes) {
        p = HB_PUT(p, "\"bytes\": ");
        p = hb_put_u64(p, event->runtime.bytes);
        p = HB_PUT(p, ", ");
    }
    p = put_call(p, event);
    p = HB_PUT(p, ", \"ptr\": \"");
    p = hb_put_hex(p, event->runtime.ptr);
    return HB_PUT(p, "\"");
}

/* Kineto names the kernel where the launch tells it. */
static char *put_kernel_name(hb_writer *w, char *p, hb_str name)
{
    p = HB_PUT(p, "    \"kernel\": ");
    hb_out_done(&w->out, p);
    hb_out_json(&w->out, name.s, name.len);
    return HB_PUT(hb_out_room(&w->out, HB_OUT_ROOM), ", ");
}

static char *put_runtime_args(hb_writer *w, char *p, const hb_trace_event *event)
{
    p = HB_PUT(p, "      ");
    if (w->kineto && event->runtime.kernel.len) p = put_kernel_name(w, p, event->runtime.kernel);
    if (event->runtime.has_grid) return put_launch(w, p, event);
    if (event->runtime.kind.len) return put_copy(p, event);
    if (event->runtime.ptr) return put_allocation(p, event);
    return put_call(p, event);
}

static void write_error(hb_out *out, const hb_runtime_args *call)
{
    HB_OUT(out, ", \"error\": ");
    if (call->error_name.len)
        hb_out_json(out, call->error_name.s, call->error_name.len);
    else
        hb_out_done(out, hb_put_i64(hb_out_room(out, HB_OUT_ROOM), call->error));
}

static char *put_stack(hb_writer *w, char *p, hb_str stack)
{
    hb_out_done(&w->out, HB_PUT(p, "\"Call stack\": "));
    hb_out_json(&w->out, stack.s, stack.len);
    return HB_PUT(hb_out_room(&w->out, HB_OUT_ROOM), ", ");
}

/* Around the call. The plugin's operator view, on whose page nothing else can be chosen once it is
 * shown empty, gets the calls of a program that marks nothing, its memory view their names. */
static void write_operator(hb_writer *w, const hb_trace_event *event)
{
    hb_place place = {.category = HB_CATEGORY_CPU_OP, .end_ns = event->end_ns, .in_tree = true};
    char *p = hb_put_duration_event(w, event, &place, w->pid);
    p = put_external_id(w, p, hb_written_external_id(w, event));
    if (event->runtime.stack.len) p = put_stack(w, p, event->runtime.stack);
    p = HB_PUT(p, "\"Record function id\": 0, ");
    if (event->runtime.flops > 0) {
        p = HB_PUT(p, "\"flops\": ");
        p = HB_PUT(hb_put_double(p, event->runtime.flops), ", ");
    }
    p = HB_PUT(p, "\"Ev Idx\": ");
    p = hb_put_u64(p, w->ev_idx++);
    if (event->num_args) {
        hb_out_done(&w->out, p);
        hb_write_more_args(&w->out, event);
        p = hb_out_room(&w->out, HB_OUT_ROOM);
    }
    hb_out_done(&w->out, hb_put_args_end(p));
}

void hb_write_runtime(hb_writer *w, const hb_trace_event *event)
{
    if (hb_call_is_operator(w, event)) write_operator(w, event);
    char *p = begin(w, event, hb_call_category(w->kineto), w->pid);
    p = put_external_id(w, p, hb_written_external_id(w, event));
    bool has_stack = event->runtime.stack.len && !hb_call_is_operator(w, event);
    if (has_stack) p = put_stack(w, p, event->runtime.stack);
    hb_out_done(&w->out, put_runtime_args(w, p, event));
    if (event->runtime.error && !w->kineto) write_error(&w->out, &event->runtime);
    hb_out_done(&w->out, hb_put_args_end(hb_out_room(&w->out, HB_OUT_ROOM)));
    if (event->runtime.launches && event->correlation)
        hb_write_flow(w, true, event->correlation, AC2G, event, w->pid);
}

/* ---- device work ---- */

static char *begin_device_work(hb_writer *w, const hb_trace_event *event, hb_category category)
{
    char *p = begin(w, event, category, event->device);
    p = put_external_id(w, p, hb_written_external_id(w, event));
    p = HB_PUT(p, "      \"device\": ");
    p = hb_put_i64(p, event->device);
    p = HB_PUT(p, ", \"stream\": ");
    p = hb_put_i64(p, event->tid);
    p = HB_PUT(p, ",      \"correlation\": ");
    p = hb_put_u64(p, event->correlation);
    return HB_PUT(p, ", \"kind\": \"");
}

bool hb_work_has_call(const hb_trace_event *work)
{
    return work->correlation && !(work->flags & HB_TEV_NO_CALL);
}

static void end_device_work(hb_writer *w, const hb_trace_event *event, char *p)
{
    if (event->num_args) {
        hb_out_done(&w->out, p);
        hb_write_more_args(&w->out, event);
        p = hb_out_room(&w->out, HB_OUT_ROOM);
    }
    hb_out_done(&w->out, hb_put_args_end(p));
    if (hb_work_has_call(event))
        hb_write_flow(w, false, event->correlation, AC2G, event, event->device);
}

static char *put_resources(char *p, const hb_kernel_args *kernel)
{
    if (kernel->sgprs) { /* every kernel has some: else neither is known */
        p = HB_PUT(p, ", \"sgprs per wave\": ");
        p = hb_put_u64(p, kernel->sgprs);
        p = HB_PUT(p, ", \"agprs per thread\": ");
        p = hb_put_u64(p, kernel->agprs);
    }
    p = HB_PUT(p, ", \"scratch per thread\": ");
    return hb_put_u64(p, kernel->scratch_bytes);
}

/* What the Kernel view and the GPU summary are made of. The plugin logs a warning for each number
 * that is not positive or is negative, so unknown ones are left out; it shows them as 0. */
static char *put_occupancy(const hb_writer *w, char *p, const hb_trace_event *event)
{
    const hb_kernel_args *kernel = &event->kernel;
    double blocks = hb_blocks_per_sm(w->info, event);
    if (blocks > 0) {
        p = HB_PUT(p, ", \"blocks per SM\": ");
        p = hb_put_micros(p, blocks);
    }
    if (kernel->warps_per_sm > 0) {
        p = HB_PUT(p, ", \"warps per SM\": ");
        p = hb_put_micros(p, kernel->warps_per_sm);
    }
    if (kernel->occupancy >= 0) {
        p = HB_PUT(p, ", \"est. achieved occupancy %\": ");
        p = hb_put_double(p, kernel->occupancy);
    }
    return p;
}

static char *put_short_text(char *p, const char *text)
{
    size_t len = strnlen(text, 32);
    *p++ = '"';
    memcpy(p, text, len);
    p[len] = '"';
    return p + len + 1;
}

static char *put_kernel_details(const hb_writer *w, char *p, const hb_trace_event *event)
{
    const hb_kernel_args *kernel = &event->kernel;
    p = HB_PUT(p, ", \"registers per thread\": ");
    p = hb_put_u64(p, kernel->has_resources ? kernel->vgprs : 0);
    p = HB_PUT(p, ", \"shared memory\": ");
    p = hb_put_u64(p, kernel->has_resources ? kernel->lds_bytes : 0);
    if (kernel->has_resources) p = put_resources(p, kernel);
    p = put_occupancy(w, p, event);
    if (kernel->limiting_factor) {
        p = HB_PUT(p, ", \"occupancy limited by\": ");
        p = put_short_text(p, kernel->limiting_factor);
    }
    return p;
}

void hb_write_kernel(hb_writer *w, const hb_trace_event *event)
{
    char *p = begin_device_work(w, event, HB_CATEGORY_KERNEL);
    p = HB_PUT(p, "Dispatch Kernel\"");
    if (event->kernel.has_grid) {
        p = HB_PUT(p, ",      \"grid\":     ");
        p = put_triple(p, event->kernel.grid);
        p = HB_PUT(p, ", \"block\":     ");
        p = put_triple(p, event->kernel.block);
    }
    if (!w->kineto) p = put_kernel_details(w, p, event);
    end_device_work(w, event, p);
}

static char *put_bytes(char *p, const hb_trace_event *event)
{
    uint64_t ns = hb_event_ns(event);
    if (event->copy.bytes == 0) return p;
    p = HB_PUT(p, ",      \"bytes\": ");
    p = hb_put_u64(p, event->copy.bytes);
    p = HB_PUT(p, ", \"memory bandwidth (GB/s)\": ");
    return ns > 0 ? hb_put_double(p, (double)event->copy.bytes / (double)ns) : HB_PUT(p, "\"N/A\"");
}

static char *put_peers(char *p, const hb_copy_args *copy)
{
    p = HB_PUT(p, ", \"fromDevice\": ");
    p = hb_put_i64(p, copy->from_device);
    p = HB_PUT(p, ", \"toDevice\": ");
    return hb_put_i64(p, copy->to_device);
}

void hb_write_transfer(hb_writer *w, const hb_trace_event *event)
{
    bool copy = event->kind == HB_EVENT_MEMCPY;
    hb_category category = copy ? HB_CATEGORY_GPU_MEMCPY : HB_CATEGORY_GPU_MEMSET;
    const char *kind = event->copy.kind ? event->copy.kind : "<unknown>";
    char *p = begin_device_work(w, event, category);
    size_t len = strnlen(kind, 32);
    memcpy(p, kind, len);
    p = put_bytes(HB_PUT(p + len, "\""), event);
    if (!w->kineto && copy && strcmp(kind, "PtoP") == 0) p = put_peers(p, &event->copy);
    end_device_work(w, event, p);
}

bool hb_widen_annotation(const hb_writer *w, const hb_trace_event *event, hb_trace_event *wider)
{
    if (!w->kineto && hb_is_step(event->name)) return false; /* would count as one more step */
    *wider = *event;
    wider->start_ns -= wider->start_ns > INT64_MIN;
    wider->end_ns += wider->end_ns < INT64_MAX;
    return true;
}

void hb_write_device_annotation(hb_writer *w, const hb_trace_event *event)
{
    hb_trace_event wider;
    if (!hb_widen_annotation(w, event, &wider)) return;
    char *p = begin(w, &wider, HB_CATEGORY_GPU_USER_ANNOTATION, event->device);
    p = HB_PUT(p, "\"External id\": ");
    p = hb_put_u64(p, event->external_id);
    hb_out_done(&w->out, hb_put_args_end(p));
}
