/* SPDX-License-Identifier: MIT
 *
 * The GPU below hip.c: its memory, two streams, and launches. Kernels run one after the other in
 * one stream; batches are copied there in the other, at the same time.
 */
#ifndef DIGITS_HIP_DEVICE_H
#define DIGITS_HIP_DEVICE_H

#include "../backend.h"
#include "kernels.h"

enum kernel {
#define KERNEL_NUMBER(name) KERNEL_##name,
    KERNELS(KERNEL_NUMBER)
#undef KERNEL_NUMBER
        NUM_KERNELS
};

/** Blocks along x, y and z. */
struct grid {
    unsigned x, y, z;
};

/** Starts the first GPU, as hip_open(). */
void hip_device_open(const char *code);

/** Launches `kernel` with its arguments, the struct of kernels.h. */
void hip_launch(enum kernel kernel, struct grid grid, void *args);

void hip_zero(void *device, size_t bytes);

/** Copies a number to the host, for which it waits. */
float hip_read(const float *device);

/** A place in device memory for one number on its way to the host. */
float *hip_scratch(void);

void *hip_obtain(size_t bytes);
void hip_release(void *block);

/** Hands to report_kernel_timed() what events measured of the kernels launched since the last time.
 */
void hip_report_times(void);

extern const struct transfers hip_transfers;

#endif
