/* SPDX-License-Identifier: MIT
 *
 * Names of kernels out of those of their symbols.
 */
#ifndef HB_IMPORT_DEMANGLE_H
#define HB_IMPORT_DEMANGLE_H

#include "import/import_rows.h"

/** A kernel's name as people read it, without ".kd": demangled where the machine has the C++
 * library. */
hb_string_id hb_import_kernel_name(hb_arena *arena, hb_texts *texts, hb_str name);

#endif
