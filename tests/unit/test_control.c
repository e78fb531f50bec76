/* SPDX-License-Identifier: MIT
 *
 * Recording on demand: who may ask and how, what is recorded, and when.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

#include "forks_with_threads.h"
#include "profiler/arbitration.h"
#include "profiler/control_file.h"
#include "profiler/control_socket.h"
#include "profiler/profiler.h"
#include "profiler/slow_steps.h"
#include "record/alarm.h"
#include "recorded.h"
#include "said.h"
#include "test_dir.h"

/* ---- requests as text ---- */

static hb_result parse(const char *text, hb_request *r)
{
    return hb_request_parse(text, strlen(text), r);
}

static void what_dynolog_sends_is_understood(void **state)
{
    (void)state;
    hb_request r;
    assert_int_equal(parse("ACTIVITIES_LOG_FILE=/tmp/libkineto_trace.json\n"
                           "PROFILE_START_ITERATION=0\n"
                           "PROFILE_START_ITERATION_ROUNDUP=1000\n"
                           "ACTIVITIES_ITERATIONS=42\n"
                           "PROFILE_REPORT_INPUT_SHAPES=true\n"
                           "PROFILE_WITH_STACK=false\n"
                           "PROFILE_WITH_FLOPS=false\n"
                           "PROFILE_WITH_MODULES=true",
                           &r),
                     HB_OK);
    assert_int_equal(r.start_step, 0);
    assert_int_equal(r.roundup, 1000);
    assert_int_equal(r.steps, 42);
    assert_int_equal(r.details, HB_REQUEST_SHAPES | HB_REQUEST_MODULES);
    assert_int_equal(r.unknown, 0);
    char *path = hb_request_path(r.log_file, 4711, 1);
    assert_string_equal(path, "/tmp/libkineto_trace_4711.json");
    free(path);
    assert_int_equal(parse("PROFILE_START_TIME=1700000000000\nACTIVITIES_DURATION_MSECS=500\n"
                           "PROFILE_PROFILE_MEMORY=true\nPROFILE_MEMORY=true\n",
                           &r),
                     HB_OK);
    assert_int_equal(r.start_ms, 1700000000000);
    assert_int_equal(r.duration_ms, 500);
    assert_int_equal(r.steps, 0);
    assert_int_equal(r.details, HB_REQUEST_MEMORY);
    assert_int_equal(r.unknown, 1);
}

static void a_wrong_request_is_refused_with_its_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *said;
    } wrong[] = {
        {"ACTIVITIES_ITERATIONS=3\nwhat?\n", "line 2"},
        {"ACTIVITIES_ITERATIONS=three\n", "ACTIVITIES_ITERATIONS=three"},
        {"ACTIVITIES_ITERATIONS=-1\n", "whole number"},
        {"ACTIVITIES_ITERATIONS=3000000000\n", "2147483647"},
        {"PROFILE_WITH_STACK=maybe\n", "true or false"},
        {"ACTIVITIES_LOG_FILE=/etc/passwd\n", ".json"},
        {"HIPBOARD_REASON=a\033b\n", "control characters"},
        {"HIPBOARD_REQUEST_VERSION=2\n", "older"},
    };
    hb_request r;
    for (size_t i = 0; i < HB_ARRAY_LEN(wrong); i++) {
        assert_int_equal(parse(wrong[i].text, &r), HB_ERROR_FORMAT);
        assert_non_null(strstr(hb_last_error(), wrong[i].said));
    }
}

static void slow_steps_are_told_from_usual_ones(void **state)
{
    (void)state;
    hb_slow_steps s = {0};
    int64_t now = 1, took, median;
    for (int i = 0; i < 8; i++) { /* too few to tell */
        assert_false(hb_slow_steps_next(&s, now, 300, &took, &median));
        now += i == 3 ? 9000000 : 1000000;
    }
    assert_false(hb_slow_steps_next(&s, now, 300, &took, &median));
    now += 3000000; /* three times the median, and no more */
    assert_false(hb_slow_steps_next(&s, now, 300, &took, &median));
    now += 3000001;
    assert_true(hb_slow_steps_next(&s, now, 300, &took, &median));
    assert_int_equal(took, 3000001);
    assert_int_equal(median, 1000000);
}

static int by_length(const void *a, const void *b)
{
    int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
    return (first > second) - (first < second);
}

/* Of the last steps, in whatever order they came. */
static void the_usual_step_is_in_the_middle(void **state)
{
    (void)state;
    enum { STEPS = 3 * HB_SLOW_STEPS_KEPT };
    static int64_t ns[STEPS], sorted[HB_SLOW_STEPS_KEPT];
    hb_slow_steps s = {0};
    int64_t now = 1, took, median;
    uint32_t random = 1;
    assert_false(hb_slow_steps_next(&s, now, 300, &took, &median));
    for (size_t i = 0; i < STEPS; i++) {
        random = random * 1664525 + 1013904223;
        ns[i] = 1 + (random >> 12);
        now += ns[i];
        (void)hb_slow_steps_next(&s, now, 300, &took, &median);
        assert_int_equal(took, ns[i]);
        size_t known = HB_MIN(i, (size_t)HB_SLOW_STEPS_KEPT);
        memcpy(sorted, ns + i - known, known * sizeof *ns);
        qsort(sorted, known, sizeof *sorted, by_length);
        assert_int_equal(median, known ? sorted[known / 2] : 0);
    }
}

/* A line too much, and no more. */
static void requests_and_their_texts_have_a_largest_size(void **state)
{
    static char text[HB_REQUEST_MAX + 1];
    hb_request r;
    (void)state;
    memset(text, '\n', sizeof text);
    assert_int_equal(hb_request_parse(text, HB_REQUEST_MAX, &r), HB_OK);
    assert_int_equal(hb_request_parse(text, HB_REQUEST_MAX + 1, &r), HB_ERROR_FORMAT);
    assert_non_null(strstr(hb_last_error(), "are read"));
    for (size_t size = sizeof r.reason - 1; size <= sizeof r.reason; size++) {
        snprintf(text, sizeof text, "HIPBOARD_REASON=%0*d", (int)size, 7);
        bool fits = size < sizeof r.reason;
        assert_int_equal(parse(text, &r), fits ? HB_OK : HB_ERROR_FORMAT);
        if (fits)
            assert_int_equal(strlen(r.reason), size);
        else
            assert_non_null(strstr(hb_last_error(), "less text"));
    }
}

/* Each request of a process has a file of its own. */
static void a_requested_file_is_named_after_process_and_request(void **state)
{
    static const struct {
        const char *asked, *first, *third;
    } rows[] = {
        {"/a/b.json", "/a/b_7.json", "/a/b_7.3.json"},
        {"b.json.gz", "b_7.json.gz", "b_7.3.json.gz"},
        {"b.pt.trace.json", "b_7.pt.trace.json", "b_7.3.pt.trace.json"},
        {"b.pt.trace.json.gz", "b_7.pt.trace.json.gz", "b_7.3.pt.trace.json.gz"},
        {"b.c", "b.c_7", "b.c_7.3"},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        char *first = hb_request_path(rows[i].asked, 7, 1);
        char *third = hb_request_path(rows[i].asked, 7, 3);
        assert_string_equal(first, rows[i].first);
        assert_string_equal(third, rows[i].third);
        free(first);
        free(third);
    }
}

static void assert_not_asked(const hb_trigger_options *o, const char *why)
{
    assert_int_equal(hb_trigger_all("/", o), HB_ERROR_INVALID_ARGUMENT);
    if (!strstr(hb_last_error(), why)) fail_msg("%s", hb_last_error());
}

static void options_of_requests_have_their_ranges(void **state)
{
    static char text[5000];
    (void)state;
    const int64_t wrong[] = {-1, (int64_t)INT32_MAX + 1};
    for (size_t i = 0; i < HB_ARRAY_LEN(wrong); i++) {
        hb_trigger_options o = HB_TRIGGER_OPTIONS_INIT;
        o.steps = wrong[i];
        assert_not_asked(&o, "steps");
        o = (hb_trigger_options)HB_TRIGGER_OPTIONS_INIT;
        o.time_ms = wrong[i];
        assert_not_asked(&o, "time_ms");
        o = (hb_trigger_options)HB_TRIGGER_OPTIONS_INIT;
        o.roundup = wrong[i];
        assert_not_asked(&o, "roundup");
        o = (hb_trigger_options)HB_TRIGGER_OPTIONS_INIT;
        o.delay_ms = wrong[i];
        assert_not_asked(&o, "delay_ms");
    }
    memset(text, 'x', sizeof text - 1);
    const char *texts[] = {"two\nlines", "not # all", text};
    for (size_t i = 0; i < HB_ARRAY_LEN(texts); i++) {
        hb_trigger_options o = HB_TRIGGER_OPTIONS_INIT;
        o.reason = texts[i];
        assert_not_asked(&o, "in one line");
        o = (hb_trigger_options)HB_TRIGGER_OPTIONS_INIT;
        o.log_file = texts[i];
        assert_not_asked(&o, "in one line");
    }
    hb_trigger_options o = {0};
    assert_not_asked(&o, "HB_TRIGGER_OPTIONS_INIT");
}

/* ---- profilers ---- */

static hb_profiler_options on_demand(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.on_demand = true;
    return o;
}

static hb_profiler *start(const hb_profiler_options *o)
{
    hb_profiler *prof = hb_profiler_create(o);
    if (!prof || hb_profiler_start(prof) != HB_OK) fail_msg("%s", hb_last_error());
    return prof;
}

static void mark(const char *name)
{
    hb_scope scope = HB_ENABLED() ? hb_record_function(name) : (hb_scope){0};
    hb_scope_end(&scope);
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* A program that goes on until something is recorded. */
static void step_until_recording(hb_profiler *prof)
{
    while (hb_profiler_current_action(prof) == HB_ACTION_NONE) {
        nap();
        assert_int_equal(hb_profiler_step(prof), HB_OK);
    }
}

static char *whole_file(const char *path)
{
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("%s: %s", path, strerror(errno));
    char *text = calloc(1, 1 << 20);
    assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
    fclose(file);
    return text;
}

static void nothing_is_recorded_until_it_is_asked_for(void **state)
{
    (void)state;
    handler_notes s = {.program = pthread_self()};
    hb_profiler_options o = on_demand();
    o.on_trace_ready = (hb_trace_handler){seen_note, &s, NULL};
    hb_profiler *prof = start(&o);
    for (int i = 0; i < 50; i++) {
        assert_int_equal(hb_enabled_epoch, 0);
        mark("unseen");
        assert_int_equal(hb_profiler_step(prof), HB_OK);
    }
    assert_int_equal(hb_profiler_dump(prof, "a look"), HB_OK);
    step_until_recording(prof);
    long long first = hb_profiler_step_num(prof);
    for (int i = 0; i < 10; i++) {
        mark("seen");
        assert_int_equal(hb_profiler_step(prof), HB_OK);
    }
    assert_int_equal(s.calls, 1);
    assert_true(s.by_program);
    char wanted[256];
    snprintf(wanted, sizeof wanted,
             "ProfilerStep#%lld seen ProfilerStep#%lld seen ProfilerStep#%lld seen ", first,
             first + 1, first + 2);
    assert_string_equal(s.names, wanted);
    assert_int_equal(hb_enabled_epoch, 0);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    assert_int_equal(s.calls, 1);
    assert_int_equal(hb_profiler_dump(prof, NULL), HB_ERROR_STATE);
    hb_profiler_destroy(prof);
}

/* A client of the socket in a thread of its own, as another process would be. */
typedef struct asker {
    hb_trigger_options options;
    hb_result result;
    char answer[4096], error[1024];
    atomic_bool done;
    pthread_t thread;
} asker;

static void *ask(void *arg)
{
    asker *a = arg;
    a->result = hb_trigger_process(getpid(), dir, &a->options, true, a->answer, sizeof a->answer);
    snprintf(a->error, sizeof a->error, "%s", hb_last_error());
    atomic_store(&a->done, true);
    return NULL;
}

static void begin_to_ask(asker *a)
{
    assert_int_equal(pthread_create(&a->thread, NULL, ask, a), 0);
}

/* A program that works on until who has asked has the trace. */
static void step_until_answered(hb_profiler *prof, asker *a)
{
    while (!atomic_load(&a->done)) {
        mark("work");
        assert_int_equal(hb_profiler_step(prof), HB_OK);
        nap();
    }
    pthread_join(a->thread, NULL);
    assert_string_equal(a->result == HB_OK ? "" : a->error, "");
}

static void steps_are_recorded_at_a_multiple_and_the_asker_gets_the_trace(void **state)
{
    (void)state;
    hb_profiler_options o = on_demand();
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = start(&o);
    asker a = {.options = HB_TRIGGER_OPTIONS_INIT};
    a.options.steps = 2;
    a.options.roundup = 50;
    a.options.reason = "too \"slow\"";
    begin_to_ask(&a);
    step_until_answered(prof, &a);
    assert_int_equal(strncmp(a.answer, dir, strlen(dir)), 0); /* no path of this process alone */
    char *text = whole_file(a.answer), *step = strstr(text, "\"ProfilerStep#");
    assert_non_null(strstr(text, "\"hipboard_reason\": \"hipboard trigger: too \\\"slow\\\"\""));
    assert_non_null(step);
    long first = strtol(step + strlen("\"ProfilerStep#"), NULL, 10);
    assert_true(first > 0 && first % 50 == 0);
    char next[64];
    snprintf(next, sizeof next, "\"ProfilerStep#%ld\"", first + 1);
    assert_non_null(strstr(text, next));
    snprintf(next, sizeof next, "\"ProfilerStep#%ld\"", first + 2);
    assert_null(strstr(text, next));
    free(text);
    hb_profiler_destroy(prof);
}

/* In a step that does not end, and so for a program that hangs. */
static void a_time_is_recorded_whatever_the_program_does(void **state)
{
    (void)state;
    char given[600], expected[700];
    hb_profiler_options o = on_demand();
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = start(&o);
    asker a = {.options = HB_TRIGGER_OPTIONS_INIT};
    a.options.time_ms = 500;
    snprintf(given, sizeof given, "%s/sub/mine.pt.trace.json", dir);
    a.options.log_file = given;
    begin_to_ask(&a);
    while (!atomic_load(&a.done)) {
        mark("busy");
        nap();
    }
    pthread_join(a.thread, NULL);
    assert_string_equal(a.result == HB_OK ? "" : a.error, "");
    snprintf(expected, sizeof expected, "%s/sub/mine_%d.pt.trace.json", dir, (int)getpid());
    assert_string_equal(a.answer, expected);
    char *text = whole_file(a.answer);
    assert_non_null(strstr(text, "\"busy\""));
    free(text);
    hb_profiler_destroy(prof);
}

/* What a ring is asked for still comes into it: steps that end meanwhile change nothing. */
static void a_ring_goes_on_for_the_time_that_was_asked_for(void **state)
{
    (void)state;
    enum { ASKED_MS = 300 };
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.ring_ns = 60 * INT64_C(1000000000);
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = start(&o);
    asker a = {.options = HB_TRIGGER_OPTIONS_INIT};
    a.options.time_ms = ASKED_MS;
    int64_t begin = hb_clock_ns(CLOCK_MONOTONIC);
    begin_to_ask(&a);
    while (!atomic_load(&a.done)) {
        mark("work");
        assert_int_equal(hb_profiler_step(prof), HB_OK);
        nap();
    }
    int64_t took_ms = (hb_clock_ns(CLOCK_MONOTONIC) - begin) / 1000000;
    pthread_join(a.thread, NULL);
    assert_string_equal(a.result == HB_OK ? "" : a.error, "");
    assert_true(took_ms >= ASKED_MS);
    hb_profiler_destroy(prof);
}

static void a_programs_own_handler_is_called_by_the_program(void **state)
{
    (void)state;
    handler_notes s = {.program = pthread_self()};
    hb_profiler_options o = on_demand();
    o.on_trace_ready = (hb_trace_handler){seen_note, &s, NULL};
    hb_profiler *prof = start(&o);
    assert_int_equal(hb_profiler_dump(prof, NULL), HB_OK); /* 1 s: no step is marked */
    while (!HB_ENABLED())
        nap();
    while (HB_ENABLED()) {
        mark("busy");
        nap();
    }
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    assert_int_equal(s.calls, 1);
    assert_true(s.by_program);
    assert_non_null(strstr(s.names, "busy "));
    hb_profiler_destroy(prof);
}

/* hipboard's own thread has ended a cycle, and the program marks no step. */
static void record_a_moment(hb_profiler *prof, asker *a)
{
    a->options.time_ms = 500;
    begin_to_ask(a);
    while (!HB_ENABLED())
        nap();
    while (HB_ENABLED()) {
        mark("first");
        nap();
    }
    while (hb_profiler_current_action(prof) != HB_ACTION_NONE)
        nap();
}

/* And who waits for it gets its trace, whatever others ask for meanwhile. */
static void a_cycle_that_waits_for_the_program_is_not_displaced(void **state)
{
    (void)state;
    for (int at_stop = 0; at_stop < 2; at_stop++) {
        char first_path[600], expected[700];
        handler_notes s = {.program = pthread_self()};
        said_text said;
        hb_trigger_options t = HB_TRIGGER_OPTIONS_INIT;
        hb_profiler_options o = on_demand();
        o.on_trace_ready = hb_trace_handler_chain((hb_trace_handler){seen_note, &s, NULL},
                                                  hb_tensorboard_trace_handler(dir, "w", 0));
        hb_profiler *prof = start(&o);
        asker a = {.options = HB_TRIGGER_OPTIONS_INIT};
        snprintf(first_path, sizeof first_path, "%s/%d.json", dir, at_stop);
        a.options.log_file = first_path;
        record_a_moment(prof, &a);
        t.time_ms = 20;
        said_begin(&said);
        hb_result asked = hb_trigger_process(getpid(), dir, &t, false, NULL, 0);
        (void)hb_profiler_dump(prof, "a look");
        said_wait(&said);
        (void)hb_profiler_dump(prof, "another");
        for (int i = 0; i < 50; i++) /* it is heard meanwhile */
            nap();
        const char *text = said_end(&said);
        assert_int_equal(asked, HB_ERROR_STATE);
        assert_non_null(strstr(hb_last_error(), "waits for the program's next step or stop"));
        assert_string_equal(text, "hipboard: not recorded, since the cycle before waits for the "
                                  "program's next step or stop: a look (said once)\n");
        assert_int_equal(s.calls, 0);
        assert_int_equal(at_stop ? hb_profiler_stop(prof) : hb_profiler_step(prof), HB_OK);
        pthread_join(a.thread, NULL);
        assert_string_equal(a.result == HB_OK ? "" : a.error, "");
        snprintf(expected, sizeof expected, "%s/%d_%d.json", dir, at_stop, (int)getpid());
        assert_string_equal(a.answer, expected);
        assert_int_equal(s.calls, 1);
        assert_true(s.by_program);
        assert_non_null(strstr(s.names, "first "));
        if (!at_stop)
            assert_int_equal(hb_trigger_process(getpid(), dir, &t, false, NULL, 0), HB_OK);
        hb_profiler_destroy(prof);
    }
}

static void what_is_recorded_when_the_program_ends_is_saved_and_told(void **state)
{
    (void)state;
    hb_profiler_options o = on_demand();
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = start(&o);
    asker a = {.options = HB_TRIGGER_OPTIONS_INIT};
    a.options.steps = 1000000;
    begin_to_ask(&a);
    step_until_recording(prof);
    mark("last");
    hb_profiler_destroy(prof);
    pthread_join(a.thread, NULL);
    assert_string_equal(a.result == HB_OK ? "" : a.error, "");
    char *text = whole_file(a.answer);
    assert_non_null(strstr(text, "\"last\""));
    free(text);
}

static void who_asks_while_something_is_recorded_is_told_so(void **state)
{
    (void)state;
    hb_profiler_options o = on_demand();
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = start(&o);
    hb_trigger_options t = HB_TRIGGER_OPTIONS_INIT;
    t.steps = 1000000;
    assert_int_equal(hb_trigger_process(getpid(), dir, &t, false, NULL, 0), HB_OK);
    step_until_recording(prof);
    assert_int_equal(hb_trigger_process(getpid(), dir, &t, false, NULL, 0), HB_ERROR_STATE);
    assert_non_null(strstr(hb_last_error(), "still being recorded"));
    hb_profiler_destroy(prof);
    assert_int_equal(hb_trigger_process(getpid(), dir, &t, false, NULL, 0), HB_ERROR_NOT_FOUND);
}

/* ---- alarms ---- */

static atomic_uint handled;

static void own_handler(int number)
{
    (void)number;
    atomic_fetch_add(&handled, 1);
}

static void a_signal_triggers_and_reaches_the_programs_handler(void **state)
{
    (void)state;
    handler_notes s = {.program = pthread_self()};
    struct sigaction action = {.sa_handler = own_handler}, after;
    assert_int_equal(sigaction(SIGUSR2, &action, NULL), 0);
    hb_profiler_options o = on_demand();
    o.trigger_signal = SIGUSR2;
    o.on_trace_ready = (hb_trace_handler){seen_note, &s, NULL};
    hb_profiler *prof = start(&o);
    assert_int_equal(hb_profiler_step(prof), HB_OK);
    raise(SIGUSR2);
    assert_int_equal(atomic_load(&handled), 1);
    step_until_recording(prof);
    hb_profiler_destroy(prof);
    assert_int_equal(s.calls, 1);
    assert_int_equal(sigaction(SIGUSR2, NULL, &after), 0);
    assert_ptr_equal(after.sa_handler, own_handler);
}

static void a_metric_beyond_its_limit_triggers_once(void **state)
{
    (void)state;
    hb_alarm_call call;
    hb_alarm_limit limit;
    static const char *const wrong[] = {"loss",        "loss >",     "> 5",       "loss > ",
                                        "loss > five", "loss > 5 5", "loss > inf"};
    for (size_t i = 0; i < HB_ARRAY_LEN(wrong); i++)
        assert_false(hb_alarm_limit_parse(wrong[i], &limit));
    assert_true(hb_alarm_limit_parse("accuracy\t<-2.5e-1", &limit));
    assert_true(!limit.above && limit.limit == -0.25);
    assert_string_equal(limit.name, "accuracy");
    assert_true(hb_alarm_limit_parse("train/loss > 5", &limit));
    assert_true(limit.above && limit.limit == 5);
    assert_string_equal(limit.name, "train/loss");
    hb_alarm *alarm = hb_alarm_take();
    hb_alarm_watch_metric(alarm, &limit);
    hb_scalar("train/loss", 5);
    hb_scalar("other", 50);
    assert_false(hb_alarm_heard(alarm, &call));
    hb_scalar("train/loss", 5.5);
    assert_true(hb_alarm_heard(alarm, &call));
    assert_string_equal(call.reason, "train/loss");
    assert_true(call.has_value && call.value == 5.5);
    hb_scalar("train/loss", 6); /* still beyond */
    assert_false(hb_alarm_heard(alarm, &call));
    hb_scalar("train/loss", 4);
    hb_scalar("train/loss", NAN);
    assert_true(hb_alarm_heard(alarm, &call));
    hb_alarm_give(alarm);
    hb_scalar("train/loss", 1);
    hb_scalar("train/loss", 9);
    assert_false(hb_alarm_heard(alarm, &call));
}

/* Other ranks may record the same steps: what was asked for is not given up for an alarm. */
static void an_alarm_does_not_displace_what_was_asked_for(void **state)
{
    (void)state;
    hb_profiler_options o = on_demand();
    o.trigger_metric = "loss > 5";
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = start(&o);
    asker a = {.options = HB_TRIGGER_OPTIONS_INIT};
    a.options.steps = 2;
    a.options.roundup = 100;
    assert_int_equal(hb_profiler_step(prof), HB_OK);
    begin_to_ask(&a);
    for (bool asked = false; !asked; nap()) {
        hb_arbitration_lock(prof);
        asked = prof->demand.phase == HB_DEMAND_ASKED;
        hb_arbitration_unlock(prof);
    }
    hb_scalar("loss", 7);
    for (int i = 0; i < 100; i++) /* it is heard meanwhile */
        nap();
    step_until_answered(prof, &a);
    char *text = whole_file(a.answer);
    assert_non_null(strstr(text, "\"hipboard_reason\": \"hipboard trigger"));
    assert_non_null(strstr(text, "00\""));
    free(text);
    hb_profiler_destroy(prof);
}

/* Of what was asked for and has not begun: it never will. */
static void who_waits_is_told_when_it_will_not_begin(void **state)
{
    static const char *const told[] = {"another request came before it began",
                                       "the profiler has stopped"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        char wanted[200];
        hb_profiler_options o = on_demand();
        o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
        hb_profiler *prof = start(&o);
        assert_int_equal(hb_profiler_step(prof), HB_OK);
        asker a = {.options = HB_TRIGGER_OPTIONS_INIT};
        a.options.steps = 1;
        a.options.roundup = INT32_MAX;
        begin_to_ask(&a);
        while (!hb_demand_is_awaited(prof))
            nap();
        if (i == 0)
            assert_int_equal(hb_trigger_process(getpid(), dir, &a.options, false, NULL, 0), HB_OK);
        else
            assert_int_equal(hb_profiler_stop(prof), HB_OK);
        pthread_join(a.thread, NULL);
        assert_int_equal(a.result, HB_ERROR_STATE);
        snprintf(wanted, sizeof wanted, "process %d: %s", (int)getpid(), told[i]);
        assert_string_equal(a.error, wanted);
        assert_string_equal(a.answer, "");
        hb_profiler_destroy(prof);
    }
}

static void interrupt(int signal_number)
{
    (void)signal_number;
}

static void signals_do_not_end_a_wait_for_the_trace(void **state)
{
    (void)state;
    struct sigaction before, ours = {.sa_handler = interrupt}; /* no call goes on by itself */
    hb_profiler_options o = on_demand();
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = start(&o);
    asker a = {.options = HB_TRIGGER_OPTIONS_INIT};
    a.options.steps = 1;
    assert_int_equal(hb_profiler_step(prof), HB_OK);
    assert_int_equal(sigaction(SIGALRM, &ours, &before), 0);
    begin_to_ask(&a);
    while (!hb_demand_is_awaited(prof))
        nap();
    for (int i = 0; i < 50; i++) {
        assert_int_equal(pthread_kill(a.thread, SIGALRM), 0);
        nap();
    }
    step_until_answered(prof, &a);
    sigaction(SIGALRM, &before, NULL);
    hb_profiler_destroy(prof);
}

/* As a program that profiles itself under `hipboard record --on-demand`. */
static void one_that_makes_room_can_be_asked_again_afterwards(void **state)
{
    (void)state;
    hb_trigger_options t = HB_TRIGGER_OPTIONS_INIT;
    hb_profiler_options o = on_demand(), other = HB_PROFILER_OPTIONS_INIT;
    o.yields = true;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    other.activities = HB_ACTIVITY_CPU;
    other.spool_dir = "";
    t.steps = 1;
    hb_profiler *prof = start(&o);
    assert_int_equal(hb_profiler_step(prof), HB_OK);
    assert_int_equal(hb_trigger_process(getpid(), dir, &t, false, NULL, 0), HB_OK);
    step_until_recording(prof);
    hb_profiler *programs_own = start(&other);
    assert_int_equal(hb_trigger_process(getpid(), dir, &t, false, NULL, 0), HB_ERROR_STATE);
    assert_non_null(strstr(hb_last_error(), "another profiler of the process is running"));
    hb_profiler_destroy(programs_own);
    assert_int_equal(hb_profiler_current_action(prof), HB_ACTION_NONE);
    assert_int_equal(hb_enabled_epoch, 0);
    assert_int_equal(hb_trigger_process(getpid(), dir, &t, false, NULL, 0), HB_OK);
    step_until_recording(prof);
    hb_profiler_destroy(prof);
}

/* So many times in a row; how often it could be asked, and recorded what it was asked for. */
static int count_answers(hb_profiler *prof, int rounds, bool is_ring)
{
    int answers = 0;
    for (; answers < rounds; answers++) {
        if (hb_profiler_start(prof) != HB_OK || hb_profiler_dump(prof, "now") != HB_OK) break;
        if (!is_ring) step_until_recording(prof);
        if (hb_profiler_stop(prof) != HB_OK) break;
    }
    return answers;
}

/* At once: the thread of the time before may just have ended. */
static void one_that_is_started_again_can_be_asked_again(void **state)
{
    (void)state;
    enum { ROUNDS = 200 };
    for (int is_ring = 0; is_ring < 2; is_ring++) {
        said_text s;
        hb_profiler_options o = on_demand();
        o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", HB_NO_EVENT_FILE);
        o.on_demand = !is_ring;
        o.ring_ns = is_ring ? 60 * INT64_C(1000000000) : 0;
        hb_profiler *prof = hb_profiler_create(&o);
        assert_non_null(prof);
        said_begin(&s);
        int answers = count_answers(prof, ROUNDS, is_ring);
        hb_profiler_destroy(prof);
        assert_string_equal(said_end(&s), "");
        assert_int_equal(answers, ROUNDS);
        assert_int_equal(list_dir(dir, NULL, NULL, 0), (is_ring + 1) * ROUNDS);
    }
}

/* Of who does not wait, and of alarms that nobody has heard yet: the program says it. */
static void what_did_not_begin_before_the_end_is_said(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        said_text s;
        hb_profiler_options o = on_demand();
        o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
        hb_profiler *prof = start(&o);
        assert_int_equal(hb_profiler_step(prof), HB_OK);
        said_begin(&s);
        hb_result asked = hb_profiler_dump(prof, "a look");
        while (!late && !hb_demand_is_awaited(prof))
            nap();
        hb_result stopped = hb_profiler_stop(prof);
        hb_profiler_destroy(prof);
        const char *text = said_end(&s);
        assert_int_equal(asked, HB_OK);
        assert_int_equal(stopped, HB_OK);
        assert_string_equal(text, "hipboard: not recorded, since the profiler stopped or made room "
                                  "before it began: a look\n");
    }
}

static void options_that_do_not_go_together_are_refused(void **state)
{
    (void)state;
    hb_profiler_options o = on_demand();
    o.schedule = hb_schedule_make(.active = 1);
    assert_null(hb_profiler_create(&o));
    assert_non_null(strstr(hb_last_error(), "schedule"));
    o = on_demand();
    o.trigger_metric = "loss";
    assert_null(hb_profiler_create(&o));
    assert_non_null(strstr(hb_last_error(), "NAME > NUMBER"));
    o = on_demand();
    o.trigger_slow_step = 3;
    assert_null(hb_profiler_create(&o));
    assert_non_null(strstr(hb_last_error(), "percent"));
    o = on_demand();
    o.on_demand = false;
    o.trigger_signal = SIGUSR2;
    assert_null(hb_profiler_create(&o));
    assert_non_null(strstr(hb_last_error(), "on_demand"));
    o = on_demand();
    o.trigger_signal = SIGKILL;
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_ERROR_INVALID_ARGUMENT);
    hb_profiler_destroy(prof);
}

/* ---- the file of a whole job ---- */

static void put_request(const char *text, unsigned mode)
{
    char path[512], fresh[512];
    snprintf(path, sizeof path, "%s/" HB_CONTROL_FILE_NAME, dir);
    snprintf(fresh, sizeof fresh, "%s/fresh", dir);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    assert_int_equal(rename(fresh, path), 0);
}

static hb_control_file look_at(void)
{
    hb_control_file f;
    char *path;
    assert_true(asprintf(&path, "%s/" HB_CONTROL_FILE_NAME, dir) > 0);
    hb_control_file_open(&f, path);
    return f;
}

static void a_request_without_a_directory_is_refused(void **state)
{
    (void)state;
    hb_trigger_options o = HB_TRIGGER_OPTIONS_INIT;
    assert_int_equal(hb_trigger_all(NULL, &o), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_trigger_all("", &o), HB_ERROR_INVALID_ARGUMENT);
}

static void a_new_request_file_is_read_once(void **state)
{
    (void)state;
    hb_request r;
    put_request("ACTIVITIES_ITERATIONS=1\n", 0644); /* of an earlier run */
    hb_control_file f = look_at();
    assert_false(hb_control_file_look(&f));
    hb_trigger_options o = HB_TRIGGER_OPTIONS_INIT;
    o.steps = 3;
    o.roundup = 10;
    assert_int_equal(hb_trigger_all(dir, &o), HB_OK);
    assert_true(hb_control_file_look(&f));
    assert_string_equal(f.why_not, "");
    assert_int_equal(hb_request_parse(f.text, f.text_size, &r), HB_OK);
    assert_int_equal(r.steps, 3);
    assert_int_equal(r.roundup, 10);
    assert_true(r.id[0]);
    assert_false(hb_control_file_look(&f));
    hb_control_file_close(&f);
}

static void a_request_file_that_others_could_write_is_passed_over(void **state)
{
    (void)state;
    char path[512];
    snprintf(path, sizeof path, "%s/" HB_CONTROL_FILE_NAME, dir);
    hb_control_file f = look_at();
    put_request("ACTIVITIES_ITERATIONS=1\n", 0664);
    assert_true(hb_control_file_look(&f));
    assert_non_null(strstr(f.why_not, "chmod"));
    unlink(path);
    assert_false(hb_control_file_look(&f));
    assert_int_equal(symlink("/etc/hostname", path), 0);
    assert_true(hb_control_file_look(&f));
    assert_string_equal(f.why_not, "it is a link");
    unlink(path);
    assert_int_equal(mkfifo(path, 0600), 0); /* nobody writes to it: never waited for */
    assert_true(hb_control_file_look(&f));
    assert_non_null(strstr(f.why_not, "regular"));
    hb_control_file_close(&f);
}

/* Wherever the program says that it lies. */
static void a_request_file_may_have_another_name(void **state)
{
    (void)state;
    char path[300], fresh[300];
    hb_profiler_options o = on_demand();
    snprintf(path, sizeof path, "%s/elsewhere", dir);
    snprintf(fresh, sizeof fresh, "%s/fresh", dir);
    o.control_file = path;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = start(&o);
    FILE *file = fopen(fresh, "w");
    assert_non_null(file);
    fputs("ACTIVITIES_ITERATIONS=1\n", file);
    fclose(file);
    assert_int_equal(chmod(fresh, 0644), 0);
    assert_int_equal(rename(fresh, path), 0);
    step_until_recording(prof);
    hb_profiler_destroy(prof);
}

/* ---- a file system that does not answer ---- */

static atomic_bool looks_at_once, look_waits, is_looking, closes_late, is_closing;

int64_t __real_hb_control_file_first_look(void);
int64_t __wrap_hb_control_file_first_look(void);
bool __real_hb_control_file_look(hb_control_file *f);
bool __wrap_hb_control_file_look(hb_control_file *f);

int64_t __wrap_hb_control_file_first_look(void)
{
    return atomic_load(&looks_at_once) ? 0 : __real_hb_control_file_first_look();
}

bool __wrap_hb_control_file_look(hb_control_file *f)
{
    atomic_store(&is_looking, true);
    while (atomic_load(&look_waits))
        nap();
    bool found = __real_hb_control_file_look(f);
    atomic_store(&is_looking, false);
    return found;
}

void __real_hb_control_close(hb_control_socket *s, bool ours);
void __wrap_hb_control_close(hb_control_socket *s, bool ours);

/* Later than a start waits for a look. */
void __wrap_hb_control_close(hb_control_socket *s, bool ours)
{
    enum { LATE_MS = 300 };
    if (atomic_exchange(&closes_late, false)) {
        atomic_store(&is_closing, true);
        nanosleep(&(struct timespec){.tv_nsec = LATE_MS * 1000000}, NULL);
    }
    __real_hb_control_close(s, ours);
}

static hb_profiler *started_amid_a_look(hb_profiler_options o)
{
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", HB_NO_EVENT_FILE);
    atomic_store(&look_waits, true);
    atomic_store(&looks_at_once, true);
    hb_profiler *prof = start(&o);
    while (!atomic_load(&is_looking))
        nap();
    atomic_store(&looks_at_once, false);
    return prof;
}

static hb_profiler *stopped_amid_a_look(void)
{
    hb_profiler *prof = started_amid_a_look(on_demand());
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    return prof;
}

static void *answer_soon(void *unused)
{
    nap();
    atomic_store(&look_waits, false);
    return unused;
}

/* Which is most often the case: it has only been looking when it was to end. False, and nothing was
 * looked at, where the machine stopped for as long as a start waits. */
static bool one_that_is_stopped_amid_a_look_is_started(void)
{
    enum { WAITS_MS = 100 };
    said_text s;
    pthread_t thread;
    hb_profiler *prof = stopped_amid_a_look();
    put_request("ACTIVITIES_ITERATIONS=1\n", 0644);
    int64_t before = hb_clock_ns(CLOCK_MONOTONIC);
    said_begin(&s);
    int failed = pthread_create(&thread, NULL, answer_soon, NULL);
    hb_result result = hb_profiler_start(prof);
    const char *said = said_end(&s);
    bool in_time = hb_clock_ns(CLOCK_MONOTONIC) - before < WAITS_MS * 1000000;
    assert_int_equal(failed, 0);
    pthread_join(thread, NULL);
    assert_int_equal(result, HB_OK);
    if (in_time) assert_string_equal(said, "");
    for (int i = 0; in_time && i < 20; i++) { /* what was there at its start is no request */
        nap();
        assert_int_equal(hb_profiler_step(prof), HB_OK);
        assert_int_equal(hb_profiler_current_action(prof), HB_ACTION_NONE);
    }
    if (in_time) assert_int_equal(hb_profiler_dump(prof, NULL), HB_OK);
    if (in_time) step_until_recording(prof);
    hb_profiler_destroy(prof);
    return in_time;
}

static void one_that_is_stopped_amid_a_look_can_be_asked_again(void **state)
{
    (void)state;
    while (!one_that_is_stopped_amid_a_look_is_started())
        continue;
}

/* Its look is over; what it does at its end may last. */
static void one_that_is_just_ending_can_be_asked_again(void **state)
{
    (void)state;
    said_text s;
    hb_profiler *prof = stopped_amid_a_look();
    atomic_store(&closes_late, true);
    atomic_store(&look_waits, false);
    while (!atomic_load(&is_closing))
        nap();
    said_begin(&s);
    hb_result result = hb_profiler_start(prof);
    assert_string_equal(said_end(&s), "");
    assert_int_equal(result, HB_OK);
    assert_int_equal(hb_profiler_dump(prof, NULL), HB_OK);
    step_until_recording(prof);
    hb_profiler_destroy(prof);
}

/* False, and nothing was looked at, where the machine stopped for as long as is waited. */
static bool a_ring_is_written_amid_a_look(bool at_stop)
{
    enum { WAITS_MS = 500 };
    said_text s;
    pthread_t thread;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.ring_ns = 60 * INT64_C(1000000000);
    hb_profiler *prof = started_amid_a_look(o);
    mark("work");
    int before = list_dir(dir, NULL, NULL, 0);
    said_begin(&s);
    hb_result asked = hb_profiler_dump(prof, "now");
    int64_t began = hb_clock_ns(CLOCK_MONOTONIC);
    int failed = pthread_create(&thread, NULL, answer_soon, NULL);
    hb_result result = at_stop ? hb_profiler_stop(prof) : hb_profiler_flush(prof);
    int written = list_dir(dir, NULL, NULL, 0) - before;
    const char *said = said_end(&s);
    bool in_time = hb_clock_ns(CLOCK_MONOTONIC) - began < WAITS_MS * 1000000;
    assert_int_equal(failed, 0);
    pthread_join(thread, NULL);
    hb_profiler_destroy(prof);
    assert_int_equal(asked, HB_OK);
    assert_int_equal(result, HB_OK);
    if (in_time) assert_string_equal(said, "");
    if (in_time) assert_int_equal(written, 1);
    return in_time;
}

static void a_ring_that_is_asked_for_amid_a_look_is_written(void **state)
{
    (void)state;
    for (int at_stop = 0; at_stop < 2; at_stop++)
        while (!a_ring_is_written_amid_a_look(at_stop))
            continue;
}

/* Nobody waits for it, and its thread needs nothing of a profiler that is gone. */
static void one_whose_file_does_not_answer_is_started_and_cannot_be_asked(void **state)
{
    (void)state;
    said_text s;
    char wanted[700];
    hb_profiler *prof = stopped_amid_a_look();
    said_begin(&s);
    hb_result result = hb_profiler_start(prof);
    snprintf(wanted, sizeof wanted,
             "hipboard: '%s/" HB_CONTROL_FILE_NAME "' is on a file system that does not answer: "
             "the profiler can't be triggered\n",
             dir);
    assert_string_equal(said_end(&s), wanted);
    assert_int_equal(result, HB_OK);
    assert_int_equal(hb_profiler_dump(prof, NULL), HB_ERROR_STATE);
    hb_profiler_destroy(prof);
    assert_true(atomic_load(&is_looking));
    atomic_store(&look_waits, false);
    while (atomic_load(&is_looking))
        nap();
}

/* ---- the socket ---- */

static void the_socket_is_its_users_alone_and_goes_with_the_profiler(void **state)
{
    (void)state;
    char name[700] = "", path[600];
    struct stat st;
    unsetenv("XDG_RUNTIME_DIR");
    snprintf(path, sizeof path, "%s/run", dir);
    assert_int_equal(mkdir(path, 0700), 0);
    setenv("XDG_RUNTIME_DIR", path, 1);
    hb_profiler_options o = on_demand();
    hb_profiler *prof = start(&o);
    snprintf(name, sizeof name, "%s/hipboard/%d.sock", path, (int)getpid());
    assert_int_equal(lstat(name, &st), 0);
    assert_true(S_ISSOCK(st.st_mode));
    assert_int_equal(st.st_mode & 0777, 0600);
    hb_profiler_destroy(prof);
    assert_int_equal(lstat(name, &st), -1);
    /* one that others may enter is not used */
    assert_int_equal(chmod(path, 0755), 0);
    hb_control_socket s;
    assert_int_equal(hb_control_listen(&s, dir), HB_OK);
    assert_null(strchr(s.name, '/'));
    assert_int_equal(strncmp(s.name, ".hipboard-", 10), 0);
    hb_control_close(&s, true);
    snprintf(name, sizeof name, "%s/%s", dir, s.name);
    assert_int_equal(lstat(name, &st), -1);
    unsetenv("XDG_RUNTIME_DIR");
}

static void make_in_dir(const char *name)
{
    char path[1400];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* Where it lies: in the runtime directory, or else in the log directory. */
static void assert_listens(const char *log_dir, bool in_runtime)
{
    hb_control_socket s;
    assert_int_equal(hb_control_listen(&s, log_dir), HB_OK);
    assert_int_equal(s.name[0] != '.', in_runtime);
    int client = hb_control_connect(getpid(), log_dir);
    assert_true(client >= 0);
    int server = hb_control_accept(&s);
    assert_true(server >= 0);
    close(server);
    close(client);
    hb_control_close(&s, true);
}

static void assert_no_socket(const char *log_dir, const char *said)
{
    hb_control_socket s;
    assert_int_equal(hb_control_listen(&s, log_dir), HB_ERROR_IO);
    if (!strstr(hb_last_error(), said)) fail_msg("%s", hb_last_error());
    assert_int_equal(s.socket.fd, -1);
}

/* A name that is taken by what cannot be replaced. */
static void a_socket_that_finds_no_room_lies_in_the_log_directory(void **state)
{
    (void)state;
    char runtime[600], logs[600], missing[600], name[800], host[65];
    snprintf(runtime, sizeof runtime, "%s/run", dir);
    snprintf(logs, sizeof logs, "%s/logs", dir);
    snprintf(missing, sizeof missing, "%s/none", dir);
    make_in_dir("run");
    make_in_dir("logs");
    setenv("XDG_RUNTIME_DIR", runtime, 1);
    assert_listens(logs, true);
    assert_listens(NULL, true);
    snprintf(name, sizeof name, "run/hipboard/%d.sock.new", (int)getpid());
    make_in_dir(name); /* where it is made */
    assert_listens(logs, false);
    assert_no_socket(NULL, "no log directory");
    assert_no_socket(missing, "no log directory");
    snprintf(name, sizeof name, "%s/run/hipboard/%d.sock.new", dir, (int)getpid());
    assert_int_equal(rmdir(name), 0);
    snprintf(name, sizeof name, "run/hipboard/%d.sock", (int)getpid());
    make_in_dir(name); /* where it comes to lie */
    assert_listens(logs, false);
    snprintf(name, sizeof name, "%s/run/hipboard/%d.sock.new", dir, (int)getpid());
    assert_int_equal(access(name, F_OK), -1);
    hb_host_name(host, sizeof host);
    snprintf(name, sizeof name, "%s/.hipboard-%s-%d.sock", logs, host, (int)getpid());
    assert_int_equal(mkdir(name, 0700), 0);
    assert_no_socket(logs, "no control socket in ");
    unsetenv("XDG_RUNTIME_DIR");
}

static void who_cannot_be_asked_is_said(void **state)
{
    (void)state;
    char missing[600];
    snprintf(missing, sizeof missing, "%s/none", dir);
    setenv("XDG_RUNTIME_DIR", dir, 1);
    assert_int_equal(chmod(dir, 0755), 0); /* of no user alone */
    assert_int_equal(hb_control_connect(1 << 30, dir), -1);
    assert_non_null(strstr(hb_last_error(), "there is no process"));
    assert_int_equal(hb_control_connect(getpid(), NULL), -1);
    assert_non_null(strstr(hb_last_error(), "so name its log directory"));
    assert_int_equal(hb_control_connect(getpid(), missing), -1);
    assert_non_null(strstr(hb_last_error(), missing));
    assert_int_equal(hb_control_connect(getpid(), dir), -1);
    assert_non_null(strstr(hb_last_error(), "has no profiler that can be asked"));
    /* what listens is this process, which is not the parent */
    hb_control_socket s;
    char other[700], host[65];
    assert_int_equal(hb_control_listen(&s, dir), HB_OK);
    hb_host_name(host, sizeof host);
    snprintf(other, sizeof other, "%s/.hipboard-%s-%d.sock", dir, host, (int)getppid());
    snprintf(missing, sizeof missing, "%s/%s", dir, s.name);
    assert_int_equal(link(missing, other), 0);
    assert_int_equal(hb_control_connect(getppid(), dir), -1);
    assert_non_null(strstr(hb_last_error(), "its control socket is another process's"));
    hb_control_close(&s, true);
    unsetenv("XDG_RUNTIME_DIR");
}

/* Bytes that are no request, a client that says nothing, and one that goes away. */
static void odd_clients_do_no_harm(void **state)
{
    (void)state;
    hb_profiler_options o = on_demand();
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = start(&o);
    char noise[20000];
    memset(noise, 'x', sizeof noise);
    for (int i = 0; i < 40; i++) {
        int fd = hb_control_connect(getpid(), dir);
        assert_true(fd >= 0);
        if (i % 3 == 0) (void)!send(fd, noise, sizeof noise, MSG_NOSIGNAL);
        if (i % 3 == 1) (void)!send(fd, "hipboard 1\nwhat\n\n", 17, MSG_NOSIGNAL);
        close(fd);
    }
    hb_trigger_options t = HB_TRIGGER_OPTIONS_INIT;
    t.steps = 1;
    assert_int_equal(hb_trigger_process(getpid(), dir, &t, false, NULL, 0), HB_OK);
    step_until_recording(prof);
    hb_profiler_destroy(prof);
}

static void a_forked_child_is_not_its_parent(void **state)
{
    (void)state;
    skip_under_thread_checks();
    hb_profiler_options o = on_demand();
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = start(&o);
    pid_t child = fork();
    if (child == 0) {
        hb_trigger_options t = HB_TRIGGER_OPTIONS_INIT;
        bool ok = hb_profiler_dump(prof, "not mine") == HB_ERROR_STATE;
        ok = ok && hb_trigger_process(getpid(), dir, &t, false, NULL, 0) == HB_ERROR_NOT_FOUND;
        hb_profiler_destroy(prof);
        hb_profiler *own = hb_profiler_create(
            &(hb_profiler_options){.struct_size = sizeof(hb_profiler_options),
                                   .on_demand = true,
                                   .activities = HB_ACTIVITY_CPU,
                                   .spool_dir = "",
                                   .on_trace_ready = hb_tensorboard_trace_handler(dir, "c", 0)});
        ok = ok && hb_profiler_start(own) == HB_OK;
        t.steps = 1;
        ok = ok && hb_trigger_process(getpid(), dir, &t, false, NULL, 0) == HB_OK;
        while (ok && hb_profiler_current_action(own) == HB_ACTION_NONE)
            hb_profiler_step(own);
        hb_profiler_destroy(own);
        _exit(ok ? 0 : 1);
    }
    wait_for_success(child);
    for (int i = 0; i < 20; i++) {
        nap();
        assert_int_equal(hb_profiler_step(prof), HB_OK);
        assert_int_equal(hb_profiler_current_action(prof), HB_ACTION_NONE);
    }
    hb_profiler_destroy(prof);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_dynolog_sends_is_understood),
        cmocka_unit_test(a_wrong_request_is_refused_with_its_line),
        cmocka_unit_test(requests_and_their_texts_have_a_largest_size),
        cmocka_unit_test(a_requested_file_is_named_after_process_and_request),
        cmocka_unit_test(options_of_requests_have_their_ranges),
        cmocka_unit_test(slow_steps_are_told_from_usual_ones),
        cmocka_unit_test(the_usual_step_is_in_the_middle),
        IN_DIR(nothing_is_recorded_until_it_is_asked_for),
        IN_DIR(steps_are_recorded_at_a_multiple_and_the_asker_gets_the_trace),
        IN_DIR(a_time_is_recorded_whatever_the_program_does),
        IN_DIR(a_ring_goes_on_for_the_time_that_was_asked_for),
        IN_DIR(a_programs_own_handler_is_called_by_the_program),
        IN_DIR(a_cycle_that_waits_for_the_program_is_not_displaced),
        IN_DIR(what_is_recorded_when_the_program_ends_is_saved_and_told),
        IN_DIR(who_asks_while_something_is_recorded_is_told_so),
        IN_DIR(a_signal_triggers_and_reaches_the_programs_handler),
        cmocka_unit_test(a_metric_beyond_its_limit_triggers_once),
        IN_DIR(an_alarm_does_not_displace_what_was_asked_for),
        IN_DIR(who_waits_is_told_when_it_will_not_begin),
        IN_DIR(one_that_is_started_again_can_be_asked_again),
        IN_DIR(what_did_not_begin_before_the_end_is_said),
        IN_DIR(signals_do_not_end_a_wait_for_the_trace),
        IN_DIR(one_that_makes_room_can_be_asked_again_afterwards),
        cmocka_unit_test(options_that_do_not_go_together_are_refused),
        cmocka_unit_test(a_request_without_a_directory_is_refused),
        IN_DIR(a_new_request_file_is_read_once),
        IN_DIR(a_request_file_that_others_could_write_is_passed_over),
        IN_DIR(a_request_file_may_have_another_name),
        IN_DIR(one_that_is_stopped_amid_a_look_can_be_asked_again),
        IN_DIR(one_that_is_just_ending_can_be_asked_again),
        IN_DIR(a_ring_that_is_asked_for_amid_a_look_is_written),
        IN_DIR(one_whose_file_does_not_answer_is_started_and_cannot_be_asked),
        IN_DIR(the_socket_is_its_users_alone_and_goes_with_the_profiler),
        IN_DIR(a_socket_that_finds_no_room_lies_in_the_log_directory),
        IN_DIR(who_cannot_be_asked_is_said),
        IN_DIR(odd_clients_do_no_harm),
        IN_DIR(a_forked_child_is_not_its_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
