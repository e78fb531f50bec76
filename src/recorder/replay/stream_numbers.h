/* SPDX-License-Identifier: MIT
 *
 * Small numbers for streams, per device in the order of their first work; the null stream is 0.
 */
#ifndef HB_REPLAY_STREAM_NUMBERS_H
#define HB_REPLAY_STREAM_NUMBERS_H

#include "base/base.h"
#include "base/vector.h"
#include "trace/event.h"

/** Where the stream is not known a hardware queue stands for it: its id with this bit. */
#define HB_STREAM_IS_QUEUE ((uint64_t)1 << 63)

typedef struct hb_stream_entry {
    uint64_t key; /* hipStream_t */
    hb_stream_info info;
} hb_stream_entry;

typedef struct hb_streams {
    HB_VEC(hb_stream_entry) entries;
    hb_stream_info *sorted;
    size_t last;
    bool failed;
} hb_streams;

void hb_streams_init(hb_streams *streams);
void hb_streams_free(hb_streams *streams);
void hb_streams_add(hb_streams *streams, int32_t device, uint64_t key);

/** 0 for one that was not added, too. */
int64_t hb_streams_number(hb_streams *streams, int32_t device, uint64_t key);

/** By device and number; belongs to `streams`. */
const hb_stream_info *hb_streams_sorted(hb_streams *streams, size_t *count);

#endif
