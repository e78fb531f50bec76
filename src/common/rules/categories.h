/* SPDX-License-Identifier: MIT
 *
 * What an event's category tells, once for all who write, read, mend and check traces.
 */
#ifndef HB_RULES_CATEGORIES_H
#define HB_RULES_CATEGORIES_H

#include "base/str.h"

/* The kinds that the plugin knows, by category (and, for the last two, by phase). */
typedef enum hb_kind {
    HB_KIND_OTHER = 0, /* anything the plugin does not look at; hb_row.cat tells more */
    HB_KIND_OPERATOR,
    HB_KIND_ANNOTATION, /* of the host or of a GPU */
    HB_KIND_PYTHON,
    HB_KIND_FUNCTION, /* also modules */
    HB_KIND_RUNTIME,
    HB_KIND_KERNEL,
    HB_KIND_MEMCPY,
    HB_KIND_MEMSET,
    HB_KIND_SPAN,   /* the profiler's own */
    HB_KIND_MEMORY, /* instants by that name */
    HB_KIND_FLOW,   /* from forward to backward */
    HB_KIND_CALL,   /* a runtime call under a category that the plugin does not know */
    HB_KIND_COUNT
} hb_kind;

typedef enum hb_category {
    HB_CATEGORY_UNKNOWN,
#define HB_CATEGORY(id, text, match, kind, plugin) HB_CATEGORY_##id,
#include "rules/categories.def"
    HB_CATEGORIES
} hb_category;

/** As it is written. */
hb_str hb_category_text(hb_category category);

hb_category hb_category_of(hb_str text);
/** What events of a category by that text are. */
hb_kind hb_kind_by_category(hb_str text);
/** Whether the text is this category's: cheaper than hb_category_of(). */
bool hb_category_is(hb_category category, hb_str text);

/** What calls of a runtime are written as: `kineto`, or for the plugin. */
static inline hb_category hb_call_category(bool kineto)
{
    return kineto ? HB_CATEGORY_CUDA_RUNTIME : HB_CATEGORY_RUNTIME;
}

/** Whether a program may give a scope that category: no reader takes it for something else. */
bool hb_category_is_free(hb_str text);

/** What events of the category are; the second, what the plugin takes them for. */
hb_kind hb_category_kind(hb_category category);
hb_kind hb_category_plugin_kind(hb_category category);

#endif
