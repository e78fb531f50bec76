/* SPDX-License-Identifier: MIT
 *
 * Perfetto's protobuf: packets of several sequences, each with its own tables of interned names.
 * What a file has of clocks and rows (perfetto_tracks.c) for who reads its events (perfetto.c).
 */
#ifndef HB_IMPORT_PERFETTO_H
#define HB_IMPORT_PERFETTO_H

#include "base/hash_map.h"
#include "import/import_set.h"
#include "import/named_event.h"
#include "import/wire.h"
#include "read/text_window.h"

enum { HB_PERFETTO_BOOTTIME = 6, HB_PERFETTO_REALTIME = 1, HB_PERFETTO_OWN_CLOCKS = 64 };

/** A sequence's own clock, in ns of the trace's: `offset` + `unit` times what it shows. */
typedef struct hb_perfetto_clock {
    uint64_t id;
    int64_t offset, unit, last;
    bool counts_on; /* it tells by how much it went on */
} hb_perfetto_clock;

enum hb_perfetto_table {
    HB_PERFETTO_CATEGORIES,
    HB_PERFETTO_NAMES,
    HB_PERFETTO_ARGS,
    HB_PERFETTO_STRINGS,
    HB_PERFETTO_TABLES
};

typedef struct hb_perfetto_sequence {
    uint64_t id;
    hb_dict tables[HB_PERFETTO_TABLES]; /* iid to text */
    uint64_t clock, track;              /* where packets do not say */
    HB_VEC(hb_perfetto_clock) clocks;
} hb_perfetto_sequence;

/** A slice that is open, or one that waits for the next. */
typedef struct hb_perfetto_slice {
    hb_named_event event;
    struct hb_perfetto_slice *below;
} hb_perfetto_slice;

typedef struct hb_perfetto_track {
    uint64_t uuid, parent;
    hb_string_id name, thread_name, unit;
    int64_t pid, tid;   /* -1: not told */
    bool counts, known; /* known: the four below are */
    uint32_t process;
    int64_t row; /* a thread */
    hb_string_id row_name, full_name;
    hb_perfetto_slice *open;
} hb_perfetto_track;

typedef struct hb_perfetto {
    hb_import *import;
    hb_arena *arena;
    hb_text text;
    hb_buf inflated;
    hb_dict sequence_ids, track_ids, arg_kinds, kinds;
    HB_VEC(hb_perfetto_sequence) sequences;
    HB_VEC(hb_perfetto_track) tracks;
    HB_VEC(hb_import_process *) processes;
    hb_perfetto_slice *spare;
    int64_t first_pid;                       /* -1: none yet */
    int64_t offsets[HB_PERFETTO_OWN_CLOCKS]; /* of all sequences' clocks */
    int64_t to_unix, last;                   /* last: the latest time */
    bool has_unix, has_snapshot;
    uint64_t packets, lost;
} hb_perfetto;

hb_string_id hb_perfetto_intern(hb_perfetto *f, hb_str text);

/** Messages of these fields of a packet. */
void hb_perfetto_take_track(hb_perfetto *f, hb_wire message);
void hb_perfetto_take_snapshot(hb_perfetto *f, uint32_t sequence, hb_wire message);

/** A packet's timestamp in the trace's time. `clock` 0: as its sequence has it. */
int64_t hb_perfetto_time(hb_perfetto *f, uint32_t sequence, uint64_t timestamp, uint64_t clock);

/** The row, with what is known of it. Holds until another one is asked for. */
hb_perfetto_track *hb_perfetto_track_of(hb_perfetto *f, uint64_t uuid);

/** All was read: processes whose threads' rows do not stand in theirs have their names, too. */
void hb_perfetto_name_processes(hb_perfetto *f);

#endif
