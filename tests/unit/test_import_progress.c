/* SPDX-License-Identifier: MIT
 *
 * How often somebody who waits for a large import is told of it, and what is taken for a file of
 * Perfetto's by its first bytes.
 */
#include "import/import_set.h"
#include "imported.h"

/* ---- progress ---- */

enum { BETWEEN = 65536 };

typedef struct listener {
    const char *path;
    unsigned calls, stop_at; /* 0: never */
    uint64_t last;
} listener;

static bool listen(void *context, const char *path, uint64_t done, uint64_t size)
{
    listener *l = context;
    (void)size;
    assert_string_equal(path, l->path);
    l->last = done;
    return ++l->calls != l->stop_at;
}

/* A file of many rows that are the same, in a format of text. */
static const char *make_rows(const char *name, const char *head, const char *row, const char *last,
                             unsigned rows)
{
    const char *path = in_dir(name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(head, file);
    for (unsigned i = 1; i < rows; i++)
        fputs(row, file);
    fputs(last, file);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* Of so many rows, and stopped at the first time that it is told. */
static void check_progress(const char *name, const char *head, const char *row, const char *last,
                           unsigned rows, unsigned expected)
{
    listener l = {.path = make_rows(name, head, row, last, rows)};
    hb_import_options options = HB_IMPORT_OPTIONS_INIT;
    hb_import *import;
    options.progress = listen;
    options.context = &l;
    if (hb_import_open(&l.path, 1, &options, &import) != HB_OK) fail_msg("%s", hb_last_error());
    hb_import_close(import);
    assert_int_equal(l.calls, expected);
    if (expected) assert_int_equal(l.last, expected * BETWEEN);
    if (!expected) return;
    l.calls = 0;
    l.stop_at = 1;
    assert_int_equal(hb_import_open(&l.path, 1, &options, &import), HB_ERROR_STATE);
    assert_int_equal(l.calls, 1);
    assert_non_null(strstr(hb_last_error(), "stopped"));
}

static void each_65536_rows_are_told(void **state)
{
    static const struct {
        const char *name, *head, *row, *last;
        unsigned in_head; /* rows of it, as a table's names of columns */
    } formats[] = {
        {"c.json", "{\"traceEvents\":[",
         "{\"ph\":\"X\",\"cat\":\"mine\",\"name\":\"a\",\"ts\":1,\"dur\":1},",
         "{\"ph\":\"X\",\"cat\":\"mine\",\"name\":\"a\",\"ts\":1,\"dur\":1}],\"displayTimeUnit\":"
         "\"ns\","
         "\"otherData\":{}}"},
        {"t.csv", "name,src_file,src_line,ns_since_start,exec_time_ns,thread\n", "a,f,1,2,3,4\n",
         "a,f,1,2,3,4\n", 1},
        {"hip_api_trace.csv",
         "Domain,Function,Process_Id,Thread_Id,Correlation_Id,Start_Timestamp,End_Timestamp\n",
         "HIP,hipFree,7,7,1,2000,3000\n", "HIP,hipFree,7,7,1,2000,3000\n", 1},
        {"r.json",
         "{\"rocprofiler-sdk-tool\":[{\"metadata\":{\"pid\":8},\"agents\":[],\"strings\":{"
         "\"buffer_records\":[{\"kind\":\"A\",\"operations\":[\"hipNone\",\"hipFree\"]}]},"
         "\"buffer_records\":{\"hip_api\":[",
         "{\"kind\":0,\"operation\":1,\"thread_id\":8,\"start_timestamp\":2,\"end_timestamp\":3},",
         "{\"kind\":0,\"operation\":1,\"thread_id\":8,\"start_timestamp\":2,\"end_timestamp\":3}"
         "]}}]}"},
        /* a time and a sequence each; in the last one a slice begins */
        {"p.pftrace", "", "\x0a\x04\x40\x01\x50\x01",
         "\x0a\x12\x40\x01\x50\x01\x5a\x0c\x48\x01\x58\x01\xb2\x01\x01"
         "a\xba\x01\x01"
         "b",
         0},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(formats); i++) {
        for (unsigned rows = BETWEEN - 1; rows <= BETWEEN; rows++)
            check_progress(formats[i].name, formats[i].head, formats[i].row, formats[i].last,
                           rows - formats[i].in_head, rows >= BETWEEN);
    }
}

/* ---- Perfetto's packets ---- */

#define BYTES(text) text, sizeof text - 1

static void packets_are_told_by_their_fields(void **state)
{
    static const struct {
        const char *head;
        size_t size;
        bool is_perfetto;
    } rows[] = {
        {BYTES("\x0a\x04\x40\x01\x50\x01"), true},              /* a time and a sequence */
        {BYTES("\x0a\x02\x40\x01\x0a\x02\x50\x01"), true},      /* in two packets */
        {BYTES("\x0a\x02\x40\x01"), false},                     /* one field alone may be chance */
        {BYTES("\x0a\x02\x50\x01\x0a\x03\xa0\x06\x01"), false}, /* 100: known to nobody */
        {BYTES("\x0a\x06\x40\x01\x50\x01\x18\x01"), false},     /* 3 is none of a packet's */
        {BYTES("\x0a\x06\x40\x01\x50\x01\x68\x01"), true},      /* 13 is */
        {BYTES("\x0a\x06\x40\x01\x50\x01\x6a\x00"), false},     /* but no bytes */
        {BYTES("\x0a\x06\x40\x01\x50\x01\x70\x01"), true},      /* 14 may come tomorrow */
        {BYTES("\x0a\x06\x40\x01\x50\x01\x40\x01\x0a\x02\x18\x01"), false}, /* in the second */
        {BYTES("\x0a\x04\x42\x00\x52\x00"), false}, /* bytes where numbers are */
        {BYTES("\x0a\x04\x5a\x00\x62\x00"), true},
        {BYTES("\x0a\x04\x58\x01\x60\x01"), false}, /* and the other way round */
        {BYTES("\x12\x04\x40\x01\x50\x01"), false}, /* no packet */
        {BYTES("\x0a\x00\x0a\x04\x40\x01\x50\x01"), false},
        {BYTES("\x0a\x04\x40\x01\x50\x01\x12\x00"), true}, /* behind it is something else */
        {BYTES("\x0a\x7f\x40\x01\x50\x01"), true},         /* more of it stands behind */
        {BYTES("\x0a\xff\xff\x7f\x40\x01\x50\x01"), true},
        {BYTES("\x0a"), false},
        {BYTES(""), false},
        /* only four are looked at */
        {BYTES("\x0a\x02\x40\x01\x0a\x03\xa0\x06\x01\x0a\x03\xa0\x06\x01\x0a\x02\x40\x01"), true},
        {BYTES("\x0a\x02\x40\x01\x0a\x03\xa0\x06\x01\x0a\x03\xa0\x06\x01\x0a\x03\xa0\x06\x01"
               "\x0a\x02\x40\x01"),
         false},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        char head[64] = "";
        memcpy(head, rows[i].head, rows[i].size);
        hb_import_probe probe = {.path = "x", .head = head, .size = rows[i].size};
        if (hb_perfetto_probe(&probe) != rows[i].is_perfetto) fail_msg("row %zu", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(each_65536_rows_are_told),
        cmocka_unit_test(packets_are_told_by_their_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
