/* SPDX-License-Identifier: MIT
 *
 * gpu DIR FLAGS: four recorded steps on a GPU through AMD's HIP runtime: what to load, copy there,
 * three kernels of two kinds in two operators, copy back, wait. test_gpu.py knows the numbers. What
 * HIP allocates is found by the capture itself. Prints the table of the cycle.
 *
 * gpu DIR FLAGS ahead: steps wait for half of their work only, and the program when all are over.
 */
#include <stdio.h>
#include <stdlib.h>

#include <hip/hip_runtime_api.h>
#include <hipboard/analysis.h>

enum { STEPS = 4, COUNT = 4096, BYTES = COUNT * sizeof(float) };

static hipModule_t module;
static hipFunction_t vadd, scale;
static hipEvent_t half;
static float *data, host[COUNT];

static void ok(hipError_t error)
{
    if (error == hipSuccess) return;
    fprintf(stderr, "gpu: %s\n", hipGetErrorName(error));
    exit(1);
}

static void load(void)
{
    ok(hipModuleLoad(&module, TEST_KERNELS));
    ok(hipModuleGetFunction(&vadd, module, "vadd"));
    ok(hipModuleGetFunction(&scale, module, "scale"));
    ok(hipEventCreate(&half));
}

static void launch(hipFunction_t kernel, void **arguments)
{
    ok(hipModuleLaunchKernel(kernel, COUNT / 256, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL));
}

static void add(void)
{
    int n = COUNT;
    HB_OP("aten::add", HB_INPUTS(HB_TENSOR(HB_FLOAT32, COUNT), HB_TENSOR(HB_FLOAT32, COUNT))) {
        launch(vadd, (void *[]){&data, &data, &data, &n});
        launch(vadd, (void *[]){&data, &data, &data, &n});
    }
}

static void multiply(void)
{
    int n = COUNT;
    float factor = 0.5f;
    HB_OP("aten::mul", HB_INPUTS(HB_TENSOR(HB_FLOAT32, COUNT), HB_FLOAT(0.5))) {
        launch(scale, (void *[]){&data, &factor, &n});
    }
}

static void step(void)
{
    HB_DATA_LOADER("Loader") {
        for (int i = 0; i < COUNT; i++)
            host[i] = (float)i;
    }
    HB_OP("aten::copy_") {
        ok(hipMemcpy(data, host, BYTES, hipMemcpyHostToDevice));
    }
    add();
    multiply();
    HB_OP("aten::to") {
        ok(hipMemcpy(host, data, BYTES, hipMemcpyDeviceToHost));
    }
    ok(hipDeviceSynchronize());
}

/* Half of a step's work still runs in the next one. */
static void step_ahead(void)
{
    add();
    multiply();
    ok(hipEventRecord(half, NULL));
    for (int i = 0; i < 3; i++)
        multiply();
    ok(hipEventSynchronize(half));
}

static int failed(void)
{
    fprintf(stderr, "gpu: %s\n", hb_last_error());
    return 1;
}

static hb_result print_table(hb_profiler *prof)
{
    hb_key_averages *averages = NULL;
    char *text = NULL;
    hb_result result = hb_profiler_key_averages(prof, NULL, &averages);
    if (result == HB_OK) result = hb_key_averages_table(averages, NULL, &text, NULL);
    if (result == HB_OK) fputs(text, stdout);
    hb_free(text);
    hb_key_averages_destroy(averages);
    return result;
}

int main(int argc, char **argv)
{
    if (argc != 3 && argc != 4) return 2;
    bool ahead = argc == 4;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU | HB_ACTIVITY_HIP;
    o.record_shapes = o.profile_memory = true;
    o.schedule = hb_schedule_make(.warmup = 1, .active = STEPS, .repeat = 1);
    o.on_trace_ready = hb_tensorboard_trace_handler(argv[1], "gpu_0", (unsigned)atoi(argv[2]));
    hb_profiler *prof = hb_profiler_create(&o);
    if (!prof || hb_profiler_start(prof) != HB_OK) return failed();
    load();
    for (int i = 0; i < 1 + STEPS; i++) {
        HB_OP("aten::empty") {
            ok(hipMalloc((void **)&data, BYTES));
        }
        if (ahead)
            step_ahead();
        else
            step();
        if (!ahead) ok(hipFree(data)); /* waits */
        if (hb_profiler_step(prof) != HB_OK) return failed();
    }
    ok(hipDeviceSynchronize());
    if (hb_profiler_stop(prof) != HB_OK || print_table(prof) != HB_OK) return failed();
    hb_profiler_destroy(prof);
    return 0;
}
