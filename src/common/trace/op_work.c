/* SPDX-License-Identifier: MIT */
#include "trace/op_work.h"

#include <math.h>
#include <stdlib.h>

#include "rules/name_class.h"
#include "trace/flop_counts.h"

/* ---- shapes ---- */

/* Numbers of a JSON list of integers; the place after it, or NULL when it is something else. */
static const char *read_ints(const char *p, int64_t *ints, int max, int *count)
{
    *count = 0;
    if (*p++ != '[') return NULL;
    for (;;) {
        while (*p == ' ' || *p == ',')
            p++;
        if (*p == ']') return p + 1;
        char *end;
        int64_t v = strtoll(p, &end, 10);
        if (end == p) return NULL;
        if (*count < max) ints[*count] = v;
        ++*count;
        p = end;
    }
}

const char *hb_behind_list(const char *p)
{
    int depth = 0;
    for (; *p; p++) {
        depth += (*p == '[') - (*p == ']');
        if (depth == 0) return p + 1;
    }
    return p;
}

const char *hb_shape_read(const char *p, hb_shape *shape)
{
    p = read_ints(p, shape->dims, HB_SHAPE_DIMS, &shape->count);
    return p && shape->count <= HB_SHAPE_DIMS ? p : NULL;
}

/* ---- operations ---- */

/* The `n` shapes from number `first` on; false when one is missing. */
static bool read_shapes(const char *dims, int first, int n, hb_shape *shapes)
{
    const char *p = dims;
    if (*p++ != '[') return false;
    for (int i = 0; i < first + n; i++) {
        while (*p == ' ' || *p == ',')
            p++;
        if (*p != '[') return false;
        if (i < first) {
            p = hb_behind_list(p);
            continue;
        }
        p = hb_shape_read(p, &shapes[i - first]);
        if (!p) return false;
    }
    return true;
}

static double matrix_flops(const char *dims, int first)
{
    hb_shape s[2];
    if (!read_shapes(dims, first, 2, s) || s[0].count != 2 || s[1].count != 2) return 0;
    return hb_count_bmm(1, s[0].dims[0], s[0].dims[1], s[1].dims[1]);
}

static double batch_flops(const char *dims, int first)
{
    hb_shape s[2];
    if (!read_shapes(dims, first, 2, s) || s[0].count != 3 || s[1].count != 3) return 0;
    return hb_count_bmm(s[0].dims[0], s[0].dims[1], s[0].dims[2], s[1].dims[2]);
}

static double elements(const char *dims)
{
    hb_shape s;
    return read_shapes(dims, 0, 1, &s) ? hb_count_elements(s.dims, (size_t)s.count) : 0;
}

/* Concrete Inputs is a list of strings: "", "", "", "[1, 1]", "[0, 0]", "[1, 1]", "1". */
static const char *concrete_at(const char *concrete, int index)
{
    const char *p = concrete;
    for (int quotes = 0; *p; p++)
        if (*p == '"' && quotes++ == index * 2) return p + 1;
    return NULL;
}

static bool pair_at(const char *concrete, int index, int64_t pair[2])
{
    int count;
    const char *p = concrete_at(concrete, index);
    return p && read_ints(p, pair, 2, &count) && count == 2;
}

static bool is_small(int64_t v)
{
    return v >= -INT32_MAX && v <= INT32_MAX;
}

static double convolution_flops(const char *dims, const char *concrete)
{
    hb_shape s[2];
    int64_t stride[2], padding[2], dilation[2];
    if (!read_shapes(dims, 0, 2, s) || s[0].count != 4 || s[1].count != 4) return 0;
    if (!pair_at(concrete, 3, stride) || !pair_at(concrete, 4, padding) ||
        !pair_at(concrete, 5, dilation))
        return 0;
    const char *groups = concrete_at(concrete, 6);
    if (!groups) return 0;
    for (int i = 0; i < 2; i++) /* hb_count_conv2d() adds and multiplies these */
        if (!is_small(padding[i]) || !is_small(dilation[i]) || !is_small(s[1].dims[i + 2]) ||
            !is_small(s[0].dims[i + 2]))
            return 0;
    return hb_count_conv2d(s[0].dims, s[1].dims, stride, padding, dilation,
                           strtoll(groups, NULL, 10));
}

double hb_op_flops(const hb_trace *trace, const hb_row *row, hb_string_id name_id)
{
    if (row->kind != HB_KIND_OPERATOR) return 0;
    const hb_op_row *op = hb_trace_op(trace, row);
    const hb_op_detail *detail = hb_trace_detail(trace, op);
    if (detail && !isnan(detail->flops)) return detail->flops;
    hb_str name = hb_trace_text(trace, name_id);
    if (!op->dims || !hb_name_is(HB_KNOWN_OPERATOR, name)) return 0;
    const char *dims = hb_trace_text(trace, op->dims).s,
               *s = hb_name_behind(HB_KNOWN_OPERATOR, name).s;
    if (strcmp(s, "mm") == 0) return matrix_flops(dims, 0);
    if (strcmp(s, "addmm") == 0) return matrix_flops(dims, 1);
    if (strcmp(s, "bmm") == 0) return batch_flops(dims, 0);
    if (strcmp(s, "baddbmm") == 0) return batch_flops(dims, 1);
    if (strcmp(s, "mul") == 0 || strcmp(s, "add") == 0) return elements(dims);
    if (strcmp(s, "conv2d") == 0 && detail && detail->concrete)
        return convolution_flops(dims, hb_trace_text(trace, detail->concrete).s);
    return 0;
}

/* ---- bytes ---- */

static double product(const int64_t *dims, int count)
{
    double n = 1;
    for (int i = 0; i < count; i++)
        n *= (double)HB_MAX(dims[i], 0);
    return n;
}

/* Elements of the result, where two neighbours are a matrix product of so many FLOPs. */
static double elements_of_product(const hb_shape *a, const hb_shape *b, double flops)
{
    if (a->count < 2 || b->count < 2 || a->dims[a->count - 1] != b->dims[b->count - 2]) return 0;
    double n = (double)b->dims[b->count - 1];
    double result = product(a->dims, a->count - 1) * n;
    double work = 2 * result * (double)a->dims[a->count - 1];
    return work > 0 && (flops == work || flops == 4 * work) ? result : 0;
}

double hb_least_bytes(const hb_shape *shapes, const uint32_t *sizes, int count, double flops)
{
    double bytes = 0, result = 0;
    for (int i = 0; i < count; i++) {
        const hb_shape *s = &shapes[i];
        if (sizes[i]) bytes += product(s->dims, s->count) * sizes[i];
        if (i && !result && sizes[i] && sizes[i - 1])
            result = elements_of_product(s - 1, s, flops) * sizes[i];
    }
    return bytes + result;
}
