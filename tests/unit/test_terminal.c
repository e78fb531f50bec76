/* SPDX-License-Identifier: MIT
 *
 * What the command prints on a terminal: which bytes reach it, how wide it is taken to be, whether
 * it gets bold and colours, and the line of progress. The time is the test's.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "on_terminal.h"
#include "progress.h"
#include "screen.h"
#include "terminal.h"

/* ---- the time ---- */

static struct timespec moment; /* 0: the real one */

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    if (!moment.tv_sec) return __real_clock_gettime(clock, t);
    *t = moment;
    return 0;
}

/* ---- bytes ---- */

typedef struct bytes {
    const char *given, *shown;
    bool styled, errors;
} bytes;

static void put_bytes(const void *context)
{
    const bytes *b = context;
    terminal_protect();
    if (b->styled) terminal_allow_styles();
    fputs(b->given, b->errors ? stderr : stdout);
}

static void only_what_steers_nothing_reaches_a_terminal(void **state)
{
    static const bytes cases[] = {
        {.given = "a\tb\n \037\001\r\b\177", .shown = "a\tb\n \\u001f\\u0001\\u000d\\u0008\\u007f"},
        {.given = "\033[2J\n", .shown = "\\u001b[2J\n"},
        {.given = "\033[1mx\n", .shown = "\\u001b[1mx\n"},
        {.given = "\033[1mx\033[31my\033[32mz\033[0m\n",
         .shown = "\033[1mx\033[31my\033[32mz\033[0m\n",
         .styled = true},
        {.given = "\033[33mx\033[2J\033]0;t\n",
         .shown = "\\u001b[33mx\\u001b[2J\\u001b]0;t\n",
         .styled = true},
        {.given = "\033[3x\033[\033[1m\033\033[0m\n",
         .shown = "\\u001b[3x\\u001b[\\u001b[1m\\u001b\\u001b[0m\n",
         .styled = true},
        {.given = "\033[1mx\n", .shown = "\\u001b[1mx\n", .styled = true, .errors = true},
        {.given = "\xe2\x82\xac\033[1m\xc3\xa9\xc3\033[0m\n",
         .shown = "\xe2\x82\xac\033[1m\xc3\xa9\xc3\033[0m\n",
         .styled = true},
        /* controls of C1, and what begins with their first byte */
        {.given = "\xc2\x80|\xc2\x9b|\xc2\x9f|\xc2\xa0|\xc2\xbf|\xc2z\n",
         .shown = "\\u0080|\\u009b|\\u009f|\xc2\xa0|\xc2\xbf|\xc2z\n"},
        {.given = "\xc2\xc2\x9b\xc2\033\n", .shown = "\xc2\\u009b\xc2\\u001b\n"},
        {.given = "\x7f\x80\x9b\x9f\xa0\n", .shown = "\\u007f\\x80\\x9b\\x9f\xa0\n"},
        /* such bytes within characters, behind them, and where they end too early */
        {.given = "\xc3\x9b\x9b\n", .shown = "\xc3\x9b\\x9b\n"},
        {.given = "\xe2\x82\x9b\x9b\n", .shown = "\xe2\x82\x9b\\x9b\n"},
        {.given = "\xf0\x9f\x98\x80\x9b\n", .shown = "\xf0\x9f\x98\x80\\x9b\n"},
        {.given = "\xe2\x82|\x9b\n", .shown = "\xe2\x82|\\x9b\n"},
        {.given = "\xf0\x9f\xc3\x9b\x9b\n", .shown = "\xf0\x9f\xc3\x9b\\x9b\n"},
        /* too long forms, and what is no first byte */
        {.given = "\xe0\x9f\x80|\xe0\xa0\x80|\xe1\x80\x80\n",
         .shown = "\xe0\\x9f\\x80|\xe0\xa0\x80|\xe1\x80\x80\n"},
        {.given = "\xf0\x8f\x80\x80|\xf0\x90\x80\x80|\xf1\x80\x80\x80\n",
         .shown = "\xf0\\x8f\\x80\\x80|\xf0\x90\x80\x80|\xf1\x80\x80\x80\n"},
        {.given = "\xe2\x9f\x80\xf3\x8f\x80\x80\n", .shown = "\xe2\x9f\x80\xf3\x8f\x80\x80\n"},
        {.given = "\xc0\x80|\xc1\x9f|\xf4\x8f\x80\x80|\xf5\x80\x80\x80|\xff\x80\n",
         .shown = "\xc0\\x80|\xc1\\x9f|\xf4\x8f\x80\x80|\xf5\\x80\\x80\\x80|\xff\\x80\n"},
    };
    char text[256];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(printed_by(put_bytes, &cases[i], 80, text, sizeof text), 0);
        assert_string_equal(text, cases[i].shown);
        assert_int_equal(printed_by(put_bytes, &cases[i], -1, text, sizeof text), 0);
        assert_string_equal(text, cases[i].given); /* it is no terminal */
    }
}

enum { MUCH = 20000 };

static void put_much(const void *context)
{
    (void)context;
    terminal_protect();
    for (int i = 0; i < MUCH; i++)
        fputs(i % 3 ? "x" : "\033", stdout);
    fputs("\n", stdout);
}

static void long_lines_come_whole(void **state)
{
    static char text[8 * MUCH];
    (void)state;
    assert_int_equal(printed_by(put_much, NULL, 80, text, sizeof text), 0);
    const char *c = text;
    for (int i = 0; i < MUCH; i++) {
        const char *one = i % 3 ? "x" : "\\u001b";
        if (strncmp(c, one, strlen(one)) != 0) fail_msg("character %d: %.10s", i, c);
        c += strlen(one);
    }
    assert_string_equal(c, "\n");
}

static void put_words(const void *context)
{
    (void)context;
    terminal_protect();
    fputs("one ", stdout);
    fputs("two ", stderr); /* at once; the other waits for its line's end */
    fputs("three\n", stdout);
    fputs("four ", stdout);
    fputs("five ", stderr);
}

static void lines_wait_for_their_end_and_errors_for_nothing(void **state)
{
    char text[100];
    (void)state;
    assert_int_equal(printed_by(put_words, NULL, 80, text, sizeof text), 0);
    assert_string_equal(text, "two one three\nfive four ");
}

/* ---- how wide, and whether styled ---- */

typedef struct screen {
    const char *columns, *term, *no_color;
    int terminal; /* its columns; -1: there is none */
    size_t width;
    bool styled;
} screen;

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void tell_screen(const void *context)
{
    const screen *s = context;
    set("COLUMNS", s->columns);
    set("TERM", s->term);
    set("NO_COLOR", s->no_color);
    terminal_protect();
    size_t width = screen_columns();
    bool styled = screen_is_styled();
    printf("%zu %d \033[1m\n", width, styled);
}

static void what_a_terminal_is_by_its_size_and_the_environment(void **state)
{
    static const screen cases[] = {
        {NULL, "xterm", NULL, 50, 50, true},  {NULL, "xterm", NULL, 1, 1, true},
        {NULL, "xterm", NULL, 0, 80, true},   {"100", "xterm", NULL, 50, 100, true},
        {"1", "xterm", NULL, 50, 1, true},    {"0", "xterm", NULL, 50, 50, true},
        {"-5", "xterm", NULL, 50, 50, true},  {"wide", "xterm", NULL, 50, 50, true},
        {"", "xterm", NULL, 50, 50, true},    {NULL, "dumb", NULL, 50, 50, false},
        {NULL, "dumber", NULL, 50, 50, true}, {NULL, NULL, NULL, 50, 50, false},
        {NULL, "xterm", "1", 50, 50, false},  {NULL, "xterm", "", 50, 50, true},
        {"100", "xterm", NULL, -1, 0, false}, {NULL, "xterm", NULL, -1, 0, false},
    };
    char text[100], expected[100];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const screen *s = &cases[i];
        assert_int_equal(printed_by(tell_screen, s, s->terminal, text, sizeof text), 0);
        snprintf(expected, sizeof expected, "%zu %d %s\n", s->width, s->styled,
                 s->styled || s->terminal < 0 ? "\033[1m" : "\\u001b[1m");
        assert_string_equal(text, expected);
    }
}

/* ---- progress ---- */

static void show_progress(const void *context)
{
    (void)context;
    moment = (struct timespec){10, 900000000};
    hb_open_options o = progress_options();
    bool goes_on = o.progress(o.context, "early.json", 50, 100);
    moment = (struct timespec){11, 899999999};
    goes_on &= o.progress(o.context, "early.json", 50, 100);
    progress_clear();
    moment = (struct timespec){11, 900000000};
    goes_on &= o.progress(o.context, "a.json", 0, 400);
    goes_on &= o.progress(o.context, "a.json", 50, 400);
    goes_on &= o.progress(o.context, "a.json", 400, 400);
    progress_clear();
    progress_clear();
    moment = (struct timespec){13, 100000000};
    goes_on &= o.progress(o.context, "b.json.gz", 12600000, 400);
    goes_on &= o.progress(o.context, "-", 2400000, 0);
    progress_clear();
    (void)progress_options(); /* the time counts from here on */
    goes_on &= o.progress(o.context, "late.json", 50, 100);
    if (!goes_on || progress_interrupted()) fputs("not on", stderr);
}

static void progress_is_shown_after_a_second_and_taken_away(void **state)
{
    char text[300];
    (void)state;
    assert_int_equal(printed_by(show_progress, NULL, 80, text, sizeof text), 0);
    assert_string_equal(text, "\ra.json:   0 %\ra.json:  12 %\ra.json: 100 %\r\033[K"
                              "\rb.json.gz: 13 MB\r-: 2 MB\r\033[K");
    assert_int_equal(printed_by(show_progress, NULL, -1, text, sizeof text), 0);
    assert_string_equal(text, "");
}

static void interrupt(const void *disposition)
{
    signal(SIGINT, *(const sighandler_t *)disposition); /* whatever that of the tests is */
    hb_open_options o = progress_options();
    printf("%d %d\n", progress_interrupted(), o.progress(o.context, "a.json", 1, 2));
    raise(SIGINT);
    printf("%d %d\n", progress_interrupted(), o.progress(o.context, "a.json", 1, 2));
    fflush(stdout);
    raise(SIGINT);
    puts("still there");
}

static void an_interrupt_ends_the_reading_and_another_one_the_command(void **state)
{
    static const sighandler_t plain = SIG_DFL;
    char text[100];
    (void)state;
    int status = printed_by(interrupt, &plain, -1, text, sizeof text);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    assert_string_equal(text, "0 1\n1 0\n");
}

/* As of a command that a shell without a terminal starts in the background. */
static void an_interrupt_that_the_caller_ignores_ends_nothing(void **state)
{
    static const sighandler_t ignored = SIG_IGN;
    char text[100];
    (void)state;
    assert_int_equal(printed_by(interrupt, &ignored, -1, text, sizeof text), 0);
    assert_string_equal(text, "0 1\n0 1\nstill there\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_steers_nothing_reaches_a_terminal),
        cmocka_unit_test(long_lines_come_whole),
        cmocka_unit_test(lines_wait_for_their_end_and_errors_for_nothing),
        cmocka_unit_test(what_a_terminal_is_by_its_size_and_the_environment),
        cmocka_unit_test(progress_is_shown_after_a_second_and_taken_away),
        cmocka_unit_test(an_interrupt_ends_the_reading_and_another_one_the_command),
        cmocka_unit_test(an_interrupt_that_the_caller_ignores_ends_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
