/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "event_reader.h"
#include "forks_with_threads.h"
#include "said.h"
#include "tfevents/event_log_internal.h"

static bool no_threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*main)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*main)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*main)(void *),
                          void *arg)
{
    return no_threads ? EAGAIN : __real_pthread_create(thread, how, main, arg);
}

static hb_event_log *open_log(void)
{
    hb_event_log *log = hb_event_log_open(dir, NULL);
    assert_non_null(log);
    return log;
}

static hb_event_log_counts counts_of(hb_event_log *log)
{
    hb_event_log_counts counts = {.struct_size = sizeof counts};
    assert_int_equal(hb_event_log_count(log, &counts), HB_OK);
    return counts;
}

/* ---- what is logged ---- */

static void a_scalar_keeps_tag_step_value_and_time(void **state)
{
    (void)state;
    struct timespec now;
    hb_event_log *log = open_log();
    clock_gettime(CLOCK_REALTIME, &now);
    double before = (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
    assert_int_equal(hb_event_log_scalar(log, "train/loss", 42, 0.25), HB_OK);
    assert_int_equal(hb_event_log_scalar_at(log, "past", -3, -1e30, 1500000000250000000), HB_OK);
    event_list list = close_and_read(log);
    assert_int_equal(list.count, 3);
    assert_string_equal(value_of(&list, 1)->tag, "train/loss");
    assert_true(value_of(&list, 1)->simple_value == 0.25f);
    assert_int_equal(list.events[1]->step, 42);
    assert_true(list.events[1]->wall_time >= before - 1e-6);
    assert_true(list.events[1]->wall_time < before + 60);
    assert_true(list.events[2]->wall_time == 1500000000.25);
    assert_int_equal(list.events[2]->step, -3);
    free_events(&list);
}

static void the_current_step_is_the_one_last_set(void **state)
{
    (void)state;
    hb_event_log *log = open_log();
    hb_event_log_scalar(log, "x", HB_CURRENT_STEP, 1);
    hb_event_log_set_step(log, 5);
    hb_event_log_scalar(log, "x", HB_CURRENT_STEP, 1);
    hb_event_log_text(log, "t", HB_CURRENT_STEP, "text");
    hb_event_log_set_step(log, 6);
    hb_event_log_histogram(log, "h", HB_CURRENT_STEP, (double[]){1}, 1);
    event_list list = close_and_read(log);
    const int64_t steps[] = {0, 5, 5, 6};
    assert_int_equal(list.count, 5);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(list.events[i + 1]->step, steps[i]);
    free_events(&list);
}

static void tags_may_hold_any_byte(void **state)
{
    (void)state;
    hb_event_log *log = open_log();
    char tag[256];
    for (int i = 0; i < 255; i++)
        tag[i] = (char)(i + 1);
    tag[255] = '\0';
    char longest[HB_EVENT_TAG_MAX + 2];
    memset(longest, 'a', sizeof longest);
    longest[HB_EVENT_TAG_MAX] = '\0';
    assert_int_equal(hb_event_log_scalar(log, tag, 0, 1), HB_OK);
    assert_int_equal(hb_event_log_scalar(log, longest, 0, 2), HB_OK);
    event_list list = close_and_read(log);
    assert_int_equal(list.count, 3);
    assert_memory_equal(value_of(&list, 1)->tag, tag, 127);
    assert_int_equal(strlen(value_of(&list, 1)->tag), 127 + 128 * 3); /* U+FFFD each */
    assert_string_equal(value_of(&list, 2)->tag, longest);
    free_events(&list);
}

static void wrong_arguments_are_refused_and_log_nothing(void **state)
{
    (void)state;
    hb_event_log *log = open_log();
    char longer[HB_EVENT_TAG_MAX + 2];
    memset(longer, 'a', sizeof longer);
    longer[HB_EVENT_TAG_MAX + 1] = '\0';
    const double nothing[] = {NAN, INFINITY};
    const hb_hparam nameless = HB_HPARAM("", 1), textless = HB_HPARAM_TEXT("x", NULL);
    const hb_chart two = {
        .title = "t", .tags = (const char *[]){"a", "b"}, .num_tags = 2, .margin = true};
    const hb_chart_category category = {.title = "c", .charts = &two, .num_charts = 1};
    const hb_result results[] = {
        hb_event_log_scalar(log, NULL, 0, 1),
        hb_event_log_scalar(log, "", 0, 1),
        hb_event_log_scalar(log, longer, 0, 1),
        hb_event_log_text(log, "x", 0, NULL),
        hb_event_log_text(log, "", 0, "x"),
        hb_event_log_histogram(log, "x", 0, NULL, 3),
        hb_event_log_histogram(log, "x", 0, nothing, 0),
        hb_event_log_histogram(log, "x", 0, nothing, 2),
        hb_event_log_hparams(log, &nameless, 1, NULL, 0),
        hb_event_log_hparams(log, &textless, 1, NULL, 0),
        hb_event_log_hparams(log, NULL, 1, NULL, 0),
        hb_event_log_hparams(log, NULL, 0, (const char *[]){""}, 1),
        hb_event_log_layout(log, NULL, 0),
        hb_event_log_layout(log, &category, 1),
        hb_event_log_count(log, NULL),
    };
    for (size_t i = 0; i < sizeof results / sizeof results[0]; i++)
        assert_int_equal(results[i], HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_event_log_session_end(log, HB_SESSION_SUCCESS), HB_ERROR_STATE);
    event_list list = close_and_read(log);
    assert_int_equal(list.count, 1);
    free_events(&list);
}

static void close_ends_the_session_as_a_success(void **state)
{
    (void)state;
    hb_event_log *log = open_log();
    const hb_hparam hparams[] = {HB_HPARAM("batch", 64), HB_HPARAM_TEXT("opt", "adam"),
                                 HB_HPARAM_BOOL("amp", true)};
    assert_int_equal(hb_event_log_hparams(log, hparams, 3, (const char *[]){"loss"}, 1), HB_OK);
    assert_int_equal(hb_event_log_hparams(log, hparams, 3, NULL, 0), HB_ERROR_STATE);
    event_list list = close_and_read(log);
    assert_int_equal(list.count, 4);

    Hb__HParamsPluginData *start = hparams_of(&list, 2, "_hparams_/session_start_info");
    const Hb__SessionStartInfo *info = start->session_start_info;
    assert_int_equal(info->n_hparams, 3);
    assert_true(info->start_time_secs == list.events[2]->wall_time);
    assert_string_equal(info->hparams[0]->key, "batch");
    assert_true(info->hparams[0]->value->number_value == 64);
    assert_string_equal(info->hparams[1]->value->string_value, "adam");
    assert_true(info->hparams[2]->value->bool_value);
    hb__hparams_plugin_data__free_unpacked(start, NULL);

    Hb__HParamsPluginData *end = hparams_of(&list, 3, "_hparams_/session_end_info");
    assert_int_equal(end->session_end_info->status, HB__SESSION_STATUS__STATUS_SUCCESS);
    assert_true(end->session_end_info->end_time_secs >= list.events[2]->wall_time);
    hb__hparams_plugin_data__free_unpacked(end, NULL);
    free_events(&list);
}

static void a_failed_session_stays_failed(void **state)
{
    (void)state;
    hb_event_log *log = open_log();
    const hb_hparam hparam = HB_HPARAM("lr", 1);
    assert_int_equal(hb_event_log_hparams(log, &hparam, 1, NULL, 0), HB_OK);
    assert_int_equal(hb_event_log_session_end(log, HB_SESSION_FAILURE), HB_OK);
    assert_int_equal(hb_event_log_session_end(log, HB_SESSION_SUCCESS), HB_ERROR_STATE);
    event_list list = close_and_read(log);
    assert_int_equal(list.count, 4);
    Hb__HParamsPluginData *end = hparams_of(&list, 3, "_hparams_/session_end_info");
    assert_int_equal(end->session_end_info->status, HB__SESSION_STATUS__STATUS_FAILURE);
    hb__hparams_plugin_data__free_unpacked(end, NULL);
    free_events(&list);
}

/* ---- the file while the program runs ---- */

static void flush_makes_it_visible(void **state)
{
    (void)state;
    hb_event_log_options options = HB_EVENT_LOG_OPTIONS_INIT;
    options.flush_interval_ms = 3600000;
    options.file_suffix = ".profile";
    hb_event_log *log = hb_event_log_open(dir, &options);
    assert_non_null(strstr(hb_event_log_path(log), ".profile"));
    for (size_t n = 1; n <= 5; n++) {
        hb_event_log_scalar(log, "x", (int64_t)n, 1);
        assert_int_equal(hb_event_log_flush(log), HB_OK);
        event_list list = read_events(hb_event_log_path(log));
        assert_int_equal(list.count, n + 1);
        assert_int_equal(list.torn, 0);
        free_events(&list);
    }
    assert_int_equal(counts_of(log).written, 5);
    assert_int_equal(hb_event_log_close(log), HB_OK);
}

static void the_interval_makes_it_visible(void **state)
{
    (void)state;
    hb_event_log_options options = HB_EVENT_LOG_OPTIONS_INIT;
    options.flush_interval_ms = 20;
    hb_event_log *log = hb_event_log_open(dir, &options);
    hb_event_log_scalar(log, "x", 1, 1);
    size_t count = 0;
    for (int tries = 0; tries < 12000 && count < 2; tries++) {
        usleep(10000);
        event_list list = read_events(hb_event_log_path(log));
        count = list.count;
        free_events(&list);
    }
    assert_int_equal(count, 2);
    assert_int_equal(hb_event_log_close(log), HB_OK);
}

static void a_long_queue_does_not_wait_for_the_interval(void **state)
{
    (void)state;
    hb_event_log_options options = HB_EVENT_LOG_OPTIONS_INIT;
    options.flush_interval_ms = 3600000;
    hb_event_log *log = hb_event_log_open(dir, &options);
    for (int i = 0; i < 100000; i++)
        hb_event_log_scalar(log, "train/loss", i, i);
    for (int tries = 0; tries < 12000 && counts_of(log).written == 0; tries++)
        usleep(10000);
    assert_true(counts_of(log).written > 0);
    assert_int_equal(hb_event_log_close(log), HB_OK);
}

static void a_removed_directory_is_made_again(void **state)
{
    (void)state;
    char run[300];
    snprintf(run, sizeof run, "%s/run", dir);
    hb_event_log *log = hb_event_log_open(run, NULL);
    hb_event_log_scalar(log, "x", 1, 1);
    assert_int_equal(hb_event_log_flush(log), HB_OK);
    remove_tree(run);
    hb_event_log_scalar(log, "x", 2, 1);
    assert_int_equal(hb_event_log_flush(log), HB_OK);
    event_list list = close_and_read(log);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.events[0]->what_case, HB__EVENT__WHAT_FILE_VERSION);
    assert_int_equal(list.events[1]->step, 2);
    free_events(&list);
    remove_tree(run);
}

/* As daemons do: what they open then must not get what the log writes. */
static void a_program_may_close_all_its_files(void **state)
{
    (void)state;
    char mine[300];
    snprintf(mine, sizeof mine, "%s/mine", dir);
    hb_event_log *log = hb_event_log_open(dir, NULL);
    hb_event_log_scalar(log, "x", 1, 1);
    assert_int_equal(hb_event_log_flush(log), HB_OK);
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    for (int i = 0; i < 1000; i++) /* one has the number that the log's file had */
        if (open(mine, O_WRONLY | O_CREAT | O_APPEND, 0600) < 0) break;
    close(3);
    hb_event_log_scalar(log, "x", 2, 2);
    assert_int_equal(hb_event_log_flush(log), HB_OK);
    for (int fd = 4; fd < 1024; fd++)
        close(fd);
    struct stat status;
    assert_int_equal(stat(mine, &status), 0);
    assert_int_equal(status.st_size, 0);
    unlink(mine);
    event_list list = close_and_read(log);
    assert_int_equal(list.count, 3);
    assert_int_equal(list.events[2]->step, 2);
    free_events(&list);
}

#define THREADS    4
#define PER_THREAD 20000

static void *log_many(void *arg)
{
    hb_event_log *log = arg;
    char tag[32];
    snprintf(tag, sizeof tag, "thread/%lx", (unsigned long)pthread_self());
    for (int i = 0; i < PER_THREAD; i++) {
        hb_event_log_scalar(log, tag, i, i);
        if (i % 1000 == 0) hb_event_log_text(log, "t", i, "text");
        if (i % 5000 == 0) hb_event_log_flush(log);
    }
    return NULL;
}

static void threads_log_at_once(void **state)
{
    (void)state;
    hb_event_log *log = open_log();
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, log_many, log), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    event_list list = close_and_read(log);
    assert_int_equal(list.count, 1 + THREADS * (PER_THREAD + PER_THREAD / 1000));
    free_events(&list);
}

static void a_million_scalars_are_all_kept(void **state)
{
    (void)state;
    enum { SCALARS = 1000000 / FEWER };
    hb_event_log *log = open_log();
    for (int i = 0; i < SCALARS; i++)
        assert_int_equal(hb_event_log_scalar(log, "train/some_loss", i, i), HB_OK);
    char path[600];
    snprintf(path, sizeof path, "%s", hb_event_log_path(log));
    assert_int_equal(hb_event_log_flush(log), HB_OK);
    assert_int_equal(counts_of(log).written, SCALARS);
    event_list list = close_and_read(log);
    assert_int_equal(list.count, SCALARS + 1);
    for (size_t i = 1; i < list.count; i += 997) {
        assert_int_equal(list.events[i]->step, i - 1);
        assert_true(value_of(&list, i)->simple_value == (float)(i - 1));
    }
    free_events(&list);
}

/* ---- limits and failures ---- */

static void what_does_not_fit_is_counted_and_said(void **state)
{
    (void)state;
    hb_event_log_options options = HB_EVENT_LOG_OPTIONS_INIT;
    options.max_queue_bytes = 1;
    hb_event_log *log = hb_event_log_open(dir, &options);
    char path[600];
    snprintf(path, sizeof path, "%s", hb_event_log_path(log));
    uint64_t refused = 0;
    for (int i = 0; i < 300000; i++)
        refused += hb_event_log_scalar(log, "x", i, i) == HB_ERROR_LIMIT;
    assert_true(refused > 0);
    assert_non_null(strstr(hb_last_error(), "full"));
    assert_int_equal(hb_event_log_flush(log), HB_OK);
    assert_int_equal(counts_of(log).dropped_queue, refused);
    assert_int_equal(counts_of(log).written, 300000 - refused);
    const uint64_t after = 100; /* the note is written; what follows it is as any other */
    for (uint64_t i = 0; i < after; i++)
        assert_int_equal(hb_event_log_scalar(log, "after", (int64_t)i, 1), HB_OK);
    assert_int_equal(hb_event_log_flush(log), HB_OK);
    assert_int_equal(counts_of(log).written, 300000 - refused + after);
    assert_int_equal(hb_event_log_close(log), HB_ERROR_LIMIT);

    event_list list = read_events(path);
    uint64_t scalars = 0;
    const Hb__Summary__Value *note = NULL;
    for (size_t i = 1; i < list.count; i++) {
        const Hb__Summary__Value *value = value_of(&list, i);
        if (value->value_case == HB__SUMMARY__VALUE__VALUE_SIMPLE_VALUE)
            scalars++;
        else
            note = value;
    }
    assert_int_equal(scalars, 300000 - refused + after);
    assert_non_null(note);
    for (size_t i = list.count - after; i < list.count; i++)
        assert_string_equal(value_of(&list, i)->tag, "after");
    assert_string_equal(note->tag, "hipboard/dropped_records/text_summary");
    char expected[64];
    snprintf(expected, sizeof expected, "**%llu records are missing**",
             (unsigned long long)refused);
    assert_memory_equal(note->tensor->string_val[0].data, expected, strlen(expected));
    free_events(&list);
}

static void great_texts_count_against_the_limit(void **state)
{
    (void)state;
    hb_event_log_options options = HB_EVENT_LOG_OPTIONS_INIT;
    options.max_queue_bytes = 100000;
    hb_event_log *log = hb_event_log_open(dir, &options);
    char *text = malloc(200001);
    memset(text, 'a', 200000);
    text[200000] = '\0';
    assert_int_equal(hb_event_log_text(log, "great", 0, text), HB_ERROR_LIMIT);
    text[50000] = '\0';
    assert_int_equal(hb_event_log_text(log, "smaller", 0, text), HB_OK);
    free(text);
    assert_int_equal(hb_event_log_flush(log), HB_OK);
    assert_int_equal(counts_of(log).dropped_queue, 1);
    assert_int_equal(counts_of(log).written, 1);
    assert_int_equal(hb_event_log_close(log), HB_ERROR_LIMIT);
}

static void no_directory_no_log(void **state)
{
    (void)state;
    assert_null(hb_event_log_open(NULL, NULL));
    assert_null(hb_event_log_open("/dev/null/run", NULL));
    assert_non_null(strstr(hb_last_error(), "'/dev/null'"));
    hb_event_log_options options = HB_EVENT_LOG_OPTIONS_INIT;
    options.file_suffix = "/../x";
    assert_null(hb_event_log_open(dir, &options));
    options = (hb_event_log_options){0};
    assert_null(hb_event_log_open(dir, &options));
    assert_non_null(strstr(hb_last_error(), "HB_EVENT_LOG_OPTIONS_INIT"));
}

static void without_a_log_every_call_does_nothing(void **state)
{
    (void)state;
    hb_event_log_set_step(NULL, 1);
    assert_int_equal(hb_event_log_scalar(NULL, "x", 0, 1), HB_OK);
    assert_int_equal(hb_event_log_scalar_at(NULL, "x", 0, 1, 0), HB_OK);
    assert_int_equal(hb_event_log_text(NULL, "x", 0, "x"), HB_OK);
    assert_int_equal(hb_event_log_histogram(NULL, "x", 0, NULL, 0), HB_OK);
    assert_int_equal(hb_event_log_hparams(NULL, NULL, 0, NULL, 0), HB_OK);
    assert_int_equal(hb_event_log_session_end(NULL, HB_SESSION_SUCCESS), HB_OK);
    assert_int_equal(hb_event_log_layout(NULL, NULL, 0), HB_OK);
    assert_int_equal(hb_event_log_flush(NULL), HB_OK);
    assert_int_equal(hb_event_log_close(NULL), HB_OK);
    assert_string_equal(hb_event_log_path(NULL), "");
    assert_int_equal(counts_of(NULL).written, 0);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* SIGXFSZ keeps its deadly default: only the background thread writes, and it takes no signals. */
static void a_full_disk_is_reported_and_nothing_is_lost_when_it_has_room_again(void **state)
{
    (void)state;
    hb_event_log *log = open_log();
    limit_files(2000);
    for (int i = 1; i <= 1000; i++)
        assert_int_equal(hb_event_log_scalar(log, "x", i, i), HB_OK);
    assert_int_equal(hb_event_log_flush(log), HB_ERROR_IO);
    assert_non_null(strstr(hb_last_error(), hb_event_log_path(log)));
    assert_int_equal(hb_event_log_scalar(log, "x", 1001, 1), HB_OK); /* the program goes on */
    assert_int_equal(hb_event_log_flush(log), HB_ERROR_IO);
    limit_files(RLIM_INFINITY);
    assert_int_equal(hb_event_log_flush(log), HB_OK);
    event_list list = close_and_read(log);
    assert_int_equal(list.count, 1002);
    free_events(&list);
}

static void what_a_full_disk_cost_is_counted_and_said(void **state)
{
    (void)state;
    hb_event_log *log = open_log();
    char path[600];
    snprintf(path, sizeof path, "%s", hb_event_log_path(log));
    limit_files(2000);
    for (int i = 0; i < 500000; i++)
        assert_int_equal(hb_event_log_scalar(log, "x", i, i), HB_OK);
    assert_int_equal(hb_event_log_flush(log), HB_ERROR_IO);
    limit_files(RLIM_INFINITY);
    assert_int_equal(hb_event_log_flush(log), HB_OK);
    hb_event_log_counts counts = counts_of(log);
    assert_true(counts.dropped_file > 100000 && counts.written > 100000);
    assert_int_equal(counts.dropped_file + counts.written, 500000);
    assert_int_equal(hb_event_log_scalar(log, "x", 500000, 1), HB_OK);
    assert_int_equal(hb_event_log_close(log), HB_ERROR_LIMIT);

    event_list list = read_events(path);
    assert_int_equal(list.torn, 0);
    assert_int_equal(list.count, 1 + counts.written + 1 + 1);
    assert_int_equal(list.events[list.count - 2]->step, 500000);
    assert_string_equal(value_of(&list, list.count - 1)->tag,
                        "hipboard/dropped_records/text_summary");
    free_events(&list);
}

/* What a limit on a user's processes does. */
static void without_a_thread_it_is_tried_again_after_a_second(void **state)
{
    (void)state;
    said_text s;
    uint64_t failed = 1;
    hb_event_log *log = hb_event_log_new(dir, NULL);
    int64_t begin = hb_clock_ns(CLOCK_MONOTONIC);
    said_begin(&s);
    no_threads = true;
    hb_result first = hb_event_log_scalar(log, "x", 0, 1);
    no_threads = false;
    for (; hb_event_log_scalar(log, "x", 0, 1) != HB_OK; failed++)
        usleep(10000);
    int64_t took = hb_clock_ns(CLOCK_MONOTONIC) - begin;
    hb_result flushed = hb_event_log_flush(log);
    hb_event_log_counts counts = counts_of(log);
    hb_result closed = hb_event_log_close(log);
    const char *text = said_end(&s);
    assert_int_equal(first, HB_ERROR_NO_MEMORY);
    assert_true(took >= 1000000000);
    assert_int_equal(flushed, HB_OK);
    assert_int_equal(counts.written, 1);
    assert_int_equal(counts.dropped_file, failed);
    assert_int_equal(closed, HB_ERROR_LIMIT);
    assert_non_null(strstr(text, "hipboard: starting the thread of the event log in '"));
    assert_non_null(strstr(text, "': records are dropped, "));
    assert_null(strstr(text, "are lost\n")); /* the file itself tells of them */
    assert_int_equal(list_dir(dir, NULL, NULL, 0), 1);
}

static void without_a_thread_until_the_end_the_loss_is_said(void **state)
{
    (void)state;
    said_text s;
    said_begin(&s);
    no_threads = true;
    hb_event_log *none = hb_event_log_open(dir, NULL); /* its caller knows */
    const char *text = said_end(&s);
    assert_null(none);
    assert_non_null(strstr(hb_last_error(), "starting the thread of the event log in '"));
    assert_string_equal(text, "");
    hb_event_log *log = hb_event_log_new(dir, NULL);
    said_begin(&s);
    for (int i = 0; i < 3; i++)
        (void)hb_event_log_scalar(log, "x", i, 1);
    no_threads = false;
    hb_result closed = hb_event_log_close(log);
    text = said_end(&s);
    assert_int_equal(closed, HB_ERROR_LIMIT);
    assert_non_null(strstr(text, "': 3 records are lost\n"));
}

static void another_working_directory_changes_nothing(void **state)
{
    (void)state;
    char *before = getcwd(NULL, 0);
    assert_int_equal(chdir(dir), 0);
    hb_event_log *log = hb_event_log_open("run", NULL);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(strncmp(hb_event_log_path(log), dir, strlen(dir)), 0);
    char run[300];
    snprintf(run, sizeof run, "%s/run", dir);
    remove_tree(run);
    hb_event_log_scalar(log, "x", 1, 1);
    assert_int_equal(hb_event_log_close(log), HB_OK); /* made again, and there */
    assert_int_equal(list_dir(run, NULL, NULL, 0), 1);
    remove_tree(run);
    assert_int_equal(chdir(before), 0);
    free(before);
}

/* ---- processes ---- */

/* 0: the child's file is its own and whole. */
static int log_in_child(hb_event_log *log, const char *parents)
{
    if (strcmp(hb_event_log_path(log), "") != 0) return 1;
    if (hb_event_log_scalar(log, "child", 1, 1) != HB_OK) return 2;
    if (hb_event_log_flush(log) != HB_OK) return 3;
    if (strcmp(hb_event_log_path(log), parents) == 0) return 4;
    if (counts_of(log).written != 1) return 5;
    event_list list = read_events(hb_event_log_path(log));
    if (list.count != 2 || strcmp(value_of(&list, 1)->tag, "child") != 0) return 6;
    free_events(&list);
    return hb_event_log_close(log) == HB_OK ? 0 : 7;
}

static void a_forked_child_has_its_own_file(void **state)
{
    (void)state;
    skip_under_thread_checks();
    hb_event_log *log = open_log();
    char path[600];
    snprintf(path, sizeof path, "%s", hb_event_log_path(log));
    hb_event_log_hparams(log, NULL, 0, NULL, 0);
    for (int i = 0; i < 1000; i++)
        hb_event_log_scalar(log, "parent", i, 1); /* some are in the queue when it forks */
    pid_t child = fork();
    if (child == 0) _exit(log_in_child(log, path));
    hb_event_log_scalar(log, "parent", 1000, 1);
    wait_for_success(child);

    event_list list = close_and_read(log);
    assert_int_equal(list.count, 1 + 2 + 1001 + 1); /* the session ends once, the parent's */
    for (size_t i = 3; i < list.count - 1; i++)
        assert_string_equal(value_of(&list, i)->tag, "parent");
    free_events(&list);
    char childs[1024] = "";
    assert_int_equal(list_dir(dir, path, childs, sizeof childs), 2);
    list = read_events(childs);
    assert_int_equal(list.count, 2);
    free_events(&list);
}

static void a_child_that_logs_nothing_has_no_file(void **state)
{
    (void)state;
    hb_event_log *log = open_log();
    pid_t child = fork();
    if (child == 0) {
        bool good = hb_event_log_flush(log) == HB_OK && hb_event_log_close(log) == HB_OK;
        _exit(good ? 0 : 1);
    }
    wait_for_success(child);
    assert_int_equal(hb_event_log_close(log), HB_OK);
    assert_int_equal(list_dir(dir, NULL, NULL, 0), 1);
}

/* 0: told by flush, as of a full disk, and all is there as soon as the file can be made. */
static int log_without_directory(hb_event_log *log, const char *in_the_way)
{
    if (hb_event_log_scalar(log, "x", 1, 1) != HB_OK) return 1;
    if (hb_event_log_text(log, "y", 1, "y") != HB_OK) return 2;
    if (hb_event_log_flush(log) != HB_ERROR_IO || !strstr(hb_last_error(), dir)) return 3;
    if (strcmp(hb_event_log_path(log), "") != 0) return 4;
    if (unlink(in_the_way) != 0 || hb_event_log_flush(log) != HB_OK) return 5;
    event_list list = read_events(hb_event_log_path(log));
    if (list.count != 3 || strcmp(value_of(&list, 1)->tag, "x") != 0) return 6;
    free_events(&list);
    return hb_event_log_close(log) == HB_OK ? 0 : 7;
}

static void a_child_that_cannot_have_a_file_is_told_so(void **state)
{
    (void)state;
    skip_under_thread_checks();
    char run[300];
    snprintf(run, sizeof run, "%s/run", dir);
    hb_event_log *log = hb_event_log_open(run, NULL);
    pid_t child = fork();
    if (child == 0) {
        remove_tree(run);
        FILE *in_the_way = fopen(run, "w");
        _exit(in_the_way && fclose(in_the_way) == 0 ? log_without_directory(log, run) : 9);
    }
    wait_for_success(child);
    assert_int_equal(hb_event_log_close(log), HB_OK);
}

static void exit_writes_what_is_queued(void **state)
{
    (void)state;
    skip_under_thread_checks();
    hb_event_log *log = open_log();
    char path[600], childs[1024] = "";
    snprintf(path, sizeof path, "%s", hb_event_log_path(log));
    pid_t child = fork();
    if (child == 0) {
        hb_event_log_scalar(log, "x", 1, 1);
        exit(0);
    }
    wait_for_success(child);
    assert_int_equal(hb_event_log_close(log), HB_OK);
    assert_int_equal(list_dir(dir, path, childs, sizeof childs), 2);
    event_list list = read_events(childs);
    assert_int_equal(list.count, 2);
    free_events(&list);
}

static void a_killed_process_leaves_what_was_flushed(void **state)
{
    (void)state;
    skip_under_thread_checks();
    pid_t child = fork();
    if (child == 0) {
        hb_event_log *log = hb_event_log_open(dir, NULL);
        for (int i = 0; i < 5000; i++)
            hb_event_log_scalar(log, "x", i, 1);
        hb_event_log_flush(log);
        hb_event_log_scalar(log, "x", 5000, 1);
        raise(SIGKILL);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status));
    char path[1024];
    assert_int_equal(list_dir(dir, NULL, path, sizeof path), 1);
    event_list list = read_events(path);
    assert_int_equal(list.count, 5001);
    free_events(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(a_scalar_keeps_tag_step_value_and_time),
        IN_DIR(the_current_step_is_the_one_last_set),
        IN_DIR(tags_may_hold_any_byte),
        IN_DIR(wrong_arguments_are_refused_and_log_nothing),
        IN_DIR(close_ends_the_session_as_a_success),
        IN_DIR(a_failed_session_stays_failed),
        IN_DIR(flush_makes_it_visible),
        IN_DIR(the_interval_makes_it_visible),
        IN_DIR(a_long_queue_does_not_wait_for_the_interval),
        IN_DIR(a_removed_directory_is_made_again),
        IN_DIR(a_program_may_close_all_its_files),
        IN_DIR(threads_log_at_once),
        IN_DIR(a_million_scalars_are_all_kept),
        IN_DIR(what_does_not_fit_is_counted_and_said),
        IN_DIR(great_texts_count_against_the_limit),
        IN_DIR(no_directory_no_log),
        cmocka_unit_test(without_a_log_every_call_does_nothing),
        IN_DIR(a_full_disk_is_reported_and_nothing_is_lost_when_it_has_room_again),
        IN_DIR(what_a_full_disk_cost_is_counted_and_said),
        IN_DIR(without_a_thread_it_is_tried_again_after_a_second),
        IN_DIR(without_a_thread_until_the_end_the_loss_is_said),
        IN_DIR(another_working_directory_changes_nothing),
        IN_DIR(a_forked_child_has_its_own_file),
        IN_DIR(a_child_that_logs_nothing_has_no_file),
        IN_DIR(a_child_that_cannot_have_a_file_is_told_so),
        IN_DIR(exit_writes_what_is_queued),
        IN_DIR(a_killed_process_leaves_what_was_flushed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
