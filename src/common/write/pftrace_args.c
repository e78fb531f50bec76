/* SPDX-License-Identifier: MIT */
#include "write/pftrace_args.h"

#include <stdio.h>

enum {
    LONGEST = 500, /* text */
    HEAD = 16,     /* what stands before a value */
    SLACK = 16,    /* bytes behind a kept value that are there, for whatever they hold */
};

typedef struct arg_head {
    hb_string_id name;
    uint32_t size;
} arg_head;

/* Up to SLACK bytes more than asked for. */
static inline void copy_some(char *to, const char *from, size_t size)
{
    for (size_t i = 0; i < size; i += SLACK)
        memcpy(to + i, from + i, SLACK);
}

/* A DebugAnnotation as far as its value, whose place comes back. */
static inline char *begin_annotation(char *p, uint64_t name)
{
    hb_message m = {p + 2, p + HEAD, false};
    p[0] = 4 << 3 | 2;
    hb_message_number(&m, 1, name);
    return m.at;
}

/* Its size, which takes a second byte in long ones. */
static inline char *end_annotation(char *p, char *end)
{
    size_t size = (size_t)(end - p) - 2;
    if (HB_UNLIKELY(size > 127)) {
        memmove(p + 3, p + 2, size);
        p[1] = (char)(size | 128);
        p[2] = (char)(size >> 7);
        return end + 1;
    }
    p[1] = (char)size;
    return end;
}

static hb_string_id arg_name(hb_pf_args *a, const char *name)
{
    size_t i = ((uintptr_t)name >> 2 ^ (uintptr_t)name >> 10) % HB_ARRAY_LEN(a->names);
    if (a->names[i].name != name) {
        a->names[i].name = name;
        a->names[i].text = hb_pf_text(a->f, (hb_str){name, (uint32_t)strlen(name)});
    }
    return a->names[i].text;
}

/* Room for a value of at most `room` bytes. */
static hb_message begin_value(hb_pf_args *a, hb_string_id name, size_t room)
{
    hb_message *m = a->message;
    a->name = name;
    if (a->to) {
        a->begin = hb_buf_reserve(a->to, sizeof(arg_head) + room + SLACK);
        if (!a->begin) hb_arena_leave(a->f->arena, HB_ERROR_NO_MEMORY, "out of memory");
        char *value = a->begin + sizeof(arg_head);
        return (hb_message){value, value + room, false};
    }
    bool fits = (size_t)(m->end - m->at) > room + HEAD;
    a->begin = fits ? m->at : a->spare;
    char *value = begin_annotation(a->begin, hb_pf_intern(a->f, a->row, HB_PF_ARGS, name));
    return (hb_message){value, value + room, false};
}

static void end_value(hb_pf_args *a, const hb_message *value)
{
    if (a->to) {
        char *from = a->begin + sizeof(arg_head);
        arg_head head = {a->name, (uint32_t)(value->at - from)};
        memcpy(a->begin, &head, sizeof head);
        a->to->size += sizeof head + head.size;
    } else if (a->begin == a->message->at) {
        a->message->at = end_annotation(a->begin, value->at);
    }
}

/* Their messages; the names' own are written before. */
void hb_pf_put_args(hb_pf_file *f, hb_pf_row *row, hb_message *to, const char *args, size_t size)
{
    for (size_t at = 0; at < size;) {
        arg_head head;
        memcpy(&head, args + at, sizeof head);
        at += sizeof head;
        if ((size_t)(to->end - to->at) > head.size + HEAD) {
            char *value = begin_annotation(to->at, hb_pf_intern(f, row, HB_PF_ARGS, head.name));
            copy_some(value, args + at, head.size);
            to->at = end_annotation(to->at, value + head.size);
        }
        at += head.size;
    }
}

static void add_number(hb_pf_args *a, const char *name, uint32_t field, uint64_t number)
{
    hb_message m = begin_value(a, arg_name(a, name), 12);
    hb_message_number(&m, field, number);
    end_value(a, &m);
}

static void add_int(hb_pf_args *a, const char *name, int64_t number)
{
    add_number(a, name, 4, (uint64_t)number);
}

static void add_pointer(hb_pf_args *a, const char *name, uint64_t number)
{
    add_number(a, name, 7, number);
}

static void put_double(hb_message *m, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    hb_message_fixed(m, 5, bits);
}

static void add_double(hb_pf_args *a, const char *name, double number)
{
    hb_message m = begin_value(a, arg_name(a, name), 12);
    put_double(&m, number);
    end_value(a, &m);
}

static void put_text(hb_message *m, const char *text, size_t size)
{
    hb_message_bytes(m, 6, text, size);
}

static void add_text(hb_pf_args *a, const char *name, hb_str text)
{
    size_t size = HB_MIN(text.len, (uint32_t)LONGEST);
    hb_message m = begin_value(a, arg_name(a, name), size + 8);
    put_text(&m, text.s, size);
    end_value(a, &m);
}

/* "GPU 0", by which readers of rocprofv3's traces tell GPUs apart: a text of the row's table. */
static void add_agent(hb_pf_args *a, int32_t device)
{
    char name[24];
    if (!a->agent || a->agent_device != device) {
        int n = snprintf(name, sizeof name, "GPU %d", (int)device);
        a->agent = hb_pf_text(a->f, (hb_str){name, (uint32_t)n});
        a->agent_device = device;
    }
    add_number(a, "agent", 17, hb_pf_intern(a->f, a->row, HB_PF_STRINGS, a->agent));
}

static void add_triple(hb_pf_args *a, const char *name, const uint32_t numbers[3])
{
    hb_message m = begin_value(a, arg_name(a, name), 3 * 8 + 8);
    for (int i = 0; i < 3; i++) {
        char *element = m.at;
        m.at += 2;
        hb_message_number(&m, 4, numbers[i]);
        element[0] = 12 << 3 | 2;
        element[1] = (char)(m.at - element - 2);
    }
    end_value(a, &m);
}

static void put_number(hb_message *m, const hb_arg *arg)
{
    switch (arg->type) {
    case HB_ARG_BOOL: hb_message_number(m, 2, arg->i != 0); break;
    case HB_ARG_UINT: hb_message_number(m, 3, (uint64_t)arg->i); break;
    case HB_ARG_INT: hb_message_number(m, 4, (uint64_t)arg->i); break;
    default: put_double(m, arg->f);
    }
}

/* Names of the program's own: where they stand something else may stand later. */
static void add_given(hb_pf_args *a, const hb_arg *args, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bool text = args[i].type == HB_ARG_STRING;
        if (text && !args[i].s) continue;
        hb_str key = {args[i].key, (uint32_t)strlen(args[i].key)};
        size_t size = text ? HB_MIN(strlen(args[i].s), (size_t)LONGEST) : 4;
        hb_message m = begin_value(a, hb_pf_text(a->f, key), size + 8);
        if (text)
            put_text(&m, args[i].s, size);
        else
            put_number(&m, &args[i]);
        end_value(a, &m);
    }
}

void hb_pf_add_call(hb_pf_args *a, const hb_trace_event *e)
{
    const hb_runtime_args *call = &e->runtime;
    if (e->correlation) add_int(a, "corr_id", (int64_t)e->correlation);
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
    if (!(e->flags & HB_TEV_OUT_OF_MEMORY)) add_pointer(a, "Addr", m->addr);
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
    add_agent(a, e->device);
    if (stream) add_int(a, "queue", e->tid);
    add_int(a, "stream", stream ? stream->i : e->tid);
    if (e->correlation) add_int(a, "corr_id", (int64_t)e->correlation);
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
