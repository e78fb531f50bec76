/* SPDX-License-Identifier: MIT
 *
 * The process's modules: a name and an index within the class, under a number.
 */
#ifndef HB_RECORD_MODULE_TABLE_H
#define HB_RECORD_MODULE_TABLE_H

#include <hipboard/hipboard.h>

typedef struct hb_module_entry {
    uint32_t class_name; /* string id */
    uint32_t name;       /* with the class and how many of it there were before: ...Conv2d_0 */
    uint32_t index;      /* within the class, as in its name */
} hb_module_entry;

/** NULL for numbers that hb_module_create() did not give. No lock. */
const hb_module_entry *hb_module_get(hb_module module);

/** In a forked child: nobody holds the lock. */
void hb_modules_after_fork(void);

#endif
