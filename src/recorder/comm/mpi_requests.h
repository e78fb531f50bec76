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
    _Atomic hb_word key; /* its handle, or what stands for none; released by who lets go of the
                            rest, acquired by who takes it */
    hb_site *site;       /* of the call that began it */
    uint64_t flow;     /* of the arrow to its completion; 0: it is not under way, or not recorded */
    hb_comm_info info; /* a communication's; for receives what was asked for */
    hb_word type;      /* of its elements */
    bool receives, persistent;
    bool is_cancelled; /* it was asked for that: its status tells whether it is */
} hb_mpi_request;

/** A place for a new one, to be filled in, and then known by its handle. NULL when there is no room
 * near its place: then it is not followed. */
hb_mpi_request *hb_mpi_request_new(hb_word handle);
void hb_mpi_request_known(hb_mpi_request *request, hb_word handle);

/** One of that handle, for the caller alone until it lets go of it; NULL: there is none. */
hb_mpi_request *hb_mpi_request_take(hb_word handle);
/** `handle`: by which it is known further on; 0: it is forgotten. */
void hb_mpi_request_let_go(hb_mpi_request *request, hb_word handle);

/** Whether there is any. */
bool hb_mpi_requests_are_followed(void);

#endif
