/* SPDX-License-Identifier: MIT */
#include "base/json_members.h"

#include <stdlib.h>

#include "base/times.h"

/* The texts were checked when they were read: nothing can fail, defects are known. They may not be
 * followed by zeros, but each ends with a bracket, a quote, or as a copy that is. */
static void ignore_defect(void *context, hb_json_defect defect, const char *at)
{
    (void)context;
    (void)defect;
    (void)at;
}

static hb_scan quiet_scan(hb_str json)
{
    return (hb_scan){.end = json.len ? json.s + json.len : json.s, .defect = ignore_defect};
}

hb_value hb_json_value(hb_str json)
{
    hb_scan scan = quiet_scan(json);
    hb_value value = {"", 0, HB_JSON_NONE, false};
    if (json.len && !hb_scan_value(&scan, hb_scan_space(json.s), &value)) value.type = HB_JSON_NONE;
    return value;
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

void hb_json_each_member(hb_str json,
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
    if (hb_json_value(json).type == HB_JSON_OBJECT) hb_json_each_member(json, match_member, &s);
    return s.found;
}

double hb_json_number(hb_str json, const char *name, double otherwise)
{
    hb_value v = hb_json_member(json, name);
    return v.type == HB_JSON_INT || v.type == HB_JSON_FLOAT ? hb_value_double(&v) : otherwise;
}

size_t hb_value_put_text(const hb_value *value, char *to, size_t room)
{
    hb_buf text;
    hb_buf_init(&text, SIZE_MAX / 2);
    if (value->type == HB_JSON_STRING) hb_value_decode(value, &text);
    size_t n = HB_MIN(text.size, room - 1);
    while (n < text.size && n && (text.data[n] & 0xc0) == 0x80)
        n--;
    if (n) memcpy(to, text.data, n);
    to[n] = '\0';
    hb_buf_free(&text);
    return n;
}

bool hb_value_time(const hb_value *value, int64_t *ns)
{
    char digits[24] = "";
    if (value->type != HB_JSON_INT || value->size >= sizeof digits) return false;
    memcpy(digits, value->s, value->size);
    *ns = strtoll(digits, NULL, 10);
    return *ns > -HB_MAX_TIME_NS && *ns < HB_MAX_TIME_NS;
}
