/* SPDX-License-Identifier: MIT
 *
 * The GPU architectures that can be simulated.
 */
#ifndef SIM_ARCH_H
#define SIM_ARCH_H

#include <stdint.h>

typedef struct sim_arch {
    const char *name;     /* SIMHSA_ARCH, and HSA's agent name */
    const char *features; /* of the target id, behind the name */
    uint32_t compute_units;
    uint32_t wavefront;
    uint32_t simds_per_cu;
    uint32_t waves_per_cu;
    uint32_t lds_kib;
    uint32_t memory_gib;
    uint32_t bus_bits;
    uint32_t clock_mhz;
    uint32_t memory_mhz;
    uint32_t shader_engines;
    uint32_t l2_kib;
    uint32_t chip_id;
} sim_arch;

/** NULL when there is no such architecture. */
const sim_arch *sim_arch_find(const char *name);
/** The i-th architecture, NULL behind the last: for messages. */
const sim_arch *sim_arch_at(unsigned i);

#endif
