/* SPDX-License-Identifier: MIT
 *
 * A HIP program whose steps no mark tells of, for `hipboard record --schedule`:
 *
 *   rounds KERNELS.co STEPS [FILES COUNT [IDLE_MS]]
 *
 * Copies its data in and does nothing for a while, then goes through STEPS steps of five kernels
 * and a wait, or until there are COUNT files of that pattern.
 */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <hip/hip_runtime_api.h>

enum { N = 256, LAYERS = 3 };

static hipFunction_t vadd, reverse;
static float *data;
static int n = N;

static void check(hipError_t error, const char *what)
{
    if (error == hipSuccess) return;
    fprintf(stderr, "%s: %d\n", what, error);
    exit(1);
}

#define CHECK(call) check(call, #call)

static void launch(hipFunction_t kernel, unsigned blocks)
{
    void *of_vadd[] = {&data, &data, &data, &n}, *of_reverse[] = {&data};
    CHECK(hipModuleLaunchKernel(kernel, blocks, 1, 1, N, 1, 1, kernel == reverse ? 1024 : 0, NULL,
                                kernel == reverse ? of_reverse : of_vadd, NULL));
}

static __attribute__((noinline)) void layer(void)
{
    launch(vadd, 1);
}

static __attribute__((noinline)) void step(void)
{
    launch(reverse, 1);
    for (int i = 0; i < LAYERS; i++)
        layer();
    launch(vadd, 2);
    CHECK(hipDeviceSynchronize());
}

static __attribute__((noinline)) void other(void)
{
    launch(vadd, 1);
}

static size_t count_files(const char *pattern)
{
    glob_t found;
    size_t count = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return count;
}

int main(int argc, char **argv)
{
    hipModule_t module;
    float host[N] = {1};
    if (argc < 3) return 2;
    CHECK(hipModuleLoad(&module, argv[1]));
    CHECK(hipModuleGetFunction(&vadd, module, "vadd"));
    CHECK(hipModuleGetFunction(&reverse, module, "reverse"));
    CHECK(hipMalloc((void **)&data, 4096));
    for (int i = 0; i < 4; i++)
        CHECK(hipMemcpy(data, host, sizeof host, hipMemcpyHostToDevice));
    for (int ms = argc > 5 ? atoi(argv[5]) : 0; ms > 0; ms -= 10)
        usleep(10000);
    for (int i = 0; i < atoi(argv[2]); i++) {
        step();
        if (argc > 4 && i % 50 == 0 && count_files(argv[3]) >= (size_t)atoi(argv[4])) break;
    }
    for (int i = 0; i < 2; i++)
        other();
    CHECK(hipDeviceSynchronize());
    puts("done");
    return 0;
}
