/* SPDX-License-Identifier: MIT
 *
 * A window of calls is looked at by a thread of its own each time that it has grown by half, and
 * given up when it is full: what the program did while it loaded its data is no part of its steps.
 */
#include "pace/launch_pace.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/lock.h"
#include "base/thread_start.h"
#include "pace/paced_steps.h"
#include "record/record.h"
#include "record/stack.h"
#include "steps/find_steps.h"

enum { WINDOW = 1 << 15, WINDOWS_MOST = 16, FIRST_LOOK = 200, FAILS_AFTER = 20 };

enum state { OFF, WATCHING, KNOWN };

uint32_t hb_pace_is_on;

static struct {
    /* Whose calls begin steps; 0: nobody's yet. Read without the lock: other threads' calls would
     * otherwise hide the one that begins a step, which passes a lock that is held. */
    _Atomic int64_t only_tid;
    hb_bare_lock lock; /* of what follows */
    enum state state;
    bool (*_Atomic tell)(int64_t number);
    hb_pace_window window;
    uint32_t look_at; /* calls in the window */
    uint32_t windows; /* in which no steps were seen */
    bool looking;     /* a thread has a copy */
    /* KNOWN */
    hb_pace_anchor anchor;
    int64_t number; /* the next step's */
    uint32_t since; /* calls of that thread since the last one began */
    /* Of the session in which one was told of last that counts; without the lock. */
    _Atomic uint32_t told_epoch;
} self = {.lock = HB_BARE_LOCK_INIT(PACE)};

static void change_state(enum state state)
{
    self.state = state;
    atomic_store_explicit(&self.only_tid, state == KNOWN ? self.anchor.tid : 0,
                          memory_order_relaxed);
}

static void begin_window(void)
{
    hb_pace_window_clear(&self.window);
    self.look_at = FIRST_LOOK;
}

void hb_pace_watch(bool (*tell)(int64_t number))
{
    if (tell) hb_stack_prepare();
    hb_bare_lock_take(&self.lock);
    atomic_store(&self.tell, tell);
    change_state(tell ? WATCHING : OFF);
    self.windows = 0;
    begin_window();
    __atomic_store_n(&hb_pace_is_on, tell != NULL, __ATOMIC_RELAXED);
    hb_bare_lock_give(&self.lock);
}

/* ---- looking ---- */

static void *look(void *copy)
{
    hb_pace_window *window = copy;
    hb_pace_anchor anchor;
    bool found = hb_pace_find(window, &anchor);
    hb_bare_lock_take(&self.lock);
    self.looking = false;
    if (found && self.state == WATCHING) {
        self.anchor = anchor;
        change_state(KNOWN);
        self.number = anchor.steps;
        self.since = 0;
        begin_window();
    }
    hb_bare_lock_give(&self.lock);
    hb_pace_window_clear(window);
    free(window);
    return NULL;
}

static void begin_to_look(void)
{
    pthread_t thread;
    hb_pace_window *copy = hb_pace_window_copy(&self.window);
    self.look_at += self.look_at / 2;
    if (!copy) return;
    self.looking = hb_background_thread(&thread, "steps", look, copy) == 0;
    if (self.looking) {
        pthread_detach(thread);
        return;
    }
    hb_pace_window_clear(copy);
    free(copy);
}

/* ---- calls ---- */

/* A program that shows no steps for so long has none, and is not to pay for it. */
static void give_window_up(void)
{
    begin_window();
    if (++self.windows < WINDOWS_MOST) return;
    change_state(OFF);
    __atomic_store_n(&hb_pace_is_on, 0, __ATOMIC_RELAXED);
}

static void watch(const hb_pace_seen *seen, const void *caller)
{
    uint64_t pcs[HB_STACK_MAX];
    uint32_t n = seen->deed == HB_PACE_WAIT ? 0 : hb_stack_capture(pcs, caller);
    if (!hb_pace_window_add(&self.window, seen, pcs, n)) return;
    if (self.looking) return;
    if (self.window.calls.count >= WINDOW)
        give_window_up();
    else if (self.window.calls.count >= self.look_at)
        begin_to_look();
}

/* The number of the step that begins with this call; -1: they fail to come; -2: neither. */
static int64_t count(const hb_pace_seen *seen)
{
    if (seen->tid != self.anchor.tid) return -2;
    if (seen->key == self.anchor.key) {
        self.since = 0;
        return self.number++;
    }
    if (++self.since < self.anchor.calls * FAILS_AFTER) return -2;
    change_state(WATCHING);
    self.windows = 0;
    begin_window();
    return -1;
}

/* In none it says nothing, 0, of any. */
static void note_told(void)
{
    atomic_store(&self.told_epoch, __atomic_load_n(hb_live_epoch, __ATOMIC_ACQUIRE));
}

/* Who interrupts this thread here, or comes while another one is seen, is passed over. */
void hb_pace_call(enum hb_pace_deed deed, uint64_t what, const void *caller)
{
    hb_thread *t = hb_thread_self();
    int64_t number = -2;
    if (!t || hb_background_is_this()) return;
    int64_t only = atomic_load_explicit(&self.only_tid, memory_order_relaxed);
    if ((only && only != t->tid) || !hb_bare_lock_try(&self.lock)) return;
    hb_pace_seen seen = {.key = hb_pace_key(what, caller),
                         .start_ns = hb_clock_ns(CLOCK_MONOTONIC),
                         .tid = t->tid,
                         .deed = deed};
    if (self.state == WATCHING)
        watch(&seen, caller);
    else if (self.state == KNOWN)
        number = count(&seen);
    bool (*tell)(int64_t) = atomic_load(&self.tell);
    hb_bare_lock_give(&self.lock);
    if (number >= -1 && tell && tell(number) && number >= 0) note_told();
}

/* ---- who tells ---- */

enum { STAND_INS_MOST = 64 };

/* Addresses are never taken out; 0: none. */
static _Atomic uintptr_t stand_ins[STAND_INS_MOST];

void hb_pace_stands_in(const void *function)
{
    for (int i = 0; i < STAND_INS_MOST; i++) {
        uintptr_t none = 0;
        if (atomic_compare_exchange_strong(&stand_ins[i], &none, (uintptr_t)function)) return;
    }
}

bool hb_pace_is_stand_in(const void *function)
{
    for (int i = 0; i < STAND_INS_MOST; i++)
        if (atomic_load_explicit(&stand_ins[i], memory_order_relaxed) == (uintptr_t)function)
            return function != NULL;
    return false;
}

/* ---- the rest ---- */

void hb_pace_put(void)
{
    char told[HB_PACE_TOLD_SIZE];
    const char *key = HB_METADATA_STEPS;
    uint32_t epoch = __atomic_load_n(hb_live_epoch, __ATOMIC_ACQUIRE);
    hb_bare_lock_take(&self.lock);
    bool known = self.state == KNOWN && atomic_load(&self.told_epoch) == epoch;
    if (known) memcpy(told, self.anchor.told, sizeof told);
    hb_bare_lock_give(&self.lock);
    if (known)
        hb_record_metadata_entry(hb_strings_intern(key, strlen(key)),
                                 hb_strings_intern(told, strlen(told)));
}

void hb_pace_after_fork(void)
{
    bool whole = hb_bare_lock_after_fork(&self.lock);
    if (!whole) self.window = (hb_pace_window){0};
    self.looking = false; /* the thread is the parent's */
    if (self.state != OFF) change_state(WATCHING);
    begin_window();
}
