/* SPDX-License-Identifier: MIT
 *
 * hipboard/analysis.h: who holds memory, and how much there was when.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/api_trace_file.h"
#include "torch/live_by_owner.h"
#include "torch/memory_timeline.h"

struct hb_memory_profile {
    hb_arena arena;
    hb_trace *trace;
    hb_fn_list list;
    hb_allocations allocations;
    hb_fn_stack *stacks; /* of the list; made when asked for */
};

static hb_result failure(const hb_memory_profile *p)
{
    return hb_arena_outcome(&p->arena);
}

static hb_result make(hb_memory_profile *p)
{
    if (hb_arena_try(&p->arena)) {
        hb_fn_list_make(&p->list, &p->arena, p->trace);
        hb_allocations_make(&p->allocations, &p->list);
    }
    return p->arena.result == HB_OK ? HB_OK : failure(p);
}

hb_result hb_memory_profile_create(hb_trace_file *file, hb_memory_profile **profile)
{
    if (!file || !profile)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no trace file or no place for the result");
    *profile = NULL;
    hb_memory_profile *p = calloc(1, sizeof *p);
    if (!p) return hb_no_memory();
    p->trace = hb_trace_file_trace(file);
    hb_result result = make(p);
    if (result != HB_OK)
        hb_memory_profile_destroy(p);
    else
        *profile = p;
    return result;
}

void hb_memory_profile_destroy(hb_memory_profile *p)
{
    if (!p) return;
    hb_arena_free(&p->arena);
    free(p);
}

size_t hb_memory_profile_num_devices(const hb_memory_profile *p)
{
    return p ? p->allocations.devices.count : 0;
}

/* ---- devices ---- */

static double time_of(const hb_memory_profile *p, uint32_t change)
{
    int64_t ns = p->list.start_ns;
    if (change != HB_NO_RECORD)
        ns = hb_trace_row(p->trace, p->allocations.changes[change].row)->start;
    return (double)(ns - p->list.start_ns) / 1000;
}

static void sum_living(const hb_memory_profile *p, uint32_t device, uint32_t at, double *bytes,
                       uint64_t *count)
{
    const hb_allocations *a = &p->allocations;
    *bytes = 0;
    *count = 0;
    const hb_allocation *x = at == HB_NO_RECORD ? NULL : hb_first_allocation(a, device);
    for (; x; x = hb_next_allocation(a, x)) {
        if (x->held || !hb_allocation_lives(x, at)) continue;
        *bytes += x->bytes;
        ++*count;
    }
}

static uint32_t last_change(const hb_memory_profile *p)
{
    return p->allocations.num_changes - 1; /* HB_NO_RECORD when there is none */
}

hb_result hb_memory_profile_device(const hb_memory_profile *p, size_t index,
                                   hb_memory_device *device)
{
    if (!p || !device) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    if (index >= p->allocations.devices.count)
        return hb_fail(HB_ERROR_NOT_FOUND, "no device %zu", index);
    uint64_t held;
    const hb_memory_place *d = &p->allocations.devices.items[index];
    *device = (hb_memory_device){.name = d->name,
                                 .start_bytes = d->start_bytes,
                                 .end_bytes = d->total,
                                 .peak_bytes = d->peak_bytes,
                                 .peak_us = time_of(p, d->peak),
                                 .allocations = d->num_allocations,
                                 .frees = d->num_frees,
                                 .unknown_frees = d->unknown_frees,
                                 .allocated_bytes = d->allocated_bytes,
                                 .freed_bytes = d->freed_bytes};
    sum_living(p, (uint32_t)index, d->peak, &device->peak_held_bytes, &held);
    sum_living(p, (uint32_t)index, last_change(p), &device->left_bytes, &device->left);
    return HB_OK;
}

/* ---- holders ---- */

static const char *keep_text(hb_memory_profile *p, hb_buf *text)
{
    char *copy = HB_NEW_ARRAY(&p->arena, char, text->size + 1);
    if (text->size) memcpy(copy, text->data, text->size);
    text->size = 0;
    if (text->failed) hb_arena_leave(&p->arena, HB_ERROR_NO_MEMORY, "out of memory");
    return copy;
}

static const char *const *frames_of(hb_memory_profile *p, const hb_fn_stack *stack)
{
    const char **frames = HB_NEW_ARRAY(&p->arena, const char *, stack->count + 1);
    for (uint32_t i = 0; i < stack->count; i++)
        frames[i] = hb_trace_text(p->trace, stack->frames[i]).s;
    return frames;
}

static hb_memory_holder public_holder(hb_memory_profile *p, const hb_live_owner *h, bool stacks,
                                      hb_buf *text)
{
    hb_memory_holder made = {.name = "",
                             .scopes = "",
                             .stack = frames_of(p, &h->stack),
                             .stack_size = h->stack.count,
                             .allocations = h->count,
                             .bytes = h->bytes,
                             .largest_bytes = h->largest,
                             .first_us = time_of(p, h->first),
                             .before = h->held};
    if (h->held && h->held_by) made.name = hb_trace_text(p->trace, h->held_by).s;
    if (h->owner == HB_NO_FN) return made;
    made.name = hb_trace_text(p->trace, p->list.items[h->owner].name).s;
    if (stacks) {
        hb_put_scopes(&p->list, h->owner, text);
        made.scopes = keep_text(p, text);
    }
    return made;
}

static hb_memory_holder *list_holders(hb_memory_profile *p, uint32_t device, uint32_t at,
                                      bool stacks, hb_buf *text, size_t *count)
{
    if (stacks && !p->stacks) p->stacks = hb_fn_stacks(&p->list, UINT32_MAX);
    hb_live_owners found = hb_live_by_owner(&p->allocations, device, at, stacks ? p->stacks : NULL);
    hb_memory_holder *list = HB_NEW_ARRAY(&p->arena, hb_memory_holder, found.count + 1);
    for (uint32_t i = 0; i < found.count; i++)
        list[i] = public_holder(p, &found.items[i], stacks, text);
    *count = found.count;
    return list;
}

hb_result hb_memory_profile_holders(hb_memory_profile *p, size_t device, hb_memory_moment moment,
                                    hb_memory_grouping grouping, const hb_memory_holder **holders,
                                    size_t *count)
{
    hb_buf text;
    if (!p || !holders || !count) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    if (device >= p->allocations.devices.count)
        return hb_fail(HB_ERROR_NOT_FOUND, "no device %zu", device);
    uint32_t at =
        moment == HB_MEMORY_AT_PEAK ? p->allocations.devices.items[device].peak : last_change(p);
    hb_buf_init(&text, SIZE_MAX / 2);
    if (hb_arena_try(&p->arena))
        *holders = list_holders(p, (uint32_t)device, at, grouping == HB_BY_STACK, &text, count);
    hb_buf_free(&text);
    return p->arena.result == HB_OK ? HB_OK : failure(p);
}

/* ---- allocations ---- */

static hb_memory_allocation public_allocation(const hb_memory_profile *p, const hb_allocation *a)
{
    const hb_memory_change *changes = p->allocations.changes;
    hb_memory_allocation made = {.name = "", .bytes = a->bytes, .before = a->held};
    made.begin_event = changes[a->begin].row;
    made.end_event = a->end == HB_NO_RECORD ? SIZE_MAX : changes[a->end].row;
    if (a->held && a->held_by) made.name = hb_trace_text(p->trace, a->held_by).s;
    if (a->owner != HB_NO_FN) made.name = hb_trace_text(p->trace, p->list.items[a->owner].name).s;
    return made;
}

static hb_memory_allocation *list_allocations(hb_memory_profile *p, uint32_t device, size_t *count)
{
    const hb_allocations *all = &p->allocations;
    hb_memory_allocation *list =
        HB_NEW_ARRAY(&p->arena, hb_memory_allocation, all->items.count + 1);
    *count = 0;
    for (const hb_allocation *a = hb_first_allocation(all, device); a;
         a = hb_next_allocation(all, a))
        list[(*count)++] = public_allocation(p, a);
    return list;
}

hb_result hb_memory_profile_allocations(hb_memory_profile *p, size_t device,
                                        const hb_memory_allocation **allocations, size_t *count)
{
    if (!p || !allocations || !count)
        return hb_fail(HB_ERROR_INVALID_ARGUMENT, "an argument is NULL");
    if (device >= p->allocations.devices.count)
        return hb_fail(HB_ERROR_NOT_FOUND, "no device %zu", device);
    if (hb_arena_try(&p->arena)) *allocations = list_allocations(p, (uint32_t)device, count);
    return p->arena.result == HB_OK ? HB_OK : failure(p);
}

/* ---- the timeline ---- */

/* "gpu", "hip" and what else stands for "cuda", with and without a number. UINT32_MAX: no events of
 * that device, of which torch writes an empty timeline too. */
static uint32_t find_device(const hb_memory_profile *p, const char *name)
{
    const hb_allocations *a = &p->allocations;
    char wanted[32];
    const char *colon = name ? strchr(name, ':') : NULL;
    bool cpu = name && strncmp(name, "cpu", 3) == 0;
    if (name && !cpu) snprintf(wanted, sizeof wanted, "cuda%s", colon ? colon : ":0");
    for (uint32_t i = 0; i < a->devices.count; i++) {
        const hb_memory_place *d = &a->devices.items[i];
        if (!name ? d->gpu : cpu ? !d->gpu : strcmp(d->name, wanted) == 0) return i;
    }
    return name ? UINT32_MAX : find_device(p, "cpu");
}

hb_result hb_memory_text(hb_trace_file *file, const char *device, hb_memory_form form, hb_buf *to)
{
    hb_memory_profile *p;
    HB_TRY(hb_memory_profile_create(file, &p));
    uint32_t index = find_device(p, device);
    locale_t before = hb_enter_c_locale();
    if (hb_arena_try(&p->arena)) {
        if (form == HB_MEMORY_PAGE)
            hb_report_memory_page(&p->allocations, index, to);
        else
            hb_report_memory_timeline(&p->allocations, index, form == HB_MEMORY_RAW, to);
    }
    hb_leave_c_locale(before);
    hb_result result = p->arena.result == HB_OK ? HB_OK : failure(p);
    if (result == HB_OK && to->failed) result = hb_no_memory();
    hb_memory_profile_destroy(p);
    return result;
}

hb_result hb_memory_timeline(hb_trace_file *file, const char *device, bool raw, char **json,
                             size_t *size)
{
    hb_buf buf;
    if (!json) return hb_fail(HB_ERROR_INVALID_ARGUMENT, "no place for the result");
    *json = NULL;
    hb_buf_init(&buf, SIZE_MAX / 2);
    hb_result result = hb_memory_text(file, device, raw ? HB_MEMORY_RAW : HB_MEMORY_BY_TIME, &buf);
    return hb_buf_hand_out(&buf, result, json, size);
}
