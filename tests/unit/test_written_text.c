/* SPDX-License-Identifier: MIT
 *
 * An event of each kind with all that it can say, and a device that is known and one that is not,
 * as a whole: every byte of both dialects, and of Perfetto's protobuf. Who changes what is written
 * looks at the difference of tests/data/written and stores the new text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "import/wire.h"
#include "sample_trace.h"
#include "write/pftrace.h"
#include "write/write.h"

static sample_trace t;

static const hb_arg args[] = {
    {.key = "weight", .type = HB_ARG_DOUBLE, .f = 0.25},
    {.key = "rank", .type = HB_ARG_INT, .i = -5},
    {.key = "first", .type = HB_ARG_BOOL, .i = 1},
    {.key = "all", .type = HB_ARG_UINT, .i = -1},
    {.key = "of", .type = HB_ARG_STRING, .s = "a \"b\""},
};

static const hb_device_info devices[] = {
    {.id = 0,
     .name = "AMD Instinct MI300X",
     .arch = "gfx942",
     .total_global_mem = 206141652992,
     .compute_major = 9,
     .compute_minor = 4,
     .max_threads_per_block = 1024,
     .max_threads_per_cu = 2048,
     .regs_per_block = 65536,
     .warp_size = 64,
     .shared_mem_per_block = 65536,
     .num_cus = 304,
     .max_shared_mem_per_cu = 65537,
     .clock_khz = 2100000,
     .memory_khz = 1300000,
     .memory_bus_bits = 8192},
    {.id = 2, .name = "", .arch = "", .compute_minor = 3, .num_cus = 60},
};

static void put_host(void)
{
    sample_scope(&t, HB_EVENT_USER_ANNOTATION, "ProfilerStep#4", 10, 900);
    hb_trace_event *op = sample_scope(&t, HB_EVENT_OP, "aten::mm", 20.5, 100.25);
    op->op.inputs = sample_inputs;
    op->op.num_inputs = HB_ARRAY_LEN(sample_inputs);
    op->op.flops = 2.5e9;
    op->op.sequence_number = 7;
    op->op.stack = HB_STR("model.c(12): forward;main.c(3): main;");
    op->op.args = args;
    op->op.num_args = HB_ARRAY_LEN(args);
    op = sample_scope(&t, HB_EVENT_OP, "MmBackward0", 200, 50);
    op->op.sequence_number = 7;
    op->op.forward_thread = 1;
    op->flags = HB_TEV_UNFINISHED;
    op = sample_scope(&t, HB_EVENT_OP, "own", 300, 5);
    op->op.category = HB_STR("mine");
    op->op.torch_name = HB_STR("aten::own");
    op->flags = HB_TEV_ASYNC;
    op = sample_scope(&t, HB_EVENT_OP, "nccl:all_reduce", 400, 50);
    op->op.inputs = sample_inputs;
    op->op.num_inputs = 1;
    op->flags = HB_TEV_COMMUNICATION;
    sample_memory(&t, HB_DEVICE_CPU, -1, 30, 0x1000, 64, 64);
    sample_memory(&t, HB_DEVICE_HIP, 0, 31, 0x7f0000001000, 1 << 20, 1 << 21);
    sample_memory(&t, HB_DEVICE_HIP, 2, 32, 0x7f0000002000, -4096, 0);
    sample_memory(&t, HB_DEVICE_HIP, 0, 33, 0, 40000000000, 1 << 21); /* no address, no more */
    t.events[t.count - 1].flags = HB_TEV_OUT_OF_MEMORY;
}

static void put_modules(void)
{
    hb_trace_event *e = sample_add(&t, HB_EVENT_MODULE, "nn.Module: Net_0", 15, 500);
    e->module = (hb_module_args){1, 0, 0};
    e = sample_add(&t, HB_EVENT_MODULE, "nn.Module: Linear_2", 16, 200);
    e->module = (hb_module_args){2, 1, 2};
}

static void put_moments(void)
{
    sample_add(&t, HB_EVENT_SCALAR, "loss", 450, 0)->scalar = 0.125;
    hb_trace_event *e = sample_add(&t, HB_EVENT_COUNTER, "power", 460, 0);
    e->counter = (hb_counter_args){312.5, HB_STR("W")};
    sample_add(&t, HB_EVENT_COUNTER, "queue", 461, 0)->counter.value = 3;
    static const hb_flow_phase phases[] = {HB_FLOW_BEGIN, HB_FLOW_STEP, HB_FLOW_END};
    for (int i = 0; i < 3; i++) {
        e = sample_add(&t, HB_EVENT_FLOW, "batch", 470 + i, 0);
        e->flow = (hb_flow_args){77, phases[i]};
    }
}

static void put_calls(void)
{
    hb_trace_event *e = sample_call(&t, "hipLaunchKernel", 30, 5, 1, 2);
    e->runtime = (hb_runtime_args){.cid = 211,
                                   .launches = true,
                                   .grid = {4, 5, 6},
                                   .block = {64, 2, 1},
                                   .shared_bytes = 512,
                                   .has_grid = true,
                                   .kernel = HB_STR("gemm"),
                                   .stream = 0x55aa,
                                   .stack = HB_STR("launch.c(7): run;")};
    e = sample_call(&t, "hipMemcpyAsync", 40, 5, 2, 2);
    e->runtime = (hb_runtime_args){.cid = 90,
                                   .launches = true,
                                   .ptr = 0x7000,
                                   .src = 0x8000,
                                   .bytes = 1024,
                                   .kind = HB_STR("1"),
                                   .stream = 0x55ab};
    sample_call(&t, "hipMemsetAsync", 50, 5, 3, 2)->runtime.launches = true;
    e = sample_call(&t, "hipMalloc", 60, 5, 4, 0);
    e->runtime.error = 2;
    e->runtime.error_name = HB_STR("hipErrorOutOfMemory");
    e->runtime.bytes = 4096;
    e->args = args;
    e->num_args = 2;
    e = sample_call(&t, "hipGraphLaunch", 70, 5, 5, 2);
    e->runtime.launches = true;
    e->runtime.flops = 1e6;
    e->flags = HB_TEV_REPLAY;
    sample_call(&t, "hipDeviceSynchronize", 90, 300, 6, 0)->kind = HB_EVENT_SYNC;
}

static void put_work(void)
{
    hb_trace_event *e = sample_work(&t, HB_EVENT_KERNEL, "gemm", 45, 30.125, 1, 2);
    e->kernel = (hb_kernel_args){.grid = {4, 5, 6},
                                 .block = {64, 2, 1},
                                 .has_grid = true,
                                 .has_resources = true,
                                 .vgprs = 32,
                                 .sgprs = 48,
                                 .agprs = 16,
                                 .lds_bytes = 512,
                                 .scratch_bytes = 8,
                                 .blocks_per_sm = 0.375,
                                 .warps_per_sm = 0.75,
                                 .occupancy = 62.5,
                                 .limiting_factor = "VGPRS"};
    e->args = args;
    e->num_args = HB_ARRAY_LEN(args);
    e = sample_work(&t, HB_EVENT_MEMCPY, "Memcpy HtoD (Host -> Device)", 80, 2, 2, 2);
    e->copy = (hb_copy_args){.bytes = 1024, .kind = "HtoD"};
    e = sample_work(&t, HB_EVENT_MEMCPY, "Memcpy PtoP (Device -> Device)", 83, 2, 2, 2);
    e->copy = (hb_copy_args){.bytes = 4096, .kind = "PtoP", .from_device = 2, .to_device = 0};
    e = sample_work(&t, HB_EVENT_MEMSET, "Memset (Device)", 90, 1.5, 3, 2);
    e->copy = (hb_copy_args){.bytes = 0, .kind = "Device"};
    e = sample_work(&t, HB_EVENT_KERNEL, "plain", 100, 1, 0, 0);
    e->device = 2;
    e->flags = HB_TEV_NO_CALL;
    e = sample_work(&t, HB_EVENT_KERNEL, "replayed", 110, 7, 5, 2);
    e->flags = HB_TEV_REPLAY;
    e = sample_add(&t, HB_EVENT_GPU_USER_ANNOTATION, "train", 45, 66);
    e->device = 0;
    e->tid = 1;
    e->external_id = 1;
}

static void make_trace(void)
{
    static const hb_metadata metadata[] = {{"note", "\"by me\""}, {"schemaVersion", "7"}};
    static const hb_stream_info streams[] = {{0, 1}, {2, 1}};
    static const hb_thread_info threads[] = {{SAMPLE_MAIN, "main"}, {SAMPLE_WORKER, "worker"}};
    memset(&t, 0, sizeof t);
    array_source_init(&t.source, t.events, 0);
    put_host();
    put_modules();
    put_moments();
    put_calls();
    put_work();
    hb_trace_info *info = &t.source.info;
    t.source.count = t.count;
    info->record_shapes = info->profile_memory = info->with_stack = true;
    info->with_flops = info->with_modules = info->has_sequences = true;
    info->distributed_json = "{\"backend\": \"nccl\", \"rank\": 1, \"world_size\": 4}";
    info->metadata = metadata;
    info->num_metadata = HB_ARRAY_LEN(metadata);
    info->threads = threads;
    info->num_threads = HB_ARRAY_LEN(threads);
    info->devices = devices;
    info->num_devices = HB_ARRAY_LEN(devices);
    info->streams = streams;
    info->num_streams = HB_ARRAY_LEN(streams);
    info->hip_runtime_version = 60443484;
    info->hip_driver_version = 60443483;
    info->tracer_key = "rocprofiler-sdk_version";
    info->tracer_version = "1.0";
}

static char *stored(const char *name, size_t *size)
{
    char path[512];
    snprintf(path, sizeof path, "%s/written/%s", TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    char *text = calloc(1, 1 << 20);
    assert_non_null(text);
    if (!file) fail_msg("%s is not there", path);
    *size = fread(text, 1, (1 << 20) - 1, file);
    fclose(file);
    return text;
}

/* Line by line, so that one sees what differs. */
static void check_text(const char *made, size_t size, const char *name)
{
    size_t right_size, line = 1, n;
    char *all = stored(name, &right_size);
    for (const char *at = made, *right = all; *at || *right; line++) {
        n = strcspn(at, "\n");
        if (n != strcspn(right, "\n") || memcmp(at, right, n) != 0)
            fail_msg("line %zu of %s: %.*s", line, name, (int)n, at);
        at += n + (at[n] == '\n');
        right += n + (right[n] == '\n');
    }
    assert_int_equal(size, right_size);
    free(all);
}

static uint64_t count_of(const char *text, const char *what)
{
    uint64_t n = 0;
    while ((text = strstr(text, what)))
        text++, n++;
    return n;
}

/* To be looked at and stored. */
static void keep(const hb_buf *made, const char *name)
{
    const char *out = getenv("WRITTEN_TO");
    char path[512];
    if (!out) return;
    snprintf(path, sizeof path, "%s/%s", out, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(made->data, 1, made->size, file), made->size);
    fclose(file);
}

static void write_as(hb_write_dialect dialect, const char *name)
{
    hb_memory_sink to;
    hb_write_stats stats;
    make_trace();
    hb_memory_sink_init(&to, 1 << 20);
    hb_write_options options = {.dialect = dialect, .trace_name = "runs/w.1.pt.trace.json"};
    assert_int_equal(hb_write_trace(&t.source.source, &to.sink, &options, &stats), HB_OK);
    keep(&to.buf, name);
    check_text(hb_buf_text(&to.buf), to.buf.size, name);
    assert_int_equal(stats.json_bytes, to.buf.size);
    assert_int_equal(stats.events, count_of(hb_buf_text(&to.buf), "\"ph\": "));
    assert_int_equal(stats.flattened + stats.unnested + stats.hidden_steps, 0);
    hb_memory_sink_free(&to);
}

static void all_that_tensorboard_is_told(void **state)
{
    (void)state;
    write_as(HB_WRITE_TENSORBOARD, "tensorboard.json");
}

static void all_that_kineto_would_tell(void **state)
{
    (void)state;
    write_as(HB_WRITE_KINETO, "kineto.json");
}

/* Its bytes as text, so that one sees what differs: as many as there are packets, a line each. */
static void all_that_perfetto_is_told(void **state)
{
    hb_memory_sink to;
    hb_pftrace_stats stats;
    hb_buf lines;
    (void)state;
    make_trace();
    hb_memory_sink_init(&to, 1 << 20);
    hb_buf_init(&lines, 1 << 20);
    assert_int_equal(hb_write_pftrace(&t.source.source, &to.sink, &stats), HB_OK);
    const unsigned char *at = (const unsigned char *)to.buf.data, *end = at + to.buf.size;
    while (at < end) { /* field 1 of each: a packet */
        size_t size = 0;
        assert_int_equal(*at++, 0x0a);
        for (int shift = 0;; shift += 7) {
            size |= (size_t)(*at & 0x7f) << shift;
            if (!(*at++ & 0x80)) break;
        }
        assert_true(size <= (size_t)(end - at));
        for (const unsigned char *p = at; p < at + size; p++)
            hb_buf_printf(&lines, *p >= ' ' && *p < 0x7f && *p != '<' ? "%c" : "<%02x>", *p);
        hb_buf_str(&lines, "\n");
        at += size;
    }
    keep(&lines, "pftrace.txt");
    check_text(hb_buf_text(&lines), lines.size, "pftrace.txt");
    assert_int_equal(stats.bytes, to.buf.size);
    assert_int_equal(stats.events, 5 + 4 + 6 + 6 + 3); /* scopes, memory, calls, work, numbers */
    assert_int_equal(stats.inputs, 3);
    assert_int_equal(stats.modules, 2);
    assert_int_equal(stats.flows, 3);
    hb_buf_free(&lines);
    hb_memory_sink_free(&to);
}

typedef struct track {
    uint64_t uuid, parent;
    char name[40];
} track;

/* Field 60 of packets; of a process and a thread the names stand deeper, and are not asked for. */
static int tracks_of(const hb_buf *file, track *tracks, int room)
{
    hb_wire packets = hb_wire_of(file->data, file->size);
    hb_wire_field packet, field, inside;
    int n = 0;
    while (hb_wire_next(&packets, &packet))
        for (hb_wire w = hb_wire_inside(&packet); hb_wire_next(&w, &field);) {
            if (field.number != 60) continue;
            assert_true(n < room);
            track *made = &tracks[n++];
            *made = (track){0};
            for (hb_wire d = hb_wire_inside(&field); hb_wire_next(&d, &inside);) {
                hb_str text = hb_wire_text(&inside);
                if (inside.number == 1) made->uuid = inside.value;
                if (inside.number == 5) made->parent = inside.value;
                if (inside.number == 2)
                    snprintf(made->name, sizeof made->name, "%.*s", (int)text.len, text.s);
            }
        }
    return n;
}

/* What overlaps in a thread or on a stream takes a row more: below the thread, and with the
 * stream's name beside it, below its GPU. */
static void what_overlaps_has_rows_of_its_own(void **state)
{
    hb_memory_sink to;
    hb_pftrace_stats stats;
    track tracks[16];
    (void)state;
    memset(&t, 0, sizeof t);
    array_source_init(&t.source, t.events, 0);
    for (int i = 0; i < 3; i++) { /* the third begins where the first ends */
        sample_scope(&t, HB_EVENT_USER_ANNOTATION, "scope", 10 + 50 * i, 100);
        sample_work(&t, HB_EVENT_KERNEL, "kernel", 10 + 50 * i, 100, 0, 0);
    }
    t.source.count = t.count;
    hb_memory_sink_init(&to, 1 << 20);
    assert_int_equal(hb_write_pftrace(&t.source.source, &to.sink, &stats), HB_OK);
    int n = tracks_of(&to.buf, tracks, HB_ARRAY_LEN(tracks));
    assert_int_equal(n, 6); /* process, thread, GPU, and three rows */
    uint64_t process = 0, thread = 0, gpu = 0;
    int beside = 0, streams = 0;
    for (int i = 0; i < n; i++) {
        const track *x = &tracks[i];
        assert_int_not_equal(x->uuid, 0);
        for (int k = 0; k < i; k++)
            assert_int_not_equal(x->uuid, tracks[k].uuid);
        if (strcmp(x->name, "beside") == 0)
            beside += thread && x->parent == thread;
        else if (strcmp(x->name, "stream 1") == 0)
            streams += gpu && x->parent == gpu;
        else if (strcmp(x->name, "GPU 0") == 0)
            gpu = x->parent == process ? x->uuid : 0;
        else if (!process)
            process = x->uuid;
        else
            thread = x->parent == process ? x->uuid : 0;
    }
    assert_int_equal(beside, 1);
    assert_int_equal(streams, 2);
    hb_memory_sink_free(&to);
}

static void an_occupancy_of_nothing_is_told(void **state)
{
    static const char name[] = "est. achieved occupancy %";
    (void)state;
    for (int occupancy = -1; occupancy < 2; occupancy++) {
        hb_memory_sink to;
        hb_pftrace_stats stats;
        memset(&t, 0, sizeof t);
        array_source_init(&t.source, t.events, 0);
        sample_work(&t, HB_EVENT_KERNEL, "kernel", 10, 1, 0, 0)->kernel.occupancy = occupancy;
        t.source.count = t.count;
        hb_memory_sink_init(&to, 1 << 20);
        assert_int_equal(hb_write_pftrace(&t.source.source, &to.sink, &stats), HB_OK);
        bool told = memmem(to.buf.data, to.buf.size, name, strlen(name)) != NULL;
        assert_int_equal(told, occupancy >= 0);
        hb_memory_sink_free(&to);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_tensorboard_is_told),
        cmocka_unit_test(all_that_kineto_would_tell),
        cmocka_unit_test(all_that_perfetto_is_told),
        cmocka_unit_test(what_overlaps_has_rows_of_its_own),
        cmocka_unit_test(an_occupancy_of_nothing_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
