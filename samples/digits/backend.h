/* SPDX-License-Identifier: MIT
 *
 * What a device must be able to compute: plain functions over plain arrays, without profiling,
 * shapes or ownership, which ops.c adds. cpu.c has them as loops.
 */
#ifndef DIGITS_BACKEND_H
#define DIGITS_BACKEND_H

#include "allocator.h"

#include <stdbool.h>
#include <stdint.h>

/* A batch of images under a sliding square window of stride 1 that keeps their size. */
struct window {
    int64_t images, channels, height, width;
    int64_t side; /* of the window; odd */
};

/* c = (accumulate ? c : 0) + op(a) op(b), with op(a) m x k, op(b) k x n and c m x n, row-major. */
struct gemm {
    int64_t m, n, k;
    bool transpose_a, transpose_b, accumulate;
};

struct backend {
    const char *name;
    struct memory_source memory;

    void (*fill)(float *x, float value, int64_t n);
    void (*scale)(float *x, float factor, int64_t n);
    void (*add_scaled)(float *y, const float *x, float factor, int64_t n); /* y += factor x */

    void (*gemm)(float *c, const float *a, const float *b, const struct gemm *g);
    /* Rows start from, or are summed up into (one added to each), a vector of `n`. */
    void (*broadcast_rows)(float *y, const float *row, int64_t m, int64_t n);
    void (*sum_rows)(float *row, const float *x, int64_t m, int64_t n);

    /* image (images, channels, height, width) <-> columns (images, channels side^2, height width)
     */
    void (*im2col)(float *columns, const float *image, const struct window *w);
    void (*col2im)(float *image, const float *columns, const struct window *w);
    /* y (images, channels, area) gets, or b (channels) sums up, one number a channel. */
    void (*add_channel_bias)(float *y, const float *b, int64_t images, int64_t channels,
                             int64_t area);
    void (*sum_channels)(float *b, const float *y, int64_t images, int64_t channels, int64_t area);

    void (*relu)(float *y, const float *x, int64_t n);
    void (*relu_backward)(float *dx, const float *dy, const float *x, int64_t n);
    /* Windows of 2x2 with stride 2 over `planes` of height x width; `chosen` are indices into a
     * plane. */
    void (*max_pool)(float *y, int32_t *chosen, const float *x, int64_t planes, int64_t height,
                     int64_t width);
    void (*max_pool_backward)(float *dx, const float *dy, const int32_t *chosen, int64_t planes,
                              int64_t area_in, int64_t area_out);

    void (*log_softmax)(float *y, const float *x, int64_t m, int64_t n);
    void (*log_softmax_backward)(float *dx, const float *dy, const float *y, int64_t m, int64_t n);
    float (*nll_loss)(const float *log_p, const int64_t *labels, int64_t m, int64_t n);
    void (*nll_loss_backward)(float *dlog_p, const int64_t *labels, int64_t m, int64_t n);
    void (*argmax)(int64_t *best, const float *x, int64_t m, int64_t n);
};

extern const struct backend cpu_backend;

#endif
