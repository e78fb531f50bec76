/* SPDX-License-Identifier: MIT
 *
 * A module as the loader shows it at any moment of its loading: made by the test, which fills in
 * what the loader would, and shown by the test's dl_iterate_phdr() behind those that there are.
 */
#ifndef HB_TEST_CRAFTED_MODULE_H
#define HB_TEST_CRAFTED_MODULE_H

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__aarch64__)
enum {
    CRAFTED_CALL = R_AARCH64_JUMP_SLOT,
    CRAFTED_ADDRESS = R_AARCH64_GLOB_DAT,
    CRAFTED_DATA = R_AARCH64_ABS64
};
#else
enum {
    CRAFTED_CALL = R_X86_64_JUMP_SLOT,
    CRAFTED_ADDRESS = R_X86_64_GLOB_DAT,
    CRAFTED_DATA = R_X86_64_64
};
#endif

enum { CRAFTED_IMPORTS = 4, CRAFTED_BYTES = 0x4000 };

/** What the file has in the word of a call: where the loader is called, without the base. */
#define CRAFTED_UNRELOCATED ((void *)0x1036)

typedef struct crafted_module {
    void *words[2 * CRAFTED_IMPORTS]; /* of calls, of addresses */
    ElfW(Dyn) dynamic[8];
    ElfW(Sym) symbols[2 * CRAFTED_IMPORTS + 1];
    ElfW(Rela) relocations[2 * CRAFTED_IMPORTS];
    ElfW(Phdr) segments[2];
    char names[2 * CRAFTED_IMPORTS + 1][32];
} crafted_module;

static _Alignas(4096) union {
    crafted_module m;
    char bytes[CRAFTED_BYTES];
} crafted;

static bool crafted_is_shown;
static unsigned crafted_loads;    /* which the loader has counted */
static uintptr_t crafted_program; /* there is one at this low address, of 4096 bytes; 0: none */

/** The word after its relocation, while the loader has not yet looked the function up. */
static inline void *crafted_stub(void)
{
    return crafted.bytes + (uintptr_t)CRAFTED_UNRELOCATED;
}

static inline uintptr_t crafted_offset(const void *part)
{
    return (uintptr_t)part - (uintptr_t)&crafted;
}

/** The n-th call, and the n-th address, are imports of this name; the word. */
static inline void **crafted_import(int n, const char *name, bool call, int binding)
{
    int i = call ? n : CRAFTED_IMPORTS + n;
    crafted_module *m = &crafted.m;
    strncpy(m->names[i + 1], name, sizeof m->names[0] - 1);
    m->symbols[i + 1] = (ElfW(Sym)){.st_name = (ElfW(Word))((char *)m->names[i + 1] - m->names[0]),
                                    .st_info = ELF64_ST_INFO(binding, STT_FUNC)};
    m->relocations[i] = (ElfW(Rela)){
        .r_offset = crafted_offset(&m->words[i]),
        .r_info = ELF64_R_INFO((uint64_t)i + 1, call ? CRAFTED_CALL : CRAFTED_ADDRESS)};
    m->words[i] = call ? CRAFTED_UNRELOCATED : NULL;
    return &m->words[i];
}

/** The n-th address is one that the program's data begins with, and may have changed since. */
static inline void **crafted_data(int n, const char *name)
{
    void **word = crafted_import(n, name, false, STB_GLOBAL);
    int i = CRAFTED_IMPORTS + n;
    crafted.m.relocations[i].r_info = ELF64_R_INFO((uint64_t)i + 1, CRAFTED_DATA);
    return word;
}

/** Without any import, and shown from now on. */
static inline void crafted_begin(void)
{
    crafted_module *m = &crafted.m;
    size_t half = CRAFTED_IMPORTS * sizeof *m->relocations;
    const ElfW(Dyn) dynamic[] = {
        {DT_JMPREL, {(uintptr_t)m->relocations}},
        {DT_PLTRELSZ, {half}},
        {DT_PLTREL, {DT_RELA}},
        {DT_RELA, {(uintptr_t)(m->relocations + CRAFTED_IMPORTS)}},
        {DT_RELASZ, {half}},
        {DT_SYMTAB, {(uintptr_t)m->symbols}},
        {DT_STRTAB, {(uintptr_t)m->names}},
        {DT_NULL, {0}},
    };
    memset(&crafted, 0, sizeof crafted);
    memcpy(m->dynamic, dynamic, sizeof dynamic);
    m->segments[0] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_memsz = sizeof crafted};
    m->segments[1] = (ElfW(Phdr)){.p_type = PT_DYNAMIC, .p_vaddr = crafted_offset(m->dynamic)};
    crafted_is_shown = true;
    crafted_loads++;
}

/** It is unloaded. */
static inline void crafted_end(void)
{
    crafted_is_shown = false;
    crafted_program = 0;
}

typedef struct crafted_listener {
    int (*fn)(struct dl_phdr_info *info, size_t size, void *arg);
    void *arg;
} crafted_listener;

/* Sanitizers call these before they are ready. */
#define CRAFTED_PLAIN __attribute__((no_sanitize("address", "thread", "undefined")))

CRAFTED_PLAIN static inline int crafted_count(struct dl_phdr_info *info, size_t size, void *arg)
{
    const crafted_listener *l = arg;
    struct dl_phdr_info counted = *info;
    counted.dlpi_adds += crafted_loads;
    return l->fn(&counted, size, l->arg);
}

/* Not only for hipboard within the test: for its library, too. */
CRAFTED_PLAIN int dl_iterate_phdr(int (*fn)(struct dl_phdr_info *info, size_t size, void *arg),
                                  void *arg)
{
    static int (*real)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    const ElfW(Phdr) low = {.p_type = PT_LOAD, .p_vaddr = crafted_program, .p_memsz = 4096};
    struct dl_phdr_info program = {.dlpi_name = "", .dlpi_phdr = &low, .dlpi_phnum = 1};
    struct dl_phdr_info module = {.dlpi_addr = (uintptr_t)&crafted,
                                  .dlpi_name = "",
                                  .dlpi_phdr = crafted.m.segments,
                                  .dlpi_phnum = 2};
    if (!real) {
        void *found = dlsym(RTLD_NEXT, "dl_iterate_phdr");
        memcpy(&real, &found, sizeof real);
    }
    int result = crafted_program ? fn(&program, sizeof program, arg) : 0;
    if (result == 0) result = real(crafted_count, &(crafted_listener){fn, arg});
    return result || !crafted_is_shown ? result : fn(&module, sizeof module, arg);
}

#endif
