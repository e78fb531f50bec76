/* SPDX-License-Identifier: MIT */
#include "insight/insight.h"

#include <stdlib.h>

#include "gpu/matrix_scan.h"

typedef struct code_reader {
    hb_insight *in;
    const hb_insight_inputs *inputs;
} code_reader;

/* Traces name kernels as in C++, code objects as linkers do. */
static void take_kernel(void *context, hb_str name, hb_matrix_verdict verdict)
{
    const code_reader *r = context;
    hb_kernel_rules *rules = &r->in->rules;
    char symbol[4096];
    int status;
    hb_kernel_rules_add_code(&r->in->arena, rules, name, verdict);
    if (!r->inputs->demangle || name.len >= sizeof symbol || name.len < 2 || name.s[0] != '_' ||
        name.s[1] != 'Z')
        return;
    memcpy(symbol, name.s, name.len);
    symbol[name.len] = 0;
    char *plain = r->inputs->demangle(symbol, NULL, NULL, &status);
    if (plain) {
        size_t size = strlen(plain);
        char *copy = hb_arena_alloc(&r->in->arena, size + 1);
        memcpy(copy, plain, size);
        free(plain);
        hb_kernel_rules_add_code(&r->in->arena, rules, (hb_str){copy, (uint32_t)size}, verdict);
    }
}

static void run(hb_insight *in, const hb_insight_inputs *inputs)
{
    code_reader reader = {in, inputs};
    if (inputs->rules.s)
        hb_kernel_rules_parse(&in->arena, inputs->rules_path, inputs->rules, &in->rules);
    for (size_t i = 0; i < inputs->num_codes; i++)
        hb_code_objects_scan(inputs->codes[i].data, inputs->codes[i].size, take_kernel, &reader);
    hb_insight_works(in);
    hb_insight_copies(in);
    hb_insight_hosts(in);
    hb_insight_gpus(in);
    hb_insight_advice(in);
}

hb_result hb_insight_run(hb_insight *in, hb_trace *trace, const hb_insight_inputs *inputs)
{
    memset(in, 0, sizeof *in);
    HB_TRY(hb_trace_link(trace));
    in->trace = trace;
    hb_buf_init(&in->text, 1 << 20);
    if (hb_arena_try(&in->arena)) run(in, inputs);
    if (in->arena.result != HB_OK) return hb_arena_outcome(&in->arena);
    return HB_OK;
}

void hb_insight_free(hb_insight *in)
{
    hb_kernel_rules_free(&in->rules);
    hb_buf_free(&in->text);
    hb_arena_free(&in->arena);
}
