/* SPDX-License-Identifier: MIT
 *
 * Stands in for a library by its name; where HOLDS_HOOKS is set, also for one that listens to the
 * HIP runtime, as roctracer does when it is told to.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int hipboard_test_other_library(void);

static int pass_over(uint32_t domain, uint32_t op, void *data)
{
    (void)domain, (void)op, (void)data;
    return 1;
}

__attribute__((constructor)) static void take_hooks(void)
{
    void (*registers)(void *, void *, void *);
    if (!getenv("HOLDS_HOOKS")) return;
    void *hook = dlsym(RTLD_DEFAULT, "hipRegisterTracerCallback");
    if (!hook) hook = dlsym(RTLD_DEFAULT, "hipInitActivityCallback");
    memcpy(&registers, &hook, sizeof registers);
    if (registers) registers((void *)(uintptr_t)pass_over, NULL, NULL);
}

int hipboard_test_other_library(void)
{
    return 0;
}
