/* SPDX-License-Identifier: MIT
 *
 * How much each rank sent to which other one, and gave into which collectives.
 */
#include "ranks/study.h"

typedef HB_VEC(hb_rank_traffic) traffic;

typedef struct counting {
    hb_rank_study *s;
    hb_dict pairs; /* of ranks -> index of `messages` */
    traffic messages, collectives;
} counting;

static const char *text_of(hb_rank_study *s, hb_str text)
{
    char *copy = HB_NEW_ARRAY(&s->results, char, text.len + 1);
    if (text.len) memcpy(copy, text.s, text.len);
    return copy;
}

static void add(hb_rank_traffic *to, int64_t bytes, int64_t ns)
{
    to->calls++;
    if (bytes > 0) to->bytes += (double)bytes;
    to->time_us += (double)ns / 1e3;
}

/* ---- messages ---- */

static bool is_there(const hb_rank_study *s, int64_t rank)
{
    for (uint32_t i = 0; i < s->num_ranks; i++)
        if (s->ranks[i].rank == rank) return true;
    return false;
}

static hb_rank_traffic *pair_of(counting *c, int64_t from, int64_t to)
{
    bool added;
    uint64_t key = (uint64_t)from << 32 | (uint32_t)to;
    hb_dict_entry *e = hb_dict_add(&c->s->results, &c->pairs, key, &added);
    if (added) {
        e->value = c->messages.count;
        *HB_PUSH(&c->s->results, &c->messages) =
            (hb_rank_traffic){.from = from, .to = to, .operation = "message", .group = ""};
    }
    return &c->messages.items[e->value];
}

/* As the sender tells; the receiver only of one that nobody has a digest of. */
static void add_channel(counting *c, const hb_rank_digest *d, const hb_rank_channel *channel)
{
    hb_rank_message message;
    if (!channel->sends && is_there(c->s, channel->peer)) return;
    int64_t from = channel->sends ? d->rank : channel->peer;
    hb_rank_traffic *to = pair_of(c, from, channel->sends ? channel->peer : d->rank);
    hb_rank_walk walk = hb_rank_walk_channel(d, channel);
    while (hb_rank_next_message(&walk, &message))
        add(to, message.bytes, message.end - message.start);
}

/* ---- collectives ---- */

/* Those that the rank has so far begin at `first`: few operations in few groups. */
static hb_rank_traffic *collective_of(counting *c, uint32_t first, int64_t rank, hb_str operation,
                                      hb_str group)
{
    for (uint32_t i = first; i < c->collectives.count; i++) {
        hb_rank_traffic *t = &c->collectives.items[i];
        if (hb_str_is(operation, t->operation) && hb_str_is(group, t->group)) return t;
    }
    hb_rank_traffic *made = HB_PUSH(&c->s->results, &c->collectives);
    *made = (hb_rank_traffic){.from = rank, .to = -1};
    const char *words = text_of(c->s, operation), *name = text_of(c->s, group);
    made->operation = words;
    made->group = name;
    return made;
}

static void add_group(counting *c, uint32_t first, const hb_rank_digest *d,
                      const hb_rank_group *group)
{
    hb_rank_entry entry;
    hb_str name = hb_communicator_name(group->name, group->description);
    hb_rank_walk walk = hb_rank_walk_group(d, group);
    while (hb_rank_next(&walk, &entry))
        add(collective_of(c, first, d->rank, entry.operation, name), entry.bytes,
            entry.end - entry.start);
}

static void add_rank(counting *c, const hb_study_rank *rank)
{
    uint32_t first = c->collectives.count;
    for (uint32_t i = 0; i < rank->num_cycles; i++) {
        const hb_rank_digest *d = &c->s->cycles.items[rank->first_cycle + i].digest;
        for (uint32_t k = 0; k < d->num_channels; k++)
            add_channel(c, d, &d->channels[k]);
        for (uint32_t k = 0; k < d->num_groups; k++)
            add_group(c, first, d, &d->groups[k]);
    }
}

static bool by_ranks(const void *context, const void *x, const void *y)
{
    const hb_rank_traffic *a = x, *b = y;
    (void)context;
    return a->from != b->from ? a->from < b->from : a->to < b->to;
}

void hb_study_traffic(hb_rank_study *s, const hb_rank_traffic **items, size_t *count)
{
    counting c = {.s = s};
    for (uint32_t i = 0; i < s->num_ranks; i++)
        add_rank(&c, &s->ranks[i]);
    hb_sort(&s->results, c.messages.items, c.messages.count, sizeof *c.messages.items, by_ranks,
            NULL);
    for (uint32_t i = 0; i < c.collectives.count; i++)
        *HB_PUSH(&s->results, &c.messages) = c.collectives.items[i];
    *items = c.messages.items;
    *count = c.messages.count;
}
