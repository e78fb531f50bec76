/* SPDX-License-Identifier: MIT
 *
 * What may be done with files in a directory.
 */
#ifndef HB_BASE_FILE_SYSTEMS_H
#define HB_BASE_FILE_SYSTEMS_H

#include <stdbool.h>

/** Whether a directory is on another machine's disk, for which nobody should wait; so is one that
 * cannot be asked. */
bool hb_dir_is_network(const char *dir);

/** Whether memory may be mapped from files there, and written to: on a disk of this machine, on
 * which a page that was written once can always be written again. */
bool hb_dir_is_mappable(const char *dir);

#endif
