/* SPDX-License-Identifier: MIT
 *
 * lockstep DIR RANK: a rank of a training whose ranks keep step: each byte of its input is a step,
 * which it answers by one. Records on demand, until its input ends; says "ready" first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <hipboard/hipboard.h>

int main(int argc, char **argv)
{
    char name[32], byte;
    if (argc != 3) return 2;
    snprintf(name, sizeof name, "rank_%d", atoi(argv[2]));
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.on_demand = true;
    o.on_trace_ready = hb_tensorboard_trace_handler(argv[1], name, HB_NO_EVENT_FILE);
    hb_profiler *prof = hb_profiler_create(&o);
    if (!prof || hb_profiler_start(prof) != HB_OK) return 1;
    puts("ready");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) == 1) {
        HB_RECORD_FUNCTION("train") {
        }
        if (hb_profiler_step(prof) != HB_OK || write(STDOUT_FILENO, ".", 1) != 1) return 1;
    }
    hb_profiler_destroy(prof);
    return 0;
}
