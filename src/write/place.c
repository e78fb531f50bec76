/* SPDX-License-Identifier: MIT
 *
 * The tensorboard dialect's care for the plugin's tree of calls: what category a scope gets, and
 * which scopes are drawn but kept out of the tree. The kineto dialect leaves all as it is.
 */
#include "write/writer.h"

#define CPU_OP          HB_X_HEAD("cpu_op")
#define USER_ANNOTATION HB_X_HEAD("user_annotation")
#define PYTHON_FUNCTION HB_X_HEAD("python_function")
#define OUTSIDE_TREE    HB_X_HEAD("outside_tree") /* unknown to the plugin, drawn by every viewer */

static hb_str own_category(const hb_trace_event *event)
{
    switch (event->kind) {
    case HB_EVENT_MODULE: return PYTHON_FUNCTION;
    case HB_EVENT_OP: return CPU_OP;
    default: return USER_ANNOTATION;
    }
}

static hb_place outside(const hb_trace_event *event)
{
    return (hb_place){OUTSIDE_TREE, event->end_ns, false};
}

/* A step's end, moved off its start: the plugin divides by a step's length. */
static int64_t step_end(const hb_trace_event *event)
{
    if (event->end_ns > event->start_ns || event->start_ns == INT64_MAX) return event->end_ns;
    return event->start_ns + 1;
}

static bool nests(hb_writer *w, hb_nest *nest, unsigned limit, const hb_trace_event *event)
{
    if (event->flags & HB_TEV_ASYNC) {
        w->stats.unnested++;
        return false;
    }
    switch (hb_nest_enter(nest, limit, event->start_ns, event->end_ns, event->external_id)) {
    case HB_NEST_INSIDE: return true;
    case HB_NEST_TOO_DEEP: w->stats.flattened++; return false;
    default: w->stats.unnested++; return false;
    }
}

hb_place hb_place_scope(hb_writer *w, const hb_trace_event *event)
{
    if (w->kineto) return (hb_place){own_category(event), event->end_ns, false};
    if (w->scopes.tid != event->tid) {
        w->scopes.tid = event->tid;
        w->scopes.depth = 0;
    }
    bool step = hb_is_step(event->name);
    if (step && !hb_step_is_numbered(event->name)) return outside(event);
    bool nested = nests(w, &w->scopes, HB_NEST_SCOPES, event);
    if (!step) return nested ? (hb_place){CPU_OP, event->end_ns, true} : outside(event);
    if (!nested || hb_steps_next_hidden(&w->steps)) return outside(event);
    return (hb_place){USER_ANNOTATION, step_end(event), true};
}

hb_place hb_place_module(hb_writer *w, const hb_trace_event *event)
{
    if (w->kineto) return (hb_place){PYTHON_FUNCTION, event->end_ns, false};
    hb_nest *nest = hb_nests_of(&w->modules, event->tid);
    bool nested = nest && nests(w, nest, HB_NEST_MODULES, event);
    return nested ? (hb_place){PYTHON_FUNCTION, event->end_ns, true} : outside(event);
}
