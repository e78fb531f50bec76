/* SPDX-License-Identifier: MIT
 *
 * Program counters as text: by a helper process, which reads debug information, or by the dynamic
 * linker, which knows exported functions.
 */
#ifndef HB_SYMBOLS_SYMBOLIZER_H
#define HB_SYMBOLS_SYMBOLIZER_H

#include "base/base.h"
#include "base/str.h"

typedef struct hb_symbolizer hb_symbolizer;

/** Each distinct program counter is asked for once. `code`: what another process, that is gone, had
 * mapped (hb_put_loaded_code()); s is NULL for this one. NULL without memory. */
hb_symbolizer *hb_symbolizer_new(hb_str code);
void hb_symbolizer_free(hb_symbolizer *symbolizer);

/** "file(line): function;" for each frame, those inlined into it first. Frames without debug
 * information give "module(0): function;" or "module(0): 0x...;". `pcs` are return addresses,
 * innermost first, up to `count` or a zero. Valid until the next call. */
hb_str hb_symbolizer_stack(hb_symbolizer *symbolizer, const uint64_t *pcs, uint32_t count);

#endif
