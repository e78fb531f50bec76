/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "compare/compare_text.h"

static bool is_listed(const hb_compare_report *r, const char *name)
{
    for (size_t i = 0; i < r->num_measures; i++)
        if (strcmp(r->measures[i], name) == 0) return true;
    return false;
}

/* Of many runs a summary tells what people look at first. */
static bool is_headline(const char *name)
{
    return strcmp(name, "step_time") == 0 || strcmp(name, "gpu_utilization") == 0 ||
           strcmp(name, "peak_memory") == 0;
}

static bool is_metric_shown(const hb_comparison *c, const hb_compare_report *r,
                            const hb_difference *d)
{
    if (r->measures) return is_listed(r, d->name);
    if (r->format == HB_COMPARE_JSON) return true;
    if (r->summary && c->num_runs > 2 && !is_headline(d->name)) return false;
    if (r->summary && strncmp(d->name, "peak_memory:", 12) == 0) return false;
    return !hb_difference_is_zero(d);
}

static bool is_measure_shown(const hb_compare_report *r, hb_compare_by by, size_t m)
{
    if (by == HB_COMPARE_STEP) return true; /* its rows are metrics */
    return r->measures ? is_listed(r, hb_measures[by][m].name) : hb_measures[by][m].usual;
}

/* ---- rows ---- */

/* Of many rows only the best are kept, and the places of others taken again. */
typedef struct collector {
    hb_comparison *c;
    hb_arena *arena;
    const hb_compare_report *report;
    hb_compare_by by;
    hb_shown_list *list;
    uint32_t made;  /* so many of the list's have a place */
    uint32_t limit; /* then all but the best are dropped; 0: never */
} collector;

static int by_effect(const void *x, const void *y)
{
    const hb_shown *a = x, *b = y;
    if (a->row->unit != b->row->unit) return a->row->unit < b->row->unit ? -1 : 1;
    double effect_a = fabs(a->row->change), effect_b = fabs(b->row->change);
    if (effect_a != effect_b) return effect_a > effect_b ? -1 : 1;
    if (a->run != b->run) return a->run < b->run ? -1 : 1;
    return hb_difference_order(a->row, b->row);
}

static void drop_all_but_best(collector *k)
{
    hb_shown_list *list = k->list;
    uint32_t top = (uint32_t)HB_MIN(k->report->top, UINT32_MAX);
    if (list->rows.count) qsort(list->rows.items, list->rows.count, sizeof(hb_shown), by_effect);
    if (!top || list->rows.count <= top) return;
    list->left_out += list->rows.count - top;
    list->rows.count = top;
}

static void collect(collector *k, const hb_compare_run *run, const hb_difference *row)
{
    hb_shown_list *list = k->list;
    if (list->rows.count == k->made) {
        HB_PUSH(k->arena, &list->rows)->row = HB_NEW_ARRAY(k->arena, hb_difference, 1);
        k->made++;
    } else {
        list->rows.count++;
    }
    hb_shown *shown = &list->rows.items[list->rows.count - 1];
    shown->run = run;
    *shown->row = *row;
    if (list->rows.count == k->limit) drop_all_but_best(k);
}

static void take_row(collector *k, const hb_compare_run *run, const hb_difference *row)
{
    const hb_compare_report *r = k->report;
    bool metric = k->by == HB_COMPARE_STEP;
    if (r->wanted && !r->wanted(r->context, row->name)) return;
    if (metric ? !is_metric_shown(k->c, r, row) : hb_difference_is_zero(row)) return;
    if (!metric && r->format != HB_COMPARE_JSON && row->change == 0)
        k->list->unchanged++;
    else
        collect(k, run, row);
}

static void take_run(collector *k, const hb_compare_run *run, hb_compare_group group)
{
    hb_pairs pairs;
    hb_differ *differ = hb_differ_make(k->c, k->arena, run);
    hb_pairs_make(k->arena, &k->c->runs[k->c->baseline], run, k->by, group, &pairs);
    for (uint32_t i = 0; i < pairs.count; i++)
        for (size_t m = 0; m < hb_num_measures(k->by); m++) {
            if (!is_measure_shown(k->report, k->by, m)) continue;
            hb_difference row = hb_differ_row(differ, &pairs.items[i], k->by, m, group);
            take_row(k, run, &row);
        }
}

/* Of a metric's runs those that changed most, where they are too many. */
static uint32_t keep_best(const collector *k, hb_shown *runs, uint32_t count)
{
    size_t top = k->report->top;
    if (!top || count <= top) return count;
    qsort(runs, count, sizeof *runs, by_effect);
    k->list->left_out += count - top;
    return (uint32_t)top;
}

/* Metrics in the order of their first appearance, each with its runs in theirs. */
static void group_metrics(const collector *k)
{
    hb_shown_list *list = k->list;
    uint32_t count = list->rows.count, n = 0;
    hb_shown *sorted = HB_NEW_ARRAY(k->arena, hb_shown, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t first = n;
        if (!list->rows.items[i].row) continue;
        const char *name = list->rows.items[i].row->name;
        for (uint32_t m = i; m < count; m++) {
            hb_shown *s = &list->rows.items[m];
            if (!s->row || strcmp(s->row->name, name) != 0) continue;
            sorted[n++] = *s;
            s->row = NULL;
        }
        n = first + keep_best(k, sorted + first, n - first);
    }
    list->rows.items = sorted;
    list->rows.count = n;
}

void hb_shown_select(hb_comparison *c, hb_arena *arena, const hb_compare_report *report,
                     hb_compare_by by, hb_compare_group group, hb_shown_list *list)
{
    collector k = {.c = c, .arena = arena, .report = report, .by = by, .list = list};
    bool metrics = by == HB_COMPARE_STEP;
    *list = (hb_shown_list){.left_out = 0};
    if (!metrics && report->top && report->top < UINT32_MAX / 4)
        k.limit = HB_MAX(2 * (uint32_t)report->top, 1024u);
    for (size_t i = 0; i < c->num_runs; i++)
        if (i != c->baseline) take_run(&k, &c->runs[i], group);
    if (metrics)
        group_metrics(&k);
    else
        drop_all_but_best(&k);
}

/* ---- the call tree ---- */

static double self_effect(const hb_tree_difference *n)
{
    return fmax(fabs(n->self_host_us[1] - n->self_host_us[0]),
                fabs(n->self_device_us[1] - n->self_device_us[0]));
}

static bool stronger(const void *nodes, const void *x, const void *y)
{
    const hb_tree_difference *n = nodes;
    return self_effect(&n[*(const size_t *)x]) > self_effect(&n[*(const size_t *)y]);
}

static void mark_above(const hb_tree_difference *nodes, size_t index, bool *wanted)
{
    unsigned depth = nodes[index].depth;
    wanted[index] = true;
    while (index > 0 && depth > 0) {
        index--;
        if (nodes[index].depth >= depth) continue;
        if (wanted[index]) return; /* and so is what lies above it */
        wanted[index] = true;
        depth = nodes[index].depth;
    }
}

void hb_tree_select(hb_arena *arena, const hb_compare_report *report,
                    const hb_tree_difference *nodes, size_t count, bool *wanted)
{
    size_t *order = HB_NEW_ARRAY(arena, size_t, count + 1), left = count;
    if (report->top) left = report->top;
    if (count) wanted[0] = true;
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    hb_sort(arena, order, count, sizeof *order, stronger, nodes);
    for (size_t i = 0; i < count && left; i++) {
        const hb_tree_difference *n = &nodes[order[i]];
        if (self_effect(n) == 0) break;
        if (report->wanted && !report->wanted(report->context, n->name)) continue;
        mark_above(nodes, order[i], wanted);
        left--;
    }
}
