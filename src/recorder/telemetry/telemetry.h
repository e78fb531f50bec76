/* SPDX-License-Identifier: MIT
 *
 * What the sensors of this process's GPUs tell, as counters of the running session. Public:
 * hb_gpu_telemetry().
 */
#ifndef HB_TELEMETRY_TELEMETRY_H
#define HB_TELEMETRY_TELEMETRY_H

#include "trace/source.h"

/** What the curves are called behind "GPU N ". */
#define HB_TELEMETRY_POWER       "power"
#define HB_TELEMETRY_ENERGY      "energy"
#define HB_TELEMETRY_CLOCK       "clock"
#define HB_TELEMETRY_MEMORY      "memory clock"
#define HB_TELEMETRY_HEAT        "temperature"
#define HB_TELEMETRY_MEMORY_HEAT "memory temperature"
#define HB_TELEMETRY_BUSY        "busy"
#define HB_TELEMETRY_VRAM        "VRAM"
#define HB_TELEMETRY_THROTTLED   "throttled"

/** Sums the curves up for each step: adds "hipboard_gpu_steps" and, where a clock fell while it was
 * throttled, "hipboard_gpu_notes" to the source's metadata. The source then owns what was *source.
 */
hb_result hb_telemetry_sum_up(hb_source **source);

#endif
