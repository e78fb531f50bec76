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

static hb_nest *add(hb_nests *nests, int64_t tid)
{
    hb_nest *nest = HB_APPEND(&nests->list);
    if (!nest) return NULL;
    nest->tid = tid;
    nests->last = nests->list.count - 1;
    return nest;
}

/* Linear: threads with module frames are few, and neighbours mostly share one. */
hb_nest *hb_nests_of(hb_nests *nests, int64_t tid)
{
    if (nests->list.count && nests->list.items[nests->last].tid == tid)
        return &nests->list.items[nests->last];
    for (size_t i = 0; i < nests->list.count; i++) {
        if (nests->list.items[i].tid != tid) continue;
        nests->last = i;
        return &nests->list.items[i];
    }
    return add(nests, tid);
}

void hb_nests_free(hb_nests *nests)
{
    free(nests->list.items);
    *nests = (hb_nests){0};
}
