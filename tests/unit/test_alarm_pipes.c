/* SPDX-License-Identifier: MIT
 *
 * What alarms are made of: pipes that a program may close and a child must not have, what is
 * watched for, and the line that people read.
 */
#include "record/alarm.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "taken_alarm.h"

/* Whatever its parent's were watched for. */
static void a_forked_child_watches_nothing(void **state)
{
    hb_alarm_limit limit;
    int status;
    (void)state;
    assert_true(hb_alarm_limit_parse("loss > 5", &limit));
    hb_alarm_watch_metric(a, &limit);
    hb_alarm_watch_hip(a);
    assert_true(signal(SIGUSR2, SIG_IGN) != SIG_ERR);
    assert_int_equal(hb_alarm_watch_signal(a, SIGUSR2), HB_OK);
    pid_t child = fork();
    if (child == 0) {
        hb_alarm_call call;
        if (hb_alarm_fd(a) != -1) _exit(1); /* its pipe is the parent's */
        hb_alarm *all[8];
        for (int i = 0; i < 8; i++) /* all of them are free */
            if (!(all[i] = hb_alarm_take())) _exit(2);
        hb_alarm_metric("loss", 9);
        hb_alarm_hip_failed("hipMalloc", 2);
        raise(SIGUSR2);
        for (int i = 0; i < 8; i++)
            if (hb_alarm_heard(all[i], &call)) _exit(3);
        if (hb_alarm_watch_signal(all[0], SIGUSR2) != HB_OK) _exit(4);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    hb_alarm_call call;
    assert_false(hb_alarm_heard(a, &call));
}

/* ---- for people, and for programs ---- */

static void people_read_what_was_rung_in_one_line(void **state)
{
    char text[HB_ALARM_TEXT];
    hb_alarm_limit limit;
    (void)state;
    assert_false(hb_alarm_heard_text(a, text));
    hb_alarm_ring(a, "first");
    assert_true(hb_alarm_heard_text(a, text));
    assert_string_equal(text, "first");
    assert_true(hb_alarm_limit_parse("loss > 0.1", &limit));
    hb_alarm_watch_metric(a, &limit);
    hb_alarm_metric("loss", 1.0 / 3);
    assert_true(hb_alarm_heard_text(a, text));
    assert_string_equal(text, "loss = 0.333333");
    hb_alarm_metric("loss", 0);
    hb_alarm_metric("loss", 7);
    hb_alarm_ring(a, "second");
    hb_alarm_ring(a, "third");
    assert_true(hb_alarm_heard_text(a, text));
    assert_string_equal(text, "loss = 7 (and 2 more)");
}

/* That the library's next descriptor has, where one of its others is this. */
static int next_number(int other)
{
    int fd = fcntl(STDERR_FILENO, F_DUPFD, other);
    close(fd);
    return fd;
}

/* One that the program has closed is made anew, for who takes the alarm next. */
static void its_pipe_waits_for_nobody_and_no_other_program_has_it(void **state)
{
    (void)state;
    int other = hb_alarm_fd(a), next = next_number(other);
    for (int i = 0; i < 2; i++) {
        int fd = hb_alarm_fd(a);
        assert_true(fd > 2);
        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
        close(fd);
        assert_int_equal(hb_alarm_fd(a), -1);
        hb_alarm_ring(a, "into a closed pipe");
        hb_alarm_give(a);
        assert_non_null(a = hb_alarm_take());
        hb_alarm_ring(a, "heard again");
        hb_alarm_call call;
        assert_true(hb_alarm_heard(a, &call));
        assert_string_equal(call.reason, "heard again");
        assert_int_equal(next_number(other), next); /* and nothing of the old one is left */
    }
}

#define OF_ALARM(test) cmocka_unit_test_setup_teardown(test, take, give)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OF_ALARM(a_forked_child_watches_nothing),
        OF_ALARM(people_read_what_was_rung_in_one_line),
        OF_ALARM(its_pipe_waits_for_nobody_and_no_other_program_has_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
