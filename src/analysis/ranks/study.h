/* SPDX-License-Identifier: MIT
 *
 * A study of a job's ranks: the digests that were added, and what was found out of them.
 */
#ifndef HB_RANKS_STUDY_H
#define HB_RANKS_STUDY_H

#include <hipboard/ranks.h>

#include "base/names.h"
#include "base/utf8.h"
#include "ranks/rank_file.h"

enum {
    HB_RANKS_BLOCKS = 256,   /* steps, or equal parts of the collectives, at most */
    HB_RANKS_LEAST_STEPS = 3 /* fewer say nothing about who is late */
};

/** A cycle of a rank. */
typedef struct hb_study_cycle {
    hb_rank_digest digest;
    hb_rank_stamp stamp;
    uint32_t rank;  /* index of the study's ranks */
    uint32_t cycle; /* of that rank, from 0 */
} hb_study_cycle;

/** What collectives say of a rank; those of which it is known that all wait for all. */
typedef struct hb_rank_part {
    uint64_t entered, last;
    double caused, waited; /* ns: others for it, it for others */
    double expected;       /* how often it would be last by chance */
    double late;           /* ns behind the median of those who came, summed */
    double transfer;       /* ns of the shortest stay of all who came, summed */
    double messages;       /* ns that it waited for messages */
    double caused_messages;
    uint32_t *last_in; /* by block: how often it was last there */
    double *caused_in; /* ... and `caused` of that */
} hb_rank_part;

typedef struct hb_study_rank {
    int64_t rank;
    hb_str host, worker;
    uint32_t node;                     /* index of the study's nodes */
    uint32_t place;                    /* index of its places before they were sorted */
    uint32_t first_cycle, num_cycles;  /* of the study's cycles */
    double role[HB_ROLE_PARTS], whole; /* ns */
    uint32_t steps;
    hb_rank_part part;
} hb_study_rank;

typedef struct hb_study_node {
    hb_str name;
    uint32_t ranks;
    double late, useful, waited;     /* means over its ranks, ns: at a collective; of the time */
    double outlier;                  /* deviations from the median node; 0: too few nodes */
    int64_t offset_low, offset_high; /* of its clock, as far as collectives tell */
    bool offset_known;
} hb_study_node;

/** A step of all ranks; or of a part of the collectives, where there are no steps. */
typedef struct hb_study_block {
    int64_t number;
    uint32_t ranks;
    double longest, useful, most_useful; /* ns: useful is a sum */
    uint64_t meetings;                   /* collectives that all wait for all in */
} hb_study_block;

typedef enum hb_wait_kind {
    HB_WAIT_AT_ALL, /* a collective that all wait for all in */
    HB_WAIT_AT_BARRIER,
    HB_WAIT_EARLY_ROOT, /* a reduction's root came before the others */
    HB_WAIT_LATE_SENDER,
    HB_WAIT_LATE_RECEIVER,
    HB_WAIT_KINDS
} hb_wait_kind;

typedef struct hb_wait_state {
    hb_wait_kind kind;
    hb_str operation, group;
    int64_t bytes; /* at most so many, a power of two; -1: not told */
    uint64_t waits;
    double time, longest;  /* ns */
    int64_t first, second; /* of messages: who is waited for, who waits; -1: many */
    bool mixed;
} hb_wait_state;

/** Collectives of one kind, size and communicator. */
typedef struct hb_collective_class {
    hb_str operation, group;
    uint32_t size;
    int64_t bytes; /* class: up to */
    uint64_t calls;
    double sum_bytes;
    HB_VEC(float) transfer, skew;                   /* us each */
    double median_transfer, median_skew, bandwidth; /* us, us, GB/s on the bus; 0: not known */
} hb_collective_class;

/** Of a communicator, where ranks called different collectives under one number: such a job hangs,
 * or computes what nobody meant. */
typedef struct hb_mismatch {
    hb_str group, description;
    int64_t sequence;        /* the first such number */
    hb_str operation, other; /* of the lowest rank, and of the lowest one that differs */
    uint32_t rank, ranks;    /* index of the study's ranks; how many called the same */
    uint32_t other_rank, other_ranks;
    uint64_t numbers; /* such numbers in all */
} hb_mismatch;

typedef struct hb_pair_wait {
    int64_t from, to;
    uint64_t waits;
    double time;
} hb_pair_wait;

/** Where the kinds of waits and collectives stand: jobs of many communicators have thousands. */
typedef struct hb_study_kinds {
    hb_names words;         /* operations and communicators */
    hb_dict pairs, ranks;   /* of two words; of those and how many took part */
    hb_dict waits, classes; /* to the study's */
} hb_study_kinds;

typedef struct hb_efficiency {
    double parallel, balance, communication, serialization, transfer; /* 0..1 */
    double elapsed, useful, most_useful;                              /* ns */
} hb_efficiency;

typedef struct hb_change_point {
    bool found;
    int64_t number;       /* of the first step that is different */
    double before, after; /* median ns */
} hb_change_point;

struct hb_rank_study {
    hb_arena arena; /* of all that lasts; results are in `results` */
    hb_arena results;
    hb_rank_options options;
    HB_VEC(hb_study_cycle) cycles;
    HB_VEC(const char *) notes;
    HB_VEC(const char *) groups; /* lines of options.groups: host, switch, host, ... */
    hb_texts group_names;        /* of meetings.c */
    struct hb_joined *joined;    /* likewise */
    uint32_t num_paths;          /* of single files that were given */
    bool done;

    /* results */
    hb_study_rank *ranks; /* sorted */
    uint32_t num_ranks;
    int64_t world;
    HB_VEC(int64_t) missing;
    hb_study_node *nodes;
    uint32_t num_nodes;
    hb_study_node *places; /* what options.by puts together, the latest first */
    uint32_t num_places;
    uint32_t steps; /* 0: none are known */
    HB_VEC(hb_study_block) blocks;
    bool has_steps, made_steps;                /* marked; or by what repeats in the collectives */
    uint64_t meetings, partial, communicators; /* collectives; of those, not all members' */
    uint64_t synchronizing;
    uint64_t messages, unmatched;
    HB_VEC(hb_mismatch) mismatches;
    /* clocks */
    uint64_t violations; /* collectives that somebody left before all had come */
    int64_t worst_violation;
    bool by_durations;     /* times of different nodes are not compared */
    int64_t clock_bound;   /* how far times of nodes may be wrong; 0: not known, if not told */
    bool clocks_told;      /* by all files; or there is one clock */
    bool clocks_corrected; /* by what collectives tell */
    double all_waits;      /* ns at collectives, of all ranks */
    double median_skew;    /* ns between the first and the last one at a collective */
    uint32_t num_late;     /* of which `late` has the first ones */
    HB_VEC(hb_wait_state) waits;
    HB_VEC(hb_collective_class) classes;
    hb_study_kinds kinds; /* of waits.c */
    HB_VEC(hb_pair_wait) pairs;
    HB_VEC(hb_late_rank) late;
    HB_VEC(hb_rank_shift) shifts;
    char inconclusive[200];
    hb_efficiency efficiency;
    hb_change_point change;
    char limit_text[200];
};

/** Of a name of whatever length: bytes for "%.*s". */
static inline int hb_study_cut(hb_str name, size_t most)
{
    return (int)hb_utf8_cut(name.s, name.len, most);
}

HB_PRINTF(2, 3) void hb_study_note(hb_rank_study *study, const char *format, ...);

/** As people read it: "2023-11-14 22:13:20 UTC". */
typedef struct hb_study_moment {
    char text[40];
} hb_study_moment;
hb_study_moment hb_study_time(int64_t ns);

/** Sorts the digests by ranks, leaves out those of other runs and second ones. */
void hb_study_sort(hb_rank_study *study);

/** Leaves out what is there twice at a time; says what else is odd, one line each, and leaves out
 * collectives that cannot be matched. */
void hb_study_drop_twins(hb_rank_study *study);
void hb_study_tell_odd(hb_rank_study *study);

/** Finds out all, once. */
hb_result hb_study_run(hb_rank_study *study);

/** By rank and block; of a study that was run, in study->results, which it may leave. */
void hb_study_cells(hb_rank_study *study, hb_rank_cells *cells);

/** Messages by ranks, then collectives; likewise. */
void hb_study_traffic(hb_rank_study *study, const hb_rank_traffic **items, size_t *count);

/* The parts of hb_study_run(), in their order; they may leave study->results. */
void hb_study_check_clocks(hb_rank_study *study);
/* Clocks by what collectives tell: corrects them, unless nothing is known of some, or some
 * collective contradicts it; how far they may be wrong as they were written, 0: not known; takes
 * back the correction. */
bool hb_study_correct_clocks(hb_rank_study *study);
int64_t hb_study_written_bound(hb_rank_study *study);
void hb_study_leave_clocks(hb_rank_study *study);
void hb_study_meetings(hb_rank_study *study);
void hb_study_tell_mismatches(hb_rank_study *study); /* found by the first walk of meetings.h */
void hb_study_messages(hb_rank_study *study);
void hb_study_efficiency(hb_rank_study *study);
void hb_study_places(hb_rank_study *study);
void hb_study_name_late(hb_rank_study *study);

/** The index of the block that a step's number stands for, or of a collective's time where there
 * are no steps; -1: none. */
int hb_study_block_of(const hb_rank_study *study, const hb_study_rank *rank, int64_t ns);

/** Where ranks stood when the recording ended: who is in which collective, and who did not come. */
typedef struct hb_stand {
    hb_str group, description, operation; /* operation: of those who are in it */
    int64_t sequence;                     /* the greatest that a rank has come to */
    int64_t since;                        /* when the first one came, Unix ns */
    uint32_t inside, known;               /* ranks in it; of the communicator */
    HB_VEC(uint32_t) behind;              /* indices of ranks that did not come to it */
    HB_VEC(int64_t) reached;              /* ... but to this one */
    HB_VEC(uint32_t) otherwise;           /* that are in another collective under its number */
    HB_VEC(hb_str) other;                 /* ... which is this */
} hb_stand;

/** What a communicator is called: its description, if it has one. */
static inline hb_str hb_communicator_name(hb_str group, hb_str description)
{
    return description.len ? description : group;
}

/** Of each communicator that a rank waits in; in study->results. */
hb_stand *hb_study_stands(hb_rank_study *study, uint32_t *count);
void hb_study_write_hang(hb_rank_study *study, hb_buf *out);

void hb_study_write_json(hb_rank_study *study, hb_buf *out);
void hb_study_write_text(hb_rank_study *study, bool markdown, hb_buf *out);

const char *hb_wait_kind_words(hb_wait_kind kind);
const char *hb_late_because_word(hb_late_because because);

#endif
