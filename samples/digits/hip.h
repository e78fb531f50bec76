/* SPDX-License-Identifier: MIT
 *
 * The kernels on an AMD GPU, through HIP: the files in hip/.
 */
#ifndef DIGITS_HIP_H
#define DIGITS_HIP_H

#include "backend.h"

/** Prints the GPUs, one a line; with none, why on stderr. How many there are. */
int hip_list_devices(void);

/** Starts the first GPU with the kernels in the file `code`. Ends the program, with the reason,
 * where that cannot be done. */
const struct backend *hip_open(const char *code);

/** The name of that GPU. */
const char *hip_device_name(void);

/** After all memory has been given back. */
void hip_close(void);

#endif
