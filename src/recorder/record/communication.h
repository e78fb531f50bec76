/* SPDX-License-Identifier: MIT
 *
 * Groups of ranks as records name them: an interned text,
 * "<name>\\t<description>\\t<size>\\t<ranks>", the ranks as torch writes them, or none where it is
 * not known which they are.
 */
#ifndef HB_RECORD_COMMUNICATION_H
#define HB_RECORD_COMMUNICATION_H

#include <hipboard/comm.h>

#include "base/base.h"
#include "base/str.h"

/** Of RCCL, where its calls were recorded. */
#define HB_METADATA_RCCL "hipboard_rccl"

/** torch names no more ranks of a group. */
#define HB_COMM_SHOWN_RANKS 30u

/** "[0, 1, 2]", or with ", ...]" behind so many. */
void hb_comm_put_ranks(hb_buf *text, const int64_t *ranks, size_t count);

/** A group's text in its parts; false when it is none. */
typedef struct hb_comm_group_words {
    hb_str name, description, ranks;
    int64_t size;
} hb_comm_group_words;
bool hb_comm_group_read(hb_str text, hb_comm_group_words *words);

/** What it moves, by its elements where it does not say; -1: not known. */
int64_t hb_comm_bytes(const hb_comm_info *info);

/** As hb_comm_begin(), for hb_record_communication(). `in_group`: it begins with others, within a
 * scope that is the communication of them all. */
hb_scope hb_comm_record(uint32_t name, const hb_comm_info *info, bool in_group, const void *frame,
                        const void *caller);

#endif
