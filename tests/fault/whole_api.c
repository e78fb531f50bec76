/* SPDX-License-Identifier: MIT */
#include "../unit/forks_with_threads.h"
#include "whole_api.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hipboard/analysis.h>
#include <hipboard/compare.h>
#include <hipboard/convert.h>
#include <hipboard/event_log.h>
#include <hipboard/hipboard.h>

static struct {
    const char *dir;
    bool stacks;
    int status;
} run;

static void is(int status)
{
    if (status > run.status) run.status = status;
}

/* True when the call did what it says. */
static bool went_well(hb_result result)
{
    if (result == HB_OK) return true;
    is(*hb_last_error() ? WHOLE_TOLD : WHOLE_NO_TEXT);
    return false;
}

static bool made(const void *handle)
{
    return went_well(handle ? HB_OK : HB_ERROR_NO_MEMORY);
}

static const char *in_dir(const char *name)
{
    static __thread char paths[4][512];
    static __thread unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof *paths, "%s/%s", run.dir, name);
    return path;
}

/* ---- recording ---- */

static void record(int step)
{
    static hb_module layer;
    char name[32];
    if (!layer) layer = hb_module_create("Linear");
    snprintf(name, sizeof name, "item %d", step);
    HB_RECORD_FUNCTION("forward") {
        HB_MODULE(layer) {
            HB_OP("aten::mm", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 2, 3), HB_TENSOR(HB_FLOAT32, 3, 4)),
                  .flops = hb_flops_mm(2, 3, 4)) {
                hb_memory_alloc(HB_DEVICE_CPU, 0, &layer, 4096);
                hb_memory_alloc(HB_DEVICE_HIP, 0, name, 1 << 20);
            }
        }
        HB_RECORD_FUNCTION_NAMED(name) {
            hb_memory_free(HB_DEVICE_CPU, 0, &layer, 4096);
            hb_memory_free(HB_DEVICE_HIP, 0, name, 1 << 20);
        }
    }
    hb_range_push("pushed");
    hb_range_pop();
    hb_scalar("loss", 1.0 / (step + 1));
}

static void *record_elsewhere(void *unused)
{
    hb_thread_name("helper");
    for (int i = 0; i < 3; i++)
        record(i);
    (void)hb_thread_number();
    return unused;
}

static void log_values(void)
{
    const double values[] = {1, 2, 3};
    went_well(hb_text("note", "*text*"));
    went_well(hb_histogram("values", values, 3));
}

/* Where there is no memory for a thread or by the wish of the test. */
static void record_in_threads(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, record_elsewhere, NULL) == 0) pthread_join(thread, NULL);
}

static bool count_event(const hb_event *event, void *arg)
{
    *(int *)arg += event->name_size > 0;
    return true;
}

static hb_result look_at_cycle(hb_profiler *prof, void *context)
{
    int events = 0;
    hb_key_averages *averages;
    char *text;
    size_t size;
    (void)context;
    went_well(hb_profiler_events(prof, count_event, &events));
    went_well(hb_export_chrome_trace(prof, in_dir("export.json.gz"), HB_DIALECT_KINETO));
    went_well(hb_export_tensorboard(prof, in_dir("second"), "worker", HB_GZIP));
    if (run.stacks) went_well(hb_export_stacks(prof, in_dir("stacks.txt"), NULL));
    went_well(hb_export_memory_timeline(prof, in_dir("memory.html"), NULL));
    if (!went_well(hb_profiler_key_averages(prof, NULL, &averages))) return HB_OK;
    if (went_well(hb_key_averages_table(averages, NULL, &text, &size))) hb_free(text);
    hb_key_averages_destroy(averages);
    return HB_OK;
}

static hb_profiler *make_profiler(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    static const int64_t ranks[] = {0, 1};
    static const hb_process_group group = {"0", "default_pg", "cuda:nccl", ranks, 2};
    o.record_shapes = o.profile_memory = o.with_flops = o.with_modules = true;
    o.with_stack = run.stacks;
    o.acc_events = true;
    o.sync = true;
    o.schedule = hb_schedule_make(.warmup = 1, .active = 2, .repeat = 2);
    o.distributed = (hb_distributed_info){"nccl", 0, 2, &group, 1, "2.19"};
    o.on_trace_ready =
        hb_trace_handler_chain((hb_trace_handler){look_at_cycle, NULL, NULL},
                               hb_tensorboard_trace_handler(in_dir("run"), "worker", 0));
    return hb_profiler_create(&o);
}

static void add_settings(hb_profiler *prof)
{
    const hb_hparam hparams[] = {HB_HPARAM("lr", 0.1), HB_HPARAM_TEXT("optimizer", "sgd")};
    const char *const metrics[] = {"loss"};
    went_well(hb_hparams(hparams, 2, metrics, 1));
    went_well(hb_profiler_add_metadata(prof, "key", "value \"quoted\""));
    went_well(hb_profiler_preset_metadata_json(prof, "preset", "{\"a\": [1, 2]}"));
    went_well(hb_profiler_number_next_step(prof, 100));
}

static void note_losses(hb_profiler *prof)
{
    hb_lost lost = {.struct_size = sizeof lost};
    if (!went_well(hb_profiler_lost(prof, &lost))) return;
    if (lost.buffer_full + lost.strings_full + lost.reentrant + lost.too_big + lost.memory)
        is(WHOLE_TOLD);
}

/* A child has nothing to do with its parent's profiler. */
static void fork_once(hb_profiler *prof)
{
    pid_t pid = fork();
    int status = 0;
    if (pid == 0) {
        record(1);
        (void)hb_profiler_step(prof);
        hb_profiler_destroy(prof);
        _exit(0);
    }
    if (pid > 0 && (waitpid(pid, &status, 0) != pid || status != 0)) abort();
}

static void profile(void)
{
    hb_profiler *prof = make_profiler();
    record(0);
    if (!made(prof)) return;
    add_settings(prof);
    went_well(hb_profiler_start(prof));
    for (int step = 0; step < 6; step++) {
        record(step);
        if (step == 2) record_in_threads();
        if (step == 3) fork_once(prof);
        log_values();
        went_well(hb_profiler_step(prof));
        note_losses(prof);
    }
    went_well(hb_profiler_stop(prof));
    went_well(hb_profiler_flush(prof));
    hb_profiler_destroy(prof);
    hb_thread_name("after");
}

static void log_events(void)
{
    hb_event_log *log = hb_event_log_open(in_dir("log"), NULL);
    const char *const tags[] = {"loss"};
    const hb_chart chart = {"chart", tags, 1, false};
    const hb_chart_category category = {"category", &chart, 1, false};
    const double values[] = {1, 2};
    if (!made(log)) return;
    went_well(hb_event_log_scalar(log, "loss", 1, 2));
    went_well(hb_event_log_text(log, "text", 1, "text"));
    went_well(hb_event_log_histogram(log, "histogram", 1, values, 2));
    went_well(hb_event_log_layout(log, &category, 1));
    went_well(hb_event_log_flush(log));
    went_well(hb_event_log_close(log));
}

/* ---- looking at what was written ---- */

/* The first file in run/, by the end of its name; "" when there is none. */
static const char *find(const char *suffix, char path[1024], int *count)
{
    DIR *list = opendir(in_dir("run"));
    path[0] = '\0';
    *count = 0;
    if (!list) is(WHOLE_TOLD);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        size_t n = strlen(entry->d_name), m = strlen(suffix);
        if (n < m || strcmp(entry->d_name + n - m, suffix) != 0) continue;
        snprintf(path, 1024, "%s/%s", in_dir("run"), entry->d_name);
        ++*count;
    }
    if (list) closedir(list);
    return path;
}

static void look_at_file(hb_trace_file *file)
{
    const hb_step_stat *steps;
    const hb_operator_stat *operators;
    hb_insights *insights;
    hb_memory_profile *memory;
    hb_step_summary *summary;
    hb_ranks *ranks;
    char *json;
    size_t count, size;
    static const char *const workers[] = {"worker"};
    went_well(hb_trace_file_keep_steps(file, 0, 1000));
    went_well(hb_trace_file_steps(file, &steps, &count));
    went_well(hb_trace_file_operators(file, true, &operators, &count));
    if (went_well(hb_insights_create(file, NULL, &insights))) hb_insights_destroy(insights);
    if (went_well(hb_memory_profile_create(file, &memory))) hb_memory_profile_destroy(memory);
    if (went_well(hb_memory_timeline(file, NULL, false, &json, &size))) hb_free(json);
    if (went_well(hb_trace_file_query(file, "overview", &json, &size))) hb_free(json);
    if (went_well(hb_step_summary_create(&summary))) {
        went_well(hb_step_summary_add(summary, file, "run", "worker", "1"));
        hb_step_summary_destroy(summary);
    }
    if (went_well(hb_ranks_create(&file, workers, 1, &ranks))) hb_ranks_destroy(ranks);
}

static bool pass_over(void *context, const hb_violation *finding)
{
    (void)finding;
    return context == NULL;
}

static void look_at_run(const char *trace)
{
    hb_trace_file *file;
    hb_logdir *logdir;
    hb_conversion *conversion;
    hb_comparison *comparison;
    char *json;
    size_t size;
    const char *paths[] = {trace, in_dir("export.json.gz")};
    if (went_well(hb_trace_file_open(trace, NULL, &file))) {
        look_at_file(file);
        hb_trace_file_close(file);
    }
    if (went_well(hb_logdir_open(run.dir, NULL, &logdir))) {
        if (went_well(hb_logdir_query(logdir, "runs", &json, &size))) hb_free(json);
        hb_logdir_close(logdir);
    }
    went_well(hb_check(in_dir("run"), NULL, pass_over, NULL));
    if (went_well(hb_convert(trace, in_dir("converted"), "worker.1", NULL, &conversion)))
        hb_conversion_free(conversion);
    if (went_well(hb_compare(paths, 2, NULL, &comparison))) hb_comparison_free(comparison);
}

static void look_back(void)
{
    char path[1024];
    int traces, spools;
    hb_hip_info *info;
    find(".hbspool", path, &spools);
    find(".pt.trace.json", path, &traces);
    if (run.status == WHOLE_FINE && traces != 2) is(WHOLE_LOST_SILENTLY);
    if (traces) look_at_run(path);
    if (went_well(hb_hip_info_get(false, &info))) hb_hip_info_free(info);
    if (spools) went_well(hb_recover(in_dir("run"), 0, NULL, NULL));
}

int whole_api(const char *dir, bool stacks)
{
    run.dir = dir;
    run.stacks = stacks;
    run.status = WHOLE_FINE;
    log_events();
    profile();
    look_back();
    return run.status;
}
