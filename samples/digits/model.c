/* SPDX-License-Identifier: MIT */
#include "model.h"

#include "data.h"
#include "die.h"
#include "report.h"
#include "rng.h"

#include <stdio.h>
#include <string.h>

enum { CONV_SIDE = 3, CONV1 = 16, CONV2 = 32, FLAT = CONV2 * 2 * 2, HIDDEN = 64 };

/* Each consumes its input, keeping it in layer->saved where backward needs it. */
struct layer_kind {
    const char *class_name;
    struct tensor (*forward)(struct layer *layer, struct tensor x);
    struct tensor (*backward)(struct layer *layer, struct tensor dy);
};

static struct tensor conv2d_forward(struct layer *layer, struct tensor x)
{
    struct tensor y =
        op_conv2d(&x, &layer->weight->value, &layer->bias->value, &layer->saved, &layer->link);
    tensor_free(&x);
    return y;
}

static struct tensor conv2d_backward(struct layer *layer, struct tensor dy)
{
    bool is_first = layer->weight->value.dims[1] == 1; /* nobody asks for the images' gradient */
    struct tensor dx =
        op_conv2d_backward(&dy, &layer->weight->value, &layer->saved, &layer->weight->grad,
                           &layer->bias->grad, !is_first, &layer->link);
    tensor_free(&dy);
    return dx;
}

static struct tensor relu_forward(struct layer *layer, struct tensor x)
{
    layer->saved = x;
    return op_relu(&x, &layer->link);
}

static struct tensor relu_backward(struct layer *layer, struct tensor dy)
{
    struct tensor dx = op_relu_backward(&dy, &layer->saved, &layer->link);
    tensor_free(&dy);
    return dx;
}

static struct tensor max_pool_forward(struct layer *layer, struct tensor x)
{
    struct tensor y = op_max_pool2d(&x, &layer->saved, &layer->link);
    tensor_free(&x);
    return y;
}

static struct tensor max_pool_backward(struct layer *layer, struct tensor dy)
{
    struct tensor dx = op_max_pool2d_backward(&dy, &layer->saved, layer->input_dims[2],
                                              layer->input_dims[3], &layer->link);
    tensor_free(&dy);
    return dx;
}

static struct tensor flatten_forward(struct layer *layer, struct tensor x)
{
    op_flatten(&x, &layer->link);
    return x;
}

static struct tensor flatten_backward(struct layer *layer, struct tensor dy)
{
    op_flatten_backward(&dy, layer->input_dims, &layer->link);
    return dy;
}

static struct tensor linear_forward(struct layer *layer, struct tensor x)
{
    layer->saved = x;
    return op_linear(&x, &layer->weight->value, &layer->bias->value, &layer->link);
}

static struct tensor linear_backward(struct layer *layer, struct tensor dy)
{
    struct tensor dx = op_linear_backward(&dy, &layer->saved, &layer->weight->value,
                                          &layer->weight->grad, &layer->bias->grad, &layer->link);
    tensor_free(&dy);
    return dx;
}

static const struct layer_kind conv2d = {"Conv2d", conv2d_forward, conv2d_backward};
static const struct layer_kind relu = {"ReLU", relu_forward, relu_backward};
static const struct layer_kind max_pool2d = {"MaxPool2d", max_pool_forward, max_pool_backward};
static const struct layer_kind flatten = {"Flatten", flatten_forward, flatten_backward};
static const struct layer_kind linear = {"Linear", linear_forward, linear_backward};

static const struct layer_kind *const architecture[NET_LAYERS] = {
    &conv2d, &relu, &max_pool2d, &conv2d, &relu, &max_pool2d, &flatten, &linear, &relu, &linear,
};

/* Weight and bias of the learning layers in order. The bias is the length of `bias_dim` of the
 * weight. */
static const struct shape {
    uint32_t rank;
    int64_t dims[TENSOR_MAX_DIMS];
    int bias_dim, fan_in;
} shapes[NET_PARAMETERS / 2] = {
    {4, {CONV1, 1, CONV_SIDE, CONV_SIDE}, 0, CONV_SIDE *CONV_SIDE},
    {4, {CONV2, CONV1, CONV_SIDE, CONV_SIDE}, 0, CONV1 *CONV_SIDE *CONV_SIDE},
    {2, {FLAT, HIDDEN}, 1, FLAT},
    {2, {HIDDEN, DIGIT_CLASSES}, 1, HIDDEN},
};

static struct module module_make(const char *class_name, int number)
{
    struct module module = {.id = hb_module_create(class_name)};
    snprintf(module.name, sizeof module.name, "%s_%d", class_name, number);
    return module;
}

static struct parameter parameter_make(struct device *device, uint32_t rank, const int64_t *dims)
{
    struct parameter p = {tensor_new(device, HB_FLOAT32, rank, dims),
                          tensor_new(device, HB_FLOAT32, rank, dims)};
    device->kernels->fill(p.value.data, 0, tensor_count(&p.value));
    device->kernels->fill(p.grad.data, 0, tensor_count(&p.grad));
    return p;
}

/* Uniform with the variance 2 / fan_in, which keeps the size of activations through ReLUs (He et
 * al. 2015). */
static void draw_weights(struct tensor *weight, int fan_in, struct rng *rng)
{
    float limit = sqrtf(6.0f / (float)fan_in), *w = malloc(tensor_bytes(weight));
    if (!w) die("out of memory for %lld weights", (long long)tensor_count(weight));
    for (int64_t i = 0; i < tensor_count(weight); i++)
        w[i] = rng_uniform(rng, -limit, limit);
    tensor_write(weight, w);
    free(w);
}

static void parameters_init(struct net *net, struct device *device, uint64_t seed)
{
    struct rng rng = rng_make(seed, 0);
    for (int i = 0; i < NET_PARAMETERS / 2; i++) {
        const struct shape *shape = &shapes[i];
        struct parameter *weight = &net->parameters[2 * i];
        weight[0] = parameter_make(device, shape->rank, shape->dims);
        weight[1] = parameter_make(device, 1, &shape->dims[shape->bias_dim]);
        draw_weights(&weight[0].value, shape->fan_in, &rng);
    }
}

static int same_kind_before(int layer)
{
    int same = 0;
    for (int i = 0; i < layer; i++)
        same += architecture[i] == architecture[layer];
    return same;
}

void net_init(struct net *net, struct device *device, uint64_t seed)
{
    *net = (struct net){.module = module_make("DigitNet", 0)};
    parameters_init(net, device, seed);
    struct parameter *next = net->parameters;
    for (int i = 0; i < NET_LAYERS; i++) {
        struct layer *layer = &net->layers[i];
        layer->kind = architecture[i];
        layer->module = module_make(layer->kind->class_name, same_kind_before(i));
        if (layer->kind != &conv2d && layer->kind != &linear) continue;
        layer->weight = next++;
        layer->bias = next++;
    }
}

void net_free(struct net *net)
{
    net_forget(net);
    for (int i = 0; i < NET_PARAMETERS; i++) {
        tensor_free(&net->parameters[i].value);
        tensor_free(&net->parameters[i].grad);
    }
}

struct tensor net_forward(struct net *net, struct tensor images)
{
    struct tensor x = images;
    HB_MODULE(net->module.id) {
        report_module("", net->module.name);
        for (int i = 0; i < NET_LAYERS; i++) {
            struct layer *layer = &net->layers[i];
            memcpy(layer->input_dims, x.dims, sizeof x.dims);
            HB_MODULE(layer->module.id) {
                report_module(net->module.name, layer->module.name);
                x = layer->kind->forward(layer, x);
            }
        }
    }
    return x;
}

void net_backward(struct net *net, struct tensor dscores)
{
    struct tensor dy = dscores;
    for (int i = NET_LAYERS - 1; i >= 0; i--) {
        dy = net->layers[i].kind->backward(&net->layers[i], dy);
        tensor_free(&net->layers[i].saved);
    }
}

void net_forget(struct net *net)
{
    for (int i = 0; i < NET_LAYERS; i++)
        tensor_free(&net->layers[i].saved);
}

void loss_init(struct loss *loss)
{
    *loss = (struct loss){.module = module_make("CrossEntropyLoss", 0)};
}

float loss_forward(struct loss *loss, struct tensor scores, const struct tensor *labels)
{
    float mean = 0;
    HB_MODULE(loss->module.id) {
        report_module("", loss->module.name);
        loss->log_p = op_log_softmax(&scores, &loss->softmax_link);
        mean = op_nll_loss(&loss->log_p, labels, &loss->nll_link);
    }
    tensor_free(&scores);
    return mean;
}

struct tensor loss_backward(struct loss *loss, const struct tensor *labels)
{
    struct tensor dlog_p = op_nll_loss_backward(&loss->log_p, labels, &loss->nll_link);
    struct tensor dscores = op_log_softmax_backward(&dlog_p, &loss->log_p, &loss->softmax_link);
    tensor_free(&dlog_p);
    tensor_free(&loss->log_p);
    return dscores;
}
