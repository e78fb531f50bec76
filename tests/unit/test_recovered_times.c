/* SPDX-License-Identifier: MIT
 *
 * How long something took whose process was killed when it had hardly looked at the clocks.
 */
#include <time.h>

#include "program.h"
#include "record/session.h"
#include "spool_bytes.h"
#include "written_trace.h"

static void take_path(const hb_recovered *told, void *path)
{
    if (!told->trace) fail_msg("%s", told->error);
    snprintf(path, PATH_MAX, "%s", told->trace);
}

#define NAME "of known length"

/* In microseconds, of the only event of that name in the only trace, which goes. */
static double recovered_length(void)
{
    char path[PATH_MAX] = "";
    double length = -1;
    assert_int_equal(hb_recover(dir, 0, take_path, path), HB_OK);
    cJSON *trace = load_trace(path);
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        if (strcmp(text_of(event, "name"), NAME) != 0) continue;
        assert_true(length < 0);
        length = cJSON_GetNumberValue(cJSON_GetObjectItem(event, "dur"));
    }
    cJSON_Delete(trace);
    assert_int_equal(unlink(path), 0);
    return length;
}

/* ---- processes ---- */

/* It took from *least to *most by the kernel's time, in ns. */
static void sleep_in_a_scope(int64_t *least, int64_t *most)
{
    enum { LENGTH_US = 50000 };
    int64_t before = hb_clock_ns(CLOCK_MONOTONIC);
    HB_RECORD_FUNCTION(NAME) {
        int64_t begun = hb_clock_ns(CLOCK_MONOTONIC);
        hb_sleep_us(LENGTH_US);
        *least = hb_clock_ns(CLOCK_MONOTONIC) - begun;
    }
    *most = hb_clock_ns(CLOCK_MONOTONIC) - before;
}

static void record_and_die(void)
{
    int64_t times[2];
    char path[PATH_MAX];
    sleep_in_a_scope(&times[0], &times[1]);
    snprintf(path, sizeof path, "%s/times", dir);
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(times, sizeof times, 1, file) == 1 && fclose(file) == 0);
    raise(SIGKILL);
}

static int die_at_once(int64_t ring_ns)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.ring_ns = ring_ns;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "victim", 0);
    hb_profiler *prof = hb_profiler_create(&o);
    CHECK(prof && hb_profiler_start(prof) == HB_OK);
    record_and_die();
    return 0;
}

static int die_in_a_cycle(void)
{
    return die_at_once(0);
}

static int die_in_a_ring(void)
{
    return die_at_once(INT64_C(60000000000));
}

/* As soon after the first look at the clocks as can be. */
static int die_in_a_session(void)
{
    static hb_spool spool;
    hb_session *session;
    const hb_spool_options options = {dir, "victim", 1 << 20};
    CHECK(hb_record_init() == HB_OK && hb_spool_open(&spool, &options) == HB_OK);
    CHECK(hb_session_begin(&spool, 0, 0, &session) == HB_OK);
    record_and_die();
    return 0;
}

static void assert_length_is_right(int ended_by)
{
    int64_t times[2];
    char path[PATH_MAX];
    assert_int_equal(ended_by, 1000 + SIGKILL);
    double us = recovered_length();
    snprintf(path, sizeof path, "%s/times", dir);
    FILE *file = fopen(path, "rb");
    assert_true(file && fread(times, sizeof times, 1, file) == 1);
    fclose(file);
    if (us * 1000 < (double)times[0] * 0.99 || us * 1000 > (double)times[1] * 1.01)
        fail_msg("%.3f us, not %lld to %lld ns", us, (long long)times[0], (long long)times[1]);
}

static void one_that_is_killed_at_once_took_as_long_as_it_did(void **state)
{
    (void)state;
    assert_length_is_right(run_program(die_in_a_cycle));
    assert_length_is_right(run_program(die_in_a_ring));
    assert_length_is_right(run_program(die_in_a_session));
}

/* ---- spools made by hand ---- */

#define TICKS INT64_C(1099511627776) /* of a time, and what clocks showed then */
#define NS    INT64_C(5000000000)
#define UNIX  INT64_C(1700000000000000000)

/* So many ticks and nanoseconds after that time. */
#define AT(ticks_, ns_)                     \
    {.ticks = (uint64_t)(TICKS + (ticks_)), \
     .monotonic_ns = NS + (ns_),            \
     .unix_ns = UNIX + (ns_),               \
     .boottime_ns = NS + (ns_),             \
     .width_ticks = 100}

static void append_names(hb_buf *bytes)
{
    uint64_t first = hb_strings_offset(1), end;
    const char *table = hb_strings_table(&end);
    append_segment(bytes, (hb_segment){.kind = HB_SEGMENT_NAMES, .string_offset = first},
                   table + first, end - first);
}

/* Of a process that was killed in its session. One scope of two million ticks. */
static double length_in(const hb_session *session)
{
    struct stat st;
    const uint32_t number = 1;
    const hb_record scope = {.start = TICKS + 1000000,
                             .end = TICKS + 3000000,
                             .name = hb_strings_intern(NAME, strlen(NAME)),
                             .type = HB_RECORD_ANNOTATION,
                             .units = sizeof scope / 8};
    const hb_segment head = {.kind = HB_SEGMENT_EVENTS,
                             .codec = HB_CODEC_RAW,
                             .raw_bytes = sizeof scope,
                             .events = {.session = number, .thread = 1, .tid = 1}};
    hb_buf bytes = begin_spool();
    hb_session *made = put_sessions(&bytes, append_hot(&bytes, 1), &number, 1);
    *made = *session;
    made->number = number;
    made->state = HB_SESSION_RECORDING;
    append_names(&bytes);
    append_segment(&bytes, head, &scope, sizeof scope);
    write_bytes(&bytes, &st);
    hb_buf_free(&bytes);
    return recovered_length();
}

/* Ticks of half a nanosecond take 1000 us, of a fourth 500; and those of which nothing is known are
 * nanoseconds. */
static void a_tick_is_as_long_as_the_last_times_tell(void **state)
{
    (void)state;
    static const struct {
        hb_session session;
        double us;
    } rows[] = {
        /* a time from before it began */
        {{.start = AT(0, 0), .later = {AT(0, 0), AT(-2000000, -1000000)}}, 1000},
        {{.start = AT(0, 0), .later = {AT(0, 0), AT(-TICKS + 1, -TICKS / 2)}}, 1000},
        {{.start = AT(0, 0), .later = {AT(-2000000, -1000000), AT(0, 0)}, .newest = 1}, 1000},
        /* none: as older spools have it */
        {{.start = AT(0, 0), .later = {AT(0, 0)}}, 2000},
        /* what is none */
        {{.start = AT(0, 0), .later = {AT(0, 0), AT(0, -1000000)}}, 2000},
        {{.start = AT(0, 0), .later = {AT(0, 0), AT(2000000, 1000000)}}, 2000},
        {{.start = AT(0, 0), .later = {AT(0, 0), AT(-2000000, 0)}}, 2000},
        {{.start = AT(0, 0), .later = {AT(0, 0), AT(-2000000, 1000000)}}, 2000},
        {{.start = AT(0, 0), .later = {AT(0, 0), {.ticks = 1, .monotonic_ns = INT64_MIN}}}, 2000},
        {{.start = AT(0, 0),
          .later = {AT(0, 0), {.ticks = TICKS - 1, .monotonic_ns = NS - INT64_MAX}}},
         2000},
        /* times of its own are better, before its last record or behind it */
        {{.start = AT(0, 0), .later = {AT(-2000000, -1000000), AT(1000000, 250000)}, .newest = 1},
         500},
        {{.start = AT(0, 0), .later = {AT(4000000, 1000000), AT(-2000000, -1000000)}}, 500},
        /* a ring's window that begins after the last of them */
        {{.flags = HB_SESSION_RING,
          .start = AT(-2000000, -1000000),
          .later = {AT(-2000000, -1000000), AT(-8000000, -2000000)},
          .kept = {AT(0, 0)}},
         1000},
    };
    assert_int_equal(hb_record_init(), HB_OK);
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        double us = length_in(&rows[i].session);
        if (us < rows[i].us - 0.01 || us > rows[i].us + 0.01) fail_msg("row %zu: %.3f us", i, us);
    }
}

int main(int argc, char **argv)
{
    static const program programs[] = {PROGRAM(die_in_a_cycle), PROGRAM(die_in_a_ring),
                                       PROGRAM(die_in_a_session)};
    const struct CMUnitTest tests[] = {
        IN_DIR(one_that_is_killed_at_once_took_as_long_as_it_did),
        IN_DIR(a_tick_is_as_long_as_the_last_times_tell),
    };
    int status;
    (void)argc;
    if (is_program(argv, programs, HB_ARRAY_LEN(programs), &status)) return status;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
