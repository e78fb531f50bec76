/* SPDX-License-Identifier: MIT
 *
 * Digests of ranks as they are read: what is small in memory, calls as bytes that are walked
 * through.
 */
#ifndef HB_RANKS_RANK_FILE_H
#define HB_RANKS_RANK_FILE_H

#include "digest/rank_digest.h"

typedef struct hb_digest_step {
    int64_t number, start, end; /* Unix ns */
    int64_t role[HB_ROLE_PARTS];
} hb_digest_step;

typedef struct hb_rank_cost {
    hb_str name;
    bool device;
    uint64_t calls;
    int64_t self, total;
} hb_rank_cost;

/** Collectives of one communicator; `data` has them in the order of their numbers. */
typedef struct hb_rank_group {
    hb_str name, description, members;
    uint64_t size;
    bool numbered; /* else by their places in the cycle */
    uint32_t count;
    hb_str data;
} hb_rank_group;

/** Messages to or from one rank with one tag. */
typedef struct hb_rank_channel {
    hb_str group, description;
    bool sends;
    int64_t peer, tag;
    uint32_t count;
    hb_str data;
} hb_rank_channel;

/** What the rank was in when the recording ended; the innermost is the last one. */
typedef struct hb_rank_inside {
    hb_str name, group, description;
    int64_t sequence, start; /* sequence: 0: none */
} hb_rank_inside;

/** What is to be added to a clock's times, in nanoseconds: offset + slope * (time - at). */
typedef struct hb_clock_line {
    int64_t at, offset;
    double slope;
} hb_clock_line;

typedef struct hb_rank_digest {
    hb_str host, worker, file, backend;
    int64_t rank, world, pid; /* -1: not known */
    int64_t start, end;       /* Unix ns */
    uint64_t lost, unmatched; /* records; messages whose other end is not known */
    int clock_method;
    int64_t clock_offset, clock_bound;
    int64_t whole[HB_ROLE_PARTS];
    const hb_str *names;
    uint32_t num_names;
    const hb_digest_step *steps;
    uint32_t num_steps;
    const hb_rank_cost *costs;
    uint32_t num_costs;
    const hb_rank_group *groups;
    uint32_t num_groups;
    const hb_rank_channel *channels;
    uint32_t num_channels;
    const hb_rank_inside *inside;
    uint32_t num_inside;
    hb_str bytes;       /* as they stand in a file */
    hb_clock_line line; /* as collectives correct it: zeros: as it was written */
} hb_rank_digest;

/** A time of the digest's by the clock that all are corrected to; what is walked through has it
 * already. */
static inline int64_t hb_rank_time(const hb_rank_digest *d, int64_t ns)
{
    return ns + d->line.offset + (int64_t)(d->line.slope * (double)(ns - d->line.at));
}

/** The other way round. */
static inline int64_t hb_rank_own_time(const hb_rank_digest *d, int64_t ns)
{
    return 2 * ns - hb_rank_time(d, ns);
}

/** Reads a digest; all of it is checked, so that walking through it cannot fail. What is kept is in
 * the arena, which is left with HB_ERROR_FORMAT, and points into `bytes`. */
void hb_rank_decode(hb_arena *arena, hb_str bytes, const char *path, hb_rank_digest *digest);

/** A collective. */
typedef struct hb_rank_entry {
    int64_t sequence, bytes, start, end;
    hb_str operation;
    bool async;
} hb_rank_entry;

/** Where one has come to in a group or a channel. */
typedef struct hb_rank_walk {
    const hb_rank_digest *digest;
    const unsigned char *at, *end;
    int64_t sequence, bytes, time;
    uint32_t left;
} hb_rank_walk;

hb_rank_walk hb_rank_walk_group(const hb_rank_digest *digest, const hb_rank_group *group);
bool hb_rank_next(hb_rank_walk *walk, hb_rank_entry *entry);
/** The same by the digest's own clock. */
bool hb_rank_next_as_written(hb_rank_walk *walk, hb_rank_entry *entry);

/** A message; the host waited for it from wait_start to wait_end, which may be its own call. */
typedef struct hb_rank_message {
    int64_t bytes, start, end, wait_start, wait_end;
    bool async;
} hb_rank_message;

hb_rank_walk hb_rank_walk_channel(const hb_rank_digest *digest, const hb_rank_channel *channel);
bool hb_rank_next_message(hb_rank_walk *walk, hb_rank_message *message);

/** A file's digests, one after the other. */
typedef struct hb_rank_records {
    const char *path;
    hb_str file; /* the whole */
    size_t at;
    uint32_t damaged; /* that were passed over */
    bool cut;         /* the last one is not whole */
} hb_rank_records;

/** HB_ERROR_FORMAT when it is none, HB_ERROR_UNSUPPORTED of another version. */
hb_result hb_rank_records_open(hb_rank_records *records, const char *path, hb_str file);
/** The next one that is not damaged; false behind the last one. */
bool hb_rank_records_next(hb_rank_records *records, hb_rank_stamp *stamp, hb_str *digest);

/** Where the next one is to be added to a file of that size: behind what was added whole. 0: not
 * there any more. `head`: its first HB_RANK_FILE_HEAD bytes. */
uint64_t hb_rank_file_end(const char *head, uint64_t size);
/** Says so in the head. */
void hb_rank_file_set_end(char *head, uint64_t end);

/** Paths, from malloc. */
typedef struct hb_rank_list {
    char **items;
    uint32_t count;
} hb_rank_list;

/** The files of digests that lie in a directory, in the order of names; of anything else none. */
hb_result hb_rank_files_in(const char *directory, hb_rank_list *list);
void hb_rank_list_free(hb_rank_list *list);

#endif
