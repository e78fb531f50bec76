/* SPDX-License-Identifier: MIT
 *
 * Which functions that a program imports are operators by tables: of its file, without running it.
 */
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <hipboard/analysis.h>

#include "base/files.h"
#include "ops/op_list.h"

typedef struct image {
    const char *bytes;
    size_t size;
} image;

/* `size` bytes at an offset, or NULL: the file has not so many. */
static const void *part(const image *file, uint64_t offset, uint64_t size)
{
    if (offset > file->size || size > file->size - offset) return NULL;
    return file->bytes + offset;
}

typedef struct symbols {
    Elf64_Shdr table, strings;
} symbols;

static bool section(const image *file, const Elf64_Ehdr *head, uint32_t n, Elf64_Shdr *to)
{
    if (n >= head->e_shnum || head->e_shentsize != sizeof *to) return false;
    const void *at = part(file, head->e_shoff + (uint64_t)n * sizeof *to, sizeof *to);
    if (at) memcpy(to, at, sizeof *to);
    return at && part(file, to->sh_offset, to->sh_size);
}

static bool read_head(const image *file, Elf64_Ehdr *head)
{
    const void *at = part(file, 0, sizeof *head);
    if (!at) return false;
    memcpy(head, at, sizeof *head);
    return memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_ident[EI_CLASS] == ELFCLASS64;
}

static bool find_symbols(const image *file, const Elf64_Ehdr *head, uint32_t type, symbols *s)
{
    for (uint32_t i = 0; i < head->e_shnum; i++)
        if (section(file, head, i, &s->table) && s->table.sh_type == type)
            return section(file, head, s->table.sh_link, &s->strings) && s->strings.sh_size &&
                   file->bytes[s->strings.sh_offset + s->strings.sh_size - 1] == '\0';
    return false;
}

/* Not a library, which defines what it is for. */
static bool is_program(const image *file, const Elf64_Ehdr *head)
{
    Elf64_Phdr p;
    bool is = head->e_type == ET_EXEC;
    for (uint32_t i = 0; i < head->e_phnum && head->e_phentsize == sizeof p && !is; i++) {
        const void *at = part(file, head->e_phoff + (uint64_t)i * sizeof p, sizeof p);
        if (!at) return false;
        memcpy(&p, at, sizeof p);
        is = p.p_type == PT_INTERP;
    }
    return is;
}

typedef struct search {
    const hb_op_table *table;
    hb_known_operator_fn report;
    void *context;
} search;

static void report(const search *s, const char *symbol, bool linked_in)
{
    const hb_op_entry *row = hb_op_table_find(s->table, symbol);
    if (!row) return;
    hb_known_operator known = {row->symbol, row->name, row->table, row->line, linked_in};
    s->report(s->context, &known);
}

static void look_at_symbols(const image *file, const symbols *all, bool defined, const search *s)
{
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= all->table.sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol;
        memcpy(&symbol, file->bytes + all->table.sh_offset + at, sizeof symbol);
        bool is_function = ELF64_ST_TYPE(symbol.st_info) == STT_FUNC;
        bool wanted =
            defined ? symbol.st_shndx != SHN_UNDEF && is_function : symbol.st_shndx == SHN_UNDEF;
        if (wanted && symbol.st_name < all->strings.sh_size)
            report(s, file->bytes + all->strings.sh_offset + symbol.st_name, defined);
    }
}

static hb_result look_through(const image *file, const char *path, const search *s)
{
    Elf64_Ehdr head;
    symbols dynamic, own;
    bool is_elf = read_head(file, &head);
    bool imports = is_elf && find_symbols(file, &head, SHT_DYNSYM, &dynamic);
    bool has_own = is_elf && is_program(file, &head) && find_symbols(file, &head, SHT_SYMTAB, &own);
    if (!imports && !has_own)
        return hb_fail(HB_ERROR_FORMAT,
                       "'%s' is no program or library (64-bit ELF) that imports anything", path);
    if (imports) look_at_symbols(file, &dynamic, false, s);
    if (has_own) look_at_symbols(file, &own, true, s);
    return HB_OK;
}

static hb_result look_into(const char *path, const search *s)
{
    struct stat st;
    int fd;
    HB_TRY(hb_open_to_read(path, &fd, &st));
    void *bytes = S_ISREG(st.st_mode) && st.st_size > 0
                      ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                      : MAP_FAILED;
    close(fd);
    if (bytes == MAP_FAILED) return hb_fail(HB_ERROR_FORMAT, "'%s' is no program", path);
    image file = {bytes, (size_t)st.st_size};
    hb_result result = look_through(&file, path, s);
    munmap(bytes, file.size);
    return result;
}

static void tell(void *context, const char *file, uint32_t line, uint32_t column, const char *text)
{
    (void)context;
    hb_warn("%s:%u:%u: %s; the line is passed over", file, line, column, text);
}

hb_result hb_known_operators(const char *file, const char *operators, hb_known_operator_fn fn,
                             void *context)
{
    char own[PATH_MAX] = "";
    hb_op_table table = {0};
    if (!file || !operators || !fn)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "known operators: an argument is NULL");
    if (hb_op_list_has_own(operators)) HB_TRY(hb_part_path(HB_OP_FIRST_TABLE, own, sizeof own));
    search s = {&table, fn, context};
    hb_result result = hb_op_list_read(&table, operators, own, tell, NULL);
    if (result == HB_OK) result = look_into(file, &s);
    hb_op_table_free(&table);
    return result;
}
