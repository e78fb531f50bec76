/* SPDX-License-Identifier: MIT
 *
 * Tables of rocprof and Tracy: one, or a set of rocprof's.
 */
#define FORMATS "rocprof CSV", "Tracy CSV", "statistics", "Tracy's sums"
#define FILES                                                               \
    "7_kernel_trace.csv", "7_hip_api_trace.csv", "7_memory_copy_trace.csv", \
        "7_counter_collection.csv", "7_agent_info.csv", "7_memory_allocation_trace.csv"
#include "fuzz_import.h"
#include "table_mutator.h"
