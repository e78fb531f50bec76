/* SPDX-License-Identifier: MIT */
#include "base/string_table.h"

#include <stdlib.h>

/* PADDING: texts are scanned 16 bytes at a time. */
enum { CHUNK = 256 * 1024, FIRST_SLOTS = 1024, PADDING = 64 };

static inline uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t load(const char *p, size_t n)
{
    uint64_t v = 0;
    memcpy(&v, p, n);
    return v;
}

static inline uint64_t load8(const char *p)
{
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

/* Folded multiplication of 16 bytes at a time; the tail is read overlapping when it can be. */
uint32_t hb_hash_bytes(const void *data, size_t size)
{
    const uint64_t k0 = 0x9e3779b97f4a7c15u, k1 = 0xd6e8feb86659fd93u;
    const char *p = data;
    uint64_t h = size * k1;
    size_t left = size;
    for (; left > 16; p += 16, left -= 16)
        h = mix(load8(p) ^ k0 ^ h, load8(p + 8) ^ k1);
    uint64_t a, b;
    if (left >= 8) {
        a = load8(p);
        b = load8(p + left - 8);
    } else if (left >= 4) {
        a = load(p, 4);
        b = load(p + left - 4, 4);
    } else {
        a = left ? load(p, left) : 0;
        b = 0;
    }
    h = mix(a ^ k0 ^ h, b ^ k1);
    return (uint32_t)(h ^ h >> 32);
}

bool hb_texts_init(hb_texts *s)
{
    *s = (hb_texts){.num_slots = FIRST_SLOTS, .capacity = FIRST_SLOTS / 2, .count = 1};
    s->slots = calloc(s->num_slots, sizeof *s->slots);
    s->items = calloc(s->capacity, sizeof *s->items);
    s->hashes = calloc(s->capacity, sizeof *s->hashes);
    if (!s->slots || !s->items || !s->hashes) return false;
    s->items[0] = HB_STR("");
    s->bytes = s->num_slots * sizeof *s->slots + s->capacity * (sizeof *s->items + 4);
    return true;
}

void hb_texts_free(hb_texts *s)
{
    for (uint32_t i = 0; i < s->num_chunks; i++)
        free(s->chunks[i]);
    free(s->chunks);
    free(s->slots);
    free(s->items);
    free(s->hashes);
    *s = (hb_texts){0};
}

void hb_texts_clear(hb_texts *s)
{
    for (uint32_t i = 1; i < s->num_chunks; i++)
        free(s->chunks[i]);
    s->num_chunks = HB_MIN(s->num_chunks, 1);
    bool shared = s->num_chunks && s->first_size == CHUNK;
    s->fill = shared ? s->chunks[0] : NULL;
    s->left = shared ? CHUNK : 0;
    if (s->num_chunks && !shared) free(s->chunks[--s->num_chunks]);
    memset(s->slots, 0, s->num_slots * sizeof *s->slots);
    s->count = 1;
    s->bytes = s->num_slots * sizeof *s->slots + s->capacity * (sizeof *s->items + 4);
    if (shared) s->bytes += CHUNK + PADDING;
}

static bool grow(hb_texts *s)
{
    uint32_t slots = s->num_slots * 2, capacity = s->capacity * 2;
    if (slots < s->num_slots) return false;
    uint32_t *table = calloc(slots, sizeof *table);
    hb_str *items = realloc(s->items, capacity * sizeof *items);
    if (items) s->items = items;
    uint32_t *hashes = realloc(s->hashes, capacity * sizeof *hashes);
    if (hashes) s->hashes = hashes;
    if (!table || !items || !hashes) {
        free(table);
        return false;
    }
    for (uint32_t id = 1; id < s->count; id++) {
        uint32_t i = hashes[id] & (slots - 1);
        while (table[i])
            i = (i + 1) & (slots - 1);
        table[i] = id;
    }
    free(s->slots);
    s->slots = table;
    s->bytes +=
        (slots - s->num_slots) * sizeof *table + (capacity - s->capacity) * (sizeof *items + 4);
    s->num_slots = slots;
    s->capacity = capacity;
    return true;
}

static char *new_chunk(hb_texts *s, size_t size)
{
    char **chunks = realloc(s->chunks, (s->num_chunks + 1) * sizeof *chunks);
    if (!chunks) return NULL;
    s->chunks = chunks;
    char *chunk = malloc(size + PADDING);
    if (!chunk) return NULL;
    memset(chunk + size, 0, PADDING);
    s->bytes += size + PADDING;
    if (!s->num_chunks) s->first_size = size;
    return chunks[s->num_chunks++] = chunk;
}

/* Long texts get a chunk of their own, so that they do not waste the rest of a shared one. */
static char *keep(hb_texts *s, const char *text, size_t size)
{
    size_t need = size + 1; /* a NUL, so that a number's text ends where it ends */
    char *to = s->fill;
    if (need > CHUNK / 8) {
        to = new_chunk(s, need);
    } else if (need > s->left) {
        to = s->fill = new_chunk(s, CHUNK);
        s->left = to ? CHUNK : 0;
    }
    if (!to) return NULL;
    memcpy(to, text, size);
    to[size] = 0;
    if (to == s->fill) {
        s->fill += need;
        s->left -= need;
    }
    return to;
}

static inline uint32_t find_slot(const hb_texts *s, const char *text, size_t size, uint32_t hash)
{
    uint32_t i = hash & (s->num_slots - 1);
    for (uint32_t id; (id = s->slots[i]) != 0; i = (i + 1) & (s->num_slots - 1))
        if (s->hashes[id] == hash && s->items[id].len == size &&
            memcmp(s->items[id].s, text, size) == 0)
            break;
    return i;
}

hb_sid hb_texts_find(const hb_texts *s, const char *text, size_t size)
{
    return s->slots[find_slot(s, text, size, hb_hash_bytes(text, size))];
}

hb_sid hb_texts_add(hb_texts *s, const char *text, size_t size)
{
    uint32_t hash = hb_hash_bytes(text, size);
    uint32_t i = find_slot(s, text, size, hash);
    if (s->slots[i]) return s->slots[i];
    if (size > UINT32_MAX / 2) return 0;
    if (s->count == s->capacity) {
        if (!grow(s)) return 0;
        i = find_slot(s, text, size, hash);
    }
    char *kept = keep(s, text, size);
    if (!kept) return 0;
    s->items[s->count] = (hb_str){kept, (uint32_t)size};
    s->hashes[s->count] = hash;
    s->slots[i] = s->count;
    return s->count++;
}
