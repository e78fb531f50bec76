/* SPDX-License-Identifier: MIT
 *
 * As much of cmocka as tests of one file need, for processors whose cmocka is not at hand.
 */
#ifndef HB_TESTS_CMOCKA_STANDIN_H
#define HB_TESTS_CMOCKA_STANDIN_H

#include <stdio.h>
#include <stdlib.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};

#define cmocka_unit_test(f) {#f, f}
#define assert_true(x) \
    ((x) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x), exit(1)))
#define assert_int_equal(a, b)     assert_true((a) == (b))
#define assert_ptr_not_equal(a, b) assert_true((a) != (b))

static inline int cmocka_run_tests(const struct CMUnitTest *tests, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tests[i].run(NULL);
        printf("%s: OK\n", tests[i].name);
    }
    return 0;
}
#define cmocka_run_group_tests(tests, setup, teardown) \
    cmocka_run_tests(tests, sizeof(tests) / sizeof *(tests))

#endif
