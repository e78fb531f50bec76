/* SPDX-License-Identifier: MIT
 *
 * Alarms: who rings them, and what of it is heard.
 */
#include "record/alarm.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "taken_alarm.h"

static bool is_readable(const hb_alarm *alarm)
{
    struct pollfd fd = {.fd = hb_alarm_fd(alarm), .events = POLLIN};
    return poll(&fd, 1, 0) == 1;
}

static void expect_silence(hb_alarm *alarm)
{
    hb_alarm_call call;
    assert_false(hb_alarm_heard(alarm, &call));
    assert_false(is_readable(alarm));
}

static void expect_call(const char *reason, uint64_t others)
{
    hb_alarm_call call = {.has_value = true};
    assert_true(is_readable(a));
    assert_true(hb_alarm_heard(a, &call));
    assert_string_equal(call.reason, reason);
    assert_false(call.has_value);
    assert_int_equal(call.others, others);
    expect_silence(a);
}

static void expect_number(const char *reason, double value)
{
    hb_alarm_call call;
    assert_true(hb_alarm_heard(a, &call));
    assert_string_equal(call.reason, reason);
    assert_true(call.has_value);
    assert_true(isnan(value) ? isnan(call.value) : call.value == value);
    expect_silence(a);
}

static void what_is_rung_is_heard_once(void **state)
{
    (void)state;
    expect_silence(a);
    errno = 77;
    hb_alarm_ring(a, "first");
    assert_int_equal(errno, 77);
    expect_call("first", 0);
    hb_alarm_ring(a, "second");
    expect_call("second", 0);
}

/* Of several the first is told, with how many came behind it. */
static void of_several_the_first_is_told(void **state)
{
    (void)state;
    hb_alarm_ring(a, "first");
    hb_alarm_ring(a, "second");
    hb_alarm_ring(a, "third");
    expect_call("first", 2);
    hb_alarm_ring(a, "fourth");
    expect_call("fourth", 0);
}

static void long_reasons_are_cut(void **state)
{
    char reason[300];
    (void)state;
    memset(reason, 'x', sizeof reason - 1);
    reason[299] = '\0';
    hb_alarm_ring(a, reason);
    reason[159] = '\0';
    expect_call(reason, 0);
    reason[158] = '\0';
    hb_alarm_ring(a, reason);
    expect_call(reason, 0);
}

/* More than its pipe holds, which nobody waits for. */
static void waking_says_nothing_and_never_waits(void **state)
{
    (void)state;
    hb_alarm_wake(a);
    assert_true(is_readable(a));
    expect_silence(a);
    for (int i = 0; i < 100000; i++)
        hb_alarm_wake(a);
    errno = 78;
    hb_alarm_wake(a);
    assert_int_equal(errno, 78);
    expect_silence(a);
}

static void who_has_given_it_back_is_not_rung(void **state)
{
    hb_alarm *other;
    (void)state;
    hb_alarm_give(a);
    hb_alarm_ring(a, "late");
    a = hb_alarm_take();
    assert_non_null(a);
    expect_silence(a);
    hb_alarm_ring(a, "mine");
    assert_non_null(other = hb_alarm_take());
    assert_ptr_not_equal(a, other);
    expect_silence(other);
    hb_alarm_give(other);
    hb_alarm_give(NULL);
    expect_call("mine", 0);
    hb_alarm_ring(a, "not heard by who had it");
    hb_alarm_ring(a, "nor this");
    hb_alarm_give(a);
    a = hb_alarm_take();
    hb_alarm_ring(a, "new");
    expect_call("new", 0);
}

static void there_are_as_many_as_there_are(void **state)
{
    enum { MOST = 1000 };
    hb_alarm *all[MOST];
    int n = 0;
    (void)state;
    while (n < MOST && (all[n] = hb_alarm_take()))
        n++;
    assert_in_range(n, 7, MOST - 1);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            assert_ptr_not_equal(all[i], all[k]);
    hb_alarm_give(all[3]);
    assert_ptr_equal(hb_alarm_take(), all[3]);
    for (int i = 0; i < n; i++)
        hb_alarm_give(all[i]);
}

/* It has its parent's descriptors, and must not ring there. */
static void a_forked_child_rings_for_itself(void **state)
{
    int status;
    (void)state;
    pid_t child = fork();
    if (child == 0) {
        hb_alarm_call call;
        hb_alarm_ring(a, "of the child");
        hb_alarm *own = hb_alarm_take();
        if (!own) _exit(1);
        if (hb_alarm_heard(own, &call)) _exit(2);
        hb_alarm_ring(own, "own");
        if (!hb_alarm_heard(own, &call) || strcmp(call.reason, "own") != 0) _exit(3);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    expect_silence(a);
    hb_alarm_ring(a, "still there");
    expect_call("still there", 0);
}

/* ---- limits ---- */

static void limits_are_read(void **state)
{
    char longest[300], text[320];
    static const struct {
        const char *text, *name;
        bool above;
        double limit;
    } good[] = {
        {"loss > 5", "loss", true, 5},
        {"loss>5", "loss", true, 5},
        {"accuracy < 0.1", "accuracy", false, 0.1},
        {"a b \t> -1e3", "a b", true, -1000},
        {"train/loss>  0", "train/loss", true, 0},
    };
    static const char *const bad[] = {
        "",          "loss",      "loss 5",    "> 5",        "  > 5",      "loss >",     "loss > x",
        "loss > 5x", "loss > 5 ", "loss >> 5", "loss > nan", "loss > inf", "loss < -inf"};
    hb_alarm_limit limit;
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(good); i++) {
        assert_true(hb_alarm_limit_parse(good[i].text, &limit));
        assert_string_equal(limit.name, good[i].name);
        assert_int_equal(limit.above, good[i].above);
        assert_true(limit.limit == good[i].limit);
    }
    for (size_t i = 0; i < HB_ARRAY_LEN(bad); i++)
        if (hb_alarm_limit_parse(bad[i], &limit)) fail_msg("taken: '%s'", bad[i]);
    memset(longest, 'n', sizeof longest);
    for (int n = 127; n <= 128; n++) {
        snprintf(text, sizeof text, "%.*s > 1", n, longest);
        assert_int_equal(hb_alarm_limit_parse(text, &limit), n == 127);
    }
}

static void watch(const char *text)
{
    hb_alarm_limit limit;
    assert_true(hb_alarm_limit_parse(text, &limit));
    hb_alarm_watch_metric(a, &limit);
}

/* As it passes the limit, and again once it was within. */
static void a_number_rings_as_it_passes_its_limit(void **state)
{
    (void)state;
    watch("loss > 5");
    hb_alarm_metric("loss", 5);
    hb_alarm_metric("loss", -100);
    hb_alarm_metric("losses", 9);
    hb_alarm_metric(NULL, 9);
    expect_silence(a);
    hb_alarm_metric("loss", 5.5);
    expect_number("loss", 5.5);
    hb_alarm_metric("loss", 6);
    expect_silence(a);
    hb_alarm_metric("loss", 5);
    hb_alarm_metric("loss", 7);
    expect_number("loss", 7);
    hb_alarm_metric("loss", 1);
    hb_alarm_metric("loss", NAN); /* is within no limit */
    expect_number("loss", NAN);
}

static void limits_below_ring_for_smaller_numbers(void **state)
{
    (void)state;
    watch("accuracy < 0.5");
    hb_alarm_metric("accuracy", 0.5);
    hb_alarm_metric("accuracy", 1);
    expect_silence(a);
    hb_alarm_metric("accuracy", 0.25);
    expect_number("accuracy", 0.25);
}

/* The first one's, until it is given back. */
static void one_limit_is_watched(void **state)
{
    hb_alarm_limit limit;
    hb_alarm *other = hb_alarm_take();
    (void)state;
    watch("loss > 5");
    assert_true(hb_alarm_limit_parse("loss > 1", &limit));
    hb_alarm_watch_metric(other, &limit);
    hb_alarm_metric("loss", 3);
    expect_silence(a);
    expect_silence(other);
    hb_alarm_give(other); /* which is not the one that is watched for */
    hb_alarm_metric("loss", 6);
    expect_number("loss", 6);
    hb_alarm_give(a);
    a = hb_alarm_take();
    hb_alarm_metric("loss", 3);
    hb_alarm_metric("loss", 6);
    expect_silence(a);
    hb_alarm_watch_metric(a, &limit);
    hb_alarm_metric("loss", 3); /* what another one's number was does not count */
    expect_number("loss", 3);
}

/* ---- HIP ---- */

static void failed_calls_ring(void **state)
{
    (void)state;
    hb_alarm_hip_failed("hipMalloc", 2); /* for nobody */
    expect_silence(a);
    hb_alarm_watch_hip(a);
    hb_alarm_hip_failed("hipStreamQuery", 600);
    expect_silence(a);
    hb_alarm_hip_failed("hipMalloc", 2);
    expect_call("hipMalloc failed with error 2", 0);
    hb_alarm_hip_failed("hipEventQuery", 601);
    expect_call("hipEventQuery failed with error 601", 0);
    char name[151] = "", expected[200];
    memset(name, 'h', 150);
    hb_alarm_hip_failed(name, -1);
    snprintf(expected, sizeof expected, "%.100s failed with error -1", name);
    expect_call(expected, 0);
    hb_alarm_give(a);
    a = hb_alarm_take();
    hb_alarm_hip_failed("hipMalloc", 2);
    expect_silence(a);
}

/* ---- signals ---- */

static int handled, told;

static void plain_handler(int number)
{
    handled += number == SIGUSR2;
}

static void told_handler(int number, siginfo_t *info, void *context)
{
    told += number == SIGUSR2 && info && info->si_pid == getpid() && context;
}

static void handle_by(void (*handler)(int))
{
    const struct sigaction action = {.sa_handler = handler};
    assert_int_equal(sigaction(SIGUSR2, &action, NULL), 0);
}

static void send(void)
{
    kill(getpid(), SIGUSR2);
}

static void the_programs_own_handler_is_called_as_well(void **state)
{
    (void)state;
    handled = told = 0;
    handle_by(plain_handler);
    assert_int_equal(hb_alarm_watch_signal(a, SIGUSR2), HB_OK);
    struct sigaction ours;
    assert_int_equal(sigaction(SIGUSR2, NULL, &ours), 0);
    assert_true((ours.sa_flags & SA_RESTART) && (ours.sa_flags & SA_ONSTACK));
    send();
    expect_call("signal", 0);
    assert_int_equal(handled, 1);
    hb_alarm_give(a);
    send(); /* its handler is there again */
    assert_int_equal(handled, 2);
    const struct sigaction action = {.sa_sigaction = told_handler, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGUSR2, &action, NULL), 0);
    a = hb_alarm_take();
    assert_int_equal(hb_alarm_watch_signal(a, SIGUSR2), HB_OK);
    send();
    expect_call("signal", 0);
    assert_int_equal(told, 1);
    hb_alarm_give(a);
    send();
    assert_int_equal(told, 2);
    assert_int_equal(handled, 2);
    a = hb_alarm_take();
}

static void a_signal_without_a_handler_does_not_end_the_program(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        handle_by(i ? SIG_IGN : SIG_DFL);
        assert_int_equal(hb_alarm_watch_signal(a, SIGUSR2), HB_OK);
        send();
        expect_call("signal", 0);
        hb_alarm_give(a);
        struct sigaction now;
        assert_int_equal(sigaction(SIGUSR2, NULL, &now), 0);
        assert_true(now.sa_handler == (i ? SIG_IGN : SIG_DFL));
        a = hb_alarm_take();
    }
}

/* What the program has put there since stays. */
static void a_later_handler_of_the_program_stays(void **state)
{
    (void)state;
    handled = 0;
    handle_by(SIG_IGN);
    assert_int_equal(hb_alarm_watch_signal(a, SIGUSR2), HB_OK);
    handle_by(plain_handler);
    hb_alarm_give(a);
    send();
    assert_int_equal(handled, 1);
    handle_by(SIG_IGN);
    a = hb_alarm_take();
}

static void one_profiler_waits_for_a_signal(void **state)
{
    hb_alarm *other = hb_alarm_take();
    (void)state;
    handle_by(SIG_IGN);
    assert_int_equal(hb_alarm_watch_signal(a, SIGUSR2), HB_OK);
    assert_int_equal(hb_alarm_watch_signal(other, SIGUSR1), HB_ERROR_BUSY);
    assert_string_equal(hb_last_error(), "another profiler of this process waits for signal 12");
    hb_alarm_give(other); /* which waits for none */
    send();
    expect_call("signal", 0);
}

static void some_cannot_be_caught(void **state)
{
    static const int numbers[] = {SIGKILL, SIGSTOP, 0, -1, 1000};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(numbers); i++) {
        assert_int_equal(hb_alarm_watch_signal(a, numbers[i]), HB_ERROR_INVALID_ARGUMENT);
        assert_non_null(strstr(hb_last_error(), "it cannot be caught; SIGUSR2 is 12"));
    }
    handle_by(SIG_IGN);
    assert_int_equal(hb_alarm_watch_signal(a, SIGUSR2), HB_OK); /* nobody waits since */
}

#define OF_ALARM(test) cmocka_unit_test_setup_teardown(test, take, give)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OF_ALARM(what_is_rung_is_heard_once),
        OF_ALARM(of_several_the_first_is_told),
        OF_ALARM(long_reasons_are_cut),
        OF_ALARM(waking_says_nothing_and_never_waits),
        OF_ALARM(who_has_given_it_back_is_not_rung),
        OF_ALARM(there_are_as_many_as_there_are),
        OF_ALARM(a_forked_child_rings_for_itself),
        cmocka_unit_test(limits_are_read),
        OF_ALARM(a_number_rings_as_it_passes_its_limit),
        OF_ALARM(limits_below_ring_for_smaller_numbers),
        OF_ALARM(one_limit_is_watched),
        OF_ALARM(failed_calls_ring),
        OF_ALARM(the_programs_own_handler_is_called_as_well),
        OF_ALARM(a_signal_without_a_handler_does_not_end_the_program),
        OF_ALARM(a_later_handler_of_the_program_stays),
        OF_ALARM(one_profiler_waits_for_a_signal),
        OF_ALARM(some_cannot_be_caught),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
