/* SPDX-License-Identifier: MIT
 *
 * Scopes that are recorded when they are over, since only then it is known that they are worth it.
 */
#include "record/record.h"

/* Not 0 of a thread without a chunk, as one is that has recorded nothing so far. */
static uintptr_t place_of(const hb_thread *t)
{
    return (uintptr_t)t->pos | 2;
}

uintptr_t hb_record_place(void)
{
    hb_thread *t = hb_record_enter();
    uintptr_t place = t ? place_of(t) : 0;
    if (t) hb_thread_leave(t);
    return place;
}

static void put_annotation(hb_thread *t, uint32_t name, uint64_t start)
{
    hb_record *r = hb_record_reserve(t, sizeof *r);
    if (!r) return;
    hb_record_head(r, HB_RECORD_ANNOTATION, 0, name, sizeof *r);
    r->start = start;
    r->end = hb_ticks();
    hb_record_commit(t, r);
    t->next_id++;
}

bool hb_record_annotation_since(uint32_t name, uint64_t start, uintptr_t place)
{
    hb_thread *t = hb_record_enter();
    if (!t) return true;
    bool first = place_of(t) == place;
    if (first && start >= t->session->start.ticks) put_annotation(t, name, start);
    hb_thread_leave(t);
    return first;
}
