/* SPDX-License-Identifier: MIT
 *
 * hipboard/analysis.h - reading and analysing traces.
 *
 * Two ways in: a log directory as TensorBoard gets it, which answers the questions that
 * torch-tb-profiler 0.4.3 answers over HTTP, with the same JSON; and a single trace file of any
 * writer, to walk through its events and results.
 *
 *     hb_trace_file *file;
 *     if (hb_trace_file_open("x.pt.trace.json.gz", NULL, &file) != HB_OK) puts(hb_last_error());
 *     const hb_operator_stat *ops;
 *     size_t count;
 *     if (hb_trace_file_operators(file, false, &ops, &count) == HB_OK)
 *         for (size_t i = 0; i < count; i++) printf("%s %f\n", ops[i].name, ops[i].self_host_us);
 *     hb_trace_file_close(file);
 *
 * Objects belong to one thread at a time. Texts and arrays belong to their object and last as long
 * as it does, unless a comment says otherwise. Times are microseconds.
 */
#ifndef HIPBOARD_ANALYSIS_H
#define HIPBOARD_ANALYSIS_H

#include <hipboard/hipboard.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hb_open_options {
    size_t struct_size;
    /** Most bytes of memory for one trace; more gives HB_ERROR_LIMIT. 0: half of the
     * machine's or, in a container, of its. What lies in temporary files is none of it: that is
     * what all traces of the process need above 384 MiB, tables of names aside, or above what
     * HIPBOARD_MEMORY says. A child of fork() shares these files with its parent: one of the two
     * goes on with a trace. */
    uint64_t max_memory;
    /** Called now and then while a file is read, with the bytes of text read and the file's size
     * (0: not known, as of a pipe). False stops with HB_ERROR_STATE. May be NULL. */
    bool (*progress)(void *context, const char *path, uint64_t done, uint64_t size);
    void *context;
    /** Of hb_trace_file_open(): read it as hb_convert() would write it. Without, results are the
     * plugin's, which ignores the runtime calls, data loading and optimizers of PyTorch since 2022,
     * gives operators no device time then, and loses files for a single odd event. */
    bool unify;
    /** Of hb_trace_file_open(), for files of other tools (hipboard/import.h) with several
     * processes: which of them, from 0. */
    size_t process;
} hb_open_options;

#define HB_OPEN_OPTIONS_INIT HB_SIZED_(hb_open_options)

/** What is said of many numbers: of step times, in microseconds. */
typedef struct hb_statistics {
    uint64_t count;               /* 0: all else is 0 */
    double sum, mean, std;        /* std: of the whole population, as numpy.std() */
    double min, median, p95, max; /* between neighbours linearly, as numpy.quantile() */
} hb_statistics;

/* ------------------------------------------------------------------------------------------- */
/* A log directory                                                                             */
/* ------------------------------------------------------------------------------------------- */

typedef struct hb_logdir hb_logdir;

/** Whether `path` is a log directory: a directory, a pack (hipboard/pack.h) or a directory in a
 * pack, "runs.hbpack/lr=0.1". */
HB_API bool hb_is_logdir(const char *path);

/** Looks for runs: directories, at any depth, with `*.pt.trace.json[.gz]` files. Reads no file yet.
 * A directory that does not exist has no runs. */
HB_API hb_result hb_logdir_open(const char *path, const hb_open_options *options,
                                hb_logdir **logdir);
HB_API void hb_logdir_close(hb_logdir *logdir);

/** The runs' names, sorted; also those that the plugin could not load. */
HB_API size_t hb_logdir_num_runs(const hb_logdir *logdir);
HB_API const char *hb_logdir_run(const hb_logdir *logdir, size_t index);

/** What the plugin answers for `url`, the part behind "/data/plugin/pytorch_profiler/":
 * "runs", "views?run=r", "workers?run=r&view=Overview", "spans?run=r&worker=w",
 * "overview?run=r&worker=w&span=1", "operation", "operation/table", "operation/stack", "kernel",
 * "kernel/table", "kernel/tc_pie", "memory", "memory_curve", "memory_events", "module", "tree",
 * "trace" (the file's text, with the plugin's counters of GPUs), "distributed/gpuinfo",
 * "distributed/overlap", "distributed/waittime", "distributed/commops", "diff", "diffnode". Reads
 * the run's files at the first question about it. What is an HTTP error there is an error here. The
 * JSON text is NUL-terminated; free it with hb_free(). */
HB_API hb_result hb_logdir_query(hb_logdir *logdir, const char *url, char **json, size_t *size);

/** Calls `fn` for each file of a run that the plugin loses, with the reason. Reads the run. */
HB_API hb_result hb_logdir_lost_files(hb_logdir *logdir, const char *run,
                                      void (*fn)(void *context, const char *path,
                                                 const char *reason),
                                      void *context);

/** A file of a run, as the plugin names it. */
typedef struct hb_logdir_file {
    const char *run, *worker, *span, *path;
} hb_logdir_file;

/** Calls `fn` for each trace file, run after run, until it returns false. Reads none. */
HB_API void hb_logdir_files(const hb_logdir *logdir,
                            bool (*fn)(void *context, const hb_logdir_file *file), void *context);

/** Frees what this library gave away. NULL is fine. */
HB_API void hb_free(void *memory);

/* ------------------------------------------------------------------------------------------- */
/* What the plugin will not show                                                               */
/* ------------------------------------------------------------------------------------------- */

typedef enum hb_effect {
    HB_EFFECT_FILE_LOST,
    HB_EFFECT_RUN_LOST,
    HB_EFFECT_WRONG, /* a view is blank, or lacks something, or its numbers are wrong */
    HB_EFFECT_NOTE,
} hb_effect;

/** Something that is not as the plugin needs it. Made by the library only and grows at its end;
 * texts last during the call that gives it. */
typedef struct hb_violation {
    const char *path; /* of the file, or of the run's directory */
    const char *rule; /* "RUNTIME_CATEGORY": the same for all of a kind */
    const char *text; /* for people */
    hb_effect effect;
    bool has_event, has_offset;
    uint64_t event;   /* its place in traceEvents, from 0 */
    uint64_t offset;  /* bytes from the start of the (inflated) text */
    const char *name; /* the event's, cut to fit; a view's, a run's, a member's; or "" */
} hb_violation;

/** Calls `fn` for each violation of what torch-tb-profiler 0.4.3 needs, in a log directory or in
 * one file, until it returns false. Each file is read three times, as the plugin does, with all
 * workers, and as it is. `options` may be NULL. */
HB_API hb_result hb_check(const char *path, const hb_open_options *options,
                          bool (*fn)(void *context, const hb_violation *finding), void *context);

/* ------------------------------------------------------------------------------------------- */
/* A trace file                                                                                */
/* ------------------------------------------------------------------------------------------- */

typedef struct hb_trace_file hb_trace_file;

/** Reads a trace, plain or gzipped whatever its name, "-" from standard input; also what
 * hb_import_open() reads, as hb_import_write() would write it. Tolerant: unescaped
 * quotes, control characters, invalid UTF-8 and a missing end are lived with and noted; of a text
 * that is damaged in the middle all whole events are kept. Large plain files are read by up to four
 * threads. */
HB_API hb_result hb_trace_file_open(const char *path, const hb_open_options *options,
                                    hb_trace_file **file);
HB_API void hb_trace_file_close(hb_trace_file *file);

/** Something wrong with the text that was lived with. */
typedef struct hb_trace_note {
    const char *what;
    /* Bytes from the start of the (inflated) text; HB_NO_OFFSET: at no one place. */
    uint64_t offset;
} hb_trace_note;
#define HB_NO_OFFSET UINT64_MAX

/** The first 100 notes, and whether events are too far away in time. */
HB_API size_t hb_trace_file_num_notes(const hb_trace_file *file);
HB_API hb_trace_note hb_trace_file_note(const hb_trace_file *file, size_t index);

/** With hb_open_options.unify: events that are not counted as the plugin counts them in the file as
 * it is. Of hipboard's own files for the plugin: 0. */
HB_API size_t hb_trace_file_num_mended(const hb_trace_file *file);

/** Bytes of (inflated) text, and of memory that the events take. */
HB_API uint64_t hb_trace_file_text_bytes(const hb_trace_file *file);
HB_API uint64_t hb_trace_file_memory_bytes(const hb_trace_file *file);

/** One element of traceEvents, in file order. Changes only with the library's soname. */
typedef struct hb_file_event {
    const char *name, *category; /* NULL: none */
    char phase;                  /* 'X', 'i', ...; 0: none */
    bool has_ts, has_dur, has_external_id, has_correlation;
    double ts_us, dur_us;
    char pid[32], tid[32];            /* as text, cut to fit; "" when absent */
    int64_t external_id, correlation; /* when they are integers */
    const char *input_dims;           /* JSON text or NULL */
    const char *call_stack;           /* JSON text or NULL */
} hb_file_event;

HB_API size_t hb_trace_file_num_events(const hb_trace_file *file);
/** HB_ERROR_NOT_FOUND when `index` is too large. */
HB_API hb_result hb_trace_file_event(const hb_trace_file *file, size_t index, hb_file_event *event);

/** A top-level member other than traceEvents as JSON text; NULL: none. */
HB_API const char *hb_trace_file_metadata(const hb_trace_file *file, const char *key);

/** The rank that wrote the trace, of its distributedInfo; false when that tells none. */
HB_API bool hb_trace_file_rank(const hb_trace_file *file, int64_t *rank);

/** It is no trace, but a digest of one (hb_rank_study_open()). */
HB_API bool hb_trace_file_is_digest(const hb_trace_file *file);

/** Leaves only ProfilerStep#first to ProfilerStep#last in the trace: what began on the host within
 * them and the device work that it launched. Before any results are asked for, HB_ERROR_STATE else;
 * events are counted anew. HB_ERROR_NOT_FOUND when there is no such step. */
HB_API hb_result hb_trace_file_keep_steps(hb_trace_file *file, int64_t first, int64_t last);

/* The results below are the plugin's. They are made at the first call; HB_ERROR_FORMAT with the
 * reason when the plugin could not digest the trace. */

typedef struct hb_step_stat {
    const char *name; /* the step's number */
    double start_us, duration_us;
    double kernel_us, memcpy_us, memset_us, communication_us, runtime_us, loader_us, cpu_us,
        other_us;
} hb_step_stat;

HB_API hb_result hb_trace_file_steps(hb_trace_file *file, const hb_step_stat **steps,
                                     size_t *count);

typedef struct hb_operator_stat {
    const char *name, *input_shapes; /* shapes as Python prints them; of the first call */
    uint64_t calls;
    double host_us, self_host_us, device_us, self_device_us;
    bool tc_eligible;
} hb_operator_stat;

/** Operators by name, or by name and shapes, in order of first appearance. */
HB_API hb_result hb_trace_file_operators(hb_trace_file *file, bool by_shape,
                                         const hb_operator_stat **operators, size_t *count);

typedef struct hb_kernel_stats {
    const char *name;
    uint64_t calls;
    double total_us, mean_us, max_us, min_us, blocks_per_sm, occupancy_percent;
    bool tc_used;
} hb_kernel_stats;

/** Kernels by name, by total time, descending. */
HB_API hb_result hb_trace_file_kernels(hb_trace_file *file, const hb_kernel_stats **kernels,
                                       size_t *count);

/** A counter of the hardware (rocprofv3 --pmc) in the kernels of a name. */
typedef struct hb_kernel_counter {
    const char *kernel, *counter; /* "SQ_WAVES" */
    uint64_t kernels;             /* how many have it */
    double mean, max;
} hb_kernel_counter;

/** Counters in the order in which they come, of traces that were imported; none of others. *list is
 * freed with hb_free(). While counters are read kernels run one by one. */
HB_API hb_result hb_trace_file_counters(hb_trace_file *file, hb_kernel_counter **list,
                                        size_t *count);

typedef struct hb_gpu_stat {
    int id;
    double utilization; /* 0..1 of the steps' time */
    /* negative: not known */
    double sm_efficiency, occupancy_percent, tensor_core_ratio;
} hb_gpu_stat;

/** The GPUs that ran kernels. */
HB_API hb_result hb_trace_file_gpus(hb_trace_file *file, const hb_gpu_stat **gpus, size_t *count);

typedef struct hb_memory_stats_row {
    const char *device, *name; /* "CPU", "GPU0"; the operator */
    uint64_t calls;
    double increase_bytes, self_increase_bytes;   /* allocated less released */
    double allocated_bytes, self_allocated_bytes; /* without what was released */
    double allocations, self_allocations;
} hb_memory_stats_row;

/** Memory by device and operator. */
HB_API hb_result hb_trace_file_memory(hb_trace_file *file, const hb_memory_stats_row **rows,
                                      size_t *count);

typedef struct hb_module_stats {
    const char *name;
    int depth; /* 0: at the top; a module's children follow it */
    uint64_t occurrences, operators;
    double host_us, self_host_us, device_us, self_device_us;
} hb_module_stats;

HB_API hb_result hb_trace_file_modules(hb_trace_file *file, const hb_module_stats **modules,
                                       size_t *count);

/** A loop of the program, by the call stacks of what it launched (`hipboard record --with-stack`).
 */
typedef struct hb_loop_stats {
    unsigned number; /* from 1: `hipboard record --step-loop` */
    int level;       /* 0: in no other one; those that are in a loop follow it */
    uint64_t rounds, launches;
    double coverage;    /* the least of its share of all launches and of all device time, 0 to 1 */
    double round_us;    /* of the host, mean, from the first launch to the last one */
    bool is_step;       /* its rounds are the trace's steps */
    const char *from;   /* the frame that its rounds begin in: "file(line): function" */
    const char *launch; /* what they launch first */
} hb_loop_stats;

/** Gives each of them, until `fn` returns false; texts hold during the call. */
HB_API hb_result hb_trace_file_loops(hb_trace_file *file,
                                     bool (*fn)(void *context, const hb_loop_stats *loop),
                                     void *context);

/** What a GPU took and did in a step, by its sensors. NaN: not known. */
typedef struct hb_gpu_step {
    int gpu;
    int64_t step;
    double joules, watts;  /* watts: in the mean */
    double degrees;        /* the hottest of it, in the mean */
    double mhz, least_mhz; /* its clock, in the mean and at least */
    int throttled;         /* sum of why: 1 power, 2 heat, 4 current, 8 other; -1: not told */
} hb_gpu_step;

/** Gives each GPU's steps, until `fn` returns false. */
HB_API hb_result hb_trace_file_gpu_steps(hb_trace_file *file,
                                         bool (*fn)(void *context, const hb_gpu_step *step),
                                         void *context);

/** The plugin's recommendations, as HTML; NULL behind the last one or without results. */
HB_API const char *hb_trace_file_advice(hb_trace_file *file, size_t index);

/* ---- beyond the plugin ---- */

/** What the plugin does not tell, or tells wrongly for AMD GPUs. Also of traces that it loses.
 * Texts and arrays belong to it. */
typedef struct hb_insights hb_insights;

typedef struct hb_insights_options {
    size_t struct_size;
    /** A file of rules that name kernels' classes, which count before the built-in ones; or NULL.
     * A line is a class and a pattern, "gemm my_gemm"; "+matrix my_gemm_mfma" tells of kernels that
     * use matrix cores, "-matrix ..." of those that do not. A pattern is text that the kernel's
     * name holds, whatever its case; ^ and $ are the name's ends, * is any text, # a number, | the
     * edge of a word, ~x that no x stands before. Blank lines and lines that begin with # are
     * passed over. */
    const char *classes_path;
    /** Files with AMD code objects (.co, .hsaco), or programs and libraries with such inside: what
     * a kernel's code tells of matrix instructions counts more than its name. */
    const char *const *code_paths;
    size_t num_code_paths;
} hb_insights_options;

#define HB_INSIGHTS_OPTIONS_INIT HB_SIZED_(hb_insights_options)

/** `options` may be NULL. HB_ERROR_FORMAT, with file and line, for rules that are wrong. To be
 * freed before the file is closed. */
HB_API hb_result hb_insights_create(hb_trace_file *file, const hb_insights_options *options,
                                    hb_insights **insights);
HB_API void hb_insights_destroy(hb_insights *insights);

/** A GPU's time, from its first work (kernel, copy or fill) to its last. */
typedef struct hb_gpu_time {
    const char *gpu;                                  /* its id, as text */
    double span_us, busy_us;                          /* the rest is idle */
    double computation_us, communication_us, copy_us; /* with any of it; they may overlap */
    double exposed_communication_us;                  /* beside no computation */
    double exposed_copy_us;                           /* beside neither */
    /** Idle: the host launched the next work only after the last had ended; it was launched in time
     * and waited in the queue, for other streams or events; the launch is not in the trace. */
    double late_us, queued_us, unknown_us;
    uint64_t gaps;
    double largest_gap_us;
} hb_gpu_time;

HB_API hb_result hb_insights_gpus(hb_insights *insights, const hb_gpu_time **gpus, size_t *count);

/** The same of a stream by itself. */
typedef struct hb_stream_time {
    const char *gpu, *stream;
    uint64_t works;
    double busy_us, late_us, queued_us, unknown_us;
    uint64_t gaps;
    double largest_gap_us;
} hb_stream_time;

HB_API hb_result hb_insights_streams(hb_insights *insights, const hb_stream_time **streams,
                                     size_t *count);

/** Gaps in a GPU's work and what covered most of them on the host's thread that ended them. */
typedef struct hb_idle_cause {
    const char *gpu;
    const char *why;           /* "late", "queued" or "unknown", as in hb_gpu_time */
    const char *call;          /* a runtime call; NULL: none */
    const char *operator_name; /* the innermost operator, annotation or function; NULL: none */
    bool many_calls;           /* neither, but calls too short to do so cover most together */
    uint64_t gaps;
    double total_us, largest_us;
} hb_idle_cause;

/** By total time, descending. */
HB_API hb_result hb_insights_idle_causes(hb_insights *insights, const hb_idle_cause **causes,
                                         size_t *count);

/** One gap. */
typedef struct hb_idle_gap {
    const char *gpu, *why, *call, *operator_name; /* as in hb_idle_cause */
    bool many_calls;
    double start_us, duration_us; /* start: since the trace's first event */
    const char *next;             /* the work that ended it */
} hb_idle_gap;

/** By length, descending. */
HB_API hb_result hb_insights_gaps(hb_insights *insights, const hb_idle_gap **gaps, size_t *count);

/** Copies or fills of a kind, as "Memcpy HtoD (Host -> Device)", on a GPU. */
typedef struct hb_copy_stat {
    const char *gpu, *name;
    uint64_t calls;
    double bytes; /* 0: not known */
    double total_us, longest_us;
    double gb_per_s; /* 1e9 bytes a second while it lasted; negative: not known */
} hb_copy_stat;

/** By total time, descending. */
HB_API hb_result hb_insights_copies(hb_insights *insights, const hb_copy_stat **copies,
                                    size_t *count);

typedef enum hb_matrix_use {
    HB_MATRIX_UNKNOWN, /* also when it is merely likely that they are not used */
    HB_MATRIX_USED,
    HB_MATRIX_NOT_USED,
} hb_matrix_use;

/** Kernels of a name. */
typedef struct hb_kernel_insight {
    const char *name, *kernel_class;
    hb_matrix_use matrix; /* MFMA, WMMA, tensor cores */
    uint64_t calls;
    double total_us;
    double occupancy_percent; /* weighted by time; negative: not known */
    const char *limited_by;   /* what keeps the occupancy down most of the time; NULL: not known */
} hb_kernel_insight;

/** By total time, descending. */
HB_API hb_result hb_insights_kernels(hb_insights *insights, const hb_kernel_insight **kernels,
                                     size_t *count);

/** Kernels of a class: "gemm", "convolution", "attention", "norm", ... or "other". */
typedef struct hb_kernel_class {
    const char *name;
    uint64_t kernels, calls;                  /* names, launches */
    double total_us, matrix_us, no_matrix_us; /* total less the other two: unknown */
} hb_kernel_class;

/** By total time, descending. */
HB_API hb_result hb_insights_classes(hb_insights *insights, const hb_kernel_class **classes,
                                     size_t *count);

/** Advice with its evidence. */
typedef struct hb_finding {
    const char *rule; /* "idle", "low-occupancy", ...: stable names */
    const char *text, *evidence;
    double weight; /* 0..1: the share of the time that it is about; 0: it is not about a time */
} hb_finding;

/** The weightiest first. */
HB_API hb_result hb_insights_findings(hb_insights *insights, const hb_finding **findings,
                                      size_t *count);

/** What operators or kernels achieved: by the FLOPs that the trace tells
 * and the bytes of the inputs, each once, and of a matrix product's result. So many bytes have to
 * be moved at least; what follows from them is a lower bound. Negative: not known. */
typedef struct hb_rate {
    const char *name;
    const char *gpu;  /* "CPU": its own time, for it started no work on a GPU */
    const char *type; /* that it computes in: "f64", "f32", "f16", "bf16", "f8", "i8"; "": other */
    const char *shapes; /* of inputs: Input Dims as JSON; else "" */
    const char *bound;  /* what the roof is at its intensity: "compute", "memory"; "": not known */
    bool shared; /* a kernel that was not alone in its operators, whose work is divided by time */
    uint64_t calls;
    double total_us; /* of its kernels */
    double flops, bytes;
    double flops_per_s, gb_per_s;
    double intensity;                  /* FLOPs a byte */
    double peak_percent, roof_percent; /* of what the GPU can do in that type; at that intensity */
    double far_us;                     /* of it below 30 % of the roof */
} hb_rate;

/** What a GPU can do at most, by its architecture and clocks, as the trace tells these. */
typedef struct hb_gpu_peak {
    const char *gpu, *type;
    double vector_flops, matrix_flops; /* a second, by which instructions; 0: there are none */
    double gb_per_s;                   /* of its memory; 0: not known */
    double mhz;
    bool measured; /* mhz is what its sensors told in the mean; else its highest clock */
} hb_gpu_peak;

typedef struct hb_roof {
    /* By total time, descending: operators of a name and type, of the same inputs, kernels. */
    const hb_rate *operators, *inputs, *kernels;
    size_t num_operators, num_inputs, num_kernels;
    const hb_gpu_peak *peaks; /* by GPU; none of a GPU whose architecture or clock is not known */
    size_t num_peaks;
    double kernels_us, rated_us; /* of all kernels; of those whose operators tell FLOPs or inputs */
} hb_roof;

/** Roofline without counters. Of device work on a simulated GPU times mean nothing. */
HB_API hb_result hb_insights_roof(hb_insights *insights, const hb_roof **roof);

/* ---- the ranks of a distributed run ---- */

/** The traces of all ranks, compared as the plugin's Distributed view does. */
typedef struct hb_ranks hb_ranks;

/** `workers` names the traces; both lists must outlive the result, no file may be there twice.
 * HB_ERROR_FORMAT when the plugin could not digest one of them. */
HB_API hb_result hb_ranks_create(hb_trace_file *const *files, const char *const *workers,
                                 size_t count, hb_ranks **ranks);
/** The same of any number of traces: one after the other is added, and not needed from then on. */
HB_API hb_result hb_ranks_begin(hb_ranks **ranks);
HB_API hb_result hb_ranks_add(hb_ranks *ranks, hb_trace_file *file, const char *worker);
/** Once, when all were added; results are there from then on. */
HB_API hb_result hb_ranks_compare(hb_ranks *ranks);
HB_API void hb_ranks_destroy(hb_ranks *ranks);

/** Why waiting and transferring could not be told apart: the ranks have different collectives. NULL
 * when they could. */
HB_API const char *hb_ranks_mismatch(const hb_ranks *ranks);

/** A step of one rank. The first four times add up to the step. */
typedef struct hb_rank_step {
    const char *worker;
    int64_t rank;     /* -1: the trace does not tell */
    const char *step; /* its name; NULL: the average step; "": outside all steps, of waits only */
    double computation_us; /* without what overlaps */
    double overlap_us;     /* computation and communication at once */
    double communication_us, other_us;
    double transfer_us, wait_us; /* of the collectives; negative: not known */
} hb_rank_step;

/** Step by step, rank by rank in the order of the workers' names. */
HB_API hb_result hb_ranks_steps(hb_ranks *ranks, const hb_rank_step **steps, size_t *count);
/** The average step of each rank. */
HB_API hb_result hb_ranks_averages(hb_ranks *ranks, const hb_rank_step **steps, size_t *count);

/** Collectives of one name of one rank. */
typedef struct hb_rank_operation {
    const char *worker;
    int64_t rank;
    const char *name;
    uint64_t calls;
    double bytes, total_us, transfer_us;
} hb_rank_operation;

/** None when hb_ranks_mismatch() tells why. */
HB_API hb_result hb_ranks_operations(hb_ranks *ranks, const hb_rank_operation **operations,
                                     size_t *count);

/* ---- torch's tables ---- */

/** What torch.profiler's key_averages() gives for the trace, or events(). Belongs to the file and
 * must be freed before it is closed. Names and shapes last as long as the file. */
typedef struct hb_key_averages hb_key_averages;

typedef struct hb_key_averages_options {
    size_t struct_size;
    bool events; /* every event by itself, as events(); the other ways to group are not looked at */
    bool group_by_input_shape, group_by_overload_name;
    unsigned group_by_stack_n; /* innermost frames of the call stack that tell events apart */
    /** Descending: cpu_time, cpu_time_total, self_cpu_time_total, device_time, device_time_total,
     * self_device_time_total, cpu_memory_usage, self_cpu_memory_usage, device_memory_usage,
     * self_device_memory_usage, count, flops, key, input_shapes, overload_name, stack; "cuda",
     * "hip", "xpu" or "privateuse1" for "device" are fine. NULL: in order of first appearance. */
    const char *sort_by;
} hb_key_averages_options;

#define HB_KEY_AVERAGES_OPTIONS_INIT HB_SIZED_(hb_key_averages_options)

/** Events of one name (and whatever else they were grouped by). Changes only with the library's
 * soname. Bytes are allocated minus freed, by any thread while the events ran. */
typedef struct hb_average_stat {
    const char *key;
    const char *overload_name, *input_shapes; /* "" when not grouped by it */
    const char *const *stack;                 /* frames, the innermost first */
    size_t stack_size;
    bool is_device, is_user_annotation;
    bool is_nested; /* the first event ran inside another one */
    uint64_t count;
    double cpu_us, self_cpu_us, device_us, self_device_us; /* totals */
    double cpu_bytes, self_cpu_bytes, device_bytes, self_device_bytes;
    double flops; /* 0 when the trace was recorded without them */
} hb_average_stat;

/** `options` may be NULL. HB_ERROR_INVALID_ARGUMENT for an unknown sort key. */
HB_API hb_result hb_key_averages_create(hb_trace_file *file, const hb_key_averages_options *options,
                                        hb_key_averages **averages);
HB_API void hb_key_averages_destroy(hb_key_averages *averages);
HB_API size_t hb_key_averages_count(const hb_key_averages *averages);
/** HB_ERROR_NOT_FOUND when `index` is too large. */
HB_API hb_result hb_key_averages_get(const hb_key_averages *averages, size_t index,
                                     hb_average_stat *stat);
/** total_average(): all events as one, its key "Total". */
HB_API hb_result hb_key_averages_total(hb_key_averages *averages, hb_average_stat *stat);

typedef struct hb_table_options {
    size_t struct_size;
    uint64_t row_limit; /* 0: torch's 100; UINT64_MAX: all */
    /** Characters; 0: torch's 55, 80 and 75. At least 4. */
    unsigned max_name_column_width, max_shapes_column_width, max_src_column_width;
    bool top_level_events_only;
    const char *header;      /* a line above the table, or NULL */
    const char *time_unit;   /* "s", "ms" or "us" everywhere; NULL: what fits each time */
    const char *device_name; /* in the headers; NULL: "CUDA", as torch says also on AMD GPUs */
} hb_table_options;

#define HB_TABLE_OPTIONS_INIT HB_SIZED_(hb_table_options)

/** The text of key_averages().table(), NUL-terminated; "" when there are no events. `options` may
 * be NULL. Free it with hb_free(). */
HB_API hb_result hb_key_averages_table(hb_key_averages *averages, const hb_table_options *options,
                                       char **text, size_t *size);

/** What Python prints of total_average(), as hb_key_averages_table(); of the options only
 * device_name counts, in lower case. */
HB_API hb_result hb_key_averages_total_text(hb_key_averages *averages,
                                            const hb_table_options *options, char **text,
                                            size_t *size);

/* ---- stacks ---- */

typedef struct hb_stacks_options {
    size_t struct_size;
    /** self_cpu_time_total (NULL), self_cuda_time_total, in µs; self_cpu_memory_usage,
     * self_cuda_memory_usage: bytes that were allocated, less those that were freed. "device",
     * "hip", "xpu" or "privateuse1" for "cuda" are fine. */
    const char *metric;
    /** Not call stacks but the scopes and operators around each event and itself. They are there in
     * every trace. Device time counts for the operator that launched the work; of work that none
     * is known of, for its own name. */
    bool scopes;
    bool merged; /* each stack once, with its sum */
} hb_stacks_options;

#define HB_STACKS_OPTIONS_INIT HB_SIZED_(hb_stacks_options)

/** Calls `fn` for each event with a stack and at least a microsecond, or byte, of its own, as
 * torch's export_stacks() writes them, or for each such stack: "outermost;...;innermost", in which
 * characters that flame graphs would stumble over are "_". Stops when `fn` returns false. `options`
 * may be NULL. HB_ERROR_INVALID_ARGUMENT for an unknown metric. */
HB_API hb_result hb_trace_file_stacks(hb_trace_file *file, const hb_stacks_options *options,
                                      bool (*fn)(void *context, const char *stack, double amount),
                                      void *context);

/* ---- who holds memory ---- */

/** Allocations of a trace, joined from its [memory] events by address (by size where an event has
 * none). Belongs to the file and must be freed before it is closed. */
typedef struct hb_memory_profile hb_memory_profile;

/** A device's memory. Changes only with the library's soname. */
typedef struct hb_memory_device {
    const char *name;       /* as torch names it: "cpu", "cuda:0" */
    double start_bytes;     /* allocated when the trace began */
    double end_bytes;       /* ... and when it ended */
    double peak_bytes;      /* the most in between */
    double peak_us;         /* when, since the trace began */
    double peak_held_bytes; /* of the peak, what was allocated within the trace */
    uint64_t allocations, frees;
    uint64_t unknown_frees; /* of what was allocated before */
    double allocated_bytes, freed_bytes;
    double left_bytes; /* allocated within the trace and still there at its end */
    uint64_t left;     /* allocations */
} hb_memory_device;

/** Allocations of one origin. Changes only with the library's soname. */
typedef struct hb_memory_holder {
    const char *name;   /* of the innermost operator or scope around it; "" when there is none */
    const char *scopes; /* "outermost;...;innermost"; "" when grouped by operator */
    const char *const *stack; /* call stack, the innermost frame first; empty likewise */
    size_t stack_size;
    uint64_t allocations;
    double bytes, largest_bytes;
    double first_us; /* when the first of them was made, since the trace began */
    bool before;     /* they were made before the trace; `name` is then who was recorded to do it */
} hb_memory_holder;

typedef enum hb_memory_moment { HB_MEMORY_AT_PEAK, HB_MEMORY_AT_END } hb_memory_moment;
typedef enum hb_memory_grouping { HB_BY_OPERATOR, HB_BY_STACK } hb_memory_grouping;

/** A piece of memory: from when to when it was there, and who had it. */
typedef struct hb_memory_allocation {
    const char *name; /* the innermost operator around; "": none */
    double bytes;
    size_t begin_event, end_event; /* of the file; end_event SIZE_MAX: still there at the end */
    bool before;                   /* it was there before the trace, which then only tells of it */
} hb_memory_allocation;

HB_API hb_result hb_memory_profile_create(hb_trace_file *file, hb_memory_profile **profile);
HB_API void hb_memory_profile_destroy(hb_memory_profile *profile);
HB_API size_t hb_memory_profile_num_devices(const hb_memory_profile *profile);
/** HB_ERROR_NOT_FOUND when `index` is too large. */
HB_API hb_result hb_memory_profile_device(const hb_memory_profile *profile, size_t index,
                                          hb_memory_device *device);
/** Who held memory, by bytes, descending: what was allocated within the trace, and as far as the
 * trace tells of it what was before. */
HB_API hb_result hb_memory_profile_holders(hb_memory_profile *profile, size_t device,
                                           hb_memory_moment moment, hb_memory_grouping grouping,
                                           const hb_memory_holder **holders, size_t *count);
/** All of a device's, in the order of their begins. */
HB_API hb_result hb_memory_profile_allocations(hb_memory_profile *profile, size_t device,
                                               const hb_memory_allocation **allocations,
                                               size_t *count);

/** The text of torch's export_memory_timeline(): `[[times in us], [[0, bytes by category], ...]]`,
 * or with `raw` `[[time in ns, action, bytes, category], ...]`. A trace does not tell parameters
 * from gradients: all memory has the category 7, unknown. `device`: "cpu", "cuda:1", ("gpu" and
 * "hip" mean "cuda"); NULL: the first GPU or, as torch without one, "cpu". Free `json` with
 * hb_free(). */
HB_API hb_result hb_memory_timeline(hb_trace_file *file, const char *device, bool raw, char **json,
                                    size_t *size);
/** Writes it to `path` as torch does: "...raw.json.gz" raw, "....gz" gzipped, else plain;
 * "....html" becomes a page of its own with a chart of who held what. */
HB_API hb_result hb_memory_timeline_write(hb_trace_file *file, const char *path,
                                          const char *device);

/* ---- statistics of steps ---- */

/** What a step's time is made of, as the plugin divides it: at any moment the first role that is
 * active has the time. */
typedef enum hb_step_quantity {
    HB_STEP_TIME, /* the whole step */
    HB_STEP_KERNEL,
    HB_STEP_MEMCPY,
    HB_STEP_MEMSET,
    HB_STEP_COMMUNICATION,
    HB_STEP_RUNTIME,
    HB_STEP_LOADER,
    HB_STEP_CPU,
    HB_STEP_OTHER,
    HB_STEP_QUANTITIES
} hb_step_quantity;

/** "Step", "Kernel", "Memcpy", ... as the plugin's page says. */
HB_API const char *hb_step_quantity_name(hb_step_quantity quantity);

/** The steps of many traces: of a run's cycles, ranks, of several runs. */
typedef struct hb_step_summary hb_step_summary;

HB_API hb_result hb_step_summary_create(hb_step_summary **summary);
HB_API void hb_step_summary_destroy(hb_step_summary *summary);
/** Adds a trace's steps; the file may be closed afterwards. The names, which are copied, tell
 * traces apart; NULL is "". */
HB_API hb_result hb_step_summary_add(hb_step_summary *summary, hb_trace_file *file, const char *run,
                                     const char *worker, const char *span);

typedef enum hb_step_grouping {
    HB_STEPS_TOGETHER, /* one group */
    HB_STEPS_BY_RUN,
    HB_STEPS_BY_RANK, /* of a run; by worker where a trace does not tell its rank */
    HB_STEPS_BY_CYCLE /* each trace */
} hb_step_grouping;

/** Changes only with the library's soname. */
typedef struct hb_step_group {
    const char *run, *worker, *span; /* "" where members differ */
    int64_t rank;                    /* -1: not known, or they differ */
    uint64_t cycles;
    double wall_us; /* from the first step's start to the last one's end, over all cycles */
    hb_statistics of[HB_STEP_QUANTITIES];
} hb_step_group;

/** In the order in which their first traces were added. */
HB_API hb_result hb_step_summary_groups(hb_step_summary *summary, hb_step_grouping by,
                                        const hb_step_group **groups, size_t *count);

/** Changes only with the library's soname. */
typedef struct hb_single_step {
    const char *run, *worker, *span;
    int64_t rank;     /* -1: not known */
    const char *name; /* the step's number */
    double start_us;
    double us[HB_STEP_QUANTITIES];
} hb_single_step;

/** All steps, the longest first. */
HB_API hb_result hb_step_summary_slowest(hb_step_summary *summary, const hb_single_step **steps,
                                         size_t *count);

/* ---- a cycle that was just recorded ---- */

/** The profiler's last cycle as if read from the file that hb_export_chrome_trace() makes of it
 * with the same `flags` (HB_DIALECT_KINETO or 0), without writing one; rows' names and arrows are
 * left out. In a handler or after stop. Independent of the profiler; to be closed like an opened
 * file. */
HB_API hb_result hb_profiler_trace(hb_profiler *prof, unsigned flags, hb_trace_file **file);

/** torch's prof.key_averages(), or prof.events() with `options->events`, of the last cycle. In a
 * handler or after stop:
 *
 *     hb_key_averages *averages;
 *     char *text;
 *     if (hb_profiler_key_averages(prof, NULL, &averages) == HB_OK) {
 *         if (hb_key_averages_table(averages, NULL, &text, NULL) == HB_OK) fputs(text, stdout);
 *         hb_free(text);
 *     }
 *     hb_key_averages_destroy(averages);
 */
HB_API hb_result hb_profiler_key_averages(hb_profiler *prof, const hb_key_averages_options *options,
                                          hb_key_averages **averages);

/** torch's export_stacks(): a line for each event of the last cycle with a call stack and at least
 * a microsecond of its own, "outermost;...;innermost 123", for flame graphs. `metric`:
 * "self_cpu_time_total" (NULL) or "self_cuda_time_total". HB_ERROR_STATE unless the profiler has
 * with_stack. In a handler or after stop. */
HB_API hb_result hb_export_stacks(hb_profiler *prof, const char *path, const char *metric);

/** torch's export_memory_timeline() of the last cycle: bytes over time, "....json[.gz]", each
 * change, "...raw.json.gz", or a page with a chart, "....html". `device`: "cpu", "cuda:0"; NULL:
 * the first GPU, or the CPU. All memory has the category "unknown"; see hb_memory_timeline().
 * HB_ERROR_STATE unless the profiler has profile_memory. In a handler or after stop. */
HB_API hb_result hb_export_memory_timeline(hb_profiler *prof, const char *path, const char *device);
/** A function that a table of operators names. */
typedef struct hb_known_operator {
    const char *symbol; /* as the program imports it */
    const char *name;   /* what its calls would be called */
    const char *table;  /* the file that says so */
    uint32_t line;      /* of that file */
    bool linked_in;     /* it is not imported, but part of the program: its calls are not seen */
} hb_known_operator;

/** Is given each of them; texts hold during the call. */
typedef void (*hb_known_operator_fn)(void *context, const hb_known_operator *known);

/** Reports the functions that a program or library imports from others and whose calls
 * `operators`, as in hb_profiler_options, makes operators, in the file's order, and behind them
 * those that are linked into a program statically, as far as it is not stripped. The file is read
 * and not run, and what it links to is not looked at. HB_ERROR_IO; HB_ERROR_FORMAT: no 64-bit ELF
 * file, or one that tells of no functions; HB_ERROR_NOT_FOUND: hipboard's own tables are not there.
 * Lines that are wrong are told on stderr. */
HB_API hb_result hb_known_operators(const char *file, const char *operators,
                                    hb_known_operator_fn report, void *context);

/** As hb_logdir_query() for this file alone; of the parameters only those count that do not name a
 * run, worker or span. */
HB_API hb_result hb_trace_file_query(hb_trace_file *file, const char *url, char **json,
                                     size_t *size);

#ifdef __cplusplus
}
#endif
#endif /* HIPBOARD_ANALYSIS_H */
