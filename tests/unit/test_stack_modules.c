/* SPDX-License-Identifier: MIT
 *
 * Modules that are found in call stacks: which there are, which one is which, and what else of the
 * source stays as it was.
 */
#include "steps/stack_modules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "array_source.h"
#include "base/base.h"

enum { MOST = 400 };

static hb_trace_event events[MOST];
static char stacks[MOST][8192];
static size_t count;
static array_source array;
static hb_metadata asked[2];

/* Something that the program called there, 5 ns long. */
static hb_trace_event *call(int64_t start, int64_t tid, const char *stack)
{
    assert_true(count < MOST);
    snprintf(stacks[count], sizeof stacks[count], "%s", stack);
    hb_str text = {stacks[count], (uint32_t)strlen(stacks[count])};
    events[count] = (hb_trace_event){.kind = HB_EVENT_RUNTIME,
                                     .name = HB_STR("hipLaunchKernel"),
                                     .start_ns = start,
                                     .end_ns = start + 5,
                                     .tid = tid,
                                     .runtime.stack = text};
    return &events[count++];
}

static hb_source *source_with(const char *expression)
{
    array_source_init(&array, events, count);
    asked[0] = (hb_metadata){.key = "another", .json = "1"};
    asked[1] = (hb_metadata){.key = HB_METADATA_MODULE_FRAMES, .json = expression};
    array.info.metadata = asked;
    array.info.num_metadata = expression ? 2 : 1;
    return &array.source;
}

/* "Class_N start-end in PARENT", a line each; ids count from 1. */
static void check_found(const char *expression, const char *expected)
{
    char text[4096] = "";
    size_t n = 0;
    hb_trace_event e;
    hb_source *source = source_with(expression), *inner = source;
    assert_int_equal(hb_put_stack_modules(&source), HB_OK);
    assert_true((source != inner) == (*expected != 0));
    for (int again = 0; again < 2 && *expected; again++) {
        assert_int_equal(source->begin(source, HB_PASS_MODULES), HB_OK);
        for (uint64_t id = 1; source->next(source, &e); id++) {
            assert_int_equal(e.kind, HB_EVENT_MODULE);
            assert_int_equal(e.module.python_id, id);
            assert_int_equal(e.device, -1);
            if (again) continue;
            n += (size_t)snprintf(text + n, sizeof text - n, "%.*s %ld-%ld of %ld in %ld\n",
                                  (int)e.name.len, e.name.s, (long)e.start_ns, (long)e.end_ns,
                                  (long)e.tid, (long)e.module.parent_id);
        }
        assert_false(source->next(source, &e));
    }
    assert_string_equal(text, expected);
    if (source == inner) return;
    assert_true(source->info->with_modules);
    assert_int_equal(source->info->pid, 100);
    source->close(source);
    assert_int_equal(array.closed, 1);
}

static int begin_events(void **state)
{
    (void)state;
    count = 0;
    return 0;
}

#define FORWARD "\"([A-Za-z]+)::forward\""
#define MAIN    ";main.cpp(3): main"

static void methods_of_the_stacks_are_modules_within_each_other(void **state)
{
    (void)state;
    call(0, 7, "k.cpp(1): launch;layer.cpp(5): Layer::forward;net.cpp(10): Net::forward" MAIN);
    call(10, 7, "k.cpp(1): launch;layer.cpp(6): Layer::forward;net.cpp(10): Net::forward" MAIN);
    call(20, 7, "k.cpp(1): launch;layer.cpp(5): Layer::forward;net.cpp(11): Net::forward" MAIN);
    call(30, 7, "k.cpp(1): launch;loss.cpp(2): Loss::forward" MAIN);
    check_found(FORWARD, "nn.Module: Net_0 0-25 of 7 in 0\n"
                         "nn.Module: Layer_0 0-15 of 7 in 1\n"
                         "nn.Module: Layer_1 20-25 of 7 in 1\n"
                         "nn.Module: Loss_0 30-35 of 7 in 0\n");
}

/* The second round of a loop comes back to a place that was left. */
static void what_comes_again_begins_anew_and_has_its_number(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++) {
        int64_t at = 100 * round;
        call(at, 7, "layer.cpp(5): Layer::forward;net.cpp(10): Net::forward" MAIN);
        call(at + 10, 7, "layer.cpp(5): Layer::forward;net.cpp(11): Net::forward" MAIN);
        call(at + 20, 7, "layer.cpp(5): Layer::forward;net.cpp(11): Net::forward" MAIN);
    }
    check_found(FORWARD, "nn.Module: Net_0 0-25 of 7 in 0\n"
                         "nn.Module: Layer_0 0-5 of 7 in 1\n"
                         "nn.Module: Layer_1 10-25 of 7 in 1\n"
                         "nn.Module: Net_0 100-125 of 7 in 0\n"
                         "nn.Module: Layer_0 100-105 of 7 in 4\n"
                         "nn.Module: Layer_1 110-125 of 7 in 4\n");
}

/* Each two of these texts have one hash. */
static void layers_are_told_apart_by_all_of_their_names(void **state)
{
    (void)state;
    call(0, 7, "net.py(7): Layer66321::forward" MAIN);
    call(10, 7, "net.py(7): Layer349107::forward" MAIN);
    call(20, 7, "a.py(1): Layer76332::forward" MAIN);
    call(30, 7, "a.py(1): Layer201213::forward" MAIN);
    call(40, 7, "a.py(2): L::forward;net.py(175828): main");
    call(50, 7, "a.py(2): L::forward;net.py(201235): main");
    check_found("\"([A-Za-z0-9]+)::forward\"", "nn.Module: Layer66321_0 0-5 of 7 in 0\n"
                                               "nn.Module: Layer349107_0 10-15 of 7 in 0\n"
                                               "nn.Module: Layer76332_0 20-25 of 7 in 0\n"
                                               "nn.Module: Layer201213_0 30-35 of 7 in 0\n"
                                               "nn.Module: L_0 40-45 of 7 in 0\n"
                                               "nn.Module: L_1 50-55 of 7 in 0\n");
}

static void the_same_layer_in_two_networks_is_two(void **state)
{
    (void)state;
    call(0, 7, "l.cpp(5): L::forward;net.cpp(10): Net::forward;main.cpp(3): main");
    call(10, 7, "l.cpp(5): L::forward;net.cpp(10): Net::forward;main.cpp(4): main");
    check_found(FORWARD, "nn.Module: Net_0 0-5 of 7 in 0\n"
                         "nn.Module: L_0 0-5 of 7 in 1\n"
                         "nn.Module: Net_1 10-15 of 7 in 0\n"
                         "nn.Module: L_1 10-15 of 7 in 3\n");
}

static void threads_have_modules_of_their_own(void **state)
{
    (void)state;
    call(50, 9, "a.cpp(1): A::forward" MAIN);
    call(40, 8, "b.cpp(1): B::forward;a.cpp(1): A::forward" MAIN);
    call(60, 8, "a.cpp(1): A::forward" MAIN);
    check_found(FORWARD, "nn.Module: A_0 40-65 of 8 in 0\n"
                         "nn.Module: B_0 40-45 of 8 in 1\n"
                         "nn.Module: A_0 50-55 of 9 in 0\n");
}

static void operators_and_waits_tell_of_modules_others_do_not(void **state)
{
    (void)state;
    hb_event_kind kinds[] = {HB_EVENT_OP, HB_EVENT_USER_ANNOTATION, HB_EVENT_SYNC, HB_EVENT_KERNEL,
                             HB_EVENT_MEMORY};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char stack[64];
        snprintf(stack, sizeof stack, "a.cpp(1): %c::forward", (char)('A' + i));
        hb_trace_event *e = call(10 * (int64_t)i, 7, stack);
        hb_str text = e->runtime.stack;
        e->kind = kinds[i];
        if (i < 2) e->runtime = (hb_runtime_args){0}, e->op.stack = text;
    }
    call(90, 7, "");
    check_found(FORWARD, "nn.Module: A_0 0-5 of 7 in 0\n"
                         "nn.Module: B_0 10-15 of 7 in 0\n"
                         "nn.Module: C_0 20-25 of 7 in 0\n");
}

/* Of what begins at once the longer call is the outer one, and the end is the last of all. */
static void the_order_of_calls_is_that_of_their_times(void **state)
{
    (void)state;
    call(30, 7, "a.cpp(2): A::forward" MAIN);
    call(0, 7, "b.cpp(1): B::forward;a.cpp(1): A::forward" MAIN);
    call(0, 7, "a.cpp(1): A::forward" MAIN)->end_ns = 100;
    check_found(FORWARD, "nn.Module: A_0 0-100 of 7 in 0\n"
                         "nn.Module: B_0 0-5 of 7 in 1\n");
}

static void the_class_is_what_the_expression_says(void **state)
{
    (void)state;
    call(0, 7, "n.cpp(1): void ns::Net::forward(int)" MAIN);
    check_found(FORWARD, "nn.Module: Net_0 0-5 of 7 in 0\n");
    check_found("\"Net::forward\"", "nn.Module: Net::forward_0 0-5 of 7 in 0\n");
    check_found("\"ns::([A-Z])(et)\"", "nn.Module: N_0 0-5 of 7 in 0\n");
    check_found("\"n\\u0073::Net\"", "nn.Module: ns::Net_0 0-5 of 7 in 0\n");
    check_found("\"n\\\\.cpp\"", ""); /* the file is none of the function */
    count = 0;
    call(0, 7, "Net::forward"); /* of which no file is known */
    check_found(FORWARD, "nn.Module: Net_0 0-5 of 7 in 0\n");
}

static void without_a_match_the_source_is_as_it_was(void **state)
{
    (void)state;
    call(0, 7, "n.cpp(1): Net::forward" MAIN);
    const char *const none[] = {NULL,     "\"Other\"", "\"(\"",       "\"\"", "7",
                                "\"open", "",          "\"(x*)Net\"", "{}"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        check_found(none[i], "");
    hb_trace_event *own = call(0, 7, "");
    own->kind = HB_EVENT_MODULE;
    check_found(FORWARD, "");
}

static void what_else_there_is_stays(void **state)
{
    (void)state;
    hb_trace_event e;
    call(0, 7, "n.cpp(1): Net::forward" MAIN);
    call(10, 7, "n.cpp(1): Net::forward" MAIN)->kind = HB_EVENT_OP;
    events[1].op.stack = events[0].runtime.stack;
    hb_source *source = source_with(FORWARD);
    assert_int_equal(hb_put_stack_modules(&source), HB_OK);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(source->begin(source, HB_PASS_DEVICE), HB_OK);
        assert_true(source->next(source, &e) && e.kind == HB_EVENT_RUNTIME && e.start_ns == 0);
        assert_false(source->next(source, &e));
        assert_int_equal(source->begin(source, HB_PASS_HOST), HB_OK);
        assert_true(source->next(source, &e) && e.kind == HB_EVENT_OP && e.start_ns == 10);
        assert_false(source->next(source, &e));
    }
    source->close(source);
}

static void recursion_has_64_modules_at_most(void **state)
{
    (void)state;
    char stack[8000] = "";
    for (size_t i = 0, n = 0; i < 70; i++)
        n += (size_t)snprintf(stack + n, sizeof stack - n, "n.cpp(%zu): Net::forward;", i);
    call(0, 7, stack);
    hb_trace_event e;
    hb_source *source = source_with(FORWARD);
    assert_int_equal(hb_put_stack_modules(&source), HB_OK);
    assert_int_equal(source->begin(source, HB_PASS_MODULES), HB_OK);
    uint32_t n = 0;
    for (; source->next(source, &e); n++)
        assert_int_equal(e.module.parent_id, n);
    assert_int_equal(n, 64);
    source->close(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(methods_of_the_stacks_are_modules_within_each_other, begin_events),
        cmocka_unit_test_setup(what_comes_again_begins_anew_and_has_its_number, begin_events),
        cmocka_unit_test_setup(layers_are_told_apart_by_all_of_their_names, begin_events),
        cmocka_unit_test_setup(the_same_layer_in_two_networks_is_two, begin_events),
        cmocka_unit_test_setup(threads_have_modules_of_their_own, begin_events),
        cmocka_unit_test_setup(operators_and_waits_tell_of_modules_others_do_not, begin_events),
        cmocka_unit_test_setup(the_order_of_calls_is_that_of_their_times, begin_events),
        cmocka_unit_test_setup(the_class_is_what_the_expression_says, begin_events),
        cmocka_unit_test_setup(without_a_match_the_source_is_as_it_was, begin_events),
        cmocka_unit_test_setup(what_else_there_is_stays, begin_events),
        cmocka_unit_test_setup(recursion_has_64_modules_at_most, begin_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
