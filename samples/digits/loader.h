/* SPDX-License-Identifier: MIT
 *
 * The data loader: shuffled, augmented, normalised mini-batches. Without workers loader_next()
 * makes a batch itself, while training waits; with workers, threads make batches ahead into a short
 * queue and loader_next() only takes the next one. The batches are the same either way, bit for
 * bit.
 */
#ifndef DIGITS_LOADER_H
#define DIGITS_LOADER_H

#include "data.h"
#include "tensor.h"

struct batch {
    struct tensor images; /* float (n, 1, 8, 8) */
    struct tensor labels; /* int64 (n) */
};

struct loader_options {
    const struct dataset *set;
    struct device *device;
    int64_t epochs, batch_size;
    int workers;
    uint64_t seed;
};

struct loader;

/** `set` and `device` must outlive the loader. */
struct loader *loader_create(const struct loader_options *options);

/** The next batch, which belongs to the caller; false at the end of an epoch, after which the next
 * call begins a new one. */
bool loader_next(struct loader *loader, struct batch *batch);

int64_t loader_batches(const struct loader *loader); /* in an epoch */

/** Also in the middle of training. */
void loader_destroy(struct loader *loader);

/** A batch of `count` digits, uninitialised. */
struct batch batch_new(struct device *device, size_t count);

/** Digits first to first + count - 1 as they are, normalised, for evaluation. */
struct batch batch_of(struct device *device, const struct dataset *set, size_t first, size_t count);
void batch_free(struct batch *batch);

#endif
