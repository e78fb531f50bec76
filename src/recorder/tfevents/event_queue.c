/* SPDX-License-Identifier: MIT */
#include "tfevents/event_queue.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/lock.h"

#define UNIT      sizeof(uint64_t)
#define MIN_BYTES ((uint64_t)64 << 10)
#define MAX_BYTES ((uint64_t)16 << 30)

/* A record's first unit, its header: its size in units, header and all, above its kind. Zero until
 * the record is published. */
#define KIND_BITS 16
#define KIND_SKIP 0 /* the rest of the ring, too small for the record that came next */

static uint32_t head_of(uint64_t state)
{
    return (uint32_t)(state >> 32);
}

static uint32_t tail_of(uint64_t state)
{
    return (uint32_t)state;
}

static uint64_t make_state(uint32_t head, uint32_t tail)
{
    return (uint64_t)head << 32 | tail;
}

static uint64_t make_header(uint32_t units, uint16_t kind)
{
    return (uint64_t)units << KIND_BITS | kind;
}

static uint64_t *at(const hb_event_queue *queue, uint32_t position)
{
    return queue->ring + (position & (queue->units - 1));
}

hb_result hb_event_queue_init(hb_event_queue *queue, uint64_t bytes)
{
    uint64_t size = MIN_BYTES;
    while (size < bytes && size < MAX_BYTES && 2 * size <= hb_affordable(MAX_BYTES))
        size *= 2;
    void *ring = mmap(NULL, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ring == MAP_FAILED)
        return hb_fail_errno(HB_ERROR_NO_MEMORY, errno, "event queue of %llu bytes",
                             (unsigned long long)size);
    *queue = (hb_event_queue){.ring = ring, .units = (uint32_t)(size / UNIT)};
    return HB_OK;
}

void hb_event_queue_free(hb_event_queue *queue)
{
    if (queue->ring) munmap(queue->ring, (size_t)queue->units * UNIT);
    queue->ring = NULL;
}

void hb_event_queue_reset(hb_event_queue *queue)
{
    madvise(queue->ring, (size_t)queue->units * UNIT, MADV_DONTNEED); /* zero again */
    __atomic_store_n(&queue->state, 0, __ATOMIC_RELEASE);
}

/* Units that a record of `units` has to leave unused so as not to straddle the ring's end. */
static uint32_t skip_before(const hb_event_queue *queue, uint32_t tail, uint32_t units)
{
    uint32_t left = queue->units - (tail & (queue->units - 1));
    return units <= left ? 0 : left;
}

void *hb_event_queue_claim(hb_event_queue *queue, size_t size, uint64_t *pending)
{
    if (size > (size_t)queue->units / 2 * UNIT) return NULL;
    uint32_t units = (uint32_t)(1 + (size + UNIT - 1) / UNIT);
    uint64_t state = __atomic_load_n(&queue->state, __ATOMIC_RELAXED);
    uint32_t tail, skip, used;
    do {
        tail = tail_of(state);
        skip = skip_before(queue, tail, units);
        used = tail - head_of(state) + skip + units;
        if (used > queue->units) return NULL;
    } while (!__atomic_compare_exchange_n(&queue->state, &state,
                                          make_state(head_of(state), tail + skip + units), false,
                                          __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
    if (skip) __atomic_store_n(at(queue, tail), make_header(skip, KIND_SKIP), __ATOMIC_RELEASE);
    *pending = used * UNIT;
    return at(queue, tail + skip) + 1;
}

uint64_t hb_event_queue_pending(const hb_event_queue *queue)
{
    uint64_t state = __atomic_load_n(&queue->state, __ATOMIC_SEQ_CST);
    return (uint64_t)(tail_of(state) - head_of(state)) * UNIT;
}

void hb_event_queue_publish(void *record, size_t size, uint16_t kind)
{
    uint32_t units = (uint32_t)(1 + (size + UNIT - 1) / UNIT);
    __atomic_store_n((uint64_t *)record - 1, make_header(units, kind), __ATOMIC_RELEASE);
}

/* The header at `position`; 0 when a producer that is still filling its record, which is a matter
 * of nanoseconds, does not come to its end: the scheduler took the processor from it, or it is
 * gone. */
static uint64_t await_header(const hb_event_queue *queue, uint32_t position, int64_t *patience_us)
{
    uint64_t header;
    for (int64_t us = 20; (header = __atomic_load_n(at(queue, position), __ATOMIC_ACQUIRE)) == 0;
         us = HB_MIN(2 * us, 5000)) {
        if (*patience_us <= 0) break;
        hb_sleep_us(us);
        *patience_us -= us;
    }
    return header;
}

/* Zeroes [from, to) and gives it back to the producers. */
static void release(hb_event_queue *queue, uint32_t from, uint32_t to)
{
    uint32_t units = to - from;
    uint32_t before_end = HB_MIN(units, queue->units - (from & (queue->units - 1)));
    memset(at(queue, from), 0, before_end * UNIT);
    memset(queue->ring, 0, (units - before_end) * UNIT);
    /* What overflows the upper half is gone: the head wraps without touching the tail. */
    __atomic_fetch_add(&queue->state, (uint64_t)units << 32, __ATOMIC_RELEASE);
}

void hb_event_queue_drain(hb_event_queue *queue, void (*fn)(void *arg, uint16_t kind, void *record),
                          void *arg)
{
    uint64_t state = __atomic_load_n(&queue->state, __ATOMIC_ACQUIRE);
    uint32_t head = head_of(state), end = tail_of(state), position = head;
    int64_t patience_us = 100000;
    while (position != end) {
        uint64_t header = await_header(queue, position, &patience_us);
        if (header == 0) { /* the rest next time */
            if (position != head) release(queue, head, position);
            return;
        }
        uint16_t kind = (uint16_t)header;
        if (kind != KIND_SKIP) fn(arg, kind, at(queue, position) + 1);
        position += (uint32_t)(header >> KIND_BITS);
        if (position - head >= queue->units / 8 || position == end) {
            release(queue, head, position);
            head = position;
        }
    }
    state = make_state(end, end);
    __atomic_compare_exchange_n(&queue->state, &state, 0, false, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
}
