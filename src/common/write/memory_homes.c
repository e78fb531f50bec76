/* SPDX-License-Identifier: MIT */
#include "write/memory_homes.h"

#include <stdlib.h>

#include "base/base.h"

/* ---- orders ---- */

static int by_thread(const void *a, const void *b)
{
    const hb_memory_moment *x = a, *y = b;
    if (x->tid != y->tid) return x->tid < y->tid ? -1 : 1;
    return x->ns < y->ns ? -1 : x->ns > y->ns;
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* ---- moments ---- */

hb_result hb_memory_homes_note(hb_memory_homes *h, const hb_trace_event *event)
{
    hb_memory_moment *moment = HB_APPEND(&h->moments);
    if (!moment) return hb_no_memory();
    bool host = event->memory.device_type == HB_DEVICE_CPU;
    *moment =
        (hb_memory_moment){event->tid, event->start_ns, host ? -1 : event->memory.device_id, false};
    return HB_OK;
}

void hb_memory_homes_sort(hb_memory_homes *h)
{
    if (h->moments.count)
        qsort(h->moments.items, h->moments.count, sizeof *h->moments.items, by_thread);
}

/* The first moment at or behind the event's begin. */
static size_t place_of(const hb_memory_homes *h, const hb_trace_event *e)
{
    size_t low = 0, high = h->moments.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const hb_memory_moment *m = &h->moments.items[middle];
        bool before = m->tid != e->tid ? m->tid < e->tid : m->ns < e->start_ns;
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool lies_in(const hb_memory_homes *h, size_t place, const hb_trace_event *e)
{
    return place < h->moments.count && h->moments.items[place].tid == e->tid &&
           h->moments.items[place].ns < e->end_ns;
}

/* What is left keeps its order. */
static void forget_device(hb_memory_homes *h, int32_t device)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < h->moments.count; i++)
        if (h->moments.items[i].device != device) h->moments.items[kept++] = h->moments.items[i];
    h->moments.count = kept;
}

bool hb_memory_homes_take(hb_memory_homes *h, const hb_trace_event *op)
{
    for (size_t i = place_of(h, op); lies_in(h, i, op); i = place_of(h, op))
        forget_device(h, h->moments.items[i].device);
    return h->moments.count > 0;
}

/* ---- calls ---- */

hb_result hb_memory_homes_take_call(hb_memory_homes *h, const hb_trace_event *call)
{
    size_t place = place_of(h, call);
    if (!lies_in(h, place, call)) return HB_OK;
    uint64_t *added = HB_APPEND(&h->calls);
    if (!added) return hb_no_memory();
    *added = call->correlation;
    for (size_t i = place; lies_in(h, i, call); i++)
        h->moments.items[i].has_home = true;
    return HB_OK;
}

static bool has_home(const hb_memory_homes *h, int32_t device)
{
    for (size_t i = 0; i < h->moments.count; i++)
        if (h->moments.items[i].device == device && h->moments.items[i].has_home) return true;
    return false;
}

void hb_memory_homes_end(hb_memory_homes *h)
{
    hb_memory_moment *moments = h->moments.items;
    uint32_t kept = 0;
    if (h->calls.count) qsort(h->calls.items, h->calls.count, sizeof *h->calls.items, by_number);
    while (h->moments.count > kept) {
        hb_memory_moment first = moments[kept];
        bool home = has_home(h, first.device);
        uint32_t others = kept;
        for (uint32_t i = kept; i < h->moments.count; i++) {
            const hb_memory_moment *m = &moments[i];
            if (m->device == first.device && m->ns < first.ns) first = *m;
            if (m->device != first.device) moments[others++] = *m;
        }
        h->moments.count = others;
        if (home) continue;
        memmove(&moments[kept + 1], &moments[kept],
                (others - kept) * sizeof *moments); /* one was left out at least */
        moments[kept++] = first;
        h->moments.count++;
    }
}

bool hb_memory_homes_has(const hb_memory_homes *h, uint64_t correlation)
{
    return h->calls.count && bsearch(&correlation, h->calls.items, h->calls.count,
                                     sizeof *h->calls.items, by_number) != NULL;
}

void hb_memory_homes_free(hb_memory_homes *h)
{
    free(h->moments.items);
    free(h->calls.items);
    *h = (hb_memory_homes){0};
}
