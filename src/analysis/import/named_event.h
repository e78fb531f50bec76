/* SPDX-License-Identifier: MIT
 *
 * Events of formats in which names alone tell what is meant: Perfetto's and Chrome's. An event has
 * a category and args, under whatever names AMD's tools, PyTorch and hipboard give them; here it
 * becomes a row.
 */
#ifndef HB_IMPORT_NAMED_EVENT_H
#define HB_IMPORT_NAMED_EVENT_H

#include "import/import_set.h"
#include "rules/categories.h"

/* Args that mean something, by all their names; compared without case, ' ' as '_'. */
#define HB_NAMED_ARGS(X)                                                                        \
    X(CORRELATION, "corr_id|correlation|correlation_id")                                        \
    X(DEVICE, "device|device_id")                                                               \
    X(AGENT, "agent|agent_id")                                                                  \
    X(STREAM, "stream_id|stream")                                                               \
    X(QUEUE, "queue|queue_id")                                                                  \
    X(HIP_STREAM, "hip_stream")                                                                 \
    X(TID, "tid|thread_id")                                                                     \
    X(VGPRS, "vgpr_count|registers_per_thread")                                                 \
    X(AGPRS, "accum_vgpr_count|agprs_per_thread")                                               \
    X(SGPRS, "sgpr_count|sgprs_per_wave")                                                       \
    X(LDS, "lds_block_size|shared_memory")                                                      \
    X(SCRATCH, "scratch_size|scratch_per_thread")                                               \
    X(GRID, "grid|grid_dim")                                                                    \
    X(BLOCK, "block|block_dim")                                                                 \
    X(GRID_X, "grid_x")                                                                         \
    X(GRID_Y, "grid_y")                                                                         \
    X(GRID_Z, "grid_z")                                                                         \
    X(BLOCK_X, "block_x")                                                                       \
    X(BLOCK_Y, "block_y")                                                                       \
    X(BLOCK_Z, "block_z")                                                                       \
    X(BYTES, "bytes|size|sizebytes")                                                            \
    X(ADDRESS, "addr|ptr|dst")                                                                  \
    X(SOURCE, "src")                                                                            \
    X(KIND, "kind")                                                                             \
    X(TOTAL, "total_allocated")                                                                 \
    X(DEVICE_TYPE, "device_type")                                                               \
    X(FROM, "fromdevice|from_device")                                                           \
    X(TO, "todevice|to_device")                                                                 \
    X(EXTERNAL, "external_id")                                                                  \
    X(MADE, "hipboard")                                                                         \
    X(OPERATOR, "op_name")                                                                      \
    X(INPUTS, "input_dims|input_type|concrete_inputs|call_stack|sequence_number|fwd_thread_id") \
    X(IGNORED, "begin_ns|end_ns|delta_ns|kernel_id|operation|dispatch_id|context|queued|"       \
               "priority|blocks_per_sm|warps_per_sm|est._achieved_occupancy_%|"                 \
               "memory_bandwidth_(gb/s)|workgroup_size|grid_size|tracing_correlation|"          \
               "limiting_factor|record_function_id|ev_idx|cid|thread_count|ancestor_id")

typedef enum hb_named_arg {
    HB_NAMED_OTHER,
#define HB_NAMED_ARG_ENUM(key, names) HB_NAMED_##key,
    HB_NAMED_ARGS(HB_NAMED_ARG_ENUM)
#undef HB_NAMED_ARG_ENUM
        HB_NAMED_COUNT
} hb_named_arg;

hb_named_arg hb_named_arg_of(hb_str name);

enum { HB_NAMED_VALUES = 64 };

/** An event and its args, all of them as they are told; -1: not told. Times are the file's clock.
 */
typedef struct hb_named_event {
    hb_str category;
    hb_kind kind_of; /* hb_named_kind_of() its category */
    hb_string_id name;
    int64_t start, end;
    int64_t tid;
    hb_string_id thread_name;
    hb_str track; /* the name of what it stands on, which may tell the GPU, queue or stream */
    bool unfinished, instant;
    /* args */
    uint64_t given; /* those of the list above, by bit */
    int64_t numbers[HB_NAMED_COUNT];
    uint32_t grid[3], block[3];
    hb_str kind;
    hb_string_id operator_name;
    uint32_t num_values, values_left_out; /* numbers under other names */
    hb_import_value values[HB_NAMED_VALUES];
} hb_named_event;

/** What events of a category are, also in other tools' words. */
hb_kind hb_named_kind_of(hb_str category);

/** An event without args. */
void hb_named_event_init(hb_named_event *event);

/** Notes an arg; `name` is its name, of which OTHER ones are values of counters. */
void hb_named_set_int(hb_named_event *event, hb_named_arg arg, hb_string_id name, int64_t value);
void hb_named_set_double(hb_named_event *event, hb_named_arg arg, hb_string_id name, double value);
/** A text, also of a number or of a list, as "[2, 128, 1]". Texts of other names are left out. */
void hb_named_set_text(hb_named_event *event, hb_named_arg arg, hb_str value);

/** Adds the event's row. */
void hb_named_event_add(hb_import *import, hb_import_process *process, hb_named_event *event);

/** All events of a process were added: agents become GPUs. */
void hb_named_events_finish(hb_import *import, hb_import_process *process);

#endif
