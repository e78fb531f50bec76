/* SPDX-License-Identifier: MIT
 *
 * libhipboard-capture.so: loaded into a program by `hipboard record`, it profiles all of it. What
 * to do stands in the environment, so that the program's children are profiled as well, each
 * process into a file of its own. The program's roctx ranges become annotations.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <hipboard/hipboard.h>

#include "capture.h"

static unsigned number(const char *name)
{
    const char *text = getenv(name);
    return text ? (unsigned)strtoul(text, NULL, 10) : 0;
}

static hb_profiler *prof; /* of this process */

static void finish(void)
{
    hb_profiler_destroy(prof); /* stops it, which writes the trace */
    prof = NULL;
}

/* Without the profiler the program still runs; why there is none stands on stderr. A forked child
 * leaves its parent's alone and has one of its own. */
static void start(void)
{
    const char *dir = getenv(CAPTURE_DIR);
    if (!dir || !*dir) return;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = number(CAPTURE_ACTIVITIES);
    o.profile_memory = true;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, NULL, number(CAPTURE_FLAGS));
    prof = hb_profiler_create(&o);
    if (!prof || hb_profiler_start(prof) != HB_OK) capture_complain(hb_last_error());
}

/* ---- where it starts ---- */

typedef int (*main_fn)(int argc, char **argv, char **environment);
typedef int (*start_main_fn)(main_fn main, int argc, char **argv, void (*init)(void),
                             void (*fini)(void), void (*rtld_fini)(void), void *stack_end);

static main_fn program;

static int recorded_main(int argc, char **argv, char **environment)
{
    start();
    atexit(finish);
    pthread_atfork(NULL, NULL, start);
    return program(argc, argv, environment);
}

__attribute__((visibility("default"))) int __libc_start_main(main_fn main, int argc, char **argv,
                                                             void (*init)(void), void (*fini)(void),
                                                             void (*rtld_fini)(void),
                                                             void *stack_end);

/* Not from a constructor: what is to happen at exit must be asked for after the C library has asked
 * for the libraries' ends, to come before the end of the HIP runtime. */
int __libc_start_main(main_fn main, int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end)
{
    start_main_fn real;
    void *address = dlsym(RTLD_NEXT, "__libc_start_main");
    memcpy(&real, &address, sizeof real);
    program = main;
    return real(recorded_main, argc, argv, init, fini, rtld_fini, stack_end);
}

/* ---- roctx ---- */

#define EXPORT __attribute__((visibility("default")))

EXPORT int roctxRangePushA(const char *message);
EXPORT int roctxRangePop(void);
EXPORT void roctxMarkA(const char *message);
EXPORT uint64_t roctxRangeStartA(const char *message);
EXPORT void roctxRangeStop(uint64_t id);

static __thread int depth;

int roctxRangePushA(const char *message)
{
    hb_range_push(message);
    return depth++;
}

int roctxRangePop(void)
{
    if (depth == 0) return -1;
    hb_range_pop();
    return --depth;
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
    pthread_mutex_lock(&lock);
    uint64_t id = ++last_id;
    int slot = 0;
    while (slot < RANGES && ids[slot])
        slot++;
    if (slot < RANGES) {
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
