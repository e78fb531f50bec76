/* SPDX-License-Identifier: MIT
 *
 * The shortest useful program: five steps of matrix multiplication, the last three recorded.
 */
#include <hipboard/hipboard.h>
#include <stdio.h>

enum { N = 200 };
static float a[N][N], b[N][N], c[N][N];

static void multiply(void)
{
    HB_OP_GUARD("aten::mm", HB_INPUTS(HB_TENSOR(HB_FLOAT32, N, N), HB_TENSOR(HB_FLOAT32, N, N)));
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++)
            for (int j = 0; j < N; j++)
                c[i][j] += a[i][k] * b[k][j];
}

int main(void)
{
    hb_profiler_options options = HB_PROFILER_OPTIONS_INIT;
    options.schedule = hb_schedule_make(.wait = 1, .warmup = 1, .active = 3);
    options.on_trace_ready = hb_tensorboard_trace_handler("runs/minimal", NULL, 0);
    options.record_shapes = true;

    hb_profiler *prof = hb_profiler_create(&options);
    hb_profiler_start(prof);
    for (int step = 0; step < 5; step++) {
        multiply();
        hb_profiler_step(prof);
    }
    hb_result result = hb_profiler_stop(prof);
    if (result != HB_OK) fprintf(stderr, "minimal: %s\n", hb_last_error());
    hb_profiler_destroy(prof);
    return result != HB_OK;
}
