/* SPDX-License-Identifier: MIT
 *
 * What operators achieved, for their args: the time of the kernels of each that tells FLOPs, known
 * before the first operator is written. Operators within one belong to it; the first ones of a
 * trace, up to HB_OP_RATES_MAX, are looked at.
 */
#ifndef HB_WRITE_OP_RATES_H
#define HB_WRITE_OP_RATES_H

#include "base/vector.h"
#include "trace/source.h"

enum { HB_OP_RATES_MAX = 1 << 20 };

typedef struct hb_op_rates {
    HB_VEC(struct hb_rated_scope {
        uint64_t id;    /* External id */
        uint32_t owner; /* index of owners */
    })
    scopes; /* by id, once closed */
    HB_VEC(struct hb_rated_op {
        uint64_t id;
        int64_t ns;
        int32_t device; /* of its first kernel */
    })
    owners;
    int64_t tid, end; /* of the operator with FLOPs that is open */
} hb_op_rates;

void hb_op_rates_free(hb_op_rates *rates);

/** An event of HB_PASS_HOST, in its order. False without memory. */
bool hb_op_rates_note(hb_op_rates *rates, const hb_trace_event *event);

/** Behind the last one: takes the kernels of the source. */
hb_result hb_op_rates_collect(hb_op_rates *rates, hb_source *source);

/** Writes an operator's rates as args, each with ", " behind it, where it has kernels: at most
 * HB_OP_RATES_ROOM bytes. */
enum { HB_OP_RATES_ROOM = 160 };
char *hb_put_op_rates(char *p, const hb_op_rates *rates, const hb_trace_info *info,
                      const hb_trace_event *event);

#endif
