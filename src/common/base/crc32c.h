/* SPDX-License-Identifier: MIT
 *
 * CRC-32C (Castagnoli), by the processor's instruction where there is one.
 */
#ifndef HB_BASE_CRC32C_H
#define HB_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t hb_crc32c(const void *data, size_t size);

/** As TFRecord files store it: rotated and offset, so that the CRC of data that holds CRCs is not
 * weak. */
uint32_t hb_crc32c_masked(const void *data, size_t size);

/* The two ways, for tests. */
uint32_t hb_crc32c_table(const void *data, size_t size);
typedef uint32_t (*hb_crc32c_fn)(const void *data, size_t size);
/** NULL when this processor has no such instruction. */
hb_crc32c_fn hb_crc32c_hardware(void);

#endif
