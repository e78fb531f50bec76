/* SPDX-License-Identifier: MIT
 *
 * A source that tells in its metadata what the GPUs took and did in each step.
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/hash_map.h"
#include "rules/name_class.h"
#include "telemetry/gpu_metrics.h"
#include "telemetry/telemetry.h"

enum { GPUS = 64, STEPS_MOST = 10000 };
enum curve { POWER, ENERGY, CLOCK, HEAT, BUSY, THROTTLED, CURVES };

#define FALLEN 0.9 /* of the clock that a GPU has in most steps */

typedef struct sample {
    int64_t ns;
    double value;
} sample;

typedef HB_VEC(sample) samples;

typedef struct step {
    int64_t start, end, number;
} step;

/* Of one GPU in one step; what is not known is NaN. */
typedef struct sum {
    double joules, watts, degrees, least_mhz, mean_mhz, busy;
    unsigned throttled;
    bool knows_throttling;
} sum;

typedef struct summed {
    hb_source base;
    hb_trace_info info;
    hb_source *inner;
    hb_arena arena;
    samples curves[GPUS][CURVES];
    HB_VEC(step) steps;
    hb_buf json, notes;
    hb_metadata *metadata;
} summed;

/* ---- what there is ---- */

static int curve_of(const char *name)
{
    static const char *const names[CURVES] = {HB_TELEMETRY_POWER, HB_TELEMETRY_ENERGY,
                                              HB_TELEMETRY_CLOCK, HB_TELEMETRY_HEAT,
                                              HB_TELEMETRY_BUSY,  HB_TELEMETRY_THROTTLED};
    for (int i = 0; i < CURVES; i++)
        if (strcmp(name, names[i]) == 0) return i;
    return -1;
}

static void take_sample(summed *s, const hb_trace_event *e)
{
    char text[64];
    int gpu, used = 0;
    snprintf(text, sizeof text, "%.*s", (int)e->name.len, e->name.s);
    if (sscanf(text, "GPU %d %n", &gpu, &used) != 1 || gpu < 0 || gpu >= GPUS) return;
    int curve = curve_of(text + used);
    if (curve >= 0)
        *HB_PUSH(&s->arena, &s->curves[gpu][curve]) = (sample){e->start_ns, e->counter.value};
}

static bool earlier(const void *context, const void *a, const void *b)
{
    (void)context;
    return ((const sample *)a)->ns < ((const sample *)b)->ns;
}

static bool collect_samples(summed *s)
{
    hb_trace_event e;
    bool any = false;
    if (s->inner->begin(s->inner, HB_PASS_SCALARS) != HB_OK) return false;
    while (s->inner->next(s->inner, &e))
        if (e.kind == HB_EVENT_COUNTER) take_sample(s, &e);
    for (int gpu = 0; gpu < GPUS; gpu++)
        for (int c = 0; c < CURVES; c++) {
            samples *list = &s->curves[gpu][c];
            hb_sort(&s->arena, list->items, list->count, sizeof(sample), earlier, NULL);
            any |= list->count > 0;
        }
    return any;
}

static void collect_steps(summed *s)
{
    hb_trace_event e;
    if (s->inner->begin(s->inner, HB_PASS_TIMELINE) != HB_OK) return;
    while (s->inner->next(s->inner, &e) && s->steps.count < STEPS_MOST) {
        if (!hb_event_is_step(&e)) continue;
        *HB_PUSH(&s->arena, &s->steps) = (step){e.start_ns, e.end_ns, hb_step_number_of(e.name)};
    }
}

/* ---- a step's numbers ---- */

/* Between the samples around it; at the ends the nearest one. */
static double value_at(const samples *list, int64_t ns)
{
    size_t i = HB_LOWER_BOUND(list->items, list->count, ns, ns);
    if (!list->count) return NAN;
    if (i == 0) return list->items[0].value;
    if (i == list->count) return list->items[i - 1].value;
    const sample *a = &list->items[i - 1], *b = &list->items[i];
    double share = b->ns > a->ns ? (double)(ns - a->ns) / (double)(b->ns - a->ns) : 1;
    return a->value + share * (b->value - a->value);
}

/* The least, mean and greatest of a step; a short one has those of its middle. */
static void range_of(const samples *list, const step *at, double *least, double *mean, double *most)
{
    double total = 0;
    uint32_t n = 0;
    *least = INFINITY;
    *most = -INFINITY;
    for (size_t i = HB_LOWER_BOUND(list->items, list->count, ns, at->start);
         i < list->count && list->items[i].ns < at->end; i++, n++) {
        total += list->items[i].value;
        *least = fmin(*least, list->items[i].value);
        *most = fmax(*most, list->items[i].value);
    }
    *mean = n ? total / n : value_at(list, at->start + (at->end - at->start) / 2);
    if (!n) *least = *most = *mean;
}

/* Bits. What a damaged spool, or a program's own counter of that name, holds instead is none. */
static unsigned causes_in(const samples *list, const step *at)
{
    unsigned causes = 0;
    for (size_t i = HB_LOWER_BOUND(list->items, list->count, ns, at->start);
         i < list->count && list->items[i].ns < at->end; i++)
        if (list->items[i].value >= 0 && list->items[i].value <= UINT_MAX)
            causes |= (unsigned)list->items[i].value;
    return causes;
}

static sum sum_of(const samples curves[CURVES], const step *at)
{
    sum r;
    double least, most, mean;
    const samples *energy = &curves[ENERGY];
    double seconds = (double)(at->end - at->start) * 1e-9;
    range_of(&curves[POWER], at, &least, &r.watts, &most);
    range_of(&curves[HEAT], at, &least, &mean, &r.degrees);
    range_of(&curves[BUSY], at, &least, &r.busy, &most);
    range_of(&curves[CLOCK], at, &r.least_mhz, &r.mean_mhz, &most);
    r.joules = value_at(energy, at->end) - value_at(energy, at->start);
    if (isnan(r.joules)) r.joules = r.watts * seconds;
    r.throttled = causes_in(&curves[THROTTLED], at);
    r.knows_throttling = curves[THROTTLED].count > 0;
    return r;
}

/* ---- evidence ---- */

static bool is_less(const void *context, const void *a, const void *b)
{
    (void)context;
    return *(const double *)a < *(const double *)b;
}

/* What it has in most steps. */
static double usual_clock(summed *s, const sum *sums)
{
    double *clocks = HB_NEW_ARRAY(&s->arena, double, s->steps.count + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->steps.count; i++)
        if (!isnan(sums[i].mean_mhz)) clocks[n++] = sums[i].mean_mhz;
    hb_sort(&s->arena, clocks, n, sizeof *clocks, is_less, NULL);
    return n ? clocks[(n - 1) * 3 / 4] : NAN;
}

/* A GPU that has nothing to do slows down as well. */
static bool has_fallen(const sum *r, double usual)
{
    bool forced = r->knows_throttling ? r->throttled != 0 : r->busy >= 50;
    return forced && r->mean_mhz < FALLEN * usual;
}

static const char *cause_text(unsigned causes)
{
    return causes & HB_THROTTLE_POWER     ? "power"
           : causes & HB_THROTTLE_HEAT    ? "heat"
           : causes & HB_THROTTLE_CURRENT ? "current"
                                          : "the cause is not told";
}

static void put_note(summed *s, int gpu, const sum *sums, uint32_t from, uint32_t to, double usual)
{
    double least = INFINITY;
    unsigned causes = 0;
    for (uint32_t i = from; i <= to; i++) {
        least = fmin(least, sums[i].mean_mhz);
        causes |= sums[i].throttled;
    }
    hb_buf_printf(&s->notes, "%s\"GPU %d: clock fell from %.0f to %.0f MHz in step%s %lld",
                  s->notes.size > 1 ? ", " : "", gpu, usual, least, to > from ? "s" : "",
                  (long long)s->steps.items[from].number);
    if (to > from) hb_buf_printf(&s->notes, "-%lld", (long long)s->steps.items[to].number);
    hb_buf_printf(&s->notes, ": %s\"", cause_text(causes));
}

static void put_notes(summed *s, int gpu, const sum *sums)
{
    double usual = usual_clock(s, sums);
    for (uint32_t i = 0, end; i < s->steps.count; i = end) {
        end = i + 1;
        if (!has_fallen(&sums[i], usual)) continue;
        while (end < s->steps.count && has_fallen(&sums[end], usual))
            end++;
        put_note(s, gpu, sums, i, end - 1, usual);
    }
}

/* ---- the text ---- */

static void put_number(hb_buf *to, const char *key, double value)
{
    if (isfinite(value)) hb_buf_printf(to, ", \"%s\": %.6g", key, value);
}

static void put_gpu(summed *s, int gpu)
{
    sum *sums = HB_NEW_ARRAY(&s->arena, sum, s->steps.count + 1);
    for (uint32_t i = 0; i < s->steps.count; i++) {
        sum *r = &sums[i];
        *r = sum_of(s->curves[gpu], &s->steps.items[i]);
        hb_buf_printf(&s->json, "%s{\"gpu\": %d, \"step\": %lld", s->json.size > 1 ? ", " : "", gpu,
                      (long long)s->steps.items[i].number);
        put_number(&s->json, "joules", r->joules);
        put_number(&s->json, "watts", r->watts);
        put_number(&s->json, "degrees", r->degrees);
        put_number(&s->json, "mhz", r->mean_mhz);
        put_number(&s->json, "least_mhz", r->least_mhz);
        if (r->knows_throttling) put_number(&s->json, "throttled", r->throttled);
        hb_buf_str(&s->json, "}");
    }
    put_notes(s, gpu, sums);
}

static bool is_known(const samples curves[CURVES])
{
    for (int c = 0; c < CURVES; c++)
        if (curves[c].count) return true;
    return false;
}

static bool sum_up(summed *s)
{
    if (!hb_arena_try(&s->arena)) return false;
    if (!collect_samples(s)) return false;
    collect_steps(s);
    hb_buf_str(&s->json, "[");
    hb_buf_str(&s->notes, "[");
    for (int gpu = 0; gpu < GPUS; gpu++)
        if (is_known(s->curves[gpu])) put_gpu(s, gpu);
    bool has_notes = s->notes.size > 1;
    hb_buf_str(&s->json, "]");
    hb_buf_str(&s->notes, "]");
    size_t n = s->inner->info->num_metadata;
    s->metadata = calloc(n + 2, sizeof *s->metadata);
    if (!s->metadata || s->json.failed || s->notes.failed) return false;
    if (n) memcpy(s->metadata, s->inner->info->metadata, n * sizeof *s->metadata);
    s->metadata[n++] = (hb_metadata){"hipboard_gpu_steps", hb_buf_text(&s->json)};
    if (has_notes) s->metadata[n++] = (hb_metadata){"hipboard_gpu_notes", hb_buf_text(&s->notes)};
    s->info.metadata = s->metadata;
    s->info.num_metadata = n;
    return true;
}

/* ---- the source ---- */

static hb_result begin(hb_source *source, hb_pass pass)
{
    hb_source *inner = ((summed *)source)->inner;
    return inner->begin(inner, pass);
}

static bool next(hb_source *source, hb_trace_event *e)
{
    hb_source *inner = ((summed *)source)->inner;
    return inner->next(inner, e);
}

static void free_summed(summed *s)
{
    hb_arena_free(&s->arena);
    hb_buf_free(&s->json);
    hb_buf_free(&s->notes);
    free(s->metadata);
    free(s);
}

static void source_close(hb_source *source)
{
    summed *s = (summed *)source;
    s->inner->close(s->inner);
    free_summed(s);
}

/* Without memory the trace has the curves alone. */
hb_result hb_telemetry_sum_up(hb_source **source)
{
    summed *s = calloc(1, sizeof *s);
    if (!s) return hb_no_memory();
    s->base = (hb_source){&s->info, begin, next, source_close};
    s->info = *(*source)->info;
    s->inner = *source;
    hb_buf_init(&s->json, (size_t)64 << 20);
    hb_buf_init(&s->notes, (size_t)1 << 20);
    if (sum_up(s))
        *source = &s->base;
    else
        free_summed(s);
    return HB_OK;
}
