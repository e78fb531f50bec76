/* SPDX-License-Identifier: MIT
 *
 * What a program's file tells of the functions that it calls: of a small one that is made here, and
 * of what is none.
 */
#include <elf.h>
#include <hipboard/analysis.h>

#include "test_dir.h"

/* ---- a program ---- */

enum { DYNSYM = 1, DYNSTR, SYMTAB, STRTAB, SECTIONS };

static const char names[] = "\0imported\0own\0data\0other";

enum { NONE = 0, IMPORTED = 1, OWN = 10, DATA = 14, OTHER = 19 }; /* in the names */

typedef struct program {
    Elf64_Ehdr head;
    Elf64_Phdr parts[2];
    Elf64_Shdr sections[SECTIONS];
    Elf64_Sym dynamic[4], symbols[5];
    char dynamic_names[sizeof names], symbol_names[sizeof names];
} program;

static Elf64_Sym symbol(uint32_t name, unsigned type, uint16_t section)
{
    return (Elf64_Sym){
        .st_name = name, .st_info = ELF64_ST_INFO(STB_GLOBAL, type), .st_shndx = section};
}

static Elf64_Shdr section(uint32_t type, uint32_t link, size_t offset, size_t size)
{
    return (Elf64_Shdr){.sh_type = type, .sh_link = link, .sh_offset = offset, .sh_size = size};
}

#define PLACE(member) offsetof(program, member), sizeof(((program *)0)->member)

static program make_program(void)
{
    program p = {
        .head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                             EV_CURRENT},
                 .e_type = ET_DYN,
                 .e_phoff = offsetof(program, parts),
                 .e_phnum = 2,
                 .e_phentsize = sizeof(Elf64_Phdr),
                 .e_shoff = offsetof(program, sections),
                 .e_shnum = SECTIONS,
                 .e_shentsize = sizeof(Elf64_Shdr)},
        .parts = {{.p_type = PT_LOAD}, {.p_type = PT_INTERP}},
        .sections = {[DYNSYM] = section(SHT_DYNSYM, DYNSTR, PLACE(dynamic)),
                     [DYNSTR] = section(SHT_STRTAB, 0, PLACE(dynamic_names)),
                     [SYMTAB] = section(SHT_SYMTAB, STRTAB, PLACE(symbols)),
                     [STRTAB] = section(SHT_STRTAB, 0, PLACE(symbol_names))},
        .dynamic = {symbol(NONE, STT_NOTYPE, SHN_UNDEF), symbol(OTHER, STT_FUNC, 7),
                    symbol(IMPORTED, STT_FUNC, SHN_UNDEF), symbol(DATA, STT_NOTYPE, SHN_UNDEF)},
        .symbols = {symbol(NONE, STT_NOTYPE, SHN_UNDEF), symbol(IMPORTED, STT_FUNC, SHN_UNDEF),
                    symbol(DATA, STT_OBJECT, 7), symbol(OTHER, STT_FUNC, SHN_UNDEF),
                    symbol(OWN, STT_FUNC, 7)},
    };
    memcpy(p.dynamic_names, names, sizeof names);
    memcpy(p.symbol_names, names, sizeof names);
    return p;
}

/* ---- what is told of it ---- */

static char told[200];

static void tell(void *context, const hb_known_operator *known)
{
    size_t n = strlen(told);
    assert_ptr_equal(context, told);
    assert_non_null(strstr(known->table, "t.ops"));
    snprintf(told + n, sizeof told - n, "%s%s=%s:%u%s", n ? " " : "", known->symbol, known->name,
             known->line, known->linked_in ? "!" : "");
}

static hb_result look_at(const void *bytes, size_t size)
{
    char path[300], table[300];
    snprintf(path, sizeof path, "%s/program", dir);
    snprintf(table, sizeof table, "%s/t.ops", dir);
    FILE *file = fopen(table, "w");
    fputs("imported | n\nown | n\ndata | n\nother | n | | | name=another\n", file);
    fclose(file);
    file = fopen(path, "w");
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    told[0] = '\0';
    return hb_known_operators(path, table, tell, told);
}

#define ALL "imported=imported:1 data=data:3 own=own:2!"

static void imports_and_what_is_linked_in(void **state)
{
    program p = make_program();
    (void)state;
    assert_int_equal(look_at(&p, sizeof p), HB_OK);
    assert_string_equal(told, ALL);
    /* A library defines what it is for. */
    p.parts[1].p_type = PT_NOTE;
    assert_int_equal(look_at(&p, sizeof p), HB_OK);
    assert_string_equal(told, "imported=imported:1 data=data:3");
    p.head.e_type = ET_EXEC;
    assert_int_equal(look_at(&p, sizeof p), HB_OK);
    assert_string_equal(told, ALL);
    /* Stripped; and linked as a whole. */
    p.sections[SYMTAB].sh_type = SHT_NULL;
    assert_int_equal(look_at(&p, sizeof p), HB_OK);
    assert_string_equal(told, "imported=imported:1 data=data:3");
    p.sections[SYMTAB].sh_type = SHT_SYMTAB;
    p.sections[DYNSYM].sh_type = SHT_NULL;
    assert_int_equal(look_at(&p, sizeof p), HB_OK);
    assert_string_equal(told, "own=own:2!");
    p = make_program();
    p.dynamic[1] = symbol(OTHER, STT_FUNC, SHN_UNDEF);
    assert_int_equal(look_at(&p, sizeof p), HB_OK);
    assert_string_equal(told, "other=another:4 imported=imported:1 data=data:3 own=own:2!");
}

/* Places that are not in the file are passed over, or nothing is told. */
static void what_is_damaged(void **state)
{
    program p = make_program();
    (void)state;
#define WITH(member, value, result, what)                  \
    do {                                                   \
        program q = p;                                     \
        q.member = (value);                                \
        assert_int_equal(look_at(&q, sizeof q), (result)); \
        assert_string_equal(told, what);                   \
    } while (0)
    WITH(head.e_ident[0], 'E', HB_ERROR_FORMAT, "");
    WITH(head.e_ident[EI_CLASS], ELFCLASS32, HB_ERROR_FORMAT, "");
    WITH(head.e_shnum, 0, HB_ERROR_FORMAT, "");
    WITH(head.e_shentsize, 63, HB_ERROR_FORMAT, "");
    WITH(head.e_shoff, sizeof p, HB_ERROR_FORMAT, "");
    WITH(head.e_shoff, UINT64_MAX - 10, HB_ERROR_FORMAT, "");
    WITH(head.e_shnum, SYMTAB, HB_OK, "imported=imported:1 data=data:3");
    WITH(head.e_phoff, sizeof p, HB_OK, "imported=imported:1 data=data:3");
    WITH(head.e_phentsize, 55, HB_OK, "imported=imported:1 data=data:3");
    WITH(head.e_phnum, 1, HB_OK, "imported=imported:1 data=data:3");
    WITH(sections[DYNSYM].sh_link, SECTIONS, HB_OK, "own=own:2!");
    WITH(sections[DYNSYM].sh_offset, sizeof p, HB_OK, "own=own:2!");
    WITH(sections[DYNSYM].sh_size, UINT64_MAX, HB_OK, "own=own:2!");
    WITH(sections[DYNSYM].sh_size, 3 * sizeof(Elf64_Sym) + 23, HB_OK,
         "imported=imported:1 own=own:2!");
    WITH(sections[DYNSTR].sh_size, 0, HB_OK, "own=own:2!");
    WITH(sections[DYNSTR].sh_size, 4, HB_OK, "own=own:2!"); /* does not end */
    WITH(sections[DYNSTR].sh_size, DATA, HB_OK, "imported=imported:1 own=own:2!");
    WITH(sections[DYNSTR].sh_size, DATA + 1, HB_OK, "own=own:2!");
    WITH(dynamic[2].st_name, sizeof names, HB_OK, "data=data:3 own=own:2!");
    WITH(dynamic[2].st_name, UINT32_MAX, HB_OK, "data=data:3 own=own:2!");
    /* Cut off: what is whole is read. */
    for (size_t size = 0; size < sizeof p; size += 11) {
        bool imports = size >= offsetof(program, symbol_names);
        bool all = size >= offsetof(program, symbol_names) + sizeof names;
        assert_int_equal(look_at(&p, size), imports ? HB_OK : HB_ERROR_FORMAT);
        assert_string_equal(told, all ? ALL : imports ? "imported=imported:1 data=data:3" : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIR(imports_and_what_is_linked_in),
        IN_DIR(what_is_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
