/* SPDX-License-Identifier: MIT
 *
 * torch's formulas (torch/csrc/profiler/util.cpp): a multiply-add is two operations; bias, alpha
 * and beta are left out; add and mul count the first input's elements, not the broadcast result's.
 */
#ifndef HB_TRACE_FLOP_COUNTS_H
#define HB_TRACE_FLOP_COUNTS_H

#include <stddef.h>
#include <stdint.h>

double hb_count_elements(const int64_t *dims, size_t ndim);
double hb_count_bmm(int64_t b, int64_t m, int64_t k, int64_t n);
double hb_count_conv2d(const int64_t input[4], const int64_t weight[4], const int64_t stride[2],
                       const int64_t padding[2], const int64_t dilation[2], int64_t groups);

#endif
