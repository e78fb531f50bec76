/* SPDX-License-Identifier: MIT
 *
 * What fake_hip.c lacks of a HIP that can be interposed: events, and names.
 */
#include "fake_events.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <hip/hip_runtime_api.h>

FAKE_API const char *hipApiName(uint32_t id);
FAKE_API const char *hipKernelNameRefByPtr(const void *function, hipStream_t stream);

/* Numbers are those of no release. */
const char *hipApiName(uint32_t id)
{
    static const char *const names[] = {"unknown",
                                        "hipDrvLaunchKernelEx",
                                        "hipGetDeviceCount",
                                        "hipGetProcAddress",
                                        "hipLaunchByPtr",
                                        "hipLaunchKernelExC",
                                        "hipMalloc",
                                        "hipModuleLaunchKernel",
                                        "hipGetDriverEntryPoint",
                                        "hipLibraryGetKernel",
                                        "hipLibraryLoadData",
                                        "hipDeviceReset"};
    return names[id < sizeof names / sizeof *names ? id : 0];
}

/* A kernel begins with its symbol, as fake_load() made it. */
const char *hipKernelNameRefByPtr(const void *function, hipStream_t stream)
{
    (void)stream;
    return ((const fake_symbol *)function)->name;
}

const char *hipKernelNameRef(const hipFunction_t f)
{
    return hipKernelNameRefByPtr(f, NULL);
}

/* ---- events ---- */

typedef struct made {
    struct timespec at;
    struct made *next;
} made;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static made *all;

hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags)
{
    (void)flags;
    made *new = calloc(1, sizeof *new);
    if (!new) return hipErrorOutOfMemory;
    pthread_mutex_lock(&lock);
    new->next = all;
    all = new;
    pthread_mutex_unlock(&lock);
    *event = (hipEvent_t) new;
    return hipSuccess;
}

static struct failures {
    int after, times, error;
} failures[FAKE_EVENT_CALLS];

void fake_event_fails(fake_event_call call, int after, int times, int error)
{
    pthread_mutex_lock(&lock);
    failures[call] = (struct failures){after, times, error};
    pthread_mutex_unlock(&lock);
}

static hipError_t answer(fake_event_call call)
{
    pthread_mutex_lock(&lock);
    struct failures *f = &failures[call];
    bool fails = f->after == 0 && f->times > 0;
    int error = fails ? f->error : hipSuccess;
    f->times -= fails;
    f->after -= f->after > 0;
    pthread_mutex_unlock(&lock);
    return (hipError_t)error;
}

hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream)
{
    (void)stream;
    hipError_t error = answer(FAKE_EVENT_RECORD);
    if (error) return error;
    clock_gettime(CLOCK_BOOTTIME, &((made *)event)->at);
    return hipSuccess;
}

hipError_t hipEventQuery(hipEvent_t event)
{
    (void)event;
    return answer(FAKE_EVENT_QUERY);
}

static double ms(hipEvent_t event)
{
    const struct timespec *t = &((const made *)event)->at;
    return (double)t->tv_sec * 1e3 + (double)t->tv_nsec * 1e-6;
}

static _Atomic double gain;

void fake_events_gain(double share)
{
    gain = share;
}

hipError_t hipEventElapsedTime(float *elapsed, hipEvent_t start, hipEvent_t stop)
{
    *elapsed = (float)((ms(stop) - ms(start)) * (1 + gain));
    return answer(FAKE_EVENT_ELAPSED);
}

/* They are the device's. */
hipError_t hipDeviceReset(void)
{
    pthread_mutex_lock(&lock);
    for (made *next; all; all = next) {
        next = all->next;
        free(all);
    }
    pthread_mutex_unlock(&lock);
    return hipSuccess;
}

hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags)
{
    (void)flags;
    *stream = NULL;
    return hipSuccess;
}

hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus *status)
{
    (void)stream;
    *status = hipStreamCaptureStatusNone;
    return hipSuccess;
}

hipError_t hipGetLastError(void)
{
    return hipSuccess;
}
