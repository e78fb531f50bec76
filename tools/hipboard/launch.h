/* SPDX-License-Identifier: MIT
 *
 * Running a program in one's place: it gets the signals that come here, stops and goes on with
 * this process, and its end becomes this process's.
 */
#ifndef HB_TOOLS_LAUNCH_H
#define HB_TOOLS_LAUNCH_H

#include <stdbool.h>

/** How a program ended. */
typedef struct launch_end {
    bool started;   /* false: it could not be run; `code` is errno */
    bool by_signal; /* `code` is the signal, else the exit status */
    int code;
} launch_end;

/** Runs a program, found as a shell finds it, and waits for it. `before` is called in the child
 * before the program takes its place. */
launch_end launch(char **program, void (*before)(void *), void *context);

/** Ends this process as the program ended. */
void launch_end_alike(const launch_end *end) __attribute__((noreturn));

#endif
