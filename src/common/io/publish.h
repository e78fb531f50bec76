/* SPDX-License-Identifier: MIT
 *
 * A file that appears whole or not at all. TensorBoard's plugin loads a run directory once, so it
 * must never see a file that is still being written: bytes go to a hidden name in the same
 * directory, which the plugin's pattern does not match, and the finished file is renamed.
 *
 * What is replaced keeps its owner and mode, and a link to a file stays one. What is no file - a
 * terminal, /dev/null, a FIFO, /dev/stdout - is written to as it is, but by who needs a file.
 */
#ifndef HB_IO_PUBLISH_H
#define HB_IO_PUBLISH_H

#include <sys/types.h>

#include "io/sink.h"

/** Is told which file is about to get which name (without its directory): whoever is killed between
 * them finds out afterwards whether it has got it. A file that is copied to its name in the end,
 * where names can't be changed, is another. */
typedef struct hb_publish_herald {
    void (*about_to_name)(void *arg, const char *name, uint64_t device, uint64_t inode);
    void *arg;
} hb_publish_herald;

typedef struct hb_publish {
    hb_sink sink;
    const char *path;                /* the caller's */
    bool sync;                       /* to be set before the commit; see there */
    const hb_publish_herald *herald; /* likewise; or NULL */
    /* where it goes */
    int dir_fd;      /* that the names below are in; AT_FDCWD */
    char *name;      /* the file's: `path`, or what that is a link to */
    char *temporary; /* NULL when there is none to remove */
    int fd;
    bool replace, through; /* through: into something that is no file, as it is */
    const char *by_name;   /* what is written into `temporary` by others; or NULL */
    mode_t mode;           /* that it gets in the end; 0: it has it */
    uint64_t bytes;
} hb_publish;

/** Makes missing directories and the temporary file. HB_ERROR_STATE when `path` exists and
 * `replace` is false. `path` must stay valid. */
hb_result hb_publish_open(hb_publish *publish, const char *path, bool replace);

/** As hb_publish_open(), for who opens files by their names, as the library of a database does: it
 * writes into `temporary`, which is empty, and closes it before the commit. `what`, "a database",
 * is for messages. HB_ERROR_INVALID_ARGUMENT when `path` is no file. Locks (fcntl) of that library
 * are in the way of the lock (flock) that is held here where a file system makes one of both: it
 * takes none. */
hb_result hb_publish_open_by_name(hb_publish *publish, const char *path, bool replace,
                                  const char *what);

/** As hb_publish_open() of a new file `name` in an open directory, wherever that is now; `path` is
 * for messages. With AT_FDCWD `name` is the path, and missing directories are made. */
hb_result hb_publish_open_in(hb_publish *publish, int dir_fd, const char *name, const char *path);

/** Renames the file into place, which is atomic. With `sync` its bytes are on the disk before, and
 * its name is before this returns; without, a loss of power may take it back, or leave it empty: a
 * trace is seldom worth stalling a training run's disk. */
hb_result hb_publish_commit(hb_publish *publish);

/** Removes what is not committed. After open, also when that failed. */
void hb_publish_free(hb_publish *publish);

#endif
