/* SPDX-License-Identifier: MIT
 *
 * The parts behind an operator's head, measured and then written; of record.c alone.
 */
#ifndef HB_RECORD_OP_PARTS_H
#define HB_RECORD_OP_PARTS_H

#include "record/known_inputs.h"
#include "record/record.h"
#include "record/stack.h"
#include "trace/arg_words.h"
#include "trace/input_words.h"

typedef struct parts {
    unsigned flags;
    size_t bytes, input_words;
    uint32_t frames;
    uint64_t pcs[HB_STACK_MAX];
} parts;

/* Above 0, or infinite. Comparing floating-point numbers would raise flags, or trap. */
static inline bool is_positive(double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits > 0 && bits <= INT64_C(0x7ff0000000000000);
}

static HB_COLD void measure(const hb_thread *t, parts *p, const hb_op_info *info,
                            const void *caller)
{
    uint32_t wanted = t->flags;
    p->flags = 0;
    p->bytes = sizeof(hb_record);
    if (info && info->sequence_number) {
        p->flags |= HB_RECORD_SEQUENCE;
        p->bytes += sizeof(hb_record_sequence);
    }
    if (info && is_positive(info->flops) && (wanted & HB_SESSION_FLOPS)) {
        p->flags |= HB_RECORD_FLOPS;
        p->bytes += sizeof(double);
    }
    if (wanted & HB_SESSION_STACK) {
        p->frames = hb_stack_capture(p->pcs, caller);
        p->flags |= HB_RECORD_STACK;
        p->bytes += sizeof(uint64_t) * (1 + p->frames);
    }
    if (info && info->num_inputs && info->inputs && (wanted & HB_SESSION_SHAPES)) {
        size_t room = (HB_RECORD_MAX - p->bytes) / 8;
        p->input_words = hb_inputs_words(info->inputs, info->num_inputs, room);
        if (p->input_words)
            p->flags |= HB_RECORD_INPUTS;
        else
            hb_lost_add(HB_LOST_TOO_BIG);
        p->bytes += p->input_words * 8;
    }
}

/* In no more than was measured; p->bytes says what it took. `known`: hb_known_inputs(). */
static void write_parts(hb_thread *t, hb_record *r, parts *p, const hb_op_info *info,
                        uint16_t *known)
{
    uint64_t *at = (uint64_t *)(r + 1);
    if (p->flags & HB_RECORD_SEQUENCE) {
        *at++ = info->sequence_number;
        *at++ = info->forward_thread;
    }
    if (p->flags & HB_RECORD_FLOPS) memcpy(at++, &info->flops, sizeof info->flops);
    if (p->flags & HB_RECORD_STACK) {
        *at++ = p->frames;
        memcpy(at, p->pcs, p->frames * sizeof *at);
        at += p->frames;
    }
    if (!(p->flags & HB_RECORD_INPUTS)) return;
    size_t told = hb_inputs_tell(t, known, at, info->inputs, info->num_inputs, p->input_words);
    p->bytes -= (p->input_words - told) * 8;
}

/* What is behind all other parts: a category and values. */
typedef struct own_parts {
    uint32_t category;
    size_t arg_words, bytes;
    unsigned flags;
} own_parts;

static HB_COLD own_parts measure_own(const hb_scope_info *info, uint32_t category, size_t room)
{
    own_parts own = {.category = category};
    if (category != HB_STRING_UNNAMED && category != HB_STRING_DROPPED && room >= 8) {
        own.flags |= HB_RECORD_CATEGORY;
        own.bytes = 8;
    }
    if (!info->num_args || !info->args) return own;
    own.arg_words = hb_args_words(info->args, info->num_args, (room - own.bytes) / 8);
    if (own.arg_words)
        own.flags |= HB_RECORD_ARGS;
    else
        hb_lost_add(HB_LOST_TOO_BIG);
    own.bytes += own.arg_words * 8;
    return own;
}

static HB_COLD void write_own(uint64_t *at, const own_parts *own, const hb_scope_info *info)
{
    if (own->flags & HB_RECORD_CATEGORY) *at++ = own->category;
    if (own->flags & HB_RECORD_ARGS) hb_args_encode(at, info->args, info->num_args, own->arg_words);
}

#endif
