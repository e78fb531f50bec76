/* SPDX-License-Identifier: MIT
 *
 * A trace as it is drawn: tracks, each a thread of the host or a stream of a device, and in each of
 * them lanes, in which slices follow each other and never overlap. What is called lies a lane below
 * its caller; calls that cross each other get a lane of their own, none is left out.
 *
 * Of each lane a tree holds when every 8, 64, ... slices begin and end, and the longest of them,
 * so that a window is drawn by as many questions as it has cells, whatever it holds: in each cell
 * the longest slice stands for all.
 */
#ifndef HB_TIMELINE_TIMELINE_H
#define HB_TIMELINE_TIMELINE_H

#include "base/arena.h"
#include "base/hash_map.h"
#include "trace/trace.h"

typedef enum hb_track_kind { HB_TRACK_THREAD, HB_TRACK_STREAM, HB_TRACK_ANNOTATION } hb_track_kind;

/** A node of a lane's tree: some slices that follow each other. Times as in hb_slice. */
typedef struct hb_slice_node {
    int64_t start, end;
    uint32_t longest; /* the first of those: its number in the lane */
    uint32_t ns;      /* how long it is; UINT32_MAX: that, or longer */
} hb_slice_node;

/** Slices by start. */
typedef struct hb_lane {
    uint32_t first, count; /* of hb_timeline.rows */
    hb_slice_node *nodes;  /* the tree: of each 8 slices, then of each 8 of those ... up to one */
} hb_lane;

typedef struct hb_timeline_track {
    hb_track_kind kind;
    uint32_t pid, tid; /* indices of hb_trace.keys */
    uint32_t first_lane, num_lanes;
    uint64_t slices;
} hb_timeline_track;

/** Times in ns since hb_timeline.start. */
typedef struct hb_slice {
    int64_t start, end;
    uint32_t row, name; /* of the trace; index of hb_timeline.names */
} hb_slice;

/** A name in a role: what is drawn in one colour with one text. */
typedef struct hb_slice_name {
    hb_string_id text;
    uint32_t next; /* 1 + the name of that text that was before this one; 0: none */
    uint8_t kind;  /* hb_kind */
    bool step;
} hb_slice_name;

typedef struct hb_timeline {
    hb_arena arena;
    const hb_trace *trace;
    int64_t start, end; /* ns of the file's clock: of the first slice, and of the last one's end */
    HB_VEC(hb_timeline_track) tracks;
    HB_VEC(hb_lane) lanes;
    HB_VEC(hb_slice_name) names;
    uint32_t *by_text; /* by hb_string_id: 1 + the last of its names; 0: none */
    uint32_t *rows;    /* of the trace: each lane's slices, by start */
    uint32_t num_slices;
} hb_timeline;

/** A slice of a row of the trace, which is drawn. */
hb_slice hb_slice_of(const hb_timeline *timeline, uint32_t row);

static inline hb_slice hb_slice_at(const hb_timeline *timeline, const hb_lane *lane, uint32_t i)
{
    return hb_slice_of(timeline, timeline->rows[lane->first + i]);
}

/** The first slice of a lane that ends at `time` or later; its count: none. */
uint32_t hb_lane_find(const hb_timeline *timeline, const hb_lane *lane, int64_t time);

/** From the first slice's start to the last one's end, as a timeline has them; 0 of none. */
void hb_timeline_span(const hb_trace *trace, int64_t *start, int64_t *end);

/** `trace` must outlive the timeline. HB_ERROR_NO_MEMORY. Free it in any case. */
hb_result hb_timeline_make(hb_timeline *timeline, const hb_trace *trace);
void hb_timeline_free(hb_timeline *timeline);

/** What is drawn for a number of slices of a lane: from the first one's start to the last one's
 * end, under the name of the longest. */
typedef struct hb_drawn {
    int64_t start, end;
    uint32_t count;   /* of slices */
    uint32_t longest; /* its number in the lane */
} hb_drawn;

/** Calls `fn` for what is drawn of a lane between two times, from left to right. Slices shorter
 * than `cell` are one from where the first begins to the end of its cell, and as far beyond as 8,
 * or 64 ... are known together that take less than a cell; 0: each by itself. */
void hb_lane_draw(const hb_timeline *timeline, const hb_lane *lane, int64_t from, int64_t to,
                  int64_t cell, void (*fn)(void *context, const hb_drawn *drawn), void *context);

#endif
