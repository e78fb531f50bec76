/* SPDX-License-Identifier: MIT */
#include <limits.h>
#include <sys/stat.h>

#include "profiler/git_commit.h"
#include "test_dir.h"

#define A "aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd"
#define B "0123456789012345678901234567890123456789"

static int in_a_plain_dir(void **state)
{
    unsetenv("GIT_COMMIT");
    return make_dir(state);
}

static const char *path_of(const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/* A file with its directories. */
static void put(const char *name, const char *text)
{
    char copy[PATH_MAX];
    snprintf(copy, sizeof copy, "%s", path_of(name));
    for (char *slash = strchr(copy + strlen(dir) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(copy, 0777);
        *slash = '/';
    }
    FILE *file = fopen(copy, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void expect(const char *inside, const char *commit)
{
    char found[HB_GIT_COMMIT_SIZE] = "";
    assert_int_equal(hb_git_commit(path_of(inside), found), commit != NULL);
    assert_string_equal(found, commit ? commit : "");
}

static void the_branch_has_a_file(void **state)
{
    (void)state;
    put(".git/HEAD", "ref: refs/heads/topic/one\n");
    put(".git/refs/heads/topic/one", A "\n");
    put("src/deep/file.c", "");
    expect(".", A);
    expect("src/deep", A);
}

static void the_branch_is_packed(void **state)
{
    (void)state;
    put(".git/HEAD", "ref: refs/heads/main\n");
    put(".git/packed-refs",
        "# pack-refs with: peeled\n" B " refs/heads/main2\n^" B "\n" A " refs/heads/main\n");
    expect(".", A);
}

static void a_head_may_be_detached(void **state)
{
    (void)state;
    put(".git/HEAD", B "\n");
    expect(".", B);
}

static void a_worktree_points_elsewhere(void **state)
{
    (void)state;
    char text[PATH_MAX + 16];
    put("main/.git/worktrees/w/HEAD", "ref: refs/heads/w\n");
    put("main/.git/worktrees/w/commondir", "../..\n");
    put("main/.git/refs/heads/w", A "\n");
    snprintf(text, sizeof text, "gitdir: %s\n", path_of("main/.git/worktrees/w"));
    put("w/.git", text);
    expect("w", A);
    put("v/.git", "gitdir: ../main/.git/worktrees/w\n");
    expect("v", A);
}

static void what_is_no_repository_has_no_commit(void **state)
{
    (void)state;
    expect(".", NULL);
    expect("missing", NULL);
    put(".git/HEAD", "ref: refs/heads/unborn\n");
    expect(".", NULL);
    put(".git/HEAD", "ref: refs/heads/odd\n");
    put(".git/refs/heads/odd", "not a commit\n");
    expect(".", NULL);
    put(".git/HEAD", "");
    expect(".", NULL);
}

static void the_environment_comes_first(void **state)
{
    (void)state;
    put(".git/HEAD", B "\n");
    setenv("GIT_COMMIT", A, 1);
    expect(".", A);
    setenv("GIT_COMMIT", "yes", 1);
    expect(".", B);
}

/* Anybody may put them into /tmp; opening one would wait for ever. */
static void what_is_no_file_is_not_opened(void **state)
{
    (void)state;
    alarm(300);
    put("above/here/file.c", "");
    assert_int_equal(mkfifo(path_of("above/.git"), 0666), 0);
    expect("above/here", NULL);
    put("work/.git/config", "");
    assert_int_equal(mkfifo(path_of("work/.git/HEAD"), 0666), 0);
    expect("work", NULL);
    put("branch/.git/HEAD", "ref: refs/heads/main\n");
    assert_int_equal(mkfifo(path_of("branch/.git/packed-refs"), 0666), 0);
    assert_int_equal(symlink("/dev/zero", path_of("branch/.git/commondir")), 0);
    expect("branch", NULL);
    alarm(0);
}

#define IN_PLAIN_DIR(name) cmocka_unit_test_setup_teardown(name, in_a_plain_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLAIN_DIR(the_branch_has_a_file),
        IN_PLAIN_DIR(the_branch_is_packed),
        IN_PLAIN_DIR(a_head_may_be_detached),
        IN_PLAIN_DIR(a_worktree_points_elsewhere),
        IN_PLAIN_DIR(what_is_no_repository_has_no_commit),
        IN_PLAIN_DIR(the_environment_comes_first),
        IN_PLAIN_DIR(what_is_no_file_is_not_opened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
