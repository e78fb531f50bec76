/* SPDX-License-Identifier: MIT */
#include "ops/op_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/string_table.h"
#include "ops/op_options.h"

enum {
    MAX_SYMBOL = 500,
    MAX_OPTIONAL = 4, /* parts of a symbol that may be missing */
    MAX_FILE = 1 << 24,
};

/* ---- by symbol ---- */

static inline bool has_symbol(const void *table, uint32_t row, const void *symbol)
{
    return strcmp(((const hb_op_table *)table)->rows.items[row - 1]->symbol, symbol) == 0;
}

static uint32_t *slot_of(const hb_op_table *table, const char *symbol)
{
    uint32_t hash = hb_hash_bytes(symbol, strlen(symbol));
    return hb_slots_find(&table->symbols, hash, has_symbol, table, symbol);
}

const hb_op_entry *hb_op_table_find(const hb_op_table *table, const char *symbol)
{
    uint32_t row = table->symbols.size ? *slot_of(table, symbol) : 0;
    return row ? table->rows.items[row - 1] : NULL;
}

bool hb_op_communicates(const hb_op_entry *row)
{
    return row->kind >= HB_OP_COLLECTIVE || row->comm != HB_OP_NO_PARAM ||
           row->joins != HB_OP_NO_PARAM;
}

static void index_row(hb_op_table *table, uint32_t number)
{
    hb_op_entry *row = table->rows.items[number - 1];
    uint32_t *slot = slot_of(table, row->symbol);
    row->next = *slot ? table->rows.items[*slot - 1] : NULL;
    table->symbols.used += *slot == 0;
    *slot = number;
}

static void add_row(hb_op_table *table, const hb_op_entry *row)
{
    hb_op_entry *copy = hb_arena_alloc(&table->arena, sizeof *copy);
    *copy = *row;
    *HB_PUSH(&table->arena, &table->rows) = copy;
    uint32_t number = table->rows.count;
    if (!hb_slots_have_room(&table->symbols)) {
        (void)hb_slots_double(&table->arena, &table->symbols, 64);
        number = 1; /* all of them */
    }
    for (; number <= table->rows.count; number++)
        index_row(table, number);
}

/* ---- symbols ---- */

/* "rocblas_{sdcz}gemm[_64]": which letter, and which of the optional parts, as bits. */
typedef struct variant {
    char letter;
    unsigned parts;
    char symbol[MAX_SYMBOL + 1], name[MAX_SYMBOL + 1]; /* the name is without optional parts */
} variant;

static void spell(hb_str pattern, variant *v)
{
    size_t in_symbol = 0, in_name = 0;
    bool optional = false;
    unsigned part = 0;
    for (uint32_t i = 0; i < pattern.len; i++) {
        char c = pattern.s[i];
        if (c == '[' || c == ']') {
            optional = c == '[';
            part += c == ']';
            continue;
        }
        if (c == '{') {
            c = v->letter;
            i += (uint32_t)strcspn(pattern.s + i, "}");
        }
        if (!optional) v->name[in_name++] = c;
        if (!optional || (v->parts & (1u << part))) v->symbol[in_symbol++] = c;
    }
    v->symbol[in_symbol] = v->name[in_name] = '\0';
}

static void set_letter(hb_op_entry *row, char letter)
{
    static const struct {
        char letter;
        hb_dtype type;
        uint8_t cost;
    } letters[] = {
        {'s', HB_FLOAT32, 1},   {'d', HB_FLOAT64, 1},    {'h', HB_FLOAT16, 1},
        {'c', HB_COMPLEX64, 4}, {'z', HB_COMPLEX128, 4}, {'b', HB_BFLOAT16, 1},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(letters); i++)
        if (letters[i].letter == (letter | 0x20)) {
            row->type = letters[i].type;
            row->cost = letters[i].cost;
        }
}

static bool ends_in_64(const char *symbol)
{
    hb_str s = {symbol, (uint32_t)strlen(symbol)};
    return hb_str_ends(s, "64") || hb_str_ends(s, "64_");
}

static void add_variant(hb_op_line *l, hb_str pattern, variant *v)
{
    hb_op_entry row = l->row;
    spell(pattern, v);
    hb_str symbol = {v->symbol, (uint32_t)strlen(v->symbol)};
    hb_str name = {v->name, (uint32_t)strlen(v->name)};
    row.symbol = hb_op_copy(l->table, symbol);
    if (!row.name) row.name = hb_op_copy(l->table, name);
    row.wide = ends_in_64(v->symbol);
    row.type = HB_FLOAT32;
    row.cost = 1;
    if (v->letter) set_letter(&row, v->letter);
    add_row(l->table, &row);
}

static unsigned count_of(hb_str text, char c)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < text.len; i++)
        n += text.s[i] == c;
    return n;
}

static void add_variants(hb_op_line *l, hb_str pattern, hb_str letters)
{
    unsigned parts = 1u << count_of(pattern, '[');
    for (uint32_t i = 0; i < HB_MAX(letters.len, 1u); i++)
        for (unsigned p = 0; p < parts; p++) {
            variant v = {.letter = letters.len ? letters.s[i] : '\0', .parts = p};
            add_variant(l, pattern, &v);
        }
}

static bool is_one_of(char c, const char *chars)
{
    return c && strchr(chars, c);
}

static bool is_in_symbols(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           is_one_of(c, "_.$@");
}

static bool check_letters(hb_op_line *l, hb_str letters)
{
    if (letters.len == 0) return hb_op_wrong(l, letters.s, "wanted: letters of s, d, h, c, z, b");
    for (uint32_t i = 0; i < letters.len; i++)
        if (!is_one_of(letters.s[i], "sdhczbSDHCZB"))
            return hb_op_wrong(l, letters.s + i, "wanted: letters of s, d, h, c, z, b");
    return true;
}

/* Brackets that are closed, not within each other, and one choice of letters. */
static bool take_symbol(hb_op_line *l, hb_str *pattern, hb_str *letters)
{
    const char *from = l->at;
    char open = '\0';
    bool always = false; /* there is something that is in all its names */
    *letters = (hb_str){0};
    for (; l->at < l->end && *l->at != ' ' && *l->at != '\t' && *l->at != '|'; l->at++) {
        char c = *l->at;
        if (c == '{' && letters->s) return hb_op_wrong(l, l->at, "only one choice of letters");
        if ((c == '{' || c == '[') && open) return hb_op_wrong(l, l->at, "wanted: a bracket's end");
        if (c == '{') letters->s = l->at + 1;
        if ((c == '}' && open != '{') || (c == ']' && open != '['))
            return hb_op_wrong(l, l->at, "this bracket was not opened");
        if (c == '}') letters->len = (uint32_t)(l->at - letters->s);
        if (is_one_of(c, "{}[]"))
            open = c == '{' || c == '[' ? c : '\0';
        else if (!is_in_symbols(c))
            return hb_op_wrong(l, l->at, "no part of a function's name");
        always = always || (open != '[' && c != ']');
    }
    *pattern = (hb_str){from, (uint32_t)(l->at - from)};
    if (open) return hb_op_wrong(l, l->at, "a bracket is not closed");
    if (letters->s && !check_letters(l, *letters)) return false;
    if (!always) return hb_op_wrong(l, from, "wanted: a function's name");
    if (pattern->len > MAX_SYMBOL || count_of(*pattern, '[') > MAX_OPTIONAL)
        return hb_op_wrong(l, from, "the name is too long, or has too many optional parts");
    return true;
}

/* ---- lines ---- */

/* "map NAME number=type ..." */
static bool take_map(hb_op_line *l)
{
    hb_op_type_map *map = hb_arena_alloc(&l->table->arena, sizeof *map);
    hb_op_skip_blanks(l);
    hb_str name = hb_op_take_name(l);
    if (name.len == 0) return hb_op_wrong(l, l->at, "wanted: the map's name");
    map->name = hb_op_copy(l->table, name);
    for (hb_op_skip_blanks(l); l->at < l->end; hb_op_skip_blanks(l)) {
        struct hb_op_type entry = {0};
        const char *where = l->at;
        while (l->at < l->end && *l->at >= '0' && *l->at <= '9' && entry.number < 100000000)
            entry.number = entry.number * 10 + (*l->at++ - '0');
        if (l->at == where || !hb_op_take(l, '='))
            return hb_op_wrong(l, where, "wanted: NUMBER=TYPE");
        where = l->at;
        if (!hb_op_type_named(hb_op_take_name(l), &entry.type))
            return hb_op_wrong(l, where,
                               "no type; there are f32, f64, f16, bf16, c64, c128, i8, "
                               "u8, i16, i32, i64, bool, f8, bf8, f8fnuz, bf8fnuz");
        *HB_PUSH(&l->table->arena, &map->types) = entry;
    }
    *HB_PUSH(&l->table->arena, &l->table->maps) = map;
    return true;
}

static bool take_bar(hb_op_line *l)
{
    hb_op_skip_blanks(l);
    if (hb_op_take(l, '|')) return true;
    return l->at == l->end || hb_op_wrong(l, l->at, "wanted: |");
}

static bool take_flops(hb_op_line *l)
{
    hb_op_skip_blanks(l);
    if (l->at == l->end || *l->at == '|') return true;
    return hb_op_take_formula(l, &l->row.flops);
}

static bool take_function(hb_op_line *l)
{
    hb_str pattern = {0}, letters = {0};
    if (!take_symbol(l, &pattern, &letters) || !take_bar(l) || !hb_op_take_params(l) ||
        !take_bar(l) || !hb_op_take_inputs(l) || !take_bar(l) || !take_flops(l) || !take_bar(l) ||
        !hb_op_take_options(l))
        return false;
    if (l->at < l->end) return hb_op_wrong(l, l->at, "nothing belongs behind the options");
    if (!hb_op_check_options(l)) return false;
    hb_arena *arena = &l->table->arena;
    hb_op_param *params = HB_NEW_ARRAY(arena, hb_op_param, l->row.num_params);
    hb_op_input *inputs = HB_NEW_ARRAY(arena, hb_op_input, l->row.num_inputs);
    memcpy(params, l->params, l->row.num_params * sizeof *params);
    memcpy(inputs, l->inputs, l->row.num_inputs * sizeof *inputs);
    l->row.params = params;
    l->row.inputs = inputs;
    add_variants(l, pattern, letters);
    return true;
}

static bool take_line(hb_op_line *l)
{
    hb_op_skip_blanks(l);
    if (l->at == l->end) return true;
    if (l->end - l->at > 4 && memcmp(l->at, "map", 3) == 0 &&
        (l->at[3] == ' ' || l->at[3] == '\t')) {
        l->at += 4;
        return take_map(l);
    }
    return take_function(l);
}

typedef struct reading {
    const char *file;
    bool careful;
    hb_op_error_fn error;
    void *context;
} reading;

static void read_line(hb_op_table *table, const reading *r, uint32_t number, hb_str text)
{
    const char *comment = memchr(text.s, '#', text.len);
    /* '#' within a line is an input's number: a comment begins a line or follows a blank and is
     * followed by one. */
    while (comment && comment > text.s &&
           !((comment[-1] == ' ' || comment[-1] == '\t') &&
             (comment + 1 == text.s + text.len || comment[1] == ' ')))
        comment = memchr(comment + 1, '#', (size_t)(text.s + text.len - comment) - 1);
    hb_op_line l = {.table = table, .begin = text.s, .at = text.s, .end = text.s + text.len};
    if (comment) l.end = comment;
    if (l.end > l.begin && l.end[-1] == '\r') l.end--;
    l.row = (hb_op_entry){.table = r->file,
                          .line = number,
                          .careful = r->careful,
                          .makes = HB_OP_NO_PARAM,
                          .made = HB_OP_NO_PARAM,
                          .uses = HB_OP_NO_PARAM,
                          .forgets = HB_OP_NO_PARAM,
                          .file = HB_OP_NO_PARAM,
                          .device = HB_OP_NO_PARAM,
                          .device_number = -1,
                          .comm = HB_OP_NO_PARAM,
                          .peer = HB_OP_NO_PARAM,
                          .joins = HB_OP_NO_PARAM,
                          .key = HB_OP_NO_PARAM,
                          .many = HB_OP_NO_PARAM,
                          .error = HB_OP_NO_PARAM};
    /* Texts of a row end with a NUL. */
    const char *nul = memchr(text.s, '\0', text.len);
    if (!(nul ? hb_op_wrong(&l, nul, "a NUL byte") : take_line(&l)) && r->error)
        r->error(r->context, r->file, number, (uint32_t)(l.wrong - l.begin) + 1, l.why);
}

/* Apart from what an arena without memory comes back to. */
static void read_lines(hb_op_table *table, reading *r, const char *text, size_t size)
{
    uint32_t number = 0;
    r->file = hb_op_copy(table, (hb_str){r->file, (uint32_t)strlen(r->file)});
    for (const char *at = text, *end = text + size; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline ? newline : end) - at);
        read_line(table, r, ++number, (hb_str){at, (uint32_t)length});
        at += length + 1;
    }
}

hb_result hb_op_table_read(hb_op_table *table, const char *file, const char *text, size_t size,
                           bool careful, hb_op_error_fn error, void *context)
{
    reading r = {file, careful, error, context};
    if (!hb_arena_try(&table->arena)) return hb_arena_outcome(&table->arena);
    read_lines(table, &r, text, size);
    return HB_OK;
}

hb_result hb_op_table_load(const char *path, hb_buf *text)
{
    struct stat st;
    int fd;
    HB_TRY(hb_open_to_read(path, &fd, &st));
    hb_buf_init(text, MAX_FILE);
    ssize_t got = S_ISDIR(st.st_mode) ? -1 : 1;
    while (got > 0) {
        char *room = hb_buf_reserve(text, 65536);
        got = room ? read(fd, room, 65536) : 0;
        if (got > 0) text->size += (size_t)got;
    }
    close(fd);
    if (got == 0 && !text->failed) return HB_OK;
    hb_buf_free(text);
    return got < 0 ? hb_fail(HB_ERROR_IO, "'%s' can't be read as a table", path)
                   : hb_fail(HB_ERROR_LIMIT, "'%s' is too big for a table", path);
}

hb_result hb_op_table_read_file(hb_op_table *table, const char *path, bool careful,
                                hb_op_error_fn error, void *context)
{
    hb_buf text;
    HB_TRY(hb_op_table_load(path, &text));
    hb_result result =
        hb_op_table_read(table, path, hb_buf_text(&text), text.size, careful, error, context);
    hb_buf_free(&text);
    return result;
}

void hb_op_table_free(hb_op_table *table)
{
    hb_arena_free(&table->arena);
    *table = (hb_op_table){0};
}
