/* SPDX-License-Identifier: MIT
 *
 * A handler of one's own: after each cycle it prints where the time went, from the cycle's events,
 * and then writes the same trace as the ready-made handler would. The program heats a metal plate.
 */
#include <hipboard/hipboard.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 256, STEPS = 20, SWEEPS = 10, TOP = 5 };
enum { NAME_BYTES = 48, MAX_NAMES = 32, MAX_DEPTH = 64 };

/* ---------------------------------------------------------------------------------------------- */
/* The handler                                                                                    */
/* ---------------------------------------------------------------------------------------------- */

struct total {
    char name[NAME_BYTES]; /* cut off if longer */
    int64_t calls, self_ns;
};

struct open_scope {
    struct total *total;
    int64_t end_ns;
};

/* Events come thread by thread in order of start, so a stack of open scopes finds each one's
 * parent. */
struct summary {
    struct total totals[MAX_NAMES];
    int num_totals;
    struct open_scope stack[MAX_DEPTH];
    int depth;
    int64_t thread_id;
};

static struct total *find_total(struct summary *s, const char *name)
{
    for (int i = 0; i < s->num_totals; i++) {
        if (strncmp(s->totals[i].name, name, NAME_BYTES - 1) == 0) return &s->totals[i];
    }
    if (s->num_totals == MAX_NAMES) return NULL;
    struct total *total = &s->totals[s->num_totals++];
    snprintf(total->name, sizeof total->name, "%s", name);
    return total;
}

/* A scope's time is its own and no longer its parent's. */
static void add_scope(struct summary *s, const hb_event *event)
{
    int64_t duration = event->end_ns - event->start_ns;
    while (s->depth > 0 && s->stack[s->depth - 1].end_ns <= event->start_ns)
        s->depth--;
    struct total *total = find_total(s, event->name);
    if (!total || s->depth == MAX_DEPTH) return;
    if (s->depth > 0) s->stack[s->depth - 1].total->self_ns -= duration;
    total->calls++;
    total->self_ns += duration;
    s->stack[s->depth++] = (struct open_scope){total, event->end_ns};
}

static bool visit(const hb_event *event, void *arg)
{
    struct summary *s = arg;
    if (event->kind != HB_EVENT_OP && event->kind != HB_EVENT_USER_ANNOTATION) return true;
    if (event->thread_id != s->thread_id) s->depth = 0;
    s->thread_id = event->thread_id;
    add_scope(s, event);
    return true;
}

static int by_self_time(const void *a, const void *b)
{
    const struct total *x = a, *y = b;
    return (x->self_ns < y->self_ns) - (x->self_ns > y->self_ns);
}

/* In a handler the profiler's step is already the next one. */
static hb_result on_trace_ready(hb_profiler *prof, void *context)
{
    const char *dir = context;
    struct summary s = {.depth = 0};
    hb_result result = hb_profiler_events(prof, visit, &s);
    if (result != HB_OK) return result;
    qsort(s.totals, (size_t)s.num_totals, sizeof s.totals[0], by_self_time);

    printf("cycle %lld, complete at step %lld\n", (long long)hb_profiler_cycle(prof),
           (long long)hb_profiler_step_num(prof));
    for (int i = 0; i < s.num_totals && i < TOP; i++)
        printf("  %-24s %4lld calls %10.1f us self\n", s.totals[i].name,
               (long long)s.totals[i].calls, (double)s.totals[i].self_ns / 1000);
    return hb_export_tensorboard(prof, dir, NULL, 0);
}

/* ---------------------------------------------------------------------------------------------- */
/* The program                                                                                    */
/* ---------------------------------------------------------------------------------------------- */

typedef float plate[SIDE][SIDE];

static void heat_edges(plate grid)
{
    HB_OP("heat_edges") {
        for (int i = 0; i < SIDE; i++)
            grid[i][0] = grid[0][i] = 100;
    }
}

static void diffuse(plate to, plate from)
{
    HB_OP("diffuse", HB_INPUTS(HB_TENSOR(HB_FLOAT32, SIDE, SIDE))) {
        for (int i = 1; i < SIDE - 1; i++) {
            for (int j = 1; j < SIDE - 1; j++)
                to[i][j] = (from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1]) / 4;
        }
    }
}

static float largest_change(plate a, plate b)
{
    float largest = 0;
    HB_OP("largest_change") {
        for (int i = 0; i < SIDE; i++) {
            for (int j = 0; j < SIDE; j++)
                largest = fmaxf(largest, fabsf(a[i][j] - b[i][j]));
        }
    }
    return largest;
}

static void heat(plate now, plate next)
{
    HB_RECORD_FUNCTION("heat") {
        for (int i = 0; i < SWEEPS; i++) {
            heat_edges(now);
            diffuse(next, now);
            heat_edges(next);
            diffuse(now, next);
        }
        hb_scalar("largest change", largest_change(now, next));
    }
}

int main(void)
{
    static char dir[] = "runs/per_cycle";
    static plate now, next;
    hb_profiler_options options = HB_PROFILER_OPTIONS_INIT;
    options.schedule = hb_schedule_make(.wait = 2, .warmup = 1, .active = 3, .repeat = 3);
    options.on_trace_ready = (hb_trace_handler){on_trace_ready, dir, NULL};
    options.record_shapes = true;

    hb_profiler *prof = hb_profiler_create(&options);
    hb_result result = hb_profiler_start(prof);
    for (int step = 0; step < STEPS && result == HB_OK; step++) {
        heat(now, next);
        result = hb_profiler_step(prof);
    }
    if (result == HB_OK) result = hb_profiler_stop(prof);
    if (result != HB_OK) fprintf(stderr, "per_cycle: %s\n", hb_last_error());
    hb_profiler_destroy(prof);
    return result != HB_OK;
}
