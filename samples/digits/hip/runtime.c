/* SPDX-License-Identifier: MIT */
#include "runtime.h"

#include "../die.h"

#include <dlfcn.h>
#include <string.h>

struct hip_functions hip;

/* The newest first; ROCm's own place last, for it may not be in the loader's path. */
static void *open_library(void)
{
    static const char *const names[] = {
        "libamdhip64.so.7",
        "libamdhip64.so.6",
        "libamdhip64.so.5",
        "/opt/rocm/lib/libamdhip64.so",
    };
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_GLOBAL);
    return library;
}

const char *hip_load(void)
{
    static const struct {
        const char *name;
        size_t offset;
    } functions[] = {
#define HIP_ROW(name) {"hip" #name, offsetof(struct hip_functions, name)},
        HIP_FUNCTIONS(HIP_ROW)
#undef HIP_ROW
    };
    if (hip.Malloc) return NULL;
    void *library = open_library();
    if (!library) return "there is no HIP runtime (libamdhip64.so) on this machine";
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *address = dlsym(library, functions[i].name);
        if (!address) die("the HIP runtime of this machine lacks %s()", functions[i].name);
        memcpy((char *)&hip + functions[i].offset, &address, sizeof address);
    }
    return NULL;
}

void hip_ok(hipError_t error, const char *call)
{
    if (error != hipSuccess) die("%s: %s", call, hip.GetErrorName(error));
}
