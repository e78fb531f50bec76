/* SPDX-License-Identifier: MIT
 *
 * A session that goes on keeps its end: what is older is dropped, by its age and to make room.
 */
#include <string.h>

#include "record/session.h"

/* So much of what holds HB_TYPES_TOLD_ONCE is not dropped by its age. */
#define TOLD_MOST (1u << 20)

/* Under the lock: the bytes of parts that last until `tick` or longer. */
static uint64_t bytes_since(const hb_records *records, uint64_t tick)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < records->threads.count; i++)
        for (uint32_t k = 0; k < records->threads.items[i].parts.count; k++) {
            const hb_part *part = &records->threads.items[i].parts.items[k];
            bytes += part->last_tick >= tick ? part->coded_bytes : 0;
        }
    return bytes;
}

/* Under the lock: the least time, about, from which on all that is kept fits. */
static uint64_t tick_that_fits(const hb_records *records, uint64_t horizon, uint64_t most_bytes)
{
    enum { STEPS = 20 }; /* a millionth of the time that is kept */
    uint64_t low = horizon, high = hb_ticks();
    if (bytes_since(records, low) <= most_bytes || high <= low) return horizon;
    if (low == 0) { /* from the first that there is */
        low = high;
        for (uint32_t i = 0; i < records->threads.count; i++)
            for (uint32_t k = 0; k < records->threads.items[i].parts.count; k++)
                low = HB_MIN(low, records->threads.items[i].parts.items[k].first_tick);
    }
    for (int i = 0; i < STEPS; i++) {
        uint64_t middle = low + (high - low) / 2;
        if (bytes_since(records, middle) <= most_bytes)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* Under the lock. `told`: the bytes that may still stay for what they tell, of all threads. */
static void drop_before(hb_spool *spool, hb_records *records, hb_thread_records *t, uint64_t tick,
                        uint64_t *told)
{
    uint32_t kept = 0;
    for (uint32_t k = t->parts.count; k-- > 0;) { /* the newest stay */
        hb_part *part = &t->parts.items[k];
        bool stays = part->last_tick >= tick;
        if (!stays && (part->types & HB_TYPES_TOLD_ONCE) && part->coded_bytes <= *told) {
            *told -= part->coded_bytes;
            stays = true;
        }
        if (stays) {
            t->parts.items[t->parts.count - ++kept] = *part;
        } else {
            hb_spool_drop_part(spool, part);
            records->bytes -= part->coded_bytes;
        }
    }
    memmove(t->parts.items, t->parts.items + t->parts.count - kept, kept * sizeof *t->parts.items);
    t->parts.count = kept;
}

/* Under the lock: of threads of which nothing is left nobody need know. */
static void forget_empty_threads(hb_records *records)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < records->threads.count; i++) {
        hb_thread_records *t = &records->threads.items[i];
        if (t->parts.count)
            records->threads.items[left++] = *t;
        else
            free(t->parts.items);
    }
    records->threads.count = left;
}

/* For readers of a file whose process was killed: first the horizon, which says that what stands
 * before it may be gone. */
static void set_kept(hb_session *session, uint64_t tick, const hb_clock_pair *kept)
{
    uint32_t spare = ~session->newest_kept & 1;
    __atomic_store_n(&session->kept_from, tick, __ATOMIC_RELAXED);
    hb_store_words(&session->kept[spare], kept, sizeof *kept);
    __atomic_store_n(&session->newest_kept, spare, __ATOMIC_RELEASE);
}

/* Under the lock. */
static void drop(hb_spool *spool, hb_records *records, hb_session *session, uint64_t tick,
                 const hb_clock_pair *kept)
{
    uint64_t told = TOLD_MOST;
    set_kept(session, HB_MAX(tick, session->kept_from), kept);
    records->kept_from = session->kept_from;
    for (uint32_t i = 0; i < records->threads.count; i++)
        drop_before(spool, records, &records->threads.items[i], session->kept_from, &told);
    forget_empty_threads(records);
}

void hb_session_drop(hb_spool *spool, hb_session *session, uint64_t horizon, uint64_t most_bytes,
                     const hb_clock_pair *kept)
{
    hb_lock_take(&spool->lock);
    hb_records *records = hb_spool_records(spool, session->number);
    if (records && !records->snapshots)
        drop(spool, records, session, tick_that_fits(records, horizon, most_bytes), kept);
    hb_spool_account(spool);
    hb_lock_give(&spool->lock);
    hb_spool_writer_wake(spool);
}

/* Half of the room is for what comes: while what is kept is looked at, and to be filled. A
 * sixteenth at once, since to find out where to cut is to look at all parts. */
void hb_spool_make_room(hb_spool *spool, hb_records *records)
{
    const uint64_t room = (uint64_t)(spool->pool.max_chunks - 1) * HB_CHUNK_BYTES; /* no chunk 0 */
    hb_session *session = records->ring;
    if (!session || records->order || records->snapshots || spool->kept_bytes <= room / 2) return;
    uint64_t over = HB_MIN(spool->kept_bytes - room / 16 * 7, records->bytes);
    uint64_t tick = tick_that_fits(records, session->kept_from, records->bytes - over);
    const hb_clock_pair kept = *hb_session_kept(session);
    drop(spool, records, session, tick, &kept);
}
