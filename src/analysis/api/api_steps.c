/* SPDX-License-Identifier: MIT
 *
 * hipboard/analysis.h: statistics of the steps of many traces.
 */
#include <math.h>
#include <stdlib.h>

#include "api/api_trace_file.h"
#include "base/hash_map.h"
#include "insight/statistics.h"
#include "rules/step_roles.h"

/* A trace file. */
typedef struct cycle {
    hb_string_id run, worker, span;
    int64_t rank;
    double wall_us;
} cycle;

typedef struct step {
    hb_string_id name;
    uint32_t cycle;
    double start_us, us[HB_STEP_QUANTITIES];
} step;

struct hb_step_summary {
    hb_arena arena;
    hb_texts texts;
    HB_VEC(cycle) cycles;
    HB_VEC(step) steps;
};

const char *hb_step_quantity_name(hb_step_quantity quantity)
{
    if ((unsigned)quantity >= HB_STEP_QUANTITIES) return "";
    _Static_assert((int)HB_STEP_QUANTITIES == (int)HB_ROLE_COUNT,
                   "the step, and its roles in order");
    return hb_role_title(quantity == HB_STEP_TIME ? HB_ROLE_TOTAL : (hb_role)(quantity - 1));
}

hb_result hb_step_summary_create(hb_step_summary **summary)
{
    if (!summary) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no place for the result");
    hb_step_summary *s = *summary = calloc(1, sizeof *s);
    if (s && hb_texts_init(&s->texts)) return HB_OK;
    hb_step_summary_destroy(s);
    *summary = NULL;
    return hb_no_memory();
}

void hb_step_summary_destroy(hb_step_summary *s)
{
    if (!s) return;
    hb_texts_free(&s->texts);
    hb_arena_free(&s->arena);
    free(s);
}

static hb_result outcome(const hb_step_summary *s)
{
    return hb_arena_outcome(&s->arena);
}

/* ---- adding ---- */

static hb_string_id intern(hb_step_summary *s, const char *text)
{
    hb_string_id id = hb_texts_add(&s->texts, text ? text : "", text ? strlen(text) : 0);
    if (!id) hb_arena_leave(&s->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return id;
}

static const char *text(const hb_step_summary *s, hb_string_id id)
{
    return hb_texts_get(&s->texts, id).s;
}

static void add_step(hb_step_summary *s, uint32_t in, const hb_step_stat *from)
{
    step made = {.name = intern(s, from->name),
                 .cycle = in,
                 .start_us = from->start_us,
                 .us = {from->duration_us, from->kernel_us, from->memcpy_us, from->memset_us,
                        from->communication_us, from->runtime_us, from->loader_us, from->cpu_us,
                        from->other_us}};
    *HB_PUSH(&s->arena, &s->steps) = made;
}

/* The plugin gives a trace without events on the host a step from the end of time to its begin. */
static bool is_real(const hb_step_stat *s)
{
    return s->duration_us >= 0 && isfinite(s->duration_us) && isfinite(s->start_us);
}

static void add_cycle(hb_step_summary *s, const cycle *from, const hb_step_stat *steps,
                      size_t count)
{
    double first = INFINITY, last = -INFINITY;
    cycle made = *from;
    for (size_t i = 0; i < count; i++) {
        if (!is_real(&steps[i])) continue;
        add_step(s, s->cycles.count, &steps[i]);
        first = fmin(first, steps[i].start_us);
        last = fmax(last, steps[i].start_us + steps[i].duration_us);
    }
    made.wall_us = last > first ? last - first : 0;
    *HB_PUSH(&s->arena, &s->cycles) = made;
}

hb_result hb_step_summary_add(hb_step_summary *s, hb_trace_file *file, const char *run,
                              const char *worker, const char *span)
{
    if (!s || !file) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    const hb_step_stat *steps;
    size_t count;
    HB_TRY(hb_trace_file_steps(file, &steps, &count));
    return hb_step_summary_add_first(s, file, run, worker, span);
}

hb_result hb_step_summary_add_first(hb_step_summary *s, hb_trace_file *file, const char *run,
                                    const char *worker, const char *span)
{
    const hb_step_stat *steps;
    size_t count;
    HB_TRY(hb_trace_file_first_steps(file, &steps, &count));
    uint32_t before = s->steps.count;
    if (hb_arena_try(&s->arena)) {
        cycle made = {intern(s, run), intern(s, worker), intern(s, span), -1, 0};
        hb_trace_file_rank(file, &made.rank);
        add_cycle(s, &made, steps, count);
    } else {
        s->steps.count = before; /* all of a trace or nothing */
    }
    return outcome(s);
}

/* ---- groups ---- */

/* What cycles of one group have in common, as a number. Ranks and workers' names share 32 bits:
 * names are numbered from 1, ranks have the top bit. */
static uint64_t key_of(const cycle *c, uint32_t index, hb_step_grouping by)
{
    switch (by) {
    case HB_STEPS_TOGETHER: return 0;
    case HB_STEPS_BY_RUN: return c->run;
    case HB_STEPS_BY_RANK:
        return (uint64_t)c->run << 32 |
               (c->rank >= 0 && c->rank <= INT32_MAX ? (uint32_t)c->rank | 1u << 31 : c->worker);
    case HB_STEPS_BY_CYCLE: break;
    }
    return index;
}

typedef struct sorting {
    hb_step_summary *s;
    uint32_t *group_of; /* by cycle */
    uint32_t *ends;     /* by group: behind its steps in `steps` */
    uint32_t *steps;    /* step indices, group after group */
    hb_step_group *groups;
    uint32_t count;
} sorting;

/* Names sort as texts: rank 10 before rank 2. Those that do not tell come behind. */
static bool rank_before(const void *context, const void *x, const void *y)
{
    const cycle *cycles = context;
    const cycle *a = &cycles[*(const uint32_t *)x], *b = &cycles[*(const uint32_t *)y];
    if (a->run != b->run) return a->run < b->run;
    return (uint64_t)a->rank < (uint64_t)b->rank;
}

static const uint32_t *in_order(hb_step_summary *s)
{
    uint32_t *order = HB_NEW_ARRAY(&s->arena, uint32_t, s->cycles.count + 1);
    for (uint32_t i = 0; i < s->cycles.count; i++)
        order[i] = i;
    hb_sort(&s->arena, order, s->cycles.count, sizeof *order, rank_before, s->cycles.items);
    return order;
}

static void find_groups(sorting *t, hb_step_grouping by)
{
    hb_step_summary *s = t->s;
    hb_dict known = {0};
    t->group_of = HB_NEW_ARRAY(&s->arena, uint32_t, s->cycles.count + 1);
    t->groups = HB_NEW_ARRAY(&s->arena, hb_step_group, s->cycles.count + 1);
    const uint32_t *order = in_order(s);
    for (uint32_t n = 0; n < s->cycles.count; n++) {
        bool added;
        uint32_t i = order[n];
        const cycle *c = &s->cycles.items[i];
        hb_dict_entry *e = hb_dict_add(&s->arena, &known, key_of(c, i, by), &added);
        if (added) {
            e->value = t->count++;
            t->groups[e->value] = (hb_step_group){
                .run = by == HB_STEPS_TOGETHER ? "" : text(s, c->run),
                .worker =
                    by == HB_STEPS_BY_RANK || by == HB_STEPS_BY_CYCLE ? text(s, c->worker) : "",
                .span = by == HB_STEPS_BY_CYCLE ? text(s, c->span) : "",
                .rank = by == HB_STEPS_BY_RANK || by == HB_STEPS_BY_CYCLE ? c->rank : -1,
            };
        }
        t->group_of[i] = e->value;
        t->groups[e->value].cycles++;
        t->groups[e->value].wall_us += c->wall_us;
    }
}

/* A counting sort of the steps by group. */
static void sort_steps(sorting *t)
{
    hb_step_summary *s = t->s;
    t->ends = HB_NEW_ARRAY(&s->arena, uint32_t, t->count + 1);
    t->steps = HB_NEW_ARRAY(&s->arena, uint32_t, s->steps.count + 1);
    for (uint32_t i = 0; i < s->steps.count; i++)
        t->ends[t->group_of[s->steps.items[i].cycle] + 1]++;
    for (uint32_t g = 0; g < t->count; g++) /* now where each begins; then where it has come to */
        t->ends[g + 1] += t->ends[g];
    for (uint32_t i = 0; i < s->steps.count; i++)
        t->steps[t->ends[t->group_of[s->steps.items[i].cycle]]++] = i;
}

static void sum_group(sorting *t, uint32_t g, double *values)
{
    uint32_t begin = g ? t->ends[g - 1] : 0, count = t->ends[g] - begin;
    for (int q = 0; q < HB_STEP_QUANTITIES; q++) {
        for (uint32_t i = 0; i < count; i++)
            values[i] = t->s->steps.items[t->steps[begin + i]].us[q];
        t->groups[g].of[q] = hb_statistics_of(values, count);
    }
}

hb_result hb_step_summary_groups(hb_step_summary *s, hb_step_grouping by,
                                 const hb_step_group **groups, size_t *count)
{
    if (!s || !groups || !count) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    if (hb_arena_try(&s->arena)) {
        sorting t = {.s = s};
        find_groups(&t, by);
        sort_steps(&t);
        double *values = HB_NEW_ARRAY(&s->arena, double, s->steps.count + 1);
        for (uint32_t g = 0; g < t.count; g++)
            sum_group(&t, g, values);
        *groups = t.groups;
        *count = t.count;
    }
    return outcome(s);
}

/* ---- single steps ---- */

static bool longer(const void *context, const void *x, const void *y)
{
    const step *steps = context;
    return steps[*(const uint32_t *)x].us[HB_STEP_TIME] >
           steps[*(const uint32_t *)y].us[HB_STEP_TIME];
}

static hb_single_step single_of(const hb_step_summary *s, const step *from)
{
    const cycle *c = &s->cycles.items[from->cycle];
    hb_single_step made = {.run = text(s, c->run),
                           .worker = text(s, c->worker),
                           .span = text(s, c->span),
                           .rank = c->rank,
                           .name = text(s, from->name),
                           .start_us = from->start_us};
    memcpy(made.us, from->us, sizeof made.us);
    return made;
}

hb_result hb_step_summary_slowest(hb_step_summary *s, const hb_single_step **steps, size_t *count)
{
    if (!s || !steps || !count) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    if (hb_arena_try(&s->arena)) {
        uint32_t *order = HB_NEW_ARRAY(&s->arena, uint32_t, s->steps.count + 1);
        hb_single_step *list = HB_NEW_ARRAY(&s->arena, hb_single_step, s->steps.count + 1);
        for (uint32_t i = 0; i < s->steps.count; i++)
            order[i] = i;
        hb_sort(&s->arena, order, s->steps.count, sizeof *order, longer, s->steps.items);
        for (uint32_t i = 0; i < s->steps.count; i++)
            list[i] = single_of(s, &s->steps.items[order[i]]);
        *steps = list;
        *count = s->steps.count;
    }
    return outcome(s);
}
