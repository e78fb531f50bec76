/* SPDX-License-Identifier: MIT
 *
 * AMD's HIP runtime, loaded when it is wanted: so one program runs with and without ROCm. Functions
 * have their usual names with a dot: hip.MemcpyAsync() is hipMemcpyAsync().
 */
#ifndef DIGITS_HIP_RUNTIME_H
#define DIGITS_HIP_RUNTIME_H

#include <stddef.h>

#include <hip/hip_runtime_api.h>

#define HIP_FUNCTIONS(X)     \
    X(DeviceGetName)         \
    X(EventCreate)           \
    X(EventDestroy)          \
    X(EventElapsedTime)      \
    X(EventRecord)           \
    X(EventSynchronize)      \
    X(Free)                  \
    X(GetDeviceCount)        \
    X(GetErrorName)          \
    X(HostFree)              \
    X(HostMalloc)            \
    X(Malloc)                \
    X(MemcpyAsync)           \
    X(MemsetAsync)           \
    X(ModuleGetFunction)     \
    X(ModuleLaunchKernel)    \
    X(ModuleLoadData)        \
    X(ModuleUnload)          \
    X(StreamCreateWithFlags) \
    X(StreamDestroy)         \
    X(StreamSynchronize)     \
    X(StreamWaitEvent)

struct hip_functions {
#define HIP_MEMBER(name) __typeof__(hip##name) *name;
    HIP_FUNCTIONS(HIP_MEMBER)
#undef HIP_MEMBER
};

extern struct hip_functions hip;

/** Loads the runtime, once. NULL, or why that cannot be done. */
const char *hip_load(void);

/** Ends the program, with the error's name, where a call failed: OK(hip.Malloc(&x, 4)). */
void hip_ok(hipError_t error, const char *call);
#define OK(call) hip_ok((call), #call)

#endif
