/* SPDX-License-Identifier: MIT */
#include "digest/cycle_marks.h"

#include <stdlib.h>

#include "digest/digest.h"
#include "rules/name_class.h"

unsigned hb_name_classes_find(hb_name_classes *names, const hb_trace_event *event)
{
    bool added;
    uint32_t key = event->name_key, at = key % HB_ARRAY_LEN(names->recent);
    hb_dict_entry *entry = key ? hb_dict_add(NULL, &names->all, key, &added) : NULL;
    if (!entry) return hb_name_class_of(event->name);
    if (added) entry->value = hb_name_class_of(event->name);
    names->recent[at].key = key;
    return names->recent[at].bits = (uint32_t)entry->value;
}

void hb_cycle_marks_init(hb_cycle_marks *m, hb_own_scopes own_scopes)
{
    *m = (hb_cycle_marks){.own_scopes = own_scopes, .scopes = {INT64_MAX, INT64_MIN}};
}

void hb_cycle_marks_free(hb_cycle_marks *m)
{
    hb_dict_free(&m->names.all);
    free(m->steps.items);
    free(m->collectives.items);
    hb_cycle_marks_init(m, m->own_scopes);
}

bool hb_is_only_drawn(hb_own_scopes own_scopes, const hb_trace_event *e, unsigned bits)
{
    if (e->flags & HB_TEV_ANNOTATED) return true;
    return own_scopes == HB_SCOPES_ARE_ANNOTATIONS && e->kind == HB_EVENT_USER_ANNOTATION &&
           !(bits & (HB_NAME_STEP | HB_NAME_COLLECTIVE | HB_NAME_LOADER | HB_NAME_LIBRARY));
}

bool hb_cycle_memory_device(const hb_trace_event *e, int32_t *device)
{
    bool cpu = e->memory.device_type == HB_DEVICE_CPU;
    *device = cpu ? HB_HOST_DEVICE : e->memory.device_id;
    return cpu || hb_cycle_has_gpu(*device);
}

static void add_step(hb_cycle_marks *m, const hb_trace_event *e)
{
    hb_step_mark *step = HB_APPEND(&m->steps);
    if (step)
        *step =
            (hb_step_mark){e->start_ns, e->end_ns, hb_step_number_of(e->name), m->steps.count - 1};
    else
        m->failed = true;
}

static void add_collective(hb_cycle_marks *m, uint64_t id)
{
    uint64_t *item = HB_APPEND(&m->collectives);
    if (item)
        *item = id;
    else
        m->failed = true;
}

void hb_cycle_marks_add(hb_cycle_marks *m, const hb_trace_event *e)
{
    int32_t device;
    if (e->kind == HB_EVENT_MEMORY) {
        if (hb_cycle_memory_device(e, &device)) m->num_devices = HB_MAX(m->num_devices, device + 1);
        return;
    }
    unsigned bits = hb_name_classes_of(&m->names, e);
    if (bits & HB_NAME_STEP)
        add_step(m, e);
    else if (!hb_is_only_drawn(m->own_scopes, e, bits))
        hb_widen_range(&m->scopes, e->start_ns, e->end_ns);
    if (((bits & HB_NAME_COLLECTIVE) || (e->flags & HB_TEV_ANNOTATED)) && e->external_id)
        add_collective(m, e->external_id);
}

static int by_start(const void *a, const void *b)
{
    const hb_step_mark *x = a, *y = b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

void hb_cycle_marks_sort(hb_cycle_marks *m)
{
    if (m->steps.count) qsort(m->steps.items, m->steps.count, sizeof *m->steps.items, by_start);
}

/* ---- while something else reads ---- */

static hb_result begin(hb_source *source, hb_pass pass)
{
    hb_marking_source *s = (hb_marking_source *)source;
    s->marks_pass = pass == HB_PASS_HOST && !s->marks->whole;
    if (s->marks_pass) hb_cycle_marks_free(s->marks); /* of a pass that was left */
    return s->from->begin(s->from, pass);
}

static bool next(hb_source *source, hb_trace_event *event)
{
    hb_marking_source *s = (hb_marking_source *)source;
    bool more = s->from->next(s->from, event);
    if (s->marks_pass && more) hb_cycle_marks_add(s->marks, event);
    if (s->marks_pass && !more) {
        s->marks->whole = true;
        s->marks_pass = false;
    }
    return more;
}

static void close_nothing(hb_source *source)
{
    (void)source;
}

hb_marking_source hb_marking_source_of(hb_source *from, hb_cycle_marks *marks)
{
    return (hb_marking_source){{from->info, begin, next, close_nothing}, from, marks, false};
}
