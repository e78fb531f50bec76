/* SPDX-License-Identifier: MIT
 *
 * roctx: the program's ranges become annotations, those named "ProfilerStep#N" its steps, and those
 * by which libraries tell of their calls operators.
 */
#include <pthread.h>
#include <stdint.h>

#include <hipboard/hipboard.h>

#include "capture.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT int roctxRangePushA(const char *message);
EXPORT int roctxRangePop(void);
EXPORT void roctxMarkA(const char *message);
EXPORT uint64_t roctxRangeStartA(const char *message);
EXPORT void roctxRangeStop(uint64_t id);

static __thread int depth;
/* bit i: the range at depth i is marked by the profiler; is a library's call */
static __thread uint64_t steps, calls;

int roctxRangePushA(const char *message)
{
    bool step = depth < 64 && capture_begins_step(message);
    if (step)
        steps |= UINT64_C(1) << depth;
    else if (depth < 64 && hb_call_range_push(message))
        calls |= UINT64_C(1) << depth;
    else
        hb_range_push(message);
    return depth++;
}

int roctxRangePop(void)
{
    if (depth == 0) return -1;
    depth--;
    uint64_t bit = depth < 64 ? UINT64_C(1) << depth : 0;
    if (calls & bit)
        hb_call_range_pop();
    else if (!(steps & bit))
        hb_range_pop();
    steps &= ~bit;
    calls &= ~bit;
    return depth;
}

void roctxMarkA(const char *message)
{
    hb_scope scope = hb_record_function(message);
    hb_scope_end(&scope);
}

/* These ranges may be stopped by any thread. A range is one in 256 that can be open at a time. */
enum { RANGES = 256 };
static hb_scope ranges[RANGES];
static uint64_t ids[RANGES], last_id;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t roctxRangeStartA(const char *message)
{
    bool step = capture_begins_step(message);
    pthread_mutex_lock(&lock);
    uint64_t id = ++last_id;
    int slot = 0;
    while (slot < RANGES && ids[slot])
        slot++;
    if (slot < RANGES && !step) {
        ids[slot] = id;
        ranges[slot] = hb_record_function(message);
    }
    pthread_mutex_unlock(&lock);
    return id;
}

void roctxRangeStop(uint64_t id)
{
    pthread_mutex_lock(&lock);
    for (int slot = 0; id && slot < RANGES; slot++) {
        if (ids[slot] != id) continue;
        hb_scope_end(&ranges[slot]);
        ids[slot] = 0;
    }
    pthread_mutex_unlock(&lock);
}
