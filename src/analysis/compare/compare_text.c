/* SPDX-License-Identifier: MIT
 *
 * A comparison for people: in a terminal, or as Markdown in a pull request.
 */
#include "compare/compare_text.h"

#include <math.h>
#include <stdio.h>

#include "doc/doc_writer.h"
#include "doc/phrases.h"

typedef struct writer {
    hb_comparison *c;
    hb_arena *arena;
    const hb_compare_report *report;
    hb_doc doc;
    bool many; /* rows need the run's name */
} writer;

/* ---- cells ---- */

static const char *kept(writer *w, hb_buf *buf)
{
    char *copy = HB_NEW_ARRAY(w->arena, char, buf->size + 1);
    if (buf->size) memcpy(copy, buf->data, buf->size);
    hb_buf_free(buf);
    return copy;
}

HB_PRINTF(2, 3) static const char *format(writer *w, const char *how, ...)
{
    hb_buf buf;
    char text[2048];
    va_list args;
    va_start(args, how);
    vsnprintf(text, sizeof text, how, args);
    va_end(args);
    hb_buf_init(&buf, sizeof text);
    hb_buf_str(&buf, text);
    return kept(w, &buf);
}

static const char *quantity(writer *w, double value, hb_unit unit)
{
    hb_buf buf;
    hb_buf_init(&buf, 64);
    hb_put_quantity(&buf, value, unit);
    return kept(w, &buf);
}

static const char *change_text(writer *w, double change, hb_unit unit)
{
    hb_buf buf;
    hb_buf_init(&buf, 64);
    hb_put_change(&buf, change, unit);
    return kept(w, &buf);
}

static const char *percent(writer *w, double before, double change)
{
    hb_buf buf;
    hb_buf_init(&buf, 64);
    hb_put_percent(&buf, before, change);
    return kept(w, &buf);
}

/* C++ templates have names of kilobytes. What tells them apart often stands at their end. */
static const char *short_name(writer *w, const char *name)
{
    enum { HEAD = 80, TAIL = 37 };
    size_t n = strlen(name), head = HEAD, tail = TAIL;
    if (n == 0) return "(no name)";
    if (n <= HEAD + TAIL + 3) return name;
    while (head > 0 && ((unsigned char)name[head] & 0xc0) == 0x80)
        head--;
    while (tail > 0 && ((unsigned char)name[n - tail] & 0xc0) == 0x80)
        tail--;
    return format(w, "%.*s...%s", (int)head, name, name + n - tail);
}

static void put(writer *w, hb_grid *g, const char *text, hb_tone tone)
{
    *HB_PUSH(w->arena, &g->cells) = (hb_grid_cell){text, tone};
}

static void put_side(writer *w, hb_grid *g, const hb_compared_value *v, hb_unit unit)
{
    bool any = v->steps.count > 0;
    put(w, g, any ? quantity(w, v->per_step, unit) : "-", HB_TONE_PLAIN);
    put(w, g, any ? quantity(w, v->steps.p95, unit) : "-", HB_TONE_PLAIN);
}

/* More time or memory is worse, a busier GPU is better; noise is neither. */
static hb_tone tone_of(const hb_difference *d)
{
    bool uncertain = d->verdict == HB_VERDICT_NOISE || d->verdict == HB_VERDICT_TOO_FEW;
    if (d->change == 0 || uncertain || d->unit == HB_UNIT_COUNT) return HB_TONE_PLAIN;
    return (d->change > 0) != (d->unit == HB_UNIT_RATIO) ? HB_TONE_WORSE : HB_TONE_BETTER;
}

static const char *verdict_text(writer *w, const hb_difference *d)
{
    const char *words = hb_verdict_words(d->verdict);
    return d->p == d->p && d->verdict != HB_VERDICT_TOO_FEW ? format(w, "%s (p %.2g)", words, d->p)
                                                            : words;
}

/* ---- rows ---- */

static const char *interval(writer *w, const hb_difference *d)
{
    if (!(d->low == d->low)) return "";
    return format(w, "%s .. %s", change_text(w, d->low, d->unit), change_text(w, d->high, d->unit));
}

static const char *step_counts(writer *w, const hb_difference *d)
{
    return format(w, "%llu, %llu", (unsigned long long)d->before.steps.count,
                  (unsigned long long)d->after.steps.count);
}

static void print_metrics(writer *w, const hb_shown_list *list)
{
    const char *shift = format(w, "shift, %.4g %%", 100 * (1 - w->c->test.alpha));
    const char *heads[] = {
        "before", "p95", "after", "p95",          "change",
        "",       shift, "steps", "is it noise?", w->many ? "metric, run" : "metric"};
    hb_grid g = {.heads = heads, .columns = 10, .left = 1u << 8};
    for (uint32_t i = 0; i < list->rows.count; i++) {
        const hb_difference *d = list->rows.items[i].row;
        hb_tone tone = tone_of(d);
        put_side(w, &g, &d->before, d->unit);
        put_side(w, &g, &d->after, d->unit);
        put(w, &g, change_text(w, d->change, d->unit), tone);
        put(w, &g, percent(w, d->before.per_step, d->change), tone);
        put(w, &g, interval(w, d), HB_TONE_PLAIN);
        put(w, &g, step_counts(w, d), HB_TONE_PLAIN);
        put(w, &g, verdict_text(w, d), tone);
        put(w, &g, w->many ? format(w, "%s, %s", d->name, list->rows.items[i].run->name) : d->name,
            HB_TONE_PLAIN);
    }
    hb_doc_grid(&w->doc, w->arena, &g);
    if (list->left_out)
        hb_doc_line(&w->doc, HB_TONE_PLAIN, format(w, "(%zu more)", list->left_out));
}

/* "aten::mm [[2, 3]] in Linear_0, host, runs/after" */
static const char *label(writer *w, hb_compare_by by, const hb_shown *shown)
{
    const hb_difference *d = shown->row;
    const char *words = d->measure;
    for (size_t m = 0; m < hb_num_measures(by); m++)
        if (strcmp(hb_measures[by][m].name, d->measure) == 0) words = hb_measures[by][m].words;
    bool told = by == HB_COMPARE_OPERATOR || by == HB_COMPARE_MODULE ||
                strcmp(d->measure, "calls") == 0 ||
                (by == HB_COMPARE_MEMORY && strcmp(d->measure, "allocated") != 0);
    return format(w, "%s%s%.400s%s%.200s%s%s%s%.200s", short_name(w, d->name), *d->shape ? " " : "",
                  d->shape, *d->module ? " in " : "", d->module, told ? ", " : "",
                  told ? words : "", w->many ? ", " : "", w->many ? shown->run->name : "");
}

static const char *call_counts(writer *w, const hb_difference *d)
{
    if (fabs(d->before.calls - d->after.calls) < 5e-5 * d->before.calls)
        return format(w, "%.4g", d->after.calls);
    return format(w, "%.4g -> %.4g", d->before.calls, d->after.calls);
}

/* The share of the largest change. */
static const char *bar(double change, double largest)
{
    static const char full[] = "##########";
    double share = largest > 0 ? fabs(change) / largest : 0;
    return full + sizeof full - 1 - (size_t)(10 * HB_MIN(share, 1) + 0.5);
}

static void print_rows(writer *w, hb_compare_by by, const hb_shown_list *list)
{
    static const char *const heads[] = {"change", "",    "",      "before",       "p95",
                                        "after",  "p95", "calls", "is it noise?", "what"};
    hb_grid g = {
        .heads = heads, .columns = 10, .left = 1u << 2 | 1u << 8, .terminal_only = 1u << 2};
    double largest = 0;
    for (uint32_t i = 0; i < list->rows.count; i++)
        largest = fmax(largest, fabs(list->rows.items[i].row->change));
    for (uint32_t i = 0; i < list->rows.count; i++) {
        const hb_difference *d = list->rows.items[i].row;
        hb_tone tone = tone_of(d);
        put(w, &g, change_text(w, d->change, d->unit), tone);
        put(w, &g, percent(w, d->before.per_step, d->change), tone);
        put(w, &g, bar(d->change, largest), tone);
        put_side(w, &g, &d->before, d->unit);
        put_side(w, &g, &d->after, d->unit);
        put(w, &g, call_counts(w, d), HB_TONE_PLAIN);
        put(w, &g, verdict_text(w, d), tone);
        put(w, &g, label(w, by, &list->rows.items[i]), HB_TONE_PLAIN);
    }
    hb_doc_grid(&w->doc, w->arena, &g);
    const char *more = list->left_out ? format(w, "%zu more", list->left_out) : "";
    const char *rest = list->unchanged ? format(w, "%zu unchanged", list->unchanged) : "";
    if (*more || *rest)
        hb_doc_line(&w->doc, HB_TONE_PLAIN,
                    format(w, "(%s%s%s)", more, *more && *rest ? ", " : "", rest));
}

static bool all_can_tell(const hb_shown_list *list)
{
    for (uint32_t i = 0; i < list->rows.count; i++)
        if (list->rows.items[i].row->verdict == HB_VERDICT_TOO_FEW) return false;
    return true;
}

/* ... of both runs, when they are equally many. */
static unsigned steps_needed(double alpha)
{
    double ways = 1;
    unsigned n = 0;
    while (ways * alpha < 2) {
        n++;
        ways *= (2.0 * n) * (2.0 * n - 1) / ((double)n * n);
    }
    return n;
}

static void print_table(writer *w, hb_compare_by by, hb_compare_group group)
{
    static const char *const titles[HB_COMPARE_BY_COUNT] = {
        "Steps: median and 95th percentile over the steps", "Operators: time a step, by the change",
        "Kernels, copies and fills: time a step, by the change",
        "Memory: bytes that operators allocate in a step, by the change",
        "Modules: time a step, by the change"};
    hb_shown_list list;
    hb_shown_select(w->c, w->arena, w->report, by, group, &list);
    if (!list.rows.count && !list.unchanged && w->report->summary) return;
    hb_doc_heading(&w->doc, titles[by]);
    if (!list.rows.count)
        hb_doc_line(&w->doc, HB_TONE_PLAIN,
                    list.unchanged ? "no change" : "nothing of that kind is in the traces");
    else if (by == HB_COMPARE_STEP)
        print_metrics(w, &list);
    else
        print_rows(w, by, &list);
    if (by == HB_COMPARE_STEP && !all_can_tell(&list))
        hb_doc_line(&w->doc, HB_TONE_PLAIN,
                    format(w, "(steps that it takes to tell: %u in each run)",
                           steps_needed(w->c->test.alpha)));
}

/* ---- the call tree ---- */

static const char *tree_label(writer *w, const hb_tree_difference *n)
{
    const char *sign = n->verdict == HB_VERDICT_ONLY_RUN        ? "+ "
                       : n->verdict == HB_VERDICT_ONLY_BASELINE ? "- "
                                                                : "  ";
    return format(w, "%s%*s%s", sign, (int)(2 * HB_MIN(n->depth, 200u)), "",
                  short_name(w, n->name));
}

static void put_times(writer *w, hb_grid *g, const double us[2])
{
    double change = us[1] - us[0];
    hb_tone tone = change > 0 ? HB_TONE_WORSE : change < 0 ? HB_TONE_BETTER : HB_TONE_PLAIN;
    put(w, g, change_text(w, change, HB_UNIT_US), tone);
    put(w, g, percent(w, us[0], change), tone);
    put(w, g, quantity(w, us[0], HB_UNIT_US), HB_TONE_PLAIN);
    put(w, g, quantity(w, us[1], HB_UNIT_US), HB_TONE_PLAIN);
}

static void put_node(writer *w, hb_grid *g, const hb_tree_difference *n, bool device)
{
    put_times(w, g, n->host_us);
    put(w, g, change_text(w, n->self_host_us[1] - n->self_host_us[0], HB_UNIT_US), HB_TONE_PLAIN);
    if (device) put_times(w, g, n->device_us);
    put(w, g,
        n->calls[0] == n->calls[1] ? format(w, "%.4g", n->calls[0])
                                   : format(w, "%.4g -> %.4g", n->calls[0], n->calls[1]),
        HB_TONE_PLAIN);
    put(w, g, tree_label(w, n), HB_TONE_PLAIN);
}

static void print_tree(writer *w)
{
    static const char *const host[] = {"host",   "",      "before",  "after",
                                       "itself", "calls", "  a step"};
    static const char *const both[] = {"host", "",       "before", "after", "itself",  "device",
                                       "",     "before", "after",  "calls", "  a step"};
    const hb_tree_difference *nodes;
    size_t count, shown = 0;
    bool device = false;
    if (hb_comparison_tree(w->c, &nodes, &count) != HB_OK)
        hb_arena_leave(w->arena, HB_ERROR_STATE, "the call trees were not asked for");
    bool *wanted = HB_NEW_ARRAY(w->arena, bool, count + 1);
    hb_tree_select(w->arena, w->report, nodes, count, wanted);
    for (size_t i = 0; i < count; i++) {
        device |= nodes[i].device_us[0] > 0 || nodes[i].device_us[1] > 0;
        shown += wanted[i];
    }
    hb_grid g = {.heads = device ? both : host, .columns = device ? 11 : 7};
    for (size_t i = 0; i < count; i++)
        if (wanted[i]) put_node(w, &g, &nodes[i], device);
    hb_doc_heading(&w->doc, "Call tree of the thread that runs the steps: mean time a step, "
                            "loops folded; + new, - gone");
    if (count) hb_doc_grid(&w->doc, w->arena, &g);
    if (shown < count)
        hb_doc_line(&w->doc, HB_TONE_PLAIN, format(w, "(%zu calls are not shown)", count - shown));
}

/* ---- what is compared ---- */

static void print_run(writer *w, const hb_compare_run *run)
{
    char date[32];
    bool baseline = run == &w->c->runs[w->c->baseline];
    hb_put_date(date, run->recorded_at, true);
    const char *steps = !run->num_read ? "nothing to compare"
                        : run->has_steps
                            ? format(w, "%u step%s", run->num_steps, hb_plural(run->num_steps))
                            : "no steps: the whole trace counts as one";
    const char *workers =
        run->num_workers > 1
            ? format(w, ", %u workers: means over them, of peaks the largest", run->num_workers)
            : "";
    hb_doc_item(&w->doc, HB_TONE_PLAIN,
                format(w, "%s %s: %zu file%s, %s%s%s%s", baseline ? "baseline" : "run", run->name,
                       run->num_read, hb_plural(run->num_read), steps, workers, *date ? ", " : "",
                       date));
}

static void print_runs(writer *w)
{
    enum { NAMED = 30 };
    size_t shown = 0;
    for (size_t i = 0; i < w->c->num_runs; i++)
        if (i == w->c->baseline || shown++ < NAMED) print_run(w, &w->c->runs[i]);
    if (shown > NAMED)
        hb_doc_item(&w->doc, HB_TONE_PLAIN, format(w, "%zu runs more", shown - NAMED));
}

/* "devices: a -> b", once for all runs of which it holds; with several their names. */
static void print_contrast(writer *w, const hb_run_contrast *contrast, const hb_u32s *runs)
{
    enum { NAMED = 4 };
    hb_buf of;
    hb_buf_init(&of, 4096);
    for (uint32_t i = 0; w->many && i < HB_MIN(runs->count, (uint32_t)NAMED); i++)
        hb_buf_printf(&of, "%s%.200s", i ? ", " : " (", w->c->runs[runs->items[i]].name);
    if (w->many && runs->count > NAMED) hb_buf_printf(&of, " and %u more", runs->count - NAMED);
    if (w->many) hb_buf_str(&of, ")");
    hb_doc_item(&w->doc, HB_TONE_PLAIN,
                format(w, "%s: %s -> %s%s", contrast->what,
                       *contrast->before ? contrast->before : "-",
                       *contrast->after ? contrast->after : "-", kept(w, &of)));
}

typedef struct contrast_group {
    const hb_run_contrast *contrast;
    hb_u32s runs;
} contrast_group;

static bool is_same(const hb_run_contrast *a, const hb_run_contrast *b)
{
    return strcmp(a->what, b->what) == 0 && strcmp(a->before, b->before) == 0 &&
           strcmp(a->after, b->after) == 0;
}

static void print_contrasts(writer *w)
{
    HB_VEC(contrast_group) groups = {0};
    for (size_t run = 0; run < w->c->num_runs; run++) {
        const hb_run_contrast *list;
        size_t count;
        if (run == w->c->baseline || hb_comparison_contrasts(w->c, run, &list, &count) != HB_OK)
            continue;
        for (size_t i = 0; i < count; i++) {
            uint32_t g = 0;
            while (g < groups.count && !is_same(groups.items[g].contrast, &list[i]))
                g++;
            if (g == groups.count) *HB_PUSH(w->arena, &groups) = (contrast_group){&list[i], {0}};
            *HB_PUSH(w->arena, &groups.items[g].runs) = (uint32_t)run;
        }
    }
    if (groups.count) hb_doc_heading(&w->doc, "Not alike");
    for (uint32_t g = 0; g < groups.count; g++)
        print_contrast(w, groups.items[g].contrast, &groups.items[g].runs);
}

static void print_finding(writer *w, const hb_compare_finding *f)
{
    hb_doc_item(&w->doc, f->met ? HB_TONE_WORSE : HB_TONE_PLAIN,
                format(w, "%s: %s", f->met ? "EXCEEDED" : "fine", f->reason));
}

/* Those that are passed all, of the others as many as one likes to read. */
static void print_findings(writer *w)
{
    enum { FINE = 10 };
    const hb_compare_report *r = w->report;
    size_t fine = 0;
    if (!r->num_findings) return;
    hb_doc_heading(&w->doc, "Limits");
    for (size_t i = 0; i < r->num_findings; i++)
        if (r->findings[i].met) print_finding(w, &r->findings[i]);
    for (size_t i = 0; i < r->num_findings; i++)
        if (!r->findings[i].met && fine++ < FINE) print_finding(w, &r->findings[i]);
    if (fine > FINE) hb_doc_item(&w->doc, HB_TONE_PLAIN, format(w, "fine: %zu more", fine - FINE));
}

static void print_problems(writer *w)
{
    bool simulated = false;
    for (size_t i = 0; i < w->c->num_runs; i++)
        simulated |= w->c->runs[i].simulated;
    if (simulated)
        hb_doc_item(&w->doc, HB_TONE_PLAIN,
                    "durations on a simulated GPU mean nothing, and so do their differences");
    for (uint32_t i = 0; i < w->c->notes.count; i++)
        hb_doc_item(&w->doc, HB_TONE_WORSE, w->c->notes.items[i]);
    for (uint32_t i = 0; i < w->c->problems.count; i++)
        hb_doc_item(&w->doc, HB_TONE_WORSE, format(w, "left out: %s", w->c->problems.items[i]));
}

static void print_tables(writer *w)
{
    const hb_compare_report *r = w->report;
    if (r->tree) {
        print_tree(w);
    } else if (!r->summary) {
        print_table(w, r->by, r->group);
    } else {
        for (int by = 0; by < HB_COMPARE_BY_COUNT; by++)
            print_table(w, (hb_compare_by)by, HB_GROUP_NAME);
    }
}

void hb_report_print(hb_comparison *c, hb_arena *arena, const hb_compare_report *report,
                     hb_buf *buf)
{
    writer w = {.c = c,
                .arena = arena,
                .report = report,
                .doc = {buf, report->format == HB_COMPARE_MARKDOWN, report->color},
                .many = c->num_runs > 2};
    hb_doc_heading(&w.doc, "Compared");
    print_runs(&w);
    print_problems(&w);
    print_findings(&w);
    print_contrasts(&w);
    print_tables(&w);
}
