/* SPDX-License-Identifier: MIT */
#include "rules/call_class.h"

#include "base/base.h"

#define HIP  "hip"
#define CUDA "cuda"

enum how { BEGINS, CONTAINS, ENDS };

typedef struct call_rule {
    const char *text;
    uint8_t how, bits;
} call_rule;

static const call_rule rules[] = {
#define HB_CALL(how, text, bits) {text, how, bits},
#include "rules/calls.def"
};

static bool matches(const call_rule *rule, hb_str name)
{
    switch ((enum how)rule->how) {
    case BEGINS: return hb_str_begins(name, rule->text);
    case ENDS: return hb_str_ends(name, rule->text);
    case CONTAINS: return hb_str_has(name, rule->text);
    }
    return false;
}

/* Empty for other names. */
static hb_str without_runtime(hb_str name)
{
    uint32_t n = hb_is_hip_call(name) ? sizeof HIP - 1 : sizeof CUDA - 1;
    if (!hb_is_hip_call(name) && !hb_str_begins(name, CUDA)) return HB_STR("");
    return (hb_str){name.s + n, name.len - n};
}

bool hb_is_hip_call(hb_str name)
{
    return hb_str_begins(name, HIP);
}

unsigned hb_call_class_of(hb_str name)
{
    hb_str bare = without_runtime(name);
    unsigned bits = 0;
    for (size_t i = 0; bare.len && i < HB_ARRAY_LEN(rules); i++)
        if (matches(&rules[i], bare)) bits |= rules[i].bits;
    return bits;
}
