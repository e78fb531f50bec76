/* SPDX-License-Identifier: MIT
 *
 * hipboard - torch.profiler for native programs.
 *
 * A program marks what it does (scopes, operators, modules, memory); a profiler with a schedule
 * records some of its steps; each finished cycle becomes a `.pt.trace.json[.gz]` file that
 * TensorBoard's torch-tb-profiler plugin, Perfetto and HolisticTraceAnalysis read.
 *
 * A mark and five calls make a program visible in TensorBoard:
 *
 *     void train(struct batch *batch)
 *     {
 *         HB_SCOPE("train_batch");
 *         ...
 *     }
 *
 *     hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
 *     o.schedule = hb_schedule_make(.wait = 1, .warmup = 1, .active = 3, .repeat = 2);
 *     o.on_trace_ready = hb_tensorboard_trace_handler("runs/mine", NULL, 0);
 *     hb_profiler *prof = hb_profiler_create(&o);
 *     hb_profiler_start(prof);
 *     for (int step = 0; step < steps; step++) {
 *         train(batch);
 *         hb_profiler_step(prof);
 *     }
 *     hb_profiler_stop(prof);
 *     hb_profiler_destroy(prof);
 *
 * The words are torch.profiler's and so is the behaviour, unless a comment says otherwise.
 * Recording calls may be made from any thread at any time, need no registration, never fail and
 * never print: without a recording profiler they cost one load and one branch. Calls that take a
 * hb_profiler belong to one thread at a time. Every function accepts NULL handles.
 *
 * Stable from 1.0: existing names and values do not change. Structs that are handed in carry their
 * size and grow at their end; those that are inlined, passed by value or in arrays never change.
 */
#ifndef HIPBOARD_H
#define HIPBOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HB_API         __attribute__((visibility("default")))
#define HB_LIKELY(x)   __builtin_expect(!!(x), 1)
#define HB_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Options that carry their size, all else zero, or two members of it not. C++ would warn of members
 * that an initializer leaves out. */
#ifdef __cplusplus
#define HB_SIZED_WITH_(type, a, b)        \
    [] {                                  \
        type sized{};                     \
        sized.struct_size = sizeof(type); \
        sized a;                          \
        sized b;                          \
        return sized;                     \
    }()
#define HB_SIZED_(type)                   \
    [] {                                  \
        type sized{};                     \
        sized.struct_size = sizeof(type); \
        return sized;                     \
    }()
#else
#define HB_SIZED_WITH_(type, a, b)        \
    {                                     \
        .struct_size = sizeof(type), a, b \
    }
#define HB_SIZED_(type)             \
    {                               \
        .struct_size = sizeof(type) \
    }
#endif

#define HB_VERSION_MAJOR 0
#define HB_VERSION_MINOR 1
#define HB_VERSION_PATCH 0

/** The library's version as text, "0.1.0". It may differ from the header's. */
HB_API const char *hb_version(void);

/* ------------------------------------------------------------------------------------------- */
/* Errors                                                                                      */
/* ------------------------------------------------------------------------------------------- */

/* name, number (frozen), meaning */
#define HB_RESULT_MAP(X)                                   \
    X(OK, 0, "success")                                    \
    X(ERROR_INVALID_ARGUMENT, 1, "invalid argument")       \
    X(ERROR_STATE, 2, "not possible in the present state") \
    X(ERROR_BUSY, 3, "another profiler is running")        \
    X(ERROR_NO_MEMORY, 4, "out of memory")                 \
    X(ERROR_IO, 5, "input/output error")                   \
    X(ERROR_FORMAT, 6, "malformed data")                   \
    X(ERROR_NOT_FOUND, 7, "not found")                     \
    X(ERROR_UNSUPPORTED, 8, "not supported here")          \
    X(ERROR_LIMIT, 9, "over a limit")

typedef enum hb_result {
#define HB_RESULT_ENUM(name, value, text) HB_##name = value,
    HB_RESULT_MAP(HB_RESULT_ENUM)
#undef HB_RESULT_ENUM
} hb_result;

/** The meaning of a result code, a constant English text. */
HB_API const char *hb_result_text(hb_result result);

/** What went wrong in this thread's last failing call, with the name, value or path and the mend;
 * "" when nothing has failed. Valid until the thread's next failing call. */
HB_API const char *hb_last_error(void);

/** Writes the path of a part of this library that is a file of its own into `path`, of `size`
 * bytes: "hipboard-symbolizer", "libhipboard-capture.so". Wherever the library is: in a prefix, a
 * package, a wheel, its build tree. HB_ERROR_NOT_FOUND when it is not there, HB_ERROR_UNSUPPORTED
 * when it is of another version than hb_version(), or others than who installed the library could
 * have put it there. */
HB_API hb_result hb_part_path(const char *part, char *path, size_t size);

/* ------------------------------------------------------------------------------------------- */
/* Schedule                                                                                    */
/* ------------------------------------------------------------------------------------------- */

typedef enum hb_profiler_action {
    HB_ACTION_NONE = 0,
    HB_ACTION_WARMUP = 1,
    HB_ACTION_RECORD = 2,
    HB_ACTION_RECORD_AND_SAVE = 3,
} hb_profiler_action;

/** Which steps are recorded: after `skip_first` steps, cycles of `wait` idle, `warmup` prepared and
 * `active` recorded steps, `repeat` times (0: for ever). A non-zero `skip_first_wait` leaves the
 * first cycle's wait out. */
typedef struct hb_schedule_params {
    int64_t wait, warmup, active, repeat, skip_first, skip_first_wait;
} hb_schedule_params;

/** A user-written schedule: the action for step `step` (>= 0). Called once per step, by the thread
 * that starts or steps the profiler. */
typedef hb_profiler_action (*hb_schedule_fn)(int64_t step, void *context);

/** A schedule, by value. All zero means none: everything between start and stop is one cycle,
 * without ProfilerStep annotations. */
typedef struct hb_schedule {
    hb_schedule_fn fn;
    void *context;
    hb_schedule_params params;
    uint32_t kind;
} hb_schedule;

/** torch.profiler.schedule(). Wrong arguments are reported by hb_profiler_create(). */
HB_API hb_schedule hb_schedule_from(const hb_schedule_params *params);
#ifdef __cplusplus
static inline hb_schedule hb_schedule_from_value_(hb_schedule_params params)
{
    return hb_schedule_from(&params);
}
#define hb_schedule_make(...) hb_schedule_from_value_(hb_schedule_params{__VA_ARGS__})
#else
#define hb_schedule_make(...) hb_schedule_from(&(hb_schedule_params){__VA_ARGS__})
#endif

/** A schedule of the user's own. */
HB_API hb_schedule hb_schedule_from_function(hb_schedule_fn fn, void *context);

/** The action of `schedule` for `step`; HB_ACTION_RECORD without a schedule. Invalid parameters or
 * a negative step give HB_ACTION_NONE. */
HB_API hb_profiler_action hb_schedule_action(const hb_schedule *schedule, int64_t step);

/* ------------------------------------------------------------------------------------------- */
/* Profiler                                                                                    */
/* ------------------------------------------------------------------------------------------- */

typedef struct hb_profiler hb_profiler;

/** Called when a cycle is complete, inside hb_profiler_step() or hb_profiler_stop(), by the thread
 * that called it; also for a partial cycle at stop. `prof` gives the cycle's data until the
 * function returns. A result other than HB_OK is passed on to that caller.
 *
 * In it, step and stop of the same profiler, and start, are refused (HB_ERROR_STATE);
 * hb_profiler_destroy() of it is done when the call that led here is over, and ends the profiler's
 * life for that caller; hb_profiler_flush() waits for what was handed over before. Other profilers
 * can be made and destroyed; none can start but beside one that yields. */
typedef hb_result (*hb_trace_ready_fn)(hb_profiler *prof, void *context);

typedef struct hb_trace_handler {
    hb_trace_ready_fn fn;
    void *context;
    void (*destroy)(void *context); /* or NULL; called when its profiler is destroyed */
} hb_trace_handler;

enum hb_activity {
    HB_ACTIVITY_CPU = 1u << 0,
    HB_ACTIVITY_HIP = 1u << 1,
    /** Calls of RCCL, and of MPI in programs with libhipboard-mpi. MPI's belong to HB_ACTIVITY_CPU
     * as well, so that who links that library need not ask for them; what the program marks by
     * <hipboard/comm.h> is recorded in any case. */
    HB_ACTIVITY_COMM = 1u << 2,
};

/** One process group of distributedInfo.pg_config. */
typedef struct hb_process_group {
    const char *name;           /* "0" */
    const char *description;    /* "default_pg" */
    const char *backend_config; /* "cuda:nccl" */
    const int64_t *ranks;
    size_t num_ranks;
} hb_process_group;

/** Written as the trace's distributedInfo when world_size > 0. All zero: as the process's launcher
 * tells it, hb_distributed_from_environment(). */
typedef struct hb_distributed_info {
    /** torch's word: "nccl" (also for RCCL), "mpi", "gloo", "ucc", "xccl", "hccl", or several as
     * "cpu:gloo,cuda:nccl". "rccl" and the names of MPIs ("openmpi", "mpich") are understood; of
     * others hb_profiler_create() says HB_ERROR_INVALID_ARGUMENT. */
    const char *backend;
    int64_t rank, world_size;
    const hb_process_group *groups;
    size_t num_groups;
    const char *nccl_version; /* or NULL */
} hb_distributed_info;

/** This process's rank and the job's size as its launcher put them into the environment: Open MPI,
 * MVAPICH, PMI (MPICH, Intel, Cray), PMIx, Flux, PALS, Slurm, torchrun, in this order, or the
 * variable that HIPBOARD_RANK_FROM names. `backend` is "mpi", of torchrun NULL; a constant text.
 * HB_ERROR_NOT_FOUND: there is no launcher, or it does not tell how many ranks there are. */
HB_API hb_result hb_distributed_from_environment(hb_distributed_info *info);

/** All that the launcher tells. Numbers that it does not tell are -1. */
typedef struct hb_launch_info {
    size_t struct_size;
    const char *launcher; /* a constant text; NULL: there is none */
    int64_t rank, world_size;
    int64_t local_rank, local_size; /* on this node */
    int64_t node;                   /* counted from 0; where the launcher does not tell it, as if
                                       ranks stood on the nodes one behind the other */
    bool first_process;             /* the one that its rank begins with: no helper of it */
} hb_launch_info;
#define HB_LAUNCH_INFO_INIT HB_SIZED_(hb_launch_info)
/** HB_ERROR_NOT_FOUND: there is no launcher; `info` is filled all the same. */
HB_API hb_result hb_launch_info_get(hb_launch_info *info);

typedef struct hb_profiler_options {
    size_t struct_size;
    /** enum hb_activity bits. 0: all that this machine can record, but for RCCL's calls, for which
     * functions are interposed: only where HB_ACTIVITY_COMM or `operators` asks for them. */
    unsigned activities;
    bool record_shapes;   /* keep operators' inputs */
    bool profile_memory;  /* keep memory events */
    bool with_stack;      /* native call stacks of scopes and operators */
    bool with_flops;      /* keep operators' FLOPs */
    bool with_modules;    /* keep module frames */
    bool acc_events;      /* keep earlier cycles' events for hb_profiler_events() */
    hb_schedule schedule; /* all zero: one cycle from start to stop */
    hb_trace_handler on_trace_ready;
    hb_distributed_info distributed;
    /** Most bytes of records kept in memory or in the spool at a time; what comes over it is
     * dropped, counted and reported. 0: a quarter of the machine's memory, at most 8 GiB and a
     * sixteenth of the address space that the process may have (ulimit -v). */
    uint64_t max_record_bytes;
    /** Where records live until they are written, so that `hipboard recover` finds them after a
     * crash. NULL: hidden in the tensorboard handler's directory if that is on a local file system
     * that does not copy what is written again (as btrfs and ZFS do), else where hb_spool_directory() says; "": anonymous memory. */
    const char *spool_dir;
    /** A cycle in which the program marked no step is cut into steps of this many nanoseconds when
     * it is written; HB_TIME_SLICES_AUTO: into about twenty of a round length. 0: it is not. */
    int64_t time_slice_ns;
    /** Makes room for any other profiler of the process: pauses when that one starts, with what was
     * recorded handed to on_trace_ready, and goes on when it stops. Meanwhile on_trace_ready is
     * called for the other one's cycles, after that one's own. For tools that profile programs
     * which may profile themselves. */
    bool yields;
    /** Each trace is on the disk, and its name in its directory, before its records are given up
     * (fsync of both, by the background thread): when the power fails, only records that are no
     * trace yet may be lost. Without it nothing is lost when the program is killed. The
     * environment's HIPBOARD_FSYNC=1 does the same. */
    bool sync;
    /** Records nothing until it is triggered, and costs as little as without a profiler: one load
     * and one branch a scope. Then it records what it was asked for - by `hipboard trigger`, a
     * request file in the tensorboard handler's directory (plugin_format/control.md), one of the
     * triggers below or hb_profiler_dump() - as a cycle, and goes back. What says neither steps nor
     * seconds means 3 steps, or 1 s of a program that has marked none. By steps, on_trace_ready is
     * called as ever; by time, hipboard's own thread calls the ready-made handlers, and a handler
     * of the program's waits for the next step or stop, until which nothing else is recorded:
     * requests are refused, and of triggers that is said. Instead of a schedule. */
    bool on_demand;
    /* What triggers by itself: */
    /** A signal, as SIGUSR2; 0: none. A handler that is there before the start is called, too. */
    int trigger_signal;
    /** A step that takes more than so many percent of the median of the last 31: 300. 0: none. */
    unsigned trigger_slow_step;
    /** A HIP call that fails, while HIP is recorded. */
    bool trigger_hip_errors;
    /** What hb_scalar() is given passes a limit, or is no number: "loss > 5", "accuracy < 0.1".
     * NULL: none. One profiler of a process at a time has such a limit. */
    const char *trigger_metric;
    /** The request file, instead of hipboard.request in the handler's directory; NULL: that, or
     * what the environment variable HIPBOARD_CONTROL_FILE names. */
    const char *control_file;
    /** Of the trace files that this profiler has written with the tensorboard handler, the oldest
     * are removed when there are more than this; 0: none is. Event files stay. */
    int64_t max_cycles;
    /** The same by bytes; 0: what the environment variable HIPBOARD_MAX_DISK says ("20G"), or any.
     */
    uint64_t max_disk_bytes;
    /** hb_profiler_stop() hands the last cycle to the background thread and returns at once, as
     * hb_profiler_step() does; hb_profiler_flush() waits for it and returns its error, and
     * hb_profiler_destroy() and the program's exit() wait for it. */
    bool stop_hands_over;
    /** N: of each N kernel launches of a thread one, chosen at random, has its kernel timed: taking
     * times is most of what recording a launch costs. All calls are kept, copies and graphs timed;
     * the trace has a row for each kernel that was timed, and says so in its metadata
     * (hipboard_kernel_sampling) and notes: a sum over kernels is about an N-th of the truth. 0 or
     * 1: all are timed. Through the runtime's hook of HIP 5.4 and later, and by interposition; HIP
     * up to 5.2 and rocprofiler-sdk time all or none: there the option changes nothing but a note.
     */
    uint64_t kernel_sampling;
    /** A flight recorder: records all the time and keeps the last so many nanoseconds, steps (up to
     * a million) and bytes (of coded records: a plain scope has 4 to 8), whichever is least; 0: not
     * limited so, and all three: it is none. When it is triggered, as with on_demand, hipboard's
     * own threads write what is kept as a cycle into the tensorboard handler's directory (it must
     * have that handler; none is called), while recording goes on; steps or a time that were asked
     * for come into it before. At stop, what was asked for is written, and the rest dropped. It is
     * kept in the spool, so that `hipboard recover` finds it after a crash. It takes no more than
     * half of max_record_bytes, and while it is written no more than all. Instead of a schedule and
     * of on_demand. */
    int64_t ring_ns;
    int64_t ring_steps;
    uint64_t ring_bytes;
    /** Calls of libraries become operators, without marks: paths of tables that say which functions
     * these are and what their parameters mean (plugin_format/operators.md), with colons between
     * them; "libraries" stands for hipboard's own tables, which know the BLAS, LAPACK, FFT and
     * neural network libraries of AMD's and of CPUs, and RCCL; "communication" for RCCL's alone,
     * "without=communication" leaves it out; "loaders" for functions that read files. NULL: none.
     * Functions stay interposed as long as the process lives. With record_shapes and with_flops
     * operators have their inputs and FLOPs. Lines that are wrong are told on stderr. */
    const char *operators;
    /** A cycle in which the program marked no step gets steps that are found when it is written: by
     * ranges of its own whose names count or that come again and again, by a loop in the call
     * stacks of its launches (with_stack), or by the sequence of what it launched. They are marked
     * as inferred, and how they were found stands in the metadata (hipboard_steps). Where nothing
     * is convincing, one step spans all; or time_slice_ns cuts, if that is set. */
    bool find_steps;
    /** With find_steps: the steps are the rounds of this loop, as `hipboard view --view loops`
     * counts them; 0: of the one that is found. */
    unsigned step_loop;
    /** Called where a function begins that a table calls a step (kind=step), with what these count
     * from 0, on its thread and also between cycles: to call hb_profiler_step(). True: the call is
     * recorded under the function's name, instead of as ProfilerStep#N. With find_steps and without
     * on_demand, where no table names steps, also where one begins of those that are seen in what
     * the program launches, as soon as they are seen, numbered from how many had begun by then, and
     * True: it was taken for a step, so that the trace says how it was found; -1: such do not come
     * any more. Of the profiler that was made last; NULL: none. */
    bool (*on_operator_step)(int64_t number);
    /** Not 0: each thread's call stack so many times (1 to 1000) in a second of its processor's
     * time, of the thread that makes the profiler and those that it and they start later, once a
     * process. The kernel takes them (perf_event_open), by frame pointers (-fno-omit-frame-pointer)
     * and without a signal; where it may not, that is said on stderr and in the metadata
     * (hipboard_samples). They become frames of the category cpu_sample on rows beside the
     * threads'. */
    unsigned sample_hz;
} hb_profiler_options;

#define HB_TIME_SLICES_AUTO INT64_MAX

#define HB_PROFILER_OPTIONS_INIT HB_SIZED_(hb_profiler_options)

/** Makes a profiler; it starts with hb_profiler_start(). NULL with hb_last_error() when an option
 * is invalid. Options are copied; on_trace_ready is taken over, and destroyed also when this fails
 * (without a valid struct_size only if a function of hipboard made it). */
HB_API hb_profiler *hb_profiler_create(const hb_profiler_options *options);

/** The same by a JSON object whose members are named as those of hb_profiler_options, for languages
 * without C structs; NULL: all defaults. `activities` is a list of "cpu", "hip" and "comm",
 * `schedule` has the members of hb_schedule_params, `distributed` backend, rank, world_size and
 * nccl_version. In place of on_trace_ready stands `tensorboard_trace_handler` with dir_name,
 * worker_name, use_gzip and by_zlib, dialect ("tensorboard" or "kineto"), event_file (true),
 * skip_empty and pftrace. NULL with hb_last_error(), which names the member, for what is no JSON,
 * no option or of another type.
 */
HB_API hb_profiler *hb_profiler_create_json(const char *json);

/** Starts (again): the action of the present step takes effect. HB_ERROR_BUSY when another
 * profiler of this process is running. HB_ERROR_IO when the directory of a tensorboard handler
 * can't be made or written to: it is said on stderr, too, and recording begins all the same, in the
 * hope that this is mended when a cycle is complete. step_num goes on counting over restarts. */
HB_API hb_result hb_profiler_start(hb_profiler *prof);

/** Ends the present step and begins the next. A cycle that completes is handed to on_trace_ready;
 * the handler's result, or the first error of an earlier background write, is returned. */
HB_API hb_result hb_profiler_step(hb_profiler *prof);

/** Stops; a partial cycle is handed to on_trace_ready. Returns when all files are written, with the
 * first error if one of them could not be; with stop_hands_over at once. Who waits for files longer
 * than two seconds, here or in hb_profiler_flush(), is told so on stderr. */
HB_API hb_result hb_profiler_stop(hb_profiler *prof);

/** Triggers a profiler that is `on_demand`, or a flight recorder (ring_...), which is written then.
 * `reason` is copied, up to 159 bytes, and stands in the trace; NULL: none. Returns at once: a
 * thread of hipboard's does what is to be done, and hb_profiler_flush() waits for what a flight
 * recorder has to write. For any thread while the profiler is not being destroyed, signal handlers
 * included. HB_ERROR_STATE, without hb_last_error(), when the profiler is not running or not such a
 * one. */
HB_API hb_result hb_profiler_dump(hb_profiler *prof, const char *reason);

/** Waits until every cycle handed to a background handler is written; its first error. */
HB_API hb_result hb_profiler_flush(hb_profiler *prof);

/** Stops if needed and frees. In a forked child it only frees: the files are the parent's. */
HB_API void hb_profiler_destroy(hb_profiler *prof);

/** In a handler these are already the new step's, as in torch. */
HB_API int64_t hb_profiler_step_num(const hb_profiler *prof);
HB_API hb_profiler_action hb_profiler_current_action(const hb_profiler *prof);

/** 0-based index of the present or last recorded cycle, -1 before the first. */
HB_API int64_t hb_profiler_cycle(const hb_profiler *prof);

/** The number that the next step bears in traces and event files (before the start: the first);
 * later ones count on from it. For programs that resume a training. step_num and schedules go on
 * counting from 0. */
HB_API hb_result hb_profiler_number_next_step(hb_profiler *prof, int64_t number);

/** Adds a metadata entry to the cycle being recorded, or when none is, to the next. The value is
 * any text. */
HB_API hb_result hb_profiler_add_metadata(hb_profiler *prof, const char *key, const char *value);

/** As hb_profiler_add_metadata() with a JSON value. HB_ERROR_FORMAT when it does not parse. */
HB_API hb_result hb_profiler_add_metadata_json(hb_profiler *prof, const char *key,
                                               const char *json);

/** As hb_profiler_add_metadata_json(), for every cycle that begins from now on; a key's new value
 * takes the former one's place. */
HB_API hb_result hb_profiler_preset_metadata_json(hb_profiler *prof, const char *key,
                                                  const char *json);

/** Why records are missing from the present or last cycle; all zero when none are. */
typedef struct hb_lost {
    size_t struct_size;    /* sizeof(hb_lost), set by the caller: no more is written */
    uint64_t buffer_full;  /* over max_record_bytes */
    uint64_t strings_full; /* kept, but under the name "(name dropped)" */
    uint64_t reentrant;    /* made by a signal handler that interrupted a recording call */
    uint64_t too_big;      /* kept, but without what did not fit: inputs or stack over 32 KiB, a
                              name over 1 MiB, a stack where a signal handler's own had no room to
                              walk it */
    uint64_t unbalanced;   /* scopes that had to be closed by an outer one's end */
    uint64_t memory;       /* no memory for a thread's state */
    uint64_t interrupted;  /* recording calls that a thread never left (cancelled, siglongjmp(),
                              exit()), or only after the end of the cycle that they began in */
} hb_lost;
HB_API hb_result hb_profiler_lost(const hb_profiler *prof, hb_lost *lost);

/* ------------------------------------------------------------------------------------------- */
/* Handlers and exports                                                                        */
/* ------------------------------------------------------------------------------------------- */

enum hb_export_flags {
    HB_GZIP = 1u << 0,           /* .pt.trace.json.gz */
    HB_DIALECT_KINETO = 1u << 1, /* to the letter as torch 2.13 writes, for Perfetto, HTA, ...;
                                    default is the dialect that fills the plugin's views */
    HB_NO_EVENT_FILE = 1u << 2,  /* tensorboard_trace_handler: traces only */
    HB_SKIP_EMPTY = 1u << 3,     /* tensorboard_trace_handler, hb_recover(): no files of a cycle in
                                    which nothing was recorded */
    HB_GZIP_BY_ZLIB = 1u << 4,   /* .gz files by zlib alone; else by a coder of our own, some four
                                    times as fast, where that makes no more */
    HB_PFTRACE = 1u << 5,        /* each trace also as Perfetto's protobuf, beside it and after it:
                                    .pftrace[.gz]; hb_export_chrome_trace(): in place of JSON */
};

/** torch.profiler.tensorboard_trace_handler(): each cycle becomes
 * `<dir>/<worker_name>.<time_ns>.pt.trace.json[.gz]`, written by a background thread and renamed
 * into place when whole. `dir` is one place from hb_profiler_create() on, and one directory from
 * hb_profiler_start() on, also when the program changes its working directory or its root, or
 * somebody renames the directory. `worker_name` NULL or "": "<hostname>_<pid>", and of a
 * rank of a job "<hostname>_<rank>", the rank with as many digits as the last one has, and "-<pid>"
 * behind it in processes that the rank's first one started. A worker name with '/' is refused by
 * hb_profiler_create(). When writing fails, the error is reported by the next
 * step, flush or stop and once on stderr, and the records stay in the spool for `hipboard recover`.
 *
 * Beside them goes an event file: step times by role, memory, utilisation, top operators and more,
 * for TensorBoard's Scalars, Histograms, Text, HParams and Custom Scalars tabs. Of a distributed
 * run rank 0 writes one, since TensorBoard would mix those of one directory. */
HB_API hb_trace_handler hb_tensorboard_trace_handler(const char *dir, const char *worker_name,
                                                     unsigned flags);

/** `first`, then `second` whatever came of the first, as one handler; of two failures the first one
 * counts. Both are taken over. To look at each cycle and have all that the ready-made handler does:
 *
 *     o.on_trace_ready = hb_trace_handler_chain((hb_trace_handler){print_table, NULL, NULL},
 *                                               hb_tensorboard_trace_handler(dir, NULL, 0));
 *
 * The first tensorboard handler in it keeps the event file; others of it write traces only. */
HB_API hb_trace_handler hb_trace_handler_chain(hb_trace_handler first, hb_trace_handler second);

/** A trace as the tensorboard handler's, without an event file, for use in a handler of one's own,
 * or after stop: writes now, returns when written. */
HB_API hb_result hb_export_tensorboard(hb_profiler *prof, const char *dir, const char *worker_name,
                                       unsigned flags);

/** torch's export_chrome_trace(): writes the last cycle to `path`, gzipped if it ends in ".gz";
 * with HB_PFTRACE as Perfetto's protobuf. In a handler or after stop. May be called more than once.
 */
HB_API hb_result hb_export_chrome_trace(hb_profiler *prof, const char *path, unsigned flags);

/* ------------------------------------------------------------------------------------------- */
/* Recording: scopes                                                                           */
/* ------------------------------------------------------------------------------------------- */

/** Non-zero while records are kept. Read through HB_ENABLED(). */
extern HB_API uint32_t hb_enabled_epoch;
#define HB_ENABLED() HB_UNLIKELY(__atomic_load_n(&hb_enabled_epoch, __ATOMIC_RELAXED))

/** An open scope; opaque. All zero is a scope that does nothing when ended. */
typedef struct hb_scope {
    void *record;
    uint32_t epoch, depth;
} hb_scope;

/** A call site's name, interned once. Static storage, name first, the rest zero. */
typedef struct hb_site {
    const char *name;
    uint32_t id;
    uint32_t reserved;
} hb_site;

/** torch.profiler.record_function: a user annotation from here to hb_scope_end(). NULL and "" are
 * recorded as "(unnamed)". The text is copied. */
HB_API hb_scope hb_record_function(const char *name);
HB_API hb_scope hb_record_function_site(hb_site *site);

/** Ends a scope. Ending twice, or after the profiler stopped, does nothing. Scopes opened inside it
 * that are still open end with it. Another thread may end it. */
HB_API void hb_scope_end(hb_scope *scope);

/** Scopes without a handle, for bindings: pop ends the thread's innermost open scope. A pop without
 * a push does nothing. */
HB_API void hb_range_push(const char *name);
HB_API void hb_range_pop(void);

/** For who hears roctx ranges: begins an operator if the text is one of rocBLAS's
 * (ROCBLAS_LAYER=1) or MIOpen's (MIOPEN_ENABLE_LOGGING_ROCTX=1), which tell a call with all its
 * parameters. With hb_profiler_options.operators it has inputs and FLOPs; where the call is an
 * operator by these tables already it is not shown twice. False: the text is another range's. */
HB_API bool hb_call_range_push(const char *text);
/** Ends the thread's innermost one. */
HB_API void hb_call_range_pop(void);

#define HB_CONCAT_(a, b) a##b
#define HB_CONCAT(a, b)  HB_CONCAT_(a, b)

static inline hb_scope hb_scope_none_(void)
{
    hb_scope none = {NULL, 0, 0};
    return none;
}

static inline void hb_scope_cleanup(hb_scope *scope)
{
    if (HB_UNLIKELY(scope->record != NULL)) hb_scope_end(scope);
}

/* An expression that begins an annotation, whose name is interned once. */
#define HB_BEGIN_FUNCTION_(text)                     \
    __extension__({                                  \
        static hb_site hb_site_here_ = {text, 0, 0}; \
        hb_record_function_site(&hb_site_here_);     \
    })

/* A declaration: the scope ends where its block is left in any way (end, break, continue, return,
 * goto; C++ exceptions too), since its handle has a cleanup function. */
#define HB_GUARD_(begin) HB_GUARD_AT_(__COUNTER__, begin)
#define HB_GUARD_AT_(n, begin)                                                            \
    hb_scope HB_CONCAT(hb_guard_, n) __attribute__((cleanup(hb_scope_cleanup), unused)) = \
        HB_ENABLED() ? (begin) : hb_scope_none_()

/** HB_SCOPE("forward");   From here to the end of the block; the name must be a string literal. */
#define HB_SCOPE(literal)    HB_GUARD_(HB_BEGIN_FUNCTION_("" literal))
/** HB_SCOPE_NAMED(name);   The name is any string. */
#define HB_SCOPE_NAMED(name) HB_GUARD_(hb_record_function(name))
/** HB_FUNCTION_GUARD();   The name is that of the function which it is in. */
#define HB_FUNCTION_GUARD()  HB_GUARD_(HB_BEGIN_FUNCTION_(__func__))

/* A statement prefix: the scope ends when the statement is left in any way. Inside it, `break` and
 * `continue` leave the scope, not a loop around it: HB_SCOPE() changes no loop. */
#define HB_SCOPED_(begin) HB_SCOPED_AT_(__COUNTER__, begin)
#define HB_SCOPED_AT_(n, begin)                                                               \
    for (hb_scope HB_CONCAT(hb_scope_, n) __attribute__((cleanup(hb_scope_cleanup))) =        \
             HB_ENABLED() ? (begin) : hb_scope_none_(),                                       \
                                          *HB_CONCAT(hb_once_, n) = &HB_CONCAT(hb_scope_, n); \
         HB_CONCAT(hb_once_, n); HB_CONCAT(hb_once_, n) = NULL)

/** HB_RECORD_FUNCTION("forward") { ... }   The name must be a string literal. */
#define HB_RECORD_FUNCTION(literal) HB_SCOPED_(HB_BEGIN_FUNCTION_("" literal))

/** HB_RECORD_FUNCTION_NAMED(name) { ... }   The name is any string. */
#define HB_RECORD_FUNCTION_NAMED(name) HB_SCOPED_(hb_record_function(name))

/** A typed value of a scope, "key": value in its event's args. As HB_ARG() makes it; texts are read
 * while the scope begins. */
typedef enum hb_arg_type {
    HB_ARG_INT = 1,
    HB_ARG_UINT,
    HB_ARG_DOUBLE,
    HB_ARG_BOOL,
    HB_ARG_STRING,
} hb_arg_type;

typedef struct hb_arg {
    const char *key; /* up to 1024 bytes */
    hb_arg_type type;
    uint32_t reserved;
    int64_t i;     /* INT, UINT (its bits), BOOL */
    double f;      /* DOUBLE */
    const char *s; /* STRING */
} hb_arg;

static inline hb_arg hb_arg_int(const char *key, int64_t value)
{
    hb_arg arg = {key, HB_ARG_INT, 0, value, 0, NULL};
    return arg;
}
static inline hb_arg hb_arg_uint(const char *key, uint64_t value)
{
    hb_arg arg = {key, HB_ARG_UINT, 0, (int64_t)value, 0, NULL};
    return arg;
}
static inline hb_arg hb_arg_double(const char *key, double value)
{
    hb_arg arg = {key, HB_ARG_DOUBLE, 0, 0, value, NULL};
    return arg;
}
static inline hb_arg hb_arg_bool(const char *key, bool value)
{
    hb_arg arg = {key, HB_ARG_BOOL, 0, value, 0, NULL};
    return arg;
}
static inline hb_arg hb_arg_string(const char *key, const char *value)
{
    hb_arg arg = {key, HB_ARG_STRING, 0, 0, 0, value};
    return arg;
}

/** HB_ARG("bytes", n), HB_ARG("path", path): by the value's type. Of what is written as a constant
 * `true` is an int in C: HB_ARG("cached", (bool)true). C++ has hipboard::arg(). */
#ifndef __cplusplus
#define HB_ARG(key, value) \
    _Generic((value),                      \
        bool: hb_arg_bool,                 \
        float: hb_arg_double,              \
        double: hb_arg_double,             \
        char *: hb_arg_string,             \
        const char *: hb_arg_string,       \
        unsigned: hb_arg_uint,             \
        unsigned long: hb_arg_uint,        \
        unsigned long long: hb_arg_uint,   \
        default: hb_arg_int)((key), (value))
#endif

struct hb_op_info;

/** What a scope says besides its name. */
typedef struct hb_scope_info {
    size_t struct_size;
    /** The event's "cat", for viewers that filter and colour by it. NULL or "": that of a scope.
     * One of the program's own, "io", takes the scope out of the plugin's tables, which know scopes
     * by their category: it is drawn in the trace alone, and what it launched counts for the scope
     * around it. A category that means something else to readers ("kernel", "cuda_runtime") is
     * passed over. */
    const char *category;
    /** Kept always. Keys of which readers know the meaning, as "External id" and "Input Dims", get
     * an underscore behind them. More than 32 KB of them are left out, and counted
     * (hb_lost.too_big). */
    const hb_arg *args;
    size_t num_args;
    const struct hb_op_info *op; /* an operator with these inputs; NULL: a user annotation */
} hb_scope_info;

/** A scope with more than a name, from here to hb_scope_end(). `info` may be NULL. */
HB_API hb_scope hb_scope_begin(const char *name, const hb_scope_info *info);
HB_API hb_scope hb_scope_begin_site(hb_site *site, const hb_scope_info *info);

/** HB_SCOPE_WITH("read", .category = "io", HB_ARGS(HB_ARG("bytes", n), HB_ARG("path", path)));
 * From here to the end of the block; the name must be a string literal, the rest is evaluated only
 * while recording. C only: C++ has hipboard::record_function(). */
#define HB_ARGS(...)                       \
    .args = (const hb_arg[]){__VA_ARGS__}, \
    .num_args = sizeof((const hb_arg[]){__VA_ARGS__}) / sizeof(hb_arg)
#define HB_SCOPE_WITH(literal, ...) HB_GUARD_(HB_BEGIN_WITH_(literal, __VA_ARGS__))
#define HB_BEGIN_WITH_(literal, ...)                                                    \
    __extension__({                                                                     \
        static hb_site hb_site_here_ = {"" literal, 0, 0};                              \
        hb_scope_begin_site(                                                            \
            &hb_site_here_,                                                             \
            &(const hb_scope_info){.struct_size = sizeof(hb_scope_info), __VA_ARGS__}); \
    })

/** An arrow from scope to scope, across threads too: it begins in the innermost open scope of the
 * calling thread, passes through others, and ends in one. Calls of one name and number make one
 * arrow; a number may be used again once its arrow has ended. */
typedef enum hb_flow_phase {
    HB_FLOW_BEGIN = 0,
    HB_FLOW_STEP = 1,
    HB_FLOW_END = 2,
} hb_flow_phase;
HB_API void hb_flow(const char *name, uint64_t id, hb_flow_phase phase);

/** The names by which torch and the plugin know data loading and optimizers; literals. */
#define HB_DATA_LOADER(loader)       HB_RECORD_FUNCTION("enumerate(DataLoader)#" loader ".__next__")
#define HB_OPTIMIZER_STEP(optimizer) HB_RECORD_FUNCTION("Optimizer.step#" optimizer ".step")
#define HB_OPTIMIZER_ZERO_GRAD(optimizer) \
    HB_RECORD_FUNCTION("Optimizer.zero_grad#" optimizer ".zero_grad")

/* ------------------------------------------------------------------------------------------- */
/* Recording: operators                                                                        */
/* ------------------------------------------------------------------------------------------- */

/* name, torch's C++ type name, bytes an element */
#define HB_DTYPE_MAP(X)                           \
    X(NONE, "", 0)                                \
    X(FLOAT32, "float", 4)                        \
    X(FLOAT64, "double", 8)                       \
    X(FLOAT16, "c10::Half", 2)                    \
    X(BFLOAT16, "c10::BFloat16", 2)               \
    X(INT8, "signed char", 1)                     \
    X(UINT8, "unsigned char", 1)                  \
    X(INT16, "short int", 2)                      \
    X(INT32, "int", 4)                            \
    X(INT64, "long int", 8)                       \
    X(BOOL, "bool", 1)                            \
    X(COMPLEX64, "c10::complex<float>", 8)        \
    X(COMPLEX128, "c10::complex<double>", 16)     \
    X(FLOAT8_E4M3FN, "c10::Float8_e4m3fn", 1)     \
    X(FLOAT8_E5M2, "c10::Float8_e5m2", 1)         \
    X(FLOAT8_E4M3FNUZ, "c10::Float8_e4m3fnuz", 1) \
    X(FLOAT8_E5M2FNUZ, "c10::Float8_e5m2fnuz", 1)

typedef enum hb_dtype {
#define HB_DTYPE_ENUM(name, text, size) HB_##name,
    HB_DTYPE_MAP(HB_DTYPE_ENUM)
#undef HB_DTYPE_ENUM
} hb_dtype;

typedef enum hb_input_kind {
    HB_INPUT_NONE = 0, /* None, a string, anything without a shape */
    HB_INPUT_TENSOR,
    HB_INPUT_TENSOR_LIST,
    HB_INPUT_INT,
    HB_INPUT_FLOAT,
    HB_INPUT_BOOL,
    HB_INPUT_INT_LIST,
    HB_INPUT_FLOAT_LIST,
} hb_input_kind;

/** One input of an operator. Arrays are read during the call only. */
typedef struct hb_input {
    hb_input_kind kind;
    hb_dtype dtype;              /* TENSOR */
    uint32_t count;              /* TENSOR: dimensions; lists: entries */
    const int64_t *dims;         /* TENSOR: sizes; INT_LIST: values */
    const int64_t *strides;      /* TENSOR: in elements; NULL: contiguous */
    const double *floats;        /* FLOAT_LIST */
    const struct hb_input *list; /* TENSOR_LIST: `count` tensors */
    int64_t i;                   /* INT, BOOL */
    double f;                    /* FLOAT */
} hb_input;

#define HB_DIMS_(...) \
    (const int64_t[]) \
    {                 \
        __VA_ARGS__   \
    }
#define HB_COUNT_(...) (sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
/** HB_TENSOR(HB_FLOAT32, n, c, h, w), HB_INT(1), HB_FLOAT(0.5), HB_INT_LIST(1, 1), ... */
#define HB_TENSOR(type, ...)                                                       \
    {                                                                              \
        .kind = HB_INPUT_TENSOR, .dtype = (type), .count = HB_COUNT_(__VA_ARGS__), \
        .dims = HB_DIMS_(__VA_ARGS__)                                              \
    }
#define HB_INT_LIST(...)                                                                          \
    {                                                                                             \
        .kind = HB_INPUT_INT_LIST, .count = HB_COUNT_(__VA_ARGS__), .dims = HB_DIMS_(__VA_ARGS__) \
    }
#define HB_INT(value)                      \
    {                                      \
        .kind = HB_INPUT_INT, .i = (value) \
    }
#define HB_FLOAT(value)                      \
    {                                        \
        .kind = HB_INPUT_FLOAT, .f = (value) \
    }
#define HB_BOOL_VALUE(value)                \
    {                                       \
        .kind = HB_INPUT_BOOL, .i = (value) \
    }
#define HB_NO_INPUT           \
    {                         \
        .kind = HB_INPUT_NONE \
    }
#define HB_INPUTS(...)                         \
    .inputs = (const hb_input[]){__VA_ARGS__}, \
    .num_inputs = sizeof((const hb_input[]){__VA_ARGS__}) / sizeof(hb_input)

typedef struct hb_op_info {
    const hb_input *inputs; /* kept with record_shapes */
    size_t num_inputs;
    double flops; /* kept with with_flops; see hb_flops_*() */
    /** Pairs a backward operator with its forward one. 0: none. Both carry the same number;
     * the backward operator also names the forward operator's thread. */
    uint64_t sequence_number;
    uint64_t forward_thread; /* hb_thread_number() of the forward operator; 0: this is forward */
} hb_op_info;

/** An operator (cpu_op) from here to hb_scope_end(). `info` may be NULL. */
HB_API hb_scope hb_op(const char *name, const hb_op_info *info);
HB_API hb_scope hb_op_site(hb_site *site, const hb_op_info *info);

/** HB_OP("aten::mm", HB_INPUTS(HB_TENSOR(HB_FLOAT32, m, k), HB_TENSOR(HB_FLOAT32, k, n)),
 *         .flops = hb_flops_mm(m, k, n)) { ... }
 * The name must be a string literal; the rest may be left out, and is evaluated only while
 * recording. C only: C++ has hipboard::op(). */
#define HB_OP(...)           HB_OP_(__VA_ARGS__, )
#define HB_OP_(literal, ...) HB_SCOPED_(HB_BEGIN_OP_(literal, __VA_ARGS__))
#define HB_BEGIN_OP_(literal, ...)                                                  \
    __extension__({                                                                 \
        static hb_site hb_site_here_ = {"" literal, 0, 0};                          \
        hb_op_site(&hb_site_here_, __extension__ &(const hb_op_info){__VA_ARGS__}); \
    })

/** HB_OP_GUARD("aten::mm", HB_INPUTS(...), ...);   The same from here to the end of the block. */
#define HB_OP_GUARD(...)           HB_OP_GUARD_(__VA_ARGS__, )
#define HB_OP_GUARD_(literal, ...) HB_GUARD_(HB_BEGIN_OP_(literal, __VA_ARGS__))

/** A small number for the calling thread, from 1, for hb_op_info.forward_thread. */
HB_API uint64_t hb_thread_number(void);

/* torch's FLOP formulas. Sizes in elements; a negative or zero size gives 0. */
HB_API double hb_flops_mm(int64_t m, int64_t k, int64_t n);             /* 2mkn */
HB_API double hb_flops_addmm(int64_t m, int64_t k, int64_t n);          /* 2mkn */
HB_API double hb_flops_bmm(int64_t b, int64_t m, int64_t k, int64_t n); /* 2bmkn */
HB_API double hb_flops_baddbmm(int64_t b, int64_t m, int64_t k, int64_t n);
HB_API double hb_flops_add(const int64_t *dims, size_t ndim); /* elements of the first input */
HB_API double hb_flops_mul(const int64_t *dims, size_t ndim);

/** input n,c,h,w; weight o,c/groups,kh,kw; stride, padding and dilation h,w. 0 when stride or
 * groups is 0. */
HB_API double hb_flops_conv2d(const int64_t input[4], const int64_t weight[4],
                              const int64_t stride[2], const int64_t padding[2],
                              const int64_t dilation[2], int64_t groups);

/* ------------------------------------------------------------------------------------------- */
/* Recording: modules                                                                          */
/* ------------------------------------------------------------------------------------------- */

/** A layer or other part of the program, made once and kept beside it. 0 means none. */
typedef uint32_t hb_module;

/** Names a module "<class_name>_<n>", n counting the class's modules from 0. Thread-safe; lives as
 * long as the process. 0 when class_name is NULL or empty, or after 65,535 modules. */
HB_API hb_module hb_module_create(const char *class_name);

/** A module's frame from here to hb_scope_end(), shown by the Module view as a tree by nesting.
 * Kept when the profiler has with_modules. */
HB_API hb_scope hb_module_call(hb_module module);
#define HB_MODULE(module)       HB_SCOPED_(hb_module_call(module))
#define HB_MODULE_GUARD(module) HB_GUARD_(hb_module_call(module))

/* ------------------------------------------------------------------------------------------- */
/* Recording: memory and numbers                                                               */
/* ------------------------------------------------------------------------------------------- */

typedef enum hb_device_type {
    HB_DEVICE_CPU = 0,
    HB_DEVICE_HIP = 1,
} hb_device_type;

typedef struct hb_memory_info {
    hb_device_type device_type;
    int32_t device_id; /* HIP ordinal; ignored for the CPU */
    const void *addr;
    int64_t bytes; /* negative: freed */
    /** The allocator's totals after the event, in bytes; -1: hipboard sums the events up. */
    int64_t total_allocated, total_reserved;
    bool out_of_memory; /* the allocation of `bytes` failed */
} hb_memory_info;

/** torch's reportMemoryUsage(): kept when the profiler has profile_memory. While such a profiler
 * exists, events of steps that are not recorded count as well: a cycle begins with what is
 * allocated by then. */
HB_API extern uint32_t hb_memory_enabled; /* non-zero while such events are wanted */
#define HB_MEMORY_ENABLED() HB_UNLIKELY(__atomic_load_n(&hb_memory_enabled, __ATOMIC_RELAXED))
HB_API void hb_memory_report_slow(const hb_memory_info *info);
static inline void hb_memory_report(const hb_memory_info *info)
{
    if (HB_MEMORY_ENABLED()) hb_memory_report_slow(info);
}

/** The short forms; totals are summed up by hipboard. */
static inline void hb_memory_alloc(hb_device_type type, int32_t id, const void *addr, size_t bytes)
{
    if (HB_MEMORY_ENABLED()) {
        hb_memory_info info = {type, id, addr, (int64_t)bytes, -1, -1, false};
        hb_memory_report_slow(&info);
    }
}
static inline void hb_memory_free(hb_device_type type, int32_t id, const void *addr, size_t bytes)
{
    if (HB_MEMORY_ENABLED()) {
        hb_memory_info info = {type, id, addr, -(int64_t)bytes, -1, -1, false};
        hb_memory_report_slow(&info);
    }
}

/** A number at this moment: while a cycle is recorded a counter row in its trace, and with the
 * tensorboard handler, in all steps, a scalar of the present one in its event file. Texts,
 * histograms and hyperparameters: <hipboard/event_log.h>. */
HB_API void hb_scalar(const char *name, double value);

/** A number with its unit ("bytes", "rows"; NULL: none) at this moment: a curve in the trace, and
 * only there, while a cycle is recorded. */
HB_API void hb_counter(const char *name, const char *unit, double value);

/** What the sensors of the GPUs tell that HIP has given this process, at this moment, as counters
 * called "GPU 0 power" (W), "GPU 0 energy" (J since the first reading), clock and memory clock
 * (MHz), temperature, busy, VRAM, throttled: to be called now and then, from any thread, as
 * `hipboard record` does ten times a second. A trace with such counters has their sums for each
 * step in its metadata (hipboard_gpu_steps). Reads amdgpu's files in sysfs, 10 to 100 us a GPU;
 * does nothing while no cycle is recorded, before HIP was used, and to a GPU that sleeps. What is
 * not known, and why, stands in the trace (hipboard_gpu_0_sensors). */
HB_API void hb_gpu_telemetry(void);

/** Whether a table of hb_profiler_options.operators, of any profiler so far, calls a function a
 * step (kind=step): then whoever counts steps may wait for its calls. */
HB_API bool hb_tables_name_steps(void);

/** Names the calling thread in traces, up to 31 bytes; without it the system's thread name is
 * used. */
HB_API void hb_thread_name(const char *name);

/* ------------------------------------------------------------------------------------------- */
/* Events of a cycle                                                                           */
/* ------------------------------------------------------------------------------------------- */

typedef enum hb_event_kind {
    HB_EVENT_OP = 0,          /* cpu_op */
    HB_EVENT_USER_ANNOTATION, /* user_annotation */
    HB_EVENT_MODULE,          /* python_function with a module id */
    HB_EVENT_MEMORY,          /* [memory] and [OutOfMemory] */
    HB_EVENT_SCALAR,          /* counter */
    HB_EVENT_RUNTIME,         /* HIP API call */
    HB_EVENT_KERNEL,
    HB_EVENT_MEMCPY,
    HB_EVENT_MEMSET,
    HB_EVENT_SYNC,
    HB_EVENT_GPU_USER_ANNOTATION,
    HB_EVENT_COUNTER, /* counter with a unit */
    HB_EVENT_FLOW,    /* a moment of an arrow */
} hb_event_kind;

/** One event. Made by the library only and grows at its end; pointers are valid until the next
 * event is asked for. */
typedef struct hb_event {
    hb_event_kind kind;
    bool unfinished;  /* still open when the cycle ended; end_ns is the cycle's end */
    bool async;       /* began and ended on different threads */
    const char *name; /* `name_size` bytes, may hold any byte; also NUL-terminated */
    size_t name_size;
    int64_t start_ns, end_ns; /* Unix time */
    int64_t thread_id;        /* kernel thread id, or a GPU stream */
    uint64_t external_id;     /* of scopes, and of device work the innermost scope's; 0: none */
    double flops;             /* OP */
    int64_t bytes;            /* MEMORY (negative: freed), MEMCPY, MEMSET */
    double value;             /* SCALAR, COUNTER */
    const char *category;     /* OP, USER_ANNOTATION: the program's own, or NULL */
    const hb_arg *args;       /* ... and their values */
    size_t num_args;
    const char *unit;         /* COUNTER; "": none */
    uint64_t flow_id;         /* FLOW */
    hb_flow_phase flow_phase; /* FLOW */
} hb_event;

/** Calls `fn` for the events of the last cycle (with acc_events: of all), thread by thread in order
 * of start, until it returns false. In a handler or after stop. */
HB_API hb_result hb_profiler_events(hb_profiler *prof, bool (*fn)(const hb_event *event, void *arg),
                                    void *arg);

/* ------------------------------------------------------------------------------------------- */
/* What can be captured here                                                                   */
/* ------------------------------------------------------------------------------------------- */

/** A way to capture HIP. */
typedef struct hb_hip_backend {
    const char *name;    /* as the environment variable HIPBOARD_HIP_BACKEND takes it */
    const char *summary; /* what it is, a phrase */
    bool usable;
    const char *why_not; /* "" when it is usable */
} hb_hip_backend;

/** A device that HIP shows to this process. */
typedef struct hb_hip_gpu {
    int32_t id; /* HIP ordinal */
    int32_t num_cus;
    uint64_t memory_bytes;
    const char *name, *arch; /* "AMD Instinct MI250X", "gfx90a:sramecc+:xnack-" */
    bool simulated;          /* by tools/simhsa: its durations mean nothing */
} hb_hip_gpu;

typedef struct hb_hip_setting {
    const char *name, *value; /* an environment variable; NULL: not set */
} hb_hip_setting;

/** What this process could capture of HIP, and why not more. Grows at its end. */
typedef struct hb_hip_info {
    const char *runtime_path; /* the HIP runtime; "" when there is none */
    int32_t runtime_version;  /* as HIP counts: 50221153 is 5.2.21153 */
    int32_t driver_version;
    const char *backend; /* the one that a profiler would use; "" when there is none */
    const char *why_no_backend;
    const hb_hip_backend *backends; /* all, in the order in which they are tried */
    size_t num_backends;
    const hb_hip_gpu *gpus;
    size_t num_gpus;
    const char *why_no_gpu;
    const char *driver_access; /* how this process can open /dev/kfd, in words */
    const hb_hip_setting *settings;
    size_t num_settings;
} hb_hip_info;

/** Finds out, without a profiler. `load`: loads a HIP runtime when this process has none, which is
 * for tools. Asks the runtime for its devices, and so starts it. Missing things are no error; free
 * the result with hb_hip_info_free(). */
HB_API hb_result hb_hip_info_get(bool load, hb_hip_info **info);
HB_API void hb_hip_info_free(hb_hip_info *info);

/** For libraries that are loaded into programs: what a function `rocprofiler_configure` of theirs,
 * exported with C linkage, has to return for its arguments. ROCm calls it when HIP starts in the
 * process, and so HIP is captured by rocprofiler-sdk however late the program loads it; else that
 * is only so if it was loaded when the profiler was made. NULL: HIP is captured in another way. */
HB_API void *hb_rocprofiler_configure(uint32_t version, const char *version_text, uint32_t priority,
                                      void *client_id);

/* ------------------------------------------------------------------------------------------- */
/* Triggering other processes                                                                  */
/* ------------------------------------------------------------------------------------------- */

/** What a profiler that is `on_demand` is asked to record. */
typedef struct hb_trigger_options {
    size_t struct_size;
    int64_t steps;        /* 0: by time */
    int64_t time_ms;      /* 0: by steps. Both 0: 3 steps, or 1 s of a program that marks none */
    int64_t roundup;      /* the first step is a multiple of this; 0: any */
    int64_t delay_ms;     /* begin no earlier than this from now */
    const char *reason;   /* or NULL; stands in the trace */
    const char *log_file; /* of the trace, with the process's number before .json; NULL: where the
                             program puts its traces */
} hb_trigger_options;
#define HB_TRIGGER_OPTIONS_INIT HB_SIZED_(hb_trigger_options)

/** Triggers the profiler of a process of the same user. `log_dir`: its log directory, for machines
 * where users have no runtime directory; or NULL. `answer`, of `size`
 * bytes, or NULL: with `wait` the trace's path, once it is written; else "", or what keeps it from
 * being recorded soon. HB_ERROR_NOT_FOUND: no such process, or it has no profiler that can be
 * triggered. */
HB_API hb_result hb_trigger_process(int64_t pid, const char *log_dir,
                                    const hb_trigger_options *options, bool wait, char *answer,
                                    size_t size);

/** Triggers all processes that record on demand into `log_dir`, on any machine that shares it: by a
 * file hipboard.request, at which each looks every 4 s. They begin at the same step if their steps
 * run alike: the first multiple of `roundup` after the delay, which should be long enough for all
 * to have seen the file. */
HB_API hb_result hb_trigger_all(const char *log_dir, const hb_trigger_options *options);

/* ------------------------------------------------------------------------------------------- */
/* Recovery                                                                                    */
/* ------------------------------------------------------------------------------------------- */

typedef struct hb_recovered {
    const char *spool, *trace; /* paths; trace is NULL when nothing was written */
    hb_result result;
    const char *error; /* "" when result is HB_OK */
    uint64_t events;
} hb_recovered;

/** Where processes of this machine keep what they record for a log directory until it is a trace:
 * in itself where it is on this machine's disks, else, or where the environment variable
 * HIPBOARD_SPOOL names a directory, in one of its own below that, or below TMPDIR or /tmp. Nobody
 * waits for a server so, nor dies of a full disk, as who records into a file on btrfs, bcachefs or
 * ZFS might. Of a killed process hb_recover() finds there what it recorded, on that
 * machine and for as long as that keeps its files. HB_ERROR_NOT_FOUND: nowhere, then it is kept in
 * memory alone. */
HB_API hb_result hb_spool_directory(const char *log_dir, char *path, size_t size);

/** Makes a trace of every spool that a killed process left in `dir`, or of it in
 * hb_spool_directory() (spools of living processes are left alone), and removes the spools that
 * became traces. `report` is called for each. Returns HB_ERROR_NOT_FOUND when there is none. */
HB_API hb_result hb_recover(const char *dir, unsigned export_flags,
                            void (*report)(const hb_recovered *spool, void *arg), void *arg);

#ifdef __cplusplus
}
#endif
#endif /* HIPBOARD_H */
