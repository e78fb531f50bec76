/* SPDX-License-Identifier: MIT */
#include "write/out.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"

hb_result hb_out_open(hb_out *out, hb_sink *sink)
{
    *out = (hb_out){.sink = sink};
    out->block = malloc(HB_OUT_BLOCK);
    if (!out->block) return hb_fail(HB_ERROR_NO_MEMORY, "no memory for the writer's output block");
    out->at = out->block;
    out->end = out->block + HB_OUT_BLOCK;
    return HB_OK;
}

void hb_out_free(hb_out *out)
{
    free(out->block);
    out->block = NULL;
}

static void write_through(hb_out *out, const void *data, size_t size)
{
    if (out->result != HB_OK || size == 0) return;
    out->result = out->sink->write(out->sink, data, size);
    if (out->result == HB_OK)
        out->bytes += size;
    else
        snprintf(out->error, sizeof out->error, "%s", hb_last_error());
}

void hb_out_flush(hb_out *out)
{
    write_through(out, out->block, (size_t)(out->at - out->block));
    out->at = out->block;
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

/* Bytes of `text` that JSON and UTF-8 take as they are. */
static size_t plain_length(const unsigned char *text, size_t size)
{
    size_t i = 0;
    while (i < size && text[i] >= 0x20 && text[i] != '"' && text[i] != '\\' && text[i] != 0x7f) {
        size_t n = hb_utf8_length(text + i, size - i);
        if (n == 0) break;
        i += n;
    }
    return i;
}

static char *put_escaped(char *p, unsigned char c)
{
    static const char hex[] = "0123456789abcdef";
    if (c >= 0x80) return HB_PUT(p, "\xef\xbf\xbd"); /* U+FFFD */
    *p++ = '\\';
    switch (c) {
    case '"': *p++ = '"'; return p;
    case '\\': *p++ = '\\'; return p;
    case '\n': *p++ = 'n'; return p;
    case '\r': *p++ = 'r'; return p;
    case '\t': *p++ = 't'; return p;
    default:
        p = HB_PUT(p, "u00");
        *p++ = hex[c >> 4];
        *p++ = hex[c & 15];
        return p;
    }
}

void hb_out_json(hb_out *out, const char *text, size_t size)
{
    const unsigned char *at = (const unsigned char *)text, *end = at + size;
    HB_OUT(out, "\"");
    while (at < end) {
        size_t plain = plain_length(at, (size_t)(end - at));
        hb_out_bytes(out, at, plain);
        at += plain;
        if (at < end) hb_out_done(out, put_escaped(hb_out_room(out, 8), *at++));
    }
    HB_OUT(out, "\"");
}
