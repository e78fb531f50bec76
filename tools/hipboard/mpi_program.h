/* SPDX-License-Identifier: MIT
 *
 * Whether a program uses MPI, so that its calls are to be taken.
 */
#ifndef HB_TOOLS_MPI_PROGRAM_H
#define HB_TOOLS_MPI_PROGRAM_H

#include <limits.h>
#include <stdbool.h>

#define MPI_LIBRARY    "libhipboard-mpi.so.0"
#define RCCL_LIBRARY   "libhipboard-rccl.so.0"
#define OPENMP_LIBRARY "libhipboard-openmp.so.0"

/** The file that a command's name stands for, by PATH. */
void find_program(const char *name, char path[PATH_MAX]);

/** By the option's value, "auto", "mpi" or "none". "auto": if the program is linked to an MPI, by
 * itself or by a library of its own, or if a launcher started it and it is a script or an
 * interpreter, which may load MPI or start a program that does. */
bool wants_mpi(const char *comm, const char *program, bool is_rank);

#endif
