/* SPDX-License-Identifier: MIT
 *
 * The background thread: writes finished cycles, so that a step does not wait for a disk, and
 * stamps the running session with the time once a second, so that a crash's records can be dated.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/process.h"
#include "base/thread_start.h"
#include "hip/capture.h"
#include "profiler/control.h"
#include "profiler/cycle_log.h"
#include "sampling/host_samples.h"

void hb_cycle_drop(hb_profiler *prof, hb_cycle *cycle)
{
    hb_lock_take(&prof->lock);
    bool last = --cycle->holders == 0;
    hb_lock_give(&prof->lock);
    if (!last) return;
    hb_device_forget(cycle->session);
    /* In memory nobody could recover it. */
    bool keep = cycle->failed && prof->spool.path;
    if (!keep) hb_session_release(&prof->spool, cycle->session);
    free(cycle);
}

void hb_cycle_saved(hb_profiler *prof, const hb_cycle *cycle)
{
    hb_lock_take(&prof->lock);
    if (!cycle->failed) hb_session_set_state(cycle->session, HB_SESSION_SAVED);
    hb_lock_give(&prof->lock);
}

/* Also one that is a trace elsewhere. Under the lock. */
static void keep_for_recovery(hb_cycle *cycle)
{
    cycle->failed = true;
    __atomic_store_n(&cycle->session->file_inode, 0, __ATOMIC_SEQ_CST);
    hb_session_set_state(cycle->session, HB_SESSION_STOPPED);
}

/* Once, however many cycles follow. */
static void warn_unwritten(hb_profiler *prof)
{
    const char *spool = prof->spool.path;
    if (prof->unwritten++ > 0) return;
    hb_warn("%s; the cycle's records %s%s", hb_last_error(),
            spool ? "stay in " : "are lost: they are in memory only", spool ? spool : "");
}

/* A cycle in which nothing happened, of a handler that wants no such. */
static bool leaves_out(hb_profiler *prof, const hb_job *job)
{
    if (!(job->flags & HB_SKIP_EMPTY)) return false;
    if (job->dump) {
        if (!hb_ring_dump_is_empty(job->dump)) return false;
    } else {
        hb_spool_view view = hb_spool_view_own(&prof->spool);
        if (!hb_session_is_empty(&view, job->cycle->session)) return false;
        hb_cycle_saved(prof, job->cycle);
    }
    hb_control_written(prof, job->request, NULL, "nothing happened meanwhile");
    return true;
}

/* What a ring has kept is not kept for recovery: the ring goes on. */
static hb_result write_trace(hb_profiler *prof, hb_job *job, hb_cycle_marks *marks)
{
    if (job->dump) return hb_ring_dump_write(prof, job);
    return hb_cycle_write(prof, job->cycle, job->path, job->flags, HB_NEW_FILE, &job->in,
                          prof->event_log ? marks : NULL);
}

static void write_job(hb_profiler *prof, hb_job *job)
{
    job->cpu_ns = hb_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    if (leaves_out(prof, job)) return;
    job->in = hb_log_dir_keep(job->dir);
    hb_cycle_marks marks;
    hb_cycle_marks_init(&marks, hb_own_scopes_of(job->flags));
    hb_result result = write_trace(prof, job, &marks);
    hb_kept_file_close(&job->in);
    hb_lock_take(&prof->lock);
    if (result != HB_OK) {
        if (job->cycle) keep_for_recovery(job->cycle);
        if (prof->job_result == HB_OK) {
            prof->job_result = result;
            strncpy(prof->job_error, hb_last_error(), sizeof prof->job_error - 1);
        }
    }
    hb_lock_give(&prof->lock);
    if (result == HB_OK) {
        hb_cycle_log(prof, job, &marks);
        hb_retention_add(&prof->retention, job->dir, job->path);
        hb_rank_digests_want(&prof->digests, prof->ranks, job->path);
    } else if (job->dump) {
        hb_warn("what was asked for is not written: %s", hb_last_error());
    } else {
        warn_unwritten(prof);
    }
    hb_cycle_marks_free(&marks);
    hb_control_written(prof, job->request, job->path, result == HB_OK ? NULL : hb_last_error());
}

/* Once, whatever follows: the trace's metadata counts them each time. */
static void warn_lost(hb_profiler *prof, const hb_session *session)
{
    char text[1024] = ""; /* nothing that needs memory: that may be what was missing */
    int size = 0;
    if (prof->warned_lost) return;
    for (int i = 0; i < HB_LOST_CAUSES && size < (int)sizeof text; i++)
        if (hb_losses[i].said && session->lost[i])
            size += snprintf(text + size, sizeof text - (size_t)size, "%s%" PRIu64 " %s",
                             size ? "; " : "", session->lost[i], hb_losses[i].sentence);
    prof->warned_lost = size > 0;
    if (prof->warned_lost)
        hb_warn("cycle %lld: %s; the trace's metadata counts them (said once)",
                (long long)session->cycle, text);
}

static void settle(hb_profiler *prof, const hb_cycle *cycle)
{
    hb_session_settle(&prof->spool, cycle->session);
    warn_lost(prof, cycle->session);
}

static void make_digests(hb_profiler *prof)
{
    hb_lock_take(&prof->lock);
    bool is_last = !prof->jobs;
    hb_lock_give(&prof->lock);
    hb_rank_digests_make(&prof->digests, is_last);
}

static void do_job(hb_profiler *prof, hb_job *job)
{
    bool owned = job->path != NULL; /* else it is gone with its cycle */
    if (owned)
        write_job(prof, job);
    else
        settle(prof, job->cycle);
    if (job->cycle) hb_cycle_drop(prof, job->cycle);
    if (owned && job->dump) hb_ring_dump_free(prof, job->dump);
    if (owned) hb_log_dir_drop(job->dir);
    make_digests(prof);
}

#define TICK_MS 1000

/* Under the lock: until there is something to do. */
static void wait_for_work(hb_profiler *prof)
{
    if (hb_news_wait(&prof->work, &prof->lock, HB_PROCESS_LOOK_MS)) return;
    prof->idle_ms += HB_PROCESS_LOOK_MS;
    if (prof->idle_ms >= TICK_MS) {
        prof->idle_ms = 0;
        if (prof->session) hb_session_tick(prof->session);
    }
    hb_lock_give(&prof->lock);
    hb_process_end_if_over();
    hb_samples_drain();
    hb_lock_take(&prof->lock);
}

/* Under the lock. */
static void do_jobs(hb_profiler *prof)
{
    while (prof->jobs) {
        hb_job *job = prof->jobs;
        prof->jobs = job->next;
        static hb_job settling; /* has no path; the job itself goes with its cycle */
        prof->running = job->path ? job : &settling;
        hb_lock_give(&prof->lock);
        bool owned = job->path != NULL;
        do_job(prof, job);
        hb_lock_take(&prof->lock);
        prof->running = NULL; /* before it is freed: who waits names its path */
        if (owned) free(job->path);
        if (owned) free(job);
        prof->jobs_done++;
        hb_news_tell(&prof->done);
    }
}

static void *work(void *arg)
{
    hb_profiler *prof = arg;
    hb_lock_take(&prof->lock);
    for (;;) {
        do_jobs(prof);
        if (prof->worker_ends) break;
        wait_for_work(prof);
    }
    prof->worker_ended = true;
    hb_news_tell(&prof->done);
    hb_lock_give(&prof->lock);
    return NULL;
}

hb_result hb_worker_start(hb_profiler *prof)
{
    if (prof->worker_runs) return HB_OK;
    int error = hb_background_thread(&prof->worker, "writer", work, prof);
    if (error) return hb_fail_errno(HB_ERROR_NO_MEMORY, error, "no thread for writing traces");
    prof->worker_runs = true;
    return HB_OK;
}

void hb_worker_tell_unwritten(hb_profiler *prof)
{
    hb_lock_take(&prof->lock);
    unsigned unwritten = prof->running ? 0 : prof->unwritten; /* else the worker's */
    if (unwritten) prof->unwritten = 0;
    hb_lock_give(&prof->lock);
    if (unwritten > 1) hb_warn("%u cycles in all could not be written", unwritten);
}

bool hb_worker_end(hb_profiler *prof)
{
    if (!prof->worker_runs) return true;
    hb_lock_take(&prof->lock);
    prof->worker_ends = true;
    hb_news_tell(&prof->work);
    hb_lock_give(&prof->lock);
    if (!hb_patience_join(prof->worker, &prof->worker_ended, &prof->done, &prof->lock))
        return false;
    hb_worker_tell_unwritten(prof);
    prof->worker_runs = prof->worker_ends = prof->worker_ended = false;
    return true;
}

static void submit(hb_profiler *prof, hb_job *job)
{
    hb_lock_take(&prof->lock);
    if (job->cycle) job->cycle->holders++;
    if (!prof->jobs) prof->jobs_end = &prof->jobs;
    *prof->jobs_end = job;
    prof->jobs_end = &job->next;
    prof->jobs_queued++;
    hb_lock_give(&prof->lock);
    hb_news_tell(&prof->work);
}

void hb_worker_settle(hb_profiler *prof, hb_cycle *cycle)
{
    cycle->settles = (hb_job){.cycle = cycle};
    submit(prof, &cycle->settles);
}

static hb_result submit_trace(hb_profiler *prof, hb_job what, const hb_trace_place *place)
{
    hb_job *job = malloc(sizeof *job);
    hb_result result = job ? hb_worker_start(prof) : HB_ERROR_NO_MEMORY;
    if (result != HB_OK) {
        hb_log_dir_drop(place->dir);
        free(job);
        free(place->path);
        return hb_fail(result, "no memory for writing a trace in the background");
    }
    *job = what;
    job->path = place->path;
    job->dir = place->dir;
    job->flags = place->flags;
    job->step_num = hb_step_number(prof);
    job->request = hb_demand_number(prof);
    submit(prof, job);
    return HB_OK;
}

hb_result hb_worker_submit(hb_profiler *prof, hb_cycle *cycle, const hb_trace_place *place)
{
    return submit_trace(prof, (hb_job){.cycle = cycle}, place);
}

hb_result hb_worker_submit_dump(hb_profiler *prof, hb_ring_dump *dump, const hb_trace_place *place)
{
    hb_result result = submit_trace(prof, (hb_job){.dump = dump}, place);
    if (result != HB_OK) hb_ring_dump_free(prof, dump);
    return result;
}

hb_result hb_worker_result(hb_profiler *prof)
{
    char text[sizeof prof->job_error];
    hb_lock_take(&prof->lock);
    hb_result result = prof->job_result;
    memcpy(text, prof->job_error, sizeof text);
    prof->job_result = HB_OK;
    hb_lock_give(&prof->lock);
    return result == HB_OK ? HB_OK : hb_fail(result, "%s", text);
}

#define PATIENCE_MS 2000

/* After `waited_ms`: a line that is written anew on a terminal, one that stays elsewhere. */
static void tell_waiting(const char *path, int waited_ms)
{
    char line[512];
    if (waited_ms < PATIENCE_MS) return;
    if (!isatty(STDERR_FILENO)) {
        if (waited_ms < PATIENCE_MS + HB_PATIENCE_LOOK_MS)
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

void hb_worker_wait(hb_profiler *prof)
{
    int waited_ms = 0;
    hb_patience patience = {0};
    hb_lock_take(&prof->lock);
    uint64_t last = prof->jobs_queued;
    while (prof->jobs_done < last) {
        bool in_vain;
        if (!hb_patience_wait(&patience, &prof->done, &prof->lock, prof->worker, &in_vain)) break;
        const hb_job *job = prof->running ? prof->running : prof->jobs;
        if (!in_vain || !job) continue;
        waited_ms += HB_PATIENCE_LOOK_MS;
        if (job->path) tell_waiting(job->path, waited_ms);
    }
    hb_lock_give(&prof->lock);
    clear_told(waited_ms);
}
