/* SPDX-License-Identifier: MIT
 *
 * Args of events in Perfetto's protobuf. They are kept as their names, sizes and values, until
 * their row is known, whose numbers names are written as.
 */
#ifndef HB_WRITE_PFTRACE_ARGS_H
#define HB_WRITE_PFTRACE_ARGS_H

#include "trace/event.h"
#include "write/pftrace_packets.h"

typedef struct hb_pf_args {
    hb_pf_file *f;
    hb_buf *to;
    struct {
        const char *name;
        hb_sid text;
    } names[256]; /* of constant texts, found by where they stand */
} hb_pf_args;

/** Those of an event, by its kind; they are appended to a->to. */
void hb_pf_add_scope(hb_pf_args *a, const hb_trace_event *e);
void hb_pf_add_call(hb_pf_args *a, const hb_trace_event *e);
void hb_pf_add_memory(hb_pf_args *a, const hb_trace_event *e);
void hb_pf_add_work(hb_pf_args *a, const hb_trace_event *e);

/** Their messages, as far as there is room; names are written before as far as the row lacks them.
 */
void hb_pf_put_args(hb_pf_file *f, hb_pf_row *row, hb_message *to, const char *args, size_t size);

#endif
