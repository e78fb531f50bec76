/* SPDX-License-Identifier: MIT
 *
 * The rows of HIP calls and device work. A piece of work knows little more than its times; its
 * name, grid, stream, correlation and scope are those of the call that made it, found through the
 * number that both have.
 */
#include "replay/device_rows.h"

#include <stdio.h>
#include <stdlib.h>

#include "gpu/occupancy.h"
#include "record/strings.h"

hb_str hb_device_text(const hb_device_source *s, uint32_t id)
{
    hb_str t = s->view->string(s->view, id);
    return t.s ? t : HB_STR("(name lost)");
}

/* ---- calls ---- */

static void set_launch(const hb_device_source *s, hb_runtime_args *args, const hb_record_launch *r)
{
    args->has_grid = true;
    args->stream = r->call.stream;
    if (hb_call_names_kernel(&r->call) && r->kernel != HB_STRING_UNNAMED)
        args->kernel = hb_device_text(s, r->kernel);
    args->shared_bytes = r->dynamic_lds_bytes;
    for (int i = 0; i < 3; i++) {
        args->grid[i] = r->grid[i];
        args->block[i] = r->block[i];
    }
}

/* Of what a program may pass as a kind HIP knows five and, since 6.0, another word for the fourth:
 * by an engine. The fifth one leaves it to the runtime. */
static hb_str kind_of(int32_t kind)
{
    static const hb_str kinds[] = {HB_STR("0"), HB_STR("1"), HB_STR("2"), HB_STR("3"), HB_STR("4")};
    enum { TO_DEVICE = 3, BY_ENGINE = 1024, DEFAULT = 4 };
    if (kind == BY_ENGINE) kind = TO_DEVICE;
    return kinds[HB_MIN(kind, DEFAULT)];
}

static void set_copy(hb_runtime_args *args, const hb_record_copy *r)
{
    args->ptr = r->dst;
    args->src = r->src;
    args->bytes = r->bytes;
    if (r->kind >= 0) args->kind = kind_of(r->kind);
}

/* Names are for files; who looks for steps takes addresses. */
static void set_stack(hb_device_source *s, hb_trace_event *e)
{
    hb_runtime_args *r = &e->runtime;
    hb_str code = s->view->code;
    r->pcs = hb_call_stacks_find(&s->stacks, e->correlation, &r->num_pcs);
    if (r->pcs && (s->view->same_process || code.s))
        r->stack = hb_call_stacks_text(&s->stacks, code, r->pcs, r->num_pcs);
}

static hb_str name_text(const void *source, uint32_t id)
{
    return hb_device_text(source, id);
}

/* What operators a graph's run does again, and their FLOPs. */
static void tell_of_run(hb_device_source *s, hb_trace_event *e)
{
    hb_graph_run run;
    if (!hb_graph_replays_run(&s->graphs, e->correlation, name_text, s, &run)) return;
    s->graph_arg = (hb_arg){"operators", HB_ARG_STRING, 0, 0, 0, run.operators};
    e->args = &s->graph_arg;
    e->num_args = 1;
    e->runtime.flops = s->info.with_flops ? run.flops : 0;
    e->flags |= HB_TEV_REPLAY;
}

void hb_make_call_row(hb_device_source *s, hb_trace_event *e, const hb_record *head, int64_t tid)
{
    const hb_record_call *r = (const hb_record_call *)head;
    uint64_t end = __atomic_load_n(&head->end, __ATOMIC_RELAXED);
    *e = (hb_trace_event){
        .kind = head->flags & HB_RECORD_WAITS ? HB_EVENT_SYNC : HB_EVENT_RUNTIME,
        .flags = end ? 0 : HB_TEV_UNFINISHED,
        .name = hb_device_text(s, head->name),
        .name_key = head->name,
        .start_ns = hb_clock_unix(&s->ticks, head->start),
        .tid = tid,
        .device = -1,
        .external_id = r->external_id,
        .correlation = r->correlation,
        .runtime.cid = r->cid,
        .runtime.error = r->error,
        .runtime.launches = hb_correlations_have_work(&s->correlations, r),
    };
    e->end_ns = HB_MAX(end ? hb_clock_unix(&s->ticks, end) : s->info.stop_ns, e->start_ns);
    if (r->error_name) e->runtime.error_name = hb_device_text(s, r->error_name);
    if (head->flags & HB_RECORD_REPLAYS) tell_of_run(s, e);
    if (s->stacks.calls.size) set_stack(s, e);
    if (head->type == HB_RECORD_LAUNCH) set_launch(s, &e->runtime, (const hb_record_launch *)r);
    if (head->type == HB_RECORD_COPY) set_copy(&e->runtime, (const hb_record_copy *)r);
    if (head->type == HB_RECORD_ALLOCATION) {
        e->runtime.ptr = ((const hb_record_allocation *)r)->ptr;
        e->runtime.bytes = ((const hb_record_allocation *)r)->bytes;
    }
}

/* ---- device work ---- */

hb_work_origin hb_origin_of(const hb_device_source *s, const hb_record_work *w)
{
    hb_work_origin o;
    o.made = o.ran = hb_correlations_find(&s->correlations, w->work);
    if (o.made && (o.made->head.flags & HB_RECORD_CAPTURED)) {
        int64_t begin = hb_clock_unix_of_boottime(&s->boottime, w->begin_ns);
        const hb_record_call *replay =
            hb_correlations_replay_of(&s->correlations, o.made, &s->ticks, begin);
        if (replay) o.ran = replay;
    }
    return o;
}

int32_t hb_ordinal_of(const hb_device_source *s, const hb_record_work *w, const hb_work_origin *o)
{
    int known = 0;
    if (!(w->head.flags & HB_RECORD_NODE)) return w->device;
    while (known < s->num_nodes && s->nodes[known].node != w->device)
        known++;
    if (known < s->num_nodes && s->nodes[known].certain) return s->nodes[known].ordinal;
    if (o->ran && o->ran->device >= 0) return o->ran->device;
    return known < s->num_nodes ? s->nodes[known].ordinal : 0;
}

const hb_device_info *hb_device_find(const hb_device_source *s, int32_t id)
{
    const hb_device_info *all = (const hb_device_info *)s->devices.data;
    for (size_t i = 0; i < s->info.num_devices; i++)
        if (all[i].id == id) return &all[i];
    return NULL;
}

static uint32_t known(uint16_t registers)
{
    return registers == HB_REGISTERS_UNKNOWN ? 0 : registers;
}

/* A kernel and its launch, of whichever record has them. */
typedef struct launched {
    uint32_t name;
    const uint32_t *grid;
    const uint16_t *block;
    uint16_t vgprs, sgprs, agprs;
    uint32_t lds_bytes, scratch_bytes;
} launched;

static launched of_launch(const hb_record_launch *r)
{
    return (launched){r->kernel, r->grid,  r->block,     r->vgprs,
                      r->sgprs,  r->agprs, r->lds_bytes, r->scratch_bytes};
}

static launched of_dispatch(const hb_record_dispatch *r)
{
    return (launched){r->work.head.name, r->grid,  r->block,          r->vgprs,
                      r->sgprs,          r->agprs, r->work.lds_bytes, r->work.scratch_bytes};
}

static void set_occupancy(const hb_device_source *s, hb_trace_event *e, const launched *r)
{
    hb_occupancy o;
    hb_kernel_args *k = &e->kernel;
    const hb_device_info *device = hb_device_find(s, e->device);
    if (!device) return;
    hb_occupancy_query query = {
        .arch = device->arch,
        .num_cus = device->num_cus,
        .wave_size = device->warp_size,
        .vgprs = r->vgprs,
        .agprs = r->agprs,
        .sgprs = r->sgprs,
        .lds_bytes = r->lds_bytes,
        .block_threads = (uint32_t)r->block[0] * r->block[1] * r->block[2],
        .grid_blocks = (uint64_t)r->grid[0] * r->grid[1] * r->grid[2],
    };
    bool known_arch = hb_occupancy_of(&query, &o);
    k->blocks_per_sm = o.blocks_per_sm;
    k->warps_per_sm = o.warps_per_sm;
    if (!known_arch || !k->has_resources) return; /* without registers it would be a guess */
    k->occupancy = o.percent;
    k->limiting_factor = o.limit;
}

static void set_kernel(const hb_device_source *s, hb_trace_event *e, const launched *r)
{
    hb_kernel_args *k = &e->kernel;
    e->name = hb_device_text(s, r->name);
    e->name_key = r->name;
    k->has_grid = true;
    for (int i = 0; i < 3; i++) {
        k->grid[i] = r->grid[i];
        k->block[i] = r->block[i];
    }
    k->has_resources = r->vgprs != HB_REGISTERS_UNKNOWN;
    k->vgprs = known(r->vgprs);
    k->sgprs = known(r->sgprs);
    k->agprs = known(r->agprs);
    k->lds_bytes = r->lds_bytes;
    k->scratch_bytes = r->scratch_bytes;
    set_occupancy(s, e, r);
}

static bool is_replayed(const hb_work_origin *o)
{
    return o->made && (o->made->head.flags & HB_RECORD_REPLAYS);
}

/* 0: none is known. */
static uint32_t name_of(hb_device_source *s, const hb_record_work *w, const hb_work_origin *o)
{
    if (w->head.name != HB_STRING_UNNAMED) return w->head.name;
    return is_replayed(o) ? hb_graph_replays_kernel(&s->graphs, o->made->correlation) : 0;
}

static const hb_record_launch *launch_of(hb_device_source *s, uint32_t name,
                                         const hb_work_origin *o)
{
    if (!o->made) return NULL;
    if (hb_call_names_kernel(o->made)) return (const hb_record_launch *)o->made;
    return name && is_replayed(o) ? hb_correlations_captured(&s->correlations, name) : NULL;
}

static void make_kernel(hb_device_source *s, hb_trace_event *e, const hb_record_work *w,
                        const hb_work_origin *o)
{
    e->kind = HB_EVENT_KERNEL;
    e->kernel = (hb_kernel_args){.occupancy = -1};
    uint32_t name = name_of(s, w, o);
    bool whole = w->head.type == HB_RECORD_DISPATCH;
    const hb_record_launch *launch = whole ? NULL : launch_of(s, name, o);
    launched l = launch  ? of_launch(launch)
                 : whole ? of_dispatch((const hb_record_dispatch *)w)
                         : (launched){0};
    if (l.grid) set_kernel(s, e, &l);
    if (e->name.len) return;
    e->name = name ? hb_device_text(s, name) : HB_STR("(kernel of an unseen call)");
    e->name_key = name;
}

static void make_fill(hb_trace_event *e, uint64_t bytes)
{
    e->kind = HB_EVENT_MEMSET;
    e->name = HB_STR("Memset (Device)");
    e->copy = (hb_copy_args){.bytes = bytes, .kind = "Device"};
}

static void make_copy(hb_trace_event *e, uint32_t kind, const hb_record_copy *r, uint64_t bytes)
{
    static const struct {
        hb_str name;
        const char *kind;
    } directions[] = {
        [HB_WORK_HTOD] = {HB_STR("Memcpy HtoD (Host -> Device)"), "HtoD"},
        [HB_WORK_DTOH] = {HB_STR("Memcpy DtoH (Device -> Host)"), "DtoH"},
        [HB_WORK_DTOD] = {HB_STR("Memcpy DtoD (Device -> Device)"), "DtoD"},
    };
    e->kind = HB_EVENT_MEMCPY;
    e->name = directions[kind].name;
    e->copy = (hb_copy_args){.bytes = bytes, .kind = directions[kind].kind};
    if (!r || r->from_device < 0 || r->from_device == r->to_device) return;
    e->name = HB_STR("Memcpy PtoP (Device -> Device)");
    e->copy.kind = "PtoP";
    e->copy.from_device = r->from_device;
    e->copy.to_device = r->to_device;
}

/* Of a fill or copy by its call; `unknown` where that does not tell. */
static uint32_t kind_of_call(const hb_record_copy *r, uint32_t unknown)
{
    if (r->kind < 0) return HB_WORK_FILL;
    bool told = r->direction >= HB_WORK_HTOD && r->direction <= HB_WORK_DTOD;
    return told ? r->direction : unknown;
}

/* `bytes`: 0 when only the call knows. */
static void make_transfer(hb_trace_event *e, uint32_t kind, uint64_t bytes, const hb_record_copy *r)
{
    if (!bytes && r) bytes = r->bytes;
    if (kind != HB_WORK_FILL && r) kind = kind_of_call(r, kind);
    if (kind == HB_WORK_FILL)
        make_fill(e, bytes);
    else
        make_copy(e, kind, r, bytes);
}

static const hb_record_copy *copy_of(const hb_work_origin *o)
{
    bool copies = o->made && o->made->head.type == HB_RECORD_COPY;
    return copies ? (const hb_record_copy *)o->made : NULL;
}

static const hb_device_comm *find_comm(const hb_device_source *s, uint64_t id)
{
    const hb_device_comm *all = (const hb_device_comm *)s->comms.data;
    size_t low = 0, high = s->comms.size / sizeof *all;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all[middle].id == id) return &all[middle];
        if (all[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* Kernels of a communication have its keys, as in torch's traces. */
static void tell_of_communication(hb_device_source *s, hb_trace_event *e)
{
    const hb_device_comm *found = e->external_id ? find_comm(s, e->external_id) : NULL;
    const hb_record *r = found ? hb_record_read(&s->reader, found->call) : NULL;
    const hb_record_comm *comm = r ? hb_comm_of_record(r) : NULL;
    if (!comm) return;
    hb_trace_event call = {.kind = HB_EVENT_OP, .name = hb_device_text(s, r->name)};
    hb_comm_make_call(&s->comm, &call, comm, hb_comm_group_text(s->view, comm), s->job);
    e->flags |= HB_TEV_COMMUNICATION;
    e->args = call.op.args;
    e->num_args = call.op.num_args;
}

/* Of a graph's run: the operator that was captured. */
static void tell_of_operator(hb_device_source *s, hb_trace_event *e, const hb_work_origin *o)
{
    uint64_t scope = o->made && o->made != o->ran ? o->made->external_id : 0;
    hb_graph_run run;
    bool known = hb_graph_replays_run(&s->graphs, e->correlation, name_text, s, &run);
    if (known) e->flags |= HB_TEV_REPLAY;
    if (!known || e->kind != HB_EVENT_KERNEL || e->num_args) return;
    uint32_t name = hb_graph_replays_operator(&s->graphs, e->correlation, scope, e->name_key);
    if (!name) return;
    s->graph_arg = (hb_arg){"captured operator", HB_ARG_STRING, 0, 0, 0, hb_device_text(s, name).s};
    e->args = &s->graph_arg;
    e->num_args = 1;
}

bool hb_make_work_row(hb_device_source *s, hb_trace_event *e, const hb_record *head)
{
    const hb_record_work *w = (const hb_record_work *)head;
    if (w->kind < HB_WORK_KERNEL || w->kind > HB_WORK_FILL) return false;
    hb_work_origin o = hb_origin_of(s, w);
    int32_t device = hb_ordinal_of(s, w, &o);
    *e = (hb_trace_event){
        .start_ns = hb_clock_unix_of_boottime(&s->boottime, w->begin_ns),
        .end_ns = hb_clock_unix_of_boottime(&s->boottime, w->end_ns),
        .tid = hb_streams_number(&s->streams, device, hb_stream_key(w, &o)),
        .device = device,
        .external_id = o.ran ? o.ran->external_id : 0,
        .correlation = o.ran ? o.ran->correlation : 0,
    };
    e->end_ns = HB_MAX(e->end_ns, e->start_ns);
    const hb_record_copy *copy = copy_of(&o);
    if (w->kind != HB_WORK_KERNEL)
        make_transfer(e, w->kind, w->bytes, copy);
    else if (copy && w->head.flags & HB_RECORD_BLIT) /* shows as what was asked for */
        make_transfer(e, kind_of_call(copy, HB_WORK_DTOD), 0, copy);
    else
        make_kernel(s, e, w, &o);
    if (e->kind == HB_EVENT_KERNEL && s->comms.size) tell_of_communication(s, e);
    if (s->graphs.nodes.size && o.ran && (o.ran->head.flags & HB_RECORD_REPLAYS))
        tell_of_operator(s, e, &o);
    return true;
}
