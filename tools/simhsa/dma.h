/* SPDX-License-Identifier: MIT
 *
 * DMA engines: each GPU has one for copies to it and one for copies from it.
 */
#ifndef SIM_DMA_H
#define SIM_DMA_H

/** Ends the engines' threads; copies that have not begun are dropped. */
void sim_dma_stop(void);

#endif
