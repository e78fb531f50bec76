/* SPDX-License-Identifier: MIT */
#include "hip/known_devices.h"

#include <stdatomic.h>

enum { NOT_ASKED, ASKING, KNOWN };
static _Atomic int progress; /* KNOWN is stored when the rest is, and loaded before it is read */
static hb_hip_device devices[HB_HIP_MAX_DEVICES];
static int num_devices;

void hb_known_devices_look(const hb_hip *hip)
{
    int count = 0, expected = NOT_ASKED;
    if (atomic_load_explicit(&progress, memory_order_relaxed) != NOT_ASKED) return;
    if (!atomic_compare_exchange_strong(&progress, &expected, ASKING)) return;
    if (!hip->get_device_count || hip->get_device_count(&count) != 0) count = 0;
    for (int id = 0; id < HB_MIN(count, HB_HIP_MAX_DEVICES); id++) {
        if (!hb_hip_device_get(hip, id, &devices[id])) break;
        num_devices = id + 1;
    }
    atomic_store_explicit(&progress, KNOWN, memory_order_release);
}

const hb_hip_device *hb_known_devices(int *count)
{
    *count = atomic_load_explicit(&progress, memory_order_acquire) == KNOWN ? num_devices : 0;
    return devices;
}
