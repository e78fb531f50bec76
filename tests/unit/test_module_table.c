/* SPDX-License-Identifier: MIT
 *
 * Modules by their numbers: names, and which one of its class each is.
 */
#include "raw_records.h"

#include "record/module_table.h"

enum { MOST = 65535 };

static void expect_module(hb_module module, const char *class_name, uint32_t index,
                          const char *name)
{
    const hb_module_entry *m = hb_module_get(module);
    assert_non_null(m);
    raw_expect_text(m->class_name, class_name);
    assert_int_equal(m->index, index);
    raw_expect_text(m->name, name);
}

static void numbers_that_nobody_was_given_have_none(void **state)
{
    (void)state;
    assert_null(hb_module_get(0));
    assert_null(hb_module_get(1));
    assert_int_equal(hb_module_create(NULL), 0);
    assert_int_equal(hb_module_create(""), 0);
    assert_null(hb_module_get(1));
}

/* Each class by itself, in whatever order they come. */
static void modules_are_counted_by_class(void **state)
{
    (void)state;
    static const char *const classes[] = {"Linear", "Conv2d", "Linear", "Linear", "Conv2d", "L"};
    for (uint32_t i = 0; i < HB_ARRAY_LEN(classes); i++)
        assert_int_equal(hb_module_create(classes[i]), i + 1);
    expect_module(1, "Linear", 0, "nn.Module: Linear_0");
    expect_module(2, "Conv2d", 0, "nn.Module: Conv2d_0");
    expect_module(3, "Linear", 1, "nn.Module: Linear_1");
    expect_module(4, "Linear", 2, "nn.Module: Linear_2");
    expect_module(5, "Conv2d", 1, "nn.Module: Conv2d_1");
    expect_module(6, "L", 0, "nn.Module: L_0");
    assert_null(hb_module_get(7));
}

/* Last of all tests. */
static void there_are_65535_modules(void **state)
{
    (void)state;
    hb_module first = hb_module_create("Last");
    for (hb_module next = first + 1; next <= MOST; next++)
        assert_int_equal(hb_module_create("Last"), next);
    assert_int_equal(hb_module_create("Last"), 0);
    assert_int_equal(hb_module_create("Another"), 0);
    assert_null(hb_module_get(MOST + 1));
    assert_int_equal(hb_module_get(MOST)->index, MOST - first);
    expect_module(first, "Last", 0, "nn.Module: Last_0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_that_nobody_was_given_have_none),
        cmocka_unit_test(modules_are_counted_by_class),
        cmocka_unit_test(there_are_65535_modules),
    };
    return cmocka_run_group_tests(tests, NULL, raw_close);
}
