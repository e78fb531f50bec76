/* SPDX-License-Identifier: MIT
 *
 * torch.profiler's key_averages(): function events in groups, with sums.
 */
#ifndef HB_TORCH_KEY_AVERAGES_H
#define HB_TORCH_KEY_AVERAGES_H

#include "torch/function_events.h"

typedef struct hb_group_options {
    bool each; /* every event is a group of its own, as in events() */
    bool by_shape, by_overload;
    uint32_t stack_frames;
} hb_group_options;

/** A FunctionEventAvg. Times in µs. */
typedef struct hb_average {
    hb_string_id name, overload, shapes; /* 0: not grouped by it */
    hb_fn_stack stack;
    bool device, annotation, nested; /* of the first event; nested: inside another one */
    uint64_t count;
    double cpu_total, self_cpu, device_total, self_device;
    double cpu_bytes, self_cpu_bytes, device_bytes, self_device_bytes;
    double flops;
} hb_average;

typedef struct hb_averages {
    hb_average *items;
    uint32_t count;
} hb_averages;

/** In order of first appearance. */
hb_averages hb_key_averages_make(const hb_fn_list *list, const hb_group_options *options);

/** The sum over all events, as torch's total_average(); it has no name. */
hb_average hb_total_average(const hb_fn_list *list);

/** Descending and stable. HB_ERROR_INVALID_ARGUMENT for an unknown key. "cuda", "xpu" and
 * "privateuse1" in it mean "device". */
hb_result hb_averages_sort(hb_averages *averages, hb_arena *arena, const hb_trace *trace,
                           const char *key);

#endif
