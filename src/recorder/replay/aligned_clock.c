/* SPDX-License-Identifier: MIT */
#include "replay/aligned_clock.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_line.h"
#include "base/json_members.h"
#include "base/times.h"
#include "record/clock_told.h"

/* Clocks that nobody measures again go apart: by no more than this, as quartzes are made. */
#define UNSEEN_DRIFT 1e-4

typedef struct point {
    int64_t local, offset, bound;
} point;

/* corrected = local + offset + drift * (local - at), in Unix ns. */
typedef struct correction {
    int64_t at, offset, bound;
    int64_t drift_ps; /* a second: 10^-12 */
    bool applied;
} correction;

typedef struct aligned {
    hb_source base;
    hb_source *inner;
    hb_trace_info info;
    correction c;
    hb_buf told;
    hb_metadata metadata[];
} aligned;

/* ---- what was told ---- */

typedef struct told {
    int64_t wall, wall_bound;
    bool always, shared;
    point first, last;
    size_t num_points;
} told;

/* What a damaged spool tells is bounded, so that sums do not overflow. */
#define MOST_NS INT64_C(1000000000000000000)

static bool member(hb_str json, const char *name, int64_t most, int64_t *number)
{
    hb_value v = hb_json_member(json, name);
    return hb_value_time(&v, number) && *number > -most && *number < most;
}

static bool take_point(void *context, const hb_value *element)
{
    told *t = context;
    point p;
    hb_str json = {element->s, (uint32_t)element->size};
    if (!member(json, "local_ns", MOST_NS, &p.local) ||
        !member(json, "offset_ns", MOST_NS, &p.offset) ||
        !member(json, "bound_ns", MOST_NS, &p.bound) || p.bound < 0)
        return false;
    if (!t->num_points++) t->first = p;
    t->last = p;
    return true;
}

static bool read_json(hb_str json, told *t)
{
    hb_value points = hb_json_member(json, "points"), always = hb_json_member(json, "always"),
             method = hb_json_member(json, "method");
    *t = (told){.always = always.type == HB_JSON_TRUE, .shared = hb_value_is(&method, "shared")};
    if (points.type != HB_JSON_ARRAY || !member(json, "wall_ns", HB_MAX_TIME_NS, &t->wall) ||
        !member(json, "wall_bound_ns", MOST_NS, &t->wall_bound))
        return false;
    hb_json_each((hb_str){points.s, (uint32_t)points.size}, take_point, t);
    return t->num_points > 0;
}

/* The scanner looks further than the text. */
static bool read_told(const char *text, told *t)
{
    if (!hb_json_is_valid(text)) return false;
    size_t size = strlen(text);
    char *padded = calloc(1, size + HB_SCAN_PADDING);
    if (!padded) return false;
    memcpy(padded, text, size);
    bool read = read_json((hb_str){padded, (uint32_t)size}, t);
    free(padded);
    return read;
}

/* ---- what follows from it ---- */

/* A line from local time to the offset. */
typedef struct line {
    int64_t at, offset, bound, drift_ps;
} line;

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

/* How much less is known before and behind two measurements than between them. */
static int64_t further(const point *p, const point *q, int64_t from, int64_t to)
{
    int64_t away = HB_MAX(HB_MAX(p->local - from, to - q->local), 0);
    double rate = (double)(p->bound + q->bound) / (double)(q->local - p->local);
    return (int64_t)((double)away * HB_MIN(rate, UNSEEN_DRIFT));
}

/* Two measurements that one offset explains tell of no drift: it lies in what both allow. */
static line line_of_two(const point *p, const point *q)
{
    int64_t low = HB_MAX(p->offset - p->bound, q->offset - q->bound);
    int64_t high = HB_MIN(p->offset + p->bound, q->offset + q->bound);
    int64_t bound = HB_MAX(p->bound, q->bound), span = q->local - p->local;
    if (low <= high) {
        int64_t middle = low + (high - low) / 2;
        bound =
            HB_MAX(distance(middle, p->offset) + p->bound, distance(middle, q->offset) + q->bound);
        return (line){p->local, middle, bound, 0};
    }
    double drift = (double)(q->offset - p->offset) / (double)span;
    return (line){p->local, p->offset, bound, llround(HB_MIN(HB_MAX(drift, -1), 1) * 1e12)};
}

static line line_of(const told *t, int64_t from, int64_t to)
{
    const point *p = &t->first;
    if (t->num_points > 1 && t->last.local > p->local) {
        line l = line_of_two(p, &t->last);
        l.bound += further(p, &t->last, from, to);
        return l;
    }
    int64_t away = HB_MAX(distance(from, p->local), distance(to, p->local));
    int64_t drifts = t->shared ? 0 : (int64_t)((double)away * UNSEEN_DRIFT);
    return (line){p->local, p->offset, p->bound + drifts, 0};
}

static bool distance_is_odd(int64_t ns)
{
    return ns <= -HB_MAX_TIME_NS || ns >= HB_MAX_TIME_NS;
}

/* As far as times go, whatever a damaged spool tells: who adds some counts on that. */
static int64_t corrected(const correction *c, int64_t local)
{
    int64_t time = local;
    hb_add_ns(&time, c->offset);
    hb_add_ns(&time, llround((double)(local - c->at) * (double)c->drift_ps * 1e-12));
    return hb_bounded_ns(time);
}

/* False: what it would be corrected by makes no sense. */
static bool find_correction(const told *t, const hb_trace_info *info, const hb_clock_pair *start,
                            double ns_per_tick, correction *result)
{
    int64_t wall = (int64_t)((uint64_t)start->unix_ns - (uint64_t)start->monotonic_ns);
    double width = (double)start->width_ticks * ns_per_tick;
    if (distance_is_odd(wall) || !(width >= 0 && width < MOST_NS)) return false;
    line l = line_of(t, info->start_ns - wall, info->stop_ns - wall);
    correction c = {.at = info->start_ns, .drift_ps = l.drift_ps};
    double drift = (double)(c.at - wall - l.at) * (double)l.drift_ps * 1e-12;
    c.offset = l.offset;
    hb_add_ns(&c.offset, llround(drift));
    hb_add_ns(&c.offset, t->wall - wall);
    c.bound = l.bound + t->wall_bound + (int64_t)width + 1;
    if (distance_is_odd(c.offset)) return false;
    int64_t start_ns = corrected(&c, info->start_ns), stop_ns = corrected(&c, info->stop_ns);
    if (distance_is_odd(start_ns) || distance_is_odd(stop_ns)) return false;
    int64_t most = HB_MAX(distance(c.offset, 0), distance(stop_ns - info->stop_ns, 0));
    c.applied = t->always || most > c.bound;
    *result = c;
    return true;
}

/* ---- the source ---- */

static hb_result begin(hb_source *source, hb_pass pass)
{
    aligned *a = (aligned *)source;
    return a->inner->begin(a->inner, pass);
}

static bool next(hb_source *source, hb_trace_event *event)
{
    aligned *a = (aligned *)source;
    if (!a->inner->next(a->inner, event)) return false;
    event->start_ns = corrected(&a->c, event->start_ns);
    event->end_ns = corrected(&a->c, event->end_ns);
    return true;
}

static void source_close(hb_source *source)
{
    aligned *a = (aligned *)source;
    a->inner->close(a->inner);
    hb_buf_free(&a->told);
    free(a);
}

/* What was told, and behind it what was made of it. Where nothing is corrected the offset is what
 * would have been added, and times are as wrong as that and its bound. */
static void tell(hb_buf *b, const char *text, const correction *c)
{
    hb_buf_append(b, text, strlen(text) - 1);
    hb_buf_printf(b, ", \"applied\": %s, ", c->applied ? "true" : "false");
    if (c->applied)
        hb_buf_printf(b, "\"at_ns\": %lld, \"offset_ns\": %lld, \"drift_ps_per_s\": %lld, ",
                      (long long)c->at, (long long)c->offset, (long long)c->drift_ps);
    else
        hb_buf_printf(b, "\"offset_ns\": 0, \"found_ns\": %lld, ", (long long)c->offset);
    int64_t wrong = c->applied ? 0 : distance(c->offset, 0);
    hb_buf_printf(b, "\"bound_ns\": %lld}", (long long)(c->bound + wrong));
}

static const char *told_text(const hb_trace_info *info)
{
    for (size_t i = 0; i < info->num_metadata; i++)
        if (strcmp(info->metadata[i].key, HB_METADATA_CLOCK) == 0) return info->metadata[i].json;
    return NULL;
}

static hb_result put_around(hb_source **source, const correction *c, const char *text)
{
    const hb_trace_info *info = (*source)->info;
    aligned *a = malloc(sizeof *a + info->num_metadata * sizeof *a->metadata);
    if (!a) return hb_no_memory();
    *a = (aligned){{&a->info, begin, next, source_close}, *source, *info, *c};
    hb_buf_init(&a->told, (size_t)1 << 20);
    tell(&a->told, text, c);
    if (c->applied) {
        a->info.start_ns = corrected(c, info->start_ns);
        a->info.stop_ns = corrected(c, info->stop_ns);
    } else
        a->c = (correction){0};
    for (size_t i = 0; i < info->num_metadata; i++) {
        a->metadata[i] = info->metadata[i];
        if (a->metadata[i].json == text) a->metadata[i].json = hb_buf_text(&a->told);
    }
    a->info.metadata = a->metadata;
    *source = &a->base;
    return a->told.failed ? hb_no_memory() : HB_OK;
}

hb_result hb_clock_align(hb_source **source, const hb_clock_pair *start, double ns_per_tick)
{
    told t;
    correction c;
    const hb_trace_info *info = (*source)->info;
    const char *text = told_text(info);
    if (!text || !read_told(text, &t) || !find_correction(&t, info, start, ns_per_tick, &c))
        return HB_OK;
    hb_result result = put_around(source, &c, text);
    if (result != HB_OK) (*source)->close(*source);
    return result;
}
