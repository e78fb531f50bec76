/* SPDX-License-Identifier: MIT
 *
 * The code objects that are loaded in this process, as HSA's loader lists them: when they were
 * loaded, from where and by whom does not matter.
 */
#ifndef HB_HIP_CODE_OBJECTS_H
#define HB_HIP_CODE_OBJECTS_H

#include "base/base.h"

/** What the compiler says of a kernel. */
typedef struct hb_code_resources {
    uint32_t vgprs;     /* per thread; without the AGPRs where the two share one file */
    uint32_t agprs;     /* per thread */
    uint32_t sgprs;     /* per wave */
    uint32_t lds_bytes; /* static, per block */
} hb_code_resources;

/** Looks at the code objects that were loaded since the last time. Reads memory and, rarely, files:
 * not for the hot path. */
void hb_code_objects_look(void);

/** A kernel by its mangled name. `all_vgprs` and `lds_bytes`, as the HIP runtime tells them, choose
 * among kernels of one name in several code objects; false when none or more than one fits. Looks
 * for new code objects when the name is not known. */
bool hb_code_objects_find(const char *name, uint32_t all_vgprs, uint32_t lds_bytes,
                          hb_code_resources *resources);

/** In a forked child. */
void hb_code_objects_after_fork(void);

#endif
