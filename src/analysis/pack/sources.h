/* SPDX-License-Identifier: MIT
 *
 * The files that go into a pack, and what each becomes there.
 */
#ifndef HB_PACK_SOURCES_H
#define HB_PACK_SOURCES_H

#include <hipboard/pack.h>

#include "base/base.h"

typedef enum hb_source_kind {
    HB_SOURCE_OTHER,
    HB_SOURCE_JSON,   /* gzipped or not */
    HB_SOURCE_EVENTS, /* TensorBoard's */
    HB_SOURCE_RANKS,  /* digests */
    HB_SOURCE_LINES,  /* texts, tables, stacks */
} hb_source_kind;

typedef struct hb_source_file {
    char *path;     /* where it is read */
    char *from;     /* what it is made of, where it is not itself the file; or NULL */
    char *name;     /* in the pack, before it is redacted */
    char *left_out; /* why; NULL: it is not */
    hb_source_kind kind;
    bool named; /* by the caller, not found in a directory */
    uint64_t size;
    int64_t mtime;
} hb_source_file;

typedef struct hb_sources {
    hb_source_file *items; /* sorted by name */
    uint32_t count, capacity;
    bool several;    /* paths were given */
    char *temporary; /* a directory of what was made for the pack; NULL: none */
} hb_sources;

struct stat;

/** Finds the files of the paths and, where `options` select a part of them, cuts the traces.
 * HB_ERROR_NOT_FOUND: there is none. `output` is not among them. */
hb_result hb_sources_find(hb_sources *sources, const char *const *paths, size_t num_paths,
                          const char *output, const hb_pack_options *options);
/** Removes what was made for the pack, too. */
void hb_sources_free(hb_sources *sources);

hb_result hb_sources_add(hb_sources *sources, const char *path, const char *name,
                         const struct stat *st);
void hb_source_file_free(hb_source_file *file);

/** Puts in each trace's place what `options` select of it; nothing where they select all. Other
 * tools' files become traces. What cannot be cut is left out, with the reason. */
hb_result hb_sources_cut(hb_sources *sources, const hb_pack_options *options);

#endif
