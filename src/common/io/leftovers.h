/* SPDX-License-Identifier: MIT
 *
 * Names of files that are being written, and the removal of those whose writers were killed.
 */
#ifndef HB_IO_LEFTOVERS_H
#define HB_IO_LEFTOVERS_H

/** A hidden name in the directory of `path`, from malloc; NULL without memory. Short and
 * independent of the final name, which may be as long as the file system allows; by chance, since
 * containers that share a directory share host names and process numbers, too. */
char *hb_leftover_name(const char *path);

/** Removes what killed writers left in a directory: regular files of such names that this user
 * owns, that nobody holds a lock (flock) on and that were not written to for a minute. */
void hb_leftovers_sweep(int dir_fd, const char *dir);
/** The same in the directory of `path`, but once in the process's life, and of a job's processes
 * only by that of rank 0. */
void hb_leftovers_sweep_once(int dir_fd, const char *path);

#endif
