/* SPDX-License-Identifier: MIT */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "io/number_text.h"
#include "sample_trace.h"
#include "write/write.h"

/* ---- helpers ---- */

static hb_memory_sink memory;
static hb_write_stats stats;

/* The text of a trace, checked to be JSON by another parser; free both. */
static const char *write_text(hb_source *source, hb_write_dialect dialect)
{
    hb_write_options options = {.dialect = dialect, .trace_name = "a [b].pt.trace.json"};
    hb_memory_sink_free(&memory);
    hb_memory_sink_init(&memory, 1 << 30);
    assert_int_equal(hb_write_trace(source, &memory.sink, &options, &stats), HB_OK);
    assert_int_equal(stats.bytes, memory.buf.size);
    return hb_buf_text(&memory.buf);
}

static cJSON *write_json(hb_source *source, hb_write_dialect dialect)
{
    cJSON *json = cJSON_Parse(write_text(source, dialect));
    assert_non_null(json);
    return json;
}

static sample_trace sample;

static cJSON *write_sample(hb_write_dialect dialect)
{
    sample_trace_init(&sample);
    return write_json(&sample.source.source, dialect);
}

static const char *text(const cJSON *object, const char *key)
{
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return value ? value : "";
}

static double number(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : -999;
}

static double arg(const cJSON *event, const char *key)
{
    return number(cJSON_GetObjectItem(event, "args"), key);
}

static bool has_arg(const cJSON *event, const char *key)
{
    return cJSON_HasObjectItem(cJSON_GetObjectItem(event, "args"), key);
}

/* The `skip`th event of this phase and name; NULL when there are not as many. */
static const cJSON *find(const cJSON *trace, const char *ph, const char *name, int skip)
{
    const cJSON *event;
    cJSON_ArrayForEach(
        event,
        cJSON_GetObjectItem(trace, "traceEvents")) if (strcmp(text(event, "ph"), ph) == 0 &&
                                                       strcmp(text(event, "name"), name) == 0 &&
                                                       skip-- == 0) return event;
    return NULL;
}

static int count(const cJSON *trace, const char *key, const char *value)
{
    int n = 0;
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents")) n +=
        strcmp(text(event, key), value) == 0;
    return n;
}

static void assert_category(const cJSON *trace, const char *name, const char *category)
{
    const cJSON *event = find(trace, "X", name, 0);
    assert_non_null(event);
    assert_string_equal(text(event, "cat"), category);
}

/* ---- dialects ---- */

static void tensorboard_gives_the_plugin_its_categories(void **state)
{
    (void)state;
    cJSON *trace = write_sample(HB_WRITE_TENSORBOARD);
    assert_category(trace, "ProfilerStep#1", "user_annotation");
    assert_category(trace, "enumerate(DataLoader)#Digits.__next__", "cpu_op");
    assert_category(trace, "Optimizer.step#SGD.step", "cpu_op");
    assert_category(trace, "train_batch", "cpu_op");
    assert_category(trace, "hipLaunchKernel", "Runtime");
    assert_category(trace, "hipDeviceSynchronize", "Runtime");
    assert_category(trace, "nn.Module: Net_0", "python_function");
    assert_category(trace, "Memcpy HtoD (Host -> Device)", "gpu_memcpy");
    assert_category(trace, "Memset (Device)", "gpu_memset");
    assert_int_equal(count(trace, "cat", "gpu_user_annotation"), 1); /* none for the step */
    cJSON_Delete(trace);
}

static void kineto_keeps_its_own_categories(void **state)
{
    (void)state;
    cJSON *trace = write_sample(HB_WRITE_KINETO);
    assert_category(trace, "enumerate(DataLoader)#Digits.__next__", "user_annotation");
    assert_category(trace, "moved to another thread", "cpu_op");
    assert_category(trace, "hipLaunchKernel", "cuda_runtime");
    assert_int_equal(count(trace, "cat", "gpu_user_annotation"), 2);
    assert_int_equal(count(trace, "cat", "outside_tree"), 0);
    assert_non_null(find(trace, "X", "Kernel", 0)); /* renamed from "kernel" */
    assert_int_equal(stats.flattened + stats.unnested + stats.hidden_steps, 0);
    cJSON_Delete(trace);
}

static void memory_events_name_the_device(void **state)
{
    (void)state;
    for (int dialect = HB_WRITE_TENSORBOARD; dialect <= HB_WRITE_KINETO; dialect++) {
        cJSON *trace = write_sample((hb_write_dialect)dialect);
        const cJSON *host = find(trace, "i", "[memory]", 0), *gpu = find(trace, "i", "[memory]", 1);
        assert_true(arg(host, "Device Type") == 0 && arg(host, "Device Id") == -1);
        assert_true(arg(gpu, "Device Type") == (dialect == HB_WRITE_KINETO ? 6 : 1));
        assert_true(arg(gpu, "Addr") == 0x7e0000000000 && arg(gpu, "Bytes") == 1 << 20);
        assert_true(arg(gpu, "Total Allocated") == 1 << 20);
        assert_true(arg(find(trace, "i", "[memory]", 3), "Bytes") == -4096);
        const cJSON *failed = find(trace, "i", "[OutOfMemory]", 0);
        assert_true(arg(failed, "Bytes") == (double)(1ll << 40) && !has_arg(failed, "Addr"));
        cJSON_Delete(trace);
    }
}

static void only_tensorboard_has_flops(void **state)
{
    (void)state;
    cJSON *trace = write_sample(HB_WRITE_TENSORBOARD);
    assert_true(arg(find(trace, "X", "aten::mm", 0), "flops") == 1.5e6);
    assert_false(has_arg(find(trace, "X", "aten::mm", 1), "flops"));
    cJSON_Delete(trace);
    trace = write_sample(HB_WRITE_KINETO);
    assert_false(has_arg(find(trace, "X", "aten::mm", 0), "flops"));
    cJSON_Delete(trace);
}

static char *inputs_of(const cJSON *trace, const char *name, const char *key)
{
    const cJSON *args = cJSON_GetObjectItem(find(trace, "X", name, 0), "args");
    return cJSON_PrintUnformatted(cJSON_GetObjectItem(args, key));
}

static void collectives_have_flat_inputs(void **state)
{
    (void)state;
    static const char *const expected[][2] = {
        {"[\"float\",\"float\",\"c10::BFloat16\"]", "[[32,64],[32,64],[]]"},
        {"[\"float\",\"TensorList\",\"Scalar\"]", "[[32,64],[[32,64],[]],[]]"},
    };
    for (int dialect = HB_WRITE_TENSORBOARD; dialect <= HB_WRITE_KINETO; dialect++) {
        cJSON *trace = write_sample((hb_write_dialect)dialect);
        char *types = inputs_of(trace, "nccl:all_gather", "Input type");
        char *dims = inputs_of(trace, "nccl:all_gather", "Input Dims");
        assert_string_equal(types, expected[dialect == HB_WRITE_KINETO][0]);
        assert_string_equal(dims, expected[dialect == HB_WRITE_KINETO][1]);
        cJSON_free(types);
        cJSON_free(dims);
        cJSON_Delete(trace);
    }
}

static void kernels_carry_what_the_kernel_view_shows(void **state)
{
    (void)state;
    cJSON *trace = write_sample(HB_WRITE_TENSORBOARD);
    const cJSON *kernel = find(trace, "X", "void gemm<float>(float const*)", 0);
    assert_true(number(kernel, "pid") == arg(kernel, "device"));
    assert_true(arg(kernel, "registers per thread") == 64 && arg(kernel, "shared memory") == 1024);
    assert_true(arg(kernel, "blocks per SM") == 1.355769);
    assert_true(arg(kernel, "est. achieved occupancy %") == 50);
    const cJSON *unknown = find(trace, "X", "kernel", 0);
    assert_true(arg(unknown, "registers per thread") == 0);
    assert_false(has_arg(unknown, "blocks per SM") ||
                 has_arg(unknown, "est. achieved occupancy %"));
    cJSON_Delete(trace);
}

/* None is an occupancy, too: of a grid that is too small to be seen. */
static void an_occupancy_of_nothing_is_told(void **state)
{
    (void)state;
    for (int known = 0; known < 2; known++) {
        sample_trace_init(&sample);
        sample.count = 0;
        sample_work(&sample, HB_EVENT_KERNEL, "k", 10, 1, 0, 0)->kernel.occupancy = known - 1;
        sample.source.count = sample.count;
        cJSON *trace = write_json(&sample.source.source, HB_WRITE_TENSORBOARD);
        const cJSON *kernel = find(trace, "X", "k", 0);
        assert_true(has_arg(kernel, "est. achieved occupancy %") == (known == 1));
        if (known) assert_true(arg(kernel, "est. achieved occupancy %") == 0);
        cJSON_Delete(trace);
    }
}

/* A number as JSON has them; any other text keeps its quotes. */
static void versions_that_are_numbers(void **state)
{
    static const char *const numbers[] = {"4.1", "10", "0", "0.5", "12.345"};
    static const char *const texts[] = {"1.2.0", "",  ".5", "5.",  "01.2", "00",
                                        "1.2x",  "x", "-1", "1e3", " 1",   "1.-"};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(numbers) + HB_ARRAY_LEN(texts); i++) {
        bool number = i < HB_ARRAY_LEN(numbers);
        const char *version = number ? numbers[i] : texts[i - HB_ARRAY_LEN(numbers)];
        sample_trace_init(&sample);
        sample.source.info.tracer_version = version;
        cJSON *trace = write_json(&sample.source.source, HB_WRITE_KINETO);
        const cJSON *written = cJSON_GetObjectItem(trace, "rocprofiler-sdk_version");
        assert_non_null(written);
        assert_true(cJSON_IsNumber(written) == number);
        if (number)
            assert_true(written->valuedouble == strtod(version, NULL));
        else
            assert_string_equal(cJSON_GetStringValue(written), version);
        cJSON_Delete(trace);
    }
}

static void unlinked_calls_have_id_0_for_the_plugin_only(void **state)
{
    (void)state;
    cJSON *trace = write_sample(HB_WRITE_TENSORBOARD);
    assert_true(arg(find(trace, "X", "hipDeviceSynchronize", 0), "External id") == 0);
    assert_true(arg(find(trace, "X", "Memset (Device)", 0), "External id") == 0);
    assert_string_equal(
        text(cJSON_GetObjectItem(find(trace, "X", "hipDeviceSynchronize", 0), "args"), "error"),
        "hipErrorIllegalAddress");
    cJSON_Delete(trace);
    trace = write_sample(HB_WRITE_KINETO);
    assert_false(has_arg(find(trace, "X", "hipDeviceSynchronize", 0), "External id"));
    assert_false(has_arg(find(trace, "X", "hipDeviceSynchronize", 0), "error"));
    cJSON_Delete(trace);
}

/* A step with a launch, whose kernel runs; with `marked` in an operator. */
static cJSON *write_launch(bool marked, hb_write_dialect dialect)
{
    sample.count = sample.last_id = 0;
    sample_scope(&sample, HB_EVENT_USER_ANNOTATION, "ProfilerStep#1", 100, 1000);
    if (marked) sample_scope(&sample, HB_EVENT_OP, "aten::mm", 200, 50);
    sample_call(&sample, "hipLaunchKernel", 210, 5, 9, sample.last_id)->runtime.launches = true;
    sample_work(&sample, HB_EVENT_KERNEL, "kernel", 300, 50, 9, sample.last_id);
    array_source_init(&sample.source, sample.events, sample.count);
    return write_json(&sample.source.source, dialect);
}

/* Without an operator, and one that has time beside its calls, the plugin's operator view breaks
 * its page. */
static void calls_are_operators_where_none_are_marked(void **state)
{
    (void)state;
    cJSON *trace = write_launch(false, HB_WRITE_TENSORBOARD);
    const cJSON *around = find(trace, "X", "hipLaunchKernel", 0);
    const cJSON *call = find(trace, "X", "hipLaunchKernel", 1);
    const cJSON *none = find(trace, "X", "no operator was recorded", 0);
    assert_int_equal(count(trace, "cat", "cpu_op"), 2);
    assert_string_equal(text(cJSON_GetObjectItem(none, "args"), "hipboard"), "inferred");
    assert_string_equal(text(around, "cat"), "cpu_op");
    assert_string_equal(text(call, "cat"), "Runtime");
    assert_true(number(around, "ts") == number(call, "ts"));
    assert_true(number(around, "dur") == number(call, "dur"));
    double id = arg(around, "External id");
    assert_true(id > 1e9 && arg(call, "External id") == id);
    assert_true(arg(find(trace, "X", "kernel", 0), "External id") == id);
    cJSON_Delete(trace);
    trace = write_launch(true, HB_WRITE_TENSORBOARD);
    assert_int_equal(count(trace, "name", "hipLaunchKernel"), 1);
    assert_int_equal(count(trace, "name", "no operator was recorded"), 0);
    assert_true(arg(find(trace, "X", "kernel", 0), "External id") == 2);
    cJSON_Delete(trace);
    trace = write_launch(false, HB_WRITE_KINETO);
    assert_int_equal(count(trace, "name", "hipLaunchKernel"), 1);
    assert_int_equal(count(trace, "cat", "cpu_op"), 0);
    cJSON_Delete(trace);
}

/* A library's operator with a launch, and beside it a launch of the program's own. */
static cJSON *write_found_operators(bool finds_operators)
{
    sample.count = sample.last_id = 0;
    sample_scope(&sample, HB_EVENT_USER_ANNOTATION, "ProfilerStep#1", 100, 1000);
    uint64_t step = sample.last_id;
    sample_scope(&sample, HB_EVENT_OP, "rocblas_sgemm", 200, 50);
    sample_call(&sample, "hipExtLaunch", 210, 5, 9, sample.last_id)->runtime.launches = true;
    sample_call(&sample, "hipLaunchKernel", 310, 5, 10, step)->runtime.launches = true;
    sample_call(&sample, "hipLaunchOutside", 1310, 5, 11, 0)->runtime.launches = true;
    sample_work(&sample, HB_EVENT_KERNEL, "gemm", 400, 50, 9, sample.last_id);
    sample_work(&sample, HB_EVENT_KERNEL, "own", 500, 50, 10, step);
    array_source_init(&sample.source, sample.events, sample.count);
    sample.source.info.finds_operators = finds_operators;
    return write_json(&sample.source.source, HB_WRITE_TENSORBOARD);
}

/* Else nobody would have the time of what they launch. */
static void calls_beside_found_operators_are_some_too(void **state)
{
    (void)state;
    cJSON *trace = write_found_operators(true);
    assert_int_equal(count(trace, "name", "hipExtLaunch"), 1);
    assert_int_equal(count(trace, "name", "hipLaunchKernel"), 2);
    assert_int_equal(count(trace, "name", "hipLaunchOutside"), 2);
    double id = arg(find(trace, "X", "hipLaunchKernel", 0), "External id");
    assert_true(id > 1e9 && arg(find(trace, "X", "own", 0), "External id") == id);
    assert_true(arg(find(trace, "X", "gemm", 0), "External id") == 2);
    cJSON_Delete(trace);
    trace = write_found_operators(false);
    assert_int_equal(count(trace, "name", "hipLaunchKernel"), 1);
    cJSON_Delete(trace);
}

/* Kineto's ROCm templates with their line breaks deleted. */
static void kineto_device_args_are_kinetos(void **state)
{
    (void)state;
    static const char *const args[] = {
        "      \"External id\": 5,          \"kernel\": \"void \\\"k\\\"<float>\", \"cid\": 107, "
        "\"correlation\": 2,      \"stream\": \"0x7c00\",      \"grid\": [141, 1, 1],"
        "      \"block\": [512, 1, 1],      \"shared memory\": 256\n",
        "      \"External id\": 5,      \"cid\": 107, \"correlation\": 1, \"src\": \"0x7f00\", "
        "\"dst\": \"0x7f10\", \"bytes\": \"616\", \"kind\": \"1\"\n",
        "      \"External id\": 5,      \"bytes\": 4096, \"cid\": 107, \"correlation\": 3, "
        "\"ptr\": \"0x7e00\"\n",
        "            \"cid\": 107, \"correlation\": 4\n",
        "      \"External id\": 5,      \"device\": 0, \"stream\": 1,      \"correlation\": 2, "
        "\"kind\": \"Dispatch Kernel\",      \"grid\":     [141, 1, 1], \"block\":     [512, 1, "
        "1]\n",
        "      \"External id\": 5,      \"device\": 0, \"stream\": 1,      \"correlation\": 1, "
        "\"kind\": \"HtoD\",      \"bytes\": 616, \"memory bandwidth (GB/s)\": 0.154\n",
    };
    cJSON_Delete(write_sample(HB_WRITE_KINETO));
    for (size_t i = 0; i < HB_ARRAY_LEN(args); i++)
        assert_non_null(strstr(hb_buf_text(&memory.buf), args[i]));
}

/* PyTorch's order of members with and without a stack; what has no end is "finished: false". */
static void kineto_memory_is_kinetos(void **state)
{
    (void)state;
    static const char *const args[] = {
        "\"Total Reserved\": 4194304, \"Total Allocated\": 4096, \"Device Id\": -1, \"Device "
        "Type\": 0, "
        "\"Bytes\": 4096, \"Call stack\": \"model.c(12): forward;train.c(40): main;\", \"Addr\": "
        "139637976731648, \"finished\": false, \"Ev Idx\": ",
        "\"Total Reserved\": 4194304, \"Total Allocated\": 0, \"Bytes\": -4096, \"Device Id\": -1, "
        "\"Device Type\": 0, \"Addr\": 139637976731648, \"finished\": false, \"Ev Idx\": ",
        "\"Bytes\": 1099511627776, \"Device Id\": 0, \"Device Type\": 6, \"finished\": false, "
        "\"Ev Idx\": ",
        "\"Python thread\": 0, \"Python parent id\": 1, \"Python id\": 2, ",
    };
    cJSON_Delete(write_sample(HB_WRITE_KINETO));
    for (size_t i = 0; i < HB_ARRAY_LEN(args); i++)
        if (!strstr(hb_buf_text(&memory.buf), args[i])) fail_msg("no %s", args[i]);
    cJSON_Delete(write_sample(HB_WRITE_TENSORBOARD));
    assert_null(strstr(hb_buf_text(&memory.buf), "\"Addr\": 139637976731648, \"finished\""));
    assert_null(strstr(hb_buf_text(&memory.buf), "Python thread"));
}

static void kineto_names_sixteen_gpus(void **state)
{
    (void)state;
    cJSON *trace = write_sample(HB_WRITE_KINETO);
    assert_int_equal(count(trace, "name", "process_name"), 17);
    assert_int_equal(count(trace, "name", "thread_name"), 4);
    cJSON_Delete(trace);
    trace = write_sample(HB_WRITE_TENSORBOARD);
    assert_int_equal(count(trace, "name", "process_name"), 2);
    const cJSON *label = find(trace, "M", "process_labels", 1);
    assert_string_equal(text(cJSON_GetObjectItem(label, "args"), "labels"), "GPU 0");
    cJSON_Delete(trace);
}

static void nothing_follows_the_plugins_last_bracket(void **state)
{
    (void)state;
    cJSON *trace = write_sample(HB_WRITE_TENSORBOARD);
    assert_string_equal(strrchr(hb_buf_text(&memory.buf), ']'), "] }");
    assert_string_equal(text(trace, "traceName"), "a [b].pt.trace.json");
    cJSON_Delete(trace);
    trace = write_sample(HB_WRITE_KINETO);
    assert_string_equal(trace->child->prev->string, "traceName");
    cJSON_Delete(trace);
}

static void every_used_device_has_properties_at_its_place(void **state)
{
    (void)state;
    cJSON *trace = write_sample(HB_WRITE_TENSORBOARD);
    const cJSON *devices = cJSON_GetObjectItem(trace, "deviceProperties");
    assert_int_equal(cJSON_GetArraySize(devices), 3); /* memory was reported of device 2 */
    for (int i = 0; i < 3; i++)
        assert_true(number(cJSON_GetArrayItem(devices, i), "id") == i);
    assert_false(cJSON_HasObjectItem(cJSON_GetArrayItem(devices, 2), "totalGlobalMem"));
    cJSON_Delete(trace);
    trace = write_sample(HB_WRITE_KINETO);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(trace, "deviceProperties")), 1);
    cJSON_Delete(trace);
}

static void nonsense_devices_do_not_fill_the_disk(void **state)
{
    (void)state;
    sample_trace_init(&sample);
    for (size_t i = 0; i < sample.count; i++)
        if (sample.events[i].kind == HB_EVENT_MEMORY &&
            sample.events[i].memory.device_type == HB_DEVICE_HIP)
            sample.events[i].memory.device_id = i % 2 ? INT32_MAX : INT32_MIN;
    cJSON *trace = write_json(&sample.source.source, HB_WRITE_TENSORBOARD);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(trace, "deviceProperties")), 1);
    assert_true(arg(find(trace, "i", "[memory]", 1), "Device Id") == -1);
    cJSON_Delete(trace);
}

/* A device of such a number has no place, but those before it have one. */
static void so_many_devices_have_a_place(void **state)
{
    static const hb_device_info far = {.id = 5000, .name = "far", .arch = ""};
    (void)state;
    sample_trace_init(&sample);
    sample.source.info.devices = &far;
    sample.source.info.num_devices = 1;
    cJSON *trace = write_json(&sample.source.source, HB_WRITE_TENSORBOARD);
    const cJSON *devices = cJSON_GetObjectItem(trace, "deviceProperties");
    assert_int_equal(cJSON_GetArraySize(devices), 1024);
    assert_true(cJSON_GetObjectItem(cJSON_GetArrayItem(devices, 1023), "id")->valuedouble == 1023);
    cJSON_Delete(trace);
}

static void users_metadata_cannot_replace_the_traces_own(void **state)
{
    (void)state;
    cJSON *trace = write_sample(HB_WRITE_TENSORBOARD);
    assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(trace, "traceEvents")) > 100);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(trace, "user_traceEvents")), 1);
    assert_string_equal(text(trace, "note"), "kept [as] it is");
    assert_true(number(trace, "rocprofiler-sdk_version") == 1.1);
    cJSON_Delete(trace);
}

/* ---- what every event has ---- */

static void every_event_has_what_readers_insist_on(void **state)
{
    (void)state;
    for (int dialect = HB_WRITE_TENSORBOARD; dialect <= HB_WRITE_KINETO; dialect++) {
        cJSON *trace = write_sample((hb_write_dialect)dialect);
        const cJSON *event;
        int next_ev_idx = 0;
        cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
        {
            assert_true(cJSON_IsString(cJSON_GetObjectItem(event, "name")));
            assert_true(cJSON_IsNumber(cJSON_GetObjectItem(event, "ts")));
            if (strcmp(text(event, "ph"), "X") == 0) {
                assert_true(number(event, "dur") >= 0);
                assert_true(cJSON_IsObject(cJSON_GetObjectItem(event, "args")));
            }
            if (has_arg(event, "Ev Idx")) assert_true(arg(event, "Ev Idx") == next_ev_idx++);
        }
        assert_int_equal(stats.events,
                         cJSON_GetArraySize(cJSON_GetObjectItem(trace, "traceEvents")));
        for (size_t i = 0; i < sample.count; i++)
            next_ev_idx -= array_source_pass_of(sample.events[i].kind) <= HB_PASS_MODULES;
        assert_int_equal(next_ev_idx, 0);
        cJSON_Delete(trace);
    }
}

static void flows_have_both_ends(void **state)
{
    (void)state;
    cJSON *trace = write_sample(HB_WRITE_KINETO);
    assert_int_equal(count(trace, "name", "fwdbwd"), 2);
    const cJSON *start = find(trace, "s", "fwdbwd", 0), *end = find(trace, "f", "fwdbwd", 0);
    assert_true(number(start, "id") == 1 && number(end, "id") == 1);
    assert_true(number(start, "ts") == number(find(trace, "X", "aten::mm", 0), "ts"));
    assert_string_equal(text(end, "bp"), "e");
    assert_int_equal(count(trace, "name", "ac2g"), 10); /* not for hipMalloc and synchronize */
    assert_true(number(find(trace, "s", "ac2g", 1), "id") == 2);
    assert_true(number(find(trace, "f", "ac2g", 1), "pid") == 0);
    cJSON_Delete(trace);
}

static void unfinished_scopes_say_so(void **state)
{
    (void)state;
    cJSON *trace = write_sample(HB_WRITE_KINETO);
    const cJSON *open = cJSON_GetObjectItem(find(trace, "X", "still open", 0), "args");
    assert_true(cJSON_IsFalse(cJSON_GetObjectItem(open, "finished")));
    cJSON_Delete(trace);
    trace = write_sample(HB_WRITE_TENSORBOARD); /* PyTorch's mistake is Kineto's dialect's only */
    assert_false(has_arg(find(trace, "i", "[memory]", 0), "finished"));
    cJSON_Delete(trace);
}

static void numbers_json_has_not_are_texts(void **state)
{
    (void)state;
    cJSON *trace = write_sample(HB_WRITE_TENSORBOARD);
    assert_true(arg(find(trace, "C", "loss", 0), "value") == 0.125);
    assert_string_equal(text(cJSON_GetObjectItem(find(trace, "C", "loss", 1), "args"), "value"),
                        "NaN");
    cJSON_Delete(trace);
}

/* With an exponent: printf ends its text by a zero. */
static void flops_of_a_call_may_be_any_number(void **state)
{
    (void)state;
    sample_trace_init(&sample);
    hb_trace_event *call = sample_call(&sample, "hipGraphLaunch", 270, 5, 8, 0);
    call->runtime.launches = true;
    call->flags = HB_TEV_REPLAY;
    call->runtime.flops = 2.5e18;
    sample.source.count = sample.count;
    cJSON *trace = write_json(&sample.source.source, HB_WRITE_TENSORBOARD);
    assert_true(arg(find(trace, "X", "hipGraphLaunch", 0), "flops") == 2.5e18);
    cJSON_Delete(trace);
}

static void hostile_names_stay_readable(void **state)
{
    (void)state;
    static const char readable[] = "a\"b\\c\n\t\x01\x7f \xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 "
                                   "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd";
    for (int dialect = HB_WRITE_TENSORBOARD; dialect <= HB_WRITE_KINETO; dialect++) {
        cJSON *trace = write_sample((hb_write_dialect)dialect);
        assert_non_null(find(trace, "X", readable, 0));
        const cJSON *row = find(trace, "M", "thread_name", 3);
        assert_string_equal(text(cJSON_GetObjectItem(row, "args"), "name"),
                            "thread 101 (wor\"ker)");
        cJSON_Delete(trace);
    }
}

static void write_long_name(char c, uint32_t size)
{
    char *name = malloc(size + 1);
    memset(name, c, size);
    name[size] = '\0';
    hb_trace_event events[3];
    for (int i = 0; i < 3; i++)
        events[i] = (hb_trace_event){.kind = HB_EVENT_OP,
                                     .name = {name, size},
                                     .name_key = 5,
                                     .start_ns = 1795256296200000000 + i * 1000,
                                     .end_ns = 1795256296200000500 + i * 1000,
                                     .tid = 100};
    array_source source;
    array_source_init(&source, events, 3);
    cJSON *trace = write_json(&source.source, HB_WRITE_TENSORBOARD);
    assert_non_null(find(trace, "X", name, 2));
    cJSON_Delete(trace);
    free(name);
}

/* Also of the sizes at which it no longer goes with its event's head into a block, or into any. */
static void a_name_may_be_a_megabyte(void **state)
{
    (void)state;
    write_long_name('"', 1 << 20);
    for (uint32_t size = HB_OUT_BLOCK / 2; size <= 2 * HB_OUT_BLOCK; size *= 2)
        for (uint32_t more = 0; more < 5; more++)
            write_long_name('n', size - 3 + more); /* with its quotes two more */
}

/* ---- the plugin's tree ---- */

static void too_deep_scopes_leave_the_tree(void **state)
{
    (void)state;
    cJSON *trace = write_sample(HB_WRITE_TENSORBOARD);
    int deep = 0, outside = 0;
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        if (strcmp(text(event, "name"), "deep") != 0) continue;
        deep++;
        outside += strcmp(text(event, "cat"), "outside_tree") == 0;
    }
    assert_int_equal(deep, SAMPLE_DEEP);
    assert_int_equal(outside, SAMPLE_DEEP - 109); /* 110 with the step they are in */
    assert_int_equal(stats.flattened, outside);
    assert_true(number(trace, "hipboard_flattened_scopes") == outside);
    cJSON_Delete(trace);
}

static void calls_in_too_deep_scopes_go_to_the_deepest_in_the_tree(void **state)
{
    (void)state;
    for (int dialect = HB_WRITE_TENSORBOARD; dialect <= HB_WRITE_KINETO; dialect++) {
        cJSON *trace = write_sample((hb_write_dialect)dialect);
        double id = (double)sample.deep_id + (dialect == HB_WRITE_KINETO ? SAMPLE_DEEP : 109) - 1;
        assert_true(arg(find(trace, "X", "deep", 108), "External id") ==
                    (double)sample.deep_id + 108);
        assert_true(arg(find(trace, "X", "hipModuleLaunchKernel", 0), "External id") == id);
        assert_true(arg(find(trace, "X", "deep kernel", 0), "External id") == id);
        cJSON_Delete(trace);
    }
}

static void what_does_not_nest_leaves_the_tree(void **state)
{
    (void)state;
    cJSON *trace = write_sample(HB_WRITE_TENSORBOARD);
    assert_category(trace, "moved to another thread", "outside_tree");
    assert_category(trace, "ends in the next step", "outside_tree");
    assert_category(trace, "ProfilerStep#4", "user_annotation");
    assert_int_equal(stats.unnested, 2);
    cJSON_Delete(trace);
}

/* Two threads in turns, one more in each other than may be; what crosses the deepest, and on a
 * thread that has no other. */
static void modules_nest_on_each_thread(void **state)
{
    enum { DEEP = 41, COUNT = 2 * DEEP + 3 };
    static hb_trace_event events[COUNT];
    array_source source;
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        bool deep = i < 2 * DEEP;
        events[i] = (hb_trace_event){.kind = HB_EVENT_MODULE,
                                     .name = deep ? HB_STR("deep") : HB_STR("crossing"),
                                     .start_ns = deep ? 1000 + i / 2 : 1100,
                                     .end_ns = deep ? 3000 - i / 2 : 4000,
                                     .tid = deep ? 7 + i % 2 : 7 + i - 2 * DEEP,
                                     .device = -1,
                                     .module = {1 + (uint64_t)i, 0, 0}};
    }
    array_source_init(&source, events, COUNT);
    cJSON *trace = write_json(&source.source, HB_WRITE_TENSORBOARD);
    for (int i = 0; i < 2 * DEEP; i++)
        assert_string_equal(text(find(trace, "X", "deep", i), "cat"),
                            i / 2 < 40 ? "python_function" : "outside_tree");
    for (int i = 0; i < 3; i++)
        assert_string_equal(text(find(trace, "X", "crossing", i), "cat"),
                            i == 2 ? "python_function" : "outside_tree");
    assert_int_equal(stats.flattened, 2);
    assert_int_equal(stats.unnested, 2);
    cJSON_Delete(trace);
    trace = write_json(&source.source, HB_WRITE_KINETO);
    assert_int_equal(count(trace, "cat", "python_function"), COUNT);
    cJSON_Delete(trace);
}

static void steps_that_kill_the_plugin_are_hidden(void **state)
{
    (void)state;
    cJSON *trace = write_sample(HB_WRITE_TENSORBOARD);
    assert_category(trace, "ProfilerStep#2", "user_annotation");
    assert_category(trace, "ProfilerStep#3", "outside_tree"); /* over before step 2's kernel */
    assert_category(trace, "ProfilerStep#no number", "outside_tree");
    assert_true(number(find(trace, "X", "ProfilerStep#0", 0), "dur") > 0);
    assert_int_equal(stats.hidden_steps, 1);
    cJSON_Delete(trace);
    trace = write_sample(HB_WRITE_KINETO);
    assert_category(trace, "ProfilerStep#3", "user_annotation");
    assert_true(number(find(trace, "X", "ProfilerStep#0", 0), "dur") == 0);
    cJSON_Delete(trace);
}

/* Touching and equal ends, anywhere in the quarter, as doubles. */
static void ends_are_exact_as_doubles(void **state)
{
    (void)state;
    uint64_t random = 1, plain = 0;
    enum { ROUNDS = 200000 };
    for (int i = 0; i < ROUNDS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t start = random % 7889238000000000u;
        if (i % 16 == 0) start >>= i / 16 % 40;
        uint64_t dur = (random >> 40) % (i % 3 ? 5000 : 100000000);
        if (dur > start) dur = start; /* else rounding may leave no such number */
        char ts[HB_MAX_NUMBER + 1], end[HB_MAX_NUMBER + 1], length[HB_MAX_NUMBER + 1];
        *hb_put_us(ts, start) = '\0';
        *hb_put_us(end, start + dur) = '\0';
        *hb_put_nesting_us(length, start, start + dur) = '\0';
        if (strtod(ts, NULL) + strtod(length, NULL) != strtod(end, NULL))
            fail_msg("%s + %s is not %s", ts, length, end);
        assert_int_equal(llround(strtod(length, NULL) * 1e3), dur);
        plain += strlen(strchr(length, '.')) == 4;
    }
    assert_true(plain > ROUNDS / 2);
}

/* Makes a locale with a decimal comma; skips where the system has no sources for one. */
static void use_decimal_comma(char *dir)
{
    char command[256];
    assert_non_null(mkdtemp(dir));
    snprintf(command, sizeof command,
             "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8' 2>/dev/null >&2", dir);
    setenv("LOCPATH", dir, 1);
    bool made = system(command) == 0 && setlocale(LC_ALL, "de_DE.UTF-8");
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    made = system(command) == 0 && made;
    if (!made) skip();
}

static void a_decimal_comma_changes_nothing(void **state)
{
    (void)state;
    char dir[] = "/tmp/hipboard-locale-XXXXXX", third[HB_MAX_NUMBER], length[HB_MAX_NUMBER];
    static char *expected; /* outlives the jump of skip() */
    sample_trace_init(&sample);
    expected = strdup(write_text(&sample.source.source, HB_WRITE_TENSORBOARD));
    use_decimal_comma(dir);
    const char *actual = write_text(&sample.source.source, HB_WRITE_TENSORBOARD);
    *hb_put_double(third, 1 / 3.) = '\0';
    *hb_put_nesting_us(length, 1, 7) = '\0';
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    assert_string_equal(actual, expected);
    assert_string_equal(third, "0.3333333333333333");
    assert_null(strchr(length, ','));
    free(expected);
    expected = NULL;
}

/* ---- faults ---- */

typedef struct failing_sink {
    hb_sink sink;
    size_t left;
    int calls_after;
} failing_sink;

static hb_result failing_write(hb_sink *sink, const void *data, size_t size)
{
    failing_sink *failing = (failing_sink *)sink;
    (void)data;
    failing->calls_after += failing->left == 0;
    if (size > failing->left) {
        failing->left = 0;
        return hb_fail(HB_ERROR_IO, "the disk is full");
    }
    failing->left -= size;
    return HB_OK;
}

static void a_failing_sink_is_reported(void **state)
{
    (void)state;
    hb_write_options options = {.trace_name = ""};
    for (size_t left = 0; left < 60000; left += 20000) {
        failing_sink failing = {{failing_write}, left, 0};
        sample_trace_init(&sample);
        hb_fail(HB_OK, "an earlier message");
        assert_int_equal(hb_write_trace(&sample.source.source, &failing.sink, &options, NULL),
                         HB_ERROR_IO);
        assert_string_equal(hb_last_error(), "the disk is full");
        assert_true(failing.calls_after <= 1);
    }
}

static void an_empty_trace_is_whole(void **state)
{
    (void)state;
    array_source source;
    array_source_init(&source, NULL, 0);
    source.info.process_name = source.info.host_name = source.info.trace_id = NULL;
    source.info.num_threads = 0;
    cJSON *trace = write_json(&source.source, HB_WRITE_TENSORBOARD);
    assert_non_null(find(trace, "X", "PyTorch Profiler (0)", 0));
    assert_non_null(find(trace, "i", "Record Window End", 0));
    assert_string_equal(text(trace, "host_name"), "");
    cJSON_Delete(trace);
}

static void times_before_the_base_are_clamped(void **state)
{
    (void)state;
    hb_trace_event event = {
        .kind = HB_EVENT_OP, .name = HB_STR("old"), .start_ns = 5, .end_ns = 1, .tid = INT64_MIN};
    array_source source;
    array_source_init(&source, &event, 1);
    for (int dialect = HB_WRITE_TENSORBOARD; dialect <= HB_WRITE_KINETO; dialect++) {
        cJSON *trace = write_json(&source.source, (hb_write_dialect)dialect);
        const cJSON *old = find(trace, "X", "old", 0);
        assert_true(number(old, "ts") == 0 && number(old, "dur") == 0 && number(old, "tid") == 0);
        cJSON_Delete(trace);
    }
}

/* In a container, where processes have small numbers. */
static void a_process_with_a_gpus_number_has_rows_of_its_own(void **state)
{
    (void)state;
    const hb_device_info gpus[] = {{.id = 0, .name = "A"}, {.id = 1, .name = "B"}};
    for (int dialect = HB_WRITE_TENSORBOARD; dialect <= HB_WRITE_KINETO; dialect++) {
        for (int pid = 1; pid <= 20; pid++) {
            sample_trace_init(&sample);
            sample.source.info.devices = gpus;
            sample.source.info.num_devices = 2;
            sample.source.info.pid = pid;
            bool moves = pid <= (dialect == HB_WRITE_KINETO ? 15 : 1); /* Kineto names 16 */
            cJSON *trace = write_json(&sample.source.source, (hb_write_dialect)dialect);
            double row = number(find(trace, "X", "ProfilerStep#1", 0), "pid");
            assert_true(row == (moves ? pid + 4194304 : pid));
            assert_true(cJSON_HasObjectItem(trace, "hipboard_pid") == moves);
            if (moves) assert_true(number(trace, "hipboard_pid") == pid);
            cJSON_Delete(trace);
        }
    }
    sample_trace_init(&sample);
}

/* The program can do nothing about a cut that is not its own. */
static void hidden_time_slices_are_counted_without_a_word(void **state)
{
    (void)state;
    sample_trace_init(&sample);
    sample.source.info.has_time_slices = true;
    cJSON *trace = write_json(&sample.source.source, HB_WRITE_TENSORBOARD);
    assert_category(trace, "ProfilerStep#3", "outside_tree");
    assert_true(number(trace, "hipboard_hidden_steps") == 1);
    assert_int_equal(stats.hidden_steps, 0);
    assert_int_equal(stats.hidden_slices, 1);
    cJSON_Delete(trace);
}

static void what_the_plugin_will_not_count_is_said(void **state)
{
    (void)state;
    char said[1024] = "";
    FILE *file = tmpfile();
    int old = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    hb_write_warn("quiet", &(hb_write_stats){.events = 5, .hidden_slices = 1});
    hb_write_warn("x.json", &(hb_write_stats){.flattened = 2, .hidden_steps = 1});
    dup2(old, STDERR_FILENO);
    close(old);
    rewind(file);
    assert_true(fread(said, 1, sizeof said - 1, file) > 0);
    fclose(file);
    assert_string_equal(said, "hipboard: x.json: 2 scopes are nested deeper than the plugin "
                              "survives; the plugin draws them in its trace view only\n"
                              "hipboard: x.json: 1 step is without GPU work and over before the "
                              "GPU has finished the step before; the plugin draws it in its trace "
                              "view only\n");
}

/* ---- memory ---- */

typedef struct endless_source {
    hb_source source;
    array_source array;
    uint64_t at;
    bool host;
} endless_source;

static hb_result endless_begin(hb_source *source, hb_pass pass)
{
    endless_source *endless = (endless_source *)source;
    endless->at = 0;
    endless->host = pass == HB_PASS_HOST;
    return HB_OK;
}

static bool endless_next(hb_source *source, hb_trace_event *event)
{
    endless_source *endless = (endless_source *)source;
    int64_t start = endless->array.info.start_ns + (int64_t)endless->at * 100;
    if (!endless->host || endless->at++ == 1000000) return false;
    *event = (hb_trace_event){.kind = HB_EVENT_OP,
                              .name = HB_STR("op"),
                              .name_key = (uint32_t)endless->at,
                              .start_ns = start,
                              .end_ns = start + 50,
                              .tid = 100,
                              .external_id = endless->at};
    return true;
}

/* Counts the bytes and forgets them. */
typedef struct null_sink {
    hb_sink sink;
    uint64_t bytes;
} null_sink;

static hb_result null_write(hb_sink *sink, const void *data, size_t size)
{
    (void)data;
    ((null_sink *)sink)->bytes += size;
    return HB_OK;
}

#ifdef HB_TSAN /* which keeps several bytes for each */
#define MOST_KB (32 * 1024)
#else
#define MOST_KB (8 * 1024)
#endif

static void memory_does_not_grow_with_the_trace(void **state)
{
    (void)state;
    endless_source endless = {.source = {.begin = endless_begin, .next = endless_next}};
    array_source_init(&endless.array, NULL, 0);
    endless.source.info = &endless.array.info;
    null_sink null = {.sink.write = null_write};
    hb_write_options options = {.trace_name = ""};
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    assert_int_equal(hb_write_trace(&endless.source, &null.sink, &options, &stats), HB_OK);
    getrusage(RUSAGE_SELF, &after);
    assert_true(null.bytes > 200000000 && null.bytes == stats.bytes);
    assert_true(after.ru_maxrss - before.ru_maxrss < MOST_KB);
}

static int free_memory(void **state)
{
    (void)state;
    hb_memory_sink_free(&memory);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_does_not_grow_with_the_trace),
        cmocka_unit_test(tensorboard_gives_the_plugin_its_categories),
        cmocka_unit_test(kineto_keeps_its_own_categories),
        cmocka_unit_test(memory_events_name_the_device),
        cmocka_unit_test(only_tensorboard_has_flops),
        cmocka_unit_test(collectives_have_flat_inputs),
        cmocka_unit_test(kernels_carry_what_the_kernel_view_shows),
        cmocka_unit_test(an_occupancy_of_nothing_is_told),
        cmocka_unit_test(versions_that_are_numbers),
        cmocka_unit_test(unlinked_calls_have_id_0_for_the_plugin_only),
        cmocka_unit_test(calls_are_operators_where_none_are_marked),
        cmocka_unit_test(calls_beside_found_operators_are_some_too),
        cmocka_unit_test(kineto_device_args_are_kinetos),
        cmocka_unit_test(kineto_memory_is_kinetos),
        cmocka_unit_test(kineto_names_sixteen_gpus),
        cmocka_unit_test(nothing_follows_the_plugins_last_bracket),
        cmocka_unit_test(every_used_device_has_properties_at_its_place),
        cmocka_unit_test(nonsense_devices_do_not_fill_the_disk),
        cmocka_unit_test(so_many_devices_have_a_place),
        cmocka_unit_test(users_metadata_cannot_replace_the_traces_own),
        cmocka_unit_test(every_event_has_what_readers_insist_on),
        cmocka_unit_test(flows_have_both_ends),
        cmocka_unit_test(unfinished_scopes_say_so),
        cmocka_unit_test(numbers_json_has_not_are_texts),
        cmocka_unit_test(flops_of_a_call_may_be_any_number),
        cmocka_unit_test(hostile_names_stay_readable),
        cmocka_unit_test(a_name_may_be_a_megabyte),
        cmocka_unit_test(too_deep_scopes_leave_the_tree),
        cmocka_unit_test(calls_in_too_deep_scopes_go_to_the_deepest_in_the_tree),
        cmocka_unit_test(what_does_not_nest_leaves_the_tree),
        cmocka_unit_test(modules_nest_on_each_thread),
        cmocka_unit_test(steps_that_kill_the_plugin_are_hidden),
        cmocka_unit_test(a_process_with_a_gpus_number_has_rows_of_its_own),
        cmocka_unit_test(hidden_time_slices_are_counted_without_a_word),
        cmocka_unit_test(ends_are_exact_as_doubles),
        cmocka_unit_test(a_decimal_comma_changes_nothing),
        cmocka_unit_test(a_failing_sink_is_reported),
        cmocka_unit_test(what_the_plugin_will_not_count_is_said),
        cmocka_unit_test(an_empty_trace_is_whole),
        cmocka_unit_test(times_before_the_base_are_clamped),
    };
    return cmocka_run_group_tests(tests, NULL, free_memory);
}
