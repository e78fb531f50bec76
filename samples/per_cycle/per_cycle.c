/* SPDX-License-Identifier: MIT
 *
 * A handler of one's own beside the ready-made one: after each cycle it prints where the time went,
 * as torch.profiler's key_averages() does, and which sweep was the slowest. The program heats a
 * metal plate.
 */
#include <hipboard/analysis.h>
#include <hipboard/hipboard.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 256, STEPS = 20, SWEEPS = 10 };

/* ---------------------------------------------------------------------------------------------- */
/* The handler                                                                                    */
/* ---------------------------------------------------------------------------------------------- */

static hb_result print_table(hb_profiler *prof)
{
    hb_key_averages *averages = NULL;
    hb_key_averages_options options = HB_KEY_AVERAGES_OPTIONS_INIT;
    char *text = NULL;
    options.group_by_input_shape = true;
    options.sort_by = "self_cpu_time_total";
    hb_result result = hb_profiler_key_averages(prof, &options, &averages);
    if (result == HB_OK) result = hb_key_averages_table(averages, NULL, &text, NULL);
    if (result == HB_OK) fputs(text, stdout);
    hb_free(text);
    hb_key_averages_destroy(averages);
    return result;
}

static bool find_slowest(const hb_event *event, void *arg)
{
    int64_t *slowest = arg, duration = event->end_ns - event->start_ns;
    if (strcmp(event->name, "diffuse") == 0 && duration > *slowest) *slowest = duration;
    return true;
}

/* In a handler the profiler's step is already the next one. */
static hb_result on_trace_ready(hb_profiler *prof, void *context)
{
    int64_t slowest = 0;
    (void)context;
    printf("cycle %lld, complete at step %lld\n", (long long)hb_profiler_cycle(prof),
           (long long)hb_profiler_step_num(prof));
    hb_result result = print_table(prof);
    if (result == HB_OK) result = hb_profiler_events(prof, find_slowest, &slowest);
    if (result != HB_OK) return result;
    printf("slowest diffuse: %.1f us\n\n", (double)slowest / 1000);
    return HB_OK;
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
    static plate now, next;
    hb_profiler_options options = HB_PROFILER_OPTIONS_INIT;
    options.schedule = hb_schedule_make(.wait = 2, .warmup = 1, .active = 3, .repeat = 3);
    options.on_trace_ready =
        hb_trace_handler_chain((hb_trace_handler){on_trace_ready, NULL, NULL},
                               hb_tensorboard_trace_handler("runs/per_cycle", NULL, 0));
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
