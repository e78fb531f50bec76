/* SPDX-License-Identifier: MIT
 *
 * An import is a word in the module's data that the loader fills in, as a relocation tells it. The
 * words may lie in pages that the loader has made read-only since ("RELRO"): such a page is made
 * writable for the moment. Pages of a module that is being loaded right now by another thread are
 * still writable, and stay so: the loader is not done with them. It shows a module, and counts it,
 * before it comes to its imports: those hold what the file has, and to what is put there it may add
 * the base.
 */
#include "interpose/got_patch.h"

#include <link.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { R_CALL = R_X86_64_JUMP_SLOT, R_ADDRESS = R_X86_64_GLOB_DAT, R_DATA = R_X86_64_64 };
#elif defined(__aarch64__)
enum { R_CALL = R_AARCH64_JUMP_SLOT, R_ADDRESS = R_AARCH64_GLOB_DAT, R_DATA = R_AARCH64_ABS64 };
#else
enum { R_CALL = -1, R_ADDRESS = -1, R_DATA = -1 };
#endif

bool hb_imports_known(void)
{
    return R_CALL != -1;
}

typedef struct module {
    const char *path;
    uintptr_t base, begin, end; /* load address; its segments */
    uintptr_t relro, relro_end; /* whole pages */
    const ElfW(Rela) * calls, *others;
    size_t num_calls, num_others;
    const ElfW(Sym) * symbols;
    const char *strings;
    bool relro_known, relro_writable;
} module;

typedef struct request {
    hb_import_fn replacement;
    hb_module_fn wanted;
    uintptr_t except;
    uintptr_t low, low_end; /* a program that lies where it was linked to */
    unsigned foreign;
    bool unfinished;
} request;

/* ---- what a module has ---- */

static void find_segments(module *m, const struct dl_phdr_info *info, const ElfW(Dyn) * *dynamic)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    m->base = info->dlpi_addr;
    m->path = info->dlpi_name ? info->dlpi_name : "";
    m->begin = UINTPTR_MAX;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = m->base + p->p_vaddr;
        if (p->p_type == PT_DYNAMIC) *dynamic = (const ElfW(Dyn) *)at;
        if (p->p_type == PT_LOAD) {
            m->begin = HB_MIN(m->begin, at);
            m->end = HB_MAX(m->end, at + p->p_memsz);
        }
        if (p->p_type == PT_GNU_RELRO) { /* as the C library rounds it */
            m->relro = at & ~(page - 1);
            m->relro_end = (at + p->p_memsz) & ~(page - 1);
        }
    }
}

/* The C library has made the addresses of most modules absolute. */
static uintptr_t absolute(const module *m, uintptr_t address)
{
    return address < m->base ? m->base + address : address;
}

static bool read_module(module *m, const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *d = NULL;
    bool with_addends = true;
    size_t relative = 0;
    *m = (module){0};
    find_segments(m, info, &d);
    for (; d && d->d_tag != DT_NULL; d++) {
        uintptr_t at = absolute(m, d->d_un.d_ptr);
        switch (d->d_tag) {
        case DT_JMPREL: m->calls = (const ElfW(Rela) *)at; break;
        case DT_PLTRELSZ: m->num_calls = d->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_PLTREL: with_addends = d->d_un.d_val == DT_RELA; break;
        case DT_RELA: m->others = (const ElfW(Rela) *)at; break;
        case DT_RELASZ: m->num_others = d->d_un.d_val / sizeof(ElfW(Rela)); break;
        case DT_RELACOUNT: relative = d->d_un.d_val; break;
        case DT_SYMTAB: m->symbols = (const ElfW(Sym) *)at; break;
        case DT_STRTAB: m->strings = (const char *)at; break;
        default: break;
        }
    }
    relative = HB_MIN(relative, m->num_others);
    if (relative) m->others += relative; /* those come first and are no imports */
    m->num_others -= relative;
    return m->symbols && m->strings && with_addends;
}

/* ---- writing ---- */

static bool is_writable(uintptr_t address)
{
    char line[512], access[8] = "";
    uintptr_t begin, end;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps) return false;
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s", &begin, &end, access) == 3 && begin <= address &&
            address < end)
            break;
    fclose(maps);
    return access[1] == 'w';
}

static bool is_locked(module *m, uintptr_t at)
{
    if (at < m->relro || m->relro_end <= at) return false;
    if (!m->relro_known) m->relro_writable = is_writable(m->relro);
    m->relro_known = true;
    return !m->relro_writable;
}

static void write_word(module *m, uintptr_t at, void *value)
{
    bool locked = is_locked(m, at);
    void *pages = (void *)m->relro;
    size_t size = m->relro_end - m->relro;
    if (locked && mprotect(pages, size, PROT_READ | PROT_WRITE) != 0) return;
    __atomic_store_n((void **)at, value, __ATOMIC_RELEASE);
    if (locked) mprotect(pages, size, PROT_READ);
}

/* ---- replacing ---- */

static bool is_in(const module *m, uintptr_t address)
{
    return m->begin <= address && address < m->end;
}

/* The file has nothing there, or for a call, where in the module the loader is to be called. Of
 * data that holds nothing this is not known: the program may have written that. */
static bool is_as_in_file(const request *q, const module *m, const ElfW(Rela) * r, uintptr_t now)
{
    const ElfW(Sym) *symbol = &m->symbols[ELF64_R_SYM(r->r_info)];
    if (!now) /* what is weak may be missing, and is */
        return ELF64_R_TYPE(r->r_info) != R_DATA && ELF64_ST_BIND(symbol->st_info) != STB_WEAK;
    bool of_program = q->low <= now && now < q->low_end;
    return ELF64_R_TYPE(r->r_info) == R_CALL && m->base && is_in(m, m->base + now) && !of_program;
}

static void replace(request *q, module *m, const ElfW(Rela) * r)
{
    uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
    const ElfW(Sym) *symbol = &m->symbols[ELF64_R_SYM(r->r_info)];
    if (type != R_CALL && type != R_ADDRESS && (type != R_DATA || r->r_addend)) return;
    if (ELF64_R_SYM(r->r_info) == 0 || symbol->st_shndx != SHN_UNDEF) return;
    uintptr_t at = m->base + r->r_offset;
    void *now = __atomic_load_n((void **)at, __ATOMIC_ACQUIRE);
    bool stub = type == R_CALL && is_in(m, (uintptr_t)now);
    bool unready = !stub && is_as_in_file(q, m, r, (uintptr_t)now);
    if (!now && !unready) return;
    hb_import import = {.name = m->strings + symbol->st_name,
                        .module = m->path,
                        .base = m->base,
                        .now = stub || unready ? NULL : now,
                        .unready = unready};
    void *real = NULL, *other = q->replacement(&import, &real);
    if (!other) return;
    if (unready)
        q->unfinished = true;
    else if (now == real || stub)
        write_word(m, at, other);
    else if (now != other && type == R_CALL)
        q->foreign++;
}

static void note_program(request *q, const struct dl_phdr_info *info)
{
    module m = {0};
    const ElfW(Dyn) * d;
    if (info->dlpi_addr != 0) return;
    find_segments(&m, info, &d);
    q->low = m.begin;
    q->low_end = m.end;
}

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    request *q = arg;
    module m;
    (void)size;
    note_program(q, info);
    if (q->wanted && !q->wanted(info->dlpi_addr, info->dlpi_name ? info->dlpi_name : "")) return 0;
    if (!read_module(&m, info)) return 0;
    if (is_in(&m, q->except) || is_in(&m, (uintptr_t)&hb_imports_replace)) return 0;
    for (size_t i = 0; i < m.num_calls; i++)
        replace(q, &m, &m.calls[i]);
    for (size_t i = 0; i < m.num_others; i++)
        replace(q, &m, &m.others[i]);
    return 0;
}

bool hb_imports_replace(hb_import_fn replacement, hb_module_fn wanted, const void *except,
                        unsigned *foreign)
{
    request q = {.replacement = replacement, .wanted = wanted, .except = (uintptr_t)except};
    dl_iterate_phdr(visit, &q);
    *foreign = q.foreign;
    return !q.unfinished;
}

static int take_counts(struct dl_phdr_info *info, size_t size, void *arg)
{
    hb_module_counts *counts = arg;
    (void)size;
    *counts = (hb_module_counts){info->dlpi_adds, info->dlpi_subs};
    return 1;
}

hb_module_counts hb_count_modules(void)
{
    hb_module_counts counts = {0};
    dl_iterate_phdr(take_counts, &counts);
    return counts;
}
