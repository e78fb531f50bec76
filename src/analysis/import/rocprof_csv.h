/* SPDX-License-Identifier: MIT
 *
 * Tables that rocprof (v1), rocprofv2 and rocprofv3 write as CSV: a file for each kind of record,
 * together a set. What a file is its columns tell.
 */
#ifndef HB_IMPORT_ROCPROF_CSV_H
#define HB_IMPORT_ROCPROF_CSV_H

#include "import/csv_rows.h"
#include "import/id_index.h"
#include "import/import_set.h"

/* In the order in which the files of a set are read. */
typedef enum hb_rocprof_kind {
    HB_ROCPROF_NONE,
    HB_ROCPROF_AGENTS,
    HB_ROCPROF_KERNELS,
    HB_ROCPROF_CALLS,
    HB_ROCPROF_COPIES,
    HB_ROCPROF_MEMORY,
    HB_ROCPROF_COUNTERS,
    HB_ROCPROF_OTHERS, /* that no view shows */
    HB_ROCPROF_STATISTICS,
} hb_rocprof_kind;

/* Columns, under all names that they were given; compared in lower case, '-' as '_'. */
#define HB_ROCPROF_COLUMNS(X)                                                \
    X(GUID, "guid")                                                          \
    X(DOMAIN, "domain")                                                      \
    X(FUNCTION, "function")                                                  \
    X(PROCESS, "process_id|pid")                                             \
    X(THREAD, "thread_id|tid")                                               \
    X(AGENT, "agent_id|gpu_id")                                              \
    X(QUEUE, "queue_id")                                                     \
    X(STREAM, "stream_id")                                                   \
    X(DISPATCH, "dispatch_id")                                               \
    X(KERNEL, "kernel_id")                                                   \
    X(NAME, "kernel_name|kernelname")                                        \
    X(CORRELATION, "correlation_id")                                         \
    X(START, "start_timestamp|beginns")                                      \
    X(END, "end_timestamp|endns")                                            \
    X(LDS, "lds_block_size|group_segment_size|lds_per_workgroup|lds")        \
    X(SCRATCH, "scratch_size|private_segment_size|scratch_per_workitem|scr") \
    X(VGPRS, "vgpr_count|arch_vgpr_count|arch_vgpr|vgpr")                    \
    X(AGPRS, "accum_vgpr_count|accum_vgpr")                                  \
    X(SGPRS, "sgpr_count|sgpr")                                              \
    X(BLOCK_X, "workgroup_size_x")                                           \
    X(BLOCK_Y, "workgroup_size_y")                                           \
    X(BLOCK_Z, "workgroup_size_z")                                           \
    X(GRID_X, "grid_size_x")                                                 \
    X(GRID_Y, "grid_size_y")                                                 \
    X(GRID_Z, "grid_size_z")                                                 \
    X(GRID, "grid_size|grd")                                                 \
    X(BLOCK, "workgroup_size|wgr")                                           \
    X(DIRECTION, "direction")                                                \
    X(FROM, "source_agent_id")                                               \
    X(TO, "destination_agent_id")                                            \
    X(OPERATION, "operation")                                                \
    X(SIZE, "allocation_size")                                               \
    X(ADDRESS, "address")                                                    \
    X(COUNTER, "counter_name")                                               \
    X(VALUE, "counter_value")                                                \
    X(NODE, "node_id")                                                       \
    X(LOGICAL_NODE, "logical_node_id")                                       \
    X(AGENT_TYPE, "agent_type")                                              \
    X(FLAGS, "alloc_flags")                                                  \
    X(EXEC_MASK, "exec_mask")                                                \
    X(TOTAL, "totaldurationns")                                              \
    X(OTHER, "kind|index|queue_index|wave_size|sig|obj|dispatchns|completens|duration|category")

typedef enum hb_rocprof_column {
#define HB_ROCPROF_COLUMN_ENUM(key, names) HB_ROCPROF_##key,
    HB_ROCPROF_COLUMNS(HB_ROCPROF_COLUMN_ENUM)
#undef HB_ROCPROF_COLUMN_ENUM
        HB_ROCPROF_COLUMN_COUNT
} hb_rocprof_column;

typedef struct hb_rocprof_header {
    int at[HB_ROCPROF_COLUMN_COUNT]; /* index of the field; -1: none */
    hb_rocprof_kind kind;
    uint32_t count, num_counters;
    uint16_t counters[HB_CSV_MAX_FIELDS]; /* fields that none of the names above has */
} hb_rocprof_header;

/* A process of a set. */
typedef struct hb_rocprof_process {
    hb_import_process *p;
    hb_string_id guid; /* 0: none */
    bool has_pid;
    hb_id_index dispatches; /* to works + 1 */
} hb_rocprof_process;

typedef struct hb_rocprof_gpu {
    hb_str name, arch, json;
} hb_rocprof_gpu;

typedef struct hb_rocprof_set {
    hb_import *import;
    hb_arena *arena;
    hb_csv csv; /* being read */
    hb_rocprof_header header;
    uint64_t machine;   /* a set is of one */
    int64_t pid, rank;  /* in the files' names; -1: none */
    const char *name;   /* what these begin and end with; "": nothing */
    const char *host;   /* as directories are called; "" */
    bool of_root;       /* the present file's name has nothing more before its kind */
    bool has_agents;    /* their numbers among the GPUs are told */
    hb_id_index agents; /* logical numbers to a GPU's number + 2, of a processor to 1 */
    HB_VEC(hb_rocprof_gpu) gpus;
    HB_VEC(hb_rocprof_process) processes;
    hb_id_index kernels;   /* kernel ids to names */
    hb_string_id category; /* of the last call, and what it is */
    enum hb_import_part part;
} hb_rocprof_set;

/** The rows of the present file. */
void hb_rocprof_read_rows(hb_rocprof_set *set);

/** All files were read. */
void hb_rocprof_finish(hb_rocprof_set *set);
void hb_rocprof_set_free(hb_rocprof_set *set);

#endif
