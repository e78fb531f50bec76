/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "write/gzip.h"

static hb_memory_sink compressed;

static void compress_parts(const char *data, size_t size, size_t part, const char *name)
{
    hb_gzip gzip;
    hb_memory_sink_free(&compressed);
    hb_memory_sink_init(&compressed, 1 << 28);
    assert_int_equal(hb_gzip_open(&gzip, &compressed.sink, name, 1700000000), HB_OK);
    for (size_t at = 0; at < size; at += part)
        assert_int_equal(gzip.sink.write(&gzip.sink, data + at, HB_MIN(part, size - at)), HB_OK);
    assert_int_equal(hb_gzip_finish(&gzip), HB_OK);
    hb_gzip_free(&gzip);
}

/* Inflates one member and insists that it is all there is. */
static void assert_holds(const char *data, size_t size, gz_header *header)
{
    char *out = malloc(size + 1);
    z_stream z = {0};
    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    assert_int_equal(inflateGetHeader(&z, header), Z_OK);
    z.next_in = (const Bytef *)compressed.buf.data;
    z.avail_in = (uInt)compressed.buf.size;
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)size + 1;
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(z.avail_in, 0);
    assert_int_equal(z.total_out, size);
    assert_memory_equal(out, data, size);
    inflateEnd(&z);
    free(out);
}

/* What a trace is like: lines of fixed text with ever changing digits. */
static char *make_trace(size_t *size)
{
    hb_buf buf;
    uint64_t random = 1, ts = 4399270153421318;
    hb_buf_init(&buf, 1 << 28);
    for (int i = 0; i < 20000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        ts += (random >> 33) % 20000;
        hb_buf_printf(&buf,
                      "\n  {\n    \"ph\": \"X\",\n    \"cat\": \"cpu_op\",\n    \"name\": "
                      "\"aten::op%d\",\n    \"pid\": 4057,\n    \"tid\": 4057,\n    \"ts\": "
                      "%llu.%03d,\n    \"dur\": %d.%03d\n    ,\n    \"args\": {\n      "
                      "\"External id\": %d,\"Record function id\": 0, \"Ev Idx\": %d\n    }\n  },",
                      (int)(random >> 60), (unsigned long long)ts / 1000, (int)(ts % 1000),
                      (int)(random >> 40) % 300, (int)(random >> 50) % 1000, i + 1, i);
    }
    *size = buf.size;
    return buf.data;
}

static void one_ordinary_member(void **state)
{
    (void)state;
    size_t size;
    char *trace = make_trace(&size), name[64] = "";
    compress_parts(trace, size, 100000, "vm_1.2.pt.trace.json");
    gz_header header = {.name = (Bytef *)name, .name_max = sizeof name};
    assert_holds(trace, size, &header);
    assert_string_equal(name, "vm_1.2.pt.trace.json");
    assert_int_equal(header.time, 1700000000);
    assert_int_equal(header.os, 255);
    free(trace);
}

static void any_cut_gives_the_same(void **state)
{
    (void)state;
    static const char data[] = "abcabcabcabc, and what is not repeated\n";
    for (size_t part = 1; part < sizeof data; part += 7) {
        gz_header header = {0};
        compress_parts(data, sizeof data, part, NULL);
        assert_holds(data, sizeof data, &header);
    }
    gz_header header = {0};
    compress_parts("", 0, 1, NULL);
    assert_holds("", 0, &header);
}

static void odd_names_are_left_out(void **state)
{
    (void)state;
    compress_parts("x", 1, 1, "\xc3\xa9.json");
    assert_int_equal(compressed.buf.data[3] & 8, 0); /* the FNAME flag */
    compress_parts("x", 1, 1, "e.json");
    assert_int_equal(compressed.buf.data[3] & 8, 8);
}

static void about_as_small_as_level_9(void **state)
{
    (void)state;
    size_t size;
    char *trace = make_trace(&size);
    uLongf best = compressBound(size);
    Bytef *out = malloc(best);
    assert_int_equal(compress2(out, &best, (const Bytef *)trace, size, 9), Z_OK);
    compress_parts(trace, size, 1 << 18, NULL);
    assert_true((double)compressed.buf.size < 1.15 * (double)best);
    free(out);
    free(trace);
}

static hb_result full(hb_sink *sink, const void *data, size_t size)
{
    (void)sink, (void)data, (void)size;
    return hb_fail(HB_ERROR_IO, "full");
}

static void failures_below_come_through(void **state)
{
    (void)state;
    hb_sink below = {full};
    hb_gzip gzip;
    assert_int_equal(hb_gzip_open(&gzip, &below, NULL, 0), HB_OK);
    assert_int_equal(gzip.sink.write(&gzip.sink, "x", 1), HB_ERROR_IO);
    assert_int_equal(hb_gzip_finish(&gzip), HB_ERROR_IO);
    hb_gzip_free(&gzip);
}

static int free_memory(void **state)
{
    (void)state;
    hb_memory_sink_free(&compressed);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_ordinary_member),         cmocka_unit_test(any_cut_gives_the_same),
        cmocka_unit_test(odd_names_are_left_out),      cmocka_unit_test(about_as_small_as_level_9),
        cmocka_unit_test(failures_below_come_through),
    };
    return cmocka_run_group_tests(tests, NULL, free_memory);
}
