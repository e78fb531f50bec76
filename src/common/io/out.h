/* SPDX-License-Identifier: MIT
 *
 * Output in large blocks. Emitters ask for room, write through a plain pointer and say where they
 * stopped; a failing sink is remembered, not reported at once, so that they need no error checks.
 */
#ifndef HB_IO_OUT_H
#define HB_IO_OUT_H

#include <assert.h>

#include "base/str.h"
#include "io/number_text.h"
#include "io/sink.h"

enum {
    HB_OUT_ROOM = 1024, /* what an emitter may write after asking once */
};

typedef struct hb_out {
    char *at, *end, *block;
    hb_buf scratch; /* of hb_out_json() */
    hb_sink *sink;
    uint64_t bytes;   /* handed to the sink */
    hb_result result; /* the first failure; nothing is written after it */
    char error[512];  /* its hb_last_error(), which later calls may overwrite */
} hb_out;

hb_result hb_out_open(hb_out *out, hb_sink *sink);
/** Hands over what is left. The first failure, with its message. */
hb_result hb_out_finish(hb_out *out);
void hb_out_free(hb_out *out);

void hb_out_flush(hb_out *out);
void hb_out_bytes(hb_out *out, const void *data, size_t size);
/** A JSON string with its quotes. */
void hb_out_json(hb_out *out, const char *text, size_t size);

/** Room for `size` <= HB_OUT_BLOCK bytes; end with hb_out_done(). */
static inline char *hb_out_room(hb_out *out, size_t size)
{
    if (HB_UNLIKELY((size_t)(out->end - out->at) < size)) hb_out_flush(out);
    return out->at;
}

static inline void hb_out_done(hb_out *out, char *at)
{
    assert(at <= out->end);
    out->at = at;
}

/** A literal. */
#define HB_OUT(out, literal) \
    hb_out_done((out), HB_PUT(hb_out_room((out), sizeof(literal)), literal))

#endif
