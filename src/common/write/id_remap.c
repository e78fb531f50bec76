/* SPDX-License-Identifier: MIT */
#include "write/id_remap.h"

#include <stdlib.h>

struct hb_outside_id {
    uint64_t id, instead;
};

/* Without memory the plugin misses some operators' kernels; the trace itself loses nothing. */
void hb_outside_add(hb_outside *outside, uint64_t id, uint64_t instead)
{
    if (id == 0 || outside->ids.count == HB_MAX_OUTSIDE) return;
    struct hb_outside_id *added = HB_APPEND(&outside->ids);
    if (added) *added = (struct hb_outside_id){id, instead};
}

static int by_id(const void *a, const void *b)
{
    const struct hb_outside_id *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

void hb_outside_sort(hb_outside *outside)
{
    if (outside->ids.count)
        qsort(outside->ids.items, outside->ids.count, sizeof *outside->ids.items, by_id);
}

static uint64_t find_once(const hb_outside *outside, uint64_t id)
{
    struct hb_outside_id key = {id, 0};
    const struct hb_outside_id *found =
        bsearch(&key, outside->ids.items, outside->ids.count, sizeof key, by_id);
    return found ? found->instead : id;
}

/* Twice, since what is nearest to a scope may be a step that is hidden later. */
uint64_t hb_outside_find(const hb_outside *outside, uint64_t id)
{
    if (HB_LIKELY(outside->ids.count == 0)) return id;
    return find_once(outside, find_once(outside, id));
}

void hb_outside_free(hb_outside *outside)
{
    free(outside->ids.items);
    *outside = (hb_outside){0};
}
