/* SPDX-License-Identifier: MIT
 *
 * A caching allocator as training frameworks have: memory comes from the device once, in blocks of
 * a few sizes, and freed blocks wait in a list for the next tensor of their size. Since a training
 * step asks for the same sizes again and again, only the first step pays for real allocations.
 *
 * Each take and give is reported to the profiler, which makes the Memory view. All functions may be
 * called from any thread.
 */
#ifndef DIGITS_ALLOCATOR_H
#define DIGITS_ALLOCATOR_H

#include <hipboard/hipboard.h>

/** Where an allocator's memory comes from and how traces name the place. */
struct memory_source {
    hb_device_type device_type;
    int32_t device_id;
    void *(*obtain)(size_t bytes); /* NULL when there is no more */
    void (*release)(void *block);
};

struct allocator_totals {
    int64_t allocated; /* bytes in use, as asked for */
    int64_t reserved;  /* bytes obtained from the source: in use, rounded up or waiting */
};

struct allocator;

struct allocator *allocator_create(const struct memory_source *source);

/** Gives everything back to the source. */
void allocator_destroy(struct allocator *allocator);

/** At least `bytes` bytes of uninitialised memory, aligned for vectors. Ends the program when there
 * is none. */
void *allocator_take(struct allocator *allocator, size_t bytes);

/** `bytes` as they were asked for. */
void allocator_give(struct allocator *allocator, void *block, size_t bytes);

struct allocator_totals allocator_totals(struct allocator *allocator);

#endif
