/* SPDX-License-Identifier: MIT
 *
 * What an interposer of MPI must understand, on any number of ranks from 2 on; rank 0 prints "ok"
 * when all results are right. It is built by the tests, by mpicc of each MPI.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int wrong;

static void expect(int right)
{
    wrong += !right;
}

static void reduce(int rank, int size)
{
    double value = rank, sum;
    float many[100];
    MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    expect(sum == size * (size - 1) / 2.0);
    for (int i = 0; i < 100; i++)
        many[i] = (float)rank;
    MPI_Allreduce(MPI_IN_PLACE, many, 100, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    expect(many[99] == (float)sum);
}

static void split(int rank)
{
    MPI_Comm half, copy;
    int one = 1;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_set_name(half, rank % 2 ? "odd" : "even");
    MPI_Bcast(&one, 1, MPI_INT, 0, half);
    MPI_Comm_dup(half, &copy);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
}

/* 3 of 4 doubles: 24 bytes of 96. */
static void send_columns(int rank, int left, int right)
{
    MPI_Datatype column;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    double from[12], to[12];
    int done = 0, index;
    MPI_Type_vector(3, 1, 4, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < 12; i++)
        from[i] = rank * 100 + i, to[i] = -1;
    MPI_Irecv(to, 1, column, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(from, 1, column, right, 7, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    expect(to[4] == left * 100 + 4 && statuses[0].MPI_SOURCE == left);
    MPI_Irecv(to, 1, column, left, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(from, 1, column, right, 8, MPI_COMM_WORLD, &requests[1]);
    while (!done)
        MPI_Test(&requests[0], &done, MPI_STATUS_IGNORE);
    MPI_Waitany(1, &requests[1], &index, MPI_STATUS_IGNORE);
    expect(index == 0 && requests[0] == MPI_REQUEST_NULL);
    MPI_Type_free(&column);
}

static void repeat(int rank, int left, int right)
{
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int in = -1;
    MPI_Send_init(&rank, 1, MPI_INT, right, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, left, 9, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
        expect(in == left);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void receive_any(int rank, int size)
{
    MPI_Status status;
    int values[8] = {rank};
    if (rank == 0) {
        MPI_Recv(values, 8, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        MPI_Recv(values, 8, MPI_INT, size - 1, 21, MPI_COMM_WORLD, &status);
        expect(values[0] == size - 1 && status.MPI_TAG == 21);
    }
    if (rank == size - 1) {
        MPI_Send(values, 3, MPI_INT, 0, 20, MPI_COMM_WORLD);
        MPI_Send(values, 2, MPI_INT, 0, 21, MPI_COMM_WORLD);
    }
}

/* Who is not the root passes nothing where only its own counts are looked at. */
static void gather(int rank, int size)
{
    int *counts = malloc(sizeof(int) * (size_t)size), *places = malloc(sizeof(int) * (size_t)size);
    int *all = calloc((size_t)size, sizeof(int));
    for (int i = 0; i < size; i++)
        counts[i] = 1, places[i] = i;
    MPI_Allgatherv(&rank, 1, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    expect(all[size - 1] == size - 1);
    if (rank == 0)
        MPI_Gatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, counts, places, MPI_INT, 0,
                    MPI_COMM_WORLD);
    else
        MPI_Gatherv(&rank, 1, MPI_INT, NULL, (int *)1, (int *)1, MPI_DATATYPE_NULL, 0,
                    MPI_COMM_WORLD);
    free(counts);
    free(places);
    free(all);
}

/* A call that fails is the program's own business. */
static void fail(void)
{
    MPI_Comm own;
    int value = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN);
    expect(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 1, own) != MPI_SUCCESS);
    expect(MPI_Send(&value, 1, MPI_INT, 1 << 20, 1, own) != MPI_SUCCESS);
    MPI_Comm_free(&own);
}

int main(int argc, char **argv)
{
    int provided, rank, size, in = -1;
    MPI_Request request;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    if (argc > 1 && rank == size - 1) MPI_Abort(MPI_COMM_WORLD, 9);
    reduce(rank, size);
    split(rank);
    send_columns(rank, left, right);
    repeat(rank, left, right);
    receive_any(rank, size);
    gather(rank, size);
    fail();
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 10, &in, 1, MPI_INT, left, 10, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expect(in == left);
#if MPI_VERSION >= 4
    MPI_Allreduce_c(MPI_IN_PLACE, &wrong, (MPI_Count)1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
#endif
    MPI_Reduce(rank ? &wrong : MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%s\n", wrong ? "WRONG" : "ok");
    MPI_Finalize();
    return wrong != 0;
}
