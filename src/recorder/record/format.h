/* SPDX-License-Identifier: MIT
 *
 * What lies in a spool: the file in which a process keeps its records until they are traces. It is
 * read by the process itself after a cycle, and by `hipboard recover` after a crash, which may be
 * another build. plugin_format/spool.md tells the same byte by byte.
 *
 *   hb_spool_header
 *   segments, one behind the other, each an hb_segment and its payload:
 *     HOT      an area of hot chunks: mapped memory that is being recorded into
 *     EVENTS   a chunk's records, coded, after it was full
 *     NAMES    a piece of the process's string table
 *     CODE     what the process had mapped, as text: the one of the greatest number holds
 *
 * A hot chunk begins with an hb_chunk:
 *     SESSIONS  a table of hb_session, one for each cycle
 *     EVENTS    records of one thread in one session, in the order of their start; behind them
 *               may be another hb_chunk, and the same thread's records in a later session
 *     NAMES     a piece of the string table
 *     FREE      none of these
 *
 * A hot chunk's `used` is stored after the record that it takes in, so whatever moment the process
 * is killed at, the bytes below `used` are whole records. A chunk is given back after its segment
 * was written: what is killed between them stands twice, under one thread and sequence. There are
 * no lists and no pointers: each byte is read once.
 */
#ifndef HB_RECORD_FORMAT_H
#define HB_RECORD_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "record/clock.h"

#define HB_SPOOL_MAGIC   "HBSPOOL"
#define HB_SPOOL_VERSION 5u
#define HB_SPOOL_ENDIAN  0x01020304u
#define HB_SPOOL_SUFFIX  ".hbspool"

#define HB_CHUNK_BYTES        65536u
#define HB_RECORD_MAX         32768u
#define HB_SPOOL_HEADER_BYTES 4096u
#define HB_SEGMENT_MAGIC      0x67655348u /* "HSeg" */
#define HB_SEGMENT_ALIGN      8u

/** Sizes that a reader must share. */
typedef struct hb_spool_layout {
    uint32_t chunk_bytes, chunk_header_bytes, segment_bytes, session_bytes, record_header_bytes;
} hb_spool_layout;

/** Which process of which machine and container. */
typedef struct hb_process_id {
    int64_t pid;
    uint64_t start_time; /* clock ticks after boot; 0: unknown */
    uint64_t namespace;  /* of process numbers; 0: unknown */
    char boot_id[40];
} hb_process_id;

typedef struct hb_spool_header {
    char magic[8];
    uint32_t version, endian;
    hb_spool_layout layout;
    uint32_t closed; /* 1: its process is done with it, and may live on */
    int64_t created_unix_ns;
    hb_process_id process;
    char host_name[256], process_name[256], worker_name[512];
} hb_spool_header;

enum hb_segment_kind {
    HB_SEGMENT_HOT = 1,
    HB_SEGMENT_EVENTS = 2,
    HB_SEGMENT_NAMES = 3,
    HB_SEGMENT_CODE = 4, /* symbols/loaded_code.h */
};

enum hb_codec {
    HB_CODEC_RAW = 0,
    HB_CODEC_DELTA = 1, /* codec.h */
};

/** What is known of a chunk of records. */
typedef struct hb_events_info {
    uint32_t session;  /* number */
    uint32_t thread;   /* hb_thread_number() */
    uint32_t sequence; /* 0, 1, 2, ... in its thread and session */
    uint32_t types;    /* bits 1 << enum hb_record_type, and HB_TYPES_...; 0: unknown */
    int64_t tid;
    uint64_t first_id;              /* External id of its first scope; later scopes count on */
    uint64_t first_tick, last_tick; /* least and greatest time in it */
    char thread_name[32];
} hb_events_info;

/* Some operator has a sequence number. */
#define HB_TYPES_SEQUENCE (1u << 31)

typedef struct hb_segment {
    uint32_t magic;
    uint32_t crc;         /* CRC-32C of the rest of this header */
    uint32_t payload_crc; /* CRC-32C of the payload; of HOT: 0 */
    uint16_t kind, codec;
    uint32_t padding;   /* bytes between this and the payload */
    uint32_t raw_bytes; /* before coding */
    uint64_t bytes;     /* of the payload */
    union {
        hb_events_info events;
        uint64_t string_offset; /* NAMES: where the bytes stand in the string table */
        uint64_t code_number;   /* CODE: how many were before */
    };
} hb_segment;

enum hb_chunk_kind {
    HB_CHUNK_FREE = 0,
    HB_CHUNK_EVENTS = 1,
    HB_CHUNK_SESSIONS = 2,
    HB_CHUNK_NAMES = 3,
};

typedef struct hb_chunk {
    uint32_t kind;
    uint32_t used; /* bytes, this header included */
    uint32_t
        next; /* EVENTS: bytes from the chunk's beginning to the next hb_chunk in it; 0: none */
    uint32_t unused;
    union {
        hb_events_info events; /* without types and ticks */
        uint64_t string_offset;
    };
} hb_chunk;

enum hb_session_flags {
    HB_SESSION_SHAPES = 1u << 0,
    HB_SESSION_MEMORY = 1u << 1,
    HB_SESSION_STACK = 1u << 2,
    HB_SESSION_FLOPS = 1u << 3,
    HB_SESSION_MODULES = 1u << 4,
    HB_SESSION_RING = 1u << 5,       /* goes on, and only its end is kept: see `kept_from` */
    HB_SESSION_OPERATORS = 1u << 7,  /* library calls are operators */
    HB_SESSION_FIND_STEPS = 1u << 8, /* where the program marks none */
    HB_SESSION_COMM = 1u << 9,       /* calls of libraries that communicate */
    HB_SESSION_HELD = 1u << 6, /* what was allocated as it began is known: MEMORY records HELD */
};

enum hb_session_state {
    HB_SESSION_NONE = 0,
    HB_SESSION_RECORDING = 1,
    HB_SESSION_STOPPED = 2,
    HB_SESSION_SAVED = 3, /* is a trace; recovery passes over it */
};

/** One recorded cycle. */
typedef struct hb_session {
    uint32_t number;
    uint32_t state, flags;
    uint32_t newest;
    int64_t cycle;
    int64_t slice_ns; /* hb_profiler_options.time_slice_ns */
    hb_clock_pair start;
    /* The newest is whole whenever the process is stopped. Until there is a second one, the other
     * is from before the session, or zeros: see recover.c. */
    hb_clock_pair later[2];
    uint64_t lost[7]; /* hb_lost, in its order */
    /* The file that is about to get its final name: when it has it, the session is saved. */
    uint64_t file_device, file_inode;
    char trace_id[40];
    char file_name[256]; /* without its directory */
    uint32_t in_memory;  /* chunks of it that are in no file: a kill loses what is in them */
    uint32_t newest_kept;
    /* RING: what ended before is no part of it, in ticks; 0: all is. And a time near to that; the
     * newest is whole whenever the process is stopped. */
    uint64_t kept_from;
    hb_clock_pair kept[2];
    uint64_t step_loop; /* hb_profiler_options.step_loop */
    uint64_t reserved[10];
} hb_session;

/** Copies of what another thread may be reading, or writing, meanwhile: whole words are, and those
 * that do not change are right. Relaxed: what they belong to is published otherwise. */
typedef uint64_t __attribute__((may_alias)) hb_word;

static inline void hb_store_words(void *to, const void *from, size_t bytes)
{
    hb_word *at = to;
    const hb_word *words = from;
    for (size_t i = 0; i < bytes / 8; i++)
        __atomic_store_n(&at[i], words[i], __ATOMIC_RELAXED);
}

static inline void hb_load_words(void *to, const void *from, size_t bytes)
{
    hb_word *at = to;
    const hb_word *words = from;
    for (size_t i = 0; i < bytes / 8; i++)
        at[i] = __atomic_load_n(&words[i], __ATOMIC_RELAXED);
}

/** The session's newest clock pair: of its stop once it is STOPPED. */
static inline const hb_clock_pair *hb_session_last(const hb_session *session)
{
    return &session->later[session->newest & 1];
}

/** Of a ring, a time near to the beginning of what is kept, or the session's start. */
static inline const hb_clock_pair *hb_session_kept(const hb_session *session)
{
    const hb_clock_pair *kept = &session->kept[session->newest_kept & 1];
    return kept->ticks ? kept : &session->start;
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
    HB_RECORD_COUNTER = 15,
    HB_RECORD_FLOW = 16,
    HB_RECORD_FRAMES = 17, /* where the program made a HIP call */
    HB_RECORD_GRAPH = 18,  /* what a HIP call did to a graph */
    HB_RECORD_SAMPLE = 19, /* where a thread was */
};

enum hb_record_flags {
    HB_RECORD_ASYNC = 1u << 0,    /* ended by another thread */
    HB_RECORD_SEQUENCE = 1u << 1, /* these seven: which parts follow, in this order */
    HB_RECORD_FLOPS = 1u << 2,
    HB_RECORD_STACK = 1u << 3,
    HB_RECORD_INPUTS = 1u << 4,
    HB_RECORD_CATEGORY = 1u << 5,
    HB_RECORD_ARGS = 1u << 6,
    HB_RECORD_COMM = 1u << 7,    /* OP: communication, with an hb_record_comm at its end */
    HB_RECORD_OOM = 1u << 5,     /* MEMORY: out of memory */
    HB_RECORD_HELD = 1u << 6,    /* MEMORY: allocated before; name = what allocated it */
    HB_RECORD_FOREIGN = 1u << 7, /* MEMORY: freed, and nobody told of its allocation */
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
    uint64_t end;   /* ticks; 0: open, or has no duration; with HB_END_... while hot */
    uint32_t name;  /* string id */
    uint8_t type, flags;
    uint16_t units; /* size of the whole record in 8 bytes */
} hb_record;

/* Another thread ended it; and its own thread knows of it, so that its chunk may go. */
#define HB_END_ELSEWHERE ((uint64_t)1 << 63)
#define HB_END_SEEN      ((uint64_t)1 << 62)
#define HB_END_TICKS     (HB_END_SEEN - 1)

/** Types of records that are told once, and belong to whatever a ring keeps. */
#define HB_TYPES_TOLD_ONCE (1u << HB_RECORD_METADATA | 1u << HB_RECORD_DEVICE)

/** Types of records that are open until they have an end. */
#define HB_TYPES_WITH_END                                                       \
    (1u << HB_RECORD_ANNOTATION | 1u << HB_RECORD_OP | 1u << HB_RECORD_MODULE | \
     1u << HB_RECORD_CALL | 1u << HB_RECORD_LAUNCH | 1u << HB_RECORD_COPY |     \
     1u << HB_RECORD_ALLOCATION)

typedef struct hb_record_sequence {
    uint64_t sequence_number, forward_thread;
} hb_record_sequence;

/** What a communication moves, and between whom. It has two External ids: its annotation's, then
 * its own. */
typedef struct hb_record_comm {
    uint32_t
        group; /* string id of record/communication.h's text of it; HB_STRING_UNNAMED: all ranks */
    uint8_t dtype; /* hb_dtype */
    uint8_t async;
    uint8_t in_group; /* it begins with others, and has no annotation of its own */
    uint8_t reserved;
    int32_t source, dest; /* -1: none */
    int32_t tag;          /* INT32_MIN: none */
    uint32_t unused;
    uint64_t sequence;      /* 0: not known */
    int64_t in, out, bytes; /* elements; -1: none */
} hb_record_comm;

typedef struct hb_comm_words {
    hb_word words[sizeof(hb_record_comm) / sizeof(hb_word)];
} hb_comm_words;
#define HB_COMM_WORD_SEQUENCE (offsetof(hb_record_comm, sequence) / sizeof(hb_word))

typedef struct hb_record_module {
    hb_record head;
    uint32_t module_id;
    uint32_t reserved[3];
} hb_record_module;

/* A total_reserved of allocated and so many bytes more, which allocators keep. */
#define HB_RESERVED_BEYOND(kept) (-2 - (kept))

typedef struct hb_record_memory {
    hb_record head;
    uint64_t addr;
    int64_t bytes, total_allocated, total_reserved; /* -1: summed up by memory_totals.c */
    int32_t device_type, device_id;
} hb_record_memory;

typedef struct hb_record_scalar {
    hb_record head;
    double value;
} hb_record_scalar;

typedef struct hb_record_counter {
    hb_record head;
    double value;
    uint32_t unit; /* string id; HB_STRING_UNNAMED: none */
    uint32_t reserved;
} hb_record_counter;

/** A moment of an arrow that has that name. */
typedef struct hb_record_flow {
    hb_record head;
    uint64_t id;
    uint32_t phase; /* hb_flow_phase */
    uint32_t reserved;
} hb_record_flow;

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

/** Behind the call's record, with its return addresses in the words that follow, innermost first;
 * none: they are those of an earlier one of this session of the same hash. */
typedef struct hb_record_frames {
    hb_record head;
    uint64_t correlation, hash;
} hb_record_frames;

typedef struct hb_record_link {
    hb_record head;
    uint64_t correlation, work;
} hb_record_link;

/** With the start of its call. head.flags: enum hb_graph_deed. */
typedef struct hb_record_graph {
    hb_record head;
    uint64_t correlation;
    uint64_t graph, exec; /* hipGraph_t, hipGraphExec_t; 0: the deed has none */
} hb_record_graph;

/** Written some time later, by a thread of the library's. Behind it the addresses, innermost first.
 */
typedef struct hb_record_sample {
    hb_record head;
    uint32_t tid, hz;
    int64_t time; /* CLOCK_BOOTTIME */
} hb_record_sample;

enum hb_graph_deed {
    HB_GRAPH_CAPTURED = 1, /* the graph is what the thread's last captured calls make */
    HB_GRAPH_MADE = 2,     /* the executable one does what the graph does */
    HB_GRAPH_RUN = 3,
};

/** name = the device's. */
typedef struct hb_record_device {
    hb_record head;
    uint64_t total_global_mem, shared_mem_per_block, shared_mem_per_cu;
    uint32_t arch; /* string id */
    int32_t id, compute_major, compute_minor, max_threads_per_block, max_threads_per_cu,
        regs_per_block, warp_size, num_cus;
    int32_t node;                                   /* the driver's number of it; -1: unknown */
    int32_t clock_khz, memory_khz, memory_bus_bits; /* not in older spools: see the record's size */
} hb_record_device;

/** The bytes of a device without its clocks. */
#define HB_RECORD_SHORT_DEVICE offsetof(hb_record_device, clock_khz)

/** The bytes of a launch whose DISPATCH tells the rest. */
#define HB_RECORD_SHORT_LAUNCH offsetof(hb_record_launch, kernel)

_Static_assert(sizeof(hb_record_launch) + sizeof(hb_record_work) <= 200, "bytes a kernel");
_Static_assert(HB_RECORD_SHORT_LAUNCH + sizeof(hb_record_dispatch) <= 200, "bytes a kernel");
_Static_assert(sizeof(hb_record_comm) == 56, "whole words");
_Static_assert(offsetof(hb_record_comm, dtype) == 4 && offsetof(hb_record_comm, async) == 5 &&
                   offsetof(hb_record_comm, in_group) == 6 &&
                   offsetof(hb_record_comm, source) == 8 && offsetof(hb_record_comm, tag) == 16 &&
                   offsetof(hb_record_comm, sequence) == 24,
               "communication.c puts it together in words");
_Static_assert(sizeof(hb_record) == 24, "a plain scope is 24 bytes");
_Static_assert(sizeof(hb_chunk) % 8 == 0, "records are 8-byte aligned");
_Static_assert(sizeof(hb_session) % 8 == 0 && sizeof(hb_clock_pair) % 8 == 0,
               "are copied in words");
_Static_assert(sizeof(hb_segment) % 8 == 0, "segments are 8-byte aligned");

_Static_assert(sizeof(hb_spool_header) <= HB_SPOOL_HEADER_BYTES, "room for the header");

static const hb_spool_layout hb_spool_layout_here = {
    .chunk_bytes = HB_CHUNK_BYTES,
    .chunk_header_bytes = sizeof(hb_chunk),
    .segment_bytes = sizeof(hb_segment),
    .session_bytes = sizeof(hb_session),
    .record_header_bytes = sizeof(hb_record),
};

#define HB_SESSIONS_PER_CHUNK ((uint32_t)((HB_CHUNK_BYTES - sizeof(hb_chunk)) / sizeof(hb_session)))

#endif
