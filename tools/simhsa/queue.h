/* SPDX-License-Identifier: MIT
 *
 * Hardware queues: rings of AQL packets, each drained by a thread of its own.
 */
#ifndef SIM_QUEUE_H
#define SIM_QUEUE_H

#include "agent.h"
#include "signals.h"

#include <pthread.h>

#define SIM_PACKET_SIZE 64

typedef void (*sim_queue_error_fn)(hsa_status_t status, hsa_queue_t *queue, void *data);

/* An hsa_queue_t is its first member. The thread owns all that is not said to be atomic. */
typedef struct sim_queue {
    amd_queue_t amd; /* write_dispatch_id and read_dispatch_id are atomic */
    struct sim_queue *next;
    sim_agent *agent;
    sim_queue_error_fn on_error;
    void *error_data;
    pthread_t thread;
    bool stop; /* atomic */

    /* The simulated clock of the queue. It may lag behind the real one, when the thread wakes late
     * from a sleep, and catches up: packets that were there in time run as if nothing had happened.
     */
    uint64_t free_at_ns;    /* end of the last packet */
    uint64_t noticed;       /* packets below this index have been seen in the ring ... */
    uint64_t noticed_at_ns; /* ... at this time */
} sim_queue;

static inline char *sim_queue_slot(const sim_queue *queue, uint64_t index)
{
    return (char *)queue->amd.hsa_queue.base_address +
           (index & (queue->amd.hsa_queue.size - 1)) * SIM_PACKET_SIZE;
}

/** Looks which packets have come since last time and takes down when. */
void sim_queue_notice(sim_queue *queue);

/** Processes the packet in `slot` to its end in simulated time. The status of a queue error when
 * the queue cannot go on. `*done` gets the packet's completion signal, `*begin_ns` and `*end_ns`
 * its times. */
hsa_status_t sim_packet_process(sim_queue *queue, const char *slot, hsa_signal_t *done,
                                uint64_t *begin_ns, uint64_t *end_ns);

/** Ends the threads of all queues; the queues themselves stay until hsa_queue_destroy(). */
void sim_queues_stop(void);

#endif
