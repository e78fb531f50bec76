/* SPDX-License-Identifier: MIT */
#include "steps/inferred_steps.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash_map.h"
#include "base/times.h"
#include "rules/name_class.h"
#include "steps/periods.h"

/* Less may be a part of the program that is not its main loop: layers of one inference. */
#define COVERAGE_LEAST 0.8

/* A finer loop is one of steps when those of the loop around it come from two places: steps, and an
 * output each so many of them; or when they are few, as epochs are, and its own take as long. */
enum { ROUND_NS = 1000000, FEW_ROUNDS = 10, STEPS_AND_OUTPUT = 2 };

enum { ROUNDS_LEAST = 3, WORDS_MOST = 4000000 };

typedef struct guess {
    hb_arena *arena;
    const hb_step_words *words;
    hb_word_range thread;
    hb_found_steps *found;
    hb_source *source;
} guess;

static double share(const guess *g, const hb_word_range *rounds, uint32_t count, double *of_work)
{
    double words = 0, work = 0;
    for (uint32_t i = 0; i < count; i++) {
        words += rounds[i].end - rounds[i].first;
        work += (double)hb_step_words_work(g->words, rounds[i]);
    }
    *of_work = g->words->work_ns ? work / (double)g->words->work_ns : 1;
    return words / g->words->items.count;
}

static const hb_step_word *word(const guess *g, uint32_t i)
{
    return &g->words->items.items[i];
}

static bool less(const void *context, const void *a, const void *b)
{
    (void)context;
    return *(const int64_t *)a < *(const int64_t *)b;
}

static int64_t median_length(const guess *g, const hb_found_step *steps, size_t count)
{
    int64_t *lengths = HB_NEW_ARRAY(g->arena, int64_t, count + 1);
    for (size_t i = 0; i < count; i++)
        lengths[i] = steps[i].end_ns - steps[i].start_ns;
    hb_sort(g->arena, lengths, count, sizeof *lengths, less, NULL);
    return count ? lengths[count / 2] : 0;
}

/* How far a round may reach, whose words begin and end as its step does. */
typedef struct limits {
    int64_t start, end;       /* of the words */
    int64_t earliest, latest; /* where the words before have ended, and those behind begin */
    bool joins;               /* the next round begins where it ends */
} limits;

/* An operator around a step's first call belongs to the step, unless others before have called in
 * it as well; so do a loader before it and what is around its last call. Else the one would cut the
 * other. */
static void widen(const guess *g, const limits *all)
{
    hb_trace_event e;
    hb_found_steps *f = g->found;
    hb_result result = g->source->begin(g->source, HB_PASS_HOST);
    if (result != HB_OK) hb_arena_leave(g->arena, result, "%s", hb_last_error());
    while (g->source->next(g->source, &e)) {
        bool scope = e.kind == HB_EVENT_OP || e.kind == HB_EVENT_USER_ANNOTATION;
        if (!scope || e.tid != f->tid) continue;
        size_t i = HB_LOWER_BOUND(all, f->count, start, e.start_ns);
        bool around = i < f->count && e.start_ns >= all[i].earliest;
        if (around && (e.end_ns > all[i].start || hb_scope_class_of(e.name) & HB_NAME_LOADER))
            f->items[i].start_ns = HB_MIN(f->items[i].start_ns, e.start_ns);
        if (i < f->count && all[i].start == e.start_ns) i++;
        if (!i || e.start_ns >= all[i - 1].end || e.end_ns > all[i - 1].latest) continue;
        f->items[i - 1].end_ns = HB_MAX(f->items[i - 1].end_ns, e.end_ns);
    }
    for (size_t i = 0; i + 1 < f->count; i++) {
        hb_found_step *s = &f->items[i];
        int64_t next = f->items[i + 1].start_ns;
        s->end_ns = all[i].joins ? next : HB_MIN(s->end_ns, HB_MAX(next, s->start_ns + 1));
    }
}

/* A round ends where the next one begins. One behind which something else comes waits for its work
 * as long as the others do, but not beyond that. */
static void take_rounds(const guess *g, const hb_word_range *rounds, uint32_t count)
{
    hb_found_steps *f = g->found;
    f->items = calloc(count, sizeof *f->items);
    if (!f->items) hb_arena_leave(g->arena, HB_ERROR_NO_MEMORY, "out of memory");
    uint32_t whole = 0;
    limits *all = HB_NEW_ARRAY(g->arena, limits, count + 1);
    hb_found_step *lengths = HB_NEW_ARRAY(g->arena, hb_found_step, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        bool next = i + 1 < count && rounds[i + 1].first == rounds[i].end;
        f->items[i].start_ns = word(g, rounds[i].first)->start_ns;
        f->items[i].number = i;
        f->items[i].end_ns = next ? word(g, rounds[i].end)->start_ns : 0;
        if (next) lengths[whole++] = f->items[i];
    }
    int64_t usual = median_length(g, lengths, whole);
    for (uint32_t i = 0; i < count; i++) {
        hb_found_step *s = &f->items[i];
        if (s->end_ns) continue;
        int64_t most = rounds[i].end < g->thread.end ? word(g, rounds[i].end)->start_ns
                                                     : HB_MAX(g->words->stop_ns, s->start_ns + 1);
        int64_t last = word(g, rounds[i].end - 1)->end_ns;
        s->end_ns = HB_MIN(HB_MAX(last, s->start_ns + usual), HB_MAX(most, last));
        s->end_ns = HB_MAX(s->end_ns, s->start_ns + 1);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = rounds[i].first, end = rounds[i].end;
        all[i] = (limits){
            .start = f->items[i].start_ns,
            .end = f->items[i].end_ns,
            .earliest = first > g->thread.first ? word(g, first - 1)->end_ns : INT64_MIN,
            .latest = end < g->thread.end ? word(g, end)->start_ns : INT64_MAX,
            .joins = i + 1 < count && rounds[i + 1].first == end,
        };
    }
    f->count = count;
    f->tid = word(g, rounds[0].first)->tid;
    widen(g, all);
}

/* ---- call stacks ---- */

static int64_t round_ns(const guess *g, const hb_loop *loop)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < loop->rounds.count; i++) {
        const hb_word_range *r = &loop->rounds.items[i];
        hb_add_ns(&sum, word(g, r->end - 1)->end_ns - word(g, r->first)->start_ns);
    }
    return sum / loop->rounds.count;
}

static double coverage(const guess *g, const hb_loop *loop)
{
    double work, words = share(g, loop->rounds.items, loop->rounds.count, &work);
    return HB_MIN(words, work);
}

static double share_of_waits(const guess *g, const hb_loop *l)
{
    uint32_t waits = 0;
    for (uint32_t i = 0; i < l->rounds.count; i++)
        waits += word(g, l->rounds.items[i].first)->host_waits;
    return waits / (double)l->rounds.count;
}

/* Micro-batches wait for nothing; the step around them does. */
static bool is_better(const guess *g, const hb_loop *finer, const hb_loop *than)
{
    if (coverage(g, finer) < COVERAGE_LEAST) return false;
    if (than->places <= STEPS_AND_OUTPUT)
        return share_of_waits(g, than) < 0.8 || share_of_waits(g, finer) > 0.5;
    return than->rounds.count < FEW_ROUNDS && round_ns(g, finer) >= ROUND_NS;
}

/* The loop that has nearly all, or a finer one of it. Parents come first. */
static const hb_loop *choose(const guess *g, const hb_loops *loops)
{
    const hb_loop *best = NULL;
    double most = COVERAGE_LEAST;
    for (uint32_t i = 0; i < loops->count; i++) {
        double c = loops->items[i].parent ? 0 : coverage(g, &loops->items[i]);
        if (c < most) continue;
        most = c;
        best = &loops->items[i];
    }
    for (uint32_t i = 0; best && i < loops->count; i++) {
        const hb_loop *l = &loops->items[i];
        bool within = l->is_finer && l->parent && &loops->items[l->parent - 1] == best;
        if (within && is_better(g, l, best)) best = l;
    }
    return best;
}

/* ---- what is told of loops ---- */

/* The frame at a depth, as text. Where functions are inlined, there are more texts than frames, and
 * the outer ones are counted. */
static hb_str frame_text(hb_str stack, uint32_t depth)
{
    const char *end = stack.s + stack.len, *begin = end;
    for (uint32_t i = 0; begin > stack.s; i++) {
        end = begin[-1] == ';' ? begin - 1 : begin;
        for (begin = end; begin > stack.s && begin[-1] != ';';)
            begin--;
        if (i == depth) break;
    }
    return (hb_str){begin, (uint32_t)(end - begin)};
}

static void put_loop(const guess *g, const hb_loops *loops, uint32_t i, bool chosen, hb_buf *to)
{
    const hb_loop *l = &loops->items[i];
    const hb_step_word *first = word(g, l->rounds.items[0].first);
    hb_str kernel = hb_texts_get(g->words->texts, first->name);
    hb_str place = frame_text(hb_texts_get(g->words->texts, first->stack), l->depth);
    uint32_t level = 0, launches = 0;
    for (const hb_loop *p = l; p->parent; p = &loops->items[p->parent - 1])
        level++;
    for (uint32_t k = 0; k < l->rounds.count; k++)
        launches += l->rounds.items[k].end - l->rounds.items[k].first;
    hb_buf_printf(to, "{\"loop\": %u, \"level\": %u, \"rounds\": %u, \"launches\": %u, ", i + 1,
                  level, l->rounds.count, launches);
    hb_buf_printf(to, "\"coverage\": %.4f, \"round_us\": %.3f, \"steps\": %s, \"from\": ",
                  coverage(g, l), (double)round_ns(g, l) / 1000, chosen ? "true" : "false");
    hb_buf_json_string(to, place.s ? place.s : "", place.len);
    hb_buf_str(to, ", \"launch\": ");
    hb_buf_json_string(to, kernel.s, kernel.len);
    hb_buf_str(to, "}");
}

/* Children stand behind their parents. */
static void put_tree(const guess *g, const hb_loops *loops, uint32_t parent, const hb_loop *chosen,
                     hb_buf *to)
{
    for (uint32_t i = 0; i < loops->count; i++) {
        if (loops->items[i].parent != parent) continue;
        if (to->size > 1) hb_buf_str(to, ", ");
        put_loop(g, loops, i, &loops->items[i] == chosen, to);
        put_tree(g, loops, i + 1, chosen, to);
    }
}

static void tell_loops(const guess *g, const hb_loops *loops, const hb_loop *chosen)
{
    hb_buf text;
    if (!loops->count) return;
    hb_buf_init(&text, (size_t)1 << 20);
    hb_buf_str(&text, "[");
    put_tree(g, loops, 0, chosen, &text);
    hb_buf_str(&text, "]");
    free(g->found->loops);
    g->found->loops = text.failed ? NULL : strdup(hb_buf_text(&text));
    hb_buf_free(&text);
}

static bool has_stacks(const guess *g)
{
    for (uint32_t i = g->thread.first; i < g->thread.end; i++)
        if (!word(g, i)->num_frames) return false;
    return g->thread.end > g->thread.first;
}

static const hb_loop *loop_asked_for(const guess *g, const hb_loops *loops, uint32_t number)
{
    if (number <= loops->count) return &loops->items[number - 1];
    hb_arena_leave(g->arena, HB_ERROR_NOT_FOUND,
                   loops->count ? "there is no loop %u: there are %u"
                                : "there is no loop %u: %u are to be seen; launches need call "
                                  "stacks (hipboard record --with-stack)",
                   number, loops->count);
}

static bool by_stacks(const guess *g, uint32_t number)
{
    hb_loops loops = {0};
    if (has_stacks(g)) hb_loops_find(g->words, g->thread, &loops);
    const hb_loop *loop = number ? loop_asked_for(g, &loops, number) : choose(g, &loops);
    tell_loops(g, &loops, loop);
    if (!loop) return false;
    take_rounds(g, loop->rounds.items, loop->rounds.count);
    g->found->method = HB_STEPS_STACKS;
    g->found->agreement = 1;
    g->found->coverage = coverage(g, loop);
    snprintf(g->found->rule, HB_STEP_RULE_SIZE,
             "%u rounds of a loop, by the call stacks of %.0f %% of all launches%s",
             loop->rounds.count, g->found->coverage * 100, number ? ", as asked for" : "");
    return true;
}

/* ---- sequence ---- */

static bool by_sequence(const guess *g)
{
    hb_period p;
    double work;
    hb_periods_find(g->words, g->thread, &p);
    if (p.rounds.count < ROUNDS_LEAST) return false;
    take_rounds(g, p.rounds.items, p.rounds.count);
    g->found->method = HB_STEPS_SEQUENCE;
    g->found->agreement = p.agreement;
    g->found->coverage = share(g, p.rounds.items, p.rounds.count, &work);
    hb_str name = hb_texts_get(g->words->texts, p.name);
    snprintf(g->found->rule, HB_STEP_RULE_SIZE,
             "what is %s comes again and again, from '%.70s' on (agreement %.2f, %.0f %% of all)",
             g->words->are_launches ? "launched" : "called", name.s, p.agreement,
             g->found->coverage * 100);
    return true;
}

bool hb_infer_steps(hb_arena *arena, hb_texts *texts, hb_source *source, uint32_t loop,
                    hb_found_steps *found)
{
    hb_step_words words = {
        .arena = arena, .texts = texts, .stop_ns = source->info->stop_ns, .most = WORDS_MOST};
    hb_step_words_collect(&words, source);
    guess g = {arena, &words, hb_step_words_busiest(&words), found, source};
    if (words.too_many && loop)
        hb_arena_leave(arena, HB_ERROR_LIMIT, "more than %d launches: too many to look for loops",
                       WORDS_MOST);
    if (words.too_many) return false;
    if (loop || has_stacks(&g)) return by_stacks(&g, loop);
    return g.thread.end > g.thread.first && by_sequence(&g);
}
