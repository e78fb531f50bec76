/* SPDX-License-Identifier: MIT */
#include "write/fwdbwd_flows.h"

#include <stdlib.h>

#include "base/base.h"

struct hb_flow_op {
    uint64_t key; /* of the forward operator: thread number and sequence number */
    int64_t start, end;
    uint64_t index : 63;
    uint64_t backward : 1;
};

hb_result hb_flows_add(hb_flows *flows, const hb_trace_event *op, uint64_t index)
{
    hb_flow_op *added = HB_APPEND(&flows->ops);
    if (!added)
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory to pair %u operators by sequence number",
                       flows->ops.count);
    bool backward = op->op.forward_thread != 0;
    uint64_t thread = backward ? op->op.forward_thread : op->op.thread_number;
    *added = (hb_flow_op){
        .key = thread << 48 | (op->op.sequence_number & 0xffffffffffff),
        .start = op->start_ns,
        .end = op->end_ns,
        .index = index,
        .backward = backward,
    };
    return HB_OK;
}

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int by_key_and_end(const void *a, const void *b)
{
    const hb_flow_op *x = a, *y = b;
    int order = COMPARE(x->key, y->key);
    if (order == 0) order = COMPARE(x->end, y->end);
    return order ? order : COMPARE(x->index, y->index);
}

/* A pair while it has no number yet; PyTorch numbers by the end of the backward operator. */
typedef struct pair {
    int64_t backward_end;
    uint64_t forward, backward;
} pair;

static int by_backward_end(const void *a, const void *b)
{
    const pair *x = a, *y = b;
    int order = COMPARE(x->backward_end, y->backward_end);
    return order ? order : COMPARE(x->backward, y->backward);
}

static int by_op(const void *a, const void *b)
{
    const hb_flow_end *x = a, *y = b;
    return COMPARE(x->op, y->op);
}

/* The operators of one key follow each other in order of their end; a backward one takes the
 * candidate away. There are at most half as many pairs as operators. */
static size_t find_pairs(const hb_flows *flows, pair *pairs)
{
    const hb_flow_op *forward = NULL;
    size_t count = 0;
    for (size_t i = 0; i < flows->ops.count; i++) {
        const hb_flow_op *op = &flows->ops.items[i];
        if (forward && forward->key != op->key) forward = NULL;
        if (!op->backward) {
            if (!forward || op->start >= forward->start) forward = op;
        } else if (forward) {
            pairs[count++] = (pair){op->end, forward->index, op->index};
            forward = NULL;
        }
    }
    return count;
}

hb_result hb_flows_pair(hb_flows *flows)
{
    if (flows->ops.count == 0) return HB_OK;
    qsort(flows->ops.items, flows->ops.count, sizeof *flows->ops.items, by_key_and_end);
    pair *pairs = malloc((flows->ops.count / 2 + 1) * sizeof *pairs);
    size_t count = pairs ? find_pairs(flows, pairs) : 0;
    free(flows->ops.items);
    memset(&flows->ops, 0, sizeof flows->ops);
    flows->ends = pairs ? malloc((2 * count + 1) * sizeof *flows->ends) : NULL;
    if (!flows->ends) {
        free(pairs);
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory to pair operators by sequence number");
    }
    qsort(pairs, count, sizeof *pairs, by_backward_end);
    for (size_t i = 0; i < count; i++) {
        uint32_t id = (uint32_t)(i + 1);
        flows->ends[2 * i] = (hb_flow_end){pairs[i].forward, id, true};
        flows->ends[2 * i + 1] = (hb_flow_end){pairs[i].backward, id, false};
    }
    free(pairs);
    flows->num_ends = 2 * count;
    qsort(flows->ends, flows->num_ends, sizeof *flows->ends, by_op);
    return HB_OK;
}

const hb_flow_end *hb_flows_at(hb_flows *flows, uint64_t index)
{
    while (flows->at < flows->num_ends && flows->ends[flows->at].op < index)
        flows->at++;
    bool found = flows->at < flows->num_ends && flows->ends[flows->at].op == index;
    return found ? &flows->ends[flows->at] : NULL;
}

void hb_flows_free(hb_flows *flows)
{
    free(flows->ops.items);
    free(flows->ends);
    *flows = (hb_flows){0};
}
