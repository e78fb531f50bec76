/* SPDX-License-Identifier: MIT
 *
 * The writer decides: what a scope's category is, where a step ends, which id a call gets. Where
 * the trace keeps values, they are taken from the events; where it keeps texts (shapes, stacks,
 * the file's members), they are the writer's. So both ways to the numbers, with a file and without,
 * give the same. Names of rows and markers are left out.
 */
#include <math.h>
#include <stdio.h>

#include "base/json_scan.h"
#include "rules/name_class.h"
#include "trace/builder.h"
#include "write/json_parts.h"

typedef struct maker {
    hb_writer writer;
    hb_memory_sink sink; /* takes the writer's texts, one at a time */
    hb_builder builder;
    hb_buf scratch;
    hb_key pid; /* the process */
    hb_string_id no_dims;
    hb_str key; /* of the member whose value is written */
} maker;

/* ---- texts ---- */

static hb_string_id intern(maker *m, const char *text, size_t size)
{
    return hb_builder_text(&m->builder, text, size);
}

static hb_string_id intern_str(maker *m, hb_str s)
{
    return intern(m, s.s, s.len);
}

/* What was put into the writer's output since the last time. */
static hb_str take_text(maker *m)
{
    hb_buf *buf = &m->sink.buf;
    hb_out_flush(&m->writer.out);
    hb_str text = {buf->data, (uint32_t)buf->size};
    buf->size = 0; /* valid until more is written */
    return text;
}

static hb_string_id intern_output(maker *m)
{
    return intern_str(m, take_text(m));
}

/* The characters of a JSON string with its quotes; nothing stands there without memory. */
static hb_string_id intern_json_string(maker *m, hb_str json)
{
    if (json.len < 2) {
        m->builder.failed = true;
        return 0;
    }
    hb_value value = {json.s + 1, json.len - 2, HB_JSON_STRING,
                      memchr(json.s, '\\', json.len) != NULL};
    m->scratch.size = 0;
    hb_value_decode(&value, &m->scratch);
    return intern(m, m->scratch.data, m->scratch.size);
}

/* As a reader finds it: valid UTF-8. */
static hb_string_id intern_own_text(maker *m, hb_str text)
{
    hb_out_json(&m->writer.out, text.s, text.len);
    return intern_json_string(m, take_text(m));
}

/* ---- numbers ---- */

/* A number in the args; `put` is how it is written. */
static uint8_t read_back(char *(*put)(char *p, double value), double value, double *result)
{
    char text[HB_MAX_NUMBER + 1] = "";
    size_t size = (size_t)(put(text, value) - text);
    if (text[0] == '"') return HB_NUMBER_BAD; /* not finite */
    bool is_float = memchr(text, '.', size) || memchr(text, 'e', size);
    hb_value v = {text, size, is_float ? HB_JSON_FLOAT : HB_JSON_INT, false};
    text[size] = 0;
    *result = hb_value_double(&v);
    return is_float ? HB_NUMBER_FLOAT : HB_NUMBER_INT;
}

/* ---- rows ---- */

static hb_row *add_row(maker *m, const hb_trace_event *e, char ph, hb_category category, hb_key pid)
{
    hb_row *row = hb_builder_row(&m->builder);
    row->ph = ph;
    row->flags = HB_ROW_TS | HB_ROW_HAS_TS | HB_ROW_NAME | HB_ROW_CAT;
    row->category = intern_str(m, hb_category_text(category));
    row->start = (int64_t)hb_since_base(&m->writer, e->start_ns);
    row->track = hb_builder_track(&m->builder, pid, hb_key_int((int64_t)hb_row_number(e->tid)));
    return row;
}

static hb_row *add_complete(maker *m, const hb_trace_event *e, const hb_place *place, hb_key pid)
{
    const hb_writer *w = &m->writer;
    hb_row *row = add_row(m, e, 'X', place->category, pid);
    row->flags |= HB_ROW_DUR | HB_ROW_COMPLETE | HB_ROW_ARGS;
    row->kind = (uint8_t)hb_category_kind(place->category);
    if (place->own.len) row->category = intern_own_text(m, place->own);
    row->name = intern_json_string(m, hb_names_get(w->names, e));
    uint64_t start = hb_since_base(w, e->start_ns), end = hb_since_base(w, place->end_ns);
    row->duration = end > start ? (int64_t)(end - start) : 0;
    if (place->in_tree && end > start && hb_nesting_of(start, end).decimals != 3)
        row->flags |= HB_ROW_NESTED;
    return row;
}

static hb_id id_or_none(maker *m, uint64_t id)
{
    return id ? hb_builder_number(&m->builder, (int64_t)id) : HB_ID_NONE;
}

static void add_arrow(maker *m, const hb_trace_event *e, bool start, uint64_t id,
                      hb_category category, hb_key pid)
{
    hb_row *row = add_row(m, e, start ? 's' : 'f', category, pid);
    row->flags |= HB_ROW_HAS_ID;
    row->name = row->category;
    row->id = hb_builder_number(&m->builder, (int64_t)id);
}

/* ---- the host's events ---- */

static hb_op_detail detail_of(maker *m, const hb_trace_event *e, const hb_op_row *row)
{
    const hb_op_args *op = &e->op;
    hb_op_detail d = hb_no_detail;
    bool paired = op->sequence_number && op->sequence_number <= INT32_MAX;
    if (op->sequence_number && op->forward_thread <= INT32_MAX)
        d.fwd_thread = (int32_t)op->forward_thread;
    if (paired && (row->stack || d.fwd_thread)) d.sequence = (int64_t)op->sequence_number;
    if (!m->writer.kineto && op->flops > 0) read_back(hb_put_double, op->flops, &d.flops);
    if (op->num_inputs && hb_name_is(HB_KNOWN_CONV2D, e->name)) {
        hb_write_concrete_inputs(&m->writer.out, op);
        d.concrete = intern_output(m);
    }
    return d;
}

static void add_inputs(maker *m, const hb_op_args *op, hb_op_row *row)
{
    hb_write_input_dims(&m->writer.out, op);
    row->dims = intern_output(m);
    hb_write_input_types(&m->writer.out, op);
    row->types = intern_output(m);
}

static void add_op(maker *m, const hb_trace_event *e, hb_row *row)
{
    hb_input flat[128];
    hb_op_args op = e->op;
    hb_op_row side = {.dims = m->no_dims};
    if (!m->writer.kineto && op.num_inputs && hb_is_collective(e->name)) {
        op.num_inputs = hb_flatten_tensors(&e->op, flat, HB_ARRAY_LEN(flat));
        op.inputs = flat;
    }
    if (op.num_inputs) add_inputs(m, &op, &side);
    if (op.stack.len) {
        hb_out_json(&m->writer.out, op.stack.s, op.stack.len);
        side.stack = intern_output(m);
    }
    hb_op_detail d = detail_of(m, e, &side);
    hb_builder_detail(&m->builder, &side, &d);
    hb_builder_op(&m->builder, row, &side);
}

static void add_scope(maker *m, const hb_trace_event *given)
{
    hb_trace_event scope;
    const hb_trace_event *e = hb_scope_as_torch_s(&m->writer, given, &scope);
    hb_place place = hb_place_scope(&m->writer, e);
    uint64_t index = m->writer.ev_idx++;
    hb_row *row = add_complete(m, e, &place, m->pid);
    row->id = id_or_none(m, e->external_id);
    if (row->kind != HB_KIND_OTHER) add_op(m, e, row);
    const hb_flow_end *flow = e->op.sequence_number ? hb_flows_at(&m->writer.flows, index) : NULL;
    if (flow) add_arrow(m, e, flow->is_start, flow->id, HB_CATEGORY_FWDBWD, m->pid);
}

static void add_module(maker *m, const hb_trace_event *e)
{
    hb_place place = hb_place_module(&m->writer, e);
    m->writer.ev_idx++;
    hb_row *row = add_complete(m, e, &place, m->pid);
    if (row->kind != HB_KIND_FUNCTION) return;
    hb_function_row *side = hb_builder_function(&m->builder, row);
    row->id = hb_builder_number(&m->builder, (int64_t)e->module.python_id);
    side->parent = id_or_none(m, e->module.parent_id);
    side->module = hb_builder_number(&m->builder, e->module.module_id);
}

static void add_memory(maker *m, const hb_trace_event *e)
{
    const hb_memory_args *args = &e->memory;
    hb_row *row = add_row(m, e, 'i', HB_CATEGORY_CPU_INSTANT_EVENT, m->pid);
    m->writer.ev_idx++;
    row->name = intern_str(m, hb_memory_event_name(e));
    row->flags |= HB_ROW_INSTANT | HB_ROW_ARGS;
    if (e->flags & HB_TEV_OUT_OF_MEMORY) return;
    hb_memory_row *side = hb_builder_memory(&m->builder, row);
    unsigned type = hb_written_device_type(&m->writer, args->device_type);
    int32_t device = hb_written_device_id(&m->writer, args);
    row->kind = HB_KIND_MEMORY;
    side->addr = hb_key_int((int64_t)args->addr);
    side->device_type = type > 1 ? 2 : (uint8_t)type;
    side->device = hb_builder_key(&m->builder, hb_key_int(device));
    side->bytes = (double)args->bytes;
    side->allocated = (double)args->total_allocated;
    side->reserved = (double)args->total_reserved;
    side->held = args->held;
    side->owner = args->owner.len ? intern_str(m, args->owner) : 0;
    side->bytes_state = side->allocated_state = side->reserved_state = HB_NUMBER_INT;
}

/* Its args, but for blanks as they would be written. */
static hb_string_id counter_text(maker *m, const hb_trace_event *e)
{
    char number[HB_MAX_NUMBER];
    bool counter = e->kind == HB_EVENT_COUNTER;
    double value = counter ? e->counter.value : e->scalar;
    hb_str key = counter && e->counter.unit.len ? e->counter.unit : HB_STR("value");
    hb_buf text;
    hb_buf_init(&text, SIZE_MAX / 2);
    hb_buf_str(&text, "{");
    hb_buf_json_string(&text, key.s, key.len);
    hb_buf_str(&text, ": ");
    hb_buf_append(&text, number, (size_t)(hb_put_double(number, value) - number));
    hb_buf_str(&text, "}");
    hb_string_id id = intern_str(m, (hb_str){hb_buf_text(&text), (uint32_t)text.size});
    hb_buf_free(&text);
    return id;
}

static void add_scalar(maker *m, const hb_trace_event *e)
{
    hb_row *row = add_row(m, e, 'C', HB_CATEGORY_SCALAR, m->pid);
    row->flags |= HB_ROW_ARGS;
    row->name = intern_json_string(m, hb_names_get(m->writer.names, e));
    row->extra = counter_text(m, e);
}

static hb_key text_key(maker *m, hb_str quoted)
{
    return (hb_key)intern_str(m, quoted) << 2 | HB_KEY_TAG_TEXT;
}

static void add_flow(maker *m, const hb_trace_event *e)
{
    char text[HB_MAX_NUMBER];
    hb_str id = {text, (uint32_t)(hb_put_flow_id(text, e->flow.id) - text)};
    hb_row *row = add_row(m, e, hb_flow_letter(e->flow.phase), HB_CATEGORY_FLOW, m->pid);
    row->flags |= HB_ROW_HAS_ID;
    row->name = intern_json_string(m, hb_names_get(m->writer.names, e));
    if (*text == '"') {
        id.len--; /* a text's key has the first quote alone */
        row->id = hb_builder_id(&m->builder, text_key(m, id));
    } else {
        row->id = hb_builder_number(&m->builder, (int64_t)e->flow.id);
    }
}

/* ---- the device's events ---- */

static hb_string_id intern_triple(maker *m, const uint32_t v[3])
{
    char text[3 * 12];
    int n = snprintf(text, sizeof text, "[%u, %u, %u]", v[0], v[1], v[2]);
    return intern(m, text, (size_t)n);
}

static hb_string_id intern_number(maker *m, uint32_t v)
{
    char text[12];
    return intern(m, text, (size_t)(hb_put_u64(text, v) - text));
}

/* A short text with its quotes. */
static hb_string_id intern_word(maker *m, const char *word)
{
    char text[40];
    int n = snprintf(text, sizeof text, "\"%.32s\"", word);
    return intern(m, text, (size_t)n);
}

static void add_launch(maker *m, const hb_trace_event *e, hb_device_row *side)
{
    const hb_kernel_args *k = &e->kernel;
    double blocks = hb_blocks_per_sm(m->writer.info, e);
    hb_launch l;
    memset(&l, 0, sizeof l); /* launches are compared as bytes */
    l.device = hb_key_int(e->device);
    l.device_state = HB_NUMBER_INT;
    if (k->has_grid) l.grid = intern_triple(m, k->grid);
    if (k->has_grid) l.block = intern_triple(m, k->block);
    if (!m->writer.kineto) {
        l.registers = intern_number(m, k->has_resources ? k->vgprs : 0);
        l.shared = intern_number(m, k->has_resources ? k->lds_bytes : 0);
        if (blocks > 0) l.blocks_state = read_back(hb_put_micros, blocks, &l.blocks_per_sm);
        if (k->occupancy >= 0)
            l.occupancy_state = read_back(hb_put_double, k->occupancy, &l.occupancy);
        if (k->limiting_factor) l.limit = intern_word(m, k->limiting_factor);
    }
    hb_builder_launch(&m->builder, side, &l);
}

static hb_device_row *add_joined(maker *m, const hb_trace_event *e, hb_category category,
                                 hb_key pid)
{
    hb_place place = {.category = category, .end_ns = e->end_ns};
    hb_row *row = add_complete(m, e, &place, pid);
    uint64_t id = hb_written_external_id(&m->writer, e);
    if (id || !m->writer.kineto)
        row->id = hb_builder_number(&m->builder, (int64_t)hb_id_remap_find(&m->writer.remap, id));
    hb_device_row *side = hb_builder_device(&m->builder, row);
    side->correlation = hb_builder_number(&m->builder, (int64_t)e->correlation);
    return side;
}

/* Around the call, where calls stand for operators. */
static void add_operator(maker *m, const hb_trace_event *e)
{
    hb_place place = {.category = HB_CATEGORY_CPU_OP, .end_ns = e->end_ns, .in_tree = true};
    m->writer.ev_idx++;
    hb_row *row = add_complete(m, e, &place, m->pid);
    row->id = hb_builder_number(&m->builder, (int64_t)hb_written_external_id(&m->writer, e));
    hb_op_row side = {.dims = m->no_dims};
    if (e->runtime.stack.len) {
        hb_out_json(&m->writer.out, e->runtime.stack.s, e->runtime.stack.len);
        side.stack = intern_output(m);
    }
    hb_op_detail d = hb_no_detail;
    if (e->runtime.flops > 0) read_back(hb_put_double, e->runtime.flops, &d.flops);
    hb_builder_detail(&m->builder, &side, &d);
    hb_builder_op(&m->builder, row, &side);
}

static void add_call(maker *m, const hb_trace_event *e)
{
    const hb_runtime_args *call = &e->runtime;
    hb_category category = hb_call_category(m->writer.kineto);
    if (hb_call_is_operator(&m->writer, e)) add_operator(m, e);
    hb_device_row *side = add_joined(m, e, category, m->pid);
    if (!call->has_grid && (call->kind.len || (call->ptr && call->bytes)))
        hb_builder_bytes(&m->builder, side, (double)call->bytes);
    if (call->launches && e->correlation)
        add_arrow(m, e, true, e->correlation, HB_CATEGORY_AC2G, m->pid);
}

static void add_work(maker *m, const hb_trace_event *e, hb_category category)
{
    hb_key device = hb_key_int(e->device);
    hb_device_row *side = add_joined(m, e, category, device);
    if (e->kind == HB_EVENT_KERNEL)
        add_launch(m, e, side);
    else if (e->copy.bytes)
        hb_builder_bytes(&m->builder, side, (double)e->copy.bytes);
    if (hb_work_has_call(e)) add_arrow(m, e, false, e->correlation, HB_CATEGORY_AC2G, device);
}

static void add_device_annotation(maker *m, const hb_trace_event *e)
{
    hb_trace_event wider;
    if (!hb_widen_annotation(&m->writer, e, &wider)) return;
    hb_place place = {.category = HB_CATEGORY_GPU_USER_ANNOTATION, .end_ns = wider.end_ns};
    hb_row *row = add_complete(m, &wider, &place, hb_key_int(e->device));
    row->id = hb_builder_number(&m->builder, (int64_t)e->external_id);
    hb_builder_op(&m->builder, row, &(hb_op_row){.dims = m->no_dims});
}

static void add_event(maker *m, const hb_trace_event *e)
{
    switch (e->kind) {
    case HB_EVENT_OP:
    case HB_EVENT_USER_ANNOTATION: add_scope(m, e); return;
    case HB_EVENT_MODULE: add_module(m, e); return;
    case HB_EVENT_MEMORY: add_memory(m, e); return;
    case HB_EVENT_SCALAR:
    case HB_EVENT_COUNTER: add_scalar(m, e); return;
    case HB_EVENT_FLOW: add_flow(m, e); return;
    case HB_EVENT_RUNTIME:
    case HB_EVENT_SYNC: add_call(m, e); return;
    case HB_EVENT_KERNEL: add_work(m, e, HB_CATEGORY_KERNEL); return;
    case HB_EVENT_MEMCPY: add_work(m, e, HB_CATEGORY_GPU_MEMCPY); return;
    case HB_EVENT_MEMSET: add_work(m, e, HB_CATEGORY_GPU_MEMSET); return;
    case HB_EVENT_GPU_USER_ANNOTATION: add_device_annotation(m, e); return;
    }
}

/* ---- the whole ---- */

/* The writer came to a member's key, to its value, or to that one's end. */
static void take_member(void *context, hb_member_part part)
{
    maker *m = context;
    hb_str text = take_text(m);
    if (part == HB_MEMBER_KEY || m->sink.buf.failed) return; /* what was written before it */
    if (part == HB_MEMBER_VALUE) {
        text.len -= HB_MIN(text.len, 2u); /* the colon and a blank */
        hb_string_id key = intern_json_string(m, text);
        m->key = hb_trace_text(m->builder.trace, key);
        return;
    }
    m->builder.failed |= !hb_trace_add_member(m->builder.trace, m->key, text);
}

static void add_header(maker *m)
{
    hb_trace *trace = m->builder.trace;
    m->writer.member = take_member;
    m->writer.context = m;
    hb_write_header(&m->writer);
    trace->members_before = trace->num_members;
    trace->has_events = true;
    hb_write_footer(&m->writer);
    m->writer.member = NULL;
    (void)take_text(m);
}

static void add_span(maker *m)
{
    const hb_writer *w = &m->writer;
    hb_trace_event span = {.name = HB_STR("PyTorch Profiler (0)"), .start_ns = w->info->start_ns};
    hb_place place = {.category = HB_CATEGORY_TRACE, .end_ns = w->info->start_ns + hb_span_ns(w)};
    hb_key pid = text_key(m, HB_STR("\"Spans"));
    hb_row *row = add_complete(m, &span, &place, pid);
    row->track = hb_builder_track(&m->builder, pid, text_key(m, HB_STR("\"PyTorch Profiler")));
}

static hb_result check(const maker *m)
{
    return m->builder.failed || m->sink.buf.failed || m->scratch.failed ? hb_no_memory() : HB_OK;
}

static hb_result add_pass(maker *m, hb_pass pass)
{
    hb_trace_event event;
    hb_source *source = m->writer.source;
    HB_TRY(source->begin(source, pass));
    while (!m->builder.failed && source->next(source, &event))
        add_event(m, &event);
    return check(m);
}

static hb_result make(maker *m)
{
    HB_TRY(hb_prepass(&m->writer));
    add_header(m);
    m->pid = hb_key_int(m->writer.pid);
    m->no_dims = intern(m, "[]", 2);
    for (hb_pass pass = 0; pass < HB_PASS_COUNT; pass++)
        HB_TRY(add_pass(m, pass));
    for (size_t i = 0; i < hb_num_made_operators(&m->writer); i++) {
        const hb_trace_event made = hb_made_operator(&m->writer, i);
        add_scope(m, &made);
    }
    add_span(m);
    return check(m);
}

hb_result hb_write_to_trace(hb_source *source, hb_write_dialect dialect, hb_trace *trace)
{
    maker m = {0};
    hb_write_options options = {.dialect = dialect, .trace_name = ""};
    if (!hb_trace_init(trace)) return hb_no_memory();
    hb_builder_init(&m.builder, trace);
    hb_memory_sink_init(&m.sink, SIZE_MAX / 2);
    hb_buf_init(&m.scratch, SIZE_MAX / 2);
    hb_result result = hb_writer_open(&m.writer, source, &m.sink.sink, &options);
    if (result == HB_OK) result = make(&m);
    hb_writer_free(&m.writer);
    hb_memory_sink_free(&m.sink);
    hb_buf_free(&m.scratch);
    return result;
}
