/* SPDX-License-Identifier: MIT
 *
 * What the plugin does not tell, or tells wrongly for AMD GPUs: how each GPU's time divides, where
 * it was idle and what the host did then, kernels by class, matrix cores, and what to do about it.
 * Made from the trace itself, not from the plugin's analysis, so also of files that it loses:
 *
 *   work.c              kernels and copies with their launches; kernels by name and class
 *   copies.c            copies and fills by kind
 *   gpu_time.c          each GPU's and stream's time, gaps
 *   host_activity.c     what a host thread was doing at a time
 *   facts.c             how processes talk, how full GPUs' memory is
 *   findings.c          what to do about it
 *   roofline.c          what operators achieved, when that is asked for
 */
#ifndef HB_INSIGHT_INSIGHT_H
#define HB_INSIGHT_INSIGHT_H

#include "base/hash_map.h"
#include "rules/advice.h"
#include "rules/kernel_class.h"
#include "trace/edges.h"
#include "trace/host_nest.h"
#include "trace/intervals.h"
#include "trace/trace.h"

#define HB_NO_LAUNCH HB_NO_EVENT

typedef enum hb_work_kind {
    HB_WORK_COMPUTATION,
    HB_WORK_COMMUNICATION,
    HB_WORK_COPY, /* copies and fills */
    HB_WORK_KINDS
} hb_work_kind;

/** A kernel, copy or fill. Times in µs. */
typedef struct hb_work {
    double start, end;
    uint32_t row;
    uint32_t launch; /* row of the call that started it, or else of its operator; HB_NO_LAUNCH */
    uint32_t stream; /* index */
    uint8_t kind;    /* hb_work_kind */
} hb_work;

/** Kernels of one name. */
typedef struct hb_kernel_sum {
    hb_string_id name;
    uint32_t class; /* index */
    hb_matrix_verdict matrix;
    uint64_t calls;
    double total;
    double occupied, occupancy; /* time with a known occupancy; that times the occupancy */
    double limited;             /* time of the launches that name `limit` */
    hb_string_id
        limit; /* JSON text of what limits the occupancy of most of the time; 0: not known */
} hb_kernel_sum;

typedef struct hb_class_sum {
    hb_str name;
    uint64_t kernels, calls;
    double total, matrix, no_matrix; /* times; the rest is unknown */
} hb_class_sum;

/** Copies or fills of one name on one GPU. */
typedef struct hb_copy_sum {
    uint32_t gpu; /* index */
    hb_string_id name;
    uint64_t calls;
    double bytes, total, longest;
    double timed; /* time of those whose bytes are known */
} hb_copy_sum;

typedef struct hb_gpu_sum {
    uint32_t pid; /* index of hb_trace.keys */
    double start, end, busy;
    double kinds[HB_WORK_KINDS];  /* time in which there was any of it */
    double exposed_communication; /* beside no computation */
    double exposed_copy;          /* beside neither */
    double idle[3];               /* by hb_idle */
    double largest_gap;
    uint64_t gaps;
} hb_gpu_sum;

/** Why a GPU or stream had nothing to do. */
typedef enum hb_idle {
    HB_IDLE_LATE,   /* the next work was launched only after the last had ended */
    HB_IDLE_QUEUED, /* it was launched before, and waited: for other streams, events, the queue */
    HB_IDLE_UNKNOWN /* the launch is not in the trace */
} hb_idle;

typedef struct hb_stream_sum {
    uint32_t gpu, tid; /* index; index of hb_trace.keys */
    uint64_t works, gaps;
    double busy, largest_gap, last_end; /* last_end: while gaps are looked for */
    double idle[3];
} hb_stream_sum;

/** What a host thread did most of a time. */
typedef struct hb_cover {
    hb_string_id call, op; /* a runtime call and the operator around it, or an operator; 0: none */
    bool many;             /* neither: calls cover most of it, but no single one does */
} hb_cover;

typedef struct hb_gap {
    double start, end;
    uint32_t gpu;
    uint32_t next; /* the work that ended it */
    hb_idle idle;
    hb_cover cover;
} hb_gap;

typedef struct hb_gap_cause {
    uint32_t gpu;
    hb_idle idle;
    hb_cover cover;
    uint64_t gaps;
    double total, largest;
} hb_gap_cause;

/** A host thread's calls: places of hb_insight.hosts. */
typedef struct hb_host_thread {
    uint32_t tid; /* index of hb_trace.keys */
    uint32_t first, end;
} hb_host_thread;

/** Advice, most important first. */
typedef struct hb_advice {
    const char *rule; /* a short name */
    const char *text, *evidence;
    double weight; /* share of time that it is about */
} hb_advice;

typedef struct hb_insight {
    hb_arena arena;
    const hb_trace *trace;
    hb_kernel_rules rules;
    double first;          /* when the first event of all began */
    HB_VEC(hb_work) works; /* by start */
    HB_VEC(hb_kernel_sum) kernels;
    HB_VEC(hb_class_sum) classes;
    HB_VEC(hb_copy_sum) copies; /* by total, descending */
    HB_VEC(hb_gpu_sum) gpus;
    HB_VEC(hb_stream_sum) streams;
    HB_VEC(hb_gap) gaps;         /* by length, descending */
    HB_VEC(hb_gap_cause) causes; /* by total, descending */
    HB_VEC(hb_host_thread) threads;
    hb_host_nest hosts; /* what they did */
    hb_dict thread_of;  /* index of hb_trace.keys -> index of threads */
    HB_VEC(hb_advice) advice;
    hb_buf text; /* for texts in the making */
} hb_insight;

/** A file with code objects. */
typedef struct hb_insight_code {
    const void *data;
    size_t size;
} hb_insight_code;

/** What is known beside the trace; all of it may be absent, and must outlive the result. */
typedef struct hb_insight_inputs {
    const char *rules_path; /* a user's rules of kernels' names: of which file, and their text */
    hb_str rules;
    hb_insight_code *codes;
    size_t num_codes;
    /* __cxa_demangle(); NULL: C++ kernels are not recognised */
    char *(*demangle)(const char *name, char *buffer, size_t *size, int *status);
} hb_insight_inputs;

/** Resolves the trace's edges. HB_ERROR_FORMAT for rules that are wrong. Free it in any case. */
hb_result hb_insight_run(hb_insight *in, hb_trace *trace, const hb_insight_inputs *inputs);
void hb_insight_free(hb_insight *in);

/* ---- the stages ---- */
void hb_insight_works(hb_insight *in);
void hb_insight_hosts(hb_insight *in);
void hb_insight_copies(hb_insight *in);
void hb_insight_gpus(hb_insight *in);
void hb_insight_advice(hb_insight *in);

/* ---- what several of them need ---- */
static inline double hb_insight_end(const hb_row *row)
{
    return hb_ns_to_us(hb_row_end(row));
}

static inline hb_str hb_insight_name(const hb_insight *in, uint32_t row)
{
    return hb_trace_text(in->trace, hb_trace_row(in->trace, row)->name);
}

/** What limits the kernels' occupancy, without JSON's quotes; empty when it is not known. */
static inline hb_str hb_insight_limit(const hb_insight *in, const hb_kernel_sum *kernel)
{
    hb_str s = kernel->limit ? hb_trace_text(in->trace, kernel->limit) : HB_STR("");
    bool quoted = s.len >= 2 && *s.s == '"';
    return (hb_str){s.s + quoted, s.len - 2 * quoted};
}

/** The runtime call in which a thread was at `time`; 0: in none, or the thread is not known. */
hb_string_id hb_insight_runtime_at(const hb_insight *in, uint32_t launch, double time);

/** What covers most of a window on the thread of `launch`. */
hb_cover hb_insight_host_at(const hb_insight *in, uint32_t launch, double start, double end);

/* ---- facts.c ---- */
hb_distributed_facts hb_insight_distribution(const hb_insight *in);

typedef struct hb_gpu_memory {
    int64_t gpu;
    double peak, capacity; /* bytes; capacity 0: not known */
} hb_gpu_memory;
typedef HB_VEC(hb_gpu_memory) hb_gpu_memories;

/** Of each GPU that memory was recorded of. */
hb_gpu_memories hb_insight_memories(hb_insight *in);

#endif
