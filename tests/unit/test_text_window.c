/* SPDX-License-Identifier: MIT
 *
 * A trace is read through a window, from files and streams: what is read of it does not depend on
 * where the window ends, and where the text ends all before it is kept.
 */
#include <zlib.h>

#include "read/json_reader.h"
#include "read/text_window.h"
#include "test_dir.h"

/* ---- ends ---- */

/* Two events with what a writer may put between two characters. */
#define HEAD "{ \"number\" : -12.75e1 , \"before\" : [1, {\"a\": \"]\"}] ,\n \"traceEvents\" : [\n"
#define FIRST                                                                          \
    "{\"ph\": \"X\", \"name\": \"first \\\"one\\\"\\\\\"\n ,\r\n\"cat\":\"cpu_op\" , " \
    "\"ts\": -12.5e2 ,\"dur\":7 , \"args\" : { \"Input Dims\": [[1, 2] , []], "        \
    "\"External id\"\t: 3 , \"x\": null,\"y\" : true , \"z\":\"\xc3\xa4\" } }"
#define SECOND "{\"ph\":\"X\",\"name\":\"second\",\"ts\":NaN,\"dur\":\"1\"}"
#define ODD    ", 4711, [7, {}]"
#define TAIL   " \n] , \"after\": {\"b\": \"}\"} }\n"

static char path[300];

static void write_file(const char *text, size_t size)
{
    snprintf(path, sizeof path, "%s/t.json", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static const char *name_of(const hb_trace *trace, uint32_t row)
{
    return hb_trace_text(trace, hb_trace_row(trace, row)->name).s;
}

static void check_whole(const char *whole, size_t end)
{
    hb_trace trace;
    hb_read_report report;
    hb_read_options options = {0};
    assert_int_equal(hb_read_trace(path, &options, &trace, &report), HB_OK);
    if (report.num_notes || trace.rows.count != 4)
        fail_msg("window ends before '%s': %u events, %u notes", &whole[end], trace.rows.count,
                 report.num_notes);
    assert_string_equal(name_of(&trace, 0), "first \"one\"\\");
    assert_string_equal(name_of(&trace, 1), "second");
    assert_true(hb_trace_row(&trace, 0)->start == -1250000);
    assert_true(hb_trace_row(&trace, 2)->flags & HB_ROW_NOT_OBJECT);
    assert_true(hb_trace_row(&trace, 3)->flags & HB_ROW_NOT_OBJECT);
    assert_string_equal(hb_trace_member(&trace, "number").s, "-12.75e1");
    assert_string_equal(hb_trace_member(&trace, "before").s, "[1, {\"a\": \"]\"}]");
    assert_string_equal(hb_trace_member(&trace, "after").s, "{\"b\": \"}\"}");
    hb_trace_free(&trace);
}

static void a_window_may_end_anywhere(void **state)
{
    enum { WINDOW = 1 << 17 };
    static const char text[] = HEAD FIRST "," SECOND ODD TAIL;
    static char padded[WINDOW + sizeof text];
    (void)state;
    for (size_t end = 0; end <= sizeof text - 1; end++) {
        memset(padded, ' ', WINDOW);
        memcpy(padded + WINDOW - end, text, sizeof text);
        write_file(padded, WINDOW - end + sizeof text - 1);
        check_whole(text, end);
    }
}

static void a_text_may_end_anywhere(void **state)
{
    static const char text[] = HEAD FIRST "," SECOND TAIL;
    const size_t list = strlen(HEAD) - 1, first = strlen(HEAD FIRST);
    const size_t second = strlen(HEAD FIRST "," SECOND), whole = strlen(text) - 1;
    (void)state;
    for (size_t end = 0; end < whole; end++) {
        hb_trace trace;
        hb_read_report report;
        hb_read_options options = {0};
        hb_result result = hb_read_trace_memory(text, end, &options, &trace, &report);
        if (result != (end < list ? HB_ERROR_FORMAT : HB_OK)) fail_msg("%.*s", (int)end, text);
        if (result == HB_OK) {
            unsigned events = (end >= first) + (end >= second);
            bool told = report.num_notes == 1 && report.notes[0].defect == HB_JSON_DEFECT_CUT;
            if (trace.rows.count != events || !told)
                fail_msg("%.*s: %u events, %u notes", (int)end, text, trace.rows.count,
                         report.num_notes);
        }
        hb_trace_free(&trace);
    }
}

/* ---- quotes in texts ---- */

static void count_defect(void *context, hb_json_defect defect, const char *at)
{
    (void)at;
    *(unsigned *)context += defect == HB_JSON_DEFECT_QUOTE;
}

/* The first of the texts that were mended are listed; all of them are taken as they were meant. */
static void many_texts_of_an_event_are_mended(void **state)
{
    (void)state;
    for (unsigned count = 0; count <= HB_MAX_REPAIRED + 2; count++) {
        char text[1000] = "{";
        size_t n = 1;
        unsigned defects = 0;
        hb_raw_event raw = {.row = NULL};
        for (unsigned i = 0; i < count; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, "\"member%u\":\"a \"b\" %u\",", i, i);
        n += (size_t)snprintf(text + n, sizeof text - n, "\"name\":\"x \"y\" z\"} ");
        hb_scan scan = {.end = text + n, .defect = count_defect, .context = &defects};
        assert_ptr_equal(hb_parse_event(&scan, text + 1, true, &raw), text + n - 1);
        assert_int_equal(raw.num_repaired, count + 1);
        assert_int_equal(defects, count + 1);
        assert_true(raw.trace == 0 && raw.row == NULL);
        for (unsigned i = 0; i < HB_MIN(count, (unsigned)HB_MAX_REPAIRED); i++) {
            char wanted[20];
            snprintf(wanted, sizeof wanted, "a \"b\" %u", i);
            assert_int_equal(raw.repaired[i].size, strlen(wanted));
            assert_memory_equal(raw.repaired[i].s, wanted, strlen(wanted));
        }
        hb_value name = hb_raw_get(&raw, HB_SLOT_NAME);
        assert_int_equal(name.size, strlen("x \"y\" z"));
    }
}

/* ---- compressed ---- */

/* Appended to the file, as one stream of its own. */
static void append_gzip(const char *text, size_t size)
{
    gzFile file = gzopen(path, "ab1");
    assert_non_null(file);
    if (size) assert_int_equal(gzwrite(file, text, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
}

static void append_bytes(const char *bytes, size_t size)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

/* What is read of the file, and why no more; "" at its end. */
static const char *read_file(hb_buf *all)
{
    static char why[160];
    hb_text text;
    hb_buf_init(all, (size_t)1 << 30);
    assert_int_equal(hb_text_open(&text, path, HB_TEXT_AUTO), HB_OK);
    do
        hb_buf_append(all, text.data, text.size);
    while (hb_text_more(&text, text.size));
    assert_false(all->failed);
    assert_int_equal(text.result, *text.error ? HB_ERROR_FORMAT : HB_OK);
    snprintf(why, sizeof why, "%s", text.error);
    hb_text_close(&text);
    return why;
}

/* As tapes pad, and as Python's gzip takes it: between streams and behind the last. */
static void zeros_between_streams_are_nothing(void **state)
{
    enum { INPUT = 256 << 10 };
    static const char zeros[2 * INPUT];
    static const struct {
        size_t between, behind;
        const char *more, *why;
    } rows[] = {
        {0, 0, "", ""},
        {0, 1, "", ""},
        {1, 0, "", ""},
        {511, 512, "", ""},
        {INPUT - 10, 2 * INPUT, "", ""},
        {2 * INPUT, INPUT, "", ""},
        {0, 0, "x", "garbage after the gzip stream"},
        {1, 1, "x", "garbage after the gzip stream"},
        {2 * INPUT, 2 * INPUT, "\x1e", "garbage after the gzip stream"},
        {0, 3, "\x1f", "the gzip stream is cut off"},
        {3, 0, "\x1f\x8b\x08", "the gzip stream is cut off"},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        hb_buf all;
        write_file("", 0);
        append_gzip("one, ", 5);
        append_bytes(zeros, rows[i].between);
        append_gzip("two", 3);
        append_bytes(zeros, rows[i].behind);
        append_bytes(rows[i].more, strlen(rows[i].more));
        const char *why = read_file(&all);
        if (strcmp(why, rows[i].why) != 0) fail_msg("row %zu: %s", i, why);
        assert_int_equal(all.size, 8);
        assert_memory_equal(all.data, "one, two", 8);
        hb_buf_free(&all);
    }
}

/* Around the size of the blocks in which it is inflated, and of the window. */
static void streams_of_all_sizes(void **state)
{
    enum { BLOCK = 1 << 20, WINDOW = 1 << 17 };
    static const size_t sizes[] = {0,         1,         WINDOW - 1,   WINDOW,        WINDOW + 1,
                                   BLOCK - 1, BLOCK,     BLOCK + 1,    2 * BLOCK - 1, 2 * BLOCK,
                                   4 * BLOCK, 5 * BLOCK, 6 * BLOCK + 1};
    char *text = malloc(7 * BLOCK);
    (void)state;
    for (size_t i = 0; i < 7 * BLOCK; i++)
        text[i] = (char)('a' + i / 7 % 26);
    for (size_t i = 0; i < HB_ARRAY_LEN(sizes); i++)
        for (int plain = 0; plain < 2; plain++) {
            hb_buf all;
            write_file(text, plain ? sizes[i] : 0);
            if (!plain) append_gzip(text, sizes[i]);
            assert_string_equal(read_file(&all), "");
            assert_int_equal(all.size, sizes[i]);
            if (all.size) assert_memory_equal(all.data, text, sizes[i]);
            hb_buf_free(&all);
        }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(a_window_may_end_anywhere),
        cmocka_unit_test(a_text_may_end_anywhere),
        cmocka_unit_test(many_texts_of_an_event_are_mended),
        IN_DIR(zeros_between_streams_are_nothing),
        IN_DIR(streams_of_all_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
