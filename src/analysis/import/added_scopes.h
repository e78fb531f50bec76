/* SPDX-License-Identifier: MIT
 *
 * What a user asks to be made of ranges and kernels, beyond what the tool recorded: modules of
 * ranges that lie in each other, operators of kernels without a call. One operator is made in any
 * case where none has time of its own, as the plugin cannot show that. All of it is marked.
 */
#ifndef HB_IMPORT_ADDED_SCOPES_H
#define HB_IMPORT_ADDED_SCOPES_H

#include "import/import_set.h"

/** Puts a source around *source, which it then owns; not where nothing is to be made, nor after an
 * error. */
hb_result hb_add_scopes(hb_source **source, bool modules, bool kernels);

#endif
