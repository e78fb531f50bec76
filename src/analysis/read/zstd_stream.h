/* SPDX-License-Identifier: MIT
 *
 * zstd's streams, by libzstd (BSD), which is loaded where it is there: nothing else needs it.
 */
#ifndef HB_READ_ZSTD_STREAM_H
#define HB_READ_ZSTD_STREAM_H

#include "base/base.h"

typedef struct hb_zstd hb_zstd;

/** Bytes of which `at` are used; as libzstd has them. */
typedef struct hb_zstd_in {
    const void *bytes;
    size_t size, at;
} hb_zstd_in;

typedef struct hb_zstd_out {
    void *bytes;
    size_t size, at;
} hb_zstd_out;

/** Whether bytes begin as zstd's frames do. */
bool hb_begins_as_zstd(const void *bytes, size_t size);

/** HB_ERROR_UNSUPPORTED where there is no libzstd: says what to do. */
hb_result hb_zstd_open(hb_zstd **zstd);
void hb_zstd_close(hb_zstd *zstd);

/** Goes on as far as input and room allow. *whole: at the end of a frame. What is wrong, or NULL.
 */
const char *hb_zstd_step(hb_zstd *zstd, hb_zstd_in *in, hb_zstd_out *out, bool *whole);

#endif
