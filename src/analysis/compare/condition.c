/* SPDX-License-Identifier: MIT
 *
 * Limits: "step_time > +5%", "kernel:gemm > 2ms".
 */
#include <math.h>
#include <stdlib.h>

#include "base/c_locale.h"
#include "compare/comparison.h"
#include "doc/phrases.h"

/* What a limit's number is of. */
typedef enum limit_kind { LIMIT_PERCENT, LIMIT_POINTS, LIMIT_TIME, LIMIT_SIZE } limit_kind;

static const struct {
    const char *name;
    limit_kind kind;
    double size; /* in microseconds, bytes, or 1/100 */
} units[] = {
    {"%", LIMIT_PERCENT, 0.01},
    {"pp", LIMIT_POINTS, 0.01},
    {"ns", LIMIT_TIME, 1e-3},
    {"us", LIMIT_TIME, 1},
    {"ms", LIMIT_TIME, 1e3},
    {"s", LIMIT_TIME, 1e6},
    {"B", LIMIT_SIZE, 1},
    {"KB", LIMIT_SIZE, 1e3},
    {"MB", LIMIT_SIZE, 1e6},
    {"GB", LIMIT_SIZE, 1e9},
    {"KiB", LIMIT_SIZE, 1024},
    {"MiB", LIMIT_SIZE, 1048576},
    {"GiB", LIMIT_SIZE, 1073741824},
};

typedef struct condition {
    const char *text;
    char metric[512];
    hb_compare_by by;
    size_t measure;   /* SIZE_MAX: what fits */
    const char *name; /* within `metric` */
    hb_unit unit;
    char order[3]; /* < or >, perhaps = */
    double limit;
    limit_kind kind;
    bool is_change; /* the limit had a sign */
    bool beyond_noise;
} condition;

#define METRICS                                                                                   \
    "step_time, kernel, memcpy, memset, communication, runtime, data_loader, cpu, other, "        \
    "gpu_utilization, peak_memory, peak_memory:DEVICE, operator:NAME, kernel:NAME, module:NAME, " \
    "memory:NAME"

/* ---- reading ---- */

static hb_result wrong(const char *text, const char *why)
{
    return hb_fail(HB_ERROR_INVALID_ARGUMENT, "condition '%s': %s", text, why);
}

static const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\t')
        p++;
    return p;
}

static bool parse_limit(const char *p, condition *out)
{
    char *end;
    p = skip_blanks(p);
    out->is_change = *p == '+' || *p == '-';
    char first = p[out->is_change];
    if (first != '.' && !(first >= '0' && first <= '9')) return false;
    out->limit = strtod(p, &end);
    const char *unit = skip_blanks(end);
    size_t n = strcspn(unit, " \t");
    if (!isfinite(out->limit) || *skip_blanks(unit + n)) return false;
    for (size_t i = 0; i < HB_ARRAY_LEN(units); i++) {
        if (strlen(units[i].name) != n || memcmp(units[i].name, unit, n) != 0) continue;
        out->kind = units[i].kind;
        out->limit *= units[i].size;
        return true;
    }
    return false;
}

/* The last < or > with a limit behind it: the names of kernels have some, too. */
static const char *find_operator(const char *text, condition *out)
{
    for (const char *p = text + strlen(text); p-- > text;) {
        if (*p != '<' && *p != '>') continue;
        bool equal = p[1] == '=';
        if (!parse_limit(p + 1 + equal, out)) continue;
        memcpy(out->order, p, 1 + (size_t)equal);
        out->order[1 + equal] = 0;
        return p;
    }
    return NULL;
}

static bool is_step_metric(const char *name)
{
    for (hb_role role = 0; role < HB_ROLE_COUNT; role++)
        if (strcmp(hb_role_metric(role), name) == 0) return true;
    if (strcmp(name, "gpu_utilization") == 0 || strcmp(name, "peak_memory") == 0) return true;
    return strncmp(name, "peak_memory:", 12) == 0 && name[12];
}

/* "operator:NAME" or "operator.self_host:NAME". */
static bool split_metric(condition *out)
{
    char *colon = strchr(out->metric, ':');
    if (!colon || !colon[1]) return false;
    for (int by = HB_COMPARE_OPERATOR; by < HB_COMPARE_BY_COUNT; by++) {
        size_t n = strlen(hb_by_names[by]);
        if (strncmp(out->metric, hb_by_names[by], n) != 0) continue;
        out->by = (hb_compare_by)by;
        out->name = colon + 1;
        out->measure = SIZE_MAX;
        out->unit = by == HB_COMPARE_MEMORY ? HB_UNIT_BYTES : HB_UNIT_US;
        if (out->metric + n == colon) return true;
        for (size_t m = 1; out->metric[n] == '.' && m < hb_num_measures(out->by); m++) {
            const char *name = hb_measures[by][m].name;
            size_t length = (size_t)(colon - out->metric) - n - 1;
            out->measure = m;
            if (strlen(name) == length && memcmp(out->metric + n + 1, name, length) == 0)
                return true;
        }
    }
    return false;
}

static bool unit_fits(const condition *x)
{
    switch (x->kind) {
    case LIMIT_PERCENT: return x->is_change || x->unit == HB_UNIT_RATIO;
    case LIMIT_POINTS: return x->is_change && x->unit == HB_UNIT_RATIO;
    case LIMIT_TIME: return x->unit == HB_UNIT_US;
    case LIMIT_SIZE: return x->unit == HB_UNIT_BYTES;
    }
    return false;
}

static hb_result parse(const char *text, condition *out)
{
    if (!text) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no condition");
    out->text = text;
    const char *from = skip_blanks(text), *end = find_operator(text, out);
    if (!end)
        return wrong(text, "expected METRIC > LIMIT or METRIC < LIMIT, the limit as in +5%, -2pp, "
                           "+200us, 12ms or 1.5GiB");
    while (end > from && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    size_t n = (size_t)(end - from);
    if (n >= sizeof out->metric) return wrong(text, "the metric is too long");
    memcpy(out->metric, from, n);
    out->metric[n] = 0;
    if (is_step_metric(out->metric)) {
        out->by = HB_COMPARE_STEP;
        out->measure = 0;
        out->name = out->metric;
        out->unit = strncmp(out->metric, "peak", 4) == 0          ? HB_UNIT_BYTES
                    : strcmp(out->metric, "gpu_utilization") == 0 ? HB_UNIT_RATIO
                                                                  : HB_UNIT_US;
    } else if (!split_metric(out)) {
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "condition '%s': there is no metric '%s'; there are " METRICS, text,
                       out->metric);
    }
    if (unit_fits(out)) return HB_OK;
    return wrong(text, out->kind == LIMIT_PERCENT ? "a percentage needs a sign: +5% or -5%"
                                                  : "the limit's unit is not of this metric");
}

static hb_result parse_with_points(const char *text, condition *x)
{
    locale_t before = hb_enter_c_locale();
    hb_result result = parse(text, x);
    hb_leave_c_locale(before);
    return result;
}

hb_result hb_compare_condition_valid(const char *text)
{
    condition x;
    return parse_with_points(text, &x);
}

/* ---- checking ---- */

static void take_items(hb_comparison *c, hb_arena *arena, const hb_compare_run *run,
                       const condition *x, hb_u32s *items)
{
    for (uint32_t i = 0; i < run->items.count; i++) {
        const hb_run_item *item = &run->items.items[i];
        if (item->by == x->by && strcmp(hb_comparison_string(c, item->name), x->name) == 0)
            *HB_PUSH(arena, items) = i;
    }
}

/* Device time where there is any, host time else; both with what was called. */
static size_t fitting_measure(hb_differ *differ, const hb_pair *pair, hb_compare_by by)
{
    if (by == HB_COMPARE_KERNEL) return HB_MEASURE_TIME;
    if (by == HB_COMPARE_MEMORY) return HB_MEASURE_ALLOCATED;
    hb_difference device = hb_differ_row(differ, pair, by, HB_MEASURE_DEVICE, HB_GROUP_NAME);
    bool any = device.before.steps.max > 0 || device.after.steps.max > 0;
    return any ? HB_MEASURE_DEVICE : HB_MEASURE_HOST;
}

/* Names that could have been meant: the first that there are. */
static hb_result not_found(hb_comparison *c, hb_arena *arena, const hb_compare_run *run,
                           const condition *x)
{
    hb_buf names;
    hb_dict seen = {0};
    bool added;
    const hb_compare_run *runs[2] = {&c->runs[c->baseline], run};
    hb_buf_init(&names, 400);
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < runs[side]->items.count; i++) {
            const hb_run_item *item = &runs[side]->items.items[i];
            if (item->by != x->by) continue;
            hb_dict_add(arena, &seen, item->name, &added);
            if (!added) continue;
            hb_buf_printf(&names, "%s%s", names.size ? ", " : "",
                          hb_comparison_string(c, item->name));
        }
    hb_result result =
        hb_fail(HB_ERROR_NOT_FOUND, "run %s and the baseline have no %s; %s%.*s%s", run->name,
                x->metric, names.size ? "they have " : "nothing of that kind is in their traces",
                (int)names.size, names.size ? names.data : "", names.failed ? ", ..." : "");
    hb_buf_free(&names);
    return result;
}

static bool exceeds(const condition *x, double value)
{
    bool equal = x->order[1] == '=';
    if (x->order[0] == '>') return equal ? value >= x->limit : value > x->limit;
    return equal ? value <= x->limit : value < x->limit;
}

/* The number that the limit is for. What is new has grown beyond any percentage. */
static double measured(const condition *x, const hb_difference *row)
{
    if (!x->is_change) return row->after.per_step;
    if (x->kind != LIMIT_PERCENT) return row->change;
    if (row->change == 0) return 0;
    return row->before.per_step != 0 ? row->change / fabs(row->before.per_step)
                                     : copysign(INFINITY, row->change);
}

static void put_reason(hb_buf *buf, const hb_compare_run *run, const condition *x,
                       const hb_difference *row)
{
    hb_buf_printf(buf, "%s: %s ", run->name, x->metric);
    hb_put_quantity(buf, row->before.per_step, row->unit);
    hb_buf_str(buf, " -> ");
    hb_put_quantity(buf, row->after.per_step, row->unit);
    if (row->before.per_step != 0) hb_buf_str(buf, ", ");
    hb_put_percent(buf, row->before.per_step, row->change);
    hb_buf_printf(buf, " (%s", hb_verdict_words(row->verdict));
    if (row->p == row->p) hb_buf_printf(buf, ", p = %.2g", row->p);
    hb_buf_printf(buf, ", %llu and %llu steps); limit: %s",
                  (unsigned long long)row->before.steps.count,
                  (unsigned long long)row->after.steps.count, skip_blanks(x->text));
}

static bool is_certain(hb_verdict verdict)
{
    return verdict != HB_VERDICT_NOISE && verdict != HB_VERDICT_TOO_FEW;
}

static hb_result check(hb_comparison *c, hb_arena *arena, const hb_compare_run *run,
                       const condition *x, hb_compare_finding *finding)
{
    hb_pair pair = {.before = {0}};
    hb_buf reason;
    take_items(c, arena, &c->runs[c->baseline], x, &pair.before);
    take_items(c, arena, run, x, &pair.after);
    bool needs_both = x->by == HB_COMPARE_STEP;
    if (!(pair.before.count && pair.after.count) &&
        (needs_both || !(pair.before.count || pair.after.count)))
        return not_found(c, arena, run, x);
    hb_differ *differ = hb_differ_make(c, arena, run);
    size_t m = x->measure != SIZE_MAX ? x->measure : fitting_measure(differ, &pair, x->by);
    hb_difference row = hb_differ_row(differ, &pair, x->by, m, HB_GROUP_NAME);
    bool met = exceeds(x, measured(x, &row));
    bool noise = met && x->is_change && x->beyond_noise && !is_certain(row.verdict);
    hb_buf_init(&reason, 1 << 16);
    put_reason(&reason, run, x, &row);
    *finding = (hb_compare_finding){.met = met && !noise,
                                    .before = row.before.per_step,
                                    .after = row.after.per_step,
                                    .verdict = row.verdict};
    const char *words = hb_buf_text(&reason);
    hb_string_id id = hb_texts_add(&c->texts, words, strlen(words));
    hb_buf_free(&reason);
    finding->reason = hb_comparison_string(c, id);
    return id ? HB_OK : hb_no_memory();
}

static hb_result check_guarded(hb_comparison *c, hb_arena *arena, const hb_compare_run *run,
                               const condition *x, hb_compare_finding *finding)
{
    if (hb_arena_try(arena)) return check(c, arena, run, x, finding);
    return hb_arena_outcome(arena);
}

hb_result hb_comparison_check(hb_comparison *c, size_t index, const char *text, bool beyond_noise,
                              hb_compare_finding *finding)
{
    condition x;
    hb_arena arena = {0};
    if (!c || !finding) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    if (index >= c->num_runs) return hb_fail(HB_ERROR_NOT_FOUND, "no run %zu", index);
    HB_TRY(parse_with_points(text, &x));
    x.beyond_noise = beyond_noise;
    locale_t before = hb_enter_c_locale();
    hb_result result = check_guarded(c, &arena, &c->runs[index], &x, finding);
    hb_leave_c_locale(before);
    hb_arena_free(&arena);
    return result;
}
