/* SPDX-License-Identifier: MIT
 *
 * What the program and its kernels (kernels.hip) agree on: each kernel's name and its one argument,
 * a struct. For C and for HIP.
 *
 * Matrices are given by strides, in elements, from row to row and from column to column, so that a
 * transposed one is the same memory with its strides exchanged.
 */
#ifndef DIGITS_KERNELS_H
#define DIGITS_KERNELS_H

#include <stdint.h>

/* Threads of a block; side of the tiles of gemm's result, one a block. */
enum { KERNEL_BLOCK = 256, KERNEL_TILE = 16 };

#define KERNELS(X)          \
    X(fill)                 \
    X(scale)                \
    X(add_scaled)           \
    X(gemm)                 \
    X(broadcast_rows)       \
    X(im2col)               \
    X(col2im)               \
    X(add_channel_bias)     \
    X(sum_channels)         \
    X(relu)                 \
    X(relu_backward)        \
    X(max_pool)             \
    X(max_pool_backward)    \
    X(log_softmax)          \
    X(log_softmax_backward) \
    X(nll_loss)             \
    X(nll_loss_backward)    \
    X(argmax)

struct fill_args {
    float *x;
    float value;
    int32_t n;
};

struct scale_args {
    float *x;
    float factor;
    int32_t n;
};

struct add_scaled_args { /* y += factor x */
    float *y;
    const float *x;
    float factor;
    int32_t n;
};

/* c = (accumulate ? c : 0) + a b, with a m x k and b k x n; c's rows are dense. `batches` times:
 * into products of their own, or summed up into one where `sum_batches`. Blocks are (tiles along n,
 * along m, products). */
struct gemm_args {
    float *c;
    const float *a, *b;
    int32_t m, n, k;
    int32_t a_row, a_column, b_row, b_column;
    int32_t batches, c_batch, a_batch, b_batch; /* from one batch to the next, in elements */
    int32_t accumulate, sum_batches;
};

struct broadcast_rows_args {
    float *y;
    const float *row;
    int32_t m, n;
};

/* The window slides as in ../backend.h. */
struct im2col_args {
    float *columns;
    const float *image;
    int32_t planes, height, width, side;
};

struct col2im_args {
    float *image;
    const float *columns;
    int32_t planes, height, width, side;
};

struct add_channel_bias_args {
    float *y;
    const float *b;
    int32_t images, channels, area;
};

/* One block a channel. */
struct sum_channels_args {
    float *b;
    const float *y;
    int32_t images, channels, area;
};

struct relu_args {
    float *y;
    const float *x;
    int32_t n;
};

struct relu_backward_args {
    float *dx;
    const float *dy, *x;
    int32_t n;
};

struct max_pool_args {
    float *y;
    int32_t *chosen;
    const float *x;
    int32_t planes, height, width;
};

struct max_pool_backward_args { /* dx is zero before */
    float *dx;
    const float *dy;
    const int32_t *chosen;
    int32_t planes, area_in, area_out;
};

struct log_softmax_args {
    float *y;
    const float *x;
    int32_t m, n;
};

struct log_softmax_backward_args {
    float *dx;
    const float *dy, *y;
    int32_t m, n;
};

struct nll_loss_args { /* one block */
    float *loss;
    const float *log_p;
    const int64_t *labels;
    int32_t m, n;
};

struct nll_loss_backward_args {
    float *dlog_p;
    const int64_t *labels;
    int32_t m, n;
};

struct argmax_args {
    int64_t *best;
    const float *x;
    int32_t m, n;
};

#endif
