/* SPDX-License-Identifier: MIT
 *
 * Every macro of the public headers, for compilers to complain about: as C, and as C++ those that
 * C++ has no better words for. It is never run.
 */
#ifdef __cplusplus
#include <hipboard/hipboard.hpp>
#endif
#include <hipboard/analysis.h>
#include <hipboard/compare.h>
#include <hipboard/convert.h>
#include <hipboard/event_log.h>
#include <hipboard/hipboard.h>

void options(void);
void scopes(const char *name, hb_module module);

void options(void)
{
    hb_profiler_options profiler = HB_PROFILER_OPTIONS_INIT;
    hb_open_options open = HB_OPEN_OPTIONS_INIT;
    hb_insights_options insights = HB_INSIGHTS_OPTIONS_INIT;
    hb_key_averages_options averages = HB_KEY_AVERAGES_OPTIONS_INIT;
    hb_table_options table = HB_TABLE_OPTIONS_INIT;
    hb_stacks_options stacks = HB_STACKS_OPTIONS_INIT;
    hb_compare_options compare = HB_COMPARE_OPTIONS_INIT;
    hb_compare_report report = HB_COMPARE_REPORT_INIT;
    hb_convert_options convert = HB_CONVERT_OPTIONS_INIT;
    hb_event_log_options log = HB_EVENT_LOG_OPTIONS_INIT;
    hb_hparam settings[] = {HB_HPARAM("lr", 0.1), HB_HPARAM_TEXT("optimizer", "sgd"),
                            HB_HPARAM_BOOL("shuffle", true)};
    (void)profiler, (void)open, (void)insights, (void)averages, (void)table, (void)stacks;
    (void)compare, (void)report, (void)convert, (void)log;
    hb_hparams(settings, 3, NULL, 0);
}

void scopes(const char *name, hb_module module)
{
    HB_RECORD_FUNCTION("literal") {
    }
    HB_RECORD_FUNCTION_NAMED(name) {
    }
    HB_MODULE(module) {
    }
    HB_DATA_LOADER("digits") {
    }
    HB_OPTIMIZER_STEP("SGD") {
    }
    HB_OPTIMIZER_ZERO_GRAD("SGD") {
    }
    HB_FUNCTION_GUARD();
    HB_SCOPE("literal");
    HB_SCOPE("two of");
    HB_SCOPE_NAMED(name);
    HB_MODULE_GUARD(module);
    HB_RECORD_FUNCTION("two of")
        HB_RECORD_FUNCTION("one line") {
        }
    {
        HB_SCOPE("inner");
    }
}

#ifndef __cplusplus
void operators(void);

void operators(void)
{
    hb_schedule schedule = hb_schedule_make(.wait = 1, .active = 2);
    (void)schedule;
    HB_OP("aten::relu") {
    }
    HB_OP("aten::mul", .flops = 1) {
    }
    HB_OP_GUARD("aten::add");
    unsigned long bytes = 1;
    HB_SCOPE_WITH("read", .category = "io");
    HB_SCOPE_WITH("read", HB_ARGS(HB_ARG("bytes", bytes), HB_ARG("rows", 2), HB_ARG("of", 0.5F),
                                  HB_ARG("cached", (bool)true), HB_ARG("path", "x")));
    HB_OP_GUARD("aten::mm", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 2, 3), HB_TENSOR(HB_FLOAT32, 3, 4)));
    HB_OP("aten::mm", HB_INPUTS(HB_TENSOR(HB_FLOAT32, 2, 3), HB_TENSOR(HB_FLOAT32, 3, 4)),
          .flops = hb_flops_mm(2, 3, 4)) {
    }
    HB_OP("aten::cat", HB_INPUTS(HB_INT(1), HB_FLOAT(0.5), HB_BOOL_VALUE(true), HB_NO_INPUT,
                                 HB_INT_LIST(1, 1))) {
    }
}
#else
void sites();

void sites()
{
    auto one = hipboard::record_function(HB_SITE("one")),
         two = hipboard::record_function(HB_SITE("two"));
    one.end();
}
#endif

#if __cplusplus >= 202002L
hb_schedule schedule();

hb_schedule schedule()
{
    return hb_schedule_make(.wait = 1, .warmup = 1, .active = 3, .repeat = 2, .skip_first = 0,
                            .skip_first_wait = 0);
}
#endif
