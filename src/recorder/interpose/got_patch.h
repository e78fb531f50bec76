/* SPDX-License-Identifier: MIT
 *
 * The places through which the modules of this process (the program, its libraries) call functions
 * of other modules. Putting another address there interposes a function for all callers, without
 * preloading and without a symbol of one's own that programs could find.
 */
#ifndef HB_INTERPOSE_GOT_PATCH_H
#define HB_INTERPOSE_GOT_PATCH_H

#include "base/base.h"

/** The address to be called in place of the function `name`, whose own is given back in `real`;
 * NULL: it stays. */
typedef void *(*hb_import_fn)(const char *name, void **real);

/** Whether this processor's relocations are known here. */
bool hb_imports_known(void);

/** Asks `replacement` for each imported function of each module, but for the module of `except`
 * (any address in it; may be NULL) and hipboard's own. Imports that hold neither `real` nor the
 * loader's stub are left alone, since somebody else has interposed them: they are counted. May be
 * repeated when modules were loaded since. */
void hb_imports_replace(hb_import_fn replacement, const void *except, unsigned *foreign);

#endif
