/* SPDX-License-Identifier: MIT
 *
 * Nanoseconds a call of MPI takes: what recording adds. The best of many short rounds, so that
 * other processes of the machine do not matter, and behind it the middle half of the rounds, which
 * says how much is noise. Built by mpi_costs.sh.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CALLS = 1000, ROUNDS = 100, MANY = 8192 };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

#define TIME(what, ...)                                                                 \
    do {                                                                                \
        double ns[ROUNDS];                                                              \
        for (int round = 0; round < ROUNDS; round++) {                                  \
            double start = MPI_Wtime();                                                 \
            for (int i = 0; i < CALLS; i++) {                                           \
                __VA_ARGS__;                                                            \
            }                                                                           \
            ns[round] = (MPI_Wtime() - start) / CALLS * 1e9;                            \
        }                                                                               \
        qsort(ns, ROUNDS, sizeof *ns, by_value);                                        \
        if (rank == 0)                                                                  \
            printf("  %-22s %7.0f ns    (%.0f to %.0f)\n", what, ns[0], ns[ROUNDS / 4], \
                   ns[3 * ROUNDS / 4]);                                                 \
    } while (0)

int main(int argc, char **argv)
{
    static double values[MANY], sums[MANY];
    double value = 1, sum;
    int rank, size, in, out = 0;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    TIME("Barrier, self", MPI_Barrier(MPI_COMM_SELF));
    TIME("Allreduce, self", MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF));
    TIME("Irecv+Isend+Waitall", MPI_Irecv(&in, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[0]);
         MPI_Isend(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[1]);
         MPI_Waitall(2, requests, statuses));
    if (size > 1) {
        TIME("Allreduce, 8 bytes",
             MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
        TIME("Allreduce, 64 KiB",
             MPI_Allreduce(values, sums, MANY, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    }
    MPI_Finalize();
    return 0;
}
