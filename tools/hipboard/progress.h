/* SPDX-License-Identifier: MIT
 *
 * Long work, seen from a terminal: how far it is, and that it is to end.
 */
#ifndef HB_TOOLS_PROGRESS_H
#define HB_TOOLS_PROGRESS_H

#include <hipboard/analysis.h>

/** Options for reading: what takes over a second reports its progress on a terminal, and an
 * interrupt ends the reading cleanly. */
hb_open_options progress_options(void);

/** Whether an interrupt came since progress_options(); it ends the command when it comes again. */
bool progress_interrupted(void);

/** Takes the line of progress off the terminal. */
void progress_clear(void);

#endif
