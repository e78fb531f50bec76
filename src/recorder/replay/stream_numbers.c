/* SPDX-License-Identifier: MIT */
#include "replay/stream_numbers.h"

#include <stdlib.h>

void hb_streams_init(hb_streams *s)
{
    *s = (hb_streams){0};
}

void hb_streams_free(hb_streams *s)
{
    free(s->entries);
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
    if (s->last < s->count && is(&s->entries[s->last], device, key)) return &s->entries[s->last];
    for (size_t i = 0; i < s->count; i++) {
        if (!is(&s->entries[i], device, key)) continue;
        s->last = i;
        return &s->entries[i];
    }
    return NULL;
}

static bool grow(hb_streams *s)
{
    size_t capacity = s->capacity ? s->capacity * 2 : 16;
    hb_stream_entry *grown = realloc(s->entries, capacity * sizeof *grown);
    if (!grown) {
        s->failed = true;
        return false;
    }
    s->entries = grown;
    s->capacity = capacity;
    return true;
}

void hb_streams_add(hb_streams *s, int32_t device, uint64_t key)
{
    int64_t number = key ? 1 : 0;
    if (find(s, device, key)) return;
    for (size_t i = 0; key && i < s->count; i++)
        number += s->entries[i].key && s->entries[i].info.device == device;
    if (s->count == s->capacity && !grow(s)) return;
    s->entries[s->count++] = (hb_stream_entry){key, {device, number}};
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
    s->sorted = malloc((s->count + 1) * sizeof *s->sorted);
    if (!s->sorted) {
        s->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < s->count; i++)
        s->sorted[i] = s->entries[i].info;
    qsort(s->sorted, s->count, sizeof *s->sorted, by_device_and_number);
    *count = s->count;
    return s->sorted;
}
