/* SPDX-License-Identifier: MIT
 *
 * hipboard/event_log.h - TensorBoard's event files from C, with or without profiling: what
 * torch.utils.tensorboard.SummaryWriter is to PyTorch.
 *
 *     hb_event_log *log = hb_event_log_open("runs/mine", NULL);
 *     hb_event_log_hparams(log, (hb_hparam[]){HB_HPARAM("lr", 0.1)}, 1,
 *                          (const char *[]){"loss"}, 1);
 *     for (int step = 0; step < steps; step++)
 *         hb_event_log_scalar(log, "loss", step, train_step());
 *     hb_event_log_close(log);
 *
 * and `tensorboard --logdir runs` shows the curve while it grows. A directory is a run; several
 * processes may log into one, each has its own file.
 *
 * Everything but open and close may be called from any thread at any time. Logging calls do no
 * input or output: they put a record into a bounded queue, and a background thread writes the file
 * once per flush interval. What goes wrong there (a full disk) is reported by flush and close, and
 * once on stderr; the program goes on. Every function accepts a NULL log and then does nothing, so
 * that a run without a log needs no ifs.
 *
 * After fork() the child's first record opens a file of the child's own. Killed processes lose the
 * last flush interval; exit() flushes.
 */
#ifndef HIPBOARD_EVENT_LOG_H
#define HIPBOARD_EVENT_LOG_H

#include <hipboard/hipboard.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hb_event_log hb_event_log;

typedef struct hb_event_log_options {
    size_t struct_size;
    const char *file_suffix; /* added to the file's name; NULL: nothing */
    /** Most memory for records not yet written, some 60 bytes a scalar; taken only as it is needed.
     * 0: 128 MiB. */
    uint64_t max_queue_bytes;
    uint32_t flush_interval_ms; /* 0: 1000 */
} hb_event_log_options;

#define HB_EVENT_LOG_OPTIONS_INIT HB_SIZED_(hb_event_log_options)

/** Makes `dir` if needed and in it a new file "events.out.tfevents.<seconds>.<host>.<pid>.<n>".
 * Other files there are left alone. `options` may be NULL; they are copied. NULL with
 * hb_last_error() when that fails. */
HB_API hb_event_log *hb_event_log_open(const char *dir, const hb_event_log_options *options);

/** Writes what is queued, ends a session begun by hb_event_log_hparams() as a success, and frees.
 * The first error since the last flush; HB_ERROR_LIMIT when records were dropped for want of room,
 * which the log itself tells too, in the text "hipboard/dropped_records". */
HB_API hb_result hb_event_log_close(hb_event_log *log);

/** Returns when everything logged before is in the file, where a running TensorBoard sees it. The
 * first error since the last flush. Not from signal handlers. */
HB_API hb_result hb_event_log_flush(hb_event_log *log);

/** The file's path, "" in a forked child that has logged nothing, or whose file could not be made
 * so far. Valid until close; another one when the file was removed and had to be made again. */
HB_API const char *hb_event_log_path(hb_event_log *log);

typedef struct hb_event_log_counts {
    size_t struct_size;
    uint64_t written;       /* records in the file, without the first, which is the format's */
    uint64_t dropped_queue; /* the queue was full */
    uint64_t dropped_file;  /* the file could not be written */
} hb_event_log_counts;

/** What became of the records so far. `counts->struct_size` must be set. */
HB_API hb_result hb_event_log_count(hb_event_log *log, hb_event_log_counts *counts);

/* ---- what to log ----
 *
 * Tags group by '/' in TensorBoard. They and all other texts may hold any byte; what is not UTF-8
 * is shown as U+FFFD. A tag is not empty and at most HB_EVENT_TAG_MAX bytes. Results other than
 * HB_OK: HB_ERROR_INVALID_ARGUMENT, HB_ERROR_NO_MEMORY, and HB_ERROR_LIMIT when the queue is
 * full. */

#define HB_EVENT_TAG_MAX 4096

/** As a step: the one last given to hb_event_log_set_step(), 0 before. */
#define HB_CURRENT_STEP INT64_MIN
HB_API void hb_event_log_set_step(hb_event_log *log, int64_t step);

/** A number, any double; kept with 32 bits, as TensorBoard's default loader shows no other. */
HB_API hb_result hb_event_log_scalar(hb_event_log *log, const char *tag, int64_t step,
                                     double value);

/** The same for a moment in the past, in nanoseconds since 1970. */
HB_API hb_result hb_event_log_scalar_at(hb_event_log *log, const char *tag, int64_t step,
                                        double value, int64_t unix_ns);

/** A text, shown as Markdown under "<tag>/text_summary". */
HB_API hb_result hb_event_log_text(hb_event_log *log, const char *tag, int64_t step,
                                   const char *markdown);

/** How `values` are distributed, in torch's default buckets: from +-1e-12 to +-1e20, each 1.1 times
 * as wide as the one before. Values beyond count in the outermost; NaN and infinities are left out.
 * At least one value must be finite. Counted by the caller, some 20 ns a value. */
HB_API hb_result hb_event_log_histogram(hb_event_log *log, const char *tag, int64_t step,
                                        const double *values, size_t num_values);

/* ---- hyperparameters ---- */

typedef enum hb_hparam_type {
    HB_HPARAM_TYPE_NUMBER = 0,
    HB_HPARAM_TYPE_TEXT,
    HB_HPARAM_TYPE_BOOL,
} hb_hparam_type;

typedef struct hb_hparam {
    const char *name;
    hb_hparam_type type;
    double number;
    const char *text;
    bool boolean;
} hb_hparam;

#define HB_HPARAM(key, value)                              \
    {                                                      \
        (key), HB_HPARAM_TYPE_NUMBER, (value), NULL, false \
    }
#define HB_HPARAM_TEXT(key, value)                    \
    {                                                 \
        (key), HB_HPARAM_TYPE_TEXT, 0, (value), false \
    }
#define HB_HPARAM_BOOL(key, value)                   \
    {                                                \
        (key), HB_HPARAM_TYPE_BOOL, 0, NULL, (value) \
    }

/** What this run's settings are, for the HParams tab's table and plots, where it is compared with
 * the other runs of the log directory. `metrics` names scalars of this run; their last values stand
 * in the table. TensorBoard takes the columns from one run, so that all should name the same. Once
 * per log, else HB_ERROR_STATE. */
HB_API hb_result hb_event_log_hparams(hb_event_log *log, const hb_hparam *hparams,
                                      size_t num_hparams, const char *const *metrics,
                                      size_t num_metrics);

typedef enum hb_session_status {
    HB_SESSION_SUCCESS = 1,
    HB_SESSION_FAILURE = 2,
} hb_session_status;

/** How the run ended, when it is not close that should say so. HB_ERROR_STATE without
 * hb_event_log_hparams() before, or when said already. */
HB_API hb_result hb_event_log_session_end(hb_event_log *log, hb_session_status status);

/* ---- custom scalars ---- */

typedef struct hb_chart {
    const char *title;
    const char *const *tags; /* a line for each scalar that matches one of these expressions; */
    size_t num_tags;
    bool margin; /* or with this: value, lower, upper, again and again: a line in a band */
} hb_chart;

typedef struct hb_chart_category {
    const char *title;
    const hb_chart *charts;
    size_t num_charts;
    bool closed; /* folded until clicked on */
} hb_chart_category;

/** Which scalars the Custom Scalars tab draws together. The first layout of a run counts. */
HB_API hb_result hb_event_log_layout(hb_event_log *log, const hb_chart_category *categories,
                                     size_t num_categories);

/* ---- a profiler's event file ----
 *
 * hb_tensorboard_trace_handler() keeps an event file beside its traces. From hb_profiler_start()
 * until the profiler is destroyed these log into it, as hb_scalar() does: from any thread, in every
 * step, recorded or not, at the profiler's present step. Without such a profiler (or with
 * HB_NO_EVENT_FILE, on ranks other than 0, in a forked child) there is nothing to log into, and
 * they return HB_OK. Not from signal handlers. */

HB_API hb_result hb_text(const char *tag, const char *markdown);
HB_API hb_result hb_histogram(const char *tag, const double *values, size_t num_values);

/** The program's settings and results, for the HParams tab: `hparams` come beside those that
 * hipboard finds out itself (arch, compute_units, rocm_version, ranks, git), `metrics` beside step
 * time, utilization and peak memory. All are copied. May be called again, for more of them or other
 * values, and before there is a profiler.
 *
 * The table is written once, when the first cycle is complete. HB_ERROR_STATE after that, until the
 * profiler is destroyed: what was given is kept for the next one. */
HB_API hb_result hb_hparams(const hb_hparam *hparams, size_t num_hparams,
                            const char *const *metrics, size_t num_metrics);

#ifdef __cplusplus
}
#endif
#endif /* HIPBOARD_EVENT_LOG_H */
