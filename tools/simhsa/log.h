/* SPDX-License-Identifier: MIT
 *
 * What simhsa says of itself.
 */
#ifndef SIM_LOG_H
#define SIM_LOG_H

#include <stdbool.h>

/** "simhsa: ..." on stderr. */
__attribute__((format(printf, 1, 2))) void sim_warn(const char *format, ...);

/** Warns once per process and place: about what simhsa does not simulate. */
#define SIM_WARN_ONCE(...)                                                                \
    do {                                                                                  \
        static bool warned;                                                               \
        if (!__atomic_exchange_n(&warned, true, __ATOMIC_RELAXED)) sim_warn(__VA_ARGS__); \
    } while (0)

#endif
