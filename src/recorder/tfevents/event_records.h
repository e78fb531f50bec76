/* SPDX-License-Identifier: MIT
 *
 * Numbers and texts as records of TensorBoard's event files, field for field as torch's
 * SummaryWriter writes them. Each function appends one framed record to `out`; out->failed tells of
 * no memory.
 */
#ifndef HB_TFEVENTS_EVENT_RECORDS_H
#define HB_TFEVENTS_EVENT_RECORDS_H

#include <hipboard/event_log.h>

#include "base/base.h"
#include "tfevents/histogram.h"

typedef struct hb_event_stamp {
    double wall_time; /* seconds since 1970 */
    int64_t step;
} hb_event_stamp;

static inline hb_event_stamp hb_event_now(int64_t step)
{
    return (hb_event_stamp){(double)hb_clock_ns(CLOCK_REALTIME) * 1e-9, step};
}

/** The record that every file begins with. */
void hb_event_version(hb_buf *out, double wall_time);

void hb_event_scalar(hb_buf *out, hb_event_stamp at, const char *tag, double value);
void hb_event_text(hb_buf *out, hb_event_stamp at, const char *tag, const char *markdown);
/** The histogram must not be empty. */
void hb_event_histogram(hb_buf *out, hb_event_stamp at, const char *tag,
                        const hb_bucket_counts *histogram);

/** The HParams tab's columns. */
typedef struct hb_columns {
    const hb_hparam *hparams;
    size_t num_hparams;
    size_t num_varying; /* so many, the first ones, are shown before the others */
    const char *const *metrics, *const *titles; /* tags, and what to call them; NULL: as the tag */
    size_t num_metrics;
} hb_columns;

/** The HParams tab's three: the columns, a run's values, how it ended. */
void hb_event_experiment(hb_buf *out, hb_event_stamp at, const hb_columns *columns);
void hb_event_session_start(hb_buf *out, hb_event_stamp at, const hb_hparam *hparams,
                            size_t num_hparams);
void hb_event_session_end(hb_buf *out, hb_event_stamp at, hb_session_status status);

/** The tags of a margin chart must come in threes. */
void hb_event_layout(hb_buf *out, hb_event_stamp at, const hb_chart_category *categories,
                     size_t num_categories);

#endif
