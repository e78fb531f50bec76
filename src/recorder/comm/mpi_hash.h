/* SPDX-License-Identifier: MIT
 *
 * FNV-1a: what all ranks make the same number of, whatever machine they run on.
 */
#ifndef HB_COMM_MPI_HASH_H
#define HB_COMM_MPI_HASH_H

#include <stddef.h>
#include <stdint.h>

#define HB_MPI_HASH_SEED UINT64_C(0xcbf29ce484222325)

/** `seed`: HB_MPI_HASH_SEED, or what was made of the bytes before. */
static inline uint64_t hb_mpi_hash(uint64_t seed, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        seed = (seed ^ at[i]) * UINT64_C(0x100000001b3);
    return seed;
}

#endif
