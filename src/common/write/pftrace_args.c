/* SPDX-License-Identifier: MIT */
#include "write/pftrace_args.h"

typedef struct arg_head {
    hb_sid name;
    uint32_t size;
} arg_head;

static hb_sid arg_name(hb_pf_args *a, const char *name)
{
    size_t i = ((uintptr_t)name >> 2 ^ (uintptr_t)name >> 10) % HB_ARRAY_LEN(a->names);
    if (a->names[i].name != name) {
        a->names[i].name = name;
        a->names[i].text = hb_pf_text(a->f, (hb_str){name, (uint32_t)strlen(name)});
    }
    return a->names[i].text;
}

static void add_named(hb_pf_args *a, hb_sid name, const char *value, const hb_message *m)
{
    arg_head head = {name, (uint32_t)(m->at - value)};
    if (m->full) return;
    hb_buf_append(a->to, &head, sizeof head);
    hb_buf_append(a->to, value, head.size);
    if (a->to->failed) hb_arena_leave(a->f->arena, HB_ERROR_NO_MEMORY, "out of memory");
}

static void add_arg(hb_pf_args *a, const char *name, const char *value, const hb_message *m)
{
    add_named(a, arg_name(a, name), value, m);
}

/* Their messages; the names' own are written before. */
void hb_pf_put_args(hb_pf_file *f, hb_pf_row *row, hb_message *to, const char *args, size_t size)
{
    for (size_t at = 0; at < size;) {
        arg_head head;
        char annotation[700];
        hb_message m = HB_MESSAGE_IN(annotation), before = *to;
        memcpy(&head, args + at, sizeof head);
        at += sizeof head;
        hb_message_number(&m, 1, hb_pf_intern(f, row, HB_PF_ARGS, head.name));
        if ((size_t)(m.end - m.at) > head.size) {
            memcpy(m.at, args + at, head.size);
            m.at += head.size;
            hb_message_inside(to, 4, annotation, &m);
        }
        if (to->full) *to = before; /* there is no room for more */
        at += head.size;
    }
}

static void add_number(hb_pf_args *a, const char *name, uint32_t field, uint64_t number)
{
    char value[64];
    hb_message m = HB_MESSAGE_IN(value);
    hb_message_number(&m, field, number);
    add_arg(a, name, value, &m);
}

static void add_int(hb_pf_args *a, const char *name, int64_t number)
{
    add_number(a, name, 4, (uint64_t)number);
}

static void add_pointer(hb_pf_args *a, const char *name, uint64_t number)
{
    add_number(a, name, 7, number);
}

static void add_double(hb_pf_args *a, const char *name, double number)
{
    char value[64];
    uint64_t bits;
    hb_message m = HB_MESSAGE_IN(value);
    memcpy(&bits, &number, sizeof bits);
    hb_message_fixed(&m, 5, bits);
    add_arg(a, name, value, &m);
}

static void add_text(hb_pf_args *a, const char *name, hb_str text)
{
    char value[560];
    hb_message m = HB_MESSAGE_IN(value);
    hb_message_bytes(&m, 6, text.s, HB_MIN(text.len, 500u));
    add_arg(a, name, value, &m);
}

static void add_triple(hb_pf_args *a, const char *name, const uint32_t numbers[3])
{
    char value[128];
    hb_message m = HB_MESSAGE_IN(value);
    for (int i = 0; i < 3; i++) {
        char element[48];
        hb_message e = HB_MESSAGE_IN(element);
        hb_message_number(&e, 4, numbers[i]);
        hb_message_inside(&m, 12, element, &e);
    }
    add_arg(a, name, value, &m);
}

/* Names of the program's own: where they stand something else may stand later. */
static void add_given(hb_pf_args *a, const hb_arg *args, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        char value[560];
        uint64_t bits;
        hb_message m = HB_MESSAGE_IN(value);
        if (args[i].type == HB_ARG_INT) {
            hb_message_number(&m, 4, (uint64_t)args[i].i);
        } else if (args[i].type == HB_ARG_DOUBLE) {
            memcpy(&bits, &args[i].f, sizeof bits);
            hb_message_fixed(&m, 5, bits);
        } else if (args[i].type == HB_ARG_STRING && args[i].s) {
            hb_message_bytes(&m, 6, args[i].s, HB_MIN(strlen(args[i].s), (size_t)500));
        } else {
            continue;
        }
        hb_str key = {args[i].key, (uint32_t)strlen(args[i].key)};
        add_named(a, hb_pf_text(a->f, key), value, &m);
    }
}

void hb_pf_add_call(hb_pf_args *a, const hb_trace_event *e)
{
    const hb_runtime_args *call = &e->runtime;
    if (e->correlation) add_int(a, "correlation", (int64_t)e->correlation);
    if (call->has_grid) {
        add_triple(a, "grid", call->grid);
        add_triple(a, "block", call->block);
        if (call->shared_bytes) add_int(a, "shared memory", call->shared_bytes);
    }
    if (call->stream) add_pointer(a, "stream", call->stream);
    if (call->ptr) add_pointer(a, call->kind.len ? "dst" : "ptr", call->ptr);
    if (call->src) add_pointer(a, "src", call->src);
    if (call->bytes) add_int(a, "bytes", (int64_t)call->bytes);
    if (call->kind.len) add_text(a, "kind", call->kind);
    if (call->error) add_int(a, "error", call->error);
}

void hb_pf_add_memory(hb_pf_args *a, const hb_trace_event *e)
{
    const hb_memory_args *m = &e->memory;
    add_pointer(a, "Addr", m->addr);
    add_int(a, "Bytes", m->bytes);
    add_int(a, "Device Id", m->device_id);
    add_int(a, "Device Type", m->device_type);
    add_int(a, "Total Allocated", m->total_allocated);
    add_int(a, "Total Reserved", m->total_reserved);
}

/* Where rows are queues, the stream is among what is known beyond. */
static const hb_arg *stream_of(const hb_trace_event *e)
{
    for (uint32_t i = 0; i < e->num_args; i++)
        if (e->args[i].type == HB_ARG_INT && strcmp(e->args[i].key, "hip stream") == 0)
            return &e->args[i];
    return NULL;
}

static void add_beyond(hb_pf_args *a, const hb_trace_event *e)
{
    const hb_arg *stream = stream_of(e);
    for (uint32_t i = 0; i < e->num_args; i++)
        if (&e->args[i] != stream) add_given(a, &e->args[i], 1);
}

void hb_pf_add_work(hb_pf_args *a, const hb_trace_event *e)
{
    const hb_arg *stream = stream_of(e);
    add_int(a, "device", e->device);
    if (stream) add_int(a, "queue", e->tid);
    add_int(a, "stream", stream ? stream->i : e->tid);
    if (e->correlation) add_int(a, "correlation", (int64_t)e->correlation);
    add_beyond(a, e);
    if (e->kind != HB_EVENT_KERNEL) {
        if (e->copy.bytes) add_int(a, "bytes", (int64_t)e->copy.bytes);
        if (e->copy.kind && strcmp(e->copy.kind, "PtoP") == 0) {
            add_int(a, "fromDevice", e->copy.from_device);
            add_int(a, "toDevice", e->copy.to_device);
        }
        return;
    }
    const hb_kernel_args *k = &e->kernel;
    if (k->has_grid) {
        add_triple(a, "grid", k->grid);
        add_triple(a, "block", k->block);
    }
    if (k->lds_bytes) add_int(a, "shared memory", k->lds_bytes);
    if (k->scratch_bytes) add_int(a, "scratch per thread", k->scratch_bytes);
    if (k->has_resources) {
        add_int(a, "registers per thread", k->vgprs);
        add_int(a, "agprs per thread", k->agprs);
        add_int(a, "sgprs per wave", k->sgprs);
    }
    if (k->blocks_per_sm > 0) add_double(a, "blocks per SM", k->blocks_per_sm);
    if (k->warps_per_sm > 0) add_double(a, "warps per SM", k->warps_per_sm);
    if (k->occupancy >= 0) add_double(a, "est. achieved occupancy %", k->occupancy);
}

void hb_pf_add_scope(hb_pf_args *a, const hb_trace_event *e)
{
    add_given(a, e->op.args, e->op.num_args);
}
