/* SPDX-License-Identifier: MIT
 *
 * Which kernels of AMD's code objects use matrix instructions. Code objects are ELF files, by
 * themselves (.co, .hsaco) or inside others: programs, libraries, offload bundles.
 */
#ifndef HB_GPU_MATRIX_SCAN_H
#define HB_GPU_MATRIX_SCAN_H

#include "rules/kernel_class.h"

typedef void (*hb_code_object_fn)(void *context, hb_str kernel, hb_matrix_verdict verdict);

/** Calls `fn` for each function of each code object in `data`, with its symbol's name. CDNA's code
 * is decoded, so that both verdicts are exact; a function that calls others may use them there, and
 * RDNA's code is only searched: there, none found is unknown. The number of code objects. */
unsigned hb_code_objects_scan(const void *data, size_t size, hb_code_object_fn fn, void *context);

#endif
