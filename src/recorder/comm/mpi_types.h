/* SPDX-License-Identifier: MIT
 *
 * MPI's datatypes: torch's word for them, and their size.
 */
#ifndef HB_COMM_MPI_TYPES_H
#define HB_COMM_MPI_TYPES_H

#include <hipboard/hipboard.h>

#include "comm/mpi_abi.h"

typedef struct hb_mpi_type {
    hb_dtype dtype; /* HB_NONE: none that torch has, or a derived one */
    int64_t size;   /* bytes of one; 0: not known */
} hb_mpi_type;

hb_mpi_type hb_mpi_type_of(hb_word handle);

#endif
