/* SPDX-License-Identifier: MIT
 *
 * The memory that records live in: chunks of one long mapping, of a hidden file where that is safe,
 * so that a killed process's records can be recovered, else anonymous. The file's blocks are
 * reserved before they are mapped: a full disk is an error here, never a SIGBUS in the program.
 */
#ifndef HB_RECORD_SPOOL_H
#define HB_RECORD_SPOOL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/files.h"
#include "record/format.h"

typedef struct hb_spool {
    char *base;
    uint32_t max_chunks;
    _Atomic uint32_t committed; /* chunks that may be touched */
    _Atomic uint32_t fresh;     /* next never-used chunk */
    uint32_t free_chunks;       /* list of returned ones, under `free_lock` */
    pthread_mutex_t free_lock;
    hb_kept_file file;         /* none: anonymous */
    bool file_full;            /* the file can't grow; further chunks are anonymous */
    char *path;                /* of the file, or NULL */
    const char *why_anonymous; /* or NULL */
    pthread_mutex_t lock;      /* growing, and the list of sessions */
    uint32_t strings_chunk;    /* the run that takes in new strings */
    uint64_t strings_room;
} hb_spool;

typedef struct hb_spool_options {
    const char *dir; /* NULL or "": anonymous */
    const char *worker_name;
    uint64_t max_bytes;
} hb_spool_options;

/** Falls back to anonymous memory when the directory is on a network file system or the file can't
 * be made; `why_anonymous` says so. Fails only without memory. */
hb_result hb_spool_open(hb_spool *spool, const hb_spool_options *options);

/** Unmaps; removes the file unless `keep`. */
void hb_spool_close(hb_spool *spool, bool keep);

/** In a forked child: lets go of the mapping and the file, which stay the parent's. */
void hb_spool_abandon(hb_spool *spool);

/** A chunk, of any content; 0 when the spool is full. Any thread. */
uint32_t hb_spool_take(hb_spool *spool);
/** Gives a chunk back. Any thread. */
void hb_spool_give(hb_spool *spool, uint32_t index);

static inline hb_chunk *hb_spool_chunk(const hb_spool *spool, uint32_t index)
{
    return (hb_chunk *)(spool->base + (size_t)index * HB_CHUNK_BYTES);
}

static inline hb_spool_header *hb_spool_head(const hb_spool *spool)
{
    return (hb_spool_header *)spool->base;
}

#endif
