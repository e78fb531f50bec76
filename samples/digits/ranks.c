/* SPDX-License-Identifier: MIT */
#include "ranks.h"

#include "die.h"

#ifdef DIGITS_MPI

#include <mpi.h>

struct ranks ranks_begin(int *argc, char ***argv)
{
    struct ranks ranks;
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &ranks.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks.count);
    if (ranks.rank > 0 && !freopen("/dev/null", "w", stdout)) die("/dev/null can't be written to");
    return ranks;
}

/* Nothing here speaks of hipboard: libhipboard-mpi, or `hipboard record`, sees MPI's calls. */
void ranks_average(const struct ranks *ranks, struct net *net)
{
    for (int i = 0; i < NET_PARAMETERS; i++) {
        struct tensor *grad = &net->parameters[i].grad;
        MPI_Allreduce(MPI_IN_PLACE, grad->data, (int)tensor_count(grad), MPI_FLOAT, MPI_SUM,
                      MPI_COMM_WORLD);
        op_mul_(grad, 1.0f / (float)ranks->count);
    }
}

void ranks_end(void)
{
    MPI_Finalize();
}

#else

struct ranks ranks_begin(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return (struct ranks){.count = 1};
}

void ranks_average(const struct ranks *ranks, struct net *net)
{
    (void)ranks, (void)net;
}

void ranks_end(void) {}

#endif

void ranks_share(const struct ranks *ranks, struct dataset *set)
{
    size_t count = set->count / (size_t)ranks->count;
    for (size_t i = 0; i < count; i++)
        set->digits[i] = set->digits[i * (size_t)ranks->count + (size_t)ranks->rank];
    set->count = count;
}
