/* SPDX-License-Identifier: MIT
 *
 * Args of events in Perfetto's protobuf. Of events whose row is known they are written into the
 * event at once; of others their names, sizes and values are kept, until their row is known, whose
 * numbers names are written as.
 */
#ifndef HB_WRITE_PFTRACE_ARGS_H
#define HB_WRITE_PFTRACE_ARGS_H

#include "trace/event.h"
#include "write/pftrace_packets.h"

typedef struct hb_pf_args {
    hb_pf_file *f;
    hb_buf *to;          /* where they are kept; NULL: */
    hb_pf_row *row;      /* of the event that ... */
    hb_message *message; /* ... they are written into */
    char *begin;         /* of the one that is being written */
    hb_string_id name;
    char spare[700]; /* for those that the event has no room for */
    struct {
        const char *name;
        hb_string_id text;
    } names[256]; /* of constant texts, found by where they stand */
    /* What the last GPU is called. */
    hb_string_id agent;
    int32_t agent_device;
} hb_pf_args;

/** Those of an event, by its kind. */
void hb_pf_add_scope(hb_pf_args *a, const hb_trace_event *e);
void hb_pf_add_call(hb_pf_args *a, const hb_trace_event *e);
void hb_pf_add_memory(hb_pf_args *a, const hb_trace_event *e);
void hb_pf_add_work(hb_pf_args *a, const hb_trace_event *e);

/** Their messages, as far as there is room; names are written before as far as the row lacks them.
 */
void hb_pf_put_args(hb_pf_file *f, hb_pf_row *row, hb_message *to, const char *args, size_t size);

#endif
