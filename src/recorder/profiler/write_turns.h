/* SPDX-License-Identifier: MIT
 *
 * A job's ranks write their traces when they end, all at once. Into a directory on another machine
 * at most four of a node do so at a time, and of many nodes each begins a little later than others.
 */
#ifndef HB_PROFILER_WRITE_TURNS_H
#define HB_PROFILER_WRITE_TURNS_H

#include "base/launcher.h"

enum { HB_WRITE_TURNS_WINDOW_MS = 2000 };

/** How long this node waits before its ranks write: of 64 nodes and more each its own time within
 * the window, by its name; else 0. */
unsigned hb_write_turn_delay_ms(const hb_launcher *launcher, const char *host);

/** Waits for a turn, in vain for at most a minute: then it writes all the same. What is returned
 * ends it; -1: there is nothing to end. */
int hb_write_turn_take(const char *path);
void hb_write_turn_give(int turn);

#endif
