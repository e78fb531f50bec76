/* SPDX-License-Identifier: MIT */
#include "allocator.h"

#include "die.h"
#include "report.h"

#include <pthread.h>

/* Block sizes are powers of two from 256 bytes up to 1 GiB. */
enum { SMALLEST_SHIFT = 8, LARGEST_SHIFT = 30, NUM_LISTS = LARGEST_SHIFT - SMALLEST_SHIFT + 1 };

/* A stack of waiting blocks. It stands outside the blocks: device memory could not hold it. */
struct waiting {
    void **blocks;
    size_t count, capacity;
};

struct allocator {
    struct memory_source source;
    pthread_mutex_t lock;
    struct allocator_totals totals;
    struct waiting waiting[NUM_LISTS];
};

static unsigned list_of(size_t bytes)
{
    unsigned list = 0;
    while (list < NUM_LISTS && ((size_t)1 << (SMALLEST_SHIFT + list)) < bytes)
        list++;
    return list;
}

static int64_t block_bytes(unsigned list)
{
    return (int64_t)1 << (SMALLEST_SHIFT + list);
}

struct allocator *allocator_create(const struct memory_source *source)
{
    struct allocator *allocator = calloc(1, sizeof *allocator);
    if (!allocator) die("out of memory for an allocator");
    allocator->source = *source;
    pthread_mutex_init(&allocator->lock, NULL);
    return allocator;
}

void allocator_destroy(struct allocator *allocator)
{
    for (unsigned list = 0; list < NUM_LISTS; list++) {
        struct waiting *waiting = &allocator->waiting[list];
        while (waiting->count > 0)
            allocator->source.release(waiting->blocks[--waiting->count]);
        free(waiting->blocks);
    }
    pthread_mutex_destroy(&allocator->lock);
    free(allocator);
}

/* Called under the lock, so that the totals of events rise and fall in the order of their times. */
static void tell(struct allocator *allocator, const void *block, int64_t change, bool failed)
{
    const struct allocator_totals *totals = &allocator->totals;
    hb_memory_report(&(hb_memory_info){
        .device_type = allocator->source.device_type,
        .device_id = allocator->source.device_id,
        .addr = block,
        .bytes = change,
        .total_allocated = totals->allocated,
        .total_reserved = totals->reserved,
        .out_of_memory = failed,
    });
    report_memory(allocator->source.device_type, change, totals->allocated, totals->reserved);
}

static void *obtain(struct allocator *allocator, unsigned list)
{
    struct waiting *waiting = &allocator->waiting[list];
    if (waiting->count > 0) return waiting->blocks[--waiting->count];
    void *block = allocator->source.obtain((size_t)block_bytes(list));
    if (block) allocator->totals.reserved += block_bytes(list);
    return block;
}

void *allocator_take(struct allocator *allocator, size_t bytes)
{
    unsigned list = list_of(bytes);
    pthread_mutex_lock(&allocator->lock);
    void *block = list < NUM_LISTS ? obtain(allocator, list) : NULL;
    if (block) allocator->totals.allocated += (int64_t)bytes;
    tell(allocator, block, (int64_t)bytes, !block);
    pthread_mutex_unlock(&allocator->lock);
    if (!block) die("out of memory for a tensor of %zu bytes", bytes);
    return block;
}

static void keep(struct waiting *waiting, void *block)
{
    if (waiting->count == waiting->capacity) {
        waiting->capacity = waiting->capacity ? 2 * waiting->capacity : 8;
        waiting->blocks = realloc(waiting->blocks, waiting->capacity * sizeof *waiting->blocks);
        if (!waiting->blocks) die("out of memory for the list of %zu free blocks", waiting->count);
    }
    waiting->blocks[waiting->count++] = block;
}

void allocator_give(struct allocator *allocator, void *block, size_t bytes)
{
    if (!block) return;
    pthread_mutex_lock(&allocator->lock);
    allocator->totals.allocated -= (int64_t)bytes;
    tell(allocator, block, -(int64_t)bytes, false);
    keep(&allocator->waiting[list_of(bytes)], block);
    pthread_mutex_unlock(&allocator->lock);
}

struct allocator_totals allocator_totals(struct allocator *allocator)
{
    pthread_mutex_lock(&allocator->lock);
    struct allocator_totals totals = allocator->totals;
    pthread_mutex_unlock(&allocator->lock);
    return totals;
}
