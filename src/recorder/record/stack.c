/* SPDX-License-Identifier: MIT
 *
 * Frames are walked by libunwind, which caches what it learns of each address, or, where there is
 * none, by the compiler's own unwinder.
 */
#include "record/stack.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <unwind.h>

#include "base/base.h"

typedef int backtrace_function(void **pcs, int most);

/* Its unw_backtrace(). Stored once, by hb_stack_prepare(); read by recording threads, which need no
 * more of the other thread than the pointer. */
static _Atomic(backtrace_function *) libunwind;

typedef struct walk_state {
    uint64_t *pcs;
    uint32_t n;
} walk_state;

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *arg)
{
    walk_state *w = arg;
    uint64_t pc = _Unwind_GetIP(context);
    if (pc == 0 || w->n == HB_STACK_MAX) return _URC_END_OF_STACK;
    w->pcs[w->n++] = pc;
    return _URC_NO_REASON;
}

static uint32_t walk(uint64_t pcs[HB_STACK_MAX])
{
    _Static_assert(sizeof(void *) == sizeof(uint64_t), "program counters are 64 bits");
    backtrace_function *by_libunwind = atomic_load_explicit(&libunwind, memory_order_relaxed);
    if (by_libunwind) {
        int n = by_libunwind((void **)pcs, (int)HB_STACK_MAX);
        return n > 0 ? (uint32_t)n : 0;
    }
    walk_state w = {pcs, 0};
    _Unwind_Backtrace(visit, &w);
    return w.n;
}

/* libunwind clears its cache of a thread after ThreadSanitizer has let go of the thread. */
#ifdef HB_TSAN
void hb_stack_prepare(void) {}
#else
void hb_stack_prepare(void)
{
    static atomic_bool tried;
    if (atomic_exchange(&tried, true)) return;
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    backtrace_function *function = NULL;
    if (library) *(void **)&function = dlsym(library, "unw_backtrace");
    atomic_store_explicit(&libunwind, function, memory_order_relaxed);
    uint64_t pcs[HB_STACK_MAX];
    walk(pcs); /* what it sets up at its first call is not for a recording thread */
}
#endif

uint32_t hb_stack_capture(uint64_t pcs[HB_STACK_MAX], const void *caller)
{
    uint32_t n = walk(pcs), own = 0;
    while (own < n && pcs[own] != (uint64_t)(uintptr_t)caller)
        own++;
    if (own == n) return n;
    memmove(pcs, pcs + own, (n - own) * sizeof *pcs);
    return n - own;
}
