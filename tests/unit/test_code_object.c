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
        hb_code_objects_scan(cut, at + 1, take, &s);
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
        cmocka_unit_test(test_code_objects_inside_other_files),
        cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_code_counts_more_than_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
