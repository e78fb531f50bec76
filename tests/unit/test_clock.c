/* SPDX-License-Identifier: MIT
 *
 * The recording clock where the kernel does not trust the processors' counters, where the machine
 * slept, and where a record's time is damaged.
 */
#include "record/clock.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- what the kernel says of the counters ---- */

static const char *source; /* NULL: nothing can be read */

/* The library's calls come here: it is linked into this program. */
FILE *fopen(const char *path, const char *mode)
{
    if (!strcmp(path, "/sys/devices/system/clocksource/clocksource0/current_clocksource"))
        return source ? fmemopen((void *)(uintptr_t)source, strlen(source) + 1, "r") : NULL;
    FILE *(*libc)(const char *, const char *) = NULL;
    *(void **)&libc = dlsym(RTLD_NEXT, "fopen");
    return libc(path, mode);
}

/* Cores whose counters differ: the kernel has left them for another clock. */
static void counters_that_the_kernel_distrusts_are_not_read(void **state)
{
    (void)state;
    const char *others[] = {
        "hpet\n", "acpi_pm\n", "kvm-clock\n", "ts\n", "xtsc\n", "arch_sys_countex\n", "", NULL};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        source = others[i];
        hb_clock_uses_counter = true;
        hb_clock_init();
        assert_false(hb_clock_uses_counter);
        int64_t before = hb_clock_ns(CLOCK_MONOTONIC);
        uint64_t ticks = hb_ticks();
        int64_t after = hb_clock_ns(CLOCK_MONOTONIC);
        assert_in_range(ticks, before, after);
    }
}

static void counters_that_the_kernel_uses_are_read(void **state)
{
    (void)state;
    const char *trusted[] = {"tsc\n", "tsc-early\n", "arch_sys_counter\n"};
    for (size_t i = 0; i < sizeof trusted / sizeof *trusted; i++) {
        source = trusted[i];
        hb_clock_uses_counter = false;
        hb_clock_init();
        assert_true(hb_clock_uses_counter);
    }
}

static void a_sample_is_one_moment_on_all_clocks(void **state)
{
    (void)state;
    for (int counter = 0; counter < 2; counter++) {
        source = counter ? "tsc\n" : "hpet\n";
        hb_clock_init();
        uint64_t before = hb_ticks();
        int64_t unix_before = hb_clock_ns(CLOCK_REALTIME);
        int64_t boottime_before = hb_clock_ns(CLOCK_BOOTTIME);
        hb_clock_pair pair = hb_clock_sample();
        assert_in_range(pair.ticks, before, hb_ticks());
        assert_in_range(pair.unix_ns, unix_before, hb_clock_ns(CLOCK_REALTIME));
        assert_in_range(pair.boottime_ns, boottime_before, hb_clock_ns(CLOCK_BOOTTIME));
        assert_in_range(pair.width_ticks, 1, hb_ticks() - before);
    }
}

/* However soon it is asked for. Where ticks are nanoseconds there is none. */
static void the_first_sample_is_long_enough_ago_to_tell_the_length_of_a_tick(void **state)
{
    (void)state;
    enum { LEAST_NS = 100000 };
    static const hb_clock_pair none;
    source = "tsc\n";
    int64_t before = hb_clock_ns(CLOCK_MONOTONIC);
    hb_clock_init();
    int64_t behind = hb_clock_ns(CLOCK_MONOTONIC);
    hb_clock_pair first = hb_clock_first(), now = hb_clock_sample(), again = hb_clock_first();
    assert_in_range(first.monotonic_ns, before, behind);
    assert_in_range(now.monotonic_ns - first.monotonic_ns, LEAST_NS, INT64_MAX);
    assert_in_range(now.ticks, first.ticks + 1, UINT64_MAX);
    assert_memory_equal(&again, &first, sizeof first);
    source = "hpet\n";
    hb_clock_init();
    first = hb_clock_first();
    assert_memory_equal(&first, &none, sizeof first);
}

/* ---- the best of several readings ---- */

enum { READINGS = 5, UNIX_LATER = 1000000, BOOTTIME_LATER = 2000000 };

/* NULL: clocks run as they do. Else the time that each try takes: each reading is a fourth of that
 * behind the one before, and the tries 1000 ns from each other. */
static const int64_t *tries;
static int readings;
static int64_t shown_ns;

/* In place of the C library's, also for hipboard. */
int clock_gettime(clockid_t clock, struct timespec *t)
{
    if (!tries) return (int)syscall(SYS_clock_gettime, clock, t);
    shown_ns += readings % READINGS ? tries[readings / READINGS] / (READINGS - 1) : 1000;
    readings++;
    int64_t ns = shown_ns;
    if (clock == CLOCK_REALTIME) ns += UNIX_LATER;
    if (clock == CLOCK_BOOTTIME) ns += BOOTTIME_LATER;
    *t = (struct timespec){ns / 1000000000, ns % 1000000000};
    return 0;
}

static hb_clock_pair sample_of(const int64_t *widths)
{
    source = "hpet\n"; /* whose ticks are CLOCK_MONOTONIC's */
    hb_clock_init();
    tries = widths;
    readings = 0;
    shown_ns = 0;
    hb_clock_pair pair = hb_clock_sample();
    tries = NULL;
    return pair;
}

/* As if no other thread had come between them. */
static void the_closest_of_eight_readings_is_taken(void **state)
{
    static const int64_t last[] = {400, 80, 80, 40, 120, 40, 800, 20, 4};
    static const int64_t first_of_equals[] = {120, 40, 40, 80, 40, 40, 40, 40, 4};
    (void)state;
    hb_clock_pair pair = sample_of(last);
    int64_t begin = 8 * 1000 + 400 + 80 + 80 + 40 + 120 + 40 + 800;
    assert_int_equal(readings, 8 * READINGS);
    assert_int_equal(pair.width_ticks, 20);
    assert_int_equal(pair.ticks, begin + 10);
    assert_int_equal(pair.monotonic_ns, begin + 5);
    assert_int_equal(pair.unix_ns, begin + 10 + UNIX_LATER);
    assert_int_equal(pair.boottime_ns, begin + 15 + BOOTTIME_LATER);
    pair = sample_of(first_of_equals);
    assert_int_equal(pair.width_ticks, 40);
    assert_int_equal(pair.ticks, 2 * 1000 + 120 + 20);
}

/* ---- lines through two samples ---- */

#define SECOND INT64_C(1000000000)

static const hb_clock_pair first = {.ticks = 5000,
                                    .monotonic_ns = 7 * SECOND,
                                    .unix_ns = 1700000000 * SECOND,
                                    .boottime_ns = 9 * SECOND,
                                    .width_ticks = 40};

/* 10 s and 20 G ticks later. */
static hb_clock_pair ten_seconds_later(void)
{
    return (hb_clock_pair){.ticks = first.ticks + UINT64_C(20000000000),
                           .monotonic_ns = first.monotonic_ns + 10 * SECOND,
                           .unix_ns = first.unix_ns + 10 * SECOND,
                           .boottime_ns = first.boottime_ns + 10 * SECOND,
                           .width_ticks = 60};
}

static void a_wall_clock_that_is_set_moves_nothing(void **state)
{
    (void)state;
    for (int64_t hours = -2; hours <= 2; hours++) {
        hb_clock_pair last = ten_seconds_later();
        last.unix_ns += hours * 3600 * SECOND;
        hb_clock_fit fit = hb_clock_fit_pairs(&first, &last);
        assert_true(hb_clock_unix(&fit, first.ticks) == first.unix_ns);
        assert_true(hb_clock_unix(&fit, first.ticks + 2000) == first.unix_ns + 1000);
        assert_true(hb_clock_unix(&fit, first.ticks - 2000) == first.unix_ns - 1000);
    }
}

/* What a GPU tells in boot time stays within the session, between the calls around it as far as
 * that can be. */
static void sleep_of_the_machine_is_spread_over_the_session(void **state)
{
    (void)state;
    hb_clock_pair last = ten_seconds_later();
    hb_boottime_fit awake = hb_clock_fit_boottime(&first, &last);
    assert_true(awake.rate == 1);
    assert_true(hb_clock_unix_of_boottime(&awake, first.boottime_ns + 5) == first.unix_ns + 5);
    assert_int_equal(awake.uncertainty_ns, 31); /* 60 ticks, rounded up */
    last.boottime_ns += 30 * SECOND;
    hb_boottime_fit slept = hb_clock_fit_boottime(&first, &last);
    assert_true(hb_clock_unix_of_boottime(&slept, first.boottime_ns) == first.unix_ns);
    assert_true(hb_clock_unix_of_boottime(&slept, first.boottime_ns + 20 * SECOND) ==
                first.unix_ns + 5 * SECOND);
    assert_true(hb_clock_unix_of_boottime(&slept, last.boottime_ns) == first.unix_ns + 10 * SECOND);
}

/* Each clock frozen, running, or running backwards; a wall clock of no year. */
static void clocks_that_do_not_run_make_no_nonsense(void **state)
{
    (void)state;
    for (int64_t ticks = -1; ticks <= 1; ticks++)
        for (int64_t ns = -1; ns <= 1; ns++)
            for (int64_t boot = -1; boot <= 1; boot++) {
                hb_clock_pair last = first;
                last.ticks += (uint64_t)(ticks * 1000);
                last.monotonic_ns += ns * SECOND;
                last.boottime_ns += boot * 2 * SECOND;
                double ns_per_tick = ticks > 0 && ns > 0 ? 1e6 : 1;
                double rate = boot > 0 && ns > 0 ? 0.5 : 1;
                assert_true(hb_clock_fit_pairs(&first, &last).ns_per_tick == ns_per_tick);
                assert_true(hb_clock_fit_boottime(&first, &last).rate == rate);
            }
    const hb_clock_pair frozen = first;
    hb_clock_pair wrong = first;
    const int64_t nowhen[] = {0, -1, INT64_MIN, INT64_MAX};
    for (size_t i = 0; i < sizeof nowhen / sizeof *nowhen; i++) {
        wrong.unix_ns = nowhen[i];
        assert_true(hb_clock_fit_pairs(&wrong, &frozen).unix0 == 0);
    }
    const int64_t years = INT64_C(1000000000000000000); /* 32 of them */
    const int64_t moments[] = {1, years, 4 * years - 1000, 4 * years, 4 * years + years / 2};
    for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
        wrong.unix_ns = moments[i];
        assert_int_equal(hb_clock_fit_pairs(&wrong, &frozen).unix0, i < 3 ? moments[i] : 0);
    }
}

static void lines_have_a_slope_from_the_shortest_time_on(void **state)
{
    (void)state;
    hb_clock_pair last = first;
    last.ticks += 1;
    last.monotonic_ns += 7;
    last.boottime_ns += 1;
    assert_true(hb_clock_fit_pairs(&first, &last).ns_per_tick == 7);
    assert_true(hb_clock_fit_boottime(&first, &last).rate == 7);
    last = first;
    last.ticks += 4;
    last.monotonic_ns += 1;
    last.boottime_ns += 4;
    assert_true(hb_clock_fit_pairs(&first, &last).ns_per_tick == 0.25);
    assert_true(hb_clock_fit_boottime(&first, &last).rate == 0.25);
}

static void times_of_devices_are_as_sure_as_the_worse_sample(void **state)
{
    (void)state;
    hb_clock_pair from = first, last = ten_seconds_later();
    from.width_ticks = 90;
    assert_int_equal(hb_clock_fit_boottime(&from, &last).uncertainty_ns, 45 + 1);
    assert_int_equal(hb_clock_fit_boottime(&last, &from).uncertainty_ns, 90 + 1); /* no slope */
    from.width_ticks = UINT64_MAX;                                                /* damaged */
    assert_int_equal(hb_clock_fit_boottime(&from, &last).uncertainty_ns,
                     INT64_C(1000000000000000001));
    assert_int_equal(hb_clock_fit_boottime(&from, &last).unix0, first.unix_ns);
    assert_int_equal(hb_clock_fit_boottime(&from, &last).boottime0, first.boottime_ns);
}

static void times_of_damaged_records_are_the_sessions(void **state)
{
    (void)state;
    hb_clock_pair last = ten_seconds_later();
    hb_clock_fit fit = hb_clock_fit_pairs(&first, &last);
    hb_boottime_fit boottime = hb_clock_fit_boottime(&first, &last);
    assert_true(hb_clock_unix(&fit, first.ticks + (UINT64_C(1) << 62)) == first.unix_ns);
    assert_true(hb_clock_unix(&fit, first.ticks - (UINT64_C(1) << 62)) == first.unix_ns);
    assert_true(hb_clock_unix_of_boottime(&boottime, INT64_MAX) == first.unix_ns);
    assert_true(hb_clock_unix_of_boottime(&boottime, INT64_MIN + first.boottime_ns) ==
                first.unix_ns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counters_that_the_kernel_distrusts_are_not_read),
        cmocka_unit_test(counters_that_the_kernel_uses_are_read),
        cmocka_unit_test(a_sample_is_one_moment_on_all_clocks),
        cmocka_unit_test(the_first_sample_is_long_enough_ago_to_tell_the_length_of_a_tick),
        cmocka_unit_test(the_closest_of_eight_readings_is_taken),
        cmocka_unit_test(a_wall_clock_that_is_set_moves_nothing),
        cmocka_unit_test(sleep_of_the_machine_is_spread_over_the_session),
        cmocka_unit_test(clocks_that_do_not_run_make_no_nonsense),
        cmocka_unit_test(lines_have_a_slope_from_the_shortest_time_on),
        cmocka_unit_test(times_of_devices_are_as_sure_as_the_worse_sample),
        cmocka_unit_test(times_of_damaged_records_are_the_sessions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
