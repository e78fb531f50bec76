/* SPDX-License-Identifier: MIT
 *
 * A scope is one record, placed when it begins and completed when it ends; so a thread's records
 * lie in the order of their start, and what is open when a process dies is there, without an end.
 */
#include "record/record.h"

#include <hipboard/comm.h>
#include <pthread.h>
#include <stdlib.h>

#include "record/module_table.h"
#include "record/op_parts.h"
#include "record/stack.h"
#include "record/strings.h"
#include "trace/input_words.h"

uint32_t hb_enabled_epoch, hb_memory_enabled, hb_communication_epoch;
hb_recording hb_recording_now;

#define UNTRACKED HB_SCOPE_DEPTH /* depth of a scope deeper than HB_OPEN_MAX */

hb_record *hb_record_reserve(hb_thread *t, uint32_t bytes)
{
    if (HB_UNLIKELY((size_t)(t->end - t->pos) < bytes) && !hb_record_next_chunk(t, bytes))
        return NULL;
    return (hb_record *)t->pos;
}

hb_thread *hb_record_enter(void)
{
    return hb_record_enter_at(HB_FRAME);
}

/* ---- open scopes ---- */

static inline uint64_t end_of(const hb_record *r)
{
    return __atomic_load_n(&r->end, __ATOMIC_RELAXED);
}

static inline void set_end(hb_record *r, uint64_t now)
{
    /* Partner of the writer: when it sees the end, it sees the rest of the record. */
    __atomic_store_n(&r->end, now, __ATOMIC_RELEASE);
}

/* Another thread ended it; now its own knows, and will not look at it again. */
static HB_COLD void see_end(hb_record *r)
{
    if (end_of(r) & HB_END_ELSEWHERE) __atomic_fetch_or(&r->end, HB_END_SEEN, __ATOMIC_RELEASE);
}

/* Forgets scopes that other threads have ended (coroutines, scopes handed over). */
static HB_COLD void forget_ended(hb_thread *t)
{
    uint32_t depth = 0;
    for (uint32_t i = 0; i < t->depth; i++) {
        if (end_of(t->open[i].record))
            see_end(t->open[i].record);
        else
            t->open[depth++] = t->open[i];
    }
    t->depth = depth;
}

/* ---- begin ---- */

/* The scope's place among the thread's open ones; its handle. */
static inline hb_scope open_scope(hb_thread *t, hb_record *r, bool range)
{
    if (HB_UNLIKELY(t->depth >= HB_OPEN_MAX)) forget_ended(t);
    uint32_t depth = t->depth;
    uint64_t id = r->type == HB_RECORD_MODULE ? (depth ? t->open[depth - 1].id : 0) : t->next_id++;
    if (HB_UNLIKELY(depth >= HB_OPEN_MAX)) {
        depth = UNTRACKED;
    } else {
        t->open[depth] = (hb_open){r, id, range};
        t->depth = depth + 1;
    }
    return (hb_scope){r, t->epoch, depth | t->use};
}

static HB_COLD hb_scope begin_anyhow(uint32_t name, enum hb_record_type type, bool range,
                                     const void *frame)
{
    hb_scope scope = {0};
    hb_thread *t = hb_record_enter_at(frame);
    if (!t) return scope;
    hb_record *r = hb_record_reserve(t, sizeof *r);
    if (r) {
        hb_record_head(r, type, 0, name, sizeof *r);
        r->start = hb_ticks();
        hb_record_commit(t, r);
        scope = open_scope(t, r, range);
    }
    hb_thread_leave(t);
    return scope;
}

/* The running session, if the thread can take in so many bytes of it without a call; else 0. */
static inline uint32_t ready_epoch(const hb_thread *t, size_t bytes)
{
    uint32_t epoch = __atomic_load_n(hb_live_epoch, __ATOMIC_ACQUIRE);
    bool ready = t->epoch == epoch && t->depth < HB_OPEN_MAX && (size_t)(t->end - t->pos) >= bytes;
    return HB_LIKELY(ready) ? epoch : 0;
}

/* Takes in what ready_epoch() was asked for, and leaves. */
static inline hb_scope open_quickly(hb_thread *t, hb_record *r, uint32_t epoch, bool range)
{
    r->start = hb_ticks_of_counter();
    hb_record_commit(t, r);
    uint32_t depth = t->depth;
    uint32_t use = t->use;
    t->open[depth] = (hb_open){r, t->next_id++, range};
    t->depth = depth + 1;
    hb_thread_leave(t);
    return (hb_scope){r, epoch, depth | use};
}

/* The usual case, without a call: so nothing is saved on the stack. Whatever is otherwise goes the
 * long way from the beginning. */
static inline hb_scope begin_plain(uint32_t name, enum hb_record_type type, bool range,
                                   const void *frame)
{
    hb_thread *t = hb_thread_tls;
    uint32_t busy = t ? atomic_load_explicit(&t->busy, memory_order_relaxed) : 1;
    if (HB_UNLIKELY((busy & 1) || !hb_enters_quickly()))
        return begin_anyhow(name, type, range, frame);
    hb_thread_enter_quickly(t, busy, frame);
    uint32_t epoch = ready_epoch(t, sizeof(hb_record));
    if (HB_UNLIKELY(epoch == 0)) {
        hb_thread_leave(t);
        return begin_anyhow(name, type, range, frame);
    }
    hb_record *r = (hb_record *)t->pos;
    hb_record_head(r, type, 0, name, sizeof *r);
    return open_quickly(t, r, epoch, range);
}

/* Where a public function was called: its frame, and where it will return to, which is the
 * innermost frame of the program's stack. */
typedef struct call_site {
    const void *frame, *caller;
} call_site;

#define CALLED_FROM ((call_site){HB_FRAME, __builtin_return_address(0)})

static __attribute__((noinline)) hb_scope begin_full(uint32_t name, enum hb_record_type type,
                                                     const hb_op_info *info, bool range,
                                                     call_site from)
{
    hb_scope scope = {0};
    hb_thread *t = hb_record_enter_at(from.frame);
    if (!t) return scope;
    parts p;
    p.input_words = 0;
    measure(t, &p, info, from.caller);
    hb_record *r = hb_record_reserve(t, (uint32_t)p.bytes);
    if (r) {
        write_parts(t, r, &p, info, hb_known_inputs(t, name, from.caller));
        hb_record_head(r, type, p.flags, name, p.bytes);
        r->start = hb_ticks();
        hb_record_commit(t, r);
        scope = open_scope(t, r, range);
    }
    hb_thread_leave(t);
    return scope;
}

/* In a recording call, with room for a record of one word. */
static __attribute__((noinline)) hb_scope begin_new_inputs(uint32_t name, const hb_op_info *info,
                                                           const void *frame, const void *caller,
                                                           hb_thread *t, uint32_t epoch)
{
    hb_record *r = (hb_record *)t->pos;
    size_t words = hb_simple_inputs_words(info->inputs, info->num_inputs);
    size_t bytes = sizeof *r + words * 8;
    if (HB_UNLIKELY(words == 0 || !(t->flags & HB_SESSION_SHAPES) || bytes > HB_RECORD_MAX ||
                    (size_t)(t->end - t->pos) < bytes)) {
        hb_thread_leave(t);
        return begin_full(name, HB_RECORD_OP, info, false, (call_site){frame, caller});
    }
    uint64_t *at = (uint64_t *)(r + 1);
    hb_simple_inputs_encode(at, info->inputs, info->num_inputs, words);
    hb_inputs_keep(t, hb_known_inputs(t, name, caller), at, words);
    hb_record_head(r, HB_RECORD_OP, HB_RECORD_INPUTS, name, bytes);
    return open_quickly(t, r, epoch, false);
}

/* An operator of which only inputs are told, most often those that it had the last time. */
static __attribute__((noinline)) hb_scope begin_inputs(uint32_t name, const hb_op_info *info,
                                                       const void *frame, const void *caller)
{
    hb_thread *t = hb_thread_tls;
    uint32_t busy = t ? atomic_load_explicit(&t->busy, memory_order_relaxed) : 1;
    if (HB_UNLIKELY((busy & 1) || !hb_enters_quickly()))
        return begin_full(name, HB_RECORD_OP, info, false, (call_site){frame, caller});
    hb_thread_enter_quickly(t, busy, frame);
    enum { BYTES = sizeof(hb_record) + 8 };
    uint32_t epoch = ready_epoch(t, BYTES);
    if (HB_UNLIKELY(epoch == 0)) {
        hb_thread_leave(t);
        return begin_full(name, HB_RECORD_OP, info, false, (call_site){frame, caller});
    }
    uint16_t known = *hb_known_inputs(t, name, caller);
    if (HB_UNLIKELY(!hb_inputs_are_known(t, known, info->inputs, info->num_inputs)))
        return begin_new_inputs(name, info, frame, caller, t, epoch);
    hb_record *r = (hb_record *)t->pos;
    hb_record_head(r, HB_RECORD_OP, HB_RECORD_INPUTS, name, BYTES);
    *(uint64_t *)(r + 1) = known;
    return open_quickly(t, r, epoch, false);
}

static inline bool wants_stack(void)
{
    return HB_UNLIKELY(__atomic_load_n(&hb_recording_now.flags, __ATOMIC_RELAXED) &
                       HB_SESSION_STACK);
}

static inline hb_scope annotation(uint32_t name, bool range, call_site from)
{
    return wants_stack() ? begin_full(name, HB_RECORD_ANNOTATION, NULL, range, from)
                         : begin_plain(name, HB_RECORD_ANNOTATION, range, from.frame);
}

hb_scope hb_record_annotation(uint32_t name)
{
    return begin_plain(name, HB_RECORD_ANNOTATION, false, HB_FRAME);
}

hb_scope hb_record_function(const char *name)
{
    return HB_ENABLED() ? annotation(hb_record_name(name, HB_FRAME), false, CALLED_FROM)
                        : (hb_scope){0};
}

static HB_COLD hb_scope function_anyhow(hb_site *site, call_site from)
{
    return annotation(hb_record_site_id(site, from.frame), false, from);
}

/* Whatever else than the usual case is called last, so that nothing is saved for after it. */
hb_scope hb_record_function_site(hb_site *site)
{
    if (!site || !HB_ENABLED()) return (hb_scope){0};
    uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    if (HB_UNLIKELY(id == 0) || wants_stack()) return function_anyhow(site, CALLED_FROM);
    return begin_plain(id, HB_RECORD_ANNOTATION, false, HB_FRAME);
}

void hb_range_push(const char *name)
{
    if (HB_ENABLED()) annotation(hb_record_name(name, HB_FRAME), true, CALLED_FROM);
}

static __attribute__((noinline)) hb_scope op(uint32_t name, const hb_op_info *info, call_site from)
{
    if (HB_UNLIKELY(wants_stack()) || (info && (info->sequence_number || is_positive(info->flops))))
        return begin_full(name, HB_RECORD_OP, info, false, from);
    if (info && info->num_inputs && info->inputs)
        return begin_inputs(name, info, from.frame, from.caller);
    return begin_plain(name, HB_RECORD_OP, false, from.frame);
}

hb_scope hb_op(const char *name, const hb_op_info *info)
{
    return HB_ENABLED() ? op(hb_record_name(name, HB_FRAME), info, CALLED_FROM) : (hb_scope){0};
}

static HB_COLD hb_scope op_anyhow(hb_site *site, const hb_op_info *info, call_site from)
{
    return op(hb_record_site_id(site, from.frame), info, from);
}

hb_scope hb_op_site(hb_site *site, const hb_op_info *info)
{
    if (!site || !HB_ENABLED()) return (hb_scope){0};
    uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);
    if (HB_UNLIKELY(id == 0)) return op_anyhow(site, info, CALLED_FROM);
    return op(id, info, CALLED_FROM);
}

hb_scope hb_record_operator(uint32_t name, const hb_op_info *info, const void *frame,
                            const void *caller)
{
    return op(name, info, (call_site){frame, caller});
}

/* Behind `bytes` that are written already, after which it is taken in. */
static inline hb_scope open_communication(hb_thread *t, hb_record *r, size_t bytes,
                                          const hb_comm_words *comm, uint64_t flow)
{
    hb_store_words((char *)r + bytes, comm, sizeof *comm);
    r->start = hb_ticks();
    hb_record_commit(t, r);
    if (flow)
        hb_record_put_flow(t, (hb_record_flow *)t->pos, r->name, r->start, flow, HB_FLOW_BEGIN);
    t->next_id++; /* the first one is its annotation's; what it launches belongs to the call */
    return open_scope(t, r, false);
}

#define ROOM_FOR_COMM(head) ((uint32_t)((head) + sizeof(hb_comm_words) + sizeof(hb_record_flow)))

static HB_COLD hb_scope communication_with_stack(hb_thread *t, uint32_t name,
                                                 const hb_comm_words *comm, uint64_t flow,
                                                 const void *caller)
{
    parts p;
    p.input_words = 0;
    measure(t, &p, NULL, caller);
    hb_record *r = hb_record_reserve(t, ROOM_FOR_COMM(p.bytes));
    if (!r) return (hb_scope){0};
    hb_record_head(r, HB_RECORD_OP, p.flags | HB_RECORD_COMM, name, p.bytes + sizeof *comm);
    write_parts(t, r, &p, NULL, NULL);
    return open_communication(t, r, p.bytes, comm, flow);
}

hb_scope hb_record_communication(uint32_t name, const hb_comm_words *comm, uint64_t flow,
                                 const void *frame, const void *caller)
{
    hb_scope scope = {0};
    hb_record *r;
    hb_thread *t = hb_record_enter_at(frame);
    if (!t) return scope;
    if (HB_UNLIKELY(t->flags & HB_SESSION_STACK)) {
        scope = communication_with_stack(t, name, comm, flow, caller);
    } else if ((r = hb_record_reserve(t, ROOM_FOR_COMM(sizeof *r)))) {
        hb_record_head(r, HB_RECORD_OP, HB_RECORD_COMM, name, sizeof *r + sizeof *comm);
        scope = open_communication(t, r, sizeof *r, comm, flow);
    }
    hb_thread_leave(t);
    return scope;
}

/* As begin_full(), which is not to become slower by this. */
static HB_COLD hb_scope begin_own(uint32_t name, uint32_t category, const hb_scope_info *info,
                                  call_site from)
{
    hb_scope scope = {0};
    hb_thread *t = hb_record_enter_at(from.frame);
    if (!t) return scope;
    parts p;
    p.input_words = 0;
    measure(t, &p, info->op, from.caller);
    own_parts own = measure_own(info, category, HB_RECORD_MAX - p.bytes);
    size_t bytes = p.bytes + own.bytes;
    hb_record *r = hb_record_reserve(t, (uint32_t)bytes);
    if (r) {
        enum hb_record_type type = info->op ? HB_RECORD_OP : HB_RECORD_ANNOTATION;
        write_parts(t, r, &p, info->op, hb_known_inputs(t, name, from.caller));
        hb_record_head(r, type, p.flags | own.flags, name, p.bytes + own.bytes);
        write_own((uint64_t *)(void *)((char *)r + p.bytes), &own, info);
        r->start = hb_ticks();
        hb_record_commit(t, r);
        scope = open_scope(t, r, false);
    }
    hb_thread_leave(t);
    return scope;
}

/* A newer caller's may be longer, an older one's shorter. */
static HB_COLD hb_scope begin_with(uint32_t name, const hb_scope_info *info, call_site from)
{
    hb_scope_info own = {0};
    if (info && info->struct_size >= sizeof own.struct_size)
        memcpy(&own, info, HB_MIN(info->struct_size, sizeof own));
    return begin_own(name, hb_record_name(own.category, from.frame), &own, from);
}

hb_scope hb_scope_begin(const char *name, const hb_scope_info *info)
{
    return HB_ENABLED() ? begin_with(hb_record_name(name, HB_FRAME), info, CALLED_FROM)
                        : (hb_scope){0};
}

hb_scope hb_scope_begin_site(hb_site *site, const hb_scope_info *info)
{
    return site && HB_ENABLED() ? begin_with(hb_record_site_id(site, HB_FRAME), info, CALLED_FROM)
                                : (hb_scope){0};
}

hb_scope hb_module_call(hb_module module)
{
    hb_scope scope = {0};
    const hb_module_entry *entry = HB_ENABLED() ? hb_module_get(module) : NULL;
    hb_thread *t = entry ? hb_record_enter_at(HB_FRAME) : NULL;
    if (!t) return scope;
    hb_record_module *r =
        t->flags & HB_SESSION_MODULES ? (hb_record_module *)hb_record_reserve(t, sizeof *r) : NULL;
    if (r) {
        hb_record_head(&r->head, HB_RECORD_MODULE, 0, entry->name, sizeof *r);
        r->module_id = entry->index;
        memset(r->reserved, 0, sizeof r->reserved);
        r->head.start = hb_ticks();
        hb_record_commit(t, &r->head);
        scope = open_scope(t, &r->head, false);
    }
    hb_thread_leave(t);
    return scope;
}

/* ---- end ---- */

/* What is still open at this depth and deeper ends now. */
static HB_COLD void close_from(hb_thread *t, uint32_t depth, uint64_t now, bool count)
{
    for (uint32_t i = depth; i < t->depth; i++) {
        if (end_of(t->open[i].record)) {
            see_end(t->open[i].record);
            continue;
        }
        set_end(t->open[i].record, now);
        if (count) hb_lost_add(HB_LOST_UNBALANCED);
    }
    t->depth = depth;
}

/* A scope that another thread opened, or that is no longer this thread's. Only while its chunk is
 * still the one that it was opened in: ended scopes' chunks are used again. */
static HB_COLD void end_elsewhere(hb_thread *t, const hb_scope *scope, uint64_t now)
{
    if (t->epoch != scope->epoch && !hb_record_attach(t, scope->epoch)) return;
    hb_chunk_pool *pool = &t->spool->pool;
    hb_record *r = scope->record;
    uint64_t open = 0;
    uint32_t uses = atomic_load_explicit(&pool->uses[hb_pool_index(pool, r)], memory_order_relaxed);
    if (uses * (HB_SCOPE_DEPTH + 1) != (scope->depth & HB_SCOPE_USE)) return;
    if ((scope->depth & HB_SCOPE_DEPTH) != UNTRACKED) now |= HB_END_ELSEWHERE;
    __atomic_compare_exchange_n(&r->end, &open, now, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static inline void end_in(hb_thread *t, const hb_scope *scope, uint64_t now)
{
    uint32_t depth = scope->depth & HB_SCOPE_DEPTH;
    hb_record *r = scope->record;
    bool mine = t->epoch == scope->epoch && depth < t->depth && t->open[depth].record == r;
    if (HB_UNLIKELY(!mine)) {
        end_elsewhere(t, scope, now);
        return;
    }
    if (HB_UNLIKELY(depth + 1 != t->depth)) close_from(t, depth + 1, now, true);
    t->depth = depth;
    if (HB_LIKELY(end_of(r) == 0))
        set_end(r, now);
    else
        see_end(r);
}

static HB_COLD void end_anyhow(hb_scope *scope, const void *frame)
{
    uint64_t now = hb_ticks();
    hb_thread *t = hb_thread_begin_at(frame);
    if (HB_LIKELY(t != NULL)) {
        /* In the epoch that it began in, a scope's record is there. */
        if (HB_LIKELY(__atomic_load_n(hb_live_epoch, __ATOMIC_ACQUIRE) == scope->epoch))
            end_in(t, scope, now);
        hb_thread_leave(t);
    }
    scope->record = NULL;
}

/* The innermost scope, of this thread; see begin_plain(). */
static inline bool is_innermost(const hb_thread *t, const hb_scope *scope)
{
    uint32_t depth = scope->depth & HB_SCOPE_DEPTH;
    return t->epoch == scope->epoch && depth + 1 == t->depth &&
           t->open[depth].record == scope->record && end_of(scope->record) == 0;
}

void hb_scope_end(hb_scope *scope)
{
    if (!scope || !scope->record) return;
    hb_thread *t = hb_thread_tls;
    uint32_t busy = t ? atomic_load_explicit(&t->busy, memory_order_relaxed) : 1;
    if (HB_UNLIKELY((busy & 1) || !hb_enters_quickly())) {
        end_anyhow(scope, HB_FRAME);
        return;
    }
    uint64_t now = hb_ticks_of_counter();
    hb_thread_enter_quickly(t, busy, HB_FRAME);
    if (HB_UNLIKELY(__atomic_load_n(hb_live_epoch, __ATOMIC_ACQUIRE) != scope->epoch ||
                    !is_innermost(t, scope))) {
        hb_thread_leave(t);
        end_anyhow(scope, HB_FRAME);
        return;
    }
    t->depth--;
    set_end(scope->record, now);
    hb_thread_leave(t);
    scope->record = NULL;
}

void hb_record_communicated(const hb_scope *scope, const hb_comm_words *comm, bool keeps_number,
                            const void *frame)
{
    hb_thread *t = hb_thread_begin_at(frame);
    if (!t) return;
    if (__atomic_load_n(hb_live_epoch, __ATOMIC_ACQUIRE) == scope->epoch &&
        is_innermost(t, scope)) {
        hb_record *r = scope->record;
        hb_comm_words *at = (hb_comm_words *)((char *)r + (size_t)r->units * 8 - sizeof *comm);
        hb_comm_words now = *comm;
        if (keeps_number) now.words[HB_COMM_WORD_SEQUENCE] = at->words[HB_COMM_WORD_SEQUENCE];
        hb_store_words((char *)at, &now, sizeof now);
    }
    hb_thread_leave(t);
}

void hb_range_pop(void)
{
    uint64_t now = hb_ticks();
    hb_thread *t = HB_ENABLED() ? hb_record_enter_at(HB_FRAME) : NULL;
    if (!t) return;
    while (t->depth && end_of(t->open[t->depth - 1].record))
        see_end(t->open[--t->depth].record); /* another thread ended it */
    if (t->depth && t->open[t->depth - 1].range) close_from(t, t->depth - 1, now, false);
    hb_thread_leave(t);
}

void hb_record_close_all(hb_thread *t)
{
    uint64_t now = hb_ticks();
    if (!hb_thread_enter(t)) return;
    if (t->epoch && __atomic_load_n(hb_live_epoch, __ATOMIC_ACQUIRE) == t->epoch)
        close_from(t, 0, now, false);
    hb_record_leave_chunk(t);
    hb_thread_leave(t);
}

/* ---- what recording costs ---- */

enum { MEASURED_SCOPES = 256, MEASURED_ROUNDS = 8 };

static int64_t time_scopes(hb_thread *t)
{
    t->pos = (char *)(t->chunk + 1);
    t->end = t->pos + MEASURED_SCOPES * sizeof(hb_record);
    int64_t before = hb_clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < MEASURED_SCOPES; i++) {
        hb_thread_enter(t);
        hb_record *r = hb_record_reserve(t, sizeof *r);
        hb_record_head(r, HB_RECORD_OP, 0, HB_STRING_UNNAMED, sizeof *r);
        r->start = hb_ticks();
        hb_record_commit(t, r);
        hb_scope scope = open_scope(t, r, false);
        hb_thread_leave(t);
        uint64_t now = hb_ticks();
        hb_thread_enter(t);
        end_in(t, &scope, now);
        hb_thread_leave(t);
    }
    return hb_clock_ns(CLOCK_MONOTONIC) - before;
}

static double scope_ns;

/* The best of some rounds: the others were disturbed. */
static void measure_scope(void)
{
    hb_thread *t = calloc(1, sizeof *t);
    hb_chunk *chunk = calloc(1, sizeof *chunk + MEASURED_SCOPES * sizeof(hb_record));
    int64_t best = INT64_MAX;
    if (t && chunk) {
        t->chunk = chunk;
        for (int i = 0; i < MEASURED_ROUNDS; i++)
            best = HB_MIN(best, time_scopes(t));
        scope_ns = (double)best / MEASURED_SCOPES;
    }
    free(t);
    free(chunk);
}

double hb_record_scope_ns(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, measure_scope);
    return scope_ns;
}
