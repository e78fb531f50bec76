/* SPDX-License-Identifier: MIT
 *
 * A HIP program that is linked to no HIP: it loads the runtime when it needs it, as frameworks do,
 * and asks for the functions, by hipGetProcAddress() where there is one. Knows nothing of hipboard.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { VERSION = 60000000 };

static void *runtime;
static int (*get_proc_address)(const char *, void **, int, uint64_t, void *);

static void find(const char *name, void *function_pointer)
{
    void *address = dlsym(runtime, name);
    if (get_proc_address) get_proc_address(name, &address, VERSION, 0, NULL);
    memcpy(function_pointer, &address, sizeof address);
}

int main(void)
{
    int (*allocate)(void **, size_t), (*fill)(void *, int, size_t), (*release)(void *);
    void *memory;
    runtime = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!runtime) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    find("hipGetProcAddress", &get_proc_address);
    find("hipMalloc", &allocate);
    find("hipMemset", &fill);
    find("hipFree", &release);
    if (allocate(&memory, 4096) || fill(memory, 0, 4096) || release(memory)) return 1;
    puts(get_proc_address ? "by hipGetProcAddress" : "by dlsym");
    return 0;
}
