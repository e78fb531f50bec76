/* SPDX-License-Identifier: MIT */
#include "write/nesting.h"

#include <stdlib.h>

uint64_t hb_nest_around(hb_nest *nest, int64_t start)
{
    while (nest->depth && nest->ends[nest->depth - 1] <= start)
        nest->depth--;
    return nest->depth ? nest->ids[nest->depth - 1] : 0;
}

hb_nest_place hb_nest_enter(hb_nest *nest, unsigned limit, int64_t start, int64_t end, uint64_t id)
{
    (void)hb_nest_around(nest, start);
    if (nest->depth && end > nest->ends[nest->depth - 1]) return HB_NEST_CROSSING;
    if (nest->depth == limit) return HB_NEST_TOO_DEEP;
    nest->ends[nest->depth] = end;
    nest->ids[nest->depth++] = id;
    return HB_NEST_INSIDE;
}

/* Neighbours mostly share a thread. */
hb_nest *hb_nests_of(hb_nests *nests, int64_t tid)
{
    bool added;
    if (nests->list.count && nests->list.items[nests->last].tid == tid)
        return &nests->list.items[nests->last];
    hb_dict_entry *place = hb_dict_add(NULL, &nests->by_tid, (uint64_t)tid, &added);
    if (!place) return NULL;
    if (added) {
        hb_nest *nest = HB_APPEND(&nests->list);
        place->value = nest ? (uint32_t)nests->list.count - 1 : UINT32_MAX;
        if (nest) nest->tid = tid;
    }
    if (place->value == UINT32_MAX) return NULL;
    nests->last = place->value;
    return &nests->list.items[nests->last];
}

void hb_nests_free(hb_nests *nests)
{
    free(nests->list.items);
    hb_dict_free(&nests->by_tid);
    *nests = (hb_nests){0};
}
