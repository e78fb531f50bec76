/* SPDX-License-Identifier: MIT */
#include "trace/arg_words.h"

#define LONGEST_KEY 1024u

typedef struct arg_word {
    uint8_t type, reserved;
    uint16_t key_size;
    uint32_t text_size; /* STRING */
} arg_word;

_Static_assert(sizeof(arg_word) == 8, "one word");

/* With the NUL at its end. */
static size_t words_of_text(size_t size)
{
    return size / 8 + 1;
}

static size_t words_of(const hb_arg *arg, size_t max_words)
{
    if (!arg->key || arg->type < HB_ARG_INT || arg->type > HB_ARG_STRING) return 0;
    size_t key = strnlen(arg->key, LONGEST_KEY + 1);
    if (key > LONGEST_KEY) return 0;
    size_t value = 1;
    if (arg->type == HB_ARG_STRING)
        value = arg->s ? words_of_text(strnlen(arg->s, max_words * 8)) : 1;
    return 1 + words_of_text(key) + value;
}

size_t hb_args_words(const hb_arg *args, size_t count, size_t max_words)
{
    size_t words = 1;
    if (count > max_words) return 0;
    for (size_t i = 0; i < count; i++) {
        size_t w = words_of(&args[i], max_words);
        if (w == 0 || words > max_words || w > max_words - words) return 0;
        words += w;
    }
    return words <= max_words ? words : 0;
}

/* At most so many words; NULL when not even one is left. */
static uint64_t *put_text(uint64_t *to, const uint64_t *end, const char *text, size_t *size)
{
    if (to >= end) return NULL;
    *size = strnlen(text, (size_t)(end - to) * 8 - 1);
    size_t words = words_of_text(*size);
    to[words - 1] = 0;
    memcpy(to, text, *size);
    return to + words;
}

static uint64_t *put(uint64_t *to, const uint64_t *end, const hb_arg *arg)
{
    arg_word word = {.type = (uint8_t)arg->type};
    uint64_t *head = to++;
    size_t size = 0;
    if (to >= end) return NULL;
    to = put_text(to, end - 1, arg->key, &size);
    if (!to) return NULL;
    word.key_size = (uint16_t)size;
    if (arg->type == HB_ARG_STRING) {
        to = put_text(to, end, arg->s ? arg->s : "", &size);
        word.text_size = (uint32_t)size;
    } else {
        memcpy(to++, arg->type == HB_ARG_DOUBLE ? (const void *)&arg->f : &arg->i, 8);
    }
    memcpy(head, &word, sizeof word);
    return to;
}

void hb_args_encode(uint64_t *to, const hb_arg *args, size_t count, size_t words)
{
    uint64_t *at = to + 1, *end = to + words;
    size_t written = 0;
    for (uint64_t *next; written < count && (next = put(at, end, &args[written])); written++)
        at = next;
    memset(at, 0, (size_t)(end - at) * sizeof *at);
    *to = (uint64_t)words << 32 | (uint32_t)written;
}

/* Of at most `words`; 0 when malformed. */
static size_t encoded(const uint64_t *from, size_t words)
{
    uint64_t used = words ? *from >> 32 : 0;
    return used && used <= words && (uint32_t)*from < used ? (size_t)used : 0;
}

static const char *get_text(const uint64_t **at, const uint64_t *end, size_t size)
{
    const char *text = (const char *)*at;
    if (words_of_text(size) > (size_t)(end - *at) || text[size]) return NULL;
    *at += words_of_text(size);
    return text;
}

static const uint64_t *get(const uint64_t *at, const uint64_t *end, hb_arg *arg)
{
    arg_word word;
    if (at >= end) return NULL;
    memcpy(&word, at++, sizeof word);
    *arg = (hb_arg){.type = (hb_arg_type)word.type};
    if (word.type < HB_ARG_INT || word.type > HB_ARG_STRING) return NULL;
    arg->key = get_text(&at, end, word.key_size);
    if (!arg->key) return NULL;
    if (word.type == HB_ARG_STRING) {
        arg->s = get_text(&at, end, word.text_size);
        return arg->s ? at : NULL;
    }
    if (at >= end) return NULL;
    memcpy(word.type == HB_ARG_DOUBLE ? (void *)&arg->f : &arg->i, at, sizeof *at);
    return at + 1;
}

const hb_arg *hb_args_decode(const uint64_t *from, size_t words, hb_buf *scratch, uint32_t *count)
{
    *count = 0;
    size_t used = encoded(from, words);
    uint32_t n = used ? (uint32_t)*from : 0;
    scratch->size = 0;
    hb_arg *args = n ? (hb_arg *)hb_buf_reserve(scratch, n * sizeof *args) : NULL;
    const uint64_t *at = from + 1;
    for (uint32_t i = 0; args && i < n; i++)
        if (!(at = get(at, from + used, &args[i]))) return NULL;
    if (args) *count = n;
    return args;
}
