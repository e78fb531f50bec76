/* SPDX-License-Identifier: MIT
 *
 * Where bytes go: one small interface, so that whoever makes bytes never knows what becomes of
 * them.
 */
#ifndef HB_IO_SINK_H
#define HB_IO_SINK_H

#include "base/base.h"

typedef struct hb_sink hb_sink;

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
enum { HB_OUT_BLOCK = 8 * 1024 }; /* else short traces would never fill one, wherever it may be */
#else
enum { HB_OUT_BLOCK = 256 * 1024 };
#endif

struct hb_sink {
    /** Takes all bytes or fails. After a failure nothing more is written. */
    hb_result (*write)(hb_sink *sink, const void *data, size_t size);
    /** The same of the first `size` bytes of a block of HB_OUT_BLOCK from malloc, which may become
     * the sink's, and `*block` another one in its place. NULL: the sink copies. */
    hb_result (*take)(hb_sink *sink, char **block, size_t size);
};

/** Keeps the bytes in memory, up to the buffer's own maximum. */
typedef struct hb_memory_sink {
    hb_sink sink;
    hb_buf buf;
} hb_memory_sink;

void hb_memory_sink_init(hb_memory_sink *memory, size_t max);
void hb_memory_sink_free(hb_memory_sink *memory);

#endif
