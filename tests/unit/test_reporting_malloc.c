/* SPDX-License-Identifier: MIT
 *
 * A program whose malloc() reports to hb_memory_alloc(), without a guard of its own, after so many
 * keys for thread-specific data were taken that setting one allocates; and one whose malloc() is a
 * scope, which tells whether anything is missed while a step ends one cycle and begins the next.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>

#include "program.h"

enum { KEYS = 40, THREADS = 8, ALLOCATIONS = 1000 };

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void __libc_free(void *p);

static atomic_bool reporting;
static __thread bool in_step;
static int taken_in_steps;

static void *tell(void *p, size_t size)
{
    if (p && atomic_load(&reporting)) hb_memory_alloc(HB_DEVICE_CPU, 0, p, size);
    if (in_step) {
        HB_RECORD_FUNCTION("taken in a step") {
            taken_in_steps++;
        }
    }
    return p;
}

void *malloc(size_t size)
{
    return tell(__libc_malloc(size), size);
}

void *calloc(size_t n, size_t size)
{
    return tell(__libc_calloc(n, size), n * size);
}

void free(void *p)
{
    if (p && atomic_load(&reporting)) hb_memory_free(HB_DEVICE_CPU, 0, p, 1);
    __libc_free(p);
}

static void *allocate(void *arg)
{
    for (int i = 0; i < ALLOCATIONS; i++) {
        HB_RECORD_FUNCTION("work") {
            char *volatile p = malloc(100);
            free(p);
        }
    }
    return arg;
}

static int report_from_malloc(void)
{
    pthread_t threads[THREADS];
    pthread_key_t key;
    for (int i = 0; i < KEYS; i++)
        CHECK(pthread_key_create(&key, NULL) == 0);
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.profile_memory = true;
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", 0);
    hb_profiler *prof = hb_profiler_create(&o);
    atomic_store(&reporting, true);
    CHECK(prof && hb_profiler_start(prof) == HB_OK);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, allocate, NULL) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK(hb_profiler_stop(prof) == HB_OK);
    hb_lost lost = {.struct_size = sizeof lost};
    CHECK(hb_profiler_lost(prof, &lost) == HB_OK && lost.buffer_full == 0);
    hb_profiler_destroy(prof);
    return 0;
}

static void it_records(void **state)
{
    (void)state;
    assert_int_equal(run_program(report_from_malloc), 0);
}

/* Of the files in `dir`. */
static int count_in_traces(const char *what)
{
    static char line[1 << 16];
    int found = 0;
    DIR *list = opendir(dir);
    for (struct dirent *e; (e = readdir(list));) {
        char path[600];
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        FILE *f = strstr(e->d_name, ".pt.trace.json") ? fopen(path, "re") : NULL;
        while (f && fgets(line, sizeof line, f))
            found += strstr(line, what) != NULL;
        if (f) fclose(f);
    }
    closedir(list);
    return found;
}

static int step_from_cycle_to_cycle(void)
{
    enum { STEPS = 20 };
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.activities = HB_ACTIVITY_CPU;
    o.schedule = hb_schedule_make(.active = 1);
    o.on_trace_ready = hb_tensorboard_trace_handler(dir, "w", HB_NO_EVENT_FILE);
    hb_profiler *prof = hb_profiler_create(&o);
    CHECK(prof && hb_profiler_start(prof) == HB_OK);
    for (int i = 0; i < STEPS; i++) {
        in_step = true;
        CHECK(hb_profiler_step(prof) == HB_OK);
        in_step = false;
    }
    CHECK(hb_profiler_stop(prof) == HB_OK);
    hb_profiler_destroy(prof);
    int found = count_in_traces("\"taken in a step\"");
    fprintf(stderr, "%d of %d are recorded\n", found, taken_in_steps);
    CHECK(taken_in_steps >= STEPS && found == taken_in_steps);
    return 0;
}

static void nothing_is_missed_from_cycle_to_cycle(void **state)
{
    (void)state;
    assert_int_equal(run_program(step_from_cycle_to_cycle), 0);
}

#else

static int report_from_malloc(void)
{
    return 0;
}

static int step_from_cycle_to_cycle(void)
{
    return 0;
}

static void nothing_is_missed_from_cycle_to_cycle(void **state)
{
    (void)state;
    skip(); /* malloc() is theirs */
}

static void it_records(void **state)
{
    (void)state;
    skip(); /* malloc() is theirs */
}

#endif

int main(int argc, char **argv)
{
    static const program programs[] = {PROGRAM(report_from_malloc),
                                       PROGRAM(step_from_cycle_to_cycle)};
    const struct CMUnitTest tests[] = {IN_DIR(it_records),
                                       IN_DIR(nothing_is_missed_from_cycle_to_cycle)};
    int status;
    if (argc > 1 && is_program(argv, programs, sizeof programs / sizeof *programs, &status))
        return status;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
