/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <hipboard/hipboard.h>

/* '.' NONE, W WARMUP, R RECORD, S RECORD_AND_SAVE, for as many steps as `expected` has. */
static void check(hb_schedule schedule, const char *expected)
{
    char actions[64] = "";
    for (size_t i = 0; i < strlen(expected); i++)
        actions[i] = ".WRS"[hb_schedule_action(&schedule, (int64_t)i)];
    assert_string_equal(actions, expected);
}

/* As torch 2.13 answers. */
static void actions_are_those_of_torch(void **state)
{
    (void)state;
    check(hb_schedule_make(.wait = 1, .warmup = 1, .active = 2), ".WRS.WRS.WRS");
    check(hb_schedule_make(.wait = 1, .warmup = 1, .active = 2, .repeat = 2), ".WRS.WRS......");
    check(hb_schedule_make(.active = 1), "SSSSSS");
    check(hb_schedule_make(.active = 3, .repeat = 1), "RRS......");
    check(hb_schedule_make(.skip_first = 3, .wait = 2, .warmup = 1, .active = 3, .repeat = 2),
          ".....WRRS..WRRS....");
    check(hb_schedule_make(.skip_first = 3, .wait = 2, .warmup = 1, .active = 3, .repeat = 2,
                           .skip_first_wait = 1),
          "...WRRS..WRRS......");
    check(hb_schedule_make(.skip_first_wait = 1, .wait = 5, .warmup = 1, .active = 1, .repeat = 1),
          "WS......");
}

static void no_schedule_always_records(void **state)
{
    (void)state;
    check((hb_schedule){0}, "RRRR");
    assert_int_equal(hb_schedule_action(NULL, 5), HB_ACTION_RECORD);
}

static void negative_steps_do_nothing(void **state)
{
    (void)state;
    hb_schedule s = hb_schedule_make(.active = 1);
    assert_int_equal(hb_schedule_action(&s, -1), HB_ACTION_NONE);
}

static void refused(hb_schedule schedule, const char *part_of_message)
{
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = schedule;
    assert_null(hb_profiler_create(&o));
    if (!strstr(hb_last_error(), part_of_message)) fail_msg("message: %s", hb_last_error());
}

static void wrong_arguments_are_refused_in_torchs_words(void **state)
{
    (void)state;
    refused(hb_schedule_make(.wait = 1), "active=0 (need > 0)");
    refused(hb_schedule_make(.wait = -1, .active = 1), "wait=-1 (need >= 0)");
    refused(hb_schedule_make(.warmup = -2, .active = 1), "warmup=-2");
    refused(hb_schedule_make(.active = 1, .repeat = -3), "repeat=-3");
    refused(hb_schedule_make(.active = 1, .skip_first = -4), "skip_first=-4");
    refused(hb_schedule_make(.active = INT64_MAX), "Invalid profiler schedule arguments");
    refused(hb_schedule_from_function(NULL, NULL), "the function is NULL");
    refused((hb_schedule){.kind = 77}, "hb_schedule_make()");
}

static hb_profiler_action nonsense(int64_t step, void *context)
{
    (void)context;
    return step == 1 ? (hb_profiler_action)9 : HB_ACTION_NONE;
}

static void a_schedule_function_must_return_an_action(void **state)
{
    (void)state;
    hb_profiler_options o = HB_PROFILER_OPTIONS_INIT;
    o.schedule = hb_schedule_from_function(nonsense, NULL);
    hb_profiler *prof = hb_profiler_create(&o);
    assert_non_null(prof);
    assert_int_equal(hb_profiler_start(prof), HB_OK);
    assert_int_equal(hb_profiler_step(prof), HB_ERROR_INVALID_ARGUMENT);
    assert_int_equal(hb_profiler_step_num(prof), 0); /* nothing has changed */
    hb_profiler_destroy(prof);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(actions_are_those_of_torch),
        cmocka_unit_test(no_schedule_always_records),
        cmocka_unit_test(negative_steps_do_nothing),
        cmocka_unit_test(wrong_arguments_are_refused_in_torchs_words),
        cmocka_unit_test(a_schedule_function_must_return_an_action),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
