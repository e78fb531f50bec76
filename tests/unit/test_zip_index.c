/* SPDX-License-Identifier: MIT
 *
 * ZIP files that others made, or that are damaged: put together byte by byte, as PKWARE's APPNOTE
 * 6.3.10 has them.
 */
#include <fcntl.h>

#include "io/zip_format.h"
#include "read/zip_index.h"
#include "test_dir.h"

/* ---- a file ---- */

typedef struct entry {
    const char *name;
    uint32_t name_size; /* 0: as long as it is */
    uint16_t flags, method;
    uint32_t time, crc, stored, size, begin;
    const char *extra;
    uint16_t extra_size, comment_size;
} entry;

static unsigned char made[200000];
static size_t made_size;

static void put_16(unsigned v)
{
    hb_zip_put_16(made + made_size, v);
    made_size += 2;
}

static void put_32(uint32_t v)
{
    hb_zip_put_32(made + made_size, v);
    made_size += 4;
}

static void put_64(uint64_t v)
{
    hb_zip_put_64(made + made_size, v);
    made_size += 8;
}

static void put_bytes(const char *bytes, size_t size)
{
    memcpy(made + made_size, bytes, size);
    made_size += size;
}

static size_t name_size(const entry *e)
{
    return e->name_size ? e->name_size : strlen(e->name);
}

/* 4.3.7: a header without sizes, a name, an extra field. */
static void put_member(const char *name, const char *extra, const char *bytes)
{
    put_32(0x04034b50);
    for (int i = 0; i < 11; i++)
        put_16(0);
    put_16((unsigned)strlen(name));
    put_16((unsigned)strlen(extra));
    put_bytes(name, strlen(name));
    put_bytes(extra, strlen(extra));
    put_bytes(bytes, strlen(bytes));
}

/* 4.3.12 */
static void put_entry(const entry *e)
{
    put_32(0x02014b50);
    put_16(20);
    put_16(20);
    put_16(e->flags);
    put_16(e->method);
    put_32(e->time);
    put_32(e->crc);
    put_32(e->stored);
    put_32(e->size);
    put_16((unsigned)name_size(e));
    put_16(e->extra_size);
    put_16(e->comment_size);
    put_16(0);
    put_16(0);
    put_32(0);
    put_32(e->begin);
    put_bytes(e->name, name_size(e));
    put_bytes(e->extra ? e->extra : "", e->extra_size);
    memset(made + made_size, 'c', e->comment_size);
    made_size += e->comment_size;
}

/* 4.3.16 */
static void put_end(unsigned count, uint32_t size, uint32_t begin, unsigned comment)
{
    put_32(0x06054b50);
    put_32(0);
    put_16(count);
    put_16(count);
    put_32(size);
    put_32(begin);
    put_16(comment);
}

static hb_result open_made(hb_zip_index *index)
{
    char path[300];
    snprintf(path, sizeof path, "%s/made.zip", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(made, 1, made_size, file), made_size);
    assert_int_equal(fclose(file), 0);
    return hb_zip_index_open(index, path);
}

static void assert_refused(const char *why)
{
    hb_zip_index index;
    hb_result result = open_made(&index);
    if (result != HB_ERROR_FORMAT) fail_msg("no error: %s", why);
    if (!strstr(hb_last_error(), why)) fail_msg("%s, not: %s", hb_last_error(), why);
}

/* Two members and their directory, without its end. */
static size_t put_two(size_t *directory)
{
    made_size = 0;
    put_member("a", "", "first");
    size_t second = made_size;
    put_member("b", "xx", "2nd");
    *directory = made_size;
    put_entry(&(entry){.name = "a", .stored = 5, .size = 5});
    put_entry(&(entry){.name = "b", .stored = 3, .size = 3, .begin = (uint32_t)second});
    return made_size - *directory;
}

static void assert_two(void)
{
    hb_zip_index index;
    uint64_t begin;
    if (open_made(&index) != HB_OK) fail_msg("%s", hb_last_error());
    assert_int_equal(index.count, 2);
    const hb_zip_member *a = hb_zip_find(&index, "a"), *b = hb_zip_find(&index, "b");
    assert_non_null(a);
    assert_non_null(b);
    assert_null(hb_zip_find(&index, "c"));
    assert_int_equal(hb_zip_begin_of(&index, a, "x", &begin), HB_OK);
    assert_memory_equal(made + begin, "first", 5);
    assert_int_equal(hb_zip_begin_of(&index, b, "x", &begin), HB_OK);
    assert_memory_equal(made + begin, "2nd", 3);
    hb_zip_index_close(&index);
}

/* ---- where the directory is ---- */

static void the_end_is_found_before_any_comment(void **state)
{
    static const unsigned sizes[] = {0, 1, 21, 22, 23, 1000, 65534, 65535};
    size_t directory, size = put_two(&directory), end = made_size;
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(sizes); i++) {
        made_size = end;
        put_end(2, (uint32_t)size, (uint32_t)directory, sizes[i]);
        memset(made + made_size, 'x', sizes[i]);
        made_size += sizes[i];
        assert_two();
    }
    /* What looks like an end in it is none, since it does not reach the file's. */
    made_size = end;
    put_end(2, (uint32_t)size, (uint32_t)directory, 40);
    put_end(7, 7, 7, 7);
    memset(made + made_size, 'x', 18);
    made_size += 18;
    assert_two();
    made_size--;
    assert_refused("it has no end");
}

static void a_directory_lies_in_the_file(void **state)
{
    static const struct {
        int count, size, begin; /* more than there are */
    } wrong[] = {{0, 0, INT32_MAX}, {0, 23, 0}, {0, INT32_MAX, 0}, {1, 0, 0}, {65000, 0, 0}};
    size_t directory, size = put_two(&directory), end = made_size;
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(wrong); i++) {
        made_size = end;
        put_end((unsigned)(2 + wrong[i].count), (uint32_t)size + (uint32_t)wrong[i].size,
                (uint32_t)directory + (uint32_t)wrong[i].begin, 0);
        assert_refused("its directory is not in it");
    }
    /* Up to the end of the file, and fewer than there are. */
    made_size = end;
    put_end(2, (uint32_t)size + 22, (uint32_t)directory, 0);
    assert_two();
    made_size = end;
    put_end(2, (uint32_t)size, (uint32_t)directory + 1, 0);
    assert_refused("a directory entry is odd");
    made_size = end;
    put_end(2, (uint32_t)size - 1, (uint32_t)directory, 0);
    assert_refused("a directory entry is odd");
}

/* 4.3.14 and 4.3.15 */
static void put_end_64(uint64_t count, uint64_t size, uint64_t begin, uint64_t at)
{
    put_32(0x06064b50);
    put_64(44);
    put_16(45);
    put_16(45);
    put_32(0);
    put_32(0);
    put_64(count);
    put_64(count);
    put_64(size);
    put_64(begin);
    put_32(0x07064b50);
    put_32(0);
    put_64(at);
    put_32(1);
    put_end(0xffff, UINT32_MAX, UINT32_MAX, 0);
}

static void a_large_directory_has_another_end(void **state)
{
    size_t directory, size = put_two(&directory), end = made_size;
    (void)state;
    put_end_64(2, size, directory, end);
    assert_two();
    const struct {
        uint64_t count, size, begin, at;
        const char *why;
    } wrong[] = {
        {2, size, directory, end + 1, "its end is not where it says"},
        {2, size, directory, end - 1, "its end is not where it says"},
        {2, size, directory, end + 43, "its end is not where it says"},
        {2, size, directory, UINT64_MAX, "its end is not where it says"},
        {UINT64_MAX, size, directory, end, "its directory is not in it"},
        {UINT64_MAX / 46 + 2, size, directory, end, "its directory is not in it"},
        {3, size, directory, end, "its directory is not in it"},
        {2, UINT64_MAX, directory, end, "its directory is not in it"},
        {2, size, UINT64_MAX, end, "its directory is not in it"},
        {2, UINT64_MAX - directory + 1, directory, end, "its directory is not in it"},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(wrong); i++) {
        made_size = end;
        put_end_64(wrong[i].count, wrong[i].size, wrong[i].begin, wrong[i].at);
        assert_refused(wrong[i].why);
    }
    /* A locator that is none leaves the other end, which says where nothing is. */
    made_size = end;
    put_end_64(2, size, directory, end);
    made[end + 56] ^= 1;
    assert_refused("its directory is not in it");
}

/* ---- its entries ---- */

static hb_zip_member read_entry(const entry *e, hb_zip_index *index)
{
    made_size = 0;
    put_member("n", "", "");
    size_t directory = made_size;
    put_entry(e);
    put_end(1, (uint32_t)(made_size - directory), (uint32_t)directory, 0);
    if (open_made(index) != HB_OK) fail_msg("%s", hb_last_error());
    assert_int_equal(index->count, 1);
    hb_zip_member member = index->members[0];
    assert_string_equal(member.name, e->name);
    return member;
}

static void an_entry_tells_of_its_member(void **state)
{
    hb_zip_index index;
    (void)state;
    hb_zip_member m =
        read_entry(&(entry){.name = "some/name",
                            .method = 8,
                            .time = 41u << 25 | 3 << 21 | 4 << 16 | 5 << 11 | 6 << 5 | 3,
                            .crc = 0x12345678,
                            .stored = 0x23456789,
                            .size = 0x3456789a,
                            .begin = 0x456789ab,
                            .comment_size = 9},
                   &index);
    assert_int_equal(m.method, 8);
    assert_int_equal(m.mtime, 1614834366); /* 2021-03-04 05:06:06 */
    assert_true(m.crc == 0x12345678 && m.stored == 0x23456789);
    assert_true(m.size == 0x3456789a && m.begin == 0x456789ab);
    assert_false(m.encrypted);
    hb_zip_index_close(&index);
    /* The flags are encryption, ..., sizes behind the member, ..., names in UTF-8. */
    for (int bit = 0; bit < 16; bit++) {
        m = read_entry(&(entry){.name = "n", .flags = (uint16_t)(1 << bit)}, &index);
        assert_int_equal(m.encrypted, bit == 0);
        hb_zip_index_close(&index);
    }
}

#define EXTRA(bytes) .extra = bytes, .extra_size = sizeof bytes - 1

/* Of PKWARE's 0x0001 as many as the entry has all ones for, in this order; Info-ZIP's 0x5455. */
static void extra_fields_are_looked_for(void **state)
{
    enum { DAY = 86400, DOS = 1 << 21 | 2 << 16 }; /* 1980-01-02 */
    const int64_t dos = (10 * 365 + 2 + 1) * (int64_t)DAY;
    const uint32_t all = UINT32_MAX;
    const struct {
        entry e;
        uint64_t size, stored, begin;
        int64_t mtime;
    } rows[] = {
        {{EXTRA("UT\5\0\1\1\0\0\0")}, 1, 2, 3, 1},
        {{EXTRA("UT\5\0\3\376\377\377\377")}, 1, 2, 3, -2},
        {{EXTRA("UT\5\0\2\1\0\0\0")}, 1, 2, 3, dos}, /* when it was read, not written */
        {{EXTRA("UT\4\0\1\1\0\0")}, 1, 2, 3, dos},
        {{EXTRA("UT\6\0\1\1\0\0\0")}, 1, 2, 3, dos}, /* reaches beyond what there is */
        {{EXTRA("TU\5\0\1\1\0\0\0")}, 1, 2, 3, dos},
        {{EXTRA("??\1\0xUT\5\0\1\1\0\0\0")}, 1, 2, 3, 1},
        {{EXTRA("??\0\0UT\5\0\1\1\0\0\0")}, 1, 2, 3, 1},
        {{EXTRA("UT\5\0\1\1\0\0\0xyz")}, 1, 2, 3, 1},
        {{.size = all, EXTRA("\1\0\10\0\1\2\0\0\0\0\0\1")}, 0x0100000000000201, 2, 3, dos},
        {{.stored = all, EXTRA("\1\0\10\0\1\2\0\0\0\0\0\1")}, 1, 0x0100000000000201, 3, dos},
        {{.begin = all, EXTRA("\1\0\10\0\1\2\0\0\0\0\0\1")}, 1, 2, 0x0100000000000201, dos},
        {{.size = all, .begin = all, EXTRA("\1\0\20\0\7\0\0\0\0\0\0\0\10\0\0\0\0\0\0\0")},
         7,
         2,
         8,
         dos},
        {{.size = all,
          .stored = all,
          .begin = all,
          EXTRA("\1\0\30\0\7\0\0\0\0\0\0\0\10\0\0\0\0\0\0\0\11\0\0\0\0\0\0\0UT\5\0\1\1\0\0\0")},
         7,
         8,
         9,
         1},
        {{.size = all, .stored = all, EXTRA("\1\0\10\0\7\0\0\0\0\0\0\0")}, 7, all, 3, dos},
        {{.size = all, EXTRA("\1\0\7\0\7\0\0\0\0\0\0")}, all, 2, 3, dos},
        {{EXTRA("\1\0\10\0\7\0\0\0\0\0\0\0")}, 1, 2, 3, dos},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        hb_zip_index index;
        entry e = rows[i].e;
        e.name = "n";
        e.time = DOS;
        if (!e.size) e.size = 1;
        if (!e.stored) e.stored = 2;
        if (!e.begin) e.begin = 3;
        hb_zip_member m = read_entry(&e, &index);
        if (m.size != rows[i].size || m.stored != rows[i].stored || m.begin != rows[i].begin ||
            m.mtime != rows[i].mtime)
            fail_msg("row %zu: %llu %llu %llu %lld", i, (unsigned long long)m.size,
                     (unsigned long long)m.stored, (unsigned long long)m.begin, (long long)m.mtime);
        hb_zip_index_close(&index);
    }
}

static void list(const entry *entries, unsigned count)
{
    made_size = 0;
    put_member("n", "", "");
    size_t directory = made_size;
    for (unsigned i = 0; i < count; i++)
        put_entry(&entries[i]);
    put_end(count, (uint32_t)(made_size - directory), (uint32_t)directory, 0);
}

static void names_are_sorted_and_differ(void **state)
{
    hb_zip_index index;
    (void)state;
    list((entry[]){{.name = "b"}, {.name = "dir/"}, {.name = "a"}, {.name = ""}, {.name = "ab"}},
         5);
    assert_int_equal(open_made(&index), HB_OK);
    assert_int_equal(index.count, 3);
    assert_string_equal(index.members[0].name, "a");
    assert_string_equal(index.members[1].name, "ab");
    assert_string_equal(index.members[2].name, "b");
    hb_zip_index_close(&index);
    list((entry[]){{.name = "a"}, {.name = "a"}}, 2);
    assert_refused("two members have one name");
    list((entry[]){{.name = "b"}, {.name = "a"}, {.name = "b"}}, 3);
    assert_refused("two members have one name");
    list((entry[]){{.name = "a\0b", .name_size = 3}}, 1);
    assert_refused("a directory entry is odd");
    /* None at all: the end is all that there is. */
    made_size = 0;
    put_end(0, 0, 0, 0);
    assert_int_equal(open_made(&index), HB_OK);
    assert_int_equal(index.count, 0);
    assert_null(hb_zip_find(&index, "a"));
    hb_zip_index_close(&index);
}

/* ---- a member ---- */

static void a_member_lies_in_the_file(void **state)
{
    size_t directory, size = put_two(&directory);
    put_end(2, (uint32_t)size, (uint32_t)directory, 0);
    const uint64_t head = 30 + 1;
    const struct {
        hb_zip_member m;
        const char *why; /* NULL: it does */
    } rows[] = {
        {{.stored = 5, .size = 5}, NULL},
        {{.stored = made_size - head, .size = made_size - head}, NULL},
        {{.stored = made_size - head + 1, .size = made_size - head + 1}, "reaches beyond its end"},
        {{.stored = UINT64_MAX, .size = UINT64_MAX}, "reaches beyond its end"},
        {{.stored = 5, .size = 6}, "sizes differ"},
        {{.stored = 5, .size = 6, .method = 8}, NULL},
        {{.stored = 5, .size = 5, .method = 9}, "compressed by an unknown method"},
        {{.stored = 5, .size = 5, .method = 1}, "compressed by an unknown method"},
        {{.stored = 5, .size = 5, .encrypted = true}, "encrypted"},
        {{.begin = 1}, "not where the directory says"},
        {{.begin = made_size - 29}, "not where the directory says"},
        {{.begin = made_size}, "not where the directory says"},
        {{.begin = UINT64_MAX}, "not where the directory says"},
    };
    (void)state;
    hb_zip_index index;
    assert_int_equal(open_made(&index), HB_OK);
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        uint64_t begin = 0;
        hb_zip_member m = rows[i].m;
        m.name = "a";
        hb_result result = hb_zip_begin_of(&index, &m, "x", &begin);
        if (result != (rows[i].why ? HB_ERROR_FORMAT : HB_OK)) fail_msg("row %zu: %d", i, result);
        if (!rows[i].why) assert_int_equal(begin, head);
        if (rows[i].why && !strstr(hb_last_error(), rows[i].why))
            fail_msg("row %zu: %s", i, hb_last_error());
    }
    hb_zip_index_close(&index);
}

/* A file is one by what it begins with. */
static void what_begins_otherwise_is_none(void **state)
{
    static const struct {
        const char *bytes;
        bool is_zip;
    } rows[] = {{"PK\3\4", true},  {"PK\5\6", true},  {"PK\6\6", true}, {"PK\1\2", false},
                {"PK\3\5", false}, {"pk\3\4", false}, {"PK\3", false},  {"", false}};
    char path[300];
    (void)state;
    snprintf(path, sizeof path, "%s/file", dir);
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        size_t size = strlen(rows[i].bytes);
        assert_int_equal(write(fd, rows[i].bytes, size), size);
        if (hb_is_zip(fd) != rows[i].is_zip) fail_msg("row %zu", i);
        close(fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(the_end_is_found_before_any_comment), IN_DIR(a_directory_lies_in_the_file),
        IN_DIR(a_large_directory_has_another_end),   IN_DIR(an_entry_tells_of_its_member),
        IN_DIR(extra_fields_are_looked_for),         IN_DIR(names_are_sorted_and_differ),
        IN_DIR(a_member_lies_in_the_file),           IN_DIR(what_begins_otherwise_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
