/* SPDX-License-Identifier: MIT
 *
 * The table in which amdgpu's firmware tells of a GPU (sysfs: gpu_metrics). Each version has a
 * layout of its own.
 */
#ifndef HB_TELEMETRY_GPU_METRICS_H
#define HB_TELEMETRY_GPU_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hb_throttle {
    HB_THROTTLE_POWER = 1,
    HB_THROTTLE_HEAT = 2,
    HB_THROTTLE_CURRENT = 4,
    HB_THROTTLE_OTHER = 8, /* or it is not told why */
};

/** What is not told is NaN. */
typedef struct hb_gpu_metrics {
    double power_w, gfx_mhz, memory_mhz, hotspot_c, memory_c, busy_percent;
    bool has_energy, has_throttle;
    uint64_t energy;   /* counts on, in 2^-16 J */
    unsigned throttle; /* enum hb_throttle, at this moment */
    /* instead of that, how often it was so, counting on */
    bool has_residencies;
    uint32_t by_power, by_heat;
} hb_gpu_metrics;

/** False, with the version in `version` ("1.9"; "" when there is none), where it is not known or
 * the table is too short for it; then all is unknown. */
bool hb_gpu_metrics_read(const void *table, size_t size, hb_gpu_metrics *metrics, char version[16]);

/** All unknown. */
void hb_gpu_metrics_clear(hb_gpu_metrics *metrics);

#endif
