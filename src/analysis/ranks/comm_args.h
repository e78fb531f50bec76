/* SPDX-License-Identifier: MIT
 *
 * What an event's args and its name tell of a communication: by torch's keys, by the inputs of an
 * annotation, by a kernel's name.
 */
#ifndef HB_RANKS_COMM_ARGS_H
#define HB_RANKS_COMM_ARGS_H

#include "base/json_scan.h"
#include "digest/rank_digest.h"

/** A whole number; `otherwise` of anything else. */
static inline int64_t hb_int_of(const hb_value *v, int64_t otherwise)
{
    int64_t n;
    return hb_value_int(v, &n) ? n : otherwise;
}

/** False: the args have no keys of a communication. Texts with escapes are resolved into `texts`,
 * to which those of `comm` then point. */
bool hb_comm_of_args(hb_str args, hb_buf *texts, hb_rank_comm *comm);

/** Of a scope that is named as a collective, "gloo:all_reduce", and has inputs. */
bool hb_comm_of_annotation(hb_str name, hb_str args, hb_rank_comm *comm);

/** Of a device's kernel that communicates. */
void hb_comm_of_kernel(hb_str name, hb_str args, hb_buf *texts, hb_rank_comm *comm);

#endif
