/* SPDX-License-Identifier: MIT
 *
 * A whole trace in memory, as a file tells it: one row an event in file order, and beside the rows
 * what only some kinds of event have, equal ones once. 40 bytes an operator over what is distinct,
 * 56 bytes a call or a kernel.
 *
 * Nothing is interpreted here that a reader of the file could see differently: a row says what
 * stood in the file, also where that was odd, so that analysis can decide as the plugin decides.
 */
#ifndef HB_TRACE_TRACE_H
#define HB_TRACE_TRACE_H

#include "base/string_table.h"
#include "base/times.h"
#include "rules/categories.h"
#include "rules/name_class.h"

/** Any scalar of a file as a 64-bit number with Python's equality: 1, 1.0 and true are one key. */
typedef uint64_t hb_key;
#define HB_KEY_NONE ((hb_key)0) /* absent or null */

enum hb_key_tag { HB_KEY_TAG_NONE, HB_KEY_TAG_INT, HB_KEY_TAG_TEXT, HB_KEY_TAG_CONTAINER };

static inline hb_key hb_key_int(int64_t v)
{
    return (uint64_t)v << 2 | HB_KEY_TAG_INT;
}

/** Whether an integer is one that hb_key_int() keeps. */
static inline bool hb_is_key_int(int64_t v)
{
    return v >= INT64_MIN / 4 && v <= INT64_MAX / 4;
}

static inline enum hb_key_tag hb_key_tag(hb_key key)
{
    return (enum hb_key_tag)(key & 3);
}

/** Of an INT key. */
static inline int64_t hb_key_value(hb_key key)
{
    return (int64_t)key >> 2;
}

/** Of a TEXT key: the interned text, '"' and a string's characters, or a number's digits. */
static inline hb_string_id hb_key_string(hb_key key)
{
    return (hb_string_id)(key >> 2);
}

/** A key in 32 bits, as nearly all are small integers: 0 is none, an integer stands as itself plus
 * one, and what is neither is an index of hb_trace.keys. Equal keys have equal ids. */
typedef uint32_t hb_id;
#define HB_ID_NONE    ((hb_id)0)
#define HB_ID_ZERO    ((hb_id)1) /* the integer 0 */
#define HB_ID_INDEX   ((hb_id)1 << 31)
#define HB_ID_FAILURE UINT32_MAX

enum hb_row_flags {
    HB_ROW_TS = 1u << 0,     /* ts is a number */
    HB_ROW_TS_INT = 1u << 1, /* ... without fraction or exponent */
    HB_ROW_DUR = 1u << 2,
    HB_ROW_DUR_INT = 1u << 3,
    HB_ROW_NAME = 1u << 4,     /* name is a string */
    HB_ROW_ARGS = 1u << 5,     /* args is an object */
    HB_ROW_ARGS_ODD = 1u << 6, /* args is there and is not an object */
    HB_ROW_CAT = 1u << 7,      /* cat is a string */
    HB_ROW_HAS_ID = 1u << 8,   /* FLOW: id and ts are there, whatever they are */
    HB_ROW_HAS_TS = 1u << 9,
    HB_ROW_NOT_OBJECT = 1u << 10, /* an element of traceEvents that is no object */
    HB_ROW_MEMORY_X = 1u << 11,   /* a complete event of category "memory" */
    HB_ROW_INSTANT = 1u << 12,    /* ph is exactly "i" */
    HB_ROW_COMPLETE = 1u << 13,   /* ph is exactly "X" */
    HB_ROW_STACK = 1u << 14,      /* FUNCTION: the file tells its call stack */
    HB_ROW_NESTED = 1u << 15,     /* dur is hb_nesting_us(), not hb_ns_to_us() */
};

/** Times are nanoseconds of the file's own clock, which counts from baseTimeNanoseconds, or from
 * 1970 where a file has none. Microseconds are the plugin's alone: hb_plugin_ts(). */
typedef struct hb_row {
    int64_t start, duration; /* 0: none, or beyond what hb_us_to_ns() takes */
    hb_string_id name;
    hb_string_id category; /* hb_row_category(); with HB_ODD_TIMES an index of hb_trace.odd_times */
    hb_id id;              /* External id; FUNCTION: Python id; FLOW and other arrows: id */
    uint32_t track;        /* index of hb_trace.tracks */
    uint32_t
        extra; /* index of the kind's side table; of a counter the text of its args: hb_string_id */
    uint16_t flags;
    uint8_t kind; /* hb_kind */
    char ph;      /* first character, 0: none */
} hb_row;
_Static_assert(sizeof(hb_row) == 40, "a trace has one for each event");

#define HB_ODD_TIMES ((hb_string_id)1 << 31)

/** OPERATOR, ANNOTATION, PYTHON. JSON texts as they stand in the file; 0: absent or null. Operators
 * that are called again and again have one in common, if they have no detail. */
typedef struct hb_op_row {
    hb_string_id dims, types, stack;
    uint32_t detail; /* index of hb_trace.details; 0: none */
} hb_op_row;

/** What few operators have and only torch's tables need. */
typedef struct hb_op_detail {
    double flops;          /* as the writer counted them; NaN: absent */
    int64_t sequence;      /* -1: absent */
    int32_t fwd_thread;    /* 0: absent, or no backward operator */
    hb_string_id concrete; /* Concrete Inputs, of convolutions only; 0: absent */
} hb_op_detail;

typedef struct hb_function_row {
    hb_id parent, module;
} hb_function_row;

/** RUNTIME, CALL, KERNEL, MEMCPY, MEMSET. */
typedef struct hb_device_row {
    hb_id correlation;
    uint32_t launch;      /* index of hb_trace.launches; 0: none */
    uint32_t call, scope; /* edges, set by hb_trace_link(): a row + 1; 0: none */
} hb_device_row;

typedef enum hb_number_state {
    HB_NUMBER_NONE, /* absent or null */
    HB_NUMBER_INT,
    HB_NUMBER_FLOAT,
    HB_NUMBER_BAD, /* something else */
} hb_number_state;

/** As many GPUs as the plugin's lists have. */
enum { HB_MAX_GPUS = 64, HB_NO_GPU = -1 };

/** How a kernel was launched, or how much was copied; equal launches are stored once, compared as
 * bytes: there is no padding. Texts are JSON, 0: absent or null. */
typedef struct hb_launch {
    hb_key device;
    double blocks_per_sm, occupancy;
    double bytes; /* of a copy, a fill or a call; 0: not known */
    hb_string_id grid, block, registers, shared;
    hb_string_id limit; /* what keeps the occupancy from being higher, as hipboard writes it */
    uint8_t blocks_state, occupancy_state; /* hb_number_state */
    uint8_t device_state : 4;
    uint8_t
        device_is_bool : 4; /* true or false, which Python takes for 1 or 0 and writes as a word */
    int8_t
        gpu; /* set by hb_trace_launch(): what lists of HB_MAX_GPUS are indexed with, or NO_GPU */
} hb_launch;
_Static_assert(sizeof(hb_launch) == 56, "launches are compared as bytes");

typedef struct hb_memory_row {
    hb_key addr;
    double bytes, allocated, reserved;
    uint32_t device;     /* index of hb_trace.keys: Device Id */
    uint8_t device_type; /* 0 CPU, 1 CUDA, 2 HIP and other devices, 255 unknown */
    uint8_t bytes_state, allocated_state, reserved_state; /* hb_number_state */
    hb_string_id owner; /* what allocated it before the recording; 0: not known */
    bool held;          /* it was there before, and is in all totals */
} hb_memory_row;

/** What Python reads for the ts and dur of a row whose text nanoseconds do not give back: further
 * decimals, an exponent, quotes, infinity. */
typedef struct hb_odd_times {
    double ts, dur;
    hb_string_id category; /* of the row */
    bool far;              /* one of them is no time in nanoseconds */
} hb_odd_times;

/** A top-level member other than traceEvents, as text. */
typedef struct hb_member {
    hb_string_id key, json;
} hb_member;

/** One of `count` elements in blocks that never move, so that growing costs no copy and no memory
 * beyond a block. */
typedef struct hb_column {
    void **blocks;
    uint32_t count, num_blocks, item_size;
    size_t in_files; /* bytes of blocks that take no memory */
} hb_column;

/* Checked small traces have several blocks, too, and no large ones to be marked byte by byte. */
#if defined(FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION) || defined(__SANITIZE_ADDRESS__)
enum { HB_COLUMN_SHIFT = 6 };
#else
enum { HB_COLUMN_SHIFT = 16 };
#endif
enum { HB_COLUMN_BLOCK = 1 << HB_COLUMN_SHIFT };

static inline void *hb_column_at(const hb_column *column, uint32_t index)
{
    return (char *)column->blocks[index >> HB_COLUMN_SHIFT] +
           (size_t)(index & (HB_COLUMN_BLOCK - 1)) * column->item_size;
}

/** Distinct items, compared as bytes; the first one is of zeros and stands for none. */
typedef struct hb_distinct {
    hb_column items;
    hb_slots slots;
} hb_distinct;

/** Where events stand: a thread of a process, or a stream of a device. As the file numbers them. */
typedef struct hb_track {
    uint32_t pid, tid; /* indices of hb_trace.keys */
} hb_track;

typedef struct hb_trace {
    hb_texts strings;
    hb_column rows, details, functions, devices, memory, odd_times;
    hb_distinct keys; /* hb_key: of pids, tids, device ids, and of ids that are no small integers */
    hb_distinct tracks, launches, ops;
    hb_member *members;                   /* in file order */
    uint32_t num_members, members_before; /* the list of events */
    bool has_events;                      /* a traceEvents list was there */
    bool bare_array;     /* the file is a list of events without an object around */
    bool normalized;     /* normalize/ was here */
    uint32_t num_mended; /* rows that it changed */
    bool linked;         /* edges.h was here since rows were last changed, and found that */
    bool ids_are_scopes; /* ... External ids of device work are operators' */
    size_t max_bytes;    /* of memory; 0: no limit */
} hb_trace;

bool hb_trace_init(hb_trace *trace);
void hb_trace_free(hb_trace *trace);
/** As after hb_trace_init(), with the memory of what there was at hand. */
void hb_trace_restart(hb_trace *trace);
/** Forgets the events; a later traceEvents member replaces an earlier one. */
void hb_trace_clear_events(hb_trace *trace);
size_t hb_trace_bytes(const hb_trace *trace);
/** Without what lies in files (base/large_memory.h). */
size_t hb_trace_memory_bytes(const hb_trace *trace);

/** Adds the events of `from`, behind those that are there; its members are left out. False without
 * memory, and some of them added. */
bool hb_trace_append(hb_trace *trace, const hb_trace *from);

/** Room for one more; zeroed; NULL without memory. */
void *hb_column_push(hb_column *column);
void hb_column_free(hb_column *column);
/** False without memory; to be freed also then. */
bool hb_distinct_init(hb_distinct *distinct, uint32_t item_size);
void hb_distinct_free(hb_distinct *distinct);
/** The item's index, from 1. UINT32_MAX without memory. */
uint32_t hb_distinct_add(hb_distinct *distinct, const void *item);
/** The index in trace->keys, tracks, launches and ops. UINT32_MAX without memory. */
uint32_t hb_trace_key(hb_trace *trace, hb_key key);
uint32_t hb_trace_track(hb_trace *trace, uint32_t pid, uint32_t tid);
uint32_t hb_trace_launch(hb_trace *trace, const hb_launch *launch);
uint32_t hb_trace_add_op(hb_trace *trace, const hb_op_row *op);
bool hb_trace_add_member(hb_trace *trace, hb_str key, hb_str json);
/** The JSON text of the last top-level member of that name; len 0 when there is none. */
hb_str hb_trace_member(const hb_trace *trace, const char *key);

static inline hb_key hb_trace_key_at(const hb_trace *trace, uint32_t index)
{
    return *(const hb_key *)hb_column_at(&trace->keys.items, index);
}

/** HB_ID_FAILURE without memory. */
static inline hb_id hb_trace_id(hb_trace *trace, hb_key key)
{
    int64_t value = hb_key_value(key);
    if (key == HB_KEY_NONE) return HB_ID_NONE;
    if (HB_LIKELY(hb_key_tag(key) == HB_KEY_TAG_INT && value >= 0 && value < INT32_MAX))
        return (hb_id)value + 1;
    uint32_t index = hb_trace_key(trace, key);
    return index < HB_ID_INDEX - 1 ? index | HB_ID_INDEX : HB_ID_FAILURE;
}

static inline hb_key hb_id_key(const hb_trace *trace, hb_id id)
{
    if (id == HB_ID_NONE) return HB_KEY_NONE;
    if (HB_LIKELY(id < HB_ID_INDEX)) return hb_key_int((int64_t)id - 1);
    return hb_trace_key_at(trace, id & ~HB_ID_INDEX);
}

static inline const hb_row *hb_trace_row(const hb_trace *trace, uint32_t i)
{
    return hb_column_at(&trace->rows, i);
}

static inline hb_key hb_row_key(const hb_trace *trace, const hb_row *row)
{
    return hb_id_key(trace, row->id);
}

static inline const hb_track *hb_row_track(const hb_trace *trace, const hb_row *row)
{
    return hb_column_at(&trace->tracks.items, row->track);
}

/** Indices of hb_trace.keys. */
static inline uint32_t hb_row_pid(const hb_trace *trace, const hb_row *row)
{
    return hb_row_track(trace, row)->pid;
}

static inline uint32_t hb_row_tid(const hb_trace *trace, const hb_row *row)
{
    return hb_row_track(trace, row)->tid;
}

static inline hb_key hb_row_pid_key(const hb_trace *trace, const hb_row *row)
{
    return hb_trace_key_at(trace, hb_row_pid(trace, row));
}

static inline hb_key hb_row_tid_key(const hb_trace *trace, const hb_row *row)
{
    return hb_trace_key_at(trace, hb_row_tid(trace, row));
}

static inline const hb_op_row *hb_trace_op(const hb_trace *trace, const hb_row *row)
{
    return hb_column_at(&trace->ops.items, row->extra);
}

/** NULL: none. */
static inline const hb_op_detail *hb_trace_detail(const hb_trace *trace, const hb_op_row *op)
{
    return op->detail ? hb_column_at(&trace->details, op->detail) : NULL;
}

static inline const hb_function_row *hb_trace_function(const hb_trace *trace, const hb_row *row)
{
    return hb_column_at(&trace->functions, row->extra);
}

static inline const hb_device_row *hb_trace_device(const hb_trace *trace, const hb_row *row)
{
    return hb_column_at(&trace->devices, row->extra);
}

static inline hb_id hb_row_correlation(const hb_trace *trace, const hb_row *row)
{
    return hb_trace_device(trace, row)->correlation;
}

static inline hb_key hb_row_correlation_key(const hb_trace *trace, const hb_row *row)
{
    return hb_id_key(trace, hb_row_correlation(trace, row));
}

/** NULL: nanoseconds give back its times. */
static inline const hb_odd_times *hb_row_odd_times(const hb_trace *trace, const hb_row *row)
{
    if (HB_LIKELY(!(row->category & HB_ODD_TIMES))) return NULL;
    return hb_column_at(&trace->odd_times, row->category & ~HB_ODD_TIMES);
}

static inline hb_string_id hb_row_category(const hb_trace *trace, const hb_row *row)
{
    const hb_odd_times *odd = hb_row_odd_times(trace, row);
    return HB_UNLIKELY(odd != NULL) ? odd->category : row->category;
}

/** Whether a row's category is that one. */
static inline bool hb_row_is_of(const hb_trace *trace, const hb_row *row, hb_category category)
{
    return hb_category_is(category, hb_texts_get(&trace->strings, hb_row_category(trace, row)));
}

/** A step, also where it was repeated among a GPU's annotations. */
static inline bool hb_row_is_step(const hb_trace *trace, const hb_row *row)
{
    bool scope = row->kind == HB_KIND_OPERATOR || row->kind == HB_KIND_ANNOTATION;
    return scope && hb_is_step(hb_texts_get(&trace->strings, row->name));
}

/** A runtime call, whatever its category. */
static inline bool hb_row_is_call(const hb_row *row)
{
    return row->kind == HB_KIND_RUNTIME || row->kind == HB_KIND_CALL;
}

/** A kernel, copy or fill. */
static inline bool hb_row_is_work(const hb_row *row)
{
    return row->kind == HB_KIND_KERNEL || row->kind == HB_KIND_MEMCPY ||
           row->kind == HB_KIND_MEMSET;
}

/** A number at a moment, of one curve or several: row->extra. */
static inline bool hb_row_is_counter(const hb_row *row)
{
    return row->kind == HB_KIND_OTHER && row->ph == 'C';
}

/** A complete event with times. */
bool hb_row_is_timed(const hb_trace *trace, const hb_row *row);

/** A step with its times, on the host. */
static inline bool hb_row_is_host_step(const hb_trace *trace, const hb_row *row)
{
    return hb_row_is_step(trace, row) && hb_row_is_timed(trace, row) &&
           !hb_row_is_of(trace, row, HB_CATEGORY_GPU_USER_ANNOTATION);
}

/** Whether start is a time. */
bool hb_row_has_start(const hb_trace *trace, const hb_row *row);

static inline int64_t hb_row_end(const hb_row *row)
{
    return row->start + row->duration;
}

/** hipboard's own writer makes what nests in nanoseconds nest in doubles, too: whether this is the
 * duration in microseconds by which a row does. */
static inline bool hb_row_nests_by(const hb_row *row, double us)
{
    return row->start >= 0 && row->duration > 0 &&
           hb_nesting_us((uint64_t)row->start, (uint64_t)hb_row_end(row)) == us;
}

/** The ts and dur that the plugin sees: exactly float() of the file's text. 0: none. */
static inline double hb_plugin_ts(const hb_trace *trace, const hb_row *row)
{
    const hb_odd_times *odd = hb_row_odd_times(trace, row);
    if (HB_UNLIKELY(odd != NULL)) return odd->ts;
    return hb_ns_to_us(row->start);
}

static inline double hb_plugin_dur(const hb_trace *trace, const hb_row *row)
{
    const hb_odd_times *odd = hb_row_odd_times(trace, row);
    if (HB_UNLIKELY(odd != NULL)) return odd->dur;
    if (HB_UNLIKELY(row->flags & HB_ROW_NESTED))
        return hb_nesting_us((uint64_t)row->start, (uint64_t)hb_row_end(row));
    return hb_ns_to_us(row->duration);
}

/** Sets the times of a new row, which has its category, from what Python reads. False without
 * memory. */
bool hb_trace_set_odd_times(hb_trace *trace, hb_row *row, double ts, double dur);

static inline const hb_memory_row *hb_trace_memory(const hb_trace *trace, const hb_row *row)
{
    return hb_column_at(&trace->memory, row->extra);
}

static inline const hb_launch *hb_trace_launch_of(const hb_trace *trace, const hb_row *row)
{
    return hb_column_at(&trace->launches.items, hb_trace_device(trace, row)->launch);
}

static inline hb_str hb_trace_text(const hb_trace *trace, hb_string_id id)
{
    return hb_texts_get(&trace->strings, id);
}

#endif
