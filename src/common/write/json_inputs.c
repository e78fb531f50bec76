/* SPDX-License-Identifier: MIT
 *
 * An operator's inputs as PyTorch prints them: four lists with one entry an input. Values that are
 * not numbers, and lists longer than 30, leave an empty entry.
 */
#include <math.h>

#include "write/json_parts.h"

enum { LONGEST_LIST = 30 };

static const char *const dtype_texts[] = {
#define DTYPE_TEXT(name, text, size) [HB_##name] = text,
    HB_DTYPE_MAP(DTYPE_TEXT)
#undef DTYPE_TEXT
};

static const char *dtype_text(hb_dtype dtype)
{
    return (size_t)dtype < HB_ARRAY_LEN(dtype_texts) ? dtype_texts[dtype] : "";
}

/* Longer lists than one room holds are cut into parts. */
static void write_integers(hb_out *out, const int64_t *values, uint32_t count)
{
    enum { PART = HB_OUT_ROOM / HB_MAX_NUMBER };
    char *p = hb_out_room(out, HB_OUT_ROOM);
    *p++ = '[';
    for (uint32_t i = 0; i < count; i++) {
        if (i) p = HB_PUT(p, ", ");
        p = hb_put_i64(p, values[i]);
        if (i % PART == PART - 1) {
            hb_out_done(out, p);
            p = hb_out_room(out, HB_OUT_ROOM);
        }
    }
    *p++ = ']';
    hb_out_done(out, p);
}

/* As PyTorch's IValue: "2.", "0.25", "0.10000000000000001", "inf". */
static char *put_float(char *p, double value)
{
    if (fabs(value) < 1e10 && value == (double)(int64_t)value) {
        if (value == 0 && signbit(value)) *p++ = '-';
        p = hb_put_i64(p, (int64_t)value);
        *p++ = '.';
        return p;
    }
    return hb_put_exact(p, value);
}

static void write_floats(hb_out *out, const double *values, uint32_t count)
{
    HB_OUT(out, "[");
    for (uint32_t i = 0; i < count; i++) {
        char *p = hb_out_room(out, HB_OUT_ROOM);
        if (i) p = HB_PUT(p, ", ");
        hb_out_done(out, put_float(p, values[i]));
    }
    HB_OUT(out, "]");
}

static void write_value(hb_out *out, const hb_input *input)
{
    switch (input->kind) {
    case HB_INPUT_INT:
        hb_out_done(out, hb_put_i64(hb_out_room(out, HB_OUT_ROOM), input->i));
        return;
    case HB_INPUT_FLOAT:
        hb_out_done(out, put_float(hb_out_room(out, HB_OUT_ROOM), input->f));
        return;
    case HB_INPUT_BOOL:
        if (input->i)
            HB_OUT(out, "True");
        else
            HB_OUT(out, "False");
        return;
    case HB_INPUT_INT_LIST:
        if (input->count <= LONGEST_LIST) write_integers(out, input->dims, input->count);
        return;
    case HB_INPUT_FLOAT_LIST:
        if (input->count <= LONGEST_LIST) write_floats(out, input->floats, input->count);
        return;
    default: return;
    }
}

void hb_write_concrete_inputs(hb_out *out, const hb_op_args *op)
{
    HB_OUT(out, "[");
    for (uint32_t i = 0; i < op->num_inputs; i++) {
        if (i) HB_OUT(out, ", ");
        HB_OUT(out, "\"");
        write_value(out, &op->inputs[i]);
        HB_OUT(out, "\"");
    }
    HB_OUT(out, "]");
}

static const char *type_text(const hb_input *input)
{
    switch (input->kind) {
    case HB_INPUT_TENSOR: return dtype_text(input->dtype);
    case HB_INPUT_TENSOR_LIST: return "TensorList";
    case HB_INPUT_INT:
    case HB_INPUT_FLOAT:
    case HB_INPUT_BOOL: return "Scalar";
    case HB_INPUT_INT_LIST:
    case HB_INPUT_FLOAT_LIST: return "ScalarList";
    default: return "";
    }
}

void hb_write_input_types(hb_out *out, const hb_op_args *op)
{
    HB_OUT(out, "[");
    for (uint32_t i = 0; i < op->num_inputs; i++) {
        const char *type = type_text(&op->inputs[i]);
        if (i) HB_OUT(out, ", ");
        HB_OUT(out, "\"");
        hb_out_bytes(out, type, strlen(type));
        HB_OUT(out, "\"");
    }
    HB_OUT(out, "]");
}

static const int64_t *sizes(const hb_input *input)
{
    return input->dims;
}

static const int64_t *strides(const hb_input *input)
{
    return input->strides;
}

/* What a tensor has of `part`; "[]" for everything that has none. */
static void write_shape(hb_out *out, const hb_input *input,
                        const int64_t *(*part)(const hb_input *input))
{
    bool tensor = input->kind == HB_INPUT_TENSOR && part(input);
    write_integers(out, tensor ? part(input) : NULL, tensor ? input->count : 0);
}

static void write_shapes(hb_out *out, const hb_op_args *op,
                         const int64_t *(*part)(const hb_input *input))
{
    for (uint32_t i = 0; i < op->num_inputs; i++) {
        const hb_input *input = &op->inputs[i];
        if (i) HB_OUT(out, ", ");
        if (input->kind != HB_INPUT_TENSOR_LIST || input->count > LONGEST_LIST) {
            write_shape(out, input, part);
            continue;
        }
        HB_OUT(out, "[");
        for (uint32_t k = 0; k < input->count; k++) {
            if (k) HB_OUT(out, ", ");
            write_shape(out, &input->list[k], part);
        }
        HB_OUT(out, "]");
    }
}

void hb_write_input_strides(hb_out *out, const hb_op_args *op)
{
    HB_OUT(out, "[");
    write_shapes(out, op, strides);
    HB_OUT(out, "]");
}

void hb_write_input_dims(hb_out *out, const hb_op_args *op)
{
    HB_OUT(out, "[");
    write_shapes(out, op, sizes);
    HB_OUT(out, "]");
}

uint32_t hb_flatten_tensors(const hb_op_args *op, hb_input *flat, uint32_t max)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < op->num_inputs; i++) {
        const hb_input *input = &op->inputs[i];
        bool list = input->kind == HB_INPUT_TENSOR_LIST;
        const hb_input *tensors = list ? input->list : input;
        uint32_t num_tensors = list ? input->count : 1;
        for (uint32_t k = 0; k < num_tensors && count < max; k++)
            if (tensors[k].kind == HB_INPUT_TENSOR) flat[count++] = tensors[k];
    }
    return count;
}
