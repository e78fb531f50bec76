/* SPDX-License-Identifier: MIT
 *
 * Who held a device's memory at some moments, for traces with more allocations than can be listed.
 */
#ifndef HB_PAGE_PAGE_MOMENTS_H
#define HB_PAGE_PAGE_MOMENTS_H

#include <hipboard/analysis.h>

#include "base/string_table.h"
#include "page/page_table.h"

enum { HB_PAGE_MOMENTS = 256 }; /* within a trace */

/** Some bytes of a holder, from a time on (µs; what was there before: less than 0). */
typedef struct hb_memory_step {
    double at, bytes; /* bytes < 0: freed */
    uint32_t holder;  /* index of hb_memory_steps.names */
} hb_memory_step;

typedef struct hb_memory_steps {
    hb_memory_step *items;
    size_t count;
    hb_texts names;
} hb_memory_steps;

/** Room for two steps for each of so many allocations. Free them in any case. */
hb_result hb_memory_steps_init(hb_memory_steps *steps, size_t allocations);
/** `until`: NaN of what was not freed. */
hb_result hb_memory_steps_add(hb_memory_steps *steps, const char *holder, double from, double until,
                              double bytes);
void hb_memory_steps_free(hb_memory_steps *steps);

/** Rows of "moments": at moments that divide the span, each holder, the largest first; of many the
 * smaller ones are one row. Sorts the steps. */
hb_result hb_page_put_moments(hb_emitter *out, hb_memory_steps *steps, const char *device,
                              double span_us);

extern const hb_page_table hb_page_moments_table;

#endif
