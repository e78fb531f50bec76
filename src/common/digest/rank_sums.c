/* SPDX-License-Identifier: MIT
 *
 * A digest's sums: where the time of steps went, what operators took, and where communications
 * that were begun before were complete.
 */
#include "digest/rank_parts.h"

#include "base/times.h"

/* ---- roles: a sweep over time ---- */

typedef struct edge {
    int64_t at;
    uint8_t role;
    int8_t by;
} edge;

static bool edge_before(const void *context, const void *x, const void *y)
{
    (void)context;
    return ((const edge *)x)->at < ((const edge *)y)->at;
}

typedef struct sweep {
    hb_rank_maker *m;
    int64_t at;
    uint32_t step; /* the first one that ends behind `at` */
    uint32_t active[HB_ROLE_PARTS];
} sweep;

static int role_now(const sweep *s)
{
    int role = 0;
    while (role < HB_ROLE_OTHER && !s->active[role])
        role++;
    return role;
}

/* Steps do not overlap: their ends are where the next one begins at the latest. */
static void move_to(sweep *s, int64_t at)
{
    hb_rank_maker *m = s->m;
    int role = role_now(s);
    if (!m->steps.count && HB_MIN(at, m->last) > HB_MAX(s->at, m->first))
        m->whole[role] += HB_MIN(at, m->last) - HB_MAX(s->at, m->first);
    while (s->step < m->steps.count) {
        hb_rank_step_times *step = &m->steps.items[s->step];
        int64_t from = HB_MAX(s->at, step->start), to = HB_MIN(at, step->end);
        if (to > from) step->role[role] += to - from;
        if (step->end > at) break;
        s->step++;
    }
    s->at = at;
}

static void end_steps(hb_rank_maker *m)
{
    for (uint32_t i = 0; i + 1 < m->steps.count; i++) {
        hb_rank_step_times *step = &m->steps.items[i];
        step->end = HB_MIN(step->end, step[1].start);
        step->end = HB_MAX(step->end, step->start);
    }
}

static void sum_roles(hb_rank_maker *m)
{
    uint32_t count = 0;
    edge *edges = HB_NEW_ARRAY(&m->arena, edge, 2 * (size_t)m->spans.count + 1);
    for (uint32_t i = 0; i < m->spans.count; i++) {
        const hb_rank_span *span = &m->spans.items[i];
        if (span->role >= HB_ROLE_OTHER || span->end == span->start) continue;
        edges[count++] = (edge){span->start, span->role, 1};
        edges[count++] = (edge){span->end, span->role, -1};
    }
    hb_sort(&m->arena, edges, count, sizeof *edges, edge_before, NULL);
    end_steps(m);
    sweep s = {.m = m, .at = m->first};
    for (uint32_t i = 0; i < count; i++) {
        if (edges[i].at > s.at) move_to(&s, edges[i].at);
        s.active[edges[i].role] += (uint32_t)edges[i].by;
    }
    if (m->last > s.at) move_to(&s, m->last);
    for (uint32_t i = 0; i < m->steps.count; i++)
        for (int role = 0; role < HB_ROLE_PARTS; role++)
            m->whole[role] += m->steps.items[i].role[role];
}

/* ---- operators ---- */

typedef struct by_track {
    const hb_rank_span *items;
} by_track;

static bool outer_before(const void *context, const void *x, const void *y)
{
    const hb_rank_span *items = ((const by_track *)context)->items;
    const hb_rank_span *a = &items[*(const uint32_t *)x], *b = &items[*(const uint32_t *)y];
    if (a->track != b->track) return a->track < b->track;
    if (a->start != b->start) return a->start < b->start;
    return a->end > b->end;
}

typedef struct operator_sums {
    hb_rank_maker *m;
    hb_dict known;
    HB_VEC(hb_rank_operator) all;
    HB_VEC(uint32_t) open; /* spans of one track that are around the next one */
} operator_sums;

static hb_rank_operator *sum_of(operator_sums *s, const hb_rank_span *span)
{
    bool added;
    uint64_t key = (uint64_t)span->device << 32 | span->name;
    hb_dict_entry *e = hb_dict_add(&s->m->arena, &s->known, key, &added);
    if (added) {
        e->value = s->all.count;
        *HB_PUSH(&s->m->arena, &s->all) =
            (hb_rank_operator){.name = span->name, .device = span->device};
    }
    return &s->all.items[e->value];
}

/* A communication is no operator's work, its own neither. */
static void take_from_outer(operator_sums *s, const hb_rank_span *span)
{
    if (!s->open.count) return;
    const hb_rank_span *outer = &s->m->spans.items[s->open.items[s->open.count - 1]];
    if (!outer->witness)
        hb_add_ns(&sum_of(s, outer)->self, span->start - HB_MIN(span->end, outer->end));
}

static void add_host_span(operator_sums *s, uint32_t index)
{
    const hb_rank_span *items = s->m->spans.items, *span = &items[index];
    while (s->open.count) {
        const hb_rank_span *outer = &items[s->open.items[s->open.count - 1]];
        if (outer->track == span->track && outer->end > span->start) break;
        s->open.count--;
    }
    take_from_outer(s, span);
    *HB_PUSH(&s->m->arena, &s->open) = index;
    if (span->witness) return;
    hb_rank_operator *op = sum_of(s, span);
    op->calls++;
    hb_add_ns(&op->self, span->end - span->start);
    hb_add_ns(&op->total, span->end - span->start);
}

static bool is_dearer(const void *context, const void *x, const void *y)
{
    const hb_texts *texts = context;
    const hb_rank_operator *a = x, *b = y;
    if (a->self != b->self) return a->self > b->self;
    hb_str s = hb_texts_get(texts, a->name), t = hb_texts_get(texts, b->name);
    int order = memcmp(s.s ? s.s : "", t.s ? t.s : "", HB_MIN(s.len, t.len));
    return order ? order < 0 : s.len < t.len;
}

static void sum_operators(hb_rank_maker *m)
{
    operator_sums s = {.m = m};
    uint32_t *order = HB_NEW_ARRAY(&m->arena, uint32_t, m->spans.count + 1), count = 0;
    for (uint32_t i = 0; i < m->spans.count; i++) {
        const hb_rank_span *span = &m->spans.items[i];
        if (!span->device) order[count++] = i;
        if (!span->device || span->witness || span->role != HB_ROLE_KERNEL) continue;
        hb_rank_operator *kernel = sum_of(&s, span);
        kernel->calls++;
        hb_add_ns(&kernel->self, span->end - span->start);
        kernel->total = kernel->self;
    }
    hb_sort(&m->arena, order, count, sizeof *order, outer_before, &(by_track){m->spans.items});
    for (uint32_t i = 0; i < count; i++)
        add_host_span(&s, order[i]);
    hb_sort(&m->arena, s.all.items, s.all.count, sizeof *s.all.items, is_dearer, &m->texts);
    for (uint32_t i = 0; i < s.all.count && i < HB_RANK_OPERATORS; i++)
        *HB_PUSH(&m->arena, &m->operators) = s.all.items[i];
}

void hb_rank_sum(hb_rank_maker *m)
{
    if (m->first > m->last) m->first = m->last = 0;
    sum_roles(m);
    sum_operators(m);
}

/* ---- arrows ---- */

/* The call, or the waiting for one, of that track that runs at that time; spans by outer_before()
 * of those that communicate or wait, so that the last one that has begun is the innermost. */
static const hb_rank_span *span_at(const hb_rank_maker *m, const uint32_t *order, uint32_t count,
                                   uint32_t track, int64_t ns)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const hb_rank_span *span = &m->spans.items[order[middle]];
        if (span->track < track || (span->track == track && span->start <= ns))
            low = middle + 1;
        else
            high = middle;
    }
    for (uint32_t back = 0; low > 0 && back < 4; low--, back++) {
        const hb_rank_span *span = &m->spans.items[order[low - 1]];
        if (span->track != track) break;
        if (span->end >= ns) return span;
    }
    return NULL;
}

void hb_rank_follow_arrows(hb_rank_maker *m)
{
    hb_dict begun = {0}; /* by id: the call's index + 1 */
    uint32_t count = 0, *order = HB_NEW_ARRAY(&m->arena, uint32_t, m->spans.count + 1);
    if (!m->arrows.count) return;
    for (uint32_t i = 0; i < m->spans.count; i++)
        if (!m->spans.items[i].device && (m->spans.items[i].comm || m->spans.items[i].waits))
            order[count++] = i;
    hb_sort(&m->arena, order, count, sizeof *order, outer_before, &(by_track){m->spans.items});
    for (uint32_t i = 0; i < m->arrows.count; i++) {
        const hb_rank_arrow *a = &m->arrows.items[i];
        if (!a->begins) continue;
        const hb_rank_span *span = span_at(m, order, count, a->track, a->ns);
        if (span && span->comm) hb_dict_set(&m->arena, &begun, a->id, span->comm);
    }
    for (uint32_t i = 0; i < m->arrows.count; i++) {
        const hb_rank_arrow *a = &m->arrows.items[i];
        hb_dict_entry *e = a->begins ? NULL : hb_dict_get(&begun, a->id);
        const hb_rank_span *span = e ? span_at(m, order, count, a->track, a->ns) : NULL;
        if (!span) continue;
        m->calls.items[e->value - 1].wait_start = span->start;
        m->calls.items[e->value - 1].wait_end = span->end;
    }
}
