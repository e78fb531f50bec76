/* SPDX-License-Identifier: MIT
 *
 * Launches of kernels, which programs call most. Those of a known kernel on a known stream go a
 * short way, from the back-end's callback to the record without a call, a lock or a look at
 * anything but a few lines of the cache; all others the way of other calls (calls.h). Which one is
 * decided twice: when the call begins, and when its arguments are there.
 */
#ifndef HB_HIP_LAUNCHES_H
#define HB_HIP_LAUNCHES_H

#include "hip/calls_runtime.h"

/* Of enum hb_quick_launch: where the arguments behind the function, grid and block are. */
enum {
    HB_QUICK_HOST_LDS = 48,
    HB_QUICK_HOST_STREAM = 56,
    HB_QUICK_DEVICE_LDS = 32,
    HB_QUICK_DEVICE_STREAM = 40,
};

/** Moves when kernels or streams may mean others. */
extern HB_OWN _Atomic uint32_t hb_launch_generation;

/** The session in which launches may go the short way; 0: none. */
extern HB_OWN _Atomic uint32_t hb_launch_quick_epoch;

/** In the running session, as far as it wants the times of all; no more before it leaves off. */
void hb_launches_go_quickly(bool possible);

#define HB_CORRELATIONS_AT_ONCE 1024u /* a power of two; the first of them is not used */

/** hb_calls_push() of a launch that can go the short way so far; NULL: all others. `frame`: of the
 * function that the runtime calls. Has not all that other frames have, until
 * hb_launch_leave_short_way(). */
static inline hb_frame *hb_launch_push(uint32_t cid, const void *frame)
{
    hb_thread *t = hb_thread_tls;
    hb_calls *c = t ? t->calls : NULL;
    if (HB_UNLIKELY(!c || cid >= HB_CALLS_QUICK_FUNCTIONS)) return NULL;
    uint32_t epoch = atomic_load_explicit(&hb_launch_quick_epoch, memory_order_acquire);
    uint64_t correlation = c->correlation + 1;
    if (!hb_calls_runtime.quick[cid] || c->quick != epoch ||
        correlation % HB_CORRELATIONS_AT_ONCE == 0)
        return NULL;
    hb_frame *f = &c->frames[0];
    c->quick = HB_NOT_QUICK;
    c->depth = 1;
    t->call = f;
    atomic_signal_fence(memory_order_seq_cst); /* a handler's calls are inside of this one */
    c->correlation = correlation;
    f->correlation = f->work = correlation;
    f->stack = frame;
    f->cid = cid;
    f->is = (struct hb_call_is){.quick = true};
    hb_count(&c->launches);
    f->start = hb_ticks_of_counter();
    return f;
}

/** From now on it is a frame like others. */
static inline void hb_launch_leave_short_way(hb_frame *f)
{
    hb_calls *c = hb_thread_tls->calls;
    if (!f->is.quick) return;
    f->call = &hb_calls_runtime.rows[f->cid];
    f->counted = hb_calls_runtime.source.by_correlation ? &c->made : NULL;
    if (!f->is.placed) f->record = NULL;
    f->is.quick = false;
}

static inline hb_launch_site *hb_launch_site_of(hb_calls *c, const void *function, uint64_t stream)
{
    enum { SHIFT = 53, MASK = (HB_CALLS_SITES - 1) * sizeof(hb_launch_site) };
    uint64_t mixed = ((uint64_t)(uintptr_t)function + 8 * stream) * 0x9e3779b97f4a7c15u;
    return (hb_launch_site *)(void *)((char *)c->sites + (mixed >> SHIFT & MASK));
}

/** What stands in a launch's arguments. Grid and block are read as single numbers, `stride` apart:
 * the runtime has just stored them so, and what is read across two stores waits until they have
 * left for the cache. */
typedef struct hb_launch_args {
    const void *function;
    uint64_t stream;
    const uint32_t *grid, *block;
    int stride;
    uint32_t lds; /* dynamic */
} hb_launch_args;

static inline uint32_t hb_launch_number(const uint32_t *extent, int stride, int i)
{
    return __atomic_load_n(&extent[stride * i], __ATOMIC_RELAXED);
}

static inline void hb_launch_set_extent(hb_record_launch *r, const hb_launch_args *a)
{
    r->grid[0] = hb_launch_number(a->grid, a->stride, 0);
    r->grid[1] = hb_launch_number(a->grid, a->stride, 1);
    r->grid[2] = hb_launch_number(a->grid, a->stride, 2);
    r->block[0] = (uint16_t)hb_launch_number(a->block, a->stride, 0);
    r->block[1] = (uint16_t)hb_launch_number(a->block, a->stride, 1);
    r->block[2] = (uint16_t)hb_launch_number(a->block, a->stride, 2);
}

/* From a field on, as far as the two lie alike. */
#define HB_COPY_PART(record, site, field, bytes)                      \
    memcpy((char *)(record) + offsetof(__typeof__(*(record)), field), \
           (const char *)(site) + offsetof(hb_launch_site, field), bytes)

/* All of the record but its scopes and what a call's end tells. */
static inline void hb_launch_fill(hb_record_launch *r, const hb_frame *f, const hb_launch_site *s,
                                  const hb_launch_args *a, unsigned flags)
{
    hb_record_head(&r->call.head, HB_RECORD_LAUNCH, flags, s->name, sizeof *r);
    r->call.head.start = f->start;
    r->call.external_id = r->call.annotation_id = 0;
    r->call.annotation = r->call.error_name = 0;
    r->call.correlation = f->correlation;
    r->call.work = f->work;
    HB_COPY_PART(&r->call, s, stream, 16);
    hb_launch_set_extent(r, a);
    r->agprs = s->agprs;
    r->dynamic_lds_bytes = a->lds;
    HB_COPY_PART(r, s, kernel, 16);
    if (HB_UNLIKELY(a->lds)) r->lds_bytes += a->lds;
}

/** The scopes that a call is in, if there are any. */
void hb_call_name_scopes(const hb_thread *t, hb_record_call *r);

/** That, and hb_thread_leave(). */
HB_COLD void hb_call_name_scopes_and_leave(hb_thread *t, hb_record_call *r);

/** hb_call_begin() of any launch. */
void hb_launch_put(hb_frame *f, const char *args);

/** hb_call_begin() of a launch that was pushed so; false: that has to do it. */
static inline __attribute__((always_inline)) bool hb_launch_begin(hb_thread *t, hb_frame *f,
                                                                  const hb_launch_args *a,
                                                                  const void *frame)
{
    const hb_launch_site *s = hb_launch_site_of(t->calls, a->function, a->stream);
    uint32_t busy = atomic_load_explicit(&t->busy, memory_order_relaxed);
    if (HB_UNLIKELY(s->function != a->function || s->stream != a->stream || s->cid != f->cid ||
                    s->generation !=
                        atomic_load_explicit(&hb_launch_generation, memory_order_relaxed) ||
                    (busy & 1)))
        return false;
    hb_thread_enter_quickly(t, busy, frame);
    uint32_t epoch = __atomic_load_n(hb_live_epoch, __ATOMIC_ACQUIRE);
    hb_record_launch *r = (hb_record_launch *)t->pos;
    if (HB_UNLIKELY(epoch == 0 || t->epoch != epoch || (size_t)(t->end - t->pos) < sizeof *r)) {
        hb_thread_leave(t);
        return false;
    }
    hb_launch_fill(r, f, s, a, 0);
    hb_record_take_in(t, &r->call.head, sizeof *r);
    f->record = &r->call;
    f->epoch = epoch;
    f->is.placed = true;
    if (t->depth)
        hb_call_name_scopes_and_leave(t, &r->call);
    else
        hb_thread_leave(t);
    return true;
}

/** Whether nothing unusual has happened to a launch that hb_launch_push() gave: its record is
 * placed, and its work was asked about. */
static inline bool hb_launch_is_usual(const hb_frame *f)
{
    static const struct hb_call_is usual = {.quick = true, .placed = true, .work_asked = true};
    return memcmp(&f->is, &usual, sizeof usual) == 0;
}

/** hb_call_end() of a launch that succeeded, and whose record is placed; `told`: its work was not
 * known then. False: that has to do it. */
static inline bool hb_launch_end(hb_thread *t, hb_frame *f, bool told, const void *frame)
{
    uint64_t now = hb_ticks_of_counter();
    hb_calls *c = t->calls;
    hb_record_call *r = f->record;
    uint32_t busy = atomic_load_explicit(&t->busy, memory_order_relaxed);
    if (HB_UNLIKELY(busy & 1)) return false;
    hb_thread_enter_quickly(t, busy, frame);
    /* In its session the record is there, hb_call_is_there(). */
    if (HB_LIKELY(__atomic_load_n(hb_live_epoch, __ATOMIC_ACQUIRE) == f->epoch &&
                  __atomic_load_n(&r->head.end, __ATOMIC_RELAXED) == 0)) {
        if (told) __atomic_store_n(&r->work, f->work, __ATOMIC_RELAXED);
        __atomic_store_n(&r->head.end, now, __ATOMIC_RELEASE); /* last: with it, it is whole */
    }
    hb_thread_leave(t);
    t->call = NULL;
    c->depth = 0;
    c->quick = c->usual;
    return true;
}

#endif
