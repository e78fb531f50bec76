/* SPDX-License-Identifier: MIT
 *
 * What makes reading quick, and is not seen in what is read: a part of a text ends where the next
 * one begins, and events that are laid out as others are known again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "io/number_text.h"
#include "read/json_units.h"

/* ---- parts of a text ---- */

/* How many events a part has whose limit is so, and where it ends. */
static uint64_t read_up_to(const char *json, uint64_t limit, uint64_t *end)
{
    hb_text text;
    hb_trace trace;
    hb_reader r;
    hb_read_report report = {0};
    hb_read_options options = {0};
    hb_result result;
    assert_int_equal(hb_text_open_memory(&text, json, strlen(json)), HB_OK);
    assert_true(hb_trace_init(&trace));
    hb_reader_init(&r, &text, &trace, NULL, &options, &report);
    assert_true(hb_read_plain_events(&r, limit, &result));
    assert_int_equal(result, HB_OK);
    assert_int_equal(r.num_events, trace.rows.count);
    *end = hb_reader_offset(&r);
    uint64_t count = r.num_events;
    hb_reader_free(&r);
    hb_trace_free(&trace);
    hb_text_close(&text);
    return count;
}

static void a_part_ends_at_the_first_event_behind_its_limit(void **state)
{
    static const char event[] = "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1}";
    enum { EVENTS = 5, SIZE = sizeof event - 1 + 3 };
    char json[EVENTS * SIZE + 1] = "";
    (void)state;
    for (int i = 0; i < EVENTS; i++)
        snprintf(json + i * SIZE, SIZE + 1, "%s,\n ", event);
    for (uint64_t limit = 0; limit <= 3 * SIZE; limit++) {
        uint64_t end, expected = (limit + SIZE - 1) / SIZE;
        assert_int_equal(read_up_to(json, limit, &end), expected);
        assert_int_equal(end, expected * SIZE);
    }
}

/* ---- layouts ---- */

/* Whether an event is laid out as an earlier one; it is learned if not. */
static bool is_known(hb_layouts *layouts, const char *event)
{
    char padded[512] = "";
    hb_raw_event raw;
    int size = snprintf(padded, sizeof padded, "%s, ", event);
    hb_scan scan = {.end = padded + size};
    const char *end = hb_layouts_match(layouts, &scan, padded, &raw);
    if (end) assert_ptr_equal(end, padded + strlen(event));
    if (!end) hb_layouts_learn(layouts, &scan, padded, padded + strlen(event));
    return end;
}

/* Names that count are parts of layouts at first, and values once there are many of them. */
static void names_that_count_are_values_in_the_end(void **state)
{
    enum { FIXED = 64 };
    hb_layouts *layouts = hb_layouts_new();
    char event[128];
    (void)state;
    assert_non_null(layouts);
    for (int i = 1; i <= 3 * FIXED; i++) {
        snprintf(event, sizeof event, "{\"ph\": \"X\", \"name\": \"event %d\", \"ts\": %d}", i, i);
        if (is_known(layouts, event) != (i > FIXED + 1)) fail_msg("event %d", i);
        assert_true(is_known(layouts, event));
    }
    /* What begins otherwise is none of them. */
    assert_false(
        is_known(layouts, "{\"ph\": \"X\", \"cat\": \"c\", \"name\": \"event 1\", \"ts\": 1}"));
    hb_layouts_free(layouts);
}

/* As many layouts as there are kinds of events, also where they begin alike. */
static void layouts_that_begin_alike_are_all_known(void **state)
{
    static const char *const events[] = {
        "{\"ph\": \"X\", \"ts\": 1}",
        "{\"ph\": \"X\", \"ts\": 1, \"dur\": 2}",
        "{\"ph\": \"X\", \"ts\": 1, \"dur\": 2, \"args\": {}}",
        "{\"ph\": \"X\", \"ts\": 1, \"dur\": 2, \"args\": {\"External id\": 3}}",
        "{\"ph\": \"X\", \"ts\": 1, \"dur\": 2, \"args\": {\"External id\": 3 }}",
        "{\"ph\": \"X\", \"ts\": 1, \"name\": \"a\"}",
        "{\"ph\": \"X\", \"ts\": 1, \"name\": \"b\"}",
    };
    hb_layouts *layouts = hb_layouts_new();
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(events); i++)
        assert_false(is_known(layouts, events[i]));
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < HB_ARRAY_LEN(events); i++)
            assert_true(is_known(layouts, events[i]));
    hb_layouts_free(layouts);
}

/* Of so many kinds of events, which begin so, the first ones are known. */
static void known_are_the_first(int known, int kinds, const char *begin)
{
    hb_layouts *layouts = hb_layouts_new();
    char event[128];
    for (int i = 1; i <= kinds; i++) {
        snprintf(event, sizeof event, "{%s\"member%d\": 1}", begin, i);
        assert_false(is_known(layouts, event));
        if (is_known(layouts, event) != (i <= known)) fail_msg("%s", event);
    }
    hb_layouts_free(layouts);
}

static void there_is_an_end_of_layouts(void **state)
{
    (void)state;
    known_are_the_first(72, 100, "\"ts\": 1, ");
    known_are_the_first(2047, 2100, "");
}

/* ---- events that are others again ---- */

/* Whether `probe` would be known as another one again behind so many events, in which each '#' is
 * the event's number, and '@' a quarter of it. What comes is guessed by the last four, so that
 * there have to be some. */
static bool repeats(const char *event, int count, const char *probe)
{
    hb_text text;
    hb_trace trace;
    hb_reader r;
    hb_read_report report = {0};
    hb_read_options options = {0};
    hb_result result;
    hb_read_row again;
    hb_buf json;
    char padded[40000] = "";
    hb_buf_init(&json, (size_t)1 << 28);
    for (int i = 1; i <= count; i++) {
        for (const char *c = event; *c; c++)
            if (*c == '#' || *c == '@')
                hb_buf_printf(&json, "%d", *c == '#' ? i : i / 4);
            else
                hb_buf_append(&json, c, 1);
        hb_buf_append(&json, ", ", 2);
    }
    hb_buf_append(&json, "{", 1);
    assert_false(json.failed);
    hb_layouts *layouts = hb_layouts_new();
    assert_int_equal(hb_text_open_memory(&text, json.data, json.size), HB_OK);
    assert_true(hb_trace_init(&trace));
    hb_reader_init(&r, &text, &trace, layouts, &options, &report);
    (void)hb_read_plain_events(&r, json.size - 1, &result);
    assert_int_equal(result, HB_OK);
    assert_int_equal(trace.rows.count, count);
    int n = snprintf(padded, sizeof padded - 64, "%s, ", probe);
    assert_in_range(n, 0, sizeof padded - 65);
    const char *end = hb_layouts_repeat(layouts, padded, &again);
    if (end) assert_ptr_equal(end, padded + strlen(probe));
    hb_reader_free(&r);
    hb_trace_free(&trace);
    hb_text_close(&text);
    hb_layouts_free(layouts);
    hb_buf_free(&json);
    return end != NULL;
}

enum { SOME = 8 };

#define OP(more, args)                                                                     \
    "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op\", \"pid\": 1, \"tid\": 2, " more \
    ", \"args\": {" args "}}"
#define OF(category, more, args)                                                                 \
    "{\"ph\": \"X\", \"cat\": \"" category "\", \"name\": \"op\", \"pid\": 1, \"tid\": 2, " more \
    ", \"args\": {" args "}}"
#define TIMES(ts, dur) "\"ts\": " ts ", \"dur\": " dur
#define PLAIN          TIMES("1", "2")
#define ID(n)          "\"External id\": " n

/* Times, ids and numbers of no meaning that change; nothing else may. */
static void which_events_are_others_again(void **state)
{
    static const struct {
        const char *first, *probe;
        bool again;
    } cases[] = {
        {OP(PLAIN, ID("1")), OP(PLAIN, ID("1")), true},
        {OP(PLAIN, ID("1")), OP(TIMES("345.125", "67.5"), ID("999999999")), true},
        {OP(PLAIN, ID("1")), OP(TIMES("-3", "0"), ID("0")), true},
        {OP(PLAIN, ID("1")), OP(TIMES("2999999999999999.999", "0"), ID("0")), true},
        {OP(PLAIN, ID("1")), OP(TIMES("3000000000000000", "0"), ID("0")), false},
        {OP(PLAIN, ID("1")), OP(TIMES("00000000000000001", "0"), ID("0")), false},
        {OP(PLAIN, ID("1")), OP(TIMES("-0", "0"), ID("0")), true},
        {OP(PLAIN, ID("1")), OP(TIMES("-0.0", "0"), ID("0")), false},
        {OP(PLAIN, ID("1")), OP(TIMES("1.", "0"), ID("0")), false},
        {OP(PLAIN, ID("1")), OP(TIMES("1.1234", "0"), ID("0")), false},
        {OP(PLAIN, ID("1")), OP(TIMES("1e3", "0"), ID("0")), false},
        {OP(PLAIN, ID("1")), OP(TIMES("null", "0"), ID("0")), false},
        {OP(PLAIN, ID("1")), OP(PLAIN, ID("1000000000")), false},
        {OP(PLAIN, ID("1")), OP(PLAIN, ID("01")), false},
        {OP(PLAIN, ID("1")), OP(PLAIN, ID("-1")), false},
        {OP(PLAIN, ID("1")), OP(PLAIN, ID("1.5")), false},
        {OP(PLAIN, ID("1")), OP(PLAIN, ID("\"1\"")), false},
        {OP(PLAIN, ID("1")), OP(PLAIN, ID("1") ", \"x\": 1"), false},
        {OP(PLAIN, ID("1")), OF("user_annotation", PLAIN, ID("1")), false},
        {OP(PLAIN, "\"Input Dims\": [[1]]"), OP(PLAIN, "\"Input Dims\": [[1]]"), true},
        {OP(PLAIN, "\"Input Dims\": [[1]]"), OP(PLAIN, "\"Input Dims\": [[2]]"), false},
        {OP(PLAIN, "\"external id\": 1"), OP(PLAIN, "\"external id\": 2"), true},
        {OP(PLAIN, "\"external id\": 1, \"External id\": 1"),
         OP(PLAIN, "\"external id\": 1, \"External id\": 1"), false},
        /* with a detail each is its own */
        {OP(PLAIN, "\"Sequence number\": 7"), OP(PLAIN, "\"Sequence number\": 7"), true},
        {OP(PLAIN, "\"Fwd thread id\": 1"), OP(PLAIN, "\"Fwd thread id\": 1"), false},
        {OP(PLAIN, "\"flops\": 1"), OP(PLAIN, "\"flops\": 1"), false},
        {OP(PLAIN, "\"Call stack\": \"f\""), OP(PLAIN, "\"Call stack\": \"f\""), true},
        /* kinds */
        {OF("user_annotation", PLAIN, ID("1")), OF("user_annotation", PLAIN, ID("2")), true},
        {OF("kernel", PLAIN, "\"correlation\": 1"), OF("kernel", PLAIN, "\"correlation\": 2"),
         true},
        {OF("kernel", PLAIN, "\"correlation\": 1, \"grid\": [1]"),
         OF("kernel", PLAIN, "\"correlation\": 1, \"grid\": [2]"), false},
        {OF("kernel", PLAIN, "\"device\": 1"), OF("kernel", PLAIN, "\"device\": 2"), false},
        {OF("cuda_runtime", PLAIN, "\"correlation\": 1"),
         OF("cuda_runtime", PLAIN, "\"correlation\": 2"), true},
        {OF("gpu_memcpy", PLAIN, "\"bytes\": 1"), OF("gpu_memcpy", PLAIN, "\"bytes\": 1"), true},
        {OF("gpu_memcpy", PLAIN, "\"bytes\": 1"), OF("gpu_memcpy", PLAIN, "\"bytes\": 2"), false},
        {OF("Trace", PLAIN, ""), OF("Trace", PLAIN, ""), true},
        {OF("other", PLAIN, ""), OF("other", TIMES("9", "9"), ""), true},
        {OF("python_function", PLAIN, "\"Python id\": 1"),
         OF("python_function", PLAIN, "\"Python id\": 1"), false},
        {"{\"ph\": \"s\", \"id\": 1, \"ts\": 2}", "{\"ph\": \"s\", \"id\": 1, \"ts\": 2}", false},
        {"{\"ph\": \"C\", \"name\": \"c\", \"ts\": 2, \"args\": {\"v\": 1}}",
         "{\"ph\": \"C\", \"name\": \"c\", \"ts\": 2, \"args\": {\"v\": 1}}", false},
        {"{\"ph\": \"i\", \"name\": \"[memory]\", \"ts\": 2, \"args\": {\"Bytes\": 1}}",
         "{\"ph\": \"i\", \"name\": \"[memory]\", \"ts\": 2, \"args\": {\"Bytes\": 1}}", false},
        {"{\"ph\": \"X\", \"name\": \"a\", \"dur\": 2}",
         "{\"ph\": \"X\", \"name\": \"a\", \"dur\": 2}", false},
        /* durations that nest */
        {OP(PLAIN, ID("1")), OP(TIMES("1", "2.0001"), ID("1")), false},
        {OP("\"dur\": 2, \"ts\": 1", ID("1")), OP("\"dur\": 3, \"ts\": 4", ID("1")), true},
        {OP("\"dur\": 2, \"ts\": 1", ID("1")), OP("\"dur\": \"x\", \"ts\": 4", ID("1")), false},
        {OP(TIMES("1", "null"), ID("1")), OP(TIMES("2", "null"), ID("1")), true},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++)
        if (repeats(cases[i].first, SOME, cases[i].probe) != cases[i].again)
            fail_msg("%s\n%s", cases[i].first, cases[i].probe);
}

/* As hipboard writes them: an event ends where the next one begins, in doubles, too. */
static void durations_by_which_events_nest_change_as_well(void **state)
{
    unsigned longer = 0;
    (void)state;
    for (uint64_t i = 0; i < 300; i++) {
        char ts[HB_MAX_NUMBER + 1], dur[HB_MAX_NUMBER + 1], probe[300];
        uint64_t start = 4804352295883460u + i * 7654321, ns = 1 + i * 97 % 30000;
        *hb_put_us(ts, start) = '\0';
        *hb_put_nesting_us(dur, start, start + ns) = '\0';
        const char *point = strchr(dur, '.');
        longer += point && strlen(point) > 4;
        snprintf(probe, sizeof probe, OP(TIMES("%s", "%s"), ID("1")), ts, dur);
        if (!repeats(OP(PLAIN, ID("1")), SOME, probe)) fail_msg("%s", probe);
    }
    assert_in_range(longer, 50, 300);
}

/* Values that are remembered have a known text; what is longer has none. */
static void values_are_remembered_up_to_a_length(void **state)
{
    enum { MOST = 4096 }; /* with quotes, and the character behind */
    static char event[MOST + 200];
    (void)state;
    for (int size = MOST - 2; size < MOST + 3; size++) {
        hb_layouts *layouts = hb_layouts_new();
        hb_raw_event raw;
        int n = snprintf(event, sizeof event,
                         "{\"ph\": \"X\", \"args\": {\"Call stack\": \"%0*d\"}}, ", size - 3, 0);
        hb_scan scan = {.end = event + n};
        hb_layouts_begin_trace(layouts);
        assert_null(hb_layouts_match(layouts, &scan, event, &raw));
        hb_layouts_learn(layouts, &scan, event, event + n - 2);
        assert_ptr_equal(hb_layouts_match(layouts, &scan, event, &raw), event + n - 2);
        assert_int_equal(raw.known[HB_SLOT_STACK] != NULL, size <= MOST);
        hb_layouts_free(layouts);
    }
}

/* A number without a meaning is text until it was seen to change. */
static void numbers_of_no_meaning_change_once_they_have(void **state)
{
    (void)state;
    assert_true(repeats(OP(PLAIN, "\"Ev Idx\": #"), SOME, OP(PLAIN, "\"Ev Idx\": 77")));
    assert_true(repeats(OP(PLAIN, "\"Ev Idx\": #"), SOME, OP(PLAIN, "\"Ev Idx\": -7.25")));
    assert_false(repeats(OP(PLAIN, "\"Ev Idx\": #"), SOME, OP(PLAIN, "\"Ev Idx\": 7e2")));
    assert_false(repeats(OP(PLAIN, "\"Ev Idx\": 5"), SOME, OP(PLAIN, "\"Ev Idx\": 77")));
    assert_true(repeats(OP(PLAIN, "\"Ev Idx\": 5"), SOME, OP(PLAIN, "\"Ev Idx\": 5")));
}

/* Of what takes turns the last four are known, and for a while each that comes is learned. */
static void what_takes_turns_is_known_for_a_while(void **state)
{
#define DIMS(n) OP(PLAIN, "\"Input Dims\": [[" n "]]")
    (void)state;
    for (int count = SOME; count < 2 * SOME; count++)
        for (int probe = 1; probe <= count + 1; probe++) {
            char event[300];
            snprintf(event, sizeof event, DIMS("%d"), probe);
            bool known = probe <= count && probe > count - 4;
            if (repeats(DIMS("#"), count, event) != known)
                fail_msg("%d of %d: %d", probe, count, !known);
        }
    assert_true(repeats(DIMS("#"), 257, DIMS("257")));
    assert_false(repeats(DIMS("#"), 258, DIMS("258")));        /* none of 256 was of use */
    assert_true(repeats(DIMS("@"), 4 * 300 + 3, DIMS("300"))); /* each was */
}

/* Events with so many numbers that change, and of so much text. */
static void there_is_an_end_of_what_is_kept_of_an_event(void **state)
{
    (void)state;
    for (int numbers = 11; numbers < 14; numbers++) {
        hb_buf event;
        hb_buf_init(&event, 1 << 20);
        hb_buf_str(&event, "{\"ph\": \"X\", \"ts\": #");
        for (int i = 1; i < numbers; i++)
            hb_buf_printf(&event, ", \"m%c\": #", 'a' + i);
        hb_buf_append(&event, "}", 2);
        char *probe = strdup(event.data);
        for (char *c = probe; (c = strchr(c, '#'));)
            *c = '7';
        assert_int_equal(repeats(event.data, SOME, probe), numbers <= 12);
        free(probe);
        hb_buf_free(&event);
    }
    static char event[17000];
    for (int size = 8000; size < 8300; size += 4) { /* a layout has 8192 bytes of fixed text */
        snprintf(event, sizeof event, "{\"ph\": \"X\", \"name\": \"%0*d\", \"ts\": 1}", size - 32,
                 0);
        assert_int_equal(strlen(event), size);
        assert_int_equal(repeats(event, SOME, event), size - 1 <= 8192);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_ends_at_the_first_event_behind_its_limit),
        cmocka_unit_test(names_that_count_are_values_in_the_end),
        cmocka_unit_test(layouts_that_begin_alike_are_all_known),
        cmocka_unit_test(there_is_an_end_of_layouts),
        cmocka_unit_test(which_events_are_others_again),
        cmocka_unit_test(durations_by_which_events_nest_change_as_well),
        cmocka_unit_test(values_are_remembered_up_to_a_length),
        cmocka_unit_test(numbers_of_no_meaning_change_once_they_have),
        cmocka_unit_test(what_takes_turns_is_known_for_a_while),
        cmocka_unit_test(there_is_an_end_of_what_is_kept_of_an_event),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
