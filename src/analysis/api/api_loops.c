/* SPDX-License-Identifier: MIT
 *
 * Loops of a recorded program, which its trace tells (steps/find_steps.h).
 */
#include <stdlib.h>

#include "api/api_trace_file.h"
#include "base/json_members.h"

typedef struct walk {
    bool (*fn)(void *context, const hb_loop_stats *loop);
    void *context;
    bool failed;
} walk;

static double number(hb_str loop, const char *name)
{
    hb_value v = hb_json_member(loop, name);
    return v.type == HB_JSON_INT || v.type == HB_JSON_FLOAT ? strtod(v.s, NULL) : 0;
}

/* Of what hipboard escapes, quotes and backslashes are in names. */
static char *text(hb_str loop, const char *name)
{
    hb_value v = hb_json_member(loop, name);
    size_t n = v.type == HB_JSON_STRING ? v.size : 0, kept = 0;
    char *copy = malloc(n + 1);
    for (size_t i = 0; copy && i < n; i++) {
        if (v.s[i] == '\\' && i + 1 < n && (v.s[i + 1] == '"' || v.s[i + 1] == '\\')) i++;
        copy[kept++] = v.s[i];
    }
    if (copy) copy[kept] = '\0';
    return copy;
}

static bool take(void *context, const hb_value *value)
{
    walk *w = context;
    hb_str loop = {value->s, (uint32_t)value->size};
    char *from = text(loop, "from"), *launch = text(loop, "launch");
    hb_loop_stats stats = {
        .number = (unsigned)number(loop, "loop"),
        .level = (int)number(loop, "level"),
        .rounds = (uint64_t)number(loop, "rounds"),
        .launches = (uint64_t)number(loop, "launches"),
        .coverage = number(loop, "coverage"),
        .round_us = number(loop, "round_us"),
        .is_step = hb_json_member(loop, "steps").type == HB_JSON_TRUE,
        .from = from,
        .launch = launch,
    };
    w->failed = !from || !launch;
    bool more = !w->failed && w->fn(w->context, &stats);
    free(from);
    free(launch);
    return more;
}

hb_result hb_trace_file_loops(hb_trace_file *file,
                              bool (*fn)(void *context, const hb_loop_stats *loop), void *context)
{
    walk w = {fn, context, false};
    if (!file || !fn) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    hb_str json = hb_trace_member(hb_trace_file_trace(file), "hipboard_loops");
    if (json.len) hb_json_each(json, take, &w);
    return w.failed ? hb_no_memory() : HB_OK;
}
