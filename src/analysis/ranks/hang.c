/* SPDX-License-Identifier: MIT
 *
 * Where a job stood that hung, or was killed: which collective ranks are in, who did not come to
 * it, and what these do instead.
 */
#include "ranks/study.h"
#include "rules/collective_names.h"

static bool same(hb_str a, hb_str b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.s, b.s, a.len) == 0);
}

static const hb_rank_digest *last_of(const hb_rank_study *s, const hb_study_rank *r)
{
    return &s->cycles.items[r->first_cycle + r->num_cycles - 1].digest;
}

/* The number of the last collective of a communicator that a rank has come to; -1: of none. */
static int64_t reached(const hb_rank_study *s, const hb_study_rank *r, hb_str group)
{
    int64_t most = -1;
    hb_rank_entry e;
    for (uint32_t c = 0; c < r->num_cycles; c++) {
        const hb_rank_digest *d = &s->cycles.items[r->first_cycle + c].digest;
        for (uint32_t k = 0; k < d->num_groups; k++) {
            if (!same(d->groups[k].name, group)) continue;
            hb_rank_walk walk = hb_rank_walk_group(d, &d->groups[k]);
            while (hb_rank_next(&walk, &e))
                most = HB_MAX(most, e.sequence);
        }
    }
    const hb_rank_digest *d = last_of(s, r);
    for (uint32_t i = 0; i < d->num_inside; i++)
        if (d->inside[i].sequence && same(d->inside[i].group, group))
            most = HB_MAX(most, d->inside[i].sequence);
    return most;
}

typedef struct stands {
    HB_VEC(hb_stand) items;
} stands;

/* A collective that a rank is in: of each communicator the one with the greatest number, as the
 * lowest rank calls it. */
static void note_inside(hb_rank_study *s, stands *all, uint32_t rank, const hb_rank_inside *in)
{
    hb_stand *x = NULL;
    for (uint32_t i = 0; i < all->items.count && !x; i++)
        if (same(all->items.items[i].group, in->group)) x = &all->items.items[i];
    if (!x) {
        x = HB_PUSH(&s->results, &all->items);
        *x = (hb_stand){.group = in->group, .description = in->description, .sequence = -1};
    }
    if (in->sequence > x->sequence) {
        x->sequence = in->sequence;
        x->operation = in->name;
        x->since = in->start;
        x->inside = x->otherwise.count = x->other.count = 0;
    }
    if (in->sequence < x->sequence) return;
    if (hb_collectives_differ(x->operation, in->name)) {
        *HB_PUSH(&s->results, &x->otherwise) = rank;
        *HB_PUSH(&s->results, &x->other) = in->name;
        return;
    }
    x->inside++;
    x->since = HB_MIN(x->since, in->start);
}

static void find_behind(hb_rank_study *s, hb_stand *x)
{
    for (uint32_t i = 0; i < s->num_ranks; i++) {
        int64_t at = reached(s, &s->ranks[i], x->group);
        if (at < 0) continue;
        x->known++;
        if (at >= x->sequence) continue;
        *HB_PUSH(&s->results, &x->behind) = i;
        *HB_PUSH(&s->results, &x->reached) = at;
    }
}

hb_stand *hb_study_stands(hb_rank_study *s, uint32_t *count)
{
    stands all = {0};
    for (uint32_t i = 0; i < s->num_ranks; i++) {
        const hb_rank_digest *d = last_of(s, &s->ranks[i]);
        for (uint32_t k = 0; k < d->num_inside; k++)
            if (d->inside[k].sequence) note_inside(s, &all, i, &d->inside[k]);
    }
    for (uint32_t i = 0; i < all.items.count; i++)
        find_behind(s, &all.items.items[i]);
    *count = all.items.count;
    return all.items.items;
}

/* ---- for people ---- */

static void put_other(const hb_rank_study *s, const hb_stand *x, hb_buf *out)
{
    enum { MOST = 8 };
    for (uint32_t k = 0; k < x->otherwise.count && k < MOST; k++) {
        const hb_study_rank *r = &s->ranks[x->otherwise.items[k]];
        hb_str name = x->other.items[k];
        hb_buf_printf(out, "    but rank %lld on %.*s is in %.*s under that number\n",
                      (long long)r->rank, hb_study_cut(r->host, 60), r->host.s,
                      hb_study_cut(name, 60), name.s);
    }
    if (x->otherwise.count > MOST)
        hb_buf_printf(out, "    and %u more ranks\n", x->otherwise.count - MOST);
}

static void put_late(hb_rank_study *s, const hb_stand *x, hb_buf *out)
{
    enum { MOST = 8 };
    for (uint32_t k = 0; k < x->behind.count && k < MOST; k++) {
        const hb_study_rank *r = &s->ranks[x->behind.items[k]];
        const hb_rank_digest *d = last_of(s, r);
        hb_buf_printf(out, "    rank %lld on %.*s has come to number %lld", (long long)r->rank,
                      hb_study_cut(r->host, 60), r->host.s, (long long)x->reached.items[k]);
        if (!d->num_inside) {
            hb_buf_str(out, ", and is in no call that is recorded\n");
            continue;
        }
        const hb_rank_inside *in = &d->inside[d->num_inside - 1];
        hb_buf_printf(out, ", and has been in %.*s for %.3f s\n", hb_study_cut(in->name, 60),
                      in->name.s, (double)HB_MAX(0, d->end - in->start) / 1e9);
    }
    if (x->behind.count > MOST)
        hb_buf_printf(out, "    and %u more ranks\n", x->behind.count - MOST);
}

void hb_study_write_hang(hb_rank_study *s, hb_buf *out)
{
    enum { MOST = 6 };
    uint32_t count;
    const hb_stand *all = hb_study_stands(s, &count);
    hb_buf_printf(out, "Where %u rank%s stood in the end", s->num_ranks, hb_plural(s->num_ranks));
    if (s->missing.count)
        hb_buf_printf(out, " (%u of %lld left no trace)", s->missing.count, (long long)s->world);
    hb_buf_str(out, "\n");
    if (!count) hb_buf_str(out, "no rank was in a collective\n");
    for (uint32_t i = 0; i < count && i < MOST; i++) {
        const hb_stand *x = &all[i];
        hb_str name = hb_communicator_name(x->group, x->description);
        hb_buf_printf(out, "%.*s number %lld of %.*s: %u of %u ranks are in it",
                      (int)x->operation.len, x->operation.s, (long long)x->sequence,
                      hb_study_cut(name, 60), name.s, x->inside, x->known);
        hb_buf_str(out, x->behind.count ? ", and wait for these:\n" : "\n");
        put_late(s, x, out);
        put_other(s, x, out);
    }
    if (count > MOST) hb_buf_printf(out, "and %u more communicators\n", count - MOST);
}
