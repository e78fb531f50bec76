/* SPDX-License-Identifier: MIT
 *
 * Forward and backward operators joined by their sequence numbers, as PyTorch does it: of the
 * forward operators of one number and thread the one that started last launches the backward one.
 */
#ifndef HB_WRITE_FWDBWD_FLOWS_H
#define HB_WRITE_FWDBWD_FLOWS_H

#include "base/vector.h"
#include "trace/event.h"

typedef struct hb_flow_end {
    uint64_t op;   /* index of the operator among all events of the host pass */
    uint32_t id;   /* joins the two ends, from 1 */
    bool is_start; /* at the forward operator */
} hb_flow_end;

typedef struct hb_flow_op hb_flow_op;

/** All zero is empty. Takes 32 bytes an operator with a sequence number until paired, then 32 bytes
 * a pair. */
typedef struct hb_flows {
    HB_VEC(hb_flow_op) ops;
    hb_flow_end *ends; /* by `op` */
    size_t num_ends, at;
} hb_flows;

/** Notes an operator with a sequence number. HB_ERROR_NO_MEMORY. */
hb_result hb_flows_add(hb_flows *flows, const hb_trace_event *op, uint64_t index);

/** Finds the pairs, when all operators are noted. HB_ERROR_NO_MEMORY. */
hb_result hb_flows_pair(hb_flows *flows);

/** The flow end of operator `index`, NULL when it has none. Indices must not go down. */
const hb_flow_end *hb_flows_at(hb_flows *flows, uint64_t index);

void hb_flows_free(hb_flows *flows);

#endif
