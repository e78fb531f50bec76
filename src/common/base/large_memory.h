/* SPDX-License-Identifier: MIT
 *
 * Memory for what grows with a trace. What a process has of it in memory stays below a limit, if
 * hb_large_use_disk() was called; what more it needs are mappings of files without names in a
 * temporary directory, which the kernel writes and reads as it would swap. These are laid aside
 * again and again, so that little of them counts as the process's memory at any time.
 *
 * A file has all its blocks before it is mapped: a disk that is full is told when memory is asked
 * for, and never met by who writes to it. Of a forked child's the files are its parent's too: what
 * one writes the other sees.
 */
#ifndef HB_BASE_LARGE_MEMORY_H
#define HB_BASE_LARGE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

/** Zeroed, aligned as malloc() does. NULL without memory: hb_large_refusal(). */
void *hb_large_alloc(size_t size);
/** Likewise, for what is read here and there, as a hash table: of a file each access would map a
 * page again. It stays in memory while hb_memory_share() has room, whatever the usual limit is; a
 * limit that was asked for holds, but a quarter of it is kept for these. */
void *hb_large_alloc_scattered(size_t size);
/** `memory` of `size` bytes, or NULL of none, as one of `larger`: what is new is zeroed. NULL
 * without memory; it is then as it was. */
void *hb_large_grow(void *memory, size_t size, size_t larger);
/** Of that size; NULL is none. */
void hb_large_free(void *memory, size_t size);

/** Whether it counts as memory: false of what lies in a file. */
bool hb_large_is_in_memory(const void *memory, size_t size);

/** From now on this process lays aside what is over the limit: HIPBOARD_MEMORY, if set; else 384
 * MiB, or less on a small machine, where what finds no room on a disk stays in memory.
 * HB_ERROR_INVALID_ARGUMENT: the setting is no size. */
hb_result hb_large_use_disk(void);

/** What to say when hb_large_alloc() gave NULL. */
const char *hb_large_refusal(char text[256]);

#endif
