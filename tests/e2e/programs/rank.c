/* SPDX-License-Identifier: MIT
 *
 * rank DIR RANK WORLD_SIZE STEPS: one process of a distributed training, all of whose steps are
 * recorded. STEPS 0: it goes on until it is killed, and says "recording" once it has recorded ten.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <hipboard/hipboard.h>

enum { GRADIENTS = 1000 };

static void train_step(void)
{
    const struct timespec pause = {0, 1000000};
    HB_OP("aten::mm", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 8, 8), HB_TENSOR(HB_FLOAT32, 8, 8))) {
        nanosleep(&pause, NULL);
    }
    HB_OP("gloo:all_reduce", HB_INPUTS(HB_TENSOR(HB_FLOAT32, GRADIENTS))) {
        nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv)
{
    if (argc != 5) return 2;
    char name[32];
    int rank = atoi(argv[2]), world_size = atoi(argv[3]), steps = atoi(argv[4]);
    snprintf(name, sizeof name, "rank_%d", rank);
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.record_shapes = true;
    o.schedule = hb_schedule_make(.active = steps ? steps : 1000000, .repeat = 1);
    o.on_trace_ready = hb_tensorboard_trace_handler(argv[1], name, 0);
    o.distributed = (hb_distributed_info){"gloo", rank, world_size, NULL, 0, NULL};
    hb_profiler *prof = hb_profiler_create(&o);
    if (!prof || hb_profiler_start(prof) != HB_OK) return 1;
    for (int step = 0; steps == 0 || step < steps; step++) {
        train_step();
        if (steps == 0 && step == 10) {
            puts("recording");
            fflush(stdout);
        }
        if (hb_profiler_step(prof) != HB_OK) return 1;
    }
    int result = hb_profiler_stop(prof) != HB_OK;
    hb_profiler_destroy(prof);
    return result;
}
