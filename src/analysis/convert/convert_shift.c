/* SPDX-License-Identifier: MIT
 *
 * Times by another clock: what is added to them, and taken back. Plain lines, one after the other,
 * each from what the times were before it.
 */
#include <math.h>

#include "base/json_members.h"
#include "convert/convert.h"

#define CLOCK "hipboard_clock"

/* As far as times go: of damaged files, or at a wish, each of them may be that far. */
static int64_t sum(int64_t a, int64_t b)
{
    hb_add_ns(&a, b);
    return hb_bounded_ns(a);
}

static int64_t drifted(int64_t since, double drift)
{
    double ns = (double)since * drift;
    return fabs(ns) < 9e18 ? llround(ns) : ns < 0 ? INT64_MIN : INT64_MAX;
}

int64_t hb_plan_shifted(const hb_plan *plan, int64_t ns)
{
    ns = sum(ns, plan->base);
    for (unsigned i = 0; i < plan->num_lines; i++) {
        const hb_plan_line *l = &plan->lines[i];
        int64_t drift = drifted(ns - l->at, l->drift);
        ns = sum(sum(ns, l->offset), drift);
    }
    return sum(ns, -plan->base);
}

/* ---- what was done before ---- */

static bool number(hb_str json, const char *name, int64_t *value)
{
    hb_value v = hb_json_member(json, name);
    return hb_value_time(&v, value);
}

/* False: nothing was added. */
static bool was_shifted(hb_str clock)
{
    hb_value applied = hb_json_member(clock, "applied");
    return clock.len && applied.type == HB_JSON_TRUE;
}

static bool read_line(hb_str clock, hb_plan_line *l)
{
    int64_t drift;
    bool fine = number(clock, "at_ns", &l->at) && number(clock, "offset_ns", &l->offset) &&
                number(clock, "drift_ps_per_s", &drift);
    if (!fine || drift < -1000000000000 / 2 || drift > 1000000000000) return false;
    l->drift = (double)drift * 1e-12;
    return true;
}

static hb_plan_line inverse(const hb_plan_line *l)
{
    return (hb_plan_line){sum(l->at, l->offset), -l->offset, -l->drift / (1 + l->drift)};
}

/* `first`, and behind it `second`, as one. */
static hb_plan_line joined(const hb_plan_line *first, const hb_plan_line *second)
{
    int64_t later = drifted(sum(first->at, first->offset) - second->at, second->drift);
    return (hb_plan_line){first->at, sum(sum(first->offset, second->offset), later),
                          first->drift + second->drift + first->drift * second->drift};
}

/* ---- what the metadata say afterwards ---- */

static void put_shift(hb_buf *b, const hb_plan_line *whole, const hb_time_shift *shift,
                      hb_str before)
{
    hb_buf_printf(b,
                  "{\"method\": \"collectives\", \"reference_rank\": %lld, \"applied\": true, "
                  "\"at_ns\": %lld, \"offset_ns\": %lld, \"drift_ps_per_s\": %lld, "
                  "\"bound_ns\": %lld",
                  (long long)shift->reference_rank, (long long)whole->at, (long long)whole->offset,
                  llround(whole->drift * 1e12), (long long)shift->bound_ns);
    if (before.len) {
        hb_buf_str(b, ", \"before\": ");
        hb_buf_append(b, before.s, before.len);
    }
    hb_buf_str(b, "}");
}

static void put_undone(hb_buf *b, hb_str before)
{
    hb_buf_str(b, "{\"applied\": false, \"undone\": ");
    hb_buf_append(b, before.s, before.len);
    hb_buf_str(b, "}");
}

static hb_result add_lines(hb_plan *plan, hb_str clock)
{
    const hb_time_shift *shift = plan->options->shift;
    hb_plan_line before = {0}, added;
    bool has_before = was_shifted(clock), undone = has_before && plan->options->undo_shift;
    if (has_before && !read_line(clock, &before))
        return hb_fail(HB_ERROR_FORMAT,
                       "%s: its \"" CLOCK "\" does not say what was added to its "
                       "times (at_ns, offset_ns, drift_ps_per_s)",
                       plan->input);
    if (undone) {
        plan->lines[plan->num_lines++] = inverse(&before);
        plan->counts[HB_CHANGE_UNSHIFT] = 1;
    }
    if (!shift) {
        if (undone) put_undone(&plan->clock, clock);
        return HB_OK;
    }
    added = (hb_plan_line){hb_bounded_ns(shift->at_ns), hb_bounded_ns(shift->offset_ns),
                           (double)shift->drift_ps_per_s * 1e-12};
    plan->lines[plan->num_lines++] = added;
    plan->counts[HB_CHANGE_SHIFT] = 1;
    if (has_before && !undone) added = joined(&before, &added);
    put_shift(&plan->clock, &added, shift, clock);
    return HB_OK;
}

hb_result hb_plan_shift(hb_plan *plan)
{
    hb_str base = hb_trace_member(&plan->trace, "baseTimeNanoseconds");
    hb_value value = base.len ? hb_json_value(base) : (hb_value){0};
    hb_buf_init(&plan->clock, (size_t)64 << 20);
    if (!plan->options->shift && !plan->options->undo_shift) return HB_OK;
    if (!hb_value_time(&value, &plan->base)) plan->base = 0;
    HB_TRY(add_lines(plan, hb_trace_member(&plan->trace, CLOCK)));
    return plan->clock.failed ? hb_no_memory() : HB_OK;
}

bool hb_plan_is_old_clock(const hb_plan *plan, hb_str key)
{
    return plan->clock.size && hb_str_is(key, CLOCK);
}

/* Exact, where it is a plain decimal; doubles have no nanoseconds of today's Unix times. */
bool hb_plan_time(const hb_value *value, int64_t *ns)
{
    const char *p = value->s, *end = p + value->size;
    bool negative = value->size && *p == '-';
    int64_t n = 0;
    double us;
    int decimals = -1;
    for (p += negative; p < end && decimals < 3 && n < HB_MAX_TIME_NS / 10; p++) {
        if (*p == '.' && decimals < 0)
            decimals = 0;
        else if (*p >= '0' && *p <= '9') {
            n = n * 10 + (*p - '0');
            decimals += decimals >= 0;
        } else
            break;
    }
    if (p < end) return hb_plain_number(value, &us) && isfinite(us) && hb_us_to_ns(us, ns);
    if (!value->size) return false;
    for (decimals = HB_MAX(decimals, 0); decimals < 3 && n < HB_MAX_TIME_NS / 10; decimals++)
        n *= 10;
    if (decimals < 3) return false;
    *ns = negative ? -n : n;
    return n < HB_MAX_TIME_NS;
}
