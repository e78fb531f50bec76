/* SPDX-License-Identifier: MIT */
#include "record/pool.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/address_space.h"

#define LEAST_CHUNKS 16u

/* Where all memory is committed when it is mapped, what is only set aside would be taken from the
 * program. */
#define MOST_WHERE_COMMITTED 1024u /* chunks: 64 MiB */

static bool is_committed_at_once(void)
{
    char mode;
    FILE *f = fopen("/proc/sys/vm/overcommit_memory", "re");
    bool is = f && fread(&mode, 1, 1, f) == 1 && mode == '2';
    if (f) fclose(f);
    return is;
}

/* Aligned, so that a record's address tells its chunk. */
static char *map_chunks(hb_chunk_pool *pool, uint32_t count)
{
    pool->mapped = ((size_t)count + 1) * HB_CHUNK_BYTES;
    char *p = hb_address_space(pool->mapped, PROT_NONE);
    if (!p) return NULL;
    size_t skip = (HB_CHUNK_BYTES - (uintptr_t)p % HB_CHUNK_BYTES) % HB_CHUNK_BYTES;
    if (skip) munmap(p, skip);
    munmap(p + skip + (size_t)count * HB_CHUNK_BYTES, HB_CHUNK_BYTES - skip);
    pool->mapped = (size_t)count * HB_CHUNK_BYTES;
    return p + skip;
}

static bool map_lists(hb_chunk_pool *pool, uint32_t count)
{
    pool->lists_bytes =
        (size_t)count * (sizeof *pool->next + sizeof *pool->uses + sizeof *pool->state);
    char *p = hb_address_space(pool->lists_bytes, PROT_READ | PROT_WRITE);
    if (!p) return false;
    pool->lists = p;
    pool->next = (_Atomic uint32_t *)p;
    pool->state = (_Atomic uint32_t *)(pool->next + count);
    pool->uses = (_Atomic uint16_t *)(pool->state + count);
    return true;
}

static bool set_up(hb_chunk_pool *pool, uint32_t count, uint32_t most_in_file)
{
    uint32_t first = most_in_file + 1;
    pool->max_chunks = count;
    pool->first_in_memory = first;
    atomic_store(&pool->fresh, first);
    pool->base = map_chunks(pool, count);
    if (pool->base && map_lists(pool, count) &&
        mprotect(pool->base + (size_t)first * HB_CHUNK_BYTES,
                 (size_t)(count - first) * HB_CHUNK_BYTES, PROT_READ | PROT_WRITE) == 0)
        return true;
    hb_pool_close(pool);
    return false;
}

hb_result hb_pool_open(hb_chunk_pool *pool, uint32_t max_chunks, uint32_t most_in_file)
{
    *pool = (hb_chunk_pool){0};
    if (is_committed_at_once()) max_chunks = HB_MIN(max_chunks, MOST_WHERE_COMMITTED);
    /* One more, since there is no chunk 0, and of those in the file some are never used. */
    for (uint32_t n = HB_MAX(max_chunks, LEAST_CHUNKS); n >= LEAST_CHUNKS; n /= 2)
        if (set_up(pool, n + 1, HB_MIN(most_in_file, n / 2))) return HB_OK;
    return hb_fail_errno(HB_ERROR_NO_MEMORY, errno, "no memory for records");
}

void hb_pool_close(hb_chunk_pool *pool)
{
    if (pool->base) munmap(pool->base, pool->mapped);
    if (pool->lists) munmap(pool->lists, pool->lists_bytes);
    *pool = (hb_chunk_pool){0};
}

static void push(hb_chunk_pool *pool, _Atomic uint64_t *stack, uint32_t index)
{
    uint64_t head = atomic_load_explicit(stack, memory_order_relaxed), mine;
    do {
        atomic_store_explicit(&pool->next[index], (uint32_t)head, memory_order_relaxed);
        mine = ((head >> 32) + 1) << 32 | index;
    } while (!atomic_compare_exchange_weak_explicit(stack, &head, mine, memory_order_release,
                                                    memory_order_relaxed));
}

static uint32_t pop(hb_chunk_pool *pool, _Atomic uint64_t *stack)
{
    uint64_t head = atomic_load_explicit(stack, memory_order_acquire), rest;
    do {
        if ((uint32_t)head == 0) return 0;
        uint32_t next = atomic_load_explicit(&pool->next[(uint32_t)head], memory_order_relaxed);
        rest = ((head >> 32) + 1) << 32 | next;
    } while (!atomic_compare_exchange_weak_explicit(stack, &head, rest, memory_order_acquire,
                                                    memory_order_acquire));
    return (uint32_t)head;
}

void hb_pool_add_in_file(hb_chunk_pool *pool, uint32_t count)
{
    uint32_t from = atomic_load(&pool->in_file) + 1;
    for (uint32_t i = from + count; i-- > from;)
        push(pool, &pool->file_stack, i);
    atomic_fetch_add(&pool->in_file, count);
    atomic_fetch_add(&pool->ready_in_file, count);
}

static uint32_t take(hb_chunk_pool *pool, uint32_t index)
{
    /* Partner of the one who looks for chunks to write: it sees what was there before no more. */
    __atomic_store_n(&hb_pool_chunk(pool, index)->kind, HB_CHUNK_FREE, __ATOMIC_RELEASE);
    atomic_fetch_add_explicit(&pool->uses[index], 1, memory_order_relaxed);
    atomic_store_explicit(&pool->state[index], hb_pool_taking(pool), memory_order_release);
    return index;
}

uint32_t hb_pool_take_in_file(hb_chunk_pool *pool)
{
    uint32_t index = pop(pool, &pool->file_stack);
    if (!index) return 0;
    atomic_fetch_sub_explicit(&pool->ready_in_file, 1, memory_order_relaxed);
    return take(pool, index);
}

/* Whether one more chunk in memory is within the limit; then it is counted. */
static bool may_use_memory(hb_chunk_pool *pool)
{
    uint32_t others = atomic_load_explicit(&pool->in_file, memory_order_relaxed) +
                      atomic_load_explicit(&pool->elsewhere, memory_order_relaxed);
    uint32_t used = atomic_fetch_add_explicit(&pool->in_memory, 1, memory_order_relaxed);
    if (others + used + 1 < pool->max_chunks) return true;
    atomic_fetch_sub_explicit(&pool->in_memory, 1, memory_order_relaxed);
    return false;
}

static uint32_t take_fresh(hb_chunk_pool *pool)
{
    uint32_t index = atomic_load_explicit(&pool->fresh, memory_order_relaxed);
    while (index < pool->max_chunks)
        if (atomic_compare_exchange_weak(&pool->fresh, &index, index + 1)) return index;
    return 0;
}

uint32_t hb_pool_take(hb_chunk_pool *pool)
{
    uint32_t index = pop(pool, &pool->file_stack);
    if (index) {
        atomic_fetch_sub_explicit(&pool->ready_in_file, 1, memory_order_relaxed);
        return take(pool, index);
    }
    if (!may_use_memory(pool)) return 0;
    index = pop(pool, &pool->memory_stack);
    if (!index) index = take_fresh(pool);
    if (index) return take(pool, index);
    atomic_fetch_sub_explicit(&pool->in_memory, 1, memory_order_relaxed);
    return 0;
}

void hb_pool_give(hb_chunk_pool *pool, uint32_t index)
{
    __atomic_store_n(&hb_pool_chunk(pool, index)->kind, HB_CHUNK_FREE, __ATOMIC_RELEASE);
    atomic_store_explicit(&pool->state[index], HB_CHUNK_READY, memory_order_relaxed);
    if (hb_pool_is_in_file(pool, index)) {
        push(pool, &pool->file_stack, index);
        atomic_fetch_add_explicit(&pool->ready_in_file, 1, memory_order_relaxed);
    } else {
        push(pool, &pool->memory_stack, index);
        atomic_fetch_sub_explicit(&pool->in_memory, 1, memory_order_relaxed);
    }
}
