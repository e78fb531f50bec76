/* SPDX-License-Identifier: MIT */
#include "analyze/props.h"

#include <stdlib.h>

/* The texts were checked when they were read: nothing can fail, flaws are known. They may not be
 * followed by zeros, but each ends with a bracket, a quote, or as a copy that is. */
static void ignore_flaw(void *context, hb_flaw flaw, const char *at)
{
    (void)context;
    (void)flaw;
    (void)at;
}

static hb_scan quiet_scan(hb_str json)
{
    return (hb_scan){.end = json.s + json.len, .flaw = ignore_flaw};
}

hb_value hb_json_value(hb_str json)
{
    hb_scan scan = quiet_scan(json);
    hb_value value = {"", 0, HB_JSON_NONE, false};
    if (json.len && !hb_scan_value(&scan, hb_scan_space(json.s), &value)) value.type = HB_JSON_NONE;
    return value;
}

bool hb_text_number(const hb_value *v, hb_num *number)
{
    char text[64], *end;
    if (v->size == 0 || v->size >= sizeof text) return false;
    memcpy(text, v->s, v->size);
    text[v->size] = 0;
    *number = hb_float(strtod(text, &end));
    return end != text && end[strspn(end, " \t\n\r\f\v")] == 0;
}

void hb_json_each(hb_str json, bool (*fn)(void *, const hb_value *), void *context)
{
    hb_scan scan = quiet_scan(json);
    hb_value value;
    const char *p = hb_scan_space(json.s + 1);
    while (p && *p != ']') {
        p = hb_scan_value(&scan, p, &value);
        if (!p || !fn(context, &value)) return;
        p = hb_scan_space(p);
        if (*p == ',') p = hb_scan_space(p + 1);
    }
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

/* As hb_json_each(), for the members of a JSON object. */
static void each_member(hb_str json,
                        bool (*fn)(void *context, const hb_value *key, const hb_value *value),
                        void *context)
{
    hb_scan scan = quiet_scan(json);
    hb_value key, value;
    const char *p = hb_scan_space(json.s + 1);
    while (p && *p == '"') {
        p = hb_scan_string(&scan, p + 1, &key);
        if (p) p = hb_scan_value(&scan, hb_scan_space(hb_scan_space(p) + 1), &value);
        if (!p || !fn(context, &key, &value)) return;
        p = hb_scan_space(p);
        if (*p == ',') p = hb_scan_space(p + 1);
    }
}

typedef struct member_search {
    const char *name;
    hb_value found;
} member_search;

static bool match_member(void *context, const hb_value *key, const hb_value *value)
{
    member_search *s = context;
    if (hb_value_is(key, s->name)) s->found = *value;
    return true;
}

hb_value hb_json_member(hb_str json, const char *name)
{
    member_search s = {name, {"", 0, HB_JSON_NONE, false}};
    if (hb_json_value(json).type == HB_JSON_OBJECT) each_member(json, match_member, &s);
    return s.found;
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
        each_member((hb_str){element->s, (uint32_t)element->size}, take_member, prop);
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

static void repr_object(hb_buf *buf, const hb_value *v)
{
    hb_scan scan = quiet_scan((hb_str){v->s, (uint32_t)v->size});
    hb_value key, value;
    const char *p = hb_scan_space(v->s + 1);
    hb_buf_str(buf, "{");
    for (bool more = false; p && *p == '"'; more = true) {
        p = hb_scan_string(&scan, p + 1, &key);
        if (p) p = hb_scan_value(&scan, hb_scan_space(hb_scan_space(p) + 1), &value);
        if (!p) break;
        if (more) hb_buf_str(buf, ", ");
        repr_string(buf, &key);
        hb_buf_str(buf, ": ");
        repr(buf, &value);
        p = hb_scan_space(p);
        if (*p == ',') p = hb_scan_space(p + 1);
    }
    hb_buf_str(buf, "}");
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
    case HB_JSON_OBJECT: repr_object(buf, v); break;
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
