/* SPDX-License-Identifier: MIT
 *
 * The library's own threads.
 */
#ifndef HB_BASE_THREAD_START_H
#define HB_BASE_THREAD_START_H

#include <pthread.h>
#include <stdbool.h>

/** What the names of all of them begin with; no program's file has such a name, so that neither has
 * a thread which did not name itself. */
#define HB_THREAD_PREFIX "hipboard/"

/** pthread_create() for a thread of the library's own: it takes none of the program's signals, is
 * not cancelled, computes in the default floating-point environment, reads and writes numbers with
 * a point, and bears HB_THREAD_PREFIX and `name`, of which 6 bytes are seen. 0 or an error number.
 */
int hb_background_thread(pthread_t *thread, const char *name, void *(*main)(void *), void *arg);

/** Whether the calling thread is such a thread. */
bool hb_background_is_this(void);

/** On such a thread: from now on it takes the signals that the thread took which started it. */
void hb_background_takes_signals(void);

#endif
