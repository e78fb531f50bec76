/* SPDX-License-Identifier: MIT
 *
 * hipboard/analysis.h: torch's tables.
 */
#include <stdlib.h>

#include "api/api_trace_file.h"
#include "torch/table_text.h"

struct hb_key_averages {
    hb_trace_file *own; /* closed with this; NULL: the caller's */
    hb_arena arena;
    hb_trace *trace;
    hb_fn_list list;
    hb_group_options grouping;
    hb_averages averages;
    const char ***stacks;     /* frames as texts, by group */
    hb_string_id last_shapes; /* of the last group in order of appearance */
};

static const char *text_of(const hb_trace *trace, hb_string_id id)
{
    return id ? hb_trace_text(trace, id).s : "";
}

static void keep_stacks(hb_key_averages *k)
{
    k->stacks = HB_NEW_ARRAY(&k->arena, const char **, k->averages.count + 1);
    for (uint32_t i = 0; i < k->averages.count; i++) {
        const hb_fn_stack *s = &k->averages.items[i].stack;
        k->stacks[i] = HB_NEW_ARRAY(&k->arena, const char *, s->count + 1);
        for (uint32_t f = 0; f < s->count; f++)
            k->stacks[i][f] = text_of(k->trace, s->frames[f]);
    }
}

static hb_result make(hb_key_averages *k, const char *sort_by)
{
    if (hb_arena_try(&k->arena)) {
        hb_fn_list_make(&k->list, &k->arena, k->trace);
        k->averages = hb_key_averages_make(&k->list, &k->grouping);
        if (k->averages.count) k->last_shapes = k->averages.items[k->averages.count - 1].shapes;
        if (sort_by) HB_TRY(hb_averages_sort(&k->averages, &k->arena, k->trace, sort_by));
        keep_stacks(k);
    }
    return hb_arena_outcome(&k->arena);
}

hb_result hb_key_averages_create(hb_trace_file *file, const hb_key_averages_options *options,
                                 hb_key_averages **averages)
{
    hb_key_averages_options o = HB_KEY_AVERAGES_OPTIONS_INIT;
    if (!file || !averages)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no trace file or no place for the result");
    *averages = NULL;
    HB_TRY(hb_trace_file_need_events(file));
    HB_TRY(hb_options_take(options, &o, sizeof o, "HB_KEY_AVERAGES_OPTIONS_INIT"));
    hb_key_averages *k = calloc(1, sizeof *k);
    if (!k) return hb_no_memory();
    k->trace = hb_trace_file_trace(file);
    k->grouping = (hb_group_options){.each = o.events,
                                     .by_shape = o.group_by_input_shape,
                                     .by_overload = o.group_by_overload_name,
                                     .stack_frames = o.group_by_stack_n};
    hb_result result = make(k, o.sort_by);
    if (result != HB_OK)
        hb_key_averages_destroy(k);
    else
        *averages = k;
    return result;
}

void hb_key_averages_own(hb_key_averages *k, hb_trace_file *file)
{
    k->own = file;
}

void hb_key_averages_destroy(hb_key_averages *k)
{
    if (!k) return;
    hb_arena_free(&k->arena);
    hb_trace_file_close(k->own);
    free(k);
}

size_t hb_key_averages_count(const hb_key_averages *k)
{
    return k ? k->averages.count : 0;
}

static hb_average_stat stat_of(const hb_trace *trace, const hb_average *a)
{
    return (hb_average_stat){.key = text_of(trace, a->name),
                             .overload_name = text_of(trace, a->overload),
                             .input_shapes = text_of(trace, a->shapes),
                             .is_device = a->device,
                             .is_user_annotation = a->annotation,
                             .is_nested = a->nested,
                             .count = a->count,
                             .cpu_us = a->cpu_total,
                             .self_cpu_us = a->self_cpu,
                             .device_us = a->device_total,
                             .self_device_us = a->self_device,
                             .cpu_bytes = a->cpu_bytes,
                             .self_cpu_bytes = a->self_cpu_bytes,
                             .device_bytes = a->device_bytes,
                             .self_device_bytes = a->self_device_bytes,
                             .flops = a->flops};
}

hb_result hb_key_averages_get(const hb_key_averages *k, size_t index, hb_average_stat *stat)
{
    if (!k || !stat) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    if (index >= k->averages.count) return hb_fail(HB_ERROR_NOT_FOUND, "no group %zu", index);
    *stat = stat_of(k->trace, &k->averages.items[index]);
    stat->stack = k->stacks[index];
    stat->stack_size = k->averages.items[index].stack.count;
    return HB_OK;
}

hb_result hb_key_averages_total(hb_key_averages *k, hb_average_stat *stat)
{
    if (!k || !stat) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    hb_average total = hb_total_average(&k->list);
    *stat = stat_of(k->trace, &total);
    stat->key = "Total";
    return HB_OK;
}

/* ---- the table ---- */

static hb_result width_of(unsigned given, uint32_t otherwise, const char *name, uint32_t *width)
{
    if (given > 0 && given < 4)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "%s is %u; at least 4", name, given);
    *width = given ? given : otherwise;
    return HB_OK;
}

/* What every text begins with: its options, as a style. */
static hb_result begin_text(hb_key_averages *k, const hb_table_options *options, char **text,
                            hb_table_style *style)
{
    hb_table_options o = HB_TABLE_OPTIONS_INIT;
    if (!k || !text) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    *text = NULL;
    HB_TRY(hb_options_take(options, &o, sizeof o, "HB_TABLE_OPTIONS_INIT"));
    const char *unit = o.time_unit;
    if (unit && strcmp(unit, "s") != 0 && strcmp(unit, "ms") != 0 && strcmp(unit, "us") != 0)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "time unit '%s': s, ms or us", unit);
    *style = (hb_table_style){.row_limit = o.row_limit ? o.row_limit : 100,
                              .header = o.header,
                              .device = o.device_name ? o.device_name : "CUDA",
                              .time_unit = unit,
                              .top_level_only = o.top_level_events_only};
    HB_TRY(width_of(o.max_name_column_width, 55, "max_name_column_width", &style->max_name));
    HB_TRY(width_of(o.max_shapes_column_width, 80, "max_shapes_column_width", &style->max_shapes));
    return width_of(o.max_src_column_width, 75, "max_src_column_width", &style->max_source);
}

hb_result hb_key_averages_table(hb_key_averages *k, const hb_table_options *options, char **text,
                                size_t *size)
{
    hb_table_style style;
    hb_buf buf;
    HB_TRY(begin_text(k, options, text, &style));
    hb_buf_init(&buf, SIZE_MAX / 2);
    locale_t before = hb_enter_c_locale();
    hb_report_table(&k->list, &k->averages, &style, &buf);
    hb_leave_c_locale(before);
    return hb_buf_hand_out(&buf, HB_OK, text, size);
}

hb_result hb_key_averages_total_text(hb_key_averages *k, const hb_table_options *options,
                                     char **text, size_t *size)
{
    hb_table_style style;
    hb_buf buf;
    HB_TRY(begin_text(k, options, text, &style));
    hb_average total = hb_total_average(&k->list);
    total.shapes = k->last_shapes;
    hb_buf_init(&buf, SIZE_MAX / 2);
    locale_t before = hb_enter_c_locale();
    hb_report_total(k->trace, &total, &style, &buf);
    hb_leave_c_locale(before);
    return hb_buf_hand_out(&buf, HB_OK, text, size);
}
