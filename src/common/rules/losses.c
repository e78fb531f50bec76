/* SPDX-License-Identifier: MIT */
#include "rules/losses.h"

const hb_loss hb_losses[HB_LOST_CAUSES] = {
#define HB_LOSS(id, member, said, sentence) {#member, said, sentence},
#include "rules/losses.def"
#undef HB_LOSS
};

hb_lost hb_lost_of(const uint64_t counts[HB_LOST_CAUSES])
{
    return (hb_lost){
        .struct_size = sizeof(hb_lost),
#define HB_LOSS(id, member, said, sentence) .member = counts[HB_LOST_##id],
#include "rules/losses.def"
#undef HB_LOSS
    };
}

uint64_t hb_lost_count(const hb_lost *lost, enum hb_lost_cause cause)
{
    const uint64_t counts[HB_LOST_CAUSES] = {
#define HB_LOSS(id, member, said, sentence) lost->member,
#include "rules/losses.def"
#undef HB_LOSS
    };
    return counts[cause];
}
