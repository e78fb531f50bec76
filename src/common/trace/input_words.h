/* SPDX-License-Identifier: MIT
 *
 * Operators' inputs as words in a record. An input is one word {kind, dtype, flags, count} and its
 * values behind it: TENSOR its sizes and, unless contiguous, its strides; INT, BOOL, FLOAT one;
 * INT_LIST, FLOAT_LIST `count`; TENSOR_LIST `count` tensors.
 */
#ifndef HB_TRACE_INPUT_WORDS_H
#define HB_TRACE_INPUT_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

#define HB_INPUT_MAX_DIMS 64u

/** Words that `count` inputs take, their leading word {count, words} included; 0 when over
 * `max_words` or malformed. */
size_t hb_inputs_words(const hb_input *inputs, size_t count, size_t max_words);

/** Writes what hb_inputs_words() measured. */
void hb_inputs_encode(uint64_t *to, const hb_input *inputs, size_t count, size_t words);

/** The words that encoded inputs take, of at most `words`; 0 when malformed. */
static inline size_t hb_inputs_encoded(const uint64_t *from, size_t words)
{
    uint64_t used = words ? *from >> 32 : 0;
    return used <= words ? (size_t)used : 0;
}

/** Memory for decoded inputs, used again and again. */
typedef struct hb_inputs_scratch {
    hb_buf inputs, strides;
} hb_inputs_scratch;

void hb_inputs_scratch_init(hb_inputs_scratch *scratch);
void hb_inputs_scratch_free(hb_inputs_scratch *scratch);

/** Decodes from at most `words` words; tensors always get strides. The result lives in `scratch`
 * and in the words themselves; NULL with *count 0 when malformed. */
const hb_input *hb_inputs_decode(const uint64_t *from, size_t words, hb_inputs_scratch *scratch,
                                 uint32_t *count);

#endif
