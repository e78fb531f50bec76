/* SPDX-License-Identifier: MIT
 *
 * What is said of a process that was read: to the writers of traces, in the trace, and to people.
 */
#ifndef HB_IMPORT_DESCRIBE_H
#define HB_IMPORT_DESCRIBE_H

#include "import/import_set.h"

/** Fills in the process's info and what is shown of it. Leaves by the import's arena. */
void hb_describe(hb_import *import, size_t index);

/** The steps are known: they stand in the trace's metadata, too. */
hb_result hb_describe_steps(hb_import_process *process);

void hb_describe_free(hb_import_process *process);

#endif
