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

void hb_import_set_named_copy(hb_import_launch *l, hb_str name, int32_t gpu)
{
    bool fills = hb_import_has_word(name, "FILL");
    hb_import_set_copy(l, hb_import_has_word(name, "HOSTTO") ? -1 : gpu,
                       hb_import_has_word(name, "TOHOST") ? -1 : gpu, l->bytes, fills);
    l->device = gpu;
    l->has_grid = false;
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

/* ---- counters ---- */

static hb_import_value *new_value(hb_arena *arena, hb_import_rows *rows, hb_import_work *work)
{
    hb_column *values = &rows->values;
    uint32_t old = work->values, n = work->num_values;
    /* Values of a kernel lie together; those of several files come apart. */
    if (n && old + n != values->count) {
        work->values = values->count;
        for (uint32_t i = 0; i < n; i++) {
            hb_import_value *copy = hb_import_push(arena, values);
            *copy = *(const hb_import_value *)hb_column_at(values, old + i);
        }
    }
    hb_import_value *value = hb_import_push(arena, values);
    if (!n) work->values = values->count - 1;
    work->num_values++;
    return value;
}

/* NULL: it has none. */
static hb_import_value *value_of(const hb_import_rows *rows, const hb_import_work *work,
                                 hb_string_id name)
{
    for (uint32_t i = 0; i < work->num_values; i++) {
        hb_import_value *v = hb_column_at(&rows->values, work->values + i);
        if (v->name == name) return v;
    }
    return NULL;
}

void hb_import_add_value(hb_arena *arena, hb_import_rows *rows, hb_import_work *work,
                         hb_string_id name, double value)
{
    hb_import_value *known = value_of(rows, work, name);
    if (known)
        known->value += value;
    else
        *new_value(arena, rows, work) = (hb_import_value){name, value};
}

void hb_import_complete_values(hb_arena *arena, hb_import_rows *rows, hb_import_work *work,
                               const hb_import_value *value)
{
    if (!value_of(rows, work, value->name)) *new_value(arena, rows, work) = *value;
}

/* ---- GPUs ---- */

typedef struct gpu {
    int32_t number; /* the file's */
} gpu;

typedef struct gpus {
    gpu *items;
    uint32_t count;
} gpus;

static bool is_less(const void *context, const void *a, const void *b)
{
    (void)context;
    return ((const gpu *)a)->number < ((const gpu *)b)->number;
}

/* -1: it is none of them. */
static int32_t rank_of(const gpus *n, int32_t number)
{
    size_t i = HB_LOWER_BOUND(n->items, n->count, number, number);
    return i < n->count && n->items[i].number == number ? (int32_t)i : -1;
}

static void add_number(gpus *n, int32_t number)
{
    if (number >= 0) n->items[n->count++] = (gpu){number};
}

static void sort_numbers(hb_arena *arena, gpus *n)
{
    uint32_t kept = 0;
    hb_sort(arena, n->items, n->count, sizeof *n->items, is_less, NULL);
    for (uint32_t i = 0; i < n->count; i++)
        if (!kept || n->items[kept - 1].number != n->items[i].number)
            n->items[kept++] = n->items[i];
    n->count = kept;
}

/* Also those that copies alone were made from or to. */
static gpus used_gpus(hb_arena *arena, const hb_import_rows *rows)
{
    uint32_t lanes = rows->lanes.items.count, launches = rows->launches.items.count;
    gpus n = {HB_NEW_ARRAY(arena, gpu, (size_t)lanes + 2 * (size_t)launches), 0};
    for (uint32_t i = 1; i < lanes; i++)
        add_number(&n, ((const hb_import_lane *)hb_column_at(&rows->lanes.items, i))->device);
    for (uint32_t i = 1; i < launches; i++) {
        const hb_import_launch *l = hb_column_at(&rows->launches.items, i);
        if (l->kind == HB_EVENT_KERNEL) continue;
        add_number(&n, l->from);
        add_number(&n, l->to);
    }
    sort_numbers(arena, &n);
    return n;
}

void hb_import_number_gpus(hb_arena *arena, hb_import_rows *rows)
{
    gpus n = used_gpus(arena, rows);
    for (uint32_t i = 1; i < rows->lanes.items.count; i++) {
        hb_import_lane *lane = hb_column_at(&rows->lanes.items, i);
        lane->device = HB_MAX(rank_of(&n, lane->device), 0);
    }
    for (uint32_t i = 1; i < rows->launches.items.count; i++) {
        hb_import_launch *l = hb_column_at(&rows->launches.items, i);
        l->device = HB_MAX(rank_of(&n, l->device), 0);
        if (l->kind == HB_EVENT_KERNEL) continue;
        l->from = rank_of(&n, l->from);
        l->to = rank_of(&n, l->to);
    }
    for (uint32_t i = 0; i < rows->memory.count; i++) {
        hb_import_memory *m = hb_column_at(&rows->memory, i);
        m->device = rank_of(&n, m->device);
    }
}

/* ---- names ---- */

enum hb_import_part hb_import_part_of(hb_str category)
{
    if (hb_import_has_word(category, "MARKER")) return HB_IMPORT_RANGES;
    if (hb_import_has_word(category, "HIP")) return HB_IMPORT_HIP;
    if (hb_import_has_word(category, "HSA")) return HB_IMPORT_HSA;
    if (hb_import_has_word(category, "RCCL")) return HB_IMPORT_RCCL;
    if (hb_import_has_word(category, "_API")) return HB_IMPORT_HIP; /* of another runtime */
    return HB_IMPORT_RANGES;
}

bool hb_import_is_minor(hb_str call)
{
    return hb_str_begins(call, "__hip") || hb_str_is(call, "hipGetLastError") ||
           hb_str_is(call, "hipPeekAtLastError");
}
