/* SPDX-License-Identifier: MIT
 *
 * What hipboard knows about the functions of the HIP runtime: which to hide, and where in the
 * arguments that the runtime hands to a profiling callback the interesting ones lie.
 */
#ifndef HB_HIP_CALL_LAYOUTS_H
#define HB_HIP_CALL_LAYOUTS_H

#include "base/base.h"

/** hip_api_data_t begins so, in all versions; its arguments, as the runtime lays them out, follow.
 */
typedef struct hb_hip_api_head {
    uint64_t correlation_id;
    uint32_t phase; /* 0: enter, 1: exit */
    uint32_t padding;
} hb_hip_api_head;

enum hb_call_kind {
    HB_CALL_PLAIN = 0,
    HB_CALL_WORK,         /* makes device work of which the arguments tell nothing here */
    HB_CALL_HIDDEN,       /* reads or sets a variable of its thread: costs and orders nothing */
    HB_CALL_LAUNCH_HOST,  /* a kernel by its host function */
    HB_CALL_LAUNCH,       /* a kernel by its hipFunction_t */
    HB_CALL_LAUNCH_ITEMS, /* the same, its grid in work-items */
    HB_CALL_COPY,
    HB_CALL_COPY_2D, /* width and height at `bytes` and behind it */
    HB_CALL_COPY_PEER,
    HB_CALL_FILL,
    HB_CALL_FILL_2D,
    HB_CALL_ALLOCATE, /* device memory */
    HB_CALL_ALLOCATE_MANAGED,
    HB_CALL_ALLOCATE_HOST, /* pinned */
    HB_CALL_ALLOCATE_PITCH,
    HB_CALL_FREE,
    HB_CALL_FREE_HOST,
    HB_CALL_WAIT, /* synchronisation */
    HB_CALL_ON_STREAM,
    HB_CALL_GRAPH_LAUNCH,
    HB_CALL_MAKE_GRAPH,   /* an executable one */
    HB_CALL_UPDATE_GRAPH, /* which does what another graph does from now on */
    HB_CALL_BEGIN_CAPTURE,
    HB_CALL_END_CAPTURE,
    HB_CALL_UNLOAD, /* code objects go, their functions' addresses may come back as others */
    HB_CALL_DESTROY_STREAMS, /* the same of streams */
    HB_CALL_DESTROY_POOL,
};

#define HB_NO_ARG 0xff

/** Offsets are from the first argument; HB_NO_ARG: there is none. */
typedef struct hb_hip_call {
    const char *name;
    uint8_t kind;  /* enum hb_call_kind */
    uint8_t ptr;   /* launches: the function; copies: destination; allocations: void **; frees;
                    * graphs: the one that is made or changed */
    uint8_t src;   /* copies: source; allocations: where the pitch is returned, or the pool;
                    * launches: a structure that has their grid, block, dynamic LDS and stream;
                    * executable graphs: the graph */
    uint8_t bytes; /* size_t; launches: dynamic LDS */
    uint8_t copy;  /* copies: hipMemcpyKind; peer copies: the source's device */
    uint8_t unit;  /* fills: the size of an element; peer copies: offset of the target's device;
                    * other work: words of looked-up values in front of the stream */
    uint8_t stream;
    /** The parameters up to the last that is of interest, one character each: p a pointer or 64-bit
     * number, P a pointer behind which the runtime puts what it finds there, C the same of a
     * launch's structure, A, B, Q, R, S and X of others, i a number of up to 32 bits, D a dim3.
     * NULL: none is. */
    const char *shape;
} hb_hip_call;

/** The row of a function; one without name for those not in the table, of kind HB_CALL_WORK if they
 * are called like copies, fills and launches, else HB_CALL_PLAIN. The per-thread-stream twins
 * "..._spt" have their original's row. */
const hb_hip_call *hb_hip_call_named(const char *name);

/** The same where the arguments lie one after the other, as in a C structure of them, without the
 * values that hip_prof_str.h puts behind some pointers. */
hb_hip_call hb_hip_call_unexpanded(const hb_hip_call *row);

/** The same as hip_prof_str.h of that release (604: HIP 6.4) lays it out: in HIP 5 one structure
 * that it looks into was shorter than since. */
hb_hip_call hb_hip_call_of_release(const hb_hip_call *row, int release);

enum { HB_HIP_ARGS_BYTES = 208 };

/** Lays parameters out as the runtime does for its callbacks. `words`: as the processor's calling
 * convention has them, a dim3 in two. */
void hb_hip_call_arrange(const hb_hip_call *call, const uint64_t *words, char *args);

static inline bool hb_hip_call_has_config(const hb_hip_call *call)
{
    bool launch = call->kind == HB_CALL_LAUNCH || call->kind == HB_CALL_LAUNCH_HOST;
    return launch && call->src != HB_NO_ARG;
}

/** All rows, for tests. */
const hb_hip_call *hb_hip_calls(size_t *count);

#endif
