/* SPDX-License-Identifier: MIT
 *
 * Changes of an input that a target reads as a row of numbers and texts, some of which begin an
 * item: items are left out, doubled, moved and taken from another input, numbers get values that
 * mean something. Of changes of single bytes most make everything behind them something else.
 */
#ifndef HB_FUZZ_PARTS_MUTATOR_H
#define HB_FUZZ_PARTS_MUTATOR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { PARTS_MOST = 4096 };

typedef enum part_kind { PART_NUMBER, PART_TEXT } part_kind;

typedef struct part {
    uint32_t at, size;
    part_kind kind;
} part;

/* What a target found in an input: filled in as it reads it. */
typedef struct parts {
    const uint8_t *input;
    part items[PARTS_MOST];
    uint32_t count;
    uint32_t begins[PARTS_MOST]; /* of items of the input: the first part of each */
    uint32_t num_begins;
} parts;

static inline void parts_add(parts *p, const uint8_t *at, size_t size, part_kind kind)
{
    if (p->count == PARTS_MOST || !size) return;
    p->items[p->count++] = (part){(uint32_t)(at - p->input), (uint32_t)size, kind};
}

static inline void parts_begin(parts *p, const uint8_t *at)
{
    if (p->num_begins < PARTS_MOST) p->begins[p->num_begins++] = (uint32_t)(at - p->input);
}

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION

#include "mutate.h"

/* The target's own: reads the input, and notes what it reads. */
static void parts_find(parts *p, const uint8_t *data, size_t size);

static parts parts_of_one, parts_of_other;
static uint64_t parts_state;

static uint32_t parts_random(uint32_t below)
{
    return fuzz_random(&parts_state, below);
}

static void parts_look(parts *p, const uint8_t *data, size_t size)
{
    p->input = data;
    p->count = p->num_begins = 0;
    parts_find(p, data, size);
}

/* Numbers stand with their highest byte first. */
static uint64_t parts_number(uint64_t now, unsigned size)
{
    static const double doubles[] = {0, 1, -1, 0.5, 128, 1e9, 1e300, 2.5e-3, -0.0};
    static const uint64_t values[] = {0,
                                      1,
                                      2,
                                      3,
                                      4,
                                      7,
                                      8,
                                      63,
                                      64,
                                      127,
                                      128,
                                      255,
                                      256,
                                      1000,
                                      0x7fffffff,
                                      0x80000000,
                                      0xffffffff,
                                      UINT64_C(0x100000000),
                                      UINT64_C(0x7fffffffffffffff),
                                      UINT64_C(0x8000000000000000),
                                      UINT64_MAX,
                                      UINT64_C(0x7ff8000000000000),
                                      UINT64_C(0x7ff0000000000000),
                                      UINT64_C(1795256296153421318)};
    uint64_t bits;
    switch (parts_random(size == 8 ? 7 : 6)) {
    case 0: return now + 1;
    case 1: return now - 1;
    case 2: return now ^ UINT64_C(1) << parts_random(size * 8);
    case 3: return parts_random(256);
    case 4: return (uint64_t)parts_random(UINT32_MAX) << 32 | parts_random(UINT32_MAX);
    case 6:
        memcpy(&bits, &doubles[parts_random(sizeof doubles / sizeof *doubles)], sizeof bits);
        return bits;
    default: return values[parts_random(sizeof values / sizeof *values)];
    }
}

static void parts_change_number(uint8_t *data, const part *to)
{
    uint64_t value = 0;
    const part *from = &parts_of_one.items[parts_random(parts_of_one.count)];
    if (from->size == to->size && from->kind == PART_NUMBER && parts_random(2)) {
        memmove(data + to->at, data + from->at, to->size);
        return;
    }
    for (uint32_t i = 0; i < to->size; i++)
        value = value << 8 | data[to->at + i];
    value = parts_number(value, to->size);
    for (uint32_t i = to->size; i-- > 0; value >>= 8)
        data[to->at + i] = (uint8_t)value;
}

/* Its length stands in the byte before it. */
static void parts_change_text(uint8_t *data, const part *to)
{
    for (unsigned n = 1 + parts_random(3); n > 0; n--)
        data[to->at + parts_random(to->size)] = (uint8_t)parts_random(256);
}

static size_t parts_item(const parts *p, uint32_t index, size_t size, size_t *begin)
{
    *begin = p->begins[index];
    return (index + 1 < p->num_begins ? p->begins[index + 1] : size) - *begin;
}

/* An item left out, doubled elsewhere, or moved. */
static size_t parts_move_item(uint8_t *data, size_t size, size_t most)
{
    static uint8_t item[1 << 16];
    uint32_t which = parts_random(parts_of_one.num_begins);
    size_t from, to, n = parts_item(&parts_of_one, which, size, &from);
    unsigned how = parts_random(3);
    if (n > sizeof item || (how == 1 && size + n > most)) return size;
    memcpy(item, data + from, n);
    if (how != 1) {
        memmove(data + from, data + from + n, size - from - n);
        size -= n;
        if (how == 0) return size;
        parts_look(&parts_of_one, data, size);
        if (!parts_of_one.num_begins) return size;
    }
    (void)parts_item(&parts_of_one, parts_random(parts_of_one.num_begins), size, &to);
    memmove(data + to + n, data + to, size - to);
    memcpy(data + to, item, n);
    return size + n;
}

static size_t parts_change(uint8_t *data, size_t size, size_t most)
{
    for (unsigned n = 1 + parts_random(4); n > 0; n--) {
        parts_look(&parts_of_one, data, size);
        if (!parts_of_one.count || !parts_of_one.num_begins) return size;
        const part *to = &parts_of_one.items[parts_random(parts_of_one.count)];
        if (parts_random(4) == 0)
            size = parts_move_item(data, size, most);
        else if (to->kind == PART_NUMBER)
            parts_change_number(data, to);
        else
            parts_change_text(data, to);
    }
    return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    parts_state = seed;
    if (parts_random(4) == 0 || !size) return LLVMFuzzerMutate(data, size, max_size);
    return parts_change(data, size, max_size);
}

/* What stands before the first item from one of both; then items of both, in their order. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data1, size_t size1, const uint8_t *data2,
                                 size_t size2, uint8_t *out, size_t most, unsigned int seed)
{
    parts_state = seed;
    parts_look(&parts_of_one, data1, size1);
    parts_look(&parts_of_other, data2, size2);
    const parts *both[2] = {&parts_of_one, &parts_of_other};
    const size_t sizes[2] = {size1, size2};
    uint32_t at[2] = {0, 0}, keeps[2] = {1 + parts_random(8), 1 + parts_random(8)};
    if (!both[0]->num_begins || !both[1]->num_begins) return 0;
    unsigned head = parts_random(2);
    size_t size = both[head]->begins[0];
    if (size > most) return 0;
    memcpy(out, both[head]->input, size);
    while (at[0] < both[0]->num_begins || at[1] < both[1]->num_begins) {
        unsigned which = parts_random(2);
        if (at[which] == both[which]->num_begins) which = !which;
        size_t from, n = parts_item(both[which], at[which]++, sizes[which], &from);
        if (parts_random(8) >= keeps[which] || n > most - size) continue;
        memcpy(out + size, both[which]->input + from, n);
        size += n;
    }
    return parts_random(2) ? parts_change(out, size, most) : size;
}

#endif
#endif
