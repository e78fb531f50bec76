/* SPDX-License-Identifier: MIT */
#include "import/rows_shared.h"

static uint32_t clamp(uint64_t size)
{
    return (uint32_t)HB_MIN(size, (uint64_t)UINT32_MAX);
}

void hb_import_set_grid(hb_import_launch *l, const uint64_t items[3], const uint64_t threads[3])
{
    l->has_grid = true;
    for (int i = 0; i < 3; i++) {
        l->has_grid &= threads[i] > 0;
        l->block[i] = clamp(threads[i]);
        l->grid[i] = threads[i] ? clamp(items[i] / threads[i] + (items[i] % threads[i] > 0)) : 0;
    }
}

static uint8_t direction_of(int32_t from, int32_t to)
{
    if (from < 0) return to < 0 ? HB_IMPORT_COPY_HTOH : HB_IMPORT_COPY_HTOD;
    if (to < 0) return HB_IMPORT_COPY_DTOH;
    return from == to ? HB_IMPORT_COPY_DTOD : HB_IMPORT_COPY_PTOP;
}

void hb_import_set_copy(hb_import_launch *l, int32_t from, int32_t to, uint64_t bytes, bool fills)
{
    l->kind = fills ? HB_EVENT_MEMSET : HB_EVENT_MEMCPY;
    l->from = from;
    l->to = to;
    l->copy = direction_of(from, to);
    l->device = HB_MAX(to >= 0 ? to : from, 0);
    l->bytes = bytes;
}

uint32_t hb_import_lane_at(hb_arena *arena, hb_import_rows *rows, int32_t gpu, int64_t queue,
                           int64_t stream)
{
    hb_import_lane lane;
    memset(&lane, 0, sizeof lane);
    lane.device = gpu;
    lane.queue = queue;
    lane.stream = stream;
    return hb_import_distinct(arena, &rows->lanes, &lane);
}

bool hb_import_has_word(hb_str text, const char *upper)
{
    size_t n = strlen(upper);
    for (uint32_t i = 0; i + n <= text.len; i++) {
        size_t k = 0;
        while (k < n && (text.s[i + k] & ~0x20) == (upper[k] & ~0x20))
            k++;
        if (k == n) return true;
    }
    return false;
}

enum hb_import_part hb_import_part_of(hb_str category)
{
    if (hb_import_has_word(category, "MARKER")) return HB_IMPORT_RANGES;
    if (hb_import_has_word(category, "HIP")) return HB_IMPORT_HIP;
    if (hb_import_has_word(category, "HSA")) return HB_IMPORT_HSA;
    if (hb_import_has_word(category, "RCCL")) return HB_IMPORT_RCCL;
    return HB_IMPORT_RANGES;
}

bool hb_import_is_minor(hb_str call)
{
    return hb_str_begins(call, "__hip") || hb_str_is(call, "hipGetLastError") ||
           hb_str_is(call, "hipPeekAtLastError");
}
