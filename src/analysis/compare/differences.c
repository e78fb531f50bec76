/* SPDX-License-Identifier: MIT
 *
 * How much a row of two runs differs, and whether that is more than steps differ anyway.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/vector.h"
#include "compare/comparison.h"
#include "insight/statistics.h"

/* One run's values of a row. There may be as many rows as steps: what a row takes must not grow
 * with the steps in which it did not occur. */
typedef struct side {
    const hb_compare_run *run;
    double *sums;    /* by step; 0 where it did not occur */
    bool *occurred;  /* by step */
    uint32_t *steps; /* in which it occurred, ascending */
    double *samples; /* of these */
    uint32_t count;
    bool is_peak;
} side;

struct hb_differ {
    hb_comparison *c;
    hb_arena *arena;
    side sides[2];
};

static side new_side(hb_arena *arena, const hb_compare_run *run)
{
    size_t n = (size_t)run->num_steps + 1;
    return (side){.run = run,
                  .sums = HB_NEW_ARRAY(arena, double, n),
                  .occurred = HB_NEW_ARRAY(arena, bool, n),
                  .steps = HB_NEW_ARRAY(arena, uint32_t, n),
                  .samples = HB_NEW_ARRAY(arena, double, n)};
}

hb_differ *hb_differ_make(hb_comparison *c, hb_arena *arena, const hb_compare_run *run)
{
    hb_differ *d = HB_NEW_ARRAY(arena, hb_differ, 1);
    *d = (hb_differ){.c = c, .arena = arena};
    d->sides[0] = new_side(arena, &c->runs[c->baseline]);
    d->sides[1] = new_side(arena, run);
    return d;
}

/* ---- values ---- */

static void add_samples(side *s, const hb_run_item *item, size_t measure)
{
    size_t width = hb_num_measures((hb_compare_by)item->by);
    const double *values = s->run->values + item->first_value + measure;
    for (uint32_t i = 0; i < item->count; i++) {
        uint32_t step = s->run->sample_steps[item->first + i];
        double value = values[i * width];
        if (value - value != 0) continue; /* a broken file's */
        s->sums[step] += value;
        if (!s->occurred[step]) s->steps[s->count++] = step;
        s->occurred[step] = true;
    }
}

static void clear(side *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        s->sums[s->steps[i]] = 0;
        s->occurred[s->steps[i]] = false;
    }
    s->is_peak = false;
    s->count = 0;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Those of one item are in order, in which they are added up. */
static void sort_steps(side *s)
{
    for (uint32_t i = 1; i < s->count; i++) {
        if (s->steps[i - 1] < s->steps[i]) continue;
        qsort(s->steps, s->count, sizeof *s->steps, by_number);
        return;
    }
}

static void fill(side *s, const hb_u32s *items, size_t measure)
{
    clear(s);
    for (uint32_t i = 0; i < items->count; i++) {
        const hb_run_item *item = &s->run->items.items[items->items[i]];
        add_samples(s, item, measure);
        s->is_peak |= item->is_peak;
    }
    sort_steps(s);
    for (uint32_t i = 0; i < s->count; i++)
        s->samples[i] = s->sums[s->steps[i]];
}

static hb_compared_value value_of(side *s, double calls)
{
    hb_compared_value v = {.calls = calls};
    if (!s->count) return v;
    v.steps = hb_statistics_of(s->samples, s->count);
    v.share = (double)s->count / s->run->num_steps;
    v.per_step = s->is_peak ? v.steps.max : v.steps.median * v.share;
    return v;
}

static double mean(const side *s)
{
    double sum = 0;
    for (uint32_t i = 0; i < s->count; i++)
        sum += s->sums[s->steps[i]];
    return s->run->num_steps ? sum / s->run->num_steps : 0;
}

/* ---- texts ---- */

static hb_string_id text_of(const hb_run_item *item, bool module)
{
    return module ? item->module : item->shape;
}

static uint32_t count_distinct(hb_arena *arena, const side *s, const hb_u32s *items, bool module)
{
    hb_dict seen = {0};
    bool added;
    if (items->count <= 1) return items->count; /* of most rows, which may be many */
    for (uint32_t i = 0; i < items->count; i++)
        hb_dict_add(arena, &seen, text_of(&s->run->items.items[items->items[i]], module), &added);
    return seen.entries.count;
}

static hb_string_id only_text(const side *s, const hb_u32s *items, bool module)
{
    return items->count ? text_of(&s->run->items.items[items->items[0]], module) : 0;
}

/* Its text, "one -> other" where that differs, or how many there are. */
static const char *texts(hb_differ *d, const hb_pair *pair, bool module)
{
    char text[512];
    const hb_u32s *items[2] = {&pair->before, &pair->after};
    uint32_t distinct[2];
    const char *words[2];
    for (int i = 0; i < 2; i++) {
        distinct[i] = count_distinct(d->arena, &d->sides[i], items[i], module);
        words[i] = hb_comparison_string(d->c, only_text(&d->sides[i], items[i], module));
    }
    if (distinct[0] <= 1 && distinct[1] <= 1) {
        if (!distinct[0] || !distinct[1] || strcmp(words[0], words[1]) == 0)
            return distinct[0] ? words[0] : words[1];
        snprintf(text, sizeof text, "%s -> %s", *words[0] ? words[0] : "none",
                 *words[1] ? words[1] : "none");
    } else {
        const char *what = module ? "modules" : "shapes";
        snprintf(text, sizeof text, "%u -> %u %s", distinct[0], distinct[1], what);
    }
    return hb_comparison_string(d->c, hb_comparison_intern(d->c, d->arena, text, strlen(text)));
}

static void name_row(hb_differ *d, const hb_pair *pair, hb_compare_by by, hb_compare_group group,
                     hb_difference *row)
{
    int known = pair->before.count == 0;
    const hb_run_item *item =
        &d->sides[known].run->items.items[(known ? pair->after : pair->before).items[0]];
    row->name = hb_comparison_string(d->c, item->name);
    row->shape = row->module = "";
    if (group >= HB_GROUP_SHAPE || by == HB_COMPARE_MEMORY) row->shape = texts(d, pair, false);
    if (group == HB_GROUP_MODULE) row->module = texts(d, pair, true);
    if (by == HB_COMPARE_STEP) row->unit = (hb_unit)item->unit;
}

/* ---- noise ---- */

static bool is_sparse(const side *s)
{
    return s->count < s->run->num_steps;
}

/* What occurs in some steps only may differ in its times and in how often it occurs: both are
 * tested, and the smaller p doubled, as there were two chances (Bonferroni). */
static hb_rank_result test_sides(hb_rank_test *test, side *s)
{
    hb_rank_sample x = {s[0].samples, s[0].count, 0}, y = {s[1].samples, s[1].count, 0};
    hb_rank_result r = hb_rank_compare(test, x, y);
    if (!is_sparse(&s[0]) && !is_sparse(&s[1])) return r;
    x.zeros = s[0].run->num_steps - s[0].count;
    y.zeros = s[1].run->num_steps - s[1].count;
    hb_rank_result all = hb_rank_compare(test, x, y);
    all.p = fmin(1, 2 * fmin(r.p, all.p));
    return all;
}

static void judge(hb_differ *d, hb_difference *row)
{
    side *s = d->sides;
    row->p = row->low = row->high = NAN;
    if (!s[0].count || !s[1].count) {
        row->verdict = s[0].count ? HB_VERDICT_ONLY_BASELINE : HB_VERDICT_ONLY_RUN;
        return;
    }
    if (s[0].is_peak) {
        row->verdict = HB_VERDICT_COUNTED;
        return;
    }
    hb_rank_result r = test_sides(&d->c->test, s);
    row->p = r.p;
    if (!r.too_few && !is_sparse(&s[0]) && !is_sparse(&s[1])) {
        hb_sample_shift shift =
            hb_sample_shift_of(&d->c->test, s[0].samples, s[0].count, s[1].samples, s[1].count);
        row->low = shift.low;
        row->high = shift.high;
    }
    row->verdict = r.too_few                ? HB_VERDICT_TOO_FEW
                   : r.p < d->c->test.alpha ? HB_VERDICT_BEYOND_NOISE
                                            : HB_VERDICT_NOISE;
}

hb_difference hb_differ_row(hb_differ *d, const hb_pair *pair, hb_compare_by by, size_t m,
                            hb_compare_group group)
{
    const hb_measure *measure = &hb_measures[by][m];
    hb_difference row = {.measure = measure->name, .unit = measure->unit};
    double calls[2] = {0, 0};
    const hb_u32s *items[2] = {&pair->before, &pair->after};
    for (int i = 0; i < 2; i++) {
        fill(&d->sides[i], items[i], 0);
        if (by != HB_COMPARE_STEP) calls[i] = mean(&d->sides[i]);
        if (m) fill(&d->sides[i], items[i], m);
    }
    name_row(d, pair, by, group, &row);
    row.before = value_of(&d->sides[0], calls[0]);
    row.after = value_of(&d->sides[1], calls[1]);
    row.change = row.after.per_step - row.before.per_step;
    judge(d, &row);
    return row;
}

/* ---- lists ---- */

static int by_text(const hb_difference *a, const hb_difference *b)
{
    int order = strcmp(a->name, b->name);
    if (!order) order = strcmp(a->shape, b->shape);
    if (!order) order = strcmp(a->module, b->module);
    return order ? order : strcmp(a->measure, b->measure);
}

int hb_difference_order(const void *x, const void *y)
{
    const hb_difference *a = x, *b = y;
    if (a->unit != b->unit) return a->unit < b->unit ? -1 : 1;
    double effect_a = fabs(a->change), effect_b = fabs(b->change);
    if (effect_a != effect_b) return effect_a > effect_b ? -1 : 1;
    return by_text(a, b);
}

bool hb_difference_is_zero(const hb_difference *d)
{
    return d->before.steps.min == 0 && d->before.steps.max == 0 && d->after.steps.min == 0 &&
           d->after.steps.max == 0;
}

typedef HB_VEC(hb_difference) rows; /* not in the arena, for they stay */

static void add_row(hb_arena *arena, rows *list, const hb_difference *row)
{
    hb_difference *added = HB_APPEND(list);
    if (!added) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory");
    *added = *row;
}

static void make_rows(hb_comparison *c, hb_arena *arena, const hb_compare_run *run,
                      hb_compare_by by, hb_compare_group group, rows *list)
{
    hb_pairs pairs = {0};
    hb_differ *differ = hb_differ_make(c, arena, run);
    hb_pairs_make(arena, &c->runs[c->baseline], run, by, group, &pairs);
    for (uint32_t i = 0; i < pairs.count; i++)
        for (size_t m = 0; m < hb_num_measures(by); m++) {
            hb_difference row = hb_differ_row(differ, &pairs.items[i], by, m, group);
            if (by == HB_COMPARE_STEP || !hb_difference_is_zero(&row)) add_row(arena, list, &row);
        }
    if (by != HB_COMPARE_STEP && list->count)
        qsort(list->items, list->count, sizeof *list->items, hb_difference_order);
}

static hb_result keep_rows(hb_arena *arena, hb_comparison *c, hb_compare_run *run, hb_compare_by by,
                           hb_compare_group group)
{
    rows list = {.items = calloc(1, sizeof *list.items), .capacity = 1};
    if (!list.items) return hb_no_memory();
    if (hb_arena_try(arena)) make_rows(c, arena, run, by, group, &list);
    if (arena->result != HB_OK) {
        free(list.items);
        return hb_arena_outcome(arena);
    }
    run->differences[by][group].list = list.items;
    run->differences[by][group].count = list.count;
    return HB_OK;
}

hb_result hb_comparison_differences(hb_comparison *c, size_t index, hb_compare_by by,
                                    hb_compare_group group, const hb_difference **differences,
                                    size_t *count)
{
    if (!c || !differences || !count || (unsigned)by >= HB_COMPARE_BY_COUNT ||
        (unsigned)group > HB_GROUP_MODULE)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL or no such kind");
    if (index >= c->num_runs) return hb_fail(HB_ERROR_NOT_FOUND, "no run %zu", index);
    hb_compare_run *run = &c->runs[index];
    if (!run->differences[by][group].list) {
        hb_arena arena = {0};
        hb_result result = keep_rows(&arena, c, run, by, group);
        hb_arena_free(&arena);
        HB_TRY(result);
    }
    *differences = run->differences[by][group].list;
    *count = run->differences[by][group].count;
    return HB_OK;
}
