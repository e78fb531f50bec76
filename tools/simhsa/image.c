/* SPDX-License-Identifier: MIT
 *
 * Files come from compilers but also from broken builds: every offset is checked before it is used.
 */
#include "image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#ifndef EM_AMDGPU
#define EM_AMDGPU 224
#endif
enum { R_AMDGPU_ABS64 = 3, R_AMDGPU_RELATIVE64 = 13 };

#define KERNEL_DESCRIPTOR_SIZE 64

typedef struct elf_file {
    const char *bytes;
    size_t size;
    const Elf64_Ehdr *header;
    const Elf64_Shdr *sections;
    const Elf64_Phdr *segments;
} elf_file;

/* `count` records of `record` bytes at `offset`; NULL when they are not all in the file. */
static const void *records(const elf_file *elf, uint64_t offset, uint64_t count, uint64_t record)
{
    if (offset > elf->size || offset % 8 != 0 || count > (elf->size - offset) / record) return NULL;
    return elf->bytes + offset;
}

static bool open_elf(elf_file *elf, const void *file, size_t size)
{
    *elf = (elf_file){.bytes = file, .size = size, .header = file};
    const Elf64_Ehdr *h = file;
    if (size < sizeof *h) return false;
    if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_machine != EM_AMDGPU || h->e_shentsize != sizeof(Elf64_Shdr) ||
        h->e_phentsize != sizeof(Elf64_Phdr))
        return false;
    elf->sections = records(elf, h->e_shoff, h->e_shnum, sizeof *elf->sections);
    elf->segments = records(elf, h->e_phoff, h->e_phnum, sizeof *elf->segments);
    return elf->sections && elf->segments;
}

static const Elf64_Shdr *find_section(const elf_file *elf, uint32_t type)
{
    for (unsigned i = 0; i < elf->header->e_shnum; i++)
        if (elf->sections[i].sh_type == type) return &elf->sections[i];
    return NULL;
}

/* ---- segments ---- */

/* Bytes from address 0 to behind the last segment; 0 when there is none or one makes no sense. */
static uint64_t image_size(const elf_file *elf)
{
    uint64_t top = 0;
    for (unsigned i = 0; i < elf->header->e_phnum; i++) {
        const Elf64_Phdr *p = &elf->segments[i];
        if (p->p_type != PT_LOAD) continue;
        if (p->p_filesz > p->p_memsz || p->p_offset > elf->size ||
            p->p_filesz > elf->size - p->p_offset || p->p_vaddr > UINT32_MAX ||
            p->p_memsz > UINT32_MAX)
            return 0;
        if (p->p_vaddr + p->p_memsz > top) top = p->p_vaddr + p->p_memsz;
    }
    return top;
}

static void copy_segments(const elf_file *elf, char *base)
{
    for (unsigned i = 0; i < elf->header->e_phnum; i++) {
        const Elf64_Phdr *p = &elf->segments[i];
        if (p->p_type == PT_LOAD) memcpy(base + p->p_vaddr, elf->bytes + p->p_offset, p->p_filesz);
    }
}

/* ---- symbols ---- */

typedef struct symbol_table {
    const Elf64_Sym *symbols;
    size_t count;
    size_t names_size;
} symbol_table;

/* The dynamic symbols; their names go to image->names, with a NUL behind the last. */
static bool read_symbols(const elf_file *elf, sim_image *image, symbol_table *table)
{
    const Elf64_Shdr *dynsym = find_section(elf, SHT_DYNSYM);
    if (!dynsym || dynsym->sh_link >= elf->header->e_shnum) return false;
    const Elf64_Shdr *dynstr = &elf->sections[dynsym->sh_link];
    if (dynstr->sh_offset > elf->size || dynstr->sh_size > elf->size - dynstr->sh_offset)
        return false;
    table->count = dynsym->sh_size / sizeof *table->symbols;
    table->symbols = records(elf, dynsym->sh_offset, table->count, sizeof *table->symbols);
    table->names_size = dynstr->sh_size;
    image->names = calloc(1, dynstr->sh_size + 1);
    if (!table->symbols || !image->names) return false;
    memcpy(image->names, elf->bytes + dynstr->sh_offset, dynstr->sh_size);
    return true;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

static int compare_symbols(const void *a, const void *b)
{
    return strcmp(((const sim_symbol *)a)->name, ((const sim_symbol *)b)->name);
}

/* Keeps the defined objects (kernel descriptors and variables), sorted by name. */
static bool keep_symbols(sim_image *image, const symbol_table *table, uint64_t size)
{
    image->symbols = calloc(table->count ? table->count : 1, sizeof *image->symbols);
    if (!image->symbols) return false;
    for (size_t i = 0; i < table->count; i++) {
        const Elf64_Sym *s = &table->symbols[i];
        if (s->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s->st_info) != STT_OBJECT) continue;
        if (s->st_name >= table->names_size || s->st_value > size ||
            s->st_size > size - s->st_value)
            return false;
        const char *name = image->names + s->st_name;
        bool is_kernel = s->st_size == KERNEL_DESCRIPTOR_SIZE && ends_with(name, ".kd");
        image->symbols[image->symbol_count++] = (sim_symbol){
            .name = name,
            .address = (uint64_t)(uintptr_t)image->base + s->st_value,
            .size = s->st_size,
            .is_kernel = is_kernel,
        };
    }
    qsort(image->symbols, image->symbol_count, sizeof *image->symbols, compare_symbols);
    return true;
}

/* ---- relocations: pointers in initialised variables ---- */

static bool symbol_value(const sim_image *image, const symbol_table *table, uint64_t index,
                         sim_resolve_fn resolve, void *context, uint64_t *value)
{
    if (index >= table->count) return false;
    const Elf64_Sym *s = &table->symbols[index];
    if (s->st_name >= table->names_size) return false;
    *value = s->st_shndx != SHN_UNDEF ? (uint64_t)(uintptr_t)image->base + s->st_value
                                      : resolve(context, image->names + s->st_name);
    return *value != 0 || ELF64_ST_BIND(s->st_info) == STB_WEAK;
}

static bool relocate(const elf_file *elf, const sim_image *image, const symbol_table *table,
                     uint64_t size, sim_resolve_fn resolve, void *context)
{
    const Elf64_Shdr *section = find_section(elf, SHT_RELA);
    size_t count = section ? section->sh_size / sizeof(Elf64_Rela) : 0;
    const Elf64_Rela *r = count ? records(elf, section->sh_offset, count, sizeof *r) : NULL;
    if (count && !r) return false;
    for (; count; count--, r++) {
        uint64_t value = (uint64_t)(uintptr_t)image->base;
        if (r->r_offset > size - sizeof value) return false;
        if (ELF64_R_TYPE(r->r_info) == R_AMDGPU_ABS64) {
            if (!symbol_value(image, table, ELF64_R_SYM(r->r_info), resolve, context, &value))
                return false;
        } else if (ELF64_R_TYPE(r->r_info) != R_AMDGPU_RELATIVE64) {
            continue; /* of code, which is not run */
        }
        value += (uint64_t)r->r_addend;
        memcpy(image->base + r->r_offset, &value, sizeof value);
    }
    return true;
}

static hsa_status_t load_aligned(const void *file, size_t size, sim_pool *pool,
                                 sim_resolve_fn resolve, void *context, sim_image *image)
{
    elf_file elf;
    symbol_table table;
    *image = (sim_image){0};
    if (!open_elf(&elf, file, size)) return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    uint64_t bytes = image_size(&elf);
    if (bytes < sizeof(uint64_t)) return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
    image->base = sim_memory_allocate(pool, bytes);
    if (!image->base) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    image->size = bytes;
    copy_segments(&elf, image->base);
    if (read_symbols(&elf, image, &table) && keep_symbols(image, &table, bytes) &&
        relocate(&elf, image, &table, bytes, resolve, context))
        return HSA_STATUS_SUCCESS;
    sim_image_unload(image);
    return HSA_STATUS_ERROR_INVALID_CODE_OBJECT;
}

/* Programs embed code objects in byte arrays of any alignment. */
hsa_status_t sim_image_load(const void *file, size_t size, sim_pool *pool, sim_resolve_fn resolve,
                            void *context, sim_image *image)
{
    if ((uintptr_t)file % 8 == 0) return load_aligned(file, size, pool, resolve, context, image);
    void *copy = malloc(size);
    if (!copy) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    memcpy(copy, file, size);
    hsa_status_t status = load_aligned(copy, size, pool, resolve, context, image);
    free(copy);
    return status;
}

void sim_image_unload(sim_image *image)
{
    if (image->base) sim_memory_free(image->base);
    free(image->symbols);
    free(image->names);
    *image = (sim_image){0};
}
