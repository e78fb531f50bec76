/* SPDX-License-Identifier: MIT */
#include "compare/compare_text.h"
#include "doc/json_writer.h"
#include "doc/phrases.h"

#include <math.h>

static void put_lines(hb_emitter *out, const char *key, const hb_lines *lines)
{
    hb_emit_open_key(out, key, '[');
    for (uint32_t i = 0; i < lines->count; i++)
        hb_emit_text(out, lines->items[i]);
    hb_emit_close(out, ']');
}

static void put_run(hb_emitter *out, const hb_compare_run *run)
{
    hb_emit_open(out, '{');
    hb_emit_pair(out, "name", run->name);
    hb_emit_pair(out, "path", run->path);
    hb_emit_member(out, "files", (double)run->num_read);
    hb_emit_member(out, "workers", run->num_workers);
    hb_emit_member(out, "steps", run->num_steps);
    hb_emit_bool(out, "has_steps", run->has_steps);
    hb_emit_bool(out, "simulated", run->simulated);
    hb_emit_member(out, "recorded_at", run->recorded_at > 0 ? run->recorded_at : NAN);
    hb_emit_close(out, '}');
}

static void put_contrasts(hb_emitter *out, hb_comparison *c, size_t index)
{
    const hb_run_contrast *list;
    size_t count;
    if (index == c->baseline || hb_comparison_contrasts(c, index, &list, &count) != HB_OK) return;
    for (size_t i = 0; i < count; i++) {
        hb_emit_open(out, '{');
        hb_emit_pair(out, "run", c->runs[index].name);
        hb_emit_pair(out, "what", list[i].what);
        hb_emit_pair(out, "before", list[i].before);
        hb_emit_pair(out, "after", list[i].after);
        hb_emit_close(out, '}');
    }
}

static void put_value(hb_emitter *out, const char *key, const hb_compared_value *v)
{
    hb_emit_key(out, key);
    if (!v->steps.count) {
        hb_emit_null(out);
        return;
    }
    hb_emit_open(out, '{');
    hb_emit_member(out, "per_step", v->per_step);
    hb_emit_member(out, "calls", v->calls);
    hb_emit_member(out, "share", v->share);
    hb_emit_member(out, "n", (double)v->steps.count);
    hb_emit_member(out, "median", v->steps.median);
    hb_emit_member(out, "p95", v->steps.p95);
    hb_emit_member(out, "mean", v->steps.mean);
    hb_emit_member(out, "std", v->steps.std);
    hb_emit_member(out, "min", v->steps.min);
    hb_emit_member(out, "max", v->steps.max);
    hb_emit_close(out, '}');
}

static void put_row(hb_emitter *out, const hb_shown *shown)
{
    const hb_difference *d = shown->row;
    hb_emit_open(out, '{');
    hb_emit_pair(out, "run", shown->run->name);
    hb_emit_pair(out, "name", d->name);
    if (*d->shape) hb_emit_pair(out, "shape", d->shape);
    if (*d->module) hb_emit_pair(out, "module", d->module);
    hb_emit_pair(out, "measure", d->measure);
    hb_emit_pair(out, "unit", hb_unit_key(d->unit));
    put_value(out, "before", &d->before);
    put_value(out, "after", &d->after);
    hb_emit_member(out, "change", d->change);
    bool known = d->before.per_step != 0;
    hb_emit_member(out, "change_percent", known ? 100 * d->change / fabs(d->before.per_step) : NAN);
    hb_emit_member(out, "low", d->low);
    hb_emit_member(out, "high", d->high);
    hb_emit_member(out, "p", d->p);
    hb_emit_pair(out, "verdict", hb_verdict_key(d->verdict));
    hb_emit_close(out, '}');
}

static void put_table(hb_emitter *out, hb_comparison *c, hb_arena *arena,
                      const hb_compare_report *report, hb_compare_by by, hb_compare_group group)
{
    static const char *const keys[HB_COMPARE_BY_COUNT] = {"steps", "operators", "kernels", "memory",
                                                          "modules"};
    hb_shown_list list;
    hb_shown_select(c, arena, report, by, group, &list);
    hb_emit_open_key(out, keys[by], '[');
    for (uint32_t i = 0; i < list.rows.count; i++)
        put_row(out, &list.rows.items[i]);
    hb_emit_close(out, ']');
}

static void put_pair(hb_emitter *out, const char *key, const double values[2])
{
    hb_emit_open_key(out, key, '[');
    for (int side = 0; side < 2; side++)
        hb_emit_finite(out, values[side]);
    hb_emit_close(out, ']');
}

/* All nodes: who reads this chooses for himself. */
static void put_tree(hb_emitter *out, hb_comparison *c)
{
    const hb_tree_difference *nodes;
    size_t count;
    if (hb_comparison_tree(c, &nodes, &count) != HB_OK) return;
    hb_emit_open_key(out, "tree", '[');
    for (size_t i = 0; i < count; i++) {
        const hb_tree_difference *n = &nodes[i];
        hb_emit_open(out, '{');
        hb_emit_pair(out, "name", n->name);
        hb_emit_member(out, "depth", n->depth);
        put_pair(out, "calls", n->calls);
        put_pair(out, "host", n->host_us);
        put_pair(out, "self_host", n->self_host_us);
        put_pair(out, "device", n->device_us);
        put_pair(out, "self_device", n->self_device_us);
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, ']');
}

static void put_findings(hb_emitter *out, const hb_compare_report *report)
{
    hb_emit_open_key(out, "limits", '[');
    for (size_t i = 0; i < report->num_findings; i++) {
        const hb_compare_finding *f = &report->findings[i];
        hb_emit_open(out, '{');
        hb_emit_bool(out, "exceeded", f->met);
        hb_emit_member(out, "before", f->before);
        hb_emit_member(out, "after", f->after);
        hb_emit_pair(out, "verdict", hb_verdict_key(f->verdict));
        hb_emit_pair(out, "reason", f->reason);
        hb_emit_close(out, '}');
    }
    hb_emit_close(out, ']');
}

static void put_runs(hb_emitter *out, hb_comparison *c)
{
    hb_emit_pair(out, "baseline", c->runs[c->baseline].name);
    hb_emit_member(out, "confidence", 1 - c->test.alpha);
    hb_emit_open_key(out, "runs", '[');
    for (size_t i = 0; i < c->num_runs; i++)
        put_run(out, &c->runs[i]);
    hb_emit_close(out, ']');
    put_lines(out, "problems", &c->problems);
    put_lines(out, "notes", &c->notes);
    hb_emit_open_key(out, "contrasts", '[');
    for (size_t i = 0; i < c->num_runs; i++)
        put_contrasts(out, c, i);
    hb_emit_close(out, ']');
}

void hb_report_json(hb_comparison *c, hb_arena *arena, const hb_compare_report *report, hb_buf *buf)
{
    hb_emitter out = {buf, false};
    hb_emit_open(&out, '{');
    put_runs(&out, c);
    put_findings(&out, report);
    if (report->tree)
        put_tree(&out, c);
    else if (!report->summary)
        put_table(&out, c, arena, report, report->by, report->group);
    else
        for (int by = 0; by < HB_COMPARE_BY_COUNT; by++)
            put_table(&out, c, arena, report, (hb_compare_by)by, HB_GROUP_NAME);
    hb_emit_close(&out, '}');
    hb_buf_str(buf, "\n");
}
