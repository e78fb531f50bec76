/* SPDX-License-Identifier: MIT
 *
 * Executables: code objects loaded on agents, and their symbols.
 */
#ifndef SIM_CODE_H
#define SIM_CODE_H

#include <hsa/hsa_ven_amd_loader.h>

#include "kernel.h"

/** The kernel whose descriptor is at `kernel_object`, as dispatch packets say it; NULL for none. */
sim_kernel *sim_code_kernel(uint64_t kernel_object);

/* What debuggers and profilers ask of the loader: all that is loaded, and where it came from. */

/** Executables are not destroyed meanwhile. */
hsa_status_t sim_each_executable(hsa_status_t (*callback)(hsa_executable_t executable, void *data),
                                 void *data);
hsa_status_t sim_each_object(hsa_executable_t executable,
                             hsa_status_t (*callback)(hsa_executable_t executable,
                                                      hsa_loaded_code_object_t object, void *data),
                             void *data);
hsa_status_t sim_object_info(hsa_loaded_code_object_t object,
                             hsa_ven_amd_loader_loaded_code_object_info_t attribute, void *value);

#endif
