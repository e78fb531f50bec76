/* SPDX-License-Identifier: MIT
 *
 * Programs on the simulated GPU compute what they would on a real one: kernels with host functions,
 * copies and fills of all kinds.
 */
#include "fatbin.h"
#include "simhsa.h"

static hipModule_t module;
static void **fatbin;
static const char scale_stub; /* only its address counts */

/* ---- the device ---- */

static void device_says_that_it_is_simulated(void **state)
{
    (void)state;
    hipDeviceProp_t p;
    HIP_OK(hipGetDeviceProperties(&p, 0));
    assert_string_equal(p.name, "simhsa gfx90a (simulated)");
    assert_int_equal(strncmp(p.gcnArchName, "gfx90a", 6), 0);
    assert_int_equal(p.multiProcessorCount, 110);
    assert_int_equal(p.warpSize, 64);
    assert_int_equal(p.sharedMemPerBlock, 65536);
    assert_int_equal(p.totalGlobalMem, (size_t)64 << 30);
    int count;
    HIP_OK(hipGetDeviceCount(&count));
    assert_int_equal(count, 2);
}

/* ---- kernels ---- */

static void kernels_compute_right_results(void **state)
{
    (void)state;
    enum { N = 1000 };
    float host[N], *a, *b, *c;
    int n = N;
    float factor = 0.5f;
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    HIP_OK(hipMalloc((void **)&a, sizeof host));
    HIP_OK(hipMalloc((void **)&b, sizeof host));
    HIP_OK(hipMalloc((void **)&c, sizeof host));
    HIP_OK(hipMemcpy(a, host, sizeof host, hipMemcpyHostToDevice));
    HIP_OK(hipMemcpy(b, a, sizeof host, hipMemcpyDeviceToDevice));
    HIP_OK(launch(get_kernel(module, "vadd"), N, NULL, (void *[]){&a, &b, &c, &n}));
    HIP_OK(launch(get_kernel(module, "scale"), N, NULL, (void *[]){&c, &factor, &n}));
    memset(host, 0, sizeof host);
    HIP_OK(hipMemcpy(host, c, sizeof host, hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        assert_float_equal(host[i], (float)i, 0);
    HIP_OK(hipFree(a));
    HIP_OK(hipFree(b));
    HIP_OK(hipFree(c));
}

/* What a program sets while it runs counts from the next launch on, with what the packet says. */
static simhsa_dispatch last_dispatch;

static void remember(const simhsa_dispatch *dispatch)
{
    last_dispatch = *dispatch;
}

static void program_may_set_a_host_function(void **state)
{
    (void)state;
    hipFunction_t nop = get_kernel(module, "nop");
    uint64_t before = simhsa_kernel_launches("nop");
    simhsa_set_kernel("nop", remember, 0);
    HIP_OK(hipModuleLaunchKernel(nop, 2, 3, 4, 8, 4, 2, 512, NULL, NULL, NULL));
    HIP_OK(hipDeviceSynchronize());
    assert_string_equal(last_dispatch.name, "nop");
    static const uint32_t grid[3] = {16, 12, 8};
    static const uint16_t block[3] = {8, 4, 2};
    assert_memory_equal(last_dispatch.grid, grid, sizeof grid);
    assert_memory_equal(last_dispatch.block, block, sizeof block);
    assert_int_equal(last_dispatch.group_bytes, 512);
    assert_int_equal(last_dispatch.device, 0);
    assert_int_equal(simhsa_kernel_launches("nop"), before + 1);
    simhsa_set_kernel("nop", NULL, SIMHSA_DEFAULT_DURATION);
}

static void variables_have_their_initial_values(void **state)
{
    (void)state;
    hipDeviceptr_t table;
    size_t size;
    int values[4], changed[4] = {5, 6, 7, 8};
    HIP_OK(hipModuleGetGlobal(&table, &size, module, "table"));
    assert_int_equal(size, sizeof values);
    HIP_OK(hipMemcpyDtoH(values, table, size));
    for (int i = 0; i < 4; i++)
        assert_int_equal(values[i], i + 1);
    HIP_OK(hipMemcpyHtoD(table, changed, size));
    HIP_OK(hipMemcpyDtoH(values, table, size));
    assert_memory_equal(values, changed, size);
}

static void unknown_kernels_and_broken_modules_are_errors(void **state)
{
    (void)state;
    hipFunction_t function;
    hipModule_t broken;
    HIP_IS(hipErrorNotFound, hipModuleGetFunction(&function, module, "no_such_kernel"));
    char *code = read_code_object();
    memset(code + 64, 0xff, 512); /* the program headers */
    assert_int_not_equal(hipModuleLoadData(&broken, code), hipSuccess);
    (void)hipGetLastError();
    free(code);
}

/* ---- copies: every direction and size, byte for byte ---- */

static unsigned char *pattern_bytes(size_t size, unsigned seed)
{
    unsigned char *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)((i * 2654435761u + seed) >> 13);
    return bytes;
}

/* To the device, within it and back, from odd addresses; the bytes around stay. */
static void check_copy(size_t size, size_t offset, hipStream_t stream)
{
    size_t all = size + 2 * offset + 16;
    unsigned char *from = pattern_bytes(all, (unsigned)size), *back = calloc(1, all), *first,
                  *second;
    HIP_OK(hipMalloc((void **)&first, all));
    HIP_OK(hipMalloc((void **)&second, all));
    HIP_OK(hipMemsetAsync(second, 0xee, all, stream));
    HIP_OK(hipMemcpyAsync(first, from, all, hipMemcpyHostToDevice, stream));
    HIP_OK(hipMemcpyAsync(second + offset, first + offset, size, hipMemcpyDeviceToDevice, stream));
    HIP_OK(hipMemcpyAsync(back, second, all, hipMemcpyDeviceToHost, stream));
    HIP_OK(hipStreamSynchronize(stream));
    for (size_t i = 0; i < all; i++) {
        bool inside = i >= offset && i < offset + size;
        if (back[i] != (inside ? from[i] : 0xee))
            fail_msg("byte %zu of a copy of %zu at %zu is 0x%02x", i, size, offset, back[i]);
    }
    HIP_OK(hipFree(first));
    HIP_OK(hipFree(second));
    free(from);
    free(back);
}

static void copies_move_exactly_their_bytes(void **state)
{
    (void)state;
    static const size_t sizes[] = {1,  2,   3,    4,    5,     15,      16,
                                   17, 255, 4095, 4096, 65537, 1 << 20, 5000001};
    hipStream_t stream;
    HIP_OK(hipStreamCreate(&stream));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        check_copy(sizes[i], 0, stream);
        check_copy(sizes[i], 7, stream);
    }
    HIP_OK(hipStreamDestroy(stream));
}

static void pinned_and_managed_memory_work(void **state)
{
    (void)state;
    enum { SIZE = 3 << 20 };
    unsigned char *pinned, *managed, *device, *registered = pattern_bytes(SIZE, 1);
    HIP_OK(hipHostMalloc((void **)&pinned, SIZE, 0));
    HIP_OK(hipMallocManaged((void **)&managed, SIZE, hipMemAttachGlobal));
    HIP_OK(hipHostRegister(registered, SIZE, hipHostRegisterDefault));
    HIP_OK(hipMalloc((void **)&device, SIZE));
    HIP_OK(hipMemcpyAsync(device, registered, SIZE, hipMemcpyHostToDevice, NULL));
    HIP_OK(hipMemcpyAsync(pinned, device, SIZE, hipMemcpyDeviceToHost, NULL));
    HIP_OK(hipMemcpyAsync(managed, pinned, SIZE, hipMemcpyDefault, NULL));
    HIP_OK(hipDeviceSynchronize());
    assert_memory_equal(pinned, registered, SIZE);
    assert_memory_equal(managed, registered, SIZE);
    hipPointerAttribute_t attributes;
    HIP_OK(hipPointerGetAttributes(&attributes, device));
    assert_int_equal(attributes.device, 0);
    HIP_OK(hipHostUnregister(registered));
    HIP_OK(hipHostFree(pinned));
    HIP_OK(hipFree(managed));
    HIP_OK(hipFree(device));
    free(registered);
}

static void kernels_reach_registered_memory(void **state)
{
    (void)state;
    enum { N = 3000 };
    float *host = calloc(N, sizeof *host), *mapped, factor = 3;
    int n = N;
    for (int i = 0; i < N; i++)
        host[i] = (float)i;
    HIP_OK(hipHostRegister(host, N * sizeof *host, hipHostRegisterMapped));
    HIP_OK(hipHostGetDevicePointer((void **)&mapped, host, 0));
    HIP_OK(launch(get_kernel(module, "scale"), N, NULL, (void *[]){&mapped, &factor, &n}));
    HIP_OK(hipDeviceSynchronize());
    for (int i = 0; i < N; i++)
        assert_float_equal(host[i], 3 * (float)i, 0);
    HIP_OK(hipHostUnregister(host));
    free(host);
}

/* A rectangle out of the middle of a picture, to the device, within it and back. */
static void check_rect(size_t width, size_t x, size_t pitch)
{
    enum { ROWS = 9 };
    size_t size = pitch * (ROWS + 2);
    unsigned char *from = pattern_bytes(size, (unsigned)width), *back = calloc(1, size), *a, *b;
    HIP_OK(hipMalloc((void **)&a, size));
    HIP_OK(hipMalloc((void **)&b, size));
    HIP_OK(hipMemset(a, 0, size));
    HIP_OK(hipMemset(b, 0, size));
    HIP_OK(hipMemcpy2D(a + x, pitch, from + x, pitch, width, ROWS, hipMemcpyHostToDevice));
    HIP_OK(hipMemcpy2D(b + x, pitch, a + x, pitch, width, ROWS, hipMemcpyDeviceToDevice));
    HIP_OK(hipMemcpy2D(back + x, pitch, b + x, pitch, width, ROWS, hipMemcpyDeviceToHost));
    for (size_t i = 0; i < size; i++) {
        size_t column = i % pitch;
        bool inside = i / pitch < ROWS && column >= x && column < x + width;
        if (back[i] != (inside ? from[i] : 0))
            fail_msg("byte %zu of a rectangle of %zu at %zu is 0x%02x", i, width, x, back[i]);
    }
    HIP_OK(hipFree(a));
    HIP_OK(hipFree(b));
    free(from);
    free(back);
}

static void rectangles_are_copied(void **state)
{
    (void)state;
    check_rect(64, 16, 256); /* by sixteens */
    check_rect(12, 4, 64);   /* by words */
    check_rect(7, 3, 61);    /* by bytes */
}

/* ---- fills ---- */

static void fills_write_exactly_their_bytes(void **state)
{
    (void)state;
    /* HIP 5.2 cannot fill less than up to the next multiple of eight. */
    static const size_t sizes[] = {3, 4, 8, 13, 4096, 100003};
    unsigned char *device, *back = malloc(100100);
    HIP_OK(hipMalloc((void **)&device, 100100));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        HIP_OK(hipMemset(device, 0, 100100));
        HIP_OK(hipMemset(device + 5, 0xab, sizes[i]));
        HIP_OK(hipMemcpy(back, device, 100100, hipMemcpyDeviceToHost));
        for (size_t j = 0; j < 100100; j++)
            if (back[j] != (j >= 5 && j < 5 + sizes[i] ? 0xab : 0))
                fail_msg("byte %zu of a fill of %zu is 0x%02x", j, sizes[i], back[j]);
    }
    HIP_OK(hipMemsetD32((hipDeviceptr_t)device, 0x01020304, 1000));
    HIP_OK(hipMemcpy(back, device, 4004, hipMemcpyDeviceToHost));
    for (size_t j = 0; j < 4000; j++)
        assert_int_equal(back[j], 4 - j % 4);
    HIP_OK(hipFree(device));
    free(back);
}

static void rectangles_are_filled(void **state)
{
    (void)state;
    enum { PITCH = 64, ROWS = 20, WIDTH = 40 };
    unsigned char *device, back[PITCH * ROWS];
    HIP_OK(hipMalloc((void **)&device, sizeof back));
    HIP_OK(hipMemset(device, 0, sizeof back));
    HIP_OK(hipMemset2D(device, PITCH, 0x5c, WIDTH, ROWS));
    HIP_OK(hipMemcpy(back, device, sizeof back, hipMemcpyDeviceToHost));
    for (size_t i = 0; i < sizeof back; i++)
        assert_int_equal(back[i], i % PITCH < WIDTH ? 0x5c : 0);
    HIP_OK(hipFree(device));
}

/* ---- several devices ---- */

static void peers_copy_to_each_other(void **state)
{
    (void)state;
    enum { SIZE = 1 << 20 };
    unsigned char *from = pattern_bytes(SIZE, 3), *back = calloc(1, SIZE), *on[2];
    int can = 0;
    HIP_OK(hipDeviceCanAccessPeer(&can, 0, 1));
    assert_true(can);
    for (int i = 0; i < 2; i++) {
        HIP_OK(hipSetDevice(i));
        HIP_OK(hipMalloc((void **)&on[i], SIZE));
    }
    HIP_OK(hipMemcpy(on[1], from, SIZE, hipMemcpyHostToDevice));
    HIP_OK(hipMemcpyPeer(on[0], 0, on[1], 1, SIZE));
    HIP_OK(hipDeviceSynchronize());
    HIP_OK(hipSetDevice(0));
    HIP_OK(hipMemcpy(back, on[0], SIZE, hipMemcpyDeviceToHost));
    assert_memory_equal(back, from, SIZE);
    HIP_OK(hipFree(on[0]));
    HIP_OK(hipFree(on[1]));
    free(from);
    free(back);
}

/* ---- streams ---- */

static int calls;

static void count_call(hipStream_t stream, hipError_t status, void *data)
{
    (void)stream;
    if (status == hipSuccess && *(int *)data == __atomic_load_n(&calls, __ATOMIC_ACQUIRE))
        __atomic_add_fetch(&calls, 1, __ATOMIC_RELEASE);
}

static void stream_callbacks_run_in_order(void **state)
{
    (void)state;
    enum { CALLS = 20 };
    int numbers[CALLS];
    hipStream_t stream;
    hipFunction_t nop = get_kernel(module, "nop");
    HIP_OK(hipStreamCreate(&stream));
    for (int i = 0; i < CALLS; i++) {
        numbers[i] = i;
        HIP_OK(launch(nop, 256, stream, NULL));
        HIP_OK(hipStreamAddCallback(stream, count_call, &numbers[i], 0));
    }
    HIP_OK(hipStreamSynchronize(stream));
    assert_int_equal(__atomic_load_n(&calls, __ATOMIC_ACQUIRE), CALLS);
    HIP_OK(hipStreamDestroy(stream));
}

static void streams_order_values_in_memory(void **state)
{
    (void)state;
    hipStream_t first, second;
    uint32_t *word;
    HIP_OK(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
    HIP_OK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
    HIP_OK(hipHostMalloc((void **)&word, 64, 0));
    word[0] = word[1] = 0;
    HIP_OK(hipStreamWaitValue32(second, word, 77, hipStreamWaitValueEq, UINT32_MAX));
    HIP_OK(hipStreamWriteValue32(second, word + 1, 78, 0));
    assert_int_equal(__atomic_load_n(word + 1, __ATOMIC_ACQUIRE), 0);
    HIP_OK(hipStreamWriteValue32(first, word, 77, 0));
    HIP_OK(hipStreamSynchronize(second));
    assert_int_equal(word[0], 77);
    assert_int_equal(word[1], 78);
    HIP_OK(hipStreamDestroy(first));
    HIP_OK(hipStreamDestroy(second));
    HIP_OK(hipHostFree(word));
}

static void stream_ordered_memory_works(void **state)
{
    (void)state;
    enum { SIZE = 100000 };
    unsigned char *p, *back = malloc(SIZE);
    hipStream_t stream;
    HIP_OK(hipStreamCreate(&stream));
    for (int i = 1; i < 20; i++) {
        HIP_OK(hipMallocAsync((void **)&p, SIZE, stream));
        HIP_OK(hipMemsetAsync(p, i, SIZE, stream));
        HIP_OK(hipMemcpyAsync(back, p, SIZE, hipMemcpyDeviceToHost, stream));
        HIP_OK(hipFreeAsync(p, stream));
        HIP_OK(hipStreamSynchronize(stream));
        assert_int_equal(back[0], i);
        assert_int_equal(back[SIZE - 1], i);
    }
    /* Once memory was freed in a stream, HIP 5.2 never returns from hipStreamDestroy(). */
    free(back);
}

static void graphs_replay_their_work(void **state)
{
    (void)state;
    enum { N = 512, REPLAYS = 10 };
    float host[N], *a;
    int n = N;
    float factor = 2;
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t executable;
    uint64_t before = simhsa_kernel_launches("scale");
    for (int i = 0; i < N; i++)
        host[i] = 1;
    HIP_OK(hipStreamCreate(&stream));
    HIP_OK(hipMalloc((void **)&a, sizeof host));
    HIP_OK(hipMemcpy(a, host, sizeof host, hipMemcpyHostToDevice));
    HIP_OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    for (int i = 0; i < 2; i++)
        HIP_OK(hipLaunchKernel(&scale_stub, (dim3){2, 1, 1}, (dim3){256, 1, 1},
                               (void *[]){&a, &factor, &n}, 0, stream));
    HIP_OK(hipStreamEndCapture(stream, &graph));
    HIP_OK(hipGraphInstantiate(&executable, graph, NULL, NULL, 0));
    assert_int_equal(simhsa_kernel_launches("scale"), before);
    for (int i = 0; i < REPLAYS; i++)
        HIP_OK(hipGraphLaunch(executable, stream));
    HIP_OK(hipStreamSynchronize(stream));
    HIP_OK(hipMemcpy(host, a, sizeof host, hipMemcpyDeviceToHost));
    for (int i = 0; i < N; i++)
        assert_float_equal(host[i], (float)(1 << 2 * REPLAYS), 0);
    assert_int_equal(simhsa_kernel_launches("scale"), before + 2 * REPLAYS);
    HIP_OK(hipGraphExecDestroy(executable));
    HIP_OK(hipGraphDestroy(graph));
    HIP_OK(hipFree(a));
    HIP_OK(hipStreamDestroy(stream));
}

static int set_up(void **state)
{
    (void)state;
    setenv("SIMHSA_GPUS", "2", 1);
    setenv("SIMHSA_KERNELS", TEST_KERNEL_LIBRARY, 1);
    fatbin = register_code_object();
    register_kernel(fatbin, &scale_stub, "scale");
    module = load_module();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hipError_t error = hipModuleUnload(module);
    __hipUnregisterFatBinary(fatbin);
    return error;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_says_that_it_is_simulated),
        cmocka_unit_test(kernels_compute_right_results),
        cmocka_unit_test(program_may_set_a_host_function),
        cmocka_unit_test(variables_have_their_initial_values),
        cmocka_unit_test(unknown_kernels_and_broken_modules_are_errors),
        cmocka_unit_test(copies_move_exactly_their_bytes),
        cmocka_unit_test(pinned_and_managed_memory_work),
        cmocka_unit_test(kernels_reach_registered_memory),
        cmocka_unit_test(rectangles_are_copied),
        cmocka_unit_test(fills_write_exactly_their_bytes),
        cmocka_unit_test(rectangles_are_filled),
        cmocka_unit_test(peers_copy_to_each_other),
        cmocka_unit_test(stream_callbacks_run_in_order),
        cmocka_unit_test(streams_order_values_in_memory),
        cmocka_unit_test(graphs_replay_their_work),
        cmocka_unit_test(stream_ordered_memory_works), /* last: see there */
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
