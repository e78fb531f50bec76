/* SPDX-License-Identifier: MIT
 *
 * A sink that compresses: one ordinary gzip member, as gzip(1) and Python's gzip module write.
 */
#ifndef HB_IO_GZIP_H
#define HB_IO_GZIP_H

#define ZLIB_CONST /* input is only read */
#include <zlib.h>

#include "io/event_deflate.h"
#include "io/sink.h"

typedef enum hb_gzip_coder {
    HB_GZIP_SMALLER, /* the events' own, where trials show that it makes no more in all than zlib */
    HB_GZIP_ZLIB,
    HB_GZIP_EVENTS, /* event_deflate.h */
} hb_gzip_coder;

/* Counts what goes on to `below`; NULL: nowhere. */
typedef struct hb_gzip_output {
    hb_sink sink;
    hb_sink *below;
    uint64_t bytes;
} hb_gzip_output;

typedef enum hb_gzip_stage {
    HB_GZIP_ALONE,   /* one coder is at work */
    HB_GZIP_HELD,    /* both are, from the beginning, into memory */
    HB_GZIP_WARM_UP, /* both are, until the one on trial has seen what it remembers */
    HB_GZIP_TRIAL,   /* both are, and are compared afterwards */
} hb_gzip_stage;

typedef struct hb_gzip {
    hb_sink sink;
    hb_gzip_output out, trial; /* of the coder at work; of the other one, while it is tried */
    hb_memory_sink held[2];    /* what both made from the beginning: zlib, the events' own */
    hb_gzip_coder choice;
    hb_gzip_stage stage;
    bool by_events; /* which coder is at work */
    bool finished;
    uint64_t left;     /* bytes of input until the stage is over */
    uint64_t interval; /* until the next trial */
    uint64_t before; /* made by the coder at work when a trial began, or when the last one ended */
    uint64_t other;  /* made by the other one before it was compared */
    /* Bytes that the events' own saved so far, as trials show: what it may make more elsewhere. */
    double saved;
    double rate; /* of a byte by the events' own: how many more zlib makes */
    z_stream z;
    unsigned char *block;     /* what zlib writes into; NULL: zlib is not open */
    hb_event_deflate *events; /* or NULL */
    uint32_t crc, size;
    unsigned char header[266];
    uint32_t header_size; /* 0: it is written */
} hb_gzip;

/** `name` is the uncompressed file's name for the header, without directories; NULL or one that is
 * not ASCII: none. `mtime` in Unix seconds. */
hb_result hb_gzip_open(hb_gzip *gzip, hb_sink *below, const char *name, int64_t mtime,
                       hb_gzip_coder coder);

/** Writes what is left and the trailer. */
hb_result hb_gzip_finish(hb_gzip *gzip);

/** After open, finished or not. */
void hb_gzip_free(hb_gzip *gzip);

#endif
