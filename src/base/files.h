/* SPDX-License-Identifier: MIT
 *
 * Paths and directories, and what to say when they fail.
 */
#ifndef HB_BASE_FILES_H
#define HB_BASE_FILES_H

#include "base/base.h"

/** HB_ERROR_IO with "cannot <what> '<path>'", what the user can do about it, and the reason. */
HB_COLD hb_result hb_fail_file(int error_number, const char *what, const char *path);

bool hb_path_ends(const char *path, const char *suffix);

/** Makes a directory and its parents. Several processes may do so at once.
 * HB_ERROR_IO, by hb_fail_file(). */
hb_result hb_make_directories(const char *path);

#endif
