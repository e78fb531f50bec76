/* SPDX-License-Identifier: MIT
 *
 * A session's records of some types, over all threads in the order of their start.
 */
#ifndef HB_REPLAY_MERGE_H
#define HB_REPLAY_MERGE_H

#include "record/session.h"

typedef struct hb_merge_thread {
    hb_cursor cursor;
    uint32_t index; /* in the order of threads */
    int64_t tid;
    hb_record *record; /* the thread's next; good until its next one */
    uint64_t id;
    uint64_t floor; /* no record starts before the one before it */
    void *user;     /* the caller's; NULL at first */
} hb_merge_thread;

typedef struct hb_merge {
    hb_merge_thread *threads; /* num_threads */
    uint32_t num_threads;
    uint32_t *heap; /* of threads with a record, by its start */
    uint32_t heap_size;
    uint32_t types; /* bits 1 << enum hb_record_type */
    bool started;
} hb_merge;

hb_result hb_merge_open(hb_merge *merge, const hb_spool_view *view, const hb_session *session,
                        uint32_t types);
void hb_merge_close(hb_merge *merge);

/** The thread whose `record` is the next; valid until the next call. NULL at the end. */
hb_merge_thread *hb_merge_next(hb_merge *merge);

#endif
