/* SPDX-License-Identifier: MIT
 *
 * The plugin's numbers for one trace. hb_analysis_run() goes through the plugin's stages, those
 * first of which steps are made; a file each:
 *
 *   events.c            which events count, sorted by time
 *   nodes.c             runtime calls and device work, linked by ids; later operators
 *   steps.c             profiler steps and the ranges of each role
 *   collectives.c       which step each is in
 *   roles.c             how each step's time divides into roles
 *   gpu_use.c           utilization, SM efficiency, occupancy
 *   call_tree.c         one call tree a thread, with self and total times     backward.c
 *   operators.c         operators and kernels by name, shape, stack
 *   kernels_by_name.c   kernels by name
 *   memory_stats.c      allocations and the operators that made them
 *   advice_texts.c      recommendations
 *   modules.c           nn.Modules
 *   told_steps.c        in place of all of these: steps of which only sums are left
 *
 * A stage that finds what the plugin cannot digest leaves by hb_arena_leave(HB_ERROR_FORMAT).
 */
#ifndef HB_PLUGIN_ANALYSIS_H
#define HB_PLUGIN_ANALYSIS_H

#include "base/arena.h"
#include "base/hash_map.h"
#include "plugin/py_ranges.h"
#include "plugin/py_values.h"
#include "rules/name_class.h"
#include "rules/step_roles.h"
#include "trace/trace.h"

/* What an event is to the plugin; the first seven take part in call trees. */
typedef enum hb_type {
    HB_TYPE_OPERATOR,
    HB_TYPE_PYTHON,
    HB_TYPE_STEP,
    HB_TYPE_MODULE,
    HB_TYPE_ANNOTATION,
    HB_TYPE_PL_MODULE,
    HB_TYPE_PL_PROFILE,
    HB_TYPE_BACKWARD, /* made, not read */
    HB_TYPE_FUNCTION,
    HB_TYPE_RUNTIME,
    HB_TYPE_KERNEL,
    HB_TYPE_MEMCPY,
    HB_TYPE_MEMSET,
    HB_TYPE_SPAN,
    HB_TYPE_MEMORY,
} hb_type;

/** The word that /tree shows; NULL for types that are in no tree. */
const char *hb_type_text(hb_type type);

/** As many rows as HB_MAX_EVENTS. */
typedef struct hb_ev {
    uint32_t row : 28;
    uint32_t type : 4; /* hb_type */
} hb_ev;

enum { HB_MAX_EVENTS = 1 << 28 };

typedef enum hb_class {
    HB_CLASS_PLAIN,
    HB_CLASS_STEP,
    HB_CLASS_MODULE,
    HB_CLASS_PL_MODULE,
    HB_CLASS_PL_PROFILE,
    HB_CLASS_LOADER,
    HB_CLASS_OPTIMIZER,
    HB_CLASS_BACKWARD,
} hb_class;

#define HB_NO_ROW  UINT32_MAX
#define HB_NO_NODE 0u /* node 0 is not used */

/** Which sums are floats in Python: those into which a float went. Others are ints. */
enum hb_floats {
    HB_FLOAT_HOST = 1u << 0,
    HB_FLOAT_SELF_HOST = 1u << 1,
    HB_FLOAT_DEVICE = 1u << 2,
    HB_FLOAT_SELF_DEVICE = 1u << 3,
};

/** What few nodes have: runtime calls, device work of these and below, in µs; tc: of kernels that
 * use matrix cores. */
typedef struct hb_node_work {
    double device, self_device, tc_self, tc_total;
    double self_host; /* where hb_node.self_kept */
    uint32_t calls;   /* index + 1 of its first hb_call_ref */
    uint32_t same;    /* the node that this one is a copy of */
} hb_node_work;

/** A call. Times in µs. A trace has one for each operator, so that they are kept small. */
typedef struct hb_node {
    double start, end;
    uint32_t row; /* HB_NO_ROW: made by the analysis */
    hb_string_id name;
    uint32_t first_child, next;
    uint32_t work; /* index of hb_analysis.works, 0: none; hb_work_of() */
    uint8_t class, type;
    uint8_t floats; /* enum hb_floats */
    bool start_float : 1, end_float : 1, tc_eligible : 1, visited : 1, no_time : 1;
    bool self_kept : 1; /* the children of its own time are no longer those that it has */
} hb_node;
_Static_assert(sizeof(hb_node) == 40, "a trace has one for each operator");

/** Kernels, copies and fills. */
typedef struct hb_device_node {
    double start, end;
    uint32_t row, next;   /* next: index + 1 in its runtime call */
    hb_string_id op_name; /* 0: none */
    uint8_t type;
    bool tc_used, op_tc_eligible, matched, is_float;
} hb_device_node;

/** A runtime call, or one that stands for kernels whose call is missing. */
typedef struct hb_runtime {
    double start, end, device, tc;
    uint32_t row, first_device, last_device; /* index + 1 */
    bool dummy, has_device, is_float, device_float;
} hb_runtime;

typedef struct hb_call_ref {
    uint32_t runtime, next; /* next: index + 1 */
} hb_call_ref;

typedef struct hb_tree_thread {
    int64_t tid;
    uint32_t first_node, num_nodes; /* in order of time once there is a root */
    hb_u32s zero_calls;             /* runtime calls with external id 0 */
    uint32_t root;
    bool has_step, gone; /* gone: its tree lost all children to the backward mirrors */
} hb_tree_thread;

typedef HB_VEC(hb_tree_thread) hb_threads;

typedef struct hb_step {
    hb_range range;
    hb_string_id name;
    hb_num costs[HB_ROLE_COUNT];
    hb_num computation, communication, overlap, other; /* for the distributed view */
} hb_step;

typedef struct hb_sm_range {
    double start, end, value;
} hb_sm_range;

typedef struct hb_gpu {
    bool is_bool; /* the id was written as true or false first */
    int id;   /* as in the trace; negative ids share the slot of id + 64, as Python's lists do */
    int slot; /* hb_launch.gpu */
    double utilization;
    double sm_efficiency, occupancy, tc_ratio; /* NaN: not defined */
    bool has_sm, has_occupancy, has_tc;
} hb_gpu;

/** Operators of one name, or name and shapes, and so on. */
typedef struct hb_op_stat {
    hb_string_id name, shape, stack; /* shape: Python's text; stack: JSON text, 0: none */
    uint32_t calls;
    bool tc_eligible;
    bool has_stack; /* some of these have one */
    uint8_t floats; /* enum hb_floats */
    double host, device, self_host, self_device, tc_self, tc_total;
} hb_op_stat;

typedef HB_VEC(hb_op_stat) hb_op_stats;

/** Kernels of one name, launched in one way by one operator. */
typedef struct hb_kernel_op_stat {
    hb_string_id name, op_name, grid, block, registers, shared; /* the last four: Python's text */
    bool tc_used, op_tc_eligible;
    uint32_t calls;
    hb_num total, min, max;
    double blocks_per_sm, occupancy; /* weighted by duration */
} hb_kernel_op_stat;

/** Kernels of one name. */
typedef struct hb_kernel_stat {
    hb_string_id name;
    bool tc_used;
    uint32_t calls;
    double total, mean, max, min, blocks_per_sm, occupancy;
} hb_kernel_stat;

/** One record of the allocator. */
typedef struct hb_memory_record {
    double ts, bytes, allocated, reserved;
    hb_key addr;
    uint32_t tid, row;
    uint32_t node; /* the operator node it was attributed to, or HB_NO_NODE */
    uint32_t next; /* index + 1 of the node's next record */
    hb_string_id op_name, parent_name;
    uint32_t device; /* index of hb_analysis.device_names + 1; 0: unknown type */
    bool bytes_bad, bytes_float, allocated_bad, reserved_bad;
} hb_memory_record;

typedef struct hb_module_stat hb_module_stat;
struct hb_module_stat {
    hb_string_id name;
    hb_key module_id;
    uint32_t occurences, operators;
    uint8_t floats; /* enum hb_floats */
    double host, self_host, device, self_device;
    hb_module_stat *children;
    uint32_t num_children;
};

/** A collective operation. */
typedef struct hb_comm {
    hb_string_id name, dims, types; /* the last two: JSON text, 0: none */
    hb_num start, end;
    HB_VEC(hb_range) ranges;
    int step; /* index, -1: none */
} hb_comm;

typedef struct hb_analysis {
    hb_arena arena;
    hb_trace *trace;     /* names are added to its strings */
    uint16_t *name_bits; /* enum hb_name_class by string; 0: not looked at yet */
    uint32_t num_name_bits;
    hb_props props; /* deviceProperties */
    bool lightning;
    bool all_int; /* every time is an int, and so is every sum of them */

    uint32_t wrong_end; /* row of a window's end that is left out, or HB_NO_ROW */
    hb_ev *events;      /* in order of time */
    uint32_t num_events;
    hb_num first_ts;
    hb_dict flows; /* ts of the forward start -> index in flow_ends */
    HB_VEC(double) flow_ends;

    bool told;              /* hb_analysis_of_steps() */
    struct hb_links *links; /* while events are linked */
    hb_node *nodes;
    uint32_t num_nodes, nodes_capacity;
    HB_VEC(hb_node_work) works; /* the first one is that of nodes without any */
    HB_VEC(hb_device_node) devices;
    HB_VEC(hb_runtime) runtimes;
    HB_VEC(hb_call_ref) refs;
    hb_threads threads, pl_threads;
    hb_u32s stale;        /* kernels whose runtime call is missing */
    uint32_t stale_first; /* ... as a list; index + 1 */
    hb_dict comm_ids;
    HB_VEC(hb_comm) comms;
    bool use_dp, use_ddp, has_nccl, has_gloo;
    hb_key *used_devices; /* distinct pids of device work, sorted */
    uint32_t num_used_devices;
    hb_string_id sid_root;
    hb_u32s crossing; /* nodes that are in no tree, as they outlast the call they began in */
    uint32_t depth;   /* of the deepest tree: calls, their runtime calls, their device work */

    hb_ranges roles[HB_ROLE_OTHER]; /* until the steps' time is divided */
    bool has_role[HB_ROLE_OTHER];   /* whether anything was of it */
    HB_VEC(hb_step) steps;
    hb_num average[HB_ROLE_COUNT];
    hb_num window_start, window_end; /* of the timeline of GPU utilization */

    hb_gpu gpus[HB_MAX_GPUS * 2]; /* in the order of a Python set */
    uint32_t num_gpus;
    bool has_blocks_per_sm, has_occupancy;

    hb_u32s kernels; /* device nodes reached through the trees */
    hb_op_stats by_name, by_shape, by_stack, by_shape_stack;
    HB_VEC(hb_kernel_op_stat) kernel_ops;
    HB_VEC(hb_kernel_stat) kernel_names; /* by total time, descending */
    bool kernel_names_float;             /* their times: pandas has all of a kind */
    bool kernel_means_int; /* so it does of weighted means: 0 where all took no time */
    double tc_used_ratio, tc_eligible_ratio;

    HB_VEC(hb_memory_record) memory; /* in order of time */
    uint32_t *node_records;          /* first record of a node, index + 1; NULL without memory */
    HB_VEC(hb_string_id) device_names;

    hb_module_stat *modules;
    uint32_t num_modules;

    hb_dict python_texts;        /* JSON text -> Python's text of it */
    hb_buf text;                 /* for texts in the making */
    HB_VEC(const char *) advice; /* HTML, as the plugin words it */
} hb_analysis;

/** A deeper tree the plugin analyses, but cannot send to its server: the run stays "loading". */
enum { HB_MAX_SENT_DEPTH = 196 };

/** Analyses `trace`, which must outlive the analysis. HB_ERROR_FORMAT when the plugin would lose
 * the file; analysis->arena.reason says why. Free it in any case. */
hb_result hb_analysis_run(hb_analysis *analysis, hb_trace *trace);
/** The same in two parts: steps, their roles and the GPUs, which the first view shows; and all
 * else, which takes several times as long and may fail where the first part did not. */
hb_result hb_analysis_begin(hb_analysis *analysis, hb_trace *trace);
hb_result hb_analysis_finish(hb_analysis *analysis);
/** Only steps, call trees, device work and memory, without the groups and advice of the views. */
hb_result hb_analysis_run_costs(hb_analysis *analysis, hb_trace *trace);
void hb_analysis_free(hb_analysis *analysis);

/** A step of which nothing is known but its times, in µs. */
typedef struct hb_told_step {
    int64_t number;
    double start, us[HB_ROLE_COUNT];
} hb_told_step;

/** In place of hb_analysis_begin(): of a trace without events whose steps were summed up before.
 * All else that an analysis finds is not known. */
hb_result hb_analysis_of_steps(hb_analysis *analysis, hb_trace *trace, const hb_told_step *steps,
                               uint32_t count);

/* ---- the stages ---- */
void hb_analyze_events(hb_analysis *a);
void hb_analyze_links(hb_analysis *a);
void hb_analyze_nodes(hb_analysis *a);
void hb_analyze_trees(hb_analysis *a);
void hb_analyze_backward(hb_analysis *a);
void hb_analyze_steps(hb_analysis *a);
void hb_analyze_overall(hb_analysis *a);
void hb_analyze_gpus(hb_analysis *a);
void hb_analyze_ops(hb_analysis *a);
void hb_analyze_tensor_cores(hb_analysis *a);
void hb_analyze_kernel_names(hb_analysis *a);
void hb_analyze_memory(hb_analysis *a);
void hb_analyze_modules(hb_analysis *a);
void hb_analyze_comms(hb_analysis *a);
void hb_analyze_advice(hb_analysis *a);

/* ---- what several of them need ---- */
_Noreturn HB_COLD HB_PRINTF(2, 3) void hb_reject_trace(hb_analysis *a, const char *format, ...);

static inline const hb_node_work *hb_work_of(const hb_analysis *a, const hb_node *node)
{
    return &a->works.items[node->work];
}

/** The same to be added to; holds until the next node gets its own. */
hb_node_work *hb_add_work(hb_analysis *a, hb_node *node);

/** Its time without that of its children and runtime calls. */
double hb_self_host(const hb_analysis *a, const hb_node *node);
/** Before a node gets other children than its own time is told by. */
void hb_keep_self_host(hb_analysis *a, hb_node *node);

/** What lies below a child lies below its parent, too. */
void hb_node_add_work_of_child(hb_analysis *a, hb_node *node, const hb_node *child);

static inline hb_str hb_node_name(const hb_analysis *a, const hb_node *node)
{
    return hb_trace_text(a->trace, node->name);
}

/** hb_name_class_of() of a trace's string, asked once. */
unsigned hb_name_class_slow(hb_analysis *a, hb_string_id name);
static inline unsigned hb_name_class(hb_analysis *a, hb_string_id name)
{
    unsigned bits = name < a->num_name_bits ? a->name_bits[name] : 0;
    return HB_LIKELY(bits) ? bits : hb_name_class_slow(a, name);
}

/** Python's is_operator_node(): what the operator and memory tables count. */
static inline bool hb_is_operator(hb_analysis *a, const hb_node *node)
{
    return node->class == HB_CLASS_PLAIN && node->type == HB_TYPE_OPERATOR &&
           !(hb_name_class(a, node->name) & HB_NAME_NO_OPERATOR);
}

/** What a child's sums make of its parent's. */
static inline uint8_t hb_floats_of_child(const hb_node *child)
{
    return (uint8_t)((child->floats & HB_FLOAT_DEVICE) |
                     (child->floats & HB_FLOAT_HOST ? HB_FLOAT_SELF_HOST : 0));
}

/** The index of a new, zeroed node. Moves the others. */
uint32_t hb_new_node(hb_analysis *a);
/** Children and own device work come before the node itself. Either list may be NULL. */
void hb_tree_collect(hb_analysis *a, hb_arena *arena, uint32_t node, hb_u32s *ops,
                     hb_u32s *kernels);
/** Each operator in the trees, children first. */
void hb_each_operator(hb_analysis *a,
                      void (*visit)(void *context, hb_analysis *a, const hb_node *op),
                      void *context);
/** Behind `last`, the parent's last child, which it then is. HB_NO_NODE: there are no children. */
void hb_node_add_child(hb_analysis *a, uint32_t parent, uint32_t *last, uint32_t child);
uint32_t hb_node_last_child(const hb_analysis *a, const hb_node *node);
/** By start, the longer one first: node indices, with hb_analysis.nodes as context. */
bool hb_node_before(const void *nodes, const void *x, const void *y);
void hb_tree_sort_children(hb_analysis *a, uint32_t node);

/** The GPU's id as Python writes it; a constant or the caller's text. */
const char *hb_gpu_text(const hb_gpu *gpu, char text[16]);

/** Groups `ops` by name alone, in order of first appearance. */
void hb_group_by_name(hb_analysis *a, hb_arena *arena, const hb_u32s *ops, hb_op_stats *stats);

/** Python's str() of a JSON text, interned; JSON text 0 gives "None". */
hb_string_id hb_python_text(hb_analysis *a, hb_string_id json);
/** The same of `json` that counts as false in Python: 0, "", null, [] ... */
bool hb_python_false(hb_str json);
hb_string_id hb_intern(hb_analysis *a, const char *text, size_t size);

/** An event's times as Python has them: an int or a float each, and their sum. */
static inline hb_num hb_row_ts(const hb_analysis *a, const hb_row *row)
{
    return (hb_num){hb_plugin_ts(a->trace, row), !(row->flags & HB_ROW_TS_INT)};
}

static inline hb_range hb_row_range(const hb_analysis *a, const hb_row *row)
{
    hb_num start = hb_row_ts(a, row);
    hb_num dur = {hb_plugin_dur(a->trace, row), !(row->flags & HB_ROW_DUR_INT)};
    return (hb_range){start, hb_num_add(start, dur)};
}

#endif
