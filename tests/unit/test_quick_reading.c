/* SPDX-License-Identifier: MIT
 *
 * What makes reading quick, and is not seen in what is read: a part of a text ends where the next
 * one begins, and events that are laid out as others are known again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_ends_at_the_first_event_behind_its_limit),
        cmocka_unit_test(names_that_count_are_values_in_the_end),
        cmocka_unit_test(layouts_that_begin_alike_are_all_known),
        cmocka_unit_test(there_is_an_end_of_layouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
