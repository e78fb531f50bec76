/* SPDX-License-Identifier: MIT
 *
 * How many kernels graphs hold, so that the reports of each run can be waited for. Known of those
 * that were captured and made in the present session; of others nobody knows how much there is.
 */
#ifndef HB_HIP_GRAPHS_H
#define HB_HIP_GRAPHS_H

#include <stdint.h>

/** A session begins. */
void hb_graphs_begin(void);

/** A graph of so many kernels was captured; an executable one was made of it. */
void hb_graphs_captured(uint64_t graph, uint32_t kernels);
void hb_graphs_made(uint64_t graph, uint64_t exec);

/** Kernels of each run of an executable graph; 0: not known. */
uint32_t hb_graphs_kernels(uint64_t exec);

/** In a forked child. */
void hb_graphs_after_fork(void);

#endif
