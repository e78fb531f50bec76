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

/* ---- statuses ---- */

/* -1: it does not say. */
static int64_t ask_for_bytes(hb_word status, hb_word type, int64_t size)
{
    typedef int (*count_fn)(hb_word, hb_word, int *);
    static _Atomic(count_fn) get_count;
    int count = -1;
    if (!get_count) get_count = (count_fn)hb_mpi_real("PMPI_Get_count");
    return get_count(status, type, &count) == 0 && count >= 0 ? count * size : -1;
}

/* -1: it does not say, or more than 2 GiB. */
static int64_t read_bytes(hb_word status)
{
    const char *at = (const char *)status + hb_mpi.bytes_at;
    if (hb_mpi.bytes_bits == 64) return *(const int64_t *)at;
    return ((const uint32_t *)at)[1] >> 1 ? -1 : (int64_t) * (const uint32_t *)at;
}

/* Asking MPI costs as much as recording a call. It is asked until it has said the same so many
 * times as its statuses do, and always if it ever does not. */
static int64_t bytes_of(hb_word status, hb_word type, int64_t size)
{
    enum { AGREED = 8, NEVER = -1 };
    static atomic_int agreed; /* orders nothing */
    int times = atomic_load_explicit(&agreed, memory_order_relaxed);
    int64_t read = hb_mpi.bytes_bits && times != NEVER ? read_bytes(status) : -1;
    if (times >= AGREED && read >= 0) return read;
    int64_t told = ask_for_bytes(status, type, size);
    if (read >= 0 && told > 0 && times != NEVER)
        atomic_store_explicit(&agreed, read == told ? times + 1 : NEVER, memory_order_relaxed);
    return told;
}

void hb_mpi_read_status(hb_comm_info *info, hb_word status, hb_word type)
{
    if (!status || status == hb_mpi.status_ignore) return;
    info->tag = hb_mpi_int(status, hb_mpi.tag_at);
    if (!type || type == hb_mpi.type_null) return;
    hb_mpi_type t = hb_mpi_type_of(type);
    int64_t bytes = bytes_of(status, type, t.size);
    if (bytes < 0) return;
    bool whole = t.size > 0 && (t.size & (t.size - 1)) == 0;
    info->bytes = bytes;
    info->out = !t.dtype || t.size <= 0 ? bytes
                : whole                 ? bytes >> __builtin_ctzll((uint64_t)t.size)
                                        : bytes / t.size;
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
