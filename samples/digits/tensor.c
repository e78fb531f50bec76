/* SPDX-License-Identifier: MIT */
#include "tensor.h"

#include <string.h>

int64_t tensor_count(const struct tensor *t)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < t->rank; i++)
        count *= t->dims[i];
    return count;
}

size_t tensor_bytes(const struct tensor *t)
{
    return (size_t)tensor_count(t) * (t->dtype == HB_INT64 ? 8 : 4);
}

struct tensor tensor_new(struct device *device, hb_dtype dtype, uint32_t rank, const int64_t *dims)
{
    struct tensor t = {.device = device, .dtype = dtype, .rank = rank};
    memcpy(t.dims, dims, rank * sizeof *dims);
    t.data = allocator_take(device->memory, tensor_bytes(&t));
    return t;
}

void tensor_write(struct tensor *t, const void *data)
{
    const struct transfers *transfers = t->device->kernels->transfers;
    if (transfers)
        transfers->to_device(t->data, data, tensor_bytes(t));
    else
        memcpy(t->data, data, tensor_bytes(t));
}

void tensor_read(const struct tensor *t, void *data)
{
    const struct transfers *transfers = t->device->kernels->transfers;
    if (transfers)
        transfers->to_host(data, t->data, tensor_bytes(t));
    else
        memcpy(data, t->data, tensor_bytes(t));
}

void tensor_free(struct tensor *t)
{
    if (t->data && !t->borrowed) allocator_give(t->device->memory, t->data, tensor_bytes(t));
    t->data = NULL;
}
