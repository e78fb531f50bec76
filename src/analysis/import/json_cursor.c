/* SPDX-License-Identifier: MIT */
#include "import/json_cursor.h"

#include <stdlib.h>

static void pass_over(void *context, hb_json_defect defect, const char *at)
{
    (void)context;
    (void)defect;
    (void)at;
}

hb_json_cursor hb_json_cursor_at(const char *text, size_t size, hb_arena *arena, const char *path)
{
    return (hb_json_cursor){.scan = {.end = text + size, .defect = pass_over},
                            .begin = text,
                            .at = hb_scan_space(text),
                            .arena = arena,
                            .path = path};
}

_Noreturn static void leave(const hb_json_cursor *c, const char *at, const char *why)
{
    bool cut = at >= c->scan.end;
    hb_arena_leave(c->arena, HB_ERROR_FORMAT, "%s: byte %zu: %s", c->path,
                   (size_t)((cut ? c->scan.end : at) - c->begin),
                   cut ? "the text ends too early: its tool was killed, or it was cut off" : why);
}

hb_value hb_json_read(hb_json_cursor *c)
{
    hb_value value;
    const char *p = hb_scan_value(&c->scan, c->at, &value);
    if (!p) leave(c, c->scan.at, c->scan.why);
    c->at = hb_scan_space(p);
    return value;
}

bool hb_json_enter(hb_json_cursor *c, char bracket)
{
    if (*c->at != bracket) {
        (void)hb_json_read(c);
        return false;
    }
    c->at = hb_scan_space(c->at + 1);
    return true;
}

/* Behind a bracket or a value: what follows must be a comma or the other bracket. */
static bool next(hb_json_cursor *c, bool *first, char end)
{
    bool comma = *c->at == ',';
    if (*c->at == end) {
        c->at = hb_scan_space(c->at + 1);
        return false;
    }
    if (comma == *first) leave(c, c->at, "neither a comma nor the end of an object or list");
    if (comma) c->at = hb_scan_space(c->at + 1);
    *first = false;
    return true;
}

bool hb_json_next_element(hb_json_cursor *c, bool *first)
{
    return next(c, first, ']');
}

bool hb_json_next_is(hb_json_cursor *c, bool *first, hb_str name)
{
    const char *p = c->at + !*first;
    bool here = (*first || *c->at == ',') && *p == '"' && memcmp(p + 1, name.s, name.len) == 0 &&
                p[name.len + 1] == '"' && p[name.len + 2] == ':';
    if (!here) return false;
    c->at = hb_scan_space(p + name.len + 3);
    *first = false;
    return true;
}

bool hb_json_next_member(hb_json_cursor *c, bool *first, hb_value *key)
{
    if (!next(c, first, '}')) return false;
    if (*c->at != '"') leave(c, c->at, "no name of a member");
    const char *p = hb_scan_string(&c->scan, c->at + 1, key);
    if (!p) leave(c, c->scan.at, c->scan.why);
    p = hb_scan_space(p);
    if (*p != ':') leave(c, p, "no colon behind the name of a member");
    c->at = hb_scan_space(p + 1);
    return true;
}

/* A plain number, as nearly all are, at once. */
static bool read_digits(hb_json_cursor *c, int64_t *number)
{
    const char *p = c->at;
    uint64_t n = 0;
    while (*p >= '0' && *p <= '9' && p - c->at < 19)
        n = n * 10 + (uint64_t)(*p++ - '0');
    bool plain = p > c->at && p - c->at < 19 && (*c->at != '0' || p - c->at == 1) &&
                 (*p == ',' || *p == '}' || *p == ']');
    if (!plain) return false;
    c->at = p;
    *number = (int64_t)n;
    return true;
}

int64_t hb_json_read_number(hb_json_cursor *c)
{
    int64_t number;
    if (HB_LIKELY(read_digits(c, &number))) return number;
    hb_value v = hb_json_read(c);
    if (hb_value_int(&v, &number)) return number;
    if (v.type != HB_JSON_STRING || v.size == 0 || v.size > 20) return -1;
    char text[24], *end;
    memcpy(text, v.s, v.size);
    text[v.size] = 0;
    number = (int64_t)strtoull(text, &end, 0);
    return *end ? -1 : number;
}
