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

typedef struct hb_input_word {
    uint8_t kind, dtype, has_strides, reserved;
    uint32_t count;
} hb_input_word;

_Static_assert(sizeof(hb_input_word) == 8, "one word");

/* Byte by byte: sooner than to put the word together. */
static inline void hb_put_input_word(uint64_t *to, const hb_input *input)
{
    unsigned char *p = (unsigned char *)to;
    p[offsetof(hb_input_word, kind)] = (unsigned char)input->kind;
    p[offsetof(hb_input_word, dtype)] = (unsigned char)input->dtype;
    p[offsetof(hb_input_word, has_strides)] = input->kind == HB_INPUT_TENSOR && input->strides;
    p[offsetof(hb_input_word, reserved)] = 0;
    memcpy(p + offsetof(hb_input_word, count), &input->count, sizeof input->count);
}

/** Words that `count` inputs take, their leading word {count, words} included; 0 when over
 * `max_words` or malformed. */
size_t hb_inputs_words(const hb_input *inputs, size_t count, size_t max_words);

/** Writes what hb_inputs_words() measured. */
void hb_inputs_encode(uint64_t *to, const hb_input *inputs, size_t count, size_t words);

/** hb_inputs_words() where all are tensors or single values, and not very many; else 0. */
static inline size_t hb_simple_inputs_words(const hb_input *inputs, size_t count)
{
    enum { MANY = 64 };
    size_t words = 1;
    if (count > MANY) return 0;
    for (const hb_input *in = inputs; in < inputs + count; in++) {
        size_t n = in->count;
        if (n > HB_INPUT_MAX_DIMS) return 0;
        switch (in->kind) {
        case HB_INPUT_TENSOR:
            if (n && !in->dims) return 0;
            words += 1 + n + (in->strides ? n : 0);
            break;
        case HB_INPUT_INT:
        case HB_INPUT_BOOL:
        case HB_INPUT_FLOAT: words += 2; break;
        case HB_INPUT_NONE: words += 1; break;
        default: return 0;
        }
    }
    return words;
}

static inline uint64_t *hb_put_few_words(uint64_t *to, const void *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        memcpy(&to[i], (const char *)from + 8 * i, 8);
        __asm__("" : "+r"(i)); /* it stays a loop: calling memcpy() takes longer */
    }
    return to + count;
}

/** What hb_inputs_encode() writes, of what hb_simple_inputs_words() measured. */
static inline void hb_simple_inputs_encode(uint64_t *to, const hb_input *inputs, size_t count,
                                           size_t words)
{
    *to++ = (uint64_t)words << 32 | (uint32_t)count;
    for (const hb_input *in = inputs; in < inputs + count; in++) {
        hb_put_input_word(to++, in);
        if (in->kind == HB_INPUT_TENSOR) {
            to = hb_put_few_words(to, in->dims, in->count);
            if (in->strides) to = hb_put_few_words(to, in->strides, in->count);
        } else if (in->kind != HB_INPUT_NONE) {
            memcpy(to++, in->kind == HB_INPUT_FLOAT ? (const void *)&in->f : &in->i, 8);
        }
    }
}

/** Inputs that stand before, in the same part of a thread's records, are told by one word: their
 * place, in words from the beginning of the part. Only of so many words, so that a small file
 * cannot tell of very much. */
#define HB_INPUTS_TOLD_AGAIN 128u

/* hb_inputs_are() of some inputs and what stands for them. */
bool hb_next_inputs_are(const uint64_t *words, const hb_input *from, const hb_input *end);

/** Whether hb_inputs_encode() would write what stands at `words`, which it wrote. Any inputs, also
 * malformed ones. */
static inline bool hb_inputs_are(const uint64_t *words, const hb_input *inputs, size_t count)
{
    const hb_input *end = inputs + count;
    if ((uint32_t)*words++ != count) return false;
    for (const hb_input *in = inputs; in < end; in++) {
        /* Most are contiguous tensors. */
        if (HB_UNLIKELY(in->kind != HB_INPUT_TENSOR || in->strides || !in->dims))
            return hb_next_inputs_are(words, in, end);
        size_t n = in->count;
        uint64_t word = (uint64_t)n << 32 | (uint64_t)(uint8_t)in->dtype << 8 | HB_INPUT_TENSOR;
        if (*words++ != word) return false;
        for (size_t i = 0; i < n; i++)
            if (words[i] != (uint64_t)in->dims[i]) return false;
        words += n;
    }
    return true;
}

/** Inputs as they are told at `at`: where they stand, and in *left how many words there are from
 * there at most. `part`: the beginning of the part that `at` is in. */
static inline const uint64_t *hb_inputs_told(const uint64_t *part, const uint64_t *at, size_t *left)
{
    bool again = *left && *at >> 32 == 0;
    if (!again || *at >= (size_t)(at - part)) return at;
    const uint64_t *from = part + *at;
    *left = HB_MIN((size_t)(at - from), HB_INPUTS_TOLD_AGAIN);
    return from;
}

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
