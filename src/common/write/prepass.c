/* SPDX-License-Identifier: MIT
 *
 * What must be known before the first byte: counts for the header, pairs for the flows, steps that
 * the plugin may not see, scopes that it does not see.
 */
#include "rules/name_class.h"
#include "write/json_parts.h"

/* In the plugin's tables of operators. */
static bool is_listed(const hb_trace_event *event)
{
    const unsigned others = HB_NAME_LOADER | HB_NAME_OPTIMIZER | HB_NAME_NO_OPERATOR;
    return event->end_ns > event->start_ns && !(hb_scope_class_of(event->name) & others);
}

static hb_result prepass_scope(hb_writer *w, const hb_trace_event *event, uint64_t index)
{
    if (event->op.sequence_number) HB_TRY(hb_flows_add(&w->flows, event, index));
    if (w->kineto) return HB_OK;
    hb_place place = hb_place_scope(w, event);
    if (!place.in_tree)
        hb_id_remap_add(&w->remap, event->external_id, hb_nest_around(&w->scopes, event->start_ns));
    else if (hb_is_step(event->name))
        return hb_steps_add(&w->steps, event->start_ns, place.end_ns, event->external_id);
    else
        w->calls_are_operators = false;
    w->lists_operators = w->lists_operators || (place.in_tree && is_listed(event));
    return HB_OK;
}

static hb_result prepass_memory(hb_writer *w, const hb_trace_event *event)
{
    const hb_memory_args *memory = &event->memory;
    if (memory->device_type == HB_DEVICE_HIP && memory->device_id < HB_MAX_DEVICES)
        w->max_device = HB_MAX(w->max_device, memory->device_id);
    return w->kineto || memory->bytes <= 0 ? HB_OK : hb_memory_homes_note(&w->homes, event);
}

static hb_result prepass_host(hb_writer *w)
{
    hb_trace_event event;
    HB_TRY(w->source->begin(w->source, HB_PASS_HOST));
    for (uint64_t index = 0; w->source->next(w->source, &event); index++) {
        if (event.kind == HB_EVENT_MEMORY)
            HB_TRY(prepass_memory(w, &event));
        else
            HB_TRY(prepass_scope(w, &event, index));
        if (!w->kineto && w->info->num_devices && !hb_op_rates_note(&w->rates, &event))
            return hb_fail(HB_ERROR_NO_MEMORY, "no memory for the operators' rates");
    }
    return hb_flows_pair(&w->flows);
}

static hb_result prepass_modules(hb_writer *w)
{
    hb_trace_event event;
    HB_TRY(w->source->begin(w->source, HB_PASS_MODULES));
    while (w->source->next(w->source, &event))
        hb_place_module(w, &event);
    return HB_OK;
}

static hb_result prepass_steps(hb_writer *w)
{
    HB_TRY(hb_steps_check(&w->steps, w->source));
    if (w->info->has_time_slices)
        w->stats.hidden_slices = w->steps.hidden;
    else
        w->stats.hidden_steps = w->steps.hidden;
    for (size_t i = 0; i < w->steps.list.count; i++)
        hb_id_remap_add(w->steps.list.items[i].hidden ? &w->remap : &w->bare,
                        w->steps.list.items[i].external_id, 0);
    return HB_OK;
}

/* Whose memory it was: operators of the plugin's tables, else calls. */
static hb_result prepass_homes(hb_writer *w)
{
    hb_trace_event event;
    hb_memory_homes *homes = &w->homes;
    bool left = homes->moments.count > 0;
    if (!left) return HB_OK;
    hb_memory_homes_sort(homes);
    HB_TRY(w->source->begin(w->source, HB_PASS_HOST));
    while (left && w->source->next(w->source, &event))
        if (event.kind == HB_EVENT_OP && is_listed(&event) && !hb_event_is_step(&event))
            left = hb_memory_homes_take(homes, &event);
    HB_TRY(w->source->begin(w->source, HB_PASS_DEVICE));
    while (left && w->source->next(w->source, &event)) {
        if (event.kind != HB_EVENT_RUNTIME || !event.correlation) continue;
        if (hb_call_is_operator(w, &event))
            left = hb_memory_homes_take(homes, &event);
        else if (!(event.flags & HB_TEV_MINOR))
            HB_TRY(hb_memory_homes_take_call(homes, &event));
    }
    hb_memory_homes_end(homes);
    return HB_OK;
}

/* A moment at which something happens, for the operator that stands for none: elsewhere it would
 * make the plugin's time of a trace without steps longer. */
static hb_result find_moment(hb_writer *w)
{
    hb_trace_event event;
    w->no_operator_ns = w->info->start_ns;
    for (hb_pass pass = 0; pass < HB_PASS_COUNT; pass++) {
        HB_TRY(w->source->begin(w->source, pass));
        while (w->source->next(w->source, &event))
            if (event.end_ns > event.start_ns) {
                w->no_operator_ns = event.start_ns;
                return HB_OK;
            }
    }
    return HB_OK;
}

/* The passes to come must find the trees empty. */
static void rewind_trees(hb_writer *w)
{
    w->steps.at = 0;
    w->scopes.depth = 0;
    for (size_t i = 0; i < w->modules.list.count; i++)
        w->modules.list.items[i].depth = 0;
}

hb_result hb_prepass(hb_writer *w)
{
    if (w->kineto && !w->info->has_sequences) return HB_OK;
    w->calls_are_operators = !w->kineto;
    HB_TRY(prepass_host(w));
    if (w->kineto) return HB_OK;
    HB_TRY(prepass_modules(w));
    HB_TRY(prepass_steps(w));
    HB_TRY(hb_op_rates_collect(&w->rates, w->source));
    hb_id_remap_sort(&w->remap);
    hb_id_remap_sort(&w->bare);
    HB_TRY(prepass_homes(w));
    rewind_trees(w);
    return hb_lacks_operators(w) ? find_moment(w) : HB_OK;
}
