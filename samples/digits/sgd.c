/* SPDX-License-Identifier: MIT */
#include "sgd.h"

void sgd_init(struct sgd *sgd, struct net *net, float lr, float momentum)
{
    *sgd = (struct sgd){.parameters = net->parameters, .lr = lr, .momentum = momentum};
    for (int i = 0; i < NET_PARAMETERS; i++) {
        sgd->velocities[i] = tensor_like(&net->parameters[i].value);
        op_zero_(&sgd->velocities[i]);
    }
}

void sgd_free(struct sgd *sgd)
{
    for (int i = 0; i < NET_PARAMETERS; i++)
        tensor_free(&sgd->velocities[i]);
}

void sgd_zero_grad(struct sgd *sgd)
{
    HB_OPTIMIZER_ZERO_GRAD("SGD") {
        for (int i = 0; i < NET_PARAMETERS; i++)
            op_zero_(&sgd->parameters[i].grad);
    }
}

void sgd_step(struct sgd *sgd)
{
    HB_OPTIMIZER_STEP("SGD") {
        for (int i = 0; i < NET_PARAMETERS; i++) {
            op_mul_(&sgd->velocities[i], sgd->momentum);
            op_add_(&sgd->velocities[i], &sgd->parameters[i].grad, 1);
            op_add_(&sgd->parameters[i].value, &sgd->velocities[i], -sgd->lr);
        }
    }
}
