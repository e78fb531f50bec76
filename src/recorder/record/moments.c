/* SPDX-License-Identifier: MIT
 *
 * Records that have no duration: memory, numbers, arrows, metadata.
 */
#include <hipboard/comm.h>

#include "record/live_memory.h"
#include "record/record.h"
#include "record/strings.h"

static void stamp(hb_record *r, enum hb_record_type type, unsigned flags, uint32_t name,
                  size_t bytes)
{
    hb_record_head(r, type, flags, name, bytes);
    r->start = hb_ticks();
}

/* In no session the event may still be one to keep in mind; then the thread is in a recording call
 * all the same, for who begins the next session. */
static hb_thread *enter_for_memory(const void *frame, uint32_t *epoch)
{
    hb_thread *t = hb_thread_begin_at(frame);
    if (!t) return NULL;
    *epoch = __atomic_load_n(hb_live_epoch, __ATOMIC_ACQUIRE);
    if (*epoch && t->epoch != *epoch && !hb_record_attach(t, *epoch)) *epoch = 0;
    return t;
}

static void put_memory(hb_thread *t, const hb_memory_info *info, int64_t kept, unsigned flags)
{
    hb_record_memory *r = (hb_record_memory *)hb_record_reserve(t, sizeof *r);
    if (!r) return;
    stamp(&r->head, HB_RECORD_MEMORY, flags | (info->out_of_memory ? HB_RECORD_OOM : 0),
          HB_STRING_UNNAMED, sizeof *r);
    r->addr = (uint64_t)(uintptr_t)info->addr;
    r->bytes = info->bytes;
    r->total_allocated = info->total_allocated;
    r->total_reserved = info->total_reserved >= 0 ? info->total_reserved
                        : kept >= 0               ? HB_RESERVED_BEYOND(kept)
                                                  : -1;
    r->device_type = (int32_t)info->device_type;
    r->device_id = info->device_type == HB_DEVICE_CPU ? -1 : info->device_id;
    hb_record_commit(t, &r->head);
}

/* What the program itself tells of, it tells of in all steps. */
void hb_memory_report_slow(const hb_memory_info *info)
{
    uint32_t epoch;
    hb_thread *t = info ? enter_for_memory(HB_FRAME, &epoch) : NULL;
    if (!t) return;
    unsigned flags = 0;
    if (hb_live_memory_is_kept()) {
        const hb_record *scope = epoch && t->depth ? t->open[t->depth - 1].record : NULL;
        uint32_t name = scope ? scope->name : HB_STRING_UNNAMED;
        if (!hb_live_memory_note(t, epoch, info, name)) flags = HB_RECORD_FOREIGN;
    }
    if (epoch && (t->flags & HB_SESSION_MEMORY)) put_memory(t, info, HB_KEPT_UNKNOWN, flags);
    hb_thread_leave(t);
}

void hb_record_memory_event(const hb_memory_info *info, int64_t kept)
{
    hb_thread *t = hb_record_enter_at(HB_FRAME);
    if (!t) return;
    if (t->flags & HB_SESSION_MEMORY) put_memory(t, info, kept, 0);
    hb_thread_leave(t);
}

/* `made` but for its head, which becomes one of these; of constant size where it is called. */
static inline void put_moment(const hb_record *made, enum hb_record_type type, uint32_t name,
                              size_t bytes, const void *frame)
{
    hb_thread *t = hb_record_enter_at(frame);
    if (!t) return;
    hb_record *r = hb_record_reserve(t, (uint32_t)bytes);
    if (r) {
        memcpy(r + 1, made + 1, bytes - sizeof *r);
        stamp(r, type, 0, name, bytes);
        hb_record_commit(t, r);
    }
    hb_thread_leave(t);
}

void hb_record_scalar_value(const char *name, double value)
{
    hb_record_scalar r = {.value = value};
    put_moment(&r.head, HB_RECORD_SCALAR, hb_record_name(name, HB_FRAME), sizeof r, HB_FRAME);
}

void hb_counter(const char *name, const char *unit, double value)
{
    if (!HB_ENABLED()) return;
    uint32_t id = hb_record_name(name, HB_FRAME);
    hb_record_counter r = {.value = value, .unit = hb_record_name(unit, HB_FRAME)};
    put_moment(&r.head, HB_RECORD_COUNTER, id, sizeof r, HB_FRAME);
}

void hb_flow(const char *name, uint64_t flow, hb_flow_phase phase)
{
    if (!HB_ENABLED()) return;
    hb_record_flow r = {.id = flow, .phase = (uint32_t)phase};
    put_moment(&r.head, HB_RECORD_FLOW, hb_record_name(name, HB_FRAME), sizeof r, HB_FRAME);
}

/* At one moment, which costs more to read than all of them to write. */
static void put_flows(const hb_comm_pending *pending, size_t count, hb_flow_phase phase,
                      const void *frame)
{
    if (!pending || !count || !HB_ENABLED()) return;
    for (size_t i = 0; i < count; i++) /* new names are interned outside of the recording call */
        if (pending[i].flow) (void)hb_record_site_id(pending[i].site, frame);
    hb_thread *t = hb_record_enter_at(frame);
    if (!t) return;
    uint64_t now = hb_ticks();
    for (size_t i = 0; i < count; i++) {
        if (!pending[i].flow) continue;
        hb_record_flow *r = (hb_record_flow *)hb_record_reserve(t, sizeof *r);
        uint32_t name = __atomic_load_n(&pending[i].site->id, __ATOMIC_RELAXED);
        if (r)
            hb_record_put_flow(t, r, name ? name : HB_STRING_DROPPED, now, pending[i].flow, phase);
    }
    hb_thread_leave(t);
}

void hb_comm_start(const hb_comm_pending *pending, size_t count)
{
    put_flows(pending, count, HB_FLOW_BEGIN, HB_FRAME);
}

void hb_comm_complete(const hb_comm_pending *pending, size_t count)
{
    put_flows(pending, count, HB_FLOW_END, HB_FRAME);
}

void hb_record_metadata_entry(uint32_t key, uint32_t json)
{
    hb_record_metadata r = {.json = json};
    put_moment(&r.head, HB_RECORD_METADATA, key, sizeof r, HB_FRAME);
}
