/* SPDX-License-Identifier: MIT
 *
 * Counters by kernel: what a trace's metadata says of them.
 */
#ifndef HB_IMPORT_SUM_COUNTERS_H
#define HB_IMPORT_SUM_COUNTERS_H

#include "import/import_set.h"

/** Appends a JSON list with an object for each counter of each kernel's name, in the order in which
 * they come; nothing where there are none. The most is 20,000. Leaves by the arena. */
void hb_sum_counters(hb_arena *arena, const hb_import_rows *rows, hb_buf *json);

#endif
