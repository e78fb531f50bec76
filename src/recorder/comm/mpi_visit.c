/* SPDX-License-Identifier: MIT */
#include "comm/mpi_visit.h"

#include "comm/mpi_communicators.h"
#include "comm/mpi_requests.h"
#include "comm/mpi_types.h"

__thread int hb_mpi_depth;
atomic_bool hb_mpi_runs;

/* Each thread has a range of its own, and takes the next one with its last number. */
uint64_t hb_mpi_next_flow(void)
{
    enum { RANGE = 4096 };
    static atomic_ullong ranges; /* orders nothing */
    static __thread uint64_t last __attribute__((tls_model("initial-exec")));
    if (last % RANGE == 0)
        last = RANGE * atomic_fetch_add_explicit(&ranges, 1, memory_order_relaxed);
    return ++last;
}

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
    hb_word status = hb_mpi_argument(args, call->status);
    int source = hb_mpi_int(status, hb_mpi.source_at), tag = v->info.tag;
    int64_t sent = v->info.in >= 0 ? v->info.bytes : -1;
    if (source == hb_mpi.proc_null) return;
    hb_mpi_read_status(&v->info, status, v->type);
    if (v->info.bytes < sent) v->info.bytes = sent; /* of the two ways of a Sendrecv the greater */
    if (call->dest) v->info.tag = tag;
    if (v->comm) v->info.source = hb_mpi_comm_rank(v->comm, source);
}

static void follow(hb_mpi_visit *v, const hb_mpi_call *call, const hb_word *args)
{
    hb_word handle = hb_mpi_handle(hb_mpi_argument(args, call->request), 0);
    hb_mpi_request *r = handle == hb_mpi.request_null ? NULL : hb_mpi_request_new(handle);
    if (!r) return;
    r->site = v->site;
    r->flow = v->info.flow;
    r->info = v->info;
    r->type = v->type;
    r->receives = call->out.mode == HB_MPI_COUNT && call->in.mode == HB_MPI_NONE;
    r->persistent = call->use == HB_MPI_KEEPS;
    r->is_cancelled = false;
    hb_mpi_request_known(r, handle);
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
