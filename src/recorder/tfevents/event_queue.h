/* SPDX-License-Identifier: MIT
 *
 * A bounded queue of small records from any number of threads to one, without locks.
 *
 * A ring of bytes. A producer claims space by one compare-and-swap, fills it, and then stores the
 * record's header, which makes it visible. Until then the header names the thread, so that the
 * consumer sees where one is still being filled, and where nobody fills it any more. Positions
 * count 8-byte units and wrap at 2^32; head and tail share one word, so that a claim sees both at
 * the same moment.
 *
 * Whenever the queue runs empty it starts again at the ring's beginning: of a big ring only so much
 * memory is ever touched as was once pending.
 */
#ifndef HB_TFEVENTS_EVENT_QUEUE_H
#define HB_TFEVENTS_EVENT_QUEUE_H

#include "base/base.h"

enum { HB_EVENT_QUEUE_HOLES = 8 };

/** A part of the ring that is not used any more: its thread may still come back and fill it. */
typedef struct hb_event_hole {
    uint32_t offset, units;
} hb_event_hole;

typedef struct hb_event_queue {
    uint64_t *ring;
    uint32_t units;              /* a power of two */
    _Alignas(64) uint64_t state; /* head in the upper half, tail in the lower */
    uint32_t num_holes;          /* the consumer's, which publishes them by it; by offset */
    hb_event_hole holes[HB_EVENT_QUEUE_HOLES];
    uint32_t blocked_at; /* the consumer's: a position that is not filled, */
    uint32_t blocked;    /* in so many drains */
} hb_event_queue;

/** Takes address space for `bytes`, rounded up to a power of two from 64 KiB to 16 GiB. */
hb_result hb_event_queue_init(hb_event_queue *queue, uint64_t bytes);
void hb_event_queue_free(hb_event_queue *queue);

/** Forgets all records. No other thread may use the queue meanwhile. */
void hb_event_queue_reset(hb_event_queue *queue);

/** Space for `size` bytes, aligned to 8; NULL when the queue is too full. To be filled and
 * published at once: the consumer waits for it, though not for ever. `pending`: the bytes in the
 * queue with these. */
void *hb_event_queue_claim(hb_event_queue *queue, size_t size, uint64_t *pending);

/** Hands a claimed record of `size` bytes over. `kind` is neither 0 nor 0xffff. */
void hb_event_queue_publish(void *record, size_t size, uint16_t kind);

/** Calls `fn` for all that was claimed before the call, in order of the claims, up to one that is
 * not published for 100 ms: that and what follows it stays. Not those whose thread has ended, or
 * has left the call by siglongjmp() and claimed again, nor one that kept 10 drains waiting: its
 * place in the ring is left alone from then on, up to HB_EVENT_QUEUE_HOLES such. Returns how many
 * they are. One thread only. */
uint64_t hb_event_queue_drain(hb_event_queue *queue,
                              void (*fn)(void *arg, uint16_t kind, void *record), void *arg);

/** Whether the last drain ended before one that is not published, and the next ones will pass it
 * over if that stays so. */
bool hb_event_queue_may_go_on(const hb_event_queue *queue);

/** In a forked child, by its only thread. */
void hb_event_queue_thread_forked(void);

/** Bytes that are claimed and not yet drained. */
uint64_t hb_event_queue_pending(const hb_event_queue *queue);

#endif
