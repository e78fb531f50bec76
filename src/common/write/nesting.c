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
    if (nests->count == nests->capacity) {
        size_t capacity = nests->capacity ? nests->capacity * 2 : 8;
        hb_nest *grown = realloc(nests->nests, capacity * sizeof *grown);
        if (!grown) return NULL;
        nests->nests = grown;
        nests->capacity = capacity;
    }
    nests->last = nests->count++;
    nests->nests[nests->last] = (hb_nest){.tid = tid};
    return &nests->nests[nests->last];
}

/* Linear: threads with module frames are few, and neighbours mostly share one. */
hb_nest *hb_nests_of(hb_nests *nests, int64_t tid)
{
    if (nests->count && nests->nests[nests->last].tid == tid) return &nests->nests[nests->last];
    for (size_t i = 0; i < nests->count; i++) {
        if (nests->nests[i].tid != tid) continue;
        nests->last = i;
        return &nests->nests[i];
    }
    return add(nests, tid);
}

void hb_nests_free(hb_nests *nests)
{
    free(nests->nests);
    *nests = (hb_nests){0};
}
