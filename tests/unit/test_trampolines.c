/* SPDX-License-Identifier: MIT
 *
 * Functions of all kinds of parameters behind trampolines: they get what they were called with, and
 * give back what they gave.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <cmocka.h>

#include "interpose/trampolines.h"

/* ---- hooks that spoil what is not theirs ---- */

static int entered, left;
static hb_call seen; /* the last one */

__attribute__((noinline)) static double spoil(double a, double b, double c, double d, double e)
{
    volatile double x = a * b + c * d - e; /* uses floating-point registers */
    return x;
}

static bool enter_and_leave(hb_call *call)
{
    entered++;
    seen = *call;
    call->state[0] = 4711;
    return spoil(entered, 2, 3, 4, 5) != 1e300;
}

static bool enter_only(hb_call *call)
{
    seen = *call;
    entered++;
    return spoil(entered, 2, 3, 4, 5) == 1e300;
}

static void leave(hb_call *call)
{
    assert_int_equal(call->state[0], 4711);
    left += spoil(left, 2, 3, 4, 5) != 1e300;
    seen = *call;
}

static const hb_call_hooks around = {enter_and_leave, leave, NULL},
                           before = {enter_only, leave, NULL};

static uint32_t is_on;

/* `function`, each way: jumped over, entered, entered and left. */
#define EACH_WAY(type, function, ...)                                                        \
    do {                                                                                     \
        const hb_call_hooks *const hooks[] = {&around, &before, &around};                    \
        for (int way = 0; way < 3; way++) {                                                  \
            type *real = function;                                                           \
            uint32_t index = hb_trampoline_new((void *)(uintptr_t)real, hooks[way], &is_on); \
            assert_true(index < HB_TRAMPOLINES);                                             \
            type *f = (type *)(uintptr_t)hb_trampoline_address(index);                       \
            is_on = way > 0;                                                                 \
            entered = left = 0;                                                              \
            __VA_ARGS__;                                                                     \
            assert_int_equal(entered, way > 0);                                              \
            assert_int_equal(left, way > 1);                                                 \
            is_on = 0;                                                                       \
        }                                                                                    \
    } while (0)

/* ---- what is called ---- */

typedef uint64_t words14(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                         uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

static uint64_t sum14(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
                      uint64_t g, uint64_t h, uint64_t i, uint64_t j, uint64_t k, uint64_t l,
                      uint64_t m, uint64_t n)
{
    return a + 3 * b + 5 * c + 7 * d + 11 * e + 13 * f + 17 * g + 19 * h + 23 * i + 29 * j +
           31 * k + 37 * l + 41 * m + 43 * n;
}

static void test_words(void **state)
{
    uint64_t expected = sum14(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
    (void)state;
    EACH_WAY(words14, sum14,
             assert_int_equal(f(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14), expected);
             for (uint64_t i = 0; i < 14 && way; i++) assert_int_equal(seen.words[i], i + 1));
    assert_int_equal(seen.results[0], expected);
}

/* More words of the stack than which none are passed on. */
#define EACH_OF_30(x)                                                                              \
    x(0), x(1), x(2), x(3), x(4), x(5), x(6), x(7), x(8), x(9), x(10), x(11), x(12), x(13), x(14), \
        x(15), x(16), x(17), x(18), x(19), x(20), x(21), x(22), x(23), x(24), x(25), x(26), x(27), \
        x(28), x(29)
#define PARAMETER(n) uint64_t a##n
#define ARGUMENT(n)  a##n
#define VALUE(n)     ((n) + 1)

typedef uint64_t words30(EACH_OF_30(PARAMETER));

static uint64_t mix30(EACH_OF_30(PARAMETER))
{
    const uint64_t all[] = {EACH_OF_30(ARGUMENT)};
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sum = sum * 31 + all[i];
    return sum;
}

static void test_many_words(void **state)
{
    uint64_t expected = mix30(EACH_OF_30(VALUE));
    (void)state;
    EACH_WAY(words30, mix30, assert_int_equal(f(EACH_OF_30(VALUE)), expected));
}

typedef double mixed(double, int, float, int, double, int, double, double, double, double, double,
                     int, int, int, int, double);

static double mix(double a, int i, float b, int j, double c, int k, double d, double e, double g,
                  double h, double l, int m, int n, int o, int p, double q)
{
    return a * i + (double)b * j + c * k + d + 2 * e + 3 * g + 4 * h + 5 * l + m + 2 * n + 3 * o +
           4 * p + 0.5 * q;
}

static void test_floats_among_integers(void **state)
{
    double expected = mix(1.5, 2, 2.5f, 3, 3.5, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14);
    (void)state;
    EACH_WAY(
        mixed, mix,
        assert_true(f(1.5, 2, 2.5f, 3, 3.5, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14) == expected));
    assert_true(seen.float_results[0].parts[0] == expected);
}

typedef struct two_words {
    uint64_t a, b;
} two_words;
typedef struct two_floats {
    double a, b;
} two_floats;
typedef struct many_words {
    uint64_t w[9];
} many_words;

static two_words give_words(int x)
{
    return (two_words){(uint64_t)x, (uint64_t)x * 2};
}

static two_floats give_floats(double x)
{
    return (two_floats){x, x * 2};
}

static many_words give_many(many_words m, float x)
{
    for (int i = 0; i < 9; i++)
        m.w[i] += (uint64_t)x;
    return m;
}

static void test_structures(void **state)
{
    typedef two_words words(int);
    typedef two_floats floats(double);
    typedef many_words many(many_words, float);
    (void)state;
    EACH_WAY(words, give_words, two_words r = f(21); assert_int_equal(r.a + r.b, 63));
    EACH_WAY(floats, give_floats, two_floats r = f(0.5); assert_true(r.a == 0.5 && r.b == 1));
    /* Nine words on the stack: one more than is passed on where the end is asked for. */
    EACH_WAY(many, give_many, many_words m = {{1, 2, 3, 4, 5, 6, 7, 8, 9}}; m = f(m, 1);
             assert_int_equal(m.w[0] + m.w[7], 11));
}

static double add_all(int count, ...)
{
    double sum = 0;
    va_list list;
    va_start(list, count);
    for (int i = 0; i < count; i++)
        sum += va_arg(list, double);
    va_end(list);
    return sum;
}

static void test_any_number_of_parameters(void **state)
{
    typedef double any(int, ...);
    (void)state;
    EACH_WAY(any, add_all, assert_true(f(4, 1.0, 2.0, 3.0, 4.5) == 10.5));
}

/* ---- what looks at the stack ---- */

static struct {
    bool found;
    uintptr_t caller;
} search;

static _Unwind_Reason_Code find_caller(struct _Unwind_Context *context, void *unused)
{
    (void)unused;
    search.found |= _Unwind_GetRegionStart(context) == search.caller;
    return _URC_NO_REASON;
}

static int unwind(int x)
{
    search.found = false;
    _Unwind_Backtrace(find_caller, NULL);
    return x + 1;
}

static void test_unwinders_find_the_caller(void **state)
{
    typedef int plain(int);
    (void)state;
    search.caller = (uintptr_t)&test_unwinders_find_the_caller;
    EACH_WAY(plain, unwind, assert_int_equal(f(1), 2); assert_true(search.found));
}

static jmp_buf back;

static int jump_out(int x)
{
    longjmp(back, x);
}

static void test_longjmp_passes_over_a_trampoline(void **state)
{
    typedef int plain(int);
    plain *volatile f;
    (void)state;
    f = (plain *)(uintptr_t)hb_trampoline_address(
        hb_trampoline_new((void *)(uintptr_t)&jump_out, &around, &is_on));
    is_on = 1;
    for (volatile int i = 1; i < 4; i++) {
        int came = setjmp(back);
        if (!came) f(i);
        assert_int_equal(came, i);
    }
    is_on = 0;
}

/* ---- a stack that ends behind the caller's frame ---- */

static words14 *on_fiber;
static uint64_t fiber_result;
static ucontext_t home, fiber;

static uint64_t first_of(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f,
                         uint64_t g, uint64_t h, uint64_t i, uint64_t j, uint64_t k, uint64_t l,
                         uint64_t m, uint64_t n)
{
    (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h, (void)i, (void)j, (void)k;
    (void)l, (void)m, (void)n;
    return a;
}

/* Calls it from as far up as a stack of this many bytes allows. */
static void run_fiber(void)
{
    uint64_t (*f)(uint64_t) = (uint64_t(*)(uint64_t))(uintptr_t)on_fiber;
    fiber_result = f(42);
}

static void test_a_stack_that_ends_early(void **state)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = 64 * 1024;
    char *stack =
        mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)state;
    assert_ptr_not_equal(stack, MAP_FAILED);
    assert_int_equal(munmap(stack + size, page), 0);
    on_fiber = (words14 *)(uintptr_t)hb_trampoline_address(
        hb_trampoline_new((void *)(uintptr_t)&first_of, &around, &is_on));
    is_on = 1;
    for (size_t less = 0; less < 320; less += 16) { /* one of these stands just below the end */
        assert_int_equal(getcontext(&fiber), 0);
        fiber.uc_stack.ss_sp = stack;
        fiber.uc_stack.ss_size = size - less;
        fiber.uc_link = &home;
        makecontext(&fiber, run_fiber, 0);
        fiber_result = 0;
        assert_int_equal(swapcontext(&home, &fiber), 0);
        assert_int_equal(fiber_result, 42);
    }
    is_on = 0;
    munmap(stack, size);
}

static void test_there_are_no_more_than_there_are(void **state)
{
    (void)state;
    for (int i = 0; i < 2 * HB_TRAMPOLINES; i++)
        hb_trampoline_new((void *)(uintptr_t)&unwind, &around, &is_on);
    assert_int_equal(hb_trampoline_new((void *)(uintptr_t)&unwind, &around, &is_on),
                     HB_TRAMPOLINES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_many_words),
        cmocka_unit_test(test_floats_among_integers),
        cmocka_unit_test(test_structures),
        cmocka_unit_test(test_any_number_of_parameters),
        cmocka_unit_test(test_unwinders_find_the_caller),
        cmocka_unit_test(test_longjmp_passes_over_a_trampoline),
        cmocka_unit_test(test_a_stack_that_ends_early),
        cmocka_unit_test(test_there_are_no_more_than_there_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
