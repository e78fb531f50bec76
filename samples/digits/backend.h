/* SPDX-License-Identifier: MIT
 *
 * What a device must be able to compute: plain functions over plain arrays, without profiling,
 * shapes or ownership, which ops.c adds. cpu.c has them as loops, hip.c as launches of the kernels
 * in kernels.hip.
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

/* c = (accumulate ? c : 0) + op(a) op(b), with op(a) m x k, op(b) k x n and c m x n, row-major;
 * `batches` times, with matrices so many elements apart. With 0 it is the same one each time: so
 * products are summed up in one c, which must accumulate. */
struct gemm {
    int64_t m, n, k;
    bool transpose_a, transpose_b, accumulate;
    int64_t batches, a_batch, b_batch, c_batch;
};

/* Batches on their way to the device lie in one of two places there, by turns: while kernels use
 * one, the next batch is copied to the other. */
enum { TRANSFER_SLOTS = 2 };

/* Between the host's memory and that of a device. */
struct transfers {
    struct memory_source host_memory; /* such as copies may read while the program goes on */

    /* After the kernels launched so far; they return when the copy is done. */
    void (*to_device)(void *device, const void *host, size_t bytes);
    void (*to_host)(void *host, const void *device, size_t bytes);

    /* Copies beside the kernels. Begin: when the slot's last batch is no longer needed, on the host
     * either. `host` must stay until the slot's next begin. End: kernels launched later wait for
     * the copies. Release: kernels launched so far are the last to need the batch. */
    void (*slot_begin)(int slot);
    void (*slot_copy)(void *device, const void *host, size_t bytes);
    void (*slot_end)(int slot);
    void (*slot_release)(int slot);
};

struct backend {
    const char *name;
    struct memory_source memory;
    const struct transfers *transfers; /* NULL: its memory is the host's */
    void (*report_times)(void);        /* of kernels, to report_kernel_timed(); or NULL */

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

/** The processor with a matrix product that reads memory in order, or a plain one. */
const struct backend *cpu_backend_with(bool plain);

#endif
