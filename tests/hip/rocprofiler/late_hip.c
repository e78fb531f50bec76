/* SPDX-License-Identifier: MIT
 *
 * late_hip [fork]: loads HIP by itself and runs three kernels; or lets a child do that.
 */
#include "fake.h"

#include <dlfcn.h>
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
    if (argc == 2 && strcmp(argv[1], "fork") == 0) {
        pid_t child = fork();
        if (child == 0) return run();
        waitpid(child, &status, 0);
    } else {
        status = run();
    }
    puts("done");
    return status == 0 ? 7 : 1;
}
