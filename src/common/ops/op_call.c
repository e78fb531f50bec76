/* SPDX-License-Identifier: MIT */
#include "ops/op_call.h"

#include <math.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* No address lies below; what is passed for an address by mistake often does. */
#define LOWEST_ADDRESS 65536u

/* A dimension beyond it is none: the parameter was another. */
#define MOST_ELEMENTS ((int64_t)1 << 48)

bool hb_op_peek(const hb_op_entry *row, uint64_t address, void *to, size_t bytes)
{
    if (address < LOWEST_ADDRESS) return false;
    void *at = (void *)(uintptr_t)address;
    if (!row->careful) {
        memcpy(to, at, bytes);
        return true;
    }
    struct iovec here = {to, bytes}, there = {at, bytes};
    return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == (ssize_t)bytes;
}

int64_t hb_op_value(const hb_op_entry *row, const uint64_t *words, int param)
{
    const hb_op_param *p = &row->params[param];
    uint64_t word = words[p->place];
    int64_t value = 0;
    int32_t small = 0;
    switch (p->class) {
    case HB_OP_INT: return (int32_t)word;
    case HB_OP_NATIVE: return row->wide ? (int64_t)word : (int32_t)word;
    case HB_OP_AT: return hb_op_peek(row, word, &value, sizeof value) ? value : 0;
    case HB_OP_AT_INT: return hb_op_peek(row, word, &small, sizeof small) ? small : 0;
    case HB_OP_AT_NATIVE:
        if (row->wide) return hb_op_peek(row, word, &value, sizeof value) ? value : 0;
        return hb_op_peek(row, word, &small, sizeof small) ? small : 0;
    default: return (int64_t)word;
    }
}

/* ---- formulas ---- */

static double elements_of(const hb_op_tensor *t)
{
    double n = 1;
    for (int i = 0; i < t->num_dims; i++)
        n *= (double)t->dims[i];
    return t->known ? n : 0;
}

static double dim_of(const hb_op_tensor *t, int dim)
{
    return t->known && dim >= 0 && dim < t->num_dims ? (double)t->dims[dim] : 0;
}

static double combine(enum hb_op_token_kind kind, double a, double b)
{
    switch (kind) {
    case HB_OP_ADD: return a + b;
    case HB_OP_SUBTRACT: return a - b;
    case HB_OP_MULTIPLY: return a * b;
    case HB_OP_DIVIDE: return b != 0 ? a / b : 0;
    case HB_OP_LESSER: return a < b ? a : b;
    case HB_OP_GREATER: return a > b ? a : b;
    default: return b > 0 && a > b ? 5 * a * log2(a / b) : 0; /* HB_OP_FFT */
    }
}

typedef struct given {
    const hb_op_entry *row;
    const uint64_t *words;
    const hb_op_description *d;   /* or NULL */
    const hb_op_outside *outside; /* or NULL */
} given;

static double number_of_input(const hb_op_token *token, const hb_op_tensor *input)
{
    switch (token->kind) {
    case HB_OP_ELEMENTS: return elements_of(input);
    case HB_OP_DIM: return dim_of(input, token->dim);
    default: return dim_of(input, input->num_dims - 1);
    }
}

static double number_of(const hb_op_token *token, const given *g)
{
    switch (token->kind) {
    case HB_OP_NUMBER: return token->number;
    case HB_OP_PARAM: return (double)hb_op_value(g->row, g->words, token->which);
    case HB_OP_COST: return g->row->cost;
    case HB_OP_OUTSIDE:
        return g->outside && g->outside->work
                   ? g->outside->work(g->outside->context,
                                      (uint64_t)hb_op_value(g->row, g->words, token->which))
                   : 0;
    case HB_OP_RANKS:
        return g->outside && g->outside->ranks
                   ? g->outside->ranks(g->outside->context,
                                       (uint64_t)hb_op_value(g->row, g->words, token->which))
                   : 0;
    default: return g->d ? number_of_input(token, &g->d->tensors[token->which]) : 0;
    }
}

/* As BLAS tells it: an enum's value, or the address of a letter. */
static bool is_one_of(const given *g, int param, const char *letters, int64_t lowest,
                      int64_t highest)
{
    const hb_op_param *p = &g->row->params[param];
    char letter = 0;
    if (p->class == HB_OP_WORD && g->words[p->place] > LOWEST_ADDRESS)
        return hb_op_peek(g->row, g->words[p->place], &letter, 1) && letter &&
               strchr(letters, letter);
    int64_t value = hb_op_value(g->row, g->words, param);
    return value >= lowest && value <= highest;
}

static bool is_transposed(const given *g, int param)
{
    enum { TRANSPOSED = 112, CONJUGATED = 113 };
    return is_one_of(g, param, "TtCc", TRANSPOSED, CONJUGATED);
}

static bool is_on_the_right(const given *g, int param)
{
    enum { RIGHT = 142 };
    return is_one_of(g, param, "Rr", RIGHT, RIGHT);
}

/* The parser has seen to it that the stack holds it. */
static double evaluate(const hb_op_formula *formula, const given *g)
{
    double stack[HB_OP_MAX_DEPTH + 1];
    int n = 0;
    for (uint32_t i = 0; i < formula->count; i++) {
        const hb_op_token *token = &formula->tokens[i];
        if (token->kind < HB_OP_ADD) {
            stack[n++] = number_of(token, g);
        } else if (token->kind >= HB_OP_TURNED) {
            bool second = token->kind == HB_OP_RIGHT ? is_on_the_right(g, token->which)
                                                     : is_transposed(g, token->which);
            n--;
            if (second) stack[n - 1] = stack[n];
        } else {
            n--;
            stack[n - 1] = combine(token->kind, stack[n - 1], stack[n]);
        }
    }
    return n ? stack[0] : 0;
}

static double flops_of(const given *g)
{
    double flops = evaluate(&g->row->flops, g);
    return flops > 0 && isfinite(flops) ? floor(flops + 0.5) : 0;
}

double hb_op_work(const hb_op_entry *row, const uint64_t *words)
{
    given g = {row, words, NULL, NULL};
    return row->flops.count && !row->flops.uses_inputs ? flops_of(&g) : 0;
}

bool hb_op_is_small(const hb_op_entry *row, const uint64_t *words, double *flops)
{
    if (row->least_flops <= 0 || row->flops.count == 0 || row->flops.uses_inputs) return false;
    *flops = hb_op_work(row, words);
    return *flops < row->least_flops;
}

/* ---- inputs ---- */

static bool add_dim(hb_op_tensor *t, double size)
{
    if (!(size >= 0 && size <= (double)MOST_ELEMENTS) || t->num_dims == HB_OP_MAX_DIMS)
        return false;
    t->dims[t->num_dims++] = (int64_t)size;
    return true;
}

static bool add_array(const given *g, const hb_op_dim *dim, hb_op_tensor *t)
{
    int64_t count = hb_op_value(g->row, g->words, dim->length);
    uint64_t at = g->words[g->row->params[dim->array].place];
    bool wide = g->row->params[dim->array].class == HB_OP_WORDS;
    if (count < 0 || count > HB_OP_MAX_DIMS) return false;
    for (int64_t i = 0; i < count; i++) {
        int64_t value = 0;
        int32_t small = 0;
        bool there = wide ? hb_op_peek(g->row, at + (uint64_t)i * 8, &value, 8)
                          : hb_op_peek(g->row, at + (uint64_t)i * 4, &small, 4);
        if (!there || !add_dim(t, (double)(wide ? value : small))) return false;
    }
    return true;
}

static bool find_type(const given *g, const hb_op_input *in, hb_dtype *type)
{
    *type = in->type_of == HB_OP_TYPE_LETTER ? g->row->type : in->type;
    if (in->type_of != HB_OP_TYPE_MAPPED) return true;
    int64_t number = hb_op_value(g->row, g->words, in->param);
    for (uint32_t i = 0; i < in->map->types.count; i++)
        if (in->map->types.items[i].number == number) {
            *type = in->map->types.items[i].type;
            return true;
        }
    return false;
}

/* ---- strides ---- */

static int64_t param_of(const given *g, uint8_t number)
{
    return number ? hb_op_value(g->row, g->words, number - 1) : 0;
}

/* Columns lie one behind the other, unless it is said otherwise. */
static void set_strides(const given *g, const hb_op_layout *layout, hb_op_tensor *t)
{
    enum { ROWS_FIRST = 101 };
    int64_t leading = param_of(g, layout->leading);
    int n = t->num_dims;
    bool across = layout->transposed && is_transposed(g, layout->transposed - 1);
    bool by_rows = param_of(g, layout->order) == ROWS_FIRST;
    if (n == 0 || n > 3 || (n == 3 && !layout->batch)) return;
    if (n == 3) t->strides[0] = param_of(g, layout->batch);
    bool columns = across == by_rows; /* what is one column is so in memory */
    if (n > 1) t->strides[n - 2] = columns ? 1 : leading;
    t->strides[n - 1] = n == 1 || columns ? leading : 1;
    t->has_strides = true;
}

static void describe_input(const given *g, const hb_op_input *in, hb_op_tensor *t)
{
    t->known = t->has_strides = false;
    t->hidden = in->hidden;
    t->num_dims = 0;
    if (in->describer != HB_OP_BY_TABLE) {
        uint64_t handle = (uint64_t)hb_op_value(g->row, g->words, in->param);
        if (g->outside) g->outside->describe(g->outside->context, in->describer, handle, t);
        return;
    }
    if (!find_type(g, in, &t->type)) return;
    for (int i = 0; i < in->num_dims; i++) {
        const hb_op_dim *dim = &in->dims[i];
        if (dim->array >= 0 ? !add_array(g, dim, t) : !add_dim(t, evaluate(&dim->size, g))) return;
    }
    t->known = true;
    if (in->layout.leading) set_strides(g, &in->layout, t);
}

void hb_op_describe(const hb_op_entry *row, const uint64_t *words, const hb_op_outside *outside,
                    hb_op_description *d)
{
    given g = {row, words, d, outside};
    d->num_tensors = row->num_inputs;
    for (uint32_t i = 0; i < d->num_tensors; i++)
        describe_input(&g, &row->inputs[i], &d->tensors[i]);
    d->flops = row->flops.count ? flops_of(&g) : 0;
}
