/* SPDX-License-Identifier: MIT
 *
 * What every file of simhsa uses: HSA's own types, settings, log, clock. Symbols of the HSA API are
 * hsa_*; what simhsa's files share among themselves is sim_*; simhsa.map exports hsa_* and
 * simhsa_*.
 */
#ifndef SIM_H
#define SIM_H

#include "log.h"

#include <hsa/hsa.h>

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa_ext_amd.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_MAX_GPUS     8
#define SIM_FOREVER      UINT64_MAX
/* How long what would be hardware looks for work before its thread sleeps: to be woken is for
 * others to pay. */
#define SIM_LINGER_NS    50000
#define SIM_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* ---- settings (config.c) ---- */

/** Everything that the environment sets, read once when the runtime is initialised. */
typedef struct sim_settings {
    unsigned gpus;
    const struct sim_arch *arch;
    uint64_t memory_bytes; /* of each GPU */
    uint64_t kernel_ns;    /* of kernels with no duration of their own */
    uint64_t copy_ns;      /* fixed part of every copy */
    double copy_gbps;      /* host <-> device, 10^9 bytes a second */
    double device_gbps;    /* within a device and between devices */
    bool trace;
} sim_settings;

extern sim_settings sim_config;

/** Reads the SIMHSA_* variables. False, with a line on stderr, when one makes no sense: a mistyped
 * setting must not pass for a result. */
bool sim_config_load(void);

/** sim_warn() only with SIMHSA_TRACE=1. */
#define SIM_TRACE(...)                               \
    do {                                             \
        if (sim_config.trace) sim_warn(__VA_ARGS__); \
    } while (0)

/* ---- clock (clock.c) ---- */

/** Nanoseconds of CLOCK_BOOTTIME, the clock of HSA's timestamps. */
uint64_t sim_now(void);
void sim_sleep_until(uint64_t time_ns);
/** Time to move `bytes` at `gbps`, with the fixed part. */
uint64_t sim_copy_duration(uint64_t bytes, double gbps);

/* ---- life (system.c) ---- */

/** Between the first hsa_init() and the last hsa_shut_down(). */
bool sim_is_initialized(void);

/** False in a forked child: it has the runtime's state but none of its threads to wait for. */
bool sim_has_threads(void);

#define SIM_REQUIRE_INIT()                                                  \
    do {                                                                    \
        if (!sim_is_initialized()) return HSA_STATUS_ERROR_NOT_INITIALIZED; \
    } while (0)

#define SIM_REQUIRE(condition, status)     \
    do {                                   \
        if (!(condition)) return (status); \
    } while (0)

#endif
