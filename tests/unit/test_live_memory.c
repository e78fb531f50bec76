/* SPDX-License-Identifier: MIT
 *
 * What was allocated before a cycle: its totals and its addresses stand at the cycle's beginning.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hipboard/analysis.h>

#include "forks_with_threads.h"
#include "record/live_memory.h"
#include "recorded.h"
#include "written_trace.h"

#define AT(n) ((void *)(uintptr_t)(0x10000 * (uintptr_t)(n)))

static void allocate(uintptr_t at, size_t bytes)
{
    hb_memory_alloc(HB_DEVICE_CPU, 0, AT(at), bytes);
}

static void free_again(uintptr_t at, size_t bytes)
{
    hb_memory_free(HB_DEVICE_CPU, 0, AT(at), bytes);
}

static hb_profiler *with_memory(hb_schedule schedule)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.profile_memory = true;
    o.spool_dir = "";
    o.schedule = schedule;
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    return prof;
}

static hb_profiler *begun(void)
{
    hb_profiler *prof = with_memory((hb_schedule){0});
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    return prof;
}

typedef struct memory_event {
    int64_t bytes, allocated, reserved, addr, device;
    char owner[64];
} memory_event;

static int64_t number(const cJSON *args, const char *name)
{
    return (int64_t)cJSON_GetObjectItem(args, name)->valuedouble;
}

/* Of the last cycle; to be deleted. */
static cJSON *trace_of(hb_profiler *prof)
{
    char path[] = "/tmp/hb-live-memory-XXXXXX.json";
    close(mkstemps(path, 5));
    assert_int_equal(hb_export_chrome_trace(prof, path, 0), HB_OK);
    cJSON *trace = load_trace(path);
    unlink(path);
    return trace;
}

/* The memory events of the last cycle's trace, in its order; their number. */
static size_t events_of(hb_profiler *prof, memory_event *events, size_t most)
{
    size_t n = 0;
    cJSON *trace = trace_of(prof), *row;
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(trace, "traceEvents"))
    {
        const cJSON *args = cJSON_GetObjectItem(row, "args");
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(row, "name"));
        const char *owner = cJSON_GetStringValue(cJSON_GetObjectItem(args, "Allocated by"));
        if (!name || strcmp(name, "[memory]") != 0) continue;
        if (n < most) {
            events[n] =
                (memory_event){number(args, "Bytes"),          number(args, "Total Allocated"),
                               number(args, "Total Reserved"), number(args, "Addr"),
                               number(args, "Device Id"),      ""};
            snprintf(events[n].owner, sizeof events[n].owner, "%s", owner ? owner : "");
        }
        n++;
    }
    cJSON_Delete(trace);
    return n;
}

static memory_event nth(hb_profiler *prof, size_t n)
{
    memory_event events[8];
    assert_true(n < events_of(prof, events, 8));
    return events[n];
}

static size_t count(hb_profiler *prof)
{
    return events_of(prof, NULL, 0);
}

/* ---- what a cycle begins with ---- */

/* Each device has totals of its own, however many there are. */
static void each_of_very_many_devices_counts_for_itself(void **state)
{
    enum { DEVICES = 80 };
    (void)state;
    hb_profiler *prof = begun();
    for (int id = 0; id < DEVICES; id++)
        hb_memory_alloc(HB_DEVICE_HIP, id, AT(1000 + id), (size_t)(100 + id));
    for (int id = 0; id < DEVICES; id++)
        hb_memory_alloc(HB_DEVICE_HIP, id, AT(2000 + id), 1000);
    hb_profiler_stop(prof);
    memory_event events[2 * DEVICES];
    assert_int_equal(events_of(prof, events, 2 * DEVICES), 2 * DEVICES);
    for (int i = 0; i < 2 * DEVICES; i++) {
        int id = i % DEVICES;
        assert_int_equal(events[i].device, id);
        assert_int_equal(events[i].allocated, 100 + id + (i < DEVICES ? 0 : 1000));
    }
    hb_profiler_destroy(prof);
}

static void a_cycle_begins_with_what_was_allocated_in_steps_before_it(void **state)
{
    (void)state;
    hb_profiler *prof = with_memory(hb_schedule_make(.wait = 1, .warmup = 1, .active = 1));
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    allocate(1, 1000);
    hb_profiler_step(prof);
    allocate(2, 200);
    free_again(1, 1000);
    allocate(3, 30);
    hb_profiler_step(prof);
    hb_profiler_stop(prof);
    assert_int_equal(count(prof), 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(nth(prof, i).allocated, 230);
    assert_int_equal(nth(prof, 0).bytes + nth(prof, 1).bytes, 230);
    hb_profiler_destroy(prof);
}

static void a_free_of_older_memory_counts_down_from_the_true_total(void **state)
{
    (void)state;
    hb_profiler *prof = with_memory((hb_schedule){0});
    allocate(1, 1000);
    allocate(2, 200);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    free_again(1, 1000);
    allocate(3, 50);
    hb_profiler_stop(prof);
    assert_int_equal(nth(prof, 2).allocated, 200);
    assert_int_equal(nth(prof, 3).allocated, 250);
    hb_profiler_destroy(prof);
}

static void the_next_cycle_begins_where_the_last_one_ended(void **state)
{
    (void)state;
    hb_profiler *prof = begun();
    {
        hb_scope scope = hb_op("maker", NULL);
        allocate(1, 1000);
        hb_scope_end(&scope);
    }
    allocate(2, 500);
    free_again(2, 500);
    hb_profiler_stop(prof);
    assert_int_equal(count(prof), 3);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    hb_profiler_stop(prof);
    assert_int_equal(count(prof), 1);
    memory_event e = nth(prof, 0);
    assert_int_equal(e.bytes, 1000);
    assert_int_equal(e.allocated, 1000);
    assert_string_equal(e.owner, "maker");
    hb_profiler_destroy(prof);
}

/* A step is a scope as well, with a name of another kind. */
static void what_a_step_allocated_by_itself_is_held_by_the_step(void **state)
{
    (void)state;
    hb_profiler *prof = with_memory(hb_schedule_make(.active = 1));
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    allocate(1, 1000);
    hb_profiler_step(prof);
    allocate(2, 500);
    hb_profiler_step(prof);
    hb_profiler_stop(prof);
    assert_int_equal(count(prof), 2);
    for (size_t i = 0; i < 2; i++) {
        memory_event e = nth(prof, i);
        assert_string_equal(e.owner, e.bytes == 1000 ? "ProfilerStep#0" : "ProfilerStep#1");
    }
    hb_profiler_destroy(prof);
}

static void frees_of_what_nobody_told_of_were_there_before(void **state)
{
    (void)state;
    hb_profiler *prof = with_memory((hb_schedule){0});
    allocate(1, 1000);
    free_again(7, 70); /* allocated before there was a profiler */
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    free_again(8, 80);
    hb_profiler_stop(prof);
    assert_int_equal(nth(prof, 0).allocated, 1080);
    assert_int_equal(nth(prof, 1).allocated, 1000);
    hb_profiler_destroy(prof);
}

static void the_programs_own_totals_stand_at_the_beginning(void **state)
{
    (void)state;
    hb_profiler *prof = with_memory((hb_schedule){0});
    hb_memory_info info = {HB_DEVICE_HIP, 3, AT(1), 64, 1 << 20, 1 << 22, false};
    hb_memory_report(&info);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    hb_profiler_stop(prof);
    memory_event e = nth(prof, 0);
    assert_int_equal(e.allocated, 1 << 20);
    assert_int_equal(e.reserved, 1 << 22);
    assert_int_equal(e.device, 3);
    info = (hb_memory_info){HB_DEVICE_HIP, 3, AT(2), 16, 0, 0,
                            false}; /* it has another way to count */
    hb_memory_report(&info);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    hb_profiler_stop(prof);
    for (size_t i = 0; i < 2; i++) {
        e = nth(prof, i);
        assert_int_equal(e.allocated, 0);
        assert_int_equal(e.reserved, 0);
    }
    hb_profiler_destroy(prof);
}

/* ---- its bounds ---- */

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Those that are listed are the largest ones, in whatever order they were taken. */
static void the_largest_are_listed(void **state)
{
    enum { MANY = HB_LIVE_LISTED + 3000 };
    static int64_t sizes[MANY], seen[MANY];
    static memory_event events[HB_LIVE_LISTED + 1];
    size_t listed = 0;
    (void)state;
    hb_profiler *prof = with_memory((hb_schedule){0});
    for (uintptr_t i = 0; i < MANY; i++) {
        sizes[i] = 16 + 16 * (int64_t)(i * 7919 % MANY);
        allocate(i + 1, (size_t)sizes[i]);
    }
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    hb_profiler_stop(prof);
    size_t n = events_of(prof, events, HB_LIVE_LISTED + 1);
    assert_int_equal(n, HB_LIVE_LISTED + 1);
    for (size_t i = 0; i < n; i++)
        if (events[i].addr) seen[listed++] = events[i].bytes;
    assert_int_equal(listed, HB_LIVE_LISTED);
    for (uintptr_t i = 0; i < MANY; i++)
        free_again(i + 1, (size_t)sizes[i]);
    qsort(sizes, MANY, sizeof *sizes, by_size);
    qsort(seen, listed, sizeof *seen, by_size);
    assert_memory_equal(sizes, seen, listed * sizeof *seen);
    hb_profiler_destroy(prof);
}

/* Of `addresses` that are allocated the largest are listed; those beyond the table have 16 bytes.
 */
static void assert_counts_are_said(hb_profiler *prof, int64_t addresses)
{
    cJSON *trace = trace_of(prof);
    const cJSON *held = cJSON_GetObjectItem(trace, "hipboard_memory_held");
    assert_int_equal(held != NULL, addresses > 0);
    if (held) {
        int64_t beyond = number(held, "beyond_table");
        assert_in_range(beyond, addresses - HB_LIVE_SLOTS, addresses);
        assert_int_equal(number(held, "addresses") + beyond, addresses);
        assert_int_equal(number(held, "listed"), HB_LIVE_LISTED);
        assert_int_equal(number(held, "beyond_table_bytes"), 16 * beyond);
    }
    cJSON_Delete(trace);
}

static void more_addresses_than_are_listed_are_in_the_total(void **state)
{
    (void)state;
    enum { MANY = HB_LIVE_SLOTS + 1000 };
    hb_profiler *prof = with_memory((hb_schedule){0});
    for (uintptr_t i = 1; i <= MANY; i++)
        allocate(i, i == 77 ? 4096 : 16);
    int64_t all = (int64_t)MANY * 16 + 4080;
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    hb_profiler_stop(prof);
    static memory_event events[HB_LIVE_LISTED + 1];
    size_t n = events_of(prof, events, HB_LIVE_LISTED + 1);
    int64_t bytes = 0, largest = 0;
    for (size_t i = 0; i < n && i < HB_LIVE_LISTED + 1; i++) {
        assert_int_equal(events[i].allocated, all);
        bytes += events[i].bytes;
        if (events[i].addr == (int64_t)(uintptr_t)AT(77)) largest = events[i].bytes;
    }
    assert_int_equal(bytes, all);
    assert_int_equal(n, HB_LIVE_LISTED + 1);
    assert_int_equal(largest, 4096);
    assert_counts_are_said(prof, MANY);
    for (uintptr_t i = 1; i <= MANY; i++)
        free_again(i, i == 77 ? 4096 : 16);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    hb_profiler_stop(prof);
    assert_int_equal(count(prof), 0); /* what found no room in the table is gone as well */
    assert_counts_are_said(prof, 0);
    hb_profiler_destroy(prof);
}

/* What was there before is no allocation of the trace's. */
static void a_memory_profile_tells_what_was_before_apart(void **state)
{
    (void)state;
    char path[] = "/tmp/hb-live-memory-XXXXXX.json";
    hb_profiler *prof = with_memory((hb_schedule){0});
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    HB_RECORD_FUNCTION("weights") {
        allocate(1, 3000);
    }
    hb_profiler_stop(prof);
    allocate(2, 500);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    HB_RECORD_FUNCTION("work") {
        allocate(3, 10);
        free_again(2, 500);
    }
    hb_profiler_stop(prof);
    close(mkstemps(path, 5));
    assert_int_equal(hb_export_chrome_trace(prof, path, 0), HB_OK);
    hb_profiler_destroy(prof);
    hb_trace_file *file;
    hb_memory_profile *memory;
    hb_memory_device cpu;
    const hb_memory_holder *holders;
    size_t n;
    assert_int_equal(hb_trace_file_open(path, NULL, &file), HB_OK);
    assert_int_equal(hb_memory_profile_create(file, &memory), HB_OK);
    assert_int_equal(hb_memory_profile_device(memory, 0, &cpu), HB_OK);
    assert_int_equal((int)cpu.start_bytes, 3500);
    assert_int_equal((int)cpu.end_bytes, 3010);
    assert_int_equal((int)cpu.peak_bytes, 3510);
    assert_int_equal(cpu.allocations, 1);
    assert_int_equal(cpu.unknown_frees, 0);
    assert_int_equal((int)cpu.left_bytes, 10);
    assert_int_equal(
        hb_memory_profile_holders(memory, 0, HB_MEMORY_AT_END, HB_BY_OPERATOR, &holders, &n),
        HB_OK);
    assert_int_equal(n, 2);
    assert_true(holders[0].before && !holders[1].before);
    assert_string_equal(holders[0].name, "weights");
    assert_int_equal((int)holders[0].bytes, 3000);
    assert_string_equal(holders[1].name, "work");
    hb_memory_profile_destroy(memory);
    hb_trace_file_close(file);
    unlink(path);
}

static void without_such_a_profiler_nothing_is_kept(void **state)
{
    (void)state;
    assert_false(HB_MEMORY_ENABLED());
    hb_profiler *first = with_memory((hb_schedule){0}), *second = with_memory((hb_schedule){0});
    allocate(1, 100);
    hb_profiler_destroy(first);
    assert_true(HB_MEMORY_ENABLED());
    assert_int_equal(hb_profiler_start(second), HB_OK);
    hb_profiler_stop(second);
    assert_int_equal(nth(second, 0).allocated, 100);
    hb_profiler_destroy(second);
    assert_false(HB_MEMORY_ENABLED());
    hb_profiler *third = begun();
    hb_profiler_stop(third);
    assert_int_equal(count(third), 0);
    hb_profiler_destroy(third);
}

static void a_forked_child_begins_anew(void **state)
{
    (void)state;
    hb_profiler *prof = with_memory((hb_schedule){0});
    allocate(1, 100);
    pid_t child = fork();
    if (child == 0) {
        bool off = !HB_MEMORY_ENABLED();
        hb_profiler *own = begun();
        allocate(2, 7);
        hb_profiler_stop(own);
        hb_profiler_destroy(prof);
        bool on = HB_MEMORY_ENABLED();
        bool right = count(own) == 1 && nth(own, 0).allocated == 7;
        _exit(off && on && right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    hb_profiler_stop(prof);
    assert_int_equal(nth(prof, 0).allocated, 100);
    hb_profiler_destroy(prof);
}

/* ---- threads ---- */

enum { THREADS = 4, PAIRS = 20000, CYCLES = 10 };

static atomic_bool over;

/* Holds 64 bytes now and then. */
static void *allocating(void *arg)
{
    uintptr_t base = 1000000 + *(int *)arg * 100000;
    for (uintptr_t i = 0; !atomic_load(&over); i = (i + 1) % PAIRS) {
        allocate(base + i, 64);
        if (i % 64 == 0) sched_yield();
        free_again(base + i, 64);
        usleep(20);
    }
    return NULL;
}

/* Each cycle begins with exactly what is held all the time, and the few that are just under way. */
static void totals_are_exact_while_threads_allocate(void **state)
{
    (void)state;
    int ids[THREADS];
    pthread_t threads[THREADS];
    hb_profiler *prof = with_memory((hb_schedule){0});
    allocate(1, 1 << 20);
    for (int i = 0; i < THREADS; i++) {
        ids[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, allocating, &ids[i]), 0);
    }
    for (int c = 0; c < CYCLES; c++) {
        assert_int_equal(hb_profiler_start(prof), HB_OK);
        hb_profiler_stop(prof);
        static memory_event events[1000];
        size_t n = HB_MIN(events_of(prof, events, 1000), 1000u);
        for (size_t i = 0; i < n; i++) {
            int64_t beyond = events[i].allocated - (1 << 20);
            assert_true(beyond >= 0 && beyond <= THREADS * 64);
        }
    }
    atomic_store(&over, true);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    hb_profiler_stop(prof);
    assert_int_equal(count(prof), 1);
    assert_int_equal(nth(prof, 0).allocated, 1 << 20);
    hb_profiler_destroy(prof);
}

/* ---- threads that take turns ---- */

enum { WORKERS = 7, TURNS = 210 };

static atomic_int turn;

static int whose_turn(int at)
{
    return (at * 5 + at / WORKERS) % WORKERS;
}

static void *take_turns(void *arg)
{
    int own = *(int *)arg;
    for (int at = 0; at < TURNS; at++) {
        if (whose_turn(at) != own) continue;
        while (atomic_load(&turn) != at)
            sched_yield();
        allocate(1000 + (uintptr_t)at, (size_t)at + 1);
        atomic_store(&turn, at + 1);
    }
    return NULL;
}

/* What is told of a thread's allocation counts what others had allocated by then. */
static void totals_follow_the_order_of_time_over_all_threads(void **state)
{
    (void)state;
    static memory_event events[TURNS + 1];
    int ids[WORKERS];
    pthread_t threads[WORKERS];
    hb_profiler *prof = begun();
    atomic_store(&turn, 0);
    for (int i = 0; i < WORKERS; i++) {
        ids[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &ids[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    hb_profiler_stop(prof);
    assert_int_equal(events_of(prof, events, TURNS + 1), TURNS);
    for (int i = 0; i < TURNS; i++) {
        int64_t n = events[i].bytes;
        assert_int_equal(events[i].allocated, n * (n + 1) / 2);
    }
    hb_profiler_destroy(prof);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_of_very_many_devices_counts_for_itself),
        cmocka_unit_test(a_cycle_begins_with_what_was_allocated_in_steps_before_it),
        cmocka_unit_test(a_free_of_older_memory_counts_down_from_the_true_total),
        cmocka_unit_test(the_next_cycle_begins_where_the_last_one_ended),
        cmocka_unit_test(what_a_step_allocated_by_itself_is_held_by_the_step),
        cmocka_unit_test(frees_of_what_nobody_told_of_were_there_before),
        cmocka_unit_test(the_programs_own_totals_stand_at_the_beginning),
        cmocka_unit_test(the_largest_are_listed),
        cmocka_unit_test(more_addresses_than_are_listed_are_in_the_total),
        cmocka_unit_test(a_memory_profile_tells_what_was_before_apart),
        cmocka_unit_test(without_such_a_profiler_nothing_is_kept),
        cmocka_unit_test(a_forked_child_begins_anew),
        cmocka_unit_test(totals_are_exact_while_threads_allocate),
        cmocka_unit_test(totals_follow_the_order_of_time_over_all_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
