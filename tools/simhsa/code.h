/* SPDX-License-Identifier: MIT
 *
 * Executables: code objects loaded on agents, and their symbols.
 */
#ifndef SIM_CODE_H
#define SIM_CODE_H

#include "kernel.h"

/** The kernel whose descriptor is at `kernel_object`, as dispatch packets say it; NULL for none. */
sim_kernel *sim_code_kernel(uint64_t kernel_object);

#endif
