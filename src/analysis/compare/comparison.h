/* SPDX-License-Identifier: MIT
 *
 * Runs as samples, and what is made of them. From files to answers:
 *
 *   find_files.c         paths into runs and their files
 *   load_files.c         files, a few at a time, into samples, and these in order into runs
 *   samples.c            one analysed trace into samples by step
 *   run_samples.c        the samples of a run's files into one
 *   environment_diff.c   what a trace says of itself
 *   pairing.c            rows of two runs that belong together
 *   differences.c, rank_test.c                   what differs, and whether it is more than noise
 *   tree_overlay.c, sequence.c                   call trees laid over each other
 *   condition.c                                  limits
 *   selection.c                                  what of it a report shows
 *   compare_text.c, compare_json.c               the report for people and for programs
 *   api_compare.c                                hipboard/compare.h
 */
#ifndef HB_COMPARE_COMPARISON_H
#define HB_COMPARE_COMPARISON_H

#include <hipboard/compare.h>

#include "compare/rank_test.h"
#include "compare/tree_overlay.h"
#include "plugin/analysis.h"

enum { HB_COMPARE_BY_COUNT = HB_COMPARE_MODULE + 1, HB_MAX_MEASURES = 5 };

/** Places of measures: of operators and modules, then of kernels and of memory, where they differ.
 */
enum {
    HB_MEASURE_CALLS,
    HB_MEASURE_SELF_HOST,
    HB_MEASURE_SELF_DEVICE,
    HB_MEASURE_HOST,
    HB_MEASURE_DEVICE,
    HB_MEASURE_TIME = 1,
    HB_MEASURE_ALLOCATED = 1,
    HB_MEASURE_INCREASE
};

/** The measures of a kind. The first one counts calls, but for metrics of steps. */
typedef struct hb_measure {
    const char *name; /* NULL: no more */
    hb_unit unit;
    bool usual; /* shown unless others are asked for */
    const char *words;
} hb_measure;

extern const hb_measure hb_measures[HB_COMPARE_BY_COUNT][HB_MAX_MEASURES + 1];
/** "operator" of HB_COMPARE_OPERATOR. */
extern const char *const hb_by_names[HB_COMPARE_BY_COUNT];

/** What is measured: of a digest with texts of its trace, of a run with the comparison's. */
typedef struct hb_run_item {
    hb_string_id name, shape, module;
    uint8_t by, unit;
    bool is_peak; /* of workers the largest counts, not the mean */
    /* Of a run: where its samples begin in hb_compare_run.sample_steps, how many they are, and
     * where their values begin. */
    uint32_t first, count;
    size_t first_value;
} hb_run_item;

/** How many measures a kind has. */
size_t hb_num_measures(hb_compare_by by);

/** An item in one step. */
typedef struct hb_cell {
    uint32_t item, step;
    double values[HB_MAX_MEASURES];
} hb_cell;

typedef HB_VEC(hb_run_item) hb_items;
typedef HB_VEC(hb_cell) hb_cells;

/** One trace as samples. */
typedef struct hb_digest hb_digest;
struct hb_digest {
    hb_arena arena;
    const hb_trace *trace; /* whose texts all names are */
    bool has_steps;
    double first_us; /* when its first event began */
    hb_u32s step_names;
    hb_range *host_steps; /* where the steps began and ended on the host */
    hb_items items;
    hb_cells cells;
    hb_analysis *analysis; /* NULL: not needed any more */
    /* While it is made: */
    hb_arena keys;
    hb_dict item_keys[3]; /* (name, shape) -> pair; (pair, module) -> item */
    hb_dict cell_keys;
};

/** The step in which something began on the host; UINT32_MAX: none. */
uint32_t hb_digest_step_at(const hb_digest *digest, double time);

/** Free it in any case. */
hb_result hb_digest_make(hb_digest *digest, hb_analysis *analysis);
void hb_digest_free(hb_digest *digest);

typedef struct hb_fact {
    hb_string_id key, text;
} hb_fact;
typedef HB_VEC(hb_fact) hb_facts;

typedef struct hb_run_file {
    char *path, *worker;
    size_t process; /* of a file of another tool */
} hb_run_file;

typedef struct hb_run_builder hb_run_builder;

typedef struct hb_compare_run {
    char *name, *path;             /* path: as it was given, or the directory found below it */
    struct hb_rank_study *digests; /* that its files are, by their `process`; NULL: traces */
    hb_run_file *files;
    size_t num_files, num_read;
    uint32_t num_workers, num_steps;
    bool has_steps, simulated;
    double recorded_at;
    hb_items items;         /* in the arena of the comparison */
    uint32_t *sample_steps; /* item by item, ascending */
    double *values;         /* sample by sample, as many each as its kind has measures */
    hb_facts facts;
    hb_run_builder *builder; /* while its files are read */
    hb_run_contrast *contrasts;
    size_t num_contrasts;
    struct {
        hb_difference *list;
        size_t count;
    } differences[HB_COMPARE_BY_COUNT][HB_GROUP_MODULE + 1];
} hb_compare_run;

typedef HB_VEC(char *) hb_lines;

struct hb_comparison {
    hb_arena arena;
    hb_texts texts;
    hb_compare_run *runs;
    size_t num_runs, baseline;
    hb_lines problems, notes;
    hb_rank_test test;
    unsigned threads;
    hb_open_options open;
    hb_call_tree *tree; /* NULL: not asked for */
    hb_tree_difference *tree_rows;
    size_t num_tree_rows;
};

static inline const char *hb_comparison_string(const hb_comparison *c, hb_string_id id)
{
    return hb_texts_get(&c->texts, id).s;
}

/** Interns in the comparison's texts; leaves by the arena where memory is short. */
hb_string_id hb_comparison_intern(hb_comparison *c, hb_arena *arena, const char *text, size_t size);

/* ---- find_files.c ---- */
hb_result hb_compare_find(hb_comparison *c, const char *const *paths, size_t num_paths,
                          const char *baseline);
void hb_compare_run_free(hb_compare_run *run);

/* ---- load_files.c ---- */
hb_result hb_compare_load(hb_comparison *c);

/* ---- run_samples.c, within hb_arena_try(&c->arena) ---- */
/** The only file's digest becomes the run itself: it must live until hb_run_finish(). */
void hb_run_add(hb_comparison *c, hb_compare_run *run, const char *worker, hb_digest *digest);
/** After the last file. */
void hb_run_finish(hb_comparison *c, hb_compare_run *run);
void hb_run_builder_free(hb_compare_run *run);

/* ---- environment_diff.c ---- */
void hb_facts_take(hb_comparison *c, hb_compare_run *run, const hb_digest *digest);
/** Of Unix time in seconds; "" when it is none. */
void hb_put_date(char text[32], double at, bool with_time);
void hb_contrasts_make(hb_comparison *c, hb_compare_run *run);

/* ---- pairing.c ---- */
typedef struct hb_pair {
    hb_u32s before, after; /* items of the baseline and of the run */
} hb_pair;
typedef HB_VEC(hb_pair) hb_pairs;
/** Every item of that kind of either run is in one pair. */
void hb_pairs_make(hb_arena *arena, const hb_compare_run *before, const hb_compare_run *after,
                   hb_compare_by by, hb_compare_group group, hb_pairs *pairs);

/* ---- differences.c ---- */
/** Row by row; within hb_arena_try(arena). */
typedef struct hb_differ hb_differ;
hb_differ *hb_differ_make(hb_comparison *c, hb_arena *arena, const hb_compare_run *run);
/** Measure `m` of a pair of items. `group` decides what the row's texts tell. */
hb_difference hb_differ_row(hb_differ *differ, const hb_pair *pair, hb_compare_by by, size_t m,
                            hb_compare_group group);
/** 0 in every step of both. */
bool hb_difference_is_zero(const hb_difference *difference);
/** As hb_comparison_differences() lists them; for qsort(). */
int hb_difference_order(const void *x, const void *y);

#endif
