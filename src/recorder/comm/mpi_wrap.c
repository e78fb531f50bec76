/* SPDX-License-Identifier: MIT
 *
 * The calls of mpi_calls.def, each under four names: MPI_ and PMPI_, with counts of 32 and of 64
 * bits.
 */
#include <stdatomic.h>

#include "comm/mpi_communicators.h"
#include "comm/mpi_enter.h"
#include "comm/mpi_visit.h"
#include "comm/mpi_words.h"

#define COUNT(count, type)        \
    {                             \
        HB_MPI_COUNT, count, type \
    }
#define EACH(count, type)        \
    {                            \
        HB_MPI_EACH, count, type \
    }
#define LIST(count, type)        \
    {                            \
        HB_MPI_LIST, count, type \
    }
#define NONE \
    {        \
        0    \
    }
#define MESSAGE         HB_MPI_MESSAGE, 0
#define RECEIVE(status) HB_MPI_MESSAGE, status
#define COLLECTIVE      HB_MPI_COLLECTIVE, 0
#define OTHER           HB_MPI_OTHER, 0
#define NO_ROOT         0, 0
#define ROOT_IN(root)   root, 0
#define ROOT_OUT(root)  0, root
#define NO_REQUEST      HB_MPI_NO_REQUEST, 0
#define STARTS(request) HB_MPI_STARTS, request
#define KEEPS(request)  HB_MPI_KEEPS, request

/* Nothing is recorded, or the call is MPI's own: as short a way as can be. A collective that is not
 * recorded is counted, as on the other members. The depth, which is 0 there, is set and not added
 * to: that would be waited for. */
#define THROUGH(id, variant, n, wide)                                                          \
    static __attribute__((noinline)) int record_##id##variant(HB_P##n, int (*fn)(HB_P##n),     \
                                                              hb_mpi_comm *comm)               \
    {                                                                                          \
        static hb_site site = {.name = "MPI_" #id #variant};                                   \
        hb_word w[] = {HB_A##n};                                                               \
        hb_mpi_visit visit;                                                                    \
        hb_mpi_enter(&visit, &call_##id, &site, comm, w, wide);                                \
        hb_mpi_depth = 1;                                                                      \
        int result = fn(HB_E##n);                                                              \
        hb_mpi_depth = 0;                                                                      \
        hb_mpi_leave(&visit, &call_##id, w, result);                                           \
        return result;                                                                         \
    }                                                                                          \
    static inline int through_##id##variant(HB_P##n, int (*fn)(HB_P##n))                       \
    {                                                                                          \
        static _Atomic(hb_mpi_comm *) last;                                                    \
        hb_mpi_comm *comm = NULL;                                                              \
        if (!hb_mpi_looks()) return fn(HB_A##n);                                               \
        if (call_##id.comm && (call_##id.kind == HB_MPI_COLLECTIVE || HB_COMM_ENABLED()))      \
            comm = hb_mpi_comm_again(&last, ((const hb_word[]){HB_A##n})[call_##id.comm - 1]); \
        if (HB_COMM_ENABLED()) return record_##id##variant(HB_A##n, fn, comm);                 \
        if (call_##id.kind == HB_MPI_COLLECTIVE && comm) (void)hb_mpi_comm_next(comm);         \
        hb_mpi_depth = 1;                                                                      \
        int result = fn(HB_A##n);                                                              \
        hb_mpi_depth = 0;                                                                      \
        return result;                                                                         \
    }

#define HB_MPI(id, n, ...)                                          \
    static const hb_mpi_call call_##id = {"MPI_" #id, __VA_ARGS__}; \
    THROUGH(id, , n, false)                                         \
    HB_MPI_EXPORT(MPI_##id, n, through_##id)                        \
    HB_MPI_EXPORT(PMPI_##id, n, through_##id)
#define HB_MPI_C(id, n, ...)                         \
    HB_MPI(id, n, __VA_ARGS__)                       \
    THROUGH(id, _c, n, true)                         \
    HB_MPI_EXPORT(MPI_##id##_c, n, through_##id##_c) \
    HB_MPI_EXPORT(PMPI_##id##_c, n, through_##id##_c)

/* Seen whether or not anything is recorded: what is recorded later may be of them. */
#define HB_MPI_MAKES(id, n, parent, made, how)                                                \
    static inline int through_##id(HB_P##n, int (*fn)(HB_P##n))                               \
    {                                                                                         \
        static hb_site site = {.name = "MPI_" #id};                                           \
        static const hb_mpi_call call = {.name = "MPI_" #id, .comm = parent};                 \
        if (!hb_mpi_looks()) return fn(HB_A##n);                                              \
        hb_word w[] = {HB_A##n};                                                              \
        hb_mpi_visit visit = {0};                                                             \
        if (HB_COMM_ENABLED())                                                                \
            hb_mpi_enter(&visit, &call, &site, hb_mpi_comm_of(w[(parent)-1]), w, false);      \
        hb_mpi_depth++;                                                                       \
        int result = fn(HB_A##n);                                                             \
        hb_mpi_depth--;                                                                       \
        if (result == 0) hb_mpi_comm_made(w[(parent)-1], hb_mpi_handle(w[(made)-1], 0), how); \
        hb_mpi_leave(&visit, &call, w, result);                                               \
        return result;                                                                        \
    }                                                                                         \
    HB_MPI_EXPORT(MPI_##id, n, through_##id)                                                  \
    HB_MPI_EXPORT(PMPI_##id, n, through_##id)

#include "comm/mpi_calls.def"
