/* SPDX-License-Identifier: MIT */
#include "write/memory_homes.h"

#include <stdlib.h>

#include "base/base.h"

/* ---- lists ---- */

static bool make_room(void **items, size_t count, size_t *most, size_t size)
{
    if (count < *most) return true;
    size_t more = *most ? *most * 2 : 64;
    void *grown = realloc(*items, more * size);
    if (!grown) return false;
    *items = grown;
    *most = more;
    return true;
}

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
    void *items = h->moments;
    bool room = make_room(&items, h->num_moments, &h->max_moments, sizeof *h->moments);
    h->moments = items;
    if (!room) return hb_no_memory();
    bool host = event->memory.device_type == HB_DEVICE_CPU;
    h->moments[h->num_moments++] =
        (hb_memory_moment){event->tid, event->start_ns, host ? -1 : event->memory.device_id, false};
    return HB_OK;
}

void hb_memory_homes_sort(hb_memory_homes *h)
{
    if (h->num_moments) qsort(h->moments, h->num_moments, sizeof *h->moments, by_thread);
}

/* The first moment at or behind the event's begin. */
static size_t place_of(const hb_memory_homes *h, const hb_trace_event *e)
{
    size_t low = 0, high = h->num_moments;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const hb_memory_moment *m = &h->moments[middle];
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
    return place < h->num_moments && h->moments[place].tid == e->tid &&
           h->moments[place].ns < e->end_ns;
}

/* What is left keeps its order. */
static void forget_device(hb_memory_homes *h, int32_t device)
{
    size_t kept = 0;
    for (size_t i = 0; i < h->num_moments; i++)
        if (h->moments[i].device != device) h->moments[kept++] = h->moments[i];
    h->num_moments = kept;
}

bool hb_memory_homes_take(hb_memory_homes *h, const hb_trace_event *op)
{
    for (size_t i = place_of(h, op); lies_in(h, i, op); i = place_of(h, op))
        forget_device(h, h->moments[i].device);
    return h->num_moments > 0;
}

/* ---- calls ---- */

hb_result hb_memory_homes_take_call(hb_memory_homes *h, const hb_trace_event *call)
{
    size_t place = place_of(h, call);
    void *items = h->calls;
    if (!lies_in(h, place, call)) return HB_OK;
    bool room = make_room(&items, h->num_calls, &h->max_calls, sizeof *h->calls);
    h->calls = items;
    if (!room) return hb_no_memory();
    h->calls[h->num_calls++] = call->correlation;
    for (size_t i = place; lies_in(h, i, call); i++)
        h->moments[i].has_home = true;
    return HB_OK;
}

static bool has_home(const hb_memory_homes *h, int32_t device)
{
    for (size_t i = 0; i < h->num_moments; i++)
        if (h->moments[i].device == device && h->moments[i].has_home) return true;
    return false;
}

void hb_memory_homes_end(hb_memory_homes *h)
{
    size_t kept = 0;
    if (h->num_calls) qsort(h->calls, h->num_calls, sizeof *h->calls, by_number);
    while (h->num_moments > kept) {
        hb_memory_moment first = h->moments[kept];
        bool home = has_home(h, first.device);
        size_t others = kept;
        for (size_t i = kept; i < h->num_moments; i++) {
            const hb_memory_moment *m = &h->moments[i];
            if (m->device == first.device && m->ns < first.ns) first = *m;
            if (m->device != first.device) h->moments[others++] = *m;
        }
        h->num_moments = others;
        if (home) continue;
        memmove(&h->moments[kept + 1], &h->moments[kept],
                (others - kept) * sizeof *h->moments); /* one was left out at least */
        h->moments[kept++] = first;
        h->num_moments++;
    }
}

bool hb_memory_homes_has(const hb_memory_homes *h, uint64_t correlation)
{
    return h->num_calls &&
           bsearch(&correlation, h->calls, h->num_calls, sizeof *h->calls, by_number) != NULL;
}

void hb_memory_homes_free(hb_memory_homes *h)
{
    free(h->moments);
    free(h->calls);
    *h = (hb_memory_homes){0};
}
