/* SPDX-License-Identifier: MIT
 *
 * The list that torch.profiler's events() gives, made from a trace file: one event a row, in call
 * trees, with kernels and memory given to the operators that caused them. Unlike the plugin's
 * numbers (analysis.h), these are torch's own.
 */
#ifndef HB_TORCH_FUNCTION_EVENTS_H
#define HB_TORCH_FUNCTION_EVENTS_H

#include "base/arena.h"
#include "base/hash_map.h"
#include "trace/trace.h"

enum hb_fn_flags {
    HB_FN_DEVICE = 1u << 0,
    HB_FN_ANNOTATION = 1u << 1,
    HB_FN_LINKED = 1u << 2,  /* a runtime call or device work of the operator with id `link` */
    HB_FN_RUNTIME = 1u << 3, /* on a numbering of threads of its own until it is linked */
    HB_FN_GONE = 1u << 4,    /* merged into its parent of the same name */
    HB_FN_GIVEN = 1u << 5,   /* device work whose time an operator has */
};

#define HB_NO_FN UINT32_MAX

/** One FunctionEvent. */
typedef struct hb_fn {
    int64_t start_ns, end_ns; /* since the trace's start */
    hb_id link;   /* of a record of the allocator: its place in the file's order of them + 1 */
    uint32_t row; /* HB_NO_FN: such a record, outside of all operators */
    hb_string_id name, overload;
    uint32_t thread, flags;
    uint32_t parent, first_child, last_child, next;
    uint32_t kernels; /* index + 1 of the first in hb_fn_list.kernels */
    double cpu_total, self_cpu, device_total, self_device; /* µs */
} hb_fn;

/** Bytes as torch counts them, in 64 bits: no sum of such is more than a double holds. */
static inline bool hb_is_byte_count(double bytes)
{
    return bytes > -0x1p63 && bytes < 0x1p63;
}

/** What few traces tell of events. */
typedef struct hb_fn_extra {
    double cpu_bytes, device_bytes, self_cpu_bytes, self_device_bytes;
    double flops;
} hb_fn_extra;

typedef struct hb_fn_kernel {
    double us;
    uint32_t next; /* index + 1 */
} hb_fn_kernel;

typedef struct hb_fn_list {
    hb_arena *arena;
    hb_trace *trace; /* names are added to its strings */
    hb_fn *items;    /* sorted as torch sorts them */
    uint32_t count;
    hb_fn_extra *extras; /* one an event; NULL: all of them are zero */
    int64_t start_ns;    /* what the events' times count from, on the file's clock */
    HB_VEC(hb_fn_kernel) kernels;
    bool use_device, profile_memory, with_flops;
} hb_fn_list;

/** To be called inside hb_arena_try(). */
void hb_fn_list_make(hb_fn_list *list, hb_arena *arena, hb_trace *trace);

/** Fills the call stacks, each cut to `limit` frames: stacks[i] is the list of event i. */
typedef struct hb_fn_stack {
    const hb_string_id *frames;
    uint32_t count;
} hb_fn_stack;
hb_fn_stack *hb_fn_stacks(const hb_fn_list *list, uint32_t limit);

/** torch's input_shapes as Python prints them: as Input Dims, but a list of tensors is []. */
hb_string_id hb_fn_shapes(hb_arena *arena, hb_trace *trace, hb_string_id dims);

#endif
