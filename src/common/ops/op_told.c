/* SPDX-License-Identifier: MIT */
#include "ops/op_told.h"

#include <stdlib.h>
#include <string.h>

enum { NO_TYPE = 255, MOST_NAME = 200 };

static const char miopen_begin[] = "s_api = ";

/* As long as a function's name may be; without one it is empty. */
static hb_str name_at(const char *text)
{
    uint32_t n = 0;
    while (n < MOST_NAME &&
           ((text[n] >= 'a' && text[n] <= 'z') || (text[n] >= 'A' && text[n] <= 'Z') ||
            (text[n] >= '0' && text[n] <= '9') || text[n] == '_'))
        n++;
    return (hb_str){text, n};
}

static const hb_op_entry *row_of(const hb_op_table *table, hb_str function)
{
    char symbol[MOST_NAME + 1];
    if (!table) return NULL;
    memcpy(symbol, function.s, function.len);
    symbol[function.len] = '\0';
    return hb_op_table_find(table, symbol);
}

/* Numbers stand in the text, not addresses of numbers. */
static bool takes_values(const hb_op_entry *row)
{
    for (int i = 0; i < row->num_params; i++)
        if (row->params[i].class > HB_OP_FLOAT) return false;
    return row->uses == HB_OP_NO_PARAM;
}

/* ---- rocBLAS: what the call was given, but for the handle, between commas ---- */

static uint64_t type_number(hb_str text)
{
    static const struct {
        const char *name;
        uint64_t number;
    } types[] = {{"f16_r", 150},  {"f32_r", 151}, {"f64_r", 152}, {"f32_c", 154},
                 {"f64_c", 155},  {"i8_r", 160},  {"u8_r", 161},  {"i32_r", 162},
                 {"bf16_r", 168}, {"f8_r", 170},  {"bf8_r", 171}};
    for (size_t i = 0; i < HB_ARRAY_LEN(types); i++)
        if (hb_str_is(text, types[i].name)) return types[i].number;
    return 0;
}

/* Letters become the numbers that the call had, addresses and numbers that are not whole stay what
 * no formula asks for. */
static uint64_t word_of(hb_str text)
{
    enum { NOT_TRANSPOSED = 111, TRANSPOSED, CONJUGATED, RIGHT = 142 };
    if (hb_str_is(text, "N")) return NOT_TRANSPOSED;
    if (hb_str_is(text, "T")) return TRANSPOSED;
    if (hb_str_is(text, "C")) return CONJUGATED;
    if (hb_str_is(text, "R")) return RIGHT;
    if (text.len && ((text.s[0] >= '0' && text.s[0] <= '9') || text.s[0] == '-'))
        return (uint64_t)strtoll(text.s, NULL, 10);
    return type_number(text);
}

/* Complex numbers are written with a comma, between parentheses. */
static hb_str take_part(const char **at)
{
    const char *begin = *at, *end = begin;
    for (int open = 0; *end && (open > 0 || *end != ','); end++)
        open += *end == '(' ? 1 : *end == ')' ? -1 : 0;
    *at = *end ? end + 1 : end;
    return (hb_str){begin, (uint32_t)(end - begin)};
}

/* The result's address is left out by some. More or fewer: it is not the call that the row is of.
 */
static bool read_parts(const hb_op_entry *row, const char *at, hb_op_told *told)
{
    int n = 1;
    while (*at) {
        hb_str part = take_part(&at);
        if (hb_str_begins(part, "atomics_")) continue;
        if (n == row->num_params) return false;
        const hb_op_param *p = &row->params[n++];
        if (p->class != HB_OP_FLOAT) told->words[p->place] = word_of(part);
    }
    return n == row->num_params ||
           (n + 1 == row->num_params && strcmp(row->params[n].name, "result") == 0);
}

/* ---- MIOpen: "key = value | " ---- */

/* "xDesc" is the parameter xd. */
static const hb_op_param *descriptor_named(const hb_op_entry *row, hb_str key)
{
    static const char behind[] = "Desc";
    if (!hb_str_ends(key, behind)) return NULL;
    size_t n = key.len - (sizeof behind - 1);
    for (int i = 0; i < row->num_params; i++) {
        const hb_op_param *p = &row->params[i];
        if (strncmp(p->name, key.s, n) == 0 && strcmp(p->name + n, "d") == 0) return p;
    }
    return NULL;
}

/* In the place of a descriptor stands what is said of it. */
static bool read_members(const hb_op_entry *row, const char *at, hb_op_told *told)
{
    while ((at = strstr(at, "| "))) {
        hb_str key = name_at(at += 2);
        const char *value = key.s + key.len;
        const hb_op_param *p = key.len ? descriptor_named(row, key) : NULL;
        if (p && strncmp(value, " = {", 4) == 0) told->words[p->place] = (uintptr_t)(value + 3);
    }
    return true;
}

bool hb_op_told_read(const hb_op_table *table, const char *text, hb_op_told *told)
{
    memset(told, 0, sizeof *told);
    bool miopen = strncmp(text, miopen_begin, sizeof miopen_begin - 1) == 0;
    told->function = name_at(miopen ? text + sizeof miopen_begin - 1 : text);
    if (!hb_str_begins(told->function, miopen ? "miopen" : "rocblas_")) return false;
    const char *behind = told->function.s + told->function.len;
    if (miopen ? strncmp(behind, " |", 2) != 0 : *behind != ',') return false;
    const hb_op_entry *row = row_of(table, told->function);
    bool known = row && takes_values(row) &&
                 (miopen ? read_members(row, behind, told) : read_parts(row, behind + 1, told));
    told->row = known ? row : NULL;
    return true;
}

/* "{8, 16}": false where there is more, or something else. */
static bool take_numbers(const char **at, int64_t *numbers, uint8_t *count)
{
    *count = 0;
    if (*(*at)++ != '{') return false;
    while (**at != '}') {
        char *end;
        long long value = strtoll(*at, &end, 10);
        if (end == *at || value < 0 || *count == HB_OP_MAX_DIMS) return false;
        numbers[(*count)++] = value;
        *at = end + strspn(end, ", ");
    }
    (*at)++;
    return true;
}

static void describe_text(void *context, enum hb_op_describer who, uint64_t handle, hb_op_tensor *t)
{
    const char *at = (const char *)(uintptr_t)handle;
    uint8_t strides;
    (void)context;
    if (who != HB_OP_BY_MIOPEN || !at || !take_numbers(&at, t->dims, &t->num_dims)) return;
    t->type = (hb_dtype)NO_TYPE;
    t->known = t->num_dims > 0;
    at += strspn(at, ", ");
    t->has_strides = take_numbers(&at, t->strides, &strides) && strides == t->num_dims;
}

void hb_op_told_describe(const hb_op_told *told, hb_op_description *d)
{
    static const hb_op_outside outside = {.describe = describe_text};
    hb_op_describe(told->row, told->words, &outside, d);
}
