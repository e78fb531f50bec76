/* SPDX-License-Identifier: MIT */
#include "gpu/matrix_scan.h"

#include <elf.h>

#include "base/base.h"

#ifndef EM_AMDGPU
#define EM_AMDGPU 224
#endif

enum { OSABI_AMDGPU_HSA = 64, MACH_MASK = 0xff };

typedef struct code {
    const unsigned char *data;
    size_t size;
} code;

static uint32_t word_at(const code *c, size_t at)
{
    uint32_t word;
    memcpy(&word, c->data + at, sizeof word);
    return word;
}

static uint32_t bits(uint32_t word, int high, int low)
{
    return word >> low & ((1u << (high - low + 1)) - 1);
}

/* ---- CDNA: the instruction formats of gfx9 ---- */

/* An 8-bit or 9-bit source that stands for a literal behind the instruction. */
enum { SOURCE_LITERAL = 255, SOURCE_SDWA = 249, SOURCE_DPP = 250 };

static size_t with_literal(bool literal)
{
    return literal ? 8 : 4;
}

static size_t scalar_size(uint32_t w)
{
    bool first = bits(w, 7, 0) == SOURCE_LITERAL, second = bits(w, 15, 8) == SOURCE_LITERAL;
    switch (bits(w, 31, 23)) {
    case 0x17d: return with_literal(first);           /* SOP1 */
    case 0x17e: return with_literal(first || second); /* SOPC */
    case 0x17f: return 4;                             /* SOPP */
    default: break;
    }
    if (bits(w, 31, 28) == 0xb)
        return with_literal(bits(w, 27, 23) == 20); /* SOPK, s_setreg_imm32 */
    return with_literal(first || second);           /* SOP2 */
}

static size_t vector_size(uint32_t w)
{
    uint32_t source = bits(w, 8, 0), op = bits(w, 30, 25);
    bool more = source == SOURCE_LITERAL || source == SOURCE_SDWA || source == SOURCE_DPP;
    bool is_vop2 = op < 62;                                           /* then VOPC, VOP1 */
    bool has_constant = op == 23 || op == 24 || op == 36 || op == 37; /* v_madmk, v_madak */
    return with_literal(more || (is_vop2 && has_constant));
}

/* Bytes of the instruction that begins with `w`; 0: there is none. */
static size_t instruction_size(uint32_t w)
{
    if (!(w >> 31)) return vector_size(w);
    if (w >> 30 == 2) return scalar_size(w);
    switch (bits(w, 31, 26)) {
    case 0x35: return 4; /* VINTRP */
    case 0x30:           /* SMEM */
    case 0x31:           /* EXP */
    case 0x34:           /* VOP3, VOP3P */
    case 0x36:           /* DS */
    case 0x37:           /* FLAT */
    case 0x38:           /* MUBUF */
    case 0x3a:           /* MTBUF */
    case 0x3c: return 8; /* MIMG */
    default: return 0;
    }
}

/* v_mfma_* and v_smfmac_*, not v_accvgpr_read and _write, which only move. */
static bool is_mfma(uint32_t w)
{
    uint32_t op = bits(w, 22, 16);
    return bits(w, 31, 23) == 0x1a7 && op >= 0x40 && op != 0x58 && op != 0x59;
}

/* s_setpc, s_swappc, s_call: there is code elsewhere. */
static bool is_call(uint32_t w)
{
    if (bits(w, 31, 23) == 0x17d) {
        uint32_t op = bits(w, 15, 8);
        return op == 29 || op == 30;
    }
    return bits(w, 31, 28) == 0xb && bits(w, 27, 23) == 21;
}

static hb_matrix_verdict decode_cdna(const code *c)
{
    bool calls = false;
    for (size_t at = 0; at + 4 <= c->size;) {
        uint32_t w = word_at(c, at);
        size_t size = instruction_size(w);
        if (is_mfma(w)) return HB_MATRIX_IS_USED;
        if (!size) return HB_MATRIX_IS_UNKNOWN;
        calls = calls || is_call(w);
        at += size;
    }
    return calls || !c->size ? HB_MATRIX_IS_UNKNOWN : HB_MATRIX_IS_UNUSED;
}

/* ---- RDNA ---- */

/* v_wmma_* and v_swmmac_*: VOP3P whose first two sources are vector registers and whose third, the
 * sum, is one or a constant. */
static bool is_wmma(uint32_t w, uint32_t next)
{
    uint32_t op = bits(w, 22, 16), sum = bits(next, 26, 18);
    return w >> 24 == 0xcc && op >= 0x40 && op <= 0x5a && bits(next, 8, 8) && bits(next, 17, 17) &&
           (sum >= 256 || (sum >= 128 && sum <= 248));
}

static hb_matrix_verdict search_rdna(const code *c)
{
    for (size_t at = 0; at + 8 <= c->size; at += 4)
        if (is_wmma(word_at(c, at), word_at(c, at + 4))) return HB_MATRIX_IS_USED;
    return HB_MATRIX_IS_UNKNOWN;
}

/* ---- ELF ---- */

/* EF_AMDGPU_MACH_*: what each can do. */
static hb_matrix_verdict verdict_of(uint32_t mach, const code *c)
{
    switch (mach) {
    case 0x30:                        /* gfx908 */
    case 0x3f:                        /* gfx90a */
    case 0x40:                        /* gfx940 */
    case 0x4b:                        /* gfx941 */
    case 0x4c:                        /* gfx942 */
    case 0x4f: return decode_cdna(c); /* gfx950 */
    case 0x41:                        /* gfx1100 */
    case 0x46:                        /* gfx1101 */
    case 0x47:                        /* gfx1102 */
    case 0x44:                        /* gfx1103 */
    case 0x43:                        /* gfx1150 */
    case 0x4a:                        /* gfx1151 */
    case 0x55:                        /* gfx1152 */
    case 0x48:                        /* gfx1200 */
    case 0x4e: return search_rdna(c); /* gfx1201 */
    default: return HB_MATRIX_IS_UNKNOWN;
    }
}

/* `count` elements at `offset` lie within the file. */
static bool inside(const code *elf, uint64_t offset, uint64_t count, uint64_t size)
{
    return offset <= elf->size && (count == 0 || size <= (elf->size - offset) / count);
}

static bool section_at(const code *elf, const Elf64_Ehdr *head, uint32_t index, Elf64_Shdr *section)
{
    uint64_t at = head->e_shoff + (uint64_t)index * sizeof *section;
    if (index >= head->e_shnum || head->e_shoff > elf->size || !inside(elf, at, 1, sizeof *section))
        return false;
    memcpy(section, elf->data + at, sizeof *section);
    return section->sh_type == SHT_NOBITS || inside(elf, section->sh_offset, 1, section->sh_size);
}

static void take_symbol(const code *elf, const Elf64_Ehdr *head, const Elf64_Shdr *names,
                        const Elf64_Sym *symbol, hb_code_object_fn fn, void *context)
{
    Elf64_Shdr text;
    if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_name >= names->sh_size ||
        !section_at(elf, head, symbol->st_shndx, &text) || text.sh_type == SHT_NOBITS ||
        symbol->st_value < text.sh_addr)
        return;
    uint64_t at = symbol->st_value - text.sh_addr;
    if (at > text.sh_size || symbol->st_size > text.sh_size - at) return;
    const char *name = (const char *)elf->data + names->sh_offset + symbol->st_name;
    code c = {elf->data + text.sh_offset + at, symbol->st_size};
    fn(context, (hb_str){name, (uint32_t)strnlen(name, names->sh_size - symbol->st_name)},
       verdict_of(head->e_flags & MACH_MASK, &c));
}

static void take_symbols(const code *elf, const Elf64_Ehdr *head, const Elf64_Shdr *table,
                         hb_code_object_fn fn, void *context)
{
    Elf64_Shdr names;
    Elf64_Sym symbol;
    if (!section_at(elf, head, table->sh_link, &names) || names.sh_type != SHT_STRTAB) return;
    for (uint64_t i = 0; i < table->sh_size / sizeof symbol; i++) {
        memcpy(&symbol, elf->data + table->sh_offset + i * sizeof symbol, sizeof symbol);
        take_symbol(elf, head, &names, &symbol, fn, context);
    }
}

/* The full table of symbols where it was not stripped, else that of the loader. */
static void scan_elf(const code *elf, const Elf64_Ehdr *head, hb_code_object_fn fn, void *context)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    Elf64_Shdr section;
    for (size_t t = 0; t < HB_ARRAY_LEN(types); t++)
        for (uint32_t i = 0; i < head->e_shnum; i++)
            if (section_at(elf, head, i, &section) && section.sh_type == types[t]) {
                take_symbols(elf, head, &section, fn, context);
                return;
            }
}

unsigned hb_code_objects_scan(const void *data, size_t size, hb_code_object_fn fn, void *context)
{
    static const unsigned char magic[] = {0x7f,       'E',         'L',        'F',
                                          ELFCLASS64, ELFDATA2LSB, EV_CURRENT, OSABI_AMDGPU_HSA};
    const unsigned char *at = data, *end = at + size;
    unsigned count = 0;
    Elf64_Ehdr head;
    while ((at = memmem(at, (size_t)(end - at), magic, sizeof magic)) != NULL) {
        code elf = {at, (size_t)(end - at)};
        at += sizeof magic;
        if (elf.size < sizeof head) break;
        memcpy(&head, elf.data, sizeof head);
        if (head.e_machine != EM_AMDGPU || head.e_shentsize != sizeof(Elf64_Shdr)) continue;
        scan_elf(&elf, &head, fn, context);
        count++;
    }
    return count;
}
