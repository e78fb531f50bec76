/* SPDX-License-Identifier: MIT
 *
 * A file that appears whole or not at all. TensorBoard's plugin loads a run directory once, so it
 * must never see a file that is still being written: bytes go to a hidden name in the same
 * directory, which the plugin's pattern does not match, and the finished file is renamed.
 */
#ifndef HB_WRITE_PUBLISH_H
#define HB_WRITE_PUBLISH_H

#include "write/sink.h"

typedef struct hb_publish {
    hb_sink sink;
    const char *path; /* the caller's */
    char *temporary;  /* NULL when there is none to remove */
    int fd;
    bool replace;
    uint64_t bytes;
} hb_publish;

/** Makes missing directories and the temporary file. HB_ERROR_STATE when `path` exists and
 * `replace` is false. `path` must stay valid. */
hb_result hb_publish_open(hb_publish *publish, const char *path, bool replace);

/** Renames the file into place, which is atomic. It is not synced to disk: a trace is not worth
 * stalling a training run's disk. */
hb_result hb_publish_commit(hb_publish *publish);

/** Removes what is not committed. After open, also when that failed. */
void hb_publish_free(hb_publish *publish);

#endif
