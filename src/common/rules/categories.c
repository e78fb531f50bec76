/* SPDX-License-Identifier: MIT */
#include "rules/categories.h"

#include <strings.h>

#include "base/base.h"

enum match { ANY_CASE, AS_WRITTEN, ENDING };

typedef struct category_rule {
    hb_str text;
    uint8_t match, kind, plugin;
} category_rule;

static const category_rule rules[HB_CATEGORIES] = {
#define HB_CATEGORY(id, text, match, kind, plugin) \
    [HB_CATEGORY_##id] = {{text, sizeof text - 1}, match, HB_KIND_##kind, HB_KIND_##plugin},
#include "rules/categories.def"
};

hb_str hb_category_text(hb_category category)
{
    return rules[category].text;
}

bool hb_category_is(hb_category category, hb_str s)
{
    const category_rule *rule = &rules[category];
    uint32_t n = rule->text.len;
    switch ((enum match)rule->match) {
    case ENDING: return s.len >= n && memcmp(s.s + s.len - n, rule->text.s, n) == 0;
    case AS_WRITTEN: return s.len == n && memcmp(s.s, rule->text.s, n) == 0;
    case ANY_CASE: break;
    }
    return n && s.len == n && strncasecmp(s.s, rule->text.s, n) == 0;
}

hb_category hb_category_of(hb_str text)
{
    for (int i = HB_CATEGORY_UNKNOWN + 1; i < HB_CATEGORIES; i++)
        if (hb_category_is((hb_category)i, text)) return (hb_category)i;
    return HB_CATEGORY_UNKNOWN;
}

hb_kind hb_category_kind(hb_category category)
{
    return (hb_kind)rules[category].kind;
}

hb_kind hb_category_plugin_kind(hb_category category)
{
    return (hb_kind)rules[category].plugin;
}

bool hb_category_is_free(hb_str text)
{
    hb_category category = hb_category_of(text);
    return text.len && rules[category].kind == HB_KIND_OTHER &&
           rules[category].plugin == HB_KIND_OTHER;
}

hb_kind hb_kind_by_category(hb_str text)
{
    return hb_category_kind(hb_category_of(text));
}
