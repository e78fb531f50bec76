/* SPDX-License-Identifier: MIT
 *
 * What HIP capture by rocprofiler-sdk adds to the host's time of a call, and how many records of
 * device work it takes a second, on the stand-ins of tests/hip/rocprofiler: so the library's own
 * cost is not AMD's, and only the difference to a client that does nothing is said of hipboard.
 *
 *     LD_LIBRARY_PATH=build-bench/tests/hip/rocprofiler build-bench/tests/bench/bench_rocprofiler
 * [bare|empty]
 *
 * "bare": without any client; "empty": with one that does nothing.
 */
#include <hip/hip_runtime_api.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hipboard/hipboard.h>

#include "../hip/rocprofiler/fake.h"
#include "hip/rocprofiler_abi.h"
#include "rounds.h"

enum { LAUNCHES = 200000 };

static void *kernel;
static char host[64], *device;

static void check(int failed, const char *what)
{
    if (!failed) return;
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

static void launch(void)
{
    check(hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL), "a launch");
}

static void copy(void)
{
    check(hipMemcpyAsync(device, host, sizeof host, hipMemcpyHostToDevice, NULL), "a copy");
}

static void nothing(void) {}

/* ---- a client that does nothing ---- */

static hb_rocp_id context, buffer;

static void *function_of(const char *name)
{
    static void *library;
    if (!library) library = dlopen("librocprofiler-sdk.so.1", RTLD_LAZY | RTLD_GLOBAL);
    void *address = library ? dlsym(library, name) : NULL;
    check(!address, name);
    return address;
}

#define SDK(name, ...) ((int (*)(__VA_ARGS__))function_of("rocprofiler_" name))

static void on_call(hb_rocp_callback_1 record, uint64_t *data, void *arg)
{
    (void)record;
    (void)data;
    (void)arg;
}

static void on_records(hb_rocp_id from, hb_rocp_id of, hb_rocp_header **records, size_t count,
                       void *arg, uint64_t dropped)
{
    (void)from;
    (void)of;
    (void)records;
    (void)count;
    (void)arg;
    (void)dropped;
}

/* What hipboard's own client wants, too. */
static int initialize(void (*finish)(void *), void *arg)
{
    enum { BYTES = 4 << 20, AT = 1 << 20 };
    (void)finish;
    (void)arg;
    check(SDK("create_context", hb_rocp_id *)(&context), "a context");
    check(SDK("configure_callback_tracing_service", hb_rocp_id, uint32_t, const int32_t *, size_t,
              void (*)(hb_rocp_callback_1, uint64_t *, void *),
              void *)(context, HB_ROCP_CALLBACK_HIP_RUNTIME, NULL, 0, on_call, NULL),
          "a service of calls");
    check(SDK("create_buffer", hb_rocp_id, size_t, size_t, uint32_t,
              void (*)(hb_rocp_id, hb_rocp_id, hb_rocp_header **, size_t, void *, uint64_t), void *,
              hb_rocp_id *)(context, BYTES, AT, HB_ROCP_LOSSLESS, on_records, NULL, &buffer),
          "a buffer");
    for (uint32_t kind = HB_ROCP_RECORD_MEMORY_COPY; kind <= HB_ROCP_RECORD_DISPATCH; kind++)
        check(SDK("configure_buffer_tracing_service", hb_rocp_id, uint32_t, const int32_t *, size_t,
                  hb_rocp_id)(context, kind, NULL, 0, buffer),
              "a service of work");
    check(SDK("start_context", hb_rocp_id)(context), "a start");
    return 0;
}

static hb_rocp_tool *configure(uint32_t version, const char *text, uint32_t priority, void *client)
{
    static hb_rocp_tool tool = {sizeof tool, initialize, NULL, NULL};
    (void)version;
    (void)text;
    (void)priority;
    ((hb_rocp_client_1 *)client)->name = "nothing";
    return &tool;
}

/* ---- hipboard ---- */

static hb_profiler *prof;

static void start_hipboard(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU | HB_ACTIVITY_HIP;
    o.spool_dir = "";
    check(!(prof = hb_profiler_create(&o)), hb_last_error());
}

static bool count_kernel(const hb_event *event, void *arg)
{
    *(long *)arg += event->kind == HB_EVENT_KERNEL;
    return true;
}

/* ---- what is measured ---- */

static void measure_calls(const char *client)
{
    static series launches, copies;
    for (int i = 0; i < SESSIONS; i++) {
        if (prof) check(hb_profiler_start(prof), hb_last_error());
        measure(&launches, launch, nothing);
        measure(&copies, copy, nothing);
        if (prof) check(hb_profiler_stop(prof), hb_last_error());
    }
    printf("%-10s a launch %5.0f ns, a copy of 64 bytes %5.0f ns\n", client, best(&launches),
           best(&copies));
}

/* Until all are handed over; with hipboard they are also in their place in the trace's records. */
static void measure_records(const char *client)
{
    long kept = 0;
    double least = 1e18;
    for (int i = 0; i < ROUNDS; i++) {
        if (prof) check(hb_profiler_start(prof), hb_last_error());
        double start = now_ns();
        for (int n = 0; n < LAUNCHES; n++)
            launch();
        if (context.handle) SDK("flush_buffer", hb_rocp_id)(buffer);
        if (prof) check(hb_profiler_stop(prof), hb_last_error());
        double took = now_ns() - start;
        if (took < least) least = took;
        kept = 0;
        if (prof) hb_profiler_events(prof, count_kernel, &kept);
    }
    printf("%-10s %d launches, until handed over: %.0f ns each, %.2f M/s", client, LAUNCHES,
           least / LAUNCHES, LAUNCHES * 1e3 / least);
    printf(prof ? "; %ld recorded\n" : "\n", kept);
}

int main(int argc, char **argv)
{
    static const fake_symbol nop = {1, "nop.kd", 0, 0, 16, 8, 0};
    const char *client = argc > 1 ? argv[1] : "hipboard";
    if (strcmp(client, "hipboard") == 0) start_hipboard();
    if (strcmp(client, "empty") == 0)
        check(SDK("force_configure", hb_rocp_configure)(configure), "a client");
    kernel = fake_load(&nop);
    check(hipMalloc((void **)&device, sizeof host), "memory");
    measure_calls(client);
    measure_records(client);
    hb_profiler_destroy(prof);
    return 0;
}
