/* SPDX-License-Identifier: MIT */
#include "trace/devices.h"

#include <math.h>
#include <stdio.h>

const hb_device_info *hb_find_device(const hb_trace_info *info, int32_t id)
{
    for (size_t i = 0; i < info->num_devices; i++)
        if (info->devices[i].id == id) return &info->devices[i];
    return NULL;
}

double hb_blocks_per_sm(const hb_trace_info *info, const hb_trace_event *event)
{
    const hb_kernel_args *kernel = &event->kernel;
    const hb_device_info *device = hb_find_device(info, event->device);
    if (kernel->blocks_per_sm > 0 || !kernel->has_grid || !device || device->num_cus <= 0)
        return kernel->blocks_per_sm;
    return (double)kernel->grid[0] * kernel->grid[1] * kernel->grid[2] / device->num_cus;
}

double hb_blocks_of_grid(const char *grid)
{
    double x, y, z;
    if (sscanf(grid, "[%lf ,%lf ,%lf ]", &x, &y, &z) != 3) return 0;
    double blocks = x * y * z;
    return isfinite(blocks) ? blocks : 0; /* NaN and Infinity are numbers in traces */
}
