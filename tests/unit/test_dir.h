/* SPDX-License-Identifier: MIT
 *
 * A directory of the test's own, `dir`, made and removed around each test; and its processes.
 */
#ifndef HB_TEST_DIR_H
#define HB_TEST_DIR_H

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[256];

static inline int make_dir(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/hipboard-test-XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(dir) ? 0 : -1;
}

static inline int remove_tree(const char *path)
{
    char command[1100];
    snprintf(command, sizeof command, "rm -rf '%s'", path);
    return system(command);
}

static inline int remove_dir(void **state)
{
    (void)state;
    return remove_tree(dir);
}

#define IN_DIR(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

/* How many entries a directory has; the path of the last one that is not `except` goes to `path`.
 */
static inline int list_dir(const char *in, const char *except, char *path, size_t size)
{
    int count = 0;
    DIR *open_dir = opendir(in);
    assert_non_null(open_dir);
    for (struct dirent *entry; (entry = readdir(open_dir));) {
        if (entry->d_name[0] == '.') continue;
        count++;
        char full[1024];
        snprintf(full, sizeof full, "%s/%s", in, entry->d_name);
        if (path && !(except && strcmp(full, except) == 0)) snprintf(path, size, "%s", full);
    }
    closedir(open_dir);
    return count;
}

/* The thread checker cannot follow threads that a forked child starts. */
static inline void skip_under_thread_checks(void)
{
#if defined __SANITIZE_THREAD__
    skip();
#endif
}

static inline void wait_for_success(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

#endif
