/* SPDX-License-Identifier: MIT
 *
 * A flight recorder: what is kept, what is written when, and that it goes on meanwhile.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>

#include "forks_with_threads.h"
#include "profiler/arbitration.h"
#include "profiler/control.h"
#include "profiler/control_file.h"
#include "profiler/profiler.h"
#include "record/strings.h"
#include "test_dir.h"

static hb_profiler_options ring_with(unsigned flags)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", flags);
    return o;
}

static hb_profiler_options ring(void)
{
    return ring_with(0);
}

static hb_profiler *start(const hb_profiler_options *o)
{
    hb_profiler *prof = hb_profiler_create(o);
    if (!prof || hb_profiler_start(prof) != HB_OK) fail_msg("%s", hb_last_error());
    return prof;
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* A step with scopes named after it. */
static void step(hb_profiler *prof, int number, int scopes)
{
    char name[32];
    snprintf(name, sizeof name, "in %d", number);
    for (int i = 0; i < scopes; i++)
        HB_RECORD_FUNCTION_NAMED(name) {
        }
    assert_int_equal(hb_profiler_step(prof), HB_OK);
}

static char *whole_file(const char *path)
{
    struct stat st;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &st), 0);
    char *text = calloc(1, (size_t)st.st_size + 1);
    assert_int_equal(fread(text, 1, (size_t)st.st_size, file), st.st_size);
    fclose(file);
    return text;
}

/* The newest trace besides `except`, once there is one. */
static char *trace_besides(char *path, size_t size, const char *except)
{
    int wanted = except ? 2 : 1;
    for (;;) {
        int traces = 0;
        DIR *list = opendir(dir);
        for (struct dirent *entry; (entry = readdir(list));) {
            char full[700];
            if (entry->d_name[0] == '.' || !strstr(entry->d_name, ".pt.trace.json")) continue;
            snprintf(full, sizeof full, "%s/%s", dir, entry->d_name);
            traces++;
            if (!except || strcmp(full, except) != 0) snprintf(path, size, "%s", full);
        }
        closedir(list);
        if (traces == wanted) return whole_file(path);
        nap();
    }
}

static bool has_step(const char *text, int number)
{
    char name[40];
    snprintf(name, sizeof name, "\"ProfilerStep#%d\"", number);
    return strstr(text, name) != NULL;
}

/* strstr() looks for the end of the whole text each time where a sanitizer stands in for it. */
static const char *behind_next(const char *text, const char *what)
{
    size_t n = strlen(what);
    for (; *text; text++)
        if (*text == *what && strncmp(text, what, n) == 0) return text + n;
    return NULL;
}

static int count_of(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = behind_next(at, what));)
        n++;
    return n;
}

/* What is asked for is written when this returns. */
static void dump(hb_profiler *prof, const char *reason)
{
    assert_int_equal(hb_profiler_dump(prof, reason), HB_OK);
    assert_int_equal(hb_profiler_flush(prof), HB_OK);
}

/* ---- what is kept ---- */

static void the_last_steps_are_written_and_recording_goes_on(void **state)
{
    (void)state;
    char first[700], second[700];
    hb_profiler_options o = ring();
    o.ring_steps = 5;
    hb_profiler *prof = start(&o);
    assert_int_equal(hb_profiler_add_metadata(prof, "told", "long ago"), HB_OK);
    for (int i = 0; i < 100; i++)
        step(prof, i, 10);
    dump(prof, "a look");
    char *text = trace_besides(first, sizeof first, NULL);
    assert_non_null(strstr(text, "\"hipboard_reason\": \"a look\""));
    assert_non_null(strstr(text, "\"hipboard_ring_seconds\": "));
    assert_non_null(strstr(text, "\"told\": \"long ago\""));
    for (int i = 95; i <= 100; i++) /* the last one is not over */
        assert_true(has_step(text, i));
    assert_false(has_step(text, 94));
    assert_non_null(strstr(text, "\"in 95\""));
    assert_null(strstr(text, "\"in 94\""));
    free(text);
    assert_true(HB_ENABLED());
    for (int i = 100; i < 200; i++)
        step(prof, i, 10);
    dump(prof, "again");
    text = trace_besides(second, sizeof second, first);
    assert_non_null(strstr(text, "\"hipboard_reason\": \"again\""));
    assert_non_null(strstr(text, "\"told\": \"long ago\""));
    assert_null(strstr(text, "a look"));
    assert_true(has_step(text, 199) && has_step(text, 195) && !has_step(text, 194));
    free(text);
    hb_profiler_destroy(prof);
    assert_false(HB_ENABLED());
}

static double seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Real time: a machine that stops for two seconds between "just now" and the dump has a ring
 * without it, and rightly so. That is seen by the test's own clock; then false, and nothing was
 * looked at. */
static bool the_last_two_seconds_are_written(void)
{
    char path[700];
    hb_profiler_options o = ring();
    o.ring_ns = 2 * INT64_C(1000000000);
    hb_profiler *prof = start(&o);
    hb_scope open = hb_record_function("open all along");
    HB_RECORD_FUNCTION("too early") {
    }
    nanosleep(&(struct timespec){.tv_sec = 2, .tv_nsec = 100000000}, NULL);
    double before = seconds_now();
    HB_RECORD_FUNCTION("just now") {
    }
    dump(prof, NULL);
    bool in_time = seconds_now() - before < 1.9;
    char *text = trace_besides(path, sizeof path, NULL);
    assert_non_null(strstr(text, "\"open all along\""));
    assert_null(strstr(text, "\"too early\""));
    if (in_time) {
        assert_non_null(strstr(text, "\"just now\""));
        const char *seconds = strstr(text, "\"hipboard_ring_seconds\": ");
        assert_non_null(seconds);
        double s = strtod(strchr(seconds, ' '), NULL);
        assert_true(s > 1.9 && s < 4);
    }
    free(text);
    hb_scope_end(&open);
    hb_profiler_destroy(prof);
    assert_int_equal(unlink(path), 0);
    return in_time;
}

static void the_last_seconds_are_written_and_what_was_open_then(void **state)
{
    (void)state;
    while (!the_last_two_seconds_are_written())
        continue;
}

/* ---- when ---- */

static void steps_take_no_names(void **state)
{
    (void)state;
    char path[700];
    uint64_t before, after;
    hb_profiler_options o = ring();
    o.ring_steps = 2;
    hb_profiler *prof = start(&o);
    step(prof, 7, 1);
    hb_strings_table(&before);
    for (int i = 1; i < 5000; i++)
        step(prof, 7, 1);
    hb_strings_table(&after);
    assert_int_equal(before, after);
    dump(prof, "a look");
    char *text = trace_besides(path, sizeof path, NULL);
    assert_true(has_step(text, 4998) && has_step(text, 4999) && has_step(text, 5000));
    free(text);
    hb_profiler_destroy(prof);
}

static void lose_one(void)
{
    hb_scope outer = hb_record_function("outer");
    hb_record_function("never ended");
    hb_scope_end(&outer);
}

/* Of what was lost by now hipboard knows when. */
static bool is_marked(hb_profiler *prof)
{
    hb_arbitration_lock(prof);
    const hb_ring *r = &prof->ring;
    bool marked = r->marks[r->num_marks - 1].lost[HB_LOST_UNBALANCED] > 0;
    hb_arbitration_unlock(prof);
    return marked;
}

static bool has_dropped(hb_profiler *prof)
{
    hb_arbitration_lock(prof);
    bool dropped = prof->session->kept_from > 0;
    hb_arbitration_unlock(prof);
    return dropped;
}

/* Of so many steps, as the test can't say how long it will be stopped. */
static void only_losses_of_what_is_kept_are_told(void **state)
{
    (void)state;
    char first[700], second[700];
    hb_profiler_options o = ring();
    o.ring_steps = 2;
    hb_profiler *prof = start(&o);
    lose_one();
    while (!is_marked(prof))
        nap();
    for (int i = 0; i < 20000 || !has_dropped(prof);
         i++) /* more than a chunk, so that it is dropped */
        step(prof, i, 1);
    HB_RECORD_FUNCTION("later") {
    }
    dump(prof, "nothing lost");
    char *text = trace_besides(first, sizeof first, NULL);
    assert_non_null(strstr(text, "\"later\""));
    assert_null(strstr(text, "hipboard_lost"));
    free(text);
    lose_one();
    dump(prof, "one lost");
    text = trace_besides(second, sizeof second, first);
    assert_non_null(strstr(text, "\"unbalanced\": 1"));
    free(text);
    hb_profiler_destroy(prof);
}

/* Those of the window's beginning, which no record that is kept tells of. */
static void totals_are_those_since_the_beginning(void **state)
{
    (void)state;
    char path[700];
    hb_profiler_options o = ring();
    o.ring_steps = 2;
    o.profile_memory = true;
    hb_profiler *prof = start(&o);
    hb_memory_alloc(HB_DEVICE_CPU, -1, (void *)0x10000, 1 << 20);
    for (int i = 0; i < 20000; i++) /* more than a chunk, so that it is dropped */
        step(prof, i, 1);
    while (!has_dropped(prof))
        nap();
    hb_memory_alloc(HB_DEVICE_CPU, -1, (void *)0x20000, 100);
    step(prof, 20000, 1);
    dump(prof, "a look");
    char *text = trace_besides(path, sizeof path, NULL);
    assert_non_null(strstr(text, "\"Total Allocated\": 1048676"));
    free(text);
    hb_profiler_destroy(prof);
}

static void what_is_asked_for_at_the_end_is_written(void **state)
{
    (void)state;
    char path[700];
    hb_profiler_options o = ring();
    o.ring_ns = 60 * INT64_C(1000000000);
    hb_profiler *prof = start(&o);
    step(prof, 0, 1);
    assert_int_equal(hb_profiler_dump(prof, "the end"), HB_OK);
    hb_profiler_destroy(prof);
    char *text = trace_besides(path, sizeof path, NULL);
    assert_non_null(strstr(text, "\"in 0\""));
    free(text);
}

static void without_a_reason_nothing_is_written(void **state)
{
    (void)state;
    hb_profiler_options o = ring_with(HB_NO_EVENT_FILE);
    o.ring_ns = 60 * INT64_C(1000000000);
    hb_profiler *prof = start(&o);
    for (int i = 0; i < 10; i++)
        step(prof, i, 10);
    hb_profiler_destroy(prof);
    assert_int_equal(list_dir(dir, NULL, NULL, 0), 0);
}

/* Steps that are asked for come into it first. */
static void signals_numbers_and_requests_write_it(void **state)
{
    (void)state;
    char path[4096];
    hb_profiler_options o = ring();
    o.ring_ns = 60 * INT64_C(1000000000);
    o.trigger_signal = SIGUSR2;
    o.trigger_metric = "loss > 5";
    o.max_cycles = 1;
    hb_profiler *prof = start(&o);
    raise(SIGUSR2);
    assert_int_equal(hb_profiler_flush(prof), HB_OK);
    char *text = trace_besides(path, sizeof path, NULL);
    assert_non_null(strstr(text, "\"hipboard_reason\": \"signal"));
    free(text);
    hb_scalar("loss", 7);
    assert_int_equal(hb_profiler_flush(prof), HB_OK);
    text = trace_besides(path, sizeof path, NULL);
    assert_non_null(strstr(text, "\"hipboard_reason\": \"loss"));
    free(text);
    hb_trigger_options t = HB_TRIGGER_OPTIONS_INIT;
    t.steps = 2;
    assert_int_equal(hb_trigger_process(getpid(), dir, &t, false, path, sizeof path), HB_OK);
    for (int i = 0; i < 4; i++)
        step(prof, i, 1);
    assert_int_equal(hb_profiler_flush(prof), HB_OK);
    text = trace_besides(path, sizeof path, NULL);
    assert_non_null(strstr(text, "hipboard trigger"));
    assert_true(has_step(text, 1) && has_step(text, 2));
    free(text);
    hb_profiler_destroy(prof);
}

/* ---- how much ---- */

/* The file as it is on disk, and as long as it is. */
static struct stat spool_file(void)
{
    struct stat st = {0};
    char full[700];
    DIR *list = opendir(dir);
    for (struct dirent *entry; (entry = readdir(list));) {
        snprintf(full, sizeof full, "%s/%s", dir, entry->d_name);
        if (strstr(entry->d_name, ".hbspool")) assert_int_equal(stat(full, &st), 0);
    }
    closedir(list);
    return st;
}

static uint64_t kept_bytes(hb_profiler *prof)
{
    hb_lock_take(&prof->spool.lock);
    uint64_t bytes = prof->spool.kept_bytes;
    hb_lock_give(&prof->spool.lock);
    return bytes;
}

static uint64_t hot_bytes(hb_profiler *prof)
{
    return (uint64_t)atomic_load(&prof->spool.pool.in_file) * HB_CHUNK_BYTES;
}

/* More than 100 times what is kept goes through it. Meanwhile names stay. */
static void put_request_file(const char *text)
{
    char path[600], fresh[600];
    snprintf(path, sizeof path, "%s/" HB_CONTROL_FILE_NAME, dir);
    snprintf(fresh, sizeof fresh, "%s/.fresh", dir);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    assert_int_equal(rename(fresh, path), 0);
}

static bool event_file_says(const char *reason)
{
    bool says = false;
    DIR *list = opendir(dir);
    for (struct dirent *entry; (entry = readdir(list));) {
        struct stat st;
        char full[700], *bytes;
        if (!strstr(entry->d_name, "tfevents")) continue;
        snprintf(full, sizeof full, "%s/%s", dir, entry->d_name);
        bytes = whole_file(full);
        assert_int_equal(stat(full, &st), 0);
        says |= memmem(bytes, (size_t)st.st_size, reason, strlen(reason)) != NULL;
        free(bytes);
    }
    closedir(list);
    return says;
}

/* The text of the trace that was written for that reason, once there is one: a machine that stops
 * makes other steps slow as well, which have one written, too. */
static char *trace_because(const char *reason)
{
    char full[700];
    for (;;) {
        char *text = NULL;
        DIR *list = opendir(dir);
        for (struct dirent *entry; !text && (entry = readdir(list));) {
            if (entry->d_name[0] == '.' || !strstr(entry->d_name, ".pt.trace.json")) continue;
            snprintf(full, sizeof full, "%s/%s", dir, entry->d_name);
            text = whole_file(full);
            if (strstr(text, reason)) continue;
            free(text);
            text = NULL;
        }
        closedir(list);
        if (text) return text;
        nap();
    }
}

static void a_slow_step_and_the_file_of_a_job_write_it(void **state)
{
    (void)state;
    static const char by_step[] = "\"hipboard_reason\": \"step ";
    hb_profiler_options o = ring();
    o.ring_ns = 600 * INT64_C(1000000000);
    o.trigger_slow_step = 1000;
    hb_profiler *prof = start(&o);
    double longest = 0;
    for (int i = 0; i < 20; i++) {
        double began = seconds_now();
        nap();
        step(prof, i, 1);
        double took = seconds_now() - began;
        if (took > longest) longest = took;
    }
    for (double began = seconds_now();
         seconds_now() - began < longest * 12;) /* of the median, too */
        nap();
    step(prof, 20, 1);
    step(prof, 21, 1);
    assert_int_equal(hb_profiler_flush(prof), HB_OK);
    char *text = trace_because(by_step);
    int number = atoi(strstr(text, by_step) + strlen(by_step));
    assert_in_range(number, 1, 21);
    assert_non_null(strstr(text, " took "));
    assert_true(has_step(text, number));
    free(text);
    char line[32];
    snprintf(line, sizeof line, "- step %d took", number);
    while (!event_file_says(line))
        nap();
    put_request_file("ACTIVITIES_DURATION_MSECS=1\nREQUEST_TRACE_ID=job 7\n");
    text = trace_because("\"hipboard_reason\": \"request file\"");
    assert_non_null(strstr(text, "\"hipboard_request_id\": \"job 7\""));
    free(text);
    hb_profiler_destroy(prof);
}

/* The spool's thread has written what is full; the chunk that is being filled may lie in memory. */
static bool has_room_to_record(hb_profiler *prof)
{
    const hb_chunk_pool *pool = &prof->spool.pool;
    return atomic_load(&pool->in_memory) <= 1 &&
           atomic_load(&pool->ready_in_file) >= atomic_load(&pool->in_file) / 2;
}

static void a_ring_of_bytes_stays_small(void **state)
{
    (void)state;
    enum { KEPT = 128 << 10, ROUNDS = 12, SCOPES = 350000 };
    char path[700];
    hb_profiler_options o = ring();
    o.ring_bytes = KEPT;
    o.spool_dir = dir;
    hb_profiler *prof = start(&o);
    HB_RECORD_FUNCTION("a name of the beginning") {
    }
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < SCOPES; k++)
            HB_RECORD_FUNCTION("work") {
            }
        step(prof, i, 1);
        while (!has_room_to_record(prof) || kept_bytes(prof) > KEPT)
            nap();
    }
    /* 4.2 million scopes are 16 MB at least as they are coded; those of a round are 2. */
    struct stat st = spool_file();
    assert_in_range(st.st_size, 1, hot_bytes(prof) + (8 << 20));
    assert_in_range(st.st_blocks * 512, 1, hot_bytes(prof) + (8 << 20));
    HB_RECORD_FUNCTION("a name of the beginning") {
    }
    dump(prof, "now");
    char *text = trace_besides(path, sizeof path, NULL);
    assert_int_equal(count_of(text, "\"a name of the beginning\""), 1);
    assert_true(has_step(text, ROUNDS) && !has_step(text, 0));
    /* a scope takes 4 bytes or 5 */
    assert_in_range(count_of(text, "\"work\""), KEPT / 5 / 4, ROUNDS * SCOPES);
    free(text);
    hb_profiler_destroy(prof);
}

/* However long it is to keep: the other half is for what comes meanwhile. */
static void a_ring_of_hours_keeps_half_of_what_it_may(void **state)
{
    (void)state;
    enum { MOST = 4 << 20, ROUNDS = 200, SCOPES = 3000, PATIENCE_MS = 20000 };
    hb_profiler_options o = ring();
    o.ring_ns = INT64_C(3600000000000);
    o.max_record_bytes = MOST;
    o.spool_dir = dir;
    hb_profiler *prof = start(&o);
    for (int i = 0; i < ROUNDS; i++) { /* 3 MB, in two seconds, in each of which it looks once */
        for (int k = 0; k < SCOPES; k++)
            HB_RECORD_FUNCTION("work") {
            }
        step(prof, i, 1);
        usleep(10000);
    }
    for (int i = 0; i < PATIENCE_MS && kept_bytes(prof) > MOST / 2; i++)
        nap();
    assert_in_range(kept_bytes(prof), MOST / 4, MOST / 2);
    hb_profiler_destroy(prof);
}

/* As when it has looked each second for half a minute: every other one stays. */
static void marks_of_a_long_ring_lie_ever_farther_apart(void **state)
{
    (void)state;
    hb_profiler_options o = ring();
    o.ring_ns = INT64_C(3600000000000);
    hb_profiler *prof = start(&o);
    hb_ring *r = &prof->ring;
    hb_arbitration_lock(prof);
    const hb_clock_pair began = prof->session->start;
    for (uint32_t i = 0; i < HB_RING_MARKS; i++) {
        r->marks[i] = (hb_ring_mark){.time = began};
        r->marks[i].time.ticks -= HB_RING_MARKS - i;
        r->marks[i].time.monotonic_ns -= (int64_t)(HB_RING_MARKS - i) * 1000000000;
    }
    r->num_marks = HB_RING_MARKS;
    r->drop_at = 0;
    hb_arbitration_unlock(prof);
    hb_control_wake(prof);
    for (bool looked = false; !looked; nap()) {
        hb_arbitration_lock(prof);
        looked = r->num_marks != HB_RING_MARKS;
        hb_arbitration_unlock(prof);
    }
    hb_arbitration_lock(prof);
    uint32_t count = r->num_marks;
    for (uint32_t i = 0; i < HB_RING_MARKS / 2; i++)
        assert_int_equal(r->marks[i].time.ticks, began.ticks - HB_RING_MARKS + i * 2);
    bool newer = r->marks[HB_RING_MARKS / 2].time.monotonic_ns >= began.monotonic_ns;
    hb_arbitration_unlock(prof);
    assert_in_range(count, HB_RING_MARKS / 2 + 1, HB_RING_MARKS - 1);
    assert_true(newer);
    hb_profiler_destroy(prof);
}

static uint64_t lost_of(const hb_session *session)
{
    uint64_t lost = 0;
    for (int i = 0; i < HB_LOST_CAUSES; i++)
        lost += hb_session_lost_of(session, (enum hb_lost_cause)i);
    return lost;
}

/* Far more than there is room for, before the profiler's own thread gets to look what is too old;
 * and what is left of it is the end. Only the spool's must have its turn. */
static void a_ring_of_hours_loses_nothing_of_a_burst(void **state)
{
    (void)state;
    enum { MOST = 8 << 20, ROUNDS = 1000 / FEWER, SCOPES = 10000 };
    hb_profiler_options o = ring();
    o.ring_ns = INT64_C(3600000000000);
    o.max_record_bytes = MOST;
    o.spool_dir = dir;
    hb_profiler *prof = start(&o);
    step(prof, 0, 1);
    hb_arbitration_lock(prof);
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < SCOPES; k++)
            HB_RECORD_FUNCTION("work") {
            }
        while (!has_room_to_record(prof))
            nap();
    }
    uint64_t lost = lost_of(prof->session);
    hb_arbitration_unlock(prof);
    assert_int_equal(lost, 0);
    step(prof, 1, 1);
    char path[700];
    dump(prof, "now");
    char *text = trace_besides(path, sizeof path, NULL);
    assert_true(!has_step(text, 0) && has_step(text, 1));
    /* of 4 or 5 coded bytes each */
    assert_in_range(count_of(text, "\"work\""), MOST / 4 / 5, ROUNDS * SCOPES - 1);
    free(text);
    hb_profiler_destroy(prof);
}

static void *one_scope(void *unused)
{
    HB_RECORD_FUNCTION("short") {
    }
    return unused;
}

static uint32_t known_threads(hb_profiler *prof)
{
    hb_lock_take(&prof->spool.lock);
    uint32_t n = hb_spool_records(&prof->spool, prof->session->number)->threads.count;
    hb_lock_give(&prof->spool.lock);
    return n;
}

static void threads_that_are_gone_are_forgotten(void **state)
{
    (void)state;
    hb_profiler_options o = ring();
    o.ring_steps = 2;
    hb_profiler *prof = start(&o);
    for (int i = 0; i < 2000; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, one_scope, NULL), 0);
        pthread_join(thread, NULL);
    }
    for (int i = 0; i < 4; i++)
        step(prof, i, 1);
    while (known_threads(prof) > 1000)
        nap();
    hb_profiler_destroy(prof);
}

/* ---- threads and dumps ---- */

static atomic_bool over;
static _Atomic long recorded[4];

static void *record_and_count(void *arg)
{
    size_t self = (size_t)(intptr_t)arg;
    char name[16];
    snprintf(name, sizeof name, "w%zu", self);
    for (long n = 1; !atomic_load(&over); n++) {
        HB_RECORD_FUNCTION_NAMED(name) {
        }
        atomic_store(&recorded[self], n);
        if (n % 10 == 0) nap();
    }
    return NULL;
}

static void check_counts(const char *text, const long before[4], const long after[4])
{
    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "\"w%d\"", i);
        assert_in_range(count_of(text, name), before[i], after[i] + 1);
    }
}

static void counts_now(long counts[4])
{
    for (int i = 0; i < 4; i++)
        counts[i] = atomic_load(&recorded[i]);
}

static void nothing_is_lost_while_it_is_written(void **state)
{
    (void)state;
    char first[700], second[700];
    long before[4], after[4];
    pthread_t threads[4];
    hb_profiler_options o = ring();
    o.ring_ns = 600 * INT64_C(1000000000);
    hb_profiler *prof = start(&o);
    atomic_store(&over, false);
    for (int i = 0; i < 4; i++) {
        atomic_store(&recorded[i], 0);
        assert_int_equal(pthread_create(&threads[i], NULL, record_and_count, (void *)(intptr_t)i),
                         0);
    }
    while (atomic_load(&recorded[0]) < 6000) /* more than a chunk */
        nap();
    counts_now(before);
    dump(prof, "one");
    counts_now(after);
    char *text = trace_besides(first, sizeof first, NULL);
    check_counts(text, before, after);
    assert_null(strstr(text, "hipboard_lost"));
    free(text);
    counts_now(before);
    dump(prof, "two");
    counts_now(after);
    text = trace_besides(second, sizeof second, first);
    check_counts(text, before, after);
    free(text);
    atomic_store(&over, true);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    hb_profiler_destroy(prof);
}

/* ---- a dump that takes long ---- */

static atomic_bool writing_waits;

hb_result __real_hb_write_trace_new(hb_source *source, char *path, const hb_write_options *options,
                                    hb_write_stats *stats);
hb_result __wrap_hb_write_trace_new(hb_source *source, char *path, const hb_write_options *options,
                                    hb_write_stats *stats);

hb_result __wrap_hb_write_trace_new(hb_source *source, char *path, const hb_write_options *options,
                                    hb_write_stats *stats)
{
    while (atomic_load(&writing_waits))
        nap();
    return __real_hb_write_trace_new(source, path, options, stats);
}

/* The control thread has looked for what is too old. */
static void look_for_what_is_old(hb_profiler *prof)
{
    hb_arbitration_lock(prof);
    prof->ring.drop_at = 0;
    hb_arbitration_unlock(prof);
    hb_control_wake(prof);
    for (bool looked = false; !looked; nap()) {
        hb_arbitration_lock(prof);
        looked = prof->ring.drop_at != 0;
        hb_arbitration_unlock(prof);
    }
}

/* Also where the test has failed. */
static int write_and_remove_dir(void **state)
{
    atomic_store(&writing_waits, false);
    return remove_dir(state);
}

#define SLOWLY(name) cmocka_unit_test_setup_teardown(name, make_dir, write_and_remove_dir)

/* However many steps go by meanwhile. They are as old as others afterwards. */
static void a_dump_that_is_written_slowly_keeps_its_window(void **state)
{
    (void)state;
    enum { KEPT = 3, AGO = 20, LATER = 40, SCOPES = 10000 }; /* some chunks a step */
    char path[700], name[32];
    hb_profiler_options o = ring();
    o.ring_steps = KEPT;
    o.spool_dir = dir;
    hb_profiler *prof = start(&o);
    for (int i = 0; i < AGO; i++)
        step(prof, i, SCOPES);
    atomic_store(&writing_waits, true);
    assert_int_equal(hb_profiler_dump(prof, "slow"), HB_OK);
    while (!hb_ring_is_read(prof))
        nap();
    uint64_t before = kept_bytes(prof);
    for (int i = AGO; i < LATER; i++) {
        step(prof, i, SCOPES);
        look_for_what_is_old(prof);
    }
    uint64_t whole = kept_bytes(prof);
    assert_in_range(whole, before + 1, UINT64_MAX);
    atomic_store(&writing_waits, false);
    assert_int_equal(hb_profiler_flush(prof), HB_OK);
    char *text = trace_besides(path, sizeof path, NULL);
    for (int i = AGO - KEPT; i < AGO; i++) {
        snprintf(name, sizeof name, "\"in %d\"", i);
        assert_true(has_step(text, i));
        assert_int_equal(count_of(text, name), SCOPES);
    }
    assert_false(has_step(text, AGO + 1));
    assert_null(strstr(text, "hipboard_lost"));
    free(text);
    for (; kept_bytes(prof) >= whole; nap())
        look_for_what_is_old(prof);
    hb_profiler_destroy(prof);
}

/* What comes then has what is left of the room; beyond it is lost, and counted. */
static void a_dump_that_is_written_slowly_takes_no_more_than_there_is(void **state)
{
    (void)state;
    enum { MOST = 4 << 20, KEPT = 3, AGO = 10, SCOPES = 10000 };
    char first[700], second[700], name[32];
    hb_profiler_options o = ring();
    o.ring_steps = KEPT;
    o.max_record_bytes = MOST;
    o.spool_dir = dir;
    hb_profiler *prof = start(&o);
    for (int i = 0; i < AGO; i++) {
        step(prof, i, SCOPES);
        while (!has_room_to_record(prof))
            nap();
    }
    atomic_store(&writing_waits, true);
    assert_int_equal(hb_profiler_dump(prof, "slow"), HB_OK);
    while (!hb_ring_is_read(prof))
        nap();
    blkcnt_t before = spool_file().st_blocks; /* with the names of all tests before */
    int number = AGO;
    while (lost_of(prof->session) == 0 || kept_bytes(prof) < MOST / 8 * 5) {
        step(prof, number++, SCOPES);
        nap();
    }
    look_for_what_is_old(prof);
    assert_in_range(kept_bytes(prof), MOST / 8 * 5, MOST);
    assert_in_range(spool_file().st_blocks, before, before + MOST / 512);
    atomic_store(&writing_waits, false);
    assert_int_equal(hb_profiler_flush(prof), HB_OK);
    char *text = trace_besides(first, sizeof first, NULL);
    assert_true(has_step(text, AGO - KEPT));
    assert_null(strstr(text, "hipboard_lost"));
    free(text);
    uint64_t lost;
    do { /* until there is room again */
        nap();
        lost = lost_of(prof->session);
        step(prof, number++, SCOPES);
    } while (lost_of(prof->session) != lost);
    dump(prof, "later");
    text = trace_besides(second, sizeof second, first);
    snprintf(name, sizeof name, "\"in %d\"", number - 1);
    assert_int_equal(count_of(text, name), SCOPES);
    free(text);
    hb_profiler_destroy(prof);
}

/* What is recorded while a trace is written or looked through makes the next one longer, without
 * end where that takes long. */
static atomic_bool resting;
static _Atomic long enough[3];

static void nap_and_rest(intptr_t self, long n)
{
    do
        nap();
    while (atomic_load(&resting) || (n >= atomic_load(&enough[self]) && !atomic_load(&over)));
}

static void *record_a_lot(void *arg)
{
    intptr_t self = (intptr_t)arg;
    for (long n = 1; !atomic_load(&over); n++) {
        HB_RECORD_FUNCTION("elsewhere") {
        }
        atomic_store(&recorded[self], n);
        if (n % 100 == 0) nap_and_rest(self, n);
    }
    return NULL;
}

/* Numbers of one thread, one after the other: those that are there have no gap. */
static void *count_up(void *arg)
{
    intptr_t self = (intptr_t)arg;
    for (long n = 1; !atomic_load(&over); n++) {
        hb_scalar("count", (double)n);
        atomic_store(&recorded[self], n);
        if (n % 64 == 0) nap_and_rest(self, n);
    }
    return NULL;
}

static void check_no_gap(const char *text)
{
    static const char before[] = "\"value\": ";
    double last = 0;
    int n = 0;
    for (const char *at = text; (at = behind_next(at, before)); n++) {
        double value = strtod(at, NULL);
        if (last > 0) assert_true(value == last + 1);
        last = value;
    }
    assert_in_range(n, 1, INT32_MAX);
}

static void dumps_and_threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    enum { MOST_IN_A_STEP = 20000 };
    pthread_t threads[3];
    hb_profiler_options o = ring_with(HB_NO_EVENT_FILE);
    o.ring_steps = 2;
    o.max_cycles = 3;
    hb_profiler *prof = start(&o);
    atomic_store(&over, false);
    for (intptr_t i = 0; i < 3; i++) {
        atomic_store(&recorded[i], 0);
        atomic_store(&enough[i], MOST_IN_A_STEP);
        assert_int_equal(pthread_create(&threads[i], NULL, i ? record_a_lot : count_up, (void *)i),
                         0);
    }
    for (int i = 0; i < 6 || !has_dropped(prof); i++) {
        hb_trigger_options t = HB_TRIGGER_OPTIONS_INIT;
        char path[4096];
        long before[4];
        counts_now(before);
        for (int k = 0; k < 3; k++)
            atomic_store(&enough[k], before[k] + MOST_IN_A_STEP);
        for (int k = 0; k < 3; k++) /* in this step, so that it is kept */
            while (atomic_load(&recorded[k]) < before[k] + 2)
                nap();
        if (hb_trigger_process(getpid(), dir, &t, true, path, sizeof path) != HB_OK)
            fail_msg("%s", hb_last_error());
        atomic_store(&resting, true);
        char *text = whole_file(path);
        assert_non_null(strstr(text, "\"elsewhere\""));
        check_no_gap(text);
        free(text);
        atomic_store(&resting, false);
        assert_int_equal(hb_profiler_step(prof), HB_OK);
    }
    atomic_store(&over, true);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    hb_profiler_destroy(prof);
    assert_int_equal(list_dir(dir, NULL, NULL, 0), 3);
}

/* Also where nobody waits for them any more; what is recorded goes on. */
static void answers_that_come_together_are_all_given(void **state)
{
    (void)state;
    char path[700];
    hb_profiler_options o = ring();
    o.ring_steps = 2;
    hb_profiler *prof = start(&o);
    for (uint64_t i = 0; i < 300; i++)
        hb_control_written(prof, 1000 + i, "a trace", i % 2 ? "an error" : NULL);
    step(prof, 0, 1);
    dump(prof, "now");
    char *text = trace_besides(path, sizeof path, NULL);
    assert_true(has_step(text, 0));
    free(text);
    hb_profiler_destroy(prof);
}

/* ---- options ---- */

static void a_ring_that_cannot_be_is_refused(void **state)
{
    static const struct {
        int64_t ns, steps;
        bool on_demand, accumulates, no_directory;
        const char *said; /* NULL: it is none, or one that can be */
    } rows[] = {
        {-1, 0, false, false, false, "ring_ns -1, ring_steps 0: they must not be negative"},
        {0, -1, false, false, false, "ring_ns 0, ring_steps -1: they must not be negative"},
        {0, 1000001, false, false, false, "at most 1000000 steps are kept"},
        {1, 1000001, false, false, false, "at most 1000000 steps are kept"},
        {0, 1000000, false, false, false, NULL},
        {1, 0, false, false, false, NULL},
        {1, 0, true, false, false, "on_demand: one of them"},
        {1, 0, false, true, false, "acc_events keeps what a ring drops"},
        {0, 1, false, false, true, "which says where dumps are written"},
        {0, 0, true, false, false, NULL},
        {0, 0, false, true, false, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        hb_profiler_options o = ring();
        if (rows[i].no_directory) {
            hb_trace_handler given = o.on_trace_ready;
            if (given.destroy) given.destroy(given.context);
            o.on_trace_ready = (hb_trace_handler){0};
        }
        o.ring_ns = rows[i].ns;
        o.ring_steps = rows[i].steps;
        o.on_demand = rows[i].on_demand;
        o.acc_events = rows[i].accumulates;
        hb_profiler *prof = hb_profiler_create(&o);
        if ((prof == NULL) != (rows[i].said != NULL)) fail_msg("row %zu", i);
        if (!prof && !strstr(hb_last_error(), rows[i].said)) fail_msg("%s", hb_last_error());
        hb_profiler_destroy(prof);
    }
}

/* ---- crashes ---- */

static void a_killed_ring_is_recovered(void **state)
{
    (void)state;
    skip_under_thread_checks();
    char path[700];
    pid_t child = fork();
    if (child == 0) {
        hb_profiler_options o = ring();
        o.ring_steps = 3;
        o.spool_dir = dir;
        hb_profiler *prof = hb_profiler_create(&o);
        if (!prof || hb_profiler_start(prof) != HB_OK) _exit(1);
        step(prof, 0, 5000);
        uint64_t second = hb_ticks();
        for (int i = 1; i < 50; i++)
            step(prof, i, 5000);
        while (__atomic_load_n(&prof->session->kept_from, __ATOMIC_RELAXED) < second)
            nap();
        HB_RECORD_FUNCTION("in 0") {
        }
        HB_RECORD_FUNCTION("last words") {
        }
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(hb_recover(dir, 0, NULL, NULL), HB_OK);
    char *text = trace_besides(path, sizeof path, NULL);
    assert_non_null(strstr(text, "\"last words\""));
    assert_int_equal(count_of(text, "\"in 0\""), 1); /* a name of the beginning */
    assert_int_equal(count_of(text, "\"in 49\""), 5000);
    assert_false(has_step(text, 0));
    assert_non_null(strstr(text, "\"hipboard_reason\": \"recovered"));
    assert_non_null(strstr(text, "\"hipboard_ring_seconds\": "));
    free(text);
}

/* ---- options ---- */

static void options_that_do_not_go_together_are_refused(void **state)
{
    (void)state;
    hb_profiler_options o = ring();
    o.ring_steps = 5;
    o.on_demand = true;
    assert_null(hb_profiler_create(&o));
    o = ring();
    o.ring_steps = -1;
    assert_null(hb_profiler_create(&o));
    o = ring();
    o.ring_ns = 1;
    o.schedule = hb_schedule_make(.active = 1);
    assert_null(hb_profiler_create(&o));
    o = (hb_profiler_options)HB_PROFILER_OPTIONS_INIT;
    o.ring_ns = 1;
    assert_null(hb_profiler_create(&o));
    assert_non_null(strstr(hb_last_error(), "tensorboard"));
}

/* ---- space that is used again ---- */

static void free_space_is_joined_and_taken(void **state)
{
    (void)state;
    uint64_t at;
    hb_buf space;
    hb_buf_init(&space, 1 << 20);
    hb_free_space_add(&space, (hb_extent){64, 16});
    hb_free_space_add(&space, (hb_extent){16, 16});
    assert_false(hb_free_space_take(&space, 24, &at));
    hb_free_space_add(&space, (hb_extent){32, 16});
    assert_true(hb_free_space_take(&space, 24, &at));
    assert_int_equal(at, 16);
    hb_free_space_add(&space, (hb_extent){48, 16}); /* between two */
    assert_true(hb_free_space_take(&space, 40, &at));
    assert_int_equal(at, 40);
    assert_false(hb_free_space_take(&space, 8, &at));
    hb_free_space_add(&space, (hb_extent){100, 40});
    hb_free_space_add(&space, (hb_extent){200, 40});
    hb_free_space_cut(&space, 120);
    assert_false(hb_free_space_take(&space, 24, &at));
    assert_true(hb_free_space_take(&space, 20, &at));
    assert_int_equal(at, 100);
    hb_buf_free(&space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(the_last_steps_are_written_and_recording_goes_on),
        IN_DIR(the_last_seconds_are_written_and_what_was_open_then),
        IN_DIR(steps_take_no_names),
        IN_DIR(only_losses_of_what_is_kept_are_told),
        IN_DIR(totals_are_those_since_the_beginning),
        IN_DIR(what_is_asked_for_at_the_end_is_written),
        IN_DIR(without_a_reason_nothing_is_written),
        IN_DIR(signals_numbers_and_requests_write_it),
        IN_DIR(a_slow_step_and_the_file_of_a_job_write_it),
        IN_DIR(a_ring_of_bytes_stays_small),
        IN_DIR(a_ring_of_hours_keeps_half_of_what_it_may),
        IN_DIR(a_ring_of_hours_loses_nothing_of_a_burst),
        IN_DIR(marks_of_a_long_ring_lie_ever_farther_apart),
        IN_DIR(threads_that_are_gone_are_forgotten),
        IN_DIR(nothing_is_lost_while_it_is_written),
        SLOWLY(a_dump_that_is_written_slowly_keeps_its_window),
        SLOWLY(a_dump_that_is_written_slowly_takes_no_more_than_there_is),
        IN_DIR(dumps_and_threads_do_not_disturb_each_other),
        IN_DIR(answers_that_come_together_are_all_given),
        IN_DIR(a_ring_that_cannot_be_is_refused),
        IN_DIR(a_killed_ring_is_recovered),
        IN_DIR(options_that_do_not_go_together_are_refused),
        cmocka_unit_test(free_space_is_joined_and_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
