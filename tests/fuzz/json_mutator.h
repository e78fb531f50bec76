/* SPDX-License-Identifier: MIT
 *
 * Changes of a JSON text that leave it one: values are replaced, copied, doubled, swapped or left
 * out, numbers are nudged. Of changes of single bytes, which libFuzzer makes, most leave no JSON,
 * and what is behind a reader sees few; they remain one of four. All else of the text stays as it
 * was.
 */
#ifndef HB_FUZZ_JSON_MUTATOR_H
#define HB_FUZZ_JSON_MUTATOR_H

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION

#include <stdbool.h>
#include <string.h>

#include "mutate.h"

enum { JSON_MOST = 2048, JSON_DEPTH = 64 };

/* A value, and the element or member that it is. */
typedef struct json_span {
    size_t item, value, end; /* item: where its key begins, else the value */
} json_span;

typedef struct json_spans {
    json_span items[JSON_MOST];
    unsigned count;
} json_spans;

static inline bool json_is_space(uint8_t c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* Behind the text or word at `at`. */
static inline size_t json_scalar(const uint8_t *p, size_t size, size_t at)
{
    if (p[at] == '"') {
        for (at++; at < size && p[at] != '"'; at++)
            at += p[at] == '\\';
        return at < size ? at + 1 : size;
    }
    while (at < size && !json_is_space(p[at]) && !strchr(",:[]{}\"", p[at]))
        at++;
    return at;
}

/* All values, also those within others; of damaged text those in front. */
static inline void json_find_spans(const uint8_t *p, size_t size, json_spans *found)
{
    unsigned open[JSON_DEPTH], depth = 0;
    size_t key = size; /* of the member that comes; none */
    found->count = 0;
    for (size_t at = 0; at < size && found->count < JSON_MOST;) {
        uint8_t c = p[at];
        if (json_is_space(c) || c == ',' || c == ':') {
            at++;
        } else if (c == ']' || c == '}') {
            if (!depth) return;
            found->items[open[--depth]].end = ++at;
        } else {
            bool opens = c == '[' || c == '{';
            size_t end = opens ? at + 1 : json_scalar(p, size, at), next = end;
            if (end == at) return;
            while (next < size && json_is_space(p[next]))
                next++;
            if (!opens && key == size && next < size && p[next] == ':') {
                key = at;
                at = next;
                continue;
            }
            if (opens && depth == JSON_DEPTH) return;
            if (opens) open[depth++] = found->count;
            found->items[found->count++] =
                (json_span){key == size ? at : key, at, opens ? size : end};
            key = size;
            at = end;
        }
    }
}

/* `from` to `to` give way to these bytes; the size then, or 0 when they do not fit. */
static inline size_t json_put(uint8_t *data, size_t size, size_t max_size, size_t from, size_t to,
                              const void *bytes, size_t n)
{
    if (size - (to - from) + n > max_size) return 0;
    memmove(data + from + n, data + to, size - to);
    memcpy(data + from, bytes, n);
    return size - (to - from) + n;
}

static inline size_t json_nudge(uint8_t *data, size_t size, size_t max_size, const json_span *s,
                                unsigned by)
{
    char text[64];
    size_t n = s->end - s->value;
    if (n >= 24 || !strchr("-0123456789", data[s->value])) return 0;
    memcpy(text, data + s->value, n);
    text[n] = 0;
    double v = strtod(text, NULL);
    static const double factors[] = {1, 1, 1, 10, 0.1, -1, 1e3, 2};
    static const double terms[] = {1, -1, 0.001, 0, 0, 0, 0, -0.5};
    n = (size_t)snprintf(text, sizeof text, "%.15g", v * factors[by % 8] + terms[by % 8]);
    return json_put(data, size, max_size, s->value, s->end, text, n);
}

static inline size_t json_literal(uint8_t *data, size_t size, size_t max_size, const json_span *s,
                                  unsigned which)
{
    static const char *const literals[] = {"0",
                                           "1",
                                           "-1",
                                           "64",
                                           "7",
                                           "1.5",
                                           "-0.0",
                                           "1e300",
                                           "-1e300",
                                           "NaN",
                                           "Infinity",
                                           "null",
                                           "true",
                                           "false",
                                           "\"\"",
                                           "\"7\"",
                                           "\"x\"",
                                           "[]",
                                           "{}",
                                           "[[]]",
                                           "[7]",
                                           "[[2,3],[4]]",
                                           "[\"float\",\"\"]",
                                           "9223372036854775807",
                                           "18446744073709551616",
                                           "2147483648",
                                           "1000000000000.001",
                                           "\"a\\u0000b\"",
                                           "\"\\ud800\"",
                                           "\"kernel\"",
                                           "\"cpu_op\"",
                                           "\"Runtime\"",
                                           "\"gpu_memcpy\"",
                                           "\"user_annotation\"",
                                           "\"[memory]\"",
                                           "\"ProfilerStep#3\"",
                                           "\"python_function\"",
                                           "\"X\"",
                                           "\"B\"",
                                           "\"E\"",
                                           "\"C\"",
                                           "\"f\"",
                                           "\"s\"",
                                           "\"stream 7\""};
    const char *text = literals[which % (sizeof literals / sizeof *literals)];
    return json_put(data, size, max_size, s->value, s->end, text, strlen(text));
}

/* With the comma before or behind it. */
static inline size_t json_leave_out(uint8_t *data, size_t size, const json_span *s)
{
    size_t from = s->item, to = s->end;
    while (to < size && json_is_space(data[to]))
        to++;
    if (to < size && data[to] == ',') return json_put(data, size, size, from, to + 1, "", 0);
    while (from > 0 && json_is_space(data[from - 1]))
        from--;
    from -= from > 0 && data[from - 1] == ',';
    return json_put(data, size, size, from, s->end, "", 0);
}

static inline size_t json_change(uint8_t *data, size_t size, size_t max_size,
                                 const json_spans *found, unsigned seed)
{
    static uint8_t kept[1 << 16];
    unsigned a = seed / 7 % found->count, b = seed / 7919 % found->count;
    const json_span *x = &found->items[a], *y = &found->items[b];
    size_t n = y->end - y->value;
    switch (seed % 7) {
    case 0:
    case 1: return json_literal(data, size, max_size, x, seed / 104729);
    case 2: return json_nudge(data, size, max_size, x, seed / 104729);
    case 3: return json_leave_out(data, size, x);
    case 4: /* one that is elsewhere */
        if (n > sizeof kept) return 0;
        memcpy(kept, data + y->value, n);
        return json_put(data, size, max_size, x->value, x->end, kept, n);
    case 5: /* twice */
        n = x->end - x->item;
        if (n + 1 > sizeof kept) return 0;
        kept[0] = ',';
        memcpy(kept + 1, data + x->item, n);
        return json_put(data, size, max_size, x->end, x->end, kept, n + 1);
    default: /* the one as what the other is called, or both in turn */
        n = x->end - x->value;
        if (x->end > y->value || n > sizeof kept) return 0;
        memcpy(kept, data + x->value, n);
        size_t m = y->end - y->value;
        if (m > sizeof kept - n) return 0;
        memcpy(kept + n, data + y->value, m);
        size_t made = json_put(data, size, max_size, y->value, y->end, kept, n);
        return made ? json_put(data, made, max_size, x->value, x->end, kept + n, m) : 0;
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    static json_spans found;
    size_t made = 0;
    if (seed % 4) json_find_spans(data, size, &found);
    if (seed % 4 && found.count) made = json_change(data, size, max_size, &found, seed / 4);
    return made ? made : LLVMFuzzerMutate(data, size, max_size);
}

#endif
#endif
