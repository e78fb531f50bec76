/* SPDX-License-Identifier: MIT
 *
 * hip_prof_str.h lays a call's parameters out in order and puts behind each pointer that it looks
 * into the value found there. Functions keep their layout from version to version; a test compares
 * this table with the installed header.
 */
#include "hip/call_layouts.h"

#include <stdlib.h>

#define NO HB_NO_ARG

#define HIDDEN(name)                                      \
    {                                                     \
        name, HB_CALL_HIDDEN, NO, NO, NO, NO, 0, NO, NULL \
    }
/* kind, function, dynamic LDS, stream; the grid stands at 8 and the block at 20 in all of them */
#define LAUNCH(name, kind, lds, stream, shape)       \
    {                                                \
        name, kind, 0, NO, lds, NO, 0, stream, shape \
    }
/* By a structure that begins with grid and block. */
#define LAUNCH_BY_CONFIG(name, kind)           \
    {                                          \
        name, kind, 64, 0, 24, NO, 0, 32, "Cp" \
    }
#define COPY(name, src, bytes, copy, stream, shape)               \
    {                                                             \
        name, HB_CALL_COPY, 0, src, bytes, copy, 0, stream, shape \
    }
#define COPY_2D(name, src, width, copy, stream, shape)               \
    {                                                                \
        name, HB_CALL_COPY_2D, 0, src, width, copy, 0, stream, shape \
    }
#define FILL(name, unit, stream)                                \
    {                                                           \
        name, HB_CALL_FILL, 0, NO, 16, NO, unit, stream, "pipp" \
    }
#define FILL_2D(name, unit, stream, shape)                        \
    {                                                             \
        name, HB_CALL_FILL_2D, 0, NO, 24, NO, unit, stream, shape \
    }
/* Of whose arguments only the stream is read; in front of it stand so many bytes of values that
 * hip_prof_str.h has looked up. */
#define WORK_ON(name, values, stream, shape)                            \
    {                                                                   \
        name, HB_CALL_WORK, NO, NO, NO, NO, (values) / 8, stream, shape \
    }
#define ALLOCATE(name, kind)                   \
    {                                          \
        name, kind, 0, NO, 16, NO, 0, NO, "Pp" \
    }
#define ON_STREAM(name, kind, stream)               \
    {                                               \
        name, kind, NO, NO, NO, NO, 0, stream, "pp" \
    }
#define MAKE_GRAPH(name)                                     \
    {                                                        \
        name, HB_CALL_MAKE_GRAPH, 0, 16, NO, NO, 0, NO, "Pp" \
    }
#define OTHER(name, kind, ptr)                  \
    {                                           \
        name, kind, ptr, NO, NO, NO, 0, NO, "p" \
    }

/* In the order of strcmp(). */
static const hb_hip_call calls[] = {
    HIDDEN("__hipPopCallConfiguration"),
    HIDDEN("__hipPushCallConfiguration"),
    OTHER("hipCtxSynchronize", HB_CALL_WAIT, NO),
    OTHER("hipDeviceReset", HB_CALL_DESTROY_STREAMS, NO),
    OTHER("hipDeviceSynchronize", HB_CALL_WAIT, NO),
    LAUNCH_BY_CONFIG("hipDrvLaunchKernelEx", HB_CALL_LAUNCH),
    WORK_ON("hipDrvMemcpy3DAsync", 184, 192, "Sp"),
    ON_STREAM("hipEventRecord", HB_CALL_ON_STREAM, 8),
    ON_STREAM("hipEventRecordWithFlags", HB_CALL_ON_STREAM, 8),
    OTHER("hipEventSynchronize", HB_CALL_WAIT, NO),
    HIDDEN("hipExtGetLastError"),
    LAUNCH("hipExtLaunchKernel", HB_CALL_LAUNCH_HOST, 48, 56, "pDDPpp"),
    ALLOCATE("hipExtMallocWithFlags", HB_CALL_ALLOCATE),
    LAUNCH("hipExtModuleLaunchKernel", HB_CALL_LAUNCH_ITEMS, 32, 40, "piiiiiipp"),
    OTHER("hipFree", HB_CALL_FREE, 0),
    {"hipFreeAsync", HB_CALL_FREE, 0, NO, NO, NO, 0, 8, "pp"},
    OTHER("hipFreeHost", HB_CALL_FREE_HOST, 0),
    HIDDEN("hipGetDevice"),
    HIDDEN("hipGetLastError"),
    {"hipGraphExecUpdate", HB_CALL_UPDATE_GRAPH, 0, 8, NO, NO, 0, NO, "pp"},
    MAKE_GRAPH("hipGraphInstantiate"),
    MAKE_GRAPH("hipGraphInstantiateWithFlags"),
    MAKE_GRAPH("hipGraphInstantiateWithParams"),
    {"hipGraphLaunch", HB_CALL_GRAPH_LAUNCH, 0, NO, NO, NO, 0, 8, "pp"},
    LAUNCH("hipHccModuleLaunchKernel", HB_CALL_LAUNCH_ITEMS, 32, 40, "piiiiiipp"),
    ALLOCATE("hipHostAlloc", HB_CALL_ALLOCATE_HOST),
    OTHER("hipHostFree", HB_CALL_FREE_HOST, 0),
    ALLOCATE("hipHostMalloc", HB_CALL_ALLOCATE_HOST),
    LAUNCH("hipLaunchCooperativeKernel", HB_CALL_LAUNCH_HOST, 48, 56, "pDDPip"),
    ON_STREAM("hipLaunchHostFunc", HB_CALL_ON_STREAM, 0),
    LAUNCH("hipLaunchKernel", HB_CALL_LAUNCH_HOST, 48, 56, "pDDPpp"),
    LAUNCH_BY_CONFIG("hipLaunchKernelExC", HB_CALL_LAUNCH_HOST),
    OTHER("hipLibraryUnload", HB_CALL_UNLOAD, NO),
    ALLOCATE("hipMalloc", HB_CALL_ALLOCATE),
    {"hipMallocAsync", HB_CALL_ALLOCATE, 0, NO, 16, NO, 0, 24, "Ppp"},
    {"hipMallocFromPoolAsync", HB_CALL_ALLOCATE, 0, 24, 16, NO, 0, 32, "Pppp"},
    ALLOCATE("hipMallocHost", HB_CALL_ALLOCATE_HOST),
    ALLOCATE("hipMallocManaged", HB_CALL_ALLOCATE_MANAGED),
    {"hipMallocPitch", HB_CALL_ALLOCATE_PITCH, 0, 16, 32, NO, 0, NO, "PPpp"},
    ALLOCATE("hipMemAllocHost", HB_CALL_ALLOCATE_HOST),
    {"hipMemAllocPitch", HB_CALL_ALLOCATE_PITCH, 0, 16, 32, NO, 0, NO, "PPpp"},
    OTHER("hipMemPoolDestroy", HB_CALL_DESTROY_POOL, 0),
    COPY("hipMemcpy", 8, 16, 24, NO, "pppip"),
    COPY_2D("hipMemcpy2D", 16, 32, 48, NO, "ppppppip"),
    COPY_2D("hipMemcpy2DAsync", 16, 32, 48, 56, "ppppppip"),
    WORK_ON("hipMemcpy3DAsync", 160, 168, "Qp"),
    WORK_ON("hipMemcpy3DBatchAsync", 120, 152, "pXPpp"),
    WORK_ON("hipMemcpy3DPeerAsync", 168, 176, "Rp"),
    COPY("hipMemcpyAsync", 8, 16, 24, 32, "pppip"),
    WORK_ON("hipMemcpyBatchAsync", 64, 128, "PPPpAPpPp"),
    COPY("hipMemcpyDtoD", 8, 16, NO, NO, "pppp"),
    COPY("hipMemcpyDtoDAsync", 8, 16, NO, 24, "pppp"),
    COPY("hipMemcpyDtoH", 8, 16, NO, NO, "pppp"),
    COPY("hipMemcpyDtoHAsync", 8, 16, NO, 24, "pppp"),
    COPY("hipMemcpyFromSymbol", 8, 16, 32, NO, "ppppip"),
    COPY("hipMemcpyFromSymbolAsync", 8, 16, 32, 40, "ppppip"),
    COPY("hipMemcpyHtoD", 8, 16, NO, NO, "pppp"),
    COPY("hipMemcpyHtoDAsync", 8, 16, NO, 24, "pppp"),
    WORK_ON("hipMemcpyParam2DAsync", 128, 136, "Bp"),
    {"hipMemcpyPeer", HB_CALL_COPY_PEER, 0, 16, 32, 24, 8, NO, "pipip"},
    {"hipMemcpyPeerAsync", HB_CALL_COPY_PEER, 0, 16, 32, 24, 8, 40, "pipipp"},
    COPY("hipMemcpyToSymbol", 8, 16, 32, NO, "ppppip"),
    COPY("hipMemcpyToSymbolAsync", 8, 16, 32, 40, "ppppip"),
    COPY("hipMemcpyWithStream", 8, 16, 24, 32, "pppip"),
    FILL("hipMemset", 1, NO),
    FILL_2D("hipMemset2D", 1, NO, "ppipp"),
    FILL_2D("hipMemset2DAsync", 1, 40, "ppippp"),
    WORK_ON("hipMemset3DAsync", 0, 64, "Cp"), /* its structures are not among the words */
    FILL("hipMemsetAsync", 1, 24),
    FILL("hipMemsetD16", 2, NO),
    FILL("hipMemsetD16Async", 2, 24),
    FILL_2D("hipMemsetD2D16", 2, NO, "ppipp"),
    FILL_2D("hipMemsetD2D16Async", 2, 40, "ppippp"),
    FILL_2D("hipMemsetD2D32", 4, NO, "ppipp"),
    FILL_2D("hipMemsetD2D32Async", 4, 40, "ppippp"),
    FILL_2D("hipMemsetD2D8", 1, NO, "ppipp"),
    FILL_2D("hipMemsetD2D8Async", 1, 40, "ppippp"),
    FILL("hipMemsetD32", 4, NO),
    FILL("hipMemsetD32Async", 4, 24),
    FILL("hipMemsetD8", 1, NO),
    FILL("hipMemsetD8Async", 1, 24),
    LAUNCH("hipModuleLaunchCooperativeKernel", HB_CALL_LAUNCH, 32, 40, "piiiiiiip"),
    LAUNCH("hipModuleLaunchKernel", HB_CALL_LAUNCH, 32, 40, "piiiiiiip"),
    OTHER("hipModuleUnload", HB_CALL_UNLOAD, NO),
    HIDDEN("hipPeekAtLastError"),
    ON_STREAM("hipStreamBeginCapture", HB_CALL_BEGIN_CAPTURE, 0),
    ON_STREAM("hipStreamDestroy", HB_CALL_DESTROY_STREAMS, 0),
    {"hipStreamEndCapture", HB_CALL_END_CAPTURE, 8, NO, NO, NO, 0, 0, "pP"},
    ON_STREAM("hipStreamSynchronize", HB_CALL_WAIT, 0),
    ON_STREAM("hipStreamWaitEvent", HB_CALL_ON_STREAM, 0),
};

static const hb_hip_call plain = {NULL, HB_CALL_PLAIN, NO, NO, NO, NO, 0, NO, NULL};
static const hb_hip_call work = {NULL, HB_CALL_WORK, NO, NO, NO, NO, 0, NO, NULL};

static bool is_called_like_work(const char *name)
{
    return strncmp(name, "hipMemcpy", 9) == 0 || strncmp(name, "hipDrvMemcpy", 12) == 0 ||
           strncmp(name, "hipMemset", 9) == 0 || strstr(name, "Launch");
}

typedef struct key {
    const char *name;
    size_t size;
} key;

static int compare(const void *k, const void *row)
{
    const key *a = k;
    const char *name = ((const hb_hip_call *)row)->name;
    int order = strncmp(a->name, name, a->size);
    return order ? order : -(name[a->size] != '\0');
}

const hb_hip_call *hb_hip_call_named(const char *name)
{
    key k = {name, strlen(name)};
    if (k.size > 4 && strcmp(name + k.size - 4, "_spt") == 0) k.size -= 4;
    const hb_hip_call *row = bsearch(&k, calls, HB_ARRAY_LEN(calls), sizeof *calls, compare);
    return row ? row : is_called_like_work(name) ? &work : &plain;
}

/* Where the values stand that hip_prof_str.h has looked up: behind a launch's list of arguments, an
 * allocation's result, an executable graph and a pitch. */
static void find_values(uint8_t kind, uint8_t values[2])
{
    values[0] = values[1] = NO;
    switch (kind) {
    case HB_CALL_LAUNCH_HOST: values[0] = 40; break;
    case HB_CALL_ALLOCATE:
    case HB_CALL_ALLOCATE_MANAGED:
    case HB_CALL_ALLOCATE_HOST:
    case HB_CALL_MAKE_GRAPH: values[0] = 8; break;
    case HB_CALL_ALLOCATE_PITCH:
        values[0] = 8;
        values[1] = 24;
        break;
    default: break;
    }
}

static uint8_t without(const uint8_t values[2], uint8_t offset)
{
    if (offset == NO) return NO;
    return (uint8_t)(offset - 8 * ((values[0] < offset) + (values[1] < offset)));
}

/* The offset that peer copies have in `unit` stays: there are no values in them. */
hb_hip_call hb_hip_call_unexpanded(const hb_hip_call *row)
{
    uint8_t values[2];
    hb_hip_call call = *row;
    if (row->kind == HB_CALL_WORK) {
        if (row->stream != NO) call.stream = (uint8_t)(row->stream - 8 * row->unit);
        return call;
    }
    if (hb_hip_call_has_config(row)) {
        call.ptr = 8; /* behind the pointer to the structure, which stood in full between them */
        return call;
    }
    find_values(row->kind, values);
    call.ptr = without(values, row->ptr);
    call.src = without(values, row->src);
    call.bytes = without(values, row->bytes);
    call.copy = without(values, row->copy);
    call.stream = without(values, row->stream);
    return call;
}

hb_hip_call hb_hip_call_of_release(const hb_hip_call *row, int release)
{
    enum { FIRST_WITH_WIDE_COPIES = 600, SHORTER = 56 };
    hb_hip_call call = *row;
    bool differs = row->name && strcmp(row->name, "hipDrvMemcpy3DAsync") == 0;
    if (differs && release < FIRST_WITH_WIDE_COPIES) call.stream -= SHORTER;
    return call;
}

const hb_hip_call *hb_hip_calls(size_t *count)
{
    *count = HB_ARRAY_LEN(calls);
    return calls;
}

/* With what the runtime has found behind it. */
static size_t bytes_of_pointer(char shape)
{
    switch (shape) {
    case 'P': return 16;
    case 'A': return 32;
    case 'C': return 64;
    case 'X': return 120;
    case 'B': return 136;
    case 'Q': return 168;
    case 'R': return 176;
    case 'S': return 192;
    default: return 8;
    }
}

/* A function, two dim3 or six numbers, and all up to the stream. Copies more than a number where
 * nothing follows it. */
static void arrange_launch(const uint64_t *words, char *args)
{
    memcpy(args, words, 8);
    for (int i = 0; i < 6; i++)
        memcpy(args + 8 + 4 * i, words + 1 + i, 4);
    memcpy(args + 32, words + 7, 4);
    memcpy(args + 40, words + 8, 8);
}

static void arrange_host_launch(const uint64_t *words, char *args)
{
    memcpy(args, words, 8);
    memcpy(args + 8, words + 1, 12);
    memcpy(args + 20, words + 3, 12);
    memcpy(args + 32, words + 5, 8);
    memcpy(args + 48, words + 6, 8);
    memcpy(args + 56, words + 7, 8);
}

/* Stands in every interposed call: fixed sizes, which the compiler makes single instructions of.
 * What programs call most often goes without the shape. */
void hb_hip_call_arrange(const hb_hip_call *call, const uint64_t *words, char *args)
{
    size_t at = 0;
    if (call->kind == HB_CALL_LAUNCH_HOST && call->src == NO) {
        arrange_host_launch(words, args);
        return;
    }
    if (call->kind == HB_CALL_LAUNCH && call->src == NO) {
        arrange_launch(words, args);
        return;
    }
    for (const char *shape = call->shape; shape && *shape; shape++) {
        if (*shape == 'i') {
            memcpy(args + at, words++, 4);
            at += 4;
        } else if (*shape == 'D') {
            memcpy(args + at, words, 12);
            words += 2;
            at += 12;
        } else {
            at = (at + 7) & ~(size_t)7;
            memcpy(args + at, words++, 8);
            at += bytes_of_pointer(*shape);
        }
    }
}
