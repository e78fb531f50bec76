/* SPDX-License-Identifier: MIT
 *
 * The vector, the hash table and the printer of numbers that all rooms use.
 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/decimal.h"
#include "base/hash_map.h"
#include "base/names.h"
#include "base/string_table.h"

static uint64_t seed = 88172645463325252u;

static uint64_t random_bits(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

/* ---- lists ---- */

struct pair {
    uint64_t a, b;
};

static void lists_keep_what_is_added_and_begin_with_zeros(void **state)
{
    HB_VEC(struct pair) list = {0};
    (void)state;
    for (uint64_t i = 0; i < 10000; i++) {
        __typeof__(list.items) added = HB_APPEND(&list);
        assert_non_null(added);
        assert_true(added == &list.items[i] && added->a == 0 && added->b == 0);
        added->a = i;
    }
    assert_int_equal(list.count, 10000);
    for (uint64_t i = 0; i < list.count; i++)
        assert_int_equal(list.items[i].a, i);
    free(list.items);
}

/* ---- tables ---- */

enum { KEYS = 700 };

/* Keys as writers give them, and as nobody should: all are found, and no other. */
static void find_keys(hb_arena *arena, uint64_t first, int64_t step, uint32_t count)
{
    hb_dict dict = {0};
    bool added;
    for (uint32_t i = 0; i < count; i++) {
        hb_dict_add(arena, &dict, first + (uint64_t)(step * i), &added)->value = i;
        assert_true(added);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t key = first + (uint64_t)(step * i);
        assert_int_equal(hb_dict_get(&dict, key)->value, i);
        if (step != 1 && step != -1) assert_null(hb_dict_get(&dict, key + 1));
        hb_dict_add(arena, &dict, key, &added);
        assert_false(added);
    }
    assert_null(hb_dict_get(&dict, first - (uint64_t)step));
    assert_null(hb_dict_get(&dict, first + (uint64_t)(step * count)));
    assert_true(dict.slots.size <= 64 * count + 128); /* far ones make no large table */
    hb_dict_set(arena, &dict, first + (UINT64_C(1) << 50), 7);
    assert_int_equal(hb_dict_get(&dict, first + (UINT64_C(1) << 50))->value, 7);
    assert_int_equal(hb_dict_get(&dict, first)->value, 0);
    if (!arena) hb_dict_free(&dict);
}

static void keys_in_a_row_and_far_ones_are_found(void **state)
{
    static const int64_t steps[] = {1, -1, 2, 3, 4, -4, 8, 100, 4096, INT64_C(1) << 32};
    static const uint64_t firsts[] = {0, 1, 5, 1u << 20, UINT64_MAX - 3, UINT64_C(1) << 63};
    hb_arena arena = {0};
    (void)state;
    if (!hb_arena_try(&arena)) fail();
    for (size_t i = 0; i < HB_ARRAY_LEN(steps); i++)
        for (size_t k = 0; k < HB_ARRAY_LEN(firsts); k++)
            for (uint32_t count = 1; count < 3000; count = count * 3 + 1) {
                find_keys(&arena, firsts[k], steps[i], count);
                find_keys(NULL, firsts[k], steps[i], count);
            }
    hb_arena_free(&arena);
}

/* Against a plain array: the last value of each key, and the order in which they came. */
static void fill_at_random(hb_arena *arena, hb_dict *dict)
{
    static uint32_t values[KEYS];
    static bool there[KEYS];
    uint32_t order[2 * KEYS], count = 0;
    memset(there, 0, sizeof there);
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t k = (uint32_t)(random_bits() % KEYS);
        uint64_t key = k < KEYS / 2 ? k : (uint64_t)k << 32 | 7; /* near ones and far ones */
        bool added;
        hb_dict_entry *entry = hb_dict_get(dict, key);
        assert_int_equal(entry != NULL, there[k]);
        if (entry) assert_int_equal(entry->value, values[k]);
        entry = hb_dict_add(arena, dict, key, &added);
        assert_int_equal(added, !there[k]);
        if (added) order[count++] = k;
        entry->value = values[k] = i;
        there[k] = true;
    }
    assert_int_equal(dict->entries.count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(dict->entries.items[i].value, values[order[i]]);
}

static void dicts_are_the_same_in_an_arena_and_without(void **state)
{
    hb_arena arena = {0};
    hb_dict dict = {0};
    (void)state;
    assert_true(hb_arena_try(&arena));
    fill_at_random(&arena, &dict);
    hb_arena_free(&arena);
    dict = (hb_dict){0};
    fill_at_random(NULL, &dict);
    hb_dict_free(&dict);
    assert_null(hb_dict_get(&dict, 1));
}

static void what_is_removed_and_added_goes_to_the_end(void **state)
{
    hb_dict dict = {0};
    bool added;
    (void)state;
    for (uint64_t key = 0; key < 100; key++)
        hb_dict_add(NULL, &dict, key, &added)->value = 1;
    hb_dict_get(&dict, 3)->alive = false;
    assert_null(hb_dict_get(&dict, 3));
    for (uint64_t key = 100; key < 200; key++) /* the table grows */
        hb_dict_add(NULL, &dict, key, &added)->value = 1;
    assert_null(hb_dict_get(&dict, 3));
    assert_int_equal(hb_dict_add(NULL, &dict, 3, &added)->value, 0);
    assert_true(added && dict.entries.items[200].key == 3 && dict.entries.items[200].alive);
    hb_dict_free(&dict);
}

static void texts_have_one_number_each(void **state)
{
    hb_texts texts;
    char text[32];
    (void)state;
    assert_true(hb_texts_init(&texts));
    for (int round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 5000; i++) {
            int size = snprintf(text, sizeof text, "text %u", i);
            assert_int_equal(hb_texts_add(&texts, text, (size_t)size), i + 1);
            assert_int_equal(hb_texts_find(&texts, text, (size_t)size), i + 1);
            assert_int_equal(hb_texts_find(&texts, text, (size_t)size + 1), 0);
        }
    hb_texts_free(&texts);
}

/* ---- numbers ---- */

static double random_double(void)
{
    double value;
    uint64_t bits = random_bits();
    if (bits % 3 == 0) return (double)(int64_t)(random_bits() % 2000000000) / 1000;
    if (bits % 3 == 1) bits = random_bits() & 0x800fffffffffffff; /* below all normal ones */
    memcpy(&value, &bits, sizeof value);
    return isfinite(value) ? value : 1.5;
}

static size_t digits_of(const char *text)
{
    size_t n = strcspn(text, "e"), digits = 0;
    while (n && (text[n - 1] == '0' || text[n - 1] == '.'))
        n--;
    for (bool leading = true; n--; text++)
        if ((*text >= '1' && *text <= '9') || (*text == '0' && !leading)) digits++, leading = false;
    return digits;
}

/* Of some of them the hashes are one. */
static void names_have_one_number_each_whatever_their_hashes(void **state)
{
    static const char *const names[] = {"",  "Layer76332", "Layer201213",
                                        "a", "op 2608",    "op 263967"};
    hb_arena arena = {0};
    hb_names known = {0};
    (void)state;
    assert_int_equal(hb_hash_bytes("Layer76332", 10), hb_hash_bytes("Layer201213", 11));
    assert_int_equal(hb_hash_bytes("op 2608", 7), hb_hash_bytes("op 263967", 9));
    if (hb_arena_try(&arena)) {
        for (int again = 0; again < 2; again++)
            for (uint32_t i = 0; i < HB_ARRAY_LEN(names); i++) {
                char text[20];
                snprintf(text, sizeof text, "%s|", names[i]); /* not ended by a NUL, and not kept */
                uint32_t size = (uint32_t)strlen(names[i]);
                assert_int_equal(hb_names_add(&arena, &known, (hb_str){text, size}), i);
                assert_string_equal(known.items.items[i].s, names[i]);
                assert_int_equal(known.items.items[i].len, size);
            }
        assert_int_equal(known.items.count, HB_ARRAY_LEN(names));
    }
    assert_int_equal(hb_arena_outcome(&arena), HB_OK);
    hb_arena_free(&arena);
}

static void pairs_have_one_number_each(void **state)
{
    static const uint32_t pairs[][2] = {{0, 0},          {0, 1},          {1, 0}, {1, 1},
                                        {UINT32_MAX, 0}, {0, UINT32_MAX}, {7, 9}, {9, 7}};
    hb_arena arena = {0};
    hb_dict known = {0};
    (void)state;
    if (hb_arena_try(&arena))
        for (int again = 0; again < 2; again++)
            for (uint32_t i = 0; i < HB_ARRAY_LEN(pairs); i++)
                assert_int_equal(hb_pair_number(&arena, &known, pairs[i][0], pairs[i][1]), i);
    assert_int_equal(hb_arena_outcome(&arena), HB_OK);
    hb_arena_free(&arena);
}

static void numbers_read_back_and_none_is_longer_than_it_need_be(void **state)
{
    (void)state;
    for (int i = 0; i < 200000; i++) {
        char text[HB_MAX_DECIMAL], shorter[64];
        double value = random_double();
        *hb_put_decimal(text, value, i % 2 ? 16 : 0) = '\0';
        assert_true(strtod(text, NULL) == value);
        snprintf(shorter, sizeof shorter, "%.*e", HB_MAX((int)digits_of(text), 2) - 2, value);
        if (digits_of(text) > 1) assert_true(strtod(shorter, NULL) != value);
    }
}

static void numbers_are_laid_out_as_python_and_printf_do(void **state)
{
    static const struct {
        double value;
        const char *python, *printf;
    } cases[] = {{0, "0", "0"},
                 {-0.0, "-0", "-0"},
                 {0.1, "0.1", "0.1"},
                 {-12.5, "-12.5", "-12.5"},
                 {0.0001, "0.0001", "0.0001"},
                 {0.00001, "1e-05", "1e-05"},
                 {1e15, "1000000000000000", "1e+15"},
                 {1e16, "1e+16", "1e+16"},
                 {1234567890123456.5, "1234567890123456.5", "1234567890123456.5"},
                 {1.0 / 3, "0.3333333333333333", "0.3333333333333333"},
                 {5e-324, "5e-324", "5e-324"},
                 {-DBL_MAX, "-1.7976931348623157e+308", "-1.7976931348623157e+308"}};
    char text[HB_MAX_DECIMAL];
    (void)state;
    for (size_t i = 0; i < HB_ARRAY_LEN(cases); i++) {
        *hb_put_decimal(text, cases[i].value, 16) = '\0';
        assert_string_equal(text, cases[i].python);
        *hb_put_decimal(text, cases[i].value, 0) = '\0';
        assert_string_equal(text, cases[i].printf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_keep_what_is_added_and_begin_with_zeros),
        cmocka_unit_test(keys_in_a_row_and_far_ones_are_found),
        cmocka_unit_test(dicts_are_the_same_in_an_arena_and_without),
        cmocka_unit_test(what_is_removed_and_added_goes_to_the_end),
        cmocka_unit_test(texts_have_one_number_each),
        cmocka_unit_test(names_have_one_number_each_whatever_their_hashes),
        cmocka_unit_test(pairs_have_one_number_each),
        cmocka_unit_test(numbers_read_back_and_none_is_longer_than_it_need_be),
        cmocka_unit_test(numbers_are_laid_out_as_python_and_printf_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
