/* SPDX-License-Identifier: MIT
 *
 * Which bytes are text.
 */
#ifndef HB_BASE_UTF8_H
#define HB_BASE_UTF8_H

#include <stddef.h>

/** Bytes of the well-formed UTF-8 character at `text` (no surrogates, no overlong forms, at most
 * U+10FFFF), 0 when there is none. `size` > 0. */
size_t hb_utf8_length(const unsigned char *text, size_t size);

/** How many of the first bytes are well-formed UTF-8. */
size_t hb_utf8_valid_prefix(const char *text, size_t size);

/** How many of the first bytes are at most `most` and do not end within a character. */
size_t hb_utf8_cut(const char *text, size_t size, size_t most);

/** Copies with U+FFFD for each wrong byte, NUL-terminated, into up to 3 * size + 1 bytes; the
 * length of the copy. */
size_t hb_utf8_replace(char *to, const char *text, size_t size);

#endif
