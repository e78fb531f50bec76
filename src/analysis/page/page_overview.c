/* SPDX-License-Identifier: MIT
 *
 * What the page says first: what was recorded, on what, how well it was understood; the average
 * step, the GPUs, the findings with the places where they can be seen. Of the plugin's analysis
 * that needs the first part; what the plugin makes of the whole comes later.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/api_trace_file.h"
#include "base/times.h"
#include "page/page_views.h"
#include "rules/advice.h"
#include "rules/name_class.h"

/* ---- findings ---- */

static const hb_page_column finding_columns[] = {
    {"Finding", HB_CELL_TEXT}, {"Share of time", HB_CELL_PERCENT},
    {"Advice", HB_CELL_TEXT},  {"Evidence", HB_CELL_TEXT},
    {"View", HB_CELL_TEXT},    {"From", HB_CELL_TIME},
    {"To", HB_CELL_TIME}};
static const hb_page_table findings_table = HB_PAGE_TABLE("Findings", finding_columns);

/* Where the longest launch of that kernel is. */
static bool find_longest(hb_page_trace *trace, const char *name, int64_t *from, int64_t *to)
{
    const hb_trace *t = hb_trace_file_trace(trace->file);
    int64_t zero = hb_page_span_of(trace).start, longest = -1;
    hb_string_id id = hb_texts_find(&t->strings, name, strlen(name));
    for (uint32_t i = 0; id && i < t->rows.count; i++) {
        const hb_row *row = hb_trace_row(t, i);
        if (row->kind != HB_KIND_KERNEL || row->name != id || row->duration <= longest) continue;
        if (!(row->flags & HB_ROW_COMPLETE) || !hb_row_is_timed(t, row)) continue;
        longest = row->duration;
        *from = row->start - zero;
        *to = *from + longest;
    }
    return longest >= 0;
}

static bool is_low(const hb_kernel_insight *k)
{
    return k->occupancy_percent >= 0 &&
           k->occupancy_percent < hb_advice_threshold(HB_ADVICE_LOW_OCCUPANCY);
}

static bool lacks_matrix(const hb_kernel_insight *k)
{
    return k->matrix != HB_MATRIX_USED &&
           (strcmp(k->kernel_class, "gemm") == 0 || strcmp(k->kernel_class, "convolution") == 0 ||
            strcmp(k->kernel_class, "attention") == 0);
}

static bool is_gemm(const hb_kernel_insight *k)
{
    return strcmp(k->kernel_class, "gemm") == 0;
}

static bool find_kernel(hb_page_trace *trace, bool (*matches)(const hb_kernel_insight *k),
                        int64_t *from, int64_t *to)
{
    const hb_kernel_insight *list;
    hb_insights *insights;
    size_t count;
    if (hb_page_insights(trace, &insights) != HB_OK ||
        hb_insights_kernels(insights, &list, &count) != HB_OK)
        return false;
    for (size_t i = 0; i < count; i++)
        if (matches(&list[i])) return find_longest(trace, list[i].name, from, to);
    return false;
}

/* The longest gap: what ended it, and what the host did, lies around it. */
static bool find_gap(hb_page_trace *trace, int64_t *from, int64_t *to)
{
    const hb_idle_gap *list;
    hb_insights *insights;
    size_t count;
    if (hb_page_insights(trace, &insights) != HB_OK ||
        hb_insights_gaps(insights, &list, &count) != HB_OK || !count)
        return false;
    *from = (int64_t)(list[0].start_us * 1e3);
    *to = *from + (int64_t)(list[0].duration_us * 1e3);
    return true;
}

static bool is_communication(const hb_kernel_insight *k)
{
    return strcmp(k->kernel_class, "communication") == 0;
}

/* Of the host's collectives the longest: nobody else tells of them. */
static bool find_collective(hb_page_trace *trace, int64_t *from, int64_t *to)
{
    const hb_trace *t = hb_trace_file_trace(trace->file);
    int64_t zero = hb_page_span_of(trace).start, longest = -1;
    for (uint32_t i = 0; i < t->rows.count; i++) {
        const hb_row *row = hb_trace_row(t, i);
        if (!(row->flags & HB_ROW_COMPLETE) || hb_row_is_work(row) || row->duration <= longest ||
            !hb_row_is_timed(t, row) ||
            !(hb_name_class_of(hb_trace_text(t, row->name)) & HB_NAME_COLLECTIVE))
            continue;
        longest = row->duration;
        *from = row->start - zero;
        *to = *from + longest;
    }
    return longest >= 0;
}

/* When most of a GPU's memory was allocated, and a little before and after. */
static bool find_peak(hb_page_trace *trace, int64_t *from, int64_t *to)
{
    enum { AROUND = 100 }; /* of the trace, a part before and after */
    const hb_trace *t = hb_trace_file_trace(trace->file);
    hb_page_span span = hb_page_span_of(trace);
    double most = 0;
    for (uint32_t i = 0; i < t->rows.count; i++) {
        const hb_row *row = hb_trace_row(t, i);
        if (row->kind != HB_KIND_MEMORY) continue;
        const hb_memory_row *m = hb_trace_memory(t, row);
        if (m->device_type == 0 || !(m->allocated > most)) continue;
        most = m->allocated;
        *from = HB_MAX(row->start - span.start - (span.end - span.start) / AROUND, 0);
        *to = row->start - span.start + (span.end - span.start) / AROUND;
    }
    return most > 0;
}

/* From the first work of any GPU to the last one's end. */
static bool find_work(hb_page_trace *trace, int64_t *from, int64_t *to)
{
    const hb_trace *t = hb_trace_file_trace(trace->file);
    int64_t zero = hb_page_span_of(trace).start;
    bool found = false;
    for (uint32_t i = 0; i < t->rows.count; i++) {
        const hb_row *row = hb_trace_row(t, i);
        if (!hb_row_is_work(row) || !(row->flags & HB_ROW_COMPLETE) || !hb_row_is_timed(t, row))
            continue;
        int64_t start = row->start - zero, end = hb_row_end(row) - zero;
        *from = found ? HB_MIN(*from, start) : start;
        *to = found ? HB_MAX(*to, end) : end;
        found = true;
    }
    return found;
}

/* The view that it stands in, and the place in the timeline, ns since its start; false: there is
 * none. */
static bool find_evidence(hb_page_trace *trace, const hb_finding *finding, const char **view,
                          int64_t *from, int64_t *to)
{
    static const struct {
        const char *rule, *view;
        bool (*kernel)(const hb_kernel_insight *k); /* the longest one that is so; NULL: other */
        bool (*other)(hb_page_trace *trace, int64_t *from, int64_t *to);
    } places[] = {{"idle", "gpu", NULL, find_gap},
                  {"data-loading", "gpu", NULL, find_gap},
                  {"synchronisation", "gpu", NULL, find_gap},
                  {"launch-bound", "gpu", NULL, find_gap},
                  {"allocation", "gpu", NULL, find_gap},
                  {"blocking-copies", "gpu", NULL, find_gap},
                  {"exposed-communication", "ranks", is_communication, find_collective},
                  {"low-occupancy", "kernels", is_low, NULL},
                  {"no-matrix-cores", "kernels", lacks_matrix, NULL},
                  {"single-precision", "kernels", is_gemm, NULL},
                  {"full-memory", "memory", NULL, find_peak},
                  {"one-process", "ranks", NULL, find_work},
                  {"host-collectives", "ranks", NULL, find_collective}};
    *view = "gpu";
    for (size_t i = 0; i < HB_ARRAY_LEN(places); i++) {
        if (strcmp(places[i].rule, finding->rule) != 0) continue;
        *view = places[i].view;
        if (places[i].kernel && find_kernel(trace, places[i].kernel, from, to)) return true;
        return places[i].other && places[i].other(trace, from, to);
    }
    return false;
}

static hb_result put_findings(hb_page_trace *trace, hb_emitter *out)
{
    const hb_finding *list;
    hb_insights *insights;
    size_t count;
    HB_TRY(hb_page_insights(trace, &insights));
    HB_TRY(hb_insights_findings(insights, &list, &count));
    hb_table_begin(out, "findings", &findings_table);
    for (size_t i = 0; i < count; i++) {
        int64_t from = 0, to = 0;
        const char *view;
        bool placed = find_evidence(trace, &list[i], &view, &from, &to);
        hb_table_row(out, &findings_table, list[i].rule, 100 * list[i].weight, list[i].text,
                     list[i].evidence, view, placed ? (double)from / 1e3 : NAN,
                     placed ? (double)to / 1e3 : NAN);
    }
    hb_table_end(out);
    return HB_OK;
}

/* The plugin's sentences are HTML, whose tags are of no use here. */
static void put_advice(hb_trace_file *file, hb_emitter *out)
{
    const char *html;
    hb_emit_open_key(out, "plugin_advice", '[');
    for (size_t i = 0; (html = hb_trace_file_advice(file, i)) != NULL; i++) {
        char *text = strdup(html), *to = text;
        bool tag = false;
        if (!text) continue;
        for (const char *c = html; *c; c++) {
            if (*c == '<') tag = true;
            if (!tag) *to++ = *c;
            if (*c == '>') tag = false;
        }
        *to = 0;
        hb_emit_text(out, text);
        free(text);
    }
    hb_emit_close(out, ']');
}

/* ---- GPUs ---- */

static const hb_page_column gpu_columns[] = {{"GPU", HB_CELL_TEXT},
                                             {"Utilization", HB_CELL_PERCENT},
                                             {"SM efficiency", HB_CELL_PERCENT},
                                             {"Occupancy", HB_CELL_PERCENT}};
static const hb_page_table gpus_table = HB_PAGE_TABLE("GPUs", gpu_columns);

static void put_gpus(const hb_analysis *a, hb_emitter *out)
{
    hb_table_begin(out, "gpus", &gpus_table);
    for (uint32_t i = 0; i < a->num_gpus; i++) {
        const hb_gpu *g = &a->gpus[i];
        char id[16];
        snprintf(id, sizeof id, "%d", g->id);
        hb_table_row(out, &gpus_table, id, 100 * g->utilization,
                     g->has_sm ? 100 * g->sm_efficiency : NAN,
                     g->has_occupancy ? g->occupancy : NAN);
    }
    hb_table_end(out);
}

/* ---- what the plugin shows instead ---- */

static hb_result put_plain(hb_page_trace *trace, hb_emitter *out)
{
    const hb_step_stat *steps;
    const hb_operator_stat *operators;
    size_t count, num_operators;
    double device = 0;
    hb_open_options options = trace->page->open;
    hb_trace_file *file;
    options.unify = false;
    HB_TRY(hb_trace_file_open(trace->path, &options, &file));
    hb_result result = hb_trace_file_steps(file, &steps, &count);
    if (result == HB_OK) result = hb_trace_file_operators(file, false, &operators, &num_operators);
    for (size_t i = 0; result == HB_OK && i < num_operators; i++)
        device += operators[i].self_device_us;
    if (result == HB_OK) {
        put_advice(file, out);
        hb_page_roles(out, "plugin_roles", steps, count);
        hb_emit_member(out, "plugin_steps", (double)count);
        hb_emit_member(out, "plugin_operators_device_us", device);
    }
    hb_trace_file_close(file);
    return result;
}

/* Where it makes a difference the file is read once more, as it is: not what came by a pipe. */
hb_result hb_page_plugin(hb_page_trace *trace, hb_emitter *out)
{
    if (!hb_trace_file_analysis(trace->file)) hb_emit_pair(out, "lost", hb_last_error());
    if (hb_trace_file_num_mended(trace->file) == 0)
        put_advice(trace->file, out);
    else if (strcmp(trace->path, "-") != 0 && put_plain(trace, out) != HB_OK)
        hb_emit_pair(out, "plugin_loses", hb_last_error());
    return HB_OK;
}

/* ---- facts ---- */

static void put_metadata(hb_page_trace *trace, hb_emitter *out)
{
    static const char *const keys[] = {"deviceProperties",
                                       "distributedInfo",
                                       "hipboard_hip_notes",
                                       "hipboard_reason",
                                       "hipboard_lost",
                                       "hipboard_lost_by_kill",
                                       "hipboard_recovered",
                                       "hipboard_kernel_sampling",
                                       "hipboard_ring_seconds",
                                       "hipboard_hip_backend",
                                       "hip_runtime_version",
                                       "hip_driver_version",
                                       "host_name",
                                       "schemaVersion",
                                       "with_stack",
                                       "profile_memory",
                                       "record_shapes",
                                       "with_modules",
                                       "with_flops"};
    hb_emit_open_key(out, "metadata", '{');
    for (size_t i = 0; i < HB_ARRAY_LEN(keys); i++) {
        const char *json = hb_trace_file_metadata(trace->file, keys[i]);
        /* As a text: it is JSON of whatever writer. */
        if (json) hb_emit_pair(out, keys[i], json);
    }
    hb_emit_close(out, '}');
}

static void put_notes(hb_page_trace *trace, hb_emitter *out)
{
    size_t count = hb_trace_file_num_notes(trace->file);
    hb_emit_open_key(out, "notes", '[');
    for (size_t i = 0; i < count; i++) {
        hb_trace_note note = hb_trace_file_note(trace->file, i);
        hb_emit_open(out, '[');
        hb_emit_text(out, note.what);
        if (note.offset == HB_NO_OFFSET)
            hb_emit_null(out);
        else
            hb_emit_finite(out, (double)note.offset);
        hb_emit_close(out, ']');
    }
    hb_emit_close(out, ']');
}

static void put_facts(hb_page_trace *trace, hb_emitter *out)
{
    hb_page_span when = hb_page_span_of(trace);
    int64_t rank;
    const char *devices = hb_trace_file_metadata(trace->file, "deviceProperties");
    hb_emit_member(out, "events", (double)hb_trace_file_num_events(trace->file));
    hb_emit_member(out, "text_bytes", (double)hb_trace_file_text_bytes(trace->file));
    hb_emit_member(out, "mended", (double)hb_trace_file_num_mended(trace->file));
    hb_emit_member(out, "span_us", hb_ns_to_us(when.end - when.start));
    hb_emit_bool(out, "simulated", devices && strstr(devices, "(simulated)"));
    if (hb_trace_file_rank(trace->file, &rank)) hb_emit_member(out, "rank", (double)rank);
    put_metadata(trace, out);
    put_notes(trace, out);
}

hb_result hb_page_overview(hb_page_trace *trace, hb_emitter *out)
{
    const hb_step_stat *steps;
    size_t count;
    put_facts(trace, out);
    const hb_analysis *a = hb_trace_file_first_part(trace->file);
    if (a && hb_trace_file_first_steps(trace->file, &steps, &count) == HB_OK) {
        hb_page_roles(out, "roles", steps, count);
        hb_emit_member(out, "steps", (double)count);
        put_gpus(a, out);
    } else {
        hb_emit_pair(out, "lost", hb_last_error()); /* what the plugin loses has findings, too */
    }
    return put_findings(trace, out);
}
