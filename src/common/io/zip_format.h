/* SPDX-License-Identifier: MIT
 *
 * What stands where in a ZIP file, which a pack (.hbpack) is: the members one behind the other,
 * each behind a header and before its sizes, and at the end a directory of them. All numbers are
 * little-endian. After PKWARE's APPNOTE 6.3.10, chapter 4.
 */
#ifndef HB_IO_ZIP_FORMAT_H
#define HB_IO_ZIP_FORMAT_H

#include <stdint.h>
#include <string.h>

enum hb_zip_signature {
    HB_ZIP_MEMBER = 0x04034b50,
    HB_ZIP_SIZES = 0x08074b50, /* behind a member's bytes: what was not known before them */
    HB_ZIP_ENTRY = 0x02014b50, /* of the directory */
    HB_ZIP_END64 = 0x06064b50,
    HB_ZIP_LOCATOR64 = 0x07064b50,
    HB_ZIP_END = 0x06054b50,
};

enum hb_zip_size { /* bytes, without names and extra fields */
                   HB_ZIP_MEMBER_SIZE = 30,
                   HB_ZIP_ENTRY_SIZE = 46,
                   HB_ZIP_END64_SIZE = 56,
                   HB_ZIP_LOCATOR64_SIZE = 20,
                   HB_ZIP_END_SIZE = 22,
};

enum hb_zip_method { HB_ZIP_STORED = 0, HB_ZIP_DEFLATED = 8 };

enum hb_zip_flag {
    HB_ZIP_ENCRYPTED = 1 << 0,
    HB_ZIP_SIZES_BEHIND = 1 << 3,
    HB_ZIP_UTF8 = 1 << 11,
};

enum hb_zip_extra {
    HB_ZIP_EXTRA_64 = 0x0001,   /* sizes and offsets that take more than 32 bits */
    HB_ZIP_EXTRA_TIME = 0x5455, /* Unix time of the last change */
};

static inline uint16_t hb_zip_16(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t hb_zip_32(const unsigned char *p)
{
    return hb_zip_16(p) | (uint32_t)hb_zip_16(p + 2) << 16;
}

static inline uint64_t hb_zip_64(const unsigned char *p)
{
    return hb_zip_32(p) | (uint64_t)hb_zip_32(p + 4) << 32;
}

static inline unsigned char *hb_zip_put_16(unsigned char *p, uint32_t v)
{
    *p++ = (unsigned char)v;
    *p++ = (unsigned char)(v >> 8);
    return p;
}

static inline unsigned char *hb_zip_put_32(unsigned char *p, uint32_t v)
{
    return hb_zip_put_16(hb_zip_put_16(p, v), v >> 16);
}

static inline unsigned char *hb_zip_put_64(unsigned char *p, uint64_t v)
{
    return hb_zip_put_32(hb_zip_put_32(p, (uint32_t)v), (uint32_t)(v >> 32));
}

#endif
