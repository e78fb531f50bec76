/* SPDX-License-Identifier: MIT
 *
 * A program that says which of its sums are to be recorded: 1 and 2 of them, 3 not, 4 and 5.
 */
#include <mpi.h>
#include <stdio.h>

static void sums(int n, int count)
{
    double one[8] = {0}, all[8];
    for (int i = 0; i < n; i++)
        MPI_Allreduce(one, all, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sums(1, 1);
    MPI_Pcontrol(2);
    sums(2, 2);
    MPI_Pcontrol(0);
    sums(3, 3);
    MPI_Pcontrol(1);
    sums(4, 4);
    MPI_Pcontrol(1);
    MPI_Pcontrol(7, "of another tool");
    sums(5, 5);
    MPI_Finalize();
    if (rank == 0) puts("ok");
    return 0;
}
