/* SPDX-License-Identifier: MIT
 *
 * hipboard/ranks.h - a parallel job's ranks: who makes the others wait, and what it costs.
 *
 * Of each trace a digest of some kilobytes is made, whoever wrote it; all answers are made of
 * digests. They can be kept in a file, *.hbranks, and made on several machines:
 *
 *     hb_rank_study *study;
 *     hb_rank_study_create(NULL, &study);
 *     if (hb_rank_study_add(study, "runs/job") == HB_OK &&
 *         hb_rank_study_report(study, HB_RANKS_TEXT, &text, NULL) == HB_OK) fputs(text, stdout);
 *     hb_rank_study_destroy(study);
 *
 * A study belongs to one thread at a time.
 */
#ifndef HIPBOARD_RANKS_H
#define HIPBOARD_RANKS_H

#include <hipboard/analysis.h>
#include <hipboard/convert.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What ranks are put together by. */
typedef enum hb_ranks_by {
    HB_RANKS_BY_NODE,
    HB_RANKS_BY_SWITCH, /* of hb_rank_options.groups */
    HB_RANKS_BY_MODULO, /* their places on a node: rank modulo the ranks of a node */
} hb_ranks_by;

typedef struct hb_rank_options {
    size_t struct_size;
    /** Only a part of the traces: of `parts` the one of that number, from 1. 0: all. They are dealt
     * by size, so that each takes about as long to read. */
    uint32_t part, parts;
    hb_ranks_by by;
    const char *groups;  /* a file with lines "HOST SWITCH"; or NULL */
    int64_t rank;        /* one that the report tells more of; -1: none */
    uint32_t line_width; /* of the report as text; 0: 100 */
    bool hang; /* the report as text says where each rank stood in the end, and nothing else */
    /** As in hb_open_options. */
    uint64_t max_memory;
    bool (*progress)(void *context, const char *path, uint64_t done, uint64_t size);
    void *context;
} hb_rank_options;

#define HB_RANK_OPTIONS_INIT HB_SIZED_WITH_(hb_rank_options, .rank = -1, .parts = 0)

typedef struct hb_rank_study hb_rank_study;

HB_API hb_result hb_rank_study_create(const hb_rank_options *options, hb_rank_study **study);
HB_API void hb_rank_study_destroy(hb_rank_study *study);

/** A trace, a log directory, a pack or a file of digests. Of a log directory with several runs the
 * last one. What cannot be read is noted, and left out. HB_ERROR_NOT_FOUND: there is nothing. */
HB_API hb_result hb_rank_study_add(hb_rank_study *study, const char *path);

/** The digests of all that was added, as the bytes of a .hbranks file: the same, in whatever order
 * and parts they were added. Free with hb_free(). */
HB_API hb_result hb_rank_study_digests(hb_rank_study *study, char **bytes, size_t *size);
/** Adds such bytes. `name` is for messages. */
HB_API hb_result hb_rank_study_add_digests(hb_rank_study *study, const char *name,
                                           const char *bytes, size_t size);
/** Writes them into a file, which appears whole or not at all. */
HB_API hb_result hb_rank_study_write(hb_rank_study *study, const char *path);

/** Adds them to a file behind what others have added, under its lock; makes the file where it is
 * not there. HB_ERROR_FORMAT: it is another file. */
HB_API hb_result hb_rank_study_append(hb_rank_study *study, const char *path);

typedef enum hb_ranks_form { HB_RANKS_TEXT, HB_RANKS_MARKDOWN, HB_RANKS_JSON } hb_ranks_form;

/** All answers: as text and Markdown at most 60 lines, for any number of ranks. NUL-terminated;
 * free with hb_free(). `size` may be NULL. HB_ERROR_NOT_FOUND: no rank is known. */
HB_API hb_result hb_rank_study_report(hb_rank_study *study, hb_ranks_form form, char **text,
                                      size_t *size);

/** What could not be read and why, what was left out: a line each. */
HB_API hb_result hb_rank_study_notes(hb_rank_study *study, const char *const **notes,
                                     size_t *count);

/** A trace that the study has a digest of. */
typedef struct hb_rank_source {
    const char *worker, *host, *file; /* file: its name, without a directory */
    int64_t rank;
    unsigned cycle; /* of those of that rank, from 0 */
} hb_rank_source;

/** In the order of ranks, and of time. They last until something is added. */
HB_API hb_result hb_rank_study_sources(hb_rank_study *study, const hb_rank_source **sources,
                                       size_t *count);
/** One of them as a trace of which a digest has its rank and its steps: hb_trace_file_steps(),
 * hb_step_summary_add(), hb_trace_file_query() of "overview". All else is HB_ERROR_UNSUPPORTED, and
 * hb_trace_file_is_digest() is true. A step lasts as it was marked; its calls of MPI are
 * communication. */
HB_API hb_result hb_rank_study_open(hb_rank_study *study, size_t index, hb_trace_file **file);

/** hb_logdir_query() of a log directory with one run of that name, of which these digests are
 * there. */
HB_API hb_result hb_rank_study_query(hb_rank_study *study, const char *run, const char *question,
                                     char **json, size_t *size);

/** Why a rank is late. */
typedef enum hb_late_because {
    HB_LATE_INCONCLUSIVE,
    HB_LATE_COMPUTE, /* its operators take longer */
    HB_LATE_LOADING, /* its data come later */
    HB_LATE_DEVICE,  /* its device takes longer */
    HB_LATE_HOST,    /* its host does something that no operator tells of */
    HB_LATE_MESSAGE, /* it waits for messages itself */
} hb_late_because;

/** A rank that makes others wait, beyond what chance does. */
typedef struct hb_late_rank {
    int64_t rank;
    const char *host;
    uint64_t times_last, collectives; /* of those that it took part in, and wait for all */
    double caused_us;                 /* that others waited for it, summed over them */
    double share;                     /* of all waiting at collectives, 0..1 */
    double gain_us;                   /* that a step takes less without its lateness */
    hb_late_because because;
    const char *operator_name; /* what takes longest longer than of the median rank; or NULL */
    double operator_us;        /* by how much, per step */
} hb_late_rank;

/** The one that costs most first; none where nothing is beyond chance. */
HB_API hb_result hb_rank_study_late(hb_rank_study *study, const hb_late_rank **ranks,
                                    size_t *count);

/** A rank in a step. */
typedef struct hb_rank_cell {
    double time_us;          /* that it took; 0: not known */
    double communication_us; /* ... in communication */
    double caused_us;        /* that others waited for this rank, summed over them */
} hb_rank_cell;

/** All ranks in all steps; of more than 256 steps several stand together. All of it lasts until
 * something is added to the study. */
typedef struct hb_rank_cells {
    size_t num_ranks, num_steps;
    bool marked;                /* else steps are parts of the collectives, and no time is known */
    const int64_t *ranks;       /* in their order */
    const int64_t *steps;       /* numbers; the first of several */
    const char *const *workers; /* by rank */
    const hb_rank_cell *cells;  /* rank * num_steps + step */
} hb_rank_cells;

HB_API hb_result hb_rank_study_cells(hb_rank_study *study, hb_rank_cells *cells);

/** What is to be added to the times of a trace, hb_convert_options.shift. */
typedef struct hb_rank_shift {
    const char *file; /* the trace's name, without its directory */
    int64_t rank;
    uint64_t collectives; /* that tell of its node's clock */
    hb_time_shift shift;
} hb_rank_shift;

/** How nodes' clocks stand to that of the lowest rank's node, by the collectives alone: nobody
 * leaves one before all have come. In the order of strcmp() of the files. HB_ERROR_STATE: whatever
 * is added, some contradict it; `force` takes the best there is. HB_ERROR_NOT_FOUND: of some node
 * nothing tells; `force` leaves it as it is. */
HB_API hb_result hb_rank_study_shifts(hb_rank_study *study, bool force,
                                      const hb_rank_shift **shifts, size_t *count);

/** What a rank sent to another one, or gave into collectives of one kind and communicator. */
typedef struct hb_rank_traffic {
    int64_t from, to;      /* ranks; to: -1: a collective */
    const char *operation; /* "message", or the collective's */
    const char *group;     /* communicator of a collective; of messages "" */
    uint64_t calls;
    double bytes;   /* in all, as far as it is told */
    double time_us; /* in those calls */
} hb_rank_traffic;

/** Messages by sender and receiver, behind them collectives by rank. They last as the cells do. */
HB_API hb_result hb_rank_study_traffic(hb_rank_study *study, const hb_rank_traffic **list,
                                       size_t *count);

/** Why no rank could be named: fewer than three steps, clocks that are not known; NULL: it could.
 */
HB_API const char *hb_rank_study_inconclusive(hb_rank_study *study);

/** A limit, "parallel_efficiency < 80%", "late_ranks > 0": *holds tells whether it is passed, and
 * *text, which lasts as long as the study, what the number is. Numbers: parallel_efficiency,
 * load_balance, communication_efficiency, late_ranks, missing_ranks, waiting (the share of the
 * ranks' time that is spent waiting for others). HB_ERROR_INVALID_ARGUMENT when it is none. */
HB_API hb_result hb_rank_study_limit(hb_rank_study *study, const char *limit, bool *holds,
                                     const char **text);

#ifdef __cplusplus
}
#endif
#endif
