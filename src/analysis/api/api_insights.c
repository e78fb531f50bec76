/* SPDX-License-Identifier: MIT
 *
 * hipboard/analysis.h: beyond the plugin.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/api_insights.h"
#include "api/api_trace_file.h"
#include "base/files.h"
#include "insight/code_files.h"
#include "plugin/memory_stats.h"

enum { MAX_RULES_SIZE = 1 << 20 };

/* ---- texts ---- */

static char *copy_text(hb_insights *s, const char *text, size_t size)
{
    char *copy = hb_arena_alloc(&s->in.arena, size + 1);
    memcpy(copy, text, size);
    return copy;
}

const char *hb_insights_key_text(hb_insights *s, uint32_t key)
{
    s->in.text.size = 0;
    hb_buf_key(&s->in.text, s->in.trace, hb_trace_key_at(s->in.trace, key));
    return copy_text(s, hb_buf_text(&s->in.text), s->in.text.size);
}

static const char *name_of(const hb_insights *s, hb_string_id name)
{
    return name ? hb_trace_text(s->in.trace, name).s : NULL;
}

static const char *why_text(hb_idle idle)
{
    static const char *const texts[] = {"late", "queued", "unknown"};
    return texts[idle];
}

/* ---- the lists ---- */

static void list_gpus(hb_insights *s, const char **ids)
{
    s->gpus = HB_NEW_ARRAY(&s->in.arena, hb_gpu_time, s->in.gpus.count + 1);
    for (uint32_t i = 0; i < s->in.gpus.count; i++) {
        const hb_gpu_sum *g = &s->in.gpus.items[i];
        ids[i] = hb_insights_key_text(s, g->pid);
        s->gpus[i] = (hb_gpu_time){.gpu = ids[i],
                                   .span_us = g->end - g->start,
                                   .busy_us = g->busy,
                                   .computation_us = g->kinds[HB_WORK_COMPUTATION],
                                   .communication_us = g->kinds[HB_WORK_COMMUNICATION],
                                   .copy_us = g->kinds[HB_WORK_COPY],
                                   .exposed_communication_us = g->exposed_communication,
                                   .exposed_copy_us = g->exposed_copy,
                                   .late_us = g->idle[HB_IDLE_LATE],
                                   .queued_us = g->idle[HB_IDLE_QUEUED],
                                   .unknown_us = g->idle[HB_IDLE_UNKNOWN],
                                   .gaps = g->gaps,
                                   .largest_gap_us = g->largest_gap};
    }
}

static void list_streams(hb_insights *s, const char *const *ids)
{
    s->streams = HB_NEW_ARRAY(&s->in.arena, hb_stream_time, s->in.streams.count + 1);
    for (uint32_t i = 0; i < s->in.streams.count; i++) {
        const hb_stream_sum *x = &s->in.streams.items[i];
        s->streams[i] = (hb_stream_time){.gpu = ids[x->gpu],
                                         .stream = hb_insights_key_text(s, x->tid),
                                         .works = x->works,
                                         .busy_us = x->busy,
                                         .late_us = x->idle[HB_IDLE_LATE],
                                         .queued_us = x->idle[HB_IDLE_QUEUED],
                                         .unknown_us = x->idle[HB_IDLE_UNKNOWN],
                                         .gaps = x->gaps,
                                         .largest_gap_us = x->largest_gap};
    }
}

static void list_copies(hb_insights *s, const char *const *ids)
{
    s->copies = HB_NEW_ARRAY(&s->in.arena, hb_copy_stat, s->in.copies.count + 1);
    for (uint32_t i = 0; i < s->in.copies.count; i++) {
        const hb_copy_sum *c = &s->in.copies.items[i];
        s->copies[i] = (hb_copy_stat){.gpu = ids[c->gpu],
                                      .name = hb_trace_text(s->in.trace, c->name).s,
                                      .calls = c->calls,
                                      .bytes = c->bytes,
                                      .total_us = c->total,
                                      .longest_us = c->longest,
                                      .gb_per_s = c->timed > 0 ? c->bytes / c->timed / 1e3 : -1};
    }
}

static void list_gaps(hb_insights *s, const char *const *ids)
{
    s->causes = HB_NEW_ARRAY(&s->in.arena, hb_idle_cause, s->in.causes.count + 1);
    for (uint32_t i = 0; i < s->in.causes.count; i++) {
        const hb_gap_cause *c = &s->in.causes.items[i];
        s->causes[i] = (hb_idle_cause){.gpu = ids[c->gpu],
                                       .why = why_text(c->idle),
                                       .call = name_of(s, c->cover.call),
                                       .operator_name = name_of(s, c->cover.op),
                                       .many_calls = c->cover.many,
                                       .gaps = c->gaps,
                                       .total_us = c->total,
                                       .largest_us = c->largest};
    }
    s->gaps = HB_NEW_ARRAY(&s->in.arena, hb_idle_gap, s->in.gaps.count + 1);
    for (uint32_t i = 0; i < s->in.gaps.count; i++) {
        const hb_gap *g = &s->in.gaps.items[i];
        uint32_t next = s->in.works.items[g->next].row;
        s->gaps[i] = (hb_idle_gap){.gpu = ids[g->gpu],
                                   .why = why_text(g->idle),
                                   .call = name_of(s, g->cover.call),
                                   .operator_name = name_of(s, g->cover.op),
                                   .many_calls = g->cover.many,
                                   .start_us = g->start - s->in.first,
                                   .duration_us = g->end - g->start,
                                   .next = hb_insight_name(&s->in, next).s};
    }
}

static hb_matrix_use use_of(hb_matrix_verdict verdict)
{
    if (verdict == HB_MATRIX_IS_UNKNOWN) return HB_MATRIX_UNKNOWN;
    return verdict == HB_MATRIX_IS_USED ? HB_MATRIX_USED : HB_MATRIX_NOT_USED;
}

static const char *limit_text(hb_insights *s, const hb_kernel_sum *k)
{
    hb_str limit = hb_insight_limit(&s->in, k);
    return limit.len ? copy_text(s, limit.s, limit.len) : NULL;
}

static bool longer_kernel(const void *context, const void *x, const void *y)
{
    (void)context;
    return ((const hb_kernel_insight *)x)->total_us > ((const hb_kernel_insight *)y)->total_us;
}

static void list_kernels(hb_insights *s)
{
    s->kernels = HB_NEW_ARRAY(&s->in.arena, hb_kernel_insight, s->in.kernels.count + 1);
    for (uint32_t i = 0; i < s->in.kernels.count; i++) {
        const hb_kernel_sum *k = &s->in.kernels.items[i];
        s->kernels[i] = (hb_kernel_insight){.name = hb_trace_text(s->in.trace, k->name).s,
                                            .kernel_class = s->classes[k->class].name,
                                            .matrix = use_of(k->matrix),
                                            .calls = k->calls,
                                            .total_us = k->total,
                                            .occupancy_percent =
                                                k->occupied > 0 ? k->occupancy / k->occupied : -1,
                                            .limited_by = limit_text(s, k)};
    }
    hb_sort(&s->in.arena, s->kernels, s->in.kernels.count, sizeof *s->kernels, longer_kernel, NULL);
}

static bool longer_class(const void *context, const void *x, const void *y)
{
    (void)context;
    return ((const hb_kernel_class *)x)->total_us > ((const hb_kernel_class *)y)->total_us;
}

static void list_classes(hb_insights *s)
{
    s->classes = HB_NEW_ARRAY(&s->in.arena, hb_kernel_class, s->in.classes.count + 1);
    for (uint32_t i = 0; i < s->in.classes.count; i++) {
        const hb_class_sum *c = &s->in.classes.items[i];
        s->classes[i] = (hb_kernel_class){copy_text(s, c->name.s, c->name.len),
                                          c->kernels,
                                          c->calls,
                                          c->total,
                                          c->matrix,
                                          c->no_matrix};
    }
}

static void list_findings(hb_insights *s)
{
    s->findings = HB_NEW_ARRAY(&s->in.arena, hb_finding, s->in.advice.count + 1);
    for (uint32_t i = 0; i < s->in.advice.count; i++) {
        const hb_advice *a = &s->in.advice.items[i];
        s->findings[i] = (hb_finding){a->rule, a->text, a->evidence, a->weight};
    }
}

static hb_result list_all(hb_insights *s)
{
    if (hb_arena_try(&s->in.arena)) {
        const char **ids = HB_NEW_ARRAY(&s->in.arena, const char *, s->in.gpus.count + 1);
        list_gpus(s, ids);
        list_streams(s, ids);
        list_copies(s, ids);
        list_gaps(s, ids);
        list_classes(s);
        list_kernels(s);
        hb_sort(&s->in.arena, s->classes, s->in.classes.count, sizeof *s->classes, longer_class,
                NULL);
        list_findings(s);
    }
    return hb_arena_outcome(&s->in.arena);
}

/* ---- creating ---- */

static hb_result read_rules(hb_insights *s, const char *path)
{
    struct stat st;
    size_t n = 1;
    int fd;
    if (!path) return HB_OK;
    HB_TRY(hb_open_to_read(path, &fd, &st));
    FILE *file = fdopen(fd, "r");
    if (!file) {
        close(fd);
        return hb_no_memory();
    }
    while (n > 0 && s->rules.size <= MAX_RULES_SIZE) {
        char *room = hb_buf_reserve(&s->rules, 4096);
        if (!room) break;
        n = fread(room, 1, 4096, file);
        s->rules.size += n;
    }
    bool failed = ferror(file);
    fclose(file);
    if (failed) return hb_fail(HB_ERROR_IO, "cannot read '%s'", path);
    if (s->rules.size > MAX_RULES_SIZE) return hb_fail(HB_ERROR_LIMIT, "'%s' is over 1 MiB", path);
    return s->rules.failed ? hb_no_memory() : HB_OK;
}

static hb_result make(hb_insights *s, hb_trace *trace, const hb_insights_options *o)
{
    HB_TRY(read_rules(s, o->classes_path));
    hb_insight_inputs inputs = {.rules_path = o->classes_path};
    if (o->classes_path) inputs.rules = (hb_str){hb_buf_text(&s->rules), (uint32_t)s->rules.size};
    locale_t before = hb_enter_c_locale();
    hb_result result = hb_code_files_map(&inputs, o->code_paths, o->num_code_paths);
    if (result == HB_OK) result = hb_insight_run(&s->in, trace, &inputs);
    if (result == HB_OK) result = list_all(s);
    hb_code_files_unmap(&inputs);
    hb_leave_c_locale(before);
    return result;
}

hb_result hb_insights_create(hb_trace_file *file, const hb_insights_options *options,
                             hb_insights **insights)
{
    hb_insights_options o = HB_INSIGHTS_OPTIONS_INIT;
    if (!file || !insights)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no trace file or no place for the result");
    *insights = NULL;
    HB_TRY(hb_trace_file_need_events(file));
    HB_TRY(hb_options_take(options, &o, sizeof o, "HB_INSIGHTS_OPTIONS_INIT"));
    hb_insights *s = calloc(1, sizeof *s);
    if (!s) return hb_no_memory();
    hb_buf_init(&s->rules, MAX_RULES_SIZE + 2 * 4096); /* the last piece, and a zero */
    hb_result result = make(s, hb_trace_file_trace(file), &o);
    if (result == HB_OK)
        *insights = s;
    else
        hb_insights_destroy(s);
    return result;
}

void hb_insights_destroy(hb_insights *s)
{
    if (!s) return;
    hb_insight_free(&s->in);
    hb_buf_free(&s->rules);
    free(s);
}

/* ---- results ---- */

#define HB_INSIGHTS_LIST(function, type, list, counted)                       \
    hb_result function(hb_insights *s, const type **items, size_t *count)     \
    {                                                                         \
        if (!s || !items || !count)                                           \
            return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL"); \
        *items = s->list;                                                     \
        *count = s->in.counted.count;                                         \
        return HB_OK;                                                         \
    }

HB_INSIGHTS_LIST(hb_insights_gpus, hb_gpu_time, gpus, gpus)
HB_INSIGHTS_LIST(hb_insights_streams, hb_stream_time, streams, streams)
HB_INSIGHTS_LIST(hb_insights_copies, hb_copy_stat, copies, copies)
HB_INSIGHTS_LIST(hb_insights_idle_causes, hb_idle_cause, causes, causes)
HB_INSIGHTS_LIST(hb_insights_gaps, hb_idle_gap, gaps, gaps)
HB_INSIGHTS_LIST(hb_insights_kernels, hb_kernel_insight, kernels, kernels)
HB_INSIGHTS_LIST(hb_insights_classes, hb_kernel_class, classes, classes)
HB_INSIGHTS_LIST(hb_insights_findings, hb_finding, findings, advice)
