/* SPDX-License-Identifier: MIT */
#include "../hip.h"

#include "../die.h"
#include "device.h"

/* A kernel whose threads make an element each, `items` in all. */
#define LAUNCH_FOR(items, name, ...) \
    hip_launch(KERNEL_##name, items_grid(items), &(struct name##_args){__VA_ARGS__})

static struct grid items_grid(int64_t items)
{
    return (struct grid){(unsigned)((items + KERNEL_BLOCK - 1) / KERNEL_BLOCK), 1, 1};
}

static unsigned tiles(int64_t length)
{
    return (unsigned)((length + KERNEL_TILE - 1) / KERNEL_TILE);
}

static void gpu_fill(float *x, float value, int64_t n)
{
    if (value == 0)
        hip_zero(x, (size_t)n * sizeof *x);
    else
        LAUNCH_FOR(n, fill, x, value, (int32_t)n);
}

static void gpu_scale(float *x, float factor, int64_t n)
{
    LAUNCH_FOR(n, scale, x, factor, (int32_t)n);
}

static void gpu_add_scaled(float *y, const float *x, float factor, int64_t n)
{
    LAUNCH_FOR(n, add_scaled, y, x, factor, (int32_t)n);
}

static void gpu_gemm(float *c, const float *a, const float *b, const struct gemm *g)
{
    struct gemm_args args = {
        .c = c,
        .a = a,
        .b = b,
        .m = (int32_t)g->m,
        .n = (int32_t)g->n,
        .k = (int32_t)g->k,
        .a_row = g->transpose_a ? 1 : (int32_t)g->k,
        .a_column = g->transpose_a ? (int32_t)g->m : 1,
        .b_row = g->transpose_b ? 1 : (int32_t)g->n,
        .b_column = g->transpose_b ? (int32_t)g->k : 1,
        .batches = (int32_t)g->batches,
        .a_batch = (int32_t)g->a_batch,
        .b_batch = (int32_t)g->b_batch,
        .c_batch = (int32_t)g->c_batch,
        .accumulate = g->accumulate,
        .sum_batches = g->c_batch == 0,
    };
    unsigned products = args.sum_batches ? 1 : (unsigned)g->batches;
    hip_launch(KERNEL_gemm, (struct grid){tiles(g->n), tiles(g->m), products}, &args);
}

static void gpu_broadcast_rows(float *y, const float *row, int64_t m, int64_t n)
{
    LAUNCH_FOR(m * n, broadcast_rows, y, row, (int32_t)m, (int32_t)n);
}

static void gpu_sum_channels(float *b, const float *y, int64_t images, int64_t channels,
                             int64_t area)
{
    struct sum_channels_args args = {b, y, (int32_t)images, (int32_t)channels, (int32_t)area};
    hip_launch(KERNEL_sum_channels, (struct grid){(unsigned)channels, 1, 1}, &args);
}

/* Rows are images whose channels are single numbers. */
static void gpu_sum_rows(float *row, const float *x, int64_t m, int64_t n)
{
    gpu_sum_channels(row, x, m, n, 1);
}

static void gpu_im2col(float *columns, const float *image, const struct window *w)
{
    int64_t planes = w->images * w->channels;
    LAUNCH_FOR(planes * w->side * w->side * w->height * w->width, im2col, columns, image,
               (int32_t)planes, (int32_t)w->height, (int32_t)w->width, (int32_t)w->side);
}

static void gpu_col2im(float *image, const float *columns, const struct window *w)
{
    int64_t planes = w->images * w->channels;
    LAUNCH_FOR(planes * w->height * w->width, col2im, image, columns, (int32_t)planes,
               (int32_t)w->height, (int32_t)w->width, (int32_t)w->side);
}

static void gpu_add_channel_bias(float *y, const float *b, int64_t images, int64_t channels,
                                 int64_t area)
{
    LAUNCH_FOR(images * channels * area, add_channel_bias, y, b, (int32_t)images, (int32_t)channels,
               (int32_t)area);
}

static void gpu_relu(float *y, const float *x, int64_t n)
{
    LAUNCH_FOR(n, relu, y, x, (int32_t)n);
}

static void gpu_relu_backward(float *dx, const float *dy, const float *x, int64_t n)
{
    LAUNCH_FOR(n, relu_backward, dx, dy, x, (int32_t)n);
}

static void gpu_max_pool(float *y, int32_t *chosen, const float *x, int64_t planes, int64_t height,
                         int64_t width)
{
    LAUNCH_FOR(planes * (height / 2) * (width / 2), max_pool, y, chosen, x, (int32_t)planes,
               (int32_t)height, (int32_t)width);
}

static void gpu_max_pool_backward(float *dx, const float *dy, const int32_t *chosen, int64_t planes,
                                  int64_t area_in, int64_t area_out)
{
    hip_zero(dx, (size_t)(planes * area_in) * sizeof *dx);
    LAUNCH_FOR(planes * area_out, max_pool_backward, dx, dy, chosen, (int32_t)planes,
               (int32_t)area_in, (int32_t)area_out);
}

static void gpu_log_softmax(float *y, const float *x, int64_t m, int64_t n)
{
    LAUNCH_FOR(m, log_softmax, y, x, (int32_t)m, (int32_t)n);
}

static void gpu_log_softmax_backward(float *dx, const float *dy, const float *y, int64_t m,
                                     int64_t n)
{
    LAUNCH_FOR(m, log_softmax_backward, dx, dy, y, (int32_t)m, (int32_t)n);
}

static float gpu_nll_loss(const float *log_p, const int64_t *labels, int64_t m, int64_t n)
{
    struct nll_loss_args args = {hip_scratch(), log_p, labels, (int32_t)m, (int32_t)n};
    hip_launch(KERNEL_nll_loss, (struct grid){1, 1, 1}, &args);
    return hip_read(hip_scratch());
}

static void gpu_nll_loss_backward(float *dlog_p, const int64_t *labels, int64_t m, int64_t n)
{
    LAUNCH_FOR(m * n, nll_loss_backward, dlog_p, labels, (int32_t)m, (int32_t)n);
}

static void gpu_argmax(int64_t *best, const float *x, int64_t m, int64_t n)
{
    LAUNCH_FOR(m, argmax, best, x, (int32_t)m, (int32_t)n);
}

static const struct backend hip_backend = {
    .name = "hip",
    .memory = {.device_type = HB_DEVICE_HIP, .obtain = hip_obtain, .release = hip_release},
    .transfers = &hip_transfers,
    .report_times = hip_report_times,
    .fill = gpu_fill,
    .scale = gpu_scale,
    .add_scaled = gpu_add_scaled,
    .gemm = gpu_gemm,
    .broadcast_rows = gpu_broadcast_rows,
    .sum_rows = gpu_sum_rows,
    .im2col = gpu_im2col,
    .col2im = gpu_col2im,
    .add_channel_bias = gpu_add_channel_bias,
    .sum_channels = gpu_sum_channels,
    .relu = gpu_relu,
    .relu_backward = gpu_relu_backward,
    .max_pool = gpu_max_pool,
    .max_pool_backward = gpu_max_pool_backward,
    .log_softmax = gpu_log_softmax,
    .log_softmax_backward = gpu_log_softmax_backward,
    .nll_loss = gpu_nll_loss,
    .nll_loss_backward = gpu_nll_loss_backward,
    .argmax = gpu_argmax,
};

/* A simulated GPU takes its time for a kernel that it has no host function for, and does nothing.
 */
static void check_that_kernels_run(void)
{
    float seen = 0;
    for (float value = 1; value <= 2; value++) {
        LAUNCH_FOR(1, fill, hip_scratch(), value, 1);
        seen += hip_read(hip_scratch());
    }
    if (seen != 3)
        die("kernels do nothing on %s; if it is simulated, SIMHSA_KERNELS must name "
            "digits_kernels.so",
            hip_device_name());
}

const struct backend *hip_open(const char *code)
{
    hip_device_open(code);
    check_that_kernels_run();
    return &hip_backend;
}
