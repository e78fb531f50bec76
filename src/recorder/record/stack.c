/* SPDX-License-Identifier: MIT
 *
 * Frames are walked by libunwind, which caches what it learns of each address, or, where there is
 * none, by the C library.
 */
#include "record/stack.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <stdatomic.h>

#include "base/base.h"

typedef int backtrace_function(void **pcs, int most);

/* Its unw_backtrace(). Stored once, by hb_stack_prepare(); read by recording threads, which need no
 * more of the other thread than the pointer. */
static _Atomic(backtrace_function *) libunwind;

static uint32_t walk(uint64_t pcs[HB_STACK_MAX])
{
    _Static_assert(sizeof(void *) == sizeof(uint64_t), "program counters are 64 bits");
    backtrace_function *by_libunwind = atomic_load_explicit(&libunwind, memory_order_relaxed);
    int n = (by_libunwind ? by_libunwind : backtrace)((void **)pcs, (int)HB_STACK_MAX);
    return n > 0 ? (uint32_t)n : 0;
}

#ifndef HB_TSAN /* libunwind clears its cache of a thread after TSan has let go of the thread */
static void load_libunwind(void)
{
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    backtrace_function *function = NULL;
    if (library) *(void **)&function = dlsym(library, "unw_backtrace");
    atomic_store_explicit(&libunwind, function, memory_order_relaxed);
}
#else
#define load_libunwind() ((void)0)
#endif

void hb_stack_prepare(void)
{
    static atomic_bool tried;
    uint64_t pcs[HB_STACK_MAX];
    if (atomic_exchange(&tried, true)) return;
    load_libunwind();
    walk(pcs); /* what it sets up at its first call is not for a recording thread */
}

uint32_t hb_stack_capture(uint64_t pcs[HB_STACK_MAX], const void *caller)
{
    uint32_t n = walk(pcs), own = 0;
    while (own < n && pcs[own] != (uint64_t)(uintptr_t)caller)
        own++;
    if (own == n) return n;
    memmove(pcs, pcs + own, (n - own) * sizeof *pcs);
    return n - own;
}
