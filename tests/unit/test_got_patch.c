/* SPDX-License-Identifier: MIT
 *
 * Places through which modules call others, in modules that the loader has done with and in such as
 * another thread is just loading: those are shown, and counted, before they are relocated.
 */
#include "interpose/got_patch.h"

#include <hipboard/hipboard.h>

#include "crafted_module.h"
#include "interpose/trampolines.h"
#include "test_dir.h"

/* ---- replacing ---- */

static void real_work(void) {}
static void other_work(void) {}
static void foreign_work(void) {}

static void *address_of(void (*fn)(void))
{
    return (void *)(uintptr_t)fn;
}

static unsigned foreign;

static void *replace_work(const hb_import *import, void **real)
{
    if (import->base != (uintptr_t)&crafted || strcmp(import->name, "work") != 0) return NULL;
    *real = address_of(real_work);
    return address_of(other_work);
}

/* Whether all modules could be looked at. */
static bool replace(void)
{
    return hb_imports_replace(replace_work, NULL, NULL, &foreign);
}

static int begin_module(void **state)
{
    (void)state;
    crafted_begin();
    return 0;
}

static int end_module(void **state)
{
    (void)state;
    crafted_end();
    return 0;
}

#define OF_MODULE(name) cmocka_unit_test_setup_teardown(name, begin_module, end_module)

static void imports_are_replaced_that_hold_the_function_or_a_stub(void **state)
{
    (void)state;
    void **bound = crafted_import(0, "work", true, STB_GLOBAL),
         **lazy = crafted_import(1, "work", true, STB_WEAK),
         **foreign_one = crafted_import(2, "work", true, STB_GLOBAL),
         **rest = crafted_import(3, "rest", true, STB_GLOBAL),
         **address = crafted_import(0, "work", false, STB_GLOBAL),
         **foreign_address = crafted_import(1, "work", false, STB_GLOBAL);
    *bound = *address = *rest = address_of(real_work);
    *foreign_one = *foreign_address = address_of(foreign_work);
    *lazy = crafted_stub();
    for (int i = 0; i < 2; i++) {
        assert_true(replace());
        assert_int_equal(foreign, 1);
        assert_ptr_equal(*bound, address_of(other_work));
        assert_ptr_equal(*lazy, address_of(other_work));
        assert_ptr_equal(*address, address_of(other_work));
        assert_ptr_equal(*foreign_one, address_of(foreign_work));
        assert_ptr_equal(*foreign_address, address_of(foreign_work));
        assert_ptr_equal(*rest, address_of(real_work));
    }
}

static void imports_that_the_loader_has_not_come_to_stay_for_later(void **state)
{
    (void)state;
    void **word = crafted_import(0, "work", true, STB_GLOBAL);
    for (int i = 0; i < 2; i++) {
        assert_false(replace());
        assert_int_equal(foreign, 0);
        assert_ptr_equal(*word, CRAFTED_UNRELOCATED);
    }
    *word = crafted_stub();
    assert_true(replace());
    assert_ptr_equal(*word, address_of(other_work));
    *word = NULL; /* as other linkers make it */
    assert_false(replace());
    assert_null(*word);
    *word = address_of(real_work);
    void **address = crafted_import(0, "work", false, STB_GLOBAL);
    assert_false(replace());
    assert_ptr_equal(*word, address_of(other_work)); /* one by one */
    assert_null(*address);
    *address = address_of(real_work);
    assert_true(replace());
    assert_ptr_equal(*address, address_of(other_work));
}

static void nobody_waits_for_imports_that_are_not_replaced(void **state)
{
    (void)state;
    void **rest = crafted_import(0, "rest", true, STB_GLOBAL);
    assert_true(replace());
    assert_ptr_equal(*rest, CRAFTED_UNRELOCATED);
}

static void functions_that_may_be_missing_are_not_waited_for(void **state)
{
    (void)state;
    void **weak = crafted_import(0, "work", false, STB_WEAK);
    assert_true(replace());
    assert_null(*weak);
}

/* As a program's own pointer to a function that it has set to NULL. */
static void data_that_holds_nothing_is_not_waited_for(void **state)
{
    (void)state;
    void **empty = crafted_data(0, "work"), **full = crafted_data(1, "work");
    *full = address_of(real_work);
    assert_true(replace());
    assert_int_equal(foreign, 0);
    assert_null(*empty);
    assert_ptr_equal(*full, address_of(other_work));
}

/* A program that lies where it was linked to has addresses that could be offsets in a module. */
static void functions_of_a_program_at_low_addresses_are_functions(void **state)
{
    (void)state;
    void **word = crafted_import(0, "work", true, STB_GLOBAL);
    crafted_program = 0x1000;
    assert_true(replace());
    assert_int_equal(foreign, 1);
    assert_ptr_equal(*word, CRAFTED_UNRELOCATED);
    crafted_program = 0x2000;
    assert_false(replace());
    assert_int_equal(foreign, 0);
}

/* ---- operators ---- */

static hb_profiler *record_calls(const char *line)
{
    char path[300];
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    snprintf(path, sizeof path, "%s/mine.ops", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(line, file);
    fclose(file);
    o.activities = HB_ACTIVITY_CPU;
    o.spool_dir = "";
    o.operators = path;
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    return prof;
}

static void a_module_that_is_being_loaded_gets_its_operators_later(void **state)
{
    (void)state;
    void *(*look_up)(void *, const char *);
    void **lookup = crafted_import(0, "dlsym", false, STB_GLOBAL),
         **word = crafted_import(0, "got_patch_work", true, STB_GLOBAL);
    *lookup = (void *)(uintptr_t)dlsym;
    hb_profiler *prof = record_calls("got_patch_work | n:i\n");
    assert_int_equal(hb_profiler_start(prof), HB_OK); /* looks again */
    assert_ptr_equal(*word, CRAFTED_UNRELOCATED);
    assert_ptr_not_equal(*lookup, (void *)(uintptr_t)dlsym);
    *word = address_of(real_work);
    memcpy(&look_up, lookup, sizeof look_up);
    (void)look_up(RTLD_DEFAULT, "any"); /* no library has come since */
    assert_true(hb_trampoline_is(*word));
    void *trampoline = *word;
    assert_int_equal(hb_profiler_stop(prof), HB_OK);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    assert_ptr_equal(*word, trampoline);
    hb_profiler_destroy(prof);
}

static int begin_both(void **state)
{
    return make_dir(state) || begin_module(state);
}

static int end_both(void **state)
{
    return remove_dir(state) || end_module(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OF_MODULE(imports_are_replaced_that_hold_the_function_or_a_stub),
        OF_MODULE(imports_that_the_loader_has_not_come_to_stay_for_later),
        OF_MODULE(nobody_waits_for_imports_that_are_not_replaced),
        OF_MODULE(functions_that_may_be_missing_are_not_waited_for),
        OF_MODULE(data_that_holds_nothing_is_not_waited_for),
        OF_MODULE(functions_of_a_program_at_low_addresses_are_functions),
        cmocka_unit_test_setup_teardown(a_module_that_is_being_loaded_gets_its_operators_later,
                                        begin_both, end_both),
    };
    if (!hb_imports_known()) return 77;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
