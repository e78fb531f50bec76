/* SPDX-License-Identifier: MIT
 *
 * A recorded communication as rows of a trace: an operator with torch's keys of a collective, and
 * for those that the plugin can place an annotation around it.
 */
#ifndef HB_REPLAY_COMM_ROWS_H
#define HB_REPLAY_COMM_ROWS_H

#include "record/communication.h"
#include "record/format.h"
#include "record/session.h"
#include "rules/collective_names.h"
#include "trace/event.h"

/** The job, as distributedInfo tells it; size 0: it does not. */
typedef struct hb_comm_job {
    int64_t rank, size;
    bool has_rccl; /* its collectives are the plugin's, which knows one library a run */
} hb_comm_job;

/** distributedInfo's JSON, or NULL. */
hb_comm_job hb_comm_job_of(const char *distributed_json);

/** What a record says of a communication; NULL: it is none. */
const hb_record_comm *hb_comm_of_record(const hb_record *record);

/** Its group's text (record/communication.h); len 0: all ranks. */
hb_str hb_comm_group_text(const hb_spool_view *view, const hb_record_comm *comm);

enum { HB_COMM_ARGS = 20 };

/** What the rows of one communication refer to; zeroed at first. */
typedef struct hb_comm_row {
    hb_arg args[HB_COMM_ARGS];
    hb_input input;
    int64_t dims[1], strides[1];
    hb_buf texts; /* of args; freed by the owner */
} hb_comm_row;

/** The name of the annotation around a call; len 0: it has none. The plugin matches collectives of
 * all ranks by their place in the order of time, so only those that all ranks take part in, and in
 * which they wait, have one. */
hb_str hb_comm_annotation(const hb_record_comm *comm, hb_str name, hb_str group, hb_comm_job job);

/** Makes `event`, which has all of a scope but these, such an annotation of that name; or the call
 * itself. What is in `row` lasts until the next one is made. */
void hb_comm_make_annotation(hb_comm_row *row, hb_trace_event *event, const hb_record_comm *comm,
                             hb_str name);
void hb_comm_make_call(hb_comm_row *row, hb_trace_event *event, const hb_record_comm *comm,
                       hb_str group, hb_comm_job job);

#endif
