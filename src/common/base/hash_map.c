/* SPDX-License-Identifier: MIT */
#include "base/hash_map.h"

#include <stdlib.h>

static inline uint32_t slot_of(const hb_dict *d, uint64_t key)
{
    uint32_t mask = d->num_slots - 1;
    uint64_t h = key * 0x9e3779b97f4a7c15u;
    uint32_t i = (uint32_t)(h >> 32) & mask;
    while (d->slots[i] && d->entries.items[d->slots[i] - 1].key != key)
        i = (i + 1) & mask;
    return i;
}

hb_dict_entry *hb_dict_get(const hb_dict *d, uint64_t key)
{
    if (!d->num_slots) return NULL;
    uint32_t slot = d->slots[slot_of(d, key)];
    hb_dict_entry *e = slot ? &d->entries.items[slot - 1] : NULL;
    return e && e->alive ? e : NULL;
}

static void rehash(hb_arena *arena, hb_dict *d)
{
    d->num_slots = HB_MAX(16, d->num_slots * 2);
    d->slots = HB_NEW_ARRAY(arena, uint32_t, d->num_slots);
    d->used = 0;
    for (uint32_t i = 0; i < d->entries.count; i++) {
        if (!d->entries.items[i].alive) continue;
        d->slots[slot_of(d, d->entries.items[i].key)] = i + 1;
        d->used++;
    }
}

hb_dict_entry *hb_dict_add(hb_arena *arena, hb_dict *d, uint64_t key, bool *added)
{
    if (d->used * 2 >= d->num_slots) rehash(arena, d);
    uint32_t i = slot_of(d, key);
    hb_dict_entry *e = d->slots[i] ? &d->entries.items[d->slots[i] - 1] : NULL;
    *added = !e || !e->alive;
    if (!*added) return e;
    if (!e) d->used++;
    e = HB_PUSH(arena, &d->entries);
    *e = (hb_dict_entry){key, 0, true};
    d->slots[i] = d->entries.count;
    return e;
}

/* One pass over runs of `run` items each, merging pairs of them from `from` to `to`. */
static void merge_pass(const char *from, char *to, size_t count, size_t size, size_t run,
                       hb_less less, const void *context)
{
    for (size_t start = 0; start < count; start += 2 * run) {
        size_t middle = HB_MIN(start + run, count), end = HB_MIN(start + 2 * run, count);
        const char *a = from + start * size, *a_end = from + middle * size;
        const char *b = a_end, *b_end = from + end * size;
        char *out = to + start * size;
        if (b == b_end || !less(context, b, a_end - size)) {
            memcpy(out, a, (size_t)(b_end - a));
            continue;
        }
        while (a < a_end && b < b_end) {
            bool take_b = less(context, b, a);
            memcpy(out, take_b ? b : a, size);
            if (take_b)
                b += size;
            else
                a += size;
            out += size;
        }
        memcpy(out, a, (size_t)(a_end - a));
        memcpy(out + (a_end - a), b, (size_t)(b_end - b));
    }
}

static bool is_sorted(const char *items, size_t count, size_t size, hb_less less,
                      const void *context)
{
    for (size_t i = 1; i < count; i++)
        if (less(context, items + i * size, items + (i - 1) * size)) return false;
    return true;
}

void hb_sort(hb_arena *arena, void *items, size_t count, size_t size, hb_less less,
             const void *context)
{
    if (is_sorted(items, count, size, less, context)) return;
    /* Not of the arena: it is large and short-lived. */
    char *other = malloc(count * size), *from = items, *to = other;
    if (!other) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory for sorting");
    for (size_t run = 1; run < count; run *= 2) {
        merge_pass(from, to, count, size, run, less, context);
        char *swap = from;
        from = to;
        to = swap;
    }
    if (from != (char *)items) memcpy(items, from, count * size);
    free(other);
}
