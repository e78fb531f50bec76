/* SPDX-License-Identifier: MIT
 *
 * hipboard/analysis.h: single trace files.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/api_trace_file.h"
#include "import/import_read.h"
#include "logdir/open_options.h"
#include "normalize/keep_steps.h"
#include "normalize/normalize.h"
#include "routes/routes_logdir.h"

struct hb_trace_file {
    hb_trace trace;
    hb_told_step *told; /* of a digest; NULL: it is a trace */
    uint32_t num_told;
    hb_read_report report;
    hb_analysis analysis;
    bool begun, analysed; /* the first part of the analysis, and all of it */
    hb_result first_result, analysis_result;
    char *reason;  /* of whichever failed */
    char far[120]; /* a note of events that are too far away; empty: there are none */
    hb_step_stat *steps;
    hb_operator_stat *operators[2]; /* by name, by shape */
    hb_kernel_stats *kernels;
    hb_gpu_stat *gpus;
    hb_memory_stats_row *memory;
    hb_module_stats *modules;
    size_t num_steps, num_kernels, num_gpus, num_memory, num_modules;
};

/* What nanoseconds do not reach. */
static void note_far(hb_trace_file *file)
{
    const hb_column *odd = &file->trace.odd_times;
    uint64_t count = 0;
    for (uint32_t i = 0; i < odd->count; i++)
        count += ((const hb_odd_times *)hb_column_at(odd, i))->far;
    if (count)
        snprintf(file->far, sizeof file->far,
                 "%llu event%s before 1876 or after 2064, which only the plugin's own numbers have",
                 (unsigned long long)count, hb_plural(count));
}

hb_result hb_trace_file_open(const char *path, const hb_open_options *options, hb_trace_file **file)
{
    hb_open_options o;
    if (!path || !file)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no path or no place for the result");
    *file = NULL;
    HB_TRY(hb_open_options_take(options, &o));
    hb_trace_file *made = hb_trace_file_new();
    if (!made) return hb_no_memory();
    hb_file_progress context = {&o, path};
    hb_read_options read = {.max_bytes = o.max_memory,
                            .progress = o.progress ? hb_file_progress_report : NULL,
                            .context = &context};
    locale_t before = hb_enter_c_locale();
    hb_result result = hb_import_read(path, o.process, &read, &made->trace, &made->report);
    hb_leave_c_locale(before);
    if (result == HB_OK) note_far(made);
    if (result == HB_OK && o.unify) result = hb_normalize(&made->trace);
    if (result != HB_OK)
        hb_trace_file_close(made);
    else
        *file = made;
    return result;
}

void hb_trace_file_close(hb_trace_file *file)
{
    if (!file) return;
    if (file->begun) hb_analysis_free(&file->analysis);
    hb_trace_free(&file->trace);
    free(file->told);
    free(file->reason);
    free(file->steps);
    free(file->operators[0]);
    free(file->operators[1]);
    free(file->kernels);
    free(file->gpus);
    free(file->memory);
    free(file->modules);
    free(file);
}

hb_trace_file *hb_trace_file_new(void)
{
    return calloc(1, sizeof(hb_trace_file));
}

void hb_trace_file_tell_steps(hb_trace_file *file, hb_told_step *steps, uint32_t count)
{
    file->told = steps;
    file->num_told = count;
}

bool hb_trace_file_is_digest(const hb_trace_file *file)
{
    return file && file->told;
}

hb_trace *hb_trace_file_trace(hb_trace_file *file)
{
    return &file->trace;
}

size_t hb_trace_file_num_notes(const hb_trace_file *file)
{
    return file ? file->report.num_notes + (*file->far != 0) : 0;
}

hb_trace_note hb_trace_file_note(const hb_trace_file *file, size_t index)
{
    if (index >= hb_trace_file_num_notes(file)) return (hb_trace_note){"", 0};
    if (index == file->report.num_notes) return (hb_trace_note){file->far, HB_NO_OFFSET};
    const hb_read_note *n = &file->report.notes[index];
    bool cut = n->defect == HB_JSON_DEFECT_CUT && file->report.cut_reason[0];
    return (hb_trace_note){cut ? file->report.cut_reason : hb_json_defect_text(n->defect),
                           n->offset};
}

size_t hb_trace_file_num_mended(const hb_trace_file *file)
{
    return file ? file->trace.num_mended : 0;
}

uint64_t hb_trace_file_text_bytes(const hb_trace_file *file)
{
    return file ? file->report.bytes : 0;
}

uint64_t hb_trace_file_memory_bytes(const hb_trace_file *file)
{
    return file ? hb_trace_bytes(&file->trace) : 0;
}

uint64_t hb_trace_file_all_bytes(const hb_trace_file *file)
{
    return hb_trace_bytes(&file->trace) + (file->begun ? file->analysis.arena.bytes : 0);
}

/* ---- events ---- */

size_t hb_trace_file_num_events(const hb_trace_file *file)
{
    return file ? file->trace.rows.count : 0;
}

static void key_text(const hb_trace *trace, hb_key key, char text[32])
{
    hb_buf buf;
    hb_buf_init(&buf, SIZE_MAX / 2);
    if (key != HB_KEY_NONE) hb_buf_key(&buf, trace, key);
    size_t n = HB_MIN(buf.size, 31);
    if (n) memcpy(text, buf.data, n);
    text[n] = 0;
    hb_buf_free(&buf);
}

static const char *text_or_null(const hb_trace *trace, hb_string_id id)
{
    return id ? hb_trace_text(trace, id).s : NULL;
}

static void add_side(const hb_trace *t, const hb_row *row, hb_file_event *e)
{
    switch ((hb_kind)row->kind) {
    case HB_KIND_OPERATOR:
    case HB_KIND_ANNOTATION:
    case HB_KIND_PYTHON:
        e->input_dims = text_or_null(t, hb_trace_op(t, row)->dims);
        e->call_stack = text_or_null(t, hb_trace_op(t, row)->stack);
        break;
    case HB_KIND_RUNTIME:
    case HB_KIND_CALL:
    case HB_KIND_KERNEL:
    case HB_KIND_MEMCPY:
    case HB_KIND_MEMSET: {
        hb_key key = hb_row_correlation_key(t, row);
        e->has_correlation = hb_key_tag(key) == HB_KEY_TAG_INT;
        if (e->has_correlation) e->correlation = hb_key_value(key);
        break;
    }
    default: break;
    }
}

hb_result hb_trace_file_event(const hb_trace_file *file, size_t index, hb_file_event *event)
{
    if (!file || !event) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    const hb_trace *t = &file->trace;
    if (index >= t->rows.count) return hb_fail(HB_ERROR_NOT_FOUND, "no event %zu", index);
    const hb_row *row = hb_trace_row(t, (uint32_t)index);
    bool memory = row->kind == HB_KIND_MEMORY;
    *event = (hb_file_event){
        .name = text_or_null(t, row->name),
        .category = text_or_null(t, hb_row_category(t, row)),
        .phase = row->ph,
        .has_ts = row->flags & HB_ROW_TS,
        .has_dur = row->flags & HB_ROW_DUR,
        .ts_us = hb_plugin_ts(t, row),
    };
    if (event->has_dur && !memory) event->dur_us = hb_plugin_dur(t, row);
    bool arrow = row->ph == 's' || row->ph == 't' || row->ph == 'f'; /* whose id is its own */
    if (row->kind != HB_KIND_FUNCTION && !memory && !arrow) {
        hb_key id = hb_row_key(t, row);
        event->has_external_id = hb_key_tag(id) == HB_KEY_TAG_INT;
        if (event->has_external_id) event->external_id = hb_key_value(id);
    }
    key_text(t, hb_row_pid_key(t, row), event->pid);
    key_text(t, hb_row_tid_key(t, row), event->tid);
    add_side(t, row, event);
    return HB_OK;
}

const char *hb_trace_file_metadata(const hb_trace_file *file, const char *key)
{
    if (!file || !key) return NULL;
    hb_str json = hb_trace_member(&file->trace, key);
    return json.len ? json.s : NULL;
}

bool hb_trace_file_rank(const hb_trace_file *file, int64_t *rank)
{
    if (!file || !rank) return false;
    hb_value v = hb_json_member(hb_trace_member(&file->trace, "distributedInfo"), "rank");
    return hb_value_int(&v, rank);
}

static hb_result keep_told(hb_trace_file *file, int64_t first, int64_t last)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < file->num_told; i++)
        if (file->told[i].number >= first && file->told[i].number <= last)
            file->told[kept++] = file->told[i];
    if (!kept) return hb_fail(HB_ERROR_NOT_FOUND, "there is no such step");
    file->num_told = kept;
    return HB_OK;
}

hb_result hb_trace_file_keep_steps(hb_trace_file *file, int64_t first, int64_t last)
{
    if (!file) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no trace file");
    if (file->begun)
        return hb_fail(HB_ERROR_STATE, "steps are to be chosen before results are asked for");
    if (file->told) return keep_told(file, first, last);
    return hb_keep_steps(&file->trace, first, last);
}

/* ---- analysis ---- */

static hb_result outcome(hb_trace_file *file, hb_result result)
{
    if (result == HB_OK) return HB_OK;
    return hb_fail(result, "%s", file->reason ? file->reason : "out of memory");
}

static hb_result begin(hb_trace_file *file)
{
    if (!file) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no trace file");
    if (!file->begun) {
        file->begun = true;
        locale_t before = hb_enter_c_locale();
        file->first_result = file->told ? hb_analysis_of_steps(&file->analysis, &file->trace,
                                                               file->told, file->num_told)
                                        : hb_analysis_begin(&file->analysis, &file->trace);
        hb_leave_c_locale(before);
        if (file->first_result != HB_OK) file->reason = strdup(hb_last_error());
    }
    return outcome(file, file->first_result);
}

hb_result hb_trace_file_need_events(const hb_trace_file *file)
{
    if (!file->told) return HB_OK;
    return hb_fail(HB_ERROR_UNSUPPORTED, "a digest tells of steps and communication; this is in "
                                         "the trace that it was made of");
}

static hb_result analyse(hb_trace_file *file)
{
    HB_TRY(begin(file));
    HB_TRY(hb_trace_file_need_events(file));
    if (!file->analysed) {
        file->analysed = true;
        locale_t before = hb_enter_c_locale();
        file->analysis_result = hb_analysis_finish(&file->analysis);
        hb_leave_c_locale(before);
        if (file->analysis_result != HB_OK) file->reason = strdup(hb_last_error());
    }
    return outcome(file, file->analysis_result);
}

/* What a digest has is its first part. */
static hb_result analyse_steps(hb_trace_file *file)
{
    return file && file->told ? begin(file) : analyse(file);
}

const hb_analysis *hb_trace_file_first_part(hb_trace_file *file)
{
    return begin(file) == HB_OK ? &file->analysis : NULL;
}

hb_analysis *hb_trace_file_analysis(hb_trace_file *file)
{
    return analyse(file) == HB_OK ? &file->analysis : NULL;
}

/* ---- lists of results, each made when it is asked for ---- */

static hb_result make_steps(hb_trace_file *file)
{
    const hb_analysis *a = &file->analysis;
    file->steps = calloc(a->steps.count + 1, sizeof *file->steps);
    if (!file->steps) return hb_no_memory();
    file->num_steps = a->steps.count;
    for (uint32_t i = 0; i < a->steps.count; i++) {
        const hb_step *s = &a->steps.items[i];
        file->steps[i] = (hb_step_stat){
            .name = hb_trace_text(a->trace, s->name).s,
            .start_us = s->range.start.v,
            .duration_us = s->costs[HB_ROLE_TOTAL].v,
            .kernel_us = s->costs[HB_ROLE_KERNEL].v,
            .memcpy_us = s->costs[HB_ROLE_MEMCPY].v,
            .memset_us = s->costs[HB_ROLE_MEMSET].v,
            .communication_us = s->costs[HB_ROLE_COMMUNICATION].v,
            .runtime_us = s->costs[HB_ROLE_RUNTIME].v,
            .loader_us = s->costs[HB_ROLE_LOADER].v,
            .cpu_us = s->costs[HB_ROLE_CPU].v,
            .other_us = s->costs[HB_ROLE_OTHER].v,
        };
    }
    return HB_OK;
}

static hb_result make_operators(const hb_analysis *a, const hb_op_stats *stats,
                                hb_operator_stat **list)
{
    *list = calloc(stats->count + 1, sizeof **list);
    if (!*list) return hb_no_memory();
    for (uint32_t i = 0; i < stats->count; i++) {
        const hb_op_stat *s = &stats->items[i];
        (*list)[i] = (hb_operator_stat){
            .name = hb_trace_text(a->trace, s->name).s,
            .input_shapes = hb_trace_text(a->trace, s->shape).s,
            .calls = s->calls,
            .host_us = s->host,
            .self_host_us = s->self_host,
            .device_us = s->device,
            .self_device_us = s->self_device,
            .tc_eligible = s->tc_eligible,
        };
    }
    return HB_OK;
}

static hb_result make_kernels(hb_trace_file *file)
{
    const hb_analysis *a = &file->analysis;
    file->kernels = calloc(a->kernel_names.count + 1, sizeof *file->kernels);
    if (!file->kernels) return hb_no_memory();
    file->num_kernels = a->kernel_names.count;
    for (uint32_t i = 0; i < a->kernel_names.count; i++) {
        const hb_kernel_stat *k = &a->kernel_names.items[i];
        file->kernels[i] = (hb_kernel_stats){
            .name = hb_trace_text(a->trace, k->name).s,
            .calls = k->calls,
            .total_us = k->total,
            .mean_us = k->mean,
            .max_us = k->max,
            .min_us = k->min,
            .blocks_per_sm = k->blocks_per_sm,
            .occupancy_percent = k->occupancy,
            .tc_used = k->tc_used,
        };
    }
    return HB_OK;
}

static hb_result make_gpus(hb_trace_file *file)
{
    const hb_analysis *a = &file->analysis;
    file->gpus = calloc((size_t)a->num_gpus + 1, sizeof *file->gpus);
    if (!file->gpus) return hb_no_memory();
    file->num_gpus = a->num_gpus;
    for (size_t i = 0; i < file->num_gpus; i++) {
        const hb_gpu *g = &a->gpus[i];
        file->gpus[i] = (hb_gpu_stat){
            .id = g->id,
            .utilization = g->utilization,
            .sm_efficiency = g->has_sm ? g->sm_efficiency : -1,
            .occupancy_percent = g->has_occupancy ? g->occupancy : -1,
            .tensor_core_ratio = g->has_tc ? g->tc_ratio : -1,
        };
    }
    return HB_OK;
}

static hb_memory_stats_row memory_row(const hb_analysis *a, uint32_t device,
                                      const hb_memory_stat *s)
{
    const double *m = s->metrics;
    return (hb_memory_stats_row){
        .device = hb_trace_text(a->trace, a->device_names.items[device]).s,
        .name = hb_trace_text(a->trace, s->name).s,
        .calls = s->calls,
        .increase_bytes = m[HB_MEMORY_INCREASE],
        .self_increase_bytes = m[HB_MEMORY_SELF_INCREASE],
        .allocated_bytes = m[HB_MEMORY_ALLOCATED],
        .self_allocated_bytes = m[HB_MEMORY_SELF_ALLOCATED],
        .allocations = m[HB_MEMORY_ALLOCATIONS],
        .self_allocations = m[HB_MEMORY_SELF_ALLOCATIONS],
    };
}

static void fill_memory(hb_trace_file *file, hb_arena *arena)
{
    hb_analysis *a = &file->analysis;
    uint32_t n = a->device_names.count;
    hb_memory_window all = {0};
    hb_u32s order = {0};
    hb_memory_stats *stats = HB_NEW_ARRAY(arena, hb_memory_stats, n + 1);
    if (a->memory.count) hb_memory_statistics(a, arena, &all, stats, &order);
    size_t count = 0;
    for (uint32_t d = 0; d < n; d++)
        count += stats[d].count;
    file->memory = calloc(count + 1, sizeof *file->memory);
    if (!file->memory) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory");
    for (uint32_t d = 0; d < n; d++)
        for (uint32_t i = 0; i < stats[d].count; i++)
            file->memory[file->num_memory++] = memory_row(a, d, &stats[d].items[i]);
}

static hb_result try_memory(hb_trace_file *file, hb_arena *arena)
{
    if (hb_arena_try(arena)) fill_memory(file, arena);
    return hb_arena_outcome(arena);
}

static hb_result make_memory(hb_trace_file *file)
{
    hb_arena arena = {0};
    hb_result result = try_memory(file, &arena);
    hb_arena_free(&arena);
    return result;
}

static size_t count_modules(const hb_module_stat *stats, uint32_t n)
{
    size_t count = n;
    for (uint32_t i = 0; i < n; i++)
        count += count_modules(stats[i].children, stats[i].num_children);
    return count;
}

static void list_modules(hb_trace_file *file, const hb_module_stat *stats, uint32_t n, int depth)
{
    for (uint32_t i = 0; i < n; i++) {
        const hb_module_stat *m = &stats[i];
        file->modules[file->num_modules++] = (hb_module_stats){
            .name = hb_trace_text(&file->trace, m->name).s,
            .depth = depth,
            .occurrences = m->occurences,
            .operators = m->operators,
            .host_us = m->host,
            .self_host_us = m->self_host,
            .device_us = m->device,
            .self_device_us = m->self_device,
        };
        list_modules(file, m->children, m->num_children, depth + 1);
    }
}

static hb_result make_modules(hb_trace_file *file)
{
    const hb_analysis *a = &file->analysis;
    file->modules = calloc(count_modules(a->modules, a->num_modules) + 1, sizeof *file->modules);
    if (!file->modules) return hb_no_memory();
    list_modules(file, a->modules, a->num_modules, 0);
    return HB_OK;
}

#define HB_TRACE_FILE_LIST(list, type, analyse)                                                 \
    hb_result hb_trace_file_##list(hb_trace_file *file, const type **items, size_t *count)      \
    {                                                                                           \
        if (!items || !count) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL"); \
        HB_TRY(analyse(file));                                                                  \
        if (!file->list) HB_TRY(make_##list(file));                                             \
        *items = file->list;                                                                    \
        *count = file->num_##list;                                                              \
        return HB_OK;                                                                           \
    }

HB_TRACE_FILE_LIST(steps, hb_step_stat, analyse_steps)
HB_TRACE_FILE_LIST(kernels, hb_kernel_stats, analyse)
HB_TRACE_FILE_LIST(gpus, hb_gpu_stat, analyse)
HB_TRACE_FILE_LIST(memory, hb_memory_stats_row, analyse)
HB_TRACE_FILE_LIST(modules, hb_module_stats, analyse)

hb_result hb_trace_file_first_steps(hb_trace_file *file, const hb_step_stat **steps, size_t *count)
{
    HB_TRY(begin(file));
    if (!file->steps) HB_TRY(make_steps(file));
    *steps = file->steps;
    *count = file->num_steps;
    return HB_OK;
}

hb_result hb_trace_file_operators(hb_trace_file *file, bool by_shape,
                                  const hb_operator_stat **operators, size_t *count)
{
    if (!operators || !count) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    HB_TRY(analyse(file));
    const hb_op_stats *stats = by_shape ? &file->analysis.by_shape : &file->analysis.by_name;
    hb_operator_stat **list = &file->operators[by_shape];
    if (!*list) HB_TRY(make_operators(&file->analysis, stats, list));
    *operators = *list;
    *count = stats->count;
    return HB_OK;
}

const char *hb_trace_file_advice(hb_trace_file *file, size_t index)
{
    if (analyse(file) != HB_OK || index >= file->analysis.advice.count) return NULL;
    return file->analysis.advice.items[index];
}

hb_result hb_trace_file_query(hb_trace_file *file, const char *text, char **json, size_t *size)
{
    hb_url url;
    hb_buf buf;
    if (!text || !json) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    *json = NULL;
    HB_TRY(analyse_steps(file));
    HB_TRY(hb_url_parse(&url, text));
    hb_buf_init(&buf, SIZE_MAX / 2);
    hb_emitter out = {&buf, false};
    locale_t before = hb_enter_c_locale();
    hb_result result = hb_query_is_profile_route(url.route)
                           ? hb_query_profile(&file->analysis, NULL, 1, &url, &out)
                           : hb_fail(HB_ERROR_NOT_FOUND, "no route '%s' about one file", url.route);
    hb_leave_c_locale(before);
    hb_url_free(&url);
    return hb_buf_hand_out(&buf, result, json, size);
}
