/* SPDX-License-Identifier: MIT
 *
 * Puts what was read in order, and finds what belongs together.
 */
#include <stdlib.h>

#include "gpu/occupancy.h"
#include "import/id_index.h"
#include "import/import_rows.h"
#include "rules/call_class.h"
#include "trace/link.h"

enum { ROWS_OF_A_DEVICE = 32 }; /* streams that are a row each */

/* ---- order ---- */

static uint32_t *order_of(hb_arena *arena, const hb_column *column)
{
    uint32_t *order = malloc(((size_t)column->count + 1) * sizeof *order);
    if (!order) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory");
    for (uint32_t i = 0; i < column->count; i++)
        order[i] = i;
    return order;
}

static bool host_before(const hb_column *column, uint32_t a, uint32_t b)
{
    const hb_import_host *x = hb_column_at(column, a), *y = hb_column_at(column, b);
    if (x->thread != y->thread) return x->thread < y->thread;
    if (x->start != y->start) return x->start < y->start;
    return x->end > y->end; /* what is around, first */
}

static bool call_before(const void *rows, const void *a, const void *b)
{
    return host_before(&((const hb_import_rows *)rows)->calls, *(const uint32_t *)a,
                       *(const uint32_t *)b);
}

static bool scope_before(const void *rows, const void *a, const void *b)
{
    return host_before(&((const hb_import_rows *)rows)->scopes, *(const uint32_t *)a,
                       *(const uint32_t *)b);
}

static bool work_before(const void *context, const void *a, const void *b)
{
    const hb_import_rows *r = context;
    const hb_import_work *x = hb_column_at(&r->works, *(const uint32_t *)a);
    const hb_import_work *y = hb_column_at(&r->works, *(const uint32_t *)b);
    const hb_import_lane *here = hb_import_lane_of(r, x), *there = hb_import_lane_of(r, y);
    if (here->device != there->device) return here->device < there->device;
    int64_t row = hb_import_row_of(r, here), other = hb_import_row_of(r, there);
    return row != other ? row < other : x->start < y->start;
}

static bool memory_before(const void *context, const void *a, const void *b)
{
    const hb_column *c = &((const hb_import_rows *)context)->memory;
    const hb_import_memory *x = hb_column_at(c, *(const uint32_t *)a);
    const hb_import_memory *y = hb_column_at(c, *(const uint32_t *)b);
    return x->thread != y->thread ? x->thread < y->thread : x->time < y->time;
}

static bool sample_before(const void *context, const void *a, const void *b)
{
    const hb_column *c = &((const hb_import_rows *)context)->samples;
    const hb_import_sample *x = hb_column_at(c, *(const uint32_t *)a);
    const hb_import_sample *y = hb_column_at(c, *(const uint32_t *)b);
    return x->thread != y->thread ? x->thread < y->thread : x->time < y->time;
}

static void sort(hb_arena *arena, uint32_t *order, uint32_t count, hb_less less,
                 const hb_import_rows *rows)
{
    hb_arena scratch = {0};
    bool sorted = true;
    for (uint32_t i = 1; i < count && sorted; i++)
        sorted = !less(rows, &order[i], &order[i - 1]);
    if (sorted) return;
    if (hb_arena_try(&scratch)) hb_sort(&scratch, order, count, sizeof *order, less, rows);
    hb_result result = scratch.result;
    hb_arena_free(&scratch); /* at once: it is as large as the order */
    if (result != HB_OK) hb_arena_leave(arena, result, "out of memory");
}

static void put_in_order(hb_arena *arena, hb_import_rows *r)
{
    const struct {
        const hb_column *column;
        uint32_t **order;
        hb_less less;
    } all[] = {
        {&r->calls, &r->calls_order, call_before},
        {&r->scopes, &r->scopes_order, scope_before},
        {&r->works, &r->works_order, work_before},
        {&r->memory, &r->memory_order, memory_before},
        {&r->samples, &r->samples_order, sample_before},
    };
    for (size_t i = 0; i < HB_ARRAY_LEN(all); i++) {
        *all[i].order = order_of(arena, all[i].column);
        sort(arena, *all[i].order, all[i].column->count, all[i].less, r);
    }
}

/* ---- threads ---- */

static void move_hosts(const hb_column *hosts, const uint32_t *to)
{
    for (uint32_t i = 0; i < hosts->count; i++) {
        hb_import_host *host = hb_column_at(hosts, i);
        host->thread = to[host->thread];
    }
}

/* A thread that some rows name and others do not is one, by the first name that it has. */
static void unite_threads(hb_arena *arena, hb_import_rows *r)
{
    hb_column *threads = &r->threads.items;
    uint32_t *to = HB_NEW_ARRAY(arena, uint32_t, threads->count), kept = 1;
    hb_dict known = {0};
    for (uint32_t i = 1; i < threads->count; i++) {
        bool added;
        const hb_import_thread *t = hb_column_at(threads, i);
        hb_dict_entry *entry = hb_dict_add(arena, &known, (uint64_t)t->tid, &added);
        if (added) entry->value = kept++;
        hb_import_thread *first = hb_column_at(threads, entry->value);
        if (added)
            *first = *t;
        else if (!first->name)
            first->name = t->name;
        to[i] = entry->value;
    }
    if (kept == threads->count) return;
    threads->count = kept;
    move_hosts(&r->calls, to);
    move_hosts(&r->scopes, to);
    for (uint32_t i = 0; i < r->memory.count; i++) {
        hb_import_memory *m = hb_column_at(&r->memory, i);
        m->thread = to[m->thread];
    }
    for (uint32_t i = 0; i < r->samples.count; i++) {
        hb_import_sample *s = hb_column_at(&r->samples, i);
        s->thread = to[s->thread];
    }
}

/* ---- rows of devices ---- */

static uint64_t count_streams(hb_arena *arena, const hb_import_rows *r)
{
    hb_distinct streams;
    bool ok = hb_distinct_init(&streams, sizeof(hb_import_lane));
    for (uint32_t i = 1; ok && i < r->lanes.items.count; i++) {
        const hb_import_lane *lane = hb_column_at(&r->lanes.items, i);
        hb_import_lane stream = {.device = lane->device, .stream = lane->stream};
        ok = hb_distinct_add(&streams, &stream) != UINT32_MAX;
    }
    uint64_t count = ok ? streams.items.count - 1 : 0;
    hb_distinct_free(&streams);
    if (!ok) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory");
    return count;
}

/* Of a PyTorch run with a stream for nearly every kernel: its queues are its rows. */
static void choose_rows(hb_arena *arena, hb_import_rows *r, hb_import_by by)
{
    hb_dict lanes = {0}; /* how many, by device */
    bool queues = true, many = false;
    for (uint32_t i = 1; i < r->lanes.items.count; i++) {
        const hb_import_lane *lane = hb_column_at(&r->lanes.items, i);
        bool added;
        uint32_t same = ++hb_dict_add(arena, &lanes, (uint64_t)lane->device, &added)->value;
        queues &= lane->queue >= 0;
        many |= same > ROWS_OF_A_DEVICE;
    }
    r->by_queue = by == HB_IMPORT_BY_QUEUE || (by == HB_IMPORT_BY_COUNT && many && queues);
    if (r->by_queue && by == HB_IMPORT_BY_COUNT)
        r->notes[HB_IMPORT_MANY_STREAMS] = count_streams(arena, r);
}

/* ---- joins ---- */

/* What the work does not tell and its call does, where the call started nothing else. */
static void complete_launch(hb_arena *arena, hb_import_rows *r, hb_import_work *work,
                            const hb_import_host *call)
{
    hb_import_launch l = *hb_import_launch_of(r, work);
    if (!call->args) return;
    const hb_import_call_args *args = hb_column_at(&r->call_args.items, call->args);
    if (l.kind == HB_EVENT_KERNEL && !l.has_grid && args->has_grid) {
        l.has_grid = true;
        memcpy(l.grid, args->grid, sizeof l.grid);
        memcpy(l.block, args->block, sizeof l.block);
    } else if (l.kind != HB_EVENT_KERNEL && !l.bytes && args->bytes) {
        l.bytes = args->bytes;
    } else {
        return;
    }
    work->launch = hb_distinct_add(&r->launches, &l);
    if (work->launch == UINT32_MAX) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory");
}

static bool has_work_of_no_call(const hb_import_rows *r)
{
    for (uint32_t i = 0; i < r->works.count; i++)
        if (!((const hb_import_work *)hb_column_at(&r->works, i))->correlation) return true;
    return false;
}

/* Readers take a call and work of the same correlation for a pair, if it is 0 as well: where work
 * has none, calls that have none get what nobody else has. */
static void number_calls(hb_arena *arena, hb_import_rows *r)
{
    hb_id_index taken = {0};
    uint64_t next = 1;
    if (!r->calls.count || !has_work_of_no_call(r)) return;
    for (uint32_t i = 0; i < r->calls.count; i++)
        hb_id_index_set(arena, &taken,
                        ((const hb_import_host *)hb_column_at(&r->calls, i))->correlation, 1);
    for (uint32_t i = 0; i < r->works.count; i++)
        hb_id_index_set(arena, &taken,
                        ((const hb_import_work *)hb_column_at(&r->works, i))->correlation, 1);
    for (uint32_t i = 0; i < r->calls.count; i++) {
        hb_import_host *call = hb_column_at(&r->calls, i);
        if (call->correlation) continue;
        while (hb_id_index_get(&taken, next))
            next++;
        call->correlation = next++;
    }
    hb_id_index_free(arena, &taken);
}

static void join_calls(hb_arena *arena, hb_import_rows *r)
{
    hb_id_index calls = {0};
    for (uint32_t i = 0; i < r->calls.count; i++) {
        const hb_import_host *call = hb_column_at(&r->calls, i);
        if (call->correlation) hb_id_index_set(arena, &calls, call->correlation, i + 1);
    }
    for (uint32_t i = 0; i < r->works.count; i++) {
        hb_import_work *work = hb_column_at(&r->works, i);
        work->call = work->correlation ? hb_id_index_get(&calls, work->correlation) : 0;
        r->linked += work->call != 0;
        if (!work->call) continue;
        hb_import_host *call = hb_column_at(&r->calls, work->call - 1);
        if (!(call->flags & HB_IMPORT_LAUNCHES)) complete_launch(arena, r, work, call);
        call->flags |= HB_IMPORT_LAUNCHES;
        call->flags &= ~(unsigned)HB_IMPORT_MINOR;
    }
    r->notes[HB_IMPORT_NO_CALL] += r->works.count - r->linked;
    hb_id_index_free(arena, &calls);
    number_calls(arena, r);
}

static void own(void *context, uint32_t call, uint32_t scope)
{
    hb_import_rows *r = context;
    ((hb_import_host *)hb_column_at(&r->calls, call))->scope = scope + 1;
}

static hb_host_span span_of(const hb_import_host *host, uint32_t item, bool is_call)
{
    return (hb_host_span){host->start, host->end, host->thread, item, 0, is_call};
}

static void find_scopes(hb_arena *arena, hb_import_rows *r)
{
    size_t n = 0;
    if (!r->scopes.count || !r->calls.count) return;
    size_t count = (size_t)r->scopes.count + r->calls.count;
    hb_host_span *spans = HB_NEW_ARRAY(arena, hb_host_span, count);
    for (uint32_t i = 0; i < r->scopes.count; i++)
        spans[n++] = span_of(hb_column_at(&r->scopes, i), i, false);
    for (uint32_t i = 0; i < r->calls.count; i++)
        spans[n++] = span_of(hb_column_at(&r->calls, i), i, true);
    hb_find_owners(arena, spans, n, own, r);
    hb_arena_give_back(arena, spans, count * sizeof *spans);
}

/* ---- memory ---- */

static bool earlier(const void *context, const void *a, const void *b)
{
    const hb_column *c = &((const hb_import_rows *)context)->memory;
    return ((const hb_import_memory *)hb_column_at(c, *(const uint32_t *)a))->time <
           ((const hb_import_memory *)hb_column_at(c, *(const uint32_t *)b))->time;
}

/* False for a free of what was allocated before the recording. */
static bool follow(hb_arena *arena, hb_import_rows *r, hb_dict *live, hb_import_memory *m,
                   uint32_t item)
{
    bool added;
    if (!m->frees) {
        hb_dict_set(arena, live, m->address, item + 1);
        return true;
    }
    hb_dict_entry *entry = hb_dict_get(live, m->address);
    if (!entry || !entry->value) return false;
    const hb_import_memory *from = hb_column_at(&r->memory, entry->value - 1);
    m->bytes = -from->bytes;
    m->device = from->device;
    hb_dict_add(arena, live, m->address, &added)->value = 0;
    return true;
}

/* More than any memory, and few enough that readers may add up all that there are. */
#define MOST_BYTES (INT64_MAX >> 8)

static int64_t within(int64_t bytes)
{
    return HB_MIN(HB_MAX(bytes, -MOST_BYTES), MOST_BYTES);
}

/* Totals of each device, and what frees give back; those of unknown memory are left out. */
static void add_up_memory(hb_arena *arena, hb_import_rows *r)
{
    hb_dict live = {0}, totals = {0};
    HB_VEC(int64_t) sums = {0};
    uint32_t n = r->memory.count;
    uint32_t *order = HB_NEW_ARRAY(arena, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    sort(arena, order, n, earlier, r);
    for (uint32_t i = 0; i < n; i++) {
        bool added;
        hb_import_memory *m = hb_column_at(&r->memory, order[i]);
        m->bytes = within(m->bytes);
        if (m->told) continue;
        if (!follow(arena, r, &live, m, order[i])) {
            r->notes[HB_IMPORT_NO_ALLOCATION]++;
            m->thread = UINT32_MAX;
            continue;
        }
        hb_dict_entry *device = hb_dict_add(arena, &totals, (uint64_t)m->device, &added);
        if (added) {
            device->value = sums.count;
            *HB_PUSH(arena, &sums) = 0;
        }
        int64_t *total = &sums.items[device->value];
        m->total = *total = within(*total + m->bytes);
    }
}

/* ---- occupancy ---- */

static const hb_device_info *device_of(const hb_import_rows *r, int32_t id)
{
    for (uint32_t i = 0; i < r->devices.count; i++)
        if (r->devices.items[i].id == id) return &r->devices.items[i];
    return NULL;
}

/* Without registers the occupancy would be a guess. */
static struct hb_import_estimate estimate_of(const hb_import_rows *r, const hb_import_launch *l)
{
    hb_occupancy o;
    const hb_device_info *device = device_of(r, l->device);
    if (l->kind != HB_EVENT_KERNEL || !l->has_grid || !device)
        return (struct hb_import_estimate){.percent = -1};
    hb_occupancy_query query = {
        .arch = device->arch,
        .num_cus = device->num_cus,
        .wave_size = device->warp_size,
        .vgprs = l->has_resources ? l->vgprs : HB_REGISTERS_UNKNOWN,
        .agprs = l->has_resources ? l->agprs : HB_REGISTERS_UNKNOWN,
        .sgprs = l->has_resources ? l->sgprs : HB_REGISTERS_UNKNOWN,
        .lds_bytes = l->lds_bytes,
        .block_threads = l->block[0] * l->block[1] * l->block[2],
        .grid_blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2],
    };
    bool known = hb_occupancy_of(&query, &o) && l->has_resources;
    return (struct hb_import_estimate){o.blocks_per_sm, o.warps_per_sm, known ? o.percent : -1,
                                       known ? o.limit : NULL};
}

static void estimate(hb_arena *arena, hb_import_rows *r)
{
    uint32_t n = r->launches.items.count;
    r->estimates = calloc(n, sizeof *r->estimates);
    if (!r->estimates) hb_arena_leave(arena, HB_ERROR_NO_MEMORY, "out of memory");
    for (uint32_t i = 1; i < n; i++)
        r->estimates[i] = estimate_of(r, hb_column_at(&r->launches.items, i));
}

/* ---- the whole ---- */

static void widen(hb_import_rows *r, int64_t start, int64_t end)
{
    r->first = HB_MIN(r->first, start);
    r->last = HB_MAX(r->last, end);
}

static void find_window(hb_import_rows *r)
{
    r->first = INT64_MAX;
    r->last = INT64_MIN;
    for (uint32_t i = 0; i < r->calls.count; i++) {
        const hb_import_host *call = hb_column_at(&r->calls, i);
        widen(r, call->start, call->end);
    }
    for (uint32_t i = 0; i < r->scopes.count; i++) {
        const hb_import_host *scope = hb_column_at(&r->scopes, i);
        widen(r, scope->start, scope->end);
    }
    for (uint32_t i = 0; i < r->works.count; i++) {
        const hb_import_work *work = hb_column_at(&r->works, i);
        widen(r, work->start, work->end);
    }
    for (uint32_t i = 0; i < r->memory.count; i++) {
        const hb_import_memory *m = hb_column_at(&r->memory, i);
        widen(r, m->time, m->time);
    }
    for (uint32_t i = 0; i < r->samples.count; i++) {
        const hb_import_sample *s = hb_column_at(&r->samples, i);
        widen(r, s->time, s->time);
    }
    if (r->first > r->last) r->first = r->last = 0;
}

static void count_unknown(hb_import_rows *r)
{
    for (uint32_t i = 0; r->scopes.count && i < r->calls.count; i++) {
        const hb_import_host *call = hb_column_at(&r->calls, i);
        r->notes[HB_IMPORT_NO_RANGE] += (call->flags & HB_IMPORT_LAUNCHES) && !call->scope;
    }
    for (uint32_t i = 0; i < r->works.count; i++) {
        const hb_import_launch *l = hb_import_launch_of(r, hb_column_at(&r->works, i));
        bool kernel = l->kind == HB_EVENT_KERNEL;
        r->notes[HB_IMPORT_NO_GRID] += kernel && !l->has_grid;
        r->notes[HB_IMPORT_NO_REGISTERS] += kernel && !l->has_resources;
        r->notes[HB_IMPORT_NO_BYTES] += l->kind == HB_EVENT_MEMCPY && !l->bytes;
    }
}

/* ---- names ---- */

/* Each name is looked at once. */
static void mark_waits(hb_arena *arena, hb_import_rows *r)
{
    enum { WORKS = 1, WAITS };
    hb_id_index known = {0};
    for (uint32_t i = 0; i < r->calls.count; i++) {
        hb_import_host *call = hb_column_at(&r->calls, i);
        uint32_t kind = hb_id_index_get(&known, call->name);
        if (!kind) {
            bool waits =
                hb_call_class_of(hb_texts_get(r->texts, call->name)) & HB_CALL_SYNCHRONIZES;
            kind = waits ? WAITS : WORKS;
            hb_id_index_set(arena, &known, call->name, kind);
        }
        if (kind == WAITS) call->flags |= HB_IMPORT_WAITS;
    }
    hb_id_index_free(arena, &known);
}

void hb_import_finish(hb_arena *arena, hb_import_rows *r, hb_import_by by)
{
    unite_threads(arena, r);
    choose_rows(arena, r, by);
    join_calls(arena, r);
    mark_waits(arena, r);
    find_scopes(arena, r);
    add_up_memory(arena, r);
    put_in_order(arena, r);
    estimate(arena, r);
    find_window(r);
    count_unknown(r);
}
