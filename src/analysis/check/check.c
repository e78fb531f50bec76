/* SPDX-License-Identifier: MIT
 *
 * One trace file against what the plugin needs.
 */
#include "check/check.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/json_members.h"
#include "logdir/open_options.h"

static const struct {
    const char *key, *text;
    hb_effect effect;
} rules[] = {
#define HB_DEFECT(id, effect, text) {#id, text, HB_EFFECT_##effect},
#include "rules/defects.def"
};

/* ---- telling ---- */

static void tell(hb_checker *c, hb_violation *finding)
{
    finding->path = c->profile->path;
    if (!c->stopped) c->stopped = !c->fn(c->context, finding);
}

/* A rule that should lose the file and did not does so where the plugin looks at more. */
static hb_effect effect_of(const hb_checker *c, hb_rule rule)
{
    hb_effect effect = rules[rule].effect;
    return effect == HB_EFFECT_FILE_LOST && !c->profile->lost ? HB_EFFECT_WRONG : effect;
}

static hb_violation finding_of(const hb_checker *c, hb_rule rule)
{
    return (hb_violation){.rule = rules[rule].key,
                          .text = rules[rule].text,
                          .effect = effect_of(c, rule),
                          .name = ""};
}

static bool tell_event(void *context, const hb_raw_event *raw, hb_str text, bool defective)
{
    hb_checker *c = context;
    uint64_t broken = hb_check_event(c, raw);
    (void)text;
    (void)defective;
    if (raw->index < c->num_marks) broken |= c->marks[raw->index];
    bool lost = raw->index == c->lost_event && !c->lost_told;
    if (lost) c->lost_told = true;
    for (int rule = 0; rule < HB_RULE_COUNT && (broken || lost); rule++) {
        bool here = broken >> rule & 1 || (rule == HB_RULE_LOST && lost);
        if (!here) continue;
        hb_violation f = finding_of(c, (hb_rule)rule);
        char name[128];
        hb_value v = hb_raw_get(raw, HB_SLOT_NAME);
        (void)hb_value_put_text(&v, name, sizeof name);
        if (rule == HB_RULE_LOST) f.text = c->profile->lost;
        f.has_event = f.has_offset = true;
        f.event = raw->index;
        f.offset = raw->offset;
        f.name = name;
        tell(c, &f);
    }
    return !c->stopped;
}

/* What is wrong with the text itself. Some the plugin mends, for all but the Trace view. */
static void tell_defects(hb_checker *c, const hb_read_report *report)
{
    for (uint32_t i = 0; i < report->num_notes; i++) {
        hb_json_defect defect = report->notes[i].defect;
        bool mended = defect == HB_JSON_DEFECT_CONTROL || defect == HB_JSON_DEFECT_BARE_NA ||
                      defect == HB_JSON_DEFECT_SURROGATE;
        bool lost = c->profile->lost && !mended;
        tell(c, &(hb_violation){.rule = "TEXT",
                                .text = hb_json_defect_text(defect),
                                .effect = lost ? HB_EFFECT_FILE_LOST : HB_EFFECT_WRONG,
                                .has_offset = true,
                                .offset = report->notes[i].offset,
                                .name = ""});
    }
}

static void tell_lost(hb_checker *c, const char *path)
{
    const char *reason = c->profile->lost;
    size_t n = strlen(path);
    hb_violation f = finding_of(c, HB_RULE_LOST);
    if (strncmp(reason, path, n) == 0 && reason[n] == ':') reason += n + 2;
    unsigned long long offset;
    f.text = reason;
    f.has_offset = sscanf(reason, "byte %llu:", &offset) == 1;
    if (f.has_offset) f.offset = offset;
    tell(c, &f);
}

/* ---- the whole file ---- */

static void check_members(hb_checker *c, const hb_trace *trace)
{
    hb_violation f = finding_of(c, HB_RULE_BRACKET);
    for (uint32_t i = trace->members_before; i < trace->num_members; i++) {
        hb_str json = hb_trace_text(trace, trace->members[i].json);
        f.name = hb_trace_text(trace, trace->members[i].key).s;
        if (memchr(json.s, ']', json.len)) tell(c, &f);
    }
}

/* The plugin walks from the end until it has found two markers, and needs a name of all on its
 * way. */
static uint32_t find_walked(const hb_trace *trace)
{
    bool start = false, end = false;
    uint32_t i = trace->rows.count;
    while (i > 0 && !(start && end)) {
        const hb_row *row = hb_trace_row(trace, --i);
        hb_str name = row->flags & HB_ROW_NAME ? hb_trace_text(trace, row->name) : HB_STR("");
        end |= hb_name_is(HB_KNOWN_WINDOW_END, name);
        start |= hb_name_is(HB_KNOWN_WINDOW_BEGIN, name);
    }
    return i;
}

static hb_result walk(hb_checker *c, const char *path, const hb_open_options *o)
{
    hb_trace members;
    hb_read_report *report = calloc(1, sizeof *report);
    if (!report) return hb_fail(HB_ERROR_NO_MEMORY, "out of memory for the check");
    hb_read_options read = {.max_bytes = o->max_memory, .event = tell_event, .context = c};
    hb_result result = hb_read_trace(path, &read, &members, report);
    if (c->stopped) result = HB_OK; /* the caller has seen enough */
    /* That it cannot be read at all has been told. */
    if (result == HB_ERROR_FORMAT && c->profile->lost) result = HB_OK;
    tell_defects(c, report);
    if (!c->profile->lost) check_members(c, &c->profile->trace);
    hb_trace_free(&members);
    free(report);
    return result;
}

static hb_result check_file(hb_checker *c, hb_profile *p, const hb_open_options *o)
{
    unsigned event;
    HB_TRY(hb_profile_load(o, p));
    c->walked = find_walked(&p->trace);
    if (p->lost && sscanf(p->lost, "event %u", &event) == 1) c->lost_event = event;
    HB_TRY(hb_check_whole(c));
    if (p->lost && c->lost_event == HB_NO_ROW) tell_lost(c, p->path);
    if (!p->lost && p->analysis.depth > HB_MAX_SENT_DEPTH) {
        hb_violation f = finding_of(c, HB_RULE_DEEP);
        tell(c, &f);
    }
    HB_TRY(walk(c, p->path, o));
    /* An element that is no event. */
    if (p->lost && c->lost_event != HB_NO_ROW && !c->lost_told) tell_lost(c, p->path);
    return HB_OK;
}

hb_result hb_check_trace(const char *path, const hb_open_options *options, hb_check_fn *fn,
                         void *context)
{
    hb_profile profile = {.path = strdup(path)};
    if (!profile.path) return hb_no_memory();
    hb_checker c = {.profile = &profile, .fn = fn, .context = context, .lost_event = HB_NO_ROW};
    hb_result result = check_file(&c, &profile, options);
    free(c.marks);
    hb_profile_unload(&profile);
    free(profile.path);
    return result;
}
