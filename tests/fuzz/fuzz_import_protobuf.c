/* SPDX-License-Identifier: MIT
 *
 * Perfetto's packets and XLA's planes.
 */
#define FORMATS "XPlane", "Perfetto"
#include "fuzz_import.h"
#include "wire_mutator.h"
