/* SPDX-License-Identifier: MIT
 *
 * For tests of recording: a spool whose background thread has ended, so that what lies in its
 * chunks stays there; and threads that do one thing after the other as they are told.
 */
#ifndef HB_TEST_STILL_SPOOL_H
#define HB_TEST_STILL_SPOOL_H

#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>

#include "record/session.h"

/* In a directory, or in memory for NULL. */
static inline hb_spool *live_spool(const char *in, uint64_t bytes)
{
    const hb_spool_options options = {in, "still", bytes};
    hb_spool *spool = malloc(sizeof *spool);
    if (hb_record_init() != HB_OK || hb_spool_open(spool, &options) != HB_OK) abort();
    return spool;
}

static inline hb_spool *still_spool(const char *in, uint64_t bytes)
{
    hb_spool *spool = live_spool(in, bytes);
    if (!hb_spool_writer_end(spool)) abort();
    return spool;
}

static inline void close_test_spool(hb_spool *spool)
{
    if (!hb_spool_close(spool, false)) abort();
    free(spool);
}

static inline hb_session *begin_in(hb_spool *spool, uint32_t flags)
{
    hb_session *session;
    if (hb_session_begin(spool, flags, 0, &session) != HB_OK) abort();
    return session;
}

static inline void end_in_spool(hb_spool *spool, hb_session *session)
{
    hb_session_stop(session);
    hb_session_settle(spool, session);
    hb_session_release(spool, session);
}

/* Of threads without a session, as the tests before left them. */
static inline void forget_losses(void)
{
    for (int i = 0; i < HB_LOST_CAUSES; i++)
        (void)hb_threads_take_lost((enum hb_lost_cause)i);
}

static inline void record_one(void)
{
    HB_RECORD_FUNCTION("scope") {
    }
}

static inline uint32_t state_of_chunk(const hb_spool *spool, const void *inside)
{
    return atomic_load(&spool->pool.state[hb_pool_index(&spool->pool, inside)]);
}

/* ---- threads ---- */

typedef struct worker {
    pthread_t thread;
    sem_t told, done;
    void (*work)(struct worker *); /* NULL: it ends */
    hb_thread *state;              /* that it has */
} worker;

static inline void *work_as_told(void *arg)
{
    worker *w = arg;
    for (;;) {
        sem_wait(&w->told);
        if (!w->work) return NULL;
        w->work(w);
        w->state = hb_thread_tls;
        sem_post(&w->done);
    }
}

static inline void do_on(worker *w, void (*work)(worker *))
{
    w->work = work;
    sem_post(&w->told);
    sem_wait(&w->done);
}

static inline void take_state(worker *w)
{
    w->state = hb_thread_self();
}

static inline void start_worker(worker *w)
{
    sem_init(&w->told, 0, 0);
    sem_init(&w->done, 0, 0);
    if (pthread_create(&w->thread, NULL, work_as_told, w) != 0) abort();
    do_on(w, take_state);
}

/* By work that does not come back, or by coming back for NULL. */
static inline void end_worker_by(worker *w, void (*work)(worker *))
{
    w->work = work;
    sem_post(&w->told);
    pthread_join(w->thread, NULL);
}

static inline void end_worker(worker *w)
{
    end_worker_by(w, NULL);
}

#endif
