/* SPDX-License-Identifier: MIT
 *
 * Signals that a command takes in.
 */
#ifndef HB_TOOLS_SIGNALS_H
#define HB_TOOLS_SIGNALS_H

#include <signal.h>
#include <stddef.h>

/** What the caller ignores stays ignored: by nohup, or where a shell without a terminal starts a
 * command in the background. `before`, or NULL, gets what there was. */
static inline void catch_signal(int number, const struct sigaction *action,
                                struct sigaction *before)
{
    struct sigaction now;
    if (!before) before = &now;
    sigaction(number, NULL, before);
    if (before->sa_handler != SIG_IGN) sigaction(number, action, NULL);
}

#endif
