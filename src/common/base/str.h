/* SPDX-License-Identifier: MIT
 *
 * A text that somebody else owns.
 */
#ifndef HB_BASE_STR_H
#define HB_BASE_STR_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/** Text that may hold any byte; not necessarily NUL-terminated. */
typedef struct hb_str {
    const char *s;
    uint32_t len;
} hb_str;

#define HB_STR(literal) ((hb_str){"" literal, sizeof(literal) - 1})

static inline bool hb_str_is(hb_str s, const char *text)
{
    size_t n = strlen(text);
    return s.len == n && memcmp(s.s, text, n) == 0;
}

static inline bool hb_str_begins(hb_str s, const char *prefix)
{
    size_t n = strlen(prefix);
    return s.len >= n && memcmp(s.s, prefix, n) == 0;
}

static inline bool hb_str_ends(hb_str s, const char *suffix)
{
    size_t n = strlen(suffix);
    return s.len >= n && memcmp(s.s + s.len - n, suffix, n) == 0;
}

static inline bool hb_str_has(hb_str s, const char *part)
{
    return memmem(s.s, s.len, part, strlen(part)) != NULL;
}

/** What a noun of `n` things ends with. */
static inline const char *hb_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

#endif
