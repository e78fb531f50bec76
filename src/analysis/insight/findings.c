/* SPDX-License-Identifier: MIT
 *
 * What to do about a trace, each with the figures that say so. Shares are of the GPUs' time, from
 * the first to the last work of each, unless a text says otherwise.
 */
#include <stdio.h>
#include <stdlib.h>

#include "insight/insight.h"
#include "rules/advice.h"
#include "rules/call_class.h"
#include "rules/name_class.h"

/* Below it gaps are not what a launch comes late for, and kernels not what time goes into. */
#define MIN_IDLE hb_advice_threshold(HB_ADVICE_IDLE)
#define MIN_MATH hb_advice_threshold(HB_ADVICE_NO_MATRIX_CORES)

typedef struct overview {
    double span, busy, late, kernel_time;
    double step_start, step_end;
    uint32_t steps;
    uint8_t *calls; /* by name: 1 + its enum hb_call_class, once it was asked for */
} overview;

static const char *keep_text(hb_insight *in, const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(hb_arena_alloc(&in->arena, size), text, size);
}

HB_PRINTF(3, 4)
static void set_evidence(hb_insight *in, hb_advice *to, const char *text, ...)
{
    char made[1024];
    va_list args;
    va_start(args, text);
    vsnprintf(made, sizeof made, text, args);
    va_end(args);
    to->evidence = keep_text(in, made);
}

#define EVIDENCE(in, advice, ...) set_evidence(in, advice, __VA_ARGS__)

/* `fact`: for the sentence, if it has room for one. */
static hb_advice *add(hb_insight *in, hb_advice_id id, double weight, const char *fact)
{
    char text[1024];
    hb_advice_sentence(text, sizeof text, id, fact);
    hb_advice *a = HB_PUSH(&in->arena, &in->advice);
    *a = (hb_advice){hb_advice_name(id), keep_text(in, text), "", weight};
    return a;
}

static double percent(double part, double whole)
{
    return whole > 0 ? 100 * part / whole : 0;
}

static double milliseconds(double us)
{
    return us / 1000;
}

/* ---- what the rules look at ---- */

static void find_steps(const hb_insight *in, overview *s)
{
    for (uint32_t i = 0; i < in->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(in->trace, i);
        if (!hb_row_is_host_step(in->trace, row)) continue;
        s->step_start =
            s->steps ? HB_MIN(s->step_start, hb_ns_to_us(row->start)) : hb_ns_to_us(row->start);
        s->step_end = s->steps ? HB_MAX(s->step_end, hb_insight_end(row)) : hb_insight_end(row);
        s->steps++;
    }
}

static overview look(hb_insight *in)
{
    overview s = {.calls = HB_NEW_ARRAY(&in->arena, uint8_t, in->trace->strings.count + 1)};
    for (uint32_t i = 0; i < in->gpus.count; i++) {
        s.span += in->gpus.items[i].end - in->gpus.items[i].start;
        s.busy += in->gpus.items[i].busy;
        s.late += in->gpus.items[i].idle[HB_IDLE_LATE];
    }
    for (uint32_t i = 0; i < in->kernels.count; i++)
        s.kernel_time += in->kernels.items[i].total;
    find_steps(in, &s);
    return s;
}

typedef struct calls {
    uint64_t count;
    double host;
    hb_string_id name; /* of the one that took longest */
    double longest;
} calls;

/* Within the steps, or anywhere when there are none. */
static bool is_counted(const overview *s, const hb_row *row)
{
    return !s->steps ||
           (hb_ns_to_us(row->start) >= s->step_start && hb_ns_to_us(row->start) <= s->step_end);
}

/* Of few names there are many calls. */
static unsigned call_bits(const hb_insight *in, const overview *s, hb_string_id name)
{
    if (!s->calls[name])
        s->calls[name] = (uint8_t)(1 + hb_call_class_of(hb_trace_text(in->trace, name)));
    return s->calls[name] - 1u;
}

static calls find_calls(const hb_insight *in, const overview *s, bool (*matches)(unsigned bits))
{
    calls c = {0};
    for (uint32_t i = 0; i < in->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(in->trace, i);
        if (!hb_row_is_call(row) || !hb_row_is_timed(in->trace, row)) continue;
        if (!is_counted(s, row)) continue;
        if (!matches(call_bits(in, s, row->name))) continue;
        c.count++;
        c.host += hb_ns_to_us(row->duration);
        if (c.name && hb_ns_to_us(row->duration) <= c.longest) continue;
        c.name = row->name;
        c.longest = hb_ns_to_us(row->duration);
    }
    return c;
}

static bool is_loader(hb_str name)
{
    return (hb_scope_class_of(name) & HB_NAME_WAITS_FOR_DATA) != 0;
}

/* ---- idle GPUs ---- */

static const char *cause_text(const hb_insight *in, const hb_gap_cause *c, char text[200])
{
    hb_str name = hb_trace_text(in->trace, c->cover.call ? c->cover.call : c->cover.op);
    if (!name.len) return c->cover.many ? "many short calls" : "nothing that was recorded";
    snprintf(text, 200, "%.*s%s", HB_CUT_NAME(name));
    return text;
}

static void idle(hb_insight *in, const overview *s)
{
    double total = s->span - s->busy, gaps = 0;
    char text[200];
    if (!(total >= MIN_IDLE * s->span) || !in->causes.count) return;
    for (uint32_t i = 0; i < in->gpus.count; i++)
        gaps += (double)in->gpus.items[i].gaps;
    const hb_gap_cause *c = &in->causes.items[0];
    snprintf(text, sizeof text, "%.1f %%", percent(total, s->span));
    hb_advice *a = add(in, HB_ADVICE_IDLE, total / s->span, text);
    EVIDENCE(in, a,
             "gaps: %.0f, %.3f ms; because the host launched late: %.3f ms; behind most of it: %s, "
             "%.3f ms in gaps: %llu",
             gaps, milliseconds(total), milliseconds(s->late), cause_text(in, c, text),
             milliseconds(c->total), (unsigned long long)c->gaps);
}

static void loading(hb_insight *in, const overview *s)
{
    double total = 0;
    uint64_t gaps = 0;
    for (uint32_t i = 0; i < in->causes.count; i++) {
        const hb_gap_cause *c = &in->causes.items[i];
        if (!is_loader(hb_trace_text(in->trace, c->cover.op))) continue;
        total += c->total;
        gaps += c->gaps;
    }
    if (!(total >= hb_advice_threshold(HB_ADVICE_DATA_LOADING) * s->span) || !gaps) return;
    hb_advice *a = add(in, HB_ADVICE_DATA_LOADING, total / s->span, "");
    EVIDENCE(in, a, "gaps inside the data loader: %llu, %.3f ms, %.1f %% of the GPUs' time",
             (unsigned long long)gaps, milliseconds(total), percent(total, s->span));
}

/* A GPU that runs dry while the host waits for it gets nothing until the host is back. */
static void synchronisations(hb_insight *in, const overview *s)
{
    double total = 0, longest = 0;
    uint64_t gaps = 0;
    hb_string_id worst = 0;
    for (uint32_t i = 0; i < in->gaps.count; i++) {
        const hb_gap *g = &in->gaps.items[i];
        hb_string_id call = hb_insight_runtime_at(in, in->works.items[g->next].launch, g->start);
        if (g->idle != HB_IDLE_LATE || !call || !hb_call_waits(call_bits(in, s, call))) continue;
        total += g->end - g->start;
        gaps++;
        if (worst) continue; /* the longest gap comes first */
        worst = call;
        longest = g->end - g->start;
    }
    if (!(total >= hb_advice_threshold(HB_ADVICE_SYNCHRONISATION) * s->span) || !gaps) return;
    calls c = find_calls(in, s, hb_call_waits);
    hb_str name = hb_trace_text(in->trace, worst);
    hb_advice *a = add(in, HB_ADVICE_SYNCHRONISATION, total / s->span, "");
    EVIDENCE(
        in, a,
        "gaps after a wait: %llu, %.3f ms, %.1f %% of the GPUs' time, the longest %.3f ms after "
        "%.*s%s; waiting calls: %llu, %.3f ms on the host",
        (unsigned long long)gaps, milliseconds(total), percent(total, s->span),
        milliseconds(longest), HB_CUT_NAME(name), (unsigned long long)c.count,
        milliseconds(c.host));
}

static int by_value(const void *x, const void *y)
{
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median_kernel(hb_insight *in, uint32_t *count)
{
    double *list = HB_NEW_ARRAY(&in->arena, double, in->works.count + 1);
    *count = 0;
    for (uint32_t i = 0; i < in->works.count; i++)
        if (in->works.items[i].kind != HB_WORK_COPY)
            list[(*count)++] = in->works.items[i].end - in->works.items[i].start;
    qsort(list, *count, sizeof *list, by_value);
    return *count ? list[*count / 2] : 0;
}

static void small_kernels(hb_insight *in, const overview *s)
{
    uint32_t count;
    double median = median_kernel(in, &count);
    if (count < 10 || median > hb_advice_threshold(HB_ADVICE_LAUNCH_BOUND) ||
        !(s->late >= MIN_IDLE * s->span))
        return;
    hb_advice *a = add(in, HB_ADVICE_LAUNCH_BOUND, s->late / s->span, "");
    EVIDENCE(in, a,
             "kernels: %u, half of them of at most %.2f us; %.1f %% of the GPUs' time idle because "
             "the next launch came late",
             count, median, percent(s->late, s->span));
}

/* ---- kernels ---- */

static const char *remedy(hb_str limit)
{
    if (hb_str_has(limit, "GPR")) return "fewer registers (smaller tiles, __launch_bounds__)";
    if (hb_str_has(limit, "LDS")) return "less LDS in each block";
    if (hb_str_has(limit, "grid")) return "more blocks in the grid";
    if (hb_str_has(limit, "block")) return "larger blocks";
    return "a look at registers, LDS and grid";
}

static void low_occupancy(hb_insight *in, const overview *s)
{
    const hb_kernel_sum *worst = NULL;
    double total = 0, known = 0;
    uint32_t kernels = 0;
    const double least = hb_advice_threshold(HB_ADVICE_LOW_OCCUPANCY);
    for (uint32_t i = 0; i < in->kernels.count; i++) {
        const hb_kernel_sum *k = &in->kernels.items[i];
        known += k->occupied;
        if (!(k->occupied > 0) || k->occupancy / k->occupied >= least) continue;
        if (hb_kernel_class_is(HB_KERNELS_COMMUNICATION, in->classes.items[k->class].name))
            continue; /* by design */
        total += k->occupied;
        kernels++;
        if (!worst || k->total > worst->total) worst = k;
    }
    if (!worst || !(total >= MIN_MATH * s->kernel_time)) return;
    hb_str name = hb_trace_text(in->trace, worst->name);
    hb_str limit = hb_insight_limit(in, worst);
    hb_advice *a =
        add(in, HB_ADVICE_LOW_OCCUPANCY, total / HB_MAX(s->kernel_time, 1e-9), remedy(limit));
    EVIDENCE(in, a,
             "kernels below %.0f %%: %u, %.1f %% of the kernels' time (known for %.1f %%); the "
             "longest: %.*s%s, %.1f %% of the time at %.1f %%%s%.*s",
             least, kernels, percent(total, s->kernel_time), percent(known, s->kernel_time),
             HB_CUT_NAME(name), percent(worst->total, s->kernel_time),
             worst->occupancy / worst->occupied, limit.len ? ", limited by " : "", (int)limit.len,
             limit.s);
}

/* ---- rules that a cycle's advice has, too ---- */

static void add_finding(hb_insight *in, const hb_rule_finding *f)
{
    hb_advice *a = HB_PUSH(&in->arena, &in->advice);
    *a = (hb_advice){f->rule, keep_text(in, f->text), keep_text(in, f->evidence), f->weight};
}

static void matrix_products(hb_insight *in)
{
    hb_math_facts facts = {0};
    hb_rule_finding f;
    for (uint32_t i = 0; i < in->kernels.count; i++) {
        const hb_kernel_sum *k = &in->kernels.items[i];
        hb_math_facts_add(&facts, hb_trace_text(in->trace, k->name),
                          in->classes.items[k->class].name, k->matrix, k->total);
    }
    if (hb_rule_no_matrix_cores(&facts, &f)) add_finding(in, &f);
    if (hb_rule_single_precision(&facts, &f)) add_finding(in, &f);
}

static void distribution(hb_insight *in)
{
    hb_distributed_facts facts = hb_insight_distribution(in);
    hb_rule_finding f;
    if (hb_rule_one_process(&facts, &f)) add_finding(in, &f);
    if (hb_rule_host_collectives(&facts, &f)) add_finding(in, &f);
}

static void full_memory(hb_insight *in)
{
    hb_rule_finding f;
    hb_gpu_memories memories = hb_insight_memories(in);
    for (uint32_t i = 0; i < memories.count; i++) {
        const hb_gpu_memory *m = &memories.items[i];
        if (hb_rule_full_memory(m->gpu, m->peak, m->capacity, &f)) add_finding(in, &f);
    }
}

/* ---- copies, memory, communication ---- */

/* When GPUs worked: from the first work of any to the last. */
static void find_working_time(const hb_insight *in, double *start, double *end)
{
    *start = in->gpus.items[0].start;
    *end = in->gpus.items[0].end;
    for (uint32_t i = 1; i < in->gpus.count; i++) {
        *start = HB_MIN(*start, in->gpus.items[i].start);
        *end = HB_MAX(*end, in->gpus.items[i].end);
    }
}

/* How long threads stood in blocking copies while GPUs worked, counted once where several did: what
 * the first call needs to start the runtime is before all work, and no copying. */
static double time_in_copies(hb_insight *in, const overview *s, double first, double last)
{
    hb_intervals held = {0};
    for (uint32_t i = 0; i < in->trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(in->trace, i);
        if (!hb_row_is_call(row) || !hb_row_is_timed(in->trace, row) || !is_counted(s, row))
            continue;
        double start = HB_MAX(hb_ns_to_us(row->start), first),
               end = HB_MIN(hb_insight_end(row), last);
        if (end <= start || !hb_call_copies_and_waits(call_bits(in, s, row->name))) continue;
        *HB_PUSH(&in->arena, &held) = (hb_interval){start, end};
    }
    hb_intervals merged = hb_intervals_merge(&in->arena, held.items, held.count);
    return hb_intervals_sum(&merged);
}

typedef struct copied {
    uint64_t pageable;
    double time;
    bool known; /* some name says what memory it was */
} copied;

static copied find_pageable(const hb_insight *in)
{
    copied c = {0};
    for (uint32_t i = 0; i < in->works.count; i++) {
        const hb_work *w = &in->works.items[i];
        hb_str name = hb_insight_name(in, w->row);
        if (w->kind != HB_WORK_COPY) continue;
        bool pageable = hb_str_has(name, "Pageable");
        c.known |= pageable || hb_str_has(name, "Pinned");
        if (!pageable) continue;
        c.time += w->end - w->start;
        c.pageable++;
    }
    return c;
}

static void blocking_copies(hb_insight *in, const overview *s)
{
    calls c = find_calls(in, s, hb_call_copies_and_waits);
    copied p = find_pageable(in);
    double first, last;
    find_working_time(in, &first, &last);
    double held = c.count ? time_in_copies(in, s, first, last) : 0, span = last - first;
    double weight = HB_MAX(p.time / HB_MAX(s->span, 1e-9), held / HB_MAX(span, 1e-9));
    char pageable[80] = "not known (the trace does not tell)";
    if (!(weight >= hb_advice_threshold(HB_ADVICE_BLOCKING_COPIES))) return;
    if (p.known)
        snprintf(pageable, sizeof pageable, "%llu, %.3f ms", (unsigned long long)p.pageable,
                 milliseconds(p.time));
    hb_advice *a = add(in, HB_ADVICE_BLOCKING_COPIES, HB_MIN(weight, 1), "");
    EVIDENCE(in, a,
             "blocking copy calls: %llu; the host stood in them for %.3f ms, %.1f %% of the time "
             "in which GPUs worked; copies of pageable memory: %s",
             (unsigned long long)c.count, milliseconds(held), percent(held, span), pageable);
}

static void allocations(hb_insight *in, const overview *s)
{
    calls c = find_calls(in, s, hb_call_allocates);
    if (!c.count || !(c.host >= hb_advice_threshold(HB_ADVICE_ALLOCATION) * s->span) ||
        (s->steps && c.count < s->steps))
        return;
    hb_str name = hb_trace_text(in->trace, c.name);
    hb_advice *a = add(in, HB_ADVICE_ALLOCATION, HB_MIN(c.host / s->span, 1), "");
    EVIDENCE(in, a, "calls %s: %llu, %.3f ms; the longest: %.*s%s, %.3f ms",
             s->steps ? "within the steps" : "in the trace", (unsigned long long)c.count,
             milliseconds(c.host), HB_CUT_NAME(name), milliseconds(c.longest));
}

static void communication(hb_insight *in, const overview *s)
{
    double exposed = 0, total = 0;
    for (uint32_t i = 0; i < in->gpus.count; i++) {
        exposed += in->gpus.items[i].exposed_communication;
        total += in->gpus.items[i].kinds[HB_WORK_COMMUNICATION];
    }
    if (!(exposed >= hb_advice_threshold(HB_ADVICE_EXPOSED_COMMUNICATION) * s->span) ||
        exposed <= 0)
        return;
    hb_advice *a = add(in, HB_ADVICE_EXPOSED_COMMUNICATION, exposed / s->span, "");
    EVIDENCE(
        in, a,
        "%.3f ms of %.3f ms of communication overlap no computation, %.1f %% of the GPUs' time",
        milliseconds(exposed), milliseconds(total), percent(exposed, s->span));
}

static bool heavier(const void *context, const void *x, const void *y)
{
    (void)context;
    return ((const hb_advice *)x)->weight > ((const hb_advice *)y)->weight;
}

void hb_insight_advice(hb_insight *in)
{
    overview s = look(in);
    if (!in->works.count || !(s.span > 0)) return;
    idle(in, &s);
    loading(in, &s);
    synchronisations(in, &s);
    small_kernels(in, &s);
    low_occupancy(in, &s);
    matrix_products(in);
    blocking_copies(in, &s);
    allocations(in, &s);
    communication(in, &s);
    distribution(in);
    full_memory(in);
    hb_sort(&in->arena, in->advice.items, in->advice.count, sizeof *in->advice.items, heavier,
            NULL);
}
