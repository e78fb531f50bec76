/* SPDX-License-Identifier: MIT
 *
 * Formulas: + - * / and parentheses over numbers, parameters and what inputs are like; min(a,b),
 * max(a,b), fft(n, transforms), turned(parameter, a, b) and right(parameter, a, b).
 */
#include <stdlib.h>

#include "ops/op_line.h"

typedef struct compiler {
    hb_op_line *line;
    hb_op_token tokens[HB_OP_MAX_TOKENS];
    uint32_t count;
    int depth, nested; /* numbers kept in mind; parentheses that are open */
    bool uses_inputs;
} compiler;

static bool add(compiler *c, hb_op_token token)
{
    c->depth += token.kind < HB_OP_ADD ? 1 : -1;
    if (c->count == HB_OP_MAX_TOKENS || c->depth > HB_OP_MAX_DEPTH)
        return hb_op_wrong(c->line, c->line->at, "the formula is too long");
    c->tokens[c->count++] = token;
    return true;
}

static bool take_sum(compiler *c);

/* Behind '#': which input, and what of it. */
static bool take_input(compiler *c)
{
    hb_op_line *l = c->line;
    const char *where = l->at;
    hb_op_token token = {.kind = HB_OP_ELEMENTS};
    if (l->at == l->end || *l->at < '0' || *l->at >= '0' + l->row.num_inputs)
        return hb_op_wrong(l, where, "no input of that number: they are counted from 0");
    token.which = (uint8_t)(*l->at++ - '0');
    c->uses_inputs = true;
    if (!hb_op_take(l, '.')) return add(c, token);
    if (hb_op_take(l, 'l')) {
        token.kind = HB_OP_LAST_DIM;
        return add(c, token);
    }
    if (l->at == l->end || *l->at < '0' || *l->at > '7')
        return hb_op_wrong(l, l->at, "wanted: a dimension's number from 0, or l for the last");
    token.kind = HB_OP_DIM;
    token.dim = (uint8_t)(*l->at++ - '0');
    return add(c, token);
}

/* The two numbers that a token behind them makes one of. */
static bool take_two(compiler *c, hb_op_token token)
{
    hb_op_line *l = c->line;
    if (!take_sum(c)) return false;
    if (!hb_op_take(l, ',')) return hb_op_wrong(l, l->at, "wanted: a comma and a second number");
    if (!take_sum(c)) return false;
    if (!hb_op_take(l, ')')) return hb_op_wrong(l, l->at, "wanted: )");
    return add(c, token);
}

/* "turned(transposed, rows, columns)", "right(side, rows, columns)". */
static bool take_choice(compiler *c, enum hb_op_token_kind kind)
{
    hb_op_line *l = c->line;
    const char *where = l->at;
    int param = hb_op_param_named(l, hb_op_take_name(l));
    if (param < 0 || l->params[param].class == HB_OP_FLOAT || l->params[param].class >= HB_OP_INTS)
        return hb_op_wrong(l, where, "wanted: a parameter that says %s",
                           kind == HB_OP_RIGHT ? "on which side it stands"
                                               : "whether it is transposed");
    if (!hb_op_take(l, ',')) return hb_op_wrong(l, l->at, "wanted: a comma and two numbers");
    return take_two(c, (hb_op_token){.kind = kind, .which = (uint8_t)param});
}

/* "dnnl(primitive)": a library that tells how much work it is; "ranks(communicator)". */
static bool take_outside(compiler *c, enum hb_op_token_kind kind)
{
    hb_op_line *l = c->line;
    const char *where = l->at;
    int param = hb_op_param_named(l, hb_op_take_name(l));
    if (param < 0 || l->params[param].class != HB_OP_WORD)
        return hb_op_wrong(l, where, "wanted: a parameter that is a handle");
    if (!hb_op_take(l, ')')) return hb_op_wrong(l, l->at, "wanted: )");
    c->uses_inputs = c->uses_inputs || kind == HB_OP_OUTSIDE;
    return add(c, (hb_op_token){.kind = kind, .which = (uint8_t)param});
}

static bool take_named(compiler *c)
{
    static const struct {
        const char *name;
        enum hb_op_token_kind kind;
    } functions[] = {{"fft", HB_OP_FFT}, {"min", HB_OP_LESSER}, {"max", HB_OP_GREATER}};
    hb_op_line *l = c->line;
    const char *where = l->at;
    hb_str name = hb_op_take_name(l);
    if (name.len == 0) return hb_op_wrong(l, where, "wanted: a number, a parameter or (");
    int param = hb_op_param_named(l, name);
    for (size_t i = 0; param < 0 && i < HB_ARRAY_LEN(functions); i++)
        if (hb_str_is(name, functions[i].name) && hb_op_take(l, '('))
            return take_two(c, (hb_op_token){.kind = functions[i].kind});
    if (param < 0 && hb_str_is(name, "turned") && hb_op_take(l, '('))
        return take_choice(c, HB_OP_TURNED);
    if (param < 0 && hb_str_is(name, "right") && hb_op_take(l, '('))
        return take_choice(c, HB_OP_RIGHT);
    if (param < 0 && hb_str_is(name, "dnnl") && hb_op_take(l, '('))
        return take_outside(c, HB_OP_OUTSIDE);
    if (param < 0 && hb_str_is(name, "ranks") && hb_op_take(l, '('))
        return take_outside(c, HB_OP_RANKS);
    if (param < 0 && hb_str_is(name, "c")) return add(c, (hb_op_token){.kind = HB_OP_COST});
    if (param < 0)
        return hb_op_wrong(l, where, "there is no parameter %.*s", (int)HB_MIN(name.len, 60),
                           name.s);
    if (l->params[param].class == HB_OP_FLOAT || l->params[param].class >= HB_OP_INTS)
        return hb_op_wrong(l, where, "%s is no whole number", l->params[param].name);
    return add(c, (hb_op_token){.kind = HB_OP_PARAM, .which = (uint8_t)param});
}

/* Digits and a point; not by strtod(), which knows words and languages. */
static bool take_number(compiler *c)
{
    hb_op_line *l = c->line;
    double value = 0, unit = 1;
    bool behind_point = false;
    for (; l->at < l->end; l->at++) {
        if (*l->at == '.' && !behind_point) {
            behind_point = true;
            continue;
        }
        if (*l->at < '0' || *l->at > '9') break;
        if (behind_point) unit /= 10;
        value = behind_point ? value + unit * (*l->at - '0') : value * 10 + (*l->at - '0');
    }
    return add(c, (hb_op_token){.kind = HB_OP_NUMBER, .number = value});
}

static bool take_factor_of(compiler *c)
{
    hb_op_line *l = c->line;
    hb_op_skip_blanks(l);
    if (hb_op_take(l, '#')) return take_input(c);
    if (l->at < l->end && *l->at >= '0' && *l->at <= '9') return take_number(c);
    if (!hb_op_take(l, '(')) return take_named(c);
    if (!take_sum(c)) return false;
    return hb_op_take(l, ')') || hb_op_wrong(l, l->at, "wanted: )");
}

static bool take_factor(compiler *c)
{
    if (++c->nested > HB_OP_MAX_DEPTH)
        return hb_op_wrong(c->line, c->line->at, "too many parentheses");
    bool taken = take_factor_of(c);
    c->nested--;
    hb_op_skip_blanks(c->line);
    return taken;
}

static bool take_product(compiler *c)
{
    if (!take_factor(c)) return false;
    for (;;) {
        enum hb_op_token_kind kind = hb_op_take(c->line, '*')   ? HB_OP_MULTIPLY
                                     : hb_op_take(c->line, '/') ? HB_OP_DIVIDE
                                                                : HB_OP_NUMBER;
        if (kind == HB_OP_NUMBER) return true;
        if (!take_factor(c) || !add(c, (hb_op_token){.kind = kind})) return false;
    }
}

static bool take_sum(compiler *c)
{
    if (!take_product(c)) return false;
    for (;;) {
        enum hb_op_token_kind kind = hb_op_take(c->line, '+')   ? HB_OP_ADD
                                     : hb_op_take(c->line, '-') ? HB_OP_SUBTRACT
                                                                : HB_OP_NUMBER;
        if (kind == HB_OP_NUMBER) return true;
        if (!take_product(c) || !add(c, (hb_op_token){.kind = kind})) return false;
    }
}

bool hb_op_take_formula(hb_op_line *l, hb_op_formula *formula)
{
    compiler c = {.line = l};
    if (!take_sum(&c)) return false;
    formula->tokens = HB_NEW_ARRAY(&l->table->arena, hb_op_token, c.count);
    memcpy(formula->tokens, c.tokens, c.count * sizeof *c.tokens);
    formula->count = c.count;
    formula->uses_inputs = c.uses_inputs;
    return true;
}
