/* SPDX-License-Identifier: MIT
 *
 * Where a trace departs from what the plugin needs. Two kinds of rules: those that look at one
 * event as it stands in the text, and those that need the whole trace.
 */
#ifndef HB_CHECK_CHECK_H
#define HB_CHECK_CHECK_H

#include "logdir/logdir.h"

typedef enum hb_rule {
#define HB_DEFECT(id, effect, text) HB_RULE_##id,
#include "rules/defects.def"
    HB_RULE_COUNT
} hb_rule;

typedef bool hb_check_fn(void *context, const hb_violation *finding);

typedef struct hb_checker {
    const hb_profile *profile; /* as the plugin read it */
    uint64_t *marks;           /* bits of rules, by event: what only the whole trace tells */
    uint32_t num_marks;
    hb_check_fn *fn;
    void *context;
    bool stopped;
    uint32_t walked;     /* events from here on need a name */
    uint32_t lost_event; /* where the file is lost; HB_NO_ROW: nowhere, or not at an event */
    bool lost_told;
    uint8_t pid_tag; /* of the device events so far: enum hb_json, HB_JSON_NONE */
    bool rounded_told;
} hb_checker;

_Static_assert(HB_RULE_COUNT <= 64, "one bit a rule");

/** One file; as hb_check(). */
hb_result hb_check_trace(const char *path, const hb_open_options *options, hb_check_fn *fn,
                         void *context);

/** The rules that an event breaks by itself, as bits. */
uint64_t hb_check_event(hb_checker *check, const hb_raw_event *raw);

/** Fills check->marks. HB_ERROR_NO_MEMORY or HB_OK. */
hb_result hb_check_whole(hb_checker *check);

#endif
