/* SPDX-License-Identifier: MIT */
#include "analyze/insight.h"

static void run(hb_insight *in, const char *rules_path, hb_str rules_text)
{
    if (rules_text.s) hb_kernel_rules_parse(&in->arena, rules_path, rules_text, &in->rules);
    hb_insight_works(in);
    hb_insight_hosts(in);
    hb_insight_gpus(in);
    hb_insight_advice(in);
}

hb_result hb_insight_run(hb_insight *in, const hb_trace *trace, const char *rules_path,
                         hb_str rules_text)
{
    memset(in, 0, sizeof *in);
    in->trace = trace;
    hb_buf_init(&in->text, 1 << 20);
    if (hb_arena_try(&in->arena)) run(in, rules_path, rules_text);
    if (in->arena.result != HB_OK) return hb_fail(in->arena.result, "%s", in->arena.reason);
    return HB_OK;
}

void hb_insight_free(hb_insight *in)
{
    hb_buf_free(&in->text);
    hb_arena_free(&in->arena);
}
