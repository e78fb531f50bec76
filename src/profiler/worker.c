/* SPDX-License-Identifier: MIT
 *
 * The background thread: writes finished cycles, so that a step does not wait for a disk, and
 * stamps the running session with the time once a second, so that a crash's records can be dated.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/background.h"
#include "device/device.h"
#include "profiler/control.h"
#include "profiler/cycle_log.h"

void hb_cycle_drop(hb_profiler *prof, hb_cycle *cycle)
{
    pthread_mutex_lock(&prof->lock);
    bool last = --cycle->holders == 0;
    pthread_mutex_unlock(&prof->lock);
    if (!last) return;
    hb_device_forget(cycle->session);
    /* In memory nobody could recover it. */
    bool keep = cycle->failed && prof->spool.path;
    if (!keep) hb_session_release(&prof->spool, cycle->session);
    free(cycle);
}

void hb_cycle_saved(hb_profiler *prof, const hb_cycle *cycle)
{
    pthread_mutex_lock(&prof->lock);
    if (!cycle->failed) cycle->session->state = HB_SESSION_SAVED;
    pthread_mutex_unlock(&prof->lock);
}

/* Also one that is a trace elsewhere. Under the lock. */
static void keep_for_recovery(hb_cycle *cycle)
{
    cycle->failed = true;
    cycle->session->state = HB_SESSION_STOPPED;
}

/* Once, however many cycles follow. */
static void warn_unwritten(hb_profiler *prof)
{
    const char *spool = prof->spool.path;
    if (prof->unwritten++ > 0) return;
    hb_warn("%s; the cycle's records %s%s", hb_last_error(),
            spool ? "stay in " : "are lost: they are in memory only", spool ? spool : "");
}

static void write_job(hb_profiler *prof, hb_job *job)
{
    job->cpu_ns = hb_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    hb_result result =
        hb_cycle_write(prof, job->cycle, job->path, job->flags, HB_NEW_FILE, &job->dir);
    pthread_mutex_lock(&prof->lock);
    if (result != HB_OK) {
        keep_for_recovery(job->cycle);
        if (prof->job_result == HB_OK) {
            prof->job_result = result;
            strncpy(prof->job_error, hb_last_error(), sizeof prof->job_error - 1);
        }
    }
    pthread_mutex_unlock(&prof->lock);
    if (result == HB_OK) {
        hb_cycle_log(prof, job);
        hb_retention_add(&prof->retention, job->path);
    } else {
        warn_unwritten(prof);
    }
    hb_control_written(prof, job->request, job->path, result == HB_OK ? NULL : hb_last_error());
}

/* Under the lock: until there is something to do. */
static void wait_for_work(hb_profiler *prof)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 1;
    if (pthread_cond_timedwait(&prof->changed, &prof->lock, &until) == ETIMEDOUT && prof->session)
        hb_session_tick(prof->session);
}

static void *work(void *arg)
{
    hb_profiler *prof = arg;
    pthread_mutex_lock(&prof->lock);
    for (;;) {
        hb_job *job = prof->jobs;
        if (!job && prof->worker_ends) break;
        if (!job) {
            wait_for_work(prof);
            continue;
        }
        prof->jobs = job->next;
        prof->running = job;
        pthread_mutex_unlock(&prof->lock);
        write_job(prof, job);
        hb_cycle_drop(prof, job->cycle);
        hb_kept_file_close(&job->dir);
        free(job->path);
        free(job);
        pthread_mutex_lock(&prof->lock);
        prof->running = NULL;
        pthread_cond_broadcast(&prof->changed);
    }
    pthread_mutex_unlock(&prof->lock);
    return NULL;
}

hb_result hb_worker_start(hb_profiler *prof)
{
    if (prof->worker_runs) return HB_OK;
    int error = hb_background_thread(&prof->worker, "hipboard", work, prof);
    if (error) return hb_fail_errno(HB_ERROR_NO_MEMORY, error, "no thread for writing traces");
    prof->worker_runs = true;
    return HB_OK;
}

void hb_worker_end(hb_profiler *prof)
{
    if (!prof->worker_runs) return;
    pthread_mutex_lock(&prof->lock);
    prof->worker_ends = true;
    pthread_cond_broadcast(&prof->changed);
    pthread_mutex_unlock(&prof->lock);
    pthread_join(prof->worker, NULL);
    if (prof->unwritten > 1) hb_warn("%u cycles in all could not be written", prof->unwritten);
    prof->unwritten = 0;
    prof->worker_runs = prof->worker_ends = false;
}

hb_result hb_worker_submit(hb_profiler *prof, hb_cycle *cycle, char *path, unsigned flags,
                           hb_kept_file dir)
{
    hb_job *job = malloc(sizeof *job);
    hb_result result = job ? hb_worker_start(prof) : HB_ERROR_NO_MEMORY;
    if (result != HB_OK) {
        hb_kept_file_close(&dir);
        free(job);
        free(path);
        return hb_fail(result, "no memory for writing a trace in the background");
    }
    *job = (hb_job){.cycle = cycle,
                    .path = path,
                    .dir = dir,
                    .flags = flags,
                    .step_num = hb_step_number(prof),
                    .request = hb_demand_number(prof)};
    pthread_mutex_lock(&prof->lock);
    cycle->holders++;
    hb_job **at = &prof->jobs;
    while (*at)
        at = &(*at)->next;
    *at = job;
    pthread_cond_broadcast(&prof->changed);
    pthread_mutex_unlock(&prof->lock);
    return HB_OK;
}

hb_result hb_worker_result(hb_profiler *prof)
{
    char text[sizeof prof->job_error];
    pthread_mutex_lock(&prof->lock);
    hb_result result = prof->job_result;
    memcpy(text, prof->job_error, sizeof text);
    prof->job_result = HB_OK;
    pthread_mutex_unlock(&prof->lock);
    return result == HB_OK ? HB_OK : hb_fail(result, "%s", text);
}

#define PATIENCE_MS 2000
#define LOOK_MS     500

/* After `waited_ms`: a line that is written anew on a terminal, one that stays elsewhere. */
static void tell_waiting(const char *path, int waited_ms)
{
    char line[512];
    if (waited_ms < PATIENCE_MS) return;
    if (!isatty(STDERR_FILENO)) {
        if (waited_ms < PATIENCE_MS + LOOK_MS)
            hb_warn("the program waits until %s is written (said once)", path);
        return;
    }
    int n = snprintf(line, sizeof line, "\r\033[Khipboard: writing %.400s: %d s", path,
                     waited_ms / 1000);
    hb_tell_now(line, (size_t)n);
}

static void clear_told(int waited_ms)
{
    static const char clear[] = "\r\033[K";
    if (waited_ms >= PATIENCE_MS && isatty(STDERR_FILENO)) hb_tell_now(clear, sizeof clear - 1);
}

/* Under the lock, which is given up meanwhile. True when it was in vain. */
static bool wait_a_moment(hb_profiler *prof)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LOOK_MS * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    return pthread_cond_timedwait(&prof->changed, &prof->lock, &until) == ETIMEDOUT;
}

void hb_worker_wait(hb_profiler *prof)
{
    int waited_ms = 0;
    pthread_mutex_lock(&prof->lock);
    while (prof->jobs || prof->running) {
        if (!wait_a_moment(prof)) continue;
        const hb_job *job = prof->running ? prof->running : prof->jobs;
        waited_ms += LOOK_MS;
        if (job) tell_waiting(job->path, waited_ms);
    }
    pthread_mutex_unlock(&prof->lock);
    clear_told(waited_ms);
}
