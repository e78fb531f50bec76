/* SPDX-License-Identifier: MIT
 *
 * What a GPU can do at most: operations and bytes a second, of its architecture and clocks.
 */
#ifndef HB_GPU_PEAKS_H
#define HB_GPU_PEAKS_H

#include <hipboard/hipboard.h>

#include "base/base.h"
#include "base/str.h"

/** Types that GPUs compute in, at rates of their own. */
typedef enum hb_peak_type {
    HB_PEAK_F64,
    HB_PEAK_F32,
    HB_PEAK_F16,
    HB_PEAK_BF16,
    HB_PEAK_F8,
    HB_PEAK_I8,
    HB_PEAK_TYPES,
    HB_PEAK_NONE = HB_PEAK_TYPES /* any other, or not known */
} hb_peak_type;

/** "f64", ...; "" of none. */
const char *hb_peak_type_name(hb_peak_type type);

hb_peak_type hb_peak_type_of_dtype(hb_dtype type);

/** An element type as torch names it, "c10::Half": what is computed in, and an element's bytes (0:
 * not known). Complex numbers are pairs of their parts. */
hb_peak_type hb_peak_type_of(hb_str dtype, uint32_t *bytes);

/** What HIP says of a device. 0: not known. */
typedef struct hb_peak_query {
    hb_str arch;     /* "gfx90a"; what follows a ':' is passed over */
    int32_t num_cus; /* multiProcessorCount: pairs of CUs since gfx10 */
    double clock_khz, memory_khz;
    int32_t memory_bus_bits;
} hb_peak_query;

/** 0: there is none, or it is not known. */
typedef struct hb_peaks {
    double vector[HB_PEAK_TYPES], matrix[HB_PEAK_TYPES]; /* operations a second */
    double bytes;                                        /* of its memory, a second */
} hb_peaks;

/** How many CUs HIP counts as one: two since gfx10. */
int32_t hb_cus_of_one(hb_str arch);

/** All zero for an architecture that is not known. */
hb_peaks hb_peaks_of(const hb_peak_query *query);

/** The larger one of the two. */
static inline double hb_peak_of(const hb_peaks *peaks, hb_peak_type type)
{
    if (type >= HB_PEAK_TYPES) return 0;
    return HB_MAX(peaks->vector[type], peaks->matrix[type]);
}

#endif
