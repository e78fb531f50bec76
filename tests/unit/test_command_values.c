/* SPDX-License-Identifier: MIT
 *
 * What the command reads of its options' values, and how it lays out texts and tables: each limit
 * from both sides.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options.h"
#include "rank_list.h"
#include "record_values.h"
#include "screen.h"
#include "selection.h"
#include "table.h"
#include "text.h"

/* ---- what is printed ---- */

static FILE *printed;
static int real_output;

static void begin(void)
{
    fflush(stdout);
    printed = tmpfile();
    assert_non_null(printed);
    real_output = dup(STDOUT_FILENO);
    assert_true(dup2(fileno(printed), STDOUT_FILENO) >= 0);
}

static void assert_printed(const char *expected)
{
    static char text[8192];
    fflush(stdout);
    assert_true(dup2(real_output, STDOUT_FILENO) >= 0);
    close(real_output);
    rewind(printed);
    size_t n = fread(text, 1, sizeof text - 1, printed);
    text[n] = 0;
    fclose(printed);
    assert_string_equal(text, expected);
}

/* ---- values ---- */

static void test_sizes(void **state)
{
    static const struct {
        const char *text;
        uint64_t bytes; /* 0: refused */
    } cases[] = {{"1", 1},
                 {"4096", 4096},
                 {"1K", 1024},
                 {"100M", 104857600},
                 {"2G", 2147483648},
                 {"1.5K", 1536},
                 {"0.5M", 524288},
                 {"1e15", 1000000000000000},
                 {"1.1e15", 0},
                 {"0", 0},
                 {"-1", 0},
                 {"", 0},
                 {"K", 0},
                 {"1k", 0},
                 {"1KB", 0},
                 {"1 K", 0},
                 {"1T", 0},
                 {"nan", 0},
                 {"1K ", 0},
                 {"1e12K", 0},
                 {"931322G", 999999383011328},
                 {"931323G", 0},
                 {"1e15G", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t bytes = 7;
        const char *wrong = take_size(&bytes, cases[i].text);
        assert_int_equal(bytes, cases[i].bytes ? cases[i].bytes : 7);
        assert_int_equal(wrong == NULL, cases[i].bytes != 0);
        if (wrong) assert_string_equal(wrong, "expected as in 100M");
    }
}

static void test_spans(void **state)
{
    static const struct {
        const char *text;
        int64_t ns;
    } cases[] = {{"1", 1000000000},
                 {"1.5", 1500000000},
                 {"2s", 2000000000},
                 {"20ms", 20000000},
                 {"3us", 3000},
                 {"2m", 120000000000},
                 {"1h", 3600000000000},
                 {"1e-9", 1},
                 {"0.9e-9", 0},
                 {"1000000", 1000000000000000},
                 {"1000001", 0},
                 {"0", 0},
                 {"-1", 0},
                 {"", 0},
                 {"s", 0},
                 {"1d", 0},
                 {"1 s", 0},
                 {"1ss", 0},
                 {"nan", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ns = 7;
        const char *wrong = take_span(&ns, cases[i].text);
        assert_int_equal(ns, cases[i].ns ? cases[i].ns : 7);
        assert_int_equal(wrong == NULL, cases[i].ns != 0);
        if (wrong) assert_string_equal(wrong, "expected a time as 500ms, 10s or 2m");
    }
}

/* A whole number within limits: what is said of those that are not. */
static void check_numbers(const char *(*take)(void *, const char *), int64_t least, int64_t most,
                          const char *said)
{
    char text[40];
    static const char *const odd[] = {"", "x", "1x", "1.5", "99999999999999999999"};
    for (int end = 0; end < 2; end++) {
        int64_t value = -7, n = end ? most : least;
        snprintf(text, sizeof text, "%lld", (long long)n);
        assert_null(take(&value, text));
        assert_int_equal(value, n);
        if (n == INT64_MAX) continue;
        snprintf(text, sizeof text, "%lld", (long long)(end ? n + 1 : n - 1));
        assert_string_equal(take(&value, text), said);
    }
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        int64_t value;
        assert_string_equal(take(&value, odd[i]), said);
    }
}

static void test_numbers(void **state)
{
    (void)state;
    check_numbers(take_loop, 1, 1000000, "expected a loop's number, from 1 on");
    check_numbers(take_hz, 1, 1000, "expected a number from 1 to 1000");
    check_numbers(take_count, 0, INT64_MAX, "expected a number, 0 or more");
    check_numbers(take_sampling, 1, UINT32_MAX, "expected a number from 1 on");
    check_numbers(take_signal, 1, SIGRTMAX, "expected a signal, as USR2");
}

static void test_signals(void **state)
{
    static const struct {
        const char *name;
        int number;
    } cases[] = {{"HUP", SIGHUP},   {"INT", SIGINT},        {"QUIT", SIGQUIT}, {"USR1", SIGUSR1},
                 {"usr2", SIGUSR2}, {"SIGWINCH", SIGWINCH}, {"sigurg", SIGURG}};
    static const char *const odd[] = {"KILL", "SIG", "SIG1x", "USR", "USR22", ""};
    int64_t number;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_null(take_signal(&number, cases[i].name));
        assert_int_equal(number, cases[i].number);
    }
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_non_null(take_signal(&number, odd[i]));
}

static void test_times(void **state)
{
    static const struct {
        const char *text;
        int64_t percent;
    } cases[] = {{"2.5", 250}, {"3", 300}, {"1.01", 101}, {"1e6", 100000000}, {"1.1e6", 0},
                 {"1", 0},     {"0", 0},   {"", 0},       {"3x", 0},          {"nan", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t percent = 0;
        const char *wrong = take_times(&percent, cases[i].text);
        assert_int_equal(percent, cases[i].percent);
        assert_int_equal(wrong == NULL, cases[i].percent != 0);
        if (wrong) assert_string_equal(wrong, "expected a number over 1, as 3");
    }
}

static void test_activities(void **state)
{
    static const struct {
        const char *text;
        unsigned bits;
    } cases[] = {{"cpu", HB_ACTIVITY_CPU},
                 {"hip", HB_ACTIVITY_HIP},
                 {"comm", HB_ACTIVITY_COMM},
                 {"hip,cpu", HB_ACTIVITY_CPU | HB_ACTIVITY_HIP},
                 {"cpu,hip,comm", HB_ACTIVITY_CPU | HB_ACTIVITY_HIP | HB_ACTIVITY_COMM},
                 {"", 0},
                 {"cpu,", 0},
                 {"gpu", 0},
                 {"cpu,cpu,cpu,cpu,cpu,cpu,cpu,cpu", HB_ACTIVITY_CPU}, /* 31 bytes, and one more */
                 {"cpu,cpu,cpu,cpu,cpu,cpu,cpu,comm", 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned bits = 0;
        const char *wrong = take_activities(&bits, cases[i].text);
        assert_int_equal(wrong == NULL, cases[i].bits != 0);
        if (!wrong) assert_int_equal(bits, cases[i].bits);
        if (wrong) assert_string_equal(wrong, "expected some of cpu, hip, comm: cpu,hip");
    }
}

static void test_schedules(void **state)
{
    static const char *const odd[] = {
        "",          "wait=1",           "active=0",          "active=-1", "active",
        "active=",   "active=1x",        "active=2147483647", "activ=1",   "actives=1",
        "active=1,", "active=1,wait=-1", "active=1 ,wait=2"};
    hb_schedule_params p = {.wait = 9, .warmup = 9, .active = 9, .repeat = 9, .skip_first = 9};
    char text[160];
    (void)state;
    assert_null(take_schedule(&p, "active=2147483646"));
    assert_int_equal(p.active, 2147483646);
    assert_int_equal(p.wait + p.warmup + p.repeat + p.skip_first, 0);
    assert_null(take_schedule(&p, "repeat=4,skip_first=5,wait=1,warmup=2,active=3"));
    assert_true(p.wait == 1 && p.warmup == 2 && p.active == 3 && p.repeat == 4 &&
                p.skip_first == 5);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        assert_non_null(take_schedule(&p, odd[i]));
    for (int n = 127; n <= 128; n++) { /* what there is room for, and one more */
        snprintf(text, sizeof text, "active=%0*d", n - 7, 6);
        assert_int_equal(take_schedule(&p, text) == NULL, n == 127);
    }
}

static void test_rings(void **state)
{
    static const struct {
        const char *text;
        int64_t ns, steps;
        uint64_t bytes;
    } cases[] = {{"30s", 30000000000, 0, 0},
                 {"1", 1000000000, 0, 0},
                 {"1step", 0, 1, 0},
                 {"100steps", 0, 100, 0},
                 {"1000000steps", 0, 1000000, 0},
                 {"1B", 0, 0, 1},
                 {"2KiB", 0, 0, 2048},
                 {"64MiB", 0, 0, 64 << 20},
                 {"1.5GiB", 0, 0, 1610612736},
                 {"1e15B", 0, 0, 1000000000000000},
                 {"1000001steps", 0, 0, 0},
                 {"0steps", 0, 0, 0},
                 {"0.5B", 0, 0, 0},
                 {"1.1e15B", 0, 0, 0},
                 {"1KB", 0, 0, 0},
                 {"", 0, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hb_profiler_options o = {0};
        bool fine = cases[i].ns || cases[i].steps || cases[i].bytes;
        assert_int_equal(take_ring(&o, cases[i].text) == NULL, fine);
        assert_int_equal(o.ring_ns, cases[i].ns);
        assert_int_equal(o.ring_steps, cases[i].steps);
        assert_int_equal(o.ring_bytes, cases[i].bytes);
    }
    hb_profiler_options o = {.ring_steps = 5};
    assert_null(take_ring(&o, "1KiB")); /* the last one counts */
    assert_true(o.ring_steps == 0 && o.ring_bytes == 1024);
}

static void test_expressions(void **state)
{
    static const struct {
        const char *text, *json;
    } cases[] = {{"a", "\"a\""},
                 {"a\\.b", "\"a\\u005c.b\""},
                 {"a\"b", "\"a\\u0022b\""},
                 {"a\tb", "\"a\\u0009b\""},
                 {"a b\x7f", "\"a b\x7f\""},
                 {"", NULL},
                 {"(", NULL},
                 {"[a", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *json = NULL;
        const char *wrong = take_expression(&json, cases[i].text);
        assert_int_equal(wrong == NULL, cases[i].json != NULL);
        if (!wrong) assert_string_equal(json, cases[i].json);
        free(json);
    }
}

static void test_tables_of_operators(void **state)
{
    static const struct {
        bool no_libraries, no_communication, torch_names, loaders;
        const char *paths, *all;
    } cases[] = {{false, false, false, false, "", "libraries"},
                 {true, false, false, false, "", "communication"},
                 {false, true, false, false, "", "libraries:without=communication"},
                 {true, true, false, false, "", NULL},
                 {true, true, true, false, "", NULL},
                 {true, true, false, true, "", ":loaders"},
                 {true, true, false, false, ":/a", ":/a"},
                 {false, false, true, true, ":/a:/b", "libraries:loaders:/a:/b:names=torch"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        table_list list = {.no_libraries = cases[i].no_libraries,
                           .no_communication = cases[i].no_communication,
                           .torch_names = cases[i].torch_names,
                           .loaders = cases[i].loaders};
        strcpy(list.paths, cases[i].paths);
        char *all = list_tables(&list);
        if (cases[i].all)
            assert_string_equal(all, cases[i].all);
        else
            assert_null(all);
        free(all);
    }
}

static void test_tables_have_full_paths(void **state)
{
    char directory[] = "/tmp/hipboard-tables-XXXXXX", path[200], odd[200];
    table_list list = {0};
    (void)state;
    assert_non_null(mkdtemp(directory));
    char *real = realpath(directory, NULL);
    snprintf(path, sizeof path, "%s/./a", directory);
    snprintf(odd, sizeof odd, "%s/b:c", directory);
    assert_string_equal(take_table(&list, path), "no file that can be read");
    fclose(fopen(path, "w"));
    fclose(fopen(odd, "w"));
    assert_string_equal(take_table(&list, odd), "a table's path must not have a colon in it");
    size_t each = strlen(real) + 3, most = (sizeof list.paths - 1) / each;
    for (size_t i = 0; i < most; i++)
        assert_null(take_table(&list, path));
    assert_int_equal(strlen(list.paths), most * each);
    assert_string_equal(take_table(&list, path), "too many tables, or too long paths");
    assert_int_equal(strlen(list.paths), most * each);
    assert_int_equal(strncmp(list.paths + 1, real, strlen(real)), 0);
    unlink(path);
    unlink(odd);
    rmdir(directory);
    free(real);
}

static void test_selections(void **state)
{
    static const struct {
        const char *text;
        bool fine;
        int64_t first, last;
    } steps[] = {{"3:5", true, 3, 5},
                 {"4:4", true, 4, 4},
                 {":5", true, INT64_MIN, 5},
                 {"3:", true, 3, INT64_MAX},
                 {":", true, INT64_MIN, INT64_MAX},
                 {"-2:-1", true, -2, -1},
                 {"5:4", false, 0, 0},
                 {"5", false, 0, 0},
                 {"", false, 0, 0},
                 {"a:5", false, 0, 0},
                 {"3:5x", false, 0, 0},
                 {"3x:5", false, 0, 0}};
    static const struct {
        const char *text;
        bool fine;
        double start, end;
    } times[] = {{"1:2", true, 1e6, 2e6}, {"0.5:", true, 5e5, 0}, {":2", true, 0, 2e6},
                 {"0:1", true, 0, 1e6},   {"2:2", false, 0, 0},   {"3:2", false, 0, 0},
                 {"-1:2", false, 0, 0},   {"1", false, 0, 0},     {"1:2:3", false, 0, 0},
                 {"1:x", false, 0, 0},    {"x:1", false, 0, 0},   {"1e12:", false, 0, 0},
                 {"1:0", false, 0, 0},    {"0:0", false, 0, 0},   {":0", false, 0, 0},
                 {"1e11:", true, 1e17, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        selection s = SELECT_ALL;
        assert_int_equal(take_steps(&s, steps[i].text) == NULL, steps[i].fine);
        if (!steps[i].fine) continue;
        assert_true(s.first_step == steps[i].first && s.last_step == steps[i].last);
        assert_int_equal(is_selected(&s), strcmp(steps[i].text, ":") != 0);
    }
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        selection s = SELECT_ALL;
        assert_int_equal(take_time(&s, times[i].text) == NULL, times[i].fine);
        if (!times[i].fine) continue;
        assert_true(s.start_us == times[i].start && s.end_us == times[i].end);
        assert_true(is_selected(&s));
    }
    selection all = SELECT_ALL;
    assert_false(is_selected(&all));
}

static void test_splits(void **state)
{
    static const struct {
        const char *text;
        uint64_t size, steps;
        double us;
    } cases[] = {{"100M", 104857600, 0, 0},
                 {"100MB", 104857600, 0, 0},
                 {"1K", 1024, 0, 0},
                 {"2GB", 2147483648, 0, 0},
                 {"10steps", 0, 10, 0},
                 {"1step", 0, 1, 0},
                 {"5s", 0, 0, 5e6},
                 {"20ms", 0, 0, 2e4},
                 {"2m", 0, 0, 120e6},
                 {"1h", 0, 0, 3600e6},
                 {"100", 0, 0, 0},
                 {"0steps", 0, 0, 0},
                 {"steps", 0, 0, 0},
                 {"10B", 0, 0, 0},
                 {"B", 0, 0, 0},
                 {"", 0, 0, 0},
                 {"-1steps", 0, 0, 0},
                 {"1stepss", 0, 0, 0},
                 {"0s", 0, 0, 0}};
    char text[40];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        selection s = SELECT_ALL;
        bool fine = cases[i].size || cases[i].steps || cases[i].us > 0;
        assert_int_equal(take_split(&s, cases[i].text) == NULL, fine);
        assert_true(s.max_size == cases[i].size && s.split_steps == cases[i].steps &&
                    s.split_us == cases[i].us);
    }
    for (int n = 31; n <= 32; n++) { /* digits that there is room for, and one more */
        selection s = SELECT_ALL;
        snprintf(text, sizeof text, "%0*dK", n - 1, 1);
        assert_int_equal(take_split(&s, text) == NULL, n == 31);
    }
}

static void test_lists_of_ranks(void **state)
{
    static const struct {
        const char *text, *has; /* has: of ranks 0 to 9, two of each node; NULL: it is none */
    } cases[] = {{"0", "1000000000"},
                 {"3,5", "0001010000"},
                 {"2-4", "0011100000"},
                 {"0,8-9", "1000000011"},
                 {"4-4", "0000100000"},
                 {"every:1", "1111111111"},
                 {"every:4", "1000100010"},
                 {"node:0", "1100000000"},
                 {"node:2", "0000110000"},
                 {"2147483647", "0000000000"},
                 {"2147483648", NULL},
                 {"", NULL},
                 {",", NULL},
                 {"1,", NULL},
                 {"-1", NULL},
                 {"1-", NULL},
                 {"4-3", NULL},
                 {"1;2", NULL},
                 {"every:0", NULL},
                 {"every:", NULL},
                 {"every:2x", NULL},
                 {"node:", NULL},
                 {"node:-1", NULL},
                 {"1-2-3", NULL},
                 {" 1", NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(rank_list_is_valid(cases[i].text), cases[i].has != NULL);
        for (int rank = 0; cases[i].has && rank < 10; rank++) {
            hb_launch_info process = {.rank = rank, .node = rank / 2};
            assert_int_equal(rank_list_has(cases[i].text, &process), cases[i].has[rank] == '1');
        }
    }
}

/* ---- a command line ---- */

typedef struct request {
    bool flag;
    const char *word;
    size_t count;
} request;

static int run_nothing(arguments *args)
{
    return args->status;
}

static const option_spec options[] = {
    {'f', "flag", NULL,
     "a flag, of which so much is told that the line is too long and has to go on below",
     INTO(flag)},
    {'w', "word", "one|two|three", "a word", INTO(word)},
    {0, "a-count-of-what-is-counted", "N", "its help is on a line of its own", INTO(count)},
    {0, NULL, NULL, NULL, NULL, 0}};
static const command made = {.name = "made",
                             .summary = "-",
                             .synopsis = "[options] FILE...",
                             .about = "Says nothing.",
                             .options = options,
                             .notes = "A note.",
                             .least = 1,
                             .most = 2,
                             .wanted = "expected one or two files",
                             .run = run_nothing};

static bool parse(arguments *args, request *r, int count, const char *const *words)
{
    static char *copies[8];
    for (int i = 0; i < count; i++)
        copies[i] = (char *)(uintptr_t)words[i];
    copies[count] = NULL;
    *args = (arguments){copies, count, EXIT_FINE};
    *r = (request){0};
    return parse_options(&made, args, r);
}

static void test_a_command_line(void **state)
{
    arguments args;
    request r;
    (void)state;
    assert_true(parse(
        &args, &r, 6,
        (const char *[]){"made", "-f", "--word", "two", "--a-count-of-what-is-counted=3", "x"}));
    assert_true(r.flag && r.count == 3 && args.count == 1);
    assert_string_equal(r.word, "two");
    assert_string_equal(args.words[0], "x");
    assert_true(parse(&args, &r, 4, (const char *[]){"made", "x", "-wthree", "y"}));
    assert_true(!r.flag && args.count == 2);
    assert_string_equal(r.word, "three");
    static const struct {
        int count;
        const char *words[5], *why;
    } odd[] = {{1, {"made"}, "expected one or two files"},
               {4, {"made", "a", "b", "c"}, "'c': expected one or two files"},
               {3, {"made", "--nothing", "x"}, "option '--nothing' is unknown or lacks its value"},
               {2, {"made", "--word"}, "option '--word' is unknown or lacks its value"},
               {4, {"made", "-w", "on", "x"}, "--word 'on': expected one|two|three"},
               {4, {"made", "-w", "one|two", "x"}, "--word 'one|two': expected one|two|three"},
               {4, {"made", "-w", "threes", "x"}, "--word 'threes': expected one|two|three"},
               {3,
                {"made", "--a-count-of-what-is-counted=-1", "x"},
                "--a-count-of-what-is-counted '-1': expected a number, 0 or more"}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        char expected[300], said[300] = "";
        FILE *to = tmpfile();
        int real = dup(STDERR_FILENO);
        dup2(fileno(to), STDERR_FILENO);
        bool fine = parse(&args, &r, odd[i].count, odd[i].words);
        dup2(real, STDERR_FILENO);
        close(real);
        rewind(to);
        size_t n = fread(said, 1, sizeof said - 1, to);
        said[n] = 0;
        fclose(to);
        snprintf(expected, sizeof expected, "hipboard made: %s; see `hipboard made --help`\n",
                 odd[i].why);
        assert_false(fine);
        assert_int_equal(args.status, EXIT_USAGE);
        assert_string_equal(said, expected);
    }
}

static void test_help(void **state)
{
    arguments args;
    request r;
    (void)state;
    begin();
    bool goes_on = parse(&args, &r, 2, (const char *[]){"made", "-h"});
    assert_printed("usage: hipboard made [options] FILE...\n"
                   "\n"
                   "Says nothing.\n"
                   "\n"
                   "  -f, --flag                a flag, of which so much is told that the line is\n"
                   "                            too long and has to go on below\n"
                   "  -w, --word one|two|three  a word\n"
                   "  --a-count-of-what-is-counted N\n"
                   "                            its help is on a line of its own\n"
                   "  -h, --help                this text\n"
                   "\n"
                   "A note.\n");
    assert_false(goes_on);
    assert_int_equal(args.status, EXIT_FINE);
}

/* ---- texts ---- */

static void test_wrapped_texts(void **state)
{
    static const struct {
        const char *text;
        size_t indent, width;
        const char *lines;
    } cases[] = {{"one two three", 0, 13, "one two three\n"},
                 {"one two three", 0, 12, "one two\nthree\n"},
                 {"one two three", 2, 9, "one two\n  three\n"},
                 {"one two three", 2, 8, "one\n  two\n  three\n"},
                 {"muchtoolong a b", 0, 5, "muchtoolong\na b\n"},
                 {"a\nb", 1, 80, "a\n b\n"},
                 {"a\n\nb", 3, 80, "a\n\n   b\n"},
                 {"a   b", 0, 3, "a  \nb\n"},
                 {"a b", 9, 5, "a\n         b\n"},
                 {"", 0, 5, "\n"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        print_wrapped(cases[i].text, cases[i].indent, cases[i].width);
        assert_printed(cases[i].lines);
    }
}

static void test_what_fits_on_the_screen(void **state)
{
    static const struct {
        const char *text;
        size_t size, width;
        const char *shown;
    } cases[] = {{"abcdef", 64, 6, "abcdef"},
                 {"abcdefg", 64, 6, "abc..."},
                 {"abcdef", 14, 6, "abcdef"},
                 {"abcdef", 13, 6, "abc..."},
                 {"abcd", 64, 4, "abcd"},
                 {"abcde", 64, 4, "a..."},
                 {"abcd", 64, 3, "..."},
                 {"abcd", 64, 2, ".."},
                 {"abcd", 64, 0, ""},
                 {"a\tb\033c\177", 64, 9, "a b c "},
                 {"a\302\205b", 64, 9, "a b"},
                 {"a\302\240b", 64, 9, "a\302\240b"},
                 {"a\377b\300\200", 64, 9, "a?b??"},
                 {"\303\251\303\251", 64, 2, "\303\251\303\251"},
                 {"\342\202\254x", 64, 2, "\342\202\254x"},
                 {"\360\237\230\200x", 64, 3, "\360\237\230\200x"},
                 {"\360\237\230\200xabc", 64, 4, "..."},
                 {"\360\237\230\200xabc", 64, 5, "\360\237\230\200..."},
                 {"a\342\202", 64, 9, "a??"},
                 {"\365\200\200\200", 64, 9, "????"}};
    char shown[64];
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        screen_fit(shown, cases[i].size, cases[i].text, cases[i].width);
        assert_string_equal(shown, cases[i].shown);
    }
    assert_int_equal(screen_width("\360\237\230\200e\314\201"), 3); /* wide; combining */
    assert_int_equal(screen_character("\360\237\230\200x"), 4);
    assert_int_equal(screen_character("\301\200"), 0);
    assert_int_equal(screen_character("\302\200"), 2);
}

static void test_names_of_files(void **state)
{
    static const char *const cases[][2] = {{"/a/b.pt.trace.json.gz", "b"},
                                           {"b.pt.trace.json", "b"},
                                           {"b.json", "b"},
                                           {"b.gz", "b"},
                                           {"b.hbranks", "b"},
                                           {".json", ".json"},
                                           {"b.trace.x", "b.trace.x"},
                                           {"b.json.json", "b.json"},
                                           {"a/.pt.trace.json", ".pt"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *stem = trace_stem(cases[i][0]);
        assert_string_equal(stem, cases[i][1]);
        free(stem);
    }
    assert_string_equal(text_behind("a/b: why", "a/b"), "why");
    assert_string_equal(text_behind("a/b: why", "a/"), "a/b: why");
    assert_string_equal(text_behind("a/b:why", "a/b"), "a/b:why");
    assert_string_equal(text_behind("why", "a/b"), "why");
    assert_string_equal(text_behind("a/b: ", "a/b"), "");
    assert_true(ends_with("abc", "abc") && ends_with("abc", "") && !ends_with("bc", "abc"));
    assert_true(is_digests("x.hbranks") && !is_digests("x.hbrank"));
}

/* Escapes are characters, those of controls blanks. */
static void test_texts_of_json(void **state)
{
    static const struct {
        const char *json, *text, *rest;
    } cases[] = {{"\", 7", "\n", ", 7"},
                 {"a b\"", "a b\n", ""},
                 {"cut", "cut\n", ""},
                 {"a\\\"b\\\\c\\/d\" x", "a\"b\\c/d\n", " x"},
                 {"a\\nb\\tc\\u001bd\"", "a b c d\n", ""},
                 {"\\u0041\\u007f\\u0080\\u07ff\\u0800\\uFFFF\"",
                  "A\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf\n", ""},
                 {"\\ud800\\udc00\\uDBFF\\uDFFF\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\n", ""},
                 {"\\ud834x\\udd1e\\ud834\\u0041\"",
                  "\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd"
                  "A\n",
                  ""},
                 {"\\u12\"", "u12\n", ""},
                 {"\\uxyzw\"", "uxyzw\n", ""},
                 {"\\", "\\\n", ""},
                 {"\xc3\xa9\"", "\xc3\xa9\n", ""}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        const char *rest = print_json_text(cases[i].json, stdout);
        assert_printed(cases[i].text);
        assert_string_equal(rest, cases[i].rest);
    }
}

/* ---- tables ---- */

static const column columns[] = {{"Name of it", COLUMN_TEXT},  {"Calls", COLUMN_COUNT},
                                 {"Device time", COLUMN_TIME}, {"Size", COLUMN_BYTES},
                                 {"FLOPs", COLUMN_FLOPS},      {"Share", COLUMN_PERCENT},
                                 {"Mean", COLUMN_NUMBER},      {"Nothing", COLUMN_NUMBER}};

static void fill(table *t)
{
    table_init(t, columns, 8);
    table_add(t, "first, \"one\"", 3.0, 999.0, 1023.0, 999.0, 100.0, 1.5, 0.0);
    table_add(t, "a name that is much longer than others are", 12.0, 1000.0, 1024.0, 1e6, 4.9,
              0.125, 0.0);
    table_add(t, "b", 1.0, 999800.0, 1048576.0, 1.5e9, 5.0, 7.0, 0.0);
    table_add(t, "", NAN, 1.5e6, 1073741824.0, 2e12, 120.0, -3.0, NAN);
    table_add(t, "c", 100.0, 0.25, 1536.0, 12345678.0, -5.0, 10.0, 0.0);
}

static void assert_table(const table_style *style, const char *expected)
{
    table t;
    fill(&t);
    begin();
    table_print(&t, style);
    assert_printed(expected);
    table_free(&t);
}

static void test_tables(void **state)
{
    (void)state;
    assert_table(&(table_style){0}, "Name of it                                  Calls  Device "
                                    "time       Size    FLOPs               Share   Mean  Nothing\n"
                                    "first, \"one\"                                    3       999 "
                                    "us     1023 B     999   100.0 % ##########   1.50     0.00\n"
                                    "a name that is much longer than others are     12     1.000 "
                                    "ms  1.000 KiB  1.000 M    4.9 %              0.12     0.00\n"
                                    "b                                               1     999.8 "
                                    "ms  1.000 MiB  1.500 G    5.0 % #            7.00     0.00\n"
                                    "                                                       1.500 "
                                    "s  1.000 GiB  2.000 T  120.0 % ##########  -3.00\n"
                                    "c                                             100     0.250 "
                                    "us  1.500 KiB  12.35 M   -5.0 %             10.00     0.00\n");
}

static void test_tables_of_the_screen(void **state)
{
    (void)state;
    assert_table(&(table_style){.top = 2, .hide_empty = true, .text_width = 10},
                 "Name of it  Calls  Device time       Size    FLOPs               Share  Mean\n"
                 "first, ...      3       999 us     1023 B     999   100.0 % ##########  1.50\n"
                 "a name ...     12     1.000 ms  1.000 KiB  1.000 M    4.9 %             0.12\n"
                 "(3 more)\n");
    assert_table(&(table_style){.line_width = 110, .hide_empty = true, .bold = true},
                 "\033[1mName of it                                  Calls  Device time       Size "
                 "   FLOPs               Share   Mean\n"
                 "\033[0mfirst, \"one\"                                    3       999 us     1023 "
                 "B     999   100.0 % ##########   1.50\n"
                 "a name that is much longer than others are     12     1.000 ms  1.000 KiB  1.000 "
                 "M    4.9 %              0.12\n"
                 "b                                               1     999.8 ms  1.000 MiB  1.500 "
                 "G    5.0 % #            7.00\n"
                 "                                                       1.500 s  1.000 GiB  2.000 "
                 "T  120.0 % ##########  -3.00\n"
                 "c                                             100     0.250 us  1.500 KiB  12.35 "
                 "M   -5.0 %             10.00\n");
    assert_table(
        &(table_style){.line_width = 80, .hide_empty = true},
        "Name                         Calls    Device       Size    FLOPs    Share   Mean\n"
        "of it                                   time\n"
        "first, \"one\"                     3    999 us     1023 B     999   100.0 %   1.50\n"
        "a name that is much long...     12  1.000 ms  1.000 KiB  1.000 M    4.9 %   0.12\n"
        "b                                1  999.8 ms  1.000 MiB  1.500 G    5.0 %   7.00\n"
        "                                     1.500 s  1.000 GiB  2.000 T  120.0 %  -3.00\n"
        "c                              100  0.250 us  1.500 KiB  12.35 M   -5.0 %  10.00\n");
    assert_table(&(table_style){.line_width = 60, .hide_empty = true, .top = 5},
                 "Name          Calls    Device       Size    FLOPs    Share   Mean\n"
                 "of it                    time\n"
                 "first, \"one\"      3    999 us     1023 B     999   100.0 %   1.50\n"
                 "a name th...     12  1.000 ms  1.000 KiB  1.000 M    4.9 %   0.12\n"
                 "b                 1  999.8 ms  1.000 MiB  1.500 G    5.0 %   7.00\n"
                 "                      1.500 s  1.000 GiB  2.000 T  120.0 %  -3.00\n"
                 "c               100  0.250 us  1.500 KiB  12.35 M   -5.0 %  10.00\n");
}

static void assert_table_of(const column *of, size_t num, const char *const *texts, size_t width,
                            const char *expected)
{
    table t;
    table_init(&t, of, num);
    for (size_t i = 0; texts[i]; i += num)
        table_add(&t, texts[i], texts[i + 1]);
    begin();
    table_print(&t, &(table_style){.line_width = width});
    assert_printed(expected);
    table_free(&t);
}

/* Down to 40 columns a text is cut before bars and titles give way, down to 12 behind them, and
 * never below its title; of two the widest, of two alike the first. */
static void test_texts_give_way_in_turns(void **state)
{
    static const column texts[] = {{"A", COLUMN_TEXT}, {"B", COLUMN_TEXT}};
    static const column titled[] = {{"A title without blanks", COLUMN_TEXT}, {"B", COLUMN_TEXT}};
    static const char *const cells[] = {"abcdefghijklmnopqrstuvwxyz", "0123456789abcdefghijklmnop",
                                        NULL};
    static const char *const few[] = {"x", "y", NULL};
    (void)state;
    assert_table_of(texts, 2, cells, 54,
                    "A                           B\n"
                    "abcdefghijklmnopqrstuvwxyz  0123456789abcdefghijklmnop\n");
    assert_table_of(texts, 2, cells, 53,
                    "A                          B\n"
                    "abcdefghijklmnopqrstuv...  0123456789abcdefghijklmnop\n");
    assert_table_of(texts, 2, cells, 40,
                    "A             B\n"
                    "abcdefghi...  0123456789abcdefghijklmnop\n");
    assert_table_of(texts, 2, cells, 39,
                    "A             B\n"
                    "abcdefghi...  0123456789abcdefghijkl...\n");
    assert_table_of(texts, 2, cells, 26,
                    "A             B\n"
                    "abcdefghi...  012345678...\n");
    assert_table_of(texts, 2, cells, 10,
                    "A             B\n"
                    "abcdefghi...  012345678...\n");
    assert_table_of(titled, 2, few, 10,
                    "A title         B\n"
                    "without blanks\n"
                    "x               y\n");
}

/* Four digits, also where rounding makes one more, or the next unit's first. */
static void test_units_of_tables(void **state)
{
    static const struct {
        double value;
        const char *text;
    } times[] = {{0, "0 us"},
                 {7, "7 us"},
                 {0.0004, "0.000 us"},
                 {0.9996, "1.000 us"},
                 {9.9994, "9.999 us"},
                 {9.9996, "10.00 us"},
                 {99.994, "99.99 us"},
                 {99.996, "100.0 us"},
                 {999.94, "999.9 us"},
                 {999.96, "1.000 ms"},
                 {999949, "999.9 ms"},
                 {999960, "1.000 s"},
                 {999999, "1.000 s"},
                 {99.996e6, "100.0 s"},
                 {999.96e6, "1000 s"},
                 {12345e6, "12345 s"},
                 {-999.94, "-999.9 us"},
                 {-999.96, "-1.000 ms"}},
      sizes[] = {{1023, "1023 B"},
                 {1024, "1.000 KiB"},
                 {1000 * 1024, "1000 KiB"},
                 {999.9 * 1024, "999.9 KiB"},
                 {1023.4 * 1024, "1023 KiB"},
                 {1023.96 * 1024, "1.000 MiB"},
                 {1048576.0 * 1023.96, "1.000 GiB"},
                 {1e13, "9313 GiB"}};
    static const column time[] = {{"T", COLUMN_TIME}}, size[] = {{"T", COLUMN_BYTES}};
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof *times + sizeof sizes / sizeof *sizes; i++) {
        bool is_time = i < sizeof times / sizeof *times;
        const char *text = is_time ? times[i].text : sizes[i - sizeof times / sizeof *times].text;
        char expected[60];
        table t;
        table_init(&t, is_time ? time : size, 1);
        table_add(&t, is_time ? times[i].value : sizes[i - sizeof times / sizeof *times].value);
        snprintf(expected, sizeof expected, "%*s\n%s\n", (int)strlen(text), "T", text);
        begin();
        table_print(&t, &(table_style){0});
        assert_printed(expected);
        table_free(&t);
    }
}

static void test_tables_sort(void **state)
{
    static const char *const by[] = {" abcf", "cafb ", " bcaf"};
    static const size_t at[] = {0, 1, 3};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        table t;
        fill(&t);
        table_sort(&t, at[i]);
        char initials[6] = "";
        for (size_t r = 0; r < 5; r++)
            initials[r] = *t.cells[r * 8].text ? *t.cells[r * 8].text : ' ';
        assert_string_equal(initials, by[i]);
        table_free(&t);
    }
    assert_int_equal(table_find(columns, 8, "device-TIME"), 2);
    assert_int_equal(table_find(columns, 8, "nameofit"), 0);
    assert_int_equal(table_find(columns, 8, "device"), -1);
    assert_int_equal(table_find(columns, 8, "device times"), -1);
}

static void test_rows_as_json(void **state)
{
    table t;
    (void)state;
    table_init(&t, columns, 2);
    table_add(&t, "a\tb\"\\\177", 0.1);
    table_add(&t, "\377", NAN);
    table_add(&t, "c", INFINITY);
    begin();
    table_print_json(&t, 2);
    table_print_json(&t, 3);
    assert_printed(
        "[{\"Name of it\": \"a\\u0009b\\\"\\\\\\u007f\", \"Calls\": 0.10000000000000001}, "
        "{\"Name of it\": \"\\ufffd\", \"Calls\": null}]"
        "[{\"Name of it\": \"a\\u0009b\\\"\\\\\\u007f\", \"Calls\": 0.10000000000000001}, "
        "{\"Name of it\": \"\\ufffd\", \"Calls\": null}, {\"Name of it\": \"c\", \"Calls\": "
        "null}]");
    table_free(&t);
}

static void test_tables_for_programs(void **state)
{
    table t;
    (void)state;
    fill(&t);
    begin();
    table_print_csv_header(&t, "rank");
    table_print_csv_rows(&t, 2, "a,b");
    table_print_csv_header(&t, NULL);
    table_print_csv_rows(&t, 9, NULL);
    assert_printed(
        "rank,Name of it,Calls,Device time (us),Size (bytes),FLOPs,Share (%),Mean,Nothing\n"
        "\"a,b\",\"first, \"\"one\"\"\",3,999,1023,999,100,1.5,0\n"
        "\"a,b\",a name that is much longer than others "
        "are,12,1000,1024,1000000,4.9000000000000004,0.125,0\n"
        "Name of it,Calls,Device time (us),Size (bytes),FLOPs,Share (%),Mean,Nothing\n"
        "\"first, \"\"one\"\"\",3,999,1023,999,100,1.5,0\n"
        "a name that is much longer than others "
        "are,12,1000,1024,1000000,4.9000000000000004,0.125,0\n"
        "b,1,999800,1048576,1500000000,5,7,0\n"
        ",,1500000,1073741824,2000000000000,120,-3,\n"
        "c,100,0.25,1536,12345678,-5,10,0\n");
    begin();
    table_print_json(&t, 1);
    t.num_rows = 0;
    table_print_json(&t, 0);
    t.num_rows = 5;
    assert_printed("[{\"Name of it\": \"first, \\\"one\\\"\", \"Calls\": 3, \"Device time (us)\": "
                   "999, \"Size (bytes)\": 1023, "
                   "\"FLOPs\": 999, \"Share (%)\": 100, \"Mean\": 1.5, \"Nothing\": 0}][]");
    table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_activities),
        cmocka_unit_test(test_schedules),
        cmocka_unit_test(test_rings),
        cmocka_unit_test(test_expressions),
        cmocka_unit_test(test_tables_of_operators),
        cmocka_unit_test(test_tables_have_full_paths),
        cmocka_unit_test(test_selections),
        cmocka_unit_test(test_splits),
        cmocka_unit_test(test_lists_of_ranks),
        cmocka_unit_test(test_a_command_line),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_wrapped_texts),
        cmocka_unit_test(test_what_fits_on_the_screen),
        cmocka_unit_test(test_names_of_files),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_tables_of_the_screen),
        cmocka_unit_test(test_texts_give_way_in_turns),
        cmocka_unit_test(test_texts_of_json),
        cmocka_unit_test(test_units_of_tables),
        cmocka_unit_test(test_tables_sort),
        cmocka_unit_test(test_tables_for_programs),
        cmocka_unit_test(test_rows_as_json),
    };
    setlocale(LC_CTYPE, "C.UTF-8"); /* as main() does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
