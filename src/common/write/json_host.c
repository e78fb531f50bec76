/* SPDX-License-Identifier: MIT
 *
 * Events of host threads: scopes and operators, module frames, memory. The order of the
 * args is PyTorch's, which is that of a hash map: it depends on which args there are.
 */
#include "rules/collective_names.h"
#include "write/json_parts.h"

/* The id of the first operator that stands for none; no source gives out those below it. */
#define NO_OPERATOR_ID (((uint64_t)1 << 52) + ((uint64_t)1 << 50) - 1)

static char *put_external_id(char *p, uint64_t id)
{
    if (id == 0) return p;
    p = HB_PUT(p, "\"External id\": ");
    p = hb_put_u64(p, id);
    *p++ = ',';
    return p;
}

static char *put_ev_idx(hb_writer *w, char *p)
{
    p = HB_PUT(p, "\"Ev Idx\": ");
    return hb_put_u64(p, w->ev_idx++);
}

static char *put_sequence(char *p, const hb_op_args *op)
{
    p = HB_PUT(p, "\"Sequence number\": ");
    p = hb_put_u64(p, op->sequence_number);
    return HB_PUT(p, ", ");
}

static char *put_forward_thread(char *p, const hb_op_args *op)
{
    p = HB_PUT(p, "\"Fwd thread id\": ");
    p = hb_put_u64(p, op->forward_thread);
    return HB_PUT(p, ", ");
}

static void write_stack(hb_out *out, hb_str stack)
{
    HB_OUT(out, "\"Call stack\": ");
    hb_out_json(out, stack.s, stack.len);
    HB_OUT(out, ", ");
}

/* The args of an operator that has more than its ids. */
static void write_op_args(hb_writer *w, const hb_trace_event *event, char *p)
{
    const hb_op_args *op = &event->op;
    hb_out *out = &w->out;
    bool sequence = op->sequence_number != 0, inputs = op->num_inputs != 0,
         stack = op->stack.len != 0;
    if (sequence && inputs) p = put_sequence(p, op);
    if (sequence && inputs && !stack) p = put_forward_thread(p, op);
    p = HB_PUT(p, "\"Record function id\": 0, ");
    if (sequence && !inputs) p = put_forward_thread(put_sequence(p, op), op);
    hb_out_done(out, p);
    if (inputs) {
        HB_OUT(out, "\"Concrete Inputs\": ");
        hb_write_concrete_inputs(out, op);
        HB_OUT(out, ", \"Input type\": ");
        hb_write_input_types(out, op);
        HB_OUT(out, ", \"Input Strides\": ");
        hb_write_input_strides(out, op);
        HB_OUT(out, ", ");
    }
    if (sequence && inputs && stack)
        hb_out_done(out, put_forward_thread(hb_out_room(out, HB_OUT_ROOM), op));
    if (event->flags & HB_TEV_UNFINISHED) HB_OUT(out, "\"finished\": false, ");
    if (stack) write_stack(out, op->stack);
    if (inputs) {
        HB_OUT(out, "\"Input Dims\": ");
        hb_write_input_dims(out, op);
        HB_OUT(out, ", ");
    }
    if (op->num_args) hb_write_args(out, event);
}

/* The plugin sums a collective's sizes over its inputs and loses the whole run, all ranks of it,
 * when one of them is a list. */
static HB_COLD void write_collective_args(hb_writer *w, const hb_trace_event *event, char *p)
{
    hb_input flat[128];
    hb_trace_event flattened = *event;
    flattened.op.inputs = flat;
    flattened.op.num_inputs = hb_flatten_tensors(&event->op, flat, HB_ARRAY_LEN(flat));
    write_op_args(w, &flattened, p);
}

static char *put_flops(const hb_writer *w, char *p, const hb_trace_event *event)
{
    const hb_op_args *op = &event->op;
    if (w->kineto || !(op->flops > 0)) return p;
    p = HB_PUT(p, "\"flops\": ");
    p = hb_put_double(p, op->flops);
    p = HB_PUT(p, ", ");
    return hb_put_op_rates(p, &w->rates, w->info, event);
}

static void write_fwdbwd(hb_writer *w, const hb_trace_event *event, uint64_t index)
{
    const hb_flow_end *flow = hb_flows_at(&w->flows, index);
    if (flow) hb_write_flow(w, flow->is_start, flow->id, HB_CATEGORY_FWDBWD, event, w->pid);
}

const hb_trace_event *hb_scope_as_torch_s(const hb_writer *w, const hb_trace_event *event,
                                          hb_trace_event *scope)
{
    if (!w->kineto || !event->op.torch_name.len) return event;
    *scope = *event;
    scope->name = event->op.torch_name;
    scope->name_key = 0;
    return scope;
}

void hb_write_scope(hb_writer *w, const hb_trace_event *given)
{
    hb_trace_event scope;
    const hb_trace_event *event = hb_scope_as_torch_s(w, given, &scope);
    const hb_op_args *op = &event->op;
    uint64_t index = w->ev_idx;
    hb_place place = hb_place_scope(w, event);
    char *p = put_external_id(hb_put_duration_event(w, event, &place, w->pid), event->external_id);
    bool plain = !op->sequence_number && !op->num_inputs && !op->stack.len && !op->num_args &&
                 !(op->flops > 0) && !(event->flags & HB_TEV_UNFINISHED);
    if (plain) {
        p = HB_PUT(p, "\"Record function id\": 0, ");
    } else {
        if (!w->kineto && op->num_inputs && hb_names_is_collective(w->names, event))
            write_collective_args(w, event, p);
        else
            write_op_args(w, event, p);
        p = hb_out_room(&w->out, HB_OUT_ROOM);
    }
    p = put_ev_idx(w, put_flops(w, p, event));
    hb_out_done(&w->out, hb_put_args_end(p));
    if (op->sequence_number) write_fwdbwd(w, event, index);
    if (op->stack.len) w->has_stacks = true;
    if (w->kineto && op->stack.len && w->info->profile_memory &&
        !hb_memory_stacks_note(&w->memory_stacks, event))
        w->out.result = hb_fail(HB_ERROR_NO_MEMORY, "no memory for the stacks of memory events");
}

hb_trace_event hb_made_operator(const hb_writer *w, size_t index)
{
    enum { SHORTEST_NS = 1 };
    static const hb_arg mark = {"hipboard", HB_ARG_STRING, 0, 0, 0, "inferred"};
    const hb_memory_moment none = {.tid = HB_NO_OPERATOR_TID, .ns = w->no_operator_ns};
    bool memory = index < w->homes.moments.count;
    const hb_memory_moment *at = memory ? &w->homes.moments.items[index] : &none;
    return (hb_trace_event){.kind = HB_EVENT_OP,
                            .name = memory ? HB_STR("memory outside of all operators")
                                           : HB_STR("no operator was recorded"),
                            .start_ns = at->ns,
                            .end_ns = HB_MIN(at->ns, INT64_MAX - SHORTEST_NS) + SHORTEST_NS,
                            .tid = at->tid,
                            .device = -1,
                            .external_id = NO_OPERATOR_ID - index,
                            .op = {.args = &mark, .num_args = 1}};
}

/* As PyTorch counts them: from 0, the thread that began recording first. */
static uint64_t thread_index(const hb_writer *w, int64_t tid)
{
    size_t i = 0;
    while (i < w->info->num_threads && w->info->threads[i].tid != tid)
        i++;
    return i;
}

void hb_write_module(hb_writer *w, const hb_trace_event *event)
{
    const hb_module_args *module = &event->module;
    hb_place place = hb_place_module(w, event);
    char *p = hb_put_duration_event(w, event, &place, w->pid);
    if (w->kineto && w->has_stacks) { /* where PyTorch writes call stacks, it writes this */
        p = HB_PUT(p, "\"Python thread\": ");
        p = hb_put_u64(p, thread_index(w, event->tid));
        p = HB_PUT(p, ", ");
    }
    p = HB_PUT(p, "\"Python parent id\": ");
    p = module->parent_id ? hb_put_u64(p, module->parent_id) : HB_PUT(p, "null");
    p = HB_PUT(p, ", \"Python id\": ");
    p = hb_put_u64(p, module->python_id);
    p = HB_PUT(p, ", \"Python module id\": ");
    p = hb_put_u64(p, module->module_id);
    p = put_ev_idx(w, HB_PUT(p, ", "));
    hb_out_done(&w->out, hb_put_args_end(p));
}

/* HIP has a device type of its own in PyTorch, 6; the plugin knows 0 and 1 only. */
unsigned hb_written_device_type(const hb_writer *w, hb_device_type type)
{
    if (type == HB_DEVICE_CPU) return 0;
    return w->kineto ? 6 : 1;
}

/* The plugin loses the file when an id is not the position of a device's properties; -1 always is
 * one, in Python. */
int32_t hb_written_device_id(const hb_writer *w, const hb_memory_args *memory)
{
    bool known = memory->device_id >= 0 && memory->device_id < HB_MAX_DEVICES;
    return w->kineto || memory->device_type == HB_DEVICE_CPU || known ? memory->device_id : -1;
}

static char *put_memory_member(char *p, hb_str name, int64_t value)
{
    memcpy(p, name.s, name.len);
    return hb_put_i64(p + name.len, value);
}

/* Of memory that was allocated before the cycle: PyTorch has no such record. Empty: not known. */
static void write_owner(hb_out *out, hb_str owner)
{
    HB_OUT(out, "\"Allocated by\": ");
    hb_out_json(out, owner.s, owner.len);
    HB_OUT(out, ", ");
}

/* PyTorch's order is that of a hash table: with a stack it is another one. */
static void write_memory_args(hb_writer *w, char *p, const hb_trace_event *event)
{
    const hb_memory_args *memory = &event->memory;
    hb_str stack = {NULL, 0};
    if (w->kineto) stack = hb_memory_stacks_at(&w->memory_stacks, event->tid, event->start_ns);
    p = put_memory_member(p, HB_STR("\"Total Reserved\": "), memory->total_reserved);
    p = put_memory_member(p, HB_STR(", \"Total Allocated\": "), memory->total_allocated);
    if (!stack.len) p = put_memory_member(p, HB_STR(", \"Bytes\": "), memory->bytes);
    p = put_memory_member(p, HB_STR(", \"Device Id\": "), hb_written_device_id(w, memory));
    p = put_memory_member(p, HB_STR(", \"Device Type\": "),
                          hb_written_device_type(w, memory->device_type));
    p = HB_PUT(stack.len ? put_memory_member(p, HB_STR(", \"Bytes\": "), memory->bytes) : p, ", ");
    if (stack.len) {
        hb_out_done(&w->out, p);
        write_stack(&w->out, stack);
        p = hb_out_room(&w->out, HB_OUT_ROOM);
    }
    if (!(event->flags & HB_TEV_OUT_OF_MEMORY)) {
        p = HB_PUT(p, "\"Addr\": ");
        p = HB_PUT(hb_put_u64(p, memory->addr), ", ");
    }
    if (memory->held) {
        hb_out_done(&w->out, p);
        write_owner(&w->out, memory->owner);
        p = hb_out_room(&w->out, HB_OUT_ROOM);
    }
    /* An instant has no end, which PyTorch takes for one that is still to come. */
    if (w->kineto) p = HB_PUT(p, "\"finished\": false, ");
    hb_out_done(&w->out, hb_put_args_end(put_ev_idx(w, p)));
}

void hb_write_memory(hb_writer *w, const hb_trace_event *event)
{
    hb_str name = hb_memory_event_name(event);
    char *p = hb_put_head(&w->out, hb_instant_head(HB_CATEGORY_CPU_INSTANT_EVENT), HB_STR("\""));
    memcpy(p, name.s, name.len);
    p = HB_PUT(p + name.len, "\"");
    p = hb_put_row(&w->row, p, w->pid, event->tid);
    p = hb_put_us(p, hb_since_base(w, event->start_ns));
    write_memory_args(w, HB_PUT(p, "\n    ,\n    \"args\": {\n      "), event);
    w->stats.events++;
}
