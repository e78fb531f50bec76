/* SPDX-License-Identifier: MIT
 *
 * Programs that load libraries at run time ask dlsym() for their functions. To stand there is to
 * learn in time that a library has come, and to give out another address than it would.
 */
#ifndef HB_INTERPOSE_DLSYM_HOOK_H
#define HB_INTERPOSE_DLSYM_HOOK_H

#include "base/base.h"

/** Stands in for dlsym() in all modules that are loaded now; may be repeated, and has to be when
 * false, as hb_imports_replace(). */
bool hb_lookups_interpose(void);

/** Rooms that stand there, each for names of its own. */
enum hb_lookups_of { HB_LOOKUPS_HIP, HB_LOOKUPS_OPERATORS, HB_LOOKUPS_ROOMS };

/** `fn` is called before each look-up, by any thread, perhaps inside the loader; NULL: no more. */
void hb_lookups_watch(enum hb_lookups_of room, void (*fn)(void));

/** `other` may give another address for the one that was found for a name which the room `knows`;
 * NULL: it stays. Once a room. */
void hb_lookups_substitute(enum hb_lookups_of room, bool (*knows)(const char *name),
                           void *(*other)(const char *name, void *found));

#endif
