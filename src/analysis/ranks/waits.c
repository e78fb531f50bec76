/* SPDX-License-Identifier: MIT
 *
 * Who waits for whom at collectives, and how well ranks' clocks agree with what cannot be
 * otherwise: nobody leaves a collective of all before all have come.
 */
#include <math.h>

#include "base/names.h"
#include "ranks/medians.h"
#include "ranks/meetings.h"

/* ---- clocks ---- */

typedef struct extent {
    int64_t last_start, first_end;
    uint32_t came; /* the number of the collective */
} extent;

/* Of each node's clock how far it can be ahead of the others', taken together. */
static void narrow(hb_rank_study *s, const extent *e, uint32_t meeting)
{
    int64_t start[2] = {INT64_MIN, INT64_MIN}, end[2] = {INT64_MAX, INT64_MAX};
    uint32_t latest = UINT32_MAX, first = UINT32_MAX;
    for (uint32_t n = 0; n < s->num_nodes; n++) { /* the two most, to leave each one out */
        if (e[n].came != meeting) continue;
        if (e[n].last_start > start[0]) {
            start[1] = start[0];
            start[0] = e[n].last_start;
            latest = n;
        } else {
            start[1] = HB_MAX(start[1], e[n].last_start);
        }
        if (e[n].first_end < end[0]) {
            end[1] = end[0];
            end[0] = e[n].first_end;
            first = n;
        } else {
            end[1] = HB_MIN(end[1], e[n].first_end);
        }
    }
    for (uint32_t n = 0; n < s->num_nodes; n++) {
        if (e[n].came != meeting) continue;
        int64_t others_start = start[n == latest], others_end = end[n == first];
        if (others_start == INT64_MIN || others_end == INT64_MAX) continue;
        hb_study_node *node = &s->nodes[n];
        int64_t low = e[n].last_start - others_end, high = e[n].first_end - others_start;
        if (!node->offset_known || low > node->offset_low) node->offset_low = low;
        if (!node->offset_known || high < node->offset_high) node->offset_high = high;
        node->offset_known = true;
    }
}

/* Whether somebody left before all had come. */
static bool is_violated(const hb_meeting *m, int64_t *slack)
{
    int64_t first_end = INT64_MAX;
    for (uint32_t i = 0; i < m->count; i++)
        first_end = HB_MIN(first_end, m->who[i].end);
    *slack = first_end - m->last;
    return *slack < 0;
}

static void check_meeting(hb_rank_study *s, const hb_meeting *m, extent *e, uint32_t number)
{
    int64_t slack;
    for (uint32_t i = 0; i < m->count; i++) {
        extent *x = &e[s->ranks[m->who[i].rank].node];
        if (x->came != number) *x = (extent){INT64_MIN, INT64_MAX, number};
        x->last_start = HB_MAX(x->last_start, m->who[i].start);
        x->first_end = HB_MIN(x->first_end, m->who[i].end);
    }
    s->violations += is_violated(m, &slack);
    s->worst_violation = HB_MAX(s->worst_violation, -slack);
    narrow(s, e, number);
}

/* Bounds that the files tell are worth something only if all tell some. */
static void take_bounds(hb_rank_study *s)
{
    s->clocks_told = s->cycles.count > 0;
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        const hb_rank_digest *d = &s->cycles.items[i].digest;
        if (d->clock_method == HB_RANK_CLOCK_UNKNOWN) s->clocks_told = false;
        s->clock_bound = HB_MAX(s->clock_bound, d->clock_bound);
    }
    if (s->num_nodes <= 1) s->clocks_told = true;
}

static uint32_t check_as_written(hb_rank_study *s)
{
    uint32_t number = 0;
    extent *extents = HB_NEW_ARRAY(&s->results, extent, s->num_nodes + 1);
    hb_meetings *meetings = hb_meetings_open(s);
    for (const hb_meeting *m; (m = hb_meetings_next_for_all(meetings));)
        check_meeting(s, m, extents, ++number);
    return number;
}

/* Nodes are compared with the reference's; among each other they may still disagree. */
static uint64_t violations_left(hb_rank_study *s)
{
    uint64_t count = 0;
    int64_t slack;
    hb_meetings *meetings = hb_meetings_open(s);
    for (const hb_meeting *m; (m = hb_meetings_next_for_all(meetings));)
        count += is_violated(m, &slack);
    return count;
}

/* A few of many may be what a writer rounds; else times of nodes are corrected, or not compared. */
void hb_study_check_clocks(hb_rank_study *s)
{
    take_bounds(s);
    if (s->num_nodes < 2) return;
    uint32_t few = check_as_written(s) / 100;
    s->by_durations = s->violations > few;
    if (s->clocks_told) return;
    if (!s->by_durations)
        s->clock_bound = hb_study_written_bound(s);
    else if (hb_study_correct_clocks(s))
        s->by_durations = violations_left(s) > few;
}

/* ---- tables of kinds ---- */

/* Up to the next power of two. */
static int64_t size_class(int64_t bytes)
{
    if (bytes <= 0) return bytes < 0 ? -1 : 0;
    int64_t c = 1;
    while (c < bytes && c < INT64_MAX / 4)
        c *= 2;
    return c;
}

static hb_str shown_group(const hb_meeting *m)
{
    return hb_communicator_name(m->group, m->description);
}

/* A number for both. */
static uint32_t words_of(hb_rank_study *s, hb_str operation, hb_str group)
{
    uint32_t a = hb_names_add(&s->results, &s->kinds.words, operation);
    uint32_t b = hb_names_add(&s->results, &s->kinds.words, group);
    return hb_pair_number(&s->results, &s->kinds.pairs, a, b);
}

/* Of what size_class() returns; below 64. */
static uint32_t class_number(int64_t bytes)
{
    return bytes <= 0 ? (uint32_t)(bytes + 1) : 2 + (uint32_t)__builtin_ctzll((uint64_t)bytes);
}

static hb_wait_state *wait_state(hb_rank_study *s, hb_wait_kind kind, hb_str operation,
                                 hb_str group, int64_t bytes)
{
    bool added;
    uint32_t rest = (uint32_t)kind << 6 | class_number(bytes);
    uint64_t key = (uint64_t)words_of(s, operation, group) << 32 | rest;
    hb_dict_entry *e = hb_dict_add(&s->results, &s->kinds.waits, key, &added);
    if (!added) return &s->waits.items[e->value];
    e->value = s->waits.count;
    hb_wait_state *w = HB_PUSH(&s->results, &s->waits);
    *w = (hb_wait_state){.kind = kind,
                         .operation = operation,
                         .group = group,
                         .bytes = bytes,
                         .first = -1,
                         .second = -1};
    return w;
}

static hb_collective_class *class_of(hb_rank_study *s, const hb_meeting *m)
{
    bool added;
    int64_t bytes = size_class(m->bytes);
    hb_str group = shown_group(m);
    uint32_t words = words_of(s, m->operation, group);
    uint32_t ranks = hb_pair_number(&s->results, &s->kinds.ranks, words, m->count);
    uint64_t key = (uint64_t)ranks << 32 | class_number(bytes);
    hb_dict_entry *e = hb_dict_add(&s->results, &s->kinds.classes, key, &added);
    if (!added) return &s->classes.items[e->value];
    e->value = s->classes.count;
    hb_collective_class *c = HB_PUSH(&s->results, &s->classes);
    *c = (hb_collective_class){
        .operation = m->operation, .group = group, .size = m->count, .bytes = bytes};
    return c;
}

/* ---- one collective ---- */

typedef struct order {
    uint32_t last;                  /* the index of who came last */
    int64_t first, second_last, at; /* at: when the last came */
    double median;
    int64_t shortest; /* stay */
} order;

static order order_of(const hb_meeting *m, double *scratch)
{
    order o = {
        .first = INT64_MAX, .second_last = INT64_MIN, .at = INT64_MIN, .shortest = INT64_MAX};
    for (uint32_t i = 0; i < m->count; i++) {
        int64_t start = m->who[i].start;
        o.first = HB_MIN(o.first, start);
        if (start > o.at) {
            o.second_last = o.at;
            o.at = start;
            o.last = i;
        } else {
            o.second_last = HB_MAX(o.second_last, start);
        }
        o.shortest = HB_MIN(o.shortest, m->who[i].end - start);
    }
    /* Differences to the first: doubles have no room for times since 1970. */
    for (uint32_t i = 0; i < m->count; i++)
        scratch[i] = (double)(m->who[i].start - o.first);
    o.median = hb_median(scratch, m->count);
    return o;
}

static double wait_of(const hb_comer *c, int64_t at)
{
    int64_t until = HB_MIN(at, c->end);
    return until > c->start ? (double)(until - c->start) : 0;
}

static void add_wait(hb_wait_state *w, double time)
{
    if (time <= 0) return;
    w->waits++;
    w->time += time;
    w->longest = time > w->longest ? time : w->longest;
}

static void study_all(hb_rank_study *s, const hb_meeting *m, const order *o, int block)
{
    hb_wait_kind kind =
        m->waits == HB_COLLECTIVE_WAITS_BARRIER ? HB_WAIT_AT_BARRIER : HB_WAIT_AT_ALL;
    hb_wait_state *state = wait_state(s, kind, m->operation, shown_group(m), size_class(m->bytes));
    double caused = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        hb_rank_part *part = &s->ranks[m->who[i].rank].part;
        double wait = i == o->last ? 0 : wait_of(&m->who[i], o->at);
        part->entered++;
        part->expected += 1.0 / m->count;
        part->waited += wait;
        part->late += (double)(m->who[i].start - o->first) - o->median;
        part->transfer += (double)o->shortest;
        add_wait(state, wait);
        caused += wait;
    }
    hb_rank_part *last = &s->ranks[m->who[o->last].rank].part;
    last->last++;
    last->caused += caused;
    if (block >= 0) last->last_in[block]++;
    if (block >= 0) last->caused_in[block] += caused;
    if (block >= 0) s->blocks.items[block].meetings++;
    s->all_waits += caused;
    s->synchronizing++;
}

/* The root is who leaves last: it cannot leave before the last one has come, all others may. */
static void study_to_root(hb_rank_study *s, const hb_meeting *m, const order *o)
{
    uint32_t root = 0;
    for (uint32_t i = 1; i < m->count; i++)
        if (m->who[i].end > m->who[root].end) root = i;
    if (root == o->last || m->who[root].end < o->at) return;
    double wait = wait_of(&m->who[root], o->at);
    s->ranks[m->who[root].rank].part.waited += wait;
    add_wait(wait_state(s, HB_WAIT_EARLY_ROOT, m->operation, shown_group(m), size_class(m->bytes)),
             wait);
}

static void study_class(hb_rank_study *s, const hb_meeting *m, const order *o)
{
    hb_collective_class *c = class_of(s, m);
    c->calls++;
    c->sum_bytes += m->bytes > 0 ? (double)m->bytes : 0;
    if (m->async || m->count < 2) return;
    *HB_PUSH(&s->results, &c->transfer) = (float)((double)o->shortest / 1e3);
    *HB_PUSH(&s->results, &c->skew) = (float)((double)(o->at - o->first) / 1e3);
}

static void study_meeting(hb_rank_study *s, hb_meeting *m, double *scratch)
{
    int block = hb_study_block_of(s, &s->ranks[m->who[0].rank], m->who[0].start);
    s->meetings++;
    if (m->size > m->count) s->partial++;
    if (s->by_durations && hb_waits_for_all(m->waits)) hb_meeting_align(m);
    order o = order_of(m, scratch);
    study_class(s, m, &o);
    if (m->async || m->count < 2) return;
    if (hb_waits_for_all(m->waits)) study_all(s, m, &o, block);
    if (m->waits == HB_COLLECTIVE_WAITS_ROOT && !s->by_durations) study_to_root(s, m, &o);
}

/* ---- their sums ---- */

/* Of the bytes that each rank's links carry. */
static double bus_factor(hb_str operation, uint32_t n)
{
    const hb_collective_name *known = hb_collective_of(operation);
    switch (n < 2 || !known ? HB_COLLECTIVE_BUS_NONE : known->bus) {
    case HB_COLLECTIVE_BUS_WHOLE: return 1;
    case HB_COLLECTIVE_BUS_OTHERS: return (n - 1.0) / n;
    case HB_COLLECTIVE_BUS_TWICE: return 2 * (n - 1.0) / n;
    default: return 0;
    }
}

static double median_of_floats(hb_arena *arena, const float *values, uint32_t count)
{
    double *copy = HB_NEW_ARRAY(arena, double, count + 1);
    for (uint32_t i = 0; i < count; i++)
        copy[i] = (double)values[i];
    return hb_median(copy, count);
}

static void sum_class(hb_rank_study *s, hb_collective_class *c)
{
    if (!c->transfer.count) return;
    c->median_transfer = median_of_floats(&s->results, c->transfer.items, c->transfer.count);
    c->median_skew = median_of_floats(&s->results, c->skew.items, c->skew.count);
    double mean_bytes = c->sum_bytes / (double)c->calls;
    if (c->median_transfer > 0)
        c->bandwidth = mean_bytes * bus_factor(c->operation, c->size) / c->median_transfer / 1e3;
}

static bool dearer(const void *context, const void *x, const void *y)
{
    (void)context;
    return ((const hb_wait_state *)x)->time > ((const hb_wait_state *)y)->time;
}

static bool longer_in_all(const void *context, const void *x, const void *y)
{
    (void)context;
    const hb_collective_class *a = x, *b = y;
    return a->median_transfer * (double)a->calls > b->median_transfer * (double)b->calls;
}

/* Of all kinds, weighted by how many they are. */
static double skew_of_all(hb_rank_study *s)
{
    double sum = 0, weight = 0;
    for (uint32_t i = 0; i < s->classes.count; i++) {
        hb_collective_class *c = &s->classes.items[i];
        sum_class(s, c);
        sum += c->median_skew * 1e3 * c->skew.count;
        weight += c->skew.count;
    }
    return weight > 0 ? sum / weight : 0;
}

enum { CORRECTED_LESS = 4 };

/* How late a rank is, is less than what the clocks may be wrong by: then only how long each stayed
 * in a collective tells. What collectives correct may be wrong by all of its bound, since a late
 * rank moves it; what was measured rarely is. */
static bool is_within_bound(hb_rank_study *s)
{
    double bound = (double)s->clock_bound * (s->clocks_corrected ? CORRECTED_LESS : 1);
    if (!s->clock_bound || s->num_nodes < 2) return false;
    bool any = false;
    hb_meetings *meetings = hb_meetings_open(s);
    for (const hb_meeting *m; (m = hb_meetings_next(meetings));) {
        order o = {.first = INT64_MAX, .at = INT64_MIN};
        for (uint32_t i = 0; i < m->count; i++) {
            o.first = HB_MIN(o.first, m->who[i].start);
            o.at = HB_MAX(o.at, m->who[i].start);
        }
        study_class(s, m, &o);
        any |= !m->async && m->count > 1 && hb_waits_for_all(m->waits);
    }
    bool within = any && skew_of_all(s) < bound;
    s->classes.count = 0;
    s->kinds.classes = (hb_dict){0};
    return within;
}

void hb_study_meetings(hb_rank_study *s)
{
    if (!s->by_durations) s->by_durations = is_within_bound(s);
    hb_meetings *meetings = hb_meetings_open(s);
    double *scratch = HB_NEW_ARRAY(&s->results, double, s->num_ranks + 1);
    const hb_meeting *m;
    while ((m = hb_meetings_next(meetings)))
        study_meeting(s, (hb_meeting *)(uintptr_t)m, scratch);
    s->communicators = hb_meetings_groups(meetings);
    s->median_skew = skew_of_all(s);
    hb_sort(&s->results, s->classes.items, s->classes.count, sizeof *s->classes.items,
            longer_in_all, NULL);
}

/* ---- messages ---- */

static uint64_t channel_key(uint32_t group, int64_t from, int64_t to, int64_t tag, uint32_t cycle)
{
    uint64_t h = (uint64_t)group << 32 | cycle;
    const uint64_t parts[] = {(uint64_t)from, (uint64_t)to, (uint64_t)tag};
    for (int i = 0; i < 3; i++)
        h = (h ^ parts[i] ^ h >> 29) * UINT64_C(0x9E3779B97F4A7C15);
    return h;
}

typedef struct channel_end {
    const hb_study_cycle *cycle;
    const hb_rank_channel *channel;
    bool met; /* the other end is there */
} channel_end;

typedef struct matching {
    hb_rank_study *s;
    hb_names groups;
    hb_dict senders; /* by channel_key() */
    HB_VEC(channel_end) ends;
    hb_dict pairs; /* by sender and receiver */
} matching;

static void add_pair(matching *m, int64_t from, int64_t to, double time)
{
    bool added;
    hb_rank_study *s = m->s;
    uint64_t key = (uint64_t)from << 32 | (uint32_t)to;
    hb_dict_entry *e = hb_dict_add(&s->results, &m->pairs, key, &added);
    if (added) {
        e->value = s->pairs.count;
        *HB_PUSH(&s->results, &s->pairs) = (hb_pair_wait){.from = from, .to = to};
    }
    s->pairs.items[e->value].waits++;
    s->pairs.items[e->value].time += time;
}

static void match_message(matching *m, const channel_end *to, const channel_end *from,
                          const hb_rank_message *sent, const hb_rank_message *got)
{
    hb_rank_study *s = m->s;
    hb_str name = hb_communicator_name(to->channel->group, to->channel->description);
    hb_rank_part *sender = &s->ranks[from->cycle->rank].part;
    hb_rank_part *receiver = &s->ranks[to->cycle->rank].part;
    double late = (double)(HB_MIN(sent->start, got->wait_end) - got->wait_start);
    s->messages++;
    if (late > 0) {
        add_wait(wait_state(s, HB_WAIT_LATE_SENDER, HB_STR("recv"), name, size_class(got->bytes)),
                 late);
        receiver->messages += late;
        sender->caused_messages += late;
        add_pair(m, from->cycle->digest.rank, to->cycle->digest.rank, late);
        return;
    }
    late = (double)(HB_MIN(got->start, sent->wait_end) - sent->wait_start);
    if (late <= 0 || sent->wait_end < got->start) return; /* it was buffered */
    add_wait(wait_state(s, HB_WAIT_LATE_RECEIVER, HB_STR("send"), name, size_class(sent->bytes)),
             late);
    sender->messages += late;
    receiver->caused_messages += late;
}

static uint32_t node_of(const matching *m, const channel_end *end)
{
    return m->s->ranks[end->cycle->rank].node;
}

static void match_channel(matching *m, const channel_end *to)
{
    const hb_rank_digest *d = &to->cycle->digest;
    const hb_rank_channel *c = to->channel;
    hb_rank_message sent, got;
    uint32_t group = hb_names_add(&m->s->results, &m->groups, c->group);
    hb_dict_entry *e =
        hb_dict_get(&m->senders, channel_key(group, c->peer, d->rank, c->tag, to->cycle->cycle));
    channel_end *from = e ? &m->ends.items[e->value] : NULL;
    if (from) from->met = true;
    if (from && m->s->by_durations && node_of(m, from) != node_of(m, to)) return;
    /* Of unequal numbers nobody knows which ones belong together. */
    if (!from || from->channel->count != c->count) {
        m->s->unmatched += c->count;
        return;
    }
    hb_rank_walk out = hb_rank_walk_channel(&from->cycle->digest, from->channel);
    hb_rank_walk in = hb_rank_walk_channel(d, c);
    while (hb_rank_next_message(&out, &sent) && hb_rank_next_message(&in, &got))
        match_message(m, to, from, &sent, &got);
}

static void each_channel(matching *m, bool sends)
{
    hb_rank_study *s = m->s;
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        const hb_study_cycle *cycle = &s->cycles.items[i];
        for (uint32_t k = 0; k < cycle->digest.num_channels; k++) {
            const hb_rank_channel *c = &cycle->digest.channels[k];
            if (c->sends != sends) continue;
            if (!sends) {
                match_channel(m, &(channel_end){cycle, c, true});
                continue;
            }
            uint32_t group = hb_names_add(&s->results, &m->groups, c->group);
            hb_dict_set(&s->results, &m->senders,
                        channel_key(group, cycle->digest.rank, c->peer, c->tag, cycle->cycle),
                        m->ends.count);
            *HB_PUSH(&s->results, &m->ends) = (channel_end){cycle, c, false};
        }
    }
}

static bool dearer_pair(const void *context, const void *x, const void *y)
{
    (void)context;
    return ((const hb_pair_wait *)x)->time > ((const hb_pair_wait *)y)->time;
}

void hb_study_messages(hb_rank_study *s)
{
    matching m = {.s = s};
    for (uint32_t i = 0; i < s->cycles.count; i++)
        s->unmatched += s->cycles.items[i].digest.unmatched;
    each_channel(&m, true);
    each_channel(&m, false);
    for (uint32_t i = 0; i < m.ends.count; i++)
        if (!m.ends.items[i].met) s->unmatched += m.ends.items[i].channel->count;
    hb_sort(&s->results, s->pairs.items, s->pairs.count, sizeof *s->pairs.items, dearer_pair, NULL);
    hb_sort(&s->results, s->waits.items, s->waits.count, sizeof *s->waits.items, dearer, NULL);
}
