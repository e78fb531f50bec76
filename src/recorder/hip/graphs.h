/* SPDX-License-Identifier: MIT
 *
 * For runtimes that report the work of a graph once only: which graphs have not run yet.
 */
#ifndef HB_HIP_GRAPHS_H
#define HB_HIP_GRAPHS_H

#include <stdbool.h>
#include <stdint.h>

/** A session begins: graphs made before it are not reported in it. On a runtime that reports all
 * runs of graphs (`watch` false) nothing below does anything. */
void hb_graphs_begin(bool watch);

/** An executable graph was made. */
void hb_graphs_made(uint64_t exec);

/** It was launched: false when its work is not reported. */
bool hb_graphs_run(uint64_t exec);

/** In a forked child. */
void hb_graphs_after_fork(void);

#endif
