/* SPDX-License-Identifier: MIT
 *
 * Whatever events a source makes, in whatever order, and whatever is known beside them, the trace
 * is JSON in UTF-8 with as many events as the writer says; a reader's view and Perfetto's protobuf
 * are made of the same.
 */
#include <stdio.h>
#include <stdlib.h>

#include "../unit/array_source.h"
#include "base/times.h"
#include "base/utf8.h"
#include "fuzz.h"
#include "json_tree.h"
#include "not_told.h"
#include "parts_mutator.h"
#include "write/pftrace.h"
#include "write/write.h"

enum { MAX_EVENTS = 128, MAX_INPUTS = 6, MAX_NUMBERS = 40, MAX_ARGS = 4, MAX_LISTED = 4 };

/* Two keys so far apart have one place in the writer's table of names. */
enum { SAME_SLOT = 4096 };

/* Takes values off the front; zeros when nothing is left. */
typedef struct bytes {
    const uint8_t *at, *end;
    parts *parts; /* where each of them stands; or NULL */
} bytes;

static uint64_t take(bytes *b, unsigned size)
{
    uint64_t value = 0;
    if (b->parts) parts_add(b->parts, b->at, HB_MIN((size_t)(b->end - b->at), size), PART_NUMBER);
    for (; size && b->at < b->end; size--)
        value = value << 8 | *b->at++;
    return value;
}

/* Names that mean something, which nobody would find byte by byte. */
static const char *const known_names[] = {
    "ProfilerStep#4", "ProfilerStep#5",      "Optimizer.step#SGD.step",
    "slice",          "nccl:all_reduce",     "enumerate(DataLoader)#_Iter.__next__",
    "aten::mm",       "nn.Module: Linear_0", "DistributedDataParallel.forward",
};

/* Of events with a key of their name: the key is the index and one. */
static const char *const keyed_names[] = {
    "",
    "ProfilerStep#6",
    "ProfilerStep#",
    "ProfilerStep#1234567890123456789",
    "ProfilerStep#7#8",
    "aten::conv2d",
    "aten::empty",
    "aten::add_",
    "Optimizer.zero_grad#SGD.zero_grad",
    "DataParallel.forward",
    "autograd::engine::evaluate_function: MmBackward0",
    "nccl:broadcast",
    "gloo:all_reduce",
    "mpi:MPI_Send",
    "c10d::allreduce_",
    "[pl][profile]run_training_batch",
    "Iteration Start: rocprof",
    "[memory]",
    "hipMemcpyAsync",
    "a name \"in quotes\" \\ \x01 \xc3\xa9 \xff of more than sixty-four bytes: on and on",
};

static hb_str take_text(bytes *b)
{
    uint32_t len = (uint32_t)(take(b, 1) % 64);
    if (len == 63) len = (uint32_t)take(b, 2);
    len = (uint32_t)HB_MIN(len, (size_t)(b->end - b->at));
    hb_str text = {(const char *)b->at, len};
    if (b->parts) parts_add(b->parts, b->at, len, PART_TEXT);
    b->at += len;
    if (len == 2) {
        const char *name = known_names[(uint8_t)text.s[0] % HB_ARRAY_LEN(known_names)];
        return (hb_str){name, (uint32_t)strlen(name)};
    }
    return text;
}

/* Ended by a zero, and good as long as the input is looked at. */
static const char *take_c_text(bytes *b)
{
    static char texts[1 << 16];
    static size_t used;
    hb_str text = take_text(b);
    size_t len = strnlen(text.s, HB_MIN(text.len, 200u));
    if (used + len + 1 > sizeof texts) used = 0;
    char *to = texts + used;
    memcpy(to, text.s, len);
    to[len] = '\0';
    used += len + 1;
    return to;
}

/* Longer than what is kept of names; at the end of an input, than what a block takes of one. */
static hb_str long_text(const bytes *b)
{
    static char text[HB_OUT_BLOCK / 2 + 1001];
    if (!*text) memset(text, 'x', sizeof text - 1);
    uint32_t len = b->end - b->at < 64 ? sizeof text - 1 : 5000;
    return (hb_str){text + sizeof text - 1 - len, len};
}

static double take_double(bytes *b)
{
    uint64_t bits = take(b, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t take_arg_list(bytes *b, hb_arg args[MAX_ARGS])
{
    static const char *const keys[] = {
        "dtype", "Collective name", "In msg nelems", "Group size", "Process Group Ranks",
        "loss",  "a \"key\"",       "stream"};
    uint32_t n = (uint32_t)(take(b, 1) % (MAX_ARGS + 1));
    for (uint32_t i = 0; i < n; i++) {
        args[i].key = keys[take(b, 1) % HB_ARRAY_LEN(keys)];
        unsigned type = (unsigned)take(b, 1);
        args[i] = (hb_arg){.key = args[i].key, .type = (hb_arg_type)(type % HB_ARG_STRING + 1)};
        if (args[i].type == HB_ARG_STRING && type > 250)
            args[i].s = long_text(b).s;
        else if (args[i].type == HB_ARG_STRING)
            args[i].s = take_c_text(b);
        else if (args[i].type == HB_ARG_DOUBLE)
            args[i].f = take_double(b);
        else
            args[i].i = (int64_t)take(b, 8);
    }
    return n;
}

static hb_input take_input(bytes *b)
{
    static const int64_t all_numbers[][MAX_NUMBERS] = {
        {1, -1, INT64_MAX, INT64_MIN, 0, 7}, {4, 4, 4, 4, 4, 4}, {2, 3, 5, 1, 1, 3}};
    static const double floats[MAX_NUMBERS] = {0.5, -0.0, 1e300, 1. / 3};
    unsigned kind = (unsigned)take(b, 1);
    const int64_t *numbers = all_numbers[kind / 8 % HB_ARRAY_LEN(all_numbers)];
    static const hb_input tensors[MAX_NUMBERS] = {
        {.kind = HB_INPUT_TENSOR, .count = 3, .dims = *all_numbers, .strides = *all_numbers}};
    return (hb_input){
        .kind = (hb_input_kind)(kind % 8),
        .dtype = (hb_dtype)(take(b, 1) % 24),
        .count = (uint32_t)(take(b, 1) % MAX_NUMBERS),
        .dims = numbers,
        .strides = numbers,
        .floats = floats,
        .list = tensors,
        .i = (int64_t)take(b, 8),
        .f = take_double(b),
    };
}

static void take_op(bytes *b, hb_op_args *op, hb_input inputs[MAX_INPUTS], hb_arg args[MAX_ARGS])
{
    unsigned has = (unsigned)take(b, 1);
    op->num_inputs = has & 1 ? (uint32_t)(take(b, 1) % (MAX_INPUTS + 1)) : 0;
    for (uint32_t i = 0; i < op->num_inputs; i++)
        inputs[i] = take_input(b);
    op->inputs = inputs;
    op->sequence_number = has & 2 ? take(b, 1) : 0;
    op->forward_thread = has & 4 ? take(b, 1) : 0;
    op->thread_number = take(b, 1) % 3;
    if (has & 8) op->flops = take_double(b);
    if (has & 16) op->stack = take_text(b);
    if (has & 32) op->category = take_text(b);
    if (has & 64) op->torch_name = take_text(b);
    if (has & 128) op->num_args = take_arg_list(b, args);
    op->args = args;
}

static void take_runtime(bytes *b, hb_runtime_args *call)
{
    unsigned has = (unsigned)take(b, 1);
    *call = (hb_runtime_args){.cid = (uint32_t)take(b, 2),
                              .launches = has & 1,
                              .has_grid = has & 2,
                              .ptr = has & 4 ? take(b, 8) : 0,
                              .src = take(b, 8),
                              .bytes = take(b, 8),
                              .kind = has & 8 ? HB_STR("4") : HB_STR(""),
                              .error = has & 16};
    if (has & 32) call->error_name = take_text(b);
    if (has & 64) call->kernel = take_text(b);
    if (has & 128) call->stack = take_text(b);
    call->stream = has & 64 ? take(b, 8) : 0;
}

static void take_kernel(bytes *b, hb_kernel_args *kernel)
{
    unsigned has = (unsigned)take(b, 1);
    *kernel = (hb_kernel_args){.has_grid = has & 1,
                               .has_resources = has & 2,
                               .grid = {UINT32_MAX, (uint32_t)take(b, 4), 1},
                               .blocks_per_sm = take_double(b),
                               .warps_per_sm = take_double(b),
                               .occupancy = take_double(b),
                               .limiting_factor = has & 4 ? "VGPRS" : NULL};
}

static void take_copy(bytes *b, hb_copy_args *copy)
{
    static const char *const kinds[] = {NULL, "HtoD", "PtoP", "Device"};
    *copy = (hb_copy_args){take(b, 8), kinds[take(b, 1) % 4], -1, (int32_t)take(b, 4)};
}

static void take_memory(bytes *b, hb_memory_args *memory)
{
    uint8_t kind = (uint8_t)take(b, 1);
    *memory =
        (hb_memory_args){(hb_device_type)(kind % 2), (int32_t)take(b, 1) - 1, take(b, 8),
                         (int64_t)take(b, 8),        (int64_t)take(b, 8),     (int64_t)take(b, 8)};
    memory->held = kind & 2;
    if (kind & 4) memory->owner = take_text(b);
}

static void take_args(bytes *b, hb_trace_event *event, hb_input inputs[MAX_INPUTS],
                      hb_arg args[MAX_ARGS])
{
    switch (event->kind) {
    case HB_EVENT_OP:
    case HB_EVENT_USER_ANNOTATION: take_op(b, &event->op, inputs, args); return;
    case HB_EVENT_MODULE:
        event->module = (hb_module_args){take(b, 8), take(b, 2), (uint32_t)take(b, 4)};
        return;
    case HB_EVENT_MEMORY: take_memory(b, &event->memory); return;
    case HB_EVENT_SCALAR: event->scalar = take_double(b); return;
    case HB_EVENT_COUNTER:
        event->counter = (hb_counter_args){take_double(b), HB_STR("bytes")};
        return;
    case HB_EVENT_FLOW:
        event->flow = (hb_flow_args){take(b, 8), (hb_flow_phase)(take(b, 1) % 3)};
        return;
    case HB_EVENT_RUNTIME:
    case HB_EVENT_SYNC: take_runtime(b, &event->runtime); return;
    case HB_EVENT_KERNEL: take_kernel(b, &event->kernel); return;
    case HB_EVENT_MEMCPY:
    case HB_EVENT_MEMSET: take_copy(b, &event->copy); return;
    default: return;
    }
}

/* What is rarely known of an event. */
static void take_more_args(bytes *b, hb_trace_event *event, hb_arg args[MAX_ARGS])
{
    static const char *const keys[] = {"hip stream", "queue", "graph node"};
    static const uint64_t pcs[] = {0x1000, 0x2000};
    switch (event->kind) {
    case HB_EVENT_MEMORY: event->memory.device_id = (int32_t)take(b, 4); return;
    case HB_EVENT_COUNTER: event->counter.unit = HB_STR(""); return;
    case HB_EVENT_KERNEL:
        event->kernel.vgprs = event->kernel.sgprs = (uint32_t)take(b, 1);
        event->kernel.lds_bytes = event->kernel.scratch_bytes = (uint32_t)take(b, 2);
        break;
    case HB_EVENT_RUNTIME:
        event->runtime.flops = take_double(b);
        event->runtime.shared_bytes = (uint32_t)take(b, 2);
        event->runtime.num_pcs = (uint32_t)(take(b, 1) % 3);
        event->runtime.pcs = pcs;
        break;
    case HB_EVENT_OP:
    case HB_EVENT_USER_ANNOTATION:
        event->op.sequence_number = take(b, 8);
        event->op.forward_thread = take(b, 4);
        return;
    default: return;
    }
    if (event->num_args) args[0].key = keys[take(b, 1) % HB_ARRAY_LEN(keys)];
}

static void take_more(bytes *b, hb_trace_event *event, hb_arg args[MAX_ARGS])
{
    unsigned has = (unsigned)take(b, 1);
    if (has & 1) event->tid = (int64_t)take(b, 8);
    if (has & 2) event->external_id = take(b, 8);
    if (has & 4) event->correlation = take(b, 8);
    if (has & 8) event->device = (int32_t)take(b, 4);
    if (has & 16) {
        uint32_t which = (uint32_t)take(b, 1), index = which % HB_ARRAY_LEN(keyed_names);
        event->name = (hb_str){keyed_names[index], (uint32_t)strlen(keyed_names[index])};
        event->name_key = index + 1 + (which > 127 ? SAME_SLOT : 0);
        if (!index) event->name = long_text(b), event->name_key = event->name.len;
    }
    if (has & 32) {
        int64_t lasts = (int64_t)take(b, 4);
        event->end_ns = HB_MIN(event->start_ns, INT64_MAX - lasts) + lasts;
    }
    if (has & 64) event->end_ns = (int64_t)take(b, 8);
    if (has & 128) take_more_args(b, event, args);
}

static bool has_arg_list(hb_event_kind kind)
{
    return kind == HB_EVENT_KERNEL || kind == HB_EVENT_MEMCPY || kind == HB_EVENT_RUNTIME;
}

enum { EVENT_KINDS = HB_EVENT_FLOW + 1, OF_MORE = 16 * EVENT_KINDS, OF_INFO = 19 * EVENT_KINDS };

static void take_event(bytes *b, unsigned code, hb_trace_event *event, hb_input inputs[MAX_INPUTS],
                       hb_arg args[MAX_ARGS])
{
    *event = (hb_trace_event){
        .kind = (hb_event_kind)(code % EVENT_KINDS),
        .flags = (unsigned)take(b, 1),
        .start_ns = 1795256296153421318 + (int16_t)take(b, 2),
        .tid = (int8_t)take(b, 1) % 3,
        .device = (int8_t)take(b, 1),
        .external_id = take(b, 2),
        .correlation = take(b, 1),
    };
    event->end_ns = event->start_ns + (int16_t)take(b, 2);
    if (take(b, 1) == 255) event->start_ns = (int64_t)take(b, 8);
    event->name = take_text(b); /* no key: the same key must mean the same name */
    take_args(b, event, inputs, args);
    if (has_arg_list(event->kind)) event->num_args = take_arg_list(b, args);
    event->args = args;
    if (code >= OF_MORE) take_more(b, event, args);
}

static hb_device_info devices[MAX_LISTED];
static hb_stream_info streams[MAX_LISTED];
static hb_thread_info threads[MAX_LISTED];
static hb_metadata metadata[MAX_LISTED];

/* What is known beside the events; the first byte tells of what there is none. */
static void take_info(bytes *b, hb_trace_info *info)
{
    static const char *const json[] = {"1", "\"a text\"", "[1, {\"x\": null}]", "{\"GPU\": []}"};
    unsigned has = (unsigned)take(b, 1);
    info->record_shapes = has & 1;
    info->profile_memory = info->with_stack = has & 2;
    info->with_flops = has & 4;
    info->has_time_slices = has & 8;
    info->finds_operators = has & 16;
    if (has & 32)
        info->distributed_json = "{\"backend\": \"nccl\", \"rank\": 1, \"world_size\": 4}";
    if (has & 64) info->process_name = take_c_text(b);
    if (has & 128) return;
    info->hip_runtime_version = info->hip_driver_version = (int)take(b, 4);
    info->num_devices = take(b, 1) % (MAX_LISTED + 1);
    for (size_t i = 0; i < info->num_devices; i++)
        devices[i] = (hb_device_info){.id = (int32_t)i,
                                      .name = take_c_text(b),
                                      .arch = i ? "gfx90a" : take_c_text(b),
                                      .total_global_mem = take(b, 8),
                                      .compute_major = (int32_t)take(b, 1),
                                      .warp_size = (int32_t)take(b, 1),
                                      .num_cus = (int32_t)take(b, 2),
                                      .clock_khz = (int32_t)take(b, 4)};
    info->num_streams = take(b, 1) % (MAX_LISTED + 1);
    for (size_t i = 0; i < info->num_streams; i++)
        streams[i] = (hb_stream_info){(int32_t)(i / 2), (int64_t)i};
    info->num_threads = take(b, 1) % (MAX_LISTED + 1);
    for (size_t i = 0; i < info->num_threads; i++)
        threads[i] = (hb_thread_info){(int64_t)i, take_c_text(b)};
    info->num_metadata = take(b, 1) % (MAX_LISTED + 1);
    for (size_t i = 0; i < info->num_metadata; i++)
        metadata[i] = (hb_metadata){take_c_text(b), json[take(b, 1) % HB_ARRAY_LEN(json)]};
    info->devices = devices;
    info->streams = streams;
    info->threads = threads;
    info->metadata = metadata;
}

static void take_device(bytes *b, hb_device_info *device)
{
    static const char *const archs[] = {"gfx942", "gfx1101", "gfx90a:sramecc+", "gfx9", NULL, ""};
    unsigned arch = (unsigned)take(b, 1);
    device->arch = archs[arch % HB_ARRAY_LEN(archs)];
    if (arch > 127) device->name = NULL;
    device->clock_khz = (int32_t)take(b, 4);
    device->memory_khz = (int32_t)take(b, 4);
    device->memory_bus_bits = (int32_t)take(b, 4);
    device->num_cus = (int32_t)take(b, 2);
}

/* What is known beside the events and no plain trace has; between events. */
static void take_more_info(bytes *b, unsigned which, hb_trace_info *info)
{
    static const char *const versions[] = {"1.2", "1.2.0", "01", "0", "7", "1.", "", NULL};
    static const char *const keys[] = {"schemaVersion", "traceEvents", "Framework", "a key"};
    static const char *const distributed[] = {"{}", "{\"rank\": 0}", NULL};
    unsigned index = (unsigned)take(b, 1) % MAX_LISTED;
    switch (which) {
    case 0: info->pid = (int64_t)take(b, 8); return;
    case 1: info->pid = (int64_t)take(b, 2); return;
    case 2: info->start_ns = (int64_t)take(b, 8) % HB_MAX_TIME_NS; return;
    case 3: info->stop_ns = (int64_t)take(b, 8) % HB_MAX_TIME_NS; return;
    case 4: take_device(b, &devices[index]); return;
    case 5:
        streams[index] = (hb_stream_info){(int32_t)take(b, 2), (int64_t)take(b, 8)};
        if (take(b, 1) % 2) devices[index].id = streams[index].device;
        return;
    case 6:
        threads[index].tid = (int64_t)take(b, 8);
        threads[index].name = index ? take_c_text(b) : NULL;
        return;
    case 7: /* of a user no two are called the same */
        if (index < info->num_metadata) metadata[index].key = keys[index];
        return;
    default:
        info->tracer_key = "tracer_version";
        info->tracer_version = versions[take(b, 1) % HB_ARRAY_LEN(versions)];
        info->distributed_json = distributed[index % HB_ARRAY_LEN(distributed)];
        info->with_modules = index & 2;
        info->has_sequences = index != 2;
        info->process_name = index & 1 ? NULL : "p";
        info->host_name = index == 3 ? "" : "h";
    }
}

static void check_text(const char *text, size_t size)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + size;
    while (at < end) {
        size_t n = hb_utf8_length(at, (size_t)(end - at));
        CHECK(n != 0 && (*at >= 0x20 || *at == '\n'));
        at += n;
    }
}

static void check_trace(hb_source *source, hb_write_dialect dialect, hb_str name)
{
    char trace_name[128];
    hb_memory_sink memory;
    hb_write_stats stats;
    snprintf(trace_name, sizeof trace_name, "%.*s", (int)name.len, name.s);
    hb_memory_sink_init(&memory, 1 << 26);
    hb_write_options options = {.dialect = dialect, .trace_name = trace_name};
    CHECK(hb_write_trace(source, &memory.sink, &options, &stats) == HB_OK);
    check_text(memory.buf.data, memory.buf.size);
    const cJSON *json = json_tree(memory.buf.data, memory.buf.size);
    CHECK(json != NULL);
    int events = cJSON_GetArraySize(cJSON_GetObjectItem(json, "traceEvents"));
    CHECK((uint64_t)events == stats.events);
    hb_memory_sink_free(&memory);
}

static void check_others(hb_source *source)
{
    hb_memory_sink memory;
    hb_pftrace_stats stats;
    hb_memory_sink_init(&memory, 1 << 26);
    CHECK(hb_write_pftrace(source, &memory.sink, &stats) == HB_OK);
    CHECK(memory.buf.size == stats.bytes);
    hb_memory_sink_free(&memory);
    hb_trace trace;
    CHECK(hb_write_to_trace(source, HB_WRITE_TENSORBOARD, &trace) == HB_OK);
    hb_trace_free(&trace);
}

/* The name of the trace, and all of it. */
static hb_str take_trace(bytes b, array_source *source)
{
    static hb_trace_event events[MAX_EVENTS];
    static hb_input inputs[MAX_EVENTS][MAX_INPUTS];
    static hb_arg args[MAX_EVENTS][MAX_ARGS];
    size_t count = 0;
    hb_str name = take_text(&b);
    array_source_init(source, events, 0);
    source->info.has_sequences = true;
    take_info(&b, &source->info);
    while (b.at < b.end && count < MAX_EVENTS) {
        if (b.parts) parts_begin(b.parts, b.at);
        unsigned code = (unsigned)take(&b, 1);
        if (code >= OF_INFO) {
            take_more_info(&b, code - OF_INFO, &source->info);
            continue;
        }
        take_event(&b, code, &events[count], inputs[count], args[count]);
        count++;
    }
    source->count = source->at = count;
    return name;
}

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
static void parts_find(parts *p, const uint8_t *data, size_t size)
{
    array_source source;
    (void)take_trace((bytes){data, data + size, p}, &source);
}
#endif

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    array_source source;
    hb_str name = take_trace((bytes){data, data + size, NULL}, &source);
    check_trace(&source.source, HB_WRITE_TENSORBOARD, name);
    check_trace(&source.source, HB_WRITE_KINETO, name);
    check_others(&source.source);
    return 0;
}
