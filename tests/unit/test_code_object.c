/* SPDX-License-Identifier: MIT
 *
 * Kernels' code from ELF files that the test makes itself. The words of instructions are what
 * LLVM's assembler makes of the text beside them.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include <hipboard/analysis.h>

#include "base/base.h"
#include "gpu/matrix_scan.h"

#define MFMA    0xd3c58000, 0x04020500 /* v_mfma_f32_16x16x4f32 a[0:3], v0, v2, a[0:3] */
#define MOVE    0xd3d94000, 0x18000103 /* v_accvgpr_write_b32 a0, v3 */
#define LITERAL 0x020002ff, 0xd3c58000 /* v_add_f32 v0, 0xd3c58000, v1 */
#define CALL    0xbe9e1e04             /* s_swappc_b64 s[30:31], s[4:5] */
#define WMMA \
    0xcc404010, 0x1c421100 /* v_wmma_f32_16x16x16_f16 v[16:23], v[0:7], v[8:15], v[16:23] */
#define ENDPGM 0xbf810000  /* s_endpgm */

enum { GFX90A = 0x3f, GFX1100 = 0x41, NUM_SECTIONS = 4, TEXT_ADDRESS = 0x1000 };

typedef struct image {
    Elf64_Ehdr head;
    Elf64_Shdr sections[NUM_SECTIONS];
    Elf64_Sym symbols[3];
    char names[64];
    uint32_t text[32];
} image;

static Elf64_Sym symbol(uint32_t name, size_t first, size_t words)
{
    return (Elf64_Sym){.st_name = name,
                       .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                       .st_shndx = 1,
                       .st_value = TEXT_ADDRESS + 4 * first,
                       .st_size = 4 * words};
}

/* Two kernels, "one" and "_Z3twoPf"; the first has `split` words. */
static image make(uint32_t mach, const uint32_t *words, size_t split, size_t count)
{
    image i = {.head = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT, 64},
                        .e_machine = 224,
                        .e_flags = 0x500 | mach,
                        .e_shoff = offsetof(image, sections),
                        .e_shentsize = sizeof(Elf64_Shdr),
                        .e_shnum = NUM_SECTIONS},
               .names = "\0one\0_Z3twoPf"};
    i.sections[1] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
                                 .sh_addr = TEXT_ADDRESS,
                                 .sh_offset = offsetof(image, text),
                                 .sh_size = sizeof i.text};
    i.sections[2] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
                                 .sh_link = 3,
                                 .sh_offset = offsetof(image, symbols),
                                 .sh_size = sizeof i.symbols};
    i.sections[3] = (Elf64_Shdr){
        .sh_type = SHT_STRTAB, .sh_offset = offsetof(image, names), .sh_size = sizeof i.names};
    i.symbols[1] = symbol(1, 0, split);
    i.symbols[2] = symbol(5, split, count - split);
    memcpy(i.text, words, count * sizeof *words);
    return i;
}

typedef struct seen {
    unsigned count;
    hb_matrix_verdict verdicts[2];
} seen;

static void take(void *context, hb_str name, hb_matrix_verdict verdict)
{
    seen *s = context;
    bool first = name.len == 3 && memcmp(name.s, "one", 3) == 0;
    s->verdicts[!first] = verdict;
    s->count++;
}

static seen scan(const image *i)
{
    seen s = {0};
    assert_int_equal(hb_code_objects_scan(i, sizeof *i, take, &s), 1);
    assert_int_equal(s.count, 2);
    return s;
}

static void test_cdna_is_decoded(void **state)
{
    static const uint32_t words[] = {MOVE, MFMA, ENDPGM, MOVE, LITERAL, ENDPGM};
    static const uint32_t calling[] = {ENDPGM, CALL, ENDPGM};
    (void)state;
    image i = make(GFX90A, words, 5, HB_ARRAY_LEN(words));
    seen s = scan(&i);
    assert_int_equal(s.verdicts[0], HB_MATRIX_IS_USED);
    assert_int_equal(s.verdicts[1], HB_MATRIX_IS_UNUSED); /* the literal looks like one */
    i = make(GFX90A, calling, 1, HB_ARRAY_LEN(calling));
    s = scan(&i);
    assert_int_equal(s.verdicts[0], HB_MATRIX_IS_UNUSED);
    assert_int_equal(s.verdicts[1], HB_MATRIX_IS_UNKNOWN);
}

static void test_rdna_is_searched(void **state)
{
    static const uint32_t words[] = {WMMA, ENDPGM, ENDPGM};
    (void)state;
    image i = make(GFX1100, words, 3, HB_ARRAY_LEN(words));
    seen s = scan(&i);
    assert_int_equal(s.verdicts[0], HB_MATRIX_IS_USED);
    assert_int_equal(s.verdicts[1], HB_MATRIX_IS_UNKNOWN);
}

/* What is found in a kernel of these words. */
static hb_matrix_verdict verdict_on(uint32_t mach, uint32_t first, uint32_t second, uint32_t third)
{
    const uint32_t words[] = {first, second, third, ENDPGM, ENDPGM};
    image i = make(mach, words, 4, HB_ARRAY_LEN(words));
    return scan(&i).verdicts[0];
}

/* Behind each instruction stands what looks like a matrix instruction: it is one where the first is
 * 4 bytes long, and belongs to it where that is 8. */
static void test_each_format_has_its_length(void **state)
{
    enum { USED = HB_MATRIX_IS_USED, UNUSED = HB_MATRIX_IS_UNUSED, UNKNOWN = HB_MATRIX_IS_UNKNOWN };
    static const struct {
        uint32_t word;
        int verdict;
    } rows[] =
        {
            {0x80000201, USED},    /* SOP2: s_add_u32 s0, s1, s2 */
            {0x800002ff, UNUSED},  /* its first source a literal */
            {0x8000ff01, UNUSED},  /* its second */
            {0xb0000005, USED},    /* SOPK: s_movk_i32 s0, 5 */
            {0xb000ffff, USED},    /* a number, no sources */
            {0xb9000000, USED},    /* s_setreg_b32 */
            {0xba000000, UNUSED},  /* s_setreg_imm32_b32 */
            {0xba800000, UNKNOWN}, /* s_call_b64, and then matrix instructions or none */
            {0xbe800001, USED},    /* SOP1: s_mov_b32 s0, s1 */
            {0xbe8000ff, UNUSED},  /* a literal */
            {0xbe80ff01, USED},    /* it has no second source */
            {0xbf000100, USED},    /* SOPC: s_cmp_eq_i32 s0, s1 */
            {0xbf0001ff, UNUSED},  {0xbf00ff00, UNUSED},
            {0xbf80ffff, USED},   /* SOPP: s_nop */
            {0x02000501, USED},   /* VOP2: v_add_f32 v0, v1, v2 */
            {0x020004ff, UNUSED}, /* a literal */
            {0x020004f9, UNUSED}, /* SDWA */
            {0x020004fa, UNUSED}, /* DPP */
            {0x020004f8, USED},   /* 1 / (2 pi) */
            {0x020004fb, USED},    {0x020004fe, USED},
            {0x2c000501, USED},   /* the one before v_madmk_f32 */
            {0x2e000501, UNUSED}, /* v_madmk_f32 */
            {0x30000501, UNUSED}, /* v_madak_f32 */
            {0x32000501, USED},    {0x46000501, USED},
            {0x48000501, UNUSED},                      /* v_madmk_f16 */
            {0x4a000501, UNUSED},                      /* v_madak_f16 */
            {0x4c000501, USED},    {0x7c000501, USED}, /* VOPC */
            {0x7c0004ff, UNUSED},  {0x7e000501, USED}, /* VOP1 */
            {0x7e0004ff, UNUSED},  {0xd4000000, USED}, /* VINTRP */
            {0xc0000000, UNUSED},                      /* SMEM */
            {0xc4000000, UNUSED},                      /* EXP */
            {0xd0000000, UNUSED},                      /* VOP3 */
            {0xd8000000, UNUSED},                      /* DS */
            {0xdc000000, UNUSED},                      /* FLAT */
            {0xe0000000, UNUSED},                      /* MUBUF */
            {0xe8000000, UNUSED},                      /* MTBUF */
            {0xf0000000, UNUSED},                      /* MIMG */
            {0xc8000000, UNKNOWN},                     /* no formats of gfx9 */
            {0xcc000000, UNKNOWN}, {0xe4000000, UNKNOWN},
            {0xec000000, UNKNOWN}, {0xf4000000, UNKNOWN},
            {0xf8000000, UNKNOWN}, {0xfc000000, UNKNOWN},
            {0xd3bf0000, UNUSED}, /* VOP3P: what comes before the matrix instructions */
            {0xd3c00000, USED},   /* the first of them */
            {0xd3d70000, USED},    {0xd3d80000, UNUSED}, /* v_accvgpr_read_b32 */
            {0xd3d90000, UNUSED},                        /* v_accvgpr_write_b32 */
            {0xd3da0000, USED},    {0xd3400000, UNUSED}, /* VOP3 again */
        };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        bool is_call = rows[i].word == 0xba800000;
        uint32_t next = is_call ? ENDPGM : 0xd3c58000;
        if (verdict_on(GFX90A, rows[i].word, next, ENDPGM) != (hb_matrix_verdict)rows[i].verdict)
            fail_msg("0x%08x", rows[i].word);
    }
}

static void test_calls_leave_it_unknown(void **state)
{
    (void)state;
    assert_int_equal(verdict_on(GFX90A, 0xbe801c00, ENDPGM, ENDPGM), HB_MATRIX_IS_UNUSED);
    assert_int_equal(verdict_on(GFX90A, 0xbe801d00, ENDPGM, ENDPGM), HB_MATRIX_IS_UNKNOWN);
    assert_int_equal(verdict_on(GFX90A, 0xbe801e00, ENDPGM, ENDPGM), HB_MATRIX_IS_UNKNOWN);
    assert_int_equal(verdict_on(GFX90A, 0xbe801f00, ENDPGM, ENDPGM), HB_MATRIX_IS_UNUSED);
    assert_int_equal(verdict_on(GFX90A, 0xbe801e00, MFMA), HB_MATRIX_IS_USED);
}

static void test_each_gpu_is_read_as_its_kind(void **state)
{
    static const uint32_t cdna[] = {0x30, 0x3f, 0x40, 0x4b, 0x4c, 0x4f};
    static const uint32_t rdna[] = {0x41, 0x46, 0x47, 0x44, 0x43, 0x4a, 0x55, 0x48, 0x4e};
    static const uint32_t others[] = {0x2c, 0x2f, 0x31, 0x32, 0x33, 0x36, 0x3e, 0x42, 0x45, 0xff};
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cdna); i++) {
        assert_int_equal(verdict_on(cdna[i], MFMA, ENDPGM), HB_MATRIX_IS_USED);
        assert_int_equal(verdict_on(cdna[i], LITERAL, ENDPGM), HB_MATRIX_IS_UNUSED);
    }
    for (size_t i = 0; i < HB_ARRAY_LEN(rdna); i++) {
        assert_int_equal(verdict_on(rdna[i], WMMA, ENDPGM), HB_MATRIX_IS_USED);
        assert_int_equal(verdict_on(rdna[i], ENDPGM, WMMA), HB_MATRIX_IS_USED);
        assert_int_equal(verdict_on(rdna[i], MFMA, ENDPGM), HB_MATRIX_IS_UNKNOWN);
    }
    for (size_t i = 0; i < HB_ARRAY_LEN(others); i++) {
        assert_int_equal(verdict_on(others[i], MFMA, ENDPGM), HB_MATRIX_IS_UNKNOWN);
        assert_int_equal(verdict_on(others[i], WMMA, ENDPGM), HB_MATRIX_IS_UNKNOWN);
    }
}

/* Its sources are vector registers, the sum may be a constant. */
static void test_what_is_not_quite_a_wmma_is_none(void **state)
{
    static const struct {
        uint32_t first, sum;
        bool is_one;
    } rows[] = {
        {0xcc404010, 272, true},  {0xcc404010, 256, true},  {0xcc404010, 511, true},
        {0xcc404010, 255, false}, {0xcc404010, 249, false}, {0xcc404010, 248, true},
        {0xcc404010, 128, true},  {0xcc404010, 127, false}, {0xcc3f4010, 272, false},
        {0xcc5a4010, 272, true},  {0xcc5b4010, 272, false}, {0xcd404010, 272, false},
    };
    enum { SUM = 0x1ff << 18, SECOND = 0x1c421100 };
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(rows); i++) {
        uint32_t second = (SECOND & ~(uint32_t)SUM) | rows[i].sum << 18;
        hb_matrix_verdict found = verdict_on(GFX1100, rows[i].first, second, ENDPGM);
        assert_int_equal(found, rows[i].is_one ? HB_MATRIX_IS_USED : HB_MATRIX_IS_UNKNOWN);
    }
    assert_int_equal(verdict_on(GFX1100, 0xcc404010, SECOND & ~(1u << 8), ENDPGM),
                     HB_MATRIX_IS_UNKNOWN);
    assert_int_equal(verdict_on(GFX1100, 0xcc404010, SECOND & ~(1u << 17), ENDPGM),
                     HB_MATRIX_IS_UNKNOWN);
}

static void test_code_objects_inside_other_files(void **state)
{
    static const uint32_t words[] = {MFMA, ENDPGM, ENDPGM};
    char file[3 * sizeof(image)] = "a program";
    seen s = {0};
    (void)state;
    image i = make(GFX90A, words, 3, HB_ARRAY_LEN(words));
    memcpy(file + 13, &i, sizeof i);
    memcpy(file + sizeof file - sizeof i, &i, sizeof i);
    assert_int_equal(hb_code_objects_scan(file, sizeof file, take, &s), 2);
    assert_int_equal(s.count, 4);
    assert_int_equal(hb_code_objects_scan("", 0, take, &s), 0);
}

/* Every byte in turn is made nonsense, and every length tried: nothing is read beyond the end. */
static void test_damaged_files(void **state)
{
    static const uint32_t words[] = {MFMA, ENDPGM, MOVE, ENDPGM};
    (void)state;
    image good = make(GFX90A, words, 3, HB_ARRAY_LEN(words));
    for (size_t at = 0; at < sizeof good; at++) {
        seen s = {0};
        unsigned char *bad = malloc(sizeof good), *cut = malloc(at + 1);
        assert_true(bad && cut);
        memcpy(bad, &good, sizeof good);
        bad[at] ^= 0xff;
        hb_code_objects_scan(bad, sizeof good, take, &s);
        memcpy(cut, &good, at + 1);
        /* one whose header is whole is one, whatever is left of it */
        assert_int_equal(hb_code_objects_scan(cut, at + 1, take, &s), at + 1 >= sizeof(Elf64_Ehdr));
        free(bad);
        free(cut);
    }
}

/* ---- through the library ---- */

static void write_bytes(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

static void test_code_counts_more_than_names(void **state)
{
    static const uint32_t words[] = {ENDPGM, MFMA, ENDPGM};
    static const char trace[] = "{\"traceEvents\":["
                                "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"two(float*)\",\"pid\":"
                                "0,\"tid\":0,\"ts\":1,\"dur\":9},"
                                "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"one\",\"pid\":0,"
                                "\"tid\":0,\"ts\":20,\"dur\":5},"
                                "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"three\",\"pid\":0,"
                                "\"tid\":0,\"ts\":30,\"dur\":1}]}";
    char path[] = "/tmp/hipboard-test-code-XXXXXX", code[64];
    const char *codes[] = {code};
    const hb_kernel_insight *k;
    size_t count;
    hb_trace_file *file;
    hb_insights *insights;
    hb_insights_options o = HB_INSIGHTS_OPTIONS_INIT;
    (void)state;
    image i = make(GFX90A, words, 1, HB_ARRAY_LEN(words));
    close(mkstemp(path));
    snprintf(code, sizeof code, "%s.co", path);
    write_bytes(path, trace, sizeof trace - 1);
    write_bytes(code, &i, sizeof i);
    o.code_paths = codes;
    o.num_code_paths = 1;
    assert_int_equal(hb_trace_file_open(path, NULL, &file), HB_OK);
    assert_int_equal(hb_insights_create(file, &o, &insights), HB_OK);
    assert_int_equal(hb_insights_kernels(insights, &k, &count), HB_OK);
    assert_int_equal(count, 3);
    /* A C++ name is known where there is a C++ library. */
    if (k[0].matrix != HB_MATRIX_UNKNOWN) assert_int_equal(k[0].matrix, HB_MATRIX_USED);
    assert_int_equal(k[1].matrix, HB_MATRIX_NOT_USED);
    assert_int_equal(k[2].matrix, HB_MATRIX_UNKNOWN);
    hb_insights_destroy(insights);
    remove(code);
    assert_int_equal(hb_insights_create(file, &o, &insights), HB_ERROR_IO);
    hb_trace_file_close(file);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cdna_is_decoded),
        cmocka_unit_test(test_rdna_is_searched),
        cmocka_unit_test(test_each_format_has_its_length),
        cmocka_unit_test(test_calls_leave_it_unknown),
        cmocka_unit_test(test_each_gpu_is_read_as_its_kind),
        cmocka_unit_test(test_what_is_not_quite_a_wmma_is_none),
        cmocka_unit_test(test_code_objects_inside_other_files),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_code_counts_more_than_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
