/* SPDX-License-Identifier: MIT */
#include "trace/link.h"

#include <stdlib.h>

#define NO_SPAN UINT32_MAX

static int order(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* By thread and start, what is around before what is inside; a scope before a call as long. */
static int compare(const void *x, const void *y)
{
    const hb_host_span *a = x, *b = y;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    int starts = order(a->start, b->start), ends = order(b->end, a->end);
    if (starts) return starts;
    if (a->is_call != b->is_call) return a->is_call ? 1 : -1;
    return ends ? ends : (a->item > b->item) - (a->item < b->item);
}

/* Times are rounded, and a call may seem to end after its scope: its middle decides. */
static uint32_t owner_of(const hb_host_span *spans, uint32_t scope, const hb_host_span *call)
{
    int64_t middle = call->start + (call->end - call->start) / 2;
    while (scope != NO_SPAN && spans[scope].end < middle)
        scope = spans[scope].outer;
    return scope;
}

void hb_find_owners(hb_host_span *spans, size_t count,
                    void (*own)(void *context, uint32_t call, uint32_t scope), void *context)
{
    uint32_t open = NO_SPAN; /* the innermost scope; the others by .outer */
    if (count) qsort(spans, count, sizeof *spans, compare);
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
