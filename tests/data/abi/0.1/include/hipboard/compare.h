/* SPDX-License-Identifier: MIT
 *
 * hipboard/compare.h - runs side by side: what got slower or faster, and whether that is more than
 * noise.
 *
 *     const char *paths[] = {"runs/before", "runs/after"};
 *     hb_comparison *c;
 *     if (hb_compare(paths, 2, NULL, &c) != HB_OK) die(hb_last_error());
 *     const hb_difference *d;
 *     size_t n;
 *     if (hb_comparison_differences(c, 1, HB_COMPARE_OPERATOR, HB_GROUP_NAME, &d, &n) == HB_OK &&
 * n) printf("%s: %+.1f us a step\n", d[0].name, d[0].change); hb_comparison_free(c);
 *
 * A run is reduced to samples: of every metric, operator, kernel, module and allocating operator
 * one value for each profiler step, which is the mean over the run's workers (ranks, processes)
 * that have a step of that name; of peaks it is the largest. A trace without steps is one step.
 * What runs outside the steps counts nowhere, as in the plugin's overview.
 *
 * Two runs' samples are compared by the Wilcoxon-Mann-Whitney rank-sum test, which asks nothing of
 * their distribution: exact for small samples, ties included, by the normal approximation for
 * large ones. It knows how steps differ within these runs; how much two launches of one program
 * differ, only a second run of the baseline tells.
 *
 * A comparison belongs to one thread at a time; texts and arrays belong to it.
 */
#ifndef HIPBOARD_COMPARE_H
#define HIPBOARD_COMPARE_H

#include <hipboard/analysis.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hb_comparison hb_comparison;

typedef struct hb_compare_options {
    size_t struct_size;
    /** A path as for hb_compare(), which is added if it is not among the runs, or the name of one
     * of them. NULL: the first run. */
    const char *baseline;
    /** In percent, above 50 and below 100; 0: 99. What is called beyond noise comes by chance as
     * often as the rest to 100 says. */
    double confidence;
    /** Files that are read at the same time; 0: two, one where there is one processor. */
    unsigned threads;
    /** Also keep the call trees, for hb_comparison_tree(). */
    bool tree;
    /** May be NULL. max_memory is for each trace that is being read; progress() is called by one
     * thread at a time, with the path of whichever file. */
    const hb_open_options *open;
} hb_compare_options;

#define HB_COMPARE_OPTIONS_INIT HB_SIZED_(hb_compare_options)

/** Reads runs. A path is a log directory, which stands for all of its runs, the directory of one
 * run, or a trace file of any writer. `options` may be NULL. HB_ERROR_NOT_FOUND when a path holds
 * no trace or the baseline is none of the runs; HB_ERROR_STATE when progress() said so. Files that
 * cannot be read or analysed are left out and listed by hb_comparison_problem(). */
HB_API hb_result hb_compare(const char *const *paths, size_t num_paths,
                            const hb_compare_options *options, hb_comparison **comparison);
HB_API void hb_comparison_free(hb_comparison *comparison);

/** A file that was left out, with the reason; NULL behind the last. */
HB_API const char *hb_comparison_problem(const hb_comparison *comparison, size_t index);
/** What is compared though it ends too early; NULL behind the last. */
HB_API const char *hb_comparison_note(const hb_comparison *comparison, size_t index);

/* ---- the runs ---- */

/** Made by the library only and grows at its end. */
typedef struct hb_compared_run {
    const char *name, *path; /* name: as short as tells the runs apart */
    size_t files, workers, steps;
    bool has_steps;     /* false: a trace without steps was taken for one */
    bool simulated;     /* on a simulated GPU, whose times mean nothing */
    double recorded_at; /* Unix time of the first event; 0: not known */
} hb_compared_run;

HB_API size_t hb_comparison_num_runs(const hb_comparison *comparison);
/** Index of the baseline among the runs. */
HB_API size_t hb_comparison_baseline(const hb_comparison *comparison);
/** HB_ERROR_NOT_FOUND when `index` is too large. */
HB_API hb_result hb_comparison_run(const hb_comparison *comparison, size_t index,
                                   hb_compared_run *run);

/** Something in which a run and the baseline differ though it is no result: devices, ranks, number
 * of steps, dialect, versions, what was recorded, metadata such as a git id. "" is not known. */
typedef struct hb_run_contrast {
    const char *what, *before, *after;
} hb_run_contrast;

HB_API hb_result hb_comparison_contrasts(hb_comparison *comparison, size_t run,
                                         const hb_run_contrast **contrasts, size_t *count);

/* ---- differences ---- */

typedef enum hb_compare_by {
    HB_COMPARE_STEP,     /* step time, its eight roles, GPU utilization, peaks of memory */
    HB_COMPARE_OPERATOR, /* calls, self and total times of host and device */
    HB_COMPARE_KERNEL,   /* kernels, copies and fills */
    HB_COMPARE_MEMORY,   /* operators that allocate, by device */
    HB_COMPARE_MODULE,
} hb_compare_by;

/** How finely rows are told apart. What is not in both runs with equal shapes and module is paired
 * with equal module, then by name alone, so that a changed batch size or model still compares. */
typedef enum hb_compare_group {
    HB_GROUP_NAME,
    HB_GROUP_SHAPE,
    HB_GROUP_MODULE, /* name, shapes and module */
} hb_compare_group;

typedef enum hb_unit { HB_UNIT_US, HB_UNIT_BYTES, HB_UNIT_COUNT, HB_UNIT_RATIO } hb_unit;

typedef enum hb_verdict {
    HB_VERDICT_NOISE,         /* not more than steps differ among themselves */
    HB_VERDICT_BEYOND_NOISE,  /* more than that */
    HB_VERDICT_TOO_FEW,       /* too few steps to tell, whatever they were */
    HB_VERDICT_COUNTED,       /* a peak, which is counted and not timed */
    HB_VERDICT_ONLY_BASELINE, /* gone */
    HB_VERDICT_ONLY_RUN,      /* new */
} hb_verdict;

/** One run's side of a difference. `steps` are over the steps in which it occurred. */
typedef struct hb_compared_value {
    hb_statistics steps;
    double share;    /* of the run's steps in which it occurred */
    double per_step; /* median times share; of peaks, the largest */
    double calls;    /* a step, mean; 0 for metrics of steps */
} hb_compared_value;

/** Made by the library only and grows at its end. */
typedef struct hb_difference {
    const char *name;
    const char *shape;   /* input shapes; of kernels the launch; of memory the device; "" */
    const char *module;  /* the innermost nn.Module around it; "" */
    const char *measure; /* "value", "self_host", ... */
    hb_unit unit;
    hb_compared_value before, after;
    double change;    /* of per_step: what it adds to a step or takes from it */
    double low, high; /* where the shift of the median lies, at the confidence; NaN: not known */
    double p;         /* of the test; NaN: none was made */
    hb_verdict verdict;
} hb_difference;

/** Measures of a kind, as hb_difference.measure names them; NULL behind the last. */
HB_API const char *hb_compare_measure(hb_compare_by by, size_t index);

/** What differs between the baseline and `run`, all measures, by |change|, descending, one unit
 * after the other; rows of steps come in their own order. HB_ERROR_NOT_FOUND for an unknown run. */
HB_API hb_result hb_comparison_differences(hb_comparison *comparison, size_t run, hb_compare_by by,
                                           hb_compare_group group,
                                           const hb_difference **differences, size_t *count);

/* ---- conditions ---- */

typedef struct hb_compare_finding {
    bool met;
    double before, after;
    hb_verdict verdict;
    const char *reason; /* a sentence */
} hb_compare_finding;

/** Whether `run` meets a condition: METRIC < or > (<=, >=) LIMIT, as in "step_time > +5%". METRIC
 * is a row of HB_COMPARE_STEP, or operator:NAME, kernel:NAME, module:NAME, memory:NAME, all shapes
 * and modules together. A LIMIT with a sign is a change from the baseline, one without is the run's
 * own value; its unit is % (of the baseline; for gpu_utilization without sign, of the time), pp
 * (percentage points), ns, us, ms, s, B, KB, MB, GB, KiB, MiB, GiB. With `beyond_noise` a change
 * counts only when it is that. HB_ERROR_INVALID_ARGUMENT for what is no condition,
 * HB_ERROR_NOT_FOUND for a metric that neither run has; the text lists those that there are. */
HB_API hb_result hb_comparison_check(hb_comparison *comparison, size_t run, const char *condition,
                                     bool beyond_noise, hb_compare_finding *finding);

/** HB_ERROR_INVALID_ARGUMENT, with the reason, when `condition` could not be understood whatever
 * the runs. */
HB_API hb_result hb_compare_condition_valid(const char *condition);

/* ---- the call tree ---- */

/** A call in its place, over all steps of both runs. Times are microseconds a step. Made by the
 * library only and grows at its end. */
typedef struct hb_tree_difference {
    const char *name;
    unsigned depth;     /* its parent is the last one before with depth - 1 */
    hb_verdict verdict; /* NOISE: in both runs; else in one only */
    double calls[2];    /* a step; [0] the baseline's, [1] the run's */
    double host_us[2], self_host_us[2], device_us[2], self_device_us[2];
} hb_tree_difference;

/** The call trees of the threads that ran the steps, laid over each other: children are paired by
 * name in their order, repetitions (loops) are one, steps and files are averaged. Needs
 * hb_compare_options.tree and two runs, else HB_ERROR_STATE. */
HB_API hb_result hb_comparison_tree(hb_comparison *comparison, const hb_tree_difference **nodes,
                                    size_t *count);

/* ---- as text ---- */

typedef enum hb_compare_format {
    HB_COMPARE_TEXT,
    HB_COMPARE_MARKDOWN,
    HB_COMPARE_JSON
} hb_compare_format;

typedef struct hb_compare_report {
    size_t struct_size;
    hb_compare_format format;
    bool summary; /* steps and the largest differences of all kinds; `by` is not used */
    hb_compare_by by;
    hb_compare_group group;
    const char *const *measures; /* only these measures, or metrics of steps; NULL: the usual */
    size_t num_measures;
    size_t top; /* rows of a table; 0: all */
    /** Only rows whose name this accepts; may be NULL. */
    bool (*wanted)(void *context, const char *name);
    void *context;
    bool color;                         /* terminal colours; HB_COMPARE_TEXT */
    bool tree;                          /* the call tree instead of tables */
    const hb_compare_finding *findings; /* of conditions, to be told; NULL: none */
    size_t num_findings;
} hb_compare_report;

#define HB_COMPARE_REPORT_INIT HB_SIZED_WITH_(hb_compare_report, .summary = true, .top = 20)

/** NUL-terminated UTF-8; free it with hb_free(). `report` may be NULL. */
HB_API hb_result hb_comparison_text(hb_comparison *comparison, const hb_compare_report *report,
                                    char **text, size_t *size);

#ifdef __cplusplus
}
#endif
#endif /* HIPBOARD_COMPARE_H */
