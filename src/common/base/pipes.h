/* SPDX-License-Identifier: MIT
 *
 * Writing where the reader may have left.
 */
#ifndef HB_BASE_PIPES_H
#define HB_BASE_PIPES_H

#include <signal.h>
#include <stdbool.h>

/** Between these a write to a pipe that nobody reads from is an error (EPIPE) and not the end of
 * the program. */
typedef struct hb_pipe_guard {
    sigset_t before;
    bool was_pending;
} hb_pipe_guard;
hb_pipe_guard hb_pipe_guard_begin(void);
/** `failed`: the write did, by errno, which is kept. */
void hb_pipe_guard_end(const hb_pipe_guard *guard, bool failed);

#endif
