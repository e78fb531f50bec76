/* SPDX-License-Identifier: MIT */
#ifndef HB_BASE_FILES_H
#define HB_BASE_FILES_H

#include "base/base.h"

/** Makes a directory and its parents. HB_ERROR_IO with path and reason when it can't. */
hb_result hb_make_directories(const char *path);

#endif
