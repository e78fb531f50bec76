/* SPDX-License-Identifier: MIT
 *
 * A directory of a target's own, in memory where there is such a place, gone when it ends.
 */
#ifndef HB_FUZZ_DIR_H
#define HB_FUZZ_DIR_H

#include <stdlib.h>
#include <unistd.h>

#include "fuzz.h"

static char fuzz_dir_path[64];

static inline void fuzz_dir_remove(void)
{
    (void)rmdir(fuzz_dir_path);
}

/** Its path; made by the first call. It is empty when the target ends. */
static inline const char *fuzz_dir(void)
{
    if (fuzz_dir_path[0]) return fuzz_dir_path;
    snprintf(fuzz_dir_path, sizeof fuzz_dir_path, "%s/hipboard-fuzz-XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    CHECK(mkdtemp(fuzz_dir_path));
    atexit(fuzz_dir_remove);
    return fuzz_dir_path;
}

#endif
