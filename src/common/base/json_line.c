/* SPDX-License-Identifier: MIT */
#include "base/json_line.h"

#include <stdlib.h>

#include "base/json_scan.h"

/* The first of what Python reads, or a broken writer wrote, and JSON does not have. */
typedef struct strictness {
    const char *at, *why;
    bool control; /* whether a control character in a string was seen: we escape it */
} strictness;

static void refuse(void *context, hb_json_defect defect, const char *at)
{
    strictness *s = context;
    s->control |= defect == HB_JSON_DEFECT_CONTROL;
    if (defect == HB_JSON_DEFECT_CONTROL || s->at) return;
    s->at = at;
    s->why = defect == HB_JSON_DEFECT_BAD_UTF8 || defect == HB_JSON_DEFECT_SURROGATE
                 ? "invalid UTF-8"
             : defect == HB_JSON_DEFECT_BAD_ESCAPE ? "invalid backslash escape"
                                                   : "expected a value";
}

/* Outside strings, only NaN and Infinity have these letters. */
static const char *find_nonfinite(const char *p)
{
    for (bool in_string = false; *p; p++) {
        if (*p == '"')
            in_string = !in_string;
        else if (in_string && *p == '\\')
            p++;
        else if (!in_string && (*p == 'N' || *p == 'I'))
            return p;
    }
    return NULL;
}

static void check(const char *text, size_t size, strictness *s)
{
    hb_value value;
    hb_scan scan = {.end = text + size, .defect = refuse, .context = s};
    const char *p = hb_scan_value(&scan, hb_scan_space(text), &value);
    if (p) p = hb_scan_space(p);
    if (!p && (!s->at || scan.at < s->at))
        s->at = scan.at, s->why = scan.why;
    else if (p && p < scan.end && !s->at)
        s->at = p, s->why = "text after the end";
    const char *nonfinite = s->at ? NULL : find_nonfinite(text);
    if (nonfinite) s->at = nonfinite, s->why = "JSON has no NaN and no Infinity";
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Bytes of the escape at the backslash `p`. Half a pair of surrogates - Python writes one for each
 * byte of a file name that is not UTF-8 - is the grammar's, but many parsers refuse the whole file
 * for it; `half` tells of it. */
static size_t escape_length(const char *p, bool *half)
{
    int unit = hb_scan_unit(p);
    *half = false;
    if (unit < 0) return 2;
    if (unit < 0xd800 || unit > 0xdfff) return 6;
    int low = hb_scan_unit(p + 6);
    if (unit < 0xdc00 && low >= 0xdc00 && low <= 0xdfff) return 12;
    *half = true;
    return 6;
}

static size_t put_escape(hb_buf *out, const char *p)
{
    bool half;
    size_t length = escape_length(p, &half);
    if (half)
        hb_buf_append(out, "\\ufffd", 6);
    else
        hb_buf_append(out, p, length);
    return length;
}

static bool has_half_pair(const char *p)
{
    bool half = false;
    while (!half && (p = strchr(p, '\\')))
        p += escape_length(p, &half);
    return half;
}

static void put(hb_buf *out, const char *text, size_t size)
{
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (!in_string && is_space(c)) continue;
        if ((unsigned char)c < ' ') {
            hb_buf_printf(out, "\\u%04x", c);
            continue;
        }
        if (in_string && c == '\\') {
            i += put_escape(out, text + i) - 1;
            continue;
        }
        hb_buf_append(out, &c, 1);
        if (c == '"') in_string = !in_string;
    }
}

static char *padded(const char *json, size_t size)
{
    char *text = calloc(1, size + HB_SCAN_PADDING);
    if (text) memcpy(text, json, size);
    return text;
}

bool hb_json_is_valid(const char *json)
{
    size_t size = strlen(json);
    strictness s = {0};
    char *text = padded(json, size);
    if (text) check(text, size, &s);
    bool valid = text && !s.at && !s.control && !has_half_pair(text);
    free(text);
    return valid;
}

hb_result hb_json_line(hb_buf *out, const char *json, const char *what)
{
    size_t size = strlen(json);
    strictness s = {0};
    char *text = padded(json, size);
    if (!text) return hb_no_memory();
    check(text, size, &s);
    hb_result result = HB_OK;
    if (s.at)
        result = hb_fail(HB_ERROR_FORMAT, "%s is not JSON at byte %td: %s: \"%.20s\"", what,
                         s.at - text, s.why, s.at);
    else
        put(out, text, size);
    if (result == HB_OK && out->failed) result = hb_fail(HB_ERROR_LIMIT, "%s is too large", what);
    free(text);
    return result;
}
