/* SPDX-License-Identifier: MIT
 *
 * late_hip [fork|client]: loads HIP by itself and runs three kernels; or lets a child do that; or
 * is a client of rocprofiler-sdk before, as XLA is, and says how many calls it has heard of.
 */
#include "fake.h"
#include "other_client.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct extent {
    uint32_t x, y, z;
} extent;

static int run(void)
{
    static const fake_symbol symbol = {1, "_Z5scalePff.kd", 0, 0, 16, 8, 0};
    void *(*load)(const fake_symbol *symbol);
    int (*launch)(const void *f, extent grid, extent block, void **params, size_t lds,
                  void *stream);
    int (*synchronize)(void);
    void *hip = dlopen("libamdhip64.so.7", RTLD_NOW | RTLD_LOCAL);
    if (!hip) return 1;
    void *addresses[] = {dlsym(hip, "fake_load"), dlsym(hip, "hipLaunchKernel"),
                         dlsym(hip, "hipDeviceSynchronize")};
    memcpy(&load, &addresses[0], sizeof load);
    memcpy(&launch, &addresses[1], sizeof launch);
    memcpy(&synchronize, &addresses[2], sizeof synchronize);
    synchronize(); /* the first call */
    void *kernel = load(&symbol);
    for (int i = 0; i < 3; i++)
        launch(kernel, (extent){2, 1, 1}, (extent){64, 1, 1}, NULL, 0, NULL);
    return synchronize();
}

int main(int argc, char **argv)
{
    int status = 0;
    bool client = argc == 2 && strcmp(argv[1], "client") == 0;
    if (client && other_client_configure() != 0) return 2;
    if (argc == 2 && strcmp(argv[1], "fork") == 0) {
        pid_t child = fork();
        if (child == 0) return run();
        waitpid(child, &status, 0);
    } else {
        status = run();
    }
    if (client) printf("heard %d launches\n", other_client_launches);
    puts("done");
    return status == 0 ? 7 : 1;
}
