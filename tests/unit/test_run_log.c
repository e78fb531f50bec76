/* SPDX-License-Identifier: MIT
 *
 * What a program logs through its profiler, from the file that it comes to stand in.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

#include "event_reader.h"
#include "forks_with_threads.h"
#include "said.h"
#include <hipboard/analysis.h>

static hb_profiler *create_with(unsigned flags, int64_t rank)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.schedule = hb_schedule_make(.wait = 1, .active = 1, .repeat = 1);
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", flags);
    if (rank >= 0)
        o.distributed = (hb_distributed_info){.backend = "gloo", .rank = rank, .world_size = 4};
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    return prof;
}

static hb_profiler *start_with(unsigned flags, int64_t rank)
{
    hb_profiler *prof = create_with(flags, rank);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    return prof;
}

static void end(hb_profiler *prof)
{
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_profiler_destroy(prof);
}

/* Event files of the directory; the path of one of them. */
static int count_logs(char path[1024])
{
    int count = 0;
    DIR *open_dir = opendir(dir);
    for (struct dirent *entry; (entry = readdir(open_dir));) {
        if (!strstr(entry->d_name, "tfevents")) continue;
        if (path) snprintf(path, 1024, "%s/%s", dir, entry->d_name);
        count++;
    }
    closedir(open_dir);
    return count;
}

static event_list only_log(void)
{
    char path[1024];
    assert_int_equal(count_logs(path), 1);
    event_list list = read_events(path);
    assert_int_equal(list.torn, 0);
    return list;
}

/* The first event of a tag from `from` on; 0: none. */
static size_t find(const event_list *list, const char *tag, size_t from)
{
    for (size_t i = from; i < list->count; i++)
        if (list->events[i]->what_case == HB__EVENT__WHAT_SUMMARY &&
            strcmp(value_of(list, i)->tag, tag) == 0)
            return i;
    return 0;
}

static size_t count_tag(const event_list *list, const char *tag)
{
    size_t count = 0;
    for (size_t i = find(list, tag, 1); i; i = find(list, tag, i + 1))
        count++;
    return count;
}

static Hb__HParamsPluginData *first_hparams(const event_list *list, const char *tag)
{
    return hparams_of(list, find(list, tag, 1), tag);
}

static const Hb__HParamValue *setting(const Hb__HParamsPluginData *data, const char *name)
{
    const Hb__SessionStartInfo *info = data->session_start_info;
    for (size_t i = 0; i < info->n_hparams; i++)
        if (strcmp(info->hparams[i]->key, name) == 0) return info->hparams[i]->value;
    return NULL;
}

/* ---- tests ---- */

static hb_result count_scopes(hb_profiler *prof, void *context)
{
    hb_key_averages *averages = NULL;
    hb_result result = hb_profiler_key_averages(prof, NULL, &averages);
    *(size_t *)context += hb_key_averages_count(averages);
    hb_key_averages_destroy(averages);
    return result;
}

/* Each of them, whatever stands between; text that means something in Markdown as it is. */
static void notes_of_hip_stand_in_the_log(void **state)
{
    (void)state;
    hb_profiler *prof = start_with(0, -1);
    assert_int_equal(hb_profiler_preset_metadata_json(prof, "hipboard_hip_notes",
                                                      "[\"the first\", 7, \"a second\"]"),
                     HB_OK);
    assert_int_equal(hb_profiler_step(prof), HB_OK);
    HB_RECORD_FUNCTION("work") {
    }
    assert_int_equal(hb_profiler_step(prof), HB_OK);
    end(prof);
    event_list list = only_log();
    size_t at = find(&list, "hipboard/hip_notes/text_summary", 1);
    assert_true(at > 0);
    assert_int_equal(count_tag(&list, "hipboard/hip_notes/text_summary"), 1);
    const ProtobufCBinaryData text = value_of(&list, at)->tensor->string_val[0];
    const char *expected = "- the first\n- a second\n";
    assert_int_equal(text.len, strlen(expected));
    assert_memory_equal(text.data, expected, text.len);
    free_events(&list);
}

/* Before or after the tensorboard handler. */
static void check_beside(bool before)
{
    size_t seen = 0;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    hb_trace_handler board = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_trace_handler own = {count_scopes, &seen, NULL};
    o.schedule = hb_schedule_make(.active = 1, .repeat = 2);
    o.on_trace_ready =
        before ? hb_trace_handler_chain(own, board) : hb_trace_handler_chain(board, own);
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    for (int step = 0; step < 3; step++) {
        hb_scalar("loss", step);
        assert_int_equal(hb_profiler_step(prof), HB_OK);
    }
    end(prof);
    assert_true(seen >= 2);
    event_list list = only_log();
    assert_int_equal(count_tag(&list, "loss"), 3);
    free_events(&list);
}

static void a_handler_of_ones_own_beside_it_leaves_the_event_file(void **state)
{
    (void)state;
    check_beside(true);
}

static void also_when_it_comes_after(void **state)
{
    (void)state;
    check_beside(false);
}

static void every_step_logs_under_its_number(void **state)
{
    (void)state;
    hb_scalar("early", 1); /* no profiler: nothing to log into */
    hb_profiler *prof = start_with(0, -1);
    for (int step = 0; step < 4; step++) {
        hb_scalar("loss", step + 0.5);
        if (step == 2) {
            assert_int_equal(hb_text("note", "*here*"), HB_OK);
            assert_int_equal(hb_histogram("weights", (double[]){1, 2, 3}, 3), HB_OK);
        }
        assert_int_equal(hb_profiler_step(prof), HB_OK);
    }
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    hb_scalar("accuracy", 0.75); /* a result that is known only now */
    hb_profiler_destroy(prof);
    hb_scalar("late", 1);

    event_list list = only_log();
    size_t at = 0;
    for (int step = 0; step < 4; step++) {
        at = find(&list, "loss", at + 1);
        assert_true(at);
        assert_int_equal(list.events[at]->step, step);
        assert_true(value_of(&list, at)->simple_value == (float)step + 0.5f);
    }
    assert_int_equal(count_tag(&list, "loss"), 4);
    assert_int_equal(list.events[find(&list, "note/text_summary", 1)]->step, 2);
    size_t weights = find(&list, "weights", 1);
    assert_int_equal(list.events[weights]->step, 2);
    assert_true(value_of(&list, weights)->histo->num == 3);
    assert_int_equal(list.events[find(&list, "accuracy", 1)]->step, 4);
    assert_int_equal(count_tag(&list, "early") + count_tag(&list, "late"), 0);
    free_events(&list);
}

/* What is told of a rate, times what is told of the time. */
static void assert_flops(const event_list *list, const char *group, size_t n, double expected)
{
    char rate[64], time[64];
    snprintf(rate, sizeof rate, "%s/gflop_per_s", group);
    snprintf(time, sizeof time, "%s/step_ms", group);
    size_t at = find(list, rate, 1), of = find(list, time, 1);
    for (size_t i = 0; i < n && at && of; i++) {
        at = find(list, rate, at + 1);
        of = find(list, time, of + 1);
    }
    if (!at || !of)
        fail_msg("%s: %zu rates, %zu times", group, count_tag(list, rate), count_tag(list, time));
    double flops =
        (double)value_of(list, at)->simple_value * value_of(list, of)->simple_value * 1e6;
    assert_float_equal(flops / expected, 1, 1e-5);
}

/* A cycle's are the mean of its steps'. */
static void rates_are_of_the_operations_that_were_counted(void **state)
{
    enum { STEPS = 3 };
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.schedule = hb_schedule_make(.active = STEPS, .repeat = 1);
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    o.with_flops = true;
    o.spool_dir = "";
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    for (int step = 0; step < STEPS; step++) {
        HB_OP("mm", .flops = 1e6 * (step + 1))
            usleep(1000);
        assert_int_equal(hb_profiler_step(prof), HB_OK);
    }
    end(prof);
    event_list list = only_log();
    assert_int_equal(count_tag(&list, "hipboard_time/gflop_per_s"), STEPS);
    for (size_t step = 0; step < STEPS; step++)
        assert_flops(&list, "hipboard_time", step, 1e6 * (double)(step + 1));
    assert_flops(&list, "hipboard_cycle", 0, 2e6);
    free_events(&list);
}

static void odd_names_and_numbers_are_logged_somehow(void **state)
{
    (void)state;
    char longest[HB_EVENT_TAG_MAX + 2];
    memset(longest, 'a', sizeof longest);
    longest[HB_EVENT_TAG_MAX + 1] = '\0';
    hb_profiler *prof = start_with(0, -1);
    hb_scalar(NULL, 1);
    hb_scalar("", 2);
    hb_scalar(longest, 3);
    hb_scalar("nan", 0.0 / 0.0);
    assert_int_equal(hb_text("note", NULL), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_histogram("none", NULL, 0), HB_ERROR_INVALID_ARGUMENT);
    end(prof);
    event_list list = only_log();
    longest[HB_EVENT_TAG_MAX] = '\0';
    assert_int_equal(count_tag(&list, "(unnamed)"), 2);
    assert_int_equal(count_tag(&list, longest), 1);
    assert_true(value_of(&list, find(&list, "nan", 1))->simple_value !=
                value_of(&list, find(&list, "nan", 1))->simple_value);
    free_events(&list);
}

static void settings_are_the_programs_and_what_is_known(void **state)
{
    (void)state;
    setenv("GIT_COMMIT", "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd", 1);
    assert_int_equal(hb_hparams((hb_hparam[]){HB_HPARAM("lr", 0.5), HB_HPARAM("kernel", 7)}, 2,
                                (const char *[]){"accuracy"}, 1),
                     HB_OK);
    hb_profiler *prof = start_with(0, 0);
    const hb_hparam more[] = {HB_HPARAM("lr", 0.25), HB_HPARAM_TEXT("kernel", "tiled"),
                              HB_HPARAM_BOOL("amp", true)};
    assert_int_equal(hb_hparams(more, 3, (const char *[]){"loss", "accuracy"}, 2), HB_OK);
    for (int step = 0; step < 4; step++)
        assert_int_equal(hb_profiler_step(prof), HB_OK);
    assert_int_equal(hb_profiler_flush(prof), HB_OK);
    assert_int_equal(hb_hparams((hb_hparam[]){HB_HPARAM("late", 1)}, 1, NULL, 0), HB_ERROR_STATE);
    end(prof);

    event_list list = only_log();
    Hb__HParamsPluginData *start = first_hparams(&list, "_hparams_/session_start_info");
    assert_true(setting(start, "lr")->number_value == 0.25);
    assert_string_equal(setting(start, "kernel")->string_value, "tiled");
    assert_true(setting(start, "amp")->bool_value);
    assert_true(setting(start, "ranks")->number_value == 4);
    assert_string_equal(setting(start, "git")->string_value, "aaaaaaaaaabb");
    assert_null(setting(start, "late"));
    Hb__HParamsPluginData *experiment = first_hparams(&list, "_hparams_/experiment");
    size_t n = experiment->experiment->n_metric_infos;
    assert_string_equal(experiment->experiment->metric_infos[n - 2]->name->tag, "accuracy");
    assert_string_equal(experiment->experiment->metric_infos[n - 1]->name->tag, "loss");
    Hb__HParamsPluginData *ended = first_hparams(&list, "_hparams_/session_end_info");
    assert_int_equal(ended->session_end_info->status, HB__SESSION_STATUS__STATUS_SUCCESS);
    hb__hparams_plugin_data__free_unpacked(start, NULL);
    hb__hparams_plugin_data__free_unpacked(experiment, NULL);
    hb__hparams_plugin_data__free_unpacked(ended, NULL);
    free_events(&list);
}

static void what_was_given_too_late_is_the_next_runs(void **state)
{
    (void)state;
    hb_profiler *prof = start_with(0, -1);
    hb_scalar("x", 1);
    end(prof); /* no cycle: the table is written all the same */
    event_list list = only_log();
    Hb__HParamsPluginData *start = first_hparams(&list, "_hparams_/session_start_info");
    assert_true(setting(start, "late")->number_value == 1);
    hb__hparams_plugin_data__free_unpacked(start, NULL);
    free_events(&list);
}

static void wrong_settings_are_refused(void **state)
{
    (void)state;
    assert_int_equal(hb_hparams((hb_hparam[]){HB_HPARAM("", 1)}, 1, NULL, 0),
                     HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_hparams((hb_hparam[]){HB_HPARAM_TEXT("x", NULL)}, 1, NULL, 0),
                     HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_hparams(NULL, 0, (const char *[]){""}, 1), HB_ERROR_INVALID_ARGUMENT);
}

static void without_an_event_file_nothing_is_logged(void **state)
{
    (void)state;
    hb_profiler *prof = start_with(HB_NO_EVENT_FILE, -1);
    hb_scalar("x", 1);
    assert_int_equal(hb_text("note", "x"), HB_OK);
    end(prof);
    prof = start_with(0, 3); /* another rank writes it */
    hb_scalar("x", 1);
    end(prof);
    prof = start_with(0, -1); /* nothing to say */
    end(prof);
    assert_int_equal(count_logs(NULL), 0);
}

/* The bytes of the file, for comparing. */
static char *contents(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    size_t all = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(all + 1);
    *size = fread(data, 1, all, file);
    assert_int_equal(*size, all);
    fclose(file);
    return data;
}

static void somebody_elses_file_is_left_alone(void **state)
{
    (void)state;
    char stranger[600], path[1024];
    snprintf(stranger, sizeof stranger, "%s/events.out.tfevents.1700000000.other.1.0", dir);
    FILE *file = fopen(stranger, "wb");
    fputs("not even an event file", file);
    fclose(file);
    hb_profiler *prof = start_with(0, -1);
    hb_scalar("loss", 1);
    end(prof);
    assert_int_equal(count_logs(path), 2);
    size_t size;
    char *now = contents(stranger, &size);
    assert_int_equal(size, strlen("not even an event file"));
    assert_memory_equal(now, "not even an event file", size);
    free(now);
}

/* In one cycle, which keeps them too. */
static void many_scalars_are_all_logged(void **state)
{
    (void)state;
    const size_t n = 1000000 / FEWER;
    hb_profiler *prof = start_with(0, -1);
    assert_int_equal(hb_profiler_step(prof), HB_OK);
    assert_true(HB_ENABLED());
    for (size_t i = 0; i < n; i++)
        hb_scalar("loss", (double)i);
    assert_int_equal(hb_profiler_step(prof), HB_OK);
    end(prof);
    event_list list = only_log();
    size_t at = 1;
    for (size_t i = 0; i < n; i++, at++) {
        while (strcmp(value_of(&list, at)->tag, "loss") != 0)
            at++;
        if (value_of(&list, at)->simple_value != (float)i) fail_msg("scalar %zu is missing", i);
    }
    free_events(&list);
}

static size_t count_bytes(const char *text, size_t size, const char *word)
{
    size_t n = 0, length = strlen(word);
    const char *end = text + size;
    for (const char *at = text; (at = memmem(at, (size_t)(end - at), word, length)); at += length)
        n++;
    return n;
}

/* They are logged in parts. Counted by their bytes, for they are many. */
static void a_cycle_of_many_steps_is_all_logged(void **state)
{
    (void)state;
    enum { STEPS = 3000 / FEWER, GPUS = 16 };
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.profile_memory = true;
    o.schedule = hb_schedule_make(.active = STEPS, .repeat = 1);
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    for (int gpu = 0; gpu < GPUS; gpu++)
        hb_memory_alloc(HB_DEVICE_HIP, gpu, &dir[gpu], 1 << 20);
    for (int i = 0; i < STEPS; i++)
        assert_int_equal(hb_profiler_step(prof), HB_OK);
    end(prof);
    char path[1024];
    size_t size;
    assert_int_equal(count_logs(path), 1);
    char *log = contents(path, &size);
    assert_int_equal(count_bytes(log, size, "hipboard_time/step_ms$"), 1); /* the layout */
    assert_int_equal(count_bytes(log, size, "hipboard_time/step_ms"), STEPS + 1);
    assert_int_equal(count_bytes(log, size, "hipboard_memory/GPU15_peak_mib"), STEPS);
    assert_int_equal(count_bytes(log, size, "hipboard_cycle/events"), 1);
    free(log);
}

static void lost_records_are_told(void **state)
{
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    o.spool_dir = "";
    o.max_record_bytes = 1 << 20;
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    for (int i = 0; i < 3000000; i++)
        HB_RECORD_FUNCTION("work") {
        }
    end(prof);
    event_list list = only_log();
    size_t text = find(&list, "hipboard/lost_data/text_summary", 1);
    size_t lost = find(&list, "hipboard_cycle/lost_events", 1);
    assert_true(text && lost);
    assert_true(value_of(&list, lost)->simple_value > 50000);
    free_events(&list);
}

static void a_killed_program_leaves_its_cycles(void **state)
{
    (void)state;
    skip_under_thread_checks();
    pid_t child = fork();
    if (child == 0) {
        hb_profiler *prof = start_with(0, -1);
        for (int step = 0; step < 3; step++) {
            hb_scalar("loss", step);
            hb_profiler_step(prof);
        }
        hb_profiler_flush(prof);
        hb_scalar("loss", 3); /* may be lost */
        raise(SIGKILL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, SIGKILL);
    event_list list = only_log();
    assert_true(count_tag(&list, "loss") >= 3);
    assert_int_equal(count_tag(&list, "hipboard_time/step_ms"), 1);
    assert_int_equal(count_tag(&list, "_hparams_/session_start_info"), 1);
    assert_int_equal(count_tag(&list, "_hparams_/session_end_info"), 0); /* it did not end well */
    free_events(&list);
}

static void a_program_that_only_exits_has_ended_well(void **state)
{
    (void)state;
    skip_under_thread_checks();
    pid_t child = fork();
    if (child == 0) {
        hb_profiler *prof = start_with(0, -1);
        hb_scalar("loss", 1);
        hb_profiler_step(prof); /* recorded, and not stopped */
        exit(0);
    }
    wait_for_success(child);
    event_list list = only_log();
    assert_int_equal(count_tag(&list, "hipboard_time/step_ms"), 1);
    Hb__HParamsPluginData *ended = first_hparams(&list, "_hparams_/session_end_info");
    assert_int_equal(ended->session_end_info->status, HB__SESSION_STATUS__STATUS_SUCCESS);
    hb__hparams_plugin_data__free_unpacked(ended, NULL);
    free_events(&list);
}

static void a_forked_child_logs_by_a_profiler_of_its_own(void **state)
{
    (void)state;
    skip_under_thread_checks();
    hb_profiler *prof = start_with(0, -1);
    hb_scalar("parent", 1);
    for (int own = 0; own < 2; own++) {
        pid_t child = fork();
        if (child == 0) {
            hb_scalar("child", 1);
            hb_profiler *mine = own ? start_with(0, -1) : NULL;
            hb_scalar("grown", 1);
            hb_profiler_destroy(mine);
            _exit(count_logs(NULL) == 1 + own ? 0 : 1);
        }
        wait_for_success(child);
    }
    end(prof);
    assert_int_equal(count_logs(NULL), 2);
}

enum { LOGGED = 20000, THREADS = 3 };

static void *log_for_a_while(void *arg)
{
    (void)arg;
    for (int i = 0; i < LOGGED; i++)
        hb_scalar("loss", i);
    return NULL;
}

static void log_from_threads(void (*meanwhile)(void))
{
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, log_for_a_while, NULL), 0);
    if (meanwhile) meanwhile();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void profilers_come_and_go(void)
{
    for (int i = 0; i < 20; i++)
        end(start_with(0, -1));
}

static void threads_may_log_while_profilers_come_and_go(void **state)
{
    (void)state;
    log_from_threads(profilers_come_and_go);
}

static void every_threads_values_are_logged(void **state)
{
    (void)state;
    hb_profiler *prof = start_with(0, -1);
    log_from_threads(NULL);
    end(prof);
    event_list list = only_log();
    assert_int_equal(count_tag(&list, "loss"), THREADS * LOGGED);
    free_events(&list);
}

/* ---- when the file can't be made ---- */

static size_t count_text(const char *text, const char *word)
{
    return count_bytes(text, strlen(text), word);
}

/* Neither traces nor events can be written, and the program goes on. */
static void a_directory_that_cannot_be_made_is_said(void **state)
{
    (void)state;
    said_text s;
    snprintf(dir + strlen(dir), 16, "/file");
    fclose(fopen(dir, "w"));
    said_begin(&s);
    snprintf(dir + strlen(dir), 16, "/run");
    hb_profiler *prof = create_with(0, -1);
    hb_result started = hb_profiler_start(prof);
    for (int step = 0; step < 10; step++) {
        hb_scalar("loss", step);
        (void)hb_profiler_step(prof);
    }
    (void)hb_profiler_stop(prof);
    hb_profiler_destroy(prof);
    const char *text = said_end(&s);
    dir[strlen(dir) - strlen("/file/run")] = '\0';
    assert_int_equal(started, HB_ERROR_IO);
    assert_non_null(strstr(text, "/file' (a file is in the way"));
    /* once at the start, and once each when they are lost */
    assert_int_equal(count_text(text, "traces can't be written until that is mended"), 1);
    assert_int_equal(count_text(text, "the cycle's records are lost"), 1);
    assert_int_equal(count_text(text, "/file/run': 10 records are lost\n"), 1);
    size_t tried = count_text(text, "the event log tries again"); /* not if all took no second */
    assert_true(tried <= 1);
    if (count_text(text, "hipboard: ") != 4) fail_msg("%s", text);
}

typedef struct descriptors {
    struct rlimit before;
    int held[64];
    size_t count;
} descriptors;

/* No further file can be opened until they are given back; also where a thread that begins closes
 * one that it had. */
static void take_descriptors(descriptors *d)
{
    struct rlimit none;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &d->before), 0);
    none = d->before;
    none.rlim_cur = (rlim_t)dup(STDERR_FILENO);
    close((int)none.rlim_cur);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    d->count = 0;
    for (int ms = 0; ms < 50; ms++) {
        for (int fd; d->count < sizeof d->held / sizeof *d->held && (fd = dup(STDERR_FILENO)) >= 0;)
            d->held[d->count++] = fd;
        usleep(1000);
    }
}

static void give_descriptors(descriptors *d)
{
    while (d->count)
        close(d->held[--d->count]);
    setrlimit(RLIMIT_NOFILE, &d->before);
}

static hb_profiler *start_on_demand(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.on_demand = true;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = hb_profiler_create(&o);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    return prof;
}

/* All of them, also those that came before. */
static void scalars_wait_until_the_event_file_can_be_made(void **state)
{
    (void)state;
    said_text s;
    hb_profiler *prof = start_on_demand();
    said_begin(&s);
    descriptors d;
    take_descriptors(&d);
    errno = EDOM;
    for (int i = 0; i < 3; i++)
        hb_scalar("loss", i);
    int error = errno;
    said_wait(&s);
    give_descriptors(&d);
    hb_scalar("loss", 3);
    hb_profiler_destroy(prof);
    const char *text = said_end(&s);
    assert_int_equal(error, EDOM);
    if (count_text(text, "hipboard: ") != 1) fail_msg("%s", text);
    assert_non_null(strstr(text, "Too many open files; the event log tries again"));
    event_list list = only_log();
    assert_int_equal(count_tag(&list, "loss"), 4);
    assert_int_equal(count_tag(&list, "_hparams_/session_start_info"), 1);
    free_events(&list);
}

static void assert_three_are_lost(const char *text, const char *why)
{
    if (count_text(text, "hipboard: ") != 2) fail_msg("%s", text);
    assert_non_null(strstr(text, why));
    assert_non_null(strstr(text, "': 3 records are lost\n"));
}

static void scalars_that_come_into_no_file_are_counted_and_said(void **state)
{
    (void)state;
    said_text s;
    hb_profiler *prof = start_on_demand();
    said_begin(&s);
    descriptors d;
    take_descriptors(&d);
    for (int i = 0; i < 3; i++)
        hb_scalar("loss", i);
    hb_profiler_destroy(prof);
    give_descriptors(&d);
    assert_three_are_lost(said_end(&s), "Too many open files");
    assert_int_equal(count_logs(NULL), 0);
}

/* Checks for leaks open files at its end. */
static void also_by_a_program_that_only_exits(void **state)
{
    (void)state;
    skip_under_thread_checks();
    said_text s;
    said_begin(&s);
    pid_t child = fork();
    if (child == 0) {
        (void)start_on_demand();
        remove_tree(dir);
        fclose(fopen(dir, "w"));
        for (int i = 0; i < 3; i++)
            hb_scalar("loss", i);
        exit(0);
    }
    int status;
    pid_t ended = waitpid(child, &status, 0);
    const char *text = said_end(&s);
    assert_int_equal(ended, child);
    assert_int_equal(status, 0);
    assert_three_are_lost(text, "a file is in the way");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(notes_of_hip_stand_in_the_log),
        IN_DIR(every_step_logs_under_its_number),
        IN_DIR(rates_are_of_the_operations_that_were_counted),
        IN_DIR(odd_names_and_numbers_are_logged_somehow),
        IN_DIR(settings_are_the_programs_and_what_is_known),
        IN_DIR(what_was_given_too_late_is_the_next_runs),
        IN_DIR(wrong_settings_are_refused),
        IN_DIR(without_an_event_file_nothing_is_logged),
        IN_DIR(somebody_elses_file_is_left_alone),
        IN_DIR(many_scalars_are_all_logged),
        IN_DIR(a_cycle_of_many_steps_is_all_logged),
        IN_DIR(lost_records_are_told),
        IN_DIR(a_killed_program_leaves_its_cycles),
        IN_DIR(a_program_that_only_exits_has_ended_well),
        IN_DIR(a_forked_child_logs_by_a_profiler_of_its_own),
        IN_DIR(threads_may_log_while_profilers_come_and_go),
        IN_DIR(every_threads_values_are_logged),
        IN_DIR(a_directory_that_cannot_be_made_is_said),
        IN_DIR(scalars_wait_until_the_event_file_can_be_made),
        IN_DIR(scalars_that_come_into_no_file_are_counted_and_said),
        IN_DIR(also_by_a_program_that_only_exits),
        IN_DIR(a_handler_of_ones_own_beside_it_leaves_the_event_file),
        IN_DIR(also_when_it_comes_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
