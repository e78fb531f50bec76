/* SPDX-License-Identifier: MIT */
#include "ops/op_options.h"

char *hb_op_copy(hb_op_table *table, hb_str text)
{
    char *copy = hb_arena_alloc(&table->arena, text.len + 1u);
    memcpy(copy, text.s, text.len);
    return copy;
}

/* ---- parameters ---- */

/* "S16": so many words. */
static bool take_struct(hb_op_line *l, hb_str name, hb_op_param *param)
{
    unsigned words = 0;
    for (uint32_t i = 1; i < name.len && words <= HB_OP_STACK_WORDS; i++)
        words = words * 10 + (unsigned)(name.s[i] - '0');
    if (words < 3 || words > HB_OP_STACK_WORDS)
        return hb_op_wrong(l, name.s, "a structure in memory has 3 to %d words, as S16",
                           HB_OP_STACK_WORDS);
    param->class = HB_OP_STRUCT;
    param->words = (uint8_t)words;
    return true;
}

static bool is_struct(hb_str name)
{
    for (uint32_t i = 1; i < name.len; i++)
        if (name.s[i] < '0' || name.s[i] > '9') return false;
    return name.len > 1 && *name.s == 'S';
}

static bool take_class(hb_op_line *l, hb_op_param *param)
{
    static const char letters[] = "winfpINJK";
    static const enum hb_op_class classes[] = {
        HB_OP_WORD,   HB_OP_INT,       HB_OP_NATIVE, HB_OP_FLOAT, HB_OP_AT,
        HB_OP_AT_INT, HB_OP_AT_NATIVE, HB_OP_INTS,   HB_OP_WORDS,
    };
    const char *where = l->at;
    hb_str name = hb_op_take_name(l);
    if (is_struct(name)) return take_struct(l, name, param);
    const char *letter = name.len == 1 ? strchr(letters, *name.s) : NULL;
    if (!letter)
        return hb_op_wrong(l, where,
                           "wanted: w (or nothing), i, n or f, or p, I or N of an address, or J or "
                           "K of an array, or S16 of a structure of 16 words");
    param->class = classes[letter - letters];
    return true;
}

/* A structure in memory lies on the stack, or its address is passed. */
#if defined(__aarch64__)
#define STRUCTS_BY_ADDRESS true
#else
#define STRUCTS_BY_ADDRESS false
#endif

/* Those that find no register follow each other on the stack. */
static bool place_params(hb_op_line *l)
{
    enum { FLOAT_REGISTERS = 8 };
    unsigned words = 0, floats = 0, on_stack = HB_OP_REGISTERS;
    for (int i = 0; i < l->row.num_params; i++) {
        hb_op_param *p = &l->params[i];
        bool lies = p->class == HB_OP_STRUCT && !STRUCTS_BY_ADDRESS;
        if (p->class == HB_OP_FLOAT) {
            on_stack += floats++ >= FLOAT_REGISTERS;
            continue;
        }
        p->place = (uint8_t)(!lies && words < HB_OP_REGISTERS ? words++ : on_stack);
        if (p->place == on_stack) on_stack += lies ? p->words : 1;
        if (on_stack > HB_OP_REGISTERS + HB_OP_STACK_WORDS)
            return hb_op_wrong(l, l->at, "more than %d words of the stack", HB_OP_STACK_WORDS);
    }
    return true;
}

bool hb_op_take_params(hb_op_line *l)
{
    for (;;) {
        hb_op_skip_blanks(l);
        if (l->at == l->end || *l->at == '|') break;
        const char *where = l->at;
        hb_op_param param = {.class = HB_OP_WORD};
        hb_str name = hb_op_take_name(l);
        if (name.len == 0) return hb_op_wrong(l, where, "wanted: a parameter's name");
        if (hb_op_param_named(l, name) >= 0)
            return hb_op_wrong(l, where, "two parameters of one name");
        if (hb_str_is(name, "T") || hb_str_is(name, "ret"))
            return hb_op_wrong(l, where, "%.*s means something else", (int)name.len, name.s);
        if (hb_op_take(l, ':') && !take_class(l, &param)) return false;
        if (l->at < l->end && *l->at != ' ' && *l->at != '\t' && *l->at != '|')
            return hb_op_wrong(l, l->at, "wanted: a blank, : or |");
        if (l->row.num_params == HB_OP_MAX_PARAMS)
            return hb_op_wrong(l, where, "more than %d parameters", HB_OP_MAX_PARAMS);
        param.name = hb_op_copy(l->table, name);
        l->params[l->row.num_params++] = param;
    }
    return place_params(l);
}

/* ---- options ---- */

static bool take_param(hb_op_line *l, hb_str value, bool or_result, int8_t *to)
{
    int param = hb_op_param_named(l, value);
    if (or_result && hb_str_is(value, "ret")) {
        *to = HB_OP_RESULT;
        return true;
    }
    if (param < 0 || l->params[param].class == HB_OP_FLOAT)
        return hb_op_wrong(l, value.s, "wanted: a parameter that is an address or a number%s",
                           or_result ? ", or ret" : "");
    *to = (int8_t)param;
    return true;
}

static bool take_kind(hb_op_line *l, hb_str value)
{
    static const char *const kinds[] = {
        "operator",   "scope", "step",    "module", "loader",    "optimizer", "silent",   "memory",
        "collective", "send",  "receive", "group",  "group_end", "launch",    "transfer", "wait"};
    for (size_t i = 0; i < HB_ARRAY_LEN(kinds); i++)
        if (hb_str_is(value, kinds[i])) {
            l->row.kind = (enum hb_op_kind)i;
            return true;
        }
    return hb_op_wrong(
        l, value.s,
        "wanted: operator, scope, step, module, loader, optimizer, silent, "
        "memory, collective, send, receive, group, group_end, launch, transfer or wait");
}

static double unit_of(hb_str unit)
{
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    for (size_t i = 0; i < HB_ARRAY_LEN(units); i++)
        if (hb_str_is(unit, units[i].name)) return units[i].ns;
    return 0;
}

/* Work, or a time. */
static bool take_least(hb_op_line *l, hb_str value)
{
    double least = 0;
    uint32_t digits = 0;
    for (; digits < value.len && value.s[digits] >= '0' && value.s[digits] <= '9'; digits++)
        least = least * 10 + (value.s[digits] - '0');
    hb_str unit = {value.s + digits, value.len - digits};
    double ns = least * unit_of(unit);
    if (digits == 0 || (unit.len && unit_of(unit) == 0) || ns > 1e18)
        return hb_op_wrong(l, unit.s,
                           "wanted: FLOPs, or bytes of loaders, a whole number; or a time, as "
                           "100us");
    if (unit.len)
        l->row.least_ns = (uint64_t)ns;
    else
        l->row.least_flops = least;
    return true;
}

/* "cpu", a GPU's number, or the parameter that is one. */
static bool take_device(hb_op_line *l, hb_str value)
{
    int number = 0;
    if (hb_str_is(value, "cpu")) return true;
    if (*value.s < '0' || *value.s > '9') return take_param(l, value, false, &l->row.device);
    for (uint32_t i = 0; i < value.len; i++) {
        if (value.s[i] < '0' || value.s[i] > '9' || number > 999)
            return hb_op_wrong(l, value.s, "wanted: cpu, a GPU's number, or a parameter");
        number = number * 10 + (value.s[i] - '0');
    }
    l->row.device_number = (int16_t)number;
    return true;
}

static bool take_text(hb_op_line *l, hb_str value, const char **to)
{
    *to = hb_op_copy(l->table, value);
    return true;
}

static bool take_option(hb_op_line *l, hb_str name, hb_str value)
{
    hb_op_entry *row = &l->row;
    if (hb_str_is(name, "alone") && value.len == 0) {
        row->alone = true;
        return true;
    }
    if (value.len == 0) return hb_op_wrong(l, value.s, "wanted: %.*s=VALUE", (int)name.len, name.s);
    if (hb_str_is(name, "name")) return take_text(l, value, &row->name);
    if (hb_str_is(name, "alias")) return take_text(l, value, &row->alias);
    if (hb_str_is(name, "lib")) return take_text(l, value, &row->library);
    if (hb_str_is(name, "kind")) return take_kind(l, value);
    if (hb_str_is(name, "min")) return take_least(l, value);
    if (hb_str_is(name, "file")) return take_param(l, value, false, &row->file);
    if (hb_str_is(name, "device")) return take_device(l, value);
    if (hb_str_is(name, "make")) return take_param(l, value, true, &row->makes);
    if (hb_str_is(name, "made")) return take_param(l, value, false, &row->made);
    if (hb_str_is(name, "use")) return take_param(l, value, false, &row->uses);
    if (hb_str_is(name, "forget")) return take_param(l, value, false, &row->forgets);
    if (hb_str_is(name, "comm")) return take_param(l, value, false, &row->comm);
    if (hb_str_is(name, "peer")) return take_param(l, value, false, &row->peer);
    if (hb_str_is(name, "join")) return take_param(l, value, false, &row->joins);
    if (hb_str_is(name, "key")) return take_param(l, value, false, &row->key);
    if (hb_str_is(name, "many")) return take_param(l, value, false, &row->many);
    if (hb_str_is(name, "error")) return take_param(l, value, false, &row->error);
    return hb_op_wrong(
        l, name.s,
        "no option; there are name, alias, lib, kind, min, file, device, make, made, use, "
        "forget, alone, comm, peer, join, key, many and error");
}

bool hb_op_take_options(hb_op_line *l)
{
    for (;;) {
        hb_op_skip_blanks(l);
        if (l->at == l->end || *l->at == '|') return true;
        const char *where = l->at;
        hb_str name = hb_op_take_name(l);
        if (name.len == 0) return hb_op_wrong(l, where, "wanted: an option");
        bool has_value = hb_op_take(l, '=');
        const char *from = l->at;
        while (has_value && l->at < l->end && *l->at != ' ' && *l->at != '\t' && *l->at != '|')
            l->at++;
        if (!take_option(l, name, (hb_str){from, (uint32_t)(l->at - from)})) return false;
    }
}

/* Of an allocation the address is what it returns, unless it says otherwise. */
static bool check_memory(hb_op_line *l)
{
    hb_op_entry *row = &l->row;
    if (row->makes == HB_OP_NO_PARAM && row->forgets == HB_OP_NO_PARAM) row->makes = HB_OP_RESULT;
    if (row->makes != HB_OP_NO_PARAM && (row->flops.count == 0 || row->flops.uses_inputs))
        return hb_op_wrong(l, l->at,
                           "kind=memory that allocates wants its bytes where others have FLOPs, as "
                           "| | n |; what frees has forget=");
    return true;
}

bool hb_op_check_options(hb_op_line *l)
{
    const hb_op_entry *row = &l->row;
    bool timed =
        row->kind == HB_OP_LOADER || row->kind == HB_OP_OPTIMIZER || row->kind == HB_OP_SCOPE;
    if (row->least_ns && !timed)
        return hb_op_wrong(l, l->at, "a time for min= is for kind=loader, optimizer and scope");
    if (row->file != HB_OP_NO_PARAM && !row->least_ns)
        return hb_op_wrong(l, l->at, "file= is for kind=loader with a time for min=");
    return row->kind != HB_OP_MEMORY || check_memory(l);
}
