/* SPDX-License-Identifier: MIT
 *
 * JSON that others give us to put into our files.
 */
#ifndef HB_BASE_JSON_LINE_H
#define HB_BASE_JSON_LINE_H

#include "base/base.h"

/** Appends one JSON value on one line: without space between tokens, control characters in strings
 * escaped, half a pair of surrogates as U+FFFD, all else as it stands. HB_ERROR_FORMAT for what is
 * no JSON (also NaN and Infinity, and text that is no UTF-8); hb_last_error() begins with `what`
 * and names the byte. */
hb_result hb_json_line(hb_buf *out, const char *json, const char *what);

/** Whether it is one JSON value as it stands. Lack of memory: it is not. */
bool hb_json_is_valid(const char *json);

#endif
