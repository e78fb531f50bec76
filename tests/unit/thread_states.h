/* SPDX-License-Identifier: MIT
 *
 * For tests of what a thread's state goes through: recording calls from given stack frames, which
 * nobody may ever leave, and who has a state.
 */
#ifndef HB_TEST_THREAD_STATES_H
#define HB_TEST_THREAD_STATES_H

#include "still_spool.h"
#include "test_dir.h"

/* Below all real ones. */
enum { FRAME = 0x5000, BELOW = FRAME - 1, ABOVE = FRAME + 1 };

static inline const void *at(uintptr_t frame)
{
    return (const void *)frame;
}

static inline int state_of(const hb_thread *t)
{
    return atomic_load(&t->state);
}

static inline bool is_in_call(const hb_thread *t)
{
    return atomic_load(&t->busy) & 1;
}

/* Enters a recording call. */
static inline hb_thread *enter_and_record(void)
{
    hb_thread *t = hb_record_enter_at(at(FRAME));
    hb_record *r = hb_record_reserve(t, sizeof *r);
    if (!r) abort();
    hb_record_head(r, HB_RECORD_SCALAR, 0, HB_STRING_UNNAMED, sizeof *r);
    hb_record_commit(t, r);
    return t;
}

static inline void enter(worker *w)
{
    (void)w;
    enter_and_record();
}

static inline void leave(worker *w)
{
    hb_thread_leave(w->state);
}

static inline int count_states(void)
{
    int n = 0;
    for (const hb_thread *t = hb_threads_first(); t; t = t->next)
        n++;
    return n;
}

/* By threads that begin until one finds none: whether then somebody has this one. */
static inline bool is_taken_by_new_threads(const hb_thread *state)
{
    enum { MOST = 100 };
    static worker takers[MOST];
    int n = 0, before = count_states();
    while (count_states() == before && n < MOST)
        start_worker(&takers[n++]);
    assert_int_equal(count_states(), before + 1);
    bool taken = state && state_of(state) == HB_THREAD_LIVES;
    while (n-- > 0)
        end_worker(&takers[n]);
    return taken;
}

#endif
