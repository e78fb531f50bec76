/* SPDX-License-Identifier: MIT
 *
 * A GPU's sensors in sysfs, found by its PCI address.
 */
#ifndef HB_TELEMETRY_GPU_SYSFS_H
#define HB_TELEMETRY_GPU_SYSFS_H

#include "telemetry/gpu_metrics.h"

typedef struct hb_gpu_sysfs {
    bool found;
    char device[256]; /* its directory */
    char hwmon[320];  /* "": none */
    bool reads_table; /* gpu_metrics is there and understood */
} hb_gpu_sysfs;

typedef struct hb_gpu_reading {
    hb_gpu_metrics metrics;
    double vram_bytes; /* NaN: not told */
    bool sleeps;       /* nothing was asked: it would have woken up */
} hb_gpu_reading;

/** `root`: "/sys". `pci`: "0000:c1:00.0"; parts of one GPU have one table, so the function does not
 * count. False, with a sentence in `why`: there is none, or it can't be read. `why` has one also
 * where the table's version is not known. */
bool hb_gpu_sysfs_find(hb_gpu_sysfs *gpu, const char *root, const char *pci, char *why,
                       size_t size);

/** False when it is gone. */
bool hb_gpu_sysfs_read(hb_gpu_sysfs *gpu, hb_gpu_reading *reading);

#endif
