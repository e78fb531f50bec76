/* SPDX-License-Identifier: MIT
 *
 * JSON as Python's json.dumps() writes it.
 */
#ifndef HB_DOC_JSON_WRITER_H
#define HB_DOC_JSON_WRITER_H

#include "base/str.h"
#include "doc/py_text.h"

typedef struct hb_emitter {
    hb_buf *buf;
    bool comma; /* the next value or key needs one before it */
} hb_emitter;

void hb_emit_open(hb_emitter *out, char bracket);
void hb_emit_close(hb_emitter *out, char bracket);
void hb_emit_key(hb_emitter *out, const char *key);
void hb_emit_key_str(hb_emitter *out, hb_str key);
void hb_emit_text(hb_emitter *out, const char *text);
void hb_emit_str(hb_emitter *out, hb_str text);
void hb_emit_num(hb_emitter *out, hb_num number);
void hb_emit_null(hb_emitter *out);
/** JSON text as it is. */
void hb_emit_raw(hb_emitter *out, hb_str json);

static inline void hb_emit_int(hb_emitter *out, double value)
{
    hb_emit_num(out, hb_int(value));
}

static inline void hb_emit_float(hb_emitter *out, double value)
{
    hb_emit_num(out, hb_float(value));
}

/** The member `key` opens: an object or a list. */
static inline void hb_emit_open_key(hb_emitter *out, const char *key, char bracket)
{
    hb_emit_key(out, key);
    hb_emit_open(out, bracket);
}

static inline void hb_emit_pair(hb_emitter *out, const char *key, const char *text)
{
    hb_emit_key(out, key);
    hb_emit_text(out, text);
}

/** Not as Python has it: null where it is no finite number, an integer where it is one. */
void hb_emit_finite(hb_emitter *out, double value);
/** The member `key`, as hb_emit_finite() has its value. */
void hb_emit_member(hb_emitter *out, const char *key, double value);
void hb_emit_bool(hb_emitter *out, const char *key, bool value);

/** {"type": type, "name": name}, with "tooltip" unless NULL. */
void hb_emit_column(hb_emitter *out, const char *type, const char *name, const char *tooltip);

#endif
