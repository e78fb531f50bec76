/* SPDX-License-Identifier: MIT
 *
 * What hipboard's own exports say of a process beside its events, in formats that have no place for
 * it: an event of a category of ours, whose name is a JSON object.
 */
#ifndef HB_IMPORT_OWN_INFO_H
#define HB_IMPORT_OWN_INFO_H

#include "import/import_set.h"

bool hb_own_info_is(hb_str category);

/** Takes over what `json` says; what is none is passed over. */
void hb_own_info_take(hb_import *import, hb_import_process *process, hb_str json);

#endif
