/* SPDX-License-Identifier: MIT
 *
 * librccl.so.1 as ROCm builds it: the tests' stand-in, whose calls go by a table that it registers
 * at the first of them, where RCCL_STANDIN_REPORTS is set. It launches no kernels.
 */
#define ncclGetVersion        plain_ncclGetVersion
#define ncclGetUniqueId       plain_ncclGetUniqueId
#define ncclCommInitRank      plain_ncclCommInitRank
#define ncclCommSplit         plain_ncclCommSplit
#define ncclCommDestroy       plain_ncclCommDestroy
#define ncclCommCount         plain_ncclCommCount
#define ncclCommUserRank      plain_ncclCommUserRank
#define ncclCommGetAsyncError plain_ncclCommGetAsyncError
#define ncclGroupStart        plain_ncclGroupStart
#define ncclGroupEnd          plain_ncclGroupEnd
#define ncclAllReduce         plain_ncclAllReduce
#define ncclBroadcast         plain_ncclBroadcast
#define ncclAllGather         plain_ncclAllGather
#define ncclReduceScatter     plain_ncclReduceScatter
#define ncclSend              plain_ncclSend
#define ncclRecv              plain_ncclRecv
#include "../rccl/standin.c"
#undef ncclGetVersion
#undef ncclGetUniqueId
#undef ncclCommInitRank
#undef ncclCommSplit
#undef ncclCommDestroy
#undef ncclCommCount
#undef ncclCommUserRank
#undef ncclCommGetAsyncError
#undef ncclGroupStart
#undef ncclGroupEnd
#undef ncclAllReduce
#undef ncclBroadcast
#undef ncclAllGather
#undef ncclReduceScatter
#undef ncclSend
#undef ncclRecv

#include <dlfcn.h>
#include <pthread.h>

#include "fake.h"

static fake_table table;

static void register_table(void)
{
    static void *tables[1] = {&table};
    int (*tell)(const char *, void *, uint32_t, void **, uint64_t, uint64_t *);
    uint64_t id;
    void *library = dlopen("librocprofiler-register.so.0", RTLD_LAZY | RTLD_NOLOAD);
    void *address = library ? dlsym(library, "rocprofiler_register_library_api_table") : NULL;
    memcpy(&tell, &address, sizeof tell);
    if (tell && getenv("RCCL_STANDIN_REPORTS")) tell("rccl", NULL, 22204, tables, 1, &id);
}

static void *begin(const char *function, const void *args, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_table);
    return table.enter ? table.enter(function, args, size) : NULL;
}

static ncclResult_t end(void *call, ncclResult_t result)
{
    if (call) table.exit(call, (int)result);
    return result;
}

/* clang-format off: a macro is a function's whole body */
/* The structure is as in rocprofiler-sdk's headers. */
#define REPORTED(function, members, ...)                   \
    {                                                      \
        struct {                                           \
            members                                        \
        } args = {__VA_ARGS__};                            \
        void *call = begin(#function, &args, sizeof args); \
        return end(call, plain_##function(__VA_ARGS__));   \
    }

ncclResult_t ncclGetVersion(int *version)
    REPORTED(ncclGetVersion, int *version;, version)

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
    REPORTED(ncclGetUniqueId, ncclUniqueId *id;, id)

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int ranks, ncclUniqueId id, int rank)
    REPORTED(ncclCommInitRank, ncclComm_t *comm; int ranks; ncclUniqueId id; int rank;,
             comm, ranks, id, rank)

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *to, void *config)
    REPORTED(ncclCommSplit, ncclComm_t comm; int color; int key; ncclComm_t *to; void *config;,
             comm, color, key, to, config)

ncclResult_t ncclCommDestroy(ncclComm_t comm)
    REPORTED(ncclCommDestroy, ncclComm_t comm;, comm)

ncclResult_t ncclCommCount(const ncclComm_t comm, int *count)
    REPORTED(ncclCommCount, ncclComm_t comm; int *count;, comm, count)

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int *rank)
    REPORTED(ncclCommUserRank, ncclComm_t comm; int *rank;, comm, rank)

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *error)
    REPORTED(ncclCommGetAsyncError, ncclComm_t comm; ncclResult_t *error;, comm, error)

ncclResult_t ncclGroupStart(void)
{
    void *call = begin("ncclGroupStart", "", 1);
    return end(call, plain_ncclGroupStart());
}

ncclResult_t ncclGroupEnd(void)
{
    void *call = begin("ncclGroupEnd", "", 1);
    return end(call, plain_ncclGroupEnd());
}

ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, hipStream_t stream)
    REPORTED(ncclAllReduce, const void *send; void *recv; size_t count; ncclDataType_t type;
             ncclRedOp_t op; ncclComm_t comm; hipStream_t stream;,
             send, recv, count, type, op, comm, stream)

ncclResult_t ncclBroadcast(const void *send, void *recv, size_t count, ncclDataType_t type,
                           int root, ncclComm_t comm, hipStream_t stream)
    REPORTED(ncclBroadcast, const void *send; void *recv; size_t count; ncclDataType_t type;
             int root; ncclComm_t comm; hipStream_t stream;,
             send, recv, count, type, root, comm, stream)

ncclResult_t ncclAllGather(const void *send, void *recv, size_t count, ncclDataType_t type,
                           ncclComm_t comm, hipStream_t stream)
    REPORTED(ncclAllGather, const void *send; void *recv; size_t count; ncclDataType_t type;
             ncclComm_t comm; hipStream_t stream;, send, recv, count, type, comm, stream)

ncclResult_t ncclReduceScatter(const void *send, void *recv, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, hipStream_t stream)
    REPORTED(ncclReduceScatter, const void *send; void *recv; size_t count; ncclDataType_t type;
             ncclRedOp_t op; ncclComm_t comm; hipStream_t stream;,
             send, recv, count, type, op, comm, stream)

ncclResult_t ncclSend(const void *send, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, hipStream_t stream)
    REPORTED(ncclSend, const void *send; size_t count; ncclDataType_t type; int peer;
             ncclComm_t comm; hipStream_t stream;, send, count, type, peer, comm, stream)

ncclResult_t ncclRecv(void *recv, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      hipStream_t stream)
    REPORTED(ncclRecv, void *recv; size_t count; ncclDataType_t type; int peer; ncclComm_t comm;
             hipStream_t stream;, recv, count, type, peer, comm, stream)
