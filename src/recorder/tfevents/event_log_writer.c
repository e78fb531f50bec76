/* SPDX-License-Identifier: MIT */
#include "tfevents/event_log_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/process.h"
#include "base/thread_start.h"
#include "tfevents/event_records.h"

#define NO_THREAD_NS INT64_C(1000000000)

/* ---- errors ---- */

static void keep_error(hb_event_log *log, hb_result result, bool last)
{
    if (!log->warned)
        hb_warn("%s%s", hb_last_error(), last ? "" : "; the event log tries again with each flush");
    log->warned = true;
    hb_lock_take(&log->mutex);
    if (log->error == HB_OK) {
        log->error = result;
        snprintf(log->error_text, sizeof log->error_text, "%s", hb_last_error());
    }
    hb_lock_give(&log->mutex);
}

hb_result hb_event_log_take_error(hb_event_log *log)
{
    hb_lock_take(&log->mutex);
    hb_result result = log->error;
    if (result != HB_OK) hb_fail(result, "%s", log->error_text);
    log->error = HB_OK;
    hb_lock_give(&log->mutex);
    return result;
}

void hb_event_log_tell_lost(hb_event_log *log, uint64_t unsent)
{
    uint64_t dropped = __atomic_load_n(&log->dropped_queue, __ATOMIC_RELAXED) +
                       __atomic_load_n(&log->dropped_file, __ATOMIC_RELAXED);
    uint64_t told = unsent ? 0 : log->dropped_told; /* what tells of them may be lost as well */
    uint64_t lost = dropped - told + unsent;
    if (lost && !log->lost_warned)
        hb_warn("event log in '%s': %llu records are lost", log->dir, (unsigned long long)lost);
    log->lost_warned |= lost > 0;
}

/* ---- from the queue to the file ---- */

static void write_scalar(hb_buf *out, const hb_scalar_record *record)
{
    hb_event_stamp at = {(double)record->unix_ns * 1e-9, record->step};
    hb_event_scalar(out, at, record->tag, record->value);
}

static void write_record(void *arg, uint16_t kind, void *record)
{
    hb_event_log *log = arg;
    hb_lock_take(&log->file_mutex);
    hb_buf *out = hb_event_file_buffer(&log->file);
    uint64_t count = 1;
    if (kind == HB_EVENT_RECORD_SCALAR) {
        if (out) write_scalar(out, record);
    } else {
        hb_framed_record *framed = record;
        count = framed->count;
        if (out) hb_buf_append(out, framed->data, framed->size);
        free(framed->data);
        __atomic_fetch_sub(&log->heap_bytes, framed->size, __ATOMIC_RELAXED);
    }
    bool lost = !out || out->failed;
    if (out) out->failed = false;
    hb_lock_give(&log->file_mutex);
    __atomic_fetch_add(lost ? &log->dropped_file : &log->written, count, __ATOMIC_RELAXED);
}

/* False without memory: the next flush tries again. */
static bool append_note(hb_event_log *log, hb_buf *out, uint64_t queue, uint64_t file)
{
    char text[300];
    snprintf(text, sizeof text,
             "**%llu records are missing** from this run: %llu because the queue was full, %llu "
             "because the file could not be written.",
             (unsigned long long)(queue + file), (unsigned long long)queue,
             (unsigned long long)file);
    hb_event_stamp at = hb_event_now(__atomic_load_n(&log->step, __ATOMIC_RELAXED));
    hb_event_text(out, at, "hipboard/dropped_records", text);
    bool noted = !out->failed;
    out->failed = false;
    return noted;
}

/* Says in the log itself, and once on stderr, that records are missing. */
static void tell_dropped(hb_event_log *log)
{
    uint64_t queue = __atomic_load_n(&log->dropped_queue, __ATOMIC_RELAXED);
    uint64_t file = __atomic_load_n(&log->dropped_file, __ATOMIC_RELAXED);
    if (queue + file == log->dropped_told) return;
    hb_buf *out = hb_event_file_buffer(&log->file);
    if (!out) return;
    if (!log->dropped_warned)
        hb_warn("event log in '%s': records are dropped, %llu so far", log->dir,
                (unsigned long long)(queue + file));
    log->dropped_warned = true;
    if (append_note(log, out, queue, file)) log->dropped_told = queue + file;
}

/* Somebody removed the directory, as one does between experiments: begin anew. Or it could not be
 * made so far, and has no path yet. */
static hb_result make_if_missing(hb_event_log *log)
{
    struct stat status;
    bool there = hb_kept_file_is_there(&log->file.file);
    if (there && (fstat(log->file.file.fd, &status) || status.st_nlink > 0)) return HB_OK;
    if (!there && access(log->file.path, F_OK) == 0) return HB_OK; /* it was only closed */
    hb_event_file file;
    HB_TRY(hb_event_file_open_in(&file, &log->in, log->dir, log->suffix));
    hb_buf *pending = &log->file.pending;
    size_t gone = hb_record_whole(pending->data, log->file.sent);
    hb_buf_append(&file.pending, pending->data + gone, pending->size - gone);
    hb_event_file_abandon(&log->file);
    log->file = file;
    __atomic_store_n(&log->made, true, __ATOMIC_RELEASE);
    return HB_OK;
}

/* `all`: also what waits behind a record that is not filled, within a second. `last`: what is not
 * in the file then never will be. */
static void write_pending(hb_event_log *log, bool all, bool last)
{
    uint64_t lost = hb_event_queue_drain(&log->queue, write_record, log);
    while (all && hb_event_queue_may_go_on(&log->queue))
        lost += hb_event_queue_drain(&log->queue, write_record, log);
    __atomic_fetch_add(&log->dropped_queue, lost, __ATOMIC_RELAXED);
    hb_lock_take(&log->file_mutex);
    tell_dropped(log);
    hb_result result = log->file.pending.size > 0 ? make_if_missing(log) : HB_OK;
    if (result == HB_OK) result = hb_event_file_flush(&log->file);
    hb_lock_give(&log->file_mutex);
    if (result != HB_OK) keep_error(log, result, last);
    if (last) hb_event_log_tell_lost(log, hb_event_file_unsent(&log->file));
}

/* ---- the thread ---- */

void hb_event_log_init_locks(hb_event_log *log)
{
    hb_lock_init(&log->mutex, HB_LOCK_EVENT_LOG);
    hb_lock_init(&log->file_mutex, HB_LOCK_EVENT_FILE);
}

static bool much_is_queued(const hb_event_log *log)
{
    return hb_event_queue_pending(&log->queue) +
               __atomic_load_n(&log->heap_bytes, __ATOMIC_RELAXED) >=
           log->wake_bytes;
}

/* Until the interval is over, or somebody asks. The mutex is held. Who found the thread awake, or
 * woke it before it was here, will not ask again: hence the look at the queue. */
static void wait_for_work(hb_event_log *log)
{
    int64_t left_ms = log->flush_interval_ms;
    __atomic_store_n(&log->awake, false, __ATOMIC_SEQ_CST);
    while (!much_is_queued(log) && !log->stopping && log->flushes_asked == log->flushes_done &&
           !__atomic_load_n(&log->awake, __ATOMIC_RELAXED) && left_ms > 0) {
        int64_t wait_ms = HB_MIN(left_ms, HB_PROCESS_LOOK_MS);
        if (hb_news_wait(&log->work, &log->mutex, wait_ms)) continue;
        left_ms -= wait_ms;
        hb_lock_give(&log->mutex);
        hb_process_end_if_over();
        hb_lock_take(&log->mutex);
    }
    __atomic_store_n(&log->awake, true, __ATOMIC_RELAXED);
}

static void *writer_main(void *arg)
{
    hb_event_log *log = arg;
    bool stop = false;
    hb_lock_take(&log->mutex);
    while (!stop) {
        wait_for_work(log);
        stop = log->stopping;
        uint64_t asked = log->flushes_asked;
        bool all = stop || asked != log->flushes_done, last = stop || log->ends;
        hb_lock_give(&log->mutex);
        write_pending(log, all, last);
        hb_lock_take(&log->mutex);
        log->flushes_done = asked;
        log->stopped = stop;
        hb_news_tell(&log->done);
    }
    hb_lock_give(&log->mutex);
    return NULL;
}

static hb_result make_file(hb_event_log *log)
{
    if (log->tried) return HB_OK;
    log->tried = true;
    hb_buf_free(&log->file.pending); /* the parent's, in a child */
    hb_result result = hb_event_file_open_in(&log->file, &log->in, log->dir, log->suffix);
    __atomic_store_n(&log->made, result == HB_OK, __ATOMIC_RELEASE);
    return result;
}

/* Where that fails it is tried again after a second, not with each record; `warns`: callers may not
 * look at the result. */
static hb_result start_thread(hb_event_log *log, bool warns)
{
    int64_t now = hb_clock_ns(CLOCK_MONOTONIC);
    if (log->no_thread && now - log->no_thread < NO_THREAD_NS)
        return hb_fail(HB_ERROR_NO_MEMORY, "%s", log->error_text);
    int error = hb_background_thread(&log->thread, "events", writer_main, log);
    if (error) {
        hb_fail_errno(HB_ERROR_NO_MEMORY, error, "starting the thread of the event log in '%s'",
                      log->dir);
        snprintf(log->error_text, sizeof log->error_text, "%s", hb_last_error());
        if (warns && !log->no_thread)
            hb_warn("%s; what is logged until there is one is lost", log->error_text);
        log->no_thread = now;
        return HB_ERROR_NO_MEMORY;
    }
    __atomic_store_n(&log->running, HB_LOG_RUNS, __ATOMIC_RELEASE);
    return HB_OK;
}

static hb_result start_locked(hb_event_log *log, bool needs_file)
{
    if (__atomic_load_n(&log->running, __ATOMIC_RELAXED) != HB_LOG_NOT_YET) return HB_OK;
    hb_result made = make_file(log);
    return made != HB_OK && needs_file ? made : start_thread(log, !needs_file);
}

hb_result hb_event_log_start(hb_event_log *log, bool needs_file)
{
    HB_GUARDED();
    hb_lock_take(&log->mutex);
    hb_result result = start_locked(log, needs_file);
    hb_lock_give(&log->mutex);
    return result;
}

bool hb_event_log_stop(hb_event_log *log)
{
    hb_lock_take(&log->mutex);
    log->stopping = true;
    hb_news_tell(&log->work);
    hb_lock_give(&log->mutex);
    return hb_patience_join(log->thread, &log->stopped, &log->done, &log->mutex);
}

void hb_event_log_wake(hb_event_log *log)
{
    if (__atomic_load_n(&log->awake, __ATOMIC_RELAXED) ||
        __atomic_exchange_n(&log->awake, true, __ATOMIC_RELAXED))
        return;
    hb_lock_take(&log->mutex);
    hb_news_tell(&log->work);
    hb_lock_give(&log->mutex);
}

void hb_event_log_wait(hb_event_log *log)
{
    hb_patience patience = {0};
    bool in_vain;
    hb_lock_take(&log->mutex);
    uint64_t mine = ++log->flushes_asked;
    hb_news_tell(&log->work);
    while (log->flushes_done < mine &&
           hb_patience_wait(&patience, &log->done, &log->mutex, log->thread, &in_vain))
        continue;
    hb_lock_give(&log->mutex);
}

/* ---- fork() and exit() ---- */

static struct {
    hb_lock lock;
    hb_event_log *first;
} registry = {.lock = HB_LOCK_INIT(EVENT_LOGS)};

static void lock_all(void)
{
    hb_lock_hold_for_fork(&registry.lock);
    for (hb_event_log *log = registry.first; log; log = log->next)
        hb_lock_hold_for_fork(&log->mutex);
    for (hb_event_log *log = registry.first; log; log = log->next)
        hb_lock_hold_for_fork(&log->file_mutex);
}

static void unlock_all(void)
{
    for (hb_event_log *log = registry.first; log; log = log->next) {
        hb_lock_give_after_fork(&log->file_mutex);
        hb_lock_give_after_fork(&log->mutex);
    }
    hb_lock_give_after_fork(&registry.lock);
}

/* Queue and file are the parent's; the child forgets both. What records in the queue point to is
 * not freed, for nobody knows how much of it the parent's thread had freed. */
static void reset_in_child(hb_event_log *log)
{
    hb_event_log_init_locks(log);
    hb_event_queue_reset(&log->queue);
    hb_event_file_forget(&log->file);
    log->running = HB_LOG_NOT_YET;
    log->awake = log->stopping = log->stopped = log->ends = log->tried = log->made = false;
    log->warned = log->lost_warned = false;
    log->no_thread = 0;
    log->session = HB_LOG_SESSION_NONE;
    log->heap_bytes = log->dropped_queue = log->dropped_told = 0;
    log->dropped_warned = false;
    log->written = log->dropped_file = 0;
    log->flushes_asked = log->flushes_done = 0;
    log->error = HB_OK;
}

static void reset_all_in_child(void)
{
    hb_event_queue_thread_forked();
    for (hb_event_log *log = registry.first; log; log = log->next)
        reset_in_child(log);
    hb_lock_init(&registry.lock, HB_LOCK_EVENT_LOGS);
}

static void refuse_others(void)
{
    hb_lock_take(&registry.lock);
    for (hb_event_log *log = registry.first; log; log = log->next) {
        int runs = HB_LOG_RUNS;
        __atomic_compare_exchange_n(&log->running, &runs, HB_LOG_ENDS, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    }
    hb_lock_give(&registry.lock);
}

static void flush_last(hb_event_log *log)
{
    hb_lock_take(&log->mutex);
    log->ends = true;
    hb_lock_give(&log->mutex);
    hb_event_log_wait(log);
}

static void flush_all(void)
{
    hb_lock_take(&registry.lock);
    for (hb_event_log *log = registry.first; log; log = log->next)
        if (__atomic_load_n(&log->running, __ATOMIC_ACQUIRE))
            flush_last(log);
        else
            hb_event_log_tell_lost(log, 0);
    hb_lock_give(&registry.lock);
}

static void watch_process(void)
{
    hb_process_at_fork(HB_FORK_EVENT_LOGS,
                       (hb_fork_room){lock_all, unlock_all, reset_all_in_child});
    hb_process_at_exit(HB_EXIT_REFUSE, refuse_others);
    hb_process_at_exit(HB_EXIT_EVENT_LOGS, flush_all);
}

void hb_event_log_register(hb_event_log *log)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_process);
    hb_lock_take(&registry.lock);
    log->next = registry.first;
    registry.first = log;
    hb_lock_give(&registry.lock);
}

void hb_event_log_unregister(hb_event_log *log)
{
    hb_lock_take(&registry.lock);
    hb_event_log **link = &registry.first;
    while (*link && *link != log)
        link = &(*link)->next;
    if (*link) *link = log->next;
    hb_lock_give(&registry.lock);
}
