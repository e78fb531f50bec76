/* SPDX-License-Identifier: MIT
 *
 * hipboard/convert.h - traces of any writer, for TensorBoard's PyTorch Profiler plugin.
 *
 * The plugin's last release, torch-tb-profiler 0.4.3, gives every operator of a trace of PyTorch
 * since 2022 zero device time, and loses some files altogether. hb_convert() copies a trace event
 * by event, with its texts and numbers as they stand, and changes what the plugin needs.
 */
#ifndef HIPBOARD_CONVERT_H
#define HIPBOARD_CONVERT_H

#include <hipboard/hipboard.h>

#ifdef __cplusplus
extern "C" {
#endif

/** To a Unix time t is added offset_ns + drift_ps_per_s 10^-12 (t - at_ns). */
typedef struct hb_time_shift {
    int64_t at_ns, offset_ns, drift_ps_per_s;
    int64_t bound_ns;       /* how far times may then be wrong */
    int64_t reference_rank; /* by whose clock they are then */
} hb_time_shift;

typedef struct hb_convert_options {
    size_t struct_size;
    bool kineto;  /* write PyTorch's own categories: for Perfetto and HolisticTraceAnalysis */
    bool gzip;    /* names end in .gz */
    bool replace; /* files that exist give way; else HB_ERROR_STATE */
    /** Only what began in these steps (ProfilerStep#N), both included, and its device work. All:
     * INT64_MIN and INT64_MAX. */
    int64_t first_step, last_step;
    /** Most bytes of a file before compression; more makes several files, cut where a step begins
     * or, in traces without steps, where no operator runs. 0: no limit. */
    uint64_t max_size;
    /** Called now and then with the bytes read so far and the file's size (0: not known). A file is
     * read twice, and again for each further part. False stops with HB_ERROR_STATE. May be NULL. */
    bool (*progress)(void *context, const char *path, uint64_t done, uint64_t size);
    void *context;
    /** Only what began in this time since the first event, and its device work. 0: no limit. */
    double start_us, end_us;
    /** Of a trace without steps (ProfilerStep#N): find them, as hb_import does it. */
    bool find_steps;
    /** Several files in any case: of so many steps each, or of so much time. 0: not so. */
    uint64_t split_steps;
    double split_us;
    /** Take back what was added to the trace's times by earlier corrections ("hipboard_clock" in
     * its metadata); before `shift`. HB_ERROR_FORMAT when the metadata make no sense. */
    bool undo_shift;
    const hb_time_shift *shift; /* add it to all times; the metadata say so. NULL: nothing */
    /** Another tool's file or directory (hipboard/import.h) with hardware counters of the same
     * program's kernels, of another run: they are joined to the trace's by name and order, as
     * members of their args and, by kernel, as "hipboard_counters". Names that do not come as often
     * in both stay without. NULL: none. HB_ERROR_NOT_FOUND when there are no counters in it. */
    const char *counters;
} hb_convert_options;

#define HB_CONVERT_OPTIONS_INIT \
    HB_SIZED_WITH_(hb_convert_options, .first_step = INT64_MIN, .last_step = INT64_MAX)

/** Something that was changed or, where `unknown`, that the trace does not tell. */
typedef struct hb_convert_note {
    const char *key;  /* "runtime_category" */
    const char *text; /* for people */
    uint64_t count;   /* how often; never 0 */
    bool unknown;
} hb_convert_note;

typedef struct hb_conversion {
    const char *const *paths; /* of the files written */
    size_t num_paths;
    const hb_convert_note *notes;
    size_t num_notes;
    uint64_t events; /* written */
    bool identical;  /* nothing was to be done: the text is the input's, byte for byte */
} hb_conversion;

/** Converts the trace `input` to `directory/name.pt.trace.json[.gz]`, or, when `max_size` or
 * `split_` asks for several files, to `directory/name.0001.pt.trace.json[.gz]` and so on. Missing
 * directories are made; a file appears whole or not at all. `input` is a file, since it is read
 * more than once. `conversion` is freed with hb_conversion_free(). HB_ERROR_FORMAT when `input` is
 * no trace, HB_ERROR_NOT_FOUND when it has none of the steps asked for, or none to be split by; the
 * time asked for may be empty. */
HB_API hb_result hb_convert(const char *input, const char *directory, const char *name,
                            const hb_convert_options *options, hb_conversion **conversion);
HB_API void hb_conversion_free(hb_conversion *conversion);

#ifdef __cplusplus
}
#endif
#endif /* HIPBOARD_CONVERT_H */
