/* SPDX-License-Identifier: MIT
 *
 * Where records live until they are a trace: beside the traces where that is on this machine, else
 * in a directory of this machine's that belongs to the log directory.
 */
#ifndef HB_PROFILER_SPOOL_PLACE_H
#define HB_PROFILER_SPOOL_PLACE_H

#include "base/base.h"

/** As hb_spool_directory(), made if it has to be; "" when nowhere. */
const char *hb_spool_place(const char *log_dir, char *path, size_t size);

#endif
