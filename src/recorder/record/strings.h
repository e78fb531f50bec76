/* SPDX-License-Identifier: MIT
 *
 * The process's string table: every name once, for the life of the process, under a number. Lookups
 * of known strings take no lock and scale with threads; a string's first sight takes one.
 */
#ifndef HB_RECORD_STRINGS_H
#define HB_RECORD_STRINGS_H

#include <stdint.h>

#include "rules/name_class.h"
#include "trace/event.h"

#define HB_STRINGS_MAX_BYTES ((uint64_t)1 << 30)
#define HB_STRING_UNNAMED    1u /* "(unnamed)" */
#define HB_STRING_DROPPED    4u /* "(name dropped)" */

/** The names of steps, of which a program may have millions, are in no table: their ids are numbers
 * with this bit, and are no offsets. */
#define HB_STRING_STEP ((uint32_t)1 << 31)

static inline bool hb_string_is_step(uint32_t id)
{
    return id & HB_STRING_STEP;
}

/** The id of "ProfilerStep#N". Numbers that do not fit are in the table. */
uint32_t hb_strings_step(int64_t number);
/** The name of such an id, written to `text`. */
hb_str hb_strings_step_name(uint32_t id, char text[HB_STEP_NAME_SIZE]);

/** Reserves the table; called once, before any other. */
hb_result hb_strings_init(void);

/** The id of `size` bytes at `text`; HB_STRING_DROPPED when the table is full. */
uint32_t hb_strings_intern(const char *text, size_t size);

/** The string of an id. */
hb_str hb_strings_get(uint32_t id);

/** Names longer than this are cut (hb_strings_cut()); nothing else is. */
#define HB_NAME_MAX (1u << 20)

/** The id of a name, cut to HB_NAME_MAX bytes where it is longer, at the end of a character; NULL
 * and "" are UNNAMED. For a recording call that is about to begin: `frame` is its stack frame, see
 * hb_thread_begin_at(). */
uint32_t hb_record_name(const char *name, const void *frame);

/** Follows the table: `add` is called, under the table's lock, for each new string; it must make no
 * system call. Those from before are in hb_strings_table(). */
typedef struct hb_strings_mirror {
    void (*add)(void *arg, const char *bytes, uint64_t offset, uint64_t size);
    void *arg;
    struct hb_strings_mirror *next;
} hb_strings_mirror;
void hb_strings_follow(hb_strings_mirror *mirror);
void hb_strings_leave(hb_strings_mirror *mirror);

/** The table's bytes as they are now, to *end; they do not change or move. From offset 8 on. */
const char *hb_strings_table(uint64_t *end);
/** As many bytes from `from` on as are whole strings and at most `most`, or one string. */
uint64_t hb_strings_whole(uint64_t from, uint64_t end, uint64_t most);

/** The string at `entry` in a copy of the table; {NULL, 0} when it does not fit in `available`. */
hb_str hb_strings_read(const char *entry, uint64_t available);

/** The offset of an id in the table. */
static inline uint64_t hb_strings_offset(uint32_t id)
{
    return (uint64_t)id * 8;
}

/** In a forked child: nobody holds the lock, nobody follows. */
void hb_strings_after_fork(void);

#endif
