/* SPDX-License-Identifier: MIT
 *
 * Records of rocprofv3's JSON: each says its numbers in objects within objects, which are all
 * gathered into one flat record.
 */
#include "import/rocprofv3.h"
#include "import/rows_shared.h"

/* What records of any kind tell; -1: not told. */
typedef struct record {
    int64_t kind, operation, thread, correlation, start, end;
    int64_t agent, queue, stream, kernel, dispatch, scratch, lds;
    int64_t block[3], grid[3];
    int64_t from, to, bytes, address, size;
} record;

typedef enum place { RECORD, CORRELATION, DISPATCH, BLOCK, GRID, HANDLE, UNUSED } place;

typedef struct field {
    hb_str key;
    size_t offset;
    place into; /* RECORD: a number */
} field;

#define NUMBER(key, field)                           \
    {                                                \
        HB_STR(key), offsetof(record, field), RECORD \
    }
#define INSIDE(key, into)    \
    {                        \
        HB_STR(key), 0, into \
    }
#define HANDLE_OF(key, field)                        \
    {                                                \
        HB_STR(key), offsetof(record, field), HANDLE \
    }
#define END            \
    {                  \
        {0}, 0, RECORD \
    }

/* In the order in which they are written. */
static const field of_record[] = {
    INSIDE("size", UNUSED),
    NUMBER("kind", kind),
    NUMBER("operation", operation),
    NUMBER("thread_id", thread),
    INSIDE("correlation_id", CORRELATION),
    NUMBER("start_timestamp", start),
    NUMBER("end_timestamp", end),
    INSIDE("dispatch_info", DISPATCH),
    HANDLE_OF("stream_id", stream),
    HANDLE_OF("src_agent_id", from),
    HANDLE_OF("dst_agent_id", to),
    NUMBER("bytes", bytes),
    HANDLE_OF("agent_id", agent),
    NUMBER("address", address),
    NUMBER("allocation_size", size),
    END,
};
static const field of_correlation[] = {NUMBER("internal", correlation), INSIDE("external", UNUSED),
                                       INSIDE("ancestor", UNUSED), END};
static const field of_dispatch[] = {
    INSIDE("size", UNUSED),
    HANDLE_OF("agent_id", agent),
    HANDLE_OF("queue_id", queue),
    NUMBER("kernel_id", kernel),
    NUMBER("dispatch_id", dispatch),
    NUMBER("private_segment_size", scratch),
    NUMBER("group_segment_size", lds),
    INSIDE("workgroup_size", BLOCK),
    INSIDE("grid_size", GRID),
    END,
};
static const field of_block[] = {NUMBER("x", block[0]), NUMBER("y", block[1]),
                                 NUMBER("z", block[2]), END};
static const field of_grid[] = {NUMBER("x", grid[0]), NUMBER("y", grid[1]), NUMBER("z", grid[2]),
                                END};

static const field *const fields[] = {
    [RECORD] = of_record,     [CORRELATION] = of_correlation,
    [DISPATCH] = of_dispatch, [BLOCK] = of_block,
    [GRID] = of_grid,
};

static const field *find_field(const field *list, const hb_value *key)
{
    for (const field *f = list; f->key.len; f++)
        if (hb_value_is(key, f->key.s)) return f;
    return NULL;
}

static void read_fields(hb_rocprofv3 *r, record *to, place where);

static void read_field(hb_rocprofv3 *r, record *to, const field *f)
{
    int64_t *number = (int64_t *)((char *)to + f->offset);
    if (f->into == HANDLE)
        *number = hb_rocprofv3_handle(r);
    else if (f->into == RECORD)
        *number = hb_json_read_number(&r->c);
    else if (f->into == UNUSED)
        (void)hb_json_read_number(&r->c);
    else
        read_fields(r, to, f->into);
}

/* `next`: the field that should come, as records are all written alike. */
static void read_fields(hb_rocprofv3 *r, record *to, place where)
{
    hb_value key;
    bool first = true;
    const field *next = fields[where];
    if (!hb_json_enter(&r->c, '{')) return;
    for (;;) {
        const field *f = next;
        bool comes = f->key.len && hb_json_next_is(&r->c, &first, f->key);
        if (!comes && !hb_json_next_member(&r->c, &first, &key)) return;
        if (!comes) f = find_field(fields[where], &key);
        if (f)
            read_field(r, to, f);
        else
            (void)hb_json_read(&r->c);
        if (f) next = f + 1;
    }
}

static int32_t gpu_of(const hb_rocprofv3 *r, int64_t agent)
{
    uint32_t i = agent >= 0 ? hb_id_index_get(&r->agents, (uint64_t)agent) : 0;
    return i ? r->gpus.items[i - 1] : -1;
}

static uint64_t known(int64_t number)
{
    return (uint64_t)HB_MAX(number, 0);
}

static const hb_rocprofv3_kind *kind_of(const hb_rocprofv3 *r, const record *e)
{
    return e->kind >= 0 && e->kind < r->kinds.count ? &r->kinds.items[e->kind] : NULL;
}

static hb_string_id operation_of(const hb_rocprofv3_kind *k, const record *e)
{
    bool there = k && e->operation >= 0 && e->operation < k->operations.count;
    return there ? k->operations.items[e->operation] : 0;
}

static void add_host(hb_rocprofv3 *r, record *e)
{
    const hb_rocprofv3_kind *k = kind_of(r, e);
    hb_string_id name = operation_of(k, e);
    if (!k || !name) {
        r->p->rows.notes[HB_IMPORT_BAD_ROWS]++;
        return;
    }
    if (hb_import_drops(r->import, r->p, k->part) ||
        !hb_import_times(&r->p->rows, e->start, &e->end))
        return;
    bool range = k->part == HB_IMPORT_RANGES;
    hb_string_id text = range ? hb_id_index_get(&r->markers, known(e->correlation)) : 0;
    if (text) name = text;
    hb_import_host *host = hb_import_push(r->arena, range ? &r->p->rows.scopes : &r->p->rows.calls);
    *host = (hb_import_host){.start = e->start,
                             .end = e->end,
                             .correlation = range ? 0 : known(e->correlation),
                             .name = name,
                             .thread = hb_import_thread_of(r->arena, &r->p->rows, e->thread, 0)};
    if (hb_import_is_minor(hb_texts_get(&r->import->texts, name))) host->flags |= HB_IMPORT_MINOR;
}

static uint32_t clamp(int64_t number)
{
    return (uint32_t)HB_MIN(known(number), (uint64_t)UINT32_MAX);
}

static void set_kernel(hb_import_launch *l, const record *e, const hb_rocprofv3_symbol *s)
{
    uint64_t items[3], threads[3];
    for (int i = 0; i < 3; i++) {
        items[i] = known(e->grid[i]);
        threads[i] = known(e->block[i]);
    }
    memset(l, 0, sizeof *l);
    l->kind = HB_EVENT_KERNEL;
    l->scratch_bytes = clamp(e->scratch);
    l->lds_bytes = clamp(e->lds);
    hb_import_set_grid(l, items, threads);
    l->has_resources = s && s->vgprs >= 0;
    if (!l->has_resources) return;
    l->vgprs = clamp(s->vgprs);
    l->agprs = clamp(s->agprs);
    l->sgprs = clamp(s->sgprs);
}

static hb_import_work *add_work(hb_rocprofv3 *r, const record *e, const hb_import_launch *l,
                                hb_string_id name)
{
    hb_import_work *work = hb_import_push(r->arena, &r->p->rows.works);
    work->start = e->start;
    work->end = e->end;
    work->correlation = known(e->correlation);
    work->name = name;
    work->launch = hb_import_distinct(r->arena, &r->p->rows.launches, l);
    work->lane = hb_import_lane_at(r->arena, &r->p->rows, l->device, e->queue, e->stream);
    return work;
}

static void add_kernel(hb_rocprofv3 *r, record *e)
{
    hb_import_launch l;
    int32_t gpu = gpu_of(r, e->agent);
    uint32_t i = e->kernel >= 0 ? hb_id_index_get(&r->symbols, (uint64_t)e->kernel) : 0;
    const hb_rocprofv3_symbol *s = i ? &r->symbol_list.items[i - 1] : NULL;
    if (!hb_import_times(&r->p->rows, e->start, &e->end)) return;
    if (gpu < 0) {
        r->p->rows.notes[HB_IMPORT_BAD_ROWS]++;
        return;
    }
    set_kernel(&l, e, s);
    l.device = gpu;
    hb_string_id name =
        s ? s->name : hb_import_text(r->arena, &r->p->rows, HB_STR("(kernel without name)"));
    (void)add_work(r, e, &l, name);
    if (e->dispatch >= 0)
        hb_id_index_set(r->arena, &r->dispatches, (uint64_t)e->dispatch, r->p->rows.works.count);
}

static void add_copy(hb_rocprofv3 *r, record *e)
{
    hb_import_launch l;
    memset(&l, 0, sizeof l);
    if (hb_import_drops(r->import, r->p, HB_IMPORT_COPIES) ||
        !hb_import_times(&r->p->rows, e->start, &e->end))
        return;
    hb_import_set_copy(&l, gpu_of(r, e->from), gpu_of(r, e->to), known(e->bytes), false);
    (void)add_work(r, e, &l, 0);
}

static void add_memory(hb_rocprofv3 *r, record *e)
{
    hb_str operation = hb_texts_get(&r->import->texts, operation_of(kind_of(r, e), e));
    bool frees = hb_import_has_word(operation, "FREE");
    if (hb_import_drops(r->import, r->p, HB_IMPORT_MEMORY) ||
        !hb_import_times(&r->p->rows, e->start, &e->end))
        return;
    hb_import_memory *m = hb_import_push(r->arena, &r->p->rows.memory);
    m->time = frees ? e->start : e->end;
    m->address = known(e->address);
    m->bytes = frees ? 0 : (int64_t)known(e->size);
    m->thread = hb_import_thread_of(r->arena, &r->p->rows, e->thread, 0);
    m->device = gpu_of(r, e->agent);
    m->frees = frees;
}

static record no_record(void)
{
    record e;
    memset(&e, 0xff, sizeof e);
    return e;
}

static void skip_record(hb_rocprofv3 *r, record *e)
{
    (void)e;
    r->p->rows.notes[HB_IMPORT_NOT_SHOWN]++;
}

static void read_list(hb_rocprofv3 *r, void (*add)(hb_rocprofv3 *r, record *e))
{
    uint64_t count = 0;
    if (!hb_json_enter(&r->c, '[')) return;
    HB_EACH_ELEMENT(&r->c)
    {
        record e = no_record();
        read_fields(r, &e, RECORD);
        add(r, &e);
        if (++count % 65536 == 0 && !hb_import_progress(r->import, count))
            hb_arena_leave(r->arena, HB_ERROR_STATE, "%s: stopped", r->import->path);
    }
}

void hb_rocprofv3_read_buffers(hb_rocprofv3 *r)
{
    hb_value key;
    if (!hb_json_enter(&r->c, '{')) return;
    HB_EACH_MEMBER(&r->c, key)
    {
        bool calls = key.size > 4 && memcmp(key.s + key.size - 4, "_api", 4) == 0;
        if (hb_value_is(&key, "kernel_dispatch"))
            read_list(r, add_kernel);
        else if (hb_value_is(&key, "memory_copy"))
            read_list(r, add_copy);
        else if (hb_value_is(&key, "memory_allocation"))
            read_list(r, add_memory);
        else
            read_list(r, calls ? add_host : skip_record);
    }
}

/* ---- counters ---- */

static void read_value(hb_rocprofv3 *r, hb_import_work *work)
{
    hb_value key, value = {0};
    int64_t id = -1;
    HB_EACH_MEMBER(&r->c, key)
    {
        if (hb_value_is(&key, "counter_id"))
            id = hb_rocprofv3_handle(r);
        else if (hb_value_is(&key, "value"))
            value = hb_json_read(&r->c);
        else
            (void)hb_json_read(&r->c);
    }
    hb_string_id name = id >= 0 ? hb_id_index_get(&r->counters, (uint64_t)id) : 0;
    bool number = value.type == HB_JSON_INT || value.type == HB_JSON_FLOAT;
    if (!work || !name || !number || hb_import_drops(r->import, r->p, HB_IMPORT_COUNTERS)) return;
    hb_import_add_value(r->arena, &r->p->rows, work, name, hb_value_double(&value));
    r->p->serialised = true;
}

/* Kernels that were only recorded for their counters stand here alone. */
static hb_import_work *work_of(hb_rocprofv3 *r, record *e)
{
    uint32_t row = e->dispatch >= 0 ? hb_id_index_get(&r->dispatches, (uint64_t)e->dispatch) : 0;
    uint32_t before = r->p->rows.works.count;
    if (row) return hb_column_at(&r->p->rows.works, row - 1);
    add_kernel(r, e);
    return r->p->rows.works.count > before ? hb_column_at(&r->p->rows.works, before) : NULL;
}

static void read_collection(hb_rocprofv3 *r)
{
    hb_value key;
    hb_import_work *work = NULL;
    HB_EACH_MEMBER(&r->c, key)
    {
        if (hb_value_is(&key, "dispatch_data")) {
            record e = no_record();
            read_fields(r, &e, RECORD);
            work = work_of(r, &e);
            if (work && work->num_values) work = NULL; /* another pass of the same one */
        } else if (hb_value_is(&key, "records") && hb_json_enter(&r->c, '[')) {
            HB_EACH_ELEMENT(&r->c)
            {
                if (hb_json_enter(&r->c, '{')) read_value(r, work);
            }
        } else if (!hb_value_is(&key, "records")) {
            (void)hb_json_read(&r->c);
        }
    }
}

void hb_rocprofv3_read_callbacks(hb_rocprofv3 *r)
{
    hb_value key;
    if (!hb_json_enter(&r->c, '{')) return;
    HB_EACH_MEMBER(&r->c, key)
    {
        if (!hb_value_is(&key, "counter_collection")) {
            (void)hb_json_read(&r->c);
            continue;
        }
        if (!hb_json_enter(&r->c, '[')) continue;
        HB_EACH_ELEMENT(&r->c)
        {
            if (hb_json_enter(&r->c, '{')) read_collection(r);
        }
    }
}
