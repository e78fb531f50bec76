/* SPDX-License-Identifier: MIT */
#include "io/out.h"

#include <stdio.h>
#include <stdlib.h>

enum { LONGEST_TEXT = 512 * 1024 * 1024 }; /* escaped */

hb_result hb_out_open(hb_out *out, hb_sink *sink)
{
    *out = (hb_out){.sink = sink};
    out->block = malloc(HB_OUT_BLOCK);
    if (!out->block) return hb_fail(HB_ERROR_NO_MEMORY, "no memory for the writer's output block");
    out->at = out->block;
    out->end = out->block + HB_OUT_BLOCK;
    hb_buf_init(&out->scratch, LONGEST_TEXT);
    return HB_OK;
}

void hb_out_free(hb_out *out)
{
    hb_buf_free(&out->scratch);
    free(out->block);
    out->block = NULL;
}

static void note_written(hb_out *out, hb_result result, size_t size)
{
    out->result = result;
    if (result == HB_OK)
        out->bytes += size;
    else
        snprintf(out->error, sizeof out->error, "%s", hb_last_error());
}

static void write_through(hb_out *out, const void *data, size_t size)
{
    if (out->result != HB_OK || size == 0) return;
    note_written(out, out->sink->write(out->sink, data, size), size);
}

void hb_out_flush(hb_out *out)
{
    size_t size = (size_t)(out->at - out->block);
    if (!out->sink->take)
        write_through(out, out->block, size);
    else if (out->result == HB_OK && size)
        note_written(out, out->sink->take(out->sink, &out->block, size), size);
    out->at = out->block;
    out->end = out->block + HB_OUT_BLOCK;
}

hb_result hb_out_finish(hb_out *out)
{
    hb_out_flush(out);
    if (out->result != HB_OK) return hb_fail(out->result, "%s", out->error);
    return HB_OK;
}

void hb_out_bytes(hb_out *out, const void *data, size_t size)
{
    if (size > HB_OUT_BLOCK) {
        hb_out_flush(out);
        write_through(out, data, size);
        return;
    }
    char *p = hb_out_room(out, size);
    memcpy(p, data, size);
    hb_out_done(out, p + size);
}

void hb_out_json(hb_out *out, const char *text, size_t size)
{
    hb_buf *scratch = &out->scratch;
    scratch->size = 0;
    scratch->failed = false;
    hb_buf_json_string(scratch, text, size);
    if (scratch->failed)
        HB_OUT(out, "\"\"");
    else
        hb_out_bytes(out, scratch->data, scratch->size);
}
