/* SPDX-License-Identifier: MIT
 *
 * Tensors: dense, row-major, and living on a device. A device is its kernels (backend.h) and its
 * memory (allocator.h). Tensors are passed by value and owned by whoever holds them last: the
 * function comments say who consumes one.
 */
#ifndef DIGITS_TENSOR_H
#define DIGITS_TENSOR_H

#include "allocator.h"
#include "backend.h"

enum { TENSOR_MAX_DIMS = 4 };

struct device {
    const struct backend *kernels;
    struct allocator *memory;
};

struct tensor {
    void *data; /* NULL: no tensor */
    struct device *device;
    bool borrowed;  /* the memory is another's, who frees it */
    hb_dtype dtype; /* HB_FLOAT32, HB_INT32 or HB_INT64 */
    uint32_t rank;
    int64_t dims[TENSOR_MAX_DIMS];
};

struct tensor tensor_new(struct device *device, hb_dtype dtype, uint32_t rank, const int64_t *dims);

/* tensor_make(device, HB_FLOAT32, n, c, h, w) */
#define tensor_make(device, dtype, ...)                                                 \
    tensor_new(device, dtype, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
               (const int64_t[]){__VA_ARGS__})

/* Uninitialised, of the same device, type and shape. */
static inline struct tensor tensor_like(const struct tensor *t)
{
    return tensor_new(t->device, t->dtype, t->rank, t->dims);
}

int64_t tensor_count(const struct tensor *t); /* elements */
size_t tensor_bytes(const struct tensor *t);

/* All its elements, from and to the host; wherever they live. */
void tensor_write(struct tensor *t, const void *data);
void tensor_read(const struct tensor *t, void *data);

/* Hands a tensor on: the holder is left with "no tensor". */
static inline struct tensor tensor_move(struct tensor *t)
{
    struct tensor moved = *t;
    t->data = NULL;
    return moved;
}

void tensor_free(struct tensor *t); /* leaves "no tensor" behind */

#endif
