/* SPDX-License-Identifier: MIT
 *
 * Events that are laid out as earlier ones are not tokenised again: what is read of them must be
 * the same.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "raw_events.h"

/* ---- lists of events ---- */

static hb_buf list_of(const char *const *events, size_t count)
{
    hb_buf text;
    hb_buf_init(&text, (size_t)1 << 30);
    hb_buf_append(&text, "{\"traceEvents\": [\n", 18);
    for (size_t i = 0; i < count; i++)
        hb_buf_printf(&text, "%s%s", i ? ",\n" : "", events[i]);
    hb_buf_append(&text, "\n]}", 3);
    assert_false(text.failed);
    return text;
}

static raw_events compare(const hb_buf *text)
{
    hb_trace trace;
    hb_read_report report;
    raw_events found = {0};
    hb_read_options options = {.event = compare_raw_event, .context = &found};
    assert_int_equal(hb_read_trace_memory(text->data, text->size, &options, &trace, &report),
                     HB_OK);
    hb_trace_free(&trace);
    return found;
}

/* Each after each other, so that every one meets the layout of every other. */
static void all_pairs_are_read_as_tokenised(const char *const *events, size_t count)
{
    const char *listed[512];
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < count; j++) {
            assert_in_range(n, 0, HB_ARRAY_LEN(listed) - 3);
            listed[n++] = events[i];
            listed[n++] = events[i];
            listed[n++] = events[j];
        }
    hb_buf text = list_of(listed, n);
    raw_events found = compare(&text);
    assert_int_equal(found.count, n);
    if (found.wrong) fail_msg("event %u: %s", found.wrong - 1, listed[found.wrong - 1]);
    hb_buf_free(&text);
}

static void numbers_of_every_form(void **state)
{
    (void)state;
    static const char *const events[] = {
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1.5, \"dur\": 2, \"args\": {\"External id\": 1}}",
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 12345678.125, \"dur\": 12345678, "
        "\"args\": {\"External id\": 12345678901234567890}}",
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": -1.5, \"dur\": 0, \"args\": {\"External id\": "
        "-0}}",
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1e3, \"dur\": 2E-1, \"args\": {\"External id\": "
        "1.0e1}}",
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": NaN, \"dur\": null, \"args\": {\"External id\": "
        "\"7\"}}",
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": \"1.5\", \"dur\": true, \"args\": {\"External "
        "id\": [1]}}",
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": -Infinity, \"dur\": 1234567812345678, "
        "\"args\": {\"External id\": 0.5}}",
    };
    all_pairs_are_read_as_tokenised(events, HB_ARRAY_LEN(events));
}

static void texts_lists_and_members_of_every_form(void **state)
{
    (void)state;
    static const char *const events[] = {
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"args\":{\"Input "
        "Dims\":[[1,2]]}}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"args\":{\"Input "
        "Dims\":[[1,20]]}}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"args\":{\"Input Dims\":[[1,2]] "
        "}}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a \\\"b\\u00e9\",\"ts\":1,\"args\":{}}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"\303\251\",\"ts\":1,\"args\":null}",
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":1,\"args\":{\"grid\":[1],\"grid\":["
        "2]}}",
        "{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"args\":{\"grid\":1},\"args\":{\"block\":\"x\"}}",
        "{\"ph\":\"X\",\"name\":\"a\",\"na\\u006de\":\"b\",\"ts\":1,\"args\":{\"gr\\u0069d\":[3]}}",
        "{}",
        "{\"ts\":5}",
        "{\"args\":{\"x\":{\"y\":[{}]}},\"ts\":5,\"name\":7}",
    };
    all_pairs_are_read_as_tokenised(events, HB_ARRAY_LEN(events));
}

/* What is odd is said of every event that has it, not of the first only. */
static void flaws_of_every_form(void **state)
{
    (void)state;
    static const char *const events[] = {
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"args\": {\"Call stack\": \"f\"}}",
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"args\": {\"Call stack\": \"f\001\"}}",
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"args\": {\"Call stack\": N/A}}",
        "{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"args\": {\"Call stack\": \"f \"g\" h\"}}",
        "{\"ph\": \"X\", \"name\": \"a \"b\" c\", \"ts\": 1, \"args\": {\"Call stack\": \"\\q\"}}",
        "{\"ph\": \"X\", \"name\": \"\377\", \"ts\": 1, \"args\": {\"Call stack\": "
        "\"\355\240\200\"}}",
    };
    all_pairs_are_read_as_tokenised(events, HB_ARRAY_LEN(events));
}

/* More layouts, holes and values than are kept. */
static void what_is_too_much_to_remember(void **state)
{
    enum { NAMES = 5000 };
    char *events[NAMES + 4];
    hb_buf many;
    (void)state;
    hb_buf_init(&many, 1 << 20);
    hb_buf_printf(&many, "{\"ts\": 1, \"args\": {\"m\": 0");
    for (int i = 0; i < 100; i++)
        hb_buf_printf(&many, ", \"m%d\": %d", i, i);
    hb_buf_append(&many, "}}", 2);
    hb_buf_append(&many, "", 1);
    for (int i = 0; i < NAMES; i++)
        assert_true(asprintf(&events[i],
                             "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"n%d\", \"ts\": %d, "
                             "\"args\": {\"Call stack\": \"%0*d\"}}",
                             i % 3 ? i : 7, i, i % 2 ? 20 : 5000, i) > 0);
    events[NAMES] = events[NAMES + 1] = many.data;
    assert_true(asprintf(&events[NAMES + 2], "{\"name\": \"%09000d\", \"ts\": 1}", 0) > 0);
    events[NAMES + 3] = events[NAMES + 2];
    hb_buf text = list_of((const char *const *)events, HB_ARRAY_LEN(events));
    raw_events found = compare(&text);
    assert_int_equal(found.count, HB_ARRAY_LEN(events));
    assert_int_equal(found.wrong, 0);
    for (int i = 0; i < NAMES; i++)
        free(events[i]);
    free(events[NAMES + 2]);
    hb_buf_free(&many);
    hb_buf_free(&text);
}

/* ---- into traces ---- */

static const char *text_of(const hb_trace *trace, hb_sid id)
{
    return hb_trace_text(trace, id).s;
}

/* Ids of texts are of one trace; layouts serve several. */
static void texts_are_those_of_the_trace(void **state)
{
    enum { EVENTS = 3000 };
    char path[] = "/tmp/hipboard-test-XXXXXX";
    (void)state;
    FILE *file = fdopen(mkstemp(path), "w");
    assert_non_null(file);
    fprintf(file, "{\"traceEvents\": [\n");
    for (int i = 0; i < EVENTS; i++)
        fprintf(
            file,
            "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"op %d\", \"pid\": 1, \"tid\": %d, "
            "\"ts\": %d, \"dur\": 1, \"args\": {\"External id\": %d, \"Input Dims\": [[%d]], "
            "\"Input type\": [\"%s\"]}}%s\n",
            i * 7 % 11, i % 3, i, i + 1, i % 5, i % 4 ? "float" : "int", i < EVENTS - 1 ? "," : "");
    fprintf(file, "]}");
    assert_int_equal(fclose(file), 0);
    for (unsigned readers = 1; readers <= 3; readers++) {
        hb_trace trace;
        hb_read_report report;
        hb_read_options options = {.num_readers = readers, .chunk_size = 20000};
        assert_int_equal(hb_read_trace(path, &options, &trace, &report), HB_OK);
        assert_int_equal(trace.rows.count, EVENTS);
        for (uint32_t i = 0; i < EVENTS; i++) {
            char name[32], dims[32];
            const hb_row *row = hb_trace_row(&trace, i);
            const hb_op_row *op = hb_trace_op(&trace, row);
            snprintf(name, sizeof name, "op %u", i * 7 % 11);
            snprintf(dims, sizeof dims, "[[%u]]", i % 5);
            assert_string_equal(text_of(&trace, row->name), name);
            assert_string_equal(text_of(&trace, row->category), "cpu_op");
            assert_string_equal(text_of(&trace, op->dims), dims);
            assert_string_equal(text_of(&trace, op->types), i % 4 ? "[\"float\"]" : "[\"int\"]");
            assert_true(row->start == (int64_t)i * 1000);
        }
        hb_trace_free(&trace);
    }
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_every_form),
        cmocka_unit_test(texts_lists_and_members_of_every_form),
        cmocka_unit_test(flaws_of_every_form),
        cmocka_unit_test(what_is_too_much_to_remember),
        cmocka_unit_test(texts_are_those_of_the_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
