/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>
#include <dirent.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "array_source.h"
#include "forks_with_threads.h"
#include "profiler/profiler.h"
#include "recorded.h"
#include "test_dir.h"

static const char *in_dir(const char *name)
{
    static char path[4][PATH_MAX];
    static int next;
    char *p = path[next++ & 3];
    snprintf(p, PATH_MAX, "%s/%s", dir, name);
    return p;
}

/* Files in `path` whose names end in `suffix`; the last one's path in `found`. */
static int count_files(const char *path, const char *suffix, char *found)
{
    int n = 0;
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t len = strlen(e->d_name), m = strlen(suffix);
        if (len < m || strcmp(e->d_name + len - m, suffix) != 0) continue;
        if (found) snprintf(found, PATH_MAX, "%s/%s", path, e->d_name);
        n++;
    }
    if (d) closedir(d);
    return n;
}

static cJSON *parse(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("no file %s", path);
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *text = calloc(1, (size_t)size + 1);
    assert_int_equal(fread(text, 1, (size_t)size, f), size);
    fclose(f);
    cJSON *json = cJSON_ParseWithOpts(text, NULL, true);
    if (!json) fail_msg("%s is not JSON", path);
    free(text);
    return json;
}

static int count_named(const cJSON *trace, const char *name)
{
    int n = 0;
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItem(trace, "traceEvents")) n +=
        strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(event, "name")), name) == 0;
    return n;
}

/* ---- the moments of on_trace_ready ---- */

typedef struct calls {
    char log[1024];
    int destroyed;
} calls;

static hb_result log_call(hb_profiler *prof, void *context)
{
    calls *c = context;
    size_t n = strlen(c->log);
    snprintf(c->log + n, sizeof c->log - n, "(%lld,%d,%lld)", (long long)hb_profiler_step_num(prof),
             (int)hb_profiler_current_action(prof), (long long)hb_profiler_cycle(prof));
    return HB_OK;
}

static void log_destroy(void *context)
{
    ((calls *)context)->destroyed++;
}

static hb_profiler *logging(calls *c, hb_schedule schedule)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = schedule;
    o.on_trace_ready = (hb_trace_handler){log_call, c, log_destroy};
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    return prof;
}

static void run_steps(hb_schedule schedule, int steps, const char *expected)
{
    calls c = {{0}, 0};
    hb_profiler *prof = logging(&c, schedule);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    for (int i = 0; i < steps; i++)
        assert_int_equal(hb_profiler_step(prof), HB_OK);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
    assert_string_equal(c.log, expected);
    assert_int_equal(c.destroyed, 1);
}

/* As torch 2.13 calls it, (step_num, action), with the cycle's index behind. */
static void the_handler_is_called_when_torch_calls_it(void **state)
{
    (void)state;
    hb_schedule s = hb_schedule_make(.wait = 1, .warmup = 1, .active = 2);
    run_steps(s, 0, "");
    run_steps(s, 1, "");
    run_steps(s, 2, "(2,2,0)");
    run_steps(s, 3, "(3,3,0)");
    run_steps(s, 4, "(4,0,0)");
    run_steps(s, 7, "(4,0,0)(7,3,1)");
    run_steps(hb_schedule_make(.active = 1), 2, "(1,3,0)(2,3,1)(2,3,2)");
    run_steps((hb_schedule){0}, 3, "(3,2,0)");
}

static hb_profiler_action broken(int64_t step, void *context)
{
    return ((const hb_profiler_action *)context)[step];
}

static void a_cycle_broken_off_is_discarded_and_the_next_one_works(void **state)
{
    (void)state;
    static const hb_profiler_action actions[] = {
        HB_ACTION_RECORD, HB_ACTION_NONE,   HB_ACTION_RECORD,          HB_ACTION_WARMUP,
        HB_ACTION_WARMUP, HB_ACTION_RECORD, HB_ACTION_RECORD_AND_SAVE, HB_ACTION_NONE,
        HB_ACTION_WARMUP, HB_ACTION_NONE,
    };
    union {
        const void *in;
        void *out;
    } context = {actions};
    hb_schedule s = hb_schedule_from_function(broken, context.out);
    run_steps(s, 9, "(7,0,2)");
    run_steps(s, 3, "");        /* ends in WARMUP after RECORD, where torch 2.13 crashes */
    run_steps(s, 6, "(6,3,2)"); /* a partial cycle */
}

static void steps_are_annotated_with_their_numbers(void **state)
{
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.skip_first = 1, .wait = 1, .warmup = 1, .active = 3);
    hb_profiler *prof = hb_profiler_create(&o);
    hb_profiler_start(prof);
    for (int i = 0; i < 6; i++)
        hb_profiler_step(prof);
    recorded r = recorded_of(prof);
    assert_int_equal(r.n, 3);
    for (size_t i = 0; i < 3; i++) {
        char name[32];
        snprintf(name, sizeof name, "ProfilerStep#%zu", i + 3);
        assert_string_equal(r.events[i].name, name);
        assert_false(r.events[i].e.unfinished);
    }
    recorded_free(&r);
    hb_profiler_destroy(prof);
}

static void starting_again_goes_on_counting(void **state)
{
    (void)state;
    calls c = {{0}, 0};
    hb_profiler *prof = logging(&c, (hb_schedule){0});
    for (int i = 0; i < 3; i++) {
        assert_int_equal(hb_profiler_start(prof), HB_OK);
        assert_int_equal(hb_profiler_start(prof), HB_ERROR_STATE);
        assert_int_equal(hb_profiler_step(prof), HB_OK);
        assert_int_equal(hb_profiler_stop(prof), HB_OK);
        assert_int_equal(hb_profiler_stop(prof), HB_ERROR_STATE);
    }
    hb_profiler_destroy(prof);
    assert_string_equal(c.log, "(1,2,0)(2,2,1)(3,2,2)");
}

static void events_are_the_last_cycles_or_with_acc_events_all(void **state)
{
    (void)state;
    for (int acc = 0; acc < 2; acc++) {
        hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
        o.schedule = hb_schedule_make(.active = 1, .repeat = 3);
        o.acc_events = acc;
        hb_profiler *prof = hb_profiler_create(&o);
        hb_profiler_start(prof);
        for (int i = 0; i < 3; i++) {
            HB_RECORD_FUNCTION("work") {
            }
            hb_profiler_step(prof);
        }
        recorded r = recorded_of(prof);
        assert_int_equal(recorded_count(&r, "work"), acc ? 3 : 1);
        recorded_free(&r);
        hb_profiler_destroy(prof);
    }
}

static void lost_records_go_into_an_older_programs_structure(void **state)
{
    (void)state;
    struct {
        hb_lost lost;
        char beyond[8];
    } older;
    hb_profiler *prof = record_all();
    hb_profiler_stop(prof);
    memset(&older, 'x', sizeof older);
    older.lost.struct_size = offsetof(hb_lost, memory);
    assert_int_equal(hb_profiler_lost(prof, &older.lost), HB_OK);
    assert_int_equal(older.lost.struct_size, offsetof(hb_lost, memory));
    assert_int_equal(older.lost.unbalanced, 0);
    assert_memory_equal(&older.lost.memory, "xxxxxxxx", 8);
    older.lost.struct_size = 0;
    assert_int_equal(hb_profiler_lost(prof, &older.lost), HB_ERROR_INVALID_ARGUMENT);
    hb_profiler_destroy(prof);
}

/* ---- wrong use ---- */

static void wrong_use_is_an_error_not_a_crash(void **state)
{
    (void)state;
    hb_lost lost = {.struct_size = sizeof lost};
    assert_null(hb_profiler_create(NULL));
    assert_int_equal(hb_profiler_start(NULL), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_profiler_step(NULL), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_profiler_stop(NULL), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_profiler_flush(NULL), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_profiler_lost(NULL, &lost), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_profiler_events(NULL, recorded_add, NULL), HB_ERROR_INVALID_ARGUMENT);
    hb_profiler_destroy(NULL);
    hb_profiler_options o = {0};
    assert_null(hb_profiler_create(&o));
    assert_non_null(strstr(hb_last_error(), "HB_PROFILER_OPTIONS_INIT"));
    o = (hb_profiler_options)HB_PROFILER_OPTIONS_INIT;
    o.activities = 64;
    assert_null(hb_profiler_create(&o));
    o.activities = 0;
    hb_profiler *a = hb_profiler_create(&o), *b = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_step(a), HB_ERROR_STATE);
    assert_non_null(strstr(hb_last_error(), "not started"));
    assert_int_equal(hb_export_chrome_trace(a, in_dir("x.json"), 0), HB_ERROR_STATE);
    assert_int_equal(hb_profiler_start(a), HB_OK);
    assert_int_equal(hb_profiler_start(b), HB_ERROR_BUSY);
    assert_int_equal(hb_export_chrome_trace(a, in_dir("x.json"), 0), HB_ERROR_STATE);
    hb_profiler_destroy(a);
    assert_int_equal(hb_profiler_start(b), HB_OK);
    hb_profiler_destroy(b);
}

/* A cycle that is kept is not looked at while the next one is recorded. */
static void while_a_cycle_is_recorded_none_is_exported(void **state)
{
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.active = 1);
    o.acc_events = true;
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    assert_int_equal(hb_export_chrome_trace(prof, in_dir("x.json"), 0), HB_ERROR_STATE);
    assert_non_null(strstr(hb_last_error(), "no cycle was recorded"));
    assert_int_equal(hb_profiler_step(prof), HB_OK);
    assert_int_equal(hb_export_chrome_trace(prof, in_dir("x.json"), 0), HB_ERROR_STATE);
    assert_non_null(strstr(hb_last_error(), "a cycle is being recorded"));
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    assert_int_equal(hb_export_chrome_trace(prof, NULL, 0), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_export_chrome_trace(prof, "", 0), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_export_chrome_trace(prof, in_dir("x.json"), 0), HB_OK);
    hb_profiler_destroy(prof);
}

static void options_of_older_and_newer_programs_are_taken(void **state)
{
    (void)state;
    struct {
        hb_profiler_options known;
        uint64_t newer;
    } o = {.known = HB_PROFILER_OPTIONS_INIT, .newer = 1};
    o.known.struct_size = offsetof(hb_profiler_options, time_slice_ns);
    o.known.time_slice_ns = -1; /* behind the end of what that program had */
    hb_profiler *prof = hb_profiler_create(&o.known);
    assert_non_null(prof);
    hb_profiler_destroy(prof);
    o.known.struct_size = sizeof o;
    o.known.time_slice_ns = 0;
    assert_null(hb_profiler_create(&o.known));
    assert_non_null(strstr(hb_last_error(), "does not know"));
    o.newer = 0;
    prof = hb_profiler_create(&o.known);
    assert_non_null(prof);
    hb_profiler_destroy(prof);
}

static hb_result step_inside(hb_profiler *prof, void *context)
{
    *(hb_result *)context = hb_profiler_step(prof);
    return HB_ERROR_LIMIT;
}

static void a_handler_can_fail_but_not_step(void **state)
{
    (void)state;
    hb_result inner = HB_OK;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.active = 1);
    o.on_trace_ready = (hb_trace_handler){step_inside, &inner, NULL};
    hb_profiler *prof = hb_profiler_create(&o);
    hb_profiler_start(prof);
    assert_int_equal(hb_profiler_step(prof), HB_ERROR_LIMIT);
    assert_int_equal(inner, HB_ERROR_STATE);
    assert_int_equal(hb_profiler_stop(prof), HB_ERROR_LIMIT);
    hb_profiler_destroy(prof);
}

/* What one of two chained handlers is told, and what it answers. */
typedef struct link_of_chain {
    int *clock, called_at, destroyed_at;
    hb_result answer;
} link_of_chain;

static hb_result link_ready(hb_profiler *prof, void *context)
{
    link_of_chain *link = context;
    (void)prof;
    link->called_at = ++*link->clock;
    return link->answer;
}

static void link_destroy(void *context)
{
    link_of_chain *link = context;
    link->destroyed_at = ++*link->clock;
}

static hb_result record_through(hb_trace_handler handler)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.on_trace_ready = handler;
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    HB_RECORD_FUNCTION("work") {
    }
    hb_result result = hb_profiler_stop(prof);
    hb_profiler_destroy(prof);
    return result;
}

static void chained_handlers_are_called_in_turn_whatever_the_first_says(void **state)
{
    (void)state;
    int clock = 0;
    link_of_chain a = {&clock, 0, 0, HB_ERROR_LIMIT}, b = {&clock, 0, 0, HB_ERROR_IO};
    hb_trace_handler first = {link_ready, &a, link_destroy}, second = {link_ready, &b, NULL};
    assert_int_equal(record_through(hb_trace_handler_chain(first, second)), HB_ERROR_LIMIT);
    assert_int_equal(a.called_at, 1);
    assert_int_equal(b.called_at, 2);
    assert_int_equal(a.destroyed_at, 3);
    a.answer = HB_OK;
    hb_trace_handler none = {NULL, NULL, NULL};
    first = hb_trace_handler_chain(none, first);
    assert_int_equal(record_through(hb_trace_handler_chain(first, second)), HB_ERROR_IO);
}

static void chained_tensorboard_handlers_are_checked_and_write_both(void **state)
{
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.on_trace_ready = hb_trace_handler_chain(hb_tensorboard_trace_handler(in_dir("one"), "w", 0),
                                              hb_tensorboard_trace_handler(NULL, "w", 0));
    assert_null(hb_profiler_create(&o));
    assert_non_null(strstr(hb_last_error(), "the directory is NULL"));
    hb_trace_handler one = hb_tensorboard_trace_handler(in_dir("one"), "w", HB_NO_EVENT_FILE);
    hb_trace_handler two = hb_tensorboard_trace_handler(in_dir("two"), "w", HB_GZIP);
    assert_int_equal(record_through(hb_trace_handler_chain(one, two)), HB_OK);
    assert_int_equal(count_files(in_dir("one"), ".pt.trace.json", NULL), 1);
    assert_int_equal(count_files(in_dir("two"), ".pt.trace.json.gz", NULL), 1);
}

/* ---- files ---- */

static hb_profiler *to_files(const char *path, const char *worker, unsigned flags)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.active = 2, .repeat = 2);
    o.on_trace_ready = hb_tensorboard_trace_handler(path, worker, flags);
    return hb_profiler_create(&o);
}

static hb_result four_steps(hb_profiler *prof)
{
    hb_result first = hb_profiler_start(prof);
    for (int i = 0; i < 4; i++) {
        HB_RECORD_FUNCTION("work") {
        }
        hb_result result = hb_profiler_step(prof);
        if (first == HB_OK) first = result;
    }
    hb_result result = hb_profiler_stop(prof);
    return first != HB_OK ? first : result;
}

static void each_cycle_is_a_file_named_as_torch_names_it(void **state)
{
    (void)state;
    char host[256], worker[300], found[PATH_MAX];
    gethostname(host, sizeof host);
    snprintf(worker, sizeof worker, "%s_%d.", host, (int)getpid());
    const char *path = in_dir("a/b/run");
    hb_profiler *prof = to_files(path, NULL, 0);
    assert_int_equal(four_steps(prof), HB_OK);
    assert_int_equal(count_files(path, ".pt.trace.json", found), 2);
    const char *name = strrchr(found, '/') + 1;
    assert_int_equal(strncmp(name, worker, strlen(worker)), 0);
    assert_int_equal(strspn(name + strlen(worker), "0123456789"), 19);
    cJSON *trace = parse(found);
    assert_int_equal(count_named(trace, "work"), 2);
    cJSON_Delete(trace);
    hb_profiler_destroy(prof);
    /* With . and .. and the event file: no spool is left. */
    assert_int_equal(count_files(path, "", NULL), 5);
}

static void gzip_files_are_gzip(void **state)
{
    (void)state;
    char found[PATH_MAX], command[PATH_MAX + 64];
    hb_profiler *prof = to_files(in_dir("gz"), "w", HB_GZIP);
    assert_int_equal(four_steps(prof), HB_OK);
    hb_profiler_destroy(prof);
    assert_int_equal(count_files(in_dir("gz"), ".pt.trace.json.gz", found), 2);
    snprintf(command, sizeof command, "gzip -t '%s'", found);
    assert_int_equal(system(command), 0);
}

static const char *written_beside(const char *present, const char *asked)
{
    static char name[400];
    const hb_write_options options = {.trace_name = "trace"};
    array_source source;
    char path[400];
    array_source_init(&source, NULL, 0);
    char all[100], *rest = all;
    snprintf(all, sizeof all, "%s", present);
    for (char *one; (one = strtok_r(rest, " ", &rest));) {
        snprintf(name, sizeof name, "%s.pt.trace.json", one);
        fclose(fopen(in_dir(name), "w"));
    }
    snprintf(path, sizeof path, "%s/%s", dir, asked);
    hb_result result = hb_write_trace_new(&source.source, path, &options, NULL);
    struct stat st;
    bool whole = result == HB_OK && stat(path, &st) == 0 && st.st_size > 0;
    assert_true(whole || result == HB_ERROR_STATE);
    snprintf(name, sizeof name, "%s", whole ? strrchr(path, '/') + 1 : "refused");
    char command[500];
    snprintf(command, sizeof command, "rm -f '%s'/*.pt.trace.json*", dir);
    assert_int_equal(system(command), 0);
    return name;
}

/* Another container's of that name stays: the next free nanosecond is taken, of the name's end. */
static void a_name_that_is_taken_is_counted_up(void **state)
{
    (void)state;
#define JSON ".pt.trace.json"
    assert_string_equal(written_beside("", "w.17" JSON), "w.17" JSON);
    assert_string_equal(written_beside("w.17", "w.17" JSON), "w.18" JSON);
    assert_string_equal(written_beside("w.17 w.18", "w.17" JSON), "w.19" JSON);
    assert_string_equal(written_beside("w.19", "w.19" JSON), "w.20" JSON);
    assert_string_equal(written_beside("w.1998 w.1999", "w.1998" JSON), "w.2000" JSON);
    assert_string_equal(written_beside("w.99", "w.99" JSON), "refused"); /* no such time */
    assert_string_equal(written_beside("w9", "w" JSON), "w" JSON);
    assert_string_equal(written_beside("w", "w" JSON), "refused"); /* it has no number */
    assert_string_equal(written_beside("w" JSON ".5", "w" JSON ".5" JSON), "w" JSON ".6" JSON);
#undef JSON
}

static void expect_refusal(const hb_profiler_options *o, const char *why)
{
    hb_profiler *prof = hb_profiler_create(o);
    if (why) {
        assert_null(prof);
        if (strcmp(hb_last_error(), why) != 0) fail_msg("%s", hb_last_error());
    } else {
        if (!prof) fail_msg("%s", hb_last_error());
        hb_profiler_destroy(prof);
    }
}

/* By its name, and with what would do; the last one that does is none too many. */
static void an_option_that_cannot_be_is_refused(void **state)
{
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU | HB_ACTIVITY_COMM;
    expect_refusal(&o, NULL);
    o.activities = HB_ACTIVITY_CPU | 1u << 3;
    expect_refusal(&o, "activities 0x9: HB_ACTIVITY_CPU, HB_ACTIVITY_HIP and HB_ACTIVITY_COMM are "
                       "known");
    o.activities = HB_ACTIVITY_CPU;
    o.sample_hz = 1000;
    expect_refusal(&o, NULL);
    o.sample_hz = 1001;
    expect_refusal(&o, "sample_hz 1001: at most 1000 is possible");
    o.sample_hz = 0;
    o.time_slice_ns = HB_TIME_SLICES_AUTO;
    expect_refusal(&o, NULL);
    o.time_slice_ns = -1;
    expect_refusal(&o, "time_slice_ns -1: it must not be negative");
    o.time_slice_ns = 0;
    o.kernel_sampling = UINT32_MAX;
    expect_refusal(&o, NULL);
    o.kernel_sampling++;
    expect_refusal(&o, "kernel_sampling 4294967296: at most 4294967295 is possible");
    o.kernel_sampling = 0;
    o.max_cycles = -1;
    expect_refusal(&o, "max_cycles -1: it must not be negative");
    o.max_cycles = 0;
    o.on_trace_ready = hb_tensorboard_trace_handler("runs", NULL, 1u << 10);
    expect_refusal(&o, "tensorboard_trace_handler: flags 0x400: HB_GZIP, HB_DIALECT_KINETO, "
                       "HB_NO_EVENT_FILE, HB_SKIP_EMPTY, HB_GZIP_BY_ZLIB and HB_PFTRACE are known");
}

static void a_worker_name_with_a_slash_is_refused(void **state)
{
    (void)state;
    assert_null(to_files(in_dir("run"), "a/b", 0));
    assert_non_null(strstr(hb_last_error(), "\"a/b\" has a '/'"));
    assert_null(to_files("", NULL, 0));
    assert_null(to_files(NULL, NULL, 0));
    assert_null(to_files(in_dir("run"), NULL, 1u << 20));
    char longest[202];
    memset(longest, 'w', sizeof longest - 1);
    longest[201] = '\0';
    assert_null(to_files(in_dir("run"), longest, 0));
    assert_non_null(strstr(hb_last_error(), "201 bytes: 200 are allowed"));
    longest[200] = '\0';
    hb_profiler *prof = to_files(in_dir("run"), longest, 0);
    assert_non_null(prof);
    hb_profiler_destroy(prof);
}

static void an_unwritable_path_is_said_and_the_data_kept(void **state)
{
    (void)state;
    FILE *f = fopen(in_dir("file"), "w");
    fclose(f);
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.on_trace_ready = hb_tensorboard_trace_handler(in_dir("file/run"), "w", 0);
    o.spool_dir = dir;
    hb_profiler *prof = hb_profiler_create(&o);
    hb_profiler_start(prof);
    HB_RECORD_FUNCTION("kept") {
    }
    assert_int_equal(hb_profiler_stop(prof), HB_ERROR_IO);
    assert_non_null(strstr(hb_last_error(), "/file"));
    assert_int_equal(hb_profiler_flush(prof), HB_OK); /* it was said */
    /* Another try, elsewhere. */
    assert_int_equal(hb_export_tensorboard(prof, in_dir("second"), "w", 0), HB_OK);
    assert_int_equal(count_files(in_dir("second"), ".pt.trace.json", NULL), 1);
    hb_profiler_destroy(prof);
    assert_int_equal(count_files(dir, ".hbspool", NULL), 1);
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    assert_int_equal(count_files(dir, ".hbspool", NULL), 0);
    assert_int_equal(count_files(dir, ".pt.trace.json", NULL), 1);
}

static void export_replaces_and_can_be_repeated(void **state)
{
    (void)state;
    hb_profiler *prof = record_all();
    HB_RECORD_FUNCTION("once") {
    }
    hb_profiler_stop(prof);
    for (int i = 0; i < 2; i++)
        assert_int_equal(hb_export_chrome_trace(prof, in_dir("t.json"), i ? HB_DIALECT_KINETO : 0),
                         HB_OK);
    cJSON *trace = parse(in_dir("t.json"));
    assert_int_equal(count_named(trace, "once"), 1);
    cJSON_Delete(trace);
    assert_int_equal(hb_export_chrome_trace(prof, "", 0), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_export_chrome_trace(prof, dir, 0), HB_ERROR_IO);
    hb_profiler_destroy(prof);
}

/* ---- metadata ---- */

static const char *text_at(const cJSON *json, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItem(json, key));
}

static hb_result export_numbered(hb_profiler *prof, void *context)
{
    char name[32];
    (void)context;
    snprintf(name, sizeof name, "preset%d.json", (int)hb_profiler_cycle(prof));
    return hb_export_chrome_trace(prof, in_dir(name), 0);
}

static void preset_metadata_stands_in_every_cycle(void **state)
{
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.active = 1);
    o.on_trace_ready.fn = export_numbered;
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_preset_metadata_json(prof, "config", "{]"), HB_ERROR_FORMAT);
    assert_int_equal(hb_profiler_preset_metadata_json(prof, "run", "\"a\""), HB_OK);
    assert_int_equal(hb_profiler_preset_metadata_json(prof, "config", "\"old\""), HB_OK);
    assert_int_equal(hb_profiler_preset_metadata_json(prof, "config", "\"new\""), HB_OK);
    assert_int_equal(hb_profiler_add_metadata(prof, "once", "first"), HB_OK);
    hb_profiler_start(prof);
    hb_profiler_step(prof);
    hb_profiler_step(prof);
    hb_profiler_stop(prof);
    hb_profiler_destroy(prof);
    for (int cycle = 0; cycle < 2; cycle++) {
        cJSON *t = parse(in_dir(cycle ? "preset1.json" : "preset0.json"));
        assert_string_equal(text_at(t, "run"), "a");
        assert_string_equal(text_at(t, "config"), "new");
        assert_int_equal(cJSON_HasObjectItem(t, "once"), cycle == 0);
        cJSON_Delete(t);
    }
}

static void metadata_is_escaped_and_checked(void **state)
{
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.distributed = (hb_distributed_info){
        .backend = "nccl",
        .rank = 1,
        .world_size = 2,
        .groups = &(hb_process_group){"0", "default_pg", "cuda:nccl", (int64_t[]){0, 1}, 2},
        .num_groups = 1,
    };
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_add_metadata(prof, "before", "v \"q\" \\ \n\t\xff"), HB_OK);
    hb_profiler_start(prof);
    assert_int_equal(hb_profiler_add_metadata(prof, "twice", "first"), HB_OK);
    assert_int_equal(hb_profiler_add_metadata(prof, "twice", "second"), HB_OK);
    assert_int_equal(hb_profiler_add_metadata_json(prof, "json", "{\"a\":\n [1, 2.5, null]}"),
                     HB_OK);
    assert_int_equal(hb_profiler_add_metadata_json(prof, "bad", "{\"a\": }"), HB_ERROR_FORMAT);
    assert_non_null(strstr(hb_last_error(), "byte 6"));
    assert_int_equal(hb_profiler_add_metadata_json(prof, "bad", "\"\xff\""), HB_ERROR_FORMAT);
    assert_int_equal(hb_profiler_add_metadata(prof, "traceEvents", "x"), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_profiler_add_metadata(prof, "", "x"), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_profiler_add_metadata(prof, "k", NULL), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_profiler_add_metadata(NULL, "k", "x"), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_profiler_add_metadata(prof, NULL, "x"), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_profiler_add_metadata_json(NULL, "k", "1"), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_profiler_add_metadata_json(prof, "k", NULL), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_profiler_preset_metadata_json(prof, "k", NULL), HB_ERROR_INVALID_ARGUMENT);
    hb_profiler_stop(prof);
    for (unsigned dialect = 0; dialect <= HB_DIALECT_KINETO; dialect += HB_DIALECT_KINETO) {
        assert_int_equal(hb_export_chrome_trace(prof, in_dir("m.json"), dialect), HB_OK);
        cJSON *t = parse(in_dir("m.json"));
        assert_string_equal(text_at(t, "before"), "v \"q\" \\ \n\t\xef\xbf\xbd");
        assert_string_equal(text_at(t, "twice"), "second");
        assert_null(cJSON_GetObjectItem(t, "bad"));
        const cJSON *a = cJSON_GetObjectItem(cJSON_GetObjectItem(t, "json"), "a");
        assert_true(cJSON_GetArrayItem(a, 1)->valuedouble == 2.5);
        const cJSON *info = cJSON_GetObjectItem(t, "distributedInfo");
        assert_int_equal(cJSON_GetObjectItem(info, "rank")->valueint, 1);
        const cJSON *group = cJSON_GetArrayItem(cJSON_GetObjectItem(info, "pg_config"), 0);
        assert_string_equal(text_at(group, "pg_desc"), "default_pg");
        cJSON_Delete(t);
    }
    hb_profiler_destroy(prof);
    o.distributed.rank = 2;
    assert_null(hb_profiler_create(&o));
}

/* ---- crashes ---- */

static pid_t killed_while_recording(const char *path)
{
    pid_t pid = fork();
    if (pid == 0) {
        hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
        o.schedule = hb_schedule_make(.active = 100);
        o.on_trace_ready = hb_tensorboard_trace_handler(path, "victim", 0);
        o.profile_memory = o.with_modules = true;
        hb_profiler *prof = hb_profiler_create(&o);
        hb_module net = hb_module_create("KilledNet");
        hb_profiler_start(prof);
        hb_profiler_add_metadata(prof, "note", "made before the end");
        for (int i = 0; i < 10; i++) {
            HB_MODULE(net) {
                HB_OP("survivor") {
                    hb_memory_alloc(HB_DEVICE_CPU, 0, &i, 100);
                }
            }
            hb_profiler_step(prof);
        }
        hb_record_function("open at the end");
        raise(SIGKILL);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status));
    return pid;
}

static void a_killed_process_leaves_no_second_trace_of_a_cycle(void **state)
{
    (void)state;
    const char *path = in_dir("killed_between_cycles");
    pid_t pid = fork();
    if (pid == 0) {
        hb_profiler *prof = to_files(path, "victim", 0);
        hb_profiler_start(prof);
        HB_RECORD_FUNCTION("written") {
        }
        hb_profiler_stop(prof);
        raise(SIGKILL);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(count_files(path, ".pt.trace.json", NULL), 1);
    assert_int_equal(count_files(path, ".hbspool", NULL), 1);
    assert_int_equal(hb_recover(path, 0, NULL, NULL), HB_ERROR_NOT_FOUND);
    assert_int_equal(count_files(path, ".pt.trace.json", NULL), 1);
    assert_int_equal(count_files(path, ".hbspool", NULL), 0);
}

static void keep_report(const hb_recovered *spool, void *arg)
{
    hb_recovered *kept = arg;
    static char trace[PATH_MAX];
    *kept = *spool;
    snprintf(trace, sizeof trace, "%s", spool->trace ? spool->trace : "");
    kept->trace = trace;
}

static void a_killed_process_leaves_a_trace(void **state)
{
    (void)state;
    hb_recovered told = {0};
    killed_while_recording(in_dir("runs/killed"));
    assert_int_equal(count_files(in_dir("runs/killed"), ".pt.trace.json", NULL), 0);
    assert_int_equal(hb_recover(in_dir("runs"), 0, keep_report, &told), HB_OK);
    assert_int_equal(told.result, HB_OK);
    cJSON *t = parse(told.trace);
    assert_int_equal(count_named(t, "survivor"), 10);
    assert_int_equal(count_named(t, "open at the end"), 1);
    assert_int_equal(count_named(t, "ProfilerStep#10"), 1);
    assert_int_equal(count_named(t, "nn.Module: KilledNet_0"), 10);
    assert_int_equal(count_named(t, "[memory]"), 10);
    assert_string_equal(text_at(t, "note"), "made before the end");
    cJSON_Delete(t);
    assert_int_equal(count_files(in_dir("runs/killed"), ".hbspool", NULL), 0);
    assert_int_equal(hb_recover(in_dir("runs"), 0, NULL, NULL), HB_ERROR_NOT_FOUND);
}

static void a_living_process_is_left_alone(void **state)
{
    (void)state;
    hb_profiler *prof = to_files(in_dir("living"), "w", 0);
    hb_profiler_start(prof);
    assert_int_equal(count_files(in_dir("living"), ".hbspool", NULL), 1);
    assert_int_equal(hb_recover(in_dir("living"), 0, NULL, NULL), HB_ERROR_NOT_FOUND);
    assert_int_equal(count_files(in_dir("living"), ".hbspool", NULL), 1);
    hb_profiler_destroy(prof);
}

/* It has let go of the lock on its spool, but lives. */
static void a_living_process_that_closed_all_files_is_left_alone(void **state)
{
    (void)state;
    const char *path = in_dir("closed");
    int status, ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ready[1], 1);
        hb_profiler *prof = to_files(path, "w", 0);
        hb_profiler_start(prof);
        for (int fd = 3; fd < 1024; fd++)
            close(fd);
        if (write(1, "", 1) != 1) _exit(1);
        pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(hb_recover(path, 0, NULL, NULL), HB_ERROR_NOT_FOUND);
    assert_int_equal(count_files(path, ".hbspool", NULL), 1);
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    assert_int_equal(hb_recover(path, 0, NULL, NULL), HB_OK);
    assert_int_equal(count_files(path, ".hbspool", NULL), 0);
    close(ready[0]);
    close(ready[1]);
}

static void exit_without_stop_still_writes(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        hb_profiler *prof = to_files(in_dir("exited"), "w", 0);
        hb_profiler_start(prof);
        HB_RECORD_FUNCTION("work") {
        }
        exit(7);
    }
    int status;
    waitpid(pid, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 7);
    assert_int_equal(count_files(in_dir("exited"), ".pt.trace.json", NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_handler_is_called_when_torch_calls_it),
        cmocka_unit_test(a_cycle_broken_off_is_discarded_and_the_next_one_works),
        cmocka_unit_test(steps_are_annotated_with_their_numbers),
        cmocka_unit_test(starting_again_goes_on_counting),
        cmocka_unit_test(events_are_the_last_cycles_or_with_acc_events_all),
        cmocka_unit_test(lost_records_go_into_an_older_programs_structure),
        cmocka_unit_test(wrong_use_is_an_error_not_a_crash),
        cmocka_unit_test(while_a_cycle_is_recorded_none_is_exported),
        cmocka_unit_test(options_of_older_and_newer_programs_are_taken),
        cmocka_unit_test(a_handler_can_fail_but_not_step),
        cmocka_unit_test(chained_handlers_are_called_in_turn_whatever_the_first_says),
        cmocka_unit_test(chained_tensorboard_handlers_are_checked_and_write_both),
        cmocka_unit_test(each_cycle_is_a_file_named_as_torch_names_it),
        cmocka_unit_test(gzip_files_are_gzip),
        cmocka_unit_test(a_name_that_is_taken_is_counted_up),
        cmocka_unit_test(an_option_that_cannot_be_is_refused),
        cmocka_unit_test(a_worker_name_with_a_slash_is_refused),
        cmocka_unit_test(an_unwritable_path_is_said_and_the_data_kept),
        cmocka_unit_test(export_replaces_and_can_be_repeated),
        cmocka_unit_test(preset_metadata_stands_in_every_cycle),
        cmocka_unit_test(metadata_is_escaped_and_checked),
        cmocka_unit_test(a_killed_process_leaves_a_trace),
        cmocka_unit_test(a_killed_process_leaves_no_second_trace_of_a_cycle),
        cmocka_unit_test(a_living_process_is_left_alone),
        cmocka_unit_test(a_living_process_that_closed_all_files_is_left_alone),
        cmocka_unit_test(exit_without_stop_still_writes),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
