/* SPDX-License-Identifier: MIT */
#include "rules/name_class.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"

enum how { IS, BEGINS, FRAMED };

typedef struct name_rule {
    hb_str text, last;
    uint16_t how, bits;
} name_rule;

static const name_rule rules[HB_KNOWN_NAMES] = {
#define HB_NAME(id, how, text, last, bits) \
    [HB_KNOWN_##id] = {{text, sizeof text - 1}, {last, sizeof last - 1}, how, bits},
#include "rules/names.def"
};

static bool matches(const name_rule *rule, hb_str name)
{
    uint32_t n = rule->text.len;
    if (name.len < n || *name.s != *rule->text.s || memcmp(name.s, rule->text.s, n) != 0)
        return false;
    switch ((enum how)rule->how) {
    case IS: return name.len == n;
    case BEGINS: return true;
    case FRAMED: return hb_str_ends(name, rule->last.s);
    }
    return false;
}

bool hb_name_is(hb_known word, hb_str name)
{
    return matches(&rules[word], name);
}

hb_str hb_known_text(hb_known word)
{
    return rules[word].text;
}

hb_str hb_name_behind(hb_known word, hb_str name)
{
    uint32_t n = rules[word].text.len;
    return (hb_str){name.s + n, name.len - n};
}

unsigned hb_scope_class_of(hb_str name)
{
    unsigned bits = HB_NAME_SEEN;
    for (size_t i = 0; i < HB_KNOWN_NAMES; i++)
        if (rules[i].bits && matches(&rules[i], name)) bits |= rules[i].bits;
    return bits;
}

bool hb_is_library_scope(hb_str name)
{
    return (hb_scope_class_of(name) & HB_NAME_LIBRARY) != 0;
}

bool hb_is_collective(hb_str name)
{
    for (int i = HB_KNOWN_NCCL_BROADCAST; i <= HB_KNOWN_GLOO_REDUCE_SCATTER; i++)
        if (matches(&rules[i], name)) return true;
    return false;
}

/* ---- tensor cores ---- */

static bool kernel_uses_tc(hb_str name)
{
    static const hb_str parts[] = {
#define HB_TC_KERNEL(part) {part, sizeof part - 1},
#define HB_TC_OPERATOR(name)
#include "rules/tensor_cores.def"
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(parts); i++)
        if (memmem(name.s, name.len, parts[i].s, parts[i].len)) return true;
    return false;
}

static bool operator_could_use_tc(hb_str name)
{
    static const hb_str names[] = {
#define HB_TC_KERNEL(part)
#define HB_TC_OPERATOR(name) {name, sizeof name - 1},
#include "rules/tensor_cores.def"
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(names); i++)
        if (name.len == names[i].len && memcmp(name.s, names[i].s, name.len) == 0) return true;
    return false;
}

unsigned hb_name_class_of(hb_str name)
{
    unsigned bits = hb_scope_class_of(name);
    if (kernel_uses_tc(name)) bits |= HB_NAME_TC_KERNEL;
    if (operator_could_use_tc(name)) bits |= HB_NAME_TC_OP;
    return bits;
}

/* ---- steps ---- */

uint32_t hb_step_digits(hb_str name)
{
    uint32_t i = HB_STEP_PREFIX_SIZE;
    while (i < name.len && name.s[i] >= '0' && name.s[i] <= '9')
        i++;
    return i >= name.len || name.s[i] == '#' ? i - HB_STEP_PREFIX_SIZE : 0;
}

int64_t hb_step_number_of(hb_str name)
{
    char number[32] = "";
    size_t n = HB_MIN(name.len - HB_STEP_PREFIX_SIZE, sizeof number - 1);
    memcpy(number, name.s + HB_STEP_PREFIX_SIZE, n);
    return strtoll(number, NULL, 10);
}

size_t hb_step_name(char text[HB_STEP_NAME_SIZE], int64_t number)
{
    return (size_t)snprintf(text, HB_STEP_NAME_SIZE, HB_STEP_PREFIX "%" PRId64, number);
}
