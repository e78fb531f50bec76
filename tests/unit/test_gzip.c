/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "coded_trace.h"
#include "io/crc32.h"

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

static void one_ordinary_member(void **state)
{
    (void)state;
    size_t size;
    char *trace = make_trace(20000, 16, &size);
    for (coder = HB_GZIP_SMALLER; coder <= HB_GZIP_EVENTS; coder++) {
        char name[64] = "";
        compress_parts(trace, size, 100000, "vm_1.2.pt.trace.json");
        gz_header header = {.name = (Bytef *)name, .name_max = sizeof name};
        assert_holds(trace, size, &header);
        assert_string_equal(name, "vm_1.2.pt.trace.json");
        assert_int_equal(header.time, 1700000000);
        assert_int_equal(header.os, 255);
    }
    coder = HB_GZIP_SMALLER;
    free(trace);
}

static void any_cut_gives_the_same(void **state)
{
    (void)state;
    static const char data[] = "abcabcabcabc, and what is not repeated\n";
    for (coder = HB_GZIP_SMALLER; coder <= HB_GZIP_EVENTS; coder++) {
        for (size_t part = 1; part < sizeof data; part += 7) {
            gz_header header = {0};
            compress_parts(data, sizeof data, part, NULL);
            assert_holds(data, sizeof data, &header);
        }
        gz_header header = {0};
        compress_parts("", 0, 1, NULL);
        assert_holds("", 0, &header);
    }
    coder = HB_GZIP_SMALLER;
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
    char *trace = make_trace(20000, 16, &size);
    uLongf best = compressBound(size);
    Bytef *out = malloc(best);
    assert_int_equal(compress2(out, &best, (const Bytef *)trace, size, 9), Z_OK);
    compress_parts(trace, size, 1 << 18, NULL);
    assert_true((double)compressed.buf.size < 1.15 * (double)best);
    free(out);
    free(trace);
}

static size_t size_of(const char *data, size_t size, hb_gzip_coder by)
{
    gz_header header = {0};
    coder = by;
    compress_parts(data, size, 70001, NULL);
    assert_holds(data, size, &header);
    coder = HB_GZIP_SMALLER;
    return compressed.buf.size;
}

/* What the first megabyte does not decide, a later one does. */
static void never_larger_than_zlib(void **state)
{
    (void)state;
    for (unsigned names = 1; names <= 1 << 20;
         names <<= FEWER == 1 ? 5 : 10) { /* from one to no two the same */
        size_t size;
        char *trace = make_trace(60000, names, &size);
        assert_true(size > 10 << 20);
        size_t zlib = size_of(trace, size, HB_GZIP_ZLIB);
        assert_true(size_of(trace, size, HB_GZIP_SMALLER) <= zlib);
        free(trace);
    }
}

/* Also what is over before one coder can be chosen, and what is a bit longer. */
static void recordings_are_never_larger_than_by_zlib(void **state)
{
    (void)state;
    static const char *const files[] = {"torch-2.13-cpu.pt.trace.json", "triton_example.json.gz",
                                        "mi250_minitoy.json.gz", "rocprofv3_mi350x.json.gz"};
    enum { MOST = 4 << 20 };
    char *text = malloc(MOST), path[512];
    for (size_t i = 0; i < HB_ARRAY_LEN(files); i++) {
        snprintf(path, sizeof path, "%s/%s", TEST_DATA, files[i]);
        gzFile file = gzopen(path, "r");
        assert_non_null(file);
        int size = gzread(file, text, MOST);
        gzclose(file);
        assert_in_range(size, 1000, MOST - 1);
        for (int part = size; part > 1000; part /= 2) {
            size_t zlib = size_of(text, (size_t)part, HB_GZIP_ZLIB);
            assert_true(size_of(text, (size_t)part, HB_GZIP_SMALLER) <= zlib);
        }
    }
    free(text);
}

static void events_are_coded_smaller(void **state)
{
    (void)state;
    size_t size;
    char *trace = make_trace(60000, 3, &size);
    size_t zlib = size_of(trace, size, HB_GZIP_ZLIB);
    assert_true(size_of(trace, size, HB_GZIP_EVENTS) < zlib);
    assert_true(size_of(trace, size, HB_GZIP_SMALLER) < zlib);
    free(trace);
}

static void operators_with_arguments_are_coded_smaller(void **state)
{
    (void)state;
    size_t size;
    char *trace = make_operators(30000 / FEWER, &size);
    size_t zlib = size_of(trace, size, HB_GZIP_ZLIB);
    assert_true(size_of(trace, size, HB_GZIP_EVENTS) < zlib);
    free(trace);
}

/* Whichever way they take, long or short, in one piece or in many. */
static void checksums_are_zlibs(void **state)
{
    (void)state;
    enum { MOST = 3000 };
    unsigned char data[MOST];
    uint64_t random = 3;
    for (size_t i = 0; i < MOST; i++)
        data[i] = (unsigned char)next_random(&random);
    for (size_t size = 0; size <= MOST; size += size < 300 ? 1 : 97) {
        size_t cut = size ? next_random(&random) % size : 0;
        uint32_t right = (uint32_t)crc32_z(0, data, size);
        assert_int_equal(hb_crc32(0, data, size), right);
        assert_int_equal(hb_crc32(hb_crc32(0, data, cut), data + cut, size - cut), right);
    }
}

/* The coder changes in both directions. */
static void what_changes_is_coded_by_whom_it_suits(void **state)
{
    (void)state;
    enum { LINES = 120000 / FEWER };
    size_t size, other_size;
    char *trace = make_trace(LINES, 3, &size), *other = make_trace(LINES, 1 << 20, &other_size);
    char *both = malloc(2 * size + other_size);
    memcpy(both, trace, size);
    memcpy(both + size, other, other_size);
    memcpy(both + size + other_size, trace, size);
    size_t all = 2 * size + other_size;
    size_t zlib = size_of(both, all, HB_GZIP_ZLIB);
    assert_true((double)size_of(both, all, HB_GZIP_SMALLER) < 1.01 * (double)zlib);
    free(trace);
    free(other);
    free(both);
}

/* Bytes that are no trace: noise, one byte, few bytes, braces and lines, numbers without an end. */
static void any_bytes_come_back(void **state)
{
    (void)state;
    enum { SIZE = 1500000 / FEWER };
    static const char *const letters[] = {NULL, "a", "ab", "{\n  ", "0123456789.", "\n{ \"1"};
    char *data = malloc(SIZE);
    uint64_t random = 7;
    for (size_t kind = 0; kind < HB_ARRAY_LEN(letters); kind++) {
        for (size_t i = 0; i < SIZE; i++)
            data[i] = letters[kind] ? letters[kind][next_random(&random) % strlen(letters[kind])]
                                    : (char)next_random(&random);
        for (size_t size = SIZE; size; size = size / 7) {
            size_t made = size_of(data, size, HB_GZIP_EVENTS);
            assert_true(made < size + size / 64 + 200);
            size_of(data, size, HB_GZIP_SMALLER);
        }
    }
    free(data);
}

/* An event in Kineto's layout that is longer than what is held at once, among others. */
static void long_events_come_back(void **state)
{
    (void)state;
    hb_buf buf;
    hb_buf_init(&buf, 1 << 28);
    for (int i = 0; i < 300; i++) {
        hb_buf_printf(&buf, "\n  {\n    \"ph\": \"X\", \"name\": \"");
        for (int k = 0; k < (i % 50 == 7 ? 100000 : 20); k++)
            hb_buf_printf(&buf, "%d,", k * i);
        hb_buf_str(&buf, "\"\n  },");
    }
    size_of(buf.data, buf.size, HB_GZIP_EVENTS);
    size_of(buf.data, buf.size, HB_GZIP_SMALLER);
    hb_buf_free(&buf);
}

static hb_result full(hb_sink *sink, const void *data, size_t size)
{
    (void)sink, (void)data, (void)size;
    return hb_fail(HB_ERROR_IO, "full");
}

/* Of an event longer than a coder takes at once, what is inside of a line that is cut: names of
 * lambdas have braces, those of templates brackets. */
static void names_that_are_cut_come_back(void **state)
{
    (void)state;
    for (size_t before = 16000; before < 17000; before += 97) {
        hb_buf buf;
        hb_buf_init(&buf, 1 << 20);
        for (int i = 0; i < 4; i++) {
            hb_buf_str(&buf, "\n  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"");
            for (size_t k = 0; k < before - 3000 * (size_t)i; k++)
                hb_buf_append(&buf, &"abcdefg"[k * k % 7], 1);
            hb_buf_str(&buf, "{lambda(int)#1}[");
            for (size_t k = 0; k < 9000; k++)
                hb_buf_append(&buf, &"hijklmn"[k * k % 7], 1);
            hb_buf_str(&buf, "\"\n  },");
        }
        size_of(buf.data, buf.size, HB_GZIP_EVENTS);
        hb_buf_free(&buf);
    }
}

static void failures_below_come_through(void **state)
{
    (void)state;
    for (coder = HB_GZIP_SMALLER; coder <= HB_GZIP_EVENTS; coder++) {
        hb_sink below = {full};
        hb_gzip gzip;
        assert_int_equal(hb_gzip_open(&gzip, &below, NULL, 0, coder), HB_OK);
        assert_int_equal(gzip.sink.write(&gzip.sink, "x", 1), HB_ERROR_IO);
        assert_int_equal(hb_gzip_finish(&gzip), HB_ERROR_IO);
        hb_gzip_free(&gzip);
    }
    coder = HB_GZIP_SMALLER;
}

static hb_result full_soon(hb_sink *sink, const void *data, size_t size)
{
    static size_t taken;
    taken += size;
    return taken < 50000 ? HB_OK : full(sink, data, size);
}

static void a_disk_that_fills_up_is_told(void **state)
{
    (void)state;
    size_t size;
    char *trace = make_trace(60000, 3, &size);
    hb_sink below = {full_soon};
    hb_gzip gzip;
    hb_result result = HB_OK;
    assert_int_equal(hb_gzip_open(&gzip, &below, NULL, 0, HB_GZIP_EVENTS), HB_OK);
    for (size_t at = 0; at < size && result == HB_OK; at += 65536)
        result = gzip.sink.write(&gzip.sink, trace + at, HB_MIN((size_t)65536, size - at));
    assert_int_equal(result, HB_ERROR_IO);
    assert_int_equal(hb_gzip_finish(&gzip), HB_ERROR_IO);
    hb_gzip_free(&gzip);
    free(trace);
}

static void nothing_follows_the_end(void **state)
{
    (void)state;
    for (coder = HB_GZIP_SMALLER; coder <= HB_GZIP_EVENTS; coder++) {
        hb_gzip gzip;
        hb_memory_sink_free(&compressed);
        hb_memory_sink_init(&compressed, 1 << 28);
        assert_int_equal(hb_gzip_open(&gzip, &compressed.sink, NULL, 0, coder), HB_OK);
        assert_int_equal(hb_gzip_finish(&gzip), HB_OK);
        assert_int_equal(gzip.sink.write(&gzip.sink, "x", 1), HB_ERROR_STATE);
        assert_int_equal(hb_gzip_finish(&gzip), HB_ERROR_STATE);
        hb_gzip_free(&gzip);
    }
    coder = HB_GZIP_SMALLER;
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
        cmocka_unit_test(one_ordinary_member),
        cmocka_unit_test(any_cut_gives_the_same),
        cmocka_unit_test(odd_names_are_left_out),
        cmocka_unit_test(about_as_small_as_level_9),
        cmocka_unit_test(failures_below_come_through),
        cmocka_unit_test(never_larger_than_zlib),
        cmocka_unit_test(recordings_are_never_larger_than_by_zlib),
        cmocka_unit_test(events_are_coded_smaller),
        cmocka_unit_test(operators_with_arguments_are_coded_smaller),
        cmocka_unit_test(checksums_are_zlibs),
        cmocka_unit_test(any_bytes_come_back),
        cmocka_unit_test(what_changes_is_coded_by_whom_it_suits),
        cmocka_unit_test(long_events_come_back),
        cmocka_unit_test(names_that_are_cut_come_back),
        cmocka_unit_test(a_disk_that_fills_up_is_told),
        cmocka_unit_test(nothing_follows_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, free_memory);
}
