/* SPDX-License-Identifier: MIT
 *
 * lockstep DIR RANK: a rank of a training whose ranks keep step: each step lasts 20 ms of the wall
 * clock and bears the number that it has there. Records on demand, until its input ends; says
 * "ready" first.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <hipboard/hipboard.h>

enum { STEP_NS = 20000000 };

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A rank that is late makes up for it. */
static void wait_until(int64_t ns)
{
    struct timespec t = {ns / 1000000000, ns % 1000000000};
    clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &t, NULL);
}

int main(int argc, char **argv)
{
    char name[32], byte;
    if (argc != 3) return 2;
    snprintf(name, sizeof name, "rank_%d", atoi(argv[2]));
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.on_demand = true;
    o.on_trace_ready = hb_tensorboard_trace_handler(argv[1], name, HB_NO_EVENT_FILE);
    hb_profiler *prof = hb_profiler_create(&o);
    int64_t step = now_ns() / STEP_NS;
    if (!prof || hb_profiler_number_next_step(prof, step) != HB_OK) return 1;
    if (hb_profiler_start(prof) != HB_OK) return 1;
    puts("ready");
    fflush(stdout);
    fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
    while (read(STDIN_FILENO, &byte, 1) != 0) {
        HB_RECORD_FUNCTION("train") {
            wait_until(++step * STEP_NS);
        }
        if (hb_profiler_step(prof) != HB_OK) return 1;
    }
    hb_profiler_destroy(prof);
    return 0;
}
