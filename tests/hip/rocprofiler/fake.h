/* SPDX-License-Identifier: MIT
 *
 * Stand-ins for ROCm's libraries, as far as a profiler sees them: a HIP runtime with dispatch
 * tables (libamdhip64.so.7), the library that it registers these with
 * (librocprofiler-register.so.0) and rocprofiler-sdk (librocprofiler-sdk.so.1), whose records say
 * what a test has told them to.
 *
 * Environment:
 *   FAKE_ROCPROFILER_VERSION  0.5.0, 0.6.0, 1.0.0 (default): the interface is of that version
 *   FAKE_ROCPROFILER_REFUSES  the name of a function that returns an error
 *   FAKE_ROCPROFILER_TAKEN    another tool has configured it
 *   FAKE_ROCPROFILER_DROPS    each so many records is lost
 *   FAKE_ROCPROFILER_AHEAD    so many seconds are its times ahead of CLOCK_BOOTTIME
 *   FAKE_HIP_UNREGISTERED     the runtime does not use its tables
 *   FAKE_HIP_ORDER            the devices' order, as "7,0": these of the eight, in this order
 */
#ifndef FAKE_H
#define FAKE_H

#include <stddef.h>
#include <stdint.h>

#define FAKE_API __attribute__((visibility("default")))

/** What a kernel did. */
typedef struct fake_dispatch {
    uint64_t kernel_id, agent, queue;
    uint64_t begin_ns, end_ns; /* CLOCK_BOOTTIME */
    uint32_t private_bytes, group_bytes;
    uint32_t workgroup[3], grid[3]; /* in work-items */
} fake_dispatch;

typedef struct fake_copy {
    uint64_t to, from; /* agents */
    uint64_t begin_ns, end_ns, bytes;
    uint32_t operation;
} fake_copy;

typedef struct fake_symbol {
    uint64_t kernel_id;
    const char *name;
    uint32_t group_bytes, private_bytes, sgprs, arch_vgprs, accum_vgprs;
} fake_symbol;

/** What the runtime hands to those that it registers with. An untouched table reports to nobody. */
typedef struct fake_table {
    void *(*enter)(const char *function, const void *args, size_t size);
    void (*exit)(void *call, int result);
    void (*dispatch)(const fake_dispatch *dispatch);
    void (*copy)(const fake_copy *copy);
    void (*load)(const fake_symbol *symbol);
} fake_table;

/* ---- in the HIP runtime, for tests ---- */

enum { FAKE_FIRST_AGENT = 37944, FAKE_CPUS = 2, FAKE_GPUS = 8 };

/** "Loads" a kernel and returns what to launch it by. */
FAKE_API void *fake_load(const fake_symbol *symbol);

/** The calling thread's next launch is done so, but for the grid, block and kernel, which the call
 * tells. */
FAKE_API void fake_next_launch(const fake_dispatch *dispatch);

/** The calling thread's next hipDeviceSynchronize() calls this, which need not return. */
FAKE_API void fake_in_next_wait(void (*what)(void));

/** A kernel that the runtime runs by itself, in no call. */
FAKE_API void fake_run(const fake_dispatch *dispatch);

#endif
