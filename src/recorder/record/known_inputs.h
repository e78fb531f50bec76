/* SPDX-License-Identifier: MIT
 *
 * Inputs that a thread's chunk has already. An operator whose site repeats its shapes says where
 * they stand: 32 bytes instead of some eighty. Never those of another chunk: each can be read
 * alone, and may be all that is left of a thread.
 */
#ifndef HB_RECORD_KNOWN_INPUTS_H
#define HB_RECORD_KNOWN_INPUTS_H

#include "record/thread.h"
#include "trace/input_words.h"

static inline uint64_t *hb_chunk_words(const hb_thread *t)
{
    return (uint64_t *)(void *)(t->chunk + 1);
}

/** Where it is kept in mind where the last inputs stand of who is called from there: 0 if nowhere,
 * else the place in hb_chunk_words(). By the address's bits that are the same in each process, so
 * that records take the same space again. */
static inline uint16_t *hb_known_inputs(hb_thread *t, uint32_t name, const void *caller)
{
    uint32_t site = name + ((uint32_t)(uintptr_t)caller & 0xfff);
    return &t->known[site * 2654435761u >> 24];
}

static inline bool hb_inputs_are_known(const hb_thread *t, uint16_t known, const hb_input *inputs,
                                       size_t count)
{
    return known && hb_inputs_are(hb_chunk_words(t) + known, inputs, count);
}

/** Those at `at` are the last ones from now on. */
static inline void hb_inputs_keep(hb_thread *t, uint16_t *known, const uint64_t *at, size_t words)
{
    if (words <= HB_INPUTS_TOLD_AGAIN) *known = (uint16_t)(at - hb_chunk_words(t));
}

/** Writes inputs, of that many `words`, or where they stand; how many words that took. */
static inline size_t hb_inputs_tell(hb_thread *t, uint16_t *known, uint64_t *at,
                                    const hb_input *inputs, size_t count, size_t words)
{
    if (hb_inputs_are_known(t, *known, inputs, count)) {
        *at = *known;
        return 1;
    }
    hb_inputs_encode(at, inputs, count, words);
    hb_inputs_keep(t, known, at, words);
    return words;
}

#endif
