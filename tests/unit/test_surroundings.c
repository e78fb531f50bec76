/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hip/environment.h"

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("'%s' does not say '%s'", text, part);
}

static void a_driver_that_is_there_can_be_opened(void **state)
{
    (void)state;
    assert_string_equal(hb_driver_access("/dev/null"), "can be opened");
}

static void without_a_driver_there_is_none(void **state)
{
    (void)state;
    assert_says(hb_driver_access("/nonexistent/kfd"), "no AMD GPU driver");
}

/* Root may open everything. */
static int look_as_nobody(const char *path)
{
    if (geteuid() == 0 && seteuid(65534) != 0) return 2;
    return strstr(hb_driver_access(path), "no permission to open /dev/kfd; the user must be in its "
                                          "group") == NULL;
}

static void without_permission_the_group_is_named(void **state)
{
    (void)state;
    char path[] = "/tmp/hipboard-test-XXXXXX";
    int fd = mkstemp(path), status;
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, 0), 0);
    pid_t pid = fork();
    if (pid == 0) _exit(look_as_nobody(path));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    close(fd);
    unlink(path);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_driver_that_is_there_can_be_opened),
        cmocka_unit_test(without_a_driver_there_is_none),
        cmocka_unit_test(without_permission_the_group_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
