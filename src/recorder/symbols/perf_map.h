/* SPDX-License-Identifier: MIT
 *
 * Names of code that no file holds: what compilers within a process, and Python with
 * PYTHONPERFSUPPORT=1, write to /tmp/perf-PID.map.
 */
#ifndef HB_SYMBOLS_PERF_MAP_H
#define HB_SYMBOLS_PERF_MAP_H

#include "base/str.h"

typedef struct hb_perf_map hb_perf_map;

/** This process's; NULL: there is none that is its user's own, or no memory. */
hb_perf_map *hb_perf_map_read(void);
void hb_perf_map_free(hb_perf_map *map);

typedef struct hb_perf_name {
    hb_str function; /* empty: nothing is known of the address */
    hb_str file;     /* that Python tells; or empty */
} hb_perf_name;

/** Borrowed from the map, which may be NULL. */
hb_perf_name hb_perf_map_find(const hb_perf_map *map, uint64_t pc);

#endif
