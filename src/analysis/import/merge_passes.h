/* SPDX-License-Identifier: MIT
 *
 * Passes of counters: rocprofv3 runs a program once for each set of counters that fits into the
 * hardware, and leaves the runs in directories pass_1, pass_2 ...
 */
#ifndef HB_IMPORT_MERGE_PASSES_H
#define HB_IMPORT_MERGE_PASSES_H

#include "import/import_set.h"

/** Gives the counters of a process's later passes to the kernels of its first, one after the other
 * as they were started, where the same kernels ran; the later ones are then left out, and noted, as
 * are those that stay. A counter of several passes keeps its first value. */
void hb_merge_passes(hb_import *import);

#endif
