/* SPDX-License-Identifier: MIT
 *
 * In a forked child: a lock of this room may be held by a thread that only the parent has.
 */
#ifndef HB_HIP_FORKED_H
#define HB_HIP_FORKED_H

#include <pthread.h>
#include <stdbool.h>

/** Frees the lock. False: it was held, so what it guards may be half changed. */
static inline bool hb_lock_after_fork(pthread_mutex_t *lock)
{
    static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
    bool was_free = pthread_mutex_trylock(lock) == 0;
    if (was_free)
        pthread_mutex_unlock(lock);
    else
        *lock = unlocked;
    return was_free;
}

#endif
