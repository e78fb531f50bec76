/* SPDX-License-Identifier: MIT
 *
 * What a recording thread writes into: it joins the running session at its first record there, and
 * takes a chunk when it has none, or none with room.
 */
#include <sys/prctl.h>

#include "record/record.h"

static _Atomic uint64_t next_external_id = 1;

#define IDS_PER_CHUNK (HB_CHUNK_BYTES / sizeof(hb_record))

/* The session may end meanwhile and another begin, whose end does not wait for this call: the
 * second look at the epoch tells. Acquire: with the releases in hb_session_begin(). */
HB_COLD bool hb_record_attach(hb_thread *t, uint32_t epoch)
{
    hb_chunk *former = t->chunk;
    hb_thread_set_epoch(t, 0);
    t->pos = t->end = NULL;
    t->chunk = t->former = NULL;
    t->depth = t->sequence = 0;
    __atomic_store_n(&t->spool, __atomic_load_n(&hb_recording_now.spool, __ATOMIC_ACQUIRE),
                     __ATOMIC_RELAXED); /* for hb_threads_hold() */
    t->session = __atomic_load_n(&hb_recording_now.session, __ATOMIC_ACQUIRE);
    t->flags = __atomic_load_n(&hb_recording_now.flags, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(hb_live_epoch, __ATOMIC_RELAXED) != epoch) return false;
    if (t->spool->serial == t->spool_serial) t->former = former;
    t->spool_serial = t->spool->serial;
    hb_thread_set_epoch(t, epoch);
    return true;
}

HB_COLD bool hb_record_join(hb_thread *t)
{
    uint32_t epoch;
    do {
        epoch = __atomic_load_n(hb_live_epoch, __ATOMIC_ACQUIRE);
    } while (epoch && t->epoch != epoch && !hb_record_attach(t, epoch));
    return epoch != 0;
}

/* Whether the thread's chunk is one of the present session, which may be written to. */
static bool has_chunk(const hb_thread *t)
{
    return t->chunk && t->epoch && t->epoch == __atomic_load_n(hb_live_epoch, __ATOMIC_ACQUIRE);
}

static void name_chunk(const hb_thread *t)
{
    uint64_t words[sizeof t->name / 8];
    memcpy(words, t->name[0] ? t->name : t->system_name, sizeof words);
    hb_store_words(t->chunk->events.thread_name, words, sizeof words); /* see add_chunk() */
}

void hb_record_rename_thread(hb_thread *t)
{
    if (has_chunk(t)) name_chunk(t);
}

/* The writer may have the thread's present chunk. Inside enter/leave. If it is interrupted for
 * good, the session's end finds the chunk; it must not be given to the writer twice. */
static void finish_chunk(hb_thread *t)
{
    hb_chunk_pool *pool = &t->spool->pool;
    uint32_t index = hb_pool_index(pool, t->chunk);
    uint32_t taken = t->taken;
    t->chunk = NULL;
    t->pos = t->end = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    /* Release: with the writer, who sees all records. Not of a call that stood still until its
     * session's end took the chunk. */
    atomic_compare_exchange_strong_explicit(&pool->state[index], &taken, HB_CHUNK_FULL,
                                            memory_order_release, memory_order_relaxed);
}

void hb_record_finish_chunk(hb_thread *t)
{
    if (has_chunk(t)) finish_chunk(t);
}

/* So much of a chunk is filled where chunks of the file are used up for the moment: what is in
 * memory is lost by a kill, and the file's are soon ready again. */
#define FILLED_IN_MEMORY 4096u
#define SHORT_IN_MEMORY  64u /* chunks; with more of them the writer does not keep up */

static char *end_of_chunk(const hb_chunk_pool *pool, uint32_t index, const char *from,
                          uint32_t bytes)
{
    char *chunk = (char *)hb_pool_chunk(pool, index);
    bool is_short = !hb_pool_is_in_file(pool, index) &&
                    atomic_load_explicit(&pool->in_file, memory_order_relaxed) &&
                    atomic_load_explicit(&pool->in_memory, memory_order_relaxed) < SHORT_IN_MEMORY;
    size_t least = (size_t)(from - chunk) + sizeof(hb_chunk) + bytes;
    return chunk + (is_short ? HB_MAX(least, FILLED_IN_MEMORY) : HB_CHUNK_BYTES);
}

/* What is left of the chunk that the thread filled for the session before, so that short sessions
 * do not use up chunks; NULL when that is too little, or the session's end has taken the chunk. */
static hb_chunk *resume(hb_thread *t, uint32_t bytes)
{
    hb_chunk_pool *pool = &t->spool->pool;
    hb_chunk *former = t->former;
    t->former = NULL;
    if (!former) return NULL;
    uint32_t index = hb_pool_index(pool, former), taken = t->taken;
    if (!hb_pool_is_in_file(pool, index) && atomic_load(&pool->ready_in_file)) return NULL;
    /* From here on until it is TAKEN or FULL nobody else changes its state. Should this call never
     * end, the chunk is not used again; what is in it can be read. */
    if (!atomic_compare_exchange_strong(&pool->state[index], &taken, HB_CHUNK_RESUMED)) return NULL;
    char *behind = (char *)former + former->used;
    size_t room = HB_CHUNK_BYTES - (size_t)(behind - (char *)hb_pool_chunk(pool, index));
    if (room >= sizeof *former + HB_MAX(bytes, FILLED_IN_MEMORY)) return (hb_chunk *)behind;
    atomic_store_explicit(&pool->state[index], HB_CHUNK_FULL, memory_order_release);
    return NULL;
}

/* All of a new chunk; NULL when there is none. */
static hb_chunk *take_chunk(hb_thread *t)
{
    hb_chunk_pool *pool = &t->spool->pool;
    uint32_t index = hb_pool_take(pool);
    if (index == 0) return NULL;
    if (t->chunk) finish_chunk(t);
    t->taken = atomic_load_explicit(&pool->state[index], memory_order_relaxed);
    return hb_pool_chunk(pool, index);
}

/* Others may look at it now: at the chunk's first part by its kind, at a later one by the `next` of
 * the one before. Release: they see all of it. */
static void show_chunk(hb_thread *t, uint32_t index, hb_chunk *former)
{
    hb_chunk_pool *pool = &t->spool->pool;
    __atomic_store_n(&t->chunk->kind, HB_CHUNK_EVENTS, __ATOMIC_RELEASE);
    if (!former) return;
    uint32_t at = (uint32_t)((char *)t->chunk - (char *)hb_pool_chunk(pool, index));
    __atomic_store_n(&former->next, at, __ATOMIC_RELEASE);
    t->taken = hb_pool_taking(pool);
    atomic_store_explicit(&pool->state[index], t->taken, memory_order_release);
}

/* No system call but in a thread's first chunk of a session, no lock. */
HB_COLD bool hb_record_next_chunk(hb_thread *t, uint32_t bytes)
{
    hb_chunk_pool *pool = &t->spool->pool;
    /* A call that stood still until its session had ended has none; what it would have recorded is
     * lost to the next one, and to nobody when there is none. */
    uint32_t live = __atomic_load_n(hb_live_epoch, __ATOMIC_ACQUIRE);
    bool lasts = live == t->epoch;
    hb_chunk *former = t->former, *chunk = lasts ? resume(t, bytes) : NULL;
    if (!chunk) former = NULL;
    if (!chunk && lasts) chunk = take_chunk(t);
    if (!chunk) {
        if (live) hb_lost_add(lasts ? HB_LOST_BUFFER_FULL : HB_LOST_INTERRUPTED);
        return false;
    }
    if (t->sequence == 0) prctl(PR_GET_NAME, t->system_name);
    uint32_t index = hb_pool_index(pool, chunk);
    chunk->used = sizeof *chunk;
    chunk->next = 0;
    chunk->events =
        (hb_events_info){.session = t->epoch,
                         .thread = t->number,
                         .sequence = t->sequence++,
                         .tid = t->tid,
                         .first_id = atomic_fetch_add(&next_external_id, IDS_PER_CHUNK)};
    t->chunk = chunk;
    memset(t->known, 0, sizeof t->known);
    t->pos = (char *)(chunk + 1);
    t->end = end_of_chunk(pool, index, (char *)chunk, bytes);
    t->next_id = chunk->events.first_id;
    t->use = (uint32_t)atomic_load_explicit(&pool->uses[index], memory_order_relaxed) *
             (HB_SCOPE_DEPTH + 1);
    name_chunk(t);
    if (!hb_pool_is_in_file(pool, index))
        __atomic_fetch_add(&t->session->in_memory, 1, __ATOMIC_RELAXED);
    show_chunk(t, index, former);
    return true;
}

/* The next thread goes on in the chunk of one that has ended, so that threads which record little
 * do not use up chunks. One in memory had better be written. */
static bool may_be_resumed(const hb_thread *t)
{
    const hb_chunk_pool *pool = &t->spool->pool;
    return hb_pool_is_in_file(pool, hb_pool_index(pool, t->chunk)) &&
           (size_t)(t->end - t->pos) >= HB_CHUNK_BYTES / 4;
}

void hb_record_leave_chunk(hb_thread *t)
{
    if (has_chunk(t) && !may_be_resumed(t)) finish_chunk(t);
}
