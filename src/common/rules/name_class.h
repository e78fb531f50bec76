/* SPDX-License-Identifier: MIT
 *
 * What a name alone tells: to the plugin, to torch's tables and to us.
 */
#ifndef HB_RULES_NAME_CLASS_H
#define HB_RULES_NAME_CLASS_H

#include "base/str.h"

enum hb_name_class {
    HB_NAME_SEEN = 1u << 0,
    HB_NAME_STEP = 1u << 1,
    HB_NAME_NCCL = 1u << 2, /* one of the five of that library that the plugin knows */
    HB_NAME_GLOO = 1u << 3,
    HB_NAME_LOADER = 1u << 4,
    HB_NAME_OPTIMIZER = 1u << 5,
    HB_NAME_NO_OPERATOR = 1u << 6,   /* wrappers and optimizers: not in operator tables */
    HB_NAME_TC_KERNEL = 1u << 7,     /* as a kernel's name: uses tensor cores */
    HB_NAME_TC_OP = 1u << 8,         /* as an operator's name: could use them */
    HB_NAME_BACKWARD = 1u << 9,      /* the engine's scope around a backward operator */
    HB_NAME_LIBRARY = 1u << 10,      /* PyTorch's own scopes, which are annotations today and which
                                        the plugin knows as operators only */
    HB_NAME_COMMUNICATES = 1u << 11, /* a collective of whatever library */
    HB_NAME_UNLISTED = 1u << 12,     /* not in torch's tables */
    HB_NAME_WAITS_FOR_DATA = 1u << 13, /* a loader's scope, also where the plugin has none */
};
#define HB_NAME_COLLECTIVE (HB_NAME_NCCL | HB_NAME_GLOO)

typedef enum hb_known {
#define HB_NAME(id, how, text, last, bits) HB_KNOWN_##id,
#include "rules/names.def"
    HB_KNOWN_NAMES
} hb_known;

/** A set of enum hb_name_class, HB_NAME_SEEN among them. */
unsigned hb_name_class_of(hb_str name);
/** ... without what is known of tensor cores, which takes most of the time. */
unsigned hb_scope_class_of(hb_str name);

/** Whether the name is matched by one row of names.def. */
bool hb_name_is(hb_known word, hb_str name);
/** A row's text. */
hb_str hb_known_text(hb_known word);
/** What stands behind the text of a row that matches the name by how it begins. */
hb_str hb_name_behind(hb_known word, hb_str name);

bool hb_is_library_scope(hb_str name);
/** One of those that the plugin knows. */
bool hb_is_collective(hb_str name);

/* ---- steps: asked for at every event ---- */

#define HB_STEP_PREFIX "ProfilerStep#"
#define HB_EVERY_STEP  "ProfilerStep*" /* what torch's tables call them all together */
enum { HB_STEP_PREFIX_SIZE = sizeof HB_STEP_PREFIX - 1, HB_STEP_NAME_SIZE = 40 };

static inline bool hb_is_step(hb_str name)
{
    return name.len >= HB_STEP_PREFIX_SIZE &&
           memcmp(name.s, HB_STEP_PREFIX, HB_STEP_PREFIX_SIZE) == 0;
}

/** Of a step's name: how many digits follow, when nothing does behind them or a '#'; else 0. Python
 * takes more (blanks, signs, underscores), none of which a step is named with. */
uint32_t hb_step_digits(hb_str name);
/** The number of a step's name; 0 when it has none. */
int64_t hb_step_number_of(hb_str name);
/** Writes a step's name; returns its length. */
size_t hb_step_name(char text[HB_STEP_NAME_SIZE], int64_t number);

#endif
