/* SPDX-License-Identifier: MIT
 *
 * The hot path: scopes, operators, modules, memory and numbers into the calling thread's chunk.
 */
#ifndef HB_RECORD_RECORD_H
#define HB_RECORD_RECORD_H

#include "record/spool.h"
#include "record/strings.h"
#include "record/thread.h"

/** What is being recorded. Written while *hb_live_epoch is 0, of which a thread that is still in a
 * recording call need not know: it reads with atomics, and then the epoch once more; see attach().
 */
typedef struct hb_recording {
    hb_spool *spool;
    hb_session *session;
    uint32_t flags; /* enum hb_session_flags */
} hb_recording;

extern hb_recording hb_recording_now;

/* Bits of hb_memory_enabled: a session is recorded; what is allocated is kept in mind. */
#define HB_MEMORY_RECORDED 1u
#define HB_MEMORY_KEPT     2u

/** Once per process, before anything else of this room; later calls do nothing but fail as the
 * first did: then nothing can be recorded. */
hb_result hb_record_init(void);

/** Begins a recording call on the calling thread in the running session, to be ended with
 * hb_thread_leave(); NULL when nothing is recorded. The session is the one of `epoch` in what it
 * returns. */
hb_thread *hb_record_enter(void);

/** The same without a call; `frame` as in hb_thread_begin_at(). */
static inline hb_thread *hb_record_enter_at(const void *frame);

/** Gives a reserved record its head, without times. */
static inline void hb_record_head(hb_record *r, enum hb_record_type type, unsigned flags,
                                  uint32_t name, size_t bytes)
{
    r->end = 0;
    r->name = name;
    r->type = (uint8_t)type;
    r->flags = (uint8_t)flags;
    r->units = (uint16_t)(bytes / 8);
}

/** Room for a record of `bytes` (a multiple of 8, at most HB_RECORD_MAX) in the calling thread's
 * chunk, without a head; NULL when the spool is full (counted). Inside enter/leave. */
hb_record *hb_record_reserve(hb_thread *t, uint32_t bytes);

/** Takes a reserved, filled-in record in. */
static inline void hb_record_take_in(hb_thread *t, const hb_record *record, size_t bytes)
{
    t->pos = (char *)(uintptr_t)record + bytes;
    __atomic_store_n(&t->chunk->used, (uint32_t)(t->pos - (char *)t->chunk), __ATOMIC_RELEASE);
}

static inline void hb_record_commit(hb_thread *t, const hb_record *record)
{
    hb_record_take_in(t, record, (size_t)record->units * 8);
}

static inline void hb_record_put_flow(hb_thread *t, hb_record_flow *r, uint32_t name, uint64_t at,
                                      uint64_t id, hb_flow_phase phase)
{
    hb_record_head(&r->head, HB_RECORD_FLOW, 0, name, sizeof *r);
    r->head.start = at;
    r->id = id;
    r->phase = (uint32_t)phase;
    hb_record_commit(t, &r->head);
}

/** A metadata entry in the running session; any string ids. */
void hb_record_metadata_entry(uint32_t key, uint32_t json);

/** What recording one scope takes on this machine, in nanoseconds: the same steps on memory of
 * their own, measured at the first call. 0 when there is no memory for it. */
double hb_record_scope_ns(void);

/** hb_memory_report() of HIP's calls, which are heard in sessions only. `kept`: bytes that the
 * device's allocators reserve beyond what is allocated, where that is known and totals are summed
 * up. */
#define HB_KEPT_UNKNOWN (-1)
void hb_record_memory_event(const hb_memory_info *info, int64_t kept);

/** A number at this moment, for a counter row. */
void hb_record_scalar_value(const char *name, double value);

/** A user annotation from an interned name. */
hb_scope hb_record_annotation(uint32_t name);

/** Where the calling thread's next record will lie; 0: nothing is recorded; never 1. For
 * hb_record_annotation_since(). */
uintptr_t hb_record_place(void);
/** An annotation of what began at `start` (ticks), when hb_record_place() was `place`, and ends
 * now; nothing of a session that has begun since. False, and nothing is recorded, if the thread has
 * recorded something in between: records are in the order of their beginning. */
bool hb_record_annotation_since(uint32_t name, uint64_t start, uintptr_t place);

/** An operator by an interned name, of a call that was interposed: `frame` as in
 * hb_thread_begin_at(), `caller` is where the call returns to, the innermost frame of its stack. */
hb_scope hb_record_operator(uint32_t name, const hb_op_info *info, const void *frame,
                            const void *caller);
/** A communication from an interned name, for who was called at `frame` and returns to `caller`,
 * and the beginning of an arrow, unless `flow` is 0. */
hb_scope hb_record_communication(uint32_t name, const hb_comm_words *comm, uint64_t flow,
                                 const void *frame, const void *caller);
/** Another text in place of an open communication's, if it is the calling thread's innermost scope;
 * `keeps_number`: but for which one of its group it is. */
void hb_record_communicated(const hb_scope *scope, const hb_comm_words *comm, bool keeps_number,
                            const void *frame);

/** The id of a site's name, as hb_record_name(). */
static inline uint32_t hb_record_site_id(hb_site *site, const void *frame)
{
    uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    if (HB_UNLIKELY(id == 0)) {
        id = hb_record_name(site->name, frame);
        if (id != HB_STRING_DROPPED) __atomic_store_n(&site->id, id, __ATOMIC_RELAXED);
    }
    return id;
}

static inline void hb_session_count_lost(hb_session *session, enum hb_lost_cause cause,
                                         uint64_t count)
{
    __atomic_fetch_add(&session->lost[cause], count, __ATOMIC_RELAXED);
}

static inline uint64_t hb_session_lost_of(const hb_session *session, enum hb_lost_cause cause)
{
    return __atomic_load_n(&session->lost[cause], __ATOMIC_RELAXED);
}

/* thread_chunk.c, in a recording call: */
/** The thread records into the running session from now on; false when that is no longer `epoch`.
 */
HB_COLD bool hb_record_attach(hb_thread *t, uint32_t epoch);
/** The same with whichever session runs; false when none does. */
HB_COLD bool hb_record_join(hb_thread *t);
/** Room for `bytes`; false when the spool is full or the session has ended (counted). */
HB_COLD bool hb_record_next_chunk(hb_thread *t, uint32_t bytes);
/** At the thread's end. */
void hb_record_leave_chunk(hb_thread *t);

static inline hb_thread *hb_record_enter_at(const void *frame)
{
    hb_thread *t = hb_thread_begin_at(frame);
    if (HB_UNLIKELY(!t)) return NULL;
    uint32_t epoch = __atomic_load_n(hb_live_epoch, __ATOMIC_ACQUIRE);
    if (HB_UNLIKELY(epoch == 0 || (t->epoch != epoch && !hb_record_join(t)))) {
        hb_thread_leave(t);
        return NULL;
    }
    return t;
}

/* for thread.c */
void hb_record_close_all(hb_thread *t);
/* The chunk of a call that is gone: the writer may have it. */
void hb_record_finish_chunk(hb_thread *t);
void hb_record_rename_thread(hb_thread *t);

#endif
