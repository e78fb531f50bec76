/* SPDX-License-Identifier: MIT */
#include "record/session.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "record/module.h"
#include "record/strings.h"

static uint32_t last_number;

/* ---- this process ---- */

/* Modules are named under their lock, so it comes first. */
static void before_fork(void)
{
    hb_modules_lock();
    hb_strings_lock();
}

static void after_fork_in_parent(void)
{
    hb_strings_unlock();
    hb_modules_unlock();
}

/* The child records nothing: the session and its memory are its parent's. */
static void after_fork_in_child(void)
{
    hb_strings_forget_mirror(); /* still under the lock: other rooms hold later ones */
    after_fork_in_parent();
    __atomic_store_n(&hb_enabled_epoch, 0, __ATOMIC_RELAXED);
    hb_threads_after_fork();
    hb_finalize_after_fork();
}

static void init_once(void)
{
    hb_clock_init();
    hb_threads_init();
    hb_strings_init();
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

void hb_record_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_once);
}

/* ---- begin, end ---- */

static void make_trace_id(char id[40])
{
    uint8_t bytes[16] = {0};
    if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != sizeof bytes) {
        uint64_t t = hb_ticks();
        memcpy(bytes, &t, sizeof t);
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(id + 2 * i, 3, "%02X", bytes[i]);
}

hb_result hb_session_begin(hb_spool *spool, uint32_t flags, int64_t cycle, hb_session **out)
{
    uint32_t index = hb_spool_take(spool);
    if (index == 0)
        return hb_fail(HB_ERROR_LIMIT, "no room for another cycle: the records of "
                                       "earlier ones fill max_record_bytes");
    hb_chunk *chunk = hb_spool_chunk(spool, index);
    hb_session *session = (hb_session *)(chunk + 1);
    *chunk = (hb_chunk){.used = sizeof *chunk + sizeof *session};
    if (++last_number == 0) last_number = 1;
    *session = (hb_session){.number = last_number,
                            .state = HB_SESSION_RECORDING,
                            .flags = flags,
                            .cycle = cycle,
                            .start = hb_clock_sample()};
    session->later[0] = session->start;
    make_trace_id(session->trace_id);
    chunk->session = session->number;
    __atomic_store_n(&chunk->kind, HB_CHUNK_SESSION, __ATOMIC_RELEASE);
    pthread_mutex_lock(&spool->lock);
    session->older = hb_spool_head(spool)->first_session;
    hb_spool_head(spool)->first_session = index;
    pthread_mutex_unlock(&spool->lock);
    hb_recording_now.spool = spool;
    hb_recording_now.session = session;
    __atomic_store_n(&hb_recording_now.flags, flags, __ATOMIC_RELAXED);
    __atomic_store_n(&hb_enabled_epoch, session->number, __ATOMIC_RELEASE);
    *out = session;
    return HB_OK;
}

void hb_session_tick(hb_session *session)
{
    uint32_t spare = ~session->newest & 1;
    session->later[spare] = hb_clock_sample();
    __atomic_store_n(&session->newest, spare, __ATOMIC_RELEASE);
}

void hb_session_end(hb_session *session)
{
    __atomic_store_n(&hb_enabled_epoch, 0, __ATOMIC_SEQ_CST);
    hb_threads_quiesce();
    hb_session_tick(session);
    hb_threads_add_lost(session->number, session->lost);
    session->state = HB_SESSION_STOPPED;
}

hb_lost hb_session_lost(const hb_session *session)
{
    const uint64_t *lost = session->lost;
    return (hb_lost){
        .struct_size = sizeof(hb_lost),
        .buffer_full = lost[HB_LOST_BUFFER_FULL],
        .strings_full = lost[HB_LOST_STRINGS_FULL],
        .reentrant = lost[HB_LOST_REENTRANT],
        .too_big = lost[HB_LOST_TOO_BIG],
        .unbalanced = lost[HB_LOST_UNBALANCED],
        .memory = lost[HB_LOST_MEMORY],
    };
}

static void unlink_session(hb_spool *spool, hb_session *session, uint32_t index)
{
    pthread_mutex_lock(&spool->lock);
    uint32_t *at = &hb_spool_head(spool)->first_session;
    while (*at && *at != index)
        at = &((hb_session *)(hb_spool_chunk(spool, *at) + 1))->older;
    if (*at == index) *at = session->older;
    pthread_mutex_unlock(&spool->lock);
}

void hb_session_release(hb_spool *spool, hb_session *session)
{
    hb_chunk *own = (hb_chunk *)session - 1;
    uint32_t index = (uint32_t)(((char *)own - spool->base) / HB_CHUNK_BYTES);
    session->state = HB_SESSION_SAVED;
    unlink_session(spool, session, index);
    for (uint32_t thread = session->first_thread; thread;) {
        uint32_t next_thread = hb_spool_chunk(spool, thread)->next_thread;
        for (uint32_t i = thread; i;) {
            uint32_t next = hb_spool_chunk(spool, i)->next;
            hb_spool_give(spool, i);
            i = next;
        }
        thread = next_thread;
    }
    hb_spool_give(spool, index);
}

/* ---- reading ---- */

static hb_str own_string(const hb_spool_view *view, uint32_t id)
{
    (void)view;
    return hb_strings_get(id);
}

hb_spool_view hb_spool_view_own(const hb_spool *spool)
{
    return (hb_spool_view){.base = spool->base,
                           .num_chunks = atomic_load(&spool->committed),
                           .string = own_string,
                           .same_process = true};
}

hb_chunk *hb_view_chunk(const hb_spool_view *view, uint32_t index, enum hb_chunk_kind kind)
{
    if (index == 0 || index >= view->num_chunks) return NULL;
    hb_chunk *chunk = (hb_chunk *)(view->base + (size_t)index * HB_CHUNK_BYTES);
    return chunk->kind == (uint32_t)kind ? chunk : NULL;
}

hb_session *hb_view_session(const hb_spool_view *view, uint32_t index)
{
    hb_chunk *chunk = hb_view_chunk(view, index, HB_CHUNK_SESSION);
    return chunk ? (hb_session *)(chunk + 1) : NULL;
}

static void enter_chunk(hb_cursor *c, uint32_t index)
{
    uint32_t session = c->chunk ? c->chunk->session : 0;
    hb_chunk *chunk = c->chunks_left ? hb_view_chunk(c->view, index, HB_CHUNK_EVENTS) : NULL;
    if (chunk && session && chunk->session != session) chunk = NULL;
    c->chunk = chunk;
    if (!chunk) return;
    c->chunks_left--;
    uint32_t used = HB_MIN(chunk->used, HB_CHUNK_BYTES);
    c->at = (char *)(chunk + 1);
    c->end = HB_MAX((char *)chunk + used, c->at);
    c->next_id = chunk->first_id;
}

hb_cursor hb_cursor_open(const hb_spool_view *view, uint32_t first_chunk)
{
    hb_cursor c = {.view = view, .chunks_left = view->num_chunks};
    enter_chunk(&c, first_chunk);
    return c;
}

static size_t least_size(const hb_record *r)
{
    switch (r->type) {
    case HB_RECORD_ANNOTATION:
    case HB_RECORD_OP: return sizeof(hb_record);
    case HB_RECORD_MODULE: return sizeof(hb_record_module);
    case HB_RECORD_MEMORY: return sizeof(hb_record_memory);
    case HB_RECORD_SCALAR: return sizeof(hb_record_scalar);
    case HB_RECORD_METADATA: return sizeof(hb_record_metadata);
    case HB_RECORD_CALL: return sizeof(hb_record_call);
    case HB_RECORD_LAUNCH: return HB_RECORD_SHORT_LAUNCH;
    case HB_RECORD_COPY: return sizeof(hb_record_copy);
    case HB_RECORD_ALLOCATION: return sizeof(hb_record_allocation);
    case HB_RECORD_WORK: return sizeof(hb_record_work);
    case HB_RECORD_DISPATCH: return sizeof(hb_record_dispatch);
    case HB_RECORD_LINK: return sizeof(hb_record_link);
    case HB_RECORD_DEVICE: return sizeof(hb_record_device);
    default: return SIZE_MAX;
    }
}

hb_record *hb_cursor_next(hb_cursor *c, uint64_t *id)
{
    while (c->chunk) {
        hb_record *r = (hb_record *)c->at;
        size_t left = (size_t)(c->end - c->at);
        size_t size = left >= sizeof *r ? (size_t)r->units * 8 : 0;
        if (size && size <= left && size >= least_size(r)) {
            c->at += size;
            bool scope = r->type == HB_RECORD_ANNOTATION || r->type == HB_RECORD_OP;
            *id = scope ? c->next_id++ : 0;
            return r;
        }
        enter_chunk(c, c->chunk->next); /* at its end, or damaged from here on */
    }
    return NULL;
}
