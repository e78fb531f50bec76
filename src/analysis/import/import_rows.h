/* SPDX-License-Identifier: MIT
 *
 * What another tool recorded of one process, in columns. A format's opener fills them in any order
 * and as the tool numbers things; hb_import_finish() puts them in order, joins work to its calls
 * and calls to their ranges; import_source.c hands them out as events.
 *
 * Times are nanoseconds of the tool's clock. Want of memory leaves by the arena.
 */
#ifndef HB_IMPORT_IMPORT_ROWS_H
#define HB_IMPORT_IMPORT_ROWS_H

#include <hipboard/import.h>

#include "base/hash_map.h"
#include "trace/source.h"
#include "trace/trace.h"

/* What is told beside the trace: X(key, what it says of a count, unknown to the tool). */
#define HB_IMPORT_NOTES(X)                                                                       \
    X(NO_CALL, "kernels, copies and fills without the call that launched them", true)            \
    X(NO_RANGE, "calls that launched work outside of all ranges, so that no operator has it",    \
      true)                                                                                      \
    X(NO_GRID, "kernels without their grid", true)                                               \
    X(NO_REGISTERS, "kernels without their registers", true)                                     \
    X(NO_BYTES, "copies without their size", true)                                               \
    X(NO_ALLOCATION, "frees of memory whose allocation was not recorded", true)                  \
    X(BAD_TIMES, "events whose times are none, before 1970 or after 2043, left out", false)      \
    X(BAD_ROWS, "events that name a thread, GPU or text that is not there, left out", false)     \
    X(DROPPED, "events left out as asked for", false)                                            \
    X(OVERHEAD, "calls of the recorder itself, left out", false)                                 \
    X(INPUTS, "operators whose inputs, stack and pairing with others are left out", false)       \
    X(UNPAIRED, "slices without their beginning or end", false)                                  \
    X(LOST, "places where the file has lost packets, or ends within one", false)                 \
    X(NOT_SHOWN, "records of kinds that no view shows (scratch memory, samples of code)", false) \
    X(MERGED_PASSES, "kernels recorded again for more counters, joined to the first", false)     \
    X(SEPARATE_PASSES,                                                                           \
      "kernels recorded again for more counters, but not known of which process: kept apart",    \
      false)                                                                                     \
    X(MANY_VALUES, "counters of kernels left out, where the file has over 64 of one", false)     \
    X(MANY_STREAMS, "streams shown by queue, as there are more than 32 on a GPU", false)

typedef enum hb_import_note {
#define HB_IMPORT_NOTE_ENUM(key, text, unknown) HB_IMPORT_##key,
    HB_IMPORT_NOTES(HB_IMPORT_NOTE_ENUM)
#undef HB_IMPORT_NOTE_ENUM
        HB_IMPORT_NOTE_COUNT
} hb_import_note;

enum hb_import_host_flags {
    HB_IMPORT_LAUNCHES = 1u << 0,   /* set by hb_import_finish() */
    HB_IMPORT_MINOR = 1u << 1,      /* the compiler's or runtime's own: no operator */
    HB_IMPORT_UNFINISHED = 1u << 2, /* open when the recording ended */
    HB_IMPORT_ANNOTATION = 1u << 3, /* a range that is no operator */
    HB_IMPORT_WAITS = 1u << 4,      /* for the GPU; set by hb_import_finish() */
};

/** A call of a runtime, or a range of the program. */
typedef struct hb_import_host {
    int64_t start, end;
    uint64_t correlation; /* calls; 0: none */
    hb_string_id name;
    uint32_t thread; /* of `threads` */
    uint32_t args;   /* calls: of `call_args`; 0: none */
    uint32_t scope;  /* calls: a row of `scopes` + 1, set by hb_import_finish(); 0: none */
    uint32_t flags;
    uint32_t spare;
} hb_import_host;

/** What a call was given; compared as bytes. */
typedef struct hb_import_call_args {
    uint32_t grid[3], block[3]; /* blocks, threads */
    uint32_t shared_bytes;
    uint8_t has_grid, copies, copy_kind, spare; /* copy_kind: hipMemcpyKind */
    uint64_t stream, ptr, src, bytes;
} hb_import_call_args;

/** Where work ran, as the tool numbers it; compared as bytes. */
typedef struct hb_import_lane {
    int32_t device; /* GPU */
    int32_t spare;
    int64_t queue, stream; /* -1: not told */
} hb_import_lane;

/** What was launched; compared as bytes. */
typedef struct hb_import_launch {
    uint8_t kind; /* hb_event_kind: KERNEL, MEMCPY, MEMSET */
    uint8_t has_grid, has_resources;
    uint8_t copy;                 /* enum hb_import_copy */
    int32_t device, from, to;     /* GPUs; from and to: of copies between GPUs */
    uint32_t grid[3], block[3];   /* blocks, threads */
    uint32_t vgprs, agprs, sgprs; /* per thread, per thread, per wave */
    uint32_t lds_bytes, scratch_bytes;
    uint64_t bytes; /* of copies and fills; 0: not told */
} hb_import_launch;

enum hb_import_copy {
    HB_IMPORT_COPY_UNKNOWN,
    HB_IMPORT_COPY_HTOD,
    HB_IMPORT_COPY_DTOH,
    HB_IMPORT_COPY_DTOD,
    HB_IMPORT_COPY_HTOH,
    HB_IMPORT_COPY_PTOP,
};

typedef struct hb_import_work {
    int64_t start, end;
    uint64_t correlation; /* of its call; 0: none */
    hb_string_id name;
    uint32_t launch, lane;       /* of `launches`, `lanes` */
    uint32_t call;               /* a row of `calls` + 1, set by hb_import_finish(); 0: none */
    uint32_t values, num_values; /* of `values` */
} hb_import_work;

/** A counter's value of a kernel. */
typedef struct hb_import_value {
    hb_string_id name;
    double value;
} hb_import_value;

typedef struct hb_import_memory {
    int64_t time;
    uint64_t address;
    int64_t bytes;   /* of a free 0, until hb_import_finish() has found its allocation */
    int64_t total;   /* of the device, set by hb_import_finish() */
    uint32_t thread; /* of `threads` */
    int32_t device;  /* GPU; -1: the host's */
    uint32_t frees;
    uint16_t told; /* its bytes and total are the file's */
    uint16_t failed;
} hb_import_memory;

/** A number at a moment. */
typedef struct hb_import_sample {
    int64_t time;
    hb_string_id name, unit; /* unit 0: none */
    uint32_t thread;         /* of `threads` */
    uint32_t spare;
    double value;
} hb_import_sample;

typedef struct hb_import_thread {
    int64_t tid;
    hb_string_id name, spare;
} hb_import_thread;

typedef struct hb_import_rows {
    hb_texts *texts; /* of the whole import */
    hb_column calls, scopes, works, memory, samples, values;
    hb_distinct call_args, launches, lanes, threads;
    HB_VEC(hb_device_info) devices; /* their texts: hb_import_text() */
    uint64_t notes[HB_IMPORT_NOTE_COUNT];
    /* What hb_import_finish() finds: rows by thread or lane, then start. */
    uint32_t *calls_order, *scopes_order, *works_order, *memory_order, *samples_order;
    struct hb_import_estimate {
        double blocks_per_sm, warps_per_sm, percent;
        const char *limit;
    } * estimates;       /* by launch */
    int64_t first, last; /* times */
    bool by_queue;       /* streams are too many to be rows */
    uint64_t linked;     /* works with their call */
} hb_import_rows;

/** To be freed also when false: out of memory. */
bool hb_import_rows_init(hb_import_rows *rows, hb_texts *texts);
void hb_import_rows_free(hb_import_rows *rows);

/** The next one, zeroed. Leaves by the arena without memory. */
void *hb_import_push(hb_arena *arena, hb_column *column);
uint32_t hb_import_distinct(hb_arena *arena, hb_distinct *distinct, const void *item);
hb_string_id hb_import_text(hb_arena *arena, hb_import_rows *rows, hb_str text);
uint32_t hb_import_thread_of(hb_arena *arena, hb_import_rows *rows, int64_t tid, hb_string_id name);

/** The latest time that is read, in 2043: sums of two do not overflow, wherever Unix time is added. */
#define HB_IMPORT_LATEST (INT64_MAX / 4)

/** Whether these are times; if not, that is noted. An end before its start is moved there. */
bool hb_import_times(hb_import_rows *rows, int64_t start, int64_t *end);

/** Orders and joins. `by`: what a device's rows are. */
void hb_import_finish(hb_arena *arena, hb_import_rows *rows, hb_import_by by);

static inline const hb_import_lane *hb_import_lane_of(const hb_import_rows *r,
                                                      const hb_import_work *work)
{
    return hb_column_at(&r->lanes.items, work->lane);
}

static inline const hb_import_launch *hb_import_launch_of(const hb_import_rows *r,
                                                          const hb_import_work *work)
{
    return hb_column_at(&r->launches.items, work->launch);
}

/** The number of its row. */
static inline int64_t hb_import_row_of(const hb_import_rows *r, const hb_import_lane *lane)
{
    int64_t first = r->by_queue ? lane->queue : lane->stream;
    int64_t other = r->by_queue ? lane->stream : lane->queue;
    return first >= 0 ? first : other >= 0 ? other : 0;
}

#endif
