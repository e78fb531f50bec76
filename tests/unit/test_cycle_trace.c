/* SPDX-License-Identifier: MIT
 *
 * A cycle's trace in memory against the same cycle written to a file and read again: row by row,
 * all that analysis looks at. Of the sample in this directory, of recorded files that tests have,
 * and of those that are named as arguments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

#include "import/import_set.h"
#include "read/json_reader.h"
#include "sample_trace.h"
#include "write/write.h"

static sample_trace sample;
static hb_trace file, live;

static const char *text(const hb_trace *t, hb_string_id id)
{
    return id ? hb_trace_text(t, id).s : "(none)";
}

static void assert_same_text(hb_string_id a, hb_string_id b)
{
    assert_string_equal(text(&file, a), text(&live, b));
}

static void assert_same_key(hb_key a, hb_key b)
{
    assert_int_equal(hb_key_tag(a), hb_key_tag(b));
    if (hb_key_tag(a) == HB_KEY_TAG_TEXT)
        assert_same_text(hb_key_string(a), hb_key_string(b));
    else
        assert_int_equal(a, b);
}

static void assert_same_id(hb_id a, hb_id b)
{
    assert_same_key(hb_id_key(&file, a), hb_id_key(&live, b));
}

static void assert_same_number(double a, double b)
{
    assert_true(a == b || (isnan(a) && isnan(b)));
}

static void assert_same_op(const hb_row *a, const hb_row *b)
{
    const hb_op_row *x = hb_trace_op(&file, a), *y = hb_trace_op(&live, b);
    const hb_op_detail *d = hb_trace_detail(&file, x), *e = hb_trace_detail(&live, y);
    assert_same_text(x->dims, y->dims);
    assert_same_text(x->types, y->types);
    assert_same_text(x->stack, y->stack);
    assert_int_equal(!d, !e);
    if (!d) return;
    assert_same_number(d->flops, e->flops);
    assert_int_equal(d->sequence, e->sequence);
    assert_int_equal(d->fwd_thread, e->fwd_thread);
    assert_same_text(d->concrete, e->concrete);
}

static void assert_same_launch(const hb_row *a, const hb_row *b)
{
    const hb_launch *x = hb_trace_launch_of(&file, a), *y = hb_trace_launch_of(&live, b);
    assert_same_key(x->device, y->device);
    assert_int_equal(x->device_state, y->device_state);
    assert_int_equal(x->blocks_state, y->blocks_state);
    assert_int_equal(x->occupancy_state, y->occupancy_state);
    assert_same_number(x->bytes, y->bytes);
    assert_int_equal(x->gpu, y->gpu);
    assert_same_number(x->blocks_per_sm, y->blocks_per_sm);
    assert_same_number(x->occupancy, y->occupancy);
    assert_same_text(x->grid, y->grid);
    assert_same_text(x->block, y->block);
    assert_same_text(x->registers, y->registers);
    assert_same_text(x->shared, y->shared);
    assert_same_text(x->limit, y->limit);
}

static void assert_same_memory(const hb_row *a, const hb_row *b)
{
    const hb_memory_row *x = hb_trace_memory(&file, a), *y = hb_trace_memory(&live, b);
    assert_same_number(x->bytes, y->bytes);
    assert_same_number(x->allocated, y->allocated);
    assert_same_number(x->reserved, y->reserved);
    assert_same_key(x->addr, y->addr);
    assert_same_key(hb_trace_key_at(&file, x->device), hb_trace_key_at(&live, y->device));
    assert_int_equal(x->device_type, y->device_type);
    assert_int_equal(x->bytes_state, y->bytes_state);
    assert_int_equal(x->allocated_state, y->allocated_state);
    assert_int_equal(x->reserved_state, y->reserved_state);
}

static void assert_same_side(const hb_row *a, const hb_row *b)
{
    switch ((hb_kind)a->kind) {
    case HB_KIND_OPERATOR:
    case HB_KIND_ANNOTATION: assert_same_op(a, b); return;
    case HB_KIND_FUNCTION:
        assert_same_id(hb_trace_function(&file, a)->parent, hb_trace_function(&live, b)->parent);
        assert_same_id(hb_trace_function(&file, a)->module, hb_trace_function(&live, b)->module);
        return;
    case HB_KIND_KERNEL:
    case HB_KIND_RUNTIME:
    case HB_KIND_CALL:
    case HB_KIND_MEMCPY:
    case HB_KIND_MEMSET:
        assert_same_launch(a, b);
        assert_same_id(hb_row_correlation(&file, a), hb_row_correlation(&live, b));
        return;
    case HB_KIND_MEMORY: assert_same_memory(a, b); return;
    default: return;
    }
}

/* But for blanks. */
static void assert_same_counter(const hb_row *a, const hb_row *b)
{
    hb_str x = hb_trace_text(&file, a->extra), y = hb_trace_text(&live, b->extra);
    const char *p = x.s, *q = y.s, *end = y.s + y.len;
    for (; p < x.s + x.len; p++) {
        if (strchr(" \n", *p)) continue;
        while (q < end && strchr(" \n", *q))
            q++;
        assert_true(q < end);
        assert_int_equal(*p, *q++);
    }
    assert_true(x.len > 2 && q == end);
}

static void assert_same_row(const hb_row *a, const hb_row *b)
{
    if (hb_row_is_counter(a)) assert_same_counter(a, b);
    assert_same_text(a->name, b->name);
    assert_same_text(hb_row_category(&file, a), hb_row_category(&live, b));
    assert_int_equal(a->ph, b->ph);
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->flags, b->flags);
    assert_int_equal(a->start, b->start);
    assert_int_equal(a->duration, b->duration);
    assert_same_number(hb_plugin_ts(&file, a), hb_plugin_ts(&live, b));
    assert_same_number(hb_plugin_dur(&file, a), hb_plugin_dur(&live, b));
    assert_same_id(a->id, b->id);
    assert_same_key(hb_row_pid_key(&file, a), hb_row_pid_key(&live, b));
    assert_same_key(hb_row_tid_key(&file, a), hb_row_tid_key(&live, b));
    assert_same_side(a, b);
}

/* Names of rows and markers. */
static bool is_left_out(const hb_row *row)
{
    return row->ph == 'M' || (row->ph == 'i' && !(row->flags & HB_ROW_CAT));
}

/* Returns how many rows there are. */
static uint32_t compare_source(hb_source *source, hb_write_dialect dialect)
{
    hb_memory_sink sink;
    hb_write_options written = {.dialect = dialect, .trace_name = ""};
    hb_read_options options = {0};
    static hb_read_report report;
    hb_memory_sink_init(&sink, SIZE_MAX / 2);
    assert_int_equal(hb_write_trace(source, &sink.sink, &written, NULL), HB_OK);
    assert_int_equal(hb_read_trace_memory(sink.buf.data, sink.buf.size, &options, &file, &report),
                     HB_OK);
    assert_int_equal(hb_write_to_trace(source, dialect, &live), HB_OK);
    uint32_t k = 0;
    for (uint32_t i = 0; i < file.rows.count; i++)
        if (!is_left_out(hb_trace_row(&file, i))) {
            assert_true(k < live.rows.count);
            assert_same_row(hb_trace_row(&file, i), hb_trace_row(&live, k++));
        }
    assert_int_equal(k, live.rows.count);
    assert_int_equal(file.num_members, live.num_members);
    for (uint32_t i = 0; i < file.num_members; i++) {
        assert_same_text(file.members[i].key, live.members[i].key);
        assert_same_text(file.members[i].json, live.members[i].json);
    }
    hb_trace_free(&file);
    hb_trace_free(&live);
    hb_memory_sink_free(&sink);
    return k;
}

static uint32_t compare(hb_write_dialect dialect)
{
    return compare_source(&sample.source.source, dialect);
}

static void test_tensorboard(void **state)
{
    (void)state;
    sample_trace_init(&sample);
    assert_true(compare(HB_WRITE_TENSORBOARD) > SAMPLE_DEEP);
}

static void test_kineto(void **state)
{
    (void)state;
    sample_trace_init(&sample);
    assert_true(compare(HB_WRITE_KINETO) > SAMPLE_DEEP);
}

/* ---- what else the writer may do ---- */

static bool (*next_of_sample)(hb_source *source, hb_trace_event *event);

static bool next_unmarked(hb_source *source, hb_trace_event *event)
{
    while (next_of_sample(source, event))
        if (event->kind != HB_EVENT_OP && event->kind != HB_EVENT_USER_ANNOTATION &&
            event->kind != HB_EVENT_MODULE)
            return true;
    return false;
}

/* HIP calls are written as operators, too. */
static void test_a_program_that_marks_nothing(void **state)
{
    (void)state;
    sample_trace_init(&sample);
    next_of_sample = sample.source.source.next;
    sample.source.source.next = next_unmarked;
    assert_true(compare(HB_WRITE_TENSORBOARD) > 4);
}

static bool next_call_with_flops(hb_source *source, hb_trace_event *event)
{
    bool more = next_unmarked(source, event);
    if (more && event->kind == HB_EVENT_RUNTIME) event->runtime.flops = 3e9;
    return more;
}

static void test_a_call_that_counts_its_operations(void **state)
{
    (void)state;
    sample_trace_init(&sample);
    next_of_sample = sample.source.source.next;
    sample.source.source.next = next_call_with_flops;
    assert_true(compare(HB_WRITE_TENSORBOARD) > 4);
}

static int32_t any_device;

static bool next_on_any_device(hb_source *source, hb_trace_event *event)
{
    bool more = next_of_sample(source, event);
    if (more && event->kind == HB_EVENT_MEMORY && event->memory.device_type != HB_DEVICE_CPU)
        event->memory.device_id = any_device;
    return more;
}

static bool writes_device(int32_t device, hb_write_dialect dialect, const char *text_of_it)
{
    hb_memory_sink sink;
    hb_write_options written = {.dialect = dialect, .trace_name = ""};
    sample_trace_init(&sample);
    next_of_sample = sample.source.source.next;
    sample.source.source.next = next_on_any_device;
    any_device = device;
    hb_memory_sink_init(&sink, SIZE_MAX / 2);
    assert_int_equal(hb_write_trace(&sample.source.source, &sink.sink, &written, NULL), HB_OK);
    bool writes = strstr(hb_buf_text(&sink.buf), text_of_it);
    hb_memory_sink_free(&sink);
    return writes;
}

/* The plugin loses a file with a device of which there are no properties; torch's has what it is.
 */
static void test_memory_of_a_device_beyond_those_that_have_properties(void **state)
{
    (void)state;
    assert_true(writes_device(1023, HB_WRITE_TENSORBOARD, "\"Device Id\": 1023,"));
    assert_false(writes_device(1024, HB_WRITE_TENSORBOARD, "\"Device Id\": 1024,"));
    assert_true(writes_device(1024, HB_WRITE_TENSORBOARD, "\"Device Id\": -1,"));
    assert_true(writes_device(1024, HB_WRITE_KINETO, "\"Device Id\": 1024,"));
}

static char long_text[600000];

static bool next_with_long_stack(hb_source *source, hb_trace_event *event)
{
    if (!next_of_sample(source, event)) return false;
    if (event->kind == HB_EVENT_OP && event->op.stack.len)
        event->op.stack = (hb_str){long_text, sizeof long_text};
    return true;
}

/* Longer than the blocks in which the writer hands its text over. */
static void test_a_long_stack(void **state)
{
    (void)state;
    memset(long_text, 'a', sizeof long_text);
    sample_trace_init(&sample);
    next_of_sample = sample.source.source.next;
    sample.source.source.next = next_with_long_stack;
    compare(HB_WRITE_TENSORBOARD);
}

static bool no_event(hb_source *source, hb_trace_event *event)
{
    (void)source;
    (void)event;
    return false;
}

static void test_an_empty_cycle(void **state)
{
    (void)state;
    sample_trace_init(&sample);
    sample.source.source.next = no_event;
    assert_int_equal(hb_write_to_trace(&sample.source.source, HB_WRITE_TENSORBOARD, &live), HB_OK);
    assert_int_equal(live.rows.count, 2); /* the span, and an operator for none */
    hb_trace_free(&live);
}

/* ---- what was recorded elsewhere ---- */

/* Returns how many rows its processes have. */
static uint32_t compare_file(const char *path)
{
    hb_import *import = NULL;
    hb_source *source;
    uint32_t rows = 0;
    if (hb_import_open_any(path, NULL, &import) != HB_OK) fail_msg("%s: %s", path, hb_last_error());
    for (size_t i = 0; i < hb_import_count(import); i++)
        for (int dialect = HB_WRITE_TENSORBOARD; dialect <= HB_WRITE_KINETO; dialect++) {
            assert_int_equal(hb_import_source(import, i, &source), HB_OK);
            rows += compare_source(source, (hb_write_dialect)dialect);
            source->close(source);
        }
    hb_import_close(import);
    return rows;
}

static void test_recorded_files(void **state)
{
    static const char *const names[] = {
        "torch-2.13-cpu.pt.trace.json", "triton_example.json.gz",  "mi250_minitoy.json.gz",
        "rocprofv3_mi350x.json.gz",     "jax_mi300x.xplane.pb.gz",
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(names); i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", TEST_DATA, names[i]);
        assert_true(compare_file(path) >= 20);
    }
}

static char **named;
static int num_named;

static void test_named_files(void **state)
{
    (void)state;
    for (int i = 0; i < num_named; i++)
        assert_true(compare_file(named[i]) > 0);
}

int main(int argc, char **argv)
{
    named = argv + 1;
    num_named = argc - 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensorboard),
        cmocka_unit_test(test_kineto),
        cmocka_unit_test(test_a_program_that_marks_nothing),
        cmocka_unit_test(test_a_call_that_counts_its_operations),
        cmocka_unit_test(test_memory_of_a_device_beyond_those_that_have_properties),
        cmocka_unit_test(test_a_long_stack),
        cmocka_unit_test(test_an_empty_cycle),
        cmocka_unit_test(test_recorded_files),
        cmocka_unit_test(test_named_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
