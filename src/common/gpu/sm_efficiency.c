/* SPDX-License-Identifier: MIT */
#include "gpu/sm_efficiency.h"

#include <math.h>

#include "base/hash_map.h"

typedef struct end_point {
    double time, blocks;
    bool end;
} end_point;

static bool point_before(const void *context, const void *x, const void *y)
{
    const end_point *m = x, *n = y;
    (void)context;
    return m->time != n->time ? m->time < n->time : m->end < n->end;
}

static end_point *sorted_points(hb_arena *arena, const hb_sm_launches *launches, uint32_t *count)
{
    uint32_t n = 0;
    end_point *points = HB_NEW_ARRAY(arena, end_point, (size_t)launches->count * 2 + 1);
    for (uint32_t i = 0; i < launches->count; i++) {
        hb_sm_launch launch = launches->items[i];
        points[n++] = (end_point){launch.start, launch.blocks, false};
        points[n++] = (end_point){launch.end, launch.blocks, true};
    }
    hb_sort(arena, points, n, sizeof *points, point_before, NULL);
    *count = n;
    return points;
}

double hb_sm_weight(hb_arena *arena, const hb_sm_launches *launches, double from, double to,
                    bool *any)
{
    uint32_t n;
    const end_point *points = sorted_points(arena, launches, &n);
    double sum = 0, value = n ? points[0].blocks : 0, last = n ? points[0].time : 0;
    for (uint32_t i = 1; i < n; i++) {
        if (points[i].time > last && value > 0 && points[i].time > from && last < to) {
            double part = fmin(points[i].time, to) - fmax(last, from);
            sum += fmin(value, 1) * part;
            *any = true;
        }
        last = points[i].time;
        value += points[i].end ? -points[i].blocks : points[i].blocks;
    }
    return sum;
}
