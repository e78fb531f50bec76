/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "compare/report.h"

static bool is_listed(const hb_compare_report *r, const char *name)
{
    for (size_t i = 0; i < r->num_measures; i++)
        if (strcmp(r->measures[i], name) == 0) return true;
    return false;
}

static bool is_zero(const hb_difference *d)
{
    return d->before.steps.max == 0 && d->after.steps.max == 0 && d->before.steps.min == 0 &&
           d->after.steps.min == 0;
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
    return !is_zero(d);
}

static bool is_shown(const hb_comparison *c, const hb_compare_report *r, hb_compare_by by,
                     const hb_difference *d)
{
    if (r->wanted && !r->wanted(r->context, d->name)) return false;
    if (by == HB_COMPARE_STEP) return is_metric_shown(c, r, d);
    if (r->measures) return is_listed(r, d->measure);
    for (size_t m = 0; m < hb_num_measures(by); m++)
        if (strcmp(hb_measures[by][m].name, d->measure) == 0) return hb_measures[by][m].usual;
    return false;
}

static void leave(hb_arena *arena, hb_result result)
{
    char reason[200];
    strncpy(reason, hb_last_error(), sizeof reason - 1);
    reason[sizeof reason - 1] = 0;
    hb_arena_leave(arena, result, "%s", reason);
}

static bool by_effect(const void *context, const void *x, const void *y)
{
    const hb_difference *a = ((const hb_shown *)x)->row, *b = ((const hb_shown *)y)->row;
    (void)context;
    if (a->unit != b->unit) return a->unit < b->unit;
    return fabs(a->change) > fabs(b->change);
}

/* Metrics in the order of their first appearance, each with its runs in theirs. */
static void group_metrics(hb_arena *arena, hb_shown_list *list)
{
    uint32_t count = list->rows.count, n = 0;
    hb_shown *sorted = HB_NEW_ARRAY(arena, hb_shown, count + 1);
    for (uint32_t i = 0; i < count; i++) {
        if (!list->rows.items[i].row) continue;
        const char *name = list->rows.items[i].row->name;
        for (uint32_t k = i; k < count; k++) {
            hb_shown *s = &list->rows.items[k];
            if (!s->row || strcmp(s->row->name, name) != 0) continue;
            sorted[n++] = *s;
            s->row = NULL;
        }
    }
    list->rows.items = sorted;
}

void hb_shown_select(hb_comparison *c, hb_arena *arena, const hb_compare_report *report,
                     hb_compare_by by, hb_compare_group group, hb_shown_list *list)
{
    *list = (hb_shown_list){.left_out = 0};
    for (size_t i = 0; i < c->num_runs; i++) {
        const hb_difference *rows;
        size_t count;
        if (i == c->baseline) continue;
        hb_result result = hb_comparison_differences(c, i, by, group, &rows, &count);
        if (result != HB_OK) leave(arena, result);
        for (size_t k = 0; k < count; k++) {
            if (!is_shown(c, report, by, &rows[k])) continue;
            if (by != HB_COMPARE_STEP && report->format != HB_COMPARE_JSON && rows[k].change == 0)
                list->unchanged++;
            else
                *HB_PUSH(arena, &list->rows) = (hb_shown){&c->runs[i], &rows[k]};
        }
    }
    if (by == HB_COMPARE_STEP)
        group_metrics(arena, list);
    else
        hb_sort(arena, list->rows.items, list->rows.count, sizeof *list->rows.items, by_effect,
                NULL);
    if (!report->top || list->rows.count <= report->top || by == HB_COMPARE_STEP) return;
    list->left_out = list->rows.count - report->top;
    list->rows.count = (uint32_t)report->top;
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
