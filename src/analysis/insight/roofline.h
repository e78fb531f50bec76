/* SPDX-License-Identifier: MIT
 *
 * What operators and kernels achieved, beside what their GPU can do at most: by the FLOPs and the
 * inputs that a trace tells, without any counter.
 *
 * FLOPs and bytes are an operator's: the outermost one that has FLOPs, else the innermost one with
 * inputs. Its kernels' time is summed up; of an operator without device work and calls of the
 * runtime it is its own, on the CPU. Of an operator's work each kernel has its share of the time.
 * Bytes are those of the inputs, each once, and of a matrix product's result: the least that has to
 * be moved, so that what they lead to is a lower bound.
 */
#ifndef HB_INSIGHT_ROOFLINE_H
#define HB_INSIGHT_ROOFLINE_H

#include "gpu/peaks.h"
#include "insight/insight.h"

#define HB_NO_GPU_SUM UINT32_MAX

/** Below this share of the roof time counts as spent far from it. */
#define HB_FAR_FROM_ROOF 0.3

/** Calls of operators or kernels of a name and type. */
typedef struct hb_rate_sum {
    hb_string_id name, dims; /* dims: of inputs; Input Dims as the file has them, 0: none */
    uint32_t gpu;            /* index of hb_insight.gpus; HB_NO_GPU_SUM: the CPU */
    hb_peak_type type;
    bool shared; /* a kernel, in part beside others in its operator */
    bool known;  /* the roof of all of it */
    uint64_t calls;
    double time, flops, bytes; /* µs */
    double ideal;              /* µs that it takes at the roof */
    double by_memory;          /* time of what memory bounds */
    double far;                /* time below HB_FAR_FROM_ROOF */
} hb_rate_sum;
typedef HB_VEC(hb_rate_sum) hb_rate_sums;

/** What a GPU can do. */
typedef struct hb_gpu_peaks {
    hb_peaks peaks;
    double mhz;    /* 0: not known */
    bool measured; /* mhz is what its sensors told in the mean, else its highest clock */
} hb_gpu_peaks;

typedef struct hb_roofline {
    hb_rate_sums operators, inputs, kernels; /* by time, descending */
    hb_gpu_peaks *gpus;                      /* as hb_insight.gpus */
    double kernel_time, rated; /* of all kernels; of those whose operators tell work */
} hb_roofline;

/** To be called inside hb_arena_try(). */
void hb_insight_roofline(hb_insight *in, hb_roofline *to);

#endif
