/* SPDX-License-Identifier: MIT
 *
 * Training on several ranks of an MPI job: each has its share of the digits, and all have the mean
 * of their gradients. Without MPI (no -DDIGITS_MPI) there is one rank.
 */
#ifndef DIGITS_RANKS_H
#define DIGITS_RANKS_H

#include "data.h"
#include "model.h"

struct ranks {
    int rank, count;
};

/** To be called first. Only rank 0's output is shown from then on. */
struct ranks ranks_begin(int *argc, char ***argv);

/** Leaves a set its rank's share, as many digits as the others have. */
void ranks_share(const struct ranks *ranks, struct dataset *set);

/** The mean over all ranks in place of each gradient. */
void ranks_average(const struct ranks *ranks, struct net *net);

void ranks_end(void);

#endif
