/* SPDX-License-Identifier: MIT
 *
 * The writer decides: what a scope's category is, where a step ends, which id a call gets. Where
 * the trace keeps values, they are taken from the events; where it keeps texts (shapes, stacks,
 * the file's members), they are the writer's. So both ways to the numbers, with a file and without,
 * give the same.
 */
#include "api/cycle_trace.h"

#include <math.h>
#include <stdio.h>

#include "base/json_scan.h"
#include "read/json_reader.h"
#include "write/json_parts.h"

typedef struct maker {
    hb_writer writer;
    hb_memory_sink sink; /* takes the writer's texts, one at a time */
    hb_trace *trace;
    hb_buf scratch;
    uint32_t pid; /* the process, as key */
    hb_sid no_dims;
    bool failed; /* out of memory */
} maker;

/* ---- texts ---- */

static hb_sid intern(maker *m, const char *text, size_t size)
{
    hb_sid id = hb_texts_add(&m->trace->strings, text ? text : "", size);
    m->failed |= id == 0;
    return id;
}

static hb_sid intern_str(maker *m, hb_str s)
{
    return intern(m, s.s, s.len);
}

/* What was put into the writer's output since the last time. */
static hb_str take_text(maker *m)
{
    hb_buf *buf = &m->sink.buf;
    buf->size = 0;
    hb_out_flush(&m->writer.out);
    return (hb_str){buf->data, (uint32_t)buf->size};
}

static hb_sid intern_output(maker *m)
{
    return intern_str(m, take_text(m));
}

/* The characters of a JSON string with its quotes. */
static hb_sid intern_json_string(maker *m, hb_str json)
{
    hb_value value = {json.s + 1, json.len - 2, HB_JSON_STRING,
                      memchr(json.s, '\\', json.len) != NULL};
    m->scratch.size = 0;
    hb_value_decode(&value, &m->scratch);
    return intern(m, m->scratch.data, m->scratch.size);
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

static uint32_t key(maker *m, hb_key k)
{
    uint32_t index = hb_trace_key(m->trace, k);
    m->failed |= index == UINT32_MAX;
    return index;
}

static uint32_t track(maker *m, uint32_t pid, uint32_t tid)
{
    uint32_t index = m->failed ? UINT32_MAX : hb_trace_track(m->trace, pid, tid);
    m->failed |= index == UINT32_MAX;
    return m->failed ? 0 : index;
}

static void set_process(maker *m, hb_row *row, hb_key pid)
{
    row->track = track(m, key(m, pid), hb_row_tid(m->trace, row));
}

static hb_id number_id(maker *m, int64_t number)
{
    hb_id id = hb_trace_id(m->trace, hb_key_int(number));
    m->failed |= id == HB_ID_FAILURE;
    return id;
}

/* A zeroed entry of a side table and its index in row->extra; NULL without memory. */
static void *push_side(maker *m, hb_column *column, hb_row *row)
{
    void *side = hb_column_push(column);
    m->failed |= !side;
    row->extra = column->count - 1;
    return side;
}

static hb_row *push_row(maker *m, const hb_trace_event *e, char ph, hb_category category)
{
    hb_row *row = hb_column_push(&m->trace->rows);
    if (!row) {
        m->failed = true;
        return NULL;
    }
    row->ph = ph;
    row->flags = HB_ROW_TS | HB_ROW_HAS_TS | HB_ROW_NAME | HB_ROW_ARGS | HB_ROW_CAT;
    row->cat = intern_str(m, hb_category_text(category));
    row->start = (int64_t)hb_since_base(&m->writer, e->start_ns);
    row->track = track(m, m->pid, key(m, hb_key_int((int64_t)hb_row_number(e->tid))));
    return row;
}

static hb_row *push_complete(maker *m, const hb_trace_event *e, const hb_place *place)
{
    const hb_writer *w = &m->writer;
    hb_row *row = push_row(m, e, 'X', place->category);
    if (!row) return NULL;
    row->flags |= HB_ROW_DUR | HB_ROW_COMPLETE;
    row->kind = (uint8_t)hb_category_kind(place->category);
    row->name = intern_json_string(m, hb_names_get(w->names, e));
    uint64_t start = hb_since_base(w, e->start_ns), end = hb_since_base(w, place->end_ns);
    row->duration = end > start ? (int64_t)(end - start) : 0;
    if (place->in_tree && end > start && hb_nesting_of(start, end).decimals != 3)
        row->flags |= HB_ROW_NESTED;
    return row;
}

static hb_id id_or_none(maker *m, uint64_t id)
{
    return id ? number_id(m, (int64_t)id) : HB_ID_NONE;
}

/* ---- the host's events ---- */

static hb_op_detail detail_of(maker *m, const hb_trace_event *e, const hb_op_row *row)
{
    const hb_op_args *op = &e->op;
    hb_op_detail d = {.sequence = -1, .flops = NAN};
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

static void add_detail(maker *m, const hb_trace_event *e, hb_op_row *row)
{
    hb_column *details = &m->trace->details;
    hb_op_detail d = detail_of(m, e, row);
    if (d.sequence < 0 && !d.fwd_thread && isnan(d.flops) && !d.concrete) return;
    if (!details->count) hb_column_push(details); /* 0 stands for none */
    hb_op_detail *made = hb_column_push(details);
    m->failed |= !made;
    if (!made) return;
    *made = d;
    row->detail = details->count - 1;
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
    hb_op_row *side = push_side(m, &m->trace->ops, row);
    if (!side) return;
    if (!m->writer.kineto && op.num_inputs && hb_is_collective(e->name)) {
        op.num_inputs = hb_flatten_tensors(&e->op, flat, HB_ARRAY_LEN(flat));
        op.inputs = flat;
    }
    side->dims = m->no_dims;
    if (op.num_inputs) add_inputs(m, &op, side);
    if (op.stack.len) {
        hb_out_json(&m->writer.out, op.stack.s, op.stack.len);
        side->stack = intern_output(m);
    }
    add_detail(m, e, side);
}

static void add_scope(maker *m, const hb_trace_event *e)
{
    hb_place place = hb_place_scope(&m->writer, e);
    hb_row *row = push_complete(m, e, &place);
    if (!row) return;
    row->id = id_or_none(m, e->external_id);
    if (row->kind != HB_KIND_OTHER) add_op(m, e, row);
}

static void add_module(maker *m, const hb_trace_event *e)
{
    hb_place place = hb_place_module(&m->writer, e);
    hb_row *row = push_complete(m, e, &place);
    hb_function_row *side =
        row && row->kind == HB_KIND_FUNCTION ? push_side(m, &m->trace->functions, row) : NULL;
    if (!side) return;
    row->id = number_id(m, (int64_t)e->module.python_id);
    side->parent = id_or_none(m, e->module.parent_id);
    side->module = number_id(m, e->module.module_id);
}

static void add_memory(maker *m, const hb_trace_event *e)
{
    const hb_memory_args *args = &e->memory;
    bool failed = e->flags & HB_TEV_OUT_OF_MEMORY;
    hb_row *row = push_row(m, e, 'i', HB_CATEGORY_CPU_INSTANT_EVENT);
    if (!row) return;
    row->name = intern_str(m, hb_known_text(failed ? HB_KNOWN_OUT_OF_MEMORY : HB_KNOWN_MEMORY));
    row->flags |= HB_ROW_INSTANT;
    if (failed) return;
    hb_memory_row *side = push_side(m, &m->trace->memory, row);
    if (!side) return;
    unsigned type = hb_written_device_type(&m->writer, args->device_type);
    row->kind = HB_KIND_MEMORY;
    side->addr = hb_key_int((int64_t)args->addr);
    side->bytes = (double)args->bytes;
    side->device_type = type > 1 ? 2 : (uint8_t)type;
    side->device = key(m, hb_key_int(hb_written_device_id(&m->writer, args)));
    side->allocated = (double)args->total_allocated;
    side->reserved = (double)args->total_reserved;
    side->bytes_state = side->allocated_state = side->reserved_state = HB_NUMBER_INT;
}

static void add_scalar(maker *m, const hb_trace_event *e)
{
    hb_row *row = push_row(m, e, 'C', HB_CATEGORY_SCALAR);
    if (row) row->name = intern_json_string(m, hb_names_get(m->writer.names, e));
}

/* ---- the device's events ---- */

static hb_sid intern_triple(maker *m, const uint32_t v[3])
{
    char text[3 * 12];
    int n = snprintf(text, sizeof text, "[%u, %u, %u]", v[0], v[1], v[2]);
    return intern(m, text, (size_t)n);
}

static hb_sid intern_number(maker *m, uint32_t v)
{
    char text[12];
    return intern(m, text, (size_t)(hb_put_u64(text, v) - text));
}

/* A short text with its quotes. */
static hb_sid intern_word(maker *m, const char *word)
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
    side->launch = hb_trace_launch(m->trace, &l);
    m->failed |= side->launch == UINT32_MAX;
}

/* A call or a piece of device work: what joins them. */
static hb_row *add_joined(maker *m, const hb_trace_event *e, hb_category category, int64_t pid)
{
    hb_place place = {.category = category, .end_ns = e->end_ns};
    hb_row *row = push_complete(m, e, &place);
    if (!row) return NULL;
    bool has_id = e->external_id || !m->writer.kineto;
    if (has_id)
        row->id = number_id(m, (int64_t)hb_outside_find(&m->writer.outside, e->external_id));
    set_process(m, row, hb_key_int(pid));
    hb_device_row *side = push_side(m, &m->trace->devices, row);
    if (!side) return NULL;
    side->correlation = number_id(m, (int64_t)e->correlation);
    if (e->kind == HB_EVENT_KERNEL) add_launch(m, e, side);
    return row;
}

static void add_device_annotation(maker *m, const hb_trace_event *e)
{
    hb_trace_event wider;
    if (!hb_widen_annotation(&m->writer, e, &wider)) return;
    hb_place place = {.category = HB_CATEGORY_GPU_USER_ANNOTATION, .end_ns = wider.end_ns};
    hb_row *row = push_complete(m, &wider, &place);
    hb_op_row *side = row ? push_side(m, &m->trace->ops, row) : NULL;
    if (!side) return;
    row->id = number_id(m, (int64_t)e->external_id);
    set_process(m, row, hb_key_int(e->device));
    side->dims = m->no_dims;
}

static void add_event(maker *m, const hb_trace_event *e)
{
    int64_t host = m->writer.info->pid;
    hb_category call = hb_call_category(m->writer.kineto);
    switch (e->kind) {
    case HB_EVENT_OP:
    case HB_EVENT_USER_ANNOTATION: add_scope(m, e); return;
    case HB_EVENT_MODULE: add_module(m, e); return;
    case HB_EVENT_MEMORY: add_memory(m, e); return;
    case HB_EVENT_SCALAR: add_scalar(m, e); return;
    case HB_EVENT_RUNTIME:
    case HB_EVENT_SYNC: add_joined(m, e, call, host); return;
    case HB_EVENT_KERNEL: add_joined(m, e, HB_CATEGORY_KERNEL, e->device); return;
    case HB_EVENT_MEMCPY: add_joined(m, e, HB_CATEGORY_GPU_MEMCPY, e->device); return;
    case HB_EVENT_MEMSET: add_joined(m, e, HB_CATEGORY_GPU_MEMSET, e->device); return;
    case HB_EVENT_GPU_USER_ANNOTATION: add_device_annotation(m, e); return;
    }
}

/* ---- the whole ---- */

/* The file without its events, read: the members, with exactly the text that they have there. */
static hb_result add_members(maker *m)
{
    hb_read_options options = {0};
    hb_read_report report = {0};
    hb_write_header(&m->writer);
    hb_write_footer(&m->writer);
    HB_TRY(hb_out_finish(&m->writer.out));
    const hb_buf *text = &m->sink.buf;
    return hb_read_trace_memory(text->data, text->size, &options, m->trace, &report);
}

static uint32_t text_key(maker *m, hb_str quoted)
{
    return key(m, (hb_key)intern_str(m, quoted) << 2 | HB_KEY_TAG_TEXT);
}

static void add_span(maker *m)
{
    const hb_writer *w = &m->writer;
    hb_trace_event span = {.name = HB_STR("PyTorch Profiler (0)"), .start_ns = w->info->start_ns};
    hb_place place = {.category = HB_CATEGORY_TRACE, .end_ns = w->info->start_ns + hb_span_ns(w)};
    hb_row *row = push_complete(m, &span, &place);
    if (!row) return;
    row->track =
        track(m, text_key(m, HB_STR("\"Spans")), text_key(m, HB_STR("\"PyTorch Profiler")));
}

static hb_result add_pass(maker *m, hb_pass pass)
{
    hb_trace_event event;
    hb_source *source = m->writer.source;
    HB_TRY(source->begin(source, pass));
    while (!m->failed && source->next(source, &event))
        add_event(m, &event);
    return m->failed || m->sink.buf.failed ? hb_no_memory() : HB_OK;
}

static hb_result make(maker *m)
{
    HB_TRY(hb_survey(&m->writer));
    HB_TRY(add_members(m));
    m->pid = key(m, hb_key_int(m->writer.info->pid));
    m->no_dims = intern(m, "[]", 2);
    for (hb_pass pass = 0; pass < HB_PASS_COUNT; pass++)
        HB_TRY(add_pass(m, pass));
    add_span(m);
    return m->failed ? hb_no_memory() : HB_OK;
}

hb_result hb_cycle_trace(hb_source *source, hb_write_dialect dialect, hb_trace *trace)
{
    maker m = {.trace = trace};
    hb_write_options options = {.dialect = dialect, .trace_name = ""};
    hb_memory_sink_init(&m.sink, SIZE_MAX / 2);
    hb_buf_init(&m.scratch, SIZE_MAX / 2);
    hb_result result = hb_writer_open(&m.writer, source, &m.sink.sink, &options);
    if (result == HB_OK) result = make(&m);
    hb_writer_free(&m.writer);
    hb_memory_sink_free(&m.sink);
    hb_buf_free(&m.scratch);
    return result;
}
