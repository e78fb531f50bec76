/* SPDX-License-Identifier: MIT
 *
 * Records as delta varints: a plain scope takes 4 to 8 bytes instead of 24. One chunk at a time,
 * without memory of other chunks. plugin_format/spool.md tells the bytes.
 */
#ifndef HB_RECORD_CODEC_H
#define HB_RECORD_CODEC_H

#include <stdbool.h>

#include "record/format.h"

/** The most that hb_codec_encode() writes for `raw` bytes. */
#define HB_CODEC_MOST(raw) ((raw) + (raw) / 2 + 64)

/** Looks at the records of `raw` and fills in types and ticks of `info`. */
void hb_codec_prepass(const char *raw, size_t bytes, hb_events_info *info);

/** Codes whole records into `to`, of HB_CODEC_MOST(bytes); the bytes written. */
size_t hb_codec_encode(const char *raw, size_t bytes, unsigned char *to);

/** The records again, into `raw` of exactly `raw_bytes`; false when these are not what was coded.
 * Safe with any bytes. */
bool hb_codec_decode(const unsigned char *from, size_t bytes, char *raw, size_t raw_bytes);

/** Copies records from a hot chunk, whose scopes may be ended meanwhile by any thread, and tidies
 * what stands so only in hot chunks: HB_END_ELSEWHERE becomes HB_RECORD_ASYNC. */
void hb_codec_copy_hot(char *raw, const char *chunk, size_t bytes);

#endif
