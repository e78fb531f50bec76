/* SPDX-License-Identifier: MIT
 *
 * hipboard/compare.h: a comparison and its runs.
 */
#include <stdlib.h>

#include "base/c_locale.h"
#include "compare/compare_text.h"
#include "logdir/open_options.h"

static hb_result invalid(const char *why)
{
    return hb_fail(HB_ERROR_INVALID_ARGUMENT, "%s", why);
}

hb_string_id hb_comparison_intern(hb_comparison *c, hb_arena *arena, const char *text, size_t size)
{
    hb_string_id id = hb_texts_add(&c->texts, text, size);
    if (!id) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory for names");
    return id;
}

static hb_result take_options(const hb_compare_options *from, hb_compare_options *to)
{
    *to = (hb_compare_options)HB_COMPARE_OPTIONS_INIT;
    HB_TRY(hb_options_take(from, to, sizeof *to, "HB_COMPARE_OPTIONS_INIT"));
    if (to->confidence != 0 && !(to->confidence > 50 && to->confidence < 100))
        return invalid("the confidence must be above 50 and below 100 percent");
    return HB_OK;
}

static hb_result load(hb_comparison *c, const char *const *paths, size_t num_paths,
                      const hb_compare_options *o)
{
    if (!hb_texts_init(&c->texts)) return hb_no_memory();
    c->test.alpha = 1 - (o->confidence != 0 ? o->confidence : 99) / 100;
    c->threads = o->threads;
    HB_TRY(hb_open_options_take(o->open, &c->open));
    HB_TRY(hb_compare_find(c, paths, num_paths, o->baseline));
    if (o->tree && c->num_runs != 2)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "the call tree is of two runs, and these are %zu",
                       c->num_runs);
    if (o->tree && !(c->tree = hb_call_tree_new())) return hb_no_memory();
    return hb_compare_load(c);
}

hb_result hb_compare(const char *const *paths, size_t num_paths, const hb_compare_options *options,
                     hb_comparison **comparison)
{
    hb_compare_options o;
    if (!comparison || (!paths && num_paths)) return invalid("an argument is NULL");
    *comparison = NULL;
    HB_TRY(take_options(options, &o));
    if (num_paths == 0) return invalid("no runs to compare");
    hb_comparison *made = calloc(1, sizeof *made);
    if (!made) return hb_no_memory();
    hb_result result = load(made, paths, num_paths, &o);
    if (result == HB_OK)
        *comparison = made;
    else
        hb_comparison_free(made);
    return result;
}

static void free_run(hb_compare_run *run)
{
    for (int by = 0; by < HB_COMPARE_BY_COUNT; by++)
        for (int group = 0; group <= HB_GROUP_MODULE; group++)
            free(run->differences[by][group].list);
    hb_compare_run_free(run);
}

static void free_lines(hb_lines *lines)
{
    for (uint32_t i = 0; i < lines->count; i++)
        free(lines->items[i]);
}

void hb_comparison_free(hb_comparison *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->num_runs; i++)
        free_run(&c->runs[i]);
    free_lines(&c->problems);
    free_lines(&c->notes);
    free(c->runs);
    free(c->tree_rows);
    hb_call_tree_free(c->tree);
    hb_texts_free(&c->texts);
    hb_arena_free(&c->arena);
    free(c);
}

const char *hb_comparison_problem(const hb_comparison *c, size_t index)
{
    return c && index < c->problems.count ? c->problems.items[index] : NULL;
}

const char *hb_comparison_note(const hb_comparison *c, size_t index)
{
    return c && index < c->notes.count ? c->notes.items[index] : NULL;
}

size_t hb_comparison_num_runs(const hb_comparison *c)
{
    return c ? c->num_runs : 0;
}

size_t hb_comparison_baseline(const hb_comparison *c)
{
    return c ? c->baseline : 0;
}

hb_result hb_comparison_run(const hb_comparison *c, size_t index, hb_compared_run *run)
{
    if (!c || !run) return invalid("an argument is NULL");
    if (index >= c->num_runs) return hb_fail(HB_ERROR_NOT_FOUND, "no run %zu", index);
    const hb_compare_run *r = &c->runs[index];
    *run = (hb_compared_run){.name = r->name,
                             .path = r->path,
                             .files = r->num_read,
                             .workers = r->num_workers,
                             .steps = r->num_steps,
                             .has_steps = r->has_steps,
                             .simulated = r->simulated,
                             .recorded_at = r->recorded_at};
    return HB_OK;
}

static hb_result make_contrasts(hb_comparison *c, hb_compare_run *run)
{
    if (hb_arena_try(&c->arena)) hb_contrasts_make(c, run);
    return hb_arena_outcome(&c->arena);
}

hb_result hb_comparison_contrasts(hb_comparison *c, size_t index, const hb_run_contrast **contrasts,
                                  size_t *count)
{
    if (!c || !contrasts || !count) return invalid("an argument is NULL");
    if (index >= c->num_runs) return hb_fail(HB_ERROR_NOT_FOUND, "no run %zu", index);
    hb_compare_run *run = &c->runs[index];
    if (!run->contrasts) HB_TRY(make_contrasts(c, run));
    *contrasts = run->contrasts;
    *count = run->num_contrasts;
    return HB_OK;
}

const char *hb_compare_measure(hb_compare_by by, size_t index)
{
    if ((unsigned)by >= HB_COMPARE_BY_COUNT || index >= HB_MAX_MEASURES) return NULL;
    return hb_measures[by][index].name;
}

hb_result hb_comparison_tree(hb_comparison *c, const hb_tree_difference **nodes, size_t *count)
{
    if (!c || !nodes || !count) return invalid("an argument is NULL");
    if (!c->tree) return hb_fail(HB_ERROR_STATE, "the call trees were not asked for");
    if (!c->tree_rows) HB_TRY(hb_call_tree_list(c->tree, &c->tree_rows, &c->num_tree_rows));
    *nodes = c->tree_rows;
    *count = c->num_tree_rows;
    return HB_OK;
}

/* ---- as text ---- */

static hb_result take_report(const hb_compare_report *from, hb_compare_report *to)
{
    *to = (hb_compare_report)HB_COMPARE_REPORT_INIT;
    HB_TRY(hb_options_take(from, to, sizeof *to, "HB_COMPARE_REPORT_INIT"));
    if ((unsigned)to->by >= HB_COMPARE_BY_COUNT || (unsigned)to->group > HB_GROUP_MODULE ||
        (unsigned)to->format > HB_COMPARE_JSON)
        return invalid("hb_compare_report: there is no such kind, group or format");
    return HB_OK;
}

static hb_result write_report(hb_comparison *c, hb_arena *arena, const hb_compare_report *r,
                              hb_buf *buf)
{
    if (!hb_arena_try(arena)) return hb_arena_outcome(arena);
    if (r->format == HB_COMPARE_JSON)
        hb_report_json(c, arena, r, buf);
    else
        hb_report_print(c, arena, r, buf);
    return hb_buf_mend_utf8(buf) ? HB_OK : hb_fail(HB_ERROR_NO_MEMORY, "out of memory");
}

hb_result hb_comparison_text(hb_comparison *c, const hb_compare_report *report, char **text,
                             size_t *size)
{
    hb_compare_report r;
    hb_arena arena = {0};
    hb_buf buf;
    if (!c || !text) return invalid("an argument is NULL");
    *text = NULL;
    HB_TRY(take_report(report, &r));
    if (r.tree && !c->tree) return hb_fail(HB_ERROR_STATE, "the call trees were not asked for");
    hb_buf_init(&buf, SIZE_MAX / 2);
    locale_t before = hb_enter_c_locale();
    hb_result result = write_report(c, &arena, &r, &buf);
    hb_leave_c_locale(before);
    hb_arena_free(&arena);
    return hb_buf_hand_out(&buf, result, text, size);
}
