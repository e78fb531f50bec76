/* SPDX-License-Identifier: MIT
 *
 * Debug information of a process's modules, by elfutils: lines and inlined functions.
 */
#ifndef SYMBOLIZER_DEBUG_INFO_H
#define SYMBOLIZER_DEBUG_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct debug_info debug_info;

/** NULL without memory. */
debug_info *debug_info_new(void);
void debug_info_free(debug_info *info);

/** The module at `start` had this build id: a file that has another by now says nothing about it.
 * False without memory. */
bool debug_info_expect(debug_info *info, uint64_t start, const char *build_id);

/** The modules, as /proc/PID/maps has them. */
bool debug_info_open(debug_info *info, const char *maps, size_t size);

/** Calls `put` for each function around `address`, the innermost inlined one first. `file` and
 * `function` may be NULL, `line` 0. */
void debug_info_frames(debug_info *info, uint64_t address,
                       void (*put)(const char *file, int line, const char *function));

#endif
