/* SPDX-License-Identifier: MIT
 *
 * Which ranks, nodes and steps there are, and in which order all is found out.
 */
#include "ranks/meetings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/c_locale.h"
#include "base/names.h"
#include "steps/periods.h"

void hb_study_note(hb_rank_study *s, const char *format, ...)
{
    enum { MOST = 200 };
    char text[600];
    va_list args;
    if (s->notes.count >= MOST) return;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n >= (int)sizeof text) text[hb_utf8_cut(text, sizeof text - 1, sizeof text - 2)] = 0;
    for (uint32_t i = 0; i < s->notes.count; i++) /* of a study that is run again */
        if (strcmp(s->notes.items[i], text) == 0) return;
    size_t size = (size_t)HB_MIN(n, (int)sizeof text - 1) + 1;
    char *copy = HB_NEW_ARRAY(&s->arena, char, size);
    memcpy(copy, text, size);
    *HB_PUSH(&s->arena, &s->notes) = copy;
}

/* ---- order ---- */

static int compare_str(hb_str a, hb_str b)
{
    uint32_t n = HB_MIN(a.len, b.len);
    int order = n ? memcmp(a.s, b.s, n) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static bool is_before(const void *context, const void *x, const void *y)
{
    (void)context;
    const hb_rank_digest *a = &((const hb_study_cycle *)x)->digest;
    const hb_rank_digest *b = &((const hb_study_cycle *)y)->digest;
    if (a->rank != b->rank) return a->rank < b->rank;
    if (a->start != b->start) return a->start < b->start;
    int order = compare_str(a->worker, b->worker);
    if (order == 0) order = compare_str(a->file, b->file);
    return order ? order < 0 : compare_str(a->bytes, b->bytes) < 0;
}

/* Where nobody tells its rank, the order of names has to do. */
static void number_unknown(hb_rank_study *s)
{
    uint32_t unknown = 0;
    for (uint32_t i = 0; i < s->cycles.count; i++)
        unknown += s->cycles.items[i].digest.rank < 0;
    if (!unknown) return;
    if (unknown < s->cycles.count) {
        hb_study_note(s, "%u trace%s of no known rank (no distributedInfo): left out", unknown,
                      hb_plural(unknown));
        return;
    }
    hb_study_note(s, "no trace tells its rank (distributedInfo): numbered in the order of names");
    int64_t rank = -1;
    hb_str worker = {"", 0};
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        hb_rank_digest *d = &s->cycles.items[i].digest;
        if (rank < 0 || compare_str(d->worker, worker) != 0) rank++;
        worker = d->worker;
        d->rank = rank;
    }
}

static bool by_worker(const void *context, const void *x, const void *y)
{
    const hb_rank_digest *a = &((const hb_study_cycle *)x)->digest;
    const hb_rank_digest *b = &((const hb_study_cycle *)y)->digest;
    int order = compare_str(a->worker, b->worker);
    return order ? order < 0 : is_before(context, x, y);
}

static bool is_again(const hb_rank_digest *a, const hb_rank_digest *b)
{
    return a->rank == b->rank && compare_str(a->bytes, b->bytes) == 0;
}

/* A rank's process is one; what others of its number left is of earlier runs. */
static bool is_of_last_run(const hb_rank_study *s, uint32_t index)
{
    const hb_rank_digest *d = &s->cycles.items[index].digest, *last = d;
    for (uint32_t i = index; i < s->cycles.count && s->cycles.items[i].digest.rank == d->rank; i++)
        last = &s->cycles.items[i].digest;
    return d->pid < 0 || last->pid < 0 || d->pid == last->pid;
}

hb_study_moment hb_study_time(int64_t ns)
{
    hb_study_moment moment;
    struct tm tm;
    time_t seconds = (time_t)(ns / 1000000000);
    if (!gmtime_r(&seconds, &tm) ||
        !strftime(moment.text, sizeof moment.text, "%Y-%m-%d %H:%M:%S UTC", &tm))
        snprintf(moment.text, sizeof moment.text, "%lld ns", (long long)ns);
    return moment;
}

void hb_study_sort(hb_rank_study *s)
{
    uint32_t kept = 0, again = 0, earlier = 0;
    hb_sort(&s->arena, s->cycles.items, s->cycles.count, sizeof *s->cycles.items, by_worker, NULL);
    number_unknown(s);
    hb_sort(&s->arena, s->cycles.items, s->cycles.count, sizeof *s->cycles.items, is_before, NULL);
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        const hb_rank_digest *d = &s->cycles.items[i].digest;
        if (d->rank < 0) continue;
        if (kept && is_again(&s->cycles.items[kept - 1].digest, d))
            again++;
        else if (!is_of_last_run(s, i))
            earlier++;
        else
            s->cycles.items[kept++] = s->cycles.items[i];
    }
    s->cycles.count = kept;
    if (again) hb_study_note(s, "%u digests were given twice: counted once", again);
    if (earlier)
        hb_study_note(s,
                      "%u traces of other runs in the same directory: left out; this is the one of "
                      "%s",
                      earlier, hb_study_time(kept ? s->cycles.items[0].digest.start : 0).text);
}

/* ---- ranks and nodes ---- */

static uint32_t node_of(hb_rank_study *s, hb_texts *names, hb_str host)
{
    hb_string_id id = hb_texts_add(names, host.len ? host.s : "?", HB_MAX(host.len, 1u));
    if (!id) hb_arena_leave(&s->results, HB_ERROR_NO_MEMORY, "out of memory");
    if (id > s->num_nodes) s->nodes[s->num_nodes++].name = host.len ? host : HB_STR("?");
    return id - 1;
}

static void add_roles(hb_study_rank *rank, const hb_rank_digest *d)
{
    for (int i = 0; i < HB_ROLE_PARTS; i++) {
        rank->role[i] += (double)d->whole[i];
        rank->whole += (double)d->whole[i];
    }
    rank->steps += d->num_steps;
}

static void find_missing(hb_rank_study *s)
{
    enum { MOST = 100000 };
    int64_t next = 0;
    for (uint32_t i = 0; i <= s->num_ranks; i++) {
        int64_t there = i < s->num_ranks ? s->ranks[i].rank : s->world;
        for (; next < there && s->missing.count < MOST; next++)
            *HB_PUSH(&s->results, &s->missing) = next;
        next = there + 1;
    }
}

static void find_ranks(hb_rank_study *s)
{
    hb_texts *names = &s->group_names;
    hb_texts_free(names);
    if (!hb_texts_init(names)) hb_arena_leave(&s->results, HB_ERROR_NO_MEMORY, "out of memory");
    s->ranks = HB_NEW_ARRAY(&s->results, hb_study_rank, s->cycles.count + 1);
    s->nodes = HB_NEW_ARRAY(&s->results, hb_study_node, s->cycles.count + 1);
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        hb_study_cycle *c = &s->cycles.items[i];
        hb_study_rank *rank = s->num_ranks ? &s->ranks[s->num_ranks - 1] : NULL;
        if (!rank || rank->rank != c->digest.rank) {
            rank = &s->ranks[s->num_ranks++];
            rank->rank = c->digest.rank;
            rank->host = c->digest.host;
            rank->worker = c->digest.worker;
            rank->first_cycle = i;
            rank->node = node_of(s, names, c->digest.host);
            s->nodes[rank->node].ranks++;
        }
        c->rank = s->num_ranks - 1;
        c->cycle = rank->num_cycles++;
        s->world = HB_MAX(s->world, c->digest.world);
        add_roles(rank, &c->digest);
    }
    find_missing(s);
}

/* ---- steps ---- */

static bool number_before(const void *context, const void *x, const void *y)
{
    (void)context;
    return *(const int64_t *)x < *(const int64_t *)y;
}

/* The numbers of all steps; of more than there is room for several make a block. */
static void blocks_of_steps(hb_rank_study *s)
{
    HB_VEC(int64_t) numbers = {0};
    hb_dict known = {0};
    bool added;
    for (uint32_t i = 0; i < s->cycles.count; i++)
        for (uint32_t k = 0; k < s->cycles.items[i].digest.num_steps; k++) {
            int64_t number = s->cycles.items[i].digest.steps[k].number;
            hb_dict_add(&s->results, &known, (uint64_t)number, &added);
            if (added) *HB_PUSH(&s->results, &numbers) = number;
        }
    hb_sort(&s->results, numbers.items, numbers.count, sizeof *numbers.items, number_before, NULL);
    uint32_t each = (numbers.count + HB_RANKS_BLOCKS - 1) / HB_RANKS_BLOCKS;
    for (uint32_t i = 0; i < numbers.count; i += each)
        *HB_PUSH(&s->results, &s->blocks) = (hb_study_block){.number = numbers.items[i]};
    s->has_steps = numbers.count > 0;
    s->steps = numbers.count;
}

/* The collectives of rank 0's largest communicator as words, all alike long: how long one takes is
 * how long others let it wait. Nobody goes on before it is over, so that each may begin a step. */
static void read_words(hb_rank_study *s, hb_step_words *words)
{
    const hb_study_rank *rank = &s->ranks[0];
    const hb_rank_group *most = NULL;
    hb_str name = {"", 0};
    hb_names operations = {0};
    hb_dict sizes = {0}, kinds = {0};
    hb_rank_entry e;
    for (uint32_t pass = 0; pass < 2; pass++)
        for (uint32_t c = 0; c < rank->num_cycles; c++) {
            const hb_rank_digest *d = &s->cycles.items[rank->first_cycle + c].digest;
            for (uint32_t k = 0; k < d->num_groups; k++) {
                const hb_rank_group *g = &d->groups[k];
                if (pass == 0 && (!most || g->count > most->count)) name = (most = g)->name;
                if (pass == 0 || compare_str(g->name, name) != 0) continue;
                hb_rank_walk walk = hb_rank_walk_group(d, g);
                while (hb_rank_next(&walk, &e)) {
                    bool added;
                    uint32_t operation = hb_names_add(&s->results, &operations, e.operation);
                    hb_dict_entry *size =
                        hb_dict_add(&s->results, &sizes, (uint64_t)e.bytes, &added);
                    if (added) size->value = sizes.entries.count;
                    uint32_t kind = hb_pair_number(&s->results, &kinds, operation, size->value) + 1;
                    *HB_PUSH(&s->results, &words->items) = (hb_step_word){.start_ns = e.start,
                                                                          .end_ns = e.end,
                                                                          .work_ns = 1,
                                                                          .name = kind,
                                                                          .exact = kind,
                                                                          .host_waits = true};
                }
            }
        }
    words->work_ns = words->items.count;
}

/* Where nobody marked steps: what the collectives do again and again; else equal parts of them. */
static void blocks_of_collectives(hb_rank_study *s)
{
    enum { PARTS = 16 };
    hb_step_words words = {.arena = &s->results};
    hb_period period;
    read_words(s, &words);
    hb_periods_find(&words, (hb_word_range){0, words.items.count}, &period);
    s->steps = period.rounds.count;
    s->made_steps = s->steps > 0;
    uint32_t n = s->made_steps ? s->steps : words.items.count;
    uint32_t each = s->made_steps ? 1 : HB_MAX(1u, (n + PARTS - 1) / PARTS);
    while (n / each >= HB_RANKS_BLOCKS)
        each++;
    for (uint32_t i = 0; i < n; i += each) {
        uint32_t word = s->made_steps ? period.rounds.items[i].first : i;
        *HB_PUSH(&s->results, &s->blocks) =
            (hb_study_block){.number = words.items.items[word].start_ns};
    }
}

static void find_blocks(hb_rank_study *s)
{
    blocks_of_steps(s);
    if (!s->has_steps) blocks_of_collectives(s);
    for (uint32_t i = 0; i < s->num_ranks; i++) {
        hb_rank_part *part = &s->ranks[i].part;
        part->last_in = HB_NEW_ARRAY(&s->results, uint32_t, s->blocks.count + 1);
        part->caused_in = HB_NEW_ARRAY(&s->results, double, s->blocks.count + 1);
    }
}

static int last_not_after(const hb_rank_study *s, int64_t number)
{
    size_t i = HB_LOWER_BOUND(s->blocks.items, s->blocks.count, number, number);
    if (i < s->blocks.count && s->blocks.items[i].number == number) return (int)i;
    return (int)i - 1;
}

int hb_study_block_of(const hb_rank_study *s, const hb_study_rank *rank, int64_t ns)
{
    if (!s->has_steps) return last_not_after(s, ns);
    for (uint32_t c = 0; c < rank->num_cycles; c++) {
        const hb_rank_digest *d = &s->cycles.items[rank->first_cycle + c].digest;
        int64_t own = hb_rank_own_time(d, ns);
        if (own < d->start || own > d->end) continue;
        size_t i = HB_LOWER_BOUND(d->steps, d->num_steps, start, own + 1);
        if (i && own < d->steps[i - 1].end) return last_not_after(s, d->steps[i - 1].number);
    }
    return -1;
}

/* ---- all of it ---- */

static void forget(hb_rank_study *s)
{
    hb_study_leave_clocks(s);
    hb_arena_free(&s->results);
    memset(&s->results, 0, sizeof s->results);
    memset(&s->ranks, 0, offsetof(hb_rank_study, limit_text) - offsetof(hb_rank_study, ranks));
}

static void find_all(hb_rank_study *s)
{
    find_ranks(s);
    find_blocks(s);
    hb_study_check_clocks(s);
    hb_study_meetings(s);
    hb_study_messages(s);
    hb_study_efficiency(s);
    hb_study_places(s);
    hb_study_name_late(s);
    hb_study_tell_mismatches(s);
}

hb_result hb_study_run(hb_rank_study *s)
{
    if (s->done) return HB_OK;
    forget(s);
    hb_meetings_forget(s);
    if (hb_arena_try(&s->arena)) {
        hb_study_sort(s);
        hb_study_drop_twins(s);
        hb_study_tell_odd(s);
    }
    HB_TRY(hb_arena_outcome(&s->arena));
    if (!s->cycles.count) return hb_fail(HB_ERROR_NOT_FOUND, "no trace of a rank was found");
    if (hb_arena_try(&s->results)) find_all(s);
    HB_TRY(hb_arena_outcome(&s->results));
    s->done = true;
    return HB_OK;
}
