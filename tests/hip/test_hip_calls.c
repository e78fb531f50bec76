/* SPDX-License-Identifier: MIT
 *
 * The table of functions against the installed runtime's own description of their arguments.
 */
#include "hip_test.h"

#include <hip/amd_detail/hip_prof_str.h>

#include "hip/call_layouts.h"
#include "hip/hook_records.h"
#include "hip/kernels.h"

#define AT(function, member) \
    (offsetof(hip_api_data_t, args.function.member) - sizeof(hb_hip_api_head))

static const hb_hip_call *row(const char *name)
{
    const hb_hip_call *call = hb_hip_call_named(name);
    if (!call->name) fail_msg("%s is not in the table", name);
    return call;
}

static void all_rows_are_found(void **state)
{
    (void)state;
    size_t n;
    const hb_hip_call *calls = hb_hip_calls(&n);
    for (size_t i = 0; i < n; i++)
        assert_ptr_equal(hb_hip_call_named(calls[i].name), &calls[i]);
    assert_ptr_equal(hb_hip_call_named("hipLaunchKernel_spt"), row("hipLaunchKernel"));
    assert_null(hb_hip_call_named("hipMem")->name);
    assert_null(hb_hip_call_named("hipMemcpyAsyncs")->name);
    assert_int_equal(hb_hip_call_named("hipStreamCreate")->kind, HB_CALL_PLAIN);
    assert_int_equal(hb_hip_call_named("hipMemcpy3DAsync_spt")->kind, HB_CALL_WORK);
    assert_int_equal(hb_hip_call_named("hipMemcpy3DTo")->kind, HB_CALL_WORK);
}

#define LAUNCH(function, f, grid, block, lds, s)                    \
    do {                                                            \
        assert_int_equal(AT(function, f), row(#function)->ptr);     \
        assert_int_equal(AT(function, grid), 8);                    \
        assert_int_equal(AT(function, block), 20);                  \
        assert_int_equal(AT(function, lds), row(#function)->bytes); \
        assert_int_equal(AT(function, s), row(#function)->stream);  \
    } while (0)

static void launches_lie_as_the_header_says(void **state)
{
    (void)state;
    LAUNCH(hipLaunchKernel, function_address, numBlocks, dimBlocks, sharedMemBytes, stream);
    LAUNCH(hipExtLaunchKernel, function_address, numBlocks, dimBlocks, sharedMemBytes, stream);
    LAUNCH(hipLaunchCooperativeKernel, f, gridDim, blockDimX, sharedMemBytes, stream);
    LAUNCH(hipModuleLaunchKernel, f, gridDimX, blockDimX, sharedMemBytes, stream);
    LAUNCH(hipExtModuleLaunchKernel, f, globalWorkSizeX, localWorkSizeX, sharedMemBytes, hStream);
    LAUNCH(hipHccModuleLaunchKernel, f, globalWorkSizeX, blockDimX, sharedMemBytes, hStream);
}

#define COPY(function, from, size)                                   \
    do {                                                             \
        assert_int_equal(AT(function, dst), row(#function)->ptr);    \
        assert_int_equal(AT(function, from), row(#function)->src);   \
        assert_int_equal(AT(function, size), row(#function)->bytes); \
    } while (0)
#define KIND(function)   assert_int_equal(AT(function, kind), row(#function)->copy)
#define STREAM(function) assert_int_equal(AT(function, stream), row(#function)->stream)

static void copies_lie_as_the_header_says(void **state)
{
    (void)state;
    COPY(hipMemcpy, src, sizeBytes);
    KIND(hipMemcpy);
    COPY(hipMemcpyAsync, src, sizeBytes);
    KIND(hipMemcpyAsync);
    STREAM(hipMemcpyAsync);
    COPY(hipMemcpyWithStream, src, sizeBytes);
    KIND(hipMemcpyWithStream);
    STREAM(hipMemcpyWithStream);
    COPY(hipMemcpy2D, src, width);
    KIND(hipMemcpy2D);
    COPY(hipMemcpy2DAsync, src, width);
    KIND(hipMemcpy2DAsync);
    STREAM(hipMemcpy2DAsync);
    COPY(hipMemcpyDtoD, src, sizeBytes);
    COPY(hipMemcpyDtoDAsync, src, sizeBytes);
    STREAM(hipMemcpyDtoDAsync);
    COPY(hipMemcpyDtoH, src, sizeBytes);
    COPY(hipMemcpyDtoHAsync, src, sizeBytes);
    STREAM(hipMemcpyDtoHAsync);
    COPY(hipMemcpyHtoD, src, sizeBytes);
    COPY(hipMemcpyHtoDAsync, src, sizeBytes);
    STREAM(hipMemcpyHtoDAsync);
    COPY(hipMemcpyFromSymbol, symbol, sizeBytes);
    KIND(hipMemcpyFromSymbol);
    COPY(hipMemcpyFromSymbolAsync, symbol, sizeBytes);
    KIND(hipMemcpyFromSymbolAsync);
    STREAM(hipMemcpyFromSymbolAsync);
    assert_int_equal(AT(hipMemcpyToSymbol, symbol), row("hipMemcpyToSymbol")->ptr);
    assert_int_equal(AT(hipMemcpyToSymbol, src), row("hipMemcpyToSymbol")->src);
    assert_int_equal(AT(hipMemcpyToSymbol, sizeBytes), row("hipMemcpyToSymbol")->bytes);
    KIND(hipMemcpyToSymbol);
    assert_int_equal(AT(hipMemcpyToSymbolAsync, src), row("hipMemcpyToSymbolAsync")->src);
    assert_int_equal(AT(hipMemcpyToSymbolAsync, sizeBytes), row("hipMemcpyToSymbolAsync")->bytes);
    KIND(hipMemcpyToSymbolAsync);
    STREAM(hipMemcpyToSymbolAsync);
    COPY(hipMemcpyPeer, src, sizeBytes);
    assert_int_equal(AT(hipMemcpyPeer, srcDeviceId), row("hipMemcpyPeer")->copy);
    assert_int_equal(AT(hipMemcpyPeer, dstDeviceId), row("hipMemcpyPeer")->unit);
    COPY(hipMemcpyPeerAsync, src, sizeBytes);
    STREAM(hipMemcpyPeerAsync);
    assert_int_equal(AT(hipMemcpyPeerAsync, srcDevice), row("hipMemcpyPeerAsync")->copy);
    assert_int_equal(AT(hipMemcpyPeerAsync, dstDeviceId), row("hipMemcpyPeerAsync")->unit);
}

/* What copies of a kind of their own say of the kind: nothing. */
static void only_copies_with_a_kind_have_one(void **state)
{
    static const char *const names[] = {"hipMemcpyDtoD", "hipMemcpyDtoDAsync",
                                        "hipMemcpyDtoH", "hipMemcpyDtoHAsync",
                                        "hipMemcpyHtoD", "hipMemcpyHtoDAsync"};
    static const char *const waiting[] = {
        "hipMemcpy",     "hipMemcpy2D",         "hipMemcpyDtoD",     "hipMemcpyDtoH",
        "hipMemcpyHtoD", "hipMemcpyFromSymbol", "hipMemcpyToSymbol", "hipMemcpyPeer",
        "hipMemset",     "hipMemset2D",         "hipMemsetD8",       "hipMemsetD16",
        "hipMemsetD32",  "hipMemsetD2D8",       "hipMemsetD2D16",    "hipMemsetD2D32"};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(names); i++)
        assert_int_equal(row(names[i])->copy, HB_NO_ARG);
    for (size_t i = 0; i < HB_ARRAY_LEN(waiting); i++)
        assert_int_equal(row(waiting[i])->stream, HB_NO_ARG);
}

#define FILL(function, to, size, each)                               \
    do {                                                             \
        assert_int_equal(AT(function, to), row(#function)->ptr);     \
        assert_int_equal(AT(function, size), row(#function)->bytes); \
        assert_int_equal(row(#function)->unit, each);                \
    } while (0)

static void fills_lie_as_the_header_says(void **state)
{
    (void)state;
    FILL(hipMemset, dst, sizeBytes, 1);
    FILL(hipMemsetAsync, dst, sizeBytes, 1);
    FILL(hipMemsetD8, dest, count, 1);
    FILL(hipMemsetD8Async, dest, count, 1);
    FILL(hipMemsetD16, dest, count, 2);
    FILL(hipMemsetD16Async, dest, count, 2);
    FILL(hipMemsetD32, dest, count, 4);
    FILL(hipMemsetD32Async, dst, count, 4);
    FILL(hipMemset2D, dst, width, 1);
    FILL(hipMemset2DAsync, dst, width, 1);
    STREAM(hipMemsetAsync);
    STREAM(hipMemsetD8Async);
    STREAM(hipMemsetD16Async);
    STREAM(hipMemsetD32Async);
    STREAM(hipMemset2DAsync);
    STREAM(hipMemset3DAsync);
    STREAM(hipMemcpy3DAsync);
    STREAM(hipMemcpyParam2DAsync);
    hb_hip_call copy = hb_hip_call_of_release(row("hipDrvMemcpy3DAsync"), HIP_VERSION_MAJOR * 100);
    assert_int_equal(AT(hipDrvMemcpy3DAsync, stream), copy.stream);
}

/* Functions that came later are declared like older ones. */
static void siblings_lie_alike(void **state)
{
    static const struct {
        const char *name, *like;
        int unit;
    } rows[] = {
        {"hipMemsetD2D8", "hipMemset2D", 1},
        {"hipMemsetD2D16", "hipMemset2D", 2},
        {"hipMemsetD2D32", "hipMemset2D", 4},
        {"hipMemsetD2D8Async", "hipMemset2DAsync", 1},
        {"hipMemsetD2D16Async", "hipMemset2DAsync", 2},
        {"hipMemsetD2D32Async", "hipMemset2DAsync", 4},
        {"hipGraphInstantiateWithParams", "hipGraphInstantiate", 0},
        {"hipModuleLaunchCooperativeKernel", "hipModuleLaunchKernel", 0},
        {"hipEventRecordWithFlags", "hipEventRecord", 0},
    };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        const hb_hip_call *one = row(rows[i].name), *other = row(rows[i].like);
        assert_int_equal(one->kind, other->kind);
        assert_int_equal(one->ptr, other->ptr);
        assert_int_equal(one->src, other->src);
        assert_int_equal(one->bytes, other->bytes);
        assert_int_equal(one->copy, other->copy);
        assert_int_equal(one->stream, other->stream);
        assert_int_equal(one->unit, rows[i].unit);
        assert_string_equal(one->shape, other->shape);
    }
}

/* What hipboard takes a call for. */
static void calls_are_of_their_kinds(void **state)
{
    static const struct {
        int kind;
        const char *names[16];
    } rows[] = {
        {HB_CALL_HIDDEN,
         {"__hipPopCallConfiguration", "__hipPushCallConfiguration", "hipExtGetLastError",
          "hipGetDevice", "hipGetLastError", "hipPeekAtLastError"}},
        {HB_CALL_WAIT,
         {"hipCtxSynchronize", "hipDeviceSynchronize", "hipEventSynchronize",
          "hipStreamSynchronize"}},
        {HB_CALL_DESTROY_STREAMS, {"hipDeviceReset", "hipStreamDestroy"}},
        {HB_CALL_ON_STREAM,
         {"hipEventRecord", "hipEventRecordWithFlags", "hipLaunchHostFunc", "hipStreamWaitEvent"}},
        {HB_CALL_LAUNCH_HOST,
         {"hipExtLaunchKernel", "hipLaunchCooperativeKernel", "hipLaunchKernel",
          "hipLaunchKernelExC"}},
        {HB_CALL_LAUNCH_ITEMS, {"hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel"}},
        {HB_CALL_LAUNCH,
         {"hipDrvLaunchKernelEx", "hipModuleLaunchCooperativeKernel", "hipModuleLaunchKernel"}},
        {HB_CALL_ALLOCATE,
         {"hipExtMallocWithFlags", "hipMalloc", "hipMallocAsync", "hipMallocFromPoolAsync"}},
        {HB_CALL_ALLOCATE_HOST,
         {"hipHostAlloc", "hipHostMalloc", "hipMallocHost", "hipMemAllocHost"}},
        {HB_CALL_ALLOCATE_MANAGED, {"hipMallocManaged"}},
        {HB_CALL_ALLOCATE_PITCH, {"hipMallocPitch", "hipMemAllocPitch"}},
        {HB_CALL_FREE, {"hipFree", "hipFreeAsync"}},
        {HB_CALL_FREE_HOST, {"hipFreeHost", "hipHostFree"}},
        {HB_CALL_COPY_2D, {"hipMemcpy2D", "hipMemcpy2DAsync"}},
        {HB_CALL_COPY_PEER, {"hipMemcpyPeer", "hipMemcpyPeerAsync"}},
        {HB_CALL_WORK,
         {"hipDrvMemcpy3DAsync", "hipMemcpy3DAsync", "hipMemcpy3DBatchAsync",
          "hipMemcpy3DPeerAsync", "hipMemcpyBatchAsync", "hipMemcpyParam2DAsync",
          "hipMemset3DAsync"}},
        {HB_CALL_MAKE_GRAPH,
         {"hipGraphInstantiate", "hipGraphInstantiateWithFlags", "hipGraphInstantiateWithParams"}},
        {HB_CALL_GRAPH_LAUNCH, {"hipGraphLaunch"}},
        {HB_CALL_UPDATE_GRAPH, {"hipGraphExecUpdate"}},
        {HB_CALL_UNLOAD, {"hipLibraryUnload", "hipModuleUnload"}},
        {HB_CALL_DESTROY_POOL, {"hipMemPoolDestroy"}},
        {HB_CALL_BEGIN_CAPTURE, {"hipStreamBeginCapture"}},
        {HB_CALL_END_CAPTURE, {"hipStreamEndCapture"}},
    };
    (void)state;
    size_t n, copies = 0, fills = 0, named = 0;
    const hb_hip_call *calls = hb_hip_calls(&n);
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++)
        for (const char *const *name = rows[i].names; *name; name++, named++)
            if (row(*name)->kind != rows[i].kind) fail_msg("%s is of another kind", *name);
    for (size_t i = 0; i < n; i++) {
        copies += calls[i].kind == HB_CALL_COPY;
        fills += calls[i].kind == HB_CALL_FILL || calls[i].kind == HB_CALL_FILL_2D;
    }
    assert_int_equal(copies, 13);
    assert_int_equal(fills, 16);
    assert_int_equal(named + copies + fills, n);
}

static void allocations_lie_as_the_header_says(void **state)
{
    (void)state;
    assert_int_equal(AT(hipMalloc, size), row("hipMalloc")->bytes);
    assert_int_equal(AT(hipMallocAsync, size), row("hipMallocAsync")->bytes);
    assert_int_equal(AT(hipMallocManaged, size), row("hipMallocManaged")->bytes);
    assert_int_equal(AT(hipHostMalloc, size), row("hipHostMalloc")->bytes);
    assert_int_equal(AT(hipExtMallocWithFlags, sizeBytes), row("hipExtMallocWithFlags")->bytes);
    assert_int_equal(AT(hipHostAlloc, size), row("hipHostAlloc")->bytes);
    assert_int_equal(AT(hipMallocHost, size), row("hipMallocHost")->bytes);
    assert_int_equal(AT(hipMemAllocHost, size), row("hipMemAllocHost")->bytes);
    assert_int_equal(AT(hipMallocFromPoolAsync, size), row("hipMallocFromPoolAsync")->bytes);
    assert_int_equal(AT(hipMallocFromPoolAsync, mem_pool), row("hipMallocFromPoolAsync")->src);
    assert_int_equal(AT(hipMemAllocPitch, pitch), row("hipMemAllocPitch")->src);
    assert_int_equal(AT(hipMemAllocPitch, widthInBytes), row("hipMemAllocPitch")->bytes);
    assert_int_equal(AT(hipMallocPitch, pitch), row("hipMallocPitch")->src);
    assert_int_equal(AT(hipMallocPitch, width), row("hipMallocPitch")->bytes);
    STREAM(hipMallocAsync);
    STREAM(hipMallocFromPoolAsync);
    STREAM(hipFreeAsync);
    STREAM(hipGraphLaunch);
    STREAM(hipStreamSynchronize);
    STREAM(hipStreamBeginCapture);
    STREAM(hipStreamDestroy);
    STREAM(hipStreamEndCapture);
    STREAM(hipStreamWaitEvent);
    STREAM(hipEventRecord);
    STREAM(hipLaunchHostFunc);
    assert_int_equal(AT(hipStreamEndCapture, pGraph), row("hipStreamEndCapture")->ptr);
    assert_int_equal(AT(hipGraphInstantiate, graph), row("hipGraphInstantiate")->src);
    assert_int_equal(AT(hipGraphInstantiateWithFlags, graph),
                     row("hipGraphInstantiateWithFlags")->src);
    assert_int_equal(AT(hipGraphExecUpdate, hGraphExec), row("hipGraphExecUpdate")->ptr);
    assert_int_equal(AT(hipGraphExecUpdate, hGraph), row("hipGraphExecUpdate")->src);
}

/* The prototypes' parameters, one after the other. */
typedef struct launch_kernel {
    const void *function;
    dim3 grid, block;
    void **args;
    size_t lds;
    hipStream_t stream;
} launch_kernel;

typedef struct module_launch_kernel {
    hipFunction_t f;
    unsigned grid[3], block[3], lds;
    hipStream_t stream;
} module_launch_kernel;

/* hipLaunchConfig_t; HIP_LAUNCH_CONFIG differs in the type of `lds` only. */
typedef struct launch_config {
    dim3 grid, block;
    size_t lds;
    hipStream_t stream;
    void *attributes;
    unsigned num_attributes;
} launch_config;

typedef struct launch_kernel_ex {
    const launch_config *config;
    const void *function;
    void **args;
} launch_kernel_ex;

/* As hip_prof_str.h of HIP 7.1 has it. */
typedef struct expanded_launch_kernel_ex {
    const launch_config *config;
    launch_config value;
    const void *function;
} expanded_launch_kernel_ex;

typedef struct malloc_async {
    void **ptr;
    size_t size;
    hipStream_t stream;
} malloc_async;

typedef struct malloc_from_pool {
    void **ptr;
    size_t size;
    hipMemPool_t pool;
    hipStream_t stream;
} malloc_from_pool;

typedef struct malloc_pitch {
    void **ptr;
    size_t *pitch, width, height;
} malloc_pitch;

typedef struct memcpy_peer {
    void *dst;
    int to;
    const void *src;
    int from;
    size_t bytes;
    hipStream_t stream;
} memcpy_peer;

static hb_hip_call unexpanded(const char *name)
{
    return hb_hip_call_unexpanded(row(name));
}

static void unexpanded_arguments_lie_one_after_the_other(void **state)
{
    (void)state;
    hb_hip_call c = unexpanded("hipLaunchKernel");
    assert_int_equal(c.ptr, offsetof(launch_kernel, function));
    assert_int_equal(8, offsetof(launch_kernel, grid));
    assert_int_equal(20, offsetof(launch_kernel, block));
    assert_int_equal(c.bytes, offsetof(launch_kernel, lds));
    assert_int_equal(c.stream, offsetof(launch_kernel, stream));
    c = unexpanded("hipModuleLaunchKernel");
    assert_int_equal(c.bytes, offsetof(module_launch_kernel, lds));
    assert_int_equal(c.stream, offsetof(module_launch_kernel, stream));
    c = unexpanded("hipLaunchKernelExC");
    assert_int_equal(c.ptr, offsetof(launch_kernel_ex, function));
    assert_int_equal(row("hipLaunchKernelExC")->ptr, offsetof(expanded_launch_kernel_ex, function));
    assert_int_equal(c.bytes, offsetof(launch_config, lds));
    assert_int_equal(c.stream, offsetof(launch_config, stream));
    assert_int_equal(unexpanded("hipDrvLaunchKernelEx").ptr, c.ptr);
    assert_int_equal(unexpanded("hipMalloc").bytes, offsetof(malloc_async, size));
    assert_int_equal(unexpanded("hipHostMalloc").bytes, offsetof(malloc_async, size));
    assert_int_equal(unexpanded("hipMallocManaged").bytes, offsetof(malloc_async, size));
    assert_int_equal(unexpanded("hipMallocAsync").stream, offsetof(malloc_async, stream));
    assert_int_equal(unexpanded("hipMallocFromPoolAsync").bytes, offsetof(malloc_from_pool, size));
    assert_int_equal(unexpanded("hipMallocFromPoolAsync").stream,
                     offsetof(malloc_from_pool, stream));
    assert_int_equal(unexpanded("hipMallocPitch").src, offsetof(malloc_pitch, pitch));
    assert_int_equal(unexpanded("hipMallocPitch").bytes, offsetof(malloc_pitch, width));
    c = unexpanded("hipMemcpyPeerAsync");
    assert_int_equal(c.unit, offsetof(memcpy_peer, to));
    assert_int_equal(c.copy, offsetof(memcpy_peer, from));
    assert_int_equal(c.bytes, offsetof(memcpy_peer, bytes));
    assert_int_equal(c.stream, offsetof(memcpy_peer, stream));
    assert_int_equal(unexpanded("hipDeviceSynchronize").stream, HB_NO_ARG);
    assert_int_equal(unexpanded("hipMemcpy3DAsync").stream, 8);
    assert_int_equal(unexpanded("hipMemcpy3DPeerAsync").stream, 8);
    assert_int_equal(unexpanded("hipDrvMemcpy3DAsync").stream, 8);
    assert_int_equal(unexpanded("hipMemcpyBatchAsync").stream, 64);
    assert_int_equal(unexpanded("hipMemcpy3DBatchAsync").stream, 32);
}

static bool lies_at(const char *args, uint8_t offset, size_t size)
{
    static const unsigned char sign[8] = {0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa};
    return offset == HB_NO_ARG || memcmp(args + offset, sign, size) == 0;
}

/* Where interposed functions put their parameters the table finds them. */
static void parameters_are_arranged_as_the_runtime_does(void **state)
{
    (void)state;
    size_t n;
    const hb_hip_call *calls = hb_hip_calls(&n);
    uint64_t words[16];
    memset(words, 0xaa, sizeof words);
    for (size_t i = 0; i < n; i++) {
        const hb_hip_call *c = &calls[i];
        char args[HB_HIP_ARGS_BYTES] = "";
        hb_hip_call_arrange(c, words, args);
        bool launch = c->kind >= HB_CALL_LAUNCH_HOST && c->kind <= HB_CALL_LAUNCH_ITEMS;
        bool found = lies_at(args, c->ptr, 8) && lies_at(args, c->src, 8);
        if (found && hb_hip_call_has_config(c)) continue; /* the rest is there */
        found = found && lies_at(args, c->bytes, launch ? 4 : 8) && lies_at(args, c->copy, 4) &&
                lies_at(args, c->stream, 8) &&
                (!launch || (lies_at(args, 8, 8) && lies_at(args, 16, 8)));
        if (!found) fail_msg("%s: the shape %s does not fit", c->name, c->shape);
    }
}

static void words_are_taken_in_order(void **state)
{
    (void)state;
    const uint64_t words[] = {1, 2 | 3ull << 32, 4, 5 | 6ull << 32, 7, 8, 9, 10};
    _Alignas(8) char args[HB_HIP_ARGS_BYTES] = "";
    uint32_t sizes[6];
    uint64_t stream;
    hb_hip_call_arrange(row("hipLaunchKernel"), words, args);
    memcpy(sizes, args + 8, sizeof sizes);
    memcpy(&stream, args + row("hipLaunchKernel")->stream, sizeof stream);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(sizes[i], i + 2);
    assert_int_equal(args[0], 1);
    assert_int_equal(stream, 10);
}

static void the_runtime_writes_no_further_than_our_room(void **state)
{
    (void)state;
    assert_int_equal(offsetof(hip_api_data_t, args), sizeof(hb_hip_api_head));
    assert_true(sizeof(hip_api_data_t) <= HB_HIP_API_DATA_BYTES);
    assert_int_equal(offsetof(hb_hook_activity, bytes), 56);
}

static char *plain_name(const char *name, char *buffer, size_t *size, int *status)
{
    assert_true(!buffer && !size);
    *status = strcmp(name, "_Z3addv") == 0 ? 0 : -2;
    return *status == 0 ? strdup("add()") : NULL;
}

static void check_name(hb_demangler *demangle, const char *name, const char *expected)
{
    uint32_t id = hb_kernel_intern(demangle, name);
    if (!expected)
        assert_int_equal(id, HB_STRING_UNNAMED);
    else
        assert_int_equal(id, hb_strings_intern(expected, strlen(expected)));
}

/* As C++ writes them, where that can be found out. */
static void kernels_have_plain_names(void **state)
{
    (void)state;
    assert_int_equal(hb_strings_init(), HB_OK);
    check_name(plain_name, "_Z3addv", "add()");
    check_name(plain_name, "_Z3odd", "_Z3odd");
    check_name(plain_name, "add", "add");
    check_name(plain_name, "Z3addv", "Z3addv");
    check_name(NULL, "_Z3addv", "_Z3addv");
    check_name(plain_name, "", NULL);
    check_name(plain_name, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_rows_are_found),
        cmocka_unit_test(launches_lie_as_the_header_says),
        cmocka_unit_test(copies_lie_as_the_header_says),
        cmocka_unit_test(only_copies_with_a_kind_have_one),
        cmocka_unit_test(kernels_have_plain_names),
        cmocka_unit_test(fills_lie_as_the_header_says),
        cmocka_unit_test(siblings_lie_alike),
        cmocka_unit_test(calls_are_of_their_kinds),
        cmocka_unit_test(allocations_lie_as_the_header_says),
        cmocka_unit_test(unexpanded_arguments_lie_one_after_the_other),
        cmocka_unit_test(parameters_are_arranged_as_the_runtime_does),
        cmocka_unit_test(words_are_taken_in_order),
        cmocka_unit_test(the_runtime_writes_no_further_than_our_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
