/* SPDX-License-Identifier: MIT
 *
 * Takes batches from the host to a device with memory of its own: into two places by turns, so that
 * one is copied while kernels still use the other.
 */
#ifndef DIGITS_UPLOAD_H
#define DIGITS_UPLOAD_H

#include "loader.h"

struct uploader;

/** For batches of up to `batch_size` digits. NULL for a device that shares the host's memory: then
 * the functions below leave batches as they are. */
struct uploader *uploader_create(struct device *device, int64_t batch_size);
void uploader_destroy(struct uploader *uploader);

/** Begins to copy a batch to the device; kernels launched later see it. `batch` becomes the one
 * there. */
void uploader_send(struct uploader *uploader, struct batch *batch);

/** The kernels that use the last batch sent have been launched. */
void uploader_release(struct uploader *uploader);

#endif
