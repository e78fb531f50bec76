/* SPDX-License-Identifier: MIT */
#include "upload.h"

#include "die.h"
#include "ops.h"

struct uploader {
    const struct transfers *transfers;
    struct slot {
        struct batch host;   /* being copied, or copied */
        struct batch device; /* room for the largest */
    } slots[TRANSFER_SLOTS];
    int slot; /* of the last batch sent */
};

struct uploader *uploader_create(struct device *device, int64_t batch_size)
{
    if (!device->kernels->transfers) return NULL;
    struct uploader *uploader = calloc(1, sizeof *uploader);
    if (!uploader) die("out of memory for the batches' way to the device");
    uploader->transfers = device->kernels->transfers;
    for (int i = 0; i < TRANSFER_SLOTS; i++)
        uploader->slots[i].device = batch_new(device, (size_t)batch_size);
    return uploader;
}

void uploader_destroy(struct uploader *uploader)
{
    if (!uploader) return;
    for (int i = 0; i < TRANSFER_SLOTS; i++) {
        uploader->transfers->slot_begin(i);
        batch_free(&uploader->slots[i].host);
        batch_free(&uploader->slots[i].device);
    }
    free(uploader);
}

/* The first rows of `room`, as many as `from` has, which they get. */
static struct tensor send(const struct transfers *transfers, const struct tensor *room,
                          const struct tensor *from)
{
    struct tensor to = *room;
    to.borrowed = true;
    to.dims[0] = from->dims[0];
    op_copy_(&to, from, transfers->slot_copy);
    return to;
}

void uploader_send(struct uploader *uploader, struct batch *batch)
{
    if (!uploader) return;
    uploader->slot = (uploader->slot + 1) % TRANSFER_SLOTS;
    struct slot *slot = &uploader->slots[uploader->slot];
    uploader->transfers->slot_begin(uploader->slot);
    batch_free(&slot->host);
    slot->host = *batch;
    batch->images = send(uploader->transfers, &slot->device.images, &slot->host.images);
    batch->labels = send(uploader->transfers, &slot->device.labels, &slot->host.labels);
    uploader->transfers->slot_end(uploader->slot);
}

void uploader_release(struct uploader *uploader)
{
    if (uploader) uploader->transfers->slot_release(uploader->slot);
}
