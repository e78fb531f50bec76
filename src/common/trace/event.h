/* SPDX-License-Identifier: MIT
 *
 * The vocabulary of the trace: one event, and what is known about the whole.
 *
 * Recording, reading and importing all produce these; writing and analysis consume them. An event
 * is a short-lived row, filled in by a source (source.h) and valid until the next one is asked for.
 */
#ifndef HB_TRACE_EVENT_H
#define HB_TRACE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hipboard/hipboard.h>

#include "base/str.h"
#include "rules/name_class.h"

enum hb_trace_event_flags {
    HB_TEV_UNFINISHED = 1u << 0,    /* still open at the end; end_ns is the window's end */
    HB_TEV_ASYNC = 1u << 1,         /* began and ended on different threads */
    HB_TEV_OUT_OF_MEMORY = 1u << 2, /* MEMORY: the allocation failed */
    HB_TEV_COMMUNICATION =
        1u << 3, /* OP, KERNEL: between ranks; its values have keys that readers know */
    HB_TEV_ANNOTATED =
        1u << 4,              /* COMMUNICATION: an annotation of the same times stands around it */
    HB_TEV_MINOR = 1u << 5,   /* RUNTIME: the compiler's or the runtime's own, no operator */
    HB_TEV_NO_CALL = 1u << 6, /* device work whose call is not in the trace */
    HB_TEV_REPLAY = 1u << 7,  /* RUNTIME, and its work: runs operators that a graph holds */
};

/** An operator's inputs and pairing. */
typedef struct hb_op_args {
    const hb_input *inputs; /* strides are always given for tensors */
    uint32_t num_inputs;
    double flops;
    uint64_t sequence_number; /* 0: none */
    uint64_t forward_thread;  /* 0: a forward operator */
    uint64_t thread_number;   /* hb_thread_number() of the event's own thread */
    hb_str stack;             /* innermost frame first, each "file(line): function;" */
    hb_str category;          /* the program's own; empty: none */
    hb_str torch_name;        /* what it is called in Kineto's dialect; empty: as it is called */
    const hb_arg *args;       /* its typed values */
    uint32_t num_args;
} hb_op_args;

typedef struct hb_counter_args {
    double value;
    hb_str unit; /* empty: none */
} hb_counter_args;

typedef struct hb_flow_args {
    uint64_t id;
    hb_flow_phase phase;
} hb_flow_args;

/** A module's frame. Ids count from 1 in order of start over all threads. */
typedef struct hb_module_args {
    uint64_t python_id, parent_id; /* parent 0: none */
    uint32_t module_id;            /* index within its class */
} hb_module_args;

typedef struct hb_memory_args {
    hb_device_type device_type;
    int32_t device_id; /* -1 for the CPU */
    uint64_t addr;
    int64_t bytes, total_allocated, total_reserved;
    bool held;    /* allocated before the cycle, and in the totals of all its records */
    hb_str owner; /* then: the operator that allocated it, if that is known */
} hb_memory_args;

typedef struct hb_kernel_args {
    uint32_t grid[3], block[3];         /* blocks, threads */
    bool has_grid;                      /* grid and block are known */
    bool has_resources;                 /* the six below are known */
    uint32_t vgprs, sgprs, agprs;       /* per thread, per wave, per thread */
    uint32_t lds_bytes, scratch_bytes;  /* static + dynamic, per block; per thread */
    double blocks_per_sm, warps_per_sm; /* 0: unknown */
    double occupancy;                   /* percent, estimated; < 0: unknown */
    const char *limiting_factor;        /* "VGPRS", "LDS", ... or NULL */
} hb_kernel_args;

typedef struct hb_copy_args {
    uint64_t bytes;   /* 0: unknown */
    const char *kind; /* "HtoD", "DtoH", "DtoD", "HtoH", "PtoP"; fills: "Device"; NULL: unknown */
    int32_t from_device, to_device; /* PtoP only */
} hb_copy_args;

typedef struct hb_runtime_args {
    uint32_t cid;  /* the runtime's own number of the call */
    int32_t error; /* hipError_t; 0: success */
    hb_str error_name;
    bool launches; /* starts device work: begins an ac2g flow */
    double flops;  /* REPLAY: of those operators */
    /* launches: */
    uint32_t grid[3], block[3];
    uint32_t shared_bytes;
    bool has_grid;
    hb_str kernel;   /* its name; empty: not known */
    uint64_t stream; /* hipStream_t */
    /* copies and allocations: */
    uint64_t ptr, src, bytes;
    hb_str kind; /* hipMemcpyKind as a number in text; "" when not a copy */
    /* where the program made the call: */
    hb_str stack;        /* as an operator's */
    const uint64_t *pcs; /* return addresses, innermost first */
    uint32_t num_pcs;
} hb_runtime_args;

typedef struct hb_trace_event {
    hb_event_kind kind;
    unsigned flags; /* enum hb_trace_event_flags */
    hb_str name;
    uint32_t name_key;        /* same key, same name, within one source; 0: none given */
    int64_t start_ns, end_ns; /* Unix time */
    int64_t tid;              /* host: kernel thread id; device: stream */
    int32_t device;           /* HIP ordinal; -1 on the host */
    uint64_t external_id;     /* 0: none */
    uint64_t correlation;     /* joins a runtime call with its device work; 0: none */
    const hb_arg *args;       /* device work, calls: what is known beyond the fields below */
    uint32_t num_args;
    union {
        hb_op_args op;           /* OP, USER_ANNOTATION */
        hb_module_args module;   /* MODULE */
        hb_memory_args memory;   /* MEMORY */
        double scalar;           /* SCALAR */
        hb_counter_args counter; /* COUNTER */
        hb_flow_args flow;       /* FLOW */
        hb_kernel_args kernel;   /* KERNEL */
        hb_copy_args copy;       /* MEMCPY, MEMSET */
        hb_runtime_args runtime; /* RUNTIME, SYNC */
    };
} hb_trace_event;

/** How long it lasts; 0 where it ends before it begins, as in damaged records. */
static inline uint64_t hb_event_ns(const hb_trace_event *event)
{
    return event->end_ns > event->start_ns ? (uint64_t)event->end_ns - (uint64_t)event->start_ns
                                           : 0;
}

/** What traces call a MEMORY event. */
static inline hb_str hb_memory_event_name(const hb_trace_event *e)
{
    return hb_known_text(e->flags & HB_TEV_OUT_OF_MEMORY ? HB_KNOWN_OUT_OF_MEMORY
                                                         : HB_KNOWN_MEMORY);
}

/** A step on the host: also an operator of such a name, which the writer makes one and the plugin
 * takes for one. */
static inline bool hb_event_is_step(const hb_trace_event *event)
{
    bool scope = event->kind == HB_EVENT_OP || event->kind == HB_EVENT_USER_ANNOTATION;
    return scope && hb_is_step(event->name);
}

typedef struct hb_thread_info {
    int64_t tid;
    const char *name;
} hb_thread_info;

typedef struct hb_stream_info {
    int32_t device;
    int64_t stream;
} hb_stream_info;

/** A metadata entry: `json` is valid JSON text on one line. */
typedef struct hb_metadata {
    const char *key, *json;
} hb_metadata;

/** deviceProperties, in the order of Kineto's ROCm build, and beyond it. */
typedef struct hb_device_info {
    int32_t id;              /* HIP ordinal */
    const char *name, *arch; /* "AMD Instinct MI300X", "gfx942" */
    uint64_t total_global_mem;
    int32_t compute_major, compute_minor;
    int32_t max_threads_per_block, max_threads_per_cu;
    int32_t regs_per_block, warp_size;
    uint64_t shared_mem_per_block;
    int32_t num_cus;
    uint64_t max_shared_mem_per_cu;
    /* What peaks follow from (gpu/peaks.h), written where it is known; 0: not known. */
    int32_t clock_khz, memory_khz, memory_bus_bits;
} hb_device_info;

/** What is known about a whole trace. Arrays and texts belong to the source. */
typedef struct hb_trace_info {
    int64_t start_ns, stop_ns; /* the capture window, Unix time */
    int64_t pid;
    const char *process_name, *host_name;
    const char *trace_id; /* 32 upper-case hex digits */
    bool record_shapes, profile_memory, with_stack, with_flops, with_modules;
    const char *distributed_json; /* or NULL */
    const hb_metadata *metadata;  /* the user's and hipboard's own, in order */
    size_t num_metadata;
    const hb_thread_info *threads;
    size_t num_threads;
    const hb_device_info *devices;
    size_t num_devices;
    const hb_stream_info *streams; /* those with events, sorted by device and stream */
    size_t num_streams;
    int hip_runtime_version, hip_driver_version; /* 0: no HIP */
    const char *tracer_key, *tracer_version;     /* "rocprofiler-sdk_version", "1.2", or NULL */
    bool has_sequences;                          /* some operator has a sequence number */
    bool has_time_slices; /* the steps are hipboard's own, not the program's */
    bool finds_operators; /* of library calls, without marks: HIP calls beside them are some, too */
} hb_trace_info;

#endif
