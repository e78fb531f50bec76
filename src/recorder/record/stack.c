/* SPDX-License-Identifier: MIT
 *
 * Frames are walked by libunwind, which caches what it learns of each address, or by the compiler's
 * own unwinder; they are given names by elfutils, which knows lines and inlined functions, or by
 * the dynamic linker, which knows exported functions.
 */
#include "record/stack.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/base.h"

/* libunwind clears its cache of a thread after ThreadSanitizer has let go of the thread. */
#if defined(HB_HAVE_LIBUNWIND) && !defined(HB_TSAN)
#define WALK_BY_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#else
#include <unwind.h>
#endif

#ifdef HB_HAVE_LIBDW
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#endif

/* ---- walking ---- */

#ifdef WALK_BY_LIBUNWIND

static uint32_t walk(uint64_t pcs[HB_STACK_MAX])
{
    _Static_assert(sizeof(void *) == sizeof(uint64_t), "program counters are 64 bits");
    int n = unw_backtrace((void **)pcs, (int)HB_STACK_MAX);
    return n > 0 ? (uint32_t)n : 0;
}

#else

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
    walk_state w = {pcs, 0};
    _Unwind_Backtrace(visit, &w);
    return w.n;
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

/* ---- naming ---- */

typedef struct slot {
    uint64_t pc;
    uint32_t offset, size; /* in `texts` */
} slot;

struct hb_symbolizer {
    slot *slots; /* open addressing by pc */
    uint32_t mask, count;
    hb_buf texts, stack;
#ifdef HB_HAVE_LIBDW
    Dwfl *dwfl;
#endif
};

/* In libstdc++, which C programs don't have. */
extern char *__cxa_demangle(const char *, char *, size_t *, int *) __attribute__((weak));

/* ';' would end the frame. */
static void put_name(hb_buf *to, const char *name)
{
    int status = -1;
    char *demangled = __cxa_demangle ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
    size_t start = to->size;
    hb_buf_str(to, demangled ? demangled : name);
    for (size_t i = start; i < to->size; i++)
        if (to->data[i] == ';') to->data[i] = ',';
    free(demangled);
}

/* The functions of hipboard.hpp, which record: where they are called from is of interest. */
static bool is_own(const char *function)
{
    return strncmp(function, "_ZN8hipboard", 12) == 0;
}

static void put_frame(hb_buf *to, const char *file, int line, const char *function, uint64_t pc)
{
    if (function && is_own(function)) return;
    hb_buf_printf(to, "%s(%d): ", file ? file : "?", line);
    if (function)
        put_name(to, function);
    else
        hb_buf_printf(to, "0x%llx", (unsigned long long)pc);
    hb_buf_append(to, ";", 1);
}

static void put_frame_by_linker(hb_buf *to, uint64_t pc)
{
    Dl_info info = {0};
    if (!dladdr((void *)(uintptr_t)pc, &info)) info.dli_fname = NULL;
    put_frame(to, info.dli_fname, 0, info.dli_sname, pc);
}

#ifdef HB_HAVE_LIBDW

static Dwfl *dwfl_open(void)
{
    static char *debuginfo_path; /* NULL: the default */
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_linux_proc_find_elf,
        .find_debuginfo = dwfl_build_id_find_debuginfo, /* local files only */
        .debuginfo_path = &debuginfo_path,
    };
    Dwfl *dwfl = dwfl_begin(&callbacks);
    if (dwfl && dwfl_linux_proc_report(dwfl, getpid()) == 0 &&
        dwfl_report_end(dwfl, NULL, NULL) == 0)
        return dwfl;
    if (dwfl) dwfl_end(dwfl);
    return NULL;
}

static const char *function_name(Dwarf_Die *die)
{
    static const unsigned names[] = {DW_AT_MIPS_linkage_name, DW_AT_linkage_name, DW_AT_name};
    for (size_t i = 0; i < HB_ARRAY_LEN(names); i++) {
        Dwarf_Attribute attribute;
        const char *name = dwarf_formstring(dwarf_attr_integrate(die, names[i], &attribute));
        if (name) return name;
    }
    return NULL;
}

/* The line that an inlined function was called from. */
static void call_site(Dwarf_Die *cu, Dwarf_Die *inlined, const char **file, int *line)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value;
    Dwarf_Files *files;
    size_t n;
    *line = 0;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &value) == 0)
        *line = (int)value;
    if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &value) == 0 &&
        dwarf_getsrcfiles(cu, &files, &n) == 0 && value < n)
        *file = dwarf_filesrc(files, value, NULL, NULL);
}

/* The entries around `pc`, innermost first, as they lie in the code. What dwarf_getscopes() gives
 * goes on, behind an inlined function, with where that was written instead. */
static int scopes_at(Dwarf_Die *cu, Dwarf_Addr pc, Dwarf_Die **scopes)
{
    Dwarf_Die *innermost = NULL;
    int n = dwarf_getscopes(cu, pc, &innermost);
    if (n > 0) n = dwarf_getscopes_die(&innermost[0], scopes);
    free(innermost);
    return n;
}

/* Code of a compilation unit. */
typedef struct unit_range {
    Dwarf_Addr start, end;
    Dwarf_Die *unit;
} unit_range;

static int by_start(const void *a, const void *b)
{
    const unit_range *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

/* All code of a module, in order. */
static hb_buf *list_units(Dwfl_Module *module)
{
    hb_buf *list = malloc(sizeof *list);
    Dwarf_Addr bias, base;
    if (!list) return NULL;
    hb_buf_init(list, (size_t)256 << 20);
    for (Dwarf_Die *unit = NULL; (unit = dwfl_module_nextcu(module, unit, &bias));) {
        unit_range r = {.unit = unit};
        for (ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &r.start, &r.end)) > 0;)
            hb_buf_append(list, &r, sizeof r);
    }
    if (list->size)
        qsort(list->data, list->size / sizeof(unit_range), sizeof(unit_range), by_start);
    return list;
}

static Dwarf_Die *find_unit(const hb_buf *list, Dwarf_Addr address)
{
    const unit_range *ranges = (const unit_range *)list->data;
    size_t low = 0, high = list->size / sizeof *ranges;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low > 0 && address < ranges[low - 1].end ? ranges[low - 1].unit : NULL;
}

/* The compilation unit that `pc` is in. gcc leaves a table of them (.debug_aranges), out of which
 * elfutils also gives the unit before a gap. clang leaves none: for its modules one is made. */
static Dwarf_Die *unit_at(Dwfl_Module *module, uint64_t pc, Dwarf_Addr *bias)
{
    void **kept;
    Dwarf_Die *unit = dwfl_module_addrdie(module, pc, bias);
    if (unit && dwarf_haspc(unit, pc - *bias) > 0) return unit;
    if (!dwfl_module_getdwarf(module, bias)) return NULL;
    dwfl_module_info(module, &kept, NULL, NULL, NULL, NULL, NULL, NULL);
    if (!*kept) *kept = list_units(module);
    return *kept ? find_unit(*kept, pc - *bias) : NULL;
}

static int forget_units(Dwfl_Module *module, void **kept, const char *name, Dwarf_Addr start,
                        void *arg)
{
    (void)module, (void)name, (void)start, (void)arg;
    if (*kept) hb_buf_free(*kept);
    free(*kept);
    *kept = NULL;
    return DWARF_CB_OK;
}

static void dwfl_close(Dwfl *dwfl)
{
    if (!dwfl) return;
    dwfl_getmodules(dwfl, forget_units, NULL, 0);
    dwfl_end(dwfl);
}

/* The functions around `pc` in its compilation unit; false when it tells of none. */
static bool put_functions(hb_buf *to, Dwarf_Die *unit, uint64_t pc, Dwarf_Addr bias,
                          const char *file, int line)
{
    Dwarf_Die *scopes = NULL;
    int n = scopes_at(unit, pc - bias, &scopes);
    bool found = false;
    for (int i = 0; i < n; i++) {
        int tag = dwarf_tag(&scopes[i]);
        if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine) continue;
        put_frame(to, file, line, function_name(&scopes[i]), pc);
        found = true;
        if (tag == DW_TAG_subprogram) break;
        call_site(unit, &scopes[i], &file, &line);
    }
    free(scopes);
    return found;
}

static void put_frames(hb_symbolizer *s, uint64_t pc)
{
    /* A return address may already be the next line's. */
    uint64_t call = pc - 1;
    Dwfl_Module *module = s->dwfl ? dwfl_addrmodule(s->dwfl, call) : NULL;
    if (!module) {
        put_frame_by_linker(&s->texts, call);
        return;
    }
    Dwarf_Addr bias = 0;
    int line = 0;
    Dwarf_Die *unit = unit_at(module, call, &bias);
    Dwarf_Line *source = unit ? dwarf_getsrc_die(unit, call - bias) : NULL;
    const char *file = source ? dwarf_linesrc(source, NULL, NULL) : NULL;
    if (source) dwarf_lineno(source, &line);
    if (unit && put_functions(&s->texts, unit, call, bias, file, line)) return;
    if (!file) file = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    put_frame(&s->texts, file, line, dwfl_module_addrname(module, call), call);
}

#else

static void put_frames(hb_symbolizer *s, uint64_t pc)
{
    put_frame_by_linker(&s->texts, pc - 1);
}

#endif

/* ---- the cache ---- */

hb_symbolizer *hb_symbolizer_new(void)
{
    hb_symbolizer *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    hb_buf_init(&s->texts, (size_t)256 << 20);
    hb_buf_init(&s->stack, (size_t)4 << 20);
    s->mask = 1023;
    s->slots = calloc((size_t)s->mask + 1, sizeof *s->slots);
    if (!s->slots) {
        free(s);
        return NULL;
    }
#ifdef HB_HAVE_LIBDW
    s->dwfl = dwfl_open();
#endif
    return s;
}

void hb_symbolizer_free(hb_symbolizer *s)
{
    if (!s) return;
#ifdef HB_HAVE_LIBDW
    dwfl_close(s->dwfl);
#endif
    hb_buf_free(&s->texts);
    hb_buf_free(&s->stack);
    free(s->slots);
    free(s);
}

static slot *slot_of(hb_symbolizer *s, uint64_t pc)
{
    uint32_t i = (uint32_t)(pc * 0x9e3779b97f4a7c15u >> 32) & s->mask;
    while (s->slots[i].pc && s->slots[i].pc != pc)
        i = (i + 1) & s->mask;
    return &s->slots[i];
}

static bool cache_grow(hb_symbolizer *s)
{
    slot *old = s->slots;
    uint32_t n = s->mask + 1;
    slot *slots = calloc((size_t)n * 2, sizeof *slots);
    if (!slots) return false;
    s->slots = slots;
    s->mask = n * 2 - 1;
    for (uint32_t i = 0; i < n; i++)
        if (old[i].pc) *slot_of(s, old[i].pc) = old[i];
    free(old);
    return true;
}

static const slot *frames_of(hb_symbolizer *s, uint64_t pc)
{
    slot *found = slot_of(s, pc);
    if (found->pc == pc) return found;
    if (s->count > s->mask / 2) {
        if (!cache_grow(s)) return NULL;
        found = slot_of(s, pc);
    }
    uint32_t offset = (uint32_t)s->texts.size;
    put_frames(s, pc);
    *found = (slot){pc, offset, (uint32_t)s->texts.size - offset};
    s->count++;
    return found;
}

hb_str hb_symbolizer_stack(hb_symbolizer *s, const uint64_t *pcs, uint32_t count)
{
    s->stack.size = 0;
    s->stack.failed = false;
    for (uint32_t i = 0; i < count && pcs[i]; i++) {
        const slot *f = frames_of(s, pcs[i]);
        if (!f || s->texts.failed) break;
        hb_buf_append(&s->stack, s->texts.data + f->offset, f->size);
    }
    return (hb_str){s->stack.data, (uint32_t)s->stack.size};
}
