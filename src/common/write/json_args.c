/* SPDX-License-Identifier: MIT
 *
 * Values that have no field among an event's args, flat, as torch writes record_function's.
 */
#include "write/json_parts.h"

/* What readers look for in the args, and what stands there already: of scopes, of device work. */
static const char *const of_scopes[] = {
    "Call stack",      "Collective name",
    "Concrete Inputs", "Ev Idx",
    "External id",     "external id",
    "finished",        "flops",
    "Fwd thread id",   "Input Dims",
    "Input dims",      "Input Strides",
    "Input type",      "Input types",
    "Python id",       "Record function id",
    "Sequence number", "correlation",
    "TFLOP/s",         "FLOP/byte",
    "% of peak",       NULL,
};
static const char *const of_work[] = {
    "External id",
    "external id",
    "block",
    "bytes",
    "correlation",
    "device",
    "grid",
    "kind",
    "warps per SM",
    "stream",
    "blocks per SM",
    "memory bandwidth (GB/s)",
    "registers per thread",
    "shared memory",
    "fromDevice",
    "toDevice",
    NULL,
};

static bool is_taken(const char *const *taken, const char *key)
{
    while (*taken && strcmp(*taken, key) != 0)
        taken++;
    return *taken != NULL;
}

/* `taken`: NULL where keys are what readers look for, on purpose. */
static void write_key(hb_out *out, const char *const *taken, const char *key)
{
    char longer[32];
    size_t size = strlen(key);
    if (taken && is_taken(taken, key)) {
        memcpy(longer, key, size);
        longer[size++] = '_';
        key = longer;
    }
    hb_out_json(out, key, size);
    HB_OUT(out, ": ");
}

static void write_value(hb_out *out, const hb_arg *arg)
{
    if (arg->type == HB_ARG_STRING) {
        hb_out_json(out, arg->s, strlen(arg->s));
        return;
    }
    char *p = hb_out_room(out, HB_OUT_ROOM);
    switch (arg->type) {
    case HB_ARG_UINT: p = hb_put_u64(p, (uint64_t)arg->i); break;
    case HB_ARG_DOUBLE: p = hb_put_double(p, arg->f); break;
    case HB_ARG_BOOL: p = arg->i ? HB_PUT(p, "true") : HB_PUT(p, "false"); break;
    default: p = hb_put_i64(p, arg->i); break;
    }
    hb_out_done(out, p);
}

/* Of a communication the keys are hipboard's, and mean what readers take them for. */
void hb_write_args(hb_out *out, const hb_trace_event *event)
{
    const hb_op_args *op = &event->op;
    for (uint32_t i = 0; i < op->num_args; i++) {
        write_key(out, event->flags & HB_TEV_COMMUNICATION ? NULL : of_scopes, op->args[i].key);
        write_value(out, &op->args[i]);
        HB_OUT(out, ", ");
    }
}

void hb_write_more_args(hb_out *out, const hb_trace_event *event)
{
    for (uint32_t i = 0; i < event->num_args; i++) {
        HB_OUT(out, ", ");
        write_key(out, event->flags & HB_TEV_COMMUNICATION ? NULL : of_work, event->args[i].key);
        write_value(out, &event->args[i]);
    }
}
