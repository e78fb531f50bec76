/* SPDX-License-Identifier: MIT
 *
 * Packs: ZIP files that are written and read, what unpacking refuses, and JSON that is redacted.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <hipboard/analysis.h>
#include <hipboard/pack.h>

#include "io/publish.h"
#include "io/zip_writer.h"
#include "pack/redact_files.h"
#include "read/text_window.h"
#include "test_dir.h"

/* ---- writing and reading ---- */

typedef struct part {
    const char *name, *text;
    bool deflate, large;
} part;

static void write_pack(const char *path, const part *parts, size_t count)
{
    hb_publish publish;
    hb_zip_writer zip;
    assert_int_equal(hb_publish_open(&publish, path, true), HB_OK);
    assert_int_equal(hb_zip_open(&zip, &publish.sink), HB_OK);
    for (size_t i = 0; i < count; i++) {
        hb_zip_entry entry = {.name = parts[i].name,
                              .mtime = 1700000000 + (int64_t)i,
                              .deflate = parts[i].deflate,
                              .large = parts[i].large};
        assert_int_equal(hb_zip_begin(&zip, &entry), HB_OK);
        assert_int_equal(zip.sink.write(&zip.sink, parts[i].text, strlen(parts[i].text)), HB_OK);
        assert_int_equal(hb_zip_end(&zip), HB_OK);
    }
    assert_int_equal(hb_zip_finish(&zip), HB_OK);
    assert_int_equal(hb_publish_commit(&publish), HB_OK);
    hb_zip_free(&zip);
    hb_publish_free(&publish);
}

static char *in_dir(const char *name)
{
    static char paths[4][600];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", dir, name);
    return path;
}

static void assert_text(const char *path, const char *expected)
{
    hb_text text;
    assert_int_equal(hb_text_open(&text, path, HB_TEXT_AUTO), HB_OK);
    while (hb_text_more(&text, 0))
        continue;
    assert_int_equal(text.result, HB_OK);
    assert_int_equal(text.size, strlen(expected));
    assert_memory_equal(text.data, expected, text.size);
    hb_text_close(&text);
}

static void members_are_read_as_files(void **state)
{
    (void)state;
    const part parts[] = {{"run/plain.json", "{\"a\": 1}", false, false},
                          {"run/deflated.json", "{\"b\": [1, 1, 1, 1, 1, 1, 1, 1]}", true, false},
                          {"empty", "", true, false},
                          {"run/large.json", "{\"c\": 3}", true, true}};
    char *pack = in_dir("p.hbpack"), path[700];
    write_pack(pack, parts, HB_ARRAY_LEN(parts));
    for (size_t i = 0; i < HB_ARRAY_LEN(parts); i++) {
        snprintf(path, sizeof path, "%s/%s", pack, parts[i].name);
        assert_text(path, parts[i].text);
    }
    hb_text text;
    static const char *const no_gzip[] = {"run/plain.json", "run/deflated.json", "empty"};
    for (size_t i = 0; i < HB_ARRAY_LEN(no_gzip); i++) {
        snprintf(path, sizeof path, "%s/%s", pack, no_gzip[i]);
        assert_int_equal(hb_text_open(&text, path, HB_TEXT_GZIP), HB_ERROR_FORMAT);
        assert_non_null(strstr(hb_last_error(), "not a gzip file"));
        assert_int_equal(hb_text_open(&text, path, HB_TEXT_PLAIN), HB_OK);
        hb_text_close(&text);
    }
    snprintf(path, sizeof path, "%s/run/none.json", pack);
    assert_int_equal(hb_text_open(&text, path, HB_TEXT_AUTO), HB_ERROR_NOT_FOUND);
    assert_non_null(strstr(hb_last_error(), "run/none.json"));
}

static void more_members_than_sixteen_bits_count(void **state)
{
    (void)state;
    enum { COUNT = 70000 };
    hb_publish publish;
    hb_zip_writer zip;
    hb_zip_index index;
    char *pack = in_dir("many.hbpack"), name[32];
    assert_int_equal(hb_publish_open(&publish, pack, true), HB_OK);
    assert_int_equal(hb_zip_open(&zip, &publish.sink), HB_OK);
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "rank_%05d", i);
        hb_zip_entry entry = {.name = name, .mtime = 1700000000};
        assert_int_equal(hb_zip_begin(&zip, &entry), HB_OK);
        assert_int_equal(zip.sink.write(&zip.sink, name, strlen(name)), HB_OK);
        assert_int_equal(hb_zip_end(&zip), HB_OK);
    }
    assert_int_equal(hb_zip_finish(&zip), HB_OK);
    assert_int_equal(hb_publish_commit(&publish), HB_OK);
    hb_zip_free(&zip);
    hb_publish_free(&publish);
    assert_int_equal(hb_zip_index_open(&index, pack), HB_OK);
    assert_int_equal(index.count, COUNT);
    assert_string_equal(index.members[COUNT - 1].name, "rank_69999");
    assert_int_equal(index.members[COUNT - 1].mtime, 1700000000);
    hb_zip_index_close(&index);
}

/* ---- unpacking ---- */

static void unpacking_gives_the_files_back(void **state)
{
    (void)state;
    const part parts[] = {{"a/b/c.txt", "deep", true, false}, {"top.txt", "top", false, false}};
    struct stat st;
    write_pack(in_dir("p.hbpack"), parts, 2);
    assert_int_equal(hb_unpack(in_dir("p.hbpack"), in_dir("out"), NULL, NULL), HB_OK);
    assert_text(in_dir("out/a/b/c.txt"), "deep");
    assert_text(in_dir("out/top.txt"), "top");
    assert_int_equal(stat(in_dir("out/a/b/c.txt"), &st), 0);
    assert_int_equal(st.st_mtim.tv_sec, 1700000000);
    /* What is there stays, unless that is wanted. */
    assert_int_equal(hb_unpack(in_dir("p.hbpack"), in_dir("out"), NULL, NULL), HB_ERROR_STATE);
    hb_pack_options options = HB_PACK_OPTIONS_INIT;
    options.replace = true;
    assert_int_equal(hb_unpack(in_dir("p.hbpack"), in_dir("out"), &options, NULL), HB_OK);
}

static bool leave_an_error(void *context, const char *path, uint64_t done, uint64_t size)
{
    (void)path;
    *(uint64_t *)context += done == size;
    errno = EINTR;
    return true;
}

/* A program that is told of progress may leave errno as it likes: no call of ours has failed. */
static void an_error_of_the_program_is_none(void **state)
{
    enum { SIZE = 700000 };
    static char text[SIZE + 1];
    uint64_t files = 0;
    hb_pack_options options = HB_PACK_OPTIONS_INIT;
    (void)state;
    memset(text, 'x', SIZE);
    FILE *file = fopen(in_dir("a.txt"), "w");
    fputs(text, file);
    fclose(file);
    options.progress = leave_an_error;
    options.context = &files;
    const char *path = in_dir("a.txt");
    assert_int_equal(hb_pack(&path, 1, in_dir("p.hbpack"), &options, NULL), HB_OK);
    assert_int_equal(hb_unpack(in_dir("p.hbpack"), in_dir("out"), &options, NULL), HB_OK);
    assert_text(in_dir("out/a.txt"), text);
    assert_true(files >= 2);
}

static void nothing_is_written_outside(void **state)
{
    (void)state;
    static const char *const names[] = {"../escaped", "/escaped", "a/../../escaped", "a//b", "./x"};
    for (size_t i = 0; i < HB_ARRAY_LEN(names); i++) {
        write_pack(in_dir("p.hbpack"), &(part){names[i], "x", false, false}, 1);
        assert_int_equal(hb_unpack(in_dir("p.hbpack"), in_dir("out"), NULL, NULL), HB_ERROR_FORMAT);
        assert_int_equal(access(in_dir("escaped"), F_OK), -1);
    }
    /* A link that stands in the way is not followed. */
    assert_int_equal(mkdir(in_dir("out"), 0700), 0);
    assert_int_equal(mkdir(in_dir("elsewhere"), 0700), 0);
    assert_int_equal(symlink("../elsewhere", in_dir("out/a")), 0);
    write_pack(in_dir("p.hbpack"), &(part){"a/b", "x", false, false}, 1);
    assert_int_equal(hb_unpack(in_dir("p.hbpack"), in_dir("out"), NULL, NULL), HB_ERROR_IO);
    assert_int_equal(access(in_dir("elsewhere/b"), F_OK), -1);
}

/* Every byte of a pack, changed: an error, or the same files; never a file that is another. */
static void a_damaged_pack_is_an_error(void **state)
{
    (void)state;
    const part parts[] = {{"a.txt", "the text of the first file", true, false},
                          {"b.txt", "the text of the second", false, false}};
    char pack[600];
    snprintf(pack, sizeof pack, "%s/p.hbpack", dir);
    write_pack(pack, parts, 2);
    int fd = open(pack, O_RDWR), wrong = 0;
    off_t size = lseek(fd, 0, SEEK_END);
    for (off_t at = 0; at < size; at++) {
        unsigned char byte, other;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        other = byte ^ 0x41;
        assert_int_equal(pwrite(fd, &other, 1, at), 1);
        hb_result result = hb_unpack(pack, in_dir("out"), NULL, NULL);
        wrong += result != HB_OK;
        if (result == HB_OK && access(in_dir("out/a.txt"), F_OK) == 0)
            assert_text(in_dir("out/a.txt"), parts[0].text);
        if (result == HB_OK && access(in_dir("out/b.txt"), F_OK) == 0)
            assert_text(in_dir("out/b.txt"), parts[1].text);
        remove_tree(in_dir("out"));
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    }
    assert_true(wrong > size / 3);
    /* Cut off anywhere. */
    for (off_t at = size - 1; at >= 0; at -= 7) {
        assert_int_equal(ftruncate(fd, at), 0);
        hb_result result = hb_unpack(pack, in_dir("out"), NULL, NULL);
        if (result != HB_ERROR_FORMAT)
            print_message("%d of %d: %s\n", (int)at, (int)size, hb_last_error());
        assert_int_equal(result, HB_ERROR_FORMAT);
    }
    close(fd);
}

/* ---- redaction of files ---- */

static void redact_json(const char *json, const char *expected)
{
    hb_redactor r;
    hb_memory_sink out;
    char *path = in_dir("x.json");
    FILE *file = fopen(path, "w");
    fputs(json, file);
    fclose(file);
    assert_true(hb_redactor_init(&r));
    hb_memory_sink_init(&out, SIZE_MAX / 4);
    hb_redactor_begin_file(&r, "x.json");
    assert_int_equal(hb_redact_json(&r, path, &out.sink), HB_OK);
    assert_int_equal(out.buf.size, 0);
    hb_redactor_learnt(&r);
    hb_redactor_begin_file(&r, "x.json");
    assert_int_equal(hb_redact_json(&r, path, &out.sink), HB_OK);
    assert_string_equal(hb_buf_text(&out.buf), expected);
    hb_memory_sink_free(&out);
    hb_redactor_free(&r);
}

static void json_keeps_all_else(void **state)
{
    (void)state;
    redact_json("{ \"a\" :\t[1.50, \"x\\u00e9\\/\"],\n\"host_name\": \"node9\"}\n",
                "{ \"a\" :\t[1.50, \"x\\u00e9\\/\"],\n\"host_name\": \"host-1\"}\n");
    /* learnt behind where it stands first */
    redact_json("[\"on node9\", {\"host_name\": \"node9\"}]",
                "[\"on host-1\", {\"host_name\": \"host-1\"}]");
    redact_json(
        "{\"env\": {\"PATH\": \"/bin\", \"RANK\": \"3\", \"in\": {\"x\": \"y\"}}, \"x\": \"y\"}",
        "{\"env\": {\"PATH\": \"environment-1\", \"RANK\": \"3\", \"in\": {\"x\": "
        "\"environment-2\"}}, "
        "\"x\": \"y\"}");
    /* escapes in what is replaced; a key is looked at, too */
    redact_json("{\"/home/a\\\"b/x\": \"\\/home\\/alice\\/q.py\"}",
                "{\"dir-1/a\\\"b/x\": \"dir-2/q.py\"}");
    /* no JSON at all */
    redact_json("{\"a\": \"/x/y/z\", \"open", "{\"a\": \"dir-1/z\", \"open");
    redact_json("}}]] \"\\", "}}]] \"\\");
    redact_json("", "");
}

/* A file is read through a window, which may end anywhere in a string, or behind it. */
static void json_is_the_same_wherever_a_window_ends(void **state)
{
    enum { WINDOW = 1 << 17 };
    static const char text[] =
        "{\"host_name\" : \"node9\" , \"a\\\"b\\\\\" : [\"x\\\\\\\"y\", \"on node9\"],\n"
        "\"env\"\t:{\"A\" :\"b\\\"\"}, \"q\":\"\\/home\\/alice\\/q.py\", \"\" : \"\"}";
    static const char expected[] =
        "{\"host_name\" : \"host-1\" , \"a\\\"b\\\\\" : [\"x\\\\\\\"y\", \"on host-1\"],\n"
        "\"env\"\t:{\"A\" :\"environment-1\"}, \"q\":\"dir-1/q.py\", \"\" : \"\"}";
    static char padded[WINDOW + sizeof text], wanted[WINDOW + sizeof expected];
    (void)state;
    for (size_t end = 0; end <= sizeof text - 1; end++) {
        memset(padded, ' ', WINDOW);
        memset(wanted, ' ', WINDOW);
        memcpy(padded + WINDOW - end, text, sizeof text);
        memcpy(wanted + WINDOW - end, expected, sizeof expected);
        redact_json(padded, wanted);
    }
}

/* Names that zip files can't have are refused, and only these. */
static void names_of_members_have_a_length(void **state)
{
    static char name[(1 << 16) + 1];
    static const struct {
        size_t length;
        hb_result result;
    } rows[] = {{0, HB_ERROR_INVALID_ARGUMENT},
                {1, HB_OK},
                {65535, HB_OK},
                {65536, HB_ERROR_INVALID_ARGUMENT}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hb_memory_sink memory;
        hb_zip_writer zip;
        memset(name, 'n', rows[i].length);
        name[rows[i].length] = '\0';
        hb_zip_entry entry = {.name = name};
        hb_memory_sink_init(&memory, 1 << 20);
        assert_int_equal(hb_zip_open(&zip, &memory.sink), HB_OK);
        assert_int_equal(hb_zip_begin(&zip, &entry), rows[i].result);
        if (rows[i].result == HB_OK) {
            assert_int_equal(hb_zip_end(&zip), HB_OK);
            assert_int_equal(hb_zip_finish(&zip), HB_OK);
        }
        hb_zip_free(&zip);
        hb_memory_sink_free(&memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_members_have_a_length),
        IN_DIR(members_are_read_as_files),
        IN_DIR(more_members_than_sixteen_bits_count),
        IN_DIR(unpacking_gives_the_files_back),
        IN_DIR(an_error_of_the_program_is_none),
        IN_DIR(nothing_is_written_outside),
        IN_DIR(a_damaged_pack_is_an_error),
        IN_DIR(json_keeps_all_else),
        IN_DIR(json_is_the_same_wherever_a_window_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
