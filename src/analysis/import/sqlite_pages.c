/* SPDX-License-Identifier: MIT */
#include "import/sqlite_pages.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"

enum {
    INNER = 5, /* what kind a page is: of a table's tree, with pages below it, or with rows */
    LEAF = 13,
    DEPTH = 20,
    PAGES_AT_ONCE = 16, /* where they follow each other */
    FIRST_BLOB = 12,
    NOBODY = HB_DBPAGE_COLUMNS, /* asks for a column */
    SLACK = 8,                  /* bytes behind a value that may be read with it */
    ROW_ID = -1, /* the type of a column that is the row's number: no type of the format */
};

/* A row may be as large as SQLite itself is told here. */
static const uint64_t most_bytes = 64 << 20;

typedef struct level {
    uint8_t *page; /* its own */
    uint32_t cell, cells;
} level;

struct hb_dbpage_walk {
    const hb_dbpage_file *file;
    uint32_t root, depth, visited;
    level levels[DEPTH]; /* pages with pages below them, from the root */
    /* The page with rows, and some that lie behind it. */
    uint8_t *leaves, *leaf;
    uint32_t first_leaf, num_leaves, last_leaf;
    uint32_t cell, cells;
    /* The present row. */
    int64_t row_id;
    bool began;
    hb_dbpage_value values[HB_DBPAGE_COLUMNS + 1];
    uint32_t texts[HB_DBPAGE_COLUMNS]; /* where copies stand, + 1 */
    hb_buf long_row, copies;
    const uint8_t *row;
    uint64_t row_size;
    /* How the last row began, which tells types and sizes, and where its values ended. */
    uint8_t head[64];
    uint64_t head_size, values_end; /* 0: it is not kept */
    /* What is asked for. */
    int num_columns, num_places;
    hb_dbpage_column columns[HB_DBPAGE_COLUMNS];
    uint8_t *column_at; /* by place in the table; or NOBODY */
    int id_column;      /* which is the row's number where it is NULL; -1: none */
};

static inline uint32_t big16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | p[1];
}

static inline uint32_t big32(const uint8_t *p)
{
    uint32_t number;
    memcpy(&number, p, sizeof number);
    return be32toh(number);
}

/* ---- the file ---- */

static bool read_at(const hb_dbpage_file *f, uint64_t at, void *to, size_t size)
{
    char *p = to;
    if (at > f->size || size > f->size - at) return false;
    if (f->fd < 0) {
        memcpy(to, f->bytes + at, size);
        return true;
    }
    while (size) {
        ssize_t n = pread(f->fd, p, size, (off_t)at);
        if (n <= 0) return false; /* SQLite will say why */
        p += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return true;
}

bool hb_dbpage_file_init(hb_dbpage_file *f, int fd, const void *bytes, uint64_t size)
{
    uint8_t head[100];
    *f = (hb_dbpage_file){.fd = fd, .bytes = bytes, .size = size};
    if (!read_at(f, 0, head, sizeof head) || memcmp(head, "SQLite format 3", 16) != 0) return false;
    f->page_size = big16(head + 16) == 1 ? 65536 : big16(head + 16);
    bool fits = f->page_size >= 512 && (f->page_size & (f->page_size - 1)) == 0;
    bool utf8 = big32(head + 56) == 1;
    if (!fits || !utf8 || f->page_size - head[20] < 480) return false;
    f->usable = f->page_size - head[20];
    f->num_pages = (uint32_t)HB_MIN(size / f->page_size, (uint64_t)UINT32_MAX);
    return true;
}

static bool read_pages(const hb_dbpage_file *f, uint32_t number, uint32_t count, uint8_t *to)
{
    if (number == 0 || number > f->num_pages) return false;
    return read_at(f, (uint64_t)(number - 1) * f->page_size, to, (size_t)count * f->page_size);
}

/* ---- pages ---- */

/* The leaf `number`, among those that were read, or with those behind it where the table lies in
 * one piece. */
static bool take_leaf(hb_dbpage_walk *w, uint32_t number)
{
    const hb_dbpage_file *f = w->file;
    bool here = number >= w->first_leaf && number - w->first_leaf < w->num_leaves;
    if (!here) {
        uint32_t count = number == w->last_leaf + 1 ? PAGES_AT_ONCE : 1;
        count = HB_MIN(count, f->num_pages - number + 1);
        if (!read_pages(f, number, count, w->leaves)) return false;
        w->first_leaf = number;
        w->num_leaves = count;
    }
    w->last_leaf = number;
    w->leaf = w->leaves + (size_t)(number - w->first_leaf) * f->page_size;
    w->cell = 0;
    w->cells = big16(w->leaf + 3);
    return w->leaf[0] == LEAF && 8 + (uint64_t)w->cells * 2 <= f->usable;
}

static bool take_inner(hb_dbpage_walk *w, uint32_t number)
{
    const hb_dbpage_file *f = w->file;
    if (w->depth == DEPTH) return false;
    level *l = &w->levels[w->depth];
    if (!l->page && !(l->page = malloc(f->page_size))) return false;
    if (!read_pages(f, number, 1, l->page)) return false;
    l->cell = 0;
    l->cells = big16(l->page + 3);
    w->depth++;
    return l->page[0] == INNER && 12 + (uint64_t)l->cells * 2 <= f->usable;
}

/* No page is there twice: more than all are a circle. */
static bool visit(hb_dbpage_walk *w)
{
    return w->visited++ <= w->file->num_pages;
}

/* Down to the first leaf below a page. */
static bool descend(hb_dbpage_walk *w, uint32_t number)
{
    for (;;) {
        /* The first page holds the list of tables. */
        if (number < 2 || number > w->file->num_pages || !visit(w)) return false;
        if (take_leaf(w, number)) return true;
        if (!take_inner(w, number)) return false;
        level *l = &w->levels[w->depth - 1];
        uint32_t at = l->cells ? big16(l->page + 12) : 8;
        if (at + 4 > w->file->usable) return false;
        number = big32(l->page + at);
        l->cell = 1;
    }
}

/* To the next leaf; END when there is none. */
static hb_dbpage_step next_leaf(hb_dbpage_walk *w)
{
    while (w->depth) {
        level *l = &w->levels[w->depth - 1];
        if (l->cell > l->cells) {
            w->depth--;
            continue;
        }
        uint32_t at = l->cell < l->cells ? big16(l->page + 12 + 2 * (size_t)l->cell) : 8;
        if (at + 4 > w->file->usable) return HB_DBPAGE_ODD;
        l->cell++;
        return descend(w, big32(l->page + at)) ? HB_DBPAGE_ROW : HB_DBPAGE_ODD;
    }
    return HB_DBPAGE_END;
}

/* ---- rows ---- */

static const uint8_t *take_long_varint(const uint8_t *p, const uint8_t *end, uint64_t *value)
{
    uint64_t v = 0;
    for (int i = 0; p < end; i++) {
        uint8_t byte = *p++;
        if (i == 8) {
            *value = v << 8 | byte;
            return p;
        }
        v = v << 7 | (byte & 127);
        if (byte < 128) {
            *value = v;
            return p;
        }
    }
    return NULL;
}

/* Nearly all are one byte. */
static inline const uint8_t *take_varint(const uint8_t *p, const uint8_t *end, uint64_t *value)
{
    if (HB_UNLIKELY(p >= end || *p >= 128)) return take_long_varint(p, end, value);
    *value = *p;
    return p + 1;
}

/* A row that does not fit on its page goes on in others, which are no other row's. */
static const uint8_t *whole_row(hb_dbpage_walk *w, const uint8_t *p, const uint8_t *end,
                                uint64_t size)
{
    const hb_dbpage_file *f = w->file;
    uint64_t least = (f->usable - 12) * 32 / 255 - 23;
    uint64_t local = least + (size - least) % (f->usable - 4);
    if (local > f->usable - 35) local = least;
    if ((uint64_t)(end - p) < local + 4) return NULL;
    w->long_row.size = 0;
    char *to = hb_buf_reserve(&w->long_row, size + SLACK);
    if (!to) return NULL;
    memcpy(to, p, local);
    uint32_t next = big32(p + local);
    for (uint64_t at = local; at < size;) {
        uint8_t number[4];
        uint64_t here = HB_MIN(size - at, (uint64_t)f->usable - 4);
        uint64_t page = (uint64_t)(next - 1) * f->page_size;
        if (next == 0 || next > f->num_pages || !visit(w) || !read_at(f, page, number, 4) ||
            !read_at(f, page + 4, to + at, here))
            return NULL;
        at += here;
        next = big32(number);
    }
    return (const uint8_t *)to;
}

static inline uint64_t size_of(uint64_t type)
{
    static const uint8_t sizes[FIRST_BLOB] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
    return type < FIRST_BLOB ? sizes[type] : (type - FIRST_BLOB) / 2;
}

/* Columns that the row was written without, as the table has got them since. */
static bool take_missing(hb_dbpage_walk *w, int place)
{
    for (; place < w->num_places; place++) {
        int column = w->column_at[place];
        if (column == NOBODY) continue;
        if (w->columns[column].has_default) return false;
        w->values[column] = (hb_dbpage_value){0, 0};
    }
    return true;
}

/* No value is larger than the row, so that their sum is a number; it is looked at behind them. */
static bool read_head(hb_dbpage_walk *w, const uint8_t *row, uint64_t size)
{
    uint64_t head_size, type;
    const uint8_t *p = take_varint(row, row + size, &head_size);
    if (!p || head_size > size) return false;
    const uint8_t *head_end = row + head_size, *column_at = w->column_at;
    uint64_t at = head_size;
    int place = 0, places = w->num_places;
    for (; place < places && p < head_end; place++) {
        p = take_varint(p, head_end, &type);
        uint64_t n = size_of(type);
        if (HB_UNLIKELY(!p || type - 10 < 2 || n > size)) return false;
        w->values[column_at[place]] = (hb_dbpage_value){type, at};
        at += n;
    }
    if (at > size || (place < places && !take_missing(w, place))) return false;
    if (w->id_column >= 0 && w->values[w->id_column].type == 0)
        w->values[w->id_column].type = (uint64_t)ROW_ID;
    w->head_size = head_size <= sizeof w->head ? head_size : 0;
    memcpy(w->head, row, w->head_size);
    w->values_end = at;
    return true;
}

/* Rows that follow each other have mostly the same types and sizes. */
static bool take_values(hb_dbpage_walk *w, const uint8_t *row, uint64_t size)
{
    w->row = row;
    bool same = w->head_size && size >= w->values_end && memcmp(row, w->head, w->head_size) == 0;
    return same || read_head(w, row, size);
}

static bool take_row(hb_dbpage_walk *w)
{
    uint64_t size, id;
    uint32_t usable = w->file->usable;
    uint32_t at = big16(w->leaf + 8 + 2 * (size_t)w->cell++);
    const uint8_t *end = w->leaf + usable, *p = w->leaf + at;
    if (at < 8 || at >= usable) return false;
    p = take_varint(p, end, &size);
    if (p) p = take_varint(p, end, &id);
    if (!p || size > most_bytes) return false;
    if (size > usable - 35)
        p = whole_row(w, p, end, size);
    else if ((uint64_t)(end - p) < size)
        return false;
    if (!p || (w->began && (int64_t)id <= w->row_id) || !take_values(w, p, size)) return false;
    w->row_id = (int64_t)id;
    w->row_size = size;
    w->began = true;
    if (w->copies.size) memset(w->texts, 0, sizeof w->texts);
    w->copies.size = 0;
    return true;
}

hb_dbpage_step hb_dbpage_walk_next(hb_dbpage_walk *w)
{
    if (w->root) {
        uint32_t root = w->root;
        w->root = 0;
        if (!descend(w, root)) return HB_DBPAGE_ODD;
    }
    while (w->cell == w->cells) {
        hb_dbpage_step step = next_leaf(w);
        if (step != HB_DBPAGE_ROW) return step;
    }
    return take_row(w) ? HB_DBPAGE_ROW : HB_DBPAGE_ODD;
}

bool hb_dbpage_walk_row_id(const hb_dbpage_walk *w, int64_t *id)
{
    *id = w->row_id;
    return w->began;
}

/* ---- values ---- */

bool hb_dbpage_is_null(const hb_dbpage_walk *w, int column)
{
    return w->values[column].type == 0;
}

static inline const uint8_t *bytes_of(const hb_dbpage_walk *w, const hb_dbpage_value *v)
{
    return w->row + v->at;
}

static inline int64_t whole_number(const hb_dbpage_walk *w, const hb_dbpage_value *v)
{
    static const uint8_t unused[] = {0, 56, 48, 40, 32, 16, 0}; /* bits of the eight bytes read */
    uint64_t bits;
    memcpy(&bits, bytes_of(w, v), sizeof bits);
    return (int64_t)be64toh(bits) >> unused[v->type];
}

static double real_number(const hb_dbpage_walk *w, const hb_dbpage_value *v)
{
    double d;
    const uint8_t *p = bytes_of(w, v);
    uint64_t bits = (uint64_t)big32(p) << 32 | big32(p + 4);
    memcpy(&d, &bits, sizeof d);
    return d;
}

static size_t text_size(const hb_dbpage_value *v)
{
    return (size_t)((v->type - FIRST_BLOB) / 2);
}

/* The number that a text begins with. */
static double number_in(const hb_dbpage_walk *w, const hb_dbpage_value *v)
{
    char text[64];
    size_t n = HB_MIN(text_size(v), sizeof text - 1);
    memcpy(text, bytes_of(w, v), n);
    text[n] = 0;
    char *number = text + strspn(text, " \t\n\r\v\f");
    number[strspn(number, "+-.0123456789eE")] = 0;
    return strtod(number, NULL);
}

static int64_t saturated(double d)
{
    if (!(d > -9.2e18)) return d < 0 ? INT64_MIN : 0;
    return d < 9.2e18 ? (int64_t)d : INT64_MAX;
}

static int64_t whole_number_in(const hb_dbpage_walk *w, const hb_dbpage_value *v)
{
    const uint8_t *p = bytes_of(w, v), *end = p + text_size(v);
    while (p < end && strchr(" \t\n\r\v\f", *p) && *p)
        p++;
    bool minus = p < end && *p == '-';
    int64_t number = 0;
    if (p < end && (*p == '-' || *p == '+')) p++;
    for (; p < end && *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_sub_overflow(number, *p - '0', &number))
            return minus ? INT64_MIN : INT64_MAX;
    if (!minus && number == INT64_MIN) return INT64_MAX;
    return minus ? number : -number;
}

int64_t hb_dbpage_int(const hb_dbpage_walk *w, int column)
{
    const hb_dbpage_value *v = &w->values[column];
    if (HB_LIKELY(v->type - 1 < 6)) return whole_number(w, v);
    switch (v->type) {
    case 0:
    case 8: return 0;
    case 9: return 1;
    case 7: return saturated(real_number(w, v));
    case (uint64_t)ROW_ID: return w->row_id;
    default: return whole_number_in(w, v);
    }
}

double hb_dbpage_double(const hb_dbpage_walk *w, int column)
{
    const hb_dbpage_value *v = &w->values[column];
    if (v->type == 7) return real_number(w, v);
    if (v->type >= FIRST_BLOB && v->type != (uint64_t)ROW_ID) return number_in(w, v);
    return (double)hb_dbpage_int(w, column);
}

/* A row's copies never move: together they have room from the first one on. */
static hb_str copied(hb_dbpage_walk *w, int column, const void *text, size_t size)
{
    enum { NUMBER = 40 };
    if (!w->copies.size &&
        !hb_buf_reserve(&w->copies, w->row_size + (size_t)w->num_columns * NUMBER))
        return (hb_str){"", 0};
    w->texts[column] = (uint32_t)w->copies.size + 1;
    hb_buf_append(&w->copies, text, size);
    hb_buf_append(&w->copies, "", 1);
    return (hb_str){w->copies.data + w->texts[column] - 1, (uint32_t)size};
}

hb_str hb_dbpage_view(hb_dbpage_walk *w, int column)
{
    const hb_dbpage_value *v = &w->values[column];
    if (v->type >= FIRST_BLOB && v->type != (uint64_t)ROW_ID)
        return (hb_str){(const char *)bytes_of(w, v), (uint32_t)text_size(v)};
    return hb_dbpage_text(w, column);
}

/* "5.0" of "5", "1.0e+300" of "1e+300", as SQLite writes reals; there is room for it. */
static int put_point(char *number, int size)
{
    size_t at = strcspn(number, "e");
    memmove(number + at + 2, number + at, (size_t)size - at + 1);
    memcpy(number + at, ".0", 2);
    return size + 2;
}

hb_str hb_dbpage_text(hb_dbpage_walk *w, int column)
{
    char number[40];
    const hb_dbpage_value *v = &w->values[column];
    if (v->type == 0) return (hb_str){"", 0};
    if (w->texts[column]) {
        const char *text = w->copies.data + w->texts[column] - 1;
        bool given = v->type >= FIRST_BLOB && v->type != (uint64_t)ROW_ID;
        return (hb_str){text, (uint32_t)(given ? text_size(v) : strlen(text))};
    }
    if (v->type >= FIRST_BLOB && v->type != (uint64_t)ROW_ID)
        return copied(w, column, bytes_of(w, v), text_size(v));
    bool real = v->type == 7 || w->columns[column].is_real;
    int n = real ? snprintf(number, sizeof number, "%.15g", hb_dbpage_double(w, column))
                 : snprintf(number, sizeof number, "%lld", (long long)hb_dbpage_int(w, column));
    if (real && !strpbrk(number, ".n")) n = put_point(number, n);
    return copied(w, column, number, (size_t)n);
}

/* ---- a walk ---- */

static bool choose_columns(hb_dbpage_walk *w, const hb_dbpage_column *columns, int count)
{
    w->num_columns = count;
    memcpy(w->columns, columns, (size_t)count * sizeof *columns);
    for (int i = 0; i < count; i++)
        w->num_places = HB_MAX(w->num_places, columns[i].place + 1);
    w->column_at = malloc((size_t)w->num_places + 1);
    if (!w->column_at) return false;
    memset(w->column_at, NOBODY, (size_t)w->num_places + 1);
    w->id_column = -1;
    for (int i = 0; i < count; i++) {
        if (columns[i].place >= 0) w->column_at[columns[i].place] = (uint8_t)i;
        if (columns[i].is_row_id) w->id_column = i;
    }
    return true;
}

hb_dbpage_walk *hb_dbpage_walk_open(const hb_dbpage_file *file, uint32_t root,
                                    const hb_dbpage_column *columns, int num_columns)
{
    hb_dbpage_walk *w = calloc(1, sizeof *w);
    if (!w) return NULL;
    w->file = file;
    w->root = root;
    hb_buf_init(&w->long_row, SIZE_MAX / 2);
    hb_buf_init(&w->copies, SIZE_MAX / 2);
    w->leaves = malloc((size_t)PAGES_AT_ONCE * file->page_size + SLACK);
    if (w->leaves && choose_columns(w, columns, num_columns)) return w;
    hb_dbpage_walk_close(w);
    return NULL;
}

void hb_dbpage_walk_close(hb_dbpage_walk *w)
{
    if (!w) return;
    for (int i = 0; i < DEPTH; i++)
        free(w->levels[i].page);
    free(w->leaves);
    free(w->column_at);
    hb_buf_free(&w->long_row);
    hb_buf_free(&w->copies);
    free(w);
}
