/* SPDX-License-Identifier: MIT
 *
 * Groups of ranks as records name them: an interned text,
 * "<name>\\t<description>\\t<size>\\t<ranks>", the ranks as torch writes them.
 */
#ifndef HB_RECORD_COMMUNICATION_H
#define HB_RECORD_COMMUNICATION_H

#include <hipboard/comm.h>

#include "base/base.h"
#include "base/str.h"

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

#endif
