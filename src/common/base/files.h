/* SPDX-License-Identifier: MIT
 *
 * Paths and directories, and what to say when they fail.
 */
#ifndef HB_BASE_FILES_H
#define HB_BASE_FILES_H

#include <sys/types.h>

#include "base/base.h"

/** HB_ERROR_IO with "cannot <what> '<path>'", what the user can do about it, and the reason. */
HB_COLD hb_result hb_fail_file(int error_number, const char *what, const char *path);

struct stat;

/** Opens a file to read it, and never waits: a FIFO, a socket or a device is refused, since reading
 * it could go on for ever; but not what the process itself has open, as shells hand pipes over
 * (/dev/stdin, /dev/fd/N). A directory can be opened. `*st` is the file's. HB_ERROR_IO. */
hb_result hb_open_to_read(const char *path, int *fd, struct stat *st);

/** open() for writing. Never one of the numbers of standard input, output and error, which a
 * program may have closed: what is printed there would go into the file. -1 with errno. */
int hb_open_file(const char *path, int flags, unsigned mode);
int hb_open_file_in(int dir_fd, const char *path, int flags, unsigned mode);

/** How calls as openat() name a file: in its directory, which may have another name by now, by the
 * last part of its path; with AT_FDCWD by all of it. */
const char *hb_name_in(int dir_fd, const char *path);

/** Opens a regular file for reading, through links; never waits for a FIFO, and never opens a
 * device, whose opening may do something. -1 with errno, EINVAL when it is no regular file. */
int hb_open_regular(const char *path);

/** Whether a file may become as long as this (RLIMIT_FSIZE); beyond it the system would end the
 * program. False with errno. */
bool hb_may_grow_to(uint64_t size);

/** write() at the end of a file of `length` bytes, within that limit; not interrupted by signals.
 */
ssize_t hb_write_behind(int fd, uint64_t length, const void *data, size_t size);

/** From malloc. NULL with errno: no memory, or the working directory is gone. */
char *hb_absolute_path(const char *path);

/** This machine's name as a part of file names. */
void hb_host_name(char *name, size_t size);

/** When a file was last changed, in ns since 1970; of times that are further away the furthest. */
int64_t hb_modified_ns(const struct stat *st);

bool hb_path_ends(const char *path, const char *suffix);

/** Makes a directory and its parents. Several processes may do so at once.
 * HB_ERROR_IO, by hb_fail_file(). */
hb_result hb_make_directories(const char *path);

/** A file that stays open for long in a process that is not ours: the program may close any
 * descriptor, and open its own files under the same number. `fd` is -1 when there is none. */
typedef struct hb_kept_file {
    int fd;
    uint64_t device, inode;
} hb_kept_file;

#define HB_NO_KEPT_FILE ((hb_kept_file){.fd = -1})

/** Takes over an open file (or -1), under a number so high that no program chooses it. */
hb_kept_file hb_kept_file_of(int fd);
/** Whether it is still what the descriptor stands for. */
bool hb_kept_file_is_there(const hb_kept_file *file);
/** Closes it, if it is there; then there is none. Returns what close() does. */
int hb_kept_file_close(hb_kept_file *file);

#endif
