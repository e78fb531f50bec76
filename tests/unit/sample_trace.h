/* SPDX-License-Identifier: MIT
 *
 * A made-up trace with every kind of event and every trouble a writer can be given, for tests: two
 * threads, five steps, a GPU with two streams. Times are in microseconds from the begin.
 */
#ifndef SAMPLE_TRACE_H
#define SAMPLE_TRACE_H

#include <string.h>

#include "array_source.h"

enum {
    SAMPLE_DEEP = 200, /* scopes nested in each other */
    SAMPLE_MAX_EVENTS = 4096,
    SAMPLE_MAIN = 100,
    SAMPLE_WORKER = 101,
};

typedef struct sample_trace {
    array_source source;
    hb_trace_event events[SAMPLE_MAX_EVENTS];
    size_t count;
    uint64_t last_id, deep_id; /* of the outermost of the deep scopes */
} sample_trace;

static const int64_t sample_dims[] = {32, 64}, sample_strides[] = {64, 1};
static const int64_t sample_pair[] = {1, 1};
static const double sample_floats[] = {0.5, 2, 0.1};
static const hb_input sample_list[] = {
    {.kind = HB_INPUT_TENSOR,
     .dtype = HB_FLOAT32,
     .count = 2,
     .dims = sample_dims,
     .strides = sample_strides},
    {.kind = HB_INPUT_TENSOR, .dtype = HB_BFLOAT16, .count = 0},
};
/* One of each kind. */
static const hb_input sample_inputs[] = {
    {.kind = HB_INPUT_TENSOR,
     .dtype = HB_FLOAT32,
     .count = 2,
     .dims = sample_dims,
     .strides = sample_strides},
    {.kind = HB_INPUT_TENSOR_LIST, .count = 2, .list = sample_list},
    {.kind = HB_INPUT_INT, .i = -3},
    {.kind = HB_INPUT_FLOAT, .f = 0.1},
    {.kind = HB_INPUT_BOOL, .i = 1},
    {.kind = HB_INPUT_INT_LIST, .count = 2, .dims = sample_pair},
    {.kind = HB_INPUT_FLOAT_LIST, .count = 3, .floats = sample_floats},
    {.kind = HB_INPUT_NONE},
};
/* Quotes, backslash, control characters, UTF-8, and three bytes that are not. */
static const char sample_hostile[] = "a\"b\\c\n\t\x01\x7f \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 "
                                     "\xff\xc0\xaf";

static inline hb_str sample_str(const char *s)
{
    return (hb_str){s, (uint32_t)strlen(s)};
}

static inline hb_trace_event *sample_add(sample_trace *t, hb_event_kind kind, const char *name,
                                         double start_us, double dur_us)
{
    hb_trace_event *event = &t->events[t->count++];
    *event = (hb_trace_event){
        .kind = kind,
        .name = sample_str(name),
        .start_ns = t->source.info.start_ns + (int64_t)(start_us * 1e3),
        .tid = SAMPLE_MAIN,
        .device = -1,
    };
    event->end_ns = event->start_ns + (int64_t)(dur_us * 1e3);
    return event;
}

static inline hb_trace_event *sample_scope(sample_trace *t, hb_event_kind kind, const char *name,
                                           double start_us, double dur_us)
{
    hb_trace_event *event = sample_add(t, kind, name, start_us, dur_us);
    event->external_id = ++t->last_id;
    event->op.thread_number = 1;
    return event;
}

static inline hb_trace_event *sample_call(sample_trace *t, const char *name, double start_us,
                                          double dur_us, uint64_t correlation, uint64_t external_id)
{
    hb_trace_event *event = sample_add(t, HB_EVENT_RUNTIME, name, start_us, dur_us);
    event->correlation = correlation;
    event->external_id = external_id;
    event->runtime.cid = 107;
    return event;
}

static inline hb_trace_event *sample_work(sample_trace *t, hb_event_kind kind, const char *name,
                                          double start_us, double dur_us, uint64_t correlation,
                                          uint64_t external_id)
{
    hb_trace_event *event = sample_add(t, kind, name, start_us, dur_us);
    event->device = 0;
    event->tid = 1;
    event->correlation = correlation;
    event->external_id = external_id;
    if (kind == HB_EVENT_KERNEL) event->kernel.occupancy = -1;
    return event;
}

static inline void sample_memory(sample_trace *t, hb_device_type type, int32_t device, double us,
                                 uint64_t addr, int64_t bytes, int64_t total)
{
    hb_trace_event *event = sample_add(t, HB_EVENT_MEMORY, "[memory]", us, 0);
    event->memory = (hb_memory_args){type, device, addr, bytes, total, 4096 * 1024};
}

/* An empty step and four of 1000 us that touch each other. Step 3 does nothing on the GPU and is
 * over before the work of step 2 is. */
static inline void sample_main_thread(sample_trace *t)
{
    sample_scope(t, HB_EVENT_USER_ANNOTATION, "ProfilerStep#0", 50, 0);
    sample_scope(t, HB_EVENT_USER_ANNOTATION, "ProfilerStep#1", 100, 1000);
    sample_scope(t, HB_EVENT_USER_ANNOTATION, "enumerate(DataLoader)#Digits.__next__", 110, 90);
    sample_scope(t, HB_EVENT_USER_ANNOTATION, "train_batch", 210, 800);
    hb_trace_event *op = sample_scope(t, HB_EVENT_OP, "aten::mm", 220, 300);
    op->op.inputs = sample_inputs;
    op->op.num_inputs = sizeof sample_inputs / sizeof sample_inputs[0];
    op->op.sequence_number = 7;
    op->op.flops = 1.5e6;
    op->op.stack = HB_STR("model.c(12): forward;train.c(40): main;");
    op = sample_scope(t, HB_EVENT_OP, "autograd::engine::evaluate_function: MmBackward0", 600, 100);
    op->op.sequence_number = 7;
    op->op.forward_thread = 1;
    op = sample_scope(t, HB_EVENT_OP, "nccl:all_gather", 710, 50);
    op->op.inputs = sample_inputs;
    op->op.num_inputs = 3;
    sample_scope(t, HB_EVENT_USER_ANNOTATION, "Optimizer.step#SGD.step", 800, 100);
    sample_scope(t, HB_EVENT_USER_ANNOTATION, "ProfilerStep#2", 1100, 1000);
    sample_scope(t, HB_EVENT_OP, "aten::mm", 1200, 300);
    sample_scope(t, HB_EVENT_USER_ANNOTATION, "ProfilerStep#3", 2100, 1000);
    sample_scope(t, HB_EVENT_USER_ANNOTATION, sample_hostile, 2200, 100);
    op = sample_scope(t, HB_EVENT_OP, "moved to another thread", 2500, 1200);
    op->flags = HB_TEV_ASYNC;
    sample_scope(t, HB_EVENT_USER_ANNOTATION, "ends in the next step", 2900, 300);
    sample_scope(t, HB_EVENT_USER_ANNOTATION, "ProfilerStep#4", 3100, 1000);
    t->deep_id = t->last_id + 1;
    for (int i = 0; i < SAMPLE_DEEP; i++)
        sample_scope(t, HB_EVENT_OP, "deep", 3200 + i, 2. * (SAMPLE_DEEP - i));
    sample_scope(t, HB_EVENT_USER_ANNOTATION, "ProfilerStep#no number", 4200, 10);
    op = sample_scope(t, HB_EVENT_OP, "still open", 4400, 600);
    op->flags = HB_TEV_UNFINISHED;
    sample_memory(t, HB_DEVICE_CPU, -1, 230, 0x7f0000001000, 4096, 4096);
    sample_memory(t, HB_DEVICE_HIP, 0, 240, 0x7e0000000000, 1 << 20, 1 << 20);
    sample_memory(t, HB_DEVICE_HIP, 2, 250, 0x7d0000000000, 1 << 20, 1 << 20);
    sample_memory(t, HB_DEVICE_CPU, -1, 900, 0x7f0000001000, -4096, 0);
    t->events[t->count - 1].flags = 0;
    sample_memory(t, HB_DEVICE_HIP, 0, 950, 0, 1ll << 40, 1 << 20);
    t->events[t->count - 1].flags = HB_TEV_OUT_OF_MEMORY;
}

/* In a category of its own, and with values; what is in it is the plugin's all the same. */
static inline void sample_own_category(sample_trace *t)
{
    static const hb_arg args[] = {
        {"bytes", HB_ARG_UINT, 0, -1, 0, NULL},     {"offset", HB_ARG_INT, 0, -7, 0, NULL},
        {"ratio", HB_ARG_DOUBLE, 0, 0, 0.25, NULL}, {"nan", HB_ARG_DOUBLE, 0, 0, 0. / 0., NULL},
        {"cached", HB_ARG_BOOL, 0, 1, 0, NULL},     {"path\"", HB_ARG_STRING, 0, 0, 0, "a\xff"},
        {"Input Dims", HB_ARG_INT, 0, 1, 0, NULL},
    };
    static const char *const categories[] = {"io", "my \"\xff", "kernel", "cpu_op"};
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
        hb_trace_event *event =
            sample_scope(t, HB_EVENT_USER_ANNOTATION, "read", 400 + 20 * (int)i, 15);
        event->tid = SAMPLE_WORKER;
        event->op.category = (hb_str){categories[i], (uint32_t)strlen(categories[i])};
        event->op.args = args;
        event->op.num_args = sizeof args / sizeof *args;
        sample_scope(t, HB_EVENT_OP, "decode", 405 + 20 * (int)i, 5)->tid = SAMPLE_WORKER;
    }
}

static inline void sample_worker_thread(sample_trace *t)
{
    size_t first = t->count;
    sample_scope(t, HB_EVENT_OP, "decode", 300, 50);
    sample_scope(t, HB_EVENT_OP, "decode", 350, 50);
    for (size_t i = first; i < t->count; i++)
        t->events[i].tid = SAMPLE_WORKER;
}

static inline void sample_modules_and_numbers(sample_trace *t)
{
    sample_add(t, HB_EVENT_MODULE, "nn.Module: Net_0", 212, 700)->module =
        (hb_module_args){1, 0, 0};
    sample_add(t, HB_EVENT_MODULE, "nn.Module: Linear_0", 215, 310)->module =
        (hb_module_args){2, 1, 0};
    sample_add(t, HB_EVENT_SCALAR, "loss", 700, 0)->scalar = 0.125;
    sample_add(t, HB_EVENT_SCALAR, "loss", 1700, 0)->scalar = 0. / 0.;
    sample_add(t, HB_EVENT_COUNTER, "queue", 700, 0)->counter =
        (hb_counter_args){3, HB_STR("rows \"\xff")};
    sample_add(t, HB_EVENT_COUNTER, "load", 710, 0)->counter.value = 0.5;
    sample_add(t, HB_EVENT_FLOW, "batch", 700, 0)->flow = (hb_flow_args){7, HB_FLOW_BEGIN};
    sample_add(t, HB_EVENT_FLOW, "batch", 710, 0)->flow = (hb_flow_args){7, HB_FLOW_STEP};
    sample_add(t, HB_EVENT_FLOW, "batch", 720, 0)->flow = (hb_flow_args){7, HB_FLOW_END};
    sample_add(t, HB_EVENT_FLOW, "batch", 720, 0)->flow = (hb_flow_args){UINT64_MAX, HB_FLOW_BEGIN};
}

static inline void sample_device(sample_trace *t)
{
    hb_trace_event *event = sample_call(t, "hipMemcpyWithStream", 225, 20, 1, 5);
    event->runtime.kind = HB_STR("1");
    event->runtime.launches = true;
    event->runtime.src = 0x7f00;
    event->runtime.ptr = 0x7f10;
    event->runtime.bytes = 616;
    event = sample_call(t, "hipLaunchKernel", 250, 5, 2, 5);
    event->runtime.launches = event->runtime.has_grid = true;
    event->runtime.grid[0] = 141;
    event->runtime.grid[1] = event->runtime.grid[2] = 1;
    event->runtime.block[0] = 512;
    event->runtime.block[1] = event->runtime.block[2] = 1;
    event->runtime.shared_bytes = 256;
    event->runtime.stream = 0x7c00;
    event->runtime.kernel = HB_STR("void \"k\"<float>");
    event = sample_call(t, "hipMalloc", 260, 5, 3, 5);
    event->runtime.bytes = 4096;
    event->runtime.ptr = 0x7e00;
    event = sample_call(t, "hipDeviceSynchronize", 1900, 5, 4, 0);
    event->kind = HB_EVENT_SYNC;
    event->runtime.error = 700;
    event->runtime.error_name = HB_STR("hipErrorIllegalAddress");
    event = sample_call(t, "hipLaunchKernel", 1210, 5, 5, 10);
    event->runtime.launches = true;
    event = sample_call(t, "hipMemsetAsync", 3150, 5, 6, 0);
    event->runtime.launches = true;
    /* In the innermost of the deep scopes. */
    event = sample_call(t, "hipModuleLaunchKernel", 3399.5, 0.25, 7, t->deep_id + SAMPLE_DEEP - 1);
    event->runtime.launches = true;

    event = sample_work(t, HB_EVENT_MEMCPY, "Memcpy HtoD (Host -> Device)", 240, 4, 1, 5);
    event->copy = (hb_copy_args){.bytes = 616, .kind = "HtoD"};
    event = sample_work(t, HB_EVENT_KERNEL, "void gemm<float>(float const*)", 260, 90, 2, 5);
    event->kernel = (hb_kernel_args){.has_grid = true,
                                     .grid = {141, 1, 1},
                                     .block = {512, 1, 1},
                                     .has_resources = true,
                                     .vgprs = 64,
                                     .sgprs = 32,
                                     .lds_bytes = 1024,
                                     .blocks_per_sm = 141 / 104.,
                                     .warps_per_sm = 8,
                                     .occupancy = 50,
                                     .limiting_factor = "VGPRS"};
    sample_work(t, HB_EVENT_KERNEL, "kernel", 1300, 2500, 5, 10);
    event = sample_work(t, HB_EVENT_MEMSET, "Memset (Device)", 3900, 3, 6, 0);
    event->copy = (hb_copy_args){.kind = "Device"};
    event->tid = 2;

    sample_work(t, HB_EVENT_KERNEL, "deep kernel", 3910, 20, 7, t->deep_id + SAMPLE_DEEP - 1);

    event = sample_work(t, HB_EVENT_GPU_USER_ANNOTATION, "ProfilerStep#1", 240, 110, 0, 2);
    event = sample_work(t, HB_EVENT_GPU_USER_ANNOTATION, "train_batch", 240, 110, 0, 4);
}

static inline void sample_trace_init(sample_trace *t)
{
    static const hb_thread_info threads[] = {{SAMPLE_MAIN, "main"}, {SAMPLE_WORKER, "wor\"ker"}};
    static const hb_stream_info streams[] = {{0, 1}, {0, 2}};
    static const hb_device_info device = {
        .name = "AMD Instinct MI250X",
        .arch = "gfx90a",
        .total_global_mem = 68702699520,
        .compute_major = 9,
        .max_threads_per_block = 1024,
        .max_threads_per_cu = 2048,
        .regs_per_block = 65536,
        .warp_size = 64,
        .shared_mem_per_block = 65536,
        .num_cus = 104,
        .max_shared_mem_per_cu = 65536,
        .clock_khz = 1700000,
        .memory_khz = 1600000,
        .memory_bus_bits = 4096,
    };
    static const hb_metadata metadata[] = {
        {"note", "\"kept [as] it is\""},
        {"traceEvents", "[1]"},
        {"hipboard_version", "\"0.1.0\""},
    };
    *t = (sample_trace){0};
    array_source_init(&t->source, t->events, 0);
    hb_trace_info *info = &t->source.info;
    info->stop_ns = info->start_ns + 5000000;
    info->record_shapes = info->profile_memory = info->with_stack = true;
    info->with_flops = info->with_modules = info->has_sequences = true;
    info->threads = threads;
    info->num_threads = 2;
    info->streams = streams;
    info->num_streams = 2;
    info->devices = &device;
    info->num_devices = 1;
    info->hip_runtime_version = 50221153;
    info->hip_driver_version = 50221153;
    info->tracer_key = "rocprofiler-sdk_version";
    info->tracer_version = "1.1";
    info->metadata = metadata;
    info->num_metadata = 3;
    info->distributed_json = "{\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 1}";
    sample_main_thread(t);
    sample_worker_thread(t);
    sample_own_category(t);
    sample_modules_and_numbers(t);
    sample_device(t);
    t->source.count = t->count;
}

#endif
