/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "trace/input_words.h"

enum { ROOM = 512 };

static const int64_t sizes[HB_INPUT_MAX_DIMS + 1] = {2, -1, 3, 5};
static const double numbers[] = {0.5, -0.0};
static const hb_input tensors[] = {
    {.kind = HB_INPUT_TENSOR, .dtype = HB_FLOAT16, .count = 2, .dims = sizes},
    {.kind = HB_INPUT_TENSOR, .dtype = HB_INT64, .count = 3, .dims = sizes, .strides = sizes},
};
static const hb_input all[] = {
    {.kind = HB_INPUT_NONE},
    {.kind = HB_INPUT_INT, .i = INT64_MIN},
    {.kind = HB_INPUT_BOOL, .i = 1},
    {.kind = HB_INPUT_FLOAT, .f = -0.25},
    {.kind = HB_INPUT_TENSOR, .dtype = HB_BFLOAT16},
    {.kind = HB_INPUT_TENSOR, .dtype = HB_FLOAT32, .count = 4, .dims = sizes},
    {.kind = HB_INPUT_TENSOR, .dtype = HB_INT8, .count = 3, .dims = sizes, .strides = sizes + 1},
    {.kind = HB_INPUT_TENSOR, .count = HB_INPUT_MAX_DIMS, .dims = sizes, .strides = sizes},
    {.kind = HB_INPUT_INT_LIST, .count = 2, .dims = sizes},
    {.kind = HB_INPUT_FLOAT_LIST, .count = 2, .floats = numbers},
    {.kind = HB_INPUT_TENSOR_LIST, .count = 2, .list = tensors},
};
enum { ALL = sizeof all / sizeof *all, SIMPLE = 8 }; /* the first ones */

/* The quick way writes what the long one does. */
static void simple_inputs_are_written_as_all_are(void **state)
{
    (void)state;
    for (size_t first = 0; first < SIMPLE; first++) {
        for (size_t count = 0; first + count <= SIMPLE; count++) {
            uint64_t quick[ROOM] = {1}, whole[ROOM] = {2};
            size_t words = hb_inputs_words(all + first, count, ROOM);
            assert_true(words > 0);
            assert_int_equal(hb_simple_inputs_words(all + first, count), words);
            hb_inputs_encode(whole, all + first, count, words);
            hb_simple_inputs_encode(quick, all + first, count, words);
            assert_memory_equal(quick, whole, words * sizeof *quick);
        }
    }
}

static void lists_and_what_is_malformed_are_not_simple(void **state)
{
    (void)state;
    static const hb_input malformed[] = {
        {.kind = HB_INPUT_TENSOR, .count = HB_INPUT_MAX_DIMS + 1, .dims = sizes},
        {.kind = HB_INPUT_TENSOR, .count = 1},
        {.kind = (hb_input_kind)99},
    };
    static const hb_input many[1000];
    for (size_t i = SIMPLE; i < ALL; i++)
        assert_int_equal(hb_simple_inputs_words(all, i + 1), 0);
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        assert_int_equal(hb_simple_inputs_words(&malformed[i], 1), 0);
        assert_int_equal(hb_inputs_words(&malformed[i], 1, ROOM), 0);
    }
    assert_int_equal(hb_simple_inputs_words(many, sizeof many / sizeof *many), 0);
}

static void inputs_come_back(void **state)
{
    (void)state;
    uint64_t words[ROOM];
    hb_inputs_scratch scratch;
    uint32_t count;
    size_t used = hb_inputs_words(all, ALL, ROOM);
    hb_inputs_encode(words, all, ALL, used);
    hb_inputs_scratch_init(&scratch);
    const hb_input *back = hb_inputs_decode(words, used, &scratch, &count);
    assert_non_null(back);
    assert_int_equal(count, ALL);
    for (size_t i = 0; i < ALL; i++) {
        assert_int_equal(back[i].kind, all[i].kind);
        assert_int_equal(back[i].count, all[i].count);
    }
    assert_true(back[1].i == INT64_MIN && back[2].i == 1 && back[3].f == -0.25);
    assert_int_equal(back[6].dtype, HB_INT8);
    assert_memory_equal(back[6].strides, sizes + 1, 3 * sizeof *sizes);
    assert_memory_equal(back[5].strides, ((int64_t[]){15, 15, 5, 1}), 4 * sizeof *sizes);
    assert_memory_equal(back[10].list[1].strides, sizes, 3 * sizeof *sizes);
    for (size_t cut = 0; cut < used; cut++)
        assert_null(hb_inputs_decode(words, cut, &scratch, &count));
    hb_inputs_scratch_free(&scratch);
}

/* Several lists of tensors in one operator, as foreach ones have them, have their own tensors. */
static void each_list_has_its_own_tensors(void **state)
{
    (void)state;
    uint64_t words[ROOM];
    hb_inputs_scratch scratch;
    uint32_t count;
    const hb_input lists[] = {{.kind = HB_INPUT_TENSOR_LIST, .count = 2, .list = tensors},
                              {.kind = HB_INPUT_TENSOR_LIST, .count = 1, .list = tensors + 1},
                              {.kind = HB_INPUT_TENSOR_LIST, .count = 1, .list = tensors}};
    size_t used = hb_inputs_words(lists, 3, ROOM);
    assert_in_range(used, 1, ROOM);
    hb_inputs_encode(words, lists, 3, used);
    hb_inputs_scratch_init(&scratch);
    const hb_input *back = hb_inputs_decode(words, used, &scratch, &count);
    assert_non_null(back);
    assert_int_equal(count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(back[i].count, lists[i].count);
        for (size_t k = 0; k < lists[i].count; k++) {
            assert_int_equal(back[i].list[k].dtype, lists[i].list[k].dtype);
            assert_int_equal(back[i].list[k].count, lists[i].list[k].count);
        }
    }
    hb_inputs_scratch_free(&scratch);
}

static void they_are_compared_as_they_are_written(void **state)
{
    (void)state;
    for (size_t first = 0; first < ALL; first++) {
        for (size_t count = 0; first + count <= ALL; count++) {
            uint64_t words[ROOM];
            size_t used = hb_inputs_words(all + first, count, ROOM);
            hb_inputs_encode(words, all + first, count, used);
            assert_true(hb_inputs_are(words, all + first, count));
            if (count) assert_false(hb_inputs_are(words, all + first, count - 1));
            for (size_t i = 0; i < used; i++) {
                words[i] ^= 1;
                assert_false(hb_inputs_are(words, all + first, count));
                words[i] ^= 1;
            }
        }
    }
}

/* Of what is the same as far as it is written, or would be read where nothing is. */
static void what_is_malformed_is_never_the_same(void **state)
{
    (void)state;
    static const hb_input whole[] = {
        {.kind = HB_INPUT_TENSOR, .count = 2, .dims = sizes},
        {.kind = HB_INPUT_INT_LIST, .count = 2, .dims = sizes},
        {.kind = HB_INPUT_FLOAT_LIST, .count = 2, .floats = numbers},
        {.kind = HB_INPUT_TENSOR_LIST, .count = 2, .list = tensors},
    };
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        uint64_t words[ROOM];
        hb_inputs_encode(words, &whole[i], 1, hb_inputs_words(&whole[i], 1, ROOM));
        assert_true(hb_inputs_are(words, &whole[i], 1));
        hb_input without = {.kind = whole[i].kind, .count = 2}, other = whole[i];
        assert_false(hb_inputs_are(words, &without, 1));
        other.kind = (hb_input_kind)(whole[i].kind + 256);
        assert_false(hb_inputs_are(words, &other, 1));
    }
}

/* Only to what stands before, and is not very much. */
static void a_place_leads_to_inputs_before_it(void **state)
{
    (void)state;
    static uint64_t part[1000];
    const uint64_t *at = part + 500;
    size_t left = 1;
    part[500] = 2;
    assert_ptr_equal(hb_inputs_told(part, at, &left), part + 2);
    assert_int_equal(left, HB_INPUTS_TOLD_AGAIN);
    left = 1;
    part[500] = 490;
    assert_ptr_equal(hb_inputs_told(part, at, &left), part + 490);
    assert_int_equal(left, 10);
    static const uint64_t none[] = {500, 501, UINT32_MAX, (uint64_t)1 << 32};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        left = 1;
        part[500] = none[i];
        assert_ptr_equal(hb_inputs_told(part, at, &left), at);
        assert_int_equal(left, 1);
    }
    left = 0;
    part[500] = 2;
    assert_ptr_equal(hb_inputs_told(part, at, &left), at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simple_inputs_are_written_as_all_are),
        cmocka_unit_test(lists_and_what_is_malformed_are_not_simple),
        cmocka_unit_test(inputs_come_back),
        cmocka_unit_test(each_list_has_its_own_tensors),
        cmocka_unit_test(they_are_compared_as_they_are_written),
        cmocka_unit_test(what_is_malformed_is_never_the_same),
        cmocka_unit_test(a_place_leads_to_inputs_before_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
