/* SPDX-License-Identifier: MIT
 *
 * Chunks that are ready to be recorded into: first those of the spool's file, which survive a kill,
 * then plain memory. Recording threads take and give them without a lock and without a system call.
 */
#ifndef HB_RECORD_POOL_H
#define HB_RECORD_POOL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "record/format.h"

enum hb_chunk_state {
    HB_CHUNK_READY = 0,
    HB_CHUNK_FULL = 1,    /* nobody fills it any more; its scopes may still be open */
    HB_CHUNK_BEYOND = 2,  /* belongs to sessions that ended; is read where it lies */
    HB_CHUNK_RESUMED = 3, /* its thread begins to fill it for another session */
    HB_CHUNK_TAKEN = 4, /* and all above: somebody fills it. No two takings have the same, so that a
                           thread knows its chunk again, and who looks at one for an ended session
                           sees that its thread has gone on with it. */
};

typedef struct hb_chunk_pool {
    char *base; /* of chunk 0, which does not exist */
    uint32_t max_chunks, first_in_memory;
    _Atomic uint32_t in_file;       /* chunks of the file, from 1 on */
    _Atomic uint32_t ready_in_file; /* about */
    _Atomic uint32_t fresh;         /* the next chunk in memory that was never used */
    _Atomic uint32_t in_memory;     /* chunks in memory that are not ready */
    _Atomic uint32_t elsewhere;     /* what the log takes of max_chunks */
    /* Stacks of ready ones: index in the low half, above it a count against ABA. */
    _Atomic uint64_t file_stack, memory_stack;
    _Atomic uint32_t *next;
    _Atomic uint32_t *state; /* enum hb_chunk_state */
    _Atomic uint32_t takings;
    _Atomic uint16_t *uses; /* tells a chunk's records from those before */
    void *lists;
    size_t mapped, lists_bytes; /* bytes */
} hb_chunk_pool;

/** Reserves address space for `max_chunks`, of which the first are for the file, and makes those in
 * memory usable. Less when there is less. HB_ERROR_NO_MEMORY. */
hb_result hb_pool_open(hb_chunk_pool *pool, uint32_t max_chunks, uint32_t most_in_file);
void hb_pool_close(hb_chunk_pool *pool);

/** `count` chunks behind the file's last are mapped now and ready. One thread at a time. */
void hb_pool_add_in_file(hb_chunk_pool *pool, uint32_t count);

/** A chunk of any content, TAKEN; 0 when none is ready. Any thread, also in signal handlers. */
uint32_t hb_pool_take(hb_chunk_pool *pool);
/** The same of the file only, where there is one. */
uint32_t hb_pool_take_in_file(hb_chunk_pool *pool);
/** Gives a chunk back. */
void hb_pool_give(hb_chunk_pool *pool, uint32_t index);

/** A state to take a chunk by. */
static inline uint32_t hb_pool_taking(hb_chunk_pool *pool)
{
    return atomic_fetch_add_explicit(&pool->takings, 1, memory_order_relaxed) | 1u << 31;
}

/** One behind the last chunk that was ever used. */
static inline uint32_t hb_pool_end(const hb_chunk_pool *pool)
{
    return atomic_load_explicit(&pool->fresh, memory_order_acquire);
}

static inline hb_chunk *hb_pool_chunk(const hb_chunk_pool *pool, uint32_t index)
{
    return (hb_chunk *)(pool->base + (size_t)index * HB_CHUNK_BYTES);
}

static inline uint32_t hb_pool_index(const hb_chunk_pool *pool, const void *inside)
{
    return (uint32_t)((size_t)((const char *)inside - pool->base) / HB_CHUNK_BYTES);
}

static inline bool hb_pool_is_in_file(const hb_chunk_pool *pool, uint32_t index)
{
    return index < pool->first_in_memory;
}

#endif
