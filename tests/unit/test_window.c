/* SPDX-License-Identifier: MIT
 *
 * The rest of a session of which only the end is kept.
 */
#include "replay/window.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "array_source.h"
#include "base/base.h"

static array_source array;

static hb_source *open_from(const hb_trace_event *events, size_t count, int64_t from_ns)
{
    array_source_init(&array, events, count);
    array.info.start_ns = 5000;
    array.info.stop_ns = 5000 + 1234567890;
    hb_source *source = &array.source;
    assert_int_equal(hb_window_open(&source, from_ns), HB_OK);
    assert_ptr_not_equal(source, &array.source);
    return source;
}

/* The step before the first one of a ring ends as that begins, to the nanosecond. */
static void what_had_ended_when_it_begins_is_before_it(void **state)
{
    (void)state;
    const hb_trace_event events[] = {
        array_source_scope("before", 5100, 5999),    array_source_scope("until then", 5100, 6000),
        array_source_scope("across", 5100, 6001),    array_source_scope("a moment", 6000, 6000),
        array_source_scope("from then", 6000, 7000), array_source_scope("later", 6500, 6600),
    };
    hb_trace_event e;
    hb_source *source = open_from(events, 6, 6000);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(source->begin(source, HB_PASS_TIMELINE), HB_OK);
        for (int i = 2; i < 6; i++) {
            assert_true(source->next(source, &e));
            assert_ptr_equal(e.name.s, events[i].name.s);
            assert_int_equal(e.start_ns, events[i].start_ns); /* also of what began before */
        }
        assert_false(source->next(source, &e));
    }
    source->close(source);
    assert_int_equal(array.closed, 1);
}

static void its_length_is_told(void **state)
{
    (void)state;
    static const struct {
        int64_t from, start;
        const char *seconds;
    } windows[] = {
        {INT64_MIN, 5000, "1.234"},
        {5000 + 200000000, 5000 + 200000000, "1.034"},
        {5000 + 1230567890, 5000 + 1230567890, "0.004"},
        {INT64_MAX, 5000 + 1234567890, "0.000"},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(windows); i++) {
        hb_source *source = open_from(NULL, 0, windows[i].from);
        const hb_trace_info *info = source->info;
        assert_int_equal(info->start_ns, windows[i].start);
        assert_int_equal(info->stop_ns, array.info.stop_ns);
        assert_int_equal(info->num_metadata, array.info.num_metadata + 1);
        const hb_metadata *last = &info->metadata[info->num_metadata - 1];
        assert_string_equal(last->key, HB_METADATA_RING);
        assert_string_equal(last->json, windows[i].seconds);
        source->close(source);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_had_ended_when_it_begins_is_before_it),
        cmocka_unit_test(its_length_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
