/* SPDX-License-Identifier: MIT */
#include "comm/mpi_visit.h"

#include "comm/mpi_communicators.h"
#include "comm/mpi_requests.h"
#include "comm/mpi_types.h"

__thread int hb_mpi_depth;
atomic_bool hb_mpi_runs;

static hb_word argument(const hb_word *args, uint8_t place)
{
    return place ? args[place - 1] : 0;
}

void hb_mpi_count(hb_word handle)
{
    hb_mpi_comm *c = hb_mpi_comm_of(handle);
    if (c) (void)hb_mpi_comm_next(c);
}

/* ---- elements ---- */

static int64_t count_of(hb_word array, int i, bool wide)
{
    return wide ? ((const int64_t *)array)[i] : ((const int32_t *)array)[i];
}

/* -1: not known. Programs may pass what they like where it means nothing. */
static int64_t elements(const hb_mpi_elements *e, const hb_word *args, const hb_mpi_comm *comm,
                        bool wide)
{
    hb_word count = argument(args, e->count);
    int64_t sum = 0, one = wide ? count : (int32_t)count;
    switch (e->mode) {
    case HB_MPI_COUNT: return one < 0 ? -1 : one;
    case HB_MPI_EACH:
        return !comm || one < 0 || (comm->size && one > INT64_MAX / comm->size) ? -1
                                                                                : one * comm->size;
    case HB_MPI_LIST:
        if (!comm || !count) return -1;
        for (int i = 0; i < comm->size; i++)
            sum += count_of(count, i, wide);
        return sum < 0 ? -1 : sum;
    default: return -1;
    }
}

/* Elements of a type that torch has no word for are bytes. */
typedef struct amount {
    int64_t elements, bytes; /* -1: not known */
    hb_dtype dtype;
} amount;

static amount amount_of(const hb_mpi_elements *e, const hb_word *args, const hb_mpi_comm *comm,
                        bool wide)
{
    int64_t n = elements(e, args, comm, wide);
    if (n < 0) return (amount){-1, -1, HB_NONE};
    hb_mpi_type type = hb_mpi_type_of(argument(args, e->type));
    if (type.size && n > INT64_MAX / type.size) return (amount){-1, -1, HB_NONE};
    int64_t bytes = n * type.size;
    return (amount){type.dtype ? n : bytes, bytes, type.dtype};
}

static bool is_root(const hb_mpi_comm *comm, const hb_word *args, uint8_t root)
{
    return !root || (comm && (int)argument(args, root) == comm->rank);
}

static void measure(hb_comm_info *info, const hb_mpi_call *call, const hb_word *args,
                    const hb_mpi_comm *comm, bool wide)
{
    amount in = {-1, -1, HB_NONE}, out = in;
    bool in_place = call->buffer && argument(args, call->buffer) == hb_mpi.in_place;
    if (is_root(comm, args, call->root_of_out)) out = amount_of(&call->out, args, comm, wide);
    /* A reduction's count is that of its result; others' is not looked at, and may be nothing. */
    bool shared = call->out.count == call->in.count;
    if (is_root(comm, args, call->root_of_in) && (!in_place || shared))
        in = amount_of(&call->in, args, comm, wide);
    if (in_place && !shared) in = out;
    info->type = in.elements >= 0 ? in.dtype : out.dtype;
    info->in = in.elements;
    info->out = out.elements;
    info->bytes = in.bytes > out.bytes ? in.bytes : out.bytes;
}

/* ---- before ---- */

uint64_t hb_mpi_next_flow(void)
{
    static atomic_ullong last; /* orders nothing */
    return 1 + atomic_fetch_add_explicit(&last, 1, memory_order_relaxed);
}

static void set_peers(hb_comm_info *info, const hb_mpi_call *call, const hb_word *args,
                      const hb_mpi_comm *comm)
{
    info->dest = info->source = -1;
    info->tag = HB_COMM_NO_TAG;
    if (call->dest) info->dest = hb_mpi_comm_rank(comm, (int)argument(args, call->dest));
    if (call->source) info->source = hb_mpi_comm_rank(comm, (int)argument(args, call->source));
    if (call->tag) info->tag = (int32_t)argument(args, call->tag);
}

void hb_mpi_enter(hb_mpi_visit *v, const hb_mpi_call *call, hb_site *site, hb_word *args, bool wide)
{
    hb_mpi_comm *comm = call->comm ? hb_mpi_comm_of(argument(args, call->comm)) : NULL;
    v->info = (hb_comm_info){
        .struct_size = sizeof v->info, .group = HB_COMM_UNKNOWN, .sequence = HB_COMM_UNCOUNTED};
    if (call->comm) v->info.group = hb_mpi_comm_group(comm);
    if (call->kind == HB_MPI_COLLECTIVE && comm) v->info.sequence = hb_mpi_comm_next(comm);
    set_peers(&v->info, call, args, comm);
    measure(&v->info, call, args, comm, wide);
    v->info.async = call->use != HB_MPI_NO_REQUEST;
    v->type = argument(args, call->out.type);
    if (call->status && args[call->status - 1] == hb_mpi.status_ignore)
        args[call->status - 1] = (hb_word)v->status;
    v->site = site;
    v->scope = hb_comm_begin_site(site, &v->info);
}

/* ---- behind ---- */

void hb_mpi_read_status(hb_comm_info *info, hb_word status, hb_word type)
{
    typedef int (*count_fn)(hb_word, hb_word, int *);
    static _Atomic(count_fn) get_count;
    int count = -1;
    if (!status || status == hb_mpi.status_ignore) return;
    if (!get_count) get_count = (count_fn)hb_mpi_real("PMPI_Get_count");
    if (type && type != hb_mpi.type_null && get_count(status, type, &count) == 0 && count >= 0) {
        hb_mpi_type t = hb_mpi_type_of(type);
        info->bytes = count * t.size;
        info->out = t.dtype ? count : info->bytes;
    }
    info->tag = hb_mpi_int(status, hb_mpi.tag_at);
}

static void take_status(hb_mpi_visit *v, const hb_mpi_call *call, const hb_word *args)
{
    hb_word status = argument(args, call->status);
    const hb_mpi_comm *comm = call->comm ? hb_mpi_comm_of(argument(args, call->comm)) : NULL;
    int source = hb_mpi_int(status, hb_mpi.source_at), tag = v->info.tag;
    int64_t sent = v->info.in >= 0 ? v->info.bytes : -1;
    if (source == hb_mpi.proc_null) return;
    hb_mpi_read_status(&v->info, status, v->type);
    if (v->info.bytes < sent) v->info.bytes = sent; /* of the two ways of a Sendrecv the greater */
    if (call->dest) v->info.tag = tag;
    if (comm) v->info.source = hb_mpi_comm_rank(comm, source);
}

static void follow(hb_mpi_visit *v, const hb_mpi_call *call, const hb_word *args)
{
    hb_word handle = hb_mpi_handle(argument(args, call->request), 0);
    hb_mpi_request request = {
        .site = v->site,
        .info = v->info,
        .type = v->type,
        .receives = call->out.mode == HB_MPI_COUNT && call->in.mode == HB_MPI_NONE,
        .persistent = call->use == HB_MPI_KEEPS,
    };
    if (handle == hb_mpi.request_null) return;
    if (!request.persistent) request.flow = hb_mpi_next_flow();
    if (hb_mpi_request_put(handle, &request) && request.flow)
        hb_comm_flow(v->site, request.flow, HB_FLOW_BEGIN);
}

void hb_mpi_leave(hb_mpi_visit *v, const hb_mpi_call *call, const hb_word *args, int result)
{
    bool more = false;
    if (result == 0 && call->use) follow(v, call, args);
    if (result == 0 && call->status) {
        take_status(v, call, args);
        more = true;
    }
    hb_comm_end(&v->scope, more ? &v->info : NULL);
}
