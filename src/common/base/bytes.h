/* SPDX-License-Identifier: MIT
 *
 * Numbers as formats have them in bytes, on machines of any byte order. Inline: traces and spools
 * have some of them for each event.
 */
#ifndef HB_BASE_BYTES_H
#define HB_BASE_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/** The most bytes that a varint takes. */
#define HB_MAX_VARINT 10

/** Seven bits a byte, lowest first, as LEB128 and protobuf have them. Returns the end; `to` has
 * room for HB_MAX_VARINT bytes. */
static inline unsigned char *hb_varint_put(unsigned char *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *to++ = (unsigned char)(value | 0x80);
    *to++ = (unsigned char)value;
    return to;
}

/** False at the end of the bytes and of a number of more than HB_MAX_VARINT bytes; *at is then
 * somewhere up to the end. */
static inline bool hb_varint_get(const unsigned char **at, const unsigned char *end,
                                 uint64_t *value)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        unsigned char byte = *(*at)++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = v;
            return true;
        }
    }
    return false;
}

/** Small numbers of either sign as small ones without: 0, -1, 1, -2, ... */
static inline uint64_t hb_zigzag(int64_t value)
{
    return (uint64_t)value << 1 ^ (uint64_t)(value >> 63);
}

static inline int64_t hb_unzigzag(uint64_t value)
{
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

/** Four bytes, lowest first. */
static inline uint32_t hb_u32_get(const void *from)
{
    const unsigned char *b = from;
    return b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static inline uint64_t hb_u64_get(const void *from)
{
    return hb_u32_get(from) | (uint64_t)hb_u32_get((const char *)from + 4) << 32;
}

static inline void hb_u32_put(void *to, uint32_t value)
{
    unsigned char b[4] = {(unsigned char)value, (unsigned char)(value >> 8),
                          (unsigned char)(value >> 16), (unsigned char)(value >> 24)};
    memcpy(to, b, sizeof b);
}

#endif
