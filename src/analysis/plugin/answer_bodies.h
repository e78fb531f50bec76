/* SPDX-License-Identifier: MIT
 *
 * The bodies of the plugin's HTTP answers. Each appends one JSON value; a result other than HB_OK
 * is the plugin's error, and what was appended is then void.
 */
#ifndef HB_PLUGIN_ANSWER_BODIES_H
#define HB_PLUGIN_ANSWER_BODIES_H

#include "doc/json_writer.h"
#include "plugin/analysis.h"
#include "plugin/memory_stats.h"
#include "plugin/tree_diff.h"
#include "plugin/workers.h"

/** Units of the memory routes; NULL fields when the text names none. */
typedef struct hb_units {
    const char *time, *memory;
    double time_factor, memory_factor; /* from µs and bytes */
} hb_units;

/** False: no such unit. */
bool hb_units_find(hb_units *units, const char *time, const char *memory);

void hb_answer_overview(hb_emitter *out, hb_analysis *a, unsigned num_workers);

/* by_shape: group by name and input shapes */
void hb_answer_op_pie(hb_emitter *out, hb_analysis *a, bool by_shape);
void hb_answer_op_table(hb_emitter *out, hb_analysis *a, bool by_shape);
/** `key` is the operator's name, or "name###shapes". */
hb_result hb_answer_op_stack(hb_emitter *out, hb_analysis *a, bool by_shape, hb_str key);

void hb_answer_kernel_pie(hb_emitter *out, hb_analysis *a);
void hb_answer_kernel_table(hb_emitter *out, hb_analysis *a);
void hb_answer_kernel_op_table(hb_emitter *out, hb_analysis *a);
void hb_answer_kernel_tc_pie(hb_emitter *out, hb_analysis *a);

hb_result hb_answer_memory(hb_emitter *out, hb_analysis *a, hb_arena *arena, const hb_units *units,
                           const hb_memory_window *window);
hb_result hb_answer_memory_curve(hb_emitter *out, hb_analysis *a, hb_arena *arena,
                                 const hb_units *units);
hb_result hb_answer_memory_events(hb_emitter *out, hb_analysis *a, hb_arena *arena,
                                  const hb_units *units, const hb_memory_window *window);

/** `text`: that of the trace's file. */
void hb_answer_trace(hb_emitter *out, hb_analysis *a, hb_arena *arena, const char *text,
                     size_t size);

hb_result hb_answer_module(hb_emitter *out, hb_analysis *a);
hb_result hb_answer_tree(hb_emitter *out, hb_analysis *a);

void hb_answer_gpu_info(hb_emitter *out, const hb_distributed *d);
void hb_answer_overlap(hb_emitter *out, const hb_distributed *d);
void hb_answer_wait_time(hb_emitter *out, const hb_distributed *d);
void hb_answer_comm_ops(hb_emitter *out, const hb_distributed *d);

void hb_answer_diff(hb_emitter *out, hb_arena *arena, const hb_diff *diff);
hb_result hb_answer_diff_node(hb_emitter *out, hb_arena *arena, const hb_diff *diff,
                              const char *path);

/** {"Name": ..., "Memory": ...}: one device. */
void hb_answer_gpu(hb_emitter *out, const hb_prop *prop);

/** The plugin's explanations, which stand in its answers. */
extern const char hb_tip_op_tc_eligible[], hb_tip_op_tc_self[], hb_tip_op_tc_total[];
extern const char hb_tip_kernel_tc[], hb_tip_kernel_op_tc[];
extern const char hb_tip_blocks[], hb_tip_occupancy_table[];
extern const char hb_tip_gpu_head[], hb_tip_sm[], hb_tip_occupancy[], hb_tip_tc[];

#endif
