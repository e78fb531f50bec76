/* SPDX-License-Identifier: MIT
 *
 * A HIP program in steps that knows nothing of hipboard, for `hipboard record`:
 *
 *   steps COUNT INIT_MS STEP_MS [roctx] [exit|_exit|exec|hang]
 *
 * Prepares for INIT_MS, then fills memory COUNT times, each STEP_MS long; with "roctx" inside
 * ranges named as torch names steps, from number 100 on. Then it ends as the last word says.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hip/hip_runtime_api.h>

static int (*push)(const char *);
static int (*pop)(void);

static void find(const char *name, void *function_pointer)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    memcpy(function_pointer, &address, sizeof address);
}

static void step(int number, unsigned ms, void *memory)
{
    char name[40];
    snprintf(name, sizeof name, "ProfilerStep#%d", number);
    if (push) push(name);
    if (hipMemset(memory, number, 4096) || hipDeviceSynchronize()) exit(1);
    usleep(ms * 1000);
    if (pop) pop();
}

static void end(const char *how)
{
    if (strcmp(how, "_exit") == 0) _exit(5);
    if (strcmp(how, "exec") == 0) {
        execl("/nonexistent", "nothing", (char *)NULL); /* goes on to be recorded */
        execlp("sh", "sh", "-c", "exit 6", (char *)NULL);
    }
    while (strcmp(how, "hang") == 0)
        pause();
    exit(0);
}

int main(int argc, char **argv)
{
    void *memory;
    if (argc < 5) return 2;
    if (argc > 5) {
        find("roctxRangePushA", &push);
        find("roctxRangePop", &pop);
    }
    if (hipMalloc(&memory, 4096)) return 1;
    usleep((unsigned)atoi(argv[2]) * 1000);
    for (int i = 0; i < atoi(argv[1]); i++)
        step(100 + i, (unsigned)atoi(argv[3]), memory);
    if (hipFree(memory)) return 1;
    puts("done");
    fflush(stdout);
    end(argv[argc - 1]);
}
