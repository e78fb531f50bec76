/* SPDX-License-Identifier: MIT */
#include "import/csv_rows.h"

#include <stdlib.h>

typedef enum row_end {
    ROW_WHOLE,
    ROW_CUT, /* the text ends in it */
} row_end;

static bool ends_field(char c)
{
    return c == ',' || c == '\n' || c == '\r';
}

/* The quote that ends a field, whose first character is at `p`; NULL: the text ends before it. One
 * that no comma or end of line follows is a part of the name. */
static const char *closing_quote(const char *p, const char *end, bool *doubled)
{
    while ((p = memchr(p, '"', (size_t)(end - p)))) {
        if (p + 1 == end || ends_field(p[1])) return p;
        *doubled |= p[1] == '"';
        p += p[1] == '"' ? 2 : 1;
        if (p > end) return NULL;
    }
    return NULL;
}

static hb_str unescape(hb_buf *buf, hb_str field)
{
    size_t begin = buf->size;
    for (uint32_t i = 0; i < field.len; i++) {
        hb_buf_append(buf, field.s + i, 1);
        i += field.s[i] == '"' && i + 1 < field.len && field.s[i + 1] == '"';
    }
    hb_buf_append(buf, ",", 1);
    if (buf->failed) return field;
    return (hb_str){buf->data + begin, (uint32_t)(buf->size - begin - 1)};
}

typedef struct row {
    hb_str *fields;
    uint32_t first, most; /* which are wanted */
    uint32_t count, all;  /* of these, and of the row */
    uint64_t doubled;     /* which of the first 64 have doubled quotes */
} row;

/* A field that begins by a quote; NULL: the text ends in it. A comma does not begin a name: then
 * the quote is alone. */
static const char *quoted(row *r, const char *p, const char *end, hb_str *field)
{
    bool doubled = false;
    if (p + 1 < end && p[1] == ',') return p + 1;
    const char *close = closing_quote(p + 1, end, &doubled);
    if (!close) return NULL;
    *field = (hb_str){p + 1, (uint32_t)(close - p - 1)};
    if (doubled && r->count < 64) r->doubled |= UINT64_C(1) << r->count;
    return close + 1;
}

/* Behind the row's line. */
static const char *take_row(row *r, const char *p, const char *end, row_end *how)
{
    *how = ROW_CUT;
    r->count = r->all = 0;
    r->doubled = 0;
    for (;;) {
        hb_str field = {p, 0};
        const char *begin = p;
        if (p < end && *p == '"') {
            p = quoted(r, p, end, &field);
            if (!p) return end;
        }
        while (p < end && !ends_field(*p))
            p++;
        if (*begin != '"') field.len = (uint32_t)(p - begin);
        if (r->all++ >= r->first && r->count < r->most) r->fields[r->count++] = field;
        if (p == end) return end;
        if (*p == ',') {
            p++;
            continue;
        }
        *how = ROW_WHOLE;
        if (*p == '\r' && p + 1 < end && p[1] == '\n') p++;
        return p + 1;
    }
}

static bool is_empty(const row *r)
{
    return r->count == 0 || (r->count == 1 && r->fields[0].len == 0);
}

void hb_csv_open(hb_csv *csv, hb_arena *arena, const char *path)
{
    memset(csv, 0, sizeof *csv);
    csv->arena = arena;
    csv->path = path;
    hb_buf_init(&csv->unescaped, SIZE_MAX / 2);
    hb_result result = hb_text_open(&csv->text, path, HB_TEXT_AUTO);
    if (result != HB_OK) hb_arena_leave(arena, result, "%s", hb_last_error());
    /* "\xef\xbb\xbf" before the first name; nothing is there before it was asked for */
    (void)hb_text_more(&csv->text, 0);
    if (csv->text.size >= 3 && memcmp(csv->text.data, "\xef\xbb\xbf", 3) == 0) csv->at = 3;
}

void hb_csv_close(hb_csv *csv)
{
    if (csv->path) hb_text_close(&csv->text);
    hb_buf_free(&csv->unescaped);
    csv->path = NULL;
}

/* More of the text into the window; false: there is no more. */
static bool more(hb_csv *csv)
{
    uint64_t offset = csv->text.offset;
    bool got = hb_text_more(&csv->text, csv->at);
    csv->at -= (size_t)(csv->text.offset - offset);
    if (!got && csv->text.result != HB_OK)
        hb_arena_leave(csv->arena, csv->text.result, "%s: %s", csv->path, csv->text.error);
    return got;
}

bool hb_csv_next(hb_csv *csv)
{
    row r = {.fields = csv->fields, .most = HB_CSV_MAX_FIELDS};
    for (;;) {
        row_end how;
        const char *begin = csv->text.data + csv->at, *end = csv->text.data + csv->text.size;
        const char *behind = begin == end ? end : take_row(&r, begin, end, &how);
        if (behind == end && (begin == end || how == ROW_CUT)) {
            if (more(csv)) continue;
            if (begin == end) return false;
        }
        size_t length = (size_t)(behind - begin);
        csv->at += length;
        csv->unescaped.size = 0;
        if (r.doubled) hb_buf_reserve(&csv->unescaped, length + 64); /* it must not move */
        if (!is_empty(&r)) break;
    }
    csv->count = r.count;
    csv->all = r.all;
    csv->rows++;
    for (uint32_t i = 0; r.doubled && i < 64 && i < r.count; i++)
        if (r.doubled >> i & 1) csv->fields[i] = unescape(&csv->unescaped, csv->fields[i]);
    return true;
}

uint32_t hb_csv_first_row(const char *text, size_t size, uint32_t first, hb_str *fields,
                          uint32_t most)
{
    row r = {.fields = fields, .first = first, .most = most};
    row_end how;
    const char *p = text, *end = text + size;
    if (size >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) p += 3;
    while (p < end && (*p == '\n' || *p == '\r'))
        p++;
    if (p < end) (void)take_row(&r, p, end, &how);
    return r.count;
}

int64_t hb_csv_int(const hb_csv *csv, int field)
{
    hb_str text = hb_csv_text(csv, field);
    uint64_t value = 0;
    uint32_t i = 0;
    for (; i < text.len && text.s[i] >= '0' && text.s[i] <= '9'; i++)
        value = value * 10 + (uint64_t)(text.s[i] - '0');
    if (i == text.len && i > 0 && i < 20) return value <= INT64_MAX ? (int64_t)value : -1;
    if (i != 1 || text.len < 3 || text.s[0] != '0' || (text.s[1] | 32) != 'x') return -1;
    for (value = 0, i = 2; i < text.len && i < 18; i++) {
        char c = (char)(text.s[i] | 32);
        bool digit = text.s[i] >= '0' && text.s[i] <= '9';
        if (!digit && !(c >= 'a' && c <= 'f')) return -1;
        value = value << 4 | (uint64_t)(digit ? c - '0' : c - 'a' + 10);
    }
    return (int64_t)value;
}
