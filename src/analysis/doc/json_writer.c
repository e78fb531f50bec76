/* SPDX-License-Identifier: MIT */
#include "doc/json_writer.h"

#include <math.h>

static void separate(hb_emitter *out)
{
    if (out->comma) hb_buf_append(out->buf, ", ", 2);
    out->comma = true;
}

void hb_emit_open(hb_emitter *out, char bracket)
{
    separate(out);
    hb_buf_append(out->buf, &bracket, 1);
    out->comma = false;
}

void hb_emit_close(hb_emitter *out, char bracket)
{
    hb_buf_append(out->buf, &bracket, 1);
    out->comma = true;
}

void hb_emit_key_str(hb_emitter *out, hb_str key)
{
    separate(out);
    hb_buf_json_ascii(out->buf, key.s, key.len);
    hb_buf_append(out->buf, ": ", 2);
    out->comma = false;
}

void hb_emit_key(hb_emitter *out, const char *key)
{
    hb_emit_key_str(out, (hb_str){key, (uint32_t)strlen(key)});
}

void hb_emit_str(hb_emitter *out, hb_str text)
{
    separate(out);
    hb_buf_json_ascii(out->buf, text.s, text.len);
}

void hb_emit_text(hb_emitter *out, const char *text)
{
    hb_emit_str(out, (hb_str){text, (uint32_t)strlen(text)});
}

void hb_emit_num(hb_emitter *out, hb_num number)
{
    separate(out);
    hb_buf_json_num(out->buf, number);
}

void hb_emit_null(hb_emitter *out)
{
    separate(out);
    hb_buf_append(out->buf, "null", 4);
}

void hb_emit_raw(hb_emitter *out, hb_str json)
{
    separate(out);
    hb_buf_append(out->buf, json.s, json.len);
}

void hb_emit_finite(hb_emitter *out, double value)
{
    if (!isfinite(value))
        hb_emit_null(out);
    else if (value == floor(value) && fabs(value) < 9e15)
        hb_emit_int(out, value);
    else
        hb_emit_float(out, value);
}

void hb_emit_member(hb_emitter *out, const char *key, double value)
{
    hb_emit_key(out, key);
    hb_emit_finite(out, value);
}

void hb_emit_bool(hb_emitter *out, const char *key, bool value)
{
    hb_emit_key(out, key);
    hb_emit_raw(out, value ? HB_STR("true") : HB_STR("false"));
}

void hb_emit_column(hb_emitter *out, const char *type, const char *name, const char *tooltip)
{
    hb_emit_open(out, '{');
    hb_emit_pair(out, "type", type);
    hb_emit_pair(out, "name", name);
    if (tooltip) hb_emit_pair(out, "tooltip", tooltip);
    hb_emit_close(out, '}');
}
