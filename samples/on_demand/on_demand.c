/* SPDX-License-Identifier: MIT
 *
 * A program that runs for long and is looked at when there is reason to: from outside,
 *
 *     hipboard trigger --wait $(pgrep on_demand)
 *
 * by a signal (kill -USR2), when a step takes three times as long as usual, or when its loss is too
 * high. Its steps are short and now and then one is long. An argument says how many.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <hipboard/hipboard.h>

static void work_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void train(int step)
{
    HB_RECORD_FUNCTION("load") { work_ms(2); }
    HB_RECORD_FUNCTION("compute") { work_ms(step % 1000 == 999 ? 100 : 8); }
    hb_scalar("loss", 100.0 / (step + 10));
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 100000;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.on_demand = true;
    o.trigger_signal = SIGUSR2;
    o.trigger_slow_step = 300; /* percent of the median */
    o.trigger_metric = "loss > 20";
    o.max_cycles = 10; /* what is older goes */
    o.on_trace_ready = hb_tensorboard_trace_handler("runs/on_demand", NULL, 0);
    hb_profiler *prof = hb_profiler_create(&o);
    if (!prof || hb_profiler_start(prof) != HB_OK) {
        fprintf(stderr, "%s\n", hb_last_error());
        return 1;
    }
    for (int step = 0; step < steps; step++) {
        train(step);
        hb_profiler_step(prof);
    }
    hb_profiler_stop(prof);
    hb_profiler_destroy(prof);
    return 0;
}
