/* SPDX-License-Identifier: MIT
 *
 * Other tools' traces. A format is one row of formats.c: a probe, which knows it by its content,
 * and an opener, which fills the rows of each process that it finds.
 */
#ifndef HB_IMPORT_IMPORT_SET_H
#define HB_IMPORT_IMPORT_SET_H

#include <hipboard/import.h>

#include "base/hash_map.h"
#include "base/json_scan.h"
#include "import/import_rows.h"
#include "steps/find_steps.h"
#include "trace/source.h"

/** Parts of a trace that can be left out. */
enum hb_import_part {
    HB_IMPORT_HIP = 1u << 0,
    HB_IMPORT_HSA = 1u << 1,
    HB_IMPORT_RCCL = 1u << 2,
    HB_IMPORT_RANGES = 1u << 3,
    HB_IMPORT_MEMORY = 1u << 4,
    HB_IMPORT_COUNTERS = 1u << 5,
    HB_IMPORT_COPIES = 1u << 6,
};

/** One process of a tool's file. Texts are the arena's of the import. */
typedef struct hb_import_process {
    hb_import_rows rows;
    const char *format; /* "rocpd" */
    const char *version;
    const char *path;
    const char *host, *program; /* the machine's and the program's names; "" when not told */
    const char *id;             /* of the recording: a guid, or "" */
    uint64_t machine;           /* equal for processes whose clocks are one; 0: not known */
    int64_t pid;
    const char *name;              /* what its files are called by; "": as others */
    int64_t rank, world;           /* -1: not told */
    bool machine_is_guessed;       /* files of another boot may be among those of it */
    int64_t clock_end;             /* of the process, by its clock; 0: not told */
    bool clock_is_unix;            /* times are Unix times */
    bool serialised;               /* kernels ran one by one, as counters were read */
    bool merged;                   /* into the first pass of its counters: left out */
    int64_t offset;                /* from its clock to Unix time */
    char steps[HB_STEP_RULE_SIZE]; /* what made them; "" before a source was opened */
    hb_found_steps found;          /* then */
    /* What describe.c makes of these. */
    hb_trace_info info; /* in Unix time */
    hb_thread_info *threads;
    hb_stream_info *streams;
    hb_metadata metadata;
    hb_buf metadata_json, counters_json;
    char distributed[100], trace_id[33], worker[300];
    int64_t file_time; /* in the name of its file: no other one of the worker has it */
    hb_imported shown;
    hb_imported_note shown_notes[HB_IMPORT_NOTE_COUNT];
} hb_import_process;

/* Which file, whatever its path. */
typedef struct hb_import_file_id {
    uint64_t device, inode;
} hb_import_file_id;

struct hb_import {
    hb_arena arena;
    hb_texts texts; /* of all rows */
    hb_import_options options;
    hb_step_wish steps;
    unsigned dropped; /* enum hb_import_part */
    hb_import_process **processes;
    size_t num_processes;
    const char *path; /* of the file being read */
    HB_VEC(hb_import_file_id) taken;
    hb_dict workers;     /* the last process of a worker, by the text of its name */
    hb_buf paths;        /* in a directory */
    hb_dict directories; /* those whose tables were listed, by the text of their path */
    HB_VEC(struct hb_rocprof_members *) tables; /* of each of these */
    char *head;                                 /* of a file of them; NULL: of none yet */
    bool takes_any; /* also PyTorch's traces, and whatever else is Chrome's JSON */
    void (*guard)(void *context);
    void *guarded;
};

/** A new process of the file being read. Leaves by the arena. */
hb_import_process *hb_import_add_process(hb_import *import, const char *format,
                                         const char *version);

/** A copy of a text, of the arena; "" of none. */
const char *hb_import_copy_text(hb_import *import, hb_str text);
/** A string's characters, in the arena where it has escapes, which are resolved; "" of what is
 * none. */
hb_str hb_import_text_of(hb_import *import, const hb_value *value);
/** A copy of these. */
const char *hb_import_copy_value(hb_import *import, const hb_value *value);

/** The caller's progress(); a hb_sqlite_progress. */
bool hb_import_progress(void *import, uint64_t rows);

/** What must be freed when reading a file is left by the arena; and that it is to be freed now. */
void hb_import_guard(hb_import *import, void (*fn)(void *context), void *context);
void hb_import_unguard(hb_import *import);

/** False when the file was read already, alone or among others that belong together. */
bool hb_import_take(hb_import *import, const char *path);

/** Whether a part is to be left out; counts it as such. */
static inline bool hb_import_drops(const hb_import *import, hb_import_process *process,
                                   enum hb_import_part part)
{
    if (HB_LIKELY(!(import->dropped & part))) return false;
    process->rows.notes[HB_IMPORT_DROPPED]++;
    return true;
}

/** Makes allocations of the calls that allocate and free on the GPU, where a tool tells no others
 * and one GPU alone was used. */
void hb_import_memory_of_calls(hb_import *import, hb_import_process *process);

enum { HB_IMPORT_HEAD_SIZE = 65536 };

/** What the beginning of a file tells. */
typedef struct hb_import_probe {
    const char *path;
    const char *head; /* of the inflated bytes; zeros behind it */
    size_t size;
} hb_import_probe;

typedef struct hb_import_format {
    const char *name;
    bool (*probe)(const hb_import_probe *probe);
    /** Adds a file's processes. Leaves by the arena. */
    void (*open)(hb_import *import, const char *path);
    const char *refusal; /* instead of `open`: why not, and what to do */
} hb_import_format;

/** The format of a file that is no trace of PyTorch's kind; NULL: none that is known. */
const hb_import_format *hb_import_format_of(const char *path);

/** What is said of a trace of another tool that no reader knows; NULL: it does not look like one.
 */
const char *hb_import_cure_for(const char *path);

/** Whether the beginning is a SQLite database's that has a table whose name begins so; of "CREATE
 * TABLE name (" just that one. */
bool hb_import_has_table(const hb_import_probe *probe, const char *prefix);

/* The openers. */
bool hb_rocpd_probe(const hb_import_probe *probe);
void hb_rocpd_open(hb_import *import, const char *path);
bool hb_rocprofv3_json_probe(const hb_import_probe *probe);
void hb_rocprofv3_json_open(hb_import *import, const char *path);
bool hb_rocprof_csv_probe(const hb_import_probe *probe);
bool hb_rocprof_stats_probe(const hb_import_probe *probe);
void hb_rocprof_csv_open(hb_import *import, const char *path);
bool hb_rocprof1_db_probe(const hb_import_probe *probe);
void hb_rocprof1_db_open(hb_import *import, const char *path);
bool hb_rocprof1_json_probe(const hb_import_probe *probe);
void hb_rocprof1_json_open(hb_import *import, const char *path);
bool hb_perfetto_probe(const hb_import_probe *probe);
void hb_perfetto_open(hb_import *import, const char *path);
bool hb_xplane_probe(const hb_import_probe *probe);
void hb_xplane_open(hb_import *import, const char *path);
bool hb_onnx_probe(const hb_import_probe *probe);
void hb_onnx_open(hb_import *import, const char *path);
bool hb_chrome_json_probe(const hb_import_probe *probe);
void hb_chrome_json_open(hb_import *import, const char *path);
bool hb_nsys_probe(const hb_import_probe *probe);
void hb_nsys_open(hb_import *import, const char *path);
bool hb_tracy_probe(const hb_import_probe *probe);
bool hb_tracy_sums_probe(const hb_import_probe *probe);
void hb_tracy_open(hb_import *import, const char *path);
bool hb_rpd_probe(const hb_import_probe *probe);
void hb_rpd_open(hb_import *import, const char *path);

/** As hb_import_open() of one file, which may also be a trace of PyTorch's kind. */
hb_result hb_import_open_any(const char *path, const hb_import_options *options,
                             hb_import **import);

/** The rows of a finished process as a source, without steps. */
hb_result hb_import_rows_source(const hb_import_process *process, hb_source **source);

/** The process as a source, with its steps. It lives as long as the import. */
hb_result hb_import_source(hb_import *import, size_t index, hb_source **source);

enum { HB_IMPORT_FILE_PATH = 40 };

/** Writes a process's trace to memory that can be read as a file while *fd is open. */
hb_result hb_import_to_memory_file(hb_import *import, size_t index, int *fd,
                                   char path[HB_IMPORT_FILE_PATH]);

/** Fills `trace`, which the caller frees also after an error, with what a reader of the written
 * file would find. */
hb_result hb_import_to_trace(hb_import *import, size_t index, hb_trace *trace);

#endif
