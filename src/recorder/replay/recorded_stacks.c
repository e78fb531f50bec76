/* SPDX-License-Identifier: MIT */
#include "replay/recorded_stacks.h"

#include <stdlib.h>

typedef struct call {
    uint64_t correlation, hash;
} call;

typedef struct stack {
    uint64_t hash;
    uint32_t at, count; /* in pcs */
} stack;

void hb_call_stacks_init(hb_call_stacks *s)
{
    hb_buf_init(&s->calls, (size_t)8 << 30);
    hb_buf_init(&s->known, (size_t)1 << 30);
    hb_buf_init(&s->pcs, (size_t)8 << 30);
}

void hb_call_stacks_free(hb_call_stacks *s)
{
    hb_buf_free(&s->calls);
    hb_buf_free(&s->known);
    hb_buf_free(&s->pcs);
    hb_symbolizer_free(s->symbolizer);
}

void hb_call_stacks_add(hb_call_stacks *s, const hb_record_frames *r)
{
    uint32_t n = (uint32_t)(r->head.units - sizeof *r / 8);
    call c = {r->correlation, r->hash};
    hb_buf_append(&s->calls, &c, sizeof c);
    s->is_sorted = false;
    if (!n) return;
    stack k = {r->hash, (uint32_t)(s->pcs.size / sizeof(uint64_t)), n};
    hb_buf_append(&s->known, &k, sizeof k);
    hb_buf_append(&s->pcs, r + 1, n * sizeof(uint64_t));
}

static int by_correlation(const void *a, const void *b)
{
    uint64_t x = ((const call *)a)->correlation, y = ((const call *)b)->correlation;
    return x < y ? -1 : x > y;
}

static int by_hash(const void *a, const void *b)
{
    uint64_t x = ((const stack *)a)->hash, y = ((const stack *)b)->hash;
    return x < y ? -1 : x > y;
}

static void sort(hb_call_stacks *s)
{
    if (s->calls.size)
        qsort(s->calls.data, s->calls.size / sizeof(call), sizeof(call), by_correlation);
    if (s->known.size) qsort(s->known.data, s->known.size / sizeof(stack), sizeof(stack), by_hash);
    s->is_sorted = true;
}

const uint64_t *hb_call_stacks_find(hb_call_stacks *s, uint64_t correlation, uint32_t *count)
{
    *count = 0;
    if (!s->calls.size || s->pcs.failed || s->known.failed) return NULL;
    if (!s->is_sorted) sort(s);
    call key = {.correlation = correlation};
    const call *c =
        bsearch(&key, s->calls.data, s->calls.size / sizeof key, sizeof key, by_correlation);
    stack wanted = {.hash = c ? c->hash : 0};
    const stack *k =
        c && s->known.size
            ? bsearch(&wanted, s->known.data, s->known.size / sizeof wanted, sizeof wanted, by_hash)
            : NULL;
    if (!k) return NULL;
    *count = k->count;
    return (const uint64_t *)s->pcs.data + k->at;
}

hb_str hb_call_stacks_text(hb_call_stacks *s, hb_str code, const uint64_t *pcs, uint32_t count)
{
    if (!s->symbolizer) s->symbolizer = hb_symbolizer_new(code);
    return s->symbolizer ? hb_symbolizer_stack(s->symbolizer, pcs, count) : (hb_str){0};
}
