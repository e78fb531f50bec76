/* SPDX-License-Identifier: MIT */
#include "trace/processes.h"

#include "convert/convert.h"

static hb_id_role role_of(const hb_item *item)
{
    if (item->role == HB_PLAN_CALL) return HB_ID_CALL;
    if (item->role == HB_PLAN_WORK || item->role == HB_PLAN_ARROW) return HB_ID_WORK;
    bool shown = hb_item_is_scope(item) && !(item->flags & HB_ITEM_HIDE);
    return shown ? HB_ID_SCOPE : HB_ID_OTHER;
}

static void get(void *context, uint32_t event, hb_ids *ids)
{
    const hb_plan *plan = context;
    const hb_item *item = hb_plan_item(plan, event);
    ids->role = (uint8_t)role_of(item);
    ids->ext = item->ext;
    if (ids->role >= HB_ID_CALL) ids->corr = item->corr;
    ids->tid = item->tid;
    ids->pid = hb_trace_key_at(&plan->trace, *(uint32_t *)hb_column_at(&plan->pids, event));
    ids->ts = item->ts;
}

static void set(void *context, uint32_t event, const hb_ids *ids)
{
    hb_item *item = hb_plan_item(context, event);
    if (ids->ext != item->ext) item->flags |= HB_ITEM_ID;
    if (ids->tid != item->tid) item->flags |= HB_ITEM_TID;
    item->ext = ids->ext;
    item->tid = ids->tid;
    if (ids->role < HB_ID_CALL) return;
    /* The id of an arrow, which no viewer looks for in another file, stays. */
    if (ids->corr != item->corr && item->role != HB_PLAN_ARROW) item->flags |= HB_ITEM_CORR;
    item->corr = ids->corr;
}

hb_result hb_plan_processes(hb_plan *plan)
{
    hb_id_events events = {.count = plan->items.count, .get = get, .set = set, .context = plan};
    HB_TRY(hb_separate_processes(&events, &plan->counts[HB_CHANGE_PROCESS]));
    hb_column_free(&plan->pids);
    return HB_OK;
}
