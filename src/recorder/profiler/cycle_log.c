/* SPDX-License-Identifier: MIT */
#include "profiler/cycle_log.h"

#include <math.h>
#include <stdio.h>

#include "base/json_members.h"
#include "hip/diagnostics.h"
#include "profiler/run_log.h"
#include "profiler/user_metadata.h"
#include "record/record.h"
#include "summary/cycle_facts.h"
#include "summary/summary_tags.h"

#define TOP_NAMES     20u
#define STEPS_AT_ONCE 1024u /* so many fit into the log's queue, whatever they have */

static const hb_profile_number role_numbers[HB_ROLE_PARTS] = {
    [HB_ROLE_KERNEL] = HB_PROFILE_KERNEL_MS,
    [HB_ROLE_MEMCPY] = HB_PROFILE_MEMCPY_MS,
    [HB_ROLE_MEMSET] = HB_PROFILE_MEMSET_MS,
    [HB_ROLE_COMMUNICATION] = HB_PROFILE_COMMUNICATION_MS,
    [HB_ROLE_RUNTIME] = HB_PROFILE_RUNTIME_MS,
    [HB_ROLE_LOADER] = HB_PROFILE_DATA_LOADER_MS,
    [HB_ROLE_CPU] = HB_PROFILE_CPU_MS,
    [HB_ROLE_OTHER] = HB_PROFILE_OTHER_MS,
};

/* ---- what a step and the cycle have ---- */

static double mib(uint64_t bytes)
{
    return (double)bytes / 1048576.0;
}

/* Kernels come before communication: what communication has, no kernel hides. */
static void set_times(hb_profile_numbers *n, const double ns[HB_ROLE_PARTS], double all_ns)
{
    n->value[HB_PROFILE_STEP_MS] = all_ns / 1e6;
    for (int role = 0; role < HB_ROLE_PARTS; role++)
        n->value[role_numbers[role]] = ns[role] / 1e6;
    if (ns[HB_ROLE_COMMUNICATION] > 0)
        n->value[HB_PROFILE_EXPOSED_MS] = n->value[HB_PROFILE_COMMUNICATION_MS];
}

static void set_flops(hb_profile_numbers *n, double flops, double ns)
{
    if (flops > 0 && ns > 0) n->value[HB_PROFILE_GFLOPS] = flops / ns;
}

static void set_copies(hb_profile_numbers *n, const uint64_t bytes[HB_COPY_WAYS])
{
    n->value[HB_PROFILE_HOST_TO_DEVICE] = mib(bytes[HB_COPY_HOST_TO_DEVICE]);
    n->value[HB_PROFILE_DEVICE_TO_HOST] = mib(bytes[HB_COPY_DEVICE_TO_HOST]);
    n->value[HB_PROFILE_DEVICE_TO_DEVICE] = mib(bytes[HB_COPY_DEVICE_TO_DEVICE]);
}

/* The mean over the GPUs of which it is known. */
static double mean_of(const hb_device_numbers *gpus, int num_gpus, hb_gpu_number which)
{
    double sum = 0;
    int n = 0;
    for (int i = 0; i < num_gpus; i++) {
        if (isnan(gpus[i].percent[which])) continue;
        sum += gpus[i].percent[which];
        n++;
    }
    return n ? sum / n : NAN;
}

static void set_gpus(hb_profile_numbers *n, const hb_device_numbers *gpus, int num_gpus)
{
    n->value[HB_PROFILE_UTILIZATION] = mean_of(gpus, num_gpus, HB_GPU_UTILIZATION);
    n->value[HB_PROFILE_SM_EFFICIENCY] = mean_of(gpus, num_gpus, HB_GPU_SM_EFFICIENCY);
    n->value[HB_PROFILE_OCCUPANCY] = mean_of(gpus, num_gpus, HB_GPU_OCCUPANCY);
}

static hb_result log_device(hb_event_log *log, hb_profile_at at, const hb_device_numbers *d,
                            int32_t device)
{
    char name[16] = "CPU";
    if (device != HB_HOST_DEVICE) snprintf(name, sizeof name, "GPU%d", device);
    return hb_profile_log_device(
        log, at, name,
        &(hb_profile_device){.utilization = d->percent[HB_GPU_UTILIZATION],
                             .sm_efficiency = d->percent[HB_GPU_SM_EFFICIENCY],
                             .occupancy = d->percent[HB_GPU_OCCUPANCY],
                             .peak_bytes = d->has_memory ? (double)d->peak_bytes : NAN,
                             .current_bytes = d->has_memory ? (double)d->current_bytes : NAN});
}

/* ---- steps ---- */

static hb_result log_step(hb_event_log *log, const hb_cycle_numbers *numbers, uint32_t index)
{
    const hb_step_times *step = &numbers->steps.items[index];
    const hb_profile_at at = {HB_PROFILE_STEP, step->step, step->end_ns};
    double ns[HB_ROLE_PARTS], all_ns = (double)(step->end_ns - step->start_ns);
    hb_profile_numbers n;
    hb_profile_numbers_init(&n);
    for (int role = 0; role < HB_ROLE_PARTS; role++)
        ns[role] = (double)step->role_ns[role];
    set_times(&n, ns, all_ns);
    set_flops(&n, step->flops, all_ns);
    if (numbers->num_devices) {
        set_gpus(&n, hb_cycle_step_device(numbers, index, 0), numbers->num_devices);
        set_copies(&n, step->copied_bytes);
    }
    n.value[HB_PROFILE_EVENTS] = (double)step->events;
    n.value[HB_PROFILE_RECORDING_MS] = (double)step->host_events * hb_record_scope_ns() / 1e6;
    HB_TRY(hb_profile_log_numbers(log, at, &n));
    for (int32_t i = HB_HOST_DEVICE; i < numbers->num_devices; i++)
        HB_TRY(log_device(log, at, hb_cycle_step_device(numbers, index, i), i));
    return HB_OK;
}

static hb_result log_steps(hb_event_log *log, hb_cycle_numbers *numbers, int64_t at_step)
{
    uint32_t n = numbers->steps.count;
    double *ms = HB_NEW_ARRAY(&numbers->arena, double, n);
    for (uint32_t i = 0; i < n; i++) {
        const hb_step_times *step = &numbers->steps.items[i];
        ms[i] = (double)(step->end_ns - step->start_ns) / 1e6;
        HB_TRY(log_step(log, numbers, i));
        if (i % STEPS_AT_ONCE == STEPS_AT_ONCE - 1) HB_TRY(hb_event_log_flush(log));
    }
    return hb_profile_log_step_times(log, at_step, ms, n);
}

/* ---- the cycle ---- */

/* Averages over the steps that the plugin shows: they are what it calls Average Step Time. */
static void set_averages(hb_profile_numbers *n, const hb_cycle_numbers *numbers)
{
    uint32_t count = numbers->shown_steps;
    double ns[HB_ROLE_PARTS] = {0}, all_ns = 0, flops = 0;
    if (count == 0) return;
    for (uint32_t i = 0; i < count; i++) {
        const hb_step_times *step = &numbers->steps.items[i];
        all_ns += (double)(step->end_ns - step->start_ns) / count;
        flops += step->flops / count;
        for (int role = 0; role < HB_ROLE_PARTS; role++)
            ns[role] += (double)step->role_ns[role] / count;
    }
    set_times(n, ns, all_ns);
    set_flops(n, flops, all_ns);
}

static void set_overhead(hb_profile_numbers *n, const hb_cycle_numbers *numbers, const hb_job *job)
{
    double recording = (double)numbers->host_events * hb_record_scope_ns();
    double writing = (double)(hb_clock_ns(CLOCK_THREAD_CPUTIME_ID) - job->cpu_ns);
    n->value[HB_PROFILE_RECORDING_MS] = recording / 1e6;
    n->value[HB_PROFILE_WRITING_MS] = writing / 1e6;
    n->value[HB_PROFILE_OVERHEAD_MS] = (recording + writing) / 1e6;
}

static hb_result log_cycle_numbers(hb_event_log *log, hb_cycle_numbers *numbers, const hb_job *job,
                                   const hb_lost *lost, hb_profile_at at)
{
    hb_profile_numbers n;
    hb_profile_numbers_init(&n);
    set_averages(&n, numbers);
    if (numbers->num_devices) {
        set_gpus(&n, numbers->devices, numbers->num_devices);
        set_copies(&n, numbers->copied_bytes);
    }
    set_overhead(&n, numbers, job);
    n.value[HB_PROFILE_EVENTS] = (double)numbers->events;
    n.value[HB_PROFILE_LOST_EVENTS] = (double)(lost->buffer_full + lost->reentrant + lost->memory);
    HB_TRY(hb_profile_log_numbers(log, at, &n));
    for (int32_t i = HB_HOST_DEVICE; i < numbers->num_devices; i++)
        HB_TRY(log_device(log, at, hb_cycle_numbers_device(numbers, i), i));
    return HB_OK;
}

static hb_result log_costs(hb_event_log *log, hb_cycle_numbers *numbers, int64_t at_step,
                           hb_profile_table table, const hb_name_costs *costs)
{
    uint32_t n = HB_MIN(costs->count, TOP_NAMES);
    if (n == 0) return HB_OK;
    hb_profile_cost *top = HB_NEW_ARRAY(&numbers->arena, hb_profile_cost, n);
    double all = 0;
    for (uint32_t i = 0; i < costs->count; i++)
        all += (double)costs->items[i].self_ns / 1e3;
    for (uint32_t i = 0; i < n; i++) {
        const hb_name_cost *c = &costs->items[i];
        char *name = HB_NEW_ARRAY(&numbers->arena, char, (size_t)c->name.len + 1);
        memcpy(name, c->name.s, c->name.len);
        top[i] = (hb_profile_cost){name, c->calls, (double)c->self_ns / 1e3};
    }
    return hb_profile_log_costs(log, at_step, table, top, n, all);
}

/* A copy of a metadata entry, with the zeros behind it that scanning needs; empty when there is
 * none. */
static hb_str metadata_of(hb_cycle_numbers *numbers, const hb_trace_info *info, const char *key)
{
    for (size_t i = 0; i < info->num_metadata; i++) {
        if (strcmp(info->metadata[i].key, key) != 0) continue;
        size_t size = strlen(info->metadata[i].json);
        char *copy = HB_NEW_ARRAY(&numbers->arena, char, size + HB_SCAN_PADDING);
        memcpy(copy, info->metadata[i].json, size);
        return (hb_str){copy, (uint32_t)size};
    }
    return (hb_str){0};
}

/* Lives as long as the numbers; NULL when the value is no string. */
static const char *string_of(hb_cycle_numbers *numbers, const hb_value *value)
{
    hb_buf text;
    if (value->type != HB_JSON_STRING) return NULL;
    hb_buf_init(&text, SIZE_MAX / 2);
    hb_value_decode(value, &text);
    char *copy = HB_NEW_ARRAY(&numbers->arena, char, text.size + 1);
    if (text.size) memcpy(copy, text.data, text.size);
    hb_buf_free(&text);
    return copy;
}

typedef struct note_list {
    hb_cycle_numbers *numbers;
    HB_VEC(const char *) notes;
} note_list;

static bool take_note(void *context, const hb_value *element)
{
    note_list *list = context;
    const char *note = string_of(list->numbers, element);
    if (note) *HB_PUSH(&list->numbers->arena, &list->notes) = note;
    return true;
}

static hb_result log_hip_notes(hb_event_log *log, hb_cycle_numbers *numbers,
                               const hb_trace_info *info, int64_t at_step)
{
    note_list list = {.numbers = numbers};
    hb_str json = metadata_of(numbers, info, HB_METADATA_HIP_NOTES);
    if (hb_json_value(json).type != HB_JSON_ARRAY) return HB_OK;
    hb_json_each(json, take_note, &list);
    return hb_profile_log_hip_notes(log, at_step, list.notes.items, list.notes.count);
}

static hb_result log_reason(hb_event_log *log, hb_cycle_numbers *numbers, const hb_trace_info *info,
                            int64_t at_step)
{
    hb_value value = hb_json_value(metadata_of(numbers, info, HB_METADATA_REASON));
    const char *reason = string_of(numbers, &value);
    return reason ? hb_profile_log_reason(log, at_step, reason) : HB_OK;
}

static hb_result log_texts(hb_event_log *log, hb_cycle_numbers *numbers, const hb_lost *lost,
                           const hb_trace_info *info, int64_t at_step)
{
    HB_TRY(log_costs(log, numbers, at_step, HB_PROFILE_TOP_OPERATORS, &numbers->operators));
    HB_TRY(log_costs(log, numbers, at_step, HB_PROFILE_TOP_KERNELS, &numbers->kernels));
    hb_cycle_advice advice = hb_cycle_advise(numbers, info);
    HB_TRY(hb_profile_log_advice(log, at_step, advice.items, advice.count));
    HB_TRY(log_hip_notes(log, numbers, info, at_step));
    HB_TRY(log_reason(log, numbers, info, at_step));
    return hb_profile_log_lost(log, at_step, lost);
}

static const hb_session *session_of(const hb_job *job)
{
    return job->dump ? hb_ring_dump_session(job->dump) : job->cycle->session;
}

static hb_result log_cycle(hb_event_log *log, hb_cycle_numbers *numbers, const hb_job *job,
                           const hb_trace_info *info, int64_t at_step)
{
    const hb_profile_at at = {HB_PROFILE_CYCLE, at_step, info->stop_ns};
    hb_lost lost = hb_session_lost(session_of(job));
    HB_TRY(log_cycle_numbers(log, numbers, job, &lost, at));
    HB_TRY(hb_profile_log_kernel_times(log, at_step, numbers->kernel_us.items,
                                       numbers->kernel_us.count));
    return log_texts(log, numbers, &lost, info, at_step);
}

/* ---- all of it ---- */

/* What runs are compared by, as far as there is any of it. */
static hb_profile_settings metrics_of(const hb_cycle_numbers *n)
{
    bool gpu_memory = n->num_devices && n->devices[0].has_memory;
    return (hb_profile_settings){
        .has_steps = n->shown_steps > 0,
        .has_gpu = n->kernels.count > 0,
        .memory = gpu_memory           ? "GPU0"
                  : n->host.has_memory ? "CPU"
                                       : NULL,
    };
}

/* Apart, as the arena's way out is a jump to here. */
static __attribute__((noinline)) hb_result log_numbers(hb_event_log *log, hb_cycle_numbers *numbers,
                                                       const hb_job *job, const hb_trace_info *info,
                                                       int64_t at_step)
{
    if (!hb_arena_try(&numbers->arena))
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory for a cycle's numbers");
    HB_TRY(log_steps(log, numbers, at_step));
    return log_cycle(log, numbers, job, info, at_step);
}

/* What has no step of its own stands at the cycle's last one. */
static int64_t last_step(hb_cycle_numbers *numbers, int64_t step_num)
{
    uint32_t n = numbers->steps.count;
    if (n && numbers->whole) numbers->steps.items[0].step = step_num;
    return n ? numbers->steps.items[n - 1].step : step_num;
}

static hb_result log_all(hb_profiler *prof, const hb_job *job, hb_source *source,
                         hb_cycle_numbers *numbers)
{
    int64_t at_step = last_step(numbers, job->step_num);
    HB_TRY(hb_run_log_describe(prof, source->info, metrics_of(numbers), at_step));
    HB_TRY(log_numbers(prof->event_log, numbers, job, source->info, at_step));
    return hb_event_log_flush(prof->event_log);
}

void hb_cycle_log(hb_profiler *prof, const hb_job *job, hb_cycle_marks *marks)
{
    hb_source *source;
    hb_cycle_numbers numbers = {0};
    hb_spool_view view = hb_spool_view_own(&prof->spool);
    if (!prof->event_log) return;
    hb_result result = job->dump
                           ? hb_ring_dump_open(job->dump, &source)
                           : hb_session_source_open(&view, job->cycle->session, NULL, &source);
    if (result == HB_OK) {
        result = hb_cycle_numbers_make(source, hb_own_scopes_of(job->flags), marks, &numbers);
        if (result == HB_OK) result = log_all(prof, job, source, &numbers);
        hb_cycle_numbers_free(&numbers);
        source->close(source);
    }
    if (result != HB_OK) hb_run_log_warn(prof);
}
