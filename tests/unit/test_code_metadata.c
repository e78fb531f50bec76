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

/* ---- made ones ---- */

typedef struct bytes {
    char data[512];
    size_t size;
} bytes;

static void put(bytes *b, const void *data, size_t size)
{
    assert_true(b->size + size <= sizeof b->data);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

#define PUT(b, text) put(b, text, sizeof(text) - 1)

/* {"amdhsa.version": VALUE, "amdhsa.kernels": [{".odd": VALUE, ".vgpr_count": VALUE, ".name": "k"},
 * VALUE], "amdhsa.last": VALUE} */
static bytes note_with(const char *value, size_t size)
{
    bytes b = {.size = 0};
    PUT(&b, "\x83\xae"
            "amdhsa.version");
    put(&b, value, size);
    PUT(&b, "\xae"
            "amdhsa.kernels"
            "\x92\x83\xa4"
            ".odd");
    put(&b, value, size);
    PUT(&b, "\xab"
            ".vgpr_count");
    put(&b, value, size);
    PUT(&b, "\xa5"
            ".name"
            "\xa1k");
    put(&b, value, size);
    PUT(&b, "\xab"
            "amdhsa.last");
    put(&b, value, size);
    return b;
}

/* Each form that MessagePack has, as a number of registers and wherever nobody looks. */
static void every_form_of_a_value_is_read_or_passed_over(void **state)
{
#define FORM(text, number)             \
    {                                  \
        text, sizeof(text) - 1, number \
    }
    static const struct {
        const char *value;
        size_t size;
        uint32_t vgprs;
    } forms[] = {
        FORM("\x00", 0),
        FORM("\x7f", 127),
        FORM("\xe0", UINT32_MAX),
        FORM("\xff", UINT32_MAX),
        FORM("\xcc\xfe", 254),
        FORM("\xcd\x01\x02", 258),
        FORM("\xce\x01\x02\x03\x04", 16909060),
        FORM("\xcf\0\0\0\0\0\0\x02\x01", 513),
        FORM("\xcf\0\0\0\x01\0\0\0\x01", UINT32_MAX),
        FORM("\xd0\x7e", 126),
        FORM("\xd1\x01\x03", 259),
        FORM("\xd2\x01\x02\x03\x05", 16909061),
        FORM("\xd3\0\0\0\0\0\0\x02\x02", 514),
        FORM("\xc0", 0),
        FORM("\xc2", 0),
        FORM("\xc3", 0),
        FORM("\xc4\x02\xff\xff", 0),
        FORM("\xc5\0\x01\xff", 0),
        FORM("\xc6\0\0\0\x01\xff", 0),
        FORM("\xc7\x02\xff\xff\xff", 0),
        FORM("\xc8\0\x01\xff\xff", 0),
        FORM("\xc9\0\0\0\x01\xff\xff", 0),
        FORM("\xca\xff\xff\xff\xff", 0),
        FORM("\xcb\xff\xff\xff\xff\xff\xff\xff\xff", 0),
        FORM("\xd4\xff\xff", 0),
        FORM("\xd5\xff\xff\xff", 0),
        FORM("\xd6\xff\xff\xff\xff\xff", 0),
        FORM("\xd7\xff\xff\xff\xff\xff\xff\xff\xff\xff", 0),
        FORM("\xd8"
             "12345678901234567",
             0),
        FORM("\xa0", 0),
        FORM("\xa3xyz", 0),
        FORM("\xd9\x02xy", 0),
        FORM("\xda\0\x02xy", 0),
        FORM("\xdb\0\0\0\x02xy", 0),
        FORM("\x90", 0),
        FORM("\x92\x05\xa1x", 0),
        FORM("\xdc\0\x02\x05\x06", 0),
        FORM("\xdd\0\0\0\x02\x05\x06", 0),
        FORM("\x80", 0),
        FORM("\x81\xa1x\x91\x05", 0),
        FORM("\xde\0\x01\xa1x\x05", 0),
        FORM("\xdf\0\0\0\x01\xa1x\x05", 0),
    };
#undef FORM
    (void)state;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char expected[64];
        kernels all = {0};
        bytes b = note_with(forms[i].value, forms[i].size);
        assert_true(hb_code_kernels(b.data, b.size, add, &all));
        snprintf(expected, sizeof expected, "k:%u,0,0,0,0 ", forms[i].vgprs);
        assert_string_equal(all.text, expected);
        for (size_t cut = 0; cut < b.size; cut++) { /* nothing is made up of what is missing */
            kernels some = {0};
            assert_false(hb_code_kernels(b.data, cut, add, &some));
            assert_true(some.n <= 1);
        }
    }
    bytes reserved = note_with("\xc1", 1);
    kernels none = {0};
    assert_false(hb_code_kernels(reserved.data, reserved.size, add, &none));
    assert_int_equal(none.n, 0);
    assert_false(hb_code_kernels("\x90", 1, add, &none)); /* no map */
}

static void all_numbers_of_a_kernel_are_told_apart(void **state)
{
    (void)state;
    kernels all = {0};
    bytes b = {.size = 0};
    PUT(&b, "\x82\xad"
            "amdhsa.kernel"
            "\x91\x81\xa5.name\xa1z" /* another key */
            "\xae"
            "amdhsa.kernels"
            "\x93\x86\xab.agpr_count\x02\xab.sgpr_count\x03\xb9.group_segment_fixed_size\x04"
            "\xbb.private_segment_fixed_size\x05\xab.vgpr_count\x01\xa5.name\xd9\x05"
            "first"
            "\x81\xab.vgpr_count\x09" /* has no name */
            "\x81\xa5.name\xda\0\x06"
            "second");
    assert_true(hb_code_kernels(b.data, b.size, add, &all));
    assert_string_equal(all.text, "first:1,2,3,4,5 second:0,0,0,0,0 ");
}

static void the_note_is_found_among_others(void **state)
{
    (void)state;
    const struct {
        uint32_t name_size, size, type;
        const char *name;
    } notes_made[] = {
        {4, 6, NT_GNU_BUILD_ID, "GNU\0"}, /* padded to 8 */
        {7, 3, 27, "AMDGPU\0\0"},         /* of another type */
        {7, 1, 32, "AMDGPX\0\0"},         /* of another's */
        {6, 1, 32, "AMDGPU\0\0"},         /* without its end */
        {7, 5, 32, "AMDGPU\0\0"},
    };
    bytes b = {.size = 0};
    size_t size = 0, last = sizeof notes_made / sizeof *notes_made - 1, before = 0;
    for (size_t i = 0; i <= last; i++) {
        Elf64_Nhdr h = {notes_made[i].name_size, notes_made[i].size, notes_made[i].type};
        before = b.size;
        put(&b, &h, sizeof h);
        put(&b, notes_made[i].name, (notes_made[i].name_size + 3) & ~3u);
        put(&b, i == last ? "found" : "other???", i == last ? 5 : (notes_made[i].size + 3) & ~3u);
    }
    const char *found = hb_code_note(b.data, b.size, &size);
    assert_non_null(found);
    assert_int_equal(size, 5);
    assert_memory_equal(found, "found", 5);
    assert_null(hb_code_note(b.data, b.size - 1, &size)); /* cut */
    assert_null(hb_code_note(b.data, before, &size));
    assert_null(hb_code_note(b.data, 0, &size));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_have_their_registers),
        cmocka_unit_test(damaged_notes_end),
        cmocka_unit_test(deep_and_huge_values_are_refused),
        cmocka_unit_test(notes_without_metadata_have_none),
        cmocka_unit_test(every_form_of_a_value_is_read_or_passed_over),
        cmocka_unit_test(all_numbers_of_a_kernel_are_told_apart),
        cmocka_unit_test(the_note_is_found_among_others),
    };
    return cmocka_run_group_tests(tests, load, NULL);
}
