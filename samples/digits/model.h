/* SPDX-License-Identifier: MIT
 *
 * A small convolutional network for 8x8 digits and its loss, as modules with a forward and a
 * hand-written backward pass.
 *
 *     Conv2d 1->16  ReLU  MaxPool2d  Conv2d 16->32  ReLU  MaxPool2d  Flatten  Linear 128->64  ReLU
 *     Linear 64->10
 */
#ifndef DIGITS_MODEL_H
#define DIGITS_MODEL_H

#include "ops.h"

enum { NET_LAYERS = 10, NET_PARAMETERS = 8 };

struct parameter {
    struct tensor value, grad;
};

/** What the profiler shows of a layer: a frame by the name "Conv2d_0". */
struct module {
    hb_module id;
    char name[32]; /* as hipboard makes it, for --report */
};

struct layer {
    const struct layer_kind *kind;
    struct module module;
    struct parameter *weight, *bias; /* NULL in layers that learn nothing */
    struct tensor saved;             /* what backward needs of forward */
    int64_t input_dims[TENSOR_MAX_DIMS];
    struct grad_link link;
};

struct net {
    struct module module;
    struct layer layers[NET_LAYERS];
    struct parameter parameters[NET_PARAMETERS];
};

struct loss {
    struct module module;
    struct tensor log_p;
    struct grad_link softmax_link, nll_link;
};

/** Weights are drawn from `seed`. */
void net_init(struct net *net, struct device *device, uint64_t seed);
void net_free(struct net *net);

/** Images (n, 1, 8, 8), which are consumed, to scores (n, 10). */
struct tensor net_forward(struct net *net, struct tensor images);

/** From the gradient of the scores, which is consumed, to gradients added to all parameters. */
void net_backward(struct net *net, struct tensor dscores);

/** Drops what forward saved, where no backward follows. */
void net_forget(struct net *net);

void loss_init(struct loss *loss);

/** The mean cross-entropy of scores, which are consumed, and labels. */
float loss_forward(struct loss *loss, struct tensor scores, const struct tensor *labels);
struct tensor loss_backward(struct loss *loss, const struct tensor *labels);

#endif
