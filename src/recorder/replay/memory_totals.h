/* SPDX-License-Identifier: MIT
 *
 * What takes the order of all threads' records to know: modules' ids and parents, and memory totals
 * that the program left to us. Found while reading; the records stay as they are.
 */
#ifndef HB_REPLAY_MEMORY_TOTALS_H
#define HB_REPLAY_MEMORY_TOTALS_H

#include "record/live_memory.h"
#include "replay/merge.h"

/** Modules, in the order of a merge: ids by start over all threads, parents by nesting in one. */
typedef struct hb_module_numbers {
    uint32_t last_id;
} hb_module_numbers;

typedef struct hb_module_ids {
    uint32_t id, parent_id;
} hb_module_ids;

/** Of the record that the merge gave last. False without memory. */
bool hb_number_module(hb_module_numbers *numbers, hb_merge_thread *t, hb_module_ids *ids);
/** Before hb_merge_close(). */
void hb_numbers_free(hb_merge *merge);

typedef struct hb_memory_total {
    int64_t allocated, reserved;
} hb_memory_total;

/** A session's totals: of each thread, in the order of its records. */
typedef struct hb_memory_totals {
    hb_buf *threads; /* of hb_memory_total */
    uint32_t num_threads;
} hb_memory_totals;

/** `ends`: what is allocated as the session ends, of some devices, where that is known. */
hb_result hb_memory_totals_find(hb_memory_totals *totals, const hb_spool_view *view,
                                const hb_session *session, const hb_live_total *ends,
                                uint32_t num_ends);
void hb_memory_totals_free(hb_memory_totals *totals);

/** Of a thread's n-th memory record; zeros when there is none. */
hb_memory_total hb_memory_total_of(const hb_memory_totals *totals, uint32_t thread, size_t n);

#endif
