/* SPDX-License-Identifier: MIT
 *
 * A trace's lanes, and what is drawn of a window, beside the plainest way to find it out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "read/json_reader.h"
#include "timeline/curves.h"
#include "timeline/timeline.h"

enum { SLICES = 3000 };

static hb_trace trace;
static hb_timeline timeline;

static void load(const char *text)
{
    static hb_read_report report;
    hb_read_options options = {0};
    assert_int_equal(hb_read_trace_memory(text, strlen(text), &options, &trace, &report), HB_OK);
    assert_int_equal(hb_timeline_make(&timeline, &trace), HB_OK);
}

static int unload(void **state)
{
    (void)state;
    hb_timeline_free(&timeline);
    hb_trace_free(&trace);
    return 0;
}

#define EVENT(name, tid, ts, dur)                                                                 \
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"" name "\",\"pid\":1,\"tid\":" tid ",\"ts\":" ts \
    ",\"dur\":" dur "}"

/* The lane of the slice of a row. */
static uint32_t lane_of(uint32_t row)
{
    for (uint32_t l = 0; l < timeline.lanes.count; l++)
        for (uint32_t i = 0; i < timeline.lanes.items[l].count; i++)
            if (timeline.rows[timeline.lanes.items[l].first + i] == row) return l;
    fail_msg("no slice of row %u", row);
    return 0;
}

static void test_what_is_called_lies_below(void **state)
{
    (void)state;
    load("[" EVENT("a", "1", "0", "100") "," EVENT("b", "1", "0", "50") "," /* 0, 1 */
         EVENT("c", "1", "50", "50") "," EVENT("d", "2", "0", "10") "]");   /* 2, 3 */
    assert_int_equal(timeline.tracks.count, 2);
    assert_int_equal(lane_of(0), 0);
    assert_int_equal(lane_of(1), 1);
    assert_int_equal(lane_of(2), 1);
    assert_int_equal(timeline.tracks.items[1].first_lane, lane_of(3));
    assert_int_equal(timeline.start, 0);
    assert_int_equal(timeline.end, 100000);
}

static void test_what_crosses_gets_a_lane_and_pushes_nothing_down(void **state)
{
    (void)state;
    load("[" EVENT("a", "1", "0", "100") "," EVENT("b", "1", "90", "50") "," /* 0, 1: crosses 0 */
         EVENT("c", "1", "150", "10") "," EVENT("d", "1", "152", "2") ","    /* 2, 3 */
         EVENT("e", "1", "120", "5") "]");                                   /* 4: in 1 */
    assert_int_equal(lane_of(0), 0);
    assert_int_equal(lane_of(1), 1);
    assert_int_equal(lane_of(4), 2);
    assert_int_equal(lane_of(2), 0);
    assert_int_equal(lane_of(3), 1);
}

/* As calls are written that are told when they end. */
static void test_events_that_stand_backwards(void **state)
{
    (void)state;
    load("[" EVENT("c", "1", "20", "5") "," EVENT("b", "1", "10", "20") "," EVENT("a", "1", "0",
                                                                                  "100") "]");
    for (uint32_t row = 0; row < 3; row++)
        assert_int_equal(lane_of(row), 2 - row);
}

static void test_a_devices_annotations_have_a_track(void **state)
{
    (void)state;
    load(
        "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":0,\"dur\":9},"
        "{\"ph\":\"X\",\"cat\":\"gpu_user_annotation\",\"name\":\"f\",\"pid\":0,\"tid\":7,\"ts\":5,"
        "\"dur\":9}]");
    assert_int_equal(timeline.tracks.count, 2);
    assert_int_equal(timeline.tracks.items[0].kind, HB_TRACK_STREAM);
    assert_int_equal(timeline.tracks.items[1].kind, HB_TRACK_ANNOTATION);
    assert_int_equal(timeline.lanes.count, 2);
}

/* ---- windows ---- */

static void load_random(unsigned seed)
{
    static char text[SLICES * 96];
    size_t n = 0;
    srand(seed);
    for (int i = 0; i < SLICES; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s" EVENT("n%d", "%d", "%d", "%d"),
                              i ? "," : "[", rand() % 50, rand() % 3, rand() % 200000,
                              rand() % 7 ? rand() % 40 : rand() % 4000);
    snprintf(text + n, sizeof text - n, "]");
    load(text);
}

static void test_no_slice_is_left_out_or_overlaps(void **state)
{
    uint32_t slices = 0;
    (void)state;
    load_random(1);
    for (uint32_t l = 0; l < timeline.lanes.count; l++) {
        const hb_lane *lane = &timeline.lanes.items[l];
        for (uint32_t i = 1; i < lane->count; i++)
            assert_true(hb_slice_at(&timeline, lane, i - 1).end <=
                        hb_slice_at(&timeline, lane, i).start);
        slices += lane->count;
    }
    assert_int_equal(slices, SLICES);
}

/* ---- lanes, found in the plainest way ---- */

static int by_thread_and_start(const void *x, const void *y)
{
    uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
    const hb_row *a = hb_trace_row(&trace, i), *b = hb_trace_row(&trace, k);
    if (a->track != b->track) return a->track < b->track ? -1 : 1;
    if (a->start != b->start) return a->start < b->start ? -1 : 1;
    if (a->duration != b->duration) return a->duration > b->duration ? -1 : 1;
    return i < k ? -1 : 1;
}

/* Below the lowest of the earlier ones that it lies in, in the first lane in which nothing goes on.
 */
static uint32_t plain_lane(const uint32_t *rows, const uint32_t *lanes, uint32_t at)
{
    const hb_row *row = hb_trace_row(&trace, rows[at]);
    uint32_t lane = 0;
    bool going_on[64] = {false};
    for (uint32_t i = 0; i < at; i++) {
        const hb_row *other = hb_trace_row(&trace, rows[i]);
        if (other->track != row->track || hb_row_end(other) <= row->start) continue;
        going_on[lanes[i]] = true;
        if (hb_row_end(other) >= hb_row_end(row)) lane = HB_MAX(lane, lanes[i] + 1);
    }
    while (going_on[lane])
        lane++;
    assert_in_range(lane, 0, 62);
    return lane;
}

static void test_lanes_are_those_of_the_plainest_way(void **state)
{
    static uint32_t rows[SLICES], lanes[SLICES], found[SLICES];
    (void)state;
    load_random(3);
    for (uint32_t t = 0; t < timeline.tracks.count; t++)
        for (uint32_t l = 0; l < timeline.tracks.items[t].num_lanes; l++) {
            const hb_lane *lane = &timeline.lanes.items[timeline.tracks.items[t].first_lane + l];
            for (uint32_t i = 0; i < lane->count; i++)
                found[timeline.rows[lane->first + i]] = l;
        }
    for (uint32_t i = 0; i < SLICES; i++)
        rows[i] = i;
    qsort(rows, SLICES, sizeof *rows, by_thread_and_start);
    for (uint32_t i = 0; i < SLICES; i++) {
        lanes[i] = plain_lane(rows, lanes, i);
        assert_int_equal(found[rows[i]], lanes[i]);
    }
}

typedef struct drawing {
    const hb_lane *lane;
    uint32_t at; /* the next slice of the lane */
    uint32_t records;
    int64_t cell;
} drawing;

static hb_slice at(const drawing *d, uint32_t i)
{
    return hb_slice_at(&timeline, d->lane, i);
}

static int64_t length_of(hb_slice s)
{
    return s.end - s.start;
}

static void check_drawn(void *context, const hb_drawn *drawn)
{
    drawing *d = context;
    assert_true(drawn->count > 0 && d->at + drawn->count <= d->lane->count);
    assert_true(drawn->longest >= d->at && drawn->longest < d->at + drawn->count);
    hb_slice first = at(d, d->at), longest = at(d, drawn->longest);
    assert_int_equal(drawn->start, first.start);
    assert_int_equal(drawn->end, at(d, d->at + drawn->count - 1).end);
    for (uint32_t i = 0; i < drawn->count; i++) {
        hb_slice s = at(d, d->at + i);
        assert_true(length_of(s) <= length_of(longest));
        if (d->at + i < drawn->longest) assert_true(length_of(s) < length_of(longest));
        if (drawn->count > 1) {
            assert_true(length_of(s) < d->cell);
            assert_true(s.end < (first.start / d->cell + 2) * d->cell);
        }
    }
    d->at += drawn->count;
    d->records++;
}

static uint32_t draw(const hb_lane *lane, int64_t from, int64_t to, int64_t cell)
{
    drawing d = {.lane = lane, .cell = cell};
    while (d.at < lane->count && at(&d, d.at).end < from)
        d.at++;
    uint32_t first = d.at;
    assert_int_equal(hb_lane_find(&timeline, lane, from), first);
    hb_lane_draw(&timeline, lane, from, to, cell, check_drawn, &d);
    /* All that begins in the window is drawn. */
    assert_true(d.at == lane->count || at(&d, d.at).start >= to);
    if (cell == 0) assert_int_equal(d.records, d.at - first);
    return d.records;
}

/* Each takes a lane of its own, and none looks through those of all before: a day would be short.
 */
static void test_calls_that_all_cross_each_other(void **state)
{
    enum { CALLS = 1000000, BYTES = 100 };
    (void)state;
    char *text = malloc((size_t)CALLS * BYTES), *at = text;
    for (int i = 0; i < CALLS; i++)
        at += sprintf(at, "%c" EVENT("a", "1", "%d", "2000000"), i ? ',' : '[', i);
    strcpy(at, "]");
    load(text);
    free(text);
    assert_int_equal(timeline.lanes.count, CALLS);
    assert_int_equal(lane_of(CALLS - 1), CALLS - 1);
}

static void test_a_window_shows_the_longest_of_each_cell(void **state)
{
    (void)state;
    load_random(2);
    int64_t span = timeline.end - timeline.start + 1;
    for (uint32_t l = 0; l < timeline.lanes.count; l++) {
        const hb_lane *lane = &timeline.lanes.items[l];
        for (int64_t cell = 1; cell < span; cell *= 7)
            draw(lane, 0, span, cell);
        for (int i = 0; i < 20; i++) {
            int64_t from = rand() % span;
            draw(lane, from, from + rand() % span, i % 2 ? 0 : 1 + rand() % 100000);
        }
        /* A cell has a record, and so have those that are no shorter. */
        uint32_t bound = 64 + 64;
        assert_true(draw(lane, 0, span, span / 64 + 1) <= bound);
    }
}

#define SLICE(tid, ts, dur) EVENT("a", tid, ts, dur)

static char records[400];

/* "START..END", in microseconds, and how many slices it stands for. */
static void tell_record(void *context, const hb_drawn *d)
{
    size_t n = strlen(records);
    (void)context;
    n += (size_t)snprintf(records + n, sizeof records - n, "%g..%g", (double)d->start / 1000,
                          (double)d->end / 1000);
    if (d->count > 1) n += (size_t)snprintf(records + n, sizeof records - n, "*%u", d->count);
    snprintf(records + n, sizeof records - n, " ");
}

static void test_where_a_cell_ends(void **state)
{
    static const struct {
        int64_t from, to, cell; /* ns */
        const char *drawn;
    } rows[] = {
        {0, 200000, 0, "50..50 55..56 59..60 60..62 69..79 80..90 91..100.999 113..115 "},
        {0, 200000, 1, "50..50 55..56 59..60 60..62 69..79 80..90 91..100.999 113..115 "},
        /* what is shorter than a cell, up to its end; what is as long as one is alone */
        {0, 200000, 10000, "50..60*3 60..62 69..79 80..90 91..100.999 113..115 "},
        {0, 200000, 10001, "50..50 55..62*3 69..79 80..90 91..100.999 113..115 "},
        /* all of a node that is shorter than a cell, and lies in the window */
        {0, 200000, 65000, "50..62*4 69..115*4 "},
        {0, 200000, 65001, "50..115*8 "},
        {50000, 115001, 70000, "50..115*8 "},
        {50000, 115000, 70000, "50..79*5 80..115*3 "},
        {50001, 115001, 70000, "55..79*4 80..115*3 "},
        /* what ends where the window begins, and what begins where it ends */
        {56000, 113000, 0, "55..56 59..60 60..62 69..79 80..90 91..100.999 "},
        {56001, 113001, 0, "59..60 60..62 69..79 80..90 91..100.999 113..115 "},
        {101000, 113000, 0, ""},
        {115000, 200000, 0, "113..115 "},
        {115001, 200000, 0, ""},
    };
    (void)state;
    load("[" SLICE("2", "0", "1") "," SLICE("1", "50", "0") "," SLICE("1", "55", "1") "," SLICE(
        "1", "59",
        "1") "," SLICE("1", "60",
                       "2") "," SLICE("1", "69",
                                      "10") "," SLICE("1", "80",
                                                      "10") "," SLICE("1", "91",
                                                                      "9.999") "," SLICE("1", "113",
                                                                                         "2") "]");
    const hb_lane *lane = &timeline.lanes.items[lane_of(1)];
    assert_int_equal(lane->count, 8);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        records[0] = '\0';
        hb_lane_draw(&timeline, lane, rows[i].from, rows[i].to, rows[i].cell, tell_record, NULL);
        assert_string_equal(records, rows[i].drawn);
    }
}

/* Longer than a node of the tree can say. */
static void test_the_longest_of_slices_of_many_seconds(void **state)
{
    enum { LONG = 300 };
    static char text[LONG * 96];
    size_t n = 0;
    (void)state;
    for (int i = 0; i < LONG; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s" EVENT("n", "1", "%d", "%d"),
                              i ? "," : "[", i * 7000000, 4200000 + i * 37 % 100 * 4000);
    snprintf(text + n, sizeof text - n, "]");
    load(text);
    assert_int_equal(timeline.lanes.count, 1);
    for (int64_t cell = 1000000; cell < timeline.end; cell *= 3)
        draw(&timeline.lanes.items[0], 0, timeline.end + 1, cell);
}

static void test_a_trace_without_slices(void **state)
{
    (void)state;
    load("[{\"ph\":\"i\",\"name\":\"x\",\"ts\":1}]");
    assert_int_equal(timeline.num_slices, 0);
    assert_int_equal(timeline.tracks.count, 0);
}

#define KERNEL(stream)                                                          \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":" stream \
    ",\"ts\":1,\"dur\":1,\"args\":{\"device\":0,\"stream\":" stream ",\"correlation\":1}}"
#define STEP(tid, ts)                                                                              \
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#3\",\"pid\":1,\"tid\":" tid \
    ",\"ts\":" ts ",\"dur\":10}"

/* Threads that run steps, also within something; then other threads; then devices. */
static void test_threads_that_run_steps_come_first(void **state)
{
    (void)state;
    const struct {
        hb_track_kind kind;
        uint32_t row; /* its first */
    } expected[] = {{HB_TRACK_THREAD, 3}, {HB_TRACK_THREAD, 5}, {HB_TRACK_THREAD, 1},
                    {HB_TRACK_THREAD, 2}, {HB_TRACK_STREAM, 0}, {HB_TRACK_STREAM, 4}};
    load("[" KERNEL("9") "," EVENT("a", "2", "0", "100") "," EVENT(
        "ProfilerStep", "3", "0",
        "9") "," STEP("4", "0") "," KERNEL("8") "," EVENT("a", "5", "0", "100") "," STEP("5",
                                                                                         "10") "]");
    assert_int_equal(timeline.tracks.count, 6);
    for (uint32_t i = 0; i < 6; i++) {
        const hb_timeline_track *track = &timeline.tracks.items[i];
        assert_int_equal(track->kind, expected[i].kind);
        const hb_lane *lane = &timeline.lanes.items[track->first_lane];
        assert_int_equal(timeline.rows[lane->first], expected[i].row);
    }
}

/* ---- curves ---- */

#define COUNTER(name, pid, ts, args)                                                              \
    "{\"ph\":\"C\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":0,\"ts\":" ts ",\"args\":{" args \
    "}}"
#define MEMORY(type, device, ts, total)                                                        \
    "{\"ph\":\"i\",\"s\":\"t\",\"cat\":\"cpu_instant_event\",\"name\":\"[memory]\",\"pid\":1," \
    "\"tid\":"                                                                                 \
    "1,\"ts\":" ts ",\"args\":{\"Device Type\":" type ",\"Device Id\":" device                 \
    ",\"Addr\":1,\"Bytes\":8,\"Total Allocated\":" total ",\"Total Reserved\":0}}"

static char told[2000];

/* "NAME[ in bytes]: TIME=VALUE ...", a line each. */
static void tell_curves(const hb_curves *curves)
{
    size_t n = 0;
    told[0] = '\0';
    for (uint32_t c = 0; c < curves->list.count; c++) {
        const hb_curve *curve = &curves->list.items[c];
        n += (size_t)snprintf(told + n, sizeof told - n, "%.*s%s:", (int)curve->name.len,
                              curve->name.s, curve->bytes ? " in bytes" : "");
        for (uint32_t i = 0; i < curve->points.count; i++)
            n += (size_t)snprintf(told + n, sizeof told - n, " %ld=%g",
                                  (long)curve->points.items[i].time, curve->points.items[i].value);
        n += (size_t)snprintf(told + n, sizeof told - n, "\n");
    }
}

static void check_curves(const char *text, const char *expected)
{
    hb_curves curves;
    load(text);
    assert_int_equal(hb_curves_make(&curves, &timeline), HB_OK);
    tell_curves(&curves);
    hb_curves_free(&curves);
    unload(NULL);
    assert_string_equal(told, expected);
}

static void test_counters_are_curves_by_name_member_and_process(void **state)
{
    (void)state;
    check_curves(
        "[" EVENT("a", "1", "0", "9") "," COUNTER("power", "1", "2", "\"value\":7") "," COUNTER(
            "power", "1", "1",
            "\"power\":5,\"limit\":6.5") "," COUNTER("power", "2", "3",
                                                     "\"value\":1") "," COUNTER("power", "1", "3",
                                                                                "\"value\":9,"
                                                                                "\"valuf\":1,"
                                                                                "\"unit\":\"W\","
                                                                                "\"on\":true") "]",
        "power: 1000=5 2000=7 3000=9\n" /* by time, whatever the order of events */
        "power, limit: 1000=6.5\n"
        "power: 3000=1\n" /* of the other process */
        "power, valuf: 3000=1\n");
}

/* Whose hashes are one. */
static void test_counters_are_told_apart_by_all_of_their_names(void **state)
{
    (void)state;
    check_curves("[" EVENT("a", "1", "0", "9") "," COUNTER(
                     "counter 181344", "1", "1", "\"value\":7") "," COUNTER("counter 272098", "1",
                                                                            "2", "\"value\":8") "]",
                 "counter 181344: 1000=7\ncounter 272098: 2000=8\n");
}

static void test_long_names_of_counters_are_whole(void **state)
{
    enum { SIZE = 9000 };
    static char name[SIZE + 1], text[2 * SIZE + 500];
    hb_curves curves;
    (void)state;
    memset(name, 'n', SIZE);
    sprintf(text,
            "[" EVENT("a", "1", "0", "9") "," COUNTER("%s1", "1", "1", "\"value\":7") "," COUNTER(
                "%s2", "1", "2", "\"value\":8") "]",
            name, name);
    load(text);
    assert_int_equal(hb_curves_make(&curves, &timeline), HB_OK);
    assert_int_equal(curves.list.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        hb_str whole = curves.list.items[i].name;
        assert_int_equal(whole.len, SIZE + 1);
        assert_int_equal(whole.s[SIZE], '1' + (int)i);
    }
    hb_curves_free(&curves);
    unload(NULL);
}

static void test_what_is_allocated_is_a_curve_of_each_device(void **state)
{
    (void)state;
    check_curves(
        "[" EVENT("a", "1", "0", "9") "," MEMORY("0", "-1", "1", "100") "," MEMORY(
            "1", "0", "2",
            "50") "," MEMORY("1", "1", "3",
                             "60.5") "," MEMORY("0", "0", "4",
                                                "80") "," MEMORY("1", "1", "5",
                                                                 "\"many\"") "," MEMORY("1", "0",
                                                                                        "6",
                                                                                        "0") "]",
        "Memory, CPU in bytes: 1000=100 4000=80\n"
        "Memory, GPU in bytes: 2000=50 6000=0\n"
        "Memory, GPU in bytes: 3000=60.5\n");
}

static void test_a_trace_without_counters_has_no_curves(void **state)
{
    (void)state;
    check_curves("[" EVENT("a", "1", "0", "9") "]", "");
    check_curves("[" EVENT("a", "1", "0", "9") "," COUNTER("c", "1", "1", "") "]", "");
    check_curves("[" EVENT("a", "1", "0", "9") "," COUNTER("c", "1", "1", "\"value\":\"x\"") "]",
                 "");
    check_curves(
        "[" EVENT("a", "1", "0", "9") "," COUNTER("c", "1", "1", "\"value\":NaN") "," COUNTER(
            "c", "1", "2", "\"value\":-Infinity") "," COUNTER("c", "1", "3", "\"value\":2") "]",
        "c: 3000=2\n");
    check_curves("[" EVENT("a", "1", "0",
                           "9") ",{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"ts\":1},"
                                "{\"ph\":\"C\",\"name\":\"c\",\"pid\":1,\"args\":{\"value\":3}}]",
                 "");
}

static void tell_drawn(void *context, const hb_drawn_points *d)
{
    (void)context;
    size_t n = strlen(told);
    snprintf(told + n, sizeof told - n, "%ld:%g..%g,%g ", (long)d->time, d->low, d->high, d->last);
}

static void test_a_window_of_a_curve_begins_with_what_holds_there(void **state)
{
    hb_curve_point points[] = {{10, 1}, {20, 5}, {21, 2}, {29, 3}, {30, 4}, {55, -1}, {58, 0}};
    const uint32_t count = sizeof points / sizeof *points;
    static const struct {
        int64_t from, to, cell;
        const char *drawn;
    } rows[] = {
        {0, 100, 0, "10:1..1,1 20:5..5,5 21:2..2,2 29:3..3,3 30:4..4,4 55:-1..-1,-1 58:0..0,0 "},
        {0, 100, 10, "10:1..1,1 20:2..5,3 30:4..4,4 55:-1..0,0 "},
        {0, 100, 1000, "10:-1..5,0 "},
        {20, 30, 0, "10:1..1,1 20:5..5,5 21:2..2,2 29:3..3,3 "},
        {21, 30, 10, "20:2..5,3 "}, /* the point before, and what its cell has */
        {22, 29, 10, "21:2..2,2 "},
        {40, 55, 10, "30:4..4,4 "},
        {40, 56, 1, "30:4..4,4 55:-1..-1,-1 "},
        {100, 200, 10, "58:0..0,0 "},
        {0, 10, 10, ""},
        {0, 11, 10, "10:1..1,1 "},
    };
    (void)state;
    hb_curve curve = {.points = {.items = points, .count = count}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        told[0] = '\0';
        hb_curve_draw(&curve, rows[i].from, rows[i].to, rows[i].cell, tell_drawn, NULL);
        assert_string_equal(told, rows[i].drawn);
    }
    told[0] = '\0';
    curve.points.count = 0;
    hb_curve_draw(&curve, 0, 100, 10, tell_drawn, NULL);
    assert_string_equal(told, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_what_is_called_lies_below, unload),
        cmocka_unit_test_teardown(test_what_crosses_gets_a_lane_and_pushes_nothing_down, unload),
        cmocka_unit_test_teardown(test_events_that_stand_backwards, unload),
        cmocka_unit_test_teardown(test_a_devices_annotations_have_a_track, unload),
        cmocka_unit_test_teardown(test_no_slice_is_left_out_or_overlaps, unload),
        cmocka_unit_test_teardown(test_lanes_are_those_of_the_plainest_way, unload),
        cmocka_unit_test_teardown(test_calls_that_all_cross_each_other, unload),
        cmocka_unit_test_teardown(test_a_window_shows_the_longest_of_each_cell, unload),
        cmocka_unit_test_teardown(test_where_a_cell_ends, unload),
        cmocka_unit_test_teardown(test_the_longest_of_slices_of_many_seconds, unload),
        cmocka_unit_test_teardown(test_a_trace_without_slices, unload),
        cmocka_unit_test_teardown(test_threads_that_run_steps_come_first, unload),
        cmocka_unit_test(test_counters_are_curves_by_name_member_and_process),
        cmocka_unit_test(test_counters_are_told_apart_by_all_of_their_names),
        cmocka_unit_test(test_long_names_of_counters_are_whole),
        cmocka_unit_test(test_what_is_allocated_is_a_curve_of_each_device),
        cmocka_unit_test(test_a_trace_without_counters_has_no_curves),
        cmocka_unit_test(test_a_window_of_a_curve_begins_with_what_holds_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
