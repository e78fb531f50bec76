/* SPDX-License-Identifier: MIT
 *
 * A call of MPI on its way through: what is seen of its arguments before it is passed on, and of
 * its results behind it.
 */
#ifndef HB_COMM_MPI_VISIT_H
#define HB_COMM_MPI_VISIT_H

#include <stdatomic.h>

#include <hipboard/comm.h>

#include "comm/mpi_abi.h"
#include "comm/mpi_communicators.h"

enum hb_mpi_kind { HB_MPI_OTHER, HB_MPI_MESSAGE, HB_MPI_COLLECTIVE };
enum hb_mpi_mode { HB_MPI_NONE, HB_MPI_COUNT, HB_MPI_EACH, HB_MPI_LIST };
enum hb_mpi_use { HB_MPI_NO_REQUEST, HB_MPI_STARTS, HB_MPI_KEEPS };

/** Elements: a count or an array of counts, and their type; places of arguments. */
typedef struct hb_mpi_elements {
    uint8_t mode, count, type;
} hb_mpi_elements;

/** A row of mpi_calls.def. */
typedef struct hb_mpi_call {
    const char *name;
    uint8_t kind, status; /* status: of a receive; 0: none */
    uint8_t buffer;       /* that may be IN_PLACE */
    hb_mpi_elements in, out;
    uint8_t dest, source, tag, comm;
    uint8_t root_of_in, root_of_out; /* who has no root tells nothing of it */
    uint8_t use, request;
} hb_mpi_call;

/** Of one call while it runs. */
typedef struct hb_mpi_visit {
    hb_scope scope;
    hb_comm_info info;
    hb_site *site;
    hb_mpi_comm *comm; /* NULL: none that is known */
    hb_word type;      /* of what is received */
    hb_word status[8];
} hb_mpi_visit;

/** The calls of MPI that this thread is in: those within one are MPI's own. */
extern __thread int hb_mpi_depth __attribute__((tls_model("initial-exec")));

/** MPI has begun and has not ended, and it is one that is known. Set by one thread, as MPI asks of
 * programs; orders nothing. */
extern atomic_bool hb_mpi_runs;

static inline bool hb_mpi_looks(void)
{
    return hb_mpi_depth == 0 && atomic_load_explicit(&hb_mpi_runs, memory_order_relaxed);
}

static inline hb_word hb_mpi_argument(const hb_word *args, uint8_t place)
{
    return place ? args[place - 1] : 0;
}

/** Behind a call that was entered by comm/mpi_enter.h. */
void hb_mpi_leave(hb_mpi_visit *visit, const hb_mpi_call *call, const hb_word *args, int result);

/** A number for an arrow from a request's start to its completion. */
uint64_t hb_mpi_next_flow(void);

/** What a status tells of a receive of elements of `type`, into `info`. */
void hb_mpi_read_status(hb_comm_info *info, hb_word status, hb_word type);

#endif
