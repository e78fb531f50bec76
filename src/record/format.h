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

#include <stdint.h>

#include "record/clock.h"

#define HB_SPOOL_MAGIC   "HBSPOOL"
#define HB_SPOOL_VERSION 1u
#define HB_SPOOL_ENDIAN  0x01020304u
#define HB_SPOOL_SUFFIX  ".hbspool"

#define HB_CHUNK_BYTES 65536u
#define HB_RECORD_MAX  32768u

typedef struct hb_spool_header {
    char magic[8];
    uint32_t version, endian;
    /* sizes that a reader must share */
    uint32_t chunk_bytes, chunk_header_bytes, session_bytes, record_header_bytes;
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
};

enum hb_record_flags {
    HB_RECORD_ASYNC = 1u << 0,    /* ended by another thread */
    HB_RECORD_SEQUENCE = 1u << 1, /* these four: which parts follow, in this order */
    HB_RECORD_FLOPS = 1u << 2,
    HB_RECORD_STACK = 1u << 3,
    HB_RECORD_INPUTS = 1u << 4,
    HB_RECORD_OOM = 1u << 5, /* MEMORY: out of memory */
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

typedef struct hb_record_memory {
    hb_record head;
    uint64_t addr;
    int64_t bytes, total_allocated, total_reserved; /* totals of -1 are summed up by session.c */
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

_Static_assert(sizeof(hb_record) == 24, "a plain scope is 24 bytes");
_Static_assert(sizeof(hb_chunk) % 8 == 0, "records are 8-byte aligned");

#endif
