/* SPDX-License-Identifier: MIT
 *
 * Kernels are numbered from 1 in the order of their loading, and their numbers are not used again:
 * so they lie in pages that never move. A kernel's name is stored last, and says that it is there.
 */
#include "hip/rocprofiler_kernels.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "gpu/occupancy.h"
#include "hip/kernels.h"
#include "record/strings.h"

enum { PAGES = 4096, KERNELS_OF_PAGE = 1024 };

typedef struct entry {
    _Atomic uint32_t name; /* 0: not announced; released last, with acquire the rest is read */
    uint16_t vgprs, sgprs, agprs;
    bool blit;
} entry;

static _Atomic(entry *) pages[PAGES]; /* set once, whole; read with acquire */

static entry *page_of(uint64_t id, bool make)
{
    entry *page = atomic_load_explicit(&pages[id / KERNELS_OF_PAGE], memory_order_acquire);
    if (page || !make) return page;
    entry *fresh = calloc(KERNELS_OF_PAGE, sizeof *fresh);
    if (!fresh || atomic_compare_exchange_strong(&pages[id / KERNELS_OF_PAGE], &page, fresh))
        return fresh;
    free(fresh);
    return page;
}

static entry *entry_of(uint64_t id, bool make)
{
    entry *page = id / KERNELS_OF_PAGE < PAGES ? page_of(id, make) : NULL;
    return page ? &page[id % KERNELS_OF_PAGE] : NULL;
}

/* The symbol's name is its kernel descriptor's: with ".kd" behind it. */
static uint32_t intern_name(const hb_rocp *rocp, const char *symbol)
{
    size_t len = symbol ? strlen(symbol) : 0;
    if (len > 3 && strcmp(symbol + len - 3, ".kd") == 0) len -= 3;
    char *name = len ? strndup(symbol, len) : NULL;
    uint32_t id = hb_kernel_intern(rocp->demangle, name);
    free(name);
    return id;
}

/* ---- entries ---- */

static uint16_t registers(uint32_t count)
{
    return (uint16_t)HB_MIN(count, HB_REGISTERS_UNKNOWN);
}

void hb_rocp_kernel_add(const hb_rocp *rocp, const hb_rocp_kernel_symbol *symbol)
{
    if (symbol->size < offsetof(hb_rocp_kernel_symbol, padding)) return;
    entry *e = entry_of(symbol->kernel_id, true);
    if (!e || atomic_load_explicit(&e->name, memory_order_acquire)) return;
    e->vgprs = registers(symbol->arch_vgprs);
    e->sgprs = registers(symbol->sgprs);
    e->agprs = registers(symbol->accum_vgprs);
    e->blit = symbol->name && strncmp(symbol->name, "__amd_rocclr_", 13) == 0;
    atomic_store_explicit(&e->name, intern_name(rocp, symbol->name), memory_order_release);
}

hb_rocp_kernel hb_rocp_kernel_of(uint64_t kernel_id)
{
    const entry *e = entry_of(kernel_id, false);
    uint32_t name = e ? atomic_load_explicit(&e->name, memory_order_acquire) : 0;
    if (!name)
        return (hb_rocp_kernel){HB_STRING_UNNAMED, HB_REGISTERS_UNKNOWN, HB_REGISTERS_UNKNOWN,
                                HB_REGISTERS_UNKNOWN, false};
    return (hb_rocp_kernel){name, e->vgprs, e->sgprs, e->agprs, e->blit};
}
