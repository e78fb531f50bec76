/* SPDX-License-Identifier: MIT
 *
 * A program to be killed at any moment: threads record scopes in one cycle after the other, and
 * count in a shared file how many they began and completed while something recorded.
 *
 *   victim LOGDIR COUNTERS THREADS SCOPES_A_STEP FLAGS
 *
 * COUNTERS is a file of two 64-bit numbers a thread: begun, completed. FLAGS are hb_export_flags.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <hipboard/hipboard.h>

enum { MAX_THREADS = 64 };

typedef struct counters {
    _Atomic uint64_t begun, completed;
} counters;

static counters *shared;
static void work_a_moment(void)
{
    for (volatile int i = 0; i < 4000; i++) {
    }
}

/* A name of its own: so a reader of the traces can tell the threads apart. */
static void record_one(int thread, const char *name)
{
    hb_scope scope = hb_record_function(name);
    bool recorded = scope.record != NULL;
    if (recorded) atomic_fetch_add_explicit(&shared[thread].begun, 1, memory_order_release);
    work_a_moment();
    hb_scope_end(&scope);
    if (recorded) atomic_fetch_add_explicit(&shared[thread].completed, 1, memory_order_release);
}

static void *record_for_ever(void *arg)
{
    int thread = (int)(intptr_t)arg;
    char name[32];
    snprintf(name, sizeof name, "thread %d", thread);
    for (;;)
        record_one(thread, name);
    return NULL;
}

static counters *map_counters(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, MAX_THREADS * sizeof(counters)) != 0) return NULL;
    void *p = mmap(NULL, MAX_THREADS * sizeof(counters), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return p == MAP_FAILED ? NULL : p;
}

int main(int argc, char **argv)
{
    if (argc != 6) {
        fprintf(stderr, "victim LOGDIR COUNTERS THREADS SCOPES_A_STEP FLAGS\n");
        return 2;
    }
    int threads = atoi(argv[3]);
    int scopes_a_step = atoi(argv[4]);
    shared = map_counters(argv[2]);
    if (!shared || threads < 1 || threads > MAX_THREADS || scopes_a_step < 1) return 2;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_make(.active = 3);
    o.on_trace_ready = hb_tensorboard_trace_handler(argv[1], NULL, (unsigned)atoi(argv[5]));
    hb_profiler *prof = hb_profiler_create(&o);
    if (!prof || hb_profiler_start(prof) != HB_OK) {
        fprintf(stderr, "victim: %s\n", hb_last_error());
        return 1;
    }
    for (int i = 1; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, record_for_ever, (void *)(intptr_t)i) != 0) return 1;
    }
    for (;;) {
        for (int i = 0; i < scopes_a_step; i++)
            record_one(0, "thread 0");
        if (hb_profiler_step(prof) != HB_OK) fprintf(stderr, "victim: %s\n", hb_last_error());
    }
}
