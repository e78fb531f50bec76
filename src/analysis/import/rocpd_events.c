/* SPDX-License-Identifier: MIT
 *
 * Calls, ranges, kernels, copies and memory, each in the order of its table. What joins them is the
 * event's stack_id: a call and the work that it started have the same one. correlation_id is the
 * program's own and mostly 0.
 */
#include "base/json_members.h"
#include "import/rocpd.h"
#include "import/rows_shared.h"

/* ---- events ---- */

/* A marker's text; its function's name is the region's. */
static hb_string_id message_of(hb_rocpd *r, hb_str json)
{
    if (!json.len) return 0;
    hb_value v = hb_json_member(json, "message");
    if (v.type != HB_JSON_STRING) return 0;
    hb_buf text;
    hb_buf_init(&text, SIZE_MAX / 2);
    hb_value_decode(&v, &text);
    hb_string_id id = hb_texts_add(&r->import->texts, text.size ? text.data : "", text.size);
    hb_buf_free(&text);
    return id;
}

/* Ids count rows, but in files that were merged or thinned. */
static void note_id(hb_rocpd *r, int64_t id)
{
    uint32_t count = r->event_list.count;
    if (!r->events_are_sparse && id == (int64_t)count) return;
    for (uint32_t i = 1; !r->events_are_sparse && i < count; i++)
        hb_id_index_set(r->arena, &r->events, i, i);
    r->events_are_sparse = true;
    hb_id_index_set(r->arena, &r->events, (uint64_t)id, count);
}

static void read_event_table(hb_rocpd *r)
{
    hb_sqlite_rows rows = hb_rocpd_select(r, "event", "id, stack_id, category_id, extdata");
    while (hb_sqlite_next(&rows)) {
        hb_rocpd_event *event = hb_import_push(r->arena, &r->event_list);
        event->stack = (uint64_t)HB_MAX(hb_sqlite_int(&rows, 1), 0);
        event->category = hb_rocpd_category(r, &rows, 2);
        event->message = message_of(r, hb_rocpd_json(r, &rows, 3));
        note_id(r, hb_sqlite_int(&rows, 0));
    }
    hb_rocpd_done(r, &rows);
}

/* ---- regions ---- */

typedef struct last_part {
    hb_string_id category;
    enum hb_import_part part;
} last_part;

static uint16_t index_of(const hb_rocpd *r, const hb_import_process *p)
{
    uint16_t i = 0;
    while (r->process_list.items[i] != p)
        i++;
    return i;
}

static void note_row(const hb_rocpd *r, hb_rocpd_event *event, const hb_import_process *p,
                     hb_rocpd_kind kind, uint32_t row)
{
    event->process = index_of(r, p);
    event->kind = (uint16_t)kind;
    event->row = row;
}

static void add_region(hb_rocpd *r, const hb_sqlite_rows *rows, last_part *last)
{
    static const hb_rocpd_columns columns = {0, 1, -1, -1, -1, 6};
    hb_rocpd_track place = hb_rocpd_place(r, rows, columns);
    hb_import_process *p = hb_rocpd_process(r, place.pid);
    hb_rocpd_event *event = hb_rocpd_event_of(r, rows, 5);
    hb_string_id name = hb_rocpd_string(r, rows, 4), category = event ? event->category : 0;
    int64_t start = hb_sqlite_int(rows, 2), end = hb_sqlite_int(rows, 3);
    bool open = end == 0 && start > 0;
    if (!p) return;
    if (category != last->category || !last->category)
        *last = (last_part){category, hb_import_part_of(hb_texts_get(&r->import->texts, category))};
    if (hb_import_drops(r->import, p, last->part)) return;
    if (event && event->kind == HB_ROCPD_NOTHING && event->message) name = event->message;
    if (!name) {
        p->rows.notes[HB_IMPORT_BAD_ROWS]++;
        return;
    }
    if (open) end = HB_MAX(p->clock_end, start);
    if (!hb_import_times(&p->rows, start, &end)) return;
    bool range = last->part == HB_IMPORT_RANGES;
    hb_column *column = range ? &p->rows.scopes : &p->rows.calls;
    hb_import_host *host = hb_import_push(r->arena, column);
    *host = (hb_import_host){.start = start,
                             .end = end,
                             .correlation = range || !event ? 0 : event->stack,
                             .name = name,
                             .thread = hb_rocpd_thread(r, p, place.tid),
                             .flags = open ? HB_IMPORT_UNFINISHED : 0};
    if (hb_import_is_minor(hb_texts_get(&r->import->texts, name))) host->flags |= HB_IMPORT_MINOR;
    if (event) note_row(r, event, p, range ? HB_ROCPD_SCOPE : HB_ROCPD_CALL, column->count - 1);
}

static void read_regions(hb_rocpd *r)
{
    last_part last = {0};
    hb_sqlite_rows rows =
        hb_rocpd_select(r, "region", "pid, tid, start, end, name_id, event_id, track_id");
    while (hb_sqlite_next(&rows))
        add_region(r, &rows, &last);
    hb_rocpd_done(r, &rows);
}

/* ---- kernels ---- */

static uint32_t size_of(const hb_sqlite_rows *rows, int column)
{
    int64_t size = hb_sqlite_int(rows, column);
    return (uint32_t)HB_MIN(HB_MAX(size, 0), (int64_t)UINT32_MAX);
}

enum dispatch_column {
    D_PID,
    D_AGENT,
    D_KERNEL,
    D_QUEUE,
    D_STREAM,
    D_START,
    D_END,
    D_SCRATCH,
    D_LDS,
    D_BLOCK,
    D_GRID = D_BLOCK + 3,
    D_EVENT = D_GRID + 3,
    D_DISPATCH,
    D_PASS,
    D_TRACK,
};
static const char dispatch_columns[] =
    "pid, agent_id, kernel_id, queue_id, stream_id, start, end, private_segment_size, "
    "group_segment_size, workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x, "
    "grid_size_y, grid_size_z, event_id, dispatch_id, replay_pass, track_id";

static void set_grid(hb_import_launch *l, const hb_sqlite_rows *rows)
{
    uint64_t items[3], threads[3];
    for (int i = 0; i < 3; i++) {
        items[i] = size_of(rows, D_GRID + i);
        threads[i] = size_of(rows, D_BLOCK + i);
    }
    hb_import_set_grid(l, items, threads);
}

static uint32_t launch_of(hb_rocpd *r, hb_import_process *p, const hb_sqlite_rows *rows,
                          int32_t gpu, const hb_rocpd_symbol *symbol)
{
    hb_import_launch l;
    memset(&l, 0, sizeof l);
    l.kind = HB_EVENT_KERNEL;
    l.device = gpu;
    l.scratch_bytes = size_of(rows, D_SCRATCH);
    l.lds_bytes = size_of(rows, D_LDS);
    set_grid(&l, rows);
    if (symbol && symbol->has_registers) {
        l.has_resources = true;
        l.vgprs = symbol->vgprs;
        l.agprs = symbol->agprs;
        l.sgprs = symbol->sgprs;
    }
    return hb_import_distinct(r->arena, &p->rows.launches, &l);
}

/* Kernels are run again for each pass of counters: the first one's times count. Each process counts
 * its dispatches from 1. */
static bool is_again(hb_rocpd *r, const hb_sqlite_rows *rows, hb_import_process *p,
                     hb_rocpd_event *event)
{
    if (hb_sqlite_is_null(rows, D_PASS)) return false;
    uint64_t dispatch =
        (uint64_t)hb_sqlite_int(rows, D_DISPATCH) + ((uint64_t)index_of(r, p) << 48);
    uint32_t row = hb_id_index_get(&r->dispatches, dispatch);
    if (!row) {
        hb_id_index_set(r->arena, &r->dispatches, dispatch, p->rows.works.count + 1);
        return false;
    }
    p->rows.notes[HB_IMPORT_MERGED_PASSES]++;
    if (event) note_row(r, event, p, HB_ROCPD_WORK, row - 1);
    return true;
}

static void add_kernel(hb_rocpd *r, const hb_sqlite_rows *rows)
{
    static const hb_rocpd_columns columns = {D_PID, -1, D_AGENT, D_QUEUE, D_STREAM, D_TRACK};
    hb_rocpd_track place = hb_rocpd_place(r, rows, columns);
    hb_import_process *p = hb_rocpd_process(r, place.pid);
    hb_rocpd_event *event = hb_rocpd_event_of(r, rows, D_EVENT);
    uint32_t i = hb_id_index_get(&r->symbols, (uint64_t)hb_sqlite_int(rows, D_KERNEL));
    const hb_rocpd_symbol *symbol = i ? &r->symbol_list.items[i - 1] : NULL;
    int32_t gpu = hb_rocpd_gpu(r, place.agent);
    int64_t start = hb_sqlite_int(rows, D_START), end = hb_sqlite_int(rows, D_END);
    if (!p || !hb_import_times(&p->rows, start, &end)) return;
    if (gpu < 0) {
        p->rows.notes[HB_IMPORT_BAD_ROWS]++;
        return;
    }
    if (is_again(r, rows, p, event)) return;
    hb_import_work *work = hb_import_push(r->arena, &p->rows.works);
    work->start = start;
    work->end = end;
    work->correlation = event ? event->stack : 0;
    work->name =
        symbol ? symbol->name : hb_import_text(r->arena, &p->rows, HB_STR("(kernel without name)"));
    work->launch = launch_of(r, p, rows, gpu, symbol);
    work->lane = hb_import_lane_at(r->arena, &p->rows, gpu, place.queue, place.stream);
    if (event) note_row(r, event, p, HB_ROCPD_WORK, p->rows.works.count - 1);
}

static void read_kernels(hb_rocpd *r)
{
    hb_sqlite_rows rows = hb_rocpd_select(r, "kernel_dispatch", dispatch_columns);
    while (hb_sqlite_next(&rows))
        add_kernel(r, &rows);
    hb_id_index_free(r->arena, &r->dispatches);
    hb_rocpd_done(r, &rows);
}

/* ---- copies ---- */

enum copy_column {
    C_PID,
    C_START,
    C_END,
    C_NAME,
    C_TO,
    C_FROM,
    C_SIZE,
    C_QUEUE,
    C_STREAM,
    C_EVENT,
    C_TRACK
};

static bool is_fill(hb_str name)
{
    return hb_import_has_word(name, "FILL") || hb_import_has_word(name, "MEMSET");
}

static void add_copy(hb_rocpd *r, const hb_sqlite_rows *rows)
{
    hb_import_launch l;
    static const hb_rocpd_columns columns = {C_PID, -1, -1, C_QUEUE, C_STREAM, C_TRACK};
    hb_rocpd_track place = hb_rocpd_place(r, rows, columns);
    hb_import_process *p = hb_rocpd_process(r, place.pid);
    hb_rocpd_event *event = hb_rocpd_event_of(r, rows, C_EVENT);
    hb_string_id name = hb_rocpd_string(r, rows, C_NAME);
    int64_t start = hb_sqlite_int(rows, C_START), end = hb_sqlite_int(rows, C_END);
    if (!p || hb_import_drops(r->import, p, HB_IMPORT_COPIES) ||
        !hb_import_times(&p->rows, start, &end))
        return;
    memset(&l, 0, sizeof l);
    hb_import_set_copy(&l, hb_rocpd_gpu(r, hb_rocpd_id(rows, C_FROM)),
                       hb_rocpd_gpu(r, hb_rocpd_id(rows, C_TO)),
                       (uint64_t)HB_MAX(hb_sqlite_int(rows, C_SIZE), 0),
                       is_fill(hb_texts_get(&r->import->texts, name)));
    hb_import_work *work = hb_import_push(r->arena, &p->rows.works);
    work->start = start;
    work->end = end;
    work->correlation = event ? event->stack : 0;
    work->name = name;
    work->launch = hb_import_distinct(r->arena, &p->rows.launches, &l);
    work->lane = hb_import_lane_at(r->arena, &p->rows, l.device, place.queue, place.stream);
    if (event) note_row(r, event, p, HB_ROCPD_WORK, p->rows.works.count - 1);
}

static void read_copies(hb_rocpd *r)
{
    hb_sqlite_rows rows = hb_rocpd_select(r, "memory_copy",
                                          "pid, start, end, name_id, dst_agent_id, src_agent_id, "
                                          "size, queue_id, stream_id, event_id, track_id");
    while (hb_sqlite_next(&rows))
        add_copy(r, &rows);
    hb_rocpd_done(r, &rows);
}

/* ---- memory ---- */

enum memory_column {
    M_PID,
    M_TID,
    M_START,
    M_END,
    M_TYPE,
    M_LEVEL,
    M_AGENT,
    M_SIZE,
    M_ADDRESS,
    M_TRACK
};

/* There when its call returns, gone when that begins. */
static void add_memory(hb_rocpd *r, const hb_sqlite_rows *rows)
{
    static const hb_rocpd_columns columns = {M_PID, M_TID, M_AGENT, -1, -1, M_TRACK};
    hb_rocpd_track place = hb_rocpd_place(r, rows, columns);
    hb_import_process *p = hb_rocpd_process(r, place.pid);
    int64_t start = hb_sqlite_int(rows, M_START), end = hb_sqlite_int(rows, M_END);
    hb_str type = hb_sqlite_text(rows, M_TYPE);
    bool frees = hb_str_is(type, "FREE") || hb_str_is(type, "RECLAIM");
    if (!p || hb_import_drops(r->import, p, HB_IMPORT_MEMORY) ||
        !hb_import_times(&p->rows, start, &end))
        return;
    if (hb_str_is(hb_sqlite_text(rows, M_LEVEL), "SCRATCH")) {
        p->rows.notes[HB_IMPORT_NOT_SHOWN]++;
        return;
    }
    hb_import_memory *m = hb_import_push(r->arena, &p->rows.memory);
    m->time = frees ? start : end;
    m->address = (uint64_t)hb_sqlite_int(rows, M_ADDRESS);
    m->bytes = frees ? 0 : HB_MAX(hb_sqlite_int(rows, M_SIZE), 0);
    m->thread = hb_rocpd_thread(r, p, place.tid);
    m->device = hb_rocpd_gpu(r, place.agent);
    m->frees = frees;
}

static void read_memory(hb_rocpd *r)
{
    hb_sqlite_rows rows =
        hb_rocpd_select(r, "memory_allocate",
                        "pid, tid, start, end, type, level, agent_id, size, address, track_id");
    while (hb_sqlite_next(&rows))
        add_memory(r, &rows);
    hb_rocpd_done(r, &rows);
}

void hb_rocpd_read_events(hb_rocpd *r)
{
    read_event_table(r);
    read_regions(r);
    read_kernels(r);
    read_copies(r);
    read_memory(r);
}
