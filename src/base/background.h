/* SPDX-License-Identifier: MIT
 *
 * The library's own threads.
 */
#ifndef HB_BASE_BACKGROUND_H
#define HB_BASE_BACKGROUND_H

#include <pthread.h>

/** pthread_create() for a thread of the library's own: it takes none of the program's signals,
 * reads and writes numbers with a point, and bears `name`, of at most 15 bytes. 0 or an error
 * number. */
int hb_background_thread(pthread_t *thread, const char *name, void *(*main)(void *), void *arg);

#endif
