/* SPDX-License-Identifier: MIT */
#include "base/string_table.h"

#include <stdlib.h>

#include "base/large_memory.h"

/* PADDING: texts are scanned 16 bytes at a time. LARGE_CHUNK: once there are so many texts. */
enum { CHUNK = 256 * 1024, LARGE_CHUNK = 16 * CHUNK, FIRST_SLOTS = 1024, PADDING = 64 };

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

/* What is held, or of that what lies in files. */
static size_t bytes_of(const void *p, size_t size, bool in_files)
{
    return !in_files || !hb_large_is_in_memory(p, size) ? size : 0;
}

static size_t sum(const hb_texts *s, bool in_files)
{
    size_t bytes = bytes_of(s->items, s->capacity * sizeof *s->items, in_files) +
                   bytes_of(s->hashes, s->capacity * sizeof *s->hashes, in_files) +
                   bytes_of(s->slots.items, s->slots.size * sizeof *s->slots.items, in_files);
    for (uint32_t i = 0; i < s->num_chunks; i++)
        bytes += bytes_of(s->chunks[i].bytes, s->chunks[i].size, in_files);
    return bytes;
}

static void count_bytes(hb_texts *s)
{
    s->bytes = sum(s, false);
    s->in_files = sum(s, true);
}

bool hb_texts_init(hb_texts *s)
{
    *s = (hb_texts){.capacity = FIRST_SLOTS / 2, .count = 1};
    s->items = calloc(s->capacity, sizeof *s->items);
    s->hashes = calloc(s->capacity, sizeof *s->hashes);
    if (!hb_slots_double_scattered(&s->slots, FIRST_SLOTS) || !s->items || !s->hashes) return false;
    s->items[0] = HB_STR("");
    count_bytes(s);
    return true;
}

static void free_chunk(const hb_text_chunk *chunk)
{
    hb_large_free(chunk->bytes, chunk->size);
}

void hb_texts_free(hb_texts *s)
{
    for (uint32_t i = 0; i < s->num_chunks; i++)
        free_chunk(&s->chunks[i]);
    free(s->chunks);
    hb_slots_free(&s->slots);
    hb_large_free(s->items, s->capacity * sizeof *s->items);
    hb_large_free(s->hashes, s->capacity * sizeof *s->hashes);
    *s = (hb_texts){0};
}

void hb_texts_clear(hb_texts *s)
{
    for (uint32_t i = 1; i < s->num_chunks; i++)
        free_chunk(&s->chunks[i]);
    s->num_chunks = HB_MIN(s->num_chunks, 1);
    bool shared = s->num_chunks && s->chunks[0].size == CHUNK + PADDING;
    s->fill = shared ? s->chunks[0].bytes : NULL;
    s->left = shared ? CHUNK : 0;
    if (s->num_chunks && !shared) free_chunk(&s->chunks[--s->num_chunks]);
    hb_slots_clear(&s->slots);
    s->count = 1;
    count_bytes(s);
}

static void move_tables(hb_texts *s, hb_str *items, uint32_t *hashes, uint32_t capacity)
{
    memcpy(items, s->items, s->count * sizeof *items);
    memcpy(hashes, s->hashes, s->count * sizeof *hashes);
    hb_large_free(s->items, s->capacity * sizeof *items);
    hb_large_free(s->hashes, s->capacity * sizeof *hashes);
    s->items = items;
    s->hashes = hashes;
    s->capacity = capacity;
}

/* A text for every second slot. */
static bool grow(hb_texts *s)
{
    uint32_t capacity = s->capacity * 2;
    if (capacity < s->capacity) return false;
    hb_str *items = hb_large_alloc(capacity * sizeof *items);
    uint32_t *hashes = hb_large_alloc_scattered(capacity * sizeof *hashes);
    if (!items || !hashes || !hb_slots_double_scattered(&s->slots, 0)) {
        hb_large_free(items, capacity * sizeof *items);
        hb_large_free(hashes, capacity * sizeof *hashes);
        return false;
    }
    move_tables(s, items, hashes, capacity);
    for (uint32_t id = 1; id < s->count; id++)
        hb_slots_enter(&s->slots, hashes[id], id);
    count_bytes(s);
    return true;
}

static char *new_chunk(hb_texts *s, size_t size)
{
    hb_text_chunk *chunks = realloc(s->chunks, (s->num_chunks + 1) * sizeof *chunks);
    if (!chunks) return NULL;
    s->chunks = chunks;
    hb_text_chunk chunk = {hb_large_alloc(size + PADDING), size + PADDING};
    if (!chunk.bytes) return NULL;
    s->bytes += chunk.size;
    s->in_files += bytes_of(chunk.bytes, chunk.size, true);
    chunks[s->num_chunks++] = chunk;
    return chunk.bytes;
}

/* Long texts get a chunk of their own, so that they do not waste the rest of a shared one. */
static char *keep(hb_texts *s, const char *text, size_t size)
{
    size_t need = size + 1; /* a NUL, so that a number's text ends where it ends */
    char *to = s->fill;
    if (need > CHUNK / 8) {
        to = new_chunk(s, need);
    } else if (need > s->left) {
        size_t chunk = s->bytes < LARGE_CHUNK * 4 ? CHUNK : LARGE_CHUNK;
        to = s->fill = new_chunk(s, chunk);
        s->left = to ? chunk : 0;
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

typedef struct wanted {
    const char *text;
    size_t size;
    uint32_t hash;
} wanted;

static inline bool is_wanted(const void *texts, uint32_t id, const void *key)
{
    const hb_texts *s = texts;
    const wanted *w = key;
    return s->hashes[id] == w->hash && s->items[id].len == w->size &&
           memcmp(s->items[id].s, w->text, w->size) == 0;
}

static inline uint32_t *find_slot(const hb_texts *s, const wanted *w)
{
    return hb_slots_find(&s->slots, w->hash, is_wanted, s, w);
}

hb_string_id hb_texts_find(const hb_texts *s, const char *text, size_t size)
{
    return *find_slot(s, &(wanted){text, size, hb_hash_bytes(text, size)});
}

hb_string_id hb_texts_add(hb_texts *s, const char *text, size_t size)
{
    wanted w = {text, size, hb_hash_bytes(text, size)};
    uint32_t *slot = find_slot(s, &w);
    if (*slot) return *slot;
    if (size > UINT32_MAX / 2) return 0;
    if (s->count == s->capacity) {
        if (!grow(s)) return 0;
        slot = find_slot(s, &w);
    }
    char *kept = keep(s, text, size);
    if (!kept) return 0;
    s->items[s->count] = (hb_str){kept, (uint32_t)size};
    s->hashes[s->count] = w.hash;
    s->slots.used++;
    *slot = s->count;
    return s->count++;
}
