/* SPDX-License-Identifier: MIT
 *
 * Nodes' clocks by what cannot be otherwise: nobody leaves a collective of all before all have
 * come. Each collective says how much a node's clock may be behind the reference's at most, and at
 * least; what is sought is the line that is farthest from all of these limits.
 */
#include <math.h>
#include <stdlib.h>

#include "base/c_locale.h"
#include "ranks/meetings.h"

enum {
    WINDOWS = 128, /* of the job's time; of each the narrowest limits count */
    ROUNDS = 100,  /* in which the slope is found */
    SLOPES = 128,  /* that are tried for how far others are away */
};
/* No quartz is worse. */
#define MOST_DRIFT 5e-4

/* A clock's limits in one window: what is to be added to a time. Times are behind the node's
 * beginning. */
typedef struct window {
    double low, high, low_at, high_at; /* -INFINITY, INFINITY: none */
} window;

typedef struct node_clock {
    window windows[WINDOWS];
    int64_t begin, end; /* of its ranks, by its own clock */
    double slope;       /* along which limits are compared within a window */
    uint64_t meetings;
} node_clock;

typedef struct extent {
    int64_t last_start, first_end;
    uint64_t came;
} extent;

typedef struct fitting {
    hb_rank_study *s;
    node_clock *clocks; /* by node */
    extent *extents;
    uint32_t reference; /* a node */
    uint64_t meetings;
} fitting;

/* ---- limits ---- */

static window *window_at(node_clock *c, int64_t time)
{
    double part = (double)(time - c->begin) / (double)(c->end - c->begin + 1);
    int i = (int)(part * WINDOWS);
    return &c->windows[HB_MIN(HB_MAX(i, 0), WINDOWS - 1)];
}

/* The reference has come by the time that the node leaves, and the other way round. */
static void limit(node_clock *c, const extent *own, const extent *reference)
{
    double low = (double)(reference->last_start - own->first_end);
    double high = (double)(reference->first_end - own->last_start);
    double low_at = (double)(own->first_end - c->begin);
    double high_at = (double)(own->last_start - c->begin);
    window *w = window_at(c, own->first_end);
    if (low - c->slope * low_at > w->low - c->slope * w->low_at) {
        w->low = low;
        w->low_at = low_at;
    }
    w = window_at(c, own->last_start);
    if (high - c->slope * high_at < w->high - c->slope * w->high_at) {
        w->high = high;
        w->high_at = high_at;
    }
    c->meetings++;
}

static void take_meeting(fitting *f, const hb_meeting *m)
{
    hb_rank_study *s = f->s;
    uint64_t number = ++f->meetings;
    for (uint32_t i = 0; i < m->count; i++) {
        extent *x = &f->extents[s->ranks[m->who[i].rank].node];
        if (x->came != number) *x = (extent){INT64_MIN, INT64_MAX, number};
        x->last_start = HB_MAX(x->last_start, m->who[i].start);
        x->first_end = HB_MIN(x->first_end, m->who[i].end);
    }
    const extent *reference = &f->extents[f->reference];
    if (reference->came != number) return;
    for (uint32_t n = 0; n < s->num_nodes; n++)
        if (n != f->reference && f->extents[n].came == number)
            limit(&f->clocks[n], &f->extents[n], reference);
}

static void begin_nodes(fitting *f)
{
    hb_rank_study *s = f->s;
    for (uint32_t n = 0; n < s->num_nodes; n++) {
        node_clock *c = &f->clocks[n];
        c->begin = INT64_MAX;
        c->end = INT64_MIN;
        c->meetings = 0;
        for (int i = 0; i < WINDOWS; i++)
            c->windows[i] = (window){-INFINITY, INFINITY, 0, 0};
    }
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        const hb_study_cycle *cycle = &s->cycles.items[i];
        node_clock *c = &f->clocks[s->ranks[cycle->rank].node];
        c->begin = HB_MIN(c->begin, cycle->digest.start);
        c->end = HB_MAX(c->end, cycle->digest.end);
    }
}

static void read_meetings(fitting *f)
{
    hb_rank_study *s = f->s;
    begin_nodes(f);
    hb_meetings *meetings = hb_meetings_open(s);
    for (const hb_meeting *m; (m = hb_meetings_next_for_all(meetings));)
        take_meeting(f, m);
}

/* ---- lines ---- */

/* Of all lines of that slope the lowest and the highest within the limits; low > high: none is. */
typedef struct band {
    double low, high;
} band;

static band band_of(const node_clock *c, double slope)
{
    band b = {-INFINITY, INFINITY};
    for (int i = 0; i < WINDOWS; i++) {
        const window *w = &c->windows[i];
        b.low = fmax(b.low, w->low - slope * w->low_at);
        b.high = fmin(b.high, w->high - slope * w->high_at);
    }
    return b;
}

static double width_of(const node_clock *c, double slope)
{
    band b = band_of(c, slope);
    return b.high - b.low;
}

/* The slope whose band is widest; widths have one peak over the slopes. */
static double best_slope(const node_clock *c)
{
    double low = -MOST_DRIFT, high = MOST_DRIFT;
    for (int i = 0; i < ROUNDS; i++) {
        double a = low + (high - low) / 3, b = high - (high - low) / 3;
        if (width_of(c, a) < width_of(c, b))
            low = a;
        else
            high = b;
    }
    return (low + high) / 2;
}

/* As far from `inside` towards `outside` as slopes are still possible. */
static double farthest_slope(const node_clock *c, double inside, double outside)
{
    if (width_of(c, outside) >= 0) return outside;
    for (int i = 0; i < ROUNDS; i++) {
        double middle = (inside + outside) / 2;
        if (width_of(c, middle) >= 0)
            inside = middle;
        else
            outside = middle;
    }
    return inside;
}

typedef struct line {
    double at_begin, slope, bound, contradicted; /* contradicted: ns, > 0: by the limits */
} line;

/* How far another possible line may be away, where the node begins and where it ends. */
static double bound_of(const node_clock *c, const line *l)
{
    double length = (double)(c->end - c->begin), bound = 0;
    double from = farthest_slope(c, l->slope, -MOST_DRIFT);
    double to = farthest_slope(c, l->slope, MOST_DRIFT);
    for (int i = 0; i <= SLOPES; i++) {
        double slope = from + (to - from) * i / SLOPES;
        band b = band_of(c, slope);
        if (b.low > b.high) continue;
        double turn = (slope - l->slope) * length;
        bound = fmax(bound, fmax(fabs(b.low - l->at_begin), fabs(b.high - l->at_begin)));
        bound =
            fmax(bound, fmax(fabs(b.low + turn - l->at_begin), fabs(b.high + turn - l->at_begin)));
    }
    return bound;
}

/* Without a drift, where one offset is within all limits: a slope would be chance. */
static line line_of(const node_clock *c)
{
    line l = {.slope = width_of(c, 0) >= 0 ? 0 : best_slope(c)};
    band b = band_of(c, l.slope);
    l.at_begin = (b.low + b.high) / 2;
    l.contradicted = fmax(0, (b.low - b.high) / 2);
    l.bound = (l.contradicted > 0 ? l.contradicted : bound_of(c, &l)) + 1;
    return l;
}

/* ---- what is given away ---- */

static const char *text_of(hb_rank_study *s, hb_str text)
{
    char *copy = HB_NEW_ARRAY(&s->results, char, text.len + 1);
    memcpy(copy, text.s, text.len);
    return copy;
}

static bool shift_before(const void *context, const void *x, const void *y)
{
    const hb_rank_shift *a = x, *b = y;
    (void)context;
    return strcmp(a->file, b->file) < 0;
}

static void put_shifts(fitting *f, const line *lines)
{
    hb_rank_study *s = f->s;
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        const hb_study_cycle *c = &s->cycles.items[i];
        uint32_t node = s->ranks[c->rank].node;
        const line *l = &lines[node];
        *HB_PUSH(&s->results, &s->shifts) = (hb_rank_shift){
            .file = text_of(s, c->digest.file),
            .rank = c->digest.rank,
            .collectives = f->clocks[node].meetings,
            .shift = {.at_ns = f->clocks[node].begin,
                      .offset_ns = llround(l->at_begin),
                      .drift_ps_per_s = llround(l->slope * 1e12),
                      .bound_ns = llround(l->bound),
                      .reference_rank = s->ranks[0].rank},
        };
    }
    hb_sort(&s->results, s->shifts.items, s->shifts.count, sizeof *s->shifts.items, shift_before,
            NULL);
}

/* The reference is the node of the lowest rank. */
static void find_lines(fitting *f, line *lines, bool force)
{
    hb_rank_study *s = f->s;
    for (uint32_t n = 0; n < s->num_nodes; n++) {
        const node_clock *c = &f->clocks[n];
        lines[n] = (line){0};
        if (n == f->reference) continue;
        if (!c->meetings && !force)
            hb_arena_leave(&s->results, HB_ERROR_NOT_FOUND,
                           "clocks: no blocking collective of all has ranks of both %.*s and %.*s: "
                           "nothing tells how their clocks stand to each other",
                           (int)s->nodes[n].name.len, s->nodes[n].name.s,
                           (int)s->nodes[f->reference].name.len, s->nodes[f->reference].name.s);
        if (!c->meetings) continue;
        lines[n] = line_of(c);
        if (lines[n].contradicted > 0 && !force)
            hb_arena_leave(&s->results, HB_ERROR_STATE,
                           "clocks: whatever is added to the times of %.*s, collectives contradict "
                           "them by %.1f us or more: they are left as they are",
                           (int)s->nodes[n].name.len, s->nodes[n].name.s,
                           lines[n].contradicted / 1e3);
    }
}

/* Which limits are the narrowest of a window depends on the slope, which is not known at first. */
static void read_along_slopes(fitting *f)
{
    bool any = false;
    read_meetings(f);
    for (uint32_t n = 0; n < f->s->num_nodes; n++) {
        node_clock *c = &f->clocks[n];
        if (c->meetings) c->slope = line_of(c).slope;
        any |= c->slope != 0;
    }
    if (any) read_meetings(f);
}

static fitting begin(hb_rank_study *s)
{
    return (fitting){.s = s,
                     .clocks = HB_NEW_ARRAY(&s->results, node_clock, s->num_nodes),
                     .extents = HB_NEW_ARRAY(&s->results, extent, s->num_nodes),
                     .reference = s->ranks[0].node};
}

static void fit(hb_rank_study *s, bool force)
{
    fitting f = begin(s);
    line *lines = HB_NEW_ARRAY(&s->results, line, s->num_nodes);
    s->shifts.count = 0;
    read_along_slopes(&f);
    find_lines(&f, lines, force);
    put_shifts(&f, lines);
}

/* ---- for the study itself ---- */

void hb_study_leave_clocks(hb_rank_study *s)
{
    for (uint32_t i = 0; i < s->cycles.count; i++)
        s->cycles.items[i].digest.line = (hb_clock_line){0};
}

bool hb_study_correct_clocks(hb_rank_study *s)
{
    fitting f = begin(s);
    int64_t bound = 0;
    line *lines = HB_NEW_ARRAY(&s->results, line, s->num_nodes);
    read_along_slopes(&f);
    for (uint32_t n = 0; n < s->num_nodes; n++) {
        if (n == f.reference) continue;
        lines[n] = f.clocks[n].meetings ? line_of(&f.clocks[n]) : (line){.contradicted = 1};
        if (lines[n].contradicted > 0) return false;
        bound = HB_MAX(bound, llround(lines[n].bound));
    }
    for (uint32_t i = 0; i < s->cycles.count; i++) {
        uint32_t n = s->ranks[s->cycles.items[i].rank].node;
        s->cycles.items[i].digest.line =
            (hb_clock_line){f.clocks[n].begin, llround(lines[n].at_begin), lines[n].slope};
    }
    s->clock_bound = bound;
    s->clocks_corrected = true;
    return true;
}

int64_t hb_study_written_bound(hb_rank_study *s)
{
    fitting f = begin(s);
    const line as_written = {0};
    double bound = 0;
    read_meetings(&f);
    for (uint32_t n = 0; n < s->num_nodes; n++) {
        if (n == f.reference) continue;
        if (!f.clocks[n].meetings) return 0;
        bound = fmax(bound, bound_of(&f.clocks[n], &as_written));
    }
    return HB_MAX(llround(bound), s->worst_violation) + 1;
}

static hb_result fit_as_written(hb_rank_study *s, bool force)
{
    hb_clock_line *lines = calloc(s->cycles.count + 1, sizeof *lines);
    if (!lines) return hb_no_memory();
    for (uint32_t i = 0; i < s->cycles.count; i++)
        lines[i] = s->cycles.items[i].digest.line;
    hb_study_leave_clocks(s);
    if (hb_arena_try(&s->results)) fit(s, force);
    for (uint32_t i = 0; i < s->cycles.count; i++)
        s->cycles.items[i].digest.line = lines[i];
    free(lines);
    return hb_arena_outcome(&s->results);
}

hb_result hb_rank_study_shifts(hb_rank_study *s, bool force, const hb_rank_shift **shifts,
                               size_t *count)
{
    if (!s || !shifts || !count) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    *shifts = NULL;
    *count = 0;
    HB_TRY(hb_study_run(s));
    HB_TRY(fit_as_written(s, force));
    *shifts = s->shifts.items;
    *count = s->shifts.count;
    return HB_OK;
}
