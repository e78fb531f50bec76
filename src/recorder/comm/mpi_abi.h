/* SPDX-License-Identifier: MIT
 *
 * MPI without its header: what differs between implementations is a table of numbers, of which one
 * row is chosen while the program runs. Every argument is a word: on 64-bit Linux each integer or
 * pointer has a register or 8 bytes of the stack of its own, so words are passed on unchanged and
 * cut to 32 bits only to look at them.
 */
#ifndef HB_COMM_MPI_ABI_H
#define HB_COMM_MPI_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef long hb_word;

typedef struct hb_mpi_abi {
    const char *name;
    unsigned handle_bytes;
    unsigned status_bytes, source_at, tag_at;
    hb_word in_place, status_ignore;
    int proc_null;
    hb_word request_null, type_null, comm_null, comm_world, comm_self;
    int thread_multiple;
    hb_word type_byte; /* 0: not known */
    /* Of a status: where its bytes stand, in so many bits, of which the lowest is another's where
     * they are in two parts. MPI's own affair, so they are held against what MPI says of the first
     * ones. bytes_bits 0: not known. */
    unsigned bytes_at, bytes_bits;
} hb_mpi_abi;

/** The program's; chosen by the first call that asks hb_mpi_is_known(). */
extern hb_mpi_abi hb_mpi;

/** The program may be in several calls at once. Set when MPI has begun, before it can be. */
extern bool hb_mpi_is_concurrent;

/** False: no MPI that is known here; hb_mpi_why_not() says why, and no call may be looked into. Any
 * thread. */
bool hb_mpi_is_known(void);
const char *hb_mpi_why_not(void);

/** From now on no call is looked into; `why` is a constant text. */
void hb_mpi_give_up(const char *why);

/** The function of that name behind this library's: MPI's, or that of another tool. Ends the
 * program, as the loader would, when there is none. */
void *hb_mpi_real(const char *name);

/** The i-th handle of an array of the program's. */
static inline hb_word hb_mpi_handle(hb_word array, long i)
{
    return hb_mpi.handle_bytes == 4 ? (hb_word)((const uint32_t *)array)[i]
                                    : ((const hb_word *)array)[i];
}

/** A handle as the program passes it by value: of integers the upper half means nothing. */
static inline hb_word hb_mpi_by_value(hb_word word)
{
    return hb_mpi.handle_bytes == 4 ? (hb_word)(uint32_t)word : word;
}

static inline int hb_mpi_int(hb_word pointer, unsigned offset)
{
    return *(const int *)((const char *)pointer + offset);
}

#endif
