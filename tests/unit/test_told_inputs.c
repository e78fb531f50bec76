/* SPDX-License-Identifier: MIT
 *
 * How much an operator's inputs take in its record: all of their words, or the one that says where
 * they stand already.
 */
#include "raw_records.h"

#include <stdio.h>

#include "trace/input_words.h"

/* An operator with a number has a path of its own, and two more words. */
static uint64_t sequence;

static size_t words_before(void)
{
    return sequence ? sizeof(hb_record_sequence) / 8 : 0;
}

__attribute__((noinline)) static void tell(const char *name, const hb_input *inputs, size_t count)
{
    const hb_op_info op = {.inputs = inputs, .num_inputs = count, .sequence_number = sequence};
    hb_scope scope = hb_op(name, &op);
    hb_scope_end(&scope);
    __asm__ volatile(""); /* each call of hb_op() comes from here */
}

static size_t words_of(size_t n)
{
    return raw_nth(HB_RECORD_OP, n)->head.units - sizeof(hb_record) / 8 - words_before();
}

static void inputs_that_are_the_last_ones_take_a_word(void **state)
{
    const int64_t dims[] = {2, 3, 4};
    const hb_input a = {.kind = HB_INPUT_TENSOR, .dtype = HB_FLOAT32, .count = 3, .dims = dims},
                   b = {.kind = HB_INPUT_TENSOR, .dtype = HB_FLOAT16, .count = 3, .dims = dims};
    const size_t whole = hb_inputs_words(&a, 1, 1000);
    (void)state;
    assert_true(whole > 1 && hb_inputs_words(&b, 1, 1000) == whole);
    const struct {
        const hb_input *input;
        size_t words;
    } calls[] = {{&a, whole}, {&a, 1}, {&a, 1}, {&b, whole}, {&b, 1}, {&a, whole}, {&a, 1}};
    for (int session = 0; session < 4; session++) { /* each can be read alone */
        sequence = session % 2 ? 7 : 0;
        hb_session *s = raw_begin(HB_SESSION_SHAPES);
        for (size_t i = 0; i < HB_ARRAY_LEN(calls); i++)
            tell("op", calls[i].input, 1);
        raw_end(s);
        assert_int_equal(raw_count, HB_ARRAY_LEN(calls));
        for (size_t i = 0; i < HB_ARRAY_LEN(calls); i++)
            assert_int_equal(words_of(i), calls[i].words);
    }
}

/* There are places for 256 names and callers, by a hash: few of these meet. */
static void each_name_has_its_own(void **state)
{
    enum { NAMES = 16 };
    size_t whole = 0, again = 0;
    char name[16];
    (void)state;
    sequence = 0;
    hb_session *s = raw_begin(HB_SESSION_SHAPES);
    for (int i = 0; i < 2 * NAMES; i++) {
        const hb_input input = HB_INT(i % NAMES);
        whole = hb_inputs_words(&input, 1, 1000);
        snprintf(name, sizeof name, "op %d", i % NAMES);
        tell(name, &input, 1);
    }
    raw_end(s);
    assert_int_equal(raw_count, 2 * NAMES);
    for (size_t i = 0; i < NAMES; i++) {
        assert_int_equal(words_of(i), whole);
        again += words_of(NAMES + i) == 1;
    }
    assert_true(whole > 1 && again >= NAMES / 2);
}

static void those_of_128_words_are_told_again_and_no_longer_ones(void **state)
{
    enum { MOST = 300 };
    int64_t values[MOST] = {0};
    hb_input list = {.kind = HB_INPUT_INT_LIST, .dims = values};
    size_t words = 0;
    bool exact = false;
    (void)state;
    for (list.count = 1; list.count < MOST && words <= HB_INPUTS_TOLD_AGAIN; list.count++) {
        words = hb_inputs_words(&list, 1, 1000);
        values[0] = list.count; /* others than before */
        sequence = list.count % 2;
        hb_session *s = raw_begin(HB_SESSION_SHAPES);
        tell("list", &list, 1);
        tell("list", &list, 1);
        raw_end(s);
        assert_int_equal(words_of(0), words);
        assert_int_equal(words_of(1), words <= HB_INPUTS_TOLD_AGAIN ? 1 : words);
        exact = exact || words == HB_INPUTS_TOLD_AGAIN;
    }
    assert_true(exact && words == HB_INPUTS_TOLD_AGAIN + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_that_are_the_last_ones_take_a_word),
        cmocka_unit_test(each_name_has_its_own),
        cmocka_unit_test(those_of_128_words_are_told_again_and_no_longer_ones),
    };
    return cmocka_run_group_tests(tests, NULL, raw_close);
}
