/* SPDX-License-Identifier: MIT */
#include "command.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <hipboard/hipboard.h>

#include "capture.h"
#include "launch.h"
#include "library_links.h"
#include "mpi_program.h"
#include "options.h"
#include "program_environment.h"
#include "rank_list.h"
#include "rank_pack.h"
#include "record_outcome.h"
#include "record_values.h"
#include "text.h"

#define RCCL_PLUGIN    "NCCL_PROFILER_PLUGIN" /* RCCL's own */
#define OPENMP_RUNTIME "libomp.so.5"
#define DIGESTS        "HIPBOARD_DIGESTS"

typedef struct request {
    const char *dir;
    unsigned activities; /* 0: what there is */
    int64_t delay_ns, duration_ns, slice_ns;
    int64_t kernel_sampling;
    hb_schedule_params schedule; /* active 0: none */
    bool on_demand;
    hb_profiler_options ring;  /* ring_... of it */
    int64_t signal, slow_step; /* 0: none; slow_step in percent */
    bool hip_errors;
    const char *metric; /* or NULL */
    table_list tables;  /* of operators, beside hipboard's own */
    size_t max_cycles;
    bool gzip, kineto, pftrace, quiet;
    bool no_auto_steps, with_stack, no_telemetry;
    char *modules;                 /* an expression, as a JSON string, or NULL */
    int64_t telemetry_ns;          /* 0: as usual */
    int64_t step_loop;             /* 0: the one that is found */
    int64_t sample_hz;             /* 0: none */
    const char *ranks, *rank_from; /* or NULL */
    const char *comm;              /* "auto", "mpi", "rccl" or "none" */
    const char *align;             /* "auto", "measure", "force" or "none" */
    bool mpi;                      /* its calls are taken */
    bool rccl_plugin;
    const char *openmp; /* "auto", "swap" or "none" */
    const char *spool;  /* or NULL */
    bool packs;         /* the node's traces become one file */
    /* made from it */
    hb_launch_info launch;
    rank_pack pack;
    char library[PATH_MAX], full_dir[PATH_MAX];
    char rocprofiler_library[PATH_MAX], mpi_library[PATH_MAX]; /* "": none, or not wanted */
    char openmp_library[PATH_MAX];                             /* likewise */
    char plugin[PATH_MAX];                                     /* for RCCL; likewise */
    char written[64]; /* where processes name their traces */
    char run[64];     /* tells this run's processes from others */
    library_links links;
} request;

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "hipboard record: %s: %s\n", what, why);
    return EXIT_FAILED;
}

/* ---- the libraries ---- */

/* Of those that can be done without. One that is not installed is no fault; one that is, and is not
 * to be trusted or of another release, is told once for all ranks. */
static void find_library(const request *r, const char *part, bool wanted, char path[PATH_MAX])
{
    hb_result found = wanted ? hb_part_path(part, path, PATH_MAX) : HB_ERROR_NOT_FOUND;
    if (found == HB_OK) return;
    *path = '\0';
    if (found != HB_ERROR_NOT_FOUND && r->launch.rank <= 0)
        fprintf(stderr, "hipboard record: goes on without %s: %s\n", part, hb_last_error());
}

static void find_libraries(request *r)
{
    find_library(r, ROCPROFILER_LIBRARY, !r->activities || (r->activities & HB_ACTIVITY_HIP),
                 r->rocprofiler_library);
    find_library(r, MPI_LIBRARY, r->mpi, r->mpi_library);
    find_library(r, OPENMP_LIBRARY, strcmp(r->openmp, "none") != 0, r->openmp_library);
}

/* What goes into lists. The plugin does not. */
static bool link_libraries(request *r)
{
    return link_library(&r->links, r->library) && link_library(&r->links, r->rocprofiler_library) &&
           link_library(&r->links, r->mpi_library) && link_library(&r->links, r->openmp_library);
}

/* ---- the program's environment ---- */

static unsigned export_flags(const request *r)
{
    return (r->gzip ? HB_GZIP : 0u) | (r->kineto ? HB_DIALECT_KINETO : 0u) |
           (r->pftrace ? HB_PFTRACE : 0u);
}

static void set_number(const char *name, int64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)value);
    setenv(name, text, 1);
}

static void set_text(const char *name, const char *text)
{
    if (text)
        setenv(name, text, 1);
    else
        unsetenv(name);
}

static bool has_ring(const hb_profiler_options *o)
{
    return o->ring_ns || o->ring_steps || o->ring_bytes;
}

static void set_ring(const hb_profiler_options *o)
{
    char text[80];
    snprintf(text, sizeof text, "%lld,%lld,%llu", (long long)o->ring_ns, (long long)o->ring_steps,
             (unsigned long long)o->ring_bytes);
    set_text(CAPTURE_RING, has_ring(o) ? text : NULL);
}

static void set_schedule(const hb_schedule_params *p)
{
    char text[128];
    snprintf(text, sizeof text, "%lld,%lld,%lld,%lld,%lld", (long long)p->wait,
             (long long)p->warmup, (long long)p->active, (long long)p->repeat,
             (long long)p->skip_first);
    if (p->active)
        setenv(CAPTURE_SCHEDULE, text, 1);
    else
        unsetenv(CAPTURE_SCHEDULE);
}

/* The second library, where ROCm will find rocprofiler-sdk: it looks for it by this name. */
static void preload_for_rocprofiler(const request *r)
{
    if (*r->rocprofiler_library && dlopen("librocprofiler-sdk.so", RTLD_LAZY))
        preload(r->rocprofiler_library);
}

/* Of ranks that record themselves one by one, under a launcher, the first one speaks. */
static bool speaks(const request *r)
{
    return r->launch.rank <= 0;
}

static void set_operators(const request *r)
{
    char *list = list_tables(&r->tables);
    set_text(CAPTURE_OPERATORS, list || !(r->activities & HB_ACTIVITY_COMM) ? list : "");
    free(list);
}

/* A library of OpenMP that tells tools of itself stands in for gcc's, which does not, only where
 * that is asked for: it also answers to gcc's calls. */
static void prepare_openmp(const request *r)
{
    if (*r->openmp_library) name_to_openmp(r->openmp_library);
    if (strcmp(r->openmp, "swap") == 0) preload(OPENMP_RUNTIME);
}

/* Clocks are measured by all ranks together: one that is not recorded would be waited for for ever.
 * Open MPI tells that it runs one command on all of them, and which: when that is hipboard itself,
 * not a script that may run it on some, each rank records the same program. */
static bool all_ranks_are_recorded(const request *r)
{
    const char *programs = getenv("OMPI_NUM_APP_CTX"), *first = getenv("OMPI_COMMAND");
    const char *slash = first ? strrchr(first, '/') : NULL;
    if (!first || !programs || strcmp(programs, "1") != 0 || r->launch.rank < 0) return false;
    return strcmp(slash ? slash + 1 : first, "hipboard") == 0;
}

static void ask_for_clocks(const request *r)
{
    bool is_word = strcmp(r->align, "measure") == 0 || strcmp(r->align, "force") == 0;
    if (is_word)
        setenv("HIPBOARD_ALIGN", r->align, 1);
    else if (strcmp(r->align, "none") == 0 || r->ranks || !all_ranks_are_recorded(r))
        unsetenv("HIPBOARD_ALIGN");
    else
        setenv("HIPBOARD_ALIGN", "measure", 1);
}

/* In the program's process, before it begins. */
static void tell(void *context)
{
    const request *r = context;
    setenv(CAPTURE_DIR, r->full_dir, 1);
    set_number(CAPTURE_ACTIVITIES, r->activities);
    set_number(CAPTURE_FLAGS, export_flags(r));
    set_number(CAPTURE_MAIN, getpid());
    if (r->launch.rank >= 0) set_number("HIPBOARD_RANK_PROCESS", getpid());
    set_number(CAPTURE_DELAY, r->delay_ns);
    set_number(CAPTURE_DURATION, r->duration_ns);
    set_number(CAPTURE_SLICE, r->slice_ns);
    set_number(CAPTURE_STEPS, r->no_auto_steps ? 0 : 1 + r->step_loop);
    int64_t telemetry = r->telemetry_ns ? r->telemetry_ns : 100000000;
    set_number(CAPTURE_TELEMETRY, r->no_telemetry ? 0 : telemetry);
    set_number(CAPTURE_STACK, r->with_stack || r->step_loop || r->modules);
    set_text(CAPTURE_MODULES, r->modules);
    set_number(CAPTURE_SAMPLE_HZ, r->sample_hz);
    set_number(CAPTURE_ON_DEMAND, r->on_demand);
    set_number(CAPTURE_SIGNAL, r->signal);
    set_number(CAPTURE_SLOW_STEP, r->slow_step);
    set_number(CAPTURE_HIP_ERRORS, r->hip_errors);
    set_text("HIPBOARD_WRITTEN", *r->written ? r->written : NULL);
    if (r->packs) setenv(DIGESTS, r->pack.log_dir, 0);
    set_text(CAPTURE_METRIC, r->metric);
    set_ring(&r->ring);
    set_number(CAPTURE_MAX_CYCLES, (int64_t)r->max_cycles);
    set_number(CAPTURE_SAMPLING, r->kernel_sampling);
    set_operators(r);
    setenv(CAPTURE_RUN, r->run, 1);
    set_schedule(&r->schedule);
    ask_for_clocks(r);
    if (*r->plugin) setenv(RCCL_PLUGIN, r->plugin, 1);
    if (*r->mpi_library) preload(r->mpi_library);
    prepare_openmp(r);
    preload(r->library);
    name_to_kokkos(r->library);
    allow_address_checks();
    preload_for_rocprofiler(r);
}

/* ---- ranks ---- */

/* Such a program starts others, on other machines, too, where nobody hears of hipboard. */
static bool is_launcher(const char *program)
{
    static const char *const names[] = {
        "mpirun",       "mpiexec", "mpirun.openmpi", "orterun",       "mpiexec.openmpi",
        "mpirun.mpich", "prterun", "mpiexec.mpich",  "mpiexec.hydra", "prun",
        "srun",         "jsrun",   "aprun",          "torchrun",      "flux"};
    const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static void tell_of_order(const request *r, const char *program)
{
    if (r->quiet || r->launch.rank >= 0 || !is_launcher(program)) return;
    fprintf(stderr,
            "hipboard: %s starts ranks on other machines without hipboard; for these put it first: "
            "%s ... hipboard record ... PROGRAM\n",
            program, program);
}

/* False when there is something wrong with the options about ranks; says what. */
static bool find_rank(request *r)
{
    if (r->ranks && !rank_list_is_valid(r->ranks)) {
        (void)usage_error("record", "--ranks: " RANK_LIST_EXPECTED);
        return false;
    }
    if (r->rank_from) setenv("HIPBOARD_RANK_FROM", r->rank_from, 1);
    r->launch = (hb_launch_info)HB_LAUNCH_INFO_INIT;
    bool launched = hb_launch_info_get(&r->launch) == HB_OK;
    if (r->rank_from && !getenv(r->rank_from)) {
        (void)usage_error("record", "--rank-from: there is no such environment variable");
        return false;
    }
    if (!r->ranks || launched) return true;
    (void)usage_error("record", "--ranks: no launcher has told this process its rank; put "
                                "`hipboard record` behind mpirun or srun, or name the variable "
                                "that holds the rank by --rank-from");
    return false;
}

/* Instead of this process, as if hipboard were not there. */
static int run_untouched(char **program)
{
    execvp(program[0], program);
    int error = errno;
    fail(program[0], strerror(error));
    return error == ENOENT ? 127 : 126;
}

/* ---- the command ---- */

static int64_t unix_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A directory and its parents, as the TensorBoard handler makes them. */
static bool make_directories(const char *path)
{
    char part[PATH_MAX] = "";
    for (size_t n = 1; snprintf(part, sizeof part, "%s", path) < (int)sizeof part; n++) {
        n += strcspn(part + n, "/");
        part[n] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) return false;
        if (!path[n]) return true;
    }
    errno = ENAMETOOLONG;
    return false;
}

/* The directory that is written into is the node's, where the node's traces become one file. */
static bool stage(request *r)
{
    r->packs |= r->launch.world_size > RANKS_WITHOUT_PACKS;
    r->packs &= r->launch.world_size > 1;
    if (!r->packs) return true;
    bool tells = !r->quiet && r->launch.rank <= 0;
    if (!rank_pack_begin(&r->pack, r->full_dir, tells)) return false;
    snprintf(r->full_dir, sizeof r->full_dir, "%s", r->pack.staging);
    if (tells) rank_pack_tell(&r->pack);
    return true;
}

/* NULL: the user wants none. */
static const char *digest_dir(const request *r)
{
    const char *set = getenv(DIGESTS);
    if (set && strcmp(set, "none") == 0) return NULL;
    if (set && *set) return set;
    return r->packs ? r->pack.log_dir : r->full_dir;
}

static int record(request *r, char **program)
{
    if (hb_part_path(CAPTURE_LIBRARY, r->library, sizeof r->library) != HB_OK)
        return fail(CAPTURE_LIBRARY, hb_last_error());
    if (r->rccl_plugin && hb_part_path(RCCL_LIBRARY, r->plugin, sizeof r->plugin) != HB_OK)
        return fail(RCCL_LIBRARY, hb_last_error());
    if (!make_directories(r->dir)) return fail(r->dir, strerror(errno));
    if (!realpath(r->dir, r->full_dir)) return fail(r->dir, strerror(errno)); /* it may chdir() */
    if (r->spool) setenv("HIPBOARD_SPOOL", r->spool, 1);
    find_libraries(r);
    bool linked = link_libraries(r);
    if (!linked) (void)fail("/tmp", strerror(errno));
    if (!linked || !stage(r)) {
        remove_library_links(&r->links);
        return EXIT_FAILED;
    }
    int64_t start_ns = unix_ns();
    snprintf(r->run, sizeof r->run, "%d.%lld", (int)getpid(), (long long)start_ns);
    recorded_run run = {.dir = r->dir,
                        .full_dir = r->full_dir,
                        .digest_dir = digest_dir(r),
                        .run = r->run,
                        .export_flags = export_flags(r),
                        .start_ns = start_ns,
                        .waits_to_be_asked = r->on_demand || has_ring(&r->ring),
                        .speaks = speaks(r),
                        .quiet = r->quiet,
                        .rank = r->launch.world_size > 1 ? r->launch.rank : -1,
                        .written = open_written(r->written)};
    if (!r->packs) tell_spool_place(&run);
    launch_end end = launch(program, tell, r);
    run.killed = end.by_signal;
    /* Processes that stay behind load the libraries by them, too: then they stay. */
    if (r->links.count && !run_has_processes(r->run)) remove_library_links(&r->links);
    table_list own = r->tables; /* of the user's lines the trace says which nobody imports */
    own.paths[0] = '\0';
    char *operators = list_tables(&own);
    if (!end.started) {
        if (r->packs) (void)rank_pack_end(&r->pack);
        fail(program[0], strerror(end.code));
        return end.code == ENOENT ? 127 : 126; /* as shells say it */
    }
    run.operators = operators;
    tell_outcome(&run, program[0]);
    free(operators);
    if (r->packs) (void)rank_pack_end(&r->pack);
    launch_end_alike(&end);
}

/* --activities hip leaves it out, unless --comm asks for some of it by its name. */
static void settle_communication(request *r)
{
    bool left_out = r->activities && !(r->activities & (HB_ACTIVITY_CPU | HB_ACTIVITY_COMM));
    if (left_out && strcmp(r->comm, "auto") == 0) r->comm = "none";
    if (left_out && strcmp(r->comm, "none") != 0) r->activities |= HB_ACTIVITY_COMM;
    r->tables.no_communication = strcmp(r->comm, "auto") != 0 && strcmp(r->comm, "rccl") != 0;
}

/* False: says what is missing. */
static bool has_openmp(const request *r)
{
    if (strcmp(r->openmp, "swap") != 0 || dlopen(OPENMP_RUNTIME, RTLD_LAZY)) return true;
    (void)usage_error("record", "--openmp swap: there is no " OPENMP_RUNTIME " here");
    return false;
}

static int run(arguments *args)
{
    request r = {.dir = "hipboard_runs", .comm = "auto", .align = "auto", .openmp = "auto"};
    if (!parse_options(&cmd_record, args, &r)) return args->status;
    if (r.on_demand && (r.schedule.active || r.slice_ns))
        return usage_error("record", "--on-demand: requests say what is recorded; leave --schedule "
                                     "and --slice out");
    if (has_ring(&r.ring) && (r.on_demand || r.schedule.active))
        return usage_error("record", "--ring records all the time: leave --on-demand and "
                                     "--schedule out");
    bool triggers = r.signal || r.slow_step || r.hip_errors || r.metric;
    if (!r.on_demand && !has_ring(&r.ring) && triggers)
        return usage_error("record", "--trigger-... are of use with --on-demand and --ring only");
    if (!find_rank(&r) || !has_openmp(&r)) return EXIT_USAGE;
    if (r.ranks && (strcmp(r.align, "measure") == 0 || strcmp(r.align, "force") == 0))
        return usage_error("record", "--align: clocks are measured by all ranks together; leave "
                                     "--ranks out");
    if (r.rccl_plugin && getenv(RCCL_PLUGIN))
        return usage_error("record",
                           "--rccl-plugin: RCCL loads one profiler plugin, and " RCCL_PLUGIN
                           " names another one");
    if (r.ranks && !rank_list_has(r.ranks, &r.launch)) return run_untouched(args->words);
    tell_of_order(&r, args->words[0]);
    settle_communication(&r);
    r.mpi = wants_mpi(r.comm, args->words[0], r.launch.rank >= 0);
    return record(&r, args->words);
}

static const option_spec options[] = {
    {'o', "output", "LOGDIR", "default: hipboard_runs", INTO(dir)},
    {0, "delay", "TIME", "record nothing in a process's first TIME: 500ms, 10s, 2m",
     INTO_BY(take_span, delay_ns)},
    {0, "duration", "TIME", "record no longer than TIME", INTO_BY(take_span, duration_ns)},
    {0, "schedule", "WORDS",
     "record some steps only, as torch.profiler.schedule(): "
     "wait=N,warmup=N,active=N[,repeat=N][,skip_first=N]; a cycle a file. Steps that nothing marks "
     "are counted as soon as they are seen in what the program launches, slices of time until "
     "then, "
     "to the end of the cycle",
     INTO_BY(take_schedule, schedule)},
    {0, "on-demand", NULL,
     "record nothing until `hipboard trigger` or one of the triggers below asks for it",
     INTO(on_demand)},
    {0, "ring", "AMOUNT",
     "record all the time and keep the last 30s, 100steps or 64MiB, which `hipboard trigger` or "
     "one of the triggers below has written; after a crash they are written as well",
     INTO_BY(take_ring, ring)},
    {0, "trigger-signal", "SIGNAL", "with --on-demand or --ring: USR2, or another, triggers",
     INTO_BY(take_signal, signal)},
    {0, "trigger-slow-step", "K", "likewise: a step of over K times the median triggers",
     INTO_BY(take_times, slow_step)},
    {0, "trigger-hip-errors", NULL,
     "likewise: a HIP call that fails; with --on-demand only while HIP is recorded",
     INTO(hip_errors)},
    {0, "trigger-metric", "LIMIT", "likewise: what hb_scalar() is given passes it, as \"loss > 5\"",
     INTO(metric)},
    {0, "max-cycles", "N", "keep each process's N newest traces, and remove older ones",
     INTO(max_cycles)},
    {0, "slice", "TIME",
     "steps of a program that marks none, and of which no table says any, last TIME, and are not "
     "looked for; default with --schedule: 1s",
     INTO_BY(take_span, slice_ns)},
    {0, "telemetry", "TIME",
     "read the GPUs' power, clocks, temperatures and memory each TIME; default: 100ms",
     INTO_BY(take_span, telemetry_ns)},
    {0, "no-telemetry", NULL, "do not read them", INTO(no_telemetry)},
    {0, "with-stack", NULL,
     "the call stack of each HIP call and operator; steps are found by them, too",
     INTO(with_stack)},
    {0, "sample", "HZ",
     "also each thread's call stack, HZ times (1 to 1000) in a second of its processor's time: by "
     "the kernel (perf_event_open), where it lets you, and by frame pointers",
     INTO_BY(take_hz, sample_hz)},
    {0, "modules", "REGEX",
     "methods whose names match are modules, by the call stacks of what they call and launch; the "
     "first parenthesis is the class: '(\\w+)::forward'",
     INTO_BY(take_expression, modules)},
    {0, "no-auto-steps", NULL,
     "do not look for steps in what a program launches that marks none: cut its time into about "
     "twenty of a round length",
     INTO(no_auto_steps)},
    {0, "step-loop", "N",
     "steps are the rounds of loop N, as `hipboard view --view loops` counts them; with call "
     "stacks",
     INTO_BY(take_loop, step_loop)},
    {0, "activities", "LIST",
     "of cpu, hip, comm (calls of MPI and RCCL, see --comm); default: what there is",
     INTO_BY(take_activities, activities)},
    {0, "kernel-sampling", "N",
     "time the kernel of one in N launches only, which costs the program less; calls stay complete "
     "(HIP since 5.4, without rocprofiler-sdk)",
     INTO_BY(take_sampling, kernel_sampling)},
    {0, "comm", "auto|mpi|rccl|none",
     "record calls of MPI and RCCL; auto: RCCL's always, MPI's where the program is linked to one, "
     "or, in a job, is a script; mpi: always, and no other; rccl: no other",
     INTO(comm)},
    {0, "openmp", "auto|swap|none",
     "parallel regions of OpenMP, waits at barriers and threads' names; auto: where the program's "
     "OpenMP tells of them (clang's, AMD's, Intel's); swap: of programs of gcc as well, which then "
     "run by clang's libomp.so.5",
     INTO(openmp)},
    {0, "rccl-plugin", NULL,
     "have RCCL (of NCCL 2.27 on) load a profiler plugin of hipboard's, which tells the algorithm, "
     "protocol and channels of its calls and how long the channels took by the GPU's clock; RCCL "
     "loads one plugin only",
     INTO(rccl_plugin)},
    {0, "ranks", "LIST",
     "record some ranks of a parallel job only: 0,8-15, every:64 or node:0; the others run "
     "untouched",
     INTO(ranks)},
    {0, "pack", NULL,
     "make one file of the traces of a node's ranks, HOST.hbpack, which every command reads as the "
     "directory that it stands in; so it is of more than 4096 ranks in any case",
     INTO(packs)},
    {0, "spool", "DIR",
     "keep what is recorded below DIR of each node until it is a trace, instead of in LOGDIR; by "
     "default where LOGDIR is on a network file system, btrfs, bcachefs or ZFS, in TMPDIR or /tmp "
     "(`hipboard recover --spool DIR LOGDIR` finds there what a killed job left)",
     INTO(spool)},
    {0, "rank-from", "VARIABLE",
     "the environment variable that holds the rank, of a launcher that hipboard does not know",
     INTO(rank_from)},
    {0, "align", "auto|measure|force|none",
     "measure the nodes' clocks when MPI begins and ends, and correct the times by it where it is "
     "exact enough; every rank has to be recorded; auto: where Open MPI tells that all are; "
     "measure: they are; force: also where it is not exact enough",
     INTO(align)},
    {0, "ops", "FILE",
     "functions of the program's own, or of any library, that are operators, steps, modules, data "
     "loaders or allocators: a table (plugin_format/operators.md); may be repeated",
     INTO_BY(take_table, tables)},
    {0, "loaders", NULL,
     "the reading of files - read(), pread(), fread(), HDF5's, NetCDF's - is data loading, in "
     "calls "
     "of 100us and more; shorter ones are summed up",
     INTO(tables.loaders)},
    {0, "op-names", "native|torch",
     "torch: call operators as PyTorch calls the like, aten::mm, where a table says how; default: "
     "as the functions are called",
     INTO_BY(take_torch_names, tables.torch_names)},
    {0, "no-library-ops", NULL,
     "leave the calls of BLAS, LAPACK, FFT and neural network libraries out that hipboard knows",
     INTO(tables.no_libraries)},
    {0, "gzip", NULL, "write .pt.trace.json.gz", INTO(gzip)},
    {0, "pftrace", NULL, "write Perfetto's protobuf, .pftrace, beside each trace", INTO(pftrace)},
    {0, "dialect", DIALECTS, "tensorboard by default", INTO_BY(take_kineto, kineto)},
    {'q', "quiet", NULL, "say nothing when all is well", INTO(quiet)},
    {0},
};

const command cmd_record = {
    .name = "record",
    .summary = "run a program and record it, unchanged",
    .synopsis = "[OPTIONS] [--] PROGRAM [ARGUMENTS...]",
    .about =
        "Runs PROGRAM, unchanged, with hipboard loaded into it. Each of its processes, "
        "children and forks included, that uses HIP, such a library, roctx or hipboard leaves a "
        "trace in "
        "LOGDIR: its HIP calls, kernels, copies and memory, its calls of BLAS, LAPACK, FFT and "
        "neural network libraries as operators with shapes and FLOPs, its roctx ranges as "
        "annotations, and what it marks through hipboard's own interface. Then: tensorboard "
        "--logdir "
        "LOGDIR",
    .options = options,
    .notes =
        "Steps are those of the program's own profiler, if it uses hipboard (it then decides "
        "what is recorded while it runs, and its cycles come into LOGDIR, too), or its roctx "
        "ranges named ProfilerStep#N; else slices of time.\n"
        "\n"
        "The program's output, signals and results are its own, and so is the exit status; "
        "126 and 127 when it can't be run or found. Records of processes that are killed "
        "become traces as well. Statically linked and set-user-id programs can't be recorded.\n"
        "\n"
        "Of a parallel job each rank is recorded by a command of its own: mpirun -n 4 hipboard "
        "record -o LOGDIR PROGRAM, srun likewise. Its traces are named <host>_<rank>, and rank 0 "
        "says what came of it.",
    .least = 1,
    .most = MANY,
    .wanted = "no program is given",
    .program_follows = true,
    .run = run,
};
