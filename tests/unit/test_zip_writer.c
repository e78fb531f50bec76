/* SPDX-License-Identifier: MIT
 *
 * ZIP files byte by byte, as PKWARE's APPNOTE 6.3.10 describes them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "io/zip_writer.h"

static hb_memory_sink made;
static hb_zip_writer zip;

static int begin(void **state)
{
    (void)state;
    hb_memory_sink_init(&made, (size_t)1 << 30);
    return hb_zip_open(&zip, &made.sink) == HB_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    hb_zip_free(&zip);
    hb_memory_sink_free(&made);
    return 0;
}

/* From a place on; blanks are for the reader. */
static void check_bytes(size_t at, const char *hex)
{
    char text[3] = "";
    for (const char *h = hex; *h; h += 2, at++) {
        while (*h == ' ')
            h++;
        if (!*h) break;
        assert_true(at < made.buf.size);
        snprintf(text, sizeof text, "%02x", (unsigned char)made.buf.data[at]);
        if (strncmp(text, h, 2) != 0) fail_msg("byte %zu: %s, not %.2s", at, text, h);
    }
}

static void put_member(const hb_zip_entry *entry, const char *bytes)
{
    assert_int_equal(hb_zip_begin(&zip, entry), HB_OK);
    assert_int_equal(zip.sink.write(&zip.sink, bytes, strlen(bytes)), HB_OK);
    assert_int_equal(hb_zip_end(&zip), HB_OK);
}

/* 2021-03-04 05:06:07 UTC: (41 << 25 | 3 << 21 | 4 << 16 | 5 << 11 | 6 << 5 | 3). */
enum { TIME = 1614834367 };

static void a_stored_member(void **state)
{
    (void)state;
    put_member(&(hb_zip_entry){.name = "a/b", .mtime = TIME}, "123456789");
    assert_int_equal(hb_zip_finish(&zip), HB_OK);
    check_bytes(0, "504b0304 1400 0808 0000 c328 6452 00000000 00000000 00000000 0300 0900 612f62 "
                   "5554 0500 01 bf6a4060");
    check_bytes(42, "313233343536373839 504b0708 2639f4cb 09000000 09000000");
    check_bytes(67, "504b0102 2d03 1400 0808 0000 c328 6452 2639f4cb 09000000 09000000 0300 0900 "
                    "0000 0000 0000 0000a481 00000000 612f62 5554 0500 01 bf6a4060");
    check_bytes(125, "504b0506 0000 0000 0100 0100 3a000000 43000000 0000");
    assert_int_equal(made.buf.size, 147);
}

/* Several, of which one may take 4 GiB: its sizes have 64 bits where they stand behind it. */
static void large_and_deflated_members(void **state)
{
    (void)state;
    put_member(&(hb_zip_entry){.name = "x", .deflate = true, .large = true},
               "aaaaaaaaaaaaaaaaaaaa");
    assert_int_equal(zip.num_members, 1);
    check_bytes(0, "504b0304 2d00 0808 0800 0000 2100 00000000 ffffffff ffffffff 0100 1d00 78 "
                   "0100 1000 0000000000000000 0000000000000000 5554 0500 01 00000000");
    size_t stored = made.buf.size - 60 - 24;
    assert_in_range(stored, 4, 6);
    check_bytes(60 + stored + 8, stored == 5   ? "0500000000000000 1400000000000000"
                                 : stored == 4 ? "0400000000000000 1400000000000000"
                                               : "0600000000000000 1400000000000000");
    size_t second = made.buf.size;
    put_member(&(hb_zip_entry){.name = "y"}, "");
    assert_int_equal(hb_zip_finish(&zip), HB_OK);
    size_t directory = second + 40 + 16;
    assert_int_equal(made.buf.size, directory + 2 * (46 + 1 + 9) + 22);
    char offset[64];
    snprintf(offset, sizeof offset, "%02zx000000 79 5554", second);
    check_bytes(directory + 56 + 42, offset);
    snprintf(offset, sizeof offset, "0200 0200 70000000 %02zx000000 0000", directory);
    check_bytes(directory + 112 + 8, offset);
}

/* As if 5 GiB stood before it. */
static void what_takes_more_than_32_bits_stands_behind(void **state)
{
    static const uint64_t far = (uint64_t)5 << 30;
    (void)state;
    zip.offset = far;
    put_member(&(hb_zip_entry){.name = "z", .mtime = TIME}, "q");
    assert_int_equal(hb_zip_finish(&zip), HB_OK);
    check_bytes(40 + 17, "504b0102 2d03 1400");
    check_bytes(40 + 17 + 28, "0100 1500 0000 0000 0000 0000a481 ffffffff 7a 0100 0800 "
                              "0000004001000000 5554 0500 01 bf6a4060");
    /* The end, where it stands, and how much there is. */
    check_bytes(57 + 68, "504b0606 2c00000000000000 2d03 2d00 00000000 00000000 0100000000000000 "
                         "0100000000000000 4400000000000000 3900004001000000");
    check_bytes(57 + 68 + 56, "504b0607 00000000 7d00004001000000 01000000");
    check_bytes(57 + 68 + 76, "504b0506 0000 0000 0100 0100 44000000 ffffffff 0000");
    assert_int_equal(made.buf.size, 57 + 68 + 76 + 22);
}

static void many_members_are_counted_behind(void **state)
{
    (void)state;
    for (uint64_t n = 65533; n < 65535; n++) {
        end(NULL);
        begin(NULL);
        zip.num_members = n;
        put_member(&(hb_zip_entry){.name = "z"}, "");
        assert_int_equal(hb_zip_finish(&zip), HB_OK);
        bool more = n + 1 == 65535;
        size_t size = 40 + 16 + 56;
        assert_int_equal(made.buf.size, size + (more ? 76 : 0) + 22);
        if (more) check_bytes(size + 24, "ffff000000000000 ffff000000000000 3800000000000000");
        check_bytes(made.buf.size - 14, more ? "ffff ffff" : "feff feff");
    }
}

/* As if the member had as many bytes. */
static void a_member_of_4_gib_must_have_been_said(void **state)
{
    static const struct {
        uint64_t size, stored;
        bool fits;
    } cases[] = {
        {UINT32_MAX - 1, UINT32_MAX - 1, true}, {UINT32_MAX, 5, false}, {5, UINT32_MAX, false}};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++)
        for (int large = 0; large < 2; large++) {
            hb_zip_entry entry = {.name = "z", .large = large};
            end(NULL);
            begin(NULL);
            assert_int_equal(hb_zip_begin(&zip, &entry), HB_OK);
            zip.size = cases[i].size;
            zip.stored = cases[i].stored;
            bool fits = cases[i].fits || large;
            assert_int_equal(hb_zip_end(&zip), fits ? HB_OK : HB_ERROR_LIMIT);
            if (!fits) assert_string_equal(hb_last_error(), "'z' became larger than 4 GiB");
            if (!fits || cases[i].fits) continue;
            bool size = cases[i].size == UINT32_MAX; /* of it, or of what stands for it */
            assert_int_equal(zip.directory.size, 46 + 1 + 12 + 9);
            assert_memory_equal(zip.directory.data + 20,
                                size ? "\5\0\0\0\xff\xff\xff\xff" : "\xff\xff\xff\xff\5\0\0\0", 8);
            assert_memory_equal(zip.directory.data + 47, "\1\0\10\0\xff\xff\xff\xff\0\0\0\0", 12);
        }
}

static void names_are_neither_empty_nor_endless(void **state)
{
    static char name[65537];
    (void)state;
    memset(name, 'n', 65536);
    assert_int_equal(hb_zip_begin(&zip, &(hb_zip_entry){.name = name}), HB_ERROR_INVALID_ARGUMENT);
    assert_string_equal(hb_last_error(), "a name of 65536 bytes is no file's");
    assert_int_equal(hb_zip_begin(&zip, &(hb_zip_entry){.name = ""}), HB_ERROR_INVALID_ARGUMENT);
    assert_string_equal(hb_last_error(), "a name of 0 bytes is no file's");
    assert_int_equal(made.buf.size, 0);
    name[65535] = '\0';
    hb_zip_entry longest = {.name = name};
    put_member(&longest, "");
    assert_int_equal(made.buf.size, 30 + 65535 + 9 + 16);
}

/* DOS counts years from 1980 on to 2107, and in two seconds. */
static void times_that_dos_has_and_has_not(void **state)
{
    static const struct {
        int64_t mtime;
        const char *dos;
    } cases[] = {
        {315532799, "0000 2100"},           /* before 1980 */
        {315532800, "0000 2100"},           /* 1980-01-01 00:00:00 */
        {315532802, "0100 2100"},           /* two seconds later */
        {1709251199, "7dbf 5d58"},          /* 2024-02-29 23:59:59 */
        {INT64_C(4354819199), "7dbf 9fff"}, /* the end of 2107 */
        {INT64_C(4354819200), "0000 2100"}, {-1, "0000 2100"},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        end(NULL);
        begin(NULL);
        put_member(&(hb_zip_entry){.name = "z", .mtime = cases[i].mtime}, "");
        check_bytes(10, cases[i].dos);
    }
}

/* Whatever the size: over what zlib is given room for at once, in parts of any size. */
static void deflated_bytes_come_back(void **state)
{
    enum { SIZE = 300000 };
    static unsigned char bytes[SIZE], back[SIZE + 1];
    hb_zip_entry entry = {.name = "z", .deflate = true};
    (void)state;
    for (uint32_t i = 0, x = 1; i < SIZE; i++) {
        x = x * 1664525u + 1013904223u;
        bytes[i] = (unsigned char)(x >> 24); /* which nothing makes smaller */
    }
    for (int member = 0; member < 2; member++) { /* the second begins anew */
        size_t from = made.buf.size;
        assert_int_equal(hb_zip_begin(&zip, &entry), HB_OK);
        for (size_t at = 0, n; at < SIZE; at += n) {
            n = HB_MIN(SIZE - at, at + 1);
            assert_int_equal(zip.sink.write(&zip.sink, bytes + at, n), HB_OK);
        }
        assert_int_equal(hb_zip_end(&zip), HB_OK);
        z_stream z = {.next_in = (const Bytef *)made.buf.data + from + 40,
                      .avail_in = (uInt)(made.buf.size - from - 40 - 16),
                      .next_out = back,
                      .avail_out = SIZE + 1};
        assert_int_equal(inflateInit2(&z, -15), Z_OK);
        assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
        assert_int_equal(z.avail_in, 0);
        assert_int_equal(z.total_out, SIZE);
        inflateEnd(&z);
        assert_memory_equal(back, bytes, SIZE);
        assert_int_equal(zip.size, SIZE);
        assert_int_equal(zip.stored, made.buf.size - from - 40 - 16);
        assert_int_equal(zip.crc, crc32(crc32(0, NULL, 0), bytes, SIZE));
    }
    assert_int_equal(zip.offset, made.buf.size);
}

static hb_result fail_at_last;

static hb_result takes_so_many(hb_sink *sink, const void *data, size_t size)
{
    static size_t left = 3;
    (void)sink, (void)data, (void)size;
    if (fail_at_last == HB_OK) left = 3, fail_at_last = HB_ERROR_IO;
    return left-- ? HB_OK : hb_fail(HB_ERROR_IO, "full");
}

/* A header takes three writes, then what is written fails, and each one later. */
static void what_cannot_be_written_is_told(void **state)
{
    (void)state;
    hb_sink full = {.write = takes_so_many};
    hb_zip_entry entry = {.name = "z"};
    zip.below = &full;
    assert_int_equal(hb_zip_begin(&zip, &entry), HB_OK);
    assert_int_equal(zip.sink.write(&zip.sink, "x", 1), HB_ERROR_IO);
}

/* zlib refuses nothing but a state that is none: then a member is not finished without its bytes.
 */
static void what_cannot_be_deflated_is_told(void **state)
{
    hb_zip_entry entry = {.name = "z", .deflate = true};
    (void)state;
    assert_int_equal(hb_zip_begin(&zip, &entry), HB_OK);
    struct internal_state *sound = zip.z.state;
    zip.z.state = NULL;
    hb_result written = zip.sink.write(&zip.sink, "x", 1), ended = hb_zip_end(&zip);
    zip.z.state = sound;
    assert_int_equal(written, HB_ERROR_STATE);
    assert_int_equal(ended, HB_ERROR_STATE);
    assert_string_equal(hb_last_error(), "deflate lost its state");
    assert_int_equal(zip.num_members, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_stored_member, begin, end),
        cmocka_unit_test_setup_teardown(large_and_deflated_members, begin, end),
        cmocka_unit_test_setup_teardown(what_takes_more_than_32_bits_stands_behind, begin, end),
        cmocka_unit_test_setup_teardown(many_members_are_counted_behind, begin, end),
        cmocka_unit_test_setup_teardown(a_member_of_4_gib_must_have_been_said, begin, end),
        cmocka_unit_test_setup_teardown(names_are_neither_empty_nor_endless, begin, end),
        cmocka_unit_test_setup_teardown(times_that_dos_has_and_has_not, begin, end),
        cmocka_unit_test_setup_teardown(deflated_bytes_come_back, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_is_told, begin, end),
        cmocka_unit_test_setup_teardown(what_cannot_be_deflated_is_told, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
