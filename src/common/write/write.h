/* SPDX-License-Identifier: MIT
 *
 * What the writing room offers: a source becomes a trace, as bytes or as a file.
 */
#ifndef HB_WRITE_WRITE_H
#define HB_WRITE_WRITE_H

#include "base/files.h"
#include "io/publish.h"
#include "trace/source.h"
#include "trace/trace.h"

/** The two ways to write the same events; plugin_format/README.md lists every difference. */
typedef enum hb_write_dialect {
    HB_WRITE_TENSORBOARD, /* PyTorch 2.13's layout with what torch-tb-profiler 0.4.3 needs */
    HB_WRITE_KINETO,      /* PyTorch 2.13's layout to the letter */
} hb_write_dialect;

/** All zero is the default. */
typedef struct hb_write_options {
    hb_write_dialect dialect;
    bool gzip;
    bool gzip_by_zlib;      /* by it alone: gzip.h */
    bool replace;           /* an existing file of that name gives way; else HB_ERROR_STATE */
    bool perfetto;          /* Perfetto's protobuf in place of JSON; no dialect or name counts */
    bool sync;              /* on the disk before this returns; see hb_publish_commit() */
    const hb_kept_file *in; /* the open directory that a new file goes to, whatever its path says;
                               NULL, or not open: by the path */
    const char *trace_name; /* the trace's "traceName"; NULL: the path */
    const hb_publish_herald *herald; /* of hb_write_trace_file(); or NULL */
    /** When all is written, before the file has its name: what is not HB_OK keeps it from that. Or
     * NULL. */
    hb_result (*may_be_named)(const void *context);
    const void *context;
} hb_write_options;

typedef struct hb_write_stats {
    uint64_t events;     /* objects in traceEvents, flows and metadata events included */
    uint64_t bytes;      /* of the file */
    uint64_t json_bytes; /* of the text before compression */
    /* What the tensorboard dialect draws but keeps out of the plugin's tree of calls: */
    uint64_t flattened;     /* scopes and module frames too deep for it */
    uint64_t unnested;      /* those that end after the scope they began in, or on another thread */
    uint64_t hidden_steps;  /* steps without device work, over before that of the one before */
    uint64_t hidden_slices; /* the same, of steps that are slices of time */
} hb_write_stats;

/** Writes `source` as uncompressed JSON; `options->gzip` and `replace` are not read. `stats` may be
 * NULL. The source stays open. Memory does not grow with the number of events, but for 32 bytes an
 * operator with a sequence number (hb_trace_info.has_sequences), and for steps and scopes outside
 * the plugin's tree, at most 5 MiB, and for operators with FLOPs, at most 40 MiB. */
hb_result hb_write_trace(hb_source *source, hb_sink *sink, const hb_write_options *options,
                         hb_write_stats *stats);

/** Fills `trace`, which the caller frees also after an error, with what a reader of the file in
 * that dialect finds: its events in the file's order and its members. Left out are the names of
 * rows and the markers of the window, which no analysis looks at. */
hb_result hb_write_to_trace(hb_source *source, hb_write_dialect dialect, hb_trace *trace);

/** Writes `source` as Perfetto's protobuf beside the trace `path`, whose options count: what stands
 * there gives way. */
hb_result hb_write_pftrace_beside(hb_source *source, const char *path,
                                  const hb_write_options *options);

/** The name of that file: "w.17.pftrace.gz" of "w.17.pt.trace.json.gz"; free() it. NULL without
 * memory. */
char *hb_pftrace_path(const char *path);

/** Says on stderr what the plugin will not count of the trace in `path`, if anything; but of time
 * slices nothing. */
void hb_write_warn(const char *path, const hb_write_stats *stats);

/** Writes a text to `path` as below, gzipped when the name ends in ".gz". */
hb_result hb_write_text_file(const char *path, const char *text, size_t size);

/** Writes `source` to `path` under a temporary name that the plugin does not match, and renames it
 * into place when it is whole; after an error nothing is left. Missing directories are made.
 * HB_ERROR_STATE when `path` exists and may not be replaced, HB_ERROR_IO with path, reason and mend
 * otherwise. */
hb_result hb_write_trace_file(hb_source *source, const char *path, const hb_write_options *options,
                              hb_write_stats *stats);

#endif
