/* SPDX-License-Identifier: MIT
 *
 * hipboard/analysis.h: what operators and kernels achieved.
 */
#include "api/api_insights.h"
#include "base/c_locale.h"
#include "insight/roofline.h"

static double ratio(double part, double whole)
{
    return whole > 0 ? part / whole : -1;
}

static const char *gpu_of(hb_insights *s, uint32_t gpu)
{
    return gpu == HB_NO_GPU_SUM ? "CPU" : hb_insights_key_text(s, s->in.gpus.items[gpu].pid);
}

static const char *bound_of(const hb_rate_sum *sum)
{
    if (!sum->known) return "";
    return sum->by_memory * 2 > sum->time ? "memory" : "compute";
}

static hb_rate rate_of(hb_insights *s, const hb_roofline *from, const hb_rate_sum *sum)
{
    bool on_gpu = sum->gpu != HB_NO_GPU_SUM;
    double peak = on_gpu ? hb_peak_of(&from->gpus[sum->gpu].peaks, sum->type) : 0;
    double per_us = sum->flops > 0 ? ratio(sum->flops, sum->time) : -1;
    return (hb_rate){
        .name = hb_trace_text(s->in.trace, sum->name).s,
        .gpu = gpu_of(s, sum->gpu),
        .type = hb_peak_type_name(sum->type),
        .shapes = sum->dims ? hb_trace_text(s->in.trace, sum->dims).s : "",
        .bound = bound_of(sum),
        .shared = sum->shared,
        .calls = sum->calls,
        .total_us = sum->time,
        .flops = sum->flops > 0 ? sum->flops : -1,
        .bytes = sum->bytes > 0 ? sum->bytes : -1,
        .flops_per_s = per_us < 0 ? -1 : per_us * 1e6,
        .gb_per_s = sum->bytes > 0 ? sum->bytes / sum->time / 1e3 : -1,
        .intensity = sum->flops > 0 ? ratio(sum->flops, sum->bytes) : -1,
        .peak_percent = per_us < 0 || peak <= 0 ? -1 : 100 * per_us * 1e6 / peak,
        .roof_percent = sum->known ? 100 * sum->ideal / sum->time : -1,
        .far_us = sum->known ? sum->far : -1,
    };
}

static const hb_rate *list_rates(hb_insights *s, const hb_roofline *from, const hb_rate_sum *sums,
                                 uint32_t count)
{
    hb_rate *list = HB_NEW_ARRAY(&s->in.arena, hb_rate, count + 1);
    for (uint32_t i = 0; i < count; i++)
        list[i] = rate_of(s, from, &sums[i]);
    return list;
}

static void list_peaks(hb_insights *s, const hb_roofline *from, hb_roof *roof)
{
    hb_gpu_peak *list =
        HB_NEW_ARRAY(&s->in.arena, hb_gpu_peak, s->in.gpus.count * HB_PEAK_TYPES + 1);
    for (uint32_t i = 0; i < s->in.gpus.count; i++)
        for (int type = 0; type < HB_PEAK_TYPES; type++) {
            const hb_gpu_peaks *g = &from->gpus[i];
            if (!(hb_peak_of(&g->peaks, (hb_peak_type)type) > 0)) continue;
            list[roof->num_peaks++] = (hb_gpu_peak){
                .gpu = gpu_of(s, i),
                .type = hb_peak_type_name((hb_peak_type)type),
                .vector_flops = g->peaks.vector[type],
                .matrix_flops = g->peaks.matrix[type],
                .gb_per_s = g->peaks.bytes / 1e9,
                .mhz = g->mhz,
                .measured = g->measured,
            };
        }
    roof->peaks = list;
}

static void make_roof(hb_insights *s)
{
    hb_roofline from;
    hb_roof *roof = hb_arena_alloc(&s->in.arena, sizeof *roof);
    hb_insight_roofline(&s->in, &from);
    roof->operators = list_rates(s, &from, from.operators.items, from.operators.count);
    roof->num_operators = from.operators.count;
    roof->inputs = list_rates(s, &from, from.inputs.items, from.inputs.count);
    roof->num_inputs = from.inputs.count;
    roof->kernels = list_rates(s, &from, from.kernels.items, from.kernels.count);
    roof->num_kernels = from.kernels.count;
    list_peaks(s, &from, roof);
    roof->kernels_us = from.kernel_time;
    roof->rated_us = from.rated;
    s->roof = roof;
}

hb_result hb_insights_roof(hb_insights *s, const hb_roof **roof)
{
    if (!s || !roof) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    locale_t before = hb_enter_c_locale();
    if (!s->roof && hb_arena_try(&s->in.arena)) make_roof(s);
    hb_leave_c_locale(before);
    *roof = s->roof;
    return hb_arena_outcome(&s->in.arena);
}
