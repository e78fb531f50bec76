/* SPDX-License-Identifier: MIT */
#include "replay/stream_numbers.h"

#include <stdlib.h>

void hb_streams_init(hb_streams *s)
{
    *s = (hb_streams){0};
}

void hb_streams_free(hb_streams *s)
{
    free(s->entries.items);
    free(s->sorted);
    *s = (hb_streams){0};
}

static bool is(const hb_stream_entry *e, int32_t device, uint64_t key)
{
    return e->key == key && e->info.device == device;
}

/* There are few, and the next piece of work is mostly the last one's neighbour. */
static const hb_stream_entry *find(hb_streams *s, int32_t device, uint64_t key)
{
    if (s->last < s->entries.count && is(&s->entries.items[s->last], device, key))
        return &s->entries.items[s->last];
    for (size_t i = 0; i < s->entries.count; i++) {
        if (!is(&s->entries.items[i], device, key)) continue;
        s->last = i;
        return &s->entries.items[i];
    }
    return NULL;
}

void hb_streams_add(hb_streams *s, int32_t device, uint64_t key)
{
    int64_t number = key ? 1 : 0;
    if (find(s, device, key)) return;
    for (size_t i = 0; key && i < s->entries.count; i++)
        number += s->entries.items[i].key && s->entries.items[i].info.device == device;
    hb_stream_entry *added = HB_APPEND(&s->entries);
    if (added)
        *added = (hb_stream_entry){key, {device, number}};
    else
        s->failed = true;
}

int64_t hb_streams_number(hb_streams *s, int32_t device, uint64_t key)
{
    const hb_stream_entry *e = find(s, device, key);
    return e ? e->info.stream : 0;
}

static int by_device_and_number(const void *a, const void *b)
{
    const hb_stream_info *x = a, *y = b;
    if (x->device != y->device) return x->device < y->device ? -1 : 1;
    return (x->stream > y->stream) - (x->stream < y->stream);
}

const hb_stream_info *hb_streams_sorted(hb_streams *s, size_t *count)
{
    *count = 0;
    free(s->sorted);
    s->sorted = malloc((s->entries.count + 1) * sizeof *s->sorted);
    if (!s->sorted) {
        s->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < s->entries.count; i++)
        s->sorted[i] = s->entries.items[i].info;
    qsort(s->sorted, s->entries.count, sizeof *s->sorted, by_device_and_number);
    *count = s->entries.count;
    return s->sorted;
}
