/* SPDX-License-Identifier: MIT */
#include "ranks/meetings.h"

#include <stdlib.h>

/* Walking through digests is most of the work, and is done once where there is room for what was
 * found. */
enum { MOST_KEPT = 10 << 20 };

typedef struct kept_comer {
    int64_t start;   /* by its own clock */
    uint32_t length; /* ns; nothing is kept where one stays longer than four seconds */
    uint32_t cycle;  /* of the study */
} kept_comer;

typedef struct kept_meeting {
    hb_str operation;
    int64_t bytes;
    uint32_t count;
    bool async;
} kept_meeting;

/* A communicator's, in order. */
typedef struct kept {
    kept_comer *comers;
    uint32_t num_comers;
    HB_VEC(kept_meeting) meetings;
} kept;

typedef struct hb_joined hb_joined;
struct hb_joined {
    kept *groups;
    uint32_t count;
    bool whole; /* else it is just being found */
};

/* A rank's way through the collectives of one communicator, over its cycles. */
typedef struct walker {
    uint32_t rank, cycle; /* cycle: the next one of the study to look into */
    hb_rank_walk walk;
    bool numbered, at_end;
    uint32_t in_cycle;   /* whose collectives have only their places */
    hb_rank_entry entry; /* by the digest's own clock */
    uint64_t key;
    const char *own_name, *like_name; /* operations that are one, as they stand in two digests */
} walker;

typedef struct group {
    hb_str name, description;
    uint64_t size;
    HB_VEC(walker) walkers;
    uint64_t entries; /* of all walkers together */
    hb_mismatch mismatch;
    kept *kept;              /* NULL: there is no room */
    uint32_t meeting, comer; /* the next ones that were kept */
    hb_meeting next;
} group;

struct hb_meetings {
    hb_rank_study *study;
    HB_VEC(group) groups;
    uint32_t *heap, count; /* groups with a meeting to come, the earliest first */
    bool pending;          /* the first one's was given away */
    bool walks;            /* through the digests, not through what was kept */
    hb_joined *joined;     /* NULL: there is no room */
};

/* ---- what is kept ---- */

void hb_meetings_forget(hb_rank_study *s)
{
    if (!s->joined) return;
    for (uint32_t i = 0; i < s->joined->count; i++) {
        free(s->joined->groups[i].comers);
        free(s->joined->groups[i].meetings.items);
    }
    free(s->joined->groups);
    free(s->joined);
    s->joined = NULL;
}

static bool make_room(hb_meetings *m, hb_joined *joined)
{
    joined->groups = calloc(m->groups.count + 1, sizeof *joined->groups);
    if (!joined->groups) return false;
    for (; joined->count < m->groups.count; joined->count++) {
        group *g = &m->groups.items[joined->count];
        g->kept = &joined->groups[joined->count];
        g->kept->comers = malloc((g->entries + 1) * sizeof *g->kept->comers);
        if (!g->kept->comers) return false;
    }
    return true;
}

static void keep_nothing(hb_meetings *m)
{
    hb_meetings_forget(m->study);
    m->joined = NULL;
    for (uint32_t i = 0; i < m->groups.count; i++)
        m->groups.items[i].kept = NULL;
}

static void begin_keeping(hb_meetings *m)
{
    uint64_t entries = 0;
    for (uint32_t i = 0; i < m->groups.count; i++)
        entries += m->groups.items[i].entries;
    hb_meetings_forget(m->study); /* of a walk that was given up */
    if (entries > MOST_KEPT) return;
    m->joined = m->study->joined = calloc(1, sizeof *m->joined);
    if (m->joined && !make_room(m, m->joined)) keep_nothing(m);
}

static void keep_comer(hb_meetings *m, group *g, const walker *w)
{
    int64_t length = w->entry.end - w->entry.start;
    if (!g->kept) return;
    if (length > UINT32_MAX)
        keep_nothing(m);
    else
        g->kept->comers[g->kept->num_comers++] =
            (kept_comer){w->entry.start, (uint32_t)length, w->cycle - 1};
}

static void keep_meeting(hb_meetings *m, group *g)
{
    kept_meeting *added = g->kept ? HB_APPEND(&g->kept->meetings) : NULL;
    if (added)
        *added = (kept_meeting){g->next.operation, g->next.bytes, g->next.count, g->next.async};
    else if (g->kept)
        keep_nothing(m);
}

static bool take_kept(hb_meetings *m, group *g)
{
    const hb_study_cycle *cycles = m->study->cycles.items;
    if (g->meeting == g->kept->meetings.count) return false;
    const kept_meeting *k = &g->kept->meetings.items[g->meeting++];
    hb_meeting *next = &g->next;
    next->operation = k->operation;
    next->bytes = k->bytes;
    next->count = k->count;
    next->async = k->async;
    next->last = INT64_MIN;
    for (uint32_t i = 0; i < k->count; i++) {
        const kept_comer *c = &g->kept->comers[g->comer++];
        const hb_rank_digest *d = &cycles[c->cycle].digest;
        next->who[i] = (hb_comer){cycles[c->cycle].rank, hb_rank_time(d, c->start),
                                  hb_rank_time(d, c->start + c->length)};
        next->last = HB_MAX(next->last, next->who[i].start);
    }
    return true;
}

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
    while (!hb_rank_next_as_written(&w->walk, &w->entry)) {
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

/* A name is one place in its digest, so that most are known from the last time. */
static bool is_like(const hb_meeting *m, walker *w)
{
    const hb_str *own = &w->entry.operation;
    if (own->s == w->own_name && m->operation.s == w->like_name) return true;
    if (m->operation.len != own->len || memcmp(m->operation.s, own->s, own->len) != 0) return false;
    w->own_name = own->s;
    w->like_name = m->operation.s;
    return true;
}

static void see_other(const group *g, const walker *w, hb_mismatch *seen)
{
    if (!w->numbered || !hb_collectives_differ(g->next.operation, w->entry.operation)) return;
    if (!seen->other_ranks++) {
        seen->other = w->entry.operation;
        seen->other_rank = w->rank;
    }
    seen->sequence = w->entry.sequence;
}

static void note_mismatch(group *g, const hb_mismatch *seen)
{
    uint64_t numbers = g->mismatch.numbers + 1;
    if (numbers == 1) {
        g->mismatch = *seen;
        g->mismatch.group = g->name;
        g->mismatch.description = g->description;
        g->mismatch.operation = g->next.operation;
        g->mismatch.rank = g->next.who[0].rank;
        g->mismatch.ranks = g->next.count;
    }
    g->mismatch.numbers = numbers;
}

static void tell_mismatches(hb_meetings *m)
{
    m->study->mismatches.count = 0;
    for (uint32_t i = 0; i < m->groups.count; i++)
        if (m->groups.items[i].mismatch.numbers)
            *HB_PUSH(&m->study->results, &m->study->mismatches) = m->groups.items[i].mismatch;
}

/* False: who tells of something else under the same number took part in something else. */
static bool take(hb_meetings *m, group *g, walker *w)
{
    hb_meeting *next = &g->next;
    const hb_rank_entry *e = &w->entry;
    const hb_rank_digest *d = &m->study->cycles.items[w->cycle - 1].digest;
    int64_t start = hb_rank_time(d, e->start);
    if (!next->count) {
        next->operation = e->operation;
        next->bytes = e->bytes;
        next->last = start;
    } else if (!is_like(next, w)) {
        return false;
    }
    next->bytes = HB_MAX(next->bytes, e->bytes);
    next->last = HB_MAX(next->last, start);
    next->async |= e->async;
    next->who[next->count++] = (hb_comer){w->rank, start, hb_rank_time(d, e->end)};
    keep_comer(m, g, w);
    return true;
}

static bool walk_on(hb_meetings *m, group *g)
{
    uint64_t key = UINT64_MAX;
    for (uint32_t i = 0; i < g->walkers.count; i++)
        if (!g->walkers.items[i].at_end) key = HB_MIN(key, g->walkers.items[i].key);
    hb_mismatch seen = {0};
    g->next.count = 0;
    g->next.async = false;
    for (uint32_t i = 0; i < g->walkers.count; i++) {
        walker *w = &g->walkers.items[i];
        bool taken = false;
        while (!w->at_end && w->key == key) {
            if (!taken && !take(m, g, w)) see_other(g, w, &seen);
            taken = true; /* of several under one number the first */
            step(m, g, w);
        }
    }
    if (!g->next.count) return false;
    if (seen.other_ranks) note_mismatch(g, &seen);
    keep_meeting(m, g);
    return true;
}

static bool find_next(hb_meetings *m, group *g)
{
    bool known_before = m->joined && m->joined->whole;
    if (!(known_before ? take_kept : walk_on)(m, g)) return false;
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
    hb_string_id id =
        hb_texts_add(names, from->name.len ? from->name.s : "-", HB_MAX(from->name.len, 1u));
    hb_arena *arena = &m->study->results;
    if (!id) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory");
    if (names->count > before)
        *HB_PUSH(arena, &m->groups) = (group){from->name, from->description, from->size};
    group *g = &m->groups.items[id - 1];
    g->size = HB_MAX(g->size, from->size);
    g->entries += from->count;
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
    m->joined = study->joined && study->joined->whole ? study->joined : NULL;
    if (!m->joined) begin_keeping(m);
    m->walks = !m->joined || !m->joined->whole;
    m->heap = HB_NEW_ARRAY(&study->results, uint32_t, m->groups.count + 1);
    for (uint32_t i = 0; i < m->groups.count; i++) {
        group *g = &m->groups.items[i];
        g->next = (hb_meeting){.group = g->name, .description = g->description, .size = g->size};
        g->next.who = HB_NEW_ARRAY(&study->results, hb_comer, g->walkers.count);
        if (!m->walks) g->kept = &m->joined->groups[i];
        for (uint32_t k = 0; k < g->walkers.count && m->walks; k++)
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
    if (!m->pending && m->walks) tell_mismatches(m);
    if (!m->pending && m->joined) m->joined->whole = true;
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
