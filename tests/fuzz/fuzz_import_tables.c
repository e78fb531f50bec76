/* SPDX-License-Identifier: MIT
 *
 * Tables of rocprof and Tracy.
 */
#define FORMATS "rocprof CSV", "Tracy CSV", "statistics", "Tracy's sums"
#include "fuzz_import.h"
