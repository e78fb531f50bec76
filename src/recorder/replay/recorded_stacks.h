/* SPDX-License-Identifier: MIT
 *
 * The call stacks of a session's HIP calls.
 */
#ifndef HB_REPLAY_RECORDED_STACKS_H
#define HB_REPLAY_RECORDED_STACKS_H

#include "record/format.h"
#include "symbols/symbolizer.h"

typedef struct hb_call_stacks {
    hb_buf calls; /* of correlations and the hashes of their stacks */
    hb_buf known; /* hashes, and where their addresses begin */
    hb_buf pcs;   /* each list ends with a 0 */
    bool is_sorted;
    hb_symbolizer *symbolizer; /* made when first needed */
} hb_call_stacks;

void hb_call_stacks_init(hb_call_stacks *stacks);
void hb_call_stacks_free(hb_call_stacks *stacks);
void hb_call_stacks_add(hb_call_stacks *stacks, const hb_record_frames *record);

/** The return addresses of a call, innermost first; NULL with *count 0 when it has none. */
const uint64_t *hb_call_stacks_find(hb_call_stacks *stacks, uint64_t correlation, uint32_t *count);

/** As text. `code`: as in hb_symbolizer_new(). Valid until the next call. */
hb_str hb_call_stacks_text(hb_call_stacks *stacks, hb_str code, const uint64_t *pcs,
                           uint32_t count);

#endif
