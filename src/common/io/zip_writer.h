/* SPDX-License-Identifier: MIT
 *
 * A ZIP file, written from front to end: what it goes to need not be seekable. Any unzip reads it.
 */
#ifndef HB_IO_ZIP_WRITER_H
#define HB_IO_ZIP_WRITER_H

#define ZLIB_CONST /* input is only read */
#include <zlib.h>

#include "io/sink.h"

typedef struct hb_zip_entry {
    const char *name; /* with '/' between its parts */
    int64_t mtime;    /* Unix seconds */
    bool deflate;     /* else its bytes stand as they are */
    bool large;       /* it may take 4 GiB or more */
} hb_zip_entry;

typedef struct hb_zip_writer {
    hb_sink sink; /* takes the bytes of the member that is open */
    hb_sink *below;
    uint64_t offset;  /* bytes written so far */
    hb_buf directory; /* the entries so far */
    uint64_t num_members;
    z_stream z;
    unsigned char *block; /* what zlib writes into */
    /* of the member that is open */
    const hb_zip_entry *entry;
    uint64_t begin, size, stored;
    uint32_t crc;
} hb_zip_writer;

/** HB_ERROR_NO_MEMORY. */
hb_result hb_zip_open(hb_zip_writer *zip, hb_sink *below);

/** Begins a member; `entry` must stay valid until its end. Names are not checked for doubles.
 * HB_ERROR_INVALID_ARGUMENT of a name that is empty or over 64 KiB. */
hb_result hb_zip_begin(hb_zip_writer *zip, const hb_zip_entry *entry);
/** HB_ERROR_LIMIT when it has become larger than was said. */
hb_result hb_zip_end(hb_zip_writer *zip);

/** Writes the directory. */
hb_result hb_zip_finish(hb_zip_writer *zip);

/** After open, finished or not. */
void hb_zip_free(hb_zip_writer *zip);

#endif
