/* SPDX-License-Identifier: MIT
 *
 * Which device works, and through which call an operator gets it.
 */
#include <stdlib.h>

#include "convert/convert.h"
#include "trace/link.h"

/* ---- devices ---- */

/* A ROCm trace by way of roctracer numbers devices as the driver does, CPUs included. */
static bool has_driver_numbers(const hb_plan *plan)
{
    if (!plan->amd_calls || !plan->foreign_calls || plan->num_devices == 0) return false;
    if (plan->devices[0] == 0) return false;
    return hb_trace_member(&plan->trace, "roctracer_version").len ||
           !hb_trace_member(&plan->trace, "hip_runtime_version").len;
}

bool hb_is_list_of_objects(hb_str json)
{
    const char *end = json.s + json.len, *p = hb_scan_space(json.s);
    hb_scan scan = {.end = end + HB_SCAN_SLACK, .defect = hb_ignore_defect};
    hb_value element;
    if (*p != '[') return false;
    p = hb_scan_space(p + 1);
    while (p < end && *p == '{') {
        p = hb_scan_value(&scan, p, &element);
        if (!p) return false;
        p = hb_scan_space(p);
        if (*p == ',') p = hb_scan_space(p + 1);
    }
    return p < end && *p == ']';
}

static bool next_object(const char **p, const hb_str *list, hb_value *object)
{
    const char *end = list->s + list->len;
    hb_scan scan = {.end = end + HB_SCAN_SLACK, .defect = hb_ignore_defect};
    while (*p < end && **p != '{')
        ++*p;
    if (*p >= end) return false;
    *p = hb_scan_value(&scan, *p, object);
    return *p != NULL;
}

/* The value of `"name": N` in an object; -1 when it has none. */
static int member_number(const hb_value *object, const char *name)
{
    const char *at = memmem(object->s, object->size, name, strlen(name));
    if (!at) return -1;
    at = hb_scan_space(at + strlen(name));
    return *at == ':' ? atoi(at + 1) : -1;
}

/* Fills plan->sms; the number of devices that have properties: none in what will give way to an
 * empty list. */
static int read_properties(hb_plan *plan)
{
    hb_str list = hb_trace_member(&plan->trace, "deviceProperties");
    const char *p = list.s;
    hb_value object;
    int count = 0;
    if (!list.len || !hb_is_list_of_objects(list)) return 0;
    while (count < HB_PLAN_DEVICES && next_object(&p, &list, &object))
        plan->sms[count++] = member_number(&object, "\"numSms\"");
    return count;
}

void hb_plan_devices(hb_plan *plan)
{
    plan->num_properties = read_properties(plan);
    int fit = plan->num_properties ? plan->num_properties : HB_PLAN_DEVICES;
    bool renumber = has_driver_numbers(plan);
    for (int i = 0; i < plan->num_devices; i++)
        renumber |= plan->devices[i] < 0 || plan->devices[i] >= fit;
    if (plan->options->kineto || plan->more_devices) renumber = false;
    for (int i = 0; i < plan->num_devices; i++)
        plan->numbers[i] = renumber ? i : (int)plan->devices[i];
    /* One device in the work and in the memory records must be the same. */
    if (renumber && plan->num_devices == 1 && plan->max_memory_device >= 0)
        plan->numbers[0] = plan->max_memory_device;
    else if (renumber)
        plan->counts[HB_CHANGE_GUESSED] = (uint64_t)plan->num_devices;
}

int hb_plan_number(const hb_plan *plan, int64_t device)
{
    for (int i = 0; i < plan->num_devices; i++)
        if (plan->devices[i] == device) return plan->numbers[i];
    return -1;
}

/* ---- ids ---- */

void hb_plan_index_calls(hb_plan *plan)
{
    for (uint32_t i = 0; i < plan->items.count; i++) {
        const hb_item *item = hb_plan_item(plan, i);
        if (item->role == HB_PLAN_CALL && item->corr != HB_ABSENT)
            hb_dict_set(&plan->arena, &plan->calls, (uint64_t)item->corr, i);
    }
}

static bool is_operators(const hb_plan *plan, int64_t id)
{
    if (id == HB_ABSENT) return false;
    if (hb_is_key_int(id)) return hb_key_set_has(&plan->owners, hb_key_int(id));
    return hb_dict_value(&plan->far_owners, (uint64_t)id) != UINT32_MAX;
}

/* One whose id is an operator's loses it. */
bool hb_plan_becomes_operator(const hb_plan *plan, const hb_item *scope)
{
    return scope->role == HB_PLAN_SCOPE && !plan->options->kineto &&
           !is_operators(plan, scope->ext);
}

bool hb_plan_has_owner(const hb_plan *plan, int64_t id)
{
    uint32_t scope = id == HB_ABSENT ? UINT32_MAX : hb_dict_value(&plan->scopes, (uint64_t)id);
    return is_operators(plan, id) ||
           (scope != UINT32_MAX && hb_plan_becomes_operator(plan, hb_plan_item(plan, scope)));
}

static void set_id(hb_item *item, int64_t id)
{
    item->ext = id;
    item->flags |= HB_ITEM_ID;
}

/* Calls are linked before they are moved: an id is looked at as the trace has it. A call that has
 * its own correlation for an id has none, and none is moved to have it. */
static bool has_link(const hb_plan *plan, const hb_item *item)
{
    int64_t moved = hb_plan_moved(plan, item->ext);
    return item->ext != item->corr && moved != item->corr &&
           (hb_plan_has_owner(plan, item->ext) || moved != item->ext);
}

/* A call whose own id leads nowhere gets the id that its device work knows, or else that of the
 * operator it ran in. */
static bool seek_owner(hb_plan *plan, const hb_item *work)
{
    uint32_t index = hb_dict_value(&plan->calls, (uint64_t)work->corr);
    if (work->corr == HB_ABSENT || index == UINT32_MAX) return false;
    hb_item *call = hb_plan_item(plan, index);
    if (has_link(plan, call)) return false;
    if (has_link(plan, work))
        set_id(call, work->ext);
    else
        call->flags |= HB_ITEM_SEEKS;
    return call->flags & HB_ITEM_SEEKS;
}

static bool is_place(const hb_plan *plan, const hb_item *item)
{
    bool scope = (item->flags & HB_ITEM_OPERATOR || hb_plan_becomes_operator(plan, item)) &&
                 !(item->flags & HB_ITEM_HIDE) && item->ext != HB_ABSENT && item->ext != HB_NO_ID;
    return (scope || item->flags & HB_ITEM_SEEKS) && item->tid != HB_ABSENT;
}

static void own(void *context, uint32_t call, uint32_t scope)
{
    hb_plan *plan = context;
    hb_item *item = hb_plan_item(plan, call);
    if (item->ext != hb_plan_item(plan, scope)->ext) set_id(item, hb_plan_item(plan, scope)->ext);
    item->flags &= (uint8_t)~HB_ITEM_SEEKS;
}

static int64_t clamped_ns(double us)
{
    int64_t ns;
    if (hb_us_to_ns(us, &ns)) return ns;
    return us < 0 ? -HB_MAX_TIME_NS : HB_MAX_TIME_NS;
}

static void find_owners(hb_plan *plan)
{
    size_t count = 0, n = 0;
    for (uint32_t i = 0; i < plan->items.count; i++)
        count += is_place(plan, hb_plan_item(plan, i));
    hb_host_span *spans = HB_NEW_ARRAY(&plan->arena, hb_host_span, count);
    for (uint32_t i = 0; i < plan->items.count; i++) {
        const hb_item *item = hb_plan_item(plan, i);
        if (!is_place(plan, item)) continue;
        int64_t start = clamped_ns(item->ts);
        spans[n++] = (hb_host_span){.start = start,
                                    .end = start + clamped_ns(item->dur),
                                    .thread = item->tid,
                                    .item = i,
                                    .is_call = item->flags & HB_ITEM_SEEKS};
    }
    hb_find_owners(&plan->arena, spans, n, own, plan);
    hb_arena_give_back(&plan->arena, spans, count * sizeof *spans);
}

/* In a step or another scope that the plugin knows, and in none of PyTorch's operators. */
static bool is_in_its_scope(const hb_plan *plan, const hb_item *call)
{
    uint32_t index =
        call->ext == HB_ABSENT ? UINT32_MAX : hb_dict_value(&plan->scopes, (uint64_t)call->ext);
    if (index == UINT32_MAX || hb_plan_has_owner(plan, call->ext)) return false;
    const hb_item *scope = hb_plan_item(plan, index);
    return scope->tid == call->tid && scope->ts <= call->ts &&
           call->ts + call->dur / 2 <= scope->ts + scope->dur;
}

/* With an id that no operator has the plugin drops the work; with one that belongs to an operator
 * by accident, that would get it. With 0 it is of the thread. */
static void count_work(hb_plan *plan, const hb_item *work)
{
    uint32_t index = hb_dict_value(&plan->calls, (uint64_t)work->corr);
    if (work->corr == HB_ABSENT || index == UINT32_MAX) {
        plan->counts[HB_CHANGE_NO_CALL]++;
        return;
    }
    hb_item *call = hb_plan_item(plan, index);
    bool owned = hb_plan_has_owner(plan, call->ext) && !(call->flags & HB_ITEM_SEEKS);
    if (owned) return;
    plan->counts[HB_CHANGE_NO_OWNER]++;
    if (call->ext != HB_NO_ID && !is_in_its_scope(plan, call)) set_id(call, HB_NO_ID);
}

static void link_work(hb_plan *plan)
{
    bool seek = false;
    hb_plan_resolve_moves(plan);
    for (uint32_t i = 0; i < plan->items.count; i++) {
        const hb_item *item = hb_plan_item(plan, i);
        if (item->role == HB_PLAN_WORK) seek |= seek_owner(plan, item);
    }
    if (seek) find_owners(plan);
    hb_plan_move_calls(plan);
    for (uint32_t i = 0; i < plan->items.count; i++) {
        const hb_item *item = hb_plan_item(plan, i);
        if (item->role == HB_PLAN_WORK) count_work(plan, item);
    }
}

void hb_plan_links(hb_plan *plan)
{
    link_work(plan);
    for (uint32_t i = 0; i < plan->items.count; i++) {
        hb_item *item = hb_plan_item(plan, i);
        /* The plugin hands all calls without an id to the first module frame. */
        if (item->role == HB_PLAN_CALL && item->ext == HB_ABSENT) set_id(item, HB_NO_ID);
        /* It gives an operator's calls to the first scope with the id. */
        if (item->role == HB_PLAN_SCOPE && is_operators(plan, item->ext) && item->ext != HB_NO_ID)
            item->flags |= HB_ITEM_NO_ID;
    }
}
