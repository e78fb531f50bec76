/* SPDX-License-Identifier: MIT
 *
 * Inflates a gzip or zstd stream, or a deflated member of a pack, on a thread of its own, a few
 * blocks ahead of its reader.
 */
#ifndef HB_READ_INFLATE_H
#define HB_READ_INFLATE_H

#include "read/text_window.h"
#include "read/zstd_stream.h"

typedef struct hb_inflate_from {
    int fd;
    const char *head; /* bytes already read from it */
    size_t head_size;
    bool is_member; /* it is read from `begin` to `end`; else from where it stands */
    uint64_t begin, end;
    bool raw; /* no gzip but deflate alone, of bytes with this size and CRC */
    uint64_t size;
    uint32_t crc;
    hb_zstd *zstd; /* not NULL: by this, which the inflater closes */
} hb_inflate_from;

/** NULL when there is no memory or no thread; from->zstd is closed also then. */
hb_inflater *hb_inflater_start(const hb_inflate_from *from);

/** Copies the next bytes, at most `size`, to `to`; 0 at the end. */
size_t hb_inflater_read(hb_inflater *inflater, char *to, size_t size);

/** After the end: HB_OK, or why the stream ended there. */
hb_result hb_inflater_result(const hb_inflater *inflater, const char **error);

/** Stops the thread, also in the middle. */
void hb_inflater_stop(hb_inflater *inflater);

#endif
