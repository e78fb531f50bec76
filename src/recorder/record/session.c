/* SPDX-License-Identifier: MIT */
#include "record/session.h"

#include <errno.h>
#include <fcntl.h>
#include <hipboard/comm.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/process.h"
#include "record/codec.h"
#include "record/live_memory.h"
#include "record/module_table.h"
#include "record/stack.h"
#include "record/strings.h"

static uint32_t last_number;

/* One thread at a time waits for the others. */
static hb_lock settling = HB_LOCK_INIT(SETTLE);

/* What recording calls look at, and what the program's inlined tests do. */
static void publish_epoch(uint32_t epoch)
{
    __atomic_store_n(hb_live_epoch, epoch, __ATOMIC_SEQ_CST);
    __atomic_store_n(&hb_enabled_epoch, epoch, __ATOMIC_SEQ_CST);
    bool comm = __atomic_load_n(&hb_recording_now.flags, __ATOMIC_RELAXED) & HB_SESSION_COMM;
    __atomic_store_n(&hb_communication_epoch, comm ? epoch : 0, __ATOMIC_SEQ_CST);
    if (epoch)
        __atomic_fetch_or(&hb_memory_enabled, HB_MEMORY_RECORDED, __ATOMIC_SEQ_CST);
    else
        __atomic_fetch_and(&hb_memory_enabled, ~HB_MEMORY_RECORDED, __ATOMIC_SEQ_CST);
}

/* ---- this process ---- */

/* The child records nothing: the session and its memory are its parent's. fork() waits for none of
 * this room's locks: their data are whole at any moment, or are not used in the child, which makes
 * the locks anew. */
static void after_fork_in_child(void)
{
    publish_epoch(0);
    hb_live_memory_after_fork();
    hb_modules_after_fork();
    hb_strings_after_fork();
    hb_spools_after_fork();
    hb_lock_init(&settling, HB_LOCK_SETTLE);
    hb_threads_after_fork();
}

static hb_result init_result;
static char init_error[256];

static void init_once(void)
{
    hb_clock_init();
    hb_result threads = hb_threads_init(), strings = hb_strings_init();
    init_result = strings != HB_OK ? strings : threads;
    if (init_result != HB_OK) snprintf(init_error, sizeof init_error, "%s", hb_last_error());
    hb_process_at_fork(HB_FORK_RECORD, (hb_fork_room){.in_child = after_fork_in_child});
}

hb_result hb_record_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_once);
    return init_result == HB_OK ? HB_OK : hb_fail(init_result, "%s", init_error);
}

/* ---- begin, end ---- */

static void make_trace_id(char id[40])
{
    snprintf(id, 40, "%016llX%016llX", (unsigned long long)hb_random_bits(),
             (unsigned long long)hb_random_bits());
}

static hb_result no_room(void)
{
    return hb_fail(HB_ERROR_LIMIT, "no room for another cycle: the records of earlier ones fill "
                                   "max_record_bytes");
}

/* The entry and the list of its records. */
static hb_session *new_session(hb_spool *spool, uint32_t flags)
{
    hb_lock_take(&spool->lock);
    hb_session *session = hb_spool_new_session(spool);
    if (++last_number == 0) last_number = 1;
    hb_records *records = session ? hb_records_new(last_number) : NULL;
    if (records) {
        hb_records **list = hb_spool_list(spool, last_number);
        records->next = *list;
        *list = records;
        spool->recording++;
        session->number = last_number;
        if (flags & HB_SESSION_RING) records->ring = session;
    }
    hb_lock_give(&spool->lock);
    return records ? session : NULL;
}

hb_result hb_session_begin(hb_spool *spool, uint32_t flags, int64_t cycle, hb_session **out)
{
    if (flags & HB_SESSION_STACK) hb_stack_prepare();
    hb_session *session = new_session(spool, flags);
    if (!session) return no_room();
    session->flags = flags;
    session->cycle = cycle;
    session->later[1] = hb_clock_first();
    session->start = hb_clock_sample();
    session->later[0] = session->start;
    make_trace_id(session->trace_id);
    hb_session_set_state(session, HB_SESSION_RECORDING);
    hb_spool_writer_wake(spool);
    /* Who joins the session before must not be told of this one. */
    if (__atomic_load_n(hb_live_epoch, __ATOMIC_RELAXED)) publish_epoch(0);
    /* Release: with attach(), which may still be reading for the session before. */
    __atomic_store_n(&hb_recording_now.spool, spool, __ATOMIC_RELEASE);
    __atomic_store_n(&hb_recording_now.session, session, __ATOMIC_RELEASE);
    __atomic_store_n(&hb_recording_now.flags, flags, __ATOMIC_RELEASE);
    publish_epoch(session->number);
    *out = session;
    return HB_OK;
}

void hb_session_tick(hb_session *session)
{
    uint32_t spare = ~session->newest & 1;
    hb_clock_pair now = hb_clock_sample();
    hb_store_words(&session->later[spare], &now, sizeof now); /* a snapshot may be taken */
    __atomic_store_n(&session->newest, spare, __ATOMIC_RELEASE);
}

/* Under the lock: what is in a chunk now, as a part of the session's. */
static bool add_chunk(hb_spool *spool, hb_records *records, const hb_chunk *chunk)
{
    uint32_t used = HB_MIN(__atomic_load_n(&chunk->used, __ATOMIC_ACQUIRE), HB_CHUNK_BYTES);
    bool had;
    hb_events_info info; /* its thread may just be renaming itself */
    hb_load_words(&info, &chunk->events, sizeof info);
    hb_part part = {.sequence = info.sequence,
                    .raw_bytes = used - HB_MIN(used, (uint32_t)sizeof *chunk),
                    .first_id = info.first_id,
                    .place = HB_PART_CHUNK,
                    .chunk = hb_pool_index(&spool->pool, chunk)};
    return hb_records_add(records, &info, &part, &had) || had;
}

/* The chunks that were ever used, one after the other. */
static uint32_t next_used(hb_spool *spool, uint32_t index)
{
    uint32_t next = index + 1;
    if (next > atomic_load(&spool->pool.in_file)) next = HB_MAX(next, spool->pool.first_in_memory);
    return next < hb_pool_end(&spool->pool) ? next : 0;
}

/* Under the lock: a chunk's records of a session; NULL when it has none. */
static const hb_chunk *of_session(hb_spool *spool, const hb_chunk *chunk, uint32_t session)
{
    while (chunk && chunk->events.session != session)
        chunk = hb_spool_next_events(spool, chunk);
    return chunk;
}

/* False when its records are lost. */
typedef bool (*chunk_visitor)(hb_spool *spool, uint32_t index, const hb_chunk *chunk,
                              hb_records *records);

/* Under the lock: what chunks hold of a session. The number of those whose records are lost. */
static uint64_t each_chunk(hb_spool *spool, uint32_t session, hb_records *records,
                           chunk_visitor visit)
{
    uint64_t lost = 0;
    for (uint32_t i = 0; (i = next_used(spool, i));) {
        const hb_chunk *c = of_session(spool, hb_spool_events(spool, i), session);
        for (; c; c = of_session(spool, hb_spool_next_events(spool, c), session))
            lost += !visit(spool, i, c, records);
    }
    return lost;
}

/* Its thread may go on to fill the chunk for another session: then its state is another one. */
static bool leave_chunk(hb_spool *spool, uint32_t index, const hb_chunk *chunk, hb_records *records)
{
    _Atomic uint32_t *state = &spool->pool.state[index];
    uint32_t seen = atomic_load_explicit(state, memory_order_acquire);
    bool added = add_chunk(spool, records, chunk);
    if (seen >= HB_CHUNK_TAKEN && !hb_spool_next_events(spool, chunk))
        atomic_compare_exchange_strong(state, &seen, HB_CHUNK_BEYOND);
    return added;
}

/* What lies in chunks belongs to the session's records as well. */
static void close_records(hb_spool *spool, hb_session *session)
{
    hb_lock_take(&spool->lock);
    hb_records *records = hb_spool_records(spool, session->number);
    /* Of each at least one record. */
    hb_session_count_lost(session, HB_LOST_MEMORY,
                          each_chunk(spool, session->number, records, leave_chunk));
    if (!hb_records_close(records)) records->threads.count = 0;
    spool->recording--;
    hb_lock_give(&spool->lock);
    hb_spool_writer_wake(spool);
}

void hb_session_stop(hb_session *session)
{
    uint32_t live = __atomic_load_n(hb_live_epoch, __ATOMIC_RELAXED);
    if (!live || live == session->number) publish_epoch(0); /* else the next one records already */
    hb_session_tick(session);
}

void hb_session_count_early(hb_session *session)
{
    for (int i = 0; i < HB_LOST_CAUSES; i++)
        hb_session_count_lost(session, (enum hb_lost_cause)i,
                              hb_threads_take_lost((enum hb_lost_cause)i));
}

static void settle(hb_spool *spool, hb_session *session)
{
    /* Before its chunks are the writer's. */
    if (!hb_threads_settle(session->number)) atomic_store(&spool->held, session->number);
    hb_session_count_early(session);
    close_records(spool, session);
    /* For hb_session_settle() of those who did not wait themselves. */
    hb_session_set_state(session, HB_SESSION_STOPPED);
}

void hb_session_settle(hb_spool *spool, hb_session *session)
{
    if (hb_session_state(session) != HB_SESSION_RECORDING) return;
    hb_lock_take(&settling);
    if (hb_session_state(session) == HB_SESSION_RECORDING) settle(spool, session);
    hb_lock_give(&settling);
}

void hb_session_end(hb_session *session)
{
    hb_session_stop(session);
    hb_session_settle(hb_recording_now.spool, session);
}

hb_lost hb_session_lost(const hb_session *session)
{
    return hb_lost_of(session->lost);
}

/* Under the lock: a released session's chunks. Others the writer gives back, when it is done with
 * them or when nobody holds them any more. */
static void give_chunks(hb_spool *spool, uint32_t session)
{
    for (uint32_t i = 0; (i = next_used(spool, i));) {
        uint32_t state = atomic_load_explicit(&spool->pool.state[i], memory_order_acquire);
        bool is_done = state == HB_CHUNK_FULL || state == HB_CHUNK_BEYOND;
        if (is_done && i != spool->being_written &&
            of_session(spool, hb_spool_events(spool, i), session) && hb_spool_is_unneeded(spool, i))
            hb_pool_give(&spool->pool, i);
    }
}

/* Under the lock. */
static hb_records *take_records(hb_spool *spool, uint32_t session)
{
    hb_records **at = hb_spool_list(spool, session), *found;
    while (*at && (*at)->session != session)
        at = &(*at)->next;
    found = *at;
    if (found) *at = found->next;
    return found;
}

void hb_session_release(hb_spool *spool, hb_session *session)
{
    hb_lock_take(&spool->lock);
    hb_records *records = take_records(spool, session->number);
    give_chunks(spool, session->number);
    for (uint32_t i = 0; records && i < records->threads.count; i++) {
        hb_thread_records *t = &records->threads.items[i];
        for (uint32_t k = 0; k < t->parts.count; k++)
            hb_spool_drop_part(spool, &t->parts.items[k]);
        t->parts.count = 0;
    }
    hb_session_set_state(session, HB_SESSION_NONE);
    hb_spool_account(spool);
    hb_lock_give(&spool->lock);
    hb_records_free(records);
    hb_spool_writer_wake(spool);
}

/* ---- reading ---- */

static hb_str own_string(const hb_spool_view *view, uint32_t id)
{
    (void)view;
    return hb_strings_get(id);
}

static const hb_records no_records;

static const hb_records *own_records(const hb_spool_view *view, const hb_session *session)
{
    hb_spool *spool = view->from;
    hb_lock_take(&spool->lock);
    const hb_records *records = hb_spool_records(spool, session->number);
    hb_lock_give(&spool->lock);
    return records && records->order ? records : &no_records;
}

/* A chunk's records are copied under the lock, under which the writer gives chunks back. */
static bool load_chunk(hb_spool *spool, uint32_t session, const hb_thread_records *t,
                       const hb_part *part, char *raw)
{
    const hb_chunk *chunk = hb_spool_events(spool, part->chunk);
    while (chunk && (chunk->events.session != session || chunk->events.thread != t->number ||
                     chunk->events.sequence != part->sequence))
        chunk = hb_spool_next_events(spool, chunk);
    if (!chunk) return false;
    hb_codec_copy_hot(raw, (const char *)(chunk + 1), part->raw_bytes);
    return true;
}

/* Under the lock: the part as it is now, which may have been in a chunk when it was seen. */
static bool present_part(hb_spool *spool, uint32_t session, const hb_thread_records *seen,
                         hb_part *part)
{
    const hb_records *records = hb_spool_records(spool, session);
    const hb_thread_records *t = records ? hb_records_find_thread(records, seen->number) : NULL;
    const hb_part *now = t ? hb_records_find(t, part->sequence) : NULL;
    if (now) *part = *now;
    return now != NULL;
}

static void count_unread(hb_spool *spool, int error)
{
    atomic_store(&spool->read_error, error);
    atomic_fetch_add(&spool->unread, 1);
}

static bool load_coded(hb_spool *spool, const hb_part *part, char *raw)
{
    if (part->place == HB_PART_MEMORY) return hb_part_decode(part, part->coded, raw);
    unsigned char *coded = malloc(HB_MAX(part->coded_bytes, 1u));
    bool read = coded && hb_spool_read(spool, part->offset, coded, part->coded_bytes);
    bool ok = read && hb_part_decode(part, coded, raw);
    if (!coded || (read && !ok)) atomic_store(&spool->read_error, coded ? 0 : ENOMEM);
    if (!ok) atomic_fetch_add(&spool->unread, 1);
    free(coded);
    return ok;
}

static void own_has_no_room(const hb_spool_view *view)
{
    count_unread(view->from, ENOMEM);
}

static bool own_load(const hb_spool_view *view, uint32_t session, const hb_thread_records *t,
                     const hb_part *seen, char *raw)
{
    hb_spool *spool = view->from;
    hb_lock_take(&spool->lock);
    hb_part part = *seen;
    bool loaded = part.place == HB_PART_CHUNK && load_chunk(spool, session, t, &part, raw);
    bool found = loaded || present_part(spool, session, t, &part);
    if (found && !loaded && part.place == HB_PART_CHUNK)
        found = loaded = load_chunk(spool, session, t, &part, raw);
    hb_lock_give(&spool->lock);
    /* A ring's chunk may be too old to be written; what was written stays while it is read. */
    if (!found && seen->place != HB_PART_CHUNK) count_unread(spool, 0);
    if (loaded || !found) return loaded;
    if (part.raw_bytes == seen->raw_bytes) return load_coded(spool, &part, raw);
    if (part.raw_bytes < seen->raw_bytes) return false;
    /* Seen while it was filled: what came later does not belong to the snapshot. */
    char *whole = malloc(part.raw_bytes);
    if (!whole) own_has_no_room(view);
    loaded = whole && load_coded(spool, &part, whole);
    if (loaded) memcpy(raw, whole, seen->raw_bytes);
    free(whole);
    return loaded;
}

hb_spool_view hb_spool_view_own(hb_spool *spool)
{
    return (hb_spool_view){.head = &spool->head,
                           .string = own_string,
                           .records = own_records,
                           .load = own_load,
                           .has_no_room = own_has_no_room,
                           .from = spool,
                           .same_process = true};
}

/* ---- snapshots ---- */

static const hb_records *snapshot_records(const hb_spool_view *view, const hb_session *session)
{
    const hb_snapshot *s = (const hb_snapshot *)view; /* its first member */
    return s->session.number == session->number ? s->records : &no_records;
}

static bool see_chunk(hb_spool *spool, uint32_t index, const hb_chunk *chunk, hb_records *records)
{
    (void)index;
    return add_chunk(spool, records, chunk);
}

hb_result hb_session_snapshot(hb_spool *spool, hb_session *session, hb_snapshot **out)
{
    hb_session_count_early(session);
    hb_snapshot *s = calloc(1, sizeof *s);
    if (s) {
        s->spool = spool;
        hb_lock_take(&spool->lock);
        hb_records *records = hb_spool_records(spool, session->number);
        s->records = records ? hb_records_copy(records) : NULL;
        if (s->records) (void)each_chunk(spool, session->number, s->records, see_chunk);
        if (s->records) records->snapshots++;
        hb_load_words(&s->session, session, sizeof s->session);
        hb_lock_give(&spool->lock);
    }
    if (!s || !s->records || !hb_records_close(s->records)) {
        hb_snapshot_close(s);
        return hb_fail(HB_ERROR_NO_MEMORY, "no memory to look at what is being recorded");
    }
    hb_session_tick(&s->session);
    make_trace_id(s->session.trace_id);
    s->session.state = HB_SESSION_STOPPED;
    s->view = hb_spool_view_own(spool);
    s->view.records = snapshot_records;
    *out = s;
    return HB_OK;
}

void hb_snapshot_close(hb_snapshot *s)
{
    if (!s) return;
    if (s->records) {
        hb_lock_take(&s->spool->lock);
        hb_records *records = hb_spool_records(s->spool, s->session.number);
        if (records) records->snapshots--;
        hb_lock_give(&s->spool->lock);
    }
    hb_records_free_copy(s->records);
    free(s);
}
