/* SPDX-License-Identifier: MIT */
#include "plugin/py_values.h"

#include <stdlib.h>

static bool is_digit_at(const hb_value *v, size_t i)
{
    return i < v->size && v->s[i] >= '0' && v->s[i] <= '9';
}

/* As strtod() has it, but with an underscore between digits, and none of C's hexadecimal ones. */
bool hb_text_number(const hb_value *v, hb_num *number)
{
    char text[64], *end;
    size_t n = 0;
    if (v->size == 0 || v->size >= sizeof text) return false;
    for (size_t i = 0; i < v->size; i++) {
        if (v->s[i] == '_' && i && is_digit_at(v, i - 1) && is_digit_at(v, i + 1)) continue;
        if (strchr("_xX(", v->s[i])) return false;
        text[n++] = v->s[i];
    }
    text[n] = 0;
    *number = hb_float(strtod(text, &end));
    return end != text && end[strspn(end, " \t\n\r\f\v")] == 0;
}

bool hb_value_number(const hb_value *v, hb_num *number)
{
    switch ((hb_json)v->type) {
    case HB_JSON_TRUE: *number = hb_int(1); return true;
    case HB_JSON_FALSE: *number = hb_int(0); return true;
    case HB_JSON_INT: *number = hb_int(hb_value_double(v)); return true;
    case HB_JSON_FLOAT: *number = hb_float(hb_value_double(v)); return true;
    default: return false;
    }
}

/* ---- deviceProperties ---- */

static bool take_member(void *context, const hb_value *key, const hb_value *value)
{
    hb_prop *prop = context;
    if (hb_value_is(key, "name")) prop->name = *value;
    if (hb_value_is(key, "totalGlobalMem")) prop->memory = *value;
    if (hb_value_is(key, "computeMajor")) prop->major = *value;
    if (hb_value_is(key, "computeMinor")) prop->minor = *value;
    return true;
}

typedef struct prop_list {
    hb_arena *arena;
    HB_VEC(hb_prop) props;
} prop_list;

static bool take_prop(void *context, const hb_value *element)
{
    prop_list *list = context;
    hb_prop *prop = HB_PUSH(list->arena, &list->props);
    *prop = (hb_prop){.is_object = element->type == HB_JSON_OBJECT};
    if (prop->is_object)
        hb_json_each_member((hb_str){element->s, (uint32_t)element->size}, take_member, prop);
    return true;
}

void hb_props_parse(hb_arena *arena, hb_str json, hb_props *props)
{
    hb_value v = hb_json_value(json);
    *props = (hb_props){0};
    props->is_null = hb_value_is_null(&v);
    props->has_length =
        v.type == HB_JSON_ARRAY || v.type == HB_JSON_OBJECT || v.type == HB_JSON_STRING;
    if (v.type == HB_JSON_ARRAY) {
        prop_list list = {.arena = arena};
        hb_json_each(json, take_prop, &list);
        props->items = list.props.items;
        props->count = list.props.count;
        props->present = list.props.count > 0;
        return;
    }
    hb_num number;
    if (v.type == HB_JSON_OBJECT)
        props->odd = *hb_scan_space(v.s + 1) != '}';
    else if (hb_value_number(&v, &number))
        props->odd = number.v != 0;
    else
        props->odd = v.type == HB_JSON_STRING && v.size > 0;
    props->present = props->odd;
}

/* ---- Python's str() ---- */

static void repr(hb_buf *buf, const hb_value *v);

/* repr() of a string: single quotes unless only those occur; control characters as \x or \u. */
static void repr_string(hb_buf *buf, const hb_value *v)
{
    hb_buf text;
    hb_buf_init(&text, SIZE_MAX / 2);
    hb_value_decode(v, &text);
    const char *s = text.data ? text.data : "";
    char quote = memchr(s, '\'', text.size) && !memchr(s, '"', text.size) ? '"' : '\'';
    hb_buf_append(buf, &quote, 1);
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == (unsigned char)quote || c == '\\')
            hb_buf_printf(buf, "\\%c", c);
        else if (c == '\n')
            hb_buf_str(buf, "\\n");
        else if (c == '\r')
            hb_buf_str(buf, "\\r");
        else if (c == '\t')
            hb_buf_str(buf, "\\t");
        else if (c < 0x20 || c == 0x7f)
            hb_buf_printf(buf, "\\x%02x", c);
        else
            hb_buf_append(buf, &s[i], 1);
    }
    hb_buf_append(buf, &quote, 1);
    hb_buf_free(&text);
}

typedef struct list_state {
    hb_buf *buf;
    bool more;
} list_state;

static bool repr_element(void *context, const hb_value *element)
{
    list_state *state = context;
    if (state->more) hb_buf_str(state->buf, ", ");
    state->more = true;
    repr(state->buf, element);
    return true;
}

static bool repr_member(void *context, const hb_value *key, const hb_value *value)
{
    list_state *state = context;
    if (state->more) hb_buf_str(state->buf, ", ");
    state->more = true;
    repr_string(state->buf, key);
    hb_buf_str(state->buf, ": ");
    repr(state->buf, value);
    return true;
}

static void repr(hb_buf *buf, const hb_value *v)
{
    list_state state = {buf, false};
    switch ((hb_json)v->type) {
    case HB_JSON_NONE:
    case HB_JSON_NULL: hb_buf_str(buf, "None"); break;
    case HB_JSON_TRUE: hb_buf_str(buf, "True"); break;
    case HB_JSON_FALSE: hb_buf_str(buf, "False"); break;
    case HB_JSON_INT:
        /* -0 is the one int that Python writes in another way */
        hb_buf_append(buf, v->size == 2 && memcmp(v->s, "-0", 2) == 0 ? "0" : v->s,
                      v->size == 2 && memcmp(v->s, "-0", 2) == 0 ? 1 : v->size);
        break;
    case HB_JSON_FLOAT: hb_buf_py_float(buf, hb_value_double(v)); break;
    case HB_JSON_STRING: repr_string(buf, v); break;
    case HB_JSON_ARRAY:
        hb_buf_str(buf, "[");
        hb_json_each((hb_str){v->s, (uint32_t)v->size}, repr_element, &state);
        hb_buf_str(buf, "]");
        break;
    case HB_JSON_OBJECT:
        hb_buf_str(buf, "{");
        hb_json_each_member((hb_str){v->s, (uint32_t)v->size}, repr_member, &state);
        hb_buf_str(buf, "}");
        break;
    }
}

void hb_json_to_python(hb_buf *buf, hb_str json)
{
    hb_value v = hb_json_value(json);
    if (v.type == HB_JSON_STRING)
        hb_value_decode(&v, buf);
    else
        repr(buf, &v);
}

void hb_value_to_python(hb_buf *buf, const hb_value *value)
{
    size_t quote = value->type == HB_JSON_STRING;
    hb_json_to_python(buf, (hb_str){value->s - quote, (uint32_t)(value->size + 2 * quote)});
}

void hb_prop_capability(hb_buf *buf, const hb_prop *prop)
{
    hb_value_to_python(buf, &prop->major);
    hb_buf_append(buf, ".", 1);
    hb_value_to_python(buf, &prop->minor);
}
