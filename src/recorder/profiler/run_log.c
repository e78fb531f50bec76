/* SPDX-License-Identifier: MIT */
#include "profiler/run_log.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/process.h"
#include "profiler/git_commit.h"
#include "profiler/hparams.h"
#include "record/alarm.h"
#include "record/record.h"
#include "tfevents/event_log_internal.h"

/* ---- the present log, for any thread ----
 *
 * Who uses it counts himself in first and looks again, so that who takes it away need only wait
 * until nobody is in. */

static struct {
    _Atomic(hb_event_log *) log;
    atomic_uint users;
} present;

static inline hb_event_log *enter(void)
{
    if (HB_LIKELY(!atomic_load_explicit(&present.log, memory_order_relaxed))) return NULL;
    atomic_fetch_add(&present.users, 1);
    hb_event_log *log = atomic_load(&present.log);
    if (HB_UNLIKELY(!log)) atomic_fetch_sub(&present.users, 1);
    return log;
}

static inline void leave(const hb_event_log *log)
{
    if (log) atomic_fetch_sub(&present.users, 1);
}

/* False when a thread is in that does not leave: then the log must stay. */
static bool take_away(hb_event_log *log)
{
    enum { PATIENCE_MS = 100 };
    atomic_compare_exchange_strong(&present.log, &log, NULL); /* unless another has replaced it */
    for (int ms = 0; atomic_load(&present.users) && ms < PATIENCE_MS; ms++)
        hb_sleep_us(1000);
    return atomic_load(&present.users) == 0;
}

/* The file is the parent's; other threads' uses of it ended with the fork. */
static void after_fork_in_child(void)
{
    atomic_store(&present.log, NULL);
    atomic_store(&present.users, 0);
}

static void watch_forks(void)
{
    hb_settings_watch_forks();
    hb_process_at_fork(HB_FORK_RUN_LOG, (hb_fork_room){.in_child = after_fork_in_child});
}

/* ---- what the program logs ---- */

/* Apart, as names of no use are rare. */
static HB_COLD void log_oddly_named(hb_event_log *log, const char *name, double value)
{
    char tag[HB_EVENT_TAG_MAX + 1];
    snprintf(tag, sizeof tag, "%s", name && *name ? name : "(unnamed)");
    (void)hb_event_log_scalar(log, tag, HB_CURRENT_STEP, value);
}

static void log_scalar(hb_event_log *log, const char *name, double value)
{
    hb_thread *t = hb_thread_begin();
    if (!t) return; /* a signal handler's, within another call */
    hb_result result = hb_event_log_scalar(log, name, HB_CURRENT_STEP, value);
    if (HB_UNLIKELY(result == HB_ERROR_INVALID_ARGUMENT)) log_oddly_named(log, name, value);
    hb_thread_leave(t);
}

void hb_scalar(const char *name, double value)
{
    if (HB_ENABLED()) hb_record_scalar_value(name, value);
    if (HB_UNLIKELY(atomic_load_explicit(&hb_alarm_of_metric, memory_order_relaxed)))
        hb_alarm_metric(name, value);
    hb_event_log *log = enter();
    if (!log) return;
    log_scalar(log, name, value);
    leave(log);
}

hb_result hb_text(const char *tag, const char *markdown)
{
    HB_GUARDED();
    hb_event_log *log = enter();
    hb_result result = hb_event_log_text(log, tag, HB_CURRENT_STEP, markdown);
    leave(log);
    return result;
}

hb_result hb_histogram(const char *tag, const double *values, size_t num_values)
{
    HB_GUARDED();
    hb_event_log *log = enter();
    hb_result result = hb_event_log_histogram(log, tag, HB_CURRENT_STEP, values, num_values);
    leave(log);
    return result;
}

/* ---- what a run is ---- */

/* HIP's one number: two digits of minor, five of patch. */
static const char *rocm_version(char text[32], int version)
{
    if (version <= 0) return NULL;
    snprintf(text, 32, "%d.%d.%d", version / 10000000, version / 100000 % 100, version % 100000);
    return text;
}

static hb_result log_environment(hb_profiler *prof, const hb_trace_info *info, const char *rocm,
                                 int64_t step)
{
    char pid[32], cus[32] = "";
    const hb_device_info *device = info && info->num_devices ? &info->devices[0] : NULL;
    snprintf(pid, sizeof pid, "%lld", (long long)prof->pid);
    if (device) snprintf(cus, sizeof cus, "%d", device->num_cus);
    const hb_profile_pair pairs[] = {
        {"program", info ? info->process_name : program_invocation_short_name},
        {"host", info ? info->host_name : NULL},
        {"process", pid},
        {"git commit", prof->git_commit},
        {"hipboard", hb_version()},
        {"device", device ? device->name : "CPU"},
        {"architecture", device ? device->arch : NULL},
        {"compute units", cus},
        {"HIP runtime", rocm ? rocm : "none"},
    };
    return hb_profile_log_environment(prof->event_log, step, pairs, HB_ARRAY_LEN(pairs));
}

static hb_result log_settings(hb_profiler *prof, const hb_trace_info *info, const char *rocm,
                              hb_profile_settings known)
{
    char git[13], arch[32];
    const hb_device_info *device = info && info->num_devices ? &info->devices[0] : NULL;
    const char *target = device && device->arch ? device->arch : "";
    /* As much as a column has room for: "gfx90a" of "gfx90a:sramecc+:xnack-". */
    snprintf(git, sizeof git, "%.12s", prof->git_commit);
    snprintf(arch, sizeof arch, "%.*s", (int)strcspn(target, ":"), target);
    known.arch = arch[0] ? arch : NULL;
    known.compute_units = device ? device->num_cus : 0;
    known.rocm_version = rocm;
    known.ranks = prof->ranks;
    known.git = git[0] ? git : NULL;
    return hb_settings_log(prof->event_log, known);
}

hb_result hb_run_log_describe(hb_profiler *prof, const hb_trace_info *info,
                              hb_profile_settings metrics, int64_t step)
{
    char text[32];
    if (prof->described) return HB_OK;
    prof->described = true;
    const char *rocm = rocm_version(text, info ? info->hip_runtime_version : 0);
    HB_TRY(log_environment(prof, info, rocm, step));
    HB_TRY(hb_profile_log_layout(prof->event_log));
    return log_settings(prof, info, rocm, metrics);
}

/* ---- life ---- */

void hb_run_log_warn(hb_profiler *prof)
{
    if (prof->warned_event_log) return;
    prof->warned_event_log = true;
    hb_warn("no event file for TensorBoard's scalars in %s: %s (said once; traces are written)",
            hb_handler_dir(&prof->options.on_trace_ready), hb_last_error());
}

void hb_run_log_open(hb_profiler *prof)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (!prof->logs_events) return;
    pthread_once(&once, watch_forks);
    if (!prof->event_log) {
        if (!hb_git_commit(".", prof->git_commit)) prof->git_commit[0] = '\0';
        prof->event_log = hb_event_log_new(hb_handler_dir(&prof->options.on_trace_ready), NULL);
        if (prof->event_log)
            hb_event_log_keep_dir(prof->event_log,
                                  hb_handler_keep_dir(&prof->options.on_trace_ready));
        else
            hb_run_log_warn(prof);
        hb_settings_reopen();
    }
    hb_run_log_step(prof);
    atomic_store(&present.log, prof->event_log);
}

void hb_run_log_step(hb_profiler *prof)
{
    hb_event_log_set_step(prof->event_log, hb_step_number(prof));
}

void hb_run_log_end(hb_profiler *prof)
{
    if (!prof->described) return;
    (void)hb_event_log_session_end(prof->event_log, HB_SESSION_SUCCESS);
    (void)hb_event_log_flush(prof->event_log); /* the log's own turn at exit is over */
}

/* One that could not be made before is tried once more. */
static bool has_file(hb_event_log *log)
{
    if (!hb_event_log_path(log)[0]) (void)hb_event_log_flush(log);
    return hb_event_log_path(log)[0] != '\0';
}

void hb_run_log_close(hb_profiler *prof)
{
    if (!prof->event_log) return;
    bool unused = take_away(prof->event_log);
    if (has_file(prof->event_log))
        (void)hb_run_log_describe(prof, NULL, (hb_profile_settings){0}, hb_step_number(prof));
    if (unused)
        (void)hb_event_log_close(prof->event_log); /* its thread has said what went wrong */
    else
        (void)hb_event_log_flush(prof->event_log);
    prof->event_log = NULL;
    if (prof->described) hb_settings_reopen();
}
