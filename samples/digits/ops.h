/* SPDX-License-Identifier: MIT
 *
 * The operators of the network, named as torch names them. Each is a scope of kind operator
 * (hb_op) around kernels of the device its first input lives on, with its inputs' shapes, its FLOPs
 * and, in pairs of forward and backward, a common sequence number.
 *
 * New tensors are returned and belong to the caller; inputs are only read.
 */
#ifndef DIGITS_OPS_H
#define DIGITS_OPS_H

#include "tensor.h"

/** What a forward operator leaves behind for its backward one to name. */
struct grad_link {
    uint64_t sequence, thread;
};

/* Convolution of x (n, c, h, w) with weight (o, c, k, k), stride 1, zero padding that keeps h, w.
 * `columns` gets the unfolded input, which backward needs. */
struct tensor op_conv2d(const struct tensor *x, const struct tensor *weight,
                        const struct tensor *bias, struct tensor *columns, struct grad_link *link);
/* Adds to dweight and dbias. Returns the gradient of the input, or no tensor without `want_dx`. */
struct tensor op_conv2d_backward(const struct tensor *dy, const struct tensor *weight,
                                 const struct tensor *columns, struct tensor *dweight,
                                 struct tensor *dbias, bool want_dx, const struct grad_link *link);

struct tensor op_relu(const struct tensor *x, struct grad_link *link);
struct tensor op_relu_backward(const struct tensor *dy, const struct tensor *x,
                               const struct grad_link *link);

/* 2x2 windows with stride 2. `chosen` gets the positions of the maxima, which backward needs. */
struct tensor op_max_pool2d(const struct tensor *x, struct tensor *chosen, struct grad_link *link);
struct tensor op_max_pool2d_backward(const struct tensor *dy, const struct tensor *chosen,
                                     int64_t height, int64_t width, const struct grad_link *link);

/* Views: the same memory in another shape, so `x` itself is changed. */
void op_flatten(struct tensor *x, struct grad_link *link);
void op_flatten_backward(struct tensor *dy, const int64_t dims[4], const struct grad_link *link);

/* bias + x (n, in) weight (in, out) */
struct tensor op_linear(const struct tensor *x, const struct tensor *weight,
                        const struct tensor *bias, struct grad_link *link);
/* Adds to dweight and dbias. */
struct tensor op_linear_backward(const struct tensor *dy, const struct tensor *x,
                                 const struct tensor *weight, struct tensor *dweight,
                                 struct tensor *dbias, const struct grad_link *link);

struct tensor op_log_softmax(const struct tensor *x, struct grad_link *link);
struct tensor op_log_softmax_backward(const struct tensor *dy, const struct tensor *y,
                                      const struct grad_link *link);

/* Mean over the rows of log_p (n, classes) of -log_p[label]. */
float op_nll_loss(const struct tensor *log_p, const struct tensor *labels, struct grad_link *link);
struct tensor op_nll_loss_backward(const struct tensor *log_p, const struct tensor *labels,
                                   const struct grad_link *link);

/* Between the host and a device, by one of its transfers. */
void op_copy_(struct tensor *to, const struct tensor *from,
              void (*copy)(void *to, const void *from, size_t bytes));
/* A copy of x, of the host, on a device with memory of its own. */
struct tensor op_to(const struct tensor *x, struct device *device);

struct tensor op_argmax(const struct tensor *x); /* of each row */

void op_zero_(struct tensor *x);
void op_mul_(struct tensor *x, float factor);
void op_add_(struct tensor *y, const struct tensor *x, float alpha); /* y += alpha x */

#endif
