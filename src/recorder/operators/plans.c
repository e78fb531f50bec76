/* SPDX-License-Identifier: MIT
 *
 * Lists by hash, whose entries are never freed, but used again for other objects. An entry's key
 * tells whose it is: FREE of nobody, BUSY while it is written.
 */
#include "operators/plans.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { LISTS = 1024, FREE = 0, BUSY = 1 };

typedef struct plan {
    _Atomic uint64_t object; /* set with release when the rest is; read with acquire */
    struct plan *next;
    hb_op_description description;
} plan;

/* Partner of each other: who sees an entry sees its `next`. */
static _Atomic(plan *) lists[LISTS];

static _Atomic(plan *) *list_of(uint64_t object)
{
    return &lists[(object * UINT64_C(0x9e3779b97f4a7c15)) >> 54];
}

static plan *find(uint64_t object)
{
    plan *p = atomic_load_explicit(list_of(object), memory_order_acquire);
    while (p && atomic_load_explicit(&p->object, memory_order_acquire) != object)
        p = p->next;
    return p;
}

static bool claim(plan *p, uint64_t of)
{
    return atomic_compare_exchange_strong(&p->object, &of, BUSY);
}

/* A free one of the object's list, or a new one at its beginning; busy. */
static plan *take(uint64_t object)
{
    _Atomic(plan *) *list = list_of(object);
    plan *p = atomic_load_explicit(list, memory_order_acquire);
    for (; p; p = p->next)
        if (claim(p, object) || claim(p, FREE)) return p;
    p = calloc(1, sizeof *p);
    if (!p) return NULL;
    atomic_store_explicit(&p->object, BUSY, memory_order_relaxed);
    p->next = atomic_load_explicit(list, memory_order_relaxed);
    while (!atomic_compare_exchange_weak(list, &p->next, p)) {
    }
    return p;
}

void hb_plan_remember(uint64_t object, const hb_op_description *description)
{
    if (object <= BUSY) return;
    hb_plan_forget(object);
    plan *p = take(object);
    if (!p) return;
    p->description = *description;
    atomic_store_explicit(&p->object, object, memory_order_release);
}

void hb_plan_forget(uint64_t object)
{
    plan *p = object > BUSY ? find(object) : NULL;
    if (p) atomic_compare_exchange_strong(&p->object, &object, FREE);
}

bool hb_plan_recall(uint64_t object, hb_op_description *description)
{
    plan *p = object > BUSY ? find(object) : NULL;
    if (p) *description = p->description;
    return p != NULL;
}
