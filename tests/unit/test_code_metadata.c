/* SPDX-License-Identifier: MIT
 *
 * Notes of code objects: those of the tests' own kernels, and damaged ones.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "gpu/code_metadata.h"

static char code[65536];
static const char *notes;
static size_t notes_size;

static int load(void **state)
{
    (void)state;
    FILE *f = fopen(TEST_DATA "/../hip/kernels_gfx90a.co", "rb");
    if (!f) return -1;
    size_t size = fread(code, 1, sizeof code, f);
    fclose(f);
    const Elf64_Ehdr *h = (const void *)code;
    const Elf64_Phdr *p = (const void *)(code + h->e_phoff);
    for (int i = 0; i < h->e_phnum; i++) {
        if (p[i].p_type != PT_NOTE || p[i].p_offset + p[i].p_filesz > size) continue;
        notes = code + p[i].p_offset;
        notes_size = p[i].p_filesz;
    }
    return notes ? 0 : -1;
}

typedef struct kernels {
    char text[1024];
    unsigned n;
} kernels;

static void add(void *context, const hb_code_kernel *k)
{
    kernels *all = context;
    size_t used = strlen(all->text);
    all->n++;
    snprintf(all->text + used, sizeof all->text - used, "%.*s:%u,%u,%u,%u,%u ", (int)k->name_size,
             k->name, k->vgprs, k->agprs, k->sgprs, k->lds_bytes, k->scratch_bytes);
}

/* As llvm-readelf --notes shows them. */
static void kernels_have_their_registers(void **state)
{
    (void)state;
    size_t size;
    kernels all = {0};
    const void *note = hb_code_note(notes, notes_size, &size);
    assert_non_null(note);
    assert_true(hb_code_kernels(note, size, add, &all));
    assert_non_null(strstr(all.text, "vadd:8,0,11,0,0 "));
    assert_non_null(strstr(all.text, "reverse:3,0,9,4096,0 "));
    assert_int_equal(all.n, 5);
}

/* Cut anywhere and with any byte changed: reading ends, inside the bytes that are there (which the
 * address sanitizer checks). */
static void damaged_notes_end(void **state)
{
    (void)state;
    size_t size;
    const char *note = hb_code_note(notes, notes_size, &size);
    for (size_t cut = 0; cut < size; cut += 7) {
        kernels all = {0};
        char *copy = malloc(cut + 1);
        memcpy(copy, note, cut);
        assert_false(hb_code_kernels(copy, cut, add, &all));
        free(copy);
    }
    for (size_t at = 0; at < size; at++)
        for (int byte = 0x80; byte < 0x100; byte += 5) {
            kernels all = {0};
            char *copy = malloc(size);
            memcpy(copy, note, size);
            copy[at] = (char)byte;
            hb_code_kernels(copy, size, add, &all);
            free(copy);
        }
}

static void deep_and_huge_values_are_refused(void **state)
{
    (void)state;
    kernels all = {0};
    char deep[4096];
    memset(deep, (char)0x91, sizeof deep); /* arrays in arrays */
    deep[0] = (char)0x81;                  /* {deep: ...} */
    assert_false(hb_code_kernels(deep, sizeof deep, add, &all));
    static const char huge[] = "\x81\xae"
                               "amdhsa.kernels"
                               "\xdd\xff\xff\xff\xff\x80";
    assert_false(hb_code_kernels(huge, sizeof huge - 1, add, &all));
    assert_int_equal(all.n, 0);
}

static void notes_without_metadata_have_none(void **state)
{
    (void)state;
    size_t size;
    struct {
        Elf64_Nhdr h;
        char name[4], desc[4];
    } other = {{4, 4, 1}, "GNU", "abc"};
    assert_null(hb_code_note(&other, sizeof other, &size));
    other.h.n_descsz = 1u << 31;
    assert_null(hb_code_note(&other, sizeof other, &size));
    assert_null(hb_code_note(&other, 3, &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_have_their_registers),
        cmocka_unit_test(damaged_notes_end),
        cmocka_unit_test(deep_and_huge_values_are_refused),
        cmocka_unit_test(notes_without_metadata_have_none),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
