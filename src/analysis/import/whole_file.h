/* SPDX-License-Identifier: MIT
 *
 * Files that are read as a whole, or only at their beginning, and may be compressed.
 */
#ifndef HB_IMPORT_WHOLE_FILE_H
#define HB_IMPORT_WHOLE_FILE_H

#include "base/base.h"

/** Whether a file that can be opened begins as gzip's or zstd's do. */
bool hb_is_compressed(const char *path);

/** The first bytes of a regular file, inflated: up to `size`; how many. Of what cannot be read, or
 * only once, as a pipe, there are none. */
size_t hb_file_head(const char *path, char *head, size_t size);

enum { HB_WHOLE_FILE_ZEROS = 64 };

/** All bytes of a file, inflated, and so many zeros behind them; free() them. HB_ERROR_IO,
 * HB_ERROR_FORMAT, HB_ERROR_LIMIT beyond half of the machine's memory, HB_ERROR_NO_MEMORY. */
hb_result hb_whole_file(const char *path, char **bytes, size_t *size);

#endif
