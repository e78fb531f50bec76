/* SPDX-License-Identifier: MIT
 *
 * Gathers a rank's events, and chooses whom to believe where several tell of one communication.
 */
#include <stdlib.h>

#include "base/crc32c.h"
#include "digest/rank_parts.h"
#include "rules/name_class.h"

hb_rank_maker *hb_rank_maker_new(void)
{
    hb_rank_maker *m = calloc(1, sizeof *m);
    if (m && hb_texts_init(&m->texts)) {
        m->first = INT64_MAX;
        m->last = INT64_MIN;
        m->begun = INT64_MIN;
        m->ended = INT64_MAX;
        hb_buf_init(&m->body, UINT32_MAX);
        hb_buf_init(&m->block, UINT32_MAX);
        return m;
    }
    hb_rank_maker_free(m);
    return NULL;
}

void hb_rank_maker_free(hb_rank_maker *m)
{
    if (!m) return;
    hb_buf_free(&m->body);
    hb_buf_free(&m->block);
    hb_texts_free(&m->texts);
    hb_arena_free(&m->arena);
    free(m);
}

static hb_string_id intern(hb_rank_maker *m, hb_str text)
{
    hb_string_id id = text.len ? hb_texts_add(&m->texts, text.s, text.len) : 0;
    if (text.len && !id) hb_arena_leave(&m->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return id;
}

static bool is_message(const hb_rank_comm *c)
{
    return c->dest >= 0 || c->source >= 0 || hb_str_is(c->operation, "send") ||
           hb_str_is(c->operation, "recv");
}

static void add_call(hb_rank_maker *m, const hb_rank_event *e)
{
    const hb_rank_comm *c = e->comm;
    hb_rank_call call = {.start = e->start,
                         .end = e->end,
                         .sequence = c->sequence,
                         .bytes = c->bytes,
                         .group_size = c->group_size,
                         .peer = c->dest >= 0 ? c->dest : c->source,
                         .source = c->source,
                         .tag = c->tag,
                         .operation = intern(m, c->operation),
                         .group = intern(m, c->group),
                         .description = intern(m, c->description),
                         .members = intern(m, c->members),
                         .track = e->track,
                         .witness = (uint8_t)e->witness,
                         .is_message = is_message(c),
                         .sends = c->dest >= 0 || hb_str_is(c->operation, "send"),
                         .receives_too = c->dest >= 0 && c->source >= 0,
                         .async = c->async,
                         .open = e->open};
    *HB_PUSH(&m->arena, &m->calls) = call;
}

/* What MPI needs to begin and to end is no part of the job's time. */
static void take_ends(hb_rank_maker *m, const hb_rank_event *e)
{
    if (hb_str_begins(e->name, "MPI_Init")) m->begun = HB_MAX(m->begun, e->end);
    if (hb_str_begins(e->name, "MPI_Finalize")) m->ended = HB_MIN(m->ended, e->start);
}

static void add_open(hb_rank_maker *m, const hb_rank_event *e)
{
    static const hb_rank_comm none;
    const hb_rank_comm *c = e->comm ? e->comm : &none;
    *HB_PUSH(&m->arena, &m->open) = (hb_rank_open){.name = intern(m, e->name),
                                                   .group = intern(m, c->group),
                                                   .description = intern(m, c->description),
                                                   .sequence = c->sequence,
                                                   .start = e->start};
}

static bool opens_earlier(const void *context, const void *x, const void *y)
{
    (void)context;
    return ((const hb_rank_open *)x)->start < ((const hb_rank_open *)y)->start;
}

static void add(hb_rank_maker *m, const hb_rank_event *e)
{
    if (e->open && !e->device && e->role != HB_ROLE_TOTAL) add_open(m, e);
    if (e->role == HB_ROLE_COMMUNICATION && !e->comm) take_ends(m, e);
    m->first = HB_MIN(m->first, e->start);
    m->last = HB_MAX(m->last, e->end);
    if (e->role == HB_ROLE_TOTAL) {
        *HB_PUSH(&m->arena, &m->steps) = (hb_rank_step_times){
            .number = hb_step_number_of(e->name), .start = e->start, .end = e->end};
        return;
    }
    if (e->comm) add_call(m, e);
    *HB_PUSH(&m->arena, &m->spans) = (hb_rank_span){.start = e->start,
                                                    .end = e->end,
                                                    .name = intern(m, e->name),
                                                    .track = e->track,
                                                    .comm = e->comm ? m->calls.count : 0,
                                                    .role = (uint8_t)e->role,
                                                    .witness = (uint8_t)e->witness,
                                                    .device = e->device,
                                                    .waits = e->waits};
}

bool hb_rank_maker_add(hb_rank_maker *m, const hb_rank_event *e)
{
    if (m->failed || e->end < e->start) return !m->failed;
    if (hb_arena_try(&m->arena))
        add(m, e);
    else
        m->failed = true;
    return !m->failed;
}

bool hb_rank_maker_flow(hb_rank_maker *m, uint32_t track, int64_t ns, uint64_t id, bool begins)
{
    if (m->failed) return false;
    if (hb_arena_try(&m->arena))
        *HB_PUSH(&m->arena, &m->arrows) = (hb_rank_arrow){id, ns, track, begins};
    else
        m->failed = true;
    return !m->failed;
}

/* ---- whom to believe ---- */

static bool has_witness(const hb_rank_maker *m, hb_rank_witness witness)
{
    for (uint32_t i = 0; i < m->calls.count; i++)
        if (m->calls.items[i].witness == witness) return true;
    return false;
}

/* Kernels are what calls that start them only announce; a scope stands around the call that it
 * names. A collective that goes on behind its call is entered there, and left nobody knows when. */
static void choose(hb_rank_maker *m)
{
    bool kernels = has_witness(m, HB_RANK_KERNEL);
    bool told = kernels || has_witness(m, HB_RANK_CALL) || has_witness(m, HB_RANK_ENQUEUE);
    for (uint32_t i = 0; i < m->calls.count; i++) {
        hb_rank_call *c = &m->calls.items[i];
        c->left_out = c->open || (c->witness == HB_RANK_ENQUEUE && kernels) ||
                      (c->witness == HB_RANK_ANNOTATION && told);
    }
}

static bool is_earlier(const void *context, const void *x, const void *y)
{
    (void)context;
    return ((const hb_rank_step_times *)x)->start < ((const hb_rank_step_times *)y)->start;
}

/* ---- the whole ---- */

static void write_digest(hb_rank_maker *m, const hb_rank_origin *origin, hb_buf *out)
{
    choose(m);
    if (!m->steps.count && m->begun < m->ended) {
        m->first = HB_MAX(m->first, m->begun);
        m->last = HB_MIN(m->last, m->ended);
    }
    hb_sort(&m->arena, m->steps.items, m->steps.count, sizeof *m->steps.items, is_earlier, NULL);
    hb_sort(&m->arena, m->open.items, m->open.count, sizeof *m->open.items, opens_earlier, NULL);
    hb_rank_follow_arrows(m);
    hb_rank_sum(m);
    hb_rank_put(m, origin, out);
}

hb_result hb_rank_maker_write(hb_rank_maker *m, const hb_rank_origin *origin, hb_buf *out)
{
    if (m->failed) return hb_no_memory();
    if (hb_arena_try(&m->arena)) write_digest(m, origin, out);
    HB_TRY(hb_arena_outcome(&m->arena));
    return out->failed ? hb_no_memory() : HB_OK;
}

/* ---- files ---- */

static void put_u32(hb_buf *out, uint32_t value)
{
    uint8_t bytes[4];
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    hb_buf_append(out, bytes, sizeof bytes);
}

void hb_rank_file_head(hb_buf *out)
{
    hb_buf_str(out, HB_RANK_FILE_MAGIC);
    put_u32(out, HB_RANK_FILE_VERSION);
    put_u32(out, 0);
}

static void put_u64(hb_buf *out, uint64_t value)
{
    put_u32(out, (uint32_t)value);
    put_u32(out, (uint32_t)(value >> 32));
}

void hb_rank_file_record(hb_buf *out, hb_rank_stamp stamp, const void *digest, size_t size)
{
    hb_buf record;
    hb_buf_init(&record, UINT32_MAX);
    put_u64(&record, stamp.size);
    put_u64(&record, (uint64_t)stamp.changed_ns);
    hb_buf_append(&record, digest, size);
    out->failed |= record.failed;
    if (!record.failed) {
        put_u32(out, (uint32_t)record.size);
        put_u32(out, hb_crc32c_masked(record.data, record.size));
        hb_buf_append(out, record.data, record.size);
    }
    hb_buf_free(&record);
}
