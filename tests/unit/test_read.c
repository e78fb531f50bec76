/* SPDX-License-Identifier: MIT
 *
 * Reading traces: what is taken from a file, what is lived with, what is refused.
 */
#include <dirent.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "read/inflate.h"
#include "read/json_reader.h"

typedef struct loaded {
    hb_result result;
    hb_trace trace;
    hb_read_report report;
} loaded;

static loaded load_text(const char *text, size_t size, bool strict)
{
    loaded l;
    hb_read_options options = {.strict = strict};
    l.result = hb_read_trace_memory(text, size, &options, &l.trace, &l.report);
    return l;
}

static loaded load(const char *text)
{
    return load_text(text, strlen(text), false);
}

static void unload(loaded *l)
{
    hb_trace_free(&l->trace);
}

static const char *name_of(const loaded *l, uint32_t i)
{
    return hb_trace_text(&l->trace, hb_trace_row(&l->trace, i)->name).s;
}

static void test_an_operator(void **state)
{
    (void)state;
    loaded l =
        load("{\"schemaVersion\": 1, \"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\","
             "\"name\": \"aten::mm\", \"pid\": 7, \"tid\": \"t8\", \"ts\": 12.25, \"dur\": 3,"
             "\"args\": {\"External id\": 5, \"Input Dims\": [[2, 3], []]}}]}");
    assert_int_equal(l.result, HB_OK);
    assert_int_equal(l.trace.rows.count, 1);
    const hb_row *row = hb_trace_row(&l.trace, 0);
    assert_int_equal(row->kind, HB_KIND_OPERATOR);
    assert_string_equal(name_of(&l, 0), "aten::mm");
    assert_true(hb_plugin_ts(&l.trace, row) == 12.25 && hb_plugin_dur(&l.trace, row) == 3);
    assert_false(row->flags & HB_ROW_TS_INT);
    assert_true(row->flags & HB_ROW_DUR_INT);
    assert_true(hb_row_key(&l.trace, row) == hb_key_int(5));
    assert_true(hb_row_pid_key(&l.trace, row) == hb_key_int(7));
    assert_int_equal(hb_key_tag(hb_row_tid_key(&l.trace, row)), HB_KEY_TAG_TEXT);
    assert_string_equal(hb_trace_text(&l.trace, hb_trace_op(&l.trace, row)->dims).s,
                        "[[2, 3], []]");
    assert_string_equal(hb_trace_member(&l.trace, "schemaVersion").s, "1");
    assert_int_equal(l.report.num_notes, 0);
    unload(&l);
}

static void test_kinds_by_category_and_phase(void **state)
{
    (void)state;
    static const struct {
        const char *event;
        hb_kind kind;
    } cases[] = {
        {"{\"ph\":\"X\",\"cat\":\"Operator\",\"name\":\"a\"}", HB_KIND_OPERATOR},
        {"{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"a\"}", HB_KIND_ANNOTATION},
        {"{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"a\"}", HB_KIND_RUNTIME},
        {"{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"a\"}", HB_KIND_CALL},
        {"{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"a\"}", HB_KIND_KERNEL},
        {"{\"ph\":\"x\",\"cat\":\"Kernel\",\"name\":\"a\"}", HB_KIND_OTHER},
        {"{\"ph\":\"i\",\"cat\":\"any\",\"name\":\"[memory]\"}", HB_KIND_MEMORY},
        {"{\"ph\":\"I\",\"name\":\"[memory]\"}", HB_KIND_OTHER},
        {"{\"ph\":\"M\",\"cat\":\"forward_backward\",\"name\":\"a\"}", HB_KIND_FLOW},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        char text[256];
        snprintf(text, sizeof text, "{\"traceEvents\":[%s]}", cases[i].event);
        loaded l = load(text);
        assert_int_equal(l.result, HB_OK);
        assert_int_equal(hb_trace_row(&l.trace, 0)->kind, cases[i].kind);
        unload(&l);
    }
}

static void test_equal_scalars_are_one_key(void **state)
{
    (void)state;
    static const char text[] =
        "{\"traceEvents\":[{\"pid\":1,\"tid\":1.0},{\"pid\":true,\"tid\":1e0},"
        "{\"pid\":\"1\",\"tid\":\"\\u0031\"},{\"pid\":null}]}";
    loaded l = load_text(text, strlen(text), true);
    assert_int_equal(l.result, HB_OK);
    const hb_row *a = hb_trace_row(&l.trace, 0), *b = hb_trace_row(&l.trace, 1);
    const hb_row *c = hb_trace_row(&l.trace, 2), *d = hb_trace_row(&l.trace, 3);
    const hb_track *one = hb_row_track(&l.trace, a), *text_one = hb_row_track(&l.trace, c);
    assert_true(one->pid == one->tid && a->track == b->track);
    assert_true(text_one->pid == text_one->tid && text_one->pid != one->pid);
    assert_true(hb_row_pid_key(&l.trace, d) == HB_KEY_NONE);
    assert_true(hb_row_tid_key(&l.trace, d) == HB_KEY_NONE);
    unload(&l);
}

static void test_names_of_members_may_have_escapes(void **state)
{
    (void)state;
    loaded l = load("{\"traceEvents\":[{\"p\\u0068\":\"X\",\"c\\u0061t\":\"cpu_op\","
                    "\"n\\u0061me\":\"a\",\"\\u0074s\":5,\"d\\u0075r\":2,\"\\u0061rgs\":"
                    "{\"External\\u0020id\":7,\"Input D\\u0069ms\":[[3]]}}]}");
    assert_int_equal(l.result, HB_OK);
    const hb_row *row = hb_trace_row(&l.trace, 0);
    assert_int_equal(row->kind, HB_KIND_OPERATOR);
    assert_string_equal(name_of(&l, 0), "a");
    assert_true(row->start == 5000 && row->duration == 2000);
    assert_true(hb_row_key(&l.trace, row) == hb_key_int(7));
    assert_string_equal(hb_trace_text(&l.trace, hb_trace_op(&l.trace, row)->dims).s, "[[3]]");
    unload(&l);
}

/* Those that are equal are one, as in Python, and no others. */
static void test_numbers_are_one_key_where_they_are_equal(void **state)
{
    static const struct {
        const char *one, *other;
        bool equal;
    } rows[] = {
        {"999999999999999", "999999999999999.0", true},
        {"-999999999999999", "-999999999999999.0", true},
        {"-500000000000000000", "-5e17", true},
        {"999999999999999872", "9.99999999999999872e17", true},
        {"1000000000000000001", "1e18", false},
        {"4611686018427387909", "5", false}, /* 2^62 + 5 */
        {"-4611686018427387899", "5", false},
        {"2305843009213693952", "-2305843009213693952", false}, /* 2^61 */
        {"2305843009213693951", "2305843009213693952", false},
        {"9223372036854775807", "-1", false},
        {"9223372036854775808", "9223372036854775808", true},
        {"18446744073709551615", "-1", false},
        {"0", "-0", true},
        {"0", "-0.0", true},
        {"0.5", "5e-1", true},
        {"0.5", "0", false},
        {"1e300", "1e301", false},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        char text[200];
        snprintf(text, sizeof text, "{\"traceEvents\":[{\"pid\":%s,\"tid\":%s}]}", rows[i].one,
                 rows[i].other);
        loaded l = load(text);
        assert_int_equal(l.result, HB_OK);
        const hb_track *track = hb_row_track(&l.trace, hb_trace_row(&l.trace, 0));
        if ((track->pid == track->tid) != rows[i].equal)
            fail_msg("%s, %s", rows[i].one, rows[i].other);
        unload(&l);
    }
}

/* What PyTorch 1.8 wrote so, and other writers. */
static void test_numbers_in_quotes(void **state)
{
    (void)state;
    static const char text[] =
        "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"3\",\"pid\":\"0\",\"tid\":"
        "\"stream 7\","
        "\"ts\":\"12.5\",\"dur\":\"-3e1\",\"args\":{\"External id\":\"5\",\"correlation\":\"6\","
        "\"device\":\"0\"}},{\"ts\":\"12.5 \",\"dur\":\"\",\"pid\":\"-\"}]}";
    loaded l = load(text);
    assert_int_equal(l.result, HB_OK);
    const hb_row *row = hb_trace_row(&l.trace, 0), *odd = hb_trace_row(&l.trace, 1);
    assert_string_equal(name_of(&l, 0), "3");
    assert_true(hb_plugin_ts(&l.trace, row) == 12.5 && hb_plugin_dur(&l.trace, row) == -30 &&
                row->flags & HB_ROW_TS);
    assert_true(hb_row_key(&l.trace, row) == hb_key_int(5) &&
                hb_row_pid_key(&l.trace, row) == hb_key_int(0));
    assert_true(hb_row_correlation_key(&l.trace, row) == hb_key_int(6));
    assert_int_equal(hb_trace_launch_of(&l.trace, row)->device_state, HB_NUMBER_INT);
    assert_int_equal(hb_key_tag(hb_row_tid_key(&l.trace, row)), HB_KEY_TAG_TEXT);
    assert_false(odd->flags & (HB_ROW_TS | HB_ROW_DUR));
    unload(&l);
    l = load_text(text, strlen(text), true);
    assert_false(hb_trace_row(&l.trace, 0)->flags & HB_ROW_TS);
    unload(&l);
}

static void test_last_of_equal_members_wins(void **state)
{
    (void)state;
    loaded l = load("{\"traceEvents\":[{}],\"a\":1,\"traceEvents\":[{\"name\":\"x\",\"name\":\"y\","
                    "\"args\":{\"Addr\":1},\"args\":{}},{}],\"a\":2}");
    assert_int_equal(l.result, HB_OK);
    assert_int_equal(l.trace.rows.count, 2);
    assert_string_equal(name_of(&l, 0), "y");
    assert_string_equal(hb_trace_member(&l.trace, "a").s, "2");
    unload(&l);
}

static void test_a_member_may_have_a_long_name(void **state)
{
    (void)state;
    enum { SIZE = 3 << 20 };
    char *text = malloc(SIZE + 100);
    assert_non_null(text);
    char *p = stpcpy(text, "{\"\\u0061");
    memset(p, 'b', SIZE);
    strcpy(p + SIZE, "\": 7, \"traceEvents\": [{\"name\": \"x\"}]}");
    loaded l = load(text);
    free(text);
    assert_int_equal(l.result, HB_OK);
    assert_string_equal(name_of(&l, 0), "x");
    assert_int_equal(l.trace.num_members, 1);
    hb_str name = hb_trace_text(&l.trace, l.trace.members[0].key);
    assert_int_equal(name.len, SIZE + 1);
    assert_memory_equal(name.s, "abb", 3);
    unload(&l);
}

static void test_defects_are_lived_with_and_noted(void **state)
{
    (void)state;
    static const struct {
        const char *text, *name;
        hb_json_defect defect;
        uint64_t offset;
    } cases[] = {
        {"{\"traceEvents\":[{\"name\":\"a\tb\"}]}", "a\tb", HB_JSON_DEFECT_CONTROL, 26},
        {"{\"traceEvents\":[{\"name\":\"C:\\dir\"}]}", "C:\\dir", HB_JSON_DEFECT_BAD_ESCAPE, 27},
        {"{\"traceEvents\":[{\"name\":\"a\xff\"}]}", "a\xff", HB_JSON_DEFECT_BAD_UTF8, 26},
        {"{\"traceEvents\":[{\"name\":N/A}]}", "N/A", HB_JSON_DEFECT_BARE_NA, 24},
        {"{\"traceEvents\":[{\"name\":\"a \"b\", c\",\n\"ph\":\"X\"}]}", "a \"b\", c",
         HB_JSON_DEFECT_QUOTE, 27},
        {"{\"traceEvents\":[{\"name\":\"a\"},]}", "a", HB_JSON_DEFECT_TRAILING_COMMA, 29},
        {"{\"traceEvents\":[{\"name\":\"a\"}]} x", "a", HB_JSON_DEFECT_EXTRA, 31},
        {"[{\"name\":\"a\"}]", "a", HB_JSON_DEFECT_BARE_ARRAY, 0},
        {"{\"traceEvents\":[{\"name\":\"a\"},{\"name", "a", HB_JSON_DEFECT_CUT, 29},
        {"{\"traceEvents\":[{\"name\":\"a\"},{\"x\":tru", "a", HB_JSON_DEFECT_CUT, 29},
        {"{\"traceEvents\":[{\"name\":\"a\"}", "a", HB_JSON_DEFECT_CUT, 28},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        loaded l = load(cases[i].text);
        assert_int_equal(l.result, HB_OK);
        assert_int_equal(l.trace.rows.count, 1);
        assert_string_equal(name_of(&l, 0), cases[i].name);
        assert_int_equal(l.report.num_notes, 1);
        assert_int_equal(l.report.notes[0].defect, cases[i].defect);
        assert_int_equal(l.report.notes[0].offset, cases[i].offset);
        unload(&l);
    }
}

static void test_damage_costs_what_it_hit(void **state)
{
    (void)state;
    static const struct {
        const char *text, *names; /* of the events that are left */
        uint64_t offset;
        bool metadata;
    } cases[] = {
        {"{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\"},{\"ph\":\"X\",\"ts\" 1,\"name\":\"b\"},"
         "{\"ph\":\"X\",\"name\":\"c\"}],\"after\":1}",
         "ac", 53, true},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\"} "
         "{\"ph\":\"X\",\"name\":\"c\"}],\"after\":1}",
         "ac", 38, true},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\"},garbage,{\"x\":{\"y\":1}},"
         "{\"ph\":\"X\",\"name\":\"c\"}],\"after\":1}",
         "ac", 38, true},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\"},{\"ph\":\"X\",\"args\":{\"x\":01}}],"
         "\"after\":1}",
         "a", 61, false},
        {"{\"before\":[1,2,\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\"}],\"after\":1}", "a", 28,
         true},
        {"{\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\"}],\"after\" 1}", "a", 47, false},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        loaded l = load(cases[i].text);
        assert_int_equal(l.result, HB_OK);
        assert_int_equal(l.trace.rows.count, strlen(cases[i].names));
        for (uint32_t k = 0; k < l.trace.rows.count; k++)
            assert_int_equal(name_of(&l, k)[0], cases[i].names[k]);
        assert_int_equal(l.report.num_notes, 1);
        assert_int_equal(l.report.notes[0].defect, HB_JSON_DEFECT_DAMAGED);
        assert_int_equal(l.report.notes[0].offset, cases[i].offset);
        assert_int_equal(hb_trace_member(&l.trace, "after").len, cases[i].metadata);
        unload(&l);
        l = load_text(cases[i].text, strlen(cases[i].text), true);
        assert_int_equal(l.result, HB_ERROR_FORMAT);
        unload(&l);
    }
}

/* Each brace could begin an event: looking for one must not take a time that grows by its square.
 */
static void test_search_is_bounded(void **state)
{
    (void)state;
    static const char *const pieces[] = {"{\"a\":", "{", "{\"a\":[[[[", "{\"a\":\"{",
                                         "\"traceEvents\""};
    enum { SIZE = (1 << 22) / FEWER };
    char *text = malloc(SIZE + 64);
    for (size_t i = 0; i < HB_ARRAY_LEN(pieces); i++) {
        size_t n = (size_t)sprintf(text, "{\"traceEvents\":[{\"ph\":\"X\"},");
        for (size_t len = strlen(pieces[i]); n < SIZE; n += len)
            memcpy(text + n, pieces[i], len + 1);
        loaded l = load_text(text, n, false);
        assert_int_equal(l.result, HB_OK);
        assert_int_equal(
            l.report.counts[HB_JSON_DEFECT_DAMAGED] + l.report.counts[HB_JSON_DEFECT_CUT], 1);
        unload(&l);
    }
    free(text);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "   ",
                                        "null",
                                        "7",
                                        "hello",
                                        "{}",
                                        "{\"traceEvents\":null}",
                                        "{\"traceEvents\":7}",
                                        "{\"traceEvents\":[{\"a\" 1},{}]} and more text",
                                        "{\"traceEvents\":[{\"a\":01},{},{},{}]}",
                                        "{\"traceEvents\":[{\"a\":1.}]}                  ",
                                        "{\"traceEvents\":[{\"a\":tru1}]}                  "};
    for (size_t i = 0; i < HB_ARRAY_LEN(texts); i++) {
        loaded l = load(texts[i]);
        assert_int_equal(l.result, HB_ERROR_FORMAT);
        unload(&l);
    }
}

static void test_strict_refuses_what_python_refuses(void **state)
{
    (void)state;
    static const char *const texts[] = {"[{}]",
                                        "{\"traceEvents\":[{}],}",
                                        "{\"traceEvents\":[{},]}",
                                        "{\"traceEvents\":[]} x",
                                        "{\"traceEvents\":[{\"name\":\"a\"b\"}]}",
                                        "{\"traceEvents\":[{}",
                                        "{\"traceEvents\":[{},{"};
    for (size_t i = 0; i < HB_ARRAY_LEN(texts); i++) {
        loaded l = load_text(texts[i], strlen(texts[i]), true);
        assert_int_equal(l.result, HB_ERROR_FORMAT);
        unload(&l);
    }
}

static void test_deep_nesting_is_an_error(void **state)
{
    (void)state;
    enum { DEPTH = 1000000 };
    char *text = malloc(DEPTH + 64);
    int n = sprintf(text, "{\"traceEvents\":[{\"args\":{\"x\":");
    memset(text + n, '[', DEPTH);
    loaded l = load_text(text, (size_t)n + DEPTH, false);
    assert_int_equal(l.result, HB_ERROR_FORMAT);
    assert_non_null(strstr(hb_last_error(), "nested too deeply"));
    unload(&l);
    free(text);
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"0", 0},
                 {"-0.5", -0.5},
                 {"4439526338488.123", 4439526338488.123},
                 {"1e3", 1000},
                 {"123456789012345678901234567890", 123456789012345678901234567890.0},
                 {"0.1", 0.1},
                 {"5e-324", 5e-324},
                 {"1795256296196340551", 1795256296196340551.0},
                 {"2.5E+2", 250},
                 {"9007199254740993.5", 9007199254740993.5}};
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        char text[128];
        snprintf(text, sizeof text, "{\"traceEvents\":[{\"ts\":%s}]}", cases[i].text);
        loaded l = load(text);
        assert_int_equal(l.result, HB_OK);
        assert_true(hb_plugin_ts(&l.trace, hb_trace_row(&l.trace, 0)) == cases[i].value);
        unload(&l);
    }
}

static void test_memory_limit(void **state)
{
    (void)state;
    enum { EVENTS = 3000000 };
    char *text = malloc((size_t)EVENTS * 3 + 64);
    size_t n = (size_t)sprintf(text, "{\"traceEvents\":[{}");
    for (int i = 0; i < EVENTS; i++, n += 3)
        memcpy(text + n, ",{}", 3);
    n += (size_t)sprintf(text + n, "]}");
    hb_trace trace;
    hb_read_report report;
    hb_read_options options = {.max_bytes = 16 << 20};
    assert_int_equal(hb_read_trace_memory(text, n, &options, &trace, &report), HB_ERROR_LIMIT);
    hb_trace_free(&trace);
    free(text);
}

static void test_other_encodings(void **state)
{
    (void)state;
    /* {"traceEvents":[{"name":"e-acute, clef, lone surrogate"}]} */
    static const unsigned units[] = {0xe9, 0x1d11e, 0xd800};
    static const char head[] = "{\"traceEvents\":[{\"name\":\"", tail[] = "\"}]}";
    for (int form = 0; form < 8; form++) {
        unsigned width = form & 1 ? 4 : 2, marked = form & 4, n = 0;
        bool big = form & 2;
        uint32_t codes[128];
        unsigned char text[600];
        size_t size = 0;
        if (marked) codes[n++] = 0xfeff;
        for (const char *p = head; *p; p++)
            codes[n++] = (unsigned char)*p;
        for (size_t i = 0; i < HB_ARRAY_LEN(units); i++) {
            if (width == 2 && units[i] > 0xffff) {
                codes[n++] = 0xd800 + ((units[i] - 0x10000) >> 10);
                codes[n++] = 0xdc00 + ((units[i] - 0x10000) & 0x3ff);
            } else {
                codes[n++] = units[i];
            }
        }
        for (const char *p = tail; *p; p++)
            codes[n++] = (unsigned char)*p;
        for (unsigned i = 0; i < n; i++)
            for (unsigned b = 0; b < width; b++)
                text[size++] = (unsigned char)(codes[i] >> 8 * (big ? width - 1 - b : b));
        loaded l = load_text((const char *)text, size, true);
        assert_int_equal(l.result, HB_OK);
        assert_string_equal(name_of(&l, 0), "\xc3\xa9\xf0\x9d\x84\x9e\xed\xa0\x80");
        assert_true(l.report.encoded);
        unload(&l);
        l = load_text((const char *)text, size - 1, true);
        assert_int_equal(l.result, HB_ERROR_FORMAT);
        unload(&l);
    }
    loaded l = load("\xef\xbb\xbf{\"traceEvents\":[]}");
    assert_int_equal(l.result, HB_OK);
    unload(&l);
}

/* ---- files ---- */

static char path[] = "/tmp/hipboard-test-read-XXXXXX";

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

/* Events enough for many windows, in `members` gzip members; returns the text's size. */
static size_t write_gzip(int events, int members)
{
    size_t size = 0;
    for (int m = 0; m < members; m++) {
        gzFile f = gzopen(path, m ? "ab1" : "wb1");
        assert_non_null(f);
        if (m == 0) size += (size_t)gzprintf(f, "{\"traceEvents\":[");
        for (int i = m * events / members; i < (m + 1) * events / members; i++)
            size +=
                (size_t)gzprintf(f, "%s{\"name\":\"event %d\",\"ts\":%d.5}", i ? "," : "", i, i);
        if (m == members - 1) size += (size_t)gzprintf(f, "]}");
        gzclose(f);
    }
    return size;
}

static void test_gzip_in_members(void **state)
{
    (void)state;
    size_t size = write_gzip(200000, 3);
    loaded l;
    hb_read_options options = {.strict = true, .form = HB_TEXT_GZIP};
    l.result = hb_read_trace(path, &options, &l.trace, &l.report);
    assert_int_equal(l.result, HB_OK);
    assert_int_equal(l.trace.rows.count, 200000);
    assert_int_equal(l.report.bytes, size);
    assert_string_equal(name_of(&l, 123456), "event 123456");
    assert_true(hb_plugin_ts(&l.trace, hb_trace_row(&l.trace, 199999)) == 199999.5);
    unload(&l);
}

/* Those are names of layouts at first, and then values. */
static void test_names_that_are_numbered(void **state)
{
    (void)state;
    enum { EVENTS = 400 };
    char name[64];
    FILE *f = fopen(path, "w");
    fputs("{\"traceEvents\":[", f);
    for (int i = 0; i < EVENTS; i++)
        fprintf(f,
                "%s{\"ph\":\"X\",\"name\":\"event %d%s\",\"cat\":\"c%d\",\"ts\":%d,\"x\":\"%d\"}",
                i ? "," : "", i / 2, i % 5 ? "" : "\\u00e4\\n", i % 3, i, i % 7);
    fputs("]}", f);
    fclose(f);
    loaded l;
    hb_read_options options = {.strict = true};
    l.result = hb_read_trace(path, &options, &l.trace, &l.report);
    assert_int_equal(l.result, HB_OK);
    assert_int_equal(l.trace.rows.count, EVENTS);
    for (int i = 0; i < EVENTS; i++) {
        snprintf(name, sizeof name, "event %d%s", i / 2, i % 5 ? "" : "\xc3\xa4\n");
        assert_string_equal(name_of(&l, (uint32_t)i), name);
        assert_true(hb_plugin_ts(&l.trace, hb_trace_row(&l.trace, (uint32_t)i)) == i);
    }
    unload(&l);
}

static void test_cut_gzip_keeps_what_is_whole(void **state)
{
    (void)state;
    write_gzip(200000, 1);
    assert_int_equal(truncate(path, 300000), 0);
    loaded l;
    hb_read_options options = {0};
    l.result = hb_read_trace(path, &options, &l.trace, &l.report);
    assert_int_equal(l.result, HB_OK);
    assert_in_range(l.trace.rows.count, 10000, 199999);
    assert_int_equal(l.report.notes[0].defect, HB_JSON_DEFECT_CUT);
    assert_non_null(strstr(l.report.cut_reason, "gzip"));
    unload(&l);
    options.strict = true;
    assert_int_equal(hb_read_trace(path, &options, &l.trace, &l.report), HB_ERROR_FORMAT);
    unload(&l);
}

static void test_the_name_decides_for_the_plugin(void **state)
{
    (void)state;
    write_gzip(10, 1);
    loaded l;
    hb_read_options options = {.strict = true, .form = HB_TEXT_PLAIN};
    assert_int_equal(hb_read_trace(path, &options, &l.trace, &l.report), HB_ERROR_FORMAT);
    unload(&l);
    FILE *f = fopen(path, "w");
    fputs("{\"traceEvents\":[]}", f);
    fclose(f);
    options.form = HB_TEXT_GZIP;
    assert_int_equal(hb_read_trace(path, &options, &l.trace, &l.report), HB_ERROR_FORMAT);
    unload(&l);
}

/* A file of whole pages: what is read past its end must be there and zero. */
static void test_file_of_whole_pages(void **state)
{
    (void)state;
    long page = sysconf(_SC_PAGESIZE);
    FILE *f = fopen(path, "w");
    int n = fprintf(f, "{\"traceEvents\":[{\"name\":\"a\"}]}");
    for (; n < page; n++)
        fputc(' ', f);
    fclose(f);
    loaded l;
    hb_read_options options = {.strict = true};
    assert_int_equal(hb_read_trace(path, &options, &l.trace, &l.report), HB_OK);
    unload(&l);
}

static bool stop(void *context, uint64_t bytes, uint64_t total)
{
    (void)bytes;
    (void)total;
    ++*(int *)context;
    return false;
}

static void test_progress_can_stop(void **state)
{
    (void)state;
    write_gzip(600000, 1);
    int calls = 0;
    loaded l;
    hb_read_options options = {.progress = stop, .context = &calls};
    assert_int_equal(hb_read_trace(path, &options, &l.trace, &l.report), HB_ERROR_STATE);
    assert_int_equal(calls, 1);
    unload(&l);
}

/* ---- the thread that inflates ---- */

/* Of the only other thread there is, "SigBlk:" in hexadecimal; 0 before it is there. */
static unsigned long long blocked_in_inflating_thread(void)
{
    unsigned long long mask = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *e; (e = readdir(tasks));) {
        char status[300], line[256], name[64] = "";
        snprintf(status, sizeof status, "/proc/self/task/%s/status", e->d_name);
        FILE *f = fopen(status, "r");
        while (f && fgets(line, sizeof line, f)) {
            (void)sscanf(line, "Name: %63s", name);
            if (strstr(name, "infl")) (void)sscanf(line, "SigBlk: %llx", &mask);
        }
        if (f) fclose(f);
    }
    closedir(tasks);
    return mask;
}

/* A program's handler never runs in it: it may change what only the program's threads should. */
static void test_no_signal_comes_to_the_thread_that_inflates(void **state)
{
    (void)state;
    int ends[2];
    unsigned long long mask = 0;
    assert_int_equal(pipe(ends), 0);
    hb_inflater *f = hb_inflater_start(&(hb_inflate_from){.fd = ends[0]}); /* waits for the pipe */
    assert_non_null(f);
    for (int i = 0; !mask && i < 300000; i++) {
        mask = blocked_in_inflating_thread();
        usleep(1000);
    }
    close(ends[1]);
    hb_inflater_stop(f);
    close(ends[0]);
    for (int sig = 1; sig <= SIGRTMAX; sig++) {
        bool reserved = sig > SIGSYS && sig < SIGRTMIN; /* the C library's own */
        if (sig == SIGKILL || sig == SIGSTOP || reserved) continue;
        if (!(mask >> (sig - 1) & 1)) fail_msg("signal %d is not blocked", sig);
    }
}

/* Nothing is known of it then, as it can't be asked for its kind and size. */
static void test_closed_standard_input_is_an_error(void **state)
{
    (void)state;
    loaded l;
    hb_read_options options = {0};
    int kept = dup(STDIN_FILENO);
    close(STDIN_FILENO);
    l.result = hb_read_trace("-", &options, &l.trace, &l.report);
    if (kept >= 0) assert_int_equal(dup2(kept, STDIN_FILENO), STDIN_FILENO);
    if (kept >= 0) close(kept);
    assert_int_equal(l.result, HB_ERROR_IO);
    assert_non_null(strstr(hb_last_error(), "cannot read standard input"));
    unload(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_operator),
        cmocka_unit_test(test_kinds_by_category_and_phase),
        cmocka_unit_test(test_equal_scalars_are_one_key),
        cmocka_unit_test(test_names_of_members_may_have_escapes),
        cmocka_unit_test(test_numbers_are_one_key_where_they_are_equal),
        cmocka_unit_test(test_numbers_in_quotes),
        cmocka_unit_test(test_last_of_equal_members_wins),
        cmocka_unit_test(test_a_member_may_have_a_long_name),
        cmocka_unit_test(test_defects_are_lived_with_and_noted),
        cmocka_unit_test(test_damage_costs_what_it_hit),
        cmocka_unit_test(test_search_is_bounded),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_strict_refuses_what_python_refuses),
        cmocka_unit_test(test_deep_nesting_is_an_error),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_other_encodings),
        cmocka_unit_test(test_gzip_in_members),
        cmocka_unit_test(test_names_that_are_numbered),
        cmocka_unit_test(test_cut_gzip_keeps_what_is_whole),
        cmocka_unit_test(test_the_name_decides_for_the_plugin),
        cmocka_unit_test(test_file_of_whole_pages),
        cmocka_unit_test(test_progress_can_stop),
        cmocka_unit_test(test_no_signal_comes_to_the_thread_that_inflates),
        cmocka_unit_test(test_closed_standard_input_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_path, remove_path);
}
