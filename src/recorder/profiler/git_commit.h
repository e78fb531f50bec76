/* SPDX-License-Identifier: MIT
 *
 * Which commit a program runs from, without running git.
 */
#ifndef HB_PROFILER_GIT_COMMIT_H
#define HB_PROFILER_GIT_COMMIT_H

#include <stdbool.h>

enum { HB_GIT_COMMIT_SIZE = 65 };

/** The commit in hexadecimal digits, as a build server says it in $GIT_COMMIT, else that of the
 * repository around `dir`. False when there is none. */
bool hb_git_commit(const char *dir, char commit[HB_GIT_COMMIT_SIZE]);

#endif
