/* SPDX-License-Identifier: MIT */
#include "ranks/meetings.h"

/* A rank's way through the collectives of one communicator, over its cycles. */
typedef struct walker {
    uint32_t rank, cycle; /* cycle: the next one of the study to look into */
    hb_rank_walk walk;
    bool numbered, at_end;
    uint32_t in_cycle; /* whose collectives have only their places */
    hb_rank_entry entry;
    uint64_t key;
} walker;

typedef struct group {
    hb_str name, description;
    uint64_t size;
    HB_VEC(walker) walkers;
    uint32_t alive;
    hb_meeting next;
} group;

struct hb_meetings {
    hb_rank_study *study;
    HB_VEC(group) groups;
    uint32_t *heap, count; /* groups with a meeting to come, the earliest first */
    bool pending;          /* the first one's was given away */
};

/* ---- ways through the digests ---- */

static const hb_rank_group *group_in(const hb_rank_digest *d, hb_str name)
{
    for (uint32_t i = 0; i < d->num_groups; i++)
        if (d->groups[i].name.len == name.len && memcmp(d->groups[i].name.s, name.s, name.len) == 0)
            return &d->groups[i];
    return NULL;
}

/* Places are compared within cycles of the same number. */
static void step(hb_meetings *m, const group *g, walker *w)
{
    const hb_study_rank *rank = &m->study->ranks[w->rank];
    while (!hb_rank_next(&w->walk, &w->entry)) {
        const hb_rank_group *next = NULL;
        while (!next && w->cycle < rank->first_cycle + rank->num_cycles) {
            const hb_study_cycle *c = &m->study->cycles.items[w->cycle++];
            next = group_in(&c->digest, g->name);
            if (!next) continue;
            w->walk = hb_rank_walk_group(&c->digest, next);
            w->numbered = next->numbered;
            w->in_cycle = c->cycle;
        }
        if (!next) {
            w->at_end = true;
            return;
        }
    }
    w->key = (uint64_t)w->entry.sequence;
    if (!w->numbered) w->key = (uint64_t)w->in_cycle << 32 | (uint32_t)w->entry.sequence;
}

/* ---- one communicator's next ---- */

static bool is_like(const hb_meeting *m, const hb_rank_entry *e)
{
    return m->operation.len == e->operation.len &&
           memcmp(m->operation.s, e->operation.s, e->operation.len) == 0;
}

/* Who tells of something else under the same number took part in something else. */
static void take(hb_meeting *m, const walker *w)
{
    const hb_rank_entry *e = &w->entry;
    if (!m->count) {
        m->operation = e->operation;
        m->bytes = e->bytes;
        m->last = e->start;
    } else if (!is_like(m, e)) {
        return;
    }
    m->bytes = HB_MAX(m->bytes, e->bytes);
    m->last = HB_MAX(m->last, e->start);
    m->async |= e->async;
    m->who[m->count++] = (hb_comer){w->rank, e->start, e->end};
}

static bool find_next(hb_meetings *m, group *g)
{
    uint64_t key = UINT64_MAX;
    for (uint32_t i = 0; i < g->walkers.count; i++)
        if (!g->walkers.items[i].at_end) key = HB_MIN(key, g->walkers.items[i].key);
    g->next.count = 0;
    g->next.async = false;
    for (uint32_t i = 0; i < g->walkers.count; i++) {
        walker *w = &g->walkers.items[i];
        bool taken = false;
        while (!w->at_end && w->key == key) {
            if (!taken) take(&g->next, w);
            taken = true; /* of several under one number the first */
            step(m, g, w);
        }
    }
    if (!g->next.count) return false;
    const hb_collective_name *known = hb_collective_of(g->next.operation);
    g->next.waits = known ? known->waits : HB_COLLECTIVE_WAITS_UNKNOWN;
    return true;
}

/* ---- all of them ---- */

static bool is_earlier(const hb_meetings *m, uint32_t x, uint32_t y)
{
    int64_t a = m->groups.items[x].next.last, b = m->groups.items[y].next.last;
    return a != b ? a < b : x < y;
}

static void sink(hb_meetings *m, uint32_t at)
{
    for (;;) {
        uint32_t least = at, left = 2 * at + 1, right = left + 1;
        if (left < m->count && is_earlier(m, m->heap[left], m->heap[least])) least = left;
        if (right < m->count && is_earlier(m, m->heap[right], m->heap[least])) least = right;
        if (least == at) return;
        uint32_t other = m->heap[at];
        m->heap[at] = m->heap[least];
        m->heap[least] = other;
        at = least;
    }
}

static group *get_group(hb_meetings *m, const hb_rank_group *from)
{
    hb_texts *names = &m->study->group_names;
    uint32_t before = names->count;
    hb_sid id =
        hb_texts_add(names, from->name.len ? from->name.s : "-", HB_MAX(from->name.len, 1u));
    hb_arena *arena = &m->study->results;
    if (!id) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory");
    if (names->count > before)
        *HB_PUSH(arena, &m->groups) = (group){from->name, from->description, from->size};
    group *g = &m->groups.items[id - 1];
    g->size = HB_MAX(g->size, from->size);
    return g;
}

static void add_walkers(hb_meetings *m)
{
    hb_rank_study *s = m->study;
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        const hb_rank_digest *d = &s->cycles.items[i].digest;
        uint32_t rank = s->cycles.items[i].rank;
        for (uint32_t k = 0; k < d->num_groups; k++) {
            group *g = get_group(m, &d->groups[k]);
            bool there = g->walkers.count && g->walkers.items[g->walkers.count - 1].rank == rank;
            if (!there)
                *HB_PUSH(&s->results, &g->walkers) =
                    (walker){.rank = rank, .cycle = s->ranks[rank].first_cycle};
        }
    }
}

hb_meetings *hb_meetings_open(hb_rank_study *study)
{
    hb_meetings *m = hb_arena_alloc(&study->results, sizeof *m);
    m->study = study;
    hb_texts_free(&study->group_names);
    if (!hb_texts_init(&study->group_names))
        hb_arena_leave(&study->results, HB_ERROR_NO_MEMORY, "out of memory");
    add_walkers(m);
    m->heap = HB_NEW_ARRAY(&study->results, uint32_t, m->groups.count + 1);
    for (uint32_t i = 0; i < m->groups.count; i++) {
        group *g = &m->groups.items[i];
        g->next = (hb_meeting){.group = g->name, .description = g->description, .size = g->size};
        g->next.who = HB_NEW_ARRAY(&study->results, hb_comer, g->walkers.count);
        for (uint32_t k = 0; k < g->walkers.count; k++)
            step(m, g, &g->walkers.items[k]);
        if (find_next(m, g)) m->heap[m->count++] = i;
    }
    for (uint32_t i = m->count; i-- > 0;)
        sink(m, i);
    return m;
}

const hb_meeting *hb_meetings_next(hb_meetings *m)
{
    if (m->pending) {
        if (!find_next(m, &m->groups.items[m->heap[0]])) m->heap[0] = m->heap[--m->count];
        sink(m, 0);
    }
    m->pending = m->count > 0;
    return m->pending ? &m->groups.items[m->heap[0]].next : NULL;
}

const hb_meeting *hb_meetings_next_for_all(hb_meetings *meetings)
{
    const hb_meeting *m;
    while ((m = hb_meetings_next(meetings)))
        if (m->count > 1 && !m->async && hb_waits_for_all(m->waits)) return m;
    return NULL;
}

uint32_t hb_meetings_groups(const hb_meetings *m)
{
    return m->groups.count;
}

void hb_meeting_align(hb_meeting *m)
{
    for (uint32_t i = 0; i < m->count; i++) {
        m->who[i].start -= m->who[i].end;
        m->who[i].end = 0;
    }
}
