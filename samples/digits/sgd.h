/* SPDX-License-Identifier: MIT
 *
 * Stochastic gradient descent with momentum, as torch.optim.SGD defines it.
 */
#ifndef DIGITS_SGD_H
#define DIGITS_SGD_H

#include "model.h"

struct sgd {
    struct parameter *parameters;
    struct tensor velocities[NET_PARAMETERS];
    float lr, momentum;
};

void sgd_init(struct sgd *sgd, struct net *net, float lr, float momentum);
void sgd_free(struct sgd *sgd);

void sgd_zero_grad(struct sgd *sgd);

/** velocity = momentum velocity + grad; value -= lr velocity */
void sgd_step(struct sgd *sgd);

#endif
