/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/files.h"
#include "base/json_line.h"
#include "base/markdown.h"
#include "base/memory_share.h"
#include "base/utf8.h"
#include "insight/statistics.h"

static void fresh_thread_has_no_error(void **state)
{
    (void)state;
    assert_string_equal(hb_last_error(), "");
}

static void failure_keeps_its_text(void **state)
{
    (void)state;
    assert_int_equal(hb_fail(HB_ERROR_LIMIT, "%d of %d", 3, 2), HB_ERROR_LIMIT);
    assert_string_equal(hb_last_error(), "3 of 2");
    assert_int_equal(hb_fail_errno(HB_ERROR_IO, ENOENT, "opening '%s'", "x"), HB_ERROR_IO);
    assert_string_equal(hb_last_error(), "opening 'x': No such file or directory");
    hb_fail(HB_ERROR_IO, "again: %s", hb_last_error());
    assert_string_equal(hb_last_error(), "again: opening 'x': No such file or directory");
}

static void every_result_has_a_text(void **state)
{
    (void)state;
    assert_string_equal(hb_result_text(HB_OK), "success");
    assert_string_equal(hb_result_text(HB_ERROR_LIMIT), "over a limit");
    assert_string_equal(hb_result_text((hb_result)999), "unknown result");
}

static void buffer_grows_to_its_limit_and_no_further(void **state)
{
    (void)state;
    hb_buf buf;
    hb_buf_init(&buf, 1000);
    for (int i = 0; i < 100; i++)
        hb_buf_str(&buf, "0123456789");
    assert_false(buf.failed);
    assert_int_equal(buf.size, 1000);
    hb_buf_str(&buf, "x");
    assert_true(buf.failed);
    assert_int_equal(buf.size, 1000);
    assert_string_equal(hb_buf_text(&buf), "");
    assert_null(hb_buf_reserve(&buf, SIZE_MAX));
    hb_buf_free(&buf);
    assert_non_null(hb_buf_reserve(&buf, 0)); /* NULL would be want of memory */
    hb_buf_printf(&buf, "%s-%d", "after", 1);
    assert_string_equal(hb_buf_text(&buf), "after-1");
    hb_buf_free(&buf);
}

static void assert_json(const char *text, size_t size, const char *expected)
{
    hb_buf buf;
    hb_buf_init(&buf, 1 << 20);
    hb_buf_json_string(&buf, text, size);
    assert_string_equal(hb_buf_text(&buf), expected);
    hb_buf_free(&buf);
}
#define ASSERT_JSON(literal, expected) assert_json(literal, sizeof(literal) - 1, expected)

static void json_strings_are_always_valid(void **state)
{
    (void)state;
    ASSERT_JSON("", "\"\"");
    ASSERT_JSON("plain", "\"plain\"");
    ASSERT_JSON("a\"b\\c", "\"a\\\"b\\\\c\"");
    ASSERT_JSON("\n\r\t\x01\x7f", "\"\\n\\r\\t\\u0001\\u007f\"");
    ASSERT_JSON("a\0b", "\"a\\u0000b\"");
    ASSERT_JSON("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
    ASSERT_JSON("x\xffy", "\"x\xef\xbf\xbdy\"");
    ASSERT_JSON("cut \xe2\x82", "\"cut \xef\xbf\xbd\xef\xbf\xbd\"");
}

/* Plain text is skipped eight bytes at a time: each byte, at each place among plain ones. */
static void json_strings_escape_wherever_a_byte_stands(void **state)
{
    (void)state;
    assert_json(NULL, 0, "\"\"");
    for (unsigned c = 0; c < 256; c++)
        for (size_t at = 0; at < 19; at++) {
            char text[19], expected[64], as_json[8];
            memset(text, at % 2 ? '~' : ' ', sizeof text);
            text[at] = (char)c;
            if (c == '\n' || c == '\r' || c == '\t')
                snprintf(as_json, sizeof as_json, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
            else if (c < 0x20 || c == 0x7f)
                snprintf(as_json, sizeof as_json, "\\u%04x", c);
            else if (c >= 0x80)
                snprintf(as_json, sizeof as_json, "\xef\xbf\xbd");
            else
                snprintf(as_json, sizeof as_json, c == '"' || c == '\\' ? "\\%c" : "%c", (int)c);
            snprintf(expected, sizeof expected, "\"%.*s%s%.*s\"", (int)at, text, as_json,
                     (int)(sizeof text - at - 1), text + at + 1);
            assert_json(text, sizeof text, expected);
        }
}

static size_t utf8(const char *text, size_t size)
{
    return hb_utf8_length((const unsigned char *)text, size);
}

static void utf8_follows_the_standard(void **state)
{
    (void)state;
    assert_int_equal(utf8("\x7f", 1), 1);
    assert_int_equal(utf8("\xc2\x80", 2), 2);
    assert_int_equal(utf8("\xef\xbf\xbf", 3), 3);
    assert_int_equal(utf8("\xf4\x8f\xbf\xbf", 4), 4);
    assert_int_equal(utf8("\xc1\xbf", 2), 0);         /* overlong */
    assert_int_equal(utf8("\xe0\x9f\xbf", 3), 0);     /* overlong */
    assert_int_equal(utf8("\xed\xa0\x80", 3), 0);     /* surrogate */
    assert_int_equal(utf8("\xf4\x90\x80\x80", 4), 0); /* beyond U+10FFFF */
    assert_int_equal(utf8("\x80", 1), 0);
    assert_int_equal(utf8("\xe2\x82\xac", 2), 0); /* cut off */
    assert_int_equal(utf8("\xe2\x82x", 3), 0);
}

static void utf8_is_cut_between_characters(void **state)
{
    (void)state;
    const char text[] = "a\xe2\x98\x83z\xf0\x9f\x98\x80";
    const size_t cuts[] = {0, 1, 1, 1, 4, 5, 5, 5, 5, 9, 9};
    for (size_t most = 0; most < sizeof cuts / sizeof *cuts; most++)
        assert_int_equal(hb_utf8_cut(text, 9, most), cuts[most]);
    assert_int_equal(hb_utf8_cut("\x80\x80\x80\x80\x80\x80\x80", 7, 6), 6); /* none */
    assert_int_equal(hb_utf8_cut("", 0, 3), 0);
}

/* The figures are numpy's: mean(), std(), quantile(). */
static void statistics_are_numpys(void **state)
{
    (void)state;
    double values[] = {7, 1, 4, 10, 2.5};
    hb_statistics s = hb_statistics_of(values, 5);
    assert_int_equal(s.count, 5);
    assert_true(s.sum == 24.5 && s.min == 1 && s.max == 10 && s.median == 4);
    assert_float_equal(s.mean, 4.9, 1e-12);
    assert_float_equal(s.std, 3.2310988842807027, 1e-12);
    assert_float_equal(s.p95, 9.4, 1e-12);
    assert_float_equal(hb_quantile(values, 5, 0.25), 2.5, 1e-12);
    assert_true(hb_quantile(values, 5, 1) == 10 && hb_quantile(values, 1, 0.3) == 1);
    s = hb_statistics_of(NULL, 0);
    assert_true(s.count == 0 && s.sum == 0 && s.p95 == 0 && hb_quantile(NULL, 0, 0.5) == 0);
}

/* As `program 2>&1 | less` with nobody reading on. */
static void a_warning_does_not_wait_for_its_reader(void **state)
{
    (void)state;
    static char text[1 << 20];
    int fds[2], before = dup(STDERR_FILENO);
    assert_int_equal(pipe(fds), 0);
    dup2(fds[1], STDERR_FILENO);
    fcntl(fds[1], F_SETFL, O_NONBLOCK);
    while (write(fds[1], text, sizeof text) > 0)
        continue;
    while (write(fds[1], text, 1) > 0)
        continue;
    fcntl(fds[1], F_SETFL, 0);
    alarm(300);
    errno = 17;
    hb_warn("nobody reads this");
    hb_warn("nor that");
    assert_int_equal(errno, 17);
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    while (read(fds[0], text, sizeof text) > 0)
        continue;
    hb_warn("but %s", "this");
    hb_warn("and that");
    alarm(0);
    dup2(before, STDERR_FILENO);
    close(before);
    ssize_t n = read(fds[0], text, sizeof text - 1);
    assert_true(n > 0);
    text[n] = '\0';
    assert_string_equal(text, "hipboard: but this (before that 2 lines went unread)\n"
                              "hipboard: and that\n");
    close(fds[0]);
    close(fds[1]);
}

static void a_warning_to_a_socket_does_not_wait_either(void **state)
{
    (void)state;
    static char text[4096];
    int fds[2], before = dup(STDERR_FILENO);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    while (send(fds[1], text, sizeof text, MSG_DONTWAIT) > 0)
        continue;
    dup2(fds[1], STDERR_FILENO);
    alarm(300);
    for (int i = 0; i < 5; i++)
        hb_warn("nobody reads this");
    alarm(0);
    dup2(before, STDERR_FILENO);
    close(before);
    close(fds[0]);
    close(fds[1]);
}

static void put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

/* As Linux shows control groups: of version 2, of version 1, and neither. */
static void the_least_limit_of_all_groups_above_counts(void **state)
{
    (void)state;
    char root[] = "/tmp/hipboard-test-base-XXXXXX", path[200], self[200];
    static const struct {
        const char *self, *outer, *inner;
        uint64_t limit;
    } cases[] = {
        {"0::/a/b\n", "max\n", "1073741824\n", 1073741824},
        {"0::/a/b\n", "4096\n", "1073741824\n", 4096},
        {"0::/a/b\n", "max\n", "max\n", UINT64_MAX},
        {"0::/a\n", "4096\n", "17\n", 4096},
        {"0::/elsewhere/c\n", "4096\n", "17\n", UINT64_MAX},
        {"3:cpu:/x\n1:name=systemd:/y\n0::/a/b\n", "9\n", "8\n", 8},
        {"nonsense\n", "9\n", "8\n", UINT64_MAX},
        {"", "9\n", "8\n", UINT64_MAX},
    };
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/a", root);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/a/b", root);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(self, sizeof self, "%s/self", root);
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        put_file(self, cases[i].self);
        snprintf(path, sizeof path, "%s/a/memory.max", root);
        put_file(path, cases[i].outer);
        snprintf(path, sizeof path, "%s/a/b/memory.max", root);
        put_file(path, cases[i].inner);
        assert_true(hb_control_group_limit(self, root) == cases[i].limit);
    }
    snprintf(path, sizeof path, "%s/memory", root);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/memory/memory.limit_in_bytes", root);
    put_file(path, "123\n");
    put_file(self, "0::/\n7:memory:/docker/outside\n3:cpu:/\n");
    assert_true(hb_control_group_limit(self, root) == 123);
    assert_true(hb_control_group_limit("/nowhere", root) == UINT64_MAX);
    assert_true(hb_memory_share() > 1 << 20);
    snprintf(path, sizeof path, "rm -r %s", root);
    assert_int_equal(system(path), 0);
}

static void json_of_others_becomes_one_line(void **state)
{
    (void)state;
    const struct {
        const char *text, *line; /* NULL: refused, */
        const char *why;         /* with these words; else whether it is valid as it stands */
    } cases[] = {
        {"1.50", "1.50", "valid"},
        {" [ 1 ,\n\t{\"a b\" : null} ] ", "[1,{\"a b\":null}]", "valid"},
        {"\"a\tb\"", "\"a\\u0009b\"", NULL},
        {"\"\\\" \\\\ \\/ \\u00e9\"", "\"\\\" \\\\ \\/ \\u00e9\"", "valid"},
        {"\"\\\\udc80\"", "\"\\\\udc80\"", "valid"},
        {"\"\\ud83d\\ude00\"", "\"\\ud83d\\ude00\"", "valid"},
        {"\"\\ud800\\udc00\\udbff\\udfff\"", "\"\\ud800\\udc00\\udbff\\udfff\"", "valid"},
        {"\"\\udc80\"", "\"\\ufffd\"", NULL},
        {"\"\\ud83d\"", "\"\\ufffd\"", NULL},
        {"\"\\ud83d\\u0041 \\ue000\"", "\"\\ufffd\\u0041 \\ue000\"", NULL},
        {"\"\\ud83d\\ud83d\\ude00\"", "\"\\ufffd\\ud83d\\ude00\"", NULL},
        {"\"NaN\"", "\"NaN\"", "valid"},
        {"", NULL, "x is not JSON at byte 0: "},
        {"[1] 2", NULL, "x is not JSON at byte 4: text after the end: \"2\""},
        {"[NaN]", NULL, "x is not JSON at byte 1: JSON has no NaN and no Infinity: \"NaN]\""},
        {"-Infinity", NULL, "x is not JSON at byte "},
        {"\"\xff\"", NULL, "x is not JSON at byte 1: invalid UTF-8: "},
        {"\"\xed\xa0\x80\"", NULL, "x is not JSON at byte 1: invalid UTF-8: "},
        {"\"\\q long\"", NULL, "x is not JSON at byte 1: invalid backslash escape: "},
        {"[01]", NULL, "x is not JSON at byte "},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        hb_buf line;
        hb_buf_init(&line, 1000);
        hb_result result = hb_json_line(&line, cases[i].text, "x");
        if (cases[i].line) {
            assert_int_equal(result, HB_OK);
            assert_string_equal(hb_buf_text(&line), cases[i].line);
        } else {
            assert_int_equal(result, HB_ERROR_FORMAT);
            char why[200];
            snprintf(why, sizeof why, "%.*s", (int)strlen(cases[i].why), hb_last_error());
            assert_string_equal(why, cases[i].why);
        }
        assert_int_equal(hb_json_is_valid(cases[i].text), cases[i].line && cases[i].why);
        hb_buf_free(&line);
    }
}

static void sizes_have_units(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes; /* 0: it is none */
    } cases[] = {
        {"1", 1},
        {"4096", 4096},
        {"3k", 3 << 10},
        {"3K", 3 << 10},
        {"7m", 7 << 20},
        {"2G", UINT64_C(2) << 30},
        {"5T", UINT64_C(5) << 40},
        {"18446744073709551615", UINT64_MAX},
        {"16777215T", UINT64_C(16777215) << 40},
        {"16777216T", 0},
        {"18446744073709551616", 0},
        {"0", 0},
        {"0K", 0},
        {"", 0},
        {"K", 0},
        {"-1", 0},
        {"+1", 0},
        {" 1", 0},
        {"1 ", 0},
        {"1P", 0},
        {"1KB", 0},
        {"1+", 0},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        uint64_t bytes = 0;
        bool parsed = hb_parse_size(cases[i].text, &bytes);
        if (parsed != (cases[i].bytes > 0) || bytes != cases[i].bytes)
            fail_msg("'%s': %d, %llu", cases[i].text, parsed, (unsigned long long)bytes);
    }
}

static void paths_become_absolute(void **state)
{
    char here[512], expected[600];
    (void)state;
    assert_non_null(getcwd(here, sizeof here));
    snprintf(expected, sizeof expected, "%s/a/b", here);
    static const char *const paths[] = {"/x/y", "", "a/b"};
    for (size_t i = 0; i < HB_ARRAY_LEN(paths); i++) {
        char *path = hb_absolute_path(paths[i]);
        assert_string_equal(path, i == 2 ? expected : paths[i]);
        free(path);
    }
}

static void a_table_in_markdown(void **state)
{
    static const char *const titles[] = {"Name", "a|b", "Time"};
    hb_buf out;
    (void)state;
    hb_buf_init(&out, 4096);
    hb_markdown_head(&out, titles, 3, 2);
    hb_markdown_cell(&out, "<x>\n*y*");
    hb_markdown_number(&out, 2.345, 1);
    hb_markdown_number(&out, NAN, 2);
    hb_markdown_end_row(&out);
    assert_string_equal(hb_buf_text(&out), "| Name | a&#124;b | Time |\n|---|---|---:|\n"
                                           "| &#60;x&#62; &#42;y&#42; | 2.3 | |\n");
    hb_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fresh_thread_has_no_error),
        cmocka_unit_test(failure_keeps_its_text),
        cmocka_unit_test(every_result_has_a_text),
        cmocka_unit_test(buffer_grows_to_its_limit_and_no_further),
        cmocka_unit_test(json_strings_are_always_valid),
        cmocka_unit_test(json_strings_escape_wherever_a_byte_stands),
        cmocka_unit_test(json_of_others_becomes_one_line),
        cmocka_unit_test(utf8_follows_the_standard),
        cmocka_unit_test(utf8_is_cut_between_characters),
        cmocka_unit_test(statistics_are_numpys),
        cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(paths_become_absolute),
        cmocka_unit_test(a_table_in_markdown),
        cmocka_unit_test(a_warning_does_not_wait_for_its_reader),
        cmocka_unit_test(a_warning_to_a_socket_does_not_wait_either),
        cmocka_unit_test(the_least_limit_of_all_groups_above_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
