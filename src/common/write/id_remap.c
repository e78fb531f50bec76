/* SPDX-License-Identifier: MIT */
#include "write/id_remap.h"

#include <stdlib.h>

struct hb_remapped_id {
    uint64_t id, instead;
};

/* Without memory the plugin misses some operators' kernels; the trace itself loses nothing. */
void hb_id_remap_add(hb_id_remap *remap, uint64_t id, uint64_t instead)
{
    if (id == 0 || remap->ids.count == HB_MAX_REMAPPED) return;
    struct hb_remapped_id *added = HB_APPEND(&remap->ids);
    if (added) *added = (struct hb_remapped_id){id, instead};
}

static int by_id(const void *a, const void *b)
{
    const struct hb_remapped_id *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

void hb_id_remap_sort(hb_id_remap *remap)
{
    if (remap->ids.count)
        qsort(remap->ids.items, remap->ids.count, sizeof *remap->ids.items, by_id);
}

static uint64_t find_once(const hb_id_remap *remap, uint64_t id)
{
    struct hb_remapped_id key = {id, 0};
    const struct hb_remapped_id *found =
        bsearch(&key, remap->ids.items, remap->ids.count, sizeof key, by_id);
    return found ? found->instead : id;
}

/* Twice, since what is nearest to a scope may be a step that is hidden later. */
uint64_t hb_id_remap_find(const hb_id_remap *remap, uint64_t id)
{
    if (HB_LIKELY(remap->ids.count == 0)) return id;
    return find_once(remap, find_once(remap, id));
}

void hb_id_remap_free(hb_id_remap *remap)
{
    free(remap->ids.items);
    *remap = (hb_id_remap){0};
}
