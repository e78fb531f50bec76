/* SPDX-License-Identifier: MIT
 *
 * Calls that complete requests, start persistent ones and let go of them.
 */
#include <alloca.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "comm/mpi_communicators.h"
#include "comm/mpi_requests.h"
#include "comm/mpi_visit.h"
#include "comm/mpi_words.h"

enum { ON_THE_STACK = 512, TOLD_TOGETHER = 16 };

/* What completed in one call, or began. */
typedef struct wait {
    hb_scope scope;
    hb_comm_info info;
    unsigned completed, num_pending;
    hb_comm_pending pending[TOLD_TOGETHER]; /* not told yet */
} wait;

/* Requests that were begun while something was recorded must be forgotten in time. */
static bool follows(void)
{
    return hb_mpi_looks() && (HB_COMM_ENABLED() || hb_mpi_requests_are_followed());
}

static const hb_comm_info nothing_yet = {.struct_size = sizeof nothing_yet,
                                         .group = HB_COMM_UNKNOWN,
                                         .in = -1,
                                         .out = -1,
                                         .bytes = -1,
                                         .source = -1,
                                         .dest = -1,
                                         .tag = HB_COMM_NO_TAG,
                                         .sequence = HB_COMM_UNCOUNTED};

static void begin(wait *w, hb_site *site)
{
    w->completed = w->num_pending = 0;
    w->scope = hb_comm_begin_site(site, &nothing_yet);
}

/* Whether nothing was moved after all. */
static bool was_cancelled(const hb_mpi_request *r, hb_word status)
{
    typedef int (*cancelled_fn)(hb_word, int *);
    static _Atomic(cancelled_fn) ask;
    int flag = 0;
    if (!r->is_cancelled || !status || status == hb_mpi.status_ignore) return false;
    if (!ask) ask = (cancelled_fn)hb_mpi_real("PMPI_Test_cancelled");
    return ask(status, &flag) == 0 && flag;
}

static void note_first(wait *w, const hb_mpi_request *r, hb_word status)
{
    w->info = r->info;
    if (was_cancelled(r, status))
        w->info.bytes = w->info.in = w->info.out = 0;
    else if (r->receives && status)
        hb_mpi_read_status(&w->info, status, r->type);
    w->info.async = false;
    w->info.sequence = HB_COMM_UNCOUNTED;
    if (w->info.bytes < 0) w->info.bytes = 0;
}

/* Of several together only the bytes are told. */
static void note_next(wait *w, const hb_mpi_request *r, hb_word status)
{
    int64_t bytes = r->info.bytes;
    if (was_cancelled(r, status)) {
        bytes = 0;
    } else if (r->receives && status) {
        hb_comm_info told = {.bytes = bytes};
        hb_mpi_read_status(&told, status, r->type);
        bytes = told.bytes;
    }
    w->info.group = HB_COMM_UNKNOWN;
    w->info.type = HB_NONE;
    w->info.source = w->info.dest = w->info.in = w->info.out = -1;
    w->info.tag = HB_COMM_NO_TAG;
    w->info.bytes += bytes > 0 ? bytes : 0;
}

/* `status` of 0: none. */
static void note(wait *w, const hb_mpi_request *r, hb_word status)
{
    if (w->completed++)
        note_next(w, r, status);
    else
        note_first(w, r, status);
}

static void tell(wait *w)
{
    if (w->completed)
        hb_comm_complete(w->pending, w->num_pending);
    else
        hb_comm_start(w->pending, w->num_pending);
    w->num_pending = 0;
}

static void add(wait *w, const hb_mpi_request *r)
{
    if (w->num_pending == TOLD_TOGETHER) tell(w);
    w->pending[w->num_pending++] = (hb_comm_pending){r->site, r->flow};
}

/* `status` of 0: none. */
static void complete(wait *w, hb_word handle, hb_word status)
{
    hb_mpi_request *r = handle == hb_mpi.request_null ? NULL : hb_mpi_request_take(handle);
    if (!r) return;
    if (r->flow && HB_COMM_ENABLED()) {
        note(w, r, status);
        add(w, r);
    }
    r->flow = 0;
    hb_mpi_request_let_go(r, r->persistent ? handle : 0);
}

static void end(wait *w)
{
    if (w->num_pending) tell(w);
    hb_comm_end(&w->scope, w->completed ? &w->info : NULL);
}

static hb_word status_at(hb_word statuses, int i)
{
    return statuses == hb_mpi.status_ignore ? 0 : statuses + (hb_word)hb_mpi.status_bytes * i;
}

#define SITE(call) static hb_site site = {.name = "MPI_" #call}
#define CALL(...)                      \
    ({                                 \
        hb_mpi_depth++;                \
        int called_ = fn(__VA_ARGS__); \
        hb_mpi_depth--;                \
        called_;                       \
    })
/* MPI clears what completes: a copy of the handles, on the stack when there are few. */
#define COPY_HANDLES(to, from, count)                                                \
    size_t to##_count = (count) > 0 ? (size_t)(count) : 0;                           \
    hb_word *to = to##_count > ON_THE_STACK ? malloc(to##_count * sizeof *to)        \
                                            : alloca((to##_count + 1) * sizeof *to); \
    for (size_t i_ = 0; to && i_ < to##_count; i_++)                                 \
        (to)[i_] = hb_mpi_handle(from, (long)i_);                                    \
    if (!to) to##_count = 0
#define DROP_HANDLES(to) \
    if (to##_count > ON_THE_STACK) free(to)

static inline int through_Wait(HB_P2, int (*fn)(HB_P2))
{
    SITE(Wait);
    hb_word own[8] = {0};
    if (!follows()) return fn(a, b);
    hb_word handle = hb_mpi_handle(a, 0);
    wait w;
    begin(&w, &site);
    if (b == hb_mpi.status_ignore) b = (hb_word)own;
    int result = CALL(a, b);
    if (result == 0) complete(&w, handle, b);
    end(&w);
    return result;
}

static inline int through_Waitall(HB_P3, int (*fn)(HB_P3))
{
    SITE(Waitall);
    if (!follows()) return fn(a, b, c);
    COPY_HANDLES(handles, b, (int)a);
    wait w;
    begin(&w, &site);
    int result = CALL(a, b, c);
    for (size_t i = 0; result == 0 && i < handles_count; i++)
        complete(&w, handles[i], status_at(c, (int)i));
    end(&w);
    DROP_HANDLES(handles);
    return result;
}

static inline int through_Waitany(HB_P4, int (*fn)(HB_P4))
{
    SITE(Waitany);
    if (!follows()) return fn(a, b, c, d);
    COPY_HANDLES(handles, b, (int)a);
    wait w;
    begin(&w, &site);
    int result = CALL(a, b, c, d), index = result == 0 ? hb_mpi_int(c, 0) : -1;
    if (index >= 0 && (size_t)index < handles_count) complete(&w, handles[index], status_at(d, 0));
    end(&w);
    DROP_HANDLES(handles);
    return result;
}

/* The first `count` of the indices are of those that completed. */
static void complete_some(wait *w, const hb_word *handles, size_t num_handles, int count,
                          hb_word indices, hb_word statuses)
{
    for (int i = 0; i < count; i++) {
        int index = ((const int *)indices)[i];
        if (index >= 0 && (size_t)index < num_handles)
            complete(w, handles[index], status_at(statuses, i));
    }
}

static inline int through_Waitsome(HB_P5, int (*fn)(HB_P5))
{
    SITE(Waitsome);
    if (!follows()) return fn(a, b, c, d, e);
    COPY_HANDLES(handles, b, (int)a);
    wait w;
    begin(&w, &site);
    int result = CALL(a, b, c, d, e);
    if (result == 0) complete_some(&w, handles, handles_count, hb_mpi_int(c, 0), d, e);
    end(&w);
    DROP_HANDLES(handles);
    return result;
}

/* Tests that find nothing leave no event, of which there would be millions; the one that does is
 * an event of its own. */
static inline int through_Test(HB_P3, int (*fn)(HB_P3))
{
    SITE(Test);
    hb_word own[8] = {0};
    if (!follows()) return fn(a, b, c);
    hb_word handle = hb_mpi_handle(a, 0);
    if (c == hb_mpi.status_ignore) c = (hb_word)own;
    int result = CALL(a, b, c);
    if (result != 0 || !hb_mpi_int(b, 0) || handle == hb_mpi.request_null) return result;
    wait w;
    begin(&w, &site);
    complete(&w, handle, c);
    end(&w);
    return result;
}

static inline int through_Testall(HB_P4, int (*fn)(HB_P4))
{
    SITE(Testall);
    if (!follows()) return fn(a, b, c, d);
    COPY_HANDLES(handles, b, (int)a);
    int result = CALL(a, b, c, d);
    if (result == 0 && hb_mpi_int(c, 0)) {
        wait w;
        begin(&w, &site);
        for (size_t i = 0; i < handles_count; i++)
            complete(&w, handles[i], status_at(d, (int)i));
        end(&w);
    }
    DROP_HANDLES(handles);
    return result;
}

static inline int through_Testany(HB_P5, int (*fn)(HB_P5))
{
    SITE(Testany);
    if (!follows()) return fn(a, b, c, d, e);
    COPY_HANDLES(handles, b, (int)a);
    int result = CALL(a, b, c, d, e);
    int index = result == 0 && hb_mpi_int(d, 0) ? hb_mpi_int(c, 0) : -1;
    if (index >= 0 && (size_t)index < handles_count) {
        wait w;
        begin(&w, &site);
        complete(&w, handles[index], status_at(e, 0));
        end(&w);
    }
    DROP_HANDLES(handles);
    return result;
}

static inline int through_Testsome(HB_P5, int (*fn)(HB_P5))
{
    SITE(Testsome);
    if (!follows()) return fn(a, b, c, d, e);
    COPY_HANDLES(handles, b, (int)a);
    int result = CALL(a, b, c, d, e), count = result == 0 ? hb_mpi_int(c, 0) : 0;
    if (count > 0) {
        wait w;
        begin(&w, &site);
        complete_some(&w, handles, handles_count, count, d, e);
        end(&w);
    }
    DROP_HANDLES(handles);
    return result;
}

/* ---- persistent requests ---- */

static void start(wait *w, hb_word handle)
{
    hb_mpi_request *r = handle == hb_mpi.request_null ? NULL : hb_mpi_request_take(handle);
    if (!r) return;
    r->flow = hb_mpi_next_flow();
    add(w, r);
    hb_mpi_request_let_go(r, handle);
}

static inline int through_Start(HB_P1, int (*fn)(HB_P1))
{
    SITE(Start);
    if (!follows()) return fn(a);
    wait w;
    begin(&w, &site);
    start(&w, hb_mpi_handle(a, 0));
    tell(&w);
    int result = CALL(a);
    end(&w);
    return result;
}

static inline int through_Startall(HB_P2, int (*fn)(HB_P2))
{
    SITE(Startall);
    if (!follows()) return fn(a, b);
    wait w;
    begin(&w, &site);
    for (int i = 0; i < (int)a; i++)
        start(&w, hb_mpi_handle(b, i));
    tell(&w);
    int result = CALL(a, b);
    end(&w);
    return result;
}

static inline int through_Request_free(HB_P1, int (*fn)(HB_P1))
{
    if (!follows()) return fn(a);
    hb_word handle = hb_mpi_handle(a, 0);
    int result = CALL(a);
    hb_mpi_request *r = result == 0 ? hb_mpi_request_take(handle) : NULL;
    if (r) hb_mpi_request_let_go(r, 0);
    return result;
}

static inline int through_Cancel(HB_P1, int (*fn)(HB_P1))
{
    SITE(Cancel);
    if (!follows()) return fn(a);
    hb_word handle = hb_mpi_handle(a, 0);
    hb_scope scope = HB_COMM_ENABLED() ? hb_op_site(&site, NULL) : hb_scope_none_();
    int result = CALL(a);
    hb_mpi_request *r = result == 0 ? hb_mpi_request_take(handle) : NULL;
    if (r) r->is_cancelled = true;
    if (r) hb_mpi_request_let_go(r, handle);
    hb_scope_end(&scope);
    return result;
}

#define BOTH(name, n)                            \
    HB_MPI_EXPORT(MPI_##name, n, through_##name) \
    HB_MPI_EXPORT(PMPI_##name, n, through_##name)
BOTH(Wait, 2)
BOTH(Waitall, 3)
BOTH(Waitany, 4)
BOTH(Waitsome, 5)
BOTH(Test, 3)
BOTH(Testall, 4)
BOTH(Testany, 5)
BOTH(Testsome, 5)
BOTH(Start, 1)
BOTH(Startall, 2)
BOTH(Request_free, 1)
BOTH(Cancel, 1)
