/* SPDX-License-Identifier: MIT
 *
 * What code this process has mapped, so that another process can name its addresses.
 */
#ifndef HB_SYMBOLS_LOADED_CODE_H
#define HB_SYMBOLS_LOADED_CODE_H

#include <limits.h>

#include "base/base.h"

/** The mapped files as /proc/PID/maps has them, with a line "build-id ADDRESS ID" (hexadecimal)
 * behind the first of a module that has one. Nothing where the system does not tell. */
void hb_put_loaded_code(hb_buf *to);

/** The file that is mapped at an address, by its absolute path; " (deleted)" behind it where it is
 * gone. False where there is none, or the system does not tell. */
bool hb_mapped_path(const void *address, char path[PATH_MAX]);

#endif
