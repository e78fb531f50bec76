/* SPDX-License-Identifier: MIT */
#include "torch/allocations.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct joiner {
    hb_allocations *a;
    hb_dict devices; /* Device Id and whether it is a GPU -> index */
    hb_dict live;    /* hash of device and address, or size -> index + 1 */
    uint32_t *open;  /* innermost open event by thread, HB_NO_FN: none */
    uint32_t next_event;
} joiner;

/* ---- changes ---- */

static bool earlier(const void *context, const void *x, const void *y)
{
    (void)context;
    return ((const hb_memory_change *)x)->ns < ((const hb_memory_change *)y)->ns;
}

static int64_t base_time(const hb_trace *trace)
{
    hb_str json = hb_trace_member(trace, "baseTimeNanoseconds");
    return json.len ? strtoll(json.s, NULL, 10) : 0;
}

static void collect(hb_allocations *a)
{
    const hb_trace *trace = a->list->trace;
    HB_VEC(hb_memory_change) changes = {0};
    int64_t base = base_time(trace), ns;
    for (uint32_t i = 0; i < trace->rows.count; i++) {
        const hb_row *row = hb_trace_row(trace, i);
        if (row->kind != HB_KIND_MEMORY || !hb_row_has_start(trace, row)) continue;
        const hb_memory_row *m = hb_trace_memory(trace, row);
        if (!hb_is_byte_count(m->bytes) || m->device_type > 2 ||
            __builtin_add_overflow(base, row->start, &ns))
            continue;
        *HB_PUSH(a->arena, &changes) = (hb_memory_change){
            .ns = ns, .bytes = trunc(m->bytes), .row = i, .held = m->held && m->bytes > 0};
    }
    a->changes = changes.items;
    a->num_changes = changes.count;
    hb_sort(a->arena, a->changes, a->num_changes, sizeof *a->changes, earlier, NULL);
}

/* ---- devices ---- */

static void name_device(hb_memory_place *d)
{
    if (!d->gpu)
        strcpy(d->name, "cpu");
    else if (hb_key_tag(d->id) == HB_KEY_TAG_INT)
        snprintf(d->name, sizeof d->name, "cuda:%lld", (long long)hb_key_value(d->id));
    else
        strcpy(d->name, "cuda");
}

static uint32_t device_of(joiner *j, const hb_row *row)
{
    hb_arena *arena = j->a->arena;
    const hb_trace *trace = j->a->list->trace;
    const hb_memory_row *m = hb_trace_memory(trace, row);
    bool added, gpu = m->device_type != 0;
    uint64_t key = gpu ? (uint64_t)m->device << 1 | 1 : 0; /* the CPU is one, whatever its id */
    hb_dict_entry *e = hb_dict_add(arena, &j->devices, key, &added);
    if (added) {
        hb_memory_place *d = HB_PUSH(arena, &j->a->devices);
        *d = (hb_memory_place){
            .id = hb_trace_key_at(trace, m->device), .gpu = gpu, .peak = HB_NO_RECORD};
        name_device(d);
        e->value = j->a->devices.count - 1;
    }
    return e->value;
}

static void find_devices(joiner *j)
{
    for (uint32_t i = 0; i < j->a->num_changes; i++)
        j->a->changes[i].device =
            device_of(j, hb_trace_row(j->a->list->trace, j->a->changes[i].row));
}

/* ---- who ---- */

/* The events that begin until `ns` open; those that end before are left by their parents. */
static void open_events(joiner *j, int64_t ns)
{
    const hb_fn_list *list = j->a->list;
    for (; j->next_event < list->count; j->next_event++) {
        const hb_fn *fn = &list->items[j->next_event];
        if (fn->start_ns > ns) break;
        if (!(fn->flags & HB_FN_DEVICE) && fn->row != HB_NO_FN) j->open[fn->thread] = j->next_event;
    }
}

static uint32_t innermost(const joiner *j, uint32_t thread, int64_t ns)
{
    const hb_fn *items = j->a->list->items;
    uint32_t i = j->open[thread];
    while (i != HB_NO_FN && items[i].end_ns < ns)
        i = items[i].parent;
    return i;
}

/* A call of the runtime is named only where no operator is. */
static uint32_t owner_of(joiner *j, const hb_memory_change *c)
{
    const hb_fn_list *list = j->a->list;
    const hb_row *row = hb_trace_row(list->trace, c->row);
    int64_t ns = row->start - list->start_ns;
    open_events(j, ns);
    uint32_t own = innermost(j, hb_row_tid(list->trace, row) * 2, ns), i = own;
    while (i != HB_NO_FN && list->items[i].flags & HB_FN_RUNTIME)
        i = list->items[i].parent;
    if (i != HB_NO_FN) return i;
    return own != HB_NO_FN ? own : innermost(j, hb_row_tid(list->trace, row) * 2 + 1, ns);
}

/* ---- allocations ---- */

/* By device and address; without one, by device and size. Two hashes, so that strangers do not
 * meet. */
static uint64_t key_of(const hb_memory_change *c, hb_key addr)
{
    struct {
        uint64_t addr;
        double size;
        uint64_t device;
    } key = {addr == hb_key_int(0) ? 0 : addr, 0, c->device};
    if (!key.addr) key.size = fabs(c->bytes);
    uint64_t low = hb_hash_bytes(&key, sizeof key);
    key.device ^= 0x9e3779b97f4a7c15u;
    return low | (uint64_t)hb_hash_bytes(&key, sizeof key) << 32;
}

static void begin(joiner *j, uint32_t at, hb_dict_entry *live, bool has_address)
{
    hb_memory_change *c = &j->a->changes[at];
    uint32_t before = live->value;
    if (has_address && before) {
        c->again = true;
        j->a->items.items[before - 1].end = at;
        before = 0;
    }
    const hb_trace *trace = j->a->list->trace;
    uint32_t owner = owner_of(j, c);
    *HB_PUSH(j->a->arena, &j->a->items) = (hb_allocation){
        .bytes = c->bytes,
        .device = c->device,
        .begin = at,
        .end = HB_NO_RECORD,
        .owner = c->held ? HB_NO_FN : owner,
        .held = c->held,
        .held_by = c->held ? hb_trace_memory(trace, hb_trace_row(trace, c->row))->owner : 0,
        .below = before};
    live->value = c->joined = j->a->items.count;
    hb_memory_place *d = &j->a->devices.items[c->device];
    if (d->last)
        j->a->items.items[d->last - 1].next = c->joined;
    else
        d->first = c->joined;
    d->last = c->joined;
}

static void end(joiner *j, uint32_t at, hb_dict_entry *live)
{
    hb_memory_change *c = &j->a->changes[at];
    hb_memory_place *d = &j->a->devices.items[c->device];
    c->joined = live->value;
    if (!c->joined) {
        d->unknown_frees++;
        d->start_bytes -= c->bytes;
        return;
    }
    hb_allocation *ended = &j->a->items.items[c->joined - 1];
    ended->end = at;
    live->value = ended->below;
}

static void join(joiner *j, uint32_t at)
{
    bool added;
    hb_memory_change *c = &j->a->changes[at];
    hb_memory_place *d = &j->a->devices.items[c->device];
    const hb_trace *trace = j->a->list->trace;
    hb_key addr = hb_trace_memory(trace, hb_trace_row(trace, c->row))->addr;
    bool has_address = addr != HB_KEY_NONE && addr != hb_key_int(0);
    hb_dict_entry *live = hb_dict_add(j->a->arena, &j->live, key_of(c, addr), &added);
    if (c->bytes > 0) {
        d->num_allocations += !c->held;
        d->allocated_bytes += c->held ? 0 : c->bytes;
        begin(j, at, live, has_address);
    } else { /* 0 too: a free by someone who does not know the size */
        d->num_frees++;
        d->freed_bytes -= c->bytes;
        end(j, at, live);
    }
}

/* ---- totals ---- */

/* At least what is freed without having been allocated here; more when the allocator says so. */
static void start_totals(hb_allocations *a)
{
    const hb_trace *trace = a->list->trace;
    bool *seen = HB_NEW_ARRAY(a->arena, bool, a->devices.count + 1);
    for (uint32_t i = 0; i < a->num_changes; i++) {
        const hb_memory_change *c = &a->changes[i];
        hb_memory_place *d = &a->devices.items[c->device];
        double said = hb_trace_memory(trace, hb_trace_row(trace, c->row))->allocated;
        if (seen[c->device]) continue;
        seen[c->device] = true;
        double change = c->held ? 0 : c->bytes;
        d->start_bytes = fmax(d->start_bytes, hb_is_byte_count(said) ? said - change : 0);
        d->total = d->peak_bytes = d->start_bytes;
    }
}

static void sum_totals(hb_allocations *a)
{
    for (uint32_t i = 0; i < a->num_changes; i++) {
        hb_memory_change *c = &a->changes[i];
        hb_memory_place *d = &a->devices.items[c->device];
        c->total = d->total += c->held ? 0 : c->bytes;
        if (c->held ? d->total < d->peak_bytes : d->total <= d->peak_bytes) continue;
        d->peak = i;
        d->peak_bytes = d->total;
    }
}

void hb_allocations_make(hb_allocations *a, const hb_fn_list *list)
{
    *a = (hb_allocations){.arena = list->arena, .list = list};
    joiner j = {.a = a};
    uint32_t threads = list->trace->keys.items.count * 2;
    j.open = HB_NEW_ARRAY(a->arena, uint32_t, threads + 1);
    for (uint32_t i = 0; i < threads; i++)
        j.open[i] = HB_NO_FN;
    collect(a);
    find_devices(&j);
    for (uint32_t i = 0; i < a->num_changes; i++)
        join(&j, i);
    start_totals(a);
    sum_totals(a);
}
