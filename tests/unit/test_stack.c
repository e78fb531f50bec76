/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "record/stack.h"
#include "symbols/symbolizer.h"

static uint64_t pcs[HB_STACK_MAX];
static uint32_t frames;

static inline __attribute__((always_inline)) void inlined_function(void)
{
    frames = hb_stack_capture(pcs, NULL);
}

enum { LINE_OF_CALL = __LINE__ + 4 };
static __attribute__((noinline)) void outer_function(void)
{
    __asm__ volatile("");
    inlined_function();
    __asm__ volatile("");
}

static void frames_have_names_lines_and_inlined_functions(void **state)
{
    (void)state;
    outer_function();
    assert_true(frames > 2);
    hb_symbolizer *s = hb_symbolizer_new((hb_str){0});
    assert_non_null(s);
    for (int again = 0; again < 2; again++) { /* the second time from its cache */
        hb_str text = hb_symbolizer_stack(s, pcs, frames);
        char *copy = strndup(text.s, text.len), expected[64];
        assert_int_equal(copy[text.len - 1], ';');
        char *inner = strstr(copy, "): inlined_function;"),
             *outer = strstr(copy, "): outer_function;");
        snprintf(expected, sizeof expected, "test_stack.c(%d): outer_function;", LINE_OF_CALL);
        if (!inner || !outer || outer < inner || !strstr(copy, expected)) fail_msg("%s", copy);
        free(copy);
    }
    hb_symbolizer_free(s);
}

static __attribute__((noinline)) void recording_call(void)
{
    frames = hb_stack_capture(pcs, __builtin_return_address(0));
    __asm__ volatile("");
}

static __attribute__((noinline)) uint64_t caller_function(void)
{
    recording_call();
    __asm__ volatile("");
    return (uint64_t)(uintptr_t)__builtin_return_address(0);
}

static void a_stack_begins_with_the_callers_frame(void **state)
{
    (void)state;
    uint64_t return_address = caller_function();
    assert_true(frames >= 2);
    assert_int_equal(pcs[1], return_address);
}

/* Of a library that profiles: nothing of it at the beginning, all that called it behind. */
static void what_is_passed_over_is_left_out_at_the_beginning(void **state)
{
    static uint64_t outside[HB_STACK_MAX];
    void (*own)(void **) = what_is_passed_over_is_left_out_at_the_beginning;
    const void *here;
    (void)state;
    memcpy(&here, &own, sizeof here);
    for (int i = 0; i < 20; i++) /* which takes no more than once does */
        hb_stack_pass_over(here);
    frames = hb_stack_capture(pcs, NULL);
    hb_stack_pass_over((const void *)(uintptr_t)pcs[0]); /* under a sanitizer another library */
    frames = hb_stack_capture(pcs, NULL);
    uint32_t left = hb_stack_capture_outside(outside);
    assert_in_range(left, 2, frames - 1);
    for (uint32_t i = 0; i < left; i++) /* the test's main() is among them */
        assert_int_equal(outside[i], pcs[frames - left + i]);
    Dl_info library;
    assert_true(dladdr((void *)(uintptr_t)outside[0], &library) != 0);
    assert_non_null(strstr(library.dli_fname, "cmocka"));
}

static void addresses_outside_any_module_are_shown_as_such(void **state)
{
    (void)state;
    hb_symbolizer *s = hb_symbolizer_new((hb_str){0});
    hb_str text = hb_symbolizer_stack(s, (uint64_t[]){0x10}, 1);
    char *copy = strndup(text.s, text.len);
    assert_string_equal(copy, "?(0): 0xf;");
    free(copy);
    hb_symbolizer_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_have_names_lines_and_inlined_functions),
        cmocka_unit_test(what_is_passed_over_is_left_out_at_the_beginning),
        cmocka_unit_test(a_stack_begins_with_the_callers_frame),
        cmocka_unit_test(addresses_outside_any_module_are_shown_as_such),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
