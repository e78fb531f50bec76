/* SPDX-License-Identifier: MIT
 *
 * A session's device side as rows: shared by the files that make the rows (device_rows.c), that
 * look through the session beforehand (device_prepass.c) and that hand the rows out
 * (device_source.c).
 */
#ifndef HB_REPLAY_DEVICE_ROWS_H
#define HB_REPLAY_DEVICE_ROWS_H

#include "hip/capture.h"
#include "record/strings.h"
#include "replay/comm_rows.h"
#include "replay/correlation.h"
#include "replay/graph_replays.h"
#include "replay/host_source.h"
#include "replay/merge.h"
#include "replay/recorded_stacks.h"
#include "replay/stream_numbers.h"

#define HB_WORK_RECORDS (1u << HB_RECORD_WORK | 1u << HB_RECORD_DISPATCH)
#define HB_CALL_RECORDS                                                     \
    (1u << HB_RECORD_CALL | 1u << HB_RECORD_LAUNCH | 1u << HB_RECORD_COPY | \
     1u << HB_RECORD_ALLOCATION)

enum { MAX_NODES = 64 };

typedef struct hb_device_source {
    hb_source base;
    hb_source *host; /* everything but the device passes */
    hb_trace_info info;
    const hb_spool_view *view;
    hb_clock_fit ticks;
    hb_boottime_fit boottime;
    const hb_records *records;
    hb_record_reader reader; /* of calls, for the joins */
    hb_correlations correlations;
    hb_graph_replays graphs;
    hb_arg graph_arg; /* of the present row */
    hb_streams streams;
    hb_call_stacks stacks;
    hb_buf devices;     /* hb_device_info */
    hb_buf metadata;    /* hb_metadata */
    hb_buf threads;     /* hb_thread_info */
    hb_buf annotations; /* hb_device_annotation */
    hb_buf comms;       /* hb_device_comm, sorted by id; none without RCCL */
    hb_comm_row comm;   /* of the present row */
    hb_comm_job job;
    struct {
        int32_t node, ordinal;
        bool certain;   /* the devices say so, not just a call and its work */
    } nodes[MAX_NODES]; /* the driver's numbers of devices, as far as they were seen */
    int num_nodes;
    char uncertainty[24];
    char unjoined[24], not_reported[24], unknown_graphs[400];
    const char *late; /* records that came after the session's end */
    size_t late_bytes, late_at;
    uint64_t missing;
    /* the present pass */
    hb_pass pass;
    uint32_t thread, types;
    hb_cursor cursor;
    size_t annotation;
    char step_name[HB_STEP_NAME_SIZE]; /* of the present annotation */
} hb_device_source;

/* The device work of one user annotation on one stream. */
typedef struct hb_device_annotation {
    int32_t device;
    int64_t stream;
    uint64_t id;
    uint32_t name;
    int64_t start_ns, end_ns;
} hb_device_annotation;

/* A call that starts kernels to communicate. */
typedef struct hb_device_comm {
    uint64_t id;
    hb_record_ref call;
} hb_device_comm;

/* The call that made the work, and the one that it ran for: another when a graph was launched. */
typedef struct hb_work_origin {
    const hb_record_call *made, *ran;
} hb_work_origin;

/** Never {NULL, 0}. */
hb_str hb_device_text(const hb_device_source *s, uint32_t id);
/** NULL when the trace has none of that ordinal. */
const hb_device_info *hb_device_find(const hb_device_source *s, int32_t id);

static inline bool hb_is_call(const hb_record *r)
{
    return r->type < 32 && (HB_CALL_RECORDS >> r->type & 1);
}

static inline bool hb_is_work(const hb_record *r)
{
    return r->type == HB_RECORD_WORK || r->type == HB_RECORD_DISPATCH;
}

static inline uint64_t hb_stream_key(const hb_record_work *w, const hb_work_origin *o)
{
    return o->ran ? o->ran->stream : w->queue | HB_STREAM_IS_QUEUE;
}

hb_work_origin hb_origin_of(const hb_device_source *s, const hb_record_work *w);
/** The HIP ordinal. Where only the driver's number is reported, the devices or the call know. */
int32_t hb_ordinal_of(const hb_device_source *s, const hb_record_work *w, const hb_work_origin *o);

void hb_make_call_row(hb_device_source *s, hb_trace_event *e, const hb_record *head, int64_t tid);
/** False for work of a kind that is no row. */
bool hb_make_work_row(hb_device_source *s, hb_trace_event *e, const hb_record *head);

/** All records of some types (and perhaps others), thread after thread. */
void hb_device_rewind(hb_device_source *s, uint32_t types);
const hb_record *hb_device_next_record(hb_device_source *s);

/** Finds out what the rows need to know of each other, and fills in `info`. */
hb_result hb_device_prepass(hb_device_source *s);

#endif
