/* SPDX-License-Identifier: MIT
 *
 * How much of each step a name takes: a line of small bars beside its numbers.
 */
#ifndef HB_PAGE_PAGE_SPARKS_H
#define HB_PAGE_PAGE_SPARKS_H

#include "plugin/analysis.h"

enum { HB_SPARK_BARS = 32 }; /* of more steps several are one bar: their mean */

typedef struct hb_sparks {
    hb_arena arena;
    uint32_t bars;    /* 0: fewer than two steps, nothing to tell */
    uint32_t *places; /* by name: index of `times` in bars, + 1; 0: none */
    double *times;
    char text[HB_SPARK_BARS + 1];
} hb_sparks;

/** Of operators' own time, on the host and on devices, by when they began; of kernels' time. Free
 * it in any case. HB_ERROR_NO_MEMORY. */
hb_result hb_sparks_of_operators(hb_sparks *sparks, hb_analysis *analysis);
hb_result hb_sparks_of_kernels(hb_sparks *sparks, hb_analysis *analysis);
void hb_sparks_free(hb_sparks *sparks);

/** A digit a bar: 0 nothing, 8 the most that this name takes; "" of none. Until the next call. */
const char *hb_spark_of(hb_sparks *sparks, hb_string_id name);

#endif
