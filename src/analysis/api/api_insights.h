/* SPDX-License-Identifier: MIT
 *
 * What hb_insights_create() makes.
 */
#ifndef HB_API_INSIGHTS_H
#define HB_API_INSIGHTS_H

#include <hipboard/analysis.h>

#include "insight/insight.h"

struct hb_insights {
    hb_insight in;
    hb_buf rules;
    hb_gpu_time *gpus;
    hb_stream_time *streams;
    hb_copy_stat *copies;
    hb_idle_cause *causes;
    hb_idle_gap *gaps;
    hb_kernel_insight *kernels;
    hb_kernel_class *classes;
    hb_finding *findings;
    hb_roof *roof; /* made when it is first asked for */
};

/** The text of a pid or tid: an index of hb_trace.keys. Lives as long as the insights. */
const char *hb_insights_key_text(hb_insights *s, uint32_t key);

#endif
