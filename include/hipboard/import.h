/* SPDX-License-Identifier: MIT
 *
 * hipboard/import.h - other tools' traces, for these views.
 *
 * What is read directly, too: hb_trace_file_open(), hb_check() and hb_compare() take the same
 * files.
 */
#ifndef HIPBOARD_IMPORT_H
#define HIPBOARD_IMPORT_H

#include <hipboard/hipboard.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a GPU's rows are. */
typedef enum hb_import_by {
    HB_IMPORT_BY_COUNT, /* streams; queues where a GPU has more than 32 streams */
    HB_IMPORT_BY_STREAM,
    HB_IMPORT_BY_QUEUE,
} hb_import_by;

typedef struct hb_import_options {
    size_t struct_size;
    /** Steps, where the file has none called ProfilerStep#N: each range of a name; or from each
     * call of a name to the next; or where the busiest stream had nothing to do for as many ns.
     * NULL and 0: ranges whose names count ("step 3"), a range that comes three times or more and
     * has most of the device's time, or one step for all. */
    const char *step, *step_launch;
    int64_t step_gap_ns;
    hb_import_by rows;
    /** Kinds of events to leave out, by commas: "hip", "hsa", "rccl", "ranges", "copies", "memory",
     * "counters". NULL: none. */
    const char *drop;
    /** Unix time, in ns, at which the recorded program ended, for files that do not tell the time
     * of day, from 1970 to 2043; 0: when the file was last written to. */
    int64_t end_time_ns;
    bool gzip;    /* names of written files end in .gz */
    bool replace; /* files that exist give way; else HB_ERROR_STATE */
    /** Called now and then with the rows read so far, of how many is not known (0). False stops
     * with HB_ERROR_STATE. May be NULL. */
    bool (*progress)(void *context, const char *path, uint64_t done, uint64_t size);
    void *context;
    bool modules; /* ranges are modules, too, by what lies in what */
    /** A kernel whose call is not told becomes an operator, named by its class and marked
     * "hipboard": "inferred", on a row of its stream. */
    bool kernel_operators;
} hb_import_options;

#define HB_IMPORT_OPTIONS_INIT HB_SIZED_(hb_import_options)

/** Something that the file does not tell (`unknown`), or that was left out or changed. */
typedef struct hb_imported_note {
    const char *key;  /* "no_call" */
    const char *text; /* for people */
    uint64_t count;   /* how often; never 0 */
    bool unknown;
} hb_imported_note;

/** One process of what was read. Made by the library only and grows at its end; texts belong to the
 * import. */
typedef struct hb_imported {
    const char *path, *format, *version; /* "rocpd", "3"; "" where none is told */
    const char *host, *program;
    const char *worker; /* "<host>_<pid>", as the plugin will call it */
    int64_t pid, rank;  /* rank -1: not told */
    const char *clock;  /* for people: how its times became times of day */
    const char *steps;  /* for people: what made its steps */
    uint64_t kernels, copies, calls, ranges, allocations, samples, counters;
    uint64_t linked; /* of kernels, copies and fills, those with their call */
    uint64_t threads, streams, gpus;
    int64_t kernel_ns, start_ns, end_ns; /* sum of the kernels' times; Unix time */
    const hb_imported_note *notes;
    size_t num_notes;
} hb_imported;

typedef struct hb_import hb_import;

/** Reads files of other tools, found by their content; a directory stands for those in it and
 * below. Each process in them becomes a trace. HB_ERROR_FORMAT when a file is of no known format,
 * or of one that is not read: then the text says what to do. */
HB_API hb_result hb_import_open(const char *const *paths, size_t num_paths,
                                const hb_import_options *options, hb_import **import);
HB_API void hb_import_close(hb_import *import);

HB_API size_t hb_import_count(const hb_import *import);
/** NULL beyond the last. */
HB_API const hb_imported *hb_import_get(const hb_import *import, size_t index);

/** Writes a process's trace to `directory/<host>_<pid>.<time>.pt.trace.json[.gz]`, where time is
 * when the last of it ended, in ns of Unix time. The same files and options give the same bytes.
 * Missing directories are made; the file appears whole or not at all. *path, which may be NULL, is
 * freed with hb_free(). */
HB_API hb_result hb_import_write(hb_import *import, size_t index, const char *directory,
                                 char **path);

/** Whether a file is of a format that hb_import_open() knows by its content, also of those that it
 * refuses. */
HB_API bool hb_import_knows(const char *path);

#ifdef __cplusplus
}
#endif
#endif /* HIPBOARD_IMPORT_H */
