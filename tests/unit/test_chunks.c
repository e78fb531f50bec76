/* SPDX-License-Identifier: MIT
 *
 * Several threads read a file as one does: the same trace to the last byte, the same notes, the
 * same errors, whatever stands in the text and wherever it is cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "read/json_reader.h"

static char path[] = "/tmp/hipboard-test-chunks-XXXXXX";
static uint64_t seed = 1;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static int make_path(void **state)
{
    (void)state;
    int fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
    (void)state;
    return unlink(path);
}

static void write_text(const hb_buf *text)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(text->data, 1, text->size, f), text->size);
    assert_int_equal(fclose(f), 0);
}

/* ---- comparing ---- */

typedef struct loaded {
    hb_result result;
    hb_trace trace;
    hb_read_report report;
    char error[256];
} loaded;

static void load(loaded *l, unsigned num_readers, uint32_t chunk_size, bool strict)
{
    hb_read_options options = {.num_readers = num_readers,
                               .chunk_size = chunk_size,
                               .strict = strict,
                               .check_na = strict,
                               .form = HB_TEXT_PLAIN};
    l->error[0] = 0;
    l->result = hb_read_trace(path, &options, &l->trace, &l->report);
    if (l->result != HB_OK) snprintf(l->error, sizeof l->error, "%s", hb_last_error());
}

static void assert_same_column(const hb_column *a, const hb_column *b)
{
    assert_int_equal(a->count, b->count);
    for (uint32_t i = 0; i < a->count; i++)
        assert_memory_equal(hb_column_at(a, i), hb_column_at(b, i), a->item_size);
}

static void assert_same_trace(const hb_trace *a, const hb_trace *b)
{
    assert_int_equal(a->strings.count, b->strings.count);
    for (hb_string_id i = 0; i < a->strings.count; i++) {
        hb_str s = hb_trace_text(a, i), t = hb_trace_text(b, i);
        assert_int_equal(s.len, t.len);
        assert_memory_equal(s.s, t.s, s.len);
    }
    assert_same_column(&a->keys.items, &b->keys.items);
    assert_same_column(&a->tracks.items, &b->tracks.items);
    assert_same_column(&a->rows, &b->rows);
    assert_same_column(&a->ops.items, &b->ops.items);
    assert_same_column(&a->details, &b->details);
    assert_same_column(&a->functions, &b->functions);
    assert_same_column(&a->devices, &b->devices);
    assert_same_column(&a->memory, &b->memory);
    assert_same_column(&a->odd_times, &b->odd_times);
    assert_same_column(&a->launches.items, &b->launches.items);
    assert_int_equal(a->num_members, b->num_members);
    if (a->num_members)
        assert_memory_equal(a->members, b->members, a->num_members * sizeof *a->members);
    assert_int_equal(a->members_before, b->members_before);
    assert_true(a->has_events == b->has_events && a->bare_array == b->bare_array);
}

static void assert_same_report(const hb_read_report *a, const hb_read_report *b)
{
    assert_memory_equal(a->counts, b->counts, sizeof a->counts);
    assert_int_equal(a->num_notes, b->num_notes);
    for (uint32_t i = 0; i < a->num_notes; i++) {
        assert_int_equal(a->notes[i].defect, b->notes[i].defect);
        assert_int_equal(a->notes[i].offset, b->notes[i].offset);
    }
    assert_int_equal(a->bytes, b->bytes);
    assert_string_equal(a->cut_reason, b->cut_reason);
}

static void compare(uint32_t chunk_size, bool strict)
{
    static loaded alone, together;
    load(&alone, 1, 0, strict);
    load(&together, 2 + random_below(3), chunk_size, strict);
    assert_int_equal(alone.result, together.result);
    assert_string_equal(alone.error, together.error);
    if (alone.result == HB_OK) {
        assert_same_trace(&alone.trace, &together.trace);
        assert_same_report(&alone.report, &together.report);
    }
    hb_trace_free(&alone.trace);
    hb_trace_free(&together.trace);
}

/* ---- texts ---- */

/* What can stand for an event in a list: %d is a number that tells them apart. */
static const char *const plain[] = {
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm%d\",\"pid\":1,\"tid\":2,\"ts\":3.5,"
    "\"dur\":1,\"args\":{\"External id\":7,\"Input Dims\":[[1,2],[]],\"Input type\":[\"a\"],"
    "\"flops\":9,\"Call stack\":\"f;g\"}}",
    "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm%d\", \"pid\": 0, \"tid\": \"stream 7\", "
    "\"ts\": 1e3, \"dur\": 2, \"args\": {\"device\": 0, \"correlation\": \"c9\", \"grid\": "
    "[1,1,1], "
    "\"block\": [%d,1,1], \"shared memory\": 0}}",
    "{\"ph\":\"i\",\"name\":\"[memory]\",\"pid\":%d,\"tid\":\"9\",\"ts\":1,\"args\":{\"Addr\":"
    "18446744073709551615,\"Bytes\":64,\"Device Id\":\"x%d\",\"Device Type\":1}}",
    "{\"ph\":\"X\",\"cat\":\"python_function\",\"name\":\"f%d\",\"ts\":1,\"dur\":1,\"args\":"
    "{\"Python id\":%d,\"Python parent id\":null,\"Python module id\":[1]}}",
    "{\"ph\":\"s\",\"cat\":\"forward_backward\",\"id\":%d,\"ts\":1}",
    "{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"hipLaunch%d\",\"args\":{\"correlation\":1.5e300}"
    "}",
};

/* What is rare, odd, or looks like the border between two events and is none. */
static const char *const odd[] = {
    "{\"ph\":\"X\",\"name\":\"a \\\"}, {\\\"ph\\\":%d\"}",
    "{\"name\":\"\\\\\",\"ph\":\"}, {\"}",
    ("{\"ph\":\"X\",\"args\":{\"list\":[{\"ph\":1},{\"ph\":2}, "
     "{\"ph\":\"X\",\"name\":\"in%d\"},{}]}}"),
    "{\"ph\":\"X\",\"name\":\"say \"hi\", {\"ph\":%d} now\",\n\"pid\":1}",
    "{\"ph\":\"X\",\"name\":\"control \t character%d\"}",
    "{\"ph\":\"X\",\"name\":\"C:\\dir%d\"}",
    "{\"ph\":\"X\",\"name\":\"\xff%d\"}",
    "{\"ph\":\"X\",\"name\":N/A}",
    "{\"ph\":\"X\",\"name\":\"an N/A inside\"}",
    /* times that are no whole nanoseconds */
    "{\"ph\":\"X\",\"cat\":\"c%d\",\"name\":\"n\",\"ts\":1e300,\"dur\":0.123456789}",
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"n%d\",\"ts\":NaN,\"dur\":-Infinity}",
    "{\"no phase\":%d}",
    "{}",
    "%d",
    "null",
    "\"}, {\"",
    "[{},{\"ph\":\"X\"},{\"ph\":\"X\"}]",
};

/* What breaks a list, or does not. */
static const char *const breaks[] = {"",   ",",  "]", "}", "{", "\"", "}, {\"ph\":\"X\"}",
                                     "\\", "\0x"};

static const char *const separators[] = {",", ", ", ",\n  ", " ,\r\n\t", ",\n\n\n\n"};

static void put(hb_buf *text, const char *format)
{
    int n = (int)random_below(40);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    hb_buf_printf(text, format, n, n);
#pragma GCC diagnostic pop
}

/* One in `oddness` events is odd, one in ten thousand separators breaks. */
static void make_text(hb_buf *text, int events, uint32_t oddness)
{
    static const char *const heads[] = {"{\"schemaVersion\":1,\"traceEvents\":[\n", "[",
                                        "\xef\xbb\xbf{\"traceEvents\": ["};
    text->size = 0;
    hb_buf_str(text, heads[random_below(8) ? 0 : random_below(3)]);
    const char *separator = separators[random_below(HB_ARRAY_LEN(separators))];
    for (int i = 0; i < events; i++) {
        if (i) hb_buf_str(text, separator);
        if (oddness && random_below(10000) == 0)
            hb_buf_str(text, breaks[random_below(HB_ARRAY_LEN(breaks))]);
        if (oddness && random_below(oddness) == 0)
            put(text, odd[random_below(HB_ARRAY_LEN(odd))]);
        else
            put(text, plain[random_below(HB_ARRAY_LEN(plain))]);
    }
    hb_buf_str(text, random_below(8) ? "],\"traceName\":\"x\"}" : ",]");
}

static void damage(hb_buf *text)
{
    if (random_below(4) == 0) text->size = random_below((uint32_t)text->size);
    for (uint32_t n = random_below(3); n > 0 && text->size; n--)
        text->data[random_below((uint32_t)text->size)] = "\"{}[],:\\x\0"[random_below(10)];
}

static void test_made_texts(void **state)
{
    (void)state;
    hb_buf text;
    hb_buf_init(&text, 1 << 26);
    for (int i = 0; i < 150 / FEWER; i++) {
        static const uint32_t oddness[] = {0, 0, 1000, 30, 3};
        make_text(&text, 1 + (int)random_below(300), oddness[random_below(5)]);
        if (i % 3 == 0) damage(&text);
        assert_false(text.failed);
        write_text(&text);
        uint32_t chunk_size = 32 + random_below(1u << (4 + random_below(11)));
        compare(chunk_size, false);
        compare(chunk_size, true);
    }
    hb_buf_free(&text);
}

/* Over windows and chunks of the usual size. */
static void test_large_text(void **state)
{
    (void)state;
    hb_buf text;
    hb_buf_init(&text, 1 << 28);
    make_text(&text, 100000 / FEWER, 100000);
    write_text(&text);
    compare(0, false);
    hb_buf_free(&text);
}

/* No event begins where the first chunks do: their texts are read by whom the event reaches. */
static void test_event_over_many_chunks(void **state)
{
    (void)state;
    hb_buf text;
    hb_buf_init(&text, 1 << 28);
    hb_buf_str(&text, "{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"args\":{\"x\":\"");
    for (int i = 0; i < 20000; i++)
        hb_buf_str(&text, "}, {\\\"ph\\\":1},{} ");
    hb_buf_str(&text, "\"}},{\"ph\":\"X\",\"name\":\"b\"},{\"ph\":\"i\"}]}");
    write_text(&text);
    compare(4000, false);
    compare(100000, true);
    hb_buf_free(&text);
}

static void test_files_of_torch(void **state)
{
    (void)state;
    static const char *const names[] = {"torch-2.13-cpu.pt.trace.json", "mi250_minitoy.json.gz",
                                        "triton_example.json.gz"};
    hb_buf text;
    hb_buf_init(&text, 1 << 26);
    for (size_t i = 0; i < HB_ARRAY_LEN(names); i++) {
        char name[512];
        snprintf(name, sizeof name, "%s/%s", TEST_DATA, names[i]);
        gzFile f = gzopen(name, "rb"); /* plain files as well */
        assert_non_null(f);
        text.size = 0;
        for (int n; (n = gzread(f, hb_buf_reserve(&text, 65536), 65536)) > 0;)
            text.size += (size_t)n;
        gzclose(f);
        write_text(&text);
        for (int run = 0; run < 10 / FEWER; run++)
            compare(500 + random_below(1u << (8 + random_below(10))), run & 1);
    }
    hb_buf_free(&text);
}

static bool stop_at_second(void *context, uint64_t bytes, uint64_t total)
{
    assert_true(bytes <= total);
    return ++*(int *)context < 2;
}

static void test_stopping(void **state)
{
    (void)state;
    hb_buf text;
    hb_buf_init(&text, 1 << 28);
    make_text(&text, 150000, 0);
    write_text(&text);
    static loaded l;
    int calls = 0;
    hb_read_options options = {
        .num_readers = 3, .chunk_size = 100000, .progress = stop_at_second, .context = &calls};
    assert_int_equal(hb_read_trace(path, &options, &l.trace, &l.report), HB_ERROR_STATE);
    assert_int_equal(calls, 2);
    hb_trace_free(&l.trace);
    options = (hb_read_options){.num_readers = 3, .chunk_size = 100000, .max_bytes = 4 << 20};
    assert_int_equal(hb_read_trace(path, &options, &l.trace, &l.report), HB_ERROR_LIMIT);
    hb_trace_free(&l.trace);
    hb_buf_free(&text);
}

static bool shrink_file(void *context, uint64_t bytes, uint64_t total)
{
    (void)bytes;
    if (++*(int *)context == 1) assert_int_equal(truncate(path, (off_t)total / 2), 0);
    return true;
}

/* Somebody writes over a file that is being read: what is whole is kept, and nothing crashes. */
static void test_file_that_shrinks(void **state)
{
    (void)state;
    hb_buf text;
    hb_buf_init(&text, 1 << 28);
    make_text(&text, 150000, 0);
    for (unsigned num_readers = 1; num_readers < 4; num_readers++) {
        static loaded l;
        int calls = 0;
        hb_read_options options = {.num_readers = num_readers,
                                   .chunk_size = 100000,
                                   .progress = shrink_file,
                                   .context = &calls};
        write_text(&text);
        assert_int_equal(hb_read_trace(path, &options, &l.trace, &l.report), HB_OK);
        assert_in_range(l.trace.rows.count, 1, 149999);
        assert_int_equal(l.report.counts[HB_JSON_DEFECT_CUT], 1);
        hb_trace_free(&l.trace);
    }
    hb_buf_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_made_texts),
        cmocka_unit_test(test_large_text),
        cmocka_unit_test(test_event_over_many_chunks),
        cmocka_unit_test(test_files_of_torch),
        cmocka_unit_test(test_stopping),
        cmocka_unit_test(test_file_that_shrinks),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
