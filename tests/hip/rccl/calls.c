/* SPDX-License-Identifier: MIT
 *
 * rccl_calls RANKS RANK [FILE]: one rank's calls of RCCL, which test_rccl.py knows. FILE: where
 * rank 0 leaves the communicator's id for the others, as RCCL itself needs it. RCCL_CALLS_SPLIT:
 * the even ones and the odd ones reduce, too.
 *
 * rccl_calls RANKS: all ranks in one process, each with a GPU of its own.
 *
 * rccl_reported: the same, on the stand-ins of tests/hip/rocprofiler.
 *
 * rccl_profiled: the same; it records itself, into RCCL_CALLS_LOGDIR, and makes a call that fails.
 */
#include "standin.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef WITHOUT_STREAMS /* the runtime has none */
#define hipStreamCreate(stream) (*(stream) = NULL, hipSuccess)
#define hipSetDevice(device)    ((void)(device), hipSuccess)
#endif

enum { COUNT = 4096 };

static ncclComm_t comm;
static hipStream_t stream;
static void *data, *other;

#define OK(call)                                                          \
    do {                                                                  \
        int result_ = (int)(call);                                        \
        if (result_ != 0) {                                               \
            fprintf(stderr, "rccl_calls: %s gives %d\n", #call, result_); \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

#ifdef WITH_HIPBOARD
#include <hipboard/hipboard.h>

static hb_profiler *prof;

static void begin(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU | HB_ACTIVITY_HIP;
    o.operators = "communication";
    o.on_trace_ready = hb_tensorboard_trace_handler(getenv("RCCL_CALLS_LOGDIR"), NULL, 0);
    prof = hb_profiler_create(&o);
    OK(!prof || hb_profiler_start(prof) != HB_OK);
    OK(ncclAllReduce(NULL, NULL, 1, ncclFloat, ncclSum, NULL, NULL) != ncclInvalidArgument);
}

static void end(void)
{
    OK(hb_profiler_stop(prof));
    hb_profiler_destroy(prof);
}
#else
static void begin(void) {}
static void end(void) {}
#endif

/* Whole when it is there. */
static ncclUniqueId id_from(const char *path, int rank)
{
    ncclUniqueId id;
    char part[4096];
    FILE *file = NULL;
    if (rank == 0 || !path) OK(ncclGetUniqueId(&id));
    if (!path) return id;
    snprintf(part, sizeof part, "%s.part", path);
    if (rank == 0) {
        file = fopen(part, "wb");
        OK(!file || fwrite(&id, sizeof id, 1, file) != 1 || fclose(file) || rename(part, path));
        return id;
    }
    while (!(file = fopen(path, "rb")))
        usleep(1000);
    OK(fread(&id, sizeof id, 1, file) != 1);
    fclose(file);
    return id;
}

static void one_by_one(void)
{
    OK(ncclAllReduce(data, data, COUNT, ncclFloat, ncclSum, comm, stream));
    OK(ncclBroadcast(data, data, 100, ncclInt64, 0, comm, stream));
    OK(ncclAllGather(data, other, 10, ncclHalf, comm, stream));
    OK(ncclReduceScatter(other, data, 10, ncclBfloat16, ncclSum, comm, stream));
}

static void in_groups(int ranks, int rank)
{
    OK(ncclGroupStart());
    OK(ncclAllReduce(data, data, 7, ncclFloat, ncclSum, comm, stream));
    OK(ncclGroupEnd());
    OK(ncclGroupStart());
    OK(ncclSend(data, 64, ncclInt8, (rank + 1) % ranks, comm, stream));
    OK(ncclRecv(other, 64, ncclInt8, (rank + ranks - 1) % ranks, comm, stream));
    OK(ncclGroupStart());
    OK(ncclAllReduce(data, data, 8, ncclFloat, ncclSum, comm, stream));
    OK(ncclGroupEnd());
    OK(ncclGroupEnd());
}

/* Even and odd ranks, twice. */
static void in_halves(int rank)
{
    ncclComm_t half, again;
    OK(ncclCommSplit(comm, rank % 2, rank / 2, &half, NULL));
    OK(ncclAllReduce(data, data, 5, ncclFloat, ncclSum, half, stream));
    OK(ncclAllReduce(data, data, 6, ncclFloat, ncclSum, half, stream));
    OK(ncclCommSplit(comm, rank % 2, rank / 2, &again, NULL));
    OK(ncclAllReduce(data, data, 5, ncclFloat, ncclSum, again, stream));
    OK(ncclCommDestroy(again));
    OK(ncclCommDestroy(half));
}

static int all_in_one(int ranks)
{
    enum { MOST = 8 };
    ncclComm_t comms[MOST];
    hipStream_t streams[MOST];
    void *memory[MOST];
    if (ranks < 1 || ranks > MOST) return 2;
    for (int i = 0; i < ranks; i++) {
        OK(hipSetDevice(i));
        OK(hipMalloc(&memory[i], 1 << 20));
        OK(hipStreamCreate(&streams[i]));
    }
    OK(ncclCommInitAll(comms, ranks, NULL));
    OK(ncclGroupStart());
    for (int i = 0; i < ranks; i++)
        OK(ncclAllReduce(memory[i], memory[i], COUNT, ncclFloat, ncclSum, comms[i], streams[i]));
    OK(ncclGroupEnd());
    bool each = getenv("RCCL_CALLS_EACH");
    for (int i = 0; i < ranks && each; i++) { /* what comes now hides none of the group's */
        OK(hipSetDevice(i));
        OK(hipStreamSynchronize(streams[i]));
    }
    for (int i = 0; i < ranks; i++) {
        OK(hipSetDevice(i));
        for (int k = 3 * i; each && k < 4; k++) /* the first one more */
            OK(ncclAllReduce(memory[i], memory[i], COUNT, ncclFloat, ncclSum, comms[i],
                             streams[i]));
        OK(hipStreamSynchronize(streams[i]));
    }
    for (int i = 0; i < ranks; i++)
        OK(ncclCommDestroy(comms[i]));
    puts("ok");
    return 0;
}

int main(int argc, char **argv)
{
    int ranks = argc > 1 ? atoi(argv[1]) : 1, rank = argc > 2 ? atoi(argv[2]) : 0;
    if (argc == 2) return all_in_one(ranks);
    begin();
    ncclUniqueId id = id_from(argc > 3 ? argv[3] : NULL, rank);
    ncclResult_t error;
    if (getenv("RCCL_CALLS_DEVICES")) OK(hipSetDevice(rank));
    OK(hipMalloc(&data, 1 << 20));
    OK(hipMalloc(&other, 1 << 20));
    OK(hipStreamCreate(&stream));
    OK(ncclGroupStart());
    OK(ncclCommInitRank(&comm, ranks, id, rank));
    OK(ncclGroupEnd());
    one_by_one();
    in_groups(ranks, rank);
    OK(ncclCommGetAsyncError(comm, &error));
    OK(ncclCommGetAsyncError(comm, &error));
    OK(hipStreamSynchronize(stream));
    OK(hipDeviceSynchronize());
    if (getenv("RCCL_CALLS_SPLIT")) in_halves(rank);
    OK(ncclCommDestroy(comm));
    end();
    puts("ok");
    return 0;
}
