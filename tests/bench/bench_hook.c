/* SPDX-License-Identifier: MIT
 *
 * What hipboard's own hook adds to a launch, over one that does nothing, on the thread that
 * launches: on a stand-in for a runtime that calls its hook as HIP 6 and 7 do and has no threads of
 * its own, whose contention is many times what is measured (bench_hip own has both).
 *
 *     build/tests/bench/bench_hook
 */
#include <hipboard/hipboard.h>

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "empty_hook.h"
#include "rounds.h"

typedef struct sizes {
    unsigned x, y, z;
} sizes;

static int (*launch_kernel)(const void *, sizes, sizes, void **, size_t, void *);
static int (*synchronize)(void);
static void (*register_tracer)(tracer_function *f);
static int stream;

static void find(const char *name, void *function)
{
    void *address = dlsym(RTLD_DEFAULT, name);
    if (!address) exit(1);
    memcpy(function, &address, sizeof address);
}

static void launch(void)
{
    launch_kernel(&launch_kernel, (sizes){1, 1, 1}, (sizes){64, 1, 1}, NULL, 0, &stream);
}

static void wait(void)
{
    synchronize();
}

int main(void)
{
    static series bare, empty, recorded;
    api_data_size = API_DATA_SIZE;
    setenv("ODD_RUNTIME", "at_synchronize", 1);
    setenv("HIPBOARD_HIP_BACKEND", "tracer-hook", 1);
    if (!dlopen(RUNTIME, RTLD_NOW | RTLD_GLOBAL)) return 1;
    find("hipLaunchKernel", &launch_kernel);
    find("hipDeviceSynchronize", &synchronize);
    find("hipRegisterTracerCallback", &register_tracer);
    for (int i = 0; i < SESSIONS; i++) {
        measure(&bare, launch, wait);
        register_tracer(empty_tracer);
        measure(&empty, launch, wait);
        register_tracer(NULL);
        hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
        o.activities = HB_ACTIVITY_CPU | HB_ACTIVITY_HIP;
        o.spool_dir = "";
        hb_profiler *prof = hb_profiler_create(&o);
        if (!prof || hb_profiler_start(prof) != HB_OK) {
            fprintf(stderr, "%s\n", hb_last_error());
            return 1;
        }
        measure(&recorded, launch, wait);
        hb_profiler_destroy(prof);
    }
    printf("null launch: nobody listens %.0f ns, empty client %.0f, recorded %.0f: hipboard's own "
           "share %.0f\n",
           best(&bare), best(&empty), best(&recorded), best(&recorded) - best(&empty));
    return 0;
}
