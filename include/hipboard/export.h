/* SPDX-License-Identifier: MIT
 *
 * hipboard/export.h - traces of any writer in formats of other tools.
 */
#ifndef HIPBOARD_EXPORT_H
#define HIPBOARD_EXPORT_H

#include <hipboard/hipboard.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hb_export_format {
    HB_EXPORT_PFTRACE, /* Perfetto's protobuf */
    HB_EXPORT_ROCPD,   /* SQLite, as rocprofv3 of ROCm 7 writes it: schema 3.0.0 */
    HB_EXPORT_CSV,     /* rocprofv3's tables, in a directory */
} hb_export_format;

typedef struct hb_export_options {
    size_t struct_size;
    hb_export_format format;
    bool replace; /* files that exist give way; else HB_ERROR_STATE */
    /** Only what began in these steps (ProfilerStep#N), both included, and its device work. All:
     * INT64_MIN and INT64_MAX. */
    int64_t first_step, last_step;
    /** Only what began in this time since the first event, and its device work. 0: no limit. */
    double start_us, end_us;
    /** Called now and then with what was read so far. False stops with HB_ERROR_STATE. May be NULL.
     */
    bool (*progress)(void *context, const char *path, uint64_t done, uint64_t size);
    void *context;
    /** Several files, each of no more bytes, of so many steps, or of so much time; for several of
     * these three each is heeded. 0: not so. */
    uint64_t max_size, split_steps;
    double split_us;
} hb_export_options;

#define HB_EXPORT_OPTIONS_INIT \
    HB_SIZED_WITH_(hb_export_options, .first_step = INT64_MIN, .last_step = INT64_MAX)

/** Something that the format has no place for. */
typedef struct hb_export_note {
    const char *text; /* for people: "operators whose inputs ..." */
    uint64_t count;   /* how often; never 0 */
} hb_export_note;

typedef struct hb_exported {
    uint64_t processes, events; /* written */
    const hb_export_note *notes;
    size_t num_notes;
    const char *const *paths; /* of the files written; of tables the directories */
    size_t num_paths;
} hb_exported;

/** Writes the trace in `input`, a file that any command of hipboard reads, to `output`: a file, or
 * of tables a directory. All processes of `input` are in it. Where it is to be split, the files are
 * called "name.0001.ending" and so on; device work is with the call that launched it, and a file
 * that would be too large is cut where a step begins, else where the host has nothing open, else
 * anywhere. Missing directories are made; a file appears whole or not at all. hb_import_open()
 * reads what was written to the same events. `exported`, which may be NULL, is freed with
 * hb_exported_free(). HB_ERROR_FORMAT when `input` is no trace, HB_ERROR_NOT_FOUND when it has none
 * of the steps asked for or to be split by, HB_ERROR_UNSUPPORTED of a format that this library was
 * built without. */
HB_API hb_result hb_export(const char *input, const char *output, const hb_export_options *options,
                           hb_exported **exported);
HB_API void hb_exported_free(hb_exported *exported);

#ifdef __cplusplus
}
#endif
#endif /* HIPBOARD_EXPORT_H */
