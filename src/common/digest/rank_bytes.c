/* SPDX-License-Identifier: MIT
 *
 * A digest's bytes. Times are differences to the one before, texts are numbers of a list that
 * stands in front: see plugin_format/hbranks.md.
 */
#include "digest/rank_parts.h"

#include "base/bytes.h"

typedef struct writer {
    hb_rank_maker *m;
    hb_buf *out, *body; /* body: what stands behind the names */
    uint32_t *names;    /* by hb_string_id: its number, from 1; 0: not used yet */
    HB_VEC(hb_string_id) used;
} writer;

static void put(hb_buf *out, uint64_t value)
{
    hb_buf_varint(out, value);
}

static void put_signed(hb_buf *out, int64_t value)
{
    hb_buf_varint(out, hb_zigzag(value));
}

static void put_text(hb_buf *out, const char *text, size_t size)
{
    put(out, size);
    hb_buf_append(out, text, size);
}

static void put_name(writer *w, hb_buf *out, hb_string_id id)
{
    if (id && !w->names[id]) {
        *HB_PUSH(&w->m->arena, &w->used) = id;
        w->names[id] = w->used.count;
    }
    put(out, id ? w->names[id] : 0);
}

/* ---- parts ---- */

static void put_steps(writer *w)
{
    const hb_rank_maker *m = w->m;
    int64_t number = 0, end = m->first;
    put(w->body, m->steps.count);
    for (uint32_t i = 0; i < m->steps.count; i++) {
        const hb_rank_step_times *s = &m->steps.items[i];
        put_signed(w->body, s->number - number);
        put_signed(w->body, s->start - end);
        put(w->body, (uint64_t)(s->end - s->start));
        for (int role = 0; role < HB_ROLE_PARTS; role++)
            put(w->body, (uint64_t)s->role[role]);
        number = s->number;
        end = s->end;
    }
    for (int role = 0; role < HB_ROLE_PARTS; role++)
        put(w->body, (uint64_t)m->whole[role]);
}

static void put_operators(writer *w)
{
    put(w->body, w->m->operators.count);
    for (uint32_t i = 0; i < w->m->operators.count; i++) {
        const hb_rank_operator *op = &w->m->operators.items[i];
        put_name(w, w->body, op->name);
        put(w->body, op->device);
        put(w->body, op->calls);
        put_signed(w->body, op->self);
        put(w->body, (uint64_t)op->total);
    }
}

/* ---- calls, sorted by what they are of ---- */

static bool collective_before(const void *context, const void *x, const void *y)
{
    (void)context;
    const hb_rank_call *a = x, *b = y;
    if (a->group != b->group) return a->group < b->group;
    return a->start < b->start;
}

static bool number_before(const void *context, const void *x, const void *y)
{
    (void)context;
    const hb_rank_call *a = x, *b = y;
    if (a->sequence != b->sequence) return a->sequence < b->sequence;
    return a->start < b->start;
}

static bool message_before(const void *context, const void *x, const void *y)
{
    (void)context;
    const hb_rank_call *a = x, *b = y;
    if (a->group != b->group) return a->group < b->group;
    if (a->sends != b->sends) return a->sends;
    if (a->peer != b->peer) return a->peer < b->peer;
    if (a->tag != b->tag) return a->tag < b->tag;
    return a->start < b->start;
}

/* Where one has no number of its own, all have those of their places in time. */
static bool is_numbered(const hb_rank_call *calls, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (calls[i].sequence <= 0) return false;
    return true;
}

static void put_collectives(writer *w, hb_buf *out, const hb_rank_call *calls, uint32_t count,
                            bool numbered)
{
    int64_t sequence = 0, bytes = 0, end = w->m->first;
    for (uint32_t i = 0; i < count; i++) {
        const hb_rank_call *c = &calls[i];
        int64_t now = numbered ? c->sequence : (int64_t)i + 1;
        put(out, (uint64_t)(now - sequence));
        put_name(w, out, c->operation);
        put(out, c->async);
        put_signed(out, c->bytes - bytes);
        put_signed(out, c->start - end);
        put(out, (uint64_t)(c->end - c->start));
        sequence = now;
        bytes = c->bytes;
        end = c->end;
    }
}

static void put_group(writer *w, hb_rank_call *calls, uint32_t count)
{
    hb_buf *block = &w->m->block;
    bool numbered = is_numbered(calls, count);
    if (numbered) hb_sort(&w->m->arena, calls, count, sizeof *calls, number_before, NULL);
    block->size = 0;
    put_collectives(w, block, calls, count, numbered);
    put_name(w, w->body, calls->group);
    put_name(w, w->body, calls->description);
    put_name(w, w->body, calls->members);
    put(w->body, (uint64_t)calls->group_size);
    put(w->body, numbered);
    put(w->body, count);
    put_text(w->body, block->data ? block->data : "", block->size);
    w->body->failed |= block->failed;
}

static void put_messages(hb_buf *out, const hb_rank_call *calls, uint32_t count, int64_t first)
{
    int64_t bytes = 0, before = first;
    for (uint32_t i = 0; i < count; i++) {
        const hb_rank_call *c = &calls[i];
        put_signed(out, c->bytes - bytes);
        put_signed(out, c->start - before);
        put(out, (uint64_t)(c->end - c->start));
        put(out, (uint64_t)c->async << 1 | (c->wait_end != 0));
        if (c->wait_end) {
            put_signed(out, c->wait_start - c->end);
            put(out, (uint64_t)(c->wait_end - c->wait_start));
        }
        bytes = c->bytes;
        before = c->start;
    }
}

static void put_channel(writer *w, hb_rank_call *calls, uint32_t count)
{
    hb_buf *block = &w->m->block;
    block->size = 0;
    put_messages(block, calls, count, w->m->first);
    put_name(w, w->body, calls->group);
    put_name(w, w->body, calls->description);
    put(w->body, calls->sends);
    put_signed(w->body, calls->peer);
    put_signed(w->body, calls->tag);
    put(w->body, count);
    put_text(w->body, block->data ? block->data : "", block->size);
    w->body->failed |= block->failed;
}

typedef HB_VEC(hb_rank_call) call_list;

static void add_message(writer *w, call_list *list, const hb_rank_call *call)
{
    *HB_PUSH(&w->m->arena, list) = *call;
    if (!call->receives_too) return;
    hb_rank_call other = *call;
    other.sends = false;
    other.peer = call->source;
    *HB_PUSH(&w->m->arena, list) = other;
}

static bool same_channel(const hb_rank_call *a, const hb_rank_call *b)
{
    return a->group == b->group && a->sends == b->sends && a->peer == b->peer && a->tag == b->tag;
}

static bool same_group(const hb_rank_call *a, const hb_rank_call *b)
{
    return a->group == b->group;
}

static void put_runs(writer *w, const call_list *list,
                     bool (*same)(const hb_rank_call *, const hb_rank_call *),
                     void (*put_run)(writer *, hb_rank_call *, uint32_t))
{
    uint32_t runs = 0;
    for (uint32_t i = 0; i < list->count; i++)
        runs += i == 0 || !same(&list->items[i - 1], &list->items[i]);
    put(w->body, runs);
    for (uint32_t i = 0, end; i < list->count; i = end) {
        for (end = i + 1; end < list->count && same(&list->items[i], &list->items[end]);)
            end++;
        put_run(w, &list->items[i], end - i);
    }
}

/* A message whose other end is not known can be matched with none. */
static void put_calls(writer *w)
{
    hb_rank_maker *m = w->m;
    call_list collectives = {0}, messages = {0};
    uint64_t unmatched = 0;
    for (uint32_t i = 0; i < m->calls.count; i++) {
        const hb_rank_call *c = &m->calls.items[i];
        if (c->left_out) continue;
        if (!c->is_message)
            *HB_PUSH(&m->arena, &collectives) = *c;
        else if (c->peer >= 0)
            add_message(w, &messages, c);
        else
            unmatched++;
    }
    hb_sort(&m->arena, collectives.items, collectives.count, sizeof *collectives.items,
            collective_before, NULL);
    hb_sort(&m->arena, messages.items, messages.count, sizeof *messages.items, message_before,
            NULL);
    put_runs(w, &collectives, same_group, put_group);
    put_runs(w, &messages, same_channel, put_channel);
    put(w->body, unmatched);
}

static void put_open(writer *w)
{
    const hb_rank_maker *m = w->m;
    put(w->body, m->open.count);
    for (uint32_t i = 0; i < m->open.count; i++) {
        const hb_rank_open *o = &m->open.items[i];
        put_name(w, w->body, o->name);
        put_name(w, w->body, o->group);
        put_name(w, w->body, o->description);
        put(w->body, (uint64_t)o->sequence);
        put_signed(w->body, o->start - m->first);
    }
}

/* ---- the whole ---- */

static void put_origin(writer *w, const hb_rank_origin *o)
{
    const char *const texts[] = {o->host, o->worker, o->file, o->backend};
    for (size_t i = 0; i < HB_ARRAY_LEN(texts); i++)
        put_text(w->out, texts[i], strlen(texts[i]));
    put_signed(w->out, o->rank);
    put_signed(w->out, o->world);
    put_signed(w->out, o->pid);
    put_signed(w->out, o->base_ns + w->m->first);
    put(w->out, (uint64_t)(w->m->last - w->m->first));
    put(w->out, o->lost);
    put(w->out, (uint64_t)o->clock_method);
    put_signed(w->out, o->clock_offset_ns);
    put(w->out, (uint64_t)o->clock_bound_ns);
}

static void put_names(writer *w)
{
    put(w->out, w->used.count);
    for (uint32_t i = 0; i < w->used.count; i++) {
        hb_str name = hb_texts_get(&w->m->texts, w->used.items[i]);
        put_text(w->out, name.s, name.len);
    }
}

void hb_rank_put(hb_rank_maker *m, const hb_rank_origin *origin, hb_buf *out)
{
    writer w = {.m = m, .out = out, .body = &m->body};
    w.names = HB_NEW_ARRAY(&m->arena, uint32_t, m->texts.count + 1);
    m->body.size = 0;
    put_steps(&w);
    put_operators(&w);
    put_calls(&w);
    put_open(&w);
    put_origin(&w, origin);
    put_names(&w);
    hb_buf_append(out, m->body.data ? m->body.data : "", m->body.size);
    out->failed |= m->body.failed;
}
