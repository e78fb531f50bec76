/* SPDX-License-Identifier: MIT
 *
 * A HIP program that knows nothing of hipboard, for `hipboard record`: allocates, fills and frees,
 * forks a child that does nothing with HIP, and ends with status 42. Names its work by roctx, if
 * that is there.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hip/hip_runtime_api.h>

static int (*push)(const char *);
static int (*pop)(void);

static void find(const char *name, void *function_pointer)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    memcpy(function_pointer, &address, sizeof address);
}

static void child(void)
{
    if (push) push("child");
    if (pop) pop();
    exit(0);
}

int main(void)
{
    void *memory;
    int status;
    find("roctxRangePushA", &push);
    find("roctxRangePop", &pop);
    pid_t pid = fork();
    if (pid == 0) child();
    if (push) push("fill");
    if (hipMalloc(&memory, 4096) || hipMemset(memory, 0, 4096) || hipFree(memory)) return 1;
    if (pop) pop();
    if (waitpid(pid, &status, 0) != pid || status != 0) return 1;
    puts("filled");
    return 42;
}
