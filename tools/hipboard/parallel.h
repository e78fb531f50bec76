/* SPDX-License-Identifier: MIT
 *
 * A command that several processes of a parallel job do together: `mpirun -n 16 hipboard ranks`.
 * MPI is found while it runs, as its library has it; hipboard is not linked with any.
 */
#ifndef HB_TOOLS_PARALLEL_H
#define HB_TOOLS_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>

typedef struct parallel {
    int rank, size; /* size 1: this process does it all */
    bool idle;      /* without MPI only the first process of a job works */
} parallel;

/** Begins MPI where a launcher has started several processes. Says under the command's name why
 * they do not share the work. */
parallel parallel_begin(const char *name);

/** Of all but rank 0: sends bytes there. */
bool parallel_send(const char *bytes, size_t size);
/** Of rank 0: what `from` sends, from malloc; NULL: nothing came. */
char *parallel_receive(int from, size_t *size);

void parallel_end(const parallel *p);

#endif
