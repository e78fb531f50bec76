/* SPDX-License-Identifier: MIT
 *
 * No lock and no allocation in a call, but for a thread's first one and a kernel's first launch.
 */
#include "hip/calls_runtime.h"
#include "hip/launches.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "hip/busy_streams.h"
#include "hip/late_reports.h"
#include "record/strings.h"

hb_calls_of_runtime hb_calls_runtime;
static _Atomic(hb_calls *) all;
static _Atomic uint64_t next_correlation = HB_CORRELATIONS_AT_ONCE;
static _Atomic bool heard;
_Atomic uint32_t hb_calls_stream_generation = 1;
_Atomic uint32_t hb_calls_sampling;
_Atomic uint32_t hb_captures_ended = 1;

/* Interposed calls are laid out by the table itself. */
static hb_hip_call row_of(const char *name, const hb_hip *runtime, const hb_calls_source *calls)
{
    const hb_hip_call *row = hb_hip_call_named(name);
    if (calls->unexpanded) return hb_hip_call_unexpanded(row);
    return calls->interposed ? *row : hb_hip_call_of_release(row, hb_hip_release(runtime));
}

static enum hb_no_stream no_stream_of(const char *name, const hb_hip_call *row)
{
    size_t size = strlen(name);
    if (size > 4 && strcmp(name + size - 4, "_spt") == 0) return HB_OWN_STREAM;
    bool is_work = row->kind == HB_CALL_WORK && row->stream == HB_NO_ARG;
    return is_work && (strstr(name, "Async") || strstr(name, "Launch")) ? HB_ANY_STREAM
                                                                        : HB_NULL_STREAM;
}

/* Other layouts, and back-ends that leave the kernel to be told later, go the long way. */
static enum hb_quick_launch quick_of(const hb_hip_call *row, const hb_calls_source *calls)
{
    if (calls->short_launches || calls->unexpanded || row->src != HB_NO_ARG || row->ptr != 0)
        return HB_NO_QUICK_LAUNCH;
    if (row->kind == HB_CALL_LAUNCH_HOST && row->bytes == HB_QUICK_HOST_LDS &&
        row->stream == HB_QUICK_HOST_STREAM)
        return HB_QUICK_HOST;
    if (row->kind == HB_CALL_LAUNCH && row->bytes == HB_QUICK_DEVICE_LDS &&
        row->stream == HB_QUICK_DEVICE_STREAM)
        return HB_QUICK_DEVICE;
    return HB_NO_QUICK_LAUNCH;
}

bool hb_calls_init(const hb_hip *runtime, const hb_calls_source *calls)
{
    hb_hip_call *rows = calloc(calls->num_functions, sizeof *rows);
    uint32_t *names = calloc(calls->num_functions, sizeof *names);
    uint8_t *no_stream = calloc(calls->num_functions, sizeof *no_stream);
    if (!rows || !names || !no_stream) {
        free(rows);
        free(names);
        free(no_stream);
        return false;
    }
    for (uint32_t cid = 0; cid < calls->num_functions; cid++) {
        const char *name = calls->name_of(cid);
        if (!name) name = "unknown";
        rows[cid] = row_of(name, runtime, calls);
        names[cid] = hb_strings_intern(name, strlen(name));
        no_stream[cid] = (uint8_t)no_stream_of(name, &rows[cid]);
    }
    hb_calls_runtime = (hb_calls_of_runtime){runtime, *calls, rows, names, no_stream, {0}};
    for (uint32_t cid = 0; cid < HB_MIN(calls->num_functions, HB_CALLS_QUICK_FUNCTIONS); cid++)
        if (no_stream[cid] == HB_NULL_STREAM)
            hb_calls_runtime.quick[cid] = (uint8_t)quick_of(&rows[cid], calls);
    return true;
}

uint32_t hb_calls_num_functions(void)
{
    return hb_calls_runtime.source.num_functions;
}

const hb_hip_call *hb_calls_row(uint32_t cid)
{
    return &hb_calls_runtime.rows[cid];
}

/* ---- threads ---- */

static void forget_captures(hb_calls *c)
{
    atomic_store_explicit(&c->capturing, 0, memory_order_relaxed);
    atomic_store_explicit(&c->joined, 0, memory_order_relaxed);
}

static HB_COLD hb_calls *adopt(hb_thread *t)
{
    hb_calls *c = t->calls;
    if (!c) {
        if (!(c = aligned_alloc(_Alignof(hb_calls), sizeof *c))) return NULL;
        memset(c, 0, sizeof *c);
        hb_calls *head = atomic_load(&all);
        do
            c->next = head;
        while (!atomic_compare_exchange_weak(&all, &head, c));
        t->calls = c;
    }
    c->owner = t->number;
    atomic_store(&c->epoch, 0);
    c->depth = 0;
    c->usual = HB_NOT_QUICK;
    forget_captures(c);
    c->ours = false;
    hb_calls_settle(t, c);
    return c;
}

/* The calling thread's; NULL without memory. */
static hb_calls *calls_self(void)
{
    hb_thread *t = hb_thread_self();
    hb_calls *c = t ? t->calls : NULL;
    if (HB_LIKELY(c && c->owner == t->number)) return c;
    return t ? adopt(t) : NULL;
}

/* By the owner. */
static inline uint32_t epoch_of(const hb_calls *c)
{
    return atomic_load_explicit(&c->epoch, memory_order_relaxed);
}

bool hb_calls_of_program(void)
{
    const hb_thread *t = hb_thread_tls;
    const hb_calls *c = t ? t->calls : NULL;
    return c && c->owner == t->number && epoch_of(c);
}

/* Acquire: with the owner, who has found out or heard of it. */
static uint32_t count_captures(const hb_calls *c)
{
    uint32_t joined = atomic_load_explicit(&c->joined, memory_order_acquire);
    bool goes_on = joined && joined == atomic_load(&hb_captures_ended);
    return atomic_load_explicit(&c->capturing, memory_order_acquire) + goes_on;
}

hb_call_counts hb_calls_count(void)
{
    hb_call_counts sum = {0};
    uint32_t session = __atomic_load_n(&hb_enabled_epoch, __ATOMIC_ACQUIRE);
    for (hb_calls *c = atomic_load(&all); c; c = c->next) {
        uint64_t launches = atomic_load_explicit(&c->launches, memory_order_acquire);
        sum.seen += atomic_load_explicit(&c->seen, memory_order_acquire) + launches;
        sum.made += atomic_load_explicit(&c->made, memory_order_acquire);
        if (hb_calls_runtime.source.by_correlation) sum.made += launches;
        sum.arrived += atomic_load_explicit(&c->arrived, memory_order_acquire);
        sum.expected += atomic_load_explicit(&c->expected, memory_order_acquire);
        sum.completed += atomic_load_explicit(&c->completed, memory_order_acquire);
        sum.replays += atomic_load_explicit(&c->replays, memory_order_acquire);
        /* Those of an earlier session may have ended unheard. Acquire: with begin_session(). */
        if (atomic_load_explicit(&c->epoch, memory_order_acquire) == session)
            sum.capturing += count_captures(c);
    }
    return sum;
}

uint64_t hb_calls_last_id(void)
{
    return atomic_load(&next_correlation) - 1;
}

static uint64_t take_correlation(hb_calls *c)
{
    if ((c->correlation + 1) % HB_CORRELATIONS_AT_ONCE == 0)
        c->correlation = atomic_fetch_add(&next_correlation, HB_CORRELATIONS_AT_ONCE);
    return ++c->correlation;
}

bool hb_calls_enter_own(void)
{
    hb_calls *c = calls_self();
    bool before = c && c->ours;
    if (c) hb_calls_set_ours(true);
    return before;
}

void hb_calls_leave_own(bool before)
{
    if (calls_self()) hb_calls_set_ours(before);
}

void hb_calls_outdate_streams(void)
{
    atomic_fetch_add(&hb_calls_stream_generation, 1);
    atomic_fetch_add(&hb_launch_generation, 1);
}

void hb_calls_forget_streams(void)
{
    hb_busy_streams_forget();
    hb_calls_outdate_streams();
}

bool hb_calls_heard(void)
{
    return atomic_load_explicit(&heard, memory_order_relaxed);
}

/* The other threads' calls and captures are the parent's. */
void hb_calls_after_fork(void)
{
    for (hb_calls *c = atomic_load(&all); c; c = c->next)
        forget_captures(c);
    atomic_store(&heard, false);
    hb_launches_go_quickly(false);
}

/* ---- frames ---- */

static void forget_streams(hb_calls *c)
{
    memset(c->streams, 0, sizeof c->streams);
    memset(c->sites, 0, sizeof c->sites);
}

/* Between sessions nothing is heard: neither ends of calls, captures and streams, nor unloads. */
static HB_COLD void begin_session(hb_calls *c, uint32_t epoch)
{
    atomic_store_explicit(&heard, true, memory_order_relaxed);
    forget_captures(c);
    atomic_store_explicit(&c->epoch, epoch, memory_order_release); /* hb_calls_count() reads both */
    c->depth = 0;
    forget_streams(c);
    c->correlation |= HB_CORRELATIONS_AT_ONCE - 1; /* those of a session follow those of the last */
    c->launch = c->picked = 0;
    hb_calls_choose_way(c);
}

void hb_calls_choose_way(hb_calls *c)
{
    c->usual = hb_calls_capture(c) ? HB_NOT_QUICK : epoch_of(c);
}

/* Its work was counted as made now. */
void hb_calls_join_capture(hb_frame *f, uint32_t ended)
{
    hb_calls *c = hb_thread_tls->calls;
    atomic_store_explicit(&c->joined, ended, memory_order_release);
    hb_calls_choose_way(c);
    if (f->counted) hb_uncount(f->counted);
    f->counted = NULL;
}

/* Whichever capture has ended, perhaps on another thread: what is still being captured is found out
 * anew. */
static HB_COLD void leave_capture(hb_calls *c)
{
    atomic_store_explicit(&c->joined, 0, memory_order_release);
    forget_streams(c);
    hb_calls_choose_way(c);
}

static inline bool has_left_capture(const hb_calls *c)
{
    uint32_t joined = atomic_load_explicit(&c->joined, memory_order_relaxed);
    return HB_UNLIKELY(joined) &&
           joined != atomic_load_explicit(&hb_captures_ended, memory_order_relaxed);
}

/* A frame whose end was never told stands for a call that has returned: the stack, which grows
 * downwards, is above it now. */
static inline bool is_stale(const hb_calls *c, const char *here)
{
    return c->depth && c->frames[c->depth - 1].stack <= here;
}

static HB_COLD void drop_stale(hb_calls *c, const char *here)
{
    while (is_stale(c, here))
        c->depth--;
    hb_calls_settle(hb_thread_tls, c);
}

static inline hb_frame *push(uint32_t cid, const char *here)
{
    uint32_t epoch = __atomic_load_n(&hb_enabled_epoch, __ATOMIC_ACQUIRE);
    if (cid >= hb_calls_runtime.source.num_functions || epoch == 0) return NULL;
    const hb_hip_call *call = &hb_calls_runtime.rows[cid];
    hb_calls *c = call->kind == HB_CALL_HIDDEN ? NULL : calls_self();
    if (!c || c->ours) return NULL;
    if (HB_UNLIKELY(epoch_of(c) != epoch)) begin_session(c, epoch);
    if (HB_UNLIKELY(is_stale(c, here))) drop_stale(c, here);
    if (HB_UNLIKELY(has_left_capture(c))) leave_capture(c);
    if (c->depth == HB_CALLS_MAX_DEPTH) return NULL;
    hb_frame *f = &c->frames[c->depth++];
    hb_calls_settle(hb_thread_tls, c);
    f->call = call;
    f->cid = cid;
    f->stack = here;
    f->record = NULL;
    f->work = 0;
    f->is = (struct hb_call_is){0};
    f->ptr = NULL;
    f->bytes = 0;
    f->counted = NULL;
    f->correlation = take_correlation(c);
    hb_count(&c->seen);
    f->start = hb_ticks();
    return f;
}

hb_frame *hb_calls_push(uint32_t cid, const char *stack)
{
    return push(cid, stack);
}

/* ---- device work ---- */

/* One of each so many: of a loop that launches the same kernels over and over it must not be the
 * same one each time. The first, so that few launches have one. */
bool hb_calls_pass_over_times(void)
{
    hb_calls *c = hb_thread_tls->calls;
    uint32_t each = atomic_load_explicit(&hb_calls_sampling, memory_order_relaxed);
    if (HB_LIKELY(each <= 1)) return false;
    bool passed_over = c->launch != c->picked;
    if (++c->launch >= each) {
        c->launch = 0;
        c->random = c->random * 1664525u + 1013904223u + c->owner;
        c->picked = (uint32_t)((uint64_t)c->random * each >> 32);
    }
    return passed_over;
}

/* The call makes work of its own correlation, if its kind does. */
static inline void make_work_of_correlation(hb_frame *f)
{
    hb_calls *c = hb_thread_tls->calls;
    bool now = !hb_calls_capture(c);
    if (hb_call_is_launch(f->call)) {
        f->is.untimed = hb_calls_pass_over_times();
        if (f->is.untimed) return;
        f->work = f->correlation;
        if (now) hb_count(f->counted = &c->made);
        c->captured += !now;
        return;
    }
    switch (f->call->kind) {
    case HB_CALL_COPY:
    case HB_CALL_COPY_2D:
    case HB_CALL_COPY_PEER:
    case HB_CALL_FILL:
    case HB_CALL_FILL_2D:
    case HB_CALL_WORK: f->counted = &c->expected; break;
    case HB_CALL_GRAPH_LAUNCH: break;
    default: return;
    }
    f->work = f->correlation;
    if (!now) f->counted = NULL;
    if (f->counted) hb_count(f->counted);
}

static inline void may_make_work(hb_frame *f)
{
    make_work_of_correlation(f);
    f->is.unsure = f->work == 0;
    f->work = f->correlation;
}

void hb_call_may_make_work(hb_frame *f)
{
    may_make_work(f);
}

hb_frame *hb_calls_push_work(uint32_t cid, const char *stack)
{
    hb_frame *f = push(cid, stack);
    if (f) may_make_work(f);
    return f;
}

static void put_link(const hb_frame *f, uint64_t work)
{
    hb_thread *t = hb_record_enter();
    if (!t) return;
    hb_record_link *r = (hb_record_link *)hb_record_reserve(t, sizeof *r);
    if (r) {
        hb_record_head(&r->head, HB_RECORD_LINK, 0, HB_STRING_UNNAMED, sizeof *r);
        r->head.start = f->start;
        r->correlation = f->correlation;
        r->work = work;
        hb_record_commit(t, &r->head);
    }
    hb_thread_leave(t);
}

/* It runs now, whatever its thread captures: HIP 5.2 puts no hipModuleLaunchKernel into a graph,
 * and other streams may not be captured. */
static void is_not_captured(const hb_frame *f)
{
    hb_thread *t = f->record ? hb_record_enter() : NULL;
    if (!t) return;
    hb_record *head = &f->record->head;
    if (hb_call_is_there(t, f))
        __atomic_store_n(&head->flags, head->flags & ~HB_RECORD_CAPTURED, __ATOMIC_RELAXED);
    hb_thread_leave(t);
}

void hb_call_made_work(uint64_t work)
{
    hb_thread *t = hb_thread_tls;
    hb_calls *c = t ? t->calls : NULL;
    if (!c || c->depth == 0) return;
    hb_frame *f = &c->frames[c->depth - 1];
    if (hb_calls_capture(c)) is_not_captured(f);
    hb_count(&c->made);
    f->counted = &c->made; /* unless the call fails after all */
    if (!f->work)
        f->work = work;
    else if (f->record)
        put_link(f, work);
}

/* Launches are counted already; what a copy or a fill was expected to make gets certain. */
void hb_call_made_certainly(hb_frame *f)
{
    hb_calls *c = hb_thread_tls->calls;
    bool more = f->is.promised && f->counted == &c->made;
    if (f->counted == &c->expected) {
        hb_uncount(&c->expected);
        f->counted = &c->made;
        more = true;
    }
    if (more) hb_count(&c->made);
    f->is.promised = f->is.promised || more;
}

void hb_graph_made(uint64_t works)
{
    hb_calls *c = hb_thread_tls->calls;
    hb_count_more(&c->made, works);
}

void hb_call_made_no_more(hb_frame *f)
{
    hb_calls *c = hb_thread_tls->calls;
    if (f->counted != &c->expected) return;
    hb_uncount(&c->expected); /* the host has done it itself */
    f->counted = NULL;
}

/* 0, or the work that this thread has just reported, of a session that has ended. */
static __thread uint64_t late_work;
static __thread bool of_nobody; /* of one that has ended, and waits no more */

/* The present session's, where ids tell it; else 0. Set before it begins: threads take its ids as
 * soon as it does. */
static _Atomic uint64_t first_work;

uint64_t hb_calls_end_session(void)
{
    uint64_t next = hb_calls_last_id() + 1;
    if (hb_calls_runtime.source.by_correlation) atomic_store(&first_work, next);
    return next;
}

static void report(const hb_record_work *work, enum hb_record_type type, size_t bytes)
{
    of_nobody = false;
    late_work = hb_late_reports_pending() && hb_late_take(work, type, bytes) ? work->work : 0;
    if (late_work) return;
    hb_thread *t = work->kind ? hb_record_enter() : NULL;
    /* Asked for within the session: nothing that ended before it began comes into it. */
    of_nobody = work->work && work->work < atomic_load(&first_work);
    if (t && of_nobody) hb_thread_leave(t);
    if (!t || of_nobody) return;
    hb_record *r = hb_record_reserve(t, (uint32_t)bytes);
    if (r) {
        memcpy(r, work, bytes);
        hb_record_head(r, type, work->head.flags, work->head.name, bytes);
        r->start = hb_ticks();
        hb_record_commit(t, r);
    }
    hb_thread_leave(t);
}

void hb_work_report(const hb_record_work *work)
{
    report(work, HB_RECORD_WORK, sizeof *work);
}

void hb_dispatch_report(const hb_record_dispatch *dispatch)
{
    report(&dispatch->work, HB_RECORD_DISPATCH, sizeof *dispatch);
}

void hb_work_arrived(bool certain)
{
    hb_calls *c = late_work || of_nobody ? NULL : calls_self();
    if (late_work) hb_late_arrived(late_work, certain);
    if (c) hb_count(certain ? &c->arrived : &c->completed);
}
