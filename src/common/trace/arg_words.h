/* SPDX-License-Identifier: MIT
 *
 * A scope's typed values as words in a record. Each is one word {type, size of the key, size of the
 * text}, the key, and one word, or of a STRING its text. Keys and texts end with at least one NUL
 * in their last word, so that they are C strings where they lie.
 */
#ifndef HB_TRACE_ARG_WORDS_H
#define HB_TRACE_ARG_WORDS_H

#include "base/base.h"

/** Words that `count` values take, their leading word {words, count} included; 0 when over
 * `max_words` or malformed. */
size_t hb_args_words(const hb_arg *args, size_t count, size_t max_words);

/** Writes what hb_args_words() measured, of the same texts: what another thread changed meanwhile
 * is cut to what was measured. */
void hb_args_encode(uint64_t *to, const hb_arg *args, size_t count, size_t words);

/** Decodes into `scratch`, used again and again; keys and texts lie in the words themselves. NULL
 * with *count 0 when malformed. */
const hb_arg *hb_args_decode(const uint64_t *from, size_t words, hb_buf *scratch, uint32_t *count);

#endif
