/* SPDX-License-Identifier: MIT
 *
 * A helper program beside the recorded one, which does not notice it: no SIGCHLD, no child for its
 * wait(), unless it takes in orphans (process 1 of a container); a clean environment, no descriptor
 * of the program's.
 */
#ifndef HB_BASE_HELPER_PROCESS_H
#define HB_BASE_HELPER_PROCESS_H

#include <sys/types.h>

#include "base/base.h"

/** Starts the program at `path` as `NAME VERSION`, with `pipe` as its input and output. Any thread
 * may. -errno when it fails. */
pid_t hb_helper_launch(const char *path, const char *name, int pipe);

/** Of one that ends by itself: takes its end in, where the program takes in orphans. */
void hb_helper_reap(pid_t pid);

/** Where the program has other rights than its caller, it starts none. */
bool hb_helper_is_allowed(void);

#endif
