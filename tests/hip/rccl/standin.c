/* SPDX-License-Identifier: MIT
 *
 * A librccl that moves no data: each call, or group of calls, launches one kernel of RCCL's name,
 * where RCCL launches it. RCCL_STANDIN_ERROR=1: communicators have an asynchronous error;
 * RCCL_STANDIN_VERSION=20900: it is that one.
 */
#include "standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "standin_plugin.h"

struct ncclComm {
    int ranks, rank;
    int gpu; /* of several in one process; else 0 */
    unsigned long long collectives;
    void *profiler;
};

enum { MOST_TASKS = 16 };
static __thread plugin_task tasks[MOST_TASKS];
static __thread int depth, held, gpu; /* gpu: of the last one held */
/* Communicators that a group's end makes, as RCCL's earlier releases do. */
static __thread struct {
    ncclComm_t *to, comm;
} made[8];
static __thread int num_made;

static const char *name_of(ncclDataType_t type)
{
    return type == ncclFloat ? "ncclFloat32" : "ncclInt8"; /* plugins are told no more than this */
}

/* One more operation of those that a kernel is launched for. */
static void add(const char *function, size_t count, ncclDataType_t type, int peer, ncclComm_t comm)
{
    if (!comm || held == MOST_TASKS) return;
    gpu = comm->gpu;
    tasks[held++] = (plugin_task){.profiler = comm->profiler,
                                  .function = function,
                                  .type = name_of(type),
                                  .count = count,
                                  .rank = comm->rank,
                                  .peer = peer,
                                  .sequence = peer < 0 ? comm->collectives++ : 0};
}

#ifdef STANDIN_WITHOUT_KERNELS
static ncclResult_t launch(hipStream_t stream)
{
    (void)stream;
    if (!depth) held = 0;
    return ncclSuccess;
}
#else
static hipFunction_t kernels[8]; /* of each GPU */

static ncclResult_t launch(hipStream_t stream)
{
    hipModule_t module;
    hipFunction_t *kernel = &kernels[gpu];
    int count = held;
    if (depth) return ncclSuccess;
    held = 0;
    if (!*kernel && (hipModuleLoad(&module, TEST_RCCL_KERNELS) != hipSuccess ||
                     hipModuleGetFunction(kernel, module, "ncclDevKernel_Generic_1") != hipSuccess))
        return ncclSystemError;
    plugin_begin(tasks, count);
    hipError_t error = hipModuleLaunchKernel(*kernel, 1, 1, 1, 256, 1, 1, 0, stream, NULL, NULL);
    plugin_end(tasks, count);
    return error == hipSuccess ? ncclSuccess : ncclSystemError;
}
#endif

static ncclResult_t make(ncclComm_t *to, int ranks, int rank)
{
    struct ncclComm *comm = malloc(sizeof *comm);
    if (!comm) return ncclSystemError;
    *comm = (struct ncclComm){ranks, rank, 0, 0, plugin_communicator(ranks, rank)};
    if (depth && num_made < 8) {
        made[num_made].to = to;
        made[num_made++].comm = comm;
    } else {
        *to = comm;
    }
    return ncclSuccess;
}

ncclResult_t ncclGetVersion(int *version)
{
    const char *number = getenv("RCCL_STANDIN_VERSION");
    *version = number ? atoi(number) : 21304;
    return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    memset(id, 7, sizeof *id);
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    return result == ncclSuccess ? "no error" : "unhandled system error";
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
{
    return id.internal[0] ? make(comm, ranks, rank) : ncclInvalidArgument;
}

ncclResult_t ncclCommInitAll(ncclComm_t *comms, int devices, const int *list)
{
    ncclResult_t result = ncclSuccess;
    (void)list;
    for (int i = 0; i < devices && result == ncclSuccess; i++) {
        result = make(&comms[i], devices, i);
        if (result == ncclSuccess && !depth) comms[i]->gpu = i % 8;
    }
    return result;
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *to, void *config)
{
    (void)color, (void)config;
    return make(to, comm->ranks / 2, key);
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    plugin_communicator_gone(comm->profiler);
    free(comm);
    return ncclSuccess;
}

ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    return ncclCommDestroy(comm);
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
{
    *count = comm->ranks;
    return ncclSuccess;
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
{
    *rank = comm->rank;
    return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
{
    (void)comm;
    *error = getenv("RCCL_STANDIN_ERROR") ? ncclSystemError : ncclSuccess;
    return ncclSuccess;
}

ncclResult_t ncclGroupStart(void)
{
    depth++;
    return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
    if (--depth) return ncclSuccess;
    while (num_made) {
        num_made--;
        *made[num_made].to = made[num_made].comm;
    }
    if (!held) return ncclSuccess;
    return launch(NULL);
}

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, hipStream_t stream)
{
    (void)send, (void)recv, (void)op;
    add("AllReduce", count, type, -1, comm);
    return comm ? launch(stream) : ncclInvalidArgument;
}

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, hipStream_t stream)
{
    (void)send, (void)recv, (void)root;
    add("Broadcast", count, type, -1, comm);
    return launch(stream);
}

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type,
                           ncclComm_t comm, hipStream_t stream)
{
    (void)send, (void)recv;
    add("AllGather", count, type, -1, comm);
    return launch(stream);
}

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, hipStream_t stream)
{
    (void)send, (void)recv, (void)op;
    add("ReduceScatter", count, type, -1, comm);
    return launch(stream);
}

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, hipStream_t stream)
{
    (void)send;
    add("Send", count, type, peer, comm);
    return launch(stream);
}

ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      hipStream_t stream)
{
    (void)recv;
    add("Recv", count, type, peer, comm);
    return launch(stream);
}
