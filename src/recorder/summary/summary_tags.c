/* SPDX-License-Identifier: MIT */
#include "summary/summary_tags.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/markdown.h"
#include "rules/losses.h"
#include "tfevents/event_log_internal.h"

#define MAX_TEXT ((size_t)16 << 20)
#define MIB      1048576.0

static const char *const tags[HB_PROFILE_SPANS][HB_PROFILE_NUMBERS] = {
#define HB_PROFILE_STEP_TAG(name, group, leaf)  [HB_PROFILE_##name] = "hipboard_" group "/" leaf,
#define HB_PROFILE_CYCLE_TAG(name, group, leaf) [HB_PROFILE_##name] = "hipboard_cycle/" leaf,
    [HB_PROFILE_STEP] = {HB_PROFILE_NUMBER_MAP(HB_PROFILE_STEP_TAG)},
    [HB_PROFILE_CYCLE] = {HB_PROFILE_NUMBER_MAP(HB_PROFILE_CYCLE_TAG)},
#undef HB_PROFILE_CYCLE_TAG
#undef HB_PROFILE_STEP_TAG
};

const char *hb_profile_tag(hb_profile_span span, hb_profile_number number)
{
    return tags[span][number];
}

/* ---- numbers ---- */

void hb_profile_numbers_init(hb_profile_numbers *numbers)
{
    for (int i = 0; i < HB_PROFILE_NUMBERS; i++)
        numbers->value[i] = NAN;
}

static hb_result log_known(hb_event_log *log, hb_profile_at at, const char *tag, double value)
{
    return isnan(value) ? HB_OK : hb_event_log_scalar_at(log, tag, at.step, value, at.unix_ns);
}

hb_result hb_profile_log_numbers(hb_event_log *log, hb_profile_at at,
                                 const hb_profile_numbers *numbers)
{
    for (int i = 0; i < HB_PROFILE_NUMBERS; i++)
        HB_TRY(log_known(log, at, tags[at.span][i], numbers->value[i]));
    return HB_OK;
}

typedef struct tag_text {
    char s[200];
} tag_text;

static const char *device_tag(tag_text *tag, hb_profile_span span, const char *group,
                              const char *device, const char *leaf)
{
    if (span == HB_PROFILE_CYCLE) group = "cycle";
    snprintf(tag->s, sizeof tag->s, "hipboard_%s/%s_%s", group, device, leaf);
    return tag->s;
}

hb_result hb_profile_log_device(hb_event_log *log, hb_profile_at at, const char *name,
                                const hb_profile_device *device)
{
    const struct {
        const char *group, *leaf;
        double value;
    } all[] = {
        {"gpu", "utilization_percent", device->utilization},
        {"gpu", "sm_efficiency_percent", device->sm_efficiency},
        {"gpu", "occupancy_percent", device->occupancy},
        {"memory", "peak_mib", device->peak_bytes / MIB},
        {"memory", "current_mib", device->current_bytes / MIB},
    };
    tag_text tag;
    for (size_t i = 0; i < HB_ARRAY_LEN(all); i++)
        HB_TRY(log_known(log, at, device_tag(&tag, at.span, all[i].group, name, all[i].leaf),
                         all[i].value));
    return HB_OK;
}

hb_result hb_profile_log_step_times(hb_event_log *log, int64_t step, const double *ms, size_t n)
{
    return n == 0 ? HB_OK : hb_event_log_histogram(log, "hipboard_time/steps_ms", step, ms, n);
}

hb_result hb_profile_log_kernel_times(hb_event_log *log, int64_t step, const double *us, size_t n)
{
    return n == 0 ? HB_OK : hb_event_log_histogram(log, "hipboard_gpu/kernels_us", step, us, n);
}

/* ---- texts ---- */

static hb_result log_markdown(hb_event_log *log, const char *tag, int64_t step, hb_buf *text)
{
    const char *markdown = hb_buf_text(text);
    hb_result result = text->failed
                           ? hb_fail(HB_ERROR_NO_MEMORY, "no memory for the text '%s'", tag)
                           : hb_event_log_text(log, tag, step, markdown);
    hb_buf_free(text);
    return result;
}

hb_result hb_profile_log_environment(hb_event_log *log, int64_t step, const hb_profile_pair *pairs,
                                     size_t num_pairs)
{
    static const char *const titles[] = {"key", "value"};
    hb_buf text;
    hb_buf_init(&text, MAX_TEXT);
    hb_markdown_head(&text, titles, HB_ARRAY_LEN(titles), HB_ARRAY_LEN(titles));
    for (size_t i = 0; i < num_pairs; i++) {
        if (!pairs[i].value || !*pairs[i].value) continue;
        hb_markdown_cell(&text, pairs[i].key);
        hb_markdown_cell(&text, pairs[i].value);
        hb_markdown_end_row(&text);
    }
    return log_markdown(log, "hipboard/environment", step, &text);
}

hb_result hb_profile_log_costs(hb_event_log *log, int64_t step, hb_profile_table table,
                               const hb_profile_cost *costs, size_t num_costs, double all_us)
{
    bool kernels = table == HB_PROFILE_TOP_KERNELS;
    const char *const titles[] = {kernels ? "kernel" : "operator", "calls", "total ms", "mean µs",
                                  "share %"};
    hb_buf text;
    hb_buf_init(&text, MAX_TEXT);
    hb_markdown_head(&text, titles, HB_ARRAY_LEN(titles), 1);
    for (size_t i = 0; i < num_costs; i++) {
        const hb_profile_cost *cost = &costs[i];
        hb_markdown_cell(&text, cost->name);
        hb_markdown_number(&text, (double)cost->calls, 0);
        hb_markdown_number(&text, cost->total_us / 1000, 3);
        hb_markdown_number(&text, cost->calls ? cost->total_us / (double)cost->calls : NAN, 3);
        hb_markdown_number(&text, all_us > 0 ? 100 * cost->total_us / all_us : NAN, 1);
        hb_markdown_end_row(&text);
    }
    return log_markdown(log, kernels ? "hipboard/top_kernels" : "hipboard/top_operators", step,
                        &text);
}

static hb_result log_sentences(hb_event_log *log, const char *tag, int64_t step,
                               const char *const *sentences, size_t count, const char *none)
{
    hb_buf text;
    hb_buf_init(&text, MAX_TEXT);
    if (count == 0) hb_buf_str(&text, none);
    for (size_t i = 0; i < count; i++) {
        hb_buf_str(&text, "- ");
        hb_markdown_text(&text, sentences[i]);
        hb_buf_str(&text, "\n");
    }
    return log_markdown(log, tag, step, &text);
}

hb_result hb_profile_log_advice(hb_event_log *log, int64_t step, const char *const *advice,
                                size_t num_advice)
{
    return log_sentences(log, "hipboard/advice", step, advice, num_advice, "Nothing to advise.\n");
}

hb_result hb_profile_log_hip_notes(hb_event_log *log, int64_t step, const char *const *notes,
                                   size_t num_notes)
{
    if (num_notes == 0) return HB_OK;
    return log_sentences(log, "hipboard/hip_notes", step, notes, num_notes, "");
}

hb_result hb_profile_log_reason(hb_event_log *log, int64_t step, const char *reason)
{
    return log_sentences(log, "hipboard/reason", step, &reason, 1, "");
}

hb_result hb_profile_log_lost(hb_event_log *log, int64_t step, const hb_lost *lost)
{
    hb_buf text;
    hb_buf_init(&text, MAX_TEXT);
    for (int i = 0; i < HB_LOST_CAUSES; i++) {
        uint64_t count = hb_lost_count(lost, (enum hb_lost_cause)i);
        if (count == 0) continue;
        hb_buf_printf(&text, "- **%" PRIu64 "** ", count);
        hb_markdown_text(&text, hb_losses[i].sentence);
        hb_buf_str(&text, "\n");
    }
    if (text.size == 0) return HB_OK;
    return log_markdown(log, "hipboard/lost_data", step, &text);
}

/* ---- settings ---- */

enum { MAX_KNOWN = 5, MAX_KNOWN_METRICS = 3 };

static bool is_own(const hb_profile_settings *settings, const char *name)
{
    for (size_t i = 0; i < settings->num_own; i++)
        if (strcmp(settings->own[i].name, name) == 0) return true;
    return false;
}

/* The user's own come first: they are what runs are made to differ by. */
static size_t all_settings(const hb_profile_settings *settings, hb_hparam *to)
{
    const hb_hparam known[MAX_KNOWN] = {
        HB_HPARAM_TEXT("arch", settings->arch),
        HB_HPARAM("compute_units", settings->compute_units),
        HB_HPARAM_TEXT("rocm_version", settings->rocm_version),
        HB_HPARAM("ranks", (double)settings->ranks),
        HB_HPARAM_TEXT("git", settings->git),
    };
    size_t n = 0;
    for (size_t i = 0; i < settings->num_own; i++)
        to[n++] = settings->own[i];
    for (size_t i = 0; i < MAX_KNOWN; i++)
        if ((known[i].text || known[i].number > 0) && !is_own(settings, known[i].name))
            to[n++] = known[i];
    return n;
}

/* Of a column without values TensorBoard's plots draw nothing; so what a run has no number of is no
 * metric of it. */
static size_t all_metrics(const hb_profile_settings *settings, const char *peak, const char **to,
                          const char **titles)
{
    const char *const *cycle_tags = tags[HB_PROFILE_CYCLE];
    size_t n = 0;
    if (settings->has_steps) {
        to[n] = cycle_tags[HB_PROFILE_STEP_MS];
        titles[n++] = "step ms";
    }
    if (settings->has_gpu) {
        to[n] = cycle_tags[HB_PROFILE_UTILIZATION];
        titles[n++] = "GPU busy %";
    }
    if (settings->memory) {
        to[n] = peak;
        titles[n++] = "peak MiB";
    }
    for (size_t i = 0; i < settings->num_metrics; i++)
        to[n++] = settings->metrics[i];
    return n;
}

hb_result hb_profile_log_settings(hb_event_log *log, const hb_profile_settings *settings)
{
    tag_text tag;
    const char *peak = settings->memory ? device_tag(&tag, HB_PROFILE_CYCLE, "memory",
                                                     settings->memory, "peak_mib")
                                        : NULL;
    size_t most = MAX_KNOWN_METRICS + settings->num_metrics;
    hb_hparam *hparams = calloc(MAX_KNOWN + settings->num_own, sizeof *hparams);
    const char **metrics = calloc(2 * most, sizeof *metrics);
    hb_result result = HB_ERROR_NO_MEMORY;
    if (hparams && metrics)
        result = hb_event_log_columns(
            log,
            &(hb_columns){.hparams = hparams,
                          .num_hparams = all_settings(settings, hparams),
                          .num_varying = settings->num_own,
                          .metrics = metrics,
                          .titles = metrics + most,
                          .num_metrics = all_metrics(settings, peak, metrics, metrics + most)});
    else
        hb_fail(result, "no memory for the settings of a run");
    free(hparams);
    free(metrics);
    return result;
}

/* ---- layout ---- */

/* clang-format off */
#define CHART(name, expression)                                                                   \
    {.title = (name), .tags = (const char *const[]){expression}, .num_tags = 1}
/* clang-format on */

hb_result hb_profile_log_layout(hb_event_log *log)
{
    const hb_chart time[] = {
        CHART("Step time, ms", "^hipboard_time/step_ms$"),
        CHART("Where a step's time goes, ms",
              "^hipboard_time/"
              "(kernel|memcpy|memset|communication|runtime|data_loader|cpu|other)_ms$"),
        CHART("GPU, %", "^hipboard_gpu/.*_percent$"),
    };
    const hb_chart memory[] = {
        CHART("Peak, MiB", "^hipboard_memory/.*_peak_mib$"),
        CHART("At the step's end, MiB", "^hipboard_memory/.*_current_mib$"),
        CHART("Copied, MiB", "^hipboard_copies/"),
    };
    const hb_chart communication[] = {
        CHART("Communication, all and exposed, ms",
              "^hipboard_(time/communication|communication/exposed)_ms$"),
    };
    const hb_chart_category categories[] = {
        {.title = "Time", .charts = time, .num_charts = HB_ARRAY_LEN(time)},
        {.title = "Memory", .charts = memory, .num_charts = HB_ARRAY_LEN(memory)},
        {.title = "Communication",
         .charts = communication,
         .num_charts = HB_ARRAY_LEN(communication)},
    };
    return hb_event_log_layout(log, categories, HB_ARRAY_LEN(categories));
}
