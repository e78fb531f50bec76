/* SPDX-License-Identifier: MIT */
#include <hipboard/event_log.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/guard.h"
#include "base/thread_start.h"
#include "tfevents/event_log_internal.h"
#include "tfevents/event_records.h"

#define DEFAULT_QUEUE_BYTES ((uint64_t)128 << 20)
#define DEFAULT_INTERVAL_MS 1000
/* A longer queue than this does not wait for its time. */
#define WAKE_BYTES          ((uint64_t)1 << 20)

/* ---- life ---- */

static hb_result read_options(hb_event_log *log, const hb_event_log_options *given)
{
    hb_event_log_options o = HB_EVENT_LOG_OPTIONS_INIT;
    HB_TRY(hb_options_take(given, &o, sizeof o, "HB_EVENT_LOG_OPTIONS_INIT"));
    const char *suffix = o.file_suffix ? o.file_suffix : "";
    if (strchr(suffix, '/'))
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "event log: '/' in the file suffix '%s'", suffix);
    log->suffix = strdup(suffix);
    log->max_bytes = o.max_queue_bytes ? o.max_queue_bytes : DEFAULT_QUEUE_BYTES;
    log->wake_bytes = HB_MIN(WAKE_BYTES, log->max_bytes / 4);
    log->flush_interval_ms = o.flush_interval_ms ? o.flush_interval_ms : DEFAULT_INTERVAL_MS;
    return HB_OK;
}

static void destroy(hb_event_log *log)
{
    hb_event_queue_free(&log->queue);
    hb_event_file_close(&log->file);
    hb_kept_file_close(&log->in);
    free(log->dir);
    free(log->suffix);
    free(log);
}

void hb_event_log_keep_dir(hb_event_log *log, hb_kept_file dir)
{
    log->in = dir;
}

static hb_result prepare(hb_event_log *log, const char *dir, const hb_event_log_options *options)
{
    if (!dir) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "event log: no directory");
    HB_TRY(read_options(log, options));
    log->dir = hb_absolute_path(dir);
    if (!log->dir || !log->suffix)
        return hb_fail_errno(HB_ERROR_NO_MEMORY, errno, "event log in '%s'", dir);
    return hb_event_queue_init(&log->queue, log->max_bytes);
}

hb_event_log *hb_event_log_new(const char *dir, const hb_event_log_options *options)
{
    hb_event_log *log = aligned_alloc(_Alignof(hb_event_log), sizeof *log);
    if (!log) {
        hb_fail(HB_ERROR_NO_MEMORY, "event log: out of memory");
        return NULL;
    }
    memset(log, 0, sizeof *log);
    log->file.file = log->in = HB_NO_KEPT_FILE; /* 0 is the program's */
    hb_event_log_init_locks(log);
    if (prepare(log, dir, options) != HB_OK) {
        destroy(log);
        return NULL;
    }
    hb_event_log_register(log);
    return log;
}

static hb_result fail_at_exit(const char *dir)
{
    return hb_fail(HB_ERROR_STATE,
                   "event log in '%s': the program is ending, its exit handlers run", dir);
}

/* The exit handlers have left what they wanted to write, with locks that the list of logs or this
 * one's file may need. */
static hb_result check_left(const char *dir)
{
    return hb_guard_has_left() ? fail_at_exit(dir) : HB_OK;
}

hb_event_log *hb_event_log_open(const char *dir, const hb_event_log_options *options)
{
    HB_GUARDED();
    if (check_left(dir ? dir : "") != HB_OK) return NULL;
    hb_event_log *log = hb_event_log_new(dir, options);
    if (!log || hb_event_log_start(log, true) == HB_OK) return log;
    hb_event_log_unregister(log);
    destroy(log);
    return NULL;
}

/* A call that may come from the program's own exit handlers. */
typedef struct log_call {
    hb_event_log *log;
    hb_result result;
} log_call;

static hb_result call(void (*fn)(void *call), hb_event_log *log)
{
    log_call c = {log, HB_OK};
    HB_TRY(check_left(log->dir));
    return hb_guard_call(fn, &c) ? c.result : fail_at_exit(log->dir);
}

static void flush(void *call)
{
    log_call *c = call;
    hb_event_log_wait(c->log);
    c->result = hb_event_log_take_error(c->log);
}

hb_result hb_event_log_flush(hb_event_log *log)
{
    HB_GUARDED();
    bool runs = log && __atomic_load_n(&log->running, __ATOMIC_ACQUIRE);
    return runs ? call(flush, log) : HB_OK;
}

static hb_result stop(hb_event_log *log, bool *gone)
{
    if (log->session == HB_LOG_SESSION_OPEN) {
        hb_event_log_wait(log); /* makes room */
        hb_event_log_session_end(log, HB_SESSION_SUCCESS);
    }
    if (!hb_event_log_stop(log)) {
        *gone = false;
        return hb_fail(HB_ERROR_IO, "event log in '%s': its file does not answer", log->dir);
    }
    hb_result result = hb_event_log_take_error(log);
    hb_result closed = hb_event_file_close(&log->file);
    return result == HB_OK ? closed : result;
}

static hb_result tell_dropped(const hb_event_log *log)
{
    uint64_t dropped = log->dropped_queue + log->dropped_file;
    if (dropped == 0) return HB_OK;
    return hb_fail(HB_ERROR_LIMIT, "event log in '%s': %llu records were dropped", log->dir,
                   (unsigned long long)dropped);
}

static void close_log(void *call)
{
    log_call *c = call;
    hb_event_log *log = c->log;
    hb_event_log_unregister(log);
    bool gone = true, runs = __atomic_load_n(&log->running, __ATOMIC_ACQUIRE) != HB_LOG_NOT_YET;
    if (!runs) hb_event_log_tell_lost(log, 0);
    c->result = runs ? stop(log, &gone) : HB_OK;
    if (c->result == HB_OK) c->result = tell_dropped(log);
    if (gone) destroy(log);
}

hb_result hb_event_log_close(hb_event_log *log)
{
    HB_GUARDED();
    return log ? call(close_log, log) : HB_OK;
}

const char *hb_event_log_path(hb_event_log *log)
{
    return log && __atomic_load_n(&log->made, __ATOMIC_ACQUIRE) ? log->file.path : "";
}

hb_result hb_event_log_count(hb_event_log *log, hb_event_log_counts *counts)
{
    if (!counts || counts->struct_size < sizeof counts->struct_size)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "hb_event_log_counts.struct_size is not set");
    hb_event_log_counts now = {.struct_size = counts->struct_size};
    if (log) {
        now.written = __atomic_load_n(&log->written, __ATOMIC_RELAXED);
        now.dropped_queue = __atomic_load_n(&log->dropped_queue, __ATOMIC_RELAXED);
        now.dropped_file = __atomic_load_n(&log->dropped_file, __ATOMIC_RELAXED);
    }
    memcpy(counts, &now, HB_MIN(counts->struct_size, sizeof now));
    return HB_OK;
}

/* ---- into the queue ---- */

static HB_COLD hb_result dropped(hb_event_log *log, uint64_t count)
{
    __atomic_fetch_add(&log->dropped_queue, count, __ATOMIC_RELAXED);
    hb_event_log_wake(log);
    return hb_fail(HB_ERROR_LIMIT, "event log in '%s': the queue of %llu bytes is full", log->dir,
                   (unsigned long long)log->max_bytes);
}

/* The first record makes the file, or lets the log's thread do so, which no caller waits for. At
 * exit what was logged until then is written; others may go on for ever. */
static HB_COLD hb_result get_ready(hb_event_log *log, uint64_t count)
{
    int running = __atomic_load_n(&log->running, __ATOMIC_ACQUIRE);
    bool refused = !hb_guard_is_exiting() && !hb_background_is_this();
    if (running == HB_LOG_ENDS && (refused || hb_guard_has_left())) return fail_at_exit(log->dir);
    hb_result result = running == HB_LOG_NOT_YET ? hb_event_log_start(log, false) : HB_OK;
    if (result != HB_OK) __atomic_fetch_add(&log->dropped_file, count, __ATOMIC_RELAXED);
    return result;
}

/* Room for a record, in a log that runs. */
static hb_result claim(hb_event_log *log, size_t size, uint64_t count, void **record,
                       uint64_t *pending)
{
    if (HB_UNLIKELY(__atomic_load_n(&log->running, __ATOMIC_ACQUIRE) != HB_LOG_RUNS))
        HB_TRY(get_ready(log, count));
    *record = hb_event_queue_claim(&log->queue, size, pending);
    return HB_LIKELY(*record) ? HB_OK : dropped(log, count);
}

static void publish(hb_event_log *log, void *record, size_t size, uint16_t kind, uint64_t pending)
{
    hb_event_queue_publish(record, size, kind);
    if (HB_UNLIKELY(pending >= log->wake_bytes)) hb_event_log_wake(log);
}

/* Takes over the buffer's bytes, `count` framed records. */
static hb_result put_framed(hb_event_log *log, hb_buf *buf, uint64_t count)
{
    if (buf->failed) {
        hb_buf_free(buf);
        return hb_fail(HB_ERROR_NO_MEMORY, "event log: out of memory");
    }
    hb_framed_record framed = {buf->data, buf->size, count};
    void *record;
    uint64_t pending;
    uint64_t heap = __atomic_add_fetch(&log->heap_bytes, framed.size, __ATOMIC_RELAXED);
    hb_result result = heap > log->max_bytes ? dropped(log, count)
                                             : claim(log, sizeof framed, count, &record, &pending);
    if (result != HB_OK) {
        __atomic_fetch_sub(&log->heap_bytes, framed.size, __ATOMIC_RELAXED);
        hb_buf_free(buf);
        return result;
    }
    memcpy(record, &framed, sizeof framed);
    publish(log, record, sizeof framed, HB_EVENT_RECORD_FRAMED, pending + heap);
    return HB_OK;
}

static int64_t step_of(hb_event_log *log, int64_t step)
{
    return step == HB_CURRENT_STEP ? __atomic_load_n(&log->step, __ATOMIC_RELAXED) : step;
}

static hb_event_stamp stamp(hb_event_log *log, int64_t step)
{
    return hb_event_now(step_of(log, step));
}

static hb_result check_tag(const char *tag)
{
    if (!tag || !*tag) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "event log: empty tag");
    if (strnlen(tag, HB_EVENT_TAG_MAX + 1) > HB_EVENT_TAG_MAX)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "event log: the tag '%.60s...' is over %d bytes",
                       tag, HB_EVENT_TAG_MAX);
    return HB_OK;
}

/* ---- what to log ---- */

void hb_event_log_set_step(hb_event_log *log, int64_t step)
{
    if (log) __atomic_store_n(&log->step, step, __ATOMIC_RELAXED);
}

hb_result hb_event_log_scalar(hb_event_log *log, const char *tag, int64_t step, double value)
{
    return hb_event_log_scalar_at(log, tag, step, value, hb_clock_ns(CLOCK_REALTIME));
}

/* The tag is copied, not interned: for the lengths that tags have a copy costs less than a look-up,
 * and a program that makes up tags as it goes does not fill the memory with them. */
hb_result hb_event_log_scalar_at(hb_event_log *log, const char *tag, int64_t step, double value,
                                 int64_t unix_ns)
{
    if (!log) return HB_OK;
    size_t length = tag ? strlen(tag) : 0;
    if (HB_UNLIKELY(length - 1 >= HB_EVENT_TAG_MAX)) return check_tag(tag);
    size_t size = sizeof(hb_scalar_record) + length + 1;
    uint64_t pending;
    void *to;
    HB_TRY(claim(log, size, 1, &to, &pending));
    hb_scalar_record *record = to;
    record->unix_ns = unix_ns;
    record->step = step_of(log, step);
    record->value = value;
    memcpy(record->tag, tag, length + 1);
    publish(log, record, size, HB_EVENT_RECORD_SCALAR, pending);
    return HB_OK;
}

hb_result hb_event_log_text(hb_event_log *log, const char *tag, int64_t step, const char *markdown)
{
    HB_GUARDED();
    if (!log) return HB_OK;
    HB_TRY(check_tag(tag));
    if (!markdown) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "event log: no text for '%s'", tag);
    hb_buf buf;
    hb_buf_init(&buf, SIZE_MAX / 2);
    hb_event_text(&buf, stamp(log, step), tag, markdown);
    return put_framed(log, &buf, 1);
}

hb_result hb_event_log_histogram(hb_event_log *log, const char *tag, int64_t step,
                                 const double *values, size_t num_values)
{
    HB_GUARDED();
    if (!log) return HB_OK;
    HB_TRY(check_tag(tag));
    hb_bucket_counts histogram = {0};
    hb_histogram_add(&histogram, values, values ? num_values : 0);
    if (histogram.count == 0)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "event log: no finite value for histogram '%s'",
                       tag);
    hb_buf buf;
    hb_buf_init(&buf, SIZE_MAX / 2);
    hb_event_histogram(&buf, stamp(log, step), tag, &histogram);
    return put_framed(log, &buf, 1);
}

/* ---- hyperparameters ---- */

hb_result hb_event_log_check_hparams(const hb_hparam *hparams, size_t num_hparams,
                                     const char *const *metrics, size_t num_metrics)
{
    for (size_t i = 0; i < num_hparams; i++) {
        const hb_hparam *hparam = hparams ? &hparams[i] : NULL;
        if (!hparam || !hparam->name || !*hparam->name)
            return hb_fail(HB_ERROR_INVALID_ARGUMENT, "event log: hyperparameter %zu has no name",
                           i);
        if (hparam->type == HB_HPARAM_TYPE_TEXT && !hparam->text)
            return hb_fail(HB_ERROR_INVALID_ARGUMENT, "event log: hyperparameter '%s' has no text",
                           hparam->name);
    }
    for (size_t i = 0; i < num_metrics; i++)
        HB_TRY(check_tag(metrics ? metrics[i] : NULL));
    return HB_OK;
}

static bool change_session(hb_event_log *log, int from, int to)
{
    return __atomic_compare_exchange_n(&log->session, &from, to, false, __ATOMIC_RELAXED,
                                       __ATOMIC_RELAXED);
}

hb_result hb_event_log_columns(hb_event_log *log, const hb_columns *columns)
{
    if (!log) return HB_OK;
    HB_TRY(hb_event_log_check_hparams(columns->hparams, columns->num_hparams, columns->metrics,
                                      columns->num_metrics));
    if (!change_session(log, HB_LOG_SESSION_NONE, HB_LOG_SESSION_OPEN))
        return hb_fail(HB_ERROR_STATE, "event log: hyperparameters are given already");
    hb_buf buf;
    hb_buf_init(&buf, SIZE_MAX / 2);
    hb_event_stamp at = hb_event_now(0);
    hb_event_experiment(&buf, at, columns);
    hb_event_session_start(&buf, at, columns->hparams, columns->num_hparams);
    hb_result result = put_framed(log, &buf, 2);
    if (result != HB_OK) change_session(log, HB_LOG_SESSION_OPEN, HB_LOG_SESSION_NONE);
    return result;
}

hb_result hb_event_log_hparams(hb_event_log *log, const hb_hparam *hparams, size_t num_hparams,
                               const char *const *metrics, size_t num_metrics)
{
    return hb_event_log_columns(log, &(hb_columns){.hparams = hparams,
                                                   .num_hparams = num_hparams,
                                                   .metrics = metrics,
                                                   .num_metrics = num_metrics});
}

hb_result hb_event_log_session_end(hb_event_log *log, hb_session_status status)
{
    if (!log) return HB_OK;
    if (!change_session(log, HB_LOG_SESSION_OPEN, HB_LOG_SESSION_ENDED))
        return hb_fail(HB_ERROR_STATE, "event log: no session is open");
    hb_buf buf;
    hb_buf_init(&buf, SIZE_MAX / 2);
    hb_event_session_end(&buf, hb_event_now(0), status);
    hb_result result = put_framed(log, &buf, 1);
    if (result != HB_OK) change_session(log, HB_LOG_SESSION_ENDED, HB_LOG_SESSION_OPEN);
    return result;
}

/* ---- custom scalars ---- */

static hb_result check_chart(const hb_chart *chart)
{
    for (size_t i = 0; i < chart->num_tags; i++)
        HB_TRY(check_tag(chart->tags ? chart->tags[i] : NULL));
    if (chart->margin && chart->num_tags % 3 != 0)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT,
                       "event log: margin chart '%s' has %zu tags, not threes of them",
                       chart->title ? chart->title : "", chart->num_tags);
    return HB_OK;
}

hb_result hb_event_log_layout(hb_event_log *log, const hb_chart_category *categories,
                              size_t num_categories)
{
    HB_GUARDED();
    if (!log) return HB_OK;
    if (!categories || num_categories == 0)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "event log: layout without categories");
    for (size_t i = 0; i < num_categories; i++)
        for (size_t j = 0; j < categories[i].num_charts; j++)
            HB_TRY(check_chart(&categories[i].charts[j]));
    hb_buf buf;
    hb_buf_init(&buf, SIZE_MAX / 2);
    hb_event_layout(&buf, hb_event_now(0), categories, num_categories);
    return put_framed(log, &buf, 1);
}
