/* SPDX-License-Identifier: MIT */
#include "base/hash_map.h"

#include <stdlib.h>

#include "base/large_memory.h"

static inline bool has_key(const void *dict, uint32_t entry, const void *key)
{
    return ((const hb_dict *)dict)->entries.items[entry - 1].key == *(const uint64_t *)key;
}

/* Writers count ids up: then what was met together lies together. NULL: not a key of the table. */
static inline uint32_t *dense_slot(const hb_dict *d, uint64_t key)
{
    uint64_t from = key - d->low, slot = from >> d->shift;
    bool fits = slot < d->slots.size && slot << d->shift == from;
    return fits ? &d->slots.items[slot] : NULL;
}

static inline uint32_t *slot_of(const hb_dict *d, uint64_t key)
{
    if (d->dense) return dense_slot(d, key);
    return hb_slots_find(&d->slots, hb_hash_number(key), has_key, d, &key);
}

hb_dict_entry *hb_dict_get(const hb_dict *d, uint64_t key)
{
    if (!d->slots.size) return NULL;
    const uint32_t *slot = slot_of(d, key);
    hb_dict_entry *e = slot && *slot ? &d->entries.items[*slot - 1] : NULL;
    return e && e->alive ? e : NULL;
}

/* What dense_slot() needs for the keys and for one more. */
typedef struct range {
    uint64_t low;
    unsigned shift;
    uint32_t size;
} range;

/* Whether each of them may have a slot of its own. Room is left where the new key is, so that this
 * comes seldom; and slots are not many times the keys. */
static bool find_range(const hb_dict *d, uint64_t key, range *r)
{
    uint64_t low = key, high = key, bits = 0, most = 16 * ((uint64_t)d->entries.count + 8);
    for (uint32_t i = 0; i < d->entries.count; i++) {
        uint64_t other = d->entries.items[i].key;
        low = HB_MIN(low, other);
        high = HB_MAX(high, other);
        bits |= other ^ key;
    }
    /* Numbers; each an hb_key; pairs that have their second part in common. */
    unsigned shift = bits ? (unsigned)__builtin_ctzll(bits) : 0;
    uint64_t last = (high - low) >> shift, size = HB_MAX((uint64_t)d->slots.size * 2, 16u);
    if (last >= most / 4) return false;
    while (size <= last)
        size *= 2;
    if (d->entries.count && key == low) low -= (size - 1 - last) << shift;
    *r = (range){low, shift, (uint32_t)size};
    return size <= most;
}

static HB_COLD bool rehash(hb_arena *arena, hb_dict *d, uint64_t key)
{
    range r;
    bool dense = find_range(d, key, &r);
    if (!dense && hb_slots_have_room(&d->slots))
        hb_slots_clear(&d->slots);
    else if (!hb_slots_double(arena, &d->slots, dense ? r.size : 16))
        return false;
    d->dense = dense;
    if (dense) {
        d->low = r.low;
        d->shift = (uint8_t)r.shift;
    }
    for (uint32_t i = 0; i < d->entries.count; i++) {
        const hb_dict_entry *e = &d->entries.items[i];
        if (!e->alive) continue;
        if (dense) {
            *dense_slot(d, e->key) = i + 1;
            d->slots.used++;
        } else {
            hb_slots_enter(&d->slots, hb_hash_number(e->key), i + 1);
        }
    }
    return true;
}

/* Without memory NULL. */
static HB_COLD hb_dict_entry *append(hb_dict *d)
{
    uint32_t capacity = d->entries.capacity, more = HB_MAX(capacity * 2, 8);
    if (d->entries.count == capacity) {
        size_t size = sizeof *d->entries.items;
        if (more <= capacity) return NULL;
        hb_dict_entry *larger = hb_large_grow(d->entries.items, capacity * size, more * size);
        if (!larger) return NULL;
        d->entries.items = larger;
        d->entries.capacity = more;
    }
    return &d->entries.items[d->entries.count++];
}

hb_dict_entry *hb_dict_add(hb_arena *arena, hb_dict *d, uint64_t key, bool *added)
{
    bool fits = d->dense ? dense_slot(d, key) != NULL : hb_slots_have_room(&d->slots);
    if (HB_UNLIKELY(!fits) && !rehash(arena, d, key)) return NULL;
    uint32_t *slot = slot_of(d, key), entry = *slot;
    if (entry && d->entries.items[entry - 1].alive) {
        *added = false;
        return &d->entries.items[entry - 1];
    }
    hb_dict_entry *e = HB_LIKELY(arena != NULL) ? HB_PUSH(arena, &d->entries) : append(d);
    if (!e) return NULL;
    *added = true;
    *e = (hb_dict_entry){key, 0, true};
    d->slots.used += entry == 0;
    *slot = d->entries.count;
    return e;
}

void hb_dict_free(hb_dict *d)
{
    hb_large_free(d->entries.items, d->entries.capacity * sizeof *d->entries.items);
    hb_slots_free(&d->slots);
    *d = (hb_dict){0};
}

typedef struct sorting {
    size_t size; /* of an item */
    hb_less less;
    const void *context;
} sorting;

/* Merges [a, b) with [b, b_end) into `out`. */
static void merge(const sorting *s, const char *a, const char *b, const char *b_end, char *out)
{
    const char *a_end = b;
    if (b == b_end || !s->less(s->context, b, a_end - s->size)) {
        memcpy(out, a, (size_t)(b_end - a));
        return;
    }
    /* What stands before all of b, of which there may be little. */
    size_t before = 0, not_before = (size_t)(a_end - a) / s->size;
    while (before < not_before) {
        size_t middle = before + (not_before - before) / 2;
        if (s->less(s->context, b, a + middle * s->size))
            not_before = middle;
        else
            before = middle + 1;
    }
    memcpy(out, a, before * s->size);
    a += before * s->size;
    out += before * s->size;
    while (a < a_end && b < b_end) {
        bool take_b = s->less(s->context, b, a);
        memcpy(out, take_b ? b : a, s->size);
        if (take_b)
            b += s->size;
        else
            a += s->size;
        out += s->size;
    }
    memcpy(out, a, (size_t)(a_end - a));
    memcpy(out + (a_end - a), b, (size_t)(b_end - b));
}

/* Where runs that are in order end, as a trace has one a thread; how many there are. `ends` may be
 * NULL. */
static size_t find_runs(const sorting *s, const char *items, size_t count, size_t *ends)
{
    size_t runs = 0;
    for (size_t i = 1; i <= count; i++) {
        if (i < count && !s->less(s->context, items + i * s->size, items + (i - 1) * s->size))
            continue;
        if (ends) ends[runs] = i;
        runs++;
    }
    return runs;
}

/* One pass over all runs: pairs of them become one. How many are left. */
static size_t merge_pass(const sorting *s, const char *from, char *to, size_t *ends, size_t runs)
{
    size_t start = 0, left = 0;
    for (size_t i = 0; i < runs; i += 2) {
        size_t middle = ends[i], end = ends[i + 1 < runs ? i + 1 : i];
        merge(s, from + start * s->size, from + middle * s->size, from + end * s->size,
              to + start * s->size);
        ends[left++] = start = end;
    }
    return left;
}

void hb_sort(hb_arena *arena, void *items, size_t count, size_t size, hb_less less,
             const void *context)
{
    /* Not of the arena: they are large and short-lived. */
    sorting s = {size, less, context};
    size_t runs = find_runs(&s, items, count, NULL);
    if (runs < 2) return;
    size_t *ends = malloc(runs * sizeof *ends);
    char *other = hb_large_alloc(count * size), *from = items, *to = other;
    if (!other || !ends) {
        hb_large_free(other, count * size);
        free(ends);
        hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory for sorting");
    }
    find_runs(&s, items, count, ends);
    while (runs > 1) {
        runs = merge_pass(&s, from, to, ends, runs);
        char *swap = from;
        from = to;
        to = swap;
    }
    bool moved = from != (char *)items;
    if (moved) memcpy(items, from, count * size);
    hb_large_free(moved ? from : to, count * size);
    free(ends);
}
