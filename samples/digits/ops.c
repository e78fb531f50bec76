/* SPDX-License-Identifier: MIT */
#include "ops.h"

#include "report.h"

/* An operator: recorded by hipboard and counted for --report. hipboard evaluates the arguments only
 * while it records, so what is counted is what is recorded. */
#define OP(literal, flop_count, ...) \
    HB_OP(literal, .flops = report_op(literal, flop_count), __VA_ARGS__)

/* One entry of HB_INPUTS: a tensor's type and sizes. */
#define SHAPE(t)                                                                            \
    {                                                                                       \
        .kind = HB_INPUT_TENSOR, .dtype = (t)->dtype, .count = (t)->rank, .dims = (t)->dims \
    }

#define FORWARD(link)  .sequence_number = (link)->sequence
#define BACKWARD(link) .sequence_number = (link)->sequence, .forward_thread = (link)->thread

static const struct backend *kernels(const struct tensor *t)
{
    return t->device->kernels;
}

/* All forward operators run on the main thread, so a plain counter numbers them. */
static void link_new(struct grad_link *link)
{
    static uint64_t last;
    *link = (struct grad_link){++last, hb_thread_number()};
}

static struct window window_of(const struct tensor *image, const struct tensor *weight)
{
    const int64_t *d = image->dims;
    return (struct window){d[0], d[1], d[2], d[3], weight->dims[2]};
}

static double conv2d_flops(const struct tensor *x, const struct tensor *weight)
{
    int64_t half = weight->dims[2] / 2;
    return hb_flops_conv2d(x->dims, weight->dims, (const int64_t[]){1, 1},
                           (const int64_t[]){half, half}, (const int64_t[]){1, 1}, 1);
}

/* One matrix product an image: (o, k) x (k, area). */
static void conv2d_multiply(struct tensor *y, const struct tensor *weight,
                            const struct tensor *columns)
{
    OP("aten::_slow_conv2d_forward", 0, HB_INPUTS(SHAPE(weight), SHAPE(columns))) {
        int64_t k = columns->dims[1], area = columns->dims[2];
        struct gemm g = {.m = weight->dims[0], .n = area, .k = k, .batches = columns->dims[0]};
        g.b_batch = k * area;
        g.c_batch = g.m * area;
        kernels(y)->gemm(y->data, weight->data, columns->data, &g);
    }
}

static struct tensor op_im2col(const struct tensor *x, const struct tensor *weight)
{
    struct window w = window_of(x, weight);
    struct tensor columns = {0};
    OP("aten::im2col", 0, HB_INPUTS(SHAPE(x), HB_INT_LIST(w.side, w.side))) {
        columns = tensor_make(x->device, HB_FLOAT32, w.images, w.channels * w.side * w.side,
                              w.height * w.width);
        kernels(x)->im2col(columns.data, x->data, &w);
    }
    return columns;
}

struct tensor op_conv2d(const struct tensor *x, const struct tensor *weight,
                        const struct tensor *bias, struct tensor *columns, struct grad_link *link)
{
    struct tensor y = {0};
    link_new(link);
    OP("aten::conv2d", conv2d_flops(x, weight),
       HB_INPUTS(SHAPE(x), SHAPE(weight), SHAPE(bias), HB_INT_LIST(1, 1)), FORWARD(link)) {
        int64_t n = x->dims[0], o = weight->dims[0], h = x->dims[2], w = x->dims[3];
        *columns = op_im2col(x, weight);
        y = tensor_make(x->device, HB_FLOAT32, n, o, h, w);
        conv2d_multiply(&y, weight, columns);
        kernels(x)->add_channel_bias(y.data, bias->data, n, o, h * w);
    }
    return y;
}

/* dweight += sum over images of dy x columns^T */
static void conv2d_weight_gradient(struct tensor *dweight, const struct tensor *dy,
                                   const struct tensor *columns)
{
    OP("aten::_slow_conv2d_backward_weight", 0, HB_INPUTS(SHAPE(dy), SHAPE(columns))) {
        int64_t k = columns->dims[1], area = columns->dims[2];
        struct gemm g = {.m = dy->dims[1], .n = k, .k = area, .transpose_b = true};
        g.accumulate = true;
        g.batches = columns->dims[0];
        g.a_batch = g.m * area;
        g.b_batch = k * area;
        kernels(dy)->gemm(dweight->data, dy->data, columns->data, &g);
    }
}

/* Gradients of the columns, weight^T x dy, folded back into an image. */
static struct tensor conv2d_input_gradient(const struct tensor *dy, const struct tensor *weight,
                                           const struct tensor *columns)
{
    struct tensor dx = {0};
    OP("aten::_slow_conv2d_backward_input", 0, HB_INPUTS(SHAPE(dy), SHAPE(weight))) {
        int64_t k = columns->dims[1], area = columns->dims[2];
        struct gemm g = {.m = k, .n = area, .k = weight->dims[0], .transpose_a = true};
        struct tensor dcolumns = tensor_like(columns);
        g.batches = columns->dims[0];
        g.b_batch = g.k * area;
        g.c_batch = k * area;
        kernels(dy)->gemm(dcolumns.data, weight->data, dy->data, &g);
        dx = tensor_make(dy->device, HB_FLOAT32, dy->dims[0], weight->dims[1], dy->dims[2],
                         dy->dims[3]);
        struct window w = window_of(&dx, weight);
        OP("aten::col2im", 0, HB_INPUTS(SHAPE(&dcolumns))) {
            kernels(dy)->col2im(dx.data, dcolumns.data, &w);
        }
        tensor_free(&dcolumns);
    }
    return dx;
}

struct tensor op_conv2d_backward(const struct tensor *dy, const struct tensor *weight,
                                 const struct tensor *columns, struct tensor *dweight,
                                 struct tensor *dbias, bool want_dx, const struct grad_link *link)
{
    struct tensor dx = {0};
    OP("ConvolutionBackward0", 0, HB_INPUTS(SHAPE(dy)), BACKWARD(link)) {
        OP("aten::convolution_backward", 0, HB_INPUTS(SHAPE(dy), SHAPE(columns), SHAPE(weight))) {
            conv2d_weight_gradient(dweight, dy, columns);
            kernels(dy)->sum_channels(dbias->data, dy->data, dy->dims[0], dy->dims[1],
                                      columns->dims[2]);
            if (want_dx) dx = conv2d_input_gradient(dy, weight, columns);
        }
    }
    return dx;
}

struct tensor op_relu(const struct tensor *x, struct grad_link *link)
{
    struct tensor y = {0};
    link_new(link);
    OP("aten::relu", 0, HB_INPUTS(SHAPE(x)), FORWARD(link)) {
        y = tensor_like(x);
        kernels(x)->relu(y.data, x->data, tensor_count(x));
    }
    return y;
}

struct tensor op_relu_backward(const struct tensor *dy, const struct tensor *x,
                               const struct grad_link *link)
{
    struct tensor dx = {0};
    OP("ReluBackward0", 0, HB_INPUTS(SHAPE(dy)), BACKWARD(link)) {
        OP("aten::threshold_backward", 0, HB_INPUTS(SHAPE(dy), SHAPE(x), HB_INT(0))) {
            dx = tensor_like(x);
            kernels(x)->relu_backward(dx.data, dy->data, x->data, tensor_count(x));
        }
    }
    return dx;
}

struct tensor op_max_pool2d(const struct tensor *x, struct tensor *chosen, struct grad_link *link)
{
    struct tensor y = {0};
    link_new(link);
    OP("aten::max_pool2d", 0, HB_INPUTS(SHAPE(x), HB_INT_LIST(2, 2), HB_INT_LIST(2, 2)),
       FORWARD(link)) {
        int64_t n = x->dims[0], c = x->dims[1], h = x->dims[2], w = x->dims[3];
        y = tensor_make(x->device, HB_FLOAT32, n, c, h / 2, w / 2);
        *chosen = tensor_make(x->device, HB_INT32, n, c, h / 2, w / 2);
        kernels(x)->max_pool(y.data, chosen->data, x->data, n * c, h, w);
    }
    return y;
}

struct tensor op_max_pool2d_backward(const struct tensor *dy, const struct tensor *chosen,
                                     int64_t height, int64_t width, const struct grad_link *link)
{
    struct tensor dx = {0};
    OP("MaxPool2DWithIndicesBackward0", 0, HB_INPUTS(SHAPE(dy)), BACKWARD(link)) {
        OP("aten::max_pool2d_with_indices_backward", 0, HB_INPUTS(SHAPE(dy), SHAPE(chosen))) {
            int64_t n = dy->dims[0], c = dy->dims[1];
            dx = tensor_make(dy->device, HB_FLOAT32, n, c, height, width);
            kernels(dy)->max_pool_backward(dx.data, dy->data, chosen->data, n * c, height * width,
                                           dy->dims[2] * dy->dims[3]);
        }
    }
    return dx;
}

void op_flatten(struct tensor *x, struct grad_link *link)
{
    link_new(link);
    OP("aten::flatten", 0, HB_INPUTS(SHAPE(x), HB_INT(1), HB_INT(-1)), FORWARD(link)) {
        x->dims[1] = tensor_count(x) / x->dims[0];
        x->rank = 2;
    }
}

void op_flatten_backward(struct tensor *dy, const int64_t dims[4], const struct grad_link *link)
{
    OP("ViewBackward0", 0, HB_INPUTS(SHAPE(dy)), BACKWARD(link)) {
        for (int i = 0; i < 4; i++)
            dy->dims[i] = dims[i];
        dy->rank = 4;
    }
}

struct tensor op_linear(const struct tensor *x, const struct tensor *weight,
                        const struct tensor *bias, struct grad_link *link)
{
    struct tensor y = {0};
    int64_t n = x->dims[0], in = weight->dims[0], out = weight->dims[1];
    link_new(link);
    OP("aten::linear", 0, HB_INPUTS(SHAPE(x), SHAPE(weight), SHAPE(bias))) {
        OP("aten::addmm", hb_flops_addmm(n, in, out),
           HB_INPUTS(SHAPE(bias), SHAPE(x), SHAPE(weight), HB_INT(1), HB_INT(1)), FORWARD(link)) {
            y = tensor_make(x->device, HB_FLOAT32, n, out);
            kernels(x)->broadcast_rows(y.data, bias->data, n, out);
            struct gemm g = {.m = n, .n = out, .k = in, .accumulate = true, .batches = 1};
            kernels(x)->gemm(y.data, x->data, weight->data, &g);
        }
    }
    return y;
}

/* dweight += x^T dy */
static void linear_weight_gradient(struct tensor *dweight, const struct tensor *x,
                                   const struct tensor *dy)
{
    struct gemm g = {.m = x->dims[1], .n = dy->dims[1], .k = x->dims[0], .transpose_a = true};
    g.accumulate = true;
    g.batches = 1;
    OP("aten::mm", hb_flops_mm(g.m, g.k, g.n),
       HB_INPUTS(HB_TENSOR(HB_FLOAT32, g.m, g.k), SHAPE(dy))) {
        kernels(x)->gemm(dweight->data, x->data, dy->data, &g);
    }
}

struct tensor op_linear_backward(const struct tensor *dy, const struct tensor *x,
                                 const struct tensor *weight, struct tensor *dweight,
                                 struct tensor *dbias, const struct grad_link *link)
{
    struct tensor dx = {0};
    int64_t n = dy->dims[0], out = dy->dims[1], in = weight->dims[0];
    OP("AddmmBackward0", 0, HB_INPUTS(SHAPE(dy)), BACKWARD(link)) {
        struct gemm g = {.m = n, .n = in, .k = out, .transpose_b = true, .batches = 1};
        OP("aten::mm", hb_flops_mm(n, out, in),
           HB_INPUTS(SHAPE(dy), HB_TENSOR(HB_FLOAT32, out, in))) {
            dx = tensor_like(x);
            kernels(dy)->gemm(dx.data, dy->data, weight->data, &g);
        }
        linear_weight_gradient(dweight, x, dy);
        OP("aten::sum", 0, HB_INPUTS(SHAPE(dy), HB_INT_LIST(0), HB_BOOL_VALUE(true))) {
            kernels(dy)->sum_rows(dbias->data, dy->data, n, out);
        }
    }
    return dx;
}

struct tensor op_log_softmax(const struct tensor *x, struct grad_link *link)
{
    struct tensor y = {0};
    link_new(link);
    OP("aten::log_softmax", 0, HB_INPUTS(SHAPE(x), HB_INT(1)), FORWARD(link)) {
        y = tensor_like(x);
        kernels(x)->log_softmax(y.data, x->data, x->dims[0], x->dims[1]);
    }
    return y;
}

struct tensor op_log_softmax_backward(const struct tensor *dy, const struct tensor *y,
                                      const struct grad_link *link)
{
    struct tensor dx = {0};
    OP("LogSoftmaxBackward0", 0, HB_INPUTS(SHAPE(dy)), BACKWARD(link)) {
        OP("aten::_log_softmax_backward_data", 0, HB_INPUTS(SHAPE(dy), SHAPE(y), HB_INT(1))) {
            dx = tensor_like(y);
            kernels(y)->log_softmax_backward(dx.data, dy->data, y->data, y->dims[0], y->dims[1]);
        }
    }
    return dx;
}

float op_nll_loss(const struct tensor *log_p, const struct tensor *labels, struct grad_link *link)
{
    float loss = 0;
    link_new(link);
    OP("aten::nll_loss", 0, HB_INPUTS(SHAPE(log_p), SHAPE(labels)), FORWARD(link)) {
        loss = kernels(log_p)->nll_loss(log_p->data, labels->data, log_p->dims[0], log_p->dims[1]);
    }
    return loss;
}

struct tensor op_nll_loss_backward(const struct tensor *log_p, const struct tensor *labels,
                                   const struct grad_link *link)
{
    struct tensor dlog_p = {0};
    OP("NllLossBackward0", 0, HB_INPUTS(HB_NO_INPUT), BACKWARD(link)) {
        OP("aten::nll_loss_backward", 0, HB_INPUTS(SHAPE(log_p), SHAPE(labels))) {
            dlog_p = tensor_like(log_p);
            kernels(log_p)->nll_loss_backward(dlog_p.data, labels->data, log_p->dims[0],
                                              log_p->dims[1]);
        }
    }
    return dlog_p;
}

void op_copy_(struct tensor *to, const struct tensor *from,
              void (*copy)(void *, const void *, size_t))
{
    OP("aten::copy_", 0, HB_INPUTS(SHAPE(to), SHAPE(from), HB_BOOL_VALUE(true))) {
        copy(to->data, from->data, tensor_bytes(from));
    }
}

struct tensor op_to(const struct tensor *x, struct device *device)
{
    struct tensor y = {0};
    OP("aten::to", 0, HB_INPUTS(SHAPE(x))) {
        y = tensor_new(device, x->dtype, x->rank, x->dims);
        op_copy_(&y, x, device->kernels->transfers->to_device);
    }
    return y;
}

struct tensor op_argmax(const struct tensor *x)
{
    struct tensor best = {0};
    OP("aten::argmax", 0, HB_INPUTS(SHAPE(x), HB_INT(1))) {
        best = tensor_make(x->device, HB_INT64, x->dims[0]);
        kernels(x)->argmax(best.data, x->data, x->dims[0], x->dims[1]);
    }
    return best;
}

void op_zero_(struct tensor *x)
{
    OP("aten::zero_", 0, HB_INPUTS(SHAPE(x))) {
        kernels(x)->fill(x->data, 0, tensor_count(x));
    }
}

void op_mul_(struct tensor *x, float factor)
{
    OP("aten::mul_", hb_flops_mul(x->dims, x->rank), HB_INPUTS(SHAPE(x), HB_FLOAT(factor))) {
        kernels(x)->scale(x->data, factor, tensor_count(x));
    }
}

void op_add_(struct tensor *y, const struct tensor *x, float alpha)
{
    OP("aten::add_", hb_flops_add(y->dims, y->rank),
       HB_INPUTS(SHAPE(y), SHAPE(x), HB_FLOAT(alpha))) {
        kernels(y)->add_scaled(y->data, x->data, alpha, tensor_count(y));
    }
}
