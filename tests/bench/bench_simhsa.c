/* SPDX-License-Identifier: MIT
 *
 * What the simulated GPU itself costs: null-kernel launches and small copies a second through the
 * real HIP runtime, by number of threads with a stream each. Figures of this machine's CPU, not of
 * a GPU.
 *
 *     tools/simhsa/run build/tests/bench/bench_simhsa [LAUNCHES]
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "nop.h"

static hipFunction_t nop;
static int launches = 100000;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *launch_all(void *stream)
{
    for (int i = 0; i < launches; i++)
        MUST(hipModuleLaunchKernel(nop, 1, 1, 1, 64, 1, 1, 0, stream, NULL, NULL));
    MUST(hipStreamSynchronize(stream));
    return NULL;
}

static void *launch_and_wait(void *stream)
{
    for (int i = 0; i < launches / 20; i++) {
        MUST(hipModuleLaunchKernel(nop, 1, 1, 1, 64, 1, 1, 0, stream, NULL, NULL));
        MUST(hipStreamSynchronize(stream));
    }
    return NULL;
}

static void *copy_all(void *stream)
{
    void *host, *device;
    MUST(hipHostMalloc(&host, 4096, 0));
    MUST(hipMalloc(&device, 4096));
    for (int i = 0; i < launches / 20; i++)
        MUST(hipMemcpyAsync(device, host, 4096, hipMemcpyHostToDevice, stream));
    MUST(hipStreamSynchronize(stream));
    MUST(hipHostFree(host));
    MUST(hipFree(device));
    return NULL;
}

static void measure(const char *what, void *(*body)(void *), int per_thread, int threads)
{
    pthread_t ids[8];
    hipStream_t streams[8];
    for (int i = 0; i < threads; i++)
        MUST(hipStreamCreateWithFlags(&streams[i], hipStreamNonBlocking));
    double start = now();
    for (int i = 0; i < threads; i++)
        pthread_create(&ids[i], NULL, body, streams[i]);
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    double seconds = now() - start, count = (double)per_thread * threads;
    printf("%-28s %7d %12.0f %10.0f\n", what, threads, count / seconds, seconds / count * 1e9);
    for (int i = 0; i < threads; i++)
        MUST(hipStreamDestroy(streams[i]));
}

int main(int argc, char **argv)
{
    if (argc > 1) launches = atoi(argv[1]);
    if (launches < 20) launches = 20;
    setenv("SIMHSA_KERNEL_NS", "0", 0);
    setenv("SIMHSA_COPY_NS", "0", 0);
    nop = load_nop();
    for (int i = 0; i < 100; i++)
        MUST(hipModuleLaunchKernel(nop, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
    MUST(hipDeviceSynchronize());
    printf("%-28s %7s %12s %10s\n", "operation", "threads", "per second", "ns each");
    for (int threads = 1; threads <= 4; threads *= 2)
        measure("null kernel", launch_all, launches, threads);
    measure("null kernel, then wait", launch_and_wait, launches / 20, 1);
    measure("copy of 4 KiB to device", copy_all, launches / 20, 1);
    return 0;
}
