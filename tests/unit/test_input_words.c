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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simple_inputs_are_written_as_all_are),
        cmocka_unit_test(lists_and_what_is_malformed_are_not_simple),
        cmocka_unit_test(inputs_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
