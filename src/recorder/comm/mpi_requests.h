/* SPDX-License-Identifier: MIT
 *
 * Requests from their start to their completion, by their handles. No locks: any thread may
 * complete what another began. MPI gives many requests that were complete at once one handle, so a
 * handle may be there more than once.
 */
#ifndef HB_COMM_MPI_REQUESTS_H
#define HB_COMM_MPI_REQUESTS_H

#include <hipboard/comm.h>

#include "comm/mpi_abi.h"

typedef struct hb_mpi_request {
    hb_site *site;     /* of the call that began it */
    uint64_t flow;     /* of the arrow to its completion; 0: it is not under way, or not recorded */
    hb_comm_info info; /* a communication's; for receives what was asked for */
    hb_word type;      /* of its elements */
    bool receives, persistent;
} hb_mpi_request;

/** False when there is no room near its place: then it is not followed. */
bool hb_mpi_request_put(hb_word handle, const hb_mpi_request *request);

/** A request that is complete: forgotten, but for persistent ones, whose flow is. */
bool hb_mpi_request_complete(hb_word handle, hb_mpi_request *request);

/** A persistent one is started again: its flow is set. */
bool hb_mpi_request_start(hb_word handle, uint64_t flow, hb_mpi_request *request);

void hb_mpi_request_forget(hb_word handle);

/** Whether there is any. */
bool hb_mpi_requests_are_followed(void);

#endif
