/* SPDX-License-Identifier: MIT
 *
 * Packs: ZIP files that are written and read, what unpacking refuses, and JSON that is redacted.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <zlib.h>

#include <hipboard/analysis.h>
#include <hipboard/pack.h>

#include "base/crc32c.h"
#include "io/publish.h"
#include "io/zip_writer.h"
#include "pack/redact_files.h"
#include "read/text_window.h"
#include "test_dir.h"

/* ---- a disk that can't be read ---- */

static ino_t unreadable; /* a file of the test's; 0: none */
static off_t unreadable_from;
static int interrupted; /* so many calls more */
static bool by_one;     /* byte are packs read */

static bool is_interrupted(void)
{
    if (interrupted <= 0) return false;
    interrupted--;
    errno = EINTR;
    return true;
}

static bool can_be_read(int fd, off_t at, size_t *size)
{
    struct stat st;
    if (!unreadable || fstat(fd, &st) != 0 || st.st_ino != unreadable) return true;
    *size = HB_MIN(*size, (size_t)HB_MAX(unreadable_from - at, 0));
    if (*size == 0) errno = EIO;
    return *size > 0;
}

/* In place of the C library's, also for hipboard. */
ssize_t read(int fd, void *to, size_t size)
{
    if (is_interrupted()) return -1;
    if (size && !can_be_read(fd, lseek(fd, 0, SEEK_CUR), &size)) return -1;
    return syscall(SYS_read, fd, to, size);
}

ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    if (is_interrupted()) return -1;
    if (size && !can_be_read(fd, at, &size)) return -1;
    if (size && by_one) size = 1;
    return syscall(SYS_pread64, fd, to, size, at);
}

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
                          {"/absolute/f.json", "{\"d\": 4}", true, false},
                          {"run/large.json", "{\"c\": 3}", true, true}};
    char *pack = in_dir("p.hbpack"), path[700];
    int next = dup(STDOUT_FILENO);
    close(next);
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
    int again = dup(STDOUT_FILENO); /* no file stays open */
    assert_int_equal(again, next);
    close(again);
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

/* ---- what goes into a pack ---- */

static void put_file(const char *name, const char *text)
{
    FILE *file = fopen(in_dir(name), "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* The members' names, or of those left out why: "a.txt, (it is no file)". */
static const char *packed(const char *const *paths, size_t count, const hb_pack_options *options)
{
    static char said[2000];
    hb_pack_report *report;
    hb_result result = hb_pack(paths, count, in_dir("made.hbpack"), options, &report);
    if (result != HB_OK) {
        assert_null(report);
        snprintf(said, sizeof said, "%d: %s", result, hb_last_error());
        return said;
    }
    said[0] = '\0';
    for (size_t i = 0; i < report->num_members; i++) {
        const hb_pack_member *m = &report->members[i];
        size_t n = strlen(said);
        assert_non_null(m->path);
        snprintf(said + n, sizeof said - n, "%s%s%s%s%s", i ? ", " : "", m->name ? m->name : "",
                 m->left_out ? "(" : "", m->left_out ? m->left_out : "", m->left_out ? ")" : "");
    }
    hb_pack_report_free(report);
    return said;
}

static hb_pack_options replacing(void)
{
    hb_pack_options options = HB_PACK_OPTIONS_INIT;
    options.replace = true;
    return options;
}

static void what_is_no_file_is_left_out(void **state)
{
    const hb_pack_options options = replacing();
    char logs[600];
    (void)state;
    snprintf(logs, sizeof logs, "%s", in_dir("logs"));
    assert_int_equal(mkdir(logs, 0700), 0);
    assert_int_equal(mkdir(in_dir("logs/.old"), 0700), 0);
    assert_int_equal(mkdir(in_dir("logs/run"), 0700), 0);
    put_file("logs/.old/a.txt", "hidden");
    put_file("logs/run/a.txt", "text");
    put_file("logs/.b.txt", "hidden");
    assert_int_equal(symlink("a.txt", in_dir("logs/run/link.txt")), 0);
    assert_int_equal(symlink("none", in_dir("logs/run/nowhere.txt")), 0);
    assert_int_equal(mkfifo(in_dir("logs/pipe"), 0600), 0);
    assert_string_equal(packed((const char *[]){logs}, 1, &options),
                        "(it is no file), run/a.txt, run/link.txt");
    const char *paths[] = {in_dir("logs/pipe"), in_dir("logs/run/a.txt")};
    assert_string_equal(packed(paths, 2, &options), "a.txt, (it is no file)");
    assert_string_equal(packed((const char *[]){in_dir("logs/.old")}, 1, &options), "a.txt");
    assert_string_equal(packed((const char *[]){in_dir("logs/.b.txt")}, 1, &options), ".b.txt");
}

/* Alone a directory is the log directory; one of several is a run in it. The pack is no part. */
static void names_in_a_pack_begin_where_the_paths_end(void **state)
{
    const hb_pack_options options = replacing();
    char logs[600], slashes[620], a[600], wanted[1400];
    (void)state;
    snprintf(logs, sizeof logs, "%s", in_dir("logs"));
    snprintf(slashes, sizeof slashes, "%s///", logs);
    snprintf(a, sizeof a, "%s", in_dir("a.txt"));
    assert_int_equal(mkdir(logs, 0700), 0);
    put_file("logs/a.txt", "one");
    put_file("a.txt", "two");
    assert_string_equal(packed((const char *[]){slashes}, 1, &options), "a.txt");
    assert_string_equal(packed((const char *[]){slashes, a}, 2, &options), "a.txt, logs/a.txt");
    assert_string_equal(packed((const char *[]){a, logs}, 2, &options), "a.txt, logs/a.txt");
    assert_string_equal(packed((const char *[]){dir}, 1, &options), "a.txt, logs/a.txt");
    snprintf(slashes, sizeof slashes, "%s/a.txt", logs);
    snprintf(wanted, sizeof wanted,
             "%d: '%s' and '%s' would have one name in the pack: pack them one by one",
             HB_ERROR_INVALID_ARGUMENT, a, a);
    assert_string_equal(packed((const char *[]){a, a}, 2, &options), wanted);
    assert_true(strstr(packed((const char *[]){a, slashes}, 2, &options), "would have one name"));
    snprintf(wanted, sizeof wanted, "%d: cannot read '%s/none'", HB_ERROR_IO, dir);
    assert_true(strstr(packed((const char *[]){in_dir("none")}, 1, &options), wanted));
}

/* By their hosts, of which one is the other's first name. */
static void files_that_become_one_are_told_of(void **state)
{
    hb_pack_options options = replacing();
    char wanted[800];
    (void)state;
    assert_int_equal(mkdir(in_dir("logs"), 0700), 0);
    put_file("logs/node9_7.1.pt.trace.json", "{\"traceEvents\": []}");
    put_file("logs/node9.corp_7.1.pt.trace.json", "{\"traceEvents\": []}");
    assert_string_equal(packed((const char *[]){in_dir("logs")}, 1, &options),
                        "node9.corp_7.1.pt.trace.json, node9_7.1.pt.trace.json");
    options.redact = true;
    snprintf(wanted, sizeof wanted,
             "%d: '%s/logs/node9_7.1.pt.trace.json': another file has the name "
             "'host-1_7.1.pt.trace.json' in the pack already",
             HB_ERROR_STATE, dir);
    assert_string_equal(packed((const char *[]){in_dir("logs")}, 1, &options), wanted);
}

/* ---- a part of each trace ---- */

/* Where it is, or NULL: where it was. */
static void make_temporary_in(const char *path)
{
    static char *before;
    const char *now = getenv("TMPDIR");
    if (path) {
        before = now ? strdup(now) : NULL;
        assert_int_equal(setenv("TMPDIR", path, 1), 0);
        return;
    }
    if (before)
        setenv("TMPDIR", before, 1);
    else
        unsetenv("TMPDIR");
    free(before);
    before = NULL;
}

#define TRACE(name)                                                                           \
    "{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"X\", \"cat\": \"user_annotation\", " \
    "\"name\": \"" name "\", \"pid\": 1, \"tid\": 1, \"ts\": 1, \"dur\": 5, \"args\": {}}]}"

static void what_cannot_be_cut_is_left_out(void **state)
{
    hb_pack_options options = replacing();
    const char *said;
    (void)state;
    assert_int_equal(mkdir(in_dir("logs"), 0700), 0);
    assert_int_equal(mkdir(in_dir("tmp"), 0700), 0);
    make_temporary_in(in_dir("tmp"));
    put_file("logs/a_1.1.pt.trace.json", TRACE("ProfilerStep#3"));
    put_file("logs/b_1.1.pt.trace.json", TRACE("ProfilerStep#4"));
    put_file("logs/c_1.1.pt.trace.json", "no trace");
    put_file("logs/d.json", "[1, 2]");
    put_file("logs/e.txt", "text");
    put_file("logs/f.hbranks", "digests");
    options.first_step = options.last_step = 3;
    said = packed((const char *[]){in_dir("logs")}, 1, &options);
    if (!strstr(said, "a_1.1.pt.trace.json, (") || !strstr(said, "), d.json, e.txt, (it tells of "))
        fail_msg("%s", said);
    assert_non_null(strstr(said, "has none of these steps"));
    assert_non_null(strstr(said, "c_1.1.pt.trace.json"));
    assert_int_equal(list_dir(in_dir("tmp"), NULL, NULL, 0),
                     0); /* nothing stays of what was made */
    /* named itself it may be a trace, or stays as it is; what is called one is one */
    assert_string_equal(packed((const char *[]){in_dir("logs/d.json")}, 1, &options), "d.json");
    said = packed((const char *[]){in_dir("logs/c_1.1.pt.trace.json")}, 1, &options);
    if (said[0] != '(') fail_msg("%s", said);
    put_file("trace.json", TRACE("ProfilerStep#3"));
    assert_string_equal(packed((const char *[]){in_dir("trace.json")}, 1, &options),
                        "trace.pt.trace.json");
    make_temporary_in(NULL);
}

static void a_part_is_made_in_a_temporary_directory(void **state)
{
    hb_pack_options options = replacing();
    char wanted[800], trace[600];
    (void)state;
    snprintf(trace, sizeof trace, "%s", in_dir("a_1.1.pt.trace.json"));
    put_file("a_1.1.pt.trace.json", TRACE("ProfilerStep#3"));
    options.first_step = 3;
    make_temporary_in(in_dir("none"));
    snprintf(wanted, sizeof wanted, "%d: cannot create a directory like '%s/none/hipboard-pack.",
             HB_ERROR_IO, dir);
    const char *said = packed((const char *[]){trace}, 1, &options);
    if (strncmp(said, wanted, strlen(wanted)) != 0) fail_msg("%s", said);
    make_temporary_in(NULL);
    make_temporary_in(""); /* as if it were not set */
    assert_string_equal(packed((const char *[]){trace}, 1, &options), "a_1.1.pt.trace.json");
    make_temporary_in(NULL);
}

/* ---- files that can't be read, or to their end ---- */

static bool stop_now(void *context, const char *path, uint64_t done, uint64_t size)
{
    (void)path;
    (void)done;
    (void)size;
    return --*(int *)context > 0;
}

static void a_program_may_stop_packing(void **state)
{
    static const char *const names[] = {"a.txt", "a.json", "a.bin", "events.out.tfevents.1.h"};
    (void)state;
    for (int redact = 0; redact < 2; redact++)
        for (size_t i = 0; i < HB_ARRAY_LEN(names); i++) {
            hb_pack_options options = replacing();
            int calls = 1;
            char wanted[40];
            options.redact = redact;
            options.progress = stop_now;
            options.context = &calls;
            put_file(names[i], "text");
            snprintf(wanted, sizeof wanted, "%d: stopped", HB_ERROR_STATE);
            const char *said = packed((const char *[]){in_dir(names[i])}, 1, &options);
            bool asked = !redact || !strstr(names[i], ".bin");
            assert_string_equal(said, asked ? wanted
                                            : "(its kind is not known, so it cannot be redacted)");
            assert_int_equal(access(in_dir("made.hbpack"), F_OK), asked ? -1 : 0);
            unlink(in_dir("made.hbpack"));
        }
    hb_pack_options options = replacing();
    int calls = 1;
    options.progress = stop_now;
    options.context = &calls;
    write_pack(in_dir("p.hbpack"), &(part){"a", "x", false, false}, 1);
    assert_int_equal(hb_unpack(in_dir("p.hbpack"), in_dir("out"), &options, NULL), HB_ERROR_STATE);
    assert_string_equal(hb_last_error(), "stopped");
    assert_int_equal(access(in_dir("out/a"), F_OK), -1);
}

static void a_call_that_is_interrupted_is_made_again(void **state)
{
    const hb_pack_options options = replacing();
    (void)state;
    put_file("a.txt", "text");
    interrupted = 3;
    assert_string_equal(packed((const char *[]){in_dir("a.txt")}, 1, &options), "a.txt");
    assert_int_equal(interrupted, 0);
    char member[600];
    snprintf(member, sizeof member, "%s/a.txt", in_dir("made.hbpack"));
    assert_text(member, "text");
    interrupted = 3;
    assert_int_equal(hb_unpack(in_dir("made.hbpack"), in_dir("out"), NULL, NULL), HB_OK);
    assert_int_equal(interrupted, 0);
    assert_text(in_dir("out/a.txt"), "text");
}

/* A call may give less than was asked for, as those of disks in networks do. */
static void a_pack_is_read_byte_by_byte(void **state)
{
    static const part parts[] = {{"a.txt", "the text of the first", false, false},
                                 {"b.txt", "2nd, 2nd, 2nd, 2nd, 2nd", true, true}};
    (void)state;
    write_pack(in_dir("p.hbpack"), parts, 2);
    by_one = true;
    hb_result result = hb_unpack(in_dir("p.hbpack"), in_dir("out"), NULL, NULL);
    by_one = false;
    assert_int_equal(result, HB_OK);
    assert_text(in_dir("out/a.txt"), parts[0].text);
    assert_text(in_dir("out/b.txt"), parts[1].text);
}

/* ---- packs that can't be read, or hold something else than they say ---- */

/* A pack that a disk does not give is neither cut off nor damaged. */
static void a_pack_that_cannot_be_read_is_not_called_damaged(void **state)
{
    static const part parts[] = {{"a.txt", "the text of the first", false, false},
                                 {"b.txt", "2nd", false, false}};
    struct stat st;
    (void)state;
    write_pack(in_dir("p.hbpack"), parts, 2);
    assert_int_equal(stat(in_dir("p.hbpack"), &st), 0);
    for (off_t from = 0; from < st.st_size; from += 5) {
        unreadable = st.st_ino;
        unreadable_from = from;
        hb_result result = hb_unpack(in_dir("p.hbpack"), in_dir("out"), NULL, NULL);
        unreadable = 0;
        if (result != HB_ERROR_IO || !strstr(hb_last_error(), strerror(EIO)))
            fail_msg("byte %d: %d, %s", (int)from, result, hb_last_error());
    }
}

/* Its disk stops; never is a part of it packed as if it were all. */
static void a_file_that_cannot_be_read_is_not_packed(void **state)
{
    static const char *const names[] = {"a.bin", "a.txt", "a.json", "events.out.tfevents.1.h",
                                        "a.hbranks"};
    (void)state;
    for (int redact = 0; redact < 2; redact++)
        for (size_t i = redact; i < HB_ARRAY_LEN(names); i++) {
            hb_pack_options options = replacing();
            struct stat st;
            options.redact = redact;
            put_file(names[i], "\"some text\", and more of it behind");
            assert_int_equal(stat(in_dir(names[i]), &st), 0);
            unreadable = st.st_ino;
            unreadable_from = 9;
            const char *said = packed((const char *[]){in_dir(names[i])}, 1, &options);
            unreadable = 0;
            char kind[20];
            snprintf(kind, sizeof kind, "%d: ", HB_ERROR_IO);
            if (strncmp(said, kind, strlen(kind)) != 0 || !strstr(said, names[i]) ||
                !strstr(said, strerror(EIO)))
                fail_msg("%s: %s", names[i], said);
            assert_int_equal(access(in_dir("made.hbpack"), F_OK), -1);
        }
}

/* A text that is gzip is read so, whatever it is called. */
static void a_text_that_is_cut_off_is_not_redacted(void **state)
{
    static const char *const names[] = {"a.txt", "a.json", "a.json.gz"};
    char bytes[300];
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(names); i++) {
        hb_pack_options options = replacing();
        options.redact = true;
        gzFile gzip = gzopen(in_dir(names[i]), "wb");
        assert_int_equal(gzputs(gzip, "{\"host_name\": \"node9\", \"x\": \"on node9\"}"), 39);
        assert_int_equal(gzclose(gzip), Z_OK);
        FILE *file = fopen(in_dir(names[i]), "r");
        size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        assert_string_equal(packed((const char *[]){in_dir(names[i])}, 1, &options), names[i]);
        assert_int_equal(truncate(in_dir(names[i]), (off_t)size - 9), 0);
        char wanted[800];
        snprintf(wanted, sizeof wanted, "%d: %s/%s: the gzip stream is cut off", HB_ERROR_FORMAT,
                 dir, names[i]);
        assert_string_equal(packed((const char *[]){in_dir(names[i])}, 1, &options), wanted);
    }
}

/* ---- what was found ---- */

/* By kind, then by number; of secrets so much as tells which it is, of short ones nothing. */
static void a_report_tells_what_was_found(void **state)
{
    static const struct {
        const char *kind, *found, *replacement;
        unsigned count, files;
        const char *first;
    } wanted[] = {
        {"address", "10.1.2.3", "address-1", 2, 2, "a.txt"},
        {"dir", "/x/y", "dir-1", 1, 1, "b.txt"},
        {"environment", "secr... (17 bytes)", "environment-1", 1, 1, "c.json"},
        {"host", "node9", "host-1", 3, 2, "b.txt"},
        {"secret", "... (11 bytes)", "secret-1", 1, 1, "a.txt"},
        {"secret", "abcd... (12 bytes)", "secret-2", 2, 1, "a.txt"},
    };
    hb_pack_options options = replacing();
    hb_pack_report *report;
    struct stat st;
    (void)state;
    assert_int_equal(mkdir(in_dir("logs"), 0700), 0);
    put_file("logs/a.txt", "10.1.2.3 password=abcdefghijk token=abcdefghijkl token=abcdefghijkl");
    put_file("logs/b.txt", "/x/y/z.py 10.1.2.3 on node9, node9");
    put_file("logs/c.json", "{\"host_name\": \"node9\", \"env\": {\"A\": \"secret of the day\"}}");
    put_file("logs/d.bin", "node9");
    options.redact = true;
    assert_int_equal(
        hb_pack((const char *[]){in_dir("logs")}, 1, in_dir("p.hbpack"), &options, &report), HB_OK);
    assert_int_equal(report->num_redactions, HB_ARRAY_LEN(wanted));
    for (size_t i = 0; i < HB_ARRAY_LEN(wanted); i++) {
        const hb_redaction *r = &report->redactions[i];
        assert_string_equal(r->kind, wanted[i].kind);
        assert_string_equal(r->found, wanted[i].found);
        assert_string_equal(r->replacement, wanted[i].replacement);
        assert_int_equal(r->count, wanted[i].count);
        assert_int_equal(r->files, wanted[i].files);
        assert_string_equal(r->first_file, wanted[i].first);
    }
    assert_int_equal(stat(in_dir("p.hbpack"), &st), 0);
    assert_int_equal(report->bytes, st.st_size);
    assert_int_equal(report->num_members, 4);
    assert_string_equal(report->members[0].path, in_dir("logs/a.txt"));
    assert_int_equal(report->members[0].size,
                     strlen("address-1 password=secret-1 token=secret-2 token=secret-2"));
    assert_null(report->members[3].name);
    hb_pack_report_free(report);
}

/* ---- redaction of files ---- */

typedef hb_result redact_fn(hb_redactor *redactor, const char *path, hb_sink *to);

/* Of a file, read twice; `out` is the caller's to free. */
static void redact_file(redact_fn *redact, const char *name, hb_str text, hb_memory_sink *out)
{
    hb_redactor r;
    char *path = in_dir(name);
    FILE *file = fopen(path, "w");
    assert_int_equal(fwrite(text.s, 1, text.len, file), text.len);
    fclose(file);
    assert_true(hb_redactor_init(&r));
    hb_memory_sink_init(out, SIZE_MAX / 4);
    hb_redactor_begin_file(&r, name);
    assert_int_equal(redact(&r, path, &out->sink), HB_OK);
    assert_int_equal(out->buf.size, 0);
    hb_redactor_learnt(&r);
    hb_redactor_begin_file(&r, name);
    assert_int_equal(redact(&r, path, &out->sink), HB_OK);
    hb_redactor_free(&r);
}

static void redact_json(const char *json, const char *expected)
{
    hb_memory_sink out;
    redact_file(hb_redact_json, "x.json", (hb_str){json, (uint32_t)strlen(json)}, &out);
    assert_string_equal(hb_buf_text(&out.buf), expected);
    hb_memory_sink_free(&out);
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

/* Numbers and words before brackets, texts that look like what stands between. */
static void json_that_is_one_stays_one(void **state)
{
    (void)state;
    redact_json("{\"user\": \"1000\", \"args\": {\"warmup\": 1000}, \"x\": [1.5, true]}",
                "{\"user\": \"user-1\", \"args\": {\"warmup\": 1000}, \"x\": [1.5, true]}");
    redact_json("{\"a\": {\"m\": 2}, \"env\": {\"DEVICES\": \"0,1\"}}",
                "{\"a\": {\"m\": 2}, \"env\": {\"DEVICES\": \"environment-1\"}}");
    redact_json("{\"s\": {\"code\": 200}, \"host\": \"10.1.2.3:9090\"}",
                "{\"s\": {\"code\": 200}, \"host\": \"host-1\"}");
    redact_json("\xef\xbb\xbf[1, \"a\", \", \", \"b\", \"/x/y/z\"]",
                "\xef\xbb\xbf[1, \"a\", \", \", \"b\", \"dir-1/z\"]");
    /* of a text that is cut off nothing is learnt */
    redact_json("{\"x\": \"time\", \"user\": \"alice\", \"time",
                "{\"x\": \"time\", \"user\": \"user-1\", \"user-2");
}

/* Of what is cut off, or has a quote too many or none where it needs some. */
static void json_that_is_none_gives_nothing_away(void **state)
{
    (void)state;
    redact_json("{\"host_name\": \"node9\", \"path\": \"/home/alice/llm/mo",
                "{\"host_name\": \"host-1\", \"path\": \"dir-1/mo");
    redact_json("{\"password\": \"hunter22", "{\"password\": \"secret-1");
    redact_json("{\"env\": {\"A\": \"b c", "{\"env\": {\"A\": \"environment-1");
    redact_json("[{\"host_name\": \"node9\"}, {\"a\": \"x\"y\", \"b\": \"/x/y/z on node9\", "
                "\"password\": \"hunter22\", \"c\": [\"d\", {\"env\": {\"A\": \"b c\"}}]}]",
                "[{\"host_name\": \"host-1\"}, {\"a\": \"x\"y\", \"b\": \"dir-1/z on host-1\", "
                "\"password\": \"secret-1\", \"c\": [\"d\", {\"env\": {\"A\": "
                "\"environment-1\"}}]}]");
    redact_json("{'path': '/home/alice/llm/x.py', 'password': 'hunter22', 'of': [alice]}",
                "{'path': 'dir-1/x.py', 'password': 'secret-1', 'of': [user-1]}");
    redact_json("/home/alice/llm/x.py by alice", "dir-1/x.py by user-1");
    redact_json("{\"ip\": 10.1.2.3, \"x\": 1.5e3}", "{\"ip\": address-1, \"x\": 1.5e3}");
    /* words that are no JSON, but Python's and Kineto's */
    redact_json("[N/A, NaN, -Infinity, true, null, nan, -1.5E+7]",
                "[N/A, NaN, -Infinity, true, null, nan, -1.5E+7]");
    redact_json("[\"a\", \", \", \"b\", \": \", \"/x/y/z\"]",
                "[\"a\", \", \", \"b\", \": \", \"dir-1/z\"]");
}

/* Without quotes or brackets it is taken in parts. */
static void text_that_is_called_json_may_be_long(void **state)
{
    enum { SIZE = 3 << 20 };
    char *text = malloc(SIZE + 100), *wanted = malloc(SIZE + 100);
    (void)state;
    assert_non_null(text);
    assert_non_null(wanted);
    memset(text, 'x', SIZE);
    for (size_t i = 99; i < SIZE; i += 100)
        text[i] = '\n';
    memcpy(wanted, text, SIZE);
    strcpy(text + SIZE, "by 10.0.0.1");
    strcpy(wanted + SIZE, "by address-1");
    redact_json(text, wanted);
    free(wanted);
    free(text);
}

static void assert_not_redacted(const char *text, size_t size)
{
    hb_redactor r;
    hb_memory_sink out;
    FILE *file = fopen(in_dir("x.txt"), "w");
    assert_int_equal(fwrite(text, 1, size, file), size);
    fclose(file);
    assert_true(hb_redactor_init(&r));
    hb_memory_sink_init(&out, SIZE_MAX / 4);
    hb_redactor_begin_file(&r, "x.txt");
    assert_int_equal(hb_redact_json(&r, in_dir("x.txt"), &out.sink), HB_ERROR_UNSUPPORTED);
    assert_int_equal(hb_redact_lines(&r, in_dir("x.txt"), &out.sink), HB_ERROR_UNSUPPORTED);
    hb_memory_sink_free(&out);
    hb_redactor_free(&r);
}

/* Nothing would be found in it; a pack goes without. */
static void text_of_two_bytes_a_letter_is_left_out(void **state)
{
    hb_pack_options options = replacing();
    (void)state;
    assert_not_redacted("{\0}\0", 4);
    assert_not_redacted("\0{\0}", 4);
    assert_not_redacted("\xff\xfe{\0", 4);
    assert_not_redacted("\xfe\xff", 2);
    assert_not_redacted("{\0\0\0", 4);
    assert_not_redacted("\0\0\0{", 4);
    assert_not_redacted("\0\0\xfe\xff", 4);
    put_file("a.json", "\xff\xfe{");
    put_file("b.txt", "text");
    options.redact = true;
    const char *said = packed((const char *[]){in_dir("a.json"), in_dir("b.txt")}, 2, &options);
    assert_string_equal(said, "(it is UTF-16, which is not redacted: make UTF-8 of it), b.txt");
}

/* A file is read through a window, which may end anywhere in a string, or behind it. */
static void json_is_the_same_wherever_a_window_ends(void **state)
{
    enum { WINDOW = 1 << 17 };
    static const char text[] =
        "{\"host_name\" : \"node9\" , \"n\": [-1.25e5, true, 17], \"a\\\"b\\\\\" : "
        "[\"x\\\\\\\"y\", \"on node9\"],\n"
        "\"env\"\t:{\"A\" :\"b\\\"\"}, \"q\":\"\\/home\\/alice\\/q.py\", \"\" : \"\"}";
    static const char expected[] =
        "{\"host_name\" : \"host-1\" , \"n\": [-1.25e5, true, 17], \"a\\\"b\\\\\" : "
        "[\"x\\\\\\\"y\", \"on host-1\"],\n"
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

/* What a member's name says holds for its value alone, and for all that is in it. */
static void json_members_tell_of_their_values(void **state)
{
#define HEX "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    (void)state;
    redact_json("[{\"password\": \"hunter22\"}, \"hunter23\", [\"hunter24\"], \"hunter25\"]",
                "[{\"password\": \"secret-1\"}, \"hunter23\", [\"hunter24\"], \"hunter25\"]");
    redact_json("{\"password\": [\"hunter22\"], \"a\": \"hunter23\"}",
                "{\"password\": [\"secret-1\"], \"a\": \"hunter23\"}");
    redact_json("{\"a\": \"hunter22\", \"password\": \"hunter22\", \"b\": \"hunter22\"}",
                "{\"a\": \"hunter22\", \"password\": \"secret-1\", \"b\": \"hunter22\"}");
    redact_json("{\"git_commit\": \"" HEX "\", \"x\": \"" HEX "\", \"uuid\": \"" HEX "\"}",
                "{\"git_commit\": \"" HEX "\", \"x\": \"secret-1\", \"uuid\": \"" HEX "\"}");
    redact_json("{\"env\": {\"A\": {\"B\": [\"x y\"]}, \"C\": [[\"c d\"], \"17\", 18], \"E\": {}, "
                "\"F\": \"x y\"}, \"D\": \"x y\"}",
                "{\"env\": {\"A\": {\"B\": [\"environment-1\"]}, \"C\": [[\"environment-2\"], "
                "\"17\", 18], \"E\": {}, \"F\": \"environment-1\"}, \"D\": \"x y\"}");
    redact_json("[[{\"a\": \"x y\", \"environ\": [\"A=b\"], \"b\": \"A=b\"}, \"A=b\"], \"A=b\"]",
                "[[{\"a\": \"x y\", \"environ\": [\"environment-1\"], \"b\": \"A=b\"}, \"A=b\"], "
                "\"A=b\"]");
    redact_json("{\"env\": \"one\", \"a\": \"two\"}", "{\"env\": \"one\", \"a\": \"two\"}");
#undef HEX
}

static void redact_lines(const char *text, size_t size, const char *expected)
{
    hb_memory_sink out;
    redact_file(hb_redact_lines, "x.txt", (hb_str){text, (uint32_t)size}, &out);
    assert_string_equal(hb_buf_text(&out.buf), expected);
    hb_memory_sink_free(&out);
}

/* A frame stands at the beginning of its line, wherever the window ends. */
static void lines_are_the_same_wherever_a_window_ends(void **state)
{
    enum { WINDOW = 1 << 17 };
    static const char text[] = "from 10.0.0.1\n/a dir/b.py(12): f\n\n/a dir/c.py(3): g\n10.0.0.1";
    static const char expected[] =
        "from address-1\ndir-1/b.py(12): f\n\ndir-1/c.py(3): g\naddress-1";
    static char padded[WINDOW + sizeof text], wanted[WINDOW + sizeof expected];
    (void)state;
    for (size_t end = 0; end <= sizeof text - 1; end++) {
        memset(padded, ' ', WINDOW);
        memset(wanted, ' ', WINDOW);
        padded[WINDOW - end - 1] = wanted[WINDOW - end - 1] = '\n';
        memcpy(padded + WINDOW - end, text, sizeof text);
        memcpy(wanted + WINDOW - end, expected, sizeof expected);
        redact_lines(padded, WINDOW - end + sizeof text - 1, wanted);
    }
    redact_lines("", 0, "");
    redact_lines("\n", 1, "\n");
}

#define BEGIN_KEY "-----BEGIN RSA PRIVATE KEY-----\n"
#define END_KEY   "-----END RSA PRIVATE KEY-----\n"

static void keys_of_several_lines_are_one(void **state)
{
    enum { LONGEST = 64 << 10, WINDOW = 1 << 17 };
    static const char key[] = "a 10.0.0.1\n" BEGIN_KEY "MIIE\nabc/\n" END_KEY "b\n";
    static const char expected[] = "a address-1\nsecret-1\nb\n";
    static char text[2 * WINDOW], wanted[2 * WINDOW];
    (void)state;
    for (size_t end = 0; end < sizeof key; end++) { /* wherever a window ends */
        memset(text, ' ', WINDOW);
        memset(wanted, ' ', WINDOW);
        text[WINDOW - end - 1] = wanted[WINDOW - end - 1] = '\n';
        strcpy(text + WINDOW - end, key);
        strcpy(wanted + WINDOW - end, expected);
        redact_lines(text, strlen(text), wanted);
    }
    static const char *const cases[][2] = {
        {BEGIN_KEY "MIIE\nabc", "secret-1"}, /* cut off */
        {BEGIN_KEY "MIIE\nabc\n", "secret-1"},
        {"log: " BEGIN_KEY "log: MIIE\nlog: " END_KEY "by\n", "log: secret-1\nby\n"},
        {"-----BEGIN CERTIFICATE-----\nMIIE\n", "-----BEGIN CERTIFICATE-----\nMIIE\n"},
        {"-----BEGIN PRIVATE KEY-----M-----END PRIVATE KEY-----\nb\n", "secret-1\nb\n"},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++)
        redact_lines(cases[i][0], strlen(cases[i][0]), cases[i][1]);
    /* one that does not end is as long as keys are */
    strcpy(text, BEGIN_KEY);
    size_t size = strlen(text);
    while (size < LONGEST + 100)
        size += (size_t)sprintf(text + size, "MIIEabcdefghijklmnopqrstuvwxyz\n");
    strcpy(text + size, "behind it\nat 10.0.0.1\n");
    hb_memory_sink out;
    redact_file(hb_redact_lines, "x.txt", (hb_str){text, (uint32_t)strlen(text)}, &out);
    assert_memory_equal(hb_buf_text(&out.buf), "secret-1", 8);
    assert_non_null(strstr(hb_buf_text(&out.buf), "behind it\nat address-1\n"));
    hb_memory_sink_free(&out);
}

/* ---- event files ---- */

/* A field of protobuf that has a length; `inside` fields of such numbers, the innermost last. */
static void put_field(hb_buf *to, const unsigned *inside, size_t depth, hb_str bytes)
{
    hb_buf inner;
    hb_buf_init(&inner, SIZE_MAX / 4);
    if (depth > 1)
        put_field(&inner, inside + 1, depth - 1, bytes);
    else
        hb_buf_append(&inner, bytes.s, bytes.len);
    hb_buf_varint(to, *inside << 3 | 2);
    hb_buf_varint(to, inner.size);
    hb_buf_append(to, inner.data, inner.size);
    hb_buf_free(&inner);
}

static void put_record(hb_buf *to, const hb_buf *message)
{
    size_t at = to->size;
    hb_buf_u32(to, (uint32_t)message->size);
    hb_buf_u32(to, 0);
    hb_buf_u32(to, hb_crc32c_masked(to->data + at, 8));
    hb_buf_append(to, message->data, message->size);
    hb_buf_u32(to, hb_crc32c_masked(message->data, message->size));
}

/* As one of a tensor's strings, what add_text() writes and add_image() too. */
static void redact_event_text(hb_str text, hb_str expected)
{
    static const unsigned string_of_tensor[] = {5, 1, 8, 8};
    hb_redactor r;
    hb_memory_sink out;
    hb_buf message, record, wanted;
    bool cut;
    hb_buf *const all[] = {&message, &record, &wanted};
    for (size_t i = 0; i < HB_ARRAY_LEN(all); i++)
        hb_buf_init(all[i], SIZE_MAX / 4);
    put_field(&message, string_of_tensor, HB_ARRAY_LEN(string_of_tensor), text);
    put_record(&record, &message);
    message.size = 0;
    put_field(&message, string_of_tensor, HB_ARRAY_LEN(string_of_tensor), expected);
    put_record(&wanted, &message);
    FILE *file = fopen(in_dir("events"), "w");
    assert_int_equal(fwrite(record.data, 1, record.size, file), record.size);
    fclose(file);
    assert_true(hb_redactor_init(&r));
    hb_memory_sink_init(&out, SIZE_MAX / 4);
    hb_redactor_learnt(&r);
    hb_redactor_begin_file(&r, "events");
    assert_int_equal(hb_redact_events(&r, in_dir("events"), &out.sink, &cut), HB_OK);
    assert_false(cut);
    assert_int_equal(out.buf.size, wanted.size);
    assert_memory_equal(out.buf.data, wanted.data, wanted.size);
    for (size_t i = 0; i < HB_ARRAY_LEN(all); i++)
        hb_buf_free(all[i]);
    hb_memory_sink_free(&out);
    hb_redactor_free(&r);
}

/* Logs have colours, old ones letters that are no UTF-8. */
static void texts_of_any_letters_are_redacted(void **state)
{
    (void)state;
    redact_event_text(HB_STR("at 10.0.0.1"), HB_STR("at address-1"));
    redact_event_text(HB_STR("\x1b[32mINFO\x1b[0m /x/llm/y.py token=abcdef"),
                      HB_STR("\x1b[32mINFO\x1b[0m dir-1/y.py token=secret-1"));
    redact_event_text(HB_STR("caf\xe9 /x/llm/y.py"), HB_STR("caf\xe9 dir-1/y.py"));
    redact_event_text(HB_STR("a\0 10.0.0.1"), HB_STR("a\0 address-1"));
    redact_event_text(HB_STR("\x89PNG\r\n\0 10.0.0.1"), HB_STR("\x89PNG\r\n\0 10.0.0.1"));
}

/* Its time is the file's. */
static void a_file_comes_out_as_old_as_it_was(void **state)
{
    const struct timespec times[] = {{.tv_sec = 1600000000}, {.tv_sec = 1600000000}};
    const hb_pack_options options = replacing();
    struct stat st;
    (void)state;
    put_file("a.txt", "text");
    assert_int_equal(utimensat(AT_FDCWD, in_dir("a.txt"), times, 0), 0);
    assert_string_equal(packed((const char *[]){in_dir("a.txt")}, 1, &options), "a.txt");
    assert_int_equal(hb_unpack(in_dir("made.hbpack"), in_dir("out"), NULL, NULL), HB_OK);
    assert_int_equal(stat(in_dir("out/a.txt"), &st), 0);
    assert_int_equal(st.st_mtim.tv_sec, 1600000000);
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
        cmocka_unit_test(json_that_is_one_stays_one),
        cmocka_unit_test(json_that_is_none_gives_nothing_away),
        cmocka_unit_test(text_that_is_called_json_may_be_long),
        cmocka_unit_test(text_of_two_bytes_a_letter_is_left_out),
        cmocka_unit_test(keys_of_several_lines_are_one),
        cmocka_unit_test(texts_of_any_letters_are_redacted),
        cmocka_unit_test(names_of_members_have_a_length),
        IN_DIR(members_are_read_as_files),
        IN_DIR(more_members_than_sixteen_bits_count),
        IN_DIR(unpacking_gives_the_files_back),
        IN_DIR(an_error_of_the_program_is_none),
        IN_DIR(nothing_is_written_outside),
        IN_DIR(a_damaged_pack_is_an_error),
        IN_DIR(what_is_no_file_is_left_out),
        IN_DIR(names_in_a_pack_begin_where_the_paths_end),
        IN_DIR(files_that_become_one_are_told_of),
        IN_DIR(what_cannot_be_cut_is_left_out),
        IN_DIR(a_part_is_made_in_a_temporary_directory),
        IN_DIR(a_program_may_stop_packing),
        IN_DIR(a_call_that_is_interrupted_is_made_again),
        IN_DIR(a_pack_is_read_byte_by_byte),
        IN_DIR(a_pack_that_cannot_be_read_is_not_called_damaged),
        IN_DIR(a_file_that_cannot_be_read_is_not_packed),
        IN_DIR(a_text_that_is_cut_off_is_not_redacted),
        IN_DIR(a_report_tells_what_was_found),
        IN_DIR(json_keeps_all_else),
        IN_DIR(json_is_the_same_wherever_a_window_ends),
        IN_DIR(json_members_tell_of_their_values),
        IN_DIR(lines_are_the_same_wherever_a_window_ends),
        IN_DIR(a_file_comes_out_as_old_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
