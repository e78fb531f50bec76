/* SPDX-License-Identifier: MIT
 *
 * The process's string table: every name once, for the life of the process, under a number. Lookups
 * of known strings take no lock and scale with threads; a string's first sight takes one.
 */
#ifndef HB_RECORD_STRINGS_H
#define HB_RECORD_STRINGS_H

#include <stdint.h>

#include "trace/event.h"

#define HB_STRINGS_MAX_BYTES ((uint64_t)1 << 30)
#define HB_STRING_UNNAMED    1u /* "(unnamed)" */
#define HB_STRING_DROPPED    4u /* "(name dropped)" */

/** Reserves the table; called once, before any other. */
hb_result hb_strings_init(void);

/** The id of `size` bytes at `text`; HB_STRING_DROPPED when the table is full. */
uint32_t hb_strings_intern(const char *text, size_t size);

/** The string of an id. */
hb_str hb_strings_get(uint32_t id);

/** Follows the table: `mirror` is called, under the table's lock, now for all bytes and then for
 * each addition. NULL ends it. */
typedef void (*hb_strings_mirror)(void *arg, const char *base, uint64_t offset, uint64_t size);
void hb_strings_set_mirror(hb_strings_mirror mirror, void *arg);

/** The string at `entry` in a copy of the table; {NULL, 0} when it does not fit in `available`. */
hb_str hb_strings_read(const char *entry, uint64_t available);

/** The offset of an id in the table. */
static inline uint64_t hb_strings_offset(uint32_t id)
{
    return (uint64_t)id * 8;
}

/* around fork() */
void hb_strings_lock(void);
/** In the child, before the unlocking: what follows the table is the parent's. */
void hb_strings_forget_mirror(void);
void hb_strings_unlock(void);

#endif
