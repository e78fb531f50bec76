/* SPDX-License-Identifier: MIT
 *
 * rocprofv3's JSON: a part of a real one, and small ones made here.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include <cJSON.h>

#include <hipboard/analysis.h>
#include <hipboard/import.h>

#include "test_dir.h"

/* A range, a launch in it, a copy and an allocation; two counters of the kernel. */
static const char small[] =
    "{\"rocprofiler-sdk-tool\":[{\"metadata\":{\"pid\":815,\"init_time\":1000,\"fini_time\":"
    "9000000,"
    "\"node\":{\"hostname\":\"node7\",\"machine_id\":\"a1\"},"
    "\"command\":[\"/opt/bin/train\",\"--key=hunter2\"],\"config\":{\"x\":\"hunter2\"}},"
    "\"agents\":[{\"id\":{\"handle\":70},\"type\":1,\"logical_node_type_id\":0,\"name\":\"EPYC\"},"
    "{\"id\":{\"handle\":71},\"type\":2,\"cu_count\":256,\"wave_front_size\":64,"
    "\"logical_node_type_id\":0,\"name\":\"gfx950\",\"product_name\":\"AMD Instinct MI350X\"}],"
    "\"counters\":[{\"id\":{\"handle\":5},\"name\":\"SQ_WAVES\"}],"
    "\"strings\":{\"buffer_records\":[{\"kind\":\"NONE\",\"operations\":[]},"
    "{\"kind\":\"HIP_RUNTIME_API\",\"operations\":[\"hipNone\",\"hipLaunchKernel\",\"hipMemcpy\"]},"
    "{\"kind\":\"MARKER_CORE_API\",\"operations\":[\"roctxMark\",\"roctxRangePush\"]},"
    "{\"kind\":\"MEMORY_ALLOCATION\",\"operations\":[\"NONE\",\"MEMORY_ALLOCATION_ALLOCATE\","
    "\"MEMORY_ALLOCATION_FREE\"]}],\"marker_api\":[{\"key\":1,\"value\":\"for\\\"ward\"}]},"
    "\"kernel_symbols\":[{\"kernel_id\":3,\"arch_vgpr_count\":96,\"accum_vgpr_count\":4,"
    "\"sgpr_count\":48,\"formatted_kernel_name\":\"gemm(float*)\"}],"
    "\"callback_records\":{\"counter_collection\":[{\"dispatch_data\":{\"dispatch_info\":"
    "{\"dispatch_id\":1}},\"records\":[{\"counter_id\":{\"handle\":5},\"value\":100.5},"
    "{\"counter_id\":{\"handle\":5},\"value\":24}]}]},"
    "\"buffer_records\":{\"kernel_dispatch\":[{\"kind\":11,\"operation\":2,\"thread_id\":815,"
    "\"correlation_id\":{\"internal\":2,\"external\":0},\"start_timestamp\":2400000,"
    "\"end_timestamp\":2500000,\"dispatch_info\":{\"agent_id\":{\"handle\":71},"
    "\"queue_id\":{\"handle\":9},\"kernel_id\":3,\"dispatch_id\":1,\"private_segment_size\":0,"
    "\"group_segment_size\":65536,\"workgroup_size\":{\"x\":256,\"y\":1,\"z\":1},"
    "\"grid_size\":{\"x\":512,\"y\":128,\"z\":1}},\"stream_id\":{\"handle\":2}}],"
    "\"hip_api\":[{\"kind\":1,\"operation\":1,\"thread_id\":815,\"correlation_id\":{\"internal\":2}"
    ","
    "\"start_timestamp\":2200000,\"end_timestamp\":2210000},{\"kind\":1,\"operation\":2,"
    "\"thread_id\":815,\"correlation_id\":{\"internal\":3},\"start_timestamp\":2300000,"
    "\"end_timestamp\":2310000},{\"kind\":99,\"operation\":1,\"thread_id\":815,"
    "\"start_timestamp\":1,\"end_timestamp\":2}],"
    "\"marker_api\":[{\"kind\":2,\"operation\":1,\"thread_id\":815,\"correlation_id\":{"
    "\"internal\":"
    "1},\"start_timestamp\":2000000,\"end_timestamp\":3000000}],"
    "\"memory_copy\":[{\"kind\":9,\"operation\":2,\"thread_id\":815,\"correlation_id\":{"
    "\"internal\":"
    "3},\"start_timestamp\":2350000,\"end_timestamp\":2360000,\"dst_agent_id\":{\"handle\":71},"
    "\"src_agent_id\":{\"handle\":70},\"bytes\":65536}],"
    "\"memory_allocation\":[{\"kind\":3,\"operation\":1,\"thread_id\":815,\"agent_id\":{\"handle\":"
    "71},"
    "\"address\":\"0x7eda00200000\",\"allocation_size\":1000,\"start_timestamp\":1500000,"
    "\"end_timestamp\":1600000},{\"kind\":3,\"operation\":2,\"thread_id\":815,"
    "\"address\":\"0x7eda00200000\",\"start_timestamp\":4000000,\"end_timestamp\":4100000}],"
    "\"scratch_memory\":[{\"kind\":4}]}}]}";

static const char *keep(const char *text, size_t size)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/any.json", dir);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    fclose(file);
    /* it tells no Unix times: those of the file are taken */
    struct timespec times[2] = {{1700000000, 0}, {1700000000, 0}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    return path;
}

static hb_import *open_one(const char *path)
{
    hb_import *import = NULL;
    if (hb_import_open(&path, 1, NULL, &import) != HB_OK) fail_msg("%s", hb_last_error());
    assert_int_equal(hb_import_count(import), 1);
    return import;
}

static uint64_t note_of(const hb_imported *p, const char *key)
{
    for (size_t i = 0; i < p->num_notes; i++)
        if (strcmp(p->notes[i].key, key) == 0) return p->notes[i].count;
    return 0;
}

static char *written(hb_import *import)
{
    char *path, *text = calloc(1, 1 << 22);
    if (hb_import_write(import, 0, dir, &path) != HB_OK) fail_msg("%s", hb_last_error());
    FILE *file = fopen(path, "rb");
    assert_true(fread(text, 1, (1 << 22) - 1, file) > 0);
    fclose(file);
    unlink(path);
    hb_free(path);
    return text;
}

static void a_real_one(void **state)
{
    (void)state;
    hb_import *import = open_one(TEST_DATA "/rocprofv3_mi350x.json.gz");
    const hb_imported *p = hb_import_get(import, 0);
    assert_string_equal(p->format, "rocprofv3 JSON");
    assert_int_equal(p->pid, 908);
    assert_int_equal(p->kernels, 1933);
    assert_int_equal(p->calls, 0);
    assert_int_equal(p->linked, 0);
    assert_int_equal(note_of(p, "NO_CALL"), 1933);
    assert_int_equal(note_of(p, "NO_GRID"), 0);
    assert_int_equal(note_of(p, "NO_REGISTERS"), 0);
    hb_import_close(import);
}

static void all_kinds_of_records(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "\"name\": \"for\\\"ward\"",
        "\"name\": \"gemm(float*)\"",
        "\"grid\":     [2, 128, 1], \"block\":     [256, 1, 1]",
        "\"registers per thread\": 96, \"shared memory\": 65536",
        "\"device\": 0, \"stream\": 2,      \"correlation\": 2",
        "\"SQ_WAVES\": 124.5",
        "\"name\": \"Memcpy HtoD (Host -> Device)\"",
        "\"bytes\": 65536",
        "\"Total Allocated\": 1000",
        "\"Total Allocated\": 0",
        "\"serialised\": true",
    };
    hb_import *import = open_one(keep(small, sizeof small - 1));
    const hb_imported *p = hb_import_get(import, 0);
    char *text = written(import);
    assert_int_equal(p->kernels, 1);
    assert_int_equal(p->copies, 1);
    assert_int_equal(p->calls, 2);
    assert_int_equal(p->ranges, 1);
    assert_int_equal(p->linked, 2);
    assert_int_equal(note_of(p, "BAD_ROWS"), 1);
    assert_int_equal(note_of(p, "NOT_SHOWN"), 1);
    assert_string_equal(p->worker, "node7_815");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(text, parts[i])) fail_msg("no %s in %s", parts[i], text);
    assert_null(strstr(text, "hunter2"));
    free(text);
    hb_import_close(import);
}

/* The file with its process's members in an order of the test's, one of which nobody knows. */
static char *reordered(int turn, bool backwards)
{
    static const char *const names[] = {"metadata",         "agents",         "counters",
                                        "strings",          "kernel_symbols", "buffer_records",
                                        "callback_records", "of tomorrow"};
    enum { COUNT = sizeof names / sizeof *names };
    cJSON *root = cJSON_Parse(small), *process = cJSON_GetArrayItem(root->child, 0);
    cJSON_AddArrayToObject(process, names[COUNT - 1]);
    cJSON *to = cJSON_CreateObject();
    for (int i = 0; i < COUNT; i++) {
        const char *name = names[backwards ? (turn + COUNT - i) % COUNT : (turn + i) % COUNT];
        cJSON *member = cJSON_DetachItemFromObject(process, name);
        assert_non_null(member);
        cJSON_AddItemToObject(to, name, member);
    }
    assert_null(process->child);
    cJSON_ReplaceItemInArray(root->child, 0, to);
    char *text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    return text;
}

static void members_in_any_order(void **state)
{
    (void)state;
    hb_import *import = open_one(keep(small, sizeof small - 1));
    char *expected = written(import);
    hb_import_close(import);
    for (int i = 0; i < 16; i++) {
        char *text = reordered(i % 8, i >= 8);
        import = open_one(keep(text, strlen(text)));
        char *found = written(import);
        assert_string_equal(found, expected);
        hb_import_close(import);
        free(found);
        free(text);
    }
    free(expected);
}

/* 0 is a number as any other. */
static void ids_count_from_0(void **state)
{
    static const char *const ids[] = {"\"kernel_id\":3", "\"dispatch_id\":1"};
    char text[sizeof small];
    (void)state;
    memcpy(text, small, sizeof small);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        for (char *at; (at = strstr(text, ids[i]));)
            at[strlen(ids[i]) - 1] = '0';
    hb_import *import = open_one(keep(text, sizeof text - 1));
    char *trace = written(import);
    assert_non_null(strstr(trace, "gemm(float*)"));
    assert_non_null(strstr(trace, "\"SQ_WAVES\": 124.5"));
    free(trace);
    hb_import_close(import);
}

/* Cut off anywhere, it is refused with its byte, or is of no format. */
static void cut_off_anywhere(void **state)
{
    (void)state;
    for (size_t size = 0; size + 1 < sizeof small; size += 7) {
        hb_import *import = NULL;
        const char *path = keep(small, size);
        assert_int_equal(hb_import_open(&path, 1, NULL, &import), HB_ERROR_FORMAT);
        if (size > 40 && !strstr(hb_last_error(), "byte")) fail_msg("%s", hb_last_error());
    }
}

static void odd_values(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
    } changes[] = {
        {"\"start_timestamp\":2400000", "\"start_timestamp\":18446744073709551615"},
        {"\"start_timestamp\":2400000", "\"start_timestamp\":\"soon\""},
        {"\"kernel_id\":3,\"dispatch", "\"kernel_id\":9999999999,\"dispatch"},
        {"\"queue_id\":{\"handle\":9}", "\"queue_id\":[[[]]]"},
        {"\"agent_id\":{\"handle\":71},\"queue", "\"agent_id\":{\"handle\":70},\"queue"},
        {"\"agents\":[", "\"agents\":{},\"others\":["},
        {"\"strings\":{", "\"strings\":7,\"others\":{"},
        {"\"operations\":[\"hipNone\"", "\"operations\":[[],{}"},
    };
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        static char text[sizeof small + 64];
        const char *at = strstr(small, changes[i].from);
        assert_non_null(at);
        int n = snprintf(text, sizeof text, "%.*s%s%s", (int)(at - small), small, changes[i].to,
                         at + strlen(changes[i].from));
        hb_import *import = open_one(keep(text, (size_t)n));
        assert_true(hb_import_get(import, 0)->kernels <= 1);
        free(written(import));
        hb_import_close(import);
        remove_tree(dir);
        assert_int_equal(make_dir(NULL), 0);
    }
}

/* A quote in it makes that its text is decoded. */
static void a_name_of_more_than_a_mib_is_whole(void **state)
{
    enum { LENGTH = 1100000 };
    static const char name[] = "gemm(float*)";
    static char text[sizeof small + LENGTH];
    (void)state;
    const char *at = strstr(small, name);
    size_t n = (size_t)snprintf(text, sizeof text, "%.*s\\\"", (int)(at - small), small);
    memset(text + n, 'n', LENGTH);
    strcpy(text + n + LENGTH, at + sizeof name - 1);
    hb_import *import = open_one(keep(text, strlen(text)));
    char *trace = written(import), *found = strstr(trace, "\"name\": \"\\\"nnn");
    assert_non_null(found);
    assert_int_equal(strspn(found + 11, "n"), LENGTH);
    free(trace);
    hb_import_close(import);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(a_real_one),
        IN_DIR(all_kinds_of_records),
        IN_DIR(members_in_any_order),
        IN_DIR(cut_off_anywhere),
        IN_DIR(odd_values),
        IN_DIR(ids_count_from_0),
        IN_DIR(a_name_of_more_than_a_mib_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
