/* SPDX-License-Identifier: MIT
 *
 * Perfetto's protobuf as rocprofv3, omnitrace and others write it, made here by AMD's published
 * names of rows and args: no file of theirs may be copied.
 */
#include <zlib.h>

#include "imported.h"
#include "write/pftrace_packets.h"

/* ---- packets ---- */

static char file[1 << 16];
static size_t file_size;

static void put_packet(const char *packet, const hb_message *m)
{
    hb_message f = {file + file_size, file + sizeof file, false};
    hb_message_inside(&f, 1, packet, m);
    assert_false(f.full);
    file_size = (size_t)(f.at - file);
}

#define TEXT(m, field, text) hb_message_bytes((m), (field), (text), strlen(text))

/* A row: of a process (tid 0), a thread, a counter (unit), or with a name only. */
static void put_row(uint64_t uuid, uint64_t parent, const char *name, int pid, int tid,
                    const char *unit)
{
    char packet[512], row[400], inside[200];
    hb_message p = HB_MESSAGE_IN(packet), r = HB_MESSAGE_IN(row), i = HB_MESSAGE_IN(inside);
    hb_message_number(&r, 1, uuid);
    if (parent) hb_message_number(&r, 5, parent);
    if (name) TEXT(&r, 2, name);
    if (pid) {
        hb_message_number(&i, 1, (uint64_t)pid);
        if (tid) hb_message_number(&i, 2, (uint64_t)tid);
        hb_message_inside(&r, tid ? 4 : 3, inside, &i);
    } else if (unit) {
        TEXT(&i, 6, unit);
        hb_message_inside(&r, 8, inside, &i);
    }
    hb_message_number(&p, 10, 1);
    hb_message_inside(&p, 60, row, &r);
    put_packet(packet, &p);
}

typedef struct arg {
    const char *name, *text;
    int64_t number;
    double value; /* where it is not 0 */
} arg;

static void put_args(hb_message *e, const arg *args)
{
    for (; args && args->name; args++) {
        char annotation[300];
        uint64_t bits;
        hb_message a = HB_MESSAGE_IN(annotation);
        TEXT(&a, 10, args->name);
        memcpy(&bits, &args->value, sizeof bits);
        if (args->text)
            TEXT(&a, 6, args->text);
        else if (bits)
            hb_message_fixed(&a, 5, bits);
        else
            hb_message_number(&a, 3, (uint64_t)args->number);
        hb_message_inside(e, 4, annotation, &a);
    }
}

static void put_event(int type, uint64_t time, uint64_t uuid, const char *category,
                      const char *name, const arg *args)
{
    char packet[2000], event[1800];
    hb_message p = HB_MESSAGE_IN(packet), e = HB_MESSAGE_IN(event);
    hb_message_number(&e, 9, (uint64_t)type);
    hb_message_number(&e, 11, uuid);
    if (category) TEXT(&e, 22, category);
    if (name) TEXT(&e, 23, name);
    put_args(&e, args);
    hb_message_number(&p, 8, time);
    hb_message_number(&p, 10, 1);
    hb_message_inside(&p, 11, event, &e);
    put_packet(packet, &p);
}

static void put_slice(uint64_t start, uint64_t end, uint64_t uuid, const char *category,
                      const char *name, const arg *args)
{
    put_event(HB_PF_BEGIN, start, uuid, category, name, args);
    put_event(HB_PF_END, end, uuid, NULL, NULL, NULL);
}

static void put_value(uint64_t time, uint64_t uuid, int64_t value)
{
    char packet[100], event[60];
    hb_message p = HB_MESSAGE_IN(packet), e = HB_MESSAGE_IN(event);
    hb_message_number(&e, 9, HB_PF_COUNTER);
    hb_message_number(&e, 11, uuid);
    hb_message_number(&e, 30, (uint64_t)value);
    hb_message_number(&p, 8, time);
    hb_message_number(&p, 10, 1);
    hb_message_inside(&p, 11, event, &e);
    put_packet(packet, &p);
}

static int begin_file(void **state)
{
    file_size = 0;
    return make_dir(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_file, remove_dir)

/* ---- rocprofv3 ---- */

static const arg kernel_args[] = {
    {.name = "begin_ns", .number = 2400000}, {.name = "end_ns", .number = 2500000},
    {.name = "kind", .number = 11},          {.name = "agent", .text = "Agent 5"},
    {.name = "corr_id", .number = 2},        {.name = "queue", .number = 1},
    {.name = "tid", .number = 4712},         {.name = "kernel_id", .number = 3},
    {.name = "Scratch_Size", .number = 32},  {.name = "LDS_Block_Size", .number = 65536},
    {.name = "VGPR_Count", .number = 96},    {.name = "Accum_VGPR_Count", .number = 4},
    {.name = "SGPR_Count", .number = 48},    {.name = "workgroup_size", .number = 256},
    {.name = "grid_size", .number = 65536},  {.name = "stream_ID", .number = 7},
    {.name = "SQ_WAVES", .value = 124.5},    {0},
};
static const arg call_args[] = {{.name = "corr_id", .number = 2}, {0}};
static const arg copy_args[] = {{.name = "corr_id", .number = 3},
                                {.name = "bytes", .number = 65536},
                                {.name = "dst_agent", .number = 5},
                                {0}};

static void make_rocprofv3(void)
{
    put_row(1, 0, NULL, 4711, 0, NULL);
    put_row(2, 1, "THREAD 1 (4712)", 0, 0, NULL);
    put_row(3, 1, "COMPUTE AGENT [5] QUEUE [1] (GPU)", 0, 0, NULL);
    put_row(4, 1, "COPY to AGENT [5] THREAD [1] (GPU)", 0, 0, NULL);
    put_row(5, 1, "COPY BYTES to [5]", 0, 0, "bytes");
    put_event(HB_PF_BEGIN, 2000000, 2, "marker_api", "forward", NULL);
    put_slice(2200000, 2210000, 2, "hip_api", "hipLaunchKernel", call_args);
    put_event(HB_PF_END, 3000000, 2, NULL, NULL, NULL);
    put_slice(2300000, 2310000, 2, "hip_api", "hipMemcpy", copy_args);
    put_slice(2400000, 2500000, 3, "kernel_dispatch", "gemm(float*)", kernel_args);
    put_slice(2350000, 2360000, 4, "memory_copy", "MEMORY_COPY_HOST_TO_DEVICE", copy_args);
    put_value(2350000, 5, 65536);
    put_value(2360000, 5, 0);
}

static void rows_and_args_of_rocprofv3(void **state)
{
    (void)state;
    static const char *const parts[] = {
        "\"name\": \"forward\"",
        "\"name\": \"gemm(float*)\"",
        "\"device\": 0, \"stream\": 7,      \"correlation\": 2",
        "\"registers per thread\": 96, \"shared memory\": 65536",
        "\"sgprs per wave\": 48, \"agprs per thread\": 4, \"scratch per thread\": 32",
        "\"SQ_WAVES\": 124.5",
        "\"name\": \"Memcpy HtoD (Host -> Device)\"",
        "\"bytes\": 65536",
        "\"name\": \"COPY BYTES to [5]\"",
    };
    make_rocprofv3();
    hb_import *import = import_with(keep_bytes("t", file, file_size), NULL);
    const hb_imported *p = hb_import_get(import, 0);
    assert_string_equal(p->format, "Perfetto");
    assert_int_equal(hb_import_count(import), 1);
    assert_int_equal(p->pid, 4711);
    assert_int_equal(p->kernels, 1);
    assert_int_equal(p->copies, 1);
    assert_int_equal(p->calls, 2);
    assert_int_equal(p->ranges, 1);
    assert_int_equal(p->linked, 2);
    assert_int_equal(p->samples, 2);
    assert_int_equal(note_of(p, "NO_GRID"), 1); /* products only */
    char *text = written_text(import, 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        HAS(text, parts[i]);
    HAS_NOT(text, "begin_ns");
    free(text);
    hb_import_close(import);
}

/* ---- clocks and tables ---- */

static void put_clock(hb_message *to, uint64_t id, uint64_t time, bool counts_on)
{
    char clock[60];
    hb_message c = HB_MESSAGE_IN(clock);
    hb_message_number(&c, 1, id);
    hb_message_number(&c, 2, time);
    if (counts_on) hb_message_number(&c, 3, 1);
    hb_message_inside(to, 1, clock, &c);
}

static void put_interned(hb_message *packet, uint32_t table, uint64_t iid, const char *text)
{
    char entry[100], inside[120];
    hb_message e = HB_MESSAGE_IN(entry), i = HB_MESSAGE_IN(inside);
    hb_message_number(&e, 1, iid);
    TEXT(&e, 2, text);
    hb_message_inside(&i, table, entry, &e);
    hb_message_inside(packet, 12, inside, &i);
}

static void put_short(uint64_t sequence, uint64_t delta, int type, bool cleared, const char *name)
{
    char packet[400], event[60];
    hb_message p = HB_MESSAGE_IN(packet), e = HB_MESSAGE_IN(event);
    hb_message_number(&p, 10, sequence);
    hb_message_number(&p, 13, cleared ? 1 : 2);
    if (name) put_interned(&p, 2, 1, name);
    hb_message_number(&p, 8, delta);
    hb_message_number(&p, 58, 64);
    hb_message_number(&e, 9, (uint64_t)type);
    hb_message_number(&e, 11, sequence);
    if (type == HB_PF_BEGIN) hb_message_number(&e, 10, 1);
    hb_message_inside(&p, 11, event, &e);
    put_packet(packet, &p);
}

static void put_snapshot(uint64_t sequence)
{
    char packet[300], snapshot[200];
    hb_message p = HB_MESSAGE_IN(packet), s = HB_MESSAGE_IN(snapshot);
    put_clock(&s, 6, 1000000, false);
    put_clock(&s, 1, UINT64_C(1700000000001000000), false);
    put_clock(&s, 64, 1000, true);
    hb_message_number(&p, 10, sequence);
    hb_message_inside(&p, 6, snapshot, &s);
    put_packet(packet, &p);
}

/* Two sequences with tables of their own and clocks that count on, one after the other's turn; a
 * table that is dropped. */
static void each_sequence_has_its_own(void **state)
{
    (void)state;
    put_row(7, 0, NULL, 11, 12, NULL);
    put_row(8, 0, NULL, 11, 13, NULL);
    put_snapshot(7);
    put_snapshot(8);
    put_short(7, 500, HB_PF_BEGIN, false, "first");
    put_short(8, 600, HB_PF_BEGIN, false, "second");
    put_short(7, 1000, HB_PF_END, false, NULL);
    put_short(8, 1000, HB_PF_END, false, NULL);
    put_short(7, 100, HB_PF_BEGIN, true, "third");
    put_short(7, 250, HB_PF_END, false, NULL);
    hb_import *import = import_with(keep_bytes("t", file, file_size), NULL);
    assert_int_equal(hb_import_get(import, 0)->ranges, 3);
    assert_int_equal(hb_import_get(import, 0)->start_ns, INT64_C(1700000000001000500));
    char *text = written_text(import, 0);
    HAS(text, "\"name\": \"first\"");
    HAS(text, "\"name\": \"second\"");
    HAS(text, "\"name\": \"third\"");
    HAS(text, "\"dur\": 0.250");
    free(text);
    hb_import_close(import);
}

static void deflated_packets(void **state)
{
    (void)state;
    static unsigned char deflated[1 << 16];
    static char packet[1 << 16];
    uLongf size = sizeof deflated;
    hb_message p = HB_MESSAGE_IN(packet);
    make_rocprofv3();
    assert_int_equal(compress(deflated, &size, (const Bytef *)file, file_size), Z_OK);
    file_size = 0;
    put_row(1, 0, NULL, 4711, 0, NULL);
    hb_message_bytes(&p, 50, deflated, size);
    put_packet(packet, &p);
    hb_import *import = import_with(keep_bytes("t", file, file_size), NULL);
    assert_int_equal(hb_import_get(import, 0)->kernels, 1);
    assert_int_equal(hb_import_get(import, 0)->calls, 2);
    hb_import_close(import);
}

/* ---- what is broken ---- */

static void what_is_left_of_a_killed_tool(void **state)
{
    (void)state;
    make_rocprofv3();
    for (size_t size = file_size / 2; size < file_size; size += 5) {
        hb_import *import = NULL;
        const char *path = keep_bytes("t", file, size);
        if (hb_import_open(&path, 1, NULL, &import) != HB_OK) continue;
        assert_true(hb_import_get(import, 0)->calls <= 2);
        hb_import_close(import);
    }
    hb_import *import = import_with(keep_bytes("t", file, file_size - 1), NULL);
    assert_int_equal(note_of(hb_import_get(import, 0), "LOST"), 1);
    hb_import_close(import);
}

static void slices_without_an_end(void **state)
{
    (void)state;
    put_row(2, 0, NULL, 4711, 4712, NULL);
    put_event(HB_PF_BEGIN, 1000, 2, "host", "main", NULL);
    put_event(HB_PF_BEGIN, 2000, 2, "host", "inner", NULL);
    put_event(HB_PF_END, 3000, 2, NULL, NULL, NULL);
    put_event(HB_PF_END, 4000, 3, NULL, NULL, NULL); /* of another row */
    hb_import *import = import_with(keep_bytes("t", file, file_size), NULL);
    const hb_imported *p = hb_import_get(import, 0);
    assert_int_equal(p->ranges, 2);
    assert_int_equal(note_of(p, "UNPAIRED"), 2);
    hb_import_close(import);
}

/* Rows that stand in each other, in a circle. */
static void rows_in_a_circle(void **state)
{
    (void)state;
    put_row(1, 2, "one", 0, 0, NULL);
    put_row(2, 1, "two", 0, 0, NULL);
    put_slice(1000, 2000, 1, "host", "main", NULL);
    put_slice(UINT64_MAX, UINT64_MAX, 1, "host", "never", NULL);
    hb_import *import = import_with(keep_bytes("t", file, file_size), NULL);
    assert_int_equal(hb_import_get(import, 0)->ranges, 1);
    assert_int_equal(note_of(hb_import_get(import, 0), "BAD_TIMES"), 1);
    free(written_text(import, 0));
    hb_import_close(import);
}

/* ---- recorded cycles ---- */

/* A text of 300 bytes, whose arg needs two bytes for its size. */
static void record_some(void)
{
    char text[301];
    memset(text, 'x', sizeof text - 1);
    text[300] = 0;
    HB_SCOPE_WITH("outer", HB_ARGS(HB_ARG("why", text), HB_ARG("tile", 16)));
    for (int i = 0; i < 20; i++) {
        hb_scope inner = hb_record_function(i % 2 ? "inner" : "other");
        hb_counter("queue", "rows", i);
        hb_scope_end(&inner);
    }
}

static hb_profiler *record_with(unsigned flags)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.spool_dir = "";
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", flags | HB_NO_EVENT_FILE);
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    record_some();
    assert_int_equal(hb_profiler_step(prof), HB_OK);
    record_some();
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    return prof;
}

static void assert_as_recorded(const char *path)
{
    hb_import *import = import_with(path, NULL);
    const hb_imported *p = hb_import_get(import, 0);
    assert_string_equal(p->format, "Perfetto");
    assert_int_equal(p->pid, getpid());
    assert_int_equal(p->samples, 40);
    assert_int_equal(p->ranges, 42);
    assert_int_equal(note_of(p, "LOST") + note_of(p, "UNPAIRED") + note_of(p, "BAD_ROWS"), 0);
    char *text = written_text(import, 0);
    assert_int_equal(count_in(text, "\"name\": \"outer\""), 2);
    assert_int_equal(count_in(text, "\"name\": \"inner\""), 20);
    free(text);
    hb_import_close(import);
}

/* The path of the file in `dir` whose name ends so. */
static const char *file_ending(const char *ending)
{
    static char path[512];
    DIR *open_dir = opendir(dir);
    *path = 0;
    for (struct dirent *entry; (entry = readdir(open_dir));) {
        size_t n = strlen(entry->d_name), k = strlen(ending);
        if (n > k && strcmp(entry->d_name + n - k, ending) == 0)
            snprintf(path, sizeof path, "%s/%.200s", dir, entry->d_name);
    }
    closedir(open_dir);
    if (!*path) fail_msg("no file %s", ending);
    return path;
}

static void a_recorded_cycle_is_written_beside_its_trace(void **state)
{
    char json[512];
    (void)state;
    hb_profiler_destroy(record_with(HB_PFTRACE));
    snprintf(json, sizeof json, "%s", file_ending(".pt.trace.json"));
    assert_as_recorded(file_ending(".pftrace"));
    /* The same name. */
    assert_int_equal(strlen(json) - strlen(".pt.trace.json"),
                     strlen(file_ending(".pftrace")) - strlen(".pftrace"));
    assert_memory_equal(json, file_ending(".pftrace"), strlen(json) - strlen(".pt.trace.json"));
    assert_int_equal(list_dir(dir, NULL, NULL, 0), 2 + 1); /* what was imported */
}

static void compressed_and_in_place_of_json(void **state)
{
    (void)state;
    hb_profiler *prof = record_with(HB_PFTRACE | HB_GZIP);
    assert_as_recorded(file_ending(".pftrace.gz"));
    assert_int_equal(hb_export_chrome_trace(prof, in_dir("alone"), HB_PFTRACE), HB_OK);
    assert_as_recorded(in_dir("alone"));
    assert_int_equal(list_dir(dir, NULL, NULL, 0), 3 + 1);
    hb_profiler_destroy(prof);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_and_args_of_rocprofv3),
        TEST(each_sequence_has_its_own),
        TEST(deflated_packets),
        TEST(what_is_left_of_a_killed_tool),
        TEST(a_recorded_cycle_is_written_beside_its_trace),
        TEST(compressed_and_in_place_of_json),
        TEST(slices_without_an_end),
        TEST(rows_in_a_circle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
