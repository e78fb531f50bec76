/* SPDX-License-Identifier: MIT
 *
 * twin DIR OPTION...: twin.py's training step, with hipboard. It records those of torch's events
 * that show every kind of field; see test_twin.py.
 */
#include <stdio.h>
#include <string.h>

#include <hipboard/hipboard.h>

static hb_module net, linear;
static char storage[4][64];

static void work(void)
{
    HB_RECORD_FUNCTION("work") {
        HB_OP("aten::mm", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 2, 3), HB_TENSOR(HB_FLOAT32, 3, 4)),
              .flops = hb_flops_mm(2, 3, 4)) {
            hb_memory_alloc(HB_DEVICE_CPU, -1, storage[0], 32);
        }
        const hb_input parts[] = {HB_TENSOR(HB_FLOAT32, 2, 3), HB_TENSOR(HB_FLOAT32, 2, 3)};
        HB_OP("aten::cat",
              HB_INPUTS({.kind = HB_INPUT_TENSOR_LIST, .count = 2, .list = parts}, HB_INT(0))) {
            hb_memory_alloc(HB_DEVICE_CPU, -1, storage[1], 48);
        }
        hb_memory_free(HB_DEVICE_CPU, -1, storage[1], 48);
        hb_memory_free(HB_DEVICE_CPU, -1, storage[0], 32);
    }
}

static void forward(uint64_t sequence)
{
    static const int64_t transposed[] = {1, 3};
    HB_MODULE(net) {
        HB_MODULE(linear) {
            HB_OP("aten::addmm",
                  HB_INPUTS(HB_TENSOR(HB_FLOAT32, 4), HB_TENSOR(HB_FLOAT32, 2, 3),
                            {.kind = HB_INPUT_TENSOR,
                             .dtype = HB_FLOAT32,
                             .count = 2,
                             .dims = (const int64_t[]){3, 4},
                             .strides = transposed},
                            HB_INT(1), HB_INT(1)),
                  .flops = hb_flops_addmm(2, 3, 4), .sequence_number = sequence) {
            }
        }
    }
}

static void backward(uint64_t sequence, uint64_t forward_thread)
{
    HB_OP("autograd::engine::evaluate_function: AddmmBackward0", .sequence_number = sequence,
          .forward_thread = forward_thread) {
        HB_OP("AddmmBackward0", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 2, 4)), .sequence_number = sequence,
              .forward_thread = forward_thread) {
            HB_OP("aten::mm", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 2, 3), HB_TENSOR(HB_FLOAT32, 3, 4))) {
            }
        }
    }
    HB_OP("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad") {
    }
}

static void train_step(uint64_t sequence)
{
    HB_DATA_LOADER("_SingleProcessDataLoaderIter") {
    }
    work();
    HB_OPTIMIZER_ZERO_GRAD("SGD") {
    }
    forward(sequence);
    backward(sequence, hb_thread_number());
    HB_OPTIMIZER_STEP("SGD") {
    }
}

static void read_option(hb_profiler_options *options, const char *name)
{
    if (strcmp(name, "record_shapes") == 0) options->record_shapes = true;
    if (strcmp(name, "profile_memory") == 0) options->profile_memory = true;
    if (strcmp(name, "with_stack") == 0) options->with_stack = true;
    if (strcmp(name, "with_modules") == 0) options->with_modules = true;
    if (strcmp(name, "with_flops") == 0) options->with_flops = true;
}

static int failed(void)
{
    fprintf(stderr, "%s\n", hb_last_error());
    return 1;
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    hb_profiler_options options = HB_PROFILER_OPTIONS_INIT;
    options.activities = HB_ACTIVITY_CPU;
    options.schedule = hb_schedule_make(.warmup = 1, .active = 2, .repeat = 1);
    options.on_trace_ready = hb_tensorboard_trace_handler(argv[1], "twin", HB_DIALECT_KINETO);
    for (int i = 2; i < argc; i++)
        read_option(&options, argv[i]);
    net = hb_module_create("Net");
    linear = hb_module_create("Linear");
    hb_profiler *prof = hb_profiler_create(&options);
    if (!prof || hb_profiler_start(prof) != HB_OK) return failed();
    for (int step = 0; step < 4; step++) {
        train_step((uint64_t)step + 1);
        hb_profiler_add_metadata(prof, "note", "text");
        hb_profiler_add_metadata_json(prof, "numbers", "[1, 2]");
        hb_profiler_step(prof);
    }
    if (hb_profiler_stop(prof) != HB_OK) return failed();
    hb_profiler_destroy(prof);
    return 0;
}
