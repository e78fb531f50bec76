/* SPDX-License-Identifier: MIT
 *
 * What lies in a spool: the file (or anonymous memory) in which a process keeps its records until
 * they are traces. It is read by the process itself after a cycle, and by `hipboard recover` after
 * a crash, which may be another build: hence magic, version, byte order and sizes at its start.
 *
 *   chunk 0        hb_spool_header
 *   chunk 1..      each begins with an hb_chunk:
 *     SESSION      one recorded cycle: clocks, flags, head of its list of threads
 *     EVENTS       records of one thread in one session, in the order of their start
 *     STRINGS      a piece of the process's string table (a run of chunks)
 *     FREE         none of these
 *
 * A chunk's `used` is stored after the record that it takes in, so whatever moment the process is
 * stopped at, the bytes below `used` are whole records. Chunk indices stand for pointers; 0 is
 * none.
 */
#ifndef HB_RECORD_FORMAT_H
#define HB_RECORD_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "record/clock.h"

#define HB_SPOOL_MAGIC   "HBSPOOL"
#define HB_SPOOL_VERSION 2u
#define HB_SPOOL_ENDIAN  0x01020304u
#define HB_SPOOL_SUFFIX  ".hbspool"

#define HB_CHUNK_BYTES 65536u
#define HB_RECORD_MAX  32768u

/** Where the fields lie that it takes to find every record and its name: a reader that shares them
 * can read the spool, whatever build wrote it. */
typedef struct hb_spool_layout {
    uint32_t chunk_bytes, chunk_header_bytes, session_bytes, record_header_bytes;
    uint16_t chunk_kind, chunk_used, chunk_session, chunk_next, chunk_next_thread, chunk_first_id,
        chunk_string_offset, chunk_tid;
    uint16_t session_number, session_older, session_state, session_first_thread, session_start,
        session_later;
    uint16_t record_start, record_end, record_name, record_type, record_flags, record_units;
} hb_spool_layout;

typedef struct hb_spool_header {
    char magic[8];
    uint32_t version, endian;
    hb_spool_layout layout;
    int64_t pid, created_unix_ns;
    uint32_t num_chunks;    /* chunks in the file */
    uint32_t first_session; /* newest first, by hb_session.older */
    uint32_t first_strings; /* newest first, by hb_chunk.next */
    uint32_t reserved;
    char host_name[256], process_name[256], worker_name[512];
} hb_spool_header;

enum hb_chunk_kind {
    HB_CHUNK_FREE = 0,
    HB_CHUNK_EVENTS = 1,
    HB_CHUNK_SESSION = 2,
    HB_CHUNK_STRINGS = 3,
};

typedef struct hb_chunk {
    uint32_t kind;
    uint32_t used;        /* bytes, this header included */
    uint32_t session;     /* number */
    uint32_t next;        /* EVENTS: the thread's next chunk; FREE, STRINGS: the list's next */
    uint32_t next_thread; /* EVENTS: a thread's first chunk: the next thread's first */
    uint32_t thread;      /* EVENTS: hb_thread_number() */
    int64_t tid;
    uint64_t first_id;      /* EVENTS: External id of its first scope; later scopes count on */
    uint64_t string_offset; /* STRINGS: where its bytes stand in the string table */
    char thread_name[32];
} hb_chunk;

enum hb_session_flags {
    HB_SESSION_SHAPES = 1u << 0,
    HB_SESSION_MEMORY = 1u << 1,
    HB_SESSION_STACK = 1u << 2,
    HB_SESSION_FLOPS = 1u << 3,
    HB_SESSION_MODULES = 1u << 4,
};

enum hb_session_state {
    HB_SESSION_RECORDING = 1,
    HB_SESSION_STOPPED = 2,
    HB_SESSION_SAVED = 3, /* is a trace; recovery passes over it */
};

/** One recorded cycle. Stands behind the hb_chunk of its SESSION chunk. */
typedef struct hb_session {
    uint32_t number, older;
    uint32_t state, flags;
    uint32_t first_thread; /* chunk index, by hb_chunk.next_thread */
    uint32_t finalized;    /* the passes of session.c were made */
    int64_t cycle;
    int64_t slice_ns; /* hb_profiler_options.time_slice_ns */
    hb_clock_pair start;
    hb_clock_pair later[2]; /* the newest is whole whenever the process is stopped */
    uint32_t newest, reserved;
    uint64_t lost[6]; /* hb_lost, in its order */
    char trace_id[40];
} hb_session;

/** The session's newest clock pair: of its stop once it is STOPPED. */
static inline const hb_clock_pair *hb_session_last(const hb_session *session)
{
    return &session->later[session->newest & 1];
}

/* ---- records ---- */

enum hb_record_type {
    HB_RECORD_ANNOTATION = 1,
    HB_RECORD_OP = 2,
    HB_RECORD_MODULE = 3,
    HB_RECORD_MEMORY = 4,
    HB_RECORD_SCALAR = 5,
    HB_RECORD_METADATA = 6,
    /* HIP, written by src/device */
    HB_RECORD_CALL = 7, /* these four begin with an hb_record_call */
    HB_RECORD_LAUNCH = 8,
    HB_RECORD_COPY = 9,
    HB_RECORD_ALLOCATION = 10,
    HB_RECORD_WORK = 11,     /* what a device did */
    HB_RECORD_LINK = 12,     /* one more piece of work of a call */
    HB_RECORD_DEVICE = 13,   /* a device's properties */
    HB_RECORD_DISPATCH = 14, /* WORK that is a kernel, and knows all of it */
};

enum hb_record_flags {
    HB_RECORD_ASYNC = 1u << 0,    /* ended by another thread */
    HB_RECORD_SEQUENCE = 1u << 1, /* these four: which parts follow, in this order */
    HB_RECORD_FLOPS = 1u << 2,
    HB_RECORD_STACK = 1u << 3,
    HB_RECORD_INPUTS = 1u << 4,
    HB_RECORD_OOM = 1u << 5, /* MEMORY: out of memory */
    /* of HIP calls */
    HB_RECORD_CAPTURED = 1u << 1, /* put into a graph, to run later */
    HB_RECORD_REPLAYS = 1u << 2,  /* runs a graph */
    HB_RECORD_WAITS = 1u << 3,    /* synchronises */
    HB_RECORD_UNSURE = 1u << 4,   /* only its work tells whether it made some */
    HB_RECORD_NODE = 1u << 1,     /* WORK: `device` is the driver's number of it */
    HB_RECORD_BLIT = 1u << 2,     /* DISPATCH: of the runtime's own kernels, to copy or fill */
};

/** Every record begins so. A plain scope is just this: 24 bytes. */
typedef struct hb_record {
    uint64_t start; /* ticks */
    uint64_t end;   /* ticks; 0: open, or has no duration */
    uint32_t name;  /* string id */
    uint8_t type, flags;
    uint16_t units; /* size of the whole record in 8 bytes */
} hb_record;

typedef struct hb_record_sequence {
    uint64_t sequence_number, forward_thread;
} hb_record_sequence;

typedef struct hb_record_module {
    hb_record head;
    uint32_t module_id;
    uint32_t python_id, parent_id; /* given by session.c */
    uint32_t reserved;
} hb_record_module;

/* A total_reserved of allocated and so many bytes more, which allocators keep. */
#define HB_RESERVED_BEYOND(kept) (-2 - (kept))

typedef struct hb_record_memory {
    hb_record head;
    uint64_t addr;
    int64_t bytes, total_allocated, total_reserved; /* -1: summed up by finalize.c */
    int32_t device_type, device_id;
} hb_record_memory;

typedef struct hb_record_scalar {
    hb_record head;
    double value;
} hb_record_scalar;

/** name = key, `json` = the value as JSON text. */
typedef struct hb_record_metadata {
    hb_record head;
    uint32_t json, reserved;
} hb_record_metadata;

/* ---- HIP ---- */

/** A call of the HIP runtime, on the thread that made it. name = the function. */
typedef struct hb_record_call {
    hb_record head;
    uint64_t external_id;   /* the innermost open scope's; 0: none */
    uint64_t annotation_id; /* the innermost open user annotation's, and its name */
    uint32_t annotation;
    uint32_t error_name; /* string id; 0: the call succeeded */
    uint64_t correlation;
    uint64_t work;   /* what its device work is reported under; 0: none */
    uint64_t stream; /* hipStream_t */
    int32_t error;   /* hipError_t */
    int16_t device;  /* HIP ordinal of the stream; -1: not asked */
    uint16_t cid;    /* the runtime's number of the function */
} hb_record_call;

/** Ends before `kernel` where a DISPATCH will tell the rest. */
typedef struct hb_record_launch {
    hb_record_call call;
    uint32_t grid[3];  /* blocks */
    uint16_t block[3]; /* threads */
    uint16_t agprs;    /* 0xffff: unknown, as vgprs and sgprs */
    uint32_t dynamic_lds_bytes;
    uint32_t kernel; /* string id */
    uint16_t vgprs, sgprs;
    uint32_t lds_bytes, scratch_bytes;
} hb_record_launch;

#define HB_COPY_WITHIN_HOST 0xff /* hb_record_copy.direction: no work of a device */

typedef struct hb_record_copy {
    hb_record_call call;
    uint64_t dst, src, bytes; /* fills: src is 0 */
    int16_t kind;             /* hipMemcpyKind; -1: a fill */
    uint8_t direction;        /* of copies: enum hb_work_kind; 0: not known */
    uint8_t unused;
    int16_t from_device, to_device; /* -1: the call does not say */
} hb_record_copy;

typedef struct hb_record_allocation {
    hb_record_call call;
    uint64_t ptr, bytes;
} hb_record_allocation;

enum hb_work_kind {
    HB_WORK_KERNEL = 1,
    HB_WORK_HTOD,
    HB_WORK_DTOH,
    HB_WORK_DTOD,
    HB_WORK_FILL,
};

/** Device work, on the thread that the runtime reported it on, which is when it starts as a record.
 * name = the kernel's, or HB_STRING_UNNAMED when only its launch knows it. */
typedef struct hb_record_work {
    hb_record head;
    uint64_t work;            /* joins it with its call */
    int64_t begin_ns, end_ns; /* CLOCK_BOOTTIME */
    uint64_t queue;
    int32_t device;
    uint32_t kind;
    union {
        uint64_t bytes; /* copies and fills */
        struct {        /* DISPATCH: LDS is static and dynamic */
            uint32_t lds_bytes, scratch_bytes;
        };
    };
} hb_record_work;

typedef struct hb_record_dispatch {
    hb_record_work work;
    uint32_t grid[3];             /* blocks */
    uint16_t block[3];            /* threads */
    uint16_t vgprs, sgprs, agprs; /* 0xffff: unknown */
} hb_record_dispatch;

typedef struct hb_record_link {
    hb_record head;
    uint64_t correlation, work;
} hb_record_link;

/** name = the device's. */
typedef struct hb_record_device {
    hb_record head;
    uint64_t total_global_mem, shared_mem_per_block, shared_mem_per_cu;
    uint32_t arch; /* string id */
    int32_t id, compute_major, compute_minor, max_threads_per_block, max_threads_per_cu,
        regs_per_block, warp_size, num_cus;
    int32_t node; /* the driver's number of it; -1: unknown */
} hb_record_device;

/** The bytes of a launch whose DISPATCH tells the rest. */
#define HB_RECORD_SHORT_LAUNCH offsetof(hb_record_launch, kernel)

_Static_assert(sizeof(hb_record_launch) + sizeof(hb_record_work) <= 200, "bytes a kernel");
_Static_assert(HB_RECORD_SHORT_LAUNCH + sizeof(hb_record_dispatch) <= 200, "bytes a kernel");
_Static_assert(sizeof(hb_record) == 24, "a plain scope is 24 bytes");
_Static_assert(sizeof(hb_chunk) % 8 == 0, "records are 8-byte aligned");

static const hb_spool_layout hb_spool_layout_here = {
    .chunk_bytes = HB_CHUNK_BYTES,
    .chunk_header_bytes = sizeof(hb_chunk),
    .session_bytes = sizeof(hb_session),
    .record_header_bytes = sizeof(hb_record),
    .chunk_kind = offsetof(hb_chunk, kind),
    .chunk_used = offsetof(hb_chunk, used),
    .chunk_session = offsetof(hb_chunk, session),
    .chunk_next = offsetof(hb_chunk, next),
    .chunk_next_thread = offsetof(hb_chunk, next_thread),
    .chunk_first_id = offsetof(hb_chunk, first_id),
    .chunk_string_offset = offsetof(hb_chunk, string_offset),
    .chunk_tid = offsetof(hb_chunk, tid),
    .session_number = offsetof(hb_session, number),
    .session_older = offsetof(hb_session, older),
    .session_state = offsetof(hb_session, state),
    .session_first_thread = offsetof(hb_session, first_thread),
    .session_start = offsetof(hb_session, start),
    .session_later = offsetof(hb_session, later),
    .record_start = offsetof(hb_record, start),
    .record_end = offsetof(hb_record, end),
    .record_name = offsetof(hb_record, name),
    .record_type = offsetof(hb_record, type),
    .record_flags = offsetof(hb_record, flags),
    .record_units = offsetof(hb_record, units),
};

#endif
