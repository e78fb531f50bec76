/* SPDX-License-Identifier: MIT
 *
 * The kernels on the CPU, written so that a compiler vectorises the inner loops at -O3.
 */
#include "backend.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { BLOCK_ALIGNMENT = 64, LANES = 8 };

static void *cpu_obtain(size_t bytes)
{
    return aligned_alloc(BLOCK_ALIGNMENT, bytes);
}

static void cpu_fill(float *x, float value, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] = value;
}

static void cpu_scale(float *x, float factor, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        x[i] *= factor;
}

static void cpu_add_scaled(float *restrict y, const float *restrict x, float factor, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += factor * x[i];
}

/* Several running sums: floating point addition may not be reordered, so with one sum a compiler
 * could not use vectors. */
static float dot(const float *restrict a, const float *restrict b, int64_t n)
{
    float lanes[LANES] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        for (int l = 0; l < LANES; l++)
            lanes[l] += a[i + l] * b[i + l];
    }
    for (; i < n; i++)
        sum += a[i] * b[i];
    for (int l = 0; l < LANES; l++)
        sum += lanes[l];
    return sum;
}

/* With b transposed a sum runs along rows of both: dot products. Else c's rows are sums of b's
 * rows. Either way the inner loop is over memory in order. */
static void gemm_once(float *c, const float *a, const float *b, const struct gemm *g)
{
    for (int64_t i = 0; i < g->m; i++) {
        float *row = c + i * g->n;
        if (!g->accumulate) cpu_fill(row, 0, g->n);
        if (g->transpose_b) {
            for (int64_t j = 0; j < g->n; j++)
                row[j] += dot(a + i * g->k, b + j * g->k, g->k);
            continue;
        }
        for (int64_t p = 0; p < g->k; p++)
            cpu_add_scaled(row, b + p * g->n, g->transpose_a ? a[p * g->m + i] : a[i * g->k + p],
                           g->n);
    }
}

static void cpu_gemm(float *c, const float *a, const float *b, const struct gemm *g)
{
    for (int64_t i = 0; i < g->batches; i++)
        gemm_once(c + i * g->c_batch, a + i * g->a_batch, b + i * g->b_batch, g);
}

/* As a textbook does it, one element of c after the other, whatever that does to the caches. */
static void plain_gemm(float *c, const float *a, const float *b, const struct gemm *g)
{
    for (int64_t batch = 0; batch < g->batches; batch++) {
        for (int64_t i = 0; i < g->m; i++) {
            for (int64_t j = 0; j < g->n; j++) {
                float sum = g->accumulate ? c[i * g->n + j] : 0;
                for (int64_t p = 0; p < g->k; p++)
                    sum += (g->transpose_a ? a[p * g->m + i] : a[i * g->k + p]) *
                           (g->transpose_b ? b[j * g->k + p] : b[p * g->n + j]);
                c[i * g->n + j] = sum;
            }
        }
        a += g->a_batch;
        b += g->b_batch;
        c += g->c_batch;
    }
}

static void cpu_broadcast_rows(float *y, const float *row, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++)
            y[i * n + j] = row[j];
    }
}

static void cpu_sum_rows(float *row, const float *x, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i++)
        cpu_add_scaled(row, x + i * n, 1, n);
}

/* Where row `y` of a plane lies, or NULL in the padding above and below. */
static const float *padded_row(const float *plane, int64_t y, const struct window *w)
{
    return y >= 0 && y < w->height ? plane + y * w->width : NULL;
}

/* One row of one column plane: the image's row `y` moved left by `shift`, zeros moving in. */
static void copy_shifted(float *out, const float *row, int64_t shift, int64_t width)
{
    for (int64_t x = 0; x < width; x++) {
        int64_t from = x + shift;
        out[x] = row && from >= 0 && from < width ? row[from] : 0;
    }
}

static void cpu_im2col(float *columns, const float *image, const struct window *w)
{
    int64_t half = w->side / 2, planes = w->images * w->channels, area = w->height * w->width;
    for (int64_t plane = 0; plane < planes; plane++) {
        for (int64_t tap = 0; tap < w->side * w->side; tap++) {
            int64_t dy = tap / w->side - half, dx = tap % w->side - half;
            for (int64_t y = 0; y < w->height; y++, columns += w->width)
                copy_shifted(columns, padded_row(image + plane * area, y + dy, w), dx, w->width);
        }
    }
}

static void add_shifted(float *row, const float *in, int64_t shift, int64_t width)
{
    for (int64_t x = 0; x < width; x++) {
        int64_t to = x + shift;
        if (to >= 0 && to < width) row[to] += in[x];
    }
}

static void cpu_col2im(float *image, const float *columns, const struct window *w)
{
    int64_t half = w->side / 2, planes = w->images * w->channels, area = w->height * w->width;
    cpu_fill(image, 0, planes * area);
    for (int64_t plane = 0; plane < planes; plane++) {
        for (int64_t tap = 0; tap < w->side * w->side; tap++) {
            int64_t dy = tap / w->side - half, dx = tap % w->side - half;
            for (int64_t y = 0; y < w->height; y++, columns += w->width) {
                if (y + dy >= 0 && y + dy < w->height)
                    add_shifted(image + plane * area + (y + dy) * w->width, columns, dx, w->width);
            }
        }
    }
}

static void cpu_add_channel_bias(float *y, const float *b, int64_t images, int64_t channels,
                                 int64_t area)
{
    for (int64_t plane = 0; plane < images * channels; plane++) {
        for (int64_t i = 0; i < area; i++)
            y[plane * area + i] += b[plane % channels];
    }
}

static void cpu_sum_channels(float *b, const float *y, int64_t images, int64_t channels,
                             int64_t area)
{
    for (int64_t plane = 0; plane < images * channels; plane++) {
        for (int64_t i = 0; i < area; i++)
            b[plane % channels] += y[plane * area + i];
    }
}

static void cpu_relu(float *restrict y, const float *restrict x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i] > 0 ? x[i] : 0;
}

static void cpu_relu_backward(float *restrict dx, const float *restrict dy, const float *restrict x,
                              int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        dx[i] = x[i] > 0 ? dy[i] : 0;
}

static void cpu_max_pool(float *y, int32_t *chosen, const float *x, int64_t planes, int64_t height,
                         int64_t width)
{
    for (int64_t plane = 0; plane < planes; plane++, x += height * width) {
        for (int64_t i = 0; i < height / 2; i++) {
            for (int64_t j = 0; j < width / 2; j++) {
                int64_t corner = 2 * i * width + 2 * j, best = corner;
                if (x[corner + 1] > x[best]) best = corner + 1;
                if (x[corner + width] > x[best]) best = corner + width;
                if (x[corner + width + 1] > x[best]) best = corner + width + 1;
                *y++ = x[best];
                *chosen++ = (int32_t)best;
            }
        }
    }
}

static void cpu_max_pool_backward(float *dx, const float *dy, const int32_t *chosen, int64_t planes,
                                  int64_t area_in, int64_t area_out)
{
    cpu_fill(dx, 0, planes * area_in);
    for (int64_t i = 0; i < planes * area_out; i++)
        dx[i / area_out * area_in + chosen[i]] += dy[i];
}

static void cpu_log_softmax(float *y, const float *x, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i++, x += n, y += n) {
        float highest = -FLT_MAX, sum = 0;
        for (int64_t j = 0; j < n; j++)
            highest = fmaxf(highest, x[j]);
        for (int64_t j = 0; j < n; j++)
            sum += expf(x[j] - highest);
        for (int64_t j = 0; j < n; j++)
            y[j] = x[j] - highest - logf(sum);
    }
}

static void cpu_log_softmax_backward(float *dx, const float *dy, const float *y, int64_t m,
                                     int64_t n)
{
    for (int64_t i = 0; i < m; i++, dx += n, dy += n, y += n) {
        float sum = 0;
        for (int64_t j = 0; j < n; j++)
            sum += dy[j];
        for (int64_t j = 0; j < n; j++)
            dx[j] = dy[j] - expf(y[j]) * sum;
    }
}

static float cpu_nll_loss(const float *log_p, const int64_t *labels, int64_t m, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < m; i++)
        sum -= log_p[i * n + labels[i]];
    return (float)(sum / (double)m);
}

static void cpu_nll_loss_backward(float *dlog_p, const int64_t *labels, int64_t m, int64_t n)
{
    cpu_fill(dlog_p, 0, m * n);
    for (int64_t i = 0; i < m; i++)
        dlog_p[i * n + labels[i]] = -1.0f / (float)m;
}

static void cpu_argmax(int64_t *best, const float *x, int64_t m, int64_t n)
{
    for (int64_t i = 0; i < m; i++, x += n) {
        best[i] = 0;
        for (int64_t j = 1; j < n; j++) {
            if (x[j] > x[best[i]]) best[i] = j;
        }
    }
}

const struct backend cpu_backend = {
    .name = "cpu",
    .memory = {.device_type = HB_DEVICE_CPU, .obtain = cpu_obtain, .release = free},
    .fill = cpu_fill,
    .scale = cpu_scale,
    .add_scaled = cpu_add_scaled,
    .gemm = cpu_gemm,
    .broadcast_rows = cpu_broadcast_rows,
    .sum_rows = cpu_sum_rows,
    .im2col = cpu_im2col,
    .col2im = cpu_col2im,
    .add_channel_bias = cpu_add_channel_bias,
    .sum_channels = cpu_sum_channels,
    .relu = cpu_relu,
    .relu_backward = cpu_relu_backward,
    .max_pool = cpu_max_pool,
    .max_pool_backward = cpu_max_pool_backward,
    .log_softmax = cpu_log_softmax,
    .log_softmax_backward = cpu_log_softmax_backward,
    .nll_loss = cpu_nll_loss,
    .nll_loss_backward = cpu_nll_loss_backward,
    .argmax = cpu_argmax,
};

const struct backend *cpu_backend_with(bool plain)
{
    static struct backend chosen;
    chosen = cpu_backend;
    if (plain) chosen.gemm = plain_gemm;
    return &chosen;
}
