/* SPDX-License-Identifier: MIT
 *
 * The kernels on an AMD GPU, through HIP: the files in hip/.
 */
#ifndef DIGITS_HIP_H
#define DIGITS_HIP_H

#include "backend.h"

/** Starts the first GPU with the kernels in the file `code`. Ends the program, with the reason,
 * where that cannot be done. */
const struct backend *hip_open(const char *code);

/** The name of that GPU. */
const char *hip_device_name(void);

/** After all memory has been given back. */
void hip_close(void);

#endif
