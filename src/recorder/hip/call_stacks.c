/* SPDX-License-Identifier: MIT */
#include "hip/call_stacks.h"

#include "hip/calls_runtime.h"
#include "record/stack.h"

static uint64_t hash_of(const uint64_t *pcs, uint32_t count)
{
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < count; i++) {
        hash = (hash ^ pcs[i]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash ? hash : 1;
}

/* A program launches from few places. Of a ring the first record may be dropped: there each is
 * whole. */
static bool is_known(hb_calls *c, uint64_t hash, uint32_t epoch)
{
    bool ring = __atomic_load_n(&hb_recording_now.flags, __ATOMIC_RELAXED) & HB_SESSION_RING;
    uint64_t *slot = &c->stacks[hash % HB_CALLS_KNOWN_STACKS];
    if (c->stacks_epoch != epoch) memset(c->stacks, 0, sizeof c->stacks);
    c->stacks_epoch = epoch;
    bool was = *slot == hash && !ring;
    *slot = hash;
    return was;
}

void hb_call_put_stack(const hb_frame *f)
{
    uint64_t pcs[HB_STACK_MAX];
    uint32_t n = hb_stack_capture_outside(pcs);
    hb_thread *t = f->record && n ? hb_record_enter() : NULL;
    if (!t) return;
    hb_calls *calls = t->calls;
    uint64_t hash = hash_of(pcs, n);
    size_t bytes = is_known(calls, hash, t->epoch) ? 0 : n * sizeof *pcs;
    hb_record_frames *r =
        (hb_record_frames *)hb_record_reserve(t, (uint32_t)(sizeof(hb_record_frames) + bytes));
    if (r) {
        hb_record_head(&r->head, HB_RECORD_FRAMES, 0, HB_STRING_UNNAMED, sizeof *r + bytes);
        r->head.start = f->start;
        r->correlation = f->correlation;
        r->hash = hash;
        memcpy(r + 1, pcs, bytes);
        hb_record_commit(t, &r->head);
    } else {
        calls->stacks_epoch = 0; /* it was not written after all */
    }
    hb_thread_leave(t);
}
