/* SPDX-License-Identifier: MIT
 *
 * Around public calls that take time: the caller's thread finds its errno, its floating-point
 * environment with flags, traps and rounding, and its cancellation as it left them, whatever is
 * computed and waited for inside. The caller's own functions (handlers, schedules, visitors) run in
 * the caller's floating-point environment.
 */
#ifndef HB_BASE_GUARD_H
#define HB_BASE_GUARD_H

#include <fenv.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/lock.h"

typedef struct hb_guard {
    int error, cancel;
    fenv_t environment;
    struct hb_guard *outer;
} hb_guard;

void hb_guard_begin(hb_guard *guard);
void hb_guard_end(hb_guard *guard);

/** The rest of the block is guarded. */
#define HB_GUARDED()                                                    \
    __attribute__((cleanup(hb_guard_end))) hb_guard hb_guard_of_block_; \
    hb_guard_begin(&hb_guard_of_block_)

/** Around a call of the caller's function, inside of a guard or not. */
typedef struct hb_callback {
    hb_guard *guard;
    fenv_t environment;
} hb_callback;

void hb_callback_begin(hb_callback *callback);
void hb_callback_end(hb_callback *callback);

/** Whether the calling thread is in a guarded call, and not in a function of the caller's. */
bool hb_guard_is_inside(void);

/* ---- waiting at exit ---- */

/** The calling thread runs the exit handlers, from now on or no more. */
void hb_guard_exits(bool exits);
bool hb_guard_is_exiting(void);

/** Calls `fn`; on a thread that exits, where `fn` wants a lock whose holder has done nothing for 2
 * s, it is left as it is, with all that it holds, which is warned of: false. */
bool hb_guard_call(void (*fn)(void *context), void *context);
/** That was so: what the thread calls would wait for ever for what it has itself. */
bool hb_guard_has_left(void);

/** In a forked child: nobody waits, nor exits, if not by an exit() of its own. */
void hb_guard_in_child(void);

/** How long a wait for another thread's work lasts: for ever, but at exit until that thread, or
 * whom it waits for in the same way, has done nothing for 2 s. Zero is ready. */
typedef struct hb_patience {
    int64_t cpu_ns;
    int idle_ms;
} hb_patience;

#define HB_PATIENCE_LOOK_MS 500

/** hb_news_wait() for work of `thread`, which was not joined yet, HB_PATIENCE_LOOK_MS at a time;
 * `in_vain`: they are over. Only that thread tells the news, so that what others go on to do is not
 * taken for its work. False when patience has ended. */
bool hb_patience_wait(hb_patience *patience, hb_news *change, hb_lock *lock, pthread_t thread,
                      bool *in_vain);

/** pthread_join() of a thread that was asked to end: at its end it sets `*ended` under `lock` and
 * tells `done`. At exit only while it does something; false when it stays, with all that it uses.
 */
bool hb_patience_join(pthread_t thread, const bool *ended, hb_news *done, hb_lock *lock);

/** The same without anything that tells: sleeps for a moment. Only at exit. The thread was not
 * joined yet, and shows by other means that it has ended. */
bool hb_patience_sleep(hb_patience *patience, pthread_t thread);
/** The same of a thread of the program's, which is in a call. */
bool hb_patience_sleep_of(hb_patience *patience, pid_t tid);

#endif
