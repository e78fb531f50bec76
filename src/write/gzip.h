/* SPDX-License-Identifier: MIT
 *
 * A sink that compresses: one ordinary gzip member, as gzip(1) and Python's gzip module write.
 */
#ifndef HB_WRITE_GZIP_H
#define HB_WRITE_GZIP_H

#define ZLIB_CONST /* input is only read */
#include <zlib.h>

#include "write/sink.h"

typedef struct hb_gzip {
    hb_sink sink;
    hb_sink *below; /* gets the compressed bytes */
    z_stream z;
    gz_header header;
    char name[256];
    unsigned char *block;
} hb_gzip;

/** `name` is the uncompressed file's name for the header, without directories; NULL or one that is
 * not ASCII: none. `mtime` in Unix seconds. */
hb_result hb_gzip_open(hb_gzip *gzip, hb_sink *below, const char *name, int64_t mtime);

/** Writes what is left and the trailer. */
hb_result hb_gzip_finish(hb_gzip *gzip);

/** After open, finished or not. */
void hb_gzip_free(hb_gzip *gzip);

#endif
