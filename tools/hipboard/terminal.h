/* SPDX-License-Identifier: MIT
 *
 * Standard output and error where they are terminals: names of files, events, workers and hosts are
 * other people's, and must not steer the user's terminal, whichever command prints them.
 */
#ifndef HB_TOOLS_TERMINAL_H
#define HB_TOOLS_TERMINAL_H

/** From now on control characters but for tab and newline, C1 ones too, are printed as \u001b. What
 * is no terminal gets every byte as it is. */
void terminal_protect(void);

/** hipboard's own bold and colours pass from now on, on standard output. */
void terminal_allow_styles(void);

#endif
