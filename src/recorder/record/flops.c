/* SPDX-License-Identifier: MIT
 *
 * The public names of torch's formulas.
 */
#include <hipboard/hipboard.h>

#include "trace/flop_counts.h"

double hb_flops_bmm(int64_t b, int64_t m, int64_t k, int64_t n)
{
    return hb_count_bmm(b, m, k, n);
}

double hb_flops_baddbmm(int64_t b, int64_t m, int64_t k, int64_t n)
{
    return hb_count_bmm(b, m, k, n);
}

double hb_flops_mm(int64_t m, int64_t k, int64_t n)
{
    return hb_count_bmm(1, m, k, n);
}

double hb_flops_addmm(int64_t m, int64_t k, int64_t n)
{
    return hb_count_bmm(1, m, k, n);
}

double hb_flops_add(const int64_t *dims, size_t ndim)
{
    return hb_count_elements(dims, ndim);
}

double hb_flops_mul(const int64_t *dims, size_t ndim)
{
    return hb_count_elements(dims, ndim);
}

double hb_flops_conv2d(const int64_t input[4], const int64_t weight[4], const int64_t stride[2],
                       const int64_t padding[2], const int64_t dilation[2], int64_t groups)
{
    return hb_count_conv2d(input, weight, stride, padding, dilation, groups);
}
