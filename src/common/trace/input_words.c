/* SPDX-License-Identifier: MIT */
#include "trace/input_words.h"

/* ---- encoding ---- */

static size_t words_of(const hb_input *input, size_t max_words, bool nested)
{
    size_t n = input->count;
    if (n > max_words) return 0;
    switch (input->kind) {
    case HB_INPUT_NONE: return 1;
    case HB_INPUT_INT:
    case HB_INPUT_BOOL:
    case HB_INPUT_FLOAT: return 2;
    case HB_INPUT_INT_LIST: return n && !input->dims ? 0 : 1 + n;
    case HB_INPUT_FLOAT_LIST: return n && !input->floats ? 0 : 1 + n;
    case HB_INPUT_TENSOR:
        if (n > HB_INPUT_MAX_DIMS || (n && !input->dims)) return 0;
        return 1 + n + (input->strides ? n : 0);
    case HB_INPUT_TENSOR_LIST: break;
    default: return 0;
    }
    if (nested || (n && !input->list)) return 0;
    size_t words = 1;
    for (size_t i = 0; i < n; i++) {
        const hb_input *tensor = &input->list[i];
        size_t w = tensor->kind == HB_INPUT_TENSOR ? words_of(tensor, max_words, true) : 0;
        if (w == 0 || w > max_words - words) return 0;
        words += w;
    }
    return words;
}

size_t hb_inputs_words(const hb_input *inputs, size_t count, size_t max_words)
{
    size_t words = 1;
    if (count > max_words) return 0;
    for (size_t i = 0; i < count; i++) {
        size_t w = words_of(&inputs[i], max_words, false);
        if (w == 0 || words > max_words || w > max_words - words) return 0;
        words += w;
    }
    return words;
}

static uint64_t *put(uint64_t *to, const void *values, size_t count)
{
    if (count) memcpy(to, values, count * sizeof *to);
    return to + count;
}

static uint64_t *encode(uint64_t *to, const hb_input *input)
{
    hb_put_input_word(to++, input);
    switch (input->kind) {
    case HB_INPUT_NONE: return to;
    case HB_INPUT_INT:
    case HB_INPUT_BOOL: return put(to, &input->i, 1);
    case HB_INPUT_FLOAT: return put(to, &input->f, 1);
    case HB_INPUT_INT_LIST: return put(to, input->dims, input->count);
    case HB_INPUT_FLOAT_LIST: return put(to, input->floats, input->count);
    case HB_INPUT_TENSOR:
        to = put(to, input->dims, input->count);
        return input->strides ? put(to, input->strides, input->count) : to;
    case HB_INPUT_TENSOR_LIST:
        for (uint32_t i = 0; i < input->count; i++)
            to = encode(to, &input->list[i]);
        return to;
    }
    return to;
}

void hb_inputs_encode(uint64_t *to, const hb_input *inputs, size_t count, size_t words)
{
    *to++ = (uint64_t)words << 32 | (uint32_t)count;
    for (size_t i = 0; i < count; i++)
        to = encode(to, &inputs[i]);
}

/* ---- comparing ---- */

static const uint64_t *pass(const uint64_t *words, const void *values, size_t count)
{
    if (count && (!values || memcmp(words, values, count * sizeof *words) != 0)) return NULL;
    return words + count;
}

/* Behind what stands for the input; NULL when that is another one. */
static const uint64_t *pass_input(const uint64_t *words, const hb_input *input, bool nested)
{
    uint64_t word;
    hb_put_input_word(&word, input);
    if (*words++ != word) return NULL;
    switch (input->kind) {
    case HB_INPUT_NONE: return words;
    case HB_INPUT_INT:
    case HB_INPUT_BOOL: return pass(words, &input->i, 1);
    case HB_INPUT_FLOAT: return pass(words, &input->f, 1);
    case HB_INPUT_INT_LIST: return pass(words, input->dims, input->count);
    case HB_INPUT_FLOAT_LIST: return pass(words, input->floats, input->count);
    case HB_INPUT_TENSOR:
        words = pass(words, input->dims, input->count);
        return words && input->strides ? pass(words, input->strides, input->count) : words;
    case HB_INPUT_TENSOR_LIST: break;
    default: return NULL;
    }
    if (nested || (input->count && !input->list)) return NULL;
    for (uint32_t i = 0; words && i < input->count; i++)
        words = pass_input(words, &input->list[i], true);
    return words;
}

bool hb_next_inputs_are(const uint64_t *words, const hb_input *from, const hb_input *end)
{
    while (words && from < end)
        words = pass_input(words, from++, false);
    return words != NULL;
}

/* ---- decoding ---- */

void hb_inputs_scratch_init(hb_inputs_scratch *scratch)
{
    hb_buf_init(&scratch->inputs, (size_t)64 << 20);
    hb_buf_init(&scratch->strides, (size_t)64 << 20);
}

void hb_inputs_scratch_free(hb_inputs_scratch *scratch)
{
    hb_buf_free(&scratch->inputs);
    hb_buf_free(&scratch->strides);
}

typedef struct decoder {
    const uint64_t *at, *end;
    hb_input *next_list; /* where a list's tensors go */
    hb_input *inputs_end;
    int64_t *strides;
} decoder;

static const void *get(decoder *d, size_t count)
{
    const void *p = d->at;
    if (count > (size_t)(d->end - d->at)) return NULL;
    d->at += count;
    return p;
}

/* Row-major, as torch's contiguous tensors. */
static int64_t *contiguous(int64_t *strides, const int64_t *dims, uint32_t count)
{
    int64_t step = 1;
    for (uint32_t i = count; i-- > 0;) {
        strides[i] = step;
        step = (int64_t)((uint64_t)step * (uint64_t)HB_MAX(dims[i], 1));
    }
    return strides;
}

static bool decode_tensor(decoder *d, hb_input *input, const hb_input_word *word)
{
    uint32_t n = word->count;
    if (n > HB_INPUT_MAX_DIMS) return false;
    input->dims = get(d, n);
    if (n && !input->dims) return false;
    if (word->has_strides) {
        input->strides = get(d, n);
        return n == 0 || input->strides;
    }
    input->strides = contiguous(d->strides, input->dims, n);
    d->strides += n;
    return true;
}

static bool decode(decoder *d, hb_input *input, bool nested)
{
    hb_input_word word;
    const void *p = get(d, 1);
    if (!p) return false;
    memcpy(&word, p, sizeof word);
    *input = (hb_input){.kind = word.kind, .dtype = word.dtype, .count = word.count};
    switch (word.kind) {
    case HB_INPUT_NONE: return true;
    case HB_INPUT_INT:
    case HB_INPUT_BOOL:
    case HB_INPUT_FLOAT:
        if (!(p = get(d, 1))) return false;
        memcpy(&input->i, p, sizeof input->i);
        memcpy(&input->f, p, sizeof input->f);
        return true;
    case HB_INPUT_INT_LIST: return (input->dims = get(d, word.count)) || word.count == 0;
    case HB_INPUT_FLOAT_LIST: return (input->floats = get(d, word.count)) || word.count == 0;
    case HB_INPUT_TENSOR: return decode_tensor(d, input, &word);
    case HB_INPUT_TENSOR_LIST: break;
    default: return false;
    }
    if (nested || word.count > (size_t)(d->inputs_end - d->next_list)) return false;
    hb_input *list = d->next_list;
    d->next_list += word.count;
    input->list = list;
    for (uint32_t i = 0; i < word.count; i++)
        if (!decode(d, &list[i], true)) return false;
    return true;
}

const hb_input *hb_inputs_decode(const uint64_t *from, size_t words, hb_inputs_scratch *scratch,
                                 uint32_t *count)
{
    *count = 0;
    uint64_t used = words ? *from >> 32 : 0;
    uint32_t n = words ? (uint32_t)*from : 0;
    if (used == 0 || used > words || n >= used) return NULL;
    /* Every input and every stride takes at least a word, so `used` of each has room for all. */
    scratch->inputs.size = scratch->strides.size = 0;
    char *inputs = hb_buf_reserve(&scratch->inputs, used * sizeof(hb_input));
    char *strides = hb_buf_reserve(&scratch->strides, used * sizeof(int64_t));
    if (!inputs || !strides) return NULL;
    hb_input *first = (hb_input *)inputs;
    decoder d = {.at = from + 1,
                 .end = from + used,
                 .next_list = first + n,
                 .inputs_end = first + used,
                 .strides = (int64_t *)strides};
    for (uint32_t i = 0; i < n; i++)
        if (!decode(&d, &first[i], false)) return NULL;
    *count = n;
    return first;
}
