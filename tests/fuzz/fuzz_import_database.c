/* SPDX-License-Identifier: MIT
 *
 * Databases: rocpd, RPD, rocprof and nsys.
 */
#define FORMATS "rocpd", "RPD", "rocprof", "nsys", "SQLite"
#include "database_mutator.h"
#include "fuzz_import.h"
