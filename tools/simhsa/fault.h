/* SPDX-License-Identifier: MIT
 *
 * Faults on demand: SIMHSA_FAULTS="alloc:3,queue:10,copy_slow:2:50000000".
 *
 * Each entry is KIND:N or KIND:N:NANOSECONDS and strikes at the N-th event of its kind, counted
 * from 1 over all devices; "N+" strikes at that one and at every later one.
 */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/* X(kind, word, default delay in ns) */
#define SIM_FAULT_MAP(X)                                                               \
    X(ALLOC, "alloc", 0)                    /* an allocation of device memory fails */ \
    X(LOAD, "load", 0)                      /* a code object is refused */             \
    X(QUEUE, "queue", 0)                    /* a dispatch ends in a queue error */     \
    X(COPY, "copy", 0)                      /* a DMA copy is refused when submitted */ \
    X(COPY_SLOW, "copy_slow", 10000000)     /* a DMA copy takes that much longer */    \
    X(KERNEL_SLOW, "kernel_slow", 10000000) /* a kernel takes that much longer */

typedef enum sim_fault_kind {
#define SIM_FAULT_ENUM(kind, word, delay) SIM_FAULT_##kind,
    SIM_FAULT_MAP(SIM_FAULT_ENUM)
#undef SIM_FAULT_ENUM
        SIM_FAULT_KINDS
} sim_fault_kind;

/** Replaces the plan of faults by `text` (NULL: none). False, with a line on stderr, when
 * malformed. */
bool sim_fault_plan(const char *text);

/** Counts one event of `kind`; true when it is to fail. */
bool sim_fault_strikes(sim_fault_kind kind);

/** Counts one event of `kind`; by how many ns it is to be delayed, 0 for not at all. */
uint64_t sim_fault_delay(sim_fault_kind kind);

#endif
