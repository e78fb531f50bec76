/* SPDX-License-Identifier: MIT
 *
 * The places through which the modules of this process (the program, its libraries) call functions
 * of other modules. Putting another address there interposes a function for all callers, without
 * preloading and without a symbol of one's own that programs could find.
 */
#ifndef HB_INTERPOSE_GOT_PATCH_H
#define HB_INTERPOSE_GOT_PATCH_H

#include "base/base.h"

/** A place through which a module calls a function of others. */
typedef struct hb_import {
    const char *name;
    const char *module; /* its path; "" of the program */
    uintptr_t base;     /* where it was loaded */
    void *now;          /* what is called now; NULL: the loader will find it at the first call */
    bool unready;       /* the loader has not come to it yet: nothing is put there this time */
} hb_import;

/** The address to be called in place of what is imported, whose own is given back in `real`; NULL:
 * it stays. The loader may be locked: it must not be asked for anything. */
typedef void *(*hb_import_fn)(const hb_import *import, void **real);

/** Whether a module is to be looked at. */
typedef bool (*hb_module_fn)(uintptr_t base, const char *path);

/** Whether this processor's relocations are known here. */
bool hb_imports_known(void);

/** How many modules the loader has loaded and unloaded so far. */
typedef struct hb_module_counts {
    unsigned long long loaded, unloaded;
} hb_module_counts;
hb_module_counts hb_count_modules(void);

/** Asks `replacement` for each imported function of each module that is `wanted` (NULL: all), but
 * for the module of `except` (any address in it; may be NULL) and hipboard's own. Imports that hold
 * neither `real` nor the loader's stub are left alone, since somebody else has interposed them:
 * they are counted. May be repeated when modules were loaded since, and has to be when false: what
 * is to be replaced is in a module that another thread is just loading. */
bool hb_imports_replace(hb_import_fn replacement, hb_module_fn wanted, const void *except,
                        unsigned *foreign);

#endif
