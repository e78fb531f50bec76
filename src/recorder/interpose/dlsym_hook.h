/* SPDX-License-Identifier: MIT
 *
 * Programs that load libraries at run time ask dlsym() for their functions. To stand there is to
 * learn in time that a library has come, and to give out another address than it would.
 */
#ifndef HB_INTERPOSE_DLSYM_HOOK_H
#define HB_INTERPOSE_DLSYM_HOOK_H

#include "base/base.h"

/** Stands in for dlsym() in all modules that are loaded now; may be repeated. */
void hb_lookups_interpose(void);

/** `fn` is called before each look-up, by any thread, perhaps inside the loader. */
void hb_lookups_watch(void (*fn)(void));

/** `fn` may give another address for the one that was found for `name`; NULL: it stays. */
void hb_lookups_substitute(void *(*fn)(const char *name, void *found));

#endif
