/* SPDX-License-Identifier: MIT
 *
 * hipboard/pack.h - log directories as one file, to be sent to others.
 *
 * A pack, *.hbpack, is a ZIP file: any unzip opens it, and hb_logdir_open(), hb_trace_file_open()
 * and whatever takes a log directory or a trace read it as it is: "runs.hbpack" is the log
 * directory, "runs.hbpack/lr=0.1/host_1.pt.trace.json.gz" a trace in it.
 */
#ifndef HIPBOARD_PACK_H
#define HIPBOARD_PACK_H

#include <hipboard/hipboard.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hb_pack_options {
    size_t struct_size;
    bool replace; /* a file that exists gives way; else HB_ERROR_STATE */
    bool dry_run; /* writes nothing; the report is that of the whole work */
    /** Replaces what a teammate need not know - names of hosts and users, directories of absolute
     * paths, addresses, secrets by form, name and chance, environment variables - everywhere by the
     * same: in traces, digests of ranks, event files, texts and file names. Files of other kinds
     * are left out. */
    bool redact;
    /** Which part of each trace, as in hb_convert_options. By default all; otherwise traces are
     * converted, as hb_convert() does, and other tools' files imported, as hb_import_open() does;
     * what cannot be cut so is left out. */
    int64_t first_step, last_step;
    double start_us, end_us;
    uint64_t max_size;
    /** Called now and then with the bytes done of a file and its size. False stops with
     * HB_ERROR_STATE. May be NULL. */
    bool (*progress)(void *context, const char *path, uint64_t done, uint64_t size);
    void *context;
    uint64_t split_steps; /* several files of each trace, as in hb_convert_options */
    double split_us;
} hb_pack_options;

#define HB_PACK_OPTIONS_INIT \
    HB_SIZED_WITH_(hb_pack_options, .first_step = INT64_MIN, .last_step = INT64_MAX)

typedef struct hb_pack_member {
    const char *path;     /* the file */
    const char *name;     /* in the pack; NULL: it is left out */
    const char *left_out; /* why; of a member: what of the file is; or NULL */
    uint64_t size;        /* bytes of the member */
    uint64_t stored;      /* bytes it takes in the pack */
} hb_pack_member;

typedef struct hb_redaction {
    const char *kind;        /* "host", "user", "dir", "address", "secret", "environment" */
    const char *found;       /* of secrets and of the environment the first four bytes */
    const char *replacement; /* "host-1" */
    uint64_t count;          /* how often; never 0 */
    uint32_t files;          /* in how many */
    const char *first_file;
} hb_redaction;

typedef struct hb_pack_report {
    const hb_pack_member *members; /* sorted by name */
    size_t num_members;
    uint64_t bytes; /* of the pack */
    const hb_redaction *redactions;
    size_t num_redactions;
} hb_pack_report;

/** Packs directories and files into `output`, which appears whole or not at all. One directory:
 * what is in it; several paths: each under its own name. Hidden files are left out. `report` is
 * freed with hb_pack_report_free(); may be NULL. HB_ERROR_NOT_FOUND when there is nothing to pack.
 */
HB_API hb_result hb_pack(const char *const *paths, size_t num_paths, const char *output,
                         const hb_pack_options *options, hb_pack_report **report);

/** Writes what is in a pack below `directory`, which is made if need be; never elsewhere, whatever
 * the pack says. Of `options`: replace, dry_run, progress. A member whose CRC is wrong is an error,
 * and not written. */
HB_API hb_result hb_unpack(const char *pack, const char *directory, const hb_pack_options *options,
                           hb_pack_report **report);

HB_API void hb_pack_report_free(hb_pack_report *report);

#ifdef __cplusplus
}
#endif
#endif /* HIPBOARD_PACK_H */
