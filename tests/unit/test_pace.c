/* SPDX-License-Identifier: MIT
 *
 * Steps that are seen in launches while a program runs, and then counted.
 */
#include "pace/paced_steps.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <hipboard/hipboard.h>

#include "test_dir.h"

/* ---- windows ---- */

static hb_pace_window window;
static int64_t now;

static void call_of(int64_t tid, enum hb_pace_deed deed, uint64_t key, uint64_t place,
                    uint64_t place_in_loop)
{
    uint64_t pcs[] = {place, place_in_loop, 0x1000};
    hb_pace_seen seen = {.key = key, .start_ns = now += 1000, .tid = tid, .deed = deed};
    assert_true(hb_pace_window_add(&window, &seen, pcs, place ? 3 : 0));
}

static void call(enum hb_pace_deed deed, uint64_t key, uint64_t place, uint64_t place_in_loop)
{
    call_of(7, deed, key, place, place_in_loop);
}

static void launch(uint64_t key, uint64_t place)
{
    call(HB_PACE_LAUNCH, key, place ? place + 4096 : 0, place);
}

/* A step of a network: as many layers as there are, and a loss. */
static void training_step(int layers, bool stacks)
{
    uint64_t place = stacks ? 0x2000 : 0;
    for (int i = 0; i < layers; i++) {
        launch(1, place);
        launch(2, place);
    }
    launch(3, stacks ? 0x2010 : 0);
    call(HB_PACE_COPY, 4, stacks ? 0x3020 : 0, stacks ? 0x2020 : 0);
}

static int clear(void **state)
{
    (void)state;
    hb_pace_window_clear(&window);
    now = 1000000;
    return 0;
}

static void the_call_that_comes_once_begins_steps(void **state)
{
    (void)state;
    hb_pace_anchor anchor;
    for (int with_stacks = 0; with_stacks < 2; with_stacks++) {
        clear(NULL);
        for (int i = 0; i < 20; i++)
            training_step(6, with_stacks);
        assert_true(hb_pace_find(&window, &anchor));
        assert_true(anchor.key == 3 || anchor.key == 4);
        assert_int_equal(anchor.tid, 7);
        assert_in_range(anchor.steps, 18, 20);
        assert_int_equal(anchor.calls, 14);
        assert_non_null(strstr(anchor.told, with_stacks ? "call stacks" : "sequence"));
        assert_non_null(strstr(anchor.told, "\"inferred\": true"));
    }
}

/* A program warms up in its first steps, and the last one may not be over. */
static void what_only_some_steps_have_begins_none(void **state)
{
    (void)state;
    hb_pace_anchor anchor;
    for (int warm = 0; warm < 6; warm++) {
        clear(NULL);
        for (int i = 0; i < 12; i++) {
            if (i < warm) launch(9, 0x2000);
            training_step(6, true);
        }
        for (int i = 0; i < 6; i++)
            launch(1, 0x2000);
        assert_true(hb_pace_find(&window, &anchor));
        assert_int_equal(anchor.key, 3);
    }
}

/* What follows the last step is none of its calls. */
static void an_evaluation_behind_them_makes_no_step_longer(void **state)
{
    (void)state;
    hb_pace_anchor anchor;
    for (int with_stacks = 0; with_stacks < 2; with_stacks++) {
        clear(NULL);
        for (int i = 0; i < 20; i++)
            training_step(6, with_stacks);
        for (uint64_t i = 0; i < 40; i++)
            launch(20 + i, with_stacks ? 0x2100 + 16 * i : 0);
        assert_true(hb_pace_find(&window, &anchor));
        assert_int_equal(anchor.calls, 14);
    }
}

/* By stacks, where the number of layers differs from step to step. */
static void steps_may_be_of_different_lengths(void **state)
{
    (void)state;
    hb_pace_anchor anchor;
    for (int i = 0; i < 30; i++)
        training_step(3 + i * 7 % 5, true);
    assert_true(hb_pace_find(&window, &anchor));
    assert_true(anchor.key == 3 || anchor.key == 4);
    assert_int_equal(anchor.calls, 16);
}

/* What another thread does now and then makes no step longer, and begins none. */
static void steps_are_those_of_one_thread(void **state)
{
    (void)state;
    hb_pace_anchor anchor;
    for (int i = 0; i < 20; i++) {
        call_of(8, HB_PACE_LAUNCH, 50, 0x7000, 0x7008);
        call_of(8, HB_PACE_LAUNCH, 51, 0x7010, 0x7018);
        training_step(6, true);
    }
    assert_true(hb_pace_find(&window, &anchor));
    assert_true(anchor.key == 3 || anchor.key == 4);
    assert_int_equal(anchor.tid, 7);
    assert_int_equal(anchor.calls, 14);
}

/* Of several calls that each step makes once the earliest begins it; a wait is a call as well. */
static void the_earliest_of_several_begins_steps(void **state)
{
    (void)state;
    hb_pace_anchor anchor;
    for (int i = 0; i < 20; i++) {
        call(HB_PACE_WAIT, 60, 0, 0);
        launch(61, 0x2000);
        launch(62, 0x2010);
        launch(63, 0x2020);
    }
    assert_true(hb_pace_find(&window, &anchor));
    assert_int_equal(anchor.key, 61); /* rounds begin behind the wait */
    assert_int_equal(anchor.calls, 4);
}

/* Five rounds are steps; what is told is JSON that says how they were found. */
static void five_rounds_are_steps(void **state)
{
    (void)state;
    hb_pace_anchor anchor;
    for (int i = 0; i < 6; i++)
        training_step(6, true);
    assert_true(hb_pace_find(&window, &anchor));
    assert_in_range(anchor.steps, 5, 6);
    char expected[80];
    snprintf(expected, sizeof expected, "of %lld that were seen before by the call stacks",
             (long long)anchor.steps);
    assert_non_null(strstr(anchor.told, expected));
    assert_int_equal(anchor.told[strlen(anchor.told) - 1], '}');
}

static void a_copy_of_a_window_has_all_of_it(void **state)
{
    (void)state;
    hb_pace_window *copy = hb_pace_window_copy(&window);
    assert_non_null(copy);
    assert_int_equal(copy->calls.count, 0);
    hb_pace_window_clear(copy);
    free(copy);
    for (int i = 0; i < 5; i++)
        training_step(6, i % 2);
    copy = hb_pace_window_copy(&window);
    assert_non_null(copy);
    assert_int_equal(copy->calls.count, 70);
    assert_int_equal(copy->frames.count, 2 * 14 * 3);
    for (uint32_t i = 0; i < copy->calls.count; i++) {
        const hb_pace_seen *a = &copy->calls.items[i], *b = &window.calls.items[i];
        assert_memory_equal(a, b, sizeof *a);
        assert_int_equal(a->num_frames, i / 14 % 2 ? 3 : 0);
        assert_int_equal(a->frames, i / 14 * 42 / 2 + (i / 14 % 2 ? i % 14 * 3 - 21 : 0));
    }
    assert_memory_equal(copy->frames.items, window.frames.items,
                        copy->frames.count * sizeof *copy->frames.items);
    hb_pace_window_clear(&window);
    assert_int_equal(copy->calls.items[69].key, 4);
    hb_pace_window_clear(copy);
    free(copy);
}

static void a_call_is_known_by_what_and_where(void **state)
{
    (void)state;
    const void *here = (const void *)0x401000, *there = (const void *)0x401008;
    assert_true(hb_pace_key(1, here) == hb_pace_key(1, here));
    assert_true(hb_pace_key(1, here) != hb_pace_key(2, here));
    assert_true(hb_pace_key(1, here) != hb_pace_key(1, there));
    assert_true(hb_pace_key(0x401000, there) != hb_pace_key(0x401008, here));
}

static void where_each_call_comes_several_times_none_is_found(void **state)
{
    (void)state;
    hb_pace_anchor anchor;
    for (int i = 0; i < 20; i++)
        for (int k = 0; k < 6; k++)
            launch(1, 0x2000 + 16 * (uint64_t)(k % 3));
    assert_false(hb_pace_find(&window, &anchor));
}

static void few_rounds_and_none_are_no_steps(void **state)
{
    (void)state;
    hb_pace_anchor anchor;
    assert_false(hb_pace_find(&window, &anchor));
    for (int i = 0; i < 4; i++)
        training_step(6, true);
    assert_false(hb_pace_find(&window, &anchor));
    clear(NULL);
    srandom(4);
    for (int i = 0; i < 500; i++)
        launch((uint64_t)random() % 11, 0);
    assert_false(hb_pace_find(&window, &anchor));
}

/* ---- a program that runs ---- */

static atomic_long told, lost;
static int64_t last;
static bool takes_steps = true; /* for steps of its own */

static bool tell(int64_t number)
{
    if (number < 0) {
        atomic_fetch_add(&lost, 1);
        return true;
    }
    assert_true(!atomic_load(&told) || number == last + 1);
    last = number;
    atomic_fetch_add(&told, 1);
    return takes_steps;
}

static __attribute__((noinline)) void note(enum hb_pace_deed deed, uint64_t what)
{
    hb_pace_note(deed, what, __builtin_return_address(0));
}

static int behind; /* calls of the last step_of() behind the one that began a step */

static void count_behind(void)
{
    static long before;
    behind = atomic_load(&told) == before ? behind + 1 : 0;
    before = atomic_load(&told);
}

static __attribute__((noinline)) void step_of(uint64_t kernel)
{
    for (uint64_t i = 0; i < 5; i++) {
        note(HB_PACE_LAUNCH, kernel);
        count_behind();
    }
    note(HB_PACE_LAUNCH, kernel + 1);
    count_behind();
    note(HB_PACE_WAIT, 0);
    count_behind();
}

static hb_profiler *watch_until_steps_are_known(void)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    atomic_store(&told, 0);
    atomic_store(&lost, 0);
    hb_pace_watch(tell);
    while (!atomic_load(&told))
        step_of(100);
    return prof;
}

static void steps_are_told_as_they_begin_until_they_come_no_more(void **state)
{
    (void)state;
    hb_profiler *prof = watch_until_steps_are_known();
    long before = atomic_load(&told);
    for (int i = 0; i < 10; i++)
        step_of(100);
    assert_int_equal(atomic_load(&told), before + 10);
    for (int i = 0; !atomic_load(&lost) && i < 1000; i++)
        note(HB_PACE_LAUNCH, 500);
    assert_int_equal(atomic_load(&lost), 1);
    assert_int_equal(atomic_load(&told), before + 10);
    atomic_store(&told, 0);
    while (!atomic_load(&told)) /* the next loop is found as well */
        step_of(900);
    hb_pace_watch(NULL);
    before = atomic_load(&told);
    step_of(900);
    assert_int_equal(atomic_load(&told), before);
    hb_profiler_destroy(prof);
}

/* Of a cycle in which so many steps were told of; whether its trace says how they were found. */
static bool trace_tells(hb_profiler *prof, int steps, const char *path)
{
    static char text[1 << 16];
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    for (int i = 0; i < steps; i++)
        step_of(100);
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    assert_int_equal(hb_export_chrome_trace(prof, path, 0), HB_OK);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
    bool tells = strstr(text, "\"hipboard_steps\"");
    assert_true(!tells || strstr(text, "counted by the launch that each makes once"));
    return tells;
}

/* Who does not take them for steps cuts the cycle into others. */
static void a_trace_says_how_those_were_found_that_are_its_steps(void **state)
{
    (void)state;
    char path[300];
    hb_profiler *prof = watch_until_steps_are_known();
    snprintf(path, sizeof path, "%s/steps.json", dir);
    assert_true(trace_tells(prof, 1, path));
    assert_false(trace_tells(prof, 0, path));
    takes_steps = false;
    assert_false(trace_tells(prof, 3, path));
    takes_steps = true;
    step_of(100); /* in no cycle */
    assert_false(trace_tells(prof, 0, path));
    assert_true(trace_tells(prof, 3, path));
    hb_pace_watch(NULL);
    hb_profiler_destroy(prof);
}

static void *make_calls_of_another_thread(void *unused)
{
    (void)unused;
    for (int i = 0; i < 50; i++)
        step_of(100);
    return NULL;
}

/* Twenty steps' worth of calls of the thread without the one that begins steps: until then they
 * may go on. Other threads' calls are neither. */
static void steps_go_on_after_a_pause_with_calls_of_its_own(void **state)
{
    (void)state;
    enum { CALLS = 7 };
    pthread_t other;
    hb_profiler *prof = watch_until_steps_are_known();
    step_of(100);
    long before = atomic_load(&told);
    assert_int_equal(pthread_create(&other, NULL, make_calls_of_another_thread, NULL), 0);
    pthread_join(other, NULL);
    assert_int_equal(atomic_load(&told), before);
    for (int i = 0; i < 19 * CALLS; i++)
        note(HB_PACE_LAUNCH, 500);
    assert_int_equal(atomic_load(&lost), 0);
    step_of(100);
    assert_int_equal(atomic_load(&told), before + 1);
    int calls = behind; /* counted from where the last step began */
    for (; !atomic_load(&lost) && calls < 1000; calls++)
        note(HB_PACE_LAUNCH, 500);
    assert_int_equal(calls, 20 * CALLS);
    hb_pace_watch(NULL);
    hb_profiler_destroy(prof);
}

static atomic_bool has_had_enough;

static void *launch_all_the_time(void *unused)
{
    (void)unused;
    while (!atomic_load(&has_had_enough))
        note(HB_PACE_LAUNCH, 100);
    return NULL;
}

/* Two of them at the same time, since one is counted under a lock, are two. */
static void other_threads_calls_hide_no_step(void **state)
{
    (void)state;
    enum { STEPS = 50000 };
    pthread_t other;
    hb_profiler *prof = watch_until_steps_are_known();
    atomic_store(&has_had_enough, false);
    assert_int_equal(pthread_create(&other, NULL, launch_all_the_time, NULL), 0);
    long before = atomic_load(&told);
    for (int i = 0; i < STEPS; i++)
        step_of(100);
    atomic_store(&has_had_enough, true);
    pthread_join(other, NULL);
    assert_int_equal(atomic_load(&told), before + STEPS);
    assert_int_equal(atomic_load(&lost), 0);
    hb_pace_watch(NULL);
    hb_profiler_destroy(prof);
}

/* Its threads are not there, and it may do something else. */
static void a_forked_child_finds_its_own_steps(void **state)
{
    (void)state;
#ifdef __SANITIZE_THREAD__
    skip(); /* gcc's stop a child that starts a thread */
#endif
    hb_profiler *prof = watch_until_steps_are_known();
    pid_t child = fork();
    if (child == 0) {
        hb_pace_after_fork(); /* as who watches calls does */
        atomic_store(&told, 0);
        step_of(100);
        if (atomic_load(&told)) _exit(1); /* the parent's steps are forgotten */
        for (int i = 0; i < 1000000 && !atomic_load(&told); i++)
            step_of(900);
        _exit(atomic_load(&told) ? 0 : 2);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    hb_pace_watch(NULL);
    hb_profiler_destroy(prof);
}

static void functions_that_stand_in_are_known(void **state)
{
    (void)state;
    static char functions[70];
    assert_false(hb_pace_is_stand_in(NULL));
    assert_false(hb_pace_is_stand_in(&functions[0]));
    for (int i = 0; i < 70; i++)
        hb_pace_stands_in(&functions[i]);
    int known = 0;
    for (; known < 70 && hb_pace_is_stand_in(&functions[known]); known++) {
    }
    assert_in_range(known, 32, 64); /* hipboard's own are a dozen */
    assert_false(hb_pace_is_stand_in(&functions[69]));
    assert_false(hb_pace_is_stand_in(NULL));
}

/* It is not to pay for ever; until then it is watched, and again when somebody asks. */
static void a_program_without_steps_is_left_alone_in_the_end(void **state)
{
    (void)state;
    enum { AT_LEAST = 1 << 19 };
    atomic_store(&told, 0);
    for (int round = 0; round < 2; round++) {
        long calls = 0;
        hb_pace_watch(tell);
        for (; hb_pace_is_on; calls++) /* more of them while they are looked at */
            note(HB_PACE_WAIT, 0);
        assert_true(calls >= AT_LEAST);
    }
    for (int i = 0; i < 100000; i++)
        step_of(100);
    assert_int_equal(atomic_load(&told), 0);
    hb_pace_watch(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_call_that_comes_once_begins_steps, clear, clear),
        cmocka_unit_test_setup_teardown(what_only_some_steps_have_begins_none, clear, clear),
        cmocka_unit_test_setup_teardown(an_evaluation_behind_them_makes_no_step_longer, clear,
                                        clear),
        cmocka_unit_test_setup_teardown(steps_may_be_of_different_lengths, clear, clear),
        cmocka_unit_test_setup_teardown(steps_are_those_of_one_thread, clear, clear),
        cmocka_unit_test_setup_teardown(the_earliest_of_several_begins_steps, clear, clear),
        cmocka_unit_test_setup_teardown(five_rounds_are_steps, clear, clear),
        cmocka_unit_test_setup_teardown(a_copy_of_a_window_has_all_of_it, clear, clear),
        cmocka_unit_test(a_call_is_known_by_what_and_where),
        cmocka_unit_test_setup_teardown(where_each_call_comes_several_times_none_is_found, clear,
                                        clear),
        cmocka_unit_test_setup_teardown(few_rounds_and_none_are_no_steps, clear, clear),
        cmocka_unit_test(steps_are_told_as_they_begin_until_they_come_no_more),
        IN_DIR(a_trace_says_how_those_were_found_that_are_its_steps),
        cmocka_unit_test(steps_go_on_after_a_pause_with_calls_of_its_own),
        cmocka_unit_test(other_threads_calls_hide_no_step),
        cmocka_unit_test(a_forked_child_finds_its_own_steps),
        cmocka_unit_test(functions_that_stand_in_are_known),
        cmocka_unit_test(a_program_without_steps_is_left_alone_in_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
