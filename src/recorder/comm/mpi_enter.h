/* SPDX-License-Identifier: MIT
 *
 * What is seen of a call's arguments before it is passed on. Inline: of each call its row of
 * mpi_calls.def is a constant, of which most says that there is nothing to look at.
 */
#ifndef HB_COMM_MPI_ENTER_H
#define HB_COMM_MPI_ENTER_H

#include "comm/mpi_communicators.h"
#include "comm/mpi_types.h"
#include "comm/mpi_visit.h"

#define HB_MPI_ALWAYS static inline __attribute__((always_inline))

static inline int64_t hb_mpi_count_of(hb_word array, int i, bool wide)
{
    return wide ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

/* -1: not known. Programs may pass what they like where it means nothing. */
static inline int64_t hb_mpi_count_elements(const hb_mpi_elements *e, const hb_word *args,
                                            const hb_mpi_comm *comm, bool wide)
{
    hb_word count = hb_mpi_argument(args, e->count);
    int64_t sum = 0, one = wide ? count : (int32_t)count;
    switch (e->mode) {
    case HB_MPI_COUNT: return one < 0 ? -1 : one;
    case HB_MPI_EACH:
        return !comm || one < 0 || (comm->size && one > INT64_MAX / comm->size) ? -1
                                                                                : one * comm->size;
    case HB_MPI_LIST:
        if (!comm || !count) return -1;
        for (int i = 0; i < comm->size; i++)
            sum += hb_mpi_count_of(count, i, wide);
        return sum < 0 ? -1 : sum;
    default: return -1;
    }
}

/* Elements of a type that torch has no word for are bytes. */
typedef struct hb_mpi_amount {
    int64_t elements, bytes; /* -1: not known */
    hb_dtype dtype;
} hb_mpi_amount;

HB_MPI_ALWAYS hb_mpi_amount hb_mpi_amount_of(const hb_mpi_elements *e, const hb_word *args,
                                             const hb_mpi_comm *comm, bool wide)
{
    int64_t n = hb_mpi_count_elements(e, args, comm, wide), bytes;
    if (n < 0) return (hb_mpi_amount){-1, -1, HB_NONE};
    hb_mpi_type type = hb_mpi_type_of(hb_mpi_argument(args, e->type));
    if (__builtin_mul_overflow(n, type.size, &bytes)) return (hb_mpi_amount){-1, -1, HB_NONE};
    return (hb_mpi_amount){type.dtype ? n : bytes, bytes, type.dtype};
}

static inline bool hb_mpi_is_root(const hb_mpi_comm *comm, const hb_word *args, uint8_t root)
{
    return !root || (comm && (int)hb_mpi_argument(args, root) == comm->rank);
}

HB_MPI_ALWAYS void hb_mpi_measure(hb_comm_info *info, const hb_mpi_call *call, const hb_word *args,
                                  const hb_mpi_comm *comm, bool wide)
{
    hb_mpi_amount in = {-1, -1, HB_NONE}, out = in;
    bool in_place = call->buffer && hb_mpi_argument(args, call->buffer) == hb_mpi.in_place;
    if (call->out.mode && hb_mpi_is_root(comm, args, call->root_of_out))
        out = hb_mpi_amount_of(&call->out, args, comm, wide);
    /* A reduction's count is that of its result; others' is not looked at, and may be nothing. */
    bool shared = call->out.count == call->in.count;
    bool equal = shared && call->out.mode == call->in.mode && call->out.type == call->in.type;
    if (call->in.mode && hb_mpi_is_root(comm, args, call->root_of_in) && (!in_place || shared))
        in = equal && out.bytes >= 0 ? out : hb_mpi_amount_of(&call->in, args, comm, wide);
    if (in_place && !shared) in = out;
    info->type = in.elements >= 0 ? in.dtype : out.dtype;
    info->in = in.elements;
    info->out = out.elements;
    info->bytes = in.bytes > out.bytes ? in.bytes : out.bytes;
}

HB_MPI_ALWAYS void hb_mpi_set_peers(hb_comm_info *info, const hb_mpi_call *call,
                                    const hb_word *args, const hb_mpi_comm *comm)
{
    info->dest = info->source = -1;
    info->tag = HB_COMM_NO_TAG;
    if (call->dest) info->dest = hb_mpi_comm_rank(comm, (int)hb_mpi_argument(args, call->dest));
    if (call->source)
        info->source = hb_mpi_comm_rank(comm, (int)hb_mpi_argument(args, call->source));
    if (call->tag) info->tag = (int32_t)hb_mpi_argument(args, call->tag);
}

/** Before the call; may put a status of its own into `args`. `wide`: counts have 64 bits. */
HB_MPI_ALWAYS void hb_mpi_enter(hb_mpi_visit *v, const hb_mpi_call *call, hb_site *site,
                                hb_mpi_comm *comm, hb_word *args, bool wide)
{
    v->comm = comm;
    v->info.struct_size = sizeof v->info;
    v->info.group = hb_mpi_comm_group(comm);
    v->info.sequence =
        call->kind == HB_MPI_COLLECTIVE && comm ? hb_mpi_comm_next(comm) : HB_COMM_UNCOUNTED;
    hb_mpi_set_peers(&v->info, call, args, comm);
    hb_mpi_measure(&v->info, call, args, comm, wide);
    v->info.async = call->use != HB_MPI_NO_REQUEST;
    v->info.flow = call->use == HB_MPI_STARTS ? hb_mpi_next_flow() : 0;
    v->type = hb_mpi_argument(args, call->out.type);
    if (call->status && args[call->status - 1] == hb_mpi.status_ignore)
        args[call->status - 1] = (hb_word)v->status;
    v->site = site;
    v->scope = hb_comm_begin_site(site, &v->info);
}

#endif
