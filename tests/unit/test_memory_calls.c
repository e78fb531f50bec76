/* SPDX-License-Identifier: MIT
 *
 * Which of the allocators that call each other counts, by where they lie on the stack.
 */
#include "operators/memory_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { FURTHEST = 1 << 16 }; /* that an inner one may be from the outermost */

static const hb_op_entry neither = {.makes = HB_OP_NO_PARAM, .forgets = HB_OP_NO_PARAM};
static const uintptr_t base = UINT64_C(0x7fff00000000);

static hb_call at(uintptr_t stack)
{
    return (hb_call){.stack = (const uint64_t *)stack};
}

static bool counts(uintptr_t stack)
{
    hb_call call = at(stack);
    return hb_memory_call_enter(&neither, &call);
}

static void leave(uintptr_t stack)
{
    hb_call call = at(stack);
    hb_memory_call_leave(&neither, &call);
}

static void the_outermost_counts(void **state)
{
    (void)state;
    assert_true(counts(base));
    assert_false(counts(base - 8));
    assert_false(counts(base - FURTHEST + 8));
    leave(base - 8); /* not the outermost */
    assert_false(counts(base - 64));
    leave(base);
    assert_true(counts(base - 64));
    leave(base - 64);
}

/* It was left by longjmp(): its frame is taken by others. */
static void one_that_was_left_behind_hides_nothing(void **state)
{
    (void)state;
    assert_true(counts(base));
    assert_true(counts(base)); /* another call from there */
    assert_true(counts(base + 8));
    leave(base + 8);
    assert_true(counts(base));
    assert_true(counts(base - FURTHEST)); /* so deep are none */
    assert_false(counts(base - FURTHEST - 8));
    leave(base - FURTHEST);
    assert_true(counts(base));
    hb_call thrown_out_of = at(base);
    hb_memory_call_abandon(&thrown_out_of);
    assert_true(counts(base - 8));
    leave(base - 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_outermost_counts),
        cmocka_unit_test(one_that_was_left_behind_hides_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
