/* SPDX-License-Identifier: MIT */
#include "ops/op_line.h"

bool hb_op_type_named(hb_str name, hb_dtype *type)
{
    static const struct {
        const char *name;
        hb_dtype type;
    } types[] = {
        {"f16", HB_FLOAT16},
        {"bf16", HB_BFLOAT16},
        {"f32", HB_FLOAT32},
        {"f64", HB_FLOAT64},
        {"c64", HB_COMPLEX64},
        {"c128", HB_COMPLEX128},
        {"i8", HB_INT8},
        {"u8", HB_UINT8},
        {"i16", HB_INT16},
        {"i32", HB_INT32},
        {"i64", HB_INT64},
        {"bool", HB_BOOL},
        {"f8", HB_FLOAT8_E4M3FN},
        {"bf8", HB_FLOAT8_E5M2},
        {"f8fnuz", HB_FLOAT8_E4M3FNUZ},
        {"bf8fnuz", HB_FLOAT8_E5M2FNUZ},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(types); i++)
        if (hb_str_is(name, types[i].name)) {
            *type = types[i].type;
            return true;
        }
    return false;
}

/* "(parameter)", of one that is a word or a number. */
static bool take_param(hb_op_line *l, uint8_t *param)
{
    if (!hb_op_take(l, '(')) return hb_op_wrong(l, l->at, "wanted: (PARAMETER)");
    const char *where = l->at;
    int found = hb_op_param_named(l, hb_op_take_name(l));
    if (found < 0) return hb_op_wrong(l, where, "there is no such parameter");
    if (l->params[found].class == HB_OP_FLOAT || l->params[found].class >= HB_OP_INTS)
        return hb_op_wrong(l, where, "%s is no whole number", l->params[found].name);
    *param = (uint8_t)found;
    return hb_op_take(l, ')') || hb_op_wrong(l, l->at, "wanted: )");
}

static bool take_describer(hb_op_line *l, hb_op_input *in)
{
    static const struct {
        const char *name;
        enum hb_op_describer describer;
    } describers[] = {
        {"plan", HB_OP_BY_PLAN},
        {"hipblaslt", HB_OP_BY_HIPBLASLT},
        {"miopen", HB_OP_BY_MIOPEN},
        {"dnnl_source", HB_OP_BY_DNNL_SOURCE},
        {"dnnl_weights", HB_OP_BY_DNNL_WEIGHTS},
        {"dnnl_destination", HB_OP_BY_DNNL_DESTINATION},
    };
    const char *where = l->at;
    hb_str name = hb_op_take_name(l);
    for (size_t i = 0; i < HB_ARRAY_LEN(describers); i++)
        if (hb_str_is(name, describers[i].name)) in->describer = describers[i].describer;
    if (in->describer == HB_OP_BY_TABLE)
        return hb_op_wrong(l, where,
                           "nobody is called so who knows inputs: plan, hipblaslt, miopen, "
                           "dnnl_source, dnnl_weights, dnnl_destination");
    return take_param(l, &in->param);
}

static bool take_map(hb_op_line *l, hb_op_input *in)
{
    const char *where = l->at;
    hb_str name = hb_op_take_name(l);
    for (uint32_t i = 0; i < l->table->maps.count; i++)
        if (hb_str_is(name, l->table->maps.items[i]->name)) in->map = l->table->maps.items[i];
    if (!in->map) return hb_op_wrong(l, where, "no line \"map\" of that name stands above");
    in->type_of = HB_OP_TYPE_MAPPED;
    return take_param(l, &in->param);
}

static bool take_type(hb_op_line *l, hb_op_input *in)
{
    const char *where = l->at;
    hb_str name = hb_op_take_name(l);
    if (hb_str_is(name, "T")) return true;
    in->type_of = HB_OP_TYPE_FIXED;
    return hb_op_type_named(name, &in->type) ||
           hb_op_wrong(l, where, "wanted: T, f32 or another type, @MAP(parameter) or $WHO(...)");
}

/* "name^count": the entries of an array. */
static bool take_array(hb_op_line *l, hb_op_dim *dim, bool *is)
{
    const char *before = l->at;
    hb_str name = hb_op_take_name(l);
    int array = name.len ? hb_op_param_named(l, name) : -1;
    *is = array >= 0 && hb_op_take(l, '^');
    if (!*is) {
        l->at = before;
        return true;
    }
    const char *where = l->at;
    int length = hb_op_param_named(l, hb_op_take_name(l));
    if (l->params[array].class != HB_OP_INTS && l->params[array].class != HB_OP_WORDS)
        return hb_op_wrong(l, before, "%s is no array", l->params[array].name);
    if (length < 0 || l->params[length].class == HB_OP_FLOAT ||
        l->params[length].class >= HB_OP_INTS)
        return hb_op_wrong(l, where, "wanted: a parameter that is a whole number");
    *dim = (hb_op_dim){.array = (int8_t)array, .length = (int8_t)length};
    return true;
}

/* " ld=lda t=ta order=order batch=sa]". */
static bool take_layout(hb_op_line *l, hb_op_layout *layout)
{
    for (;;) {
        hb_op_skip_blanks(l);
        if (hb_op_take(l, ']')) break;
        const char *where = l->at;
        hb_str name = hb_op_take_name(l);
        uint8_t *to = hb_str_is(name, "ld")      ? &layout->leading
                      : hb_str_is(name, "t")     ? &layout->transposed
                      : hb_str_is(name, "order") ? &layout->order
                      : hb_str_is(name, "batch") ? &layout->batch
                                                 : NULL;
        if (!to || !hb_op_take(l, '='))
            return hb_op_wrong(l, where, "wanted: ld=, t=, order= or batch=, or ]");
        where = l->at;
        int param = hb_op_param_named(l, hb_op_take_name(l));
        if (param < 0 || l->params[param].class == HB_OP_FLOAT ||
            l->params[param].class >= HB_OP_INTS)
            return hb_op_wrong(l, where, "wanted: a parameter that is a whole number");
        *to = (uint8_t)(param + 1);
    }
    return layout->leading || hb_op_wrong(l, l->at, "without ld= nothing is known of strides");
}

static bool take_dims(hb_op_line *l, hb_op_input *in)
{
    hb_op_dim dims[HB_OP_MAX_DIMS];
    uint8_t n = 0;
    if (!hb_op_take(l, '[')) return hb_op_wrong(l, l->at, "wanted: [dimensions]");
    while (!hb_op_take(l, ']')) {
        bool is_array;
        if (n && hb_op_take(l, ';')) {
            if (!take_layout(l, &in->layout)) return false;
            break;
        }
        hb_op_dim dim = {.array = HB_OP_NO_PARAM};
        if (n && !hb_op_take(l, ',')) return hb_op_wrong(l, l->at, "wanted: , or ]");
        if (n == HB_OP_MAX_DIMS) return hb_op_wrong(l, l->at, "too many dimensions");
        hb_op_skip_blanks(l);
        if (!take_array(l, &dim, &is_array)) return false;
        if (!is_array && !hb_op_take_formula(l, &dim.size)) return false;
        if (dim.size.uses_inputs)
            return hb_op_wrong(l, l->at, "a dimension does not depend on inputs");
        dims[n++] = dim;
        hb_op_skip_blanks(l);
    }
    in->dims = HB_NEW_ARRAY(&l->table->arena, hb_op_dim, n);
    memcpy(in->dims, dims, n * sizeof *dims);
    in->num_dims = n;
    return true;
}

static bool take_one(hb_op_line *l, hb_op_input *in)
{
    in->hidden = hb_op_take(l, '!');
    if (hb_op_take(l, '$')) return take_describer(l, in);
    if (hb_op_take(l, '@') ? !take_map(l, in) : !take_type(l, in)) return false;
    return take_dims(l, in);
}

bool hb_op_take_inputs(hb_op_line *l)
{
    for (;;) {
        hb_op_skip_blanks(l);
        if (l->at == l->end || *l->at == '|') return true;
        if (l->row.num_inputs == HB_OP_MAX_INPUTS)
            return hb_op_wrong(l, l->at, "more than %d inputs", HB_OP_MAX_INPUTS);
        hb_op_input *in = &l->inputs[l->row.num_inputs];
        *in = (hb_op_input){0};
        if (!take_one(l, in)) return false;
        l->row.num_inputs++;
    }
}
