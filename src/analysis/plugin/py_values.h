/* SPDX-License-Identifier: MIT
 *
 * deviceProperties, and JSON texts as Python values.
 */
#ifndef HB_PLUGIN_PY_VALUES_H
#define HB_PLUGIN_PY_VALUES_H

#include "base/arena.h"
#include "base/json_members.h"
#include "doc/py_text.h"

typedef struct hb_prop {
    bool is_object;
    hb_value name, memory, major, minor; /* type HB_JSON_NONE or HB_JSON_NULL: none */
} hb_prop;

typedef struct hb_props {
    bool present; /* true in Python's sense */
    bool odd;     /* present, but no list */
    bool is_null; /* absent or null; else a falsy value */
    bool has_length;
    hb_prop *items;
    uint32_t count;
} hb_props;

void hb_props_parse(hb_arena *arena, hb_str json, hb_props *props);

/** str() of a JSON value: of its text, or parsed and not null. */
void hb_json_to_python(hb_buf *buf, hb_str json);
void hb_value_to_python(hb_buf *buf, const hb_value *value);

/** "9.0": str() of both numbers of the compute capability. */
void hb_prop_capability(hb_buf *buf, const hb_prop *prop);

/** A number or bool; false for others. */
bool hb_value_number(const hb_value *value, hb_num *number);

/** float() of a string. */
bool hb_text_number(const hb_value *value, hb_num *number);

#endif
