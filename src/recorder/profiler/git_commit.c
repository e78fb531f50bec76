/* SPDX-License-Identifier: MIT
 *
 * Follows .git to HEAD, HEAD to a branch, and the branch to its file or its line in packed-refs.
 */
#include "profiler/git_commit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"

#define MOST_PACKED     100000                         /* lines: some MB, some ms */
#define ID_DIGITS(size) ((size) == 40 || (size) == 64) /* SHA-1, SHA-256 */

static bool is_commit(const char *text)
{
    size_t size = strspn(text, "0123456789abcdef");
    return ID_DIGITS(size) && text[size] == '\0';
}

/* `dir`/`name`, or `name` alone when that is absolute. */
static bool join(char path[PATH_MAX], const char *dir, const char *name)
{
    int n = *name == '/' ? snprintf(path, PATH_MAX, "%s", name)
                         : snprintf(path, PATH_MAX, "%s/%s", dir, name);
    return n > 0 && n < PATH_MAX;
}

/* Anybody may have put anything there, as into /tmp: what is no file is not opened. */
static FILE *open_file(const char *dir, const char *name)
{
    char path[PATH_MAX];
    int fd = join(path, dir, name) ? hb_open_regular(path) : -1;
    FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (!file && fd >= 0) close(fd);
    return file;
}

/* The first line of a file, without its end. */
static bool read_line(const char *dir, const char *name, char line[PATH_MAX])
{
    FILE *file = open_file(dir, name);
    bool read = file && fgets(line, PATH_MAX, file);
    if (read) line[strcspn(line, "\r\n")] = '\0';
    if (file) fclose(file);
    return read;
}

/* `dir`/.git, or where that points when it is the file of a worktree or a submodule. */
static bool git_dir_in(const char *dir, char git[PATH_MAX])
{
    static const char prefix[] = "gitdir: ";
    char line[PATH_MAX];
    struct stat st;
    if (!join(git, dir, ".git") || stat(git, &st)) return false;
    if (S_ISDIR(st.st_mode)) return true;
    return read_line(dir, ".git", line) && strncmp(line, prefix, sizeof prefix - 1) == 0 &&
           join(git, dir, line + sizeof prefix - 1);
}

static bool find_git_dir(const char *dir, char git[PATH_MAX])
{
    char at[PATH_MAX];
    if (!realpath(dir, at)) return false;
    while (!git_dir_in(at, git)) {
        char *slash = strrchr(at, '/');
        if (!slash || slash[1] == '\0') return false;
        slash[slash == at] = '\0'; /* "/" stays */
    }
    return true;
}

static bool packed_commit(const char *git, const char *ref, char line[PATH_MAX])
{
    FILE *file = open_file(git, "packed-refs");
    bool found = false;
    for (int i = 0; file && !found && i < MOST_PACKED && fgets(line, PATH_MAX, file); i++) {
        char *space = strchr(line, ' ');
        line[strcspn(line, "\r\n")] = '\0';
        if (!space || strcmp(space + 1, ref) != 0) continue;
        *space = '\0';
        found = is_commit(line);
    }
    if (file) fclose(file);
    return found;
}

/* Branches of a worktree are in the directory that its "commondir" names. */
static bool branch_commit(const char *git, const char *ref, char line[PATH_MAX])
{
    char common[PATH_MAX], shared[PATH_MAX];
    if (read_line(git, ref, line) && is_commit(line)) return true;
    bool worktree = read_line(git, "commondir", common) && join(shared, git, common);
    const char *home = worktree ? shared : git;
    return (worktree && read_line(home, ref, line) && is_commit(line)) ||
           packed_commit(home, ref, line);
}

static bool repository_commit(const char *dir, char line[PATH_MAX])
{
    static const char prefix[] = "ref: ";
    char git[PATH_MAX], ref[PATH_MAX];
    if (!find_git_dir(dir, git) || !read_line(git, "HEAD", line)) return false;
    if (strncmp(line, prefix, sizeof prefix - 1) != 0) return is_commit(line);
    snprintf(ref, sizeof ref, "%s", line + sizeof prefix - 1);
    return branch_commit(git, ref, line);
}

bool hb_git_commit(const char *dir, char commit[HB_GIT_COMMIT_SIZE])
{
    char line[PATH_MAX];
    const char *given = secure_getenv("GIT_COMMIT");
    bool found = given && is_commit(given);
    if (!found && !repository_commit(dir, line)) return false;
    snprintf(commit, HB_GIT_COMMIT_SIZE, "%.64s", found ? given : line);
    return true;
}
