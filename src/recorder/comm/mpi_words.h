/* SPDX-License-Identifier: MIT
 *
 * Lists of words, as parameters (HB_P3), as arguments (HB_A3) and as those of an array (HB_E3); and
 * what exports a call under both of its names.
 */
#ifndef HB_COMM_MPI_WORDS_H
#define HB_COMM_MPI_WORDS_H

#include "comm/mpi_abi.h"

#define HB_P1  hb_word a
#define HB_P2  HB_P1, hb_word b
#define HB_P3  HB_P2, hb_word c
#define HB_P4  HB_P3, hb_word d
#define HB_P5  HB_P4, hb_word e
#define HB_P6  HB_P5, hb_word f
#define HB_P7  HB_P6, hb_word g
#define HB_P8  HB_P7, hb_word h
#define HB_P9  HB_P8, hb_word i
#define HB_P10 HB_P9, hb_word j
#define HB_P11 HB_P10, hb_word k
#define HB_P12 HB_P11, hb_word l
#define HB_A1  a
#define HB_A2  HB_A1, b
#define HB_A3  HB_A2, c
#define HB_A4  HB_A3, d
#define HB_A5  HB_A4, e
#define HB_A6  HB_A5, f
#define HB_A7  HB_A6, g
#define HB_A8  HB_A7, h
#define HB_A9  HB_A8, i
#define HB_A10 HB_A9, j
#define HB_A11 HB_A10, k
#define HB_A12 HB_A11, l
#define HB_E1  w[0]
#define HB_E2  HB_E1, w[1]
#define HB_E3  HB_E2, w[2]
#define HB_E4  HB_E3, w[3]
#define HB_E5  HB_E4, w[4]
#define HB_E6  HB_E5, w[5]
#define HB_E7  HB_E6, w[6]
#define HB_E8  HB_E7, w[7]
#define HB_E9  HB_E8, w[8]
#define HB_E10 HB_E9, w[9]
#define HB_E11 HB_E10, w[10]
#define HB_E12 HB_E11, w[11]

#define HB_EXPORT __attribute__((visibility("default")))

/* Open MPI's Fortran calls PMPI_ alone, MPICH's both: so both names are taken, and the inner one of
 * two is passed on. The real function is found at the first call; two threads find the same one. */
#define HB_MPI_EXPORT(symbol, n, through)                \
    HB_EXPORT int symbol(HB_P##n);                       \
    int symbol(HB_P##n)                                  \
    {                                                    \
        static int (*_Atomic real)(HB_P##n);             \
        int (*fn)(HB_P##n) = real;                       \
        if (!fn) {                                       \
            fn = (int (*)(HB_P##n))hb_mpi_real(#symbol); \
            real = fn;                                   \
        }                                                \
        return through(HB_A##n, fn);                     \
    }

#endif
