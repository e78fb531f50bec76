/* SPDX-License-Identifier: MIT
 *
 * MPI's datatypes: torch's word for them, and their size.
 */
#ifndef HB_COMM_MPI_TYPES_H
#define HB_COMM_MPI_TYPES_H

#include <hipboard/hipboard.h>
#include <stdatomic.h>

#include "comm/mpi_abi.h"

typedef struct hb_mpi_type {
    hb_dtype dtype; /* HB_NONE: none that torch has, or a derived one */
    int64_t size;   /* bytes of one; 0: not known */
} hb_mpi_type;

/** Of MPI's own types, which never change: the handle is released after the rest. */
typedef struct hb_mpi_known_type {
    _Atomic hb_word handle;
    hb_mpi_type type;
} hb_mpi_known_type;
#define HB_MPI_TYPE_BITS 8
extern hb_mpi_known_type hb_mpi_known_types[1 << HB_MPI_TYPE_BITS];

static inline hb_mpi_known_type *hb_mpi_type_place(hb_word handle)
{
    return &hb_mpi_known_types[((uint64_t)handle * UINT64_C(0x9E3779B97F4A7C15)) >>
                               (64 - HB_MPI_TYPE_BITS)];
}

hb_mpi_type hb_mpi_type_asked(hb_word handle);

static inline hb_mpi_type hb_mpi_type_of(hb_word handle)
{
    handle = hb_mpi_by_value(handle);
    const hb_mpi_known_type *known = hb_mpi_type_place(handle);
    bool is = handle && atomic_load_explicit(&known->handle, memory_order_acquire) == handle;
    return is ? known->type : hb_mpi_type_asked(handle);
}

#endif
