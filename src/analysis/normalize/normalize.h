/* SPDX-License-Identifier: MIT
 *
 * Traces of other writers and ages, as if they were of the plugin's own time.
 */
#ifndef HB_NORMALIZE_NORMALIZE_H
#define HB_NORMALIZE_NORMALIZE_H

#include "trace/trace.h"

/** Makes a trace of any writer and age say what one of the plugin's own time says, as far as
 * analysis needs it; `hipboard convert` does the same to files:
 *
 *   - calls of a runtime or driver are calls, data loading and optimizers are scopes, whatever
 *     category they have;
 *   - calls with device work belong to the operator that their id names or else that they ran in;
 *   - steps among a GPU's annotations are no steps, ids that two scopes share belong to the
 *     operator;
 *   - kernels have blocks per SM when their grid and the device tell;
 *   - events that would lose the file are left out or mended.
 *
 * HB_ERROR_NO_MEMORY; the trace is then still a trace. */
hb_result hb_normalize(hb_trace *trace);

#endif
