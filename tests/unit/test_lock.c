/* SPDX-License-Identifier: MIT
 *
 * The order of the library's locks: it is one, and who breaks it is told where that is checked.
 */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/lock.h"
#include "forks_with_threads.h"

static hb_lock log_lock = HB_LOCK_INIT(EVENT_LOG), spool_lock = HB_LOCK_INIT(SPOOL);
static hb_bare_lock device = HB_BARE_LOCK_INIT(DEVICE), kernels = HB_BARE_LOCK_INIT(KERNELS);
static hb_bare_lock arbitration = HB_BARE_LOCK_INIT_RECURSIVE(ARBITRATION);

static void levels_rise(void **state)
{
    (void)state;
    static const int levels[] = {
#define LEVEL(name, level, why) level,
        HB_LOCK_LEVELS(LEVEL)
#undef LEVEL
    };
    for (size_t i = 1; i < sizeof levels / sizeof *levels; i++)
        assert_true(levels[i - 1] < levels[i]);
}

/* The signal that ended it, or 0. */
static int end_of(void (*program)(void))
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        program();
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void upwards(void)
{
    hb_bare_lock_take(&arbitration);
    hb_bare_lock_take(&arbitration);
    hb_bare_lock_take(&device);
    hb_lock_take(&log_lock);
    hb_bare_lock_take(&kernels);
    hb_lock_take(&spool_lock);
    hb_lock_give(&spool_lock);
    hb_bare_lock_give(&device); /* not in the order in which they were taken */
    hb_bare_lock_give(&kernels);
    hb_lock_give(&log_lock);
    hb_bare_lock_give(&arbitration);
    hb_bare_lock_give(&arbitration);
    hb_bare_lock_take(&device);
    hb_bare_lock_give(&device);
}

static void who_keeps_the_order_goes_on(void **state)
{
    (void)state;
    assert_int_equal(end_of(upwards), 0);
}

static void free_after_a_fork(void)
{
    int status;
    hb_bare_lock_take(&arbitration);
    hb_bare_lock_take(&kernels);
    pid_t pid = fork();
    if (pid == 0) {
        bool was_free = hb_bare_lock_after_fork(&kernels);
        (void)hb_bare_lock_after_fork(&arbitration);
        upwards();
        _exit(was_free ? 1 : 0);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0) raise(SIGKILL);
}

static void a_child_has_them_free(void **state)
{
    (void)state;
    assert_int_equal(end_of(free_after_a_fork), 0);
}

static void try_out_of_order(void)
{
    hb_bare_lock_take(&kernels);
    if (!hb_bare_lock_try(&device)) raise(SIGKILL);
    hb_bare_lock_give(&device);
    hb_bare_lock_give(&kernels);
}

static void who_does_not_wait_need_not_keep_it(void **state)
{
    (void)state;
    assert_int_equal(end_of(try_out_of_order), 0);
}

#ifdef HB_LOCK_CHECKS
static void downwards(void)
{
    hb_lock_take(&spool_lock);
    hb_lock_take(&log_lock);
}

static void bare_downwards(void)
{
    hb_bare_lock_take(&kernels);
    hb_bare_lock_take(&device);
}

static void bare_under_another(void)
{
    hb_lock_take(&spool_lock);
    hb_bare_lock_take(&device);
}

static void another_under_bare(void)
{
    hb_bare_lock_take(&kernels);
    hb_lock_take(&log_lock);
}

static void who_breaks_it_is_ended(void **state)
{
    (void)state;
    void (*const wrong[])(void) = {downwards, bare_downwards, bare_under_another,
                                   another_under_bare};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(end_of(wrong[i]), SIGABRT);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_rise),
        cmocka_unit_test(who_keeps_the_order_goes_on),
        cmocka_unit_test(a_child_has_them_free),
        cmocka_unit_test(who_does_not_wait_need_not_keep_it),
#ifdef HB_LOCK_CHECKS
        cmocka_unit_test(who_breaks_it_is_ended),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
