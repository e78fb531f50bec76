/* SPDX-License-Identifier: MIT
 *
 * The tensorboard dialect's care for the plugin's tree of calls: what category a scope gets, and
 * which scopes are drawn but kept out of the tree. The kineto dialect leaves all as it is.
 */
#include "write/json_parts.h"

#define PLACE(category, end_ns, in_tree)             \
    (hb_place)                                       \
    {                                                \
        HB_CATEGORY_##category, (end_ns), (in_tree), \
        {                                            \
            0                                        \
        }                                            \
    }

/* Unknown to the plugin, drawn by every viewer. */
static hb_place outside(const hb_trace_event *event)
{
    return PLACE(OUTSIDE_TREE, event->end_ns, false);
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

/* What the plugin reads as a number. */
static bool is_numbered(hb_str step)
{
    uint32_t digits = hb_step_digits(step);
    return digits > 0 && digits <= 18;
}

/* The plugin knows scopes by their category. */
static hb_place in_own_category(const hb_trace_event *event)
{
    hb_place place = outside(event);
    place.own = event->op.category;
    return place;
}

/* The call within a collective's annotation would be computation to the plugin, which hides the
 * communication behind it: it is drawn, and no more. */
static hb_place below_annotation(const hb_trace_event *event)
{
    hb_place place = outside(event);
    place.own = HB_STR("comm");
    return place;
}

hb_place hb_place_scope(hb_writer *w, const hb_trace_event *event)
{
    bool own = HB_UNLIKELY(event->op.category.len) && hb_category_is_free(event->op.category);
    if (w->kineto && own) return in_own_category(event);
    if (w->kineto && event->kind == HB_EVENT_OP) return PLACE(CPU_OP, event->end_ns, false);
    if (w->kineto) return PLACE(USER_ANNOTATION, event->end_ns, false);
    if (event->flags & HB_TEV_ANNOTATED) return below_annotation(event);
    if (w->scopes.tid != event->tid) {
        w->scopes.tid = event->tid;
        w->scopes.depth = 0;
    }
    if (own) return in_own_category(event);
    bool step = hb_is_step(event->name);
    if (step && !is_numbered(event->name)) return outside(event);
    bool nested = nests(w, &w->scopes, HB_NEST_SCOPES, event);
    if (!step) return nested ? PLACE(CPU_OP, event->end_ns, true) : outside(event);
    if (!nested || hb_steps_next_hidden(&w->steps)) return outside(event);
    return PLACE(USER_ANNOTATION, step_end(event), true);
}

hb_place hb_place_module(hb_writer *w, const hb_trace_event *event)
{
    if (w->kineto) return PLACE(PYTHON_FUNCTION, event->end_ns, false);
    hb_nest *nest = hb_nests_of(&w->modules, event->tid);
    bool nested = nest && nests(w, nest, HB_NEST_MODULES, event);
    return nested ? PLACE(PYTHON_FUNCTION, event->end_ns, true) : outside(event);
}
