/* SPDX-License-Identifier: MIT
 *
 * Nanoseconds a call of MPI takes one rank on its own: what recording adds. The best of many short
 * rounds, so that other processes of the machine do not matter. Built by mpi_costs.sh.
 */
#include <mpi.h>
#include <stdio.h>

enum { CALLS = 1000, ROUNDS = 100 };

#define TIME(what, ...)                                                      \
    do {                                                                     \
        double best = 1e9;                                                   \
        for (int round = 0; round < ROUNDS; round++) {                       \
            double start = MPI_Wtime();                                      \
            for (int i = 0; i < CALLS; i++) {                                \
                __VA_ARGS__;                                                 \
            }                                                                \
            double ns = (MPI_Wtime() - start) / CALLS * 1e9;                 \
            best = ns < best ? ns : best;                                    \
        }                                                                    \
        if (rank == 0) printf("  %-22s %7.0f ns\n", what, best);             \
    } while (0)

int main(int argc, char **argv)
{
    double value = 1, sum;
    int rank, size, in, out = 0;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    TIME("Barrier, self", MPI_Barrier(MPI_COMM_SELF));
    TIME("Allreduce, self",
         MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF));
    TIME("Irecv+Isend+Waitall", MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
         MPI_Isend(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]);
         MPI_Waitall(2, requests, statuses));
    if (size > 1)
        TIME("Allreduce, all",
             MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    MPI_Finalize();
    return 0;
}
