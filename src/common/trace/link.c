/* SPDX-License-Identifier: MIT */
#include "trace/link.h"

#include "base/hash_map.h"

#define NO_SPAN UINT32_MAX

/* By thread and start, what is around before what is inside; a scope before a call as long. */
static bool is_before(const void *context, const void *x, const void *y)
{
    const hb_host_span *a = x, *b = y;
    (void)context;
    if (a->thread != b->thread) return a->thread < b->thread;
    if (a->start != b->start) return a->start < b->start;
    if (a->is_call != b->is_call) return b->is_call;
    return a->end != b->end ? a->end > b->end : a->item < b->item;
}

/* Times are rounded, and a call may seem to end after its scope: its middle decides. */
static uint32_t owner_of(const hb_host_span *spans, uint32_t scope, const hb_host_span *call)
{
    int64_t middle = call->start + (call->end - call->start) / 2;
    while (scope != NO_SPAN && spans[scope].end < middle)
        scope = spans[scope].outer;
    return scope;
}

void hb_find_owners(hb_arena *arena, hb_host_span *spans, size_t count,
                    void (*own)(void *context, uint32_t call, uint32_t scope), void *context)
{
    uint32_t open = NO_SPAN; /* the innermost scope; the others by .outer */
    hb_sort(arena, spans, count, sizeof *spans, is_before, NULL);
    for (uint32_t i = 0; i < count; i++) {
        hb_host_span *s = &spans[i];
        if (i && s->thread != spans[i - 1].thread) open = NO_SPAN;
        while (open != NO_SPAN && spans[open].end <= s->start)
            open = spans[open].outer;
        if (s->is_call) {
            uint32_t scope = owner_of(spans, open, s);
            if (scope != NO_SPAN) own(context, s->item, spans[scope].item);
        } else {
            s->outer = open;
            open = i;
        }
    }
}
