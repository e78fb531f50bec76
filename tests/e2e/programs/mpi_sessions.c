/* SPDX-License-Identifier: MIT
 *
 * MPI by sessions, without MPI_Init: sums of all and of the even ones. With an argument two
 * sessions at once.
 */
#include <mpi.h>
#include <stdio.h>

static void sum(MPI_Group group, const char *tag)
{
    int rank;
    double one[3] = {1, 1, 1}, all[3];
    MPI_Comm comm;
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Allreduce(one, all, 3, MPI_DOUBLE, MPI_SUM, comm);
    if (rank == 0) printf("%s %g\n", tag, all[2]);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    MPI_Session session, second;
    MPI_Group all, even;
    int rank, size, range[1][3] = {{0, 0, 2}};
    (void)argv;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_rank(all, &rank);
    MPI_Group_size(all, &size);
    if (argc > 1) MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second);
    sum(all, "all");
    range[0][1] = size - 1;
    MPI_Group_range_incl(all, 1, range, &even);
    if (rank % 2 == 0) sum(even, "even");
    if (argc > 1) {
        MPI_Group_from_session_pset(second, "mpi://WORLD", &all);
        sum(all, "again");
        MPI_Session_finalize(&second);
    }
    MPI_Session_finalize(&session);
    return 0;
}
