/* SPDX-License-Identifier: MIT */
#include "ranks/comm_args.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/json_members.h"
#include "rules/collective_names.h"

static const hb_rank_comm unknown = {
    .in = -1, .out = -1, .bytes = -1, .source = -1, .dest = -1, .tag = -1};

/* torch's words for types, in collectives' keys and in inputs. */
static int64_t size_of_type(hb_str word)
{
    static const struct {
        const char *word;
        int size;
    } types[] = {{"Double", 8},   {"Float", 4},    {"Int", 4},        {"Long", 8},
                 {"BFloat16", 2}, {"Half", 2},     {"Bool", 1},       {"Byte", 1},
                 {"Char", 1},     {"Short", 2},    {"double", 8},     {"float", 4},
                 {"int", 4},      {"long int", 8}, {"c10::Half", 2},  {"c10::BFloat16", 2},
                 {"bool", 1},     {"short", 2},    {"signed char", 1}};
    for (size_t i = 0; i < HB_ARRAY_LEN(types); i++)
        if (hb_str_is(word, types[i].word)) return types[i].size;
    return 1;
}

static hb_str str_of(const hb_value *v)
{
    return v->type == HB_JSON_STRING ? (hb_str){v->s, (uint32_t)v->size} : HB_STR("");
}

/* ---- by torch's keys ---- */

typedef struct seen_args {
    hb_rank_comm *comm;
    hb_buf *texts;
    hb_str dtype;
    bool any;
} seen_args;

static hb_str text_of(seen_args *s, const hb_value *v)
{
    size_t before = s->texts->size;
    if (v->type != HB_JSON_STRING || !v->escaped) return str_of(v);
    hb_value_decode(v, s->texts);
    return (hb_str){s->texts->data + before, (uint32_t)(s->texts->size - before)};
}

static bool take_arg(void *context, const hb_value *key, const hb_value *value)
{
    seen_args *s = context;
    hb_rank_comm *c = s->comm;
    if (hb_value_is(key, "Collective name")) {
        c->operation = text_of(s, value);
        s->any = true;
    } else if (hb_value_is(key, "Process Group Name")) {
        c->group = text_of(s, value);
    } else if (hb_value_is(key, "Process Group Description")) {
        c->description = text_of(s, value);
    } else if (hb_value_is(key, "Process Group Ranks")) {
        c->members = str_of(value);
    } else if (hb_value_is(key, "dtype")) {
        s->dtype = str_of(value);
    } else if (hb_value_is(key, "In msg nelems")) {
        c->in = hb_int_of(value, -1);
    } else if (hb_value_is(key, "Out msg nelems")) {
        c->out = hb_int_of(value, -1);
    } else if (hb_value_is(key, "Group size")) {
        c->group_size = HB_MAX(0, hb_int_of(value, 0));
    } else if (hb_value_is(key, "Seq")) {
        c->sequence = HB_MAX(0, hb_int_of(value, 0));
    } else if (hb_value_is(key, "bytes")) {
        c->bytes = hb_int_of(value, -1);
    } else if (hb_value_is(key, "Src Rank")) {
        c->source = hb_int_of(value, -1);
    } else if (hb_value_is(key, "Dst Rank")) {
        c->dest = hb_int_of(value, -1);
    } else if (hb_value_is(key, "tag")) {
        c->tag = hb_int_of(value, -1);
    } else if (hb_value_is(key, "Is asynchronized op")) {
        c->async = value->type == HB_JSON_TRUE;
    }
    return true;
}

bool hb_comm_of_args(hb_str args, hb_buf *texts, hb_rank_comm *comm)
{
    seen_args seen = {.comm = comm, .texts = texts, .dtype = HB_STR("Byte")};
    *comm = unknown;
    texts->size = 0;
    if (!hb_buf_reserve(texts, args.len)) return false; /* so that texts stay where they are */
    hb_json_each_member(args, take_arg, &seen);
    int64_t elements = HB_MAX(comm->in, comm->out);
    if (comm->bytes < 0 && elements >= 0 && elements < INT64_MAX / 8)
        comm->bytes = elements * size_of_type(seen.dtype);
    return seen.any;
}

/* ---- by inputs ---- */

typedef struct sizes {
    int64_t product, sum;
} sizes;

static bool multiply(void *context, const hb_value *size)
{
    sizes *s = context;
    int64_t n = hb_int_of(size, 0);
    if (n < 0 || __builtin_mul_overflow(s->product, n, &s->product)) s->product = 0;
    return true;
}

static bool add_input(void *context, const hb_value *dims)
{
    sizes *s = context;
    if (dims->type != HB_JSON_ARRAY) return true;
    s->product = 1;
    hb_json_each((hb_str){dims->s, (uint32_t)dims->size}, multiply, s);
    if (__builtin_add_overflow(s->sum, s->product, &s->sum)) s->sum = 0;
    return true;
}

static bool take_type(void *context, const hb_value *type)
{
    *(hb_str *)context = str_of(type);
    return false;
}

bool hb_comm_of_annotation(hb_str name, hb_str args, hb_rank_comm *comm)
{
    const hb_collective_name *known = hb_collective_of(name);
    if (!known) return false;
    *comm = unknown;
    comm->operation = (hb_str){known->torch, (uint32_t)strlen(known->torch)};
    hb_value dims = hb_json_member(args, "Input Dims"), types = hb_json_member(args, "Input type");
    sizes s = {0};
    hb_str type = HB_STR("Byte");
    if (dims.type != HB_JSON_ARRAY) return true;
    hb_json_each((hb_str){dims.s, (uint32_t)dims.size}, add_input, &s);
    if (types.type == HB_JSON_ARRAY)
        hb_json_each((hb_str){types.s, (uint32_t)types.size}, take_type, &type);
    if (s.sum < INT64_MAX / 8) comm->bytes = s.sum * size_of_type(type);
    return true;
}

/* ---- by kernels' names ---- */

/* "ncclDevKernel_AllReduce_Sum_f32_RING_LL": the word behind the first "_". */
static hb_str word_of_kernel(hb_str name)
{
    const char *end = name.s + name.len, *at = memchr(name.s, '_', name.len);
    if (!at) return name;
    const char *stop = ++at;
    while (stop < end && isalpha((unsigned char)*stop))
        stop++;
    return (hb_str){at, (uint32_t)(stop - at)};
}

void hb_comm_of_kernel(hb_str name, hb_str args, hb_buf *texts, hb_rank_comm *comm)
{
    if (hb_comm_of_args(args, texts, comm)) return;
    hb_str word = word_of_kernel(name);
    const hb_collective_name *known = hb_collective_of(word);
    comm->operation = known ? (hb_str){known->torch, (uint32_t)strlen(known->torch)} : word;
    if (hb_str_is(word, "SendRecv")) comm->operation = HB_STR("send");
}
