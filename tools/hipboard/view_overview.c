/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "view.h"

static const column role_columns[] = {
    {"Average step", COLUMN_TEXT}, {"Time", COLUMN_TIME}, {"Share", COLUMN_PERCENT}};
static const table_spec role_spec = TABLE_SPEC_PLAIN("Average step", role_columns);

static const column gpu_columns[] = {{"GPU", COLUMN_TEXT},
                                     {"Utilization", COLUMN_PERCENT},
                                     {"SM efficiency", COLUMN_PERCENT},
                                     {"Occupancy", COLUMN_PERCENT}};
static const table_spec gpu_spec = TABLE_SPEC("GPUs", gpu_columns);

static const column advice_columns[] = {{"Advice", COLUMN_TEXT}};
static const table_spec advice_spec = TABLE_SPEC("Advice", advice_columns);

/* ---- the average step by role ---- */

/* Without a GPU most roles are none. */
static void add_role(const view_run *run, table *t, const char *name, double sum, double total,
                     size_t count)
{
    if (run->format == VIEW_TEXT && sum == 0 && t->num_rows) return;
    if (view_wants(run, name)) table_add(t, name, sum / (double)count, view_share(sum, total));
}

static void print_roles(view_run *run, const hb_step_stat *list, size_t count)
{
    hb_step_stat sum = {0};
    table t;
    for (size_t i = 0; i < count; i++) {
        sum.duration_us += list[i].duration_us;
        sum.kernel_us += list[i].kernel_us;
        sum.memcpy_us += list[i].memcpy_us;
        sum.memset_us += list[i].memset_us;
        sum.communication_us += list[i].communication_us;
        sum.runtime_us += list[i].runtime_us;
        sum.loader_us += list[i].loader_us;
        sum.cpu_us += list[i].cpu_us;
        sum.other_us += list[i].other_us;
    }
    view_table_init(&t, &role_spec);
    add_role(run, &t, "Total", sum.duration_us, sum.duration_us, count);
    add_role(run, &t, "Kernel", sum.kernel_us, sum.duration_us, count);
    add_role(run, &t, "Memcpy", sum.memcpy_us, sum.duration_us, count);
    add_role(run, &t, "Memset", sum.memset_us, sum.duration_us, count);
    add_role(run, &t, "Communication", sum.communication_us, sum.duration_us, count);
    add_role(run, &t, "Runtime", sum.runtime_us, sum.duration_us, count);
    add_role(run, &t, "DataLoader", sum.loader_us, sum.duration_us, count);
    add_role(run, &t, "CPU Exec", sum.cpu_us, sum.duration_us, count);
    add_role(run, &t, "Other", sum.other_us, sum.duration_us, count);
    view_table_finish(run, &t, &role_spec, -1);
}

static void print_gpus(view_run *run, const hb_gpu_stat *gpus, size_t count)
{
    table t;
    char id[16];
    view_table_init(&t, &gpu_spec);
    for (size_t i = 0; i < count; i++) {
        const hb_gpu_stat *g = &gpus[i];
        snprintf(id, sizeof id, "%d", g->id);
        table_add(&t, id, 100 * g->utilization, view_known(100 * g->sm_efficiency),
                  view_known(g->occupancy_percent));
    }
    view_table_finish(run, &t, &gpu_spec, -1);
}

/* ---- advice ---- */

static const column finding_columns[] = {{"Finding", COLUMN_TEXT},
                                         {"Share of time", COLUMN_PERCENT},
                                         {"Advice", COLUMN_TEXT},
                                         {"Evidence", COLUMN_TEXT}};
static const table_spec finding_spec = TABLE_SPEC("Findings", finding_columns);

/* The plugin's advice is HTML; its links are of no use here. */
static void to_plain(char *html)
{
    char *to = html;
    for (bool tag = false; *html; html++) {
        if (*html == '<') tag = true;
        if (!tag) *to++ = *html;
        if (*html == '>') tag = false;
    }
    *to = 0;
}

static const char plugin_title[] = "The plugin's advice";
static const char finding_title[] = "Findings, with their share of the time and their evidence";

/* `title` stands above the first of its kind. */
static void print_sentence(view_run *run, const char *title, const char *bullet, const char *text)
{
    if (run->heading != title)
        printf("\n%s%s%s\n", run->style.bold ? "\033[1m" : "", title,
               run->style.bold ? "\033[0m" : "");
    run->heading = title;
    fputs(bullet, stdout); /* two columns */
    print_wrapped(text, 2, view_prose_width(run));
}

static void print_advice(view_run *run, hb_trace_file *file)
{
    const char *html;
    table t;
    view_table_init(&t, &advice_spec);
    for (size_t i = 0; (html = hb_trace_file_advice(file, i)) != NULL; i++) {
        char *text = must(strdup(html));
        to_plain(text);
        if (run->format == VIEW_TEXT)
            print_sentence(run, plugin_title, "- ", text);
        else
            table_add(&t, text);
        free(text);
    }
    if (run->format == VIEW_TEXT)
        table_free(&t);
    else
        view_table_finish(run, &t, &advice_spec, -1);
}

static void print_finding(view_run *run, const hb_finding *f)
{
    char text[2048], share[32] = "";
    if (f->weight > 0) snprintf(share, sizeof share, ", %.0f %%", 100 * f->weight);
    snprintf(text, sizeof text, "%s%s: %s", f->rule, share, f->text);
    print_sentence(run, finding_title, "- ", text);
    print_sentence(run, finding_title, "  ", f->evidence);
}

static hb_result print_findings(view_run *run, hb_insights *insights)
{
    const hb_finding *list;
    size_t count;
    table t;
    hb_result result = hb_insights_findings(insights, &list, &count);
    if (result != HB_OK) return result;
    view_table_init(&t, &finding_spec);
    for (size_t i = 0; i < count; i++) {
        if (run->format == VIEW_TEXT)
            print_finding(run, &list[i]);
        else
            table_add(&t, list[i].rule, 100 * list[i].weight, list[i].text, list[i].evidence);
    }
    if (run->format == VIEW_TEXT)
        table_free(&t);
    else
        view_table_finish(run, &t, &finding_spec, -1);
    return HB_OK;
}

static hb_result print_insights(view_run *run, hb_trace_file *file)
{
    hb_insights *insights;
    hb_result result = view_insights(run, file, &insights);
    if (result == HB_OK) result = view_print_gpu_times(run, insights);
    if (result == HB_OK) result = view_print_classes(run, insights);
    run->heading = NULL;
    print_advice(run, file);
    if (result == HB_OK) result = print_findings(run, insights);
    hb_insights_destroy(insights);
    return result;
}

static hb_result show(view_run *run, hb_trace_file *file)
{
    const hb_step_stat *list;
    const hb_gpu_stat *gpus;
    size_t count, num_gpus;
    hb_result result = hb_trace_file_steps(file, &list, &count);
    if (hb_trace_file_is_digest(file)) {
        if (result == HB_OK) print_roles(run, list, count);
        return result;
    }
    if (result == HB_OK) result = hb_trace_file_gpus(file, &gpus, &num_gpus);
    if (result == HB_OK) print_roles(run, list, count);
    if (result == HB_OK) print_gpus(run, gpus, num_gpus);
    /* What the plugin loses has insights all the same. */
    hb_result own = print_insights(run, file);
    return result == HB_OK ? own : result;
}

static const table_spec *const tables[] = {
    &role_spec,    &gpu_spec, &view_gpu_time_spec, &view_class_spec, &advice_spec,
    &finding_spec, NULL};
const view view_overview = {"overview", tables, false, true, show, NULL};
