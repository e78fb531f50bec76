/* SPDX-License-Identifier: MIT
 *
 * A trace out of a file of any format that is known: of PyTorch's kind, or another tool's.
 */
#ifndef HB_IMPORT_IMPORT_READ_H
#define HB_IMPORT_IMPORT_READ_H

#include "import/import_set.h"
#include "read/json_reader.h"

/** As hb_read_trace(), also of other tools' files: of one with several processes, process
 * `process`. What they would be as written is read. HB_ERROR_NOT_FOUND when there are fewer. */
hb_result hb_import_read(const char *path, size_t process, const hb_read_options *options,
                         hb_trace *trace, hb_read_report *report);

/** How many processes a file has: 1 of a trace of PyTorch's kind. */
hb_result hb_import_processes(const char *path, size_t *count);

#endif
