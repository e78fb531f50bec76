/* SPDX-License-Identifier: MIT
 *
 * What several importers have in common: arguments, names of copies and categories, grids; and what
 * Chrome's JSON tells beside its events.
 */
#include "import/agents.h"
#include "import/rows_shared.h"
#include "imported.h"
#include "written_trace.h"

static hb_str str(const char *text)
{
    return (hb_str){text, (uint32_t)strlen(text)};
}

/* ---- arguments of calls ---- */

static void arguments_by_their_names(void **state)
{
    static const struct {
        const char *type, *name, *value;
        hb_import_call_args expected;
    } rows[] = {
        {"", "numBlocks", "{z=1, y=128, x=2}", {.grid = {2, 128, 1}}},
        {"", "gridDim", "{z(3) y(4) x(5}", {.grid = {5, 4, 3}}},
        {"dim3", "dimBlocks", "{x=0x40, y=0xfF, z=10}", {.block = {64, 255, 10}}},
        {"", "blockDim", "{x=7}", {.block = {7}}},
        {"", "blockDim", "{w=7, x:8, y=9, {=3}", {.block = {0, 9}}},
        {"", "gridDimX", "11", {.grid = {11}}},
        {"", "gridDimY", "12", {.grid = {0, 12}}},
        {"", "gridDimZ", "13", {.grid = {0, 0, 13}}},
        {"", "blockDimX", "14", {.block = {14}}},
        {"", "blockDimY", "15", {.block = {0, 15}}},
        {"", "blockDimZ", "16", {.block = {0, 0, 16}}},
        {"", "sharedMemBytes", "4096", {.shared_bytes = 4096}},
        {"", "stream", "0x7f00Ab", {.stream = 0x7f00ab}},
        {"", "hStream", "0XaFg9", {.stream = 0xaf}},
        {"", "dst", "0x10", {.ptr = 16}},
        {"void*", "ptr", "17", {.ptr = 17}},
        {"void**", "ptr", "0x10", {.bytes = 0}}, /* where the result goes */
        {"void **", "dst", "0x10", {.bytes = 0}},
        {"", "src", "0x9", {.src = 9}},
        {"", "sizeBytes", "128, more", {.bytes = 128}},
        {"", "size", "1", {.bytes = 1}},
        {"", "size", "0x", {.bytes = 0}},
        {"", "size", "x12", {.bytes = 0}},
        {"", "kind", "1", {.copies = 1, .copy_kind = 1}},
        {"", "kind", "3", {.copies = 1, .copy_kind = 3}},
        {"", "kind", "12", {.copies = 1, .copy_kind = 4}},
        {"", "kind", "", {.copies = 1, .copy_kind = 4}},
        {"", "kind", "hipMemcpyHostToHost", {.copies = 1, .copy_kind = 0}},
        {"", "kind", "hipMemcpyHostToDevice", {.copies = 1, .copy_kind = 1}},
        {"", "kind", "hipMemcpyDeviceToHost", {.copies = 1, .copy_kind = 2}},
        {"", "kind", "DeviceToDevice", {.copies = 1, .copy_kind = 3}},
        {"", "kind", "hipMemcpyDefault", {.copies = 1, .copy_kind = 4}},
        {"", "kind", "HostToDevices", {.copies = 1, .copy_kind = 4}},
        {"", "sizes", "5", {.bytes = 0}},
        {"", "srcs", "5", {.bytes = 0}},
        {"", "Stream", "5", {.bytes = 0}},
        {"", "", "5", {.bytes = 0}},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        hb_import_call_args args = {0};
        hb_import_take_arg(&args, str(rows[i].type), str(rows[i].name), str(rows[i].value));
        if (memcmp(&args, &rows[i].expected, sizeof args) != 0)
            fail_msg("%s %s", rows[i].name, rows[i].value);
    }
}

/* ---- names ---- */

static void copies_by_their_names(void **state)
{
    static const struct {
        const char *name;
        int kind, copy, from, to;
    } rows[] = {
        {"CopyHostToDevice", HB_EVENT_MEMCPY, HB_IMPORT_COPY_HTOD, -1, 3},
        {"copydevicetohost", HB_EVENT_MEMCPY, HB_IMPORT_COPY_DTOH, 3, -1},
        {"CopyDeviceToDevice", HB_EVENT_MEMCPY, HB_IMPORT_COPY_DTOD, 3, 3},
        {"CopyHostToHost", HB_EVENT_MEMCPY, HB_IMPORT_COPY_HTOH, -1, -1},
        {"FillBuffer", HB_EVENT_MEMSET, HB_IMPORT_COPY_DTOD, 3, 3},
        {"fil", HB_EVENT_MEMCPY, HB_IMPORT_COPY_DTOD, 3, 3},
        {"", HB_EVENT_MEMCPY, HB_IMPORT_COPY_DTOD, 3, 3},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        hb_import_launch l = {.has_grid = true, .bytes = 77};
        hb_import_set_named_copy(&l, str(rows[i].name), 3);
        assert_int_equal(l.kind, rows[i].kind);
        assert_int_equal(l.copy, rows[i].copy);
        assert_int_equal(l.from, rows[i].from);
        assert_int_equal(l.to, rows[i].to);
        assert_int_equal(l.device, 3);
        assert_int_equal(l.bytes, 77);
        assert_false(l.has_grid);
    }
}

static void copies_belong_to_a_gpu(void **state)
{
    static const struct {
        int from, to, device, copy;
    } rows[] = {
        {-1, 2, 2, HB_IMPORT_COPY_HTOD}, {2, -1, 2, HB_IMPORT_COPY_DTOH},
        {2, 2, 2, HB_IMPORT_COPY_DTOD},  {1, 2, 2, HB_IMPORT_COPY_PTOP},
        {1, 0, 0, HB_IMPORT_COPY_PTOP},  {-1, -1, 0, HB_IMPORT_COPY_HTOH},
        {0, -1, 0, HB_IMPORT_COPY_DTOH}, {-1, 0, 0, HB_IMPORT_COPY_HTOD},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++)
        for (int fills = 0; fills < 2; fills++) {
            hb_import_launch l = {0};
            hb_import_set_copy(&l, rows[i].from, rows[i].to, 10 + i, fills);
            assert_int_equal(l.device, rows[i].device);
            assert_int_equal(l.copy, rows[i].copy);
            assert_int_equal(l.kind, fills ? HB_EVENT_MEMSET : HB_EVENT_MEMCPY);
            assert_int_equal(l.bytes, 10 + i);
        }
}

static void categories_and_minor_calls(void **state)
{
    static const struct {
        const char *category;
        int part;
    } rows[] = {
        {"MARKER_CORE_API", HB_IMPORT_RANGES},
        {"HIP_RUNTIME_API_EXT", HB_IMPORT_HIP},
        {"rocm_hip_api", HB_IMPORT_HIP},
        {"HSA_CORE_API", HB_IMPORT_HSA},
        {"rccl_api", HB_IMPORT_RCCL},
        {"ROCDECODE_API", HB_IMPORT_HIP},
        {"rocm_marker_api", HB_IMPORT_RANGES},
        {"user", HB_IMPORT_RANGES},
        {"", HB_IMPORT_RANGES},
        {"HI", HB_IMPORT_RANGES},
        {"HS", HB_IMPORT_RANGES},
        {"api", HB_IMPORT_RANGES},
        {"HIP_MARKER", HB_IMPORT_RANGES},
        {"rcc", HB_IMPORT_RANGES},
    };
    static const char *const minor[] = {"__hipPushCallConfiguration", "__hipPopCallConfiguration",
                                        "hipGetLastError", "hipPeekAtLastError"};
    static const char *const others[] = {"hipGetLastErrors", "hipLaunchKernel",  "_hip", "",
                                         "xhipGetLastError", "hipPeekAtLastErro"};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++)
        if (hb_import_part_of(str(rows[i].category)) != (enum hb_import_part)rows[i].part)
            fail_msg("%s", rows[i].category);
    for (size_t i = 0; i < HB_ARRAY_LEN(minor); i++)
        assert_true(hb_import_is_minor(str(minor[i])));
    for (size_t i = 0; i < HB_ARRAY_LEN(others); i++)
        assert_false(hb_import_is_minor(str(others[i])));
}

static void grids_are_rounded_up(void **state)
{
    static const uint64_t huge = UINT64_C(1) << 40;
    hb_import_launch l = {0};
    (void)state;
    hb_import_set_grid(&l, (const uint64_t[]){128, 129, 127}, (const uint64_t[]){64, 64, 64});
    assert_true(l.has_grid && l.grid[0] == 2 && l.grid[1] == 3 && l.grid[2] == 2);
    assert_true(l.block[0] == 64 && l.block[1] == 64 && l.block[2] == 64);
    hb_import_set_grid(&l, (const uint64_t[]){huge, 1, 0}, (const uint64_t[]){1, huge, 2});
    assert_true(l.has_grid && l.grid[0] == UINT32_MAX && l.grid[1] == 1 && l.grid[2] == 0);
    assert_true(l.block[0] == 1 && l.block[1] == UINT32_MAX && l.block[2] == 2);
    for (int axis = 0; axis < 3; axis++) {
        uint64_t threads[3] = {1, 1, 1};
        threads[axis] = 0;
        hb_import_set_grid(&l, (const uint64_t[]){8, 8, 8}, threads);
        assert_true(!l.has_grid && l.grid[axis] == 0);
    }
}

/* ---- beside the events of Chrome's JSON ---- */

#define EVENTS                                                                                    \
    "\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"op\", \"name\": \"a\", \"pid\": 7, \"tid\": 8," \
    " \"ts\": 1, \"dur\": 50}, {\"ph\": \"X\", \"cat\": \"gpu_kernel\", \"name\": \"k\","         \
    " \"pid\": 0, \"tid\": 3, \"ts\": 5, \"dur\": 2}, {\"ph\": \"X\", \"cat\": \"gpu_kernel\","   \
    " \"name\": \"k\", \"pid\": 1, \"tid\": 3, \"ts\": 5, \"dur\": 2}]"

static cJSON *imported_with(const char *members)
{
    char text[4000];
    snprintf(text, sizeof text, "{%s, " EVENTS "}", members);
    hb_import *import;
    assert_int_equal(hb_import_open_any(keep_text("trace", text), NULL, &import), HB_OK);
    char *path;
    assert_int_equal(hb_import_write(import, 0, in_dir("log"), &path), HB_OK);
    cJSON *trace = load_trace(path);
    remove(path);
    hb_free(path);
    hb_import_close(import);
    return trace;
}

static void check_json(const cJSON *trace, const char *member, const char *expected)
{
    char *told = cJSON_PrintUnformatted(cJSON_GetObjectItem(trace, member));
    assert_string_equal(told, expected);
    free(told);
}

/* Odd ones among them: no objects, without a number, with texts for numbers and the other way
 * round, negative, too large. */
static void devices_as_they_are_told(void **state)
{
    (void)state;
    cJSON *trace = imported_with(
        "\"host_name\": \"node\", \"distributedInfo\": {\"rank\": 3, \"world_size\": 8},"
        "\"deviceProperties\": [7, null, {\"name\": \"none\"}, {\"id\": 1, \"name\": \"second\","
        "\"totalGlobalMem\": 2000, \"numSms\": 20, \"warpSize\": 64, \"regsPerBlock\": 65536,"
        "\"computeMajor\": 9, \"computeMinor\": 4, \"maxThreadsPerBlock\": 1024,"
        "\"maxThreadsPerMultiprocessor\": 2048, \"sharedMemPerBlock\": 65536,"
        "\"maxSharedMemoryPerMultiProcessor\": 65537, \"gcnArchName\": \"gfx942\"},"
        "{\"id\": 0, \"name\": 5, \"numSms\": 10, \"totalGlobalMem\": \"x\", \"warpSize\": -3},"
        "{\"id\": 2, \"totalGlobalMem\": 4000}, {\"id\": 3, \"numSms\": 1e30}]");
    assert_string_equal(text_of(trace, "host_name"), "node");
    check_json(trace, "distributedInfo", "{\"backend\":\"nccl\",\"rank\":3,\"world_size\":8}");
    check_json(
        trace, "deviceProperties",
        "[{\"id\":0,\"name\":\"\",\"numSms\":10},"
        "{\"id\":1,\"name\":\"second\",\"totalGlobalMem\":2000,\"computeMajor\":9,"
        "\"computeMinor\":4,\"maxThreadsPerBlock\":1024,\"maxThreadsPerMultiprocessor\":2048,"
        "\"regsPerBlock\":65536,\"warpSize\":64,\"sharedMemPerBlock\":65536,\"numSms\":20,"
        "\"maxSharedMemoryPerMultiProcessor\":65537,\"gcnArchName\":\"gfx942\"}]");
    cJSON_Delete(trace);
}

static void odd_members_are_passed_over(void **state)
{
    static const char *const members[] = {
        "\"host_name\": 7, \"distributedInfo\": [1], \"deviceProperties\": {\"id\": 0}",
        "\"host_name\": null, \"distributedInfo\": {\"rank\": \"x\"}, \"deviceProperties\": []",
        "\"distributedInfo\": {\"rank\": 3}, \"deviceProperties\": [[]]",
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(members); i++) {
        cJSON *trace = imported_with(members[i]);
        check_json(trace, "deviceProperties", "[]");
        assert_null(cJSON_GetObjectItem(trace, "distributedInfo"));
        assert_string_equal(text_of(trace, "host_name"), "");
        cJSON_Delete(trace);
    }
}

/* Microseconds, however they are written, as nanoseconds. */
static void times_are_exact(void **state)
{
    static const struct {
        const char *dur;
        int64_t ns;
    } rows[] = {
        {"10", 10000},
        {"10.5", 10500},
        {"10.0004", 10000},
        {"10.0005", 10001},
        {"10.99951", 11000},
        {"0.001", 1},
        {"0.0004999", 0},
        {"\"10.25\"", 10250},
        {"\"7\"", 7000},
        {"1e1", 10000},
        {"1.0625e1", 10625},
        {"2.5E-3", 3},
        {"1.4e-3", 1},
        {"123456789.123", 123456789123},
        {"9007199254740.993", 9007199254740993},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "{\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"gpu_kernel\", \"name\": \"k\", "
                 "\"pid\": 0, \"tid\": 3, \"ts\": 5.25, \"dur\": %s}]}",
                 rows[i].dur);
        hb_import *import = import_with(keep_text("trace", text), NULL);
        if (hb_import_get(import, 0)->kernel_ns != rows[i].ns)
            fail_msg("%s: %lld", rows[i].dur, (long long)hb_import_get(import, 0)->kernel_ns);
        hb_import_close(import);
    }
}

/* ---- GPUs as AMD's tools describe them ---- */

static const struct {
    const char *name, *arch, *json;
    hb_device_info expected;
} agents[] = {
    {"MI250X",
     "gfx90a",
     "{\"cu_count\":110,\"simd_per_cu\":4,\"max_waves_per_simd\":8,\"wave_front_size\":64,"
     "\"lds_size_in_kb\":64,\"gfx_target_version\":90010,\"workgroup_max_size\":1024,"
     "\"max_engine_clk_fcompute\":1700,\"mem_banks\":[{\"size_in_bytes\":100},"
     "{\"size_in_bytes\":11,\"mem_clk_max\":1600,\"width\":4096},"
     "{\"size_in_bytes\":-5,\"mem_clk_max\":9,\"width\":9}]}",
     {.name = "MI250X",
      .arch = "gfx90a",
      .total_global_mem = 111,
      .compute_major = 9,
      .max_threads_per_block = 1024,
      .max_threads_per_cu = 2048,
      .warp_size = 64,
      .shared_mem_per_block = 65536,
      .num_cus = 110,
      .max_shared_mem_per_cu = 65536,
      .clock_khz = 1700000,
      .memory_khz = 1600000,
      .memory_bus_bits = 4096}},
    /* HIP counts two CUs of these as one, with the waves of both */
    {"",
     "gfx1100",
     "{\"cu_count\":96,\"max_waves_per_cu\":16,\"simd_per_cu\":2,\"max_waves_per_simd\":9,"
     "\"wave_front_size\":32}",
     {.name = "gfx1100",
      .arch = "gfx1100",
      .compute_major = 11,
      .max_threads_per_cu = 1024,
      .warp_size = 32,
      .num_cus = 48}},
    {"odd",
     "gfx1151",
     "{\"cu_count\":\"x\",\"wave_front_size\":-1,\"mem_banks\":{\"size_in_bytes\":1},"
     "\"lds_size_in_kb\":1e3,\"workgroup_max_size\":5000000000}",
     {.name = "odd", .arch = "gfx1151", .compute_major = 11, .compute_minor = 5}},
    {"full",
     "gfx1150",
     "{\"simd_per_cu\":2147483647,\"max_waves_per_simd\":2147483647,"
     "\"wave_front_size\":2147483647}",
     {.name = "full",
      .arch = "gfx1150",
      .compute_major = 11,
      .compute_minor = 5,
      .max_threads_per_cu = INT32_MAX,
      .warp_size = INT32_MAX}},
    {"none", "", "7", {.name = "none", .arch = ""}},
    {"old", "gfx803", "", {.name = "old", .arch = "gfx803", .compute_major = 8}},
    {"x", "gfx90", "", {.name = "x", .arch = "gfx90"}},
    {"y", "gfxa0b", "", {.name = "y", .arch = "gfxa0b"}},
    {"z",
     "gfx942:sramecc+",
     "",
     {.name = "z", .arch = "gfx942:sramecc+", .compute_major = 9, .compute_minor = 4}},
    {"w", "gfx1", "", {.name = "w", .arch = "gfx1"}},
    {"v", "sm_90a", "", {.name = "v", .arch = "sm_90a"}},
};

static void agents_are_devices(void **state)
{
    (void)state;
    hb_import *import = import_with(keep_text("trace", "{" EVENTS "}"), NULL);
    hb_import_process *p = import->processes[0];
    uint32_t before = p->rows.devices.count;
    hb_import_add_gpu(import, p, 90, (hb_str){0}, (hb_str){0},
                      str("7")); /* of which nothing is told */
    assert_int_equal(p->rows.devices.count, before);
    for (size_t i = 0; i < HB_ARRAY_LEN(agents); i++) {
        char json[1000]; /* what reads it may look behind its end */
        snprintf(json, sizeof json, "%s", agents[i].json);
        for (int again = 0; again < 2; again++) /* once */
            hb_import_add_gpu(import, p, 100 + (int32_t)i, str(agents[i].name), str(agents[i].arch),
                              (hb_str){json, (uint32_t)strlen(json)});
        assert_int_equal(p->rows.devices.count, before + i + 1);
        const hb_device_info *d = &p->rows.devices.items[before + i], *e = &agents[i].expected;
        assert_int_equal(d->id, 100 + (int32_t)i);
        assert_string_equal(d->name, e->name);
        assert_string_equal(d->arch, e->arch);
        hb_device_info same = *d; /* but for these */
        same.id = e->id;
        same.name = e->name;
        same.arch = e->arch;
        if (memcmp(&same, e, sizeof same) != 0) fail_msg("%s", agents[i].name);
    }
    hb_import_close(import);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_by_their_names),
        cmocka_unit_test(copies_by_their_names),
        cmocka_unit_test(copies_belong_to_a_gpu),
        cmocka_unit_test(categories_and_minor_calls),
        cmocka_unit_test(grids_are_rounded_up),
        IN_DIR(devices_as_they_are_told),
        IN_DIR(odd_members_are_passed_over),
        IN_DIR(times_are_exact),
        IN_DIR(agents_are_devices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
