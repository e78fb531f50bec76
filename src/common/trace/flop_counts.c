/* SPDX-License-Identifier: MIT */
#include "trace/flop_counts.h"

static double positive(int64_t v)
{
    return v > 0 ? (double)v : 0;
}

double hb_count_elements(const int64_t *dims, size_t n)
{
    double p = dims || n == 0 ? 1 : 0;
    for (size_t i = 0; dims && i < n; i++)
        p *= positive(dims[i]);
    return p;
}

double hb_count_bmm(int64_t b, int64_t m, int64_t k, int64_t n)
{
    return 2 * positive(b) * positive(m) * positive(k) * positive(n);
}

/* Of one axis; 0 when the kernel does not fit. */
static int64_t conv_output(int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                           int64_t dilation)
{
    int64_t span = size + 2 * padding - dilation * (kernel - 1) - 1;
    return stride > 0 && span >= 0 ? span / stride + 1 : 0;
}

double hb_count_conv2d(const int64_t input[4], const int64_t weight[4], const int64_t stride[2],
                       const int64_t padding[2], const int64_t dilation[2], int64_t groups)
{
    if (!input || !weight || !stride || !padding || !dilation || groups <= 0) return 0;
    int64_t h = conv_output(input[2], weight[2], stride[0], padding[0], dilation[0]);
    int64_t w = conv_output(input[3], weight[3], stride[1], padding[1], dilation[1]);
    return 2 * positive(input[0]) * positive(h) * positive(w) * hb_count_elements(weight + 2, 2) *
           positive(input[1]) * positive(weight[0]) / (double)groups;
}
