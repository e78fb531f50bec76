/* SPDX-License-Identifier: MIT
 *
 * UTF-16 and UTF-32, which Python's JSON parser tells by the first bytes and reads.
 */
#ifndef HB_READ_ENCODING_H
#define HB_READ_ENCODING_H

#include "base/base.h"

typedef struct hb_encoding {
    unsigned width; /* bytes a unit: 1, 2, 4 */
    bool big_endian;
    unsigned bom; /* bytes of a byte order mark */
} hb_encoding;

/** By the first four bytes; fewer are taken for UTF-8. */
hb_encoding hb_encoding_of(const char *text, size_t size);

/** Appends UTF-8. Lone surrogates become three bytes each. False when a unit is cut off or beyond
 * Unicode; `out` holds what came before. */
bool hb_encoding_decode(hb_encoding encoding, const char *text, size_t size, hb_buf *out);

#endif
