/* SPDX-License-Identifier: MIT
 *
 * What lies in a JSON text that was checked when it was read, so that nothing can fail.
 */
#ifndef HB_BASE_JSON_MEMBERS_H
#define HB_BASE_JSON_MEMBERS_H

#include "base/json_scan.h"
#include "base/str.h"

/** Calls `fn` for each element of a JSON list until it returns false. */
void hb_json_each(hb_str json, bool (*fn)(void *context, const hb_value *element), void *context);

/** The same for the members of a JSON object. */
void hb_json_each_member(hb_str json,
                         bool (*fn)(void *context, const hb_value *key, const hb_value *value),
                         void *context);

/** The last member of that name; type HB_JSON_NONE when `json` is no object or has none. */
hb_value hb_json_member(hb_str json, const char *name);

/** The number that it is; `otherwise` when there is none. As strtod() in the program's locale reads
 * it. */
double hb_json_number(hb_str json, const char *name, double otherwise);

/** A whole number within HB_MAX_TIME_NS: Unix times have a digit more than hb_value_int() takes. */
bool hb_value_time(const hb_value *value, int64_t *ns);

/** A string's characters, escapes resolved, NUL-terminated: whole ones, as many as have room; none
 * of what is no string. How many bytes that is. */
size_t hb_value_put_text(const hb_value *value, char *to, size_t room);

/** Parses one JSON value that is known to be well-formed. */
hb_value hb_json_value(hb_str json);

#endif
