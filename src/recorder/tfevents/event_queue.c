/* SPDX-License-Identifier: MIT */
#include "tfevents/event_queue.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/address_space.h"
#include "base/lock.h"

#define UNIT      sizeof(uint64_t)
#define MIN_BYTES ((uint64_t)64 << 10)
#define MAX_BYTES ((uint64_t)16 << 30)

/* A record's first unit, its header: its size in units, header and all, above its kind. While it is
 * being filled: CLAIMED, whose thread fills it, and the size. Zero for the moment between. */
#define KIND_BITS  16
#define KIND_SKIP  0      /* the rest of the ring, too small for the record that came next */
#define KIND_LOST  0xffff /* its thread will not fill it */
#define CLAIMED    (UINT64_C(1) << 63)
#define UNITS_BITS 31
#define UNITS_MASK ((UINT64_C(1) << UNITS_BITS) - 1)

#define PATIENCE_US 100000 /* of one drain */
#define PATIENCE    10     /* drains */

/* The record that this thread fills, or filled when a signal handler left the call by siglongjmp():
 * it is told from one that a handler merely interrupted by where it was on the stack. initial-exec:
 * a call inside of malloc() must not allocate thread-local memory. */
static __thread struct {
    uint64_t *header; /* or NULL */
    const void *frame;
    pid_t tid;
} mine __attribute__((tls_model("initial-exec")));

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

static uint64_t make_claimed(uint32_t units)
{
    return CLAIMED | (uint64_t)(uint32_t)mine.tid << UNITS_BITS | units;
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
    void *ring = hb_address_space(size, PROT_READ | PROT_WRITE);
    if (!ring)
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
    queue->num_holes = queue->blocked = 0;
    __atomic_store_n(&queue->state, 0, __ATOMIC_RELEASE);
}

/* ---- holes ---- */

/* The hole that begins at `offset` or first behind it; NULL when there is none up to the ring's
 * end. */
static const hb_event_hole *next_hole(const hb_event_queue *queue, uint32_t offset)
{
    uint32_t n = __atomic_load_n(&queue->num_holes, __ATOMIC_ACQUIRE);
    const hb_event_hole *nearest = NULL;
    for (uint32_t i = 0; i < n; i++) {
        const hb_event_hole *h = &queue->holes[i];
        if (h->offset >= offset && (!nearest || h->offset < nearest->offset)) nearest = h;
    }
    return nearest;
}

/* The units from `tail` up to where a record of `units` neither straddles the ring's end nor a
 * hole. `claimed`: says so to the consumer, who sees holes by itself. */
static uint32_t skip_before(const hb_event_queue *queue, uint32_t tail, uint32_t units,
                            bool claimed)
{
    uint32_t skip = 0;
    while (skip < queue->units) {
        uint32_t offset = (tail + skip) & (queue->units - 1);
        const hb_event_hole *hole = next_hole(queue, offset);
        uint32_t room = (hole ? hole->offset : queue->units) - offset;
        if (units <= room) break;
        if (claimed && room)
            __atomic_store_n(at(queue, tail + skip), make_header(room, KIND_SKIP),
                             __ATOMIC_RELEASE);
        skip += room + (hole ? hole->units : 0);
    }
    return skip;
}

static bool on_alternate_stack(void)
{
    stack_t stack;
    return sigaltstack(NULL, &stack) == 0 && (stack.ss_flags & SS_ONSTACK);
}

/* The call that claimed a record before is gone unless this one's frame is below its frame by what
 * the kernel puts between a function and its signal's handler at least. */
static HB_COLD void give_up_what_was_left(const void *frame)
{
    enum { SIGNAL_FRAME = 512 };
    if ((uintptr_t)frame + SIGNAL_FRAME < (uintptr_t)mine.frame || on_alternate_stack()) return;
    uint64_t header = __atomic_load_n(mine.header, __ATOMIC_RELAXED);
    uint64_t claimed = make_claimed((uint32_t)(header & UNITS_MASK));
    if (header == claimed)
        __atomic_store_n(mine.header, make_header((uint32_t)(header & UNITS_MASK), KIND_LOST),
                         __ATOMIC_RELEASE);
    mine.header = NULL;
}

void hb_event_queue_thread_forked(void)
{
    mine.header = NULL;
    mine.tid = 0;
}

void *hb_event_queue_claim(hb_event_queue *queue, size_t size, uint64_t *pending)
{
    if (size > (size_t)queue->units / 2 * UNIT) return NULL;
    const void *frame = __builtin_dwarf_cfa();
    if (HB_UNLIKELY(mine.header)) give_up_what_was_left(frame);
    if (HB_UNLIKELY(!mine.tid)) mine.tid = gettid();
    uint32_t units = (uint32_t)(1 + (size + UNIT - 1) / UNIT);
    /* Acquire: with the release of what is behind a new hole. */
    uint64_t state = __atomic_load_n(&queue->state, __ATOMIC_ACQUIRE);
    uint32_t tail, skip, used;
    do {
        tail = tail_of(state);
        skip = skip_before(queue, tail, units, false);
        used = tail - head_of(state) + skip + units;
        if (used > queue->units) return NULL;
    } while (!__atomic_compare_exchange_n(&queue->state, &state,
                                          make_state(head_of(state), tail + skip + units), false,
                                          __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
    uint64_t *header = at(queue, tail + skip);
    __atomic_store_n(header, make_claimed(units), __ATOMIC_RELEASE);
    if (skip) (void)skip_before(queue, tail, units, true);
    *pending = used * UNIT;
    if (!mine.header) { /* else a handler's: the call that it interrupted goes on */
        mine.frame = frame;
        mine.header = header;
    }
    return header + 1;
}

uint64_t hb_event_queue_pending(const hb_event_queue *queue)
{
    uint64_t state = __atomic_load_n(&queue->state, __ATOMIC_SEQ_CST);
    return (uint64_t)(tail_of(state) - head_of(state)) * UNIT;
}

void hb_event_queue_publish(void *record, size_t size, uint16_t kind)
{
    uint32_t units = (uint32_t)(1 + (size + UNIT - 1) / UNIT);
    uint64_t *header = (uint64_t *)record - 1;
    if (mine.header == header) mine.header = NULL;
    /* Also in a hole, of which nobody reads it. */
    __atomic_store_n(header, make_header(units, kind), __ATOMIC_RELEASE);
}

/* Whether the thread that was to fill a record has ended, by pthread_cancel() for instance. */
static bool is_orphaned(uint64_t header)
{
    pid_t tid = (pid_t)((header & ~CLAIMED) >> UNITS_BITS);
    return (header & CLAIMED) && syscall(SYS_tgkill, getpid(), tid, 0) != 0 && errno == ESRCH;
}

/* Perhaps it was filled just before that. */
static uint64_t header_of_orphan(const uint64_t *at)
{
    uint64_t header = __atomic_load_n(at, __ATOMIC_ACQUIRE);
    return header & CLAIMED ? make_header((uint32_t)(header & UNITS_MASK), KIND_LOST) : header;
}

/* The header at `position`; 0 when a producer that is still filling its record, which is a matter
 * of nanoseconds, does not come to its end: the scheduler took the processor from it, or it is
 * gone. */
static uint64_t await_header(const hb_event_queue *queue, uint32_t position, int64_t *patience_us)
{
    const uint64_t *from = at(queue, position);
    for (int64_t us = 20;; us = HB_MIN(2 * us, 5000)) {
        uint64_t header = __atomic_load_n(from, __ATOMIC_ACQUIRE);
        if (header != 0 && !(header & CLAIMED)) return header;
        if (is_orphaned(header)) return header_of_orphan(from);
        if (*patience_us <= 0) return 0;
        hb_sleep_us(us);
        *patience_us -= us;
    }
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

/* Where the next header stands, of a claim that has none yet: its thread may have been stopped, or
 * have ended, before it stored it. All up to there is zero. */
static uint32_t end_of_unmarked(const hb_event_queue *queue, uint32_t position, uint32_t end)
{
    while (++position != end && (position & (queue->units - 1)))
        if (__atomic_load_n(at(queue, position), __ATOMIC_ACQUIRE)) break;
    return position;
}

/* Nobody came to fill this for so long that it had better be done without. Who comes after all
 * writes where nobody else does. False when it is waited for, on and on. */
static bool make_hole(hb_event_queue *queue, uint32_t position, uint32_t end)
{
    if (queue->blocked_at != position) queue->blocked = 0;
    queue->blocked_at = position;
    if (++queue->blocked < PATIENCE || queue->num_holes == HB_EVENT_QUEUE_HOLES) return false;
    uint64_t header = __atomic_load_n(at(queue, position), __ATOMIC_ACQUIRE);
    uint32_t units =
        header ? (uint32_t)(header & UNITS_MASK) : end_of_unmarked(queue, position, end) - position;
    if (header && !(header & CLAIMED)) return false; /* it has come just now */
    queue->holes[queue->num_holes] = (hb_event_hole){position & (queue->units - 1), units};
    __atomic_store_n(&queue->num_holes, queue->num_holes + 1, __ATOMIC_RELEASE);
    queue->blocked = 0;
    return true;
}

/* The units of the hole at `position`, or 0. */
static uint32_t hole_at(const hb_event_queue *queue, uint32_t position)
{
    uint32_t offset = position & (queue->units - 1);
    for (uint32_t i = 0; i < queue->num_holes; i++)
        if (queue->holes[i].offset == offset) return queue->holes[i].units;
    return 0;
}

uint64_t hb_event_queue_drain(hb_event_queue *queue,
                              void (*fn)(void *arg, uint16_t kind, void *record), void *arg)
{
    uint64_t lost = 0;
    uint64_t state = __atomic_load_n(&queue->state, __ATOMIC_ACQUIRE);
    uint32_t head = head_of(state), end = tail_of(state), position = head;
    int64_t patience_us = PATIENCE_US;
    while (position != end) {
        uint32_t hole = hole_at(queue, position);
        uint64_t header = hole ? 0 : await_header(queue, position, &patience_us);
        if (!hole && header == 0) {
            if (make_hole(queue, position, end)) {
                lost++;
                continue;
            }
            if (position != head) release(queue, head, position); /* the rest next time */
            return lost;
        }
        uint16_t kind = (uint16_t)header;
        queue->blocked = 0;
        if (kind == KIND_LOST)
            lost++;
        else if (!hole && kind != KIND_SKIP)
            fn(arg, kind, at(queue, position) + 1);
        position += hole ? hole : (uint32_t)(header >> KIND_BITS);
        if (position - head >= queue->units / 8 || position == end) {
            release(queue, head, position);
            head = position;
        }
    }
    state = make_state(end, end);
    __atomic_compare_exchange_n(&queue->state, &state, 0, false, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
    return lost;
}

bool hb_event_queue_may_go_on(const hb_event_queue *queue)
{
    return queue->blocked && queue->num_holes < HB_EVENT_QUEUE_HOLES;
}
