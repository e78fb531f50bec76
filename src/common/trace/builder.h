/* SPDX-License-Identifier: MIT
 *
 * The way into the model: rows, what only some kinds of them have, and what is stored once. The
 * reader of files and a cycle without a file both take it.
 *
 * Want of memory is remembered, not reported at once: what is made then goes nowhere, and whoever
 * began the work asks `failed` at its end. So no pointer here is NULL.
 */
#ifndef HB_TRACE_BUILDER_H
#define HB_TRACE_BUILDER_H

#include "trace/trace.h"

typedef struct hb_builder {
    hb_trace *trace;
    bool failed; /* out of memory */
    uint32_t num_kinds;
    struct {
        hb_string_id category;
        uint8_t kind;
    } kinds[16]; /* of the first categories, which are all but always all */
    union {
        hb_row row;
        hb_function_row function;
        hb_device_row device;
        hb_memory_row memory;
    } nowhere;
} hb_builder;

void hb_builder_init(hb_builder *builder, hb_trace *trace);

/** The next row, zeroed. */
hb_row *hb_builder_row(hb_builder *builder);

/** Distinct texts, keys and ids. */
static inline hb_string_id hb_builder_text(hb_builder *builder, const char *text, size_t size)
{
    hb_string_id id = hb_texts_add(&builder->trace->strings, text ? text : "", size);
    builder->failed |= id == 0;
    return id;
}
uint32_t hb_builder_key(hb_builder *builder, hb_key key);
hb_id hb_builder_id(hb_builder *builder, hb_key key);
static inline hb_id hb_builder_number(hb_builder *builder, int64_t number)
{
    return hb_builder_id(builder, hb_key_int(number));
}

/** The track of a process and a thread. */
uint32_t hb_builder_track(hb_builder *builder, hb_key pid, hb_key tid);

/** The kind of a complete event of that category. */
hb_kind hb_builder_kind(hb_builder *builder, hb_string_id category);

void hb_builder_op(hb_builder *builder, hb_row *row, const hb_op_row *op);

/** A row's entry in the table of its kind, zeroed. */
hb_function_row *hb_builder_function(hb_builder *builder, hb_row *row);
hb_device_row *hb_builder_device(hb_builder *builder, hb_row *row);
hb_memory_row *hb_builder_memory(hb_builder *builder, hb_row *row);

/** What few operators have; nothing is stored where it says nothing. Before hb_builder_op(). */
extern const hb_op_detail hb_no_detail;
void hb_builder_detail(hb_builder *builder, hb_op_row *op, const hb_op_detail *detail);

/** `launch` was zeroed as bytes before it was filled in. */
void hb_builder_launch(hb_builder *builder, hb_device_row *device, const hb_launch *launch);
/** What was copied, filled or allocated. */
void hb_builder_bytes(hb_builder *builder, hb_device_row *device, double bytes);

#endif
