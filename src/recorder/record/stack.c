/* SPDX-License-Identifier: MIT
 *
 * Frames are walked by libunwind, which caches what it learns of each address, or, where there is
 * none, by the C library.
 */
#include "record/stack.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/base.h"
#include "record/thread.h"

typedef int backtrace_function(void **pcs, int most);

/* Its unw_backtrace(). Stored once, by hb_stack_prepare(); read by recording threads, which need no
 * more of the other thread than the pointer. */
static _Atomic(backtrace_function *) libunwind;

/* ---- room to walk in ---- */

/* Below who walks, in bytes. A thread's first walk by libunwind 1.6 took 5.0 KiB, later ones 3.3.
 */
#define WALK_ROOM ((uintptr_t)8192)
#define PAGE      ((uintptr_t)4096)
#define FAR       ((uintptr_t)8 << 20)

/* Where the calling thread was seen to run on a stack that is not the small one that a program may
 * give its signal handlers. A handler that interrupts a change sees a part of it. */
static __thread uintptr_t own_from, own_to;

/* Another stack far away, a fiber's, takes the place of the one before: an alternate stack may lie
 * between them. */
static void remember_own(uintptr_t at)
{
    uintptr_t from = at & ~(PAGE - 1), to = from + PAGE;
    bool near = own_from < own_to && from + FAR > own_from && from < own_to + FAR;
    if (near && own_from < from) from = own_from;
    if (near && own_to > to) to = own_to;
    own_to = own_to < to ? own_to : to; /* at no moment more than the old or the new one */
    own_from = from;
    own_to = to;
}

static HB_COLD bool alternate_has_room(uintptr_t at)
{
    stack_t alternate;
    if (sigaltstack(NULL, &alternate) != 0) return true;
    if (alternate.ss_flags & SS_ONSTACK) return at - (uintptr_t)alternate.ss_sp >= WALK_ROOM;
    remember_own(at);
    return true;
}

/* Of the classic 8 KiB a processor with large registers takes three for a signal's frame. */
static bool has_room(void)
{
    uintptr_t at = (uintptr_t)__builtin_frame_address(0);
    if (HB_LIKELY(at >= own_from && at < own_to) || alternate_has_room(at)) return true;
    hb_lost_add(HB_LOST_TOO_BIG);
    return false;
}

static _Atomic uint64_t left_out;

void hb_stack_leave_out(const void *return_address)
{
    atomic_store_explicit(&left_out, (uint64_t)(uintptr_t)return_address, memory_order_relaxed);
}

static uint32_t without_left_out(uint64_t *pcs, uint32_t count)
{
    uint64_t out = atomic_load_explicit(&left_out, memory_order_relaxed);
    uint32_t kept = 0; /* no frame's is 0 */
    for (uint32_t i = 0; i < count; i++)
        if (pcs[i] != out) pcs[kept++] = pcs[i];
    return kept;
}

static uint32_t walk(uint64_t pcs[HB_STACK_MAX])
{
    if (!has_room()) return 0;
    _Static_assert(sizeof(void *) == sizeof(uint64_t), "program counters are 64 bits");
    backtrace_function *by_libunwind = atomic_load_explicit(&libunwind, memory_order_relaxed);
    int n = (by_libunwind ? by_libunwind : backtrace)((void **)pcs, (int)HB_STACK_MAX);
    return n > 0 ? without_left_out(pcs, (uint32_t)n) : 0;
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

/* ---- code that is not the program's ---- */

enum { PASSED_OVER_MOST = 8 };

typedef struct code_range {
    uint64_t start, end;
} code_range;

/* Who sets a start from 0 has the slot; its end, stored last, makes it valid. */
static struct {
    _Atomic uint64_t start, end;
} passed_over[PASSED_OVER_MOST];

typedef struct search {
    uint64_t address;
    code_range found;
} search;

static int look_in(struct dl_phdr_info *info, size_t size, void *context)
{
    search *s = context;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + p->p_vaddr;
        bool inside = s->address >= start && s->address < start + p->p_memsz;
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && inside)
            s->found = (code_range){start, start + p->p_memsz};
    }
    return s->found.end != 0;
}

static bool is_passed_over(uint64_t pc)
{
    for (unsigned i = 0; i < PASSED_OVER_MOST; i++) {
        uint64_t end = atomic_load_explicit(&passed_over[i].end, memory_order_acquire);
        uint64_t start = atomic_load_explicit(&passed_over[i].start, memory_order_relaxed);
        if (pc >= start && pc < end) return true;
    }
    return false;
}

void hb_stack_pass_over(const void *address)
{
    search s = {.address = (uint64_t)(uintptr_t)address};
    if (is_passed_over(s.address)) return;
    dl_iterate_phdr(look_in, &s);
    for (unsigned i = 0; s.found.end && i < PASSED_OVER_MOST; i++) {
        uint64_t none = 0;
        if (!atomic_compare_exchange_strong(&passed_over[i].start, &none, s.found.start)) continue;
        atomic_store_explicit(&passed_over[i].end, s.found.end, memory_order_release);
        return;
    }
}

uint32_t hb_stack_capture_outside(uint64_t pcs[HB_STACK_MAX])
{
    uint32_t n = walk(pcs), own = 0;
    while (own < n && is_passed_over(pcs[own]))
        own++;
    memmove(pcs, pcs + own, (n - own) * sizeof *pcs);
    return n - own;
}

void hb_stack_prepare(void)
{
    static atomic_bool tried;
    uint64_t pcs[HB_STACK_MAX];
    if (atomic_exchange(&tried, true)) return;
    load_libunwind();
    void (*here)(void) = hb_stack_prepare;
    const void *address;
    memcpy(&address, &here, sizeof address);
    hb_stack_pass_over(address);
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
