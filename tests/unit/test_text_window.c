/* SPDX-License-Identifier: MIT
 *
 * A trace is read through a window, from files and streams: what is read of it does not depend on
 * where the window ends, and where the text ends all before it is kept.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <zlib.h>

#include "read/json_reader.h"
#include "read/text_window.h"
#include "test_dir.h"

/* ---- a disk that can't be read ---- */

static off_t unreadable_from = -1; /* of the test's file */
static ino_t unreadable;

static bool can_be_read(int fd, off_t at, size_t *size)
{
    struct stat st;
    if (unreadable_from < 0 || fstat(fd, &st) != 0 || st.st_ino != unreadable) return true;
    *size = HB_MIN(*size, (size_t)HB_MAX(unreadable_from - at, 0));
    if (*size == 0) errno = EIO;
    return *size > 0;
}

/* In place of the C library's, also for hipboard. */
ssize_t read(int fd, void *to, size_t size)
{
    if (size && !can_be_read(fd, lseek(fd, 0, SEEK_CUR), &size)) return -1;
    return syscall(SYS_read, fd, to, size);
}

ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    if (size && !can_be_read(fd, at, &size)) return -1;
    return syscall(SYS_pread64, fd, to, size, at);
}

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
    hb_result expected = unreadable_from >= 0 ? HB_ERROR_IO : HB_ERROR_FORMAT;
    assert_int_equal(text.result, *text.error ? expected : HB_OK);
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

/* ---- standard input ---- */

/* What is read of standard input, which is `fd`, and why no more. */
static const char *read_input(int fd, hb_text_form form, hb_buf *all)
{
    static char why[160];
    hb_text text;
    int before = dup(STDIN_FILENO);
    assert_true(before >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO);
    hb_buf_init(all, (size_t)1 << 30);
    hb_result result = hb_text_open(&text, "-", form);
    snprintf(why, sizeof why, "%s", result == HB_OK ? "" : hb_last_error());
    if (result == HB_OK) {
        do
            hb_buf_append(all, text.data, text.size);
        while (hb_text_more(&text, text.size));
        snprintf(why, sizeof why, "%s", text.error);
        hb_text_close(&text);
    }
    assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0); /* it stays open */
    dup2(before, STDIN_FILENO);
    close(before);
    return why;
}

static const char *read_pipe(const char *bytes, size_t size, hb_text_form form, hb_buf *all)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t writer = fork();
    if (writer == 0) { /* one by one, so that what is read at once is less than what is there */
        close(ends[0]);
        for (size_t i = 0; i < size; i += 1 + 1000 * (i > 8))
            if (write(ends[1], bytes + i, i > 8 ? HB_MIN(size - i, (size_t)1001) : 1) < 0) _exit(1);
        _exit(0);
    }
    close(ends[1]);
    const char *why = read_input(ends[0], form, all);
    close(ends[0]);
    waitpid(writer, NULL, 0);
    return why;
}

static void streams_begin_as_they_are(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *why; /* read as it is found to be */
    } cases[] = {{"", 0, ""},
                 {"a", 1, ""},
                 {"ab", 2, ""},
                 {"abc", 3, ""},
                 {"abcd", 4, ""},
                 {"abcdefghij", 10, ""},
                 {"\x1f", 1, ""},
                 {"\x1f\x8c\0\0", 4, ""},
                 {"\x1e\x8b\0\0", 4, ""},
                 {"\x1f\x8b", 2, "the gzip stream is cut off"},
                 {"\x1f\x8b\x08\0", 4, "the gzip stream is cut off"},
                 {"\x28\xb5\x2f", 3, ""},
                 {"\x28\xb5\x2f\xfe", 4, ""}};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_buf all;
        const char *why = read_pipe(cases[i].bytes, cases[i].size, HB_TEXT_AUTO, &all);
        if (strcmp(why, cases[i].why) != 0) fail_msg("case %zu: %s", i, why);
        assert_int_equal(all.size, *why ? 0 : cases[i].size);
        if (all.size) assert_memory_equal(all.data, cases[i].bytes, all.size);
        hb_buf_free(&all);
        /* as plain text all of it is text, and as gzip nothing but that */
        assert_string_equal(read_pipe(cases[i].bytes, cases[i].size, HB_TEXT_PLAIN, &all), "");
        assert_int_equal(all.size, cases[i].size);
        hb_buf_free(&all);
        why = read_pipe(cases[i].bytes, cases[i].size, HB_TEXT_GZIP, &all);
        assert_string_equal(why, *cases[i].why ? cases[i].why : "not a gzip file");
        hb_buf_free(&all);
    }
}

static void compressed_streams_are_read_from_pipes(void **state)
{
    static char bytes[4000];
    hb_buf all;
    (void)state;
    write_file("", 0);
    append_gzip("one, ", 5);
    append_gzip("two", 3);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    static const hb_text_form forms[] = {HB_TEXT_AUTO, HB_TEXT_GZIP};
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(read_pipe(bytes, size, forms[i], &all), "");
        assert_int_equal(all.size, 8);
        assert_memory_equal(all.data, "one, two", 8);
        hb_buf_free(&all);
    }
    assert_string_equal(read_pipe(bytes, size, HB_TEXT_PLAIN, &all), "");
    assert_int_equal(all.size, size);
    hb_buf_free(&all);
}

/* It may have been read from before; what is compressed is seen from there on, too. */
static void a_file_is_read_from_where_it_stands(void **state)
{
    hb_buf all;
    (void)state;
    for (int gzip = 0; gzip < 2; gzip++)
        for (int form = 0; form < 2; form++) {
            write_file("before", 6);
            if (gzip)
                append_gzip("behind", 6);
            else
                append_bytes("behind", 6);
            int fd = open(path, O_RDONLY | O_CLOEXEC);
            assert_int_equal(lseek(fd, 6, SEEK_SET), 6);
            const char *why = read_input(fd, form ? HB_TEXT_GZIP : HB_TEXT_AUTO, &all);
            if (form && !gzip) {
                assert_string_equal(why, "not a gzip file");
            } else {
                assert_string_equal(why, "");
                assert_int_equal(all.size, 6);
                assert_memory_equal(all.data, "behind", 6);
            }
            hb_buf_free(&all);
            close(fd);
        }
}

static off_t size_of_file(void)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    unreadable = st.st_ino;
    return st.st_size;
}

/* No disk stops within the first bytes, by which files are told apart. */
static void assert_never_read(const char *what)
{
    for (off_t from = 0, size = size_of_file(); from < size; from = HB_MAX(from + 1, 4)) {
        hb_trace trace;
        hb_read_report report;
        hb_read_options options = {0};
        unreadable_from = from;
        hb_result result = hb_read_trace(path, &options, &trace, &report);
        unreadable_from = -1;
        /* all of the text was there, and its checksum was not */
        bool told = result == HB_OK && trace.rows.count == 4 && report.num_notes == 1 &&
                    strcmp(report.cut_reason, strerror(EIO)) == 0;
        bool lost = result == HB_ERROR_IO && strstr(hb_last_error(), strerror(EIO));
        if (!lost && !(told && from >= size - 10))
            fail_msg("%s, %lld of %lld bytes: %d, %s", what, (long long)from, (long long)size,
                     result, hb_last_error());
        hb_trace_free(&trace);
    }
}

/* It is not taken for one that is cut off, of which what is there counts, nor for a whole one. */
static void a_file_that_cannot_be_read_on_is_lost(void **state)
{
    static const char text[] = HEAD FIRST "," SECOND ODD TAIL;
    const size_t size = sizeof text - 2; /* to the last brace */
    (void)state;
    write_file(text, size);
    assert_never_read("plain");
    write_file("", 0);
    append_gzip(text, size);
    assert_never_read("gzip");
    write_file("", 0);
    append_gzip(text, 100);
    append_gzip(text + 100, size - 100);
    assert_never_read("gzip of two members");
    for (size_t from = 0; from < 4; from++) { /* a trace that is whole before */
        write_file("", 0);
        append_gzip(text, size);
        off_t whole = size_of_file();
        append_gzip(" ", 1);
        unreadable_from = whole + (off_t)from;
        hb_buf all;
        assert_string_equal(read_file(&all), strerror(EIO));
        unreadable_from = -1;
        hb_buf_free(&all);
    }
}

static void what_is_no_zstd_behind_its_first_bytes(void **state)
{
    hb_buf all;
    (void)state;
    if (!dlopen("libzstd.so.1", RTLD_LAZY)) skip();
    /* a frame of 2 MiB, and a block of a kind that there is not */
    write_file("\x28\xb5\x2f\xfd\0\x58\x07\0\0\0\0\0\0\0\0\0", 16);
    assert_string_equal(read_file(&all), "damaged zstd stream");
    hb_buf_free(&all);
    write_file("\x28\xb5\x2f\xfd", 4);
    assert_string_equal(read_file(&all), "the zstd stream is cut off");
    hb_buf_free(&all);
}

/* The last of a frame's blocks may lie across the end of what is inflated at a time: all has been
 * read of the file then, and some is still to come. */
static void zstd_frames_of_all_sizes(void **state)
{
    enum { BLOCK = 1 << 20, PIECE = 100 << 10, REST = 974 << 10 };
    static const size_t sizes[][2] = {{PIECE, REST},          {BLOCK, 1},     {0, BLOCK},
                                      {PIECE, BLOCK - PIECE}, {1, 3 * BLOCK}, {5 * BLOCK, 0}};
    void *library = dlopen("libzstd.so.1", RTLD_LAZY);
    size_t (*compress)(void *, size_t, const void *, size_t, int);
    char *text = malloc(6 * BLOCK), *packed = malloc(6 * BLOCK);
    (void)state;
    if (!library) skip();
    void *symbol = dlsym(library, "ZSTD_compress");
    memcpy(&compress, &symbol, sizeof compress);
    for (size_t i = 0; i < 6 * BLOCK; i++)
        text[i] = (char)('a' + i / 7 % 26);
    for (size_t i = 0; i < HB_ARRAY_LEN(sizes); i++) {
        hb_buf all;
        size_t n = compress(packed, 6 * BLOCK, text, sizes[i][0], 1);
        n += compress(packed + n, 6 * BLOCK - n, text + sizes[i][0], sizes[i][1], 1);
        write_file(packed, n);
        assert_string_equal(read_file(&all), "");
        assert_int_equal(all.size, sizes[i][0] + sizes[i][1]);
        assert_memory_equal(all.data, text, all.size);
        hb_buf_free(&all);
    }
    free(text);
    free(packed);
}

/* ---- the list of events, behind what is damaged ---- */

/* Wherever the window ends it is found, also by a name that is there before and is no list. */
static void a_list_is_found_behind_damage_wherever_the_window_ends(void **state)
{
    enum { WINDOW = 1 << 17 };
    static const char head[] = "{\"a\": [1, 2, \"traceEvents\": 5, \"traceEvents\" [";
    static const char list[] =
        "\"traceEvents\" : \n [{\"ph\": \"X\", \"name\": \"first\"}], \"b\": 7}";
    static char text[2 * WINDOW];
    (void)state;
    for (size_t end = 0; end <= sizeof list - 1; end++) {
        hb_trace trace;
        hb_read_report report;
        hb_read_options options = {0};
        memset(text, ' ', sizeof text);
        memcpy(text, head, sizeof head - 1);
        memcpy(text + WINDOW - end, list, sizeof list - 1);
        write_file(text, WINDOW - end + sizeof list - 1);
        if (hb_read_trace(path, &options, &trace, &report) != HB_OK)
            fail_msg("window ends before '%s': %s", &list[end], hb_last_error());
        assert_int_equal(trace.rows.count, 1);
        assert_string_equal(name_of(&trace, 0), "first");
        assert_string_equal(hb_trace_member(&trace, "b").s, "7");
        assert_int_equal(report.num_notes, 1);
        assert_int_equal(report.notes[0].defect, HB_JSON_DEFECT_DAMAGED);
        hb_trace_free(&trace);
    }
}

/* ---- many readers ---- */

/* Of a text with something odd in every seventh event all is noted alike, whoever reads it. */
static void notes_are_the_same_however_many_read(void **state)
{
    enum { EVENTS = 2000 };
    hb_buf text;
    hb_read_report first = {0};
    (void)state;
    hb_buf_init(&text, (size_t)1 << 28);
    hb_buf_str(&text, "{\"traceEvents\": [\n");
    for (int i = 0; i < EVENTS; i++)
        hb_buf_printf(&text, "%s{\"ph\": \"X\", \"name\": \"event%s%d\", \"ts\": %d}",
                      i ? ",\n" : "",
                      i % 7   ? " "
                      : i % 2 ? "\t"
                              : "\377",
                      i, i);
    hb_buf_str(&text, "]}");
    write_file(text.data, text.size);
    hb_buf_free(&text);
    for (unsigned readers = 1; readers <= 4; readers++)
        for (unsigned size = 500; size <= 5000; size += 1500) {
            hb_trace trace;
            hb_read_report report;
            hb_read_options options = {.num_readers = readers, .chunk_size = size};
            assert_int_equal(hb_read_trace(path, &options, &trace, &report), HB_OK);
            assert_int_equal(trace.rows.count, EVENTS);
            assert_int_equal(report.num_notes, HB_READ_MAX_NOTES);
            assert_int_equal(report.counts[HB_JSON_DEFECT_CONTROL], EVENTS / 14 + 1);
            assert_int_equal(report.counts[HB_JSON_DEFECT_BAD_UTF8], EVENTS / 14 + 1);
            if (readers == 1 && size == 500) first = report;
            assert_memory_equal(first.notes, report.notes, sizeof first.notes);
            assert_true(first.bytes == report.bytes);
            hb_trace_free(&trace);
        }
}

/* Of an event or a member each sort of what is odd is told once, and four of them at most. */
static void a_unit_tells_each_sort_once(void **state)
{
    static const struct {
        const char *name;
        unsigned notes, controls, escapes;
    } cases[] = {{"a", 0, 0, 0},
                 {"a\tb", 1, 1, 0},
                 {"a\tb\tc\td", 1, 1, 0},
                 {"a\tb\\q\tc\\q", 2, 1, 1},
                 {"a\t\\q\377", 3, 1, 1},
                 {"a\t\\q\377\355\240\200", 4, 1, 1},
                 {"a\t\\q\377\355\240\200 \"x\" y", 4, 1, 1}};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        char text[200];
        hb_trace trace;
        hb_read_report report;
        hb_read_options options = {0};
        int n = snprintf(text, sizeof text,
                         "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"%s\"}]}", cases[i].name);
        assert_int_equal(hb_read_trace_memory(text, (size_t)n, &options, &trace, &report), HB_OK);
        assert_int_equal(report.num_notes, cases[i].notes);
        assert_int_equal(report.counts[HB_JSON_DEFECT_CONTROL], cases[i].controls);
        assert_int_equal(report.counts[HB_JSON_DEFECT_BAD_ESCAPE], cases[i].escapes);
        hb_trace_free(&trace);
    }
}

/* ---- progress ---- */

typedef struct calls {
    unsigned count, stop_at;
    uint64_t bytes[16], total;
} calls;

static bool note_call(void *context, uint64_t bytes, uint64_t total)
{
    calls *c = context;
    assert_in_range(c->count, 0, 15);
    c->bytes[c->count++] = bytes;
    c->total = total;
    return c->count != c->stop_at;
}

/* It is told at the first event, and each 8 MiB from there on. */
static void progress_is_told_each_8_mib(void **state)
{
    enum { EVENT = 1000, EVENTS = 20000, STEP = 8 << 20 };
    char *text = malloc((size_t)EVENT * EVENTS + 100), *p = text;
    (void)state;
    p += sprintf(p, "{\"traceEvents\": [");
    size_t head = (size_t)(p - text);
    for (int i = 0; i < EVENTS; i++) {
        memset(p, ' ', EVENT);
        memcpy(p, "{\"ph\": \"M\"}", 11);
        p[EVENT - 1] = i < EVENTS - 1 ? ',' : ' ';
        p += EVENT;
    }
    p += sprintf(p, "]}");
    for (unsigned stop_at = 0; stop_at < 4; stop_at++) {
        hb_trace trace;
        hb_read_report report;
        calls c = {.stop_at = stop_at};
        hb_read_options options = {.progress = note_call, .context = &c};
        hb_result result =
            hb_read_trace_memory(text, (size_t)(p - text), &options, &trace, &report);
        assert_int_equal(result, stop_at ? HB_ERROR_STATE : HB_OK);
        assert_int_equal(c.count, stop_at ? stop_at : 3);
        assert_true(c.total == (uint64_t)(p - text));
        for (unsigned i = 0; i < c.count; i++) { /* behind an event, or at the next one */
            uint64_t least = i ? c.bytes[i - 1] + STEP : head + 11;
            assert_in_range(c.bytes[i], least, least + EVENT - 1);
        }
        if (stop_at) {
            char wanted[60];
            snprintf(wanted, sizeof wanted, "stopped at byte %llu",
                     (unsigned long long)c.bytes[stop_at - 1]);
            assert_string_equal(hb_last_error(), wanted);
        }
        hb_trace_free(&trace);
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
        IN_DIR(streams_begin_as_they_are),
        IN_DIR(compressed_streams_are_read_from_pipes),
        IN_DIR(a_file_is_read_from_where_it_stands),
        IN_DIR(a_file_that_cannot_be_read_on_is_lost),
        IN_DIR(what_is_no_zstd_behind_its_first_bytes),
        IN_DIR(zstd_frames_of_all_sizes),
        IN_DIR(a_list_is_found_behind_damage_wherever_the_window_ends),
        IN_DIR(notes_are_the_same_however_many_read),
        cmocka_unit_test(a_unit_tells_each_sort_once),
        IN_DIR(progress_is_told_each_8_mib),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
