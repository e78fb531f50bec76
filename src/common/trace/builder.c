/* SPDX-License-Identifier: MIT */
#include "trace/builder.h"

#include <math.h>

const hb_op_detail hb_no_detail = {.sequence = -1, .flops = NAN};

void hb_builder_init(hb_builder *b, hb_trace *trace)
{
    *b = (hb_builder){.trace = trace};
}

static void *push(hb_builder *b, hb_column *column)
{
    void *item = hb_column_push(column);
    if (HB_LIKELY(item != NULL)) return item;
    b->failed = true;
    return memset(&b->nowhere, 0, sizeof b->nowhere);
}

hb_row *hb_builder_row(hb_builder *b)
{
    return push(b, &b->trace->rows);
}

/* ---- what is stored once ---- */

static uint32_t checked(hb_builder *b, uint32_t index)
{
    if (HB_LIKELY(index != UINT32_MAX)) return index;
    b->failed = true;
    return 0;
}

uint32_t hb_builder_key(hb_builder *b, hb_key key)
{
    return checked(b, hb_trace_key(b->trace, key));
}

hb_id hb_builder_id(hb_builder *b, hb_key key)
{
    return checked(b, hb_trace_id(b->trace, key));
}

uint32_t hb_builder_track(hb_builder *b, hb_key pid, hb_key tid)
{
    uint32_t process = hb_builder_key(b, pid), thread = hb_builder_key(b, tid);
    return checked(b, hb_trace_track(b->trace, process, thread));
}

hb_kind hb_builder_kind(hb_builder *b, hb_string_id category)
{
    for (uint32_t i = 0; i < b->num_kinds; i++)
        if (b->kinds[i].category == category) return (hb_kind)b->kinds[i].kind;
    hb_kind kind = hb_kind_by_category(hb_trace_text(b->trace, category));
    uint32_t i = b->num_kinds < HB_ARRAY_LEN(b->kinds) ? b->num_kinds++ : 0;
    b->kinds[i].category = category;
    b->kinds[i].kind = (uint8_t)kind;
    return kind;
}

/* ---- the tables of the kinds ---- */

static void *push_side(hb_builder *b, hb_column *column, hb_row *row)
{
    void *side = push(b, column);
    row->extra = b->failed ? 0 : column->count - 1;
    return side;
}

void hb_builder_op(hb_builder *b, hb_row *row, const hb_op_row *op)
{
    row->extra = checked(b, hb_trace_add_op(b->trace, op));
}

hb_function_row *hb_builder_function(hb_builder *b, hb_row *row)
{
    return push_side(b, &b->trace->functions, row);
}

hb_device_row *hb_builder_device(hb_builder *b, hb_row *row)
{
    return push_side(b, &b->trace->devices, row);
}

hb_memory_row *hb_builder_memory(hb_builder *b, hb_row *row)
{
    return push_side(b, &b->trace->memory, row);
}

void hb_builder_detail(hb_builder *b, hb_op_row *op, const hb_op_detail *d)
{
    hb_column *details = &b->trace->details;
    if (d->sequence < 0 && !d->fwd_thread && isnan(d->flops) && !d->concrete) return;
    bool ready = details->count || hb_column_push(details); /* 0 stands for none */
    hb_op_detail *made = ready ? hb_column_push(details) : NULL;
    b->failed |= !made;
    if (!made) return;
    *made = *d;
    op->detail = details->count - 1;
}

void hb_builder_launch(hb_builder *b, hb_device_row *device, const hb_launch *launch)
{
    device->launch = checked(b, hb_trace_launch(b->trace, launch));
}

void hb_builder_bytes(hb_builder *b, hb_device_row *device, double bytes)
{
    hb_launch l;
    memset(&l, 0, sizeof l);
    l.bytes = bytes > 0 ? bytes : 0;
    hb_builder_launch(b, device, &l);
}
