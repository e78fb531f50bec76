/* SPDX-License-Identifier: MIT
 *
 * A walk through a JSON text, from its beginning to its end, that steps into what is wanted and
 * over all else. What is no JSON leaves by the arena, with the path and the byte.
 */
#ifndef HB_IMPORT_JSON_CURSOR_H
#define HB_IMPORT_JSON_CURSOR_H

#include "base/arena.h"
#include "base/json_scan.h"
#include "base/str.h"

typedef struct hb_json_cursor {
    hb_scan scan;
    const char *begin, *at;
    hb_arena *arena;
    const char *path;
} hb_json_cursor;

/** `text` is followed by HB_SCAN_PADDING zeros. */
hb_json_cursor hb_json_cursor_at(const char *text, size_t size, hb_arena *arena, const char *path);

/** Steps into the object or list that stands here; false, and over it, when it is something else.
 */
bool hb_json_enter(hb_json_cursor *cursor, char bracket);

/** The object's next member, whose value is to be read, entered or skipped then; false, and behind
 * the object, when there is none. `first`: true before the first one. */
bool hb_json_next_member(hb_json_cursor *cursor, bool *first, hb_value *key);
/** The same of a list. */
bool hb_json_next_element(hb_json_cursor *cursor, bool *first);
/** Whether the member that comes is of this name, of fewer than 60 bytes; if so, its value is next.
 * Else nothing is read. */
bool hb_json_next_is(hb_json_cursor *cursor, bool *first, hb_str name);

/** The value here, and over it. */
hb_value hb_json_read(hb_json_cursor *cursor);
/** A whole number, also in quotes and in hexadecimal; -1 of anything else. */
int64_t hb_json_read_number(hb_json_cursor *cursor);

#endif
