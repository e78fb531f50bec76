/* SPDX-License-Identifier: MIT
 *
 * The checksum of gzip and zip, several times as fast as zlib's where the processor multiplies
 * without carries.
 */
#ifndef HB_IO_CRC32_H
#define HB_IO_CRC32_H

#include <stddef.h>
#include <stdint.h>

/** As zlib's crc32_z(): of nothing before it is 0. */
uint32_t hb_crc32(uint32_t crc, const void *data, size_t size);

#endif
