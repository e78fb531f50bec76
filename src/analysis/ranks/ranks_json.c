/* SPDX-License-Identifier: MIT
 *
 * A study for scripts: all of it, every rank too.
 */
#include <math.h>

#include "doc/json_writer.h"
#include "ranks/study.h"

static void put_us(hb_emitter *out, const char *key, double ns)
{
    hb_emit_member(out, key, ns / 1e3);
}

static void put_str(hb_emitter *out, const char *key, hb_str text)
{
    hb_emit_key(out, key);
    hb_emit_str(out, text);
}

static void put_head(hb_emitter *out, const hb_rank_study *s)
{
    hb_emit_member(out, "ranks_found", s->num_ranks);
    hb_emit_member(out, "world_size", (double)s->world);
    hb_emit_member(out, "nodes_found", s->num_nodes);
    hb_emit_member(out, "traces", s->cycles.count);
    hb_emit_member(out, "steps_found", s->steps);
    hb_emit_pair(out, "steps_by",
                 s->has_steps    ? "marks"
                 : s->made_steps ? "collectives"
                                 : "nothing");
    hb_emit_member(out, "collectives_found", (double)s->meetings);
    hb_emit_member(out, "communicators", (double)s->communicators);
    hb_emit_member(out, "messages", (double)s->messages);
    hb_emit_member(out, "unmatched_messages", (double)s->unmatched);
    hb_emit_member(out, "partial_collectives", (double)s->partial);
    hb_emit_open_key(out, "missing", '[');
    for (uint32_t i = 0; i < s->missing.count; i++)
        hb_emit_int(out, (double)s->missing.items[i]);
    hb_emit_close(out, ']');
    hb_emit_open_key(out, "notes", '[');
    for (uint32_t i = 0; i < s->notes.count; i++)
        hb_emit_text(out, s->notes.items[i]);
    hb_emit_close(out, ']');
}

static void put_mismatches(hb_emitter *out, const hb_rank_study *s)
{
    hb_emit_open_key(out, "mismatches", '[');
    for (uint32_t i = 0; i < s->mismatches.count; i++) {
        const hb_mismatch *x = &s->mismatches.items[i];
        hb_emit_open(out, '{');
        put_str(out, "communicator", hb_communicator_name(x->group, x->description));
        hb_emit_member(out, "number", (double)x->sequence);
        put_str(out, "collective", x->operation);
        hb_emit_member(out, "rank", (double)s->ranks[x->rank].rank);
        hb_emit_member(out, "ranks", x->ranks);
        put_str(out, "other_collective", x->other);
        hb_emit_member(out, "other_rank", (double)s->ranks[x->other_rank].rank);
        hb_emit_member(out, "other_ranks", x->other_ranks);
        hb_emit_member(out, "numbers", (double)x->numbers);
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, ']');
}

static void put_clocks(hb_emitter *out, const hb_rank_study *s)
{
    hb_emit_open_key(out, "clocks", '{');
    hb_emit_bool(out, "told", s->clocks_told);
    hb_emit_bool(out, "corrected", s->clocks_corrected);
    put_us(out, "bound_us", s->clocks_told || s->clock_bound ? (double)s->clock_bound : NAN);
    hb_emit_member(out, "contradicted_by", (double)s->violations);
    put_us(out, "worst_us", (double)s->worst_violation);
    hb_emit_bool(out, "by_durations", s->by_durations);
    hb_emit_close(out, '}');
}

static void put_efficiency(hb_emitter *out, const hb_rank_study *s)
{
    const hb_efficiency *e = &s->efficiency;
    hb_emit_open_key(out, "efficiency", '{');
    hb_emit_member(out, "parallel", e->parallel);
    hb_emit_member(out, "load_balance", e->balance);
    hb_emit_member(out, hb_role_metric(HB_ROLE_COMMUNICATION), e->communication);
    hb_emit_member(out, "serialization", e->serialization);
    hb_emit_member(out, "transfer", e->transfer);
    hb_emit_close(out, '}');
    hb_emit_open_key(out, "steps", '[');
    for (uint32_t i = 0; s->has_steps && i < s->blocks.count; i++) {
        const hb_study_block *b = &s->blocks.items[i];
        double mean = b->ranks ? b->useful / b->ranks : NAN;
        hb_emit_open(out, '{');
        hb_emit_member(out, "step", (double)b->number);
        put_us(out, "time_us", b->longest);
        hb_emit_member(out, "parallel", b->longest > 0 ? mean / b->longest : NAN);
        hb_emit_member(out, "load_balance", b->most_useful > 0 ? mean / b->most_useful : NAN);
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, ']');
    hb_emit_key(out, "change");
    if (!s->change.found) {
        hb_emit_null(out);
        return;
    }
    hb_emit_open(out, '{');
    hb_emit_member(out, "step", (double)s->change.number);
    put_us(out, "before_us", s->change.before);
    put_us(out, "after_us", s->change.after);
    hb_emit_close(out, '}');
}

static void put_late(hb_emitter *out, const hb_rank_study *s)
{
    hb_emit_key(out, "inconclusive");
    if (*s->inconclusive)
        hb_emit_text(out, s->inconclusive);
    else
        hb_emit_null(out);
    hb_emit_member(out, "late_found", s->num_late);
    hb_emit_open_key(out, "late", '[');
    for (uint32_t i = 0; i < s->late.count; i++) {
        const hb_late_rank *l = &s->late.items[i];
        hb_emit_open(out, '{');
        hb_emit_member(out, "rank", (double)l->rank);
        hb_emit_pair(out, "node", l->host);
        hb_emit_member(out, "times_last", (double)l->times_last);
        hb_emit_member(out, "collectives", (double)l->collectives);
        hb_emit_member(out, "caused_us", l->caused_us);
        hb_emit_member(out, "share", l->share);
        hb_emit_member(out, "gain_us", l->gain_us);
        hb_emit_pair(out, "because", hb_late_because_word(l->because));
        if (l->operator_name) hb_emit_pair(out, "operator_name", l->operator_name);
        if (l->operator_name) hb_emit_member(out, "operator_us", l->operator_us);
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, ']');
}

static void put_waits(hb_emitter *out, const hb_rank_study *s)
{
    hb_emit_open_key(out, "waits", '[');
    for (uint32_t i = 0; i < s->waits.count; i++) {
        const hb_wait_state *w = &s->waits.items[i];
        hb_emit_open(out, '{');
        hb_emit_pair(out, "kind", hb_wait_kind_words(w->kind));
        put_str(out, "call", w->operation);
        put_str(out, "communicator", w->group);
        hb_emit_member(out, "bytes_up_to", w->bytes < 0 ? NAN : (double)w->bytes);
        hb_emit_member(out, "waits", (double)w->waits);
        put_us(out, "time_us", w->time);
        put_us(out, "longest_us", w->longest);
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, ']');
    hb_emit_open_key(out, "late_senders", '[');
    for (uint32_t i = 0; i < s->pairs.count && i < 100; i++) {
        const hb_pair_wait *p = &s->pairs.items[i];
        hb_emit_open(out, '{');
        hb_emit_member(out, "from", (double)p->from);
        hb_emit_member(out, "to", (double)p->to);
        hb_emit_member(out, "waits", (double)p->waits);
        put_us(out, "time_us", p->time);
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, ']');
}

static void put_classes(hb_emitter *out, const hb_rank_study *s)
{
    hb_emit_open_key(out, "collectives", '[');
    for (uint32_t i = 0; i < s->classes.count; i++) {
        const hb_collective_class *c = &s->classes.items[i];
        hb_emit_open(out, '{');
        put_str(out, "collective", c->operation);
        put_str(out, "communicator", c->group);
        hb_emit_member(out, "ranks", c->size);
        hb_emit_member(out, "bytes_up_to", c->bytes < 0 ? NAN : (double)c->bytes);
        hb_emit_member(out, "calls", (double)c->calls);
        hb_emit_member(out, "median_us", c->median_transfer);
        hb_emit_member(out, "skew_us", c->median_skew);
        hb_emit_member(out, "bus_GB_per_s", c->bandwidth > 0 ? c->bandwidth : NAN);
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, ']');
}

static void put_places(hb_emitter *out, const hb_rank_study *s)
{
    hb_emit_open_key(out, "places", '[');
    for (uint32_t i = 0; i < s->num_places; i++) {
        const hb_study_node *p = &s->places[i];
        hb_emit_open(out, '{');
        put_str(out, "name", p->name);
        hb_emit_member(out, "ranks", p->ranks);
        put_us(out, "late_us", p->late);
        put_us(out, "waited_us", p->waited);
        put_us(out, "useful_us", p->useful);
        hb_emit_member(out, "deviations", p->outlier);
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, ']');
    hb_emit_open_key(out, "nodes", '[');
    for (uint32_t i = 0; i < s->num_nodes; i++) {
        const hb_study_node *n = &s->nodes[i];
        hb_emit_open(out, '{');
        put_str(out, "name", n->name);
        hb_emit_member(out, "ranks", n->ranks);
        put_us(out, "clock_at_least_us", n->offset_known ? (double)n->offset_low : NAN);
        put_us(out, "clock_at_most_us", n->offset_known ? (double)n->offset_high : NAN);
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, ']');
}

static void put_ranks(hb_emitter *out, const hb_rank_study *s)
{
    hb_emit_open_key(out, "ranks", '[');
    for (uint32_t i = 0; i < s->num_ranks; i++) {
        const hb_study_rank *r = &s->ranks[i];
        hb_emit_open(out, '{');
        hb_emit_member(out, "rank", (double)r->rank);
        put_str(out, "node", r->host);
        hb_emit_member(out, "collectives", (double)r->part.entered);
        hb_emit_member(out, "times_last", (double)r->part.last);
        put_us(out, "late_us", r->part.entered ? r->part.late / (double)r->part.entered : 0);
        put_us(out, "caused_us", r->part.caused);
        put_us(out, "waited_us", r->part.waited);
        put_us(out, "waited_for_messages_us", r->part.messages);
        put_us(out, "useful_us", r->whole - r->role[HB_ROLE_COMMUNICATION]);
        put_us(out, "time_us", r->whole);
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, ']');
}

static void put_stands(hb_emitter *out, hb_rank_study *s)
{
    uint32_t count;
    const hb_stand *stands = hb_study_stands(s, &count);
    hb_emit_open_key(out, "hang", '[');
    for (uint32_t i = 0; i < count; i++) {
        const hb_stand *x = &stands[i];
        hb_emit_open(out, '{');
        put_str(out, "communicator", hb_communicator_name(x->group, x->description));
        put_str(out, "call", x->operation);
        hb_emit_member(out, "number", (double)x->sequence);
        hb_emit_member(out, "inside", x->inside);
        hb_emit_open_key(out, "behind", '[');
        for (uint32_t k = 0; k < x->behind.count; k++) {
            const hb_study_rank *r = &s->ranks[x->behind.items[k]];
            const hb_rank_digest *d = &s->cycles.items[r->first_cycle + r->num_cycles - 1].digest;
            hb_emit_open(out, '{');
            hb_emit_member(out, "rank", (double)r->rank);
            hb_emit_member(out, "reached", (double)x->reached.items[k]);
            if (d->num_inside) put_str(out, "in", d->inside[d->num_inside - 1].name);
            hb_emit_close(out, '}');
        }
        hb_emit_close(out, ']');
        hb_emit_open_key(out, "otherwise", '[');
        for (uint32_t k = 0; k < x->otherwise.count; k++) {
            hb_emit_open(out, '{');
            hb_emit_member(out, "rank", (double)s->ranks[x->otherwise.items[k]].rank);
            put_str(out, "in", x->other.items[k]);
            hb_emit_close(out, '}');
        }
        hb_emit_close(out, ']');
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, ']');
}

void hb_study_write_json(hb_rank_study *s, hb_buf *buf)
{
    hb_emitter out = {.buf = buf};
    hb_emit_open(&out, '{');
    put_head(&out, s);
    put_mismatches(&out, s);
    put_clocks(&out, s);
    put_late(&out, s);
    put_efficiency(&out, s);
    put_waits(&out, s);
    put_classes(&out, s);
    put_places(&out, s);
    put_stands(&out, s);
    put_ranks(&out, s);
    hb_emit_close(&out, '}');
    hb_buf_str(buf, "\n");
}
