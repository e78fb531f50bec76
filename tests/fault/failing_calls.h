/* SPDX-License-Identifier: MIT
 *
 * Lets the n-th call fail that hipboard makes to the system: for memory, mappings, threads and
 * files. One list, two ways in: programs that link hipboard's static library take the calls by the
 * linker's --wrap, and a preloaded library takes those whose caller lies in a library of hipboard.
 */
#ifndef FAILING_CALLS_H
#define FAILING_CALLS_H

#include <stdbool.h>

/** From now on call `nth` (from 1) fails; with `all`, each from that on. 0: none, they are counted.
 */
void failing_calls_begin(long nth, bool all);
/** Where the name of the first that failed is put at once, 32 bytes, for who looks on when the
 * program has crashed. */
void failing_calls_tell(char *name);

/** From now on none does. */
void failing_calls_end(void);

/** How many were counted since the beginning, and the name of the first that failed, or NULL. */
long failing_calls_count(void);
const char *failing_calls_failed(void);

#endif
