/* SPDX-License-Identifier: MIT
 *
 * What hipboard uses of rocprofiler-sdk's binary interface, declared here so that building needs
 * none of ROCm. The library knows two of them: 0.4 to 0.6 (ROCm 6.2 to 6.4) and 1.x (ROCm 7); they
 * differ in the record that callbacks get by value and in the client's description. Records begin
 * with their size and only grow at the end: fields behind those declared here are of no interest.
 */
#ifndef HB_HIP_ROCPROFILER_ABI_H
#define HB_HIP_ROCPROFILER_ABI_H

#include <stddef.h>
#include <stdint.h>

/* The same numbers in all of these versions. */
enum {
    HB_ROCP_SUCCESS = 0,
    HB_ROCP_ENTER = 1, /* phases of a callback; a code object: is loaded, will be unloaded */
    HB_ROCP_EXIT = 2,
    HB_ROCP_CALLBACK_HIP_RUNTIME = 5, /* kinds of callbacks */
    HB_ROCP_CALLBACK_CODE_OBJECT = 10,
    HB_ROCP_CALLBACK_RCCL = 14, /* since 0.5 */
    HB_ROCP_KERNEL_SYMBOL = 2,  /* an operation of code objects */
    HB_ROCP_RECORD_TRACING = 1, /* a category of buffered records, and two kinds of it */
    HB_ROCP_RECORD_MEMORY_COPY = 10,
    HB_ROCP_RECORD_DISPATCH = 11,
    HB_ROCP_COPY_HOST_TO_DEVICE = 2, /* operations of memory copies; 1 is from host to host */
    HB_ROCP_COPY_DEVICE_TO_HOST = 3,
    HB_ROCP_COPY_DEVICE_TO_DEVICE = 4,
    HB_ROCP_LOSSLESS = 2, /* a buffer that is full is handed over at once */
    HB_ROCP_AGENT_VERSION = 1,
    HB_ROCP_AGENT_GPU = 2,
};

/** Contexts, buffers, agents and queues have handles; 0 is none. */
typedef struct hb_rocp_id {
    uint64_t handle;
} hb_rocp_id;

typedef struct hb_rocp_dim3 {
    uint32_t x, y, z;
} hb_rocp_dim3;

/* ---- callbacks ---- */

typedef struct hb_rocp_callback_0 {
    hb_rocp_id context;
    uint64_t thread;
    uint64_t correlation, external;
    uint32_t kind;
    int32_t operation;
    uint32_t phase;
    void *payload;
} hb_rocp_callback_0;

_Static_assert(sizeof(hb_rocp_callback_0) == 56, "as in rocprofiler-sdk 0.4 to 0.6");
_Static_assert(offsetof(hb_rocp_callback_0, correlation) == 16, "");
_Static_assert(offsetof(hb_rocp_callback_0, phase) == 40, "");
_Static_assert(offsetof(hb_rocp_callback_0, payload) == 48, "");

typedef struct hb_rocp_callback_1 {
    hb_rocp_id context;
    uint64_t thread;
    uint64_t correlation, external, ancestor;
    uint32_t kind;
    int32_t operation;
    uint32_t phase;
    void *payload;
} hb_rocp_callback_1;

_Static_assert(sizeof(hb_rocp_callback_1) == 64, "as in rocprofiler-sdk 1.x");
_Static_assert(offsetof(hb_rocp_callback_1, correlation) == 16, "");
_Static_assert(offsetof(hb_rocp_callback_1, phase) == 48, "");
_Static_assert(offsetof(hb_rocp_callback_1, payload) == 56, "");

/** The payload of a call of HIP or RCCL: its arguments follow, then, at the end, what it returned.
 */
typedef struct hb_rocp_hip_call {
    uint64_t size;
} hb_rocp_hip_call;

#define HB_ROCP_RESULT_BYTES 24u /* the union of all kinds of results */

/** The payload of a kernel symbol. 0.4 and 0.5 end with these fields. */
typedef struct hb_rocp_kernel_symbol {
    uint64_t size;
    uint64_t kernel_id, code_object_id;
    const char *name; /* mangled, ".kd" behind it */
    uint64_t kernel_object;
    uint32_t kernarg_bytes, kernarg_alignment;
    uint32_t group_bytes, private_bytes; /* static LDS and scratch */
    uint32_t sgprs, arch_vgprs, accum_vgprs;
    uint32_t padding;
} hb_rocp_kernel_symbol;

_Static_assert(sizeof(hb_rocp_kernel_symbol) == 72, "88 since 0.6");
_Static_assert(offsetof(hb_rocp_kernel_symbol, kernel_id) == 8, "");
_Static_assert(offsetof(hb_rocp_kernel_symbol, name) == 24, "");
_Static_assert(offsetof(hb_rocp_kernel_symbol, group_bytes) == 48, "");
_Static_assert(offsetof(hb_rocp_kernel_symbol, sgprs) == 56, "");
_Static_assert(offsetof(hb_rocp_kernel_symbol, accum_vgprs) == 64, "");

/* ---- buffered records ---- */

typedef struct hb_rocp_header {
    uint32_t category, kind;
    void *payload;
} hb_rocp_header;

_Static_assert(sizeof(hb_rocp_header) == 16, "");

/** What every record of work begins with. */
typedef struct hb_rocp_work {
    uint64_t size;
    uint32_t kind, operation;
    uint64_t correlation, external;
    uint64_t thread;
    uint64_t begin_ns, end_ns;
} hb_rocp_work;

_Static_assert(sizeof(hb_rocp_work) == 56, "");
_Static_assert(offsetof(hb_rocp_work, correlation) == 16, "");
_Static_assert(offsetof(hb_rocp_work, begin_ns) == 40, "");

typedef struct hb_rocp_dispatch {
    hb_rocp_work work;
    uint64_t info_size; /* of what follows, as far as it is used */
    hb_rocp_id agent, queue;
    uint64_t kernel_id, dispatch_id;
    uint32_t private_bytes, group_bytes; /* group: static and dynamic */
    hb_rocp_dim3 workgroup, grid;        /* both in work-items */
} hb_rocp_dispatch;

_Static_assert(sizeof(hb_rocp_dispatch) == 56 + 72, "184 with what it keeps free");
_Static_assert(offsetof(hb_rocp_dispatch, kernel_id) == 56 + 24, "");
_Static_assert(offsetof(hb_rocp_dispatch, group_bytes) == 56 + 44, "");
_Static_assert(offsetof(hb_rocp_dispatch, grid) == 56 + 60, "");

typedef struct hb_rocp_memory_copy {
    hb_rocp_work work;
    hb_rocp_id to, from; /* agents */
    uint64_t bytes;
} hb_rocp_memory_copy;

_Static_assert(sizeof(hb_rocp_memory_copy) == 80, "96 in 1.x");
_Static_assert(offsetof(hb_rocp_memory_copy, bytes) == 72, "");

/* ---- agents ---- */

/** The rest, of no interest here, is of other sizes in other versions. */
typedef struct hb_rocp_agent {
    uint64_t size;
    hb_rocp_id id;
    uint32_t type;
    uint32_t counts[22]; /* of cores, caches, ... */
    uint32_t location;   /* PCI bus, device and function: 8, 5 and 3 bits */
    uint32_t domain;     /* PCI */
    uint32_t numbers[33];
    const char *name, *vendor, *product, *model;
    uint32_t node; /* the driver's number */
    uint32_t logical_node;
} hb_rocp_agent;

_Static_assert(sizeof(hb_rocp_agent) == 288, "296 to 312");
_Static_assert(offsetof(hb_rocp_agent, type) == 16, "");
_Static_assert(offsetof(hb_rocp_agent, location) == 108, "");
_Static_assert(offsetof(hb_rocp_agent, domain) == 112, "");
_Static_assert(offsetof(hb_rocp_agent, name) == 248, "");
_Static_assert(offsetof(hb_rocp_agent, node) == 280, "");

/* ---- clients ---- */

typedef struct hb_rocp_client_0 {
    const char *name;
    uint32_t handle;
} hb_rocp_client_0;

typedef struct hb_rocp_client_1 {
    size_t size;
    const char *name;
    uint32_t handle;
} hb_rocp_client_1;

_Static_assert(offsetof(hb_rocp_client_1, name) == 8, "");

typedef struct hb_rocp_tool {
    size_t size;
    int (*initialize)(void (*finalize)(void *client), void *arg);
    void (*finalize)(void *arg);
    void *arg;
} hb_rocp_tool;

_Static_assert(sizeof(hb_rocp_tool) == 32, "");

/** `client` is an hb_rocp_client_0 or _1. */
typedef hb_rocp_tool *(*hb_rocp_configure)(uint32_t version, const char *version_text,
                                           uint32_t priority, void *client);

#endif
