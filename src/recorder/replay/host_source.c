/* SPDX-License-Identifier: MIT */
#include "replay/host_source.h"

#include <stdlib.h>

#include "record/strings.h"
#include "replay/comm_rows.h"
#include "replay/memory_totals.h"
#include "replay/merge.h"
#include "rules/name_class.h"
#include "symbols/symbolizer.h"
#include "trace/arg_words.h"
#include "trace/input_words.h"

#define SCOPES  (1u << HB_RECORD_ANNOTATION | 1u << HB_RECORD_OP)
#define MOMENTS (1u << HB_RECORD_SCALAR | 1u << HB_RECORD_COUNTER | 1u << HB_RECORD_FLOW)

typedef struct thread {
    const hb_thread_records *records;
    hb_thread_info info;
    size_t memory_events; /* given out in this pass */
} thread;

typedef struct record_source {
    hb_source base;
    hb_trace_info info;
    const hb_spool_view *view;
    const hb_session *session;
    const hb_records *records;
    hb_memory_totals totals;
    hb_clock_fit fit;
    thread *threads; /* in the order of their first record */
    uint32_t num_threads;
    hb_thread_info *thread_infos;
    hb_metadata *metadata;
    size_t num_metadata;
    hb_buf lost;
    hb_symbolizer *symbolizer; /* made when first needed */
    hb_inputs_scratch scratch;
    hb_buf args; /* of the present event */
    hb_comm_row comm;
    hb_comm_job job;
    const char *rccl_json; /* or NULL */
    /* a communication whose annotation has been given out; NULL: none */
    const hb_record *annotated;
    uint64_t annotated_start, annotated_id;
    uint32_t annotated_thread;
    /* the present pass */
    hb_pass pass;
    uint32_t thread;      /* index */
    uint32_t types;       /* wanted in this walk of the thread */
    const uint64_t *part; /* the beginning of the part that the present record is in */
    hb_cursor cursor;
    uint64_t floor;
    hb_merge merge;
    hb_module_numbers modules;
    hb_module_ids ids;                 /* of the present module */
    char step_name[HB_STEP_NAME_SIZE]; /* of the present event */
} record_source;

static record_source *self(hb_source *source)
{
    return (record_source *)source;
}

/* ---- rows ---- */

static void set_times(record_source *s, hb_trace_event *event, const hb_record *r, uint64_t start)
{
    uint64_t end = __atomic_load_n(&r->end, __ATOMIC_RELAXED);
    event->start_ns = hb_clock_unix(&s->fit, start);
    event->end_ns = end ? hb_clock_unix(&s->fit, end) : s->info.stop_ns;
    if (!end) event->flags |= HB_TEV_UNFINISHED;
    event->end_ns = HB_MAX(event->end_ns, event->start_ns);
}

/* Texts and inputs cost more than the rest of a row. */
static bool wants_texts(const record_source *s)
{
    return s->pass != HB_PASS_TIMELINE;
}

static hb_str stack_text(record_source *s, const uint64_t *pcs, uint32_t count)
{
    hb_str code = s->view->code;
    if ((!s->view->same_process && !code.s) || !wants_texts(s)) return (hb_str){0};
    if (!s->symbolizer) s->symbolizer = hb_symbolizer_new(code);
    return s->symbolizer ? hb_symbolizer_stack(s->symbolizer, pcs, count) : (hb_str){0};
}

/* The parts behind an operator's head. A damaged record gives those that are whole. */
static void set_parts(record_source *s, hb_op_args *op, const hb_record *r)
{
    const uint64_t *at = (const uint64_t *)(r + 1);
    size_t left = r->units - sizeof *r / 8;
    if (r->flags & HB_RECORD_SEQUENCE) {
        if (left < 2) return;
        op->sequence_number = at[0];
        op->forward_thread = at[1];
        at += 2;
        left -= 2;
    }
    if (r->flags & HB_RECORD_FLOPS) {
        if (left < 1) return;
        memcpy(&op->flops, at, sizeof op->flops);
        at++;
        left--;
    }
    if (r->flags & HB_RECORD_STACK) {
        if (left < 1 || *at > left - 1) return;
        uint32_t n = (uint32_t)*at;
        op->stack = stack_text(s, at + 1, n);
        at += 1 + n;
        left -= 1 + n;
    }
    if (r->flags & HB_RECORD_INPUTS) {
        size_t most = left;
        const uint64_t *told = hb_inputs_told(s->part, at, &most);
        size_t words = hb_inputs_encoded(told, most), took = told == at ? words : 1;
        if (!words) return;
        if (wants_texts(s))
            op->inputs = hb_inputs_decode(told, words, &s->scratch, &op->num_inputs);
        at += took;
        left -= took;
    }
    if (r->flags & HB_RECORD_CATEGORY) {
        if (left < 1) return;
        op->category = s->view->string(s->view, (uint32_t)*at);
        at++;
        left--;
    }
    if ((r->flags & HB_RECORD_ARGS) && wants_texts(s))
        op->args = hb_args_decode(at, left, &s->args, &op->num_args);
}

static hb_str name_of(record_source *s, uint32_t id)
{
    if (hb_string_is_step(id)) return hb_strings_step_name(id, s->step_name);
    return s->view->string(s->view, id);
}

/* Who allocated what is held from before: the innermost scope there, if one was recorded; that may
 * be a step. */
static hb_str owner_of(record_source *s, const hb_record *r)
{
    bool known = (r->flags & HB_RECORD_HELD) && r->name != HB_STRING_UNNAMED;
    return known ? name_of(s, r->name) : (hb_str){0};
}

/* Each pass gives out a thread's memory events in the same order. */
static void set_memory(record_source *s, hb_trace_event *event, const hb_record *r, uint32_t index)
{
    const hb_record_memory *m = (const hb_record_memory *)r;
    hb_memory_total total =
        hb_memory_total_of(&s->totals, index, s->threads[index].memory_events++);
    event->kind = HB_EVENT_MEMORY;
    event->end_ns = event->start_ns;
    event->flags = r->flags & HB_RECORD_OOM ? HB_TEV_OUT_OF_MEMORY : 0;
    event->name = hb_memory_event_name(event);
    event->name_key = 0;
    event->memory = (hb_memory_args){
        .device_type = m->device_type,
        .device_id = m->device_id,
        .addr = m->addr,
        .bytes = m->bytes,
        .total_allocated = total.allocated,
        .total_reserved = total.reserved,
        .held = r->flags & HB_RECORD_HELD,
        .owner = owner_of(s, r),
    };
}

static void set_module(const record_source *s, hb_trace_event *event, const hb_record *r)
{
    const hb_record_module *m = (const hb_record_module *)r;
    event->kind = HB_EVENT_MODULE;
    event->module = (hb_module_args){s->ids.id, s->ids.parent_id, m->module_id};
}

/* A moment: nothing that has a duration. */
static void set_moment(const record_source *s, hb_trace_event *event, const hb_record *r)
{
    const hb_record_counter *counter = (const hb_record_counter *)r;
    const hb_record_flow *flow = (const hb_record_flow *)r;
    event->end_ns = event->start_ns;
    event->flags = 0;
    if (r->type == HB_RECORD_SCALAR) {
        event->kind = HB_EVENT_SCALAR;
        event->scalar = ((const hb_record_scalar *)r)->value;
    } else if (r->type == HB_RECORD_COUNTER) {
        bool has_unit = counter->unit != HB_STRING_UNNAMED;
        event->kind = HB_EVENT_COUNTER;
        event->counter.value = counter->value;
        if (has_unit) event->counter.unit = s->view->string(s->view, counter->unit);
    } else {
        event->kind = HB_EVENT_FLOW;
        event->flow = (hb_flow_args){flow->id, (hb_flow_phase)HB_MIN(flow->phase, HB_FLOW_END)};
    }
}

/* One by one: all at once, the compiler lets the processor's slow instruction for that clear them.
 */
static inline void clear_op(hb_op_args *op)
{
    op->inputs = NULL;
    op->num_inputs = 0;
    op->flops = 0;
    op->sequence_number = op->forward_thread = op->thread_number = 0;
    op->stack = op->category = op->torch_name = (hb_str){0};
    op->args = NULL;
    op->num_args = 0;
}

static void make_row(record_source *s, hb_trace_event *event, const hb_record *r, uint64_t start,
                     uint64_t id, uint32_t index)
{
    const thread *t = &s->threads[index];
    event->flags = r->flags & HB_RECORD_ASYNC ? HB_TEV_ASYNC : 0;
    event->name = name_of(s, r->name);
    event->name_key = r->name;
    event->tid = t->info.tid;
    event->device = -1;
    event->external_id = id;
    event->correlation = 0;
    event->args = NULL;
    event->num_args = 0;
    clear_op(&event->op);
    if (!event->name.s) event->name = HB_STR("(name lost)"), event->name_key = 0;
    set_times(s, event, r, start);
    switch (r->type) {
    case HB_RECORD_ANNOTATION:
    case HB_RECORD_OP:
        event->kind = r->type == HB_RECORD_OP ? HB_EVENT_OP : HB_EVENT_USER_ANNOTATION;
        event->op.thread_number = t->records->number;
        if (HB_UNLIKELY(r->units > sizeof *r / 8)) set_parts(s, &event->op, r);
        break;
    case HB_RECORD_MODULE: set_module(s, event, r); break;
    case HB_RECORD_MEMORY: set_memory(s, event, r, index); break;
    default: set_moment(s, event, r); break;
    }
}

/* ---- communication ---- */

/* The row of a record; of a communication that has an annotation, that first, and the call when it
 * is asked for the next row. Its own id is the second of the two. */
static void make_rows(record_source *s, hb_trace_event *event, const hb_record *r, uint64_t start,
                      uint64_t id, uint32_t index)
{
    const hb_record_comm *comm = hb_comm_of_record(r);
    make_row(s, event, r, start, id, index);
    if (!comm) return;
    hb_str group = hb_comm_group_text(s->view, comm),
           name = hb_comm_annotation(comm, event->name, group, s->job);
    bool first = name.len && s->annotated != r;
    if (first) {
        s->annotated = r;
        s->annotated_start = start;
        s->annotated_id = id;
        s->annotated_thread = index;
        hb_comm_make_annotation(&s->comm, event, comm, name);
        return;
    }
    s->annotated = NULL;
    event->external_id = id + 1;
    if (name.len) event->flags |= HB_TEV_ANNOTATED;
    if (wants_texts(s)) hb_comm_make_call(&s->comm, event, comm, group, s->job);
}

static bool next_of_annotated(record_source *s, hb_trace_event *event)
{
    if (!s->annotated) return false;
    make_rows(s, event, s->annotated, s->annotated_start, s->annotated_id, s->annotated_thread);
    return true;
}

/* ---- passes ---- */

static void walk(record_source *s, uint32_t types)
{
    s->types = types;
    s->floor = 0;
    hb_cursor_close(&s->cursor);
    s->cursor = hb_cursor_open(s->view, s->records, s->threads[s->thread].records, types);
}

static uint32_t first_types(hb_pass pass)
{
    return pass == HB_PASS_HOST ? SCOPES : MOMENTS;
}

static void close_merge(record_source *s)
{
    hb_numbers_free(&s->merge);
    hb_merge_close(&s->merge);
}

static hb_result begin(hb_source *source, hb_pass pass)
{
    record_source *s = self(source);
    close_merge(s);
    s->annotated = NULL;
    s->pass = pass;
    s->thread = 0;
    s->modules = (hb_module_numbers){0};
    for (uint32_t i = 0; i < s->num_threads; i++)
        s->threads[i].memory_events = 0;
    if (pass == HB_PASS_MODULES)
        return hb_merge_open(&s->merge, s->view, s->session, 1u << HB_RECORD_MODULE);
    if (pass == HB_PASS_TIMELINE)
        return hb_merge_open(&s->merge, s->view, s->session, SCOPES | 1u << HB_RECORD_MEMORY);
    if (s->num_threads && (pass == HB_PASS_HOST || pass == HB_PASS_SCALARS))
        walk(s, first_types(pass));
    return HB_OK;
}

/* After a thread's scopes come its memory events, then the next thread. */
static bool next_walk(record_source *s)
{
    if (s->types == SCOPES) {
        walk(s, 1u << HB_RECORD_MEMORY);
        return true;
    }
    if (++s->thread >= s->num_threads) return false;
    walk(s, first_types(s->pass));
    return true;
}

static bool next_in_threads(record_source *s, hb_trace_event *event)
{
    if (s->thread >= s->num_threads) return false;
    for (;;) {
        uint64_t id;
        const hb_record *r = hb_cursor_next(&s->cursor, &id);
        if (!r) {
            if (!next_walk(s)) return false;
        } else if (s->types & (1u << r->type)) {
            /* A counter that went back would break the order that writers rely on. */
            s->floor = HB_MAX(s->floor, r->start);
            s->part = (const uint64_t *)(void *)s->cursor.raw;
            make_rows(s, event, r, s->floor, id, s->thread);
            return true;
        }
    }
}

static bool next_merged(record_source *s, hb_trace_event *event)
{
    hb_merge_thread *t = hb_merge_next(&s->merge);
    if (!t) return false;
    if (t->record->type == HB_RECORD_MODULE && !hb_number_module(&s->modules, t, &s->ids))
        s->ids = (hb_module_ids){0};
    s->part = (const uint64_t *)(void *)t->cursor.raw;
    make_rows(s, event, t->record, t->record->start, t->id, t->index);
    return true;
}

static bool next(hb_source *source, hb_trace_event *event)
{
    record_source *s = self(source);
    if (next_of_annotated(s, event)) return true;
    switch (s->pass) {
    case HB_PASS_HOST:
    case HB_PASS_SCALARS: return next_in_threads(s, event);
    case HB_PASS_MODULES:
    case HB_PASS_TIMELINE: return next_merged(s, event);
    default: return false;
    }
}

/* ---- opening ---- */

static hb_result collect_threads(record_source *s)
{
    uint32_t n = s->records->threads.count;
    s->threads = calloc((size_t)n + 1, sizeof *s->threads);
    s->thread_infos = calloc((size_t)n + 1, sizeof *s->thread_infos);
    if (!s->threads || !s->thread_infos)
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory for %u threads", n);
    s->num_threads = n;
    for (uint32_t i = 0; i < n; i++) {
        const hb_thread_records *t = hb_records_nth(s->records, i);
        s->thread_infos[i] = (hb_thread_info){t->tid, t->name};
        s->threads[i] = (thread){.records = t, .info = s->thread_infos[i]};
    }
    return HB_OK;
}

static const char *text_of(const record_source *s, uint32_t id)
{
    hb_str text = s->view->string(s->view, id);
    return text.s ? text.s : "";
}

/* A later entry of the same key takes an earlier one's place. */
static void add_metadata(record_source *s, hb_buf *entries, const char *key, const char *json)
{
    if (strcmp(key, HB_METADATA_DISTRIBUTED) == 0) {
        s->info.distributed_json = json;
        return;
    }
    if (strcmp(key, HB_METADATA_DISTRIBUTED_RCCL) == 0) {
        s->rccl_json = json;
        return;
    }
    hb_metadata *all = (hb_metadata *)entries->data;
    for (size_t i = 0; i < entries->size / sizeof *all; i++) {
        if (strcmp(all[i].key, key) != 0) continue;
        all[i].json = json;
        return;
    }
    hb_metadata entry = {key, json};
    hb_buf_append(entries, &entry, sizeof entry);
}

static const char *lost_json(record_source *s)
{
    uint64_t sum = 0;
    hb_buf_init(&s->lost, 1024);
    for (int i = 0; i < HB_LOST_CAUSES; i++) {
        uint64_t lost = hb_session_lost_of(s->session, (enum hb_lost_cause)i);
        sum += lost;
        hb_buf_printf(&s->lost, "%s\"%s\": %llu", i ? ", " : "{", hb_losses[i].key,
                      (unsigned long long)lost);
    }
    hb_buf_str(&s->lost, "}");
    return sum ? hb_buf_text(&s->lost) : NULL;
}

static void prepass_thread(record_source *s, const thread *t, hb_buf *entries,
                           const hb_record_source_options *options)
{
    hb_cursor c = hb_cursor_open(s->view, s->records, t->records,
                                 HB_TYPES_SEQUENCE | 1u << HB_RECORD_METADATA);
    const hb_record *r;
    uint64_t id;
    while ((r = hb_cursor_next(&c, &id))) {
        if (r->type == HB_RECORD_OP && (r->flags & HB_RECORD_SEQUENCE))
            s->info.has_sequences = true;
        if (r->type != HB_RECORD_METADATA) continue;
        const hb_record_metadata *m = (const hb_record_metadata *)r;
        const char *key = text_of(s, r->name), *json = text_of(s, m->json);
        /* After a kill their texts may be lost. */
        if (*key && *json && (!options->is_json || options->is_json(json)))
            add_metadata(s, entries, key, json);
    }
    hb_cursor_close(&c);
}

/* One look at every record: metadata entries, and whether operators have sequence numbers. */
static hb_result prepass(record_source *s, const hb_record_source_options *options)
{
    hb_buf entries;
    hb_buf_init(&entries, (size_t)64 << 20);
    for (uint32_t i = 0; i < s->num_threads; i++)
        prepass_thread(s, &s->threads[i], &entries, options);
    for (size_t i = 0; i < options->num_metadata; i++)
        add_metadata(s, &entries, options->metadata[i].key, options->metadata[i].json);
    const char *lost = lost_json(s);
    if (lost) add_metadata(s, &entries, "hipboard_lost", lost);
    s->metadata = (hb_metadata *)entries.data;
    s->num_metadata = entries.size / sizeof(hb_metadata);
    return entries.failed ? hb_fail(HB_ERROR_NO_MEMORY, "no memory for metadata") : HB_OK;
}

static void set_info(record_source *s)
{
    const hb_spool_header *head = s->view->head;
    uint32_t flags = s->session->flags;
    hb_trace_info *info = &s->info;
    info->start_ns = s->fit.unix0; /* the session's start, if that is a time */
    info->stop_ns = hb_clock_unix(&s->fit, hb_session_last(s->session)->ticks);
    info->pid = head->process.pid;
    info->process_name = head->process_name;
    info->host_name = head->host_name;
    info->trace_id = s->session->trace_id;
    info->record_shapes = flags & HB_SESSION_SHAPES;
    info->profile_memory = flags & HB_SESSION_MEMORY;
    info->with_stack = flags & HB_SESSION_STACK;
    info->with_flops = flags & HB_SESSION_FLOPS;
    info->with_modules = flags & HB_SESSION_MODULES;
    info->finds_operators = flags & HB_SESSION_OPERATORS;
    info->metadata = s->metadata;
    info->num_metadata = s->num_metadata;
    info->threads = s->thread_infos;
    info->num_threads = s->num_threads;
    bool has_rccl = false;
    for (size_t i = 0; i < s->num_metadata; i++)
        has_rccl = has_rccl || strcmp(s->metadata[i].key, HB_METADATA_RCCL) == 0;
    if (has_rccl && s->rccl_json) info->distributed_json = s->rccl_json;
    s->job = hb_comm_job_of(info->distributed_json);
    s->job.has_rccl = has_rccl;
}

static void source_close(hb_source *source)
{
    record_source *s = self(source);
    close_merge(s);
    hb_cursor_close(&s->cursor);
    hb_memory_totals_free(&s->totals);
    hb_symbolizer_free(s->symbolizer);
    hb_inputs_scratch_free(&s->scratch);
    hb_buf_free(&s->args);
    hb_buf_free(&s->comm.texts);
    hb_buf_free(&s->lost);
    free(s->threads);
    free(s->thread_infos);
    free(s->metadata);
    free(s);
}

hb_result hb_record_source_open(const hb_spool_view *view, const hb_session *session,
                                const hb_record_source_options *options, hb_source **source)
{
    static const hb_record_source_options none;
    if (!options) options = &none;
    record_source *s = calloc(1, sizeof *s);
    if (!s) return hb_fail(HB_ERROR_NO_MEMORY, "no memory to read the records");
    s->base = (hb_source){&s->info, begin, next, source_close};
    s->view = view;
    s->session = session;
    s->records = view->records(view, session);
    s->fit = hb_clock_fit_pairs(&session->start, hb_session_last(session));
    hb_inputs_scratch_init(&s->scratch);
    hb_buf_init(&s->args, (size_t)64 << 20);
    hb_buf_init(&s->comm.texts, (size_t)64 << 20);
    hb_result result = collect_threads(s);
    if (result == HB_OK) result = prepass(s, options);
    if (result == HB_OK)
        result = hb_memory_totals_find(&s->totals, view, session, options->allocated,
                                       options->num_allocated);
    if (result != HB_OK) {
        source_close(&s->base);
        return result;
    }
    set_info(s);
    *source = &s->base;
    return HB_OK;
}
