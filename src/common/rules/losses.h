/* SPDX-License-Identifier: MIT
 *
 * Why records are missing, or are there in part, and how that is told.
 */
#ifndef HB_RULES_LOSSES_H
#define HB_RULES_LOSSES_H

#include <hipboard/hipboard.h>

enum hb_lost_cause {
#define HB_LOSS(id, member, said, sentence) HB_LOST_##id,
#include "rules/losses.def"
#undef HB_LOSS
    HB_LOST_CAUSES
};

typedef struct hb_loss {
    const char *key; /* of "hipboard_lost" in a trace's metadata */
    bool said;       /* on stderr; all are in the event file and the trace */
    const char *sentence;
} hb_loss;

extern const hb_loss hb_losses[HB_LOST_CAUSES];

/** As users ask for it, of `counts` by cause. */
hb_lost hb_lost_of(const uint64_t counts[HB_LOST_CAUSES]);

/** And back. */
uint64_t hb_lost_count(const hb_lost *lost, enum hb_lost_cause cause);

#endif
